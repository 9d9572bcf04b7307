#include "run/variational.hpp"

#include <algorithm>

namespace kreisel::run {

using system::Motion;

Variational::Variational(const system::System& system, Counters& counters, double tolerance,
                         std::string_view linear_solver)
    : system_(system),
      counters_(counters),
      tolerance_(tolerance),
      kkt_(system, counters, linear_solver),
      mechanics_(system, counters),
      newton_(system.space().nv() + system.pattern().rows(), linear_solver == "least-squares", counters),
      end_(system.space().nv() + system.pattern().rows(), linear_solver == "least-squares", counters),
      M_(mechanics_.M),
      B_(mechanics_.B) {
  const int nv = system.space().nv(), size = nv + system.pattern().rows();
  for (Vector* v : {&unknowns_, &scale_, &right_hand_side_, &solution_}) v->setZero(size);
  for (Vector* v : {&force_, &first_force_, &momentum_, &image_, &y_, &at_rest_}) v->setZero(nv);
  tangent_.setZero(system.space().block_diagonal_size());
  q_.setZero(system.space().nq());
}

void Variational::set_forces(double t, ConstVectorRef q, ConstVectorRef v) {
  mechanics_.evaluate(t, q, v);
  force_ = mechanics_.residual.force;
  image_.noalias() = M_ * v;
  mechanics_.add_transposed_bracket(v, image_, force_);
}

void Variational::transport(ConstVectorRef y, ConstVectorRef p, VectorRef out) {
  system_.space().tangent_inverse_blocks(y, tangent_);
  for (const lie::Block& block : system_.space().blocks())
    out.segment(block.v_at, block.nv).noalias() =
        ConstMatrixMap(tangent_.data() + block.matrix_at, block.nv, block.nv).transpose() *
        p.segment(block.v_at, block.nv);
}

bool Variational::step(const Motion& from, double h, Motion& to, VectorRef lambda, VectorRef omega) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows();
  mechanics_.set_matrices(from);
  M_ = mechanics_.M;
  B_ = mechanics_.B;
  set_forces(from.t, from.q, from.v);
  first_force_ = force_;
  momentum_.noalias() = M_ * from.v;
  const double t = from.t + h;
  unknowns_.head(nv) = from.v + (0.5 * h) * from.a;
  unknowns_.tail(rows) = h * lambda;
  scale_.setConstant(std::max(1.0, from.v.lpNorm<Eigen::Infinity>()));
  if (rows > 0) {
    // Impulses of constraints change the momentum.
    const double impulse = std::max({momentum_.lpNorm<Eigen::Infinity>(), M_.diagonal().maxCoeff() * scale_[0]});
    scale_.tail(rows).setConstant(impulse / std::max(1e-300, B_.cwiseAbs().maxCoeff()));
  }
  const auto equations = [&](ConstVectorRef x, VectorRef out) {
    y_ = -h * x.head(nv);
    image_.noalias() = M_ * x.head(nv);
    transport(y_, image_, momentum_);
    out.head(nv) = momentum_ + (0.5 * h) * first_force_;
    out.head(nv).noalias() -= M_ * from.v;
    out.head(nv).noalias() += 0.5 * B_.transpose() * x.tail(rows);
    y_ = -y_;
    ++counters_.exponentials;
    system_.space().move(from.q, y_, q_);
    if (rows == 0) return;
    mechanics_.evaluate(t, q_, at_rest_);
    out.tail(rows) = mechanics_.residual.gap / h;
  };
  if (!newton_.solve(equations, scale_, tolerance_, unknowns_)) return false;
  omega = h * unknowns_.head(nv);
  ++counters_.exponentials;
  system_.space().move(from.q, omega, to.q);
  to.t = t;
  to.v = from.v + h * from.a;
  mechanics_.set_matrices(to);
  end_.matrix.setZero();
  end_.matrix.topLeftCorner(nv, nv) = M_;
  end_.matrix.topRightCorner(nv, rows) = 0.5 * mechanics_.B.transpose();
  end_.matrix.bottomLeftCorner(rows, nv) = mechanics_.B;
  if (!end_.factorize()) return false;
  image_.noalias() = M_ * unknowns_.head(nv);
  transport(omega, image_, momentum_);
  // Forces that depend on the velocity, dampers, are few and small beside inertia: a few sweeps.
  constexpr int most_sweeps = 50;
  double previous = HUGE_VAL;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    set_forces(t, to.q, to.v);
    right_hand_side_.head(nv) = momentum_ - (0.5 * h) * force_;
    if (rows > 0) {
      right_hand_side_.tail(rows) = -mechanics_.residual.rate;
      right_hand_side_.tail(rows).noalias() += mechanics_.B * to.v;
    }
    end_.solve(right_hand_side_, solution_);
    const double change = (solution_.head(nv) - to.v).lpNorm<Eigen::Infinity>() / scale_[0];
    to.v = solution_.head(nv);
    if (!std::isfinite(change)) return false;
    if (change <= 1e-15 || (change < 1e-12 && change > 0.5 * previous)) {
      to.a = from.a;
      return kkt_.accelerate(to, lambda);
    }
    previous = change;
  }
  return false;
}

}  // namespace kreisel::run
