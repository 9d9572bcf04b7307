#include "step_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/spelling.hpp"
#include "exchange.hpp"
#include "explain.hpp"
#include "implicit_stepper.hpp"
#include "one_step_stepper.hpp"
#include "radau_control.hpp"
#include "radau_stepper.hpp"
#include "run/controller.hpp"
#include "run/hidden_loads.hpp"
#include "run/kinks.hpp"

namespace kreisel::run {
namespace {

/// Failures in a row after which the run gives up.
constexpr int max_failures = 20;
/// Failures in a row after which multipliers leave the error test.
constexpr int lambda_failures = 3;
/// A step that misses the end by less is stretched to reach it.
constexpr double end_margin = 1e-9;

std::string_view reason_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::singular_matrix:
      return "the iteration matrix is singular";
    case Outcome::not_finite:
      return "the equations gave a value that is not finite";
    case Outcome::projection_failed:
      return "the projection onto the constraints did not converge";
    case Outcome::turned_too_far:
      return "a body turns further than the method can represent in one step";
    case Outcome::stage_failed:
      return "a matrix is singular, a stage is not finite or the projection does not contract";
    case Outcome::accepted:
    case Outcome::error_too_large:
    case Outcome::newton_failed:
      break;
  }
  return "Newton's method did not converge";
}

Status status_of(Outcome outcome) {
  return outcome == Outcome::singular_matrix ? Status::singular_matrix : Status::newton_failed;
}

/// The cause of the last failure, by name.
std::string culprit_line(const Stepper& stepper) {
  if (const std::string turn = stepper.widest_turn(); !turn.empty()) return fmt::format("  turned too far: {}\n", turn);
  const std::string rows = stepper.worst_rows();
  return rows.empty() ? rows : fmt::format("  largest residuals: {}\n", rows);
}

/// Prescribed steps. A failed step ends the run.
class GivenSteps final : public StepPolicy {
 public:
  explicit GivenSteps(const Plan& plan) : plan_(plan) {}

  StartingPoints begin(const Stepper&) override {
    const Choice<Starting> starting = plan_.options.starting;
    const ParameterValues& parameters = plan_.options.method.parameters;
    number_ = 0;
    has_starts_ = true;
    return {.are_wanted = true,
            .h = plan_.h,
            .order = plan_.order,
            .corrections = {starting != Starting::exact && starting != Starting::a0,
                            starting == Starting::corrected || starting == Starting::a0,
                            starting.value_or(Starting::corrected),
                            method::parameters_in<method::variants::GeneralizedAlpha>(parameters).jerk},
            .last = plan_.step_count,
            .t_end = plan_.t_end};
  }
  Failure failure_of_start(const Stepper& stepper) const override {
    return {Status::no_consistent_start,
            fmt::format(
                "the starting values at t = {:.10g} + i h, h = {:.6g}, could not be computed: the step is too large "
                "for the explicit starter or for the velocity relation of the method.\n{}"
                "  try: a smaller {}, or {} rkmk to see where the motion breaks down",
                plan_.t0, plan_.h, culprit_line(stepper), spelled("step"), spelled("method"))};
  }
  std::variant<Proposal, Failure> next(const Stepper& stepper) override {
    if (std::exchange(has_starts_, false)) number_ = stepper.past() - 1;
    Proposal p{.h = plan_.step(number_), .order = plan_.order};
    const long after = number_ + 1;
    p.t = after == plan_.step_count ? plan_.t_end
          : plan_.steps.empty()     ? plan_.t0 + static_cast<double>(after) * p.h
                                    : stepper.now().motion.t + p.h;
    return p;
  }
  Verdict judge(Attempt& attempt, Stepper&) override {
    return attempt.outcome == Outcome::accepted ? Verdict::accept : Verdict::give_up;
  }
  Failure failure(const Attempt& a, const Stepper& stepper) const override {
    return {status_of(a.outcome),
            fmt::format("at t = {:.10g} the step of size {:.6g} failed: {}{}.\n{}"
                        "  try: smaller steps (now {:.6g}), or omit {} so that error control chooses them",
                        a.t, a.h, reason_of(a.outcome),
                        a.iterations > 0 ? fmt::format(" after {} iterations (last update {:.2e} times the tolerance)",
                                                       a.iterations, a.update_norm)
                                         : std::string(),
                        culprit_line(stepper), a.h, spelled("step"))};
  }
  void committed(const Attempt&) override { ++number_; }
  std::optional<double> restart(const Stepper& stepper) const override {
    if (plan_.t_end >= plan_.run_end || stepper.now().motion.t < plan_.t_end) return {};
    return plan_.after_end;
  }
  void exchange(Archive& a) override {
    a.all(number_, has_starts_);
    a.require(number_ >= 0 && number_ <= plan_.step_count);
  }

