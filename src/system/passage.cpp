#include <algorithm>
#include <cmath>
#include <limits>

#include "base/decompositions.hpp"
#include "kreisel/check.hpp"
#include "system/dense.hpp"

namespace kreisel::system {

Motion between(const System& system, const Motion& from, const Motion& to, double s) {
  Motion m = from;
  Vector x(system.space().nv());
  system.space().difference(from.q, to.q, x);
  x *= s;
  system.space().move(from.q, x, m.q);
  m.t = from.t + s * (to.t - from.t);
  m.v = (1.0 - s) * from.v + s * to.v;
  return m;
}

namespace {

/// Margins below this part of the typical one are singular positions.
constexpr double singular_part = 1e-2;
/// Steps of the search; each reduces the interval to 0.62 of its length.
constexpr int search_steps = 30;

/// Golden section search for the smallest margin between two motions.
Motion smallest_between(const System& system, const Motion& from, const Motion& to) {
  constexpr double golden = 0.61803398874989485;
  double a = 0.0, b = 1.0, c = b - golden * (b - a), d = a + golden * (b - a);
  const auto margin = [&](double s) { return rank_margin(system, between(system, from, to, s)); };
  double at_c = margin(c), at_d = margin(d);
  for (int i = 0; i < search_steps; ++i) {
    if (at_c < at_d) {
      b = d, d = c, at_d = at_c;
      c = b - golden * (b - a);
      at_c = margin(c);
    } else {
      a = c, c = d, at_c = at_d;
      d = a + golden * (b - a);
      at_d = margin(d);
    }
  }
  return between(system, from, to, 0.5 * (a + b));
}

/// The margin that is undercut half of the time. A run under error control has many points in difficult parts: their number is
/// not proportional to time.
double median_over_time(const std::vector<Motion>& motions, const std::vector<double>& margins) {
  std::vector<std::pair<double, double>> weighted;  // margin, time
  double total = 0.0;
  for (std::size_t i = 0; i < motions.size(); ++i) {
    const std::size_t before = i == 0 ? 0 : i - 1, after = std::min(i + 1, motions.size() - 1);
    weighted.emplace_back(margins[i], 0.5 * (motions[after].t - motions[before].t));
    total += weighted.back().second;
  }
  std::sort(weighted.begin(), weighted.end());
  double passed = 0.0;
  for (const auto& [margin, time] : weighted)
    if ((passed += time) >= 0.5 * total) return margin;
  return weighted.back().first;
}

/// B Bᵀ with rows of B of length 1. Its smallest eigenvalue is the square of the margin, good to 1e-8.
Matrix gram_matrix(const System& system, const Motion& m) {
  KktBlocks blocks(system.pattern());
  system.mass_and_jacobian(m, blocks);
  Matrix B = dense_rows(system, blocks.B);
  for (Eigen::Index i = 0; i < B.rows(); ++i)
    if (const double length = B.row(i).norm(); length > 0.0) B.row(i) /= length;
  return B * B.transpose();
}

/// The row with the largest part in the combination of rows that nearly vanishes.
std::vector<std::string> rows_that_meet(const System& system, const Motion& m) {
  Eigen::Index row = 0;
  symmetric_eigen(gram_matrix(system, m)).vectors.col(0).cwiseAbs().maxCoeff(&row);
  return {system.pattern().row_name(static_cast<int>(row))};
}

}  // namespace

double rank_margin(const System& system, const Motion& m) {
  if (system.pattern().rows() == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(std::max(0.0, symmetric_eigenvalues(gram_matrix(system, m))[0]));
}

Passage examine_passage(const System& system, const std::vector<Motion>& motions) {
  Passage out;
  out.points = static_cast<int>(motions.size());
  if (motions.empty()) return out;
  std::vector<double> margins;
  out.smallest_margin = out.smallest_mass = std::numeric_limits<double>::infinity();
  for (const Motion& m : motions) {
    const RankReport ranks = rank_report(system, m);
    margins.push_back(rank_margin(system, m));
    if (!(ranks.condition <= out.largest_condition)) out.largest_condition = ranks.condition, out.condition_t = m.t;
    if (ranks.smallest_mass < out.smallest_mass) out.smallest_mass = ranks.smallest_mass, out.mass_t = m.t;
  }
  out.typical_margin = median_over_time(motions, margins);
  for (std::size_t i = 0; i < margins.size(); ++i) {
    const std::size_t before = i == 0 ? 0 : i - 1, after = std::min(i + 1, margins.size() - 1);
    Motion lowest = motions[i];
    double margin = margins[i];
    // A motion that ends on the way into a singular position has its minimum at the end.
    const bool is_last = i + 1 == margins.size();
    const bool is_minimum = margin <= margins[before] && (margin < margins[after] || (is_last && before < i));
    if (is_minimum && before < i) {
      const Motion found = smallest_between(system, motions[before], motions[i]);
      const Motion later = smallest_between(system, motions[i], motions[after]);
      for (const Motion& m : {found, later})
        if (const double here = rank_margin(system, m); here < margin) lowest = m, margin = here;
    }
    if (margin < out.smallest_margin) out.smallest_margin = margin, out.margin_t = lowest.t;
    // Constraints that are always redundant are reported by rank_report.
    if (is_minimum && out.typical_margin > 1e-10 && margin < singular_part * out.typical_margin)
      out.singularities.push_back({lowest.t, margin, rows_that_meet(system, lowest)});
  }
  return out;
}

}  // namespace kreisel::system
