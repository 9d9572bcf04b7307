#include "system/differences.hpp"
#include "lie/group_info.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

namespace kreisel::system {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double unit = std::numeric_limits<double>::epsilon();

/// Weights of the formulas of order 4, 6 and 8 for the points h, 2h, 3h, 4h.
using Weights = std::array<double, 4>;
constexpr std::array<Weights, 3> slope_weights{{{2.0 / 3.0, -1.0 / 12.0, 0.0, 0.0},
                                                {3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0, 0.0},
                                                {4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0}}};
constexpr std::array<Weights, 3> second_slope_weights{{{4.0 / 3.0, -1.0 / 12.0, 0.0, 0.0},
                                                       {3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0, 0.0},
                                                       {8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0}}};

/// By which the steps of a search grow.
constexpr double growth = 2.0;
/// A search ends when every error has grown by this factor over the smallest one seen.
constexpr double hopeless = 1e3;
/// Estimates times steps fall by 2⁹ to 2¹¹ from one step to the next smaller one, where truncation makes them.
constexpr double steepest = 0x1p14;
/// Relative errors below this cannot be improved by differences.
constexpr double excellent = 1e-11;
/// For relative errors above this larger steps than the largest are tried, up to so many times.
constexpr double poor = 1e-12, farthest = 1e12;
/// Where more than this part of a derivative is not resolved, smaller steps than the smallest may do better.
constexpr double unresolved = 1e-10;
/// A second derivative is tried with so many steps about the one that suits its slope.
constexpr int tried_steps = 5;
/// Assumed round-off of a function, in units of the size of its terms.
constexpr double roundings = 64.0;
/// No function is expected to vary over a smaller part of the size of a system, or of the time of a run.
constexpr double smallest_part = 0x1p-27, smallest_part_of_time = 0x1p-30;
/// A step of fewer units in the last place of its argument would give nothing but round-off.
constexpr double units_per_step = 1024.0;
/// A distance of less than this is the round-off of a zero.
constexpr double smallest_size = 1e-9;

/// Steps are not round numbers: 709/512.
constexpr double mantissa = 1.384765625;

/// Values at ±h, …, ±4h as odd and even parts.
class Stencil {
 public:
  Stencil(const Curve& f, double h) : h_(h) {
    for (int k = 1; k <= 4; ++k) {
      Vector ahead = f(k * h), behind = f(-k * h);
      const Vector larger = ahead.cwiseAbs().cwiseMax(behind.cwiseAbs());
      if (k == 1)
        largest_ = larger;
      else
        largest_ = largest_.cwiseMax(larger);
      odd_[k - 1] = ahead - behind;
      even_[k - 1] = ahead + behind;
    }
  }

  Derivative first() const {
    Derivative d;
    set(slope_weights, odd_, h_, d);
    d.error += (unit / h_) * largest_ + unresolved_even_part() / h_;
    d.size = d.value.cwiseAbs() + (even_[3] - even_[0]).cwiseAbs() / (15.0 * h_);
    return d;
  }

  Derivative second(const Vector& centre) const {
    Derivative d;
    std::array<Vector, 4> about = even_;
    for (Vector& even : about) even -= 2.0 * centre;
    set(second_slope_weights, about, h_ * h_, d);
    d.error += (4.0 * unit / (h_ * h_)) * largest_ + unresolved_odd_part() / (h_ * h_);
    d.size = d.value.cwiseAbs() + (odd_[1] - 2.0 * odd_[0]).cwiseAbs() / (2.0 * h_ * h_);
    return d;
  }

 private:
  /// The even part beyond a polynomial of degree 6, treated like the odd part: at rest the odd part may vanish, and
  /// at a kink it is smooth. Divided differences over k²; the factors make their round-off that of the function.
  Vector unresolved_even_part() const {
    Vector out(even_[0].size());
    for (Eigen::Index i = 0; i < out.size(); ++i) {
      const double d01 = (even_[1][i] - even_[0][i]) / 3.0, d12 = (even_[2][i] - even_[1][i]) / 5.0,
                   d23 = (even_[3][i] - even_[2][i]) / 7.0;
      const double d012 = (d12 - d01) / 8.0, d123 = (d23 - d12) / 12.0;
      out[i] = remainder(256.0 * std::abs(d123 - d012) / 15.0, 64.0 * std::abs(d012));
    }
    return out;
  }

