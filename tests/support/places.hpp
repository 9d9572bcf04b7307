// Where the checkout and the program under test are. Their paths are compiled into one unit only, so that the compiler
// cache serves every other unit of the tests in a second checkout.
#pragma once

#include <string>

namespace kreisel::support {

/// The root of the sources, with `path` behind it: in_sources("models/cart.json").
std::string in_sources(const std::string& path);

/// The program build/bin/kreisel.
const std::string& program_path();

}  // namespace kreisel::support
