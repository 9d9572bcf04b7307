// Derivatives of runs by parameters, against closed forms.
#include "run/sensitivity.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "io/model_file/model_catalogue.hpp"
#include "io/result/prepare.hpp"
#include "io/result/sensitivities.hpp"
#include "io/result/tuning.hpp"
#include "kreisel/error.hpp"

namespace {

using namespace kreisel;

std::shared_ptr<const models::ModelInfo> info_of(const std::string& text) {
  return std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", text)));
}

io::RunSpec spec_of(const std::string& text, double t_end, double tolerance) {
  io::RunSpec spec;
  spec.own_model = info_of(text);
  spec.set("t_end", t_end);
  spec.set("rtol", tolerance);
  spec.set("atol", tolerance);
  return spec;
}

/// A mass on a spring, x = x0 cos ωt with ω² = k/m.
constexpr const char* oscillator = R"({"parameters": {"k": 9.0, "x0": 0.5},
  "bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, "=x0"]}],
  "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
  "outputs": {"at": {"position": "m"}, "z": {"formula": "=at.z"}},
  "forces": [{"type": "applied", "on": "m", "force": [0, 0, 0]},
             {"type": "force", "joint": "p", "value": "=-k*z"}]})";

class Methods : public testing::TestWithParam<const char*> {};

TEST_P(Methods, DerivativesOfAnOscillatorFallWithTheTolerance) {
  run::Observer nobody;
  double before = HUGE_VAL;
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
    io::RunSpec spec = spec_of(oscillator, 2.0, tolerance);
    spec.set("method", std::string(GetParam()));
    const run::Sensitivities found = io::sensitivities(spec, {"k", "x0"}, nobody);
    ASSERT_EQ(found.report.status, run::Status::success) << found.report.message;
    ASSERT_EQ(found.problem, "");
    ASSERT_EQ(found.by.size(), 2u);
    double worst = 0.0;
    for (std::size_t i = 0; i < found.points.t.size(); ++i) {
      const double t = found.points.t[i], w = 3.0;
      const auto row = static_cast<Eigen::Index>(i);
      const Eigen::Index z = found.points.outputs.cols() - 1;
      worst = std::max(worst, std::abs(found.by[0].outputs(row, z) + 0.5 * std::sin(w * t) * t / (2.0 * w)));
      worst = std::max(worst, std::abs(found.by[1].outputs(row, z) - std::cos(w * t)));
      worst = std::max(worst, std::abs(found.by[1].q(row, 2) - std::cos(w * t)));
      worst = std::max(worst, std::abs(found.by[1].v(row, 2) + w * std::sin(w * t)));
    }
    EXPECT_LT(worst, 0.3 * before) << tolerance;
    EXPECT_LT(worst, 2000.0 * tolerance);
    before = worst;
    for (const run::Sensitivity& s : found.by) EXPECT_LT(s.uncertainty, 1e-7);
  }
}
INSTANTIATE_TEST_SUITE_P(All, Methods, testing::Values("bliedf", "radau", "generalized-alpha", "rkmk"));

