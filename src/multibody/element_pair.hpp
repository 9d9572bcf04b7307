// Two elements of one kind that are evaluated at once, in the two lanes of packed arithmetic.
#pragma once

#include <memory>

#include "kreisel/element.hpp"
#include "lie/motion.hpp"

namespace kreisel::multibody {

/// What it adds, and in which order, is bit for bit what the first and then the second element would add.
class ElementPair {
 public:
  virtual ~ElementPair() = default;
  virtual void add_force(const lie::Motion& m, double* force) const = 0;
  virtual void add_energy(const lie::Motion& m, system::EnergyParts& parts) const = 0;
};

/// An element that may be half of a pair.
class Pairable {
 public:
  virtual ~Pairable() = default;
  /// With the next element, on these nodes; null where the two do not fit together.
  virtual std::unique_ptr<ElementPair> pair_with(const Element& next, const Slot* own_slots,
                                                 const Slot* its_slots) const = 0;
};

}  // namespace kreisel::multibody
