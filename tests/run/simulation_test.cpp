// Solutions and simulations: what a run leaves and what can be asked while it lasts.
#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "kreisel/simulation.hpp"
#include "kreisel/solution.hpp"
#include "run/integrator.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;

struct Case {
  const char* name;
  const char* model;
  run::Options options;
  /// A step that an event cuts is kept up to the event, made consistent there. Between its ends a solution knows as much as
  /// the run, but not with the same bits. Between starting points with corrected velocities it may take other substeps.
  double tolerance = 0.0;
};

run::Options with(const std::string& method, const std::string& formulation, double step, double rtol, double t_end,
                  int order = 0) {
  run::Options o;
  o.method = method;
  o.formulation = formulation;
  o.step = step;
  o.rtol = o.atol = rtol;
  o.t_end = t_end;
  o.order = order;
  return o;
}

std::vector<Case> cases() {
  run::Options restarts = with("bliedf", "", 1e-3, 1e-6, 0.1);
  restarts.project_velocity_at = {0.05};
  restarts.restart = "corrected";
  return {{"adaptive", "heavy-top", with("bliedf", "", 0, 1e-6, 0.2)},
          {"constant", "heavy-top", with("bliedf", "index3", 1e-3, 1e-6, 0.1, 4), 1e-7},
          {"alpha", "heavy-top", with("generalized-alpha", "", 1e-3, 1e-6, 0.1)},
          {"alpha adaptive", "heavy-top", with("generalized-alpha", "", 0, 1e-4, 0.1)},
          {"projected", "heavy-top", with("projected-bdf", "", 0, 1e-6, 0.2)},
          {"explicit", "heavy-top", with("rkmk", "", 0, 1e-6, 0.2)},
          {"impacts", "wall-pendulum", with("bliedf", "", 0, 1e-6, 2.0), 1e-4},
          {"impacts explicit", "wall-pendulum", with("rkmk", "", 0, 1e-6, 2.0), 1e-4},
          {"release", "rod-release", with("bliedf", "", 0, 1e-6, 2.0), 1e-4},
          {"gives way", "flexible-slider-crank", with("bliedf", "", 0, 1e-4, 0.05),
           1e-4},  // stages of radau are computed again
          {"restarts", "heavy-top", restarts}};
}

models::Model model_of(const Case& c) {
  support::Experiment e;
  e.model = c.model;
  return support::make_model(e);
}

bool same(const Vector& a, const Vector& b, double tolerance = 0.0) {
  return a.size() == b.size() && (a - b).norm() <= tolerance * (1.0 + b.norm());
}

/// What the run itself shows at given times.
std::vector<method::Entry> shown_at(const models::Model& model, run::Options options,
                                    const std::vector<double>& times) {
  options.output_times = times;
  const support::Trajectory t = support::integrate(model, options);
  std::vector<method::Entry> found;
  for (const method::Entry& e : t.points)
    if (std::find(times.begin(), times.end(), e.motion.t) != times.end()) found.push_back(e);
  return found;
}

/// Times that no method steps to, among them some between starting points.
std::vector<double> odd_times(double t_end) {
  std::vector<double> times;
  for (double f : {0.00137, 0.00291, 0.013, 0.1777, 0.433, 0.61803, 0.9331}) times.push_back(f * t_end);
  return times;
}

TEST(Solution, HasTheBitsThatTheRunShowsBetweenItsSteps) {
  for (const Case& c : cases()) {
    const models::Model model = model_of(c);
    const run::Solution solution = run::solve({model.system, model.start, {}}, c.options);
    ASSERT_TRUE(solution.is_success()) << c.name << solution.report().message;
    const std::vector<double> times = odd_times(c.options.t_end);
    const std::vector<method::Entry> shown = shown_at(model, c.options, times);
    ASSERT_EQ(shown.size(), times.size()) << c.name;
    for (std::size_t i = times.size(); i-- > 0;) {  // backwards: it must not matter
      const run::State s = solution.at(times[i]);
      EXPECT_TRUE(same(s.q, shown[i].motion.q, c.tolerance)) << c.name << " q at " << times[i];
      EXPECT_TRUE(same(s.v, shown[i].motion.v, c.tolerance)) << c.name << " v at " << times[i];
      EXPECT_TRUE(same(s.lambda, shown[i].lambda, c.tolerance)) << c.name << " lambda at " << times[i];
    }
  }
}

