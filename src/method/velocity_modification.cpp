#include "method/velocity_modification.hpp"

#include <cmath>
#include <span>

#include "coeff/bliedf_defect.hpp"

namespace kreisel::method {
namespace {

/// Ratios that differ from 1 by less are equal steps with round-off.
constexpr double equal_steps = 1e-9;

}  // namespace

VelocityModification::VelocityModification(const lie::Space& space, DefectSource source)
    : source_(source),
      projected_(coeff::bdf_max_order + 1, Vector::Zero(space.nv())),
      derivative_(coeff::bdf_max_order + 1, Vector::Zero(space.nv())) {
  for (Vector* v : {&bracket_, &sum_}) v->setZero(space.nv());
}

bool VelocityModification::gather_steps(const History& history, double h, int k) {
  steps_[0] = h;
  bool are_equal = true;
  for (int i = 1; i < 2 * k; ++i) {
    const bool is_known = i - 1 < history.size() && history[i - 1].h > 0.0;
    steps_[i] = is_known ? history[i - 1].h : steps_[i - 1];
    are_equal = are_equal && std::abs(steps_[i] / h - 1.0) < equal_steps;
  }
  return !are_equal;
}

void VelocityModification::differentiate(const History& history, int k, ConstrainedPart& constrained) {
  std::array<double, coeff::bdf_max_order + 1> times{};
  for (int age = k; age >= 0; --age) {  // ends at q_n, where C is wanted afterwards
    times[age] = history.offset(age);
    constrained.move_to(history[age].motion);
    if (source_ == DefectSource::raw_as_printed)
      projected_[age] = history[age].motion.v;
    else
      constrained.project(history[age].motion, projected_[age]);
  }
  const int count = k + 1;
  std::array<double, (coeff::max_derivative_order + 1) * coeff::max_nodes> weights{};
  coeff::derivative_weights(std::span<const double>(times.data(), count), 0.0, k, weights);
  for (int m = 0; m <= k; ++m) {
    derivative_[m].setZero();
    for (int i = 0; i < count; ++i) derivative_[m] += weights[m * count + i] * projected_[i];
  }
}

void VelocityModification::add_to(Correction& correction, const History& history, double h, int k,
                                  const coeff::BdfCoefficients& bdf, ConstrainedPart& constrained,
                                  VectorRef acceleration) {
  if (history.size() <= k || !correction.has_defect(k) || !gather_steps(history, h, k)) return;
  differentiate(history, k, constrained);
  correction.defect_bracket(k, derivative_, bracket_);
  const auto steps_before = [&](int i) { return std::span<const double>(steps_.data() + i, steps_.size() - i); };
  double a = 0.0, b = 0.0;  // Σ γᵢ (l_{n+1-i} - l_{n-i}) = a v⁽ᵏ⁾ + b W
  for (int i = 1; i <= k; ++i) {
    if (source_ == DefectSource::as_printed && k <= 3) {
      const coeff::PrintedDefect printed = coeff::printed_defect_difference(k, steps_before(i - 1));
      a += bdf.gamma[i] * printed.derivative;
      b += bdf.gamma[i] * printed.bracket;
      continue;
    }
    a += bdf.gamma[i] * (coeff::bdf_defect(k, steps_before(i - 1)) - coeff::bdf_defect(k, steps_before(i)));
    b += bdf.gamma[i] *
         (correction.defect_weight(k, steps_before(i - 1)) - correction.defect_weight(k, steps_before(i)));
  }
  sum_ = (a / h) * derivative_[k] + (b / h) * bracket_;
  constrained.apply(sum_, sum_);
  acceleration -= sum_;
}

}  // namespace kreisel::method
