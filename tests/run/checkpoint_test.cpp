// A run that goes on from a checkpoint computes the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kreisel/base/error.hpp"
#include "kreisel/method/catalogue.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;

/// Records what is shown; keeps the state after some step and stops there if asked.
class Keeper final : public run::Observer {
 public:
  explicit Keeper(long keep_at = -1) : keep_at_(keep_at) {}
  bool accept(const run::Point& point) override {
    points.push_back(point.entry);
    residuals.push_back(point.residual);
    return state.empty();
  }
  bool wants_checkpoint() override { return ++asked_ == keep_at_; }
  void checkpoint(std::string_view bytes) override { state = bytes; }

  std::vector<method::Entry> points;
  std::vector<system::Residual> residuals;
  std::string state;

 private:
  long keep_at_, asked_ = 0;
};

bool equal(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

bool equal(const method::Entry& a, const method::Entry& b) {
  return a.motion.t == b.motion.t && equal(a.motion.q, b.motion.q) && equal(a.motion.v, b.motion.v) && equal(a.motion.a, b.motion.a) &&
         equal(a.lambda, b.lambda) && equal(a.eta, b.eta) && a.h == b.h && a.order == b.order;
}

void expect_same(const run::Report& a, const run::Report& b, const std::string& what) {
  EXPECT_EQ(a.status, b.status) << what;
  EXPECT_TRUE(equal(a.final, b.final)) << what;
  for (const auto count : {&Counters::steps, &Counters::rejected_steps, &Counters::newton_iterations, &Counters::residual_evaluations,
                           &Counters::jacobian_evaluations, &Counters::factorizations, &Counters::exponentials, &Counters::brackets})
    EXPECT_EQ(a.counters.*count, b.counters.*count) << what;
  EXPECT_EQ(a.steps_at_order, b.steps_at_order) << what;
  EXPECT_EQ(a.position_max, b.position_max) << what;
  EXPECT_EQ(a.velocity_max, b.velocity_max) << what;
  EXPECT_EQ(a.energy_initial, b.energy_initial) << what;
  EXPECT_EQ(a.energy_final, b.energy_final) << what;
  EXPECT_EQ(a.energy_error, b.energy_error) << what;
  EXPECT_EQ(a.work.total(), b.work.total()) << what;
  EXPECT_EQ(a.rejected_by_error, b.rejected_by_error) << what;
  EXPECT_EQ(a.rejected_by_newton, b.rejected_by_newton) << what;
  EXPECT_EQ(a.order, b.order) << what;
  EXPECT_EQ(a.warnings, b.warnings) << what;
  ASSERT_EQ(a.events.size(), b.events.size()) << what;
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    EXPECT_EQ(a.events[i].event, b.events[i].event) << what;
    EXPECT_EQ(a.events[i].t, b.events[i].t) << what;
    EXPECT_TRUE(equal(a.events[i].after, b.events[i].after)) << what;
  }
}

/// Stops after `fraction` of the steps and goes on from there.
void expect_bitwise(const models::Model& model, const run::Options& options, double fraction, const std::string& what) {
  Keeper whole;
  const run::Report expected = run::integrate(*model.system, model.start, options, whole);
  ASSERT_EQ(expected.status, run::Status::success) << what << ": " << expected.message;
  Keeper first(std::max(1L, static_cast<long>(fraction * static_cast<double>(expected.counters.steps - 12))));
  const run::Report cut = run::integrate(*model.system, model.start, options, first);
  ASSERT_FALSE(first.state.empty()) << what;
  ASSERT_EQ(cut.status, run::Status::interrupted) << what;
  Keeper second;
  const run::Report resumed = run::integrate(*model.system, model.start, options, second, first.state);
  expect_same(resumed, expected, what);
  // The point that noticed the interruption came after the state was kept.
  const std::size_t begin = first.points.size() - 1;
  ASSERT_EQ(begin + second.points.size(), whole.points.size()) << what;
  for (std::size_t i = 0; i < second.points.size(); ++i) {
    ASSERT_TRUE(equal(second.points[i], whole.points[begin + i])) << what << ", point " << begin + i;
    ASSERT_TRUE(equal(second.residuals[i].rate, whole.residuals[begin + i].rate)) << what;
  }
}

models::Model model_named(const std::string& name, const std::string& group = "") {
  support::Experiment e;
  e.model = name;
  e.group = group;
  return support::make_model(e);
}

TEST(Resumed, EveryMethodWithConstantStepsIsBitwiseTheSame) {
  for (const method::MethodInfo& info : method::catalogue())
    for (const std::string& formulation : info.formulations) {
      run::Options options;
      options.method = info.name;
      options.formulation = formulation;
      options.step = 1e-3;
      options.t_end = 0.1;
      expect_bitwise(model_named("heavy-top", formulation == "ode" ? "so3" : ""), options, 0.4, info.name + " " + formulation);
    }
}

/// Pivots of a sparse matrix are kept while they are good: they come from a matrix of long ago.
TEST(Resumed, SolversThatKeepTheirPivotsAreBitwiseTheSame) {
  for (const char* name : {"four-bar", "chain"})
    for (const char* solver : {"sparse", "tree", "dense"})
      for (const char* method : {"bliedf", "generalized-alpha"}) {
        run::Options options;
        options.method = method;
        options.linear_solver = solver;
        options.t_end = 0.05;
        if (std::string_view(method) == "generalized-alpha") options.rtol = options.atol = 1e-4;
        expect_bitwise(model_named(name), options, 0.6, fmt::format("{} {} {}", name, solver, method));
      }
}

TEST(Resumed, ErrorControlIsBitwiseTheSame) {
  for (const method::MethodInfo& info : method::catalogue())
    for (const std::string& formulation : info.variable_formulations)
      for (const double fraction : {0.02, 0.3, 0.9}) {
        run::Options options;
        options.method = info.name;
        options.formulation = formulation;
        options.t_end = 0.2;
        expect_bitwise(model_named("heavy-top", formulation == "ode" ? "so3" : ""), options, fraction, info.name + " " + formulation);
      }
}

TEST(Resumed, OutputTimesGoOn) {
  run::Options options;
  options.t_end = 0.2;
  options.output_step = 0.01;
  options.output_times = {0.0533, 0.1777};
  for (const char* method : {"bliedf", "rkmk"}) {
    options.method = method;
    expect_bitwise(model_named("heavy-top"), options, 0.5, method);
  }
}

TEST(Resumed, EventsBeforeAndAfterTheCheckpointAreTheSame) {
  for (const char* model : {"wall-pendulum", "rod-release"})
    for (const char* method : {"bliedf", "rkmk"})
      for (const double step : {0.0, 2e-3})
        for (const double fraction : {0.05, 0.5, 0.95}) {
          run::Options options;
          options.method = method;
          options.step = step;
          expect_bitwise(model_named(model), options, fraction, std::string(model) + " " + method);
        }
}

TEST(Resumed, StatesThatEndTooEarlyAreRefused) {
  const models::Model model = model_named("heavy-top");
  run::Options options;
  options.t_end = 0.1;
  Keeper first(5);
  (void)run::integrate(*model.system, model.start, options, first);
  ASSERT_FALSE(first.state.empty());
  for (const std::size_t size : {std::size_t{1}, std::size_t{40}, first.state.size() / 2, first.state.size() - 1}) {
    Keeper second;
    EXPECT_THROW((void)run::integrate(*model.system, model.start, options, second, first.state.substr(0, size)), InvalidInput) << size;
  }
}

}  // namespace
