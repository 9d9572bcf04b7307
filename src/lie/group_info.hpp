// Properties of a group, for readers of q and v.
#pragma once

#include <string_view>

#include "kreisel/groups.hpp"

namespace kreisel::lie {

struct GroupInfo {
  /// Translations come first, in q and in v; all other entries of v are rotations. Negative: every entry is a translation.
  int translations;
  /// The name of translational velocities in columns: u in the inertial frame, U in the body frame; 0: named by number.
  char velocity;
  std::string_view summary;
  std::string_view velocity_meaning;
};

constexpr GroupInfo info_of(GroupId group) {
  switch (group) {
    case GroupId::rn:
      return {-1, 0, "vectors with addition", "q'"};
    case GroupId::so3:
      return {0, 0, "rotations; v: angular velocity in the body frame", "angular velocity in the body frame [rad/s]"};
    case GroupId::r3xso3:
      return {3, 'u', "positions and rotations as a direct product; v: inertial velocity, body angular velocity",
              "velocity of the centre of mass in the inertial frame [m/s], angular velocity in the body frame [rad/s]"};
    case GroupId::se3:
      return {3, 'U', "rigid motions; v: velocity and angular velocity in the body frame",
              "velocity of the centre of mass and angular velocity, both in the body frame [m/s, rad/s]"};
  }
  __builtin_unreachable();  // the switch is exhaustive, -Wswitch guards it
}

/// Translational entries of v, from v_at on, with their positions from q_at on.
constexpr int translations_of(const Block& block) {
  const int n = info_of(block.group).translations;
  return n < 0 ? block.nv : n;
}
/// Rotational entries of v, after the translations.
constexpr int rotations_of(const Block& block) { return block.nv - translations_of(block); }
/// A position and a rotation.
constexpr bool is_pose(const Block& block) { return translations_of(block) > 0 && rotations_of(block) > 0; }

}  // namespace kreisel::lie
