// Limit loads of frames of rods, and motions that are given.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "analysis/inverse.hpp"
#include "analysis/lowest_modes.hpp"
#include "analysis/static_stability.hpp"
#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/tuning.hpp"
#include "kreisel/analysis.hpp"
#include "kreisel/error.hpp"

namespace {

using namespace kreisel;

io::ModelFile model(const std::string& text) { return io::read_model(io::JsonSource("m.json", text)); }

/// Lee's frame turns back at 18544.5 and -9392.5, by converged meshes of two kinds of elements.
TEST(Path, OfLeesFrame) {
  const analysis::Family make = [](double load) -> std::shared_ptr<const system::System> {
    return model(
               R"({"sections": [{"name": "s", "stiffness": [43200000, 13846153.846153846, 13846153.846153846, 11076923.076923077,
        14400000, 14400000], "mass_per_length": 1, "inertia_per_length": [1, 1, 1]}],
      "rods": [{"name": "leg", "section": "s", "elements": 10, "path": {"line": [[0, 0, 0], [0, 120, 0]]}},
               {"name": "beam", "section": "s", "elements": 10, "path": {"line": [[0, 120, 0], [120, 120, 0]]}}],
      "joints": [{"type": "revolute", "between": ["ground", "leg@start"], "axis": [0, 0, 1]},
                 {"type": "revolute", "between": ["ground", "beam@end"], "axis": [0, 0, 1]},
                 {"type": "fixed", "between": ["leg@end", "beam@start"]}],
      "forces": [{"type": "applied", "on": "beam@24m", "force": [0, )" +
               std::to_string(-load) + ", 0]}]}")
        .assembly;
  };
  const std::shared_ptr<const system::System> first = make(0.0);
  const auto& assembly = dynamic_cast<const multibody::Assembly&>(*first);
  const analysis::Equilibrium start = analysis::find_equilibrium(*first, assembly.start(1.0));
  ASSERT_TRUE(start.is_found) << start.message;
  const analysis::StaticPath path = analysis::follow(make, start, {.from = 0.0, .to = 20000.0, .points = 30});
  EXPECT_TRUE(path.is_complete) << path.message;
  std::vector<double> limits;
  for (const analysis::PathPoint& point : path.points)
    if (point.is_limit) limits.push_back(point.parameter);
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_NEAR(limits[0], 18544.5, 2.0);
  EXPECT_NEAR(limits[1], -9392.5, 2.0);
}

/// An arch of 215 degrees, clamped at one end and hinged at the other, under a load on its crown (DaDeppo and Schmidt 1975). Shooting on
/// the continuous equations of the rod, with the height of the crown given: the load turns back at 897.289134, at a height of -13.730746.
TEST(Path, OfAnArchThatIsClampedAndHinged) {
  const auto turning_load = [](int elements) {
    const analysis::Family make = [elements](double load) -> std::shared_ptr<const system::System> {
      return model(R"({"sections": [{"name": "s", "stiffness": [1e8, 1e8, 1e8, 1e6, 1e6, 1e6], "mass_per_length": 1,
        "inertia_per_length": [1, 1, 1]}],
      "rods": [{"name": "arch", "section": "s", "elements": )" +
                   std::to_string(elements) + R"(, "path": {"arc": {"from": [-95.371695074822, -30.070579950427, 0],
        "centre": [0, 0, 0], "axis": [0, 0, -1], "angle_deg": 215}}}],
      "joints": [{"type": "fixed", "between": ["ground", "arch@start"]},
                 {"type": "revolute", "between": ["ground", "arch@end"], "axis": [0, 0, 1]}],
      "forces": [{"type": "applied", "on": "arch@0.5", "force": [0, )" +
                   fmt::format("{:.17g}", -load) + ", 0]}]}")
          .assembly;
    };
    const std::shared_ptr<const system::System> first = make(0.0);
    const auto& assembly = dynamic_cast<const multibody::Assembly&>(*first);
    const analysis::Equilibrium start = analysis::find_equilibrium(*first, assembly.start(1.0));
    EXPECT_TRUE(start.is_found) << start.message;
    const analysis::StaticPath path = analysis::follow(make, start, {.from = 0.0, .to = 1000.0, .points = 30});
    for (const analysis::PathPoint& point : path.points)
      if (point.is_limit) return point.parameter;
    ADD_FAILURE() << path.message;
    return 0.0;
  };
  constexpr double exact = 897.289134;
  const double coarse = turning_load(16) - exact, fine = turning_load(24) - exact;
  EXPECT_NEAR(coarse, 1.02, 0.05);
  EXPECT_NEAR(coarse / fine, std::pow(1.5, 4), 0.3);
}

