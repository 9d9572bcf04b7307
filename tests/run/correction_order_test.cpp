// Every commutator correction of BLieDF at every order it exists for, and what its absence costs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kreisel/error.hpp"
#include "method/correction.hpp"
#include "support/order.hpp"

namespace {

using namespace kreisel;
using support::OrderCase;

constexpr double unjudged = std::numeric_limits<double>::quiet_NaN();

struct Setting {
  const char *group, *formulation;
};
constexpr Setting settings[] = {{"so3", "ode"},
                                {"r3xso3", "index3"},
                                {"r3xso3", "stabilized-index2"},
                                {"se3", "index3"},
                                {"se3", "stabilized-index2"}};

bool exists(const std::string& correction, int order) {
  const lie::Space space({{lie::GroupId::so3, 0}});
  Counters counters;
  try {
    method::make_correction(correction, order, nullptr, space, counters);
    return true;
  } catch (const InvalidInput&) {
    return false;
  }
}

OrderCase make_case(const std::string& correction, int order, const Setting& setting) {
  OrderCase c;
  c.correction = correction;
  c.order = order;
  c.group = setting.group;
  c.formulation = setting.formulation;
  c.grid = support::grid_for(order, c.group, c.formulation);
  c.q = c.v = c.lambda = order;
  return c;
}

/// Those that keep the order; `magnus` is in order_test.cpp, `none` and `magnus-taylor` are below.
std::vector<OrderCase> full_order_cases() {
  std::vector<OrderCase> list;
  for (const std::string& correction : method::correction_names()) {
    if (correction == "magnus" || correction == "none" || correction == "file:PATH") continue;
    for (int order = 3; order <= 6; ++order) {
      if (!exists(correction, order) || (correction == "magnus-taylor" && order == 6)) continue;
      for (const Setting& setting : settings) {
        OrderCase c = make_case(correction, order, setting);
        // The tuned sets nearly cancel the leading error of q, which therefore shows its order late.
        if (correction.rfind("tuned", 0) == 0 && order == 3 && c.group == "r3xso3") {
          c.grid.steps = 2000;
          if (c.formulation == "index3") c.lambda = unjudged;  // at round-off by then; judged at order 4
        }
        if (correction == "two-chains" && c.formulation != "index3") c.grid = {0.25, 400};
        // In index-3 form unstable for h|Ω| > 0.11, and λ is at round-off where it is stable.
        if (correction == "magnus-explicit" && order == 6 && c.formulation == "index3") {
          c.grid = {0.25, 400};
          c.lambda = unjudged;
        }
        list.push_back(c);
      }
    }
  }
  return list;
}

/// L = 0 leaves (h²/12)[v, v']: order 2, visible for k ≥ 4 everywhere, for k = 3 in ℝ³xSO(3) only.
std::vector<OrderCase> uncorrected_cases() {
  std::vector<OrderCase> list;
  for (int order = 3; order <= 6; ++order)
    for (const Setting& setting : settings) {
      OrderCase c = make_case("none", order, setting);
      c.q = c.v = c.lambda = 2.0;
      if (c.group == "r3xso3") {
        c.grid = {0.25, 1000};
      } else if (order == 3) {
        // [v, v'] acts on R late: its error overtakes that of order 3 near h = 1.5e-5 only.
        c.grid = {1.0, 1000};
        c.q = c.v = c.lambda = 3.0;
      } else {
        c.grid = {0.25, 1000};
        c.v = c.lambda = unjudged;  // still between 2 and k: the rotation reaches v through gravity only
      }
      list.push_back(c);
    }
  return list;
}

class EveryCorrection : public testing::TestWithParam<OrderCase> {};
TEST_P(EveryCorrection, KeepsTheOrder) { support::expect_orders(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Catalogue, EveryCorrection, testing::ValuesIn(full_order_cases()),
                         [](const auto& tested) { return support::name_of(tested.param); });

class NoCorrection : public testing::TestWithParam<OrderCase> {};
TEST_P(NoCorrection, HasOrderTwo) { support::expect_orders(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Catalogue, NoCorrection, testing::ValuesIn(uncorrected_cases()),
                         [](const auto& tested) { return support::name_of(tested.param); });

// Without [A1, A4]/80 the increments of k = 5, 6 have order 4. With order 5 the BDF error hides it at these steps.
TEST(MagnusTaylor, HasOrderFourForSmallSteps) {
  OrderCase c = make_case("magnus-taylor", 6, {"r3xso3", "stabilized-index2"});
  support::Experiment e = support::experiment_of(c);
  const models::Model model = support::make_model(e);
  support::Errors previous;
  for (const long steps : {1000, 2000}) {
    e.options.step = 0.25 / static_cast<double>(steps);
    const support::Errors errors =
        support::errors_of(model, support::integrate(model, e.options), support::reference(e, 2000), {});
    if (steps == 2000) {
      const support::Errors slopes = support::slopes_of(previous, errors);
      for (const double slope : {slopes.q, slopes.v, slopes.lambda}) {
        EXPECT_GT(slope, 3.5);
        EXPECT_LT(slope, 4.0 + support::slope_tolerance);
      }
      e.options.correction = "magnus";
      EXPECT_GT(
          errors.q,
          10.0 * support::errors_of(model, support::integrate(model, e.options), support::reference(e, 2000), {}).q);
    }
    previous = errors;
  }
}

TEST(MagnusExplicit, IsUnstableInIndexThreeFormWhereMagnusIsNot) {
  OrderCase c = make_case("magnus-explicit", 6, {"r3xso3", "index3"});
  c.grid = {0.25, 200};
  support::Experiment e = support::experiment_of(c);
  e.options.step = c.grid.t_end / 200;  // h|Ω| = 0.19
  const support::Trajectory unstable = support::integrate(e);
  const bool blew_up =
      unstable.report.status != run::Status::success ||
      support::errors_of(support::make_model(e), unstable, support::reference(e, 200), {}).lambda > 1.0;
  EXPECT_TRUE(blew_up);
  for (const auto& [correction, formulation] :
       {std::pair{"magnus", "index3"}, std::pair{"magnus-explicit", "stabilized-index2"}}) {
    e.options.correction = correction;
    e.options.formulation = formulation;
    const support::Trajectory stable = support::integrate(e);
    ASSERT_EQ(stable.report.status, run::Status::success) << correction;
    EXPECT_LT(support::errors_of(support::make_model(e), stable, support::reference(e, 200), {}).lambda, 0.02);
  }
}

}  // namespace
