#include "run/energy_momentum.hpp"

#include <algorithm>
#include <limits>

#include "lie/group_info.hpp"

namespace kreisel::run {

using system::Motion;

namespace {

/// Beyond this the mean velocity does not determine the rotation of a step [rad].
constexpr double widest_mean_turn = 2.0;

}  // namespace

EnergyMomentum::EnergyMomentum(const system::System& system, Counters& counters, double tolerance,
                               std::string_view linear_solver)
    : system_(system),
      counters_(counters),
      tolerance_(tolerance),
      kkt_(system, counters, linear_solver),
      mechanics_(system, counters),
      newton_(system.space().nv() + system.pattern().rows(), linear_solver == "least-squares", counters),
      M_(mechanics_.M),
      first_B_(mechanics_.B),
      end_(system.space()) {
  const int nv = system.space().nv(), rows = system.pattern().rows();
  for (Vector* v : {&unknowns_, &scale_}) v->setZero(nv + rows);
  for (Vector* v : {&first_force_, &force_, &mean_, &momentum_, &row_, &row_first_, &row_last_}) v->setZero(nv);
  first_gap_.setZero(system.pattern().position_rows());
}

void EnergyMomentum::cayley(ConstVectorRef y, VectorRef omega) const {
  omega = y;
  for (const lie::Block& block : system_.space().blocks()) {
    if (block.group == lie::GroupId::se3 || lie::rotations_of(block) != 3) continue;
    auto turn = omega.segment<3>(block.v_at + block.nv - 3);
    const double half = 0.5 * turn.norm();
    if (half > 0.0) turn *= std::atan(half) / half;
  }
}

void EnergyMomentum::set_mean(double h, ConstVectorRef first, ConstVectorRef last, VectorRef out) const {
  out = 0.5 * (first + last);
  for (const lie::Block& block : system_.space().blocks()) {
    if (block.group == lie::GroupId::se3 || lie::rotations_of(block) != 3) continue;
    const int at = block.v_at + block.nv - 3;
    const Vector3 turn = mean_.segment<3>(at), change = last.segment<3>(at) - first.segment<3>(at);
    out.segment<3>(at) += (0.25 * h) * turn.cross(change);
  }
}

void EnergyMomentum::complete(double h, double change, double size, VectorRef force) {
  constexpr double round_off = 1e3 * std::numeric_limits<double>::epsilon();
  const double missing = change - h * mean_.dot(force), weight = h * mean_.dot(momentum_);
  if (std::abs(missing) > round_off * size && weight > 0.0) force += (missing / weight) * momentum_;
}

bool EnergyMomentum::step(const Motion& from, double h, Motion& to, VectorRef lambda, VectorRef omega) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows();
  const bool is_conservative = system_.is_conservative();
  const double t = from.t + h;
  mechanics_.set_matrices(from);
  M_ = mechanics_.M;
  first_B_ = mechanics_.B;
  const double first_energy = is_conservative ? mechanics_.energy(from.t, from.q) : 0.0;
  const double speed = std::max(1.0, from.v.lpNorm<Eigen::Infinity>());
  unknowns_.head(nv) = from.v + (0.5 * h) * from.a;
  unknowns_.tail(rows) = h * lambda;
  scale_.setConstant(speed);
  if (rows > 0)
    scale_.tail(rows).setConstant(M_.diagonal().maxCoeff() * speed / std::max(1e-300, first_B_.cwiseAbs().maxCoeff()));
  // Means of both ends: forces at the mean velocity, without those of inertia, and B.
  const auto forces_at = [&](double time, ConstVectorRef q, VectorRef out) {
    mechanics_.evaluate(time, q, mean_);
    out = mechanics_.residual.force;
    mechanics_.add_transposed_bracket(mean_, momentum_, out);
  };
  const auto equations = [&](ConstVectorRef x, VectorRef out) {
    mean_ = x.head(nv);
    momentum_.noalias() = M_ * mean_;
    row_ = h * mean_;
    cayley(row_, omega);
    ++counters_.exponentials;
    system_.space().move(from.q, omega, end_.q);
    end_.t = t;
    end_.v = mean_;
    forces_at(from.t, from.q, first_force_);
    if (rows > 0) first_gap_ = mechanics_.residual.gap;
    forces_at(t, end_.q, force_);
    row_ = force_;
    set_mean(h, first_force_, row_, force_);
    if (is_conservative) {
      const double energy = mechanics_.energy(t, end_.q);
      if (std::isfinite(energy)) complete(h, energy - first_energy, std::abs(energy) + std::abs(first_energy), force_);
    }
    out.head(nv) = 2.0 * (momentum_ + 0.5 * h * force_);
    out.head(nv).noalias() -= 2.0 * (M_ * from.v);
    // -h ad_v̄ᵀ M v̄
    row_.setZero();
    mechanics_.add_transposed_bracket(mean_, momentum_, row_);
    out.head(nv) -= h * row_;
    if (rows == 0) return;
    mechanics_.set_matrices(end_);
    for (int r = 0; r < rows; ++r) {
      row_first_ = first_B_.row(r).transpose();
      row_last_ = mechanics_.B.row(r).transpose();
      set_mean(h, row_first_, row_last_, row_);
      complete(h, mechanics_.residual.gap[r] - first_gap_[r], 1.0 + from.q.lpNorm<Eigen::Infinity>(), row_);
      out.head(nv) += x[nv + r] * row_;
    }
    out.tail(rows) = mechanics_.residual.gap / h;
  };
  if (!newton_.solve(equations, scale_, tolerance_, unknowns_)) return false;
  mean_ = unknowns_.head(nv);
  row_ = h * mean_;
  for (const lie::Block& block : system_.space().blocks())
    if (lie::rotations_of(block) > 0 &&
        row_.segment(block.v_at + lie::translations_of(block), block.nv - lie::translations_of(block)).norm() >
            widest_mean_turn)
      return false;
  cayley(row_, omega);
  ++counters_.exponentials;
  system_.space().move(from.q, omega, to.q);
  to.t = t;
  to.v = 2.0 * mean_ - from.v;
  to.a = from.a;
  return kkt_.accelerate(to, lambda);
}

}  // namespace kreisel::run
