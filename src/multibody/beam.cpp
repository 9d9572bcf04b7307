#include "multibody/beam.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lie/se3.hpp"

namespace kreisel::multibody {
namespace {

using lie::cross;
using Matrix6Map = Eigen::Map<Matrix6>;

Matrix6 hat(const Vector6& x) { return lie::SE3::hat(x); }

/// check(s) d = hat(d)ᵀ s.
Matrix6 check(const Vector6& s) {
  const Matrix3 n = skew(s.head<3>()), m = skew(s.tail<3>());
  Matrix6 A;
  A << Matrix3::Zero(), n, n, m;
  return A;
}
Vector6 check(const Vector6& s, const Vector6& d) {
  const Vector3 n = s.head<3>(), m = s.tail<3>(), u = d.head<3>(), w = d.tail<3>();
  Vector6 out;
  out << cross(n, w), cross(n, u) + cross(m, w);
  return out;
}
Vector6 hat(const Vector6& x, const Vector6& y) { return lie::SE3::bracket(x, y); }

/// skew(x) diag(D) skew(y)ᵀ.
Matrix3 skew_product(const Vector3& x, const Vector3& D, const Vector3& y) {
  Matrix3 A;
  A << D[1] * x[2] * y[2] + D[2] * x[1] * y[1], -D[2] * x[1] * y[0], -D[1] * x[2] * y[0],  //
      -D[2] * x[0] * y[1], D[0] * x[2] * y[2] + D[2] * x[0] * y[0], -D[0] * x[2] * y[1],   //
      -D[1] * x[0] * y[2], -D[0] * x[1] * y[2], D[0] * x[1] * y[1] + D[1] * x[0] * y[0];
  return A;
}

using kernel::unrolled;

/// The lower half of a symmetric 6x6 matrix.
struct Lower {
  double values[21];

  static constexpr int at(int i, int j) { return i * (i + 1) / 2 + j; }
  double operator()(int i, int j) const { return values[at(i, j)]; }
  double& operator()(int i, int j) { return values[at(i, j)]; }

  Lower() = default;
  explicit Lower(const Matrix6& A) {
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j <= i; ++j) values[at(i, j)] = A(i, j);
  }
};

/// A = L Lᵀ of a positive definite 6x6 matrix.
class Cholesky {
 public:
  explicit Cholesky(const Lower& A) {
    unrolled<6>([&](auto column) {
      constexpr int j = column;
      double pivot = A(j, j);
      unrolled<j>([&](auto k) { pivot -= L_[j][k] * L_[j][k]; });
      over_[j] = 1.0 / std::sqrt(pivot);
      unrolled<5 - j>([&](auto rest) {
        constexpr int i = j + 1 + rest;
        double sum = A(i, j);
        unrolled<j>([&](auto k) { sum -= L_[i][k] * L_[j][k]; });
        L_[i][j] = sum * over_[j];
      });
    });
  }
  Vector6 solve(const Vector6& b) const {
    Vector6 x;
    unrolled<6>([&](auto row) {
      constexpr int i = row;
      double sum = b[i];
      unrolled<i>([&](auto k) { sum -= L_[i][k] * x[int{k}]; });
      x[i] = sum * over_[i];
    });
    unrolled<6>([&](auto back) {
      constexpr int i = 5 - back;
      double sum = x[i];
      unrolled<5 - i>([&](auto k) { sum -= L_[i + 1 + k][i] * x[int{i + 1 + k}]; });
      x[i] = sum * over_[i];
    });
    return x;
  }
  /// Bᵀ A⁻¹ B, from the rows of B.
  Matrix6 product(const Matrix6& B) const {
    Matrix6 Y = B.transpose(), out;  // columns are the rows of L⁻¹B
    unrolled<6>([&](auto row) {
      constexpr int i = row;
      unrolled<i>([&](auto k) { Y.col(i) -= L_[i][k] * Y.col(int{k}); });
      Y.col(i) *= over_[i];
    });
    unrolled<6>([&](auto column) {
      constexpr int j = column;
      Vector6 sum = Y(j, 0) * Y.col(0);
      unrolled<5>([&](auto k) { sum += Y(j, int{k + 1}) * Y.col(int{k + 1}); });
      out.col(j) = sum;
    });
    return out;
  }

 private:
  double L_[6][6];
  double over_[6];  ///< of the diagonal
};

/// The even part of T⁻¹(d) = E + ½ hat(d), E = [A Q; 0 A] with symmetric A and Q, and what its derivatives need.
class EvenPart {
 public:
  /// c and its slope as in lie::inverse_tangent_coefficients.
  EvenPart(const Vector6& d, double c, double slope)
      : u_(d.head<3>()), w_(d.tail<3>()), s_(w_.squaredNorm()), mu_(w_.dot(u_)), c_(c), slope_(slope) {}

