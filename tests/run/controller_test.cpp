// Decisions about step and order from error estimates alone.
#include "run/controller.hpp"

#include <gtest/gtest.h>

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

}  // namespace
