// The heavy top of Brüls and Cardona: unconstrained on SO(3), with its tip constrained on ℝ³xSO(3) and SE(3).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lie/so3.hpp"
#include "models/catalogue.hpp"
#include "system/precise.hpp"

namespace kreisel::models {
namespace {

using lie::Factor;
using lie::GroupId;
using system::KktBlocks;
using system::Motion;
using system::Pattern;
using system::Pose;
using system::Residual;

struct TopData {
  double mass = 15.0;
  Vector3 J{0.234375, 0.46875, 0.234375};  ///< about the centre of mass, body frame
  Vector3 X{0.0, 1.0, 0.0};                ///< tip to centre of mass, body frame
  Vector3 gravity{0.0, 0.0, -9.81};
  Vector3 inertial_mass{15.0, 15.0, 15.0};  ///< along the axes of space, on ℝ³xSO(3); gravity always pulls on `mass`
};

using Map3 = Eigen::Map<const Vector3>;
using OutMap3 = Eigen::Map<Vector3>;
using Matrix6Map = Eigen::Map<Eigen::Matrix<double, 6, 6>>;
using Matrix36Map = Eigen::Map<Eigen::Matrix<double, 3, 6>>;
using Matrix63Map = Eigen::Map<Eigen::Matrix<double, 6, 3>>;

/// skew(a)·skew(b) = b aᵀ - (a·b) 1.
Matrix3 skew_product(const Vector3& a, const Vector3& b) {
  Matrix3 A = b * a.transpose();
  A.diagonal().array() -= a.dot(b);
  return A;
}

using Quad3 = std::array<Quad, 3>;

Quad3 cross(const Quad3& a, const Quad3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Quad3 sum(const Quad3& a, const Quad3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Quad3 scaled(const Vector3& factor, const Quad3& a) { return {factor[0] * a[0], factor[1] * a[1], factor[2] * a[2]}; }
Quad3 minus(const Quad3& a) { return {-a[0], -a[1], -a[2]}; }
Quad3 precise(const Vector3& a) { return {a[0], a[1], a[2]}; }

/// The motion in quadruple precision, the same for every group and convention: with x = R X and λ = M_x ẍ - mγ in
/// J Ω̇ + Ω x JΩ + X x Rᵀλ = 0 there is one equation for Ω̇; everything else follows from it.
struct PreciseTop {
  Quad3 w, w_dot, velocity, acceleration;  ///< Ω, Ω̇; ẋ and ẍ, inertial
  Quad3 lambda;                            ///< inertial
  std::array<Quad, 4> turn;                ///< rate of the quaternion (u, s): ½(s Ω + u x Ω, -u·Ω)

  bool evaluate(const TopData& data, const Quad* quaternion, const Quad* spin) {
    u_ = {quaternion[0], quaternion[1], quaternion[2]};
    s_ = quaternion[3];
    w = {spin[0], spin[1], spin[2]};
    const Quad3 X = precise(data.X), gyration = cross(w, cross(w, X)),
                weight = minus(precise(data.mass * data.gravity));
    const auto push = [&](const Quad3& a) { return back(scaled(data.inertial_mass, rotate(a))); };  // Rᵀ M_x R a
    Quad3 torque = sum(cross(w, scaled(data.J, w)), cross(X, sum(push(gyration), back(weight))));
    std::array<Quad, 9> A;
    for (int j = 0; j < 3; ++j) {
      Quad3 unit{};
      unit[j] = 1.0;
      const Quad3 column = sum(scaled(data.J, unit), cross(X, push(cross(unit, X))));
      for (int i = 0; i < 3; ++i) A[3 * i + j] = column[i];
    }
    w_dot = minus(torque);
    if (!system::eliminate(3, A.data(), w_dot.data())) return false;
    velocity = rotate(cross(w, X));
    acceleration = rotate(sum(cross(w_dot, X), gyration));
    lambda = sum(scaled(data.inertial_mass, acceleration), weight);
    const Quad3 across = cross(u_, w);
    for (int i = 0; i < 3; ++i) turn[i] = 0.5 * (s_ * w[i] + across[i]);
    turn[3] = -0.5 * (u_[0] * w[0] + u_[1] * w[1] + u_[2] * w[2]);
    return true;
  }
  Quad3 rotate(const Quad3& a) const { return turned(a, s_); }
  Quad3 back(const Quad3& a) const { return turned(a, -s_); }

 private:
  /// a + s t + u x t with t = 2 u x a.
  Quad3 turned(const Quad3& a, const Quad& s) const {
    const Quad3 t = scaled(Vector3::Constant(2.0), cross(u_, a));
    return sum(a, sum({s * t[0], s * t[1], s * t[2]}, cross(u_, t)));
  }
  Quad3 u_;
  Quad s_;
};

/// J⁰ Ω̇ + Ω x J⁰Ω - X x m Rᵀγ = 0, J⁰ about the tip.
class FreeTop final : public system::System, public system::Precise {
 public:
  explicit FreeTop(const TopData& data) : System(lie::Space({Factor{GroupId::so3}}), make_pattern()), data_(data) {
    J_ = data.J + data.mass * (Vector3::Constant(data.X.squaredNorm()) - data.X.cwiseProduct(data.X));
  }

  void residual(const Motion& m, ConstVectorRef, Residual& out) const override {
    const Map3 w(m.v.data()), w_dot(m.a.data());
    const Vector3 pull = data_.mass * lie::rotate_back(m.q.data(), data_.gravity);
    out.force = J_.cwiseProduct(w_dot) + w.cross(J_.cwiseProduct(w)) - data_.X.cross(pull);
  }
  void linearize(const Motion& m, ConstVectorRef, KktBlocks& out) const override {
    const Map3 w(m.v.data());
    const Vector3 pull = data_.mass * lie::rotate_back(m.q.data(), data_.gravity);
    Eigen::Map<Matrix3>(out.M.data()) = J_.asDiagonal();
    Eigen::Map<Matrix3>(out.D.data()) = skew(w) * J_.asDiagonal() - skew(J_.cwiseProduct(w));
    Eigen::Map<Matrix3>(out.K.data()) = -skew(data_.X) * skew(pull);
  }
  void mass_and_jacobian(const Motion&, KktBlocks& out) const override {
    Eigen::Map<Matrix3>(out.M.data()) = J_.asDiagonal();
  }
  void acceleration_gap(const Motion&, VectorRef) const override {}
  bool rates(const Quad&, const Quad* q, const Quad* v, Quad* q_rate, Quad* v_rate, Quad*) const override {
    PreciseTop top;
    if (!top.evaluate(data_, q, v)) return false;
    std::copy(top.turn.begin(), top.turn.end(), q_rate);
    std::copy(top.w_dot.begin(), top.w_dot.end(), v_rate);
    return true;
  }
  double energy(const Motion& m) const override {
    const Map3 w(m.v.data());
    return 0.5 * w.dot(J_.cwiseProduct(w)) - data_.mass * data_.gravity.dot(lie::rotate(m.q.data(), data_.X));
  }
  int body_count() const override { return 1; }
  std::string body_name(int) const override { return "top"; }
  Pose body_pose(int, ConstVectorRef q) const override {
    const Matrix3 R = lie::rotation_matrix(q.data());
    return {R * data_.X, R};
  }

 private:
  static Pattern make_pattern() { return Pattern(lie::Space({Factor{GroupId::so3}}), {}, {}, {}, {"top"}); }
  TopData data_;
  Vector3 J_;
};

/// What the two constrained groups share.
class TipTop : public system::System, public system::Precise {
 public:
  TipTop(GroupId group, bool is_body, const TopData& data)
      : System(lie::Space({Factor{group}}),
               Pattern(lie::Space({Factor{group}}), {{"tip", 3, system::RowLevel::position, {0}}}, {}, {}, {"top"})),
        data_(data),
        is_se3_(group == GroupId::se3),
        is_body_(is_body) {}

  bool rates(const Quad&, const Quad* q, const Quad* v, Quad* q_rate, Quad* v_rate, Quad* lambda) const override {
    PreciseTop top;
    if (!top.evaluate(data_, q + 3, v + 3)) return false;
    std::copy(top.velocity.begin(), top.velocity.end(), q_rate);
    std::copy(top.turn.begin(), top.turn.end(), q_rate + 3);
    // On SE(3) U = Ω x X.
    const Quad3 first = is_se3_ ? cross(top.w_dot, precise(data_.X)) : top.acceleration;
    std::copy(first.begin(), first.end(), v_rate);
    std::copy(top.w_dot.begin(), top.w_dot.end(), v_rate + 3);
    const Quad3 multipliers = is_body_ ? top.back(top.lambda) : top.lambda;
    std::copy(multipliers.begin(), multipliers.end(), lambda);
    return true;
  }

  int body_count() const override { return 1; }
  std::string body_name(int) const override { return "top"; }
  Pose body_pose(int, ConstVectorRef q) const override { return {q.head<3>(), lie::rotation_matrix(q.data() + 3)}; }

  /// |u| = |U|: the same in both groups.
  double energy(const Motion& m) const override {
    const Map3 u(m.v.data()), w(m.v.data() + 3), x(m.q.data());
    return 0.5 * u.dot(data_.inertial_mass.cwiseProduct(u)) + 0.5 * w.dot(data_.J.cwiseProduct(w)) -
           data_.mass * data_.gravity.dot(x);
  }

 protected:
  /// M and the gyroscopic part of D, which both groups and both conventions have; K and H are left zero.
  void start_linearization(const Vector3& w, KktBlocks& out) const {
    set_mass(out);
    Matrix6Map(out.K.data()).setZero();
    Matrix36Map(out.H.data()).setZero();
    Matrix6Map D(out.D.data());
    D.setZero();
    D.bottomRightCorner<3, 3>() = skew(w) * data_.J.asDiagonal() - skew(data_.J.cwiseProduct(w));
  }
  void set_mass(KktBlocks& out) const {
    Matrix6Map M(out.M.data());
    M.setZero();
    M.diagonal().head<3>() = data_.inertial_mass;
    M.diagonal().tail<3>() = data_.J;
  }
  void transpose_into_F(KktBlocks& out) const { Matrix63Map(out.F.data()) = Matrix36Map(out.B.data()).transpose(); }
  Vector3 spin_torque(const Vector3& w, const Vector3& w_dot) const {
    return data_.J.cwiseProduct(w_dot) + w.cross(data_.J.cwiseProduct(w));
  }

  TopData data_;

 private:
  bool is_se3_, is_body_;
};

/// ℝ³xSO(3), v = (u, Ω). Body: Φ = X - y, y = Rᵀx, B = [-Rᵀ, -ỹ]. Inertial: Φ = -x + R X, B = [-I, -R X̃].
template <bool is_body>
class TopR3xSO3 final : public TipTop {
 public:
  explicit TopR3xSO3(const TopData& data) : TipTop(GroupId::r3xso3, is_body, data) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    const Map3 x(m.q.data()), u(m.v.data()), w(m.v.data() + 3), u_dot(m.a.data()), w_dot(m.a.data() + 3),
        l(lambda.data());
    const Matrix3 R = lie::rotation_matrix(m.q.data() + 3);
    const Vector3 inertia = data_.inertial_mass.cwiseProduct(u_dot) - data_.mass * data_.gravity;
    const Vector3 torque = spin_torque(w, w_dot);
    if constexpr (is_body) {
      const Vector3 y = R.transpose() * x;
      out.force.head<3>() = inertia - R * l;
      out.force.tail<3>() = torque + y.cross(l);
      OutMap3(out.gap.data()) = data_.X - y;
      OutMap3(out.rate.data()) = -(R.transpose() * u) - y.cross(w);
    } else {
      out.force.head<3>() = inertia - l;
      out.force.tail<3>() = torque + data_.X.cross(R.transpose() * l);
      OutMap3(out.gap.data()) = R * data_.X - x;
      OutMap3(out.rate.data()) = R * w.cross(data_.X) - u;
    }
  }
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override {
    const Map3 u(m.v.data()), w(m.v.data() + 3), l(lambda.data());
    const Matrix3 R = lie::rotation_matrix(m.q.data() + 3);
    start_linearization(w, out);
    set_jacobian(m, R, out);
    transpose_into_F(out);
    Matrix6Map K(out.K.data());
    Matrix36Map H(out.H.data());
    if constexpr (is_body) {
      const Vector3 y = R.transpose() * Map3(m.q.data()), p = R.transpose() * u;
      const Matrix3 RL = R * skew(l);
      K.topRightCorner<3, 3>() = RL;
      K.bottomLeftCorner<3, 3>() = RL.transpose();
      K.bottomRightCorner<3, 3>() = -skew_product(l, y);
      H.leftCols<3>() = skew(w) * R.transpose();
      H.rightCols<3>() = skew_product(w, y) - skew(p);
    } else {
      K.bottomRightCorner<3, 3>() = skew(data_.X) * skew(R.transpose() * l);
      H.rightCols<3>() = -R * skew(w.cross(data_.X));
    }
  }
  void mass_and_jacobian(const Motion& m, KktBlocks& out) const override {
    set_mass(out);
    set_jacobian(m, lie::rotation_matrix(m.q.data() + 3), out);
  }
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override {
    const Map3 l(mu.data());
    if constexpr (is_body) {
      out.head<3>() = -lie::rotate(m.q.data() + 3, l);
      out.tail<3>() = lie::rotate_back(m.q.data() + 3, Map3(m.q.data())).cross(l);
    } else {
      out.head<3>() = -l;
      out.tail<3>() = data_.X.cross(lie::rotate_back(m.q.data() + 3, l));
    }
  }
  void acceleration_gap(const Motion& m, VectorRef out) const override {
    const Map3 x(m.q.data()), u(m.v.data()), w(m.v.data() + 3), u_dot(m.a.data()), w_dot(m.a.data() + 3);
    const Matrix3 R = lie::rotation_matrix(m.q.data() + 3);
    if constexpr (is_body) {
      const Vector3 y = R.transpose() * x, p = R.transpose() * u;
      const Vector3 y_dot = p + y.cross(w);
      out = -(R.transpose() * u_dot) + w.cross(p) - y_dot.cross(w) - y.cross(w_dot);
    } else {
      out = R * (w.cross(w.cross(data_.X)) + w_dot.cross(data_.X)) - u_dot;
    }
  }

 private:
  void set_jacobian(const Motion& m, const Matrix3& R, KktBlocks& out) const {
    Matrix36Map B(out.B.data());
    if constexpr (is_body) {
      B.leftCols<3>() = -R.transpose();
      B.rightCols<3>() = -skew(R.transpose() * Map3(m.q.data()));
    } else {
      B.leftCols<3>() = -Matrix3::Identity();
      B.rightCols<3>() = -R * skew(data_.X);
    }
  }
};

/// SE(3), v = (U, Ω). Body: Φ = X - y, B = [-I, -ỹ]. Inertial: Φ = -x + R X, B = [-R, -R X̃].
template <bool is_body>
class TopSE3 final : public TipTop {
 public:
  explicit TopSE3(const TopData& data) : TipTop(GroupId::se3, is_body, data) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    const Map3 x(m.q.data()), U(m.v.data()), w(m.v.data() + 3), U_dot(m.a.data()), w_dot(m.a.data() + 3),
        l(lambda.data());
    const Matrix3 R = lie::rotation_matrix(m.q.data() + 3);
    const Vector3 inertia = data_.mass * (U_dot + w.cross(U) - R.transpose() * data_.gravity);
    const Vector3 torque = spin_torque(w, w_dot);
    if constexpr (is_body) {
      const Vector3 y = R.transpose() * x;
      out.force.head<3>() = inertia - l;
      out.force.tail<3>() = torque + y.cross(l);
      OutMap3(out.gap.data()) = data_.X - y;
      OutMap3(out.rate.data()) = -U - y.cross(w);
    } else {
      const Vector3 l_body = R.transpose() * l;
      out.force.head<3>() = inertia - l_body;
      out.force.tail<3>() = torque + data_.X.cross(l_body);
      OutMap3(out.gap.data()) = R * data_.X - x;
      OutMap3(out.rate.data()) = R * (w.cross(data_.X) - U);
    }
  }
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override {
    const Map3 U(m.v.data()), w(m.v.data() + 3), l(lambda.data());
    start_linearization(w, out);
    set_jacobian(m, out);
    transpose_into_F(out);
    const Matrix3 R = lie::rotation_matrix(m.q.data() + 3);
    const Matrix3 W = skew(w);
    Matrix6Map D(out.D.data()), K(out.K.data());
    Matrix36Map H(out.H.data());
    D.topLeftCorner<3, 3>() = data_.mass * W;
    D.topRightCorner<3, 3>() = -data_.mass * skew(U);
    K.topRightCorner<3, 3>() = -data_.mass * skew(R.transpose() * data_.gravity);
    if constexpr (is_body) {
      const Vector3 y = R.transpose() * Map3(m.q.data());
      K.bottomLeftCorner<3, 3>() = -skew(l);
      K.bottomRightCorner<3, 3>() = -skew_product(l, y);
      H.leftCols<3>() = W;
      H.rightCols<3>() = skew_product(w, y);
    } else {
      const Matrix3 L = skew(R.transpose() * l);
      K.topRightCorner<3, 3>() -= L;
      K.bottomRightCorner<3, 3>() = skew(data_.X) * L;
      H.rightCols<3>() = -R * skew(w.cross(data_.X) - U);
    }
  }
  void mass_and_jacobian(const Motion& m, KktBlocks& out) const override {
    set_mass(out);
    set_jacobian(m, out);
  }
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override {
    const Map3 l(mu.data());
    if constexpr (is_body) {
      out.head<3>() = -l;
      out.tail<3>() = lie::rotate_back(m.q.data() + 3, Map3(m.q.data())).cross(l);
    } else {
      const Vector3 l_body = lie::rotate_back(m.q.data() + 3, l);
      out.head<3>() = -l_body;
      out.tail<3>() = data_.X.cross(l_body);
    }
  }
  void acceleration_gap(const Motion& m, VectorRef out) const override {
    const Map3 x(m.q.data()), U(m.v.data()), w(m.v.data() + 3), U_dot(m.a.data()), w_dot(m.a.data() + 3);
    if constexpr (is_body) {
      const Vector3 y = lie::rotate_back(m.q.data() + 3, x);
      const Vector3 y_dot = U + y.cross(w);
      out = -U_dot - y_dot.cross(w) - y.cross(w_dot);
    } else {
      const Vector3 s = w.cross(data_.X) - U;
      out = lie::rotate(m.q.data() + 3, w.cross(s) + w_dot.cross(data_.X) - U_dot);
    }
  }

 private:
  void set_jacobian(const Motion& m, KktBlocks& out) const {
    Matrix36Map B(out.B.data());
    if constexpr (is_body) {
      B.leftCols<3>() = -Matrix3::Identity();
      B.rightCols<3>() = -skew(lie::rotate_back(m.q.data() + 3, Map3(m.q.data())));
    } else {
      const Matrix3 R = lie::rotation_matrix(m.q.data() + 3);
      B.leftCols<3>() = -R;
      B.rightCols<3>() = -R * skew(data_.X);
    }
  }
};

std::shared_ptr<const system::System> make_system(GroupId group, bool is_body, const TopData& data) {
  switch (group) {
    case GroupId::so3:
      return std::make_shared<FreeTop>(data);
    case GroupId::r3xso3:
      if (is_body) return std::make_shared<TopR3xSO3<true>>(data);
      return std::make_shared<TopR3xSO3<false>>(data);
    case GroupId::se3:
      if (is_body) return std::make_shared<TopSE3<true>>(data);
      return std::make_shared<TopSE3<false>>(data);
    case GroupId::rn:
      break;
  }
  return nullptr;
}

Model top_of(const char* name, std::string_view group_name, const ParameterValues& p, const TopData& data) {
  const Vector3 spin(p.number("omega_x"), p.number("omega_y"), p.number("omega_z"));
  const GroupId group = lie::group_named(group_name);
  Model model;
  model.name = name;
  model.group = group_name;
  model.system = make_system(group, p.word("constraint") == "body", data);
  const lie::Space& space = model.system->space();
  model.start.t_end = 2.0;
  model.start.q0.resize(space.nq());
  space.set_identity(model.start.q0);
  model.start.v0.setZero(space.nv());
  model.start.v0.tail<3>() = spin;
  if (group != GroupId::so3) {
    model.start.q0.head<3>() = data.X;
    model.start.v0.head<3>() = spin.cross(data.X);
  }
  model.scene = fmt::format(
      R"({{"bodies": [{{"name": "top", "shape": {{"top": {{"tip": [{0}, {1}, {2}], "radius": 0.4}}}}}}],
           "joints": [{{"name": "tip", "body": "top", "at": [{0}, {1}, {2}], "first_row": 1, "rows": 3, "frame": "{3}"}}]}})",
      -data.X.x(), -data.X.y(), -data.X.z(), p.word("constraint") == "body" ? "body" : "inertial");
  return model;
}

