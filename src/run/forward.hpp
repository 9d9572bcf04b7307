// Derivatives of a run by parameters, carried along from step to step.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "follower.hpp"
#include "implicit_stepper.hpp"
#include "kreisel/problem.hpp"
#include "run/sensitivity.hpp"

namespace kreisel::run {

/// The derivative of the discrete motion. A step is a map (past, x) ↦ (q, v, v̇) that is closed by the equations of motion, so that
/// its derivative solves linear equations with Newton's matrix of the step,
///
///     J (δx, δλ, δη) = -(∂r/∂past δpast + ∂r/∂p),
///
/// the past through the tangent of the step map (Sonneville, Brüls 2014). Starts, events and corners, which are rare, are
/// differentiated by central differences of the run there: both neighbours locate the event on the motion between their points,
/// which gives the jump of the derivative, and restart after it.
class Forward final : public Follower {
 public:
  /// Neighbours differ by 2^-bits of a parameter: powers of two are added without rounding.
  static constexpr int parameter_bits = 17;

  /// `steps`: by how much neighbours differ in each parameter. Throws InvalidInput if a neighbour cannot be created.
  /// `is_cheap`: accurate enough for a search.
  Forward(const ProblemOf& make, const Vector& parameters, const Vector& steps, const Options& options,
          const Problem& nominal, bool is_cheap);
  ~Forward() override;

  int count() const;

  void begin(std::shared_ptr<const system::System> system, const Plan& plan, const Options& options,
             bool ends_at_corner, const Stepper& stepper, const StartingPoints& wanted) override;
  void show_start(const Stepper& stepper) override;
  void take(Stepper& stepper, const Proposal& proposal, bool ends_at_stop) override;
  void committed(const Stepper& stepper) override;
  void cut(Stepper& stepper, const Happening& happening, const system::Event& first,
           const method::Entry& before) override;
  void change(const Happening& happening, const Changed& changed) override;
  void pass_corner(const Stepper& stepper, double after, const method::Entry& behind) override;

  // ---- derivatives at the point that is shown now

  /// δ of one parameter; δq has nv numbers, λ is in the rows of the active system. The times of points move with events.
  struct Tangent {
    double t = 0.0, h = 0.0;
    Vector q, v, a, lambda, eta, omega, memory;
  };
  const Tangent& shown(int j) const;
  /// The same for outputs; λ of the point in the rows of results.
  void outputs(int j, const method::Entry& point, Vector& out);
  /// λ in the rows of results.
  void spread_lambda(int j, Vector& out) const;
  /// δ of the time of an event in the newest step.
  double time_of(int j, Stepper& stepper, const system::Event* event, double t);
  /// The largest relative error of a derivative that is left by the linear equations.
  double remainder() const { return remainder_; }

 private:
  struct Side;
  struct Direction;
  class Past;

  void tangents_of_start(const Stepper& stepper);
  void differentiate_step(Direction& d, ImplicitStepper& stepper, const Proposal& proposal, bool has_tangents);
  /// fixed_dv_ = the change of W Bᵀη along δq, δt and δp; stabilization_ is Bᵀη.
  void set_change_of_stabilization(Direction& d, const lie::Motion& at, const Vector& eta, const Vector& dq, double dt,
                                   double h);
  /// The point where Bᵀη is taken.
  static const method::Entry& eta_of(ImplicitStepper& stepper);
  /// The trial and its past, moved by ± part of the tangent.
  void fill_moved(const Direction& d, const method::History& past, double part, int side);
  bool interpolate(Direction& d, Stepper& stepper, int side, double t, method::Entry& out);
  /// When the event happens to a neighbour; NaN: not near t.
  double time_of(Direction& d, Stepper& stepper, const system::Event& event, const system::Event& own, int side,
                 double t);
  /// The event of a neighbour that corresponds; null: none.
  const system::Event* event_of(const Side& side, const system::Event& event) const;
  void move(const method::Entry& from, const Tangent& by, double part, method::Entry& out) const;
  void difference(const method::Entry& nominal, const method::Entry& plus, const method::Entry& minus, double part,
                  Tangent& out) const;

  const Options& options_;
  const double solved_;  ///< updates of δx at which the linear equations are solved, relative
  const system::System& layout_;
  const lie::Space& space_;
  std::vector<std::unique_ptr<Direction>> directions_;
  double remainder_ = 0.0, speed_ = 0.0;
  bool is_cut_ = false;

  // of the segment
  std::shared_ptr<const system::System> system_;
  const Plan* plan_ = nullptr;
  std::unique_ptr<RowMap> rows_;
  Counters counters_;
  std::unique_ptr<solve::Closer> closer_;
  std::array<std::unique_ptr<method::Method>, 2> methods_;
  std::array<method::History, 2> moved_;
  std::unique_ptr<DenseOutput> dense_;
  Vector metric_;
  int starts_left_ = 0;
  int checks_left_ = 0;          ///< of the derivatives from the system
  bool has_derivatives_ = true;  ///< that are exact

  // scratch
  system::Motion motion_[2];
  system::Residual residual_[2], left_, fixed_;
  Vector x_, x_moved_, dv_moved_[2], stabilization_, fixed_dv_, dv_, dq_, bracket_, dlambda_, deta_, dx_, before_x_,
      before_lambda_;
  std::vector<method::PastChange> changes_;
  int guess_points_ = 0;
  std::array<double, method::Differences::max_points + 1> guess_weights_{};
};

}  // namespace kreisel::run
