// Starting values: how exact the starter is, what the corrections do; rkmk as a method; the reference of all order tests.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "coeff/generalized_alpha.hpp"
#include "io/model_file/model_file.hpp"
#include "method/catalogue.hpp"
#include "run/start_up.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using method::Entry;
using method::History;
using support::Experiment;
using support::Trajectory;

Experiment heavy_top(const std::string& group) {
  Experiment e;
  e.group = group;
  return e;
}

History starting_values(const models::Model& model, const std::string& method_name, int order, double h,
                        system::Formulation formulation, const run::StartUpOptions& options) {
  const lie::Space& space = model.system->space();
  Counters counters;
  const method::MethodInfo& info = method::find_method(method_name);
  const auto method = info.make(space, counters, {order, "magnus", nullptr, ParameterValues(info.parameters)});
  const method::EntrySizes sizes{model.system->pattern().rows(), model.system->pattern().position_rows(),
                                 method->memory_size()};
  History history(space, sizes, 10);
  Entry first = History::blank(space, sizes);
  run::StartUp start_up(*model.system, counters, "automatic");
  EXPECT_TRUE(start_up.place(0.0, model.start.q0, model.start.v0, first));
  history.push(first);
  EXPECT_TRUE(start_up.fill(*method, h, order, formulation, options, history));
  return history;
}

double embedded_distance(const lie::Space& space, const Vector& a, const Vector& b) {
  Vector x(space.embedding_size()), y(space.embedding_size());
  space.embed(a, x);
  space.embed(b, y);
  return (x - y).norm();
}

/// A body that tumbles, and beside it one on a spring so stiff that 8 explicit parts of the first step make nothing of it. The body turns by
/// 0.9 rad per step: its starting points must be those it has without the spring.
TEST(Starter, ResolvesTurnsBesideStiffVibrations) {
  const std::string top =
      R"({"name": "top", "mass": 1, "inertia": [1, 2, 2.5], "position": [0, 0, 0], "angular_velocity": [3, 8, 2]})";
  const std::string stiff = R"({"name": "bob", "mass": 1, "inertia": [1, 1, 1], "position": [1.000001, 5, 0]})";
  const std::string spring =
      R"(, "forces": [{"type": "spring-damper", "between": ["ground", "bob"], "at": [[0, 5, 0], [1.000001, 5, 0]], "stiffness": 1e6, "length": 1}])";
  const auto model_of = [&](const std::string& bodies, const std::string& forces) {
    return io::read_model(
               io::JsonSource("m.json", R"({"gravity": [0, 0, 0], "bodies": [)" + bodies + "]" + forces + "}"))
        .model;
  };
  const double h = 0.1;
  const models::Model alone = model_of(top, ""), beside = model_of(top + ", " + stiff, spring);
  const History exact = starting_values(alone, "bliedf", 6, h, system::Formulation::ode, {}),
                found = starting_values(beside, "bliedf", 6, h, system::Formulation::ode, {});
  ASSERT_EQ(found.size(), exact.size());
  for (int age = 0; age < exact.size(); ++age) {
    EXPECT_LT((found[age].motion.q.head<7>() - exact[age].motion.q).norm(), 1e-11) << age;
    EXPECT_LT((found[age].motion.v.head<6>() - exact[age].motion.v).norm(), 1e-10) << age;
  }
}

// q must be exact to O(h^{k+1}) and Φ to O(h^{k+2}); for k = 6 that is C (h|Ω|)⁷ and (h|Ω|)⁸. The starter refines itself
// until only round-off is left, for steps up to h|Ω| = 0.9.
TEST(Starter, HasNegligibleErrors) {
  for (const char* group : {"so3", "r3xso3", "se3"})
    for (const double h : {6e-3, 2e-3, 5e-4, 1.25e-4}) {
      const models::Model model = support::make_model(heavy_top(group));
      const bool is_free = model.system->pattern().rows() == 0;
      const History history = starting_values(model, "bliedf", 6, h, system::Formulation::stabilized_index2, {});
      ASSERT_EQ(history.size(), 6);
      Experiment e = heavy_top(group);
      e.options.t_end = 5 * h;
      const Trajectory& finer = support::reference(e, 5);
      system::Residual r(model.system->space().nv(), model.system->pattern().position_rows(),
                         model.system->pattern().rows());
      for (int n = 0; n < 6; ++n) {
        const Entry& point = history[5 - n];
        const double rotation = 150.0 * h;
        EXPECT_LT(embedded_distance(model.system->space(), point.motion.q, finer.points[n].motion.q), 2e-13)
            << group << " " << h;
        EXPECT_LT((point.motion.v - finer.points[n].motion.v).norm(), 1e-11) << group << " " << h;
        if (is_free) continue;
        EXPECT_LT((point.lambda - finer.points[n].lambda).norm(), 1e-8) << group << " " << h;
        model.system->residual(point.motion, point.lambda, r);
        EXPECT_LT(r.gap.norm(), 1e-15) << group << " " << h << ", (h|Omega|)^8 = " << std::pow(rotation, 8);
        EXPECT_LT(r.rate.norm(), 1e-12) << group << " " << h;
        EXPECT_LT(r.force.norm(), 1e-10) << group << " " << h;
      }
    }
}

