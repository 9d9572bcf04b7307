// Stiff springs with little damping: what a step may cost, and that velocities are tested in every formulation.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <unsupported/Eigen/MatrixFunctions>

#include <fmt/format.h>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "kreisel/own_system.hpp"
#include "run/integrator.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;

/// A tool on a pendulum, by a bushing of 1e8 N/m with 1 % damping: vibrations of 2e4 rad/s that die out within 50 ms.
io::ModelFile bushing() {
  return io::read_model(io::JsonSource("bushing.json", R"({"gravity": [0, 0, -9.81], "bodies": [
    {"name": "rod", "mass": 1, "inertia": [0.0834, 0.0834, 0.001], "position": [0.5, 0, 0], "rotation": {"axis": [0, 1, 0], "angle_deg": 90}},
    {"name": "tool", "mass": 0.2, "inertia": [0.001, 0.001, 0.001], "position": [1.1, 0, 0]}],
    "joints": [{"type": "revolute", "name": "hinge", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 1, 0]}],
    "forces": [{"type": "bushing", "name": "mount", "between": ["rod", "tool"], "at": [1.0, 0, 0], "stiffness": [1e8, 1e8, 1e8],
      "damping": [90, 90, 90], "rotational_stiffness": [1e5, 1e5, 1e5], "rotational_damping": [0.2, 0.2, 0.2]}]})"));
}

run::Report run_bushing(run::Options options, double t_end) {
  options.t_end = t_end;
  run::Observer nobody;
  const io::ModelFile file = bushing();
  return run::integrate(*file.assembly, file.model.start, options, nobody);
}

/// The bushing gives way by 1e-8 m: rod and tool are one physical pendulum, I φ'' = m g l cos φ from the horizontal.
double angle_of_pendulum(double t_end) {
  const double rate = 9.81 * (1.0 * 0.5 + 0.2 * 1.1) / (0.0834 + 1.0 * 0.25 + 0.001 + 0.2 * 1.21);
  const int steps = 20'000;
  const double h = t_end / steps;
  double angle = 0.0, speed = 0.0;
  for (int i = 0; i < steps; ++i) {  // the classical method of Runge and Kutta
    const double k1 = rate * std::cos(angle), k2 = rate * std::cos(angle + 0.5 * h * speed);
    const double k3 = rate * std::cos(angle + 0.5 * h * speed + 0.25 * h * h * k1),
                 k4 = rate * std::cos(angle + h * speed + 0.5 * h * h * k2);
    angle += h * speed + h * h * (k1 + k2 + k3) / 6.0;
    speed += h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0;
  }
  return angle;
}

/// BDF of order 3 to 6 amplifies the vibrations that the bushing no longer damps; order 2 takes 281,635 steps at 1e-6.
TEST(LightlyDampedBushing, TakesNoMoreThanOneAndAHalfTimesTheStepsOfRadau) {
  for (const double rtol : {1e-4, 1e-6}) {
    run::Options options;
    options.rtol = rtol;
    const run::Report report = run_bushing(options, 5.0);
    options.method = "radau";
    const run::Report radau = run_bushing(options, 5.0);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    ASSERT_EQ(radau.status, run::Status::success) << radau.message;
    EXPECT_EQ(report.method, "bliedf, radau");
    EXPECT_LT(report.counters.steps, 1.5 * radau.counters.steps) << rtol;
    const double angle = angle_of_pendulum(5.0);
    for (const run::Report* run : {&report, &radau}) {
      EXPECT_NEAR(run->final.motion.q[7], 1.1 * std::cos(angle), 1000.0 * rtol) << rtol;
      EXPECT_NEAR(run->final.motion.q[9], -1.1 * std::sin(angle), 1000.0 * rtol) << rtol;
    }
  }
}

/// A model that ships, with another text in it.
io::ModelFile shipped(std::string_view name, const std::string& what = "", const std::string& replacement = "") {
  std::string text;
  for (const io::ShippedFile& file : io::shipped_files())
    if (file.name == name) text = file.text;
  for (std::size_t at = 0; !what.empty() && (at = text.find(what, at)) != std::string::npos; at += replacement.size())
    text.replace(at, what.size(), replacement);
  return io::read_model(io::JsonSource("model.json", text));
}

