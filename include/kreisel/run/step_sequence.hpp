// Steps that are given instead of chosen: what studies of variable step sizes prescribe.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace kreisel::run {

/// Steps one by one.
struct StepList {
  std::vector<double> steps;
};

/// h until the first point at or after t = at, then ratio·h.
struct OneChange {
  double h = 0.0, at = 0.0, ratio = 2.0;
};

/// h, ratio·h, h, ratio·h, …
struct Alternation {
  double h = 0.0, ratio = 1.5;
};

/// h_{i+1} = max(h_min, min(σ h_i, h_max)), σ uniform in [ratio_min, ratio_max] when i is a multiple of `every` and 1
/// otherwise; h_0 = √(h_min h_max) (Wieloch 2022, Remark 28). Member m of a family has h_min and h_max times 10^(-m/10).
struct RandomSteps {
  double h_min = 0.0, h_max = 0.0;
  double ratio_min = 0.5, ratio_max = 2.0;
  long every = 1;
  std::uint64_t seed = 1;
  int member = 0;
};

using StepSequence = std::variant<std::monostate, StepList, OneChange, Alternation, RandomSteps>;

inline bool is_given(const StepSequence& sequence) { return !std::holds_alternative<std::monostate>(sequence); }

/// What is wrong with it on [t0, t0 + span], one sentence each; empty: nothing.
std::vector<std::string> problems_in(const StepSequence& sequence, double span);

struct Steps {
  std::vector<double> sizes;  ///< sum = span
  double factor = 1.0;        ///< by which all were shrunk to end there, ≤ 1
};

/// As many steps as cover `span`, shrunk by one common factor so that the last ends there: their ratios stay. The first
/// `equal` ones have one size, as the starting values of a multistep method need them (Wieloch 2022, Remark 24): where
/// the sequence does not begin so, its first step is repeated. Requires a sequence without problems.
Steps steps_of(const StepSequence& sequence, double t0, double span, int equal);

}  // namespace kreisel::run
