#include "solution.hpp"

#include <fmt/format.h>
#include <pybind11/eigen.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>

#include "base/spelling.hpp"
#include "io/result/prepare.hpp"
#include "io/result/result.hpp"
#include "kreisel/error.hpp"
#include "kreisel/solution.hpp"
#include "method/history.hpp"
#include "run/interpolation.hpp"
#include "run/row_map.hpp"
#include "unlocked.hpp"

namespace kreisel::python {
namespace {

/// How often progress is reported to Python, and Python is asked whether to stop.
constexpr auto patience = std::chrono::milliseconds(100);

/// Accurate to a few milliseconds, at a fifth of the cost of steady_clock: it is read at every point.
std::chrono::milliseconds coarse_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::milliseconds(1000 * now.tv_sec + now.tv_nsec / 1'000'000);
}

/// The wanted name, with a number from `number` on appended if it is taken: names must be unique, because occurrences
/// are counted and looked up by name.
std::string own_name(const std::string& wanted, std::size_t number,
                     const std::vector<const std::vector<system::Event>*>& taken) {
  const auto is_taken = [&](const std::string& name) {
    return std::any_of(taken.begin(), taken.end(), [&](const std::vector<system::Event>* list) {
      return std::any_of(list->begin(), list->end(), [&](const system::Event& event) { return event.name == name; });
    });
  };
  std::string name = wanted;
  while (is_taken(name)) name = fmt::format("{} {}", wanted, number++);
  return name;
}

/// `given`: (name, function, direction, terminal_after).
system::Event event_of(const py::tuple& given, const std::string& name) {
  system::Event event;
  event.name = name;
  const int direction = given[2].cast<int>();
  event.direction = direction > 0   ? system::Direction::rising
                    : direction < 0 ? system::Direction::falling
                                    : system::Direction::either;
  event.terminal_after = given[3].cast<int>();
  const py::object function = given[1];
  event.function = [f = function.ptr(), name = event.name](double t, const Vector& q, const Vector& v,
                                                           const Vector& lambda) {
    const py::gil_scoped_acquire lock;
    const py::object value = py::reinterpret_borrow<py::object>(f)(t, q, v, lambda);
    try {
      const auto number = value.cast<double>();
      if (std::isfinite(number)) return number;
    } catch (const py::cast_error&) {
    }
    throw InvalidInput(fmt::format("event '{}' returned {} at t = {:.10g}, expected a finite number", name,
                                   std::string(py::repr(value)).substr(0, 80), t));
  };
  return event;
}

/// A wanted time this close to the end of a step counts as equal to it.
double round_off_at(double t, double h) { return 1e-12 * std::max(std::abs(t), h); }

}  // namespace

bool switches_constraints(const io::PreparedRun& run) {
  return &run.model.system->result_layout() != run.model.system.get();
}

std::vector<std::string> add_events(io::PreparedRun& run, const py::list& events) {
  std::vector<std::string> names;
  for (const auto& handle : events) {
    const auto event = handle.cast<py::tuple>();
    std::vector<system::Event>& own = run.options.events;
    names.push_back(own_name(event[0].cast<std::string>(), own.size(), {&run.model.system->events(), &own}));
    own.push_back(event_of(event, names.back()));
  }
  return names;
}

void refuse_problems(const io::PreparedRun& run) {
  std::string problems;
  for (const run::OptionProblem& problem : run::problems_in(run.options, *run.model.system, run.model.start))
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : "\n", spelled(problem.field), problem.message);
  if (!problems.empty()) throw InvalidInput(problems);
}

/// Reports progress at intervals and asks whether the run shall end early.
class Solution::Watcher : public run::Observer {
 public:
  Watcher(const Solution& out, py::object progress, py::object should_stop)
      : out_(out), progress_(std::move(progress)), should_stop_(std::move(should_stop)) {}

  bool goes_on(double t, long) override {
    if (Unlocked::shall_end()) return false;
    const auto now = coarse_now();
    if (now - last_ < patience) return true;
    last_ = now;
    const py::gil_scoped_acquire lock;
    if (!progress_.is_none()) progress_(t, out_.run_.model.start.t0, out_.t_end());
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return !should_stop_().cast<bool>();
  }

