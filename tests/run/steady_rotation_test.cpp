// Bodies that turn at a constant rate: nothing changes in their frame, and only the step decides what is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "lie/turns.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

struct Points final : run::Observer {
  bool accept(const run::Point& point) override {
    list.push_back(point.entry);
    return true;
  }
  std::vector<method::Entry> list;
};

io::ModelFile read(const std::string& text) { return io::read_model(io::JsonSource("model.json", text)); }

run::Report integrate(const io::ModelFile& file, const run::Options& options, run::Observer& observer) {
  return run::integrate(*file.assembly, file.model.start, options, observer);
}

/// 100 rad/s about z for 1 s.
io::ModelFile disc(const std::string& group) {
  return read(R"({"group": ")" + group +
              R"(", "bodies": [{"name": "disc", "mass": 10, "inertia": [0.2, 0.2, 0.3], "position": [0, 0, 0],
    "angular_velocity": [0, 0, 100]}], "joints": [{"type": "revolute", "name": "bearing", "between": ["ground", "disc"], "at": [0, 0, 0],
    "axis": [0, 0, 1]}]})");
}

/// cos of the angle about z.
double R11(const method::Entry& entry) {
  const Eigen::Vector4d quaternion = entry.motion.q.segment<4>(3);
  return 1.0 - 2.0 * (quaternion[1] * quaternion[1] + quaternion[2] * quaternion[2]);
}

TEST(Follow, StaysOnTheTurnOfItsGuess) {
  using lie::GroupId;
  const lie::Space space{{{GroupId::so3}, {GroupId::rn, 2}, {GroupId::se3}, {GroupId::r3xso3}}};
  Vector q(space.nq()), end(space.nq()), x(space.nv()), found;
  space.set_identity(q);
  for (int i = 0; i < space.nv(); ++i) x[i] = std::sin(1.0 + 3.0 * i);
  space.move(q, x, q);
  for (const double angle : {0.3, 2.0, 3.1, 3.3, 4.5, 5.9}) {
    for (const lie::Block& block : space.blocks())
      if (block.group != GroupId::rn)
        x.segment<3>(block.v_at + block.nv - 3) *= angle / x.segment<3>(block.v_at + block.nv - 3).norm();
    space.move(q, x, end);
    found = 0.99 * x;
    lie::follow(space, q, end, found);
    EXPECT_LT((found - x).norm(), 1e-12 * (1.0 + x.norm())) << angle;
  }
}

struct Way {
  const char *method, *group;
  double step;  ///< 0: error control
};

class SteadyRotation : public testing::TestWithParam<Way> {};

TEST_P(SteadyRotation, LosesNoTurns) {
  const io::ModelFile file = disc(GetParam().group);
  run::Options options;
  options.method = GetParam().method;
  options.step = GetParam().step;
  options.t_end = 1.0;
  run::Observer nobody;
  const run::Report report = integrate(file, options, nobody);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  EXPECT_NEAR(R11(report.final), std::cos(100.0), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Run, SteadyRotation,
                         testing::Values(Way{"bliedf", "r3xso3", 0.0}, Way{"bliedf", "se3", 0.0},
                                         Way{"projected-bdf", "r3xso3", 0.0}, Way{"projected-bdf", "se3", 0.0},
                                         Way{"generalized-alpha", "se3", 0.0}, Way{"rkmk", "se3", 0.0},
                                         Way{"radau", "r3xso3", 0.0}, Way{"radau", "se3", 0.0},
                                         Way{"bliedf", "r3xso3", 0.04}, Way{"bliedf", "se3", 0.05},
                                         Way{"mkbdf", "r3xso3", 0.04}, Way{"projected-bdf", "r3xso3", 0.04},
                                         Way{"generalized-alpha", "r3xso3", 0.04}, Way{"rkmk", "r3xso3", 0.04}));

TEST(GivenStep, ThatTurnsABodyTooFarIsRefusedByName) {
  for (const char* method : {"bliedf", "mkbdf", "generalized-alpha", "projected-bdf"}) {
    run::Options options;
    options.method = method;
    options.step = 0.1;
    options.t_end = 1.0;
    run::Observer nobody;
    const run::Report report = integrate(disc("r3xso3"), options, nobody);
    EXPECT_NE(report.status, run::Status::success) << method;
    EXPECT_NE(report.message.find("turned too far: rotation of 'disc' (10 rad, at most 6.0 in a step)"),
              std::string::npos)
        << method << ": " << report.message;
  }
}

/// A mass on a crank of 1 m that turns at 10 rad/s; the bearing carries 100 N, which turn with it.
io::ModelFile rotor(const std::string& more) {
  return read(R"({"group": "se3", )" + more +
              R"( "bodies": [{"name": "b", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [1, 0, 0],
    "velocity": [0, 10, 0], "angular_velocity": [0, 0, 10]}], "joints": [{"type": "revolute", "name": "j", "between": ["ground", "b"],
    "at": [0, 0, 0], "axis": [0, 0, 1]}]})");
}

TEST(SteadyRotation, HasTheReactionsOfTheRotor) {
  for (const char* method : {"bliedf", "projected-bdf", "generalized-alpha", "radau"}) {
    const io::ModelFile file = rotor("");
    run::Options options;
    options.method = method;
    options.t_end = 3.0;
    for (int i = 1; i < 60; ++i) options.output_times.push_back(0.05 * i);
    Points points;
    const run::Report report = integrate(file, options, points);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    ASSERT_EQ(points.list.size(), 61U);
    // Between the points as well: 1000 times the tolerance of 1e-6.
    for (const method::Entry& entry : points.list)
      EXPECT_NEAR(entry.lambda.head<3>().norm(), 100.0, 0.1) << method << " " << entry.motion.t;
    const Vector& first = points.list.front().lambda;
    for (const method::Entry& entry : points.list)
      EXPECT_NEAR(entry.lambda.head<3>().dot(first.head<3>()), 1e4 * std::cos(10.0 * entry.motion.t), 10.0)
          << method << " " << entry.motion.t;
  }
}

