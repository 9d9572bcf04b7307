// The Adams–Moulton methods for systems without constraints: what they refuse, where they are one method, their derivatives.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "coeff/adams_moulton.hpp"
#include "kreisel/error.hpp"
#include "method/catalogue.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using support::Experiment;
using support::Trajectory;

std::vector<const method::MethodInfo*> methods_without_constraints() {
  std::vector<const method::MethodInfo*> list;
  for (const method::MethodInfo& info : method::catalogue())
    if (info.formulations == std::vector<std::string>{"ode"}) list.push_back(&info);
  return list;
}

Experiment heavy_top(const std::string& method, int order, const std::string& group = "so3") {
  Experiment e;
  e.group = group;
  e.options.method = method;
  e.options.order = order;
  e.options.t_end = 0.2;
  e.options.step = 1e-3;
  e.options.newton_tolerance = 1e-13;
  return e;
}

std::string refusal_of(const Experiment& e) {
  try {
    support::integrate(e);
  } catch (const InvalidInput& refusal) {
    return refusal.what();
  }
  return "";
}

TEST(MethodsWithoutConstraints, AreTheseThree) {
  std::vector<std::string> names;
  for (const method::MethodInfo* info : methods_without_constraints()) names.push_back(info->name);
  EXPECT_EQ(names, (std::vector<std::string>{"commutator-free", "crouch-grossman", "mkam"}));
}

TEST(MethodsWithoutConstraints, RefuseConstraintsAndSayWhatTheyCanDo) {
  for (const method::MethodInfo* info : methods_without_constraints())
    for (const char* group : {"r3xso3", "se3"}) {
      Experiment e = heavy_top(info->name, 2, group);
      const std::string plain = refusal_of(e);
      EXPECT_NE(plain.find(info->name + " is for systems without constraints; this model has 3 constraint rows"),
                std::string::npos)
          << plain;
      EXPECT_NE(plain.find("group so3"), std::string::npos) << plain;
      for (const char* formulation : {"index3", "stabilized-index2", "index2", "index1", "projected"}) {
        e.options.formulation = formulation;
        const std::string named = refusal_of(e);
        EXPECT_NE(named.find(info->name + " does not support '" + formulation + "'; it supports ode"),
                  std::string::npos)
            << named;
      }
      e.options.formulation = "ode";
      const std::string ode = refusal_of(e);
      EXPECT_NE(ode.find("'ode' needs a model without constraints"), std::string::npos) << ode;
    }
}

TEST(MethodsWithoutConstraints, RefuseErrorControlAndOrdersTheyLack) {
  for (const method::MethodInfo* info : methods_without_constraints()) {
    Experiment e = heavy_top(info->name, info->max_order + 1);
    EXPECT_NE(refusal_of(e).find("has orders 1 to " + std::to_string(info->max_order)), std::string::npos);
    e.options.order = 2;
    e.options.step = 0.0;
    EXPECT_NE(refusal_of(e).find(info->name + " supports constant steps only"), std::string::npos);
  }
}

/// Largest distance of q and v over all points.
double distance(const Trajectory& a, const Trajectory& b) {
  EXPECT_EQ(a.report.status, run::Status::success) << a.report.message;
  EXPECT_EQ(a.points.size(), b.points.size());
  double largest = 0.0;
  for (std::size_t n = 0; n < a.points.size(); ++n)
    largest = std::max({largest, (a.points[n].motion.q - b.points[n].motion.q).norm(),
                        (a.points[n].motion.v - b.points[n].motion.v).norm()});
  return largest;
}

/// A step of Newton's method leaves 1e-13·(1 + |v|) ≤ 1.6e-11 in v, 200 steps less than 3.2e-9.
constexpr double newton_distance = 200 * 1.6e-11;

