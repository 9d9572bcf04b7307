#include "solve/radau.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "block_products.hpp"
#include "lie/group_info.hpp"
#include "radau_coupled.hpp"
#include "solve/mass_scales.hpp"
#include "solve/newton_limits.hpp"

namespace kreisel::solve {

using method::Entry;
using system::Motion;
using system::Pattern;
using system::RowGroup;
using system::RowLevel;
using Coefficients = coeff::Radau;

namespace {

constexpr const NewtonLimits& limits = limits_of_stages;
/// Largest number of steps that use the coupled matrix after one that needed it: it costs ten times the others. That number is 1 at
/// first, doubles where it was needed again at once, and halves with every step that did not need it.
constexpr int most_coupled_steps = 8;
/// Relative change of the step up to which factors are used for another one.
constexpr double same_step = 1e-12;
/// The first update removes the error of the guess, at a different rate: the ratio of the second one to it does not predict the
/// following ones. A rate of at least this is assumed until a third update.
constexpr double assumed_rate = 0.1;
/// Sweeps of θ' = T(θ)⁻¹v in a guess; each gains one order in h.
constexpr int guess_sweeps = 2;
/// Largest extrapolation of a guess, in steps; more than the growth of a step. Beyond that, as after a step that had to end
/// early, a cubic is useless.
constexpr double longest_reach = 8.5;
/// A B that has turned by φ since the matrix was made leaves 2 sin(φ/2) of an update of λ. Where it has turned less than this
/// [rad], updates that do not shrink to a half are round-off; a kept matrix is recomputed sooner.
constexpr double near_turn = 0.4, near_turn_of_kept = 0.1;
/// Two updates in a row below `most_noise` tolerances, of which Newton's method proper has not made the second one smaller by
/// `noise_rate`, are round-off: the weights leave a few units of it in q, and velocities of stages are Σ w θ/h with w up to 10.
constexpr double most_noise = 10.0, noise_rate = 0.7;

constexpr std::complex<double> complex_eigenvalue{Coefficients::alpha, Coefficients::beta};

/// Zero for systems without constraints.
double largest(ConstVectorRef x) { return x.size() > 0 ? x.lpNorm<Eigen::Infinity>() : 0.0; }

}  // namespace

Collocation::Collocation(const system::System& system) : q(Vector::Zero(system.space().nq())) {
  const int nv = system.space().nv(), rows = system.pattern().rows();
  for (Vector* x : {&theta[0], &theta[1], &theta[2], &v[0], &v[1], &v[2], &v[3], &a[0], &a[1], &a[2]}) x->setZero(nv);
  for (Vector& x : lambda) x.setZero(rows);
  for (Vector& x : eta) x.setZero(system.pattern().position_rows());
}

void Collocation::velocity_at(double s, VectorRef theta_out, Motion& m) const {
  const auto weight = Coefficients::weights(s), slope = Coefficients::slope_weights(s);
  m.t = t + s * h;
  m.v = weight[0] * v[0];
  m.a = (slope[0] / h) * v[0];
  theta_out.setZero();
  for (int i = 0; i < stages; ++i) {
    theta_out += weight[i + 1] * theta[i];
    m.v += weight[i + 1] * v[i + 1];
    m.a += (slope[i + 1] / h) * v[i + 1];
  }
}

void Collocation::at(const lie::Space& space, double s, VectorRef theta_out, Motion& m, VectorRef lambda_out) const {
  velocity_at(s, theta_out, m);
  space.move(q, theta_out, m.q);
  const auto weight = Coefficients::weights(s);
  lambda_out = weight[0] * lambda[0];
  for (int i = 0; i < stages; ++i) lambda_out += weight[i + 1] * lambda[i + 1];
}

Radau::Radau(const system::System& system, Formulation formulation, const NewtonOptions& options, Counters& counters)
    : system_(system),
      formulation_(info_of(formulation)),
      options_(options),
      counters_(counters),
      kkt_(system, counters, options.linear_solver),
      layout_(system, formulation_),
      real_matrix_(layout_.pattern),
      complex_matrix_(layout_.pattern),
      real_solver_(linear::make_solver(options.linear_solver, real_matrix_)),
      complex_solver_(linear::make_solver(options.linear_solver, complex_matrix_)),
      degree_(layout_.pattern.entries().size(), 0),
      X2_(Vector::Zero(layout_.pattern.number_count())),
      X1_(X2_),
      X0_(X2_),
      blocks_(system.pattern()),
      metric_(stabilization_metric(system.space(), options.length)),
      weighed_B_(Vector::Zero(blocks_.B.size())),
      hat_(Vector::Zero(system.space().block_diagonal_size())),
      row_scale_(Vector::Ones(system.space().nv())),
      made_at_(system.space()),
      made_lambda_(Vector::Zero(system.pattern().rows())),
      completed_at_(system.space()),
      complex_(Eigen::VectorXcd::Zero(layout_.pattern.size())),
      work_lambda_(made_lambda_),
      shifted_(system.space()),
      shifted_residual_(system.space().nv(), system.pattern().position_rows(), system.pattern().rows()) {
  const int nv = system.space().nv(), rows = system.pattern().rows(), position_rows = system.pattern().position_rows();
  for (int i = 0; i < stages; ++i) {
    stage_[i] = Motion(system.space());
    residual_[i] = shifted_residual_;
    acceleration_gap_[i].setZero(rows);
    right_hand_side_[i].setZero(layout_.pattern.size());
    rate_of_theta_[i].setZero(nv);
    theta_start_[i].setZero(nv);
    lambda_start_[i].setZero(rows);
    eta_start_[i].setZero(position_rows);
  }
  for (Vector* x : {&work_, &dv_, &v_part_}) x->setZero(nv);
  rows_.setZero(rows);
  kkt_.set_length(options.length);
  completes_ = rows > 0 && formulation_.lambda_row != ConstraintLevel::acceleration;
  completes_velocity_ =
      formulation_.lambda_row == ConstraintLevel::position && !formulation_.has_eta && position_rows > 0;

  for (const int entry : layout_.coupling_entry) degree_[entry] = 2;
  for (const Layout::Product& p : layout_.eta_column) degree_[p.entry] = 1;
  for (std::size_t t = 0; t < system.pattern().touches().size(); ++t) {
    const RowLevel level = system.pattern().groups()[system.pattern().touches()[t].group].level;
    int& degree = degree_[layout_.lambda_entry[t]];
    switch (formulation_.lambda_row) {
      case ConstraintLevel::position:
        degree = level == RowLevel::position ? 0 : 1;
        break;
      case ConstraintLevel::velocity:
        degree = 1;
        break;
      case ConstraintLevel::acceleration:
        degree = 2;
        break;
    }
    if (layout_.rate_entry[t] >= 0) degree_[layout_.rate_entry[t]] = 1;
  }
}

Radau::~Radau() = default;

// ---- the linearised equations

/// With ζ = T(θ)δθ, the change of q, velocities change by ζ' + [v, ζ] and accelerations by the derivative of that. So
/// M δv̇ + D δv + K ζ is Mζ'' + (D + M hat(v))ζ' + (K + D hat(v))ζ, and ' is μ/h.
void Radau::linearize(const Motion& m, ConstVectorRef lambda) {
  const Pattern& pattern = system_.pattern();
  const auto& blocks = system_.space().blocks();
  made_at_ = m;
  made_lambda_ = lambda;
  ++counters_.jacobian_evaluations;
  system_.linearize(m, lambda, blocks_);
  weigh_columns(system_, blocks_.B, metric_, weighed_B_);
  system_.space().hat_blocks(m.v, hat_);
  X2_.setZero();
  X1_.setZero();
  X0_.setZero();
  const auto at = [&](Vector& values, int entry) { return values.data() + layout_.pattern.entries()[entry].at; };
  const auto turns = [&](const lie::Block& block) { return block.group != lie::GroupId::rn; };

  for (std::size_t c = 0; c < pattern.couplings().size(); ++c) {
    const Pattern::Coupling& coupling = pattern.couplings()[c];
    const lie::Block& column = blocks[coupling.column];
    const int rows = blocks[coupling.row].nv, count = rows * column.nv, entry = layout_.coupling_entry[c];
    const double* M = blocks_.M.data() + coupling.at;
    const double* D = blocks_.D.data() + coupling.at;
    std::copy_n(M, count, at(X2_, entry));
    std::copy_n(D, count, at(X1_, entry));
    std::copy_n(blocks_.K.data() + coupling.at, count, at(X0_, entry));
    if (!turns(column)) continue;
    const double* hat = hat_.data() + column.matrix_at;
    add_product(at(X1_, entry), M, hat, rows, column.nv, column.nv, 1.0);
    add_product(at(X0_, entry), D, hat, rows, column.nv, column.nv, 1.0);
  }

  for (std::size_t t = 0; t < pattern.touches().size(); ++t) {
    const Pattern::Touch& touch = pattern.touches()[t];
    const RowGroup& group = pattern.groups()[touch.group];
    const lie::Block& block = blocks[touch.block];
    const int n = block.nv, r = group.rows;
    const double* B = blocks_.B.data() + touch.at;
    const double* H = blocks_.H.data() + touch.at;
    const double* hat = hat_.data() + block.matrix_at;
    std::copy_n(blocks_.F.data() + touch.at, n * r, at(X0_, layout_.force_entry[t]));
    const auto store_rate = [&](int entry) {
      std::copy_n(B, r * n, at(X1_, entry));
      std::copy_n(H, r * n, at(X0_, entry));
      if (turns(block)) add_product(at(X0_, entry), B, hat, r, n, n, 1.0);
    };
    const int entry = layout_.lambda_entry[t];
    switch (degree_[entry]) {
      case 0:
        std::copy_n(B, r * n, at(X0_, entry));
        break;
      case 1:
        store_rate(entry);
        break;
      case 2:
        // d(B v̇ + z): B δv̇ + 2H δv; the derivative of z with respect to q is left to the iteration.
        std::copy_n(B, r * n, at(X2_, entry));
        for (int i = 0; i < r * n; ++i) at(X1_, entry)[i] = 2.0 * H[i];
        if (turns(block)) {
          add_product(at(X1_, entry), B, hat, r, n, n, 1.0);
          add_product(at(X0_, entry), H, hat, r, n, n, 2.0);
        }
        break;
    }
    if (layout_.rate_entry[t] >= 0) store_rate(layout_.rate_entry[t]);
  }

  for (const Layout::Product& p : layout_.eta_column) {
    const Pattern::Coupling& coupling = pattern.couplings()[p.left];
    const Pattern::Touch& touch = pattern.touches()[p.right];
    const int rows = blocks[coupling.row].nv, inner = blocks[coupling.column].nv,
              columns = pattern.groups()[touch.group].rows;
    const double* B = weighed_B_.data() + touch.at;
    add_product_transposed(at(X1_, p.entry), blocks_.M.data() + coupling.at, B, rows, inner, columns, 1.0);
    add_product_transposed(at(X0_, p.entry), blocks_.D.data() + coupling.at, B, rows, inner, columns, 1.0);
  }
  for (const Layout::Product& p : layout_.eta_diagonal) {
    const Pattern::Touch& left = pattern.touches()[p.left];
    const Pattern::Touch& right = pattern.touches()[p.right];
    add_product_transposed(at(X0_, p.entry), blocks_.B.data() + left.at, weighed_B_.data() + right.at,
                           pattern.groups()[left.group].rows, blocks[left.block].nv, pattern.groups()[right.group].rows,
                           1.0);
  }
  has_small_masses_ = mass_scales(system_, blocks_.M, row_scale_);
  if (has_small_masses_)
    for (Vector* X : {&X2_, &X1_, &X0_}) scale_rows(system_, layout_.pattern, 1, row_scale_, *X);
  has_linearization_ = true;
  has_factors_ = false;
  age_ = 0;
  rate_ = 0.0;
}

template <class Scalar>
void Radau::assemble(Scalar mu, double h, linear::BlockMatrixOf<Scalar>& matrix) const {
  Scalar* const out = matrix.values().data();
  const auto& entries = matrix.entries();
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const int first = entries[e].at, last = e + 1 < entries.size() ? entries[e + 1].at : matrix.number_count();
    switch (degree_[e]) {
      case 0:
        for (int i = first; i < last; ++i) out[i] = X0_[i];
        break;
      case 1:
        for (int i = first; i < last; ++i) out[i] = mu * X1_[i] + h * X0_[i];
        break;
      case 2: {
        const Scalar square = mu * mu, mixed = h * mu;
        for (int i = first; i < last; ++i) out[i] = square * X2_[i] + mixed * X1_[i] + h * h * X0_[i];
        break;
      }
    }
  }
}

