// Equilibria, their paths and linearisations for Python: dicts of numbers and arrays, wrapped by python/kreisel/_analyses.py.
#include <fmt/format.h>
#include <pybind11/complex.h>
#include <pybind11/eigen.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>

#include "analysis/inverse.hpp"
#include "io/result/operating_point.hpp"
#include "io/result/prepare.hpp"
#include "io/result/sensitivities.hpp"
#include "io/result/tuning.hpp"
#include "kreisel/analysis.hpp"
#include "kreisel/error.hpp"
#include "model.hpp"
#include "multibody/expression.hpp"
#include "solution.hpp"
#include "spec.hpp"
#include "unlocked.hpp"

namespace kreisel::python {
namespace {

namespace py = pybind11;

py::dict outputs_of(const system::System& system, const system::Motion& m, const Vector& lambda) {
  Vector values = Vector::Zero(system.output_size());
  system.evaluate_outputs(m, lambda, values);
  py::dict out;
  int at = 0;
  for (const system::OutputInfo& info : system.outputs()) {
    if (info.components.empty())
      out[py::str(info.name)] = values[at];
    else
      out[py::str(info.name)] = Vector(values.segment(at, info.size()));
    at += info.size();
  }
  return out;
}

py::dict dict_of(const system::System& system, const system::Motion& m, const Vector& lambda) {
  py::dict out, positions, rotations, reactions;
  for (int b = 0; b < system.body_count(); ++b) {
    const system::Pose pose = system.body_pose(b, m.q);
    positions[py::str(system.body_name(b))] = pose.x;
    rotations[py::str(system.body_name(b))] = pose.R;
  }
  for (int j = 0; j < system.joint_count(); ++j) {
    const system::Reaction r = system.reaction(j, m, lambda);
    reactions[py::str(system.joint_name(j))] = py::make_tuple(r.force, r.torque);
  }
  out["t"] = m.t;
  out["q"] = m.q;
  out["v"] = m.v;
  out["lam"] = lambda;
  out["energy"] = system.energy(m);
  out["positions"] = positions;
  out["rotations"] = rotations;
  out["reactions"] = reactions;
  out["outputs"] = outputs_of(system, m, lambda);
  out["limits"] = io::closed_limits(system);
  return out;
}

/// A result that is not found is not an input error: (message, None).
py::tuple failed(const std::string& message) { return py::make_tuple(message, py::none()); }

py::tuple static_of(const io::RunSpec& given, const std::string& solved, const std::string& output, double value) {
  io::RunSpec spec = given;
  py::dict tuned_values;
  io::OperatingPoint point;
  std::string message;
  double found = 0.0;
  {
    const Unlocked unlocked;
    if (!solved.empty()) {
      const io::Tuned tuned = io::tune(spec, solved, {output, value});
      if (!tuned.is_found) message = tuned.message;
      found = tuned.value;
      spec = io::with_parameter(std::move(spec), solved, found);
    }
    if (message.empty()) point = io::operating_point(io::prepare(spec), "static");
  }
  if (!message.empty()) return failed(message);
  if (!point.is_found) return failed(point.message);
  py::dict out = dict_of(*point.system, point.motion, point.lambda);
  out["iterations"] = point.iterations;
  out["solved"] = tuned_values;
  if (!solved.empty()) tuned_values[py::str(solved)] = found;
  out["growth"] = py::none();
  out["is_stable"] = py::none();
  try {
    const analysis::Linearization linear = analysis::linearize(*point.system, point.motion, point.lambda);
    const analysis::Stability s = analysis::stability_of(analysis::modes_of(*point.system, point.motion, linear));
    out["growth"] = s.growth;
    out["is_stable"] = s.is_stable;
  } catch (const InvalidInput&) {  // too large, or without mass: stability stays unknown
  }
  return py::make_tuple("", out);
}

analysis::Axes axes_named(const std::string& name) {
  if (name == "automatic") return analysis::Axes::automatic;
  if (name == "inertial") return analysis::Axes::inertial;
  if (name == "body") return analysis::Axes::body;
  throw InvalidInput("axes: " + unknown_name("axes", name, {"automatic", "inertial", "body"}));
}

py::tuple linearized(const io::RunSpec& given, const std::string& at, const std::string& axes) {
  const analysis::Axes wanted = axes_named(axes);
  io::OperatingPoint point;
  analysis::Linearization linear;
  analysis::OutputMatrices outputs;
  std::vector<analysis::Mode> modes;
  {
    const Unlocked unlocked;
    const io::PreparedRun run = io::prepare(io::with_operating_point(given, at));
    point = io::operating_point(run, at);
    if (point.is_found) {
      linear = analysis::linearize(*point.system, point.motion, point.lambda, wanted);
      outputs = analysis::output_matrices(*point.system, point.motion, point.lambda, linear);
      modes = analysis::modes_of(*point.system, point.motion, linear);
    }
  }
  if (!point.is_found) return failed(point.message);
  py::dict out = dict_of(*point.system, point.motion, point.lambda);
  out["A"] = linear.A;
  out["B"] = linear.B;
  out["C"] = outputs.C;
  out["D"] = outputs.D;
  out["X"] = linear.X;
  out["V"] = linear.V;
  std::vector<std::string> inputs;
  for (const system::InputInfo& info : point.system->inputs()) inputs.push_back(info.name);
  out["inputs"] = inputs;
  out["columns"] = outputs.columns;
  out["axes"] = linear.axes == analysis::Axes::inertial ? "inertial" : "body";
  out["is_steady"] = linear.is_steady;
  Eigen::VectorXcd eigenvalues(static_cast<Eigen::Index>(modes.size()));
  Eigen::MatrixXcd shapes(point.system->space().nv(), static_cast<Eigen::Index>(modes.size()));
  std::vector<std::string> largest;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    eigenvalues[static_cast<Eigen::Index>(i)] = modes[i].eigenvalue;
    shapes.col(static_cast<Eigen::Index>(i)) = modes[i].shape;
    largest.push_back(modes[i].largest);
  }
  out["eigenvalues"] = eigenvalues;
  out["shapes"] = shapes;
  out["largest"] = largest;
  out["is_stable"] = analysis::stability_of(modes).is_stable;
  return py::make_tuple("", out);
}

py::tuple path_of(const io::RunSpec& spec, const std::string& parameter, double from, double to, int points) {
  analysis::StaticPath path;
  std::string message;
  {
    const Unlocked unlocked;
    const models::Model first = io::prepare_model(io::with_parameter(spec, parameter, from));
    const analysis::Equilibrium start = analysis::find_equilibrium(*first.system, first.start);
    if (!start.is_found)
      message = "no equilibrium at the beginning: " + start.message;
    else
      path = analysis::follow(
          [&](double value) { return io::prepare_model(io::with_parameter(spec, parameter, value)).system; }, start,
          {.from = from, .to = to, .points = points});
  }
  if (!message.empty()) return failed(message);
  py::list list;
  for (const analysis::PathPoint& point : path.points) {
    py::dict at = dict_of(*point.system, point.motion, point.lambda);
    at["parameter"] = point.parameter;
    at["is_limit"] = point.is_limit;
    at["is_critical"] = point.is_critical;
    list.append(at);
  }
  return py::make_tuple(path.is_complete ? "" : path.message, list);
}

/// Ends a computation when Python requests it.
class Watcher final : public run::Observer {
 public:
  explicit Watcher(const py::object& should_stop) : should_stop_(should_stop) {}
  bool goes_on(double, long steps) override {
    if (Unlocked::shall_end()) return false;
    if (steps % 64 != 0) return true;
    const py::gil_scoped_acquire lock;
    return !should_stop_().cast<bool>();
  }

