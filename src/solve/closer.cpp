#include "solve/closer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/norm.hpp"
#include "block_products.hpp"
#include "lie/group_info.hpp"
#include "solve/newton_limits.hpp"

namespace kreisel::solve {
namespace {

using system::Pattern;
using system::RowGroup;
using system::RowLevel;

constexpr const NewtonLimits& limits = limits_of_steps;
/// Relative change of the step size above which h²K and hD in the matrix are too inaccurate.
constexpr double step_drift = 0.6;
/// B of a matrix that is further away than this does not determine λ [rad].
constexpr double far_turn = 2.0;
/// Closer than this B has hardly changed: updates of λ that do not shrink are round-off.
constexpr double near_turn = 0.1;
/// A force S times stiffer than inertia that has turned by θ since the matrix was made couples to the soft directions by θ and
/// causes errors there of S θ times its own update. Updates below the tolerance may thus leave errors far above it, which their
/// ratio does not show. Below this S it does.
constexpr double stiff_ratio = 100.0;
/// Vibrations with D below this part of √(KM) decay slowly. Where forces join a body to several others, as in a rod, there are slower
/// vibrations than that of a single body: of those with the same K/D the ones below this part of K/D decay slowly.
constexpr double light_damping = 0.6;
/// A new matrix is cheaper than the iterations that this S θ costs.
constexpr double worn_stiffness = 30.0;
/// Largest factor by which an update must be smaller; beyond it round-off would prevent convergence.
constexpr double most_hidden = 1e3;
/// Ratios of updates that were smaller than this fraction of the tolerance are round-off.
constexpr double seen = 1e-3;
/// Upper bound of the rate of λ: no step turns a body this far [rad].
constexpr double widest_rate = 7.0;
/// The size of λ is forgotten at this rate, so that a singular position does not loosen the test for ever.
constexpr double memory_of_lambda = 0.9;

/// Zero for systems without constraints.
double largest(ConstVectorRef v) { return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0.0; }

}  // namespace

Closer::Closer(const system::System& system, Formulation formulation, const NewtonOptions& options, Counters& counters)
    : system_(system),
      formulation_(info_of(formulation)),
      options_(options),
      counters_(counters),
      layout_(system, formulation_),
      matrix_(layout_.pattern),
      solver_(linear::make_solver(options.linear_solver, matrix_)),
      blocks_(system.pattern()),
      tangent_(system.space()),
      residual_(system.space().nv(), system.pattern().position_rows(), system.pattern().rows()) {
  // Methods whose v_x and a_x are not multiples of the identity allocate blocks for them.
  tangent_.v_x_blocks = tangent_.a_x_blocks = Vector();
  const int nv = system.space().nv();
  x_.setZero(nv);
  x_start_.setZero(nv);
  moved_.setZero(nv);
  dv_.setZero(nv);
  lambda_start_.setZero(system.pattern().rows());
  eta_start_.setZero(system.pattern().position_rows());
  acceleration_gap_.setZero(system.pattern().rows());
  std::vector<int> neighbours(system.space().blocks().size());
  for (const Pattern::Coupling& c : system.pattern().couplings())
    if (c.row != c.column) ++neighbours[static_cast<std::size_t>(c.row)];
  for (const int count : neighbours) is_in_chain_.push_back(count > 1);
  int largest_block = 0;
  for (const lie::Block& block : system.space().blocks()) largest_block = std::max(largest_block, block.nv);
  shifted_.setZero(largest_block * largest_block);
  int most_rows = 0;
  for (const RowGroup& group : system.pattern().groups()) most_rows = std::max(most_rows, group.rows);
  weighed_.setZero(most_rows * largest_block);
  metric_ = stabilization_metric(system.space(), options.length);
  right_hand_side_.setZero(matrix_.size());
}

struct Closer::Transposed {
  Transposed(const linear::BlockMatrix& of, const std::string& solver_name)
      : matrix(of.transposed_pattern()), solver(linear::make_solver(solver_name, matrix)) {
    for (const linear::BlockPattern::Entry& e : of.entries()) place.push_back(matrix.find(e.column, e.row));
  }
  [[nodiscard]] bool factorize(const linear::BlockMatrix& of) {
    for (std::size_t i = 0; i < place.size(); ++i) matrix.block(place[i]) = of.block(static_cast<int>(i)).transpose();
    return solver->factorize(matrix);
  }