bool Radau::factorize(double h) {
  assemble(Coefficients::gamma, h, real_matrix_);
  assemble(complex_eigenvalue, h, complex_matrix_);
  counters_.factorizations += 2;
  has_factors_ = real_solver_->factorize(real_matrix_) && complex_solver_->factorize(complex_matrix_);
  factors_h_ = h;
  return has_factors_;
}

// ---- the stages

void Radau::begin(const Entry& from, double h, Collocation& x) {
  x.t = from.motion.t;
  x.h = h;
  x.q = from.motion.q;
  x.v[0] = from.motion.v;
  x.lambda[0] = from.lambda;
}

void Radau::guess(const Entry& from, double h, const Collocation& past, Collocation& x) {
  begin(from, h, x);
  for (int i = 0; i < stages; ++i) {
    x.eta[i].setZero();
    if (past.h > 0.0 && h <= longest_reach * past.h) {
      past.velocity_at(1.0 + Coefficients::c[i] * h / past.h, work_, stage_[i]);
      x.v[i + 1] = stage_[i].v;
      const auto weight = Coefficients::weights(1.0 + Coefficients::c[i] * h / past.h);
      x.lambda[i + 1] = weight[0] * past.lambda[0];
      for (int j = 0; j < stages; ++j) x.lambda[i + 1] += weight[j + 1] * past.lambda[j + 1];
    } else {
      x.v[i + 1] = from.motion.v;
      x.lambda[i + 1] = from.lambda;
    }
    rate_of_theta_[i] = x.v[i + 1];
  }
  for (int sweep = 0; sweep <= guess_sweeps; ++sweep) {
    for (int i = 0; i < stages; ++i) {
      x.theta[i].setZero();
      for (int j = 0; j < stages; ++j) x.theta[i] += (h * Coefficients::a[i][j]) * rate_of_theta_[j];
    }
    if (sweep == guess_sweeps || system_.space().is_commutative() || !measure_turns(x)) break;
    for (int i = 0; i < stages; ++i) system_.space().tangent_inverse(x.theta[i], x.v[i + 1], rate_of_theta_[i]);
  }
}

