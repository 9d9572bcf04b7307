// Elements of users: any number of nodes, groups per node, coupled mass, velocity rows, states, and the active mask.
#include <gtest/gtest.h>

#include <cmath>

#include "io/model_file/model_file.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "kreisel/mechanism.hpp"
#include "multibody/rigid_body.hpp"
#include "multibody/samples.hpp"
#include "run/integrator.hpp"
#include "support/allocations.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::multibody;
using lie::GroupId;
using multibody::Body;
using multibody::ground;
using multibody::Mechanism;

void expect_audit_passes(const Assembly& assembly, samples::Source& source) {
  for (const double speed : {0.0, 1.0, 20.0}) {
    system::Motion m = samples::random_motion(source, assembly.space(), speed);
    m.t = 0.3;
    const Vector lambda = samples::random_vector(source, assembly.pattern().rows(), 1.0 + speed);
    for (const system::AuditFinding& finding : system::audit(assembly, m, lambda))
      EXPECT_TRUE(finding.ok()) << finding.what << ": error " << finding.error << ", tolerance " << finding.tolerance
                                << " at " << finding.where;
  }
}

run::Report motion_of(const Assembly& assembly, double t_end, double tolerance,
                      const std::string& linear_solver = "automatic") {
  run::Options options;
  options.t_end = t_end;
  options.rtol = options.atol = tolerance;
  options.linear_solver = linear_solver;
  run::Observer nobody;
  run::Report report = run::integrate(assembly, assembly.start(t_end), options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  return report;
}

Vector3 position(const Assembly& assembly, int body, const run::Report& report) {
  return assembly.body_pose(body, report.final.motion.q).x;
}

Body body_at(const std::string& name, double mass, const Vector3& position) {
  Body body;
  body.name = name;
  body.mass = mass;
  body.position = position;
  return body;
}

/// A spring and a damper between a point of the last body and the mean of one point of each of the others:
/// g = Jᵀ (k r + c ṙ), r = Σ cᵢ (xᵢ + Rᵢ pᵢ).
class CentroidSpring final : public Force {
 public:
  CentroidSpring(std::vector<int> bodies, std::vector<Vector3> points, double stiffness, double damping)
      : Force("centroid-spring", "to the centroid", std::move(bodies)),
        p_(std::move(points)),
        k_(stiffness),
        c_(damping) {}

  void add_wrench(const ForceState& at, Slopes& wrench) const override {
    const Vector3 f = force(at.s);
    for (int i = 0; i < slots(); ++i) wrench[i] += jacobian(at.s, i).transpose() * f;
  }
  void add_blocks(const ForceState& at, ElementBlocks& out) const override {
    const Vector3 f = force(at.s);
    for (int i = 0; i < slots(); ++i) {
      for (int j = 0; j < slots(); ++j) {
        Eigen::Matrix<double, 3, 6> by_q = k_ * jacobian(at.s, j);
        by_q.rightCols<3>() -= (c_ * weight(j)) * (at.s[j].R * skew(at.s[j].w.cross(p_[j])));
        out.K(i, j) += jacobian(at.s, i).transpose() * by_q;
        out.D(i, j) += c_ * (jacobian(at.s, i).transpose() * jacobian(at.s, j));
      }
      out.K(i, i).bottomRightCorner<3, 3>() += weight(i) * skew(p_[i]) * skew(at.s[i].R.transpose() * f);
    }
  }
  double potential(const ForceState& at) const override { return 0.5 * k_ * span(at.s).squaredNorm(); }
  void add_flow(const ForceState& at, system::Power& power) const override {
    power.dissipated += c_ * rate(at.s).squaredNorm();
  }

 private:
  double weight(int i) const { return i + 1 == slots() ? 1.0 : -1.0 / (slots() - 1); }
  Eigen::Matrix<double, 3, 6> jacobian(const BodyState* s, int i) const {
    Eigen::Matrix<double, 3, 6> J;
    J << weight(i) * Matrix3::Identity(), -weight(i) * (s[i].R * skew(p_[i]));
    return J;
  }
  Vector3 span(const BodyState* s) const {
    Vector3 r = Vector3::Zero();
    for (int i = 0; i < slots(); ++i) r += weight(i) * s[i].point(p_[i]);
    return r;
  }
  Vector3 rate(const BodyState* s) const {
    Vector3 r = Vector3::Zero();
    for (int i = 0; i < slots(); ++i) r += weight(i) * s[i].point_velocity(p_[i]);
    return r;
  }
  Vector3 force(const BodyState* s) const { return k_ * span(s) + c_ * rate(s); }

  std::vector<Vector3> p_;
  double k_, c_;
};

TEST(UserElement, OfThreeAndMoreBodiesHasExactTangentsOnEveryMixtureOfGroups) {
  samples::Source source;
  for (const int count : {3, 5, max_frames})
    for (int mixture = 0; mixture < 4; ++mixture) {
      Mechanism mechanism;
      mechanism.gravity = {0.3, -0.4, -9.81};
      std::vector<int> bodies;
      std::vector<Vector3> points;
      for (int b = 0; b < count; ++b) {
        mechanism.bodies.push_back(samples::random_body(source, "b" + std::to_string(b)));
        mechanism.bodies.back().group = (mixture >> (b % 2)) % 2 == 0 ? GroupId::se3 : GroupId::r3xso3;
        bodies.push_back(b);
        points.push_back(samples::random_point(source));
      }
      mechanism.forces.push_back(std::make_shared<CentroidSpring>(bodies, points, 3.0, 0.4));
      expect_audit_passes(Assembly(std::move(mechanism)), source);
    }
}

/// Without arms r̈ = -k Σ cᵢ²/mᵢ r.
TEST(UserElement, OfThreeBodiesSwingsWithItsFrequency) {
  for (const GroupId group : {GroupId::se3, GroupId::r3xso3}) {
    Mechanism mechanism;
    mechanism.group = group;
    mechanism.bodies = {body_at("a", 1.0, {1.0, 0.0, 0.0}), body_at("b", 2.0, {-1.0, 0.5, 0.0}),
                        body_at("c", 3.0, {0.3, 0.2, 1.0})};
    const Vector3 r0 =
        mechanism.bodies[2].position - 0.5 * (mechanism.bodies[0].position + mechanism.bodies[1].position);
    const double k = 50.0, omega = std::sqrt(k * (0.25 / 1.0 + 0.25 / 2.0 + 1.0 / 3.0)), t_end = 1.7;
    mechanism.forces.push_back(
        std::make_shared<CentroidSpring>(std::vector<int>{0, 1, 2}, std::vector<Vector3>(3, Vector3::Zero()), k, 0.0));
    const Assembly assembly(std::move(mechanism));
    const run::Report report = motion_of(assembly, t_end, 1e-10);
    const Vector3 r =
        position(assembly, 2, report) - 0.5 * (position(assembly, 0, report) + position(assembly, 1, report));
    EXPECT_LT((r - r0 * std::cos(omega * t_end)).norm(), 1e-7);
  }
}

/// Two masses on a cable through an eyelet of a third body: z̈ = ±g (m₁ - m₂)/(m₁ + m₂), tension 2 m₁ m₂ g/(m₁ + m₂).
TEST(Joint, OfThreeBodiesIsAnAtwoodMachine) {
  for (const GroupId group : {GroupId::se3, GroupId::r3xso3}) {
    Mechanism mechanism;
    mechanism.group = group;
    mechanism.gravity = {0.0, 0.0, -9.81};
    mechanism.bodies = {body_at("first", 2.0, {0.0, 0.0, -1.0}), body_at("second", 1.5, {0.0, 0.0, -2.0}),
                        body_at("eyelet", 1.0, {0.0, 0.0, 0.0})};
    mechanism.bodies[1].group = GroupId::se3;
    JointSpec mount;
    mount.name = "mount";
    mount.bodies = {ground, 2};
    mount.frames.resize(2);
    mechanism.joints.push_back(make_joint(find_joint("fixed", false), mount));
    const Vector3 centre = Vector3::Zero();
    multibody::Joint cable("cable", "cable", {0, 1, 2});
    cable.demand(
        combination(1.0, multibody::distance(0, centre, 2, centre), 1.0, multibody::distance(1, centre, 2, centre)),
        Signal(Expression(3.0)));
    mechanism.joints.push_back(std::make_shared<const multibody::Joint>(std::move(cable)));
    const Assembly assembly(std::move(mechanism));
    const double t_end = 0.5, acceleration = 9.81 * 0.5 / 3.5;
    const run::Report report = motion_of(assembly, t_end, 1e-9);
    EXPECT_NEAR(position(assembly, 0, report).z(), -1.0 - 0.5 * acceleration * t_end * t_end, 1e-8);
    EXPECT_NEAR(position(assembly, 1, report).z(), -2.0 + 0.5 * acceleration * t_end * t_end, 1e-8);
    EXPECT_NEAR(report.final.lambda[6], 2.0 * 2.0 * 1.5 * 9.81 / 3.5, 1e-5);
  }
}

/// A mass that slides along the inertial direction e in a body on ℝ³×SO(3); its position y in the body is a node of its own.
/// T = ½ m |u + e ẏ|², V = ½ k y²: the mass couples the two nodes.
class SlidingMass final : public Element {
 public:
  SlidingMass(int body, int coordinate, double mass, double stiffness, const Vector3& direction)
      : Element("sliding-mass", "slider", {body, coordinate}), m_(mass), k_(stiffness), e_(direction.normalized()) {}

  Facets facets() const override { return {.has_mass = true, .has_force = true, .stores_energy = true}; }
  void add_mass(const Instant&, const Blocks& out) const override {
    out.M(0, 0).topLeftCorner<3, 3>().diagonal().array() += m_;
    out.M(0, 1).topRows<3>() += m_ * e_;
    out.M(1, 0).leftCols<3>() += m_ * e_.transpose();
    out.M(1, 1)(0, 0) += m_;
  }
  void add_force(const Instant& at, const Forces& out) const override {
    const Vector3 inertia = m_ * (Eigen::Map<const Vector3>(at.a_of(0)) + e_ * at.a_of(1)[0]);
    Eigen::Map<Vector3>{out.of(0)} += inertia;
    out.of(1)[0] += e_.dot(inertia) + k_ * at.q_of(1)[0];
  }
  void linearize(const Instant&, const Blocks& out) const override { out.K(1, 1)(0, 0) += k_; }
  void add_energy(const Instant& at, system::EnergyParts& parts) const override {
    parts.kinetic += 0.5 * m_ * (Eigen::Map<const Vector3>(at.v_of(0)) + e_ * at.v_of(1)[0]).squaredNorm();
    parts.elastic += 0.5 * k_ * at.q_of(1)[0] * at.q_of(1)[0];
  }

 private:
  double m_, k_;
  Vector3 e_;
};

/// ẏ swings with √(k (1/m + 1/M)), and the common centre of mass moves straight on.
TEST(UserElement, WithMassOfItsOwnCouplesABodyToACoordinate) {
  samples::Source source;
  Mechanism mechanism;
  mechanism.bodies = {body_at("carriage", 4.0, {0.0, 0.0, 0.0})};
  mechanism.bodies[0].velocity = {0.2, 0.0, 0.0};
  const Vector3 e = Vector3(1.0, 2.0, 0.5).normalized();
  mechanism.nodes.push_back({"slide", {GroupId::rn, 1}, system::CoordinateKind::dynamic, Vector::Constant(1, 0.1), {}});
  mechanism.elements.push_back(std::make_shared<SlidingMass>(0, 1, 1.0, 30.0, e));
  const Assembly assembly(std::move(mechanism));
  expect_audit_passes(assembly, source);
  const double t_end = 2.0, omega = std::sqrt(30.0 * (1.0 / 1.0 + 1.0 / 4.0));
  for (const char* linear_solver : {"tree", "dense", "sparse"}) {
    const run::Report report = motion_of(assembly, t_end, 1e-10, linear_solver);
    const double y = report.final.motion.q[7];
    EXPECT_NEAR(y, 0.1 * std::cos(omega * t_end), 1e-7) << linear_solver;
    const Vector3 centre = position(assembly, 0, report) + 0.2 * y * e;
    EXPECT_LT((centre - (0.02 * e + Vector3(0.2 * t_end, 0.0, 0.0))).norm(), 1e-7) << linear_solver;
  }
}

/// One component of v of a body is zero. On SE(3) the second makes a knife edge along x at the centre of mass: U_y = 0.
class HeldVelocity final : public Element {
 public:
  HeldVelocity(std::string name, int body, int component)
      : Element("held-velocity", std::move(name), {body}), component_(component) {}

  Facets facets() const override { return {.rows = 1, .level = system::RowLevel::velocity}; }
  void constraint(const Instant& at, double*, double* rate) const override { *rate = at.v_of(0)[component_]; }
  void add_constraint_force(const Instant&, const double* mu, const Forces& out) const override {
    out.of(0)[component_] += *mu;
  }
  void jacobian(const Instant&, const Blocks& out) const override { out.B(0) = Vector6::Unit(component_).transpose(); }
  void linearize_constraint(const Instant& at, const Blocks& out) const override {
    jacobian(at, out);
    out.H(0).setZero();
  }
  void acceleration_gap(const Instant& at, double* z) const override { *z = at.a_of(0)[component_]; }

 private:
  int component_;
};

TEST(UserElement, WithAVelocityRowStandsBehindTheJointsAndSteersACircle) {
  samples::Source source;
  Mechanism mechanism;
  mechanism.group = GroupId::se3;
  mechanism.bodies = {body_at("skate", 2.0, Vector3::Zero())};
  const double speed = 1.5, turn = 2.0, t_end = 1.3;
  mechanism.bodies[0].velocity = {speed, 0.0, 0.0};
  mechanism.bodies[0].angular_velocity = {0.0, 0.0, turn};
  JointSpec plane;
  plane.name = "plane";
  plane.bodies = {ground, 0};
  plane.frames.resize(2);
  mechanism.elements.push_back(std::make_shared<HeldVelocity>("edge", 0, 1));
  mechanism.joints.push_back(make_joint(find_joint("planar", false), plane));
  const Assembly assembly(std::move(mechanism));
  EXPECT_EQ(assembly.pattern().position_rows(), 3);
  EXPECT_EQ(assembly.pattern().rows(), 4);
  expect_audit_passes(assembly, source);
  const run::Report report = motion_of(assembly, t_end, 1e-9);
  const Vector3 expected(speed / turn * std::sin(turn * t_end), speed / turn * (1.0 - std::cos(turn * t_end)), 0.0);
  EXPECT_LT((position(assembly, 0, report) - expected).norm(), 1e-7);
}

/// ż = u_x of a body on ℝ³×SO(3), in a state of its own, or in a node that it is given.
class Odometer final : public Element {
 public:
  explicit Odometer(std::vector<int> nodes) : Element("odometer", "odometer", std::move(nodes)) {}

  Facets facets() const override { return {.states = slots() == 1 ? 1 : 0, .has_force = true}; }
  void start(const Instant&, double* z) const override { *z = 5.0; }
  void add_force(const Instant& at, const Forces& out) const override { out.of(1)[0] -= at.v_of(0)[0]; }
  void linearize(const Instant&, const Blocks& out) const override { out.D(1, 0)(0, 0) -= 1.0; }
};

TEST(UserElement, HasStatesOfItsOwnOrInAGivenNode) {
  samples::Source source;
  for (const bool has_own : {true, false}) {
    Mechanism mechanism;
    mechanism.gravity = {3.0, 0.0, 0.0};
    mechanism.bodies = {body_at("car", 2.0, Vector3::Zero())};
    mechanism.bodies[0].velocity = {1.0, 0.0, 0.0};
    if (!has_own)
      mechanism.nodes.push_back(
          {"distance", {GroupId::rn, 1}, system::CoordinateKind::state, Vector::Constant(1, 5.0), {}});
    mechanism.elements.push_back(std::make_shared<Odometer>(has_own ? std::vector<int>{0} : std::vector<int>{0, 1}));
    const Assembly assembly(std::move(mechanism));
    expect_audit_passes(assembly, source);
    EXPECT_EQ(assembly.start(1.0).v0[6], 1.0);
    const run::Report report = motion_of(assembly, 2.0, 1e-9);
    EXPECT_NEAR(report.final.motion.q[7], 5.0 + 2.0 + 6.0, 1e-7);
    EXPECT_NEAR(report.final.motion.v[6], 7.0, 1e-7);
  }
}

/// A blow on a body on ℝ³×SO(3), 1 ms long, at a time that steps do not find by themselves.
class Blow final : public Element {
 public:
  Blow(int body, double time) : Element("blow", "blow", {body}), time_(time) {}

  Facets facets() const override { return {.has_force = true, .does_work = true}; }
  void add_force(const Instant& at, const Forces& out) const override {
    if (at.t >= time_ && at.t < time_ + 1e-3) out.of(0)[0] -= 1000.0;
  }
  system::Corner next_corner(double t, double until, double) const override {
    for (const double corner : {time_, time_ + 1e-3})
      if (corner > t && corner < until) return {corner, -1};
    return {};
  }

 private:
  double time_;
};

TEST(UserElement, SaysWhereItsCornersAre) {
  Mechanism mechanism;
  mechanism.bodies = {body_at("ball", 1.0, Vector3::Zero())};
  mechanism.elements.push_back(std::make_shared<Blow>(0, 0.5));
  const run::Report report = motion_of(Assembly(std::move(mechanism)), 1.0, 1e-8);
  EXPECT_NEAR(report.final.motion.v[0], 1.0, 1e-6);
}

/// V = ½ k |Σ cᵢ xᵢ|² over any number of bodies on ℝ³×SO(3), without BodyState.
class Net final : public Element {
 public:
  Net(std::vector<int> nodes, double stiffness) : Element("net", "net", std::move(nodes)), k_(stiffness) {}

  Facets facets() const override { return {.has_force = true, .stores_energy = true}; }
  void add_force(const Instant& at, const Forces& out) const override {
    const Vector3 f = k_ * sum(at);
    for (int i = 0; i < slots(); ++i) Eigen::Map<Vector3>{out.of(i)} += weight(i) * f;
  }
  void linearize(const Instant&, const Blocks& out) const override {
    for (int i = 0; i < slots(); ++i)
      for (int j = 0; j < slots(); ++j)
        out.K(i, j).topLeftCorner<3, 3>().diagonal().array() += k_ * weight(i) * weight(j);
  }
  void add_energy(const Instant& at, system::EnergyParts& parts) const override {
    parts.elastic += 0.5 * k_ * sum(at).squaredNorm();
  }

 private:
  static double weight(int i) { return i % 3 == 0 ? 1.0 : -0.4; }
  Vector3 sum(const Instant& at) const {
    Vector3 r = Vector3::Zero();
    for (int i = 0; i < slots(); ++i) r += weight(i) * Eigen::Map<const Vector3>(at.q_of(i));
    return r;
  }
  double k_;
};

TEST(UserElement, OnNodesHasNoLimitAndEverySolverSeesItsCouplings) {
  samples::Source source;
  Mechanism mechanism;
  std::vector<int> nodes;
  for (int b = 0; b < 12; ++b) {
    mechanism.bodies.push_back(samples::random_body(source, "b" + std::to_string(b)));
    mechanism.bodies.back().position = samples::random_point(source);
    nodes.push_back(b);
    JointSpec link;
    link.name = "link" + std::to_string(b);
    link.bodies = {b - 1, b};
    link.frames.resize(2);
    link.frames[1].p = b == 0 ? Vector3(-mechanism.bodies[0].position)
                              : Vector3(mechanism.bodies[b - 1].position - mechanism.bodies[b].position);
    mechanism.joints.push_back(make_joint(find_joint("spherical", false), link));
  }
  mechanism.elements.push_back(std::make_shared<Net>(nodes, 7.0));
  mechanism.gravity = {0.0, 0.0, -9.81};
  const Assembly assembly(std::move(mechanism));
  expect_audit_passes(assembly, source);
  Vector q[3];
  for (const int i : {0, 1, 2})
    q[i] = motion_of(assembly, 0.3, 1e-9, std::array{"tree", "sparse", "dense"}[i]).final.motion.q;
  EXPECT_LT((q[0] - q[1]).norm(), 1e-8);
  EXPECT_LT((q[0] - q[2]).norm(), 1e-8);
}

/// A long chain with a spring over every three neighbours and a state at each: still a band, which the tree eliminates.
TEST(UserElement, OfThreeBodiesAlongAChainIsSolvedAlongTheTree) {
  const int n = 60;
  Mechanism mechanism;
  mechanism.gravity = {0.0, 0.0, -9.81};
  for (int b = 0; b < n; ++b) {
    mechanism.bodies.push_back(body_at("b" + std::to_string(b), 1.0, Vector3(b + 0.5, 0.0, 0.0)));
    mechanism.bodies.back().group = b % 3 == 0 ? GroupId::se3 : GroupId::r3xso3;
    JointSpec link;
    link.name = "link" + std::to_string(b);
    link.bodies = {b - 1, b};
    link.frames.resize(2);
    link.frames[0].p = b == 0 ? Vector3(0.0, 0.0, 0.0) : Vector3(0.5, 0.0, 0.0);
    link.frames[1].p = {-0.5, 0.0, 0.0};
    mechanism.joints.push_back(make_joint(find_joint("spherical", false), link));
    if (b % 3 != 0) mechanism.elements.push_back(std::make_shared<Odometer>(std::vector<int>{b}));
    if (b < 2) continue;
    const std::vector<Vector3> points(3, Vector3(0.0, 0.1, 0.2));
    mechanism.forces.push_back(std::make_shared<CentroidSpring>(std::vector<int>{b - 2, b - 1, b}, points, 50.0, 1.0));
  }
  const Assembly assembly(std::move(mechanism));
  const run::Report tree = motion_of(assembly, 0.1, 1e-8), sparse = motion_of(assembly, 0.1, 1e-8, "sparse");
  EXPECT_EQ(tree.linear_solver, "tree");
  EXPECT_LT((tree.final.motion.q - sparse.final.motion.q).norm(), 1e-7);
}

// ---- groups per body

const char* const mixed_text = R"json({"gravity": [0, 0, -9.81], %s
  "bodies": [
    {"name": "crank", %0 "mass": 1, "inertia": [1e-4, 0.0834, 0.0834], "position": [0.5, 0, 0]},
    {"name": "rod", %1 "mass": 2, "inertia": [1e-4, 0.7, 0.7], "position": [2, 0, 0]},
    {"name": "slider", %2 "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [3, 0, 0],
     "rotation": {"axis": [1, 2, 3], "angle": 1}}],
  "joints": [
    {"name": "pin", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 1, 0]},
    {"name": "knee", "type": "revolute", "between": ["crank", "rod"], "at": [1, 0, 0], "axis": [0, 1, 0]},
    {"name": "guide", "type": "prismatic", "between": ["rod", "slider"], "at": [3, 0, 0], "axis": [1, 0, 0]}],
  "forces": [
    {"type": "joint-friction", "joint": "knee", "coefficient": 0.2, "radius": 0.1, "law": "stick-slip",
     "deflection": 1e-2},
    {"type": "joint-friction", "joint": "guide", "coefficient": 0.1},
    {"type": "torsional-spring-damper", "between": ["ground", "crank"], "axis": [0, 1, 0], "stiffness": 3,
     "damping": 0.1, "angle": -7},
    {"type": "bushing", "between": ["crank", "slider"], "at": [1, 0, 0], "stiffness": [1, 2, 3],
     "damping": [0.1, 0.2, 0.1]},
    {"type": "applied", "on": "rod", "at": [2, 0, 0], "force": [0, 0, "sin(3*t)"], "frame": "body"}]})json";

