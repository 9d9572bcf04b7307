// Angles of joints that nothing counts lie between -π and π: the turns between two points follow from the speed beside them.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "io/trajectory/trajectory.hpp"

namespace kreisel::io {

/// The column of the speed that belongs to an angle of a joint; -1 if `column` is none.
Eigen::Index speed_beside(const std::vector<TrajectoryColumn>& columns, Eigen::Index column);

/// The angle with its turns [rad]. Where the speed changes too much between two points, the turns stay as they are. Empty: nothing changes.
std::vector<double> with_turns(std::span<const double> time, std::span<const double> angle,
                               std::span<const double> speed);

}  // namespace kreisel::io
