// Numbers that look like degrees where radians are meant. Warnings only: such an angle is possible.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/model_file/model_reader.hpp"

namespace kreisel::io {
namespace {

/// As a user would write it: "=tilt*pi/180".
std::string in_radians(const Json& given, double value) {
  if (!given.is_string()) return fmt::format("={}*pi/180", value);
  const std::string text(is_formula(given) ? formula_in(given) : std::string_view(given.get_ref<const std::string&>()));
  const bool is_word = std::ranges::all_of(text, [](char c) { return c == '_' || c == '.' || std::isalnum(c) != 0; });
  return is_word ? fmt::format("={}*pi/180", text) : fmt::format("=({})*pi/180", text);
}

/// Of a list that may be in degrees throughout: the one to show.
std::optional<double> suspicious_in(const std::vector<double>& values) {
  const auto looks_so = [](double value) { return value == 0.0 || std::remainder(value, 5.0) == 0.0; };
  if (!std::ranges::all_of(values, looks_so)) return {};
  const auto largest = std::ranges::max_element(values, {}, [](double value) { return std::abs(value); });
  if (largest == values.end() || suspicion_of_degrees(*largest, "rad").empty()) return {};
  return *largest;
}

}  // namespace

/// Mechanisms seldom turn by a multiple of 5 rad, but often by a multiple of 5 degrees; beyond two turns nobody counts in degrees.
std::string suspicion_of_degrees(double value, std::string_view unit, const Json& given) {
  if (unit != "rad" || std::abs(value) < 10.0 || std::abs(value) > 720.0 || std::remainder(value, 5.0) != 0.0)
    return {};
  return fmt::format("value {} for an angle in radians, {:.3g} turns: if degrees are meant, write \"{}\"", value,
                     value / (2.0 * M_PI), in_radians(given, value));
}

void ModelReader::suspect_degrees(const std::string& pointer, const Json& given, double value) {
  if (is_formula(given) && doubted_.contains(std::string(formula_in(given)))) return;  // said at its parameter
  if (const std::string doubt = suspicion_of_degrees(value, "rad", given); !doubt.empty()) warn(pointer, doubt);
}

void ModelReader::suspect_degrees(const std::string& pointer, const Json& given, const Signal& signal) {
  if (signal.is_constant()) return suspect_degrees(pointer, given, signal.at(0.0).value);
  std::vector<double> values;
  for (const double t : signal.points()) values.push_back(signal.at(t).value);
  if (const std::optional<double> value = suspicious_in(values))
    warn(pointer, fmt::format("has the value {} in a table of an angle in radians, {:.3g} turns: if degrees are meant, "
                              "multiply the values by pi/180",
                              *value, *value / (2.0 * M_PI)));
}

void ModelReader::suspect_degrees_in(std::string_view pointer, const formula::Formula& formula) {
  const std::vector<formula::Instruction>& program = formula.program();
  for (std::size_t i = 1; i < program.size(); ++i) {
    using formula::Operation;
    const Operation call = program[i].operation;
    if (call != Operation::sin && call != Operation::cos && call != Operation::tan) continue;
    const formula::Instruction& argument = program[i - 1];
    const bool is_name = argument.operation == Operation::name;
    if (!is_name && argument.operation != Operation::number) continue;
    const std::string name = is_name ? formula.names()[static_cast<std::size_t>(argument.name)].text : "";
    const double* known = is_name ? parameters_.values().find(name) : &argument.number;
    if (known == nullptr || doubted_.contains(name)) continue;
    if (const std::string doubt = suspicion_of_degrees(*known, "rad", is_name ? Json(name) : Json(*known));
        !doubt.empty())
      warn(pointer, fmt::format("sin, cos or tan of {}", doubt));
  }
}

bool ModelReader::is_angle(Node node) {
  const int leaf = formulas().graph().leaf_of(node);
  if (leaf < 0) return false;
  const multibody::Quantity& quantity = formulas().quantity(leaf);
  if (quantity.kind == multibody::Quantity::Kind::rotation) return true;
  if (quantity.kind != multibody::Quantity::Kind::value) return false;
  return formulas().gauge(quantity.index).turns >= 0 || std::ranges::any_of(joint_gauges_, [&](const auto& known) {
           return known.first.second && known.second == quantity.index;
         });
}

/// What is added to an angle or compared with one is an angle too.
void ModelReader::suspect_degrees_in(const std::string& pointer, Node node, double known) {
  const formula::Graph& graph = formulas().graph();
  std::set<double> said{std::abs(known)};
  for (const std::vector<Node>& terms : graph.sums_of(node)) {
    if (!std::ranges::any_of(terms, [&](Node term) { return is_angle(term); })) continue;
    for (const Node term : terms) {
      if (!doubted_terms_.insert({terms, term}).second) continue;
      if (graph.is_number(term)) {
        const double value = std::abs(graph.value_of(term));
        if (const std::string doubt = suspicion_of_degrees(value, "rad", Json(value));
            !doubt.empty() && std::ranges::count(doubted_values_, value) == 0 && said.insert(value).second)
          warn(pointer, fmt::format("adds to an angle or compares it with {}", doubt));
      } else if (const int leaf = graph.leaf_of(term); leaf >= 0) {
        angles_.insert(leaf);
      }
    }
  }
  for (const formula::Graph::Kink& table : graph.curves_of(node)) {
    const auto points = abscissas_.find(table.curve);
    if (points == abscissas_.end() || !is_angle(table.argument)) continue;
    if (const std::optional<double> value = suspicious_in(points->second.second))
      warn(points->second.first, fmt::format("is a table of an angle in radians up to {}, {:.3g} turns: if degrees are "
                                             "meant, make it one \"of\" the angle times 180/pi",
                                             *value, *value / (2.0 * M_PI)));
    abscissas_.erase(points);
  }
}

void ModelReader::suspect_degrees_in_names() {
  for (const auto& [at, node, known] : formula_nodes_) suspect_degrees_in(at, node, known);
  const formula::Graph& graph = formulas().graph();
  for (const SetValue& set : set_values_) {
    const int leaf = graph.leaf_of(set.own);
    const bool has_unit = std::ranges::any_of(
        named_angles_, [&](const NamedAngle& named) { return named.leaf == leaf && named.unit == "rad"; });
    const Node value = set.make();
    if (graph.is_number(value) && (has_unit || angles_.contains(leaf)))
      suspect_degrees(set.at, set.given, graph.value_of(value));
  }
  for (const NamedAngle& named : named_angles_)
    if (named.unit == "rad" || angles_.contains(named.leaf)) suspect_degrees(named.at, named.given, named.value);
}

void ModelReader::note_angle(Node own, const std::string& at, const Json& given, const Json& entry, Signal value) {
  const Json* unit = entry.is_object() ? find(entry, "unit") : nullptr;
  named_angles_.push_back({formulas().graph().leaf_of(own), at, given,
                           unit != nullptr && unit->is_string() ? unit->get<std::string>() : "", std::move(value)});
}

}  // namespace kreisel::io
