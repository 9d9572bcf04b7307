// Random frames and joints, fixed seed.
#pragma once

#include <algorithm>
#include <cmath>

#include "lie/so3.hpp"
#include "multibody/assembly.hpp"
#include "system/random_motion.hpp"

namespace kreisel::samples {

inline Vector3 random_point(Source& source) { return random_vector(source, 3); }

inline Matrix3 random_rotation(Source& source) {
  return lie::rotation_matrix(lie::SO3::exp(2.0 * random_point(source)).eval().data());
}

inline multibody::Frame random_frame(Source& source) { return {random_point(source), random_rotation(source)}; }

inline multibody::Body random_body(Source& source, std::string name) {
  multibody::Body body;
  body.name = std::move(name);
  body.mass = 1.0 + std::abs(source.number());
  const Matrix3 A = random_rotation(source);
  body.inertia = A * Vector3(1.0, 1.3, 1.7).asDiagonal() * A.transpose();
  body.inertia = (0.5 * (body.inertia + body.inertia.transpose())).eval();
  return body;
}

inline multibody::JointSpec random_joint_spec(Source& source, const multibody::JointInfo& info,
                                              std::vector<int> bodies) {
  multibody::JointSpec spec;
  spec.name = std::string(info.name);
  spec.bodies = std::move(bodies);
  for (int i = 0; i < 4; ++i) spec.frames.push_back(random_frame(source));
  spec.numbers.numbers["length"] = 0.7;
  for (const Field& field : info.numbers)
    if (kind_of(field) != FieldKind::word)
      spec.numbers.numbers[field.name] = 0.7;
    else
      spec.numbers.words[field.name] = field.words.front();
  if (info.is_driver) spec.value = multibody::Signal(multibody::Expression("0.3 + 0.2*sin(2*t) + 0.1*t^2"));
  spec.teeth = {20, -30};
  if (info.has_curve)  // without hollows
    for (int i = 0; i < 12; ++i) {
      const double angle = 2.0 * M_PI * i / 12.0, r = 0.8 + 0.1 * std::cos(2.0 * angle) + 0.03 * std::sin(3.0 * angle);
      spec.curve.emplace_back(r * std::cos(angle), r * std::sin(angle));
    }
  return spec;
}

/// Every number 0.6, every function of time 0.2 + sin(3t) or the like. `word` is for the parameter with a choice, if there
/// is one; numbers whose meaning begins with another of its words are left out.
inline multibody::ForceSpec random_force_spec(Source& source, const multibody::ForceInfo& info, std::vector<int> bodies,
                                              const std::string& word = {}) {
  multibody::ForceSpec spec;
  spec.name = std::string(info.name);
  spec.bodies = std::move(bodies);
  for (int i = 0; i < 2; ++i) spec.frames.push_back(random_frame(source));
  std::vector<std::string> other_words;
  for (const Field& p : info.numbers)
    for (const std::string& w : p.words)
      if (w != word) other_words.push_back(w + ":");
  const auto belongs_elsewhere = [&](const Field& p) {
    return std::any_of(other_words.begin(), other_words.end(),
                       [&](const std::string& w) { return p.meaning.starts_with(w); });
  };
  for (const Field& p : info.numbers)
    if (!p.words.empty())
      spec.words[p.name] = word;
    else if (!belongs_elsewhere(p))
      spec.numbers[p.name] = 0.6;
  if (const std::size_t dash = word.find('-'); info.name == "contact") {
    spec.numbers.erase("damping");  // the restitution says it
    const auto shape = [&](bool is_first, std::string_view what) {
      return (is_first ? word.substr(0, dash) : word.substr(dash + 1)) == what;
    };
    for (const bool is_first : {true, false}) {
      const std::string which = is_first ? "first_" : "second_";
      if (!shape(is_first, "sphere") && !shape(is_first, "capsule")) spec.numbers.erase(which + "radius");
      if (!shape(is_first, "capsule")) spec.numbers.erase(which + "length");
    }
  }
  for (int i = 0; i < info.bodies; ++i) spec.masses.push_back(1.5);
  for (const Field& field : info.vectors) spec.vectors[field.name] = Vector3(1.0, 2.0, 3.0);
  for (const Field& field : info.signals)
    spec.signals[field.name] = multibody::Signal(multibody::Expression("0.2 + sin(3*t)"));
  for (const Field& field : info.vector_signals)
    spec.vector_signals[field.name] = {multibody::Signal(multibody::Expression("1")),
                                       multibody::Signal(multibody::Expression("cos(t)")),
                                       multibody::Signal(multibody::Expression("t"))};
  return spec;
}

/// The choices that a joint or a force has; one empty word if there are none.
template <class Info>
std::vector<std::string> words_of(const Info& info) {
  for (const Field& p : info.numbers)
    if (!p.words.empty()) return p.words;
  return {""};
}

}  // namespace kreisel::samples
