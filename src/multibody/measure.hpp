// Scalar measures of the relative position of bodies. Joints demand that a measure vanishes, springs act on it: every
// derivative that either needs is written once, here.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "multibody/body.hpp"

namespace kreisel::multibody {

/// ∂ξ/∂(x, θ) by slot. A slot is the position of a body in the list of the joint or force.
using Slopes = std::array<Vector6, max_frames>;

/// ∂²ξ by slot pair: entry (i, j) is the derivative along j of the slope along i, trivialised: not symmetric on rotations.
struct Curvature {
  std::array<Matrix6, max_frames * max_frames> pairs;

  Matrix6& operator()(int i, int j) { return pairs[i * max_frames + j]; }
  const Matrix6& operator()(int i, int j) const { return pairs[i * max_frames + j]; }
  void set_zero(int slots) {
    for (int i = 0; i < slots; ++i)
      for (int j = 0; j < slots; ++j) (*this)(i, j).setZero();
  }
};

/// Laws, checked for every joint and force of the catalogues: slopes and curvature are derivatives of value;
/// curve is d²ξ/dt² of a motion without accelerations.
class Measure {
 public:
  virtual ~Measure() = default;
  virtual double value(const BodyState* s) const = 0;
  /// out += scale · ∂ξ.
  virtual void add_slopes(const BodyState* s, double scale, Slopes& out) const = 0;
  /// out += scale · ∂²ξ.
  virtual void add_curvature(const BodyState* s, double scale, Curvature& out) const = 0;
  virtual double rate(const BodyState* s) const = 0;
  virtual double curve(const BodyState* s) const = 0;
};
using MeasurePtr = std::unique_ptr<const Measure>;

/// (R_a e)·(R_b f): the cosine between axes of two bodies.
MeasurePtr cosine(int a, const Vector3& e, int b, const Vector3& f);

/// (R_a e)·(P_b - P_a), P = x + R p: the distance [m] of a point of b from a plane of a with normal e.
MeasurePtr offset(int a, const Vector3& p_a, const Vector3& e, int b, const Vector3& p_b);

/// |P_b - P_a| [m], smooth away from zero.
MeasurePtr distance(int a, const Vector3& p_a, int b, const Vector3& p_b);

/// The angle [rad] in (-π, π] by which the x axis of frame B on b is turned from the x axis of frame A on a, about z of A.
MeasurePtr angle(int a, const Matrix3& A, int b, const Matrix3& B);

/// The whole turns that bring `angle` nearest to `turned`.
double turns_between(double angle, double turned);

/// `angle` plus these turns.
double unwrapped(double angle, double turned);

/// c₁ξ₁ + c₂ξ₂.
MeasurePtr combination(double c1, MeasurePtr first, double c2, MeasurePtr second);

/// A function of two numbers with its first and second derivatives.
struct PlaneJet {
  double value = 0.0, by_1 = 0.0, by_2 = 0.0, by_11 = 0.0, by_12 = 0.0, by_22 = 0.0;
};

/// f(ξ₁, ξ₂) of two measures of the bodies a and b.
MeasurePtr function_of(int a, int b, MeasurePtr first, MeasurePtr second, std::function<PlaneJet(double, double)> f);

/// The component of the relative rotation of frame B on b against frame A on a along axis i of A: ½ vee(AᵀB - BᵀA)_i, which
/// is sinθ for a rotation about that axis.
MeasurePtr small_rotation(int a, const Matrix3& A, int b, const Matrix3& B, int axis);

}  // namespace kreisel::multibody
