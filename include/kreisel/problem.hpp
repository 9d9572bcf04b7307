// The problem to be integrated: a system, its start and its events.
#pragma once

#include <memory>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::run {

struct Problem {
  std::shared_ptr<const system::System> system;
  system::Start start;                  ///< t0, t_end, q0, v0
  std::vector<system::Event> events{};  ///< beside those of the system
  bool has_end = true;  ///< false: t_end is a default, which a Simulation passes; see Simulation::advance_to
};

/// The motion at one time.
struct State {
  double t = 0.0;
  Vector q, v, a;                                ///< configuration, velocity, acceleration, in the layout of the system
  Vector lambda;                                 ///< multipliers, in the rows of results
  std::shared_ptr<const system::System> system;  ///< active at this time

  system::Pose pose(int body) const { return system->body_pose(body, q); }
  double energy() const;
};

}  // namespace kreisel::run
