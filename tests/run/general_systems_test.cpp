// What System carries beyond the heavy top: time-dependent and velocity-level constraints, forces that depend on λ,
// first-order states, index-1 unknowns, singular mass matrices. Orders against solutions that do not use kreisel.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "kreisel/own_system.hpp"
#include "method/catalogue.hpp"
#include "support/experiment.hpp"
#include "support/order.hpp"

namespace {

using namespace kreisel;
using support::Trajectory;

/// q, v of dynamic coordinates, λ at one time.
struct State {
  Vector q, v, lambda;
};

/// A system with its solution.
struct Problem {
  system::SystemFunctions functions;
  std::function<State(double t)> exact;
  bool is_slow = false;  ///< order 6 needs larger steps to stay above round-off
  int dynamic = 0;       ///< leading entries of v that are compared; states and index-1 unknowns have no v of their own
};

Vector vec(std::initializer_list<double> values) {
  Vector v(static_cast<Eigen::Index>(values.size()));
  std::copy(values.begin(), values.end(), v.data());
  return v;
}

/// Classical Runge-Kutta: h⁴/120 = 3e-14 for problems of unit time scale.
Vector solve_ode(const std::function<Vector(double, const Vector&)>& f, Vector y, double t_end) {
  const int steps = std::max(1, static_cast<int>(std::ceil(t_end / 1e-3)));
  const double h = t_end / steps;
  for (int n = 0; n < steps; ++n) {
    const double t = n * h;
    const Vector k1 = f(t, y), k2 = f(t + h / 2, y + h / 2 * k1), k3 = f(t + h / 2, y + h / 2 * k2),
                 k4 = f(t + h, y + h * k3);
    y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  return y;
}

constexpr double gravity = 9.81;

/// A pendulum of length 1 on a pivot that moves: Φ = ((x - p)² + y² - 1)/2, p = sin(3t)/10.
Problem moving_pivot() {
  const auto p = [](double t) { return 0.1 * std::sin(3 * t); };
  const auto p1 = [](double t) { return 0.3 * std::cos(3 * t); };
  const auto p2 = [](double t) { return -0.9 * std::sin(3 * t); };
  Problem problem;
  system::SystemFunctions& f = problem.functions;
  f.space = {{lie::GroupId::rn, 2}};
  f.position_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return vec({0.0, gravity}); };
  f.constraint = [=](double t, const Vector& q) -> Vector {
    return Vector::Constant(1, 0.5 * (std::pow(q[0] - p(t), 2) + q[1] * q[1] - 1.0));
  };
  f.jacobian = [=](double t, const Vector& q) -> Matrix {
    Matrix B(1, 2);
    B << q[0] - p(t), q[1];
    return B;
  };
  f.constraint_rate = [=](double t, const Vector& q) -> Vector { return Vector::Constant(1, -(q[0] - p(t)) * p1(t)); };
  problem.dynamic = 2;
  problem.exact = [=](double t) -> State {
    const Vector y = solve_ode(
        [&](double s, const Vector& z) -> Vector {
          return vec({z[1], -gravity * std::sin(z[0]) - p2(s) * std::cos(z[0])});
        },
        vec({1.0, 0.2}), t);
    const double c = std::cos(y[0]), s = std::sin(y[0]), w = y[1];
    // v̇ + (0, g) + λ (q - p) = 0 along the rod.
    return {vec({p(t) + s, -c}), vec({p1(t) + c * w, s * w}), vec({w * w + gravity * c - p2(t) * s})};
  };
  return problem;
}

/// The same at rest, with a drag λ v/5: forces that depend on λ.
Problem dragged_by_its_rod() {
  Problem problem;
  system::SystemFunctions& f = problem.functions;
  f.space = {{lie::GroupId::rn, 2}};
  f.position_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return vec({0.0, gravity}); };
  f.multiplier_force = [](double, const Vector&, const Vector& v, const Vector& lambda) -> Vector {
    return 0.2 * lambda[0] * v;
  };
  f.constraint = [](double, const Vector& q) -> Vector { return Vector::Constant(1, 0.5 * (q.squaredNorm() - 1.0)); };
  f.jacobian = [](double, const Vector& q) -> Matrix { return q.transpose(); };
  problem.dynamic = 2;
  problem.exact = [](double t) -> State {
    const auto tension = [](const Vector& z) { return z[1] * z[1] + gravity * std::cos(z[0]); };
    const Vector y = solve_ode(
        [&](double, const Vector& z) -> Vector {
          return vec({z[1], -gravity * std::sin(z[0]) - 0.2 * tension(z) * z[1]});
        },
        vec({1.0, 0.2}), t);
    const double c = std::cos(y[0]), s = std::sin(y[0]);
    return {vec({s, -c}), vec({c * y[1], s * y[1]}), vec({tension(y)})};
  };
  return problem;
}

