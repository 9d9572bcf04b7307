// The parts of a checkpoint of a run.
#pragma once

#include "base/archive.hpp"
#include "kreisel/report.hpp"
#include "kreisel/types.hpp"
#include "method/history.hpp"
#include "run/controller.hpp"
#include "solve/closer.hpp"
#include "solve/manifold.hpp"

namespace kreisel::run {

// Data must have the sizes that the reader has prepared: corrupt bytes must not cause access outside of vectors.

inline void exchange(Archive& a, lie::Motion& m) {
  a(m.t);
  for (Vector* x : {&m.q, &m.v, &m.a}) a.sized(*x);
}

/// Without the memory, which belongs to the method.
inline void exchange_shown(Archive& a, method::Entry& e) {
  exchange(a, e.motion);
  for (Vector* x : {&e.lambda, &e.eta, &e.omega}) a.sized(*x);
  a.all(e.h, e.order);
  bool has_work = e.work.has_value();
  a(has_work);
  if (has_work && !e.work) e.work.emplace();
  if (!has_work) e.work.reset();
  if (has_work) a.all(e.work->forces, e.work->drivers, e.work->dissipated);
}

inline void exchange(Archive& a, method::Entry& e) {
  exchange_shown(a, e);
  a.sized(e.memory);
}

/// Oldest first; a history that is read must be empty.
inline void exchange(Archive& a, method::History& history) {
  int size = history.size();
  a(size);
  a.require(size >= 1 && size <= history.capacity());
  for (int age = size - 1; age >= 0; --age) {
    if (!a.is_loading()) {
      exchange(a, history.edit(age));
      continue;
    }
    method::Entry entry = history.edit(0);  // blank
    exchange(a, entry);
    history.push(entry);
  }
}

/// Matrices are stored, not their factors: factorising them again gives the same factors.
inline void exchange(Archive& a, solve::Closer& closer) {
  solve::Closer::MatrixState state = closer.matrix_state();
  a.all(state.has_matrix, state.alpha, state.gamma, state.h, state.rate, state.turned, state.lambda_size,
        state.stiffness, state.vibration, state.slower_vibration, state.age, state.has_rate);
  a.sized(state.values);
  a(state.pivot_values);
  a.require(state.pivot_values.size() == 0 || state.pivot_values.size() == state.values.size());
  if (a.is_loading()) closer.restore(state);
}

/// The cost of recomputing the matrix is not counted.
inline void exchange(Archive& a, solve::Manifold* manifold, Counters& counters) {
  if (manifold == nullptr) return;
  solve::Manifold::State state = manifold->state();
  a.all(state.is_made, state.has_matrix);
  a.sized(state.levels);
  exchange(a, state.made_at);
  const Counters before = counters;
  if (a.is_loading()) manifold->restore(state);
  counters = before;
}

inline void exchange(Archive& a, Controller& controller) {
  Controller::State state = controller.state();
  a.all(state.h, state.order, state.steps_since_change, state.failures, state.last_error, state.is_starting,
        state.is_leaping, state.former_order, state.former_step);
  a.require(state.h > 0.0 && controller.allows(state.order));
  a.require(state.former_order == 0 || (state.former_step > 0.0 && controller.allows(state.former_order)));
  if (a.is_loading()) controller.restore(state);
}

inline void exchange(Archive& a, system::Start& start) {
  a.all(start.t0, start.t_end);
  a.sized(start.q0);
  a.sized(start.v0);
}

inline void exchange(Archive& a, Counters& c) {
  a.all(c.steps, c.rejected_steps, c.newton_iterations, c.residual_evaluations, c.jacobian_evaluations,
        c.factorizations, c.exponentials, c.brackets);
}

inline void exchange(Archive& a, Occurrence& o) {
  a.all(o.event, o.action, o.t, o.ends_the_run);
  exchange_shown(a, o.before);
  exchange_shown(a, o.after);
}

/// Everything that accumulates during a run; `blank` has the sizes of results. The last point is set at the end.
inline void exchange(Archive& a, Report& r, const method::Entry& blank) {
  exchange(a, r.counters);
  a.all(r.order, r.steps_at_order, r.rejected_by_error, r.rejected_by_newton, r.position_max, r.velocity_max,
        r.energy_initial, r.energy_error, r.work.forces, r.work.drivers, r.work.dissipated, r.solve_seconds,
        r.linear_solver, r.corners);
  a(r.events, [&](Archive& archive, Occurrence& o) {
    if (archive.is_loading()) o.before = o.after = blank;
    exchange(archive, o);
  });
  a(r.warnings, [](Archive& archive, std::string& text) { archive(text); });
}

}  // namespace kreisel::run
