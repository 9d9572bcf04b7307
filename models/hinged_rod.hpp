// A rod on a hinge, which several models begin with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/catalogue.hpp"
#include "multibody/assembly.hpp"

namespace kreisel::models {

/// The hinge is the origin, its axis y; the rod lies along body x and starts with `rotation`.
multibody::Mechanism hinged_rod(std::string name, std::string_view group, const ParameterValues& p,
                                const Matrix3& rotation);
/// The parameters of the model, followed by those that hinged_rod reads.
std::vector<ParameterInfo> with_rod(std::vector<ParameterInfo> parameters);

}  // namespace kreisel::models