 private:
  const Plan& plan_;
  long number_ = 0;          ///< of the next step
  bool has_starts_ = false;  ///< starting points are not yet counted
};

/// Common part of error control: steps to the end, the smallest step, the watchdog.
class ErrorControl : public StepPolicy {
 public:
  ErrorControl(const Plan& plan, const system::System& system)
      : plan_(plan),
        system_(system),
        parts_(parts_of(system)),
        norm_(parts_, plan.options.rtol, plan.options.atol, plan.closeness.newton.length),
        watchdog_(plan.t0, plan.t_end),
        chatter_(system, plan.t_end),
        corners_(system, plan.options, plan.t0, plan.t_end),
        kinks_(system, plan.options.rtol, plan.options.linear_solver.name()),
        loads_(system, plan.options.rtol, plan.options.atol) {}

  std::variant<Proposal, Failure> next(const Stepper& stepper) override {
    const double t = stepper.now().motion.t;
    double h = std::min(step(), stepper.longest_step());
    stop_ = corners_.ahead(t, h);
    if (wanted_ > t && wanted_ < stop_.t) stop_ = {.t = wanted_, .after = wanted_};
    if (const double kink = kinks_.landing(); kink > t && kink < stop_.t)
      stop_ = {.t = kink, .after = kink, .smooth = 0, .is_corner = true};
    const double remaining = stop_.t - t, clear = std::min(h, remaining);
    if (const double known = resolved(stepper, clear); known < clear) h = known;
    const bool is_last = is_last_ = remaining <= h * (1.0 + end_margin);
    if (is_last)
      h = remaining;
    else if (remaining < 2.0 * h)
      h = 0.5 * remaining;  // two equal steps instead of a sliver at the end
    const double smallest = std::max(plan_.options.min_step, 16.0 * std::numeric_limits<double>::epsilon() *
                                                                 std::max(std::abs(t), plan_.span() * 1e-3));
    if (h < smallest && !is_last)
      return Failure{
          Status::step_too_small,
          fmt::format("at t = {:.10g} the step fell to {:.3g}, below the smallest allowed {:.3g}; required by the "
                      "error estimate of the {}.\n"
                      "  try: looser {}/{}, {}, or look for an impact, a stop or a singular "
                      "position at this time",
                      t, h, smallest, name_of(system_, norm_.worst()), spelled("rtol"), spelled("atol"),
                      spelled("min_step"))};
    return Proposal{is_last ? stop_.t : t + h, h, order(stepper)};
  }
  void stop_at(double t) override {
    wanted_ = t;
    loads_.look_again();
  }
  bool ends_at_stop() const override { return is_last_; }
  std::optional<double> restart(const Stepper& stepper) const override {
    const bool is_there = stop_.is_corner && stepper.now().motion.t == stop_.t;
    return is_there && restarts_at(stop_, stepper.now().h) ? std::optional(stop_.after) : std::nullopt;
  }
  void inherit(const StepPolicy& before) override {
    const auto* same = dynamic_cast<const ErrorControl*>(&before);
    if (same == nullptr) return;
    kinks_.inherit(same->kinks_);
    loads_.inherit(same->loads_);
  }
  void ignore_kinks() override { kinks_.ignore(); }
  std::optional<Failure> complaint(const Stepper& stepper) override {
    const double t = stepper.now().motion.t;
    if (t == wanted_) return {};  // not limited by an error
    if (watchdog_.barks(t))
      return Failure{Status::step_too_small, watchdog_.message(t, name_of(system_, norm_.worst()))};
    if (chatter_.sees(stepper.now())) return Failure{Status::step_too_small, chatter_.message(t)};
    return {};
  }
  Failure failure(const Attempt& a, const Stepper& stepper) const override {
    return {status_of(a.outcome),
            fmt::format(
                "at t = {:.10g} the nonlinear solver failed at every step size, the last of size {:.3g}: {}.\n{}"
                "  try: `kreisel check` at this position; the mechanism may be in a singular position or the forces "
                "undefined",
                a.t, a.h, reason_of(a.outcome), culprit_line(stepper))};
  }

