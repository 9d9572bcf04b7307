// Mechanisms nobody thought of: trees and loops, stiffness over ten decades, damping from 0.1 % to 200 %, masses and
// lengths over six. Two methods must agree on them, or say why not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kreisel::support {

/// A model file, the same for the same seed on every machine.
std::string random_mechanism(std::uint64_t seed);

/// How two methods did on one mechanism.
struct Contest {
  struct Run {
    std::string method, status;
    long steps = 0;
    std::vector<std::string> warnings;  ///< and the message of a run that failed
  };
  Run one, other;
  double tolerances = 0.0;  ///< largest difference of positions and velocities, in tolerances
  double announced = 0.0;   ///< the errors that both find when they are verified, asked for above 1000 tolerances
  double force_tolerances = 0.0;
  std::string worst;    ///< where
  std::string refusal;  ///< of the mechanism itself

  bool both_succeeded() const { return one.status == "success" && other.status == "success"; }
};

/// The default against radau; projected-bdf every seventh time, index-3 form every fifth.
Contest contest_of(std::uint64_t seed);

/// What none of them may do: differ by more than 1000 tolerances and more than `--verify` says, take 20 times the steps of
/// the other without a warning, or fail without a reason. Empty: nothing.
std::string offence_in(const Contest& contest);

/// Two lines; the model file is written to the present folder, so that `kreisel run` shows the same.
std::string describe_and_keep(std::uint64_t seed, const Contest& contest);
std::string describe(std::uint64_t seed, const Contest& contest);

}  // namespace kreisel::support
