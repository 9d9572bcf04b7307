#include "io/result/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "io/model_file/part_numbers.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/analysis.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {

RunSpec with_parameter(RunSpec spec, const std::string& name, double value) {
  std::erase_if(spec.settings, [&](const Setting& s) { return s.name == name || s.name == "model." + name; });
  spec.settings.push_back({"model." + name, value});
  return spec;
}

double parameter_value(const RunSpec& spec, const std::string& name) { return parameter_values(spec, {name})[0]; }

Vector parameter_values(const RunSpec& spec, const std::vector<std::string>& names) {
  Vector values(static_cast<Eigen::Index>(names.size()));
  const PreparedRun run = prepare(spec);
  std::vector<std::string> known, of_parts;
  if (run.model_info != nullptr)
    for (const Field& field : run.model_info->parameters) known.push_back(field.name);
  const auto is_set = [&](const std::string& name) {
    return std::ranges::any_of(spec.settings,
                               [&](const Setting& s) { return s.name == name || s.name == "model." + name; });
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (is_set(name) || std::ranges::count(known, name) > 0) {
      if (!is_set(name) && !run.model_parameters.is_set(name))
        throw InvalidInput(fmt::format("parameter '{}' is not a number", name));
      values[static_cast<Eigen::Index>(i)] = run.model_parameters.number(name);
    } else if (name.find('.') == std::string::npos || spec.own_model != nullptr) {
      throw InvalidInput(known.empty() ? fmt::format("there is no parameter '{}': the model has none", name)
                                       : unknown_name("parameter", name, known));
    } else {
      of_parts.push_back(name);
    }
  }
  if (of_parts.empty()) return values;
  // A number of a part: as a parameter it has the value that the file gives it.
  const std::shared_ptr<const models::ModelInfo> info = find_model_with(of_parts, spec.model, spec.is_true("assemble"));
  const models::Model model = models::make_model(*info, spec.group, ParameterValues(info->parameters));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(of_parts, names[i]) == 0) continue;
    const auto found = model.parameters.find(names[i]);
    if (found == model.parameters.end()) throw InvalidInput(unknown_name("parameter", names[i], known));
    values[static_cast<Eigen::Index>(i)] = found->second;
  }
  return values;
}

int output_number(const system::System& system, const std::string& name) {
  std::vector<std::string> known;
  for (const system::OutputInfo& info : system.outputs())
    for (int i = 0; i < info.size(); ++i) known.push_back(info.column(i));
  const auto found = std::ranges::find(known, name);
  if (found == known.end())
    throw InvalidInput(known.empty() ? fmt::format("there is no output '{}': the model has no outputs", name)
                                     : unknown_name("output", name, known));
  return static_cast<int>(found - known.begin());
}

Tuned tune(const RunSpec& spec, const std::string& parameter, const Wanted& wanted) {
  const double start = parameter_value(spec, parameter);
  Vector q;
  std::string trouble;
  double size = std::abs(wanted.value);
  const auto miss = [&](double value) -> std::optional<double> {
    const models::Model model = prepare_model(with_parameter(spec, parameter, value));
    const int number = output_number(*model.system, wanted.output);
    system::Start from = model.start;
    if (q.size() == from.q0.size()) from.q0 = q;
    const analysis::Equilibrium e = analysis::find_equilibrium(*model.system, from);
    if (!e.is_found) {
      trouble = fmt::format("at {} = {:.9g} there is no equilibrium: {}", parameter, value, e.message);
      return {};
    }
    q = e.motion.q;
    const system::System& system = e.leaning != nullptr ? *e.leaning : *model.system;
    Vector values = Vector::Zero(system.output_size());
    system.evaluate_outputs(e.motion, e.lambda, values);
    size = std::max(size, std::abs(values[number]));
    return values[number] - wanted.value;
  };
  Tuned out;
  double a = start, b = start + 1e-3 * std::max(std::abs(start), 1e-3);
  std::optional<double> at_a = miss(a), at_b = miss(b);
  if (!at_a || !at_b) return {false, start, trouble};
  if (*at_a == 0.0) return {true, a, ""};
  if (*at_a == *at_b)
    return {false, start,
            fmt::format("'{}' does not depend on '{}': it stays {:.9g} at rest; choose another parameter",
                        wanted.output, parameter, *at_a + wanted.value)};
  double longest = std::max(0.5 * std::abs(start), 1e3 * std::abs(b - a));
  std::optional<std::pair<double, double>> below, above;  // where the output is too small and too large
  const auto note = [&](double value, double m) { (m < 0.0 ? below : above) = {value, m}; };
  note(a, *at_a);
  note(b, *at_b);
  constexpr int most = 80;
  for (int i = 0; i < most; ++i) {
    const double round_off = 64.0 * std::numeric_limits<double>::epsilon();
    if (std::abs(*at_b) <= round_off * size || std::abs(b - a) <= round_off * std::abs(b)) {
      if (std::abs(*at_b) > 1e-8 * std::max(size, 1e-300)) break;
      out.is_found = true;
      out.value = b;
      return out;
    }
    double next = *at_b == *at_a ? b : b - *at_b * (b - a) / (*at_b - *at_a);
    if (below && above) {
      const double low = std::min(below->first, above->first), high = std::max(below->first, above->first);
      if (!(next > low && next < high) || i % 8 == 7) next = 0.5 * (low + high);
    } else if (!(std::abs(next - b) <= longest)) {
      next = b + std::copysign(longest, next - b);
      longest *= 2.0;
    }
    std::optional<double> at_next;
    std::string refused;
    for (int halvings = 0; halvings < 20 && !at_next; ++halvings) {
      try {
        at_next = miss(next);
      } catch (const InvalidInput& problem) {  // outside the range of the parameter, or no mechanism
        refused = problem.what();
      }
      if (!at_next) next = 0.5 * (next + b);
    }
    if (!at_next)
      return {false, b,
              fmt::format("'{}' is {:.9g} at {} = {:.9g}, the search cannot continue: {}", wanted.output,
                          *at_b + wanted.value, parameter, b, trouble.empty() ? refused : trouble)};
    a = b;
    at_a = at_b;
    b = next;
    at_b = at_next;
    note(b, *at_b);
  }
  return {false, b,
          fmt::format("no value of '{}' was found with which '{}' is {:.9g} at rest; nearest: {:.9g} at {} = {:.9g}",
                      parameter, wanted.output, wanted.value, *at_b + wanted.value, parameter, b)};
}

}  // namespace kreisel::io
