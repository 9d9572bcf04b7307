// The state of a mechanical system at one time, and an accepted point of a run.
#pragma once

#include <optional>

#include "kreisel/groups.hpp"
#include "kreisel/types.hpp"

namespace kreisel::lie {

/// (t, q, v, v̇). q is flat over the blocks of a Space.
struct Motion {
  double t = 0.0;
  Vector q, v, a;

  Motion() = default;
  explicit Motion(const Space& space)
      : q(Vector::Zero(space.nq())), v(Vector::Zero(space.nv())), a(Vector::Zero(space.nv())) {
    space.set_identity(q);
  }
};

}  // namespace kreisel::lie

namespace kreisel::method {

/// One accepted point and the step that led to it.
struct Entry {
  lie::Motion motion;
  Vector lambda, eta;
  Vector omega;   ///< increment of the step that ended here: q = q_before∘exp(omega)
  Vector memory;  ///< private to the method (commutator part, algorithmic acceleration)
  double h = 0.0;
  int order = 0;
  std::optional<EnergyFlow> work;  ///< done since the point before [J], where a method integrates it itself
};

}  // namespace kreisel::method
