// The list of groups, and the one switch that turns a GroupId into a type.
#pragma once

#include <utility>

#include "kreisel/groups.hpp"
#include "lie/r3_so3.hpp"
#include "lie/rn.hpp"
#include "lie/se3.hpp"
#include "lie/so3.hpp"

namespace kreisel::lie {

inline constexpr GroupId all_groups[] = {GroupId::rn, GroupId::so3, GroupId::r3xso3, GroupId::se3};

/// Calls on_rn() for ℝⁿ, whose dimension is data, and on_group(G{}) for a group whose dimension is its type.
template <class OnRn, class OnGroup>
decltype(auto) with_group(GroupId id, OnRn&& on_rn, OnGroup&& on_group) {
  switch (id) {
    case GroupId::rn:
      return std::forward<OnRn>(on_rn)();
    case GroupId::so3:
      return std::forward<OnGroup>(on_group)(SO3{});
    case GroupId::r3xso3:
      return std::forward<OnGroup>(on_group)(R3xSO3{});
    case GroupId::se3:
      return std::forward<OnGroup>(on_group)(SE3{});
  }
  __builtin_unreachable();  // the switch is exhaustive, -Wswitch guards it
}

}  // namespace kreisel::lie
