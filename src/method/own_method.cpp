#include "kreisel/own_method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "method/catalogue.hpp"
#include "method/differences.hpp"
#include "method/method.hpp"

namespace kreisel::method {

const Entry& OwnMethod::past(int age) const {
  if (history_ == nullptr || age < 0 || age >= history_->size())
    throw InvalidInput(fmt::format("the method uses past point {}, but there are {}; points_needed sets their number",
                                   age, history_ == nullptr ? 0 : history_->size()));
  return (*history_)[age];
}

void OwnMethod::position(const Vector& x, Vector& q) {
  const Vector omega = h_ * x;
  space_->move(past(0).motion.q, omega, q);
}

/// The step map for the closer; derivatives by differences of x.
class OwnMethodAdapter final : public Method {
 public:
  OwnMethodAdapter(const lie::Space& space, Counters& counters, std::unique_ptr<OwnMethod> own)
      : Method(space, counters), own_(std::move(own)) {
    own_->space_ = &space;
    for (Vector* v : {&x_, &v_, &a_, &moved_v_, &moved_a_, &way_}) v->setZero(space.nv());
    q_.setZero(space.nq());
    moved_q_ = q_;
    scratch_.setZero(space.nv());
  }

  int points_needed(int) const override { return own_->points_needed(); }
  void begin_step(const History& history, double h, int) override {
    history_ = own_->history_ = &history;
    h_ = own_->h_ = h;
    own_->begin_step();
    differences_.build(history, own_->points_needed(), h, [](const Entry& e) -> const Vector& { return e.motion.v; });
  }
  void guess(VectorRef x) override {
    differences_.extrapolate(differences_.points(), scratch_);
    x = 0.5 * (scratch_ + (*history_)[0].motion.v);
  }
  void position(ConstVectorRef x, VectorRef q) override {
    x_ = x;
    own_->position(x_, q_);
    ++counters().exponentials;
    check(q_, space_.nq(), "position");
    q = q_;
  }
  void velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) override {
    evaluate(x, v_, a_);
    trial.v = v_ + dv;
    // v̇ follows v by ∂v̇/∂v = (∂v̇/∂x)/(∂v/∂x).
    trial.a = a_ + rate_of_shift(x) * dv;
  }
  void linearize(ConstVectorRef x, MotionTangent& out) override {
    out.has_blocks = true;
    out.v_dv = 1.0;
    out.a_dv = rate_of_shift(x);
    out.q_x.setZero();
    out.v_x_blocks.setZero(space_.block_diagonal_size());
    out.a_x_blocks.setZero(space_.block_diagonal_size());
    evaluate(x, v_, a_);
    x_ = x;
    own_->position(x_, q_);
    const double step = 1e-6 * std::max(1.0, x.lpNorm<Eigen::Infinity>());
    for (const lie::Block& block : space_.blocks())
      for (int j = 0; j < block.nv; ++j) {
        x_ = x;
        x_[block.v_at + j] += step;
        own_->position(x_, moved_q_);
        own_->velocity(x_, moved_v_, moved_a_);
        space_.difference(q_, moved_q_, way_);
        const auto put = [&](Vector& blocks, const Vector& change) {
          MatrixMap(blocks.data() + block.matrix_at, block.nv, block.nv).col(j) =
              change.segment(block.v_at, block.nv) / step;
        };
        put(out.q_x, way_);
        way_ = moved_v_ - v_;
        put(out.v_x_blocks, way_);
        way_ = moved_a_ - a_;
        put(out.a_x_blocks, way_);
      }
  }
  void record(ConstVectorRef x, Entry& entry) override {
    Method::record(x, entry);
    space_.difference((*history_)[0].motion.q, entry.motion.q, entry.omega);
  }

 private:
  void evaluate(ConstVectorRef x, Vector& v, Vector& a) {
    x_ = x;
    own_->velocity(x_, v, a);
    check(v, space_.nv(), "velocity");
    check(a, space_.nv(), "acceleration");
  }
  /// Along v itself: exact for linear multistep methods.
  double rate_of_shift(ConstVectorRef x) {
    const double step = 1e-3 * std::max(1.0, x.lpNorm<Eigen::Infinity>());
    evaluate(x, v_, a_);
    x_ = x;
    x_.array() += step;
    own_->velocity(x_, moved_v_, moved_a_);
    const double way = (moved_v_ - v_).sum();
    return way != 0.0 ? (moved_a_ - a_).sum() / way : 0.0;
  }
  static void check(const Vector& values, int size, const char* what) {
    if (values.size() != size)
      throw InvalidInput(
          fmt::format("the method returned {} numbers for the {}, expected {}", values.size(), what, size));
  }

  std::unique_ptr<OwnMethod> own_;
  Differences differences_;
  Vector x_, v_, a_, q_, moved_v_, moved_a_, moved_q_, way_;
};

void register_method(const OwnMethodInfo& info) {
  if (!info.make) throw InvalidInput(fmt::format("method '{}' has no 'make' function", info.name));
  if (info.order < 1 || info.order > 6)
    throw InvalidInput(fmt::format("method '{}' has order {}, expected 1 to 6", info.name, info.order));
  MethodInfo entry;
  entry.name = info.name;
  entry.summary = info.summary;
  entry.min_order = entry.max_order = entry.default_order = info.order;
  entry.has_order_choice = false;
  entry.formulations = info.formulations;
  if (std::ranges::count(entry.formulations, "ode") == 0) entry.formulations.insert(entry.formulations.begin(), "ode");
  entry.make = [make = info.make, name = info.name](const lie::Space& space, Counters& counters, const MethodRequest&) {
    std::unique_ptr<OwnMethod> own = make();
    if (own == nullptr) throw InvalidInput(fmt::format("method '{}': 'make' returned nothing", name));
    if (own->points_needed() < 1 || own->points_needed() > 6)
      throw InvalidInput(fmt::format("method '{}' needs {} past points, expected 1 to 6", name, own->points_needed()));
    return std::make_unique<OwnMethodAdapter>(space, counters, std::move(own));
  };
  register_method(std::move(entry));
}

}  // namespace kreisel::method