void Radau::place(const Entry& from, double h, const Collocation& x) {
  const lie::Space& space = system_.space();
  for (int i = 0; i < stages; ++i) {
    Motion& m = stage_[i];
    m.t = from.motion.t + Coefficients::c[i] * h;
    ++counters_.exponentials;
    space.move(from.motion.q, x.theta[i], m.q);
    Vector& rate = rate_of_theta_[i];
    rate.setZero();
    for (int j = 0; j < stages; ++j) rate += (Coefficients::w[i][j] / h) * x.theta[j];
    space.tangent(x.theta[i], rate, m.v);
    if (formulation_.has_eta && (x.eta[i].array() != 0.0).any()) {
      system_.constraint_force(m, x.eta[i], dv_);
      m.v += dv_.cwiseProduct(metric_);
    }
  }
  for (int i = 0; i < stages; ++i) {
    stage_[i].a.setZero();
    for (int j = 0; j < stages; ++j) stage_[i].a += (Coefficients::w[i][j] / h) * (stage_[j].v - from.motion.v);
  }
}

void Radau::evaluate(const Entry& from, double h, const Collocation& x) {
  place(from, h, x);
  for (int i = 0; i < stages; ++i) {
    ++counters_.residual_evaluations;
    system_.residual(stage_[i], x.lambda[i + 1], residual_[i]);
    if (formulation_.lambda_row == ConstraintLevel::acceleration)
      system_.acceleration_gap(stage_[i], acceleration_gap_[i]);
  }
}

