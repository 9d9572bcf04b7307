// Inputs of a mechanism: numbers that laws read, and that a run may set.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "multibody/signal.hpp"
#include "system/inputs.hpp"

namespace kreisel::multibody {

struct Input {
  system::InputInfo info;
  Signal value{};  ///< unless it is set
};

/// The inputs of one assembly. What a run sets belongs to the run.
class InputValues {
 public:
  InputValues(const std::vector<Input>& inputs, std::shared_ptr<const system::SetInputs> set)
      : inputs_(inputs), set_(std::move(set)) {
    for (const Input& input : inputs) {
      is_constant_.push_back(input.value.is_constant());
      constants_.push_back(is_constant_.back() ? input.value.at(0.0).value : 0.0);
      is_table_.push_back(std::isfinite(input.value.span().first));
    }
  }

  const std::shared_ptr<const system::SetInputs>& set() const { return set_; }
  /// The value, its rate or its curve.
  double at(int input, double t, int derivative) const {
    const auto i = static_cast<std::size_t>(input);
    if (set_ != nullptr)
      if (const double* value = set_->find(input, t)) return derivative == 0 ? *value : 0.0;
    if (is_constant_[i]) return derivative == 0 ? constants_[i] : 0.0;
    const Jet jet = inputs_[i].value.at(t);
    return derivative == 0 ? jet.value : derivative == 1 ? jet.rate : jet.curve;
  }
  /// Values that were set, and points of tables, but no corners of formulas: a method that restarts at rest would end its first step at
  /// the next corner, and may find the same value there, as behind a bump.
  system::Corner next_corner(double t, double until, double resolution) const {
    system::Corner first = set_ != nullptr ? set_->next_corner(t, until) : system::Corner();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!is_table_[i] || (set_ != nullptr && set_->is_set(static_cast<int>(i)))) continue;
      first = earlier(first, inputs_[i].value.next_corner(t, until, 0, resolution));
    }
    return first;
  }

 private:
  const std::vector<Input>& inputs_;  ///< of the mechanism
  std::shared_ptr<const system::SetInputs> set_;
  std::vector<bool> is_constant_, is_table_;
  std::vector<double> constants_;
};

}  // namespace kreisel::multibody