 protected:
  virtual double step() const = 0;
  virtual int order(const Stepper& stepper) const = 0;
  /// Of the polynomial through past points that stands for λ; 0: one through points of the step.
  virtual int degree(const Stepper&) const { return 0; }
  /// The step of size h was too long, whatever its error.
  virtual void shorten(double h) = 0;
  /// Whether the method restarts at the corner, after a step of size h.
  virtual bool restarts_at(const Stop& corner, double h) const = 0;
  /// For a one-step method whose step has failed: whether the next one ends at a kink.
  bool lands_at_kink(const Stepper& stepper) {
    return kinks_.rejected(stepper.now().motion, stepper.trial().motion, 0) == Kinks::Advice::land;
  }
  /// For an accepted step: whether it has to end elsewhere.
  bool misses_kink(Attempt& attempt, const Stepper& stepper) {
    if (kinks_.misses(stepper.now().motion, stepper.trial().motion)) {
      attempt.outcome = Outcome::error_too_large;
      return true;
    }
    if (kinks_.hides(stepper.now().motion, stepper.trial().motion, norm_)) {
      attempt.outcome = Outcome::error_too_large;
      if (!std::isfinite(kinks_.landing())) shorten(attempt.h);
      return true;
    }
    kinks_.accept(stepper.now().motion, stepper.trial().motion);
    return false;
  }
  /// A step that knows what loads do which move nothing.
  double resolved(const Stepper& stepper, double h) {
    return loads_.resolved(stepper.now().motion, stepper.now().lambda, h, degree(stepper));
  }
  /// The first step at order 1.
  double first_step(const Stepper& stepper) const {
    const Options& o = plan_.options;
    if (o.initial_step > 0.0) return o.initial_step;
    const lie::Motion& m = stepper.now().motion;
    // Relative to a position at the origin every move is large: the step is at least the resolution of time.
    return std::max(initial_step(m, parts_, o.rtol, o.atol, plan_.span()),
                    64.0 * std::numeric_limits<double>::epsilon() * std::abs(m.t));
  }

  const Plan& plan_;
  const system::System& system_;
  const std::vector<Part> parts_;
  ErrorNorm norm_;
  Watchdog watchdog_;
  ChatterWatch chatter_;
  const Corners corners_;
  Kinks kinks_;
  HiddenLoads loads_;
  Stop stop_;             ///< required end of the last proposal
  bool is_last_ = false;  ///< the last proposal ends there
  double wanted_ = -std::numeric_limits<double>::infinity();
};

/// Detects that lightly damped vibrations limit the step. BDF of order 3 to 6 amplifies those of up to 1.9, 4.7, 9.4 and 17.6 rad
/// per step, however small: error control then resolves an artefact of the method.
class Crawl {
 public:
  /// `rate`: at which velocities change. `slower`: where faster vibrations are damped, little is left to be amplified.
  template <class Rate>
  void see(double h, double vibration, double slower, Rate rate) {
    last_ = h;
    longest_ = std::max(longest_, h);
    const auto is_unresolved = [&](double w) { return h * w > unresolved && w > much_faster * rate(); };
    const bool is_free = is_unresolved(vibration);
    if (!is_free && !is_unresolved(slower)) return;
    needed_ = is_free ? 1 : with_damping;
    ++steps_;
    way_ += h;
  }
  /// The mean step, when another method should be tried; each failure increases the time to the next try. Steps collapse when a
  /// vibration has just been amplified: every further step amplifies it, and the next method must then resolve it.
  std::optional<double> is_due() {
    const bool collapses = steps_ >= few * needed_ && last_ < collapse * longest_;
    if (steps_ < patience_ * needed_ && !collapses) return {};
    const double mean = collapses ? last_ : way_ / steps_;
    steps_ = 0;
    way_ = 0.0;
    longest_ = last_;
    if (!collapses) patience_ = std::min(patience_ * 2, most_patience);
    return mean;
  }
  void exchange(Archive& a) {
    a.all(steps_, patience_, needed_, way_, longest_, last_);
    a.require(steps_ >= 0 && patience_ > 0 && patience_ <= most_patience && needed_ > 0 && needed_ <= with_damping);
  }

