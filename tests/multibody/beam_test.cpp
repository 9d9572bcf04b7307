// Beams against the continuous equations of rods: exact bends, order 4 in the element length, tangents, motion.
#include "multibody/beam.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <array>
#include <cmath>

#include "kreisel/check.hpp"
#include "kreisel/mechanism.hpp"
#include "lie/se3.hpp"
#include "multibody/force.hpp"
#include "multibody/joint.hpp"
#include "multibody/rod.hpp"
#include "multibody/samples.hpp"
#include "run/integrator.hpp"
#include "system/dense.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::multibody;
using multibody::Body;
using multibody::ground;
using multibody::Mechanism;

JointPtr clamp(int body, const Frame& at) {
  JointSpec spec;
  spec.name = "clamp";
  spec.bodies = {ground, body};
  spec.frames = {at, Frame{}};
  return make_joint(find_joint("fixed", false), spec);
}

RodSection section_of(const Matrix6& stiffness, SectionLaw law = SectionLaw::magnus) {
  RodSection section;
  section.beam.compliance = stiffness.inverse();
  section.beam.law = law;
  return section;
}

Matrix6 diagonal(double EA, double GAy, double GAz, double GJ, double EIy, double EIz) {
  Vector6 d;
  d << EA, GAy, GAz, GJ, EIy, EIz;
  return d.asDiagonal();
}

system::Residual residual_of(const Assembly& assembly) {
  return {assembly.space().nv(), assembly.pattern().position_rows(), assembly.pattern().rows()};
}

/// The position of the last node in equilibrium under a dead force there, raised in steps; Newton's method on g + Bᵀλ = F, Φ = 0.
Vector3 tip_under(const Rod& rod, const Vector3& force, int steps) {
  Mechanism mechanism;
  const int first = add_rod(mechanism, rod);
  mechanism.joints.push_back(clamp(first, rod.nodes[0]));
  const Assembly assembly(std::move(mechanism));
  const int nv = assembly.space().nv(), rows = assembly.pattern().rows(), last = nv - 6;
  system::Motion m(assembly.space());
  m.q = assembly.start(1.0).q0;
  Vector lambda = Vector::Zero(rows);
  system::Residual residual = residual_of(assembly);
  system::KktBlocks blocks(assembly.pattern());
  Vector q = m.q;
  for (int step = 1; step <= steps; ++step)
    for (int iteration = 0; iteration < 30; ++iteration) {
      assembly.residual(m, lambda, residual);
      assembly.linearize(m, lambda, blocks);
      const Matrix3 R = lie::rotation_matrix(m.q.data() + m.q.size() - 4);
      const Vector3 F = R.transpose() * force * (static_cast<double>(step) / steps);
      Matrix A = Matrix::Zero(nv + rows, nv + rows);
      A.topLeftCorner(nv, nv) = system::dense_coupling(assembly, blocks.K);
      A.block(last, last + 3, 3, 3) -= skew(F);
      A.bottomLeftCorner(rows, nv) = system::dense_rows(assembly, blocks.B);
      A.topRightCorner(nv, rows) = A.bottomLeftCorner(rows, nv).transpose();
      Vector b(nv + rows);
      b << residual.force, residual.gap;
      b.segment(last, 3) -= F;
      const Vector x = A.partialPivLu().solve(-b);
      assembly.space().move(m.q, x.head(nv), q);
      m.q = q;
      lambda += x.tail(rows);
      if (x.head(nv).norm() < 1e-10) break;
    }
  return m.q.segment(m.q.size() - 7, 3);
}

