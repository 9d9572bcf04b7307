// Whether the start fits the joints.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "base/spelling.hpp"
#include "io/model_file/model_reader.hpp"
#include "kreisel/check.hpp"

namespace kreisel::io {

void ModelReader::check_consistency(const multibody::Assembly& assembly, const system::Start& start) {
  system::Motion m(assembly.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  const system::Pattern& pattern = assembly.pattern();
  system::Residual r(assembly.space().nv(), pattern.position_rows(), pattern.rows());
  const Vector no_lambda = Vector::Zero(pattern.rows());
  assembly.residual(m, no_lambda, r);
  if (!r.gap.allFinite() || !r.rate.allFinite() || !r.force.allFinite())
    return complain("", "positions, velocities or forces at the start are too large to compute with");
  check_mass(assembly, m);
  if (!options_.accepts_gaps) check_limits(assembly, m);
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
  constexpr int most_rows = 500;  // of full matrices: a second
  const std::vector<Body>& bodies = assembly.mechanism().bodies;
  const bool is_suspicious = std::any_of(bodies.begin(), bodies.end(), [](const Body& body) {
    return body.mass == 0.0 ||
           Eigen::SelfAdjointEigenSolver<Matrix3>(body.inertia, Eigen::EigenvaluesOnly).eigenvalues()[0] <=
               1e-14 * body.inertia.norm();
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
