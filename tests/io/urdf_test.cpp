#include "io/model_file/urdf.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/files/xml.hpp"
#include "io/model_file/model_file.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

const std::string arm = R"(<?xml version="1.0"?>
<!-- two rods, a tool welded to the second -->
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 0.5"/><mass value="2"/>
      <inertia ixx="0.2" iyy="0.2" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 0.5"/><geometry><cylinder radius="0.05" length="1"/></geometry></visual>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 0.25"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.005"/></inertial>
    <visual><geometry><box size="0.1 0.2 0.5"/></geometry></visual>
    <visual><geometry><mesh filename="lower.stl"/></geometry></visual>
  </link>
  <link name="tool">
    <inertial><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.02"/></inertial>
    <visual><geometry><sphere radius="0.1"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="1.5707963267948966 0 0"/><axis xyz="1 0 0"/>
    <dynamics damping="0.5"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="weld" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="0 0 0.5"/></joint>
</robot>
)";

std::string refusal(const std::string& text) {
  try {
    io::import_urdf("robot.urdf", text);
    return "accepted";
  } catch (const InvalidInput& e) {
    return e.what();
  }
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Urdf, BecomesAModelThatRuns) {
  const io::ImportedModel imported = io::import_urdf("robot.urdf", arm);
  const io::ModelFile file = io::read_model(io::JsonSource("arm.json", imported.model.dump(1)));
  const multibody::Mechanism& arm_model = file.assembly->mechanism();
  ASSERT_EQ(arm_model.bodies.size(), 2U);
  EXPECT_EQ(arm_model.bodies[0].name, "upper");
  EXPECT_EQ(arm_model.joints.size(), 2U);
  EXPECT_EQ(arm_model.forces.size(), 1U);
  // The link's z axis points along -y of the world: Rx(90°) e_z = -e_y.
  EXPECT_LT((arm_model.bodies[0].position - Vector3(0.0, -0.5, 1.0)).norm(), 1e-14);
  // Lower and tool: centre at (1·0.25 + 1·0.5)/2 = 0.375 beyond the elbow; Steiner adds 2·0.125² to ixx.
  EXPECT_LT((arm_model.bodies[1].position - Vector3(0.0, -1.375, 1.0)).norm(), 1e-14);
  EXPECT_NEAR(arm_model.bodies[1].mass, 2.0, 1e-15);
  EXPECT_LT(
      (arm_model.bodies[1].inertia.diagonal() - Vector3(0.12 + 2.0 * 0.125 * 0.125, 0.12 + 2.0 * 0.125 * 0.125, 0.025))
          .norm(),
      1e-14);
  EXPECT_EQ(arm_model.bodies[1].shapes.size(), 2U);
  ASSERT_EQ(imported.notes.size(), 2U);
  EXPECT_EQ(imported.notes[0], "the mesh 'lower.stl' of link 'lower' was left out: meshes were not asked for");
  run::Options options;
  options.t_end = 0.2;
  run::Observer nobody;
  const run::Report report = run::integrate(*file.model.system, file.model.start, options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  EXPECT_GT(report.work.dissipated, 0.0);
  EXPECT_LT(report.energy_error, 1e-5 * report.energy_initial);  // a few rtol
}

TEST(Urdf, AFreeBaseIsABody) {
  const std::string with_mass = replaced(
      arm, "<link name=\"base\"/>",
      "<link name=\"base\"><inertial><mass value=\"5\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial></link>");
  const io::ImportedModel imported = io::import_urdf("robot.urdf", with_mass, {.has_free_base = true});
  EXPECT_EQ(imported.model["bodies"].size(), 3U);
  EXPECT_EQ(imported.model["joints"].size(), 2U);
  EXPECT_THROW(io::import_urdf("robot.urdf", arm, {.has_free_base = true}), InvalidInput) << "a base without mass";
}

TEST(Urdf, MistakesHaveTheirPlace) {
  const auto expect = [](const std::string& text, const std::string& message) {
    EXPECT_NE(refusal(text).find(message), std::string::npos) << refusal(text);
  };
  expect("<robot", "robot.urdf:1:6: not valid XML: error parsing start element tag");
  expect("<robot name=\"a\" name=\"b\"/>", "robot.urdf:1:1: not valid XML: <robot> has the attribute 'name' twice");
  expect("<robot/><robot/>", "robot.urdf:1:9: not valid XML: <robot> after the last element");
  expect("", "robot.urdf:1:1: not valid XML: no document element found");
  expect("<model></model>", "robot.urdf:1:1: <model> where <robot> was expected");
  expect(replaced(arm, "</joint>", "</jiont>"), "not valid XML: start-end tags mismatch at 'jiont>'");
  expect(replaced(arm, "type=\"continuous\"", "type=\"continous\""),
         "unknown joint type 'continous'; did you mean 'continuous'?");
  expect(replaced(arm, "<child link=\"lower\"/>", "<child link=\"lowr\"/>"),
         "unknown link 'lowr'; did you mean 'lower'?");
  expect(replaced(arm, "<parent link=\"base\"/>", "<parent link=\"tool\"/>"), "is part of a cycle of joints");
  expect(replaced(arm, "<mass value=\"2\"/>", "<mass value=\"two\"/>"), "value=\"two\" of <mass>: expected 1 number");
  expect(replaced(arm, "<mass value=\"2\"/>", ""), "link 'upper' and the links fixed to it have no mass");
  expect(replaced(arm, "<axis xyz=\"0 1 0\"/>", "<axis xyz=\"0 0 0\"/>"), "the axis of joint 'elbow' is zero");
}

TEST(Urdf, NamesWhatIsLeftOutOfTheGroundAndOfJointsThatMimic) {
  const std::string robot =
      R"(<robot name="r"><link name="base"><visual><geometry><sphere radius="1"/></geometry></visual></link>
    <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="first" type="continuous"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/></joint>
    <joint name="second" type="continuous"><parent link="base"/><child link="b"/><axis xyz="1 0 0"/><limit effort="5" velocity="0"/>
      <mimic joint="first"/></joint></robot>)";
  const io::ImportedModel imported = io::import_urdf("robot.urdf", robot, {.has_motors = true});
  const std::vector<std::string> expected{"the shapes of link 'base', which is fixed to the ground, were left out",
                                          "joint 'second': the <limit> on effort was left out"};
  EXPECT_EQ(imported.notes, expected);
  EXPECT_NE(refusal(replaced(robot, "mimic joint=\"first\"", "mimic joint=\"frist\"")).find("did you mean 'first'?"),
            std::string::npos);
}

