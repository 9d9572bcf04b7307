#include "io/result/sensitivities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "base/decompositions.hpp"
#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/result/prepare.hpp"
#include "io/result/tuning.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "solve/assemble.hpp"

namespace kreisel::io {
namespace {

RunSpec with_all(RunSpec spec, const std::vector<std::string>& names, const Vector& values) {
  for (std::size_t i = 0; i < names.size(); ++i)
    spec = with_parameter(std::move(spec), names[i], values[static_cast<Eigen::Index>(i)]);
  return spec;
}

Vector values_of(const RunSpec& spec, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::ranges::count(names, name) > 1)
      throw InvalidInput(fmt::format("parameter '{}' is named more than once", name));
  return parameter_values(spec, names);
}

/// "q0.3", "v0.2": an entry of the initial position, left-trivialised, or velocity, numbered from 1.
struct InitialValue {
  bool is_velocity = false;
  int entry = 0;
};
std::optional<InitialValue> initial_value(const std::string& name) {
  if (!name.starts_with("q0.") && !name.starts_with("v0.")) return {};
  const std::optional<double> number = number_in(name.substr(3));
  if (!number || *number != std::floor(*number) || std::abs(*number) > 1e9)
    throw InvalidInput(
        fmt::format("'{}' is not an initial value; expected q0.N or v0.N with a number from 1 on", name));
  return InitialValue{name[0] == 'v', static_cast<int>(*number)};
}

/// By initial values, then onto the constraints in the metric of the masses.
void move_start(const std::vector<std::string>& names, const Vector& by, const system::System& system,
                system::Start& start) {
  Vector step = Vector::Zero(system.space().nv());
  bool has_moved = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double way = by[static_cast<Eigen::Index>(i)];
    const std::optional<InitialValue> initial = initial_value(names[i]);
    if (!initial) continue;
    if (initial->entry < 1 || initial->entry > system.space().nv())
      throw InvalidInput(
          fmt::format("'{}': the model has entries 1 to {} of velocities", names[i], system.space().nv()));
    has_moved = has_moved || way != 0.0;
    (initial->is_velocity ? start.v0 : step)[initial->entry - 1] += way;
  }
  if (!has_moved) return;
  system.space().move(start.q0, step, start.q0);
  static_cast<void>(solve::assemble(system, start));
}

}  // namespace

void refuse_unknown_names(const RunSpec& spec, const std::vector<std::string>& names) {
  std::vector<std::string> parameters;
  for (const std::string& name : names)
    if (!initial_value(name)) parameters.push_back(name);
  static_cast<void>(parameter_values(spec, parameters));
  PreparedRun run = prepare(spec);
  move_start(names, Vector::Zero(static_cast<Eigen::Index>(names.size())), *run.model.system, run.model.start);
}

namespace {

/// A run as a function of the named numbers.
struct Parametrized {
  run::ProblemOf make;
  Vector values, scale;
  run::Options options;
};

Parametrized parametrized(const RunSpec& spec, const std::vector<std::string>& names,
                          const std::vector<system::Event>& events) {
  std::vector<std::string> parameters;
  for (const std::string& name : names) {
    if (std::ranges::count(names, name) > 1)
      throw InvalidInput(fmt::format("parameter '{}' is named more than once", name));
    if (!initial_value(name)) parameters.push_back(name);
  }
  const Vector of_parameters = values_of(spec, parameters);
  Parametrized out;
  out.values = Vector::Zero(static_cast<Eigen::Index>(names.size()));
  std::vector<Eigen::Index> place;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!initial_value(names[i])) {
      out.values[static_cast<Eigen::Index>(i)] = of_parameters[static_cast<Eigen::Index>(place.size())];
      place.push_back(static_cast<Eigen::Index>(i));
    }
  const RunSpec base = with_all(spec, parameters, of_parameters);
  const auto nominal = std::make_shared<const PreparedRun>(prepare(base));
  out.scale = Vector::Ones(out.values.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const Field* field = find_field(nominal->model_info->parameters, names[i]);
    const double range = field != nullptr ? field->maximum - field->minimum : HUGE_VAL;
    out.scale[at] = out.values[at] != 0.0 ? std::abs(out.values[at]) : std::isfinite(range) ? range : 1.0;
  }
  out.options = nominal->options;
  // with_all has put them at the end, in this order.
  out.make = [base, nominal, names, place, events](const Vector& p) -> run::Problem {
    RunSpec spec_of_p = base;
    const std::size_t first = spec_of_p.settings.size() - place.size();
    bool is_nominal = true;
    for (std::size_t i = 0; i < place.size(); ++i) {
      Value& value = spec_of_p.settings[first + i].value;
      const Value moved = p[place[i]];
      is_nominal = is_nominal && value == moved;
      value = moved;
    }
    models::Model model = is_nominal ? nominal->model : prepare_again(*nominal, spec_of_p);
    move_start(names, p, *model.system, model.start);
    return {model.system, model.start, events};
  };
  return out;
}

/// "knee", "knee@0.4", "integral(knee)".
struct Scalar {
  enum class Kind { final_value, value, integral } kind = Kind::final_value;
  Eigen::Index output = 0;
  double t = 0.0;
};

Scalar scalar_named(const std::string& text, const system::System& layout, const system::Start& start, double t_end) {
  constexpr std::string_view integral = "integral(";
  Scalar scalar;
  std::string column = text;
  if (text.starts_with(integral) && text.ends_with(")")) {
    scalar.kind = Scalar::Kind::integral;
    column = text.substr(integral.size(), text.size() - integral.size() - 1);
  } else if (const std::size_t at = text.rfind('@'); at != std::string::npos) {
    const std::optional<double> t = number_in(text.substr(at + 1));
    if (!t || !(*t >= start.t0) || !(*t <= t_end))
      throw InvalidInput(fmt::format("'{}': expected a time from {:g} to {:g} after '@'", text, start.t0, t_end));
    scalar.kind = Scalar::Kind::value;
    scalar.t = *t;
    column = text.substr(0, at);
  }
  std::vector<std::string> columns;
  for (const system::OutputInfo& info : layout.outputs())
    for (int i = 0; i < info.size(); ++i) columns.push_back(info.column(i));
  const int sizes[] = {layout.space().nq(), layout.space().nv(), layout.pattern().rows()};
  for (int kind = 0; kind < 3; ++kind)
    for (int i = 1; i <= sizes[kind]; ++i)
      columns.push_back(fmt::format("{}{}", kind == 0 ? "q" : kind == 1 ? "v" : "lambda", i));
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) throw InvalidInput(unknown_name("output", column, columns));
  scalar.output = found - columns.begin();
  return scalar;
}

