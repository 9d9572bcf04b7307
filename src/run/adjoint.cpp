#include "run/adjoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <unordered_map>

#include "corners.hpp"
#include "drive.hpp"
#include "forward.hpp"
#include "kreisel/error.hpp"
#include "lie/coadjoint.hpp"
#include "recording.hpp"
#include "run/integrator.hpp"
#include "run/row_map.hpp"
#include "solve/kkt.hpp"
#include "system/deviation.hpp"

namespace kreisel::run {

using method::Entry;
using method::History;

namespace {

/// Updates at which the linear equations are solved, relative, and with which they are still accepted.
constexpr double solved = 1e-13, solved_badly = 1e-9;
constexpr int most_corrections = 30;
/// Derivatives of a system that deviate from differences by more are not exact.
constexpr double exact = 1e-6;
constexpr int most_checks = 3;
/// Of differences of fourth order.
constexpr double fine_step = 1.0 / 8192.0;

double size_of(const Vector& v) { return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0.0; }

/// A value of Σ weight·output at one point.
struct Wanted {
  std::size_t scalar = 0;
  Eigen::Index output = 0;
  double weight = 0.0;
};

/// What multiplies the changes of a point in one scalar.
struct Weights {
  Vector q, v, a, lambda, omega, memory;

  void resize_for(const Entry& e) {
    for (Vector* x : {&q, &v, &a, &omega}) x->setZero(e.motion.v.size());
    lambda.setZero(e.lambda.size());
    memory.setZero(e.memory.size());
  }
};

/// A neighbour, in p + s or p - s.
struct Near {
  Problem problem;
  std::shared_ptr<const system::System> system;
  Plan plan;
  std::unique_ptr<Stepper> stepper;
  Counters counters;
};

/// Stores what scalars need of the points, and divides a long run by checkpoints.
class Spectator final : public Observer {
 public:
  Spectator(const system::System& layout, Recording& recording, const AdjointOptions& wanted, Observer& next)
      : recording_(recording),
        most_bytes_(wanted.most_bytes),
        includes_motion_(wanted.includes_motion),
        next_(next),
        in_force_(layout),
        outputs_(Vector::Zero(layout.output_size())) {}

  bool accept(const Point& point) override {
    in_force_.evaluate(*point.system, point.entry.motion, point.entry.lambda, outputs_);
    points_.t.push_back(point.entry.motion.t);
    points_.segment.push_back(point.segment);
    values_.insert(values_.end(), outputs_.begin(), outputs_.end());
    if (includes_motion_)
      for (const Vector* x : {&point.entry.motion.q, &point.entry.motion.v, &point.entry.lambda})
        values_.insert(values_.end(), x->begin(), x->end());
    number_.push_back(recording_.shown());
    return next_.accept(point);
  }
  bool goes_on(double t, long steps) override { return next_.goes_on(t, steps); }
  void attempted(const Attempt& attempt) override { next_.attempted(attempt); }
  void happened(const Occurrence& event) override { next_.happened(event); }
  bool wants_checkpoint() override { return recording_.is_going() && recording_.bytes() > most_bytes_; }
  void checkpoint(std::string_view bytes) override {
    sections_.push_back({recording_.next(), std::string(bytes)});
    recording_.forget(0);
  }

  /// Points from `first` on, up to the next section.
  struct Section {
    long first = 0;
    std::string checkpoint;  ///< empty: the start of the run
  };
  const std::vector<Section>& sections() const { return sections_; }
  /// By the number of the point that is shown, that of the recording.
  const std::vector<long>& numbers() const { return number_; }
  RunPoints points() const {
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    RunPoints out = points_;
    const auto count = static_cast<Eigen::Index>(points_.t.size());
    const Eigen::Index width = count > 0 ? static_cast<Eigen::Index>(values_.size()) / count : 0;
    out.outputs = Eigen::Map<const Rows>(values_.data(), count, width);
    return out;
  }