run::Report run_of(const io::ModelFile& file, double t_end, double tolerance, const std::string& method = "") {
  run::Options options;
  options.t_end = t_end;
  options.rtol = options.atol = tolerance;
  if (!method.empty()) options.method = method;
  run::Observer nobody;
  return run::integrate(*file.assembly, file.model.start, options, nobody);
}

/// The fastest vibrations of a damped rod are gone, slower ones are not: they limit the steps of bliedf as well. With much damping
/// bliedf is the better one.
TEST(DampedRods, CostNoMoreThanOneAndAHalfTimesTheBestMethod) {
  for (const char* damping : {"3e-5", "1e-4", "1e-3"}) {
    const io::ModelFile bars =
        shipped("flexible-four-bar", R"("damping_time": 1e-3)", fmt::format(R"("damping_time": {})", damping));
    long best = std::numeric_limits<long>::max();
    for (const std::string method : {"bliedf", "radau"}) {
      const run::Report report = run_of(bars, 4.0, 1e-4, method);
      ASSERT_EQ(report.status, run::Status::success) << report.message;
      best = std::min(best, report.counters.residual_evaluations);
    }
    const run::Report report = run_of(bars, 4.0, 1e-4);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_LT(report.counters.residual_evaluations, 1.5 * best) << damping;
  }
}

/// Few steps, and vibrations that bliedf would amplify before radau is tried.
TEST(FlyingBeam, CostsNoMoreThanOneAndAHalfTimesRadauAtLooseTolerances) {
  for (const int n : {12, 16, 24, 32}) {
    const io::ModelFile beam = io::read_model(io::JsonSource("beam.json", fmt::format(R"({{
      "sections": [{{"name": "s", "stiffness": [1e4, 1e4, 1e4, 500, 500, 500], "mass_per_length": 1, "inertia_per_length": [20, 10, 10]}}],
      "rods": [{{"name": "rod", "section": "s", "path": {{"line": [[6, 0, 0], [0, 8, 0]]}}, "elements": {}}}],
      "forces": [{{"type": "applied", "on": "rod@start",
        "force": [{{"table": [[0, 0], [2.5, 20], [5, 0]], "interpolation": "linear"}}, 0, 0],
        "torque": [0, {{"table": [[0, 0], [2.5, 100], [5, 0]], "interpolation": "linear"}},
                   {{"table": [[0, 0], [2.5, -200], [5, 0]], "interpolation": "linear"}}]}}]}})",
                                                                                      n)));
    const run::Report radau = run_of(beam, 10.0, 1e-2, "radau"), report = run_of(beam, 10.0, 1e-2);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_LT(report.counters.residual_evaluations, 1.5 * radau.counters.residual_evaluations) << n;
  }
}

/// One matrix solves nearly all stages here. Where one step needs the coupled matrix, which costs ten others, the next ones do not.
TEST(CoupledStages, AreForStepsThatNeedThem) {
  const run::Report report = run_of(shipped("leg"), 2.0, 1e-6, "radau");
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  EXPECT_LT(report.counters.jacobian_evaluations, 0.5 * static_cast<double>(report.counters.steps));
}

TEST(LightlyDampedBushing, StaysWithTheMethodThatIsAskedFor) {
  for (const std::string method : {"bliedf", "projected-bdf"}) {
    run::Options options;
    options.rtol = 1e-4;
    options.method = method;
    const run::Report report = run_bushing(options, 0.1);
    EXPECT_EQ(report.method, method);
    EXPECT_GT(report.counters.steps, 1000);
    ASSERT_EQ(report.warnings.size(), 1u);
    EXPECT_NE(report.warnings[0].find("lightly damped vibrations"), std::string::npos) << report.warnings[0];
    EXPECT_NE(report.warnings[0].find("radau"), std::string::npos) << report.warnings[0];
  }
}

