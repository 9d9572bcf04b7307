// kreisel._core: the compiled part of the Python package. Users see python/kreisel/*.py.
#include <fmt/format.h>
#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/model_file/model_catalogue.hpp"
#include "io/report/report.hpp"
#include "io/result/prepare.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"
#include "kreisel/version.hpp"
#include "method/catalogue.hpp"
#include "model.hpp"
#include "own_method.hpp"
#include "run/points.hpp"
#include "simulation.hpp"
#include "solution.hpp"
#include "spec.hpp"
#include "study/optimize.hpp"
#include "study/output.hpp"
#include "study/reference.hpp"
#include "study/study.hpp"
#include "unlocked.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::python;

/// Numbers, words and lists of them, as built-in types of Python; those of numpy are converted before.
Value value_of(const std::string& name, const py::handle& object) {
  if (py::isinstance<py::bool_>(object)) return object.cast<bool>();
  if (py::isinstance<py::int_>(object) || py::isinstance<py::float_>(object)) return object.cast<double>();
  if (py::isinstance<py::str>(object)) return object.cast<std::string>();
  if (py::isinstance<py::list>(object)) {
    const auto list = py::reinterpret_borrow<py::list>(object);
    const auto all = [&](auto is) { return std::all_of(list.begin(), list.end(), is); };
    if (list.size() > 0 && all([](const py::handle& x) { return py::isinstance<py::str>(x); }))
      return object.cast<std::vector<std::string>>();
    if (all([](const py::handle& x) {
          return (py::isinstance<py::int_>(x) || py::isinstance<py::float_>(x)) && !py::isinstance<py::bool_>(x);
        }))
      return object.cast<std::vector<double>>();
  }
  throw InvalidInput(name + ": is " + clipped(std::string(py::repr(object)), 80) +
                     ", expected a number, a word, or a list of them");
}

}  // namespace

io::RunSpec kreisel::python::spec_of(const py::object& model, const std::string& group, const py::dict& parameters,
                                     const py::dict& options, std::optional<double> t0) {
  io::RunSpec spec;
  spec.t0 = t0;
  if (py::isinstance<py::str>(model))
    spec.model = model.cast<std::string>();
  else
    spec.own_model = model.cast<ModelPtr>();
  spec.group = group;
  for (const auto& [key, value] : parameters) {
    const std::string name = py::str(key);
    spec.settings.push_back({name, value_of(name, value)});
  }
  for (const auto& [key, value] : options) {
    const std::string name = py::str(key);
    spec.set(name, value_of(name, value));
  }
  return spec;
}

namespace {

/// Fields that have other names in solve.
std::string as_keyword(std::string_view field) {
  return std::string(field == "set"            ? "parameters"
                     : field == "output_times" ? "t_eval"
                     : field == "start"        ? "q0, v0"
                                               : field);
}

/// (name, what it means) of every option of a run.
std::vector<std::pair<std::string, std::string>> options_of_runs() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const io::RunField& field : io::run_fields())
    if (as_keyword(field.field.name) == field.field.name)
      list.emplace_back(field.field.name, run::described(field.field));
  return list;
}

py::dict counters_of(const run::Report& report) {
  const Counters& c = report.counters;
  py::dict out;
  out["steps"] = c.steps;
  out["rejected_steps"] = c.rejected_steps;
  out["residual_evaluations"] = c.residual_evaluations;
  out["jacobian_evaluations"] = c.jacobian_evaluations;
  out["factorizations"] = c.factorizations;
  out["newton_iterations"] = c.newton_iterations;
  return out;
}

