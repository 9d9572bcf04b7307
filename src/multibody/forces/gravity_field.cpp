#include <cmath>

#include "kreisel/error.hpp"
#include "multibody/force.hpp"

namespace kreisel::multibody {
namespace {

constexpr double newton = 6.6743e-11;  ///< G [N m²/kg²] (CODATA 2018)

/// F = S/r² between two points, V = -S/r.
class GravityField final : public Force {
 public:
  GravityField(const ForceSpec& spec, double strength)
      : Force("gravity-field", spec.name, spec.bodies),
        distance_(distance(0, spec.frames[0].p, 1, spec.frames[1].p)),
        strength_(strength) {}

  bool is_gravity() const override { return true; }
  Along along() const override { return {distance_.get(), false}; }
  double effort_at(const ForceState& at) const override {
    const double r = distance_->value(at.s);
    return strength_ / (r * r);
  }
  void add_wrench(const ForceState& at, Slopes& wrench) const override {
    distance_->add_slopes(at.s, effort_at(at), wrench);
  }
  void add_blocks(const ForceState& at, ElementBlocks& out) const override {
    Slopes slope;
    set_zero(slope, 2);
    distance_->add_slopes(at.s, 1.0, slope);
    distance_->add_curvature(at.s, effort_at(at), out.K);
    const double by_r = -2.0 * effort_at(at) / distance_->value(at.s);
    for (const int i : {0, 1})
      for (const int j : {0, 1}) out.K(i, j) += by_r * slope[i] * slope[j].transpose();
  }
  double potential(const ForceState& at) const override { return -strength_ / distance_->value(at.s); }
  void add_flow(const ForceState&, system::Power&) const override {}

 private:
  MeasurePtr distance_;
  double strength_;
};

}  // namespace

ForceInfo gravity_field() {
  const auto build = [](const ForceSpec& spec) -> ForcePtr {
    if (spec.has_number("strength")) return std::make_unique<GravityField>(spec, spec.number("strength"));
    const double product = newton * spec.masses.at(0) * spec.masses.at(1);
    if (!std::isfinite(product))
      throw InvalidInput("the ground has no mass; give \"strength\", G times both masses [N m^2]");
    return std::make_unique<GravityField>(spec, product);
  };
  return {.name = "gravity-field",
          .summary = "two bodies attract each other with strength/r^2, r the distance of two points",
          .place = JointInfo::Place::two_points,
          .place_is_optional = true,
          .numbers = {{.name = "strength",
                       .meaning = "G times both masses",
                       .minimum = 0.0,
                       .is_optional = true,
                       .unit = "N m^2",
                       .fallback = "6.6743e-11 times the masses of the bodies"}},
          .build = build};
}

}  // namespace kreisel::multibody
