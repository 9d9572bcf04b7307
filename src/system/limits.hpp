// Constraints that act in one direction only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::system {

/// g, ġ and g̈ of a limit.
struct GapState {
  double value = 0.0, rate = 0.0, acceleration = 0.0;
};

/// A start may be so many round_off_of_gap beyond a limit.
inline constexpr double start_tolerance = 1e5;

/// A system with limits g(t,q) ≥ 0. A limit is open, or closed: then g = 0 is a row of the active system.
class LimitedSystem {
 public:
  virtual ~LimitedSystem() = default;

  virtual int limit_count() const = 0;
  /// Of the limit and of its row.
  virtual const std::string& limit_name(int limit) const = 0;
  virtual double restitution(int limit) const = 0;
  /// False while the joint that it belongs to is switched off.
  virtual bool is_in_force(int limit) const = 0;
  virtual bool is_closed(int limit) const = 0;
  virtual GapState gap(int limit, const Motion& m) const = 0;
  /// Round-off of g at this motion.
  virtual double round_off_of_gap(int limit, const Motion& m) const = 0;
  /// n with ġ = n v + g_t.
  virtual void normal(int limit, const Motion& m, VectorRef n) const = 0;
  /// The force with which a closed limit opens the gap; λ of this system.
  virtual double push(int limit, ConstVectorRef lambda) const = 0;
  /// This system, with its events, and with exactly these limits closed.
  virtual std::shared_ptr<const System> with_closed(const std::vector<bool>& closed) const = 0;
};

}  // namespace kreisel::system
