#include "kreisel/base/error.hpp"
#include "kreisel/multibody/joint.hpp"

namespace kreisel::multibody {

const std::vector<JointInfo>& joint_catalogue() {
  static const std::vector<JointInfo> list{
      spherical_joint(), revolute_joint(), prismatic_joint(), cylindrical_joint(),   universal_joint(),
      planar_joint(),    fixed_joint(),    distance_joint(),  point_on_line_joint(), point_on_plane_joint(),
      gear_joint(),      angle_driver(),   position_driver(), distance_driver(),
  };
  return list;
}

Joint make_joint(const JointInfo& info, const JointSpec& spec) {
  Joint joint = info.build(spec);
  joint.set_frames(spec.frames[0], spec.frames[1]).set_driver(info.is_driver);
  return joint;
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
