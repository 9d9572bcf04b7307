#include "io/result/sensitivities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/decompositions.hpp"
#include "base/text.hpp"
#include "io/result/prepare.hpp"
#include "io/result/tuning.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"

namespace kreisel::io {
namespace {

RunSpec with_all(RunSpec spec, const std::vector<std::string>& names, const Vector& values) {
  for (std::size_t i = 0; i < names.size(); ++i)
    spec = with_parameter(std::move(spec), names[i], values[static_cast<Eigen::Index>(i)]);
  return spec;
}

Vector values_of(const RunSpec& spec, const std::vector<std::string>& names) {
  Vector values(static_cast<Eigen::Index>(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(names, names[i]) > 1)
      throw InvalidInput(fmt::format("parameter '{}' is named more than once", names[i]));
    values[static_cast<Eigen::Index>(i)] = parameter_value(spec, names[i]);
  }
  return values;
}

}  // namespace

run::Sensitivities sensitivities(const RunSpec& spec, const std::vector<std::string>& names, run::Observer& observer,
                                 bool is_cheap, const std::vector<system::Event>& events) {
  const Vector values = values_of(spec, names);
  const PreparedRun nominal = prepare(with_all(spec, names, values));
  run::SensitivityOptions wanted;
  wanted.names = names;
  wanted.is_cheap = is_cheap;
  wanted.scale = Vector::Ones(values.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const Field* field = find_field(nominal.model_info->parameters, names[i]);
    const double range = field != nullptr ? field->maximum - field->minimum : HUGE_VAL;
    wanted.scale[at] = values[at] != 0.0 ? std::abs(values[at]) : std::isfinite(range) ? range : 1.0;
  }
  const run::ProblemOf make = [&](const Vector& p) -> run::Problem {
    PreparedRun run = prepare(with_all(spec, names, p));
    return {run.model.system, run.model.start, events};
  };
  return run::differentiate(make, values, nominal.options, wanted, observer);
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
      throw InvalidInput(
          fmt::format("{}: t = {} does not come after the line before; times must increase", place(), data.t.back()));
  }
  if (data.t.empty()) throw InvalidInput(fmt::format("{}: holds no data", path.string()));
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  data.values = Eigen::Map<const Rows>(numbers.data(), static_cast<Eigen::Index>(data.t.size()),
                                       static_cast<Eigen::Index>(data.columns.size()));
  return data;
}

namespace {

/// Outputs at the times of the data.
class Sampler final : public run::Observer {
 public:
  Sampler(const system::System& layout, const std::vector<int>& numbers, const std::vector<double>& times,
          run::Observer& next)
      : layout_(layout), numbers_(numbers), times_(times), next_(next), all_(layout.output_size()) {
    values_ = Matrix::Constant(static_cast<Eigen::Index>(times.size()), static_cast<Eigen::Index>(numbers.size()), NAN);
  }
  bool accept(const run::Point& point) override {
    const double t = point.entry.motion.t;
    const double round_off = 1e-9 * std::max(1.0, std::abs(t));
    const auto near = std::lower_bound(times_.begin(), times_.end(), t - round_off);
    if (near != times_.end() && std::abs(*near - t) <= round_off) {
      layout_.evaluate_outputs(point.entry.motion, point.entry.lambda, all_);
      for (std::size_t k = 0; k < numbers_.size(); ++k)
        values_(near - times_.begin(), static_cast<Eigen::Index>(k)) = all_[numbers_[k]];
    }
    return true;
  }
  bool goes_on(double t, long steps) override { return next_.goes_on(t, steps); }
  const Matrix& values() const { return values_; }

