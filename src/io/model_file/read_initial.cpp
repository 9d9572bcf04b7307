// Initial values of joints: the bodies that they carry are moved.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "lie/so3.hpp"

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
  for (const bool are_rates : {false, true})
    for (const Placed& placed : placed_)
      if (are_rates ? placed.rate.has_value() : placed.value.has_value()) move_outer(placed, carried_by, are_rates);
  for (const Placed& placed : placed_)
    if (placed.value &&
        mechanism_.joints[placed.joint]->slidings()[static_cast<std::size_t>(placed.sliding)].is_rotation)
      start_of_turns_[placed.joint] = *placed.value;
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

}  // namespace kreisel::io