  linear::BlockMatrix matrix;
  std::unique_ptr<linear::Solver> solver;
  std::vector<int> place;  ///< of the entries of the matrix itself
};

Closer::~Closer() = default;

Closed Closer::close(method::Method& method, const method::History& history, double h, ConstVectorRef weight,
                     method::Entry& trial) {
  history_ = &history;
  method.guess(x_);
  x_start_ = x_;
  lambda_start_ = trial.lambda;
  eta_start_ = trial.eta;
  if (lambda_size_ == 0.0) lambda_size_ = largest(lambda_start_);
  const method::Method::Coefficients coefficients = method.coefficients();
  gamma_ = coefficients.gamma;
  alpha_ = coefficients.alpha;

  // B(q_n)ᵀη of the step before last is another direction: in small mechanisms the resulting error of v does not vanish.
  const bool serves_badly = stabilizes_at_previous(method) && options_.refresh != RefreshPolicy::on_request;
  const bool starts_fresh =
      options_.refresh == RefreshPolicy::every_step || solver_->is_rank_revealing() || is_stale(h) || serves_badly;
  int spent = 0;
  Closed closed;
  for (Matrix rung = starts_fresh ? Matrix::fresh : Matrix::kept;;
       rung = rung == Matrix::kept ? Matrix::fresh : Matrix::of_every_iteration) {
    evaluate(method, trial);
    if (!residual_.force.allFinite())
      closed = {CloseStatus::not_finite};
    else if (rung != Matrix::kept && !refresh(method, h, trial))
      return {CloseStatus::singular_matrix, spent};
    else
      closed = iterate(method, h, weight, rung, trial);
    spent += closed.iterations;
    closed.iterations = spent;
    closed.kept_matrix = rung == Matrix::kept;
    if (closed.status == CloseStatus::converged || rung == Matrix::of_every_iteration || spent == 0) break;
    x_ = x_start_;
    trial.lambda = lambda_start_;
    trial.eta = eta_start_;
    has_matrix_ = false;
  }
  if (closed.status == CloseStatus::converged) {
    if (solver_->is_rank_revealing()) take_smallest_multipliers(trial);
    ++age_;
    moved_ = h * x_;
    turned_ += turn_of(moved_, trial.motion.q);
    lambda_size_ = std::max(largest(trial.lambda), memory_of_lambda * lambda_size_);
    method.record(x_, trial);
    trial.h = h;
  } else {
    has_matrix_ = false;
  }
  return closed;
}

bool Closer::stabilizes_at_previous(const method::Method& method) const {
  return formulation_.has_eta && method.stabilization_point() == method::StabilizationPoint::previous;
}

bool Closer::is_stale(double h) const {
  const bool is_stiff_and_turned = stiffness_ > stiff_ratio && stiffness_ * turned_ > worn_stiffness;
  const bool has_turned_away = turned_ > far_turn && !has_rate_ && system_.pattern().rows() > 0;
  return !has_matrix_ || age_ > limits.max_age || rate_ > limits.slow_rate || has_turned_away || is_stiff_and_turned ||
         std::abs(h / matrix_h_ - 1.0) > step_drift;
}

void Closer::stabilization(const method::Method& method, const method::Entry& trial, ConstVectorRef eta) {
  system_.constraint_force(stabilizes_at_previous(method) ? (*history_)[0].motion : trial.motion, eta, dv_);
  dv_ = dv_.cwiseProduct(metric_);
}

void Closer::evaluate(method::Method& method, method::Entry& trial) {
  method.position(x_, trial.motion.q);
  if (formulation_.has_eta) stabilization(method, trial, trial.eta);
  method.velocity(x_, dv_, trial.motion);
  ++counters_.residual_evaluations;
  system_.residual(trial.motion, trial.lambda, residual_);
  if (formulation_.lambda_row == ConstraintLevel::acceleration)
    system_.acceleration_gap(trial.motion, acceleration_gap_);
  if (const double a = options_.baumgarte; a > 0.0) {
    const int position_rows = system_.pattern().position_rows();
    acceleration_gap_ += a * residual_.rate;
    acceleration_gap_.head(position_rows) += a * residual_.rate.head(position_rows) + (a * a) * residual_.gap;
  }
}

/// Rows (h·force, constraint/h, rate), scaled for a matrix made with other coefficients: with y = γ₁δx the linearised
/// rows are α₀M(y + Bᵀδη) + Bᵀδ(hλ), (1/γ₁) B T y, B y + B Bᵀδη, so that α₀ and γ₁ of the matrix can be exchanged exactly.
void Closer::fill_right_hand_side(double h) {
  const Pattern& pattern = system_.pattern();
  const int nv = system_.space().nv(), rows = pattern.rows(), position_rows = pattern.position_rows();
  right_hand_side_.head(nv) = (h * matrix_alpha_ / alpha_) * residual_.force;
  auto lambda_rows = right_hand_side_.segment(nv, rows);
  switch (formulation_.lambda_row) {
    case ConstraintLevel::position:
      lambda_rows.head(position_rows) = (gamma_ / (matrix_gamma_ * h)) * residual_.gap;
      lambda_rows.tail(rows - position_rows) = residual_.rate.tail(rows - position_rows);
      break;
    case ConstraintLevel::velocity:
      lambda_rows = residual_.rate;
      break;
    case ConstraintLevel::acceleration:
      lambda_rows = (h * matrix_alpha_ / alpha_) * acceleration_gap_;
      break;
  }
  if (formulation_.has_eta) right_hand_side_.tail(position_rows) = residual_.rate.head(position_rows);
}

double Closer::turn_of(ConstVectorRef x, ConstVectorRef q) const {
  double turn = 0.0;
  for (const lie::Block& block : system_.space().blocks()) {
    const int n = lie::translations_of(block);
    const double way = norm_of(x.data() + block.v_at, n);
    if (way > 0.0) turn = std::max(turn, way / (way + norm_of(q.data() + block.q_at, n)));
    turn = std::max(turn, norm_of(x.data() + block.v_at + n, block.nv - n));
  }
  return turn;
}

double Closer::turn_of_matrix(Matrix matrix, double h, const method::Entry& trial) {
  switch (matrix) {
    case Matrix::kept:
      moved_ = h * x_;
      return std::min(1.0, turned_ + turn_of(moved_, trial.motion.q));
    case Matrix::fresh:
      moved_ = h * (x_ - x_start_);
      break;
    case Matrix::of_every_iteration:
      moved_ = (h * matrix_gamma_ / gamma_) * right_hand_side_.head(x_.size());
      break;
  }
  return turn_of(moved_, trial.motion.q);
}

double Closer::lambda_rate(Matrix matrix, double h, const method::Entry& trial) {
  // In steady rotation x is right from the first guess on and shows no rate.
  if (matrix == Matrix::kept && !has_rate_) return turn_of_matrix(matrix, h, trial);
  return std::max(turn_of_matrix(Matrix::fresh, h, trial), matrix == Matrix::kept ? rate_ : 0.0);
}

Closed Closer::iterate(method::Method& method, double h, ConstVectorRef weight, Matrix& matrix, method::Entry& trial) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows();
  double previous_norm = 0.0, previous_lambda_update = 0.0;
  bool x_has_converged = false;
  double rate = rate_;
  // With a matrix for every step and a fixed small tolerance there is no hidden error.
  const bool may_hide = stiffness_ > stiff_ratio && options_.refresh != RefreshPolicy::every_step;
  for (int iteration = 1; iteration <= options_.max_iterations; ++iteration) {
    if (iteration > 1) evaluate(method, trial);
    if (iteration > 1 && matrix == Matrix::of_every_iteration) {
      if (!residual_.force.allFinite()) return {CloseStatus::not_finite, iteration - 1};
      if (!refresh(method, h, trial)) return {CloseStatus::singular_matrix, iteration - 1};
    }
    fill_right_hand_side(h);
    solver_->solve(right_hand_side_);
    ++counters_.newton_iterations;
    x_ -= (matrix_gamma_ / gamma_) * right_hand_side_.head(nv);
    trial.lambda -= (alpha_ / (matrix_alpha_ * h)) * right_hand_side_.segment(nv, rows);
    if (formulation_.has_eta) trial.eta -= right_hand_side_.tail(trial.eta.size());

    double norm =
        (matrix_gamma_ * right_hand_side_.head(nv).cwiseProduct(weight)).lpNorm<Eigen::Infinity>() / options_.tolerance;
    // v = v(x) + Bᵀη: with an old matrix δη may lag behind δx, as in small mechanisms, whose B has entries of very different
    // size. An old matrix leaves a fraction of the first update, which is η itself, given by its rate.
    if (formulation_.has_eta && matrix == Matrix::kept) {
      stabilization(method, trial, right_hand_side_.tail(trial.eta.size()));
      const double left = iteration > 1 ? 1.0 : limits.slow_rate;
      norm = std::max(norm, left * dv_.cwiseProduct(weight).lpNorm<Eigen::Infinity>() / options_.tolerance);
    }
    if (!std::isfinite(norm)) return {CloseStatus::not_finite, iteration, norm};
    if (iteration > 1) {
      rate = norm / previous_norm;
      if (previous_norm > seen) {
        rate_ = rate;
        has_rate_ = true;
      }
      // Where forces depend on λ, as friction does, x may hardly move until the first update of λ has been seen.
      const bool is_judged = matrix != Matrix::of_every_iteration || iteration > 2;
      if (is_judged && !x_has_converged && norm > 1.0 &&
          rate > (iteration <= limits.patience ? limits.hopeless_rate : limits.diverging_rate))
        return {CloseStatus::diverged, iteration, norm};
    }
    previous_norm = norm;
    // The remaining error is about rate/(1-rate) times the update; before a rate is seen, the update itself.
    const double remaining = iteration > 1 ? norm * rate / (1.0 - std::min(rate, limits.diverging_rate)) : norm;
    const bool had_converged = x_has_converged;
    const double hidden = may_hide ? norm * std::min(most_hidden, stiffness_ * turn_of_matrix(matrix, h, trial)) : 0.0;
    if (remaining <= 1.0 && hidden > 1.0 && iteration > 2 && rate > 0.5) {  // no longer shrinks
      if (matrix != Matrix::of_every_iteration) return {CloseStatus::diverged, iteration, norm};
      x_has_converged = true;
    }
    x_has_converged = x_has_converged || (remaining <= 1.0 && hidden <= 1.0);  // later updates of x are round-off
    const double lambda_update = (alpha_ / (matrix_alpha_ * h)) * largest(right_hand_side_.segment(nv, rows));
    const double allowed_update = options_.lambda_tolerance * std::max(lambda_size_, largest(trial.lambda));
    // Computed only when needed: the rotation of bodies costs as much as the test of x.
    bool lambda_is_settled = x_has_converged && (lambda_update * widest_rate <= allowed_update ||
                                                 lambda_update * lambda_rate(matrix, h, trial) <= allowed_update);
    // Once x has converged, updates of λ that no longer shrink are round-off, unless B has turned away from the matrix.
    if (!lambda_is_settled && had_converged && lambda_update > 0.5 * previous_lambda_update) {
      if (matrix == Matrix::kept && turned_ > near_turn) {
        evaluate(method, trial);
        if (!residual_.force.allFinite()) return {CloseStatus::not_finite, iteration, norm};
        if (!refresh(method, h, trial)) return {CloseStatus::singular_matrix, iteration, norm};
        matrix = Matrix::fresh;
        previous_lambda_update = 0.0;
        continue;
      }
      lambda_is_settled = true;
    }
    previous_lambda_update = lambda_update;
    if (x_has_converged && lambda_is_settled) {
      method.position(x_, trial.motion.q);
      if (formulation_.has_eta) stabilization(method, trial, trial.eta);
      method.velocity(x_, dv_, trial.motion);
      return {CloseStatus::converged, iteration, norm};
    }
  }
  return {CloseStatus::diverged, options_.max_iterations, previous_norm};
}