 private:
  const system::System& layout_;
  const std::vector<int>& numbers_;
  const std::vector<double>& times_;
  run::Observer& next_;
  Vector all_;
  Matrix values_;
};

class Fitter {
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
      throw InvalidInput(fmt::format("the data begin at t = {}, before the run does at {}", data.t.front(), t0));
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
      // A start outside its bounds begins between them.
      if (!(out_.values[i] >= p.low && out_.values[i] <= p.high))
        out_.values[i] = std::isfinite(p.low) && std::isfinite(p.high)
                             ? (p.low > 0.0 ? std::sqrt(p.low * p.high) : 0.5 * (p.low + p.high))
                             : std::clamp(out_.values[i], p.low, p.high);
    }
  }

  Fit run() {
    weight_ = Vector::Ones(data_.values.cols());
    for (Eigen::Index k = 0; k < weight_.size(); ++k) {
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (const double y : data_.values.col(k))
        if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
      if (low > high)
        throw InvalidInput(fmt::format("column '{}' holds no number", data_.columns[static_cast<std::size_t>(k)]));
      weight_[k] = 1.0 / std::max({high - low, 1e-9 * std::max(std::abs(low), std::abs(high)), 1e-300});
    }
    std::string problem;
    if (!sample(out_.values, values_, problem)) return fail("at the initial parameters: " + problem);
    // Columns are weighted by their residuals, known after a first fit.
    const int rounds = weight_.size() > 1 ? 2 : 1;
    for (int round = 0; round < rounds; ++round) {
      if (!minimize()) return out_;
      estimate_noise();
      for (Eigen::Index k = 0; k < weight_.size() && rounds > 1; ++k)
        weight_[k] = 1.0 / std::max(out_.noise[k], 1e-12 / weight_[k]);
    }
    judge();
    return out_;
  }

 private:
  Fit fail(std::string message) {
    out_.message = std::move(message);
    return out_;
  }

  bool sample(const Vector& p, Matrix& values, std::string& problem) {
    PreparedRun run;
    try {
      run = prepare(with_all(spec_, names_, p));
    } catch (const InvalidInput& e) {
      problem = e.what();
      return false;
    }
    run.options.output_step = 0.0;
    run.options.output_times = data_.t;
    std::erase_if(run.options.output_times, [&](double t) { return t <= run.model.start.t0; });
    Sampler sampler(run.model.system->result_layout(), numbers_, data_.t, observer_);
    ++out_.runs;
    const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, sampler);
    values = sampler.values();
    if (report.status != run::Status::success) {
      problem = fmt::format("{}: {}", run::info_of(report.status).name, report.message);
      return false;
    }
    for (Eigen::Index i = 0; i < values.rows(); ++i)
      for (Eigen::Index k = 0; k < values.cols(); ++k)
        if (!std::isfinite(values(i, k)) && std::isfinite(data_.values(i, k))) {
          problem = fmt::format("the run has no value of '{}' at t = {}; did it end before?",
                                data_.columns[static_cast<std::size_t>(k)], data_.t[static_cast<std::size_t>(i)]);
          return false;
        }
    return true;
  }

  /// Weighed differences, zero where nothing was measured.
  Vector residual(const Matrix& values) const {
    Matrix r = values - data_.values;
    for (Eigen::Index k = 0; k < r.cols(); ++k)
      for (Eigen::Index i = 0; i < r.rows(); ++i) r(i, k) = std::isfinite(r(i, k)) ? weight_[k] * r(i, k) : 0.0;
    return r.reshaped();
  }

  bool find_jacobian(std::string& problem) {
    const run::Sensitivities found = sensitivities(with_all(spec_, names_, out_.values), names_, observer_, true);
    out_.runs += 1 + 2 * static_cast<long>(names_.size());
    if (found.report.status != run::Status::success || !found.problem.empty()) {
      problem = found.problem.empty() ? found.report.message : found.problem;
      return false;
    }
    jacobian_.resize(data_.values.size(), out_.values.size());
    for (std::size_t j = 0; j < names_.size(); ++j) {
      const Matrix all = found.at(data_.t, found.by[j].outputs);
      Matrix mine(all.rows(), static_cast<Eigen::Index>(numbers_.size()));
      for (std::size_t k = 0; k < numbers_.size(); ++k)
        mine.col(static_cast<Eigen::Index>(k)) = weight_[static_cast<Eigen::Index>(k)] * all.col(numbers_[k]);
      for (Eigen::Index i = 0; i < mine.size(); ++i)
        if (!std::isfinite(data_.values.data()[i])) mine.data()[i] = 0.0;
      jacobian_.col(static_cast<Eigen::Index>(j)) = mine.reshaped();
    }
    if (jacobian_.allFinite()) return true;
    problem = "the derivatives of the outputs are not finite";
    return false;
  }

  [[nodiscard]] bool minimize() {
    constexpr int most_iterations = 100;
    double damping = 1e-3;
    Vector r = residual(values_);
    for (int i = 0; i < most_iterations; ++i, ++out_.iterations) {
      std::string problem;
      if (!find_jacobian(problem)) return fail(std::move(problem)), false;
      if (i == 0 && !all_matter()) return false;
      const Vector scale = scales();
      bool has_moved = false;
      for (int attempt = 0; attempt < 25 && !has_moved; ++attempt) {
        const Vector step = step_with(damping, r, scale);
        Vector next = out_.values + step;
        for (Eigen::Index j = 0; j < next.size(); ++j)
          next[j] = std::clamp(next[j], out_.free[static_cast<std::size_t>(j)].low,
                               out_.free[static_cast<std::size_t>(j)].high);
        const Vector taken = next - out_.values;
        const double promised = r.squaredNorm() - (r + jacobian_ * taken).squaredNorm();
        const double size = taken.cwiseQuotient(scale).norm();
        if (size <= 1e-10 || promised <= 1e-12 * r.squaredNorm()) return true;
        Matrix values;
        std::string trouble;
        const bool can_run = sample(next, values, trouble);
        const double gain = can_run ? r.squaredNorm() - residual(values).squaredNorm() : -1.0;
        if (can_run && gain > 1e-4 * promised) {
          out_.values = next;
          values_ = values;
          const double before = r.squaredNorm();
          r = residual(values_);
          damping = std::max(gain > 0.75 * promised ? damping / 10.0 : damping, 1e-12);
          has_moved = true;
          if (gain <= 1e-10 * before) return true;
        } else {
          damping *= damping < 1e-6 ? 100.0 : 5.0;
        }
      }
      if (!has_moved) {
        // Derivatives of the run are better than its values where these are round-off of the tolerance.
        out_.warnings.emplace_back(
            "the search ended where steps no longer lower the sum of squares, as tolerances of the run allow no "
            "better; "
            "tighter ones may");
        return true;
      }
    }
    return fail(fmt::format("no minimum within {} iterations", most_iterations)), false;
  }

  Vector scales() const {
    Vector scale(out_.values.size());
    for (Eigen::Index j = 0; j < scale.size(); ++j) scale[j] = out_.values[j] != 0.0 ? std::abs(out_.values[j]) : 1.0;
    return scale;
  }

  /// (JᵀJ + μ diag) δ = -Jᵀr without what a bound holds back.
  Vector step_with(double damping, const Vector& r, const Vector& scale) const {
    const auto n = out_.values.size();
    const Vector gradient = jacobian_.transpose() * r;
    std::vector<Eigen::Index> moves;
    for (Eigen::Index j = 0; j < n; ++j) {
      const FreeParameter& p = out_.free[static_cast<std::size_t>(j)];
      const bool is_held =
          (out_.values[j] <= p.low && gradient[j] > 0.0) || (out_.values[j] >= p.high && gradient[j] < 0.0);
      if (!is_held) moves.push_back(j);
    }
    Vector step = Vector::Zero(n);
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
            fmt::format("parameter '{}' does not move any of the measured outputs ({}); take it out, or measure "
                        "something that it changes",
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
        if (const double d = values_(i, k) - data_.values(i, k); std::isfinite(d)) {
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
    std::string problem;
    if (!find_jacobian(problem)) {
      fail(std::move(problem));
      return;
    }
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
    out_.fitted = values_;
    out_.is_at_bound.clear();
    for (Eigen::Index j = 0; j < out_.values.size(); ++j) {
      const FreeParameter& p = out_.free[static_cast<std::size_t>(j)];
      out_.is_at_bound.push_back(out_.values[j] <= p.low || out_.values[j] >= p.high);
    }
    if (!lost.empty()) {
      fail(fmt::format(
          "the data do not determine all parameters: relative changes in the proportion {} leave the outputs "
          "as they are; keep one of them fixed",
          fmt::join(lost, "; ")));
      return;
    }
    const Matrix& V = parts.V;
    Matrix inverse = V * sizes.cwiseAbs2().cwiseInverse().asDiagonal() * V.transpose();
    out_.covariance = scale.asDiagonal() * inverse * scale.asDiagonal();
    out_.standard_errors = out_.covariance.diagonal().cwiseSqrt();
    out_.is_found = true;
  }

  RunSpec spec_;
  const FitData& data_;
  run::Observer& observer_;
  std::vector<std::string> names_;
  std::vector<int> numbers_;
  Vector weight_;
  Matrix values_, jacobian_;
  Fit out_;
};

}  // namespace

Fit fit(const RunSpec& spec, const FitData& data, const std::vector<FreeParameter>& free, run::Observer& observer) {
  return Fitter(spec, data, free, observer).run();
}

}  // namespace kreisel::io