 private:
  const Solution& out_;
  py::object progress_, should_stop_;
  std::chrono::milliseconds last_ = coarse_now();
};

/// Keeps the points.
class Solution::Recorder final : public Solution::Watcher {
 public:
  /// `wanted`: keep only the points at these times, which increase; null: all.
  Recorder(const Solution& out, run::Points& to, const std::vector<double>* wanted, py::object progress,
           py::object should_stop)
      : Watcher(out, std::move(progress), std::move(should_stop)), to_(to), wanted_(wanted) {}

  bool accept(const run::Point& point) override {
    if (wanted_ == nullptr)
      to_.push(point);
    else
      keep_wanted(point);
    return true;
  }

 private:
  /// One row per wanted time: the nearest point within round-off, of equally near ones the last.
  /// Start, end and both sides of an event are shown whether they are wanted or not.
  void keep_wanted(const run::Point& point) {
    const double t = point.entry.motion.t, round_off = round_off_at(t, point.entry.h);
    const auto is_nearer = [&](double wanted) {
      return wanted >= t - round_off && std::abs(t - wanted) <= std::abs(shown_at_.back() - wanted);
    };
    while (!shown_at_.empty() && is_nearer(last_kept())) {
      to_.pop();
      shown_at_.pop_back();
    }
    auto next = std::lower_bound(wanted_->begin(), wanted_->end(), t - round_off);
    if (!shown_at_.empty()) next = std::max(next, std::upper_bound(wanted_->begin(), wanted_->end(), last_kept()));
    for (; next != wanted_->end() && *next <= t + round_off; ++next) {
      to_.push(point, *next);
      shown_at_.push_back(t);
    }
  }
  double last_kept() const { return to_.number(to_.t, to_.size() - 1); }

  run::Points& to_;
  const std::vector<double>* wanted_;
  std::vector<double> shown_at_;  ///< by row of wanted points: when the run showed it
};

Solution::Solution(const io::RunSpec& spec, const py::object& t_eval, const py::list& events,
                   const py::object& progress, const py::object& should_stop, bool has_dense_output, bool verifies)
    : run_(io::prepare(spec)),
      points_({has_dense_output && t_eval.is_none(), switches_constraints(run_)}),
      steps_({true, switches_constraints(run_)}),
      has_steps_(has_dense_output && !t_eval.is_none()) {
  const std::vector<double> times = t_eval.is_none() ? std::vector<double>() : t_eval.cast<std::vector<double>>();
  if (has_dense_output || !t_eval.is_none()) {  // a model file may set another output
    run_.options.output_step = 0.0;
    run_.options.output_times = times;
  }
  event_names_ = add_events(run_, events);
  refuse_problems(run_);
  if (has_steps_) run_.options.output_times.clear();

  Recorder recorder(*this, has_steps_ ? steps_ : points_, t_eval.is_none() || has_steps_ ? nullptr : &times, progress,
                    should_stop);
  {
    const Unlocked unlocked;
    report_ = run::integrate(*run_.model.system, run_.model.start, run_.options, recorder);
    if (has_steps_) keep_wanted(times);
    lay_out_if_empty();
    points_.finish();
    steps_.finish();
    if (!verifies || report_.status != run::Status::success) return;
    io::RowCollector rows(run_);
    show(points_, report_, rows);
    Watcher watcher(*this, progress, should_stop);
    verification_ = io::verify(run_, report_, rows.rows(), watcher);
  }
}

Solution::Solution(io::PreparedRun run, run::Report report, const run::Points& points,
                   std::vector<std::string> event_names)
    : run_(std::move(run)),
      report_(std::move(report)),
      event_names_(std::move(event_names)),
      points_(points),
      steps_({true, switches_constraints(run_)}) {
  lay_out_if_empty();
}

/// Arrays without points have the same columns.
void Solution::lay_out_if_empty() {
  const int rows = run_.model.system->result_layout().pattern().rows();
  const method::Entry blank = method::History::blank(run_.model.system->space(), {rows, 0, 0});
  const system::Residual none;
  for (run::Points* points : {&points_, &steps_})
    if (points->size() == 0) points->lay_out({blank, none});
}

