// SUNDIALS on the stiff and lightly damped problems, in minimal coordinates.
//
//   bench_sundials_stiff bushing|satellite|follower-OMEGA METHOD RTOL...
//
// METHOD: cvode-newton, cvode-stald (with the detection of the stability limit of BDF), ida-dense. atol is 1e-8, and
// Jacobians are differences, as ours are for systems of functions.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "peers/sundials.hpp"
#include "support/count.hpp"
#include "support/problem.hpp"
#include "support/stiff.hpp"

namespace {

using namespace bench;

template <class Problem>
class Ode final : public OdeProblem {
 public:
  explicit Ode(const Problem& problem) : problem_(problem) {}
  int size() const override { return Problem::size; }
  void start(double* y) const override { Problem::start(y); }
  void rate(const double* y, double* f) override { problem_.rate(y, f); }

 private:
  Problem problem_;
};

/// ẏ - f(y) = 0.
template <class Problem>
class Dae final : public DaeProblem {
 public:
  static constexpr int n = Problem::size;

  explicit Dae(const Problem& problem) : problem_(problem) {}
  int size() const override { return n; }
  void start(double* y, double* y_dot) const override {
    Problem::start(y);
    problem_.rate(y, y_dot);
  }
  bool is_algebraic(int) const override { return false; }
  double looseness() const override { return 1.0; }
  void residual(const double* y, const double* y_dot, double* r) const override {
    problem_.rate(y, r);
    for (int i = 0; i < n; ++i) r[i] = y_dot[i] - r[i];
  }
  void jacobian(const double* y, double c, double* columns) const override {
    std::array<double, n> moved{}, f{}, g{};
    std::copy_n(y, n, moved.begin());
    problem_.rate(y, f.data());
    for (int j = 0; j < n; ++j) {
      const double step = std::sqrt(std::numeric_limits<double>::epsilon()) * std::max(1e-3, std::abs(y[j]));
      moved[j] = y[j] + step;
      problem_.rate(moved.data(), g.data());
      moved[j] = y[j];
      for (int i = 0; i < n; ++i) columns[j * n + i] = (i == j ? c : 0.0) - (g[i] - f[i]) / step;
    }
  }
  std::vector<bool> jacobian_pattern() const override { return std::vector<bool>(n * n, true); }

 private:
  Problem problem_;
};

template <class Problem>
Outcome solve(const Problem& problem, const std::string& method, Tolerances tolerances, std::vector<double>& y) {
  if (method == "ida-dense")
    return solve_with_ida(Dae<Problem>(problem), Problem::t_end, tolerances, Factorization::dense, y);
  Ode<Problem> ode(problem);
  if (method == "cvode-newton") return solve_with_cvode(ode, Problem::t_end, tolerances, Corrector::newton, false, y);
  if (method == "cvode-stald")
    return solve_with_cvode(ode, Problem::t_end, tolerances, Corrector::newton_stald, false, y);
  throw std::runtime_error("unknown method " + method);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: {} bushing|satellite|follower-OMEGA METHOD RTOL...\n", argv[0]);
    return 2;
  }
  const std::string name = argv[1], method = argv[2];
  for (const double rtol : numbers_from(argc, argv, 3)) {
    stiff::with_problem<double>(name, [&](const auto& problem) {
      Outcome o;
      std::vector<double> y;
      const std::string label = label_of(method, rtol);
      count(label, [&] { o = solve(problem, method, Tolerances(rtol, 1e-8), y); });
      print({label, method, rtol, stiff::error_of(name, problem.end(y.data())), o.is_success, o.steps, o.evaluations,
             o.jacobians, o.iterations, o.rejected});
    });
  }
}
