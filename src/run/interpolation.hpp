// Dense output from kept points.
#pragma once

#include <memory>

#include "kreisel/options.hpp"
#include "run/points.hpp"

namespace kreisel::run {

/// The motion within the steps of kept points, by the dense output that the run itself had. Steps are looked up by time;
/// one after the other in rising order is cheapest. Not for several threads at once.
class Interpolation {
 public:
  /// The points have increments; `options` are those of the run. All of them must outlive it.
  Interpolation(const Points& points, const Options& options, const system::System& layout);
  ~Interpolation();

  /// Index of the step that ends at t or after it; of the two sides of a jump the later one. Throws InvalidInput when t is
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
