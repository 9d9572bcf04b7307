// Points and rollers on closed curves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "io/model_file/model_file.hpp"
#include "kreisel/mechanism.hpp"
#include "multibody/closed_curve.hpp"
#include "run/integrator.hpp"
#include "system/random_motion.hpp"

namespace {

using namespace kreisel;
using multibody::ClosedCurve;

std::vector<ClosedCurve::Point> circle(int n, double r, double x, double y) {
  std::vector<ClosedCurve::Point> points;
  for (int i = 0; i < n; ++i)
    points.emplace_back(x + r * std::cos(2.0 * M_PI * i / n), y + r * std::sin(2.0 * M_PI * i / n));
  return points;
}

TEST(ClosedCurve, HasTheDistanceFromACircleToOrderSix) {
  double last = 0.0;
  for (const int n : {12, 24, 48}) {
    double error = 0.0;
    const ClosedCurve curve(circle(n, 0.7, 0.3, -0.1));
    samples::Source source;
    for (int k = 0; k < 50; ++k) {
      const Vector y = samples::random_vector(source, 2);
      if ((y - Vector(Eigen::Vector2d(0.3, -0.1))).norm() < 0.3) continue;
      error = std::max(error, std::abs(curve.distance(y).value - ((y - Eigen::Vector2d(0.3, -0.1)).norm() - 0.7)));
    }
    if (last > 0.0) {
      EXPECT_NEAR(std::log2(last / error), 6.0, 0.4) << n << ": " << error;
    }
    last = error;
  }
  EXPECT_LT(last, 1e-9);
}

/// Value, slopes and curvature are continuous over the points, and the same clockwise.
TEST(ClosedCurve, HasDerivativesOfItsDistance) {
  std::vector<ClosedCurve::Point> points;
  for (int i = 0; i < 17; ++i) {
    const double a = 2.0 * M_PI * (i + 0.2 * std::sin(i)) / 17, r = 1.0 + 0.3 * std::cos(3.0 * a);
    points.emplace_back(r * std::cos(a), r * std::sin(a));
  }
  const ClosedCurve curve(points);
  std::reverse(points.begin(), points.end());
  const ClosedCurve clockwise(points);
  for (int k = 0; k < 200; ++k) {
    const double a = 2.0 * M_PI * k / 200, r = 1.0 + 0.3 * std::cos(3.0 * a) + 0.1 * std::sin(1.0 * k);
    const Eigen::Vector2d y(r * std::cos(a), r * std::sin(a));
    const auto f = curve.distance(y);
    const double h = 1e-5;
    const auto right = curve.distance(y + Eigen::Vector2d(h, 0.0)), left = curve.distance(y - Eigen::Vector2d(h, 0.0)),
               up = curve.distance(y + Eigen::Vector2d(0.0, h)), down = curve.distance(y - Eigen::Vector2d(0.0, h));
    EXPECT_NEAR((right.value - left.value) / (2.0 * h), f.by_1, 1e-8);
    EXPECT_NEAR((up.value - down.value) / (2.0 * h), f.by_2, 1e-8);
    EXPECT_NEAR((right.by_1 - left.by_1) / (2.0 * h), f.by_11, 1e-6);
    EXPECT_NEAR((up.by_1 - down.by_1) / (2.0 * h), f.by_12, 1e-6);
    EXPECT_NEAR((up.by_2 - down.by_2) / (2.0 * h), f.by_22, 1e-6);
    EXPECT_NEAR(clockwise.distance(y).value, f.value, 1e-12);
  }
}

TEST(ClosedCurve, SaysWhatIsWrongWithItsPoints) {
  const auto complaint = [](std::vector<ClosedCurve::Point> points) -> std::string {
    try {
      ClosedCurve curve(points);
    } catch (const InvalidInput& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(circle(12, 1.0, 0.0, 0.0)), "");
  EXPECT_EQ(complaint(circle(5, 1.0, 0.0, 0.0)), "has 5 points, expected 6 to 2000");
  std::vector<ClosedCurve::Point> repeated = circle(12, 1.0, 0.0, 0.0);
  repeated.push_back(repeated.front());
  EXPECT_NE(complaint(repeated).find("leave the last one out"), std::string::npos) << complaint(repeated);
  repeated = circle(12, 1.0, 0.0, 0.0);
  repeated[4] = repeated[3];
  EXPECT_NE(complaint(repeated).find("points 4 and 5 are the same"), std::string::npos) << complaint(repeated);
  std::vector<ClosedCurve::Point> eight;
  for (int i = 0; i < 24; ++i) {
    const double a = 2.0 * M_PI * (i + 0.3) / 24;
    eight.emplace_back(std::sin(a), std::sin(2.0 * a));
  }
  EXPECT_NE(complaint(eight).find("intersects itself"), std::string::npos) << complaint(eight);
  // Points along straight edges.
  std::vector<ClosedCurve::Point> square;
  for (const auto& [x, y] : {std::pair{-1, -1}, {0, -1}, {1, -1}, {1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}})
    square.emplace_back(x, y);
  EXPECT_EQ(complaint(square), "");
}

/// An eccentric disk lifts a roller: the centre of the roller is at e sin φ + √((R + ρ)² - e² cos² φ). Driven at constant speed, the force
/// between them follows from m ÿ.
TEST(Cam, LiftsARollerAsAnEccentricDiskDoes) {
  const double e = 0.01, R = 0.04, rho = 0.015, speed = 12.0, mass = 0.8, t_end = 1.3;
  const double both = R + rho;
  const auto height = [&](double t) {
    const double s = std::sin(speed * t), c = std::cos(speed * t);
    return e * s + std::sqrt(both * both - e * e * c * c);
  };
  for (const lie::GroupId group : {lie::GroupId::r3xso3, lie::GroupId::se3}) {
    Mechanism mechanism("eccentric", group);
    const Body disk = mechanism.add_body({.name = "cam",
                                          .mass = 1.0,
                                          .inertia = diagonal(0.01, 0.01, 0.02),
                                          .angular_velocity = Vector3(0.0, 0.0, speed)});
    const Vector3 start(0.0, height(0.0), 0.3);
    const Body follower = mechanism.add_body({.name = "follower",
                                              .mass = mass,
                                              .inertia = diagonal(0.01, 0.01, 0.01),
                                              .position = start,
                                              .velocity = Vector3(0.0, e * speed, 0.0)});
    mechanism.set_gravity({0.0, -9.81, 0.0});
    mechanism.add_joint(revolute({ground, disk}, Vector3::Zero(), Vector3::UnitZ()));
    mechanism.add_joint(prismatic({ground, follower}, Vector3::Zero(), Vector3::UnitY()));
    const int contact = mechanism.add_joint(
        cam({disk, follower}, Vector3::Zero(), Vector3::UnitZ(), start, circle(40, R, e, 0.0), rho));
    mechanism.add_joint(angle_driver({ground, disk}, Vector3::UnitZ(), "12*t"));
    const run::Problem problem = mechanism.problem({.t_end = t_end});
    run::Options options;
    options.rtol = options.atol = 1e-9;
    options.t_end = t_end;
    run::Observer nobody;
    const run::Report report = run::integrate(*problem.system, problem.start, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    const double h = 1e-4;
    const double curve = (height(t_end + h) - 2.0 * height(t_end) + height(t_end - h)) / (h * h);
    EXPECT_NEAR(report.final.motion.q[8], height(t_end), 2e-8);
    const system::Reaction force = problem.system->reaction(contact, report.final.motion, report.final.lambda);
    EXPECT_NEAR(force.force.y(), mass * (curve + 9.81), 2e-4);
    // Along the normal of the disk: from its centre to that of the roller.
    const double centre_x = e * std::cos(speed * t_end), centre_y = e * std::sin(speed * t_end);
    EXPECT_NEAR(force.force.x() / force.force.y(), -centre_x / (height(t_end) - centre_y), 1e-5);
    EXPECT_NEAR(force.force.z(), 0.0, 1e-10);
  }
}

TEST(Cam, IsRefusedWithItsPlace) {
  const auto complaint = [](const std::string& curve, const char* radius) -> std::string {
    try {
      io::read_model(io::JsonSource(
          "test.json",
          fmt::format(R"({{"bodies": [{{"name": "cam", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}},
            {{"name": "rod", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0]}}],
          "joints": [{{"type": "cam", "between": ["cam", "rod"], "at": [[0, 0, 0], [1, 0, 0]], "axis": [0, 0, 1], "radius": {}, "curve": {}}}]}})",
                      radius, curve)));
    } catch (const InvalidInput& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(complaint("[[0, 0], [1, 0]]", "0").find("/joints/0/curve"), std::string::npos);
  EXPECT_NE(complaint("[[0, 0], [1]]", "0").find("/joints/0/curve/1"), std::string::npos);
  EXPECT_NE(complaint("3", "0").find("/joints/0/curve"), std::string::npos);
  std::string star = "[";
  for (int i = 0; i < 40; ++i) {
    const double a = 2.0 * M_PI * i / 40, r = 1.0 + 0.2 * std::cos(5.0 * a);
    star += fmt::format("{}[{}, {}]", i == 0 ? "" : ",", r * std::cos(a), r * std::sin(a));
  }
  EXPECT_NE(complaint(star + "]", "2").find("does not fit"), std::string::npos) << complaint(star + "]", "2");
}

}  // namespace
