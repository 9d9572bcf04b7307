#include "model.hpp"

#include <fmt/format.h>
#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "kreisel/base/error.hpp"
#include "kreisel/io/model_file.hpp"
#include "kreisel/system/adapter.hpp"

namespace kreisel::python {
namespace {

/// A callable that must not be touched without the interpreter lock, not even to be forgotten.
class Callable {
 public:
  Callable(std::string name, py::object function)
      : name_(std::move(name)), function_(new py::object(std::move(function)), [](py::object* f) {
          const py::gil_scoped_acquire lock;
          delete f;
        }) {}

  const std::string& name() const { return name_; }
  template <class... Arguments>
  py::object operator()(const Arguments&... arguments) const {
    return (*function_)(arguments...);
  }

 private:
  std::string name_;
  std::shared_ptr<py::object> function_;
};

std::string shape_text(const std::vector<py::ssize_t>& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

/// The returned value as numbers of the expected shape; scalars count as shape (1,).
py::array_t<double> numbers(const Callable& function, const py::object& value, std::vector<py::ssize_t> shape) {
  auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(value);
  if (!array) {
    PyErr_Clear();
    throw InvalidInput(fmt::format("{} returned {}, expected an array of numbers of shape {}", function.name(),
                                   std::string(py::repr(value)).substr(0, 80), shape_text(shape)));
  }
  std::vector<py::ssize_t> found(array.shape(), array.shape() + array.ndim());
  if (found.empty()) found = {1};
  if (found != shape)
    throw InvalidInput(fmt::format("{} returned an array of shape {}, expected {}", function.name(), shape_text(found), shape_text(shape)));
  return array;
}

Vector vector_of(const Callable& function, const py::object& value, Eigen::Index size) {
  const py::array_t<double> array = numbers(function, value, {size});
  return Eigen::Map<const Vector>(array.data(), size);
}

Matrix matrix_of(const Callable& function, const py::object& value, Eigen::Index rows, Eigen::Index columns) {
  const py::array_t<double> array = numbers(function, value, {rows, columns});
  return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(array.data(), rows, columns);
}

/// What remains of `functions` after everything known was taken is a mistake.
class Parts {
 public:
  explicit Parts(const py::dict& given) : left_(given.attr("copy")()) {}

  py::object take(const char* key) { return left_.attr("pop")(key, py::none()); }
  std::optional<Callable> callable(const char* key) {
    py::object function = take(key);
    if (function.is_none()) return {};
    if (PyCallable_Check(function.ptr()) == 0)
      throw InvalidInput(fmt::format("'{}' is {}, expected a function", key, std::string(py::repr(function)).substr(0, 80)));
    return Callable(key, std::move(function));
  }
  void finish() const {
    for (const auto& item : left_) throw InvalidInput(fmt::format("a system has no '{}'", std::string(py::str(item.first))));
  }

 private:
  py::dict left_;
};

std::vector<lie::Factor> space_of(const py::object& given) {
  if (given.is_none()) throw InvalidInput("'space' is missing: a list of factors such as [\"so3\", (\"rn\", 2)]");
  std::vector<lie::Factor> factors;
  for (const auto& item : given) {
    const bool is_pair = py::isinstance<py::tuple>(item) || py::isinstance<py::list>(item);
    const auto name = (is_pair ? item[py::int_(0)].cast<std::string>() : item.cast<std::string>());
    const lie::GroupId group = lie::group_named(name);
    if (group == lie::GroupId::rn && !is_pair) throw InvalidInput("'space': \"rn\" needs its dimension, as in (\"rn\", 2)");
    factors.push_back({group, group == lie::GroupId::rn ? item[py::int_(1)].cast<int>() : 0});
  }
  return factors;
}

}  // namespace

ModelPtr model_from_json(const std::string& name, const std::string& text) {
  const io::JsonSource source(name, text);
  const models::Model model = io::read_model(source).model;
  models::ModelInfo info;
  info.name = model.name;
  info.summary = name;
  info.groups = {model.group, model.group == "se3" ? "r3xso3" : "se3"};
  info.make = [source](std::string_view group, const ParameterValues&) {
    return io::read_model(source, {.group = std::string(group)}).model;
  };
  return std::make_shared<const models::ModelInfo>(std::move(info));
}

ModelPtr model_from_functions(const py::dict& functions) {
  Parts parts(functions);
  system::SystemFunctions f;
  const py::object name = parts.take("name");
  if (!name.is_none()) f.name = name.cast<std::string>();
  f.space = space_of(parts.take("space"));
  const lie::Space space(f.space);
  const Eigen::Index nv = space.nv();
  const py::object constraints = parts.take("constraints"), velocity_constraints = parts.take("velocity_constraints");
  f.position_rows = constraints.is_none() ? 0 : constraints.cast<int>();
  f.velocity_rows = velocity_constraints.is_none() ? 0 : velocity_constraints.cast<int>();
  const Eigen::Index rows = f.position_rows, velocity_rows = f.velocity_rows;

  if (auto c = parts.callable("mass"))
    f.mass = [c = *c, nv](const Vector& q) {
      const py::gil_scoped_acquire lock;
      return matrix_of(c, c(q), nv, nv);
    };
  if (auto c = parts.callable("force"))
    f.force = [c = *c, nv](double t, const Vector& q, const Vector& v) {
      const py::gil_scoped_acquire lock;
      return vector_of(c, c(t, q, v), nv);
    };
  if (auto c = parts.callable("constraint"))
    f.constraint = [c = *c, rows](double t, const Vector& q) {
      const py::gil_scoped_acquire lock;
      return vector_of(c, c(t, q), rows);
    };
  if (auto c = parts.callable("velocity_constraint"))
    f.velocity_constraint = [c = *c, velocity_rows](double t, const Vector& q, const Vector& v) {
      const py::gil_scoped_acquire lock;
      return vector_of(c, c(t, q, v), velocity_rows);
    };
  if (auto c = parts.callable("multiplier_force"))
    f.multiplier_force = [c = *c, nv](double t, const Vector& q, const Vector& v, const Vector& lambda) {
      const py::gil_scoped_acquire lock;
      return vector_of(c, c(t, q, v, lambda), nv);
    };
  if (auto c = parts.callable("jacobian"))
    f.jacobian = [c = *c, rows, nv](double t, const Vector& q) {
      const py::gil_scoped_acquire lock;
      return matrix_of(c, c(t, q), rows, nv);
    };
  if (auto c = parts.callable("constraint_rate"))
    f.constraint_rate = [c = *c, rows](double t, const Vector& q) {
      const py::gil_scoped_acquire lock;
      return vector_of(c, c(t, q), rows);
    };
  if (auto c = parts.callable("curvature"))
    f.curvature = [c = *c, rows](double t, const Vector& q, const Vector& v) {
      const py::gil_scoped_acquire lock;
      return vector_of(c, c(t, q, v), rows);
    };
  if (auto c = parts.callable("energy"))
    f.energy = [c = *c](double t, const Vector& q, const Vector& v) {
      const py::gil_scoped_acquire lock;
      return vector_of(c, c(t, q, v), 1)[0];
    };

  system::Start start;
  const py::object t0 = parts.take("t0"), t_end = parts.take("t_end");
  if (!t0.is_none()) start.t0 = t0.cast<double>();
  start.t_end = t_end.is_none() ? start.t0 + 1.0 : t_end.cast<double>();
  const Callable q0("q0", py::none()), v0("v0", py::none());
  start.q0 = vector_of(q0, parts.take("q0"), space.nq());
  const py::object velocity = parts.take("v0");
  start.v0 = velocity.is_none() ? Vector(Vector::Zero(nv)) : vector_of(v0, velocity, nv);
  parts.finish();

  const auto system = std::make_shared<const system::FunctionSystem>(std::move(f));
  models::ModelInfo info;
  info.name = name.is_none() ? "system" : name.cast<std::string>();
  info.summary = "user system";
  info.groups = {"own"};
  info.make = [system, start, own = info.name](std::string_view, const ParameterValues&) {
    return models::Model{own, "own", system, start};
  };
  return std::make_shared<const models::ModelInfo>(std::move(info));
}

}  // namespace kreisel::python