 private:
  static constexpr int most_patience = 1'000'000;
  static constexpr double unresolved = 0.3;    ///< [rad] per step
  static constexpr double much_faster = 30.0;  ///< than what the motion needs
  static constexpr double collapse = 0.5;      ///< of the longest step since the last try
  static constexpr int few = 8;                ///< number of steps that may be short by chance
  static constexpr int with_damping = 50;      ///< times as many: short steps of the start tell nothing
  int steps_ = 0, patience_ = few;             ///< each further step amplifies what the next method then has to resolve
  int needed_ = 1;                             ///< times `patience_`
  double way_ = 0.0;                           ///< sum of the steps
  double longest_ = 0.0, last_ = 0.0;
};

/// At which velocities change: |v̇|/|v|, of the translations or the rotations.
double rate_of(const std::vector<Part>& parts, const lie::Motion& m) {
  std::array<double, 2> fastest{}, largest{};
  for (const Part& part : parts) {
    const int kind = part.q_at < 0 ? 1 : 0;
    fastest[kind] = std::max(fastest[kind], m.a.segment(part.v_at, part.n).norm());
    largest[kind] = std::max(largest[kind], m.v.segment(part.v_at, part.n).norm());
  }
  double rate = 0.0;
  for (const int kind : {0, 1})
    if (fastest[kind] > 0.0)
      rate =
          std::max(rate, largest[kind] > 0.0 ? fastest[kind] / largest[kind] : std::numeric_limits<double>::infinity());
  return rate;
}

/// Variable step and order.
class OrderControl final : public ErrorControl {
 public:
  OrderControl(const Plan& plan, const system::System& system)
      : ErrorControl(plan, system),
        min_order_(plan.order > 0 ? plan.order : plan.method->min_order),
        controller_(limits(), plan.span(), 1) {}

  StartingPoints begin(const Stepper& stepper) override {
    const Options& options = plan_.options;
    // A first step of order 1 has errors of O(h) and of round-off/h in λ: no step size makes both small. Exact starting points
    // avoid it.
    const bool starts_high = plan_.controls_lambda && !stepper.is_one_step();
    const int first_order = starts_high ? plan_.max_order : plan_.method->min_order;
    double first = first_step(stepper);
    if (starts_high && options.initial_step <= 0.0)
      first = step_of_order(first_order, first, options.rtol, options.atol);
    if (options.initial_step <= 0.0) first = std::max(first, options.min_step);
    double clear = corners_.ahead(plan_.t0, starts_high ? plan_.span() : first).t - plan_.t0;
    if (wanted_ > plan_.t0) clear = std::min(clear, wanted_ - plan_.t0);
    const int points = starts_high ? stepper.points_needed(first_order) : 1;
    first = std::min(first, starts_high ? clear / (2 * points) : clear);
    first = resolved(stepper, points * first) / points;
    controller_ = Controller(limits(), first, first_order);
    return {.are_wanted = starts_high || stepper.is_one_step(),
            .h = controller_.step(),
            .order = first_order,
            .corrections = {},
            .marks_first_step = stepper.is_one_step()};
  }
  Verdict judge(Attempt& attempt, Stepper& stepper) override {
    if (attempt.outcome != Outcome::accepted) {
      if (controller_.failures() >= max_failures) return Verdict::give_up;
      controller_.reject_newton(attempt.h);
      return Verdict::retry;
    }
    norm_.set_scale(stepper.trial().motion, attempt.h);
    // A wrong multiplier in the past would reject every later step, however short.
    const bool tests_lambda = controller_.failures() < lambda_failures;
    const int order = attempt.order;
    const std::optional<double> current = stepper.error_at(order, norm_, tests_lambda);
    // Too few points for an estimate: the step is tested with the available points, which hardly predicts the next one.
    attempt.error = current              ? *current
                    : stepper.past() > 1 ? stepper.error_at(order - 1, norm_, tests_lambda).value_or(0.0)
                                         : stepper.first_error(norm_);
    if (!(attempt.error <= 1.0)) {
      attempt.outcome = Outcome::error_too_large;
      const Kinks::Advice advice = kinks_.rejected(stepper.now().motion, stepper.trial().motion, order);
      if (advice == Kinks::Advice::land) return Verdict::retry;
      if (advice == Kinks::Advice::restart && stepper.past() > 2) return Verdict::restart;
      // Close to a singular position an old matrix hardly corrects directions in which B is nearly singular: updates look small,
      // errors stay.
      if (attempt.kept_matrix)
        stepper.forget_matrix();
      else
        controller_.reject_error(attempt.error, attempt.h);
      return Verdict::retry;
    }
    if (misses_kink(attempt, stepper)) return Verdict::retry;
    errors_.current = current.value_or(0.0);
    const bool compares = controller_.compares_orders(errors_.current);
    errors_.lower = compares && current ? stepper.error_at(order - 1, norm_, tests_lambda) : std::nullopt;
    errors_.higher = compares ? stepper.error_at(order + 1, norm_, tests_lambda) : std::nullopt;
    return Verdict::accept;
  }
  void committed(const Attempt& attempt) override { controller_.accept(errors_, attempt.h); }
  std::optional<Failure> complaint(const Stepper& stepper) override {
    crawl_.see(stepper.now().h, stepper.vibration(), stepper.slower_vibration(),
               [&] { return rate_of(parts_, stepper.now().motion); });
    return ErrorControl::complaint(stepper);
  }
  std::optional<double> crawl() override { return crawl_.is_due(); }
  void exchange(Archive& a) override {
    run::exchange(a, controller_);
    kinks_.exchange(a);
    loads_.exchange(a);
    crawl_.exchange(a);
    watchdog_.exchange(a);
    chatter_.exchange(a);
  }

