// A run that goes on from a checkpoint computes the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/seal.hpp"
#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "method/catalogue.hpp"
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

bool equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool equal(const Vector& a, const Vector& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return equal(x, y); });
}

bool equal(const run::Work& a, const run::Work& b) {
  return equal(a.forces, b.forces) && equal(a.drivers, b.drivers) && equal(a.dissipated, b.dissipated);
}

bool equal(const method::Entry& a, const method::Entry& b) {
  return a.motion.t == b.motion.t && equal(a.motion.q, b.motion.q) && equal(a.motion.v, b.motion.v) &&
         equal(a.motion.a, b.motion.a) && equal(a.lambda, b.lambda) && equal(a.eta, b.eta) && equal(a.omega, b.omega) &&
         a.h == b.h && a.order == b.order && a.work.has_value() == b.work.has_value() &&
         (!a.work || equal(*a.work, *b.work));
}

/// All fields but the time it took; a new field of the report does not compile before it is compared.
void expect_same(const run::Report& a, const run::Report& b, const std::string& what) {
  const auto& [status, message, method, formulation, correction, order, step, step_was_adjusted, t_end, counters,
               steps_at_order, rejected_by_error, rejected_by_newton, position_max, velocity_max, energy_initial,
               energy_final, work, energy_error, solve_seconds, linear_solver, events, corners, warnings, final,
               final_residual, systems] = a;
  EXPECT_EQ(corners, b.corners) << what;
  static_cast<void>(solve_seconds);
  EXPECT_FALSE(systems.empty()) << what;
  EXPECT_EQ(status, b.status) << what;
  EXPECT_EQ(message, b.message) << what;
  EXPECT_EQ(method, b.method) << what;
  EXPECT_EQ(formulation, b.formulation) << what;
  EXPECT_EQ(correction, b.correction) << what;
  EXPECT_EQ(order, b.order) << what;
  EXPECT_EQ(step, b.step) << what;
  EXPECT_EQ(step_was_adjusted, b.step_was_adjusted) << what;
  EXPECT_EQ(t_end, b.t_end) << what;
  for (const auto count :
       {&Counters::steps, &Counters::rejected_steps, &Counters::newton_iterations, &Counters::residual_evaluations,
        &Counters::jacobian_evaluations, &Counters::factorizations, &Counters::exponentials, &Counters::brackets})
    EXPECT_EQ(counters.*count, b.counters.*count) << what;
  EXPECT_EQ(steps_at_order, b.steps_at_order) << what;
  EXPECT_EQ(rejected_by_error, b.rejected_by_error) << what;
  EXPECT_EQ(rejected_by_newton, b.rejected_by_newton) << what;
  EXPECT_EQ(position_max, b.position_max) << what;
  EXPECT_EQ(velocity_max, b.velocity_max) << what;
  EXPECT_TRUE(equal(energy_initial, b.energy_initial)) << what;
  EXPECT_TRUE(equal(energy_final, b.energy_final)) << what;
  EXPECT_TRUE(equal(work, b.work)) << what;
  EXPECT_TRUE(equal(energy_error, b.energy_error)) << what << ": " << energy_error << " instead of " << b.energy_error;
  EXPECT_EQ(linear_solver, b.linear_solver) << what;
  EXPECT_EQ(warnings, b.warnings) << what;
  EXPECT_TRUE(equal(final, b.final)) << what;
  EXPECT_TRUE(equal(final_residual.force, b.final_residual.force) && equal(final_residual.gap, b.final_residual.gap) &&
              equal(final_residual.rate, b.final_residual.rate))
      << what;
  ASSERT_EQ(events.size(), b.events.size()) << what;
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].event, b.events[i].event) << what;
    EXPECT_EQ(events[i].action, b.events[i].action) << what;
    EXPECT_EQ(events[i].t, b.events[i].t) << what;
    EXPECT_EQ(events[i].ends_the_run, b.events[i].ends_the_run) << what;
    EXPECT_TRUE(equal(events[i].before, b.events[i].before)) << what;
    EXPECT_TRUE(equal(events[i].after, b.events[i].after)) << what;
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
      expect_bitwise(model_named("heavy-top", formulation == "ode" ? "so3" : ""), options, 0.4,
                     info.name + " " + formulation);
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
        expect_bitwise(model_named("heavy-top", formulation == "ode" ? "so3" : ""), options, fraction,
                       info.name + " " + formulation);
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

/// The largest error of the energy balance may lie before the checkpoint.
TEST(Resumed, LargestErrorsBeforeTheCheckpointCount) {
  run::Options options;
  options.rtol = options.atol = 1e-4;
  for (const double fraction : {0.3, 0.9}) expect_bitwise(model_named("four-bar"), options, fraction, "four-bar");
  options.step = 5e-3;
  for (const double fraction : {0.5, 0.95})
    expect_bitwise(model_named("wall-pendulum"), options, fraction, "wall-pendulum");
}

/// A checkpoint early in a short run, and what it is resumed with.
class ForeignCheckpoints : public testing::Test {
 protected:
  ForeignCheckpoints() {
    options.rtol = options.atol = 1e-6;
    options.t_end = 1.0;
    Keeper first(5);
    (void)run::integrate(*model.system, model.start, options, first);
    state = first.state;
  }
  std::string complaint(const models::Model& other, const run::Options& asked, std::string_view bytes) const {
    Keeper second;
    try {
      (void)run::integrate(*other.system, other.start, asked, second, bytes);
    } catch (const InvalidInput& e) {
      EXPECT_TRUE(second.points.empty()) << "refused before anything is shown";
      return e.what();
    }
    return "accepted";
  }

