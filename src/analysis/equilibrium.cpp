#include "kreisel/analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "analysis/static_matrix.hpp"
#include "base/decompositions.hpp"
#include "kreisel/check.hpp"
#include "lie/group_info.hpp"
#include "lie/se3.hpp"
#include "solve/kkt.hpp"
#include "system/consistency.hpp"
#include "system/dense.hpp"
#include "system/limits.hpp"

namespace kreisel::analysis {
namespace {

using system::CoordinateKind;
using system::Motion;
using system::Pattern;
using system::System;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// Longest step of one iteration, in radians and in sizes of the mechanism.
constexpr double longest_way = 0.5;
/// Translations that proceed as foreseen get longer, up to this many times.
constexpr double farthest = 1e4;
/// Force along the step, after it relative to before: below -`overshoot` the step is rejected, within `good` the
/// damping falls faster.
constexpr double overshoot = 0.8, good = 0.5;
constexpr double easing = 0.1, tightening = 5.0;

/// The open limit that is violated most, in units of round-off of its gap; -1: none.
int passed_limit(const system::LimitedSystem& limits, const Motion& m) {
  int worst = -1;
  double furthest = -system::start_tolerance;
  for (int i = 0; i < limits.limit_count(); ++i) {
    if (!limits.is_in_force(i) || limits.is_closed(i)) continue;
    const double gap = limits.gap(i, m).value / limits.round_off_of_gap(i, m);
    if (gap < furthest) {
      furthest = gap;
      worst = i;
    }
  }
  return worst;
}

class Descent {
 public:
  Descent(const System& system, const system::Start& start, const EquilibriumOptions& options)
      : system_(system),
        pattern_(system.pattern()),
        blocks_(system.space().blocks()),
        nv_(system.space().nv()),
        rows_(pattern_.rows()),
        kkt_blocks_(pattern_),
        residual_(nv_, pattern_.position_rows(), rows_),
        trial_residual_(residual_),
        at_begin_(residual_),
        kkt_(system, counters_, options.linear_solver),
        options_(options),
        matrix_(system, options.linear_solver),
        limits_(dynamic_cast<const system::LimitedSystem*>(&system)) {
    out_.motion = Motion(system.space());
    out_.motion.t = start.t0;
    out_.motion.q = start.q0;
    out_.lambda = Vector::Zero(rows_);
    length_ = system::length_scale(system, out_.motion);
    update_.setZero(nv_ + rows_);
    way_.setZero(nv_);
    follows_.assign(blocks_.size(), false);
  }

  /// The limit at which the descent ended; -1: none.
  int passed() const { return passed_; }

  Equilibrium run() {
    if (!begin()) return out_;
    for (; out_.iterations < options_.max_iterations; ++out_.iterations) {
      evaluate(out_.motion, out_.lambda, residual_);
      if (!residual_.force.allFinite()) return fail("the forces are not finite at the positions reached");
      system_.linearize(out_.motion, out_.lambda, kkt_blocks_);
      if (!is_kept(residual_)) return fail_for_rate();
      if (is_balanced()) {
        out_.is_found = true;
        return out_;
      }
      if (!descend()) {
        if (is_nearly_balanced()) {
          out_.is_found = true;
          return out_;
        }
        return fail(fmt::format("no further descent possible: {}", in_words()));
      }
      if (limits_ != nullptr) {
        passed_ = passed_limit(*limits_, out_.motion);
        if (passed_ >= 0) return fail(fmt::format("limit '{}' is violated", limits_->limit_name(passed_)));
      }
    }
    return fail(fmt::format("none found within {} iterations: {}", options_.max_iterations, in_words()));
  }

 private:
  void evaluate(Motion& m, const Vector& lambda, system::Residual& out) {
    m.v.setZero();
    m.a.setZero();
    system_.residual(m, lambda, out);
  }

  bool begin() {
    Motion& m = out_.motion;
    if (!kkt_.factorize(m) || !kkt_.project_position(m))
      return fail("the positions do not satisfy the constraints, and moving them did not help; try --assemble"), false;
    // The accelerations from rest say how far a step may go, and give the first multipliers.
    Motion at_rest = m;
    at_rest.v.setZero();
    if (!kkt_.accelerate(at_rest, out_.lambda))
      return fail("[M B'; B 0] is singular at the start; 'kreisel check' names the cause"), false;
    damping_ = 0.0;
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      if (pattern_.kind(static_cast<int>(b)) == CoordinateKind::dynamic)
        damping_ = std::max(damping_, way_of(b, at_rest.a) / longest_way);
    return true;
  }