io::ModelFile mixed(const std::string& all, const std::array<std::string, 3>& own) {
  std::string text = mixed_text;
  const auto put = [&](const std::string& mark, const std::string& group) {
    text.replace(text.find(mark), mark.size(), group.empty() ? "" : "\"group\": \"" + group + "\",");
  };
  put("%s", all);
  for (int i = 0; i < 3; ++i) put("%" + std::to_string(i), own[i]);
  return io::read_model(io::JsonSource("mixed.json", text));
}

TEST(Groups, OfTheBodiesMayDifferWithoutInfluenceOnTheMotion) {
  const auto end = [](const io::ModelFile& file) {
    samples::Source source;
    const Assembly& assembly = *file.assembly;
    const run::Report report = motion_of(assembly, 0.6, 1e-9);
    Vector out(3 * 12 + 2);
    assembly.space().embed(report.final.motion.q, out);
    return out;
  };
  const Vector inertial = end(mixed("", {})), body = end(mixed("se3", {}));
  EXPECT_LT((inertial - body).norm(), 2e-7);
  for (const auto& own : {std::array<std::string, 3>{"se3", "", "se3"}, {"r3xso3", "se3", "r3xso3"}, {"", "", "se3"}}) {
    const io::ModelFile file = mixed("r3xso3", own);
    for (int b = 0; b < 3; ++b)
      EXPECT_EQ(file.assembly->space().blocks()[b].group, own[b] == "se3" ? GroupId::se3 : GroupId::r3xso3);
    EXPECT_LT((end(file) - inertial).norm(), 2e-7) << own[0] << own[1] << own[2];
  }
}

