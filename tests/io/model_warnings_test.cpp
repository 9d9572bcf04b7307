// What a model file may say, but seldom means.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/model_file/model_file.hpp"

namespace {

using namespace kreisel;

std::vector<std::string> warnings_of(const std::string& rest) {
  return io::read_model(
             io::JsonSource("m.json",
                            R"({"bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}], )" +
                                rest + "}"))
      .model.warnings;
}

TEST(ModelWarnings, NameInputsThatNothingReads) {
  const std::string forces =
      R"("forces": [{"name": "push", "type": "applied", "on": "m", "force": [1, 0, 0]}], "inputs": {"u": 1, "w": 2}, )";
  for (const std::string user :
       {R"("outputs": {"twice": "=2*u + w"})", R"("outputs": {"z": "=u"}, "events": [{"name": "e", "when": "=t - w"}])",
        R"("states": {"s": {"rate": "=u - w"}})"})
    EXPECT_TRUE(warnings_of(forces + user).empty()) << user << ": " << warnings_of(forces + user)[0];
  const std::vector<std::string> one = warnings_of(forces + R"("outputs": {"twice": "=2*u"})");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_NE(one[0].find("/inputs/w: input 'w' is not used"), std::string::npos) << one[0];
}

/// The places at which an angle is suspected to be in degrees, without the name of the file.
std::vector<std::string> suspected(const std::string& rest) {
  std::vector<std::string> places;
  for (
      const std::string& warning : warnings_of(
          R"("joints": [{"name": "pin", "type": "revolute", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}], )" +
          rest)) {
    if (warning.find("for an angle in radians") == std::string::npos &&
        warning.find("of an angle in radians") == std::string::npos)
      continue;
    const std::size_t begin = warning.find(": /") + 2;
    places.push_back(warning.substr(begin, warning.find(':', begin) - begin));
  }
  return places;
}

TEST(ModelWarnings, SuspectDegreesWhereverAnAngleIsGiven) {
  const std::string axis = R"("between": ["ground", "m"], "axis": [0, 0, 1])",
                    knee = R"("outputs": {"knee": {"angle": "pin"}}, )";
  const auto force = [&](const std::string& rest) { return R"("forces": [{)" + rest + "}]"; };
  const auto servo = [&](const std::string& target) {
    return force(R"("type": "rotary-actuator", "stiffness": 1, )" + axis + R"(, "target": )" + target);
  };
  const auto torque = [&](const std::string& value) {
    return knee + force(R"("type": "torque", "joint": "pin", "value": )" + value);
  };
  using Places = std::vector<std::string>;
  const std::string spring = R"("type": "torsional-spring-damper", "stiffness": 1, )" + axis;
  EXPECT_EQ(suspected(force(spring + R"(, "angle": 45)")), Places{"/forces/0/angle"});
  EXPECT_EQ(suspected(R"("parameters": {"rest": 45}, )" + force(spring + R"(, "angle": "=rest")")),
            Places{"/forces/0/angle"});
  EXPECT_EQ(
      suspected(R"("parameters": {"rest": {"value": 45, "unit": "rad"}}, )" + force(spring + R"(, "angle": "=rest")")),
      Places{"/parameters/rest"})
      << "once";
  EXPECT_EQ(suspected(servo("180")), Places{"/forces/0/target"});
  EXPECT_EQ(suspected(servo(R"({"table": [[0, 0], [1, 90], [2, -45]]})")), Places{"/forces/0/target"});
  EXPECT_EQ(suspected(R"("inputs": {"goal": 90}, )" + servo(R"("=goal")")), Places{"/inputs/goal"});
  EXPECT_EQ(suspected(R"("inputs": {"goal": {"table": [[0, 0], [1, 90]]}}, )" + servo(R"("=goal")")),
            Places{"/inputs/goal"});
  EXPECT_EQ(suspected(R"("drivers": [{"type": "angle", )" + axis +
                      R"(, "value": {"table": [[0, 0], [1, 0], [2, 90], [3, 90]], "interpolation": "monotone"}}])"),
            Places{"/drivers/0/value"});
  EXPECT_EQ(suspected(torque(R"j("=-3*(knee - 90)")j")), Places{"/forces/0"});
  EXPECT_EQ(suspected(R"("parameters": {"goal": 60}, )" + torque(R"j("=-3*max(0, x - goal)")j")), Places{"/forces/0"});
  EXPECT_EQ(suspected(torque(R"j("=2*cos(30)")j")), Places{"/forces/0/value"});
  EXPECT_EQ(suspected(torque(R"({"table": [[0, 1], [90, 2], [180, 1]], "of": "knee"})")),
            Places{"/forces/0/value/table"});
  EXPECT_EQ(suspected(knee + R"("events": [{"name": "e", "when": "=knee - 30"}])"), Places{"/events/0/when"});
  EXPECT_EQ(suspected(R"("inputs": {"goal": 0}, )" + servo(R"("=goal")") +
                      R"(, "events": [{"name": "e", "when": "=t - 1", "action": {"set": {"goal": 90}}}])"),
            Places{"/events/0/action/set/goal"});
}