  /// The same for the odd part beyond degree 7 and a second derivative, whose own corrections may happen to be small. The
  /// ratio r of the last two divided differences of odd_k/k over k² is (ωh)²/42 for sin ωs; 4|d0123|·28r·√(42r) is then what
  /// the even part shows for cos ωs.
  Vector unresolved_odd_part() const {
    Vector out(odd_[0].size());
    for (Eigen::Index i = 0; i < out.size(); ++i) {
      const double g0 = odd_[0][i], g1 = odd_[1][i] / 2.0, g2 = odd_[2][i] / 3.0, g3 = odd_[3][i] / 4.0;
      const double d01 = (g1 - g0) / 3.0, d12 = (g2 - g1) / 5.0, d23 = (g3 - g2) / 7.0;
      const double d012 = (d12 - d01) / 8.0, d123 = (d23 - d12) / 12.0, d0123 = std::abs(d123 - d012) / 15.0;
      const double ratio = d0123 == 0.0 ? 0.0 : d0123 < std::abs(d012) ? d0123 / std::abs(d012) : 1.0;
      out[i] = 4.0 * d0123 * std::min(1.0, 28.0 * ratio * std::sqrt(42.0 * ratio));
    }
    return out;
  }

  /// Of two successive corrections the next one, by their ratio.
  static double remainder(double last, double before) {
    return last == 0.0 ? 0.0 : last < before ? last * std::min(1.0, 4.0 * last / before) : last;
  }

  static void set(const std::array<Weights, 3>& weights, const std::array<Vector, 4>& values, double divisor,
                  Derivative& out) {
    const auto combined = [&](const Weights& w) -> Vector {
      return (w[0] * values[0] + w[1] * values[1] + w[2] * values[2] + w[3] * values[3]) / divisor;
    };
    const Vector fourth = combined(weights[0]), sixth = combined(weights[1]);
    out.value = combined(weights[2]);
    out.error.resize(out.value.size());
    for (Eigen::Index i = 0; i < out.value.size(); ++i) {
      out.error[i] = remainder(std::abs(out.value[i] - sixth[i]), std::abs(sixth[i] - fourth[i]));
      if (!std::isfinite(out.value[i]) || std::isnan(out.error[i])) out.error[i] = infinity;
    }
  }

  double h_;
  std::array<Vector, 4> odd_, even_;
  Vector largest_;
};

/// One step of a search.
struct Level {
  double h = 0.0;
  Derivative d;
  Vector noise;  ///< h times the error as this step alone shows it
  bool is_finite = true;
};

Level level_at(const Curve& f, double h, const Vector& roundoff) {
  Level level{h, slope(f, h), {}};
  if (roundoff.size() == level.d.error.size()) level.d.error = level.d.error.cwiseMax(roundoff / h);
  level.is_finite = level.d.value.allFinite() && level.d.error.allFinite();
  if (!level.is_finite) level.d.error.setConstant(infinity);
  level.noise = h * level.d.error;
  return level;
}

/// The levels of a search along one argument, by growing step.
class Search {
 public:
  Search(const Curve& f, StepRange range, const Vector& roundoff) : f_(f), roundoff_(roundoff) {
    const double largest = step_below(range.largest), smallest = std::min(step_below(range.smallest), largest);
    if (is_settled_at(largest)) return;
    levels_.clear();
    climb(smallest, largest);
    descend();
    forget_luck();
  }

  const std::vector<Level>& levels() const { return levels_; }
  Eigen::Index rows() const { return levels_.front().d.value.size(); }
  /// The best level for one row; of equally good ones the one with the largest step.
  const Level& best(Eigen::Index row) const {
    const Level* best = &levels_.front();
    for (const Level& level : levels_)
      if (level.d.error[row] <= best->d.error[row] || !has_signal(*best, row)) best = &level;
    return *best;
  }
  /// The level with the smallest of the errors relative to what counts in each row.
  const Level& best(const Vector& worth) const {
    const Level* best = nullptr;
    double smallest = infinity;
    for (const Level& level : levels_) {
      double worst = 0.0;
      for (Eigen::Index i = 0; i < rows(); ++i) {
        const bool is_blind = !has_signal(level, i) && has_signal(this->best(i), i);
        if (is_blind)
          worst = infinity;
        else if (level.d.error[i] > 0.0)
          worst = std::max(worst, worth[i] > 0.0 ? level.d.error[i] / worth[i] : infinity);
      }
      if (best == nullptr || (level.is_finite && worst <= smallest)) best = &level, smallest = worst;
    }
    return *best;
  }

