#include "multibody/body.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/decompositions.hpp"
#include "kreisel/error.hpp"
#include "lie/swing.hpp"

namespace kreisel::multibody {

Matrix3 axes_along(const Vector3& axis) {
  constexpr double close_to_x = 0.9;  // the cosine of 26 degrees: the part across is never short
  return axes_along(axis, std::abs(axis.normalized().x()) > close_to_x ? Vector3::UnitY() : Vector3::UnitX());
}

Matrix3 axes_along(const Vector3& axis, const Vector3& x) {
  constexpr double smallest_sine = 1e-6;  // directions are typed with few digits
  Matrix3 E;
  E.col(2) = axis.normalized();
  const Vector3 direction = x.normalized(), across = direction - E.col(2).dot(direction) * E.col(2);
  if (!(across.norm() > smallest_sine))
    throw InvalidInput("the x axis is parallel to the axis; give another direction");
  E.col(0) = across.normalized();
  E.col(1) = E.col(2).cross(E.col(0));
  return E;
}

Matrix3 swung(const Matrix3& R1, const Matrix3& E1, const Matrix3& R2, const Matrix3& E2) {
  const Vector3 from = R1 * E1.col(2), to = R2 * E2.col(2);
  if (!(from.dot(to) > -1.0 + 1e-8))
    throw InvalidInput("has axes in opposite directions at t = 0; both must point along the flow of power");
  return R2.transpose() * lie::swing(from, to).toRotationMatrix() * R1 * E1;
}

std::string problem_with_inertia(const Matrix3& J) {
  const Vector3 principal = symmetric_eigenvalues(J);
  const double size = principal.cwiseAbs().maxCoeff();
  if (!(principal[0] >= -1e-9 * size)) return fmt::format("has the negative principal moment {:.6g}", principal[0]);
  if (!(principal[0] + principal[1] >= principal[2] - 1e-6 * size))
    return fmt::format(
        "has the principal moments {:.6g}, {:.6g}, {:.6g}; no body has one larger than the sum of the other two",
        principal[0], principal[1], principal[2]);
  return {};
}

/// With S = ∫ r rᵀ dm, which has no negative eigenvalue, J = tr(S) 1 - S.
Matrix3 nearest_inertia(const Matrix3& J) {
  const auto eigen = symmetric_eigen(Matrix3(0.5 * (J + J.transpose())));
  const Vector3 second = (0.5 * eigen.values.sum() - eigen.values.array()).max(0.0);
  const Vector3 principal = second.sum() - second.array();
  return eigen.vectors * principal.asDiagonal() * eigen.vectors.transpose();
}

}  // namespace kreisel::multibody
