#include "io/result/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/spelling.hpp"
#include "io/result/summary.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "run/integrator.hpp"
#include "run/step_sequence.hpp"
#include "solve/formulation.hpp"
#include "system/consistency.hpp"

namespace kreisel::io {
namespace {

using lie::Block;
using lie::GroupId;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
/// Numbers that are compared at most; of longer trajectories every n-th point.
constexpr Eigen::Index most_numbers = 20'000'000;
/// Above this difference, relative to the size of the quantity, the two runs have diverged.
constexpr double parted = 0.1;
/// Allowed difference of a motion that is almost rest, in absolute tolerances.
constexpr double noise = 1000.0;
/// Growth from the middle of the run to its end that exceeds that of polynomials of low degree.
constexpr double strong_growth = 30.0;
/// Below it round-off dominates.
constexpr double least_rtol = 1e-12;

// ---- what is compared

/// Which size an error of a part is related to.
enum class ScaleRule {
  own,       ///< its own largest value
  one,       ///< of rotations
  shared,    ///< the largest of all parts of the quantity
  energies,  ///< the largest energy of all: the zero of energy is arbitrary
};

struct Kind {
  std::string name, unit;
  ScaleRule rule = ScaleRule::own;
  bool is_state = false;  ///< the error test sees it
};

struct Part {
  std::size_t kind = 0;
  std::string where;
  Eigen::Index at = 0, size = 0;
  bool is_rotation = false;
};

/// The parts of a row whose entries share a unit.
class Outputs {
 public:
  Outputs(const system::System& system, const TrajectoryLayout& layout) : system_(system) {
    for (const Quantity& quantity : layout.quantities()) add(quantity);
  }
  const std::vector<Kind>& kinds() const { return kinds_; }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  void add(const Quantity& quantity) {
    // Residuals are errors already, the rest describes the run and not the motion. reaction_joint is reaction in
    // other axes.
    for (const char* name : {"t", "eta", "Phi", "Bv", "reaction_joint", "balance", "h", "order"})
      if (quantity.name == name) return;
    if (quantity.name == "q") return add_positions(quantity.at);
    if (quantity.name == "v") return add_velocities(quantity.at, "velocity", "m/s", "rad/s", true);
    if (quantity.name == "a") return add_velocities(quantity.at, "acceleration", "m/s^2", "rad/s^2", false);
    if (quantity.name == "lambda") return add_multipliers(quantity);
    if (quantity.name == "reaction") return add_reactions(quantity.at);
    const bool is_energy = quantity.name == "energy" || quantity.name == "energy_parts" || quantity.name == "work";
    for (int i = 0; i < quantity.size(); ++i)
      put({is_energy ? quantity.columns[i].name : quantity.name, quantity.unit,
           is_energy ? ScaleRule::energies : ScaleRule::own},
          is_energy ? "" : quantity.columns[i].name, quantity.at + i, 1);
  }

  void add_positions(Eigen::Index at) {
    const std::vector<Block>& blocks = system_.space().blocks();
    std::vector<bool> is_free(blocks.size(), true);
    const auto put_rotation = [&](const std::string& where) {
      put({"rotation", "rad", ScaleRule::one, true}, where, at, 9, true);
      at += 9;
    };
    const auto put_position = [&](const Kind& kind, const std::string& where, Eigen::Index size) {
      put(kind, where, at, size);
      at += size;
    };
    for (int body = 0; body < system_.body_count(); ++body) {
      is_free[system_.body_block(body)] = false;
      put_position({"position", "m", ScaleRule::own, true}, system_.body_name(body), 3);
      put_rotation(system_.body_name(body));
    }
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (!is_free[b]) continue;
      if (lie::rotations_of(blocks[b]) != 3) {
        put_position({"coordinates", "SI", ScaleRule::own, kind_of(b) != system::CoordinateKind::algebraic},
                     block_name(b), blocks[b].nq);
        continue;
      }
      if (const int n = lie::translations_of(blocks[b]); n > 0)
        put_position({"position", "m", ScaleRule::own, true}, block_name(b), n);
      put_rotation(block_name(b));
    }
  }

