// Zeros of event functions on accepted steps, and what events do to the motion.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "contacts.hpp"
#include "kreisel/system.hpp"
#include "kreisel/types.hpp"
#include "row_map.hpp"
#include "run/interpolant.hpp"

namespace kreisel::run {

struct Crossing {
  double t = 0.0;
  int event = 0;
  bool is_rising = false;
  bool is_at_once = false;  ///< the function never had the sign that it must leave zero with
  bool acts = false;        ///< the action of the event is carried out
};

/// Follows the signs of all event functions over one segment of a run.
class EventWatch {
 public:
  /// Side of zero by event name, for events that have just happened.
  using Sides = std::map<std::string, int, std::less<>>;

  /// `contacts` are the functions of limits, which are positive while a limit is respected.
  EventWatch(const system::System& system, const std::vector<system::Event>& asked,
             const std::vector<system::Event>& contacts, const RowMap& map, int layout_rows, double tolerance);

  bool is_idle() const { return events_.empty(); }
  const system::Event& event(int i) const { return *events_[i]; }
  const system::Event* event(std::string_view name) const {
    for (const system::Event* event : events_)
      if (event->name == name) return event;
    return nullptr;
  }
  /// False for events of the run, which outlive the system.
  bool is_own(int i) const { return static_cast<std::size_t>(i) < own_; }
  bool is_contact(int i) const { return static_cast<std::size_t>(i) >= contacts_at_; }
  /// Among all contacts.
  int contact(int i) const { return i - static_cast<int>(contacts_at_); }
  /// The time up to which the signs are known.
  double time() const { return t_; }
  void begin(const method::Entry& at, const Sides& sides, double look_ahead);
  /// Of all events, at time().
  Sides sides() const;
  /// Of events whose function was zero where the segment began: the side to which it goes, 0 where it stays zero.
  Sides at_zero() const;
  /// Sign changes in the direction of their event on the step that ended at `newest`, in the order of time.
  const std::vector<Crossing>& scan(const method::Entry& newest, Interpolant interpolate, method::Entry& scratch);
  /// The events whose functions were not numbers in the last scan, and when first.
  const std::vector<std::pair<int, double>>& undefined() const { return undefined_; }
  /// On which side of zero an event function is a little later: 1, -1, or 0 when it does not leave zero.
  int side_ahead(int event, const method::Entry& at, double look_ahead);
  double evaluate(int event, const method::Entry& at);
  /// Values up to this size are round-off of zero.
  double noise(int event) const { return 1e-9 * size_[event]; }
  double tolerance_at(double t) const;
  void exchange(Archive& a);

 private:
  struct Sample {
    double t = 0.0, g = 0.0;
  };

  void sample(const method::Entry& newest, Interpolant interpolate, method::Entry& scratch);
  double turn_in(const method::Entry& newest) const;
  bool is_resolved(int event) const;
  void refine(int event, Interpolant interpolate, method::Entry& scratch);
  void follow_dip(int event, Sample a, Sample b, Sample c, Interpolant interpolate, method::Entry& scratch);
  Crossing locate(int event, Sample left, Sample right, Interpolant interpolate, method::Entry& scratch);

  const system::System& system_;
  const RowMap& map_;
  double tolerance_;
  std::vector<const system::Event*> events_;
  std::size_t own_ = 0;          ///< the first ones belong to the system
  std::size_t contacts_at_ = 0;  ///< the last ones belong to limits
  std::vector<int> rotations_;   ///< offsets of angular velocities in v
  Vector layout_lambda_;
  double t_ = 0.0;
  std::vector<double> value_, size_;
  std::vector<int> side_;
  std::vector<std::vector<Sample>> samples_;
  std::vector<Sample> refined_;
  std::vector<Crossing> crossings_;
  std::vector<std::pair<int, double>> undefined_;
  method::Entry ahead_;
};

/// A change of the system, with its cause.
struct Switched {
  std::string event;  ///< empty: limits have closed or opened
  double t = 0.0;
  Vector q, v;
  std::string closed{};  ///< limits that are closed then, '1', and those that are not, '0'
};

/// The effect of a group of events at one time.
struct Changed {
  std::shared_ptr<const system::System> system;  ///< null: the same
  method::Entry after;             ///< consistent: Φ = 0, B v + Φ_t = 0, v̇ and λ from the index-1 equations
  std::vector<Switched> switches;  ///< that led to it
  std::vector<Settled::Outcome> contacts;
  std::string problem;  ///< non-empty: why it failed
};

/// Moves an interpolated point onto the constraints and gives it its v̇ and λ; a failure leaves them unchanged.
void make_consistent(const system::System& system, method::Entry& entry, Counters& counters,
                     std::string_view linear_solver);

/// The system that a switch leads to, prepared to continue from there.
std::shared_ptr<const system::System> next_system(const system::Switch& change, double t, const Vector& q,
                                                  const Vector& v);

/// The same with other limits closed.
std::shared_ptr<const system::System> with_closed(const system::System& system, const std::string& closed);

/// Onto the active constraints, with v̇ and λ; returns the problem, or empty.
[[nodiscard]] std::string settle_on(const system::System& system, method::Entry& entry, Counters& counters,
                                    std::string_view linear_solver);

/// Carries out the actions one after the other, and then the effects of the touched limits; `before` is consistent.
Changed carry_out(const std::vector<const system::Event*>& events, Contacts& contacts, const std::vector<bool>& touched,
                  const system::System& system, const method::Entry& before, Counters& counters,
                  std::string_view linear_solver);

}  // namespace kreisel::run
