// Parts of the state of a body that are kept while a mechanism is assembled.
#pragma once

#include "multibody/frames.hpp"

namespace kreisel::multibody {

/// Three rows. Position: x = x₀. Rotation: the small rotation from R₀. Velocity: u = u₀, angular velocity: w = w₀, both of
/// velocity level. The rates of rows of position level are not conditions on the velocities of a motion.
class Hold final : public Element {
 public:
  enum class Part { position, rotation, velocity, angular_velocity };

  /// Of the body with this number, as it is given.
  Hold(Part part, int number, const Body& body);

  Facets facets() const override;
  void constraint(const Instant& at, double* gap, double* rate) const override;
  void add_constraint_force(const Instant& at, const double* mu, const Forces& out) const override;
  void constraint_with_force(const Instant& at, double* gap, double* rate, const Forces& out) const override;
  void jacobian(const Instant& at, const Blocks& out) const override;
  /// K is left out: projections do not need it.
  void linearize_constraint(const Instant& at, const Blocks& out) const override { jacobian(at, out); }

 private:
  bool is_translation() const { return part_ == Part::position || part_ == Part::velocity; }
  /// ∂ of the rows by (x, θ).
  Eigen::Matrix<double, 3, 6> slopes(const BodyState& s) const;

  Part part_;
  Vector3 x0_;
  Matrix3 R0_;
  Vector3 u0_, w0_;
};

}  // namespace kreisel::multibody
