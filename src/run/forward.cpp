#include "forward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/combine.hpp"
#include "coeff/bdf_variable.hpp"
#include "corners.hpp"
#include "drive.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "solve/block_products.hpp"
#include "step_policy.hpp"
#include "system/deviation.hpp"

namespace kreisel::run {

using method::Entry;
using method::History;

namespace {

/// Directions of differences of step maps are scaled to change the motion by this much.
constexpr double map_step = 1e-5;
/// Updates of δx at which the linear equations are solved, relative, and with which they are still accepted.
constexpr double solved = 1e-10, solved_for_search = 1e-6, solved_badly = 1e-7;
constexpr int most_corrections = 20;
/// Neighbours further apart than this, relative to the motion, do not determine the derivative.
constexpr double too_far = 1e-2;
/// Derivatives of a system that deviate from differences by more are not exact.
constexpr double exact = 1e-6;
/// Number of steps of a segment that are checked.
constexpr int most_checks = 3;

double size_of(const Vector& v) { return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0.0; }

}  // namespace

/// A neighbour, in p + s or p - s.
struct Forward::Side {
  Side(Problem given, const Options& options)
      : problem(std::move(given)),
        asked(options.events),
        system(made_ready(*problem.system, problem.start, options)),
        start(problem.start),
        contacts((std::isnan(options.t_end) ? start.t_end : options.t_end) - start.t0, options.linear_solver.name()) {
    asked.insert(asked.end(), problem.events.begin(), problem.events.end());
  }

  Problem problem;
  std::vector<system::Event> asked;
  std::shared_ptr<const system::System> system;               ///< active
  std::vector<std::shared_ptr<const system::System>> before;  ///< events refer to them
  system::Start start;
  Contacts contacts;
  Counters counters;
  Plan plan;
  std::unique_ptr<Stepper> stepper;  ///< of the starting points
  std::unique_ptr<solve::Kkt> kkt;   ///< of the active system; made when it is needed
  Vector metric;
  Entry point;  ///< at the last event
};

/// Newest first.
class Forward::Past {
 public:
  std::size_t size() const { return kept_.size(); }
  Tangent& operator[](std::size_t age) { return kept_[place(age)]; }
  const Tangent& operator[](std::size_t age) const { return kept_[place(age)]; }
  const Tangent& front() const { return (*this)[0]; }
  void resize(std::size_t size) {
    kept_.resize(size);
    newest_ = 0;
  }
  /// The oldest one of `most` comes back in `next`.
  void push(Tangent& next, std::size_t most) {
    if (kept_.size() < most) {
      std::rotate(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(newest_), kept_.end());
      kept_.emplace(kept_.begin());
      newest_ = 0;
    } else {
      newest_ = (newest_ + kept_.size() - 1) % kept_.size();
    }
    std::swap(kept_[newest_], next);
  }

 private:
  std::size_t place(std::size_t age) const {
    const std::size_t at = newest_ + age;
    return at < kept_.size() ? at : at - kept_.size();
  }
  std::vector<Tangent> kept_;
  std::size_t newest_ = 0;
};

struct Forward::Direction {
  double s = 0.0;
  std::array<std::unique_ptr<Side>, 2> sides;
  std::unique_ptr<system::Deviation> deviation;  ///< of one side from the other
  Past past;
  Tangent shown, next;
  bool is_newest = false;  ///< the newest point is shown, and nothing behind it
  double cut = 0.0;        ///< δ of the time of the last event
  /// Fraction of an update that the matrix of such a step leaves.
  double known_h = 0.0, known_rate = 1.0;
  int known_order = 0, trusted = 0;

