#include "analysis/lowest_modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "analysis/static_matrix.hpp"
#include "base/decompositions.hpp"
#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "system/consistency.hpp"

namespace kreisel::analysis {
namespace {

using system::CoordinateKind;
using system::Motion;
using system::Pattern;
using system::System;

constexpr double accuracy = 1e-9;

/// z = (x, w = λ x) ↦ (A - σE)⁻¹E z of the pencil λ x = w, λ M w = -(D w + K x + F μ), B x = 0.
class Inverse {
 public:
  Inverse(const System& system, const Motion& m, const Vector& lambda)
      : system_(system), nv_(system.space().nv()), blocks_(system.pattern()), matrix_(system, "automatic") {
    system.linearize(m, lambda, blocks_);
    right_.setZero(matrix_.size());
    // Shift zero gives the lowest eigenvalues directly; but if something is free to move, zero is an eigenvalue itself.
    const double fastest = rate();
    for (const double shift : {0.0, 1e-3 * fastest, 1e-2 * fastest, 0.1 * fastest})
      if (try_shift(shift, fastest)) return;
    throw InvalidInput("no shifted stiffness can be factorised; run 'kreisel check' on the model");
  }

  double shift() const { return shift_; }

  Vector operator()(const Vector& z) {
    const auto x = z.head(nv_), w = z.tail(nv_);
    right_.setZero();
    right_.head(nv_) = -(times(blocks_.M, Vector(w + shift_ * x)) + times(blocks_.D, Vector(x)));
    matrix_.solve(right_);
    Vector out(2 * nv_);
    out.head(nv_) = right_.head(nv_);
    out.tail(nv_) = x + shift_ * right_.head(nv_);
    return out;
  }

 private:
  Vector times(const Vector& values, const Vector& x) const {
    Vector out = Vector::Zero(nv_);
    const auto& factors = system_.space().blocks();
    for (const Pattern::Coupling& c : system_.pattern().couplings()) {
      const lie::Block &row = factors[static_cast<std::size_t>(c.row)],
                       &column = factors[static_cast<std::size_t>(c.column)];
      out.segment(row.v_at, row.nv) +=
          Eigen::Map<const Matrix>(values.data() + c.at, row.nv, column.nv) * x.segment(column.v_at, column.nv);
    }
    return out;
  }

  /// √(K/M) by the diagonals, the lowest.
  double rate() const {
    double lowest = HUGE_VAL;
    const auto& factors = system_.space().blocks();
    for (const Pattern::Coupling& c : system_.pattern().couplings()) {
      if (c.row != c.column) continue;
      const int n = factors[static_cast<std::size_t>(c.row)].nv;
      for (int i = 0; i < n; ++i) {
        const double M = blocks_.M[c.at + i * (n + 1)], K = std::abs(blocks_.K[c.at + i * (n + 1)]);
        if (M > 0.0 && K > 0.0) lowest = std::min(lowest, std::sqrt(K / M));
      }
    }
    return std::isfinite(lowest) ? lowest : 1.0;
  }

  bool try_shift(double shift, double rate) {
    shift_ = shift;
    if (!matrix_.factorize(blocks_, [&](int) { return StaticMatrix::Weights{.m = shift * shift, .d = shift}; }))
      return false;
    // A matrix that is singular up to round-off is detected by applying the inverse twice to ones: this gives 1/λ²,
    // with λ² of the order of round-off if something is free to move.
    constexpr double free = 1e13;
    const auto size = [&](const Vector& z) { return rate * z.head(nv_).norm() + z.tail(nv_).norm(); };
    const Vector z = Vector::Ones(2 * nv_), again = (*this)((*this)(z));
    return again.allFinite() && rate * rate * size(again) < free * size(z);
  }

