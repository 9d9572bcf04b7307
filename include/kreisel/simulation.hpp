// A run that its user advances, queries and resumes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kreisel/observer.hpp"
#include "kreisel/options.hpp"
#include "kreisel/problem.hpp"
#include "kreisel/report.hpp"

namespace kreisel::run {

class Simulation {
 public:
  /// Checks problem and options as `integrate` does and places the first point; throws InvalidInput. The observer sees every step
  /// and must outlive the simulation.
  Simulation(Problem problem, Options options, Observer* observer = nullptr);
  /// Continues from a checkpoint of the same problem and options, with bitwise equal results and the inputs that were set.
  Simulation(Problem problem, Options options, std::string_view checkpoint, Observer* observer = nullptr);
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  /// The integrator may step past t; `state` is interpolated then. With inputs a step ends at t, because they may be set
  /// there. It ends at t_end of the problem or of the options, or earlier when the run fails or an event ends it; see `time`.
  /// Where neither gives an end (Problem::has_end), it goes on as long as it is advanced, and t_end() is infinite.
  /// Throws InvalidInput when t is before the last step, or after the end.
  Status advance_to(double t);
  /// One step of the integrator. False: the run has ended.
  bool step();

  /// Gives an input of the model a value: from `time` on it is this constant, until it is set again. The forces jump there, and
  /// no step crosses the jump; a one-step method (radau, rkmk) keeps its step size, and the default method is replaced by radau where
  /// values are set repeatedly. The value applies to this simulation only. Throws InvalidInput for an unknown name, with the
  /// known ones, for a value that is not finite, and where no step ends at `time`. Queries before the next advance show the
  /// motion before the jump, whatever was set at `time`, in any order; only at the start they show the motion after it.
  void set(std::string_view input, double value);
  /// The value of an input at `time`, set or not.
  double input(std::string_view name) const;
  /// An output or state of the model at `time`: "knee", "foot.x", and its rate "knee'". Throws InvalidInput with the known names.
  double output(std::string_view name) const;

  double time() const;
  State state() const;
  /// Within the last step.
  State at(double t) const;
  double t_end() const;
  bool has_ended() const;
  /// Bytes from which another Simulation of the same problem and options continues.
  std::string checkpoint() const;
  const Report& report() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace kreisel::run