/// A ball that falls from h and springs back with e: after the impact at t₁ = √(2h/g) its height is
/// e g t₁ (t - t₁) - g (t - t₁)²/2, and the derivatives jump.
TEST(Sensitivity, ThroughAnImpact) {
  const std::string ball = R"({"gravity": [0, 0, -10], "parameters": {"h": 0.8, "e": 0.7},
    "bodies": [{"name": "b", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, "=h"]}],
    "outputs": {"at": {"position": "b"}, "z": {"formula": "=at.z"}},
    "events": [{"name": "floor", "when": "=z", "direction": "falling", "action": {"impact": {"restitution": "=e"}}}]})";
  run::Observer nobody;
  for (const char* method : {"bliedf", "radau"}) {
    io::RunSpec spec = spec_of(ball, 0.7, 1e-9);
    spec.set("method", std::string(method));
    const run::Sensitivities found = io::sensitivities(spec, {"h", "e"}, nobody);
    ASSERT_EQ(found.report.status, run::Status::success) << found.report.message;
    ASSERT_EQ(found.problem, "") << method;
    const double g = 10.0, h = 0.8, e = 0.7, t1 = std::sqrt(2.0 * h / g), t1_h = 1.0 / (g * t1);
    ASSERT_EQ(found.by[0].event_times.size(), 1);
    EXPECT_NEAR(found.by[0].event_times[0], t1_h, 1e-6);
    EXPECT_NEAR(found.by[1].event_times[0], 0.0, 1e-9);
    const Eigen::Index z = found.points.outputs.cols() - 1;
    int behind = 0;
    for (std::size_t i = 0; i < found.points.t.size(); ++i) {
      const double t = found.points.t[i], s = t - t1;
      const auto row = static_cast<Eigen::Index>(i);
      if (found.points.segment[i] == 0) {
        EXPECT_NEAR(found.by[0].outputs(row, z), 1.0, 1e-6) << method << ", t = " << t;
        EXPECT_NEAR(found.by[1].outputs(row, z), 0.0, 1e-9);
      } else {
        ++behind;
        // d/dt₁ of the height after the impact, times dt₁/dh.
        EXPECT_NEAR(found.by[0].outputs(row, z), t1_h * (e * g * s - e * g * t1 + g * s), 1e-5)
            << method << ", t = " << t;
        EXPECT_NEAR(found.by[1].outputs(row, z), g * t1 * s, 1e-5);
        EXPECT_NEAR(found.by[0].v(row, 2), t1_h * (e * g + g), 1e-5);
      }
    }
    EXPECT_GT(behind, 2);
  }
}

/// Of a built-in model with joints, against runs at tolerances far below: chosen steps do not enter.
TEST(Sensitivity, OfADoublePendulum) {
  run::Observer nobody;
  io::RunSpec spec;
  spec.model = "heavy-top";
  spec.set("t_end", 0.3);
  const auto final_of = [&](double mass) {
    io::RunSpec fine = io::with_parameter(spec, "mass", mass);
    fine.set("rtol", 1e-12);
    fine.set("atol", 1e-12);
    fine.set("method", std::string("radau"));
    const io::PreparedRun run = io::prepare(fine);
    return run::integrate(*run.model.system, run.model.start, run.options, nobody).final;
  };
  const double mass = io::parameter_value(spec, "mass"), step = 1e-3 * mass;
  const Vector exact = (8.0 * (final_of(mass + step).motion.v - final_of(mass - step).motion.v) -
                        (final_of(mass + 2.0 * step).motion.v - final_of(mass - 2.0 * step).motion.v)) /
                       (12.0 * step);
  spec.set("rtol", 1e-8);
  spec.set("atol", 1e-8);
  const run::Sensitivities found = io::sensitivities(spec, {"mass"}, nobody);
  ASSERT_EQ(found.problem, "");
  const Vector last = found.by[0].v.row(found.by[0].v.rows() - 1);
  EXPECT_LT((last - exact).norm(), 1e-4 * exact.norm());
}

TEST(Sensitivity, SaysWhatCannotBe) {
  run::Observer nobody;
  const io::RunSpec spec = spec_of(oscillator, 1.0, 1e-6);
  EXPECT_THROW(io::sensitivities(spec, {"kk"}, nobody), InvalidInput);
  EXPECT_THROW(io::sensitivities(spec, {"k", "k"}, nobody), InvalidInput);
}

// ---- fits

io::FitData data_of(const io::RunSpec& spec, const std::vector<double>& times, double noise, unsigned seed) {
  run::Observer nobody;
  const run::Sensitivities found = io::sensitivities(spec, {}, nobody);
  const Matrix z = found.at(times, found.points.outputs.rightCols(1));
  io::FitData data{times, {"z"}, z};
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0.0, 1.0);
  for (double& y : data.values.reshaped()) y += noise * normal(generator);
  return data;
}

