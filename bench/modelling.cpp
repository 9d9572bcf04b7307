// The cost of the modelling language.
//
//   bench_modelling controller      a robot with six axes under a controller of 1 kHz: in the model, and set from outside
//   bench_modelling quarter-car     constant steps of the quarter car: constant coefficients, and formulas
//
// One JSON object per line on standard output, as bench/support/problem.hpp writes them; `error` of a controller is that of the
// joints at t_end against the same samples at a tolerance of 1e-10.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/simulation.hpp"
#include "run/integrator.hpp"
#include "support/count.hpp"
#include "support/problem.hpp"

namespace {

using namespace kreisel;

constexpr int axes = 6;
constexpr double sample_time = 1e-3, t_end = 1.0;

/// The arm follows a moving target; LAW is its torque.
constexpr const char* robot = R"json({ "name": "robot", "gravity": [0, 0, -9.81],
  "inputs": { "u{i}": {"repeat": {"count": 6}, "value": 0, "unit": "N m"} },
  "bodies": [ {"name": "link{i}", "repeat": {"index": "i", "count": 6}, "mass": "=7 - i", "inertia": ["=0.02*(7 - i)", "=0.02*(7 - i)", "=0.01*(7 - i)"],
               "position": [0, 0, "=0.3*i - 0.15"]} ],
  "joints": [
    {"name": "joint1", "type": "revolute", "between": ["ground", "link1"], "at": [0, 0, 0], "axis": [0, 0, 1]},
    {"name": "joint2", "type": "revolute", "between": ["link1", "link2"], "at": [0, 0, 0.3], "axis": [0, 1, 0]},
    {"name": "joint3", "type": "revolute", "between": ["link2", "link3"], "at": [0, 0, 0.6], "axis": [0, 1, 0]},
    {"name": "joint4", "type": "revolute", "between": ["link3", "link4"], "at": [0, 0, 0.9], "axis": [0, 0, 1]},
    {"name": "joint5", "type": "revolute", "between": ["link4", "link5"], "at": [0, 0, 1.2], "axis": [0, 1, 0]},
    {"name": "joint6", "type": "revolute", "between": ["link5", "link6"], "at": [0, 0, 1.5], "axis": [0, 0, 1]} ],
  "outputs": { "q{i}": {"repeat": {"count": 6}, "angle": "joint{i}"} },
  "forces": [ {"name": "motor{i}", "repeat": {"index": "i", "count": 6}, "type": "torque", "joint": "joint{i}", "value": "=LAW"} ],
  "simulation": {"t_end": 1} })json";
/// The same numbers in the formula and in the loop.
constexpr const char* continuous = "(7 - i)*(60*(0.5*sin(2*t + i) - 0.5*sin(i) - q{i}) - 6*q{i}') + 0*u{i}";
double torque(int axis, double t, double q, double rate) {
  const double i = axis + 1;
  return (7.0 - i) * (60.0 * (0.5 * std::sin(2.0 * t + i) - 0.5 * std::sin(i) - q) - 6.0 * rate);
}

run::Problem problem_of(const std::string& law) {
  std::string text = robot;
  text.replace(text.find("LAW"), 3, law);
  const models::Model model = io::read_model(io::JsonSource("robot.json", text)).model;
  return {model.system, model.start};
}

run::Options options_of(double tolerance) {
  run::Options options;
  options.rtol = options.atol = tolerance;
  return options;
}

using Joints = std::array<double, axes>;

Joints joints_of(const run::Simulation& sim) {
  Joints q{};
  for (int i = 0; i < axes; ++i) q[i] = sim.output(fmt::format("q{}", i + 1));
  return q;
}

void report(const std::string& label, const run::Simulation& sim, double tolerance, const Joints& reference) {
  const run::Report& done = sim.report();
  const Joints q = joints_of(sim);
  double error = 0.0;
  for (int i = 0; i < axes; ++i) error = std::max(error, std::abs(q[i] - reference[i]));
  bench::print({.label = label,
                .method = done.method,
                .tolerance = tolerance,
                .error = error,
                .is_success = done.status == run::Status::success,
                .steps = done.counters.steps,
                .evaluations = done.counters.residual_evaluations,
                .jacobians = done.counters.jacobian_evaluations,
                .iterations = done.counters.newton_iterations,
                .rejected = done.counters.rejected_steps});
}

/// A loop of samples: every one reads the joints and, where `sets`, sets the torques.
void take_samples(run::Simulation& sim, bool sets) {
  static const std::vector<std::string> inputs = [] {
    std::vector<std::string> names;
    for (int i = 0; i < axes; ++i) names.push_back(fmt::format("u{}", i + 1));
    return names;
  }();
  static const std::vector<std::string> outputs = [] {
    std::vector<std::string> names;
    for (int i = 0; i < axes; ++i) names.push_back(fmt::format("q{}", i + 1));
    for (int i = 0; i < axes; ++i) names.push_back(fmt::format("q{}'", i + 1));
    return names;
  }();
  const int samples = static_cast<int>(std::lround(t_end / sample_time));
  for (int k = 0; k < samples; ++k) {
    const double t = k * sample_time;
    for (int i = 0; i < axes && sets; ++i)
      sim.set(inputs[i], torque(i, t, sim.output(outputs[i]), sim.output(outputs[axes + i])));
    sim.advance_to((k + 1) * sample_time);
  }
}

