#include "run/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "drive.hpp"
#include "forward.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "run/row_map.hpp"
#include "solve/kkt.hpp"
#include "tape.hpp"

namespace kreisel::run {
namespace {

/// Stores the points of a run, and passes them on.
class Keeper final : public Observer {
 public:
  Keeper(const system::System& layout, Observer* next)
      : layout_(layout), next_(next), in_force_(layout), outputs_(layout.output_size()), rates_(layout.output_size()) {}

  bool accept(const Point& point) override {
    const method::Entry& e = point.entry;
    in_force_.evaluate(*point.system, e.motion, e.lambda, outputs_);
    in_force_.evaluate(*point.system, e.motion, e.lambda, rates_, true);
    t_.push_back(e.motion.t);
    segment_.push_back(point.segment);
    systems_.push_back(point.system);
    put(q_, e.motion.q);
    put(v_, e.motion.v);
    put(a_, e.motion.a);
    put(lambda_, e.lambda);
    put(values_, outputs_);
    put(output_rates_, rates_);
    sample(e.motion.t, *point.system);
    if (forward_ != nullptr && forward_->is_going())
      for (int j = 0; j < forward_->count(); ++j) keep_derivatives(j, e);
    return next_ == nullptr || next_->accept(point);
  }
  bool goes_on(double t, long steps) override { return next_ == nullptr || next_->goes_on(t, steps); }
  void attempted(const Attempt& attempt) override {
    if (next_ != nullptr) next_->attempted(attempt);
  }
  void happened(const Occurrence& event) override {
    if (forward_ != nullptr && forward_->is_going() && drive_ != nullptr)
      for (int j = 0; j < forward_->count(); ++j)
        kept_[static_cast<std::size_t>(j)].event_times.push_back(
            forward_->time_of(j, drive_->stepper(), drive_->event(event.event), event.t));
    if (next_ != nullptr) next_->happened(event);
  }
  void follow(Drive& drive, Forward* forward, const std::vector<double>& times) {
    drive_ = &drive;
    forward_ = forward;
    if (forward != nullptr) kept_.resize(static_cast<std::size_t>(forward->count()));
    times_ = &times;
    sampled_ = Matrix::Constant(static_cast<Eigen::Index>(times.size()), layout_.output_size(),
                                std::numeric_limits<double>::quiet_NaN());
  }
  const Matrix& sampled() const { return sampled_; }
  /// At the points, whose times move by `t`.
  struct Kept {
    std::vector<double> t, q, v, lambda, outputs, event_times;
  };
  const Kept& kept(std::size_t j) const { return kept_[j]; }
  Matrix rows(const std::vector<double>& from) const {
    const auto count = static_cast<Eigen::Index>(t_.size());
    using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Index width = count > 0 ? static_cast<Eigen::Index>(from.size()) / count : 0;
    return Eigen::Map<const Rows>(from.data(), count, width);
  }

  /// Active at each point; owned by the report of the run.
  const std::vector<const system::System*>& systems() const { return systems_; }
  RunPoints points() const {
    RunPoints out;
    out.t = t_;
    out.segment = segment_;
    out.q = rows(q_);
    out.v = rows(v_);
    out.a = rows(a_);
    out.lambda = rows(lambda_);
    out.outputs = rows(values_);
    out.output_rates = rows(output_rates_);
    return out;
  }

 private:
  /// Up to the newest point.
  void sample(double until, const system::System& system) {
    if (times_ == nullptr) return;
    const double round_off = 1e-9 * std::max(1.0, std::abs(until));
    for (; next_time_ < times_->size() && (*times_)[next_time_] <= until + round_off; ++next_time_) {
      State state;
      if (!drive_->at(std::min((*times_)[next_time_], until), state)) continue;
      motion_.t = state.t;
      motion_.q = state.q;
      motion_.v = state.v;
      motion_.a = state.a;
      in_force_.evaluate(system, motion_, state.lambda, outputs_);
      sampled_.row(static_cast<Eigen::Index>(next_time_)) = outputs_;
    }
  }
  static void put(std::vector<double>& to, const Vector& from) { to.insert(to.end(), from.begin(), from.end()); }
  void keep_derivatives(int j, const method::Entry& e) {
    Kept& kept = kept_[static_cast<std::size_t>(j)];
    const Forward::Tangent& tangent = forward_->shown(j);
    kept.t.push_back(tangent.t);
    put(kept.q, tangent.q);
    put(kept.v, tangent.v);
    lambda_change_.resize(e.lambda.size());
    forward_->spread_lambda(j, lambda_change_);
    put(kept.lambda, lambda_change_);
    forward_->outputs(j, e, output_change_);
    put(kept.outputs, output_change_);
  }

