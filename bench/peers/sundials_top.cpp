// SUNDIALS on the heavy top and on stiff-top.
//
//   bench_sundials_top heavy-top|stiff-top METHOD TOLERANCE...
//   bench_sundials_top heavy-top|stiff-top check           the analytic Jacobian against differences
//
// METHOD: ida-dense, ida-klu (stabilized index-2), cvode-projected (index-1, fixed point), cvode-newton (index-1, with
// projection), arkode5, arkode8 (index-1, no projection), arkode5-reduced, arkode8-reduced (about the tip).
#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "peers/sundials.hpp"
#include "peers/top_equations.hpp"
#include "support/count.hpp"
#include "support/problem.hpp"

namespace {

using namespace bench;

struct Result {
  Outcome outcome;
  TopState at_end;
};

Result solve(const Top& top, const std::string& method, double tolerance) {
  std::vector<double> y;
  if (method.starts_with("ida-")) {
    const TopDae dae(top);
    const Factorization kind = method == "ida-dense" ? Factorization::dense : Factorization::klu;
    const Outcome outcome = solve_with_ida(dae, top.t_end, tolerance, kind, y);
    return {outcome, state_of(y)};
  }
  if (method.starts_with("cvode-")) {
    TopOde ode(top);
    const Corrector corrector = method == "cvode-newton" ? Corrector::newton : Corrector::fixed_point;
    const Outcome outcome = solve_with_cvode(ode, top.t_end, tolerance, corrector, true, y);
    return {outcome, state_of(y)};
  }
  if (!method.starts_with("arkode")) throw std::runtime_error("unknown method " + method);
  const int order = method.at(6) - '0';
  if (method.ends_with("-reduced")) {
    ReducedTopOde ode(top);
    const Outcome outcome = solve_with_arkode(ode, top.t_end, tolerance, order, y);
    return {outcome, reduced_state_of(y, top)};
  }
  TopOde ode(top);
  const Outcome outcome = solve_with_arkode(ode, top.t_end, tolerance, order, y);
  return {outcome, state_of(y)};
}

/// Largest difference between the analytic Jacobian and central differences, relative to the largest entry of its row,
/// at a state off the constraints with μ = ε = 0.
double jacobian_defect(const Top& top) {
  const TopDae dae(top);
  const int n = dae.size();
  constexpr double c = 3.7, h = 1e-6;
  std::vector<double> y(n), y_dot(n), ahead(n), behind(n), columns(n * n, 0.0);
  for (int i = 0; i < n; ++i) {
    y[i] = i < 16 ? std::sin(1.0 + 2.3 * i) : 0.0;
    y_dot[i] = std::cos(0.7 * i);
  }
  dae.jacobian(y.data(), c, columns.data());
  const std::vector<bool> pattern = dae.jacobian_pattern();
  std::vector<double> row_size(n, 0.0), row_defect(n, 0.0);
  for (int j = 0; j < n; ++j) {
    const auto residual_at = [&](double step, std::vector<double>& r) {
      std::vector<double> z = y, z_dot = y_dot;
      z[j] += step;
      z_dot[j] += c * step;
      dae.residual(z.data(), z_dot.data(), r.data());
    };
    residual_at(h, ahead);
    residual_at(-h, behind);
    for (int i = 0; i < n; ++i) {
      const double entry = columns[j * n + i], difference = (ahead[i] - behind[i]) / (2.0 * h);
      if (entry != 0.0 && !pattern[j * n + i]) return HUGE_VAL;
      row_size[i] = std::max(row_size[i], std::abs(entry));
      row_defect[i] = std::max(row_defect[i], std::abs(entry - difference));
    }
  }
  double defect = 0.0;
  for (int i = 0; i < n; ++i) defect = std::max(defect, row_defect[i] / row_size[i]);
  return defect;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} heavy-top|stiff-top METHOD TOLERANCE...\n", argv[0]);
    return 2;
  }
  const std::string problem = argv[1], method = argv[2];
  const Top top = top_named(problem);
  if (method == "check") {
    const double defect = jacobian_defect(top);
    fmt::print("largest relative defect of the Jacobian: {:.1e}\n", defect);
    return defect < 1e-7 ? 0 : 1;
  }
  for (const double tolerance : numbers_from(argc, argv, 3)) {
    Result result;
    const std::string label = label_of(method, tolerance);
    count(label, [&] { result = solve(top, method, tolerance); });
    const Outcome& o = result.outcome;
    print({label, method, tolerance, error_of(problem, result.at_end), o.is_success, o.steps, o.evaluations,
           o.jacobians, o.iterations, o.rejected});
  }
}
