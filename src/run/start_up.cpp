#include "run/start_up.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "coeff/starting_defect.hpp"
#include "lie/turns.hpp"
#include "scaling.hpp"
#include "solve/radau.hpp"
#include "turns.hpp"

namespace kreisel::run {

using method::Entry;
using method::History;
using system::Motion;

namespace {

/// Substeps double until halving them moves the first step by less than this, relative to its size.
constexpr double substep_tolerance = 2e-14;
constexpr int max_substeps = 256;
/// Below this a change that halving the substeps does not reduce tenfold (order 8 promises 256) is noise of the model.
constexpr double noise_level = 1e-9;
/// Step of the differences for the rates of states and algebraic unknowns: accurate to about 1e-8.
constexpr double rate_step = 1e-5;

/// Explicit substeps of this number that change the first step as a whole are hopeless: vibrations of more than 6 rad per substep, the
/// limit of stability, grow by orders of magnitude in each.
constexpr int hopeless_substeps = 8;
constexpr double hopeless_change = 1.0;
/// Implicit substeps: their local error of order 6 is well below that of the first step of any order.
constexpr int implicit_substeps = 2, most_implicit_substeps = 16;

}  // namespace

/// Stiff vibrations are damped and not resolved, and what they move by is the error of the first step at most.
class StartUp::Implicit {
 public:
  Implicit(const system::System& system, Counters& counters, const std::string& linear_solver)
      : system_(system),
        radau_(system, system.pattern().rows() > 0 ? solve::Formulation::stabilized_index2 : solve::Formulation::ode,
               options(linear_solver), counters),
        none_(system),
        stages_(system),
        parts_(parts_of(system)),
        weight_(Vector::Zero(system.space().nv())),
        piece_(weight_),
        from_(History::blank(system.space(), {system.pattern().rows(), system.pattern().position_rows(), 0})),
        to_(from_) {}

  void set_substeps(int count) { substeps_ = count; }
  /// Turns are motions to be resolved, not vibrations to be damped.
  bool resolves(const Entry& from, double h) const {
    constexpr double widest = 0.5;  // [rad]
    return run::widest_turn(parts_, from.motion.v).angle * std::abs(h) <= widest;
  }

  bool advance(const Entry& from, double h, Entry& to) {
    from_.motion = from.motion;
    from_.lambda = from.lambda;
    to.omega.setZero();
    radau_.forget_matrix();  // the same steps, whatever came before
    const double part = h / substeps_;
    for (int i = 0; i < substeps_; ++i) {
      velocity_weights(parts_, from_.motion, {.absolute = 1.0, .relative = 1.0, .floor = floor / std::abs(part)},
                       weight_);
      if (radau_.step(from_, part, none_, weight_, stages_, to_).status != solve::CloseStatus::converged ||
          radau_.turned() > 1.0)
        return false;
      to_.motion.t = from.motion.t + (i + 1) * part;
      system_.space().tangent_inverse(to.omega, to_.omega, piece_);
      to.omega += piece_;
      if (!lie::follow(system_.space(), from.motion.q, to_.motion.q, to.omega)) return false;
      std::swap(from_, to_);
    }
    to.motion = from_.motion;
    to.lambda = from_.lambda;
    return to.motion.v.allFinite();
  }

 private:
  static constexpr double tolerance = 1e-10, floor = 8.0 * std::numeric_limits<double>::epsilon() / tolerance;

  static solve::NewtonOptions options(const std::string& linear_solver) {
    solve::NewtonOptions out;
    out.tolerance = tolerance;
    out.linear_solver = linear_solver;
    return out;
  }