void Closer::make_matrix(method::Method& method, double h, const method::Entry& trial) {
  method.linearize(x_, tangent_);
  ++counters_.jacobian_evaluations;
  if (stabilizes_at_previous(method)) {
    system_.mass_and_jacobian((*history_)[0].motion, blocks_);
    previous_B_ = blocks_.B;
  }
  eta_B_ = stabilizes_at_previous(method) ? previous_B_.data() : blocks_.B.data();
  system_.linearize(trial.motion, trial.lambda, blocks_);
  find_stiffness(h);
  assemble(h);
}

bool Closer::refresh(method::Method& method, double h, const method::Entry& trial) {
  make_matrix(method, h, trial);
  ++counters_.factorizations;
  has_matrix_ = solver_->factorize(matrix_);
  matrix_alpha_ = alpha_;
  matrix_gamma_ = gamma_;
  matrix_h_ = h;
  age_ = 0;
  rate_ = 0.0;
  has_rate_ = false;
  turned_ = 0.0;
  return has_matrix_;
}

bool Closer::linearize_at(method::Method& method, const method::History& history, double h, ConstVectorRef x,
                          const method::Entry& closed) {
  history_ = &history;
  x_ = x;
  const method::Method::Coefficients coefficients = method.coefficients();
  gamma_ = coefficients.gamma;
  alpha_ = coefficients.alpha;
  return refresh(method, h, closed);
}

