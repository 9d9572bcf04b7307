// Published problems of flexible rods, written as model files: statics against shooting on the continuous equations, motions
// against converged meshes and other codes.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "lie/se3.hpp"
#include "multibody/beam.hpp"
#include "multibody/model_runs.hpp"
#include "multibody/rod.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;
using test::Ran;
using test::spec_of;

constexpr const char* clamped_start = R"("joints": [{"type": "fixed", "between": ["ground", "rod@start"]}])";
constexpr const char* tip_output = R"("outputs": {"tip": {"position": "rod@end"}})";

std::string section(const std::string& stiffness, const std::string& mass = "1",
                    const std::string& inertia = "[1, 1, 1]") {
  return R"("sections": [{"name": "s", "stiffness": )" + stiffness + R"(, "mass_per_length": )" + mass +
         R"(, "inertia_per_length": )" + inertia + "}]";
}
std::string rod(const std::string& path, int elements, const std::string& rest = {}) {
  return R"("rods": [{"name": "rod", "section": "s", "path": {)" + path + R"(}, "elements": )" +
         std::to_string(elements) + rest + "}]";
}
std::string tip_load(const std::string& load) {
  return R"("forces": [{"type": "applied", "on": "rod@end", )" + load + "}]";
}
template <class... Parts>
std::string model(const Parts&... parts) {
  std::string text;
  ((text += (text.empty() ? "{" : ", ") + std::string(parts)), ...);
  return text + "}";
}

/// The equilibrium of a model.
Ran at_rest(const std::string& text, const std::string& group = {}) {
  io::RunSpec spec = spec_of(text);
  spec.group = group;
  spec.set("start", std::string("static")).set("t_end", 1.0);
  Ran out{io::prepare(spec), {}};
  out.report.final.motion = system::Motion(out.prepared.model.system->space());
  out.report.final.motion.q = out.prepared.model.start.q0;
  out.report.final.lambda = Vector::Zero(out.prepared.model.system->pattern().rows());
  return out;
}
Vector3 point(const Ran& of, const std::string& output) {
  return {of[output + ".x"], of[output + ".y"], of[output + ".z"]};
}

void expect_near(const Vector3& found, const Vector3& expected, double tolerance) {
  EXPECT_LT((found - expected).lpNorm<Eigen::Infinity>(), tolerance)
      << "found " << found.transpose() << ", expected " << expected.transpose();
}

/// A moment 2πEI/L makes a circle, (τGJ, 0, κEI) a helix: exact on coarse meshes, on both groups.
TEST(RodBenchmark, EndMomentsRollUpExactly) {
  const std::string elastic = section("[1e4, 1e4, 1e4, 500, 500, 500]");
  for (const char* group : {"se3", "r3xso3"})
    expect_near(point(at_rest(model(elastic, rod(R"("line": [[0, 0, 0], [10, 0, 0]])", 3), clamped_start, tip_output,
                                    tip_load(R"("frame": "body", "torque": [0, 0, 314.1592653589793])")),
                              group),
                      "tip"),
                Vector3::Zero(), 1e-9);
  lie::SE3::Tangent strain;
  strain << 1.0, 0.0, 0.0, 0.3, 0.0, 0.8;
  const Vector3 tip = lie::SE3::exp(10.0 * strain).head<3>();
  expect_near(point(at_rest(model(elastic, rod(R"("line": [[0, 0, 0], [10, 0, 0]])", 12), clamped_start, tip_output,
                                  tip_load(R"("frame": "body", "torque": [150, 0, 400])"))),
                    "tip"),
              tip, 1e-9);
}

/// (Bathe and Bolourchi 1979), with the arc by its axis; 8 elements of order 4 are right to 6.5e-4 of 60, 16 to 4.1e-5.
TEST(RodBenchmark, BowOfFortyFiveDegrees) {
  const auto bow = [](const char* shear, const char* torsion, double force, int n) {
    const std::string K =
        std::string("[1e7, ") + shear + ", " + shear + ", " + torsion + ", 833333.3333333334, 833333.3333333334]";
    const Vector3 tip =
        point(at_rest(model(
                  section(K),
                  rod(R"("arc": {"from": [0, 0, 0], "centre": [0, 100, 0], "axis": [0, 0, 1], "angle_deg": 45})", n),
                  clamped_start, tip_output, tip_load("\"force\": [0, 0, " + std::to_string(force) + "]"))),
              "tip");
    return Vector3(tip - 100.0 * Vector3(std::sqrt(0.5), 1.0 - std::sqrt(0.5), 0.0));
  };
  const char *shear = "4166666.6666666667", *torsion = "833333.3333333334";
  expect_near(bow(shear, torsion, 600, 8), {-23.5605818783, -13.6046324024, 53.4754779982}, 8e-4);
  expect_near(bow(shear, torsion, 600, 32), {-23.5605818783, -13.6046324024, 53.4754779982}, 3e-6);
  expect_near(bow(shear, "703000", 600, 32), {-23.818828, -13.731507, 53.607850}, 3e-6);
  expect_near(bow(shear, torsion, 450, 32), {-18.472416, -10.781257, 48.503492}, 1e-5);
  expect_near(bow(shear, torsion, 300, 32), {-11.931781, -7.044642, 40.192392}, 1e-5);
  expect_near(bow("5e6", torsion, 600, 32), {-23.560240, -13.604521, 53.474859}, 1e-5);
}