 private:
  /// A function that does not change at all may be constant, or the step may be too small.
  static bool has_signal(const Level& level, Eigen::Index row) { return level.d.size[row] > 0.0; }

  /// Two steps that agree need no search.
  bool is_settled_at(double largest) {
    try {
      levels_ = {level_at(f_, largest / growth, roundoff_), level_at(f_, largest, roundoff_)};
    } catch (const std::exception&) {  // outside the domain of the function
      return false;
    }
    const auto& [fine, coarse] = std::pair<const Level&, const Level&>(levels_[0], levels_[1]);
    if (!fine.is_finite || !coarse.is_finite) return false;
    const Vector size = fine.d.size.cwiseMax(coarse.d.size);
    return ((coarse.d.value - fine.d.value).cwiseAbs().array() <= (10.0 * excellent) * size.array()).all() &&
           (coarse.d.error.array() <= excellent * size.array()).all();
  }

  void climb(double smallest, double largest) {
    levels_.push_back(level_at(f_, smallest, roundoff_));
    // A range that ends while errors still fall was assumed too small.
    for (double h = smallest * growth; h <= largest * 1.01 || (h <= farthest * largest && is_poor(levels_.back()));
         h *= growth) {
      try {
        levels_.push_back(level_at(f_, h, roundoff_));
      } catch (const std::exception&) {  // outside the domain of the function
        return;
      }
      forget_luck();
      const Level& level = levels_.back();
      if (!level.is_finite) return;
      if (h > largest * 1.01 && !is_better_than_the_one_before()) {
        levels_.pop_back();
        return;
      }
      if (rows() > 0 && is_hopeless(level)) return;
    }
  }

  bool is_hopeless(const Level& last) const {
    for (Eigen::Index i = 0; i < rows(); ++i) {
      double least = infinity;
      for (const Level& level : levels_)
        if (&level != &last && has_signal(level, i)) least = std::min(least, level.d.error[i]);
      if (!(last.d.error[i] > hopeless * least)) return false;
    }
    return true;
  }

  /// A bounded function has a small slope over long steps, whatever its derivative: beyond the range no error may grow.
  bool is_better_than_the_one_before() const {
    const Derivative &last = levels_.back().d, &before = levels_[levels_.size() - 2].d;
    return (last.error.array() <= before.error.array()).all() &&
           ((last.value - before.value).cwiseAbs().array() <= 8.0 * (last.error + before.error).array()).all();
  }

  /// Rows that do not change at all do not require a wider search.
  static bool is_poor(const Level& level) {
    return level.is_finite && (level.d.size.array() > 0.0 && level.d.error.array() > poor * level.d.size.array()).any();
  }

  /// Below the smallest step, where even that is too coarse.
  void descend() {
    while (levels_.front().h > std::numeric_limits<double>::min() / unit) {
      const Level& lowest = levels_.front();
      bool is_coarse = !lowest.is_finite;
      for (Eigen::Index i = 0; i < rows(); ++i)
        is_coarse = is_coarse || (lowest.d.error[i] > unresolved * lowest.d.size[i] && best(i).h == lowest.h);
      if (!is_coarse) return;
      Level below = level_at(f_, lowest.h / growth, roundoff_);
      bool is_better = below.is_finite && !lowest.is_finite;
      for (Eigen::Index i = 0; i < rows(); ++i)
        is_better = is_better || (has_signal(below, i) && below.d.error[i] < 0.5 * lowest.d.error[i]);
      if (!is_better && (below.is_finite || below.h < 1e-30 * levels_.back().h)) return;
      levels_.insert(levels_.begin(), std::move(below));
    }
  }