TEST(Groups, OfABodyThatAreUnknownAreRefusedWhereTheyStand) {
  try {
    mixed("se3", {"", "so3", ""});
    ADD_FAILURE() << "accepted";
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("/bodies/1/group"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("r3xso3"), std::string::npos) << e.what();
  }
}

// ---- the active mask

TEST(ActiveMask, WithoutAJointTheMotionIsThatOfTheModelWithoutIt) {
  const auto built = [](bool has_brake) {
    Mechanism mechanism;
    mechanism.gravity = {0.0, 0.0, -9.81};
    mechanism.group = GroupId::se3;
    mechanism.bodies = {body_at("first", 1.0, {0.5, 0.0, 0.0}), body_at("second", 1.0, {1.5, 0.0, 0.0})};
    for (int b = 0; b < 2; ++b) {
      JointSpec hinge;
      hinge.name = "hinge" + std::to_string(b);
      hinge.bodies = {b - 1, b};
      hinge.frames.resize(2);
      hinge.frames[0].p = b == 0 ? Vector3(0.0, 0.0, 0.0) : Vector3(0.5, 0.0, 0.0);
      hinge.frames[1].p = {-0.5, 0.0, 0.0};
      for (Frame& frame : hinge.frames) frame.E = axes_along(Vector3::UnitY());
      mechanism.joints.push_back(make_joint(find_joint("revolute", false), hinge));
    }
    if (has_brake) {
      JointSpec brake;
      brake.name = "brake";
      brake.bodies = {0, 1};
      brake.frames.resize(2);
      mechanism.joints.insert(mechanism.joints.begin() + 1, make_joint(find_joint("angle", true), brake));
    }
    ForceSpec friction;
    friction.name = "rubbing";
    friction.joint = mechanism.joints.back();
    friction.words["law"] = "stick-slip";
    for (const auto& [key, value] :
         {std::pair{"coefficient", 0.1}, {"radius", 0.1}, {"viscous", 0.0}, {"smoothing_load", 1e-3}})
      friction.numbers[key] = value;
    mechanism.forces.push_back(find_force("joint-friction").build(friction));
    return mechanism;
  };
  const Assembly all(built(true)), fewer(built(false));
  const std::shared_ptr<Assembly> released = all.without({"brake"});
  EXPECT_EQ(released->pattern().rows(), 10);
  EXPECT_EQ(released->joint_count(), 2);
  EXPECT_EQ(released->joint_name(1), "hinge1");
  const run::Report a = motion_of(*released, 0.5, 1e-8), b = motion_of(fewer, 0.5, 1e-8);
  EXPECT_EQ(a.final.motion.q, b.final.motion.q);
  EXPECT_EQ(a.final.lambda, b.final.lambda);
  EXPECT_EQ(a.counters.steps, b.counters.steps);
  // Elements are shared, and switching on again gives the whole.
  EXPECT_EQ(released->elements(), all.elements());
  EXPECT_EQ(released->with(all.active())->pattern().rows(), 11);

  // What rubs in a joint that is off is off as well; its bristles rest, and stay among the coordinates.
  const std::shared_ptr<Assembly> loose = all.without({"brake", "hinge1"});
  EXPECT_FALSE(loose->active()[loose->element_named("rubbing")]);
  EXPECT_TRUE(loose->is_affine_in_multipliers());
  EXPECT_EQ(loose->space().nv(), all.space().nv());
  const run::Report falls = motion_of(*loose, 0.5, 1e-10);
  EXPECT_NEAR(loose->body_pose(1, falls.final.motion.q).x.z(), -0.5 * 9.81 * 0.25, 1e-8);
  EXPECT_EQ(falls.final.motion.v.tail(1)[0], 0.0);
}

