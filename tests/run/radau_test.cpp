// Radau IIA where others fail: stiff, lightly damped, fast; against closed forms and minimal coordinates.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "coeff/radau.hpp"
#include "kreisel/own_system.hpp"
#include "run/integrator.hpp"
#include "solve/radau.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using coeff::Radau;

constexpr double gravity = 9.81;

run::Options radau(double t_end, double rtol, double atol) {
  run::Options options;
  options.method = "radau";
  options.t_end = t_end;
  options.rtol = rtol;
  options.atol = atol;
  return options;
}

struct Own {
  std::shared_ptr<const system::System> system;
  system::Start start;
};

run::Report integrate(const Own& own, const run::Options& options) {
  run::Observer nobody;
  return run::integrate(*own.system, own.start, options, nobody);
}

/// q'' + 2ωq' + ω²(q - cos t) = 0: a slow solution beside rates of ω.
Own forced_oscillator(double w) {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [w](double t, const Vector& q, const Vector& v) -> Vector {
    return Vector::Constant(1, w * w * (q[0] - std::cos(t)) + 2.0 * w * v[0]);
  };
  return {std::make_shared<system::FunctionSystem>(f), {0.0, 10.0, Vector::Constant(1, 1.0), Vector::Zero(1)}};
}

TEST(RadauOnStiffSystems, TakesTheStepsOfTheSlowMotionWhateverTheFastRate) {
  long fewest = 1'000'000, most = 0;
  for (const double w : {1e2, 1e3, 1e4, 1e5, 1e6}) {
    const run::Report report = integrate(forced_oscillator(w), radau(10.0, 1e-6, 1e-8));
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    // The particular solution: transients like exp(-ωt) are gone.
    const double exact = (std::polar(1.0, 10.0) * w * w / std::complex<double>(w * w - 1.0, 2.0 * w)).real();
    EXPECT_NEAR(report.final.motion.q[0], exact, 1e-6) << w;
    fewest = std::min(fewest, static_cast<long>(report.counters.steps));
    most = std::max(most, static_cast<long>(report.counters.steps));
  }
  // RADAU5 and its relatives take about 350; ω = 1e2 is hardly stiff on this time scale and takes fewer.
  EXPECT_LE(most, 450);
  EXPECT_LE(static_cast<double>(most), 1.6 * static_cast<double>(fewest));
}

// Van der Pol's equation with ε = 1e-6; the solution at t = 2 is that of the test set for IVP solvers (Mazzia, Magherini 2008).
TEST(RadauOnStiffSystems, FollowsTheRelaxationOscillationOfVanDerPol) {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double, const Vector& q, const Vector& v) -> Vector {
    return Vector::Constant(1, -((1.0 - q[0] * q[0]) * v[0] - q[0]) * 1e6);
  };
  const Own own{std::make_shared<system::FunctionSystem>(f), {0.0, 2.0, Vector::Constant(1, 2.0), Vector::Zero(1)}};
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
    const run::Report report = integrate(own, radau(2.0, tolerance, tolerance));
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_NEAR(report.final.motion.q[0], 0.1706167732170483e1, 10.0 * tolerance) << tolerance;
    EXPECT_NEAR(report.final.motion.v[0], -0.8928097010247975, 10.0 * tolerance) << tolerance;
    // The estimate is of order 3: a hundred times the accuracy costs √10 times the steps.
    EXPECT_LT(static_cast<double>(report.counters.steps), 1200.0 * std::pow(tolerance / 1e-6, -0.25)) << tolerance;
  }
}

/// A mass on a spring and damper of rest length 1, released where it is horizontal: x'' = -g e_z - (k(l - 1) + c l')n.
Own stiff_pendulum(double k, double c) {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 2}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [=](double, const Vector& q, const Vector& v) -> Vector {
    const double l = q.norm();
    const Vector n = q / l;
    Vector g = (k * (l - 1.0) + c * n.dot(v)) * n;
    g[1] += gravity;
    return g;
  };
  // The functions are not defined at the origin.
  Vector q0(2);
  q0 << 1.0, 0.0;
  return {std::make_shared<system::FunctionSystem>(f), {0.0, 1.0, q0, Vector::Zero(2)}};
}

/// φ'' = -g cos φ, φ(0) = φ'(0) = 0, in minimal coordinates by the classical Runge-Kutta method.
std::array<double, 2> rigid_pendulum(double t) {
  const int n = 20000;
  const double h = t / n;
  std::array<double, 2> y{0.0, 0.0};
  const auto rate = [](const std::array<double, 2>& x) { return std::array{x[1], -gravity * std::cos(x[0])}; };
  const auto moved = [](const std::array<double, 2>& x, double s, const std::array<double, 2>& k) {
    return std::array{x[0] + s * k[0], x[1] + s * k[1]};
  };
  for (int i = 0; i < n; ++i) {
    const auto k1 = rate(y), k2 = rate(moved(y, h / 2, k1)), k3 = rate(moved(y, h / 2, k2)), k4 = rate(moved(y, h, k3));
    for (int j = 0; j < 2; ++j) y[j] += h / 6 * (k1[j] + 2 * k2[j] + 2 * k3[j] + k4[j]);
  }
  return y;
}

