// Numbers of trajectories: the text reads back as the same bits, none is shorter, and none as short is closer.
#include "io/files/number_text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace {

using namespace kreisel;

std::string text_of(double value) {
  std::array<char, io::number_space> space{};
  return {space.data(), io::write_number(space.data(), value)};
}

/// Digits without sign, point and zeros at either end.
std::string significant(std::string text) {
  text = text.substr(0, text.find('e'));
  std::erase_if(text, [](char c) { return c == '-' || c == '.'; });
  text.erase(0, text.find_first_not_of('0'));
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

void expect_exact(double value) {
  const std::string text = text_of(value);
  ASSERT_LE(text.size(), io::longest_number) << text;
  double back = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), back);
  ASSERT_TRUE(code == std::errc() && end == text.data() + text.size()) << text;
  ASSERT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(value)) << text;
  std::array<char, 32> shortest{};
  const auto done =
      std::to_chars(shortest.data(), shortest.data() + shortest.size(), value, std::chars_format::scientific);
  ASSERT_EQ(significant(text), significant({shortest.data(), done.ptr}));
}

TEST(NumberText, ReadsBackAsTheSameBitsAndIsShortest) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t bits = random();
    if (const auto any = std::bit_cast<double>(bits); std::isfinite(any)) expect_exact(any);
    expect_exact(static_cast<double>(static_cast<std::int64_t>(bits) >> (bits % 64)));
    expect_exact(std::ldexp(static_cast<double>(bits >> 11), -53));
    expect_exact(static_cast<double>(bits % 100'000) / 1000.0);
  }
  // Halfway between two texts, and the neighbours of short ones.
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t bits = random();
    expect_exact(static_cast<double>(bits >> 12) + 0.5);
    const double decimal =
        std::stod(std::to_string(bits % 1000) + "e" + std::to_string(static_cast<int>(bits >> 32 & 511) - 300));
    for (const double value : {decimal, std::nextafter(decimal, HUGE_VAL), std::nextafter(decimal, 0.0)})
      expect_exact(value);
  }
  for (int exponent = -1074; exponent < 1024; ++exponent) expect_exact(std::ldexp(1.0, exponent));
  for (int exponent = -307; exponent <= 308; ++exponent) expect_exact(std::stod("1e" + std::to_string(exponent)));
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0, -0.0, Limits::min(), Limits::denorm_min(), -Limits::max(), Limits::epsilon()})
    expect_exact(value);
}

TEST(NumberText, LooksAsPeopleWriteNumbers) {
  EXPECT_EQ(text_of(0.0), "0");
  EXPECT_EQ(text_of(-0.0), "-0");
  EXPECT_EQ(text_of(1.0), "1");
  EXPECT_EQ(text_of(-0.1), "-0.1");
  EXPECT_EQ(text_of(0.0025), "0.0025");
  EXPECT_EQ(text_of(2.5e-4), "2.5e-04");
  EXPECT_EQ(text_of(1e-300), "1e-300");
  EXPECT_EQ(text_of(150.0), "150");
  EXPECT_EQ(text_of(1234.5), "1234.5");
  EXPECT_EQ(text_of(1e16), "10000000000000000");
  EXPECT_EQ(text_of(1e17), "1e+17");
  EXPECT_EQ(text_of(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(text_of(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(text_of(-std::numeric_limits<double>::quiet_NaN()), "nan");
}

}  // namespace
