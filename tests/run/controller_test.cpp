// Decisions about step and order from error estimates alone.
#include "run/controller.hpp"
#include "run/radau_control.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace kreisel::run;

/// At rest at order 3 and step 0.1 until the order below promises much more.
Controller lured_to_order_2() {
  Controller controller({.min_order = 1, .max_order = 6, .max_step = 0.0}, 0.1, 3);
  for (int i = 0; i < 10 && controller.order() == 3; ++i)
    controller.accept({.lower = 1e-5, .current = 0.05, .higher = 0.5}, controller.step());
  return controller;
}

TEST(Controller, GoesBackToTheOrderThatPassedWhenTheNextOneFailsAtOnce) {
  Controller controller = lured_to_order_2();
  ASSERT_EQ(controller.order(), 2);
  ASSERT_GT(controller.step(), 0.1);
  controller.reject_error(5.0, controller.step());
  EXPECT_EQ(controller.order(), 3);
  EXPECT_EQ(controller.step(), 0.1);
  // What passed before may fail as well: then the step is cut.
  controller.reject_error(5.0, controller.step());
  EXPECT_EQ(controller.order(), 3);
  EXPECT_LT(controller.step(), 0.09);
  EXPECT_EQ(controller.failures(), 2);
}

TEST(Controller, StaysWithAnOrderThatHasPassed) {
  Controller controller = lured_to_order_2();
  const double step = controller.step();
  controller.accept({.lower = {}, .current = 0.05, .higher = {}}, step);
  controller.reject_error(5.0, step);
  EXPECT_EQ(controller.order(), 2);
}

/// The largest ratio of successive steps, the smallest number of steps between two changes, over a long time of tiny errors at order 6.
struct Growth {
  double largest = 0.0;
  int shortest_rest = 1000;
};
Growth growth_at_order_6(kreisel::method::RatioBound ratios) {
  Controller controller({.min_order = 6, .max_order = 6, .max_step = 0.0, .ratios = ratios}, 1e-3, 6);
  Growth out;
  double before = controller.step();
  int since = 0, changes = 0;
  for (int i = 0; i < 100; ++i) {
    controller.accept({.lower = {}, .current = 1e-9, .higher = {}}, before);
    ++since;
    const double ratio = controller.step() / before;
    out.largest = std::max(out.largest, ratio);
    if (ratio != 1.0) {
      if (changes++ > 0) out.shortest_rest = std::min(out.shortest_rest, since);
      since = 0;
    }
    before = controller.step();
  }
  return out;
}

TEST(Controller, KeepsTheBoundsOfRatiosThatAreAskedFor) {
  using enum kreisel::method::RatioBound;
  EXPECT_EQ(growth_at_order_6(growth).largest, 2.0);
  EXPECT_LT(growth_at_order_6(growth).shortest_rest, 7) << "tiny errors end the rest early";
  EXPECT_DOUBLE_EQ(growth_at_order_6(rested).largest, 1.348);
  EXPECT_EQ(growth_at_order_6(rested).shortest_rest, 7);
  EXPECT_DOUBLE_EQ(growth_at_order_6(any).largest, 1.007);
  EXPECT_EQ(growth_at_order_6(any).shortest_rest, 1);
}

/// The error of a short step that ends at a kink is round-off. Beside the long step before it that looked like an error that grows fast:
/// steps fell until they were too small.
TEST(RadauControl, AStepThatHadToEndSomewhereDoesNotShrinkTheNext) {
  for (const bool is_smooth : {false, true}) {
    RadauControl control(1e-3, 0.0);
    control.accept(1e-3, 0.9, 3, 7, true);
    const double wanted = control.step();
    control.accept(1e-5, 0.005, 3, 7, is_smooth);
    if (is_smooth)
      EXPECT_EQ(control.step(), wanted);
    else
      EXPECT_GT(control.step(), 1e-5);
    const double next = control.step();
    control.accept(next, 0.1, 3, 7, true);
    EXPECT_GE(control.step(), next);
  }
}

}  // namespace
