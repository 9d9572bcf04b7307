// The end states of the stiff problems in long double, by the classical method of Runge and Kutta with constant steps.
//
//   bench_stiff_reference bushing|satellite STEP > bench/reference/PROBLEM.txt
//
// Stability forces steps (1e-6, 2e-6) far below what accuracy needs; half of them confirm the stored numbers to 1e-13.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "support/stiff.hpp"

namespace {

using Real = long double;

template <class Problem>
std::vector<double> integrate(const Problem& problem, double step) {
  constexpr int n = Problem::size;
  std::array<Real, n> y{}, z{}, k1{}, k2{}, k3{}, k4{};
  Problem::start(y.data());
  const long count = std::lround(Problem::t_end / step);
  const Real h = Real(Problem::t_end) / count;
  const auto shifted = [&](const std::array<Real, n>& k, Real by) {
    for (int i = 0; i < n; ++i) z[i] = y[i] + by * k[i];
    return z.data();
  };
  for (long step_number = 0; step_number < count; ++step_number) {
    problem.rate(y.data(), k1.data());
    problem.rate(shifted(k1, h / 2), k2.data());
    problem.rate(shifted(k2, h / 2), k3.data());
    problem.rate(shifted(k3, h), k4.data());
    for (int i = 0; i < n; ++i) y[i] += h / 6 * (k1[i] + 2 * (k2[i] + k3[i]) + k4[i]);
  }
  return Problem::end(y.data());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} bushing|satellite|follower-OMEGA STEP\n", argv[0]);
    return 2;
  }
  const double step = std::stod(argv[2]);
  for (const double value :
       bench::stiff::with_problem<Real>(argv[1], [&](const auto& problem) { return integrate(problem, step); }))
    fmt::print("{:.17g}\n", value);
}
