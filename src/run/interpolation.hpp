// Dense output from kept points.
#pragma once

#include <memory>

#include "kreisel/options.hpp"
#include "run/points.hpp"

namespace kreisel::run {

/// The motion within the steps of kept points, by the dense output of the run itself. Steps are looked up by time; increasing
/// times are cheapest. Not thread-safe.
class Interpolation {
 public:
  /// The points have increments; `options` are those of the run. All of them must outlive it.
  Interpolation(const Points& points, const Options& options, const system::System& layout);
  ~Interpolation();

  /// Index of the step that ends at t or after it; at a jump the step after it. Throws InvalidInput when t is
  /// outside the run.
  std::size_t evaluate(double t, method::Entry& out);
  method::Entry blank() const;

 private:
  class Recall;

  const Points& points_;
  const Options& options_;
  const system::System& layout_;
  std::unique_ptr<Recall> recall_;
};

}  // namespace kreisel::run