  const system::System& layout_;
  Observer* next_;
  OutputsInForce in_force_;
  Forward* forward_ = nullptr;
  Drive* drive_ = nullptr;
  std::vector<Kept> kept_;
  const std::vector<double>* times_ = nullptr;
  std::size_t next_time_ = 0;
  Matrix sampled_;
  system::Motion motion_;
  Vector outputs_, rates_, lambda_change_, output_change_;
  std::vector<double> t_, q_, v_, a_, lambda_, values_, output_rates_;
  std::vector<int> segment_;
  std::vector<const system::System*> systems_;
};

struct Neighbour {
  bool is_alike = false;  ///< it took the same steps
  std::string problem;
  RunPoints points;
  std::vector<double> event_times;
};

std::vector<double> times_of(const Report& report) {
  std::vector<double> times;
  for (const Occurrence& event : report.events) times.push_back(event.t);
  return times;
}

/// Newton's method to round-off, with a matrix of every step: neighbouring runs then differ by the parameter alone.
Options solved_closely(const Options& given) {
  constexpr double relative = 1e-11;
  Options options = given;
  options.newton_tolerance =
      options.has_error_control()
          ? relative / options.rtol
          : std::min(1e-11, 1e-2 * (given.newton_tolerance > 0.0 ? given.newton_tolerance : 1.0));
  if (options.newton_tolerance > 0.03) options.newton_tolerance = 0.03;
  options.newton_matrix = NewtonMatrix::every_step;
  return options;
}

Neighbour run_near(const Problem& problem, const Options& given, const Report& nominal, std::size_t points, Tape tape) {
  Options options = given;
  options.events.insert(options.events.end(), problem.events.begin(), problem.events.end());
  tape.rewind();
  const system::System& layout = problem.system->result_layout();
  Keeper keeper(layout, nullptr);
  Neighbour out;
  Drive drive(*problem.system, problem.start, options, keeper, {}, nullptr, &tape);
  drive.advance_to(std::numeric_limits<double>::infinity());
  const Report& report = drive.report();
  out.points = keeper.points();
  out.event_times = times_of(report);
  out.is_alike = report.status == Status::success && out.points.t.size() == points &&
                 report.events.size() == nominal.events.size() &&
                 (!options.has_error_control() || tape.was_followed_to_the_end());
  for (std::size_t i = 0; out.is_alike && i < report.events.size(); ++i)
    out.is_alike = report.events[i].event == nominal.events[i].event;
  if (report.status != Status::success) out.problem = report.message;
  return out;
}

/// Of rows that are smooth within a segment, by the parabola through three points.
Matrix rates_of(const RunPoints& points, const Matrix& rows) {
  Matrix out = Matrix::Zero(rows.rows(), rows.cols());
  const auto n = static_cast<Eigen::Index>(points.t.size());
  const auto segment = [&](Eigen::Index i) { return points.segment[static_cast<std::size_t>(i)]; };
  const auto t = [&](Eigen::Index i) { return points.t[static_cast<std::size_t>(i)]; };
  for (Eigen::Index i = 0; i < n; ++i) {
    Eigen::Index first = std::max<Eigen::Index>(0, i - 1);
    while (first < i && (segment(first) != segment(i) || t(first) == t(i))) ++first;
    Eigen::Index last = std::min<Eigen::Index>(n - 1, first + 2);
    while (last > i && (segment(last) != segment(i) || t(last) == t(last - 1))) --last;
    first = std::max<Eigen::Index>(0, last - 2);
    while (first < i && (segment(first) != segment(i) || t(first) == t(i))) ++first;
    if (last == first) continue;
    for (Eigen::Index j = first; j <= last; ++j) {
      double weight = 0.0;  // derivative of the Lagrange polynomial of j at t(i)
      for (Eigen::Index k = first; k <= last; ++k) {
        if (k == j) continue;
        double term = 1.0 / (t(j) - t(k));
        for (Eigen::Index l = first; l <= last; ++l)
          if (l != j && l != k) term *= (t(i) - t(l)) / (t(j) - t(l));
        weight += term;
      }
      out.row(i) += weight * rows.row(j);
    }
  }
  return out;
}

class Differentiation {
 public:
  Differentiation(const ProblemOf& make, const Vector& parameters, const Options& options,
                  const SensitivityOptions& wanted, const Report& nominal, const RunPoints& points,
                  const std::vector<const system::System*>& systems, const Tape& tape, const Problem& problem)
      : make_(make),
        parameters_(parameters),
        options_(solved_closely(options)),
        wanted_(wanted),
        nominal_(nominal),
        points_(points),
        systems_(systems),
        tape_(tape),
        space_(problem.system->space()),
        layout_(problem.system->result_layout()) {}

