// Our side of the stiff and lightly damped problems.
//
//   bench_stiff bushing|satellite|follower-OMEGA METHOD RTOL...
//
// METHOD: default, which may switch to radau; a name of the catalogue; max-order-K for bliedf up to order K. atol is
// 1e-8. Counted is the whole call of run::integrate.
#include <fmt/format.h>

#include <cmath>

#include "io/model_file/model_file.hpp"
#include "kreisel/own_system.hpp"
#include "run/integrator.hpp"
#include "support/count.hpp"
#include "support/problem.hpp"
#include "support/stiff.hpp"

namespace {

using namespace kreisel;

struct Problem {
  std::shared_ptr<const system::System> system;
  system::Start start;
};

constexpr const char* bushing_file = R"({"gravity": [0, 0, -9.81],
  "bodies": [{"name": "rod", "mass": 1, "inertia": [0.0834, 0.0834, 0.001], "position": [0.5, 0, 0],
              "rotation": {"axis": [0, 1, 0], "angle_deg": 90}},
             {"name": "tool", "mass": 0.2, "inertia": [0.001, 0.001, 0.001], "position": [1.1, 0, 0]}],
  "joints": [{"type": "revolute", "name": "hinge", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 1, 0]}],
  "forces": [{"type": "bushing", "name": "mount", "between": ["rod", "tool"], "at": [1, 0, 0],
              "stiffness": [1e8, 1e8, 1e8], "damping": [90, 90, 90], "rotational_stiffness": [1e5, 1e5, 1e5],
              "rotational_damping": [0.2, 0.2, 0.2]}]})";

Problem bushing() {
  const io::ModelFile file = io::read_model(io::JsonSource("bushing.json", bushing_file));
  Problem problem{file.assembly, file.model.start};
  problem.start.t_end = bench::stiff::Bushing<double>::t_end;
  return problem;
}

/// On SO(3) × ℝ³, v = (Ω, η̇).
Problem satellite() {
  const bench::stiff::Satellite<double> s;
  system::SystemFunctions f;
  f.name = "satellite";
  f.space = {{lie::GroupId::so3, 3}, {lie::GroupId::rn, 3}};
  Matrix mass = Matrix::Identity(6, 6);
  mass.topLeftCorner(3, 3) = s.J.asDiagonal();
  mass.topRightCorner(3, 3) = s.delta;
  mass.bottomLeftCorner(3, 3) = s.delta.transpose();
  f.mass = [mass](const Vector&) -> Matrix { return mass; };
  f.force = [s](double, const Vector& q, const Vector& v) -> Vector {
    const Vector3 W = v.head<3>(), de = v.tail<3>(), e = q.tail<3>();
    Vector g(6);
    g.head<3>() = W.cross(Vector3(s.J.cwiseProduct(W) + s.delta * de));
    g.tail<3>() = 2.0 * s.damping * s.omega.array() * de.array() + s.omega.array().square() * e.array();
    return g;
  };
  Problem problem;
  problem.start.t_end = s.t_end;
  problem.start.q0 = Vector::Zero(7);
  problem.start.q0[3] = 1.0;
  problem.start.v0 = Vector::Zero(6);
  problem.start.v0.head<3>() << 0.3, 1.0, 0.2;
  problem.system = std::make_shared<system::FunctionSystem>(f, problem.start);
  return problem;
}

Problem follower(double omega) {
  system::SystemFunctions f;
  f.name = "follower";
  f.space = {{lie::GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [omega](double t, const Vector& q, const Vector& v) -> Vector {
    return Vector::Constant(1, omega * (2.0 * v[0] + omega * (q[0] - std::cos(t))));
  };
  Problem problem;
  problem.start.t_end = bench::stiff::Follower<double>::t_end;
  problem.start.q0 = Vector::Ones(1);
  problem.start.v0 = Vector::Zero(1);
  problem.system = std::make_shared<system::FunctionSystem>(f, problem.start);
  return problem;
}

Problem problem_named(const std::string& name) {
  if (name == "bushing") return bushing();
  if (name == "satellite") return satellite();
  return follower(std::stod(name.substr(std::string("follower-").size())));
}

std::vector<double> end_of(const std::string& name, const system::Motion& m) {
  if (name == "bushing") return {m.q[7], m.q[9], m.v[6], m.v[8]};
  if (name == "satellite") {
    std::array<double, 13> y{m.q[3], m.q[0], m.q[1], m.q[2], m.v[0], m.v[1], m.v[2]};
    return bench::stiff::Satellite<double>::end(y.data());
  }
  return {m.q[0], m.v[0]};
}

void choose(const std::string& method, run::Options& options) {
  if (method == "default") return;
  const bool has_bound = method.starts_with("max-order-");
  options.method = has_bound ? "bliedf" : method;  // a method given by name is not switched
  if (has_bound) options.max_order = std::stoi(method.substr(10));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: {} bushing|satellite|follower-OMEGA METHOD RTOL...\n", argv[0]);
    return 2;
  }
  const std::string name = argv[1], method = argv[2];
  const Problem problem = problem_named(name);
  for (const double rtol : bench::numbers_from(argc, argv, 3)) {
    run::Options options;
    choose(method, options);
    options.rtol = rtol;
    options.max_steps = 100'000;
    run::Report report;
    run::Observer nobody;
    const std::string label = bench::label_of(method, rtol);
    bench::count(label, [&] { report = run::integrate(*problem.system, problem.start, options, nobody); });
    if (!report.message.empty()) fmt::print(stderr, "{}: {}\n", label, report.message);
    const Counters& c = report.counters;
    bench::print({label, method, rtol, bench::stiff::error_of(name, end_of(name, report.final.motion)),
                  report.status == run::Status::success, c.steps, c.residual_evaluations, c.jacobian_evaluations,
                  c.newton_iterations, c.rejected_steps});
  }
}
