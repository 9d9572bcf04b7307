#include "kreisel/base/error.hpp"
#include "kreisel/multibody/force.hpp"

namespace kreisel::multibody {

// One line per force: a function of a file of this folder. Lists are explicit, see CONTRIBUTING.md.
// clang-format off
#define KREISEL_FORCES(each) \
  each(applied_force) \
  each(spring_damper) \
  each(torsional_spring_damper) \
  each(bushing) \
  each(joint_friction) \
  each(linear_actuator) \
  each(rotary_actuator)
// clang-format on

#define KREISEL_DECLARE(name) ForceInfo name();
KREISEL_FORCES(KREISEL_DECLARE)

const std::vector<ForceInfo>& force_catalogue() {
#define KREISEL_CALL(name) name(),
  static const std::vector<ForceInfo> list{KREISEL_FORCES(KREISEL_CALL)};
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
