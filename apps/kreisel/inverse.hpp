// kreisel inverse, beside the subcommands of command.hpp.
#pragma once

#include "command.hpp"

namespace kreisel::apps {

std::unique_ptr<Command> make_inverse(CLI::App& program);

}  // namespace kreisel::apps
