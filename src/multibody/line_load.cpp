#include "multibody/line_load.hpp"

#include "lie/so3.hpp"

namespace kreisel::multibody {
namespace {

std::vector<int> nodes_of(const std::vector<LineLoad::Point>& points) {
  std::vector<int> nodes;
  for (const LineLoad::Point& point : points) nodes.push_back(point.node);
  return nodes;
}

Vector3 value_of(const std::array<Signal, 3>& signal, double t) {
  return {signal[0].at(t).value, signal[1].at(t).value, signal[2].at(t).value};
}

}  // namespace

LineLoad::LineLoad(std::string name, std::vector<Point> points, Load load)
    : Element("line-load", std::move(name), nodes_of(points)), points_(std::move(points)), load_(std::move(load)) {}

LineLoad::Pull LineLoad::pull_on(const Instant& at, std::size_t i, const Vector3& force, const Vector3& torque) const {
  const Point& point = points_[i];
  if (load_.in_section_axes) return {point.weight * (point.axes * force), point.weight * (point.axes * torque)};
  const double* q = at.q_of(static_cast<int>(i)) + 3;
  return {point.weight * lie::rotate_back(q, force), point.weight * lie::rotate_back(q, torque)};
}

void LineLoad::add_force(const Instant& at, const Forces& out) const {
  const Vector3 force = value_of(load_.force, at.t), torque = value_of(load_.torque, at.t);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const int slot = static_cast<int>(i);
    const Pull pull = pull_on(at, i, force, torque);
    Eigen::Map<Vector6> sum(out.of(slot));
    sum.head<3>() -=
        at.slots[slot].group == lie::GroupId::se3 ? pull.force : lie::rotate(at.q_of(slot) + 3, pull.force);
    sum.tail<3>() -= pull.torque + lie::cross(points_[i].at, pull.force);
  }
}

Vector6 LineLoad::load_at(const Instant& at, int node, bool is_before) const {
  Vector6 load = Vector6::Zero();
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Point& point = points_[i];
    if (point.node != node || point.weight == 0.0) continue;
    const double part = point.before / point.weight;
    const Pull pull = pull_on(at, i, value_of(load_.force, at.t), value_of(load_.torque, at.t));
    load << pull.force, pull.torque;
    load *= is_before ? part : 1.0 - part;
  }
  return load;
}

void LineLoad::linearize(const Instant& at, const Blocks& out) const {
  const Vector3 force = value_of(load_.force, at.t), torque = value_of(load_.torque, at.t);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const int slot = static_cast<int>(i);
    const bool is_se3 = at.slots[slot].group == lie::GroupId::se3;
    const Pull pull = pull_on(at, i, force, torque);
    Eigen::Map<Matrix6> K(out.coupling(out.all.K, slot, slot));
    if (load_.in_section_axes) {
      if (!is_se3) K.topRightCorner<3, 3>() += lie::rotation_matrix(at.q_of(slot) + 3) * skew(pull.force);
      continue;
    }
    if (is_se3) K.topRightCorner<3, 3>() -= skew(pull.force);
    K.bottomRightCorner<3, 3>() -= skew(pull.torque) + skew(points_[i].at) * skew(pull.force);
  }
}

void LineLoad::add_power(const Instant& at, system::Power& power) const {
  const Vector3 force = value_of(load_.force, at.t), torque = value_of(load_.torque, at.t);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const int slot = static_cast<int>(i);
    const Pull pull = pull_on(at, i, force, torque);
    const double* v = at.v_of(slot);
    const Vector3 w(v[3], v[4], v[5]);
    Vector3 u(v[0], v[1], v[2]);
    if (at.slots[slot].group != lie::GroupId::se3) u = lie::rotate_back(at.q_of(slot) + 3, u);
    power.forces += pull.force.dot(u + lie::cross(w, points_[i].at)) + pull.torque.dot(w);
  }
}

std::vector<NamedSignal> LineLoad::signals() const {
  std::vector<NamedSignal> list;
  for (int i = 0; i < 3; ++i) {
    const std::string axis(1, static_cast<char>('x' + i));
    if (!load_.force[i].is_constant()) list.push_back({"force " + axis, &load_.force[i]});
    if (!load_.torque[i].is_constant()) list.push_back({"torque " + axis, &load_.torque[i]});
  }
  return list;
}

system::Corner LineLoad::next_corner(double t, double until, double resolution) const {
  system::Corner first;
  for (const std::array<Signal, 3>* signals : {&load_.force, &load_.torque})
    for (const Signal& signal : *signals) first = earlier(first, signal.next_corner(t, until, 0, resolution));
  return first;
}

}  // namespace kreisel::multibody