TEST(RodBenchmark, TwistedAndCompositeBeams) {
  expect_near(point(at_rest(model(section("[2.5e10, 8.2604167e9, 8.2604167e9, 1.41872656e8, 5.20833e8, 1.30208333e8]"),
                                  rod(R"("line": [[0, 0, 0], [10, 0, 0]], "twist_deg": 90)", 32), clamped_start,
                                  tip_output, tip_load(R"("force": [0, 0, -4e6])"))),
                    "tip"),
              {10.0 - 1.14152599954, -1.71805334646, -3.59321324027}, 1e-5);
  const std::string K =
      "[[1368170, 0, 0, 0, 0, 0], [0, 88560, 0, 0, 0, 0], [0, 0, 38780, 0, 0, 0], [0, 0, 0, 16960, 17610, -351],"
      " [0, 0, 0, 17610, 59120, -370], [0, 0, 0, -351, -370, 141470]]";
  const Ran composite =
      at_rest(model(section(K), rod(R"("line": [[0, 0, 0], [10, 0, 0]])", 16, R"(, "report": [0, 1])"), clamped_start,
                    tip_output, tip_load(R"("force": [0, 0, 150])")));
  expect_near(point(composite, "tip"), {10.0 - 0.0902726627566, -0.0647488486259, 1.22973648292}, 2e-7);
  // Section forces balance the load exactly: at the root about the fixed axes, at the tip in turned ones.
  EXPECT_NEAR(composite["rod@start.Qz"], 150.0, 1e-6);
  EXPECT_NEAR(composite["rod@start.My"], -150.0 * composite["tip.x"], 1e-5);
  EXPECT_NEAR(composite["rod@start.T"], 150.0 * composite["tip.y"], 1e-5);
  EXPECT_NEAR(std::hypot(composite["rod@end.N"], composite["rod@end.Qy"], composite["rod@end.Qz"]), 150.0, 1e-6);
}

/// A chain without bending stiffness to speak of hangs in a catenary; one that does not stretch keeps its length.
TEST(RodBenchmark, HangsInACatenary) {
  const std::string text =
      model(R"("gravity": [0, 0, -10])", section("[0, 0, 0, 1e-3, 1e-3, 1e-3]", "1", "[1e-4, 1e-4, 1e-4]"),
            rod(R"("catenary": {"from": [0, 0, 0], "to": [1, 0, 0], "length": 1.4})", 40,
                R"(, "reference": "straight", "axial": "rigid", "shear": "rigid", "report": [])"),
            R"("joints": [{"type": "revolute", "between": ["ground", "rod@start"], "axis": [0, 1, 0]},
                    {"type": "spherical", "between": ["ground", "rod@end"]}], "outputs": {"low": {"position": "rod@0.5"}})");
  double a = 0.4;
  for (int i = 0; i < 50; ++i)
    a -= (2.0 * a * std::sinh(0.5 / a) - 1.4) / (2.0 * std::sinh(0.5 / a) - std::cosh(0.5 / a) / a);
  const Ran chain = at_rest(text);
  EXPECT_NEAR(chain["low.z"], a - a * std::cosh(0.5 / a), 1e-3);
  EXPECT_NEAR(chain["low.x"], 0.5, 1e-6);
}