 private:
  const py::object& should_stop_;
};

using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

py::tuple sensitivities_of(const io::RunSpec& spec, const std::vector<std::string>& names, const py::list& events,
                           const std::optional<std::vector<double>>& times, const py::object& should_stop) {
  io::PreparedRun run = io::prepare(spec);
  add_events(run, events);
  Watcher watcher(should_stop);
  run::Sensitivities found;
  {
    const Unlocked unlocked;
    found = io::sensitivities(spec, names, watcher, {}, run.options.events);
  }
  if (found.report.status != run::Status::success) return failed(found.report.message);
  if (!found.problem.empty()) return failed(found.problem);
  const auto shown = [&](const Matrix& rows) { return Rows(times ? found.at(*times, rows) : rows); };
  py::list list;
  for (const run::Sensitivity& s : found.by) {
    py::dict one;
    one["q"] = shown(s.q);
    one["v"] = shown(s.v);
    one["lam"] = shown(s.lambda);
    one["outputs"] = shown(s.outputs);
    one["t_events"] = s.event_times;
    one["uncertainty"] = s.uncertainty;
    list.append(one);
  }
  return py::make_tuple("", list);
}

py::tuple gradients_of(const io::RunSpec& spec, const py::list& events, const py::object& should_stop,
                       const std::function<run::Gradients(run::Observer&, const std::vector<system::Event>&)>& find) {
  io::PreparedRun run = io::prepare(spec);
  add_events(run, events);
  Watcher watcher(should_stop);
  run::Gradients found;
  {
    const Unlocked unlocked;
    found = find(watcher, run.options.events);
  }
  if (found.report.status != run::Status::success) return failed(found.report.message);
  if (!found.problem.empty()) return failed(found.problem);
  return py::make_tuple("", py::make_tuple(found.values, Rows(found.by)));
}

py::tuple fit_of(const io::RunSpec& spec, const std::vector<double>& t, const std::vector<std::string>& columns,
                 const Matrix& values, const std::vector<std::tuple<std::string, double, double>>& free, int starts,
                 const py::object& should_stop) {
  io::FitData data{t, columns, values};
  std::vector<io::FreeParameter> parameters;
  for (const auto& [name, low, high] : free) parameters.push_back({name, low, high});
  Watcher watcher(should_stop);
  io::Fit fit;
  {
    const Unlocked unlocked;
    fit = io::fit(spec, data, parameters, watcher, {.starts = starts});
  }
  if (!fit.is_found) return failed(fit.message);
  py::dict out;
  out["values"] = fit.values;
  out["standard_errors"] = fit.standard_errors;
  out["covariance"] = fit.covariance;
  out["noise"] = fit.noise;
  out["fitted"] = fit.fitted;
  out["iterations"] = fit.iterations;
  out["runs"] = fit.runs;
  out["is_at_bound"] = fit.is_at_bound;
  out["warnings"] = fit.warnings;
  py::list others;
  for (const io::Fit::Other& other : fit.others) others.append(py::make_tuple(other.values, other.ratio));
  out["others"] = others;
  return py::make_tuple("", out);
}

/// The numbers that a function of time gives: value, rate and curve.
Vector3 jet_of(const py::object& function, const std::string& name, double t) {
  const py::object found = function(t);
  try {
    return found.cast<Vector3>();
  } catch (const py::cast_error&) {
    throw InvalidInput("follow: the function of '" + name +
                       "' must return three numbers: value, first and second derivative at t");
  }
}

py::tuple inverse_of(const io::RunSpec& spec, const std::vector<std::pair<std::string, py::object>>& follow,
                     const std::optional<std::vector<std::string>>& inputs, const std::vector<double>& times,
                     int points) {
  const io::PreparedRun run = io::prepare(spec);
  const models::Model& model = run.model;
  const system::System& system = *model.system;
  analysis::InverseOptions options;
  bool has_functions = false;
  for (const auto& [name, target] : follow) {
    analysis::Servo servo;
    servo.name = name;
    servo.output = io::output_number(system, name);
    if (py::isinstance<py::str>(target)) {
      const multibody::Expression formula(target.cast<std::string>());
      servo.target = [formula](double t) {
        const multibody::Jet jet = formula.at(t);
        return Vector3(jet.value, jet.rate, jet.curve);
      };
    } else {
      has_functions = true;
      servo.target = [target, name](double t) { return jet_of(target, name, t); };
    }
    options.servos.push_back(std::move(servo));
  }
  std::vector<std::string> known;
  for (const system::InputInfo& info : system.inputs()) known.push_back(info.name);
  const std::vector<std::string> wanted = inputs ? *inputs : follow.empty() ? std::vector<std::string>{} : known;
  for (const std::string& name : wanted) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw InvalidInput(known.empty() ? "inputs: there is no input '" + name + "': the model has none"
                                       : "inputs: " + unknown_name("input", name, known));
    options.inputs.push_back(static_cast<int>(found - known.begin()));
  }
  options.times = times;
  const double t_end = std::isnan(run.options.t_end) ? model.start.t_end : run.options.t_end;
  for (int i = 0; i < points && times.empty(); ++i)
    options.times.push_back(model.start.t0 + (t_end - model.start.t0) * i / (points - 1));
  if (options.times.front() < model.start.t0)
    throw InvalidInput(
        fmt::format("t_eval begins at {}, before the motion begins at {}", options.times.front(), model.start.t0));
  analysis::InverseMotion motion;
  if (has_functions) {
    motion = analysis::invert(system, model.start, options);
  } else {
    const Unlocked unlocked;
    motion = analysis::invert(system, model.start, options);
  }
  const auto n = static_cast<Eigen::Index>(motion.points.size());
  Vector t(n), condition(n);
  Rows q(n, system.space().nq()), v(n, system.space().nv()), a(n, system.space().nv()),
      lambda(n, system.pattern().rows()), u(n, static_cast<Eigen::Index>(wanted.size())),
      outputs(n, system.output_size());
  Vector values = Vector::Zero(system.output_size());
  for (Eigen::Index i = 0; i < n; ++i) {
    const analysis::InversePoint& point = motion.points[static_cast<std::size_t>(i)];
    t[i] = point.motion.t;
    q.row(i) = point.motion.q;
    v.row(i) = point.motion.v;
    a.row(i) = point.motion.a;
    lambda.row(i) = point.lambda;
    if (u.cols() > 0) u.row(i) = point.inputs;
    condition[i] = point.condition;
    system.evaluate_outputs(point.motion, point.lambda, values);
    outputs.row(i) = values;
  }
  std::vector<std::string> columns;
  for (const system::OutputInfo& info : system.outputs())
    for (int i = 0; i < info.size(); ++i) columns.push_back(info.column(i));
  py::dict out;
  out["t"] = t;
  out["q"] = q;
  out["v"] = v;
  out["a"] = a;
  out["lam"] = lambda;
  out["inputs"] = u;
  out["input_names"] = wanted;
  out["outputs"] = outputs;
  out["columns"] = columns;
  out["condition"] = condition;
  out["warnings"] = motion.warnings;
  return py::make_tuple(motion.is_complete ? "" : motion.message, out);
}

}  // namespace