  void add_velocities(Eigen::Index at, const std::string& name, const char* linear, const char* angular,
                      bool is_state) {
    const std::vector<Block>& blocks = system_.space().blocks();
    const ScaleRule rule = is_state ? ScaleRule::own : ScaleRule::shared;
    for (std::size_t b = 0; b < blocks.size(); at += blocks[b].nv, ++b) {
      // States have a meaningful first derivative only, algebraic unknowns none.
      if (kind_of(b) == system::CoordinateKind::algebraic || (kind_of(b) == system::CoordinateKind::state && !is_state))
        continue;
      const int n = lie::translations_of(blocks[b]), rotations = lie::rotations_of(blocks[b]);
      if (rotations == 0)
        put({name + " of coordinates", "SI", rule, is_state && kind_of(b) == system::CoordinateKind::dynamic},
            where_of(b), at, blocks[b].nv);
      else if (n > 0)
        put({name, linear, rule, is_state}, where_of(b), at, n);
      if (rotations > 0) put({"angular " + name, angular, rule, is_state}, where_of(b), at + n, rotations);
    }
  }

  void add_multipliers(const Quantity& quantity) {
    for (const system::RowGroup& group : system_.pattern().groups())
      put({"lambda", quantity.unit, ScaleRule::shared}, group.name, quantity.at + group.at, group.rows);
  }

  void add_reactions(Eigen::Index at) {
    for (int joint = 0; joint < system_.joint_count(); ++joint, at += 6) {
      put({"joint force", "N", ScaleRule::shared}, system_.joint_name(joint), at, 3);
      put({"joint torque", "N m", ScaleRule::shared}, system_.joint_name(joint), at + 3, 3);
    }
  }

  system::CoordinateKind kind_of(std::size_t block) const { return system_.pattern().kind(static_cast<int>(block)); }
  std::string block_name(std::size_t block) const {
    return system_.space().blocks().size() > 1 ? system_.pattern().block_name(static_cast<int>(block)) : "";
  }
  std::string where_of(std::size_t block) const {
    for (int body = 0; body < system_.body_count(); ++body)
      if (system_.body_block(body) == static_cast<int>(block)) return system_.body_name(body);
    return block_name(block);
  }

  void put(const Kind& kind, const std::string& where, Eigen::Index at, Eigen::Index size, bool is_rotation = false) {
    if (size == 0) return;
    const auto known = std::ranges::find_if(kinds_, [&](const Kind& k) { return k.name == kind.name; });
    const auto index = static_cast<std::size_t>(known - kinds_.begin());
    if (known == kinds_.end()) kinds_.push_back(kind);
    parts_.push_back({index, where, at, size, is_rotation});
  }

  const system::System& system_;
  std::vector<Kind> kinds_;
  std::vector<Part> parts_;
};

double finite_or_zero(double value) { return std::isfinite(value) ? value : 0.0; }

struct Scales {
  std::vector<double> of_part;  ///< by the rule of its kind
  std::vector<double> of_kind;  ///< largest of all parts
  std::vector<bool> is_zero;    ///< per part: all values are exactly zero
};

Scales scales_of(const Outputs& outputs, const Matrix& rows, double length) {
  const std::vector<Part>& parts = outputs.parts();
  std::vector<double> own(parts.size(), 0.0), shared(outputs.kinds().size(), 0.0);
  std::vector<bool> is_zero(parts.size());
  double energy = 0.0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const ScaleRule rule = outputs.kinds()[parts[p].kind].rule;
    for (Eigen::Index i = 0; i < rows.rows(); ++i)
      own[p] = std::max(own[p], finite_or_zero(rows.row(i).segment(parts[p].at, parts[p].size).norm()));
    is_zero[p] = own[p] == 0.0;
    if (rule == ScaleRule::one) own[p] = 1.0;
    if (rule == ScaleRule::energies) energy = std::max(energy, own[p]);
    shared[parts[p].kind] = std::max(shared[parts[p].kind], own[p]);
  }
  double force = 0.0;
  for (std::size_t k = 0; k < shared.size(); ++k)
    if (outputs.kinds()[k].name == "joint force") force = shared[k];
  for (std::size_t k = 0; k < shared.size(); ++k)  // a torque that vanishes is the difference of forces with levers
    if (outputs.kinds()[k].name == "joint torque") shared[k] = std::max(shared[k], force * length);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const ScaleRule rule = outputs.kinds()[parts[p].kind].rule;
    if (rule == ScaleRule::shared) own[p] = shared[parts[p].kind];
    if (rule == ScaleRule::energies) own[p] = energy;
  }
  return {own, shared, is_zero};
}

