#include "events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kreisel/error.hpp"
#include "run/scaling.hpp"
#include "solve/kkt.hpp"
#include "system/differences.hpp"

namespace kreisel::run {

using method::Entry;
using system::Event;

namespace {

/// Each step is sampled in at least this many pieces, because a function may cross zero twice within one; their number doubles
/// until bodies turn by less than this angle in one and polynomials through every other sample reproduce the rest to a part of
/// its range.
constexpr std::size_t least_pieces = 4, most_pieces = 256;
constexpr double largest_turn = 0.4;
constexpr double resolved_part = 0.1;
constexpr int max_refinements = 100;
/// Where a probe tells whether a function turns back between the end of a step and the next sample, in parts of their distance.
constexpr double probe_part = 0.02;
/// In the search for the smallest value of a function.
constexpr int max_dip_steps = 80;
constexpr double golden_part = 0.381966;
/// Halvings in the search for the sign of a function just after an event.
constexpr int max_halvings = 48;
/// Constraints that an event switches on may be violated by this much, relative to the size of q.
constexpr double switch_tolerance = 1e-3;
/// Relative accuracy of the normals of impacts.
constexpr double normal_accuracy = 1e-10;

int sign_of(double g) { return g > 0.0 ? 1 : g < 0.0 ? -1 : 0; }

bool counts(system::Direction direction, bool is_rising) {
  return direction == system::Direction::either || (direction == system::Direction::rising) == is_rising;
}

}  // namespace

EventWatch::EventWatch(const system::System& system, const std::vector<Event>& asked,
                       const std::vector<Event>& contacts, const RowMap& map, int layout_rows, double tolerance)
    : system_(system), map_(map), tolerance_(tolerance), layout_lambda_(Vector::Zero(layout_rows)) {
  for (const Event& event : system.events()) events_.push_back(&event);
  own_ = events_.size();
  for (const Event& event : asked) events_.push_back(&event);
  contacts_at_ = events_.size();
  for (const Event& event : contacts) events_.push_back(&event);
  value_.assign(events_.size(), 0.0);
  size_.assign(events_.size(), 0.0);
  side_.assign(events_.size(), 0);
  samples_.resize(events_.size());
  for (auto& list : samples_) list.reserve(2 * most_pieces + 1);
  refined_.reserve(2 * most_pieces + 1);
  crossings_.reserve(2 * most_pieces);
  for (const Part& part : parts_of(system))
    if (part.q_at < 0) rotations_.push_back(part.v_at);
}

/// How far a body turns in the step, at most.
double EventWatch::turn_in(const Entry& newest) const {
  double largest = 0.0;
  for (const int at : rotations_)
    largest = std::max({largest, newest.omega.segment<3>(at).norm(), newest.h * newest.motion.v.segment<3>(at).norm()});
  return largest;
}

/// Whether the parabolas through the samples before the last doubling reproduce the new ones.
bool EventWatch::is_resolved(int event) const {
  const std::vector<Sample>& list = samples_[event];
  const auto [low, high] =
      std::minmax_element(list.begin(), list.end(), [](const Sample& a, const Sample& b) { return a.g < b.g; });
  const double allowed = std::max(resolved_part * (high->g - low->g), noise(event));
  for (std::size_t m = 1; m + 1 < list.size(); m += 2) {
    const std::size_t first = std::min(m - 1, list.size() - 5);  // of three old ones, at first, first + 2 and first + 4
    const double x = 0.5 * static_cast<double>(m - first);
    const double parabola = 0.5 * (x - 1.0) * (x - 2.0) * list[first].g - x * (x - 2.0) * list[first + 2].g +
                            0.5 * x * (x - 1.0) * list[first + 4].g;
    if (!(std::abs(list[m].g - parabola) <= allowed)) return false;
  }
  return true;
}

/// Equally spaced values of all functions over the newest step.
void EventWatch::sample(const Entry& newest, Interpolant interpolate, Entry& scratch) {
  const double begin = t_, end = newest.motion.t;
  const int count = static_cast<int>(events_.size());
  for (int i = 0; i < count; ++i) {
    samples_[i].assign(1, {begin, value_[i]});
    samples_[i].push_back({end, evaluate(i, newest)});
  }
  const double turn = turn_in(newest);
  for (std::size_t pieces = 2; pieces <= most_pieces; pieces *= 2) {
    for (int i = 0; i < count; ++i) {
      refined_.assign(samples_[i].begin(), samples_[i].end());
      samples_[i].resize(pieces + 1);
      for (std::size_t m = 0; m < refined_.size(); ++m) samples_[i][2 * m] = refined_[m];
    }
    for (std::size_t m = 1; m < pieces; m += 2) {
      const double t = begin + (end - begin) * static_cast<double>(m) / static_cast<double>(pieces);
      const bool is_there = interpolate(t, scratch);
      // Without a value the function is interpolated linearly.
      for (int i = 0; i < count; ++i)
        samples_[i][m] = {t, is_there ? evaluate(i, scratch) : 0.5 * (samples_[i][m - 1].g + samples_[i][m + 1].g)};
      if (!is_there && pieces == 2) {
        for (int i = 0; i < count; ++i) samples_[i].erase(samples_[i].begin() + 1);
        return;
      }
    }
    if (pieces < least_pieces || turn > largest_turn * static_cast<double>(pieces)) continue;
    bool are_resolved = true;
    for (int i = 0; i < count && are_resolved; ++i) are_resolved = is_resolved(i);
    if (are_resolved) return;
  }
}

double EventWatch::evaluate(int i, const Entry& at) {
  if (!is_own(i) && !is_contact(i) && !map_.is_identity()) {
    map_.spread(at.lambda, layout_lambda_);
    return events_[i]->function(at.motion.t, at.motion.q, at.motion.v, layout_lambda_);
  }
  return events_[i]->function(at.motion.t, at.motion.q, at.motion.v, at.lambda);
}

double EventWatch::tolerance_at(double t) const {
  return std::max(tolerance_,
                  4.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t), 1e-3 * std::abs(t - t_)));
}

