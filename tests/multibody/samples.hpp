// Random frames and joints, fixed seed.
#pragma once

#include "kreisel/lie/so3.hpp"
#include "kreisel/multibody/assembly.hpp"
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
  spec.length = 0.7;
  if (info.is_driver) spec.value = multibody::Signal(multibody::Expression("0.3 + 0.2*sin(2*t) + 0.1*t^2"));
  spec.teeth = {20, -30};
  return spec;
}

}  // namespace kreisel::samples
