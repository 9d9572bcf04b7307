// Rods in model files: what they say, where joints and forces hold them, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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

/// A bar that hangs from one end, and one that stands on it, under weight and a line load p: N = W(z) + p z of what lies beyond.
TEST(RodFile, SectionForcesBalanceWeightAndLineLoads) {
  for (const int elements : {1, 2, 5, 8})
    for (const char* group : {"r3xso3", "se3"})
      for (const bool hangs_from_end : {false, true}) {
        SCOPED_TRACE(std::to_string(elements) + group + (hangs_from_end ? " from its end" : ""));
        const io::ModelFile file =
            read(std::string("{ \"group\": \"") + group + "\", \"gravity\": [0, 0, -9.81], " + steel + R"(,
          "rods": [{"name": "bar", "section": "round", "path": {"line": )" +
                 (hangs_from_end ? "[[0, 0, -1], [0, 0, 0]]" : "[[0, 0, 0], [0, 0, -1]]") + R"(}, "elements": )" +
                 std::to_string(elements) + R"(, "report_all": true}],
          "forces": [{"type": "line-load", "on": "bar", "force": [0, 0, -7]}],
          "joints": [{"type": "weld", "between": ["ground", ")" +
                 (hangs_from_end ? "bar@end" : "bar@start") + R"("]}]})");
        const run::Report report = motion_of(file, 4.0, 1e-10);
        const double weight = 7800.0 * M_PI * 1e-4 * 9.81 + 7.0;
        Vector values(file.assembly->output_size());
        file.assembly->evaluate_outputs(report.final.motion, report.final.lambda, values);
        Eigen::Index i = 0;
        int node = 0;
        for (const system::OutputInfo& info : file.assembly->outputs()) {
          if (info.size() == 6 && info.name.starts_with("bar@")) {
            // Where they are reported first: both ends, then the rest.
            const double s = info.name == "bar@start" ? 0.0
                             : info.name == "bar@end" ? 1.0
                                                      : std::stod(info.name.substr(4));
            EXPECT_NEAR(values[i], weight * (hangs_from_end ? s : 1.0 - s), 1e-6 * weight) << info.name;
            ++node;
          }
          i += info.size();
        }
        EXPECT_EQ(node, elements + 1);
      }
}

/// A blade that turns about one end at constant speed: N = ρA ω² (L² - s²)/2, of second order in the elements inside.
TEST(RodFile, SectionForcesBalanceInertia) {
  const double w = 40.0;
  const auto pulls = [&](int elements) {
    const io::ModelFile file = read(std::string("{ \"gravity\": [0, 0, 0], ") + steel + R"(,
      "rods": [{"name": "bar", "section": "round", "path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": )" +
                                    std::to_string(elements) + R"(, "report": [0, 0.5, 1],
        "angular_velocity": [0, 0, 40]}],
      "joints": [{"name": "hub", "type": "revolute", "between": ["ground", "bar@start"], "axis": [0, 0, 1]}],
      "drivers": [{"type": "angle", "between": ["ground", "bar@start"], "axis": [0, 0, 1], "value": "40*t"}]})");
    const run::Report report = motion_of(file, 1.0, 1e-8);
    Vector values(file.assembly->output_size());
    file.assembly->evaluate_outputs(report.final.motion, report.final.lambda, values);
    return std::array{values[0], values[6], values[12]};
  };
  const double whole = 7800.0 * M_PI * 1e-4 * w * w / 2.0;
  for (const int elements : {4, 8}) {
    const auto n = pulls(elements);
    EXPECT_NEAR(n[0], whole, 1e-4 * whole);
    EXPECT_NEAR(n[1], 0.75 * whole, 0.2 * std::pow(elements, -2) * whole) << "h²/12 of the slope of the load: 1/(6 n²)";
    EXPECT_NEAR(n[2], 0.0, 1e-6 * whole);
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

std::vector<Vector3> nodes_of(const io::ModelFile& file) {
  std::vector<Vector3> nodes;
  for (const multibody::Body& body : file.assembly->mechanism().bodies) nodes.push_back(body.position);
  return nodes;
}

/// Largest force at rest where the rod is drawn: none, it is free of stress there.
double force_as_drawn(const io::ModelFile& file) {
  const int rows = file.assembly->pattern().rows();
  system::Residual r(file.assembly->space().nv(), file.assembly->pattern().position_rows(), rows);
  system::Motion m(file.assembly->space());
  m.q = file.model.start.q0;
  file.assembly->residual(m, Vector(Vector::Zero(rows)), r);
  return r.force.lpNorm<Eigen::Infinity>();
}

std::string soft_rod(const std::string& path, const std::string& rest = {}) {
  return R"({"sections": [{"name": "s", "stiffness": [100, 100, 100, 1, 1, 1], "mass_per_length": 1, "inertia_per_length": [1, 1, 1]}],
    "rods": [{"name": "rod", "section": "s", "path": {)" +
         path + "}" + rest + "}]}";
}

TEST(RodFile, LiesOnEveryPath) {
  // A circle by its axis, a helix by both ends of its screw motion.
  const auto circle =
      read(soft_rod(R"("arc": {"from": [2, 0, 0], "centre": [0, 0, 5], "axis": [0, 0, 1], "angle_deg": 270})",
                    R"(, "elements": 12)"));
  EXPECT_LT((nodes_of(circle)[12] - Vector3(0, -2, 0)).norm(), 1e-13);
  EXPECT_LT((nodes_of(circle)[4] - Vector3(0, 2, 0)).norm(), 1e-13);
  const auto helix = read(
      soft_rod(R"("helix": {"from": [10, 0, 0], "centre": [0, 0, 0], "axis": [0, 0, 1], "height": 50, "turns": -1.25})",
               R"(, "elements": 10)"));
  EXPECT_LT((nodes_of(helix)[8] - Vector3(10, 0, 40)).norm(), 1e-12);
  EXPECT_LT((nodes_of(helix)[10] - Vector3(0, -10, 50)).norm(), 1e-12);
  // A right angle whose legs meet in one node, and the same with a quarter of a circle.
  const auto bent = read(soft_rod(R"("polyline": [[0, 0, 0], [1, 0, 0], [1, 2, 0]])", R"(, "elements": 6)"));
  ASSERT_EQ(nodes_of(bent).size(), 7u);
  EXPECT_LT((nodes_of(bent)[2] - Vector3(1, 0, 0)).norm(), 1e-14);
  const auto round = read(soft_rod(
      R"("polyline": [[0, 0, 0], [1, 0, 0], [1, 2, 0]], "corners": "round", "radius": 0.5)", R"(, "elements": 6)"));
  double mass = 0.0;
  for (const multibody::Body& body : round.assembly->mechanism().bodies) mass += body.mass;
  EXPECT_NEAR(mass, 0.5 + 1.5 + 0.25 * M_PI, 1e-12);
  // A spline goes through its points; the one through points of a line is the line.
  const auto line = read(soft_rod(R"("spline": [[0, 0, 0], [1, 1, 0], [3, 3, 0]])", R"(, "elements": 6)"));
  for (int i = 0; i <= 6; ++i) EXPECT_LT((nodes_of(line)[i] - Vector3(0.5 * i, 0.5 * i, 0)).norm(), 1e-12);
  // 1.4 m of chain between points 1 m apart: a = 0.34199..., by y = a cosh(x/a) and L = 2a sinh(1/2a).
  const auto chain = read(
      R"({"gravity": [0, 0, -9.81], )" +
      soft_rod(R"("catenary": {"from": [0, 0, 2], "to": [1, 0, 2], "length": 1.4})", R"(, "elements": 8)").substr(1));
  double a = 0.4;
  for (int i = 0; i < 50; ++i)
    a -= (2.0 * a * std::sinh(0.5 / a) - 1.4) / (2.0 * std::sinh(0.5 / a) - std::cosh(0.5 / a) / a);
  EXPECT_NEAR(nodes_of(chain)[4].z(), 2.0 + a - a * std::cosh(0.5 / a), 1e-12);
  EXPECT_LT((nodes_of(chain)[8] - Vector3(1, 0, 2)).norm(), 1e-12);
  for (const auto* file : {&circle, &helix, &bent, &round, &line}) EXPECT_LT(force_as_drawn(*file), 1e-9);
  // Sections turn evenly along a twisted line.
  const auto twisted = read(soft_rod(R"("line": [[0, 0, 0], [3, 0, 0]], "twist_deg": 90)", R"(, "elements": 3)"));
  EXPECT_NEAR(twisted.assembly->mechanism().bodies[1].rotation(1, 1), std::cos(M_PI / 6.0), 1e-14);
  EXPECT_NEAR(twisted.assembly->mechanism().bodies[3].rotation(2, 1), 1.0, 1e-14);
}

/// Where joints, forces, outputs and loads ask for one, and nowhere twice.
TEST(RodFile, HasNodesWhereTheyAreAskedFor) {
  const io::ModelFile file = read(std::string("{") + steel + R"(,
    "rods": [{"name": "bar", "section": "round", "path": {"line": [[0, 0, 0], [2, 0, 0]]}, "elements": 4, "report": [0.25]}],
    "joints": [{"type": "spherical", "between": ["ground", "bar@0.3"]}],
    "outputs": {"there": {"position": "bar@1.2m"}},
    "forces": [{"type": "line-load", "on": "bar", "from": 0.3, "to": 0.9, "force": [0, 0, -10]}]})");
  std::vector<double> x;
  double mass = 0.0, first = 0.0;
  for (const multibody::Body& body : file.assembly->mechanism().bodies) {
    x.push_back(body.position.x());
    mass += body.mass;
    first += body.mass * body.position.x();
  }
  for (const double place : {0.5, 0.6, 1.2, 1.8})
    EXPECT_TRUE(std::ranges::any_of(x, [&](double s) { return std::abs(s - place) < 1e-12; })) << place;
  for (std::size_t i = 1; i < x.size(); ++i) EXPECT_GT(x[i] - x[i - 1], 0.05);
  EXPECT_NEAR(mass, 2.0 * 7800.0 * M_PI * 1e-4, 1e-9);
  EXPECT_NEAR(first, mass, 1e-9);
  // The load adds up to 10 N/m times 1.2 m, with its centre at 1.2 m.
  system::Motion m(file.assembly->space());
  m.q = file.model.start.q0;
  system::Residual r(file.assembly->space().nv(), 3, 3);
  file.assembly->residual(m, Vector(Vector::Zero(3)), r);
  double sum = 0.0, moment = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += r.force[6 * i + 2], moment += r.force[6 * i + 2] * x[i];
  EXPECT_NEAR(sum, 12.0, 1e-9);
  EXPECT_NEAR(moment, 12.0 * 1.2, 1e-9);
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
  const auto rod_with = [&](const std::string& rest) {
    return with(R"("rods": [{"name": "bar", "section": "round", )" + rest + "}]");
  };
  says(rod_with(R"("path": {"polyline": [[0, 0, 0], [1, 0, 0], [1, 0, 0]]})"), "twice in a row");
  says(rod_with(R"("path": {"polyline": [[0, 0, 0], [1, 0, 0], [0, 0, 0]]})"), "turns back");
  says(rod_with(R"("path": {"polyline": [[0, 0, 0], [1, 0, 0], [1, 1, 0]], "corners": "round"})"), "no \"radius\"");
  says(rod_with(R"("path": {"polyline": [[0, 0, 0], [1, 0, 0], [1, 1, 0]], "corners": "round", "radius": 2})"),
       "no room");
  says(rod_with(R"("path": {"catenary": {"from": [0, 0, 0], "to": [2, 0, 0], "length": 1}})"),
       "shorter than the distance");
  says(rod_with(R"("path": {"catenary": {"from": [0, 0, 0], "to": [0, 0, 1], "length": 2}})"), "one above the other");
  says(
      rod_with(
          R"("path": {"helix": {"from": [0, 0, 0], "centre": [0, 0, 0], "axis": [0, 0, 1], "height": 1, "turns": 1}})"),
      "radius would be zero");
  says(rod_with(R"("path": {"line": [[0, 0, 0], [1, 0, 0]], "spline": [[0, 0, 0], [1, 0, 0]]})"), "has both");
  says(rod_with(R"("path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": 3, "element_length": 0.1)"), "one of them");
  says(rod_with(R"("path": {"arc": [[1, 0, 0], [-1, 0, 0], [0, -1, 0]]}, "elements": 1)"), "use more elements");
  says(rod_with(R"("path": {"line": [[0, 0, 0], [1, 0, 0]]}, "axial": "rigid", "tension": 5)"),
       "follows from its loads");
  says(rod_with(R"("path": {"line": [[0, 0, 0], [1, 0, 0]]}, "report": [1.5])"), "0 to 1");
  says(
      R"({"materials": [{"name": "m", "young": 1, "density": 1, "damping_time": 1, "damping_ratio": 0.1, "at_frequency": 3}], "sections": [], "rods": []})",
      "give one of them");
  says(R"({"materials": [{"name": "m", "young": 1, "density": 1, "poisson": 0.7}], "sections": [], "rods": []})",
       "0.5");
  says(
      R"({"sections": [{"name": "s", "stiffness": [[1,0,0,0,0,0],[0,1,0,0,0,0],[0,0,1,0,0,0],[0,0,0,1,2,0],[0,0,0,2,1,0],[0,0,0,0,0,1]], "mass_per_length": 1, "inertia_per_length": [1, 1, 1]}], "rods": []})",
      "smallest eigenvalue");
  says(
      R"({"sections": [{"name": "s", "stiffness": [1, 0, 0, 1, 1, 1], "mass_per_length": 1, "inertia_per_length": [1, 1, 1]}],
          "rods": [{"name": "bar", "section": "s", "path": {"line": [[0, 0, 0], [1, 0, 0]]}}]})",
      "no stiffness in shear");
  says(
      R"({"sections": [{"name": "s", "stiffness": [1, 1, 1, 1, 1, 1], "mass_per_length": 1, "inertia_per_length": [3, 1, 1]}], "rods": []})",
      "inertia_per_length");
  says(with(rod + R"(, "forces": [{"type": "line-load", "on": "bar", "from": 0.5, "to": 0.2, "force": [0, 0, 1]}])"),
       "must be larger");
  says(with(rod + R"(, "forces": [{"type": "line-load", "on": "bra", "force": [0, 0, 1]}])"), "unknown rod 'bra'");
  says(with(rod + R"(, "outputs": {"cut": {"section_force": "ground"}})"), "not a place on a rod");
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
