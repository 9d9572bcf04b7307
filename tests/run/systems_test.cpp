// Models that carry what constraints and mass matrices can be, and the linear oscillator.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <tuple>

#include "coeff/oscillator.hpp"
#include "coeff/runge_kutta.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "method/catalogue.hpp"
#include "solve/kkt.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using support::Errors;
using support::Experiment;
using support::Trajectory;

Experiment experiment(const std::string& model, const std::string& method, int order, const std::string& formulation,
                      double t_end) {
  Experiment e;
  e.model = model;
  e.options.method = method;
  e.options.order = order;
  e.options.formulation = formulation;
  e.options.t_end = t_end;
  return e;
}

Errors slopes(Experiment e, long steps) {
  const models::Model model = support::make_model(e);
  const auto errors = [&](long n) {
    e.options.step = e.options.t_end / static_cast<double>(n);
    const Trajectory run = support::integrate(model, e.options);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    return support::errors_of(model, run, support::reference(e, 2 * steps),
                              {support::Entries::euclidean, support::Span::all});
  };
  return support::slopes_of(errors(steps), errors(2 * steps));
}

// M = diag(15, 15, 0, J) is positive definite on ker B only.
TEST(SingularTop, IsSolvedWithTheOrderOfEveryConstrainedMethod) {
  const models::Model model = support::make_model({.model = "singular-top"});
  system::Motion m(model.system->space());
  m.q = model.start.q0;
  const system::RankReport ranks = system::rank_report(*model.system, m);
  EXPECT_EQ(ranks.rank_of_M, 5);
  EXPECT_TRUE(ranks.is_regular);
  for (const char* formulation : {"index3", "stabilized-index2"}) {
    const Errors alpha = slopes(experiment("singular-top", "generalized-alpha", 2, formulation, 0.2), 800);
    for (const double slope : {alpha.q, alpha.v, alpha.lambda})
      EXPECT_NEAR(slope, 2.0, 0.15) << "generalized-alpha " << formulation;
    for (const char* method : {"bliedf", "mkbdf"}) {
      const Errors bdf = slopes(experiment("singular-top", method, 3, formulation, 0.2), 400);
      for (const double slope : {bdf.q, bdf.v, bdf.lambda})
        EXPECT_NEAR(slope, 3.0, 0.2) << method << ' ' << formulation;
    }
  }
  const Errors projected = slopes(experiment("singular-top", "projected-bdf", 2, "projected", 0.2), 800);
  EXPECT_GT(projected.q, 1.8);
  EXPECT_GT(projected.lambda, 1.8);
}

// (Arnold, Cardona, Brüls 2015, eq. 11): the constraints alone determine the motion.
TEST(Massless, FollowsItsGuideWithoutConstraintForces) {
  for (const char* formulation : {"index3", "stabilized-index2"})
    for (const char* method : {"bliedf", "generalized-alpha"}) {
      Experiment e = experiment("massless", method, 2, formulation, 2.0);
      e.options.step = 1e-2;
      const Trajectory run = support::integrate(e);
      ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
      EXPECT_LT((run.report.final.motion.q - Eigen::Vector2d(std::sin(2.0), 1.0 - std::cos(2.0))).norm(), 1e-12);
      EXPECT_LT(run.report.final.lambda.norm(), 1e-10) << method << ' ' << formulation;
    }
}

// E(0) - E(t) is what friction has taken: ∫ μ l √(λ² + λ₀²) tanh(s/s₀) s dt, by Simpson's rule over the accepted points.
TEST(FrictionPendulum, LosesTheEnergyThatFrictionTakes) {
  Experiment e = experiment("friction-pendulum", "bliedf", 4, "stabilized-index2", 4.0);
  e.options.step = 1e-3;
  const models::Model model = support::make_model(e);
  const Trajectory run = support::integrate(model, e.options);
  ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
  const double friction = 0.3 * 0.1, soft = 1e-3 * 9.81, speed = 0.05;
  const auto power = [&](const method::Entry& p) {
    const double s = -p.motion.q[1] * p.motion.v[0] + p.motion.q[0] * p.motion.v[1];
    return friction * std::hypot(p.lambda[0], soft) * std::tanh(s / speed) * s;
  };
  double work = 0.0;
  for (std::size_t n = 2; n < run.points.size(); n += 2)
    work += e.options.step / 3.0 * (power(run.points[n - 2]) + 4.0 * power(run.points[n - 1]) + power(run.points[n]));
  const double lost = run.report.energy_initial - run.report.energy_final;
  EXPECT_GT(lost, 1.0) << "friction must be seen";
  EXPECT_NEAR(lost, work, 1e-7 * lost);
}