std::vector<std::string> Solution::warnings() const {
  std::vector<std::string> list = run_.warnings;
  list.insert(list.end(), report_.warnings.begin(), report_.warnings.end());
  if (verification_)
    for (const std::string& warning : verification_->warnings) list.push_back("verification: " + warning);
  return list;
}

/// A view of the memory of the points, which is kept alive by the array.
py::array_t<double> Solution::view(const run::Points::Part& part, bool is_number) const {
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(count())},
      strides{static_cast<py::ssize_t>(points_.width() * sizeof(double))};
  if (!is_number) {
    shape.push_back(static_cast<py::ssize_t>(part.size));
    strides.push_back(sizeof(double));
  }
  if (count() == 0) return py::array_t<double>(shape);
  auto owner = std::make_unique<std::shared_ptr<const run::Memory>>(points_.memory());
  const py::capsule base(owner.get(), [](void* p) { delete static_cast<std::shared_ptr<const run::Memory>*>(p); });
  owner.release();
  py::array_t<double> out(shape, strides, points_.row(0) + part.at, base);
  out.attr("setflags")(false);
  return out;
}

py::array_t<double> Solution::t() const { return view(points_.t, true); }
py::array_t<double> Solution::q() const { return view(points_.q, false); }
py::array_t<double> Solution::v() const { return view(points_.v, false); }
py::array_t<double> Solution::a() const { return view(points_.a, false); }
py::array_t<double> Solution::lambda() const { return view(points_.lambda, false); }
py::array_t<double> Solution::steps() const { return view(points_.h, true); }

py::array_t<int> Solution::orders() const {
  py::array_t<int> out(static_cast<py::ssize_t>(count()));
  for (std::size_t i = 0; i < count(); ++i) out.mutable_at(i) = static_cast<int>(points_.number(points_.order, i));
  return out;
}

py::array_t<double> Solution::energy() const {
  py::array_t<double> out(static_cast<py::ssize_t>(count()));
  method::Entry point;
  for (std::size_t i = 0; i < count(); ++i) {
    points_.read(i, point);
    out.mutable_at(i) = points_.in_force(i).energy(point.motion);
  }
  return out;
}

std::vector<std::string> Solution::bodies() const {
  std::vector<std::string> names;
  for (int b = 0; b < run_.model.system->body_count(); ++b) names.push_back(run_.model.system->body_name(b));
  return names;
}

std::vector<std::string> Solution::rows() const {
  std::vector<std::string> names;
  const system::Pattern& pattern = run_.model.system->result_layout().pattern();
  for (int r = 0; r < pattern.rows(); ++r) names.push_back(pattern.row_name(r));
  return names;
}

py::array_t<double> Solution::positions(int body) const {
  py::array_t<double> out({static_cast<py::ssize_t>(count()), py::ssize_t{3}});
  double* to = out.mutable_data();
  for (std::size_t i = 0; i < count(); ++i) {
    const system::Pose pose = run_.model.system->body_pose(body, points_.get(points_.q, i));
    to = std::copy_n(pose.x.data(), 3, to);
  }
  return out;
}

py::array_t<double> Solution::rotations(int body) const {
  py::array_t<double> out({static_cast<py::ssize_t>(count()), py::ssize_t{3}, py::ssize_t{3}});
  double* to = out.mutable_data();
  for (std::size_t i = 0; i < count(); ++i) {
    const Matrix3 R = run_.model.system->body_pose(body, points_.get(points_.q, i)).R.transpose();  // rows first
    to = std::copy_n(R.data(), 9, to);
  }
  return out;
}

std::vector<std::string> Solution::joints() const {
  std::vector<std::string> names;
  for (int j = 0; j < run_.model.system->joint_count(); ++j) names.push_back(run_.model.system->joint_name(j));
  return names;
}

py::tuple Solution::reaction(int joint) const {
  const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(count()), 3};
  py::array_t<double> force(shape), torque(shape);
  double *force_to = force.mutable_data(), *torque_to = torque.mutable_data();
  method::Entry point;
  for (std::size_t i = 0; i < count(); ++i) {
    points_.read(i, point);
    const system::Reaction reaction = run_.model.system->reaction(joint, point.motion, point.lambda);
    force_to = std::copy_n(reaction.force.data(), 3, force_to);
    torque_to = std::copy_n(reaction.torque.data(), 3, torque_to);
  }
  return py::make_tuple(force, torque);
}

