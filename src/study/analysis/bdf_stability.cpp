// How BDF damps errors of the past: A(α) angles, norms of the error recursion, and the step ratios that it tolerates
// (Wieloch & Arnold 2019, eq. 47 to 52; Wieloch 2022, eq. 5.42 and appendix E).
#include <Eigen/LU>
#include <cmath>
#include <complex>
#include <vector>

#include "base/decompositions.hpp"
#include "coeff/bdf_variable.hpp"
#include "study/analysis.hpp"

namespace kreisel::study {
namespace {

using Matrix = Eigen::MatrixXd;
using Norm = Eigen::MatrixXcd;  ///< V of ‖V⁻¹TV‖∞

/// Companion matrix of differences of successive errors, e_{n+1} - e_n; `is_divided`: by their steps. The first is what T_y
/// (T_α of appendix E) does besides keeping constants, the second T_Δq (T_γ). σ_n first, k-1 ratios.
Matrix recursion(int k, const std::vector<double>& ratios, bool is_divided) {
  std::vector<double> h{1.0}, t{0.0};
  for (const double sigma : ratios) h.push_back(h.back() / sigma);
  for (int i = 0; i < k; ++i) t.push_back(t.back() - h[i]);
  const coeff::BdfCoefficients c = coeff::variable_bdf(k, t);
  Matrix T = Matrix::Zero(k - 1, k - 1);
  for (int i = 2; i <= k; ++i) T(0, i - 2) = -c.gamma[i] / c.gamma[1] * (is_divided ? h[i - 1] : 1.0);
  for (int i = 1; i + 1 < k; ++i) T(i, i - 1) = 1.0;
  return T;
}

double spectral_radius(const Matrix& T) { return T.size() == 0 ? 0.0 : general_eigenvalues(T).cwiseAbs().maxCoeff(); }

/// The norm in which constant steps contract the most: by the spectral radius, since the roots are simple.
Norm norm_of_constant_steps(int k) {
  return general_eigen(recursion(k, std::vector<double>(k - 1, 1.0), false)).vectors;
}
double norm(const Norm& V, const Matrix& T) {
  return (V.lu().solve(T.cast<std::complex<double>>() * V)).cwiseAbs().rowwise().sum().maxCoeff();
}

/// Largest s in [1, 100] with the property on all of [1, s].
template <class Property>
double bound(const Property& holds) {
  double inside = 1.0, outside = 1.0;
  do {
    inside = outside;
    outside *= 1.002;
    if (outside > 100.0) return 100.0;
  } while (holds(outside));
  while (outside - inside > 1e-10) {
    const double middle = 0.5 * (inside + outside);
    (holds(middle) ? inside : outside) = middle;
  }
  return inside;
}

/// All combinations of 1/s, 1 and s.
template <class Work>
void each_corner(int count, double s, const Work& work) {
  std::vector<double> ratios(count);
  int total = 1;
  for (int i = 0; i < count; ++i) total *= 3;
  for (int code = 0; code < total; ++code) {
    for (int i = 0, rest = code; i < count; ++i, rest /= 3)
      ratios[i] = rest % 3 == 0 ? 1.0 / s : rest % 3 == 1 ? 1.0 : s;
    work(ratios);
  }
}

/// A change by the ratio r, and constant steps until the next one.
Matrix change_and_rest(int k, double r, int steps) {
  std::vector<double> window(k - 1, 1.0);
  Matrix product = Matrix::Identity(k - 1, k - 1);
  for (int n = 0; n < steps; ++n) {
    window.insert(window.begin(), n == 0 ? r : 1.0);
    window.pop_back();
    product = recursion(k, window, false) * product;
  }
  return product;
}

/// Half the opening of the largest sector around the negative axis in which all solutions of ẏ = μy decay [deg]: where the
/// boundary of the region, μ(φ) = Σ (1 - e^{-iφ})^j / j, enters the left half plane.
double stability_angle(int k) {
  constexpr int samples = 200'000;
  double angle = 0.5 * M_PI;
  for (int s = 1; s <= samples; ++s) {
    const std::complex<double> d = 1.0 - std::polar(1.0, -M_PI * s / samples);
    std::complex<double> mu = 0.0, power = 1.0;
    for (int j = 1; j <= k; ++j) {
      power *= d;
      mu += power / static_cast<double>(j);
    }
    // For k = 2 the boundary touches the axis at 0: Re μ is O(φ⁴) and round-off below.
    if (mu.real() < -1e-13) angle = std::min(angle, M_PI - std::abs(std::arg(mu)));
  }
  return angle * 180.0 / M_PI;
}

Numbers evaluate(const ParameterValues& p) {
  const int k = static_cast<int>(p.number("order"));
  const int rest = p.number("rest") > 0.0 ? static_cast<int>(p.number("rest")) : k + 1;
  if (k == 1)
    return {{"angle", 90.0},      {"norm_y", 1.0},        {"norm_z", 0.0},         {"constant_ratio", 100.0},
            {"any_ratio", 100.0}, {"any_ratio_z", 100.0}, {"rested_ratio", 100.0}, {"doubling_radius", 0.0}};
  const Norm V = norm_of_constant_steps(k);
  const std::vector<double> ones(k - 1, 1.0);
  const auto contracts = [&](double s, bool is_divided) {
    double worst = 0.0;
    each_corner(k - 1, s, [&](const std::vector<double>& ratios) {
      worst = std::max(worst, norm(V, recursion(k, ratios, is_divided)));
    });
    return worst < 1.0;
  };
  return {{"angle", stability_angle(k)},
          // T_y keeps constant errors and contracts their differences: in the norm of both its norm is 1.
          {"norm_y", std::max(1.0, norm(V, recursion(k, ones, false)))},
          {"norm_z", norm(V, recursion(k, ones, true))},
          {"constant_ratio",
           bound([&](double s) { return spectral_radius(recursion(k, std::vector<double>(k - 1, s), false)) < 1.0; })},
          {"any_ratio", bound([&](double s) { return contracts(s, false); })},
          {"any_ratio_z", bound([&](double s) { return contracts(s, true); })},
          {"rested_ratio", bound([&](double s) { return spectral_radius(change_and_rest(k, s, rest)) < 1.0; })},
          {"doubling_radius", spectral_radius(change_and_rest(k, 2.0, rest))}};
}

}  // namespace

AnalysisInfo bdf_stability() {
  AnalysisInfo info;
  info.name = "bdf-stability";
  info.summary =
      "A(alpha) angle of BDF, norms of its error recursion, step ratios for which differences of errors decay";
  info.parameters = {{.name = "order", .meaning = "k", .default_number = 2, .minimum = 1, .maximum = 6},
                     {.name = "rest",
                      .meaning = "steps from one change to the next, for rested_ratio and doubling_radius; 0: k + 1",
                      .default_number = 0,
                      .minimum = 0,
                      .maximum = 1000}};
  for (const auto& [name, value] : evaluate(ParameterValues(info.parameters))) info.outputs.push_back(name);
  info.evaluate = evaluate;
  return info;
}

}  // namespace kreisel::study