py::list events_of(const run::Report& report) {
  py::list list;
  for (const run::Occurrence& event : report.events)
    list.append(py::make_tuple(event.event, event.action, event.t, Vector(event.before.motion.q),
                               Vector(event.before.motion.v), Vector(event.after.motion.v)));
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

/// The same run in C++ alone, for benchmarks: without an observer, or keeping its points.
void run_without_python(const io::RunSpec& spec, bool keeps_points) {
  const io::PreparedRun run = io::prepare(spec);
  run::Observer nobody;
  Keeper keeper;
  run::integrate(*run.model.system, run.model.start, run.options,
                 keeps_points ? static_cast<run::Observer&>(keeper) : nobody);
}

/// A running study, for its own threads or for workers elsewhere. `models`: those that are not files, by name.
class StudyCampaign {
 public:
  /// `place`: where files that the spec names are looked for. `should_stop` is polled; true ends the study with the
  /// finished runs.
  StudyCampaign(const std::string& spec, const std::string& place, const std::map<std::string, ModelPtr>& models,
                const std::string& own_text, const std::string& folder, int jobs, bool retries_failures,
                const std::string& cache, bool is_worker, const py::object& should_stop, const py::object& reference,
                double accuracy)
      : should_stop_(should_stop), reference_(reference), folder_(folder) {
    options_.jobs = jobs;
    if (!reference.is_none()) {
      options_.reference = [this](double t, Vector& q, Vector& v, Vector& lambda) {
        const py::gil_scoped_acquire lock;
        const py::object given = reference_(t);
        if (!py::isinstance<py::sequence>(given))
          throw InvalidInput(fmt::format("the reference returned {}, expected (q, v, lam)",
                                         std::string(py::repr(given)).substr(0, 80)));
        const auto parts = py::tuple(given);
        if (parts.size() != 3)
          throw InvalidInput(fmt::format("the reference returned {} values, expected (q, v, lam)", parts.size()));
        q = parts[0].cast<Vector>();
        v = parts[1].cast<Vector>();
        lambda = parts[2].cast<Vector>();
      };
      options_.reference_accuracy = {accuracy, accuracy, accuracy};
    }
    options_.folder = folder;
    options_.retries_failures = retries_failures;
    options_.is_worker = is_worker;
    options_.cache = cache.empty() ? study::cache_folder() : io::Path(cache);
    options_.wants_to_stop = [this] {
      if (Unlocked::shall_end()) return true;
      const py::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      return should_stop_().cast<bool>();
    };
    const study::OwnModels own_models(models.begin(), models.end());
    const Unlocked unlocked;
    const io::ReadingList read;
    study::Spec parsed = study::parse_spec(io::JsonSource("study", spec, place), own_models, own_text);
    if (!folder.empty()) {
      study::refuse_to_overwrite(read.files(), folder);
      io::claim_result_folder(folder);
      io::refuse_locked_parts(folder);
      lock_ = std::make_unique<io::FolderLock>(folder);
    }
    campaign_ = std::make_unique<study::Campaign>(std::move(parsed), options_);
  }

  std::size_t size() const { return campaign_->spec().size(); }
  /// As an array: a list would take five times the memory.
  py::array_t<std::size_t> open() const {
    return py::array_t<std::size_t>(static_cast<py::ssize_t>(campaign_->open().size()), campaign_->open().data());
  }
  /// Done and failed.
  std::pair<std::size_t, std::size_t> tally() const {
    const study::Tally tally = campaign_->tally();
    return {tally.done, tally.failed};
  }
  void make_references() {
    const Unlocked unlocked;
    campaign_->make_references();
  }
  py::bytes run(const std::vector<std::size_t>& cases) {
    std::string lines;
    {
      const Unlocked unlocked;
      for (const std::size_t number : cases) lines += campaign_->run(number);
    }
    return lines;
  }
  void take(const std::string& lines) {
    const Unlocked unlocked;
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', at), lines.size() - 1) + 1;
      campaign_->take(std::string_view(lines).substr(at, end - at));
      at = end;
    }
  }
  py::bytes lost(std::size_t number, const std::string& status, const std::string& message) const {
    return campaign_->lost(number, status, message);
  }
  void run_all(const py::object& show) {
    const Unlocked unlocked;
    study::run_all(*campaign_, options_, [&](const study::StudyProgress&) {
      const py::gil_scoped_acquire lock;
      show();
    });
  }
  /// study.json as text; the folder gets its files.
  std::string finish(const std::string& command) {
    const Unlocked unlocked;
    const study::StudyResult result = campaign_->finish();
    if (!folder_.empty()) study::write_study(result, command, folder_);
    lock_.reset();
    return study::study_json(result, command).dump();
  }

 private:
  py::object should_stop_, reference_;
  std::string folder_;
  study::StudyOptions options_;
  std::unique_ptr<io::FolderLock> lock_;
  std::unique_ptr<study::Campaign> campaign_;
};

