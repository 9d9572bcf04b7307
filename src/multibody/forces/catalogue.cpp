#include "kreisel/base/find.hpp"
#include "kreisel/multibody/force.hpp"

namespace kreisel::multibody {

const std::vector<ForceInfo>& force_catalogue() {
  static const std::vector<ForceInfo> list{
      applied_force(),  spring_damper(),   torsional_spring_damper(), bushing(),
      joint_friction(), linear_actuator(), rotary_actuator(),
  };
  return list;
}

std::vector<std::string> force_names() { return names_in(force_catalogue()); }

const ForceInfo& find_force(std::string_view name) { return find_named(force_catalogue(), "force", name); }

}  // namespace kreisel::multibody
