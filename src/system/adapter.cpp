#include "kreisel/system/adapter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kreisel/base/error.hpp"
#include "kreisel/system/dense.hpp"
#include "kreisel/system/differences.hpp"

namespace kreisel::system {
namespace {

// Parts of the natural length; see the table in the header.
constexpr double step_of_constraints = 5e-3;
constexpr double step_of_second_derivatives = 1e-2;
constexpr double step_of_forces = 2e-4;
constexpr std::array<double, 6> steps_of_curvature{0.08, 0.04, 0.02, 0.01, 0.005, 0.0025};

[[noreturn]] void refuse(const SystemFunctions& f, const std::string& what) {
  throw InvalidInput(fmt::format("system '{}': {}", f.name, what));
}

void require_pair(const SystemFunctions& f, const char* callback, bool is_given, const char* count, int rows) {
  if (is_given && rows == 0) refuse(f, fmt::format("'{}' is given but {} is 0", callback, count));
  if (!is_given && rows > 0) refuse(f, fmt::format("{} is {} but '{}' is not given", count, rows, callback));
}

void require_size(const SystemFunctions& f, const char* list, std::size_t got, std::size_t expected, const char* unit) {
  if (got != 0 && got != expected)
    refuse(f, fmt::format("{} has {} entries, expected {} (one per {}) or none", list, got, expected, unit));
}

/// Everything that can be said before a function is called.
const SystemFunctions& checked(const SystemFunctions& f) {
  if (f.space.empty()) refuse(f, "space is empty, expected at least one factor, as in space = {{GroupId::rn, 2}}");
  const lie::Space space(f.space);
  if (f.position_rows < 0) refuse(f, fmt::format("position_rows is {}, must not be negative", f.position_rows));
  if (f.velocity_rows < 0) refuse(f, fmt::format("velocity_rows is {}, must not be negative", f.velocity_rows));
  require_size(f, "kinds", f.kinds.size(), f.space.size(), "factor of space");
  require_size(f, "block_names", f.block_names.size(), f.space.size(), "factor of space");
  require_size(f, "row_names", f.row_names.size(), static_cast<std::size_t>(f.position_rows + f.velocity_rows), "row");
  require_size(f, "scale", static_cast<std::size_t>(f.scale.size()), static_cast<std::size_t>(space.nv()),
               "entry of v");
  for (const double scale : f.scale)
    if (!(scale > 0.0)) refuse(f, fmt::format("scale has the entry {}, must be positive", scale));
  for (const Corner& corner : f.corners)
    if (!std::isfinite(corner.t)) refuse(f, fmt::format("corners has the time {}, expected a finite number", corner.t));
  if (!(f.time_scale > 0.0)) refuse(f, fmt::format("time_scale is {}, must be positive", f.time_scale));
  for (std::size_t b = 0; b < f.kinds.size(); ++b)
    if (f.kinds[b] == CoordinateKind::algebraic && f.space[b].group != lie::GroupId::rn)
      refuse(f, fmt::format("factor {} ({}) is algebraic, which only rn can be", b + 1, name_of(f.space[b].group)));

  if (!f.mass) refuse(f, "'mass' is not given");
  if (!f.force) refuse(f, "'force' is not given");
  require_pair(f, "constraint", static_cast<bool>(f.constraint), "position_rows", f.position_rows);
  require_pair(f, "velocity_constraint", static_cast<bool>(f.velocity_constraint), "velocity_rows", f.velocity_rows);
  const bool has_rows = f.position_rows + f.velocity_rows > 0;
  if (f.multiplier_force && !has_rows)
    refuse(f, "'multiplier_force' is given but there are no rows and so no multipliers");
  for (const auto& [callback, is_given] : {std::pair{"jacobian", static_cast<bool>(f.jacobian)},
                                           std::pair{"constraint_rate", static_cast<bool>(f.constraint_rate)},
                                           std::pair{"curvature", static_cast<bool>(f.curvature)}})
    if (is_given && !f.constraint) refuse(f, fmt::format("'{}' is given but 'constraint' is not", callback));
  return f;
}

/// One group per level, or per run of equal row names.
std::vector<RowGroup> groups_of(const SystemFunctions& f) {
  std::vector<int> all_blocks(f.space.size());
  for (std::size_t b = 0; b < all_blocks.size(); ++b) all_blocks[b] = static_cast<int>(b);
  std::vector<RowGroup> groups;
  for (int i = 0; i < f.position_rows + f.velocity_rows; ++i) {
    const RowLevel level = i < f.position_rows ? RowLevel::position : RowLevel::velocity;
    const std::string& name = !f.row_names.empty()          ? f.row_names[i]
                              : level == RowLevel::position ? "constraint"
                                                            : "velocity constraint";
    if (groups.empty() || groups.back().level != level || groups.back().name != name)
      groups.push_back({name, 0, level, all_blocks});
    ++groups.back().rows;
  }
  return groups;
}

Pattern pattern_of(const SystemFunctions& f) {
  std::vector<std::pair<int, int>> couplings;
  const int blocks = static_cast<int>(f.space.size());
  for (int row = 0; row < blocks; ++row)
    for (int column = 0; column < blocks; ++column) couplings.push_back({row, column});
  return Pattern(lie::Space(f.space), groups_of(f), couplings, f.kinds, f.block_names);
}

/// `value`, if it has the size that `callback` promises.
Vector sized(const SystemFunctions& f, const char* callback, const char* expected_is, int expected, Vector value) {
  if (value.size() != expected)
    refuse(f, fmt::format("'{}' returned {} numbers, expected {} ({})", callback, value.size(), expected, expected_is));
  return value;
}

Matrix sized(const SystemFunctions& f, const char* callback, const char* expected_is, int rows, int columns,
             Matrix value) {
  if (value.rows() != rows || value.cols() != columns)
    refuse(f, fmt::format("'{}' returned a {} x {} matrix, expected {} x {} ({})", callback, value.rows(), value.cols(),
                          rows, columns, expected_is));
  return value;
}

/// Column j: derivative of s ↦ f(s e_j) with step part·scale[j].
Matrix differentiate(const std::function<Vector(const Vector&)>& f, const Vector& scale, double part,
                     Eigen::Index rows) {
  Matrix columns(rows, scale.size());
  for (Eigen::Index j = 0; j < scale.size(); ++j)
    columns.col(j) = slope([&](double s) { return f(s * Vector::Unit(scale.size(), j)); }, part * scale[j]);
  return columns;
}

}  // namespace

FunctionSystem::FunctionSystem(SystemFunctions functions)
    : System(lie::Space(checked(functions).space), pattern_of(functions)), functions_(std::move(functions)) {
  const int nv = space().nv();
  scale_ = functions_.scale.size() > 0 ? functions_.scale : Vector::Ones(nv);
  is_dynamic_row_ = Vector::Ones(nv);
  for (std::size_t b = 0; b < space().blocks().size(); ++b) {
    const lie::Block& block = space().blocks()[b];
    if (pattern().kind(static_cast<int>(b)) != CoordinateKind::dynamic)
      is_dynamic_row_.segment(block.v_at, block.nv).setZero();
  }
  std::sort(functions_.corners.begin(), functions_.corners.end(), [](const Corner& a, const Corner& b) { return a.t < b.t; });
  check_sizes();
}

void FunctionSystem::check_sizes() const {
  const Motion m(space());
  const Vector lambda = Vector::Zero(pattern().rows());
  check_mass_rows(mass(m.q));
  force(0.0, m.q, m.v, lambda);
  gap(0.0, m.q);
  velocity_gap(0.0, m.q, m.v);
  if (functions_.jacobian) position_jacobian(0.0, m.q);
  if (functions_.constraint_rate) gap_rate(0.0, m.q);
  if (functions_.curvature) position_curvature(0.0, m.q, m.v);
}

void FunctionSystem::check_mass_rows(const Matrix& M) const {
  for (const lie::Block& block : space().blocks()) {
    const auto rows = M.middleRows(block.v_at, block.nv);
    const auto columns = M.middleCols(block.v_at, block.nv);
    const int b = static_cast<int>(&block - space().blocks().data());
    if (is_dynamic_row_[block.v_at] == 0.0 && !(rows.isZero(0.0) && columns.isZero(0.0)))
      refuse(functions_,
             fmt::format("'mass' has entries in the rows or columns of '{}', which is no dynamic block; they "
                         "must be zero",
                         pattern().block_name(b)));
  }
}

// ---- the functions, with sizes checked

Matrix FunctionSystem::mass(const Vector& q) const {
  const int nv = space().nv();
  return sized(functions_, "mass", "nv x nv", nv, nv, functions_.mass(q));
}

Vector FunctionSystem::force(double t, const Vector& q, const Vector& v, const Vector& lambda) const {
  const int nv = space().nv();
  Vector g = sized(functions_, "force", "nv", nv, functions_.force(t, q, v));
  if (functions_.multiplier_force)
    g += sized(functions_, "multiplier_force", "nv", nv, functions_.multiplier_force(t, q, v, lambda));
  return g;
}

Vector FunctionSystem::gap(double t, const Vector& q) const {
  if (!functions_.constraint) return Vector();
  return sized(functions_, "constraint", "position_rows", functions_.position_rows, functions_.constraint(t, q));
}

Vector FunctionSystem::velocity_gap(double t, const Vector& q, const Vector& v) const {
  if (!functions_.velocity_constraint) return Vector();
  return sized(functions_, "velocity_constraint", "velocity_rows", functions_.velocity_rows,
               functions_.velocity_constraint(t, q, v));
}

// ---- what they imply

Vector FunctionSystem::moved(const Vector& q, const Vector& x) const {
  Vector out(q.size());
  space().move(q, x, out);
  return out;
}

double FunctionSystem::time_step_scale(const Vector& v) const {
  return 1.0 / std::max(1.0 / functions_.time_scale, v.cwiseQuotient(scale_).lpNorm<Eigen::Infinity>());
}

Matrix FunctionSystem::position_jacobian(double t, const Vector& q) const {
  const int rows = functions_.position_rows, nv = space().nv();
  if (rows == 0) return Matrix(0, nv);
  if (functions_.jacobian)
    return sized(functions_, "jacobian", "position_rows x nv", rows, nv, functions_.jacobian(t, q));
  return differentiate([&](const Vector& x) { return gap(t, moved(q, x)); }, scale_, step_of_constraints, rows);
}

/// A v + a is affine in v, so any step is exact; the largest one that keeps v moderate loses least.
Matrix FunctionSystem::velocity_jacobian(double t, const Vector& q) const {
  const int rows = functions_.velocity_rows, nv = space().nv();
  Matrix A(rows, nv);
  if (rows == 0) return A;
  for (int j = 0; j < nv; ++j) {
    const Vector unit = scale_[j] * Vector::Unit(nv, j);
    A.col(j) = (velocity_gap(t, q, unit) - velocity_gap(t, q, -unit)) / (2.0 * scale_[j]);
  }
  return A;
}

Matrix FunctionSystem::jacobian(double t, const Vector& q) const {
  Matrix J(pattern().rows(), space().nv());
  J.topRows(functions_.position_rows) = position_jacobian(t, q);
  J.bottomRows(functions_.velocity_rows) = velocity_jacobian(t, q);
  return J;
}

Vector FunctionSystem::gap_rate(double t, const Vector& q) const {
  if (functions_.constraint_rate)
    return sized(functions_, "constraint_rate", "position_rows", functions_.position_rows,
                 functions_.constraint_rate(t, q));
  if (!functions_.constraint) return Vector();
  return slope([&](double s) { return gap(t + s, q); }, step_of_constraints * functions_.time_scale);
}

/// Linear in v to round-off, as B = ∂rate/∂v wants it.
Vector FunctionSystem::rate(double t, const Vector& q, const Vector& v, const Matrix& J) const {
  Vector out(pattern().rows());
  out.head(functions_.position_rows) = J.topRows(functions_.position_rows) * v + gap_rate(t, q);
  out.tail(functions_.velocity_rows) = velocity_gap(t, q, v);
  return out;
}

/// The same, but without B where that has to be computed: a single derivative along the motion.
Vector FunctionSystem::rate_along(double t, const Vector& q, const Vector& v) const {
  if (functions_.jacobian || !functions_.constraint) return rate(t, q, v, position_jacobian(t, q));
  Vector out(pattern().rows());
  out.head(functions_.position_rows) =
      slope([&](double s) { return gap(t + s, moved(q, s * v)); }, step_of_constraints * time_step_scale(v));
  out.tail(functions_.velocity_rows) = velocity_gap(t, q, v);
  return out;
}

/// d²/ds² Φ(t+s, q∘exp(s v)): along that curve v̇ = 0.
Vector FunctionSystem::position_curvature(double t, const Vector& q, const Vector& v) const {
  const int rows = functions_.position_rows;
  if (rows == 0) return Vector();
  if (functions_.curvature) return sized(functions_, "curvature", "position_rows", rows, functions_.curvature(t, q, v));
  const double scale = time_step_scale(v);
  if (functions_.jacobian && functions_.constraint_rate)
    return slope([&](double s) -> Vector { return rate_along(t + s, moved(q, s * v), v).head(rows); },
                 step_of_constraints* scale);
  const Curve along_the_motion = [&](double s) { return gap(t + s, moved(q, s * v)); };
  return settle([&](double h) { return second_slope(along_the_motion, h * scale); }, steps_of_curvature).value;
}

Vector FunctionSystem::velocity_curvature(double t, const Vector& q, const Vector& v) const {
  if (functions_.velocity_rows == 0) return Vector();
  return slope([&](double s) { return velocity_gap(t + s, moved(q, s * v), v); },
               step_of_constraints * time_step_scale(v));
}

Vector FunctionSystem::constraint_forces(const Matrix& J, const Vector& lambda) const {
  return is_dynamic_row_.cwiseProduct(J.transpose() * lambda);
}

// ---- the System

void FunctionSystem::residual(const Motion& m, ConstVectorRef lambda, Residual& out) const {
  const Matrix J = jacobian(m.t, m.q);
  out.force = mass(m.q) * m.a + force(m.t, m.q, m.v, lambda) + constraint_forces(J, lambda);
  out.gap = gap(m.t, m.q);
  out.rate = rate(m.t, m.q, m.v, J);
}

void FunctionSystem::linearize(const Motion& m, ConstVectorRef lambda_ref, KktBlocks& out) const {
  const int nv = space().nv(), rows = pattern().rows();
  const Vector lambda = lambda_ref;
  const Matrix J = jacobian(m.t, m.q);

  const Matrix D = differentiate([&](const Vector& dv) { return force(m.t, m.q, m.v + dv, lambda); },
                                 m.v.cwiseAbs().cwiseMax(scale_), step_of_forces, nv);
  Matrix K = differentiate(
      [&](const Vector& x) -> Vector {
        const Vector q = moved(m.q, x);
        return mass(q) * m.a + force(m.t, q, m.v, lambda);
      },
      scale_, step_of_forces, nv);
  if (!lambda.isZero(0.0))
    K += differentiate([&](const Vector& x) { return constraint_forces(jacobian(m.t, moved(m.q, x)), lambda); }, scale_,
                       step_of_second_derivatives, nv);
  const Matrix H = differentiate([&](const Vector& x) { return rate_along(m.t, moved(m.q, x), m.v); }, scale_,
                                 step_of_second_derivatives, rows);
  Matrix F = is_dynamic_row_.asDiagonal() * J.transpose();
  if (functions_.multiplier_force)
    F += differentiate([&](const Vector& dl) { return force(m.t, m.q, m.v, lambda + dl); },
                       lambda.cwiseAbs().cwiseMax(1.0), step_of_forces, nv);

  store_coupling(*this, mass(m.q), out.M);
  store_coupling(*this, D, out.D);
  store_coupling(*this, K, out.K);
  store_rows(*this, J, out.B);
  store_rows(*this, H, out.H);
  store_forces(*this, F, out.F);
}

void FunctionSystem::acceleration_gap(const Motion& m, VectorRef out) const {
  const int rows = functions_.position_rows;
  out = jacobian(m.t, m.q) * m.a;
  out.head(rows) += position_curvature(m.t, m.q, m.v);
  out.tail(functions_.velocity_rows) += velocity_curvature(m.t, m.q, m.v);
}

void FunctionSystem::mass_and_jacobian(const Motion& m, KktBlocks& out) const {
  if (functions_.multiplier_force || !pattern().is_all_dynamic()) return System::mass_and_jacobian(m, out);
  store_coupling(*this, mass(m.q), out.M);
  store_rows(*this, jacobian(m.t, m.q), out.B);
}

void FunctionSystem::constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const {
  out = position_jacobian(m.t, m.q).transpose() * mu.head(functions_.position_rows);
}

Corner FunctionSystem::next_corner(double t, double until, double) const {
  Corner first;
  const auto listed = std::upper_bound(functions_.corners.begin(), functions_.corners.end(), t, [](double x, const Corner& c) { return x < c.t; });
  if (listed != functions_.corners.end()) first = *listed;
  if (functions_.next_corner) {
    const Corner computed = functions_.next_corner(t);
    if (!(computed.t > t)) refuse(functions_, fmt::format("'next_corner' returned {} after t = {}, expected a later time, or infinity for none", computed.t, t));
    first = earlier(first, computed);
  }
  return first.t < until ? first : Corner{};
}

double FunctionSystem::energy(const Motion& m) const {
  return functions_.energy ? functions_.energy(m.t, m.q, m.v) : System::energy(m);
}

}  // namespace kreisel::system