TEST(AdamsMoultonMethods, AreOneMethodForOrderOneAndTwoForOrderTwo) {
  const Trajectory euler = support::integrate(heavy_top("crouch-grossman", 1));
  EXPECT_LT(distance(support::integrate(heavy_top("commutator-free", 1)), euler), newton_distance);
  EXPECT_LT(distance(support::integrate(heavy_top("mkam", 1)), euler), newton_distance);
  EXPECT_LT(distance(support::integrate(heavy_top("bliedf", 1)), euler), newton_distance);

  const Trajectory trapezoidal = support::integrate(heavy_top("mkam", 2));
  EXPECT_LT(distance(support::integrate(heavy_top("commutator-free", 2)), trapezoidal), newton_distance);
  EXPECT_GT(distance(support::integrate(heavy_top("crouch-grossman", 2)), trapezoidal), 1e-4);
  EXPECT_GT(distance(support::integrate(heavy_top("commutator-free", 3)), support::integrate(heavy_top("mkam", 3))),
            1e-6);
}

// An independent Adams–Moulton for q' = v, v' = -q, two unknowns solved by hand.
TEST(AdamsMoultonMethods, OnRnAreTheClassicalOne) {
  constexpr double h = 0.05;
  constexpr int steps = 200;
  for (const method::MethodInfo* info : methods_without_constraints())
    for (int p = 1; p <= info->max_order; ++p) {
      Experiment e;
      e.model = "oscillator";
      e.options.method = info->name;
      e.options.order = p;
      e.options.t_end = h * steps;
      e.options.step = h;
      e.options.newton_tolerance = 1e-14;
      const Trajectory run = support::integrate(e);
      ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;

      const int k = p - 1, given = std::max(1, k);
      std::vector<double> q, v;
      for (int n = 0; n < given; ++n) {
        q.push_back(std::cos(n * h));
        v.push_back(-std::sin(n * h));
      }
      const double b = h * coeff::adams_moulton_beta(k, 0);
      for (int n = given; n <= steps; ++n) {
        double known_q = q[n - 1], known_v = v[n - 1];
        for (int i = 1; i <= k; ++i) {
          known_q += h * coeff::adams_moulton_beta(k, i) * v[n - i];
          known_v -= h * coeff::adams_moulton_beta(k, i) * q[n - i];
        }
        const double next_v = (known_v - b * known_q) / (1.0 + b * b);
        q.push_back(known_q + b * next_v);
        v.push_back(next_v);
      }
      for (int n = 0; n <= steps; ++n) {
        ASSERT_NEAR(run.points[n].motion.q[0], q[n], 1e-12) << info->name << ", p = " << p << ", n = " << n;
        ASSERT_NEAR(run.points[n].motion.v[0], v[n], 1e-12) << info->name << ", p = " << p << ", n = " << n;
      }
    }
}

/// The step map of one method on a group, with a smooth past.
struct StepMap {
  lie::Space space;
  Counters counters;
  std::unique_ptr<method::Method> method;
  method::History history;

  StepMap(const method::MethodInfo& info, const lie::Space& given, int order, double h)
      : space(given), method(info.make(space, counters, {})), history(space, {}, 10) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    const auto fill = [&](Vector& v) {
      v.resize(space.nv());
      for (double& number : v) number = uniform(random);
    };
    Vector v0, v1;
    fill(v0);
    fill(v1);
    method::Entry entry = method::History::blank(space, {});
    for (int n = 0; n < 6; ++n) {
      entry.motion.v = v0 + (n * h) * v1;
      entry.motion.a = v1;
      entry.omega = h * (v0 + ((n - 0.5) * h) * v1);
      entry.h = h;
      const Vector before = history.size() > 0 ? history[0].motion.q : entry.motion.q;
      space.move(before, entry.omega, entry.motion.q);
      history.push(entry);
    }
    method->begin_step(history, h, order);
  }
};

