// The arguments of Python as the specification of a run.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "io/spec/run_spec.hpp"

namespace kreisel::python {

io::RunSpec spec_of(const pybind11::object& model, const std::string& group, const pybind11::dict& parameters,
                    const pybind11::dict& options, std::optional<double> t0 = {});

/// Adds static, modes and the other analyses to the module.
void add_analyses(pybind11::module_& m);

}  // namespace kreisel::python
