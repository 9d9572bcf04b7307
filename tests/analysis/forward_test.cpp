// Derivatives that are carried along with a run, against differences of neighbouring runs and against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "io/model_file/model_catalogue.hpp"
#include "io/result/prepare.hpp"
#include "io/result/sensitivities.hpp"
#include "io/result/tuning.hpp"
#include "kreisel/error.hpp"

namespace {

using namespace kreisel;

struct Case {
  const char* model;
  const char* name;  ///< of the parameter
  double t_end;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.model << " by " << c.name; }

class Agreement : public testing::TestWithParam<Case> {};

/// Of the largest number of each kind; event times too.
double distance(const Matrix& a, const Matrix& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return HUGE_VAL;
  if (b.size() == 0) return 0.0;
  const double size = b.cwiseAbs().maxCoeff(), apart = (a - b).cwiseAbs().maxCoeff();
  return size > 0.0 ? apart / size : apart;
}

/// Neighbouring runs solve their steps to 1e-11 of v and differ by 2^-12 of the parameter: their differences know δv to 4e-8, and λ, which
/// is M δv/h, to 4e-5 with steps of 1e-3.
constexpr double noise_of_lambda = 4e-5;

TEST_P(Agreement, WithNeighbouringRuns) {
  const Case& c = GetParam();
  run::Observer nobody;
  for (const double tolerance : {1e-3, 1e-5, 1e-7}) {
    io::RunSpec spec;
    spec.model = c.model;
    spec.set("t_end", c.t_end);
    spec.set("rtol", tolerance);
    spec.set("atol", tolerance);
    // Neighbouring runs are solved to round-off; so is this one.
    spec.set("newton_tolerance", std::min(0.03, 1e-10 / tolerance));
    const run::Sensitivities carried = io::sensitivities(spec, {c.name}, nobody);
    ASSERT_EQ(carried.report.status, run::Status::success) << carried.report.message;
    ASSERT_EQ(carried.problem, "");
    EXPECT_EQ(carried.differences, "");
    const run::Sensitivities near = io::sensitivities(spec, {c.name}, nobody, {.uses_differences = true});
    ASSERT_EQ(near.problem, "");
    const run::Sensitivity &a = carried.by[0], &b = near.by[0];
    EXPECT_LT(distance(a.q, b.q), 1e-6) << tolerance;
    EXPECT_LT(distance(a.v, b.v), 1e-6) << tolerance;
    EXPECT_LT(distance(a.lambda, b.lambda), noise_of_lambda) << tolerance;
    EXPECT_LT(distance(a.outputs, b.outputs), 1e-6) << tolerance;
    EXPECT_LT(distance(a.event_times, b.event_times), 1e-6) << tolerance;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Agreement,
                         testing::Values(Case{"heavy-top", "mass", 0.3}, Case{"heavy-top", "omega_x", 0.3},
                                         Case{"pendulum", "length", 1.0}, Case{"chain", "gravity", 0.3},
                                         Case{"four-bar", "gravity", 0.5}, Case{"quarter-car", "height", 0.4},
                                         Case{"wall-pendulum", "restitution", 2.0}, Case{"wall-pendulum", "wall", 2.0},
                                         Case{"rod-release", "time", 0.8}, Case{"rod-release", "length", 0.8},
                                         Case{"gripper", "drive", 0.8}, Case{"leg", "k", 0.5},
                                         Case{"leg", "phase", 0.5}, Case{"two-legs", "left.L", 0.3},
                                         Case{"quarter-car", "c", 0.4}, Case{"friction-pendulum", "friction", 1.0},
                                         Case{"actuated-pendulum", "gain", 1.0}, Case{"oscillator", "omega", 3.0},
                                         Case{"stiff-top", "mass", 0.1}, Case{"hanging-chain", "L", 0.2}));

/// Other methods, constant steps and forms: differences of their step maps instead of tangents.
TEST(Forward, ServesEveryImplicitMethod) {
  run::Observer nobody;
  struct Choice {
    const char *method, *formulation;
    long order;
  };
  for (const auto& [method, formulation, order] :
       {Choice{"bliedf", "stabilized-index2", 2}, Choice{"bliedf", "stabilized-index2", 4},
        Choice{"bliedf", "stabilized-index2", 6}, Choice{"bliedf", "index3", 3},
        Choice{"generalized-alpha", "stabilized-index2", 2}, Choice{"generalized-alpha", "index3", 2},
        Choice{"mkbdf", "stabilized-index2", 3}, Choice{"bliedf", "index2", 3}}) {
    io::RunSpec spec;
    spec.model = "heavy-top";
    spec.set("t_end", 0.1);
    spec.set("step", 1e-3);
    spec.set("method", std::string(method));
    spec.set("order", order);
    spec.set("formulation", std::string(formulation));
    spec.set("newton_tolerance", 1e-11);
    SCOPED_TRACE(std::string(method) + " " + formulation + " " + std::to_string(order));
    const run::Sensitivities carried = io::sensitivities(spec, {"mass"}, nobody);
    ASSERT_EQ(carried.report.status, run::Status::success) << carried.report.message;
    EXPECT_EQ(carried.differences, "");
    const run::Sensitivities near = io::sensitivities(spec, {"mass"}, nobody, {.uses_differences = true});
    ASSERT_EQ(near.problem, "");
    EXPECT_LT(distance(carried.by[0].q, near.by[0].q), 1e-6);
    EXPECT_LT(distance(carried.by[0].v, near.by[0].v), 1e-6);
    EXPECT_LT(distance(carried.by[0].lambda, near.by[0].lambda), noise_of_lambda);
  }
}

/// What it cannot carry along comes from neighbouring runs, and it says so.
TEST(Forward, GivesWayToNeighbouringRuns) {
  run::Observer nobody;
  io::RunSpec spec;
  spec.model = "pendulum";
  spec.set("t_end", 0.5);
  spec.set("method", std::string("radau"));
  const run::Sensitivities found = io::sensitivities(spec, {"length"}, nobody);
  ASSERT_EQ(found.problem, "");
  EXPECT_NE(found.differences.find("radau"), std::string::npos) << found.differences;
  EXPECT_EQ(found.by.size(), 1u);
}

}  // namespace
