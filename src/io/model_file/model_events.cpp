#include "io/model_file/model_events.hpp"

namespace kreisel::io {
namespace {

/// The value of a formula; accelerations are not known to events.
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

}  // namespace

void set_events(multibody::Assembly& assembly, std::shared_ptr<const std::vector<ModelEvent>> events) {
  std::vector<system::Event> list;
  for (const ModelEvent& event : *events) {
    system::Event out;
    out.name = event.name;
    out.direction = event.direction;
    out.terminal_after = event.terminal_after;
    out.function = [own = &assembly, when = event.when](double t, const Vector& q, const Vector& v,
                                                        const Vector& lambda) {
      return value_of(*own, *when, t, q, v, lambda);
    };
    switch (event.action) {
      case ModelEvent::Action::record:
        break;
      case ModelEvent::Action::impact:
        out.action = system::Impact{.restitution = event.restitution};
        break;
      case ModelEvent::Action::switches:
        out.action = system::Switch{[own = &assembly, events, at = list.size()](double, const Vector&, const Vector&) {
          return switched(*own, (*events)[at], events);
        }};
        break;
    }
    list.push_back(std::move(out));
  }
  assembly.set_events(std::move(list));
  assembly.set_events_of_copies([events](multibody::Assembly& copy) { set_events(copy, events); });
}

}  // namespace kreisel::io
