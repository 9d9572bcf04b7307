// The unit of length is the user's: what a run costs and what it finds do not depend on it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

/// Two rods of length 2 that swing as a chain, in metres times `u`, seconds times `s` and kilogrammes times `m`.
std::string rods(double u, double s, double m = 1.0, const char* group = "r3xso3") {
  return fmt::format(R"({{"group": "{11}", "gravity": [0, 0, {0:.17g}], "bodies": [
    {{"name": "upper", "mass": {10:.17g}, "inertia": [{1:.17g}, {2:.17g}, {2:.17g}], "position": [{3:.17g}, 0, 0], "velocity": [0, 0, {4:.17g}], "angular_velocity": [0, {5:.17g}, 0]}},
    {{"name": "lower", "mass": {12:.17g}, "inertia": [{1:.17g}, {2:.17g}, {2:.17g}], "position": [{6:.17g}, 0, 0], "velocity": [0, 0, {7:.17g}], "angular_velocity": [0, {8:.17g}, 0]}}],
    "joints": [{{"type": "revolute", "name": "pin", "between": ["ground", "upper"], "at": [0, 0, 0], "axis": [0, 1, 0]}},
      {{"type": "spherical", "name": "ball", "between": ["upper", "lower"], "at": [{9:.17g}, 0, 0]}}]}})",
                     -9.81 * u / (s * s), 0.01 * m * u * u, m * u * u / 3.0, u, -3.0 * u / s, 3.0 / s, 3.0 * u,
                     -4.0 * u / s, -2.0 / s, 2.0 * u, m, group, 2.0 * m);
}

run::Report run_in(const std::string& text, double t_end, double rtol, const std::string& method) {
  const io::ModelFile file = io::read_model(io::JsonSource("model.json", text));
  run::Options options;
  if (!method.empty()) options.method = method;
  options.t_end = t_end;
  options.rtol = rtol;
  options.atol = 1e-30;  // rotations have no unit: what is absolute must not count
  run::Observer nobody;
  return run::integrate(*file.assembly, file.model.start, options, nobody);
}

/// From metres and seconds to micrometres, megametres, milliseconds and kiloseconds.
class UnitOfLengthAndTime : public testing::TestWithParam<const char*> {};

TEST_P(UnitOfLengthAndTime, ChangesNeitherStepsNorMotion) {
  for (const double rtol : {1e-5, 1e-8}) {
    const run::Report metres = run_in(rods(1.0, 1.0), 2.0, rtol, GetParam());
    ASSERT_EQ(metres.status, run::Status::success) << metres.message;
    for (const double u : {1e-6, 1e-3, 1e3, 1e6})
      for (const double s : {1e-3, 1.0, 1e3}) {
        SCOPED_TRACE(fmt::format("rtol {}, 1 m is {}, 1 s is {}", rtol, u, s));
        const run::Report report = run_in(rods(u, s), 2.0 * s, rtol, GetParam());
        ASSERT_EQ(report.status, run::Status::success) << report.message;
        EXPECT_NEAR(static_cast<double>(report.counters.steps), static_cast<double>(metres.counters.steps),
                    0.06 * metres.counters.steps);  // round-off decides some steps
        for (const int body : {0, 7}) {
          EXPECT_LT((report.final.motion.q.segment<3>(body) / u - metres.final.motion.q.segment<3>(body)).norm(),
                    100.0 * rtol);
          EXPECT_LT((report.final.motion.q.segment<4>(body + 3) - metres.final.motion.q.segment<4>(body + 3)).norm(),
                    100.0 * rtol);
        }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(ByMethod, UnitOfLengthAndTime, testing::Values("", "radau"));

/// An arm of 60 mm that a torque speeds up to 1,000 rad/s, in metres times `u` and kilogrammes times `m`.
TEST(UnitOfLength, GivenStepsOfRadauTakeMillimetres) {
  for (const auto& [u, m] : {std::pair{1.0, 1.0}, std::pair{1e3, 1e-3}, std::pair{1e6, 1e-6}})
    for (const double step : {1e-4, 2e-5}) {
      SCOPED_TRACE(fmt::format("1 m is {}, step {}", u, step));
      const double J = 5e-3 * m * u * u, torque = 100 * m * u * u;
      const io::ModelFile file = io::read_model(io::JsonSource(
          "model.json",
          fmt::format(R"({{"bodies": [{{"name": "arm", "mass": {}, "inertia": [{}, {}, {}], "position": [0, 0, {}]}}],
            "joints": [{{"type": "revolute", "name": "pin", "between": ["ground", "arm"], "at": [0, 0, 0], "axis": [0, 1, 0]}}],
            "outputs": {{"angle": {{"angle": "pin"}}}},
            "forces": [{{"type": "torque", "name": "motor", "joint": "pin", "value": {}}}]}})",
                      1.5 * m, 0.6 * J, J, 0.6 * J, -0.06 * u, torque)));
      run::Options options;
      options.method = "radau";
      options.t_end = 0.1;
      options.step = step;
      run::Observer nobody;
      const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
      ASSERT_EQ(report.status, run::Status::success) << report.message;
      const double rate = 100 / (5e-3 + 1.5 * 0.06 * 0.06) * 0.1;
      EXPECT_NEAR(report.final.motion.v[4], rate, 1e-6 * rate);
    }
}

