#include "multibody/hold.hpp"

#include "lie/so3.hpp"

namespace kreisel::multibody {

Hold::Hold(Part part, int number, const Body& body)
    : Element("hold", body.name + " held", {number}),
      part_(part),
      x0_(body.position),
      R0_(body.rotation),
      u0_(body.velocity),
      w0_(body.angular_velocity) {}

Facets Hold::facets() const {
  const bool is_position = part_ == Part::position || part_ == Part::rotation;
  return {.rows = 3,
          .level = is_position ? system::RowLevel::position : system::RowLevel::velocity,
          .couples_nodes = false,
          .is_on_frames = true};
}

Eigen::Matrix<double, 3, 6> Hold::slopes(const BodyState& s) const {
  Eigen::Matrix<double, 3, 6> B = Eigen::Matrix<double, 3, 6>::Zero();
  if (is_translation()) {
    B.leftCols<3>().setIdentity();
  } else if (part_ == Part::angular_velocity) {
    B.rightCols<3>().setIdentity();
  } else {  // ½ vee(A - Aᵀ), A = R₀ᵀR: δA = A δθ~
    const Matrix3 A = R0_.transpose() * s.R;
    B.rightCols<3>() = 0.5 * (A.trace() * Matrix3::Identity() - A.transpose());
  }
  return B;
}

void Hold::constraint(const Instant& at, double* gap, double* rate) const {
  const BodyState& s = Frames(at, 1).states()[0];
  Eigen::Map<Vector3>{rate} = slopes(s) * s.twist();
  if (part_ == Part::velocity) Eigen::Map<Vector3>{rate} -= u0_;
  if (part_ == Part::angular_velocity) Eigen::Map<Vector3>{rate} -= w0_;
  if (gap == nullptr) return;
  const Matrix3 A = R0_.transpose() * s.R;
  Eigen::Map<Vector3>{gap} = part_ == Part::position
                                 ? Vector3(s.x - x0_)
                                 : Vector3(0.5 * Vector3(A(2, 1) - A(1, 2), A(0, 2) - A(2, 0), A(1, 0) - A(0, 1)));
}

void Hold::add_constraint_force(const Instant& at, const double* mu, const Forces& out) const {
  const Frames frames(at, 1);
  Slopes wrench;
  wrench[0] = slopes(frames.states()[0]).transpose() * Eigen::Map<const Vector3>(mu);
  frames.add_wrench(wrench, out);
}

void Hold::constraint_with_force(const Instant& at, double* gap, double* rate, const Forces& out) const {
  constraint(at, gap, rate);
  add_constraint_force(at, at.lambda, out);
}

void Hold::jacobian(const Instant& at, const Blocks& out) const {
  const Frames frames(at, 1);
  ElementBlocks blocks;
  blocks.B[0].topRows<3>() = slopes(frames.states()[0]);
  frames.store_B(blocks, out);
}

}  // namespace kreisel::multibody
