// Gradients by the adjoint of the steps, against derivatives carried along with the run, frozen runs and closed forms.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "io/model_file/model_catalogue.hpp"
#include "io/result/prepare.hpp"
#include "io/result/sensitivities.hpp"
#include "io/result/tuning.hpp"
#include "kreisel/error.hpp"

namespace {

using namespace kreisel;

io::RunSpec spec_of(const std::string& model, double t_end, double tolerance, const std::string& group = {}) {
  io::RunSpec spec;
  spec.model = model;
  spec.group = group;
  spec.set("t_end", t_end);
  spec.set("rtol", tolerance);
  spec.set("atol", tolerance);
  return spec;
}

/// The derivatives of an output, of v2 or of lambda1 at every point.
Vector column_of(const run::Sensitivity& by, const io::RunSpec& spec, const std::string& column) {
  if (column[0] == 'v' && std::isdigit(column[1]) != 0) return by.v.col(std::stoi(column.substr(1)) - 1);
  if (column.starts_with("lambda")) return by.lambda.col(std::stoi(column.substr(6)) - 1);
  const io::PreparedRun run = io::prepare(spec);
  Eigen::Index number = 0;
  for (const system::OutputInfo& info : run.model.system->result_layout().outputs())
    for (int i = 0; i < info.size(); ++i, ++number)
      if (info.column(i) == column) return by.outputs.col(number);
  throw InvalidInput("no such output");
}

struct Case {
  const char* model;
  std::string group;
  std::vector<std::string> outputs, names;
  double t_end;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.model << " " << c.group; }

/// Both differentiate the same steps, with the same neighbours of parameters. They differ by the 1e-10 to which the forward mode
/// solves its linear equations in each step, relative to the largest derivative. With equations solved to 1e-14 all of these cases
/// agree to 1e-9; with index3 to 1e-8, where q/h² loses digits.
constexpr double agreement = 1e-9;

/// Of differences of values between neighbours, which are 2^-17 of a parameter away.
double noise_of(const io::RunSpec& spec, const std::string& name, double value) {
  const double p = name.starts_with("v0.") || name.starts_with("q0.") ? 1.0 : std::abs(io::parameter_value(spec, name));
  return 4.0 * 2.2e-16 * std::ldexp(value / (p > 0.0 ? p : 1.0), 17);
}

void expect_agreement(const io::RunSpec& spec, const Case& c, double tolerance = agreement) {
  run::Observer nobody;
  const double middle = 0.61 * c.t_end;
  std::vector<std::string> scalars;
  for (const std::string& output : c.outputs)
    for (const std::string& scalar :
         {output, fmt::format("{}@{:.17g}", output, middle), fmt::format("integral({})", output)})
      scalars.push_back(scalar);
  const run::Gradients back = io::gradients(spec, c.names, scalars, nobody);
  ASSERT_EQ(back.report.status, run::Status::success) << back.report.message;
  ASSERT_EQ(back.problem, "");
  const run::Sensitivities carried = io::sensitivities(spec, c.names, nobody);
  ASSERT_EQ(carried.problem, "");
  ASSERT_EQ(carried.differences, "");
  ASSERT_EQ(carried.points.t, back.points.t);
  for (std::size_t i = 0; i < c.outputs.size(); ++i)
    for (std::size_t j = 0; j < c.names.size(); ++j) {
      SCOPED_TRACE(c.outputs[i] + " by " + c.names[j]);
      const Vector column = column_of(carried.by[j], spec, c.outputs[i]);
      const auto row = static_cast<Eigen::Index>(3 * i), by = static_cast<Eigen::Index>(j);
      const double size = column.cwiseAbs().maxCoeff();
      const double value = std::max(std::abs(back.values[row]), std::abs(back.values[row + 1]));
      const double allowed = tolerance * size + noise_of(spec, c.names[j], value);
      EXPECT_GT(size, 0.0);
      EXPECT_NEAR(back.by(row, by), column[column.size() - 1], allowed);
      EXPECT_NEAR(back.by(row + 1, by), carried.at({middle}, column)(0, 0), allowed);
      double integral = 0.0;  // by the trapezoidal rule: another formula
      for (Eigen::Index k = 1; k < column.size(); ++k)
        integral +=
            0.5 * (carried.points.t[static_cast<std::size_t>(k)] - carried.points.t[static_cast<std::size_t>(k) - 1]) *
            (column[k] + column[k - 1]);
      EXPECT_NEAR(back.by(row + 2, by), integral, 0.02 * c.t_end * size);
    }
}

class Adjoint : public testing::TestWithParam<Case> {};

TEST_P(Adjoint, AgreesWithDerivativesCarriedAlong) {
  for (const double tolerance : {1e-3, 1e-5, 1e-7}) {
    SCOPED_TRACE(tolerance);
    expect_agreement(spec_of(GetParam().model, GetParam().t_end, tolerance, GetParam().group), GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Adjoint,
    testing::Values(
        Case{"heavy-top", "r3xso3", {"v6", "lambda1"}, {"mass", "gravity", "omega_x", "v0.5"}, 0.1},
        Case{"heavy-top", "se3", {"v6", "lambda1"}, {"mass", "gravity", "omega_x", "v0.5"}, 0.1},
        Case{"pendulum", "", {"v1", "lambda1"}, {"length"}, 1.0},
        Case{"chain", "r3xso3", {"v9", "lambda4"}, {"gravity", "v0.5"}, 0.2},
        Case{"chain", "se3", {"v9", "lambda4"}, {"gravity", "v0.5"}, 0.2},
        Case{"four-bar", "", {"v1"}, {"gravity", "speed", "q0.6"}, 0.5},
        Case{"leg",
             "r3xso3",
             {"foot.x", "knee_angle"},
             {"L", "m", "m_shank", "stride", "phase", "omega", "k", "d"},
             0.3},
        Case{"leg", "se3", {"foot.x", "knee_angle"}, {"L", "m", "m_shank", "stride", "phase", "omega", "k", "d"}, 0.3},
        Case{"two-legs", "", {"left.foot.z", "step"}, {"left.L", "right.k"}, 0.2},
        Case{"hanging-chain", "", {"end.z"}, {"L"}, 0.2}, Case{"oscillator", "", {"v1"}, {"omega"}, 2.0}));

/// Newton's method of neighbouring runs is solved to 1e-11 of v, and they differ by 2^-12 of the parameter.
constexpr double noise_of_velocities = 1e-6, noise_of_multipliers = 4e-5;

class AdjointAgain : public testing::TestWithParam<Case> {};

TEST_P(AdjointAgain, AgreesWithNeighbouringRuns) {
  const Case& c = GetParam();
  run::Observer nobody;
  for (const double tolerance : {1e-4, 1e-7}) {
    SCOPED_TRACE(tolerance);
    io::RunSpec spec = spec_of(c.model, c.t_end, tolerance, c.group);
    spec.set("newton_tolerance", std::min(0.03, 1e-10 / tolerance));
    const run::Gradients back = io::gradients(spec, c.names, c.outputs, nobody);
    ASSERT_EQ(back.problem, "");
    const run::Sensitivities near = io::sensitivities(spec, c.names, nobody, {.uses_differences = true});
    ASSERT_EQ(near.problem, "");
    for (std::size_t i = 0; i < c.outputs.size(); ++i)
      for (std::size_t j = 0; j < c.names.size(); ++j) {
        SCOPED_TRACE(c.outputs[i] + " by " + c.names[j]);
        const Vector column = column_of(near.by[j], spec, c.outputs[i]);
        const double noise = c.outputs[i].starts_with("lambda") ? noise_of_multipliers : noise_of_velocities;
        EXPECT_GT(column.cwiseAbs().maxCoeff(), 0.0);
        EXPECT_NEAR(back.by(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)), column[column.size() - 1],
                    noise * column.cwiseAbs().maxCoeff());
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AdjointAgain,
                         testing::Values(Case{"heavy-top", "r3xso3", {"v6", "lambda1"}, {"mass", "omega_x"}, 0.1},
                                         Case{"heavy-top", "se3", {"v6", "lambda1"}, {"mass", "omega_x"}, 0.1},
                                         Case{"chain", "se3", {"v9", "lambda4"}, {"gravity"}, 0.2},
                                         Case{"leg", "r3xso3", {"foot.x"}, {"L", "phase", "k"}, 0.3},
                                         Case{"friction-pendulum", "", {"v1", "lambda1"}, {"friction"}, 0.5}));

/// Every order and formulation, and starts of several points, whose velocities are corrected.
TEST(Adjoint, ServesConstantSteps) {
  struct Choice {
    const char *formulation, *correction;
    long order;
  };
  for (const std::string group : {"r3xso3", "se3"})
    for (const auto& [formulation, correction, order] :
         {Choice{"stabilized-index2", "magnus", 1}, Choice{"stabilized-index2", "magnus", 2},
          Choice{"stabilized-index2", "magnus", 3}, Choice{"stabilized-index2", "magnus", 4},
          Choice{"stabilized-index2", "magnus", 5}, Choice{"stabilized-index2", "magnus", 6},
          Choice{"stabilized-index2", "magnus-explicit", 4}, Choice{"stabilized-index2", "magnus-taylor", 5},
          Choice{"stabilized-index2", "none", 2}, Choice{"index3", "magnus", 3}, Choice{"index2", "magnus", 3}}) {
      SCOPED_TRACE(fmt::format("{} {} {} {}", group, formulation, correction, order));
      io::RunSpec spec;
      spec.model = "heavy-top";
      spec.group = group;
      spec.set("t_end", 0.05);
      // In index-3 form λ has the round-off of q over h².
      const bool is_index3 = formulation == std::string("index3");
      spec.set("step", is_index3 ? 4e-3 : 1e-3);
      spec.set("order", order);
      spec.set("formulation", std::string(formulation));
      spec.set("correction", std::string(correction));
      spec.set("newton_tolerance", 1e-11);
      expect_agreement(spec, {"heavy-top", group, {"v6", "lambda1"}, {"mass", "omega_x"}, 0.05}, 1e-8);
    }
}

/// Where a corner ends a spell, weights go through the new start.
TEST(Adjoint, GoesThroughCorners) {
  const std::string pushed = R"json({"parameters": {"k": 9.0, "x0": 0.5, "F": 2.0},
    "bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, "=x0"]}],
    "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "outputs": {"at": {"position": "m"}, "z": {"formula": "=at.z"}, "way": {"displacement": "p"}},
    "forces": [{"type": "force", "joint": "p", "value": "=-k*z"},
               {"type": "applied", "on": "m", "force": [0, 0, "=F*sign(t - 0.7)"]}]})json";
  io::RunSpec spec = spec_of("", 1.5, 1e-7);
  spec.own_model =
      std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", pushed)));
  expect_agreement(spec, {"", "", {"z", "v3"}, {"k", "x0", "F"}, 1.5});
}

/// z = x0 cos ωt, ω² = k/m: the derivative of ∫z = x0 sin(ωT)/ω by x0 is sin(ωT)/ω.
TEST(Adjoint, OfAnOscillatorIsThatOfTheClosedForm) {
  const std::string text = R"({"parameters": {"k": 9.0, "x0": 0.5},
    "bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, "=x0"]}],
    "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "outputs": {"at": {"position": "m"}, "z": {"formula": "=at.z"}},
    "forces": [{"type": "force", "joint": "p", "value": "=-k*z"}]})";
  io::RunSpec spec = spec_of("", 2.0, 1e-9);
  spec.own_model =
      std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", text)));
  run::Observer nobody;
  const run::Gradients found = io::gradients(spec, {"k", "x0"}, {"z", "z@0.7", "integral(z)"}, nobody);
  ASSERT_EQ(found.problem, "");
  const double w = 3.0, T = 2.0, x0 = 0.5;
  EXPECT_NEAR(found.values[0], x0 * std::cos(w * T), 1e-7);
  EXPECT_NEAR(found.values[2], x0 * std::sin(w * T) / w, 1e-7);
  EXPECT_NEAR(found.by(0, 0), -x0 * std::sin(w * T) * T / (2.0 * w), 1e-6);
  EXPECT_NEAR(found.by(0, 1), std::cos(w * T), 1e-6);
  EXPECT_NEAR(found.by(1, 1), std::cos(w * 0.7), 1e-6);
  EXPECT_NEAR(found.by(2, 1), std::sin(w * T) / w, 1e-6);
  EXPECT_NEAR(found.by(2, 0), x0 * (T * std::cos(w * T) / w - std::sin(w * T) / (w * w)) / (2.0 * w), 1e-6);
}