bool Radau::is_finite() const {
  return std::all_of(residual_.begin(), residual_.end(), [](const system::Residual& r) { return r.force.allFinite(); });
}

bool Radau::measure_turns(const Collocation& x) {
  turned_ = 0.0;
  const auto& blocks = system_.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const int n = lie::rotations_of(blocks[b]), at = blocks[b].v_at + blocks[b].nv - n;
    if (n == 0) continue;
    for (const Vector& theta : x.theta) {
      const double turn = theta.segment(at, n).norm() / largest_turn;
      if (!(turn <= turned_)) {
        turned_ = turn;
        turned_block_ = static_cast<int>(b);
      }
    }
  }
  return turned_ <= 1.0;
}

// ---- Newton's method

/// Rows (h·force, constraint/h, rate) of the stages.
void Radau::fill_right_hand_sides(double h) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows(),
            position_rows = system_.pattern().position_rows();
  for (int i = 0; i < stages; ++i) {
    Vector& out = right_hand_side_[i];
    out.head(nv) = h * residual_[i].force;
    auto lambda_rows = out.segment(nv, rows);
    switch (formulation_.lambda_row) {
      case ConstraintLevel::position:
        lambda_rows.head(position_rows) = residual_[i].gap / h;
        lambda_rows.tail(rows - position_rows) = residual_[i].rate.tail(rows - position_rows);
        break;
      case ConstraintLevel::velocity:
        lambda_rows = residual_[i].rate;
        break;
      case ConstraintLevel::acceleration:
        lambda_rows = h * acceleration_gap_[i];
        break;
    }
    if (formulation_.has_eta) out.tail(position_rows) = residual_[i].rate.head(position_rows);
  }
}

/// The right-hand sides become the updates of (x, hλ, η) at the stages, x = ζ/h.
void Radau::solve_stages() {
  constexpr Coefficients::Square Ti = Coefficients::t_inverse, T = Coefficients::t;
  auto& r = right_hand_side_;
  const Eigen::Index n = r[0].size();
  if (has_small_masses_)
    for (Vector& b : r) b.head(row_scale_.size()).array() *= row_scale_.array();
  for (Eigen::Index k = 0; k < n; ++k) {
    const double first = r[0][k], second = r[1][k], third = r[2][k];
    r[0][k] = Ti[0][0] * first + Ti[0][1] * second + Ti[0][2] * third;
    complex_[k] = {Ti[1][0] * first + Ti[1][1] * second + Ti[1][2] * third,
                   Ti[2][0] * first + Ti[2][1] * second + Ti[2][2] * third};
  }
  real_solver_->solve(r[0]);
  complex_solver_->solve(complex_);
  for (Eigen::Index k = 0; k < n; ++k) {
    const double first = r[0][k], second = complex_[k].real(), third = complex_[k].imag();
    for (int i = 0; i < stages; ++i) r[i][k] = T[i][0] * first + T[i][1] * second + T[i][2] * third;
  }
}

