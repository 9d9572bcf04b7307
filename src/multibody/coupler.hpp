// A linear relation between the coordinates of two joints.
#pragma once

#include <array>
#include <memory>

#include "multibody/frames.hpp"
#include "multibody/law.hpp"

namespace kreisel::multibody {

/// ξ₂ - ratio ξ₁ - offset = 0. Angles count their turns where their gauges have a state for them.
class Coupler final : public Element {
 public:
  Coupler(std::string name, const Gauge& first, const Gauge& second, double ratio, double offset);

  Facets facets() const override { return {.rows = 1}; }
  void constraint(const Instant& at, double* gap, double* rate) const override;
  void add_constraint_force(const Instant& at, const double* mu, const Forces& out) const override;
  void constraint_with_force(const Instant& at, double* gap, double* rate, const Forces& out) const override;
  void jacobian(const Instant& at, const Blocks& out) const override;
  void linearize_constraint(const Instant& at, const Blocks& out) const override;
  void acceleration_gap(const Instant& at, double* out) const override;

 private:
  struct Part {
    std::shared_ptr<const Measure> measure;
    std::array<int, 2> slots{0, 1};
    int turns = -1;  ///< slot of a state
    double factor = 1.0;
  };
  struct Layout;
  Coupler(std::string name, const Gauge& first, const Gauge& second, double ratio, double offset, Layout layout);
  /// ∂ of the row by the bodies, times `scale`.
  void add_slopes(const BodyState* s, double scale, Slopes& out) const;
  void store_nothing_of_states(const Blocks& out, bool has_H) const;

  int bodies_ = 0;  ///< the first slots; states follow
  std::array<Part, 2> parts_;
  double offset_ = 0.0;
};

}  // namespace kreisel::multibody