/// A knife edge on an inclined plane: ẋ sin φ - ẏ cos φ = 0, φ = ωt (Neimark, Fufaev 1972).
Problem knife_edge() {
  constexpr double slope = 2.0, turn = 1.5;
  Problem problem;
  system::SystemFunctions& f = problem.functions;
  f.space = {{lie::GroupId::rn, 3}};
  f.velocity_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(3, 3); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return vec({-slope, 0.0, 0.0}); };
  f.velocity_constraint = [](double, const Vector& q, const Vector& v) -> Vector {
    return Vector::Constant(1, v[0] * std::sin(q[2]) - v[1] * std::cos(q[2]));
  };
  problem.dynamic = 3;
  problem.is_slow = true;
  problem.exact = [](double t) -> State {
    const double phi = turn * t, u = slope / turn * std::sin(phi), r = slope / (2 * turn * turn);
    return {vec({r * std::pow(std::sin(phi), 2), r * (phi - 0.5 * std::sin(2 * phi)), phi}),
            vec({u * std::cos(phi), u * std::sin(phi), turn}), vec({2 * slope * std::sin(phi)})};
  };
  return problem;
}

/// A mass on a Maxwell element: q̈ + z + w = 0, ż = 3 q̇ - z, 0 = w - q/2 - sin q.
Problem maxwell_element() {
  Problem problem;
  system::SystemFunctions& f = problem.functions;
  f.space = {{lie::GroupId::rn, 1}, {lie::GroupId::rn, 1}, {lie::GroupId::rn, 1}};
  f.kinds = {system::CoordinateKind::dynamic, system::CoordinateKind::state, system::CoordinateKind::algebraic};
  f.mass = [](const Vector&) -> Matrix { return vec({1.0, 0.0, 0.0}).asDiagonal(); };
  f.force = [](double, const Vector& q, const Vector& v) -> Vector {
    return vec({q[1] + q[2], v[1] - (3 * v[0] - q[1]), q[2] - 0.5 * q[0] - std::sin(q[0])});
  };
  problem.dynamic = 1;
  problem.is_slow = true;
  problem.exact = [](double t) -> State {
    const auto w = [](double q) { return 0.5 * q + std::sin(q); };
    const Vector y = solve_ode(
        [&](double, const Vector& s) -> Vector {
          return vec({s[1], -s[2] - w(s[0]), 3 * s[1] - s[2]});
        },
        vec({1.0, 0.0, 0.3}), t);
    return {vec({y[0], y[2], w(y[0])}), vec({y[1], 3 * y[1] - y[2], 0.0}), Vector(0)};
  };
  return problem;
}

/// A bead without mass of its own on a line, carried by a mass: M = diag(1, 0) is positive on ker B only.
Problem singular_mass() {
  Problem problem;
  system::SystemFunctions& f = problem.functions;
  f.space = {{lie::GroupId::rn, 2}};
  f.position_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return vec({1.0, 0.0}).asDiagonal(); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector { return vec({4 * q[0], 1.0 + q[1]}); };
  f.constraint = [](double, const Vector& q) -> Vector { return Vector::Constant(1, q[1] - std::sin(q[0])); };
  problem.dynamic = 2;
  problem.exact = [](double t) -> State {
    // ẍ + 4x - λ cos x = 0, 1 + y + λ = 0.
    const Vector y = solve_ode(
        [](double, const Vector& z) -> Vector {
          return vec({z[1], -4 * z[0] - (1 + std::sin(z[0])) * std::cos(z[0])});
        },
        vec({0.7, 0.0}), t);
    return {vec({y[0], std::sin(y[0])}), vec({y[1], std::cos(y[0]) * y[1]}), vec({-1 - std::sin(y[0])})};
  };
  return problem;
}

