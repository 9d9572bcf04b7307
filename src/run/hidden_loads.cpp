#include "run/hidden_loads.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

#include "run/contacts.hpp"

namespace kreisel::run {
namespace {

/// In parts of the step; unequal, so that no period fits all of them.
constexpr std::array<double, 5> places{0.0, 0.23, 0.5, 0.81, 1.0};

/// Divided differences of order d + 1 over some of the places, f^(d+1) h^(d+1)/(d+1)!, times what interpolation of degree d misses
/// for a difference of one: by a polynomial through d + 1 points of the step, or through its ends and points before it.
struct Weights {
  std::array<double, places.size()> of{};

  constexpr Weights(std::initializer_list<std::size_t> used, double missed) {
    for (const std::size_t i : used) {
      double product = 1.0;
      for (const std::size_t j : used)
        if (j != i) product *= places[i] - places[j];
      of[i] = missed / product;
    }
  }
};
constexpr Weights within{{0, 1, 2, 3, 4}, 24.0 / 1944.0};  // a cubic
constexpr std::array behind{Weights{{0, 2, 4}, 0.25}, Weights{{0, 1, 3, 4}, 0.385}, Weights{{0, 1, 2, 3, 4}, 1.0}};

}  // namespace

HiddenLoads::HiddenLoads(const system::System& system, double rtol, double atol)
    : system_(system),
      has_closed_limits_(run::has_closed_limits(system)),
      rtol_(rtol),
      atol_(atol),
      tolerance_(std::clamp(100.0 * rtol, 1e-6, 1e-3)),
      moved_(system.space()),
      residual_(system.space().nv(), system.pattern().position_rows(), system.pattern().rows()),
      load_(Vector::Zero(system.space().nv())),
      change_(load_),
      difference_(load_),
      other_(load_),
      carried_(load_) {
  const auto is_held = [&](const Part& part) {
    return std::ranges::any_of(system.pattern().touches(), [&](const system::Pattern::Touch& touch) {
      const lie::Block& block = system.space().blocks()[static_cast<std::size_t>(touch.block)];
      return part.v_at >= block.v_at && part.v_at < block.v_at + block.nv;
    });
  };
  for (const Part& part : parts_of(system))
    if (part.kind == system::CoordinateKind::dynamic && is_held(part)) held_.push_back(part);
  parts_ = held_;
}

/// Bodies that move by less than the tolerances. Parts of a body follow each other.
bool HiddenLoads::find_resting(const lie::Motion& now, double h) {
  const auto moves = [&](const Part& part) {
    const double size = part.q_at < 0 ? 1.0 : now.q.segment(part.q_at, part.n).norm();
    return h * now.v.segment(part.v_at, part.n).norm() + h * h * now.a.segment(part.v_at, part.n).norm() >
           atol_ + rtol_ * size;
  };
  before_.swap(parts_);
  parts_.clear();
  for (auto first = held_.begin(); first != held_.end();) {
    const int body = first->body_at;
    const auto end =
        body < 0 ? first + 1 : std::find_if(first, held_.end(), [&](const Part& part) { return part.body_at != body; });
    if (std::none_of(first, end, moves)) parts_.insert(parts_.end(), first, end);
    first = end;
  }
  return !std::ranges::equal(parts_, before_, {}, &Part::v_at, &Part::v_at);
}

double HiddenLoads::resolved(const lie::Motion& now, ConstVectorRef lambda, double h, int degree) {
  constexpr int most_halvings = 20;  // what still cannot be followed is no smooth load
  // Loads that have not depended on time for so many steps, or could not be followed in them, are left alone until other bodies
  // rest, or the method restarts.
  constexpr int patience = 8;
  const double asked = h;
  if (!has_closed_limits_ && find_resting(now, h)) idle_ = 0;
  if (parts_.empty() || idle_ >= patience) return h;
  degree_ = degree;
  for (int n = 0; n < most_halvings; ++n, h *= 0.5) {
    const Course whole = course(now, lambda, h);
    if (whole == Course::constant) {
      ++idle_;
      return h;
    }
    // Samples of many periods may lie on a polynomial by chance; those of the half and of the quarter do not as well.
    if (whole == Course::followed && course(now, lambda, 0.5 * h) != Course::unknown &&
        course(now, lambda, 0.25 * h) != Course::unknown) {
      idle_ = 0;
      return h;
    }
  }
  ++idle_;
  return asked;
}

HiddenLoads::Course HiddenLoads::course(const lie::Motion& now, ConstVectorRef lambda, double h) {
  constexpr double round_off = 1e-11;  // of the loads
  moved_ = now;
  moved_.a.setZero();  // of the residual, which is zero, the loads
  const auto load_at = [&](double t, Vector& out) {
    moved_.t = t;
    system_.residual(moved_, lambda, residual_);
    out = residual_.force;
  };
  // Forces and torques: loads, what constraints carry of them, their change in the step, what interpolation misses of it.
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
  const Weights& other = degree_ == 0 ? within : behind[std::min<std::size_t>(degree_, behind.size()) - 1];
  difference_.setZero();
  other_.setZero();
  for (std::size_t i = 1; i < places.size(); ++i) {
    load_at(now.t + places[i] * h, change_);
    change_ -= load_;
    difference_ += within.of[i] * change_;
    other_ += other.of[i] * change_;
    measure(change_, &Sizes::change);
  }
  measure(difference_, &Sizes::missed);
  measure(other_, &Sizes::missed);
  if (sizes[0].change == 0.0 && sizes[1].change == 0.0) return Course::constant;
  system_.constraint_force(now, lambda, carried_);
  measure(carried_, &Sizes::carried);
  // Forces may vanish here, as where a limit opens: they are small beside what they were.
  for (const std::size_t i : {0, 1}) largest_[i] = sizes[i].carried = std::max(largest_[i], sizes[i].carried);
  carried_ -= load_;
  measure(carried_, &Sizes::load);
  const bool is_followed = std::ranges::all_of(sizes, [&](const Sizes& s) {
    // What accelerates a body that begins to move is seen by error control.
    const bool is_carried = s.carried > 1e-6 * (s.load + s.change);
    if (!has_closed_limits_ && !is_carried) return true;
    const double scale = has_closed_limits_ ? std::max(s.carried, s.change) : s.carried;
    return s.missed <= tolerance_ * scale + round_off * s.load;
  });
  return is_followed ? Course::followed : Course::unknown;
}

void HiddenLoads::exchange(Archive& a) {
  a.all(largest_[0], largest_[1], idle_);
  std::vector<int> at;
  for (const Part& part : parts_) at.push_back(part.v_at);
  a(at, [](Archive& archive, int& entry) { archive(entry); });
  if (!a.is_loading()) return;
  parts_.clear();
  for (const Part& part : held_)
    if (std::ranges::find(at, part.v_at) != at.end()) parts_.push_back(part);
  a.require(parts_.size() == at.size());
}

}  // namespace kreisel::run