void add_analyses(py::module_& m) {
  m.def("sensitivities",
        [](const py::object& model, const std::string& group, const py::dict& parameters, const py::dict& options,
           std::optional<double> t0, const std::vector<std::string>& names, const py::list& events,
           const std::optional<std::vector<double>>& times, const py::object& should_stop) {
          return sensitivities_of(spec_of(model, group, parameters, options, t0), names, events, times, should_stop);
        });
  m.def("gradients",
        [](const py::object& model, const std::string& group, const py::dict& parameters, const py::dict& options,
           std::optional<double> t0, const std::vector<std::string>& names, const std::vector<std::string>& scalars,
           const py::list& events, const py::object& should_stop) {
          const io::RunSpec spec = spec_of(model, group, parameters, options, t0);
          return gradients_of(spec, events, should_stop,
                              [&](run::Observer& observer, const std::vector<system::Event>& listed) {
                                return io::gradients(spec, names, scalars, observer, listed);
                              });
        });
  m.def("gradient", [](const py::object& model, const std::string& group, const py::dict& parameters,
                       const py::dict& options, std::optional<double> t0, const std::vector<std::string>& names,
                       const std::vector<double>& times, const Matrix& weights, const py::object& should_stop) {
    const io::RunSpec spec = spec_of(model, group, parameters, options, t0);
    return gradients_of(spec, py::list(), should_stop,
                        [&](run::Observer& observer, const std::vector<system::Event>& listed) {
                          return io::gradients(spec, names, times, weights, observer, listed);
                        });
  });
  m.def("fit", [](const py::object& model, const std::string& group, const py::dict& parameters,
                  const py::dict& options, const std::vector<double>& t, const std::vector<std::string>& columns,
                  const Matrix& values, const std::vector<std::tuple<std::string, double, double>>& free, int starts,
                  const py::object& should_stop) {
    return fit_of(spec_of(model, group, parameters, options), t, columns, values, free, starts, should_stop);
  });
  m.def("inverse",
        [](const py::object& model, const std::string& group, const py::dict& parameters, const py::dict& options,
           std::optional<double> t0, const std::vector<std::pair<std::string, py::object>>& follow,
           const std::optional<std::vector<std::string>>& inputs, const std::vector<double>& times, int points) {
          return inverse_of(spec_of(model, group, parameters, options, t0), follow, inputs, times, points);
        });
  m.def("parameter_values", [](const py::object& model, const std::string& group, const py::dict& parameters,
                               const py::dict& options, const std::vector<std::string>& names) {
    const io::RunSpec spec = spec_of(model, group, parameters, options);
    std::vector<double> values;
    for (const std::string& name : names) values.push_back(io::parameter_value(spec, name));
    return values;
  });
  m.def("static", [](const py::object& model, const std::string& group, const py::dict& parameters,
                     const py::dict& options, const std::string& solved, const std::string& output, double value) {
    return static_of(spec_of(model, group, parameters, options), solved, output, value);
  });
  m.def("linearize", [](const py::object& model, const std::string& group, const py::dict& parameters,
                        const py::dict& options, const std::string& at, const std::string& axes) {
    return linearized(spec_of(model, group, parameters, options), at, axes);
  });
  m.def("static_path", [](const py::object& model, const std::string& group, const py::dict& parameters,
                          const py::dict& options, const std::string& parameter, double from, double to, int points) {
    return path_of(spec_of(model, group, parameters, options), parameter, from, to, points);
  });
}

}  // namespace kreisel::python