bool Closer::linearize_transposed_at(method::Method& method, const method::History& history, double h, ConstVectorRef x,
                                     const method::Entry& closed) {
  history_ = &history;
  x_ = x;
  make_matrix(method, h, closed);
  if (transposed_ == nullptr) transposed_ = std::make_unique<Transposed>(matrix_, options_.linear_solver);
  ++counters_.factorizations;
  return transposed_->factorize(matrix_);
}

void Closer::subtract_transposed(const system::Residual& w, VectorRef dq, VectorRef dv, VectorRef da,
                                 VectorRef dlambda) const {
  const Pattern& pattern = system_.pattern();
  const auto& blocks = system_.space().blocks();
  const auto subtract = [](VectorRef& from, int at, const double* A, int rows, int columns, const double* x) {
    Eigen::Map<Vector>(from.data() + at, columns).noalias() -=
        ConstMatrixMap(A, rows, columns).transpose().lazyProduct(Eigen::Map<const Vector>(x, rows));
  };
  for (const Pattern::Coupling& c : pattern.couplings()) {
    const lie::Block &row = blocks[c.row], &column = blocks[c.column];
    const double* force = w.force.data() + row.v_at;
    subtract(da, column.v_at, blocks_.M.data() + c.at, row.nv, column.nv, force);
    subtract(dv, column.v_at, blocks_.D.data() + c.at, row.nv, column.nv, force);
    subtract(dq, column.v_at, blocks_.K.data() + c.at, row.nv, column.nv, force);
  }
  for (const Pattern::Touch& touch : pattern.touches()) {
    const RowGroup& group = pattern.groups()[touch.group];
    const lie::Block& block = blocks[touch.block];
    const int n = block.nv, r = group.rows;
    const double *B = blocks_.B.data() + touch.at, *rate = w.rate.data() + group.at;
    subtract(dlambda, group.at, blocks_.F.data() + touch.at, n, r, w.force.data() + block.v_at);
    if (group.level == RowLevel::position) subtract(dq, block.v_at, B, r, n, w.gap.data() + group.at);
    subtract(dv, block.v_at, B, r, n, rate);
    subtract(dq, block.v_at, blocks_.H.data() + touch.at, r, n, rate);
  }
}

