#include "io/result/summary.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kreisel/version.hpp"
#include "method/catalogue.hpp"
#include "method/parameters.hpp"
#include "multibody/assembly.hpp"
#include "run/integrator.hpp"
#include "run/row_map.hpp"

namespace kreisel::io {
namespace {

template <class Values>
Json numbers(const Values& values) {
  Json list = Json::array();
  for (Eigen::Index i = 0; i < values.size(); ++i) list.push_back(number_or_null(values[i]));
  return list;
}

/// Words that may be empty for "not known".
Json word(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Every field in the order of the contract, nothing known yet.
Json blank(std::string_view command) {
  Json s;
  for (const char* name :
       {"model",    "group",      "method",        "order",      "formulation",   "step",           "t_end",
        "status",   "message",    "final",         "statistics", "constraints",   "energy",         "correction",
        "starting", "tolerances", "parameters",    "assembled",  "step_adjusted", "steps_at_order", "rejections",
        "events",   "corners",    "linear_solver", "warnings",   "verification",  "output",         "kreisel"})
    s[name] = nullptr;
  s["final"] = {{"t", nullptr}, {"bodies", Json::array()}, {"lambda", Json::array()}};
  s["statistics"] = Json::object();
  s["constraints"] = {{"position_max", nullptr}, {"velocity_max", nullptr}};
  s["energy"] = {{"initial", nullptr}, {"final", nullptr}};
  s["warnings"] = Json::array();
  s["events"] = Json::array();
  s["kreisel"] = {{"version", version()}, {"commit", commit()}, {"command", word(command)}};
  return s;
}

/// Whether a joint holds its bodies; events switch joints on and off.
bool is_active(const system::System& system, std::string_view joint) {
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(&system);
  if (assembly == nullptr) return true;
  const std::vector<multibody::JointPtr>& joints = assembly->mechanism().joints;
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (joints[j]->name() == joint) return assembly->active().at(assembly->mechanism().bodies.size() + j);
  return true;
}

Json final_point(const system::System& system, const system::System& in_force, const method::Entry& entry) {
  Json out{{"t", nullptr}, {"bodies", Json::array()}, {"lambda", Json::array()}};
  if (entry.motion.q.size() != system.space().nq()) return out;  // the run has no point
  out["t"] = number_or_null(entry.motion.t);
  const std::vector<lie::Block>& blocks = system.space().blocks();
  std::vector<bool> is_free(blocks.size(), true);
  for (int body = 0; body < system.body_count(); ++body) {
    const lie::Block& block = blocks[system.body_block(body)];
    is_free[system.body_block(body)] = false;
    const system::Pose pose = system.body_pose(body, entry.motion.q);
    const Matrix3 columns_are_rows = pose.R.transpose();
    out["bodies"].push_back({{"name", system.body_name(body)},
                             {"x", numbers(pose.x)},
                             {"R", numbers(columns_are_rows.reshaped())},
                             {"v", numbers(entry.motion.v.segment(block.v_at, block.nv))}});
  }
  Json q = Json::array();
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (int i = 0; is_free[b] && i < blocks[b].nq; ++i)
      q.push_back(number_or_null(entry.motion.q[blocks[b].q_at + i]));
  if (!q.empty()) out["q"] = q;
  out["lambda"] = numbers(entry.lambda);
  if (system.joint_count() > 0) out["joints"] = Json::array();
  for (int joint = 0; joint < system.joint_count(); ++joint) {
    const system::Reaction reaction = system.reaction(joint, entry.motion, entry.lambda);
    if (!is_active(in_force, system.joint_name(joint))) {
      out["joints"].push_back({{"name", system.joint_name(joint)}, {"active", false}});
      continue;
    }
    out["joints"].push_back({{"name", system.joint_name(joint)},
                             {"force", numbers(reaction.force)},
                             {"torque", numbers(reaction.torque)},
                             {"force_in_joint", numbers(reaction.force_in_joint)},
                             {"torque_in_joint", numbers(reaction.torque_in_joint)}});
  }
  if (system.outputs().empty()) return out;
  Vector values(system.output_size());
  run::OutputsInForce(system).evaluate(in_force, entry.motion, entry.lambda, values);
  Eigen::Index at = 0;
  for (const system::OutputInfo& info : system.outputs()) {
    Json& target = out[info.is_state ? "states" : "outputs"][info.name];
    target = info.components.empty() ? number_or_null(values[at]) : numbers(values.segment(at, info.size()));
    at += info.size();
  }
  return out;
}

Json energy_of(const system::System& system, const run::Report& report) {
  Json out{{"initial", number_or_null(report.energy_initial)}, {"final", number_or_null(report.energy_final)}};
  if (!system.has_energy_parts() || report.final.motion.q.size() != system.space().nq()) return out;
  const system::EnergyParts parts = system.energy_parts(report.final.motion);
  out["kinetic"] = number_or_null(parts.kinetic);
  out["potential"] = number_or_null(parts.potential);
  out["elastic"] = number_or_null(parts.elastic);
  out["work_forces"] = number_or_null(report.work.forces);
  out["work_drivers"] = number_or_null(report.work.drivers);
  out["dissipated"] = number_or_null(report.work.dissipated);
  out["balance_error_max"] = number_or_null(report.energy_error);
  return out;
}

Json values_of(const std::vector<ParameterInfo>& infos, const ParameterValues& values) {
  Json out = Json::object();
  for (const ParameterInfo& info : infos) {
    if (!info.words.empty() && values.has(info.name))
      out[info.name] = values.word(info.name);
    else
      out[info.name] = values.is_set(info.name) ? number_or_null(values.number(info.name)) : Json(nullptr);
  }
  return out;
}

}  // namespace

const std::vector<Ending>& endings() {
  static const std::vector<Ending> list = [] {
    std::vector<Ending> all;
    for (const run::StatusInfo& info : run::statuses())
      all.push_back({info.name, info.meaning,
                     info.id == run::Status::success       ? 0
                     : info.id == run::Status::interrupted ? 130
                                                           : 3});
    all.push_back({invalid_input, "invalid request; nothing was computed", 2});
    all.push_back({environment_error, "a failure of the machine, such as a full disk", 4});
    all.push_back({internal_error, "an internal error of kreisel", 4});
    all.push_back({running, "in summary.json only: the run has not ended, or it was killed", 0});
    return all;
  }();
  return list;
}

const Ending& ending_of(run::Status status) {
  for (const Ending& ending : endings())
    if (ending.id == run::info_of(status).name) return ending;
  return endings().front();
}

Json summarize(const PreparedRun& run, const run::Report& report, const OutputInfo& output, std::string_view command) {
  const run::Options& options = run.options;
  const bool is_adaptive = options.has_error_control();
  Json s = blank(command);
  s["model"] = run.model.name;
  s["group"] = run.model.group;
  s["method"] = report.method;
  s["order"] = report.order;
  s["formulation"] = report.formulation;
  s["step"] = is_adaptive ? Json(nullptr) : number_or_null(report.step);
  s["t_end"] = number_or_null(report.t_end);
  s["status"] = run::info_of(report.status).name;
  s["message"] = report.message;
  const system::System& layout = run.model.system->result_layout();
  s["final"] = final_point(layout, report.systems.empty() ? *run.model.system : *report.systems.back(), report.final);
  const Counters& counters = report.counters;
  s["statistics"] = {{"steps", counters.steps},
                     {"rejected_steps", counters.rejected_steps},
                     {"newton_iterations", counters.newton_iterations},
                     {"residual_evaluations", counters.residual_evaluations},
                     {"jacobian_evaluations", counters.jacobian_evaluations},
                     {"factorizations", counters.factorizations},
                     {"exponentials", counters.exponentials},
                     {"brackets", counters.brackets},
                     {"solve_seconds", number_or_null(report.solve_seconds)}};
  s["constraints"] = {{"position_max", number_or_null(report.position_max)},
                      {"velocity_max", number_or_null(report.velocity_max)}};
  s["energy"] = energy_of(*run.model.system, report);
  s["correction"] = word(report.correction);
  s["starting"] = options.starting.name();
  if (is_adaptive) s["tolerances"] = {{"rtol", number_or_null(options.rtol)}, {"atol", number_or_null(options.atol)}};
  s["parameters"] = {{"model", values_of(run.model_info->parameters, run.model_parameters)},
                     {"method", values_of(options.method.info().parameters, options.method.parameters)}};
  s["assembled"] = to_json(run.changes);
  s["step_sequence"] = word(run.step_sequence);
  s["step_adjusted"] = report.step_was_adjusted;
  s["steps_at_order"] = Json::object();
  for (std::size_t order = 0; order < report.steps_at_order.size(); ++order)
    if (report.steps_at_order[order] > 0) s["steps_at_order"][std::to_string(order)] = report.steps_at_order[order];
  s["rejections"] = {{"error", report.rejected_by_error}, {"newton", report.rejected_by_newton}};
  for (const run::Occurrence& o : report.events)
    s["events"].push_back(
        {{"name", o.event}, {"t", number_or_null(o.t)}, {"action", o.action}, {"terminal", o.ends_the_run}});
  s["corners"] = report.corners;
  s["linear_solver"] = word(report.linear_solver);
  for (const std::string& warning : run.warnings) s["warnings"].push_back(warning);
  for (const std::string& warning : report.warnings) s["warnings"].push_back(warning);
  const TrajectoryInfo& trajectory = output.trajectory;
  s["output"] = {{"folder", output.folder},
                 {"file", word(trajectory.file)},
                 {"rows", trajectory.rows},
                 {"columns", trajectory.columns},
                 {"thinned", trajectory.every_nth > 1 ? Json(trajectory.every_nth) : Json(nullptr)},
                 {"output_step", options.output_step > 0.0 ? number_or_null(options.output_step) : Json(nullptr)},
                 {"output_times", options.output_times.empty() ? Json(nullptr) : Json(options.output_times)},
                 {"log", word(output.log)}};
  return s;
}

RunLabel label_of(const RunSpec& spec) {
  return {spec.model,           spec.group, spec.word("method"), spec.word("formulation"), spec.word("correction"),
          spec.word("starting")};
}

RunLabel label_of(const PreparedRun& run) {
  const system::Formulation formulation = run::formulation_in_use(run.options, *run.model.system);
  return {run.model.name,
          run.model.group,
          run.options.method.name(),
          std::string(system::info_of(formulation).name),
          run.options.correction,
          std::string(run.options.starting.name())};
}

Json summarize(const RunLabel& label, std::string_view status, std::string_view message, std::string_view command) {
  Json s = blank(command);
  s["model"] = word(label.model);
  s["group"] = word(label.group);
  s["method"] = word(label.method);
  s["formulation"] = word(label.formulation);
  s["correction"] = word(label.correction);
  s["starting"] = word(label.starting);
  s["status"] = status;
  s["message"] = message;
  return s;
}

Json to_json(const std::vector<solve::Change>& changes) {
  Json list = Json::array();
  for (const solve::Change& change : changes)
    list.push_back({{"body", change.name},
                    {"distance", number_or_null(change.distance)},
                    {"angle", number_or_null(change.angle)},
                    {"velocity", number_or_null(change.velocity)},
                    {"angular_velocity", number_or_null(change.angular_velocity)}});
  return list;
}

std::string described(const solve::Change& change) {
  return fmt::format("{} moved by {:.3g} m and {:.3g} rad, its velocity by {:.3g} m/s and {:.3g} rad/s", change.name,
                     change.distance, change.angle, change.velocity, change.angular_velocity);
}

std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace kreisel::io
