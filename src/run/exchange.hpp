// What a checkpoint of a run consists of.
#pragma once

#include "kreisel/base/archive.hpp"
#include "kreisel/base/counters.hpp"
#include "kreisel/method/history.hpp"
#include "kreisel/run/controller.hpp"
#include "kreisel/run/report.hpp"
#include "kreisel/solve/closer.hpp"
#include "kreisel/solve/manifold.hpp"

namespace kreisel::run {

inline void exchange(Archive& a, lie::Motion& m) { a.all(m.t, m.q, m.v, m.a); }

inline void exchange(Archive& a, method::Entry& e) {
  exchange(a, e.motion);
  a.all(e.lambda, e.eta, e.omega, e.memory, e.h, e.order);
}

/// Oldest first; a history that is read must be empty.
inline void exchange(Archive& a, method::History& history) {
  int size = history.size();
  a(size);
  for (int age = size - 1; age >= 0; --age) {
    if (!a.is_loading()) {
      exchange(a, history.edit(age));
      continue;
    }
    method::Entry entry;
    exchange(a, entry);
    history.push(entry);
  }
}

/// Matrices are kept, not their factors: factorising them again gives the same ones.
inline void exchange(Archive& a, solve::Closer& closer) {
  solve::Closer::MatrixState state = closer.matrix_state();
  a.all(state.has_matrix, state.alpha, state.gamma, state.h, state.rate, state.age, state.values, state.pivot_values);
  if (a.is_loading()) closer.restore(state);
}

/// What it costs to make the matrix again is not counted.
inline void exchange(Archive& a, solve::Manifold* manifold, Counters& counters) {
  if (manifold == nullptr) return;
  solve::Manifold::State state = manifold->state();
  a.all(state.is_made, state.has_matrix, state.levels);
  exchange(a, state.made_at);
  const Counters before = counters;
  if (a.is_loading()) manifold->restore(state);
  counters = before;
}

inline void exchange(Archive& a, Controller& controller) {
  Controller::State state = controller.state();
  a.all(state.h, state.order, state.steps_since_change, state.failures, state.last_error, state.is_starting, state.is_leaping);
  if (a.is_loading()) controller.restore(state);
}

inline void exchange(Archive& a, system::Start& start) { a.all(start.t0, start.t_end, start.q0, start.v0); }

inline void exchange(Archive& a, system::Residual& residual) { a.all(residual.force, residual.gap, residual.rate); }

inline void exchange(Archive& a, Counters& c) {
  a.all(c.steps, c.rejected_steps, c.newton_iterations, c.residual_evaluations, c.jacobian_evaluations, c.factorizations,
        c.exponentials, c.brackets);
}

inline void exchange(Archive& a, Occurrence& o) {
  a.all(o.event, o.action, o.t, o.ends_the_run);
  exchange(a, o.before);
  exchange(a, o.after);
}

/// Everything that accumulates while a run lasts.
inline void exchange(Archive& a, Report& r) {
  exchange(a, r.counters);
  a.all(r.order, r.steps_at_order, r.rejected_by_error, r.rejected_by_newton, r.position_max, r.velocity_max, r.energy_initial,
        r.energy_error, r.work.forces, r.work.drivers, r.work.dissipated, r.solve_seconds, r.linear_solver);
  a(r.events, [](Archive& archive, Occurrence& o) { exchange(archive, o); });
  a(r.warnings, [](Archive& archive, std::string& text) { archive(text); });
  exchange(a, r.final);
  exchange(a, r.final_residual);
}

}  // namespace kreisel::run
