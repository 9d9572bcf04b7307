// Models from Python: from JSON text or from callables.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

#include "models/catalogue.hpp"

namespace kreisel::python {

namespace py = pybind11;

using ModelPtr = std::shared_ptr<const models::ModelInfo>;

/// The text of a model file; `name` replaces the file name in messages. `accepts_gaps`: initial values may miss the joints.
/// `functions`: functions that formulas of the text may call, by name: tuples (function of t and a dict, names in it, function of the same that
/// returns the derivatives by them or None).
ModelPtr model_from_json(const std::string& name, const std::string& text, bool accepts_gaps,
                         const py::dict& functions);

/// `functions`: callables by name (mass, force, constraint, ...); see `kreisel.System` in Python. `t0`, `t_end`: of the run,
/// instead of those of the system.
ModelPtr model_from_functions(const py::dict& functions, std::optional<double> t0, std::optional<double> t_end);

}  // namespace kreisel::python