  /// Eᵀσ = (n + c a(n), m + c (a(m) + b(n)) + μ c' a(n)).
  Vector6 transposed(const Vector6& stress) const {
    const Vector3 n = stress.head<3>(), m = stress.tail<3>(), an = a(n);
    Vector6 out;
    out << n + c_ * an, m + c_ * (a(m) + b(n)) + (mu_ * slope_) * an;
    return out;
  }
  /// E y.
  Vector6 operator*(const Vector6& y) const {
    const Vector3 y1 = y.head<3>(), y2 = y.tail<3>(), a2 = a(y2);
    Vector6 out;
    out << y1 + c_ * (a(y1) + b(y2)) + (mu_ * slope_) * a2, y2 + c_ * a2;
    return out;
  }
  Matrix6 matrix() const {
    const Matrix3 ww = w_ * w_.transpose(), uw = u_ * w_.transpose();
    Matrix3 A = c_ * ww, Q = c_ * (uw + uw.transpose()) + (mu_ * slope_) * ww;
    A.diagonal().array() += 1.0 - c_ * s_;
    Q.diagonal().array() -= mu_ * (2.0 * c_ + slope_ * s_);
    Matrix6 E;
    E << A, Q, Matrix3::Zero(), A;
    return E;
  }
  /// ∂(Eᵀσ)/∂d.
  Matrix6 derivative_transposed(const Vector6& stress) const {
    const Vector3 n = stress.head<3>(), m = stress.tail<3>();
    const Matrix3 F = first(n);
    Matrix6 out;
    out << Matrix3::Zero(), F, F, second(n) + first(m);
    return out;
  }
  /// ∂(E y)/∂d.
  Matrix6 derivative(const Vector6& y) const {
    const Vector3 y1 = y.head<3>(), y2 = y.tail<3>();
    const Matrix3 F = first(y2);
    Matrix6 out;
    out << F, first(y1) + second(y2), Matrix3::Zero(), F;
    return out;
  }

 private:
  Vector3 a(const Vector3& n) const { return w_.dot(n) * w_ - s_ * n; }
  Vector3 b(const Vector3& n) const { return w_.dot(n) * u_ + u_.dot(n) * w_ - 2.0 * mu_ * n; }
  static Matrix3 A(const Vector3& y, const Vector3& n) {
    Matrix3 out = y * n.transpose() - 2.0 * n * y.transpose();
    out.diagonal().array() += y.dot(n);
    return out;
  }
  /// ∂(c a(n))/∂ω, which is ∂(c b(n) + μ c' a(n))/∂u too.
  Matrix3 first(const Vector3& n) const { return c_ * A(w_, n) + slope_ * a(n) * w_.transpose(); }
  /// ∂(c b(n) + μ c' a(n))/∂ω.
  Matrix3 second(const Vector3& n) const {
    const double curvature = lie::inverse_tangent_curvature(s_);
    const Vector3 an = a(n);
    return c_ * A(u_, n) + slope_ * (mu_ * A(w_, n) + b(n) * w_.transpose() + an * u_.transpose()) +
           (curvature * mu_) * an * w_.transpose();
  }

  Vector3 u_, w_;
  double s_, mu_, c_, slope_;
};

Matrix6 symmetric_inverse(const Matrix6& A) { return A.ldlt().solve(Matrix6::Identity()); }

using Matrix63 = Eigen::Matrix<double, 6, 3>;

/// X R, column by column: columns of six are three pairs of numbers.
[[gnu::always_inline]] inline Matrix63 times(const Matrix63& X, const Matrix3& R) {
  Matrix63 out;
  unrolled<3>([&](auto column) {
    constexpr int j = column;
    out.col(j) = X.col(0) * R(0, j) + X.col(1) * R(1, j) + X.col(2) * R(2, j);
  });
  return out;
}
/// X skew(x).
[[gnu::always_inline]] inline Matrix63 times_skew(const Matrix63& X, const Vector3& x) {
  Matrix63 out;
  out.col(0) = X.col(1) * x[2] - X.col(2) * x[1];
  out.col(1) = X.col(2) * x[0] - X.col(0) * x[2];
  out.col(2) = X.col(0) * x[1] - X.col(1) * x[0];
  return out;
}

/// -X Ad(h) and -X Ad(h⁻¹) with h = (x, R), Ad(h) = [R x̃R; 0 R].
Matrix6 minus_times_adjoint(const Matrix6& X, const Vector3& x, const Matrix3& R) {
  const Matrix63 left = -X.leftCols<3>();
  Matrix6 out;
  out.leftCols<3>() = times(left, R);
  out.rightCols<3>() = times(times_skew(left, x) - X.rightCols<3>(), R);
  return out;
}
Matrix6 minus_times_inverse_adjoint(const Matrix6& X, const Vector3& x, const Matrix3& R) {
  const Matrix3 minus = -R.transpose();
  const Matrix63 left = times(X.leftCols<3>(), minus);
  Matrix6 out;
  out.leftCols<3>() = left;
  out.rightCols<3>() = times(X.rightCols<3>(), minus) - times_skew(left, x);
  return out;
}

/// X P with P = [a q; 0 a], as P_A and P_B are.
Matrix6 times_triangular(const Matrix6& X, const Matrix6& P) {
  const Matrix3 a = P.topLeftCorner<3, 3>(), q = P.topRightCorner<3, 3>();
  Matrix6 out;
  out.leftCols<3>() = times(X.leftCols<3>(), a);
  out.rightCols<3>() = times(X.leftCols<3>(), q) + times(X.rightCols<3>(), a);
  return out;
}
/// Pᵀ X.
Matrix6 transposed_times(const Matrix6& P, const Matrix6& X) { return times_triangular(X.transpose(), P).transpose(); }

/// The rotation vector of a unit quaternion. Elements turn by small angles: asin(x)/x by its series up to 0.2 rad, to round-off.
[[gnu::always_inline]] inline Vector3 rotation_vector(const Eigen::Vector4d& turn) {
  const double s = turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2];
  if (!(s < 0.01)) return lie::SO3::log(turn);
  double series = 6435.0 / 557056.0;
  for (const double c :
       {143.0 / 10240.0, 231.0 / 13312.0, 63.0 / 2816.0, 35.0 / 1152.0, 5.0 / 112.0, 3.0 / 40.0, 1.0 / 6.0, 1.0})
    series = series * s + c;
  return ((turn[3] < 0.0 ? -2.0 : 2.0) * series) * turn.head<3>();
}

bool is_identity(const Frame& f) { return f.p.isZero(0.0) && f.E == Matrix3::Identity(); }

}  // namespace

