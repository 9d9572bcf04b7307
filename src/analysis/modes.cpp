#include "kreisel/analysis.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "analysis/lowest_modes.hpp"
#include "base/decompositions.hpp"
#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "system/consistency.hpp"
#include "system/dense.hpp"
#include "system/differences.hpp"
#include "system/inputs.hpp"

namespace kreisel::analysis {
namespace {

using system::CoordinateKind;
using system::Motion;
using system::Pattern;
using system::System;

constexpr double rank_tolerance = 1e-10;

std::vector<int> coordinates(const System& system, CoordinateKind kind) {
  std::vector<int> list;
  const auto& blocks = system.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (system.pattern().kind(static_cast<int>(b)) == kind)
      for (int i = 0; i < blocks[b].nv; ++i) list.push_back(blocks[b].v_at + i);
  return list;
}

/// Orthonormal bases of the row space of A and of its complement.
struct Spaces {
  Matrix range, null;
};

Spaces spaces_of(const Matrix& A) {
  if (A.size() == 0) return {Matrix(A.cols(), 0), Matrix::Identity(A.cols(), A.cols())};
  Matrix rows = A;
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
    if (const double length = rows.row(i).norm(); length > 0.0) rows.row(i) /= length;
  const ColumnSpace space = column_space(rows.transpose(), rank_tolerance);
  return {space.Q.leftCols(space.rank), space.Q.rightCols(A.cols() - space.rank)};
}

Matrix hat_of(const System& system, const Vector& v) {
  Vector values = Vector::Zero(system.space().block_diagonal_size());
  system.space().hat_blocks(v, values);
  Matrix out = Matrix::Zero(v.size(), v.size());
  for (const lie::Block& block : system.space().blocks())
    out.block(block.v_at, block.v_at, block.nv, block.nv) =
        Eigen::Map<const Matrix>(values.data() + block.matrix_at, block.nv, block.nv);
  return out;
}

/// Derivatives of d/dt (B v + Φ_t) at given v̇ along the columns of x and v: the curvature of the constraints. Zero at rest.
Matrix change_of_acceleration_gap(const System& system, const Motion& m, const Matrix& x, const Matrix& v) {
  const int rows = system.pattern().rows();
  if (rows == 0 || (m.v.isZero(0.0) && m.a.isZero(0.0))) return Matrix::Zero(rows, x.cols());
  const double length = system::length_scale(system, m);
  Matrix out(rows, x.cols());
  for (Eigen::Index j = 0; j < x.cols(); ++j) {
    // Scaled by the size of the mechanism and radians in q; by the velocity in v, in which the gap is a polynomial.
    const double way = x.col(j).lpNorm<Eigen::Infinity>() * std::max(1.0, 1.0 / length);
    const double change = v.col(j).lpNorm<Eigen::Infinity>() / (m.v.lpNorm<Eigen::Infinity>() + 1e-3);
    const double size = std::max({way, 1e-3 * change, std::numeric_limits<double>::min()});
    out.col(j) = system::slope(
                     [&](double s) {
                       Motion near = m;
                       system.space().move(m.q, Vector(s * x.col(j)), near.q);
                       near.v += s * v.col(j);
                       Vector gap(rows);
                       system.acceleration_gap(near, gap);
                       return gap;
                     },
                     system::step_below(system::step_part / size))
                     .value;
  }
  return out;
}

/// ẋ of perturbations that are described in inertial axes, less ẋ in those of the bodies: Ω x. Its rows are those of rotations, and of
/// translations where a group has them in the axes of the body.
Matrix spin_of(const System& system, const Vector& v) {
  Matrix out = Matrix::Zero(v.size(), v.size());
  for (const lie::Block& block : system.space().blocks()) {
    if (lie::rotations_of(block) != 3) continue;
    const int rotation = block.v_at + block.nv - 3;
    const Vector3 w = v.segment<3>(rotation);
    Matrix3 hat;
    hat << 0.0, -w.z(), w.y(), w.z(), 0.0, -w.x(), -w.y(), w.x(), 0.0;
    out.block<3, 3>(rotation, rotation) = hat;
    if (block.group == lie::GroupId::se3) out.block<3, 3>(block.v_at, block.v_at) = hat;
  }
  return out;
}

/// From the axes of the bodies to inertial ones.
Matrix turn_of(const System& system, const Vector& q) {
  Matrix out = Matrix::Identity(system.space().nv(), system.space().nv());
  for (const lie::Block& block : system.space().blocks()) {
    if (lie::rotations_of(block) != 3) continue;
    const Eigen::Map<const Eigen::Quaterniond> turn(q.data() + block.q_at + block.nq - 4);
    const Matrix3 R = turn.toRotationMatrix();
    out.block<3, 3>(block.v_at + block.nv - 3, block.v_at + block.nv - 3) = R;
    if (block.group == lie::GroupId::se3) out.block<3, 3>(block.v_at, block.v_at) = R;
  }
  return out;
}

/// Coefficients of the linear equations at one instant, in the axes given by T. Rows of constraints may rotate among
/// themselves, as those of a joint with rotating axes: only the space that they span counts, and the velocities
/// that they prescribe in it.
std::vector<Matrix> coefficients(const System& system, const Motion& m, const Vector& lambda, const Matrix& T,
                                 const Matrix& spin) {
  system::KktBlocks blocks(system.pattern());
  system.linearize(m, lambda, blocks);
  std::vector<Matrix> list;
  for (const Vector* values : {&blocks.M, &blocks.D, &blocks.K})
    list.push_back(T * system::dense_coupling(system, *values) * T.transpose());
  const Matrix B = system::dense_rows(system, blocks.B) * T.transpose(),
               H = system::dense_rows(system, blocks.H) * T.transpose();
  if (B.size() > 0) {
    const Matrix inverse = pseudo_inverse(B);
    list.push_back(inverse * B);
    list.push_back(inverse * H);
  }
  list.push_back(T * spin * T.transpose());
  return list;
}

/// Whether the coefficients are the same a little later on the motion, in axes of the bodies and in inertial ones.
struct Steady {
  bool in_body = true, in_inertial = true;
};
Steady is_steady(const System& system, const Motion& m, const Vector& lambda, const system::KktBlocks& now) {
  if (m.v.isZero(0.0) && m.a.isZero(0.0)) return {};
  // Far enough to see a change, by about a milliradian.
  const double rate = std::max({m.v.lpNorm<Eigen::Infinity>(), std::sqrt(m.a.lpNorm<Eigen::Infinity>()), 1e-9});
  const double s = 1e-3 / rate;
  Motion later = m;
  later.t += s;
  const Vector x = s * m.v + 0.5 * s * s * m.a;
  system.space().move(m.q, x, later.q);
  later.v += s * m.a;
  system::KktBlocks then(system.pattern());
  system.linearize(later, lambda, then);
  const Matrix F = system::dense_forces(system, now.F), F_later = system::dense_forces(system, then.F);
  const auto stays = [&](const Matrix& T, const Matrix& T_later) {
    // The same constraint forces in these axes.
    Vector lambda_later = lambda;
    if (F.size() > 0) lambda_later = least_norm(T_later * F_later, T * (F * lambda));
    const std::vector<Matrix> a = coefficients(system, m, lambda, T, spin_of(system, m.v)),
                              b = coefficients(system, later, lambda_later, T_later, spin_of(system, later.v));
    // Zero entries have round-off of the size of mass times powers of the speed: M, D, K, then rows and speeds.
    const double mass = a[0].norm();
    const double size[] = {mass, mass * rate, mass * rate * rate, 1.0, rate, rate};
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double floor = 1e-9 * (i + 1 == a.size() ? rate : size[i]);
      if ((a[i] - b[i]).norm() > 1e-6 * (a[i].norm() + b[i].norm()) + floor) return false;
    }
    return true;
  };
  const Matrix I = Matrix::Identity(m.v.size(), m.v.size());
  return {stays(I, I), stays(turn_of(system, m.q), turn_of(system, later.q))};
}

/// Derivatives of force and of d/dt (B v + Φ_t) by the inputs.
struct Pushes {
  Matrix force, curvature;
};
Pushes pushes_of(const System& system, const Motion& m, const Vector& lambda) {
  const int nv = system.space().nv(), rows = system.pattern().rows();
  const int count = static_cast<int>(system.inputs().size());
  Pushes out{Matrix::Zero(nv, count), Matrix::Zero(rows, count)};
  const auto set = std::make_shared<system::SetInputs>(static_cast<std::size_t>(count));
  const std::shared_ptr<const System> driven = system.with_inputs(set);
  if (count == 0 || driven == nullptr) return out;
  std::vector<system::StepRange> ranges;
  Vector at(count);
  for (int i = 0; i < count; ++i) {
    at[i] = system.input_at(i, m.t);
    ranges.push_back(system::range_of(std::max(std::abs(at[i]), 1.0), at[i]));
    set->set(i, -std::numeric_limits<double>::infinity(), at[i]);
  }
  system::Residual residual(nv, system.pattern().position_rows(), rows);
  const system::Columns along = [&](int i, double s) {
    set->set(i, -std::numeric_limits<double>::infinity(), at[i] + s);
    Vector all(nv + rows), gap(rows);
    driven->residual(m, lambda, residual);
    driven->acceleration_gap(m, gap);
    all << residual.force, gap;
    set->set(i, -std::numeric_limits<double>::infinity(), at[i]);
    return all;
  };
  const Matrix by = system::differentiate(along, system::largest_steps(ranges), 1e-9).value;
  out.force = by.topRows(nv);
  out.curvature = by.bottomRows(rows);
  return out;
}

}  // namespace

