// The axes that "axis" and "x_axis" of a joint or bushing stand for, and what an actuator is booked as.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "io/model_file/model_file.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

io::ModelFile model(const std::string& text) { return io::read_model(io::JsonSource("m.json", text)); }

const std::string body = R"("bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}])";

/// Stiffness [100, 200, 300] seen along the world's axes.
Vector3 stiffness(const std::string& keys) {
  const io::ModelFile file = model(
      "{" + body + R"(, "forces": [{"type": "bushing", "between": ["ground", "b"], "stiffness": [100, 200, 300], )" +
      keys + "}]}");
  system::Motion m(file.assembly->space());
  m.q = file.model.start.q0;
  system::KktBlocks blocks(file.assembly->pattern());
  file.assembly->linearize(m, Vector(), blocks);
  return {blocks.K[0], blocks.K[7], blocks.K[14]};
}

TEST(Frames, TheAxisOfABushingIsItsThirdAndTheFirstFollowsTheDocumentedRule) {
  const Vector3 straight(100, 200, 300);
  EXPECT_LT((stiffness(R"("at": [0, 0, 0])") - straight).norm(), 1e-12);
  EXPECT_LT((stiffness(R"("at": [0, 0, 0], "axis": [0, 0, 1])") - straight).norm(), 1e-12);
  EXPECT_LT((stiffness(R"("at": [0, 0, 0], "axis": [0, 0, -2])") - straight).norm(), 1e-12);
  EXPECT_LT((stiffness(R"("at": [0, 0, 0], "axis": [1, 0, 0])") - Vector3(300, 100, 200)).norm(), 1e-12);
  EXPECT_LT((stiffness(R"("at": [0, 0, 0], "axis": [0, 1, 0])") - Vector3(100, 300, 200)).norm(), 1e-12);
}

TEST(Frames, XAxisSaysWhereTheFirstAxisPoints) {
  EXPECT_LT((stiffness(R"("at": [0, 0, 0], "axis": [1, 0, 0], "x_axis": [0, 0, 5])") - Vector3(300, 200, 100)).norm(),
            1e-12);
  EXPECT_LT((stiffness(R"("at": [0, 0, 0], "x_axis": [0, 1, 0])") - Vector3(200, 100, 300)).norm(), 1e-12);
  // Only its part across the axis counts.
  EXPECT_LT((stiffness(R"("at": [0, 0, 0], "axis": [0, 0, 1], "x_axis": [0, 1, 7])") - Vector3(200, 100, 300)).norm(),
            1e-12);
  EXPECT_LT((stiffness(R"("frames": [{"axis": [1, 0, 0], "x_axis": [0, 0, 1]}, {}])") - Vector3(300, 200, 100)).norm(),
            1e-12);
}

TEST(Frames, XAxisAlongTheAxisIsRefused) {
  try {
    stiffness(R"("at": [0, 0, 0], "axis": [0, 0, 1], "x_axis": [0, 0, 2])");
    ADD_FAILURE() << "accepted";
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("/forces/0/x_axis: the x axis is parallel to the axis"), std::string::npos)
        << e.what();
  }
}

/// A force of (-1, -2, -3) on a body that a joint holds: the joint answers with (1, 2, 3).
Vector3 reaction_in_joint(const std::string& keys) {
  const io::ModelFile file = model(
      "{" + body + R"(, "joints": [{"type": "revolute", "name": "J", "between": ["ground", "b"], "at": [0, 0, 0], )" +
      keys + R"(}], "forces": [{"type": "applied", "on": "b", "force": [-1, -2, -3]}]})");
  run::Options options;
  options.t_end = 0.01;
  run::Observer nobody;
  const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
  return file.assembly->reaction(0, report.final.motion, report.final.lambda).force_in_joint;
}

TEST(Frames, ReactionsInTheJointFrameHaveTheAxesOfTheRule) {
  EXPECT_LT((reaction_in_joint(R"("axis": [0, 0, 1])") - Vector3(1, 2, 3)).norm(), 1e-9);
  EXPECT_LT((reaction_in_joint(R"("axis": [1, 0, 0])") - Vector3(2, 3, 1)).norm(), 1e-9);
  EXPECT_LT((reaction_in_joint(R"("axis": [0, 1, 0])") - Vector3(1, -3, 2)).norm(), 1e-9);
  EXPECT_LT((reaction_in_joint(R"("axis": [0, 1, 0], "x_axis": [0, 0, 1])") - Vector3(3, 1, 2)).norm(), 1e-9);
}

TEST(Frames, EveryAxisGivesARightHandedFrame) {
  for (int i = 0; i < 200; ++i) {
    const Vector3 axis = Vector3(std::sin(1.7 * i), std::cos(2.3 * i), std::sin(0.9 * i + 1.0));
    const Matrix3 E = multibody::axes_along(axis);
    EXPECT_LT((E.transpose() * E - Matrix3::Identity()).norm(), 1e-14);
    EXPECT_NEAR(E.determinant(), 1.0, 1e-14);
    EXPECT_LT((E.col(2) - axis.normalized()).norm(), 1e-14);
  }
}

/// The same servo with its target as a number, as a formula and as a table does the same work and stores nothing.
TEST(Books, AnActuatorIsBookedAlikeHoweverItsTargetIsWritten) {
  const auto books = [](const std::string& target) {
    const io::ModelFile file =
        model("{" + body +
              R"(, "joints": [{"type": "prismatic", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
      "forces": [{"type": "linear-actuator", "between": ["ground", "b"], "at": [[-1, 0, 0], [0, 0, 0]], "stiffness": 40, "damping": 3, "target": )" +
              target + "}]}");
    run::Options options;
    options.t_end = 0.7;
    options.rtol = options.atol = 1e-9;
    run::Observer nobody;
    const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
    EXPECT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_LT(report.energy_error, 1e-6);
    return std::array{report.work.forces, report.work.dissipated,
                      file.assembly->energy_parts(report.final.motion).elastic};
  };
  const auto plain = books("1.5");
  EXPECT_GT(plain[0], 0.1);
  EXPECT_EQ(plain[1], 0.0);
  EXPECT_EQ(plain[2], 0.0);
  for (const char* target : {R"("1.5")", R"("1.5 + 0*t")", R"({"table": [[0, 1.5], [1, 1.5]]})"})
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(books(target)[i], plain[i], 1e-7) << target << " " << i;
}

}  // namespace
