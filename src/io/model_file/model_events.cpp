#include "io/model_file/model_events.hpp"

#include "kreisel/error.hpp"
#include "lie/so3.hpp"
#include "solve/impose.hpp"

namespace kreisel::io {
namespace {

/// The value of a formula; accelerations are not available in events.
double value_of(const multibody::Assembly& assembly, const multibody::Outputs& when, double t, const Vector& q,
                const Vector& v, const Vector& lambda) {
  thread_local lie::Motion m;
  thread_local Vector value(1);
  m.t = t;
  m.q = q;
  m.v = v;
  m.a.setZero(v.size());
  assembly.evaluate(when, m, lambda, value);
  return value[0];
}

std::shared_ptr<const system::System> switched(const multibody::Assembly& from, const ModelEvent& event,
                                               const std::shared_ptr<const std::vector<ModelEvent>>& events) {
  std::vector<bool> active = from.active();
  for (const std::string& name : event.off) active[static_cast<std::size_t>(from.element_named(name))] = false;
  for (const std::string& name : event.on) active[static_cast<std::size_t>(from.element_named(name))] = true;
  std::shared_ptr<multibody::Assembly> next = from.with(std::move(active));
  set_events(*next, events);
  return next;
}

/// The values of formulas of t, q and v, which need neither λ nor accelerations.
Vector values_of(const multibody::Assembly& assembly, const multibody::Outputs& values, double t, const Vector& q,
                 const Vector& v) {
  Vector out(values.program().results());
  lie::Motion m(assembly.space());
  m.t = t;
  m.q = q;
  m.v = v;
  const Vector no_lambda = Vector::Zero(assembly.pattern().rows());
  assembly.evaluate(values, m, no_lambda, out);
  if (!out.allFinite()) throw InvalidInput("one of its formulas is not finite there");
  return out;
}

/// The rate of a gap is n v + g_t.
Vector normal_of(const multibody::Assembly& assembly, const multibody::Outputs& rate, const std::vector<int>& between,
                 double t, const Vector& q) {
  Vector v = Vector::Zero(assembly.space().nv()), n = v;
  const double at_rest = values_of(assembly, rate, t, q, v)[0];
  for (const int body : between) {
    if (body == multibody::ground) continue;
    const lie::Block& block = assembly.space().blocks()[static_cast<std::size_t>(body)];
    for (int i = block.v_at; i < block.v_at + block.nv; ++i) {
      v[i] = 1.0;
      n[i] = values_of(assembly, rate, t, q, v)[0] - at_rest;
      v[i] = 0.0;
    }
  }
  return n;
}

void set_states(const multibody::Assembly& assembly, const ModelEvent& event, double t, Vector& q, const Vector& v) {
  const Vector values = values_of(assembly, *event.values, t, q, v);
  for (std::size_t i = 0; i < event.states.size(); ++i)
    q[assembly.space().blocks()[static_cast<std::size_t>(event.states[i])].q_at] = values[static_cast<Eigen::Index>(i)];
}

void set_velocities(const multibody::Assembly& assembly, const ModelEvent& event, double t, const Vector& q,
                    Vector& v) {
  system::Motion m(assembly.space());
  m.t = t;
  m.q = q;
  m.v = v;
  Counters counters;
  const std::string problem = solve::impose(assembly, m, velocity_rows(assembly, event.velocities, q),
                                            values_of(assembly, *event.values, t, q, v), counters);
  if (!problem.empty()) throw InvalidInput(problem);
  v = m.v;
}

}  // namespace

Matrix velocity_rows(const multibody::Assembly& assembly, const std::vector<ModelEvent::Velocity>& velocities,
                     const Vector& q) {
  Matrix S = Matrix::Zero(3 * static_cast<Eigen::Index>(velocities.size()), assembly.space().nv());
  for (std::size_t i = 0; i < velocities.size(); ++i) {
    const lie::Block& block = assembly.space().blocks()[static_cast<std::size_t>(velocities[i].body)];
    const bool turns = !velocities[i].is_angular && block.group == lie::GroupId::se3;
    S.block<3, 3>(3 * static_cast<Eigen::Index>(i), block.v_at + (velocities[i].is_angular ? 3 : 0)) =
        turns ? lie::rotation_matrix(q.data() + block.q_at + 3) : Matrix3(Matrix3::Identity());
  }
  return S;
}

void set_events(multibody::Assembly& assembly, std::shared_ptr<const std::vector<ModelEvent>> events) {
  std::vector<system::Event> list;
  for (const ModelEvent& event : *events) {
    system::Event out;
    out.name = event.name;
    out.direction = event.direction;
    out.terminal_after = event.terminal_after;
    out.acts_from = event.acts_from;
    out.function = [own = &assembly, when = event.when](double t, const Vector& q, const Vector& v,
                                                        const Vector& lambda) {
      return value_of(*own, *when, t, q, v, lambda);
    };
    switch (event.action) {
      case ModelEvent::Action::record:
        break;
      case ModelEvent::Action::impact:
        out.action = system::Impact{.restitution = event.restitution};
        if (event.rate != nullptr)
          std::get<system::Impact>(out.action).normal = [own = &assembly, rate = event.rate, between = event.between](
                                                            double t, const Vector& q) {
            return normal_of(*own, *rate, between, t, q);
          };
        break;
      case ModelEvent::Action::switches:
        out.action = system::Switch{[own = &assembly, events, at = list.size()](double, const Vector&, const Vector&) {
          return switched(*own, (*events)[at], events);
        }};
        break;
      case ModelEvent::Action::sets:
        out.action = system::Jump{[own = &assembly, events, at = list.size()](double t, Vector& q, Vector& v) {
                                    set_states(*own, (*events)[at], t, q, v);
                                  },
                                  "set"};
        break;
      case ModelEvent::Action::restarts:
        out.action = system::Jump{[](double, Vector&, Vector&) {}, "touch"};
        break;
      case ModelEvent::Action::touches:
        out.action = system::Jump{[own = &assembly, force = event.force, gap = event.gap](
                                      double, Vector& q, Vector& v) { own->touch(force, gap, v, q); },
                                  "touch"};
        break;
      case ModelEvent::Action::jumps:
        out.action = system::Jump{[own = &assembly, events, at = list.size()](double t, Vector& q, Vector& v) {
          set_velocities(*own, (*events)[at], t, q, v);
        }};
        break;
    }
    if (event.given) out.action = *event.given;
    list.push_back(std::move(out));
  }
  assembly.set_events(std::move(list));
  assembly.set_events_of_copies([events](multibody::Assembly& copy) { set_events(copy, events); });
}

}  // namespace kreisel::io
