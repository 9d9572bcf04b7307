#include "kreisel/io/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "kreisel/base/error.hpp"
#include "kreisel/base/version.hpp"
#include "kreisel/io/correction_file.hpp"
#include "kreisel/io/files.hpp"
#include "kreisel/io/model_catalogue.hpp"
#include "kreisel/io/step_words.hpp"
#include "kreisel/linear/solver.hpp"
#include "kreisel/method/catalogue.hpp"
#include "kreisel/method/correction.hpp"
#include "kreisel/multibody/assembly.hpp"
#include "kreisel/run/integrator.hpp"
#include "kreisel/solve/formulation.hpp"
#include "kreisel/solve/manifold.hpp"
#include "kreisel/system/consistency.hpp"

namespace kreisel::io {
namespace {

constexpr std::string_view file_prefix = "file:";

double to_number(std::string_view text) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  double value = 0.0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
    throw InvalidInput(fmt::format("is '{}', expected a finite number", text));
  return value;
}

/// For fields of run::Options in which 0 stands for a default that nobody asked for by writing 0.
double to_positive(std::string_view text) {
  const double value = to_number(text);
  if (value <= 0.0) throw InvalidInput(fmt::format("is {}, must be positive", text));
  return value;
}

/// Also 1e6.
template <class Integer>
Integer to_integer(std::string_view text) {
  double value = 0.5;
  try {
    value = to_number(text);
  } catch (const InvalidInput&) {
  }
  if (value != std::floor(value) || std::abs(value) > static_cast<double>(std::numeric_limits<Integer>::max() / 2))
    throw InvalidInput(fmt::format("is '{}', expected a whole number", text));
  return static_cast<Integer>(value);
}

int to_order(std::string_view text) {
  const int order = to_integer<int>(text);
  if (order < 1) throw InvalidInput(fmt::format("is {}, must be at least 1", order));
  return order;
}

/// Numbers separated by commas or blank space, or file:PATH with such text.
std::vector<double> to_times(std::string_view text) {
  std::string content;
  if (text.starts_with(file_prefix)) {
    content = read_text(std::string(text.substr(file_prefix.size())), "output times");
    text = content;
  }
  constexpr std::string_view separators = ", \t\r\n";
  std::vector<double> times;
  for (std::size_t at = text.find_first_not_of(separators); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    times.push_back(to_number(text.substr(at, end - at)));
    at = text.find_first_not_of(separators, end);
  }
  if (times.empty()) throw InvalidInput("has no times, expected numbers separated by commas");
  return times;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return words;
}

bool to_truth(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw InvalidInput(fmt::format("is '{}', expected true or false", text));
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const method::MethodInfo& info : method::catalogue()) names.push_back(info.name);
  return names;
}

std::vector<std::string> formulation_names() {
  std::vector<std::string> names;
  for (const solve::FormulationInfo& info : solve::formulations()) names.emplace_back(info.name);
  return names;
}

std::vector<std::string> starting_names() { return {"corrected", "exact", "v0", "a0"}; }
std::vector<std::string> restart_names() { return {"none", "corrected"}; }
std::vector<std::string> matrix_names() { return {"every-step", "kept"}; }
std::vector<std::string> redundant_names() { return {"refuse", "least-squares"}; }
std::vector<std::string> truth_names() { return {"true", "false"}; }

/// Everything wrong with a request, in the order of discovery.
class Problems {
 public:
  /// From here on, complaints about an option name the place in a file that gave it.
  void note_origin(const std::string& field, const std::string& where) { origins_[field] = where; }
  void add(std::string_view field, std::string_view message) {
    const auto origin = origins_.find(field);
    std::string text = field.empty()             ? std::string(message)
                       : origin == origins_.end() ? fmt::format("--{}: {}", field, message)
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
  bool empty() const { return texts_.empty(); }
  void throw_if_any() const {
    if (texts_.size() == 1) throw InvalidInput(texts_.front());
    if (texts_.size() > 1)
      throw InvalidInput(fmt::format("{} problems:\n  {}", texts_.size(), fmt::join(texts_, "\n  ")));
  }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::string, std::less<>> origins_;
};

std::string with_hyphens(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

const RunOption& option_named(const std::string& name) {
  std::vector<std::string> names;
  for (const RunOption& option : run_options()) {
    if (option.name == with_hyphens(name)) return option;
    names.emplace_back(option.name);
  }
  throw InvalidInput(unknown_name("option", name, names));
}

bool has(const RunRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.options)
    if (with_hyphens(key) == name) return true;
  return false;
}

bool wants_assembly(const RunRequest& request) {
  for (const auto& [key, value] : request.options)
    if (with_hyphens(key) == "assemble") return value != "false";
  return false;
}

std::shared_ptr<const models::ModelInfo> model_of(const RunRequest& request) {
  return request.own_model != nullptr ? request.own_model : find_model(request.model, wants_assembly(request));
}

/// Sorts key=value pairs into the parameters of the model and of the method.
class Settings {
 public:
  Settings(const models::ModelInfo* model, const method::MethodInfo* method, Problems& problems)
      : model_(model), method_(method), problems_(problems) {
    if (model != nullptr) model_values_ = ParameterValues(model->parameters);
    if (method != nullptr) method_values_ = ParameterValues(method->parameters);
  }

