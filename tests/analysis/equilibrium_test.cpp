// Positions at rest against closed forms, shooting on the continuous equations, and the energy around them.
#include "kreisel/analysis.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "support/random_mechanisms.hpp"
#include "system/dense.hpp"
#include "system/limits.hpp"

namespace {

using namespace kreisel;

io::ModelFile model(const std::string& text) { return io::read_model(io::JsonSource("m.json", text)); }

analysis::Equilibrium rest_of(const io::ModelFile& file) {
  return analysis::find_equilibrium(*file.assembly, file.model.start);
}

Vector3 position(const io::ModelFile& file, const analysis::Equilibrium& e, int body) {
  return file.assembly->body_pose(body, e.motion.q).x;
}

/// Two masses under each other on springs: m g/k below where the springs are free.
TEST(Equilibrium, SpringsSagByTheWeight) {
  for (const char* group : {"r3xso3", "se3"}) {
    const io::ModelFile file = model(std::string(R"({"group": ")") + group + R"(", "gravity": [0, 0, -10], "bodies": [
      {"name": "a", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, -1]}, {"name": "b", "mass": 3, "inertia": [1, 1, 1], "position": [0, 0, -2]}],
      "joints": [{"type": "prismatic", "between": ["ground", "a"], "at": [0, 0, 0], "axis": [0, 0, 1]},
                 {"type": "prismatic", "between": ["a", "b"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
      "forces": [{"type": "spring-damper", "between": ["ground", "a"], "at": [[0, 0, 0], [0, 0, -1]], "stiffness": 1000, "length": 1},
                 {"type": "spring-damper", "between": ["a", "b"], "at": [[0, 0, -1], [0, 0, -2]], "stiffness": 100, "length": 1}]})");
    const analysis::Equilibrium e = rest_of(file);
    ASSERT_TRUE(e.is_found) << e.message;
    EXPECT_NEAR(position(file, e, 0).z(), -1.0 - 50.0 / 1000.0, 1e-13);
    EXPECT_NEAR(position(file, e, 1).z(), -2.0 - 50.0 / 1000.0 - 30.0 / 100.0, 1e-13);
  }
}

/// A pendulum from any angle falls to the lower rest, also from close to the upper one.
TEST(Equilibrium, GoesDownhillFromAnyAngle) {
  for (const double degrees : {5.0, 60.0, 90.0, 135.0, 175.0, 179.9}) {
    const double angle = degrees * M_PI / 180.0;
    const io::ModelFile file =
        model(R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 1, "inertia": [0.1, 0.1, 0.1],
      "position": [)" +
              std::to_string(std::sin(angle)) + ", 0, " + std::to_string(-std::cos(angle)) + R"(]}],
      "joints": [{"type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 1, 0]}]})");
    const analysis::Equilibrium e = rest_of(file);
    ASSERT_TRUE(e.is_found) << degrees << ": " << e.message;
    EXPECT_NEAR(position(file, e, 0).x(), 0.0, 1e-10) << degrees;
    EXPECT_NEAR(position(file, e, 0).z(), -1.0, 1e-6) << degrees;
  }
}

/// An inverted pendulum that a spring holds about one axis alone, pushed about that axis: its way leads to a saddle, and on.
TEST(Equilibrium, DoesNotStayOnASaddle) {
  const io::ModelFile file =
      model(R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 1, "inertia": [0.1, 0.1, 0.1],
    "position": [0, -0.29552020666133955, 0.95533648912560598], "rotation": {"axis": [1, 0, 0], "angle": 0.3}}],
    "joints": [{"type": "universal", "between": ["ground", "b"], "at": [0, 0, 0], "axes": [[1, 0, 0], [0, 0.95533648912560598, 0.29552020666133955]]}],
    "forces": [{"type": "bushing", "between": ["ground", "b"], "at": [0, 0, 0], "stiffness": [0, 0, 0], "rotational_stiffness": [100, 0, 0]}]})");
  const analysis::Equilibrium e = rest_of(file);
  ASSERT_TRUE(e.is_found) << e.message;
  EXPECT_NEAR(position(file, e, 0).z(), -1.0, 1e-6);
}

/// The upper rest is one too when the model begins there, and is said to be unstable: √(m g l/I).
TEST(Equilibrium, SaysThatTheUpperRestIsUnstable) {
  const io::ModelFile file =
      model(R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 1, "inertia": [0.1, 0.1, 0.1],
    "position": [0, 0, 1]}], "joints": [{"type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 1, 0]}]})");
  const analysis::Equilibrium e = rest_of(file);
  ASSERT_TRUE(e.is_found) << e.message;
  EXPECT_EQ(e.iterations, 0);
  const auto modes =
      analysis::modes_of(*file.assembly, e.motion, analysis::linearize(*file.assembly, e.motion, e.lambda));
  const analysis::Stability stability = analysis::stability_of(modes);
  EXPECT_FALSE(stability.is_stable);
  EXPECT_NEAR(stability.growth, std::sqrt(9.81 / 1.1), 1e-10);
}

/// A run that begins there stays there, which says nothing of it: a warning does. Not where it hangs.
TEST(Equilibrium, RunsThatStartUnstableWarn) {
  for (const auto& [z, count] : {std::pair("1", 1u), std::pair("-1", 0u)}) {
    io::RunSpec spec;
    spec.own_model = std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>(
        "m.json",
        std::string(R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 1, "inertia": [0.1, 0.1, 0.1],
      "position": [0, 0, )") +
            z +
            R"(]}], "joints": [{"type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 1, 0]}]})")));
    spec.set("start", std::string("static"));
    const io::PreparedRun run = io::prepare(spec);
    ASSERT_EQ(run.warnings.size(), count) << z;
    if (count > 0) {
      EXPECT_NE(run.warnings[0].find("unstable"), std::string::npos) << run.warnings[0];
    }
  }
}

