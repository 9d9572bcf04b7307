#include "peers/top_equations.hpp"

#include <Eigen/LU>

#include <cmath>

#include "kreisel/types.hpp"

namespace bench {
namespace {

using Eigen::Map;
using Vector4 = Eigen::Vector4d;
using Matrix34 = Eigen::Matrix<double, 3, 4>;
using Matrix43 = Eigen::Matrix<double, 4, 3>;
using kreisel::skew;

// Offsets in the state.
constexpr int at_x = 0, at_p = 3, at_v = 7, at_w = 10, at_lambda = 13, at_mu = 16, at_epsilon = 19;

template <int at>
Map<const Vector3> part3(const double* y) {
  return Map<const Vector3>(y + at);
}
template <int at>
Map<Vector3> part3(double* y) {
  return Map<Vector3>(y + at);
}

/// The homogeneous quadratic R(p), p = (w, u): R a = p∘a∘p*, scaled by |p|².
Matrix3 rotation(const double* p) {
  const double w = p[0], x = p[1], y = p[2], z = p[3];
  const double ww = w * w, xx = x * x, yy = y * y, zz = z * z;
  Matrix3 R;
  R << ww + xx - yy - zz, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),  //
      2.0 * (x * y + w * z), ww - xx + yy - zz, 2.0 * (y * z - w * x),   //
      2.0 * (x * z - w * y), 2.0 * (y * z + w * x), ww - xx - yy + zz;
  return R;
}

/// ∂(R(p)a)/∂p for sign = 1, ∂(R(p)ᵀa)/∂p for sign = -1.
Matrix34 rotation_slope(const double* p, const Vector3& a, double sign) {
  const double w = p[0];
  const Vector3 u(p[1], p[2], p[3]);
  Matrix34 slope;
  slope.col(0) = 2.0 * (w * a + sign * u.cross(a));
  slope.rightCols<3>() = 2.0 * (u * a.transpose() - a * u.transpose() - (sign * w) * skew(a));
  slope.rightCols<3>().diagonal().array() += 2.0 * u.dot(a);
  return slope;
}

/// ½ p∘(0, a) = E(p) a.
Vector4 quaternion_rate(const double* p, const Vector3& a) {
  return 0.5 * Vector4(-p[1] * a[0] - p[2] * a[1] - p[3] * a[2], p[0] * a[0] + p[2] * a[2] - p[3] * a[1],
                       p[0] * a[1] + p[3] * a[0] - p[1] * a[2], p[0] * a[2] + p[1] * a[1] - p[2] * a[0]);
}
Matrix43 quaternion_rate_matrix(const double* p) {
  Matrix43 E;
  E << -p[1], -p[2], -p[3], p[0], -p[3], p[2], p[3], p[0], -p[1], -p[2], p[1], p[0];
  return 0.5 * E;
}

/// Torque of the bushing, zero without one: -(k s + c ṡ) b, s = a·Rᵀn, b = a x Rᵀn.
struct BushingTorque {
  Vector3 axis, b;  ///< axis = Rᵀn
  double size = 0.0;

  BushingTorque(const Top& top, const Matrix3& R, const Vector3& w)
      : axis(R.transpose() * top.ground_axis), b(top.body_axis.cross(axis)) {
    size = top.stiffness * top.body_axis.dot(axis) + top.damping * b.dot(w);
  }
  Vector3 torque() const { return -size * b; }
};

bool has_bushing(const Top& top) { return top.stiffness != 0.0 || top.damping != 0.0; }

Vector3 applied_torque(const Top& top, const Matrix3& R, const Vector3& w) {
  Vector3 torque = top.J.cwiseProduct(w).cross(w);
  if (has_bushing(top)) torque += BushingTorque(top, R, w).torque();
  return torque;
}

/// Φ̇ = v - R (Ω x X) = v + R skew(X) Ω: the rows G = [1, R skew(X)] with masses m and J.
class TipConstraint {
 public:
  TipConstraint(const Matrix3& R, const Vector3& X, double mass, const Vector3& J) : R_(R), X_(X), mass_(mass), J_(J) {
    const Matrix3 arm = R * skew(X);
    const Matrix3 S = arm * J.cwiseInverse().asDiagonal() * arm.transpose() + Matrix3::Identity() / mass;
    inverse_ = S.inverse();  // closed form for 3x3
  }
  Vector3 rate(const Vector3& v, const Vector3& w) const { return v - R_ * w.cross(X_); }
  /// λ with G M⁻¹Gᵀλ = rows.
  Vector3 multiplier(const Vector3& rows) const { return inverse_ * rows; }
  /// (dv, dw) -= M⁻¹Gᵀλ.
  template <class V, class W>
  void subtract(const Vector3& lambda, V&& dv, W&& dw) const {
    dv -= lambda / mass_;
    dw += X_.cross(R_.transpose() * lambda).cwiseQuotient(J_);
  }

