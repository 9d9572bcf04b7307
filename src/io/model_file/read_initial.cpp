// Initial values of joints: the bodies that they carry are moved.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "lie/so3.hpp"
#include "multibody/measure.hpp"

namespace kreisel::io {

void ModelReader::read_initial(const std::string& here, const Json& initial, int joint, int sliding) {
  if (!is_object(here, initial, "{\"value\": ..., \"rate\": ...}")) return;
  const bool turns = mechanism_.joints[joint]->slidings()[static_cast<std::size_t>(sliding)].is_rotation;
  std::vector<std::string> known{"value", "rate"};
  if (turns) known.insert(known.end(), {"value_deg", "rate_deg"});
  check_keys(here, initial, known);
  Placed placed{here, joint, sliding, {}, {}};
  const auto read = [&](const char* key, double factor, std::optional<double>& out) {
    const Json* given = find(initial, key);
    double number = 0.0;
    if (given == nullptr || !this->number(below(here, key), *given, number)) return;
    if (out) return complain(below(here, key), "is given twice, in radians and in degrees");
    out = factor * number;
    if (factor == 1.0 && turns && std::string_view(key) == "value") suspect_degrees(below(here, key), *given, number);
  };
  read("value", 1.0, placed.value);
  read("rate", 1.0, placed.rate);
  if (turns) {
    read("value_deg", M_PI / 180.0, placed.value);
    read("rate_deg", M_PI / 180.0, placed.rate);
  }
  placed_.push_back(placed);
}

void ModelReader::place_joints() {
  if (placed_.empty() || problem_count_ > 0) return;
  const std::size_t bodies = mechanism_.bodies.size();
  std::vector<int> carried_by(bodies, -1), order;  // joint by body; joints outwards
  std::vector<bool> is_reached(bodies, false);
  const auto reached = [&](int body) { return body == multibody::ground || is_reached[body]; };
  const auto spread = [&] {
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t j = 0; j < mechanism_.joints.size(); ++j) {
        if (mechanism_.joints[j]->is_driver()) continue;
        const int a = mechanism_.joints[j]->bodies()[0], b = mechanism_.joints[j]->bodies()[1];
        if (reached(a) == reached(b)) continue;
        const int outer = reached(a) ? b : a;
        is_reached[outer] = true;
        carried_by[outer] = static_cast<int>(j);
        order.push_back(static_cast<int>(j));
        grows = true;
      }
    }
  };
  spread();
  for (std::size_t b = 0; b < bodies; ++b)
    if (!is_reached[b]) is_reached[b] = true, spread();
  std::map<int, std::size_t> depth;
  for (std::size_t i = 0; i < order.size(); ++i) depth[order[i]] = i;
  for (const Placed& placed : placed_)
    if (!depth.contains(placed.joint))
      complain(placed.at,
               fmt::format("'{}' closes a loop; give the initial value to another joint of the loop and use {}",
                           mechanism_.joints[placed.joint]->name(), spelled("assemble")));
  if (problem_count_ > 0) return;
  std::ranges::sort(placed_, {}, [&](const Placed& placed) { return depth.at(placed.joint); });
  has_loops_ = static_cast<std::size_t>(std::ranges::count_if(
                   mechanism_.joints, [](const auto& joint) { return !joint->is_driver(); })) > order.size();
  for (const Body& body : mechanism_.bodies) drawn_.push_back(body.rotation);
  for (const bool are_rates : {false, true})
    for (const Placed& placed : placed_)
      if (are_rates ? placed.rate.has_value() : placed.value.has_value()) move_outer(placed, carried_by, are_rates);
  for (const Placed& placed : placed_)
    if (placed.value &&
        mechanism_.joints[placed.joint]->slidings()[static_cast<std::size_t>(placed.sliding)].is_rotation)
      start_of_turns_[placed.joint] = *placed.value;
  start_turns_of_forces();
}