TEST(Beam, HasExactTangentsOnEveryGroupWithEveryLaw) {
  samples::Source source;
  // With and without rigid strains, whose rows are Φ and whose λ act.
  const std::array<std::array<bool, 3>, 3> rigid{{{false, false, false}, {true, false, false}, {true, true, true}}};
  for (const SectionLaw law : {SectionLaw::constant, SectionLaw::magnus})
    for (const double damping : {0.0, 0.03})
      for (int mixture = 0; mixture < 12; ++mixture) {
        Mechanism mechanism;
        for (int i = 0; i < 2; ++i) {
          Body body;
          body.name = "body " + std::to_string(i);
          body.group = (mixture >> i) % 2 == 0 ? lie::GroupId::se3 : lie::GroupId::r3xso3;
          mechanism.bodies.push_back(body);
        }
        Matrix6 K = Matrix6::Random();
        K = K * K.transpose() + diagonal(5.0, 4.0, 3.0, 1.0, 2.0, 3.0);
        if (mixture % 3 == 0) K = Matrix6(K.diagonal().asDiagonal());
        BeamSection section{K.inverse(), damping, law, rigid[mixture / 4]};
        Vector6 strain0;
        strain0 << 1.0, 0.1, -0.2, 0.3, 0.4, -0.2;
        if (mixture % 2 == 1) strain0 = Vector6::Unit(0);
        mechanism.elements.push_back(std::make_shared<Beam>("free", 0, samples::random_frame(source), 1,
                                                            samples::random_frame(source), 0.7, strain0, section));
        mechanism.elements.push_back(std::make_shared<Beam>("held", ground, samples::random_frame(source), 1,
                                                            samples::random_frame(source), 0.7, strain0, section));
        const Assembly assembly(std::move(mechanism));
        int checked = 0;
        for (int trial = 0; trial < 12 && checked < 3; ++trial) {
          system::Motion m = samples::random_motion(source, assembly.space(), trial);
          system::Residual residual = residual_of(assembly);
          const Vector lambda = Vector::Random(assembly.pattern().rows());
          assembly.residual(m, lambda, residual);
          if (!residual.force.allFinite()) continue;  // bent too far
          ++checked;
          for (const system::AuditFinding& finding : system::audit(assembly, m, lambda))
            EXPECT_TRUE(finding.ok()) << finding.what << ": error " << finding.error << ", tolerance "
                                      << finding.tolerance;
        }
        EXPECT_EQ(checked, 3);
      }
}