  const System& system_;
  int nv_;
  system::KktBlocks blocks_;
  StaticMatrix matrix_;
  double shift_ = 0.0;
  Vector right_;
};

}  // namespace

void normalize(const System& system, double length, Mode& mode) {
  double largest = 0.0;
  std::complex<double> turn = 1.0;
  const auto& blocks = system.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (int j = 0; j < blocks[b].nv; ++j) {
      const bool is_rotation = j >= lie::translations_of(blocks[b]);
      const std::complex<double> entry = mode.shape[blocks[b].v_at + j];
      if (const double size = std::abs(entry) / (is_rotation ? 1.0 : length); size > largest * (1.0 + 1e-9)) {
        largest = size;
        turn = entry / size;
        mode.largest = system.pattern().block_name(static_cast<int>(b));
      }
    }
  if (largest > 0.0) mode.shape /= turn;
}

std::vector<Mode> lowest_modes(const System& system, const Motion& m, const Vector& lambda, int count) {
  if (!m.v.isZero(0.0))
    throw InvalidInput("modes of so large a system are found at rest only; take a coarser model, or --at static");
  const int nv = system.space().nv();
  for (std::size_t b = 0; b < system.space().blocks().size(); ++b)
    if (system.pattern().kind(static_cast<int>(b)) == CoordinateKind::algebraic)
      throw InvalidInput(
          "the system has algebraic unknowns; modes are defined for positions, velocities and states only");
  Inverse inverse(system, m, lambda);
  const double length = system::length_scale(system, m);
  // Velocities and positions, translations and rotations of about the same size.
  Vector scale = Vector::Ones(2 * nv);
  for (const lie::Block& block : system.space().blocks()) {
    const int translations = lie::translations_of(block);
    for (int half = 0; half < 2; ++half) scale.segment(half * nv + block.v_at, translations).setConstant(1.0 / length);
  }
  const auto apply = [&](const Vector& z) { return Vector(scale.cwiseProduct(inverse(z.cwiseQuotient(scale)))); };
  // Pairs come with their conjugates; some extra ones help the wanted ones to converge.
  const int most = std::min(2 * nv, 6 * count + 120);
  Vector first(2 * nv);
  for (Eigen::Index i = 0; i < first.size(); ++i) first[i] = std::sin(1.0 + 7.0 * static_cast<double>(i));
  for (int i = 0; i < 3; ++i) first = apply(first).normalized();  // removes the components of the constraints
  Matrix V(2 * nv, most + 1), H = Matrix::Zero(most + 1, most);
  V.col(0) = first;
  int size = 0;
  bool is_invariant = false;
  for (int k = 0; k < most && !is_invariant; ++k) {
    Vector w = apply(V.col(k));
    const double before = w.norm();
    for (int pass = 0; pass < 2; ++pass) {
      const Vector parts = V.leftCols(k + 1).transpose() * w;
      w -= V.leftCols(k + 1) * parts;
      H.col(k).head(k + 1) += parts;
    }
    H(k + 1, k) = w.norm();
    size = k + 1;
    is_invariant = H(k + 1, k) <= 1e-14 * before;
    if (!is_invariant) V.col(k + 1) = w / H(k + 1, k);
  }
  const GeneralEigen ritz = general_eigen(H.topLeftCorner(size, size));
  if (!ritz.is_found) throw InvalidInput("the eigenvalues of the linearised system were not found");
  const double rest = is_invariant ? 0.0 : H(size, size - 1);
  std::vector<Mode> modes;
  for (int i = 0; i < size; ++i) {
    const std::complex<double> theta = ritz.values[i];
    const Eigen::VectorXcd y = ritz.vectors.col(i);
    if (std::abs(theta) == 0.0 || rest * std::abs(y[size - 1]) > accuracy * std::abs(theta) * y.norm()) continue;
    Mode mode;
    mode.eigenvalue = inverse.shift() + 1.0 / theta;
    if (mode.eigenvalue.imag() < 0.0) continue;
    const Eigen::VectorXcd z = V.leftCols(size).cast<std::complex<double>>() * y;
    mode.shape = z.head(nv).cwiseQuotient(scale.head(nv).cast<std::complex<double>>());
    normalize(system, length, mode);
    modes.push_back(std::move(mode));
  }
  std::ranges::sort(modes, [](const Mode& a, const Mode& b) {
    return std::pair(a.eigenvalue.imag(), -a.eigenvalue.real()) < std::pair(b.eigenvalue.imag(), -b.eigenvalue.real());
  });
  if (static_cast<int>(modes.size()) < std::min(count, nv / 2))
    throw InvalidInput(fmt::format("only {} of {} modes converged; ask for fewer with --count", modes.size(), count));
  if (static_cast<int>(modes.size()) > count) modes.resize(static_cast<std::size_t>(count));
  return modes;
}

}  // namespace kreisel::analysis
