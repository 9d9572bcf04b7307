#include "solve/assemble.hpp"

#include <algorithm>

#include "base/spelling.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "solve/kkt.hpp"
#include "system/consistency.hpp"

namespace kreisel::solve {
namespace {

constexpr int max_factorizations = 100;
/// Smaller changes are round-off, relative to the size of the mechanism, or of a turn.
constexpr double smallest_change = 1e-12;

/// False when the saddle point matrix is singular.
bool move_onto_constraints(const system::System& system, system::Motion& m, std::string_view linear_solver,
                           bool& is_closed) {
  Counters unused;
  Kkt kkt(system, unused, linear_solver);
  is_closed = false;
  for (int i = 0; i < max_factorizations && !is_closed; ++i) {
    if (!kkt.factorize(m)) return false;
    is_closed = kkt.project_position(m);
  }
  if (!kkt.factorize(m)) return false;
  is_closed = is_closed && kkt.project_velocity(m);
  return true;
}

/// Redundant rows leave the closest position unique, if they do not contradict each other: least squares finds it.
bool needs_least_squares(const system::System& system, const system::Motion& m) {
  constexpr int most_rows = 500;  // of full matrices
  return system.pattern().rows() <= most_rows && !system::redundancy(system, m).rows.empty();
}

/// Sizes of the translational and rotational part of x, an element of the Lie algebra of a block.
std::pair<double, double> sizes(const lie::Block& block, ConstVectorRef x) {
  const int n = lie::translations_of(block);
  return {x.segment(block.v_at, n).norm(), x.segment(block.v_at + n, block.nv - n).norm()};
}

}  // namespace

std::vector<Change> assemble(const system::System& system, system::Start& start, std::string_view linear_solver) {
  system::Motion m(system.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  const system::Motion given = m;
  bool is_closed = false;
  bool is_regular = linear_solver != "least-squares" && !needs_least_squares(system, m) &&
                    move_onto_constraints(system, m, linear_solver, is_closed);
  if (!is_regular) {
    m = given;
    is_regular = move_onto_constraints(system, m, "least-squares", is_closed);
  }
  if (!is_regular)
    throw InvalidInput(
        spelled("assemble") +
        ": a body without mass can move freely, so the closest position is not unique; give it mass or constrain it");
  if (!is_closed)
    throw InvalidInput(spelled("assemble") +
                       ": the mechanism cannot be assembled from these positions; give positions that fit its joints "
                       "better, or check lengths and anchor points");

  const auto& blocks = system.space().blocks();
  std::vector<std::string> names;
  for (std::size_t b = 0; b < blocks.size(); ++b) names.push_back(system.pattern().block_name(static_cast<int>(b)));
  for (int body = 0; body < system.body_count(); ++body) names[system.body_block(body)] = system.body_name(body);
  Vector moved(system.space().nv());
  system.space().difference(start.q0, m.q, moved);
  const Vector faster = m.v - start.v0;
  const double length = system::length_scale(system, m);
  std::vector<Change> changes;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto [distance, angle] = sizes(blocks[b], moved);
    const auto [velocity, angular_velocity] = sizes(blocks[b], faster);
    if (std::max({distance / length, angle, velocity / length, angular_velocity}) > smallest_change)
      changes.push_back({names[b], distance, angle, velocity, angular_velocity});
  }
  const auto size = [&](const Change& c) {
    return std::max({c.distance / length, c.angle, c.velocity / length, c.angular_velocity});
  };
  std::stable_sort(changes.begin(), changes.end(), [&](const Change& a, const Change& b) { return size(a) > size(b); });
  start.q0 = m.q;
  start.v0 = m.v;
  return changes;
}

}  // namespace kreisel::solve
