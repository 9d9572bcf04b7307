#include "analysis/inverse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "analysis/static_matrix.hpp"
#include "base/decompositions.hpp"
#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "system/consistency.hpp"
#include "system/dense.hpp"
#include "system/differences.hpp"
#include "system/inputs.hpp"

namespace kreisel::analysis {
namespace {

using system::CoordinateKind;
using system::Motion;
using system::System;

constexpr double singular = 1e-6;  ///< of the smallest singular value, relative to the largest

class Inversion {
 public:
  Inversion(const System& given, const system::Start& start, const InverseOptions& options)
      : options_(options),
        set_(std::make_shared<system::SetInputs>(given.inputs().size())),
        driven_(given.inputs().empty() ? nullptr : given.with_inputs(set_)),
        system_(driven_ != nullptr ? *driven_ : given),
        nv_(system_.space().nv()),
        rows_(system_.pattern().rows()),
        residual_(nv_, system_.pattern().position_rows(), rows_),
        motion_(system_.space()) {
    if (system_.pattern().position_rows() != rows_)
      throw InvalidInput("the model has nonholonomic constraints; their motion must be integrated, with kreisel run");
    motion_.t = start.t0;
    motion_.q = start.q0;
    length_ = system::length_scale(system_, motion_);
    scale_ = Vector::Ones(nv_);
    for (const lie::Block& block : system_.space().blocks())
      scale_.segment(block.v_at, lie::translations_of(block)).setConstant(length_);
    inputs_.resize(static_cast<Eigen::Index>(options.inputs.size()));
    for (std::size_t i = 0; i < options.inputs.size(); ++i) {
      inputs_[static_cast<Eigen::Index>(i)] = given.input_at(options.inputs[i], start.t0);
      put(static_cast<Eigen::Index>(i), inputs_[static_cast<Eigen::Index>(i)]);
    }
    outputs_.setZero(system_.output_size());
  }

  InverseMotion run() {
    motion_.t = options_.times.front();
    out_.is_complete = follow();
    return std::move(out_);
  }

 private:
  void put(Eigen::Index i, double value) {
    set_->set(options_.inputs[static_cast<std::size_t>(i)], -std::numeric_limits<double>::infinity(), value);
  }

  [[nodiscard]] bool follow() {
    if (!find_positions(motion_)) return fail("no positions satisfy the constraints and the prescribed motion");
    refuse_freedom();
    if (!find_velocities() || !balance()) return false;
    for (std::size_t i = 1; i < options_.times.size(); ++i)
      if (!go_to(options_.times[i]) || !balance()) return false;
    return true;
  }

  /// False. What was found before stays.
  bool fail(std::string_view message) {
    out_.message = fmt::format("at t = {:.10g}: {}", motion_.t, message);
    return false;
  }

  double output_at(const Vector& q, double t, std::size_t servo) {
    Motion m(system_.space());
    m.t = t;
    m.q = q;
    system_.evaluate_outputs(m, Vector(Vector::Zero(rows_)), outputs_);
    return outputs_[options_.servos[servo].output];
  }

  int servo_count() const { return static_cast<int>(options_.servos.size()); }

  /// Rows for (δq or v): constraints, servo constraints, and states that follow.
  void find_matrix(const Motion& at) {
    Motion m = at;
    m.v.setZero();
    m.a.setZero();
    system::KktBlocks blocks(system_.pattern());
    system_.linearize(m, Vector(Vector::Zero(rows_)), blocks);
    const std::vector<bool> follows = followers(system_, blocks);
    std::vector<int> states;
    const auto& factors = system_.space().blocks();
    for (std::size_t b = 0; b < factors.size(); ++b) {
      if (system_.pattern().kind(static_cast<int>(b)) == CoordinateKind::dynamic) continue;
      if (!follows[b])
        throw InvalidInput(
            fmt::format("'{}' has its own rate, which must be integrated; inverse dynamics handles positions only",
                        system_.pattern().block_name(static_cast<int>(b))));
      for (int i = 0; i < factors[b].nv; ++i) states.push_back(factors[b].v_at + i);
    }
    const Matrix D = system::dense_coupling(system_, blocks.D);
    matrix_.resize(rows_ + servo_count() + static_cast<Eigen::Index>(states.size()), nv_);
    matrix_.topRows(rows_) = system::dense_rows(system_, blocks.B);
    matrix_.bottomRows(static_cast<Eigen::Index>(states.size())) = D(states, Eigen::all);
    states_ = states;
    if (servo_count() == 0) return;
    const system::Columns along = [&](int j, double s) {
      Vector q(at.q.size()), x = Vector::Zero(nv_);
      x[j] = s;
      system_.space().move(at.q, x, q);
      Vector y(servo_count());
      for (std::size_t k = 0; k < options_.servos.size(); ++k) y[static_cast<Eigen::Index>(k)] = output_at(q, at.t, k);
      return y;
    };
    matrix_.middleRows(rows_, servo_count()) =
        system::differentiate(along, system::largest_steps(system::configuration_ranges(system_.space(), at.q)), 1e-9)
            .value;
  }