std::vector<Scalar> scalars_named(const RunSpec& spec, const std::vector<std::string>& texts) {
  if (texts.empty()) throw InvalidInput("no outputs are named");
  const PreparedRun run = prepare(spec);
  const system::Start& start = run.model.start;
  const double t_end = std::isnan(run.options.t_end) ? start.t_end : run.options.t_end;
  std::vector<Scalar> scalars;
  for (const std::string& text : texts)
    scalars.push_back(scalar_named(text, run.model.system->result_layout(), start, t_end));
  return scalars;
}

/// ∫ over the run: between two points the cubic through the four nearest, integrated by Gauss's formula.
std::vector<run::PointWeight> integration_over(const run::RunPoints& points) {
  const std::vector<double>& t = points.t;
  std::vector<run::PointWeight> weights;
  for (std::size_t i = 0; i < t.size(); ++i) weights.push_back({i, 0.0});
  constexpr std::array<double, 2> node{0.21132486540518713, 0.78867513459481287};
  for (std::size_t i = 0; i + 1 < t.size(); ++i) {
    const double h = t[i + 1] - t[i];
    if (!(h > 0.0)) continue;
    const int segment = points.segment[i + 1];
    std::size_t first = i, last = i + 1;
    if (i > 0 && points.segment[i] == segment && points.segment[i - 1] == segment && t[i - 1] < t[i]) --first;
    if (i + 2 < t.size() && points.segment[i + 2] == segment && t[i + 2] > t[i + 1]) ++last;
    for (const double at : node)
      for (std::size_t j = first; j <= last; ++j) {
        double weight = 0.5 * h;
        for (std::size_t k = first; k <= last; ++k)
          if (k != j) weight *= (t[i] + at * h - t[k]) / (t[j] - t[k]);
        weights[j].weight += weight;
      }
  }
  return weights;
}

run::Gradients gradients_of(const RunSpec& spec, const std::vector<std::string>& names, run::Observer& observer,
                            const std::vector<system::Event>& events, std::size_t most_bytes, bool includes_motion,
                            const run::ScalarsOf& scalars) {
  const Parametrized run = parametrized(spec, names, events);
  std::vector<bool> moves_start_alone;
  for (const std::string& name : names) moves_start_alone.push_back(initial_value(name).has_value());
  return run::differentiate_backwards(run.make, run.values, run.options,
                                      {.names = names,
                                       .scale = run.scale,
                                       .moves_start_alone = moves_start_alone,
                                       .includes_motion = includes_motion,
                                       .most_bytes = most_bytes},
                                      scalars, observer);
}

/// Scalars of a run and their derivatives from those of its motion.
class ForwardGradients {
 public:
  ForwardGradients(const Parametrized& run, const run::Sensitivities& motion)
      : motion_(motion), points_(motion.points), space_(run.make(run.values).system->space()) {
    count_ = static_cast<Eigen::Index>(points_.t.size());
    const Eigen::Index outputs = points_.outputs.cols(), q = points_.q.cols(), v = points_.v.cols();
    all_.resize(count_, outputs + q + v + points_.lambda.cols());
    all_ << points_.outputs, points_.q, points_.v, points_.lambda;
  }

  /// As the adjoint shows them.
  run::RunPoints points() const {
    run::RunPoints out;
    out.t = points_.t;
    out.segment = points_.segment;
    out.outputs = all_;
    return out;
  }
  double value(const std::vector<run::OutputTerm>& terms) const {
    double sum = 0.0;
    for (const run::OutputTerm& term : terms)
      sum += term.weight * all_(static_cast<Eigen::Index>(term.point), term.output);
    return sum;
  }
  /// At the times of the points.
  double slope(const std::vector<run::OutputTerm>& terms, std::size_t j) const {
    double sum = 0.0;
    for (const run::OutputTerm& term : terms)
      if (term.weight != 0.0) sum += term.weight * slope(static_cast<Eigen::Index>(term.point), term.output, j);
    return sum;
  }

  /// What the end of the run adds, where an event that moves by a parameter ends it. NaN: not known.
  double slope_by_end(Eigen::Index output, std::size_t j) const {
    const double dt = shift_at(count_ - 1, j);
    const Eigen::Index outputs = points_.outputs.cols(), q = points_.q.cols(), v = points_.v.cols();
    if (dt == 0.0) return 0.0;
    if (output < outputs) return dt * points_.output_rates(count_ - 1, output);
    if (output < outputs + q) return dt * change_of_q(count_ - 1, points_.v.row(count_ - 1))[output - outputs];
    if (output < outputs + q + v) return dt * points_.a(count_ - 1, output - outputs - q);
    return NAN;
  }
  /// What jumps at times that move, and the end, add to an integral. NaN: not known.
  double slope_of_integral_by_times(Eigen::Index output, std::size_t j, bool ends_at_event) const {
    double sum = ends_at_event ? all_(count_ - 1, output) * shift_at(count_ - 1, j) : 0.0;
    const double size = all_.col(output).cwiseAbs().maxCoeff();
    for (Eigen::Index i = 0; i + 1 < count_; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double jump = all_(i, output) - all_(i + 1, output);
      constexpr double round_off = 1e-9;
      if (points_.segment[k] != points_.segment[k + 1] && std::abs(jump) > round_off * size)
        sum += jump * shift_at(i, j);
    }
    return sum;
  }

