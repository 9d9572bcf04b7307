#include "case_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "coeff/bdf.hpp"
#include "io/report/report.hpp"
#include "io/result/prepare.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "method/catalogue.hpp"
#include "run/integrator.hpp"
#include "study/analysis.hpp"

namespace kreisel::study {
namespace {

/// Points are measured in batches, so that the clock of the step loop can be corrected for it.
constexpr std::size_t batch_size = 256;
constexpr Eigen::Index points_per_curve = 1500;
/// Points nearer to the reference error or to round-off than this are marked.
constexpr double reference_distance = 10.0, round_off_distance = 3.0;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Recorder final : public run::Observer {
 public:
  Recorder(Meter& meter, Tracks* tracks, const std::function<bool()>& wants_to_stop)
      : meter_(meter), tracks_(tracks), wants_to_stop_(wants_to_stop), batch_(batch_size) {}

  bool accept(const run::Point& point) override {
    Sample& s = batch_[count_++];
    s.motion = point.entry.motion;
    s.lambda = point.entry.lambda;
    s.eta = point.entry.eta;
    s.gap = point.residual.gap;
    s.rate = point.residual.rate;
    s.h = point.entry.h;
    s.order = point.entry.order;
    s.number = point.number;
    s.is_start = point.is_start;
    s.system = point.system;
    if (count_ < batch_size) return true;
    flush();
    was_stopped_ = wants_to_stop_ && wants_to_stop_();
    return !was_stopped_ && !(meter_.is_done() && tracks_ == nullptr);
  }
  void flush() {
    const double begin = thread_seconds();
    for (std::size_t i = 0; i < count_; ++i) {
      meter_.take(batch_[i]);
      if (tracks_ != nullptr) tracks_->take(batch_[i]);
    }
    count_ = 0;
    seconds_ += thread_seconds() - begin;
  }
  bool was_stopped() const { return was_stopped_; }
  double seconds() const { return seconds_; }

 private:
  Meter& meter_;
  Tracks* tracks_;
  const std::function<bool()>& wants_to_stop_;
  std::vector<Sample> batch_;
  std::size_t count_ = 0;
  bool was_stopped_ = false;
  double seconds_ = 0.0;
};

struct Sizes {
  double q = 0.0, v = 0.0, lambda = 0.0;
};

/// How much less BDF of order k magnifies rounding of q in λ than that of order 6: Σ|α| Σ|γ|.
double bdf_noise(int k) {
  const auto size = [](int order) {
    double alpha = 0.0, gamma = 0.0;
    for (int i = 0; i <= order; ++i) alpha += std::abs(coeff::bdf_alpha(order, i));
    for (int i = 1; i <= order; ++i) gamma += std::abs(coeff::bdf_gamma(order, i));
    return alpha * gamma;
  };
  return size(k) / size(coeff::bdf_max_order);
}

/// Where halving the step stops helping in double precision. Measured on the heavy top with k = 6 (q 2, v 150, λ 450):
/// in index-3 form rounding of q enters v as ε/h and λ as ε/h²; in the other forms λ follows the Newton tolerance.
Sizes round_off(const Reference& r, const std::string& method, int order, const std::string& formulation, double h) {
  if (method == "rkmk") return {5e-14 * r.q_size, 1e-14 * r.v_size, 1e-13 * r.lambda_size};
  const bool is_bdf = method == "bliedf" || method == "mkbdf";
  const double noise = is_bdf ? bdf_noise(std::clamp(order, 1, coeff::bdf_max_order)) : 1.0;
  if (formulation == "index3")
    return {5e-17 / h * r.q_size, 7e-17 / h * r.v_size, noise * 4e-15 / (h * h) * r.lambda_size};
  return {5e-17 / h * r.q_size, 7e-18 / h * r.v_size, 3e-15 / h * r.lambda_size};
}

/// Systems made of functions have B from differences, good to 2e-13: α₀/h times that enters λ where B v = 0 is an equation.
Sizes round_off_of(const system::System& system, const Reference& r, const run::Report& report, double h) {
  Sizes noise = round_off(r, report.method, report.order, report.formulation, h);
  constexpr double error_of_differences = 2e-13;
  if (dynamic_cast<const system::FunctionSystem*>(&system) != nullptr && report.formulation != "index3")
    noise.lambda = std::max(noise.lambda, error_of_differences / h * r.lambda_size);
  return noise;
}

double floor_of(const Measure& m, const Reference& r, const Sizes& noise) {
  const auto floor = [&](double accuracy, double noise_of, double size) {
    const double value = std::max(reference_distance * accuracy, round_off_distance * noise_of);
    return m.scale == Scale::absolute ? value : value / size;
  };
  if (m.quantity == "v") return floor(r.accuracy.v, noise.v, r.v_size);
  if (m.quantity == "lambda") return floor(r.accuracy.lambda, noise.lambda, r.lambda_size);
  return floor(r.accuracy.q, noise.q, r.q_size);
}

/// Keeps nothing; ends the run at the time where another one ended.
class UpTo final : public run::Observer {
 public:
  UpTo(double t, const std::function<bool()>& wants_to_stop) : t_(t), wants_to_stop_(wants_to_stop) {}
  bool accept(const run::Point& point) override {
    return point.entry.motion.t < t_ && !(wants_to_stop_ && wants_to_stop_());
  }

