#include "multibody/force.hpp"

namespace kreisel::multibody {
namespace {

/// Force f at the point p and torque m, both in the inertial or both in the body frame, functions of t. Formulas that read
/// more become a `Law`.
class Applied final : public Force {
 public:
  Applied(const ForceSpec& spec)
      : Force("applied", spec.name, spec.bodies), p_(spec.frames[0].p), in_body_(spec.in_body_frame) {
    if (const auto f = spec.vector_signals.find("force"); f != spec.vector_signals.end()) force_ = f->second;
    if (const auto m = spec.vector_signals.find("torque"); m != spec.vector_signals.end()) torque_ = m->second;
  }

  void add_wrench(const ForceState& state, Slopes& wrench) const override {
    const Vector3 f = at(force_, state.t), m = at(torque_, state.t);
    const Matrix3& R = state.s[0].R;
    if (in_body_) {
      wrench[0].head<3>() -= R * f;
      wrench[0].tail<3>() -= m + p_.cross(f);
    } else {
      wrench[0].head<3>() -= f;
      wrench[0].tail<3>() -= R.transpose() * m + p_.cross(R.transpose() * f);
    }
  }
  void add_blocks(const ForceState& state, ElementBlocks& out) const override {
    const Vector3 f = at(force_, state.t), m = at(torque_, state.t);
    const Matrix3& R = state.s[0].R;
    if (in_body_)
      out.K(0, 0).topRightCorner<3, 3>() += R * skew(f);
    else
      out.K(0, 0).bottomRightCorner<3, 3>() -= skew(R.transpose() * m) + skew(p_) * skew(R.transpose() * f);
  }
  void add_flow(const ForceState& state, system::Power& power) const override {
    const BodyState& s = state.s[0];
    const Vector3 f = at(force_, state.t), m = at(torque_, state.t);
    const Matrix3& R = s.R;
    if (in_body_)
      power.forces += (R * f).dot(s.point_velocity(p_)) + m.dot(s.w);
    else
      power.forces += f.dot(s.point_velocity(p_)) + m.dot(R * s.w);
  }
  system::Corner next_corner(double t, double until, double resolution) const override {
    system::Corner first;
    for (const std::array<Signal, 3>* signals : {&force_, &torque_})
      for (const Signal& signal : *signals) first = earlier(first, signal.next_corner(t, until, 0, resolution));
    return first;
  }

  std::vector<NamedSignal> signals() const override {
    std::vector<NamedSignal> list;
    for (int i = 0; i < 3; ++i) {
      const std::string axis(1, static_cast<char>('x' + i));
      if (!force_[i].is_constant()) list.push_back({"force " + axis, &force_[i]});
      if (!torque_[i].is_constant()) list.push_back({"torque " + axis, &torque_[i]});
    }
    return list;
  }

 private:
  static Vector3 at(const std::array<Signal, 3>& signal, double t) {
    return {signal[0].at(t).value, signal[1].at(t).value, signal[2].at(t).value};
  }
  Vector3 p_;
  bool in_body_;
  std::array<Signal, 3> force_, torque_;
};

}  // namespace

ForceInfo applied_force() {
  return {.name = "applied",
          .summary = "force at a point and torque on one body, constant or formulas",
          .bodies = 1,
          .place_is_optional = true,
          .has_frame = true,
          .vector_signals = {{.name = "force", .meaning = "three formulas", .unit = "N"},
                             {.name = "torque", .meaning = "three formulas", .unit = "N m"}},
          .build = [](const ForceSpec& spec) -> ForcePtr { return std::make_unique<Applied>(spec); }};
}

}  // namespace kreisel::multibody