  const system::System& system_;
  solve::Radau radau_;
  const solve::Collocation none_;
  solve::Collocation stages_;
  const std::vector<Part> parts_;
  Vector weight_, piece_;
  Entry from_, to_;
  int substeps_ = implicit_substeps;
};

StartUp::~StartUp() = default;

StartUp::StartUp(const system::System& system, Counters& counters, std::string_view linear_solver)
    : system_(system),
      counters_(counters),
      linear_solver_(linear_solver),
      rkmk_(system, coeff::dop853(), counters, true, linear_solver),
      from_(system.space()),
      to_(system.space()),
      lambda_(Vector::Zero(system.pattern().rows())),
      omega_(Vector::Zero(system.space().nv())),
      piece_(omega_) {
  for (std::size_t b = 0; b < system.space().blocks().size(); ++b)
    has_only_dynamic_ =
        has_only_dynamic_ && system.pattern().kind(static_cast<int>(b)) == system::CoordinateKind::dynamic;
}

bool StartUp::place(double t, ConstVectorRef q, ConstVectorRef v, Entry& first) {
  first.motion.t = t;
  first.motion.q = q;
  first.motion.v = v;
  first.motion.a.setZero();
  first.lambda.setZero();
  first.eta.setZero();
  first.omega.setZero();
  first.memory.setZero();
  first.h = 0.0;
  first.order = 0;
  if (!rkmk_.kkt().accelerate(first.motion, first.lambda)) return false;
  return has_only_dynamic_ || set_rates_of_states(first);
}

/// For first-order states the equations give v and for algebraic unknowns q; v̇ and v come from differences, central ones unless
/// there is a corner, along the parabola through the first point: an explicit step would be unstable with a stiff force.
bool StartUp::set_rates_of_states(Entry& first) {
  constexpr double accuracy = 1e-7, refinement = 0.125;
  constexpr int most_refinements = 8;
  // Limited by the resolution of large times.
  const double smallest = 1e5 * std::numeric_limits<double>::epsilon() * std::abs(first.motion.t);
  double s = std::max(rate_step, smallest);
  Vector rates = Vector::Zero(omega_.size()), finer = rates;
  if (!rates_of_states(first, s, rates)) return false;
  double previous_change = HUGE_VAL;
  for (int i = 0; i < most_refinements && refinement * s >= smallest; ++i) {
    s *= refinement;
    if (!rates_of_states(first, s, finer)) return false;
    const double change = (finer - rates).lpNorm<Eigen::Infinity>();
    if (change >= previous_change) break;  // round-off
    rates = finer;
    previous_change = change;
    if (change <= accuracy * finer.lpNorm<Eigen::Infinity>()) break;
  }
  const auto& blocks = system_.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const system::CoordinateKind kind = system_.pattern().kind(static_cast<int>(b));
    if (kind == system::CoordinateKind::dynamic) continue;
    Vector& out = kind == system::CoordinateKind::state ? first.motion.a : first.motion.v;
    out.segment(blocks[b].v_at, blocks[b].nv) = rates.segment(blocks[b].v_at, blocks[b].nv);
  }
  return true;
}

bool StartUp::accelerate_beside(const Entry& first, double s) {
  const Motion& centre = first.motion;
  from_.t = centre.t + s;
  omega_ = s * centre.v + (0.5 * s * s) * centre.a;
  system_.space().move(centre.q, omega_, from_.q);
  from_.v = centre.v + s * centre.a;
  from_.a = centre.a;
  lambda_ = first.lambda;
  return rkmk_.kkt().accelerate(from_, lambda_);
}

bool StartUp::rates_of_states(const Entry& first, double s, Vector& rates) {
  struct Term {
    double at, weight;  ///< in steps
  };
  constexpr std::array<Term, 2> central{{{1.0, 0.5}, {-1.0, -0.5}}};
  constexpr std::array<Term, 3> one_sided{{{1.0, -2.5}, {2.0, 4.0}, {3.0, -1.5}}};
  rates.setZero();
  for (const Term& term : looks_back_ ? std::span<const Term>(central) : std::span<const Term>(one_sided)) {
    if (!accelerate_beside(first, term.at * s)) return false;
    const auto& blocks = system_.space().blocks();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const lie::Block& block = blocks[b];
      switch (system_.pattern().kind(static_cast<int>(b))) {
        case system::CoordinateKind::dynamic:
          break;
        case system::CoordinateKind::state:
          rates.segment(block.v_at, block.nv) += (term.weight / s) * from_.v.segment(block.v_at, block.nv);
          break;
        case system::CoordinateKind::algebraic:
          rates.segment(block.v_at, block.nv) += (term.weight / s) * from_.q.segment(block.q_at, block.nv);
          break;
      }
    }
  }
  return true;
}