 private:
  double t_;
  const std::function<bool()>& wants_to_stop_;
};

/// `times`: CPU seconds of runs of the same case, in any order.
void add_statistics(const run::Report& report, double t0, std::vector<double> times, Row& row) {
  const Counters& c = report.counters;
  const double steps = static_cast<double>(c.steps);
  std::ranges::sort(times);
  const std::size_t middle = times.size() / 2;
  const double seconds = times.size() % 2 == 1 ? times[middle] : 0.5 * (times[middle - 1] + times[middle]);
  const double step = report.step > 0.0 ? report.step : (report.final.motion.t - t0) / std::max(1.0, steps);
  const auto put = [&](const char* name, double value) { row.numbers[name] = {value, -1}; };
  put("step", step);
  put("steps", steps);
  put("rejected_steps", static_cast<double>(c.rejected_steps));
  put("newton_iterations", static_cast<double>(c.newton_iterations));
  put("residual_evaluations", static_cast<double>(c.residual_evaluations));
  put("jacobian_evaluations", static_cast<double>(c.jacobian_evaluations));
  put("factorizations", static_cast<double>(c.factorizations));
  put("exponentials", static_cast<double>(c.exponentials));
  put("brackets", static_cast<double>(c.brackets));
  put("seconds", seconds);
  put("seconds_low", times.front());
  put("seconds_high", times.back());
  put("seconds_per_step", seconds / std::max(1.0, steps));
  put("position_residual", report.position_max);
  put("velocity_residual", report.velocity_max);
  put("energy_drift", std::abs(report.energy_final - report.energy_initial));
  put("energy_error", report.energy_error);
}

Curve decimated(const Curve& curve) {
  Curve out;
  for (const Eigen::Index i : io::indices_with_extrema(curve.y, points_per_curve)) {
    out.t.push_back(curve.t[i]);
    out.y.push_back(curve.y[i]);
  }
  return out;
}

Row simulate(const Spec& spec, const Case& c, const std::shared_ptr<const Reference>& reference,
             const std::function<bool()>& wants_to_stop) {
  const io::PreparedRun run = io::prepare(c.run);
  for (std::size_t i = 0; i < c.sources.size(); ++i)
    if (i >= run.options.sources.size() || run.options.sources[i] != c.sources[i])
      throw InvalidInput(
          fmt::format("the file '{}' has changed while the study ran; give the same command again", c.sources[i].path));
  const int order = run.options.order > 0 ? run.options.order : run.options.method.info().default_order;
  std::optional<ExactSolution> exact;
  if (reference != nullptr) exact.emplace(run.model, reference);
  Meter meter(run.model, spec.measures, spec.series, order, exact ? &*exact : nullptr);
  std::optional<Tracks> tracks;
  if (!spec.trajectories.outputs.empty())
    tracks.emplace(run.model, spec.trajectories.outputs, spec.trajectories.points,
                   std::isnan(run.options.t_end) ? run.model.start.t_end : run.options.t_end);
  Recorder recorder(meter, tracks ? &*tracks : nullptr, wants_to_stop);
  Row row;
  const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, recorder);
  std::vector<double> times{std::max(0.0, report.solve_seconds - recorder.seconds())};
  recorder.flush();
  while (static_cast<int>(times.size()) < spec.repeat && !recorder.was_stopped()) {
    UpTo again(report.final.motion.t, wants_to_stop);
    times.push_back(run::integrate(*run.model.system, run.model.start, run.options, again).solve_seconds);
  }
  add_statistics(report, run.model.start.t0, std::move(times), row);
  const bool was_cut_short = report.status == run::Status::interrupted && meter.is_done() && !tracks;
  if (!was_cut_short) {
    row.status = recorder.was_stopped() ? not_run : run::info_of(report.status).name;
    row.message = report.message;
  }
  for (std::size_t i = 0; i < spec.measures.size(); ++i) {
    row.numbers[spec.measures[i].name] = meter.values()[i];
    if (find_quantity(spec.measures[i].quantity).needs_reference)
      row.floors[spec.measures[i].name] = floor_of(
          spec.measures[i], *reference, round_off_of(*run.model.system, *reference, report, row.number("step")));
  }
  for (const Curve& curve : meter.curves()) row.curves.push_back(decimated(curve));
  if (tracks) row.trajectories = tracks->curves();
  return row;
}

Row analyse(const Spec& spec, const Case& c) {
  const AnalysisInfo& info = find_analysis(spec.analysis);
  ParameterValues parameters(info.parameters);
  for (const Json* words : {&c.coordinates, &c.changes})
    for (const auto& [key, value] : words->items())
      parameters.set(info.name, info.parameters, key, value.is_string() ? value.get<std::string>() : value.dump());
  Row row;
  for (const auto& [name, value] : info.evaluate(parameters)) row.numbers[name] = {value, -1};
  return row;
}

}  // namespace

Row run_case(const Spec& spec, const Case& c, const std::shared_ptr<const Reference>& reference,
             const std::function<bool()>& wants_to_stop) {
  Row failed;
  try {
    return spec.analysis.empty() ? simulate(spec, c, reference, wants_to_stop) : analyse(spec, c);
  } catch (const InvalidInput& problem) {
    failed.status = io::invalid_input;
    failed.message = problem.what();
  } catch (const std::exception& problem) {
    failed.status = io::internal_error;
    failed.message = problem.what();
  }
  return failed;
}

bool needs_reference(const Spec& spec) {
  const auto needs = [](const auto& item) { return find_quantity(item.quantity).needs_reference; };
  return std::any_of(spec.measures.begin(), spec.measures.end(), needs) ||
         std::any_of(spec.series.begin(), spec.series.end(), needs);
}

double cost_of(const Spec& spec, const Case& c) {
  constexpr double unknown = 1000.0;
  if (!spec.analysis.empty()) return unknown;
  const kreisel::Value *step = c.run.find("step"), *end = c.run.find("t_end");
  return step == nullptr ? unknown : (end == nullptr ? 1.0 : std::get<double>(*end)) / std::get<double>(*step);
}

}  // namespace kreisel::study