TEST(ModelWarnings, SuspectNoDegreesWhereRadiansArePlausible) {
  const std::string axis = R"("between": ["ground", "m"], "axis": [0, 0, 1])",
                    knee = R"("outputs": {"knee": {"angle": "pin"}, "speed": "=knee'"}, )";
  for (const std::string target : {"3", "9.5", "\"=20*t\"", "\"=20*pi\"", "\"=90*pi/180\"", "1000", "\"=50*sin(20*t)\"",
                                   R"({"table": [[0, 0], [1, 20], [2, 41.5]]})", R"({"table": [[0, 0], [10, 90.5]]})"})
    EXPECT_TRUE(suspected(R"("forces": [{"type": "rotary-actuator", "stiffness": 1, )" + axis + R"(, "target": )" +
                          target + "}]")
                    .empty())
        << target;
  for (const std::string value : {"\"=-50*knee + 30\"", "\"=20*(speed - 30)\"", "\"=50*sin(10*knee)\"", "90",
                                  "\"=100*t - 3*knee\"", R"({"table": [[-100, 1], [100, 2]], "of": "speed"})"})
    EXPECT_TRUE(suspected(knee + R"("forces": [{"type": "torque", "joint": "pin", "value": )" + value + "}]").empty())
        << value;
  EXPECT_TRUE(
      suspected(R"("inputs": {"load": 90}, "forces": [{"type": "torque", "joint": "pin", "value": "=load"}])").empty());
}

TEST(ModelWarnings, NameStartsBeyondCompliantLimits) {
  const auto with = [](const std::string& initial, const std::string& limits) {
    return warnings_of(
        R"("joints": [{"name": "pin", "type": "revolute", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1],
        "initial": {"value": )" +
        initial + R"(}, "limits": )" + limits + "}]");
  };
  EXPECT_TRUE(with("0.5", R"({"from": -1, "to": 1, "stiffness": 10})").empty());
  EXPECT_TRUE(with("7", R"({"from": 6, "to": 8, "stiffness": 10})").empty()) << "turns count";
  const std::vector<std::string> above = with("1.5", R"({"from": -1, "to": 1, "stiffness": 10})"),
                                 below = with("-7", R"({"from": -6, "stiffness": 10})");
  ASSERT_EQ(above.size(), 1u);
  EXPECT_NE(above[0].find("/joints/0/limits: 'pin' starts at 1.5, beyond its upper limit 1"), std::string::npos)
      << above[0];
  ASSERT_EQ(below.size(), 1u);
  EXPECT_NE(below[0].find("starts at -7, beyond its lower limit -6"), std::string::npos) << below[0];
}

}  // namespace
