// Friction that sticks, slides and does both in turn, against closed forms.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "io/model_file/model_file.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

constexpr double g = 9.81, slope = 0.3;

io::ModelFile model(const std::string& text) { return io::read_model(io::JsonSource("m.json", text)); }

/// A block on an incline of `slope` rad; x points down.
io::ModelFile incline(const std::string& friction, double speed = 0.0, const std::string& group = "r3xso3") {
  return model(fmt::format(R"({{"group": "{}", "gravity": [{:.17g}, 0, {:.17g}],
    "bodies": [{{"name": "block", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0], "velocity": [{}, 0, 0]}}],
    "joints": [{{"type": "prismatic", "name": "plane", "between": ["ground", "block"], "at": [0, 0, 0], "axis": [1, 0, 0]}}],
    "forces": [{{"type": "joint-friction", "name": "f", "joint": "plane", {}}}]}})",
                           group, g * std::sin(slope), -g * std::cos(slope), speed, friction));
}

run::Report run_to(const io::ModelFile& file, double t_end, const std::string& method = "bliedf") {
  run::Options options;
  options.method = method;
  options.t_end = t_end;
  options.rtol = 1e-6;
  options.atol = 1e-8;
  run::Observer nobody;
  run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  return report;
}

/// tan(0.3) = 0.31 < 0.5: the block stays. The bristles bend by less than the deflection; nothing creeps.
TEST(StickSlip, ABlockThatMustStickStays) {
  for (const char* group : {"r3xso3", "se3"})
    for (const char* method : {"bliedf", "generalized-alpha"}) {
      const io::ModelFile file = incline(R"("law": "stick-slip", "coefficient": 0.5)", 0.0, group);
      const double after_one = run_to(file, 1.0, method).final.motion.q[0],
                   after_ten = run_to(file, 10.0, method).final.motion.q[0];
      EXPECT_GT(after_one, 0.9e-5 * std::tan(slope) / 0.5);
      EXPECT_LT(after_one, 1e-5);
      EXPECT_NEAR(after_ten, after_one, 1e-9) << group << " " << method;
    }
}

/// v₀ artanh(tan θ/μ) t of creep: what the law that is smooth at rest does instead, as documented.
TEST(SmoothedFriction, CreepsWithTheSpeedThatTheSmoothingSays) {
  const run::Report report = run_to(incline(R"("coefficient": 0.5, "smoothing_speed": 0.01)"), 10.0);
  EXPECT_NEAR(report.final.motion.v[0], 0.01 * std::atanh(std::tan(slope) / 0.5), 1e-6);
}

/// It decelerates by g (μ cos θ - sin θ), stops and stays.
TEST(StickSlip, ASlidingBlockStopsAfterItsWayAndSticks) {
  const io::ModelFile file = incline(R"("law": "stick-slip", "coefficient": 0.5, "stribeck_speed": 0.001)", 1.0);
  const double way = 1.0 / (2.0 * g * (0.5 * std::cos(slope) - std::sin(slope)));
  const run::Report report = run_to(file, 10.0);
  EXPECT_NEAR(report.final.motion.q[0], way, 5e-5);
  EXPECT_LT(std::abs(report.final.motion.v[0]), 1e-10);
  // All of its energy and what gravity added went into friction.
  EXPECT_NEAR(report.work.dissipated, 1.0 + 2.0 * g * std::sin(slope) * way, 1e-3);
}

/// A load above static friction: from rest it slides off with g (sin θ - μ cos θ), after it has bent the bristles.
TEST(StickSlip, ABlockThatMustSlideSlides) {
  const run::Report report = run_to(
      incline(
          R"("law": "stick-slip", "coefficient": 0.2, "static_coefficient": 0.25, "stribeck_speed": 0.001, "deflection": 1e-7)"),
      2.0);
  EXPECT_NEAR(report.final.motion.v[0], 2.0 * g * (std::sin(slope) - 0.2 * std::cos(slope)), 2e-3);
}

