#include "io/spec/correction_file.hpp"

#include <gtest/gtest.h>

#include "io/json/json_source.hpp"
#include "kreisel/error.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;
using io::Json;

Json written(const coeff::CorrectionSet& set, bool has_b0 = false) {
  Json lin = Json::array();
  for (int j = 0; j < set.count; ++j) {
    Json a = Json::array(), b = Json::array();
    for (int i = 0; i <= set.k; ++i) a.push_back(set.lin[j].a[i]);
    for (int i = has_b0 ? 0 : 1; i <= set.k; ++i) b.push_back(set.lin[j].b[i]);
    lin.push_back({{"a", a}, {"b", b}});
  }
  return {{"k", set.k}, {"lin", lin}};
}

class CorrectionFile : public testing::Test {
 protected:
  coeff::CorrectionSet read(const std::string& text) {
    write_file(folder / "own.json", text);
    return io::read_correction_set(folder / "own.json");
  }
  /// What is said about a file, without the name of the folder.
  std::string complaint(const std::string& text) {
    std::string what = text_of<InvalidInput>([&] { read(text); });
    for (const std::string prefix = folder.path().string() + "/"; what.find(prefix) != std::string::npos;)
      what.erase(what.find(prefix), prefix.size());
    return what;
  }
  TemporaryFolder folder;
};

TEST_F(CorrectionFile, EveryBuiltInSetSurvivesTheRoundTrip) {
  for (const coeff::CorrectionSet& set : coeff::correction_sets()) {
    if (!coeff::violated_conditions(set, io::correction_tolerance).empty()) continue;
    for (const bool has_b0 : {false, true}) {
      const coeff::CorrectionSet back = read(written(set, has_b0).dump());
      ASSERT_EQ(back.k, set.k);
      ASSERT_EQ(back.count, set.count);
      for (int j = 0; j < set.count; ++j) {
        EXPECT_EQ(back.lin[j].a, set.lin[j].a) << set.name << " k = " << set.k;
        EXPECT_EQ(back.lin[j].b, set.lin[j].b) << set.name << " k = " << set.k;
      }
    }
  }
}

TEST_F(CorrectionFile, RefusesASetThatLosesTheOrderWithEveryViolatedCondition) {
  const coeff::CorrectionSet* set = coeff::find_correction_set("difference", 3);
  ASSERT_NE(set, nullptr);
  Json json = written(*set);
  json["lin"][0]["a"][0] = json["lin"][0]["a"][0].get<double>() + 0.5;
  const coeff::CorrectionSet changed = [&] {
    coeff::CorrectionSet copy = *set;
    copy.lin[0].a[0] += 0.5;
    return copy;
  }();
  const std::vector<std::string> violated = coeff::violated_conditions(changed, io::correction_tolerance);
  ASSERT_FALSE(violated.empty());
  const std::string what = complaint(json.dump());
  EXPECT_EQ(what.find("own.json: the set does not keep order 3"), 0u) << what;
  for (const std::string& condition : violated) EXPECT_NE(what.find(condition), std::string::npos) << condition;
}

TEST_F(CorrectionFile, SaysWhereTheJsonIsBroken) {
  EXPECT_EQ(complaint("{\"k\": 3,\n \"lin\": [}").find("own.json:2:10: /lin/0: not valid JSON"), 0u);
}

TEST_F(CorrectionFile, SaysWhichValueIsWrong) {
  EXPECT_EQ(complaint("[]"), "own.json:1:1: /: expected an object with the keys 'k' and 'lin'");
  EXPECT_EQ(complaint("{\"k\": 2}"), "own.json:1:7: /k: is 2, expected the order of the method: 3, 4, 5 or 6");
  EXPECT_EQ(complaint("{\"k\": 3.5}"), "own.json:1:7: /k: is 3.5, expected the order of the method: 3, 4, 5 or 6");
  EXPECT_EQ(complaint("{\"lin\": []}"),
            "own.json:1:1: /: the key 'k' is missing; expected the order of the method, 3 to 6");
  EXPECT_EQ(complaint("{\"k\": 3}"), "own.json:1:1: /: the key 'lin' is missing; expected an array of 2 linear forms");
  EXPECT_EQ(complaint("{\"k\": 3, \"lin\": [1]}"),
            "own.json:1:17: /lin: expected an array of 2 linear forms, as order 3 needs");
  EXPECT_EQ(complaint("{\"k\": 3, \"lin\": [1, 2]}"),
            "own.json:1:18: /lin/0: expected an object with the keys 'a' and 'b'");
  EXPECT_EQ(complaint("{\"k\": 3, \"lin\": [{}, 2]}"),
            "own.json:1:18: /lin/0: the key 'a' is missing; expected 4 numbers, the weights of h v");
  EXPECT_EQ(complaint("{\"k\": 3, \"lin\": [{\"a\": [1, 2, 3]}, 2]}"),
            "own.json:1:24: /lin/0/a: is an array of 3 values, expected an array of 4 numbers");
  EXPECT_EQ(complaint("{\"k\": 3, \"lin\": [{\"a\": [1, 2, 3, \"x\"]}, 2]}"),
            "own.json:1:34: /lin/0/a/3: is \"x\", expected a number");
  EXPECT_EQ(complaint("{\"k\": 3, \"lin\": [{\"a\": [1, 2, 3, 4], \"b\": [1]}, 2]}"),
            "own.json:1:43: /lin/0/b: is an array of 1 values, expected an array of 3 numbers");
  EXPECT_EQ(complaint("{\"k\": 3, \"line\": []}"),
            "own.json:1:18: /line: unknown key 'line'; did you mean 'lin'? known: k, lin, name, source");
}

TEST_F(CorrectionFile, SaysThatTheFileIsMissing) {
  EXPECT_NE(text_of<InvalidInput>([&] { io::read_correction_set(folder / "none.json"); }).find("No such file"),
            std::string::npos);
}

}  // namespace
