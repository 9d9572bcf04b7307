// A run that Python advances, reads and sets inputs of.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/spec/run_spec.hpp"
#include "kreisel/simulation.hpp"
#include "run/points.hpp"
#include "solution.hpp"

namespace kreisel::python {

class Simulation {
 public:
  /// `events` as of Solution. `checkpoint`: bytes to continue from. `should_stop`: polled; true ends `advance_to` early.
  Simulation(const io::RunSpec& spec, const py::list& events, const py::object& should_stop,
             const std::optional<py::bytes>& checkpoint);
  ~Simulation();

  /// False: it was stopped on the way, and can be continued.
  bool advance_to(double t);
  double time() const { return sim_->time(); }
  double t_end() const { return sim_->t_end(); }
  bool has_ended() const { return sim_->has_ended(); }
  const run::Report& report() const { return sim_->report(); }
  std::vector<std::string> warnings() const;

  void set(const std::string& input, double value) { sim_->set(input, value); }
  std::vector<std::string> inputs() const;
  double input(const std::string& name) const { return sim_->input(name); }
  /// By name: their components, none for a number.
  std::vector<std::pair<std::string, std::vector<std::string>>> outputs() const;
  double output(const std::string& name) const { return sim_->output(name); }

  run::State state() const { return sim_->state(); }
  std::vector<std::string> bodies() const;
  /// All points so far.
  std::unique_ptr<Solution> solution() const;
  py::bytes checkpoint() const { return sim_->checkpoint(); }

 private:
  class Recorder;

  io::PreparedRun run_;
  std::vector<std::string> event_names_;
  run::Points points_;
  std::unique_ptr<Recorder> recorder_;
  std::optional<run::Simulation> sim_;
};

}  // namespace kreisel::python