TEST(RadauOnStiffSystems, TurnsWithADamperThatIsAsGoodAsRigid) {
  const auto [angle, rate] = rigid_pendulum(1.0);
  for (const double tolerance : {1e-4, 1e-6}) {
    // The damper gives way by less than 30 N/1e12 Ns/m · 1 s.
    const run::Report report = integrate(stiff_pendulum(1e6, 1e12), radau(1.0, tolerance, tolerance));
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_NEAR(report.final.motion.q[0], std::cos(angle), 10.0 * tolerance);
    EXPECT_NEAR(report.final.motion.q[1], std::sin(angle), 10.0 * tolerance);
    EXPECT_NEAR(report.final.motion.v[0], -std::sin(angle) * rate, 50.0 * tolerance);
    EXPECT_NEAR(report.final.motion.v[1], std::cos(angle) * rate, 50.0 * tolerance);
    EXPECT_LT(report.counters.steps, 150);
  }
}

// ω = 1e4 rad/s with 1 % of damping, near the imaginary axis, where BDF of order 3 to 6 is unstable.
TEST(RadauOnStiffSystems, IsNotHeldBackByALightlyDampedSpring) {
  const run::Report report = integrate(stiff_pendulum(1e8, 2.0 * 0.01 * 1e4), radau(1.0, 1e-5, 1e-5));
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  // It stretches by at most 3 m g / k = 3e-7 m.
  const auto [angle, rate] = rigid_pendulum(1.0);
  EXPECT_NEAR(report.final.motion.q[0], std::cos(angle), 1e-4);
  EXPECT_NEAR(report.final.motion.q[1], std::sin(angle), 1e-4);
  EXPECT_LT(report.counters.steps, 1500);
}

// R(∞) = 0: one step takes a stiff oscillation away, where methods that are not L-stable keep it.
TEST(RadauOnStiffSystems, DampsInfinitelyFastOscillationsAtOnce) {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector { return 1e16 * q; };
  const Own own{std::make_shared<system::FunctionSystem>(f), {0.0, 1.0, Vector::Constant(1, 1e-3), Vector::Zero(1)}};
  run::Options options = radau(1.0, 0.0, 0.0);
  options.rtol = options.atol = 1e-6;
  options.step = 0.5;
  const run::Report report = integrate(own, options);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  EXPECT_LT(std::abs(report.final.motion.q[0]), 1e-14);
}

/// A free body about its axis of symmetry: R(t) = rotation by 100 t, exactly.
Own spinning_disc() {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::so3}};
  f.block_names = {"disc"};
  const Vector3 inertia(0.2, 0.2, 0.3);
  f.mass = [=](const Vector&) -> Matrix { return inertia.asDiagonal(); };
  f.force = [=](double, const Vector&, const Vector& v) -> Vector {
    const Vector3 w = v;
    return w.cross(inertia.cwiseProduct(w));
  };
  Vector q0(4), v0(3);
  q0 << 0.0, 0.0, 0.0, 1.0;
  v0 << 0.0, 0.0, 100.0;
  return {std::make_shared<system::FunctionSystem>(f), {0.0, 1.0, q0, v0}};
}

double cosine_of_turn(const Vector& q) { return 1.0 - 2.0 * (q[0] * q[0] + q[1] * q[1] + 0.0) - 2.0 * q[2] * q[2]; }

TEST(RadauWithLargeRotations, LosesNoTurns) {
  for (const double step : {0.0, 0.01, 0.04}) {  // 0.04 s are 4 rad, more than π
    run::Options options = radau(1.0, 1e-6, 1e-8);
    options.step = step;
    const run::Report report = integrate(spinning_disc(), options);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_NEAR(cosine_of_turn(report.final.motion.q), std::cos(100.0), 1e-10) << step;
  }
}

TEST(RadauWithLargeRotations, TakeFewStepsWhereNoReactionTurnsWithTheBody) {
  for (const double tolerance : {1e-6, 1e-8, 1e-10}) {
    const run::Report report = integrate(spinning_disc(), radau(1.0, tolerance, tolerance));
    EXPECT_LT(report.counters.steps, 50) << tolerance;
    EXPECT_NEAR(cosine_of_turn(report.final.motion.q), std::cos(100.0), 1e-10) << tolerance;
  }
}

TEST(RadauWithLargeRotations, RefusesStepsThatItCannotRepresentAndNamesTheBody) {
  run::Options options = radau(1.0, 1e-6, 1e-8);
  options.step = 0.05;
  const run::Report report = integrate(spinning_disc(), options);
  EXPECT_EQ(report.status, run::Status::newton_failed);
  EXPECT_NE(report.message.find("rotation of 'disc'"), std::string::npos) << report.message;
  EXPECT_NE(report.message.find("turns further"), std::string::npos) << report.message;
}

