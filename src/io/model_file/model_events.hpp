// Events of a model file: zeros of formulas and what happens there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kreisel/event.hpp"
#include "multibody/assembly.hpp"
#include "multibody/law.hpp"

namespace kreisel::io {

struct ModelEvent {
  std::string name;
  std::shared_ptr<const multibody::Outputs> when;  ///< a number
  system::Direction direction = system::Direction::either;
  enum class Action { record, impact, switches, sets, jumps, restarts, touches } action = Action::record;
  double restitution = 1.0;
  std::vector<int> between{};                          ///< bodies that collide, where they are named
  std::shared_ptr<const multibody::Outputs> rate{};    ///< of the gap, with `between`
  std::vector<std::string> off{}, on{};                ///< joints and forces
  std::shared_ptr<const multibody::Outputs> values{};  ///< one of each state that is set, three of each velocity
  std::vector<int> states{};                           ///< nodes
  struct Velocity {
    int body = 0;
    bool is_angular = false;  ///< in the body frame; else inertial
  };
  std::vector<Velocity> velocities{};
  int force = 0, gap = 0;                 ///< that closes or opens
  int terminal_after = 0, acts_from = 1;  ///< as in system::Event
  std::optional<system::Action> given{};  ///< of a program, instead of `action`
};

/// The rows S of S v, three per velocity, at the rotations of q.
Matrix velocity_rows(const multibody::Assembly& assembly, const std::vector<ModelEvent::Velocity>& velocities,
                     const Vector& q);

/// Adds the events to the assembly; those that switch elements add the same events to the system they switch to.
void set_events(multibody::Assembly& assembly, std::shared_ptr<const std::vector<ModelEvent>> events);

}  // namespace kreisel::io