TEST(ActiveMask, RefusesWhatItCannotSwitch) {
  const io::ModelFile file = mixed("", {});
  const auto complaint = [&](const auto& attempt) -> std::string {
    try {
      attempt();
    } catch (const InvalidInput& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(complaint([&] { file.assembly->without({"gide"}); }).find("'guide'"), std::string::npos)
      << complaint([&] { file.assembly->without({"gide"}); });
  EXPECT_NE(complaint([&] { file.assembly->with({true}); }).find("mask of 1"), std::string::npos);
  std::vector<bool> bodiless = file.assembly->active();
  bodiless[1] = false;
  EXPECT_NE(complaint([&] { file.assembly->with(bodiless); }).find("body 'rod' cannot be switched off"),
            std::string::npos);
}

TEST(ActiveMask, AsksWhichOneWhenTwoElementsHaveTheName) {
  Mechanism mechanism;
  mechanism.bodies = {body_at("a", 1.0, Vector3::Zero())};
  for (int i = 0; i < 2; ++i)
    mechanism.forces.push_back(std::make_shared<CentroidSpring>(std::vector<int>{ground, 0},
                                                                std::vector<Vector3>(2, Vector3::Zero()), 1.0, 0.0));
  EXPECT_THROW(Assembly(std::move(mechanism)).without({"to the centroid"}), InvalidInput);
}

/// A brake on the spin of an arm closes at t = 0.2 and opens at 0.4: the mask gives what three separate mechanisms give.
TEST(ActiveMask, SwitchesOnAndOffInOneRunWithTheBitsOfSeparateMechanisms) {
  const auto built = [](bool has_brake) {
    Mechanism mechanism;
    mechanism.gravity = {0.0, 0.0, -9.81};
    mechanism.bodies = {body_at("arm", 1.0, {0.5, 0.0, 0.0})};
    mechanism.bodies[0].angular_velocity = {3.0, 0.0, 0.0};
    JointSpec hinge;
    hinge.name = "hinge";
    hinge.bodies = {ground, 0};
    hinge.frames.resize(2);
    hinge.frames[1].p = {-0.5, 0.0, 0.0};
    mechanism.joints.push_back(make_joint(find_joint("spherical", false), hinge));
    if (has_brake) mechanism.elements.push_back(std::make_shared<HeldVelocity>("brake", 0, 3));
    return mechanism;
  };
  using Ptr = std::shared_ptr<Assembly>;
  const auto run = [](const Ptr& open, const Ptr& closed, const Ptr& again) {
    const auto at = [](double time, std::shared_ptr<const Assembly> next) -> system::Event {
      return {.name = "switch",
              .function = [time](double t, const Vector&, const Vector&, const Vector&) { return t - time; },
              .direction = system::Direction::rising,
              .action = system::Switch{[next](auto&&...) { return next; }}};
    };
    closed->set_events({at(0.4, again)});
    open->set_events({at(0.2, closed)});
    return motion_of(*open, 0.6, 1e-8);
  };
  const Ptr whole = std::make_shared<Assembly>(built(true));
  const run::Report a = run(whole->without({"brake"}), whole, whole->without({"brake"}));
  const run::Report b = run(std::make_shared<Assembly>(built(false)), std::make_shared<Assembly>(built(true)),
                            std::make_shared<Assembly>(built(false)));
  EXPECT_EQ(a.final.motion.q, b.final.motion.q);
  EXPECT_EQ(a.final.motion.v, b.final.motion.v);
  EXPECT_EQ(a.counters.steps, b.counters.steps);
  EXPECT_EQ(a.events.size(), 2u);
  EXPECT_NEAR(a.final.motion.v[3], 0.0, 1e-8) << "the spin is gone";
}

/// A node on SE(3) with the inertia of a body is a body to joints and forces.
TEST(Nodes, WithAPoseTakeJointsAndForces) {
  const auto built = [](bool has_body) {
    Mechanism mechanism;
    mechanism.group = GroupId::se3;
    mechanism.gravity = {0.0, 0.0, -9.81};
    const Body body = body_at("rod", 2.0, {0.5, 0.0, 0.0});
    if (has_body) {
      mechanism.bodies = {body};
    } else {
      Vector q0(7);
      q0 << 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0;
      mechanism.nodes.push_back({"rod", {GroupId::se3, 0}, system::CoordinateKind::dynamic, q0, {}});
      mechanism.elements.push_back(std::make_shared<RigidBody>(body, 0, mechanism.gravity));
    }
    JointSpec hinge;
    hinge.name = "hinge";
    hinge.bodies = {ground, 0};
    hinge.frames.resize(2);
    hinge.frames[1].p = {-0.5, 0.0, 0.0};
    mechanism.joints.push_back(make_joint(find_joint("spherical", false), hinge));
    mechanism.forces.push_back(std::make_shared<CentroidSpring>(std::vector<int>{ground, 0},
                                                                std::vector<Vector3>(2, Vector3::UnitX()), 5.0, 0.1));
    return mechanism;
  };
  const run::Report body = motion_of(Assembly(built(true)), 0.5, 1e-8),
                    node = motion_of(Assembly(built(false)), 0.5, 1e-8);
  EXPECT_EQ(body.final.motion.q, node.final.motion.q);
}

// ---- programs

TEST(Programs, AddNodesElementsAndBodiesOnTheirOwnGroups) {
  kreisel::Mechanism mechanism;
  mechanism.set_gravity(Vector3::Zero());
  mechanism.add_body({.name = "carriage", .mass = 4.0});
  mechanism.add_body({.name = "other", .group = GroupId::se3, .velocity = {0.0, 1.0, 0.0}});
  EXPECT_THROW(mechanism.add_body({.name = "wrong", .group = GroupId::so3}), InvalidInput);
  const int slide =
      mechanism.add_node({"slide", {GroupId::rn, 1}, system::CoordinateKind::dynamic, Vector::Constant(1, 0.1), {}});
  EXPECT_EQ(slide, 2);
  EXPECT_THROW(mechanism.add_body({.name = "late"}), InvalidInput);
  mechanism.add_element(std::make_shared<SlidingMass>(0, slide, 1.0, 30.0, Vector3::UnitX()));
  EXPECT_THROW(mechanism.add_element(nullptr), InvalidInput);
  const run::Problem problem = mechanism.problem({.t_end = 2.0});
  run::Options options;
  options.t_end = 2.0;
  options.rtol = options.atol = 1e-10;
  run::Observer nobody;
  const run::Report report = run::integrate(*problem.system, problem.start, options, nobody);
  EXPECT_NEAR(report.final.motion.q[14], 0.1 * std::cos(std::sqrt(37.5) * 2.0), 1e-7);
  EXPECT_NEAR(problem.system->body_pose(1, report.final.motion.q).x.y(), 2.0, 1e-9);
}

TEST(Programs, AreToldWhatDoesNotFit) {
  const auto complaint = [](auto change) -> std::string {
    Mechanism mechanism;
    mechanism.bodies = {body_at("a", 1.0, Vector3::Zero()), body_at("b", 1.0, Vector3::UnitX())};
    mechanism.nodes.push_back({"z", {GroupId::rn, 1}, system::CoordinateKind::state, {}, {}});
    change(mechanism);
    try {
      const Assembly assembly(std::move(mechanism));
    } catch (const InvalidInput& e) {
      return e.what();
    }
    return "accepted";
  };
  const auto spring = [](std::vector<int> on) {
    const std::vector<Vector3> points(on.size(), Vector3::Zero());
    return std::make_shared<CentroidSpring>(std::move(on), points, 1.0, 0.0);
  };
  EXPECT_EQ(complaint([&](Mechanism& m) { m.forces.push_back(spring({0, 1})); }), "accepted");
  EXPECT_NE(complaint([&](Mechanism& m) {
              m.forces.push_back(spring({0, 3}));
            }).find("refers to node 3, but there are 3"),
            std::string::npos);
  EXPECT_NE(complaint([&](Mechanism& m) { m.forces.push_back(spring({0, 0})); }).find("'a' twice"), std::string::npos);
  EXPECT_NE(complaint([&](Mechanism& m) {
              m.forces.push_back(spring({0, 2}));
            }).find("'z' is on rn"),
            std::string::npos);
  EXPECT_NE(complaint([&](Mechanism& m) {
              m.forces.push_back(spring({ground, ground}));
            }).find("only the ground"),
            std::string::npos);
  EXPECT_NE(
      complaint([&](Mechanism& m) { m.forces.push_back(spring(std::vector<int>(9, ground))); }).find("only the ground"),
      std::string::npos);
  EXPECT_NE(complaint([&](Mechanism& m) { m.forces.push_back(nullptr); }).find("empty pointer"), std::string::npos);
  EXPECT_NE(complaint([&](Mechanism& m) { m.nodes[0].q0 = Vector::Zero(2); }).find("starts with 2 and 0 numbers"),
            std::string::npos);
  EXPECT_NE(complaint([&](Mechanism& m) { m.bodies[0].group = GroupId::so3; }).find("body 'a'"), std::string::npos);
  std::vector<int> many{0, 1};
  many.resize(9, ground);
  EXPECT_NE(complaint([&](Mechanism& m) { m.forces.push_back(spring(many)); }).find("at most 8"), std::string::npos);
}

TEST(Elements, AskForNoMemory) {
  for (const char* group : {"r3xso3", "se3"}) {
    const io::ModelFile file = mixed(group, {"", "se3", ""});
    const Assembly& assembly = *file.assembly;
    const int rows = assembly.pattern().rows();
    system::Motion m(assembly.space());
    m.q = file.model.start.q0;
    m.v = file.model.start.v0;
    system::Residual residual(assembly.space().nv(), rows, rows);
    system::KktBlocks blocks(assembly.pattern());
    Vector lambda = Vector::Ones(rows), z(rows), force(assembly.space().nv());
    const long before = support::allocation_count();
    assembly.residual(m, lambda, residual);
    assembly.linearize(m, lambda, blocks);
    assembly.acceleration_gap(m, z);
    assembly.saddle_point(m, lambda, blocks, residual, z);
    assembly.constraint_force(m, lambda, force);
    const double energy =
        assembly.energy(m) + assembly.power(m, lambda).total() + assembly.reaction(1, m, lambda).force.norm();
    EXPECT_EQ(support::allocation_count(), before) << energy;
  }
}

}  // namespace