void EventWatch::exchange(Archive& a) {
  a.all(t_, value_, size_);
  a(side_, [](Archive& archive, int& side) { archive(side); });
  a.require(value_.size() == events_.size() && size_.size() == events_.size() && side_.size() == events_.size());
}

int EventWatch::side_ahead(int i, const Entry& at, double look_ahead) {
  ahead_ = at;
  const Vector step = look_ahead * at.motion.v + (0.5 * look_ahead * look_ahead) * at.motion.a;
  ahead_.motion.t += look_ahead;
  system_.space().move(at.motion.q, step, ahead_.motion.q);
  ahead_.motion.v += look_ahead * at.motion.a;
  return sign_of(evaluate(i, ahead_));
}

void EventWatch::begin(const Entry& at, const Sides& sides, double look_ahead) {
  t_ = at.motion.t;
  for (int i = 0; i < static_cast<int>(events_.size()); ++i) {
    value_[i] = evaluate(i, at);
    size_[i] = std::abs(value_[i]);
    if (is_contact(i)) {
      side_[i] = 1;
      continue;
    }
    const auto known = sides.find(events_[i]->name);
    side_[i] = known != sides.end() ? known->second : sign_of(value_[i]);
    // A zero within the tolerance belongs to the event that led here.
    if (known == sides.end() && side_[i] != 0)
      if (const int side = side_ahead(i, at, 4.0 * tolerance_at(t_)); side != 0) side_[i] = side;
    if (side_[i] == 0) side_[i] = side_ahead(i, at, look_ahead);
  }
}

EventWatch::Sides EventWatch::sides() const {
  Sides sides;
  for (std::size_t i = 0; i < contacts_at_; ++i)
    if (side_[i] != 0) sides[events_[i]->name] = side_[i];
  return sides;
}

EventWatch::Sides EventWatch::at_zero() const {
  Sides sides;
  for (std::size_t i = 0; i < contacts_at_; ++i)
    if (value_[i] == 0.0) sides[events_[i]->name] = side_[i];
  return sides;
}