/// The least squares of x0 cos √k t itself, by Gauss and Newton, with their standard errors.
TEST(Fit, FindsTheLeastSquaresOfTheClosedForm) {
  run::Observer nobody;
  const io::RunSpec spec = spec_of(oscillator, 2.0, 1e-8);
  std::vector<double> times;
  for (int i = 1; i <= 40; ++i) times.push_back(0.05 * i);
  const io::RunSpec truth = io::with_parameter(io::with_parameter(spec, "k", 12.0), "x0", 0.7);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const io::FitData data = data_of(truth, times, 0.01, seed);
    const io::Fit fit = io::fit(spec, data, {{.name = "k", .low = 1.0, .high = 100.0}, {.name = "x0"}}, nobody);
    ASSERT_TRUE(fit.is_found) << fit.message;
    Eigen::Vector2d p(12.0, 0.7);
    Matrix J(40, 2);
    Vector r(40);
    for (int iteration = 0; iteration < 20; ++iteration) {
      for (int i = 0; i < 40; ++i) {
        const double w = std::sqrt(p[0]), t = times[static_cast<std::size_t>(i)];
        r[i] = p[1] * std::cos(w * t) - data.values(i, 0);
        J(i, 0) = -p[1] * std::sin(w * t) * t / (2.0 * w);
        J(i, 1) = std::cos(w * t);
      }
      p -= J.colPivHouseholderQr().solve(r);
    }
    const Matrix covariance = r.squaredNorm() / 38.0 * (J.transpose() * J).inverse();
    for (int j = 0; j < 2; ++j) {
      const double sigma = std::sqrt(covariance(j, j));
      EXPECT_NEAR(fit.values[j], p[j], 1e-3 * sigma);
      EXPECT_NEAR(fit.standard_errors[j], sigma, 1e-3 * sigma);
    }
  }
}

TEST(Fit, StopsAtItsBound) {
  run::Observer nobody;
  const io::RunSpec spec = spec_of(oscillator, 2.0, 1e-8);
  std::vector<double> times;
  for (int i = 1; i <= 40; ++i) times.push_back(0.05 * i);
  const io::FitData data = data_of(io::with_parameter(spec, "k", 12.0), times, 0.0, 1);
  const io::Fit fit = io::fit(spec, data, {{.name = "k", .low = 1.0, .high = 11.0}}, nobody);
  ASSERT_TRUE(fit.is_found) << fit.message;
  EXPECT_EQ(fit.values[0], 11.0);
  EXPECT_TRUE(fit.is_at_bound[0]);
}

/// x = a t²/2 + b t³/6 with a = 1 beyond its bound 0.9. Cut off at the bound, the step from the start to (1, 0.5) leads uphill; along the bound
/// the sum of squares falls to b = 0.5 + 0.1 Σ(t²/2 · t³/6)/Σ(t³/6)².
TEST(Fit, GoesOnAlongABound) {
  run::Observer nobody;
  const std::string text = R"({"gravity": [0, 0, 0], "parameters": {"a": 0.85, "b": 1.0},
    "bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "outputs": {"z": {"displacement": "p"}},
    "forces": [{"type": "force", "joint": "p", "value": "=a + b*t"}]})";
  const io::RunSpec spec = spec_of(text, 1.0, 1e-10);
  std::vector<double> times;
  double product = 0.0, square = 0.0;
  for (int i = 1; i <= 20; ++i) {
    const double t = 0.05 * i;
    times.push_back(t);
    product += t * t / 2.0 * t * t * t / 6.0;
    square += std::pow(t * t * t / 6.0, 2);
  }
  const io::RunSpec truth = io::with_parameter(io::with_parameter(spec, "a", 1.0), "b", 0.5);
  const io::FitData data = data_of(truth, times, 0.0, 1);
  const io::Fit fit =
      io::fit(spec, data, {{.name = "a", .low = 0.0, .high = 0.9}, {.name = "b", .low = 0.0, .high = 2.0}}, nobody);
  ASSERT_TRUE(fit.is_found) << fit.message;
  EXPECT_GT(fit.iterations, 0);
  EXPECT_EQ(fit.values[0], 0.9);
  EXPECT_NEAR(fit.values[1], 0.5 + 0.1 * product / square, 1e-6);
}

