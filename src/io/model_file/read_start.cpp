// Whether the start fits the joints.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/decompositions.hpp"
#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "kreisel/check.hpp"

namespace kreisel::io {

void ModelReader::start_bodies(const Json& root) {
  const Json* start = find(root, "start");
  if (start == nullptr || !is_object("/start", *start, "{\"bodies\": {...}, \"states\": {...}}")) return;
  check_keys("/start", *start, names_of(start_object().keys));
  const Json* bodies = find(*start, "bodies");
  if (bodies == nullptr || !is_object("/start/bodies", *bodies, "{\"NAME\": {\"position\": ..., ...}}")) return;
  static const std::vector<std::string> known = names_of(start_of_body_object().keys);
  for (const auto& item : bodies->items()) {
    const std::string at = below("/start/bodies", item.key());
    int number = multibody::ground;
    if (!body_number(at, item.key(), number)) continue;
    if (number == multibody::ground) {
      complain(at, "is the ground, which does not move");
      continue;
    }
    if (!is_object(at, item.value(), "{\"position\": ..., \"rotation\": ..., ...}")) continue;
    check_keys(at, item.value(), known);
    Body& body = mechanism_.bodies[number];
    if (const Json* x = find(item.value(), "position")) vector(below(at, "position"), *x, body.position);
    if (const Json* r = find(item.value(), "rotation")) rotation(below(at, "rotation"), *r, body.rotation);
    if (const Json* v = find(item.value(), "velocity")) vector(below(at, "velocity"), *v, body.velocity);
    if (const Json* w = find(item.value(), "angular_velocity"))
      vector(below(at, "angular_velocity"), *w, body.angular_velocity);
  }
}

void ModelReader::start_states(const Json& root) {
  const Json* start = find(root, "start");
  const Json* states = start != nullptr && start->is_object() ? find(*start, "states") : nullptr;
  if (states == nullptr || !is_object("/start/states", *states, "{\"NAME\": value}")) return;
  std::vector<std::string> known;
  for (const multibody::Node& node : mechanism_.nodes)
    if (node.factor.group == lie::GroupId::rn && node.factor.n == 1) known.push_back(node.name);
  for (const auto& item : states->items()) {
    const std::string at = below("/start/states", item.key());
    double value = 0.0;
    if (!number(at, item.value(), value)) continue;
    if (std::ranges::count(known, item.key()) == 0) {
      complain(at, unknown_name("state", item.key(), known));
      continue;
    }
    for (multibody::Node& node : mechanism_.nodes)
      if (node.name == item.key()) node.q0 = Vector::Constant(1, value);
  }
}

void ModelReader::check_consistency(const multibody::Assembly& assembly, const system::Start& start) {
  system::Motion m(assembly.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  const system::Pattern& pattern = assembly.pattern();
  system::Residual r(assembly.space().nv(), pattern.position_rows(), pattern.rows());
  const Vector no_lambda = Vector::Zero(pattern.rows());
  assembly.residual(m, no_lambda, r);
  if (!r.gap.allFinite() || !r.rate.allFinite() || !r.force.allFinite()) {
    const std::string name = r.force.allFinite() ? "" : assembly.force_that_changes(m, m, no_lambda);
    return complain("", "positions, velocities or forces at the start are too large to compute with" +
                            (name.empty() ? "" : fmt::format(": '{}' is not finite at t = {:.10g}", name, m.t)));
  }
  check_mass(assembly, m);
  if (!options_.accepts_gaps || options_.base != nullptr) check_limits(assembly, m);
  if (options_.accepts_gaps) return;
  const system::Consistency allowed = system::consistency_tolerances(assembly, m, start.t_end - start.t0);
  std::size_t next = 0;  // switched off joints have no rows
  std::vector<std::pair<const system::RowGroup*, std::string>> places;
  for (std::size_t j = 0; j < joint_places_.size(); ++j)
    if (assembly.active()[assembly.mechanism().bodies.size() + j])
      places.push_back({&pattern.groups()[next++], joint_places_[j]});
  for (; next < pattern.groups().size(); ++next)
    if (const auto joint = rolling_places_.find(pattern.groups()[next].name); joint != rolling_places_.end())
      places.push_back({&pattern.groups()[next], joint->second});
    else if (const auto coupler = coupler_places_.find(pattern.groups()[next].name); coupler != coupler_places_.end())
      places.push_back({&pattern.groups()[next], coupler->second});
  for (const auto& [of, place] : places) {
    const system::RowGroup& group = *of;
    const auto refuse = [&, &place = place](const Vector& rows, const Vector& tolerance, std::string_view what) {
      const int row = worst_row(rows, tolerance, group);
      if (row < 0) return false;
      complain(place,
               fmt::format("'{}': the initial {} miss the joint by {:.6g} (row {} of {}); correct them or use {}",
                           group.name, what, std::abs(rows[group.at + row]), row + 1, group.rows, spelled("assemble")));
      return true;
    };
    if (group.level == system::RowLevel::velocity)
      refuse(r.rate, allowed.velocity, "velocities");
    else if (!refuse(r.gap, allowed.position, "positions"))
      refuse(r.rate, allowed.velocity, "velocities");
  }
}

void ModelReader::check_mass(const multibody::Assembly& assembly, const system::Motion& m) {
  constexpr int most_rows = 500;  // the matrices are full: about a second at this size
  const std::vector<Body>& bodies = assembly.mechanism().bodies;
  const bool is_suspicious = std::any_of(bodies.begin(), bodies.end(), [](const Body& body) {
    return body.mass == 0.0 || symmetric_eigenvalues(body.inertia)[0] <= 1e-14 * body.inertia.norm();
  });
  if (!is_suspicious || assembly.space().nv() + assembly.pattern().rows() > most_rows) return;
  const system::RankReport ranks = system::rank_report(assembly, m);
  if (ranks.has_mass) return;
  for (std::size_t b = 0; b < bodies.size(); ++b)
    if (bodies[b].name == ranks.weakest_block)
      return complain(
          below("/bodies", b),
          fmt::format("'{}' has a motion without mass or inertia that the joints allow; give it mass or inertia "
                      "there, or constrain it",
                      bodies[b].name));
}

int ModelReader::worst_row(const Vector& rows, const Vector& tolerance, const system::RowGroup& group) {
  int worst = -1;
  double excess = 1.0;
  for (int i = 0; i < group.rows; ++i) {
    const double miss = std::abs(rows[group.at + i]);
    if (miss > 0.0 && miss > excess * tolerance[group.at + i]) worst = i, excess = miss / tolerance[group.at + i];
  }
  return worst;
}

}  // namespace kreisel::io