/// Largest difference between ∂q of the method and central differences of its position.
double gap_of_linearization(const method::MethodInfo& info, const lie::Space& space, int order, double h) {
  StepMap map(info, space, order, h);
  Vector x(space.nv()), q(space.nq()), difference(space.nv());
  map.method->guess(x);
  lie::MotionTangent tangent(space);
  map.method->linearize(x, tangent);
  constexpr double step = 1e-4;
  Vector plus = q, minus = q;
  map.method->position(x, q);
  double gap = 0.0;
  for (const lie::Block& block : space.blocks())
    for (int c = 0; c < block.nv; ++c) {
      Vector moved = x;
      moved[block.v_at + c] += step;
      map.method->position(moved, plus);
      moved[block.v_at + c] -= 2.0 * step;
      map.method->position(moved, minus);
      Vector forward(space.nv()), backward(space.nv());
      space.difference(q, plus, forward);
      space.difference(q, minus, backward);
      difference = (forward - backward) / (2.0 * step);
      for (int r = 0; r < block.nv; ++r) difference[block.v_at + r] -= tangent.q_x[block.matrix_at + c * block.nv + r];
      gap = std::max(gap, difference.lpNorm<Eigen::Infinity>());
    }
  return gap;
}

TEST(AdamsMoultonMethods, LinearizeTheirPosition) {
  for (const lie::GroupId group : {lie::GroupId::so3, lie::GroupId::r3xso3, lie::GroupId::se3}) {
    const lie::Space space({{group, 0}, {lie::GroupId::rn, 2}});
    for (const method::MethodInfo* info : methods_without_constraints())
      for (int p = 1; p <= info->max_order; ++p) {
        const double coarse = gap_of_linearization(*info, space, p, 0.1);
        if (info->name != "mkam" || p <= 2) {
          EXPECT_LT(coarse, 1e-9) << info->name << " " << p;  // exact, up to the differences
          continue;
        }
        // Declared: O(h³).
        EXPECT_LT(coarse, 1e-3) << p;
        EXPECT_GT(std::log2(coarse / gap_of_linearization(*info, space, p, 0.05)), 2.7) << p;
      }
  }
}

TEST(AdamsMoultonMethods, RecordTheIncrementOfTheStep) {
  for (const method::MethodInfo* info : methods_without_constraints())
    for (int p = 1; p <= info->max_order; ++p) {
      const Experiment e = heavy_top(info->name, p);
      const models::Model model = support::make_model(e);
      const Trajectory run = support::integrate(model, e.options);
      ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
      Vector moved(model.system->space().nq());
      for (std::size_t n = 1; n < run.points.size(); ++n) {
        model.system->space().move(run.points[n - 1].motion.q, run.points[n].omega, moved);
        ASSERT_LT((moved - run.points[n].motion.q).norm(), 1e-13) << info->name << " " << p << " at step " << n;
      }
    }
}

// Known factors once a step, the last one at every evaluation of q, which ends with that of the accepted x.
TEST(ExponentialProducts, CountTheirExponentials) {
  constexpr std::array<int, 4> known_of_crouch_grossman{0, 1, 3, 6}, known_of_commutator_free{0, 0, 1, 1};
  for (int p = 1; p <= 4; ++p)
    for (const bool is_free : {true, false}) {
      Experiment e = heavy_top(is_free ? "commutator-free" : "crouch-grossman", p);
      e.options.t_end = 0.05;
      const Counters few = support::integrate(e).report.counters;
      e.options.t_end = 0.1;
      const Counters many = support::integrate(e).report.counters;
      const auto steps = 50;
      const auto known = (is_free ? known_of_commutator_free : known_of_crouch_grossman)[p - 1];
      // One per residual of an iteration and one for the last update; the residual of an accepted point needs none.
      EXPECT_EQ(many.exponentials - few.exponentials,
                steps * known + many.residual_evaluations - few.residual_evaluations)
          << e.options.method.name() << " " << p;
      EXPECT_EQ(many.brackets, 0);
    }
}

}  // namespace
