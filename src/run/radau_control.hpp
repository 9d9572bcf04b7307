// Step sizes of Radau IIA from its error estimate of order 3.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/archive.hpp"

namespace kreisel::run {

/// Elementary control, bounded by Gustafsson's predictive one (Hairer, Wanner 1996, section IV.8).
class RadauControl {
 public:
  static constexpr int order = 4;  ///< the estimate shrinks with this power of h

  RadauControl(double first, double max_step) : h_(first), max_step_(max_step) { bound(); }

  double step() const { return h_; }
  int failures() const { return failures_; }

  void reject_newton(double h) {
    ++failures_;
    h_ = 0.5 * h;
    newton_limit_ = 0.8 * h;
  }
  void reject_error(double h, double error, int iterations, int max_iterations) {
    ++failures_;
    h_ = is_first_ ? 0.1 * h : std::isfinite(error) ? h / quotient(error, iterations, max_iterations) : 0.1 * h;
    h_ = std::min(h_, 0.9 * h);
  }
  /// `is_smooth`: nothing jumps at the end of the step.
  void accept(double h, double error, int iterations, int max_iterations, bool is_smooth) {
    double q = quotient(error, iterations, max_iterations);
    const double bounded = std::max(error, 0.01);
    // A step that had to end at a given time is not used to predict the growth of errors.
    const bool is_cut = h < 0.9 * h_;
    if (!is_first_ && !is_cut && h_accepted_ > 0.0) {
      const double predicted = h_accepted_ / h * std::pow(bounded * bounded / error_accepted_, 1.0 / order) / safety;
      q = std::max(q, std::clamp(predicted, 1.0 / largest_growth, largest_cut));
    }
    h_accepted_ = is_cut ? 0.0 : h;
    error_accepted_ = bounded;
    double next = h / q;
    if (is_cut && is_smooth) next = std::max(next, h_);
    if (failures_ > 0) next = std::min(next, h);
    // The factors of the matrices can be kept.
    if (q >= 1.0 / 1.2 && q <= 1.0) next = h;
    // A step size at which Newton's method has just failed would fail again.
    h_ = std::min(next, newton_limit_);
    newton_limit_ *= limit_growth;
    failures_ = 0;
    is_first_ = false;
    bound();
  }

  void exchange(Archive& a) { a.all(h_, h_accepted_, error_accepted_, newton_limit_, failures_, is_first_); }

 private:
  static constexpr double safety = 0.9, largest_growth = 8.0, largest_cut = 5.0;
  static constexpr double limit_growth = 1.1;  ///< per step, of the limit that a failure of Newton's method leaves

  void bound() {
    if (max_step_ > 0.0) h_ = std::min(h_, max_step_);
  }
  /// h over the next step. Many iterations reduce the next step.
  double quotient(double error, int iterations, int max_iterations) const {
    const double factor = safety * std::min(1.0, (2.0 * max_iterations + 1.0) / (2.0 * max_iterations + iterations));
    return std::clamp(std::pow(std::max(error, 1e-10), 1.0 / order) / factor, 1.0 / largest_growth, largest_cut);
  }

  double h_, max_step_;
  double h_accepted_ = 0.0, error_accepted_ = 1.0;  ///< of the step before; 0: it was cut
  double newton_limit_ = std::numeric_limits<double>::infinity();
  int failures_ = 0;
  bool is_first_ = true;
};

}  // namespace kreisel::run