  /// The round-off of a function does not depend on the step. Values of few digits may lie on a parabola by chance: an error is
  /// not below the contribution of the round-off seen with smaller steps, and where it falls faster from the next larger step
  /// than any truncation error, that step shows the round-off.
  void forget_luck() {
    Vector noise = Vector::Zero(rows());
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      Level& level = levels_[l];
      if (!level.is_finite) continue;
      noise = noise.cwiseMax(level.noise);
      Vector here = noise;
      if (l + 1 < levels_.size() && levels_[l + 1].is_finite)
        for (Eigen::Index i = 0; i < rows(); ++i)
          if (levels_[l + 1].noise[i] > steepest * level.noise[i]) here[i] = std::max(here[i], levels_[l + 1].noise[i]);
      level.d.error = here / level.h;
    }
  }

  const Curve& f_;
  const Vector& roundoff_;
  std::vector<Level> levels_;
};

/// The scale of each row of a column: its derivative, but at least the possible change of the row over the given length.
Vector worth_of(const Search& search, const Vector& terms) {
  Vector worth(search.rows());
  double length = 0.0;
  for (Eigen::Index i = 0; i < search.rows(); ++i) {
    const Level& best = search.best(i);
    worth[i] = best.d.size[i];
    length = std::max(length, best.h / step_part);
  }
  for (Eigen::Index i = 0; i < std::min(terms.size(), worth.size()); ++i)
    worth[i] = std::max(worth[i], terms[i] / length);
  return worth;
}

Vector at_least(const Vector& terms, Eigen::Index rows) {
  return terms.size() == rows ? terms : Vector(Vector::Zero(rows));
}

}  // namespace

Derivative slope(const Curve& f, double h) { return Stencil(f, h).first(); }

Derivative second_slope(const Curve& f, double h) {
  const Vector centre = f(0.0);
  return Stencil(f, h).second(centre);
}

double step_below(double wanted) {
  int exponent = 0;
  const double part = std::frexp(wanted / mantissa, &exponent);  // in [1/2, 1)
  return part > 0.0 ? std::ldexp(mantissa, exponent - 1) : wanted;
}

StepRange range_of(double length, double at) {
  return {std::max(smallest_part * length, units_per_step * unit * std::abs(at)), step_part * length};
}

StepRange time_range(double time, double at) {
  return {std::max(smallest_part_of_time * time, units_per_step * unit * std::abs(at)), step_part * time};
}

Vector distances(const lie::Space& space, const Vector& q) {
  Vector out = Vector::Zero(space.nv());
  for (const lie::Block& block : space.blocks()) {
    const bool is_flat = block.group == lie::GroupId::rn;
    const int n = lie::translations_of(block);
    for (int i = 0; i < n; ++i)
      out[block.v_at + i] = is_flat ? std::abs(q[block.q_at + i]) : q.segment(block.q_at, n).norm();
  }
  return out;
}

std::vector<StepRange> configuration_ranges(const lie::Space& space, const Vector& q) {
  const Vector far = distances(space, q);
  const double farthest = far.maxCoeff();
  std::vector<StepRange> ranges(space.nv());
  for (const lie::Block& block : space.blocks()) {
    const int n = lie::translations_of(block);
    if (n == 0) continue;
    const double own = far.segment(block.v_at, n).maxCoeff();
    const double size = own >= smallest_size ? own : farthest >= smallest_size ? farthest : 1.0;
    // ℝⁿ may contain angles and lengths: angles vary over 1.
    for (int i = 0; i < n; ++i)
      ranges[block.v_at + i] = {
          std::max(smallest_part * std::min(size, 1.0), units_per_step * unit * far[block.v_at + i]), step_part * size};
  }
  return ranges;
}

Steps largest_steps(std::vector<StepRange> ranges) {
  Steps out;
  out.step.resize(static_cast<Eigen::Index>(ranges.size()));
  for (std::size_t j = 0; j < ranges.size(); ++j)
    out.step[static_cast<Eigen::Index>(j)] = step_below(ranges[j].largest);
  out.ranges = std::move(ranges);
  return out;
}

