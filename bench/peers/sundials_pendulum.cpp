// SUNDIALS on Eich's pendulum over 100 s.
//
//   bench_sundials_pendulum METHOD TOLERANCE...
//
// METHOD: ida-dense, ida-klu (stabilized index-2), cvode-projected (index-1, fixed point), arkode5, arkode8 (index-1, no
// projection).
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "peers/sundials.hpp"
#include "support/count.hpp"
#include "support/problem.hpp"

namespace {

using namespace bench;

/// y = (x, z, u, w | λ, μ): ẋ = u - xμ, ż = w - zμ, u̇ = -xλ, ẇ = -g - zλ, (x² + z² - 1)/2 = 0, xu + zw = 0.
class PendulumDae final : public DaeProblem {
 public:
  explicit PendulumDae(const Pendulum& pendulum) : g_(pendulum.gravity) {}
  int size() const override { return 6; }
  void start(double* y, double* y_dot) const override {
    std::fill(y, y + 6, 0.0);
    std::fill(y_dot, y_dot + 6, 0.0);
    y[0] = 1.0;
    y_dot[3] = -g_;
  }
  bool is_algebraic(int i) const override { return i >= 4; }
  double looseness() const override { return 1.0; }  // 1e4 doubles the number of steps
  void residual(const double* y, const double* y_dot, double* r) const override {
    const auto [x, z, u, w, lambda, mu] = unpack(y);
    r[0] = y_dot[0] - u + x * mu;
    r[1] = y_dot[1] - w + z * mu;
    r[2] = y_dot[2] + x * lambda;
    r[3] = y_dot[3] + g_ + z * lambda;
    r[4] = 0.5 * (x * x + z * z - 1.0);
    r[5] = x * u + z * w;
  }
  void jacobian(const double* y, double c, double* columns) const override {
    const auto [x, z, u, w, lambda, mu] = unpack(y);
    const auto entry = [columns](int i, int j) -> double& { return columns[6 * j + i]; };
    entry(0, 0) = entry(1, 1) = c + mu;
    entry(0, 2) = entry(1, 3) = -1.0;
    entry(0, 5) = x;
    entry(1, 5) = z;
    entry(2, 0) = entry(3, 1) = lambda;
    entry(2, 2) = entry(3, 3) = c;
    entry(2, 4) = x;
    entry(3, 4) = z;
    entry(4, 0) = x;
    entry(4, 1) = z;
    entry(5, 0) = u;
    entry(5, 1) = w;
    entry(5, 2) = x;
    entry(5, 3) = z;
  }
  std::vector<bool> jacobian_pattern() const override {
    std::vector<bool> pattern(36, false);
    const int rows[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 5};
    const int columns[] = {0, 2, 5, 1, 3, 5, 0, 2, 4, 1, 3, 4, 0, 1, 0, 1, 2, 3};
    for (int i = 0; i < 18; ++i) pattern[6 * columns[i] + rows[i]] = true;
    return pattern;
  }

 private:
  static std::array<double, 6> unpack(const double* y) { return {y[0], y[1], y[2], y[3], y[4], y[5]}; }
  double g_;
};

/// y = (x, z, u, w), λ eliminated.
class PendulumOde final : public OdeProblem {
 public:
  explicit PendulumOde(const Pendulum& pendulum) : g_(pendulum.gravity) {}
  int size() const override { return 4; }
  void start(double* y) const override {
    std::fill(y, y + 4, 0.0);
    y[0] = 1.0;
  }
  void rate(const double* y, double* f) override {
    const double lambda = (y[2] * y[2] + y[3] * y[3] - g_ * y[1]) / (y[0] * y[0] + y[1] * y[1]);
    f[0] = y[2];
    f[1] = y[3];
    f[2] = -y[0] * lambda;
    f[3] = -g_ - y[1] * lambda;
  }
  bool project(const double* y, double* correction, double* error) override {
    const double length = std::sqrt(y[0] * y[0] + y[1] * y[1]);
    const double x = y[0] / length, z = y[1] / length, along = x * y[2] + z * y[3];
    correction[0] = x - y[0];
    correction[1] = z - y[1];
    correction[2] = -x * along;
    correction[3] = -z * along;
    if (error != nullptr)
      for (const int at : {0, 2}) {
        const double across = x * error[at] + z * error[at + 1];
        error[at] -= x * across;
        error[at + 1] -= z * across;
      }
    return true;
  }

 private:
  double g_;
};

Outcome solve(const Pendulum& pendulum, const std::string& method, double tolerance, std::vector<double>& y) {
  const PendulumDae dae(pendulum);
  PendulumOde ode(pendulum);
  if (method == "ida-dense") return solve_with_ida(dae, pendulum.t_end, tolerance, Factorization::dense, y);
  if (method == "ida-klu") return solve_with_ida(dae, pendulum.t_end, tolerance, Factorization::klu, y);
  if (method == "cvode-projected")
    return solve_with_cvode(ode, pendulum.t_end, tolerance, Corrector::fixed_point, true, y);
  if (method == "arkode5") return solve_with_arkode(ode, pendulum.t_end, tolerance, 5, y);
  if (method == "arkode8") return solve_with_arkode(ode, pendulum.t_end, tolerance, 8, y);
  throw std::runtime_error("unknown method " + method);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} METHOD TOLERANCE...\n", argv[0]);
    return 2;
  }
  const Pendulum pendulum;
  const std::string method = argv[1];
  for (const double tolerance : numbers_from(argc, argv, 2)) {
    Outcome o;
    std::vector<double> y;
    const std::string label = label_of(method, tolerance);
    count(label, [&] { o = solve(pendulum, method, tolerance, y); });
    print({label, method, tolerance, error_of(pendulum, {y[0], y[1], y[2], y[3]}), o.is_success, o.steps, o.evaluations,
           o.jacobians, o.iterations, o.rejected});
  }
}