 private:
  ControllerOptions limits() const {
    const ParameterValues& parameters = plan_.options.method.parameters;
    return {min_order_, plan_.max_order, plan_.options.max_step,
            method::parameters_in<method::variants::Bliedf>(parameters).ratios};
  }
  double step() const override { return controller_.step(); }
  void shorten(double h) override { controller_.reject_newton(h); }
  int order(const Stepper& stepper) const override { return std::min(controller_.order(), stepper.past()); }
  int degree(const Stepper& stepper) const override { return stepper.past() > 1 ? order(stepper) : 0; }
  bool restarts_at(const Stop& corner, double h) const override { return corners_.restarts_at(corner, h); }

  int min_order_;
  Controller controller_;
  OrderErrors errors_;
  Crawl crawl_;
};

/// Variable step of a method with an embedded error estimate.
class EmbeddedControl final : public ErrorControl {
 public:
  EmbeddedControl(const Plan& plan, const system::System& system)
      : ErrorControl(plan, system), order_(plan.order > 0 ? plan.order : plan.method->max_order) {}

  StartingPoints begin(const Stepper& stepper) override {
    const Options& options = plan_.options;
    h_ = first_step(stepper);
    if (options.initial_step <= 0.0) h_ = std::max(h_, options.min_step);
    bound();
    return {};
  }
  Verdict judge(Attempt& attempt, Stepper& stepper) override {
    if (attempt.outcome != Outcome::accepted) {
      if (++failures_ > max_failures) return Verdict::give_up;
      h_ = failure_cut * attempt.h;
      return Verdict::retry;
    }
    norm_.set_scale(stepper.trial().motion, 0.0);
    attempt.error = stepper.error_at(order_, norm_, false).value_or(0.0);
    const double factor =
        std::isfinite(attempt.error) ? safety * std::pow(std::max(attempt.error, 1e-10), -1.0 / order_) : failure_cut;
    if (!(attempt.error <= 1.0)) {
      attempt.outcome = Outcome::error_too_large;
      if (lands_at_kink(stepper)) return Verdict::retry;
      h_ = std::max(smallest_cut, factor) * attempt.h;
      ++failures_;
      return Verdict::retry;
    }
    if (misses_kink(attempt, stepper)) return Verdict::retry;
    // After a rejection the step must not grow at once.
    h_ = std::clamp(factor, smallest_cut, failures_ > 0 ? 1.0 : largest_growth) * attempt.h;
    bound();
    failures_ = 0;
    return Verdict::accept;
  }
  void exchange(Archive& a) override {
    a.all(h_, failures_);
    kinks_.exchange(a);
    loads_.exchange(a);
    watchdog_.exchange(a);
    chatter_.exchange(a);
  }

 private:
  static constexpr double safety = 0.9, largest_growth = 5.0, smallest_cut = 0.2, failure_cut = 0.25;