Linearization linearize(const System& system, const Motion& m, const Vector& lambda, Axes axes) {
  const int nv = system.space().nv(), position_rows = system.pattern().position_rows();
  if (nv + system.pattern().rows() > most_of_full_matrices)
    throw InvalidInput(
        fmt::format("the system has {} coordinates and {} constraint rows; modes work with full matrices of at "
                    "most {} rows. Take a coarser model",
                    nv, system.pattern().rows(), most_of_full_matrices));
  const std::vector<int> d = coordinates(system, CoordinateKind::dynamic),
                         z = coordinates(system, CoordinateKind::state);
  if (!coordinates(system, CoordinateKind::algebraic).empty())
    throw InvalidInput(
        "the system has algebraic unknowns; modes are defined for positions, velocities and states only");
  system::KktBlocks blocks(system.pattern());
  system.linearize(m, lambda, blocks);
  const Matrix M = system::dense_coupling(system, blocks.M), D = system::dense_coupling(system, blocks.D),
               K = system::dense_coupling(system, blocks.K), B = system::dense_rows(system, blocks.B),
               H = system::dense_rows(system, blocks.H), F = system::dense_forces(system, blocks.F);
  for (const Matrix* A : {&M, &D, &K, &B, &H, &F})
    if (!A->allFinite()) throw InvalidInput("the derivatives are not finite there");

  Linearization out;
  const Steady steady = is_steady(system, m, lambda, blocks);
  out.axes = axes != Axes::automatic ? axes : steady.in_inertial || !steady.in_body ? Axes::inertial : Axes::body;
  out.is_steady = out.axes == Axes::inertial ? steady.in_inertial : steady.in_body;
  const Pushes pushes = pushes_of(system, m, lambda);
  const auto inputs = pushes.force.cols();
  // Positions: B x = 0.
  out.X = spaces_of(B.topRows(position_rows)).null;
  const auto np = out.X.cols();
  // Velocities of bodies: C δv + H x = 0 with C = B(:, d), of whose rows as many are kept as are independent.
  const Matrix C_all = B(Eigen::all, d);
  const Spaces spaces = spaces_of(C_all);
  const Matrix& N = spaces.null;
  const auto nu = N.cols(), rank = spaces.range.cols(), nd = static_cast<Eigen::Index>(d.size());
  // (C range)⁺: rows x rank of full column rank.
  const Matrix fit = rank > 0 ? pseudo_inverse(C_all * spaces.range) : Matrix(0, C_all.rows());
  // δv of (y, u): particular part by the constraints, then the free part; inputs move states only.
  const auto all = np + nu + inputs;
  Matrix v = Matrix::Zero(nv, all);
  const Matrix H_x = H * out.X;
  Matrix v_d = Matrix::Zero(nd, all);
  if (rank > 0) v_d.leftCols(np) = -spaces.range * (fit * H_x);
  v_d.middleCols(np, nu) = N;
  v(d, Eigen::all) = v_d;
  Matrix x = Matrix::Zero(nv, all);
  x.leftCols(np) = out.X;
  Matrix push = Matrix::Zero(nv, all);
  push.rightCols(inputs) = pushes.force;
  // States: D_zz δv_z + D_zd δv_d + K_z x + F_z δλ + ∂f/∂u δu = 0; multipliers do not act on states.
  if (!z.empty()) {
    const Matrix right = D(z, d) * v_d + K(z, Eigen::all) * x + push(z, Eigen::all);
    v(z, Eigen::all) = -solve_square(Matrix(D(z, z)), right);
  }
  out.V = v.leftCols(np + nu);
  // ẋ = δv - [v, x], and the contribution of rotating axes.
  const Matrix spin = out.axes == Axes::inertial ? spin_of(system, m.v) : Matrix(Matrix::Zero(nv, nv));
  const Matrix rate = v - hat_of(system, m.v) * x + spin * x;
  // M δv̇ + F δλ = -(D δv + K x), C δv̇ = -δ(d/dt rate), in free and in constrained directions.
  Matrix saddle = Matrix::Zero(nd + rank, nd + rank);
  // Multipliers that differ by a combination without force are equivalent.
  const Matrix F_d = F(d, Eigen::all);
  const Spaces of_forces = spaces_of(F_d);
  if (of_forces.range.cols() != rank)
    throw InvalidInput("constraint forces do not match the constraints there; run 'kreisel check'");
  saddle.topLeftCorner(nd, nd) = M(d, d);
  if (rank > 0) {
    saddle.topRightCorner(nd, rank) = F_d * of_forces.range;
    saddle.bottomLeftCorner(rank, nd) = spaces.range.transpose();
  }
  Matrix right = Matrix::Zero(nd + rank, all);
  right.topRows(nd) = -(D(d, Eigen::all) * v + K(d, Eigen::all) * x + push(d, Eigen::all));
  if (rank > 0) {
    Matrix change = change_of_acceleration_gap(system, m, x, v);
    change.rightCols(inputs) += pushes.curvature;
    right.bottomRows(rank) = -fit * change;
  }
  // Scaled so that rows and columns have entries about 1, whatever the units.
  Vector rows = Vector::Ones(nd + rank), columns = rows;
  for (int pass = 0; pass < 3; ++pass) {
    const Matrix scaled = (rows.asDiagonal() * saddle * columns.asDiagonal()).cwiseAbs();
    for (Eigen::Index i = 0; i < rows.size(); ++i) {
      if (const double size = scaled.row(i).maxCoeff(); size > 0.0) rows[i] /= std::sqrt(size);
      if (const double size = scaled.col(i).maxCoeff(); size > 0.0) columns[i] /= std::sqrt(size);
    }
  }
  const std::optional<Matrix> scaled =
      solve_fully_pivoted(rows.asDiagonal() * saddle * columns.asDiagonal(), rows.asDiagonal() * right);
  if (!scaled)
    throw InvalidInput("the mass matrix is singular on the motions that the constraints allow; give the bodies mass");
  const Matrix solution = columns.asDiagonal() * *scaled;
  out.a = Matrix::Zero(nv, all);
  out.a(d, Eigen::all) = solution.topRows(nd);
  out.lambda = rank > 0 ? Matrix(of_forces.range * solution.bottomRows(rank)) : Matrix::Zero(B.rows(), all);
  Matrix both(np + nu, all);
  both.topRows(np) = out.X.transpose() * rate;
  both.bottomRows(nu) = N.transpose() * Matrix(out.a + spin * v)(d, Eigen::all);
  out.A = both.leftCols(np + nu);
  out.B = both.rightCols(inputs);
  return out;
}