void Closer::add_jacobian_product(ConstVectorRef u, VectorRef out) const {
  for (const Pattern::Touch& touch : system_.pattern().touches()) {
    const RowGroup& group = system_.pattern().groups()[touch.group];
    const lie::Block& block = system_.space().blocks()[touch.block];
    if (group.level == RowLevel::position)
      add_product(out.data() + group.at, blocks_.B.data() + touch.at, u.data() + block.v_at, group.rows, block.nv, 1,
                  1.0);
  }
}

void Closer::correct_transposed(double h, ConstVectorRef dx, ConstVectorRef dlambda, ConstVectorRef deta,
                                system::Residual& w) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows(),
            position_rows = system_.pattern().position_rows();
  right_hand_side_.head(nv) = dx;
  right_hand_side_.segment(nv, rows) = dlambda / h;
  if (formulation_.has_eta) right_hand_side_.tail(position_rows) = deta;
  transposed_->solver->solve(right_hand_side_);
  w.force += h * right_hand_side_.head(nv);
  const auto of_lambda = right_hand_side_.segment(nv, rows);
  if (formulation_.lambda_row == ConstraintLevel::position) {
    w.gap += of_lambda.head(position_rows) / h;
    w.rate.tail(rows - position_rows) += of_lambda.tail(rows - position_rows);
  } else {
    w.rate += of_lambda;
  }
  if (formulation_.has_eta) w.rate.head(position_rows) += right_hand_side_.tail(position_rows);
}