 private:
  Vector change_of_q(Eigen::Index i, const Vector& x) const {
    const Vector q = points_.q.row(i);
    const double s = 1e-6 / std::max(1.0, x.lpNorm<Eigen::Infinity>());
    Vector ahead(q.size()), behind(q.size());
    space_.move(q, Vector(s * x), ahead);
    space_.move(q, Vector(-s * x), behind);
    return (ahead - behind) / (2.0 * s);
  }
  double slope(Eigen::Index i, Eigen::Index output, std::size_t j) const {
    const run::Sensitivity& s = motion_.by[j];
    const Eigen::Index outputs = points_.outputs.cols(), q = points_.q.cols(), v = points_.v.cols();
    if (output < outputs) return s.outputs(i, output);
    if (output < outputs + q) return change_of_q(i, s.q.row(i))[output - outputs];
    if (output < outputs + q + v) return s.v(i, output - outputs - q);
    return s.lambda(i, output - outputs - q - v);
  }
  /// Of the time of the event at a point; NaN: none is known there.
  double shift_at(Eigen::Index i, std::size_t j) const {
    const Vector& shifts = motion_.by[j].event_times;
    const double t = points_.t[static_cast<std::size_t>(i)];
    for (std::size_t e = 0; e < motion_.report.events.size(); ++e)
      if (std::abs(motion_.report.events[e].t - t) <= 1e-12 * std::max(1.0, std::abs(t)) &&
          static_cast<Eigen::Index>(e) < shifts.size())
        return shifts[static_cast<Eigen::Index>(e)];
    return NAN;
  }

  const run::Sensitivities& motion_;
  const run::RunPoints& points_;
  const lie::Space space_;
  Eigen::Index count_ = 0;
  Matrix all_;
};

}  // namespace

run::Sensitivities sensitivities(const RunSpec& spec, const std::vector<std::string>& names, run::Observer& observer,
                                 run::SensitivityOptions wanted, const std::vector<system::Event>& events) {
  const Parametrized run = parametrized(spec, names, events);
  wanted.names = names;
  wanted.scale = run.scale;
  return run::differentiate(run.make, run.values, run.options, wanted, observer);
}

void refuse_unknown_scalars(const RunSpec& spec, const std::vector<std::string>& scalars) {
  static_cast<void>(scalars_named(spec, scalars));
}

run::Gradients gradients(const RunSpec& spec, const std::vector<std::string>& names,
                         const std::vector<std::string>& scalars, run::Observer& observer,
                         const std::vector<system::Event>& events, std::size_t most_bytes) {
  const std::vector<Scalar> wanted = scalars_named(spec, scalars);
  const run::ScalarsOf terms_of = [&](const run::RunPoints& points) {
    std::vector<std::vector<run::OutputTerm>> terms(wanted.size());
    for (std::size_t f = 0; f < wanted.size(); ++f) {
      const Scalar& scalar = wanted[f];
      const std::vector<run::PointWeight> weights = scalar.kind == Scalar::Kind::integral ? integration_over(points)
                                                    : scalar.kind == Scalar::Kind::value
                                                        ? run::interpolation_at(points, scalar.t)
                                                        : std::vector<run::PointWeight>{{points.t.size() - 1, 1.0}};
      for (const run::PointWeight& w : weights) terms[f].push_back({w.point, scalar.output, w.weight});
    }
    return terms;
  };
  run::Gradients found = gradients_of(spec, names, observer, events, most_bytes, true, terms_of);
  if (found.problem.empty() || found.report.status != run::Status::success || !observer.goes_on(0.0, 0)) return found;

  // What the adjoint does not serve, as events, costs as much as the derivatives of the whole motion.
  const Parametrized run = parametrized(spec, names, events);
  const run::Sensitivities motion = sensitivities(spec, names, observer, {}, events);
  found.report = motion.report;
  if (motion.report.status != run::Status::success) return found;
  if (!motion.problem.empty()) {
    found.problem = motion.problem;
    return found;
  }
  found.problem.clear();
  const ForwardGradients forward(run, motion);
  const std::vector<std::vector<run::OutputTerm>> terms = terms_of(forward.points());
  const double t_end = std::isnan(run.options.t_end) ? run.make(run.values).start.t_end : run.options.t_end;
  const bool ends_at_event = motion.points.t.back() < t_end - 1e-12 * std::max(1.0, std::abs(t_end));
  found.values.resize(static_cast<Eigen::Index>(terms.size()));
  found.by.resize(found.values.size(), static_cast<Eigen::Index>(names.size()));
  for (std::size_t f = 0; f < terms.size(); ++f) {
    const auto row = static_cast<Eigen::Index>(f);
    found.values[row] = forward.value(terms[f]);
    for (std::size_t j = 0; j < names.size(); ++j) {
      double& slope = found.by(row, static_cast<Eigen::Index>(j));
      slope = forward.slope(terms[f], j);
      if (wanted[f].kind == Scalar::Kind::integral)
        slope += forward.slope_of_integral_by_times(wanted[f].output, j, ends_at_event);
      else if (wanted[f].kind == Scalar::Kind::final_value && ends_at_event)
        slope += forward.slope_by_end(wanted[f].output, j);
      if (!std::isfinite(slope)) {
        found.problem =
            fmt::format("the derivative of '{}' by '{}' is not known: it jumps at a corner, or an event ends the run",
                        scalars[f], names[j]);
        return found;
      }
    }
  }
  return found;
}

run::Gradients gradients(const RunSpec& spec, const std::vector<std::string>& names, const std::vector<double>& times,
                         const Matrix& weights, run::Observer& observer, const std::vector<system::Event>& events) {
  return gradients_of(spec, names, observer, events, run::AdjointOptions{}.most_bytes, false,
                      [&](const run::RunPoints& points) {
                        std::vector<std::vector<run::OutputTerm>> terms(1);
                        for (std::size_t i = 0; i < times.size(); ++i)
                          for (const run::PointWeight& w : run::interpolation_at(points, times[i]))
                            for (Eigen::Index k = 0; k < weights.cols(); ++k)
                              if (const double weight = weights(static_cast<Eigen::Index>(i), k); weight != 0.0)
                                terms[0].push_back({w.point, k, weight * w.weight});
                        return terms;
                      });
}