struct Beam::Ends {
  Vector3 x;             ///< of B, seen from A
  Eigen::Vector4d turn;  ///< the same of its rotation
  Vector6 d;
  double c, slope;           ///< of T⁻¹(d)
  std::array<Vector6, 2> v;  ///< of the end frames, in their axes
  bool is_too_bent = false;

  EvenPart even() const { return {d, c, slope}; }
};

struct Beam::Law {
  Vector6 stress;           ///< σ = C*⁻¹ε
  Vector6 work;             ///< t = ∂V/∂d
  Matrix6 work_derivative;  ///< ∂t/∂d
  double energy = 0.0;
};

struct Beam::Slopes {
  std::array<Vector6, 2> g;
  std::array<std::array<Matrix6, 2>, 2> K, D;
  bool has_D = false;
};

Matrix6 element_compliance(const BeamSection& section, double length, const Vector6& strain) {
  if (section.law == SectionLaw::constant) return section.compliance;
  const Matrix6 H = hat(strain);
  return section.compliance + (length * length / 12.0) * H * section.compliance * H.transpose();
}

Beam::Beam(std::string name, int node_a, const Frame& a, int node_b, const Frame& b, double length,
           const Vector6& strain0, const BeamSection& section)
    : SectionElement("beam", std::move(name), {node_a, node_b}),
      frame_{a, b},
      length_(length),
      strain0_(strain0),
      compliance_(section.compliance),
      law_(section.law),
      is_damped_(section.damping_time > 0.0),
      is_rigid_(section.is_rigid) {
  for (const int i : {0, 1}) {
    pose_[i] = lie::flat_pose(frame_[i].p, lie::quaternion_from(frame_[i].E));
    is_plain_[i] = is_identity(frame_[i]);
  }
  for (int i = 0; i < 3; ++i) {
    if (!is_rigid_[i]) continue;
    compliance_.row(i).setZero();
    compliance_.col(i).setZero();
    row_[rows_++] = i;
  }
  is_diagonal_ = compliance_.isDiagonal(0.0);
  scale_ = compliance_.diagonal().maxCoeff();
  BeamSection own = section;
  own.compliance = compliance_;
  stiffness_ = symmetric_inverse(reduced(element_compliance(own, length, strain0)));
  for (int i = 0; i < rows_; ++i) stiffness_(row_[i], row_[i]) = 0.0;
  damping_ = (section.damping_time / length) * stiffness_;
  if (law_ == SectionLaw::magnus) {
    // Of γ = u_y/L the part p is an S-shaped bow: sections inside are turned by φ = 6pγ(ξ - ξ²). Then u_x/L = ∫cos φ - (1-p)γ sin φ
    // is shorter by ½∫φ² + (1-p)γ∫φ = (0.6 p² + p(1-p))γ². The commutator has pγ² of it.
    for (const int i : {0, 1}) {
      const double by_shear = compliance_(1 + i, 1 + i),
                   by_bending = length * length / 12.0 * compliance_(5 - i, 5 - i);
      const double part = by_bending > 0.0 ? by_bending / (by_shear + by_bending) : 0.0;
      bow_[i] = -0.4 * part * part;
      chord_bow_[i] = part + bow_[i] - 0.5;
    }
  }
  length0_ = stretch_of(length_ * strain0_).length;
  has_kernel_ = has_closed_form();
  if (has_kernel_) constants_ = constants();
}

bool Beam::has_closed_form() const {
  return rows_ == 0 && is_diagonal_ && (law_ == SectionLaw::magnus || stiffness_.isDiagonal(0.0)) &&
         (!is_damped_ || damping_.isDiagonal(0.0));
}

kernel::Constants<double> Beam::constants() const {
  const auto six = [](const Vector6& x) -> kernel::Six<double> { return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}}; };
  const Vector6 C = compliance_.diagonal();
  return {.over_length = 1.0 / length_,
          .half_length = 0.5 * length_,
          .strain0 = six(strain0_),
          .compliance = six(C),
          .twelfth = six(C / 12.0),
          .twisting = six(length_ / 12.0 * C),
          .stiffness = six(stiffness_.diagonal()),
          .damping = six(damping_.diagonal()),
          .bow_y = bow_[0],
          .bow_z = bow_[1]};
}

/// Without the rigid strains.
Matrix6 Beam::reduced(Matrix6 C) const {
  for (int i = 0; i < rows_; ++i) {
    C.row(row_[i]).setZero();
    C.col(row_[i]).setZero();
    C(row_[i], row_[i]) = scale_;
  }
  return C;
}

Facets Beam::facets() const {
  return {.rows = rows_, .has_force = true, .stores_energy = true, .does_work = is_damped_};
}

const double* Beam::pose_of(const Instant& at, int end, lie::FlatPose& moved) const {
  if (at.slots[end].is_ground()) return pose_[end].data();
  if (is_plain_[end]) return at.q_of(end);
  moved = lie::SE3::compose(Eigen::Map<const lie::FlatPose>(at.q_of(end)), pose_[end]);
  return moved.data();
}

Vector6 Beam::velocity_of(const Instant& at, int end) const {
  Vector6 out = Vector6::Zero();
  if (at.slots[end].is_ground()) return out;
  const double* v = at.v_of(end);
  const Vector3 w(v[3], v[4], v[5]);
  Vector3 u(v[0], v[1], v[2]);
  if (at.slots[end].group != lie::GroupId::se3) u = lie::rotate_back(at.q_of(end) + 3, u);
  if (is_plain_[end])
    out << u, w;
  else
    out << frame_[end].E.transpose() * (u + cross(w, frame_[end].p)), frame_[end].E.transpose() * w;
  return out;
}

