// The heavy top in a stiff bushing: smooth motion, equations with rates of 1e4 to 1e6 per second.
#include "lie/so3.hpp"
#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

using system::KktBlocks;
using system::Motion;
using system::Pose;
using system::Residual;

/// A torsional spring-damper that holds a body axis a at right angles to a ground axis n, as a universal joint would:
///   s = a·Rᵀn, ṡ = b·Ω with b = a x Rᵀn, torque (k s + c ṡ) b on the left-hand side.
class BushedTop final : public system::System {
 public:
  BushedTop(std::shared_ptr<const System> top, double stiffness, double damping)
      : System(top->space(), top->pattern()), top_(std::move(top)), stiffness_(stiffness), damping_(damping) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    top_->residual(m, lambda, out);
    const Bushing b = bushing(m);
    out.force.tail<3>() += b.torque * b.direction;
  }
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override {
    top_->linearize(m, lambda, out);
    const Bushing b = bushing(m);
    const Matrix3 turn = skew(body_axis) * skew(b.ground_axis);  // δb = turn δθ, δs = b·δθ
    const Vector3 w = m.v.tail<3>();
    const Vector3 torque_slope = stiffness_ * b.direction + damping_ * (turn.transpose() * w);
    const int n = space().nv();
    MatrixMap D(out.D.data(), n, n), K(out.K.data(), n, n);
    D.bottomRightCorner<3, 3>() += damping_ * b.direction * b.direction.transpose();
    K.bottomRightCorner<3, 3>() += b.direction * torque_slope.transpose() + b.torque * turn;
  }
  void mass_and_jacobian(const Motion& m, KktBlocks& out) const override { top_->mass_and_jacobian(m, out); }
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override {
    top_->constraint_force(m, mu, out);
  }
  void acceleration_gap(const Motion& m, VectorRef out) const override { top_->acceleration_gap(m, out); }

  double energy(const Motion& m) const override {
    const double s = body_axis.dot(ground_axis_in_body(m));
    return top_->energy(m) + 0.5 * stiffness_ * s * s;
  }
  int body_count() const override { return top_->body_count(); }
  std::string body_name(int body) const override { return top_->body_name(body); }
  Pose body_pose(int body, ConstVectorRef q) const override { return top_->body_pose(body, q); }

 private:
  struct Bushing {
    Vector3 ground_axis;  ///< Rᵀn
    Vector3 direction;    ///< b
    double torque;        ///< k s + c ṡ
  };

  static inline const Vector3 body_axis{1.0, 0.0, 0.0}, ground_axis{0.0, 1.0, 0.0};

  /// The quaternion ends q in every group, and Ω ends v.
  static Vector3 ground_axis_in_body(const Motion& m) {
    return lie::rotate_back(m.q.data() + m.q.size() - 4, ground_axis);
  }
  Bushing bushing(const Motion& m) const {
    const Vector3 axis = ground_axis_in_body(m), direction = body_axis.cross(axis), w = m.v.tail<3>();
    return {axis, direction, stiffness_ * body_axis.dot(axis) + damping_ * direction.dot(w)};
  }

  std::shared_ptr<const System> top_;
  double stiffness_, damping_;
};

Model make_stiff_top(std::string_view group, const ParameterValues& p) {
  Model model = heavy_top().make(group, p);
  model.name = "stiff-top";
  model.system = std::make_shared<BushedTop>(model.system, p.number("stiffness"), p.number("damping"));
  return model;
}

}  // namespace

ModelInfo stiff_top() {
  ModelInfo info = heavy_top();
  info.name = "stiff-top";
  info.summary = "heavy top whose axis x a stiff bushing keeps perpendicular to the inertial axis y";
  for (ParameterInfo& parameter : info.parameters) {
    // Turning about the axis y of the bushing, which does not deflect it.
    if (parameter.name == "omega_y") parameter.default_number = 5.0;
    if (parameter.name == "omega_z") parameter.default_number = 0.0;
  }
  // Rates of the deflection: stiffness/damping, and damping over the inertia about b, 0.47 to 15.2 kg m^2.
  info.parameters.push_back(
      {.name = "stiffness", .meaning = "of the bushing [N m/rad]", .default_number = 4.7e9, .minimum = 0.0});
  info.parameters.push_back(
      {.name = "damping", .meaning = "of the bushing [N m s/rad]", .default_number = 4.7e5, .minimum = 0.0});
  info.make = make_stiff_top;
  return info;
}

}  // namespace kreisel::models