/// Distance of two values of a part; an angle for rotations. Infinite when only one of them is a number.
double distance(const Part& part, const auto& one, const auto& other) {
  const Vector a = one.segment(part.at, part.size).transpose(), b = other.segment(part.at, part.size).transpose();
  if (!a.allFinite() && !b.allFinite()) return 0.0;
  if (!a.allFinite() || !b.allFinite()) return std::numeric_limits<double>::infinity();
  const double d = (a - b).norm();
  return part.is_rotation ? 2.0 * std::asin(std::min(1.0, d / std::sqrt(8.0))) : d;
}

TrajectoryLayout layout_of(const PreparedRun& run) {
  return {run.model.system->result_layout(),
          solve::info_of(run::formulation_in_use(run.options, *run.model.system)).has_eta};
}

// ---- the repeated run

/// Every step in two halves.
run::StepSequence halved(const run::StepSequence& sequence, double t0, double span, int order) {
  run::StepList list;
  for (const double h : run::steps_of(sequence, t0, span, order).sizes) list.steps.insert(list.steps.end(), 2, 0.5 * h);
  return list;
}

/// A tenth of it would be below round-off.
bool is_tightest(const run::Options& options) { return options.rtol < 10.0 * least_rtol; }

run::Options repeated_options(const PreparedRun& run, const run::Report& report) {
  run::Options options = run.options;
  options.output_step = 0.0;
  if (options.has_error_control()) {
    const double factor = is_tightest(options) ? 10.0 : 0.1;
    options.rtol *= factor;
    options.atol *= factor;
    if (factor < 1.0) options.max_step *= 0.5;  // a bound that both runs follow would make them equal
    options.initial_step *= 0.1;
    options.min_step *= 0.1;
  } else if (options.step > 0.0) {
    options.step = 0.5 * report.step;
  } else {
    options.steps =
        halved(options.steps, run.model.start.t0, report.t_end - run.model.start.t0, std::max(1, report.order));
  }
  options.max_steps = std::max(options.max_steps, 100 * report.counters.steps);
  return options;
}

/// A wanted time this close to the end of a step counts as equal to it.
double round_off_at(double t, double h) { return 2e-12 * std::max(std::abs(t), h); }

/// Rows of the repeated run at the times of the first. Both sides of a jump stay.
class Matching final : public run::Observer {
 public:
  Matching(const PreparedRun& run, const std::vector<double>& times, run::Observer& spectator)
      : collector_(run), times_(times), spectator_(spectator) {}

  bool accept(const run::Point& point) override {
    const double t = point.entry.motion.t, round_off = round_off_at(t, point.entry.h);
    while (at_ < times_.size() && times_[at_] < t - round_off) ++at_;
    if (at_ < times_.size() && times_[at_] <= t + round_off) collector_.accept(point);
    return spectator_.accept(point);
  }
  bool goes_on(double t, long steps) override { return spectator_.goes_on(t, steps); }

  Matrix rows() const { return collector_.rows(); }

 private:
  RowCollector collector_;
  const std::vector<double>& times_;
  run::Observer& spectator_;
  std::size_t at_ = 0;
};

Matrix thinned(const Matrix& rows) {
  const Eigen::Index every = 1 + rows.size() / most_numbers;
  if (every == 1) return rows;
  Matrix kept((rows.rows() + every - 1) / every, rows.cols());
  for (Eigen::Index i = 0; i < kept.rows(); ++i) kept.row(i) = rows.row(i * every);
  return kept;
}

// ---- events

struct Window {
  double begin = 0.0, end = 0.0;
};