  static bool is_rotation(const lie::Block& block, int i) { return i >= lie::translations_of(block); }

  /// How far an update moves a factor, in radians or sizes of the mechanism.
  double way_of(std::size_t b, const Vector& x) const {
    const lie::Block& block = blocks_[b];
    if (block.group == lie::GroupId::rn)
      return x.segment(block.v_at, block.nv).norm() /
             (reach_ * std::max(length_, out_.motion.q.segment(block.q_at, block.nv).norm()));
    const int n = lie::translations_of(block);
    return std::max(x.segment(block.v_at + n, block.nv - n).norm(),
                    x.segment(block.v_at, n).norm() / (reach_ * length_));
  }

  /// The rates of states that only add up motion, and of nonholonomic rows, must vanish at rest by themselves.
  bool is_kept(const system::Residual& r) {
    follows_ = followers(system_, kkt_blocks_);
    moving_.clear();
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      if (follows_[b] && r.force.segment(blocks_[b].v_at, blocks_[b].nv).lpNorm<Eigen::Infinity>() > 1e-12)
        moving_ = pattern_.block_name(static_cast<int>(b));
    for (int row = pattern_.position_rows(); row < rows_; ++row)
      if (std::abs(r.rate[row]) > 1e-12) moving_ = pattern_.row_name(row);
    return moving_.empty();
  }

  /// Unbalanced beyond round-off of the terms: stiffness times size, and constraint forces.
  bool is_balanced() {
    noise_.setZero(nv_);
    for (const Pattern::Coupling& c : pattern_.couplings()) {
      const lie::Block &row = blocks_[c.row], &column = blocks_[c.column];
      const Eigen::Map<const Matrix> K(kkt_blocks_.K.data() + c.at, row.nv, column.nv);
      const int translations = lie::translations_of(column);
      const double reach = std::max(length_, out_.motion.q.segment(column.q_at, translations).norm());
      for (int j = 0; j < column.nv; ++j)
        noise_.segment(row.v_at, row.nv) += (j < translations ? reach : 1.0) * K.col(j).cwiseAbs();
    }
    for (const Pattern::Touch& t : pattern_.touches()) {
      const lie::Block& block = blocks_[t.block];
      const system::RowGroup& group = pattern_.groups()[t.group];
      const Eigen::Map<const Matrix> F(kkt_blocks_.F.data() + t.at, block.nv, group.rows);
      noise_.segment(block.v_at, block.nv) += F.cwiseAbs() * out_.lambda.segment(group.at, group.rows).cwiseAbs();
    }
    // Joints propagate round-off: the largest force counts for all, for torques times the size of the mechanism.
    double of_forces = std::numeric_limits<double>::min(), of_torques = of_forces;
    for (const lie::Block& block : blocks_)
      for (int i = 0; i < block.nv; ++i)
        (is_rotation(block, i) ? of_torques : of_forces) =
            std::max(is_rotation(block, i) ? of_torques : of_forces, noise_[block.v_at + i]);
    of_torques = std::max(of_torques, length_ * of_forces);
    of_forces = std::max(of_forces, of_torques / length_);
    excess_ = 0.0;
    worst_ = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (follows_[b]) continue;
      for (int i = 0; i < blocks_[b].nv; ++i) {
        const double allowed = 16.0 * epsilon * (is_rotation(blocks_[b], i) ? of_torques : of_forces);
        const int row = blocks_[b].v_at + i;
        if (const double part = std::abs(residual_.force[row]) / allowed; !(part <= excess_)) {
          excess_ = part;
          worst_ = row;
        }
      }
    }
    const bool gap_is_closed =
        residual_.gap.size() == 0 || residual_.gap.lpNorm<Eigen::Infinity>() <= 1e3 * epsilon * std::max(1.0, length_);
    return excess_ <= 1.0 && gap_is_closed;
  }

  /// Where iterations no longer help, the rest is round-off of forces that cancel.
  bool is_nearly_balanced() const { return excess_ <= 1e4; }

  bool factorize() {
    return matrix_.factorize(kkt_blocks_, [&](int b) -> StaticMatrix::Weights {
      switch (pattern_.kind(b)) {
        case CoordinateKind::dynamic:
          return {.m = damping_};
        case CoordinateKind::state:
          return follows_[static_cast<std::size_t>(b)] ? StaticMatrix::Weights{.d = 1.0, .k = 0.0}
                                                       : StaticMatrix::Weights{.d = std::sqrt(damping_)};
        case CoordinateKind::algebraic:
          break;
      }
      return {};
    });
  }

