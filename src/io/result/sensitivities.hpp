// Derivatives of a run by parameters of its model, and fits of parameters to data.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "io/files/files.hpp"
#include "io/spec/run_spec.hpp"
#include "run/adjoint.hpp"
#include "run/sensitivity.hpp"

namespace kreisel::io {

/// Runs the spec and differentiates it by parameters, numbers of parts as "spring.length", or initial values: "v0.2" is the second
/// entry of v, "q0.2" of q∘exp(x), from where the start is projected onto the constraints. Throws InvalidInput for names that do
/// not exist. `events`: beside those of the model.
run::Sensitivities sensitivities(const RunSpec& spec, const std::vector<std::string>& names, run::Observer& observer,
                                 run::SensitivityOptions wanted = {}, const std::vector<system::Event>& events = {});

/// Throws InvalidInput where `sensitivities` would for these names; runs nothing.
void refuse_unknown_names(const RunSpec& spec, const std::vector<std::string>& names);

/// t, then for each parameter d OUTPUT/d NAME, d q/d NAME, d v/d NAME, d lambda/d NAME.
void write_sensitivities(const Path& path, const system::System& layout, const std::vector<std::string>& names,
                         const run::Sensitivities& found);

// ---- gradients by many parameters

/// Derivatives of a few numbers of the run by the same names, by the adjoint of its steps. Scalars: "knee" is an output at the end,
/// "foot.x@0.4" at t = 0.4, "integral(v2)" over the run; q, v
/// and lambda are numbered as in results. Where the adjoint does not serve the run, as with events that change it, they come from
/// `sensitivities`, and `obstacle` says why. Throws InvalidInput for names that do not exist.
run::Gradients gradients(const RunSpec& spec, const std::vector<std::string>& names,
                         const std::vector<std::string>& scalars, run::Observer& observer,
                         const std::vector<system::Event>& events = {},
                         std::size_t most_bytes = run::AdjointOptions{}.most_bytes);
/// Of Σ weights(i, k) · output k at times[i].
run::Gradients gradients(const RunSpec& spec, const std::vector<std::string>& names, const std::vector<double>& times,
                         const Matrix& weights, run::Observer& observer, const std::vector<system::Event>& events = {});

/// Throws InvalidInput where `gradients` would for these scalars; runs nothing.
void refuse_unknown_scalars(const RunSpec& spec, const std::vector<std::string>& scalars);

/// One line per scalar: its name, its value, its derivatives.
void write_gradients(const Path& path, const std::vector<std::string>& names, const std::vector<std::string>& scalars,
                     const run::Gradients& found);

// ---- fits

/// Measured outputs over time.
struct FitData {
  std::vector<double> t;
  std::vector<std::string> columns;  ///< "knee", "foot.x"
  Matrix values;                     ///< one row per time; NaN: not measured
};
/// A CSV file whose first line names t and outputs; lines that begin with # are left out, and so are empty cells.
FitData read_fit_data(const Path& path);

struct FreeParameter {
  std::string name;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

struct Fit {
  bool is_found = false;
  std::string message;
  std::vector<FreeParameter> free;
  Vector values, standard_errors;
  Matrix covariance;
  std::vector<bool> is_at_bound;
  Vector noise;   ///< standard deviation of the residuals, per column
  Matrix fitted;  ///< as FitData::values
  int iterations = 0;
  long runs = 0;  ///< with derivatives
  /// Other minima that further starts led to, and by how much their sum of squares is larger.
  struct Other {
    Vector values;
    double ratio = 1.0;
  };
  std::vector<Other> others;
  std::vector<std::string> warnings;
};

struct FitOptions {
  int starts = 1;  ///< of the search: at the values of the spec, then spread between the bounds
};

/// Least squares by Levenberg's and Marquardt's method within bounds (Moré 1978), columns weighted by their residuals. Throws
/// InvalidInput for names that do not exist and times outside the run. The fit fails, and names the parameters, when
/// the data do not determine them. Correlated residuals cause a warning: a local minimum, or an incomplete model.
Fit fit(const RunSpec& spec, const FitData& data, const std::vector<FreeParameter>& free, run::Observer& observer,
        const FitOptions& options = {});

}  // namespace kreisel::io
