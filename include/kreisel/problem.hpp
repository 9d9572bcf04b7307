// What is to be integrated: a system, where it starts, what may happen to it.
#pragma once

#include <memory>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::run {

struct Problem {
  std::shared_ptr<const system::System> system;
  system::Start start;                  ///< t0, t_end, q0, v0
  std::vector<system::Event> events{};  ///< beside those of the system
};

/// The motion at one time.
struct State {
  double t = 0.0;
  Vector q, v, a;                                ///< configuration, velocity, acceleration, as the system lays them out
  Vector lambda;                                 ///< multipliers, in the rows of results
  std::shared_ptr<const system::System> system;  ///< in force at this time

  system::Pose pose(int body) const { return system->body_pose(body, q); }
  double energy() const;
};

}  // namespace kreisel::run