const std::vector<Crossing>& EventWatch::scan(const Entry& newest, Interpolant interpolate, Entry& scratch) {
  crossings_.clear();
  undefined_.clear();
  const double end = newest.motion.t;
  sample(newest, interpolate, scratch);
  for (int i = 0; i < static_cast<int>(events_.size()); ++i) {
    refine(i, interpolate, scratch);
    int side = side_[i];
    Sample left = samples_[i].front();
    for (std::size_t s = 1; s < samples_[i].size(); ++s) {
      const Sample& right = samples_[i][s];
      if (std::isnan(right.g) && (undefined_.empty() || undefined_.back().first != i))
        undefined_.push_back({i, right.t});
      size_[i] = std::max(size_[i], std::abs(right.g));
      int now = sign_of(right.g);
      const bool is_zero_at_end = now == 0 && right.t == end;
      if (is_zero_at_end) now = side_ahead(i, newest, 1e-3 * newest.h);
      if (now == 0) continue;
      if (side != 0 && now != side && counts(events_[i]->direction, now > 0))
        crossings_.push_back(is_zero_at_end ? Crossing{end, i, now > 0, false}
                                            : locate(i, left, right, interpolate, scratch));
      side = now;
      left = right;
    }
    side_[i] = side;
    value_[i] = samples_[i].back().g;
  }
  std::sort(crossings_.begin(), crossings_.end(),
            [](const Crossing& a, const Crossing& b) { return a.t != b.t ? a.t < b.t : a.event < b.event; });
  t_ = end;
  return crossings_;
}

/// A function that turns back between samples of one sign may have crossed zero twice: it is followed to where it is closest to zero.
/// It may turn between the first two samples and between the last two as well, which a probe beside the end of the step tells.
void EventWatch::refine(int i, Interpolant interpolate, Entry& scratch) {
  std::vector<Sample>& list = samples_[i];
  refined_.assign(list.begin(), list.end());
  const std::size_t n = list.size();
  const auto approaches = [](const Sample& far, const Sample& near) {
    return near.g != 0.0 && sign_of(far.g) == sign_of(near.g) && std::abs(near.g) < std::abs(far.g);
  };
  const auto probe = [&](const Sample& end, const Sample& inner) {
    const double t = end.t + probe_part * (inner.t - end.t);
    if (!approaches(inner, end) || t == end.t || !interpolate(t, scratch)) return;
    const Sample near{t, evaluate(i, scratch)};
    if (sign_of(near.g) != sign_of(end.g))
      refined_.push_back(near);
    else if (approaches(end, near))
      follow_dip(i, end.t < inner.t ? end : inner, near, end.t < inner.t ? inner : end, interpolate, scratch);
  };
  if (n >= 3) {
    probe(list[0], list[1]);
    probe(list[n - 1], list[n - 2]);
  }
  for (std::size_t m = 1; m + 1 < n; ++m) {
    const Sample &a = list[m - 1], &b = list[m], &c = list[m + 1];
    if (approaches(a, b) && (approaches(c, b) || c.g == b.g)) follow_dip(i, a, b, c, interpolate, scratch);
  }
  if (refined_.size() == n) return;
  std::sort(refined_.begin(), refined_.end(), [](const Sample& x, const Sample& y) { return x.t < y.t; });
  list.assign(refined_.begin(), refined_.end());
}

/// |g| is smallest at b of a, b, c: parabolas, and golden sections in turn, until the sign changes or cannot change.
void EventWatch::follow_dip(int i, Sample a, Sample b, Sample c, Interpolant interpolate, Entry& scratch) {
  for (int n = 1; n <= max_dip_steps && c.t - a.t > tolerance_at(b.t); ++n) {
    const double slope_ab = (b.g - a.g) / (b.t - a.t), slope_bc = (c.g - b.g) / (c.t - b.t);
    // Not even straight on it would get there.
    if (std::max(std::abs(slope_ab) * (c.t - b.t), std::abs(slope_bc) * (b.t - a.t)) < std::abs(b.g)) return;
    double t = 0.5 * (a.t + b.t) - 0.5 * slope_ab * (c.t - a.t) / (slope_bc - slope_ab);
    const bool is_left_wider = b.t - a.t > c.t - b.t;
    if (n % 2 == 0 || !(t > a.t && t < c.t) || t == b.t)
      t = is_left_wider ? b.t - golden_part * (b.t - a.t) : b.t + golden_part * (c.t - b.t);
    if (!(t > a.t && t < c.t) || t == b.t || !interpolate(t, scratch)) return;
    const Sample now{t, evaluate(i, scratch)};
    if (sign_of(now.g) != sign_of(b.g)) {
      refined_.push_back(now);
      return;
    }
    if (std::abs(now.g) < std::abs(b.g)) {
      (now.t < b.t ? c : a) = b;
      b = now;
    } else {
      (now.t < b.t ? a : c) = now;
    }
  }
}