Closed Radau::iterate(const Entry& from, double h, ConstVectorRef weight, Matrix matrix, Collocation& x) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows(),
            position_rows = system_.pattern().position_rows();
  double previous_norm = 0.0, previous_lambda_update = 0.0;
  bool x_has_converged = false;
  // A rate that this linearisation has shown before may end the iteration at once (Hairer, Wanner 1996, section IV.8).
  double rate = matrix == Matrix::kept ? rate_ : 0.0;
  for (int iteration = 1; iteration <= options_.max_iterations; ++iteration) {
    if (iteration > 1) {
      evaluate(from, h, x);
      if (!is_finite()) return {CloseStatus::not_finite, iteration - 1};
      // Full Newton until it converges fast: stiff forces are nonlinear over the distance to the solution.
      if (matrix == Matrix::coupled && (iteration == 2 || rate > limits.slow_rate) && !prepare(matrix, h, x))
        return {CloseStatus::singular_matrix, iteration - 1};
    }
    fill_right_hand_sides(h);
    if (matrix == Matrix::coupled)
      coupled_->solve(right_hand_side_);
    else
      solve_stages();
    ++counters_.newton_iterations;
    double norm = 0.0, lambda_update = 0.0, lambda_size = largest(x.lambda[0]);
    for (int i = 0; i < stages; ++i) {
      const Vector& update = right_hand_side_[i];
      norm = std::max(norm, Coefficients::gamma * update.head(nv).cwiseProduct(weight).lpNorm<Eigen::Infinity>());
      v_part_ = h * update.head(nv);
      if (system_.space().is_commutative()) {
        x.theta[i] -= v_part_;
      } else {
        system_.space().tangent_inverse(x.theta[i], v_part_, work_);
        x.theta[i] -= work_;
      }
      x.lambda[i + 1] -= update.segment(nv, rows) / h;
      lambda_update = std::max(lambda_update, largest(update.segment(nv, rows)) / h);
      lambda_size = std::max(lambda_size, largest(x.lambda[i + 1]));
      if (!formulation_.has_eta) continue;
      x.eta[i] -= update.tail(position_rows);
      rows_.head(position_rows) = update.tail(position_rows);
      stabilization(rows_, dv_);
      norm = std::max(norm, dv_.cwiseProduct(weight).lpNorm<Eigen::Infinity>());
    }
    norm /= options_.tolerance;
    if (!std::isfinite(norm)) return {CloseStatus::not_finite, iteration, norm};
    if (!measure_turns(x)) return {CloseStatus::diverged, iteration, norm};
    const bool is_known = iteration > 1, had_converged = x_has_converged;
    if (is_known) {
      rate = norm / previous_norm;
      if (matrix != Matrix::coupled && !x_has_converged) rate_ = rate;
      x_has_converged = x_has_converged || (matrix == Matrix::coupled && iteration > 2 && rate > noise_rate &&
                                            std::max(norm, previous_norm) <= most_noise);
      const bool is_judged = !x_has_converged && (matrix != Matrix::coupled || iteration > 2);
      if (is_judged && norm > 1.0 &&
          rate > (iteration <= limits.patience ? limits.hopeless_rate : limits.diverging_rate))
        return {CloseStatus::diverged, iteration, norm};
      // The error after the last allowed iteration.
      const double left = norm * std::pow(rate, options_.max_iterations - iteration);
      if (is_judged && matrix != Matrix::coupled && iteration > limits.patience && left > 1.0)
        return {CloseStatus::diverged, iteration, norm};
    }
    previous_norm = norm;
    // The remaining error is about rate/(1-rate) times the update; before a rate is seen, the update itself.
    double remaining = norm;
    if (is_known || rate > 0.0) {
      const double bounded = std::clamp(rate, iteration > 2 ? 0.0 : assumed_rate, limits.diverging_rate);
      remaining *= bounded / (1.0 - bounded);
    }
    x_has_converged = x_has_converged || remaining <= 1.0;  // later updates of x are round-off
    // In steady rotation x is right from the first guess on, while λ still turns.
    const double allowed_update = options_.lambda_tolerance * lambda_size;
    const double lambda_rate = previous_lambda_update > 0.0 ? lambda_update / previous_lambda_update : 1.0;
    bool lambda_is_settled = lambda_update * std::min(1.0, lambda_rate) <= allowed_update;
    if (x_has_converged && !lambda_is_settled && iteration == 1)
      lambda_is_settled =
          lambda_update * (matrix == Matrix::coupled ? rate : std::max(rate, turn_of_matrix())) <= allowed_update;
    if (!lambda_is_settled && had_converged && lambda_rate > 0.5) {  // round-off, or B has turned away
      if (matrix != Matrix::coupled && turn_of_matrix() > (matrix == Matrix::kept ? near_turn_of_kept : near_turn))
        return {CloseStatus::diverged, iteration, norm};
      lambda_is_settled = true;
    }
    previous_lambda_update = lambda_update;
    if (x_has_converged && lambda_is_settled) return {CloseStatus::converged, iteration, norm};
  }
  return {CloseStatus::diverged, options_.max_iterations, previous_norm};
}

/// How far bodies have turned, or moved relative to where they are, between the matrix and the stages.
double Radau::turn_of_matrix() {
  double turn = 0.0;
  for (const Motion& m : stage_) {
    system_.space().difference(made_at_.q, m.q, work_);
    for (const lie::Block& block : system_.space().blocks()) {
      const int n = lie::translations_of(block);
      const double way = work_.segment(block.v_at, n).norm();
      if (way > 0.0) turn = std::max(turn, way / (way + m.q.segment(block.q_at, n).norm()));
      turn = std::max(turn, work_.segment(block.v_at + n, block.nv - n).norm());
    }
  }
  return turn;
}

Closed Radau::step(const Entry& from, double h, const Collocation& past, ConstVectorRef weight, Collocation& out,
                   Entry& to) {
  guess(from, h, past, out);
  return close(from, h, weight, out, to);
}

