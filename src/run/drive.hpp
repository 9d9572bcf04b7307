// The only loop: policy, attempt, judge, commit, events, recorder, output, checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/workers.hpp"
#include "event_stage.hpp"
#include "identity.hpp"
#include "kreisel/problem.hpp"
#include "output.hpp"
#include "recorder.hpp"
#include "step_policy.hpp"
#include "system/inputs.hpp"
#include "tape.hpp"

namespace kreisel::run {

class Follower;

/// The system of the run: prepared for its start and owned, or the given one and not owned.
std::shared_ptr<const system::System> made_ready(const system::System& system, const system::Start& start,
                                                 const Options& options);

/// A run that is advanced step by step. A segment lasts from a consistent start to t_end, or to an event or projection after
/// which the method restarts as at t0; most runs have one.
class Drive {
 public:
  /// Options have been checked. The system and the observer must outlive it. With the bytes of a checkpoint it resumes there,
  /// or throws InvalidInput when they belong to another run. `inputs`: values set by its user, see `go_on_behind`. `tape`:
  /// records the steps, or prescribes them. `follower`: receives what derivatives need. `is_open`: t_end is only a scale, and
  /// the run goes on behind it.
  Drive(const system::System& system, const system::Start& start, const Options& options, Observer& observer,
        std::optional<std::string_view> checkpoint = {}, std::shared_ptr<system::SetInputs> inputs = nullptr,
        Tape* tape = nullptr, Follower* follower = nullptr, bool is_open = false);
  ~Drive();

  /// To the next accepted point. False: the run has ended, see the report.
  bool step();
  /// Of times, relative to the largest.
  static constexpr double round_off = 1e-14;
  /// Given steps end where they do: a time that is asked for as near to one of their ends as this means the end. Durations that a
  /// program adds up differ by the round-off of many steps.
  double slack() const;
  /// Until the newest point is at t or later, or the run has ended. `stops`: up to round-off, and under error control a step ends
  /// at t.
  void advance_to(double t, bool stops = false);
  /// The time from which inputs set now apply: after the newest point, or at the first point if it has not been shown yet.
  double first_time_behind() const;
  /// After inputs were set at that time.
  void go_on_behind(double t);
  bool has_ended() const { return has_ended_; }

  const Report& report() const { return report_; }
  Stepper& stepper() { return *segment_->stepper; }
  /// The active event of that name; null: none.
  const system::Event* event(std::string_view name) const { return events_.event(name); }
  /// The newest accepted point, in the rows of the active system.
  const method::Entry& now() const { return segment_->stepper->now(); }
  /// Where the newest step began: before an event that ended it, not after.
  double newest_step_began() const;
  /// The motion within the newest step, in the rows of results. False: t is not within it, or it cannot be computed.
  [[nodiscard]] bool at(double t, State& out);
  /// Everything the run needs to continue with bitwise equal results, and the time requested by its user.
  std::string checkpoint(double asked);
  /// Requested time in the checkpoint that the run resumed from; else t0.
  double asked() const { return asked_; }

 private:
  struct Segment {
    Segment(std::shared_ptr<const system::System> in_force, const system::Start& from, const Options& options,
            const system::System& layout, Counters& counters, bool ends_at_corner);

    std::shared_ptr<const system::System> system;
    system::Start start;
    Plan plan;
    ResultRows rows;
    std::unique_ptr<Stepper> stepper;
    std::unique_ptr<StepPolicy> policy;
    bool is_open = false;  ///< its first point has been seen
  };

  [[nodiscard]] bool choose_corners(const Plan& plan, const system::System& system);
  /// Makes the segment and, unless it comes from a checkpoint, its starting points.
  void begin_segment(std::shared_ptr<const system::System> system, const system::Start& start,
                     Archive* state = nullptr);
  void begin_at_limits(const system::Start& start);
  /// Of an open run: moves the end of its segment further away; its past and its steps stay.
  void lengthen();
  void exchange_run(Archive& a);
  void exchange_segment(Archive& a);
  [[nodiscard]] bool take_step();
  [[nodiscard]] bool open();
  /// For a run that ends at max_steps, as a line of its message; empty: unknown.
  std::string cause_of_short_steps() const;
  [[nodiscard]] bool attempt();
  [[nodiscard]] bool project_on_demand();
  /// Events, measures, output and checkpoint of the newest point.
  [[nodiscard]] bool take();
  /// Switches to radau if its steps are far longer than `crawl`.
  [[nodiscard]] bool give_way(double crawl);
  /// Warns if radau would take such steps, but another method was requested.
  void tell_of_crawl(double crawl);
  /// Tries some steps of radau: how long one may be, where that is far longer than `crawl`, else 0.
  [[nodiscard]] double step_of_radau(const system::Start& from, double crawl);
  Options options_with(std::string_view method) const;
  /// The method restarts after a corner, or continues if allowed and it has no past.
  [[nodiscard]] bool start_behind(double after, bool may_go_on = false);
  /// The step is cut at the first events that change something.
  [[nodiscard]] bool change(const Happening& happening);
  [[nodiscard]] bool fits_together(const method::Entry& entry);
  [[nodiscard]] bool show(const method::Entry& entry);
  /// Shows the requested points before t of the entry, or up to and including it.
  [[nodiscard]] bool show_wanted(const method::Entry& entry, bool includes_entry);
  void set_final(const method::Entry& entry, const system::Residual& residual);
  bool restarts_here() const;
  bool is_due(const std::vector<double>& times, double t, double h) const;

  bool fail(Failure failure);
  bool interrupt(double t);
  bool end();

  const Options options_;
  bool has_told_of_crawl_ = false;
  std::string method_in_force_;  ///< differs from the requested one after a switch to radau
  const system::Start first_start_;
  double asked_;
  Report report_;
  std::shared_ptr<const system::System> first_system_;
  const Identity identity_;
  const system::System& layout_;  ///< names the rows of results
  Observer& observer_;
  Recorder recorder_;
  Output output_;
  EventStage events_;
  std::vector<Switched> switches_;  ///< that led to the present system
  int segment_number_ = 0;
  bool ends_at_corners_ = false;                 ///< constant steps do; error control finds corners during the run
  std::unique_ptr<Segment> segment_, previous_;  ///< the one before ends in the newest step until another is taken
  std::optional<Workers> workers_;
  std::shared_ptr<system::SetInputs> inputs_;  ///< null: no inputs are set
  Tape* tape_;                                 ///< null: none
  Follower* follower_;                         ///< null: none
  const bool is_open_;
  long steps_at_setting_ = 0;      ///< taken when an input was set last
  int short_spells_ = 0;           ///< between settings, that began with a restart
  bool has_started_anew_ = false;  ///< since inputs were set
  bool is_behind_jump_ = false;    ///< no step since the jump, and the past was kept
  double wanted_;                  ///< requested end of a step
  method::Entry between_;          ///< an interpolated point for output
  bool has_final_ = false;         ///< an event has already set the last point of the report
  bool has_ended_ = false;
  double start_up_seconds_ = 0.0;  ///< CPU time of all begin_segment
};

}  // namespace kreisel::run
