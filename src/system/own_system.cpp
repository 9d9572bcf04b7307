#include "kreisel/own_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "system/dense.hpp"
#include "system/differences.hpp"

namespace kreisel::system {
namespace {

/// Derivatives that enter the equations, and those that only steer the Newton iteration.
constexpr double accuracy_of_equations = 1e-10, accuracy_of_newton = 1e-6;
/// Tolerances below these cannot be met by differences.
constexpr double best_slope = 1e-10, best_curvature = 1e-7;
/// Errors of the curvature reach the multipliers, which are less accurate than the motion.
constexpr double curvature_margin = 100.0;

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

/// All checks that need no function call.
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
  if (!(f.time_scale >= 0.0))
    refuse(f, fmt::format("time_scale is {}, must be positive, or 0 to find it", f.time_scale));
  for (std::size_t b = 0; b < f.kinds.size(); ++b)
    if (f.kinds[b] == CoordinateKind::algebraic && f.space[b].group != lie::GroupId::rn)
      refuse(f, fmt::format("factor {} ({}) is algebraic, which only rn can be", b + 1, name_of(f.space[b].group)));

  for (std::size_t i = 0; i < f.outputs.size(); ++i) {
    const std::string& name = f.outputs[i].name;
    if (name.empty()) refuse(f, fmt::format("output {} has no name", i + 1));
    if (!f.outputs[i].value) refuse(f, fmt::format("output '{}' has no function", name));
    for (std::size_t j = 0; j < i; ++j)
      if (f.outputs[j].name == name) refuse(f, fmt::format("two outputs are called '{}'", name));
  }

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

double largest(const Vector& x) { return x.size() == 0 ? 0.0 : x.lpNorm<Eigen::Infinity>(); }

std::string text_of(const Vector& x) {
  constexpr Eigen::Index most = 14;
  std::string text;
  for (Eigen::Index i = 0; i < std::min(x.size(), most); ++i) {
    const double number = std::isnan(x[i]) ? std::abs(x[i]) : x[i];  // there is no -nan
    text += fmt::format("{}{:.6g}", i == 0 ? "" : ", ", number);
  }
  return x.size() > most ? text + ", ..." : text;
}

/// The single derivative of a curve.
Derivative derivative_of(const Curve& f, double step, double smallest, double accuracy, const Vector& terms,
                         const Matrix& noise) {
  Steps steps;
  steps.ranges = {{smallest, step}};
  steps.step = Vector::Constant(1, step);
  steps.noise = noise;
  const Jacobian J = differentiate([&](int, double s) { return f(s); }, steps, accuracy, terms);
  return {J.value.col(0), J.error.col(0), J.size.col(0)};
}

/// For the first rows alone.
Matrix head_of(const Matrix& x, int rows) { return x.rows() >= rows ? Matrix(x.topRows(rows)) : Matrix(); }
Steps rows_of(Steps steps, int rows) {
  steps.noise = head_of(steps.noise, rows);
  if (steps.roundoff.size() > rows) steps.roundoff.conservativeResize(rows);
  return steps;
}
Steps without_noise(Steps steps) {
  steps.noise = Matrix();
  return steps;
}

/// Rows compare lengths, and each length has the round-off of its own size, however small their difference is.
Vector roundoff_of(const lie::Space& space, const Vector& q, const Jacobian& B) {
  Vector size = distances(space, q);
  for (const lie::Block& block : space.blocks())
    size.segment(block.v_at, block.nv).tail(block.nv - lie::translations_of(block)).setOnes();
  return std::numeric_limits<double>::epsilon() * (B.size * size.asDiagonal()).rowwise().maxCoeff();
}

Derivative exactly(Vector value) { return {value, Vector::Zero(value.size()), value.cwiseAbs()}; }

void add(const Derivative& term, double factor, Derivative& sum) {
  sum.value += factor * term.value;
  sum.error += std::abs(factor) * term.error;
  sum.size += std::abs(factor) * term.size;
}

}  // namespace

/// Prior information about the functions, for their derivatives.
struct FunctionSystem::StepsInUse {
  Steps constraint, time, force, velocity;
};

FunctionSystem::FunctionSystem(SystemFunctions functions)
    : System(lie::Space(checked(functions).space), pattern_of(functions)),
      functions_(std::move(functions)),
      steps_(std::make_unique<StepsInUse>()) {
  is_dynamic_row_ = Vector::Ones(space().nv());
  for (std::size_t b = 0; b < space().blocks().size(); ++b) {
    const lie::Block& block = space().blocks()[b];
    if (pattern().kind(static_cast<int>(b)) != CoordinateKind::dynamic)
      is_dynamic_row_.segment(block.v_at, block.nv).setZero();
  }
  std::sort(functions_.corners.begin(), functions_.corners.end(),
            [](const Corner& a, const Corner& b) { return a.t < b.t; });
  for (const OutputFunction& output : functions_.outputs) outputs_.push_back({output.name, output.unit, ""});
  set_ranges(nullptr);
}

FunctionSystem::FunctionSystem(SystemFunctions functions, const Start& start) : FunctionSystem(std::move(functions)) {
  if (start.q0.size() != space().nq() || start.v0.size() != space().nv())
    refuse(functions_, fmt::format("the start has {} positions and {} velocities, expected {} and {}", start.q0.size(),
                                   start.v0.size(), space().nq(), space().nv()));
  if (!std::isfinite(start.t0) || !start.q0.allFinite() || !start.v0.allFinite())
    refuse(functions_, "the start has values that are not finite");
  has_start_ = true;
  check_start(start);
  set_ranges(&start);
  find_steps_at(start);
}

FunctionSystem::~FunctionSystem() = default;

std::shared_ptr<const System> FunctionSystem::prepared_for(const Start& start) const {
  if (has_start_) return nullptr;
  auto prepared = std::make_shared<FunctionSystem>(functions_, start);
  prepared->take_events_and_layout_of(*this);
  return prepared;
}

/// Every function must be defined where the run starts.
void FunctionSystem::check_start(const Start& start) const {
  const double t = start.t0;
  const Vector &q = start.q0, &v = start.v0, lambda = Vector::Zero(pattern().rows());
  const auto require_finite = [&](const char* callback, const Matrix& value) {
    if (value.allFinite()) return;
    refuse(functions_,
           fmt::format("'{}' returned {} at the start, where t = {:.10g}, q = ({}), v = ({}); expected finite "
                       "numbers. Start where it is defined",
                       callback, text_of(value.reshaped()), t, text_of(q), text_of(v)));
  };
  require_finite("mass", mass(q));
  require_finite("force", functions_.force(t, q, v));
  require_finite(functions_.multiplier_force ? "multiplier_force" : "force", force(t, q, v, lambda));
  require_finite("constraint", gap(t, q));
  require_finite("velocity_constraint", velocity_gap(t, q, v));
  if (functions_.jacobian) require_finite("jacobian", position_jacobian(t, q).value);
  if (functions_.constraint_rate) require_finite("constraint_rate", gap_rate(t, q, {}).value);
  if (functions_.curvature) require_finite("curvature", position_curvature(t, q, v, {}).value);
}

/// Search ranges of steps, from the hints and from the sizes of the start.
void FunctionSystem::set_ranges(const Start* start) {
  const int nv = space().nv();
  const double span = start != nullptr && std::isfinite(start->t_end) ? start->t_end - start->t0 : 0.0;
  const double time = functions_.time_scale > 0.0 ? functions_.time_scale : span > 0.0 ? span : 1.0;
  const double now = start != nullptr ? start->t0 : 0.0;
  std::vector<StepRange> q = start != nullptr ? configuration_ranges(space(), start->q0) : std::vector<StepRange>(nv),
                         v(nv);
  for (int j = 0; j < nv; ++j) {
    if (functions_.scale.size() > 0) q[j] = range_of(functions_.scale[j], 0.0);
    v[j] = range_of(std::max(q[j].largest / step_part / time, start != nullptr ? std::abs(start->v0[j]) : 0.0), 0.0);
  }
  steps_->constraint = steps_->force = largest_steps(q);
  steps_->velocity = largest_steps(v);
  steps_->time = largest_steps({time_range(time, now)});
}

void FunctionSystem::find_steps_at(const Start& start) {
  const double t = start.t0;
  const Vector &q = start.q0, &v = start.v0, lambda = Vector::Zero(pattern().rows());
  const int nv = space().nv(), rows = pattern().rows(), position_rows = functions_.position_rows;
  // The variation of velocity rows is visible only in motion.
  Vector moving = v;
  for (int j = 0; j < nv; ++j) moving[j] += steps_->velocity.ranges[j].largest / step_part;
  const auto constraints = [&](double at, const Vector& where) {
    Vector all(rows);
    all.head(position_rows) = gap(at, where);
    all.tail(functions_.velocity_rows) = velocity_gap(at, where, moving);
    return all;
  };
  const auto unit_move = [&](int j, double s) { return moved(q, s * Vector::Unit(nv, j)); };
  if (rows > 0) {
    const Columns by_q = [&](int j, double s) { return constraints(t, unit_move(j, s)); };
    const Vector roundoff = roundoff_of(space(), q, differentiate(by_q, steps_->constraint, accuracy_of_newton));
    steps_->constraint = find_steps(by_q, steps_->constraint.ranges, {}, roundoff);
    Vector terms = Vector::Zero(rows);
    for (int j = 0; j < nv; ++j)
      terms = terms.cwiseMax(steps_->constraint.length(j) *
                             slope([&](double s) { return by_q(j, s); }, steps_->constraint.step[j]).size);
    steps_->time =
        find_steps([&](int, double s) { return constraints(t + s, q); }, steps_->time.ranges, terms, roundoff);
  }
  const Vector here = force(t, q, v, lambda).cwiseAbs();
  steps_->force = find_steps(
      [&](int j, double s) -> Vector {
        const Vector there = unit_move(j, s);
        return mass(there) * moving + force(t, there, v, lambda);
      },
      steps_->force.ranges, here);
  steps_->velocity = find_steps([&](int j, double s) { return force(t, q, v + s * Vector::Unit(nv, j), lambda); },
                                steps_->velocity.ranges, here);
}

void FunctionSystem::check_mass_rows(const Matrix& M) const {
  for (const lie::Block& block : space().blocks()) {
    const auto rows = M.middleRows(block.v_at, block.nv);
    const auto columns = M.middleCols(block.v_at, block.nv);
    const int b = static_cast<int>(&block - space().blocks().data());
    if (is_dynamic_row_[block.v_at] == 0.0 && !(rows.isZero(0.0) && columns.isZero(0.0)))
      refuse(functions_,
             fmt::format("'mass' has entries in the rows or columns of '{}', which is not a dynamic block; they "
                         "must be zero",
                         pattern().block_name(b)));
  }
}

// ---- the functions, with sizes checked

Matrix FunctionSystem::mass(const Vector& q) const {
  const int nv = space().nv();
  Matrix M = sized(functions_, "mass", "nv x nv", nv, nv, functions_.mass(q));
  if (!pattern().is_all_dynamic()) check_mass_rows(M);
  return M;
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

// ---- derived from them

Vector FunctionSystem::moved(const Vector& q, const Vector& x) const {
  Vector out(q.size());
  space().move(q, x, out);
  return out;
}

bool FunctionSystem::moves_with_time(double t, const Vector& q) const {
  const Vector here = gap(t, q);
  const double step = steps_->time.step[0];
  return gap(t + step, q) != here || gap(t - step, q) != here;
}

double FunctionSystem::step_along(const Vector& v) const {
  return step_below(1.0 / std::max(1.0 / steps_->time.step[0], largest(v.cwiseQuotient(steps_->constraint.step))));
}

double FunctionSystem::step_of_move(const Vector& v) const {
  return step_below(1.0 / largest(v.cwiseQuotient(steps_->constraint.step)));
}

Steps FunctionSystem::velocity_steps(const Vector& v) const {
  Steps steps = steps_->velocity;
  for (Eigen::Index j = 0; j < v.size(); ++j) {
    const double speed = std::abs(v[j]);
    steps.step[j] = std::max(steps.step[j], step_below(0x1p-10 * speed));
    steps.ranges[j].largest = std::max(steps.ranges[j].largest, step_part * speed);
  }
  return steps;
}

Steps FunctionSystem::multiplier_steps(const Vector& lambda) const {
  const double size = largest(lambda);
  std::vector<StepRange> ranges;
  for (const double one : lambda) {
    const double scale = size > 0.0 ? std::max(std::abs(one), 1e-3 * size) : 1.0;
    ranges.push_back(range_of(scale, 0.0));
  }
  return largest_steps(std::move(ranges));
}

Jacobian FunctionSystem::position_jacobian(double t, const Vector& q) const {
  const int rows = functions_.position_rows, nv = space().nv();
  Jacobian B;
  if (rows == 0 || functions_.jacobian) {
    B.value = rows == 0 ? Matrix(0, nv)
                        : sized(functions_, "jacobian", "position_rows x nv", rows, nv, functions_.jacobian(t, q));
    B.error.setZero(rows, nv);
    B.size = B.value.cwiseAbs();
    return B;
  }
  return differentiate([&](int j, double s) { return gap(t, moved(q, s * Vector::Unit(nv, j))); },
                       rows_of(steps_->constraint, rows), accuracy_of_equations);
}

/// A v + a is affine in v, so any step is exact; the largest one that keeps v moderate loses least.
Matrix FunctionSystem::velocity_jacobian(double t, const Vector& q) const {
  const int rows = functions_.velocity_rows, nv = space().nv();
  Matrix A(rows, nv);
  if (rows == 0) return A;
  for (int j = 0; j < nv; ++j) {
    const double speed = std::max(steps_->constraint.length(j), steps_->velocity.length(j));
    const Vector move = speed * Vector::Unit(nv, j);
    A.col(j) = (velocity_gap(t, q, move) - velocity_gap(t, q, -move)) / (2.0 * speed);
  }
  return A;
}

Matrix FunctionSystem::jacobian(double t, const Vector& q) const {
  Matrix J(pattern().rows(), space().nv());
  J.topRows(functions_.position_rows) = position_jacobian(t, q).value;
  J.bottomRows(functions_.velocity_rows) = velocity_jacobian(t, q);
  return J;
}

/// The terms of a row may be much larger than its value: the lengths and distances that it compares.
Vector FunctionSystem::row_terms(const Vector& q, const Jacobian& B) const {
  Vector terms = Vector::Zero(functions_.position_rows);
  if (B.size.size() == 0) return terms;
  const Vector far = distances(space(), q);
  for (int j = 0; j < space().nv(); ++j)
    terms = terms.cwiseMax(std::max(steps_->constraint.length(j), far[j]) * B.size.col(j));
  return terms;
}

Derivative FunctionSystem::gap_rate(double t, const Vector& q, const Jacobian& B) const {
  const int rows = functions_.position_rows;
  if (functions_.constraint_rate)
    return exactly(sized(functions_, "constraint_rate", "position_rows", rows, functions_.constraint_rate(t, q)));
  if (!functions_.constraint) return exactly(Vector());
  return derivative_of([&](double s) { return gap(t + s, q); }, steps_->time.step[0], steps_->time.ranges[0].smallest,
                       accuracy_of_equations, row_terms(q, B), head_of(steps_->time.noise, rows));
}

/// Linear in v to round-off, as required by B = ∂rate/∂v.
Vector FunctionSystem::rate(double t, const Vector& q, const Vector& v, const Jacobian& B) const {
  Vector out(pattern().rows());
  out.head(functions_.position_rows) = B.value * v + gap_rate(t, q, B).value;
  out.tail(functions_.velocity_rows) = velocity_gap(t, q, v);
  return out;
}

/// The same, but without B where that has to be computed: a single derivative along the motion.
Vector FunctionSystem::rate_along(double t, const Vector& q, const Vector& v) const {
  if (functions_.jacobian || !functions_.constraint) return rate(t, q, v, position_jacobian(t, q));
  Vector out(pattern().rows());
  out.head(functions_.position_rows) =
      slope([&](double s) { return gap(t + s, moved(q, s * v)); }, step_along(v)).value;
  out.tail(functions_.velocity_rows) = velocity_gap(t, q, v);
  return out;
}

/// d²/ds² Φ(t+s, q∘exp(s v)) = Φ_qq[v,v] + 2 Φ_qt v + Φ_tt: along that curve v̇ = 0. Each term from the highest
/// derivative that is given. Round-off of Φ counts as |Φ|/s²: where Φ does not depend on t, a slow motion takes long steps,
/// and a system at rest has no curvature.
Derivative FunctionSystem::position_curvature(double t, const Vector& q, const Vector& v, const Jacobian& B) const {
  const int rows = functions_.position_rows;
  if (rows == 0) return exactly(Vector());
  if (functions_.curvature)
    return exactly(sized(functions_, "curvature", "position_rows", rows, functions_.curvature(t, q, v)));
  const bool is_at_rest = v.isZero(0.0);
  const double step = step_along(v), time_step = steps_->time.step[0], move_step = is_at_rest ? step : step_of_move(v);
  const Vector terms = row_terms(q, B);
  const auto along = [&](const Curve& f, double h) {
    return derivative_of(f, h, 0x1p-21 * h, accuracy_of_equations, terms / (h / step_part), {});
  };
  const auto twice = [&](const Curve& f, double h) { return differentiate_twice(f, h, accuracy_of_equations, terms); };
  const auto B_v = [&](double at, const Vector& where) -> Vector { return position_jacobian(at, where).value * v; };
  const auto Phi_t = [&](double at, const Vector& where) { return gap_rate(at, where, {}).value; };
  if (functions_.jacobian && functions_.constraint_rate)
    return along(
        [&](double s) -> Vector {
          const Vector there = moved(q, s * v);
          return B_v(t + s, there) + Phi_t(t + s, there);
        },
        step);
  if (functions_.constraint_rate) {
    Derivative z =
        is_at_rest ? exactly(Vector::Zero(rows)) : twice([&](double s) { return gap(t, moved(q, s * v)); }, move_step);
    add(along([&](double s) { return Phi_t(t + s, moved(q, s * v)); }, step), 1.0, z);
    add(along([&](double s) { return Phi_t(t, moved(q, s * v)); }, step), 1.0, z);
    return z;
  }
  const bool is_steady = !moves_with_time(t, q);
  if (is_steady && is_at_rest) return exactly(Vector::Zero(rows));
  if (functions_.jacobian) {
    if (is_steady) return along([&](double s) { return B_v(t, moved(q, s * v)); }, move_step);
    Derivative z = along([&](double s) { return B_v(t + s, moved(q, s * v)); }, step);
    add(along([&](double s) { return B_v(t + s, q); }, time_step), 1.0, z);
    add(twice([&](double s) { return gap(t + s, q); }, time_step), 1.0, z);
    return z;
  }
  if (is_steady) return twice([&](double s) { return gap(t, moved(q, s * v)); }, move_step);
  return twice([&](double s) { return gap(t + s, moved(q, s * v)); }, step);
}

Derivative FunctionSystem::velocity_curvature(double t, const Vector& q, const Vector& v) const {
  if (functions_.velocity_rows == 0) return exactly(Vector());
  const Vector terms = velocity_jacobian(t, q).cwiseAbs() * v.cwiseAbs();
  const double step = step_along(v);
  return derivative_of([&](double s) { return velocity_gap(t + s, moved(q, s * v), v); }, step, 0x1p-21 * step,
                       accuracy_of_equations, terms, {});
}

Vector FunctionSystem::constraint_forces(const Matrix& J, const Vector& lambda) const {
  return is_dynamic_row_.cwiseProduct(J.transpose() * lambda);
}

// ---- the System

void FunctionSystem::residual(const Motion& m, ConstVectorRef lambda, Residual& out) const {
  evaluate(m, lambda, position_jacobian(m.t, m.q), out);
}

Derivative FunctionSystem::evaluate(const Motion& m, ConstVectorRef lambda, const Jacobian& B, Residual& out) const {
  Matrix J(pattern().rows(), space().nv());
  J.topRows(functions_.position_rows) = B.value;
  J.bottomRows(functions_.velocity_rows) = velocity_jacobian(m.t, m.q);
  const Matrix M = mass(m.q);
  const Vector g = force(m.t, m.q, m.v, lambda);
  out.force = M * m.a + g + constraint_forces(J, lambda);
  out.gap = gap(m.t, m.q);
  const Derivative by_time = gap_rate(m.t, m.q, B);
  out.rate.head(functions_.position_rows) = B.value * m.v + by_time.value;
  out.rate.tail(functions_.velocity_rows) = velocity_gap(m.t, m.q, m.v);
  if (!out.force.allFinite()) {
    note("mass", m, M.data(), M.size());
    note("force", m, g.data(), g.size());
  }
  if (!out.gap.allFinite()) note("constraint", m, out.gap.data(), out.gap.size());
  if (!out.rate.allFinite())
    note("velocity_constraint", m, out.rate.data() + functions_.position_rows, functions_.velocity_rows);
  return by_time;
}

/// The first value that is not finite is recorded: the run may recover, and if not, this is the cause.
void FunctionSystem::note(const char* callback, const Motion& m, const double* values, Eigen::Index count) const {
  const Eigen::Map<const Vector> value(values, count);
  if (value.allFinite()) return;
  const std::lock_guard lock(remark_access_);
  if (remark_.empty())
    remark_ = fmt::format("'{}' returned ({}) at t = {:.10g}, q = ({}), v = ({}), which is not finite", callback,
                          text_of(value), m.t, text_of(m.q), text_of(m.v));
}

std::string FunctionSystem::remark() const {
  const std::lock_guard lock(remark_access_);
  return remark_;
}

std::string FunctionSystem::examine(const Motion& m, ConstVectorRef lambda, const Tolerances& tolerances,
                                    Residual& out) const {
  const Jacobian B = position_jacobian(m.t, m.q);
  const Derivative by_time = evaluate(m, lambda, B, out);
  const int nv = space().nv(), position_rows = functions_.position_rows;
  const double relative = std::max(tolerances.relative, best_slope);
  const Vector terms = row_terms(m.q, B);
  const double time = steps_->time.length(0);
  const double turning = 1.0 / time + largest(m.v.cwiseQuotient(steps_->constraint.lengths()));
  for (int i = 0; i < position_rows; ++i) {
    double change = 0.0, error = 0.0;
    for (int j = 0; j < nv; ++j) {
      change = std::max(change, steps_->constraint.length(j) * B.size(i, j));
      error = std::max(error, steps_->constraint.length(j) * B.error(i, j));
    }
    if (!(error <= relative * change))
      return doubt("the derivative of 'constraint' by q", i, error / change, relative, m.t,
                   "'jacobian' (B), or 'scale', the lengths over which 'constraint' varies");
    const double speed = by_time.size[i] + B.size.row(i).dot(m.v.cwiseAbs());
    if (!(by_time.error[i] <=
          relative * speed + tolerances.absolute * B.size.row(i).maxCoeff() + best_slope * terms[i] / time))
      return doubt("the derivative of 'constraint' by t", i, by_time.error[i] / speed, relative, m.t,
                   "'constraint_rate' (Phi_t), or 'time_scale', the time over which 'constraint' varies");
  }
  const double allowed = std::max(curvature_margin * tolerances.relative, best_curvature);
  const Derivative z = position_curvature(m.t, m.q, m.v, B);
  for (int i = 0; i < position_rows; ++i) {
    const double size = z.size[i] + B.size.row(i).dot(m.a.cwiseAbs());
    if (!(z.error[i] <= allowed * size) && !(z.error[i] <= relative * terms[i] * turning * turning))
      return doubt("the second derivative of 'constraint' along the motion", i, z.error[i] / size, allowed, m.t,
                   "'curvature', or 'jacobian' and 'constraint_rate', or 'scale' and 'time_scale', the lengths and the "
                   "time over "
                   "which 'constraint' varies");
  }
  if (functions_.velocity_rows > 0) {
    const Matrix A = velocity_jacobian(m.t, m.q).cwiseAbs();
    const Derivative rolling = velocity_curvature(m.t, m.q, m.v);
    for (int i = 0; i < functions_.velocity_rows; ++i) {
      const double size = rolling.size[i] + A.row(i).dot(m.a.cwiseAbs());
      if (!(rolling.error[i] <= allowed * size) &&
          !(rolling.error[i] <= relative * A.row(i).dot(m.v.cwiseAbs()) * turning))
        return doubt("the derivative of 'velocity_constraint' along the motion", position_rows + i,
                     rolling.error[i] / size, allowed, m.t,
                     "'scale' and 'time_scale', the lengths and the time over which it varies");
    }
  }
  return {};
}

std::string FunctionSystem::doubt(const char* derivative, int row, double error, double allowed, double t,
                                  const char* remedy) const {
  const std::string known = std::isfinite(error) ? fmt::format("known from differences only to {:.1e}, relative", error)
                                                 : std::string("not known from differences at all");
  return fmt::format("system '{}': at t = {:.10g} {} ({}) is {}; the tolerances require {:.1e}.\n  try: provide {}",
                     functions_.name, t, derivative, pattern().row_name(row), known, allowed, remedy);
}

void FunctionSystem::linearize(const Motion& m, ConstVectorRef lambda_ref, KktBlocks& out) const {
  const int nv = space().nv(), rows = pattern().rows(), position_rows = functions_.position_rows;
  const Vector lambda = lambda_ref;
  const Jacobian B = position_jacobian(m.t, m.q);
  Matrix J(rows, nv);
  J.topRows(position_rows) = B.value;
  J.bottomRows(functions_.velocity_rows) = velocity_jacobian(m.t, m.q);
  const Matrix M = mass(m.q);
  const auto unit_move = [&](int j, double s) { return moved(m.q, s * Vector::Unit(nv, j)); };

  const Vector terms = Vector::Constant(nv, std::max(largest(M * m.a), largest(force(m.t, m.q, m.v, lambda))));
  const Matrix D =
      differentiate([&](int j, double s) { return force(m.t, m.q, m.v + s * Vector::Unit(nv, j), lambda); },
                    velocity_steps(m.v), accuracy_of_newton, terms)
          .value;
  Matrix K = differentiate(
                 [&](int j, double s) -> Vector {
                   const Vector q = unit_move(j, s);
                   return mass(q) * m.a + force(m.t, q, m.v, lambda);
                 },
                 steps_->force, accuracy_of_newton, terms)
                 .value;
  const Steps steps = without_noise(steps_->constraint);
  if (!lambda.isZero(0.0))
    K +=
        differentiate([&](int j, double s) { return constraint_forces(jacobian(m.t, unit_move(j, s)), lambda); }, steps,
                      accuracy_of_newton, Vector::Constant(nv, largest(J.cwiseAbs().transpose() * lambda.cwiseAbs())))
            .value;
  Matrix H(rows, nv);
  if (rows > 0) {
    const double turning = 1.0 / steps_->time.length(0) + largest(m.v.cwiseQuotient(steps_->constraint.lengths()));
    Vector rate_terms(rows);
    rate_terms.head(position_rows) = turning * row_terms(m.q, B);
    rate_terms.tail(functions_.velocity_rows) = J.bottomRows(functions_.velocity_rows).cwiseAbs() * m.v.cwiseAbs();
    H = differentiate([&](int j, double s) { return rate_along(m.t, unit_move(j, s), m.v); }, steps, accuracy_of_newton,
                      rate_terms)
            .value;
  }
  Matrix F = is_dynamic_row_.asDiagonal() * J.transpose();
  if (functions_.multiplier_force)
    F += differentiate([&](int j, double s) { return force(m.t, m.q, m.v, lambda + s * Vector::Unit(rows, j)); },
                       multiplier_steps(lambda), accuracy_of_newton, terms)
             .value;

  store_coupling(*this, M, out.M);
  store_coupling(*this, D, out.D);
  store_coupling(*this, K, out.K);
  store_rows(*this, J, out.B);
  store_rows(*this, H, out.H);
  store_forces(*this, F, out.F);
}

void FunctionSystem::acceleration_gap(const Motion& m, VectorRef out) const {
  const int rows = functions_.position_rows;
  const Jacobian B = position_jacobian(m.t, m.q);
  out.head(rows) = B.value * m.a + position_curvature(m.t, m.q, m.v, B).value;
  out.tail(functions_.velocity_rows) = velocity_jacobian(m.t, m.q) * m.a + velocity_curvature(m.t, m.q, m.v).value;
}

void FunctionSystem::mass_and_jacobian(const Motion& m, KktBlocks& out) const {
  if (functions_.multiplier_force || !pattern().is_all_dynamic()) return System::mass_and_jacobian(m, out);
  store_coupling(*this, mass(m.q), out.M);
  store_rows(*this, jacobian(m.t, m.q), out.B);
}

void FunctionSystem::constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const {
  out = position_jacobian(m.t, m.q).value.transpose() * mu.head(functions_.position_rows);
}

Corner FunctionSystem::next_corner(double t, double until, double) const {
  Corner first;
  const auto listed = std::upper_bound(functions_.corners.begin(), functions_.corners.end(), t,
                                       [](double x, const Corner& c) { return x < c.t; });
  if (listed != functions_.corners.end()) first = *listed;
  if (functions_.next_corner) {
    const Corner computed = functions_.next_corner(t);
    if (!(computed.t > t))
      refuse(functions_,
             fmt::format("'next_corner' returned {} after t = {}, expected a later time, or infinity for none",
                         computed.t, t));
    first = earlier(first, computed);
  }
  return first.t < until ? first : Corner{};
}

void FunctionSystem::evaluate_outputs(const Motion& m, ConstVectorRef, VectorRef out) const {
  for (std::size_t i = 0; i < functions_.outputs.size(); ++i)
    out[static_cast<Eigen::Index>(i)] = functions_.outputs[i].value(m.t, m.q, m.v);
}

double FunctionSystem::energy(const Motion& m) const {
  return functions_.energy ? functions_.energy(m.t, m.q, m.v) : System::energy(m);
}

}  // namespace kreisel::system
