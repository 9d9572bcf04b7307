// Causes of a failure in the model, for the message of a run.
#pragma once

#include <string>

#include "base/archive.hpp"
#include "kreisel/report.hpp"
#include "kreisel/system.hpp"
#include "method/history.hpp"

namespace kreisel::run {

/// The message of a run that ended with `status` after the point `last`, with the cause in the model in place of its general
/// advice ("\n  try: ..."): functions of time that are not finite, drivers that pull a mechanism past its reach, forces that
/// jump.
std::string explained(std::string message, Status status, const system::System& system, const method::Entry& last,
                      double span);

/// The force or state whose value is not finite at the start of a motion, as a line of a message; empty: none is.
std::string describe_undefined(const system::System& system, const system::Start& start);

/// A row of the force that changes by a step between two motions close to each other, in words; empty: every force is
/// continuous there. About 100 evaluations.
std::string describe_jump(const system::System& system, const system::Motion& before, const system::Motion& after,
                          ConstVectorRef lambda);

/// Detects chattering: a force that jumps back and forth keeps the steps small, though each of them is accepted.
class ChatterWatch {
 public:
  ChatterWatch(const system::System& system, double t_end);

  /// After an accepted step. True: with a million or more steps remaining, a force jumps within or beside the range of the
  /// velocities since the previous check, at several checks in a row.
  bool sees(const method::Entry& newest);
  std::string message(double t) const;
  void exchange(Archive& a) { a.all(t_, steps_, found_, what_, lowest_, highest_); }

 private:
  static constexpr int patience = 1000;  ///< steps between two checks
  static constexpr int repetitions = 4;  ///< checks in a row
  static constexpr double many_steps = 1e6;

  const system::System& system_;
  double t_end_, t_ = 0.0;
  int steps_ = 0, found_ = 0;
  std::string what_;
  Vector lowest_, highest_;  ///< v since the last check
};

}  // namespace kreisel::run