/// (Simo and Vu-Quoc 1988): free flight under a force and a moment at one end; momentum is that of the load, energy and angular
/// momentum stay after it has gone. Rotary inertia is unphysically large here: order 2, extrapolated from 16 and 32 elements.
TEST(RodBenchmark, FlyingBeam) {
  const auto flight = [](int n) {
    const auto load = [](double factor) {
      return R"({"table": [[0, 0], [2.5, )" + std::to_string(200.0 * factor) +
             R"(], [5, 0]], "interpolation": "linear"})";
    };
    return test::ran(
        spec_of(model(
            section("[1e4, 1e4, 1e4, 500, 500, 500]", "1", "[20, 10, 10]"), rod(R"("line": [[6, 0, 0], [0, 8, 0]])", n),
            R"("forces": [{"type": "applied", "on": "rod@start", "force": [)" + load(0.1) +
                R"(, 0, 0], "torque": [0, )" + load(0.5) + ", " + load(-1.0) + "]}]",
            R"("outputs": {"A": {"position": "rod@start"}, "B": {"position": "rod@end"}, "E": {"energy": "total"}})")),
        10.0, 1e-6);
  };
  const Ran coarse = flight(16), fine = flight(32);
  const auto extrapolated = [&](const std::string& name) {
    return Vector3(point(fine, name) + (point(fine, name) - point(coarse, name)) / 3.0);
  };
  expect_near(extrapolated("A"), {42.832128, 3.692676, 4.386272}, 3e-3);
  expect_near(extrapolated("B"), {38.312146, 5.198163, -4.251544}, 3e-3);
  const auto& assembly = dynamic_cast<const multibody::Assembly&>(*fine.prepared.model.system);
  Vector3 momentum = Vector3::Zero(), spin = Vector3::Zero(), centre = Vector3::Zero();
  const system::Motion& m = fine.report.final.motion;
  for (int b = 0; b < assembly.body_count(); ++b) {
    const multibody::Body& body = assembly.mechanism().bodies[b];
    const system::Pose pose = assembly.body_pose(b, m.q);
    const Vector3 u = pose.R * m.v.segment<3>(6 * b), w = m.v.segment<3>(6 * b + 3);
    momentum += body.mass * u;
    centre += body.mass * pose.x / 10.0;
    spin += pose.x.cross(body.mass * u) + pose.R * (body.inertia * w);
  }
  expect_near(momentum, {50.0, 0.0, 0.0}, 1e-3);
  expect_near(centre, {40.5, 4.0, 0.0}, 1e-3);
  EXPECT_NEAR(spin.x(), 0.0, 2e-2);
  EXPECT_NEAR(fine["E"], 724.4, 0.6);
}

/// The same with the data of Hante and Arnold (crmS3R3): other inertia, another moment; with shear and extension, and without shear.
TEST(RodBenchmark, FlyingBeamOfHante) {
  const auto flight = [](int n, const char* rest) {
    const auto load = [](double factor) {
      return R"({"table": [[0, 0], [2.5, )" + std::to_string(200.0 * factor) +
             R"(], [5, 0]], "interpolation": "linear"})";
    };
    return test::ran(spec_of(model(section("[1e4, 1e4, 1e4, 500, 500, 500]", "1", "[10, 10, 10]"),
                                   rod(R"("line": [[6, 0, 0], [0, 8, 0]])", n, rest),
                                   R"("forces": [{"type": "applied", "on": "rod@start", "force": [)" + load(0.1) +
                                       R"(, 0, 0], "torque": [0, )" + load(-0.5) + ", " + load(-1.0) + "]}]",
                                   R"("outputs": {"A": {"position": "rod@start"}, "B": {"position": "rod@end"}})")),
                     10.0, 1e-6);
  };
  const Ran coarse = flight(16, ""), fine = flight(32, "");
  const auto extrapolated = [](const Ran& a, const Ran& b, const std::string& name) {
    return Vector3(point(b, name) + (point(b, name) - point(a, name)) / 3.0);
  };
  expect_near(extrapolated(coarse, fine, "A"), {44.402368, 1.669054, -2.065284}, 3e-3);
  expect_near(extrapolated(coarse, fine, "B"), {36.408960, 6.335442, 1.679003}, 3e-3);
}

/// (Simo and Vu-Quoc 1988): two legs with a rigid corner, pushed out of their plane for 2 s. Extrapolated from 32 and 64 elements; those
/// under constant strain on R3xSO3 with generalized-alpha and constant steps agree to 5e-6.
TEST(RodBenchmark, RightAngleFrame) {
  const auto swing = [](int n) {
    const test::Ran ran = test::ran(
        spec_of(model(section("[1e6, 1e6, 1e6, 1e3, 1e3, 1e3]", "1", "[20, 10, 10]"),
                      rod(R"("polyline": [[0, 0, 0], [0, 10, 0], [10, 10, 0]], "corners": "rigid")", n), clamped_start,
                      R"("forces": [{"type": "applied", "on": "rod@0.5",
                          "force": [0, 0, {"table": [[0, 0], [1, 50], [2, 0]], "interpolation": "linear"}]}],
                         "outputs": {"elbow": {"position": "rod@0.5"}, "tip": {"position": "rod@end"}})")),
        4.0, 1e-6);
    EXPECT_LT(ran.report.energy_error, 1e-5);
    EXPECT_GT(ran.report.energy_final, 100.0);
    return std::pair(point(ran, "elbow"), point(ran, "tip"));
  };
  const auto [coarse_elbow, coarse_tip] = swing(16);
  const auto [elbow, tip] = swing(32);
  expect_near(elbow + (elbow - coarse_elbow) / 3.0, {-0.427668, 8.435612, 4.642085}, 5e-4);
  expect_near(tip + (tip - coarse_tip) / 3.0, {9.293753, 10.441943, 3.508929}, 5e-4);
}

