// Every method of the catalogue, every order, group, formulation and start: the order of q, v and λ.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "method/catalogue.hpp"
#include "support/order.hpp"

namespace {

using namespace kreisel;
using support::OrderCase;

/// Starts that differ from each other.
std::vector<std::string> startings_of(const method::MethodInfo& info, const std::string& formulation) {
  if (info.name == "generalized-alpha" && (formulation == "index3" || formulation == "stabilized-index2"))
    return {"corrected", "exact", "v0", "a0"};
  if (!info.is_one_step && formulation == "index3") return {"corrected", "exact"};
  return {"corrected"};
}

/// Where published order reductions are expected: max λ over the first steps.
double first_lambda_of(const OrderCase& c) {
  constexpr double full = std::numeric_limits<double>::infinity();
  if (c.group != "r3xso3") return full;  // SE(3): B is constant
  if (c.formulation == "index3") {
    const bool has_shifted_velocity = c.starting == "corrected" || c.starting == "v0";
    return has_shifted_velocity ? full : c.order - 1.0;
  }
  if (c.method == "generalized-alpha" && c.formulation == "stabilized-index2") {
    const bool has_shifted_memory = c.starting == "corrected" || c.starting == "a0";
    return has_shifted_memory ? full : 1.0;
  }
  return full;
}

OrderCase make_case(const method::MethodInfo& info, int order, const std::string& group, const std::string& formulation,
                    const std::string& starting) {
  OrderCase c;
  c.method = info.name;
  c.order = order;
  c.group = group;
  c.formulation = formulation;
  c.starting = starting;
  c.grid = support::grid_for(order, group, formulation);
  c.q = c.v = c.lambda = order;
  if (info.name == "half-explicit") {
    if (group == "r3xso3")
      c.lambda = order - 1.0;  // the multiplier of the last stage; where B is constant it has the full order
    c.grid = {0.25, 400};
  }
  c.first_lambda = first_lambda_of(c);
  if (info.name == "generalized-alpha" && formulation == "stabilized-index2" && !std::isinf(c.first_lambda))
    c.grid = {0.1, 2000};  // the O(h) error of the first λ is small
  if (info.name == "rkmk" && order == 5 && formulation == "index1") c.grid = {0.25, 1000};
  if (info.name == "radau") c.grid = {0.25, 100};  // its errors are those of bliedf at a third of the step
  return c;
}

std::vector<OrderCase> every_case() {
  std::vector<OrderCase> list;
  for (const method::MethodInfo& info : method::catalogue())
    for (const int order : info.orders())
      for (const std::string& formulation : info.formulations) {
        const std::vector<std::string> groups =
            formulation == "ode" ? std::vector<std::string>{"so3"} : std::vector<std::string>{"r3xso3", "se3"};
        for (const std::string& group : groups)
          for (const std::string& starting : startings_of(info, formulation))
            list.push_back(make_case(info, order, group, formulation, starting));
      }
  return list;
}

class EveryMethod : public testing::TestWithParam<OrderCase> {};

TEST_P(EveryMethod, HasItsOrderOnTheHeavyTop) { support::expect_orders(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryMethod, testing::ValuesIn(every_case()),
                         [](const auto& tested) { return support::name_of(tested.param); });

// Exact starts of order 1: the first λ belongs to a velocity that the scheme never had.
TEST(ExactStartOfOrderOne, LeavesAnErrorOfLambdaThatDoesNotShrink) {
  for (const char* method : {"bliedf", "mkbdf"})
    for (const long steps : {1000, 10000}) {
      OrderCase c{.method = method, .order = 1, .group = "r3xso3", .formulation = "index3", .starting = "exact"};
      c.grid = {0.1, steps};
      support::Experiment e = support::experiment_of(c);
      e.options.step = c.grid.t_end / static_cast<double>(steps);
      const support::Errors first =
          support::errors_of(support::make_model(e), support::integrate(e), support::reference(e, steps),
                             {support::Entries::euclidean, support::Span::first});
      EXPECT_GT(first.lambda, 150.0) << method;
      EXPECT_LT(first.lambda, 190.0) << method;
    }
}

}  // namespace
