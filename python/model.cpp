#include "model.hpp"

#include <fmt/format.h>
#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "system/differences.hpp"

namespace kreisel::python {
namespace {

std::string short_repr(const py::handle& value) { return std::string(py::repr(value)).substr(0, 80); }

/// A callable that must not be used or destroyed without the interpreter lock.
class Callable {
 public:
  Callable(std::string name, py::object function)
      : name_(std::move(name)), function_(new py::object(std::move(function)), [](py::object* f) {
          const py::gil_scoped_acquire lock;
          delete f;
        }) {}

  const std::string& name() const { return name_; }
  template <class... Arguments>
  py::object plain(const Arguments&... arguments) const {
    return (*function_)(arguments...);
  }
  template <class... Arguments>
  py::object operator()(const Arguments&... arguments) const {
    try {
      return plain(arguments...);
    } catch (py::error_already_set& error) {
      if (py::hasattr(error.value(), "add_note"))
        error.value().attr("add_note")(fmt::format("kreisel called it as '{}' of a System", name_));
      throw;
    }
  }

 private:
  std::string name_;
  std::shared_ptr<py::object> function_;
};

std::string shape_text(const std::vector<py::ssize_t>& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

/// A value as numbers of the expected shape; scalars count as shape (1,). `who` begins the message: "mass returned".
py::array_t<double> numbers(const std::string& who, const py::object& value, std::vector<py::ssize_t> shape) {
  // None would become NaN.
  auto array =
      value.is_none()
          ? py::reinterpret_borrow<py::array_t<double, py::array::c_style | py::array::forcecast>>(py::handle())
          : py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(value);
  if (!array) {
    PyErr_Clear();
    throw InvalidInput(
        fmt::format("{} {}, expected an array of numbers of shape {}", who, short_repr(value), shape_text(shape)));
  }
  std::vector<py::ssize_t> found(array.shape(), array.shape() + array.ndim());
  if (found.empty()) found = {1};
  if (found != shape)
    throw InvalidInput(fmt::format("{} an array of shape {}, expected {}", who, shape_text(found), shape_text(shape)));
  return array;
}

Vector vector_of(const Callable& function, const py::object& value, Eigen::Index size) {
  const py::array_t<double> array = numbers(function.name() + " returned", value, {size});
  return Eigen::Map<const Vector>(array.data(), size);
}

Matrix matrix_of(const Callable& function, const py::object& value, Eigen::Index rows, Eigen::Index columns) {
  const py::array_t<double> array = numbers(function.name() + " returned", value, {rows, columns});
  return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(array.data(), rows,
                                                                                                  columns);
}

/// Takes the known entries of `functions`; any entry left over is an error.
class Parts {
 public:
  explicit Parts(const py::dict& given) : left_(given.attr("copy")()) {}

  py::object take(const char* key) { return left_.attr("pop")(key, py::none()); }
  std::optional<Callable> callable(const char* key) {
    py::object function = take(key);
    if (function.is_none()) return {};
    if (PyCallable_Check(function.ptr()) == 0)
      throw InvalidInput(fmt::format("'{}' is {}, expected a function", key, short_repr(function)));
    return Callable(key, std::move(function));
  }
  Callable wrapped(const char* key, py::object function) const { return Callable(key, std::move(function)); }
  /// A number of rows; `function` must be given exactly when it is not zero.
  int rows(const char* key, const char* function) {
    const py::object number = take(key);
    int rows = 0;
    try {
      if (!number.is_none()) rows = number.cast<int>();
    } catch (const py::cast_error&) {
      rows = -1;
    }
    if (rows < 0)
      throw InvalidInput(fmt::format("'{}' is {}, expected the number of values that '{}' returns", key,
                                     short_repr(number), function));
    const bool is_given = left_.contains(function) && !left_[function].is_none();
    if (rows == 0 && is_given)
      throw InvalidInput(fmt::format("'{}' is given without '{}', the number of values it returns", function, key));
    if (rows > 0 && !is_given)
      throw InvalidInput(fmt::format("'{}' is {}, but '{}' is not given", key, rows, function));
    return rows;
  }
  double number(const char* key, double otherwise) {
    const py::object value = take(key);
    try {
      return value.is_none() ? otherwise : value.cast<double>();
    } catch (const py::cast_error&) {
      throw InvalidInput(fmt::format("'{}' is {}, expected a number", key, short_repr(value)));
    }
  }
  void finish() const {
    for (const auto& item : left_)
      throw InvalidInput(fmt::format("a system has no '{}'", std::string(py::str(item.first))));
  }

 private:
  py::dict left_;
};

std::vector<lie::Factor> space_of(const py::object& given) {
  const auto complain = [&](const py::handle& what) {
    throw InvalidInput(
        fmt::format("'space' has {}, expected a list of factors such as [\"so3\", (\"rn\", 2)]", short_repr(what)));
  };
  if (given.is_none()) throw InvalidInput("'space' is missing: a list of factors such as [\"so3\", (\"rn\", 2)]");
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given)) complain(given);
  std::vector<lie::Factor> factors;
  for (const auto& item : given) {
    const bool is_pair = (py::isinstance<py::tuple>(item) || py::isinstance<py::list>(item)) && py::len(item) == 2;
    const py::object name = is_pair ? item[py::int_(0)].cast<py::object>() : py::reinterpret_borrow<py::object>(item);
    if (!py::isinstance<py::str>(name)) complain(item);
    const lie::GroupId group = lie::group_named(name.cast<std::string>());
    if (group == lie::GroupId::rn && !is_pair)
      throw InvalidInput("'space': \"rn\" needs its dimension, as in (\"rn\", 2)");
    int dimension = 0;
    try {
      if (group == lie::GroupId::rn) dimension = item[py::int_(1)].cast<int>();
    } catch (const py::cast_error&) {
      complain(item);
    }
    factors.push_back({group, dimension});
  }
  return factors;
}

/// Times at which the functions jump: a list, or a function that returns the next one after t, or None.
void take_corners(Parts& parts, system::SystemFunctions& f) {
  const py::object given = parts.take("corners");
  if (given.is_none()) return;
  if (PyCallable_Check(given.ptr()) != 0) {
    f.next_corner = [c = parts.wrapped("corners", given)](double t) -> system::Corner {
      const py::gil_scoped_acquire lock;
      const py::object next = c(t);
      if (next.is_none()) return {};
      const py::array_t<double> array = numbers("corners returned", next, {1});
      return {array.data()[0], -1};
    };
    return;
  }
  const auto array = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(given);
  if (!array || array.ndim() != 1) {
    PyErr_Clear();
    throw InvalidInput(
        fmt::format("'corners' is {}, expected a list of times, or a function of t that returns the next one or None",
                    short_repr(given)));
  }
  for (py::ssize_t i = 0; i < array.size(); ++i) f.corners.push_back({array.data()[i], -1});
}

/// A law of the user: a function of t and of a dict with the values it uses.
class PythonFunction final : public formula::Function {
 public:
  /// `place`: what its value is, such as "value of force 'motor'".
  PythonFunction(py::object function, std::vector<std::string> uses, py::object derivative, std::string place)
      : label_(label_of(function)),
        place_(std::move(place)),
        uses_(std::move(uses)),
        function_(label_, std::move(function)) {
    if (!derivative.is_none()) derivative_.emplace("derivative of " + label_, std::move(derivative));
  }

