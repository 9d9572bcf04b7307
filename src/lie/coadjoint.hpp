// The transposed of the bracket with one vector, for derivatives that are followed backwards.
#pragma once

#include "kreisel/groups.hpp"

namespace kreisel::lie {

/// out = hat(a)ᵀ z, hat(a) b = [a, b]; out is neither.
inline void coadjoint(const Space& space, ConstVectorRef a, ConstVectorRef z, VectorRef out) {
  for (const Block& block : space.blocks()) {
    const auto three = [&](const auto& v, int at) -> Vector3 { return v.template segment<3>(block.v_at + at); };
    auto to = out.segment(block.v_at, block.nv);
    switch (block.group) {
      case GroupId::rn:
        to.setZero();
        break;
      case GroupId::so3:
        to = three(z, 0).cross(three(a, 0));
        break;
      case GroupId::r3xso3:
        to.head<3>().setZero();
        to.tail<3>() = three(z, 3).cross(three(a, 3));
        break;
      case GroupId::se3:
        to.head<3>() = three(z, 0).cross(three(a, 3));
        to.tail<3>() = three(z, 0).cross(three(a, 0)) + three(z, 3).cross(three(a, 3));
        break;
    }
  }
}

}  // namespace kreisel::lie