Model make_heavy_top(std::string_view group_name, const ParameterValues& p) {
  TopData data;
  data.mass = p.number("mass");
  data.inertial_mass.setConstant(data.mass);
  data.gravity = Vector3(0.0, 0.0, -p.number("gravity"));
  return top_of("heavy-top", group_name, p, data);
}

Model make_singular(std::string_view group_name, const ParameterValues& p) {
  TopData data;
  data.inertial_mass = Vector3(data.mass, data.mass, 0.0);
  return top_of("singular-top", group_name, p, data);
}

}  // namespace

ModelInfo heavy_top() {
  return {
      "heavy-top",
      "spinning top with its tip at the origin (Bruels, Cardona)",
      {"r3xso3", "se3", "so3"},
      {{.name = "constraint", .meaning = "frame of the constraint and of lambda", .words = {"body", "inertial"}},
       {.name = "mass", .meaning = "mass [kg]", .default_number = 15.0, .minimum = 0.0, .minimum_is_excluded = true},
       {.name = "gravity", .meaning = "gravity [m/s^2], along -z", .default_number = 9.81},
       {.name = "omega_x", .meaning = "initial body angular velocity [rad/s]", .default_number = 0.0},
       {.name = "omega_y", .meaning = "initial spin [rad/s]", .default_number = 150.0},
       {.name = "omega_z", .meaning = "initial body angular velocity [rad/s]", .default_number = -4.61538}},
      make_heavy_top};
}

ModelInfo singular_top() {
  ModelInfo info = heavy_top();
  std::erase_if(info.parameters, [](const ParameterInfo& p) { return p.name == "mass" || p.name == "gravity"; });
  info.name = "singular-top";
  info.summary = "the heavy top with M = diag(15, 15, 0, J), positive definite on ker B only";
  info.groups = {"r3xso3"};
  info.make = make_singular;
  return info;
}

}  // namespace kreisel::models