void ModelReader::move_outer(const Placed& placed, const std::vector<int>& carried_by, bool is_rate) {
  const multibody::Joint& joint = *mechanism_.joints[placed.joint];
  const multibody::Joint::Sliding& sliding = joint.slidings()[static_cast<std::size_t>(placed.sliding)];
  const int first = joint.bodies()[0], second = joint.bodies()[1];
  const int outer = second != multibody::ground && carried_by[second] == placed.joint ? second : first;
  multibody::BodyState s[2];
  for (const int i : {0, 1})
    if (const int body = joint.bodies()[i]; body != multibody::ground) {
      const Body& b = mechanism_.bodies[body];
      s[i] = {b.position, b.rotation, b.velocity, b.angular_velocity};
    }
  const Vector3 axis = s[1].R * joint.frame().E.col(2), pivot = s[1].point(joint.frame().p);
  const double sign = outer == second ? 1.0 : -1.0;
  const double change =
      sign * (is_rate ? *placed.rate - sliding.measure->rate(s) : *placed.value - sliding.measure->value(s));
  const Matrix3 turn = sliding.is_rotation ? about(axis, change) : Matrix3(Matrix3::Identity());
  std::vector<bool> is_carried(mechanism_.bodies.size(), false);
  is_carried[outer] = true;
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t b = 0; b < is_carried.size(); ++b) {
      if (is_carried[b] || carried_by[b] < 0) continue;
      const std::vector<int>& ends = mechanism_.joints[carried_by[b]]->bodies();
      const int inner = ends[0] == static_cast<int>(b) ? ends[1] : ends[0];
      if (inner != multibody::ground && is_carried[inner]) is_carried[b] = grows = true;
    }
  }
  if (!is_rate && sliding.is_rotation) turned_.push_back({placed.joint, is_carried, axis, change});
  for (std::size_t b = 0; b < is_carried.size(); ++b) {
    if (!is_carried[b]) continue;
    Body& body = mechanism_.bodies[b];
    if (is_rate && sliding.is_rotation) {
      body.velocity += change * (axis.cross(body.position - pivot) + sliding.lead * axis);
      body.angular_velocity += body.rotation.transpose() * (change * axis);
    } else if (is_rate) {
      body.velocity += change * axis;
    } else if (sliding.is_rotation) {
      body.position = pivot + turn * (body.position - pivot) + sliding.lead * change * axis;
      body.rotation = lie::rotation_matrix(lie::quaternion_from(Matrix3(turn * body.rotation)).data());
      body.velocity = turn * body.velocity;
    } else {
      body.position += change * axis;
    }
  }
}

/// In steps of at most 1 rad, so that no turn is missed. Where joints form loops, bodies reach their positions when they are
/// assembled, and only a joint between the two bodies themselves tells their turns.
double ModelReader::turned_angle(const multibody::Measure& angle, const std::vector<int>& bodies) const {
  multibody::BodyState s[2];
  for (const int i : {0, 1})
    if (bodies[i] != multibody::ground) s[i].R = drawn_[bodies[i]];
  double value = angle.value(s);
  for (const Turned& turned : turned_) {
    const std::vector<int>& ends = mechanism_.joints[turned.joint]->bodies();
    const bool is_between = std::ranges::is_permutation(ends, bodies);
    const auto carries = [&](int i) { return bodies[i] != multibody::ground && turned.carried[bodies[i]]; };
    const bool counts = carries(0) != carries(1) && (is_between || !has_loops_);
    const int steps = counts ? static_cast<int>(std::ceil(std::abs(turned.angle))) : 1;
    const Matrix3 step = about(turned.axis, turned.angle / std::max(steps, 1));
    for (int k = 0; k < steps; ++k) {
      for (const int i : {0, 1})
        if (carries(i)) s[i].R = step * s[i].R;
      if (counts) value = multibody::unwrapped(angle.value(s), value);
    }
  }
  return value;
}

void ModelReader::start_turns_of_forces() {
  for (CountingForce& force : counting_forces_) {
    force.spec.turned = turned_angle(*force.info->law.measure(force.spec), force.spec.bodies);
    if (std::abs(force.spec.turned) > M_PI) mechanism_.forces[force.number] = force.info->build(force.spec);
  }
}

}  // namespace kreisel::io
