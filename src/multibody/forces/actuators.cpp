#include "multibody/force.hpp"

namespace kreisel::multibody {
namespace {

Signal signal_or_zero(const ForceSpec& spec, std::string_view key) {
  const auto found = spec.signals.find(key);
  return found == spec.signals.end() ? Signal() : found->second;
}

/// `per`: the unit of the coordinate.
std::vector<Field> servo_numbers(const std::string& effort, const std::string& per) {
  return {{.name = "stiffness",
           .meaning = "gain on the deviation from the target",
           .minimum = 0.0,
           .unit = effort + "/" + per},
          {.name = "damping", .meaning = "gain on its rate", .minimum = 0.0, .unit = effort + " s/" + per}};
}
std::vector<Field> servo_signals(const std::string& effort, const std::string& per) {
  return {{.name = "value", .meaning = "effort, a function of t", .unit = effort},
          {.name = "target", .meaning = "of the coordinate: a formula of t, inputs, outputs and states", .unit = per}};
}

}  // namespace

/// Pushes two points apart with value(t), and towards the distance target(t) with the gains.
ForceInfo linear_actuator() {
  const auto build = [](const ForceSpec& spec) -> ForcePtr {
    auto force = std::make_unique<MeasuredForce>("linear-actuator", spec.name, spec.bodies);
    force->act({.measure = distance(0, spec.frames[0].p, 1, spec.frames[1].p),
                .stiffness = spec.number("stiffness"),
                .damping = spec.number("damping"),
                .target = signal_or_zero(spec, "target"),
                .effort = signal_or_zero(spec, "value"),
                .is_actuator = true});
    return force;
  };
  return {.name = "linear-actuator",
          .summary = "pushes two points apart by value(t), or holds them at the distance target(t)",
          .place = JointInfo::Place::two_points,
          .place_is_optional = true,
          .numbers = servo_numbers("N", "m"),
          .signals = servo_signals("N", "m"),
          .law = {.field = {.name = "value",
                            .meaning = "effort: a formula of t, x, the distance, v, its rate, and outputs",
                            .unit = "N"},
                  .pushes = true,
                  .measure = [](const ForceSpec& spec) { return distance(0, spec.frames[0].p, 1, spec.frames[1].p); }},
          .build = build};
}

/// Turns the second body about the axis against the first with value(t), and towards the angle target(t) with the gains.
/// The angle counts its turns from the drawn position on.
ForceInfo rotary_actuator() {
  const auto build = [](const ForceSpec& spec) -> ForcePtr {
    auto force = std::make_unique<MeasuredForce>("rotary-actuator", spec.name, spec.bodies);
    force->act({.measure = angle(0, spec.frames[0].E, 1, spec.frames[1].E),
                .stiffness = spec.number("stiffness"),
                .damping = spec.number("damping"),
                .target = signal_or_zero(spec, "target"),
                .effort = signal_or_zero(spec, "value"),
                .is_actuator = true,
                .counts_turns = true,
                .turned = spec.turned});
    return force;
  };
  return {.name = "rotary-actuator",
          .summary = "turns the second body with the torque value(t), or towards the angle target(t)",
          .place = JointInfo::Place::none,
          .axes = 1,
          .numbers = servo_numbers("N m", "rad"),
          .signals = servo_signals("N m", "rad"),
          .law = {.field = {.name = "value",
                            .meaning = "effort: a formula of t, x, the angle, v, its rate, and outputs",
                            .unit = "N m"},
                  .pushes = true,
                  .counts_turns = true,
                  .measure = [](const ForceSpec& spec) { return angle(0, spec.frames[0].E, 1, spec.frames[1].E); }},
          .build = build};
}

}  // namespace kreisel::multibody
