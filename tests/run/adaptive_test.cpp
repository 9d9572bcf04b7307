// Error control: what the estimate is worth, what a tolerance means, and that lambda stays clean.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "method/catalogue.hpp"
#include "run/scaling.hpp"
#include "solve/closer.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using method::Entry;
using support::Experiment;
using support::Trajectory;

Experiment at_tolerance(std::string model, double tolerance, double t_end) {
  Experiment experiment;
  experiment.model = std::move(model);
  experiment.options.rtol = experiment.options.atol = tolerance;
  experiment.options.t_end = t_end;
  return experiment;
}

/// Largest error of a part relative to its size, as error control sees it.
double weighed(const system::System& system, const lie::Motion& m, const Vector& q_error, const Vector& v_error) {
  double largest = 0.0;
  for (const run::Part& part : run::parts_of(system)) {
    const double q_size = part.q_at < 0 ? 1.0 : m.q.segment(part.q_at, part.n).norm();
    const double v_size = m.v.segment(part.v_at, part.n).norm();
    largest = std::max({largest, q_error.segment(part.v_at, part.n).norm() / (1.0 + q_size),
                        v_error.segment(part.v_at, part.n).norm() / (1.0 + v_size)});
  }
  return largest;
}

/// Steps of a method from exact points.
class LocalExperiment {
 public:
  LocalExperiment(const models::Model& model, const std::string& method, const std::string& correction)
      : model_(model),
        info_(method::find_method(method)),
        method_(
            info_.make(space(), counters_, {info_.max_order, correction, nullptr, ParameterValues(info_.parameters)})),
        closer_(*model.system, solve::Formulation::stabilized_index2, {.tolerance = 1e-12}, counters_) {}

  struct Result {
    double estimate = 0.0, truth = 0.0;
  };
  /// The step that leads to exact[n], order as in `taken`; the exact motion serves as history.
  Result step(const std::vector<Entry>& exact, std::size_t n, int order) {
    const system::Pattern& pattern = model_.system->pattern();
    const method::EntrySizes sizes{pattern.rows(), pattern.position_rows(), method_->memory_size()};
    method::History history(space(), sizes, 10);
    for (std::size_t i = n - static_cast<std::size_t>(order) - 2; i < n; ++i) {
      Entry entry = exact[i];
      entry.eta = Vector::Zero(sizes.position_rows);
      entry.memory = Vector::Zero(sizes.memory);
      entry.h = exact[i].motion.t - exact[i - 1].motion.t;
      space().difference(exact[i - 1].motion.q, exact[i].motion.q, entry.omega);
      history.push(entry);
    }
    method_->adopt(history);
    const double h = exact[n].motion.t - exact[n - 1].motion.t;
    Entry trial = method::History::blank(space(), sizes);
    trial.motion.t = exact[n].motion.t;
    trial.lambda = exact[n].lambda;
    Vector weight(space().nv());
    run::velocity_weights(run::parts_of(*model_.system), exact[n].motion, {}, weight);
    method_->begin_step(history, h, order);
    EXPECT_EQ(closer_.close(*method_, history, h, weight, trial).status, solve::CloseStatus::converged);

    Vector q(space().nv()), v(space().nv());
    EXPECT_TRUE(method_->local_errors(order, trial.motion, q, v));
    Result result;
    result.estimate = weighed(*model_.system, exact[n].motion, q, v);
    space().difference(exact[n].motion.q, trial.motion.q, q);
    v = trial.motion.v - exact[n].motion.v;
    result.truth = weighed(*model_.system, exact[n].motion, q, v);
    return result;
  }

 private:
  const lie::Space& space() const { return model_.system->space(); }

  const models::Model& model_;
  const method::MethodInfo& info_;
  Counters counters_;
  std::unique_ptr<method::Method> method_;
  solve::Closer closer_;
};

TEST(ErrorControl, EstimatesTheTrueLocalErrorOfTheHeavyTop) {
  constexpr double round_off = 1e-13;  // relative, of a difference of seven velocities
  Experiment experiment = at_tolerance("heavy-top", 1e-6, 0.5);
  const models::Model model = support::make_model(experiment);
  for (const char* correction : {"magnus", "magnus-explicit"}) {
    SCOPED_TRACE(correction);
    experiment.options.correction = correction;
    const Trajectory run = support::integrate(model, experiment.options);
    const Trajectory exact = support::reference_at(model, run.points);
    LocalExperiment local(model, "bliedf", correction);
    double smallest = std::numeric_limits<double>::infinity(), largest = 0.0;
    for (std::size_t n = 10; n < run.points.size(); ++n) {
      const auto [estimate, truth] = local.step(exact.points, n, run.points[n].order);
      if (truth < round_off) continue;
      const double ratio = estimate / truth;
      smallest = std::min(smallest, ratio);
      largest = std::max(largest, ratio);
    }
    EXPECT_GT(smallest, 0.2);
    EXPECT_LT(largest, 5.0);
  }
}

struct ToleranceCase {
  std::string model, group;
  std::string method = "bliedf";
  std::vector<std::pair<std::string, std::string>> settings{};
  double t_end = 2.0;
  double loosest = 1e-3, tightest = 1e-10;
  double most = 1000.0;  ///< times the tolerance
  /// Steps with error e at order k make errors e^(k/(k+1)) in a given time.
  double slope = 0.8;
};

class Tolerance : public testing::TestWithParam<ToleranceCase> {};