TEST(SteadyRotation, OfAMotorDoesTheWorkOfGravity) {
  const io::ModelFile file =
      rotor(R"("gravity": [0, -9.81, 0], "drivers": [{"type": "angle", "name": "m", "between": ["ground", "b"],
    "axis": [0, 0, 1], "value": "10*t"}],)");
  for (const char* method : {"bliedf", "projected-bdf", "radau"}) {
    run::Options options;
    options.method = method;
    options.t_end = 3.0;
    options.output_step = 0.25;
    Points points;
    const run::Report report = integrate(file, options, points);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_NEAR(report.work.drivers, 9.81 * std::sin(30.0), 2e-3) << method;
    for (const method::Entry& entry : points.list)
      EXPECT_NEAR(std::abs(entry.lambda[entry.lambda.size() - 1]), std::abs(9.81 * std::cos(10.0 * entry.motion.t)),
                  1e-2)
          << method << " " << entry.motion.t;
  }
}

/// Where a driver prescribes the motion, no error of q or v bounds the steps: those of its work must.
class WorkOfADriver : public testing::TestWithParam<const char*> {
 protected:
  /// A body of 1 kg on an arm of 1 m, its angle 2(1 - cos 3t).
  static io::ModelFile crank(const std::string& group) {
    return read(R"({"group": ")" + group + R"json(", "gravity": [0, -9.81, 0],
    "bodies": [{"name": "b", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [1, 0, 0]}],
    "joints": [{"type": "revolute", "name": "j", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "drivers": [{"type": "angle", "name": "m", "between": ["ground", "b"], "axis": [0, 0, 1], "value": "2*(1-cos(3*t))"}]})json");
  }
  static double energy(double t) {
    const double rate = 6.0 * std::sin(3.0 * t);
    return 0.55 * rate * rate + 9.81 * std::sin(2.0 * (1.0 - std::cos(3.0 * t)));
  }
};

TEST_P(WorkOfADriver, IsTheEnergyOfTheMotion) {
  const io::ModelFile file = crank(GetParam());
  for (const char* method : {"bliedf", "projected-bdf", "radau", "rkmk", "generalized-alpha"})
    for (const double rtol : {1e-4, 1e-6, 1e-8}) {
      if (std::string(method) == "generalized-alpha" && rtol < 1e-6) continue;  // of order 2
      run::Options options;
      options.method = method;
      options.t_end = 2.0;
      options.rtol = rtol;
      options.atol = 0.01 * rtol;
      run::Observer nobody;
      const run::Report report = integrate(file, options, nobody);
      ASSERT_EQ(report.status, run::Status::success) << report.message;
      EXPECT_NEAR(report.work.drivers, energy(2.0), 500.0 * rtol * 9.81) << method << " " << rtol;
    }
}

TEST_P(WorkOfADriver, HasTheOrderOfRadau) {
  const io::ModelFile file = crank(GetParam());
  double last = 0.0;
  for (const double h : {0.02, 0.01}) {
    run::Options options;
    options.method = "radau";
    options.t_end = 2.0;
    options.step = h;
    run::Observer nobody;
    const run::Report report = integrate(file, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    const double error = std::abs(report.work.drivers - energy(2.0));
    if (last > 0.0) {
      EXPECT_NEAR(std::log2(last / error), 5.0, 0.5);
    }
    last = error;
  }
}

INSTANTIATE_TEST_SUITE_P(OnGroups, WorkOfADriver, testing::Values("r3xso3", "se3"));

/// A disc whose product of inertia of 0.05 kg m² turns at 100 rad/s: its bearing carries 500 N m, which turn with it.
TEST(SteadyRotation, OfATiltedDiscLoadsItsBearing) {
  const io::ModelFile file = read(R"({"bodies": [{"name": "rotor", "mass": 10, "inertia": [0.2, 0.3, 0.2, 0, 0.05, 0],
    "position": [0, 0, 0], "angular_velocity": [0, 0, 100]}], "joints": [{"type": "revolute", "name": "bearing",
    "between": ["rotor", "ground"], "at": [0, 0, 0], "axis": [0, 0, 1]}]})");
  struct Case {
    const char *method, *formulation;
    double rtol;
  };
  for (const Case& c : {Case{"bliedf", "stabilized-index2", 1e-6}, Case{"projected-bdf", "projected", 1e-6},
                        Case{"generalized-alpha", "stabilized-index2", 1e-5}, Case{"radau", "stabilized-index2", 1e-3},
                        Case{"radau", "stabilized-index2", 1e-6}, Case{"radau", "stabilized-index2", 1e-9},
                        Case{"radau", "index3", 1e-6}, Case{"radau", "index2", 1e-6}, Case{"radau", "index1", 1e-6}}) {
    run::Options options;
    options.method = c.method;
    options.formulation = c.formulation;
    options.rtol = options.atol = c.rtol;
    options.t_end = 1.0;
    Points points;
    const run::Report report = integrate(file, options, points);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    double worst = 0.0;
    for (const method::Entry& entry : points.list)
      worst = std::max(worst, std::abs(entry.lambda.tail<2>().norm() - 500.0) / 500.0);
    EXPECT_LT(worst, 1000.0 * c.rtol) << c.method << " " << c.formulation << " " << c.rtol;
  }
}

}  // namespace
