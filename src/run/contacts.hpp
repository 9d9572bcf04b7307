// Limits at one instant: impacts, which limits close and which open.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "kreisel/event.hpp"
#include "method/history.hpp"
#include "solve/kkt.hpp"
#include "system/limits.hpp"

namespace kreisel::run {

bool has_closed_limits(const system::System& system);

/// The effect of limits at one point.
struct Settled {
  struct Outcome {
    std::string limit, action;  ///< "impact", "close" or "open"
  };
  std::shared_ptr<const system::System> system;  ///< null: the same
  std::vector<bool> closed;                      ///< valid from here on
  std::vector<Outcome> outcomes;                 ///< empty: nothing happened
  std::string problem;                           ///< non-empty: why it failed
};

/// Follows the limits of a run. An impact is solved for all limits that are touched at its instant,
///
///     M (v⁺ - v⁻) + Bᵀp = Nᵀs,   B v⁺ + Φ_t = 0,   0 ≤ ġ⁺ + e min(ġ⁻, 0) ⟂ s ≥ 0   (Moreau 1988),
///
/// and contacts at rest stay closed where their force is compressive: 0 ≤ g̈ ⟂ μ ≥ 0. Rebounds form a geometric sequence; where
/// its remainder can no longer be distinguished from rest, the limit closes.
class Contacts {
 public:
  /// `span` of the whole run.
  Contacts(double span, std::string_view linear_solver) : span_(span), linear_solver_(linear_solver) {}

  /// The functions whose falling zeros are contacts, one per active limit: the gap of an open one, the contact force of a closed
  /// one. They refer to this object and to the system, for one segment.
  void begin_segment(const system::System& system, Counters& counters);
  const std::vector<system::Event>& events() const { return events_; }
  /// By number of its event.
  int limit(int event) const { return numbers_[static_cast<std::size_t>(event)]; }
  int limit_count() const { return limited_ == nullptr ? 0 : limited_->limit_count(); }
  /// The gap of an open limit may begin with a small error on the wrong side. `repeated`: contacts so far at this time. Where a
  /// contact force vanishes smoothly the gap opens like (t - t₀)³, less at first than what interpolation is wrong by: each
  /// repetition widens what counts as zero.
  void open(const method::Entry& first, int repeated = 0);
  /// The end of a step in which a limit is touched: what `open` measures a repetition by.
  void reach(const method::Entry& newest);
  /// An open limit that the point lies beyond; -1: none.
  int passed(const method::Entry& entry) const;
  const std::string& name(int limit) const { return limited_->limit_name(limit); }

  /// `touched` by limit: those whose function has its zero here. The entry must be consistent; it is not projected again.
  Settled settle(const system::System& system, method::Entry& entry, const std::vector<bool>& touched,
                 Counters& counters);
  /// The same at the start of a run. Throws InvalidInput when a limit is violated there.
  Settled settle_start(const system::System& system, method::Entry& entry, Counters& counters);

  /// State kept over all segments, and state of one segment.
  void exchange(Archive& a);
  void exchange_segment(Archive& a) {
    const std::size_t count = dead_.size();
    a.all(dead_, firmest_);
    a.require(dead_.size() == count && firmest_.size() == count);
  }

 private:
  double push_of(int limit, double t, const Vector& q, const Vector& v, const Vector& lambda);
  /// Multipliers that the equations give for q and v; false: none.
  bool solve_multipliers(double t, const Vector& q, const Vector& v, const Vector& lambda);

  double span_;
  std::string linear_solver_;
  std::map<std::string, double, std::less<>> fastest_, firmest_of_all_;  ///< approach and force so far, by limit
  const system::LimitedSystem* limited_ = nullptr;                       ///< of the segment; null: it has no limits
  std::vector<system::Event> events_;
  std::vector<int> numbers_;
  std::vector<double> reach_;    ///< by limit: its gap where that step would have ended
  std::vector<double> dead_;     ///< by limit: gaps of this size are zero
  std::vector<double> firmest_;  ///< by limit: largest contact force so far
  std::unique_ptr<solve::Kkt> kkt_;
  lie::Motion motion_;
  lie::Motion solved_;  ///< where lambda_ is valid
  bool is_solved_ = false;
  Vector lambda_;
};

}  // namespace kreisel::run
