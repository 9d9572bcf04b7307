#include "identity.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/seal.hpp"
#include "coeff/brackets.hpp"
#include "kreisel/error.hpp"

namespace kreisel::run {
namespace {

constexpr std::string_view what = "the checkpoint";
constexpr std::string_view file_prefix = "file ";

/// Long lists are compared by a fingerprint of their bits.
std::string in_brief(const std::vector<double>& values) {
  if (values.size() <= 4) return fmt::format("{}", fmt::join(values, ", "));
  Archive a;
  std::vector<double> copy = values;
  a(copy);
  return fmt::format("{} numbers ({:016x})", values.size(), fingerprint_of(a.bytes()));
}

std::string in_brief(const Vector& values) { return in_brief(std::vector<double>(values.begin(), values.end())); }

std::string in_brief(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::string in_brief(const StepSequence& sequence) {
  struct Words {
    std::string operator()(const std::monostate&) const { return "none"; }
    std::string operator()(const StepList& s) const { return "list " + in_brief(s.steps); }
    std::string operator()(const OneChange& s) const { return fmt::format("change {} {} {}", s.h, s.at, s.ratio); }
    std::string operator()(const Alternation& s) const { return fmt::format("alternate {} {}", s.h, s.ratio); }
    std::string operator()(const RandomSteps& s) const {
      return fmt::format("random {} {} {} {} {} {} {}", s.h_min, s.h_max, s.ratio_min, s.ratio_max, s.every, s.seed,
                         s.member);
    }
  };
  return std::visit(Words(), sequence);
}

std::string in_brief(const std::shared_ptr<const coeff::CorrectionSet>& set) {
  if (set == nullptr) return "none";
  Archive a;
  coeff::CorrectionSet copy = *set;
  a.all(copy.k, copy.count);
  for (coeff::LinearForm& form : copy.lin) a.all(form.a, form.b);
  return fmt::format("{:016x}", fingerprint_of(a.bytes()));
}

std::string in_brief(const std::vector<system::Event>& events) {
  std::string text;
  for (const system::Event& event : events) {
    text += fmt::format("{}{} {} {} {}", text.empty() ? "" : ", ", event.name, static_cast<int>(event.direction),
                        name_of(event.action), event.terminal_after);
    if (event.acts_from > 1) text += fmt::format(" from {}", event.acts_from);
    if (const auto* impact = std::get_if<system::Impact>(&event.action))
      text += fmt::format(" {}", impact->restitution);
  }
  return text;
}

/// Structure of the system, and its equations at the start with arbitrary accelerations and multipliers: masses, forces and
/// constraints all enter. Functions can only be compared by values.
std::string in_brief(const system::System& system, const system::Start& start) {
  Archive a;
  const lie::Space& space = system.space();
  const system::Pattern& pattern = system.pattern();
  for (lie::Block block : space.blocks()) a.all(block.group, block.nq, block.nv);
  for (const system::RowGroup& group : pattern.groups()) {
    std::string name = group.name;
    int rows = group.rows;
    system::RowLevel level = group.level;
    a.all(name, rows, level);
  }
  if (start.q0.size() != space.nq() || start.v0.size() != space.nv())
    return fmt::format("{:016x}", fingerprint_of(a.bytes()));
  system::Motion m(space);
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  for (Eigen::Index i = 0; i < m.a.size(); ++i) m.a[i] = 1.0 + 0.25 * static_cast<double>(i % 7);
  Vector lambda(pattern.rows());
  for (Eigen::Index i = 0; i < lambda.size(); ++i) lambda[i] = 1.0 + 0.125 * static_cast<double>(i % 5);
  std::uint64_t equations = fingerprint_of_equations(system, m, lambda);
  a(equations);
  return fmt::format("{:016x}", fingerprint_of(a.bytes()));
}

}  // namespace

std::uint64_t fingerprint_of_equations(const system::System& system, const system::Motion& m, ConstVectorRef lambda) {
  const system::Pattern& pattern = system.pattern();
  system::Residual residual(system.space().nv(), pattern.position_rows(), pattern.rows());
  system.residual(m, lambda, residual);
  Archive a;
  for (Vector* x : {&residual.force, &residual.gap, &residual.rate})
    for (double value : *x) {
      if (std::isnan(value)) value = 0.0;  // NaN has many bit patterns
      a(value);
    }
  return fingerprint_of(a.bytes());
}

const std::vector<Identity::Fact>& Identity::facts() const {
  if (!facts_.empty()) return facts_;
  const auto add = [&](std::string name, const auto& value) {
    facts_.push_back({std::move(name), fmt::format("{}", value)});
  };
  // All fields by name: a new field does not compile until it is added here.
  const auto& [method, order, formulation, correction, own_correction, starting, t_end, step, steps, rtol, atol,
               control_lambda, max_order, initial_step, min_step, max_step, max_steps, conserved, project_position_at,
               project_velocity_at, restart, output_step, output_times, events, event_tolerance, corners,
               newton_tolerance, newton_iterations, newton_matrix, linear_solver, threads, sources] = options_;
  // Neither affects the results.
  static_cast<void>(max_steps);
  static_cast<void>(threads);
  for (const SourceFile& file : sources)
    add(std::string(file_prefix) + file.path, fmt::format("{:016x}", file.fingerprint));
  add("method", method.name());
  add("method is named", method.is_named());
  add("order", order);
  add("formulation", formulation.name());
  add("correction", own_correction ? "own" : correction);  // not by the path, which may be relative
  add("coefficients of the correction", in_brief(own_correction));
  add("starting", starting.name());
  add("parameters of the method", in_brief(method.parameters.listing()));
  add("t_end", std::isnan(t_end) ? start_.t_end : t_end);
  add("step", step);
  add("steps", in_brief(steps));
  add("rtol", rtol);
  add("atol", atol);
  add("control_lambda", control_lambda);
  add("max_order", max_order);
  add("initial_step", initial_step);
  add("min_step", min_step);
  add("max_step", max_step);
  add("conserve", in_brief(conserved));
  add("project_position_at", in_brief(project_position_at));
  add("project_velocity_at", in_brief(project_velocity_at));
  add("restart", restart.name());
  add("output_step", output_step);
  add("output_times", in_brief(output_times));
  add("events", in_brief(events));
  add("event_tolerance", event_tolerance);
  add("corners", in_brief(corners));
  add("newton_tolerance", newton_tolerance);
  add("newton_iterations", newton_iterations);
  add("newton_matrix", newton_matrix.name());
  add("linear_solver", linear_solver.name());
  add("t0", start_.t0);
  add("q0", in_brief(start_.q0));
  add("v0", in_brief(start_.v0));
  add("events of the model", in_brief(system_.events()));
  add("equations of the model", in_brief(system_, start_));
  return facts_;
}

std::string Identity::checkpoint_of(const Archive& state) const {
  Archive a;
  std::vector<Fact> copy = facts();
  a(copy, [](Archive& archive, Fact& fact) { archive.all(fact.name, fact.value); });
  return sealed(a.bytes() + state.bytes());
}

std::string_view Identity::state_in(std::string_view checkpoint) const {
  Archive a(unsealed(checkpoint, what));
  std::vector<Fact> kept;
  a(kept, [](Archive& archive, Fact& fact) { archive.all(fact.name, fact.value); });
  const std::vector<Fact>& now = facts();
  const auto find = [](const std::vector<Fact>& list, const std::string& name) -> const Fact* {
    for (const Fact& fact : list)
      if (fact.name == name) return &fact;
    return nullptr;
  };
  const auto refuse = [](const std::string& why) {
    throw InvalidInput(
        fmt::format("{} belongs to another run: {}; restore its files and options, or start the run from the beginning",
                    what, why));
  };
  const auto in_words = [](const Fact* fact) {
    return fact == nullptr ? "absent" : fact->value.empty() ? "not given" : fact->value;
  };
  for (const std::vector<Fact>* list : {&std::as_const(kept), &now})
    for (const Fact& fact : *list) {
      const Fact *before = find(kept, fact.name), *after = find(now, fact.name);
      if (before != nullptr && after != nullptr && before->value == after->value) continue;
      if (fact.name.starts_with(file_prefix)) {
        const std::string path = fact.name.substr(file_prefix.size());
        refuse(before != nullptr && after != nullptr
                   ? fmt::format("the file '{}' has changed since it was written", path)
               : before != nullptr ? fmt::format("it was made with the file '{}'", path)
                                   : fmt::format("it was made without the file '{}'", path));
      }
      refuse(fact.name.ends_with("of the model")
                 ? fmt::format("the {} have changed", fact.name)
                 : fmt::format("{} was {}, now it is {}", fact.name, in_words(before), in_words(after)));
    }
  return a.rest();
}

}  // namespace kreisel::run