  /// One accepted step. False when none is short enough.
  bool descend() {
    constexpr int most_attempts = 60;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      if (!factorize()) {
        stiffen();
        continue;
      }
      update_.head(nv_) = -residual_.force;
      for (std::size_t b = 0; b < blocks_.size(); ++b)
        if (follows_[b]) update_.segment(blocks_[b].v_at, blocks_[b].nv).setZero();
      update_.segment(nv_, rows_).setZero();
      update_.segment(nv_, pattern_.position_rows()) = -residual_.gap;
      matrix_.solve(update_);
      if (!update_.allFinite()) {
        stiffen();
        continue;
      }
      step_ = update_.head(nv_);
      double way = 0.0;
      for (std::size_t b = 0; b < blocks_.size(); ++b)
        if (!follows_[b]) way = std::max(way, way_of(b, step_));
      const double part = std::min(1.0, longest_way / way);
      step_ *= part;
      const double force = -work_of(residual_.force);
      // Downhill only where s M + K is positive on ker B.
      if (force < 0.0 && way > 1e-9) {
        reject();
        continue;
      }
      trial_ = out_.motion;
      move();
      trial_lambda_ = out_.lambda + part * update_.segment(nv_, rows_);
      if (!close_gap()) {
        reject();
        continue;
      }
      evaluate(trial_, trial_lambda_, trial_residual_);
      const double left = -work_of(trial_residual_.force);
      if (!trial_residual_.force.allFinite() || (way > 1e-9 && (left < -overshoot * force || is_uphill(force)))) {
        reject();
        continue;
      }
      if (way <= 1e-9 && trial_residual_.force.norm() >= 0.5 * residual_.force.norm()) {
        if (++idle_ > 3) return false;
      } else {
        idle_ = 0;
      }
      if (part == 1.0)
        damping_ *= std::abs(left) <= good * force ? easing : 0.5;
      else if (left > good * force && left < 2.0 * force)
        reach_ = std::min(2.0 * reach_, farthest);
      if (damping_ < 1e-13 * stiffness()) damping_ = 0.0;
      out_.motion.q = trial_.q;
      out_.lambda = trial_lambda_;
      return true;
    }
    return false;
  }

  /// Moves every body along a screw, on both groups: bodies that turn about one axis keep their distances, so that
  /// stiff forces between them do not change.
  void move() {
    system_.space().move(out_.motion.q, step_, trial_.q);
    for (const lie::Block& block : blocks_) {
      if (block.group != lie::GroupId::r3xso3) continue;
      lie::SE3::Tangent twist = step_.segment<6>(block.v_at);
      const lie::SE3::Point from = out_.motion.q.segment<7>(block.q_at);
      twist.head<3>() = lie::rotate_back(from.data() + 3, twist.head<3>());
      trial_.q.segment<7>(block.q_at) = lie::SE3::compose(from, lie::SE3::exp(twist));
    }
  }

  void reject() {
    reach_ = std::max(1.0, 0.25 * reach_);
    stiffen();
  }

  /// Whether the mean of the forces at both ends, with the same multipliers, was overcome by more than a part of what the step promised: closing
  /// the gaps may stretch stiff springs of which the forces along the step know nothing.
  bool is_uphill(double force) {
    constexpr double part = 0.2, round_off = 64.0 * epsilon;
    system_.space().difference(out_.motion.q, trial_.q, way_);
    evaluate(out_.motion, trial_lambda_, at_begin_);
    const double work = -0.5 * (work_of(at_begin_.force, way_) + work_of(trial_residual_.force, way_));
    const double terms = work_of(at_begin_.force.cwiseAbs(), way_.cwiseAbs());
    return work < -part * force - round_off * terms;
  }

  double work_of(const Vector& force) const { return work_of(force, step_); }
  double work_of(const Vector& force, const Vector& way) const {
    double work = 0.0;
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      if (pattern_.kind(static_cast<int>(b)) == CoordinateKind::dynamic)
        work += force.segment(blocks_[b].v_at, blocks_[b].nv).dot(way.segment(blocks_[b].v_at, blocks_[b].nv));
    return work;
  }

