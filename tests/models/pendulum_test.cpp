// The pendulum: its two published starts and the parameters that do not make one.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kreisel/error.hpp"
#include "models/catalogue.hpp"

namespace {

using namespace kreisel;

using Settings = std::vector<std::pair<std::string, std::string>>;

models::Model pendulum(const Settings& settings = {}) {
  const models::ModelInfo& info = models::find_model("pendulum");
  ParameterValues parameters(info.parameters);
  for (const auto& [key, value] : settings) parameters.set("model 'pendulum'", info.parameters, key, value);
  return models::make_model(info, "", parameters);
}

std::string error_of(const Settings& settings) {
  try {
    pendulum(settings);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

double energy_at_start(const models::Model& model) {
  system::Motion m(model.system->space());
  m.q = model.start.q0;
  m.v = model.start.v0;
  return model.system->energy(m);
}

TEST(Pendulum, StartsAtTheBottomWithUnitSpeed) {
  const models::Model model = pendulum();
  EXPECT_EQ(model.start.q0, Eigen::Vector2d(0.0, -1.0));
  EXPECT_EQ(model.start.v0, Eigen::Vector2d(1.0, 0.0));
  EXPECT_EQ(model.start.t_end, 2.0);
}

TEST(Pendulum, EveryDeviationLiesOnTheSameOrbit) {
  for (const char* x0 : {"0", "0.1", "0.2", "-0.2", "0.3"}) {
    const models::Model model = pendulum({{"x0", x0}});
    EXPECT_NEAR(energy_at_start(model), 0.5 - 9.81, 1e-14) << x0;
    EXPECT_EQ(model.start.q0[0], std::stod(x0));
    EXPECT_LT(model.start.q0[1], 0.0) << "the bob hangs";
    EXPECT_GT(model.start.v0[0], 0.0);
  }
}

TEST(Pendulum, EnergyScalesWithTheParameters) {
  const models::Model model = pendulum({{"mass", "3"}, {"length", "2"}, {"gravity", "5"}, {"x0", "0.4"}});
  EXPECT_NEAR(energy_at_start(model), 3.0 * (0.5 - 5.0 * 2.0), 1e-13);
  EXPECT_NEAR(model.start.q0.norm(), 2.0, 1e-15);
}

TEST(Pendulum, MultiplierAtTheBottomCarriesWeightAndCentrifugalForce) {
  const models::Model model = pendulum({{"mass", "2"}, {"length", "0.5"}});
  system::Motion m(model.system->space());
  m.q = model.start.q0;
  m.v = model.start.v0;
  m.a << 0.0, 1.0 / 0.5;                                                // v²/l
  const Vector lambda = Vector::Constant(1, 2.0 * (9.81 + 2.0) / 0.5);  // the rod pulls with λ l
  system::Residual r(2, 1, 1);
  model.system->residual(m, lambda, r);
  EXPECT_LT(r.force.norm(), 1e-13);
  Vector z(1);
  model.system->acceleration_gap(m, z);
  EXPECT_NEAR(z[0], 0.0, 1e-14);
}

TEST(Pendulum, EichReleasesItHorizontallyWithPeriodTwo) {
  const models::Model model = pendulum({{"variant", "eich"}});
  EXPECT_EQ(model.start.q0, Eigen::Vector2d(1.0, 0.0));
  EXPECT_EQ(model.start.v0, Eigen::Vector2d(0.0, 0.0));
  EXPECT_EQ(model.start.t_end, 100.0);
  system::Residual r(2, 1, 1);
  const system::Motion rest(model.system->space());
  model.system->residual(rest, Vector(Vector::Zero(1)), r);
  const double gravity = r.force[1];
  const double period = 4.0 * std::comp_ellint_1(std::sin(std::numbers::pi / 4.0)) / std::sqrt(gravity);
  EXPECT_NEAR(period, 2.0, 1e-14);
}

TEST(Pendulum, GivenGravityOverridesTheVariant) {
  const models::Model model = pendulum({{"variant", "eich"}, {"gravity", "7"}});
  system::Residual r(2, 1, 1);
  model.system->residual(system::Motion(model.system->space()), Vector(Vector::Zero(1)), r);
  EXPECT_EQ(r.force[1], 7.0);
}

TEST(Pendulum, RefusesADeviationLongerThanTheRod) {
  for (const char* x0 : {"1", "-1.5"}) EXPECT_EQ(error_of({{"x0", x0}}).rfind("model 'pendulum': x0 ", 0), 0u) << x0;
  EXPECT_NE(error_of({{"x0", "1.5"}}).find("smaller than the length"), std::string::npos);
}

TEST(Pendulum, RefusesADeviationThatItsEnergyDoesNotReach) {
  const std::string text = error_of({{"x0", "0.9"}});
  EXPECT_EQ(text.rfind("model 'pendulum': ", 0), 0u);
  EXPECT_NE(text.find("choose a smaller |x0|"), std::string::npos);
}

TEST(Pendulum, RefusesMassesAndLengthsThatAreNotPositive) {
  EXPECT_EQ(error_of({{"mass", "-1"}}), "model 'pendulum': parameter 'mass' (mass [kg]) is -1, must be positive");
  EXPECT_EQ(error_of({{"mass", "0"}}), "model 'pendulum': parameter 'mass' (mass [kg]) is 0, must be positive");
  EXPECT_EQ(error_of({{"length", "-0.5"}}),
            "model 'pendulum': parameter 'length' (length of the rod [m]) is -0.5, must be positive");
}

TEST(Pendulum, RefusesWordsAndNamesItDoesNotKnow) {
  EXPECT_EQ(error_of({{"variant", "eisch"}}),
            "model 'pendulum': unknown variant 'eisch'; did you mean 'eich'? known: arnold, eich, unit");
  EXPECT_EQ(
      error_of({{"lenght", "1"}}),
      "model 'pendulum': unknown parameter 'lenght'; did you mean 'length'? known: variant, x0, mass, length, gravity");
}

TEST(Pendulum, RefusesWhatIsNoNumber) {
  for (const char* value : {"heavy", "", "1kg", "nan", "inf"})
    EXPECT_EQ(error_of({{"mass", value}}), "model 'pendulum': parameter 'mass' (mass [kg]) is '" + std::string(value) +
                                               "', expected a finite number");
}

}  // namespace
