// A run that cannot go on says where and why, and everything before was shown.
#include <gtest/gtest.h>

#include <sstream>

#include "method/catalogue.hpp"
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
      EXPECT_TRUE(run.report.status == run::Status::newton_failed || run.report.status == run::Status::no_consistent_start) << what;
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
    EXPECT_NE(run::integrate(*model.system, model.start, e.options, observer).message.find("interrupted at t = 0.007"), std::string::npos);
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

}  // namespace
