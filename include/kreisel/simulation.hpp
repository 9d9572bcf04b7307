// A run that is advanced, asked and resumed by its user.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kreisel/options.hpp"
#include "kreisel/problem.hpp"
#include "kreisel/report.hpp"

namespace kreisel::run {

class Simulation {
 public:
  /// Checks problem and options as `integrate` does and places the first point; throws InvalidInput.
  Simulation(Problem problem, Options options);
  /// Goes on from a checkpoint of the same problem and options, with the same bits.
  Simulation(Problem problem, Options options, std::string_view checkpoint);
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  /// The integrator may step past t; `state` is interpolated then. It ends at t_end of the problem or of the options, or
  /// earlier when the run fails or an event ends it; `time` says where. Throws InvalidInput when t lies before the step
  /// that has been taken last, or after the end.
  Status advance_to(double t);
  /// One step of the integrator. False: the run has ended.
  bool step();

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
