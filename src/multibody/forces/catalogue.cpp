#include "kreisel/error.hpp"
#include "multibody/force.hpp"

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
  each(rotary_actuator) \
  each(gravity_field) \
  each(contact)
// clang-format on

#define KREISEL_DECLARE(name) ForceInfo name();
KREISEL_FORCES(KREISEL_DECLARE)

const std::vector<ForceInfo>& force_catalogue() {
#define KREISEL_CALL(name) name(),
  static const std::vector<ForceInfo> list{KREISEL_FORCES(KREISEL_CALL)};
  return list;
}

std::vector<std::string> force_names() { return names_in(force_catalogue()); }

const ForceInfo& find_force(std::string_view name) { return find_named(force_catalogue(), "force", name); }

}  // namespace kreisel::multibody