/// The k-th occurrence of an event in one run belongs to the k-th in the other.
class EventMatch {
 public:
  EventMatch(const std::vector<run::Occurrence>& first, const std::vector<run::Occurrence>& second, double t_end) {
    std::map<std::string, std::vector<double>, std::less<>> times;
    for (const run::Occurrence& o : second) times[o.event].push_back(o.t);
    std::map<std::string, std::size_t, std::less<>> count;
    for (const run::Occurrence& o : first) {
      const std::vector<double>& others = times[o.event];
      const std::size_t k = count[o.event]++;
      if (k < others.size()) {
        shifts.push_back({o.event, o.t, others[k] - o.t});
        const double round_off = round_off_at(o.t, 0.0);
        windows.push_back({std::min(o.t, others[k]) - round_off, std::max(o.t, others[k]) + round_off});
      } else if (o.t < t_end) {
        note(o.event, o.t, "only in the run");
      }
    }
    for (const auto& [name, list] : times)
      for (std::size_t k = count[name]; k < list.size(); ++k)
        if (list[k] < t_end) note(name, list[k], "only in the repeated run");
    std::ranges::sort(windows, {}, &Window::begin);
    for (std::size_t i = 1; i < windows.size(); ++i) windows[i].end = std::max(windows[i].end, windows[i - 1].end);
  }

  /// Whether the runs may be on different sides of an event.
  bool covers(double t) const {
    const auto after = std::ranges::upper_bound(windows, t, {}, &Window::begin);
    return after != windows.begin() && t <= std::prev(after)->end;
  }

  std::vector<EventShift> shifts;
  std::vector<Window> windows;
  double differs_at = std::numeric_limits<double>::infinity();
  std::string difference;

 private:
  void note(const std::string& event, double t, const char* who) {
    if (t >= differs_at) return;
    differs_at = t;
    difference = fmt::format("event '{}' at t = {:.10g} happens {}", event, t, who);
  }
};

// ---- the comparison

/// Errors over time, to judge their growth.
struct Course {
  std::vector<double> t, share, tolerances;  ///< largest of all states: error/scale, error/allowed
};

class Comparison {
 public:
  Comparison(const Outputs& outputs, Scales scales, double rtol, double atol, double factor)
      : outputs_(outputs),
        scales_(std::move(scales)),
        rtol_(rtol),
        atol_(atol),
        factor_(factor),
        error_(outputs.parts().size(), 0.0),
        t_(error_.size(), nan) {}

  /// A row of the run, and those of the repeated run at its time: two where it shows both sides of a jump.
  void take(const Matrix& first, Eigen::Index i, const Matrix& second, Eigen::Index begin, Eigen::Index end) {
    Eigen::Index nearest = begin;
    double least = std::numeric_limits<double>::infinity();
    for (Eigen::Index j = begin; j < end; ++j) {
      double worst = 0.0;
      for (std::size_t p = 0; p < error_.size(); ++p)
        worst = std::max(worst, distance(outputs_.parts()[p], first.row(i), second.row(j)) / allowed(p));
      if (worst < least) std::tie(least, nearest) = std::tuple(worst, j);
    }
    double share = 0.0, tolerances = 0.0;
    for (std::size_t p = 0; p < error_.size(); ++p) {
      const double error = factor_ * distance(outputs_.parts()[p], first.row(i), second.row(nearest));
      if (outputs_.kinds()[outputs_.parts()[p].kind].is_state) {
        share = std::max(share, error / std::max(scales_.of_kind[outputs_.parts()[p].kind], noise / parted * atol_));
        tolerances = std::max(tolerances, error / allowed(p));
      }
      if (!(error <= error_[p])) std::tie(error_[p], t_[p]) = std::tuple(error, first(i, 0));
    }
    course_.t.push_back(first(i, 0));
    course_.share.push_back(share);
    course_.tolerances.push_back(tolerances);
  }

  std::vector<ObservedError> errors(bool has_tolerances) const {
    std::vector<ObservedError> list;
    for (std::size_t k = 0; k < outputs_.kinds().size(); ++k) {
      std::optional<std::size_t> worst;
      for (std::size_t p = 0; p < error_.size(); ++p)
        if (outputs_.parts()[p].kind == k && (!worst || error_[p] / allowed(p) > error_[*worst] / allowed(*worst)))
          worst = p;
      if (!worst) continue;
      const Kind& kind = outputs_.kinds()[k];
      list.push_back({kind.name, kind.unit, outputs_.parts()[*worst].where, error_[*worst], t_[*worst],
                      scales_.of_part[*worst], has_tolerances ? error_[*worst] / allowed(*worst) : nan, kind.is_state,
                      is_zero(k)});
    }
    return list;
  }
  const Course& course() const { return course_; }