/// Their parts would be missing without a word.
TEST(Urdf, MacrosOfXacroAreRefusedWithAdvice) {
  const std::string element =
      refusal(replaced(arm, "<link name=\"base\"/>", "<xacro:leg name=\"FL\"/><link name=\"base\"/>"));
  EXPECT_NE(element.find("robot.urdf:4:3: <xacro:leg>: xacro macros"), std::string::npos) << element;
  EXPECT_NE(element.find("expand them first: `xacro "), std::string::npos) << element;
  const std::string value = refusal(replaced(arm, "value=\"2\"", "value=\"${mass}\""));
  EXPECT_NE(value.find("value=\"${mass}\": xacro macros"), std::string::npos) << value;
}

TEST(Urdf, ImpossibleInertiasAreNamedWithLinkAndLineOrRepaired) {
  const std::string wrong =
      replaced(arm, "ixx=\"0.1\" iyy=\"0.1\" izz=\"0.005\"", "ixx=\"0.001\" iyy=\"0.001\" izz=\"0.01\"");
  EXPECT_NE(
      refusal(wrong).find("robot.urdf:11:56: the inertia of link 'lower' has the principal moments 0.001, 0.001, 0.01"),
      std::string::npos)
      << refusal(wrong);
  EXPECT_NE(refusal(wrong).find("repair_inertia"), std::string::npos);
  const io::ImportedModel repaired = io::import_urdf("robot.urdf", wrong, {.repairs_inertia = true});
  EXPECT_NO_THROW(io::read_model(io::JsonSource("arm.json", repaired.model.dump(1))));
  ASSERT_FALSE(repaired.notes.empty());
  EXPECT_NE(repaired.notes[0].find("'lower'"), std::string::npos);
  EXPECT_NE(repaired.notes[0].find("repaired to 0.005, 0.005, 0.01"), std::string::npos) << repaired.notes[0];
}

