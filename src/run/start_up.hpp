// Starting values: consistent initialisation, the points a multistep method needs, and their correction.
#pragma once

#include <memory>
#include <string>

#include "kreisel/system.hpp"
#include "method/method.hpp"
#include "method/variants.hpp"
#include "run/rkmk.hpp"
#include "solve/formulation.hpp"

namespace kreisel::run {

struct StartUpOptions {
  bool corrects_velocity = true;                  ///< add the constrained part of the defect to v (index-3 form only)
  bool shifts_memory = true;                      ///< algorithmic acceleration at its own time (generalized-α)
  Starting by = Starting::corrected;              ///< the defect of the scheme itself, or formula or formula_as_printed
  method::JerkBy jerk = method::JerkBy::central;  ///< of generalized-α
};

/// Fills histories. Every point has q, v, v̇, λ, ω, h.
class StartUp {
 public:
  StartUp(const system::System& system, Counters& counters, std::string_view linear_solver);
  ~StartUp();

  /// Other equations apply before the first point: differences are taken on the side after it.
  void look_ahead_only() { looks_back_ = false; }
  /// (t, q, v) with v̇ and λ from the index-1 equations. False when [M Bᵀ; B 0] is singular.
  [[nodiscard]] bool place(double t, ConstVectorRef q, ConstVectorRef v, method::Entry& first);
  /// Recomputes v̇ and λ of a point; of states v, but not v̇. False when [M Bᵀ; B 0] is singular.
  [[nodiscard]] bool accelerate(method::Entry& at) { return rkmk_.kkt().accelerate(at.motion, at.lambda); }
  /// The same where forces jump at t: v̇ and λ change by the jump, and the residual of the step stays.
  [[nodiscard]] bool jump(double t, method::Entry& at) {
    if (jumps_ == nullptr)
      jumps_ = std::make_unique<solve::Kkt>(system_, counters_, linear_solver_, solve::Kkt::Use::jumps);
    return jumps_->factorize(at.motion) && jumps_->jump_to(t, at.motion, at.lambda);
  }
  /// λ from the index-1 equations. False when they have no solution.
  [[nodiscard]] bool multipliers(const system::Motion& at, Vector& lambda);
  /// Moves q onto Φ = 0, v onto B v + Φ_t = 0, in the mass metric.
  [[nodiscard]] bool project(system::Motion& m, bool moves_position, bool moves_velocity);

  /// Points at t0 + i h until `method` can take its first step of `order`, then the corrections. history holds the
  /// first point. False when a step of the starter fails.
  [[nodiscard]] bool fill(method::Method& method, double h, int order, solve::Formulation formulation,
                          const StartUpOptions& options, method::History& history);
  /// Chooses the number of substeps of a step h such that more would not change it; called by `fill` first. False: none is small
  /// enough. Where explicit substeps are far from stable, as those of rods with many elements, steps become implicit.
  bool choose_substeps(const method::Entry& first, double h);
  /// From one point to a later one, with the chosen substeps.
  [[nodiscard]] bool advance(const method::Entry& from, double h, method::Entry& to);

 private:
  class Implicit;  ///< Radau IIA
  [[nodiscard]] bool becomes_implicit(const method::Entry& first, double h);
  [[nodiscard]] bool set_rates_of_states(method::Entry& first);
  /// v̇ and λ of from_, a point at distance s from `first` along a parabola.
  [[nodiscard]] bool accelerate_beside(const method::Entry& first, double s);
  /// By differences of step s, for the entries of states and algebraic unknowns.
  [[nodiscard]] bool rates_of_states(const method::Entry& first, double s, Vector& rates);
  [[nodiscard]] bool correct_velocities(method::Method& method, double h, int order, const StartUpOptions& options,
                                        method::History& history);
  /// l of the scheme itself on one extra point, or by the formulas of the papers.
  [[nodiscard]] bool defect_of_scheme(method::Method& method, double h, int order, const method::History& history,
                                      Vector& defect);
  [[nodiscard]] bool defect_by_formula(method::Method& method, double h, int order, bool as_printed,
                                       const method::History& history, Vector& defect);
  [[nodiscard]] bool start_one_step(method::Method& method, double h, bool corrects, const StartUpOptions& options,
                                    method::History& history);

  const system::System& system_;
  Counters& counters_;
  const std::string linear_solver_;
  Rkmk rkmk_;
  std::unique_ptr<Implicit> implicit_;  ///< once explicit steps are far from stable
  std::unique_ptr<solve::Kkt> jumps_;   ///< null: no input was set
  int substeps_ = 1;
  bool has_only_dynamic_ = true, looks_back_ = true;
  system::Motion from_, to_;
  Vector lambda_, omega_, piece_;
};

}  // namespace kreisel::run
