// Things that must be equal: methods that are one method, conventions that describe one motion, rest.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "coeff/bdf.hpp"
#include "lie/so3.hpp"
#include "method/catalogue.hpp"
#include "method/correction.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using support::Experiment;
using support::Trajectory;

/// A step of Newton's method leaves newton_tolerance·(1 + |v|) ≤ 1.6e-11 in v, 200 steps less than 3.2e-9 in v and q;
/// λ sees m α₀/h times the error of a step, m = 15, α₀ ≤ 2.45, h = 1e-3, and rounding of q as 1.8e-12/h² in each run.
constexpr double newton_tolerance = 1e-13;
constexpr double motion_tolerance = 200 * 1.6e-11;
constexpr double lambda_tolerance = 15.0 * 2.45 / 1e-3 * 1.6e-11 + 2.0 * 1.8e-12 / 1e-6;

struct Setting {
  const char *group, *formulation;
};
constexpr Setting settings[] = {{"so3", "ode"},
                                {"r3xso3", "index3"},
                                {"r3xso3", "stabilized-index2"},
                                {"se3", "index3"},
                                {"se3", "stabilized-index2"}};

Experiment heavy_top(const std::string& method, int order, const Setting& setting) {
  Experiment e;
  e.group = setting.group;
  e.options.method = method;
  e.options.order = order;
  e.options.formulation = setting.formulation;
  e.options.t_end = 0.2;
  e.options.step = 1e-3;
  e.options.newton_tolerance = newton_tolerance;
  return e;
}

void expect_same_motion(const Trajectory& a, const Trajectory& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.report.status, run::Status::success) << what << ": " << a.report.message;
  ASSERT_EQ(a.points.size(), b.points.size()) << what;
  double q = 0.0, v = 0.0;
  for (std::size_t n = 0; n < a.points.size(); ++n) {
    q = std::max(q, (a.points[n].motion.q - b.points[n].motion.q).norm());
    v = std::max(v, (a.points[n].motion.v - b.points[n].motion.v).norm());
  }
  EXPECT_LE(q, tolerance) << what << ": q";
  EXPECT_LE(v, tolerance) << what << ": v";
}

TEST(BliedfAndMkbdf, AreOneMethodForOrderOneAndTwo) {
  for (const Setting& setting : settings)
    for (const int order : {1, 2}) {
      const std::string what = std::string(setting.group) + " " + setting.formulation + " " + std::to_string(order);
      const Trajectory a = support::integrate(heavy_top("bliedf", order, setting));
      const Trajectory b = support::integrate(heavy_top("mkbdf", order, setting));
      expect_same_motion(a, b, motion_tolerance, what);
      for (std::size_t n = 0; n < a.points.size(); ++n)
        ASSERT_LE((a.points[n].lambda - b.points[n].lambda).norm(), lambda_tolerance) << what << " at step " << n;
    }
}

TEST(BliedfAndMkbdf, DifferForOrderThree) {
  const Trajectory a = support::integrate(heavy_top("bliedf", 3, settings[1]));
  const Trajectory b = support::integrate(heavy_top("mkbdf", 3, settings[1]));
  EXPECT_GT((a.report.final.motion.q - b.report.final.motion.q).norm(), 1e-6);
}

TEST(EveryCorrection, IsTheSameBitwiseForOrderOneAndTwo) {
  for (const int order : {1, 2}) {
    const Trajectory magnus = support::integrate(heavy_top("bliedf", order, settings[1]));
    for (const std::string& correction : method::correction_names()) {
      if (correction == "file:PATH") continue;
      Experiment e = heavy_top("bliedf", order, settings[1]);
      e.options.correction = correction;
      expect_same_motion(support::integrate(e), magnus, 0.0, correction);
    }
  }
}

// An independent BDF for q' = v, v' = -q: (α₀² + h²) v = -h(… ), two unknowns solved by hand.
TEST(BliedfOnRn, IsTheClassicalBdf) {
  constexpr double h = 0.05;
  constexpr int steps = 200;
  for (int k = 1; k <= 6; ++k) {
    Experiment e;
    e.model = "oscillator";
    e.options.order = k;
    e.options.t_end = h * steps;
    e.options.step = h;
    e.options.newton_tolerance = 1e-14;
    const Trajectory run = support::integrate(e);
    ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;

    std::vector<double> q, v;
    for (int n = 0; n < k; ++n) {
      q.push_back(std::cos(n * h));
      v.push_back(-std::sin(n * h));
    }
    const double alpha0 = coeff::bdf_alpha(k, 0);
    for (int n = k; n <= steps; ++n) {
      double past_q = 0.0, past_v = 0.0;
      for (int i = 1; i <= k; ++i) {
        past_q += coeff::bdf_alpha(k, i) * q[n - i];
        past_v += coeff::bdf_alpha(k, i) * v[n - i];
      }
      const double next_v = (h * past_q - alpha0 * past_v) / (alpha0 * alpha0 + h * h);
      q.push_back((h * next_v - past_q) / alpha0);
      v.push_back(next_v);
    }
    for (int n = 0; n <= steps; ++n) {
      ASSERT_NEAR(run.points[n].motion.q[0], q[n], 1e-12) << "k = " << k << ", n = " << n;
      ASSERT_NEAR(run.points[n].motion.v[0], v[n], 1e-12) << "k = " << k << ", n = " << n;
    }
  }
}