TEST(Starter, RecordsTheIncrementsBetweenItsPoints) {
  const models::Model model = support::make_model(heavy_top("se3"));
  const lie::Space& space = model.system->space();
  const History history = starting_values(model, "mkbdf", 5, 1e-3, system::Formulation::stabilized_index2, {});
  for (int age = 0; age + 1 < history.size(); ++age) {
    Vector q(space.nq());
    space.move(history[age + 1].motion.q, history[age].omega, q);
    EXPECT_LT((q - history[age].motion.q).norm(), 1e-15);
    EXPECT_EQ(history[age].h, 1e-3);
  }
}

// v_i + C l for all i: one and the same shift, O(hᵏ), in the range of M⁻¹Bᵀ, on ℝ³xSO(3) only.
TEST(CorrectedVelocities, AreShiftedTogetherByATermOfOrderK) {
  for (const char* method : {"bliedf", "mkbdf"})
    for (int order = 1; order <= 6; ++order) {
      const models::Model model = support::make_model(heavy_top("r3xso3"));
      double previous = 0.0;
      for (const double h : {1e-3, 5e-4}) {
        const History exact = starting_values(model, method, order, h, system::Formulation::index3, {false, false});
        const History shifted = starting_values(model, method, order, h, system::Formulation::index3, {});
        const Vector shift = shifted[0].motion.v - exact[0].motion.v;
        for (int age = 0; age < order; ++age) {
          EXPECT_LT((shifted[age].motion.v - exact[age].motion.v - shift).norm(), 1e-13);
          EXPECT_EQ(shifted[age].motion.q, exact[age].motion.q);
          EXPECT_EQ(shifted[age].lambda, exact[age].lambda);
        }
        if (previous > 0.0) {
          EXPECT_NEAR(std::log2(previous / shift.norm()), order, 0.2) << method << " " << order;
        }
        previous = shift.norm();
      }
      // The other formulations and the other group need none.
      const History stabilized =
          starting_values(model, method, order, 1e-3, system::Formulation::stabilized_index2, {});
      const History plain =
          starting_values(model, method, order, 1e-3, system::Formulation::stabilized_index2, {false, false});
      EXPECT_EQ(stabilized[0].motion.v, plain[0].motion.v);
      const models::Model se3 = support::make_model(heavy_top("se3"));
      const History a = starting_values(se3, method, order, 1e-3, system::Formulation::index3, {});
      const History b = starting_values(se3, method, order, 1e-3, system::Formulation::index3, {false, false});
      EXPECT_LT((a[0].motion.v - b[0].motion.v).norm(), 1e-10) << method << " " << order;
    }
}

// On ℝⁿ with a constraint the defect of BDF is the classical one; v0 of generalized-α is shifted by C_q h²/6 C v̈.
TEST(CorrectedVelocities, OfGeneralizedAlphaMoveVelocityAndMemoryOnlyWhenAsked) {
  const models::Model model = support::make_model(heavy_top("r3xso3"));
  const auto start = [&](bool velocity, bool memory) {
    return starting_values(model, "generalized-alpha", 2, 1e-3, system::Formulation::index3, {velocity, memory});
  };
  const History none = start(false, false), v0 = start(true, false), a0 = start(false, true), both = start(true, true);
  EXPECT_EQ(none[0].motion.v, model.start.v0);
  EXPECT_EQ(none[0].memory, none[0].motion.a);
  EXPECT_NE(v0[0].motion.v, none[0].motion.v);
  EXPECT_EQ(v0[0].memory, none[0].memory);
  EXPECT_EQ(a0[0].motion.v, none[0].motion.v);
  EXPECT_NE(a0[0].memory, none[0].memory);
  EXPECT_EQ(both[0].motion.v, v0[0].motion.v);
  EXPECT_EQ(both[0].memory, a0[0].memory);
  // Consistent v̇ and λ stay.
  EXPECT_EQ(both[0].motion.a, none[0].motion.a);
  EXPECT_EQ(both[0].lambda, none[0].lambda);
}

