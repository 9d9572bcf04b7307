#include "run/recording.hpp"

#include <fmt/format.h>

#include <utility>

namespace kreisel::run {

std::size_t Recording::bytes_of(const Point& point) {
  const method::Entry& e = point.entry;
  const Eigen::Index numbers = e.motion.q.size() + e.motion.v.size() + e.motion.a.size() + e.lambda.size() +
                               e.eta.size() + e.omega.size() + e.memory.size() + point.closed_lambda.size();
  return sizeof(Point) + static_cast<std::size_t>(numbers) * sizeof(double);
}

void Recording::push(Point point) {
  bytes_ += bytes_of(point);
  points_.push_back(std::move(point));
  ++next_;
}

void Recording::forget(int newest) {
  while (points_.size() > static_cast<std::size_t>(newest)) {
    bytes_ -= bytes_of(points_.front());
    points_.pop_front();
    ++oldest_;
  }
}

void Recording::begin(std::shared_ptr<const system::System> system, const Plan& plan, const Options& options,
                      bool ends_at_corner, const Stepper& stepper, const StartingPoints& wanted) {
  const auto* implicit = dynamic_cast<const ImplicitStepper*>(&stepper);
  if (implicit == nullptr) return stop(fmt::format("steps of {} are not maps of their past", plan.method->name));
  if (!implicit->is_plain()) return stop("the steps are projected");
  const method::History& history = implicit->history();
  if (spells_.empty() || spells_.back().first < next_)
    spells_.push_back({next_, history.size(), std::move(system), plan, options, ends_at_corner, wanted});
  shown_ = next_;
  for (int age = history.size() - 1; age >= 0; --age) push({history[age], {}, false});
}

void Recording::take(Stepper& stepper, const Proposal&, bool ends_at_stop) {
  if (!is_going()) return;
  const auto& implicit = static_cast<ImplicitStepper&>(stepper);
  if (points_.empty()) {  // from a checkpoint
    const method::History& history = implicit.history();
    next_ -= history.size();
    oldest_ = next_;
    for (int age = history.size() - 1; age >= 0; --age) push({history[age], {}, false});
  }
  lambda_ = stepper.trial().lambda;
  ends_at_stop_ = ends_at_stop;
}

void Recording::committed(const Stepper& stepper) {
  if (!is_going()) return;
  const auto& implicit = static_cast<const ImplicitStepper&>(stepper);
  shown_ = next_;
  push({stepper.now(), implicit.has_settled_lambda() ? lambda_ : Vector(), ends_at_stop_});
}

void Recording::cut(Stepper&, const Happening& happening, const system::Event& first, const method::Entry&) {
  stop(fmt::format("event '{}' at t = {:.6g} changes the motion", first.name, happening.t));
}

}  // namespace kreisel::run
