// Coordinate projection after a step: onto Φ = 0, B v + Φ_t = 0 and invariants (Eich 1993).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "solve/kkt.hpp"

namespace kreisel::solve {

/// A quantity that the exact motion conserves.
struct Invariant {
  std::string name;
  std::function<double(const system::Motion&)> value;
  std::function<double(const system::Motion&)> with_other_forces{};  ///< must agree with it; empty: it does
};

/// Largest number of invariants.
inline constexpr int max_invariants = 16;
/// Prefix of the name of an output that is used as an invariant.
inline constexpr std::string_view output_prefix = "output.";

/// energy, momentum-x … -z, angular-momentum-x … -z (about the origin), and output.NAME for any output.
std::vector<std::string> invariant_names();
/// One of those, or an output by name.
bool is_invariant_name(std::string_view name);
/// Throws InvalidInput when there is no such invariant or the system does not define it. An output must be a number, or a
/// component, that depends on q and v only.
Invariant make_invariant(const std::string& name, const system::System& system);

struct ManifoldOptions {
  Metric metric = Metric::mass;
  bool is_joint = false;  ///< q and v at once, instead of q first and then v at the new q
  std::string linear_solver = "automatic";
  double length = 1.0;  ///< of the mechanism
};

/// Gauss-Newton: the smallest change of (q, v) that satisfies the linearised conditions, repeated with the matrix at hand.
/// The matrix is kept from step to step while the iteration contracts well.
class Manifold {
 public:
  Manifold(const system::System& system, Counters& counters, const ManifoldOptions& options,
           std::vector<Invariant> invariants);
  ~Manifold();

  /// Sets the target values of the invariants to those at m.
  void set_levels(const system::Motion& m);
  /// Moves q and v. False: no contraction even with a fresh matrix; m is then meaningless.
  [[nodiscard]] bool project(system::Motion& m);
  /// State that a checkpoint must keep so that a resumed run projects with the same matrix.
  struct State {
    bool is_made = false, has_matrix = false;
    system::Motion made_at;  ///< where the matrix was made
    Vector levels;           ///< of the invariants
  };
  State state() const;
  void restore(const State& state);

  /// Removes from errors of q and v the part that `project` would remove, to first order.
  void keep_tangential(VectorRef q_error, VectorRef v_error);

 private:
  class Joint;

  [[nodiscard]] bool factorize(const system::Motion& m);
  [[nodiscard]] bool project_with_matrix(system::Motion& m);

  ManifoldOptions options_;
  Kkt kkt_;
  std::unique_ptr<Joint> joint_;  ///< null: position, then velocity
  system::Motion start_, made_at_;
  Vector part_;
  bool is_made_ = false, has_matrix_ = false;
};

}  // namespace kreisel::solve
