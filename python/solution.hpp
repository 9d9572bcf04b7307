// A run for Python: its points as arrays, and what can be computed from them afterwards.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/result/verification.hpp"
#include "io/spec/run_spec.hpp"
#include "run/integrator.hpp"
#include "run/points.hpp"

namespace kreisel::python {

namespace py = pybind11;

/// Adds `events` of Python, see Solution, to those of the run; returns their names, which are unique, also among those
/// of the model.
std::vector<std::string> add_events(io::PreparedRun& run, const py::list& events);
/// Throws one InvalidInput that lists the problems of the options of a run.
void refuse_problems(const io::PreparedRun& run);
/// Whether constraints are switched: then points may have other rows than the active system.
bool switches_constraints(const io::PreparedRun& run);

class Solution {
 public:
  /// `t_eval`: increasing times to keep, or None for every step. `events`:
  /// tuples (name, f(t, q, v, lam), direction, terminal_after). `progress`: called with (t, t0, t_end) a few
  /// times a second, or None. `should_stop`: polled as often; true ends the run as interrupted.
  Solution(const io::RunSpec& spec, const py::object& t_eval, const py::list& events, const py::object& progress,
           const py::object& should_stop, bool has_dense_output, bool verifies);
  /// Of a run that a Simulation has advanced so far, with all its steps.
  Solution(io::PreparedRun run, run::Report report, const run::Points& points, std::vector<std::string> event_names);

  const run::Report& report() const { return report_; }
  /// Of the given events, in their order; unique, also among those of the model.
  const std::vector<std::string>& event_names() const { return event_names_; }
  std::vector<std::string> warnings() const;  ///< of the spec and of the run
  py::array_t<double> t() const;
  py::array_t<double> q() const;
  py::array_t<double> v() const;
  py::array_t<double> a() const;
  py::array_t<double> lambda() const;
  py::array_t<double> energy() const;  ///< computed here
  py::array_t<double> steps() const;
  py::array_t<int> orders() const;

  std::vector<std::string> bodies() const;
  std::vector<std::string> rows() const;
  py::array_t<double> positions(int body) const;  ///< (points, 3)
  py::array_t<double> rotations(int body) const;  ///< (points, 3, 3)
  std::vector<std::string> joints() const;
  py::tuple reaction(int joint) const;  ///< force and torque on the second body, inertial, (points, 3) each
  std::vector<std::string> outputs() const;
  py::array_t<double> output(int number, bool is_rate) const;  ///< (points,) or (points, components)
  /// (q, v, v̇, λ) at times within the run, from the steps around them; needs dense output.
  py::tuple interpolate(const std::vector<double>& times) const;
  /// A result folder, as `kreisel run` writes it, of the points as they were computed.
  void write_result(const std::string& folder) const;
  /// As in summary.json, as text; empty when the run was not verified.
  std::string verification() const;

 private:
  class Watcher;
  class Recorder;

  std::size_t count() const { return points_.size(); }
  /// Every step, for dense output and for files.
  const run::Points& steps_taken() const { return has_steps_ ? steps_ : points_; }
  void keep_wanted(const std::vector<double>& times);
  void lay_out_if_empty();
  static void show(const run::Points& points, const run::Report& report, run::Observer& observer);
  py::array_t<double> view(const run::Points::Part& part, bool is_number) const;
  double t_end() const { return std::isnan(run_.options.t_end) ? run_.model.start.t_end : run_.options.t_end; }

  io::PreparedRun run_;
  run::Report report_;
  std::vector<std::string> event_names_;
  run::Points points_;  ///< those that arrays show
  run::Points steps_;   ///< all of them, when dense output is wanted beside t_eval
  bool has_steps_ = false;
  std::optional<io::Verification> verification_;
};

}  // namespace kreisel::python
