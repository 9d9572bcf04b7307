// Steppers by themselves: what a failed attempt leaves behind, and what counters count.
#include "run/stepper.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "run/step_policy.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;

/// Constant steps of the heavy top, one at a time.
class Steps {
 public:
  Steps(const models::Model& model, const char* method)
      : plan_(run::make_plan(options(method), *model.system, model.start)),
        stepper_(run::make_stepper(plan_, *model.system, counters_)),
        policy_(run::make_policy(plan_, *model.system)) {
    EXPECT_TRUE(stepper_->place(model.start) && stepper_->fill(policy_->begin(*stepper_)));
    while (stepper_->starts_left() > 0) stepper_->show_next_start();
  }

  run::Stepper& operator*() { return *stepper_; }
  run::Attempt attempt(double factor) {
    run::Proposal proposal = std::get<run::Proposal>(policy_->next(*stepper_));
    proposal.h *= factor;
    proposal.t = stepper_->now().motion.t + proposal.h;
    return stepper_->attempt(proposal);
  }

 private:
  static run::Options options(const char* method) {
    run::Options options;
    options.method = method;
    options.step = 1e-3;
    options.t_end = 1.0;
    return options;
  }

  Counters counters_;
  run::Plan plan_;
  std::unique_ptr<run::Stepper> stepper_;
  std::unique_ptr<run::StepPolicy> policy_;
};

bool is_same(const method::Entry& a, const method::Entry& b) {
  return a.motion.t == b.motion.t && a.motion.q == b.motion.q && a.motion.v == b.motion.v && a.motion.a == b.motion.a &&
         a.lambda == b.lambda && a.omega == b.omega && a.memory == b.memory;
}

class EveryStepper : public testing::TestWithParam<const char*> {};

TEST_P(EveryStepper, ForgetsAFailedAttempt) {
  const models::Model model = support::make_model({});
  Steps calm(model, GetParam()), disturbed(model, GetParam());
  for (int n = 0; n < 5; ++n) {
    const method::Entry before = (*disturbed).now();
    // Far too long, and one that nothing can solve.
    bool has_failed = false;
    for (const double factor : {100.0, 1e3, 1e5, 1e300})
      has_failed = disturbed.attempt(factor).outcome != run::Outcome::accepted || has_failed;
    EXPECT_TRUE(has_failed) << n;
    EXPECT_TRUE(is_same((*disturbed).now(), before)) << n;
    ASSERT_EQ(disturbed.attempt(1.0).outcome, run::Outcome::accepted) << n;
    ASSERT_EQ(calm.attempt(1.0).outcome, run::Outcome::accepted) << n;
    EXPECT_TRUE(is_same((*disturbed).trial(), (*calm).trial())) << n;
    (*disturbed).commit();
    (*calm).commit();
    EXPECT_TRUE(is_same((*disturbed).now(), (*calm).now())) << n;
  }
}
INSTANTIATE_TEST_SUITE_P(Methods, EveryStepper,
                         testing::Values("bliedf", "mkbdf", "generalized-alpha", "projected-bdf", "radau", "rkmk"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

/// q̈ + q³ = 0.
class CountingOscillator final : public system::System {
 public:
  CountingOscillator() : System(space_of(), system::Pattern(space_of(), {}, {}, {}, {"mass"})) {}

  void residual(const system::Motion& m, ConstVectorRef, system::Residual& out) const override {
    ++residuals;
    out.force[0] = m.a[0] + m.q[0] * m.q[0] * m.q[0];
  }
  void linearize(const system::Motion& m, ConstVectorRef, system::KktBlocks& out) const override {
    out.M[0] = 1.0;
    out.D[0] = 0.0;
    out.K[0] = 3.0 * m.q[0] * m.q[0];
  }
  void acceleration_gap(const system::Motion&, VectorRef) const override {}

  mutable long residuals = 0;

 private:
  static lie::Space space_of() { return lie::Space({{lie::GroupId::rn, 1}}); }
};

class EveryCounter : public testing::TestWithParam<const char*> {};

/// Two runs of different length: what the start costs is the same for both.
TEST_P(EveryCounter, CountsTheResidualsThatAreEvaluated) {
  long evaluated[2] = {}, counted[2] = {};
  for (const int i : {0, 1}) {
    CountingOscillator system;
    system::Start start;
    start.t_end = i == 0 ? 0.5 : 1.0;
    start.q0 = Vector::Ones(1);
    start.v0 = Vector::Zero(1);
    run::Options options;
    options.method = GetParam();
    options.step = 1e-2;
    run::Observer nobody;
    const run::Report report = run::integrate(system, start, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    evaluated[i] = system.residuals;
    counted[i] = report.counters.residual_evaluations;
  }
  EXPECT_GE(counted[1] - counted[0], 50);
  EXPECT_EQ(counted[1] - counted[0], evaluated[1] - evaluated[0]);
}
INSTANTIATE_TEST_SUITE_P(Methods, EveryCounter, testing::Values("bliedf", "generalized-alpha", "radau", "rkmk"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