  /// Least norm where constraints are redundant; scaled to sizes of the mechanism and radians.
  Vector solved(const Vector& right) const {
    return scale_.cwiseProduct(LeastNorm(matrix_ * scale_.asDiagonal(), 1e-11).solve(right));
  }

  Vector misses(const Motion& m) {
    Vector out = Vector::Zero(matrix_.rows());
    Motion at = m;
    at.v.setZero();
    at.a.setZero();
    system_.constraints(at, Vector(Vector::Zero(rows_)), residual_);
    out.head(rows_) = residual_.gap;
    for (std::size_t k = 0; k < options_.servos.size(); ++k)
      out[rows_ + static_cast<Eigen::Index>(k)] = output_at(m.q, m.t, k) - options_.servos[k].target(m.t)[0];
    return out;
  }

  [[nodiscard]] bool find_positions(Motion& m) {
    double before = std::numeric_limits<double>::infinity();
    moved_ = 0.0;
    for (int i = 0; i < 40; ++i) {
      find_matrix(m);
      const Vector x = solved(-misses(m));
      const double size = x.cwiseQuotient(scale_).lpNorm<Eigen::Infinity>();
      if (!std::isfinite(size) || (i > 5 && size > 2.0 * before)) return false;
      const double part = std::min(1.0, 0.5 / std::max(size, 1e-300));
      const Vector step = part * x, q = m.q;
      system_.space().move(q, step, m.q);
      moved_ += part * size;
      if (size < 1e-13 || (size < 1e-9 && size > 0.1 * before)) {
        const Vector left = misses(m);
        return left.size() == 0 || left.lpNorm<Eigen::Infinity>() < 1e-8 * std::max(1.0, length_);
      }
      before = size;
    }
    return false;
  }

  void refuse_freedom() {
    find_matrix(motion_);
    const Matrix scaled = matrix_ * scale_.asDiagonal();
    const Svd parts = jacobi_svd(scaled, SingularVectors::full_v);
    const double largest = parts.values.size() > 0 ? parts.values[0] : 0.0;
    Eigen::Index rank = 0;
    for (const double s : parts.values) rank += s > 1e-9 * largest ? 1 : 0;
    rank_ = rank;
    if (rank == nv_) return;
    const Vector free = parts.V.col(nv_ - 1);
    Eigen::Index most = 0;
    free.cwiseAbs().maxCoeff(&most);
    std::string name;
    const auto& factors = system_.space().blocks();
    for (std::size_t b = 0; b < factors.size(); ++b)
      if (most >= factors[b].v_at) name = system_.pattern().block_name(static_cast<int>(b));
    throw InvalidInput(
        fmt::format("{} degrees of freedom are left, most in '{}'; prescribe as many more outputs, or add drivers, or "
                    "integrate the motion with "
                    "kreisel run",
                    nv_ - rank, name));
  }

