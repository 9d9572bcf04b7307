#include "io/result/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/static_stability.hpp"
#include "base/spelling.hpp"
#include "base/text.hpp"
#include "coeff/brackets.hpp"
#include "io/files/files.hpp"
#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/part_numbers.hpp"
#include "io/spec/correction_file.hpp"
#include "kreisel/analysis.hpp"
#include "kreisel/error.hpp"
#include "method/catalogue.hpp"
#include "method/parameters.hpp"
#include "multibody/assembly.hpp"
#include "multibody/hold.hpp"
#include "run/integrator.hpp"
#include "solve/kkt.hpp"
#include "system/consistency.hpp"

namespace kreisel::io {
namespace {

// ---- problems

/// Everything wrong with a spec, in the order of discovery.
class Problems {
 public:
  /// From here on, problems of a field name the place in the file that set it.
  void note_origin(const std::string& field, const std::string& where) { origins_[field] = where; }
  void add(std::string_view field, std::string_view message) {
    const auto origin = origins_.find(field);
    std::string text = field.empty()              ? std::string(message)
                       : origin == origins_.end() ? fmt::format("{}: {}", spelled(field), message)
                                                  : fmt::format("{}: {}", origin->second, message);
    if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) texts_.push_back(std::move(text));
  }
  /// Runs `work`, notes the InvalidInput it throws.
  template <class Work>
  void collect(std::string_view field, const Work& work) {
    try {
      work();
    } catch (const InvalidInput& problem) {
      add(field, problem.what());
    }
  }
  void throw_if_any() const {
    if (texts_.size() == 1) throw InvalidInput(texts_.front());
    if (texts_.size() > 1)
      throw InvalidInput(fmt::format("{} problems:\n  {}", texts_.size(), fmt::join(texts_, "\n  ")));
  }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::string, std::less<>> origins_;
};

// ---- parameters

/// Sorts settings into the parameters of the model and of the method.
class Settings {
 public:
  /// Without the model or the method its parameters cannot be checked; that problem is noted already.
  Settings(const models::ModelInfo* model, method::MethodChoice* method, Problems& problems)
      : model_(model), method_(method), problems_(problems) {
    if (model != nullptr) model_values_ = ParameterValues(model->parameters);
  }

  void apply(const Setting& setting) {
    const std::string& key = setting.name;
    if (key.starts_with("model.")) return set_model(key.substr(6), setting.value);
    if (key.starts_with("method.")) return set_method(key.substr(7), setting.value);
    if (model_ == nullptr || find_field(model_->parameters, key) != nullptr) return set_model(key, setting.value);
    if (method_ == nullptr || find_field(method_->info().parameters, key) != nullptr)
      return set_method(key, setting.value);
    std::vector<std::string> known = names_in(model_->parameters);
    for (const std::string& name : names_in(method_->info().parameters)) known.push_back(name);
    problems_.add("set", fmt::format("model '{}', method '{}': {}", model_->name, method_->name(),
                                     unknown_name("parameter", key, known)));
  }

  const ParameterValues& model_values() const { return model_values_; }

 private:
  void set_model(const std::string& key, const Value& value) {
    if (model_ != nullptr)
      problems_.collect(
          "set", [&] { model_values_.set(fmt::format("model '{}'", model_->name), model_->parameters, key, value); });
  }
  void set_method(const std::string& key, const Value& value) {
    if (method_ != nullptr) problems_.collect("set", [&] { method_->set(key, value); });
  }