/// Least squares slope of log(error) over log(tolerance).
double slope_of(const std::vector<double>& x, const std::vector<double>& y) {
  double sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  const double n = static_cast<double>(x.size());
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

TEST_P(Tolerance, MeansSomething) {
  const ToleranceCase& c = GetParam();
  std::vector<double> x, y;
  long steps = 0, rejected = 0;
  for (double tolerance = c.loosest; tolerance > 0.5 * c.tightest; tolerance *= 0.1) {
    Experiment experiment = at_tolerance(c.model, tolerance, c.t_end);
    experiment.group = c.group;
    experiment.model_settings = c.settings;
    experiment.options.method = c.method;
    const models::Model model = support::make_model(experiment);
    const Trajectory run = support::integrate(model, experiment.options);
    ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
    EXPECT_EQ(run.points.back().motion.t, c.t_end);
    Experiment same = experiment;
    const Trajectory& exact = support::reference(same, 1);
    Trajectory end;
    end.points = {run.points.front(), run.points.back()};
    const support::Errors error =
        support::errors_of(model, end, exact, {support::Entries::largest, support::Span::end});
    EXPECT_LT(error.q, c.most * tolerance) << "at " << tolerance;
    x.push_back(std::log(tolerance));
    y.push_back(std::log(error.q));
    steps += run.report.counters.steps;
    rejected += run.report.counters.rejected_steps;
  }
  const double slope = slope_of(x, y);
  EXPECT_GT(slope, c.slope);
  EXPECT_LT(slope, 1.2);
  EXPECT_LT(static_cast<double>(rejected), 0.05 * static_cast<double>(steps)) << steps << " steps";
}

INSTANTIATE_TEST_SUITE_P(
    ErrorControl, Tolerance,
    testing::Values(ToleranceCase{"heavy-top", "r3xso3"}, ToleranceCase{"heavy-top", "se3"},
                    ToleranceCase{"heavy-top", "so3", "bliedf", {}, 2.0, 1e-4, 1e-10, 3e4},
                    ToleranceCase{"pendulum", "rn", "bliedf", {{"variant", "eich"}}, 10.0, 1e-3, 1e-10, 1e5},
                    ToleranceCase{"slider-crank", "rn", "bliedf", {}, 10.0, 1e-3, 1e-10, 100.0},
                    ToleranceCase{"heavy-top", "r3xso3", "generalized-alpha", {}, 0.2, 1e-3, 1e-7, 1e4, 0.6}),
    [](const auto& param) {
      std::string name = param.param.model + "_" + param.param.group + "_" + param.param.method;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

/// Largest error of λ over all points, relative to its largest size.
double lambda_error(const Trajectory& run, const Trajectory& exact) {
  double error = 0.0, size = 0.0;
  for (std::size_t n = 0; n < run.points.size(); ++n) {
    error = std::max(error, (run.points[n].lambda - exact.points[n].lambda).norm());
    size = std::max(size, exact.points[n].lambda.norm());
  }
  return error / size;
}

/// λ at every accepted point, those right after changes of step and order included.
class Lambda : public testing::TestWithParam<double> {};

TEST_P(Lambda, KeepsTheToleranceAndDoesNotOscillate) {
  const double tolerance = GetParam();
  const Experiment experiment = at_tolerance("heavy-top", tolerance, 2.0);
  const models::Model model = support::make_model(experiment);
  const Trajectory run = support::integrate(model, experiment.options);
  const Trajectory exact = support::reference_at(model, run.points);
  double variation = 0.0, exact_variation = 0.0;
  for (std::size_t n = 1; n < run.points.size(); ++n) {
    variation += (run.points[n].lambda - run.points[n - 1].lambda).lpNorm<1>();
    exact_variation += (exact.points[n].lambda - exact.points[n - 1].lambda).lpNorm<1>();
  }
  EXPECT_LT(lambda_error(run, exact), 1000.0 * tolerance);
  EXPECT_NEAR(variation / exact_variation, 1.0, 0.02);
}

INSTANTIATE_TEST_SUITE_P(ErrorControl, Lambda, testing::Values(1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9));

// λ is of one order less: under control it costs more steps, and is known accordingly better.
TEST(ErrorControl, OfLambdaKeepsItBelowTheToleranceWithoutStalling) {
  for (const double tolerance : {1e-3, 1e-5, 1e-7, 1e-9}) {
    SCOPED_TRACE(tolerance);
    Experiment experiment = at_tolerance("heavy-top", tolerance, 0.5);
    const models::Model model = support::make_model(experiment);
    const Trajectory plain = support::integrate(model, experiment.options);
    experiment.options.control_lambda = true;
    const Trajectory controlled = support::integrate(model, experiment.options);
    ASSERT_EQ(controlled.report.status, run::Status::success) << controlled.report.message;
    EXPECT_LT(controlled.report.counters.steps, 5 * plain.report.counters.steps);
    EXPECT_LE(controlled.report.counters.rejected_steps, controlled.report.counters.steps / 20);
    const double error = lambda_error(controlled, support::reference_at(model, controlled.points));
    EXPECT_LT(error, 10.0 * tolerance);
    EXPECT_LT(error, lambda_error(plain, support::reference_at(model, plain.points)));
  }
}

TEST(ErrorControl, OutputTimesDoNotForceTheStep) {
  Experiment experiment = at_tolerance("heavy-top", 1e-6, 0.5);
  const Trajectory free = support::integrate(experiment);
  experiment.options.output_step = 1.7e-3;
  experiment.options.output_times = {0.1, 0.2345};
  const Trajectory watched = support::integrate(experiment);
  EXPECT_EQ(free.report.counters.steps, watched.report.counters.steps);
  EXPECT_EQ(free.report.final.motion.q, watched.report.final.motion.q);
  EXPECT_EQ(free.report.final.lambda, watched.report.final.lambda);
}

}  // namespace