/// Regula falsi with the Illinois weights, and bisection when it does not halve the interval.
Crossing EventWatch::locate(int i, Sample left, Sample right, Interpolant interpolate, Entry& scratch) {
  const bool is_rising = right.g > 0.0;
  const int before = is_rising ? -1 : 1;
  const auto value_at = [&](double t) {
    if (t == right.t) return right.g;
    return interpolate(t, scratch) ? evaluate(i, scratch) : std::numeric_limits<double>::quiet_NaN();
  };
  // Right after an event the function is zero up to round-off: the interval must begin where it has left zero.
  if (sign_of(left.g) != before) {
    Sample inner = right;
    const double start = left.t;
    for (int halving = 0; halving < max_halvings && sign_of(inner.g) != before; ++halving) {
      if (sign_of(inner.g) == -before) right = inner;
      inner.t = start + 0.5 * (inner.t - start);
      inner.g = value_at(inner.t);
    }
    if (sign_of(inner.g) != before && is_contact(i) && left.g == 0.0) {  // it leaves zero on the wrong side
      for (int n = 0; n < max_refinements && right.t - left.t > tolerance_at(right.t); ++n) {
        const double t = left.t + 0.5 * (right.t - left.t), g = value_at(t);
        (g < 0.0 ? right : left).t = t;
      }
      return {right.t, i, is_rising, false};
    }
    if (sign_of(inner.g) != before) return {start, i, is_rising, true};
    left = inner;
  }
  double weight_left = left.g, weight_right = right.g;
  int last_moved = 0;
  for (int n = 0; n < max_refinements && right.t - left.t > tolerance_at(right.t); ++n) {
    const double width = right.t - left.t;
    double t = right.t - weight_right * width / (weight_right - weight_left);
    // The midpoint every third time, so that the interval shrinks for any function.
    if (n % 3 == 2 || !(t > left.t && t < right.t)) t = left.t + 0.5 * width;
    if (t <= left.t || t >= right.t) break;
    const double g = value_at(t);
    if (std::isnan(g)) break;
    if (g == 0.0) return {t, i, is_rising, false};
    if (sign_of(g) == before) {
      left = {t, g};
      weight_left = g;
      if (last_moved == before) weight_right *= 0.5;
      last_moved = before;
    } else {
      right = {t, g};
      weight_right = g;
      if (last_moved == -before) weight_left *= 0.5;
      last_moved = -before;
    }
  }
  return {std::abs(left.g) < std::abs(right.g) ? left.t : right.t, i, is_rising, false};
}

void make_consistent(const system::System& system, Entry& entry, Counters& counters, std::string_view linear_solver) {
  solve::Kkt kkt(system, counters, linear_solver);
  Entry moved = entry;
  if (!kkt.factorize(moved.motion) || !kkt.project_position(moved.motion)) return;
  if (!kkt.factorize(moved.motion) || !kkt.project_velocity(moved.motion) ||
      !kkt.accelerate(moved.motion, moved.lambda))
    return;
  entry = std::move(moved);
}

