#include "multibody/rolling.hpp"

#include "multibody/dual_body.hpp"

namespace kreisel::multibody {

namespace {

constexpr int wheel_directions = 12;
using WheelNumber = Dual<double, wheel_directions>;

using Rows = Eigen::Matrix<double, Eigen::Dynamic, 12, Eigen::ColMajor, 2, 12>;

Rows values_of(const std::array<std::array<double, 12>, 2>& rows, int count) {
  Rows A(count, 12);
  for (int k = 0; k < count; ++k)
    for (int i = 0; i < 12; ++i) A(k, i) = rows[static_cast<std::size_t>(k)][static_cast<std::size_t>(i)];
  return A;
}

Eigen::Matrix<double, 12, 1> twists_of(const BodyState* s) {
  Eigen::Matrix<double, 12, 1> twists;
  twists << s[0].twist(), s[1].twist();
  return twists;
}

}  // namespace

Rolling::Rolling(std::string name, std::vector<int> bodies, const Frame& plane, const Frame& disk, double radius,
                 bool holds_sideways)
    : Element("rolling", std::move(name), std::move(bodies)),
      plane_(plane),
      disk_(disk),
      radius_(radius),
      rows_(holds_sideways ? 2 : 1) {}

Facets Rolling::facets() const { return {.rows = rows_, .level = system::RowLevel::velocity, .is_on_frames = true}; }

template <class T, class Body>
std::array<std::array<T, 12>, 2> Rolling::rows(const Body& a, const Body& b) const {
  using std::sqrt;
  const Triple<T> n = a.turned(Vector3(plane_.E.col(2))), d = b.turned(Vector3(disk_.E.col(2)));
  const T c = dot(n, d), across = T(1.0) / sqrt(T(1.0) - c * c), down = T(-radius_) * across;
  const Triple<T> contact = b.x + b.turned(disk_.p) + down * (n - c * d);
  std::array<std::array<T, 12>, 2> out;
  for (int k = 0; k < rows_; ++k) {
    const Triple<T> tangent = rows_ == 2 ? a.turned(Vector3(plane_.E.col(k))) : across * cross(d, n);
    const Triple<T> by_first = a.in_body(cross(contact - a.x, tangent));
    const Triple<T> by_second = b.in_body(cross(contact - b.x, tangent));
    auto& row = out[static_cast<std::size_t>(k)];
    for (int i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(i);
      row[at] = -tangent[i];
      row[at + 3] = -by_first[i];
      row[at + 6] = tangent[i];
      row[at + 9] = by_second[i];
    }
  }
  return out;
}

void Rolling::constraint(const Instant& at, double*, double* rate) const {
  const BodyState* s = Frames(at, 2).states();
  const Rows A = values_of(rows<double>(moving(s[0]), moving(s[1])), rows_);
  const Eigen::Matrix<double, 12, 1> twists = twists_of(s);
  for (int k = 0; k < rows_; ++k) rate[k] = A.row(k).dot(twists);
}

void Rolling::add_wrench(const Instant& at, const double* mu, Slopes& wrench) const {
  const BodyState* s = Frames(at, 2).states();
  const Rows A = values_of(rows<double>(moving(s[0]), moving(s[1])), rows_);
  for (int k = 0; k < rows_; ++k) {
    wrench[0] += mu[k] * A.row(k).head<6>().transpose();
    wrench[1] += mu[k] * A.row(k).tail<6>().transpose();
  }
}

void Rolling::add_constraint_force(const Instant& at, const double* mu, const Forces& out) const {
  Slopes wrench;
  set_zero(wrench, 2);
  add_wrench(at, mu, wrench);
  Frames(at, 2).add_wrench(wrench, out);
}

void Rolling::jacobian(const Instant& at, const Blocks& out) const {
  const Frames frames(at, 2);
  const Rows A = values_of(rows<double>(moving(frames.states()[0]), moving(frames.states()[1])), rows_);
  ElementBlocks blocks;
  for (int i = 0; i < 2; ++i) blocks.B[static_cast<std::size_t>(i)].topRows(rows_) = A.middleCols<6>(6 * i);
  frames.store_B(blocks, out);
}

/// H = Σ v_i ∂A_i and K = Σ λ ∂A.
void Rolling::linearize_constraint(const Instant& at, const Blocks& out) const {
  const Frames frames(at, 2);
  const BodyState* s = frames.states();
  const auto A = rows<WheelNumber>(moving<wheel_directions>(s[0], 0, -1), moving<wheel_directions>(s[1], 6, -1));
  const Eigen::Matrix<double, 12, 1> twists = twists_of(s);
  ElementBlocks blocks;
  blocks.K.set_zero(2);
  Slopes wrench;
  set_zero(wrench, 2);
  for (std::size_t i = 0; i < 2; ++i) blocks.H[i].setZero();
  for (int row = 0; row < rows_; ++row)
    for (int i = 0; i < 12; ++i) {
      const WheelNumber& entry = A[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)];
      blocks.B[static_cast<std::size_t>(i / 6)](row, i % 6) = entry.value;
      wrench[static_cast<std::size_t>(i / 6)][i % 6] += at.lambda[row] * entry.value;
      for (int j = 0; j < 12; ++j) {
        const double slope = entry.slope[static_cast<std::size_t>(j)];
        blocks.H[static_cast<std::size_t>(j / 6)](row, j % 6) += twists[i] * slope;
        blocks.K(i / 6, j / 6)(i % 6, j % 6) += at.lambda[row] * slope;
      }
    }
  frames.store_B(blocks, out);
  frames.store_H(blocks, out);
  frames.add_couplings(wrench, blocks.K, nullptr, out);
}

void Rolling::acceleration_gap(const Instant& at, double* out) const {
  const Frames frames(at, 2);
  const BodyState* s = frames.states();
  const auto A = rows<WheelNumber>(moving<wheel_directions>(s[0], 0, -1), moving<wheel_directions>(s[1], 6, -1));
  const Eigen::Matrix<double, 12, 1> twists = twists_of(s);
  Slopes accelerations;
  frames.set_accelerations(accelerations);
  for (int row = 0; row < rows_; ++row) {
    out[row] = 0.0;
    for (int i = 0; i < 12; ++i) {
      const WheelNumber& entry = A[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)];
      out[row] += entry.value * accelerations[static_cast<std::size_t>(i / 6)][i % 6];
      for (int j = 0; j < 12; ++j) out[row] += twists[i] * entry.slope[static_cast<std::size_t>(j)] * twists[j];
    }
  }
}

}  // namespace kreisel::multibody
