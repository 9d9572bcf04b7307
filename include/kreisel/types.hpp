// The types used everywhere: vectors, counters, energy flows.
#pragma once

#include <cstdint>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace kreisel {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using Vector3 = Eigen::Vector3d;
using Matrix3 = Eigen::Matrix3d;

using VectorRef = Eigen::Ref<Vector>;
using MatrixRef = Eigen::Ref<Matrix>;
using ConstMatrixRef = Eigen::Ref<const Matrix>;
using MatrixMap = Eigen::Map<Matrix>;
using ConstMatrixMap = Eigen::Map<const Matrix>;

/// A read-only view of a contiguous vector. Unlike Eigen::Ref<const Vector> it never copies: an expression does not convert. No
/// call allocates silently, and passing a view costs two registers.
class ConstVectorRef : public Eigen::Map<const Vector> {
 public:
  using Base = Eigen::Map<const Vector>;
  template <class Derived>
  requires(bool(Derived::IsVectorAtCompileTime) &&
           bool(Eigen::internal::traits<Derived>::Flags & Eigen::DirectAccessBit) &&
           Eigen::internal::inner_stride_at_compile_time<Derived>::ret == 1)
      ConstVectorRef(const Eigen::MatrixBase<Derived>& x)
      : Base(x.derived().data(), x.size()) {}
  ConstVectorRef(const double* data, Eigen::Index size) : Base(data, size) {}
};

/// skew(a) b = a × b.
inline Matrix3 skew(const Vector3& a) {
  Matrix3 A;
  A << 0.0, -a.z(), a.y(), a.z(), 0.0, -a.x(), -a.y(), a.x(), 0.0;
  return A;
}

/// Cost of a run. Each field is incremented in one place, by the caller of the counted operation.
struct Counters {
  std::int64_t steps = 0;
  std::int64_t rejected_steps = 0;
  std::int64_t newton_iterations = 0;
  std::int64_t residual_evaluations = 0;
  std::int64_t jacobian_evaluations = 0;
  std::int64_t factorizations = 0;
  std::int64_t exponentials = 0;
  std::int64_t brackets = 0;
};

/// Contributions to the energy of a system, as power [W] or as work [J].
struct EnergyFlow {
  double forces = 0.0;      ///< of applied forces and actuators
  double drivers = 0.0;     ///< of joints that depend on time
  double dissipated = 0.0;  ///< by dampers and friction, positive
  double total() const { return forces + drivers - dissipated; }

  EnergyFlow& add(double factor, const EnergyFlow& more) {
    forces += factor * more.forces;
    drivers += factor * more.drivers;
    dissipated += factor * more.dissipated;
    return *this;
  }
};

}  // namespace kreisel
