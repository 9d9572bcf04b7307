// Every joint and force of the catalogues on both groups, between bodies and against the ground: all derivatives.
#include <gtest/gtest.h>

#include <cctype>

#include "kreisel/check.hpp"
#include "multibody/rolling.hpp"
#include "multibody/samples.hpp"
#include "system/dense.hpp"
#include "system/differences.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::multibody;

struct Case {
  std::string element;
  bool is_driver = false;
  lie::GroupId group = lie::GroupId::se3;
  bool on_ground = false;
  bool is_mixed = false;  ///< the first and the third body are on the other group
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.element; }

std::vector<Case> with_variants(const std::vector<std::pair<std::string, bool>>& elements) {
  std::vector<Case> list;
  for (const auto& [element, is_driver] : elements)
    for (const lie::GroupId group : {lie::GroupId::se3, lie::GroupId::r3xso3})
      for (const bool on_ground : {false, true})
        for (const bool is_mixed : {false, true}) list.push_back({element, is_driver, group, on_ground, is_mixed});
  return list;
}

std::vector<Case> all_joints() {
  std::vector<std::pair<std::string, bool>> names;
  for (const JointInfo& info : joint_catalogue()) names.push_back({std::string(info.name), info.is_driver});
  return with_variants(names);
}

std::vector<Case> all_forces(bool with_friction) {
  std::vector<std::pair<std::string, bool>> names;
  for (const ForceInfo& info : force_catalogue())
    if (with_friction || info.bodies > 0) names.push_back({std::string(info.name), false});
  return with_variants(names);
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string name = c.element + (c.is_driver ? "_driver_" : "_") + std::string(lie::name_of(c.group)) +
                     (c.on_ground ? "_ground" : "") + (c.is_mixed ? "_mixed" : "");
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

class EveryElement : public testing::TestWithParam<Case> {
 protected:
  Mechanism three_bodies() {
    Mechanism mechanism;
    mechanism.group = GetParam().group;
    mechanism.gravity = {0.3, -0.4, -9.81};
    for (const char* name : {"first", "second", "third"})
      mechanism.bodies.push_back(samples::random_body(source_, name));
    if (GetParam().is_mixed)
      for (const int b : {0, 2})
        mechanism.bodies[b].group = GetParam().group == lie::GroupId::se3 ? lie::GroupId::r3xso3 : lie::GroupId::se3;
    return mechanism;
  }
  std::vector<int> bodies(int n) const {
    std::vector<int> list{2, 0, 1};
    if (GetParam().on_ground) list[0] = n == 1 ? 2 : ground;
    list.resize(n);
    return list;
  }
  void expect_audit_passes(const Assembly& assembly) {
    for (const double speed : {0.0, 1.0, 1.0, 20.0}) {
      system::Motion m = samples::random_motion(source_, assembly.space(), speed);
      m.t = 0.3;
      // Bristles that are bent far have a corner at rest, where they go on bending or recover.
      for (std::size_t b = assembly.mechanism().bodies.size(); b < assembly.space().blocks().size(); ++b)
        if (speed == 0.0) m.q.segment(assembly.space().blocks()[b].q_at, assembly.space().blocks()[b].nq) *= 0.1;
      const Vector lambda = samples::random_vector(source_, assembly.pattern().rows(), 1.0 + speed);
      for (const system::AuditFinding& finding : system::audit(assembly, m, lambda))
        EXPECT_TRUE(finding.ok()) << finding.what << ": error " << finding.error << ", tolerance " << finding.tolerance
                                  << " at " << finding.where;
    }
  }
  samples::Source source_;
};

class EveryJoint : public EveryElement {};
class EveryForce : public EveryElement {};
class EveryForceWithoutMultipliers : public EveryElement {};

TEST_P(EveryJoint, HasTheDerivativesItClaims) {
  const JointInfo& info = find_joint(GetParam().element, GetParam().is_driver);
  for (const std::string& word : samples::words_of(info)) {
    Mechanism mechanism = three_bodies();
    JointSpec spec = samples::random_joint_spec(source_, info, bodies(info.has_carrier ? 3 : 2));
    for (auto& [key, value] : spec.numbers.words) value = word;
    mechanism.joints.push_back(make_joint(info, spec));
    const auto& rolling = mechanism.joints[0]->rolling();
    const int rows = mechanism.joints[0]->rows() + (rolling == nullptr ? 0 : rolling->facets().rows);
    EXPECT_EQ(rows, word == "free" ? info.rows - 1 : info.rows);
    expect_audit_passes(Assembly(std::move(mechanism)));
  }
}

TEST_P(EveryJoint, HasIndependentRowsAndNoGapWhenItsFramesCoincide) {
  const JointInfo& info = find_joint(GetParam().element, GetParam().is_driver);
  Mechanism mechanism = three_bodies();
  for (Body& body : mechanism.bodies) {
    body.position = samples::random_point(source_);
    body.rotation = samples::random_rotation(source_);
  }
  JointSpec spec = samples::random_joint_spec(source_, info, bodies(info.has_carrier ? 3 : 2));
  // Two places in the world: shared by all bodies, or one per body.
  Frame world[2] = {samples::random_frame(source_), samples::random_frame(source_)};
  world[1].E.col(2) = world[0].E.col(0);  // of a universal joint: perpendicular
  world[1].E.col(0) = world[0].E.col(1);
  world[1].E.col(1) = world[0].E.col(2);
  const auto in_body = [&](int body, const Frame& frame) -> Frame {
    if (body == ground) return frame;
    const Body& b = mechanism.bodies[body];
    return {b.rotation.transpose() * (frame.p - b.position), b.rotation.transpose() * frame.E};
  };
  if (info.name == "wheel") world[1].p = world[0].p + spec.numbers.number("radius") * world[0].E.col(2);
  if (info.has_curve) {
    spec.numbers.numbers["radius"] = 0.0;
    world[1].p = world[0].p + world[0].E.leftCols<2>() * spec.curve[4];
  }
  const bool is_two = info.axes == 2 || info.place == JointInfo::Place::two_points;
  spec.frames = {in_body(spec.bodies[0], world[0]), in_body(spec.bodies[1], world[is_two ? 1 : 0])};
  if (info.place == JointInfo::Place::one_point) spec.frames[1].p = in_body(spec.bodies[1], world[0]).p;
  if (info.has_carrier)
    for (int i = 0; i < 2; ++i) spec.frames.push_back(in_body(spec.bodies[2], world[i]));
  if (info.has_carrier)
    for (int i = 0; i < 2; ++i) spec.frames[i].p = in_body(spec.bodies[i], world[i]).p;
  if (info.axes_swing) {
    const auto rotation = [&](int body) -> Matrix3 {
      return body == ground ? Matrix3(Matrix3::Identity()) : mechanism.bodies[body].rotation;
    };
    spec.frames[1].E = swung(rotation(spec.bodies[0]), spec.frames[0].E, rotation(spec.bodies[1]), spec.frames[1].E);
  }
  const double length = (world[0].p - world[1].p).norm();
  spec.numbers.numbers["length"] = length;
  spec.value = Signal(Expression(info.place == JointInfo::Place::two_points ? length : 0.0));
  mechanism.joints.push_back(make_joint(info, spec));
  const Assembly assembly(std::move(mechanism));
  system::Motion m(assembly.space());
  m.q = assembly.start(1.0).q0;
  EXPECT_LT(assembly.joint_gaps(m)[0], 1e-14);
  const system::RankReport report = system::rank_report(assembly, m);
  EXPECT_EQ(report.rank_of_B, info.rows);
  EXPECT_TRUE(report.is_regular);
}

TEST_P(EveryForce, HasTheDerivativesItClaims) {
  const ForceInfo& info = find_force(GetParam().element);
  Mechanism mechanism = three_bodies();
  const std::vector<std::string> joints = info.bodies == 0
                                              ? std::vector<std::string>{"revolute", "prismatic", "cylindrical"}
                                              : std::vector<std::string>{"spherical"};
  for (const std::string& type : joints) {
    const JointInfo& joint = find_joint(type, false);
    mechanism.joints.push_back(make_joint(joint, samples::random_joint_spec(source_, joint, bodies(2))));
  }
  for (const bool in_body : {false, true})
    for (const std::string& word : samples::words_of(info))
      for (std::size_t j = 0; j < joints.size(); ++j) {
        ForceSpec spec = samples::random_force_spec(source_, info, bodies(info.bodies == 0 ? 2 : info.bodies), word);
        spec.joint = mechanism.joints[j];
        spec.in_body_frame = in_body;
        mechanism.forces.push_back(info.build(spec));
      }
  const Assembly assembly(std::move(mechanism));
  EXPECT_EQ(assembly.is_affine_in_multipliers(), info.bodies != 0);
  expect_audit_passes(assembly);
}

/// d/dt energy = power along the motion that the equations of motion give.
TEST_P(EveryForceWithoutMultipliers, ChangesTheEnergyByItsPower) {
  const ForceInfo& info = find_force(GetParam().element);
  Mechanism mechanism = three_bodies();
  const ForceSpec spec =
      samples::random_force_spec(source_, info, bodies(info.bodies), samples::words_of(info).front());
  mechanism.forces.push_back(info.build(spec));
  const Assembly assembly(std::move(mechanism));
  system::Motion m = samples::random_motion(source_, assembly.space());
  m.a.setZero();
  system::Residual residual(m.v.size(), 0, 0);
  const Vector nothing(0);
  assembly.residual(m, nothing, residual);
  system::KktBlocks blocks(assembly.pattern());
  assembly.mass_and_jacobian(m, blocks);
  m.a = -system::dense_coupling(assembly, blocks.M).ldlt().solve(residual.force);
  const Vector change = system::slope(
                            [&](double s) -> Vector {
                              system::Motion moved = m;
                              moved.t += s;
                              const Vector x = s * m.v + (0.5 * s * s) * m.a;
                              assembly.space().move(m.q, x, moved.q);
                              moved.v += s * m.a;
                              return Vector::Constant(1, assembly.energy(moved));
                            },
                            1e-3)
                            .value;
  EXPECT_NEAR(change[0], assembly.power(m, nothing).total(), 1e-9 * (1.0 + std::abs(change[0])));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryJoint, testing::ValuesIn(all_joints()), test_name);
INSTANTIATE_TEST_SUITE_P(Catalogue, EveryForce, testing::ValuesIn(all_forces(true)), test_name);
INSTANTIATE_TEST_SUITE_P(Catalogue, EveryForceWithoutMultipliers, testing::ValuesIn(all_forces(false)), test_name);

}  // namespace
