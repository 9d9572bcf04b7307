#include "tape.hpp"

#include <fmt/format.h>

#include <utility>

namespace kreisel::run {

class Tape::Writer final : public StepPolicy {
 public:
  Writer(std::unique_ptr<StepPolicy> own, Tape& tape, std::size_t spell)
      : own_(std::move(own)), tape_(tape), spell_(spell) {}

  StartingPoints begin(const Stepper& stepper) override { return spell().start = own_->begin(stepper); }
  Failure failure_of_start(const Stepper& stepper) const override { return own_->failure_of_start(stepper); }
  void stop_at(double t) override { own_->stop_at(t); }
  bool ends_at_stop() const override { return own_->ends_at_stop(); }
  std::variant<Proposal, Failure> next(const Stepper& stepper) override {
    std::variant<Proposal, Failure> proposal = own_->next(stepper);
    if (const auto* p = std::get_if<Proposal>(&proposal)) asked_ = *p;
    return proposal;
  }
  Verdict judge(Attempt& attempt, Stepper& stepper) override { return own_->judge(attempt, stepper); }
  Failure failure(const Attempt& attempt, const Stepper& stepper) const override {
    return own_->failure(attempt, stepper);
  }
  void committed(const Attempt& attempt) override {
    spell().steps.push_back(
        {.t = asked_.t, .h = asked_.h, .order = asked_.order, .ends_at_stop = own_->ends_at_stop()});
    own_->committed(attempt);
  }
  std::optional<Failure> complaint(const Stepper& stepper) override { return own_->complaint(stepper); }
  std::optional<double> crawl() override { return own_->crawl(); }
  std::optional<double> restart(const Stepper& stepper) const override {
    const std::optional<double> after = own_->restart(stepper);
    if (!tape_.spells_[spell_].steps.empty()) tape_.spells_[spell_].steps.back().restart = after;
    return after;
  }
  void exchange(Archive& a) override { own_->exchange(a); }

 private:
  Spell& spell() { return tape_.spells_[spell_]; }

  std::unique_ptr<StepPolicy> own_;
  Tape& tape_;
  std::size_t spell_;
  Proposal asked_;
};

class Tape::Reader final : public StepPolicy {
 public:
  Reader(std::unique_ptr<StepPolicy> own, Tape& tape, std::size_t spell, const Plan& plan, const system::System& system)
      : own_(std::move(own)), tape_(tape), spell_(spell), corners_(system, plan.options, plan.t0, plan.t_end) {}

  StartingPoints begin(const Stepper& stepper) override {
    static_cast<void>(own_->begin(stepper));
    return is_there() ? tape_.spells_[spell_].start : StartingPoints{};
  }
  Failure failure_of_start(const Stepper& stepper) const override { return own_->failure_of_start(stepper); }
  std::variant<Proposal, Failure> next(const Stepper& stepper) override {
    if (!is_there() || number_ >= steps().size())
      return Failure{
          Status::step_too_small,
          fmt::format("at t = {:.10g} the recorded steps end: the neighbouring motion takes a different path",
                      stepper.now().motion.t)};
    const Step& step = steps()[number_];
    const double t = stepper.now().motion.t;
    stop_ = step.ends_at_stop ? corners_.ahead(t, step.h * (1.0 + 1e-3)) : Stop{};
    const double end = stop_.is_corner ? stop_.t : step.t;
    const double h = step.ends_at_stop ? end - t : step.h;
    if (!(h > 0.0))
      return Failure{
          Status::step_too_small,
          fmt::format("at t = {:.10g} a recorded step has zero length: the neighbouring motion is too far away", t)};
    return Proposal{step.ends_at_stop ? end : t + h, h, step.order};
  }
  Verdict judge(Attempt& attempt, Stepper&) override {
    return attempt.outcome == Outcome::accepted ? Verdict::accept : Verdict::give_up;
  }
  Failure failure(const Attempt& attempt, const Stepper& stepper) const override {
    return own_->failure(attempt, stepper);
  }
  void committed(const Attempt&) override { tape_.used_[spell_] = ++number_; }
  std::optional<double> restart(const Stepper&) const override {
    if (number_ == 0 || !steps()[number_ - 1].restart) return {};
    return stop_.is_corner ? stop_.after : steps()[number_ - 1].restart;
  }
  std::optional<double> crawl() override {
    return number_ > 0 && steps()[number_ - 1].hands_over ? std::optional(steps()[number_ - 1].h) : std::nullopt;
  }
  void exchange(Archive&) override {}

 private:
  bool is_there() const { return spell_ < tape_.spells_.size(); }
  const std::vector<Step>& steps() const { return tape_.spells_[spell_].steps; }

  std::unique_ptr<StepPolicy> own_;
  Tape& tape_;
  std::size_t spell_, number_ = 0;
  Corners corners_;
  Stop stop_;  ///< where the last step ends, if it is a given time
};

std::unique_ptr<StepPolicy> Tape::policy_for(std::unique_ptr<StepPolicy> own, const Plan& plan,
                                             const system::System& system) {
  if (!plan.has_error_control()) return own;
  if (is_followed_) {
    used_.push_back(0);
    return std::make_unique<Reader>(std::move(own), *this, next_spell_++, plan, system);
  }
  if (!spells_.empty() && spells_.back().method != plan.method->name && !spells_.back().steps.empty())
    spells_.back().steps.back().hands_over = true;
  spells_.push_back({.method = plan.method->name, .start = {}, .steps = {}});
  return std::make_unique<Writer>(std::move(own), *this, spells_.size() - 1);
}

bool Tape::was_followed_to_the_end() const {
  if (used_.size() != spells_.size()) return false;
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (used_[i] != spells_[i].steps.size()) return false;
  return true;
}

}  // namespace kreisel::run