std::vector<std::string> Solution::outputs() const {
  std::vector<std::string> names;
  for (const system::OutputInfo& info : run_.model.system->outputs()) names.push_back(info.name);
  return names;
}

py::array_t<double> Solution::output(int number, bool is_rate) const {
  const system::System& system = *run_.model.system;
  const std::vector<system::OutputInfo>& infos = system.outputs();
  int at = 0;
  for (int i = 0; i < number; ++i) at += infos[static_cast<std::size_t>(i)].size();
  const system::OutputInfo& info = infos[static_cast<std::size_t>(number)];
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(count())};
  if (!info.components.empty()) shape.push_back(info.size());
  py::array_t<double> values(shape);
  double* to = values.mutable_data();
  Vector all(system.output_size());
  run::OutputsInForce outputs(system.result_layout());
  method::Entry point;
  for (std::size_t i = 0; i < count(); ++i) {
    points_.read(i, point);
    outputs.evaluate(points_.in_force(i), point.motion, point.lambda, all, is_rate);
    to = std::copy_n(all.data() + at, info.size(), to);
  }
  return values;
}

/// Fills points_ from steps_.
void Solution::keep_wanted(const std::vector<double>& times) {
  if (steps_.size() == 0) return;
  run::Interpolation interpolation(steps_taken(), run_.options, run_.model.system->result_layout());
  method::Entry entry = interpolation.blank();
  system::Residual residual = report_.final_residual;  // for its sizes
  const double last = steps_.number(steps_.t, steps_.size() - 1);
  for (const double t : times) {
    if (t > last + round_off_at(last, 0.0)) break;
    const std::size_t end = interpolation.evaluate(std::min(t, last), entry);
    entry.h = steps_.number(steps_.h, end);
    entry.order = static_cast<int>(steps_.number(steps_.order, end));
    entry.motion.t = t;
    steps_.read_residual(end, entry, residual);
    points_.push(
        {entry, residual, static_cast<long>(points_.size()), false, &steps_.in_force(end), steps_.work_at(end)});
  }
}

py::tuple Solution::interpolate(const std::vector<double>& times) const {
  const run::Points& steps = steps_taken();
  std::vector<py::array_t<double>> out;
  std::vector<double*> to;
  for (const run::Points::Part* part : {&steps.q, &steps.v, &steps.a, &steps.lambda}) {
    out.emplace_back(
        std::vector<py::ssize_t>{static_cast<py::ssize_t>(times.size()), static_cast<py::ssize_t>(part->size)});
    to.push_back(out.back().mutable_data());
  }
  run::Interpolation interpolation(steps_taken(), run_.options, run_.model.system->result_layout());
  method::Entry entry = interpolation.blank();
  for (const double t : times) {
    interpolation.evaluate(t, entry);
    const Vector* values[] = {&entry.motion.q, &entry.motion.v, &entry.motion.a, &entry.lambda};
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = std::copy_n(values[k]->data(), values[k]->size(), to[k]);
  }
  return py::make_tuple(out[0], out[1], out[2], out[3]);
}

void Solution::show(const run::Points& points, const run::Report& report, run::Observer& observer) {
  method::Entry entry = report.final;
  system::Residual residual = report.final_residual;  // for their sizes
  for (std::size_t i = 0; i < points.size(); ++i) {
    points.read(i, entry);
    points.read_residual(i, entry, residual);
    observer.accept({entry, residual, static_cast<long>(i), false, &points.in_force(i), points.work_at(i)});
  }
}

void Solution::write_result(const std::string& folder) const {
  if (steps_taken().size() == 0) throw InvalidInput("the result has no points: there is nothing to write");
  io::ResultRequest request;
  request.folder = folder;
  request.command = "kreisel.solve";
  io::write_to_folder(run_, request, report_, [&](run::Observer& observer) { show(steps_taken(), report_, observer); });
  if (verification_) io::write_verification(folder, *verification_);
}

std::string Solution::verification() const {
  return verification_ ? io::to_json(*verification_).dump() : std::string();
}

}  // namespace kreisel::python
