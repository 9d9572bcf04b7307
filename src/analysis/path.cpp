#include "kreisel/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "analysis/static_matrix.hpp"
#include "analysis/static_stability.hpp"
#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "system/consistency.hpp"

namespace kreisel::analysis {
namespace {

using system::Motion;
using system::System;

/// A point with the direction of the path: |x|² + (p/range)² = 1, translations in sizes of the mechanism.
struct Place {
  double parameter = 0.0;
  Vector q, lambda;
  Vector x, mu;  ///< per arc length
  double p = 0.0;
};

class Follower {
 public:
  Follower(const Family& make, const Equilibrium& first, const PathOptions& options)
      : make_(make), options_(options), range_(std::abs(options.to - options.from)), motion_(first.motion) {
    system_ = made(options.from);
    nv_ = system_->space().nv();
    rows_ = system_->pattern().rows();
    if (first.lambda.size() != rows_)
      throw InvalidInput("the equilibrium rests on a limit; along a path of equilibria limits cannot close or open");
    length_ = system::length_scale(*system_, first.motion);
    weight_.setConstant(nv_, 1.0);
    for (const lie::Block& block : system_->space().blocks()) {
      const int translations = lie::translations_of(block);
      weight_.segment(block.v_at, translations).setConstant(1.0 / length_);
    }
    // A mean over the bodies, so that a finer rod does not need shorter steps.
    weight_ /= std::sqrt(static_cast<double>(system_->space().blocks().size()));
    here_.parameter = options.from;
    here_.q = first.motion.q;
    here_.lambda = first.lambda;
  }

  StaticPath run() {
    const double towards = options_.to > options_.from ? 1.0 : -1.0;
    if (!find_tangent(here_, nullptr)) return fail("the stiffness is singular at the first point");
    if (here_.p * towards < 0.0) turn_back(here_);
    add(here_);
    double step = 1.0 / options_.points;
    const double longest = 4.0 * step;
    while (static_cast<int>(out_.points.size()) < options_.max_points) {
      Place next;
      int iterations = 0;
      if (!correct(here_, step, next, iterations) || !find_tangent(next, &here_) || turns_sharply(next)) {
        step *= 0.5;
        if (step < 1e-8) return fail("the path cannot be followed: no equilibrium was found near it");
        continue;
      }
      Place special;
      if (here_.p * next.p < 0.0) {
        if (find_limit(here_, step, special)) add(special).is_limit = true;
      } else if (find_critical(here_, step, next, special) && (special.parameter - options_.to) * towards < 0.0) {
        add(special).is_critical = true;
      }
      if ((next.parameter - options_.to) * towards >= 0.0) {
        // The end lies between: with the parameter given.
        Place end = here_;
        const double part = (options_.to - here_.parameter) / (next.parameter - here_.parameter);
        if (!correct_at(options_.to, part, next, end)) return fail("the last equilibrium was not found");
        add(end);
        out_.is_complete = true;
        return std::move(out_);
      }
      if ((options_.from - next.parameter) * towards > 2.0 * range_)
        return fail("the path turned back and left the range on the other side");
      here_ = std::move(next);
      add(here_);
      step = std::min(longest, iterations <= 4 ? 1.5 * step : iterations > 6 ? 0.7 * step : step);
    }
    return fail(fmt::format("the end was not reached within {} points", options_.max_points));
  }

 private:
  std::shared_ptr<const System> made(double parameter) const {
    std::shared_ptr<const System> system = make_(parameter);
    if (system_ != nullptr && (system->space().nv() != nv_ || system->pattern().rows() != rows_))
      throw InvalidInput(
          "the parameter changes how many coordinates or constraints the model has; they must be the same along a "
          "path");
    return system;
  }

  void evaluate(const System& system, const Place& at, Vector& out) {
    motion_.q = at.q;
    motion_.v.setZero();
    motion_.a.setZero();
    system::Residual r(nv_, system.pattern().position_rows(), rows_);
    system.residual(motion_, at.lambda, r);
    out = Vector::Zero(nv_ + rows_);
    out.head(nv_) = r.force;
    out.segment(nv_, system.pattern().position_rows()) = r.gap;
    drop_followers(out);
  }