 private:
  Recording& recording_;
  std::size_t most_bytes_;
  bool includes_motion_;
  Observer& next_;
  OutputsInForce in_force_;
  Vector outputs_;
  RunPoints points_;
  std::vector<double> values_;
  std::vector<long> number_;
  std::vector<Section> sections_{{}};
};

class Backward {
 public:
  Backward(const ProblemOf& make, const Vector& parameters, const Options& options, const AdjointOptions& wanted,
           const Problem& nominal, const std::vector<Spell>& spells,
           std::unordered_map<long, std::vector<Wanted>> scalars, Matrix& by)
      : options_(options),
        names_(wanted.names),
        layout_(nominal.system->result_layout()),
        space_(nominal.system->space()),
        spells_(spells),
        scalars_(std::move(scalars)),
        by_(by),
        start_(nominal.start) {
    for (Eigen::Index j = 0; j < parameters.size(); ++j) {
      if (const auto i = static_cast<std::size_t>(j);
          i >= wanted.moves_start_alone.size() || !wanted.moves_start_alone[i])
        in_equations_.push_back(i);
      steps_.push_back(neighbour_step(wanted.scale, parameters, j, Forward::parameter_bits));
      for (int side = 0; side < 2; ++side) {
        Vector p = parameters;
        p[j] += side == 0 ? steps_.back() : -steps_.back();
        Near& near = near_[side].emplace_back();
        near.problem = make(p);
        near.system = made_ready(*near.problem.system, near.problem.start, options);
      }
      deviations_.push_back(system::make_deviation(*near_[0].back().system, *near_[1].back().system));
    }
    const int nv = space_.nv();
    for (Vector* v :
         {&q_, &v_, &a_, &dx_, &ddv_, &u_, &pulled_, &bracket_, &turned_, &turned_for_, &force_[0], &force_[1]})
      v->setZero(nv);
    for (system::Motion& m : motion_) m = system::Motion(space_);
  }

  /// Points of [first, last), last one first. False: see `problem`.
  [[nodiscard]] bool go_back(const Recording& recording, long first, long last, Observer& observer) {
    for (long number = last - 1; number >= first; --number) {
      const Spell& spell = spell_of(number);
      if (&spell != spell_) begin(spell, recording.point(number).entry);
      const bool is_start = number < spell.first + spell.starts;
      if (is_start ? !pull_through_start(recording, number) : !pull_through_step(recording, number)) return false;
      if (!observer.goes_on(recording.point(number).entry.motion.t, ++done_)) {
        problem_ = "interrupted";
        return false;
      }
    }
    return true;
  }
  const std::string& problem() const { return problem_; }

 private:
  std::string name(std::size_t j) const { return j < names_.size() ? names_[j] : fmt::format("{}", j + 1); }
  double part(std::size_t j) const { return 0.5 / steps_[j]; }
  std::size_t scalar_count() const { return static_cast<std::size_t>(by_.rows()); }
  bool fail(std::string why) {
    problem_ = std::move(why);
    return false;
  }

  const Spell& spell_of(long number) const {
    std::size_t i = spells_.size();
    while (spells_[i - 1].first > number) --i;
    return spells_[i - 1];
  }

  void begin(const Spell& spell, const Entry& like) {
    spell_ = &spell;
    const Plan& plan = spell.plan;
    const Options& o = plan.options;
    closer_ = std::make_unique<solve::Closer>(*spell.system, plan.formulation, plan.closeness.newton, counters_);
    method_ = plan.method->make(
        space_, counters_,
        {plan.max_order, o.correction, o.own_correction.get(), o.method.parameters, is_given(o.steps)});
    method_->set_velocity_tolerance(plan.closeness.velocity_tolerance);
    metric_ = solve::stabilization_metric(space_, plan.closeness.newton.length);
    rows_ = std::make_unique<RowMap>(spell.system->pattern(), layout_.pattern());
    all_lambda_.setZero(layout_.pattern().rows());
    metric_weights_.assign(scalar_count(), Vector::Zero(space_.nv()));
    history_ = History(
        space_,
        {static_cast<int>(like.lambda.size()), static_cast<int>(like.eta.size()), static_cast<int>(like.memory.size())},
        plan.max_order + 4);
    for (system::Residual* r : {&residual_[0], &residual_[1], &weight_}) *r = residual_of(*spell.system);
    turn_blocks_ = system::KktBlocks(spell.system->pattern());
    lambda_.setZero(like.lambda.size());
    eta_.setZero(like.eta.size());
  }

  /// The weights of a point, by scalar.
  std::vector<Weights>& weights_at(long number, const Entry& like) {
    std::vector<Weights>& found = weights_[number];
    if (found.empty()) {
      found.resize(scalar_count());
      for (Weights& w : found) w.resize_for(like);
    }
    return found;
  }

  // ---- scalars