/// Bathe and Bolourchi's bend of 45 degrees under a dead load: the tip by shooting on the continuous equations.
TEST(Equilibrium, BendsARodAsTheContinuousEquationsSay) {
  const auto tip_with = [](int elements) {
    const io::ModelFile file =
        model(R"({"sections": [{"name": "s", "stiffness": [1e7, 4166666.6666666667, 4166666.6666666667,
      833333.33333333333, 833333.33333333333, 833333.33333333333], "mass_per_length": 1, "inertia_per_length": [0.16, 0.08, 0.08]}],
      "rods": [{"name": "r", "section": "s", "elements": )" +
              std::to_string(elements) + R"(,
        "path": {"arc": [[0, 0, 0], [7.612046748871326, 38.26834323650898, 0], [29.28932188134524, 70.71067811865476, 0]]}}],
      "joints": [{"type": "fixed", "between": ["ground", "r@start"]}],
      "forces": [{"type": "applied", "on": "r@end", "force": [0, 0, 600]}]})");
    const analysis::Equilibrium e = rest_of(file);
    EXPECT_TRUE(e.is_found) << e.message;
    return Vector3(position(file, e, elements) - Vector3(29.28932188134524, 70.71067811865476, 0.0));
  };
  const Vector3 exact(-13.6046324024, -23.5605818783, 53.4754779982);
  const double coarse = (tip_with(16) - exact).norm(), fine = (tip_with(32) - exact).norm();
  EXPECT_LT(fine, 2e-5);
  EXPECT_NEAR(std::log2(coarse / fine), 4.0, 0.2);
}

