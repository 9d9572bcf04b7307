// Studies of systems and methods of a program.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "kreisel/error.hpp"
#include "kreisel/own_method.hpp"
#include "kreisel/own_system.hpp"
#include "kreisel/study.hpp"

namespace {

using namespace kreisel;

constexpr double omega = 2.8284271247461903;  // 5 ẍ = -40 x

/// Two springs of 4 N/m and 9 N/m on two points with y = 2 x.
run::Problem coupled_springs() {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 2}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector { return Eigen::Vector2d(4.0 * q[0], 9.0 * q[1]); };
  f.constraint = [](double, const Vector& q) -> Vector { return Vector::Constant(1, q[1] - 2.0 * q[0]); };
  f.position_rows = 1;
  run::Problem problem;
  problem.start = {.t0 = 0.0, .t_end = 1.0, .q0 = Eigen::Vector2d(1.0, 2.0), .v0 = Vector::Zero(2)};
  problem.system = std::make_shared<system::FunctionSystem>(f, problem.start);
  return problem;
}

void exact(double t, Vector& q, Vector& v, Vector& lambda) {
  const double x = std::cos(omega * t);
  q = Eigen::Vector2d(x, 2.0 * x);
  v = -omega * std::sin(omega * t) * Eigen::Vector2d(1.0, 2.0);
  lambda = Vector::Constant(1, 2.0 * omega * omega * x - 18.0 * x);
}

study::StudyRequest request(const std::string& method) {
  study::StudyRequest out;
  out.spec =
      R"({"model": "springs", "method": ")" + method +
      R"(", "formulation": "index3", "step": [0.02, 0.01, 0.005], "measures": ["q max", "v max", "lambda max"]})";
  out.models = {{"springs", coupled_springs()}};
  out.exact = exact;
  return out;
}

void expect_order(const study::StudyTable& table, double order) {
  EXPECT_TRUE(table.failures.empty()) << table.failures[0];
  int seen = 0;
  for (const study::StudyCurve& curve : table.curves) {
    if (!curve.order) continue;
    EXPECT_NEAR(*curve.order, order, 0.1) << curve.number;
    ++seen;
  }
  EXPECT_EQ(seen, 3);
}

struct Bdf2 : method::OwnMethod {
  int points_needed() const override { return 2; }
  void velocity(const Vector& x, Vector& v, Vector& a) override {
    v = (3.0 * x - past(0).omega / h()) / 2.0;
    a = (3.0 * v - 4.0 * past(0).motion.v + past(1).motion.v) / (2.0 * h());
  }
};

TEST(StudyOfAProgram, TakesItsSystemAndItsExactMotion) { expect_order(run_study(request("bliedf")), 4.0); }

TEST(StudyOfAProgram, ComputesTheExactMotionUnlessItIsGiven) {
  study::StudyRequest computed = request("generalized-alpha");
  computed.exact = {};
  expect_order(run_study(computed), 2.0);
}

TEST(StudyOfAProgram, TakesItsMethod) {
  method::register_method({.name = "study-bdf2", .order = 2, .make = [] { return std::make_unique<Bdf2>(); }});
  expect_order(run_study(request("study-bdf2")), 2.0);
}

TEST(StudyOfAProgram, TakesTheExactMotionFromATable) {
  const std::string path = testing::TempDir() + "kreisel-exact-motion.csv";
  const auto write = [&path](double step) {
    std::ofstream file(path);
    file.precision(17);
    file << "t,q1,q2,v1,v2,lambda1\n";
    Vector q, v, lambda;
    for (int n = 0; n * step <= 1.0 + 1e-12; ++n) {
      exact(n * step, q, v, lambda);
      file << n * step << ',' << q[0] << ',' << q[1] << ',' << v[0] << ',' << v[1] << ',' << lambda[0] << '\n';
    }
  };
  write(0.005);
  study::StudyRequest from_table = request("bliedf");
  from_table.exact = study::motion_of_csv(path);
  const study::StudyTable table = run_study(from_table);
  expect_order(table, 4.0);
  EXPECT_NEAR(table.curve("bliedf", "q max").y[0], run_study(request("bliedf")).curve("bliedf", "q max").y[0], 1e-12);
  EXPECT_THROW(table.curve("bliedf", "p max"), InvalidInput);

  study::StudyRequest named = request("bliedf");
  named.exact = {};
  named.spec.insert(named.spec.size() - 1, R"(, "reference": {"file": ")" + path + R"(", "accuracy": 1e-15})");
  EXPECT_EQ(run_study(named).curve("bliedf", "q max").y, table.curve("bliedf", "q max").y);
  named.spec.replace(named.spec.find("accuracy"), 8, "max_steps");
  EXPECT_THROW(run_study(named), InvalidInput);

  write(0.02);  // too few rows
  from_table.exact = study::motion_of_csv(path);
  const study::StudyTable failed = run_study(from_table);
  ASSERT_FALSE(failed.failures.empty());
  EXPECT_NE(failed.failures[0].find("has no row at t = 0.01"), std::string::npos) << failed.failures[0];

  std::ofstream(path) << "time,q1\n0,1\n";
  EXPECT_THROW(study::motion_of_csv(path), InvalidInput);
  std::ofstream(path) << "t,q1\n0,one\n";
  EXPECT_THROW(study::motion_of_csv(path), InvalidInput);
  EXPECT_THROW(study::motion_of_csv(path + ".none"), InvalidInput);
}

TEST(StudyOfAProgram, RefusesWhatItCannotMeasure) {
  study::StudyRequest without_system = request("bliedf");
  without_system.models["springs"].system = nullptr;
  EXPECT_THROW(run_study(without_system), InvalidInput);
  study::StudyRequest with_events = request("bliedf");
  with_events.models["springs"].events = {{.name = "there", .function = [](auto&&...) { return 1.0; }}};
  EXPECT_THROW(run_study(with_events), InvalidInput);
  study::StudyRequest unknown = request("bliedf");
  unknown.models = {};
  EXPECT_THROW(run_study(unknown), InvalidInput);
}

}  // namespace
