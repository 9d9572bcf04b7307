#include "multibody/joint.hpp"

#include <algorithm>
#include <cmath>

namespace kreisel::multibody {

Joint& Joint::coincide(const Vector3& p1, const Vector3& p2) {
  has_point_ = true;
  p1_ = p1;
  p2_ = p2;
  return *this;
}

Joint& Joint::demand(MeasurePtr measure, Signal target, double period) {
  measured_.push_back({std::move(measure), std::move(target), period});
  return *this;
}

Joint& Joint::slides(Sliding sliding) {
  slidings_.push_back(std::move(sliding));
  return *this;
}

Joint& Joint::rolls(std::shared_ptr<const Rolling> rolling) {
  rolling_ = std::move(rolling);
  return *this;
}

Joint& Joint::set_frames(const Frame& a, const Frame& b) {
  frames_ = {a, b};
  return *this;
}

Joint& Joint::set_driver(bool is_driver) {
  is_driver_ = is_driver;
  return *this;
}

bool Joint::depends_on_time() const {
  return std::any_of(measured_.begin(), measured_.end(), [](const Row& row) { return !row.target.is_constant(); });
}

std::vector<NamedSignal> Joint::signals() const {
  std::vector<NamedSignal> list;
  for (const Row& row : measured_)
    if (!row.target.is_constant()) list.push_back({"value", &row.target});
  return list;
}

std::pair<double, double> Joint::span() const {
  std::pair<double, double> span = Signal().span();
  for (const Row& row : measured_) {
    const auto [begin, end] = row.target.span();
    span = {std::max(span.first, begin), std::min(span.second, end)};
  }
  return span;
}

system::Corner Joint::next_corner(double t, double until, double resolution) const {
  system::Corner first;
  for (const Row& row : measured_) first = earlier(first, row.target.next_corner(t, until, 2, resolution));
  return first;
}

namespace {

double gap_of(const Joint::Row& row, const BodyState* s, double target) {
  const double gap = row.measure->value(s) - target;
  return row.period > 0.0 ? std::remainder(gap, row.period) : gap;
}

}  // namespace

void Joint::gap_and_rate(const BodyState* s, double t, double* gap, double* rate) const {
  if (has_point_) {
    Eigen::Map<Vector3>{gap} = s[0].point(p1_) - s[1].point(p2_);
    Eigen::Map<Vector3>{rate} = s[0].point_velocity(p1_) - s[1].point_velocity(p2_);
    gap += 3;
    rate += 3;
  }
  for (const Row& row : measured_) {
    const Jet target = row.target.at(t);
    *gap++ = gap_of(row, s, target.value);
    *rate++ = row.measure->rate(s) - target.rate;
  }
}

/// B of P₁ - P₂: [1, -R₁p̃₁] and [-1, R₂p̃₂].
void Joint::add_wrench(const BodyState* s, const double* mu, Slopes& wrench) const {
  if (has_point_) {
    const Eigen::Map<const Vector3> l(mu);
    wrench[0].head<3>() += l;
    wrench[0].tail<3>() += p1_.cross(s[0].R.transpose() * l);
    wrench[1].head<3>() -= l;
    wrench[1].tail<3>() -= p2_.cross(s[1].R.transpose() * l);
    mu += 3;
  }
  for (const Row& row : measured_) row.measure->add_slopes(s, *mu++, wrench);
}

void Joint::jacobian_of(const BodyState* s, ElementBlocks& out) const {
  int at = 0;
  if (has_point_) {
    out.B[0].topRows<3>() << Matrix3::Identity(), -(s[0].R * skew(p1_));
    out.B[1].topRows<3>() << -Matrix3::Identity(), s[1].R * skew(p2_);
    for (int i = 2; i < slots(); ++i) out.B[i].topRows<3>().setZero();
    at = 3;
  }
  for (const Row& row : measured_) {
    Slopes slopes;
    for (int i = 0; i < slots(); ++i) slopes[i].setZero();
    row.measure->add_slopes(s, 1.0, slopes);
    for (int i = 0; i < slots(); ++i) out.B[i].row(at) = slopes[i];
    ++at;
  }
}

void Joint::linearize_at(const BodyState* s, const double* lambda, ElementBlocks& out) const {
  const int n = slots();
  jacobian_of(s, out);
  out.K.set_zero(n);
  int at = 0;
  if (has_point_) {
    const Eigen::Map<const Vector3> l(lambda);
    for (int i = 0; i < n; ++i) out.H[i].topRows<3>().setZero();
    out.H[0].topRightCorner<6, 3>().topRows<3>() = -(s[0].R * skew(s[0].w.cross(p1_)));
    out.H[1].topRightCorner<6, 3>().topRows<3>() = s[1].R * skew(s[1].w.cross(p2_));
    out.K(0, 0).bottomRightCorner<3, 3>() = skew(p1_) * skew(s[0].R.transpose() * l);
    out.K(1, 1).bottomRightCorner<3, 3>() = -(skew(p2_) * skew(s[1].R.transpose() * l));
    at = 3;
  }
  for (const Row& row : measured_) {
    Curvature Q;
    Q.set_zero(n);
    row.measure->add_curvature(s, 1.0, Q);
    for (int j = 0; j < n; ++j) {
      out.H[j].row(at).setZero();
      for (int i = 0; i < n; ++i) {
        out.H[j].row(at) += s[i].twist().transpose() * Q(i, j);
        out.K(i, j) += lambda[at] * Q(i, j);
      }
    }
    ++at;
  }
}

void Joint::acceleration_gap(const Instant& at, double* out) const {
  const Frames frames(at, slots());
  const BodyState* s = frames.states();
  Slopes accelerations;
  frames.set_accelerations(accelerations);
  if (has_point_) {
    const auto acceleration = [&](int slot, const Vector3& p) -> Vector3 {
      return accelerations[slot].head<3>() + s[slot].R * accelerations[slot].tail<3>().cross(p) +
             s[slot].point_curve(p);
    };
    Eigen::Map<Vector3>{out} = acceleration(0, p1_) - acceleration(1, p2_);
    out += 3;
  }
  for (const Row& row : measured_) {
    Slopes slopes;
    for (int i = 0; i < slots(); ++i) slopes[i].setZero();
    row.measure->add_slopes(s, 1.0, slopes);
    double sum = row.measure->curve(s) - row.target.at(at.t).curve;
    for (int i = 0; i < slots(); ++i) sum += slopes[i].dot(accelerations[i]);
    *out++ = sum;
  }
}

Facets Joint::facets() const {
  return {.rows = rows(),
          .is_driver = is_driver_,
          .couples_nodes = couples_bodies(),
          .does_work = depends_on_time(),
          .is_on_frames = true};
}

void Joint::constraint(const Instant& at, double* gap, double* rate) const {
  gap_and_rate(Frames(at, slots()).states(), at.t, gap, rate);
}

void Joint::add_constraint_force(const Instant& at, const double* mu, const Forces& out) const {
  const Frames frames(at, slots());
  Slopes wrench;
  set_zero(wrench, slots());
  add_wrench(frames.states(), mu, wrench);
  frames.add_wrench(wrench, out);
}

void Joint::constraint_with_force(const Instant& at, double* gap, double* rate, const Forces& out) const {
  const Frames frames(at, slots());
  Slopes wrench;
  set_zero(wrench, slots());
  gap_and_rate(frames.states(), at.t, gap, rate);
  add_wrench(frames.states(), at.lambda, wrench);
  frames.add_wrench(wrench, out);
}

void Joint::jacobian(const Instant& at, const Blocks& out) const {
  const Frames frames(at, slots());
  ElementBlocks blocks;
  jacobian_of(frames.states(), blocks);
  frames.store_B(blocks, out);
}

void Joint::linearize_constraint(const Instant& at, const Blocks& out) const {
  const Frames frames(at, slots());
  ElementBlocks blocks;
  linearize_at(frames.states(), at.lambda, blocks);
  frames.store_B(blocks, out);
  frames.store_H(blocks, out);
  Slopes wrench;
  if (frames.needs_wrench()) {
    set_zero(wrench, slots());
    add_wrench(frames.states(), at.lambda, wrench);
  }
  frames.add_couplings(wrench, blocks.K, nullptr, out);
}

void Joint::add_power(const Instant& at, system::Power& power) const {
  const BodyState* s = Frames(at, slots()).states();
  Slopes wrench;
  set_zero(wrench, slots());
  add_wrench(s, at.lambda, wrench);
  for (int i = 0; i < slots(); ++i) power.drivers -= wrench[i].dot(s[i].twist());
}

system::Reaction Joint::reaction(const Instant& at, const Vector6& more) const {
  const BodyState* s = Frames(at, slots()).states();
  Slopes wrench;
  set_zero(wrench, slots());
  add_wrench(s, at.lambda, wrench);
  wrench[1] += more;
  system::Reaction out;
  out.force = -wrench[1].head<3>();
  // From the centre of mass to the joint.
  out.torque = -(s[1].R * wrench[1].tail<3>()) - (s[1].R * frame().p).cross(out.force);
  const Matrix3 axes = s[1].R * frame().E;
  out.force_in_joint = axes.transpose() * out.force;
  out.torque_in_joint = axes.transpose() * out.torque;
  return out;
}

}  // namespace kreisel::multibody