Closed Radau::restage(const Entry& from, const Entry& to, ConstVectorRef weight, Collocation& out) {
  const double h = to.motion.t - from.motion.t;
  begin(from, h, out);
  // The polynomial of degree 5 with θ, θ', θ'' of both ends, θ'' with T(θ)⁻¹v̇ in place of (T(θ)⁻¹v)': accurate enough for a guess.
  system_.space().tangent_inverse(to.omega, to.motion.v, dv_);
  system_.space().tangent_inverse(to.omega, to.motion.a, v_part_);
  for (int i = 0; i < stages; ++i) {
    const double s = Coefficients::c[i], r = 1.0 - s;
    out.theta[i] = (s * s * s * (1.0 + 3.0 * r + 6.0 * r * r)) * to.omega +
                   (h * s * r * r * r * (1.0 + 3.0 * s)) * from.motion.v - (h * r * s * s * s * (1.0 + 3.0 * r)) * dv_ +
                   (0.5 * h * h * s * s * r * r * r) * from.motion.a + (0.5 * h * h * s * s * s * r * r) * v_part_;
    out.lambda[i + 1] = r * from.lambda + s * to.lambda;
    out.eta[i].setZero();
  }
  restaged_ = to;
  return close(from, h, weight, out, restaged_);
}

Closed Radau::close(const Entry& from, double h, ConstVectorRef weight, Collocation& out, Entry& to) {
  if (!measure_turns(out)) return {CloseStatus::diverged};
  for (int i = 0; i < stages; ++i) {
    theta_start_[i] = out.theta[i];
    lambda_start_[i] = out.lambda[i + 1];
    eta_start_[i] = out.eta[i];
  }
  const bool starts_fresh = options_.refresh == RefreshPolicy::every_step || real_solver_->is_rank_revealing() ||
                            !has_linearization_ || age_ > limits.max_age || rate_ > limits.slow_rate;
  const Matrix first = coupled_steps_ > 0 ? Matrix::coupled : starts_fresh ? Matrix::fresh : Matrix::kept;
  int spent = 0;
  Closed closed;
  for (Matrix rung = first;; rung = rung == Matrix::kept ? Matrix::fresh : Matrix::coupled) {
    evaluate(from, h, out);
    if (!is_finite()) {
      closed = {CloseStatus::not_finite};
    } else {
      if (!prepare(rung, h, out)) {
        has_linearization_ = false;
        return {CloseStatus::singular_matrix, spent};
      }
      closed = iterate(from, h, weight, rung, out);
    }
    iterations_ = closed.iterations;
    spent += closed.iterations;
    closed.iterations = spent;
    closed.kept_matrix = rung == Matrix::kept;
    if (closed.status == CloseStatus::converged) {
      if (rung != Matrix::coupled) {
        coupled_patience_ = std::max(1, coupled_patience_ / 2);
      } else if (first == Matrix::coupled) {
        --coupled_steps_;
      } else {
        coupled_steps_ = coupled_patience_;
        coupled_patience_ = std::min(2 * coupled_patience_, most_coupled_steps);
      }
    }
    if (closed.status == CloseStatus::converged || rung == Matrix::coupled || spent == 0 || turned_ > 1.0) break;
    for (int i = 0; i < stages; ++i) {
      out.theta[i] = theta_start_[i];
      out.lambda[i + 1] = lambda_start_[i];
      out.eta[i] = eta_start_[i];
    }
    has_linearization_ = false;
  }
  if (closed.status != CloseStatus::converged) {
    has_linearization_ = false;
    return closed;
  }
  ++age_;
  if (!finish(from, h, out, to)) closed.status = CloseStatus::not_finite;
  return closed;
}

/// Makes the matrices of a rung; false when one is singular.
bool Radau::prepare(Matrix rung, double h, const Collocation& x) {
  if (rung == Matrix::coupled) {
    // Most runs never need it: it is created at first use.
    if (coupled_ == nullptr)
      coupled_ = std::make_unique<CoupledStages>(system_, formulation_, layout_, metric_, options_.linear_solver);
    counters_.jacobian_evaluations += stages;
    for (int i = 0; i < stages; ++i) coupled_->linearize(i, stage_[i], x.lambda[i + 1]);
    ++counters_.factorizations;
    has_linearization_ = false;
    return coupled_->factorize(h);
  }
  if (rung == Matrix::fresh) linearize(stage_[1], x.lambda[2]);
  const bool fits = has_factors_ && std::abs(h / factors_h_ - 1.0) < same_step;
  return fits || factorize(h);
}

