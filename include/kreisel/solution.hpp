// Result of a run: its points, the motion between them, and the report.
#pragma once

#include <memory>

#include "kreisel/observer.hpp"
#include "kreisel/options.hpp"
#include "kreisel/problem.hpp"
#include "kreisel/report.hpp"

namespace kreisel::run {

class Interpolation;
class Points;

/// Copies share their points.
class Solution {
 public:
  const Report& report() const;
  bool is_success() const { return report().status == Status::success; }

  /// Accepted points, including both sides of an event.
  std::size_t size() const;
  State operator[](std::size_t i) const;
  /// At any time of the run, to the order of the method; at a jump the state after it.
  State at(double t) const;
  const Points& points() const;  ///< internal; an incomplete type outside kreisel
  const Problem& problem() const;

 private:
  friend Solution solve(const Problem& problem, const Options& options, Observer& observer);

  struct Kept;
  State state_of(const method::Entry& entry, std::size_t i) const;

  std::shared_ptr<Kept> kept_;
  mutable std::shared_ptr<Interpolation> interpolation_;
};

/// Integrates and keeps every step; output_step and output_times of the options have no effect. Throws InvalidInput as
/// `integrate` does; a run that fails ends in the report, with everything up to there.
Solution solve(const Problem& problem, const Options& options);
/// The observer sees every step as well, and may end the run.
Solution solve(const Problem& problem, const Options& options, Observer& observer);

}  // namespace kreisel::run
