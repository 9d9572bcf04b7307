#include "own_method.hpp"

#include <fmt/format.h>
#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>

#include "kreisel/error.hpp"
#include "kreisel/own_method.hpp"

namespace kreisel::python {
namespace {

namespace py = pybind11;

/// An object that must not be used or destroyed without the interpreter lock.
std::shared_ptr<py::object> guarded(py::object object) {
  return {new py::object(std::move(object)), [](py::object* o) {
            if (Py_IsInitialized() == 0) return;  // the interpreter has shut down; its objects are gone
            const py::gil_scoped_acquire lock;
            delete o;
          }};
}

class PythonMethod final : public method::OwnMethod {
 public:
  PythonMethod(std::string name, std::shared_ptr<py::object> object, int points)
      : name_(std::move(name)), object_(std::move(object)), points_(points) {
    const py::gil_scoped_acquire lock;
    has_position_ = py::hasattr(*object_, "position");
  }

  int points_needed() const override { return points_; }
  void begin_step() override {
    const py::gil_scoped_acquire lock;
    py::list past;
    const py::object point = py::module_::import("types").attr("SimpleNamespace");
    for (int age = 0; age < points_; ++age) {
      const method::Entry& e = this->past(age);
      past.append(point(py::arg("t") = e.motion.t, py::arg("q") = Vector(e.motion.q), py::arg("v") = Vector(e.motion.v),
                        py::arg("a") = Vector(e.motion.a), py::arg("omega") = Vector(e.omega),
                        py::arg("lam") = Vector(e.lambda)));
    }
    past_ = guarded(std::move(past));
  }
  void position(const Vector& x, Vector& q) override {
    if (!has_position_) return OwnMethod::position(x, q);
    const py::gil_scoped_acquire lock;
    q = numbers("position", object_->attr("position")(x, *past_, h()), space().nq());
  }
  void velocity(const Vector& x, Vector& v, Vector& a) override {
    const py::gil_scoped_acquire lock;
    const py::object result = object_->attr("velocity")(x, *past_, h());
    if (!py::isinstance<py::tuple>(result) || py::len(result) != 2)
      throw InvalidInput(fmt::format("method '{}': velocity returned {}, expected a pair (v, a)", name_,
                                     std::string(py::repr(result)).substr(0, 80)));
    const auto pair = result.cast<py::tuple>();
    v = numbers("velocity", pair[0], space().nv());
    a = numbers("velocity", pair[1], space().nv());
  }

 private:
  Vector numbers(const char* function, const py::object& value, Eigen::Index size) const {
    const auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(value);
    if (!array || array.ndim() != 1 || array.shape(0) != size) {
      PyErr_Clear();
      throw InvalidInput(fmt::format("method '{}': {} returned {}, expected {} numbers", name_, function,
                                     std::string(py::repr(value)).substr(0, 80), size));
    }
    return Eigen::Map<const Vector>(array.data(), size);
  }

  std::string name_;
  std::shared_ptr<py::object> object_, past_;
  int points_;
  bool has_position_ = false;
};

}  // namespace

void register_method(const std::string& name, int order, const std::vector<std::string>& formulations,
                     py::object factory) {
  const std::shared_ptr<py::object> kept = guarded(std::move(factory));
  method::OwnMethodInfo info;
  info.name = name;
  info.summary = "method of a program in Python";
  info.order = order;
  if (!formulations.empty()) info.formulations = formulations;
  info.make = [name, kept]() -> std::unique_ptr<method::OwnMethod> {
    const py::gil_scoped_acquire lock;
    py::object object = (*kept)();
    if (!py::hasattr(object, "velocity"))
      throw InvalidInput(fmt::format("method '{}' has no function velocity(x, past, h)", name));
    int points = 1;
    try {
      points = py::getattr(object, "points", py::int_(1)).cast<int>();
    } catch (const py::cast_error&) {
      throw InvalidInput(fmt::format("method '{}': points is not an integer", name));
    }
    return std::make_unique<PythonMethod>(name, guarded(std::move(object)), points);
  };
  method::register_method(info);
}

}  // namespace kreisel::python