  void bound() {
    if (plan_.options.max_step > 0.0) h_ = std::min(h_, plan_.options.max_step);
  }
  double step() const override { return h_; }
  void shorten(double h) override { h_ = failure_cut * h; }
  int order(const Stepper&) const override { return order_; }
  /// A one-step method continues after a corner unchanged if the acceleration is continuous there.
  bool restarts_at(const Stop& corner, double) const override { return corner.smooth < 0; }

  int order_;
  double h_ = 0.0;
  int failures_ = 0;  ///< in a row
};

/// Variable step of Radau IIA, by its estimate of order 3.
class RadauPolicy final : public ErrorControl {
 public:
  RadauPolicy(const Plan& plan, const system::System& system)
      : ErrorControl(plan, system), control_(plan.span(), plan.options.max_step) {}

  StartingPoints begin(const Stepper& stepper) override {
    const Options& options = plan_.options;
    double first = first_step(stepper);
    if (options.initial_step <= 0.0)
      first = std::max(options.min_step, step_of_order(RadauControl::order, first, options.rtol, options.atol));
    control_ = RadauControl(resolved(stepper, std::min(first, plan_.span())), options.max_step);
    return {};
  }
  Verdict judge(Attempt& attempt, Stepper& stepper) override {
    const int most = plan_.closeness.newton.max_iterations;
    if (attempt.outcome != Outcome::accepted) {
      if (control_.failures() >= max_failures) return Verdict::give_up;
      control_.reject_newton(attempt.h);
      return Verdict::retry;
    }
    norm_.set_scale(stepper.trial().motion, attempt.h);
    attempt.error = stepper.error_at(attempt.order, norm_, control_.failures() < lambda_failures).value_or(0.0);
    if (attempt.error < 1.0) return misses_kink(attempt, stepper) ? Verdict::retry : Verdict::accept;
    attempt.outcome = Outcome::error_too_large;
    if (lands_at_kink(stepper)) return Verdict::retry;
    control_.reject_error(attempt.h, attempt.error, attempt.iterations, most);
    return Verdict::retry;
  }
  void committed(const Attempt& attempt) override {
    control_.accept(attempt.h, attempt.error, attempt.iterations, plan_.closeness.newton.max_iterations,
                    !(is_last_ && stop_.is_corner));
  }
  void exchange(Archive& a) override {
    control_.exchange(a);
    kinks_.exchange(a);
    loads_.exchange(a);
    a.require(control_.step() > 0.0);
    watchdog_.exchange(a);
    chatter_.exchange(a);
  }

 private:
  double step() const override { return control_.step(); }
  void shorten(double h) override { control_.reject_newton(h); }
  int order(const Stepper&) const override { return RadauStepper::method_order; }
  /// As for every one-step method.
  bool restarts_at(const Stop& corner, double) const override { return corner.smooth < 0; }

  RadauControl control_;
};

bool is_radau(const Plan& plan) { return plan.method->name == "radau"; }

}  // namespace

Failure no_accelerations(double t, bool is_first) {
  return {Status::no_consistent_start,
          fmt::format(
              "{} admit no accelerations and multipliers: [M B'; B 0] is singular, or forces are not finite.\n"
              "  try: `kreisel check`, which names redundant constraints and bodies without mass, or {} least-squares",
              is_first ? "the initial values" : fmt::format("position and velocity at t = {:.10g}", t),
              spelled("linear_solver"))};
}

Failure StepPolicy::failure_of_start(const Stepper& stepper) const {
  return no_accelerations(stepper.now().motion.t, false);
}

std::unique_ptr<StepPolicy> make_policy(const Plan& plan, const system::System& system) {
  if (!plan.has_error_control()) return std::make_unique<GivenSteps>(plan);
  if (is_radau(plan)) return std::make_unique<RadauPolicy>(plan, system);
  if (plan.method->make == nullptr) return std::make_unique<EmbeddedControl>(plan, system);
  return std::make_unique<OrderControl>(plan, system);
}

std::unique_ptr<Stepper> make_stepper(const Plan& plan, const system::System& system, Counters& counters) {
  if (is_radau(plan)) return std::make_unique<RadauStepper>(system, plan, counters);
  if (plan.method->make == nullptr) return std::make_unique<OneStepStepper>(system, plan, counters);
  return std::make_unique<ImplicitStepper>(system, plan, counters);
}

}  // namespace kreisel::run
