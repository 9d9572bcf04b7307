// Cables without bending stiffness: derivatives, the catenary, and a load that falls into them.
#include "multibody/cable.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/analysis.hpp"
#include "kreisel/check.hpp"
#include "multibody/model_runs.hpp"
#include "multibody/samples.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::multibody;

TEST(Cable, HasExactTangentsOnEveryGroup) {
  samples::Source source;
  int taut = 0;
  for (int mixture = 0; mixture < 4; ++mixture)
    for (const double damping : {0.0, 0.05}) {
      multibody::Mechanism mechanism;
      for (int i = 0; i < 2; ++i) {
        multibody::Body body = samples::random_body(source, "body " + std::to_string(i));
        body.group = (mixture >> i) % 2 == 0 ? lie::GroupId::se3 : lie::GroupId::r3xso3;
        mechanism.bodies.push_back(body);
      }
      mechanism.elements.push_back(std::make_shared<Cable>("free", 0, samples::random_point(source), 1,
                                                           samples::random_point(source), 0.4, 30.0, damping));
      mechanism.elements.push_back(std::make_shared<Cable>("held", ground, samples::random_point(source), 1,
                                                           samples::random_point(source), 0.4, 30.0, damping));
      const Assembly assembly(std::move(mechanism));
      for (int trial = 0; trial < 4; ++trial) {
        const system::Motion m = samples::random_motion(source, assembly.space(), trial);
        taut += assembly.energy_parts(m).elastic > 0.0;
        for (const system::AuditFinding& finding : system::audit(assembly, m, Vector()))
          EXPECT_TRUE(finding.ok()) << finding.what << ": error " << finding.error << ", tolerance "
                                    << finding.tolerance;
      }
    }
  EXPECT_GT(taut, 10);
}

/// A stiff one hangs in the catenary, with order 2 in the length of its elements; tension is w times the height above the directrix.
TEST(Cable, HangsInACatenary) {
  double a = 0.4;
  for (int i = 0; i < 50; ++i)
    a -= (2.0 * a * std::sinh(0.5 / a) - 1.4) / (2.0 * std::sinh(0.5 / a) - std::cosh(0.5 / a) / a);
  double previous = 0.0;
  for (const int n : {16, 32}) {
    io::RunSpec spec = test::spec_of(fmt::format(
        R"({{"gravity": [0, 0, -10],
        "sections": [{{"name": "s", "stiffness": [1e8, 0, 0, 0, 0, 0], "mass_per_length": 2, "inertia_per_length": [1e-4, 1e-4, 1e-4]}}],
        "rods": [{{"name": "rope", "section": "s", "bending": "none", "reference": "straight", "elements": {},
                   "path": {{"catenary": {{"from": [0, 0, 0], "to": [1, 0, 0], "length": 1.4}}}}}}],
        "joints": [{{"type": "spherical", "between": ["ground", "rope@start"]}}, {{"type": "spherical", "between": ["ground", "rope@end"]}}],
        "outputs": {{"low": {{"position": "rope@0.5"}}}}}})",
        n));
    spec.set("start", std::string("static")).set("t_end", 1.0);
    test::Ran rope{io::prepare(spec), {}};
    rope.report.final.motion = system::Motion(rope.prepared.model.system->space());
    rope.report.final.motion.q = rope.prepared.model.start.q0;
    rope.report.final.lambda = Vector::Zero(rope.prepared.model.system->pattern().rows());
    const double error = rope["low.z"] - (a - a * std::cosh(0.5 / a));
    EXPECT_NEAR(rope["rope@start.N"], 20.0 * a * std::cosh(0.5 / a), 20.0 / n) << n;
    if (n == 32) {
      EXPECT_NEAR(std::log2(previous / error), 2.0, 0.1);
      EXPECT_NEAR(error + (error - previous) / 3.0, 0.0, 1e-6);
    }
    previous = error;
  }
}

/// A load on a stretched cable of negligible mass: it is thrown up, flies while the cable is slack, and is caught again. With y above the
/// place where the cable is just taut: a vibration until y = 0, then v t - g t²/2, then the vibration again.
TEST(Cable, IsSlackWhileALoadFlies) {
  const double g = 9.81, EA = 1000.0, tension = 100.0, L = 1.0 / (1.0 + tension / EA), k = EA / L, m = 2.0,
               w = std::sqrt(k / m), rest = -m * g / k, amplitude = (1.0 - L) + rest;
  const double rise = std::acos(rest / amplitude) / w,
               v = amplitude * w * std::sin(w * rise);  // y = rest - amplitude cos(w t)
  const io::RunSpec spec = test::spec_of(
      R"({"gravity": [0, 0, -9.81],
        "sections": [{"name": "s", "stiffness": [1000, 0, 0, 0, 0, 0], "mass_per_length": 1e-6, "inertia_per_length": [1e-9, 1e-9, 1e-9]}],
        "bodies": [{"name": "load", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
        "rods": [{"name": "rope", "section": "s", "bending": "none", "elements": 1, "tension": 100, "path": {"line": [[0, 0, 0], [0, 0, 1]]}}],
        "joints": [{"type": "spherical", "between": ["load", "rope@start"]}, {"type": "spherical", "between": ["ground", "rope@end"]}],
        "outputs": {"load_at": {"position": "load"}}})");
  const double taut = 1.0 - L, flight = 2.0 * v / g;
  ASSERT_GT(v, 0.5);
  EXPECT_NEAR(test::ran(spec, rise + 0.3 * flight, 1e-8)["load_at.z"] - taut,
              v * 0.3 * flight - 0.5 * g * std::pow(0.3 * flight, 2), 1e-5);
  const test::Ran caught = test::ran(spec, rise + flight + 0.05, 1e-8);
  EXPECT_NEAR(caught["load_at.z"] - taut, -v / w * std::sin(w * 0.05) - g / (w * w) * (1.0 - std::cos(w * 0.05)), 1e-5);
  EXPECT_GT(caught["rope@start.N"], 0.0);
}

}  // namespace
