// Parameters of methods: structs and names say the same.
#include "method/parameters.hpp"

#include <gtest/gtest.h>

#include "kreisel/error.hpp"
#include "method/catalogue.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::method::choices;
using method::MethodChoice;

template <class Parameters>
void expect_the_same_defaults() {
  const MethodChoice by_name(Parameters::name), by_type{Parameters{}};
  EXPECT_EQ(&by_name.info(), &by_type.info());
  EXPECT_EQ(by_name.parameters.listing(), by_type.parameters.listing()) << Parameters::name;
  EXPECT_EQ(method::values_of(method::parameters_in<Parameters>(by_name.parameters)).listing(),
            by_name.parameters.listing());
}

TEST(MethodParameters, EveryMethodHasAStructWithItsDefaults) {
  expect_the_same_defaults<Bliedf>();
  expect_the_same_defaults<CommutatorFree>();
  expect_the_same_defaults<CrouchGrossman>();
  expect_the_same_defaults<GeneralizedAlpha>();
  expect_the_same_defaults<Mkam>();
  expect_the_same_defaults<Mkbdf>();
  expect_the_same_defaults<ProjectedBdf>();
  expect_the_same_defaults<Radau>();
  expect_the_same_defaults<Rkmk>();
  // energy-momentum, half-explicit, mk-multistep and rattlie are chosen by name.
  EXPECT_EQ(method::catalogue().size(), 13u);
}

TEST(MethodParameters, AreSetByMemberAndByName) {
  MethodChoice by_name("generalized-alpha");
  by_name.set("rho_inf", 0.8);
  by_name.set("beta", "0.3");
  by_name.set("approximation", 2L);
  by_name.set("modification", "velocity");
  const MethodChoice by_type =
      GeneralizedAlpha{.rho_inf = 0.8, .beta = 0.3, .approximation = 2, .modification = method::Modification::velocity};
  EXPECT_EQ(by_name.parameters.listing(), by_type.parameters.listing());
  const auto back = method::parameters_in<GeneralizedAlpha>(by_name.parameters);
  EXPECT_EQ(back.rho_inf, 0.8);
  EXPECT_EQ(back.beta, 0.3);
  EXPECT_FALSE(back.gamma.has_value());
  EXPECT_EQ(back.approximation, 2);
  EXPECT_EQ(back.modification, method::Modification::velocity);
}

TEST(MethodParameters, OutOfRangeAreRefusedWhereTheyAreSet) {
  EXPECT_THROW(MethodChoice(GeneralizedAlpha{.rho_inf = 1.5}), InvalidInput);
  EXPECT_THROW(MethodChoice(GeneralizedAlpha{.beta = 0.0}), InvalidInput);
  EXPECT_THROW(MethodChoice(GeneralizedAlpha{.approximation = 5}), InvalidInput);
  EXPECT_THROW(MethodChoice(Bliedf{.modification = method::Modification::both}), InvalidInput);
  try {
    MethodChoice("radau").set("rho_inf", 0.5);
    FAIL();
  } catch (const InvalidInput& e) {
    EXPECT_EQ(std::string(e.what()), "method 'radau': unknown parameter 'rho_inf'; there are none");
  }
}

}  // namespace
