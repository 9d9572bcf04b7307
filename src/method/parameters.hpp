// The parameters of methods as named values: reading, checking, listing.
#pragma once

#include <vector>

#include "base/field.hpp"
#include "kreisel/methods.hpp"

namespace kreisel::method {

/// The fields of the struct of a method; defaults are those of the struct.
template <class Parameters>
std::vector<Field> fields_of();
template <class Parameters>
Parameters parameters_in(const ParameterValues& values);

}  // namespace kreisel::method