  double part() const { return 0.5 / s; }
  const Tangent& at_point() const { return is_newest ? past.front() : shown; }
  /// Of the parameter.
  double size() const { return std::ldexp(s, Forward::parameter_bits); }
};

Forward::Forward(const ProblemOf& make, const Vector& parameters, const Vector& steps, const Options& options,
                 const Problem& nominal, bool is_cheap)
    : options_(options),
      solved_(is_cheap ? solved_for_search : solved),
      layout_(nominal.system->result_layout()),
      space_(nominal.system->space()) {
  for (Eigen::Index j = 0; j < parameters.size(); ++j) {
    auto d = std::make_unique<Direction>();
    d->s = steps[j];
    for (int side = 0; side < 2; ++side) {
      Vector p = parameters;
      p[j] += side == 0 ? steps[j] : -steps[j];
      d->sides[side] = std::make_unique<Side>(make(p), options);
    }
    directions_.push_back(std::move(d));
  }
  if (!options.project_position_at.empty() || !options.project_velocity_at.empty())
    stop("the run projects at given times");
  const int nv = space_.nv();
  for (Vector* v : {&x_, &x_moved_, &dv_moved_[0], &dv_moved_[1], &fixed_dv_, &dv_, &dq_, &bracket_, &dx_, &before_x_,
                    &stabilization_})
    v->setZero(nv);
}

Forward::~Forward() = default;

int Forward::count() const { return static_cast<int>(directions_.size()); }

void Forward::begin(std::shared_ptr<const system::System> system, const Plan& plan, const Options& options,
                    bool ends_at_corner, const Stepper& stepper, const StartingPoints& wanted) {
  is_cut_ = false;
  const auto* implicit = dynamic_cast<const ImplicitStepper*>(&stepper);
  if (implicit == nullptr) return stop(fmt::format("steps of {} are not maps of their past", plan.method->name));
  if (!implicit->is_plain()) return stop("the steps are projected");
  system_ = std::move(system);
  plan_ = &plan;
  rows_ = std::make_unique<RowMap>(system_->pattern(), layout_.pattern());
  closer_ = std::make_unique<solve::Closer>(*system_, plan.formulation, plan.closeness.newton, counters_);
  if (closer_->is_rank_revealing()) return stop("constraints are redundant");
  if (!closer_->closes_with_residuals()) return stop("accelerations are constrained");
  for (int side = 0; side < 2; ++side) {
    const Options& o = plan.options;
    methods_[side] = plan.method->make(
        system_->space(), counters_,
        {plan.max_order, o.correction, o.own_correction.get(), o.method.parameters, is_given(o.steps)});
    motion_[side] = system::Motion(space_);
    residual_[side] = residual_of(*system_);
  }
  left_ = fixed_ = residual_of(*system_);
  dense_ = std::make_unique<DenseOutput>(space_);
  metric_ = solve::stabilization_metric(space_, plan.closeness.newton.length);
  dlambda_.setZero(system_->pattern().rows());
  before_lambda_ = dlambda_;
  deta_.setZero(system_->pattern().position_rows());
  checks_left_ = most_checks;
  has_derivatives_ = true;
  for (auto& d : directions_) {
    for (auto& side : d->sides) {
      if (side->system->space().nv() != space_.nv() || side->system->pattern().rows() != system_->pattern().rows())
        return stop("a parameter changes the number of active constraints");
      side->plan = make_plan(options, *side->system, side->start);
      if (ends_at_corner) end_at_corner(side->plan, *side->system);
      if (side->plan.step_count != plan.step_count) return stop("a parameter changes the number of steps");
      side->metric = solve::stabilization_metric(space_, side->plan.closeness.newton.length);
      side->contacts.begin_segment(*side->system, side->counters);
      side->stepper = make_stepper(side->plan, *side->system, side->counters);
      StartingPoints own = wanted;
      if (!plan.has_error_control()) own.h = side->plan.h, own.t_end = side->plan.t_end;
      if (!side->stepper->place(side->start) || !side->stepper->fill(own))
        return stop("the start of a neighbouring motion failed");
      side->contacts.open(side->stepper->now());
    }
    d->deviation = system::make_deviation(*d->sides[0]->system, *d->sides[1]->system);
  }
  tangents_of_start(stepper);
}

void Forward::tangents_of_start(const Stepper& stepper) {
  const History& nominal = static_cast<const ImplicitStepper&>(stepper).history();
  starts_left_ = stepper.starts_left();
  for (auto& d : directions_) {
    const History& plus = static_cast<const ImplicitStepper&>(*d->sides[0]->stepper).history();
    const History& minus = static_cast<const ImplicitStepper&>(*d->sides[1]->stepper).history();
    if (plus.size() != nominal.size() || minus.size() != nominal.size())
      return stop("neighbouring motions start differently");
    d->past.resize(static_cast<std::size_t>(nominal.size()));
    for (int age = 0; age < nominal.size(); ++age)
      difference(nominal[age], plus[age], minus[age], d->part(), d->past[static_cast<std::size_t>(age)]);
    d->shown = d->past[static_cast<std::size_t>(starts_left_)];
    d->is_newest = false;
  }
}

void Forward::show_start(const Stepper& stepper) {
  if (!is_going()) return;
  starts_left_ = stepper.starts_left();
  for (auto& d : directions_) {
    d->shown = d->past[static_cast<std::size_t>(starts_left_)];
    d->is_newest = false;
    for (auto& side : d->sides) side->stepper->show_next_start();
  }
}

void Forward::difference(const Entry& nominal, const Entry& plus, const Entry& minus, double part, Tangent& out) const {
  Vector ahead(space_.nv()), behind(space_.nv());
  space_.difference(nominal.motion.q, plus.motion.q, ahead);
  space_.difference(nominal.motion.q, minus.motion.q, behind);
  out.t = part * (plus.motion.t - minus.motion.t);
  out.h = part * (plus.h - minus.h);
  out.q = part * (ahead - behind);
  out.v = part * (plus.motion.v - minus.motion.v);
  out.a = part * (plus.motion.a - minus.motion.a);
  out.lambda = part * (plus.lambda - minus.lambda);
  out.eta = part * (plus.eta - minus.eta);
  out.omega = part * (plus.omega - minus.omega);
  out.memory = part * (plus.memory - minus.memory);
}

void Forward::move(const Entry& from, const Tangent& by, double part, Entry& out) const {
  out = from;
  const Vector step = part * by.q;
  space_.move(from.motion.q, step, out.motion.q);
  out.motion.t += part * by.t;
  out.h += part * by.h;
  out.motion.v += part * by.v;
  out.motion.a += part * by.a;
  out.lambda += part * by.lambda;
  out.eta += part * by.eta;
  out.omega += part * by.omega;
  out.memory += part * by.memory;
}

void Forward::fill_moved(const Direction& d, const History& past, double part, int side) {
  History& to = moved_[side];
  if (to.capacity() != past.capacity() || to.size() == 0 || to[0].lambda.size() != past[0].lambda.size())
    to = History(space_,
                 {static_cast<int>(past[0].lambda.size()), static_cast<int>(past[0].eta.size()),
                  static_cast<int>(past[0].memory.size())},
                 past.capacity());
  to.clear();
  Entry entry;
  const int count = std::min(past.size(), static_cast<int>(d.past.size()));
  for (int age = count - 1; age >= 0; --age) {
    move(past[age], d.past[static_cast<std::size_t>(age)], side == 0 ? part : -part, entry);
    to.push(entry);
  }
}

void Forward::take(Stepper& stepper, const Proposal& proposal, bool ends_at_stop) {
  if (!is_going()) return;
  auto& implicit = static_cast<ImplicitStepper&>(stepper);
  const Entry& trial = implicit.trial();
  x_ = implicit.closer().unknown();
  if (!closer_->linearize_at(implicit.method(), implicit.history(), proposal.h, x_, trial))
    return stop(fmt::format("the matrix of the step to t = {:.6g} is singular", proposal.t));
  const bool has_tangents = implicit.method().begin_tangents(trial.motion);
  if (closer_->has_eta()) system_->constraint_force(eta_of(implicit).motion, trial.eta, stabilization_);
  guess_points_ = std::min({proposal.order + 1, implicit.history().size(), method::Differences::max_points});
  std::array<double, method::Differences::max_points> nodes{};
  implicit.history().offsets(guess_points_, nodes.data());
  coeff::extrapolation_weights({nodes.data(), static_cast<std::size_t>(guess_points_)}, proposal.h, guess_weights_);
  for (auto& d : directions_) {
    const double now = d->past.front().t;
    double dt = now;
    if (!plan_->has_error_control()) {
      dt += d->part() * (d->sides[0]->plan.h - d->sides[1]->plan.h);
      if (!plan_->steps.empty() && dt != 0.0) return stop("given steps do not move with events");
    } else if (ends_at_stop) {
      dt = 0.0;
      if (proposal.t < plan_->run_end) {
        double at[2];
        bool is_corner[2];
        for (int side = 0; side < 2; ++side) {
          const Side& near = *d->sides[side];
          const double from = trial.motion.t - proposal.h + (side == 0 ? d->s : -d->s) * now;
          const Stop ahead = Corners(*near.system, near.plan.options, near.plan.t0, near.plan.t_end)
                                 .ahead(from, proposal.h * (1.0 + 1e-3));
          at[side] = ahead.t;
          is_corner[side] = ahead.is_corner;
        }
        if (is_corner[0] != is_corner[1]) return stop("a corner exists only for some values of a parameter");
        if (is_corner[0]) dt = d->part() * (at[0] - at[1]);
      }
    }
    d->next.t = dt;
    d->next.h = dt - now;
    // Steps as long as those of the run.
    if (!ends_at_stop && plan_->has_error_control()) d->next.h = 0.0;
    bool has_steps = d->next.h != 0.0;
    for (std::size_t age = 0; age < d->past.size(); ++age) has_steps = has_steps || d->past[age].h != 0.0;
    differentiate_step(*d, implicit, proposal, has_tangents && !has_steps);
    if (!is_going()) return;
  }
}

const Entry& Forward::eta_of(ImplicitStepper& stepper) {
  const bool is_previous = stepper.method().stabilization_point() == method::StabilizationPoint::previous;
  return is_previous ? stepper.history()[0] : stepper.trial();
}

void Forward::differentiate_step(Direction& d, ImplicitStepper& stepper, const Proposal& proposal, bool has_tangents) {
  const Entry& trial = stepper.trial();
  const History& past = stepper.history();
  method::Method& method = stepper.method();
  const double h = proposal.h, s = d.s;
  const int age_of_eta = method.stabilization_point() == method::StabilizationPoint::previous ? 0 : -1;
  Tangent& next = d.next;
  const Tangent& newest = d.past.front();

  // ∂r/∂p at the motion of the run, and the part due to the shift of time.
  if (next.t == 0.0) {
    for (Vector* r : {&fixed_.force, &fixed_.gap, &fixed_.rate}) r->setZero();
    d.deviation->residual(trial.motion, trial.lambda, d.part(), fixed_);
  } else {
    for (int side = 0; side < 2; ++side) {
      system::Motion& m = motion_[side];
      m = trial.motion;
      m.t += side == 0 ? s * next.t : -s * next.t;
      d.sides[side]->system->residual(m, trial.lambda, residual_[side]);
    }
    fixed_.force = d.part() * (residual_[0].force - residual_[1].force);
    fixed_.gap = d.part() * (residual_[0].gap - residual_[1].gap);
    fixed_.rate = d.part() * (residual_[0].rate - residual_[1].rate);
  }
  const system::Motion& eta_at = eta_of(stepper).motion;
  const double dt_of_eta = age_of_eta < 0 ? next.t : newest.t;

  // δx is extrapolated like δv.
  deta_ = newest.eta;
  Combination velocity, multipliers;
  for (int i = 0; i < guess_points_; ++i) {
    velocity.add(guess_weights_[static_cast<std::size_t>(i)], d.past[static_cast<std::size_t>(i)].v);
    multipliers.add(guess_weights_[static_cast<std::size_t>(i)], d.past[static_cast<std::size_t>(i)].lambda);
  }
  next.v.resize(space_.nv());
  next.a.resize(space_.nv());
  velocity.assign_to(next.v);
  multipliers.assign_to(dlambda_);
  dx_ = next.v;

  double part = 0.0;
  if (has_tangents) {
    changes_.clear();
    for (std::size_t age = 0; age < d.past.size(); ++age)
      changes_.push_back({d.past[age].omega, d.past[age].v, d.past[age].memory});
    method.move_past(changes_);
  } else {
    double size = 0.0;
    for (std::size_t age = 0; age < d.past.size(); ++age) {
      const Tangent& t = d.past[age];
      size = std::max({size, size_of(t.v) / (1e-3 + size_of(trial.motion.v)), size_of(t.q), size_of(t.omega) / h,
                       std::abs(t.h) / h, size_of(t.a) / (1e-3 + size_of(trial.motion.a))});
    }
    size = std::max(size, std::abs(next.h) / h);
    part = size > 0.0 ? std::exp2(std::floor(std::log2(map_step / size))) : s;
    for (int side = 0; side < 2; ++side) {
      fill_moved(d, past, part, side);
      methods_[side]->begin_step(moved_[side], h + (side == 0 ? part : -part) * next.h, proposal.order);
    }
  }

  const Vector& q_x = closer_->tangent().q_x;
  const auto motion_of = [&](bool is_first) {  // δq, δv, δv̇ of δx, δη
    if (method.moves_by_increment()) {
      // δq = Ad⁻¹ δq_n + T(hx) δ(hx), Ad⁻¹ = I - T(hx) hat(hx)
      space_.bracket(x_, newest.q, bracket_);
      dq_ = dx_ - bracket_ + (next.h / h) * x_;
      next.q = newest.q;
      for (const lie::Block& b : space_.blocks())
        solve::add_vector_product(next.q.data() + b.v_at, q_x.data() + b.matrix_at, dq_.data() + b.v_at, b.nv, b.nv);
    } else {
      for (int side = 0; side < 2; ++side) {
        x_moved_ = x_ + (side == 0 ? part : -part) * dx_;
        methods_[side]->position(x_moved_, motion_[side].q);
        space_.difference(trial.motion.q, motion_[side].q, dv_moved_[side]);
      }
      next.q = (0.5 / part) * (dv_moved_[0] - dv_moved_[1]);
    }
    dv_.setZero();
    if (closer_->has_eta()) {
      // W B(q, p)ᵀη along δq and δp, which hardly change from one correction to the next, and along δη.
      if (is_first) set_change_of_stabilization(d, eta_at, trial.eta, age_of_eta < 0 ? next.q : newest.q, dt_of_eta, h);
      if (age_of_eta < 0)
        closer_->add_constraint_force(deta_, dv_);
      else
        system_->constraint_force(eta_at, deta_, dv_);
      dv_.array() *= metric_.array();
      dv_ += fixed_dv_;
    }
    if (has_tangents) {
      method.tangent(dx_, dv_, next.v, next.a);
      return;
    }
    for (int side = 0; side < 2; ++side) {
      const double moved = side == 0 ? part : -part;
      x_moved_ = x_ + moved * dx_;
      motion_[side].t = trial.motion.t;
      methods_[side]->position(x_moved_, motion_[side].q);
      // The shift of the run itself does not count.
      if (closer_->has_eta()) {
        system_->constraint_force(eta_at, trial.eta, dv_moved_[side]);
        dv_moved_[side] = dv_moved_[side].cwiseProduct(metric_) + moved * dv_;
      } else {
        dv_moved_[side].setZero();
      }
      methods_[side]->velocity(x_moved_, dv_moved_[side], motion_[side]);
    }
    next.v = (0.5 / part) * (motion_[0].v - motion_[1].v);
    next.a = (0.5 / part) * (motion_[0].a - motion_[1].a);
  };

  const auto changes_of_rows = [&] {
    left_ = fixed_;
    if (has_derivatives_) {
      closer_->add_changes(next.q, next.v, next.a, dlambda_, left_);
      return;
    }
    // Own systems without derivatives: differences of the equations along the motion.
    const double size = std::max({size_of(next.q), size_of(next.v) / (1.0 + size_of(trial.motion.v)),
                                  size_of(next.a) / (1.0 + size_of(trial.motion.a)), 1e-300});
    const double step = map_step / size;
    for (int side = 0; side < 2; ++side) {
      const double moved = side == 0 ? step : -step;
      system::Motion& m = motion_[side];
      m.t = trial.motion.t;
      bracket_ = moved * next.q;
      space_.move(trial.motion.q, bracket_, m.q);
      m.v = trial.motion.v + moved * next.v;
      m.a = trial.motion.a + moved * next.a;
      before_lambda_ = trial.lambda + moved * dlambda_;
      system_->residual(m, before_lambda_, residual_[side]);
    }
    left_.force += (0.5 / step) * (residual_[0].force - residual_[1].force);
    left_.gap += (0.5 / step) * (residual_[0].gap - residual_[1].gap);
    left_.rate += (0.5 / step) * (residual_[0].rate - residual_[1].rate);
  };

  // With the matrix of this step one correction leaves almost nothing; the fraction is known from similar steps.
  constexpr int longest_trust = 16;
  constexpr double margin = 10.0, similar = 0.2;
  const bool is_known =
      d.known_order == proposal.order && std::abs(d.known_h - h) <= similar * h && d.trusted < longest_trust;
  // A parameter without effect leaves round-off.
  speed_ = std::max(speed_, x_.norm());
  const double least = 1e-6 * speed_ / d.size();
  double left = 0.0, size = 0.0, last = 0.0;
  for (int corrections = 0; corrections < most_corrections; ++corrections) {
    motion_of(true);
    changes_of_rows();
    before_x_ = dx_;
    closer_->correct(h, left_, dx_, dlambda_, deta_);
    const double update = (dx_ - before_x_).norm();
    size = std::max(dx_.norm(), least);
    if (!std::isfinite(update)) return stop("the derivative is not finite");
    if (corrections == 0 && is_known) {
      left = update * margin * d.known_rate;
      if (left <= solved_ * size) {
        ++d.trusted;
        break;
      }
    }
    const double rate = corrections > 0 && last > 0.0 ? std::min(1.0, update / last) : 1.0;
    if (corrections == 1) {
      d.known_h = h;
      d.known_order = proposal.order;
      d.known_rate = rate;
      d.trusted = 0;
    }
    left = update * rate;
    // A residual that no longer shrinks is round-off.
    if (left <= solved_ * size || (corrections > 1 && update > 0.5 * last && update < solved_badly * size)) break;
    last = update;
  }
  if (size > 0.0 && left > std::max(solved_, solved_badly) * size)
    return stop(fmt::format("the linear equations of the step to t = {:.6g} could not be solved", proposal.t));
  if (size > 0.0) remainder_ = std::max(remainder_, left / size);
  motion_of(false);
  if (checks_left_ > 0 && has_derivatives_ && &d == directions_.back().get()) {
    --checks_left_;
    changes_of_rows();
    const Vector by_blocks = left_.force;
    has_derivatives_ = false;
    changes_of_rows();
    const double scale = std::max(size_of(Vector(by_blocks - fixed_.force)), 1e-8 * size_of(by_blocks));
    has_derivatives_ = size_of(Vector(by_blocks - left_.force)) <= exact * std::max(scale, 1e-300) + 1e-9 * size;
  }
  next.lambda = dlambda_;
  next.eta = deta_;
  next.omega.resize(space_.nv());
  next.memory.resize(trial.memory.size());
  if (has_tangents) {
    method.record_tangent(dx_, next.v, next.omega, next.memory);
    return;
  }
  Entry recorded[2];
  for (int side = 0; side < 2; ++side) {
    recorded[side] = trial;
    recorded[side].motion = motion_[side];
    x_moved_ = x_ + (side == 0 ? part : -part) * dx_;
    methods_[side]->record(x_moved_, recorded[side]);
  }
  next.omega = (0.5 / part) * (recorded[0].omega - recorded[1].omega);
  next.memory = (0.5 / part) * (recorded[0].memory - recorded[1].memory);
}

/// By one-sided differences: the whole term is small, as η is, and so is its error.
void Forward::set_change_of_stabilization(Direction& d, const lie::Motion& at, const Vector& eta, const Vector& dq,
                                          double dt, double h) {
  constexpr double step = 1e-7;
  fixed_dv_.setZero();
  if (size_of(eta) == 0.0) return;
  d.deviation->constraint_force(at, eta, d.part(), fixed_dv_);
  if (const double size = std::max(size_of(dq), std::abs(dt) / h); size > 0.0) {
    const double moved = step / size;
    motion_[0].t = at.t + moved * dt;
    bracket_ = moved * dq;
    space_.move(at.q, bracket_, motion_[0].q);
    motion_[0].v = at.v;
    system_->constraint_force(motion_[0], eta, dv_moved_[0]);
    fixed_dv_ += (1.0 / moved) * (dv_moved_[0] - stabilization_);
  }
  fixed_dv_.array() *= metric_.array();
  if (const Vector& ahead = d.sides[0]->metric, &behind = d.sides[1]->metric; ahead != behind)
    fixed_dv_.array() += d.part() * (ahead - behind).array() * stabilization_.array();
}

void Forward::committed(const Stepper& stepper) {
  if (!is_going()) return;
  const auto& implicit = static_cast<const ImplicitStepper&>(stepper);
  const std::size_t most = static_cast<std::size_t>(implicit.history().capacity());
  for (auto& d : directions_) {
    if (implicit.has_settled_lambda()) {
      Entry moved[2];
      for (int side = 0; side < 2; ++side) {
        d->next.lambda.setZero();
        move(stepper.now(), d->next, side == 0 ? d->s : -d->s, moved[side]);
        Side& near = *d->sides[side];
        if (near.kkt == nullptr)
          near.kkt = std::make_unique<solve::Kkt>(*near.system, counters_, options_.linear_solver.name());
        if (!near.kkt->accelerate(moved[side].motion, moved[side].lambda))
          return stop("a neighbouring motion has no multipliers");
      }
      d->next.lambda = d->part() * (moved[0].lambda - moved[1].lambda);
    }
    d->past.push(d->next, most);
    d->next.t = d->past.front().t;
    d->is_newest = true;
  }
}

bool Forward::interpolate(Direction& d, Stepper& stepper, int side, double t, Entry& out) {
  if (stepper.is_at_start()) return d.sides[side]->stepper->at(t, out);
  const History& past = static_cast<ImplicitStepper&>(stepper).history();
  fill_moved(d, past, d.s, side);
  out = past[0];
  dense_->evaluate(moved_[side], past[0].order + 1, t, out);
  // Beyond its end the step is extrapolated.
  const double end = moved_[side][0].motion.t;
  if (t > end) {
    const Vector step = (t - end) * out.motion.v;
    space_.move(out.motion.q, step, out.motion.q);
    out.motion.v += (t - end) * out.motion.a;
  }
  return true;
}

const system::Event* Forward::event_of(const Side& side, const system::Event& event) const {
  const auto among = [&](const std::vector<system::Event>& nominal,
                         const std::vector<system::Event>& near) -> const system::Event* {
    for (std::size_t i = 0; i < nominal.size(); ++i)
      if (&nominal[i] == &event && i < near.size()) return &near[i];
    return nullptr;
  };
  if (const auto* found = among(system_->events(), side.system->events())) return found;
  for (const std::vector<system::Event>* list : {&side.system->events(), &side.asked, &side.contacts.events()})
    for (const system::Event& own : *list)
      if (own.name == event.name) return &own;
  return nullptr;
}

double Forward::time_of(Direction& d, Stepper& stepper, const system::Event& event, const system::Event& own, int side,
                        double t) {
  Entry at = stepper.now();
  Vector rows = Vector::Zero(layout_.pattern().rows());
  const bool is_asked = std::ranges::any_of(d.sides[side]->asked, [&](const auto& e) { return &e == &own; });
  const auto value = [&](const system::Event& g, const Entry& entry) {
    const Vector* lambda = &entry.lambda;
    if (is_asked && !rows_->is_identity()) rows_->spread(entry.lambda, rows), lambda = &rows;
    return g.function(entry.motion.t, entry.motion.q, entry.motion.v, *lambda);
  };
  // The slope of the run itself starts a search by secants.
  const double h = stepper.now().h > 0.0 ? stepper.now().h : plan_->h, end = stepper.now().motion.t;
  const double width = 1e-5 * h;
  const double a = t - width, b = std::min(t + width, end);
  if (!(b > a) || !stepper.at(a, at)) return NAN;
  const double g_a = value(event, at);
  if (b >= end)
    at = stepper.now();
  else if (!stepper.at(b, at))
    return NAN;
  const double slope = (value(event, at) - g_a) / (b - a);
  if (!(std::abs(slope) > 0.0)) return NAN;
  double found = t;
  for (int i = 0; i < 4; ++i) {
    if (!interpolate(d, stepper, side, found, at)) return NAN;
    at.motion.t = found;
    const double step = value(own, at) / slope;
    found -= step;
    if (!(std::abs(found - t) < h)) return NAN;
    if (std::abs(step) <= 1e-15 * std::max(std::abs(found), h)) break;
  }
  return found;
}

double Forward::time_of(int j, Stepper& stepper, const system::Event* event, double t) {
  Direction& d = *directions_[static_cast<std::size_t>(j)];
  if (is_cut_) return d.cut;
  if (event == nullptr || !is_going()) return NAN;
  double at[2];
  for (int side = 0; side < 2; ++side) {
    const system::Event* own = event_of(*d.sides[side], *event);
    if (own == nullptr) return NAN;
    at[side] = time_of(d, stepper, *event, *own, side, t);
  }
  return d.part() * (at[0] - at[1]);
}

void Forward::cut(Stepper& stepper, const Happening& happening, const system::Event& first, const Entry& before) {
  if (!is_going()) return;
  const double far = too_far;
  for (auto& d : directions_) {
    double at[2];
    for (int side = 0; side < 2; ++side) {
      Side& near = *d->sides[side];
      const system::Event* own = event_of(near, first);
      if (own == nullptr) return stop("a neighbouring motion has different events");
      at[side] = time_of(*d, stepper, first, *own, side, happening.t);
      if (!std::isfinite(at[side])) return stop("an event of a neighbouring motion was not found");
      near.point = before;
      if (!interpolate(*d, stepper, side, at[side], near.point)) return stop("a step cannot be interpolated");
      near.point.motion.t = at[side];
      near.point.h = before.h;
      make_consistent(*near.system, near.point, near.counters, options_.linear_solver.name());
    }
    d->cut = d->part() * (at[0] - at[1]);
    difference(before, d->sides[0]->point, d->sides[1]->point, d->part(), d->shown);
    d->is_newest = false;
    if (d->s * size_of(d->shown.v) > far * (1.0 + size_of(before.motion.v)))
      return stop("the motion depends too strongly on a parameter");
  }
  is_cut_ = true;
}

void Forward::change(const Happening& happening, const Changed& changed) {
  if (!is_going()) return;
  for (auto& d : directions_) {
    for (auto& near : d->sides) {
      if (happening.changes) {
        std::vector<const system::Event*> events;
        for (const system::Event* event : happening.events) {
          events.push_back(event_of(*near, *event));
          if (events.back() == nullptr) return stop("a neighbouring motion has different events");
        }
        const Changed own = carry_out(events, near->contacts, happening.touched, *near->system, near->point,
                                      near->counters, options_.linear_solver.name());
        if (!own.problem.empty() || (own.system != nullptr) != (changed.system != nullptr) ||
            own.contacts.size() != changed.contacts.size())
          return stop("an event has a different effect on a neighbouring motion");
        for (std::size_t i = 0; i < own.contacts.size(); ++i)
          if (own.contacts[i].limit != changed.contacts[i].limit ||
              own.contacts[i].action != changed.contacts[i].action)
            return stop("a limit has a different effect on a neighbouring motion");
        near->point = own.after;
        if (own.system != nullptr) {
          near->before.push_back(near->system);
          near->system = own.system;
          near->kkt.reset();
        }
      }
      near->start = {near->point.motion.t, near->start.t_end, near->point.motion.q, near->point.motion.v};
    }
    if (d->sides[0]->point.lambda.size() != changed.after.lambda.size() ||
        d->sides[1]->point.lambda.size() != changed.after.lambda.size())
      return stop("neighbouring motions have different constraints after an event");
    difference(changed.after, d->sides[0]->point, d->sides[1]->point, d->part(), d->shown);
    d->is_newest = false;
  }
  if (changed.system != nullptr) rows_ = std::make_unique<RowMap>(changed.system->pattern(), layout_.pattern());
}

void Forward::pass_corner(const Stepper& stepper, double after, const Entry& behind) {
  if (!is_going()) return;
  for (auto& d : directions_) {
    const Tangent newest = d->past.front();
    for (int side = 0; side < 2; ++side) {
      Side& near = *d->sides[side];
      move(stepper.now(), newest, side == 0 ? d->s : -d->s, near.point);
      near.point.motion.t = after + (side == 0 ? d->s : -d->s) * newest.t;
      near.start = {near.point.motion.t, near.start.t_end, near.point.motion.q, near.point.motion.v};
      make_consistent(*near.system, near.point, near.counters, options_.linear_solver.name());
    }
    d->cut = newest.t;
    difference(behind, d->sides[0]->point, d->sides[1]->point, d->part(), d->shown);
    d->is_newest = false;
  }
  is_cut_ = true;
}

const Forward::Tangent& Forward::shown(int j) const { return directions_[static_cast<std::size_t>(j)]->at_point(); }

void Forward::spread_lambda(int j, Vector& out) const { rows_->spread(shown(j).lambda, out); }

void Forward::outputs(int j, const Entry& point, Vector& out) {
  Direction& d = *directions_[static_cast<std::size_t>(j)];
  out.setZero(layout_.output_size());
  if (out.size() == 0) return;
  const Tangent& shown = d.at_point();
  Vector lambda(shown.lambda.size()), values[2] = {out, out};
  for (int side = 0; side < 2; ++side) {
    const double moved = side == 0 ? d.s : -d.s;
    system::Motion& m = motion_[side];
    m = point.motion;
    bracket_ = moved * shown.q;
    space_.move(point.motion.q, bracket_, m.q);
    m.t += moved * shown.t;
    m.v += moved * shown.v;
    m.a += moved * shown.a;
    rows_->gather(point.lambda, lambda);
    lambda += moved * shown.lambda;
    d.sides[side]->system->evaluate_outputs(m, lambda, values[side]);
  }
  out = d.part() * (values[0] - values[1]);
}

}  // namespace kreisel::run
