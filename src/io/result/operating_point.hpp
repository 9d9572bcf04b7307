// The point at which an analysis evaluates a model: its equilibrium, its initial values, or the point of a run at some time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/json/json_source.hpp"
#include "io/spec/run_spec.hpp"
#include "kreisel/analysis.hpp"

namespace kreisel::io {

struct OperatingPoint {
  bool is_found = false;
  std::string message;                           ///< why there is no such point
  run::Status status = run::Status::success;     ///< of the run that should have led there
  std::shared_ptr<const system::System> system;  ///< active there; limits in contact are closed
  system::Motion motion;
  Vector lambda;
  int iterations = 0;  ///< of the search for an equilibrium
  bool is_equilibrium = false;
};

/// Throws InvalidInput unless `at` is static, start or a time.
void check_operating_point(std::string_view at);
/// The spec with the end of the run that `at` needs.
RunSpec with_operating_point(RunSpec spec, std::string_view at);
/// `at`: "static", "start" or a time that the run of the spec must reach. `from`: positions where the search begins; empty: the
/// initial ones.
OperatingPoint operating_point(const PreparedRun& run, std::string_view at, const Vector& from = {});

/// Names of the limits in contact.
std::vector<std::string> closed_limits(const system::System& system);
Json json_of(ConstVectorRef values);
Json json_rows(const Matrix& rows);
Json poses_json(const system::System& system, const system::Motion& m);
Json outputs_json(const system::System& system, const system::Motion& m, const Vector& lambda);

}  // namespace kreisel::io