 private:
  Matrix3 R_;
  Vector3 X_;
  double mass_;
  Vector3 J_;
  Matrix3 inverse_;
};

/// Accelerations and λ of the index-1 form.
Vector3 accelerate(const Top& top, const double* y, Map<Vector3> v_dot, Map<Vector3> w_dot) {
  const Map<const Vector3> w = part3<at_w>(y);
  const Matrix3 R = rotation(y + at_p);
  v_dot = top.gravity;
  w_dot = applied_torque(top, R, w).cwiseQuotient(top.J);
  const TipConstraint tip(R, top.X, top.mass, top.J);
  const Vector3 curvature = -R * w.cross(w.cross(top.X));
  const Vector3 lambda = tip.multiplier(tip.rate(v_dot, w_dot) + curvature);
  tip.subtract(lambda, v_dot, w_dot);
  return lambda;
}

}  // namespace

// ---- stabilized index-2

void TopDae::start(double* y, double* y_dot) const {
  TopOde ode(top_);
  ode.start(y);
  ode.rate(y, y_dot);
  std::fill(y + at_lambda, y + size(), 0.0);
  std::fill(y_dot + at_lambda, y_dot + size(), 0.0);
  Vector3 v_dot, w_dot;
  part3<at_lambda>(y) = accelerate(top_, y, Map<Vector3>(v_dot.data()), Map<Vector3>(w_dot.data()));
}

void TopDae::residual(const double* y, const double* y_dot, double* r) const {
  const Vector3 x = part3<at_x>(y), v = part3<at_v>(y), w = part3<at_w>(y), lambda = part3<at_lambda>(y),
                mu = part3<at_mu>(y);
  const double* p = y + at_p;
  const Matrix3 R = rotation(p);
  const Vector3 turned_lambda = R.transpose() * lambda, turned_mu = R.transpose() * mu;

  part3<at_x>(r) = part3<at_x>(y_dot) - v + mu;
  Map<Vector4>(r + at_p) = Map<const Vector4>(y_dot + at_p) - quaternion_rate(p, w + top_.X.cross(turned_mu)) +
                           y[at_epsilon] * Map<const Vector4>(p);
  part3<at_v>(r) = part3<at_v>(y_dot) - top_.gravity + lambda / top_.mass;
  part3<at_w>(r) =
      part3<at_w>(y_dot) - (applied_torque(top_, R, w) + top_.X.cross(turned_lambda)).cwiseQuotient(top_.J);
  part3<at_lambda>(r) = x - R * top_.X;
  part3<at_mu>(r) = v - R * w.cross(top_.X);
  r[at_epsilon] = 0.5 * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3] - 1.0);
}