void write_gradients(const Path& path, const std::vector<std::string>& names, const std::vector<std::string>& scalars,
                     const run::Gradients& found) {
  std::string text = "output,value";
  for (const std::string& name : names) text += "," + csv_cell("d/d " + name);
  text += "\n";
  for (std::size_t f = 0; f < scalars.size(); ++f) {
    const auto row = static_cast<Eigen::Index>(f);
    text += fmt::format("{},{:.17g}", csv_cell(scalars[f]), found.values[row]);
    for (Eigen::Index j = 0; j < found.by.cols(); ++j) text += fmt::format(",{:.17g}", found.by(row, j));
    text += "\n";
  }
  write_atomically(path, text);
}

void write_sensitivities(const Path& path, const system::System& layout, const std::vector<std::string>& names,
                         const run::Sensitivities& found) {
  std::vector<std::string> outputs;
  for (const system::OutputInfo& info : layout.outputs())
    for (int i = 0; i < info.size(); ++i) outputs.push_back(info.column(i));
  std::string text = "t";
  for (std::size_t j = 0; j < found.by.size(); ++j) {
    const run::Sensitivity& s = found.by[j];
    for (const std::string& output : outputs) text += "," + csv_cell(fmt::format("d {}/d {}", output, names[j]));
    for (const auto& [letter, rows] : {std::pair("q", &s.q), std::pair("v", &s.v), std::pair("lambda", &s.lambda)})
      for (Eigen::Index i = 0; i < rows->cols(); ++i)
        text += "," + csv_cell(fmt::format("d {}{}/d {}", letter, i + 1, names[j]));
  }
  text += "\n";
  for (std::size_t i = 0; i < found.points.t.size(); ++i) {
    text += fmt::format("{:.17g}", found.points.t[i]);
    for (const run::Sensitivity& s : found.by)
      for (const Matrix* rows : {&s.outputs, &s.q, &s.v, &s.lambda})
        for (Eigen::Index k = 0; k < rows->cols(); ++k)
          text += fmt::format(",{:.17g}", (*rows)(static_cast<Eigen::Index>(i), k));
    text += "\n";
  }
  write_atomically(path, text);
}

// ---- fits

FitData read_fit_data(const Path& path) {
  const std::string text = read_text(path, "data");
  FitData data;
  std::vector<double> numbers;
  std::vector<std::string> heads;
  int line_number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells;
    for (std::size_t from = 0; from <= line.size();) {
      const std::size_t comma = std::min(line.find(',', from), line.size());
      std::string cell = line.substr(from, comma - from);
      while (!cell.empty() && (cell.front() == ' ' || cell.front() == '"')) cell.erase(0, 1);
      while (!cell.empty() && (cell.back() == ' ' || cell.back() == '"')) cell.pop_back();
      cells.push_back(std::move(cell));
      from = comma + 1;
    }
    const auto place = [&] { return fmt::format("{}:{}", path.string(), line_number); };
    if (heads.empty()) {
      heads = cells;
      if (std::ranges::count(heads, "t") != 1 || heads.size() < 2)
        throw InvalidInput(
            fmt::format("{}: the first line is '{}', expected the names of the columns: t and at least one output",
                        place(), clipped(line, 60)));
      for (const std::string& head : heads)
        if (head != "t") data.columns.push_back(head);
      continue;
    }
    if (cells.size() != heads.size())
      throw InvalidInput(fmt::format("{}: {} cells, but the first line names {}", place(), cells.size(), heads.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::optional<double> number = number_in(cells[i]);
      const bool is_gap = cells[i].empty() || cells[i] == "nan" || cells[i] == "NaN";
      if (!number && (heads[i] == "t" || !is_gap))
        throw InvalidInput(
            fmt::format("{}: column '{}' has '{}', expected a number", place(), heads[i], clipped(cells[i], 40)));
      if (heads[i] == "t")
        data.t.push_back(*number);
      else
        numbers.push_back(number.value_or(NAN));
    }
    if (data.t.size() > 1 && !(data.t.back() > data.t[data.t.size() - 2]))
      throw InvalidInput(fmt::format("{}: t = {} is not after the time of the previous line; times must increase",
                                     place(), data.t.back()));
  }
  if (data.t.empty()) throw InvalidInput(fmt::format("{}: holds no data", path.string()));
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  data.values = Eigen::Map<const Rows>(numbers.data(), static_cast<Eigen::Index>(data.t.size()),
                                       static_cast<Eigen::Index>(data.columns.size()));
  return data;
}

namespace {

class Fitter {
  /// Part of the variance by which another step would lower the sum of squares.
  static constexpr double converged = 2.5e-3;

 public:
  Fitter(const RunSpec& spec, const FitData& data, const std::vector<FreeParameter>& free, run::Observer& observer)
      : spec_(spec), data_(data), observer_(observer) {
    out_.free = free;
    for (const FreeParameter& parameter : free) names_.push_back(parameter.name);
    if (names_.empty()) throw InvalidInput("no parameter is free; name at least one");
    out_.values = values_of(spec, names_);
    const PreparedRun run = prepare(spec);
    const system::System& system = *run.model.system;
    for (const std::string& column : data.columns) numbers_.push_back(output_number(system, column));
    const double t0 = run.model.start.t0;
    const double t_end = std::isnan(run.options.t_end) ? run.model.start.t_end : run.options.t_end;
    if (data.t.front() < t0)
      throw InvalidInput(fmt::format("the data begin at t = {}, before the run begins at {}", data.t.front(), t0));
    if (spec.has("t_end") && data.t.back() > t_end)
      throw InvalidInput(fmt::format("the data extend to t = {}, but the run ends at {}", data.t.back(), t_end));
    spec_.set("t_end", std::max(data.t.back(), std::nextafter(t0, HUGE_VAL)));
    for (Eigen::Index i = 0; i < out_.values.size(); ++i) {
      FreeParameter& p = out_.free[static_cast<std::size_t>(i)];
      if (const Field* field = find_field(run.model_info->parameters, p.name)) {
        p.low = std::max(p.low, field->minimum);
        p.high = std::min(p.high, field->maximum);
      }
      if (!(p.low < p.high))
        throw InvalidInput(
            fmt::format("'{}' is free between {} and {}, which is an empty interval", p.name, p.low, p.high));
      // A start outside its bounds is moved between them.
      if (!(out_.values[i] >= p.low && out_.values[i] <= p.high))
        out_.values[i] = std::isfinite(p.low) && std::isfinite(p.high)
                             ? (p.low > 0.0 ? std::sqrt(p.low * p.high) : 0.5 * (p.low + p.high))
                             : std::clamp(out_.values[i], p.low, p.high);
    }
  }