TEST(Fit, NamesWhatTheDataDoNotDetermine) {
  run::Observer nobody;
  // Only k + c enters, and nothing depends on d.
  const std::string text = R"({"parameters": {"k": 5.0, "c": 4.0, "d": 1.0},
    "bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, "=d"], "position": [0, 0, 0.5]}],
    "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "outputs": {"at": {"position": "m"}, "z": {"formula": "=at.z"}},
    "forces": [{"type": "force", "joint": "p", "value": "=-(k + c)*z"}]})";
  const io::RunSpec spec = spec_of(text, 2.0, 1e-8);
  std::vector<double> times;
  for (int i = 1; i <= 40; ++i) times.push_back(0.05 * i);
  const io::FitData data = data_of(io::with_parameter(spec, "k", 6.0), times, 0.001, 1);
  const io::Fit both = io::fit(spec, data, {{.name = "k"}, {.name = "c"}}, nobody);
  EXPECT_FALSE(both.is_found);
  EXPECT_NE(both.message.find(" k"), std::string::npos) << both.message;
  EXPECT_NE(both.message.find(" c"), std::string::npos) << both.message;
  const io::Fit none = io::fit(spec, data, {{.name = "k"}, {.name = "d"}}, nobody);
  EXPECT_FALSE(none.is_found);
  EXPECT_NE(none.message.find("'d'"), std::string::npos) << none.message;
}

/// A four-bar with a spring, a damper and an unknown mass, from angles with noise.
constexpr const char* four_bar = R"({"gravity": [0, -9.81, 0], "parameters": {"k": 40.0, "c": 0.6, "m": 1.5},
  "bodies": [
    {"name": "crank", "mass": 0.5, "inertia": [0.001, 0.002, 0.002], "position": [0, 0.1, 0]},
    {"name": "coupler", "mass": "=m", "inertia": [0.001, 0.03, 0.03], "position": [0.25, 0.2, 0]},
    {"name": "rocker", "mass": 0.6, "inertia": [0.003, 0.004, 0.003], "position": [0.5, 0.1, 0]}],
  "joints": [
    {"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]},
    {"name": "B", "type": "spherical", "between": ["crank", "coupler"], "at": [0, 0.2, 0]},
    {"name": "C", "type": "universal", "between": ["coupler", "rocker"], "at": [0.5, 0.2, 0], "axes": [[0, 0, 1], [0, 1, 0]]},
    {"name": "D", "type": "revolute", "between": ["ground", "rocker"], "at": [0.5, 0, 0], "axis": [0, 0, 1]}],
  "forces": [{"type": "torque", "joint": "A", "value": "=-k*(z - 0.4) - c*z'"}],
  "outputs": {"z": {"angle": "A"}}})";

TEST(Fit, RecoversThreeParametersOfAFourBar) {
  run::Observer nobody;
  const io::RunSpec truth = spec_of(four_bar, 1.0, 1e-6);
  io::RunSpec begin = truth;
  for (const auto& [name, value] : {std::pair("k", 30.0), std::pair("c", 0.4), std::pair("m", 1.2)})
    begin = io::with_parameter(begin, name, value);
  std::vector<double> times;
  for (int i = 1; i <= 50; ++i) times.push_back(0.02 * i);
  const io::FitData exact = data_of(truth, times, 0.0, 1);
  const int seeds = std::getenv("KREISEL_FIT_SEEDS") != nullptr ? std::atoi(std::getenv("KREISEL_FIT_SEEDS")) : 4;
  int outside = 0;
  long runs = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    io::FitData data = exact;
    std::mt19937_64 generator(static_cast<unsigned>(seed));
    std::normal_distribution<double> normal(0.0, 1.0);
    for (double& y : data.values.reshaped()) y += 2e-3 * normal(generator);
    const io::Fit fit = io::fit(begin, data, {{.name = "k"}, {.name = "c"}, {.name = "m"}}, nobody);
    ASSERT_TRUE(fit.is_found) << fit.message;
    EXPECT_TRUE(fit.warnings.empty()) << fit.warnings.front();
    const double right[] = {40.0, 0.6, 1.5};
    for (int j = 0; j < 3; ++j) outside += std::abs(fit.values[j] - right[j]) > 2.0 * fit.standard_errors[j];
    runs += fit.runs;
  }
  RecordProperty("outside", outside);
  RecordProperty("runs", static_cast<int>(runs));
  if (seeds != 4)
    std::printf("%d of %d outside, %.2f runs with derivatives\n", outside, 3 * seeds, double(runs) / seeds);
  // The three go together: a mass, a spring and a damper of twice the size move alike but for the other bodies. Of 4 seeds with
  // 5 % outside each, more than 2 have a probability of 5e-4.
  EXPECT_LE(outside, seeds == 4 ? 6 : 3 * seeds / 10);
  EXPECT_LE(runs, 7 * seeds);
}

