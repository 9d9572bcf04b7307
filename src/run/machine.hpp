// A method, its solver and its past, put together for one run.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "kreisel/method/catalogue.hpp"
#include "kreisel/run/dense_output.hpp"
#include "kreisel/run/start_up.hpp"
#include "kreisel/solve/closer.hpp"
#include "kreisel/solve/manifold.hpp"
#include "session.hpp"

namespace kreisel::run {

/// Points a method of this order may look back to: its own, those of the next order, and two for estimates.
constexpr int history_capacity(int order) { return order + 4; }

/// method::ConstrainedPart by the saddle point system of the model.
class ConstrainedPart final : public method::ConstrainedPart {
 public:
  ConstrainedPart(const system::System& system, Counters& counters, std::string_view linear_solver)
      : kkt_(system, counters, linear_solver), projected_(system.space()) {}

  void move_to(const lie::Motion& m) override { is_regular_ = kkt_.factorize(m); }
  void apply(ConstVectorRef l, VectorRef out) override {
    if (is_regular_)
      kkt_.constrained_part(l, out);
    else
      out.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  void project(const lie::Motion& m, VectorRef v) override {
    projected_ = m;
    if (is_regular_ && kkt_.project_velocity(projected_))
      v = projected_.v;
    else
      v.setConstant(std::numeric_limits<double>::quiet_NaN());
  }

 private:
  solve::Kkt kkt_;
  lie::Motion projected_;
  bool is_regular_ = false;
};

struct Machine {
  std::unique_ptr<method::Method> method;
  solve::Closer closer;
  method::History history;
  method::Entry trial;
  StartUp start_up;
  std::vector<Part> parts;
  Vector weight;
  DenseOutput dense;
  std::unique_ptr<ConstrainedPart> constrained_part;  ///< index-3 form with given steps only
  std::unique_ptr<solve::Manifold> manifold;          ///< projected form only
  Vector x;                                           ///< of a projected step

  Machine(Session& s, int max_order, const solve::NewtonOptions& newton)
      : method(make_method(s, max_order)),
        closer(s.system, s.plan.formulation, newton, s.report.counters),
        history(s.system.space(), sizes(s), history_capacity(max_order)),
        trial(method::History::blank(s.system.space(), sizes(s))),
        start_up(s.system, s.report.counters, newton.linear_solver),
        parts(parts_of(s.system)),
        weight(s.system.space().nv()),
        dense(s.system.space(), s.system.pattern().rows()),
        x(s.system.space().nv()) {
    s.report.linear_solver = closer.linear_solver_name();
    if (s.plan.formulation == solve::Formulation::index3 && s.system.pattern().position_rows() > 0 && !s.plan.steps.empty())
      constrained_part = std::make_unique<ConstrainedPart>(s.system, s.report.counters, newton.linear_solver);
    if (s.plan.formulation == solve::Formulation::projected) {
      std::vector<solve::Invariant> invariants;
      for (const std::string& name : s.plan.options.conserved) invariants.push_back(solve::make_invariant(name, s.system));
      const ParameterValues& words = s.plan.options.method_parameters;
      manifold = std::make_unique<solve::Manifold>(
          s.system, s.report.counters,
          solve::ManifoldOptions{words.word("metric") == "mass" ? solve::Metric::mass : solve::Metric::euclidean,
                                 words.word("projection") == "joint", newton.linear_solver},
          std::move(invariants));
    }
  }

  /// Places the initial point; false when it has no accelerations and multipliers.
  [[nodiscard]] bool place_first(Session& s) {
    if (!start_up.place(s.plan.t0, s.start.q0, s.start.v0, trial)) {
      s.fail_start();
      return false;
    }
    history.push(trial);
    if (manifold != nullptr) manifold->set_levels(history[0].motion);
    if (s.is_first_segment()) s.report.energy_initial = s.system.energy(history[0].motion);
    return true;
  }

