// A run that cannot go on says where and why, and everything before was shown.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <sstream>

#include "io/model_file/model_file.hpp"
#include "kreisel/own_system.hpp"
#include "method/catalogue.hpp"
#include "run/integrator.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using support::Experiment;
using support::Trajectory;

TEST(FailedRun, OfTheHeavyTopWithAHugeStepNamesTimeStepAndRows) {
  Experiment e;
  e.model_settings = {{"omega_y", "10"}};  // 5 rad per step: more than 6 would be refused before
  e.options.step = 0.5;
  const Trajectory run = support::integrate(e);
  EXPECT_EQ(run.report.status, run::Status::newton_failed);
  EXPECT_EQ(run::info_of(run.report.status).name, "newton-failed");
  EXPECT_NE(run.report.message.find("at t = 1.5 the step of size 0.5 failed"), std::string::npos) << run.report.message;
  EXPECT_NE(run.report.message.find("largest residuals: dynamics of 'top' row"), std::string::npos)
      << run.report.message;
  EXPECT_NE(run.report.message.find("try: smaller steps (now 0.5)"), std::string::npos) << run.report.message;
  // Order 4: the start and three points of the starting procedure, in order.
  ASSERT_EQ(run.points.size(), 4u);
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(run.points[n].motion.t, 0.5 * n);
    EXPECT_TRUE(run.is_start[n]);
    EXPECT_TRUE(run.points[n].motion.q.allFinite() && run.points[n].motion.v.allFinite() &&
                run.points[n].lambda.allFinite());
  }
  EXPECT_EQ(run.report.final.motion.t, run.points.back().motion.t);
  EXPECT_EQ(run.report.counters.rejected_steps, 1);
  EXPECT_EQ(run.report.rejected_by_newton, 1);
}

TEST(FailedRun, InTheMiddleKeepsEveryPointBefore) {
  // An unstable combination that dies after some hundred steps.
  Experiment e;
  e.options.order = 6;
  e.options.formulation = "index3";
  e.options.correction = "magnus-explicit";
  e.options.step = 1e-3;
  const Trajectory run = support::integrate(e);
  ASSERT_EQ(run.report.status, run::Status::newton_failed);
  ASSERT_GT(run.points.size(), 50u);
  EXPECT_EQ(run.report.counters.steps, static_cast<long>(run.points.size()) - 1);
  for (std::size_t n = 0; n < run.points.size(); ++n)
    EXPECT_DOUBLE_EQ(run.points[n].motion.t, 1e-3 * static_cast<double>(n));
  std::ostringstream where;
  where << "at t = " << run.points.back().motion.t << " the step of size 0.001 failed";
  EXPECT_NE(run.report.message.find(where.str()), std::string::npos) << run.report.message;
}

TEST(FailedRun, IsReportedByEveryMethodAndFormulation) {
  for (const method::MethodInfo& info : method::catalogue())
    for (const std::string& formulation : info.formulations) {
      if (formulation == "ode") continue;
      Experiment e;
      e.options.method = info.name;
      e.options.formulation = formulation;
      e.options.step = 1.0;
      e.options.t_end = 20.0;
      const Trajectory run = support::integrate(e);
      const std::string what = info.name + " " + formulation + ": " + run.report.message;
      EXPECT_TRUE(run.report.status == run::Status::newton_failed ||
                  run.report.status == run::Status::no_consistent_start)
          << what;
      EXPECT_NE(run.report.message.find("at t = "), std::string::npos) << what;
      EXPECT_NE(run.report.message.find("\n  try: "), std::string::npos) << what;
      ASSERT_FALSE(run.points.empty());
      EXPECT_EQ(run.points[0].motion.t, 0.0);
    }
}

TEST(Run, StopsWhenTheObserverAsks) {
  class Impatient final : public run::Observer {
   public:
    bool accept(const run::Point& point) override {
      seen = point.number;
      return point.number < 7;
    }
    long seen = -1;
  };
  Experiment e;
  e.options.step = 1e-3;
  const models::Model model = support::make_model(e);
  for (const char* method : {"bliedf", "rkmk"}) {
    e.options.method = method;
    Impatient observer;
    const run::Report report = run::integrate(*model.system, model.start, e.options, observer);
    EXPECT_EQ(report.status, run::Status::interrupted) << method;
    EXPECT_NE(report.message.find("interrupted at t = 0.007"), std::string::npos) << report.message;
    EXPECT_EQ(observer.seen, 7) << method;
  }
}

TEST(Run, StopsBetweenShownPointsToo) {
  class Impatient final : public run::Observer {
   public:
    bool goes_on(double, long steps) override { return steps < last; }
    long last = 7;
  };
  Experiment e;
  e.options.step = 1e-3;
  e.options.output_times = {1.0};
  const models::Model model = support::make_model(e);
  for (const char* method : {"bliedf", "rkmk"}) {
    e.options.method = method;
    Impatient observer;
    EXPECT_NE(run::integrate(*model.system, model.start, e.options, observer).message.find("interrupted at t = 0.007"),
              std::string::npos);
    observer.last = 2000;  // the last step: it has arrived
    EXPECT_EQ(run::integrate(*model.system, model.start, e.options, observer).status, run::Status::success);
  }
}