OutputMatrices output_matrices(const System& system, const Motion& m, const Vector& lambda,
                               const Linearization& linear) {
  OutputMatrices out;
  for (const system::OutputInfo& info : system.outputs())
    for (int i = 0; i < info.size(); ++i) out.columns.push_back(info.column(i));
  const auto n = linear.A.rows(), inputs = linear.B.cols(), rows = static_cast<Eigen::Index>(out.columns.size());
  out.C = Matrix::Zero(rows, n);
  out.D = Matrix::Zero(rows, inputs);
  if (rows == 0) return out;
  const auto set = std::make_shared<system::SetInputs>(static_cast<std::size_t>(inputs));
  const std::shared_ptr<const System> driven = inputs > 0 ? system.with_inputs(set) : nullptr;
  const double length = system::length_scale(system, m);
  std::vector<system::StepRange> ranges;
  for (Eigen::Index j = 0; j < n + inputs; ++j) {
    // Scaled by the size of the mechanism and radians, and by velocities, accelerations and multipliers.
    const auto part = [](const Vector& change, const Vector& value) {
      return change.size() > 0 ? change.lpNorm<Eigen::Infinity>() / (value.lpNorm<Eigen::Infinity>() + 1.0) : 0.0;
    };
    const double way =
        j < linear.positions() ? linear.X.col(j).lpNorm<Eigen::Infinity>() * std::max(1.0, 1.0 / length) : 0.0;
    const double size = std::max({way, j < n ? part(linear.V.col(j), m.v) : 0.0, part(linear.a.col(j), m.a),
                                  part(linear.lambda.col(j), lambda), 1e-6});
    ranges.push_back({0x1p-27 / size, system::step_part / size});
  }
  const system::Columns along = [&](int j, double s) {
    Motion near = m;
    Vector near_lambda = lambda + s * linear.lambda.col(j);
    near.a += s * linear.a.col(j);
    if (j < n) near.v += s * linear.V.col(j);
    if (j < linear.positions()) system.space().move(m.q, Vector(s * linear.X.col(j)), near.q);
    const System* at = &system;
    if (j >= n && driven != nullptr) {
      for (int i = 0; i < inputs; ++i)
        set->set(i, -std::numeric_limits<double>::infinity(), system.input_at(i, m.t) + (i == j - n ? s : 0.0));
      at = driven.get();
    }
    Vector values = Vector::Zero(rows);
    at->evaluate_outputs(near, near_lambda, values);
    return values;
  };
  const Matrix by = system::differentiate(along, system::largest_steps(ranges), 1e-9).value;
  out.C = by.leftCols(n);
  out.D = by.rightCols(inputs);
  return out;
}