  /// The constraint violation grows with the square of the step.
  bool close_gap() {
    if (pattern_.position_rows() == 0) return true;
    system_.constraints(trial_, trial_lambda_, trial_residual_);
    if (trial_residual_.gap.lpNorm<Eigen::Infinity>() <= 1e-9 * length_) return true;
    return kkt_.factorize(trial_) && kkt_.project_position(trial_);
  }

  /// The largest K/M on the diagonal.
  double stiffness() const {
    double largest = 0.0;
    for (const Pattern::Coupling& c : pattern_.couplings()) {
      if (c.row != c.column || pattern_.kind(c.row) != CoordinateKind::dynamic) continue;
      const int n = blocks_[c.row].nv;
      for (int i = 0; i < n; ++i) {
        const int at = c.at + i * (n + 1);
        if (kkt_blocks_.M[at] > 0.0) largest = std::max(largest, std::abs(kkt_blocks_.K[at]) / kkt_blocks_.M[at]);
      }
    }
    return largest;
  }

  void stiffen() { damping_ = std::max(tightening * damping_, 1e-10 * (stiffness() + 1e-12)); }

  std::string in_words() const {
    std::size_t b = blocks_.size() - 1;
    while (b > 0 && worst_ < blocks_[b].v_at) --b;
    return fmt::format("'{}' has an unbalanced force of {:.3g} (N or N m); does anything hold it?",
                       pattern_.block_name(static_cast<int>(b)), std::abs(residual_.force[worst_]));
  }

  Equilibrium fail(std::string message) {
    out_.message = std::move(message);
    return out_;
  }
  Equilibrium fail_for_rate() {
    return fail(fmt::format("{} moves while everything else is at rest; there is no equilibrium", moving_));
  }

  const System& system_;
  const Pattern& pattern_;
  const std::vector<lie::Block>& blocks_;
  const int nv_, rows_;
  system::KktBlocks kkt_blocks_;
  system::Residual residual_, trial_residual_, at_begin_;
  Counters counters_;
  solve::Kkt kkt_;
  EquilibriumOptions options_;
  StaticMatrix matrix_;
  std::vector<bool> follows_;  ///< per factor
  Vector update_, step_, way_, noise_, trial_lambda_;
  Motion trial_;
  Equilibrium out_;
  std::string moving_;
  const system::LimitedSystem* limits_;  ///< null: none
  double reach_ = 1.0;                   ///< of translations in one step, in parts of longest_way
  double length_ = 1.0, damping_ = 0.0, excess_ = 0.0;
  int worst_ = 0, idle_ = 0, passed_ = -1;
};

/// Unit direction in which the energy has a maximum at an equilibrium, by K on ker B; empty: none, or too many
/// coordinates to search.
Vector way_out(const System& system, const Equilibrium& found) {
  constexpr int most_coordinates = 300;
  constexpr double round_off = 1e-9;
  const int nv = system.space().nv();
  if (nv > most_coordinates) return {};
  system::KktBlocks blocks(system.pattern());
  system.linearize(found.motion, found.lambda, blocks);
  Matrix B = system::dense_rows(system, blocks.B);
  const Matrix K = system::dense_coupling(system, blocks.K);
  for (std::size_t b = 0; b < system.space().blocks().size(); ++b) {
    if (system.pattern().kind(static_cast<int>(b)) == CoordinateKind::dynamic) continue;
    // Counted angles do not change the energy; other states may.
    const lie::Block& block = system.space().blocks()[b];
    if (!K.middleRows(block.v_at, block.nv).isZero(0.0) || !K.middleCols(block.v_at, block.nv).isZero(0.0)) return {};
    const auto rows = B.rows();
    B.conservativeResize(rows + block.nv, Eigen::NoChange);
    B.bottomRows(block.nv).setZero();
    B.block(rows, block.v_at, block.nv, block.nv).setIdentity();
  }
  const Matrix N = B.rows() == 0 ? Matrix::Identity(nv, nv) : kernel_of(B);
  // Without degrees of freedom the kernel is a single zero column.
  if (N.isZero(0.0)) return {};
  const Matrix basis = orthonormal_columns(N);
  const Matrix stiffness = basis.transpose() * K * basis;
  const auto eigen = symmetric_eigen(Matrix(0.5 * (stiffness + stiffness.transpose())));
  const Vector& values = eigen.values;
  if (values[0] >= -round_off * values.cwiseAbs().maxCoeff()) return {};
  return basis * eigen.vectors.col(0);
}