  const models::ModelInfo* model_;
  method::MethodChoice* method_;
  Problems& problems_;
  ParameterValues model_values_;
};

/// As far as they can be read; Settings reports errors.
ParameterValues model_values_in(const RunSpec& spec, const models::ModelInfo& info) {
  constexpr std::string_view own = "model.";
  ParameterValues values(info.parameters);
  for (const Setting& setting : spec.settings) {
    const std::string key = setting.name.starts_with(own) ? setting.name.substr(own.size()) : setting.name;
    if (find_field(info.parameters, key) == nullptr) continue;
    try {
      values.set("", info.parameters, key, setting.value);
    } catch (const InvalidInput&) {
    }
  }
  return values;
}

// ---- suggestions of a model

/// Whether a suggestion of the model for another method applies to the method that the user has chosen, if any.
bool suits_chosen_method(const RunSpec& spec, const models::Suggestion& suggestion) {
  const std::string name = spec.word("method");
  if (std::ranges::count(method::method_names(), name) == 0) return true;
  const method::MethodInfo* info = &method::find_method(name);
  const auto* word = std::get_if<std::string>(&suggestion.value);
  if (suggestion.field == "formulation") return word != nullptr && std::ranges::count(info->formulations, *word) > 0;
  if (suggestion.field == "correction") return info->has_corrections;
  if (suggestion.field == "order")
    return std::ranges::any_of(info->orders(), [&](long order) { return Value(order) == suggestion.value; });
  return true;
}

/// Adds the suggestions of the model for options that the user has not set. Tolerances of the user override a step of
/// the model, and vice versa.
RunSpec with_suggestions(const RunSpec& given, const models::ModelInfo& info) {
  RunSpec spec = given;
  if (!info.suggestions) return spec;
  const bool has_steps = spec.has("step") || spec.has("steps");
  const bool has_tolerance = spec.has("rtol") || spec.has("atol");
  for (const models::Suggestion& suggestion : info.suggestions(model_values_in(given, info))) {
    const bool is_tolerance = suggestion.field == "rtol" || suggestion.field == "atol";
    const bool is_step = suggestion.field == "step" || suggestion.field == "steps";
    if (spec.has(suggestion.field) || (is_tolerance && has_steps) || (is_step && (has_tolerance || has_steps)) ||
        !suits_chosen_method(given, suggestion))
      continue;
    spec.set(suggestion.field, suggestion.value, suggestion.where);
  }
  return spec;
}

/// Settings may name numbers of parts, "spring.length"; these become parameters.
std::shared_ptr<const models::ModelInfo> model_of(const RunSpec& spec) {
  // A file is judged at t = 0; a run that starts at another time judges the initial values itself.
  const bool accepts_gaps = spec.is_true("assemble") || spec.t0.value_or(0.0) != 0.0;
  // Counts of parts are parameters, and parts have parameters.
  const auto with_parts = [&](std::shared_ptr<const models::ModelInfo> info) {
    for (int pass = 0; info->parameters_with && pass < 3 && !spec.settings.empty(); ++pass) {
      auto own = std::make_shared<models::ModelInfo>(*info);
      own->parameters = info->parameters_with(model_values_in(spec, *info));
      info = std::move(own);
    }
    return info;
  };
  if (spec.own_model != nullptr) return with_parts(spec.own_model);
  const std::shared_ptr<const models::ModelInfo> info = with_parts(find_model(spec.model, accepts_gaps));
  std::vector<std::string> numbers;
  for (const Setting& setting : spec.settings) {
    if (setting.name.starts_with("method.")) continue;
    const std::string name = setting.name.starts_with("model.") ? setting.name.substr(6) : setting.name;
    if (name.find('.') != std::string::npos && find_field(info->parameters, name) == nullptr &&
        std::ranges::count(numbers, name) == 0)
      numbers.push_back(name);
  }
  return numbers.empty() ? info : with_parts(find_model_with(numbers, spec.model, accepts_gaps));
}

// ---- from the spec to the options

/// Times may be read from a file.
Value resolved(const Field& field, const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (field.kind != FieldKind::numbers || text == nullptr) return value;
  return read_value(field, read_text(text->substr(file_prefix.size()), "times"));
}

/// A value that could not be read becomes NaN: it counts as given when the other options are checked.
void apply(const RunSpec::Given& given, PreparedRun& run) {
  const RunField& field = *find_run_field(given.name);
  if (field.option != nullptr)
    field.option->set(run.options, resolved(field.field, given.value));
  else
    field.apply(given.value, run);
}

bool is_readable(const RunSpec& spec, std::string_view name) {
  return std::ranges::none_of(spec.problems(), [&](const run::OptionProblem& p) { return p.field == name; });
}

void apply_fields(const RunSpec& spec, PreparedRun& run, Problems& problems) {
  for (const RunSpec::Given& given : spec.given())
    if (!given.where.empty()) problems.note_origin(given.name, given.where);
  for (const run::OptionProblem& problem : spec.problems()) problems.add(problem.field, problem.message);
  for (const RunField& field : run_fields())  // in the order of the list: `redundant` reads `linear_solver`
    for (const RunSpec::Given& given : spec.given())
      if (given.name == field.field.name && is_readable(spec, given.name))
        problems.collect(given.name, [&] { apply(given, run); });
  // A wrong step size still means constant steps.
  if (!is_readable(spec, "step")) run.options.step = std::numeric_limits<double>::quiet_NaN();
  for (const std::string_view steps : {"step", "steps"})
    if (spec.has(steps) && (spec.has("rtol") || spec.has("atol")))
      problems.add(
          "", fmt::format("{} and {}/{} exclude each other: {} steps have no error control; give one of the two",
                          spelled(steps), spelled("rtol"), spelled("atol"), steps == "step" ? "constant" : "given"));
  if (!spec.has("step") && !spec.has("steps")) return;
  for (const RunField& field : run_fields())
    if (field.belongs_to_error_control() && field.field.name != "rtol" && field.field.name != "atol" &&
        spec.has(field.field.name))
      run.warnings.push_back(fmt::format("{} has no effect with {} steps", spelled(field.field.name),
                                         spec.has("step") ? "constant" : "given"));
}

void read_own_correction(PreparedRun& run) {
  const std::string& name = run.options.correction;
  if (!name.starts_with(file_prefix)) return;
  run.options.own_correction =
      std::make_shared<const coeff::CorrectionSet>(read_correction_set(name.substr(file_prefix.size())));
  const int k = run.options.own_correction->k;
  if (run.options.step == 0.0)
    throw InvalidInput(fmt::format("a coefficient set from a file requires constant steps; give {}", spelled("step")));
  if (run.options.order == 0) run.options.order = k;
  if (run.options.order != k)
    throw InvalidInput(fmt::format("the set is for order {}, but {} is {}", k, spelled("order"), run.options.order));
}

// ---- the model

/// The joint with the largest gap at the initial positions, for a message.
std::string widest_gap(const multibody::Assembly& assembly, const system::Start& start) {
  system::Motion m(assembly.space());
  m.t = start.t0;
  m.q = start.q0;
  const std::vector<double> gaps = assembly.joint_gaps(m);
  if (gaps.empty()) return {};
  const auto widest = std::max_element(gaps.begin(), gaps.end());
  if (*widest <= 1e-8 * system::length_scale(assembly, m)) return {};  // the positions are not the problem
  return fmt::format("\n  at the given positions '{}' has the largest gap of all joints, {:.6g} [m or rad]",
                     assembly.joint_name(static_cast<int>(widest - gaps.begin())), *widest);
}

/// A driver has no values outside its table.
void check_tables(const multibody::Assembly& assembly, double t0, double t_end, Problems& problems) {
  for (const multibody::JointPtr& joint : assembly.joints()) {
    const auto [begin, end] = joint->span();
    if (t0 >= begin && t_end <= end) continue;
    problems.add(
        "", fmt::format("driver '{}': its table goes from t = {} to {}, the run from {} to {}; complete the table, or "
                        "end the run with it ({})",
                        joint->name(), begin, end, t0, t_end, spelled("t_end")));
  }
}

/// A jump of the velocity would be an impact without an impact law.
void check_drivers(const multibody::Assembly& assembly, double t0, double t_end, Problems& problems) {
  for (const multibody::JointPtr& joint : assembly.joints()) {
    system::Corner corner = joint->next_corner(t0, t_end, 1e-6);
    while (corner.exists() && corner.smooth >= -1) corner = joint->next_corner(corner.t, t_end, 1e-6);
    if (!corner.exists()) continue;
    problems.add(
        "", fmt::format(
                "driver '{}': the {} that its formula prescribes jumps at t = {:.10g}, which needs an infinite force; "
                "smooth it, for example max(0, t - 1)^2 instead of max(0, t - 1), or use an actuator instead",
                joint->name(), corner.smooth == -2 ? "velocity" : "position", corner.t));
  }
}

/// "crank.angular_velocity", "rocker.position" as elements, those that hold positions first.
std::array<std::vector<multibody::ElementPtr>, 2> holds_of(const multibody::Assembly& assembly,
                                                           const std::vector<std::string>& fixed) {
  using Part = multibody::Hold::Part;
  const std::vector<std::pair<std::string, Part>> parts{{"position", Part::position},
                                                        {"rotation", Part::rotation},
                                                        {"velocity", Part::velocity},
                                                        {"angular_velocity", Part::angular_velocity}};
  std::array<std::vector<multibody::ElementPtr>, 2> holds;
  const std::vector<multibody::Body>& bodies = assembly.mechanism().bodies;
  for (const std::string& name : fixed) {
    const std::size_t point = name.rfind('.');
    const std::string what = point == std::string::npos ? "" : name.substr(point + 1);
    const auto part = std::ranges::find(parts, what, &std::pair<std::string, Part>::first);
    if (part == parts.end())
      throw InvalidInput(
          fmt::format("{}: '{}', expected BODY.position, BODY.rotation, BODY.velocity or "
                      "BODY.angular_velocity",
                      spelled("fix"), name));
    const auto body = std::ranges::find(bodies, name.substr(0, point), &multibody::Body::name);
    if (body == bodies.end()) {
      std::vector<std::string> known;
      for (const multibody::Body& b : bodies) known.push_back(b.name);
      throw InvalidInput(fmt::format("{}: {}", spelled("fix"), unknown_name("body", name.substr(0, point), known)));
    }
    const bool is_velocity = part->second == Part::velocity || part->second == Part::angular_velocity;
    holds[is_velocity ? 1 : 0].push_back(
        std::make_shared<const multibody::Hold>(part->second, static_cast<int>(body - bodies.begin()), *body));
  }
  return holds;
}

/// The assembly with some more elements.
std::shared_ptr<const multibody::Assembly> extended(const multibody::Assembly& assembly,
                                                    const std::vector<multibody::ElementPtr>& more) {
  multibody::Mechanism mechanism = assembly.mechanism();
  mechanism.elements.insert(mechanism.elements.end(), more.begin(), more.end());
  std::vector<bool> active = assembly.active();
  active.insert(active.end() - static_cast<std::ptrdiff_t>(mechanism.limits.size()), more.size(), true);
  return multibody::Assembly(std::move(mechanism)).with(std::move(active));
}

/// First positions, then velocities, each only if some of them are held: holding one does not affect the other.
std::vector<solve::Change> assembled_with(const multibody::Assembly& assembly, const std::vector<std::string>& fixed,
                                          system::Start& start, std::string_view linear_solver) {
  const auto holds = holds_of(assembly, fixed);
  try {
    system::Start positions = start;
    const std::vector<solve::Change> moved = solve::assemble(*extended(assembly, holds[0]), positions, linear_solver);
    start.q0 = positions.q0;
    std::vector<solve::Change> changes = solve::assemble(*extended(assembly, holds[1]), start, linear_solver);
    for (const solve::Change& change : moved) {
      auto same = std::ranges::find(changes, change.name, &solve::Change::name);
      if (same == changes.end() && change.distance == 0.0 && change.angle == 0.0) continue;
      if (same == changes.end()) same = changes.insert(changes.end(), {.name = change.name});
      same->distance = change.distance;
      same->angle = change.angle;
    }
    return changes;
  } catch (const InvalidInput& e) {
    throw InvalidInput(fmt::format("{}\n  what {} holds may be too much, or redundant", e.what(), spelled("fix")));
  }
}

/// The changes made by moving the bodies onto the joints.
std::vector<solve::Change> assembled(models::Model& model, const std::vector<std::string>& fixed,
                                     std::string_view linear_solver) {
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(model.system.get());
  if (!fixed.empty() && assembly == nullptr)
    throw InvalidInput(fmt::format("{}: '{}' is not a mechanism of bodies", spelled("fix"), model.name));
  try {
    std::vector<solve::Change> changes = fixed.empty() ? solve::assemble(*model.system, model.start, linear_solver)
                                                       : assembled_with(*assembly, fixed, model.start, linear_solver);
    if (assembly != nullptr) assembly->set_states(model.start.t0, model.start.q0, model.start.v0);
    return changes;
  } catch (const InvalidInput& e) {
    if (assembly == nullptr) throw;
    throw InvalidInput(e.what() + widest_gap(*assembly, model.start));
  }
}

/// To the equilibrium, with the velocities that drivers prescribe.
analysis::Equilibrium move_to_rest(models::Model& model, std::string_view linear_solver) {
  const analysis::Equilibrium rest =
      analysis::find_equilibrium(*model.system, model.start, {.linear_solver = linear_solver});
  if (!rest.is_found) throw InvalidInput(fmt::format("no equilibrium: {}", rest.message));
  system::Motion m = rest.motion;
  Counters unused;
  solve::Kkt kkt(*model.system, unused, linear_solver);
  if (model.system->pattern().rows() > 0 && (!kkt.factorize(m) || !kkt.project_velocity(m)))
    throw InvalidInput("at the equilibrium the drivers prescribe velocities that the joints do not allow");
  model.start.q0 = m.q;
  model.start.v0 = m.v;
  return rest;
}

/// A motion that begins exactly there stays, and shows nothing of it.
void warn_if_unstable(const models::Model& model, const analysis::Equilibrium& rest,
                      std::vector<std::string>& warnings) {
  constexpr int most_coordinates = 300;
  const system::System& system = rest.leaning != nullptr ? *rest.leaning : *model.system;
  if (system.space().nv() > most_coordinates) return;
  const auto least = analysis::least_stiffness(system, rest.motion, rest.lambda);
  if (least && !least->is_minimum())
    warnings.push_back(
        fmt::format("{} = static: the equilibrium is unstable, and the motion leaves it only if something disturbs it; "
                    "'kreisel modes' shows in which direction",
                    spelled("start")));
}

}  // namespace