TEST(FrictionPendulum, HasTheOrderOfTheMethodInLambdaToo) {
  for (const auto& [method, order] : {std::pair{"bliedf", 3}, {"generalized-alpha", 2}, {"projected-bdf", 3}}) {
    Experiment e = experiment("friction-pendulum", method, order,
                              order == 3 && method[0] == 'p' ? "projected" : "stabilized-index2", 0.5);
    const Errors s = slopes(e, 500);
    EXPECT_GT(s.q, order - 0.25) << method;
    EXPECT_GT(s.lambda, order - 0.25) << method;
  }
}

TEST(ForcesThatDependOnLambda, AreRefusedByTheCheckWhereTheyUndoTheConstraint) {
  const models::Model good = support::make_model({.model = "friction-pendulum"});
  system::Motion m(good.system->space());
  m.q = good.start.q0;
  m.v = Eigen::Vector2d(0.3, 0.1);
  EXPECT_LT(system::multiplier_condition(*good.system, m, Vector(Vector::Constant(1, 5.0))), 1e3);
  // g = -Bᵀλ: λ has no effect at all.
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 2}};
  f.position_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return Eigen::Vector2d(0.0, 9.81); };
  f.constraint = [](double, const Vector& q) -> Vector { return Vector::Constant(1, q[0]); };
  f.multiplier_force = [](double, const Vector&, const Vector&, const Vector& lambda) -> Vector {
    return Eigen::Vector2d(-lambda[0], 0.0);
  };
  const system::FunctionSystem undone(f);
  EXPECT_FALSE(system::multiplier_condition(undone, m, Vector(Vector::Zero(1))) < 1e10);
}

/// A mass point on a circle that is required twice, in two ways: B has rank 1.
models::Model twice_held() {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 2}};
  f.position_rows = 2;
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return Eigen::Vector2d(0.0, 9.81); };
  f.constraint = [](double, const Vector& q) -> Vector {
    return Eigen::Vector2d(0.5 * (q.squaredNorm() - 1.0), q.norm() - 1.0);
  };
  models::Model model;
  model.system = std::make_shared<system::FunctionSystem>(f);
  model.start.q0 = Eigen::Vector2d(1.0, 0.0);
  model.start.v0 = Eigen::Vector2d::Zero();
  model.start.t_end = 0.5;
  return model;
}

/// Largest error of λ on [0.1, 0.2], beyond the starting transient; heavy top, generalized-α, h = 1e-4.
struct Converged {
  double lambda, position;
  long iterations;
};
Converged converged_to(double newton_tolerance, const std::string& matrix, const std::string& formulation) {
  Experiment e = experiment("heavy-top", "generalized-alpha", 2, formulation, 0.2);
  e.model_settings = {{"constraint", "inertial"}};
  e.options.step = 1e-4;
  e.options.newton_tolerance = newton_tolerance;
  e.options.newton_matrix = matrix;
  const Trajectory run = support::integrate(e);
  EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
  const Trajectory& exact = support::reference(e, 2000);
  Converged out{0.0, run.report.position_max, run.report.counters.newton_iterations};
  for (std::size_t n = 1000; n < run.points.size(); ++n)
    out.lambda = std::max(out.lambda, (run.points[n].lambda - exact.points[n].lambda).norm());
  return out;
}