Beam::Ends Beam::ends_of(const Instant& at, bool with_velocities) const {
  lie::FlatPose moved[2];
  const double* const pose[2] = {pose_of(at, 0, moved[0]), pose_of(at, 1, moved[1])};
  const Eigen::Map<const lie::FlatPose> A(pose[0]), B(pose[1]);
  Ends out;
  out.x = lie::rotate_back(pose[0] + 3, B.head<3>() - A.head<3>());
  out.turn = lie::SO3::compose(lie::SO3::inverse(A.tail<4>()), B.tail<4>());
  const Vector3 omega = rotation_vector(out.turn);
  const double s = omega.squaredNorm();
  const auto [c, slope] = lie::inverse_tangent_coefficients(s);
  out.c = c;
  out.slope = slope;
  const Vector3 wx = cross(omega, out.x);
  out.d << out.x - 0.5 * wx + c * cross(omega, wx), omega;
  out.is_too_bent = !(s < widest_bend * widest_bend);
  if (!with_velocities) return out;
  for (const int i : {0, 1}) out.v[i] = velocity_of(at, i);
  return out;
}

/// ḋ = P v.
Vector6 Beam::rate_of(const Ends& ends) const {
  return ends.even() * Vector6(ends.v[1] - ends.v[0]) + 0.5 * hat(ends.d, ends.v[0] + ends.v[1]);
}

// In one function: products of 6x6 matrices are too small for calls.
template <bool with_derivatives>
[[gnu::flatten]] void Beam::set_law(const Vector6& d, Law& out) const {
  const double over_L = 1.0 / length_;
  const Vector6 f = over_L * d;
  Vector6 strain = f - strain0_;
  if (law_ == SectionLaw::constant) {
    out.stress = out.work = stiffness_ * strain;
    if constexpr (with_derivatives) out.work_derivative = over_L * stiffness_;
    out.energy = 0.5 * length_ * strain.dot(out.stress);
    return;
  }
  const double k = length_ * length_ / 12.0;
  const Vector3 u = f.head<3>(), w = f.tail<3>(), a = compliance_.diagonal().head<3>(),
                b = compliance_.diagonal().tail<3>();
  Lower star;
  if (is_diagonal_) {
    // skew(x) D skew(y)ᵀ written out, as only the lower half is needed.
    const double a0 = k * a[0], a1 = k * a[1], a2 = k * a[2], b0 = k * b[0], b1 = k * b[1], b2 = k * b[2];
    const double u0 = u[0], u1 = u[1], u2 = u[2], w0 = w[0], w1 = w[1], w2 = w[2];
    const double w00 = w0 * w0, w11 = w1 * w1, w22 = w2 * w2, u00 = u0 * u0, u11 = u1 * u1, u22 = u2 * u2;
    const double w01 = w0 * w1, w02 = w0 * w2, w12 = w1 * w2;
    star(0, 0) = a[0] + a1 * w22 + a2 * w11 + b1 * u22 + b2 * u11;
    star(1, 0) = -a2 * w01 - b2 * (u0 * u1);
    star(1, 1) = a[1] + a0 * w22 + a2 * w00 + b0 * u22 + b2 * u00;
    star(2, 0) = -a1 * w02 - b1 * (u0 * u2);
    star(2, 1) = -a0 * w12 - b0 * (u1 * u2);
    star(2, 2) = a[2] + a0 * w11 + a1 * w00 + b0 * u11 + b1 * u00;
    star(3, 0) = b1 * (w2 * u2) + b2 * (w1 * u1);
    star(3, 1) = -b2 * (w1 * u0);
    star(3, 2) = -b1 * (w2 * u0);
    star(4, 0) = -b2 * (w0 * u1);
    star(4, 1) = b0 * (w2 * u2) + b2 * (w0 * u0);
    star(4, 2) = -b0 * (w2 * u1);
    star(5, 0) = -b1 * (w0 * u2);
    star(5, 1) = -b0 * (w1 * u2);
    star(5, 2) = b0 * (w1 * u1) + b1 * (w0 * u0);
    star(3, 3) = b[0] + b1 * w22 + b2 * w11;
    star(4, 3) = -b2 * w01;
    star(4, 4) = b[1] + b0 * w22 + b2 * w00;
    star(5, 3) = -b1 * w02;
    star(5, 4) = -b0 * w12;
    star(5, 5) = b[2] + b0 * w11 + b1 * w00;
  } else {
    const Matrix6 H = hat(f);
    star = Lower(compliance_ + k * H * compliance_ * H.transpose());
  }
  const double slope_y = 2.0 * bow_[0] * strain[1], slope_z = 2.0 * bow_[1] * strain[2];
  strain[0] += 0.5 * (slope_y * strain[1] + slope_z * strain[2]);
  for (int i = 0; i < rows_; ++i) {
    const int r = row_[i];
    for (int j = 0; j < 6; ++j) star(std::max(r, j), std::min(r, j)) = j == r ? scale_ : 0.0;
    strain[r] = 0.0;
  }
  const Cholesky factors(star);
  out.stress = factors.solve(strain);
  // t = σ + k check(σ) C check(σ) f
  const Vector6 turned = check(out.stress, f);
  Vector6 bent;
  if (is_diagonal_)
    bent = compliance_.diagonal().cwiseProduct(turned);
  else
    bent = compliance_ * turned;
  out.work = out.stress + k * check(out.stress, bent);
  out.work[1] += slope_y * out.stress[0];
  out.work[2] += slope_z * out.stress[0];
  out.energy = 0.5 * length_ * strain.dot(out.stress);
  if constexpr (!with_derivatives) return;
  // A = k (hat(f) C check(σ) - hat(C hat(f)ᵀσ)); hat(f)ᵀσ = check(σ) f
  const Vector3 n = out.stress.head<3>(), m = out.stress.tail<3>();
  Matrix6 B, twice;  // ∂ε/∂f - A; -check(σ) C check(σ)
  if (is_diagonal_) {
    // X D Y = -X D Yᵀ of antisymmetric Y
    B.topLeftCorner<3, 3>() = k * skew_product(u, b, n);
    B.topRightCorner<3, 3>() = k * (skew_product(w, a, n) + skew_product(u, b, m));
    B.bottomLeftCorner<3, 3>() = k * skew_product(w, b, n);
    B.bottomRightCorner<3, 3>() = k * skew_product(w, b, m);
    twice.topLeftCorner<3, 3>() = skew_product(n, b, n);
    twice.topRightCorner<3, 3>() = skew_product(n, b, m);
    twice.bottomLeftCorner<3, 3>() = skew_product(m, b, n);
    twice.bottomRightCorner<3, 3>() = skew_product(n, a, n) + skew_product(m, b, m);
  } else {
    const Matrix6 S = check(out.stress), CS = compliance_ * S;
    B = -k * hat(f) * CS;
    twice = -S * CS;
  }
  B += k * hat(bent);
  B.diagonal().array() += 1.0;
  B(0, 1) += slope_y;
  B(0, 2) += slope_z;
  for (int i = 0; i < rows_; ++i) B.row(row_[i]).setZero();
  out.work_derivative = over_L * (factors.product(B) - k * twice);
  out.work_derivative(1, 1) += 2.0 * over_L * bow_[0] * out.stress[0];
  out.work_derivative(2, 2) += 2.0 * over_L * bow_[1] * out.stress[0];
}