  void drop_followers(Vector& out) const {
    const auto& blocks = system_->space().blocks();
    for (std::size_t b = 0; b < follows_.size(); ++b)
      if (follows_[b]) out.segment(blocks[b].v_at, blocks[b].nv).setZero();
  }

  /// At a place: the matrix and, if `finds_derivative`, the derivative of the residual by the parameter. Otherwise
  /// that of the last point is used: it is exact for loads, and Newton's method converges anyway.
  [[nodiscard]] bool linearize(const Place& at, bool finds_derivative) {
    system_ = made(at.parameter);
    system::KktBlocks blocks(system_->pattern());
    motion_.q = at.q;
    motion_.v.setZero();
    motion_.a.setZero();
    system_->linearize(motion_, at.lambda, blocks);
    follows_ = followers(*system_, blocks);
    matrix_ = std::make_unique<StaticMatrix>(*system_, "automatic");
    if (!matrix_->factorize(blocks, [&](int b) {
          return follows_[static_cast<std::size_t>(b)] ? StaticMatrix::Weights{.d = 1.0, .k = 0.0}
                                                       : StaticMatrix::Weights{};
        }))
      return false;
    if (!finds_derivative) return true;
    const double e = 1e-5 * range_;
    Vector plus, minus;
    evaluate(*made(at.parameter + e), at, plus);
    evaluate(*made(at.parameter - e), at, minus);
    by_parameter_ = (plus - minus) / (2.0 * e);
    return by_parameter_.allFinite();
  }

  double product(const Vector& a, const Vector& b) const {
    return a.head(nv_).cwiseProduct(weight_).dot(b.head(nv_).cwiseProduct(weight_));
  }

  [[nodiscard]] bool find_tangent(Place& at, const Place* before) {
    if (!linearize(at, true)) return false;
    Vector d = -by_parameter_;
    matrix_->solve(d);
    if (!d.allFinite()) return false;
    const double size = 1.0 / std::sqrt(product(d, d) + 1.0 / (range_ * range_));
    at.x = size * d.head(nv_);
    at.mu = size * d.tail(rows_);
    at.p = size;
    if (before != nullptr && product(at.x, before->x) + at.p * before->p / (range_ * range_) < 0.0) turn_back(at);
    return true;
  }

  static void turn_back(Place& at) {
    at.x = -at.x;
    at.mu = -at.mu;
    at.p = -at.p;
  }

  bool turns_sharply(const Place& next) const {
    return product(next.x, here_.x) + next.p * here_.p / (range_ * range_) < 0.9;
  }

  void move(Place& at, const Vector& update, double part) const {
    const Vector x = part * update.head(nv_), q = at.q;
    system_->space().move(q, x, at.q);
    at.lambda += part * update.tail(rows_);
  }

  /// In the plane across the path, at the distance `step`.
  [[nodiscard]] bool correct(const Place& from, double step, Place& out, int& iterations) {
    out = from;
    const Vector ahead = step * from.x;
    system_->space().move(from.q, ahead, out.q);
    out.lambda += step * from.mu;
    out.parameter += step * from.p;
    double before = std::numeric_limits<double>::infinity();
    constexpr int most = 12;
    for (iterations = 1; iterations <= most; ++iterations) {
      if (!linearize(out, false)) return false;
      Vector r;
      evaluate(*system_, out, r);
      if (!r.allFinite()) return false;
      Vector a = -r, b = -by_parameter_;
      matrix_->solve(a);
      matrix_->solve(b);
      const double across = product(from.x, b) + from.p / (range_ * range_);
      const double dp = -product(from.x, a) / across;
      const Vector update = a + dp * b;
      if (!update.allFinite() || !std::isfinite(dp)) return false;
      const double size = std::sqrt(product(update, update) + dp * dp / (range_ * range_));
      if (size > 2.0 * before || size > 10.0 * std::max(step, 1e-3)) return false;
      move(out, update, 1.0);
      out.parameter += dp;
      if (size < 1e-10 || (size < 1e-8 && size > 0.1 * before)) return true;
      before = size;
    }
    return false;
  }