// (Arnold, Brüls, Cardona 2015, section 5): what Newton leaves of Φ enters λ as θ/h². A kept matrix leaves the tolerance
// itself, a new one in every step the square of the error of the guess.
TEST(NewtonTolerance, HundredTimesCoarserRaisesLambdaOfIndex3WhereTheMatrixIsKept) {
  const Converged fine = converged_to(1e-8, "kept", "index3"), coarse = converged_to(1e-6, "kept", "index3");
  EXPECT_GT(coarse.lambda / fine.lambda, 4.0);
  EXPECT_GT(coarse.position, 2.0 * fine.position);
  EXPECT_LT(coarse.iterations, fine.iterations) << "what is saved";
  const Converged new_fine = converged_to(1e-8, "every-step", "index3"),
                  new_coarse = converged_to(1e-6, "every-step", "index3");
  EXPECT_NEAR(new_coarse.lambda / new_fine.lambda, 1.0, 0.02);
  EXPECT_LT(new_coarse.position, 1e-13);
}

TEST(NewtonTolerance, HundredTimesCoarserLeavesMoreOfTheConstraintsInStabilizedFormToo) {
  const Converged fine = converged_to(1e-8, "kept", "stabilized-index2"),
                  coarse = converged_to(1e-6, "kept", "stabilized-index2");
  EXPECT_GT(coarse.position, 10.0 * fine.position) << "theta is what the tolerance leaves, not round-off";
  EXPECT_GT(coarse.position, 1e-12);
  EXPECT_LT(coarse.iterations, fine.iterations);
}

// A word that has no effect is a lie: a kept matrix is kept in every formulation of every implicit method.
TEST(NewtonMatrix, KeptIsKeptInEveryFormulation) {
  for (const method::MethodInfo& info : method::catalogue()) {
    if (info.make == nullptr) continue;
    for (const std::string& formulation : info.formulations) {
      if (formulation == "ode") continue;
      Experiment e = experiment("heavy-top", info.name, info.default_order, formulation, 0.02);
      e.options.step = 1e-4;
      const auto factorizations = [&](const char* matrix) {
        e.options.newton_matrix = matrix;
        return support::integrate(e).report.counters.factorizations;
      };
      EXPECT_LT(factorizations("kept"), factorizations("every-step") / 2) << info.name << ", " << formulation;
    }
  }
}

// The multistep representation (Erlicher, Bonaventura, Bursi 2002; Arnold, Brüls, Cardona 2015, section 3), with E the shift by a step:
//   ((1-αm)E + αm)(E - 1)v = h((1-γ) + γE)((1-αf)E + αf)v̇,
//   ((1-αm)E + αm)((E - 1)x - h v) = h²((1/2-β) + βE)((1-αf)E + αf)v̇ where the exponential is a sum, as of x on ℝ³×SO(3).
// v on any group satisfies it, with constraints and without their errors.
TEST(GeneralizedAlpha, IsTheMultistepMethodThatItIsAnalysedAs) {
  const double h = 1e-3, rho = 0.8;
  const double alpha_m = (2 * rho - 1) / (rho + 1), alpha_f = rho / (rho + 1), gamma = 0.5 + alpha_f - alpha_m,
               beta = 0.25 * (gamma + 0.5) * (gamma + 0.5);
  Experiment e = experiment("heavy-top", "generalized-alpha", 2, "index3", 0.05);
  e.options.method = method::choices::GeneralizedAlpha{.rho_inf = rho};
  e.options.step = h;
  const Trajectory run = support::integrate(e);
  ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
  double of_v = 0.0, of_x = 0.0;
  for (std::size_t n = 1; n + 2 < run.points.size(); ++n) {
    const auto at = [&](std::size_t i) -> const lie::Motion& { return run.points[n + i].motion; };
    const Vector b0 = (1 - alpha_f) * at(1).a + alpha_f * at(0).a, b1 = (1 - alpha_f) * at(2).a + alpha_f * at(1).a;
    const Vector left = (1 - alpha_m) * (at(2).v - at(1).v) + alpha_m * (at(1).v - at(0).v);
    of_v = std::max(of_v, (left - h * ((1 - gamma) * b0 + gamma * b1)).norm());
    const auto move = [&](std::size_t i) -> Vector3 {
      return at(i + 1).q.head<3>() - at(i).q.head<3>() - h * at(i).v.head<3>();
    };
    of_x = std::max(
        of_x, ((1 - alpha_m) * move(1) + alpha_m * move(0) - h * h * ((0.5 - beta) * b0 + beta * b1).head<3>()).norm());
  }
  EXPECT_LT(of_v, 1e-9);  // of |v| = 150
  EXPECT_LT(of_x, 1e-13);
}

