#include "base/spelling.hpp"

#include <atomic>

namespace kreisel {
namespace {

std::string as_in_code(std::string_view field) { return std::string(field); }

std::atomic<Spelling> in_force{as_in_code};

}  // namespace

void set_spelling(Spelling spelling) { in_force = spelling; }

std::string spelled(std::string_view field) { return in_force.load()(field); }

}  // namespace kreisel