PreparedRun prepare(const RunSpec& given) {
  PreparedRun run;
  Problems problems;
  const ReadingList read;
  problems.collect("", [&] { run.model_info = model_of(given); });
  const RunSpec spec = run.model_info == nullptr ? given : with_suggestions(given, *run.model_info);
  apply_fields(spec, run, problems);
  problems.collect("correction", [&] { read_own_correction(run); });

  Settings settings(run.model_info.get(), is_readable(spec, "method") ? &run.options.method : nullptr, problems);
  for (const Setting& setting : spec.settings) settings.apply(setting);
  run.model_parameters = settings.model_values();

  if (run.model_info != nullptr)
    problems.collect("", [&] { run.model = models::make_model(*run.model_info, spec.group, run.model_parameters); });
  for (const auto& [name, value] : run.model.parameters)
    if (!run.model_parameters.is_set(name) && find_field(run.model_info->parameters, name) != nullptr)
      run.model_parameters.set("", run.model_info->parameters, name, value);
  run.warnings.insert(run.warnings.end(), run.model.warnings.begin(), run.model.warnings.end());
  if (given.t0) run.model.start.t0 = *given.t0;
  if (run.model.system != nullptr && run.assembles)
    problems.collect("", [&] { run.changes = assembled(run.model, run.fixed, run.options.linear_solver.name()); });
  if (!run.fixed.empty() && !run.assembles)
    problems.add("fix", fmt::format("has an effect only with {}; give both", spelled("assemble")));
  if (run.model.system != nullptr && run.starts_at_rest)
    problems.collect("start", [&] {
      warn_if_unstable(run.model, move_to_rest(run.model, run.options.linear_solver.name()), run.warnings);
    });
  if (run.model.system != nullptr) {
    const double t_end = std::isfinite(run.options.t_end) ? run.options.t_end : run.model.start.t_end;
    if (const auto* assembly = dynamic_cast<const multibody::Assembly*>(run.model.system.get())) {
      check_tables(*assembly, run.model.start.t0, t_end, problems);
      check_drivers(*assembly, run.model.start.t0, t_end, problems);
    }
    for (const run::OptionProblem& problem : run::problems_in(run.options, *run.model.system, run.model.start))
      if (is_readable(spec, problem.field)) problems.add(problem.field, problem.message);
  }
  problems.throw_if_any();
  run.options.sources = read.files();
  run.spec = given.with_absolute_paths();
  // The description of the run in its results does not depend on where it was resumed.
  run.options.correction = with_absolute_path(run.options.correction);
  run.step_sequence = with_absolute_path(run.step_sequence);
  return run;
}

models::Model prepare_again(const PreparedRun& run, const RunSpec& spec) {
  models::Model model = models::make_model(*run.model_info, spec.group, model_values_in(spec, *run.model_info));
  if (spec.t0) model.start.t0 = *spec.t0;
  if (run.assembles) assembled(model, run.fixed, run.options.linear_solver.name());
  if (run.starts_at_rest) static_cast<void>(move_to_rest(model, run.options.linear_solver.name()));
  return model;
}

models::Model prepare_model(const RunSpec& spec) {
  const std::shared_ptr<const models::ModelInfo> info = model_of(spec);
  Problems problems;
  method::MethodChoice method;
  if (spec.has("method") && is_readable(spec, "method")) method = spec.word("method");
  Settings settings(info.get(), &method, problems);
  for (const Setting& setting : spec.settings) settings.apply(setting);
  problems.throw_if_any();
  models::Model model = models::make_model(*info, spec.group, settings.model_values());
  if (const RunSpec all = with_suggestions(spec, *info); all.is_true("assemble"))
    assembled(model, all.words("fix"), run::Options().linear_solver.name());
  return model;
}

}  // namespace kreisel::io