/// The parts of a run between checkpoints are computed again, bit for bit.
TEST(Adjoint, IsTheSameWithCheckpoints) {
  run::Observer nobody;
  const io::RunSpec spec = spec_of("heavy-top", 0.1, 1e-6, "se3");
  const std::vector<std::string> names{"mass", "omega_x"}, scalars{"v6", "integral(v6)"};
  const run::Gradients whole = io::gradients(spec, names, scalars, nobody);
  const run::Gradients parts = io::gradients(spec, names, scalars, nobody, {}, 20000);
  ASSERT_EQ(whole.problem, "");
  ASSERT_EQ(parts.problem, "");
  EXPECT_EQ(whole.repeated_steps, 0);
  EXPECT_GT(parts.repeated_steps, 20);
  EXPECT_EQ(whole.by, parts.by);
}

TEST(Adjoint, SaysWhatItDoesNotServe) {
  run::Observer nobody;
  const auto obstacle_of = [&](io::RunSpec spec, const std::string& name, const std::string& scalar) {
    const run::Gradients found = io::gradients(spec, {name}, {scalar}, nobody);
    EXPECT_EQ(found.report.status, run::Status::success) << found.report.message;
    EXPECT_EQ(found.problem, "");
    EXPECT_TRUE(found.by.allFinite());
    return found.obstacle;
  };
  io::RunSpec radau = spec_of("pendulum", 0.5, 1e-6);
  radau.set("method", std::string("radau"));
  EXPECT_NE(obstacle_of(radau, "length", "v1").find("radau are not maps of their past"), std::string::npos);
  io::RunSpec alpha = spec_of("pendulum", 0.5, 1e-6);
  alpha.set("method", std::string("generalized-alpha"));
  EXPECT_NE(obstacle_of(alpha, "length", "v1").find("have no transposed"), std::string::npos);
  EXPECT_NE(obstacle_of(spec_of("wall-pendulum", 2.0, 1e-6), "wall", "v1").find("changes the motion"),
            std::string::npos);
  EXPECT_THROW(io::gradients(spec_of("pendulum", 0.5, 1e-6), {"length"}, {"nothing"}, nobody), InvalidInput);
  EXPECT_THROW(io::gradients(spec_of("pendulum", 0.5, 1e-6), {"length"}, {"v1@0.6"}, nobody), InvalidInput);
  EXPECT_THROW(io::gradients(spec_of("pendulum", 0.5, 1e-6), {"len"}, {"v1"}, nobody), InvalidInput);
}

