#include <gtest/gtest.h>

#include "io/temporary_folder.hpp"
#include "kreisel/error.hpp"
#include "solve/kkt.hpp"
#include "study/reference.hpp"
#include "system/precise.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;

models::Model model_of(const std::string& name, const std::string& group = "") {
  const models::ModelInfo& info = models::find_model(name);
  return models::make_model(info, group, ParameterValues(info.parameters));
}

TEST(Quad, HasThirtyThreeDigits) {
  // Values from series with 60 digits, in two doubles.
  const auto expect = [](const Quad& x, double high, double low) {
    EXPECT_LT(static_cast<double>(abs(x - Quad(high) - Quad(low))), 1e-32);
  };
  expect(sin(Quad(1.0)), 0.8414709848078965, 1.776845092935536e-18);
  expect(cos(Quad(1.0)), 0.5403023058681398, -4.760954612604417e-17);
  expect(sin(Quad(10.0)), -0.5440211108893698, -3.8949898668223557e-17);
  expect(cos(Quad(10.0)), -0.8390715290764524, -1.4147119988953418e-17);
  expect(sin(Quad(-3.5)), 0.35078322768961984, 1.1655739256927901e-17);
  expect(sqrt(Quad(2.0)), 1.4142135623730951, -9.667293313452913e-17);
}

TEST(Precise, EveryModelThatHasItSaysWhatItsDoubleFormulasSay) {
  int count = 0;
  for (const models::ModelInfo& info : models::catalogue())
    for (const std::string& group : info.groups) {
      const models::Model model = model_of(info.name, group);
      const auto* precise = dynamic_cast<const system::Precise*>(model.system.get());
      if (precise == nullptr) continue;
      ++count;
      const system::System& system = *model.system;
      Counters counters;
      solve::Kkt kkt(system, counters, "automatic");
      lie::Motion motion(system.space());
      motion.t = model.start.t0;
      motion.q = model.start.q0;
      motion.v = model.start.v0;
      Vector lambda = Vector::Zero(system.pattern().rows());
      ASSERT_TRUE(kkt.accelerate(motion, lambda));
      std::vector<Quad> q(motion.q.begin(), motion.q.end()), v(motion.v.begin(), motion.v.end());
      std::vector<Quad> q_rate(q.size()), v_rate(v.size()), multipliers(lambda.size());
      ASSERT_TRUE(precise->rates(motion.t, q.data(), v.data(), q_rate.data(), v_rate.data(), multipliers.data()));
      for (std::size_t i = 0; i < v.size(); ++i)
        EXPECT_NEAR(static_cast<double>(v_rate[i]), motion.a[i], 1e-10 * (1.0 + motion.a.norm()))
            << info.name << " " << group;
      for (std::size_t i = 0; i < multipliers.size(); ++i)
        EXPECT_NEAR(static_cast<double>(multipliers[i]), lambda[i], 1e-10 * (1.0 + lambda.norm()))
            << info.name << " " << group;
      Vector moved(q.size()), x = 1e-6 * motion.v;
      system.space().move(motion.q, x, moved);
      for (std::size_t i = 0; i < q.size(); ++i)
        EXPECT_NEAR(static_cast<double>(q_rate[i]), (moved[i] - motion.q[i]) / 1e-6,
                    1e-4 * motion.v.squaredNorm() + 1e-9)
            << info.name;
    }
  EXPECT_GE(count, 9) << "heavy top on three groups, singular top, pendulum, andrews, car axis, two slider cranks";
}

TEST(Precise, TopAgreesWithDoublePrecisionToItsStatedAccuracyAndStatesMore) {
  for (const char* group : {"so3", "r3xso3", "se3"}) {
    const models::Model model = model_of("heavy-top", group);
    const auto quad = make_reference(model, 0.5, {}), plain = make_reference(model, 0.5, {.tolerance = 2e-13});
    EXPECT_GT(quad->nodes, 0);
    EXPECT_EQ(plain->nodes, 0);
    EXPECT_LT(quad->accuracy.q, 2e-14) << group;
    EXPECT_LT(quad->accuracy.q, plain->accuracy.q) << group;
    ExactSolution a(model, quad), b(model, plain);
    for (int i = 1; i <= 7; ++i) {
      const double t = 0.5 * i / 7.0;
      EXPECT_LE((a.at(t).v - b.at(t).v).norm(), 3.0 * plain->accuracy.v) << group;
      EXPECT_LE((a.lambda() - b.lambda()).norm(), 3.0 * plain->accuracy.lambda) << group;
    }
  }
}

