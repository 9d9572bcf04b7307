#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kreisel/error.hpp"
#include "multibody/force.hpp"

namespace kreisel::multibody {
namespace {

constexpr double default_speed = 0.01;       ///< [m/s], of both laws
constexpr double default_deflection = 1e-5;  ///< [m]

/// Friction per unit of load against a sliding speed v [m/s], with derivatives. `z` is the state of a law that has one.
struct Friction {
  double value = 0.0, by_v = 0.0, by_z = 0.0;
  double rate = 0.0, rate_by_v = 0.0, rate_by_z = 0.0;  ///< of ż
};

/// μ tanh(v/v₀): smooth, but a force that friction should hold moves the joint with v₀ artanh(force/μN).
struct Smoothed {
  double coefficient, speed;

  Friction at(double v, double) const {
    const double saturation = std::tanh(v / speed);
    return {.value = coefficient * saturation, .by_v = coefficient * (1.0 - saturation * saturation) / speed};
  }
};

/// Bristles that bend before they slip (Dupont, Hayward, Armstrong, Altpeter 2002: Single state elastoplastic friction
/// models). z is their bending in parts of the deflection δ at which they break away from rest:
///
///     μ(v) = μ + (μₛ - μ) exp(-v²/vₛ²),  z̄ = μ(v)/μₛ,
///     ż = v/δ (1 - α |z|/z̄) while the bending grows, ż = v/δ while it recovers,
///     friction per load = μₛ (z + δ/vₛ exp(-v²/vₛ²) ż).
///
/// α rises from 0 at |z| = a to 1 at |z| = z̄. Below a bristles are springs, so nothing creeps under a load that
/// they can hold; the last term damps oscillations on them.
struct StickSlip {
  double coefficient, static_coefficient, speed, deflection;

  static constexpr double elastic_part = 0.7;  ///< a in parts of the smallest z̄

  Friction at(double v, double z) const {
    const double faded = std::exp(-(v * v) / (speed * speed)), faded_by_v = -2.0 * v / (speed * speed) * faded;
    const double lowest = coefficient / static_coefficient, a = elastic_part * lowest;
    const double limit = lowest + (1.0 - lowest) * faded, limit_by_v = (1.0 - lowest) * faded_by_v;
    const double bent = std::abs(z), s = (bent - a) / (limit - a);
    double slip = 0.0, slip_by_bent = 0.0, slip_by_limit = 0.0;  // α|z|/z̄
    if (z * v > 0.0 && s > 0.0) {
      const bool is_full = s >= 1.0;
      const double alpha = is_full ? 1.0 : s * s * s * (10.0 + s * (6.0 * s - 15.0));
      const double alpha_by_s = is_full ? 0.0 : 30.0 * s * s * (1.0 - s) * (1.0 - s);
      slip = alpha * bent / limit;
      slip_by_bent = (alpha_by_s / (limit - a) * bent + alpha) / limit;
      slip_by_limit = (-alpha_by_s * s / (limit - a) - alpha / limit) * bent / limit;
    }
    Friction out;
    out.rate = v / deflection * (1.0 - slip);
    out.rate_by_v = (1.0 - slip - v * slip_by_limit * limit_by_v) / deflection;
    out.rate_by_z = -v / deflection * std::copysign(slip_by_bent, z);
    const double damping = deflection / speed;
    out.value = static_coefficient * (z + damping * faded * out.rate);
    out.by_v = static_coefficient * damping * (faded_by_v * out.rate + faded * out.rate_by_v);
    out.by_z = static_coefficient * (1.0 + damping * faded * out.rate_by_z);
    return out;
  }
};

/// τ = ρ N(λ) friction(ρ ξ̇, z) + c ξ̇ with N = √(|λ|² + N₀²) - N₀ over the pressing rows, smooth without load; ρ is the
/// radius of a joint that turns, 1 of one that slides.
template <class Law>
class JointFriction final : public Force {
 public:
  JointFriction(const ForceSpec& spec, const Law& law)
      : Force("joint-friction", spec.name, spec.joint->bodies()),
        joint_(spec.joint),
        viscous_(spec.number("viscous")),
        load_(spec.number("smoothing_load")),
        law_(law) {
    for (const Joint::Sliding& sliding : spec.joint->slidings())
      terms_.push_back({&sliding, sliding.is_rotation && spec.has_number("radius") ? spec.number("radius") : 1.0});
  }
  const Joint* joint() const override { return joint_.get(); }