bool Radau::finish(const Entry& from, double h, Collocation& x, Entry& to) {
  place(from, h, x);
  for (int i = 0; i < stages; ++i) {
    x.v[i + 1] = stage_[i].v;
    x.a[i] = stage_[i].a;
  }
  to.motion = stage_[2];
  to.lambda = x.lambda[3];
  to.eta = x.eta[2];
  to.omega = x.theta[2];
  to.h = h;
  lambda_defect_ = 0.0;
  is_completed_ = false;
  if (completes_) {
    completed_at_ = to.motion;
    if (kkt_.complete(to.motion, to.lambda, completes_velocity_)) {
      x.v[3] = to.motion.v;
      x.a[2] = to.motion.a;
      lambda_defect_ = (to.lambda - x.lambda[3]).norm();
      x.lambda[3] = to.lambda;
      is_completed_ = true;
    } else {  // a singular position: the values of the stage are kept
      to.motion = stage_[2];
      to.lambda = x.lambda[3];
    }
  }
  return to.motion.q.allFinite() && to.motion.v.allFinite();
}

bool Radau::jump_to(double t, Entry& at, Collocation& past) {
  if (!is_completed_) {
    completed_at_ = at.motion;
    is_completed_ = kkt_.factorize(at.motion);
  }
  dv_ = at.motion.v;
  v_part_ = at.motion.a;
  rows_ = at.lambda;
  if (!is_completed_ || !kkt_.jump_to(t, at.motion, at.lambda)) return false;
  dv_ = at.motion.v - dv_;
  v_part_ = at.motion.a - v_part_;
  rows_ = at.lambda - rows_;
  for (int i = 0; i <= stages; ++i) {
    const double s = i == 0 ? 0.0 : Coefficients::c[i - 1];
    past.v[i] += dv_ + ((s - 1.0) * past.h) * v_part_;
    past.lambda[i] += rows_;
  }
  return true;
}

void Radau::refine(Collocation& step) {
  if (!completes_) return;
  is_completed_ = false;
  for (int i = 0; i < stages - 1; ++i) {
    Motion& m = shifted_;
    m.t = step.t + Coefficients::c[i] * step.h;
    system_.space().move(step.q, step.theta[i], m.q);
    m.v = step.v[i + 1];
    m.a = step.a[i];
    work_lambda_ = step.lambda[i + 1];
    if (!kkt_.complete(m, work_lambda_, completes_velocity_)) continue;
    step.v[i + 1] = m.v;
    step.a[i] = m.a;
    step.lambda[i + 1] = work_lambda_;
  }
}

void Radau::return_to_end() {
  if (completes_ && !is_completed_) is_completed_ = kkt_.factorize(completed_at_);
}

// ---- the error estimate

void Radau::error_estimate(const Entry& from, const Collocation& step, bool is_repeated, VectorRef q_error,
                           VectorRef v_error) {
  constexpr double gamma = Coefficients::gamma;
  const lie::Space& space = system_.space();
  const int nv = space.nv(), rows = system_.pattern().rows(), position_rows = system_.pattern().position_rows();
  const double h = step.h;
  if (!has_linearization_) {  // the step was closed with the coupled matrix
    linearize(stage_[1], step.lambda[2]);
    assemble(gamma, h, real_matrix_);
    ++counters_.factorizations;
    if (!real_solver_->factorize(real_matrix_)) {
      has_linearization_ = false;
      q_error.setConstant(std::numeric_limits<double>::quiet_NaN());
      return;
    }
  }
  Vector& b = right_hand_side_[0];
  Vector& theta_rate = dv_;  // the derivatives at t_n plus Σ e_i (Y_i - y_n)/h
  Vector& v_rate = v_part_;
  b.setZero();
  theta_rate = from.motion.v;
  v_rate = from.motion.a;
  if (is_repeated) {
    shifted_.t = from.motion.t;
    space.move(from.motion.q, q_error, shifted_.q);
    shifted_.v = from.motion.v + v_error;
    shifted_.a.setZero();
    space.tangent_inverse(q_error, shifted_.v, theta_rate);
    ++counters_.residual_evaluations;
    system_.residual(shifted_, from.lambda, shifted_residual_);
    b.head(nv) = -h * shifted_residual_.force;
    v_rate.setZero();
  }
  for (int i = 0; i < stages; ++i) {
    theta_rate += (Coefficients::e[i] / h) * step.theta[i];
    v_rate += (Coefficients::e[i] / h) * (step.v[i + 1] - from.motion.v);
  }
  // (γ/h)ζ + [v, ζ] - δv + W Bᵀη = theta_rate and M(γ/h)δv + D δv + K ζ + F δλ = M v_rate, δv eliminated.
  work_ = h * v_rate + gamma * theta_rate;
  add_coupled(blocks_.M, work_, 1.0, b.head(nv));
  add_coupled(blocks_.D, theta_rate, h, b.head(nv));
  if (rows > 0) {
    rows_.setZero();
    add_rows(blocks_.B, theta_rate, 1.0, rows_);
    switch (formulation_.lambda_row) {
      case ConstraintLevel::position:
        b.segment(nv, rows).tail(rows - position_rows) = rows_.tail(rows - position_rows);
        break;
      case ConstraintLevel::velocity:
        b.segment(nv, rows) = rows_;
        break;
      case ConstraintLevel::acceleration:
        add_rows(blocks_.B, work_, 1.0, b.segment(nv, rows));
        add_rows(blocks_.H, theta_rate, 2.0 * h, b.segment(nv, rows));
        break;
    }
    if (formulation_.has_eta) b.tail(position_rows) = rows_.head(position_rows);
  }
  if (has_small_masses_) b.head(nv).array() *= row_scale_.array();
  real_solver_->solve(b);
  v_error = gamma * b.head(nv) - theta_rate;
  q_error = h * b.head(nv);
  space.bracket(made_at_.v, q_error, work_);
  v_error += work_;
  if (formulation_.has_eta) {
    stabilization(b.tail(position_rows), work_);
    v_error += work_;
  }
  // In index-3 form the normal part of v is not an error of the step: it is projected.
  if (completes_velocity_) {
    kkt_.constrained_part(v_error, work_);
    v_error -= work_;
  }
}