/// Of a large system the lowest modes are those of full matrices.
TEST(LowestModes, AgreeWithFullMatrices) {
  for (const char* held : {R"("joints": [{"type": "fixed", "between": ["ground", "r@start"]}], )", ""}) {
    const io::ModelFile file = model(
        std::string(R"({"sections": [{"name": "s", "stiffness": [1e6, 1e6, 1e6, 100, 150, 200],
        "mass_per_length": 1, "inertia_per_length": [1e-3, 1e-3, 1e-3]}], )") +
        held + R"("rods": [{"name": "r", "section": "s", "elements": 20, "path": {"line": [[0, 0, 0], [1, 0, 0]]}}]})");
    system::Motion m(file.assembly->space());
    m.q = file.model.start.q0;
    const Vector lambda = Vector::Zero(file.assembly->pattern().rows());
    const auto all = analysis::modes_of(*file.assembly, m, analysis::linearize(*file.assembly, m, lambda));
    // Without a joint six ways to move and as many speeds have the eigenvalue zero.
    const bool is_free = std::string(held).empty();
    const int count = is_free ? 20 : 10;
    const auto lowest = analysis::lowest_modes(*file.assembly, m, lambda, count);
    ASSERT_EQ(lowest.size(), static_cast<std::size_t>(count));
    // Zero is a double eigenvalue, which both find with the square root of round-off.
    std::vector<double> exact;
    for (const analysis::Mode& mode : all)
      if (mode.eigenvalue.imag() > 1.0) exact.push_back(mode.eigenvalue.imag());
    std::size_t at = 0;
    for (const analysis::Mode& mode : lowest)
      if (mode.eigenvalue.imag() > 1.0) {
        EXPECT_NEAR(mode.eigenvalue.imag(), exact[at], 1e-6 * exact[at]) << at;
        ++at;
      }
    EXPECT_GE(at, is_free ? 8u : 10u);
  }
}

/// A mass on a spring rests where it should with the length z + m g/k.
TEST(Tuning, FindsThePreload) {
  const std::string text = R"({"gravity": [0, 0, -10], "parameters": {"L": 1.0},
    "bodies": [{"name": "b", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 1]}],
    "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "forces": [{"name": "spring", "type": "spring-damper", "between": ["ground", "b"], "at": [[0, 0, 0], [0, 0, 1]], "stiffness": 100, "length": "=L"}],
    "outputs": {"at": {"position": "b"}}})";
  io::RunSpec spec;
  spec.own_model =
      std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", text)));
  const io::Tuned tuned = io::tune(spec, "L", {"at.z", 0.9});
  ASSERT_TRUE(tuned.is_found) << tuned.message;
  EXPECT_NEAR(tuned.value, 0.9 + 2.0 * 10.0 / 100.0, 1e-12);
  const io::Tuned in_vain = io::tune(spec, "L", {"at.x", 0.9});
  EXPECT_FALSE(in_vain.is_found);
  EXPECT_NE(in_vain.message.find("does not depend on"), std::string::npos) << in_vain.message;
  EXPECT_THROW(io::tune(spec, "M", {"at.z", 0.9}), InvalidInput);
  EXPECT_THROW(io::tune(spec, "L", {"height", 0.9}), InvalidInput);
}

