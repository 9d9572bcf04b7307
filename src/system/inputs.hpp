// Inputs that a run has set.
#pragma once

#include <algorithm>
#include <vector>

#include "base/archive.hpp"
#include "kreisel/system.hpp"

namespace kreisel::system {

/// Each value is a constant from its time on, until the next one. One run owns and writes it; its systems read it, at any time of
/// the run: results about the past stay valid.
class SetInputs {
 public:
  explicit SetInputs(std::size_t inputs) : of_(inputs) {}

  /// nullptr: not set by then.
  const double* find(int input, double t) const {
    const std::vector<Setting>& list = of_[static_cast<std::size_t>(input)];
    if (list.empty() || t < list.front().from) return nullptr;
    if (t >= list.back().from) return &list.back().value;
    const auto after =
        std::upper_bound(list.begin(), list.end(), t, [](double time, const Setting& s) { return time < s.from; });
    return &(after - 1)->value;
  }
  /// `from` is not before any other; a value of the same time is replaced.
  void set(int input, double from, double value) {
    std::vector<Setting>& list = of_[static_cast<std::size_t>(input)];
    if (list.empty() || list.back().from < from)
      list.push_back({from, value});
    else
      list.back().value = value;
  }
  bool is_set(int input) const { return !of_[static_cast<std::size_t>(input)].empty(); }
  /// The first time in (t, until) at which a value jumps.
  Corner next_corner(double t, double until) const {
    Corner first;
    for (const std::vector<Setting>& list : of_) {
      if (list.empty() || !(list.back().from > t)) continue;
      const auto next =
          std::upper_bound(list.begin(), list.end(), t, [](double time, const Setting& s) { return time < s.from; });
      if (next->from < until) first = earlier(first, {next->from, -1});
    }
    return first;
  }

  void exchange(Archive& a) {
    const std::size_t inputs = of_.size();
    a(of_, [](Archive& of_all, std::vector<Setting>& list) {
      of_all(list, [](Archive& each, Setting& s) { each.all(s.from, s.value); });
    });
    a.require(of_.size() == inputs);
  }

 private:
  struct Setting {
    double from = 0.0, value = 0.0;
  };
  std::vector<std::vector<Setting>> of_;
};

/// A system whose forces jump where inputs are set.
class SystemWithInputs {
 public:
  virtual ~SystemWithInputs() = default;

  /// By what forces that read inputs jump between m.t and t, a few units of round-off later, at (q, v, λ) of m.
  virtual void jump_of_force(const Motion& m, double t, ConstVectorRef lambda, VectorRef out) const = 0;
};

}  // namespace kreisel::system