/// μ and ε vanish in exact arithmetic; their products with derivatives of R are left out.
void TopDae::jacobian(const double* y, double c, double* columns) const {
  Map<Eigen::Matrix<double, 20, 20>> A(columns);
  const Vector3 w = part3<at_w>(y), lambda = part3<at_lambda>(y);
  const double* p = y + at_p;
  const Matrix3 R = rotation(p), X = skew(top_.X), XRt = X * R.transpose();
  const Matrix43 E = quaternion_rate_matrix(p);
  const Vector3 minus_over_J = -top_.J.cwiseInverse();

  A.block<3, 3>(at_x, at_x).diagonal().setConstant(c);
  A.block<3, 3>(at_x, at_v).diagonal().setConstant(-1.0);
  A.block<3, 3>(at_x, at_mu).diagonal().setConstant(1.0);

  Eigen::Matrix4d W;
  W << 0.0, -w[0], -w[1], -w[2], w[0], 0.0, w[2], -w[1], w[1], -w[2], 0.0, w[0], w[2], w[1], -w[0], 0.0;
  A.block<4, 4>(at_p, at_p) = -0.5 * W;
  A.block<4, 4>(at_p, at_p).diagonal().array() += c + y[at_epsilon];
  A.block<4, 3>(at_p, at_w) = -E;
  A.block<4, 3>(at_p, at_mu) = -E * XRt;
  A.block<4, 1>(at_p, at_epsilon) = Map<const Vector4>(p);

  A.block<3, 3>(at_v, at_v).diagonal().setConstant(c);
  A.block<3, 3>(at_v, at_lambda).diagonal().setConstant(1.0 / top_.mass);

  Matrix3 torque_w = skew(top_.J.cwiseProduct(w)) - skew(w) * top_.J.asDiagonal();
  Matrix34 torque_p = X * rotation_slope(p, lambda, -1.0);
  if (has_bushing(top_)) {
    const BushingTorque bushing(top_, R, w);
    const Matrix34 axis_p = rotation_slope(p, top_.ground_axis, -1.0), b_p = skew(top_.body_axis) * axis_p;
    torque_w -= top_.damping * bushing.b * bushing.b.transpose();
    torque_p -=
        bushing.b * (top_.stiffness * top_.body_axis.transpose() * axis_p + top_.damping * w.transpose() * b_p) +
        bushing.size * b_p;
  }
  A.block<3, 3>(at_w, at_w) = minus_over_J.asDiagonal() * torque_w;
  A.block<3, 3>(at_w, at_w).diagonal().array() += c;
  A.block<3, 4>(at_w, at_p) = minus_over_J.asDiagonal() * torque_p;
  A.block<3, 3>(at_w, at_lambda) = minus_over_J.asDiagonal() * XRt;

  A.block<3, 3>(at_lambda, at_x).diagonal().setConstant(1.0);
  A.block<3, 4>(at_lambda, at_p) = -rotation_slope(p, top_.X, 1.0);
  A.block<3, 3>(at_mu, at_v).diagonal().setConstant(1.0);
  A.block<3, 4>(at_mu, at_p) = -rotation_slope(p, w.cross(top_.X), 1.0);
  A.block<3, 3>(at_mu, at_w) = R * X;
  A.block<1, 4>(at_epsilon, at_p) = Map<const Vector4>(p).transpose();
}

std::vector<bool> TopDae::jacobian_pattern() const {
  std::vector<bool> pattern(size() * size(), false);
  const auto full = [&](int row, int column, int rows, int columns) {
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) pattern[(column + j) * size() + row + i] = true;
  };
  const auto diagonal = [&](int row, int column) {
    for (int i = 0; i < 3; ++i) pattern[(column + i) * size() + row + i] = true;
  };
  for (const int column : {at_x, at_v, at_mu}) diagonal(at_x, column);
  full(at_p, at_p, 4, 4);
  full(at_p, at_w, 4, 3);
  full(at_p, at_mu, 4, 3);
  full(at_p, at_epsilon, 4, 1);
  for (const int column : {at_v, at_lambda}) diagonal(at_v, column);
  full(at_w, at_w, 3, 3);
  full(at_w, at_p, 3, 4);
  full(at_w, at_lambda, 3, 3);
  diagonal(at_lambda, at_x);
  full(at_lambda, at_p, 3, 4);
  diagonal(at_mu, at_v);
  full(at_mu, at_p, 3, 4);
  full(at_mu, at_w, 3, 3);
  full(at_epsilon, at_p, 1, 4);
  return pattern;
}

// ---- index-1

void TopOde::start(double* y) const {
  part3<at_x>(y) = top_.X;
  Map<Vector4>(y + at_p) = Vector4(1.0, 0.0, 0.0, 0.0);
  part3<at_v>(y) = top_.spin.cross(top_.X);
  part3<at_w>(y) = top_.spin;
}

void TopOde::rate(const double* y, double* f) {
  part3<at_x>(f) = part3<at_v>(y);
  Map<Vector4>(f + at_p) = quaternion_rate(y + at_p, part3<at_w>(y));
  accelerate(top_, y, part3<at_v>(f), part3<at_w>(f));
}

