// A horizontal rod on two supports, released from the second.
#include <fmt/format.h>

#include "hinged_rod.hpp"

namespace kreisel::models {
namespace {

using multibody::Assembly;
using multibody::Signal;

/// Beside the hinge a plane z = 0 under the other end, which carries a load that grows with time.
std::shared_ptr<Assembly> rod_on_supports(std::string_view group, const ParameterValues& p, double load_rate) {
  const double length = p.number("length");
  multibody::Mechanism mechanism = hinged_rod("rod-release", group, p, Matrix3::Identity());
  multibody::JointSpec support;
  support.name = "support";
  support.bodies = {multibody::ground, 0};
  support.frames.resize(2);
  support.frames[1].p = Vector3(0.5 * length, 0.0, 0.0);
  mechanism.joints.push_back(make_joint(multibody::find_joint("point-on-plane", false), support));
  if (load_rate != 0.0) {
    multibody::ForceSpec load;
    load.name = "load";
    load.bodies = {0};
    load.frames.resize(1);
    load.frames[0].p = Vector3(0.5 * length, 0.0, 0.0);
    load.vector_signals["force"] = {Signal(), Signal(),
                                    Signal(multibody::Expression(fmt::format("-{:.17g}*t", load_rate)))};
    mechanism.forces.push_back(multibody::find_force("applied").build(load));
  }
  return std::make_shared<Assembly>(std::move(mechanism));
}

Model make_rod_release(std::string_view group, const ParameterValues& p) {
  const bool by_reaction = p.word("release") == "reaction";
  const double load_rate = p.is_set("load_rate") ? p.number("load_rate") : by_reaction ? 20.0 : 0.0;
  const std::shared_ptr<Assembly> held = rod_on_supports(group, p, load_rate);
  const std::shared_ptr<const Assembly> released = held->without({"support"});
  system::Event release;
  release.name = "release";
  const double time = p.number("time"), limit = p.number("limit");
  if (by_reaction) {
    // Φ = z of the end, so that the support pushes with -λ.
    const Eigen::Index row = held->pattern().rows() - 1;
    release.function = [row, limit](double, const Vector&, const Vector&, const Vector& lambda) {
      return -lambda[row] - limit;
    };
  } else {
    release.function = [time](double t, const Vector&, const Vector&, const Vector&) { return t - time; };
  }
  release.direction = system::Direction::rising;
  release.action = system::Switch{[released](double, const Vector&, const Vector&) { return released; }};
  held->set_events({release});
  Model model;
  model.name = "rod-release";
  model.group = group;
  model.start = held->start(2.0);
  model.system = held;
  return model;
}

}  // namespace

ModelInfo rod_release() {
  return {"rod-release",
          "horizontal rod on a hinge and a support, released from the support at a time or by its reaction",
          {"r3xso3", "se3"},
          with_rod({{.name = "release", .meaning = "what triggers the release", .words = {"time", "reaction"}},
                    {.name = "time", .meaning = "of the release [s]", .default_number = 0.5},
                    {.name = "limit", .meaning = "reaction that the support can bear [N]", .default_number = 10.0},
                    {.name = "load_rate",
                     .meaning = "growth of the load on the supported end [N/s]; default 0, or 20 with release=reaction",
                     .is_optional = true}}),
          make_rod_release};
}

}  // namespace kreisel::models