void measure_controller() {
  constexpr double tolerance = 1e-6;
  const run::Problem in_model = problem_of(continuous), sampled = problem_of("u{i}");

  run::Simulation exact(in_model, options_of(1e-10));
  exact.advance_to(t_end);
  const Joints smooth = joints_of(exact);
  run::Simulation exact_samples(sampled, options_of(1e-10));
  take_samples(exact_samples, true);
  const Joints held = joints_of(exact_samples);

  run::Simulation free(in_model, options_of(tolerance));
  bench::count("without samples", [&] { free.advance_to(t_end); });
  report("without samples", free, tolerance, smooth);

  run::Options options = options_of(tolerance);
  options.max_step = sample_time;
  run::Simulation short_steps(in_model, options);
  bench::count("steps of 1 ms", [&] { short_steps.advance_to(t_end); });
  report("steps of 1 ms", short_steps, tolerance, smooth);

  run::Simulation stopped(in_model, options_of(tolerance));
  bench::count("asked at 1 kHz", [&] { take_samples(stopped, false); });
  report("asked at 1 kHz", stopped, tolerance, smooth);

  run::Simulation controlled(sampled, options_of(tolerance));
  bench::count("controller of 1 kHz", [&] { take_samples(controlled, true); });
  report("controller of 1 kHz", controlled, tolerance, held);
}

/// Along the same two rails as the shipped car.
constexpr const char* constant_car = R"json({ "name": "car", "gravity": [0, 0, -9.81],
  "bodies": [ {"name": "wheel", "mass": 40, "inertia": [1, 1, 1], "position": [0, 0, 0.3]},
              {"name": "car", "mass": 400, "inertia": [50, 50, 50], "position": [0, 0, 0.8]} ],
  "joints": [ {"name": "strut", "type": "prismatic", "between": ["wheel", "car"], "at": [0, 0, 0.8], "axis": [0, 0, 1]},
              {"name": "guide", "type": "prismatic", "between": ["ground", "wheel"], "at": [0, 0, 0.3], "axis": [0, 0, 1]} ],
  "outputs": { "travel": {"displacement": "strut"}, "lift": {"displacement": "guide"}, "comfort": {"acceleration": "car"} },
  "forces": [ {"name": "spring", "type": "spring-damper", "between": ["wheel", "car"], "stiffness": 2e4, "damping": 0, "length": 0.6962},
              {"name": "damper", "type": "spring-damper", "between": ["wheel", "car"], "stiffness": 0, "damping": 1125},
              {"name": "tyre", "type": "spring-damper", "between": ["ground", "wheel"], "stiffness": 2e5, "damping": 0, "length": 0.3} ],
  "simulation": {"t_end": 2} })json";

/// Counts the steps after the bump of the road: on the bump the method ends steps at its corners.
class CountSteps final : public run::Observer {
 public:
  explicit CountSteps(std::string label, double end) : label_(std::move(label)), end_(end) {}
  bool accept(const run::Point& point) override {
    if (point.entry.motion.t < 0.2) return true;
    if (first_ < 0) {
      first_ = point.number;
      bench::start_counting();
    } else if (point.entry.motion.t >= end_) {
      bench::stop_counting(label_);
      steps = point.number - first_;
    }
    return true;
  }
  long steps = 0;

 private:
  std::string label_;
  double end_;
  long first_ = -1;
};

void measure_car(const std::string& label, const io::RunSpec& given) {
  constexpr double end = 0.5;
  io::RunSpec spec = given;
  spec.set("step", 1e-3).set("t_end", end);
  const io::PreparedRun prepared = io::prepare(spec);
  CountSteps counter(label, end);
  const run::Report done = run::integrate(*prepared.model.system, prepared.model.start, prepared.options, counter);
  bench::print({.label = label,
                .method = done.method,
                .tolerance = 1e-3,
                .is_success = done.status == run::Status::success,
                .steps = counter.steps,
                .evaluations = done.counters.residual_evaluations,
                .jacobians = done.counters.jacobian_evaluations,
                .iterations = done.counters.newton_iterations});
}

void measure_cars() {
  io::RunSpec constant;
  constant.own_model = std::make_shared<const models::ModelInfo>(
      io::model_of(std::make_shared<io::JsonSource>("car.json", constant_car)));
  measure_car("constant coefficients", constant);
  io::RunSpec formulas;
  formulas.model = "quarter-car";
  measure_car("formulas", formulas);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "controller") {
    measure_controller();
  } else if (what == "quarter-car") {
    measure_cars();
  } else {
    fmt::print(stderr, "usage: {} controller|quarter-car\n", argv[0]);
    return 2;
  }
}