/// Arms of astronomical length: beside them the directions of axes are no round-off, and metres are.
class ArmsOfAstronomicalLength : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ArmsOfAstronomicalLength, TakeTheStepsOfShortOnes) {
  const auto [method, group] = GetParam();
  const run::Report metres = run_in(rods(1.0, 1.0, 1.0, group), 2.0, 1e-6, method);
  for (const auto& [u, s] : {std::pair{1e8, 1e4}, std::pair{1e11, 1e7}}) {
    SCOPED_TRACE(fmt::format("1 m is {}, 1 s is {}", u, s));
    const run::Report report = run_in(rods(u, s, 1e30, group), 2.0 * s, 1e-6, method);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_NEAR(static_cast<double>(report.counters.steps), static_cast<double>(metres.counters.steps),
                0.1 * metres.counters.steps);
    for (const int body : {0, 7})
      EXPECT_LT((report.final.motion.q.segment<3>(body) / u - metres.final.motion.q.segment<3>(body)).norm(), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(ByMethod, ArmsOfAstronomicalLength,
                         testing::Combine(testing::Values("bliedf", "radau", "projected-bdf", "generalized-alpha"),
                                          testing::Values("r3xso3", "se3")));

/// Micromechanisms in metres and kilogrammes: masses by the cube of the length, beside constraints that do not shrink.
class Micromechanism : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Micromechanism, TakesTheStepsOfALargeOne) {
  const auto [method, group] = GetParam();
  const double rtol = 1e-6;
  const run::Report metres = run_in(rods(1.0, 1.0, 1.0, group), 2.0, rtol, method);
  ASSERT_EQ(metres.status, run::Status::success) << metres.message;
  for (const auto& [u, m] :
       {std::pair{1e-3, 1e-9}, std::pair{1e-6, 1e-18}, std::pair{1.0, 1e-18}, std::pair{1.0, 1e12}}) {
    SCOPED_TRACE(fmt::format("1 m is {}, 1 kg is {}", u, m));
    const run::Report report = run_in(rods(u, 1.0, m, group), 2.0, rtol, method);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_NEAR(static_cast<double>(report.counters.steps), static_cast<double>(metres.counters.steps),
                0.06 * metres.counters.steps);
    for (const int body : {0, 7})
      EXPECT_LT((report.final.motion.q.segment<3>(body) / u - metres.final.motion.q.segment<3>(body)).norm(),
                100.0 * rtol);
  }
}

INSTANTIATE_TEST_SUITE_P(ByMethod, Micromechanism,
                         testing::Combine(testing::Values("bliedf", "radau", "projected-bdf"),
                                          testing::Values("r3xso3", "se3")));

}  // namespace
