#include "support/experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "run/rkmk.hpp"
#include "run/start_up.hpp"

namespace kreisel::support {
namespace {

class Recorder final : public run::Observer {
 public:
  explicit Recorder(Trajectory& out) : out_(out) {}
  bool accept(const run::Point& point) override {
    out_.points.push_back(point.entry);
    out_.residuals.push_back(point.residual);
    out_.is_start.push_back(point.is_start);
    return true;
  }

 private:
  Trajectory& out_;
};

Trajectory compute_reference(const models::Model& model, const std::vector<double>& times) {
  const system::System& system = *model.system;
  Counters counters;
  run::Rkmk rkmk(system, coeff::dop853(), counters);
  run::StartUp start_up(system, counters, "automatic");
  const method::EntrySizes sizes{system.pattern().rows(), system.pattern().position_rows(), 0};
  method::Entry now = method::History::blank(system.space(), sizes), next = now;
  if (!start_up.place(model.start.t0, model.start.q0, model.start.v0, now))
    throw std::runtime_error("no consistent start");

  Trajectory out;
  out.points.push_back(now);
  for (const double t : times) {
    const double h = t - now.motion.t;
    const int substeps = std::max(1, static_cast<int>(std::ceil(h / reference_substep * (1.0 - 1e-9))));
    for (int i = 0; i < substeps; ++i) {
      next.lambda = now.lambda;
      if (!rkmk.step(now.motion, h / substeps, next.motion, next.lambda, next.omega))
        throw std::runtime_error("the reference solution breaks down");
      std::swap(now, next);
    }
    now.motion.t = t;
    out.points.push_back(now);
  }
  return out;
}

double measure(const Vector& a, const Vector& b, Entries entries) {
  if (a.size() == 0) return 0.0;
  return entries == Entries::largest ? (a - b).lpNorm<Eigen::Infinity>() : (a - b).norm();
}

}  // namespace

models::Model make_model(const Experiment& experiment) {
  const models::ModelInfo& info = models::find_model(experiment.model);
  ParameterValues parameters(info.parameters);
  for (const auto& [key, value] : experiment.model_settings) parameters.set(info.name, info.parameters, key, value);
  return models::make_model(info, experiment.group, parameters);
}

Trajectory integrate(const models::Model& model, const run::Options& options) {
  Trajectory out;
  Recorder recorder(out);
  out.report = run::integrate(*model.system, model.start, options, recorder);
  return out;
}

Trajectory integrate(const Experiment& experiment) { return integrate(make_model(experiment), experiment.options); }

const Trajectory& reference(const Experiment& experiment, long steps) {
  static std::map<std::string, Trajectory> cache;
  const models::Model model = make_model(experiment);
  const double t_end = std::isnan(experiment.options.t_end) ? model.start.t_end : experiment.options.t_end;
  std::string key =
      experiment.model + "|" + model.group + "|" + testing::PrintToString(t_end) + "|" + std::to_string(steps);
  for (const auto& [name, value] : experiment.model_settings) key += "|" + name + "=" + value;
  const auto at = cache.find(key);
  if (at != cache.end()) return at->second;
  std::vector<double> times;
  const double h = (t_end - model.start.t0) / static_cast<double>(steps);
  for (long n = 1; n <= steps; ++n) times.push_back(model.start.t0 + static_cast<double>(n) * h);
  return cache.emplace(key, compute_reference(model, times)).first->second;
}

Trajectory reference_at(const models::Model& model, const std::vector<method::Entry>& points) {
  std::vector<double> times;
  for (std::size_t i = 1; i < points.size(); ++i) times.push_back(points[i].motion.t);
  return compute_reference(model, times);
}

Errors errors_of(const models::Model& model, const Trajectory& trajectory, const Trajectory& reference, Norm norm) {
  const lie::Space& space = model.system->space();
  const std::size_t steps = trajectory.points.size() - 1, reference_steps = reference.points.size() - 1;
  if (steps == 0 || reference_steps % steps != 0) throw std::invalid_argument("the grids do not match");
  const std::size_t ratio = reference_steps / steps;
  std::size_t first = 0, last = steps;
  if (norm.span == Span::end) first = steps;
  if (norm.span == Span::first) last = std::min<std::size_t>(steps, 3 * trajectory.report.order + 3);

  Errors largest;
  Vector a(space.embedding_size()), b(space.embedding_size());
  for (std::size_t n = first; n <= last; ++n) {
    const method::Entry& point = trajectory.points[n];
    const method::Entry& exact = reference.points[n * ratio];
    space.embed(point.motion.q, a);
    space.embed(exact.motion.q, b);
    largest.q = std::max(largest.q, measure(a, b, norm.entries));
    largest.v = std::max(largest.v, measure(point.motion.v, exact.motion.v, norm.entries));
    largest.lambda = std::max(largest.lambda, measure(point.lambda, exact.lambda, norm.entries));
  }
  return largest;
}

Errors slopes_of(const Errors& coarse, const Errors& fine, double ratio) {
  const auto slope = [&](double a, double b) { return std::log(a / b) / std::log(ratio); };
  return {slope(coarse.q, fine.q), slope(coarse.v, fine.v), slope(coarse.lambda, fine.lambda)};
}

}  // namespace kreisel::support