std::vector<Eigen::MatrixXcd> frequency_response(const Linearization& linear, const OutputMatrices& outputs,
                                                 const std::vector<double>& frequencies) {
  const auto n = linear.A.rows();
  const Eigen::MatrixXcd B = linear.B.cast<std::complex<double>>(), C = outputs.C.cast<std::complex<double>>(),
                         D = outputs.D.cast<std::complex<double>>();
  std::vector<Eigen::MatrixXcd> list;
  for (const double w : frequencies) {
    Eigen::MatrixXcd pencil = -linear.A.cast<std::complex<double>>();
    pencil.diagonal().array() += std::complex<double>(0.0, w);
    list.push_back(n > 0 ? Eigen::MatrixXcd(C * solve_square(pencil, B) + D) : D);
  }
  return list;
}

std::vector<double> telling_frequencies(const Linearization& linear) {
  double low = std::numeric_limits<double>::infinity(), high = 0.0;
  const Eigen::VectorXcd values = linear.A.size() > 0 ? Eigen::VectorXcd(general_eigenvalues(linear.A))
                                                      : Eigen::VectorXcd(Eigen::VectorXcd::Zero(0));
  const double largest = values.size() > 0 ? values.cwiseAbs().maxCoeff() : 0.0;
  for (const std::complex<double>& value : values)
    if (std::abs(value) > 1e-6 * largest) {
      low = std::min(low, std::abs(value));
      high = std::max(high, std::abs(value));
    }
  if (!(low <= high)) low = high = 1.0;
  constexpr int points_per_decade = 60;
  constexpr double most_decades = 8.0;
  low = std::max(low / 10.0, high * std::pow(10.0, 1.0 - most_decades));
  high *= 10.0;
  const int count = static_cast<int>(std::ceil(points_per_decade * std::log10(high / low)));
  std::vector<double> list;
  for (int i = 0; i <= count; ++i) list.push_back(low * std::pow(high / low, static_cast<double>(i) / count));
  // A sharp resonance lies between two points of any grid.
  for (const std::complex<double>& value : values)
    if (value.imag() > low && value.imag() < high) list.push_back(value.imag());
  std::ranges::sort(list);
  return list;
}