/// From the end frame to the node, and to inertial velocities where the node has them.
void Beam::add_to(const Instant& at, int slot, const Vector6& wrench, const Forces& out) const {
  if (at.slots[slot].is_ground()) return;
  Eigen::Map<Vector6> force(out.of(slot));
  const bool is_se3 = at.slots[slot].group == lie::GroupId::se3;
  if (is_plain_[slot] && is_se3) {
    force += wrench;
    return;
  }
  const Frame& f = frame_[slot];
  Vector3 n = f.E * wrench.head<3>();
  const Vector3 m = f.E * wrench.tail<3>() + cross(f.p, n);
  if (!is_se3) n = lie::rotate(at.q_of(slot) + 3, n);
  force.head<3>() += n;
  force.tail<3>() += m;
}

kernel::Rotation<double> kernel::wide_rotation(const Triple<double>& v, double w) {
  const double size = std::sqrt(v.x * v.x + v.y * v.y + v.z * v.z + w * w);
  const Vector3 omega = lie::SO3::log(Eigen::Vector4d(v.x, v.y, v.z, w) / size);
  const double s = omega.squaredNorm();
  const auto [c, slope] = lie::inverse_tangent_coefficients(s);
  const bool is_too_bent = !(s < Beam::widest_bend * Beam::widest_bend);
  return {{omega[0], omega[1], omega[2]}, s, c, is_too_bent ? std::numeric_limits<double>::quiet_NaN() : slope};
}

namespace {

/// visit(is_magnus, is_damped) with both known to the compiler.
template <class Visit>
[[gnu::always_inline]] inline void with_law(SectionLaw law, bool is_damped, const Visit& visit) {
  if (law == SectionLaw::magnus)
    is_damped ? visit(std::true_type{}, std::true_type{}) : visit(std::true_type{}, std::false_type{});
  else
    is_damped ? visit(std::false_type{}, std::true_type{}) : visit(std::false_type{}, std::false_type{});
}

}  // namespace

/// g = Pᵀt with P = [-T⁻¹(-d), T⁻¹(d)]: g_A = -e + ½c, g_B = e + ½c, e = Eᵀt, c = check(t) d.
[[gnu::flatten]] void Beam::add_force(const Instant& at, const Forces& out) const {
  if (has_kernel_) {
    lie::FlatPose moved[2];
    Vector6 v[2];
    if (is_damped_)
      for (const int i : {0, 1}) v[i] = velocity_of(at, i);
    with_law(law_, is_damped_, [&](auto is_magnus, auto is_damped) {
      const auto [A, B] = kernel::wrenches<is_magnus, is_damped>(
          constants_, Gather<double>{pose_of(at, 0, moved[0])}, Gather<double>{pose_of(at, 1, moved[1])},
          Gather<double>{v[0].data()}, Gather<double>{v[1].data()});
      Vector6 wrench;
      wrench << A.first.x, A.first.y, A.first.z, A.second.x, A.second.y, A.second.z;
      add_to(at, 0, wrench, out);
      wrench << B.first.x, B.first.y, B.first.z, B.second.x, B.second.y, B.second.z;
      add_to(at, 1, wrench, out);
    });
    return;
  }
  const Ends ends = ends_of(at, is_damped_);
  Law law;
  set_law<false>(ends.d, law);
  Vector6 t = law.work;
  if (is_damped_) t += damping_ * rate_of(ends);
  if (ends.is_too_bent) t.setConstant(std::numeric_limits<double>::quiet_NaN());
  const Vector6 e = ends.even().transposed(t), c = 0.5 * check(t, ends.d);
  add_to(at, 0, c - e, out);
  add_to(at, 1, c + e, out);
}

