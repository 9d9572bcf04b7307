#include "kreisel/error.hpp"
#include "multibody/joint.hpp"

namespace kreisel::multibody {

// One line per joint: a function of a file of this folder. Lists are explicit, see CONTRIBUTING.md.
// clang-format off
#define KREISEL_JOINTS(each) \
  each(spherical_joint) \
  each(revolute_joint) \
  each(prismatic_joint) \
  each(cylindrical_joint) \
  each(universal_joint) \
  each(planar_joint) \
  each(fixed_joint) \
  each(weld_joint) \
  each(screw_joint) \
  each(constant_velocity_joint) \
  each(distance_joint) \
  each(point_on_line_joint) \
  each(point_on_plane_joint) \
  each(gear_joint) \
  each(rack_and_pinion_joint) \
  each(wheel_joint) \
  each(cam_joint) \
  each(angle_driver) \
  each(position_driver) \
  each(distance_driver)
// clang-format on

#define KREISEL_DECLARE(name) JointInfo name();
KREISEL_JOINTS(KREISEL_DECLARE)

const std::vector<JointInfo>& joint_catalogue() {
#define KREISEL_CALL(name) name(),
  static const std::vector<JointInfo> list{KREISEL_JOINTS(KREISEL_CALL)};
  return list;
}

JointPtr make_joint(const JointInfo& info, const JointSpec& spec) {
  Joint joint = info.build(spec);
  joint.set_frames(spec.frames[0], spec.frames[1]).set_driver(info.is_driver);
  return std::make_shared<const Joint>(std::move(joint));
}

std::vector<std::string> joint_names(bool is_driver) {
  std::vector<std::string> names;
  for (const JointInfo& info : joint_catalogue())
    if (info.is_driver == is_driver) names.emplace_back(info.name);
  return names;
}

const JointInfo& find_joint(std::string_view name, bool is_driver) {
  for (const JointInfo& info : joint_catalogue())
    if (info.is_driver == is_driver && info.name == name) return info;
  throw InvalidInput(unknown_name(is_driver ? "driver" : "joint", name, joint_names(is_driver)));
}

}  // namespace kreisel::multibody