 private:
  /// In both runs.
  bool is_zero(std::size_t kind) const {
    for (std::size_t p = 0; p < error_.size(); ++p)
      if (outputs_.parts()[p].kind == kind && !(scales_.is_zero[p] && error_[p] == 0.0)) return false;
    return true;
  }
  double allowed(std::size_t part) const {
    return atol_ + rtol_ * scales_.of_part[part] + std::numeric_limits<double>::min();
  }

  const Outputs& outputs_;
  Scales scales_;
  double rtol_, atol_, factor_;
  std::vector<double> error_, t_;
  Course course_;
};

Comparison comparison_with(const PreparedRun& run, const Outputs& outputs, const Matrix& rows, double factor) {
  const system::System& system = run.model.system->result_layout();
  system::Motion start(system.space());
  start.t = run.model.start.t0;
  start.q = run.model.start.q0;
  // Given steps have no tolerance; these only rank the parts of a quantity.
  const bool is_adaptive = run.options.has_error_control();
  const double rtol = is_adaptive ? run.options.rtol : 1e-6, atol = is_adaptive ? run.options.atol : 1e-12;
  return {outputs, scales_of(outputs, rows, system::length_scale(system, start)), rtol, atol, factor};
}

/// Largest value of a course over an interval.
double largest(const Course& course, double begin, double end) {
  double value = 0.0;
  for (std::size_t i = 0; i < course.t.size(); ++i)
    if (course.t[i] >= begin && course.t[i] <= end) value = std::max(value, course.tolerances[i]);
  return value;
}

void judge_course(const Course& course, bool has_tolerances, Verification& v) {
  if (course.t.empty()) return;
  const double t0 = course.t.front(), span = course.t.back() - t0;
  const double middle = largest(course, t0 + 0.375 * span, t0 + 0.5 * span),
               end = largest(course, t0 + 0.875 * span, course.t.back());
  v.growth = middle > 0.0 ? end / middle : 1.0;
  const auto first_above = [&](const std::vector<double>& values, double limit) -> std::optional<double> {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!(values[i] <= limit)) return course.t[i];
    return {};
  };
  if (const std::optional<double> t = first_above(course.share, parted)) {
    v.warnings.push_back(
        fmt::format("from t = {:.6g} on the run and its repetition differ by more than a tenth of the motion itself: "
                    "either the tolerance is far "
                    "too loose, or the motion is so sensitive (chaotic) that single values after that time mean "
                    "nothing; reduce {} and check "
                    "whether this time changes",
                    *t, has_tolerances ? spelled("rtol") : spelled("step")));
    return;
  }
  if (v.growth > strong_growth)
    v.warnings.push_back(fmt::format(
        "differences grow {:.0f} times from the middle of the run to its end, e-fold about every {:.3g} s: the motion "
        "is sensitive, and longer runs lose their accuracy at this rate",
        v.growth, 0.5 * span / std::log(v.growth)));
}

void judge_errors(Verification& v) {
  std::string list;
  for (const ObservedError& e : v.errors)
    if (e.tolerances > expected_tolerances)
      list += fmt::format("\n  {}{}: {:.2g} {}, {:.2g} times the tolerance, at t = {:.6g}", e.quantity,
                          e.where.empty() ? "" : fmt::format(" of '{}'", e.where), e.error, e.unit, e.tolerances, e.t);
  if (!list.empty())
    v.warnings.push_back(
        fmt::format("errors of more than {:g} tolerances:{}\n  try: reduce {} by that factor and verify again",
                    expected_tolerances, list, spelled("rtol")));
}

std::string shown(double value) { return fmt::format("{:.2g}", value); }
}  // namespace

struct RowCollector::Kept {
  explicit Kept(const PreparedRun& run) : layout(layout_of(run)), row(layout.columns()) {}

  TrajectoryLayout layout;
  Vector row;
  std::vector<double> numbers;
};

