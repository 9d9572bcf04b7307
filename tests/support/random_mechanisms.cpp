#include "support/random_mechanisms.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>

#include "io/model_file/model_catalogue.hpp"
#include "io/result/prepare.hpp"
#include "io/result/verification.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "support/dice.hpp"

namespace kreisel::support {
namespace {

using io::Json;

constexpr double g = 9.81;
constexpr long most_steps = 30'000;
constexpr double most_tolerances = 1000.0, most_times_the_steps = 20.0;
constexpr long few_steps = 300;  ///< of which nobody minds

Json to_json(const Vector3& v) { return {v[0], v[1], v[2]}; }

Vector3 random_direction(Dice& dice) {
  const double z = dice.between(-1.0, 1.0), angle = dice.between(0.0, 2.0 * std::numbers::pi),
               r = std::sqrt(1.0 - z * z);
  return {r * std::cos(angle), r * std::sin(angle), z};
}

/// A mechanism while it grows.
class Builder {
 public:
  explicit Builder(std::uint64_t seed) : dice_(seed) {
    length_ = dice_.decades(-2.5, 2.5);
    mass_ = dice_.decades(-2.0, 2.0);
    const int count = 1 + static_cast<int>(dice_.bits() % 6);
    for (int i = 0; i < count; ++i) add_body();
    if (count > 1 && dice_.chance(0.4)) add_loop();
    if (dice_.chance(0.5)) add_spring();
  }

  std::string text() {
    const double natural = std::sqrt(length_ / g), rtol = dice_.one_of(std::vector{1e-4, 1e-5, 1e-6});
    const double t_end = natural * dice_.between(0.3, 2.0);
    // What is small beside the motion, whatever its unit.
    const double size = std::min({length_, std::sqrt(g * length_), 1.0, std::sqrt(g / length_)});
    const Json model{{"gravity", {0.0, 0.0, -g}},
                     {"group", dice_.one_of(std::vector<std::string>{"r3xso3", "se3"})},
                     {"bodies", bodies_},
                     {"joints", joints_},
                     {"forces", forces_},
                     {"simulation",
                      {{"t_end", t_end},
                       {"rtol", rtol},
                       {"atol", 0.01 * rtol * size},
                       {"output_step", t_end / 40.0},
                       {"max_steps", most_steps}}}};
    return model.dump(1) + "\n";
  }

 private:
  struct Body {
    std::string name;
    Vector3 at, end;  ///< centre of mass and the far end
    double mass = 0.0, size = 0.0;
  };

  void add_body() {
    Body body;
    body.name = fmt::format("b{}", made_.size() + 1);
    body.mass = mass_ * dice_.decades(-1.0, 1.0);
    body.size = length_ * dice_.decades(-0.5, 0.5);
    const Body* parent = made_.empty() || dice_.chance(0.2) ? nullptr : &made_[dice_.bits() % made_.size()];
    const std::string parent_name = parent == nullptr ? "ground" : parent->name;
    const Vector3 joint = parent == nullptr ? Vector3(length_ * random_direction(dice_)) : parent->end;
    const Vector3 axis = random_direction(dice_);
    body.at = joint + 0.5 * body.size * axis;
    body.end = joint + body.size * axis;
    const double moment = body.mass * body.size * body.size / 12.0;
    bodies_.push_back(
        {{"name", body.name},
         {"mass", body.mass},
         {"inertia",
          {moment * dice_.between(0.7, 1.0), moment * dice_.between(0.7, 1.0), moment * dice_.between(0.7, 1.0)}},
         {"position", to_json(body.at)}});
    const double kind = dice_.between(0.0, 1.0);
    const std::string name = fmt::format("j{}", made_.size() + 1);
    if (kind < 0.35) {
      forces_.push_back(bushing(name, parent_name, body, joint, parent));
    } else if (kind < 0.65) {
      joints_.push_back({{"type", "revolute"},
                         {"name", name},
                         {"between", {parent_name, body.name}},
                         {"at", to_json(joint)},
                         {"axis", to_json(random_direction(dice_))}});
      if (dice_.chance(0.5)) add_torsion(name, parent_name, body, joints_.back()["axis"]);
    } else if (kind < 0.8) {
      joints_.push_back(
          {{"type", "spherical"}, {"name", name}, {"between", {parent_name, body.name}}, {"at", to_json(joint)}});
    } else if (kind < 0.9) {
      const Vector3 first = random_direction(dice_), second = first.cross(random_direction(dice_)).normalized();
      joints_.push_back({{"type", "universal"},
                         {"name", name},
                         {"between", {parent_name, body.name}},
                         {"at", to_json(joint)},
                         {"axes", {to_json(first), to_json(second)}}});
    } else {
      const Vector3 along = random_direction(dice_);
      joints_.push_back({{"type", "prismatic"},
                         {"name", name},
                         {"between", {parent_name, body.name}},
                         {"at", to_json(joint)},
                         {"axis", to_json(along)}});
      forces_.push_back(
          spring(name + " spring", parent_name, body.name, joint - body.size * along, body.end, body.mass));
    }
    made_.push_back(body);
  }

