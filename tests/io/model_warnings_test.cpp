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
