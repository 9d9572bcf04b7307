#include "multibody/beam.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

#include "lie/se3.hpp"

namespace kreisel::multibody {
namespace {

using lie::cross;

/// Beyond this the logarithm of the relative rotation comes close to the half turn behind which it takes the other way round.
constexpr double widest_bend = 2.8;  // [rad]

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

/// The even part of T⁻¹(d) = E + ½ hat(d), E = [A Q; 0 A] with symmetric A and Q, and what its derivatives need.
class EvenPart {
 public:
  explicit EvenPart(const Vector6& d) : u_(d.head<3>()), w_(d.tail<3>()), s_(w_.squaredNorm()), mu_(w_.dot(u_)) {
    const auto [c, slope] = lie::inverse_tangent_coefficients(s_);
    c_ = c;
    slope_ = slope;
  }

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
  double s_, mu_, c_ = 0.0, slope_ = 0.0;
};

Matrix6 symmetric_inverse(const Matrix6& A) { return A.ldlt().solve(Matrix6::Identity()); }

}  // namespace

struct Beam::Ends {
  Vector6 d;
  std::array<Vector6, 2> v;  ///< of the end frames, in their axes
  bool is_too_bent = false;
};

struct Beam::Law {
  Vector6 stress;           ///< σ = C*⁻¹ε
  Vector6 work;             ///< t = ∂V/∂d
  Matrix6 work_derivative;  ///< ∂t/∂d
  double energy = 0.0;
};

Beam::Beam(std::string name, int node_a, const Frame& a, int node_b, const Frame& b, double length,
           const Vector6& strain0, const BeamSection& section)
    : Element("beam", std::move(name), {node_a, node_b}),
      frame_{a, b},
      length_(length),
      strain0_(strain0),
      compliance_(section.compliance),
      law_(section.law),
      is_damped_(section.damping_time > 0.0) {
  const double commutator = law_ == SectionLaw::magnus ? length * length / 12.0 : 0.0;
  const Matrix6 H = hat(strain0);
  stiffness_ = symmetric_inverse(compliance_ + commutator * H * compliance_ * H.transpose());
  damping_ = section.damping_time * stiffness_;
}

Facets Beam::facets() const { return {.has_force = true, .stores_energy = true, .does_work = is_damped_}; }

Beam::Ends Beam::ends_of(const Instant& at) const {
  std::array<Vector3, 2> x;
  std::array<Matrix3, 2> R;
  Ends out;
  for (int i = 0; i < 2; ++i) {
    const Frame& f = frame_[i];
    const Slot& slot = at.slots[i];
    if (slot.is_ground()) {
      x[i] = f.p;
      R[i] = f.E;
      out.v[i].setZero();
      continue;
    }
    const double *q = at.q_of(i), *v = at.v_of(i);
    const Matrix3 rotation = lie::rotation_matrix(q + 3);
    x[i] = Eigen::Map<const Vector3>(q) + rotation * f.p;
    R[i] = rotation * f.E;
    const Vector3 w(v[3], v[4], v[5]);
    Vector3 u(v[0], v[1], v[2]);
    if (slot.group != lie::GroupId::se3) u = rotation.transpose() * u;
    out.v[i] << f.E.transpose() * (u + cross(w, f.p)), f.E.transpose() * w;
  }
  const Vector3 omega = lie::SO3::log(lie::quaternion_from(R[0].transpose() * R[1]));
  out.d << lie::SO3::tangent_inverse(-omega, R[0].transpose() * (x[1] - x[0])), omega;
  out.is_too_bent = !(omega.squaredNorm() < widest_bend * widest_bend);
  return out;
}

void Beam::set_law(const Vector6& d, bool with_derivatives, Law& out) const {
  const double over_L = 1.0 / length_;
  const Vector6 f = over_L * d, strain = f - strain0_;
  if (law_ == SectionLaw::constant) {
    out.stress = out.work = stiffness_ * strain;
    if (with_derivatives) out.work_derivative = over_L * stiffness_;
    out.energy = 0.5 * length_ * strain.dot(out.stress);
    return;
  }
  const double k = length_ * length_ / 12.0;
  const Matrix6 H = hat(f), HC = H * compliance_;
  const Eigen::LLT<Matrix6> factors(compliance_ + k * HC * H.transpose());
  out.stress = factors.solve(strain);
  // t = σ + k check(σ) C check(σ) f
  const Vector6 bent = compliance_ * check(out.stress, f);
  out.work = out.stress + k * check(out.stress, bent);
  out.energy = 0.5 * length_ * strain.dot(out.stress);
  if (!with_derivatives) return;
  const Matrix6 S = check(out.stress), SC = S * compliance_;
  // A = k (hat(f) C check(σ) - hat(C hat(f)ᵀσ)); hat(f)ᵀσ = check(σ) f
  const Matrix6 B = Matrix6::Identity() - k * (HC * S - hat(bent));
  out.work_derivative = over_L * (B.transpose() * factors.solve(B) + k * SC * S);
}

/// From the end frame to the node, and to inertial velocities where the node has them.
void Beam::add_to(const Instant& at, int slot, const Vector6& wrench, const Forces& out) const {
  if (at.slots[slot].is_ground()) return;
  const Frame& f = frame_[slot];
  Vector3 n = f.E * wrench.head<3>();
  const Vector3 m = f.E * wrench.tail<3>() + cross(f.p, n);
  if (at.slots[slot].group != lie::GroupId::se3) n = lie::rotate(at.q_of(slot) + 3, n);
  Eigen::Map<Vector6> force(out.of(slot));
  force.head<3>() += n;
  force.tail<3>() += m;
}

/// g = Pᵀt with P = [-T⁻¹(-d), T⁻¹(d)]: g_A = -e + ½c, g_B = e + ½c, e = Eᵀt, c = check(t) d.
void Beam::add_force(const Instant& at, const Forces& out) const {
  const Ends ends = ends_of(at);
  Law law;
  set_law(ends.d, false, law);
  const EvenPart E(ends.d);
  Vector6 t = law.work;
  if (is_damped_) {
    const Vector6 sum = ends.v[0] + ends.v[1], difference = ends.v[1] - ends.v[0];
    t += damping_ * ((E * difference + 0.5 * hat(ends.d, sum)) / length_);
  }
  if (ends.is_too_bent) t.setConstant(std::numeric_limits<double>::quiet_NaN());
  const Vector6 e = E.transposed(t), c = 0.5 * check(t, ends.d);
  add_to(at, 0, c - e, out);
  add_to(at, 1, c + e, out);
}

/// K = Pᵀ(∂t/∂d)P + G P, G = [-dE + ½check(t); dE + ½check(t)], dE = ∂(Eᵀt)/∂d.
void Beam::linearize(const Instant& at, const Blocks& out) const {
  const Ends ends = ends_of(at);
  Law law;
  set_law(ends.d, true, law);
  const EvenPart E(ends.d);
  const Matrix6 half = 0.5 * hat(ends.d), even = E.matrix();
  const std::array<Matrix6, 2> P{half - even, half + even};
  Vector6 t = law.work;
  Matrix6 by_d = law.work_derivative;
  const Matrix6 damping = damping_ / length_;
  if (is_damped_) {
    const Vector6 sum = ends.v[0] + ends.v[1], difference = ends.v[1] - ends.v[0];
    t += damping * (E * difference + 0.5 * hat(ends.d, sum));
    by_d += damping * (E.derivative(difference) - 0.5 * hat(sum));
  }
  const Matrix6 dE = E.derivative_transposed(t), half_check = 0.5 * check(t);
  const std::array<Matrix6, 2> G{half_check - dE, half_check + dE};
  const Vector6 e = E.transposed(t), c = 0.5 * check(t, ends.d);
  const std::array<Vector6, 2> g{c - e, c + e};

  // To the velocities of the nodes: V = Ad(o⁻¹) v, and U = Rᵀu where the node has inertial ones.
  std::array<Matrix6, 2> to_end;
  for (int i = 0; i < 2; ++i) {
    if (at.slots[i].is_ground()) continue;
    const Matrix3 Et = frame_[i].E.transpose();
    to_end[i] << Et, -Et * skew(frame_[i].p), Matrix3::Zero(), Et;
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      if (at.slots[i].is_ground() || at.slots[j].is_ground()) continue;
      Matrix6 K = to_end[i].transpose() * ((P[i].transpose() * by_d + G[i]) * P[j]) * to_end[j];
      Matrix6 D;
      if (is_damped_) D = to_end[i].transpose() * (P[i].transpose() * damping * P[j]) * to_end[j];
      const bool row_is_inertial = at.slots[i].group != lie::GroupId::se3,
                 column_is_inertial = at.slots[j].group != lie::GroupId::se3;
      if (column_is_inertial) {
        const Matrix3 R = lie::rotation_matrix(at.q_of(j) + 3);
        if (is_damped_) {
          const Vector3 U = R.transpose() * Eigen::Map<const Vector3>(at.v_of(j));
          K.rightCols<3>() += D.leftCols<3>() * skew(U);
          D.leftCols<3>() *= R.transpose();
        }
        K.leftCols<3>() *= R.transpose();
      }
      if (row_is_inertial) {
        const Matrix3 R = lie::rotation_matrix(at.q_of(i) + 3);
        K.topRows<3>() = R * K.topRows<3>().eval();
        if (is_damped_) D.topRows<3>() = R * D.topRows<3>().eval();
        if (i == j) K.topRightCorner<3, 3>() -= R * skew(frame_[i].E * g[i].head<3>());
      }
      out.K(i, j) += K;
      if (is_damped_) out.D(i, j) += D;
    }
}

void Beam::add_energy(const Instant& at, system::EnergyParts& parts) const {
  Law law;
  set_law(ends_of(at).d, false, law);
  parts.elastic += law.energy;
}

void Beam::add_power(const Instant& at, system::Power& power) const {
  if (!is_damped_) return;
  const Ends ends = ends_of(at);
  const EvenPart E(ends.d);
  const Vector6 rate = E * (ends.v[1] - ends.v[0]) + 0.5 * hat(ends.d, ends.v[0] + ends.v[1]);
  power.dissipated += rate.dot(damping_ * rate) / length_;
}

Vector6 Beam::strain(const Instant& at) const { return ends_of(at).d / length_ - strain0_; }

double Beam::bend(const Instant& at) const { return ends_of(at).d.tail<3>().norm(); }

Vector6 Beam::stress(const Instant& at, int end) const {
  const Ends ends = ends_of(at);
  Law law;
  set_law(ends.d, false, law);
  const EvenPart E(ends.d);
  Vector6 t = law.work;
  if (is_damped_) t += damping_ * ((E * (ends.v[1] - ends.v[0]) + 0.5 * hat(ends.d, ends.v[0] + ends.v[1])) / length_);
  const Vector6 e = E.transposed(t), c = 0.5 * check(t, ends.d);
  return end == 0 ? Vector6(e - c) : Vector6(e + c);
}

}  // namespace kreisel::multibody