RowCollector::RowCollector(const PreparedRun& run) : kept_(std::make_unique<Kept>(run)) {}
RowCollector::~RowCollector() = default;

bool RowCollector::accept(const run::Point& point) {
  kept_->layout.fill(point.entry, point.residual,
                     point.energy != nullptr ? *point.energy : run::energy_of(*point.system, point.entry.motion),
                     point.work, *point.system, kept_->row);
  kept_->numbers.insert(kept_->numbers.end(), kept_->row.begin(), kept_->row.end());
  return true;
}

Matrix RowCollector::rows() const {
  const auto columns = static_cast<Eigen::Index>(kept_->row.size());
  return Eigen::Map<const Matrix>(kept_->numbers.data(), columns,
                                  static_cast<Eigen::Index>(kept_->numbers.size()) / columns)
      .transpose();
}

Verification verify(const PreparedRun& run, const run::Report& report, const Matrix& all_rows,
                    run::Observer& spectator) {
  const system::System& system = run.model.system->result_layout();
  const TrajectoryLayout layout = layout_of(run);
  if (all_rows.cols() != layout.columns())
    throw InvalidInput(fmt::format("the trajectory has {} columns, expected {}", all_rows.cols(), layout.columns()));
  const Matrix rows = thinned(all_rows);
  const bool is_adaptive = run.options.has_error_control();
  run::Options options = repeated_options(run, report);
  options.output_times.assign(rows.col(0).begin(), rows.col(0).end());
  const std::vector<double> times = options.output_times;

  Verification v;
  v.is_bound = is_adaptive && is_tightest(run.options);
  v.rtol = is_adaptive ? options.rtol : nan;
  v.atol = is_adaptive ? options.atol : nan;
  if (!is_adaptive) v.factor = 1.0 + 1.0 / (std::pow(2.0, std::max(1, report.order)) - 1.0);
  Matching matching(run, times, spectator);
  run::Report repeated;
  try {
    repeated = run::integrate(*run.model.system, run.model.start, options, matching);
    v.status = run::info_of(repeated.status).name;
    v.message = repeated.message;
  } catch (const InvalidInput& problem) {
    v.status = invalid_input;
    v.message = problem.what();
  }
  v.steps = repeated.counters.steps;
  if (!is_adaptive) v.step = repeated.step;
  const Matrix others = matching.rows();
  const EventMatch events(report.events, repeated.events,
                          others.rows() > 0 ? std::min(report.final.motion.t, repeated.final.motion.t) : 0.0);
  v.events = events.shifts;

  const Outputs outputs(system, layout);
  Comparison comparison = comparison_with(run, outputs, rows, v.factor);
  v.t_compared = run.model.start.t0;
  for (Eigen::Index i = 0, begin = 0; i < rows.rows(); ++i) {
    const double t = rows(i, 0), round_off = round_off_at(t, 0.0);
    while (begin < others.rows() && others(begin, 0) < t - round_off) ++begin;
    Eigen::Index end = begin;
    while (end < others.rows() && others(end, 0) <= t + round_off) ++end;
    if (t >= events.differs_at) break;
    if (begin == end || events.covers(t)) {
      if (begin < others.rows()) ++v.left_out;
      continue;
    }
    comparison.take(rows, i, others, begin, end);
    ++v.points;
    v.t_compared = t;
  }
  v.errors = comparison.errors(is_adaptive);

  if (repeated.status != run::Status::success || v.status == invalid_input)
    v.warnings.push_back(
        fmt::format("the repeated run did not reach its end ({}): {}\n  compared up to t = {:.6g} only; do "
                    "not rely on "
                    "a run whose repetition fails",
                    v.status, v.message, v.t_compared));
  if (std::isfinite(events.differs_at))
    v.warnings.push_back(fmt::format(
        "{}: after it the two motions differ, and they are compared up to it only; a tolerance smaller by a "
        "factor of 100 may show which one is right",
        events.difference));
  judge_errors(v);
  judge_course(comparison.course(), is_adaptive, v);
  if (is_adaptive && !v.is_bound && repeated.status == run::Status::success && repeated.method == report.method &&
      report.counters.steps > 50 && v.steps < report.counters.steps + report.counters.steps / 50)
    v.warnings.push_back(fmt::format(
        "the repeated run took {} steps, the run {}: something other than the tolerance limits the steps, and true "
        "errors may exceed these differences; compare with {} and smaller steps",
        v.steps, report.counters.steps, spelled("max_step")));
  return v;
}