  void apply(const std::string& setting) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return problems_.add("set", fmt::format("'{}' is not of the form key=value", setting));
    const std::string key = setting.substr(0, equals), value = setting.substr(equals + 1);
    if (key.starts_with("model.")) return set_model(key.substr(6), value);
    if (key.starts_with("method.")) return set_method(key.substr(7), value);
    if (model_ == nullptr || has_parameter(model_->parameters, key)) return set_model(key, value);
    if (method_ == nullptr || has_parameter(method_->parameters, key)) return set_method(key, value);
    std::vector<std::string> known = names_of(model_->parameters);
    for (const std::string& name : names_of(method_->parameters)) known.push_back(name);
    problems_.add("set", fmt::format("model '{}', method '{}': {}", model_->name, method_->name,
                                     unknown_name("parameter", key, known)));
  }

  ParameterValues& model_values() { return model_values_; }
  ParameterValues& method_values() { return method_values_; }

 private:
  static bool has_parameter(const std::vector<ParameterInfo>& infos, std::string_view name) {
    return std::any_of(infos.begin(), infos.end(), [&](const ParameterInfo& info) { return info.name == name; });
  }
  // Without the model or the method nothing can be said about its parameters; that problem is noted already.
  void set_model(const std::string& key, const std::string& value) {
    if (model_ != nullptr)
      problems_.collect("set", [&] { model_values_.set(fmt::format("model '{}'", model_->name), model_->parameters, key, value); });
  }
  void set_method(const std::string& key, const std::string& value) {
    if (method_ != nullptr)
      problems_.collect("set",
                        [&] { method_values_.set(fmt::format("method '{}'", method_->name), method_->parameters, key, value); });
  }

  const models::ModelInfo* model_;
  const method::MethodInfo* method_;
  Problems& problems_;
  ParameterValues model_values_, method_values_;
};

/// Whether the method that the user has chosen, if any, has what a model suggests for another one.
bool suits_chosen_method(const RunRequest& request, const models::Suggestion& suggestion) {
  for (const auto& [key, value] : request.options) {
    const auto& known = method::catalogue();
    const auto info = std::find_if(known.begin(), known.end(), [&, &name = value](const auto& m) { return key == "method" && m.name == name; });
    if (info == known.end()) continue;
    if (suggestion.option == "formulation") return std::ranges::count(info->formulations, suggestion.value) > 0;
    if (suggestion.option == "correction") return info->has_corrections;
    if (suggestion.option == "order")
      return std::ranges::any_of(info->orders(), [&](int order) { return std::to_string(order) == suggestion.value; });
  }
  return true;
}

/// Adds what the model asks for and the user does not decide. Tolerances of the user go before a step of the model, and
/// the other way round.
RunRequest with_suggestions(const RunRequest& given, const models::ModelInfo& info, Problems& problems) {
  RunRequest request = given;
  const bool has_steps = has(request, "step") || has(request, "steps");
  const bool has_tolerance = has(request, "rtol") || has(request, "atol");
  for (const models::Suggestion& suggestion : info.suggestions) {
    const bool is_tolerance = suggestion.option == "rtol" || suggestion.option == "atol";
    const bool is_step = suggestion.option == "step" || suggestion.option == "steps";
    if (has(request, suggestion.option) || (is_tolerance && has_steps) || (is_step && (has_tolerance || has_steps)) ||
        !suits_chosen_method(given, suggestion))
      continue;
    request.options[suggestion.option] = suggestion.value;
    problems.note_origin(suggestion.option, suggestion.where);
  }
  return request;
}