/// A moment that follows its section rolls a rod up to a full circle, exactly on any mesh.
TEST(Equilibrium, RollsARodUp) {
  for (const char* group : {"se3", "r3xso3"}) {
    const io::ModelFile file = model(std::string(R"({"group": ")") + group +
                                     R"(", "sections": [{"name": "s", "stiffness": [1e4, 1e4, 1e4, 500, 500, 500],
      "mass_per_length": 1, "inertia_per_length": [1, 1, 1]}],
      "rods": [{"name": "r", "section": "s", "elements": 8, "path": {"line": [[0, 0, 0], [10, 0, 0]]}}],
      "joints": [{"type": "fixed", "between": ["ground", "r@start"]}],
      "forces": [{"type": "applied", "on": "r@end", "torque": [0, -314.15926535897931, 0], "frame": "body"}]})");
    const analysis::Equilibrium e = rest_of(file);
    ASSERT_TRUE(e.is_found) << e.message;
    EXPECT_LT(position(file, e, 8).norm(), 1e-9);
  }
}

/// A torsional spring that is free at three turns brings its wheel there.
TEST(Equilibrium, CountsTurnsOnTheWay) {
  const io::ModelFile file =
      model(R"({"bodies": [{"name": "w", "mass": 1, "inertia": [0.2, 0.2, 0.2], "position": [0, 0, 0]}],
    "joints": [{"name": "h", "type": "revolute", "between": ["ground", "w"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "forces": [{"type": "torsional-spring-damper", "between": ["ground", "w"], "axis": [0, 0, 1], "stiffness": 1, "angle": 20}],
    "outputs": {"phi": {"angle": "h"}}})");
  const analysis::Equilibrium e = rest_of(file);
  ASSERT_TRUE(e.is_found) << e.message;
  Vector phi = Vector::Zero(file.assembly->output_size());
  file.assembly->evaluate_outputs(e.motion, e.lambda, phi);
  EXPECT_NEAR(phi[0], 20.0, 1e-10);
}

/// An integral controller ends where its error is zero, with the weight in its state.
TEST(Equilibrium, SolvesForStates) {
  const io::ModelFile file = model(
      R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [1, 0, 0]}],
    "joints": [{"name": "h", "type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, -1, 0]}],
    "outputs": {"phi": {"angle": "h"}}, "states": {"sum": {"rate": "=0.5 - phi", "initial": 0}},
    "forces": [{"type": "torque", "joint": "h", "value": "=40*(0.5 - phi) + 10*sum - 5*phi'"}]})");
  const analysis::Equilibrium e = rest_of(file);
  ASSERT_TRUE(e.is_found) << e.message;
  EXPECT_NEAR(std::atan2(position(file, e, 0).z(), position(file, e, 0).x()), 0.5, 1e-10);
  Vector values = Vector::Zero(file.assembly->output_size());
  file.assembly->evaluate_outputs(e.motion, e.lambda, values);
  int at = 0;
  for (const system::OutputInfo& info : file.assembly->outputs()) {
    if (info.name == "sum") {
      EXPECT_NEAR(values[at] * 10.0, 2.0 * 9.81 * std::cos(0.5), 1e-8);
      return;
    }
    at += info.size();
  }
  ADD_FAILURE() << "no state";
}

/// A pendulum leans on a stop with m g l sin φ, and leaves one that would have to pull.
TEST(Equilibrium, LeansOnLimits) {
  const auto pendulum = [](const std::string& limits) {
    return model(
        R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [1, 0, 0]}],
      "joints": [{"name": "h", "type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 1, 0], "limits": )" +
        limits + "}]}");
  };
  // The angle grows as it falls; at π/2 it hangs.
  const io::ModelFile stopped = pendulum(R"({"to": 0.5, "restitution": 0})");
  const analysis::Equilibrium e = rest_of(stopped);
  ASSERT_TRUE(e.is_found) << e.message;
  EXPECT_NEAR(position(stopped, e, 0).z(), -std::sin(0.5), 1e-12);
  ASSERT_NE(e.leaning, nullptr);
  const auto& limits = dynamic_cast<const system::LimitedSystem&>(*e.leaning);
  double push = 0.0;
  for (int i = 0; i < limits.limit_count(); ++i) push += limits.is_closed(i) ? limits.push(i, e.lambda) : 0.0;
  EXPECT_NEAR(push, 2.0 * 9.81 * std::cos(0.5), 1e-9);
  const io::ModelFile free = pendulum(R"({"from": -0.5, "to": 2, "restitution": 0})");
  const analysis::Equilibrium below = rest_of(free);
  ASSERT_TRUE(below.is_found) << below.message;
  EXPECT_NEAR(position(free, below, 0).z(), -1.0, 1e-9);
  EXPECT_EQ(below.leaning, nullptr);
}

TEST(Equilibrium, SaysWhatNothingHolds) {
  const io::ModelFile file = model(
      R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "stone", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}]})");
  const analysis::Equilibrium e = rest_of(file);
  EXPECT_FALSE(e.is_found);
  EXPECT_NE(e.message.find("'stone'"), std::string::npos) << e.message;
}

