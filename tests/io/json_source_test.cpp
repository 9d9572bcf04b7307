#include "io/json/json_source.hpp"

#include <gtest/gtest.h>

#include "kreisel/error.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace kreisel;
using kreisel::test::text_of;

std::string complaint_about(const std::string& text) {
  return text_of<InvalidInput>([&] { io::JsonSource("model.json", text); });
}

TEST(JsonSource, SaysWhereTheTextStopsBeingJson) {
  EXPECT_EQ(complaint_about("{\n  \"k\": 4,\n  \"lin\": [1, }\n}").substr(0, 41),
            "model.json:3:14: /lin/1: not valid JSON: ");
  EXPECT_NE(complaint_about("").find("model.json:1:1: /: not valid JSON"), std::string::npos);
  EXPECT_NE(complaint_about("{\"a\": 1} x").find("model.json:1:10:"), std::string::npos);
}

TEST(JsonSource, CountsCharactersNotBytes) {
  EXPECT_NE(complaint_about("[\"äöü\", !]").find("model.json:1:9:"), std::string::npos)
      << complaint_about("[\"äöü\", !]");
}

TEST(JsonSource, RefusesRepeatedKeys) {
  const std::string rule = ": duplicate key; remove one of the two";
  EXPECT_EQ(complaint_about("{\"mass\": 1,\n \"mass\": 2}"), "model.json:2:2: /mass" + rule);
  EXPECT_EQ(complaint_about("[{\"mass\": 1}, {\"mass\": 2}]"), "");
  EXPECT_EQ(complaint_about("{\"a\": [{\"m\": 1, \"\\u006d\": [\"m\", 2]}],\n\"a\": 3}"),
            "model.json:1:17: /a/0/m" + rule + "\nmodel.json:2:1: /a" + rule)
      << "all of them, also behind escapes";
}

TEST(JsonSource, RefusesInfiniteNumbersWithTheirPlace) {
  EXPECT_EQ(complaint_about("{\"mass\": [1,\n 1e400],\n\"x\": -1E999}"),
            "model.json:2:2: /mass/1: is 1e400, expected a number below 1.8e308\n"
            "model.json:3:6: /x: is -1E999, expected a number below 1.8e308");
  EXPECT_NE(complaint_about("[" + std::string(400, '9') + "]").find("1:2: /0: is 999"), std::string::npos);
  EXPECT_EQ(complaint_about("[1e-400, 1.7e308, \"1e400\"]"), "");
}

TEST(JsonSource, SaysWhatWouldBeRightWhereTheParserDoesNot) {
  EXPECT_NE(complaint_about("{\"mass\": NaN}").find("1:10: /mass: not valid JSON: "), std::string::npos);
  EXPECT_NE(complaint_about("{\"mass\": NaN}").find("; expected [, {, a number"), std::string::npos);
  EXPECT_NE(complaint_about("{\"name\": \"a\nb\"}").find("; expected UTF-8 text"), std::string::npos);
  EXPECT_NE(complaint_about("[\"\xff\"]").find("; expected UTF-8 text"), std::string::npos);
}

TEST(JsonSource, ReadsTextBehindAByteOrderMark) {
  EXPECT_EQ(io::JsonSource("x", "\xEF\xBB\xBF{\"a\": 1}").position("/a").column, 7);
  EXPECT_NE(complaint_about("\xEF\xBB\xBF{\"a\": }").find("model.json:1:7: /a: not valid JSON"), std::string::npos);
}

TEST(JsonSource, RefusesTextsThatNoModelHas) {
  std::string deep, wide = "{\"k\": 0";
  for (int i = 0; i < 300; ++i) deep += i % 2 == 0 ? "[" : "{\"a\": ";
  EXPECT_NE(complaint_about(deep).find("/0/a: nesting deeper than 200 levels"), std::string::npos);
  for (int i = 0; i < 300'000; ++i)
    wide += ", \"k" + std::to_string(i) + "\": 0";  // hours, were it searched key by key
  EXPECT_NE(complaint_about(wide + "}").find("/k999: the object has more than 1000 keys"), std::string::npos);
}

TEST(JsonSource, LongWordsOfTheFileAreCutInMessages) {
  const std::string key(1'000'000, 'x');
  const io::JsonSource source("x.json", "{\"" + key + "\": 1}");
  EXPECT_LT(text_of<InvalidInput>([&] { source.refuse_unknown_keys("", {"mass"}); }).size(), 2100u);
}

TEST(JsonSource, FindsTheLineAndColumnOfEveryValue) {
  const io::JsonSource source("x", "{ \"a\\\"[\": [1, \"}],\", {\"b\":\n   -2.5e3}],\n\"c\" :\ttrue}");
  const auto at = [&](const char* pointer) {
    const io::TextPosition p = source.position(pointer);
    return std::pair(p.line, p.column);
  };
  using Place = std::pair<int, int>;
  EXPECT_EQ(at(""), Place(1, 1));
  EXPECT_EQ(at("/a\"["), Place(1, 11));
  EXPECT_EQ(at("/a\"[/0"), Place(1, 12));
  EXPECT_EQ(at("/a\"[/1"), Place(1, 15));
  EXPECT_EQ(at("/a\"[/2"), Place(1, 22));
  EXPECT_EQ(at("/a\"[/2/b"), Place(2, 4));
  EXPECT_EQ(at("/c"), Place(3, 7));
  EXPECT_EQ(at("/a\"[/2/missing"), Place(1, 22)) << "a missing value stands where its parent does";
  EXPECT_EQ(at("/a\"[/9"), Place(1, 11));
}

TEST(JsonSource, FindsKeysWithSlashesAndEscapes) {
  const io::JsonSource source("x", "{\"a/b\": 1, \"\\u00e4\": 2, \"~\": 3}");
  EXPECT_EQ(source.position("/a~1b").column, 9);
  EXPECT_EQ(source.position("/ä").column, 22);
  EXPECT_EQ(source.position("/~0").column, 30);
}

TEST(JsonSource, ComplaintsNameFileLineColumnAndPointer) {
  const io::JsonSource source("x.json", "{\n \"mass\": -1}");
  EXPECT_EQ(source.located("/mass", "is -1, must be positive"), "x.json:2:10: /mass: is -1, must be positive");
  EXPECT_EQ(text_of<InvalidInput>([&] {
              source.refuse_unknown_keys("", {"masses", "name"});
            }),
            "x.json:2:10: /mass: unknown key 'mass'; did you mean 'masses'? known: masses, name");
  EXPECT_EQ(text_of<InvalidInput>([&] { source.require("", "name", "a string"); }),
            "x.json:1:1: /: the key 'name' is missing; expected a string");
}

}  // namespace
