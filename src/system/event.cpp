#include "kreisel/event.hpp"

#include <array>

namespace kreisel::system {

std::string_view name_of(const Action& action) {
  static constexpr std::array<std::string_view, 4> names{"record", "impact", "switch", "jump"};
  static_assert(std::variant_size_v<Action> == names.size());
  if (const auto* jump = std::get_if<Jump>(&action)) return jump->called;
  return names[action.index()];
}

}  // namespace kreisel::system