TEST(Solution, GivesTheLaterSideOfAJumpAndRefusesTimesOutside) {
  const Case c = cases()[6];
  const models::Model model = model_of(c);
  const run::Solution solution = run::solve({model.system, model.start, {}}, c.options);
  ASSERT_FALSE(solution.report().events.empty());
  const run::Occurrence& impact = solution.report().events.front();
  EXPECT_TRUE(same(solution.at(impact.t).v, impact.after.motion.v));
  EXPECT_LT((solution.at(impact.t - 1e-9).v - impact.before.motion.v).norm(), 1e-6);
  EXPECT_GT((impact.before.motion.v - impact.after.motion.v).norm(), 0.1) << "the impact must be one";
  EXPECT_THROW((void)solution.at(-1e-9), InvalidInput);
  EXPECT_THROW((void)solution.at(c.options.t_end * 1.001), InvalidInput);
  const run::Solution copy = solution;
  EXPECT_TRUE(same(copy.at(0.77).q, solution.at(0.77).q));
}

TEST(Simulation, ShowsWhatASolutionHas) {
  for (const Case& c : cases()) {
    const models::Model model = model_of(c);
    const run::Problem problem{model.system, model.start, {}};
    const run::Solution solution = run::solve(problem, c.options);
    run::Simulation simulation(problem, c.options);
    for (const double t : odd_times(c.options.t_end)) {
      ASSERT_EQ(simulation.advance_to(t), run::Status::success) << c.name << simulation.report().message;
      EXPECT_EQ(simulation.time(), t);
      const run::State now = simulation.state(), kept = solution.at(t);
      EXPECT_TRUE(same(now.q, kept.q, c.tolerance)) << c.name << " at " << t;
      EXPECT_TRUE(same(now.v, kept.v, c.tolerance)) << c.name << " at " << t;
      EXPECT_TRUE(same(now.lambda, kept.lambda, c.tolerance)) << c.name << " at " << t;
    }
    EXPECT_EQ(simulation.advance_to(c.options.t_end), run::Status::success);
    EXPECT_TRUE(same(simulation.state().q, solution.at(c.options.t_end).q)) << c.name;
    EXPECT_EQ(simulation.report().counters.steps, solution.report().counters.steps) << c.name;
  }
}

/// Every time of a fine grid, also those shortly before an event that the integrator has passed already.
TEST(Simulation, KnowsTheMotionBeforeAnEventItHasCarriedOut) {
  const Case c = cases()[6];
  const models::Model model = model_of(c);
  const run::Problem problem{model.system, model.start, {}};
  const run::Solution solution = run::solve(problem, c.options);
  run::Simulation simulation(problem, c.options);
  for (int i = 0; i <= 4000; ++i) {
    const double t = c.options.t_end * i / 4000;
    simulation.advance_to(t);
    ASSERT_TRUE(same(simulation.state().v, solution.at(t).v, c.tolerance)) << t;
  }
}

TEST(Simulation, GoesOnFromItsCheckpointWithTheSameBits) {
  for (const Case& c : cases()) {
    const models::Model model = model_of(c);
    const run::Problem problem{model.system, model.start, {}};
    run::Simulation first(problem, c.options);
    first.advance_to(0.437 * c.options.t_end);
    const std::string bytes = first.checkpoint();
    run::Simulation second(problem, c.options, bytes);
    EXPECT_EQ(second.time(), first.time()) << c.name;
    for (const double f : {0.437, 0.51, 0.87, 1.0}) {
      first.advance_to(f * c.options.t_end);
      second.advance_to(f * c.options.t_end);
      EXPECT_TRUE(same(first.state().q, second.state().q)) << c.name << f;
      EXPECT_TRUE(same(first.state().v, second.state().v)) << c.name << f;
      EXPECT_TRUE(same(first.state().lambda, second.state().lambda)) << c.name << f;
    }
    EXPECT_EQ(first.report().counters.residual_evaluations, second.report().counters.residual_evaluations) << c.name;
    if (!std::isnan(first.report().energy_error)) {
      EXPECT_EQ(first.report().energy_error, second.report().energy_error) << c.name;
    }
  }
}