/// On a belt with speed V, held by a spring: it sticks until k x = μₛ N, slips on a circle about μ N/k, sticks again.
/// With D = (μₛ - μ) N/k the period is 2 D/V + 2 (π - atan(D ω/V))/ω.
TEST(StickSlip, ABlockOnABeltSticksAndSlipsWithItsPeriod) {
  constexpr double V = 0.1, k = 100.0, fall = 0.1 * g / k, omega = 10.0;
  const double period = 2.0 * fall / V + 2.0 * (M_PI - std::atan(fall * omega / V)) / omega;
  for (const double speed : {1e-3, 1e-4}) {
    const io::ModelFile file = model(fmt::format(R"({{"gravity": [0, 0, -9.81], "bodies": [
      {{"name": "belt", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0], "velocity": [{0}, 0, 0]}},
      {{"name": "block", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0.1], "velocity": [{0}, 0, 0]}}],
      "joints": [{{"type": "prismatic", "between": ["ground", "belt"], "at": [0, 0, 0], "axis": [1, 0, 0]}},
                 {{"type": "prismatic", "name": "slide", "between": ["belt", "block"], "at": [0, 0, 0.1], "axis": [1, 0, 0]}}],
      "drivers": [{{"type": "position", "between": ["ground", "belt"], "at": [0, 0, 0], "axis": [1, 0, 0], "value": "{0}*t"}}],
      "forces": [{{"type": "bushing", "between": ["ground", "block"], "at": [0, 0, 0.1], "stiffness": [{1}, 0, 0]}},
                 {{"type": "joint-friction", "joint": "slide", "law": "stick-slip", "coefficient": 0.2, "static_coefficient": 0.3,
                   "stribeck_speed": {2}, "deflection": {3}}}]}})",
                                                 V, k, speed, speed * speed));
    run::Options options;
    options.t_end = 3.5;
    options.rtol = 1e-6;
    options.atol = 1e-8;
    struct Turns final : run::Observer {
      std::vector<double> t;
      double last_v = 0.0, last_t = 0.0;
      bool accept(const run::Point& point) override {
        const system::Motion& m = point.entry.motion;
        if (last_v < 0.0 && m.v[6] >= 0.0) t.push_back(last_t + (m.t - last_t) * last_v / (last_v - m.v[6]));
        last_v = m.v[6];
        last_t = m.t;
        return true;
      }
    } turns;
    const run::Report report = run::integrate(*file.assembly, file.model.start, options, turns);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    ASSERT_GE(turns.t.size(), 4U);
    EXPECT_NEAR((turns.t.back() - turns.t[1]) / static_cast<double>(turns.t.size() - 2), period, 20.0 * speed * period)
        << speed;
  }
}

/// A pin of radius r under the weight m g: a torque below μ r m g does not turn it, one above does.
TEST(StickSlip, AHingeHoldsATorqueBelowItsFriction) {
  const auto hinge = [](double torque) {
    return model(fmt::format(
        R"({{"gravity": [0, 0, -9.81], "bodies": [{{"name": "wheel", "mass": 2, "inertia": [0.2, 0.2, 0.2], "position": [0, 0, 0]}}],
      "joints": [{{"type": "revolute", "name": "pin", "between": ["ground", "wheel"], "at": [0, 0, 0], "axis": [0, 1, 0]}}],
      "forces": [{{"type": "joint-friction", "joint": "pin", "law": "stick-slip", "coefficient": 0.3, "radius": 0.05, "deflection": 1e-7}},
                 {{"type": "applied", "on": "wheel", "torque": [0, {}, 0]}}]}})",
        torque));
  };
  const double limit = 0.3 * 0.05 * 2.0 * g;
  // The torque comes all at once: it slips by some deflections before it holds. A quaternion has half the angle.
  const run::Report held = run_to(hinge(0.9 * limit), 2.0), later = run_to(hinge(0.9 * limit), 5.0);
  EXPECT_LT(2.0 * held.final.motion.q[4] * 0.05, 1e-6);
  EXPECT_NEAR(later.final.motion.q[4], held.final.motion.q[4], 1e-7);
  EXPECT_LT(std::abs(held.final.motion.v[4]), 1e-6);
  EXPECT_NEAR(run_to(hinge(1.5 * limit), 1.0).final.motion.v[4], 0.5 * limit / 0.2, 2e-3);
}

TEST(JointFriction, AJointThatTurnsNeedsARadius) {
  const auto refusal = [](const std::string& joint, const std::string& keys) -> std::string {
    try {
      model(
          R"({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}], "joints": [{"type": ")" +
          joint +
          R"(", "name": "J", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 0, 1]}], "forces": [{"type": "joint-friction", "joint": "J", )" +
          keys + "}]}");
      return "accepted";
    } catch (const InvalidInput& e) {
      return e.what();
    }
  };
  EXPECT_NE(refusal("revolute", R"("coefficient": 0.1)").find("joint 'J' is revolute and turns"), std::string::npos);
  EXPECT_NE(refusal("cylindrical", R"("coefficient": 0.1)").find("Give \"radius\""), std::string::npos);
  EXPECT_EQ(refusal("revolute", R"("coefficient": 0.1, "radius": 0.02)"), "accepted");
  EXPECT_EQ(refusal("revolute", R"("coefficient": 0, "viscous": 1)"), "accepted");
  EXPECT_EQ(refusal("prismatic", R"("coefficient": 0.1)"), "accepted");
  EXPECT_NE(refusal("prismatic", R"("coefficient": 0.1, "law": "sticky")").find("unknown law 'sticky'"),
            std::string::npos);
  EXPECT_NE(
      refusal("prismatic", R"("coefficient": 0.1, "deflection": 1e-4)").find("belongs to \"law\": \"stick-slip\""),
      std::string::npos);
  EXPECT_NE(refusal("prismatic", R"("coefficient": 0.1, "law": "stick-slip", "smoothing_speed": 1)")
                .find("belongs to \"law\": \"smoothed\""),
            std::string::npos);
  EXPECT_NE(refusal("prismatic", R"("coefficient": 0.3, "law": "stick-slip", "static_coefficient": 0.2)")
                .find("friction at rest must not be smaller"),
            std::string::npos);
}

}  // namespace
