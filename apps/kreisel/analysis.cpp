#include "analysis.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "system/limits.hpp"

namespace kreisel::apps {

using io::Json;

Resting rest(const models::Model& model) {
  Resting out;
  out.equilibrium = analysis::find_equilibrium(*model.system, model.start);
  if (!out.equilibrium.is_found) return out;
  // Full matrices take seconds from here on.
  constexpr int most_coordinates = 300;
  if (model.system->space().nv() > most_coordinates) {
    out.why_no_modes = "not computed for so many coordinates; 'kreisel modes' does it";
    return out;
  }
  try {
    const system::System& system = out.system(model);
    const analysis::Linearization linear = analysis::linearize(system, out.equilibrium.motion, out.equilibrium.lambda);
    out.modes = analysis::modes_of(system, out.equilibrium.motion, linear);
  } catch (const InvalidInput& error) {
    out.why_no_modes = fmt::format("not known: {}", error.what());
  }
  return out;
}

std::vector<std::string> closed_limits(const system::System& system) {
  std::vector<std::string> names;
  if (const auto* limits = dynamic_cast<const system::LimitedSystem*>(&system))
    for (int i = 0; i < limits->limit_count(); ++i)
      if (limits->is_closed(i)) names.push_back(limits->limit_name(i));
  return names;
}

std::string word_of(const std::vector<analysis::Mode>& modes) {
  return analysis::stability_of(modes).is_stable ? "stable" : "unstable";
}

std::string in_words(const std::vector<analysis::Mode>& modes) {
  const analysis::Stability s = analysis::stability_of(modes);
  if (s.is_stable) return "stable";
  for (const analysis::Mode& mode : modes)
    if (mode.eigenvalue.real() == s.growth)
      return fmt::format("unstable: a motion of '{}' grows by e within {:.3g} s", mode.largest, 1.0 / s.growth);
  return "unstable";
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json list_of(ConstVectorRef values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(number(value));
  return out;
}

Json poses_of(const system::System& system, const system::Motion& m) {
  Json out = Json::array();
  for (int b = 0; b < system.body_count(); ++b) {
    const system::Pose pose = system.body_pose(b, m.q);
    Json R = Json::array();
    for (int i = 0; i < 3; ++i) R.push_back({pose.R(i, 0), pose.R(i, 1), pose.R(i, 2)});
    out.push_back({{"name", system.body_name(b)}, {"position", list_of(pose.x)}, {"rotation", std::move(R)}});
  }
  return out;
}

namespace {

/// visit(info, values) for every output.
template <class Visit>
void for_each_output(const system::System& system, const system::Motion& m, const Vector& lambda, const Visit& visit) {
  Vector values = Vector::Zero(system.output_size());
  system.evaluate_outputs(m, lambda, values);
  int at = 0;
  for (const system::OutputInfo& info : system.outputs()) {
    visit(info, Vector(values.segment(at, info.size())));
    at += info.size();
  }
}

}  // namespace

Json outputs_of(const system::System& system, const system::Motion& m, const Vector& lambda) {
  Json out = Json::object();
  for_each_output(system, m, lambda, [&](const system::OutputInfo& info, const Vector& values) {
    out[info.name] = info.components.empty() ? number(values[0]) : list_of(values);
  });
  return out;
}

void print_outputs(const system::System& system, const system::Motion& m, const Vector& lambda) {
  for_each_output(system, m, lambda, [](const system::OutputInfo& info, const Vector& values) {
    fmt::print("  output       {} = {:.9g} {}\n", info.name, fmt::join(values, ", "), info.unit);
  });
}

void print_poses(const system::System& system, const system::Motion& m) {
  constexpr int most = 20;
  for (int b = 0; b < std::min(most, system.body_count()); ++b)
    fmt::print("  position     {} at {:.9g} m\n", system.body_name(b), fmt::join(system.body_pose(b, m.q).x, ", "));
  if (system.body_count() > most) fmt::print("  position     {} more, see --json\n", system.body_count() - most);
}

void print_reactions(const system::System& system, const system::Motion& m, const Vector& lambda) {
  constexpr int most = 20;
  for (int j = 0; j < std::min(most, system.joint_count()); ++j) {
    const system::Reaction r = system.reaction(j, m, lambda);
    fmt::print("  reaction     {}: force {:.6g} N, torque {:.6g} N m\n", system.joint_name(j), fmt::join(r.force, ", "),
               fmt::join(r.torque, ", "));
  }
}

}  // namespace kreisel::apps
