// A run that is advanced, asked and resumed by its user.
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
  /// Checks problem and options as `integrate` does and places the first point; throws InvalidInput. The observer sees
  /// every step, and lives longer.
  Simulation(Problem problem, Options options, Observer* observer = nullptr);
  /// Goes on from a checkpoint of the same problem and options, with the same bits and the inputs that were set.
  Simulation(Problem problem, Options options, std::string_view checkpoint, Observer* observer = nullptr);
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  /// The integrator may step past t; `state` is interpolated then. With inputs a step ends at t, because they may be set
  /// there. It ends at t_end of the problem or of the options, or earlier when the run fails or an event ends it; `time`
  /// says where. Throws InvalidInput when t lies before the step that has been taken last, or after the end.
  Status advance_to(double t);
  /// One step of the integrator. False: the run has ended.
  bool step();

  /// Gives an input of the model a value: from `time` on it is this constant, until it is set again. The forces jump
  /// there, and steps before and after it do not know of each other; a method without a past (radau, rkmk) goes on with
  /// the step that it had, and the default method gives way to radau where values are set again and again. Only this
  /// simulation knows of the value. Throws InvalidInput for a name that the model does not have, with those that it has,
  /// for a value that is not finite, and where no step ends at `time`. What is asked before the next advance shows the
  /// motion as it has arrived at `time`, whatever was set there, in any order; only at the start it is as it goes on.
  void set(std::string_view input, double value);
  /// The value of an input at `time`, set or not.
  double input(std::string_view name) const;
  /// An output or state of the model at `time`: "knee", "foot.x", and its rate "knee'". Throws InvalidInput with the names
  /// it has.
  double output(std::string_view name) const;

  double time() const;
  State state() const;
  /// Within the step taken last.
  State at(double t) const;
  double t_end() const;
  bool has_ended() const;
  /// Bytes from which another Simulation of the same problem and options goes on.
  std::string checkpoint() const;
  const Report& report() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace kreisel::run