/// Neighbours are evaluated two at a time: with the bits of each alone, also where one of them is bent far.
TEST(Beam, ElementsAndNodesInPairsGiveTheBitsOfSingleOnes) {
  samples::Source source;
  Vector6 strain0 = Vector6::Unit(0);
  int compared = 0;
  for (const SectionLaw law : {SectionLaw::constant, SectionLaw::magnus})
    for (const double damping : {0.0, 0.03})
      for (const double bend : {1e-3, 0.1, 0.5, 2.0}) {
        BeamSection section{diagonal(50.0, 40.0, 30.0, 1.0, 2.0, 3.0).inverse(), damping, law};
        const auto assembly_of = [&](bool with_first, bool with_second) {
          Mechanism mechanism;
          mechanism.gravity = Vector3(1.0, -2.0, 3.0);
          for (int i = 0; i < 3; ++i) {
            Body body;
            body.name = "body " + std::to_string(i);
            body.group = lie::GroupId::se3;
            body.mass = 1.3 + i;
            body.inertia << 2.0, 0.1 * i, 0.2, 0.1 * i, 3.0, -0.3, 0.2, -0.3, 4.0;
            mechanism.bodies.push_back(body);
          }
          for (const int e : {0, 1})
            if (e == 0 ? with_first : with_second)
              mechanism.elements.push_back(
                  std::make_shared<Beam>("beam", e, Frame{}, e + 1, Frame{}, 0.7 + 0.1 * e, strain0, section));
          return Assembly(std::move(mechanism));
        };
        const Assembly both = assembly_of(true, true), first = assembly_of(true, false),
                       second = assembly_of(false, true);
        system::Motion m(both.space());
        m.v = samples::random_vector(source, 18, 1.0);
        m.a = Vector::Zero(18);
        Vector6 way = source.vector<Vector6>();
        m.q.head<7>() = lie::SE3::exp(way);
        for (int i = 0; i < 2; ++i) {
          way = (i == 0 ? bend : 0.05) * source.vector<Vector6>().normalized() + 0.7 * Vector6::Unit(0);
          m.q.segment<7>(7 * (i + 1)) = lie::SE3::compose(m.q.segment<7>(7 * i), lie::SE3::exp(way));
        }
        m.q.segment<4>(10) *= -1.0;  // the same rotation
        const auto force = [&](const Assembly& assembly) {
          system::Residual residual = residual_of(assembly);
          assembly.residual(m, Vector(), residual);
          return residual.force;
        };
        const Vector together = force(both), one = force(first), other = force(second);
        const Vector bodies = force(assembly_of(false, false));
        ASSERT_TRUE(together.allFinite());
        // Every node has one body and one or two elements, added in their order.
        EXPECT_EQ(together.head<6>(), one.head<6>());
        EXPECT_EQ(together.tail<6>(), other.tail<6>());
        EXPECT_LT((together - (one + other - bodies)).lpNorm<Eigen::Infinity>(), 1e-13 * together.norm());
        const auto alone = [&](int i) {
          Mechanism mechanism;
          mechanism.gravity = Vector3(1.0, -2.0, 3.0);
          mechanism.bodies.push_back(both.mechanism().bodies[i]);
          const Assembly body(std::move(mechanism));
          system::Motion n(body.space());
          n.q = m.q.segment<7>(7 * i);
          n.v = m.v.segment<6>(6 * i);
          n.a = m.a.segment<6>(6 * i);
          system::Residual residual = residual_of(body);
          body.residual(n, Vector(), residual);
          return std::pair(residual.force, body.energy_parts(n));
        };
        system::EnergyParts sum;
        for (int i = 0; i < 3; ++i) {
          const auto [its_force, its_energy] = alone(i);
          EXPECT_EQ(bodies.segment(6 * i, 6), its_force) << i;
          sum.kinetic += its_energy.kinetic;
          sum.potential += its_energy.potential;
        }
        EXPECT_EQ(both.energy_parts(m).kinetic, sum.kinetic);
        EXPECT_EQ(both.energy_parts(m).potential, sum.potential);
        EXPECT_EQ(both.energy_parts(m).elastic, first.energy_parts(m).elastic + second.energy_parts(m).elastic);
        ++compared;
      }
  EXPECT_EQ(compared, 16);
}

/// A moment 2πEI/L bends a straight rod to a circle, and (τGJ, 0, κEI) to a helix: constant strain, exact on every mesh.
TEST(Beam, BendsExactlyUnderEndMoments) {
  for (const SectionLaw law : {SectionLaw::constant, SectionLaw::magnus})
    for (const Vector3& curvature : {Vector3(0.0, 0.0, 2.0 * M_PI / 10.0), Vector3(0.3, 0.0, 0.8)}) {
      Rod rod;
      rod.length = 10.0;
      rod.nodes = line({0, 0, 0}, {10, 0, 0}, 7);
      rod.section = section_of(diagonal(1e4, 1e4, 1e4, 500, 500, 500), law);
      Mechanism mechanism;
      add_rod(mechanism, rod);
      const Assembly assembly(std::move(mechanism));
      Vector6 strain;
      strain << 1.0, 0.0, 0.0, curvature;
      const std::vector<Frame> bent = constant_strain(rod.nodes[0], strain, rod.length, 7);
      system::Motion m(assembly.space());
      for (int i = 0; i <= 7; ++i) m.q.segment(7 * i, 7) << bent[i].p, lie::quaternion_from(bent[i].E);
      system::Residual residual = residual_of(assembly);
      assembly.residual(m, Vector(), residual);
      Vector6 moment = Vector6::Zero();
      moment.tail<3>() = 500.0 * curvature;
      EXPECT_LT((residual.force.tail(6) - moment).norm(), 1e-10);
      EXPECT_LT(residual.force.segment(6, 36).norm(), 1e-9);
    }
}

