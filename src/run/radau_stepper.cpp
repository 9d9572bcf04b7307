#include "radau_stepper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "exchange.hpp"
#include "turns.hpp"

namespace kreisel::run {

using coeff::Radau;
using method::History;

namespace {

/// Fraction of the largest turn that a step can represent: v changes during the step.
constexpr double turn_margin = 0.9;
/// A vector that turns with a body, as a reaction does where velocities are constant and no error is seen, is a cubic between
/// the steps up to 7.6e-4 φ⁴ for a turn by φ. That error may reach this many multiples of rtol.
constexpr double turned_fraction = 100.0;

constexpr std::array parts_of_power{&system::Power::forces, &system::Power::drivers, &system::Power::dissipated};

double largest_turn(double rtol) {
  return std::min(turn_margin * solve::Radau::largest_turn, std::pow(turned_fraction * rtol / 7.6e-4, 0.25));
}

/// The parts of blocks that rows touch, or the others.
std::vector<Part> parts_of_blocks(const system::System& system, bool are_touched) {
  std::vector<Part> parts = parts_of(system);
  std::erase_if(parts, [&](const Part& part) {
    const bool is_touched = std::ranges::any_of(system.pattern().touches(), [&](const system::Pattern::Touch& touch) {
      const lie::Block& block = system.space().blocks()[static_cast<std::size_t>(touch.block)];
      return part.v_at >= block.v_at && part.v_at < block.v_at + block.nv;
    });
    return is_touched != are_touched;
  });
  return parts;
}

void exchange_collocation(Archive& a, solve::Collocation& c) {
  a.all(c.t, c.h, c.q);
  for (auto* list : {&c.theta, &c.a, &c.eta})
    for (Vector& x : *list) a(x);
  for (auto* list : {&c.v, &c.lambda})
    for (Vector& x : *list) a(x);
}

}  // namespace

RadauStepper::RadauStepper(const system::System& system, const Plan& plan, Counters& counters)
    : system_(system),
      plan_(plan),
      radau_(system, plan.formulation, plan.closeness.newton, counters),
      start_up_(system, counters, plan.options.linear_solver.name()),
      parts_(parts_of(system)),
      held_parts_(parts_of_blocks(system, true)),
      free_parts_(parts_of_blocks(system, false)),
      now_(History::blank(system.space(), {system.pattern().rows(), system.pattern().position_rows(), 0})),
      trial_(now_),
      last_(system),
      next_(system),
      shown_(system),
      next_shown_(system),
      stage_(system.space()),
      weight_(Vector::Zero(system.space().nv())),
      q_error_(weight_),
      v_error_(weight_) {}

bool RadauStepper::place(const system::Start& start) { return start_up_.place(start.t0, start.q0, start.v0, now_); }

bool RadauStepper::go_on_behind(double t) {
  if (!radau_.jump_to(t, now_, last_)) {
    now_.motion.t = t;
    if (!start_up_.accelerate(now_)) return false;
    last_.h = 0.0;  // the stages before the jump do not predict those after it
  }
  now_.h = 0.0;
  now_.work.reset();
  is_at_start_ = true;
  is_shown_ = false;
  attempts_ = 0;
  return true;
}

void RadauStepper::weigh(const Entry& from, double h) {
  velocity_weights(parts_, from.motion, plan_.closeness.scale(h), weight_);
}

Attempt RadauStepper::attempt(const Proposal& proposal) {
  ++attempts_;
  is_refined_ = false;
  gross_of_trial_ = 0.0;
  trial_.work.reset();
  weigh(now_, proposal.h);
  const solve::Closed closed = radau_.step(now_, proposal.h, last_, weight_, next_, trial_);
  Attempt a{.t = now_.motion.t,
            .h = proposal.h,
            .order = method_order,
            .iterations = closed.iterations,
            .update_norm = closed.update_norm,
            .kept_matrix = closed.kept_matrix,
            .outcome = radau_.turned() > 1.0 ? Outcome::turned_too_far : outcome_of(closed.status)};
  if (a.outcome != Outcome::accepted) return a;
  a.iterations = radau_.iterations();
  trial_.motion.t = proposal.t;
  trial_.order = method_order;
  measure_power(proposal.h);
  return a;
}

/// The work of the step: the power at the stages, by the quadrature formula of the method. Reactions of stages have a lower
/// order than the motion: where they do work, they are refined first.
void RadauStepper::measure_power(double h) {
  if (system_.is_conservative()) return;
  const auto measure = [&](const solve::Collocation& step) {
    for (int i = 0; i < Radau::stages; ++i) {
      stage_ = radau_.stage(i);
      stage_.v = step.v[i + 1];
      stage_.a = step.a[i];
      next_power_[i] = system_.power(stage_, step.lambda[i + 1]);
    }
  };
  measure(next_);
  const bool has_drivers = std::ranges::any_of(next_power_, [](const system::Power& p) { return p.drivers != 0.0; });
  if (has_drivers || !system_.is_affine_in_multipliers()) {
    next_shown_ = next_;
    radau_.refine(next_shown_);
    radau_.return_to_end();
    is_refined_ = true;
    measure(next_shown_);
  }
  trial_.work = system::Power();
  for (int i = 0; i < Radau::stages; ++i) trial_.work->add(h * Radau::a[2][i], next_power_[i]);
  gross_of_trial_ = 0.0;
  for (double system::Power::*part : parts_of_power)
    for (int i = 0; i < Radau::stages; ++i) gross_of_trial_ += std::abs(h * Radau::a[2][i] * (next_power_[i].*part));
}

/// Nothing else sees the quadrature where drivers prescribe the motion. The part of the power that is cubic in time gives a
/// relative error of order 4, the formula has one of order 6: its power 3/2.
double RadauStepper::work_error() const {
  const system::Power first = system_.power(now_.motion, now_.lambda);
  double worst = 0.0;
  for (double system::Power::*part : parts_of_power) {
    double cubic = Radau::cubic_weights[0] * (first.*part);
    for (int i = 0; i < Radau::stages; ++i) cubic += Radau::cubic_weights[i + 1] * (next_power_[i].*part);
    worst = std::max(worst, std::abs(trial_.h * cubic));
  }
  const Options& options = plan_.options;
  const double relative = worst / (gross_ + gross_of_trial_ + options.atol / options.rtol);
  return relative * std::sqrt(relative) / options.rtol;
}

std::optional<double> RadauStepper::error_at(int order, ErrorNorm& norm, bool tests_lambda) {
  if (order != method_order) return {};
  radau_.error_estimate(now_, next_, false, q_error_, v_error_);
  double error = norm(q_error_, v_error_);
  if ((is_at_start_ || attempts_ > 1) && error >= 1.0) {
    radau_.error_estimate(now_, next_, true, q_error_, v_error_);
    error = std::min(error, norm(q_error_, v_error_));
  }
  if (trial_.work) error = std::max(error, work_error());
  if (plan_.controls_lambda && tests_lambda) {
    const Options& options = plan_.options;
    error = std::max(error, radau_.lambda_defect() / (options.atol + options.rtol * trial_.lambda.norm()));
  }
  return error;
}

bool RadauStepper::project_trial(bool position, bool velocity) {
  const Vector before = trial_.motion.q;
  if (!start_up_.project(trial_.motion, position, velocity)) return false;
  // ω is corrected: the logarithm of a whole step would lose turns.
  Vector moved(trial_.omega.size()), correction(trial_.omega.size());
  system_.space().difference(before, trial_.motion.q, moved);
  system_.space().tangent_inverse(trial_.omega, moved, correction);
  trial_.omega += correction;
  next_.theta.back() = trial_.omega;
  next_.v.back() = trial_.motion.v;
  is_refined_ = false;
  radau_.forget_end();
  return true;
}

void RadauStepper::commit() {
  std::swap(now_, trial_);
  std::swap(last_, next_);
  std::swap(last_power_, next_power_);
  if (is_refined_) std::swap(shown_, next_shown_);
  is_shown_ = is_refined_;
  gross_ += gross_of_trial_;
  is_at_start_ = false;
  attempts_ = 0;
}

bool RadauStepper::at(double t, Entry& out) {
  if (is_at_start_) return false;
  if (!is_shown_) {
    shown_ = last_;  // the next step is guessed from the stages as they were
    radau_.refine(shown_);
    is_shown_ = true;
  }
  const double s = (t - last_.t) / last_.h;
  shown_.at(system_.space(), s, out.omega, out.motion, out.lambda);
  out.motion.t = t;
  out.eta = now_.eta;
  out.h = now_.h;
  out.order = method_order;
  out.work.reset();
  if (now_.work) {
    out.work = system::Power();
    const Radau::Row weight = Radau::integral_weights(s);
    for (int i = 0; i < Radau::stages; ++i) out.work->add(last_.h * weight[i], last_power_[i]);
  }
  return true;
}

void RadauStepper::recall(std::span<const Entry> past) {
  now_ = past.back();
  is_shown_ = false;
  is_at_start_ = past.size() < 2;
  if (is_at_start_) return;
  const Entry& before = past[past.size() - 2];
  weigh(before, now_.h);
  radau_.forget_matrix();
  is_at_start_ = radau_.restage(before, now_, weight_, last_).status != solve::CloseStatus::converged;
}

double RadauStepper::longest_step() const {
  const auto longest = [&](const std::vector<Part>& parts, double turn) {
    const double fastest = run::widest_turn(parts, now_.motion.v).angle;
    return fastest > 0.0 ? turn / fastest : std::numeric_limits<double>::infinity();
  };
  return std::min(longest(held_parts_, largest_turn(plan_.options.rtol)), longest(free_parts_, longest_chosen_turn));
}

std::string RadauStepper::widest_turn() const {
  if (radau_.turned() <= 1.0) return {};
  return turn_text(system_.pattern().block_name(radau_.turned_block()), radau_.turned() * solve::Radau::largest_turn,
                   solve::Radau::largest_turn);
}

void RadauStepper::exchange(Archive& a) {
  run::exchange(a, now_);
  exchange_collocation(a, last_);
  for (system::Power& power : last_power_) a.all(power.forces, power.drivers, power.dissipated);
  a(gross_);
  a(is_at_start_);
  solve::Radau::State state = radau_.state();
  a.all(state.has_linearization, state.has_factors, state.is_completed, state.factors_h, state.rate, state.age,
        state.coupled_steps, state.coupled_patience);
  run::exchange(a, state.made_at);
  run::exchange(a, state.completed_at);
  a.all(state.made_lambda, state.real_pivots, state.complex_pivots_real, state.complex_pivots_imaginary,
        state.coupled_pivots);
  if (a.is_loading()) radau_.restore(state);
}

}  // namespace kreisel::run
