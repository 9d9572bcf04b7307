#include "kreisel/solution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "drive.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "run/interpolation.hpp"

namespace kreisel::run {

using method::Entry;

double State::energy() const {
  lie::Motion m(system->space());
  m.t = t;
  m.q = q;
  m.v = v;
  m.a = a;
  return system->energy(m);
}

/// A stepper of the segment that a step belongs to, restored to the end of that step.
class Interpolation::Recall {
 public:
  Recall(const Points& points, const Options& options, const system::System& layout)
      : points_(points), options_(options), layout_(layout) {}

  [[nodiscard]] bool at(std::size_t end, double t, Entry& out) {
    const system::System& system = points_.in_force(end);
    if (system_ != &system || plan_->options.method != points_.method_of(end)) make_stepper_for(system, end);
    if (end_ != end) {
      const std::size_t oldest = points_.oldest_of(end, static_cast<std::size_t>(stepper_->depth()));
      past_.resize(end - oldest + 1);
      for (std::size_t i = oldest; i <= end; ++i) read(i, past_[i - oldest]);
      stepper_->recall(past_);
      end_ = end;
    }
    if (!stepper_->at(t, inner_)) return false;
    out.motion = inner_.motion;
    rows_->map().spread(inner_.lambda, out.lambda);
    rows_->map().spread(inner_.eta, out.eta);
    out.omega = inner_.omega;
    out.h = inner_.h;
    out.order = inner_.order;
    return true;
  }

 private:
  void make_stepper_for(const system::System& system, std::size_t end) {
    system_ = &system;
    end_.reset();
    points_.read(points_.oldest_of(end, points_.size()), row_);
    const system::Start start{points_.number(points_.t, 0), points_.number(points_.t, points_.size() - 1),
                              row_.motion.q, row_.motion.v};
    Options options = options_;
    options.method = points_.method_of(end);
    plan_.emplace(make_plan(options, system, start));
    rows_.emplace(system, layout_);
    stepper_ = make_stepper(*plan_, system, counters_);
    inner_ = method::History::blank(system.space(), {system.pattern().rows(), system.pattern().position_rows(), 0});
  }
  /// In the rows of the active system.
  void read(std::size_t i, Entry& to) {
    points_.read(i, row_);
    to.motion = row_.motion;
    to.lambda.resize(system_->pattern().rows());
    to.eta.resize(system_->pattern().position_rows());
    rows_->map().gather(row_.lambda, to.lambda);
    rows_->map().gather(row_.eta, to.eta);
    to.omega = row_.omega;
    to.memory = row_.memory;
    to.h = row_.h;
    to.order = row_.order;
  }

  const Points& points_;
  const Options& options_;
  const system::System& layout_;
  const system::System* system_ = nullptr;  ///< that the stepper was made for
  std::optional<std::size_t> end_;          ///< of the present step
  Counters counters_;
  std::optional<Plan> plan_;
  std::optional<ResultRows> rows_;
  std::unique_ptr<Stepper> stepper_;
  std::vector<Entry> past_;
  Entry row_, inner_;
};

Interpolation::Interpolation(const Points& points, const Options& options, const system::System& layout)
    : points_(points), options_(options), layout_(layout), recall_(std::make_unique<Recall>(points, options, layout)) {}

Interpolation::~Interpolation() = default;

Entry Interpolation::blank() const {
  return method::History::blank(layout_.space(), {layout_.pattern().rows(), layout_.pattern().position_rows(), 0});
}

std::size_t Interpolation::evaluate(double t, Entry& out) {
  const auto time = [&](std::size_t i) { return points_.number(points_.t, i); };
  const std::size_t count = points_.size();
  if (count == 0) throw InvalidInput("the run has no points");
  if (!(t >= time(0) && t <= time(count - 1)))
    throw InvalidInput(fmt::format("t = {} is outside the run, which goes from {} to {}", t, time(0), time(count - 1)));
  std::size_t below = 0, end = count;
  while (below < end) {
    const std::size_t middle = (below + end) / 2;
    if (t < time(middle))
      end = middle;
    else
      below = middle + 1;
  }
  end = std::min(end, count - 1);
  const std::size_t before = end > 0 ? end - 1 : 0;
  if (time(end) == t || time(before) == t) {
    const std::size_t here = time(end) == t ? end : before;
    points_.read(here, out);
    return here;
  }
  if (!recall_->at(end, t, out))
    throw InvalidInput(fmt::format("the motion at t = {} cannot be computed from the points around it", t));
  return end;
}

struct Solution::Kept {
  Problem problem;
  Options options;
  Points points{{.has_increments = true, .has_residuals = true}};
  Report report;
};

const Report& Solution::report() const { return kept_->report; }
std::size_t Solution::size() const { return kept_->points.size(); }
const Points& Solution::points() const { return kept_->points; }
const Problem& Solution::problem() const { return kept_->problem; }

State Solution::state_of(const Entry& entry, std::size_t i) const {
  const system::System& in_force = points().in_force(i);
  std::shared_ptr<const system::System> system = kept_->problem.system;
  for (const auto& one : report().systems)
    if (one.get() == &in_force && system.get() != &in_force) system = one;
  return {entry.motion.t, entry.motion.q, entry.motion.v, entry.motion.a, entry.lambda, std::move(system)};
}

State Solution::operator[](std::size_t i) const {
  Entry entry;
  points().read(i, entry);
  return state_of(entry, i);
}

State Solution::at(double t) const {
  if (interpolation_ == nullptr || interpolation_.use_count() > 1)
    interpolation_ =
        std::make_shared<Interpolation>(kept_->points, kept_->options, kept_->problem.system->result_layout());
  Entry entry = interpolation_->blank();
  const std::size_t end = interpolation_->evaluate(t, entry);
  return state_of(entry, end);
}

namespace {

/// Keeps the points and passes everything on.
class PointKeeper final : public Observer {
 public:
  PointKeeper(Points& points, Observer& next) : points_(points), next_(next) {}

  bool accept(const Point& point) override {
    points_.push(point);
    return next_.accept(point);
  }
  bool goes_on(double t, long steps) override { return next_.goes_on(t, steps); }
  void attempted(const Attempt& attempt) override { next_.attempted(attempt); }
  void happened(const Occurrence& occurrence) override { next_.happened(occurrence); }
  bool wants_checkpoint() override { return next_.wants_checkpoint(); }
  void checkpoint(std::string_view bytes) override { next_.checkpoint(bytes); }

 private:
  Points& points_;
  Observer& next_;
};

}  // namespace

Solution solve(const Problem& problem, const Options& options, Observer& observer) {
  Solution out;
  out.kept_ = std::make_shared<Solution::Kept>();
  Solution::Kept& kept = *out.kept_;
  kept.problem = problem;
  kept.options = options;
  kept.options.events.insert(kept.options.events.end(), problem.events.begin(), problem.events.end());
  kept.options.output_step = 0.0;
  kept.options.output_times.clear();
  PointKeeper keeper(kept.points, observer);
  kept.report = integrate(*problem.system, problem.start, kept.options, keeper);
  kept.points.finish();
  return out;
}

Solution solve(const Problem& problem, const Options& options) {
  Observer nobody;
  return solve(problem, options, nobody);
}

}  // namespace kreisel::run
