// Implicit methods under error control: variable step, variable order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/method/differences.hpp"
#include "kreisel/run/controller.hpp"
#include "machine.hpp"

namespace kreisel::run {

using method::Entry;

namespace {

/// Newton stops at this fraction of the error weights: multipliers see velocity errors magnified by α₀/h.
constexpr double newton_fraction = 0.03;
/// Newton updates below this many units of round-off in q are noise.
constexpr double round_off_margin = 300.0;
/// An implicit velocity relation is solved to this fraction of Newton's tolerance.
constexpr double sweep_fraction = 0.03;
/// Failures in a row after which the run gives up.
constexpr int max_failures = 20;

/// Errors in multiples of the tolerance: translations atol + rtol |x|, rotations atol + rtol, velocities
/// atol + rtol |v|, each by the Euclidean norm of its part; the largest counts.
class ErrorNorm {
 public:
  ErrorNorm(const std::vector<Part>& parts, double rtol, double atol) : parts_(parts), rtol_(rtol), atol_(atol) {}

  void set_scale(const lie::Motion& m) {
    scale_q_.resize(parts_.size());
    scale_v_.resize(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const double size = part.q_at < 0 ? 1.0 : m.q.segment(part.q_at, part.n).norm();
      scale_q_[i] = 1.0 / (atol_ + rtol_ * size);
      scale_v_[i] = 1.0 / (atol_ + rtol_ * m.v.segment(part.v_at, part.n).norm());
    }
  }
  double operator()(ConstVectorRef q_error, ConstVectorRef v_error) {
    double largest = 0.0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const double error = std::max(scale_q_[i] * q_error.segment(part.v_at, part.n).norm(),
                                    scale_v_[i] * v_error.segment(part.v_at, part.n).norm());
      if (!(error <= largest)) {  // NaN wins
        largest = error;
        worst_ = static_cast<int>(i);
      }
    }
    return largest;
  }
  const Part& worst() const { return parts_[worst_]; }

 private:
  const std::vector<Part>& parts_;
  double rtol_, atol_;
  std::vector<double> scale_q_, scale_v_;
  int worst_ = 0;
};

/// A first step at order 1 whose error h²|v̇|/2 meets a tenth of the tolerance in q and v.
double initial_step(const Machine& machine, double rtol, double atol, double span) {
  const lie::Motion& m = machine.history[0].motion;
  double h = 1e-3 * span;
  for (const Part& part : machine.parts) {
    const double a = m.a.segment(part.v_at, part.n).norm();
    const double v = m.v.segment(part.v_at, part.n).norm();
    const double size = part.q_at < 0 ? 1.0 : m.q.segment(part.q_at, part.n).norm();
    const double allowed = 0.1 * (atol + rtol * size);
    if (a > 0.0) h = std::min(h, std::sqrt(2.0 * allowed / a));
    // Velocities turn on the time scale |v|/|v̇|, positions on |v|.
    if (v > 0.0 && a > 0.0) h = std::min(h, 0.1 * std::sqrt(rtol + atol / v) * v / a);
    if (v > 0.0) h = std::min(h, 0.1 * std::sqrt(rtol + atol) * std::max(size, 1e-3) / v);
  }
  return std::max(h, 1e-12 * span);
}

std::string name_of(const system::System& system, const Part& part) {
  const auto& blocks = system.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (part.v_at >= blocks[b].v_at && part.v_at < blocks[b].v_at + blocks[b].nv)
      return fmt::format("{} of '{}'", part.q_at < 0 ? "rotation" : "translation", system.pattern().block_name(static_cast<int>(b)));
  return "?";
}

}  // namespace

