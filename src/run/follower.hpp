// What derivatives of a run are told while it runs.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "contacts.hpp"
#include "event_stage.hpp"
#include "plan.hpp"
#include "stepper.hpp"

namespace kreisel::run {

class Follower {
 public:
  virtual ~Follower() = default;

  /// Why the derivatives are not known from here on; empty: they are.
  const std::string& obstacle() const { return obstacle_; }
  bool is_going() const { return obstacle_.empty(); }
  void stop(std::string why) {
    if (obstacle_.empty()) obstacle_ = std::move(why);
  }

  // ---- called by the run, in this order

  /// A method has started.
  virtual void begin(std::shared_ptr<const system::System> system, const Plan& plan, const Options& options,
                     bool ends_at_corner, const Stepper& stepper, const StartingPoints& wanted) = 0;
  /// The next starting point is the newest.
  virtual void show_start(const Stepper& stepper) = 0;
  /// The trial has been accepted and is not yet part of the past.
  virtual void take(Stepper& stepper, const Proposal& proposal, bool ends_at_stop) = 0;
  /// The accepted trial is now part of the past.
  virtual void committed(const Stepper& stepper) = 0;
  /// The step is cut at an event; `before` is the consistent point there.
  virtual void cut(Stepper& stepper, const Happening& happening, const system::Event& first,
                   const method::Entry& before) = 0;
  /// The point after the event.
  virtual void change(const Happening& happening, const Changed& changed) = 0;
  /// The method restarts at that time; the consistent point there is `behind`.
  virtual void pass_corner(const Stepper& stepper, double after, const method::Entry& behind) = 0;

 private:
  std::string obstacle_;
};

}  // namespace kreisel::run
