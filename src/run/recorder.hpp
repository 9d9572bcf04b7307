// Measures accepted points: constraints, energy, work, counters.
#pragma once

#include "exchange.hpp"
#include "kreisel/observer.hpp"
#include "kreisel/report.hpp"
#include "row_map.hpp"
#include "run/work.hpp"

namespace kreisel::run {

/// Owner of the quantities that accumulate during a run and are part of the report.
class Recorder {
 public:
  Recorder(Report& report, Observer& observer, const system::Tolerances& tolerances)
      : report_(report), observer_(observer), tolerances_(tolerances) {}

  Report& report() { return report_; }
  Counters& counters() { return report_.counters; }
  void warn(const std::string& text);
  void attempted(const Attempt& attempt);

  /// The initial values of the run, before a starting procedure corrects them.
  void begin(const system::System& system, const method::Entry& first) {
    report_.energy_initial = system.energy(first.motion);
  }
  /// The first point of the run.
  void open(const system::System& system, const method::Entry& first);
  /// The first point after an event.
  void reopen(const system::System& system, const method::Entry& first);
  /// An accepted point: its equations into `residual`, largest gaps and energies into the report.
  void measure(const system::System& system, const method::Entry& entry, Interpolant interpolate);
  const system::Residual& residual() const { return residual_; }
  /// The problem with the equations of the newest measured point; empty: none.
  const std::string& doubt() const { return doubt_; }
  const Energy& energy() const { return energy_; }
  /// The equations of a point between the steps; nothing is recorded.
  const system::Residual& evaluate(const system::System& system, const method::Entry& entry);
  /// Of a point in the newest step.
  Work work_at(const method::Entry& entry) const { return work_.at(entry); }
  Work work() const { return work_.now(); }

  /// `blank` has the sizes of results.
  void exchange(Archive& a, const method::Entry& blank);

 private:
  void size_for(const system::System& system);

  Report& report_;
  Observer& observer_;
  const system::Tolerances tolerances_;
  system::Residual residual_;
  std::string doubt_;
  WorkMeter work_;
  double first_energy_ = 0.0;  ///< of accepted points
  Energy energy_;              ///< of the newest one
};

}  // namespace kreisel::run
