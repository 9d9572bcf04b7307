// The accepted points of a run as its derivatives backwards need them.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "follower.hpp"
#include "implicit_stepper.hpp"

namespace kreisel::run {

/// What is known of a method between two of its starts.
struct Spell {
  long first = 0;  ///< number of its first point
  int starts = 1;  ///< points made by the starting procedure
  std::shared_ptr<const system::System> system;
  Plan plan;
  Options options;
  bool ends_at_corner = false;
  StartingPoints wanted;
};

/// Points are numbered over the whole run; the first one of a spell after another is the same point behind a corner.
class Recording final : public Follower {
 public:
  struct Point {
    method::Entry entry;
    Vector closed_lambda;  ///< with which the equations of the step were solved, if λ was computed anew; else empty
    bool ends_at_stop = false;  ///< its step
  };

  /// `next`: number of the next point; of a run from a checkpoint the number that follows it.
  Recording(std::vector<Spell>& spells, long next) : spells_(spells), next_(next), oldest_(next) {}

  long next() const { return next_; }
  /// The number of the point that the observer sees now.
  long shown() const { return shown_; }
  std::size_t bytes() const { return bytes_; }
  const Point& point(long number) const { return points_[static_cast<std::size_t>(number - oldest_)]; }
  /// All points but the newest, which the next steps need.
  void forget(int newest);

  void begin(std::shared_ptr<const system::System> system, const Plan& plan, const Options& options,
             bool ends_at_corner, const Stepper& stepper, const StartingPoints& wanted) override;
  void show_start(const Stepper&) override { ++shown_; }
  void take(Stepper& stepper, const Proposal& proposal, bool ends_at_stop) override;
  void committed(const Stepper& stepper) override;
  void cut(Stepper& stepper, const Happening& happening, const system::Event& first,
           const method::Entry& before) override;
  void change(const Happening&, const Changed&) override {}
  void pass_corner(const Stepper&, double, const method::Entry&) override { shown_ = next_; }

 private:
  void push(Point point);
  static std::size_t bytes_of(const Point& point);

  std::vector<Spell>& spells_;
  std::deque<Point> points_;
  long next_, oldest_, shown_ = 0;
  std::size_t bytes_ = 0;
  Vector lambda_;  ///< of the trial
  bool ends_at_stop_ = false;
};

}  // namespace kreisel::run