void run_adaptive(Session& s) {
  const Options& options = s.plan.options;
  Counters& counters = s.report.counters;
  const method::MethodInfo& info = method::find_method(options.method);
  const int max_order = s.plan.order > 0 ? s.plan.order : std::min(options.max_order, info.max_order);
  solve::NewtonOptions newton;
  newton.tolerance = options.newton_tolerance > 0.0 ? options.newton_tolerance : newton_fraction;
  newton.lambda_tolerance = std::max(options.rtol, newton.lambda_tolerance);
  newton.max_iterations = std::min(options.newton_iterations, 8);
  newton.refresh = solve::RefreshPolicy::when_slow;
  newton.linear_solver = options.linear_solver;
  Machine machine(s, max_order, newton);
  auto& [method, closer, history, trial, start_up, parts, weight] = machine;
  method->set_velocity_tolerance(std::max(1e-14, sweep_fraction * newton.tolerance * options.rtol));
  if (!machine.place_first(s)) return;
  if (!s.accept(history[0], true)) return s.fail(Status::interrupted, "interrupted");
  if (s.plan.formulation == solve::Formulation::index3 && s.system.pattern().rows() > 0)
    s.report.warnings.push_back("index3 with variable steps: lambda loses one order after step changes; stabilized-index2 does not");

  const double span = s.plan.t_end - s.plan.t0;
  const double first = options.initial_step > 0.0 ? options.initial_step : initial_step(machine, options.rtol, options.atol, span);
  Controller controller({s.plan.order > 0 ? s.plan.order : 1, max_order, options.max_step}, std::min(first, span), 1);
  ErrorNorm norm(parts, options.rtol, options.atol);
  const int nv = s.system.space().nv();
  Vector q_error(nv), v_error(nv);
  method::Differences lambda_differences(s.system.pattern().rows());
  Vector lambda_error(s.system.pattern().rows());
  double lambda_scale = history[0].lambda.size() > 0 ? history[0].lambda.norm() : 0.0;

  const double begin = cpu_seconds();
  while (history[0].motion.t < s.plan.t_end) {
    const double t = history[0].motion.t;
    if (counters.steps >= options.max_steps) {
      s.fail(Status::too_many_steps,
             fmt::format("max_steps = {} reached at t = {:.10g}, {:.1f} % of the way; the step is now {:.3g}.\n"
                         "  try: --max-steps, or looser tolerances", options.max_steps, t, 100.0 * (t - s.plan.t0) / span, controller.step()));
      break;
    }
    const double remaining = s.plan.t_end - t;
    double h = controller.step();
    const bool is_last = remaining <= h * (1.0 + 1e-9);
    if (is_last)
      h = remaining;
    else if (remaining < 2.0 * h)
      h = 0.5 * remaining;  // two equal steps instead of a sliver at the end
    const double smallest = std::max(options.min_step, 16.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t), span * 1e-3));
    if (h < smallest && !is_last) {
      s.fail(Status::step_too_small,
             fmt::format("at t = {:.10g} the step fell to {:.3g}, below the smallest allowed {:.3g}; the error of the {} asks for it.\n"
                         "  try: looser --rtol/--atol, --min-step, or look for an impact, a stop or a singular position at this time",
                         t, h, smallest, name_of(s.system, norm.worst())));
      break;
    }
    const int order = std::min(controller.order(), history.size());

    trial.motion.t = is_last ? s.plan.t_end : t + h;
    trial.eta = history[0].eta;
    lambda_differences.build(history, order + 1, h, [](const Entry& e) -> const Vector& { return e.lambda; });
    lambda_differences.extrapolate(std::min(order, lambda_differences.points()), trial.lambda);
    // x = ω/h cannot be known better than round-off in q allows.
    const double floor = round_off_margin * std::numeric_limits<double>::epsilon() / h;
    velocity_weights(parts, history[0].motion, options.atol, options.rtol, floor, weight);
    method->begin_step(history, h, order);
    const solve::Closed closed = closer.close(*method, history, h, weight, trial);
    if (closed.status != solve::CloseStatus::converged) {
      ++counters.rejected_steps;
      ++s.report.rejected_by_newton;
      s.observer.attempted({t, h, order, closed.iterations, 0.0, closed.update_norm, "newton failed"});
      if (controller.failures() >= max_failures) {
        s.fail(closed.status == solve::CloseStatus::singular_matrix ? Status::singular_matrix : Status::newton_failed,
               fmt::format("at t = {:.10g} no step could be closed, the last of size {:.3g}: {}.\n"
                           "  largest residuals: {}\n"
                           "  try: `kreisel check` at this position; the mechanism may be in a singular position or the forces undefined",
                           t, h, closed.status == solve::CloseStatus::singular_matrix ? "the iteration matrix is singular" : "Newton's method did not converge",
                           closer.worst_rows()));
        break;
      }
      controller.reject_newton();
      continue;
    }
    norm.set_scale(trial.motion);
    OrderErrors errors;
    const bool has_estimate = method->local_errors(order, trial.motion, q_error, v_error);
    errors.current = has_estimate ? norm(q_error, v_error) : 0.0;
    if (options.control_lambda && lambda_error.size() > 0 && lambda_differences.points() >= order) {
      lambda_differences.deviation(order, trial.lambda, 1.0, lambda_error);
      lambda_scale = std::max(lambda_scale, trial.lambda.norm());
      errors.current = std::max(errors.current, lambda_error.norm() / ((order + 1) * (options.atol + options.rtol * lambda_scale)));
    }
    if (!(errors.current <= 1.0)) {
      ++counters.rejected_steps;
      ++s.report.rejected_by_error;
      s.observer.attempted({t, h, order, closed.iterations, errors.current, closed.update_norm, "error too large"});
      controller.reject_error(errors.current);
      continue;
    }
    if (order > 1 && method->local_errors(order - 1, trial.motion, q_error, v_error)) errors.lower = norm(q_error, v_error);
    if (order < max_order && method->local_errors(order + 1, trial.motion, q_error, v_error)) errors.higher = norm(q_error, v_error);
    s.observer.attempted({t, h, order, closed.iterations, errors.current, closed.update_norm, "accepted"});

    trial.order = order;
    ++s.report.steps_at_order[order];
    s.report.order = std::max(s.report.order, order);
    history.push(trial);
    controller.accept(errors, h);
    if (!s.accept(history[0], false)) {
      s.fail(Status::interrupted, fmt::format("interrupted at t = {:.10g}", history[0].motion.t));
      break;
    }
  }
  s.report.solve_seconds = cpu_seconds() - begin;
}

}  // namespace kreisel::run