double Mode::frequency() const { return std::abs(eigenvalue.imag()) / (2.0 * std::numbers::pi); }

double Mode::damping_ratio() const {
  const double size = std::abs(eigenvalue);
  return size > 0.0 ? -eigenvalue.real() / size : std::numeric_limits<double>::quiet_NaN();
}

namespace {

/// How much the matrix's own rounding and the residual of an eigenpair may move its eigenvalue: (|wᴴr| + ε |w|ᵀ|A||y|)/|wᴴy| with
/// the left eigenvector w (Wilkinson 1965), whatever the units. Infinite for those of defective pairs.
void bound_round_off(const Matrix& A, const GeneralEigen& eigen, const std::vector<Eigen::Index>& of,
                     std::vector<Mode>& modes) {
  using Complex = std::complex<double>;
  constexpr double of_entries = 256.0 * std::numeric_limits<double>::epsilon();
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < modes.size(); ++i)
    if (modes[i].eigenvalue.real() > 0.0) asked.push_back(i);
  if (asked.empty()) return;
  Eigen::MatrixXcd unit = Eigen::MatrixXcd::Zero(A.rows(), static_cast<Eigen::Index>(asked.size()));
  for (std::size_t i = 0; i < asked.size(); ++i) unit(of[asked[i]], static_cast<Eigen::Index>(i)) = 1.0;
  // Rows of the inverse: wᵀ y = 1.
  const Eigen::MatrixXcd left = solve_square(Eigen::MatrixXcd(eigen.vectors.transpose()), unit);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Mode& mode = modes[asked[i]];
    const Eigen::VectorXcd w = left.col(static_cast<Eigen::Index>(i)), y = eigen.vectors.col(of[asked[i]]);
    const Eigen::VectorXcd rest = A.cast<Complex>() * y - mode.eigenvalue * y;
    const double bound = w.cwiseAbs().dot(rest.cwiseAbs() + of_entries * (A.cwiseAbs() * y.cwiseAbs()));
    if (std::isfinite(bound)) mode.round_off = bound;
  }
}

}  // namespace

