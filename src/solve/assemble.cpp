#include "kreisel/solve/assemble.hpp"

#include <algorithm>

#include "kreisel/base/error.hpp"
#include "kreisel/solve/kkt.hpp"

namespace kreisel::solve {
namespace {

constexpr int max_factorizations = 100;
/// Smaller changes are round-off.
constexpr double smallest_change = 1e-12;

void move_onto_constraints(const system::System& system, system::Motion& m, std::string_view linear_solver) {
  Counters unused;
  Kkt kkt(system, unused, linear_solver);
  bool is_closed = false;
  for (int i = 0; i < max_factorizations && !is_closed; ++i) {
    if (!kkt.factorize(m))
      throw InvalidInput(
          "--assemble: the joints are redundant or the masses vanish, so that the projection is not unique; `kreisel check` names them");
    is_closed = kkt.project_position(m);
  }
  if (!is_closed || !kkt.factorize(m) || !kkt.project_velocity(m))
    throw InvalidInput("--assemble: the mechanism does not close from these positions; give positions closer to its joints, or check lengths and anchor points");
}

/// Sizes of the translational and rotational part of x, an element of the Lie algebra of a block.
std::pair<double, double> sizes(const lie::Block& block, ConstVectorRef x) {
  const auto part = x.segment(block.v_at, block.nv);
  switch (block.group) {
    case lie::GroupId::rn:
      return {part.norm(), 0.0};
    case lie::GroupId::so3:
      return {0.0, part.norm()};
    case lie::GroupId::r3xso3:
    case lie::GroupId::se3:
      return {part.head<3>().norm(), part.tail<3>().norm()};
  }
  return {};
}

}  // namespace

std::vector<Change> assemble(const system::System& system, system::Start& start, std::string_view linear_solver) {
  system::Motion m(system.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  move_onto_constraints(system, m, linear_solver);

  const auto& blocks = system.space().blocks();
  std::vector<std::string> names;
  for (std::size_t b = 0; b < blocks.size(); ++b) names.push_back(system.pattern().block_name(static_cast<int>(b)));
  for (int body = 0; body < system.body_count(); ++body) names[system.body_block(body)] = system.body_name(body);
  Vector moved(system.space().nv());
  system.space().difference(start.q0, m.q, moved);
  const Vector faster = m.v - start.v0;
  std::vector<Change> changes;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto [distance, angle] = sizes(blocks[b], moved);
    const auto [velocity, angular_velocity] = sizes(blocks[b], faster);
    if (std::max({distance, angle, velocity, angular_velocity}) > smallest_change)
      changes.push_back({names[b], distance, angle, velocity, angular_velocity});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::max({a.distance, a.angle, a.velocity, a.angular_velocity}) >
           std::max({b.distance, b.angle, b.velocity, b.angular_velocity});
  });
  start.q0 = m.q;
  start.v0 = m.v;
  return changes;
}

}  // namespace kreisel::solve