struct Case {
  const char* name;
  Problem (*problem)();
  const char* method;
  int order;
  const char* formulation;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name << " " << c.method << " " << c.order << " " << c.formulation;
}

std::vector<Case> every_case() {
  std::vector<Case> list;
  const auto add = [&](const char* name, Problem (*problem)(), std::initializer_list<const char*> formulations) {
    for (const char* formulation : formulations) {
      for (int order = 1; order <= 6; ++order) list.push_back({name, problem, "bliedf", order, formulation});
      list.push_back({name, problem, "generalized-alpha", 2, formulation});
    }
  };
  add("moving_pivot", moving_pivot, {"index3", "stabilized-index2", "index2", "index1"});
  add("dragged_by_its_rod", dragged_by_its_rod, {"index3", "stabilized-index2", "index2", "index1"});
  add("knife_edge", knife_edge, {"index3", "stabilized-index2", "index2", "index1"});
  add("maxwell_element", maxwell_element, {"ode"});
  add("singular_mass", singular_mass, {"index3", "stabilized-index2"});
  return list;
}

class GeneralSystem : public testing::TestWithParam<Case> {
 protected:
  /// Maxima over 8 times of the errors of q, v and λ.
  support::Errors errors(const Problem& problem, const models::Model& model, long steps, double t_end) const {
    run::Options options;
    options.method = GetParam().method;
    options.order = GetParam().order;
    options.formulation = GetParam().formulation;
    options.t_end = t_end;
    options.step = t_end / static_cast<double>(steps);
    const Trajectory run = support::integrate(model, options);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    support::Errors largest;
    if (run.report.status != run::Status::success) return largest;
    for (int i = 1; i <= 8; ++i) {
      const method::Entry& point = run.points[steps * i / 8];
      const State exact = problem.exact(point.motion.t);
      largest.q = std::max(largest.q, (point.motion.q - exact.q).norm());
      largest.v = std::max(largest.v, (point.motion.v - exact.v).head(problem.dynamic).norm());
      if (exact.lambda.size() > 0) largest.lambda = std::max(largest.lambda, (point.lambda - exact.lambda).norm());
    }
    return largest;
  }
};

TEST_P(GeneralSystem, IsSolvedWithTheOrderOfTheMethod) {
  const int order = GetParam().order;
  const Problem problem = GetParam().problem();
  models::Model model;
  model.system = std::make_shared<system::FunctionSystem>(problem.functions);
  const State start = problem.exact(0.0);
  model.start.q0 = start.q;
  model.start.v0 = start.v;
  constexpr double t_end = 0.8;
  constexpr std::array<long, 7> coarse_steps{0, 800, 320, 80, 80, 64, 48};
  long steps = order == 6 && problem.is_slow ? 32 : coarse_steps[order];
  if (order == 6 && std::string(GetParam().formulation) == "index1") steps = problem.is_slow ? 40 : 80;
  if (order >= 5 && std::string(GetParam().name) == "maxwell_element")
    steps = order == 6 ? 16 : 40;  // so smooth that more drown in round-off
  const support::Errors coarse = errors(problem, model, steps, t_end), fine = errors(problem, model, 2 * steps, t_end);
  const support::Errors slopes = support::slopes_of(coarse, fine);
  // At least: some of these problems are kinder than the general one. Below `floor` differences of Φ are noise.
  constexpr double floor = 1e-10;
  int measured = 0;
  const auto expect_order = [&](const char* what, double slope, double error) {
    if (!(error > floor)) return;
    ++measured;
    EXPECT_GT(slope, order - support::slope_tolerance) << what << ", error " << error;
  };
  expect_order("q", slopes.q, fine.q);
  expect_order("v", slopes.v, fine.v);
  if (model.system->pattern().rows() > 0) expect_order("lambda", slopes.lambda, fine.lambda);
  EXPECT_GT(measured, 0) << "every error is below the floor: choose larger steps";
}

INSTANTIATE_TEST_SUITE_P(Catalogue, GeneralSystem, testing::ValuesIn(every_case()), [](const auto& tested) {
  std::string name = std::string(tested.param.name) + "_" + tested.param.method + "_" +
                     std::to_string(tested.param.order) + "_" + tested.param.formulation;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

}  // namespace