/// Newton's method for q, iterated to 1e-13 so that the result is smooth in y; then v on the new q. The metric of the
/// projection is the Euclidean one: in the mass metric CVODE stays at order 2 to 3.
bool TopOde::project(const double* y, double* correction, double* error) {
  constexpr double tolerance = 1e-13;
  constexpr int max_iterations = 10;
  const Vector3 ones = Vector3::Ones();
  Eigen::Matrix<double, 13, 1> z = Map<const Eigen::Matrix<double, 13, 1>>(y);
  const Map<Vector4> p(z.data() + at_p);
  const auto normalise = [&] { z.segment<4>(at_p) /= z.segment<4>(at_p).norm(); };
  normalise();
  bool is_done = false;
  for (int iteration = 0; iteration < max_iterations && !is_done; ++iteration) {
    const Matrix3 R = rotation(p.data());
    const Vector3 gap = z.segment<3>(at_x) - R * top_.X;
    if (gap.cwiseAbs().maxCoeff() < tolerance) break;
    const TipConstraint tip(R, top_.X, 1.0, ones);
    Vector3 dx = Vector3::Zero(), turn = Vector3::Zero();
    tip.subtract(tip.multiplier(gap), dx, turn);
    z.segment<3>(at_x) += dx;
    z.segment<4>(at_p) += quaternion_rate(p.data(), turn);
    normalise();
    const double moved = std::max(dx.cwiseAbs().maxCoeff(), turn.cwiseAbs().maxCoeff());
    if (!(moved < 1.0)) return false;
    is_done = moved * moved < tolerance;
  }
  const TipConstraint tip(rotation(p.data()), top_.X, 1.0, ones);
  const auto project_velocity = [&](auto v, auto w) { tip.subtract(tip.multiplier(tip.rate(v, w)), v, w); };
  project_velocity(z.segment<3>(at_v), z.segment<3>(at_w));
  Map<Eigen::Matrix<double, 13, 1>>{correction} = z - Map<const Eigen::Matrix<double, 13, 1>>(y);
  if (error != nullptr) {
    // The quaternion part as a rotation vector: 2 p*∘e = 4 Eᵀe.
    Vector3 turn = 4.0 * quaternion_rate_matrix(p.data()).transpose() * Map<const Vector4>(error + at_p);
    project_velocity(part3<at_x>(error), Map<Vector3>(turn.data()));
    Map<Vector4>(error + at_p) = quaternion_rate(p.data(), turn);
    project_velocity(part3<at_v>(error), part3<at_w>(error));
  }
  return true;
}

// ---- about the tip

ReducedTopOde::ReducedTopOde(const Top& top)
    : top_(top), J_(top.J + top.mass * (Vector3::Constant(top.X.squaredNorm()) - top.X.cwiseProduct(top.X))) {}

void ReducedTopOde::start(double* y) const {
  Map<Vector4>{y} = Vector4(1.0, 0.0, 0.0, 0.0);
  Map<Vector3>(y + 4) = top_.spin;
}

void ReducedTopOde::rate(const double* y, double* f) {
  const Vector3 w = Map<const Vector3>(y + 4);
  Map<Vector4>{f} = quaternion_rate(y, w);
  Vector3 torque = J_.cwiseProduct(w).cross(w);
  if (has_bushing(top_)) {
    const Matrix3 R = rotation(y);
    torque += top_.X.cross(top_.mass * (R.transpose() * top_.gravity)) + BushingTorque(top_, R, w).torque();
  } else {
    // Rᵀg needs the third row of R only, gravity being vertical.
    const Vector3 third_row(2.0 * (y[1] * y[3] - y[0] * y[2]), 2.0 * (y[2] * y[3] + y[0] * y[1]),
                            y[0] * y[0] - y[1] * y[1] - y[2] * y[2] + y[3] * y[3]);
    torque += top_.X.cross((top_.mass * top_.gravity[2]) * third_row);
  }
  Map<Vector3>(f + 4) = torque.cwiseQuotient(J_);
}

TopState state_of(const std::vector<double>& y) {
  const Vector4 p = Map<const Vector4>(y.data() + at_p).normalized();
  return {part3<at_x>(y.data()), rotation(p.data())};
}

TopState reduced_state_of(const std::vector<double>& y, const Top& top) {
  const Vector4 p = Map<const Vector4>(y.data()).normalized();
  const Matrix3 R = rotation(p.data());
  return {R * top.X, R};
}

}  // namespace bench