/// One element of a rod by the continuous equations q' = q f, σ' = hat(f)ᵀσ, f = f₀ + Cσ, from a wrench at its start: the pose of its end
/// and the wrench there. Classical Runge-Kutta steps, independent of the element.
struct Continuous {
  Matrix3 R = Matrix3::Identity();
  Vector3 x = Vector3::Zero();
  Vector6 stress;
};
Continuous along(const Matrix6& C, const Vector6& f0, double length, const Vector6& stress_at_start) {
  struct Rate {
    Matrix3 R;
    Vector3 x;
    Vector6 stress;
  };
  const auto rate_of = [&](const Continuous& at) -> Rate {
    const Vector6 f = f0 + C * at.stress;
    const Vector3 u = f.head<3>(), w = f.tail<3>(), n = at.stress.head<3>(), m = at.stress.tail<3>();
    Vector6 rate;
    rate << n.cross(w), n.cross(u) + m.cross(w);
    return {at.R * skew(w), at.R * u, rate};
  };
  const auto moved = [](const Continuous& at, double h, const Rate& r) -> Continuous {
    return {at.R + h * r.R, at.x + h * r.x, at.stress + h * r.stress};
  };
  Continuous at;
  at.stress = stress_at_start;
  constexpr int steps = 400;
  const double h = length / steps;
  for (int i = 0; i < steps; ++i) {
    const Rate a = rate_of(at), b = rate_of(moved(at, 0.5 * h, a)), c = rate_of(moved(at, 0.5 * h, b)),
               d = rate_of(moved(at, h, c));
    at.R += h / 6.0 * (a.R + 2.0 * b.R + 2.0 * c.R + d.R);
    at.x += h / 6.0 * (a.x + 2.0 * b.x + 2.0 * c.x + d.x);
    at.stress += h / 6.0 * (a.stress + 2.0 * b.stress + 2.0 * c.stress + d.stress);
  }
  return at;
}

/// An assembly of one element, with its ends where the continuous rod has them.
struct OneElement {
  OneElement(const Vector6& f0, double length, const BeamSection& section, const Continuous& exact)
      : assembly([&] {
          Mechanism mechanism;
          mechanism.bodies.resize(2);
          for (Body& body : mechanism.bodies) body.group = lie::GroupId::se3;
          mechanism.elements.push_back(std::make_shared<Beam>("beam", 0, Frame{}, 1, Frame{}, length, f0, section));
          return mechanism;
        }()),
        m(assembly.space()) {
    m.q << Vector3::Zero(), lie::quaternion_from(Matrix3::Identity()), exact.x, lie::quaternion_from(exact.R);
  }
  Assembly assembly;
  system::Motion m;
};

/// The wrench at the end of an element against that of the continuous rod between the same poses, under tension and compression,
/// shear and moments. Without the term of the bow the errors at 0.1 m would be 9.7e-4, 2.3e-3, 1.29e-3 and 1.76e-3.
TEST(Beam, HasTheWrenchesOfTheContinuousRod) {
  const Matrix6 C = diagonal(1e4, 4e3, 4e3, 80.0, 100.0, 100.0).inverse();
  Vector6 straight, curved, pull, push;
  straight << 1.0, 0.0, 0.0, 0.0, 0.0, 0.0;
  curved << 1.0, 0.0, 0.0, 0.2, 0.1, 0.5;
  pull << 30.0, 50.0, -20.0, 10.0, 15.0, -30.0;
  push << -200.0, 40.0, 30.0, 5.0, -20.0, 10.0;
  struct Case {
    const char* name;
    Vector6 f0, stress;
    double bound;  ///< of the error at 0.1 m [N, N m]
  };
  for (const Case& one :
       {Case{"straight, tension", straight, pull, 2.5e-4}, Case{"curved, tension", curved, pull, 6e-4},
        Case{"straight, compression", straight, push, 1e-4}, Case{"curved, compression", curved, push, 1.7e-3}}) {
    double previous = 0.0;
    for (const double length : {0.1, 0.05}) {
      const Continuous exact = along(C, one.f0, length, one.stress);
      OneElement element(one.f0, length, {C, 0.0, SectionLaw::magnus}, exact);
      system::Residual residual = residual_of(element.assembly);
      element.assembly.residual(element.m, Vector(), residual);
      const double error = (residual.force.tail<6>() - exact.stress).norm();
      if (length == 0.1) {
        EXPECT_LT(error, one.bound) << one.name;
      } else {
        EXPECT_NEAR(std::log2(previous / error), 4.0, 0.35) << one.name << ", length " << length;
      }
      previous = error;
    }
  }
}