  models::Model model = model_named("pendulum");
  run::Options options;
  std::string state;
};

TEST_F(ForeignCheckpoints, NoByteStringIsTakenButTheOneThatWasWritten) {
  ASSERT_EQ(complaint(model, options, state), "accepted");
  for (std::size_t size = 0; size < state.size(); ++size)
    ASSERT_NE(complaint(model, options, std::string_view(state).substr(0, size)), "accepted") << size;
  EXPECT_NE(complaint(model, options, "").find("the checkpoint is truncated"), std::string::npos);
  EXPECT_NE(complaint(model, options, std::string_view(state).substr(0, state.size() - 1))
                .find("the checkpoint is truncated: it has"),
            std::string::npos);
  EXPECT_NE(complaint(model, options, state + "x").find("is damaged"), std::string::npos);
  EXPECT_NE(complaint(model, options, "no checkpoint at all").find("was not written by kreisel"), std::string::npos);
  for (std::size_t i = 0; i < state.size(); ++i)
    for (const int flip : {0x01, 0x41, 0x80}) {
      std::string damaged = state;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      ASSERT_NE(complaint(model, options, damaged), "accepted") << "byte " << i;
    }
}

/// Behind a checksum that somebody has made fit, sizes and numbers may be anything: that must not lead out of vectors.
TEST_F(ForeignCheckpoints, DamageUnderAFittingChecksumDoesNotCrash) {
  const std::string content(unsealed(state, "it"));
  options.max_steps = 300;
  long refused = 0;
  for (std::size_t i = 0; i < content.size(); ++i)
    for (const int flip : {0x41, 0x80}) {
      std::string damaged = content;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      Keeper second;
      try {
        (void)run::integrate(*model.system, model.start, options, second, sealed(damaged));
      } catch (const InvalidInput&) {
        ++refused;
      }
    }
  EXPECT_GT(refused, 0);
}

TEST_F(ForeignCheckpoints, OtherOptionsAreRefusedByName) {
  const auto with = [&](auto change) {
    run::Options other = options;
    change(other);
    return complaint(model, other, state);
  };
  EXPECT_NE(
      with([](run::Options& o) { o.rtol = 1e-8; }).find("belongs to another run: rtol was 1e-06, now it is 1e-08"),
      std::string::npos);
  EXPECT_NE(with([](run::Options& o) { o.method = "rkmk"; }).find("method was bliedf, now it is rkmk"),
            std::string::npos);
  EXPECT_NE(with([](run::Options& o) { o.t_end = 2.0; }).find("t_end was 1, now it is 2"), std::string::npos);
  EXPECT_NE(with([](run::Options& o) { o.output_times = {0.5}; }).find("output_times was not given, now it is 0.5"),
            std::string::npos);
  EXPECT_NE(with([](run::Options& o) { o.linear_solver = "dense"; }).find("linear_solver"), std::string::npos);
  EXPECT_NE(with([](run::Options& o) { o.step = 1e-3; }).find("step was 0, now it is 0.001"), std::string::npos);
  EXPECT_NE(with([](run::Options& o) {
              o.sources = {{"/model.json", 1}};
            }).find("made without the file '/model.json'"),
            std::string::npos);
  EXPECT_EQ(with([](run::Options& o) { o.max_steps = 5000; }), "accepted") << "decides no bit";
  EXPECT_EQ(with([](run::Options& o) { o.threads = 2; }), "accepted") << "decides no bit";
}

TEST_F(ForeignCheckpoints, OtherStartsAndModelsAreRefused) {
  models::Model moved = model;
  moved.start.v0[0] += 1e-12;
  EXPECT_NE(complaint(moved, options, state).find("v0 was"), std::string::npos);
  models::Model later = model;
  later.start.t0 = 0.25;
  EXPECT_NE(complaint(later, options, state).find("t0 was 0, now it is 0.25"), std::string::npos);
  support::Experiment e;
  e.model = "pendulum";
  e.model_settings = {{"mass", "1.0000001"}};
  models::Model heavier = support::make_model(e);
  EXPECT_NE(complaint(heavier, options, state).find("the equations of the model have changed"), std::string::npos);
  EXPECT_NE(complaint(model_named("heavy-top"), options, state), "accepted");
}

/// A force that begins after the start is not seen there.
TEST(Resumed, AModelThatDiffersWhereTheRunGoesOnIsRefused) {
  const auto particle = [](double strength) {
    system::SystemFunctions f;
    f.space = {{lie::GroupId::rn, 1}};
    f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
    f.force = [strength](double t, const Vector& q, const Vector&) -> Vector {
      return Vector::Constant(1, q[0] + (t > 0.1 ? strength * (t - 0.1) : 0.0));
    };
    return system::FunctionSystem(f);
  };
  const system::Start start{.t_end = 1.0, .q0 = Vector::Constant(1, 1.0), .v0 = Vector::Zero(1)};
  run::Options options;
  options.step = 5e-3;
  Keeper first(60);
  const system::FunctionSystem weak = particle(1.0), strong = particle(1.5);
  (void)run::integrate(weak, start, options, first);
  ASSERT_FALSE(first.state.empty());
  Keeper same;
  EXPECT_EQ(run::integrate(weak, start, options, same, first.state).status, run::Status::success);
  try {
    Keeper other;
    (void)run::integrate(strong, start, options, other, first.state);
    ADD_FAILURE() << "accepted";
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("where it was written, the equations of the model have changed"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