// (Arnold, Brüls, Cardona 2015, eq. 50) must hold with < and > where a row is solved for λ; in index-1 form and without constraints ρ∞ = 1
// is the trapezoidal rule, and nothing is wrong with it.
TEST(UndampedMultipliers, OfGeneralizedAlphaAreWarnedOf) {
  const auto is_warned = [](const std::string& formulation, double rho_inf, const std::string& group = "r3xso3") {
    Experiment e = experiment("heavy-top", "generalized-alpha", 2, formulation, 0.01);
    e.group = group;
    e.options.step = 1e-3;
    e.options.method = method::choices::GeneralizedAlpha{.rho_inf = rho_inf};
    const std::vector<std::string> warnings = support::integrate(e).report.warnings;
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& text) {
      return text.find("alpha_f < 1/2") != std::string::npos && text.find("rho_inf below 1") != std::string::npos;
    });
  };
  for (const char* formulation : {"index3", "stabilized-index2", "index2"}) {
    EXPECT_TRUE(is_warned(formulation, 1.0)) << formulation;
    EXPECT_FALSE(is_warned(formulation, 0.999)) << formulation;
  }
  EXPECT_FALSE(is_warned("index1", 1.0));
  EXPECT_FALSE(is_warned("ode", 1.0, "so3"));
}

TEST(UndampedMultipliers, KeepTheErrorOfAPlainStartForEver) {
  const auto remaining = [](double rho_inf) {
    Experiment e = experiment("heavy-top", "generalized-alpha", 2, "index3", 0.2);
    e.options.step = 1e-3;
    e.options.starting = run::Starting::exact;
    e.options.method = method::choices::GeneralizedAlpha{.rho_inf = rho_inf};
    const Trajectory run = support::integrate(e);
    const Trajectory& exact = support::reference(e, 200);
    const auto error = [&](std::size_t n) { return (run.points[n].lambda - exact.points[n].lambda).norm(); };
    double early = 0.0, late = 0.0;
    for (std::size_t n = 1; n <= 20; ++n) early = std::max({early, error(n)});
    for (std::size_t n = 180; n <= 200; ++n) late = std::max(late, error(n));
    return late / early;
  };
  EXPECT_GT(remaining(1.0), 0.8);
  EXPECT_LT(remaining(0.9), 0.05);
}

// In double precision λ of the index-3 form has a floor of about 1.8e-12/h² on the heavy top; at h = 1e-5 it hides the
// error of the method, 4e-4, which the stabilized index-2 form shows.
TEST(RoundOffOfLambda, LimitsIndex3AndNotTheStabilizedForm) {
  const auto error = [](const std::string& formulation) {
    Experiment e = experiment("heavy-top", "generalized-alpha", 2, formulation, 0.02);
    e.options.step = 1e-5;
    const models::Model model = support::make_model(e);
    return support::errors_of(model, support::integrate(model, e.options), support::reference(e, 2000),
                              {support::Entries::euclidean, support::Span::all})
        .lambda;
  };
  const double index3 = error("index3"), stabilized = error("stabilized-index2");
  EXPECT_GT(index3, 0.2 * 1.8e-2);
  EXPECT_LT(index3, 5.0 * 1.8e-2);
  EXPECT_LT(stabilized, 1e-3);
}

