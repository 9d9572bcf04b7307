// Runs of catalogue models, references on the same grid, and the norms in which errors are measured.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/catalogue.hpp"
#include "run/integrator.hpp"

namespace kreisel::support {

/// What `kreisel run` would be told.
struct Experiment {
  std::string model = "heavy-top";
  std::string group{};                                                ///< empty: the model's default
  std::vector<std::pair<std::string, std::string>> model_settings{};  ///< --set of the model
  run::Options options{};
};

models::Model make_model(const Experiment& experiment);

/// Everything a run has shown.
struct Trajectory {
  std::vector<method::Entry> points;
  std::vector<system::Residual> residuals;
  std::vector<bool> is_start;
  run::Report report;
};

Trajectory integrate(const Experiment& experiment);
Trajectory integrate(const models::Model& model, const run::Options& options);

/// The same model on [t0, t_end] in `steps` equal output steps, by rkmk of order 8 in substeps of at most
/// `reference_substep`, with projection. Cached: repeated calls cost nothing.
const Trajectory& reference(const Experiment& experiment, long steps);

/// The exact motion at the times of a trajectory, whatever its steps; not cached.
Trajectory reference_at(const models::Model& model, const std::vector<method::Entry>& points);

/// h|Ω| = 0.019 for the heavy top: DOP853 then agrees with half its step to round-off (see reference_test.cpp).
inline constexpr double reference_substep = 1.25e-4;

/// How a vector of errors becomes a number.
enum class Entries { largest, euclidean };
/// Which points count: the last one, all, or the first 3k+3 steps, which isolate the starting transient.
enum class Span { end, all, first };

struct Norm {
  Entries entries = Entries::euclidean;
  Span span = Span::all;
};

/// q in the embedding (x and R), v, λ.
struct Errors {
  double q = 0.0, v = 0.0, lambda = 0.0;
};

/// `reference` has a whole multiple of the steps of `trajectory`.
Errors errors_of(const models::Model& model, const Trajectory& trajectory, const Trajectory& reference, Norm norm);

/// log(coarse/fine)/log(ratio), entry by entry.
Errors slopes_of(const Errors& coarse, const Errors& fine, double ratio = 2.0);

}  // namespace kreisel::support