TEST(Precise, PendulumOfEichIsBackAfterFiftyPeriods) {
  const models::ModelInfo& info = models::find_model("pendulum");
  ParameterValues eich(info.parameters);
  eich.set(info.name, info.parameters, "variant", "eich");
  const models::Model model = models::make_model(info, "", eich);
  ExactSolution exact(model, make_reference(model, 100.0, {}));
  EXPECT_GT(exact.reference().nodes, 0);
  const lie::Motion& end = exact.at(100.0);
  EXPECT_NEAR(end.q[0], 1.0, 1e-15);
  EXPECT_NEAR(end.q[1], 0.0, 1e-15);
  // g is rounded to a double: half an ulp of it is a shift of 3e-15 s after 100 s, which gravity turns into a velocity.
  EXPECT_NEAR(end.v[1], 0.0, 1e-13);
}

TEST(Reference, CubicIsExact) {
  const models::Model model = model_of("cubic");
  ExactSolution exact(model, make_reference(model, 1.5, {}));
  for (const double t : {0.0, 0.1, 1.0 / 3.0, 0.75, 1.5}) {
    EXPECT_NEAR(exact.at(t).q[0], t * t * t, 1e-14);
    EXPECT_NEAR(exact.at(t).v[0], 3.0 * t * t, 1e-13);
    EXPECT_NEAR(exact.lambda()[0], -6.0 * t, 1e-11);
  }
}

TEST(Reference, StatedAccuracyBoundsTheDifferenceToAFinerOne) {
  const models::Model model = model_of("heavy-top", "r3xso3");
  const auto stated = make_reference(model, 0.3, {.tolerance = 1e-9});
  EXPECT_LT(stated->accuracy.q, 1e-7);
  EXPECT_GT(stated->accuracy.q, 1e-13);
  ExactSolution coarse(model, stated), fine(model, make_reference(model, 0.3, {}));
  Vector a(12), b(12);
  for (int i = 1; i <= 17; ++i) {
    const double t = 0.3 * i / 17.0;
    model.system->space().embed(coarse.at(t).q, a);
    model.system->space().embed(fine.at(t).q, b);
    EXPECT_LE((a - b).norm(), stated->accuracy.q);
    EXPECT_LE((coarse.at(t).v - fine.at(t).v).norm(), stated->accuracy.v);
    EXPECT_LE((coarse.lambda() - fine.lambda()).norm(), stated->accuracy.lambda);
  }
}

TEST(Reference, CacheGivesTheSameNumbersAndSurvivesDamage) {
  test::TemporaryFolder folder;
  const models::Model model = model_of("pendulum");
  const ReferenceOptions options{.cache = folder.path()};
  const auto first = make_reference(model, 0.5, options), second = make_reference(model, 0.5, options);
  EXPECT_FALSE(first->was_cached);
  EXPECT_TRUE(second->was_cached);
  EXPECT_EQ(first->points, second->points);
  EXPECT_EQ(first->accuracy.lambda, second->accuracy.lambda);
  EXPECT_FALSE(make_reference(model, 0.6, options)->was_cached) << "another interval";
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    std::string text = io::read_text(file.path(), "cache");
    text[text.size() / 2] ^= 1;
    io::write_atomically(file.path(), text);
  }
  const auto third = make_reference(model, 0.5, options);
  EXPECT_FALSE(third->was_cached);
  EXPECT_EQ(first->points, third->points);
}

TEST(Reference, EventsAreRefused) { EXPECT_THROW(make_reference(model_of("wall-pendulum"), 1.0, {}), InvalidInput); }

TEST(Reference, KeyDependsOnTheEquations) {
  const models::ModelInfo& info = models::find_model("pendulum");
  ParameterValues heavier(info.parameters);
  heavier.set(info.name, info.parameters, "gravity", "9.82");
  const models::Model a = model_of("pendulum"), b = models::make_model(info, "", heavier);
  EXPECT_NE(reference_key(a, 1.0, {}), reference_key(b, 1.0, {}));
  EXPECT_EQ(reference_key(a, 1.0, {}), reference_key(model_of("pendulum"), 1.0, {}));
}

}  // namespace
