#include "simulation.hpp"

#include <chrono>
#include <cmath>

#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"
#include "method/history.hpp"
#include "unlocked.hpp"

namespace kreisel::python {
namespace {

/// Ends `advance_to` between two attempts, where nothing is lost.
struct Stopped {};

}  // namespace

/// Keeps the points, and polls whether to stop.
class Simulation::Recorder final : public run::Observer {
 public:
  Recorder(run::Points& points, py::object should_stop) : points_(points), should_stop_(std::move(should_stop)) {}

  bool accept(const run::Point& point) override {
    points_.push(point);
    return true;
  }
  void attempted(const run::Attempt&) override {
    if (Unlocked::shall_end()) throw Stopped();
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < patience) return;
    last_ = now;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (should_stop_().cast<bool>()) throw Stopped();
  }

 private:
  static constexpr auto patience = std::chrono::milliseconds(100);

  run::Points& points_;
  py::object should_stop_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Simulation::Simulation(const io::RunSpec& spec, const py::list& events, const py::object& should_stop,
                       const std::optional<py::bytes>& checkpoint)
    : run_(io::prepare(spec)),
      points_({true, switches_constraints(run_)}),
      recorder_(std::make_unique<Recorder>(points_, should_stop)) {
  event_names_ = add_events(run_, events);
  refuse_problems(run_);
  const std::string bytes = checkpoint ? std::string(*checkpoint) : std::string();
  run::Problem problem{run_.model.system, run_.model.start};
  problem.has_end = !std::isnan(run_.options.t_end);
  {
    const Unlocked unlocked;
    if (checkpoint)
      sim_.emplace(problem, run_.options, std::string_view(bytes), recorder_.get());
    else
      sim_.emplace(problem, run_.options, recorder_.get());
  }
  // The system with the inputs that are set, to evaluate points later.
  run_.model.system = sim_->state().system;
}

Simulation::~Simulation() = default;

bool Simulation::advance_to(double t) {
  const Unlocked unlocked;
  try {
    sim_->advance_to(t);
    return true;
  } catch (const Stopped&) {
    return false;
  }
}

std::vector<std::string> Simulation::warnings() const {
  std::vector<std::string> list = run_.warnings;
  list.insert(list.end(), report().warnings.begin(), report().warnings.end());
  return list;
}

std::vector<std::string> Simulation::inputs() const {
  std::vector<std::string> names;
  for (const system::InputInfo& info : run_.model.system->inputs()) names.push_back(info.name);
  return names;
}

std::vector<std::pair<std::string, std::vector<std::string>>> Simulation::outputs() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> list;
  for (const system::OutputInfo& info : run_.model.system->outputs()) list.emplace_back(info.name, info.components);
  return list;
}

std::vector<std::string> Simulation::bodies() const {
  std::vector<std::string> names;
  for (int b = 0; b < run_.model.system->body_count(); ++b) names.push_back(run_.model.system->body_name(b));
  return names;
}

std::unique_ptr<Solution> Simulation::solution() const {
  run::Report report = sim_->report();
  if (!sim_->has_ended() && points_.size() > 0) {
    const std::size_t last = points_.size() - 1;
    report.final = method::History::blank(run_.model.system->space(),
                                          {run_.model.system->result_layout().pattern().rows(),
                                           run_.model.system->result_layout().pattern().position_rows(), 0});
    points_.read(last, report.final);
    report.final_residual =
        system::Residual(run_.model.system->space().nv(), run_.model.system->result_layout().pattern().position_rows(),
                         run_.model.system->result_layout().pattern().rows());
    points_.read_residual(last, report.final, report.final_residual);
  }
  return std::make_unique<Solution>(run_, std::move(report), points_, event_names_);
}

}  // namespace kreisel::python