/// A search for an optimum, for its own threads or for workers elsewhere.
class StudySearch {
 public:
  StudySearch(const std::string& spec, const std::string& place, const std::map<std::string, ModelPtr>& models,
              const std::string& own_text, const std::string& folder, bool is_worker, const py::object& should_stop)
      : should_stop_(should_stop), folder_(folder) {
    const study::OwnModels own_models(models.begin(), models.end());
    const Unlocked unlocked;
    const io::ReadingList read;
    study::OptimizationSpec parsed =
        study::parse_optimization(io::JsonSource("search", spec, place), own_models, own_text);
    if (!folder.empty()) {
      study::refuse_to_overwrite(read.files(), folder);
      io::claim_result_folder(folder);
      lock_ = std::make_unique<io::FolderLock>(folder);
    }
    search_ = std::make_unique<study::Search>(std::move(parsed), folder, is_worker);
  }

  std::vector<std::vector<double>> ask() { return search_->ask(); }
  py::bytes evaluate(const std::vector<double>& x) const {
    const std::function<bool()> wants_to_stop = [this] {
      if (Unlocked::shall_end()) return true;
      const py::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      return should_stop_().cast<bool>();
    };
    std::string line;
    {
      const Unlocked unlocked;
      line = search_->evaluate(x, wants_to_stop);
    }
    return line;
  }
  py::bytes lost(const std::vector<double>& x, const std::string& message) const { return search_->lost(x, message); }
  void tell(const std::vector<std::string>& lines) { search_->tell(lines); }
  /// Evaluations, and those of them that failed.
  std::pair<std::size_t, std::size_t> tally() const {
    const std::vector<study::Evaluation>& all = search_->result().evaluations;
    const auto failed = std::count_if(all.begin(), all.end(), [](const auto& e) { return !e.row.is_success(); });
    return {all.size(), static_cast<std::size_t>(failed)};
  }
  std::size_t most() const { return search_->spec().evaluations; }
  std::string finish(const std::string& command) {
    if (!folder_.empty()) study::write_optimum(*search_, command, folder_);
    lock_.reset();
    return study::optimum_json(*search_, command).dump();
  }

 private:
  py::object should_stop_;
  std::string folder_;
  std::unique_ptr<io::FolderLock> lock_;
  std::unique_ptr<study::Search> search_;
};

