// Reference values in quadruple precision, from power series and elimination only: nothing is shared with the library.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace kreisel::quad_reference {

__extension__ typedef __float128 quad;

inline quad magnitude(quad a) { return a < 0 ? -a : a; }

inline quad square_root(quad a) {
  if (a == 0) return 0;
  // The double root has 53 bits; a step doubles them. Scaled, since a may underflow a double.
  quad scale = 1;
  while (a * scale * scale < 1e-20) scale *= 1e10;
  quad root = std::sqrt(static_cast<double>(a * scale * scale));
  for (int i = 0; i < 3; ++i) root = (root + a * scale * scale / root) / 2;
  return root / scale;
}

/// Σ (-s)ʲ/(2j+n)!; 160 terms carry it to |θ| = 20 with 24 digits left.
inline quad stumpff(int n, quad s) {
  quad term = 1;
  for (int i = 2; i <= n; ++i) term /= i;
  quad sum = 0;
  for (int j = 0; j < 160; ++j) {
    sum += term;
    term *= -s / ((2 * j + n + 1) * (2 * j + n + 2));
  }
  return sum;
}

inline quad cosine(quad angle) { return stumpff(0, angle * angle); }
inline quad sine(quad angle) { return angle * stumpff(1, angle * angle); }

/// atan2(y, x): Newton on y cos - x sin = 0, cubic because sine has no curvature at its zero.
inline quad arc(quad y, quad x) {
  const quad norm = square_root(x * x + y * y);
  quad angle = std::atan2(static_cast<double>(y), static_cast<double>(x));
  for (int i = 0; i < 4; ++i) angle += (y * cosine(angle) - x * sine(angle)) / norm;
  return angle;
}

struct Vec : std::vector<quad> {
  using std::vector<quad>::vector;
  template <class Derived>
  explicit Vec(const Eigen::MatrixBase<Derived>& a) {
    for (Eigen::Index i = 0; i < a.size(); ++i) push_back(a(i));
  }
};

inline quad squared_norm(const Vec& a) {
  quad sum = 0;
  for (const quad e : a) sum += e * e;
  return sum;
}

/// Square, row by row.
struct Mat {
  std::size_t n;
  std::vector<quad> entries;

  explicit Mat(std::size_t size) : n(size), entries(size * size, quad(0)) {}
  template <class Derived>
  explicit Mat(const Eigen::MatrixBase<Derived>& a) : Mat(static_cast<std::size_t>(a.rows())) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) at(i, j) = a(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
  }
  static Mat identity(std::size_t size) {
    Mat one(size);
    for (std::size_t i = 0; i < size; ++i) one.at(i, i) = 1;
    return one;
  }
  quad& at(std::size_t i, std::size_t j) { return entries[i * n + j]; }
  quad at(std::size_t i, std::size_t j) const { return entries[i * n + j]; }
};

inline Mat operator*(const Mat& a, const Mat& b) {
  Mat c(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t k = 0; k < a.n; ++k)
      if (a.at(i, k) != 0)
        for (std::size_t j = 0; j < a.n; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

inline Vec operator*(const Mat& a, const Vec& x) {
  Vec y(a.n, quad(0));
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j) y[i] += a.at(i, j) * x[j];
  return y;
}

/// Σ signⁱ/(i+1)! Aⁱ: T for sign = -1, V of SE(3) for sign = +1.
inline Mat tangent_series(const Mat& a, int sign) {
  Mat sum(a.n), term = Mat::identity(a.n);
  for (int i = 0;; ++i) {
    quad largest = 0;
    for (std::size_t k = 0; k < sum.entries.size(); ++k) {
      sum.entries[k] += term.entries[k];
      largest = largest < magnitude(term.entries[k]) ? magnitude(term.entries[k]) : largest;
    }
    if (largest < 1e-36) return sum;
    term = term * a;
    for (quad& e : term.entries) e *= quad(sign) / (i + 2);
  }
}

/// Gauss–Jordan with row pivots.
inline Mat inverse(Mat a) {
  Mat b = Mat::identity(a.n);
  for (std::size_t k = 0; k < a.n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < a.n; ++i)
      if (magnitude(a.at(i, k)) > magnitude(a.at(pivot, k))) pivot = i;
    for (std::size_t j = 0; j < a.n; ++j) {
      std::swap(a.at(k, j), a.at(pivot, j));
      std::swap(b.at(k, j), b.at(pivot, j));
    }
    const quad over = 1 / a.at(k, k);
    for (std::size_t j = 0; j < a.n; ++j) {
      a.at(k, j) *= over;
      b.at(k, j) *= over;
    }
    for (std::size_t i = 0; i < a.n; ++i) {
      const quad factor = a.at(i, k);
      if (i == k || factor == 0) continue;
      for (std::size_t j = 0; j < a.n; ++j) {
        a.at(i, j) -= factor * a.at(k, j);
        b.at(i, j) -= factor * b.at(k, j);
      }
    }
  }
  return b;
}

inline Mat skew(const Vec& w) {
  Mat a(3);
  a.at(0, 1) = -w[2], a.at(0, 2) = w[1], a.at(1, 2) = -w[0];
  a.at(1, 0) = w[2], a.at(2, 0) = -w[1], a.at(2, 1) = w[0];
  return a;
}

/// (sin(θ/2)/θ · ω, cos(θ/2)).
inline Vec quaternion_exp(const Vec& omega) {
  const quad quarter = squared_norm(omega) / 4, half_sinc = stumpff(1, quarter) / 2;
  return {half_sinc * omega[0], half_sinc * omega[1], half_sinc * omega[2], stumpff(0, quarter)};
}

/// The shortest rotation vector of a quaternion of any length and sign.
inline Vec quaternion_log(const Vec& q) {
  const quad sign = q[3] < 0 ? -1 : 1, norm = square_root(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  const quad factor = norm == 0 ? quad(0) : sign * 2 * arc(norm, sign * q[3]) / norm;
  return {factor * q[0], factor * q[1], factor * q[2]};
}

/// |approximation - exact| / |exact| over entries first … first + count - 1.
template <class Derived>
double relative_error(const Eigen::MatrixBase<Derived>& approximation, const Vec& exact, int first, int count) {
  quad difference = 0, norm = 0;
  for (int i = first; i < first + count; ++i) {
    const quad e = exact[static_cast<std::size_t>(i)], d = quad(approximation(i)) - e;
    difference += d * d;
    norm += e * e;
  }
  return static_cast<double>(norm == 0 ? square_root(difference) : square_root(difference) / square_root(norm));
}

/// The same in the Frobenius norm of the size × size block whose upper left corner is (row, column).
template <class Derived>
double relative_block_error(const Eigen::MatrixBase<Derived>& approximation, const Mat& exact, int row, int column,
                            int size) {
  quad difference = 0, norm = 0;
  for (int i = row; i < row + size; ++i)
    for (int j = column; j < column + size; ++j) {
      const quad e = exact.at(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
      const quad d = quad(approximation(i, j)) - e;
      difference += d * d;
      norm += e * e;
    }
  return static_cast<double>(norm == 0 ? square_root(difference) : square_root(difference) / square_root(norm));
}

}  // namespace kreisel::quad_reference
