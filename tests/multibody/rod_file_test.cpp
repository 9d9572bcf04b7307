// Rods in model files: what they say, where joints and forces hold them, what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "io/model_file/model_file.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

constexpr const char* steel =
    R"("materials": [{"name": "steel", "young": 210e9, "poisson": 0.3, "density": 7800, "damping_time": 0.02}],
  "sections": [{"name": "round", "material": "steel", "circle": {"radius": 0.01}}])";

io::ModelFile read(const std::string& text) { return io::read_model(io::JsonSource("rod.json", text)); }

run::Report motion_of(const io::ModelFile& file, double t_end, double tolerance) {
  run::Options options;
  options.t_end = t_end;
  options.rtol = options.atol = tolerance;
  run::Observer nobody;
  run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  return report;
}

Vector3 place(const io::ModelFile& file, const run::Report& report, const std::string& body) {
  for (int b = 0; b < file.assembly->body_count(); ++b)
    if (file.assembly->body_name(b) == body) return file.assembly->body_pose(b, report.final.motion.q).x;
  ADD_FAILURE() << "no body " << body;
  return Vector3::Zero();
}

std::string problem_of(const std::string& text) {
  try {
    read(text);
  } catch (const InvalidInput& e) {
    return e.what();
  }
  return "";
}

/// The rubber pendulum of Lang, Linn and Arnold (2011), by converged meshes.
TEST(RodFile, SwingsAsARubberPendulum) {
  const io::ModelFile file = read(R"({"gravity": [0, 0, -9.81],
    "materials": [{"name": "rubber", "young": 5e6, "poisson": 0.5, "density": 1100}],
    "sections": [{"name": "round", "material": "rubber", "circle": {"radius": 0.005}}],
    "rods": [{"name": "rod", "section": "round", "path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": 12}],
    "joints": [{"type": "revolute", "between": ["ground", "rod@start"], "axis": [0, 1, 0]}]})");
  const run::Report report = motion_of(file, 0.25, 1e-6);
  const Vector3 tip = place(file, report, "rod.12");
  EXPECT_NEAR(tip.x(), 0.88516, 1e-3);
  EXPECT_NEAR(tip.z(), -0.30970, 1e-3);
}

/// Timoshenko's cantilever: F L³/3EI + F L/kGA, after the vibration has died out.
TEST(RodFile, BendsAsTimoshenkosCantilever) {
  for (const char* shear : {"flexible", "rigid"}) {
    const io::ModelFile file = read(std::string("{") + steel + R"(,
      "rods": [{"name": "bar", "section": "round", "path": {"line": [[0, 0, 0], [0.1, 0, 0]]}, "elements": 4, "shear": ")" +
                                    shear + R"("}],
      "joints": [{"type": "weld", "between": ["ground", "bar@start"]}],
      "forces": [{"type": "applied", "on": "bar@end", "force": [0, -60, -80]}]})");
    const run::Report report = motion_of(file, 1.0, 1e-9);
    const double E = 210e9, r = 0.01, L = 0.1, I = M_PI * std::pow(r, 4) / 4.0, A = M_PI * r * r, G = E / 2.6;
    const double k = 6.0 * 1.3 / (7.0 + 1.8), F = 100.0;
    const double expected = F * L * L * L / (3.0 * E * I) + (shear[0] == 'f' ? F * L / (k * G * A) : 0.0);
    const Vector3 tip = place(file, report, "bar.4");
    EXPECT_NEAR(-tip.y(), 0.6 * expected, 2e-4 * expected) << shear;
    EXPECT_NEAR(-tip.z(), 0.8 * expected, 2e-4 * expected) << shear;
  }
}