/// Implicit methods, with their orders.
std::vector<std::pair<std::string, int>> implicit_methods() {
  std::vector<std::pair<std::string, int>> list;
  for (const method::MethodInfo& info : method::catalogue())
    if (info.make != nullptr &&
        std::find(info.formulations.begin(), info.formulations.end(), "index3") != info.formulations.end())
      for (const int k : info.orders()) list.push_back({info.name, k});
  return list;
}

// B is constant on SE(3), so that the BDF combination of increments that satisfy it satisfies it as well.
TEST(VelocityResidual, OfIndexThreeOnSE3StaysAtRoundOff) {
  for (const auto& [method, order] : implicit_methods()) {
    const Trajectory run = support::integrate(heavy_top(method, order, {"se3", "index3"}));
    ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
    // Φ = O(eps) divided by h enters v.
    EXPECT_LT(run.report.velocity_max, 1e-10) << method << " " << order;
    const Trajectory other = support::integrate(heavy_top(method, order, {"r3xso3", "index3"}));
    EXPECT_GT(other.report.velocity_max, 1e-8) << method << " " << order << ": on r3xso3 it is the order of the method";
  }
}

TEST(ConstraintResiduals, OfTheStabilizedFormStayAtRoundOff) {
  for (const auto& [method, order] : implicit_methods())
    for (const char* group : {"r3xso3", "se3"}) {
      const Trajectory run = support::integrate(heavy_top(method, order, {group, "stabilized-index2"}));
      ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
      EXPECT_LT(run.report.position_max, 1e-13) << method << " " << order << " " << group;
      EXPECT_LT(run.report.velocity_max, 1.6e-11) << method << " " << order << " " << group;  // Newton, see above
    }
}

// B_body = Rᵀ B_inertial on the constraint manifold: the same forces, hence λ_inertial = R λ_body.
TEST(BodyAndInertialConvention, GiveTheSameMotionAndTurnedMultipliers) {
  for (const auto& [method, order] : implicit_methods())
    for (const char* group : {"r3xso3", "se3"})
      for (const char* formulation : {"index3", "stabilized-index2"}) {
        const std::string what = method + " " + std::to_string(order) + " " + group + " " + formulation;
        Experiment e = heavy_top(method, order, {group, formulation});
        // Its corrected start differentiates v̇ off the constraints, where the conventions differ.
        if (method == "generalized-alpha") e.options.starting = "exact";
        e.model_settings = {{"constraint", "body"}};
        const Trajectory body = support::integrate(e);
        e.model_settings = {{"constraint", "inertial"}};
        const Trajectory inertial = support::integrate(e);
        expect_same_motion(body, inertial, motion_tolerance, what);
        for (std::size_t n = 0; n < body.points.size(); ++n) {
          const Vector3 turned = lie::rotate(body.points[n].motion.q.data() + 3, Vector3(body.points[n].lambda));
          ASSERT_LE((turned - inertial.points[n].lambda).norm(), lambda_tolerance) << what << " at step " << n;
        }
      }
}

TEST(EveryMethod, LeavesATopAtRestAlone) {
  for (const method::MethodInfo& info : method::catalogue())
    for (const std::string& formulation : info.formulations)
      for (const int order : info.orders()) {
        Experiment e = heavy_top(info.name, order, {formulation == "ode" ? "so3" : "r3xso3", formulation.c_str()});
        e.model_settings = {{"gravity", "0"}, {"omega_y", "0"}, {"omega_z", "0"}};
        const Trajectory run = support::integrate(e);
        ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
        const Trajectory& start = run;
        for (const method::Entry& point : run.points) {
          ASSERT_EQ(point.motion.q, start.points[0].motion.q) << info.name << " " << formulation;
          ASSERT_EQ(point.motion.v.norm(), 0.0);
          ASSERT_EQ(point.lambda.norm(), 0.0);
        }
      }
}

TEST(BothLinearSolvers, GiveTheSameTrajectory) {
  constexpr double tolerance = 1e-9;
  for (const char* method : {"bliedf", "mkbdf"})
    for (const Setting& setting : settings) {
      Experiment e = heavy_top(method, 4, setting);
      e.options.linear_solver = "dense";
      const Trajectory dense = support::integrate(e);
      e.options.linear_solver = "sparse";
      const Trajectory sparse = support::integrate(e);
      EXPECT_EQ(dense.report.linear_solver, "dense");
      EXPECT_EQ(sparse.report.linear_solver, "sparse");
      expect_same_motion(dense, sparse, tolerance,
                         std::string(method) + " " + setting.group + " " + setting.formulation);
    }
}

}  // namespace
