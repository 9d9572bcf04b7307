// Prescribed motions: positions, velocities and accelerations without integration, then the inputs and reactions that
// they need.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::analysis {

/// An output that follows a function of time: value, rate and curve at t.
struct Servo {
  int output = 0;  ///< column among all outputs
  std::string name;
  std::function<Vector3(double t)> target;
};

struct InverseOptions {
  std::vector<Servo> servos;
  std::vector<int> inputs;    ///< to compute, by their numbers
  std::vector<double> times;  ///< increasing, from the start on
};

struct InversePoint {
  system::Motion motion;
  Vector lambda, inputs;
  double condition = 1.0;  ///< of the equations for velocities, relative: zero at a singular position
};

struct InverseMotion {
  std::vector<InversePoint> points;
  bool is_complete = false;
  std::string message;                ///< why not
  std::vector<std::string> warnings;  ///< singular positions on the way
};

/// Constraints Φ(q, t) = 0 and servo constraints y(q) = r(t) together must determine the motion. The first solution is
/// searched near the positions of `start`. Throws InvalidInput if a degree of freedom is left, which the message names,
/// or if states would have to be integrated.
InverseMotion invert(const system::System& system, const system::Start& start, const InverseOptions& options);

}  // namespace kreisel::analysis