void Closer::add_changes(ConstVectorRef dq, ConstVectorRef dv, ConstVectorRef da, ConstVectorRef dlambda,
                         system::Residual& out) const {
  const Pattern& pattern = system_.pattern();
  const auto& blocks = system_.space().blocks();
  for (const Pattern::Coupling& c : pattern.couplings()) {
    const lie::Block &row = blocks[c.row], &column = blocks[c.column];
    double* to = out.force.data() + row.v_at;
    add_vector_product(to, blocks_.M.data() + c.at, da.data() + column.v_at, row.nv, column.nv);
    add_vector_product(to, blocks_.D.data() + c.at, dv.data() + column.v_at, row.nv, column.nv);
    add_vector_product(to, blocks_.K.data() + c.at, dq.data() + column.v_at, row.nv, column.nv);
  }
  for (const Pattern::Touch& touch : pattern.touches()) {
    const RowGroup& group = pattern.groups()[touch.group];
    const lie::Block& block = blocks[touch.block];
    const int n = block.nv, r = group.rows;
    const double* B = blocks_.B.data() + touch.at;
    add_vector_product(out.force.data() + block.v_at, blocks_.F.data() + touch.at, dlambda.data() + group.at, n, r);
    if (group.level == RowLevel::position)
      add_vector_product(out.gap.data() + group.at, B, dq.data() + block.v_at, r, n);
    add_vector_product(out.rate.data() + group.at, B, dv.data() + block.v_at, r, n);
    add_vector_product(out.rate.data() + group.at, blocks_.H.data() + touch.at, dq.data() + block.v_at, r, n);
  }
}

void Closer::add_constraint_force(ConstVectorRef mu, VectorRef out) const {
  for (const Pattern::Touch& touch : system_.pattern().touches()) {
    const RowGroup& group = system_.pattern().groups()[touch.group];
    const lie::Block& block = system_.space().blocks()[touch.block];
    if (group.level == RowLevel::position)
      add_transposed_vector_product(out.data() + block.v_at, blocks_.B.data() + touch.at, mu.data() + group.at,
                                    group.rows, block.nv);
  }
}

void Closer::correct(double h, const system::Residual& left, VectorRef dx, VectorRef dlambda, VectorRef deta) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows();
  residual_ = left;
  fill_right_hand_side(h);
  solver_->solve(right_hand_side_);
  dx -= right_hand_side_.head(nv);
  dlambda -= right_hand_side_.segment(nv, rows) / h;
  if (formulation_.has_eta) deta -= right_hand_side_.tail(deta.size());
}

void Closer::find_stiffness(double h) {
  const double damping = h / alpha_, spring = h * damping / gamma_;
  const double *const M = blocks_.M.data(), *const D = blocks_.D.data(), *const K = blocks_.K.data();
  double largest = 0.0, square = 0.0, slower_square = 0.0;
  for (const Pattern::Coupling& c : system_.pattern().couplings()) {
    if (c.row != c.column) continue;
    const int n = system_.space().blocks()[c.row].nv;
    for (int i = 0, at = c.at; i < n; ++i, at += n + 1) {
      const double m = M[at], d = D[at], k = K[at];
      if (!(m > 0.0) || (d == 0.0 && k == 0.0)) continue;
      largest = std::max(largest, (damping * std::abs(d) + spring * std::abs(k)) / m);
      if (!(k > 0.0)) continue;
      if (d * d < light_damping * light_damping * k * m) {
        square = std::max(square, k / m);
      } else if (is_in_chain_[static_cast<std::size_t>(c.row)]) {
        const double slower = light_damping * k / d;
        slower_square = std::max(slower_square, slower * slower);
      }
    }
  }
  stiffness_ = largest;
  vibration_ = std::sqrt(square);
  slower_vibration_ = std::sqrt(slower_square);
}

