// What static and modes share: an equilibrium with its stability, and how it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/equilibrium.hpp"
#include "analysis/modes.hpp"
#include "io/json/json_source.hpp"
#include "models/catalogue.hpp"

namespace kreisel::apps {

/// Exit code of a computation that did not come to its end.
inline constexpr int analysis_failed = 3;

struct Resting {
  analysis::Equilibrium equilibrium;
  std::optional<std::vector<analysis::Mode>> modes;
  std::string why_no_modes;

  /// That multipliers belong to.
  const system::System& system(const models::Model& model) const {
    return equilibrium.leaning != nullptr ? *equilibrium.leaning : *model.system;
  }
};
Resting rest(const models::Model& model);

/// Names of the limits that something leans on.
std::vector<std::string> closed_limits(const system::System& system);

/// "stable", "unstable".
std::string word_of(const std::vector<analysis::Mode>& modes);
std::string in_words(const std::vector<analysis::Mode>& modes);

io::Json number(double value);
io::Json list_of(ConstVectorRef values);
io::Json poses_of(const system::System& system, const system::Motion& m);
io::Json outputs_of(const system::System& system, const system::Motion& m, const Vector& lambda);
void print_outputs(const system::System& system, const system::Motion& m, const Vector& lambda);
void print_poses(const system::System& system, const system::Motion& m);
void print_reactions(const system::System& system, const system::Motion& m, const Vector& lambda);

}  // namespace kreisel::apps