/// K = Pᵀ(∂t/∂d)P + G P, G = [-dE + ½check(t); dE + ½check(t)], dE = ∂(Eᵀt)/∂d. Rigid motions leave g as it is: the columns
/// of A follow from those of B by K_A = -K_B Ad(h⁻¹). Without damping K_BA = K_ABᵀ.
[[gnu::flatten]] void Beam::linearize(const Instant& at, const Blocks& out) const {
  const Ends ends = ends_of(at, is_damped_);
  Law law;
  set_law<true>(ends.d, law);
  const EvenPart E = ends.even();
  const Matrix6 half = 0.5 * hat(ends.d), even = E.matrix();
  const Matrix6 P_A = half - even, P_B = half + even;
  Vector6 t = law.work;
  if (is_damped_) {
    t += damping_ * rate_of(ends);
    law.work_derivative += damping_ * (E.derivative(ends.v[1] - ends.v[0]) - 0.5 * hat(ends.v[0] + ends.v[1]));
  }
  const Matrix6 dE = E.derivative_transposed(t), half_check = 0.5 * check(t);
  const Matrix3 R = lie::rotation_matrix(ends.turn.data());
  Slopes slopes;
  const Vector6 e = E.transposed(t), c = 0.5 * check(t, ends.d);
  slopes.g = {c - e, c + e};
  slopes.has_D = is_damped_;
  auto& K = slopes.K;
  K[0][1] = times_triangular(transposed_times(P_A, law.work_derivative) + half_check - dE, P_B);
  K[0][0] = minus_times_inverse_adjoint(K[0][1], ends.x, R);
  if (is_damped_) {
    K[1][1] = times_triangular(transposed_times(P_B, law.work_derivative) + half_check + dE, P_B);
    K[1][0] = minus_times_inverse_adjoint(K[1][1], ends.x, R);
    const Matrix6 damped = times_triangular(damping_, P_B);
    slopes.D[0][1] = transposed_times(P_A, damped);
    slopes.D[1][1] = transposed_times(P_B, damped);
    slopes.D[1][0] = slopes.D[0][1].transpose();
    slopes.D[0][0] = minus_times_inverse_adjoint(slopes.D[0][1], ends.x, R);
  } else {
    K[1][0] = K[0][1].transpose();
    K[1][1] = minus_times_adjoint(K[1][0], ends.x, R);
  }
  add_blocks(at, slopes, out);
}

void Beam::add_blocks(const Instant& at, const Slopes& from, const Blocks& out) const {
  const auto is_native = [&](int i) { return is_plain_[i] && at.slots[i].group == lie::GroupId::se3; };
  for (const int i : {0, 1})
    for (const int j : {0, 1}) {
      if (at.slots[i].is_ground() || at.slots[j].is_ground()) continue;
      Matrix6Map K_out(out.coupling(out.all.K, i, j));
      if (is_native(i) && is_native(j)) {
        K_out += from.K[i][j];
        if (from.has_D) Matrix6Map(out.coupling(out.all.D, i, j)) += from.D[i][j];
        continue;
      }
      // To the velocities of the nodes: V = Ad(o⁻¹) v, and U = Rᵀu where the node has inertial ones.
      const auto moved = [&](const Matrix6& X) -> Matrix6 {
        std::array<Matrix6, 2> to_end;
        for (const int side : {0, 1}) {
          const Frame& f = frame_[side == 0 ? i : j];
          const Matrix3 Et = f.E.transpose();
          to_end[side] << Et, -Et * skew(f.p), Matrix3::Zero(), Et;
        }
        return to_end[0].transpose() * X * to_end[1];
      };
      Matrix6 K = moved(from.K[i][j]), D = Matrix6::Zero();
      if (from.has_D) D = moved(from.D[i][j]);
      if (at.slots[j].group != lie::GroupId::se3) {
        const Matrix3 R = lie::rotation_matrix(at.q_of(j) + 3);
        if (from.has_D) {
          const Vector3 U = R.transpose() * Eigen::Map<const Vector3>(at.v_of(j));
          K.rightCols<3>() += D.leftCols<3>() * skew(U);
          D.leftCols<3>() *= R.transpose();
        }
        K.leftCols<3>() *= R.transpose();
      }
      if (at.slots[i].group != lie::GroupId::se3) {
        const Matrix3 R = lie::rotation_matrix(at.q_of(i) + 3);
        K.topRows<3>() = R * K.topRows<3>().eval();
        if (from.has_D) D.topRows<3>() = R * D.topRows<3>().eval();
        if (i == j) K.topRightCorner<3, 3>() -= R * skew(frame_[i].E * from.g[i].head<3>());
      }
      K_out += K;
      if (from.has_D) Matrix6Map(out.coupling(out.all.D, i, j)) += D;
    }
}

// ---- rigid strains: Φ = L ε in shear and the change of length in extension; λ is the stress

/// The chord, and the length in the bow: |u| + (p - 0.4p² - ½) Lγ². Unlike u_x + (p - 0.4p²) Lγ², which is the same for small bows,
/// it does not grow with tilt: tension does not draw an element out sideways. Under constant strain it is u_x.
Beam::Stretch Beam::stretch_of(const Vector6& d) const {
  if (law_ == SectionLaw::constant) return {d[0], Vector3::UnitX(), Matrix3::Zero()};
  const Vector3 u = d.head<3>(), bow(0.0, chord_bow_[0] / length_, chord_bow_[1] / length_);
  const double chord = u.norm();
  const Vector3 along = u / chord;
  Stretch out{chord + u.dot(bow.cwiseProduct(u)), along + 2.0 * bow.cwiseProduct(u),
              (Matrix3::Identity() - along * along.transpose()) / chord};
  out.curvature.diagonal() += 2.0 * bow;
  return out;
}

Vector6 Beam::multipliers(const Vector6& d, const double* lambda) const {
  Vector6 t = Vector6::Zero();
  for (int i = 0; i < rows_; ++i) {
    if (row_[i] == 0)
      t.head<3>() += lambda[i] * stretch_of(d).slope;
    else
      t[row_[i]] += lambda[i];
  }
  return t;
}

void Beam::constraint(const Instant& at, double* gap, double* rate) const {
  const Ends ends = ends_of(at, true);
  const Vector6 speed = rate_of(ends), distance = ends.d - length_ * strain0_;
  for (int i = 0; i < rows_; ++i) {
    gap[i] = distance[row_[i]];
    rate[i] = speed[row_[i]];
    if (row_[i] > 0) continue;
    const Stretch stretch = stretch_of(ends.d);
    gap[i] = stretch.length - length0_;
    rate[i] = stretch.slope.dot(speed.head<3>());
  }
}