  /// Adds what outputs at this point multiply its changes by, and what they change with parameters.
  void add_outputs(long number, const Entry& at, std::vector<Weights>& to) {
    const auto found = scalars_.find(number);
    if (found == scalars_.end()) return;
    const std::vector<Wanted>& wanted = found->second;
    const auto sums = [&](const system::System& system, const system::Motion& m, const Vector& lambda, Vector& out) {
      values_.setZero(layout_.output_size());
      system.evaluate_outputs(m, lambda, values_);
      out.setZero(static_cast<Eigen::Index>(scalar_count()));
      rows_->spread(lambda, all_lambda_);
      const auto value_of = [&](Eigen::Index number) {
        for (const Vector* x : std::initializer_list<const Vector*>{&values_, &m.q, &m.v}) {
          if (number < x->size()) return (*x)[number];
          number -= x->size();
        }
        return all_lambda_[number];
      };
      for (const Wanted& w : wanted) out[static_cast<Eigen::Index>(w.scalar)] += w.weight * value_of(w.output);
    };
    for (const std::size_t j : in_equations_) {
      for (int side = 0; side < 2; ++side) sums(*near_[side][j].system, at.motion, at.lambda, sums_[side]);
      by_.col(static_cast<Eigen::Index>(j)) += part(j) * (sums_[0] - sums_[1]);
    }
    const system::System& system = *spell_->system;
    enum class Kind { position, velocity, acceleration, multiplier };
    const auto moved_by = [&](Kind kind, const Vector& step, Vector& out) {
      system::Motion& m = motion_[0];
      m = at.motion;
      lambda_ = at.lambda;
      switch (kind) {
        case Kind::position:
          space_.move(at.motion.q, step, m.q);
          break;
        case Kind::velocity:
          m.v += step;
          break;
        case Kind::acceleration:
          m.a += step;
          break;
        case Kind::multiplier:
          lambda_ += step;
          break;
      }
      sums(system, m, lambda_, out);
    };
    Vector nominal, other, sides[4];
    sums(system, at.motion, at.lambda, nominal);
    const auto differentiate = [&](Kind kind, double size, int first, int count, Vector& step, auto pick) {
      // Most outputs depend on few bodies: values that a random change leaves the same to the last bit do not depend on it.
      for (int i = 0; i < count; ++i) step[first + i] = size * fine_step * (0.5 + uniform_(random_));
      moved_by(kind, step, other);
      step.segment(first, count).setZero();
      if (other == nominal) return;
      for (int i = first; i < first + count; ++i) {
        const double s = size * fine_step;
        int side = 0;
        for (const double way : {s, -s, 2.0 * s, -2.0 * s}) {
          step[i] = way;
          moved_by(kind, step, sides[side++]);
        }
        step[i] = 0.0;
        other = (8.0 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / (12.0 * s);
        for (std::size_t f = 0; f < scalar_count(); ++f) pick(to[f])[i] += other[static_cast<Eigen::Index>(f)];
      }
    };
    Vector step = Vector::Zero(space_.nv()), of_rows = Vector::Zero(at.lambda.size());
    const double speed = 1.0 + size_of(at.motion.v), acceleration = 1.0 + size_of(at.motion.a);
    for (const lie::Block& b : space_.blocks()) {
      differentiate(Kind::position, 1.0, b.v_at, b.nv, step, [](Weights& w) -> Vector& { return w.q; });
      differentiate(Kind::velocity, speed, b.v_at, b.nv, step, [](Weights& w) -> Vector& { return w.v; });
      differentiate(Kind::acceleration, acceleration, b.v_at, b.nv, step, [](Weights& w) -> Vector& { return w.a; });
    }
    for (const system::RowGroup& group : system.pattern().groups())
      differentiate(Kind::multiplier, 1.0 + size_of(at.lambda), group.at, group.rows, of_rows,
                    [](Weights& w) -> Vector& { return w.lambda; });
  }

  /// Multipliers that follow from q and v alone: their weights become weights of q and v.
  [[nodiscard]] bool pull_through_multipliers(const Entry& at, std::vector<Weights>& to) {
    double size = 0.0;
    for (const Weights& w : to) size = std::max(size, size_of(w.lambda));
    if (size == 0.0) return true;
    const auto multipliers = [&](const system::System& system, const system::Motion& m, Vector& out) {
      system::Motion moved = m;
      out = at.lambda;
      solve::Kkt kkt(system, counters_, options_.linear_solver.name());
      return kkt.accelerate(moved, out);
    };
    Vector sides[4];
    for (const std::size_t j : in_equations_) {
      for (int side = 0; side < 2; ++side)
        if (!multipliers(*near_[side][j].system, at.motion, sides[side]))
          return fail("a neighbouring motion has no multipliers");
      for (std::size_t f = 0; f < to.size(); ++f)
        by_(static_cast<Eigen::Index>(f), static_cast<Eigen::Index>(j)) +=
            part(j) * to[f].lambda.dot(sides[0] - sides[1]);
    }
    Vector step = Vector::Zero(space_.nv());
    for (int kind = 0; kind < 2; ++kind)
      for (int i = 0; i < space_.nv(); ++i) {
        const double s = fine_step * (kind == 0 ? 1.0 : 1.0 + size_of(at.motion.v));
        int side = 0;
        for (const double way : {s, -s, 2.0 * s, -2.0 * s}) {
          system::Motion& m = motion_[0];
          m = at.motion;
          step[i] = way;
          if (kind == 0)
            space_.move(at.motion.q, step, m.q);
          else
            m.v += step;
          if (!multipliers(*spell_->system, m, sides[side++])) return fail("a neighbouring motion has no multipliers");
        }
        step[i] = 0.0;
        const Vector slope = (8.0 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / (12.0 * s);
        for (Weights& w : to) (kind == 0 ? w.q : w.v)[i] += slope.dot(w.lambda);
      }
    for (Weights& w : to) w.lambda.setZero();
    return true;
  }

  // ---- steps

  [[nodiscard]] bool pull_through_step(const Recording& recording, long number) {
    const Recording::Point& point = recording.point(number);
    closed_ = point.entry;
    if (point.closed_lambda.size() > 0) closed_.lambda = point.closed_lambda;
    const double h = closed_.h;
    std::vector<Weights> of_new = std::move(weights_at(number, closed_));
    weights_.erase(number);
    add_outputs(number, point.entry, of_new);
    if (point.closed_lambda.size() > 0 && !pull_through_multipliers(point.entry, of_new)) return false;
    if (point.ends_at_stop && closed_.motion.t < spell_->plan.run_end && !corner_stays(h)) return false;

    const auto is_zero = [](const Weights& w) {
      for (const Vector* x : {&w.q, &w.v, &w.a, &w.lambda, &w.omega, &w.memory})
        if (!x->isZero(0.0)) return false;
      return true;
    };
    if (std::ranges::all_of(of_new, is_zero)) return true;  // behind the last time that counts

    history_.clear();
    const int count = static_cast<int>(std::min<long>(closed_.order + 1, number - spell_->first));
    for (int age = count - 1; age >= 0; --age) {
      pushed_ = recording.point(number - 1 - age).entry;
      history_.push(pushed_);
    }
    x_ = closed_.omega / h;
    method_->begin_step(history_, h, closed_.order);
    if (!method_->has_transposed() || !method_->begin_tangents(closed_.motion))
      return fail(fmt::format("steps of {} with these settings have no transposed", spell_->plan.method->name));
    if (!closer_->linearize_transposed_at(*method_, history_, h, x_, closed_))
      return fail(fmt::format("the matrix of the step to t = {:.6g} is singular", closed_.motion.t));
    if (checks_left_ > 0 && !has_exact_derivatives()) return fail("the derivatives of the equations are not exact");
    has_turning_force_ = closer_->has_eta() && size_of(closed_.eta) > 0.0;

    step_weights_.resize(scalar_count(), residual_of(*spell_->system));
    stabilization_weights_.resize(scalar_count());
    const Entry& like = recording.point(number - 1).entry;
    for (int age = 0; age < count; ++age) weights_at(number - 1 - age, like);
    for (std::size_t f = 0; f < scalar_count(); ++f) {
      if (!solve(of_new[f], h)) return false;
      step_weights_[f] = weight_;
      stabilization_weights_[f] = ddv_;
      std::vector<method::PastWeight> past;
      for (int age = 0; age < count; ++age) {
        Weights& w = weights_.at(number - 1 - age)[f];
        past.push_back({w.omega, w.v, w.memory});
      }
      method_->transpose_past(a_, of_new[f].memory, ddv_, past);
      // δq = δq_n + q_x (δx - [x, δq_n])
      multiply_transposed(closer_->tangent().q_x, q_, pulled_);
      lie::coadjoint(space_, x_, pulled_, bracket_);
      weights_.at(number - 1)[f].q += q_ - bracket_;
    }
    add_parameters();
    return true;
  }

  /// Finds the weights of the left-hand sides with which δx, δλ and δη have none left: weight_, with q_, a_ and ddv_.
  [[nodiscard]] bool solve(const Weights& of_new, double h) {
    for (Vector* r : {&weight_.force, &weight_.gap, &weight_.rate}) r->setZero();
    turned_for_.setZero();
    turned_.setZero();
    double size = 0.0, last = 0.0;
    for (int corrections = 0;; ++corrections) {
      q_ = of_new.q;
      v_ = of_new.v;
      a_ = of_new.a;
      lambda_ = of_new.lambda;
      closer_->subtract_transposed(weight_, q_, v_, a_, lambda_);
      method_->transpose_tangent(v_, a_, of_new.omega, of_new.memory, dx_, ddv_);
      eta_.setZero();
      if (closer_->has_eta()) {
        u_ = ddv_.cwiseProduct(metric_);
        closer_->add_jacobian_product(u_, eta_);
        turn();
        q_ += turned_;
      }
      multiply_transposed(closer_->tangent().q_x, q_, pulled_);
      dx_ += pulled_;
      // A last update below the limit is still included above.
      const bool is_solved = corrections > 0 && (last <= solved * size || last == 0.0);
      if (is_solved) return true;
      before_ = weight_;
      closer_->correct_transposed(h, dx_, lambda_, eta_, weight_);
      const double update = change_of(h), whole = norm_of(weight_, h);
      if (!std::isfinite(update)) return fail("the gradient is not finite");
      size = std::max(whole, std::numeric_limits<double>::min());
      const bool is_round_off = corrections > 1 && update > 0.5 * last && update <= solved_badly * size;
      if (is_round_off || update == 0.0) {
        last = 0.0;
        continue;
      }
      if (corrections >= most_corrections)
        return fail(
            fmt::format("the linear equations of the step to t = {:.6g} could not be solved", closed_.motion.t));
      last = update;
    }
  }

  /// In the scale of the matrix.
  static double norm_of(const system::Residual& w, double h) {
    return std::sqrt(w.force.squaredNorm() / (h * h) + w.gap.squaredNorm() * (h * h) + w.rate.squaredNorm());
  }
  double change_of(double h) {
    before_.force -= weight_.force;
    before_.gap -= weight_.gap;
    before_.rate -= weight_.rate;
    return norm_of(before_, h);
  }

  /// What u · B(q)ᵀη multiplies δq by: ηᵀ (∂B/∂q) u, from the rate of the constraints at v + u.
  void turn() {
    constexpr double near = 1e-10;
    if (!has_turning_force_ || (u_ - turned_for_).norm() <= near * u_.norm()) return;
    turned_for_ = u_;
    const double scale = (1.0 + size_of(closed_.motion.v)) / std::max(size_of(u_), 1e-300);
    system::Motion& m = motion_[0];
    m = closed_.motion;
    m.v += scale * u_;
    const system::System& system = *spell_->system;
    system.linearize(m, closed_.lambda, turn_blocks_);
    turned_.setZero();
    for (const system::Pattern::Touch& touch : system.pattern().touches()) {
      const system::RowGroup& group = system.pattern().groups()[static_cast<std::size_t>(touch.group)];
      const lie::Block& block = space_.blocks()[static_cast<std::size_t>(touch.block)];
      if (group.level != system::RowLevel::position) continue;
      const ConstMatrixMap there(turn_blocks_.H.data() + touch.at, group.rows, block.nv),
          here(closer_->linearization().H.data() + touch.at, group.rows, block.nv);
      turned_.segment(block.v_at, block.nv) +=
          (there - here).transpose().lazyProduct(closed_.eta.segment(group.at, group.rows)) / scale;
    }
  }

  /// out = Aᵀ x, A block diagonal.
  void multiply_transposed(const Vector& A, const Vector& x, Vector& out) const {
    for (const lie::Block& b : space_.blocks())
      out.segment(b.v_at, b.nv).noalias() =
          ConstMatrixMap(A.data() + b.matrix_at, b.nv, b.nv).transpose().lazyProduct(x.segment(b.v_at, b.nv));
  }

  /// The change of the left-hand sides and of W Bᵀη with every parameter.
  void add_parameters() {
    const bool stabilizes = closer_->has_eta() && size_of(closed_.eta) > 0.0;
    if (stabilizes) {
      force_[0].setZero();
      closer_->add_constraint_force(closed_.eta, force_[0]);
      weighed_stabilization_.resize(scalar_count());
      for (std::size_t f = 0; f < scalar_count(); ++f) {
        metric_weights_[f] += stabilization_weights_[f].cwiseProduct(force_[0]);
        weighed_stabilization_[f] = stabilization_weights_[f].cwiseProduct(metric_);
      }
    }
    const auto product = [](const std::vector<system::Deviation::Range>& ranges, const Vector& a, const Vector& b) {
      double sum = 0.0;
      for (const auto& [at, size] : ranges)
        for (int i = at; i < at + size; ++i) sum += a[i] * b[i];
      return sum;
    };
    system::Residual& change = residual_[0];
    for (const std::size_t j : in_equations_) {
      system::Deviation& deviation = *deviations_[j];
      if (deviation.is_zero()) continue;
      deviation.residual(closed_.motion, closed_.lambda, part(j), change);
      const bool turns = stabilizes && deviation.has_rows();
      if (turns) deviation.constraint_force(closed_.motion, closed_.eta, part(j), force_[0]);
      for (std::size_t f = 0; f < scalar_count(); ++f) {
        const system::Residual& w = step_weights_[f];
        double sum = -product(deviation.force(), w.force, change.force) - product(deviation.gap(), w.gap, change.gap) -
                     product(deviation.rate(), w.rate, change.rate);
        if (turns) sum += product(deviation.force(), weighed_stabilization_[f], force_[0]);
        by_(static_cast<Eigen::Index>(f), static_cast<Eigen::Index>(j)) += sum;
      }
    }
  }

  /// Compares the linearisation with differences along random changes.
  bool has_exact_derivatives() {
    --checks_left_;
    const system::System& system = *spell_->system;
    const system::Motion& at = closed_.motion;
    const auto random = [&](Eigen::Index n, double size) {
      Vector x(n);
      for (double& y : x) y = size * (2.0 * uniform_(random_) - 1.0);
      return x;
    };
    const Vector none = Vector::Zero(space_.nv()), no_rows = Vector::Zero(closed_.lambda.size());
    for (int kind = 0; kind < 4; ++kind) {
      const Vector dq = kind == 0 ? random(none.size(), 1.0) : none,
                   dv = kind == 1 ? random(none.size(), 1.0 + size_of(at.v)) : none,
                   da = kind == 2 ? random(none.size(), 1.0 + size_of(at.a)) : none,
                   dlambda = kind == 3 ? random(no_rows.size(), 1.0 + size_of(closed_.lambda)) : no_rows;
      system::Residual by_blocks = residual_of(system), sides[2] = {by_blocks, by_blocks};
      closer_->add_changes(dq, dv, da, dlambda, by_blocks);
      constexpr double step = 1.0 / 131072.0;
      for (int side = 0; side < 2; ++side) {
        const double s = side == 0 ? step : -step;
        system::Motion& m = motion_[0];
        m = at;
        bracket_ = s * dq;
        space_.move(at.q, bracket_, m.q);
        m.v += s * dv;
        m.a += s * da;
        lambda_ = closed_.lambda + s * dlambda;
        system.residual(m, lambda_, sides[side]);
      }
      const auto agree = [&](const Vector& a, const Vector& plus, const Vector& minus) {
        const Vector b = (0.5 / step) * (plus - minus);
        const double noise = 1e-14 * (size_of(plus) + size_of(minus)) / step;
        return size_of(Vector(a - b)) <= exact * std::max(size_of(a), size_of(b)) + noise;
      };
      if (!agree(by_blocks.force, sides[0].force, sides[1].force) ||
          !agree(by_blocks.gap, sides[0].gap, sides[1].gap) || !agree(by_blocks.rate, sides[0].rate, sides[1].rate))
        return false;
    }
    return true;
  }

  /// Whether the corner at which the step ends is at the same time for every parameter.
  [[nodiscard]] bool corner_stays(double h) {
    const double from = closed_.motion.t - h;
    for (const std::size_t j : in_equations_) {
      Stop ahead[2];
      for (int side = 0; side < 2; ++side) {
        const Near& near = near_[side][j];
        ahead[side] = Corners(*near.system, spell_->plan.options, spell_->plan.t0, spell_->plan.t_end)
                          .ahead(from, h * (1.0 + 1e-3));
      }
      if (ahead[0].is_corner != ahead[1].is_corner || ahead[0].t != ahead[1].t)
        return fail(fmt::format("the corner at t = {:.6g} moves with '{}'", closed_.motion.t, name(j)));
    }
    return true;
  }

  // ---- starts

  /// Σ weights · changes of the starting points, by scalar.
  Vector sums_of(const Recording& recording, const History& points, long newest) {
    Vector sum = Vector::Zero(static_cast<Eigen::Index>(scalar_count()));
    Vector way(space_.nv());
    for (int age = 0; age < points.size(); ++age) {
      const Entry &nominal = recording.point(newest - age).entry, &moved = points[age];
      space_.difference(nominal.motion.q, moved.motion.q, way);
      for (std::size_t f = 0; f < scalar_count(); ++f) {
        const Weights& w = weights_.at(newest - age)[f];
        sum[static_cast<Eigen::Index>(f)] +=
            w.q.dot(way) + w.v.dot(moved.motion.v - nominal.motion.v) + w.a.dot(moved.motion.a - nominal.motion.a) +
            w.lambda.dot(moved.lambda - nominal.lambda) + w.omega.dot(moved.omega - nominal.omega) +
            w.memory.dot(moved.memory - nominal.memory);
      }
    }
    return sum;
  }

  Vector sums_of_metric(const Plan& plan) const {
    const Vector metric = solve::stabilization_metric(space_, plan.closeness.newton.length);
    Vector sum(static_cast<Eigen::Index>(scalar_count()));
    for (std::size_t f = 0; f < scalar_count(); ++f) sum[static_cast<Eigen::Index>(f)] = metric_weights_[f].dot(metric);
    return sum;
  }

  [[nodiscard]] bool pull_through_start(const Recording& recording, long number) {
    add_outputs(number, recording.point(number).entry, weights_at(number, recording.point(number).entry));
    if (number > spell_->first) return true;
    const long newest = number + spell_->starts - 1;
    const Entry& first = recording.point(number).entry;
    const bool is_first = spell_ == spells_.data();
    system::Start from{first.motion.t, spell_->plan.run_end, first.motion.q, first.motion.v};
    // Each neighbour begins at its own initial values, and behind a corner at those of the run. Null: see problem_.
    const auto started = [&](const system::System& system, const system::Start& start, Plan& plan,
                             std::unique_ptr<Stepper>& stepper, Counters& counters) -> const History* {
      StartingPoints wanted = spell_->wanted;
      if (!wanted.are_wanted && system.pattern().is_all_dynamic()) {
        // One point, whose accelerations follow from the equations: no method is needed.
        pushed_ = first;
        pushed_.motion.q = start.q0;
        pushed_.motion.v = start.v0;
        pushed_.motion.a.setZero();
        pushed_.lambda.setZero();
        solve::Kkt kkt(system, counters, options_.linear_solver.name());
        if (kkt.accelerate(pushed_.motion, pushed_.lambda)) {
          history_.clear();
          history_.push(pushed_);
          return &history_;
        }
      } else {
        if (!plan.has_error_control()) wanted.h = plan.h, wanted.t_end = plan.t_end;
        stepper = make_stepper(plan, system, counters);
        if (stepper->place(start) && stepper->fill(wanted))
          return &static_cast<const ImplicitStepper&>(*stepper).history();
      }
      static_cast<void>(fail("the start of a neighbouring motion failed"));
      return nullptr;
    };
    std::vector<std::size_t> moving = in_equations_;
    if (is_first) {
      moving.resize(steps_.size());
      std::iota(moving.begin(), moving.end(), std::size_t{0});
    }
    for (const std::size_t j : moving) {
      Vector sides[2];
      for (int side = 0; side < 2; ++side) {
        Near& near = near_[side][j];
        const system::Start& start = is_first ? near.problem.start : from;
        plan_of(near, start);
        if (near.plan.step_count != spell_->plan.step_count || near.plan.h != spell_->plan.h)
          return fail(fmt::format("the steps change with '{}'", name(j)));
        const History* points = started(*near.system, start, near.plan, near.stepper, near.counters);
        if (points == nullptr) return false;
        if (points->size() != spell_->starts) return fail("neighbouring motions start differently");
        sides[side] = sums_of(recording, *points, newest) + sums_of_metric(near.plan);
        near.stepper.reset();
      }
      by_.col(static_cast<Eigen::Index>(j)) += part(j) * (sides[0] - sides[1]);
    }
    if (!is_first) {
      // Behind a corner the method starts from q and v of the point before it.
      std::vector<Weights>& before = weights_at(number - 1, first);
      Plan plan = spell_->plan;
      std::unique_ptr<Stepper> stepper;
      Vector step = Vector::Zero(space_.nv()), sides[4];
      for (int kind = 0; kind < 2; ++kind)
        for (int i = 0; i < space_.nv(); ++i) {
          const double s = fine_step * (kind == 0 ? 1.0 : 1.0 + size_of(first.motion.v));
          int side = 0;
          for (const double way : {s, -s, 2.0 * s, -2.0 * s}) {
            system::Start start = from;
            step[i] = way;
            if (kind == 0)
              space_.move(from.q0, step, start.q0);
            else
              start.v0 += step;
            const History* points = started(*spell_->system, start, plan, stepper, counters_);
            if (points == nullptr) return false;
            sides[side++] = sums_of(recording, *points, newest) +
                            sums_of_metric(make_plan(spell_->options, *spell_->system, start));
          }
          step[i] = 0.0;
          const Vector slope = (8.0 * (sides[0] - sides[1]) - (sides[2] - sides[3])) / (12.0 * s);
          for (std::size_t f = 0; f < scalar_count(); ++f)
            (kind == 0 ? before[f].q : before[f].v)[i] += slope[static_cast<Eigen::Index>(f)];
        }
    }
    for (long i = number; i <= newest; ++i) weights_.erase(i);
    return true;
  }

  void plan_of(Near& near, const system::Start& start) const {
    near.plan = make_plan(spell_->options, *near.system, start);
    if (spell_->ends_at_corner) end_at_corner(near.plan, *near.system);
  }

 public:
  /// Empty: every neighbour has the coordinates and rows of the run.
  std::string other_layout(const system::System& system) const {
    for (std::size_t j = 0; j < steps_.size(); ++j)
      for (const auto& side : near_) {
        const system::System& other = *side[j].system;
        if (other.space().nq() != space_.nq() || other.space().nv() != space_.nv() ||
            other.pattern().rows() != system.pattern().rows() || other.output_size() != layout_.output_size())
          return fmt::format(
              "'{}' changes the number of coordinates, constraints or outputs; there is no derivative with respect to "
              "it",
              name(j));
      }
    return {};
  }

 private:
  const Options& options_;
  const std::vector<std::string>& names_;
  const system::System& layout_;
  const lie::Space& space_;
  const std::vector<Spell>& spells_;
  const std::unordered_map<long, std::vector<Wanted>> scalars_;
  Matrix& by_;
  const system::Start& start_;
  std::vector<double> steps_;
  std::vector<std::size_t> in_equations_;  ///< parameters that change them
  std::array<std::vector<Near>, 2> near_;
  std::vector<std::unique_ptr<system::Deviation>> deviations_;  ///< of one neighbour from the other
  std::unordered_map<long, std::vector<Weights>> weights_;
  std::string problem_;
  int checks_left_ = most_checks;
  long done_ = 0;
  std::mt19937 random_{1};
  std::uniform_real_distribution<double> uniform_{0.0, 1.0};

  // of the spell
  const Spell* spell_ = nullptr;
  Counters counters_;
  std::unique_ptr<solve::Closer> closer_;
  std::unique_ptr<method::Method> method_;
  std::unique_ptr<RowMap> rows_;
  Vector metric_, all_lambda_;
  std::vector<Vector> metric_weights_;  ///< what multiplies changes of the metric, which follows from the start
  History history_;

  // of the step
  Entry closed_, pushed_;
  Vector x_;
  bool has_turning_force_ = false;
  std::vector<system::Residual> step_weights_;
  std::vector<Vector> stabilization_weights_, weighed_stabilization_;
  system::Residual weight_, before_, residual_[2];
  system::KktBlocks turn_blocks_;
  system::Motion motion_[2];
  Vector q_, v_, a_, lambda_, eta_, dx_, ddv_, u_, pulled_, bracket_, turned_, turned_for_, force_[2], values_,
      sums_[2];
};

}  // namespace

Gradients differentiate_backwards(const ProblemOf& make, const Vector& parameters, const Options& given,
                                  const AdjointOptions& wanted, const ScalarsOf& scalars, Observer& observer) {
  Options options = given;
  options.output_step = 0.0;  // every step is needed
  options.output_times.clear();
  const Problem problem = make(parameters);
  options.events.insert(options.events.end(), problem.events.begin(), problem.events.end());
  refuse_what_cannot_run(*problem.system, problem.start, options);
  Gradients out;
  const auto refuse = [&](const std::string& why) {
    out.obstacle = why;
    out.problem = fmt::format("the adjoint does not serve this run: {}. Derivatives without it do", why);
    return out;
  };
  std::vector<Spell> spells;
  Recording recording(spells, 0);
  if (!options.project_position_at.empty() || !options.project_velocity_at.empty())
    recording.stop("it projects at given times");
  Spectator spectator(problem.system->result_layout(), recording, wanted, observer);
  Drive drive(*problem.system, problem.start, options, spectator, {}, nullptr, nullptr, &recording);
  drive.advance_to(std::numeric_limits<double>::infinity());
  out.report = drive.report();
  out.points = spectator.points();
  if (out.report.status != Status::success) return out;
  if (!recording.is_going()) return refuse(recording.obstacle());
  if (spells.empty()) return refuse("it has no steps");
  for (const Spell& spell : spells) {
    Counters unused;
    const solve::Closer closer(*spell.system, spell.plan.formulation, spell.plan.closeness.newton, unused);
    if (closer.is_rank_revealing()) return refuse("constraints are redundant");
    if (!closer.closes_with_residuals()) return refuse("accelerations are constrained");
  }

  const std::vector<std::vector<OutputTerm>> terms = scalars(out.points);
  out.values = Vector::Zero(static_cast<Eigen::Index>(terms.size()));
  out.by = Matrix::Zero(out.values.size(), parameters.size());
  std::unordered_map<long, std::vector<Wanted>> by_number;
  for (std::size_t f = 0; f < terms.size(); ++f)
    for (const OutputTerm& term : terms[f]) {
      out.values[static_cast<Eigen::Index>(f)] +=
          term.weight * out.points.outputs(static_cast<Eigen::Index>(term.point), term.output);
      if (term.weight != 0.0) by_number[spectator.numbers()[term.point]].push_back({f, term.output, term.weight});
    }

  Backward backward(make, parameters, options, wanted, problem, spells, std::move(by_number), out.by);
  if (std::string other = backward.other_layout(*spells.front().system); !other.empty()) throw InvalidInput(other);
  const std::vector<Spectator::Section>& sections = spectator.sections();
  for (std::size_t i = sections.size(); i-- > 0;) {
    const long last = i + 1 < sections.size() ? sections[i + 1].first : recording.next();
    if (i + 1 == sections.size() && i == 0) {
      if (!backward.go_back(recording, 0, last, observer)) return refuse(backward.problem());
      continue;
    }
    // From its checkpoint on, bitwise as before.
    Recording again(spells, sections[i].first);
    Observer nobody;
    const std::optional<std::string_view> checkpoint =
        sections[i].checkpoint.empty() ? std::nullopt : std::optional<std::string_view>(sections[i].checkpoint);
    Drive part(*problem.system, problem.start, options, nobody, checkpoint, nullptr, nullptr, &again);
    while (again.next() < last && part.step()) ++out.repeated_steps;
    if (again.next() < last) return refuse("it could not be repeated from a checkpoint");
    if (!backward.go_back(again, sections[i].first, last, observer)) return refuse(backward.problem());
  }
  return out;
}

}  // namespace kreisel::run