/// q'' + 2ωq' + ω²(q - cos t) = 0 (Prothero and Robinson 1974): after a transient of 1/ω the motion is as slow for every ω.
TEST(LightlyDampedBushing, IsNamedWhereARunEndsForTheNumberOfItsSteps) {
  run::Options options;
  options.method = "bliedf";
  options.max_order = 1;
  options.max_steps = 3000;
  const run::Report report = run_bushing(options, 5.0);
  EXPECT_EQ(report.status, run::Status::too_many_steps);
  EXPECT_NE(report.message.find("lightly damped vibrations of 3.3e+04 rad/s take"), std::string::npos)
      << report.message;
}

TEST(StiffRelaxation, TakesAsManyStepsHoweverStiff) {
  for (const double omega : {1e2, 1e3, 1e4, 1e5, 1e6}) {
    system::SystemFunctions f;
    f.space = {{lie::GroupId::rn, 1}};
    f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
    f.force = [omega](double t, const Vector& q, const Vector& v) -> Vector {
      return Vector::Constant(1, omega * omega * (q[0] - std::cos(t)) + 2.0 * omega * v[0]);
    };
    const system::FunctionSystem system(f);
    run::Observer nobody;
    run::Options options;
    options.t_end = 10.0;
    options.rtol = 1e-6;
    options.atol = 1e-8;
    options.method = "bliedf";
    const run::Report report = run::integrate(system, {0.0, 10.0, Vector::Ones(1), Vector::Zero(1)}, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_LT(report.counters.steps, 400) << omega;
    // (ω² - 1)A + 2ωB = ω², (ω² - 1)B - 2ωA = 0 for q = A cos t + B sin t
    const double a = omega * omega - 1.0, b = 2.0 * omega, scale = omega * omega / (a * a + b * b);
    const double A = a * scale, B = b * scale;
    EXPECT_NEAR(report.final.motion.q[0], A * std::cos(10.0) + B * std::sin(10.0), 1e-5) << omega;
    EXPECT_NEAR(report.final.motion.v[0], B * std::cos(10.0) - A * std::sin(10.0), 1e-5) << omega;
    options.max_order = 2;
    options.max_steps = 12'000;
    EXPECT_EQ(run::integrate(system, {0.0, 10.0, Vector::Ones(1), Vector::Zero(1)}, options, nobody).status,
              run::Status::success)
        << omega;
  }
}

/// A tighter tolerance never made velocities worse where they are tested.
TEST(IndexThree, TestsTheTangentialVelocityUnderErrorControl) {
  run::Options exact_options;
  exact_options.method = "rkmk";
  exact_options.rtol = exact_options.atol = 1e-10;
  const Vector exact = run_bushing(exact_options, 0.05).final.motion.v;
  for (const double tolerance : {1e-5, 1e-6, 1e-7}) {
    run::Options options;
    options.formulation = "index3";
    options.rtol = tolerance;
    options.atol = 0.01 * tolerance;
    const run::Report report = run_bushing(options, 0.05);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_LT((report.final.motion.v - exact).norm(), 100.0 * tolerance * (1.0 + exact.norm())) << tolerance;
  }
}

/// A weight on a damper of 1e12 N s/m, which is a rod: the pendulum of 1 m from the horizontal, θ = 2 asin(√½ cd(√g t | ½)).
TEST(StiffDamper, LetsAWeightSwingLikeAPendulum) {
  const io::ModelFile file = io::read_model(io::JsonSource(
      "damper.json", R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 1, "inertia": [0.01, 0.01, 0.01],
    "position": [1, 0, 0]}], "forces": [{"name": "s", "type": "spring-damper", "between": ["ground", "b"], "at": [[0, 0, 0], [1, 0, 0]],
    "stiffness": 1e6, "damping": 1e12}]})"));
  for (const double tolerance : {1e-4, 1e-5, 1e-6, 1e-7, 1e-8}) {
    run::Options options;
    options.rtol = tolerance;
    options.atol = 0.01 * tolerance;
    options.t_end = 1.0;
    run::Observer nobody;
    const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_NEAR(report.final.motion.q[0], -0.986291751, 20.0 * tolerance) << tolerance;
    EXPECT_NEAR(report.final.motion.q[2], -0.165010853, 20.0 * tolerance) << tolerance;
    EXPECT_LT(report.counters.steps, 200) << tolerance;
  }
}