  /// As it was carried along.
  Sensitivity carried(const Keeper& keeper, std::size_t j, double remainder) {
    const Keeper::Kept& kept = keeper.kept(j);
    Sensitivity out;
    out.q = keeper.rows(kept.q);
    out.v = keeper.rows(kept.v);
    out.lambda = keeper.rows(kept.lambda);
    out.outputs = keeper.rows(kept.outputs);
    out.event_times =
        Eigen::Map<const Vector>(kept.event_times.data(), static_cast<Eigen::Index>(kept.event_times.size()));
    out.uncertainty = remainder;
    for (Eigen::Index i = 0; i < out.q.rows(); ++i) hold_time(i, kept.t[static_cast<std::size_t>(i)], out);
    return out;
  }

  /// Empty problem: found.
  std::string find(Eigen::Index j, Sensitivity& out) {
    double s = neighbour_step(wanted_.scale, parameters_, j, 12);
    std::string problem;
    constexpr int most_attempts = 6;
    for (int attempt = 0; attempt < most_attempts; ++attempt, s /= 16.0) {
      problem.clear();
      const std::optional<Sensitivity> one = central(j, s, problem);
      if (!one) continue;
      out = *one;
      if (wanted_.is_cheap) return {};
      std::string unused;
      const std::optional<Sensitivity> two = central(j, 2.0 * s, unused);
      if (!two) {
        out.uncertainty = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      double change = 0.0;
      extrapolate(one->q, two->q, out.q, change);
      extrapolate(one->v, two->v, out.v, change);
      extrapolate(one->lambda, two->lambda, out.lambda, change);
      extrapolate(one->outputs, two->outputs, out.outputs, change);
      if (out.event_times.size() > 0) out.event_times = (4.0 * one->event_times - two->event_times) / 3.0;
      // The remaining error is of fourth order where the change is of second order, plus round-off.
      out.uncertainty = change * change + round_off(points_.q, out.q, s) + round_off(points_.v, out.v, s);
      if (change < 1e-4) return {};
    }
    if (problem.empty() && out.q.size() > 0) return {};
    return fmt::format("the derivative with respect to '{}' could not be computed: {}", name(j),
                       problem.empty() ? "neighbouring runs take different steps" : problem);
  }

 private:
  std::string name(Eigen::Index j) const {
    const auto i = static_cast<std::size_t>(j);
    return i < wanted_.names.size() ? wanted_.names[i] : fmt::format("{}", j + 1);
  }

  static void extrapolate(const Matrix& one, const Matrix& two, Matrix& out, double& change) {
    if (one.size() == 0) return;
    out = (4.0 * one - two) / 3.0;
    const double size = out.cwiseAbs().maxCoeff();
    if (size > 0.0) change = std::max(change, (one - two).cwiseAbs().maxCoeff() / size);
  }

  /// Relative, of differences of these values.
  static double round_off(const Matrix& values, const Matrix& derivative, double s) {
    const double size = derivative.size() > 0 ? derivative.cwiseAbs().maxCoeff() : 0.0;
    return size > 0.0 ? 4.0 * std::numeric_limits<double>::epsilon() * values.cwiseAbs().maxCoeff() / (s * size) : 0.0;
  }

  std::optional<Sensitivity> central(Eigen::Index j, double s, std::string& problem) {
    Neighbour near[2];
    for (int side = 0; side < 2; ++side) {
      Vector p = parameters_;
      p[j] += side == 0 ? s : -s;
      Problem moved;
      try {
        moved = make_(p);
        refuse_other_layout(*moved.system, j);
        near[side] = run_near(moved, options_, nominal_, points_.t.size(), tape_);
      } catch (const InvalidInput& e) {
        problem = e.what();
        return {};
      }
      if (!near[side].is_alike) {
        problem =
            near[side].problem.empty()
                ? "neighbouring runs have different events, or an event in another step; is it passed with zero speed?"
                : near[side].problem;
        return {};
      }
    }
    const auto n = static_cast<Eigen::Index>(points_.t.size());
    const double part = 1.0 / (2.0 * s);
    const RunPoints &plus = near[0].points, &minus = near[1].points;
    Sensitivity out;
    out.q.resize(n, space_.nv());
    out.v = part * (plus.v - minus.v);
    out.lambda = part * (plus.lambda - minus.lambda);
    out.outputs = part * (plus.outputs - minus.outputs);
    Vector x(space_.nv()), y(space_.nv());
    for (Eigen::Index i = 0; i < n; ++i) {
      const Vector q = points_.q.row(i), ahead = plus.q.row(i), behind = minus.q.row(i);
      space_.difference(q, ahead, x);
      space_.difference(q, behind, y);
      out.q.row(i) = part * (x - y);
      const auto k = static_cast<std::size_t>(i);
      hold_time(i, part * (plus.t[k] - minus.t[k]), out);
    }
    out.event_times.resize(static_cast<Eigen::Index>(near[0].event_times.size()));
    for (Eigen::Index i = 0; i < out.event_times.size(); ++i)
      out.event_times[i] =
          part * (near[0].event_times[static_cast<std::size_t>(i)] - near[1].event_times[static_cast<std::size_t>(i)]);
    return out;
  }

  /// At the time of the run, not at that of the step, which events move.
  void hold_time(Eigen::Index i, double dt, Sensitivity& out) {
    if (dt == 0.0) return;
    find_rates();
    out.q.row(i) -= dt * points_.v.row(i);
    out.v.row(i) -= dt * acceleration_at(i).transpose();
    out.lambda.row(i) -= dt * lambda_rates_.row(i);
    out.outputs.row(i) -= dt * output_rates_.row(i);
  }

  /// Of λ and outputs; most runs have no point that moves.
  void find_rates() {
    if (has_rates_) return;
    has_rates_ = true;
    lambda_rates_ = rates_of(points_, points_.lambda);
    output_rates_ = points_.output_rates;
    // Quantities without a rate get one from neighbouring points.
    const Matrix by_differences = rates_of(points_, points_.outputs);
    for (Eigen::Index i = 0; i < output_rates_.size(); ++i)
      if (!std::isfinite(output_rates_.data()[i])) output_rates_.data()[i] = by_differences.data()[i];
  }

  /// From the forces: the v̇ of a method is round-off where it has just started with tiny steps.
  const Vector& acceleration_at(Eigen::Index i) {
    Vector& known = accelerations_[static_cast<std::size_t>(i)];
    if (known.size() > 0) return known;
    const system::System& system = *systems_[static_cast<std::size_t>(i)];
    system::Motion m(system.space());
    m.t = points_.t[static_cast<std::size_t>(i)];
    m.q = points_.q.row(i);
    m.v = points_.v.row(i);
    m.a = points_.a.row(i);
    Vector lambda = Vector::Zero(system.pattern().rows());
    Counters unused;
    solve::Kkt kkt(system, unused, options_.linear_solver.name());
    known = kkt.accelerate(m, lambda) ? m.a : Vector(points_.a.row(i));
    return known;
  }

  void refuse_other_layout(const system::System& other, Eigen::Index j) const {
    if (other.space().nq() == space_.nq() && other.space().nv() == space_.nv() &&
        other.result_layout().pattern().rows() == layout_.pattern().rows() &&
        other.output_size() == layout_.output_size())
      return;
    throw InvalidInput(fmt::format(
        "'{}' changes the number of coordinates, constraints or outputs; there is no derivative with respect to it",
        name(j)));
  }

  const ProblemOf& make_;
  const Vector& parameters_;
  const Options options_;
  const SensitivityOptions& wanted_;
  const Report& nominal_;
  const RunPoints& points_;
  const std::vector<const system::System*>& systems_;
  const Tape& tape_;
  const lie::Space& space_;
  const system::System& layout_;
  bool has_rates_ = false;
  Matrix lambda_rates_, output_rates_;
  std::vector<Vector> accelerations_{points_.t.size()};
};

}  // namespace

double neighbour_step(const Vector& scale, const Vector& parameters, Eigen::Index j, int bits) {
  const double size = scale.size() > 0 ? scale[j] : parameters[j] != 0.0 ? std::abs(parameters[j]) : 1.0;
  return std::exp2(std::floor(std::log2(size)) - bits);
}

Sensitivities differentiate(const ProblemOf& make, const Vector& parameters, const Options& given,
                            const SensitivityOptions& wanted, Observer& observer) {
  Options options = given;
  options.output_step = 0.0;  // every step is needed
  options.output_times.clear();
  const Problem problem = make(parameters);
  Options nominal_options = options;
  nominal_options.events.insert(nominal_options.events.end(), problem.events.begin(), problem.events.end());
  refuse_what_cannot_run(*problem.system, problem.start, nominal_options);
  Sensitivities out;
  std::unique_ptr<Forward> forward;
  if (wanted.uses_differences) {
    out.differences = "they were requested";
  } else if (parameters.size() > 0) {
    Vector steps(parameters.size());
    for (Eigen::Index j = 0; j < steps.size(); ++j)
      steps[j] = neighbour_step(wanted.scale, parameters, j, Forward::parameter_bits);
    try {
      forward = std::make_unique<Forward>(make, parameters, steps, options, problem, wanted.is_cheap);
    } catch (const InvalidInput& e) {
      out.differences = e.what();
    }
  }
  Tape tape;
  Keeper keeper(problem.system->result_layout(), &observer);
  Drive drive(*problem.system, problem.start, nominal_options, keeper, {}, nullptr, &tape, forward.get());
  keeper.follow(drive, forward.get(), wanted.times);
  drive.advance_to(std::numeric_limits<double>::infinity());
  out.report = drive.report();
  out.points = keeper.points();
  out.sampled = keeper.sampled();
  if (out.report.status != Status::success) return out;
  if (forward != nullptr) out.differences = forward->obstacle();
  Differentiation differences(make, parameters, options, wanted, out.report, out.points, keeper.systems(), tape,
                              problem);
  for (Eigen::Index j = 0; j < parameters.size() && out.problem.empty(); ++j) {
    if (out.differences.empty()) {
      out.by.push_back(differences.carried(keeper, static_cast<std::size_t>(j), forward->remainder()));
      continue;
    }
    out.by.emplace_back();
    out.problem = differences.find(j, out.by.back());
  }
  return out;
}

std::vector<PointWeight> interpolation_at(const RunPoints& points, double time) {
  const std::vector<double>& t = points.t;
  // At an event both sides exist; the later one counts.
  const auto after = std::upper_bound(t.begin(), t.end(), time);
  const std::size_t before = after == t.begin() ? 0 : static_cast<std::size_t>(after - t.begin()) - 1;
  if (t[before] == time || before + 1 >= t.size()) return {{before, 1.0}};
  std::size_t first = before, last = before + 1;
  const auto belongs = [&](std::size_t k) { return points.segment[k] == points.segment[last]; };
  while (last - first < 5) {
    const bool can_go_back = first > 0 && belongs(first - 1) && t[first - 1] < t[first];
    const bool can_go_on =
        last + 1 < t.size() && points.segment[last + 1] == points.segment[last] && t[last + 1] > t[last];
    if (!can_go_back && !can_go_on) break;
    const bool is_balanced = before - first < last - before;
    if (can_go_back && (is_balanced || !can_go_on))
      --first;
    else
      ++last;
  }
  std::vector<PointWeight> weights;
  for (std::size_t j = first; j <= last; ++j) {
    double weight = 1.0;
    for (std::size_t k = first; k <= last; ++k)
      if (k != j) weight *= (time - t[k]) / (t[j] - t[k]);
    weights.push_back({j, weight});
  }
  return weights;
}

Matrix Sensitivities::at(const std::vector<double>& times, const Matrix& rows) const {
  Matrix out = Matrix::Zero(static_cast<Eigen::Index>(times.size()), rows.cols());
  for (std::size_t i = 0; i < times.size(); ++i)
    for (const auto& [point, weight] : interpolation_at(points, times[i]))
      out.row(static_cast<Eigen::Index>(i)) += weight * rows.row(static_cast<Eigen::Index>(point));
  return out;
}

}  // namespace kreisel::run