std::vector<ObservedError> differences_between(const PreparedRun& run, const Matrix& rows, const PreparedRun& other,
                                               const Matrix& other_rows) {
  const TrajectoryLayout layout = layout_of(run), other_layout = layout_of(other);
  Matrix moved = Matrix::Zero(other_rows.rows(), layout.columns());  // not every formulation has eta
  for (const Quantity& to : layout.quantities())
    for (const Quantity& from : other_layout.quantities())
      if (from.name == to.name) moved.middleCols(to.at, to.size()) = other_rows.middleCols(from.at, from.size());
  const Outputs outputs(run.model.system->result_layout(), layout);
  Comparison comparison = comparison_with(run, outputs, rows, 1.0);
  for (Eigen::Index i = 0; i < std::min(rows.rows(), moved.rows()); ++i) comparison.take(rows, i, moved, i, i + 1);
  return comparison.errors(run.options.has_error_control());
}

Json to_json(const Verification& v) {
  Json out{{"status", v.status},
           {"message", v.message},
           {"rtol", number_or_null(v.rtol)},
           {"atol", number_or_null(v.atol)},
           {"step", v.step > 0.0 ? number_or_null(v.step) : Json(nullptr)},
           {"factor", v.factor},
           {"is_bound", v.is_bound},
           {"steps", v.steps},
           {"t_compared", number_or_null(v.t_compared)},
           {"points", v.points},
           {"left_out", v.left_out},
           {"growth", number_or_null(v.growth)},
           {"quantities", Json::array()},
           {"events", Json::array()},
           {"warnings", v.warnings}};
  for (const ObservedError& e : v.errors)
    out["quantities"].push_back({{"name", e.quantity},
                                 {"unit", e.unit},
                                 {"error", number_or_null(e.error)},
                                 {"where", e.where},
                                 {"t", number_or_null(e.t)},
                                 {"scale", number_or_null(e.scale)},
                                 {"relative", number_or_null(e.relative())},
                                 {"tolerances", number_or_null(e.tolerances)}});
  for (const EventShift& s : v.events)
    out["events"].push_back({{"name", s.event}, {"t", number_or_null(s.t)}, {"shift", number_or_null(s.shift)}});
  return out;
}

std::vector<std::string> lines_of(const Verification& v) {
  std::vector<std::string> lines;
  const std::string how =
      v.step > 0.0 ? fmt::format("half the steps (h = {:.6g}), differences times {:.4g}", v.step, v.factor)
                   : fmt::format("rtol {:g}, atol {:g}{}", v.rtol, v.atol,
                                 v.is_bound ? " (a tenth would be below round-off), bounds of the errors" : "");
  lines.push_back(fmt::format("repeated with {}: {} steps, {}; observed errors over {} points up to t = {:.6g}{}", how,
                              v.steps, v.status, v.points, v.t_compared,
                              v.left_out > 0 ? fmt::format(", {} at events left out", v.left_out) : ""));
  for (const ObservedError& e : v.errors) {
    if (e.is_zero) continue;
    std::string line =
        fmt::format("{:<27} {:>8} {:<8} {:>8} relative", e.quantity, shown(e.error), e.unit, shown(e.relative()));
    if (!std::isnan(e.tolerances)) line += fmt::format(", {:>7} tolerances", shown(e.tolerances));
    if (e.error > 0.0) line += fmt::format("  ({}t = {:.4g})", e.where.empty() ? "" : e.where + ", ", e.t);
    lines.push_back(std::move(line));
  }
  if (v.events.empty()) return lines;
  const auto latest = std::ranges::max_element(v.events, {}, [](const EventShift& s) { return std::abs(s.shift); });
  lines.push_back(fmt::format("{:<27} {:>8} {:<8} ('{}' at t = {:.6g}, of {} events)", "event time",
                              shown(std::abs(latest->shift)), "s", latest->event, latest->t, v.events.size()));
  return lines;
}

}  // namespace kreisel::io
