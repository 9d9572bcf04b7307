#include <gtest/gtest.h>

#include "io/temporary_folder.hpp"
#include "kreisel/base/error.hpp"
#include "kreisel/study/reference.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;

models::Model model_of(const std::string& name, const std::string& group = "") {
  const models::ModelInfo& info = models::find_model(name);
  return models::make_model(info, group, ParameterValues(info.parameters));
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
