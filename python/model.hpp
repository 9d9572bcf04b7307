// Models that Python brings: from JSON text or from callables.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "kreisel/models/catalogue.hpp"

namespace kreisel::python {

namespace py = pybind11;

using ModelPtr = std::shared_ptr<const models::ModelInfo>;

/// The text of a model file; `name` stands for the file in messages. `accepts_gaps`: initial values may miss the joints.
ModelPtr model_from_json(const std::string& name, const std::string& text, bool accepts_gaps);

struct FunctionModel {
  ModelPtr info;
  std::shared_ptr<const std::string> remark;  ///< which function first returned what is not finite; empty: none did
};

/// `functions`: callables by name (mass, force, constraint, ...); see `kreisel.System` in Python.
FunctionModel model_from_functions(const py::dict& functions);

}  // namespace kreisel::python
