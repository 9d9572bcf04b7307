#include "kreisel/event.hpp"

#include <array>

namespace kreisel::system {

std::string_view name_of(const Action& action) {
  static constexpr std::array<std::string_view, 4> names{"record", "impact", "switch", "jump"};
  static_assert(std::variant_size_v<Action> == names.size());
  return names[action.index()];
}

}  // namespace kreisel::system
