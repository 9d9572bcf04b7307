// kreisel._core: what the Python package is made of. Users see python/kreisel/*.py.
#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cctype>

#include "kreisel/base/error.hpp"
#include "kreisel/base/version.hpp"
#include "kreisel/io/model_catalogue.hpp"
#include "kreisel/io/report.hpp"
#include "kreisel/io/trajectory.hpp"
#include "kreisel/method/catalogue.hpp"
#include "kreisel/study/output.hpp"
#include "kreisel/study/reference.hpp"
#include "kreisel/study/study.hpp"
#include "model.hpp"
#include "kreisel/run/points.hpp"
#include "solution.hpp"
#include "unlocked.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::python;

io::RunRequest request_of(const py::object& model, const std::string& group, const std::vector<std::string>& settings,
                          const std::map<std::string, std::string>& options, std::optional<double> t0 = {}) {
  io::RunRequest request;
  if (py::isinstance<py::str>(model))
    request.model = model.cast<std::string>();
  else
    request.own_model = model.cast<ModelPtr>();
  request.group = group;
  request.settings = settings;
  request.t0 = t0;
  for (const auto& [name, text] : options) request.options[name] = text;
  return request;
}

/// Messages name the options of the command line; here they are keywords: --t-end becomes t_end.
std::string in_python_words(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = text.substr(i, 2) == "--" && (i == 0 || text[i - 1] != '-');
    std::size_t end = i + 2;
    while (begins && end < text.size() && (std::islower(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) ++end;
    const std::string_view name = begins ? text.substr(i + 2, end - i - 2) : std::string_view();
    if (name.empty()) {
      out += text[i++];
      continue;
    }
    std::string word(name == "set" ? "parameters" : name == "output-times" ? "t_eval" : name == "start" ? "q0, v0" : name);
    std::replace(word.begin(), word.end(), '-', '_');
    out += word;
    i = end;
  }
  return out;
}

py::list events_of(const run::Report& report) {
  py::list list;
  for (const run::Occurrence& event : report.events)
    list.append(py::make_tuple(event.event, event.action, event.t, Vector(event.before.motion.q), Vector(event.before.motion.v),
                               Vector(event.after.motion.v)));
  return list;
}

std::vector<std::string> warnings_of(const Solution& solution) {
  std::vector<std::string> list;
  for (const std::string& text : solution.warnings()) list.push_back(in_python_words(text));
  return list;
}

class Keeper final : public run::Observer {
 public:
  bool accept(const run::Point& point) override {
    points_.push(point);
    return true;
  }

 private:
  run::Points points_{{}};
};

/// The same run in C++ alone, which benchmarks compare with: with nobody who looks on, or keeping its points.
void run_without_python(const io::RunRequest& request, bool keeps_points) {
  const io::PreparedRun run = io::prepare(request);
  run::Observer nobody;
  Keeper keeper;
  run::integrate(*run.model.system, run.model.start, run.options, keeps_points ? static_cast<run::Observer&>(keeper) : nobody);
}

/// study.json as text. `models`: those that are no files, by name. `should_stop` is asked now and then; true ends the study with the runs that are finished.
std::string run_study(const std::string& spec, const std::map<std::string, ModelPtr>& models, int jobs, const py::object& should_stop) {
  study::StudyOptions options;
  options.jobs = jobs;
  options.cache = study::cache_folder();
  options.wants_to_stop = [&] {
    if (Unlocked::shall_end()) return true;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return should_stop().cast<bool>();
  };
  const study::OwnModels own_models(models.begin(), models.end());
  const Unlocked unlocked;
  const study::StudyResult result = study::run_study(study::parse_spec(io::JsonSource("study", spec), own_models), options);
  return study::study_json(result, "kreisel.study").dump();
}

std::vector<std::string> names(const char* what) {
  std::vector<std::string> list;
  if (std::string_view(what) == "models")
    list = io::model_names();
  else
    for (const method::MethodInfo& info : method::catalogue()) list.push_back(info.name);
  return list;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const InvalidInput& e) {
      PyErr_SetString(PyExc_ValueError, in_python_words(e.what()).c_str());
    } catch (const EnvironmentError& e) {
      PyErr_SetString(PyExc_OSError, e.what());
    }
  });

  py::class_<models::ModelInfo, std::shared_ptr<models::ModelInfo>>(m, "ModelInfo")
      .def_property_readonly("name", [](const models::ModelInfo& info) { return info.name; });
  m.def("model_from_json", [](const std::string& name, const std::string& text, bool accepts_gaps) {
    return std::const_pointer_cast<models::ModelInfo>(model_from_json(name, text, accepts_gaps));
  });
  m.def("model_from_functions", [](const py::dict& functions, std::optional<double> t0, std::optional<double> t_end) {
    return std::const_pointer_cast<models::ModelInfo>(model_from_functions(functions, t0, t_end));
  });
  m.def("model_names", [] { return names("models"); });
  m.def("method_names", [] { return names("methods"); });
  m.def("version", [] { return std::string(version()); });

  py::class_<Solution>(m, "Solution")
      .def(py::init([](const py::object& model, const std::string& group, const std::vector<std::string>& settings,
                       const std::map<std::string, std::string>& options, std::optional<double> t0, const py::object& t_eval,
                       const py::list& events, const py::object& progress, const py::object& should_stop, bool has_dense_output) {
        return std::make_unique<Solution>(request_of(model, group, settings, options, t0), t_eval, events, progress,
                                          should_stop, has_dense_output);
      }))
      .def_property_readonly("t", &Solution::t)
      .def_property_readonly("q", &Solution::q)
      .def_property_readonly("v", &Solution::v)
      .def_property_readonly("a", &Solution::a)
      .def_property_readonly("lam", &Solution::lambda)
      .def_property_readonly("energy", &Solution::energy)
      .def_property_readonly("h", &Solution::steps)
      .def_property_readonly("order", &Solution::orders)
      .def_property_readonly("bodies", &Solution::bodies)
      .def_property_readonly("rows", &Solution::rows)
      .def_property_readonly("joints", &Solution::joints)
      .def("positions", &Solution::positions)
      .def("rotations", &Solution::rotations)
      .def("reaction", &Solution::reaction)
      .def("interpolate", &Solution::interpolate)
      .def("write_result", &Solution::write_result)
      .def_property_readonly("t_final", [](const Solution& s) { return s.report().final.motion.t; })
      .def_property_readonly("status", [](const Solution& s) { return std::string(run::info_of(s.report().status).name); })
      .def_property_readonly("message", [](const Solution& s) { return in_python_words(s.report().message); })
      .def_property_readonly("method", [](const Solution& s) { return s.report().method; })
      .def_property_readonly("formulation", [](const Solution& s) { return s.report().formulation; })
      .def_property_readonly("warnings", &warnings_of)
      .def_property_readonly("solve_seconds", [](const Solution& s) { return s.report().solve_seconds; })
      .def_property_readonly("event_names", &Solution::event_names)
      .def_property_readonly("events", [](const Solution& s) { return events_of(s.report()); })
      .def_property_readonly("counters", [](const Solution& s) {
        const Counters& c = s.report().counters;
        py::dict out;
        out["steps"] = c.steps;
        out["rejected_steps"] = c.rejected_steps;
        out["residual_evaluations"] = c.residual_evaluations;
        out["jacobian_evaluations"] = c.jacobian_evaluations;
        out["factorizations"] = c.factorizations;
        out["newton_iterations"] = c.newton_iterations;
        return out;
      });

  m.def("read_trajectory", [](const std::string& path) {
    const io::Trajectory trajectory = io::read_trajectory(path);
    return py::make_tuple(trajectory.columns, trajectory.values);
  });
  m.def("study", &run_study);
  py::module_::import("atexit").attr("register")(py::cpp_function(&Unlocked::end_all));
  m.def("run_without_python", [](const py::object& model, const std::string& group, const std::vector<std::string>& settings,
                                 const std::map<std::string, std::string>& options, bool keeps_points) {
    run_without_python(request_of(model, group, settings, options), keeps_points);
  });
  m.def("write_report", [](const std::string& folder, const std::string& path) {
    io::write_report(io::read_report_data(folder), path);
  });
}