  /// Shows the points that the starter has put into the history, as many as a run of `steps` steps has. False: the run ends
  /// here.
  [[nodiscard]] bool show_starts(Session& s, long steps = std::numeric_limits<long>::max()) {
    for (int age = history.size() - 1; age >= 0; --age) {
      if (!show_start(s, history[age])) return false;
      if (s.points > steps) return false;
    }
    return true;
  }
  [[nodiscard]] bool show_start(Session& s, const method::Entry& entry) {
    // Between starting points the starter knows more than any polynomial through them.
    return s.accept(entry, true, [&](double t, method::Entry& out) {
      int age = 0;
      while (age < history.size() && history[age].motion.t > t) ++age;
      if (age == history.size() || !start_up.advance(history[age], t - history[age].motion.t, out)) return false;
      out.h = entry.h;
      return true;
    });
  }

  /// Moves the closed trial onto the manifolds, where the formulation asks for it. False: it cannot be done, as when the
  /// step was too large.
  [[nodiscard]] bool project(double h) {
    if (manifold == nullptr) return true;
    if (!manifold->project(trial.motion)) return false;
    method->space().difference(history[0].motion.q, trial.motion.q, trial.omega);
    x = trial.omega / h;
    method->record(x, trial);
    return true;
  }

  /// Projects the newest point where the options ask for it; v̇, λ and the memory of the method stay. False: it failed,
  /// and the report says so.
  [[nodiscard]] bool project_on_demand(Session& s) {
    const bool restarts = is_due_restart(s.plan.options);
    const bool moves_position = restarts || is_due(s.plan.options.project_position_at, history[0]);
    const bool moves_velocity = restarts || is_due(s.plan.options.project_velocity_at, history[0]);
    if (!moves_position && !moves_velocity) return true;
    method::Entry& newest = history.edit(0);
    if (!start_up.project(newest.motion, moves_position, moves_velocity)) {
      s.fail(Status::singular_matrix,
             fmt::format("at t = {:.10g} the projection asked for failed: [M B'; B 0] is singular there.\n  try: `kreisel check`", newest.motion.t));
      return false;
    }
    if (moves_position) method->space().difference(history[1].motion.q, newest.motion.q, newest.omega);
    return true;
  }

  /// Whether the method starts anew after a projection at the newest point, as at t0.
  [[nodiscard]] bool restarts_here(Session& s) {
    const lie::Motion& m = history[0].motion;
    if (!is_due_restart(s.plan.options) || m.t >= s.plan.t_end - 1e-9 * history[0].h) return false;
    s.restart_at(m.t, m.q, m.v);
    return true;
  }

  /// Shows the newest point and what is wanted of the step that led to it.
  [[nodiscard]] bool show_newest(Session& s, int order) {
    return s.accept(history[0], false, [&](double t, method::Entry& out) {
      if (history.size() < 2) return false;
      dense.evaluate(history, order + 1, t, out);
      return true;
    });
  }

 private:
  /// Whether one of the times lies in the step that ended at this point.
  static bool is_due(const std::vector<double>& times, const method::Entry& newest) {
    const double round_off = 1e-9 * newest.h, t = newest.motion.t;
    return std::any_of(times.begin(), times.end(),
                       [&](double wanted) { return wanted <= t + round_off && wanted > t - newest.h + round_off; });
  }
  bool is_due_restart(const Options& options) const {
    return options.restart == "corrected" &&
           (is_due(options.project_position_at, history[0]) || is_due(options.project_velocity_at, history[0]));
  }
  static std::unique_ptr<method::Method> make_method(Session& s, int max_order) {
    const Options& options = s.plan.options;
    return method::find_method(options.method)
        .make(s.system.space(), s.report.counters,
              {max_order, options.correction, options.own_correction ? &*options.own_correction : nullptr,
               options.method_parameters, is_given(options.steps)});
  }
  method::EntrySizes sizes(const Session& s) const {
    return {s.system.pattern().rows(), s.system.pattern().position_rows(), method->memory_size()};
  }
};

}  // namespace kreisel::run