  double at(std::span<const double> arguments, int by) const override {
    const py::gil_scoped_acquire lock;
    if (by == value) return call(function_, arguments).number();
    if (by > 0 && derivative_) return given_derivative(arguments, by - 1);
    // By differences whose steps depend on the arguments only, so a run resumed from a checkpoint takes the same steps.
    std::vector<double> moved(arguments.begin(), arguments.end());
    const double at = arguments[static_cast<std::size_t>(by)], length = std::max(std::abs(at), 1.0);
    const system::Steps steps =
        system::largest_steps({by == 0 ? system::time_range(1.0, at) : system::range_of(length, at)});
    const system::Columns along = [&](int, double s) {
      moved[static_cast<std::size_t>(by)] = at + s;
      return Vector(Vector::Constant(1, call(function_, moved).number()));
    };
    return system::differentiate(along, steps, accuracy).value(0, 0);
  }

 private:
  static constexpr double accuracy = 1e-6;  ///< of the matrix of Newton's method

  static std::string label_of(const py::object& function) {
    return py::hasattr(function, "__name__") ? std::string(py::str(function.attr("__name__"))) : "function";
  }
  /// A result with the time it belongs to.
  struct Returned {
    py::object object;
    const std::string &label, &place;
    double t;

    double number() const {
      const double found = PyFloat_AsDouble(object.ptr());
      if (found != -1.0 || PyErr_Occurred() == nullptr) return found;
      PyErr_Clear();
      throw InvalidInput(fmt::format("law '{}', {}, returned {} at t = {:.10g}, expected a number", label, place,
                                     short_repr(object), t));
    }
  };
  Returned call(const Callable& callable, std::span<const double> arguments) const {
    py::dict y;
    for (std::size_t i = 0; i < uses_.size(); ++i) y[py::str(uses_[i])] = arguments[i + 1];
    try {
      return {callable.plain(arguments[0], y), callable.name(), place_, arguments[0]};
    } catch (py::error_already_set& error) {
      std::string note =
          fmt::format("kreisel called it as law '{}', {}, at t = {:.10g}", callable.name(), place_, arguments[0]);
      if (error.matches(PyExc_KeyError))
        note += fmt::format("; it may read {}: list the names it needs in uses=[...]",
                            uses_.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(uses_, ", ")));
      if (py::hasattr(error.value(), "add_note")) error.value().attr("add_note")(note);
      throw;
    }
  }
  double given_derivative(std::span<const double> arguments, int number) const {
    const Returned all = call(*derivative_, arguments);
    const auto size = static_cast<py::ssize_t>(uses_.size());
    const py::array_t<double> list =
        numbers(fmt::format("{}, {}, returned at t = {:.10g}", derivative_->name(), place_, all.t), all.object, {size});
    return list.data()[number];
  }

