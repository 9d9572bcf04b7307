#include "kreisel/base/error.hpp"
#include "kreisel/multibody/force.hpp"

namespace kreisel::multibody {

const std::vector<ForceInfo>& force_catalogue() {
  static const std::vector<ForceInfo> list{
      applied_force(),  spring_damper(),   torsional_spring_damper(), bushing(),
      joint_friction(), linear_actuator(), rotary_actuator(),
  };
  return list;
}

std::vector<std::string> force_names() {
  std::vector<std::string> names;
  for (const ForceInfo& info : force_catalogue()) names.emplace_back(info.name);
  return names;
}

const ForceInfo& find_force(std::string_view name) {
  for (const ForceInfo& info : force_catalogue())
    if (info.name == name) return info;
  throw InvalidInput(unknown_name("force", name, force_names()));
}

}  // namespace kreisel::multibody