namespace {

/// Derivative of the event function by time and along each entry of v, from differences.
struct Gap {
  Vector normal;
  double rate = 0.0;  ///< g_t
};

Gap gap_of(const Event& event, const system::Impact& impact, const system::System& system, const Entry& at) {
  const lie::Motion& m = at.motion;
  const lie::Space& space = system.space();
  Gap gap;
  const auto g = [&](double t, const Vector& q) -> Vector {
    return Vector::Constant(1, event.function(t, q, m.v, at.lambda));
  };
  gap.rate = system::differentiate([&](int, double s) { return g(m.t + s, m.q); },
                                   system::largest_steps({system::time_range(1.0, m.t)}), normal_accuracy)
                 .value(0, 0);
  if (impact.normal) {
    gap.normal = impact.normal(m.t, m.q);
    return gap;
  }
  Vector step(space.nv()), q = m.q;
  gap.normal = system::differentiate(
                   [&](int i, double s) {
                     step.setZero();
                     step[i] = s;
                     space.move(m.q, step, q);
                     return g(m.t, q);
                   },
                   system::largest_steps(system::configuration_ranges(space, m.q)), normal_accuracy)
                   .value.transpose();
  return gap;
}

std::string strike(const Event& event, const system::Impact& impact, const system::System& system, Entry& entry,
                   Counters& counters, std::string_view linear_solver) {
  const Gap gap = gap_of(event, impact, system, entry);
  if (gap.normal.size() != system.space().nv() || !gap.normal.allFinite())
    return fmt::format("the normal of the impact must have {} finite numbers", system.space().nv());
  solve::Kkt kkt(system, counters, linear_solver);
  if (!kkt.factorize(entry.motion)) return "the matrix [M B'; B 0] is singular";
  Vector jump(system.space().nv());
  kkt.jump_by(gap.normal, jump);
  const double compliance = gap.normal.dot(jump);
  if (!(compliance > 1e-14 * gap.normal.norm() * jump.norm()))
    return "the constraints allow no velocity jump along the normal of the impact";
  const double approach = gap.normal.dot(entry.motion.v) + gap.rate;
  entry.motion.v -= ((1.0 + impact.restitution) * approach / compliance) * jump;
  return {};
}

std::string switch_system(const system::Switch& change, const system::System& system, const Entry& entry,
                          std::shared_ptr<const system::System>& out) {
  out = next_system(change, entry.motion.t, entry.motion.q, entry.motion.v);
  if (out == nullptr) return "it returned no system to switch to";
  const auto& old_blocks = system.space().blocks();
  const auto& new_blocks = out->space().blocks();
  const bool is_same =
      std::equal(old_blocks.begin(), old_blocks.end(), new_blocks.begin(), new_blocks.end(),
                 [](const lie::Block& a, const lie::Block& b) { return a.group == b.group && a.nv == b.nv; });
  return is_same ? std::string() : "the system it switches to has a different configuration space";
}

}  // namespace

std::string settle_on(const system::System& system, Entry& entry, Counters& counters, std::string_view linear_solver) {
  const system::Pattern& pattern = system.pattern();
  entry.lambda.setZero(pattern.rows());
  entry.eta.setZero(pattern.position_rows());
  if (!entry.motion.q.allFinite() || !entry.motion.v.allFinite()) return "the values after it are not finite";
  system::Residual residual(system.space().nv(), pattern.position_rows(), pattern.rows());
  system.residual(entry.motion, entry.lambda, residual);
  const double gap = residual.gap.size() > 0 ? residual.gap.lpNorm<Eigen::Infinity>() : 0.0;
  if (!(gap <= switch_tolerance * (1.0 + entry.motion.q.lpNorm<Eigen::Infinity>())))
    return fmt::format(
        "the constraints after it are violated by {:.3g}; a constraint can only be switched on where it holds", gap);
  solve::Kkt kkt(system, counters, linear_solver);
  if (!kkt.factorize(entry.motion)) return "the matrix [M B'; B 0] is singular after it";
  if (!kkt.project_position(entry.motion)) return "the positions after it cannot be moved onto the constraints";
  if (!kkt.factorize(entry.motion) || !kkt.project_velocity(entry.motion))
    return "the velocities after it cannot be moved onto the constraints";
  if (!kkt.accelerate(entry.motion, entry.lambda)) return "accelerations and multipliers after it are undefined";
  return {};
}