/// Models rest where no small motion that the constraints allow lowers their energy.
TEST(Equilibrium, IsAMinimumOfTheEnergyOfModels) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  for (const char* name :
       {"heavy-top", "chain", "double-pendulum", "flyball-governor", "hanging-chain", "simple-pendulum",
        "conical-pendulum", "andrews-bodies", "bricard-independent", "car-axis"}) {
    io::RunSpec spec;
    spec.model = name;
    const models::Model m = io::prepare_model(spec);
    const analysis::Equilibrium e = analysis::find_equilibrium(*m.system, m.start);
    ASSERT_TRUE(e.is_found) << name << ": " << e.message;
    EXPECT_GT(e.iterations, 0) << name;
    system::KktBlocks blocks(m.system->pattern());
    m.system->linearize(e.motion, e.lambda, blocks);
    const Matrix K = system::dense_coupling(*m.system, blocks.K), B = system::dense_rows(*m.system, blocks.B);
    const Matrix N = B.fullPivLu().kernel();
    for (int i = 0; i < 20; ++i) {
      const Vector x = N * Vector::NullaryExpr(N.cols(), [&] { return normal(generator); });
      EXPECT_GT(x.dot(K * x), -1e-9 * K.norm() * x.squaredNorm()) << name;
    }
  }
}

/// Three legs where two would do: the reactions of least norm share the weight.
TEST(Equilibrium, SharesLoadsOfRedundantConstraints) {
  const io::ModelFile file = model(
      R"({"gravity": [0, 0, -10], "bodies": [{"name": "b", "mass": 3, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    "joints": [{"name": "one", "type": "revolute", "between": ["ground", "b"], "at": [-1, 0, 0], "axis": [1, 0, 0]},
               {"name": "two", "type": "revolute", "between": ["ground", "b"], "at": [1, 0, 0], "axis": [1, 0, 0]}],
    "forces": [{"type": "torsional-spring-damper", "between": ["ground", "b"], "axis": [1, 0, 0], "stiffness": 5, "angle": 0.3}]})");
  const analysis::Equilibrium e = rest_of(file);
  ASSERT_TRUE(e.is_found) << e.message;
  for (int j = 0; j < 2; ++j) {
    const system::Reaction r = file.assembly->reaction(j, e.motion, e.lambda);
    EXPECT_NEAR(r.force.z(), 15.0, 1e-9);
    EXPECT_NEAR(r.force.x(), 0.0, 1e-9);
  }
}

