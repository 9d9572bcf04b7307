#include "implicit_stepper.hpp"

#include <limits>
#include <utility>

#include "corners.hpp"
#include "exchange.hpp"
#include "lie/turns.hpp"
#include "method/variants.hpp"
#include "turns.hpp"

namespace kreisel::run {

/// method::ConstrainedPart by the saddle point system of the model.
class ConstrainedPart final : public method::ConstrainedPart {
 public:
  ConstrainedPart(const system::System& system, Counters& counters, std::string_view linear_solver)
      : kkt_(system, counters, linear_solver), projected_(system.space()) {}

  void move_to(const lie::Motion& m) override { is_regular_ = kkt_.factorize(m); }
  void apply(ConstVectorRef l, VectorRef out) override {
    if (is_regular_)
      kkt_.constrained_part(l, out);
    else
      out.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  void project(const lie::Motion& m, VectorRef v) override {
    projected_ = m;
    if (is_regular_ && kkt_.project_velocity(projected_))
      v = projected_.v;
    else
      v.setConstant(std::numeric_limits<double>::quiet_NaN());
  }

 private:
  solve::Kkt kkt_;
  lie::Motion projected_;
  bool is_regular_ = false;
};

namespace {

/// Past points that a method of this order may use: its own, those of the next order, and two for estimates.
constexpr int history_capacity(int order) { return order + 4; }

std::unique_ptr<method::Method> make_method(const system::System& system, const Plan& plan, Counters& counters) {
  const Options& options = plan.options;
  return plan.method->make(system.space(), counters,
                           {plan.max_order, options.correction, options.own_correction.get(), options.method.parameters,
                            is_given(options.steps)});
}

std::unique_ptr<solve::Manifold> make_manifold(const system::System& system, const Plan& plan, Counters& counters) {
  std::vector<solve::Invariant> invariants;
  for (const std::string& name : plan.options.conserved) invariants.push_back(solve::make_invariant(name, system));
  const auto parameters = method::parameters_in<method::choices::ProjectedBdf>(plan.options.method.parameters);
  return std::make_unique<solve::Manifold>(
      system, counters,
      solve::ManifoldOptions{parameters.metric, parameters.projection == method::Projection::joint,
                             std::string(plan.options.linear_solver.name()), plan.closeness.newton.length},
      std::move(invariants));
}

/// Both sides of a jump.
bool is_same_time(const method::Entry& before, const method::Entry& behind) {
  return behind.motion.t - before.motion.t <= 1e-9 * before.h;
}

bool is_just_behind_corner(const Plan& plan, const system::System& system) {
  constexpr double part_of_run = 1e-2;  // more than a first step under error control
  const double reach = std::max(plan.h, part_of_run * (plan.run_end - plan.t0));
  return Corners(system, plan.options, plan.t0, plan.run_end).is_just_behind(plan.t0, reach);
}

}  // namespace

ImplicitStepper::ImplicitStepper(const system::System& system, const Plan& plan, Counters& counters)
    : system_(system),
      plan_(plan),
      counters_(counters),
      method_(make_method(system, plan, counters)),
      closer_(system, plan.formulation, plan.closeness.newton, counters),
      history_(system.space(), sizes(), history_capacity(plan.max_order)),
      trial_(method::History::blank(system.space(), sizes())),
      start_up_(system, counters, plan.options.linear_solver.name()),
      parts_(parts_of(system)),
      weight_(system.space().nv()),
      x_(system.space().nv()),
      q_error_(system.space().nv()),
      v_error_(system.space().nv()),
      constrained_error_(system.space().nv()),
      lambda_error_(system.pattern().rows()),
      lambda_guess_(system.pattern().rows()),
      hidden_lambda_(system.pattern().rows()),
      dense_(system.space()),
      tangent_at_(system.space()),
      controls_lambda_(plan.controls_lambda),
      tests_tangential_alone_(
          method::parameters_in<method::variants::ProjectedBdf>(plan.options.method.parameters).tested_error ==
          method::TestedError::tangential_as_printed) {
  method_->set_velocity_tolerance(plan.closeness.velocity_tolerance);
  if (is_just_behind_corner(plan, system)) start_up_.look_ahead_only();
  if (plan.formulation == solve::Formulation::index3 && system.pattern().position_rows() > 0 && !plan.steps.empty()) {
    constrained_part_ = std::make_unique<ConstrainedPart>(system, counters, plan.options.linear_solver.name());
    method_->set_constrained_part(constrained_part_.get());
  }
  if (plan.formulation == solve::Formulation::index3 && system.pattern().position_rows() > 0 &&
      plan.has_error_control())
    tangent_ = std::make_unique<solve::Kkt>(system, counters, plan.options.linear_solver.name());
  if (plan.formulation == solve::Formulation::projected || !plan.options.conserved.empty())
    manifold_ = make_manifold(system, plan, counters);
}

ImplicitStepper::~ImplicitStepper() = default;

method::EntrySizes ImplicitStepper::sizes() const {
  return {system_.pattern().rows(), system_.pattern().position_rows(), method_->memory_size()};
}

bool ImplicitStepper::place(const system::Start& start) {
  if (!start_up_.place(start.t0, start.q0, start.v0, trial_)) return false;
  history_.push(trial_);
  if (manifold_ != nullptr) manifold_->set_levels(history_[0].motion);
  lambda_scale_ = history_[0].lambda.norm();
  return true;
}

bool ImplicitStepper::fill(const StartingPoints& wanted) {
  const bool is_filled = !wanted.are_wanted || start_up_.fill(*method_, wanted.h, wanted.order, plan_.formulation,
                                                              wanted.corrections, history_);
  starts_left_ = history_.size() - 1;
  if (!is_filled) return false;
  for (int age = 0; age < starts_left_; ++age)
    if (turn_ = run::widest_turn(parts_, history_[age].omega); turn_.angle > longest_given_turn) return false;
  if (wanted.marks_first_step) history_.edit(0).h = wanted.h;
  const double t0 = now().motion.t;
  for (int number = 1; number < history_.size(); ++number)
    history_.edit(starts_left_ - number).motion.t = number == wanted.last ? wanted.t_end : t0 + number * wanted.h;
  return true;
}

bool ImplicitStepper::go_on_behind(double t) {
  const bool has_past = !is_at_start_ && history_.size() > 1;
  if (!has_past || !method_->follows_jumps() || manifold_ != nullptr || tangent_ != nullptr) return false;
  trial_ = history_[0];
  if (!start_up_.jump(t, history_.edit(0))) return false;
  move_past(trial_);
  is_behind_jump_ = true;
  return true;
}

/// The past as it would have been with the forces after a jump: v̇ differs by Δ, and so v by -sΔ and q by s²Δ/2 a time s ago, up
/// to one more power of s; for states v itself jumps. The remaining error is part of the estimates like any other.
void ImplicitStepper::move_past(const Entry& before) {
  Entry& now = history_.edit(0);
  const Vector &v = now.motion.v, &a = now.motion.a;
  v_error_ = v - before.motion.v;
  q_error_ = a - before.motion.a;
  hidden_lambda_ = now.lambda - before.lambda;
  double s = 0.0;
  for (int age = 0; age < history_.size(); ++age) {
    Entry& entry = history_.edit(age);
    if (age > 0) {
      entry.motion.v += v_error_ - s * q_error_;
      entry.motion.a += q_error_;
      entry.lambda += hidden_lambda_;
    }
    const double began = s + entry.h;
    entry.omega += entry.h * v_error_ - (0.5 * (began * began - s * s)) * q_error_;
    s = began;
  }
  now.work.reset();
}

Attempt ImplicitStepper::attempt(const Proposal& proposal) {
  const Closeness& closeness = plan_.closeness;
  h_ = proposal.h;
  order_ = proposal.order;
  interpolation_share_ = std::numeric_limits<double>::infinity();
  trial_.motion.t = proposal.t;
  trial_.eta = history_[0].eta;
  if (closeness.extrapolates_lambda) {
    lambda_differences_.build(history_, order_ + 2, h_, [](const Entry& e) -> const Vector& { return e.lambda; });
    lambda_differences_.extrapolate(std::min(order_, lambda_differences_.points()), trial_.lambda);
    lambda_guess_ = trial_.lambda;
  } else {
    trial_.lambda = history_[0].lambda;
  }
  // Multipliers balance M v̇, and an error of v is one of v̇ magnified by α₀/h.
  VelocityScale scale = closeness.scale(h_);
  if (controls_lambda_) scale.acceleration_step = h_;
  // Where stiff forces hold q, the Newton error of one point is not an error of the next: it is noise, which the estimate of
  // order k magnifies by 2^(k+1). Another iteration costs less than steps rejected because of noise.
  constexpr double quiet_fraction = 0.1;
  if (plan_.has_error_control() && closer_.stiffness() > 1.0) scale.fraction = quiet_fraction;
  velocity_weights(parts_, history_[0].motion, scale, weight_);
  method_->begin_step(history_, h_, order_);
  const solve::Closed closed = closer_.close(*method_, history_, h_, weight_, trial_);
  Attempt a{.t = history_[0].motion.t, .h = h_, .order = order_, .iterations = closed.iterations};
  a.update_norm = closed.update_norm;
  a.kept_matrix = closed.kept_matrix;
  a.outcome = outcome_of(closed.status);
  if (a.outcome == Outcome::accepted && !project_onto_manifold(h_)) a.outcome = Outcome::projection_failed;
  if (a.outcome != Outcome::accepted) return a;
  turn_ = run::widest_turn(parts_, trial_.omega);
  if (!plan_.has_error_control()) {
    if (turn_.angle > longest_given_turn) a.outcome = Outcome::turned_too_far;
    return a;
  }
  if (tangent_ != nullptr) move_tangent();
  if (controls_lambda_) lambda_noise_ = relative_noise_of_acceleration(parts_, trial_.motion, h_);
  lambda_scale_ = std::max(lambda_scale_, trial_.lambda.norm());
  return a;
}

/// If the formulation requires it; a step that is too large cannot be projected.
bool ImplicitStepper::project_onto_manifold(double h) {
  if (manifold_ == nullptr) return true;
  if (!manifold_->project(trial_.motion)) return false;
  if (!lie::follow(method_->space(), history_[0].motion.q, trial_.motion.q, trial_.omega)) return false;
  x_ = trial_.omega / h;
  method_->record(x_, trial_);
  return true;
}

/// λ is one order below q and v: the k-th difference, as the error of v is the (k+1)-st.
double ImplicitStepper::lambda_error_at(int order) {
  lambda_differences_.deviation(order, trial_.lambda, 1.0, lambda_error_);
  const Options& options = plan_.options;
  return lambda_error_.norm() / ((order + 1) * (options.atol + (options.rtol + lambda_noise_) * lambda_scale_));
}

double ImplicitStepper::interpolation_error_at(int order) {
  lambda_differences_.deviation(order + 1, trial_.lambda, interpolation_error(order), lambda_error_);
  const Options& options = plan_.options;
  return lambda_error_.norm() / (interpolation_margin * (options.atol + options.rtol * lambda_scale_));
}

std::optional<double> ImplicitStepper::error_at(int order, ErrorNorm& norm, bool tests_lambda) {
  if (order < 1 || order > plan_.max_order || !method_->local_errors(order, trial_.motion, q_error_, v_error_))
    return {};
  keep_tangential_velocity();
  double error = norm(q_error_, v_error_);
  // Where stiff forces hold q, v follows from its differences: at order 1 it is that of half a step before, and estimates see it only
  // when the step changes.
  if (const double stiffness = closer_.stiffness(); order == 1 && stiffness > 0.0) {
    v_error_ = q_error_ * (stiffness / ((1.0 + stiffness) * h_));
    error = std::max(error, norm(q_error_, v_error_));
  }
  // Projected values differ from their extrapolation by less than the tangential part of that difference when the
  // projection is not orthogonal in this norm, and by more when it is (Eich 1993, section 4.1): the larger one counts.
  if (manifold_ != nullptr) {
    manifold_->keep_tangential(q_error_, v_error_);
    const double tangential = norm(q_error_, v_error_);
    error = tests_tangential_alone_ ? tangential : std::max(error, tangential);
  }
  // In index-3 form λ jumps with every change of the step, and shorter steps make it jump further.
  if (turn_.angle > telling_turn && tests_lambda && plan_.formulation != solve::Formulation::index3 &&
      order < lambda_differences_.points() && interpolation_share_ > negligible_share) {
    const double between = interpolation_error_at(order);
    if (order == order_ && error > 0.0) interpolation_share_ = between / error;
    error = std::max(error, between);
  }
  if (controls_lambda_ && tests_lambda && order <= lambda_differences_.points())
    error = std::max(error, lambda_error_at(order));
  return error;
}

/// Half of what the first step of order 1 differs from the Taylor polynomial of the initial values.
double ImplicitStepper::first_error(ErrorNorm& norm) {
  const lie::Motion& before = history_[0].motion;
  v_error_ = 0.5 * (trial_.motion.v - before.v - h_ * before.a);
  q_error_ = 0.5 * (trial_.omega - h_ * before.v - (0.5 * h_ * h_) * before.a);
  keep_tangential_velocity();
  return norm(q_error_, v_error_);
}

/// The tangent space changes slowly: slightly outdated projectors leave a small part of the constrained error.
void ImplicitStepper::move_tangent() {
  constexpr int longest_use = 8;
  constexpr double widest_use = 0.1;  // [rad]
  tangent_turn_ += turn_.angle;
  if (has_tangent_ && ++tangent_age_ < longest_use && tangent_turn_ < widest_use) return;
  tangent_at_ = trial_.motion;
  has_tangent_ = tangent_->factorize(tangent_at_);
  tangent_age_ = 0;
  tangent_turn_ = 0.0;
}

/// In index-3 form the constrained part of v carries an error that jumps with every change of the step. It would be taken for a
/// local error; the tangential part does not contain it.
void ImplicitStepper::keep_tangential_velocity() {
  if (tangent_ == nullptr) return;
  if (!has_tangent_) return v_error_.setZero(), void();  // in a singular position, where no direction is tangential
  tangent_->constrained_part(v_error_, constrained_error_);
  v_error_ -= constrained_error_;
}

double ImplicitStepper::longest_step() const { return run::longest_step(parts_, history_[0].motion); }

bool ImplicitStepper::project_trial(bool position, bool velocity) {
  if (!start_up_.project(trial_.motion, position, velocity)) return false;
  return !position || lie::follow(method_->space(), history_[0].motion.q, trial_.motion.q, trial_.omega);
}

/// Multipliers of a step that is short or of low order carry O(h^k) and the error of Newton's method over h. Where that exceeds
/// the tolerance, multipliers from q and v by the hidden constraints are more accurate, unless forces are stiff: these magnify
/// errors of q.
void ImplicitStepper::settle_lambda() {
  const double promise = order_ <= 2 ? 30.0 : 150.0;  // tolerances; differences of few points are least sensitive
  constexpr double belief = 3.0;                      // of what λ deviates from its past
  has_settled_lambda_ = false;
  if (!plan_.has_error_control() || order_ > lambda_differences_.points() || closer_.stiffness() > 1.0) return;
  // In index-3 form λ jumps with every change of the step: it would be recomputed at each, for a third more factorisations.
  if (plan_.formulation == solve::Formulation::index3 && order_ > 2) return;
  const double deviation = (trial_.lambda - lambda_guess_).norm();
  const Options& options = plan_.options;
  if (!(deviation > promise * (order_ + 1) * (options.atol + options.rtol * lambda_scale_))) return;
  hidden_lambda_ = trial_.lambda;
  if (start_up_.multipliers(trial_.motion, hidden_lambda_) &&
      (hidden_lambda_ - trial_.lambda).norm() <= belief * deviation) {
    trial_.lambda = hidden_lambda_;
    has_settled_lambda_ = true;
  }
}

void ImplicitStepper::commit() {
  settle_lambda();
  trial_.order = order_;
  history_.push(trial_);
  is_at_start_ = is_behind_jump_ = false;
}

bool ImplicitStepper::at(double t, Entry& out) {
  if (!is_at_start_) {
    if (history_.size() < 2 || (is_behind_jump_ && t < history_[0].motion.t)) return false;
    dense_.evaluate(history_, history_[0].order + 1, t, out);
    return true;
  }
  // Between starting points the starter is more accurate than any polynomial through them.
  int age = starts_left_;
  while (age < history_.size() && history_[age].motion.t > t) ++age;
  if (age == history_.size() || !start_up_.advance(history_[age], t - history_[age].motion.t, out)) return false;
  out.h = now().h;
  return true;
}

void ImplicitStepper::recall(std::span<const Entry> past) {
  history_.clear();
  for (const Entry& entry : past) {
    trial_ = entry;
    if (history_.size() > 0 && is_same_time(history_[0], entry)) {
      std::swap(history_.edit(0), trial_);
      history_.edit(0).omega = trial_.omega;
      move_past(trial_);
    } else {
      history_.push(trial_);
    }
  }
  starts_left_ = 0;
  is_at_start_ = history_[0].order == 0;
  if (is_at_start_ && history_.size() > 1) start_up_.choose_substeps(history_[history_.size() - 1], history_[0].h);
}

std::string ImplicitStepper::widest_turn() const {
  if (turn_.angle <= longest_given_turn) return {};
  return turn_text(body_of(system_, *turn_.part), turn_.angle, longest_given_turn);
}

void ImplicitStepper::exchange(Archive& a) {
  run::exchange(a, history_);
  run::exchange(a, closer_);
  run::exchange(a, manifold_.get(), counters_);
  a.all(lambda_scale_, starts_left_, is_at_start_, is_behind_jump_);
  if (tangent_ != nullptr) {
    a.all(has_tangent_, tangent_age_, tangent_turn_);
    run::exchange(a, tangent_at_);
    const Counters before = counters_;
    if (a.is_loading() && has_tangent_) has_tangent_ = tangent_->factorize(tangent_at_);
    counters_ = before;
  }
  a.require(starts_left_ >= 0 && starts_left_ < history_.size());
}

}  // namespace kreisel::run
