// Chooses step size and order from error estimates. It decides only: no vectors or coefficients are involved.
#pragma once

#include <optional>

#include "method/variants.hpp"

namespace kreisel::run {

/// Error estimates in multiples of the tolerance, as if the step had been taken with order k-1, k, k+1.
struct OrderErrors {
  std::optional<double> lower;
  double current = 0.0;
  std::optional<double> higher;
};

struct ControllerOptions {
  int min_order = 1, max_order = 6;
  double max_step = 0.0;  ///< 0: none
  method::RatioBound ratios = method::RatioBound::growth;
};

class Controller {
 public:
  /// State kept in a checkpoint.
  struct State {
    double h = 0.0;
    int order = 1;
    int steps_since_change = 0;
    int failures = 0;         ///< in a row
    double last_error = 0.0;  ///< of the accepted step before, at the same order and step; 0: none
    bool is_starting = true;  ///< the step size still grows with every step
    bool is_leaping = false;  ///< the step is longer than one that failed
    int former_order = 0;     ///< of the previous accepted step, if the order has just changed; 0: it has not
    double former_step = 0.0;
  };

  Controller(const ControllerOptions& options, double initial_step, int initial_order);

  double step() const { return state_.h; }
  int order() const { return state_.order; }
  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }
  bool allows(int order) const { return order >= 1 && order <= options_.max_order; }

  /// Whether `accept` will use the estimates of other orders after a step of this error.
  bool compares_orders(double error) const;
  /// After an accepted step of size `taken` (which the end of the run may have cut below step()).
  void accept(const OrderErrors& errors, double taken);
  /// After a step of size `taken` that failed.
  void reject_error(double error, double taken);
  void reject_newton(double taken);
  int failures() const { return state_.failures; }

 private:
  void set_step(double h);
  /// Of the next step to the last one at this order.
  double largest_ratio(int order) const;
  /// Growth of the error of the next step if the trend of the last two continues.
  double trend(double error) const;
  void reject(double factor, double taken);

  ControllerOptions options_;
  State state_;
};

}  // namespace kreisel::run
