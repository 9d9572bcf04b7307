#include "multibody/force.hpp"

namespace kreisel::multibody {

/// Springs and dampers along and about the three axes of the first frame. Displacements are the components of P₂ - P₁,
/// rotations those of small_rotation (sinθ about one axis), so that the springs have a potential.
ForceInfo bushing() {
  const auto build = [](const ForceSpec& spec) -> ForcePtr {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    auto force = std::make_unique<MeasuredForce>("bushing", spec.name, spec.bodies);
    for (int i = 0; i < 3; ++i) {
      force->act({.measure = offset(0, a.p, a.E.col(i), 1, b.p),
                  .stiffness = spec.vector("stiffness")[i],
                  .damping = spec.vector("damping")[i]});
      force->act({.measure = small_rotation(0, a.E, 1, b.E, i),
                  .stiffness = spec.vector("rotational_stiffness")[i],
                  .damping = spec.vector("rotational_damping")[i]});
    }
    return force;
  };
  return {.name = "bushing",
          .summary = "springs and dampers along and about three axes; the axis, if given, is the third",
          .axes = 1,
          .axis_is_optional = true,
          .vectors = {{.name = "stiffness", .meaning = "along the axes", .unit = "N/m"},
                      {.name = "damping", .meaning = "along the axes", .unit = "N s/m"},
                      {.name = "rotational_stiffness", .meaning = "about the axes", .unit = "N m/rad"},
                      {.name = "rotational_damping", .meaning = "about the axes", .unit = "N m s/rad"}},
          .build = build};
}

}  // namespace kreisel::multibody