/// A ball that falls from h and springs back with e, against closed forms: the adjoint refuses, and what is carried along takes its place. The velocity
/// jumps at a time that moves, which its integral, the way, must know; where the ball ends the run, so must what is asked at the end.
TEST(Adjoint, GivesWayAtEvents) {
  const std::string ball = R"({"gravity": [0, 0, -10], "parameters": {"h": 0.8, "e": 0.7},
    "bodies": [{"name": "b", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, "=h"]}],
    "outputs": {"at": {"position": "b"}, "z": {"formula": "=at.z"}, "speed": {"formula": "=z'"}},
    "events": [{"name": "floor", "when": "=z", "direction": "falling", "action": )";
  const double g = 10.0, h = 0.8, e = 0.7, t1 = std::sqrt(2.0 * h / g), t1_h = 1.0 / (g * t1);
  run::Observer nobody;
  const auto spec_with = [&](const std::string& action, double t_end) {
    io::RunSpec spec;
    spec.own_model = std::make_shared<const models::ModelInfo>(
        io::model_of(std::make_shared<io::JsonSource>("m.json", ball + action + "}]}")));
    spec.set("t_end", t_end);
    spec.set("rtol", 1e-9);
    spec.set("atol", 1e-9);
    return spec;
  };
  {
    const run::Gradients found =
        io::gradients(spec_with(R"({"impact": {"restitution": "=e"}})", 0.7), {"h", "e"},
                      {"z", "speed@0.6", "integral(speed)", "integral(z)", "q3", "v3"}, nobody);
    ASSERT_EQ(found.problem, "");
    EXPECT_NE(found.obstacle.find("floor"), std::string::npos) << found.obstacle;
    const double s = 0.7 - t1, z_h = t1_h * (e * g * s - e * g * t1 + g * s), z_e = g * t1 * s;
    const double fall_h = t1 - 0.0, rise_h = e * g * (s * s / 2.0 * t1_h - t1 * s * t1_h) + g * s * s / 2.0 * t1_h;
    const double expected[6][2] = {{z_h, z_e},       {e * g * t1_h + g * t1_h, g * t1},
                                   {z_h - 1.0, z_e}, {fall_h + rise_h, g * t1 * s * s / 2.0},
                                   {z_h, z_e},       {e * g * t1_h + g * t1_h, g * t1}};
    for (int f = 0; f < 6; ++f)
      for (int j = 0; j < 2; ++j) EXPECT_NEAR(found.by(f, j), expected[f][j], 1e-5) << f << ", " << j;
  }
  {
    const run::Gradients found =
        io::gradients(spec_with("\"stop\"", 5.0), {"h", "e"}, {"z", "v3", "integral(speed)"}, nobody);
    ASSERT_EQ(found.problem, "");
    const double expected[] = {0.0, -g * t1_h, -1.0};
    for (int f = 0; f < 3; ++f) {
      EXPECT_NEAR(found.by(f, 0), expected[f], 1e-6) << f;
      EXPECT_NEAR(found.by(f, 1), 0.0, 1e-9) << f;
    }
  }
}

}  // namespace