  Fit run(const FitOptions& options) {
    Vector size(data_.values.cols());
    for (Eigen::Index k = 0; k < size.size(); ++k) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (const double y : data_.values.col(k))
        if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
      if (low > high)
        throw InvalidInput(fmt::format("column '{}' holds no number", data_.columns[static_cast<std::size_t>(k)]));
      size[k] = std::max({high - low, 1e-9 * std::max(std::abs(low), std::abs(high)), 1e-300});
    }
    const std::vector<Vector> starts = starts_of(options.starts);
    std::vector<Found> found;
    std::string message;
    for (const Vector& start : starts) {
      weight_ = size.cwiseInverse();
      out_.message.clear();
      if (search(start))
        found.push_back({at_, weight_, badness(size)});
      else if (message.empty())
        message = out_.message;
      if (starts.size() > 1 && !observer_.goes_on(0.0, 0)) break;
    }
    if (found.empty()) return fail(message);
    const auto best = std::ranges::min_element(found, {}, &Found::badness);
    for (const Found& other : found)
      if (&other != &*best && is_elsewhere(other.at.p, best->at.p)) {
        const double ratio = other.badness / std::max(best->badness, 1e-300);
        if (std::ranges::none_of(out_.others, [&](const Fit::Other& o) { return !is_elsewhere(o.values, other.at.p); }))
          out_.others.push_back({other.at.p, ratio});
      }
    if (found.size() < starts.size())
      out_.warnings.push_back(
          fmt::format("{} of {} starts did not lead to a minimum", starts.size() - found.size(), starts.size()));
    at_ = best->at;
    weight_ = best->weight;
    out_.message.clear();
    estimate_noise();
    judge();
    if (out_.is_found) look_at_residuals();
    return out_;
  }

 private:
  /// A point of the search with its values and derivatives.
  struct Evaluated {
    Vector p;
    Matrix values;
    std::vector<Matrix> by;  ///< derivatives, as the values
    /// How far from here they were taken: the reductions of the sum of squares that the steps since then have promised, in variances.
    double moved = 0.0;
  };
  struct Found {
    Evaluated at;
    Vector weight;
    double badness = 0.0;
  };

  Fit fail(std::string message) {
    out_.message = std::move(message);
    return out_;
  }

  /// The values of the spec, then points spread over the bounds by a Halton sequence; positive bounds of different size by their
  /// logarithms.
  std::vector<Vector> starts_of(int count) const {
    constexpr std::array<int, 8> primes{2, 3, 5, 7, 11, 13, 17, 19};
    std::vector<Vector> starts{out_.values};
    for (int number = 1; number < count; ++number) {
      Vector p = out_.values;
      for (Eigen::Index j = 0; j < p.size(); ++j) {
        const FreeParameter& free = out_.free[static_cast<std::size_t>(j)];
        const int base = primes[static_cast<std::size_t>(j) % primes.size()];
        double place = 0.0, digit = 1.0;
        for (int n = number; n > 0; n /= base) {
          digit /= base;
          place += digit * (n % base);
        }
        // Without bounds: a decade around the start.
        const double middle = out_.values[j] != 0.0 ? out_.values[j] : 1.0;
        double low = std::isfinite(free.low) ? free.low : std::min(middle * 0.3, middle * 3.0);
        double high = std::isfinite(free.high) ? free.high : std::max(middle * 0.3, middle * 3.0);
        if (!(low < high)) std::swap(low, high);
        p[j] = low > 0.0 && high > 3.0 * low ? low * std::pow(high / low, place) : low + place * (high - low);
      }
      starts.push_back(p);
    }
    return starts;
  }

  bool is_elsewhere(const Vector& a, const Vector& b) const {
    return ((a - b).cwiseAbs().array() > 1e-2 * (a.cwiseAbs() + b.cwiseAbs()).array().max(1e-12)).any();
  }

  /// Sums of squares that do not depend on the weights and can be compared.
  double badness(const Vector& size) const {
    double product = 1.0;
    const Matrix left = differences();
    for (Eigen::Index k = 0; k < size.size(); ++k) product *= left.col(k).squaredNorm() / (size[k] * size[k]) + 1e-30;
    return std::pow(product, 1.0 / static_cast<double>(size.size()));
  }

  /// Zero where nothing was measured.
  Matrix differences() const {
    Matrix r = at_.values - data_.values;
    for (double& x : r.reshaped()) x = std::isfinite(x) ? x : 0.0;
    return r;
  }

  /// With derivatives, unless those of `out` are to stay.
  bool evaluate(const Vector& p, bool keeps_derivatives, Evaluated& out, std::string& problem) {
    run::Sensitivities found;
    out_.runs += keeps_derivatives ? 0 : 1;
    try {
      RunSpec spec = with_all(spec_, names_, p);
      if (looseness_ > 1.0) spec.set("rtol", rtol_), spec.set("atol", atol_);
      found = sensitivities(spec, keeps_derivatives ? std::vector<std::string>{} : names_, observer_,
                            {.is_cheap = true, .times = data_.t});
    } catch (const InvalidInput& e) {
      problem = e.what();
      return false;
    }
    if (found.report.status != run::Status::success) {
      problem = fmt::format("{}: {}", run::info_of(found.report.status).name, found.report.message);
      return false;
    }
    if (!found.problem.empty()) {
      problem = found.problem;
      return false;
    }
    const auto mine = [&](const Matrix& all) {
      Matrix chosen(all.rows(), static_cast<Eigen::Index>(numbers_.size()));
      for (std::size_t k = 0; k < numbers_.size(); ++k) chosen.col(static_cast<Eigen::Index>(k)) = all.col(numbers_[k]);
      return chosen;
    };
    out.p = p;
    out.values = mine(found.sampled);
    for (Eigen::Index i = 0; i < out.values.rows(); ++i)
      for (Eigen::Index k = 0; k < out.values.cols(); ++k)
        if (!std::isfinite(out.values(i, k)) && std::isfinite(data_.values(i, k))) {
          problem = fmt::format("the run has no value of '{}' at t = {}; did it end earlier?",
                                data_.columns[static_cast<std::size_t>(k)], data_.t[static_cast<std::size_t>(i)]);
          return false;
        }
    if (keeps_derivatives) return true;
    out.by.clear();
    out.moved = 0.0;
    for (const run::Sensitivity& s : found.by) {
      out.by.push_back(mine(found.at(data_.t, s.outputs)));
      if (!out.by.back().allFinite()) {
        problem = "the derivatives of the outputs are not finite";
        return false;
      }
    }
    return true;
  }