  /// From a hundredth of what gravity needs to 1e8 times that.
  double stiffness(double mass) { return mass * g / length_ * dice_.decades(-2.0, 8.0); }
  double damping(double k, double mass) { return 2.0 * dice_.decades(-3.0, std::log10(2.0)) * std::sqrt(k * mass); }

  Json bushing(const std::string& name, const std::string& parent, const Body& body, const Vector3& at,
               const Body* other) {
    const double mass = other == nullptr ? body.mass : std::min(body.mass, other->mass);
    const double k = stiffness(mass), c = damping(k, mass), arm = body.size * body.size;
    return {{"type", "bushing"},
            {"name", name},
            {"between", {parent, body.name}},
            {"at", to_json(at)},
            {"stiffness", {k, k, k}},
            {"damping", {c, c, c}},
            {"rotational_stiffness", {k * arm, k * arm, k * arm}},
            {"rotational_damping", {c * arm, c * arm, c * arm}}};
  }
  Json spring(const std::string& name, const std::string& one, const std::string& other, const Vector3& from,
              const Vector3& to, double mass) {
    const double k = stiffness(mass);
    return {{"type", "spring-damper"},
            {"name", name},
            {"between", {one, other}},
            {"at", {to_json(from), to_json(to)}},
            {"stiffness", k},
            {"damping", damping(k, mass)},
            {"length", (to - from).norm()}};
  }
  void add_torsion(const std::string& name, const std::string& parent, const Body& body, const Json& axis) {
    const double mass = body.mass * body.size * body.size, k = stiffness(mass);
    forces_.push_back({{"type", "torsional-spring-damper"},
                       {"name", name + " spring"},
                       {"between", {parent, body.name}},
                       {"axis", axis},
                       {"stiffness", k},
                       {"damping", damping(k, mass)}});
  }
  void add_loop() {
    const Body& body = made_.back();
    const Vector3 at = body.end + length_ * random_direction(dice_);
    joints_.push_back({{"type", "distance"},
                       {"name", "loop"},
                       {"between", {"ground", body.name}},
                       {"at", {to_json(at), to_json(body.end)}}});
  }
  void add_spring() {
    const Body& body = made_[dice_.bits() % made_.size()];
    const Vector3 from = body.end + length_ * random_direction(dice_);
    forces_.push_back(spring("spring", "ground", body.name, from, body.end, body.mass));
  }

