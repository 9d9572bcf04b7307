#include "kreisel/io/json_source.hpp"

#include <gtest/gtest.h>

#include "kreisel/base/error.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace kreisel;
using kreisel::test::text_of;

std::string complaint_about(const std::string& text) {
  return text_of<InvalidInput>([&] { io::JsonSource("model.json", text); });
}

TEST(JsonSource, SaysWhereTheTextStopsBeingJson) {
  EXPECT_EQ(complaint_about("{\n  \"k\": 4,\n  \"lin\": [1, }\n}").substr(0, 33), "model.json:3:14: not valid JSON: ");
  EXPECT_NE(complaint_about("").find("model.json:1:1: not valid JSON"), std::string::npos);
  EXPECT_NE(complaint_about("{\"a\": 1} x").find("model.json:1:10:"), std::string::npos);
}

TEST(JsonSource, CountsCharactersNotBytes) {
  EXPECT_NE(complaint_about("[\"äöü\", !]").find("model.json:1:9:"), std::string::npos) << complaint_about("[\"äöü\", !]");
}

TEST(JsonSource, RefusesRepeatedKeys) {
  EXPECT_EQ(complaint_about("{\"mass\": 1, \"mass\": 2}"), "model.json: an object names the key 'mass' twice");
  EXPECT_EQ(complaint_about("[{\"mass\": 1}, {\"mass\": 2}]"), "");
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
  EXPECT_EQ(text_of<InvalidInput>([&] { source.refuse_unknown_keys("", {"masses", "name"}); }),
            "x.json:2:10: /mass: unknown key 'mass'; did you mean 'masses'? known: masses, name");
  EXPECT_EQ(text_of<InvalidInput>([&] { source.require("", "name", "a string"); }),
            "x.json:1:1: /: the key 'name' is missing; expected a string");
}

TEST(JsonSource, SurvivesDeepNesting) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_NO_THROW(io::JsonSource("deep", deep).position("/0/0"));
}

}  // namespace