void Radau::add_coupled(const Vector& values, ConstVectorRef x, double scale, VectorRef out) const {
  const auto& blocks = system_.space().blocks();
  for (const Pattern::Coupling& c : system_.pattern().couplings()) {
    const lie::Block& row = blocks[c.row];
    const lie::Block& column = blocks[c.column];
    const ConstMatrixMap A(values.data() + c.at, row.nv, column.nv);
    out.segment(row.v_at, row.nv).noalias() += scale * (A * x.segment(column.v_at, column.nv));
  }
}

void Radau::add_rows(const Vector& values, ConstVectorRef x, double scale, VectorRef out) const {
  for (const Pattern::Touch& touch : system_.pattern().touches()) {
    const RowGroup& group = system_.pattern().groups()[touch.group];
    const lie::Block& block = system_.space().blocks()[touch.block];
    const ConstMatrixMap A(values.data() + touch.at, group.rows, block.nv);
    out.segment(group.at, group.rows).noalias() += scale * (A * x.segment(block.v_at, block.nv));
  }
}

void Radau::stabilization(ConstVectorRef eta, VectorRef out) const {
  out.setZero();
  for (const Pattern::Touch& touch : system_.pattern().touches()) {
    const RowGroup& group = system_.pattern().groups()[touch.group];
    if (group.level != RowLevel::position) continue;
    const lie::Block& block = system_.space().blocks()[touch.block];
    const ConstMatrixMap B(weighed_B_.data() + touch.at, group.rows, block.nv);
    out.segment(block.v_at, block.nv).noalias() += B.transpose() * eta.segment(group.at, group.rows);
  }
}

// ---- messages and state

std::string Radau::worst_rows() const {
  const auto size = [](const system::Residual& r) { return r.force.norm(); };
  const auto worst = std::max_element(residual_.begin(), residual_.end(),
                                      [&](const auto& a, const auto& b) { return size(a) < size(b); });
  return solve::worst_rows(system_, formulation_, *worst);
}

Radau::State Radau::state() const {
  State state{.has_linearization = has_linearization_,
              .has_factors = has_factors_,
              .is_completed = is_completed_,
              .factors_h = factors_h_,
              .rate = rate_,
              .age = age_,
              .coupled_steps = coupled_steps_,
              .coupled_patience = coupled_patience_,
              .made_at = made_at_,
              .completed_at = completed_at_,
              .made_lambda = made_lambda_,
              .real_pivots = {},
              .complex_pivots_real = {},
              .complex_pivots_imaginary = {},
              .coupled_pivots = {}};
  if (const Vector* pivots = real_solver_->pivot_values()) state.real_pivots = *pivots;
  if (const Eigen::VectorXcd* pivots = complex_solver_->pivot_values()) {
    state.complex_pivots_real = pivots->real();
    state.complex_pivots_imaginary = pivots->imag();
  }
  if (coupled_ != nullptr)
    if (const Vector* pivots = coupled_->pivot_values()) state.coupled_pivots = *pivots;
  return state;
}

void Radau::restore(const State& state) {
  const Counters before = counters_;  // the cost of recomputing the matrices is not counted
  if (state.real_pivots.size() > 0) {
    real_matrix_.values() = state.real_pivots;
    static_cast<void>(real_solver_->factorize(real_matrix_));
  }
  if (state.complex_pivots_real.size() > 0) {
    complex_matrix_.values().real() = state.complex_pivots_real;
    complex_matrix_.values().imag() = state.complex_pivots_imaginary;
    static_cast<void>(complex_solver_->factorize(complex_matrix_));
  }
  if (state.coupled_pivots.size() > 0) {
    coupled_ = std::make_unique<CoupledStages>(system_, formulation_, layout_, metric_, options_.linear_solver);
    coupled_->take_pivots(state.coupled_pivots);
  }
  if (state.has_linearization) linearize(state.made_at, state.made_lambda);
  has_linearization_ = state.has_linearization;
  factors_h_ = state.factors_h;
  has_factors_ = state.has_factors && factorize(state.factors_h);
  rate_ = state.rate;
  age_ = state.age;
  coupled_steps_ = state.coupled_steps;
  coupled_patience_ = state.coupled_patience;
  completed_at_ = state.completed_at;
  is_completed_ = state.is_completed && kkt_.factorize(completed_at_);
  counters_ = before;
}

}  // namespace kreisel::solve