TEST(RedundantConstraints, AreRefusedByEveryMethodUnlessAskedFor) {
  const models::Model model = twice_held();
  for (const method::MethodInfo& info : method::catalogue()) {
    if (info.formulations == std::vector<std::string>{"ode"}) continue;
    for (const std::string& formulation : info.formulations) {
      if (formulation == "ode") continue;
      run::Options options;
      options.method = info.name;
      options.formulation = formulation;
      options.step = 1e-3;
      const std::string what = info.name + " " + formulation;
      try {
        support::integrate(model, options);
        ADD_FAILURE() << what << " ran";
      } catch (const InvalidInput& e) {
        const std::string message = e.what();
        EXPECT_NE(message.find("B has rank 1, expected 2; redundant: "), std::string::npos) << what << ": " << message;
        EXPECT_NE(message.find("row 2"), std::string::npos) << what << ": " << message;
        EXPECT_NE(message.find("linear_solver least-squares"), std::string::npos) << what << ": " << message;
      }
      options.linear_solver = "least-squares";
      const Trajectory run = support::integrate(model, options);
      ASSERT_EQ(run.report.status, run::Status::success) << what << ": " << run.report.message;
      // ½ω² = g sin φ: the speed at the depth reached, whatever the multipliers.
      const double height = run.report.final.motion.q[1];
      EXPECT_NEAR(0.5 * run.report.final.motion.v.squaredNorm(), -9.81 * height, info.max_order == 2 ? 2e-4 : 1e-5)
          << what;
      // Of all multipliers with Bᵀλ = f those of least norm: both rows are (x, y) on the circle.
      EXPECT_NEAR(run.report.final.lambda[0], run.report.final.lambda[1], 1e-3 * std::abs(run.report.final.lambda[0]))
          << what;
    }
  }
}

TEST(ActuatedPendulum, IntegratesStatesAndIndex1Unknowns) {
  for (const auto& [method, formulation] :
       {std::pair{"bliedf", "stabilized-index2"}, {"bliedf", "index3"}, {"projected-bdf", "projected"}})
    for (const int order : {2, 4}) {
      Experiment e = experiment("actuated-pendulum", method, order, formulation, 1.0);
      const Trajectory exact = [&] {
        Experiment fine = experiment("actuated-pendulum", "bliedf", 6, "stabilized-index2", 1.0);
        fine.options.step = 1e-3;
        return support::integrate(fine);
      }();
      const auto error = [&](double h) {
        e.options.step = h;
        const Trajectory run = support::integrate(e);
        EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
        return (run.report.final.motion.q - exact.report.final.motion.q).norm() +
               std::abs(run.report.final.lambda[0] - exact.report.final.lambda[0]);
      };
      EXPECT_GT(std::log2(error(1e-2) / error(5e-3)), order - 0.3) << method << ' ' << formulation << ' ' << order;
    }
}

// Steady rolling in closed form: the centre moves on a circle with the turning rate, the axis keeps its inclination.
TEST(RollingDisk, KeepsItsSteadyMotion) {
  for (const auto& [method, formulation, order] : {std::tuple{"bliedf", "stabilized-index2", 4},
                                                   {"bliedf", "index3", 4},
                                                   {"generalized-alpha", "stabilized-index2", 2},
                                                   {"projected-bdf", "projected", 4}}) {
    Experiment e = experiment("rolling-disk", method, order, formulation, 2.0);
    const models::Model model = support::make_model(e);
    const auto error = [&](double h) {
      e.options.step = h;
      const Trajectory run = support::integrate(model, e.options);
      EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
      const double phi = 1.5 * 2.0;
      const Vector3 x0 = model.start.q0.head<3>();
      const Vector3 x(std::cos(phi) * x0[0] - std::sin(phi) * x0[1], std::sin(phi) * x0[0] + std::cos(phi) * x0[1],
                      x0[2]);
      EXPECT_LT(run.report.velocity_max, 1e-6);
      return (run.report.final.motion.q.head<3>() - x).norm();
    };
    const double coarse = error(2e-2), fine = error(1e-2);
    EXPECT_LT(fine, order == 2 ? 2e-2 : 1e-4) << method << ' ' << formulation;
    EXPECT_GT(std::log2(coarse / fine), order - 0.3) << method << ' ' << formulation << ' ' << coarse << ' ' << fine;
  }
}