void Beam::add_constraint_force(const Instant& at, const double* mu, const Forces& out) const {
  const Ends ends = ends_of(at, false);
  const Vector6 t = multipliers(ends.d, mu), e = ends.even().transposed(t), c = 0.5 * check(t, ends.d);
  add_to(at, 0, c - e, out);
  add_to(at, 1, c + e, out);
}

Matrix6 Beam::to_node(const Instant& at, int slot, const Matrix6& rows) const {
  Matrix6 out = rows;
  if (!is_plain_[slot]) {
    const Frame& f = frame_[slot];
    out.leftCols<3>() = rows.leftCols<3>() * f.E.transpose();
    out.rightCols<3>() = rows.rightCols<3>() * f.E.transpose() - out.leftCols<3>() * skew(f.p);
  }
  if (at.slots[slot].group != lie::GroupId::se3)
    out.leftCols<3>() *= lie::rotation_matrix(at.q_of(slot) + 3).transpose();
  return out;
}

void Beam::jacobian(const Instant& at, const Blocks& out) const {
  const Ends ends = ends_of(at, false);
  const Matrix6 half = 0.5 * hat(ends.d), even = ends.even().matrix();
  for (const int i : {0, 1}) {
    if (at.slots[i].is_ground()) continue;
    Matrix6 rows = to_node(at, i, i == 0 ? Matrix6(half - even) : Matrix6(half + even));
    rows.row(0) = stretch_of(ends.d).slope.transpose() * rows.topRows<3>();
    MatrixMap B = out.B(i);
    for (int r = 0; r < rows_; ++r) B.row(r) = rows.row(row_[r]);
  }
}

void Beam::linearize_constraint(const Instant& at, const Blocks& out) const {
  const Ends ends = ends_of(at, true);
  const EvenPart E = ends.even();
  const Matrix6 half = 0.5 * hat(ends.d), even = E.matrix();
  const std::array<Matrix6, 2> P{half - even, half + even};
  Matrix6 by_d = E.derivative(ends.v[1] - ends.v[0]) - 0.5 * hat(ends.v[0] + ends.v[1]);
  const Stretch stretch = stretch_of(ends.d);
  const Vector6 speed = rate_of(ends);
  by_d.row(0) = stretch.slope.transpose() * by_d.topRows<3>();
  by_d.row(0).head<3>() += stretch.curvature * speed.head<3>();
  for (const int i : {0, 1}) {
    if (at.slots[i].is_ground()) continue;
    Matrix6 B = to_node(at, i, P[i]);
    B.row(0) = stretch.slope.transpose() * B.topRows<3>();
    Matrix6 H = to_node(at, i, by_d * P[i]);
    if (at.slots[i].group != lie::GroupId::se3) {
      // U = Rᵀu turns with the body: δU = Ũ δθ.
      const Matrix3 R = lie::rotation_matrix(at.q_of(i) + 3);
      const Vector3 U = R.transpose() * Eigen::Map<const Vector3>(at.v_of(i));
      H.rightCols<3>() += B.leftCols<3>() * R * skew(U);
    }
    MatrixMap B_out = out.B(i), H_out = out.H(i);
    for (int r = 0; r < rows_; ++r) {
      B_out.row(r) = B.row(row_[r]);
      H_out.row(r) = H.row(row_[r]);
    }
  }
  const Vector6 t = multipliers(ends.d, at.lambda), e = E.transposed(t), c = 0.5 * check(t, ends.d);
  const Matrix6 dE = E.derivative_transposed(t), half_check = 0.5 * check(t);
  Matrix6 G = half_check - dE;
  if (is_rigid_[0]) G.leftCols<3>() += P[0].topRows<3>().transpose() * (at.lambda[0] * stretch.curvature);
  const Matrix3 R = lie::rotation_matrix(ends.turn.data());
  Slopes slopes;
  slopes.g = {c - e, c + e};
  auto& K = slopes.K;
  K[0][1] = times_triangular(G, P[1]);
  K[0][0] = minus_times_inverse_adjoint(K[0][1], ends.x, R);
  K[1][0] = K[0][1].transpose();
  K[1][1] = minus_times_adjoint(K[1][0], ends.x, R);
  add_blocks(at, slopes, out);
}

void Beam::acceleration_gap(const Instant& at, double* out) const {
  const Ends ends = ends_of(at, true);
  std::array<Vector6, 2> a;
  for (const int i : {0, 1}) {
    if (at.slots[i].is_ground()) {
      a[i].setZero();
      continue;
    }
    const Eigen::Map<const Vector6> given(at.a_of(i)), v(at.v_of(i));
    Vector3 u = given.head<3>();
    const Vector3 w = given.tail<3>();
    if (at.slots[i].group != lie::GroupId::se3) {
      const double* q = at.q_of(i) + 3;
      u = lie::rotate_back(q, u) - cross(v.tail<3>(), lie::rotate_back(q, v.head<3>()));
    }
    a[i] << frame_[i].E.transpose() * (u + cross(w, frame_[i].p)), frame_[i].E.transpose() * w;
  }
  const EvenPart E = ends.even();
  const Matrix6 by_d = E.derivative(ends.v[1] - ends.v[0]) - 0.5 * hat(ends.v[0] + ends.v[1]);
  const Vector6 speed = rate_of(ends);
  Vector6 all = E * Vector6(a[1] - a[0]) + 0.5 * hat(ends.d, a[0] + a[1]) + by_d * speed;
  const Stretch stretch = stretch_of(ends.d);
  const Vector3 inside = speed.head<3>();
  all[0] = stretch.slope.dot(all.head<3>()) + inside.dot(stretch.curvature * inside);
  for (int i = 0; i < rows_; ++i) out[i] = all[row_[i]];
}