std::vector<std::string> names(const char* what) {
  std::vector<std::string> list;
  if (std::string_view(what) == "models")
    list = io::model_names();
  else
    list = method::method_names();
  return list;
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  set_spelling(as_keyword);
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const InvalidInput& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const EnvironmentError& e) {
      PyErr_SetString(PyExc_OSError, e.what());
    }
  });

  py::class_<models::ModelInfo, std::shared_ptr<models::ModelInfo>>(m, "ModelInfo")
      .def_property_readonly("name", [](const models::ModelInfo& info) { return info.name; });
  m.def("model_from_json",
        [](const std::string& name, const std::string& text, bool accepts_gaps, const py::dict& functions) {
          return std::const_pointer_cast<models::ModelInfo>(model_from_json(name, text, accepts_gaps, functions));
        });
  m.def("model_from_functions", [](const py::dict& functions, std::optional<double> t0, std::optional<double> t_end) {
    return std::const_pointer_cast<models::ModelInfo>(model_from_functions(functions, t0, t_end));
  });
  m.def("model_names", [] { return names("models"); });
  m.def("method_names", [] { return names("methods"); });
  m.def("options", &options_of_runs);
  m.def("version", [] { return std::string(version()); });

  py::class_<Solution>(m, "Solution")
      .def(py::init([](const py::object& model, const std::string& group, const py::dict& parameters,
                       const py::dict& options, std::optional<double> t0, const py::object& t_eval,
                       const py::list& events, const py::object& progress, const py::object& should_stop,
                       bool has_dense_output, bool verifies) {
        return std::make_unique<Solution>(spec_of(model, group, parameters, options, t0), t_eval, events, progress,
                                          should_stop, has_dense_output, verifies);
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
      .def_property_readonly("outputs", &Solution::outputs)
      .def("output", &Solution::output)
      .def("positions", &Solution::positions)
      .def("rotations", &Solution::rotations)
      .def("reaction", &Solution::reaction)
      .def("interpolate", &Solution::interpolate)
      .def("write_result", &Solution::write_result)
      .def_property_readonly("t_final", [](const Solution& s) { return s.report().final.motion.t; })
      .def_property_readonly("status",
                             [](const Solution& s) { return std::string(run::info_of(s.report().status).name); })
      .def_property_readonly("message", [](const Solution& s) { return s.report().message; })
      .def_property_readonly("method", [](const Solution& s) { return s.report().method; })
      .def_property_readonly("formulation", [](const Solution& s) { return s.report().formulation; })
      .def_property_readonly("warnings", &Solution::warnings)
      .def_property_readonly("verification", &Solution::verification)
      .def_property_readonly("solve_seconds", [](const Solution& s) { return s.report().solve_seconds; })
      .def_property_readonly("event_names", &Solution::event_names)
      .def_property_readonly("events", [](const Solution& s) { return events_of(s.report()); })
      .def_property_readonly("counters", [](const Solution& s) { return counters_of(s.report()); });

  py::class_<Simulation>(m, "Simulation")
      .def(py::init([](const py::object& model, const std::string& group, const py::dict& parameters,
                       const py::dict& options, std::optional<double> t0, const py::list& events,
                       const py::object& should_stop, const std::optional<py::bytes>& checkpoint) {
        return std::make_unique<Simulation>(spec_of(model, group, parameters, options, t0), events, should_stop,
                                            checkpoint);
      }))
      .def("advance_to", &Simulation::advance_to)
      .def("set", &Simulation::set)
      .def("input", &Simulation::input)
      .def("output", &Simulation::output)
      .def("checkpoint", &Simulation::checkpoint)
      .def("solution", &Simulation::solution)
      .def("state",
           [](const Simulation& s) {
             const run::State state = s.state();
             return py::make_tuple(state.q, state.v, state.a, state.lambda);
           })
      .def("pose",
           [](const Simulation& s, int body) {
             const system::Pose pose = s.state().pose(body);
             return py::make_tuple(pose.x, pose.R);
           })
      .def_property_readonly("energy", [](const Simulation& s) { return s.state().energy(); })
      .def_property_readonly("t", &Simulation::time)
      .def_property_readonly("t_end", &Simulation::t_end)
      .def_property_readonly("has_ended", &Simulation::has_ended)
      .def_property_readonly("inputs", &Simulation::inputs)
      .def_property_readonly("outputs", &Simulation::outputs)
      .def_property_readonly("bodies", &Simulation::bodies)
      .def_property_readonly("warnings", &Simulation::warnings)
      .def_property_readonly("status",
                             [](const Simulation& s) { return std::string(run::info_of(s.report().status).name); })
      .def_property_readonly("message", [](const Simulation& s) { return s.report().message; })
      .def_property_readonly("method", [](const Simulation& s) { return s.report().method; })
      .def_property_readonly("events", [](const Simulation& s) { return events_of(s.report()); })
      .def_property_readonly("counters", [](const Simulation& s) { return counters_of(s.report()); });

  m.def("read_trajectory", [](const std::string& path) {
    const io::Trajectory trajectory = io::read_trajectory(path);
    return py::make_tuple(trajectory.names(), trajectory.values);
  });
  m.def("register_method", &register_method);
  py::class_<StudySearch>(m, "Search")
      .def(py::init<const std::string&, const std::string&, const std::map<std::string, ModelPtr>&, const std::string&,
                    const std::string&, bool, const py::object&>())
      .def("ask", &StudySearch::ask)
      .def("evaluate", &StudySearch::evaluate)
      .def("tell", &StudySearch::tell)
      .def("lost", &StudySearch::lost)
      .def("tally", &StudySearch::tally)
      .def("most", &StudySearch::most)
      .def("finish", &StudySearch::finish);
  py::class_<StudyCampaign>(m, "Campaign")
      .def(py::init<const std::string&, const std::string&, const std::map<std::string, ModelPtr>&, const std::string&,
                    const std::string&, int, bool, const std::string&, bool, const py::object&, const py::object&,
                    double>())
      .def("size", &StudyCampaign::size)
      .def("open", &StudyCampaign::open)
      .def("tally", &StudyCampaign::tally)
      .def("make_references", &StudyCampaign::make_references)
      .def("run", &StudyCampaign::run)
      .def("run_all", &StudyCampaign::run_all)
      .def("take", &StudyCampaign::take)
      .def("lost", &StudyCampaign::lost)
      .def("finish", &StudyCampaign::finish);
  add_analyses(m);
  py::module_::import("atexit").attr("register")(py::cpp_function(&Unlocked::end_all));
  m.def("run_without_python",
        [](const py::object& model, const std::string& group, const py::dict& parameters, const py::dict& options,
           bool keeps_points) { run_without_python(spec_of(model, group, parameters, options), keeps_points); });
  m.def("write_report", [](const std::string& folder, const std::string& path) {
    io::write_report(io::read_report_data(folder), path);
  });
}