void apply_options(const RunRequest& request, PreparedRun& run, Problems& problems) {
  for (const auto& given : request.options) {
    const RunOption* option = nullptr;
    problems.collect("", [&] { option = &option_named(given.first); });
    if (option != nullptr) problems.collect(option->name, [&] { option->apply(given.second, run); });
  }
  // Whatever was wrong with it, constant steps were meant: the other options are judged by that.
  if (has(request, "step") && run.options.step == 0.0) run.options.step = 1.0;
  for (const std::string_view given : {"step", "steps"})
    if (has(request, given) && (has(request, "rtol") || has(request, "atol")))
      problems.add("", fmt::format("--{} and --rtol/--atol exclude each other: {} steps have no error control; give one of the two",
                                   given, given == "step" ? "constant" : "given"));
  if (has(request, "step") || has(request, "steps"))
    for (const std::string_view name : {"initial-step", "min-step", "max-step", "max-order", "control-lambda"})
      if (has(request, name)) run.warnings.push_back(fmt::format("--{} has no effect with {} steps", name, has(request, "step") ? "constant" : "given"));
}

bool looks_like_a_file(std::string_view model) { return model.find('/') != std::string_view::npos || model.ends_with(".json"); }

std::string absolute(std::string_view path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).lexically_normal().string();
}

/// file:PATH, the same from any folder.
std::string with_absolute_path(const std::string& word) {
  return word.starts_with(file_prefix) ? std::string(file_prefix) + absolute(word.substr(file_prefix.size())) : word;
}

/// The same request from any folder.
RunRequest with_absolute_paths(RunRequest request) {
  if (looks_like_a_file(request.model)) request.model = absolute(request.model);
  for (auto& [name, text] : request.options) text = with_absolute_path(text);
  return request;
}

void read_own_correction(PreparedRun& run) {
  const std::string& name = run.options.correction;
  if (!name.starts_with(file_prefix)) return;
  run.options.own_correction = read_correction_set(name.substr(file_prefix.size()));
  const int k = run.options.own_correction->k;
  if (run.options.step == 0.0)
    throw InvalidInput("an own coefficient set belongs to constant steps; give --step");
  if (run.options.order == 0) run.options.order = k;
  if (run.options.order != k)
    throw InvalidInput(fmt::format("the set is for order {}, but --order is {}", k, run.options.order));
}

/// Which joint misses most where the mechanism stands, for a message.
std::string widest_gap(const multibody::Assembly& assembly, const system::Start& start) {
  system::Motion m(assembly.space());
  m.t = start.t0;
  m.q = start.q0;
  const std::vector<double> gaps = assembly.joint_gaps(m);
  if (gaps.empty()) return {};
  const auto widest = std::max_element(gaps.begin(), gaps.end());
  if (*widest <= 1e-8 * system::length_scale(assembly, m)) return {};  // the positions are not the trouble
  return fmt::format("\n  at the given positions '{}' misses by {:.6g} [m or rad], more than any other joint",
                     assembly.joint_name(static_cast<int>(widest - gaps.begin())), *widest);
}

/// A driver says nothing outside its table, where it would have to stop at once.
void check_tables(const multibody::Assembly& assembly, double t0, double t_end, Problems& problems) {
  for (const multibody::JointPtr& joint : assembly.joints()) {
    const auto [begin, end] = joint->span();
    if (t0 >= begin && t_end <= end) continue;
    problems.add("", fmt::format("driver '{}': its table goes from t = {} to {}, the run from {} to {}; complete the table, or "
                                 "end the run with it (t_end, --t-end)",
                                 joint->name(), begin, end, t0, t_end));
  }
}

/// A velocity that jumps would be an impact without a law.
void check_drivers(const multibody::Assembly& assembly, double t0, double t_end, Problems& problems) {
  for (const multibody::JointPtr& joint : assembly.joints()) {
    system::Corner corner = joint->next_corner(t0, t_end, 1e-6);
    while (corner.exists() && corner.smooth >= -1) corner = joint->next_corner(corner.t, t_end, 1e-6);
    if (!corner.exists()) continue;
    problems.add("", fmt::format("driver '{}': the {} that its formula prescribes jumps at t = {:.10g}, which needs an infinite force; "
                                 "smooth it, as max(0, t - 1)^2 does with max(0, t - 1), or push with an actuator instead",
                                 joint->name(), corner.smooth == -2 ? "velocity" : "position", corner.t));
  }
}

/// What moving the bodies onto the joints changed.
std::vector<solve::Change> assembled(models::Model& model, std::string_view linear_solver) {
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(model.system.get());
  try {
    std::vector<solve::Change> changes = solve::assemble(*model.system, model.start, linear_solver);
    if (assembly != nullptr) assembly->set_states(model.start.t0, model.start.q0, model.start.v0);
    return changes;
  } catch (const InvalidInput& e) {
    if (assembly == nullptr) throw;
    throw InvalidInput(e.what() + widest_gap(*assembly, model.start));
  }
}

}  // namespace

