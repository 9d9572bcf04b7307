// The steps chosen by error control, recorded so that another run can take the same steps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "step_policy.hpp"

namespace kreisel::run {

/// One run writes it, others read it: Bock's internal differentiation needs the same steps and orders for neighbouring
/// parameters (Bock 1981). Steps that ended at a given time end there again; those that ended at a corner or an event end at its
/// present time.
class Tape {
 public:
  struct Step {
    double t = 0.0, h = 0.0;
    int order = 1;
    bool ends_at_stop = false;
    std::optional<double> restart{};  ///< behind a corner
    bool hands_over = false;          ///< switches to radau
  };
  /// Steps between two starts of a method.
  struct Spell {
    std::string_view method;
    StartingPoints start;
    std::vector<Step> steps;
  };

  bool is_followed() const { return is_followed_; }
  /// Switches to reading, from the beginning.
  void rewind() {
    is_followed_ = true;
    next_spell_ = 0;
    used_.clear();
  }
  /// For the next segment of a run: the policy that writes, or the one that reads. Constant and given steps need no tape.
  std::unique_ptr<StepPolicy> policy_for(std::unique_ptr<StepPolicy> own, const Plan& plan,
                                         const system::System& system);
  /// Whether the run that read it took as many steps in every spell.
  bool was_followed_to_the_end() const;

 private:
  class Writer;
  class Reader;

  std::vector<Spell> spells_;
  std::vector<std::size_t> used_;  ///< steps that the reader has taken, per spell
  std::size_t next_spell_ = 0;
  bool is_followed_ = false;
};

}  // namespace kreisel::run
