#include "solution.hpp"

#include <fmt/format.h>
#include <pybind11/eigen.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>

#include "kreisel/base/error.hpp"
#include "kreisel/io/result.hpp"
#include "kreisel/run/dense_output.hpp"

namespace kreisel::python {
namespace {

/// How often Python is told how far the run is, and asked whether it shall go on.
constexpr auto patience = std::chrono::milliseconds(100);

system::Event event_of(const py::object& function, std::size_t number) {
  if (PyCallable_Check(function.ptr()) == 0)
    throw InvalidInput(fmt::format("events[{}] is {}, expected a function of (t, q, v, lam)", number,
                                   std::string(py::repr(function)).substr(0, 80)));
  system::Event event;
  event.name = py::hasattr(function, "__name__") ? function.attr("__name__").cast<std::string>() : fmt::format("event {}", number);
  const double direction = py::hasattr(function, "direction") ? function.attr("direction").cast<double>() : 0.0;
  event.direction = direction > 0.0   ? system::Direction::rising
                    : direction < 0.0 ? system::Direction::falling
                                      : system::Direction::either;
  if (py::hasattr(function, "terminal")) event.terminal_after = function.attr("terminal").cast<int>();
  event.function = [f = function.ptr(), name = event.name](double t, const Vector& q, const Vector& v, const Vector& lambda) {
    const py::gil_scoped_acquire lock;
    const py::object value = py::reinterpret_borrow<py::object>(f)(t, q, v, lambda);
    try {
      return value.cast<double>();
    } catch (const py::cast_error&) {
      throw InvalidInput(fmt::format("event '{}' returned {}, expected a number", name, std::string(py::repr(value)).substr(0, 80)));
    }
  };
  return event;
}

/// Whether constraints come and go: then points have other rows than the system in force.
bool switches_constraints(const io::PreparedRun& run) {
  return &run.model.system->result_layout() != run.model.system.get();
}

}  // namespace

/// Keeps every point; now and then asks whether the run shall end with what there is.
class Solution::Recorder final : public run::Observer {
 public:
  Recorder(Solution& out, py::object progress, py::object should_stop)
      : out_(out), progress_(std::move(progress)), should_stop_(std::move(should_stop)) {}

  bool accept(const run::Point& point) override {
    out_.points_.push(point);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < patience) return true;
    last_ = now;
    const py::gil_scoped_acquire lock;
    if (!progress_.is_none()) progress_(point.entry.motion.t, out_.run_.model.start.t0, out_.t_end());
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return !should_stop_().cast<bool>();
  }

 private:
  Solution& out_;
  py::object progress_, should_stop_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Solution::Solution(const io::RunRequest& request, const py::object& t_span, const py::object& t_eval, const py::list& events,
                   const py::object& progress, const py::object& should_stop, bool has_dense_output)
    : run_(io::prepare(request)), points_({has_dense_output, switches_constraints(run_)}) {
  if (!t_span.is_none()) {
    const auto [t0, t_end] = t_span.cast<std::pair<double, double>>();
    run_.model.start.t0 = t0;
    run_.options.t_end = t_end;
  }
  if (!t_eval.is_none()) run_.options.output_times = t_eval.cast<std::vector<double>>();
  for (std::size_t i = 0; i < events.size(); ++i) run_.options.events.push_back(event_of(events[i], i));
  std::string problems;
  for (const run::Problem& problem : run::problems_in(run_.options, *run_.model.system, run_.model.start))
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : "\n", problem.field, problem.message);
  if (!problems.empty()) throw InvalidInput(problems);

  Recorder recorder(*this, progress, should_stop);
  const py::gil_scoped_release released;
  report_ = run::integrate(*run_.model.system, run_.model.start, run_.options, recorder);
}

/// A view of the memory of the points, which lives as long as the array does.
py::array_t<double> Solution::view(const Points::Part& part, bool is_number) const {
  std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(count())}, strides{static_cast<py::ssize_t>(points_.width() * sizeof(double))};
  if (!is_number) {
    shape.push_back(static_cast<py::ssize_t>(part.size));
    strides.push_back(sizeof(double));
  }
  if (count() == 0) return py::array_t<double>(shape);
  auto owner = std::make_unique<std::shared_ptr<const Memory>>(points_.memory());
  const py::capsule base(owner.get(), [](void* p) { delete static_cast<std::shared_ptr<const Memory>*>(p); });
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

py::tuple Solution::interpolate(const std::vector<double>& times) const {
  const system::System& system = *run_.model.system;
  const int rows = static_cast<int>(points_.lambda.size);
  const method::EntrySizes sizes{rows, static_cast<int>(points_.eta.size), 0};
  run::DenseOutput dense(system.space(), rows);
  constexpr std::size_t most = 7;
  const auto time = [&](std::size_t i) { return points_.number(points_.t, i); };
  const auto parts = {&points_.q, &points_.v, &points_.a, &points_.lambda};
  std::vector<py::array_t<double>> out;
  std::vector<double*> to;
  for (const Points::Part* part : parts) {
    out.emplace_back(std::vector<py::ssize_t>{static_cast<py::ssize_t>(times.size()), static_cast<py::ssize_t>(part->size)});
    to.push_back(out.back().mutable_data());
  }
  method::Entry entry = method::History::blank(system.space(), sizes), past = entry;
  for (const double t : times) {
    if (count() == 0 || !(t >= time(0) && t <= time(count() - 1)))
      throw InvalidInput(count() == 0 ? std::string("the run has no points")
                                      : fmt::format("t = {} is outside the run, which goes from {} to {}", t, time(0), time(count() - 1)));
    // The step that ends after t; of the two sides of a jump the later one.
    std::size_t below = 0, end = count();
    while (below < end) {
      const std::size_t middle = (below + end) / 2;
      if (t < time(middle))
        end = middle;
      else
        below = middle + 1;
    }
    end = std::min(end, count() - 1);
    const std::size_t before = end > 0 ? end - 1 : 0;
    if (time(end) == t || time(before) == t) {
      points_.read(time(end) == t ? end : before, entry);
    } else {
      std::size_t first = end;
      while (first > 0 && end - first < most - 1 && time(first - 1) < time(first)) --first;
      method::History history(system.space(), sizes, most);
      for (std::size_t i = first; i <= end; ++i) {
        points_.read(i, past);
        history.push(past);
      }
      const int order = static_cast<int>(points_.number(points_.order, end));
      dense.evaluate(history, std::min(order + 1, history.size()), t, entry);
    }
    const Vector* values[] = {&entry.motion.q, &entry.motion.v, &entry.motion.a, &entry.lambda};
    for (std::size_t k = 0; k < to.size(); ++k) to[k] = std::copy_n(values[k]->data(), values[k]->size(), to[k]);
  }
  return py::make_tuple(out[0], out[1], out[2], out[3]);
}

void Solution::write_result(const std::string& folder) const {
  io::ResultRequest request;
  request.folder = folder;
  request.command = "kreisel.solve";
  io::write_to_folder(run_, request, report_, [&](run::Observer& observer) {
    method::Entry entry = report_.final;
    system::Residual residual = report_.final_residual;  // for their sizes
    for (std::size_t i = 0; i < count(); ++i) {
      points_.read(i, entry);
      points_.read_residual(i, entry, residual);
      observer.accept({entry, residual, static_cast<long>(i), false, &points_.in_force(i), points_.work_at(i)});
    }
  });
}

}  // namespace kreisel::python
