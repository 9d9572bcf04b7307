#include "kreisel/error.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace {

using kreisel::nearest;
using kreisel::unknown_name;

const std::vector<std::string> methods = {"bliedf", "mkbdf", "generalized-alpha", "rkmk"};

TEST(Nearest, FindsASlipOfTheKeyboard) {
  EXPECT_EQ(nearest("blidef", methods), "bliedf");  // transposed
  EXPECT_EQ(nearest("mkbd", methods), "mkbdf");     // missing
  EXPECT_EQ(nearest("rkkmk", methods), "rkmk");     // doubled
  EXPECT_EQ(nearest("generalised_alpha", methods), "generalized-alpha");
}

TEST(Nearest, ReturnsAnExactMatchAndIgnoresCapitals) {
  EXPECT_EQ(nearest("rkmk", methods), "rkmk");
  EXPECT_EQ(nearest("BLieDF", methods), "bliedf");
  EXPECT_EQ(nearest("SO(3)", {"rn", "se3", "so3"}), "so3");
}

TEST(Nearest, PrefersTheSmallerDistance) { EXPECT_EQ(nearest("index2", {"index3x", "index3", "index2x2"}), "index3"); }

TEST(Nearest, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest("euler", methods), "");
  EXPECT_EQ(nearest("x", {"a", "b"}), "");
  EXPECT_EQ(nearest("", methods), "");
  EXPECT_EQ(nearest("bliedf", {}), "");
}

TEST(UnknownName, SaysWhatIsWrongWhatIsNearAndWhatIsKnown) {
  EXPECT_EQ(unknown_name("method", "blidef", methods),
            "unknown method 'blidef'; did you mean 'bliedf'? known: bliedf, mkbdf, generalized-alpha, rkmk");
}

TEST(UnknownName, OffersNothingWhenNothingIsNear) {
  EXPECT_EQ(unknown_name("group", "xyz", {"rn", "so3"}), "unknown group 'xyz'; known: rn, so3");
  EXPECT_EQ(unknown_name("section", "s", {}), "unknown section 's'; there are none");
}

TEST(UnknownName, CutsWordsThatAreNoWords) {
  const std::string long_word(1'000'000, 'x');
  const std::string sentence = unknown_name("joint", long_word, {"revolute", long_word + "y"});  // no 10¹² comparisons
  EXPECT_EQ(sentence.find("did you mean"), std::string::npos);
  EXPECT_LT(sentence.size(), 300u);
}

TEST(Clipped, KeepsCharactersWhole) {
  EXPECT_EQ(kreisel::clipped("mass", 4), "mass");
  EXPECT_EQ(kreisel::clipped("masses", 4), "mass...");
  EXPECT_EQ(kreisel::clipped("aäö", 2), "a...");
  EXPECT_EQ(kreisel::clipped("aäö", 3), "aä...");
}

}  // namespace