TEST(Simulation, RefusesTimesItCannotReach) {
  const Case c = cases()[0];
  const models::Model model = model_of(c);
  run::Simulation simulation({model.system, model.start, {}}, c.options);
  simulation.advance_to(0.1);
  EXPECT_THROW(simulation.advance_to(0.01), InvalidInput);
  EXPECT_THROW(simulation.advance_to(5.0), InvalidInput);
  EXPECT_THROW((void)simulation.at(0.05), InvalidInput);
  EXPECT_EQ(simulation.time(), 0.1);
  run::Options wrong = c.options;
  wrong.rtol = -1.0;
  EXPECT_THROW(run::Simulation({model.system, model.start, {}}, wrong), InvalidInput);
}

TEST(Simulation, EndsWhereATerminalEventEndsIt) {
  const Case c = cases()[0];
  const models::Model model = model_of(c);
  run::Problem problem{model.system, model.start, {}};
  system::Event half;
  half.name = "half";
  half.function = [](double t, const Vector&, const Vector&, const Vector&) { return t - 0.1234; };
  half.terminal_after = 1;
  problem.events.push_back(half);
  run::Simulation simulation(problem, c.options);
  EXPECT_EQ(simulation.advance_to(0.05), run::Status::success);
  EXPECT_FALSE(simulation.has_ended());
  EXPECT_EQ(simulation.advance_to(0.2), run::Status::success);
  EXPECT_TRUE(simulation.has_ended());
  EXPECT_NEAR(simulation.time(), 0.1234, 1e-12);
  EXPECT_NEAR(simulation.state().t, 0.1234, 1e-12);
  EXPECT_NE(simulation.report().message.find("event 'half' ended the run"), std::string::npos);
}

/// The last step ends long before the times that are asked for.
TEST(Simulation, LastsUntilItsEndHoweverLongItsLastStepIs) {
  run::Options options = with("bliedf", "", 0.0, 1e-6, 1.0);
  for (const double end : {1.0, 0.93}) {
    const models::Model model = model_of({"free", "pendulum", options});
    run::Problem problem{model.system, model.start, {}};
    system::Event stop;
    stop.name = "stop";
    stop.function = [](double t, const Vector&, const Vector&, const Vector&) { return t - 0.93; };
    stop.terminal_after = 1;
    if (end < 1.0) problem.events.push_back(stop);
    const run::Solution solution = run::solve(problem, options);
    run::Simulation simulation(problem, options);
    for (int i = 1; 1e-3 * i < end - 1e-9; ++i) {
      ASSERT_EQ(simulation.advance_to(1e-3 * i), run::Status::success);
      ASSERT_FALSE(simulation.has_ended()) << simulation.time();
      ASSERT_EQ(simulation.time(), 1e-3 * i);
      ASSERT_LT((simulation.state().q - solution.at(1e-3 * i).q).norm(), 1e-9);
    }
    simulation.advance_to(1.0);
    EXPECT_TRUE(simulation.has_ended());
    EXPECT_NEAR(simulation.time(), end, 1e-9);
  }
}

/// Steps one by one are those of a run.
TEST(Simulation, StepsLikeARun) {
  const Case c = cases()[0];
  const models::Model model = model_of(c);
  const run::Problem problem{model.system, model.start, {}};
  const run::Solution solution = run::solve(problem, c.options);
  run::Simulation simulation(problem, c.options);
  std::size_t i = 0;
  while (simulation.step()) {
    ASSERT_LT(i, solution.size());
    EXPECT_EQ(simulation.time(), solution[i].t);
    EXPECT_TRUE(same(simulation.state().q, solution[i].q)) << i;
    ++i;
  }
  EXPECT_EQ(i + 1, solution.size());
}

}  // namespace
