#include "io/result/operating_point.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"
#include "kreisel/simulation.hpp"
#include "solve/kkt.hpp"
#include "system/limits.hpp"

namespace kreisel::io {
namespace {

bool is_time(std::string_view at) { return at != "static" && at != "start"; }

OperatingPoint found(std::shared_ptr<const system::System> system, system::Motion motion, Vector lambda) {
  OperatingPoint out;
  out.is_found = true;
  out.system = std::move(system);
  out.motion = std::move(motion);
  out.lambda = std::move(lambda);
  return out;
}

/// With accelerations, and multipliers of its active rows.
OperatingPoint completed(std::shared_ptr<const system::System> system, system::Motion motion,
                         std::string_view linear_solver) {
  Vector lambda = Vector::Zero(system->pattern().rows());
  Counters unused;
  solve::Kkt kkt(*system, unused, linear_solver);
  if (!kkt.accelerate(motion, lambda))
    throw InvalidInput(
        "[M B'; B 0] is singular there: no accelerations and multipliers; 'kreisel check' shows why, linear_solver "
        "least-squares accepts redundant constraints");
  return found(std::move(system), std::move(motion), std::move(lambda));
}

}  // namespace

void check_operating_point(std::string_view at) {
  if (is_time(at) && !std::isfinite(number_in(at).value_or(NAN)))
    throw InvalidInput(fmt::format("{} is '{}', expected static, start or a time in seconds", spelled("at"), at));
}

RunSpec with_operating_point(RunSpec spec, std::string_view at) {
  check_operating_point(at);
  if (is_time(at)) spec.set("t_end", std::string(at));
  return spec;
}

OperatingPoint operating_point(const PreparedRun& run, std::string_view at, const Vector& from) {
  check_operating_point(at);
  const models::Model& model = run.model;
  const std::string linear_solver(run.options.linear_solver.name());
  if (at == "static") {
    system::Start start = model.start;
    if (from.size() == start.q0.size()) start.q0 = from;
    analysis::Equilibrium e = analysis::find_equilibrium(*model.system, start, {.linear_solver = linear_solver});
    OperatingPoint out = found(e.leaning != nullptr ? e.leaning : model.system, e.motion, e.lambda);
    out.is_found = out.is_equilibrium = e.is_found;
    out.iterations = e.iterations;
    out.message = e.is_found ? "" : fmt::format("no equilibrium: {}", e.message);
    return out;
  }
  system::Motion motion(model.system->space());
  if (at == "start") {
    motion.t = model.start.t0;
    motion.q = model.start.q0;
    motion.v = model.start.v0;
    return completed(model.system, std::move(motion), linear_solver);
  }
  run::Simulation simulation({model.system, model.start}, run.options);
  const double t = *number_in(at);
  simulation.advance_to(t);
  if (simulation.report().status != run::Status::success || simulation.time() < t) {
    OperatingPoint out;
    out.status = simulation.report().status;
    out.message = fmt::format(
        "the run did not reach t = {:.10g}: {}", t,
        simulation.report().message.empty() ? std::string(run::info_of(out.status).name) : simulation.report().message);
    return out;
  }
  const run::State state = simulation.state();
  std::tie(motion.t, motion.q, motion.v, motion.a) = std::tie(state.t, state.q, state.v, state.a);
  return completed(state.system, std::move(motion), linear_solver);
}

std::vector<std::string> closed_limits(const system::System& system) {
  std::vector<std::string> names;
  if (const auto* limits = dynamic_cast<const system::LimitedSystem*>(&system))
    for (int i = 0; i < limits->limit_count(); ++i)
      if (limits->is_closed(i)) names.push_back(limits->limit_name(i));
  return names;
}

Json json_of(ConstVectorRef values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(number_or_null(value));
  return out;
}

Json json_rows(const Matrix& rows) {
  Json out = Json::array();
  for (Eigen::Index i = 0; i < rows.rows(); ++i) out.push_back(json_of(Vector(rows.row(i))));
  return out;
}

Json poses_json(const system::System& system, const system::Motion& m) {
  Json out = Json::array();
  for (int b = 0; b < system.body_count(); ++b) {
    const system::Pose pose = system.body_pose(b, m.q);
    out.push_back(
        {{"name", system.body_name(b)}, {"position", json_of(pose.x)}, {"rotation", json_rows(Matrix(pose.R))}});
  }
  return out;
}

Json outputs_json(const system::System& system, const system::Motion& m, const Vector& lambda) {
  Json out = Json::object();
  Vector values = Vector::Zero(system.output_size());
  system.evaluate_outputs(m, lambda, values);
  int at = 0;
  for (const system::OutputInfo& info : system.outputs()) {
    out[info.name] = info.components.empty() ? number_or_null(values[at]) : json_of(values.segment(at, info.size()));
    at += info.size();
  }
  return out;
}

}  // namespace kreisel::io
