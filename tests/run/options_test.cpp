// Every option that cannot be served is refused with its name, its value and what would be right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "method/catalogue.hpp"
#include "solve/formulation.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using run::Options;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

class Problems : public testing::Test {
 protected:
  std::vector<run::OptionProblem> problems(const Options& options, const std::string& group = "r3xso3") const {
    support::Experiment e;
    e.group = group;
    const models::Model model = support::make_model(e);
    return run::problems_in(options, *model.system, model.start);
  }
  /// Exactly one problem, with this field and a message that contains `text`.
  void expect_one(const Options& options, const std::string& field, const std::string& text,
                  const std::string& group = "r3xso3") const {
    const std::vector<run::OptionProblem> found = problems(options, group);
    ASSERT_EQ(found.size(), 1u) << field << ": " << text;
    EXPECT_EQ(found[0].field, field);
    EXPECT_NE(found[0].message.find(text), std::string::npos) << found[0].message;
  }
  /// Names are looked up where they are given.
  template <class Set>
  void expect_refusal(const Set& set, const std::string& text) const {
    Options options;
    try {
      set(options);
      FAIL() << "not refused: " << text;
    } catch (const InvalidInput& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  }
  Options constant() const {
    Options options;
    options.step = 1e-3;
    return options;
  }
};

TEST_F(Problems, AreNoneInTheDefaultsWithAStep) {
  EXPECT_TRUE(problems(constant()).empty());
  EXPECT_TRUE(problems(constant(), "so3").empty());
}

TEST_F(Problems, Method) {
  expect_refusal([](Options& o) { o.method = "bliedff"; }, "did you mean 'bliedf'");
}

TEST_F(Problems, Order) {
  Options o = constant();
  o.order = 7;
  expect_one(o, "order", "is 7, but bliedf has orders 1 to 6");
  o.order = -1;
  expect_one(o, "order", "is -1, must be at least 1");
  o.method = "generalized-alpha";
  o.order = 3;
  expect_one(o, "order", "is 3, but generalized-alpha has order 2 only");
  o.method = "rkmk";
  for (const int order : {4, 6, 7, 9}) {
    o.order = order;
    expect_one(o, "order", fmt::format("is {}, but rkmk has orders 5 and 8", order));
  }
}

TEST_F(Problems, EveryMethodNamesWhatItServes) {
  for (const method::MethodInfo& info : method::catalogue()) {
    Options o = constant();
    o.method = info.name;
    if (info.has_order_choice) {
      o.order = info.max_order + 1;
      const std::vector<run::OptionProblem> found = problems(o, "so3");
      ASSERT_EQ(found.size(), 1u) << info.name;
      EXPECT_EQ(found[0].field, "order") << info.name;
      EXPECT_NE(found[0].message.find(fmt::format("{} has {}", info.name, info.orders_in_words())), std::string::npos)
          << found[0].message;
      o.order = 0;
    }
    std::string served;
    for (const std::string& name : info.formulations) served += (served.empty() ? "" : ", ") + name;
    for (const solve::FormulationInfo& formulation : solve::formulations()) {
      if (std::count(info.formulations.begin(), info.formulations.end(), formulation.name) > 0) continue;
      o.formulation = formulation.name;
      const std::vector<run::OptionProblem> found = problems(o);
      ASSERT_FALSE(found.empty()) << info.name << " with " << formulation.name;
      EXPECT_EQ(found[0].field, "formulation") << info.name << " with " << formulation.name;
      EXPECT_NE(found[0].message.find(
                    fmt::format("{} does not support '{}'; it supports {}", info.name, formulation.name, served)),
                std::string::npos)
          << found[0].message;
    }
    if (info.variable_formulations.empty()) {
      o = Options{};
      o.method = info.name;
      const std::vector<run::OptionProblem> found = problems(o, "so3");
      ASSERT_FALSE(found.empty()) << info.name;
      EXPECT_NE(found[0].message.find("constant steps only"), std::string::npos) << found[0].message;
    }
  }
}

TEST_F(Problems, EndTime) {
  Options o = constant();
  o.t_end = 0.0;
  expect_one(o, "t_end", "is 0, must be a number after the start time 0");
  o.t_end = -1.0;
  expect_one(o, "t_end", "is -1, must be a number after the start time 0");
  o.t_end = infinity;
  expect_one(o, "t_end", "is inf, expected a finite number");
}

TEST_F(Problems, Step) {
  Options o = constant();
  o.step = -1e-3;
  expect_one(o, "step", "is -0.001, must be positive");
  for (const double step : {infinity, nan}) {
    o.step = step;
    expect_one(o, "step", "expected a finite number");
  }
}

TEST_F(Problems, Tolerances) {
  Options o;
  for (const double rtol : {0.0, -1.0, 1.0}) {
    o.rtol = rtol;
    expect_one(o, "rtol", "must lie between 0 and 1");
  }
  o.rtol = nan;
  expect_one(o, "rtol", "is nan, expected a finite number");
  o = Options();
  o.atol = -1e-9;
  expect_one(o, "atol", "must not be negative");
  o.atol = nan;
  expect_one(o, "atol", "expected a finite number");
}

TEST_F(Problems, Newton) {
  Options o = constant();
  o.newton_tolerance = -1.0;
  expect_one(o, "newton_tolerance", "is -1, must be positive");
  o = constant();
  o.newton_tolerance = nan;
  expect_one(o, "newton_tolerance", "is nan, expected a finite number");
  o = constant();
  o.newton_iterations = 0;
  expect_one(o, "newton_iterations", "is 0, must be at least 1");
}

TEST_F(Problems, StepBounds) {
  Options o = constant();
  o.max_steps = 0;
  expect_one(o, "max_steps", "is 0, must be at least 1");
  o = Options();
  o.max_order = 7;
  expect_one(o, "max_order", "is 7, must lie between 1 and 6");
  o = Options();
  o.initial_step = -1.0;
  expect_one(o, "initial_step", "is -1, must be positive");
  o = constant();
  o.step = 1e-300;
  expect_one(o, "step", "far more than max_steps");
  o = Options();
  o.min_step = 0.1;
  o.max_step = 0.01;
  expect_one(o, "min_step", "is 0.1, above max_step = 0.01");
  o = Options();
  o.min_step = nan;
  expect_one(o, "min_step", "is nan, expected a finite number");
  o = Options();
  o.max_step = infinity;
  expect_one(o, "max_step", "is inf, expected a finite number");
}

TEST_F(Problems, Starting) {
  Options o = constant();
  expect_refusal([](Options& wrong) { wrong.starting = "corected"; },
                 "unknown starting procedure 'corected'; did you mean 'corrected'");
  o.starting = "v0";
  expect_one(o, "starting", "'v0' is for generalized-alpha only; bliedf has corrected and exact");
  o.method = "generalized-alpha";
  EXPECT_TRUE(problems(o).empty());
}

TEST_F(Problems, Formulation) {
  Options o = constant();
  expect_refusal([](Options& wrong) { wrong.formulation = "index4"; }, "unknown formulation 'index4'; did you mean");
  o.formulation = "projected";
  expect_one(o, "formulation", "bliedf does not support 'projected'; it supports ode, index3");
  o.formulation = "ode";
  expect_one(o, "formulation", "'ode' needs a model without constraints; this one has 3 constraint rows");
  EXPECT_TRUE(problems(o, "so3").empty());
}

TEST_F(Problems, ConstantStepMethodsWithTolerances) {
  Options o;
  o.method = "mkbdf";
  expect_one(o, "method", "mkbdf supports constant steps only: give step");
}

TEST_F(Problems, Correction) {
  Options o = constant();
  o.correction = "magnum";
  expect_one(o, "correction", "did you mean 'magnus'");
  o.correction = "difference";
  o.order = 5;
  expect_one(o, "correction", "'difference' has no coefficients for order 5; it exists for orders 3, 4");
  o = Options{};
  o.order = 4;
  o.correction = "published";
  expect_one(o, "correction", "'published' requires constant steps; with tolerances use magnus");
  o = constant();
  o.method = "mkbdf";
  o.correction = "none";
  expect_one(o, "correction", "mkbdf has no correction term; correction is for bliedf only");
}

TEST_F(Problems, LinearSolver) {
  expect_refusal([](Options& o) { o.linear_solver = "dens"; }, "did you mean 'dense'");
}

TEST_F(Problems, ComeAllAtOnce) {
  Options o = constant();
  o.order = 9;
  o.t_end = -1.0;
  o.newton_iterations = 0;
  o.starting = "a0";
  EXPECT_EQ(problems(o).size(), 4u);
  support::Experiment e;
  e.options = o;
  try {
    support::integrate(e);
    FAIL() << "not refused";
  } catch (const InvalidInput& refusal) {
    const std::string text = refusal.what();
    for (const char* field : {"order: ", "t_end: ", "newton_iterations: ", "starting: "})
      EXPECT_NE(text.find(field), std::string::npos) << text;
  }
}

class InconsistentStart : public testing::Test {
 protected:
  std::string refusal(const models::Model& model) const {
    Options options;
    options.step = 1e-3;
    try {
      support::integrate(model, options);
    } catch (const InvalidInput& e) {
      return e.what();
    }
    return "";
  }
  models::Model model_ = support::make_model({});
};

TEST_F(InconsistentStart, OffThePositionConstraintIsRefused) {
  model_.start.q0[0] += 1e-3;
  EXPECT_NE(refusal(model_).find("violate the constraints: |Phi| = 1.000e-03"), std::string::npos) << refusal(model_);
}

TEST_F(InconsistentStart, OffTheVelocityConstraintIsRefused) {
  model_.start.v0[0] += 1e-3;
  EXPECT_NE(refusal(model_).find("|B v| = 1.000e-03"), std::string::npos) << refusal(model_);
}

TEST_F(InconsistentStart, ThatIsNotANumberIsRefused) {
  model_.start.v0[4] = nan;
  EXPECT_EQ(refusal(model_), "initial values: not all are finite");
  support::Experiment unconstrained;
  unconstrained.group = "so3";
  models::Model free = support::make_model(unconstrained);
  free.start.v0[1] = nan;
  EXPECT_EQ(refusal(free), "initial values: not all are finite");
}

TEST_F(InconsistentStart, OfTheWrongSizeIsRefused) {
  model_.start.q0.conservativeResize(3);
  EXPECT_EQ(refusal(model_), "initial values: 3 positions and 6 velocities, but the model has 7 and 6");
}

}  // namespace