std::vector<double> times(double t_end, int count) {
  std::vector<double> list;
  for (int i = 0; i <= count; ++i) list.push_back(t_end * i / count);
  return list;
}

/// A pendulum whose angle follows 0.3 sin 2t needs the torque I φ'' + m g l cos φ, l = 1 from the pin, horizontal at φ = 0.
TEST(Inverse, TorqueOfAPendulum) {
  for (const char* group : {"se3", "r3xso3"}) {
    const io::ModelFile file = model(std::string(R"({"group": ")") + group + R"(", "gravity": [0, 0, -9.81],
      "bodies": [{"name": "b", "mass": 2, "inertia": [0.1, 0.2, 0.3], "position": [1, 0, 0]}],
      "joints": [{"name": "h", "type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, -1, 0]}],
      "inputs": {"u": {"value": 0}}, "outputs": {"phi": {"angle": "h"}},
      "forces": [{"type": "torque", "joint": "h", "value": "=3*u"}]})");
    analysis::InverseOptions options;
    options.servos.push_back(
        {0, "phi",
         [](double t) { return Vector3(0.3 * std::sin(2.0 * t), 0.6 * std::cos(2.0 * t), -1.2 * std::sin(2.0 * t)); }});
    options.inputs = {0};
    options.times = times(3.0, 60);
    const analysis::InverseMotion motion = analysis::invert(*file.assembly, file.model.start, options);
    ASSERT_TRUE(motion.is_complete) << motion.message;
    for (const analysis::InversePoint& p : motion.points) {
      const double t = p.motion.t, phi = 0.3 * std::sin(2.0 * t);
      EXPECT_NEAR(p.inputs[0], ((0.2 + 2.0) * -1.2 * std::sin(2.0 * t) + 2.0 * 9.81 * std::cos(phi)) / 3.0, 1e-9) << t;
    }
    options.servos.clear();
    EXPECT_THROW(analysis::invert(*file.assembly, file.model.start, options), InvalidInput);
  }
}

/// Kinematics of a crank with a rod of 2: s = cos φ + √(4 - sin² φ) with φ = t² and no freedom left.
TEST(Inverse, KinematicsOfASliderCrank) {
  const io::ModelFile file = model(R"({"bodies": [
      {"name": "crank", "mass": 1, "inertia": [1, 1, 1], "position": [0.5, 0, 0]},
      {"name": "rod", "mass": 1, "inertia": [1, 1, 1], "position": [2, 0, 0]},
      {"name": "slider", "mass": 1, "inertia": [1, 1, 1], "position": [3, 0, 0]}],
    "joints": [{"type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]},
               {"type": "revolute", "between": ["crank", "rod"], "at": [1, 0, 0], "axis": [0, 0, 1]},
               {"type": "spherical", "between": ["rod", "slider"], "at": [3, 0, 0]},
               {"type": "prismatic", "between": ["ground", "slider"], "at": [3, 0, 0], "axis": [1, 0, 0]}],
    "drivers": [{"name": "motor", "type": "angle", "between": ["ground", "crank"], "axis": [0, 0, 1], "value": "t^2"}],
    "outputs": {"s": {"position": "slider"}}})");
  analysis::InverseOptions options;
  options.times = times(2.5, 50);
  const analysis::InverseMotion motion = analysis::invert(*file.assembly, file.model.start, options);
  ASSERT_TRUE(motion.is_complete) << motion.message;
  const int slider = file.assembly->space().blocks()[2].v_at;
  for (const analysis::InversePoint& p : motion.points) {
    const double t = p.motion.t, phi = t * t, w = 2.0 * t, root = std::sqrt(4.0 - std::pow(std::sin(phi), 2));
    EXPECT_NEAR(file.assembly->body_pose(2, p.motion.q).x.x(), std::cos(phi) + root, 1e-10) << t;
    const double slope = -std::sin(phi) - std::sin(phi) * std::cos(phi) / root;
    EXPECT_NEAR(p.motion.v[slider], slope * w, 1e-9) << t;
    // Reactions balance inertia: the residual vanishes.
    system::Residual r(file.assembly->space().nv(), file.assembly->pattern().position_rows(),
                       file.assembly->pattern().rows());
    file.assembly->residual(p.motion, p.lambda, r);
    EXPECT_LT(r.force.lpNorm<Eigen::Infinity>(), 1e-8 * (1.0 + p.lambda.norm()));
  }
}

/// A parallelogram that flattens out, where it could also go on as an antiparallelogram: a warning there, and nowhere else.
TEST(Inverse, WarnsWhereBranchesMeet) {
  const io::ModelFile file = model(R"({"bodies": [
      {"name": "crank", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0.5, 0]},
      {"name": "coupler", "mass": 1, "inertia": [1, 1, 1], "position": [1, 1, 0]},
      {"name": "rocker", "mass": 1, "inertia": [1, 1, 1], "position": [2, 0.5, 0]}],
    "joints": [{"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]},
               {"type": "spherical", "between": ["crank", "coupler"], "at": [0, 1, 0]},
               {"type": "universal", "between": ["coupler", "rocker"], "at": [2, 1, 0], "axes": [[0, 0, 1], [0, 1, 0]]},
               {"type": "revolute", "between": ["ground", "rocker"], "at": [2, 0, 0], "axis": [0, 0, 1]}],
    "inputs": {"u": {"value": 0}}, "outputs": {"phi": {"angle": "A"}},
    "forces": [{"type": "torque", "joint": "A", "value": "=u"}]})");
  for (const auto& [t_end, count] : {std::pair(1.5, 0u), std::pair(3.0, 1u), std::pair(6.0, 2u)}) {
    analysis::InverseOptions options;
    options.servos.push_back({0, "phi", [](double t) { return Vector3(-t, -1.0, 0.0); }});
    options.inputs = {0};
    options.times = times(t_end, 100);
    const analysis::InverseMotion motion = analysis::invert(*file.assembly, file.model.start, options);
    ASSERT_TRUE(motion.is_complete) << motion.message;
    ASSERT_EQ(motion.warnings.size(), count) << t_end;
    if (count > 0) {
      EXPECT_NE(motion.warnings[0].find("near t = 1.5"), std::string::npos) << motion.warnings[0];
    }
    // The parallelogram goes on as one: the coupler does not turn.
    EXPECT_NEAR(file.assembly->body_pose(1, motion.points.back().motion.q).R(1, 0), 0.0, 1e-9);
  }
}