  int states() const override { return has_states ? static_cast<int>(terms_.size()) : 0; }
  /// The bristles of a joint that slides fast are fully bent.
  void start_states(const BodyState* s, double* z) const override {
    if constexpr (has_states)
      for (const Term& term : terms_) {
        const double v = term.lever * term.sliding->measure->rate(s);
        *z++ = std::abs(v) > law_.speed ? std::copysign(law_.coefficient / law_.static_coefficient, v) : 0.0;
      }
  }
  void state_rates(const ForceState& at, double* f) const override {
    for (std::size_t k = 0; k < terms_.size(); ++k) f[k] = friction(k, at).rate;
  }

  void add_wrench(const ForceState& at, Slopes& wrench) const override {
    for (std::size_t k = 0; k < terms_.size(); ++k) terms_[k].sliding->measure->add_slopes(at.s, effort(k, at), wrench);
  }
  void add_blocks(const ForceState& at, ElementBlocks& out) const override {
    const BodyState* s = at.s;
    const int n = slots();
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const Term& term = terms_[k];
      Slopes slope, rate_by_q;
      Curvature Q;
      for (int i = 0; i < n; ++i) slope[i].setZero(), rate_by_q[i].setZero();
      Q.set_zero(n);
      term.sliding->measure->add_slopes(s, 1.0, slope);
      term.sliding->measure->add_curvature(s, 1.0, Q);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) rate_by_q[j] += Q(i, j).transpose() * s[i].twist();
      const Friction friction = this->friction(k, at);
      const double load = press(term, at.lambda);
      const double by_rate = term.lever * term.lever * load * friction.by_v + viscous_;
      const double total = effort(k, at);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) {
          out.K(i, j) += slope[i] * (by_rate * rate_by_q[j]).transpose() + total * Q(i, j);
          out.D(i, j) += by_rate * slope[i] * slope[j].transpose();
        }
      for (const int row : term.sliding->pressing)
        for (int i = 0; i < n; ++i)
          out.F[i].col(row) += (term.lever * friction.value * at.lambda[row] / (load + load_)) * slope[i];
      if constexpr (has_states) {
        for (int i = 0; i < n; ++i) {
          out.G[k][i] += (term.lever * load * friction.by_z) * slope[i];
          out.f_q[k][i] += (term.lever * friction.rate_by_v) * rate_by_q[i];
          out.f_v[k][i] += (term.lever * friction.rate_by_v) * slope[i];
        }
        out.f_z(static_cast<int>(k), static_cast<int>(k)) += friction.rate_by_z;
      }
    }
  }
  Along along() const override {
    if (terms_.size() != 1) return {};
    return {terms_[0].sliding->measure.get(), terms_[0].sliding->is_rotation};
  }
  /// As a law of friction counts it: against the motion is negative.
  double effort_at(const ForceState& at) const override {
    return terms_.size() == 1 ? -effort(0, at) : std::numeric_limits<double>::quiet_NaN();
  }
  void add_flow(const ForceState& at, system::Power& power) const override {
    for (std::size_t k = 0; k < terms_.size(); ++k)
      power.dissipated += effort(k, at) * terms_[k].sliding->measure->rate(at.s);
  }

 private:
  static constexpr bool has_states = std::is_same_v<Law, StickSlip>;
  struct Term {
    const Joint::Sliding* sliding;  ///< of joint_
    double lever;
  };

  double press(const Term& term, const double* lambda) const {
    double sum = load_ * load_;
    for (const int row : term.sliding->pressing) sum += lambda[row] * lambda[row];
    return std::sqrt(sum) - load_;
  }
  Friction friction(std::size_t k, const ForceState& at) const {
    const double v = terms_[k].lever * terms_[k].sliding->measure->rate(at.s);
    return law_.at(v, has_states ? at.z[k] : 0.0);
  }
  double effort(std::size_t k, const ForceState& at) const {
    const Term& term = terms_[k];
    return term.lever * press(term, at.lambda) * friction(k, at).value + viscous_ * term.sliding->measure->rate(at.s);
  }

  JointPtr joint_;
  double viscous_, load_;
  Law law_;
  std::vector<Term> terms_;
};