  /// Weighted.
  Vector residual(const Evaluated& at) const {
    Matrix r = at.values - data_.values;
    for (Eigen::Index k = 0; k < r.cols(); ++k)
      for (Eigen::Index i = 0; i < r.rows(); ++i) r(i, k) = std::isfinite(r(i, k)) ? weight_[k] * r(i, k) : 0.0;
    return r.reshaped();
  }

  void set_jacobian() {
    jacobian_.resize(data_.values.size(), static_cast<Eigen::Index>(names_.size()));
    for (std::size_t j = 0; j < names_.size(); ++j) {
      Matrix by = at_.by[j] * weight_.asDiagonal();
      for (Eigen::Index i = 0; i < by.size(); ++i)
        if (!std::isfinite(data_.values.data()[i])) by.data()[i] = 0.0;
      jacobian_.col(static_cast<Eigen::Index>(j)) = by.reshaped();
    }
  }

  /// First with looser tolerances of the runs, whose errors are small against what is left of the data far from the minimum, then with
  /// those of the spec.
  [[nodiscard]] bool search(const Vector& start) {
    constexpr double loosest = 1e-3, most = 300.0, near = 10.0;
    const Vector weight = weight_;
    const PreparedRun run = prepare(with_all(spec_, names_, start));
    looseness_ = run.options.has_error_control() ? std::clamp(loosest / run.options.rtol, 1.0, most) : 1.0;
    if (looseness_ > 1.0) {
      rtol_ = looseness_ * run.options.rtol;
      atol_ = looseness_ * run.options.atol;
      const std::size_t warnings = out_.warnings.size();
      at_.by.clear();
      promise_ = 0.0;
      const bool has_come_near = search_from(start, near);
      looseness_ = 1.0;
      out_.message.clear();
      out_.warnings.resize(warnings);
      if (!observer_.goes_on(0.0, 0)) return fail("interrupted"), false;
      // Derivatives of looser runs do not count in the end; farther away than a standard error, they lead there.
      if (promise_ > 1.0)
        at_.moved = std::max(at_.moved, near);
      else
        at_.by.clear();
      if (has_come_near) {
        const bool is_found = search_from(at_.p, converged);
        if (is_found || has_begun_) return is_found;
        out_.message.clear();
      }
    }
    weight_ = weight;
    at_.by.clear();
    return search_from(start, converged);
  }

  /// Columns are weighted by their residuals, which a rough fit gives.
  [[nodiscard]] bool search_from(const Vector& start, double part) {
    std::string problem;
    has_begun_ = evaluate(start, !at_.by.empty(), at_, problem);
    if (!has_begun_) return fail("at the initial parameters: " + problem), false;
    set_jacobian();
    if (!all_matter()) return false;
    double damping = 1e-6;
    if (weight_.size() > 1) {
      if (!minimize(damping, std::max(part, 1e-2))) return false;
      estimate_noise();
      for (Eigen::Index k = 0; k < weight_.size(); ++k) weight_[k] = 1.0 / std::max(out_.noise[k], 1e-12 / weight_[k]);
    }
    return minimize(damping, part);
  }

