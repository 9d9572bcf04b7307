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

class Forward;

/// The system as the run has it: prepared for its start, or as it is, and then not owned.
std::shared_ptr<const system::System> made_ready(const system::System& system, const system::Start& start,
                                                 const Options& options);

/// A run that is advanced step by step. A segment lasts from a consistent start to t_end, or to an event or projection after
/// which the method restarts as at t0; most runs have one.
class Drive {
 public:
  /// Options have been checked. The system and the observer must outlive it. With the bytes of a checkpoint it resumes there,
  /// or throws InvalidInput when they belong to another run. `inputs`: what its user sets, see `go_on_behind`. `tape`: keeps the
  /// steps, or says which to take. `forward`: is told what derivatives need.
  Drive(const system::System& system, const system::Start& start, const Options& options, Observer& observer,
        std::optional<std::string_view> checkpoint = {}, std::shared_ptr<system::SetInputs> inputs = nullptr,
        Tape* tape = nullptr, Forward* forward = nullptr);
  ~Drive();

  /// To the next accepted point. False: the run has ended and the report says how.
  bool step();
  /// Of times, relative to the largest.
  static constexpr double round_off = 1e-14;
  /// Until the newest point is at t or later, or the run has ended. `stops`: up to round-off, and under error control a step ends
  /// at t.
  void advance_to(double t, bool stops = false);
  /// From when on inputs that are set now are in force: behind the newest point, or at the first one as long as nobody has seen it.
  double first_time_behind() const;
  /// After inputs were set at that time.
  void go_on_behind(double t);
  bool has_ended() const { return has_ended_; }

  const Report& report() const { return report_; }
  Stepper& stepper() { return *segment_->stepper; }
  /// That may happen now, by name; null: none.
  const system::Event* event(std::string_view name) const { return events_.event(name); }
  /// The newest accepted point, in the rows of the system in force.
  const method::Entry& now() const { return segment_->stepper->now(); }
  /// Where the newest step began: before an event that ended it, not after.
  double newest_step_began() const;
  /// The motion within the newest step, in the rows of results. False: t is not within it, or it cannot be computed.
  [[nodiscard]] bool at(double t, State& out);
  /// Everything the run needs to go on with the same bits, and the time that its user has asked for.
  std::string checkpoint(double asked);
  /// Of the checkpoint that the run went on from; else t0.
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
  void exchange_run(Archive& a);
  void exchange_segment(Archive& a);
  [[nodiscard]] bool take_step();
  [[nodiscard]] bool open();
  /// Of a run that ends for the number of its steps, as a line of its message; empty: unknown.
  std::string cause_of_short_steps() const;
  [[nodiscard]] bool attempt();
  [[nodiscard]] bool project_on_demand();
  /// Events, measures, output and checkpoint of the newest point.
  [[nodiscard]] bool take();
  /// Hands the run over to radau where that takes steps far longer than `crawl`.
  [[nodiscard]] bool give_way(double crawl);
  /// Warns where radau would take such steps, but another method was asked for.
  void tell_of_crawl(double crawl);
  /// Tries some steps of radau: how long one may be, where that is far longer than `crawl`, else 0.
  [[nodiscard]] double step_of_radau(const system::Start& from, double crawl);
  Options options_with(std::string_view method) const;
  /// The method restarts behind a corner, or continues if it may and has no past.
  [[nodiscard]] bool start_behind(double after, bool may_go_on = false);
  /// The step is cut at the first events that change something.
  [[nodiscard]] bool change(const Happening& happening);
  [[nodiscard]] bool fits_together(const method::Entry& entry);
  [[nodiscard]] bool show(const method::Entry& entry);
  /// Shows what is wanted before t of the entry, or until and at it.
  [[nodiscard]] bool show_wanted(const method::Entry& entry, bool includes_entry);
  void set_final(const method::Entry& entry, const system::Residual& residual);
  bool restarts_here() const;
  bool is_due(const std::vector<double>& times, double t, double h) const;

  bool fail(Failure failure);
  bool interrupt(double t);
  bool end();

  const Options options_;
  bool has_told_of_crawl_ = false;
  std::string method_in_force_;  ///< another than asked for once that has given way
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
  std::vector<Switched> switches_;  ///< how the system in force came about
  int segment_number_ = 0;
  bool ends_at_corners_ = false;                 ///< constant steps do; error control finds corners on its way
  std::unique_ptr<Segment> segment_, previous_;  ///< the one before ends in the newest step until another is taken
  std::optional<Workers> workers_;
  std::shared_ptr<system::SetInputs> inputs_;  ///< null: nobody sets any
  Tape* tape_;                                 ///< null: none
  Forward* forward_;                           ///< null: none
  long steps_at_setting_ = 0;                  ///< taken when an input was set last
  int short_spells_ = 0;                       ///< between settings, that began with a start anew
  bool has_started_anew_ = false;              ///< since inputs were set
  bool is_behind_jump_ = false;                ///< no step has been taken since, and the past was kept
  double wanted_;                              ///< where a step shall end
  method::Entry between_;                      ///< an interpolated point on its way out
  bool has_final_ = false;                     ///< the report has its last point already: an event put it there
  bool has_ended_ = false;
  double start_up_seconds_ = 0.0;  ///< CPU time of all begin_segment
};

}  // namespace kreisel::run