void Closer::assemble(double h) {
  const Pattern& pattern = system_.pattern();
  const auto& blocks = system_.space().blocks();
  double* values = matrix_.values().data();
  const auto entry_at = [&](int entry) { return values + matrix_.entries()[entry].at; };
  matrix_.values().setConstant(0.0);  // stores, without a call

  for (std::size_t c = 0; c < pattern.couplings().size(); ++c) {
    const Pattern::Coupling& coupling = pattern.couplings()[c];
    const lie::Block& row = blocks[coupling.row];
    const lie::Block& column = blocks[coupling.column];
    const int count = row.nv * column.nv;
    double* out = entry_at(layout_.coupling_entry[c]);
    const double* M = blocks_.M.data() + coupling.at;
    const double* D = blocks_.D.data() + coupling.at;
    const double* K = blocks_.K.data() + coupling.at;
    if (tangent_.has_blocks) {
      add_product(out, M, tangent_.a_x_blocks.data() + column.matrix_at, row.nv, column.nv, column.nv, h);
      add_product(out, D, tangent_.v_x_blocks.data() + column.matrix_at, row.nv, column.nv, column.nv, h);
    } else {
      const double m = h * tangent_.a_x, d = h * tangent_.v_x;
      for (int i = 0; i < count; ++i) out[i] = m * M[i] + d * D[i];
    }
    add_product(out, K, tangent_.q_x.data() + column.matrix_at, row.nv, column.nv, column.nv, h);
  }

  for (std::size_t t = 0; t < pattern.touches().size(); ++t) {
    const Pattern::Touch& touch = pattern.touches()[t];
    const RowGroup& group = pattern.groups()[touch.group];
    const lie::Block& block = blocks[touch.block];
    const int n = block.nv, r = group.rows;
    const double* B = blocks_.B.data() + touch.at;
    const double* H = blocks_.H.data() + touch.at;
    const double* q_x = tangent_.q_x.data() + block.matrix_at;
    std::copy_n(blocks_.F.data() + touch.at, n * r, entry_at(layout_.force_entry[t]));

    const auto add_rate = [&](double* out, double scale_v, double scale_q) {
      if (tangent_.has_blocks)
        add_product(out, B, tangent_.v_x_blocks.data() + block.matrix_at, r, n, n, scale_v);
      else
        for (int i = 0; i < r * n; ++i) out[i] += scale_v * tangent_.v_x * B[i];
      if (scale_q != 0.0) add_product(out, H, q_x, r, n, n, scale_q);
    };
    double* row = entry_at(layout_.lambda_entry[t]);
    const bool is_nonholonomic = group.level == RowLevel::velocity;
    switch (formulation_.lambda_row) {
      case ConstraintLevel::position:
        if (is_nonholonomic)
          add_rate(row, 1.0, 1.0);
        else
          add_product(row, B, q_x, r, n, n, 1.0 / h);
        break;
      case ConstraintLevel::velocity:
        add_rate(row, 1.0, 1.0);
        break;
      case ConstraintLevel::acceleration:
        // d(B v̇ + z): B ∂v̇ + 2H ∂v; the derivative of z with respect to q is left to the iteration.
        if (tangent_.has_blocks) {
          add_product(row, B, tangent_.a_x_blocks.data() + block.matrix_at, r, n, n, h);
          add_product(row, H, tangent_.v_x_blocks.data() + block.matrix_at, r, n, n, 2.0 * h);
        } else {
          for (int i = 0; i < r * n; ++i) row[i] += h * (tangent_.a_x * B[i] + 2.0 * tangent_.v_x * H[i]);
        }
        if (const double a = options_.baumgarte; a > 0.0) {
          const double rate = is_nonholonomic ? a : 2.0 * a;
          add_rate(row, h * rate, h * rate);
          if (!is_nonholonomic) add_product(row, B, q_x, r, n, n, h * a * a);
        }
        break;
    }
    if (layout_.rate_entry[t] >= 0) add_rate(entry_at(layout_.rate_entry[t]), 1.0, 1.0);
  }

  for (const Layout::Product& p : layout_.eta_column) {
    const Pattern::Coupling& coupling = pattern.couplings()[p.left];
    const Pattern::Touch& touch = pattern.touches()[p.right];
    const int rows = blocks[coupling.row].nv, inner = blocks[coupling.column].nv,
              columns = pattern.groups()[touch.group].rows;
    const double* M = blocks_.M.data() + coupling.at;
    const double* D = blocks_.D.data() + coupling.at;
    const double m = h * tangent_.a_dv, d = h * tangent_.v_dv;
    const double* W = metric_.data() + blocks[coupling.column].v_at;
    weigh_columns_of(shifted_.data(), M, m, D, d, W, rows, inner);
    add_product_transposed(entry_at(p.entry), shifted_.data(), eta_B_ + touch.at, rows, inner, columns, 1.0);
  }
  for (const Layout::Product& p : layout_.eta_diagonal) {
    const Pattern::Touch& left = pattern.touches()[p.left];
    const Pattern::Touch& right = pattern.touches()[p.right];
    const int rows = pattern.groups()[left.group].rows, inner = blocks[left.block].nv;
    const double* B = blocks_.B.data() + left.at;
    const double* W = metric_.data() + blocks[left.block].v_at;
    weigh_columns_of(weighed_.data(), B, 1.0, B, 0.0, W, rows, inner);
    add_product_transposed(entry_at(p.entry), weighed_.data(), eta_B_ + right.at, rows, inner,
                           pattern.groups()[right.group].rows, tangent_.v_dv);
  }
}