  /// Until a step would lower the sum of squares by less than this part of the variance: √part standard errors away. That step is taken
  /// without another run: values and derivatives are linear there. Close to the minimum derivatives hardly change, and further runs go
  /// without them; at the end they are those of the minimum.
  [[nodiscard]] bool minimize(double& damping, double part) {
    constexpr int most_iterations = 100;
    constexpr double seen = 1e-3;        // a reduction below it does not change the result
    constexpr double most_unseen = 0.2;  // of a parameter, without a run
    constexpr double close = 1e3, has_moved_far = 1e-2,
                     arrives = converged;  // in variances: squares of standard errors
    const auto free =
        static_cast<double>(std::max<Eigen::Index>(1, data_.values.array().isFinite().count() - out_.values.size()));
    Vector r = residual(at_);
    double last_promise = std::numeric_limits<double>::infinity();
    double radius = 0.9;  // of a step, in parts of the parameters: far from the minimum linear steps lead astray
    for (int i = 0; i < most_iterations; ++i, ++out_.iterations) {
      set_jacobian();
      const Vector scale = scales();
      const Vector step = bounded(step_with(0.0, r, scale));
      // Of the data: what the step cannot remove.
      const double left = (r + jacobian_ * step).squaredNorm(), variance = std::min(left, r.squaredNorm()) / free;
      const double promise = (r.squaredNorm() - left) / variance;
      // What the data hardly determine is not linear over its standard error: a mass may become negative.
      const bool is_short = (step.cwiseAbs().array() <= most_unseen * scale.array()).all();
      if (promise <= part && is_short && (at_.moved <= has_moved_far || part > converged))
        return go_on_linearly(step, promise), true;
      const bool is_close = promise <= close && promise <= 0.25 * last_promise;
      const bool keeps_derivatives = is_close && (promise > arrives || at_.moved <= has_moved_far);
      last_promise = promise;
      std::string trouble;
      bool has_moved = false;
      for (int attempt = 0; attempt < 25 && !has_moved; ++attempt) {
        Vector taken = bounded(step_with(is_close && attempt == 0 ? 0.0 : damping, r, scale));
        const double size = taken.cwiseQuotient(reaches()).lpNorm<Eigen::Infinity>();
        if (size > radius) taken *= radius / size;
        const double promised = r.squaredNorm() - (r + jacobian_ * taken).squaredNorm();
        if (taken.cwiseQuotient(scale).norm() <= 1e-10 || promised <= 1e-12 * r.squaredNorm()) {
          if (at_.moved <= has_moved_far) return true;
          break;
        }
        Evaluated next;
        if (keeps_derivatives) {
          next.by = at_.by;
          next.moved = at_.moved + promise;
        }
        const bool can_run = evaluate(at_.p + taken, keeps_derivatives, next, trouble);
        if (!can_run && !observer_.goes_on(0.0, 0)) return fail("interrupted"), false;
        const double gain = can_run ? r.squaredNorm() - residual(next).squaredNorm() : -1.0;
        const bool arrives_here =
            !keeps_derivatives && promise <= arrives;  // as near as the tolerance of the run tells
        if (can_run && (gain > 1e-4 * promised || arrives_here)) {
          const double before = r.squaredNorm();
          at_ = std::move(next);
          r = residual(at_);
          damping = std::max(gain > 0.75 * promised ? damping / 10.0 : damping, 1e-12);
          if (gain > 0.75 * promised && size >= radius)
            radius *= 3.0;
          else if (gain < 0.25 * promised)
            radius = 0.5 * std::min(size, radius);
          has_moved = true;
          if (gain <= 1e-10 * before && at_.moved <= has_moved_far) return true;
        } else if (at_.moved > 0.0) {
          break;
        } else if (can_run && promised <= seen * variance) {
          return true;  // the tolerance of the run hides it
        } else {
          damping *= damping < 1e-6 ? 100.0 : 5.0;
          radius = 0.25 * std::min(size, radius);
        }
      }
      if (!has_moved && at_.moved > 0.0) {
        // With its own derivatives.
        if (!evaluate(Vector(at_.p), false, at_, trouble)) return fail(trouble), false;
        r = residual(at_);
        last_promise = std::numeric_limits<double>::infinity();
      } else if (!has_moved) {
        // Differences of values within the tolerance of the run are noise; its derivatives are more accurate.
        out_.warnings.emplace_back(
            "the search ended where steps no longer reduce the sum of squares: the tolerances of the run limit it; "
            "tighter ones may reduce it further");
        return true;
      }
    }
    return fail(fmt::format("no minimum within {} iterations", most_iterations)), false;
  }

  void go_on_linearly(const Vector& step, double promise) {
    at_.p += step;
    at_.moved += promise;
    promise_ = promise;
    for (std::size_t j = 0; j < at_.by.size(); ++j) at_.values += step[static_cast<Eigen::Index>(j)] * at_.by[j];
  }

  /// The part of a step that the bounds allow.
  Vector bounded(const Vector& step) const {
    Vector next = at_.p + step;
    for (Eigen::Index j = 0; j < next.size(); ++j)
      next[j] =
          std::clamp(next[j], out_.free[static_cast<std::size_t>(j)].low, out_.free[static_cast<std::size_t>(j)].high);
    return next - at_.p;
  }

  Vector scales() const {
    Vector scale(at_.p.size());
    for (Eigen::Index j = 0; j < scale.size(); ++j) scale[j] = at_.p[j] != 0.0 ? std::abs(at_.p[j]) : 1.0;
    return scale;
  }

  /// Of parameters near zero their bounds tell.
  Vector reaches() const {
    constexpr double part = 0.1;
    Vector reach = scales();
    for (Eigen::Index j = 0; j < reach.size(); ++j)
      if (const FreeParameter& p = out_.free[static_cast<std::size_t>(j)]; std::isfinite(p.high - p.low))
        reach[j] = std::max(reach[j], part * (p.high - p.low));
    return reach;
  }

  /// (JᵀJ + μ diag) δ = -Jᵀr within the bounds. Where the step reaches a bound, its parameter stays there and the others go on: a step
  /// that is merely cut off may lead uphill.
  Vector step_with(double damping, const Vector& r, const Vector& scale) const {
    const auto n = at_.p.size();
    Vector step = Vector::Zero(n);
    std::vector<bool> has_stopped(static_cast<std::size_t>(n), false);
    for (Eigen::Index round = 0; round <= n; ++round) {
      const Vector left = r + jacobian_ * step, gradient = jacobian_.transpose() * left;
      std::vector<Eigen::Index> moves;
      for (Eigen::Index j = 0; j < n; ++j)
        if (!has_stopped[static_cast<std::size_t>(j)] && !leaves_bounds(j, step[j], -gradient[j])) moves.push_back(j);
      Vector more = free_step(damping, left, scale, moves);
      while (std::erase_if(moves, [&](Eigen::Index j) { return leaves_bounds(j, step[j], more[j]); }) > 0)
        more = free_step(damping, left, scale, moves);
      double part = 1.0;
      Eigen::Index stops = -1;
      for (const Eigen::Index j : moves) {
        const FreeParameter& p = out_.free[static_cast<std::size_t>(j)];
        const double room = (more[j] > 0.0 ? p.high : p.low) - at_.p[j] - step[j];
        if (std::abs(more[j]) * part > std::abs(room)) part = room / more[j], stops = j;
      }
      step += part * more;
      if (stops < 0) break;
      has_stopped[static_cast<std::size_t>(stops)] = true;
    }
    return step;
  }

  bool leaves_bounds(Eigen::Index j, double moved, double change) const {
    const FreeParameter& p = out_.free[static_cast<std::size_t>(j)];
    const double x = at_.p[j] + moved;
    return (x <= p.low && change < 0.0) || (x >= p.high && change > 0.0);
  }

