#include "multibody/direction.hpp"

#include <limits>

namespace kreisel::multibody {
namespace {

// Every block follows from δ(R p) = -R p̃ δθ and δ(Rᵀ z) = skew(Rᵀ z) δθ.

class Direction : public Measure {
 public:
  double value(const BodyState*) const override { return std::numeric_limits<double>::quiet_NaN(); }
  double curve(const BodyState*) const override { return std::numeric_limits<double>::quiet_NaN(); }
};

class ForceDirection final : public Direction {
 public:
  ForceDirection(int b, const Vector3& p, const Vector3& e, bool in_body) : b_(b), p_(p), e_(e), in_body_(in_body) {}

  double rate(const BodyState* s) const override { return in_world(s[b_]).dot(s[b_].point_velocity(p_)); }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override {
    const Vector3 in_body = in_body_ ? e_ : Vector3(s[b_].R.transpose() * e_);
    out[b_].head<3>() += scale * in_world(s[b_]);
    out[b_].tail<3>() += scale * p_.cross(in_body);
  }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    const Matrix3& R = s[b_].R;
    if (in_body_)
      out(b_, b_).topRightCorner<3, 3>() -= scale * (R * skew(e_));
    else
      out(b_, b_).bottomRightCorner<3, 3>() += scale * (skew(p_) * skew(R.transpose() * e_));
  }

 private:
  Vector3 in_world(const BodyState& s) const { return in_body_ ? Vector3(s.R * e_) : e_; }

  int b_;
  Vector3 p_, e_;
  bool in_body_;
};

class TorqueDirection final : public Direction {
 public:
  TorqueDirection(int b, const Vector3& e, bool in_body) : b_(b), e_(e), in_body_(in_body) {}

  double rate(const BodyState* s) const override { return in_body(s[b_]).dot(s[b_].w); }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override {
    out[b_].tail<3>() += scale * in_body(s[b_]);
  }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    if (!in_body_) out(b_, b_).bottomRightCorner<3, 3>() += scale * skew(s[b_].R.transpose() * e_);
  }

 private:
  Vector3 in_body(const BodyState& s) const { return in_body_ ? e_ : Vector3(s.R.transpose() * e_); }

  int b_;
  Vector3 e_;
  bool in_body_;
};

}  // namespace

MeasurePtr force_direction(int b, const Vector3& p, const Vector3& e, bool in_body) {
  return std::make_unique<ForceDirection>(b, p, e, in_body);
}

MeasurePtr torque_direction(int b, const Vector3& e, bool in_body) {
  return std::make_unique<TorqueDirection>(b, e, in_body);
}

}  // namespace kreisel::multibody