Steps find_steps(const Columns& f, std::vector<StepRange> ranges, const Vector& terms, const Vector& roundoff) {
  const int n = static_cast<int>(ranges.size());
  std::vector<Curve> curves;
  std::vector<Search> searches;
  curves.reserve(ranges.size());
  searches.reserve(ranges.size());
  for (int j = 0; j < n; ++j) {
    curves.emplace_back([&f, j](double s) { return f(j, s); });
    searches.emplace_back(curves.back(), ranges[j], roundoff);
  }
  Steps out = largest_steps(std::move(ranges));
  out.roundoff = roundoff;
  if (n == 0) return out;
  const Eigen::Index rows = searches.front().rows();
  Vector sizes = at_least(terms, rows);
  for (const Search& search : searches)
    for (Eigen::Index i = 0; i < rows; ++i) {
      const Level& best = search.best(i);
      sizes[i] = std::max(sizes[i], best.d.size[i] * best.h / step_part);
    }
  out.noise = Matrix::Zero(rows, n);
  for (int j = 0; j < n; ++j) {
    const Level& best = searches[j].best(worth_of(searches[j], sizes));
    out.step[j] = best.h;
    if (best.is_finite) out.noise.col(j) = best.h * best.d.error;
  }
  return out;
}

Jacobian differentiate(const Columns& f, const Steps& steps, double accuracy, const Vector& terms) {
  const int n = static_cast<int>(steps.step.size());
  Jacobian out;
  const auto put = [&](int j, const Derivative& d) {
    if (out.value.size() == 0) out.value.resize(d.value.size(), n), out.error = out.size = out.value;
    out.value.col(j) = d.value;
    out.error.col(j) = d.error;
    out.size.col(j) = d.size;
  };
  for (int j = 0; j < n; ++j) put(j, slope([&](double s) { return f(j, s); }, steps.step[j]));
  if (out.value.size() == 0) return out;
  const Eigen::Index rows = out.value.rows();
  const bool has_noise = steps.noise.rows() == rows && steps.noise.cols() == n;
  if (has_noise)
    for (int j = 0; j < n; ++j) out.error.col(j) = out.error.col(j).cwiseMax(steps.noise.col(j) / steps.step[j]);
  Vector sizes = at_least(terms, rows);
  for (int j = 0; j < n; ++j) sizes = sizes.cwiseMax(steps.length(j) * out.size.col(j));
  for (int j = 0; j < n; ++j) {
    bool is_good = out.value.col(j).allFinite();
    for (Eigen::Index i = 0; i < rows && is_good; ++i) {
      const double noise = has_noise ? 8.0 * steps.noise(i, j) : 0.0;
      is_good = out.error(i, j) <= std::max({accuracy * out.size(i, j), 0.01 * accuracy * sizes[i] / steps.length(j),
                                             noise / steps.step[j]});
    }
    if (is_good) continue;
    const Curve curve = [&](double s) { return f(j, s); };
    const Search search(curve, steps.ranges[j], steps.roundoff);
    put(j, search.best(worth_of(search, sizes)).d);
  }
  return out;
}

Derivative differentiate_twice(const Curve& f, double step, double accuracy, const Vector& terms) {
  const Vector centre = f(0.0);
  const Vector sizes = at_least(terms, centre.size());
  Derivative best;
  const auto is_good_with = [&](double h) {
    const Derivative d = Stencil(f, h).second(centre);
    if (best.value.size() == 0) best = d;
    bool is_good = true;
    for (Eigen::Index i = 0; i < d.value.size(); ++i) {
      if (d.error[i] < best.error[i]) best.value[i] = d.value[i], best.error[i] = d.error[i], best.size[i] = d.size[i];
      is_good = is_good && best.error[i] <= std::max(accuracy * best.size[i], roundings * unit * sizes[i] / (h * h));
    }
    return is_good;
  };
  constexpr double ratio = second_step_part / step_part;
  if (is_good_with(ratio * step)) return best;
  // A different length from the known one.
  const Vector unknown;
  const Search search(f, {smallest_part * step, step}, unknown);
  double h = 2.0 * ratio * search.best(worth_of(search, sizes)).h;
  for (int i = 0; i < tried_steps && !is_good_with(h); ++i) h *= 0.5;
  return best;
}

}  // namespace kreisel::system