// |q_{n+m}|/|q_n| of the run itself, over many steps, is the m-th power of the spectral radius.
TEST(Oscillator, IsDampedAsTheSpectralRadiusSays) {
  const auto damping = [](const std::string& method, int order, double h_omega, const std::string& rho) {
    Experiment e;
    e.model = "oscillator";
    e.options.method = method;
    e.options.order = order;
    e.options.step = h_omega;
    e.options.t_end = 240.0 * h_omega;
    if (!rho.empty()) e.options.method.set("rho_inf", rho);
    const Trajectory run = support::integrate(e);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    const auto size = [&](std::size_t from) {
      double largest = 0.0;
      for (std::size_t n = from; n < from + 60; ++n)
        largest = std::max(largest, std::hypot(run.points[n].motion.q[0], run.points[n].motion.v[0]));
      return largest;
    };
    return std::pow(size(180) / size(60), 1.0 / 120.0);
  };
  for (const double H : {0.3, 0.6})
    for (int k = 1; k <= 6; ++k)
      for (const char* method : {"bliedf", "mkbdf", "projected-bdf"})
        EXPECT_NEAR(damping(method, k, H, ""), coeff::bdf_spectral_radius(k, H), 4e-3)
            << method << ' ' << k << ' ' << H;
  for (const double H : {0.3, 0.6})
    for (int p = 1; p <= 6; ++p)
      for (const char* method : {"mkam", "crouch-grossman", "commutator-free"})
        if (p <= method::find_method(method).max_order) {
          EXPECT_NEAR(damping(method, p, H, ""), coeff::adams_moulton_spectral_radius(p - 1, H), 4e-3)
              << method << ' ' << p << ' ' << H;
        }
  for (const double H : {0.3, 0.6, 1.5})
    for (const coeff::Tableau& tableau : coeff::runge_kutta_tableaux())
      EXPECT_NEAR(damping("rkmk", tableau.order, H, ""), coeff::runge_kutta_spectral_radius(tableau, H), 4e-3)
          << tableau.name << ' ' << H;
  // A triple root at infinity: amplitudes fall like n² ρⁿ, which 120 steps see as 9^(1/120) - 1 = 1.8 %.
  for (const char* rho : {"0.3", "0.6", "0.8", "0.9"})
    EXPECT_NEAR(damping("generalized-alpha", 2, 1e4, rho) / std::stod(rho), 1.0, 0.03) << rho;
  for (const double H : {0.5, 2.0})
    for (const char* rho : {"0.3", "0.8"}) {
      const double expected = coeff::alpha_spectral_radius(coeff::GeneralizedAlpha::from_rho_inf(std::stod(rho)), H);
      EXPECT_NEAR(damping("generalized-alpha", 2, H, rho), expected, 0.02) << rho << ' ' << H;
    }
}

// hω = 1000, q0 = 1, v0 = 0: Chung-Hulbert parameters overshoot in the velocity of the first steps, not in the position.
TEST(Oscillator, OvershootOfGeneralizedAlphaIsInTheVelocity) {
  // |v|/(ω|q|) of docs/methods/generalized-alpha.md.
  for (const auto& [rho, overshoot] : {std::pair{"0.0", 250.0}, {"0.5", 62.5}, {"0.9", 9.7}}) {
    Experiment e;
    e.model = "oscillator";
    e.options.method = "generalized-alpha";
    e.options.step = 1e3;
    e.options.t_end = 2e4;
    e.options.starting = "exact";
    e.options.method.set("rho_inf", rho);
    const Trajectory run = support::integrate(e);
    double position = 0.0, velocity = 0.0;
    for (const method::Entry& point : run.points) {
      position = std::max(position, std::abs(point.motion.q[0]));
      velocity = std::max(velocity, std::abs(point.motion.v[0]));
    }
    EXPECT_LT(position, 1.0 + 1e-9) << rho;
    EXPECT_NEAR(velocity / overshoot, 1.0, 0.01) << rho << ": the exact speed is 1";
  }
}

}  // namespace
