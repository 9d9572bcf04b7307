#include "solve/manifold.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "lie/group_info.hpp"

namespace kreisel::solve {
namespace {

using system::CoordinateKind;
using system::Motion;
using system::Pattern;
using system::RowLevel;
using system::System;

constexpr int max_iterations = 12;
/// A kept matrix that needs more iterations than this is recomputed for the next point.
constexpr int tolerable_iterations = 4;
/// Distances this small, relative to q and v, are round-off.
constexpr double round_off = 4e-16, nearly_round_off = 1e-12;
/// Step of the differences that give the gradients of invariants, relative; their error only slows the iteration.
constexpr double difference_step = 1e-6;
/// A length of less than this is the round-off of a zero.
constexpr double smallest_length = 1e-9;
using Border = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, max_invariants, max_invariants>;
using BorderVector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, max_invariants, 1>;

/// ξᵀMv with ξ the left-trivialised velocity of a translation along, or a rotation about, an inertial axis: by Noether's
/// theorem the momentum that belongs to it.
class Momentum {
 public:
  Momentum(const System& system, const Vector3& axis, bool is_rotation)
      : system_(&system),
        axis_(axis),
        is_rotation_(is_rotation),
        generator_(Vector::Zero(system.space().nv())),
        lambda_(Vector::Zero(system.pattern().rows())),
        moved_(system.space()),
        with_(system.space().nv(), system.pattern().position_rows(), system.pattern().rows()),
        without_(with_) {}

  double operator()(const Motion& m) {
    set_generator(m.q);
    // M v by the difference of two residuals, which is exact up to round-off: force is affine in v̇.
    moved_ = m;
    moved_.a = m.v;
    system_->residual(moved_, lambda_, with_);
    moved_.a.setZero();
    system_->residual(moved_, lambda_, without_);
    return generator_.dot(with_.force) - generator_.dot(without_.force);
  }

 private:
  void set_generator(const Vector& q) {
    for (const lie::Block& block : system_->space().blocks()) {
      const bool has_position = block.group != lie::GroupId::so3;
      const Vector3 x = has_position ? Vector3(q.segment<3>(block.q_at)) : Vector3::Zero();
      const Eigen::Vector4d r = q.segment<4>(block.q_at + (has_position ? 3 : 0));
      const Matrix3 R = Eigen::Quaterniond(r[3], r[0], r[1], r[2]).toRotationMatrix();
      const Vector3 velocity = is_rotation_ ? Vector3(axis_.cross(x)) : axis_;
      switch (block.group) {
        case lie::GroupId::r3xso3:
          generator_.segment<3>(block.v_at) = velocity;
          break;
        case lie::GroupId::se3:
          generator_.segment<3>(block.v_at) = R.transpose() * velocity;
          break;
        case lie::GroupId::so3:
        case lie::GroupId::rn:
          break;
      }
      if (is_rotation_) generator_.segment<3>(block.v_at + (has_position ? 3 : 0)) = R.transpose() * axis_;
    }
  }

  const System* system_;
  Vector3 axis_;
  bool is_rotation_;
  Vector generator_, lambda_;
  Motion moved_;
  system::Residual with_, without_;
};

/// A number among the outputs of the system.
class Output {
 public:
  Output(const System& system, int place)
      : system_(&system), place_(place), lambda_(Vector::Zero(system.pattern().rows())), all_(system.output_size()) {}

  double operator()(const Motion& m) {
    system_->evaluate_outputs(m, lambda_, all_);
    return all_[place_];
  }
  /// With accelerations and multipliers of 1: an invariant must not depend on them.
  double with_other_forces(Motion m) {
    m.a.setOnes();
    lambda_.setOnes();
    const double value = (*this)(m);
    lambda_.setZero();
    return value;
  }

