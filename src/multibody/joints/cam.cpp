#include <fmt/format.h>

#include "kreisel/error.hpp"
#include "multibody/closed_curve.hpp"
#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// φ(y) = radius, y the place of P₂ in x and y of the first frame, φ the distance from the curve. The nearest point of the curve is computed
/// each time; it is not an unknown.
JointInfo cam_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &cam = spec.frames[0], &follower = spec.frames[1];
    const auto curve = std::make_shared<const ClosedCurve>(spec.curve);
    const double radius = spec.numbers.number("radius");
    if (!(radius < curve->smallest_hollow()))
      throw InvalidInput(
          fmt::format("bends inwards with a radius of {:.6g} m, where a roller with \"radius\" {:.6g} m does not fit",
                      curve->smallest_hollow(), radius));
    Joint joint("cam", spec.name, spec.bodies);
    joint.demand(
        function_of(0, 1, offset(0, cam.p, cam.E.col(0), 1, follower.p), offset(0, cam.p, cam.E.col(1), 1, follower.p),
                    [curve](double x, double y) {
                      return curve->distance({x, y});
                    }),
        Signal(Expression(radius)));
    return joint;
  };
  return {
      .name = "cam",
      .summary =
          "a point, or a roller, of the second body stays on a closed curve of the first: the origin of the "
          "curve, the point; it may move along the axis, which is perpendicular to the curve",
      .rows = 1,
      .place = JointInfo::Place::two_points,
      .axes = 1,
      .build = build,
      .numbers = {{.name = "radius", .meaning = "of the roller, outside of the curve", .minimum = 0.0, .unit = "m"}},
      .has_curve = true,
      .points_may_meet = true};
}

}  // namespace kreisel::multibody
