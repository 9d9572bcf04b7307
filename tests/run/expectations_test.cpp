// Every number of data/expectations.json comes out.
#include <gtest/gtest.h>

#include <cctype>

#include "support/expectation.hpp"

namespace {

using namespace kreisel;
using support::Expectation;

class EveryExpectation : public testing::TestWithParam<Expectation> {};

TEST_P(EveryExpectation, ComesOut) {
  const Expectation& x = GetParam();
  const support::Measured measured = support::measure(x);
  EXPECT_NEAR(measured.value / x.value, 1.0, x.relative_tolerance)
      << x.id << ": expected " << x.value << ", measured " << measured.value << " at step " << measured.at_step << "\n"
      << x.command << "\n" << x.source;
  if (x.at_step >= 0) {
    EXPECT_EQ(measured.at_step, x.at_step);
  }
}

INSTANTIATE_TEST_SUITE_P(File, EveryExpectation,
                         testing::ValuesIn(support::load_expectations(KREISEL_SOURCE_DIR "/data/expectations.json")),
                         [](const auto& tested) {
                           std::string name = tested.param.id;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