/// A slider that is drawn beyond its dead centre: what was found before stays, and the message says where it ends.
TEST(Inverse, EndsAtADeadCentre) {
  const io::ModelFile file = model(R"({"bodies": [
      {"name": "crank", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0.5, 0]},
      {"name": "rod", "mass": 1, "inertia": [1, 1, 1], "position": [0.8660254037844386, 0.5, 0]},
      {"name": "slider", "mass": 1, "inertia": [1, 1, 1], "position": [1.7320508075688772, 0, 0]}],
    "joints": [{"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]},
               {"type": "spherical", "between": ["crank", "rod"], "at": [0, 1, 0]},
               {"type": "universal", "between": ["rod", "slider"], "at": [1.7320508075688772, 0, 0], "axes": [[0, 0, 1], [0, 1, 0]]},
               {"name": "D", "type": "prismatic", "between": ["ground", "slider"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
    "inputs": {"u": {"value": 0}}, "outputs": {"way": {"displacement": "D"}},
    "forces": [{"type": "torque", "joint": "A", "value": "=u"}]})");
  analysis::InverseOptions options;
  options.servos.push_back({0, "way", [](double t) { return Vector3(0.5 * t, 0.5, 0.0); }});
  options.inputs = {0};
  options.times = times(6.0, 100);
  const analysis::InverseMotion motion = analysis::invert(*file.assembly, file.model.start, options);
  EXPECT_FALSE(motion.is_complete);
  // Crank and rod, 1 and 2 long, are in line where the slider is 3 from the crank's bearing.
  const double dead = 2.0 * (3.0 - std::sqrt(3.0));
  EXPECT_NE(motion.message.find("dead centre"), std::string::npos) << motion.message;
  ASSERT_FALSE(motion.points.empty());
  EXPECT_LT(motion.points.back().motion.t, dead);
  EXPECT_GT(motion.points.back().motion.t, dead - 0.07);
}

/// A column of one rigid link on a torsional spring of 5 N m buckles under 5 N, found to round-off, and is stable before and unstable behind.
TEST(Path, OfAStraightColumn) {
  const analysis::Family make = [&](double load) -> std::shared_ptr<const system::System> {
    return model(fmt::format(
                     R"({{"bodies": [{{"name": "a", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0.5]}}],
      "joints": [{{"name": "h", "type": "revolute", "between": ["ground", "a"], "at": [0, 0, 0], "axis": [0, 1, 0]}}],
      "forces": [{{"type": "torsional-spring-damper", "between": ["ground", "a"], "axis": [0, 1, 0], "stiffness": 5}},
                 {{"type": "applied", "on": "a", "at": [0, 0, 1], "force": [0, 0, {:.17g}]}}]}})",
                     -load))
        .assembly;
  };
  const auto first = std::dynamic_pointer_cast<const multibody::Assembly>(make(0.0));
  const analysis::Equilibrium start = analysis::find_equilibrium(*first, first->start(1.0));
  ASSERT_TRUE(start.is_found) << start.message;
  const analysis::StaticPath path = analysis::follow(make, start, {.from = 0.0, .to = 10.0});
  EXPECT_TRUE(path.is_complete) << path.message;
  int critical = 0;
  for (const analysis::PathPoint& point : path.points) {
    EXPECT_FALSE(point.is_limit);
    critical += point.is_critical;
    if (point.is_critical) {
      EXPECT_NEAR(point.parameter, 5.0, 1e-9);
      continue;
    }
    const auto least = analysis::least_stiffness(*point.system, point.motion, point.lambda);
    ASSERT_TRUE(least.has_value());
    EXPECT_EQ(least->is_minimum(), point.parameter < 5.0) << point.parameter;
  }
  EXPECT_EQ(critical, 1);
}