/// A rod that does not stretch: what its row calls its length is that of the continuous rod up to a fiftieth of what the bow takes,
/// and no tilt makes it longer.
TEST(Beam, KeepsTheLengthOfABow) {
  Matrix6 C = diagonal(1.0, 1.0, 1.0, 80.0, 100.0, 100.0).inverse();
  for (int i = 0; i < 3; ++i) C(i, i) = 0.0;
  BeamSection section{C, 0.0, SectionLaw::magnus, {true, false, false}};
  Vector6 straight, stress;
  straight << 1.0, 0.0, 0.0, 0.0, 0.0, 0.0;
  const Vector no_tension = Vector::Zero(1);
  for (const double N : {-100.0, 0.0, 100.0}) {
    stress << N, 200.0, -100.0, 0.0, 50.0, 100.0;  // M = QL/2: no bend of the whole
    const Continuous exact = along(C, straight, 1.0, stress);
    OneElement element(straight, 1.0, section, exact);
    system::Residual residual = residual_of(element.assembly);
    element.assembly.residual(element.m, no_tension, residual);
    const double tilt = std::hypot(exact.x.y(), exact.x.z());
    ASSERT_GT(tilt, 0.1);
    EXPECT_LT(std::abs(residual.gap[0]), 0.02 * 0.6 * tilt * tilt) << "N " << N << ", tilt " << tilt;
  }
  // Both ends turned by one angle: the chord that the row allows.
  for (double angle = 0.1; angle < 1.6; angle += 0.1) {
    Continuous turned;
    const auto gap = [&](double chord) {
      turned.x = chord * Vector3(std::cos(angle), std::sin(angle), 0.0);
      OneElement element(straight, 1.0, section, turned);
      system::Residual residual = residual_of(element.assembly);
      element.assembly.residual(element.m, no_tension, residual);
      return residual.gap[0];
    };
    EXPECT_GT(gap(1.0), 0.0) << angle;  // too long already
    EXPECT_LT(gap(0.8), 0.0) << angle;
  }
}

/// Tension far beyond 12 EI/L² of an element: what looks like shear is an S-shaped bow, and must not make the rod longer.
TEST(Beam, IsNotDrawnOutSidewaysByTension) {
  Rod rod;
  rod.length = 1.0;
  rod.nodes = line({0, 0, 0}, {1, 0, 0}, 1);
  Matrix6 C = diagonal(1e6, 1e6, 1e6, 1.0, 1.0, 1.0).inverse();
  C(1, 1) = C(2, 2) = 0.0;
  rod.section.beam.compliance = C;
  Mechanism mechanism;
  add_rod(mechanism, rod);
  const Assembly assembly(std::move(mechanism));
  const double pull = 1000.0;  // 12 EI/L² is 12
  system::Motion m(assembly.space());
  m.q = assembly.start(1.0).q0;
  const double straight = assembly.energy(m);
  for (const double tilt : {0.1, 0.3, 0.6, 1.2})
    for (const double longer : {-0.05, -0.02, 0.0, 0.001, 0.02}) {
      // Both ends turned by the same angle, the chord along x.
      const Eigen::Vector4d turned = lie::SO3::exp(Vector3(0.0, 0.0, tilt));
      m.q.segment(3, 4) = m.q.segment(10, 4) = turned;
      m.q[7] = 1.0 + longer;
      EXPECT_GT(assembly.energy(m) - pull * longer, straight) << "tilt " << tilt << ", longer by " << longer;
    }
}

struct Static {
  const char* name;
  Matrix6 stiffness;
  Vector6 strain0;
  double length;
  Vector3 force, exact;  ///< displacement of the tip, by shooting on the continuous equations
  int load_steps;
};

