// Motions for audits: random, fixed seed, of moderate and of large speed.
#pragma once

#include "kreisel/system.hpp"
#include "lie/samples.hpp"

namespace kreisel::samples {

inline Vector random_vector(Source& source, int n, double size = 1.0) {
  Vector x(n);
  for (double& e : x) e = size * source.number();
  return x;
}

/// q two random moves away from the identity; v and a as large as `speed` and its square.
inline system::Motion random_motion(Source& source, const lie::Space& space, double speed = 1.0) {
  system::Motion m(space);
  m.t = source.number();
  for (int i = 0; i < 2; ++i) space.move(m.q, random_vector(source, space.nv()), m.q);
  m.v = random_vector(source, space.nv(), speed);
  m.a = random_vector(source, space.nv(), speed * speed);
  return m;
}

}  // namespace kreisel::samples