  /// As if there were no bounds; only `moves` change.
  Vector free_step(double damping, const Vector& r, const Vector& scale, const std::vector<Eigen::Index>& moves) const {
    Vector step = Vector::Zero(at_.p.size());
    if (moves.empty()) return step;
    const auto m = static_cast<Eigen::Index>(moves.size());
    Matrix A = Matrix::Zero(jacobian_.rows() + m, m);
    Vector b = Vector::Zero(jacobian_.rows() + m);
    for (Eigen::Index k = 0; k < m; ++k) {
      A.col(k).head(jacobian_.rows()) =
          scale[moves[static_cast<std::size_t>(k)]] * jacobian_.col(moves[static_cast<std::size_t>(k)]);
      A(jacobian_.rows() + k, k) = std::sqrt(damping) * A.col(k).head(jacobian_.rows()).norm();
    }
    b.head(jacobian_.rows()) = -r;
    const Vector x = least_squares(A, b);
    for (Eigen::Index k = 0; k < m; ++k)
      step[moves[static_cast<std::size_t>(k)]] = scale[moves[static_cast<std::size_t>(k)]] * x[k];
    return step;
  }

  bool all_matter() {
    for (Eigen::Index j = 0; j < jacobian_.cols(); ++j)
      if (jacobian_.col(j).isZero(0.0)) {
        fail(
            fmt::format("parameter '{}' has no effect on the measured outputs ({}); remove it, or measure "
                        "an output that depends on it",
                        names_[static_cast<std::size_t>(j)], fmt::join(data_.columns, ", ")));
        return false;
      }
    return true;
  }

  void estimate_noise() {
    out_.noise = Vector::Zero(weight_.size());
    long measured = 0;
    for (Eigen::Index k = 0; k < weight_.size(); ++k) {
      double sum = 0.0;
      long count = 0;
      for (Eigen::Index i = 0; i < data_.values.rows(); ++i)
        if (const double d = at_.values(i, k) - data_.values(i, k); std::isfinite(d)) {
          sum += d * d;
          ++count;
        }
      measured += count;
      out_.noise[k] = count > 0 ? std::sqrt(sum / static_cast<double>(count)) : 0.0;
    }
    // Parameters take as many degrees of freedom from all columns together.
    const auto free = static_cast<double>(std::max<long>(1, measured - out_.values.size()));
    out_.noise *= std::sqrt(static_cast<double>(measured) / free);
  }

  void judge() {
    out_.values = at_.p;
    set_jacobian();
    const Vector scale = scales();
    Matrix J = jacobian_ * scale.asDiagonal();
    for (Eigen::Index k = 0; k < weight_.size(); ++k)
      J.middleRows(k * data_.values.rows(), data_.values.rows()) /= weight_[k] * std::max(out_.noise[k], 1e-300);
    const Svd parts = jacobi_svd(J, SingularVectors::thin_v);
    const Vector& sizes = parts.values;
    constexpr double noise_of_derivatives = 1e-7;
    std::vector<std::string> lost;
    for (Eigen::Index i = 0; i < sizes.size(); ++i) {
      if (sizes[i] > noise_of_derivatives * sizes[0]) continue;
      std::vector<std::string> terms;
      const Vector direction = parts.V.col(i);
      for (Eigen::Index j = 0; j < direction.size(); ++j)
        if (std::abs(direction[j]) > 0.1)
          terms.push_back(fmt::format("{:+.3f} {}", direction[j], names_[static_cast<std::size_t>(j)]));
      lost.push_back(fmt::format("{}", fmt::join(terms, " ")));
    }
    out_.fitted = at_.values;
    out_.is_at_bound.clear();
    for (Eigen::Index j = 0; j < out_.values.size(); ++j) {
      const FreeParameter& p = out_.free[static_cast<std::size_t>(j)];
      out_.is_at_bound.push_back(out_.values[j] <= p.low || out_.values[j] >= p.high);
    }
    if (!lost.empty()) {
      fail(
          fmt::format("the data do not determine all parameters: relative changes in the proportion {} do not change "
                      "the outputs; keep one of them fixed",
                      fmt::join(lost, "; ")));
      return;
    }
    const Matrix& V = parts.V;
    Matrix inverse = V * sizes.cwiseAbs2().cwiseInverse().asDiagonal() * V.transpose();
    out_.covariance = scale.asDiagonal() * inverse * scale.asDiagonal();
    out_.standard_errors = out_.covariance.diagonal().cwiseSqrt();
    out_.is_found = true;
  }

  /// The residuals of a correct model are noise: neighbours are not correlated.
  void look_at_residuals() {
    const Matrix left = differences();
    for (Eigen::Index k = 0; k < left.cols(); ++k) {
      double product = 0.0, square = 0.0;
      Eigen::Index pairs = 0;
      for (Eigen::Index i = 0; i < left.rows(); ++i) {
        square += left(i, k) * left(i, k);
        if (i == 0 || !std::isfinite(data_.values(i, k)) || !std::isfinite(data_.values(i - 1, k))) continue;
        product += left(i, k) * left(i - 1, k);
        ++pairs;
      }
      const double range =
          data_.values.col(k).array().isFinite().select(data_.values.col(k).array().abs(), 0.0).maxCoeff();
      constexpr double seen = 4.0;  // standard deviations
      if (pairs < 8 || !(std::sqrt(square / static_cast<double>(pairs)) > 1e-6 * range)) continue;
      const double correlation = product / square;
      if (correlation * std::sqrt(static_cast<double>(pairs)) > seen)
        out_.warnings.push_back(fmt::format(
            "the residuals of '{}' are not noise: neighbouring values are correlated ({:.2f}). This may be a "
            "local minimum, or the model is incomplete; try more starts, or other initial values",
            data_.columns[static_cast<std::size_t>(k)], correlation));
    }
  }

  RunSpec spec_;
  const FitData& data_;
  run::Observer& observer_;
  std::vector<std::string> names_;
  std::vector<int> numbers_;
  double looseness_ = 1.0, rtol_ = 0.0, atol_ = 0.0;
  double promise_ = 0.0;    ///< of the last step that was taken without a run
  bool has_begun_ = false;  ///< the run of the first point of the last search has succeeded
  Vector weight_;
  Evaluated at_;
  Matrix jacobian_;
  Fit out_;
};

}  // namespace

Fit fit(const RunSpec& spec, const FitData& data, const std::vector<FreeParameter>& free, run::Observer& observer,
        const FitOptions& options) {
  if (options.starts < 1) throw InvalidInput(fmt::format("starts is {}, expected 1 or more", options.starts));
  return Fitter(spec, data, free, observer).run(options);
}

}  // namespace kreisel::io
