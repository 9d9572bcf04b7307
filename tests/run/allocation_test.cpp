// The step loop asks for no memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "kreisel/own_system.hpp"
#include "method/catalogue.hpp"
#include "support/allocations.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;

/// Allocations between two accepted points.
class Watch final : public run::Observer {
 public:
  bool accept(const run::Point& point) override {
    if (point.number == 20) before_ = support::allocation_count();
    if (point.number == 200) after_ = support::allocation_count();
    return true;
  }
  long seen() const { return after_ - before_; }
  bool is_complete() const { return after_ > 0; }

 private:
  long before_ = 0, after_ = 0;
};

void expect_no_allocation(const run::Options& options, const std::string& group, const std::string& what) {
  support::Experiment e;
  e.group = group;
  const models::Model model = support::make_model(e);
  Watch watch;
  const run::Report report = run::integrate(*model.system, model.start, options, watch);
  ASSERT_EQ(report.status, run::Status::success) << what << ": " << report.message;
  ASSERT_TRUE(watch.is_complete()) << what;
  EXPECT_EQ(watch.seen(), 0) << what << ": allocations in 180 steps";
}

run::Options short_run() {
  run::Options options;
  options.step = 5e-4;
  options.t_end = 0.11;
  return options;
}

TEST(AllocationCount, SeesNewMallocAndEigen) {
  const long before = support::allocation_count();
  const auto number = std::make_unique<int>(1);
  const long after_new = support::allocation_count();
  EXPECT_GT(after_new, before);
  Vector vector = Vector::Zero(5 + *number);
  const long after_eigen = support::allocation_count();
  EXPECT_GT(after_eigen, after_new) << vector.norm();
}

TEST(StepLoop, DoesNotAllocateAfterTheFirstSteps) {
  for (const method::MethodInfo& info : method::catalogue())
    for (const int order : info.orders())
      for (const std::string& formulation : info.formulations)
        for (const char* group : {"so3", "r3xso3", "se3"}) {
          if ((formulation == "ode") != (std::string(group) == "so3")) continue;
          run::Options options = short_run();
          options.method = info.name;
          options.order = order;
          options.formulation = formulation;
          expect_no_allocation(options, group,
                               info.name + " " + std::to_string(order) + " " + group + " " + formulation);
        }
}

TEST(StepLoop, DoesNotAllocateWhenItProjectsOntoInvariants) {
  run::Options options = short_run();
  options.method = "projected-bdf";
  for (const char* invariant : {"energy", "angular-momentum-z"}) {
    options.conserved = {invariant};
    for (const char* group : {"r3xso3", "se3"})
      expect_no_allocation(options, group, std::string(invariant) + " " + group);
  }
}

TEST(StepLoop, DoesNotAllocateWithAnyCorrection) {
  for (const char* correction : {"magnus-explicit", "magnus-taylor", "implicit", "published", "none"})
    for (int order = 3; order <= 6; ++order) {
      run::Options options = short_run();
      options.order = order;
      options.correction = correction;
      expect_no_allocation(options, "r3xso3", std::string(correction) + " " + std::to_string(order));
    }
}

TEST(StepLoop, DoesNotAllocateWithAnyModel) {
  for (const models::ModelInfo& info : models::catalogue()) {
    const models::Model model = models::make_model(info, "", ParameterValues(info.parameters));
    // Functions of users return vectors, and so do those of models that are made of such.
    if (dynamic_cast<const system::FunctionSystem*>(model.system.get()) != nullptr) continue;
    run::Options options;
    const double span = std::min(0.25, model.start.t_end - model.start.t0);  // Andrews' squeezer is over in 0.03 s
    options.step = span / 1000.0;
    options.order = 2;  // stable for the elastic modes of the slider crank
    options.t_end = model.start.t0 + span;
    Watch watch;
    const run::Report report = run::integrate(*model.system, model.start, options, watch);
    ASSERT_EQ(report.status, run::Status::success) << info.name << ": " << report.message;
    EXPECT_EQ(watch.seen(), 0) << info.name;
  }
}

TEST(StepLoop, DoesNotAllocateWithTheSparseSolver) {
  for (const char* formulation : {"index3", "stabilized-index2"}) {
    run::Options options = short_run();
    options.formulation = formulation;
    options.linear_solver = "sparse";
    expect_no_allocation(options, "r3xso3", formulation);
  }
}

}  // namespace
