// Methods that a program in Python registers.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace kreisel::python {

/// `factory` is called without arguments for every run and returns an object with `points` and `velocity(x, past, h)`, and optionally
/// `position(x, past, h)`.
void register_method(const std::string& name, int order, const std::vector<std::string>& formulations,
                     pybind11::object factory);

}  // namespace kreisel::python