  /// With the parameter given, from `part` of the way to `next`.
  [[nodiscard]] bool correct_at(double parameter, double part, const Place& next, Place& out) {
    const double way = (next.parameter - here_.parameter) / (here_.p != 0.0 ? here_.p : 1.0);
    Vector ahead = part * way * here_.x;
    if (ahead.allFinite()) system_->space().move(here_.q, ahead, out.q);
    out.parameter = parameter;
    for (int i = 0; i < 30; ++i) {
      if (!linearize(out, false)) return false;
      Vector r;
      evaluate(*system_, out, r);
      Vector a = -r;
      matrix_->solve(a);
      if (!a.allFinite()) return false;
      const double size = std::sqrt(product(a, a));
      move(out, a, std::min(1.0, 0.2 / std::max(size, 1e-300)));
      if (size < 1e-9) return true;
    }
    return false;
  }

  /// Where dp/ds = 0 between a place and `step` from it, by regula falsi that halves the weight of a value that stays
  /// (Illinois).
  [[nodiscard]] bool find_limit(const Place& from, double step, Place& limit) {
    double low = 0.0, high = step, at_low = from.p, at_high = 0.0;
    Place at;
    int unused = 0;
    if (!correct(from, step, at, unused) || !find_tangent(at, &from)) return false;
    at_high = at.p;
    for (int i = 0; i < 60; ++i) {
      const double s = high - at_high * (high - low) / (at_high - at_low);
      if (!correct(from, s, limit, unused) || !find_tangent(limit, &from)) return false;
      // p differs from its largest value by the square of this.
      if (std::abs(limit.p) < 1e-7 * range_ || high - low < 1e-12 * step) return true;
      if (limit.p * at_high > 0.0) {
        high = s;
        at_high = limit.p;
        at_low *= 0.5;
      } else {
        low = s;
        at_low = limit.p;
        at_high *= 0.5;
      }
    }
    return true;
  }

  std::optional<LeastStiffness> stiffness_at(const Place& at) {
    motion_.q = at.q;
    motion_.v.setZero();
    motion_.a.setZero();
    return least_stiffness(*made(at.parameter), motion_, at.lambda);
  }

  /// Where the least stiffness passes zero between a place and `next`, `step` from it, by the same method.
  [[nodiscard]] bool find_critical(const Place& from, double step, const Place& next, Place& out) {
    const std::optional<LeastStiffness> first = stiffness_at(from), last = stiffness_at(next);
    if (!first || !last || first->is_minimum() == last->is_minimum()) return false;
    double low = 0.0, high = step, at_low = first->value, at_high = last->value;
    // Neutral before it begins to change.
    if (at_low * at_high >= 0.0) return false;
    int unused = 0;
    for (int i = 0; i < 60; ++i) {
      const double s = high - at_high * (high - low) / (at_high - at_low);
      if (!correct(from, s, out, unused)) return false;
      const std::optional<LeastStiffness> there = stiffness_at(out);
      if (!there) return false;
      if (std::abs(there->value) <= there->noise || std::abs(high - low) < 1e-12 * step) return true;
      if (there->value * at_high > 0.0) {
        high = s;
        at_high = there->value;
        at_low *= 0.5;
      } else {
        low = s;
        at_low = there->value;
        at_high *= 0.5;
      }
    }
    return true;
  }

  PathPoint& add(const Place& at) {
    PathPoint point;
    point.parameter = at.parameter;
    point.system = made(at.parameter);
    point.motion = motion_;
    point.motion.q = at.q;
    point.motion.v.setZero();
    point.motion.a.setZero();
    point.lambda = at.lambda;
    return out_.points.emplace_back(std::move(point));
  }

  StaticPath fail(std::string message) {
    out_.message = fmt::format("at {:.9g}: {}", here_.parameter, message);
    return std::move(out_);
  }

  const Family& make_;
  PathOptions options_;
  double range_, length_ = 1.0;
  int nv_ = 0, rows_ = 0;
  std::shared_ptr<const System> system_;
  std::unique_ptr<StaticMatrix> matrix_;
  std::vector<bool> follows_;
  Vector weight_, by_parameter_;
  Motion motion_;
  Place here_;
  StaticPath out_;
};

}  // namespace

StaticPath follow(const Family& make, const Equilibrium& first, const PathOptions& options) {
  return Follower(make, first, options).run();
}

}  // namespace kreisel::analysis
