#include "support/random_runs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kreisel/error.hpp"
#include "method/catalogue.hpp"
#include "support/dice.hpp"

namespace kreisel::support {
namespace {

constexpr long most_steps = 4000;
constexpr long most_attempts = 5 * most_steps;
constexpr double most_bodies = 6.0;

/// Within the range of the parameter, a tenth to ten times its default or around zero; words at will.
std::string random_value(const ParameterInfo& info, Dice& dice) {
  if (!info.words.empty()) return dice.one_of(info.words);
  if (info.name == "n") return fmt::format("{}", std::floor(dice.between(1.0, most_bodies)));
  const double size = info.default_number != 0.0 ? std::abs(info.default_number) : 1.0;
  double value = size * std::pow(10.0, dice.between(-1.0, 1.0));
  if (info.minimum < 0.0 && dice.chance(0.5)) value = -value;
  return fmt::format("{}", std::min(std::max(value, info.minimum), info.maximum));
}

/// Checks what is shown and stops a run that attempts without end.
class Inspector final : public run::Observer {
 public:
  bool accept(const run::Point& point) override {
    const lie::Motion& m = point.entry.motion;
    is_finite = is_finite && m.q.allFinite() && m.v.allFinite() && m.a.allFinite() && point.entry.lambda.allFinite();
    rises = rises && (point.number == 0 || m.t >= last_t_);  // an impact shows both of its sides
    last_t_ = m.t;
    return attempts < most_attempts;
  }
  void attempted(const run::Attempt&) override { ++attempts; }

  bool is_finite = true, rises = true;
  long attempts = 0;

 private:
  double last_t_ = 0.0;
};

enum class Ending { success, failure, refusal };

Ending run_one(const Experiment& experiment) {
  Inspector inspector;
  run::Report report;
  try {
    const models::Model model = make_model(experiment);
    report = run::integrate(*model.system, model.start, experiment.options, inspector);
  } catch (const InvalidInput& refusal) {
    EXPECT_FALSE(std::string(refusal.what()).empty());
    return Ending::refusal;
  }
  EXPECT_TRUE(inspector.is_finite) << "a shown point is not finite";
  EXPECT_TRUE(inspector.rises) << "times fall";
  EXPECT_LT(inspector.attempts, most_attempts) << "attempts without end";
  if (report.status == run::Status::success) {
    EXPECT_EQ(report.final.motion.t, report.t_end);
    return Ending::success;
  }
  EXPECT_FALSE(report.message.empty()) << "a failure without a reason";
  return Ending::failure;
}

}  // namespace

Experiment random_experiment(std::uint64_t seed) {
  Dice dice(seed);
  Experiment experiment;
  const models::ModelInfo& model = dice.one_of(models::catalogue());
  experiment.model = model.name;
  experiment.group = dice.one_of(model.groups);
  for (const ParameterInfo& info : model.parameters)
    if (info.name == "n" || dice.chance(0.3))
      experiment.model_settings.emplace_back(info.name, random_value(info, dice));

  run::Options& options = experiment.options;
  const auto serves_constraints = [](const method::MethodInfo& m) {
    return m.formulations != std::vector<std::string>{"ode"};
  };
  const method::MethodInfo* chosen = &dice.one_of(method::catalogue());
  while (!serves_constraints(*chosen) && !dice.chance(0.2))
    chosen = &dice.one_of(method::catalogue());  // most models have some
  const method::MethodInfo& method = *chosen;
  options.method = method.name;
  // At most the time for which the model is meant: a squeezer of milliseconds would need millions of steps for a second.
  const double natural = models::make_model(model, "", ParameterValues(model.parameters)).start.t_end;
  options.t_end = std::min(natural, std::pow(10.0, dice.between(-2.0, 0.5)));
  options.max_steps = most_steps;
  const std::vector<int> orders = method.orders();
  if (method.has_order_choice && dice.chance(0.3)) options.order = orders[dice.bits() % orders.size()];
  if (!method.variable_formulations.empty() && dice.chance(0.8)) {
    options.rtol = std::pow(10.0, dice.between(-10.0, -2.0));
    options.atol = options.rtol * std::pow(10.0, dice.between(-3.0, 1.0));
    options.control_lambda = dice.chance(0.2);
    if (dice.chance(0.5)) options.formulation = dice.one_of(method.variable_formulations);
    if (dice.chance(0.2)) options.max_step = options.t_end * std::pow(10.0, dice.between(-3.0, 0.0));
    if (dice.chance(0.2)) options.min_step = options.t_end * std::pow(10.0, dice.between(-9.0, -3.0));
    if (dice.chance(0.2)) options.initial_step = options.t_end * std::pow(10.0, dice.between(-8.0, 0.0));
  } else {
    options.step = options.t_end * std::pow(10.0, dice.between(-3.0, 0.0));
    if (dice.chance(0.5)) options.formulation = dice.one_of(method.formulations);
  }
  if (dice.chance(0.2)) options.output_step = options.t_end / dice.between(1.0, 50.0);
  return experiment;
}

std::string describe(const Experiment& e) {
  const run::Options& o = e.options;
  std::string text =
      fmt::format("kreisel run {} --group {} --method {} --t-end {}", e.model, e.group, o.method.name(), o.t_end);
  if (o.order > 0) text += fmt::format(" --order {}", o.order);
  if (o.formulation.is_given()) text += fmt::format(" --formulation {}", o.formulation.name());
  if (o.step > 0.0)
    text += fmt::format(" --step {}", o.step);
  else
    text += fmt::format(" --rtol {} --atol {}{}", o.rtol, o.atol, o.control_lambda ? " --control-lambda" : "");
  if (o.max_step > 0.0) text += fmt::format(" --max-step {}", o.max_step);
  if (o.min_step > 0.0) text += fmt::format(" --min-step {}", o.min_step);
  if (o.initial_step > 0.0) text += fmt::format(" --initial-step {}", o.initial_step);
  if (o.output_step > 0.0) text += fmt::format(" --output-step {}", o.output_step);
  for (const auto& [key, value] : e.model_settings) text += fmt::format(" --set {}={}", key, value);
  return text;
}

RandomRunCounts run_random_experiments(std::uint64_t first, int count) {
  RandomRunCounts counts;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    const Experiment experiment = random_experiment(seed);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, describe(experiment)));
    switch (run_one(experiment)) {
      case Ending::success:
        ++counts.succeeded;
        break;
      case Ending::failure:
        ++counts.failed;
        break;
      case Ending::refusal:
        ++counts.refused;
        break;
    }
  }
  return counts;
}

}  // namespace kreisel::support
