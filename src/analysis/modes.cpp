#include "analysis/modes.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "system/consistency.hpp"
#include "system/dense.hpp"
#include "system/differences.hpp"

namespace kreisel::analysis {
namespace {

using system::CoordinateKind;
using system::Motion;
using system::Pattern;
using system::System;

/// Full matrices: by the third power, some minutes.
constexpr int most_coordinates = 2000;
constexpr double rank_tolerance = 1e-10;

std::vector<int> coordinates(const System& system, CoordinateKind kind) {
  std::vector<int> list;
  const auto& blocks = system.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (system.pattern().kind(static_cast<int>(b)) == kind)
      for (int i = 0; i < blocks[b].nv; ++i) list.push_back(blocks[b].v_at + i);
  return list;
}

/// Orthonormal bases of the rows of A and of what is left.
struct Spaces {
  Matrix range, null;
};

Spaces spaces_of(const Matrix& A) {
  if (A.size() == 0) return {Matrix(A.cols(), 0), Matrix::Identity(A.cols(), A.cols())};
  Matrix rows = A;
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
    if (const double length = rows.row(i).norm(); length > 0.0) rows.row(i) /= length;
  Eigen::ColPivHouseholderQR<Matrix> qr(rows.transpose());
  qr.setThreshold(rank_tolerance);
  const Matrix Q = qr.householderQ() * Matrix::Identity(A.cols(), A.cols());
  return {Q.leftCols(qr.rank()), Q.rightCols(A.cols() - qr.rank())};
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
    // By sizes of the mechanism and radians in q, by parts of the velocity in v, of which it is a polynomial.
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

/// Whether the coefficients are the same a little later on the motion.
bool is_steady(const System& system, const Motion& m, const Vector& lambda, const system::KktBlocks& now) {
  if (m.v.isZero(0.0) && m.a.isZero(0.0)) return true;
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
  const auto stays = [](const Vector& a, const Vector& b) { return (a - b).norm() <= 1e-6 * (a.norm() + b.norm()); };
  return stays(now.M, then.M) && stays(now.D, then.D) && stays(now.K, then.K) && stays(now.B, then.B) &&
         stays(now.H, then.H);
}

}  // namespace

Linearization linearize(const System& system, const Motion& m, const Vector& lambda) {
  const int nv = system.space().nv(), position_rows = system.pattern().position_rows();
  if (nv + system.pattern().rows() > most_coordinates)
    throw InvalidInput(
        fmt::format("the system has {} coordinates and {} constraint rows; modes work with full matrices of at "
                    "most {} rows. Take a coarser model",
                    nv, system.pattern().rows(), most_coordinates));
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
  out.is_steady = is_steady(system, m, lambda, blocks);
  // Positions: B x = 0.
  out.X = spaces_of(B.topRows(position_rows)).null;
  const auto np = out.X.cols();
  // Velocities of bodies: C δv + H x = 0 with C = B(:, d), of whose rows as many are kept as are independent.
  const Matrix C_all = B(Eigen::all, d);
  const Spaces spaces = spaces_of(C_all);
  const Matrix& N = spaces.null;
  const auto nu = N.cols(), rank = spaces.range.cols(), nd = static_cast<Eigen::Index>(d.size());
  // (C range)⁺: rows x rank of full column rank.
  const Matrix fit = rank > 0 ? Matrix((C_all * spaces.range).completeOrthogonalDecomposition().pseudoInverse())
                              : Matrix(0, C_all.rows());
  // δv of y: particular part by the constraints, then the free part.
  out.V = Matrix::Zero(nv, np + nu);
  const Matrix H_x = H * out.X;
  Matrix v_d = Matrix::Zero(nd, np + nu);
  if (rank > 0) v_d.leftCols(np) = -spaces.range * (fit * H_x);
  v_d.rightCols(nu) = N;
  out.V(d, Eigen::all) = v_d;
  Matrix x = Matrix::Zero(nv, np + nu);
  x.leftCols(np) = out.X;
  // States: D_zz δv_z + D_zd δv_d + K_z x + F_z δλ = 0; multipliers do not act on states.
  if (!z.empty()) {
    const Matrix right = D(z, d) * v_d + K(z, Eigen::all) * x;
    out.V(z, Eigen::all) = -D(z, z).partialPivLu().solve(right);
  }
  // ẋ = δv - [v, x].
  const Matrix rate = out.V - hat_of(system, m.v) * x;
  // M δv̇ + F δλ = -(D δv + K x), C δv̇ = -δ(d/dt rate), in the directions that the constraints leave and in those they take.
  Matrix saddle = Matrix::Zero(nd + rank, nd + rank);
  // Multipliers that differ by a combination without force are one.
  const Matrix F_d = F(d, Eigen::all);
  const Spaces of_forces = spaces_of(F_d);
  if (of_forces.range.cols() != rank)
    throw InvalidInput("constraint forces do not match the constraints there; 'kreisel check' says more");
  saddle.topLeftCorner(nd, nd) = M(d, d);
  if (rank > 0) {
    saddle.topRightCorner(nd, rank) = F_d * of_forces.range;
    saddle.bottomLeftCorner(rank, nd) = spaces.range.transpose();
  }
  Matrix right = Matrix::Zero(nd + rank, np + nu);
  right.topRows(nd) = -(D(d, Eigen::all) * out.V + K(d, Eigen::all) * x);
  if (rank > 0) right.bottomRows(rank) = -fit * change_of_acceleration_gap(system, m, x, out.V);
  // Whatever the units, rows and columns have entries about 1.
  Vector rows = Vector::Ones(nd + rank), columns = rows;
  for (int pass = 0; pass < 3; ++pass) {
    const Matrix scaled = (rows.asDiagonal() * saddle * columns.asDiagonal()).cwiseAbs();
    for (Eigen::Index i = 0; i < rows.size(); ++i) {
      if (const double size = scaled.row(i).maxCoeff(); size > 0.0) rows[i] /= std::sqrt(size);
      if (const double size = scaled.col(i).maxCoeff(); size > 0.0) columns[i] /= std::sqrt(size);
    }
  }
  const Eigen::FullPivLU<Matrix> lu(rows.asDiagonal() * saddle * columns.asDiagonal());
  if (!lu.isInvertible())
    throw InvalidInput("the mass matrix is singular on the motions that the constraints allow; give the bodies mass");
  const Matrix solution = columns.asDiagonal() * lu.solve(rows.asDiagonal() * right);
  const Matrix acceleration = solution.topRows(nd);
  out.A.resize(np + nu, np + nu);
  out.A.topRows(np) = out.X.transpose() * rate;
  out.A.bottomRows(nu) = N.transpose() * acceleration;
  return out;
}

double Mode::frequency() const { return std::abs(eigenvalue.imag()) / (2.0 * std::numbers::pi); }

double Mode::damping_ratio() const {
  const double size = std::abs(eigenvalue);
  return size > 0.0 ? -eigenvalue.real() / size : std::numeric_limits<double>::quiet_NaN();
}

std::vector<Mode> modes_of(const System& system, const Motion& m, const Linearization& linear) {
  std::vector<Mode> modes;
  const auto n = linear.A.rows();
  if (n == 0) return modes;
  const Eigen::EigenSolver<Matrix> solver(linear.A);
  if (solver.info() != Eigen::Success) throw InvalidInput("the eigenvalues of the linearised system were not found");
  const double length = system::length_scale(system, m);
  // Pairs that are double in exact numbers come out with parts of the square root of round-off.
  for (Eigen::Index i = 0; i < n; ++i) {
    Mode mode;
    mode.eigenvalue = solver.eigenvalues()[i];
    if (mode.eigenvalue.imag() < 0.0) continue;
    const Eigen::VectorXcd y = solver.eigenvectors().col(i);
    mode.shape = linear.X.cast<std::complex<double>>() * y.head(linear.positions());
    if (mode.shape.norm() <= 1e-10 * y.norm()) mode.shape = linear.V.cast<std::complex<double>>() * y;
    double largest = 0.0;
    const auto& blocks = system.space().blocks();
    std::complex<double> turn = 1.0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const lie::Block& block = blocks[b];
      for (int j = 0; j < block.nv; ++j) {
        const bool is_rotation = j >= lie::translations_of(block);
        const std::complex<double> entry = mode.shape[block.v_at + j];
        if (const double size = std::abs(entry) / (is_rotation ? 1.0 : length); size > largest * (1.0 + 1e-9)) {
          largest = size;
          turn = entry / size;
          mode.largest = system.pattern().block_name(static_cast<int>(b));
        }
      }
    }
    if (largest > 0.0) mode.shape /= turn;
    modes.push_back(std::move(mode));
  }
  std::ranges::sort(modes, [](const Mode& a, const Mode& b) {
    return std::pair(a.eigenvalue.imag(), -a.eigenvalue.real()) < std::pair(b.eigenvalue.imag(), -b.eigenvalue.real());
  });
  return modes;
}

Stability stability_of(const std::vector<Mode>& modes) {
  // Zero eigenvalues come in defective pairs, with parts of the square root of round-off.
  constexpr double round_off = 1e-7;
  Stability out;
  double largest = 0.0;
  for (const Mode& mode : modes) {
    largest = std::max(largest, std::abs(mode.eigenvalue));
    out.growth = std::max(out.growth, mode.eigenvalue.real());
  }
  out.is_stable = out.growth <= round_off * largest;
  return out;
}

}  // namespace kreisel::analysis
