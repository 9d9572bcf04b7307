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

template <class Pick>
py::array_t<double> stack(const std::vector<method::Entry>& points, Eigen::Index columns, Pick pick) {
  py::array_t<double> out({static_cast<py::ssize_t>(points.size()), static_cast<py::ssize_t>(columns)});
  double* to = out.mutable_data();
  for (const method::Entry& point : points) {
    const Vector& row = pick(point);
    to = std::copy_n(row.data(), columns, to);
  }
  return out;
}

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

}  // namespace

/// Keeps every point; now and then asks whether the run shall end with what there is.
class Solution::Recorder final : public run::Observer {
 public:
  Recorder(Solution& out, py::object progress, py::object should_stop)
      : out_(out), progress_(std::move(progress)), should_stop_(std::move(should_stop)) {}

  bool accept(const run::Point& point) override {
    out_.points_.push_back(point.entry);
    out_.energy_.push_back(point.system != nullptr ? point.system->energy(point.entry.motion) : NAN);
    for (const Vector* part : {&point.residual.gap, &point.residual.rate})
      out_.residuals_.insert(out_.residuals_.end(), part->data(), part->data() + part->size());
    out_.work_.push_back(point.work);
    out_.in_force_.push_back(point.system);
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
                   const py::object& progress, const py::object& should_stop)
    : run_(io::prepare(request)) {
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

py::array_t<double> Solution::t() const {
  py::array_t<double> out(static_cast<py::ssize_t>(count()));
  for (std::size_t i = 0; i < count(); ++i) out.mutable_at(i) = points_[i].motion.t;
  return out;
}

py::array_t<double> Solution::q() const {
  return stack(points_, run_.model.system->space().nq(), [](const method::Entry& e) -> const Vector& { return e.motion.q; });
}
py::array_t<double> Solution::v() const {
  return stack(points_, run_.model.system->space().nv(), [](const method::Entry& e) -> const Vector& { return e.motion.v; });
}
py::array_t<double> Solution::a() const {
  return stack(points_, run_.model.system->space().nv(), [](const method::Entry& e) -> const Vector& { return e.motion.a; });
}
py::array_t<double> Solution::lambda() const {
  return stack(points_, run_.model.system->result_layout().pattern().rows(),
               [](const method::Entry& e) -> const Vector& { return e.lambda; });
}
py::array_t<double> Solution::energy() const { return py::array_t<double>(static_cast<py::ssize_t>(energy_.size()), energy_.data()); }

py::array_t<double> Solution::steps() const {
  py::array_t<double> out(static_cast<py::ssize_t>(count()));
  for (std::size_t i = 0; i < count(); ++i) out.mutable_at(i) = points_[i].h;
  return out;
}
py::array_t<int> Solution::orders() const {
  py::array_t<int> out(static_cast<py::ssize_t>(count()));
  for (std::size_t i = 0; i < count(); ++i) out.mutable_at(i) = points_[i].order;
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
  for (const method::Entry& point : points_) {
    const system::Pose pose = run_.model.system->body_pose(body, point.motion.q);
    to = std::copy_n(pose.x.data(), 3, to);
  }
  return out;
}

py::array_t<double> Solution::rotations(int body) const {
  py::array_t<double> out({static_cast<py::ssize_t>(count()), py::ssize_t{3}, py::ssize_t{3}});
  double* to = out.mutable_data();
  for (const method::Entry& point : points_) {
    const Matrix3 R = run_.model.system->body_pose(body, point.motion.q).R.transpose();  // rows first
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
  for (const method::Entry& point : points_) {
    const system::Reaction reaction = run_.model.system->reaction(joint, point.motion, point.lambda);
    force_to = std::copy_n(reaction.force.data(), 3, force_to);
    torque_to = std::copy_n(reaction.torque.data(), 3, torque_to);
  }
  return py::make_tuple(force, torque);
}

py::tuple Solution::interpolate(const std::vector<double>& times) const {
  const system::System& system = *run_.model.system;
  const int rows = system.result_layout().pattern().rows();
  const method::EntrySizes sizes{rows, static_cast<int>(points_.front().eta.size()), static_cast<int>(points_.front().memory.size())};
  run::DenseOutput dense(system.space(), rows);
  std::vector<method::Entry> out;
  constexpr int most = 7;
  for (const double t : times) {
    if (!(t >= points_.front().motion.t && t <= points_.back().motion.t))
      throw InvalidInput(fmt::format("t = {} is outside the run, which goes from {} to {}", t, points_.front().motion.t, points_.back().motion.t));
    // The step that ends at or after t; of the two sides of a jump the later one.
    const auto after = std::upper_bound(points_.begin(), points_.end(), t, [](double x, const method::Entry& e) { return x < e.motion.t; });
    std::size_t end = after == points_.end() ? points_.size() - 1 : static_cast<std::size_t>(after - points_.begin());
    if (points_[end - 1].motion.t == t || points_.size() == 1) {
      out.push_back(points_[end - 1]);
      continue;
    }
    std::size_t first = end;
    while (first > 0 && end - first < most - 1 && points_[first - 1].motion.t < points_[first].motion.t) --first;
    method::History history(system.space(), sizes, most);
    for (std::size_t i = first; i <= end; ++i) {
      method::Entry entry = points_[i];
      history.push(entry);
    }
    method::Entry entry = method::History::blank(system.space(), sizes);
    dense.evaluate(history, std::min(points_[end].order + 1, history.size()), t, entry);
    entry.motion.t = t;
    out.push_back(entry);
  }
  const int nq = system.space().nq(), nv = system.space().nv();
  return py::make_tuple(stack(out, nq, [](const method::Entry& e) -> const Vector& { return e.motion.q; }),
                        stack(out, nv, [](const method::Entry& e) -> const Vector& { return e.motion.v; }),
                        stack(out, nv, [](const method::Entry& e) -> const Vector& { return e.motion.a; }),
                        stack(out, rows, [](const method::Entry& e) -> const Vector& { return e.lambda; }));
}

void Solution::write_result(const std::string& folder) const {
  io::ResultRequest request;
  request.folder = folder;
  request.command = "kreisel.solve";
  system::Residual residual = report_.final_residual;  // for its sizes
  io::write_to_folder(run_, request, report_, [&](run::Observer& observer) {
    const double* from = residuals_.data();
    for (std::size_t i = 0; i < count(); ++i) {
      for (Vector* part : {&residual.gap, &residual.rate}) {
        *part = Eigen::Map<const Vector>(from, part->size());
        from += part->size();
      }
      observer.accept({points_[i], residual, static_cast<long>(i), false, in_force_[i], work_[i]});
    }
  });
}

}  // namespace kreisel::python