 private:
  const System* system_;
  int place_;
  Vector lambda_, all_;
};

Invariant output_invariant(const std::string& name, const System& system) {
  const std::string_view wanted = std::string_view(name).substr(output_prefix.size());
  std::vector<std::string> known;
  int at = 0;
  for (const system::OutputInfo& info : system.outputs())
    for (int i = 0; i < info.size(); ++i, ++at) {
      if (info.column(i) == wanted) {
        const auto output = std::make_shared<Output>(system, at);
        return {name, [output](const Motion& m) { return (*output)(m); },
                [output](const Motion& m) { return output->with_other_forces(m); }};
      }
      known.push_back(std::string(output_prefix) + info.column(i));
    }
  throw InvalidInput(known.empty() ? fmt::format("'{}' is requested, but the model has no outputs", name)
                                   : unknown_name("invariant", name, known));
}

}  // namespace

bool is_invariant_name(std::string_view name) {
  const std::vector<std::string> names = invariant_names();
  return name.starts_with(output_prefix) || std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> invariant_names() {
  std::vector<std::string> names{"energy"};
  for (const char* kind : {"momentum", "angular-momentum"})
    for (const char axis : {'x', 'y', 'z'}) names.push_back(fmt::format("{}-{}", kind, axis));
  names.push_back(std::string(output_prefix) + "NAME");
  return names;
}

Invariant make_invariant(const std::string& name, const System& system) {
  if (!is_invariant_name(name)) throw InvalidInput(unknown_name("invariant", name, invariant_names()));
  if (name.starts_with(output_prefix)) return output_invariant(name, system);
  if (name == "energy") return {name, [&system](const Motion& m) { return system.energy(m); }};
  for (const lie::Block& block : system.space().blocks())
    if (lie::rotations_of(block) != 3)
      throw InvalidInput(fmt::format("invariant '{}' needs rigid bodies; coordinates on {} have no axes in space", name,
                                     lie::name_of(block.group)));
  const bool is_rotation = name.starts_with("angular");
  const Vector3 axis = Vector3::Unit(name.back() - 'x');
  return {name, Momentum(system, axis, is_rotation)};
}

/// The matrix of min |δq|² + |δv|² under B δq = -Φ, H δq + B δv = -(B v + Φ_t), and invariants bordering it.
class Manifold::Joint {
 public:
  Joint(const System& system, Counters& counters, const ManifoldOptions& options, std::vector<Invariant> invariants)
      : system_(system),
        counters_(counters),
        metric_(options.metric),
        unit_(unit_of_projection(options.length)),
        invariants_(std::move(invariants)),
        levels_(Vector::Zero(static_cast<Eigen::Index>(invariants_.size()))),
        scales_(levels_),
        blocks_(system.pattern()),
        residual_(system.space().nv(), system.pattern().position_rows(), system.pattern().rows()),
        zero_lambda_(Vector::Zero(system.pattern().rows())),
        row_lengths_(Vector::Ones(system.pattern().rows())),
        probe_(system.space()) {
    lay_out();
    solver_ = linear::make_solver(options.linear_solver, matrix_);
    right_hand_side_.setZero(matrix_.size());
    const auto count = static_cast<Eigen::Index>(invariants_.size());
    gradients_.setZero(matrix_.size(), count);
    directions_ = gradients_;
    border_.setZero(count, count);
    defects_.setZero(count);
    weights_.setZero(count);
    move_.setZero(system.space().nv());
  }

  void set_levels(const Motion& m) {
    for (std::size_t i = 0; i < invariants_.size(); ++i) {
      levels_[i] = invariants_[i].value(m);
      if (!std::isfinite(levels_[i]))
        throw InvalidInput(fmt::format("the model does not define the invariant '{}'", invariants_[i].name));
      if (invariants_[i].with_other_forces && invariants_[i].with_other_forces(m) != levels_[i])
        throw InvalidInput(fmt::format(
            "'{}' depends on accelerations or reactions; only functions of position and velocity can be projected onto",
            invariants_[i].name));
    }
  }

  const Vector& levels() const { return levels_; }
  void restore_levels(const Vector& levels) { levels_ = levels; }

  [[nodiscard]] bool factorize(const Motion& m) {
    ++counters_.factorizations;
    ++counters_.jacobian_evaluations;
    system_.linearize(m, zero_lambda_, blocks_);
    row_lengths(system_, blocks_.B, unit_, row_lengths_);
    assemble();
    if (!solver_->factorize(matrix_)) return false;
    for (Eigen::Index i = 0; i < gradients_.cols(); ++i) {
      differentiate(invariants_[i], m, gradients_.col(i));
      scales_[i] = std::max(std::abs(levels_[i]), gradients_.col(i).norm());
      right_hand_side_ = gradients_.col(i);
      solver_->solve(right_hand_side_);
      directions_.col(i) = right_hand_side_;
    }
    if (gradients_.cols() > 0) {
      border_.noalias() = gradients_.transpose() * directions_;
      border_solver_.compute(border_);
    }
    return true;
  }

  /// Iterations spent, or 0 when they do not contract.
  int iterate(Motion& m) {
    const int nv = system_.space().nv(), position_rows = system_.pattern().position_rows();
    double previous = HUGE_VAL;
    for (int iteration = 1; iteration <= max_iterations; ++iteration) {
      ++counters_.residual_evaluations;
      system_.residual(m, zero_lambda_, residual_);
      const double length = std::max(1.0, largest_position(system_.space(), m.q, unit_));
      const double speed = std::max(1.0, largest_velocity(system_.space(), m.v, unit_));
      double size = 0.0;
      if (position_rows > 0)
        size = residual_.gap.cwiseQuotient(row_lengths_.head(position_rows)).lpNorm<Eigen::Infinity>() / length;
      if (residual_.rate.size() > 0)
        size = std::max(size, residual_.rate.cwiseQuotient(row_lengths_).lpNorm<Eigen::Infinity>() / speed);
      for (Eigen::Index i = 0; i < levels_.size(); ++i) {
        defects_[i] = levels_[i] - invariants_[i].value(m);
        size = std::max(size, std::abs(defects_[i]) / std::max(scales_[i], 1e-300));
      }
      if (!std::isfinite(size)) return 0;
      if (size <= round_off) return iteration;
      if (size > 0.5 * previous) return size < nearly_round_off ? iteration : 0;
      previous = size;
      right_hand_side_.setZero();
      right_hand_side_.segment(2 * nv, position_rows) = -residual_.gap;
      right_hand_side_.tail(residual_.rate.size()) = -residual_.rate;
      solver_->solve(right_hand_side_);
      add_invariants();
      system_.space().move(m.q, right_hand_side_.head(nv), m.q);
      m.v += right_hand_side_.segment(nv, nv);
    }
    return 0;
  }

  void keep_tangential(VectorRef q_error, VectorRef v_error) {
    const int nv = system_.space().nv();
    const Pattern& pattern = system_.pattern();
    right_hand_side_.setZero();
    for (const Pattern::Touch& touch : pattern.touches()) {
      const system::RowGroup& group = pattern.groups()[touch.group];
      const lie::Block& block = system_.space().blocks()[touch.block];
      const ConstMatrixMap B(blocks_.B.data() + touch.at, group.rows, block.nv);
      const ConstMatrixMap H(blocks_.H.data() + touch.at, group.rows, block.nv);
      if (group.level == RowLevel::position)
        right_hand_side_.segment(2 * nv + group.at, group.rows) -= B * q_error.segment(block.v_at, block.nv);
      right_hand_side_.segment(2 * nv + pattern.position_rows() + group.at, group.rows) -=
          H * q_error.segment(block.v_at, block.nv) + B * v_error.segment(block.v_at, block.nv);
    }
    for (Eigen::Index i = 0; i < gradients_.cols(); ++i)
      defects_[i] = -gradients_.col(i).head(nv).dot(q_error) - gradients_.col(i).segment(nv, nv).dot(v_error);
    solver_->solve(right_hand_side_);
    add_invariants();
    q_error += right_hand_side_.head(nv);
    v_error += right_hand_side_.segment(nv, nv);
  }

 private:
  /// Order of blocks: q, v, multipliers of Φ, multipliers of B v + Φ_t.
  void lay_out() {
    const Pattern& pattern = system_.pattern();
    const int x_count = static_cast<int>(system_.space().blocks().size());
    std::vector<int> sizes;
    for (int copy = 0; copy < 2; ++copy)
      for (const lie::Block& block : system_.space().blocks()) sizes.push_back(block.nv);
    int position_groups = 0;
    for (const system::RowGroup& group : pattern.groups())
      if (group.level == RowLevel::position) {
        sizes.push_back(group.rows);
        ++position_groups;
      }
    for (const system::RowGroup& group : pattern.groups()) sizes.push_back(group.rows);
    const auto q = [](int block) { return block; };
    const auto v = [&](int block) { return x_count + block; };
    const auto mu = [&](int group) { return 2 * x_count + group; };
    const auto nu = [&](int group) { return 2 * x_count + position_groups + group; };

    std::vector<std::pair<int, int>> entries;
    const auto both = [&](int row, int column) {
      entries.push_back({row, column});
      entries.push_back({column, row});
    };
    for (const Pattern::Coupling& c : pattern.couplings()) {
      entries.push_back({q(c.row), q(c.column)});
      entries.push_back({v(c.row), v(c.column)});
    }
    for (const Pattern::Touch& t : pattern.touches()) {
      if (t.group < position_groups) both(mu(t.group), q(t.block));
      both(nu(t.group), q(t.block));
      both(nu(t.group), v(t.block));
    }
    matrix_ = linear::BlockMatrix(sizes, entries);
    for (const Pattern::Coupling& c : pattern.couplings())
      mass_entry_.push_back({matrix_.find(q(c.row), q(c.column)), matrix_.find(v(c.row), v(c.column))});
    const auto find_both = [&](int row, int column) {
      return std::pair{matrix_.find(row, column), matrix_.find(column, row)};
    };
    for (const Pattern::Touch& t : pattern.touches()) {
      gap_entry_.push_back(t.group < position_groups ? find_both(mu(t.group), q(t.block)) : std::pair{-1, -1});
      bend_entry_.push_back(find_both(nu(t.group), q(t.block)));
      rate_entry_.push_back(find_both(nu(t.group), v(t.block)));
    }
  }

  void assemble() {
    const Pattern& pattern = system_.pattern();
    const auto& blocks = system_.space().blocks();
    matrix_.values().setZero();
    for (std::size_t c = 0; c < pattern.couplings().size(); ++c) {
      const Pattern::Coupling& coupling = pattern.couplings()[c];
      const int rows = blocks[coupling.row].nv, columns = blocks[coupling.column].nv;
      const bool has_mass = metric_ == Metric::mass && pattern.kind(coupling.row) == CoordinateKind::dynamic &&
                            pattern.kind(coupling.column) == CoordinateKind::dynamic;
      for (const int entry : {mass_entry_[c].first, mass_entry_[c].second}) {
        if (has_mass)
          matrix_.block(entry) = ConstMatrixMap(blocks_.M.data() + coupling.at, rows, columns);
        else if (coupling.row == coupling.column)
          matrix_.block(entry).setIdentity();
      }
    }
    const auto set = [&](const std::pair<int, int>& entry, const ConstMatrixMap& value) {
      if (entry.first < 0) return;
      matrix_.block(entry.first) = value;
      matrix_.block(entry.second) = value.transpose();
    };
    for (std::size_t t = 0; t < pattern.touches().size(); ++t) {
      const Pattern::Touch& touch = pattern.touches()[t];
      const int rows = pattern.groups()[touch.group].rows, columns = blocks[touch.block].nv;
      const ConstMatrixMap B(blocks_.B.data() + touch.at, rows, columns);
      set(gap_entry_[t], B);
      set(bend_entry_[t], ConstMatrixMap(blocks_.H.data() + touch.at, rows, columns));
      set(rate_entry_[t], B);
    }
  }

  /// Scale of the coordinate that an entry of v moves: the largest coordinate of its block, 1 for rotations and where q shows
  /// no length.
  double length_of(int i, const Vector& q) const {
    for (const lie::Block& block : system_.space().blocks()) {
      if (i >= block.v_at + block.nv) continue;
      const int n = lie::translations_of(block);
      const double size = i - block.v_at < n ? q.segment(block.q_at, n).lpNorm<Eigen::Infinity>() : 1.0;
      return size > smallest_length ? size : 1.0;
    }
    return 1.0;
  }

  void differentiate(const Invariant& invariant, const Motion& m, Eigen::Ref<Vector> gradient) {
    const int nv = system_.space().nv();
    gradient.setZero();
    Vector& step = move_;
    step.setZero();
    const double fastest = m.v.lpNorm<Eigen::Infinity>(),
                 speed_step = difference_step * (fastest > 0.0 ? fastest : 1.0);
    for (int i = 0; i < nv; ++i) {
      const double length_step = difference_step * length_of(i, m.q);
      double q_slope = 0.0, v_slope = 0.0;
      for (const double sign : {1.0, -1.0}) {
        probe_ = m;
        step[i] = sign * length_step;
        system_.space().move(m.q, step, probe_.q);
        q_slope += sign * invariant.value(probe_);
        probe_ = m;
        probe_.v[i] += sign * speed_step;
        v_slope += sign * invariant.value(probe_);
      }
      step[i] = 0.0;
      gradient[i] = q_slope / (2.0 * length_step);
      gradient[nv + i] = v_slope / (2.0 * speed_step);
    }
  }

  /// Adds the move along the tangential gradients that removes `defects_`, those of the move so far included.
  void add_invariants() {
    if (gradients_.cols() == 0) return;
    defects_.noalias() -= gradients_.transpose() * right_hand_side_;
    weights_ = border_solver_.solve(defects_);
    right_hand_side_.noalias() += directions_ * weights_;
  }

  const System& system_;
  Counters& counters_;
  Metric metric_;
  double unit_;  ///< of translations
  std::vector<Invariant> invariants_;
  Vector levels_, scales_;
  linear::BlockMatrix matrix_;
  std::unique_ptr<linear::Solver> solver_;
  std::vector<std::pair<int, int>> mass_entry_, gap_entry_, bend_entry_, rate_entry_;
  system::KktBlocks blocks_;
  system::Residual residual_;
  Vector zero_lambda_, row_lengths_, right_hand_side_, move_;
  Matrix gradients_, directions_;
  Border border_;
  BorderVector defects_, weights_;
  Eigen::CompleteOrthogonalDecomposition<Border> border_solver_;
  Motion probe_;
};

Manifold::Manifold(const System& system, Counters& counters, const ManifoldOptions& options,
                   std::vector<Invariant> invariants)
    : options_(options),
      kkt_(system, counters, options.linear_solver),
      start_(system.space()),
      made_at_(system.space()),
      part_(Vector::Zero(system.space().nv())) {
  kkt_.set_length(options.length);
  // An invariant ties q and v together.
  if (options.is_joint || !invariants.empty())
    joint_ = std::make_unique<Joint>(system, counters, options, std::move(invariants));
}

Manifold::~Manifold() = default;

void Manifold::set_levels(const Motion& m) {
  if (joint_ != nullptr) joint_->set_levels(m);
}

bool Manifold::project_with_matrix(Motion& m) {
  if (joint_ != nullptr) {
    const int spent = joint_->iterate(m);
    has_matrix_ = spent <= tolerable_iterations;
    return spent > 0;
  }
  const bool is_done = kkt_.project_position(m);
  const int spent = kkt_.projection_iterations();
  if (!is_done || !kkt_.project_velocity(m)) return false;
  has_matrix_ = std::max(spent, kkt_.projection_iterations()) <= tolerable_iterations;
  return true;
}

bool Manifold::project(Motion& m) {
  if (has_matrix_) {
    start_ = m;
    if (project_with_matrix(m)) return true;
    m = start_;
  }
  has_matrix_ = factorize(m);
  return has_matrix_ && project_with_matrix(m);
}

bool Manifold::factorize(const Motion& m) {
  made_at_ = m;
  is_made_ = true;
  return joint_ != nullptr ? joint_->factorize(m) : kkt_.factorize(m, options_.metric);
}

Manifold::State Manifold::state() const {
  return {is_made_, has_matrix_, made_at_, joint_ != nullptr ? joint_->levels() : Vector()};
}

void Manifold::restore(const State& state) {
  if (joint_ != nullptr) joint_->restore_levels(state.levels);
  has_matrix_ = state.is_made && factorize(state.made_at) && state.has_matrix;
}

void Manifold::keep_tangential(VectorRef q_error, VectorRef v_error) {
  if (joint_ != nullptr) return joint_->keep_tangential(q_error, v_error);
  kkt_.constrained_part(q_error, part_);
  q_error -= part_;
  // Velocities are projected at the final q.
  kkt_.velocity_part(made_at_, q_error, v_error, start_, part_);
  v_error -= part_;
}

}  // namespace kreisel::solve