/// Descends, and continues from unstable equilibria: a start without a force in some direction ends on a saddle.
Equilibrium settle(const System& system, system::Start from, const EquilibriumOptions& options, int& passed) {
  constexpr int most_saddles = 5;
  int iterations = 0;
  for (int saddle = 0;; ++saddle) {
    Descent descent(system, from, options);
    Equilibrium found = descent.run();
    passed = descent.passed();
    const bool is_start = found.iterations == 0 && saddle == 0;
    iterations += found.iterations;
    found.iterations = iterations;
    if (!found.is_found || is_start || saddle == most_saddles) return found;
    const Vector out = way_out(system, found);
    if (out.size() == 0) return found;
    // A tenth of a radian, or of the size of the mechanism.
    const double size =
        0.1 / (out.lpNorm<Eigen::Infinity>() * std::max(1.0, 1.0 / system::length_scale(system, found.motion)));
    const Vector step = size * out;
    system.space().move(found.motion.q, step, from.q0);
  }
}

/// The closed limit that pulls most; -1: none does.
int pulling_limit(const system::LimitedSystem& limits, const Vector& lambda) {
  int worst = -1;
  double most = -1e-10 * lambda.lpNorm<Eigen::Infinity>();
  for (int i = 0; i < limits.limit_count(); ++i)
    if (limits.is_closed(i) && limits.push(i, lambda) < most) {
      most = limits.push(i, lambda);
      worst = i;
    }
  return worst;
}

/// For dependent rows: the multipliers of least norm among those that balance the forces.
void take_smallest_multipliers(const System& system, Equilibrium& found) {
  system::KktBlocks blocks(system.pattern());
  system.linearize(found.motion, found.lambda, blocks);
  const Matrix F = system::dense_forces(system, blocks.F);
  if (F.size() == 0) return;
  found.lambda = LeastNorm(F, 1e-10).solve(F * found.lambda);
}

Equilibrium find_with(const System& system, const system::Start& start, const EquilibriumOptions& options) {
  int passed = -1;
  Equilibrium found = settle(system, start, options, passed);
  const auto* limited = dynamic_cast<const system::LimitedSystem*>(&system);
  if (limited == nullptr || limited->limit_count() == 0) return found;
  std::vector<bool> closed(static_cast<std::size_t>(limited->limit_count()));
  for (std::size_t i = 0; i < closed.size(); ++i) closed[i] = limited->is_closed(static_cast<int>(i));
  system::Start from = start;
  // Each round closes or opens one limit; more rounds than this are a cycle.
  for (std::size_t round = 0; round < 4 * closed.size() + 4; ++round) {
    if (passed < 0 && !found.is_found) return found;
    const System& in_force = found.leaning != nullptr ? *found.leaning : system;
    const auto& limits = dynamic_cast<const system::LimitedSystem&>(in_force);
    const int pulling = passed < 0 ? pulling_limit(limits, found.lambda) : -1;
    if (passed < 0 && pulling < 0) return found;
    closed[static_cast<std::size_t>(passed >= 0 ? passed : pulling)] = passed >= 0;
    if (passed < 0) from.q0 = found.motion.q;
    const int iterations = found.iterations;
    std::shared_ptr<const System> next = limits.with_closed(closed);
    found = settle(*next, from, options, passed);
    found.leaning = std::move(next);
    found.iterations += iterations;
  }
  found.is_found = false;
  found.message = "limits close and open in a cycle; no equilibrium was found";
  return found;
}

}  // namespace

Equilibrium find_equilibrium(const System& system, const system::Start& start, const EquilibriumOptions& options) {
  constexpr int most_rows = 1000;  // of full matrices
  Equilibrium found = find_with(system, start, options);
  const bool may_be_redundant = options.linear_solver == "automatic" && system.pattern().rows() > 0 &&
                                system.pattern().rows() + system.space().nv() <= most_rows;
  if (!found.is_found && may_be_redundant) {
    system::Motion m(system.space());
    m.t = start.t0;
    m.q = start.q0;
    if (!system::redundancy(system, m).rows.empty()) {
      EquilibriumOptions of_least_norm = options;
      of_least_norm.linear_solver = "least-squares";
      Equilibrium again = find_with(system, start, of_least_norm);
      if (again.is_found) {
        found = std::move(again);
        take_smallest_multipliers(found.leaning != nullptr ? *found.leaning : system, found);
      }
    }
  } else if (found.is_found && options.linear_solver == "least-squares") {
    take_smallest_multipliers(found.leaning != nullptr ? *found.leaning : system, found);
  }
  return found;
}

}  // namespace kreisel::analysis
