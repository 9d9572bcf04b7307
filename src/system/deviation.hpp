// How the equations of two systems differ that are alike, as neighbours in a parameter are.
#pragma once

#include <memory>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::system {

/// The difference of the left-hand sides of two systems at one motion, as a sum over the parts in which they differ.
class Deviation {
 public:
  struct Range {
    int at = 0, size = 0;
  };

  virtual ~Deviation() = default;
  /// Entries that may differ; in increasing order, none twice.
  const std::vector<Range>& force() const { return force_; }
  const std::vector<Range>& gap() const { return gap_; }
  const std::vector<Range>& rate() const { return rate_; }
  bool is_zero() const { return force_.empty() && gap_.empty() && rate_.empty(); }
  bool has_rows() const { return !gap_.empty() || !rate_.empty(); }

  /// out = scale (r_a - r_b), in these entries alone. Keeps scratch: one thread at a time.
  virtual void residual(const Motion& m, ConstVectorRef lambda, double scale, Residual& out) = 0;
  /// The same of Bᵀμ; entries are those of the force.
  virtual void constraint_force(const Motion& m, ConstVectorRef mu, double scale, VectorRef out) = 0;

 protected:
  std::vector<Range> force_, gap_, rate_;
};

/// A system that knows its parts.
class PartedSystem {
 public:
  virtual ~PartedSystem() = default;
  /// Null: the other one consists of other parts.
  virtual std::unique_ptr<Deviation> deviation_from(const System& other) const = 0;
};

/// Of a from b, which have the same rows; both must outlive it. Systems without parts are compared as a whole.
std::unique_ptr<Deviation> make_deviation(const System& a, const System& b);

}  // namespace kreisel::system
