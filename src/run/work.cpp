#include "run/work.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "coeff/bdf_variable.hpp"

namespace kreisel::run {
namespace {

/// Gauss-Legendre on [0, 1], exact to degree 5.
constexpr std::array<double, 3> gauss_node{0.11270166537925831, 0.5, 0.88729833462074169};
constexpr std::array<double, 3> gauss_weight{5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};

}  // namespace

void WorkMeter::push(const system::System& system, const method::Entry& entry) {
  if (entry.work) {
    before_ = base_;
    base_.add(1.0, *entry.work);
    return;
  }
  if (count_ == 0 && system.is_conservative()) return;
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
  push(system, entry);
}

Work WorkMeter::at(double t) const {
  Work work = base_;
  if (count_ < 2) return work;
  const double span = t - from_;
  std::array<double, capacity> nodes{}, weight{};
  for (int i = 0; i < count_; ++i) nodes[i] = t_[i] - from_;
  for (std::size_t g = 0; g < gauss_node.size(); ++g) {
    coeff::derivative_weights(std::span<const double>(nodes.data(), count_), gauss_node[g] * span, 0, weight);
    for (int i = 0; i < count_; ++i) work.add(gauss_weight[g] * span * weight[i], power_[i]);
  }
  return work;
}

}  // namespace kreisel::run
