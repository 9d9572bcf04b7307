#include "base/field.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace {

using namespace kreisel;

std::string refusal(const Field& field, const Value& value) {
  try {
    checked(field, value);
  } catch (const InvalidInput& e) {
    return e.what();
  }
  return "";
}

TEST(Field, RangesAreSaidInWords) {
  EXPECT_EQ(refusal({.name = "a", .meaning = "", .minimum = 0.0, .minimum_is_excluded = true}, 0.0),
            "is 0, must be positive");
  EXPECT_EQ(refusal({.name = "a", .meaning = "", .minimum = 0.0}, -1.0), "is -1, must not be negative");
  EXPECT_EQ(refusal({.name = "a", .meaning = "", .minimum = 1.0, .kind = FieldKind::whole}, 0L),
            "is 0, must be at least 1");
  EXPECT_EQ(refusal({.name = "a", .meaning = "", .minimum = 1.0, .maximum = 6.0, .kind = FieldKind::whole}, 7L),
            "is 7, must lie between 1 and 6");
  EXPECT_EQ(refusal({.name = "a", .meaning = "", .minimum = 0.0, .maximum = 1.0, .maximum_is_excluded = true}, 1.0),
            "is 1, must lie between 0 and 1");
  EXPECT_EQ(refusal({.name = "a", .meaning = "", .maximum = 3.0}, 4.0), "is 4, must be at most 3");
}

TEST(Field, TextsAndNumbersOfOtherTypesAreTakenForWhatTheyMean) {
  const Field number{.name = "a", .meaning = ""}, whole{.name = "n", .meaning = "", .kind = FieldKind::whole};
  EXPECT_EQ(checked(number, "+1e-3"), Value(1e-3));
  EXPECT_EQ(checked(number, 3L), Value(3.0));
  EXPECT_EQ(checked(whole, 1e6), Value(1'000'000L));
  EXPECT_EQ(refusal(whole, 0.5), "is 0.5, expected a whole number");
  EXPECT_EQ(refusal(whole, 1e300), "is 1e+300, expected a whole number");
  EXPECT_EQ(refusal(number, true), "is true, expected a finite number");
  EXPECT_EQ(refusal(number, "0x10"), "is '0x10', expected a finite number");
  const Field digit{.name = "approximation", .meaning = "", .words = {"3", "1"}};
  EXPECT_EQ(checked(digit, 1L), Value("1"));
  EXPECT_EQ(refusal(digit, 2L).find("unknown approximation '2'"), 0u);
}

TEST(Field, AWordThatEndsInPathStandsForAnyPath) {
  const Field field{.name = "correction", .meaning = "", .words = {"magnus", "file:PATH"}, .kind = FieldKind::word};
  EXPECT_EQ(checked(field, "file:own.json"), Value("file:own.json"));
  EXPECT_EQ(refusal(field, "magnum").find("unknown correction 'magnum'; did you mean 'magnus'?"), 0u);
  EXPECT_NE(refusal(field, "fil:x"), "");
}

TEST(Field, ListsMayBeOneNumberOrAText) {
  const Field times{.name = "corners", .meaning = "", .words = {"file:PATH"}, .kind = FieldKind::numbers};
  EXPECT_EQ(checked(times, "0.5, 1\n2"), Value(std::vector<double>{0.5, 1, 2}));
  EXPECT_EQ(checked(times, 0.5), Value(std::vector<double>{0.5}));
  EXPECT_EQ(refusal(times, "0.5,x"), "has 'x', expected numbers separated by commas");
  EXPECT_NE(refusal(times, std::vector<double>{}), "");
}

TEST(Text, NumbersAreReadWhole) {
  EXPECT_EQ(number_in("1e3"), 1000.0);
  EXPECT_EQ(number_in("+.5"), 0.5);
  for (const char* text : {"", "+", "+-1", "1 ", " 1", "1,5", "nan", "inf", "1e999", "0x1p3"})
    EXPECT_FALSE(number_in(text)) << text;
}

TEST(Text, CsvCellsAreQuotedWhereTheyMust) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  EXPECT_EQ(csv_cell("a, \"b\"\nc"), "\"a, \"\"b\"\" c\"");
}

}  // namespace