std::vector<Static> static_problems() {
  Vector6 bend, straight, twisted;
  bend << 1.0, 0.0, 0.0, 0.0, 0.0, 0.01;
  straight << 1.0, 0.0, 0.0, 0.0, 0.0, 0.0;
  twisted << 1.0, 0.0, 0.0, M_PI / 20.0, 0.0, 0.0;
  Matrix6 composite = diagonal(1368.17e3, 88.56e3, 38.78e3, 16.96e3, 59.12e3, 141.47e3);
  composite(3, 4) = composite(4, 3) = 17.61e3;
  composite(3, 5) = composite(5, 3) = -351.0;
  composite(4, 5) = composite(5, 4) = -370.0;
  return {
      {"45 degree bend",
       diagonal(1e7, 5e7 / 12.0, 5e7 / 12.0, 1e7 / 12.0, 1e7 / 12.0, 1e7 / 12.0),
       bend,
       25.0 * M_PI,
       {0, 0, 600},
       {-23.5605818783, -13.6046324024, 53.4754779982},
       6},
      {"twisted",
       diagonal(2.5e10, 8.2604167e9, 8.2604167e9, 1.41872656e8, 5.20833e8, 1.30208333e8),
       twisted,
       10.0,
       {0, 0, -4e6},
       {-1.14152599954, -1.71805334646, -3.59321324027},
       4},
      {"composite", composite, straight, 10.0, {0, 0, 150}, {-0.0902726627566, -0.0647488486259, 1.22973648292}, 1}};
}

/// (Bathe and Bolourchi 1979; Wang et al. 2017), against shooting on the continuous equations.
TEST(Beam, ConvergesWithOrderFourInItsLength) {
  for (const Static& problem : static_problems()) {
    double previous = 0.0;
    for (const int n : {8, 16, 32}) {
      Rod rod;
      rod.length = problem.length;
      rod.nodes = constant_strain({}, problem.strain0, problem.length, n);
      rod.section = section_of(problem.stiffness);
      const Vector3 moved = tip_under(rod, problem.force, problem.load_steps) - rod.nodes.back().p;
      const double error = (moved - problem.exact).norm();
      if (previous > 0.0)
        EXPECT_NEAR(std::log2(previous / error), 4.0, 0.25) << problem.name << ", " << n << " elements: " << error;
      previous = error;
    }
    EXPECT_LT(previous, 1e-5) << problem.name;
  }
}

/// Under the law of constant strain the same mesh has order 2.
TEST(Beam, ConvergesWithOrderTwoUnderConstantStrain) {
  const Static problem = static_problems()[2];
  double previous = 0.0;
  for (const int n : {8, 16}) {
    Rod rod;
    rod.length = problem.length;
    rod.nodes = constant_strain({}, problem.strain0, problem.length, n);
    rod.section = section_of(problem.stiffness, SectionLaw::constant);
    const double error = (tip_under(rod, problem.force, 1) - rod.nodes.back().p - problem.exact).norm();
    if (previous > 0.0) EXPECT_NEAR(std::log2(previous / error), 2.0, 0.1) << error;
    previous = error;
  }
}

/// The pendulum of rubber (Lang, Linn and Arnold 2011): released horizontally, it bends as it falls. Tip by converged meshes.
TEST(Beam, SwingsAsARubberPendulum) {
  Rod rod;
  rod.length = 1.0;
  rod.nodes = line({0, 0, 0}, {1, 0, 0}, 12);
  rod.section = circular_section({.young = 5e6, .poisson = 0.5, .density = 1100.0}, 5e-3);
  Mechanism mechanism;
  mechanism.gravity = {0, 0, -9.81};
  add_rod(mechanism, rod);
  JointSpec pin;
  pin.name = "pin";
  pin.bodies = {ground, 0};
  pin.frames = {Frame{}, Frame{}};
  for (Frame& frame : pin.frames) frame.E = axes_along(Vector3::UnitY());
  mechanism.joints.push_back(make_joint(find_joint("revolute", false), pin));
  const Assembly assembly(std::move(mechanism));
  run::Options options;
  options.t_end = 0.5;
  options.rtol = options.atol = 1e-6;
  run::Observer nobody;
  const run::Report report = run::integrate(assembly, assembly.start(0.5), options, nobody);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  const Vector3 tip = assembly.body_pose(12, report.final.motion.q).x;
  EXPECT_NEAR(tip.x(), -0.23318, 2e-3);
  EXPECT_NEAR(tip.z(), -0.91937, 2e-3);
  RecordProperty("steps", static_cast<int>(report.counters.steps));
}

