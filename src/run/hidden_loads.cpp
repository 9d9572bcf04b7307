#include "run/hidden_loads.hpp"

#include <algorithm>
#include <array>

#include "run/contacts.hpp"

namespace kreisel::run {
namespace {

/// In parts of the step; unequal, so that no period fits all of them.
constexpr std::array<double, 5> places{0.0, 0.23, 0.5, 0.81, 1.0};
/// Their fourth divided difference is f⁗h⁴/24; a cubic through four points of the step misses f by up to f⁗h⁴/1944.
constexpr double error_of_cubic = 24.0 / 1944.0;

constexpr double weight_of(std::size_t i) {
  double product = 1.0;
  for (std::size_t j = 0; j < places.size(); ++j)
    if (j != i) product *= places[i] - places[j];
  return error_of_cubic / product;
}

}  // namespace

HiddenLoads::HiddenLoads(const system::System& system, double rtol)
    : system_(system),
      is_watching_(has_closed_limits(system)),
      tolerance_(std::clamp(1000.0 * rtol, 1e-5, 1e-2)),
      moved_(system.space()),
      residual_(system.space().nv(), system.pattern().position_rows(), system.pattern().rows()),
      load_(Vector::Zero(system.space().nv())),
      change_(load_),
      difference_(load_),
      carried_(load_) {
  const auto is_held = [&](const Part& part) {
    return std::ranges::any_of(system.pattern().touches(), [&](const system::Pattern::Touch& touch) {
      const lie::Block& block = system.space().blocks()[static_cast<std::size_t>(touch.block)];
      return part.v_at >= block.v_at && part.v_at < block.v_at + block.nv;
    });
  };
  for (const Part& part : parts_of(system))
    if (part.kind == system::CoordinateKind::dynamic && is_held(part)) parts_.push_back(part);
}

double HiddenLoads::resolved(const lie::Motion& now, ConstVectorRef lambda, double h) {
  if (!is_watching_) return h;
  constexpr int most_halvings = 40;
  for (int n = 0; n < most_halvings; ++n, h *= 0.5) {
    const Course whole = course(now, lambda, h);
    if (whole == Course::constant) return h;
    // Five samples of many periods may lie on a cubic by chance; those of the half and of the quarter do not as well.
    if (whole == Course::cubic && course(now, lambda, 0.5 * h) != Course::unknown &&
        course(now, lambda, 0.25 * h) != Course::unknown)
      return h;
  }
  return h;
}

HiddenLoads::Course HiddenLoads::course(const lie::Motion& now, ConstVectorRef lambda, double h) {
  constexpr double round_off = 1e-11;  // of the loads
  moved_ = now;
  const auto load_at = [&](double t, Vector& out) {
    moved_.t = t;
    system_.residual(moved_, lambda, residual_);
    out = residual_.force;
  };
  // Forces and torques: loads, what constraints carry of them, their change in the step, what a cubic misses of it.
  struct Sizes {
    double load = 0.0, carried = 0.0, change = 0.0, missed = 0.0;
  };
  std::array<Sizes, 2> sizes;
  const auto measure = [&](const Vector& x, double Sizes::*size) {
    for (const Part& part : parts_) {
      double& largest = sizes[part.q_at < 0 ? 1 : 0].*size;
      largest = std::max(largest, x.segment(part.v_at, part.n).norm());
    }
  };
  load_at(now.t, load_);
  difference_.setZero();
  for (std::size_t i = 1; i < places.size(); ++i) {
    load_at(now.t + places[i] * h, change_);
    change_ -= load_;
    difference_ += weight_of(i) * change_;
    measure(change_, &Sizes::change);
  }
  measure(difference_, &Sizes::missed);
  if (sizes[0].change == 0.0 && sizes[1].change == 0.0) return Course::constant;
  system_.constraint_force(now, lambda, carried_);
  measure(carried_, &Sizes::carried);
  carried_ -= load_;
  measure(carried_, &Sizes::load);
  const bool is_cubic = std::ranges::all_of(sizes, [&](const Sizes& s) {
    return s.missed <= tolerance_ * std::max(s.carried, s.change) + round_off * s.load;
  });
  return is_cubic ? Course::cubic : Course::unknown;
}

}  // namespace kreisel::run