/// Two springs from (±a, 0, 0) to a mass at height h carry 2 k h (L₀/L - 1), most where L³ = L₀ a² (von Mises' truss).
TEST(Path, OfATrussThatSnapsThrough) {
  const double a = 1.0, height = 0.4, k = 1000.0, L0 = std::hypot(a, height);
  const analysis::Family make = [&](double load) -> std::shared_ptr<const system::System> {
    return model(
               R"({"bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0.4]}],
      "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
      "forces": [{"type": "spring-damper", "between": ["ground", "m"], "at": [[-1, 0, 0], [0, 0, 0.4]], "stiffness": 1000, "length": )" +
               fmt::format("{:.17g}", L0) +
               R"(}, {"type": "spring-damper", "between": ["ground", "m"], "at": [[1, 0, 0], [0, 0, 0.4]], "stiffness": 1000, "length": )" +
               fmt::format("{:.17g}", L0) + R"(},
        {"type": "applied", "on": "m", "force": [0, 0, )" +
               fmt::format("{:.17g}", -load) + "]}]}")
        .assembly;
  };
  const auto first = std::dynamic_pointer_cast<const multibody::Assembly>(make(0.0));
  const analysis::Equilibrium start = analysis::find_equilibrium(*first, first->start(1.0));
  ASSERT_TRUE(start.is_found) << start.message;
  const analysis::StaticPath path = analysis::follow(make, start, {.from = 0.0, .to = 60.0});
  EXPECT_TRUE(path.is_complete) << path.message;
  std::vector<double> limits;
  for (const analysis::PathPoint& point : path.points) {
    const double h = point.motion.q[2], load = 2.0 * k * h * (L0 / std::hypot(a, h) - 1.0);
    EXPECT_NEAR(point.parameter, load, 1e-7) << h;
    if (point.is_limit) limits.push_back(point.parameter);
  }
  const double L = std::cbrt(L0 * a * a), h = std::sqrt(L * L - a * a), exact = 2.0 * k * h * (L0 / L - 1.0);
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_NEAR(limits[0], exact, 1e-8 * exact);
  EXPECT_NEAR(limits[1], -exact, 1e-8 * exact);
  EXPECT_EQ(path.points.back().parameter, 60.0);
}

/// Random mechanisms rest where forces balance to round-off and no small motion lowers the energy, or say what nothing holds.
TEST(Equilibrium, OfRandomMechanisms) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  int found = 0;
  std::string missed;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const io::ModelFile file = model(support::random_mechanism(seed));
    const system::System& system = *file.assembly;
    const analysis::Equilibrium e = rest_of(file);
    if (!e.is_found) {
      EXPECT_FALSE(e.message.empty()) << seed;
      missed += fmt::format("{}: {}\n", seed, e.message);
      continue;
    }
    ++found;
    system::Residual r(system.space().nv(), system.pattern().position_rows(), system.pattern().rows());
    system.residual(e.motion, e.lambda, r);
    system::KktBlocks blocks(system.pattern());
    system.linearize(e.motion, e.lambda, blocks);
    const Matrix K = system::dense_coupling(system, blocks.K), B = system::dense_rows(system, blocks.B),
                 F = system::dense_forces(system, blocks.F);
    // Round-off of the terms: stiffness times positions, and constraint forces.
    const double reach = std::max(1.0, e.motion.q.lpNorm<Eigen::Infinity>());
    const double terms =
        K.cwiseAbs().maxCoeff() * reach + (F.size() > 0 ? (F.cwiseAbs() * e.lambda.cwiseAbs()).maxCoeff() : 0.0);
    for (Eigen::Index i = 0; i < r.force.size(); ++i) EXPECT_LT(std::abs(r.force[i]), 1e-11 * terms) << seed;
    // Scaled to the sizes of translations and rotations.
    Vector scale = Vector::Ones(K.rows());
    for (Eigen::Index i = 0; i < scale.size(); ++i)
      if (const double size = K(i, i); size > 0.0) scale[i] = 1.0 / std::sqrt(size);
    const Matrix N = B.rows() > 0 ? Matrix((B * scale.asDiagonal()).fullPivLu().kernel())
                                  : Matrix(Matrix::Identity(K.rows(), K.rows()));
    const Matrix scaled = scale.asDiagonal() * K * scale.asDiagonal();
    for (int i = 0; i < 10; ++i) {
      const Vector x = N * Vector::NullaryExpr(N.cols(), [&] { return normal(generator); });
      EXPECT_GT(x.dot(scaled * x), -1e-8 * scaled.norm() * x.squaredNorm()) << seed;
    }
  }
  EXPECT_EQ(found, 200) << missed;
}

}  // namespace
