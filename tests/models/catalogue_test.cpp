// The list of models, and what it says about names that are not on it.
#include "models/catalogue.hpp"

#include <gtest/gtest.h>

#include <set>

#include "kreisel/error.hpp"

namespace {

using namespace kreisel;

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Catalogue, NamesAreUniqueAndEverythingIsDescribed) {
  std::set<std::string> names;
  for (const models::ModelInfo& info : models::catalogue()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_FALSE(info.groups.empty()) << info.name;
    for (const std::string& group : info.groups) EXPECT_NO_THROW(lie::group_named(group)) << info.name;
    std::set<std::string> keys;
    for (const ParameterInfo& parameter : info.parameters) {
      EXPECT_TRUE(keys.insert(parameter.name).second) << info.name << " " << parameter.name;
      EXPECT_FALSE(parameter.meaning.empty()) << info.name << " " << parameter.name;
    }
  }
}

TEST(Catalogue, MakesTheModelItNames) {
  for (const models::ModelInfo& info : models::catalogue())
    for (const std::string& group : info.groups) {
      const models::Model model = models::make_model(info, group, ParameterValues(info.parameters));
      EXPECT_EQ(model.name, info.name);
      EXPECT_EQ(model.group, group);
      ASSERT_NE(model.system, nullptr);
      EXPECT_EQ(model.start.q0.size(), model.system->space().nq());
      EXPECT_EQ(model.start.v0.size(), model.system->space().nv());
      EXPECT_GT(model.start.t_end, model.start.t0);
    }
}

TEST(Catalogue, SuggestsTheNearestModel) {
  const std::string text = error_of([] { models::find_model("heavytop"); });
  EXPECT_EQ(text.rfind("unknown model 'heavytop'; did you mean 'heavy-top'? known: heavy-top, ", 0), 0u) << text;
}

TEST(Catalogue, NamesTheGroupsAModelHas) {
  const models::ModelInfo& info = models::find_model("pendulum");
  const ParameterValues parameters(info.parameters);
  EXPECT_EQ(error_of([&] { models::make_model(info, "se3", parameters); }),
            "model 'pendulum' has no formulation on 'se3'; it has rn");
  EXPECT_EQ(
      error_of([&] { models::make_model(info, "se4", parameters); }).rfind("unknown group 'se4'; did you mean ", 0),
      0u);
}

}  // namespace