const std::vector<RunOption>& run_options() {
  constexpr std::string_view model = "Model", method = "Method", time = "Time and accuracy", solver = "Solver and limits";
  static const std::vector<RunOption> list{
      {"method", "M", method, "integration method (default bliedf, which gives way to radau where stiff vibrations hold it)", method_names,
       [](std::string_view text, PreparedRun& run) {
         run.options.method = text;
         run.options.gives_way = false;  // who names a method wants that one
       }},
      {"order", "K", method, "order of the method; with tolerances it fixes the order", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.order = to_order(text); }},
      {"formulation", "F", method, "of the constraints (default stabilized-index2, or ode)",
       formulation_names, [](std::string_view text, PreparedRun& run) { run.options.formulation = text; }},
      {"correction", "C", method, "commutator term of bliedf (default magnus; magnus-explicit with tolerances)",
       method::correction_names, [](std::string_view text, PreparedRun& run) { run.options.correction = text; }},
      {"starting", "S", method, "starting values (default corrected)", starting_names,
       [](std::string_view text, PreparedRun& run) { run.options.starting = text; }},

      {"project-position-at", "T,...", method, "move q onto Phi = 0 at these times [s], in the mass metric", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.project_position_at = to_times(text); }},
      {"project-velocity-at", "T,...", method, "move v onto B v = 0 at these times [s], in the mass metric", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.project_velocity_at = to_times(text); }},
      {"restart", "R", method, "after such a projection (default none); corrected starting values keep the order", restart_names,
       [](std::string_view text, PreparedRun& run) { run.options.restart = text; }},
      {"conserve", "I,...", method, "invariants that projected-bdf projects onto as well", solve::invariant_names,
       [](std::string_view text, PreparedRun& run) { run.options.conserved = split(text); }},

      {"step", "H", time, "constant steps of this size [s]; shrunk when they miss t_end", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.step = to_positive(text); }},
      {"steps", "S", time,
       "given steps: constant:h=, change:h=,at=,ratio=, alternate:h=,ratio=, file:PATH or "
       "random:h_min=,h_max=,ratio_min=,ratio_max=,every=,seed=,member=", nullptr,
       [](std::string_view text, PreparedRun& run) {
         run.options.steps = read_step_sequence(text);
         run.step_sequence = text;
       }},
      {"rtol", "R", time, "relative error tolerance (default 1e-6)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.rtol = to_number(text); }},
      {"atol", "A", time, "absolute error tolerance (default 1e-8)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.atol = to_number(text); }},
      {"t-end", "T", time, "final time [s] (default: the model's)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.t_end = to_number(text); }},
      {"assemble", "", model, "move bodies onto the joints first when positions or velocities miss them", truth_names,
       [](std::string_view text, PreparedRun& run) { run.assembles = to_truth(text); }},

      {"control-lambda", "", time, "include lambda in the error test", truth_names,
       [](std::string_view text, PreparedRun& run) { run.options.control_lambda = to_truth(text); }},
      {"max-order", "K", time, "highest order under error control (default 6)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.max_order = to_order(text); }},
      {"initial-step", "H", time, "first step under error control [s] (default: chosen)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.initial_step = to_positive(text); }},
      {"min-step", "H", time, "smallest step under error control [s]", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.min_step = to_positive(text); }},
      {"max-step", "H", time, "largest step under error control [s]", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.max_step = to_positive(text); }},
      {"corners", "T,...", time, "times at which forces jump, beside those the model tells [s]: steps end there", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.corners = to_times(text); }},
      {"output-step", "D", time, "write the trajectory at multiples of D [s] (default: every step)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.output_step = to_positive(text); }},
      {"output-times", "T,T,...", time, "write the trajectory at these times [s]; file:PATH reads them from a file", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.output_times = to_times(text); }},

      {"max-steps", "N", solver, "give up after so many steps (default 10000000)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.max_steps = to_integer<long>(text); }},
      {"newton-tolerance", "E", solver, "weighted update at which Newton's method stops (default 1e-10, or by tolerances)",
       nullptr, [](std::string_view text, PreparedRun& run) { run.options.newton_tolerance = to_positive(text); }},
      {"newton-iterations", "N", solver, "iterations per matrix before giving up (default 25; at most 8 with tolerances)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.newton_iterations = to_integer<int>(text); }},
      {"newton-matrix", "W", solver, "when Newton's matrix is made anew (default every-step; kept while it converges with tolerances)", matrix_names,
       [](std::string_view text, PreparedRun& run) { run.options.newton_matrix = text; }},
      {"redundant", "W", solver, "constraints that depend on each other: multipliers of least norm (default: refused)", redundant_names,
       [](std::string_view text, PreparedRun& run) {
         if (text == "refuse") return;
         if (text != "least-squares") throw InvalidInput(unknown_name("way", text, redundant_names()));
         if (run.options.linear_solver != "automatic" && run.options.linear_solver != "least-squares")
           throw InvalidInput(fmt::format("least-squares is a linear solver of its own; drop --linear-solver {}", run.options.linear_solver));
         run.options.linear_solver = "least-squares";
       }},
      {"linear-solver", "L", solver, "for the Newton equations (default automatic)", linear::solver_names,
       [](std::string_view text, PreparedRun& run) {
         const std::vector<std::string> known = linear::solver_names();
         if (std::find(known.begin(), known.end(), text) == known.end())
           throw InvalidInput(unknown_name("linear solver", text, known));
         run.options.linear_solver = text;
       }},
      {"threads", "N", solver, "that share the assembly of large mechanisms; results are bitwise the same (default 1)", nullptr,
       [](std::string_view text, PreparedRun& run) { run.options.threads = to_integer<int>(text); }},
  };
  return list;
}

std::vector<std::string> names_of(const std::vector<ParameterInfo>& infos) {
  std::vector<std::string> names;
  for (const ParameterInfo& info : infos) names.push_back(info.name);
  return names;
}

PreparedRun prepare(const RunRequest& given) {
  PreparedRun run;
  Problems problems;
  const ReadingList read;
  problems.collect("", [&] { run.model_info = model_of(given); });
  const RunRequest request = run.model_info == nullptr ? given : with_suggestions(given, *run.model_info, problems);
  apply_options(request, run, problems);
  const method::MethodInfo* method = nullptr;
  problems.collect("method", [&] { method = &method::find_method(run.options.method); });
  problems.collect("correction", [&] { read_own_correction(run); });

  Settings settings(run.model_info.get(), method, problems);
  for (const std::string& setting : request.settings) settings.apply(setting);
  run.model_parameters = settings.model_values();
  run.options.method_parameters = settings.method_values();

  if (run.model_info != nullptr)
    problems.collect("", [&] { run.model = models::make_model(*run.model_info, request.group, run.model_parameters); });
  if (given.t0) run.model.start.t0 = *given.t0;
  if (run.model.system != nullptr && run.assembles)
    problems.collect("", [&] { run.changes = assembled(run.model, run.options.linear_solver); });
  if (run.model.system != nullptr) {
    const double t_end = std::isfinite(run.options.t_end) ? run.options.t_end : run.model.start.t_end;
    if (const auto* assembly = dynamic_cast<const multibody::Assembly*>(run.model.system.get())) {
      check_tables(*assembly, run.model.start.t0, t_end, problems);
      check_drivers(*assembly, run.model.start.t0, t_end, problems);
    }
    for (const run::OptionProblem& problem : run::problems_in(run.options, *run.model.system, run.model.start))
      problems.add(problem.field, problem.message);
  }
  problems.throw_if_any();
  run.options.sources = read.files();
  run.request = with_absolute_paths(given);
  // What results say of the run does not depend on where it was resumed.
  run.options.correction = with_absolute_path(run.options.correction);
  run.step_sequence = with_absolute_path(run.step_sequence);
  return run;
}

models::Model prepare_model(const RunRequest& request) {
  const std::shared_ptr<const models::ModelInfo> info = model_of(request);
  method::MethodInfo no_method;
  no_method.name = "none";
  Problems problems;
  const bool assembles = wants_assembly(with_suggestions(request, *info, problems));
  Settings settings(info.get(), &no_method, problems);
  for (const std::string& setting : request.settings) settings.apply(setting);
  problems.throw_if_any();
  models::Model model = models::make_model(*info, request.group, settings.model_values());
  if (assembles) assembled(model, run::Options().linear_solver);
  return model;
}

std::string formulation_in_use(const run::Options& options, const system::System& system) {
  if (system.pattern().rows() == 0) return "ode";
  if (!options.formulation.empty()) return options.formulation;
  const std::vector<std::string>& served = method::find_method(options.method).formulations;
  for (const char* name : {"stabilized-index2", "projected"})
    if (std::find(served.begin(), served.end(), name) != served.end()) return name;
  return served.front();
}

}  // namespace kreisel::io