std::vector<Mode> modes_of(const System& system, const Motion& m, const Linearization& linear) {
  std::vector<Mode> modes;
  const auto n = linear.A.rows();
  if (n == 0) return modes;
  const GeneralEigen eigen = general_eigen(linear.A);
  if (!eigen.is_found) throw InvalidInput("the eigenvalues of the linearised system were not found");
  const double length = system::length_scale(system, m);
  std::vector<Eigen::Index> of;
  for (Eigen::Index i = 0; i < n; ++i) {
    Mode mode;
    mode.eigenvalue = eigen.values[i];
    if (mode.eigenvalue.imag() < 0.0) continue;
    const Eigen::VectorXcd y = eigen.vectors.col(i);
    mode.shape = linear.X.cast<std::complex<double>>() * y.head(linear.positions());
    if (mode.shape.norm() <= 1e-10 * y.norm()) mode.shape = linear.V.cast<std::complex<double>>() * y;
    normalize(system, length, mode);
    modes.push_back(std::move(mode));
    of.push_back(i);
  }
  if (m.v.isZero(0.0)) bound_round_off(linear.A, eigen, of, modes);
  std::ranges::sort(modes, [](const Mode& a, const Mode& b) {
    return std::pair(a.eigenvalue.imag(), -a.eigenvalue.real()) < std::pair(b.eigenvalue.imag(), -b.eigenvalue.real());
  });
  return modes;
}

Stability stability_of(const std::vector<Mode>& modes) {
  // Zero eigenvalues come in defective pairs, with errors of the square root of round-off.
  constexpr double of_pairs = 1e-7, margin = 16.0;
  double largest = 0.0;
  for (const Mode& mode : modes) largest = std::max(largest, std::abs(mode.eigenvalue));
  Stability out;
  double noise = 0.0;
  for (const Mode& mode : modes) {
    const double growth = mode.eigenvalue.real();
    if (growth > std::min(of_pairs * largest, margin * mode.round_off)) {
      out.is_stable = false;
      out.growth = std::max(out.growth, growth);
    } else {
      noise = std::max(noise, growth);
    }
  }
  if (out.is_stable) out.growth = noise;
  return out;
}

}  // namespace kreisel::analysis