  /// Positions, velocities and accelerations there. Shortens steps until the prediction is near the solution.
  [[nodiscard]] bool go_to(double t) {
    while (motion_.t < t) {
      double h = t - motion_.t;
      const double shortest = 1e-9 * std::max(h, std::abs(t));
      for (;; h *= 0.5) {
        if (h < shortest)
          return fail(
              "the motion ends: the constraints cannot follow it beyond this point, as at a dead centre; continue on "
              "another branch if there is one");
        Motion next = motion_;
        next.t = h == t - motion_.t ? t : motion_.t + h;
        const Vector x = h * motion_.v + 0.5 * h * h * motion_.a;
        system_.space().move(motion_.q, x, next.q);
        const double way = x.cwiseQuotient(scale_).lpNorm<Eigen::Infinity>();
        if (way > 0.3 || !find_positions(next) || moved_ > 0.1 * way + 1e-3) continue;
        const std::optional<double> singularity = singularity_before(next);
        motion_.t = next.t;
        motion_.q = next.q;
        if (!find_velocities()) return false;
        if (singularity)
          out_.warnings.push_back(
              fmt::format("near t = {:.6g} the mechanism passes a singular position, where two branches meet; the "
                          "smooth continuation was taken",
                          *singularity));
        break;
      }
    }
    return true;
  }

  /// Smallest singular value of the matrix that was found last, relative to the largest, and its directions.
  struct Weakest {
    double value = 0.0;
    Vector left, right;
  };
  Weakest weakest() const {
    const Matrix scaled = matrix_ * scale_.asDiagonal();
    const Svd parts = jacobi_svd(scaled, SingularVectors::full_v);
    if (parts.values.size() < nv_ || !(parts.values[nv_ - 1] > 0.0)) return {};
    const double size = parts.values[nv_ - 1];
    const Vector right = parts.V.col(nv_ - 1);
    return {size / parts.values[0], scaled * right / size, right};
  }

  /// The time on the way to `next` at which a singular value passes zero: that of the weakest direction, seen in its directions at the start
  /// of the way, changes its sign. A determinant would not tell where two of them pass zero together, nor with redundant constraints.
  std::optional<double> singularity_before(const Motion& next) {
    constexpr int bisections = 20;
    constexpr double vanishing = 1e-3;
    const Weakest from = weakest_;
    if (from.left.size() == 0) return {};
    const auto signed_value = [&] { return from.left.dot(matrix_ * scale_.cwiseProduct(from.right)); };
    find_matrix(next);
    if (signed_value() > 0.0) return {};
    const double after = weakest().value;
    Motion at = next;
    double low = motion_.t, high = next.t;
    for (int i = 0; i < bisections; ++i) {
      at.t = 0.5 * (low + high);
      const double s = at.t - motion_.t;
      const Vector x = s * motion_.v + 0.5 * s * s * motion_.a;
      system_.space().move(motion_.q, x, at.q);
      if (!find_positions(at)) return at.t;  // as where velocities are not determined
      find_matrix(at);
      (signed_value() > 0.0 ? low : high) = at.t;
    }
    // Otherwise the directions have turned without a singular position.
    if (weakest().value > vanishing * std::max(from.value, after)) return {};
    return high;
  }

  [[nodiscard]] bool find_velocities() {
    find_matrix(motion_);
    weakest_ = weakest();
    condition_ = weakest_.value;
    if (condition_ < singular)
      return fail("this is a singular position: velocities are not determined; choose another start, or other times");
    motion_.v.setZero();
    motion_.a.setZero();
    const Vector no_lambda = Vector::Zero(rows_);
    system_.residual(motion_, no_lambda, residual_);
    Vector right = Vector::Zero(matrix_.rows());
    right.head(rows_) = -residual_.rate;
    for (std::size_t k = 0; k < options_.servos.size(); ++k)
      right[rows_ + static_cast<Eigen::Index>(k)] = options_.servos[k].target(motion_.t)[1];
    for (std::size_t i = 0; i < states_.size(); ++i)
      right[rows_ + servo_count() + static_cast<Eigen::Index>(i)] = -residual_.force[states_[i]];
    motion_.v = solved(right);
    right.setZero();
    Vector curvature(rows_);
    system_.acceleration_gap(motion_, curvature);
    right.head(rows_) = -curvature;
    const double rate = std::max(motion_.v.cwiseQuotient(scale_).lpNorm<Eigen::Infinity>(), 1e-12);
    for (std::size_t k = 0; k < options_.servos.size(); ++k) {
      const system::Curve along = [&](double s) {
        Vector q(motion_.q.size());
        system_.space().move(motion_.q, Vector(s * motion_.v), q);
        return Vector(Vector::Constant(1, output_at(q, motion_.t, k)));
      };
      const double turn =
          motion_.v.isZero(0.0)
              ? 0.0
              : system::second_slope(along, system::step_below(system::second_step_part / rate)).value[0];
      right[rows_ + static_cast<Eigen::Index>(k)] = options_.servos[k].target(motion_.t)[2] - turn;
    }
    motion_.a = solved(right);
    for (const int state : states_) motion_.a[state] = 0.0;
    return motion_.a.allFinite() || fail("velocities and accelerations are not finite");
  }