  Dice dice_;
  double length_ = 1.0, mass_ = 1.0;
  std::vector<Body> made_;
  Json bodies_ = Json::array(), joints_ = Json::array(), forces_ = Json::array();
};

struct Made {
  io::PreparedRun run;
  run::Report report;
  Contest::Run outcome;
  Matrix rows;
};

Made run_with(const std::shared_ptr<const models::ModelInfo>& model, const std::string& method,
              const std::string& formulation) {
  Made made;
  io::RunSpec spec;
  spec.own_model = model;
  if (!method.empty()) spec.set("method", method);
  if (!formulation.empty()) spec.set("formulation", formulation);
  made.run = io::prepare(spec);
  io::RowCollector rows(made.run);
  made.report = run::integrate(*made.run.model.system, made.run.model.start, made.run.options, rows);
  const run::Report& report = made.report;
  made.rows = rows.rows();
  made.outcome = {report.method, std::string(run::info_of(report.status).name), report.counters.steps, report.warnings};
  if (!report.message.empty()) made.outcome.warnings.push_back(report.message);
  return made;
}

/// The error of positions and velocities that a run finds when it is verified, in tolerances.
double announced_by(const Made& made) {
  run::Observer nobody;
  double worst = 0.0;
  for (const io::ObservedError& e : io::verify(made.run, made.report, made.rows, nobody).errors)
    if (e.is_state) worst = std::max(worst, e.tolerances);
  return worst;
}

}  // namespace

std::string random_mechanism(std::uint64_t seed) { return Builder(seed).text(); }

Contest contest_of(std::uint64_t seed) {
  Contest contest;
  const auto source = std::make_shared<io::JsonSource>(fmt::format("seed{}.json", seed), random_mechanism(seed));
  try {
    const auto model = std::make_shared<const models::ModelInfo>(io::model_of(source, false));
    const Made one =
        run_with(model, seed % 7 == 0 ? "projected-bdf" : "", seed % 5 == 0 && seed % 7 != 0 ? "index3" : "");
    const Made other = run_with(model, "radau", "");
    contest.one = one.outcome;
    contest.other = other.outcome;
    for (const io::ObservedError& e : io::differences_between(one.run, one.rows, other.run, other.rows)) {
      double& worst = e.is_state ? contest.tolerances : contest.force_tolerances;
      if (!e.is_state && e.quantity != "joint force" && e.quantity != "lambda") continue;
      if (!(e.tolerances > worst)) continue;
      worst = e.tolerances;
      if (e.is_state) contest.worst = fmt::format("{} of '{}' at t = {:.6g}", e.quantity, e.where, e.t);
    }
    if (contest.tolerances > most_tolerances && contest.both_succeeded())
      contest.announced = announced_by(one) + announced_by(other);
  } catch (const InvalidInput& problem) {
    contest.refusal = problem.what();
  }
  return contest;
}

std::string offence_in(const Contest& c) {
  if (!c.refusal.empty()) return "refused: " + c.refusal;
  for (const Contest::Run* run : {&c.one, &c.other})
    if (run->status != "success" && run->warnings.empty()) return run->method + " fails without a reason";
  const auto gave_up = [](const Contest::Run& run) { return run.status == "too-many-steps"; };
  const auto has_ended = [&](const Contest::Run& run) { return run.status == "success" || gave_up(run); };
  if (!has_ended(c.one) || !has_ended(c.other)) return {};
  if (c.both_succeeded() && !(c.tolerances <= std::max(most_tolerances, 2.0 * c.announced)))
    return fmt::format("they differ by {:.3g} tolerances: {}", c.tolerances, c.worst);
  const bool first_is_slow = c.one.steps > c.other.steps;
  const Contest::Run &slow = first_is_slow ? c.one : c.other, &fast = first_is_slow ? c.other : c.one;
  // Neither that a run gave up nor what every run in index-3 form says is a cause.
  const auto names_cause = [&](const Contest::Run& run) {
    const auto is_cause = [](const std::string& warning) {
      return !warning.starts_with("index3 with variable steps") && !warning.starts_with("max_steps =");
    };
    return std::any_of(run.warnings.begin(), run.warnings.end(), is_cause);
  };
  if (slow.steps > few_steps &&
      static_cast<double>(slow.steps) > most_times_the_steps * static_cast<double>(fast.steps) && !names_cause(slow))
    return fmt::format("{} takes {} steps, {} only {}, and nobody says why", slow.method, slow.steps, fast.method,
                       fast.steps);
  return {};
}

std::string describe(std::uint64_t seed, const Contest& c) {
  if (!c.refusal.empty()) return fmt::format("seed {}: {}", seed, c.refusal);
  return fmt::format("seed {}: {} {} {} steps, {} {} {} steps; {:.3g} tolerances ({}), forces {:.3g}", seed,
                     c.one.method, c.one.status, c.one.steps, c.other.method, c.other.status, c.other.steps,
                     c.tolerances, c.worst, c.force_tolerances);
}

std::string describe_and_keep(std::uint64_t seed, const Contest& contest) {
  const std::string name = fmt::format("seed{}.json", seed);
  std::ofstream(name) << random_mechanism(seed);
  return fmt::format("{}\n  kreisel run {}", describe(seed, contest), name);
}

}  // namespace kreisel::support
