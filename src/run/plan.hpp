// The options of one segment with all defaults resolved.
#pragma once

#include <string>
#include <vector>

#include "kreisel/options.hpp"
#include "kreisel/system.hpp"
#include "method/catalogue.hpp"
#include "run/scaling.hpp"
#include "solve/closer.hpp"
#include "solve/formulation.hpp"

namespace kreisel::run {

/// How closely Newton's method and the velocity relation are solved, and the scale of updates.
struct Closeness {
  solve::NewtonOptions newton;
  double absolute = 1.0, relative = 1.0;  ///< of velocities: weight 1/(absolute + relative |v| + floor |q|)
  double floor = 0.0;                     ///< times 1/h: x = ω/h cannot be known better than round-off in q allows
  double velocity_tolerance = 1e-14;      ///< of an implicit velocity relation
  bool extrapolates_lambda = false;       ///< the guess of λ, else the last one
  bool weighs_values_of_states = false;   ///< instead of their rates

  VelocityScale scale(double h) const {
    return {.absolute = absolute,
            .relative = relative,
            .floor = floor / h,
            .length = newton.length,
            .state_step = weighs_values_of_states ? h : 0.0};
  }
};

struct Plan {
  Options options;
  const method::MethodInfo* method = nullptr;
  solve::Formulation formulation = solve::Formulation::ode;
  Closeness closeness;
  int order = 0;                 ///< 0: variable
  int max_order = 1;             ///< that the history must serve
  double t0 = 0.0, t_end = 0.0;  ///< of the segment; equal steps end at the next corner
  double run_end = 0.0;
  double after_end = 0.0;     ///< where the next segment begins: behind the corner
  double h = 0.0;             ///< constant or first step, already shrunk
  long step_count = 0;        ///< of constant or given steps
  std::vector<double> steps;  ///< given steps, already shrunk by step_factor; empty: constant
  double step_factor = 1.0;

  bool has_error_control() const { return options.has_error_control(); }
  bool controls_lambda = false;
  bool may_give_way = false;  ///< may be replaced by radau
  double span() const { return t_end - t0; }
  double step(long n) const { return steps.empty() ? h : steps[n]; }
};

/// Message if given steps grow so fast for so long that a BDF method of the order of the plan is unstable; empty: they do not.
std::string growth_problem(const Plan& plan);
/// Parameters of generalized-α that leave errors of λ undamped in the formulation of the plan; empty: none.
std::string damping_problem(const Plan& plan, const system::System& system);

Plan make_plan(const Options& options, const system::System& system, const system::Start& start);
/// Makes the segment of a plan with constant steps end at the next corner, and its steps equal up to there.
void end_at_corner(Plan& plan, const system::System& system);

}  // namespace kreisel::run