  /// λ and inputs that balance the forces.
  [[nodiscard]] bool balance() {
    const auto m = inputs_.size();
    Vector lambda = Vector::Zero(rows_);
    double left = 0.0, terms = 0.0;
    Eigen::Index worst = 0;
    for (int iteration = 0; iteration < 20; ++iteration) {
      system::KktBlocks blocks(system_.pattern());
      system_.linearize(motion_, lambda, blocks);
      const Matrix F = system::dense_forces(system_, blocks.F);
      system_.residual(motion_, lambda, residual_);
      Vector force = residual_.force;
      for (const int state : states_) force[state] = 0.0;
      Matrix all(nv_, rows_ + m);
      all.leftCols(rows_) = F;
      std::vector<system::StepRange> ranges;
      for (const double u : inputs_) ranges.push_back(system::range_of(std::max(std::abs(u), 1.0), u));
      if (m > 0) {
        const system::Columns along = [&](int i, double s) {
          put(i, inputs_[i] + s);
          system_.residual(motion_, lambda, residual_);
          put(i, inputs_[i]);
          return Vector(residual_.force);
        };
        all.rightCols(m) = system::differentiate(along, system::largest_steps(ranges), 1e-9).value;
      }
      for (const int state : states_) all.row(state).setZero();
      const Matrix weighed = scale_.asDiagonal() * all;
      const Vector update = LeastNorm(weighed, 1e-11).solve(-scale_.cwiseProduct(force));
      lambda += update.head(rows_);
      for (Eigen::Index i = 0; i < m; ++i) put(i, inputs_[i] += update[rows_ + i]);
      system_.residual(motion_, lambda, residual_);
      force = residual_.force;
      for (const int state : states_) force[state] = 0.0;
      left = scale_.cwiseProduct(force).cwiseAbs().maxCoeff(&worst);
      terms = (weighed.leftCols(rows_).cwiseAbs() * lambda.cwiseAbs() +
               weighed.rightCols(m).cwiseAbs() * inputs_.cwiseAbs())
                  .lpNorm<Eigen::Infinity>();
      if (update.norm() <= 1e-13 * (lambda.norm() + inputs_.norm() + 1e-300) || left <= 1e-12 * terms) break;
    }
    if (left > 1e-8 * std::max(terms, 1e-12)) {
      std::string name;
      const auto& factors = system_.space().blocks();
      for (std::size_t b = 0; b < factors.size(); ++b)
        if (worst >= factors[b].v_at) name = system_.pattern().block_name(static_cast<int>(b));
      return fail(fmt::format(
          "the inputs cannot produce this motion: '{}' needs a force that none of them exerts; name more inputs, "
          "or prescribe other outputs",
          name));
    }
    out_.points.push_back({motion_, lambda, inputs_, condition_});
    return true;
  }

  const InverseOptions& options_;
  std::shared_ptr<system::SetInputs> set_;
  std::shared_ptr<const System> driven_;
  const System& system_;
  int nv_, rows_;
  system::Residual residual_;
  Motion motion_;
  Matrix matrix_;
  std::vector<int> states_;
  Vector scale_, outputs_, inputs_;
  Eigen::Index rank_ = 0;
  double length_ = 1.0, moved_ = 0.0, condition_ = 1.0;
  Weakest weakest_;
  InverseMotion out_;
};

}  // namespace

InverseMotion invert(const System& system, const system::Start& start, const InverseOptions& options) {
  return Inversion(system, start, options).run();
}

}  // namespace kreisel::analysis
