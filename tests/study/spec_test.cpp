#include <gtest/gtest.h>

#include <filesystem>

#include "kreisel/error.hpp"
#include "samples.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;
using test::spec_from;

void expect_refusal(const std::string& text, const std::string& complaint) {
  try {
    spec_from(text);
    FAIL() << "accepted: " << text;
  } catch (const InvalidInput& problem) {
    EXPECT_NE(std::string(problem.what()).find(complaint), std::string::npos)
        << "got: " << problem.what() << "\nwanted: " << complaint;
    EXPECT_NE(std::string(problem.what()).find("spec.json:"), std::string::npos) << problem.what();
  }
}

TEST(Spec, GridIsEveryCombination) {
  const Spec spec = spec_from(
      R"({"model": "heavy-top", "group": ["r3xso3", "se3"], "order": [2, 3], "step": [1e-3, 5e-4], "set": {"constraint": "body"}})");
  ASSERT_EQ(spec.cases.size(), 8u);
  EXPECT_EQ(spec.cases[0].label, "r3xso3, k=2");
  EXPECT_EQ(spec.cases[0].run.group, "r3xso3");
  EXPECT_EQ(*spec.cases[0].run.find("order"), kreisel::Value(2L));
  ASSERT_EQ(spec.cases[0].run.settings.size(), 1u);
  EXPECT_EQ(spec.cases[0].run.settings[0].name, "constraint");
  EXPECT_EQ(spec.cases[0].run.settings[0].value, kreisel::Value("body"));
  EXPECT_EQ(spec.cases[7].label, "se3, k=3");
  EXPECT_EQ(spec.x, "step");
}

TEST(Spec, RunsOverrideWhatIsCommon) {
  const Spec spec = spec_from(R"({"model": "heavy-top", "order": 2, "step": [1e-3, 5e-4],
      "runs": [{"label": "A"}, {"order": 4, "label": "B", "step": 1e-3}, {"group": "so3", "method": ["mkbdf", "mkam"]}]})");
  ASSERT_EQ(spec.cases.size(), 2u + 1u + 4u);
  EXPECT_EQ(spec.cases[0].label, "A");
  EXPECT_EQ(spec.cases[2].label, "B");
  EXPECT_EQ(*spec.cases[2].run.find("order"), kreisel::Value(4L));
  EXPECT_EQ(spec.cases[6].run.word("method"), "mkam");
}

TEST(Spec, StepCountsAndProgressions) {
  const Spec counts = spec_from(R"({"model": "heavy-top", "t_end": 0.5, "step_count": [100, 200]})");
  EXPECT_EQ(std::get<double>(*counts.cases[0].run.find("step")), 0.005);
  const Spec progression = spec_from(R"({"model": "heavy-top", "step": {"from": 1e-2, "to": 1e-4, "points": 3}})");
  ASSERT_EQ(progression.cases.size(), 3u);
  EXPECT_NEAR(std::get<double>(*progression.cases[1].run.find("step")), 1e-3, 1e-15);
}

TEST(Spec, ToleranceSetsBoth) {
  const Spec spec = spec_from(R"({"model": "heavy-top", "tolerance": [1e-4, 1e-6]})");
  EXPECT_EQ(spec.x, "tolerance");
  EXPECT_EQ(*spec.cases[1].run.find("rtol"), *spec.cases[1].run.find("atol"));
}

TEST(Spec, ComplaintsSayWhere) {
  expect_refusal("{", "not valid JSON");
  expect_refusal(R"({"model": "heavy-top", "stepp": 1})", "did you mean 'step'?");
  expect_refusal(R"({"step": 1e-3})", "the key 'model' is missing");
  expect_refusal(R"({"model": "heavy-topp", "step": 1e-3})", "heavy-topp");
  expect_refusal(R"({"model": "heavy-top", "step": []})", "/step: expected a value, a list of values");
  expect_refusal(R"({"model": "heavy-top", "step": {"from": 1, "to": 0.1}})", "/step/points: expected a whole number");
  expect_refusal(R"({"model": "heavy-top", "order": 9, "step": 1e-3})", "bliedf has orders 1 to 6");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "measures": ["lamda max"]})",
                 "/measures/0: unknown quantity 'lamda'");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "measures": [{"quantity": 3}]})",
                 "/measures/0/quantity: expected a text");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "measures": [{"quantity": "q", "component": 1e300}]})",
                 "/measures/0/component: is 1e+300, expected a whole number from 0 to 1000000000");
  expect_refusal(R"({"kind": "analysis", "analysis": 1})", "/analysis: expected a text");
  expect_refusal(R"({"model": "heavy-top", "step_count": 10, "t_end": "soon"})", "/t_end: expected a number");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "measures": ["q maximum"]})", "unknown span 'maximum'");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "measures": ["q max", "q max"]})", "is defined twice");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "expect": [{"order": 2, "of": "p max"}]})",
                 "/expect/0/of: unknown measure 'p max'");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "expect": [{"order": 2, "value": 3}]})", "exactly one of");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "expect": [{"order": 2, "where": {"order": 5}}]})",
                 "no case of the grid");
  expect_refusal(R"({"model": "heavy-top", "step": 1e-3, "expect": [{"ranking": ["A", "B"]}]})",
                 "no case has the label 'A'");
  expect_refusal(R"({"kind": "analysis", "analysis": "amplifcation"})", "did you mean 'amplification'?");
  expect_refusal(R"({"kind": "analysis", "analysis": "amplification", "rho": 0.9})", "unknown key 'rho'");
}

TEST(Spec, TheExamplesOfTheRepositoryCanRun) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(support::in_sources("studies"))) {
    EXPECT_NO_THROW(parse_spec(io::JsonSource::read(entry.path(), "study"))) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 3);
}

TEST(Spec, StepCountsAndParametersOfTheMethodGoTogether) {
  const Spec spec = spec_from(
      R"({"model": "pendulum", "method": "generalized-alpha", "step_count": 100, "t_end": 1, "set": {"rho_inf": [0.8, 0.9]}})");
  ASSERT_EQ(spec.cases.size(), 2u);
  EXPECT_EQ(std::get<double>(*spec.cases[1].run.find("step")), 0.01);
}

}  // namespace
