// Threads share the assembly of large mechanisms; not a bit of the results depends on them.
#include <gtest/gtest.h>

#include "base/workers.hpp"
#include "models/catalogue.hpp"
#include "multibody/assembly.hpp"
#include "run/integrator.hpp"
#include "system/random_motion.hpp"

namespace {

using namespace kreisel;
using multibody::ground;

/// Bodies with revolute joints in a tree, some loops, and springs from every body to the first: joints and forces of many
/// pieces with bodies in common, one body common to all.
multibody::Mechanism bush(lie::GroupId group, int bodies) {
  multibody::Mechanism mechanism;
  mechanism.group = group;
  mechanism.gravity = {0.0, 0.1, -9.81};
  for (int b = 0; b < bodies; ++b) {
    multibody::Body body;
    body.name = std::to_string(b);
    body.mass = 1.0 + 0.1 * (b % 7);
    body.position = Vector3(0.1 * b, 0.2 * (b % 3), 0.0);
    mechanism.bodies.push_back(body);
    multibody::JointSpec joint;
    joint.name = "joint" + body.name;
    joint.bodies = {b == 0 ? ground : (b - 1) / 2, b};
    joint.frames.resize(2);
    joint.frames[0].p = Vector3(0.1, 0.0, 0.3);
    mechanism.joints.push_back(make_joint(multibody::find_joint(b % 2 == 0 ? "revolute" : "spherical", false), joint));
    if (b == 0) continue;
    multibody::ForceSpec spring;
    spring.name = "spring" + body.name;
    spring.bodies = {0, b};
    spring.frames.resize(2);
    for (const Field& number : multibody::find_force("spring-damper").numbers) spring.numbers[number.name] = 1.5;
    mechanism.forces.push_back(multibody::find_force("spring-damper").build(spring));
  }
  return mechanism;
}

TEST(Threads, ChangeNoBitOfTheEquations) {
  samples::Source source;
  for (const lie::GroupId group : {lie::GroupId::r3xso3, lie::GroupId::se3}) {
    const multibody::Assembly assembly(bush(group, 2000));
    const system::Pattern& pattern = assembly.pattern();
    system::Motion m = samples::random_motion(source, assembly.space());
    const Vector lambda = samples::random_vector(source, pattern.rows());
    struct Evaluation {
      system::Residual residual, sweep;
      system::KktBlocks blocks, saddle;
      Vector gap, force, z;
    };
    std::vector<Evaluation> found;
    for (const int threads : {1, 2, 3}) {
      Workers workers(threads);
      const WorkersInForce in_force(threads > 1 ? &workers : nullptr);
      const system::Residual blank(assembly.space().nv(), pattern.position_rows(), pattern.rows());
      Evaluation e{blank,
                   blank,
                   system::KktBlocks(pattern),
                   system::KktBlocks(pattern),
                   Vector(pattern.rows()),
                   Vector(assembly.space().nv()),
                   Vector(pattern.rows())};
      assembly.residual(m, lambda, e.residual);
      assembly.linearize(m, lambda, e.blocks);
      assembly.acceleration_gap(m, e.gap);
      assembly.constraint_force(m, lambda, e.force);
      assembly.saddle_point(m, lambda, e.saddle, e.sweep, e.z);
      found.push_back(std::move(e));
    }
    for (std::size_t i = 1; i < found.size(); ++i) {
      EXPECT_EQ(found[i].residual.force, found[0].residual.force);
      EXPECT_EQ(found[i].residual.gap, found[0].residual.gap);
      EXPECT_EQ(found[i].residual.rate, found[0].residual.rate);
      EXPECT_EQ(found[i].sweep.force, found[0].sweep.force);
      EXPECT_EQ(found[i].gap, found[0].gap);
      EXPECT_EQ(found[i].force, found[0].force);
      EXPECT_EQ(found[i].z, found[0].z);
      for (Vector system::KktBlocks::*part : {&system::KktBlocks::M, &system::KktBlocks::D, &system::KktBlocks::K,
                                              &system::KktBlocks::B, &system::KktBlocks::H, &system::KktBlocks::F})
        EXPECT_EQ(found[i].blocks.*part, found[0].blocks.*part);
      EXPECT_EQ(found[i].saddle.B, found[0].saddle.B);
    }
  }
}

TEST(Threads, ChangeNoBitOfARun) {
  const models::ModelInfo& info = models::find_model("chain");
  ParameterValues parameters(info.parameters);
  parameters.set(info.name, info.parameters, "n", "1000");
  const models::Model chain = models::make_model(info, "", parameters);
  for (const char* method : {"bliedf", "rkmk"}) {
    run::Report reports[2];
    for (const int threads : {1, 2}) {
      run::Options options;
      options.method = method;
      options.step = 1e-3;
      options.t_end = 0.008;
      options.threads = threads;
      run::Observer nobody;
      reports[threads - 1] = run::integrate(*chain.system, chain.start, options, nobody);
      ASSERT_EQ(reports[threads - 1].status, run::Status::success) << reports[threads - 1].message;
    }
    EXPECT_EQ(reports[0].final.motion.q, reports[1].final.motion.q) << method;
    EXPECT_EQ(reports[0].final.motion.v, reports[1].final.motion.v) << method;
    EXPECT_EQ(reports[0].final.lambda, reports[1].final.lambda) << method;
    EXPECT_EQ(reports[0].counters.newton_iterations, reports[1].counters.newton_iterations);
  }
}

}  // namespace
