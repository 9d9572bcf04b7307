#include "explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/decompositions.hpp"
#include "kreisel/check.hpp"
#include "lie/group_info.hpp"
#include "system/consistency.hpp"
#include "system/dense.hpp"

namespace kreisel::run {
namespace {

using system::Motion;
using system::Pattern;
using system::System;

/// Fraction of the run over which functions of time are examined ahead.
constexpr double look_ahead = 1e-6;
/// Above this size dense matrices are too expensive for a message.
constexpr int most_rows = 500;

/// g + Bᵀλ: the force without accelerations.
Vector force_at(const System& system, Motion m, ConstVectorRef lambda) {
  m.a.setZero();
  system::Residual r(system.space().nv(), system.pattern().position_rows(), system.pattern().rows());
  system.residual(m, lambda, r);
  return r.force;
}

int block_of(const System& system, int coordinate) {
  const auto& blocks = system.space().blocks();
  int b = 0;
  while (coordinate >= blocks[b].v_at + blocks[b].nv) ++b;
  return b;
}

std::string describe_reach(const System& system, const Motion& m) {
  const Pattern& pattern = system.pattern();
  if (pattern.rows() == 0 || pattern.rows() > most_rows || !m.q.allFinite()) return {};
  constexpr double nearly_singular = 1e-2;
  system::KktBlocks blocks(pattern);
  system.mass_and_jacobian(m, blocks);
  Matrix B = system::dense_rows(system, blocks.B);
  // In metres of motion per column: with long levers rotations would dominate the translations.
  const double size = system::length_scale(system, m);
  for (const lie::Block& block : system.space().blocks())
    B.middleCols(block.v_at + lie::translations_of(block), lie::rotations_of(block)) /= size;
  Vector length = B.rowwise().norm();
  for (Eigen::Index i = 0; i < B.rows(); ++i)
    if (length[i] > 0.0) B.row(i) /= length[i];
  if (!B.allFinite()) return {};
  const Svd parts = jacobi_svd(B, SingularVectors::thin_u);
  const Eigen::Index last = parts.values.size() - 1;
  if (!(parts.values[last] < nearly_singular * parts.values[last / 2])) return {};
  // uᵀB = 0 leaves uᵀΦ_t = 0 to be satisfied, which no velocity can do: the driver with the largest part pulls too far.
  Motion still = m;
  still.v.setZero();
  system::Residual r(system.space().nv(), pattern.position_rows(), pattern.rows());
  system.constraints(still, Vector(Vector::Zero(pattern.rows())), r);
  const Vector u = parts.U.col(last);
  std::string driver, held;
  double largest = 0.0;
  for (const system::RowGroup& group : pattern.groups()) {
    double pull = 0.0, part = 0.0;
    for (int i = group.at; i < group.at + group.rows; ++i) {
      pull = std::max(pull, length[i] > 0.0 ? std::abs(u[i] * r.rate[i]) / length[i] : 0.0);
      part = std::max(part, std::abs(u[i]));
    }
    if (group.is_driver && pull > largest) largest = pull, driver = group.name;
    if (!group.is_driver && part > 0.1) held += fmt::format("{}'{}'", held.empty() ? "" : ", ", group.name);
  }
  if (!driver.empty())
    return fmt::format(
        "\n  the driver '{}' pulls the mechanism past its reach: near t = {:.6g} the constraints{} nearly depend on "
        "each other while the driver keeps moving.\n  try: end the run before, give '{}' a smaller range, or check the "
        "lengths of the mechanism",
        driver, m.t, held.empty() ? "" : " " + held, driver);
  return fmt::format(
      "\n  the mechanism is near a singular position: the constraints {} nearly depend on each other at t = {:.6g}",
      held, m.t);
}

std::string explain(Status status, const System& system, const method::Entry& last, double span);

}  // namespace

std::string explained(std::string message, Status status, const System& system, const method::Entry& last,
                      double span) {
  if (message.find("jumps from") != std::string::npos) return message;  // already explained
  const std::string found = explain(status, system, last, span);
  if (!found.empty()) message.resize(std::min(message.size(), message.find("\n  try:")));
  return message + found;
}

std::string describe_undefined(const System& system, const system::Start& start) {
  Motion m(system.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  const Vector lambda = Vector::Zero(system.pattern().rows());
  if (!m.q.allFinite() || !m.v.allFinite() || force_at(system, m, lambda).allFinite()) return {};
  const std::string name = system.force_that_changes(m, m, lambda);
  return name.empty() ? "" : fmt::format("\n  '{}' is not finite at t = {:.10g}", name, m.t);
}

std::string describe_jump(const System& system, const Motion& before, const Motion& after, ConstVectorRef lambda) {
  constexpr int halvings = 45;
  Motion low = before, high = after;
  Vector at_low = force_at(system, low, lambda), at_high = force_at(system, high, lambda);
  const Vector size = at_low.cwiseAbs().cwiseMax(at_high.cwiseAbs()).array() +
                      1e-6 * std::max(at_low.lpNorm<Eigen::Infinity>(), at_high.lpNorm<Eigen::Infinity>());
  if (!at_low.allFinite() || !at_high.allFinite() || !(size.maxCoeff() > 0.0)) return {};
  Eigen::Index row = 0;
  const auto change = [&](const Vector& a, const Vector& b) {
    return ((b - a).cwiseAbs().array() / (size.array() + 1e-300)).maxCoeff(&row);
  };
  const double first = change(at_low, at_high);
  constexpr double smallest_jump = 1e-2;
  if (!(first > smallest_jump)) return {};
  for (int i = 0; i < halvings; ++i) {
    Motion middle = system::between(system, low, high, 0.5);
    Vector at_middle = force_at(system, middle, lambda);
    if (!at_middle.allFinite()) return {};
    if (change(at_low, at_middle) > change(at_middle, at_high)) {
      high = std::move(middle);
      at_high = std::move(at_middle);
    } else {
      low = std::move(middle);
      at_low = std::move(at_middle);
    }
  }
  const double left = change(at_low, at_high);
  if (!(left > 0.3 * first)) return {};
  const int block = block_of(system, static_cast<int>(row));
  const std::string name = system.force_that_changes(low, high, lambda);
  return fmt::format("{} on '{}' (row {}) jumps from {:.4g} to {:.4g} where its velocity passes {:.3g}",
                     name.empty() ? "the force" : "force '" + name + "'", system.pattern().block_name(block),
                     row - system.space().blocks()[block].v_at + 1, at_low[row], at_high[row],
                     0.5 * (low.v[row] + high.v[row]));
}

namespace {

std::string explain(Status status, const System& system, const method::Entry& last, double span) {
  switch (status) {
    case Status::newton_failed:
    case Status::step_too_small:
    case Status::singular_matrix:
      break;
    default:
      return {};
  }
  const Motion& m = last.motion;
  if (m.q.size() != system.space().nq()) return {};
  if (const std::string found = system.undefined_between(m.t, m.t + std::max(look_ahead * span, 2.0 * last.h));
      !found.empty())
    return fmt::format("\n  {}.\n  try: end the run before, or a formula that stays finite and smooth", found);
  if (std::string found = describe_reach(system, m); !found.empty()) return found;
  Motion ahead = m;
  const double h = std::max(last.h, look_ahead * span);
  system.space().move(m.q, Vector(h * m.v), ahead.q);
  ahead.v += h * m.a;
  ahead.t += h;
  const Vector lambda =
      last.lambda.size() == system.pattern().rows() ? last.lambda : Vector(Vector::Zero(system.pattern().rows()));
  // Forces that are not defined a little further on, as of a beam that is bent by half a turn.
  for (double way = h; way < 20.0 * h; way *= 10.0) {
    const auto after = [&](double duration) {
      Motion beyond = m;
      system.space().move(m.q, Vector(duration * m.v), beyond.q);
      beyond.v += duration * m.a;
      beyond.t += duration;
      return beyond;
    };
    const auto is_defined = [&](const Motion& at) {
      return !at.q.allFinite() || force_at(system, at, lambda).allFinite();
    };
    if (is_defined(after(way))) continue;
    if (!is_defined(m)) break;
    double good = 0.0, bad = way;
    for (int i = 0; i < 50; ++i) {
      const double middle = 0.5 * (good + bad);
      (is_defined(after(middle)) ? good : bad) = middle;
    }
    const std::string name = system.force_that_changes(m, after(bad), lambda);
    if (name.empty()) break;
    return fmt::format(
        "\n  '{}' is not finite from t = {:.10g} on: it is not defined beyond these positions. A formula or function "
        "must "
        "stay finite, and a beam must not bend by more than 160 degrees between its nodes.\n  try: another formula, or "
        "more elements",
        name, m.t + bad);
  }
  if (const std::string found = describe_jump(system, m, ahead, lambda); !found.empty())
    return fmt::format("\n  {}.\n  try: a smooth law instead, or an event at which it changes", found);
  return {};
}

}  // namespace

ChatterWatch::ChatterWatch(const System& system, double t_end)
    : system_(system),
      t_end_(t_end),
      lowest_(Vector::Zero(system.space().nv())),
      highest_(Vector::Zero(system.space().nv())) {}

bool ChatterWatch::sees(const method::Entry& newest) {
  const Motion& m = newest.motion;
  if (t_end_ - m.t <= many_steps * newest.h) return false;  // steps are not short
  if (steps_ == 0) {
    t_ = m.t;
    lowest_ = highest_ = m.v;
  }
  lowest_ = lowest_.cwiseMin(m.v);
  highest_ = highest_.cwiseMax(m.v);
  if (++steps_ < patience) return false;
  steps_ = 0;
  std::string found;
  if ((t_end_ - m.t) * patience > many_steps * (m.t - t_)) {
    // Newton's method may end on one side of the jump with the force of the other: the search extends beyond the range.
    Motion low = m, high = m;
    low.v = 2.0 * lowest_ - highest_;
    high.v = 2.0 * highest_ - lowest_;
    found = describe_jump(system_, low, high, newest.lambda);
  }
  found_ = found.empty() ? 0 : found_ + 1;
  if (!found.empty()) what_ = std::move(found);
  return found_ >= repetitions;
}

std::string ChatterWatch::message(double t) const {
  return fmt::format(
      "the run chatters at t = {:.10g}: {}. The solution crosses the jump repeatedly.\n"
      "  try: friction that is smooth at rest, such as tanh(v/v0) in place of sign(v), or \"joint-friction\" with "
      "\"law\": \"stick-slip\"; "
      "or an event at which the force changes",
      t, what_);
}

}  // namespace kreisel::run
