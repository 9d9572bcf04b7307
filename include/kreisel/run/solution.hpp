// What a run leaves: its points, the motion between them, and the report.
#pragma once

#include <memory>

#include "kreisel/run/observer.hpp"
#include "kreisel/run/options.hpp"
#include "kreisel/run/points.hpp"
#include "kreisel/run/problem.hpp"
#include "kreisel/run/report.hpp"

namespace kreisel::run {

/// The motion within the steps of kept points, by the dense output that the run itself had. Steps are looked up by time;
/// one after the other in rising order is cheapest. Not for several threads at once.
class Interpolation {
 public:
  /// The points have increments; `options` are those of the run. All of them live longer.
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

/// Copies share their points.
class Solution {
 public:
  const Report& report() const { return kept_->report; }
  bool is_success() const { return report().status == Status::success; }

  /// Accepted points, both sides of an event among them.
  std::size_t size() const { return kept_->points.size(); }
  State operator[](std::size_t i) const;
  /// At any time of the run, to the order of the method. Of the two sides of a jump the later one.
  State at(double t) const;
  const Points& points() const { return kept_->points; }
  const Problem& problem() const { return kept_->problem; }

 private:
  friend Solution solve(const Problem& problem, const Options& options, Observer& observer);

  struct Kept {
    Problem problem;
    Options options;
    Points points{{.has_increments = true, .has_residuals = true}};
    Report report;
  };
  State state_of(const method::Entry& entry, std::size_t i) const;

  std::shared_ptr<Kept> kept_;
  mutable std::shared_ptr<Interpolation> interpolation_;
};

/// Integrates and keeps every step; output_step and output_times of the options do not matter. Throws InvalidInput as
/// `integrate` does; a run that fails ends in the report, with everything up to there.
Solution solve(const Problem& problem, const Options& options);
/// The observer sees every step as well, and may end the run.
Solution solve(const Problem& problem, const Options& options, Observer& observer);

}  // namespace kreisel::run