std::shared_ptr<const system::System> with_closed(const system::System& system, const std::string& closed) {
  const auto* limited = dynamic_cast<const system::LimitedSystem*>(&system);
  if (limited == nullptr || static_cast<std::size_t>(limited->limit_count()) != closed.size())
    throw InvalidInput("the checkpoint has limits that the model does not have");
  std::vector<bool> mask;
  for (const char c : closed) mask.push_back(c == '1');
  return limited->with_closed(mask);
}

std::shared_ptr<const system::System> next_system(const system::Switch& change, double t, const Vector& q,
                                                  const Vector& v) {
  std::shared_ptr<const system::System> next = change.next(t, q, v);
  if (next == nullptr) return next;
  std::shared_ptr<const system::System> prepared = next->prepared_for({t, t + 1.0, q, v});
  return prepared != nullptr ? prepared : next;
}

namespace {

/// The problem, or empty.
std::string applied(const system::Jump& jump, Entry& entry) {
  try {
    jump.apply(entry.motion.t, entry.motion.q, entry.motion.v);
    return {};
  } catch (const InvalidInput& problem) {
    return problem.what();
  }
}

}  // namespace

Changed carry_out(const std::vector<const Event*>& events, Contacts& contacts, const std::vector<bool>& touched,
                  const system::System& system, const Entry& before, Counters& counters,
                  std::string_view linear_solver) {
  Changed out;
  out.after = before;
  const system::System* current = &system;
  for (const Event* event : events) {
    if (const auto* impact = std::get_if<system::Impact>(&event->action)) {
      out.problem = strike(*event, *impact, *current, out.after, counters, linear_solver);
    } else if (const auto* change = std::get_if<system::Switch>(&event->action)) {
      const std::shared_ptr<const system::System> old = out.system;
      out.problem = switch_system(*change, *current, out.after, out.system);
      if (out.system != nullptr) current = out.system.get();
      out.switches.push_back({event->name, before.motion.t, out.after.motion.q, out.after.motion.v});
    } else if (const auto* jump = std::get_if<system::Jump>(&event->action)) {
      out.problem = applied(*jump, out.after);
      if (!out.problem.empty() && has_closed_limits(*current)) {  // it may lift something off its limits
        std::string none(static_cast<std::size_t>(dynamic_cast<const system::LimitedSystem&>(*current).limit_count()),
                         '0');
        std::shared_ptr<const system::System> opened = with_closed(*current, none);
        for (const Event& other : opened->events())
          if (const auto* same = std::get_if<system::Jump>(&other.action); same != nullptr && other.name == event->name)
            out.problem = applied(*same, out.after);
        if (out.problem.empty()) {
          out.switches.push_back({"", before.motion.t, out.after.motion.q, out.after.motion.v, std::move(none)});
          out.system = std::move(opened);
          current = out.system.get();
        }
      }
    }
    if (out.problem.empty()) out.problem = settle_on(*current, out.after, counters, linear_solver);
    if (!out.problem.empty()) return out;
  }
  // The change may load or unload limits.
  std::vector<bool> marks = touched;
  const auto* limited = dynamic_cast<const system::LimitedSystem*>(current);
  if (marks.empty() && limited != nullptr) marks.assign(static_cast<std::size_t>(limited->limit_count()), false);
  if (marks.empty()) return out;
  Settled settled = contacts.settle(*current, out.after, marks, counters);
  if (settled.problem.empty() && settled.outcomes.empty() && touched.empty()) return out;  // nothing new
  out.problem = std::move(settled.problem);
  out.contacts = std::move(settled.outcomes);
  if (!out.problem.empty()) return out;
  if (settled.system != nullptr) {
    out.system = std::move(settled.system);
    std::string closed;
    for (const bool is_closed : settled.closed) closed += is_closed ? '1' : '0';
    out.switches.push_back({"", before.motion.t, out.after.motion.q, out.after.motion.v, std::move(closed)});
    current = out.system.get();
  }
  out.problem = settle_on(*current, out.after, counters, linear_solver);
  return out;
}

}  // namespace kreisel::run
