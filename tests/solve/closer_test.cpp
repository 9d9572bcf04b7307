// One step at a time: failure leaves no trace, kept matrices give the same steps, the report names rows.
#include <gtest/gtest.h>

#include <Eigen/SVD>

#include "method/catalogue.hpp"
#include "run/scaling.hpp"
#include "run/start_up.hpp"
#include "solve/closer.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using method::Entry;
using method::History;
using solve::CloseStatus;

/// A heavy top with a method, a closer and a filled history: what a stepper has inside.
class Stepper {
 public:
  Stepper(const std::string& method, int order, const std::string& group, const std::string& formulation, double h,
          const solve::NewtonOptions& newton = {})
      : model_(make_model(group)),
        order_(order),
        method_(method::find_method(method).make(
            space(), counters_, {order, "magnus", nullptr, ParameterValues(method::find_method(method).parameters)})),
        closer_(*model_.system, solve::formulation_named(formulation).id, newton, counters_),
        sizes_{model_.system->pattern().rows(), model_.system->pattern().position_rows(), method_->memory_size()},
        history_(space(), sizes_, 10),
        trial_(History::blank(space(), sizes_)),
        weight_(space().nv()) {
    run::StartUp start_up(*model_.system, counters_, "automatic");
    EXPECT_TRUE(start_up.place(model_.start.t0, model_.start.q0, model_.start.v0, trial_));
    history_.push(trial_);
    EXPECT_TRUE(start_up.fill(*method_, h, order, solve::formulation_named(formulation).id, {}, history_));
  }

  solve::Closed attempt(double h) {
    trial_.motion.t = history_[0].motion.t + h;
    trial_.lambda = history_[0].lambda;
    trial_.eta = history_[0].eta;
    run::velocity_weights(run::parts_of(*model_.system), history_[0].motion, {}, weight_);
    method_->begin_step(history_, h, order_);
    return closer_.close(*method_, history_, h, weight_, trial_);
  }
  solve::Closed step(double h) {
    const solve::Closed closed = attempt(h);
    if (closed.status == CloseStatus::converged) history_.push(trial_);
    return closed;
  }

  /// Of the matrix on (x, λ, η) at the step that was closed last, rows and unknowns scaled as `Closer` does, or as they are.
  double condition(double h, bool is_scaled) {
    const Vector x = closer_.unknown();
    EXPECT_TRUE(closer_.linearize_at(*method_, history_, h, x, trial_));
    const int nv = space().nv(), rows = sizes_.rows;
    const int size = nv + (closer_.has_eta() ? 2 : 1) * rows;
    Eigen::MatrixXd inverse(size, size);
    for (int j = 0; j < size; ++j) {
      system::Residual left(nv, rows, rows);
      if (j < nv)
        left.force[j] = is_scaled ? 1.0 / h : 1.0;
      else if (j < nv + rows)
        left.gap[j - nv] = is_scaled ? h : 1.0;
      else
        left.rate[j - nv - rows] = 1.0;
      Vector dx = Vector::Zero(nv), dlambda = Vector::Zero(rows), deta = dlambda;
      closer_.correct(h, left, dx, dlambda, deta);
      inverse.col(j).head(nv) = dx;
      inverse.col(j).segment(nv, rows) = (is_scaled ? h : 1.0) * dlambda;
      if (closer_.has_eta()) inverse.col(j).tail(rows) = deta;
    }
    const Eigen::VectorXd sizes = inverse.jacobiSvd().singularValues();
    return sizes[0] / sizes[size - 1];
  }

  const lie::Space& space() const { return model_.system->space(); }
  const History& history() const { return history_; }
  solve::Closer& closer() { return closer_; }
  Counters& counters() { return counters_; }

 private:
  static models::Model make_model(const std::string& group) {
    support::Experiment e;
    e.group = group;
    return support::make_model(e);
  }

  models::Model model_;
  int order_;
  Counters counters_;
  std::unique_ptr<method::Method> method_;
  solve::Closer closer_;
  method::EntrySizes sizes_;
  History history_;
  Entry trial_;
  Vector weight_;
};

void expect_bitwise_equal(const Entry& a, const Entry& b, const std::string& what) {
  EXPECT_EQ(a.motion.t, b.motion.t) << what;
  EXPECT_EQ(a.motion.q, b.motion.q) << what;
  EXPECT_EQ(a.motion.v, b.motion.v) << what;
  EXPECT_EQ(a.motion.a, b.motion.a) << what;
  EXPECT_EQ(a.lambda, b.lambda) << what;
  EXPECT_EQ(a.eta, b.eta) << what;
  EXPECT_EQ(a.omega, b.omega) << what;
  EXPECT_EQ(a.memory, b.memory) << what;
}

struct Combination {
  std::string method;
  int order;
  std::string group, formulation;
  solve::RefreshPolicy refresh;
};

std::vector<Combination> every_combination() {
  std::vector<Combination> list;
  for (const method::MethodInfo& info : method::catalogue()) {
    if (info.make == nullptr) continue;
    for (const int order : {info.min_order, info.max_order})
      for (const std::string& formulation : info.formulations)
        for (const solve::RefreshPolicy refresh : {solve::RefreshPolicy::every_step, solve::RefreshPolicy::when_slow})
          list.push_back({info.name, order, formulation == "ode" ? "so3" : "r3xso3", formulation, refresh});
  }
  return list;
}