/// A weight of 2 mm on a torsional spring of 1e6 rad/s sags by m g l/K and rests. The angle that the spring counts is then known
/// to round-off, its rate is not: it must not hold the steps.
TEST(StiffTorsionalSpring, LetsABodyRest) {
  const io::ModelFile file = io::read_model(io::JsonSource(
      "rest.json", R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 0.2, "inertia": [1e-7, 1e-7, 1e-7],
    "position": [0.002, 0, 0]}], "joints": [{"type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 1, 0]}],
    "forces": [{"type": "torsional-spring-damper", "between": ["ground", "b"], "axis": [0, 1, 0], "stiffness": 1e6, "damping": 5}]})"));
  for (const char* method : {"bliedf", "radau"}) {
    run::Options options;
    options.method = method;
    options.rtol = 1e-6;
    options.atol = 1e-10;
    options.t_end = 0.02;
    options.max_steps = 1000;
    run::Observer nobody;
    const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << method << ": " << report.message;
    EXPECT_NEAR(report.final.motion.q.tail<1>()[0], 0.2 * 9.81 * 0.002 / 1e6, 1e-10) << method;
  }
}

/// The rate of the counted angle at the start comes from differences: with an explicit step of 1e-5 s they blew up beside a damper
/// of 7e6 1/s, and no start was found.
TEST(StiffDamper, LeavesACountedAngleAStart) {
  const io::ModelFile file = io::read_model(io::JsonSource("start.json", R"({"gravity": [0, 0, -9.81], "bodies": [
    {"name": "wheel", "mass": 1, "inertia": [0.2, 0.2, 0.2], "position": [0, 0, 0], "angular_velocity": [0, 0, 10]},
    {"name": "tool", "mass": 1, "inertia": [4e-6, 4e-6, 4e-6], "position": [0, 0, 1]}],
    "joints": [{"type": "revolute", "between": ["ground", "wheel"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "forces": [{"type": "torsional-spring-damper", "between": ["ground", "wheel"], "axis": [0, 0, 1], "stiffness": 1},
      {"type": "bushing", "between": ["wheel", "tool"], "at": [0, 0, 1], "stiffness": [1e8, 1e8, 1e8], "damping": [1e7, 1e7, 1e7],
       "rotational_stiffness": [1e6, 1e6, 1e6], "rotational_damping": [29, 29, 29]}]})"));
  for (const char* method : {"bliedf", "radau"}) {
    run::Options options;
    options.method = method;
    options.rtol = options.atol = 1e-7;
    options.t_end = 1.0;
    run::Observer nobody;
    const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << method << ": " << report.message;
    // The tool is taken along at once and turns with the wheel.
    const double inertia = 0.2 + 4e-6, spin = 10.0 * 0.2 / inertia;
    EXPECT_NEAR(report.final.motion.v[5], spin * std::cos(std::sqrt(1.0 / inertia)), 1e-5) << method;
  }
}

/// An order that fails as soon as it is taken must not be kept: between orders 2 and 3 that was a cycle without an end in sight.
TEST(StiffTop, TakesNoMoreStepsForALooserTolerance) {
  const models::Model model = support::make_model({.model = "stiff-top"});
  long before = 0;
  for (const double tolerance : {1e-6, 1e-7, 3.16228e-8, 1e-8}) {
    run::Options options;
    options.rtol = options.atol = tolerance;
    options.t_end = 2.0;
    run::Observer nobody;
    const run::Report report = run::integrate(*model.system, model.start, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_LT(before, 1.25 * static_cast<double>(report.counters.steps)) << tolerance;
    before = report.counters.steps;
  }
  EXPECT_LT(before, 800);
}

/// Two discs on stiff, lightly damped shafts, hit by triangles of torque: a linear system, solved exactly.
class HitShafts {
 public:
  static constexpr std::array<double, 2> inertia{0.0638, 3.26}, stiffness{1.45e6, 7.05e4}, damping{39.2, 43.5};
  static constexpr std::array<std::array<double, 2>, 6> hits{
      {{0.0, 0.0}, {0.3, 0.0}, {0.3043, 3063.0}, {0.3086, 0.0}, {0.62, 0.0}, {0.6207, 6209.0}}};

  static io::ModelFile model() {
    return io::read_model(io::JsonSource(
        "shafts.json", fmt::format(R"({{"group": "se3", "bodies": [
      {{"name": "near", "mass": 1, "inertia": [{0}, {0}, {0}], "position": [0, 0, 0]}},
      {{"name": "far", "mass": 1, "inertia": [{1}, {1}, {1}], "position": [0, 0, 0.1]}}],
      "joints": [{{"type": "revolute", "name": "a", "between": ["ground", "near"], "at": [0, 0, 0], "axis": [0, 0, 1]}},
        {{"type": "revolute", "name": "b", "between": ["ground", "far"], "at": [0, 0, 0.1], "axis": [0, 0, 1]}}],
      "forces": [
        {{"type": "torsional-spring-damper", "name": "s", "between": ["ground", "near"], "axis": [0, 0, 1], "stiffness": {2}, "damping": {4}}},
        {{"type": "torsional-spring-damper", "name": "t", "between": ["near", "far"], "axis": [0, 0, 1], "stiffness": {3}, "damping": {5}}},
        {{"type": "applied", "name": "hit", "on": "near", "torque": [0, 0, {{"interpolation": "linear", "table":
          [[0, 0], [0.3, 0], [0.3043, 3063], [0.3086, 0], [0.62, 0], [0.6207, 6209], [0.6214, 0], [2, 0]]}}]}}]}})",
                                   inertia[0], inertia[1], stiffness[0], stiffness[1], damping[0], damping[1])));
  }
  /// Both angles and both speeds, until the second hit is at its height.
  static Eigen::Vector4d exact(double t) {
    // x' = A x + b f, f' = slope between two corners.
    Eigen::Matrix<double, 6, 6> A = Eigen::Matrix<double, 6, 6>::Zero();
    A(0, 2) = A(1, 3) = A(4, 5) = 1.0;
    for (const int level : {0, 2}) {
      const auto& of = level == 0 ? stiffness : damping;
      A(2, level) = -(of[0] + of[1]) / inertia[0], A(2, level + 1) = of[1] / inertia[0];
      A(3, level) = of[1] / inertia[1], A(3, level + 1) = -of[1] / inertia[1];
    }
    A(2, 4) = 1.0 / inertia[0];
    Eigen::Matrix<double, 6, 1> x = Eigen::Matrix<double, 6, 1>::Zero();
    for (std::size_t i = 0; i + 1 < hits.size() && hits[i][0] < t; ++i) {
      const double whole = hits[i + 1][0] - hits[i][0];
      x[4] = hits[i][1];
      x[5] = (hits[i + 1][1] - hits[i][1]) / whole;
      x = (A * (std::min(t, hits[i + 1][0]) - hits[i][0])).exp() * x;
    }
    return x.head<4>();
  }
};

/// Accelerations of 1e6 rad/s² are the difference of torques that cancel: where a method starts anew, at a corner of the torque,
/// round-off must not pass for a system that has no accelerations.
TEST(HitShafts, StartAnewAtEveryCorner) {
  const io::ModelFile file = HitShafts::model();
  for (const std::string method : {"", "bliedf", "radau", "projected-bdf"})
    for (const double t_end : {0.3043, 0.31, 0.6203, 2.0}) {
      run::Options options;
      if (!method.empty()) options.method = method;
      options.rtol = 1e-6;
      options.atol = 1e-8;
      options.t_end = t_end;
      run::Observer nobody;
      const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
      ASSERT_EQ(report.status, run::Status::success) << method << ": " << report.message;
      if (t_end > 1.0) continue;
      const Eigen::Vector4d exact = HitShafts::exact(t_end);
      const lie::Motion& m = report.final.motion;
      EXPECT_NEAR(m.v[5], exact[2], 1e-3) << method << " until " << t_end;  // of 17 rad/s
      EXPECT_NEAR(m.v[11], exact[3], 1e-4) << method << " until " << t_end;
    }
}

}  // namespace