// ---- energy and reports

void Beam::add_energy(const Instant& at, system::EnergyParts& parts) const {
  if (has_kernel_) {
    lie::FlatPose moved[2];
    const Gather<double> A{pose_of(at, 0, moved[0])}, B{pose_of(at, 1, moved[1])};
    with_law(law_, false, [&](auto is_magnus, auto) {
      parts.elastic += kernel::stress_of<is_magnus>(kernel::relative(A, B), constants_).energy;
    });
    return;
  }
  Law law;
  set_law<false>(ends_of(at, false).d, law);
  parts.elastic += law.energy;
}

void Beam::add_power(const Instant& at, system::Power& power) const {
  if (!is_damped_) return;
  const Vector6 rate = rate_of(ends_of(at, true));
  power.dissipated += rate.dot(damping_ * rate);
}

Vector6 Beam::strain(const Instant& at) const { return ends_of(at, false).d / length_ - strain0_; }

double Beam::bend(const Instant& at) const { return ends_of(at, false).d.tail<3>().norm(); }

Vector6 Beam::stress(const Instant& at, int end) const {
  const Ends ends = ends_of(at, is_damped_);
  Law law;
  set_law<false>(ends.d, law);
  Vector6 t = law.work;
  if (is_damped_) t += damping_ * rate_of(ends);
  if (rows_ > 0 && at.lambda != nullptr) t += multipliers(ends.d, at.lambda);
  const Vector6 e = ends.even().transposed(t), c = 0.5 * check(t, ends.d);
  return end == 0 ? Vector6(e - c) : Vector6(e + c);
}

// ---- two elements at once

class BeamPair final : public ElementPair {
 public:
  BeamPair(const Beam& first, const Slot* first_slots, const Beam& second, const Slot* second_slots)
      : law_(first.law_), is_damped_(first.is_damped_), slots_{first_slots, second_slots} {
    const kernel::Constants<double>&a = first.constants_, &b = second.constants_;
    const auto both = [](const kernel::Six<double>& x, const kernel::Six<double>& y) -> kernel::Six<Lanes> {
      return {{{x.first.x, y.first.x}, {x.first.y, y.first.y}, {x.first.z, y.first.z}},
              {{x.second.x, y.second.x}, {x.second.y, y.second.y}, {x.second.z, y.second.z}}};
    };
    constants_ = {.over_length = {a.over_length, b.over_length},
                  .half_length = {a.half_length, b.half_length},
                  .strain0 = both(a.strain0, b.strain0),
                  .compliance = both(a.compliance, b.compliance),
                  .twelfth = both(a.twelfth, b.twelfth),
                  .twisting = both(a.twisting, b.twisting),
                  .stiffness = both(a.stiffness, b.stiffness),
                  .damping = both(a.damping, b.damping),
                  .bow_y = {a.bow_y, b.bow_y},
                  .bow_z = {a.bow_z, b.bow_z}};
  }

  [[gnu::flatten]] void add_force(const lie::Motion& m, double* force) const override {
    with_law(law_, is_damped_, [&](auto is_magnus, auto is_damped) {
      const auto [A, B] = kernel::wrenches<is_magnus, is_damped>(constants_, poses(m, 0), poses(m, 1), velocities(m, 0),
                                                                 velocities(m, 1));
      for (const int lane : {0, 1}) {
        add(A, lane, force + slots_[lane][0].v_at);
        add(B, lane, force + slots_[lane][1].v_at);
      }
    });
  }
  [[gnu::flatten]] void add_energy(const lie::Motion& m, system::EnergyParts& parts) const override {
    with_law(law_, false, [&](auto is_magnus, auto) {
      const Lanes energy = kernel::stress_of<is_magnus>(kernel::relative(poses(m, 0), poses(m, 1)), constants_).energy;
      parts.elastic += energy[0];
      parts.elastic += energy[1];
    });
  }

 private:
  Gather<Lanes> poses(const lie::Motion& m, int end) const {
    return {m.q.data() + slots_[0][end].q_at, m.q.data() + slots_[1][end].q_at};
  }
  Gather<Lanes> velocities(const lie::Motion& m, int end) const {
    return {m.v.data() + slots_[0][end].v_at, m.v.data() + slots_[1][end].v_at};
  }
  [[gnu::always_inline]] static void add(const kernel::Six<Lanes>& wrench, int lane, double* to) {
    to[0] += wrench.first.x[lane];
    to[1] += wrench.first.y[lane];
    to[2] += wrench.first.z[lane];
    to[3] += wrench.second.x[lane];
    to[4] += wrench.second.y[lane];
    to[5] += wrench.second.z[lane];
  }

  kernel::Constants<Lanes> constants_;
  SectionLaw law_;
  bool is_damped_;
  std::array<const Slot*, 2> slots_;
};

std::unique_ptr<ElementPair> Beam::pair_with(const Element& next, const Slot* own_slots, const Slot* its_slots) const {
  const auto* other = dynamic_cast<const Beam*>(&next);
  if (other == nullptr || !has_kernel_ || !other->has_kernel_ || other->law_ != law_ || other->is_damped_ != is_damped_)
    return nullptr;
  for (const int i : {0, 1}) {
    if (!is_plain_[i] || !other->is_plain_[i]) return nullptr;
    for (const Slot* slots : {own_slots, its_slots})
      if (slots[i].is_ground() || slots[i].group != lie::GroupId::se3) return nullptr;
  }
  return std::make_unique<BeamPair>(*this, own_slots, *other, its_slots);
}

}  // namespace kreisel::multibody