std::string name_of(const Combination& c) {
  return c.method + " " + std::to_string(c.order) + " " + c.formulation +
         (c.refresh == solve::RefreshPolicy::every_step ? " every step" : " when slow");
}

// (Arnold, Brüls, Cardona 2015, section 5): rows and unknowns are scaled by powers of h, or the condition grows without end.
TEST(NewtonMatrix, HasABoundedConditionForSmallSteps) {
  for (const char* formulation : {"index3", "stabilized-index2"}) {
    double scaled[2], plain[2];
    for (const int i : {0, 1}) {
      const double h = i == 0 ? 1e-3 : 1e-5;
      Stepper stepper("generalized-alpha", 2, "r3xso3", formulation, h);
      ASSERT_EQ(stepper.attempt(h).status, CloseStatus::converged);
      scaled[i] = stepper.condition(h, true);
      plain[i] = stepper.condition(h, false);
    }
    EXPECT_NEAR(scaled[1] / scaled[0], 1.0, 0.2) << formulation << ": " << scaled[0] << " and " << scaled[1];
    EXPECT_GT(plain[1] / plain[0], 1e3) << formulation << ": " << plain[0] << " and " << plain[1];
  }
}

TEST(FailedStep, LeavesNoTrace) {
  constexpr double h = 1e-3, far_too_large = 0.7;
  for (const Combination& c : every_combination()) {
    solve::NewtonOptions newton;
    newton.refresh = c.refresh;
    Stepper undisturbed(c.method, c.order, c.group, c.formulation, h, newton);
    Stepper disturbed(c.method, c.order, c.group, c.formulation, h, newton);
    bool has_failed = false;
    for (int n = 0; n < 12; ++n) {
      if (n % 3 == 1) {
        const Entry before = disturbed.history()[0];
        // ode of order 2 swallows any step; the others must fail.
        has_failed = disturbed.attempt(far_too_large).status != CloseStatus::converged || has_failed;
        expect_bitwise_equal(disturbed.history()[0], before, name_of(c) + ": the past");
        // A kept matrix is part of the path: what a failure forgets, the undisturbed run forgets too.
        undisturbed.closer().forget_matrix();
        disturbed.closer().forget_matrix();
      }
      ASSERT_EQ(undisturbed.step(h).status, CloseStatus::converged) << name_of(c);
      ASSERT_EQ(disturbed.step(h).status, CloseStatus::converged) << name_of(c);
      expect_bitwise_equal(disturbed.history()[0], undisturbed.history()[0], name_of(c) + " step " + std::to_string(n));
    }
    if (c.formulation != "ode") {
      EXPECT_TRUE(has_failed) << name_of(c);
    }
  }
}

TEST(KeptMatrix, GivesTheSameStepsToTheToleranceWithFewerFactorizations) {
  for (const char* formulation : {"index3", "stabilized-index2"}) {
    solve::NewtonOptions fresh, kept;
    fresh.tolerance = kept.tolerance = 1e-11;
    kept.refresh = solve::RefreshPolicy::when_slow;
    constexpr double h = 1e-4;
    Stepper a("bliedf", 4, "r3xso3", formulation, h, fresh), b("bliedf", 4, "r3xso3", formulation, h, kept);
    for (int n = 0; n < 100; ++n) {
      ASSERT_EQ(a.step(h).status, CloseStatus::converged);
      ASSERT_EQ(b.step(h).status, CloseStatus::converged);
    }
    // 100 steps with an error of tolerance·(1 + |v|) each.
    EXPECT_LT((a.history()[0].motion.v - b.history()[0].motion.v).norm(), 100 * 1e-11 * 151.0) << formulation;
    EXPECT_LT((a.history()[0].motion.q - b.history()[0].motion.q).norm(), 100 * 1e-11 * 151.0) << formulation;
    EXPECT_LT(b.counters().factorizations, a.counters().factorizations) << formulation;
  }
}

TEST(MatrixState, RestoredInAnotherCloserContinuesBitwise) {
  solve::NewtonOptions newton;
  newton.refresh = solve::RefreshPolicy::when_slow;
  constexpr double h = 1e-4;
  Stepper a("bliedf", 3, "r3xso3", "stabilized-index2", h, newton),
      b("bliedf", 3, "r3xso3", "stabilized-index2", h, newton);
  for (int n = 0; n < 7; ++n) {
    ASSERT_EQ(a.step(h).status, CloseStatus::converged);
    ASSERT_EQ(b.step(h).status, CloseStatus::converged);
  }
  const solve::Closer::MatrixState state = a.closer().matrix_state();
  EXPECT_TRUE(state.has_matrix);
  b.closer().forget_matrix();
  b.closer().restore(state);
  for (int n = 0; n < 7; ++n) {
    ASSERT_EQ(a.step(h).status, CloseStatus::converged);
    ASSERT_EQ(b.step(h).status, CloseStatus::converged);
    expect_bitwise_equal(b.history()[0], a.history()[0], "step " + std::to_string(n));
  }
}

TEST(WorstRows, AreNamedByElement) {
  Stepper stepper("bliedf", 2, "r3xso3", "stabilized-index2", 1e-3);
  ASSERT_NE(stepper.attempt(0.3).status, CloseStatus::converged);
  EXPECT_NE(stepper.closer().worst_rows().find("dynamics of 'top' row"), std::string::npos)
      << stepper.closer().worst_rows();
}

}  // namespace
