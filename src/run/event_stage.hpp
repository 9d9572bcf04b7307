// Events on accepted steps: which occur, and whether the run can continue after them.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "events.hpp"
#include "recorder.hpp"
#include "row_map.hpp"
#include "step_policy.hpp"

namespace kreisel::run {

/// Events at one time of which at least one changes the motion or ends the run.
struct Happening {
  double t = 0.0;
  std::vector<Crossing> crossings;
  std::vector<const system::Event*> events;  ///< whose actions are carried out; without those of limits
  std::vector<bool> touched{};               ///< by limit; empty: none
  bool changes = false, ends = false;
  std::string ended_by{};
};

class EventStage {
 public:
  EventStage(const std::vector<system::Event>& asked, double tolerance, double span, std::string_view linear_solver,
             Recorder& recorder, Observer& observer)
      : asked_(asked),
        tolerance_(tolerance),
        span_(span),
        recorder_(recorder),
        observer_(observer),
        contacts_(span, linear_solver) {}

  /// `rows` must outlive the segment, which lasts from t0 to t_end at most.
  void begin_segment(const system::System& system, ResultRows& rows, int layout_rows, double segment_span);
  /// The first point of the segment.
  void open(const method::Entry& first);
  /// Searches the step that ended at `stepper.now()`. Events that change nothing are recorded; the search stops at the first
  /// other ones.
  std::variant<std::monostate, Happening, Failure> cross(Stepper& stepper);
  /// Compares both sides of a corner, where t, λ and v̇ jump from those of `stepper.now()` to those of `behind`. Events there get
  /// the time of `behind`.
  std::variant<std::monostate, Happening, Failure> cross_corner(const method::Entry& behind);
  void note(const Crossing& crossing, const method::Entry& before, const method::Entry& after, bool ends_the_run);
  /// Outcomes of limits.
  void note(const Settled::Outcome& contact, double t, const method::Entry& before, const method::Entry& after);
  Contacts& contacts() { return contacts_; }
  const system::Event& event_of(const Crossing& crossing) const { return watch_->event(crossing.event); }
  /// Null: none has that name.
  const system::Event* event(std::string_view name) const { return watch_ != nullptr ? watch_->event(name) : nullptr; }
  const std::string& called(const Crossing& crossing) const { return watch_->event(crossing.event).name; }
  /// Nothing, or why the events would trigger repeatedly.
  std::optional<Failure> settle(const Happening& happening, const Changed& changed);
  method::Entry& scratch() { return scratch_; }
  /// At the end of a run: warns of events that did not happen although their function was zero at the start.
  void end();

  /// State kept over all segments, and state of one segment.
  void exchange(Archive& a) {
    a.all(sides_, counts_, changes_, last_contact_, contacts_in_place_, has_begun_, zero_at_start_);
    contacts_.exchange(a);
  }
  void exchange_segment(Archive& a) {
    watch_->exchange(a);
    contacts_.exchange_segment(a);
  }

 private:
  bool changes(const Crossing& crossing) const;
  bool is_terminal(const Crossing& crossing) const;
  /// Of the next occurrence: 1, 2, …
  int number_of(const system::Event& event) const;
  int side_after(const Crossing& crossing, const method::Entry& after);
  Happening group_from(std::size_t first) const;
  Failure without_end(const Crossing& crossing) const;

  const std::vector<system::Event>& asked_;
  double tolerance_;
  double span_;  ///< of the whole run
  Recorder& recorder_;
  Observer& observer_;
  EventWatch::Sides sides_;                         ///< of the events that began this segment
  std::map<std::string, int, std::less<>> counts_;  ///< occurrences by event
  bool has_begun_ = false;                          ///< the first point of the run has been seen
  EventWatch::Sides zero_at_start_;                 ///< of the run
  std::set<std::string> undefined_;                 ///< events whose function was not a number
  std::vector<double> changes_;                     ///< times of the events that changed something
  std::unique_ptr<EventWatch> watch_;
  ResultRows* rows_ = nullptr;
  method::Entry scratch_;
  std::vector<Crossing> crossings_;
  double look_ahead_ = 0.0;
  Contacts contacts_;
  double last_contact_ = -std::numeric_limits<double>::infinity();
  int contacts_in_place_ = 0;  ///< number of contacts at that time
};

}  // namespace kreisel::run