/// (Bauchau et al. 2016), IFToMM, without damping: MBDyn with 42 segments has -0.034552 at t = 0.15, converged meshes of
/// elements of order 4 -0.03456.
TEST(RodBenchmark, LateralBuckling) {
  EXPECT_NEAR(test::ran(test::shipped("lateral-buckling"), 0.125, 1e-6)["middle.y"], -6.061e-4, 2e-6);
  EXPECT_NEAR(test::ran(test::shipped("lateral-buckling"), 0.15, 1e-6)["middle.y"], -0.03456, 6e-5);
}

/// (Simo and Vu-Quoc 1987), seen from the hub, with the mesh and tolerance of the example.
TEST(RodBenchmark, RotorSpinUp) {
  for (const auto& [t, deflection] : {std::pair{5.0, -0.46848}, std::pair{7.0, -0.57132}, std::pair{15.0, 0.00132}})
    EXPECT_NEAR(test::ran(test::shipped("rotor-spin-up"), t, 1e-5)["tip.y"], deflection, 1e-3) << t;
}

/// The model of that name with another mesh.
io::RunSpec meshed(const std::string& file, int elements) {
  std::ifstream text(support::in_sources("models/" + file));
  io::Json json = io::Json::parse(text);
  json["rods"][0]["elements"] = elements;
  return spec_of(json.dump());
}

/// (Lang, Linn and Arnold 2011), against one spectral element of degree 24 with Radau IIA of scipy: (0.885161, -0.309616) at t = 0.25,
/// (-0.916132, -0.372772) at 0.75. 16 elements, as in the example, follow the bends that run along the rod to 1.3e-3 by then.
TEST(RodBenchmark, RubberPendulum) {
  const Ran fine = test::ran(meshed("rubber_pendulum.json", 32), 0.25, 1e-6);
  expect_near(point(fine, "tip"), {0.885161, 0.0, -0.309616}, 1e-5);
  const Ran swing = test::ran(test::shipped("rubber-pendulum"), 0.75, 1e-6);
  expect_near(point(swing, "tip"), {-0.916132, 0.0, -0.372772}, 1.5e-3);
}

/// (Bauchau et al. 2016), IFToMM: MBDyn has 0.33452, 0.07375, -0.00405 at t = 3. Times count from the middle of the smooth start.
TEST(RodBenchmark, FourBarWithAMisalignedHinge) {
  const Ran early = test::ran(test::shipped("flexible-four-bar"), 1.5, 1e-6);
  expect_near(point(early, "C_position"), {0.3077373, 0.0990218, -0.0020438}, 1e-6);
  const Ran late = test::ran(test::shipped("flexible-four-bar"), 3.5, 1e-6);
  expect_near(point(late, "C_position"), {0.3345270, 0.0737444, -0.0040529}, 1e-5);
}

/// (Bauchau et al. 2016), IFToMM: MBDyn has (0.07599, 0.02918) at t = 0.5. The sag at rest by Timoshenko's theory, clamped against bending
/// at both ends: w L⁴/(384 EI) + P L³/(192 EI) + (w L²/8 + P L/4)/GA. What 8 elements miss is the weight between their nodes.
TEST(RodBenchmark, RotatingShaft) {
  const double w = 11.64 * 9.81, P = 70.573 * 9.81, L = 6.0, EI = 354.5e3, GA = 60.5e6;
  const double sag =
      w * std::pow(L, 4) / (384.0 * EI) + P * std::pow(L, 3) / (192.0 * EI) + (w * L * L / 8.0 + P * L / 4.0) / GA;
  const auto sag_of = [](int n) {
    io::RunSpec spec = meshed("rotating_shaft.json", n);
    spec.set("t_end", 1.0);
    Ran out{io::prepare(spec), {}};
    out.report.final.motion = system::Motion(out.prepared.model.system->space());
    out.report.final.motion.q = out.prepared.model.start.q0;
    out.report.final.lambda = Vector::Zero(out.prepared.model.system->pattern().rows());
    return -out["middle.z"];
  };
  EXPECT_NEAR(sag_of(8), sag, 4e-6);
  EXPECT_NEAR(sag_of(32), sag, 2e-8);
  const Ran fast = test::ran(test::shipped("rotating-shaft"), 0.5, 1e-6);
  EXPECT_NEAR(fast["middle.y"], 0.07593, 5e-4);
  EXPECT_NEAR(fast["middle.z"], 0.02921, 5e-4);
}

}  // namespace