/// Newton's updates have no part in the kernel of Bᵀ, but the guess has one as soon as B has turned.
void Closer::take_smallest_multipliers(method::Entry& trial) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows();
  right_hand_side_.setZero();
  right_hand_side_.segment(nv, rows) = trial.lambda;
  if (formulation_.has_eta) right_hand_side_.tail(trial.eta.size()) = trial.eta;
  solver_->remove_null_part(right_hand_side_);
  trial.lambda = right_hand_side_.segment(nv, rows);
  if (formulation_.has_eta) trial.eta = right_hand_side_.tail(trial.eta.size());
}

std::string worst_rows(const system::System& system, const FormulationInfo& formulation,
                       const system::Residual& residual) {
  const Pattern& pattern = system.pattern();
  struct Row {
    double size;
    std::string name;
  };
  std::vector<Row> rows;
  const auto size_of = [](double r) { return std::isfinite(r) ? std::abs(r) : HUGE_VAL; };
  const auto& blocks = system.space().blocks();
  for (int b = 0; b < static_cast<int>(blocks.size()); ++b)
    for (int i = 0; i < blocks[b].nv; ++i)
      rows.push_back({size_of(residual.force[blocks[b].v_at + i]),
                      fmt::format("dynamics of '{}' row {}", pattern.block_name(b), i + 1)});
  for (int r = 0; r < pattern.position_rows(); ++r)
    rows.push_back({size_of(residual.gap[r]), fmt::format("constraint {}", pattern.row_name(r))});
  if (formulation.has_eta || formulation.lambda_row == ConstraintLevel::velocity)
    for (int r = 0; r < pattern.rows(); ++r)
      rows.push_back({size_of(residual.rate[r]), fmt::format("rate of constraint {}", pattern.row_name(r))});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.size > b.size; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, rows.size()); ++i)
    text += fmt::format("{}{} ({:.2e})", i == 0 ? "" : ", ", rows[i].name, rows[i].size);
  return text;
}

Closer::MatrixState Closer::matrix_state() const {
  const Vector* pivots = solver_->pivot_values();
  return {has_matrix_,
          matrix_alpha_,
          matrix_gamma_,
          matrix_h_,
          rate_,
          turned_,
          lambda_size_,
          stiffness_,
          vibration_,
          slower_vibration_,
          age_,
          has_rate_,
          matrix_.values(),
          pivots != nullptr ? *pivots : Vector()};
}

void Closer::restore(const MatrixState& state) {
  has_matrix_ = state.has_matrix;
  matrix_alpha_ = state.alpha;
  matrix_gamma_ = state.gamma;
  matrix_h_ = state.h;
  rate_ = state.rate;
  turned_ = state.turned;
  lambda_size_ = state.lambda_size;
  has_rate_ = state.has_rate;
  stiffness_ = state.stiffness;
  vibration_ = state.vibration;
  slower_vibration_ = state.slower_vibration;
  age_ = state.age;
  if (state.pivot_values.size() > 0) {
    matrix_.values() = state.pivot_values;
    has_matrix_ = solver_->factorize(matrix_) && has_matrix_;
  }
  matrix_.values() = state.values;
  if (has_matrix_) has_matrix_ = solver_->factorize(matrix_);
}

}  // namespace kreisel::solve