  std::string label_, place_;
  std::vector<std::string> uses_;
  Callable function_;
  std::optional<Callable> derivative_;
};

void refuse_asymmetry(const Matrix& mass) {
  Eigen::Index i = 0, j = 0;
  if ((mass - mass.transpose()).cwiseAbs().maxCoeff(&i, &j) > 1e-8 * mass.cwiseAbs().maxCoeff())
    throw InvalidInput(fmt::format("mass returned a matrix that is not symmetric: {} at [{}, {}], but {} at [{}, {}]",
                                   mass(i, j), i, j, mass(j, i), j, i));
}

}  // namespace

ModelPtr model_from_json(const std::string& name, const std::string& text, bool accepts_gaps,
                         const py::dict& functions) {
  io::UserFunctions given;
  for (const auto& [key, value] : functions) {
    const auto parts = value.cast<py::tuple>();
    const std::string own = py::str(key);
    io::UserFunction function{.uses = parts[1].cast<std::vector<std::string>>(), .function = {}};
    function.function =
        std::make_shared<const PythonFunction>(parts[0], function.uses, parts[2], parts[3].cast<std::string>());
    given.emplace(own, std::move(function));
  }
  return std::make_shared<const models::ModelInfo>(
      io::model_of(std::make_shared<io::JsonSource>(name, text), accepts_gaps, given));
}

ModelPtr model_from_functions(const py::dict& functions, std::optional<double> t0, std::optional<double> t_end) {
  Parts parts(functions);
  system::SystemFunctions f;
  const py::object name = parts.take("name");
  if (!name.is_none()) f.name = std::string(py::str(name));
  f.space = space_of(parts.take("space"));
  const lie::Space space(f.space);
  const Eigen::Index nv = space.nv();
  const Eigen::Index rows = f.position_rows = parts.rows("constraints", "constraint");
  const Eigen::Index velocity_rows = f.velocity_rows = parts.rows("velocity_constraints", "velocity_constraint");

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

  if (const py::object given = parts.take("outputs"); !given.is_none()) {
    if (!py::isinstance<py::dict>(given))
      throw InvalidInput(fmt::format("'outputs' is {}, expected a dict of functions by name", short_repr(given)));
    for (const auto& [key, function] : given.cast<py::dict>()) {
      const auto output = std::string(py::str(key));
      if (PyCallable_Check(function.ptr()) == 0)
        throw InvalidInput(fmt::format("output '{}' is {}, expected a function", output, short_repr(function)));
      f.outputs.push_back({output, "",
                           [c = parts.wrapped(output.c_str(), py::reinterpret_borrow<py::object>(function))](
                               double t, const Vector& q, const Vector& v) {
                             const py::gil_scoped_acquire lock;
                             return vector_of(c, c(t, q, v), 1)[0];
                           }});
    }
  }
  take_corners(parts, f);

  system::Start start;
  start.t0 = parts.number("t0", 0.0);
  start.t_end = parts.number("t_end", start.t0 + 1.0);
  start.t0 = t0.value_or(start.t0);
  start.t_end = t_end.value_or(start.t_end);
  f.time_scale = parts.number("time_scale", 0.0);
  const auto take_vector = [&](const char* key, Eigen::Index size) -> Vector {
    const py::array_t<double> array = numbers(fmt::format("'{}' is", key), parts.take(key), {size});
    return Eigen::Map<const Vector>(array.data(), size);
  };
  if (!functions.contains("q0")) throw InvalidInput("'q0' is missing: where the motion starts");
  start.q0 = take_vector("q0", space.nq());
  const bool moves = functions.contains("v0") && !functions["v0"].is_none();
  start.v0 = moves ? take_vector("v0", nv) : Vector(Vector::Zero(nv));
  parts.take("v0");
  if (const py::object scale = parts.take("scale"); !scale.is_none()) {
    const bool is_one_for_all = nv != 1 && !py::hasattr(scale, "__len__");
    const py::array_t<double> array = numbers("'scale' is", scale, {is_one_for_all ? 1 : nv});
    f.scale = is_one_for_all ? Vector(Vector::Constant(nv, *array.data()))
                             : Vector(Eigen::Map<const Vector>(array.data(), nv));
  }
  parts.finish();

  const std::function<Matrix(const Vector&)> mass = f.mass;
  const auto system = std::make_shared<const system::FunctionSystem>(std::move(f), start);
  refuse_asymmetry(mass(start.q0));
  models::ModelInfo info;
  info.name = name.is_none() ? "system" : std::string(py::str(name));
  info.summary = "user system";
  info.groups = {"own"};
  info.make = [system, start, own = info.name](std::string_view, const ParameterValues&) {
    return models::Model{own, "own", system, start};
  };
  return std::make_shared<const models::ModelInfo>(std::move(info));
}

}  // namespace kreisel::python