// (Arnold, Brüls, Cardona 2015, section 4.2): a0 = v̇ + Δα h v̈ with v̈ by central differences, s = 1, or by forward ones, s = 0.01, both
// along q∘exp(sh v + (sh)²v̇/2), v + sh v̇. The first miss v̈ by O(h²), the second by sh/2 times v⃛ - (∂v̇/∂v)v̈.
TEST(CorrectedVelocities, OfGeneralizedAlphaTakeTheJerkFromTheDifferencesAskedFor) {
  const models::Model model = support::make_model(heavy_top("r3xso3"));
  const double delta = coeff::GeneralizedAlpha::from_rho_inf(method::choices::GeneralizedAlpha{}.rho_inf).delta();
  // Derivatives of the exact v̇ at 0, through seven points: (150 rad/s · 1e-4 s)⁶ of them is left.
  constexpr double s = 1e-4;
  std::vector<Entry> times(7);
  for (int i = 0; i < 7; ++i) times[i].motion.t = i * s;
  const support::Trajectory exact = support::reference_at(model, times);
  const std::array<double, 7> first{-147, 360, -450, 400, -225, 72, -10},
      second{812, -3132, 5265, -5080, 2970, -972, 137};
  Vector jerk = Vector::Zero(6), snap = Vector::Zero(6);
  for (int i = 0; i < 7; ++i) {
    jerk += (first[i] / (60 * s)) * exact.points[i].motion.a;
    snap += (second[i] / (180 * s * s)) * exact.points[i].motion.a;
  }
  // (∂v̇/∂v)v̈, by differences of the index-1 equations.
  Counters counters;
  run::StartUp equations(*model.system, counters, "automatic");
  const auto acceleration = [&](double part) {
    Entry at = History::blank(model.system->space(), {3, 3, 6});
    EXPECT_TRUE(equations.place(0.0, model.start.q0, Vector(model.start.v0 + part * jerk), at));
    return at.motion.a;
  };
  constexpr double part = 1e-8;
  const Vector drag = (acceleration(part) - acceleration(-part)) / (2 * part);
  const auto miss = [&](method::JerkBy by, double h) {
    const Entry start = starting_values(model, "generalized-alpha", 2, h, system::Formulation::index3,
                                        {true, true, run::Starting::corrected, by})[0];
    return Vector((start.memory - start.motion.a) / (delta * h) - jerk);
  };
  for (const double h : {1e-3, 5e-4}) {
    const Vector forward = miss(method::JerkBy::forward, h), expected = 0.005 * h * (snap - drag);
    EXPECT_LT((forward - expected).norm(), 0.01 * expected.norm()) << h;
  }
  const double coarse = miss(method::JerkBy::central, 1e-3).norm(), fine = miss(method::JerkBy::central, 5e-4).norm();
  EXPECT_NEAR(std::log2(coarse / fine), 2.0, 0.05);
}

TEST(Rkmk, KeepsTheConstraintsAtRoundOffWithProjectionAndDriftsWithout) {
  for (const char* group : {"r3xso3", "se3"})
    for (const int order : {5, 8}) {
      Experiment e = heavy_top(group);
      e.options.method = "rkmk";
      e.options.order = order;
      e.options.step = 2e-3;
      e.options.t_end = 1.0;
      e.options.formulation = "projected";
      const Trajectory run = support::integrate(e);
      ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
      EXPECT_EQ(run.report.order, order);
      EXPECT_LT(run.report.position_max, 5e-15) << group << " " << order;
      EXPECT_LT(run.report.velocity_max, 5e-13) << group << " " << order;
      e.options.formulation = "index1";
      const Trajectory drifting = support::integrate(e);
      if (std::string(group) == "r3xso3") {
        EXPECT_GT(drifting.report.position_max, 1e-12) << order;
      }
    }
}

TEST(Rkmk, ConservesEnergyToItsOrder) {
  Experiment e = heavy_top("r3xso3");
  e.options.method = "rkmk";
  e.options.step = 1e-3;
  e.options.t_end = 2.0;
  const Trajectory run = support::integrate(e);
  EXPECT_NEAR(run.report.energy_final / run.report.energy_initial, 1.0, 1e-12);
}

TEST(Reference, DoesNotChangeWithItsSubsteps) {
  for (const char* group : {"so3", "r3xso3", "se3"}) {
    Experiment e = heavy_top(group);
    e.options.t_end = 0.25;
    const models::Model model = support::make_model(e);
    // Output steps below reference_substep are taken as they are: 6.25e-5 against 1.25e-4.
    Trajectory coarse;
    const Trajectory& given = support::reference(e, 2000);
    const Trajectory& finer = support::reference(e, 4000);
    coarse.points = given.points;
    const support::Errors difference = support::errors_of(model, coarse, finer, {});
    EXPECT_LT(difference.q, 5e-13) << group;
    EXPECT_LT(difference.v, 5e-12) << group;
    EXPECT_LT(difference.lambda, 5e-10) << group;
  }
}

// The unconstrained top on SO(3) knows nothing of tips and multipliers.
TEST(Reference, OfTheConstrainedTopTurnsLikeTheFreeOne) {
  Experiment free = heavy_top("so3");
  free.options.t_end = 1.0;
  const Trajectory& so3 = support::reference(free, 100);
  for (const char* group : {"r3xso3", "se3"}) {
    Experiment e = heavy_top(group);
    e.options.t_end = 1.0;
    const Trajectory& constrained = support::reference(e, 100);
    for (std::size_t n = 0; n <= 100; ++n) {
      const Vector turn = constrained.points[n].motion.q.tail(4), free_turn = so3.points[n].motion.q;
      ASSERT_LT(std::min((turn - free_turn).norm(), (turn + free_turn).norm()), 1e-11) << group << " at point " << n;
      ASSERT_LT((constrained.points[n].motion.v.tail(3) - so3.points[n].motion.v).norm(), 1e-10)
          << group << " at point " << n;
    }
  }
}

}  // namespace
