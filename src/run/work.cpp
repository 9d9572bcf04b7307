#include "run/work.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "coeff/bdf_variable.hpp"

namespace kreisel::run {
namespace {

/// Gauss-Legendre on [0, 1], exact to degree 5.
constexpr std::array<double, 3> three_nodes{0.11270166537925831, 0.5, 0.88729833462074169};
constexpr std::array<double, 3> three_weights{5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};

/// Kinks of one coordinate in a step that are looked at, halvings that find one, and parts of the interval between two.
constexpr int most_breaks = 16, halvings = 30, panels = 2;
/// A kink at the last point, up to this part of the step, belongs to the next step.
constexpr double at_begin = 1e-9;

const system::KinkedSystem* kinked(const system::System& system) {
  const auto* with_kinks = dynamic_cast<const system::KinkedSystem*>(&system);
  return with_kinks == nullptr || with_kinks->kink_count() == 0 ? nullptr : with_kinks;
}

}  // namespace

void WorkMeter::find_breaks(const system::System& system, const method::Entry& entry, Interpolant interpolate) {
  breaks_.clear();
  const system::KinkedSystem* of = kinked(system);
  if (of == nullptr) return;
  const double begin = t_[0], end = entry.motion.t;
  kinks_.swap(kinks_before_);
  kinks_.resize(of->kink_count());
  of->kinks(entry.motion, kinks_);
  if (kinks_before_.size() != kinks_.size() || !(begin < end)) {
    between_ = entry;
    kinks_between_.resize(kinks_.size());
    breaks_.reserve(static_cast<std::size_t>(most_breaks * kinks_.size() + 1));
    return;
  }
  for (int i = 0; i < kinks_.size(); ++i) {
    const double to = kinks_[i];
    double from = kinks_before_[i] - at_begin * (to - kinks_before_[i]), left = begin;
    for (int n = 0; n < most_breaks && std::isfinite(from) && std::isfinite(to); ++n) {
      const std::optional<double> knot = of->knot_between(i, from, to);
      if (!knot) break;
      if (breaks_.empty()) {  // the sizes, after a resume too, and whatever interpolation leaves as it is
        between_ = entry;
        kinks_between_.resize(kinks_.size());
      }
      double right = end;
      for (int k = 0; k < halvings; ++k) {
        const double middle = 0.5 * (left + right);
        if (!interpolate(middle, between_)) return breaks_.clear();
        of->kinks(between_.motion, kinks_between_);
        ((kinks_between_[i] - *knot) * (to - *knot) > 0.0 ? right : left) = middle;
      }
      breaks_.push_back(right);
      from = *knot;
      left = right;
    }
  }
  std::sort(breaks_.begin(), breaks_.end());
}

Work WorkMeter::between_breaks(const system::System& system, const method::Entry& entry, Interpolant interpolate) {
  Work work;
  breaks_.push_back(entry.motion.t);
  double left = t_[0];
  for (const double right : breaks_) {
    const double width = (right - left) / panels;
    for (int panel = 0; panel < panels; ++panel)
      for (std::size_t g = 0; g < three_nodes.size(); ++g)
        if (interpolate(left + (panel + three_nodes[g]) * width, between_))
          work.add(three_weights[g] * width, system.power(between_.motion, between_.lambda));
    left = right;
  }
  return work;
}

void WorkMeter::push(const system::System& system, const method::Entry& entry, Interpolant interpolate) {
  if (!entry.work && count_ == 0 && system.is_conservative()) return;
  find_breaks(system, entry, interpolate);
  if (!breaks_.empty()) {
    before_ = now();
    base_ = Work(before_).add(1.0, between_breaks(system, entry, interpolate));
    broken_from_ = t_[0];
    from_ = t_[0] = entry.motion.t;
    if (entry.work) {
      before_ = Work(base_).add(-1.0, *entry.work);  // points within the step share the difference
    } else {
      power_[0] = system.power(entry.motion, entry.lambda);
      count_ = 1;
    }
    return;
  }
  if (entry.work) {
    before_ = base_;
    base_.add(1.0, *entry.work);
    t_[0] = entry.motion.t;
    return;
  }
  if (count_ > 0 && entry.motion.t == t_[0]) {  // an event at the first point of a segment
    power_[0] = system.power(entry.motion, entry.lambda);
    return;
  }
  if (count_ == capacity) {
    base_ = now();
    from_ = t_[0];
  }
  if (count_ == 0) from_ = entry.motion.t;
  count_ = std::min(count_ + 1, capacity);
  std::copy_backward(t_.begin(), t_.begin() + count_ - 1, t_.begin() + count_);
  std::copy_backward(power_.begin(), power_.begin() + count_ - 1, power_.begin() + count_);
  t_[0] = entry.motion.t;
  power_[0] = system.power(entry.motion, entry.lambda);
}

void WorkMeter::begin_anew(const system::System& system, const method::Entry& entry, double energy_before) {
  base_ = now();
  if (const double loss = energy_before - system.energy(entry.motion); std::isfinite(loss)) base_.dissipated += loss;
  count_ = 0;
  broken_from_ = entry.motion.t;
  kinks_.resize(0);
  push(system, entry, [](double, method::Entry&) { return false; });
}

Work WorkMeter::at(double t) const {
  Work work = base_;
  if (count_ == 1 && t < t_[0] && broken_from_ < t_[0] && t >= broken_from_) {
    const double part = (t - broken_from_) / (t_[0] - broken_from_);
    return Work(before_).add(part, base_).add(-part, before_);
  }
  if (count_ < 2) return work;
  const double span = t - from_;
  std::array<double, capacity> nodes{}, weight{};
  for (int i = 0; i < count_; ++i) nodes[i] = t_[i] - from_;
  for (std::size_t g = 0; g < three_nodes.size(); ++g) {
    coeff::derivative_weights(std::span<const double>(nodes.data(), count_), three_nodes[g] * span, 0, weight);
    for (int i = 0; i < count_; ++i) work.add(three_weights[g] * span * weight[i], power_[i]);
  }
  return work;
}

}  // namespace kreisel::run
