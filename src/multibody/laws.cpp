// Forces along the coordinate of a joint that are laws.
#include "kreisel/error.hpp"
#include "multibody/law.hpp"

namespace kreisel::multibody {
namespace {

using formula::Operation;

LawInfo given(std::string_view name, std::string_view summary, bool on_rotations, std::string unit) {
  return {.name = name,
          .summary = summary,
          .on_rotations = on_rotations,
          .on_translations = !on_rotations,
          .laws = {{.name = "value",
                    .meaning = "a formula of t, x, the coordinate of the joint, v, its rate, and outputs; positive "
                               "drives the second body "
                               "forwards",
                    .unit = std::move(unit)}},
          .build = [](Formulas&, const LawParts& parts) { return parts.laws.at("value"); }};
}

/// τ = command · T(v).
LawInfo motor() {
  return {.name = "motor",
          .summary = "drives a joint with an effort that depends on its speed",
          .on_rotations = true,
          .on_translations = true,
          .laws = {{.name = "command",
                    .meaning = "factor of the table: a number or a formula",
                    .is_optional = true,
                    .fallback = "1"}},
          .tables = {{.name = "table",
                      .meaning = "points [speed, effort] with increasing speed",
                      .unit = "rad/s, N m or m/s, N"}},
          .build =
              [](Formulas& f, const LawParts& parts) {
                const Formulas::Node effort = f.graph().curve(parts.tables.at("table"), 0, parts.v);
                const auto command = parts.laws.find("command");
                return command == parts.laws.end() ? effort
                                                   : f.graph().apply(Operation::multiply, command->second, effort);
              },
          .drives = true};
}

/// τ = -(coulomb tanh(v/speed) + viscous v).
LawInfo friction() {
  return {
      .name = "friction",
      .summary = "friction of a joint that does not depend on its load",
      .on_rotations = true,
      .on_translations = true,
      .numbers = {{.name = "coulomb", .meaning = "friction while it slides", .minimum = 0.0, .unit = "N m or N"},
                  {.name = "viscous", .meaning = "friction per speed", .minimum = 0.0, .unit = "N m s/rad or N s/m"},
                  {.name = "speed",
                   .meaning = "below which the friction fades: coulomb*tanh(v/speed)",
                   .default_number = 0.01,
                   .minimum = 0.0,
                   .minimum_is_excluded = true,
                   .unit = "rad/s or m/s"}},
      .build = [](Formulas& f, const LawParts& parts) {
        formula::Graph& g = f.graph();
        const auto number = [&](const char* name) { return g.number(parts.numbers.number(name)); };
        const Formulas::Node part = g.apply(Operation::tanh, g.apply(Operation::divide, parts.v, number("speed")));
        const Formulas::Node dry = g.apply(Operation::multiply, number("coulomb"), part);
        const Formulas::Node wet = g.apply(Operation::multiply, number("viscous"), parts.v);
        return g.apply(Operation::negate, g.apply(Operation::add, dry, wet));
      }};
}

}  // namespace

const std::vector<LawInfo>& law_catalogue() {
  static const std::vector<LawInfo> list{given("torque", "torque along the angle of a joint", true, "N m"),
                                         given("force", "force along the displacement of a joint", false, "N"), motor(),
                                         friction()};
  return list;
}

const LawInfo* find_law(std::string_view name) {
  for (const LawInfo& info : law_catalogue())
    if (info.name == name) return &info;
  return nullptr;
}

std::vector<std::string> law_names() { return names_in(law_catalogue()); }

}  // namespace kreisel::multibody
