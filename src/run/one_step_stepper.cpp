#include "one_step_stepper.hpp"

#include <cmath>
#include <utility>

#include "exchange.hpp"
#include "turns.hpp"

namespace kreisel::run {

using method::History;

namespace {

method::EntrySizes sizes_of(const system::System& system) {
  return {system.pattern().rows(), system.pattern().position_rows(), 0};
}

}  // namespace

OneStepStepper::OneStepStepper(const system::System& system, const Plan& plan, Counters& counters)
    : map_(make_one_step(system, plan, counters)),
      start_up_(system, counters, plan.options.linear_solver.name()),
      before_(History::blank(system.space(), sizes_of(system))),
      now_(before_),
      trial_(before_),
      q_error_(system.space().nv()),
      v_error_(system.space().nv()),
      parts_(parts_of(system)) {}

bool OneStepStepper::place(const system::Start& start) { return start_up_.place(start.t0, start.q0, start.v0, now_); }

bool OneStepStepper::go_on_behind(double t) {
  now_.motion.t = t;
  if (!start_up_.accelerate(now_)) return false;
  now_.h = 0.0;
  now_.work.reset();
  is_at_start_ = true;
  return true;
}

Attempt OneStepStepper::attempt(const Proposal& proposal) {
  Attempt a{.t = now_.motion.t, .h = proposal.h, .order = map_->order()};
  trial_.lambda = now_.lambda;
  if (!map_->step(now_.motion, proposal.h, trial_.motion, trial_.lambda, trial_.omega)) {
    a.outcome = Outcome::stage_failed;
    return a;
  }
  trial_.motion.t = proposal.t;
  trial_.h = proposal.h;
  trial_.order = map_->order();
  trial_.work = map_->work();
  return a;
}

/// Of two estimates the higher-order one counts, damped by the other: e₁²/√(e₁² + e₂²/100) (Hairer, Nørsett, Wanner 1993,
/// section II.10).
std::optional<double> OneStepStepper::error_at(int order, ErrorNorm& norm, bool) {
  if (order != map_->order() || map_->estimates() == 0) return {};
  map_->error_estimate(0, q_error_, v_error_);
  const double first = norm(q_error_, v_error_);
  if (map_->estimates() == 1 || first == 0.0) return first;
  map_->error_estimate(1, q_error_, v_error_);
  const double second = norm(q_error_, v_error_);
  return first * first / std::sqrt(first * first + 0.01 * second * second);
}

double OneStepStepper::longest_step() const { return run::longest_step(parts_, now_.motion); }

void OneStepStepper::commit() {
  std::swap(before_, now_);
  std::swap(now_, trial_);
  is_at_start_ = false;
}

bool OneStepStepper::at(double t, Entry& out) {
  if (is_at_start_) return false;
  out.lambda = before_.lambda;
  if (!map_->step(before_.motion, t - before_.motion.t, out.motion, out.lambda, out.omega)) return false;
  out.motion.t = t;
  out.h = now_.h;
  out.order = now_.order;
  out.work = map_->work();
  return true;
}

void OneStepStepper::recall(std::span<const Entry> past) {
  now_ = past.back();
  before_ = past.size() > 1 ? past[past.size() - 2] : now_;
  is_at_start_ = past.size() < 2;
}

void OneStepStepper::exchange(Archive& a) {
  run::exchange(a, before_);
  run::exchange(a, now_);
  a(is_at_start_);
}

}  // namespace kreisel::run