/// Explicit starting steps of a rod with short elements would be far beyond their limit of stability: 256 substeps of 12 stages per
/// step of 1 ms were taken before. Against radau with a small tolerance.
TEST(Beam, StartsConstantStepsWithoutResolvingItsVibrations) {
  constexpr int elements = 256;
  Mechanism mechanism;
  mechanism.gravity = Vector3(0.0, 0.0, -9.81);
  Rod rod;
  rod.section = section_of(diagonal(1e4, 1e4, 1e4, 500.0, 500.0, 500.0));
  rod.section.mass_per_length = 1.0;
  rod.section.inertia_per_length = Vector3(2e-4, 1e-4, 1e-4).asDiagonal();
  rod.length = 10.0;
  rod.nodes = line({0, 0, 0}, {10, 0, 0}, elements);
  add_rod(mechanism, rod);
  JointSpec pin;
  pin.name = "pin";
  pin.bodies = {ground, 0};
  pin.frames.resize(2);
  mechanism.joints.push_back(make_joint(find_joint("spherical", false), pin));
  const Assembly assembly(std::move(mechanism));
  run::Observer nobody;
  run::Options options;
  options.t_end = 0.02;
  options.method = "radau";
  options.rtol = options.atol = 1e-8;
  const run::Report exact = run::integrate(assembly, assembly.start(0.02), options, nobody);
  // What the method itself leaves of the bow that runs along the rod.
  for (const auto& [order, error] : {std::pair{2, 4e-6}, std::pair{3, 1e-6}, std::pair{5, 1e-7}}) {
    run::Options steps;
    steps.t_end = 0.02;
    steps.order = order;
    steps.step = 1e-3;
    const run::Report report = run::integrate(assembly, assembly.start(0.02), steps, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_LT(report.counters.factorizations, 400);
    for (const int node : {elements / 4, elements / 2, elements})
      EXPECT_LT((report.final.motion.q.segment<3>(7 * node) - exact.final.motion.q.segment<3>(7 * node))
                    .lpNorm<Eigen::Infinity>(),
                error)
          << order << ", node " << node;
  }
}

TEST(Beam, RefusesToBendFurtherThanItsLogarithmCanTell) {
  Rod rod;
  rod.length = 10.0;
  Vector6 circle;
  circle << 1.0, 0.0, 0.0, 0.0, 0.0, 2.0 * M_PI / 10.0;
  Mechanism mechanism;
  rod.nodes = constant_strain({}, circle, 10.0, 2);
  EXPECT_THROW(add_rod(mechanism, rod), InvalidInput);
  rod.nodes = constant_strain({}, circle, 10.0, 3);
  EXPECT_NO_THROW(add_rod(mechanism, rod));
}

TEST(Rod, HasTheMassAndInertiaOfTheWholeOnEveryMesh) {
  for (const int n : {1, 2, 3, 4, 5, 6, 20}) {
    double sum = 0.0, first = 0.0, second = 0.0;
    const std::vector<double> w = node_weights(n);
    for (int i = 0; i <= n; ++i) sum += w[i], first += w[i] * i, second += w[i] * i * i;
    EXPECT_NEAR(sum, n, 1e-12);
    EXPECT_NEAR(first, n * n / 2.0, 1e-12 * n * n);
    if (n > 1) EXPECT_NEAR(second, n * n * n / 3.0, 1e-12 * n * n * n) << n;
  }
}

}  // namespace