/// Euler's column, clamped at one end: π² EI/(4 L²) with the smaller EI, apart from its small strains.
TEST(Path, OfEulersColumn) {
  const analysis::Family make = [](double load) -> std::shared_ptr<const system::System> {
    return model(
               fmt::format(
                   R"({{"sections": [{{"name": "s", "stiffness": [1e6, 1e6, 1e6, 100, 50, 80], "mass_per_length": 1, "inertia_per_length": [1e-4, 1e-4, 1e-4]}}],
      "rods": [{{"name": "r", "section": "s", "elements": 16, "path": {{"line": [[0, 0, 0], [0, 0, 1]]}}}}],
      "joints": [{{"type": "fixed", "between": ["ground", "r@start"]}}],
      "forces": [{{"type": "applied", "on": "r@end", "force": [0, 0, {:.17g}]}}]}})",
                   -load))
        .assembly;
  };
  const auto first = std::dynamic_pointer_cast<const multibody::Assembly>(make(0.0));
  const analysis::Equilibrium start = analysis::find_equilibrium(*first, first->start(1.0));
  ASSERT_TRUE(start.is_found) << start.message;
  const analysis::StaticPath path = analysis::follow(make, start, {.from = 0.0, .to = 150.0});
  ASSERT_TRUE(path.is_complete) << path.message;
  std::vector<double> critical;
  for (const analysis::PathPoint& point : path.points)
    if (point.is_critical) critical.push_back(point.parameter);
  ASSERT_EQ(critical.size(), 1u);
  EXPECT_NEAR(critical[0] / (M_PI * M_PI * 50.0 / 4.0), 1.0, 1e-6);
}

}  // namespace
