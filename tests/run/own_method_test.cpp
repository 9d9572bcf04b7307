// A method that a program registers: same solver, same starts, same orders.
#include "kreisel/own_method.hpp"

#include <gtest/gtest.h>

#include "kreisel/error.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;

/// BDF of order 2 in increments, as bliedf has it.
struct Bdf2 : method::OwnMethod {
  int points_needed() const override { return 2; }
  void velocity(const Vector& x, Vector& v, Vector& a) override {
    v = (3.0 * x - past(0).omega / h()) / 2.0;
    a = (3.0 * v - 4.0 * past(0).motion.v + past(1).motion.v) / (2.0 * h());
  }
};

const bool is_registered = [] {
  method::register_method({.name = "test-bdf2", .order = 2, .make = [] { return std::make_unique<Bdf2>(); }});
  return true;
}();

support::Trajectory run(const char* method, const char* formulation, double step) {
  support::Experiment e;
  e.options.method = method;
  e.options.order = std::string_view(method) == "bliedf" ? 2 : 0;
  e.options.formulation = formulation;
  e.options.step = step;
  e.options.t_end = 0.05;
  return support::integrate(e);
}

TEST(OwnMethod, GivesWhatTheBuiltInMethodGives) {
  ASSERT_TRUE(is_registered);
  for (const char* formulation : {"index3", "stabilized-index2", "index2", "index1"}) {
    const support::Trajectory own = run("test-bdf2", formulation, 1e-3), built_in = run("bliedf", formulation, 1e-3);
    ASSERT_EQ(own.report.status, run::Status::success) << formulation << ": " << own.report.message;
    ASSERT_EQ(own.points.size(), built_in.points.size());
    for (std::size_t n = 0; n < own.points.size(); ++n) {
      ASSERT_LT((own.points[n].motion.q - built_in.points[n].motion.q).norm(), 1e-9) << formulation << " at " << n;
      ASSERT_LT((own.points[n].lambda - built_in.points[n].lambda).norm(), 1e-3) << formulation << " at " << n;
    }
  }
}

TEST(OwnMethod, IsRefusedTwiceAndWithoutItsParts) {
  EXPECT_THROW(method::register_method({.name = "test-bdf2", .make = [] { return std::make_unique<Bdf2>(); }}),
               InvalidInput);
  EXPECT_THROW(method::register_method({.name = "bliedf", .make = [] { return std::make_unique<Bdf2>(); }}),
               InvalidInput);
  EXPECT_THROW(method::register_method({.name = "test-nothing"}), InvalidInput);
  EXPECT_THROW(
      method::register_method({.name = "test-order", .order = 7, .make = [] { return std::make_unique<Bdf2>(); }}),
      InvalidInput);
}

}  // namespace