bool StartUp::multipliers(const Motion& at, Vector& lambda) {
  from_ = at;
  return rkmk_.kkt().accelerate(from_, lambda);
}

bool StartUp::project(Motion& m, bool moves_position, bool moves_velocity) {
  solve::Kkt& kkt = rkmk_.kkt();
  if (!kkt.factorize(m) || (moves_position && !kkt.project_position(m))) return false;
  return !moves_velocity || (kkt.factorize(m) && kkt.project_velocity(m));
}

bool StartUp::advance(const Entry& from, double h, Entry& to) {
  if (implicit_ != nullptr) {
    if (!implicit_->advance(from, h, to)) return false;
  } else {
    from_ = from.motion;
    lambda_ = from.lambda;
    const double part = h / substeps_;
    to.omega.setZero();
    for (int i = 0; i < substeps_; ++i) {
      if (!rkmk_.step(from_, part, to_, lambda_, omega_)) return false;
      std::swap(from_, to_);
      system_.space().tangent_inverse(to.omega, omega_, piece_);
      to.omega += piece_;
      if (!lie::follow(system_.space(), from.motion.q, from_.q, to.omega)) return false;
    }
    to.motion = from_;
    to.lambda = lambda_;
  }
  to.motion.t = from.motion.t + h;
  to.eta.setZero();
  to.memory.setZero();
  to.h = h;
  to.order = 0;
  return true;
}

bool StartUp::becomes_implicit(const Entry& first, double h) {
  implicit_ = std::make_unique<Implicit>(system_, counters_, linear_solver_);
  Entry next = first;
  for (int n = implicit_substeps; n <= most_implicit_substeps && implicit_->resolves(first, h); n *= 2) {
    implicit_->set_substeps(n);
    if (implicit_->advance(first, h, next)) return true;
  }
  implicit_.reset();
  return false;
}

bool StartUp::choose_substeps(const Entry& first, double h) {
  Entry coarse = first, fine = first;
  substeps_ = 1;
  implicit_.reset();
  double previous_change = HUGE_VAL;
  bool has_coarse = advance(first, h, coarse);
  while (substeps_ < max_substeps) {
    substeps_ *= 2;
    if (!advance(first, h, fine)) {
      if (substeps_ == hopeless_substeps && becomes_implicit(first, h)) return true;
      has_coarse = false;
      continue;
    }
    if (substeps_ == hopeless_substeps && !has_coarse && becomes_implicit(first, h)) return true;
    if (has_coarse) {
      const double change = (fine.motion.v - coarse.motion.v).norm() / (1.0 + fine.motion.v.norm()) +
                            (fine.omega - coarse.omega).norm() / (h + fine.omega.norm());
      if (substeps_ == hopeless_substeps && !(change < hopeless_change) && becomes_implicit(first, h)) return true;
      if (change <= substep_tolerance || (change < noise_level && change > 0.1 * previous_change)) break;
      previous_change = change;
    }
    std::swap(coarse, fine);
    has_coarse = true;
  }
  return has_coarse;
}

bool StartUp::fill(method::Method& method, double h, int order, system::Formulation formulation,
                   const StartUpOptions& options, History& history) {
  const bool has_position_form = formulation == system::Formulation::index3;
  const bool corrects = options.corrects_velocity && has_position_form && system_.pattern().position_rows() > 0;
  if (method.is_one_step()) return start_one_step(method, h, corrects, options, history);

  const int points = method.points_needed(order);
  if (points > 1 || corrects) {
    if (!choose_substeps(history[0], h)) return false;
  }
  Entry next = history[0];
  for (int i = 1; i < points; ++i) {
    if (!advance(history[0], h, next)) return false;
    history.push(next);
  }
  method.adopt(history);
  return !corrects || correct_velocities(method, h, order, options, history);
}