TEST(Run, StopsAtMaxSteps) {
  for (const char* method : {"bliedf", "rkmk"}) {
    Experiment e;
    e.options.method = method;
    e.options.step = 1e-3;
    e.options.max_steps = 20;
    const Trajectory run = support::integrate(e);
    EXPECT_EQ(run.report.status, run::Status::too_many_steps) << method;
    EXPECT_EQ(run.report.counters.steps, 20) << method;
    EXPECT_NE(run.report.message.find("max_steps = 20 reached at t = 0.02"), std::string::npos) << run.report.message;
  }
}

TEST(Run, ShrinksAStepThatDoesNotDivideTheSpan) {
  Experiment e;
  e.options.step = 0.003;
  e.options.t_end = 0.1;
  const Trajectory run = support::integrate(e);
  EXPECT_TRUE(run.report.step_was_adjusted);
  EXPECT_EQ(run.points.size(), 35u);
  EXPECT_DOUBLE_EQ(run.report.step, 0.1 / 34);
  EXPECT_EQ(run.points.back().motion.t, 0.1);
  e.options.step = 0.1 / 3.0;  // divides up to round-off
  e.options.method = "rkmk";
  EXPECT_FALSE(support::integrate(e).report.step_was_adjusted);
}

TEST(Run, ShorterThanTheStartingProcedureEndsAtTheEnd) {
  for (const int steps : {1, 2, 3, 5, 6}) {
    Experiment e;
    e.options.order = 6;
    e.options.t_end = 1e-3 * steps;
    e.options.step = 1e-3;
    const Trajectory run = support::integrate(e);
    EXPECT_EQ(run.report.status, run::Status::success);
    EXPECT_EQ(run.points.size(), steps + 1u);
    EXPECT_DOUBLE_EQ(run.points.back().motion.t, e.options.t_end);
  }
}

/// Three rods with ball joints, in units of `u` metres: a chain that hangs at an angle is far from any singular position.
TEST(FailedRun, OfALargeMechanismIsNotCalledSingular) {
  for (const double u : {1e-3, 1.0, 1e3}) {
    std::string bodies, joints;
    for (int i = 0; i < 3; ++i) {
      bodies +=
          fmt::format(R"({0}{{"name": "rod{1}", "mass": 1, "inertia": [{2}, {2}, {2}], "position": [{3}, 0, {4}]}})",
                      i > 0 ? ", " : "", i, 0.1 * u * u, (i + 0.5) * u, -0.5 * (i + 0.5) * u);
      joints += fmt::format(
          R"({0}{{"type": "spherical", "name": "ball{1}", "between": ["{2}", "rod{1}"], "at": [{3}, 0, {4}]}})",
          i > 0 ? ", " : "", i, i > 0 ? fmt::format("rod{}", i - 1) : "ground", i * u, -0.5 * i * u);
    }
    const io::ModelFile file = io::read_model(io::JsonSource(
        "chain.json",
        fmt::format(R"({{"gravity": [0, 0, {}], "bodies": [{}], "joints": [{}]}})", -9.81 * u, bodies, joints)));
    run::Options options;
    options.t_end = 2.0;
    options.rtol = 1e-8;
    options.min_step = 0.05;
    run::Observer nobody;
    const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
    ASSERT_EQ(report.status, run::Status::step_too_small) << u;
    EXPECT_EQ(report.message.find("singular position: "), std::string::npos) << u << "\n" << report.message;
  }
}

TEST(FailedRun, ThatChattersSaysOnceWhichForceJumps) {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 1}};
  f.block_names = {"block"};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double, const Vector& q, const Vector& v) -> Vector {
    return Vector::Constant(1, q[0] + (v[0] > 0.0 ? 0.3 : v[0] < 0.0 ? -0.3 : 0.0));
  };
  const system::Start start{.t_end = 10.0, .q0 = Vector::Ones(1), .v0 = Vector::Zero(1)};
  run::Observer nobody;
  const run::Report report = run::integrate(system::FunctionSystem(f), start, run::Options(), nobody);
  EXPECT_EQ(report.status, run::Status::step_too_small);
  EXPECT_LT(report.counters.steps, 20'000);
  EXPECT_NE(report.message.find("the run chatters at t = 6.28"), std::string::npos) << report.message;
  EXPECT_NE(report.message.find("stick-slip"), std::string::npos) << report.message;
  const std::size_t first = report.message.find("jumps from");
  ASSERT_NE(first, std::string::npos) << report.message;
  EXPECT_EQ(report.message.find("jumps from", first + 1), std::string::npos) << report.message;
}

}  // namespace
