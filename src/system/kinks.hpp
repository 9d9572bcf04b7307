// Forces whose slope jumps as a function of the state.
#pragma once

#include <optional>

#include "kreisel/system.hpp"

namespace kreisel::system {

/// A system whose forces are smooth only between the knots of some coordinates: max, min and abs in laws, tables that are
/// joined by straight lines. Steps may end where a coordinate passes a knot.
class KinkedSystem {
 public:
  virtual ~KinkedSystem() = default;

  virtual int kink_count() const = 0;
  virtual void kinks(const Motion& m, VectorRef coordinates) const = 0;
  /// The first knot of a coordinate on the way from `from` to `to`, neither of which counts.
  virtual std::optional<double> knot_between(int kink, double from, double to) const = 0;
  /// Whether the force jumps somewhere: an event must define what happens there, and steps end at events, not at knots.
  virtual bool jumps(int kink) const = 0;
};

}  // namespace kreisel::system