/// The defect of the scheme itself on one extra point: l = v(x_exact) - v_k; then v_i += C(q_{k-1}) l. It makes the
/// starting error of v equal to the one the scheme produces, so that λ does not jump (theory: docs/methods/bliedf.md).
bool StartUp::correct_velocities(method::Method& method, double h, int order, const StartUpOptions& options,
                                 History& history) {
  const bool is_printed = options.by == Starting::formula_as_printed;
  Vector defect(omega_.size()), correction(omega_.size());
  if (options.by == Starting::formula || is_printed) {
    if (!defect_by_formula(method, h, order, is_printed, history, defect)) return false;
  } else if (!defect_of_scheme(method, h, order, history, defect)) {
    return false;
  }
  if (!rkmk_.kkt().factorize(history[0].motion)) return false;
  rkmk_.kkt().constrained_part(defect, correction);
  if (!correction.allFinite()) return false;  // the velocity relation of the method has no solution at this step
  for (int age = 0; age < history.size(); ++age) history.edit(age).motion.v += correction;
  return true;
}

/// From v and v̇ of the starting points (Wieloch 2022, eq. 3.58, 3.59; Wieloch & Arnold 2019, eq. 56).
bool StartUp::defect_by_formula(method::Method& method, double h, int order, bool as_printed, const History& history,
                                Vector& defect) {
  std::vector<Vector> derivatives(order + 1, Vector::Zero(defect.size()));
  derivatives[0] = history[0].motion.v;
  if (order >= 1) derivatives[1] = history[0].motion.a;
  for (int j = 2; j <= order; ++j) {
    const std::span<const double> weights = coeff::starting_derivative(j);
    for (std::size_t i = 0; i < weights.size(); ++i)
      derivatives[j] += weights[i] * history[static_cast<int>(i)].motion.v;
    derivatives[j] += (j * h) * history[0].motion.a;
    derivatives[j] /= std::pow(h, j);
  }
  return method.leading_defect(order, h, derivatives, as_printed, defect);
}

bool StartUp::defect_of_scheme(method::Method& method, double h, int order, const History& history, Vector& defect) {
  Entry extra = history[0];
  if (!advance(history[0], h, extra)) return false;
  method.begin_step(history, h, order);
  Vector x(extra.omega.size());
  x = extra.omega / h;
  Motion image = extra.motion;
  const Vector no_shift = Vector::Zero(x.size());
  method.velocity(x, no_shift, image);
  defect = image.v - extra.motion.v;
  return true;
}

bool StartUp::start_one_step(method::Method& method, double h, bool corrects, const StartUpOptions& options,
                             History& history) {
  Entry& first = history.edit(0);
  const Motion centre = first.motion;
  // v̈ by central differences of accelerations along the Taylor polynomial (Arnold, Brüls, Cardona 2015, section 4.2, s = 1), at a
  // corner by one-sided ones of the same order: another corner may follow at the end of the step. `forward` is the
  // alternative of that section, s = 0.01.
  struct Term {
    double at, weight;  ///< in parts of the step
  };
  constexpr std::array<Term, 2> central{{{1.0, 0.5}, {-1.0, -0.5}}}, forward{{{0.0, -1.0}, {1.0, 1.0}}};
  constexpr std::array<Term, 3> one_sided{{{0.0, -1.5}, {1.0, 2.0}, {2.0, -0.5}}};
  const bool is_forward = options.jerk == method::JerkBy::forward;
  const double part = is_forward ? 0.01 * h : looks_back_ ? h : 0.25 * h;
  Vector jerk = Vector::Zero(centre.v.size());
  for (const Term& term : is_forward    ? std::span<const Term>(forward)
                          : looks_back_ ? std::span<const Term>(central)
                                        : std::span<const Term>(one_sided)) {
    const double s = term.at * part;
    if (s == 0.0) {
      jerk += (term.weight / part) * centre.a;
      continue;
    }
    if (!accelerate_beside(first, s)) return false;
    jerk += (term.weight / part) * from_.a;
  }
  Vector defect(centre.v.size()), correction(centre.v.size());
  method.one_step_start(jerk, h, options.shifts_memory, first, defect);
  if (corrects) {
    if (!rkmk_.kkt().factorize(centre)) return false;
    rkmk_.kkt().constrained_part(defect, correction);
    first.motion.v += correction;
  }
  return true;
}

}  // namespace kreisel::run