double number_or(const ForceSpec& spec, std::string_view key, double otherwise) {
  return spec.has_number(key) ? spec.number(key) : otherwise;
}

void refuse_keys(const ForceSpec& spec, std::initializer_list<std::string_view> keys, std::string_view other_law) {
  for (const std::string_view key : keys)
    if (spec.has_number(key))
      throw InvalidInput(
          fmt::format("\"{}\" belongs to \"law\": \"{}\", but the law here is \"{}\"; leave it out or change the law",
                      key, other_law, spec.word("law")));
}

ForcePtr build_friction(const ForceSpec& spec) {
  const std::vector<Joint::Sliding>& slidings = spec.joint->slidings();
  if (slidings.empty() || std::ranges::any_of(slidings, [](const Joint::Sliding& s) { return s.pressing.empty(); }))
    throw InvalidInput("friction needs a joint that slides: revolute, prismatic, cylindrical or point-on-line, not " +
                       spec.joint->type());
  const double coefficient = spec.number("coefficient");
  const bool turns =
      std::any_of(slidings.begin(), slidings.end(), [](const Joint::Sliding& s) { return s.is_rotation; });
  if (turns && coefficient > 0.0 && !spec.has_number("radius"))
    throw InvalidInput(
        fmt::format("joint '{}' is {} and turns: its friction torque is coefficient times radius times bearing force. "
                    "Give \"radius\", that of the pin [m]",
                    spec.joint->name(), spec.joint->type()));
  if (spec.word("law") == "smoothed") {
    refuse_keys(spec, {"static_coefficient", "stribeck_speed", "deflection"}, "stick-slip");
    const Smoothed law{coefficient, number_or(spec, "smoothing_speed", default_speed)};
    return std::make_unique<JointFriction<Smoothed>>(spec, law);
  }
  refuse_keys(spec, {"smoothing_speed"}, "smoothed");
  const StickSlip law{coefficient, number_or(spec, "static_coefficient", coefficient),
                      number_or(spec, "stribeck_speed", default_speed),
                      number_or(spec, "deflection", default_deflection)};
  if (!(coefficient > 0.0))
    throw InvalidInput("\"coefficient\" is 0, where nothing sticks; \"law\": \"stick-slip\" needs a positive one");
  if (law.static_coefficient < coefficient)
    throw InvalidInput(fmt::format(
        "\"static_coefficient\" is {}, below the coefficient {} of sliding; friction at rest must not be smaller",
        law.static_coefficient, coefficient));
  return std::make_unique<JointFriction<StickSlip>>(spec, law);
}

}  // namespace

ForceInfo joint_friction() {
  const auto positive = [](std::string name, std::string unit, std::string meaning, std::string fallback = {}) {
    return Field{.name = std::move(name),
                 .meaning = std::move(meaning),
                 .minimum = 0.0,
                 .minimum_is_excluded = true,
                 .is_optional = true,
                 .unit = std::move(unit),
                 .fallback = std::move(fallback)};
  };
  return {.name = "joint-friction",
          .summary = "Coulomb friction from the reaction of a joint: smoothed at rest, or with bristles that stick",
          .bodies = 0,
          .place = JointInfo::Place::none,
          .numbers = {{.name = "law",
                       .meaning = "smoothed creeps under load, stick-slip holds it",
                       .words = {"smoothed", "stick-slip"}},
                      {.name = "coefficient", .meaning = "of friction", .default_number = NAN, .minimum = 0.0},
                      positive("radius", "m", "of the pin of a joint that turns"),
                      {.name = "viscous", .meaning = "viscous friction", .minimum = 0.0, .unit = "N s/m or N m s/rad"},
                      positive("smoothing_speed", "m/s",
                               "smoothed: sliding speed at which 76 % of the friction is reached", "0.01"),
                      {.name = "smoothing_load",
                       .meaning = "reaction below which friction fades",
                       .default_number = 1e-3,
                       .minimum = 0.0,
                       .minimum_is_excluded = true,
                       .unit = "N"},
                      positive("static_coefficient", "", "stick-slip: of friction at rest", "the coefficient"),
                      positive("stribeck_speed", "m/s",
                               "stick-slip: sliding speed at which friction has fallen from rest to sliding", "0.01"),
                      positive("deflection", "m", "stick-slip: displacement at which the joint breaks away", "1e-5")},
          .build = build_friction};
}

}  // namespace kreisel::multibody