TEST(RadauDenseOutput, IsExactAtTheStages) {
  const models::Model model = support::make_model({});
  const system::System& system = *model.system;
  solve::Collocation c(system);
  c.t = 0.5;
  c.h = 0.25;
  c.q = model.start.q0;
  for (auto* list : {&c.theta, &c.a})
    for (Vector& x : *list) x = Vector::Random(x.size());
  for (auto* list : {&c.v, &c.lambda})
    for (Vector& x : *list) x = Vector::Random(x.size());
  system::Motion m(system.space());
  Vector theta(system.space().nv()), lambda(system.pattern().rows());
  c.at(system.space(), 0.0, theta, m, lambda);
  EXPECT_LT(theta.norm() + (m.v - c.v[0]).norm() + (lambda - c.lambda[0]).norm(), 1e-14);
  for (int i = 0; i < Radau::stages; ++i) {
    c.at(system.space(), Radau::c[i], theta, m, lambda);
    Vector slope = Vector::Zero(theta.size());
    for (int j = 0; j < Radau::stages; ++j) slope += Radau::w[i][j] / c.h * (c.v[j + 1] - c.v[0]);
    EXPECT_LT((theta - c.theta[i]).norm(), 1e-13);
    EXPECT_LT((m.v - c.v[i + 1]).norm(), 1e-13);
    EXPECT_LT((lambda - c.lambda[i + 1]).norm(), 1e-13);
    EXPECT_LT((m.a - slope).norm(), 1e-12);
  }
}

TEST(RadauDenseOutput, HasOrderThreeAndMoreInLambdaToo) {
  const models::Model model = support::make_model({});
  const std::vector<double> times{0.0173, 0.0537, 0.0801, 0.1};
  const auto errors = [&](const char* formulation, double h) {
    run::Options options = radau(0.1, 1e-6, 1e-6);
    options.formulation = formulation;
    options.step = h;
    options.output_times = times;
    const support::Trajectory shown = support::integrate(model, options);
    EXPECT_EQ(shown.report.status, run::Status::success) << shown.report.message;
    return support::errors_of(model, shown, support::reference_at(model, shown.points),
                              {support::Entries::largest, support::Span::all});
  };
  for (const char* formulation : {"index3", "stabilized-index2", "index2", "index1"}) {
    const support::Errors slope = support::slopes_of(errors(formulation, 2e-3), errors(formulation, 1e-3));
    EXPECT_GT(slope.q, 3.5) << formulation;
    EXPECT_GT(slope.v, 3.5) << formulation;
    EXPECT_GT(slope.lambda, 2.7) << formulation;
  }
}

TEST(RadauErrorControl, ErrorsFollowTheTolerance) {
  for (const char* formulation : {"index3", "stabilized-index2", "index2", "index1"}) {
    double last_q = 1.0, last_v = 1.0, last_lambda = 1e3;
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      support::Experiment e;
      e.options = radau(0.5, tolerance, tolerance);
      e.options.formulation = formulation;
      const models::Model model = support::make_model(e);
      const support::Trajectory run = support::integrate(model, e.options);
      ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
      const support::Errors errors = support::errors_of(model, run, support::reference_at(model, run.points),
                                                        {support::Entries::largest, support::Span::all});
      // |v| is 150 and λ 1e3.
      EXPECT_LT(errors.q, 100.0 * tolerance) << formulation << tolerance;
      EXPECT_LT(errors.v, 1000.0 * tolerance) << formulation << tolerance;
      EXPECT_LT(errors.lambda, 1e5 * tolerance) << formulation << tolerance;
      EXPECT_LT(errors.q, 0.1 * last_q) << formulation << tolerance;
      EXPECT_LT(errors.v, 0.1 * last_v) << formulation << tolerance;
      EXPECT_LT(errors.lambda, 0.1 * last_lambda) << formulation << tolerance;
      last_q = errors.q;
      last_v = errors.v;
      last_lambda = errors.lambda;
    }
  }
}

// Steps of very different size: a one-step method does not mind.
TEST(RadauOnGivenSteps, KeepsOrderFive) {
  const models::Model model = support::make_model({});
  const auto errors = [&](int n) {
    run::Options options = radau(0.2, 1e-6, 1e-6);
    std::vector<double> steps;
    for (int i = 0; i < n; ++i) steps.push_back((i % 2 == 0 ? 1.4 : 0.6) * 0.2 / n);
    options.steps = run::StepList{steps};
    const support::Trajectory run = support::integrate(model, options);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    return support::errors_of(model, run, support::reference_at(model, run.points),
                              {support::Entries::largest, support::Span::all});
  };
  const support::Errors slope = support::slopes_of(errors(100), errors(200));
  for (const double k : {slope.q, slope.v, slope.lambda}) EXPECT_NEAR(k, 5.0, 0.3);
}

}  // namespace
