// Corners of a run: where steps end, and where methods restart.
#pragma once

#include <vector>

#include "kreisel/options.hpp"
#include "kreisel/system.hpp"

namespace kreisel::run {

/// Where a step has to end.
struct Stop {
  double t = 0.0;      ///< at the latest; of a jump, a few units of round-off before it
  double after = 0.0;  ///< where the motion continues
  int smooth = 0;      ///< see system::Corner
  bool is_corner = false;

  /// A multistep method would use points from before the corner; with one more continuous derivative a lower order crosses it at
  /// no cost.
  bool restarts() const { return is_corner && smooth <= 0; }
};

/// Corners of the system and of the options, those within round-off of each other taken as one.
class Corners {
 public:
  Corners(const system::System& system, const Options& options, double t0, double t_end);

  /// Where a step from t, of size h or two of half that size, has to end; t_end without a corner.
  Stop ahead(double t, double h) const;
  /// The next one at which methods restart; t_end without a corner.
  Stop next_restart(double t) const;
  /// Whether a method restarts where a step of size h has ended: at corners that require it, and where steps have to become so
  /// much shorter that the past is useless.
  bool restarts_at(const Stop& stop, double h) const;
  /// How many of those follow; more than `most` are not counted.
  long restarts_after(double t, long most) const;
  /// Whether one lies in (t - reach, t]: then the past before t does not predict the motion after it.
  bool is_just_behind(double t, double reach) const;

 private:
  system::Corner next(double t, double until) const;
  Stop stop_at(double t, double until) const;

  const system::System& system_;
  std::vector<double> asked_;
  double t_end_, round_off_, resolution_;
};

}  // namespace kreisel::run