TEST(Urdf, LimitsFrictionAndMimicAreKept) {
  const std::string robot = replaced(arm, "<axis xyz=\"0 1 0\"/>",
                                     "<axis xyz=\"0 1 0\"/><mimic joint=\"shoulder\" multiplier=\"2\" offset=\"0.1\"/>"
                                     "<dynamics friction=\"0.3\" damping=\"0.1\"/>");
  const io::ImportedModel imported =
      io::import_urdf("robot.urdf", robot, {.has_motors = true, .positions = {{"shoulder", 0.25}}});
  const io::Json& joints = imported.model["joints"];
  ASSERT_EQ(joints.size(), 3U);
  EXPECT_EQ(joints[0]["limits"], (io::Json{{"from", -1.0}, {"to", 1.0}, {"restitution", 0.0}}));
  EXPECT_EQ(joints[0]["initial"]["value"], 0.25);
  EXPECT_NEAR(joints[1]["initial"]["value"].get<double>(), 0.6, 1e-15) << "follows the joint that it mimics";
  EXPECT_EQ(joints[2]["type"], "coupler");
  const io::ModelFile file = io::read_model(io::JsonSource("arm.json", imported.model.dump(1)));
  EXPECT_EQ(file.assembly->mechanism().limits.size(), 2U);
  run::Options options;
  options.t_end = 3.0;
  run::Observer nobody;
  const run::Report report = run::integrate(*file.model.system, file.model.start, options, nobody);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  system::Motion m(file.model.system->space());
  m.q = report.final.motion.q;
  for (const int limit : {0, 1}) EXPECT_GT(file.assembly->gap(limit, m).value, -1e-9);
  EXPECT_LT(report.position_max, 1e-6);

  EXPECT_NE(refusal(replaced(robot, "joint=\"shoulder\"", "joint=\"sholder\""))
                .find("mimics an unknown joint 'sholder'; did you mean 'shoulder'?"),
            std::string::npos);
  EXPECT_THROW(io::import_urdf("robot.urdf", robot, {.positions = {{"shoulder", 1.5}}}), InvalidInput);
  EXPECT_THROW(io::import_urdf("robot.urdf", robot, {.positions = {{"wrist", 0.5}}}), InvalidInput);
  const std::string above = replaced(arm, "lower=\"-1\"", "lower=\"0.5\"");
  EXPECT_EQ(io::import_urdf("robot.urdf", above).model["joints"][0]["initial"]["value"], 0.5) << "zero is out of range";
}

TEST(Urdf, WhatIsLeftOutIsNamedByJoint) {
  const io::ImportedModel imported = io::import_urdf("robot.urdf", arm);
  const auto has = [&](const std::string& text) {
    return std::any_of(imported.notes.begin(), imported.notes.end(),
                       [&](const std::string& note) { return note.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("joint 'shoulder': the <limit> on effort and velocity was left out"));
}

TEST(Xml, NestingIsBounded) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (int i = 0; i < 100'000; ++i) deep += "</a>";
  try {
    io::parse_xml("deep.xml", deep);
    ADD_FAILURE() << "accepted";
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("nested deeper than 200 levels"), std::string::npos);
  }
}

}  // namespace