/// Another four-bar, from parameters that are off by half, without bounds: on its way the damper nearly stops the motion, where the data hardly
/// determine anything, and steps by standard errors lead to negative masses.
TEST(Fit, FindsItsWayWithoutBounds) {
  run::Observer nobody;
  const io::RunSpec right = spec_of(R"({"gravity": [0, -9.81, 0], "parameters": {"k": 180.0, "c": 2.5, "m": 0.8},
  "bodies": [
    {"name": "crank", "mass": 0.3, "inertia": [0.001, 0.002, 0.002], "position": [0.075, 0.1299038105676658, 0]},
    {"name": "coupler", "mass": 0.9, "inertia": [0.02, 0.03, 0.02], "position": [0.4, 0.3299038105676658, 0]},
    {"name": "rocker", "mass": "=m", "inertia": [0.012, 0.004, 0.012], "position": [0.675, 0.2, 0]}],
  "joints": [
    {"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]},
    {"name": "B", "type": "spherical", "between": ["crank", "coupler"], "at": [0.15, 0.2598076211353316, 0]},
    {"name": "C", "type": "universal", "between": ["coupler", "rocker"], "at": [0.65, 0.4, 0], "axes": [[0, 0, 1], [0, 1, 0]]},
    {"name": "D", "type": "revolute", "between": ["ground", "rocker"], "at": [0.7, 0, 0], "axis": [0, 0, 1]}],
  "forces": [{"type": "spring-damper", "between": ["ground", "coupler"], "at": [[0.1, 0.9, 0], [0.4, 0.3299038105676658, 0]], "stiffness": "=k", "damping": "=c", "length": 0.45}],
  "outputs": {"z": {"angle": "D"}}})",
                                    1.5, 1e-6);
  io::RunSpec begin = right;
  for (const auto& [name, value] : {std::pair("k", 120.0), std::pair("c", 1.2), std::pair("m", 1.1)})
    begin = io::with_parameter(begin, name, value);
  std::vector<double> times;
  for (int i = 1; i <= 50; ++i) times.push_back(0.03 * i);
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const io::FitData data = data_of(right, times, 4e-3, seed);
    const io::Fit fit = io::fit(begin, data, {{.name = "k"}, {.name = "c"}, {.name = "m"}}, nobody);
    ASSERT_TRUE(fit.is_found) << fit.message;
    const double truth[] = {180.0, 2.5, 0.8};
    for (int j = 0; j < 3; ++j) EXPECT_LT(std::abs(fit.values[j] - truth[j]), 4.0 * fit.standard_errors[j]) << seed;
    EXPECT_LE(fit.runs, 40) << seed;
  }
}

/// A fit that is stuck far from the truth says that what is left is no noise, and more starts find the truth.
TEST(Fit, TellsOfALocalMinimum) {
  run::Observer nobody;
  const io::RunSpec spec = spec_of(oscillator, 3.0, 1e-5);
  std::vector<double> times;
  for (int i = 1; i <= 60; ++i) times.push_back(0.05 * i);
  const io::FitData data = data_of(io::with_parameter(spec, "k", 60.0), times, 1e-3, 1);
  const io::Fit stuck = io::fit(spec, data, {{.name = "k", .low = 2.0, .high = 120.0}}, nobody);
  ASSERT_TRUE(stuck.is_found) << stuck.message;
  ASSERT_GT(std::abs(stuck.values[0] - 60.0), 5.0);
  ASSERT_FALSE(stuck.warnings.empty());
  EXPECT_NE(stuck.warnings[0].find("local minimum"), std::string::npos) << stuck.warnings[0];
  const io::Fit found = io::fit(spec, data, {{.name = "k", .low = 2.0, .high = 120.0}}, nobody, {.starts = 8});
  ASSERT_TRUE(found.is_found) << found.message;
  EXPECT_NEAR(found.values[0], 60.0, 0.1);
  EXPECT_FALSE(found.others.empty());
}

}  // namespace
