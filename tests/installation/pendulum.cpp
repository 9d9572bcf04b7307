#include <cmath>
#include <iostream>
#include <kreisel/kreisel.hpp>

using namespace kreisel;

int main() {
  Mechanism pendulum;
  const Body rod = pendulum.add_body(
      {.name = "rod", .mass = 1.0, .inertia = diagonal(0.0833, 0.0833, 1e-4), .position = {0.5, 0, 0}});
  pendulum.add_joint(spherical({ground, rod}, /*at*/ {0, 0, 0}));
  const Solution motion = solve(pendulum.problem({.t_end = 2.0}), {.rtol = 1e-8, .atol = 1e-8});
  std::cout << motion.at(1.5).pose(rod).x.transpose() << "\n" << motion.report();
  return motion.is_success() && std::abs(motion.at(1.5).pose(rod).x.norm() - 0.5) < 1e-7 ? 0 : 1;
}