/// A quarter of a circle of radius 2 that is hung at its middle: nodes lie on it, with the mass of its length.
TEST(RodFile, LiesOnAnArc) {
  const io::ModelFile file = read(std::string("{") + steel + R"(,
    "rods": [{"name": "bow", "section": "round", "path": {"arc": [[2, 0, 0], [1.414213562373095, 1.414213562373095, 0], [0, 2, 0]]}, "elements": 10}],
    "joints": [{"type": "spherical", "between": ["ground", "bow@0.5"]}]})");
  const auto& bodies = file.assembly->mechanism().bodies;
  ASSERT_EQ(bodies.size(), 11u);
  double mass = 0.0;
  for (const multibody::Body& body : bodies) {
    EXPECT_NEAR(body.position.norm(), 2.0, 1e-12);
    mass += body.mass;
  }
  EXPECT_NEAR(mass, 7800.0 * M_PI * 1e-4 * M_PI, 1e-9);
  EXPECT_NEAR(bodies[10].position.y(), 2.0, 1e-12);
  system::Residual r(file.assembly->space().nv(), 3, 3);
  system::Motion m(file.assembly->space());
  m.q = file.model.start.q0;
  file.assembly->residual(m, Vector(Vector::Zero(3)), r);
  EXPECT_LT(r.force.norm(), 1e-3);  // free of stress, beside round-off of EA = 6.6e7 N
}

/// EA is that of the section whatever the shape without load: the tension pulls at both ends of a straight rod.
TEST(RodFile, IsUnderTheTensionItIsGiven) {
  for (const char* reference : {"as-drawn", "straight"}) {
    const io::ModelFile file = read(std::string("{") + steel + R"(,
      "rods": [{"name": "wire", "section": "round", "path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": 2, "tension": 50, "reference": ")" +
                                    reference + R"("}]})");
    system::Residual r(file.assembly->space().nv(), 0, 0);
    system::Motion m(file.assembly->space());
    m.q = file.model.start.q0;
    file.assembly->residual(m, Vector(), r);
    EXPECT_NEAR(r.force[0], -50.0, 1e-4) << reference;
    EXPECT_NEAR(r.force[12], 50.0, 1e-4) << reference;
  }
}

TEST(RodFile, SaysWhatIsWrong) {
  const std::string rod =
      R"("rods": [{"name": "bar", "section": "round", "path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": 4}])";
  const auto with = [&](const std::string& rest) { return std::string("{") + steel + ", " + rest + "}"; };
  EXPECT_EQ(problem_of(with(rod)), "");
  const auto says = [&](const std::string& text, const std::string& part) {
    const std::string problem = problem_of(text);
    EXPECT_NE(problem.find(part), std::string::npos) << problem;
  };
  says(with(rod + R"(, "joints": [{"type": "weld", "between": ["ground", "bar@0.3"]}])"),
       "lies between two nodes of 4 equal elements");
  says(with(rod + R"(, "joints": [{"type": "weld", "between": ["ground", "bar@1.2m"]}])"),
       "lies outside the rod of length 1 m");
  says(with(rod + R"(, "joints": [{"type": "weld", "between": ["ground", "bar@middle"]}])"),
       "expected bar@start, bar@end");
  says(with(rod + R"(, "joints": [{"type": "weld", "between": ["ground", "baz@end"]}])"), "bar");
  says(with(R"("rods": [{"name": "bar", "section": "rond", "path": {"line": [[0, 0, 0], [1, 0, 0]]}}])"),
       "unknown section 'rond'");
  says(with(R"("rods": [{"name": "bar", "section": "round", "path": {"line": [[0, 0, 0], [0, 0, 0]]}}])"),
       "same point");
  says(with(R"("rods": [{"name": "bar", "section": "round", "path": {"arc": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}}])"),
       "on a line");
  says(
      with(
          R"("rods": [{"name": "bar", "section": "round", "up": [1, 0, 0], "path": {"line": [[0, 0, 0], [1, 0, 0]]}}])"),
      "parallel");
  says(
      R"({"materials": [{"name": "m", "young": 1, "density": 1}], "sections": [{"name": "s", "material": "m", "circle": {"radius": 1, "inner_radius": 2}}], "rods": []})",
      "smaller than the radius");
  says(
      R"({"sections": [{"name": "s", "stiffness": [1, 1, 1, 1, 1, -1], "mass_per_length": 1, "inertia_per_length": [1, 1, 1]}], "rods": []})",
      "not positive definite");
}

}  // namespace
