// The name of a field in the present front end.
#pragma once

#include <string>
#include <string_view>

namespace kreisel {

/// The front end's name of a field, whose name in C++ is `field`: t_end may be --t-end or "t_end" there.
using Spelling = std::string (*)(std::string_view field);

/// For all messages of the process from now on. A front end calls it once, before anything else; without it fields have
/// their names in C++.
void set_spelling(Spelling spelling);

/// For messages such as "give {}" with spelled("step").
std::string spelled(std::string_view field);

}  // namespace kreisel
