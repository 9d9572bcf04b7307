// What limits and inputs promise over a whole run: order, cost, time, energy, corners.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "model_runs.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

std::string on_rail(const std::string& initial, const std::string& limits, const std::string& more = "",
                    const std::string& gravity = "-9.81") {
  return R"({"gravity": [0, 0, )" + gravity +
         R"(], "bodies": [{"name": "ball", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0]}],
    "joints": [{"name": "rail", "type": "prismatic", "between": ["ground", "ball"], "at": [0, 0, 0], "axis": [0, 0, 1],
                "initial": )" +
         initial + (limits.empty() ? "" : R"(, "limits": )" + limits) +
         R"(}], "outputs": {"height": {"displacement": "rail"}, "speed": "=height'"})" + more + "}";
}

/// A pendulum that strikes a stop below its pivot. λ is seen as the reaction of the pin.
struct Struck {
  static constexpr double m = 1.5, l = 0.7, J = 0.02, g = 9.81, e = 0.5, first = 1.2;
  const double Omega = std::sqrt(m * g * l / (J + m * l * l));

  static std::string text() {
    return R"({"gravity": [0, 0, -9.81],
      "bodies": [{"name": "rod", "mass": 1.5, "inertia": [0.02, 0.02, 0.01], "position": [0, 0, -0.7]}],
      "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [1, 0, 0],
                  "initial": {"value": 1.2}, "limits": {"from": 0, "restitution": 0.5}}],
      "outputs": {"angle": {"angle": "pin"}, "rate": "=angle'", "hold": {"reaction": "pin"}}})";
  }
  struct State {
    double angle, rate, y, z;
  };
  /// Impacts at quarters and halves of periods, by elliptic integrals; between them the classical Runge-Kutta method.
  State at(double t) const {
    double k = std::sin(first / 2), begin = 0.0, next = std::comp_ellint_1(k) / Omega;
    Eigen::Vector2d y(first, 0.0);
    while (next < t) {
      begin = next;
      k *= e;
      y = {0.0, 2.0 * k * Omega};
      next += 2.0 * std::comp_ellint_1(k) / Omega;
    }
    const double square = Omega * Omega;
    y = minimal(y, t - begin, 4000,
                [&](double, const Eigen::Vector2d& x) { return Eigen::Vector2d(x[1], -square * std::sin(x[0])); });
    const double a = -square * std::sin(y[0]), s = std::sin(y[0]), c = std::cos(y[0]);
    return {y[0], y[1], m * l * (a * c - y[1] * y[1] * s), m * l * (a * s + y[1] * y[1] * c) + m * g};
  }
};

TEST(Limits, OrderHoldsBetweenImpactsInPositionVelocityAndMultipliers) {
  const Struck exact;
  constexpr double t_end = 2.0;
  const Struck::State end = exact.at(t_end);
  for (const int order : {2, 3, 4}) {
    SCOPED_TRACE(order);
    std::array<double, 3> previous{};
    for (const double step : {4e-3, 2e-3, 1e-3}) {
      io::RunSpec spec = spec_of(Struck::text());
      spec.set("t_end", t_end)
          .set("step", step)
          .set("order", static_cast<double>(order))
          .set("method", std::string("bliedf"));
      Ran r{io::prepare(spec), {}};
      run::Observer nobody;
      r.report = run::integrate(*r.prepared.model.system, r.prepared.model.start, r.prepared.options, nobody);
      ASSERT_EQ(r.report.status, run::Status::success) << r.report.message;
      ASSERT_GE(r.report.events.size(), 2u);
      const std::array<double, 3> error{std::abs(r["angle"] - end.angle), std::abs(r["rate"] - end.rate),
                                        std::hypot(r["hold.y"] - end.y, r["hold.z"] - end.z)};
      for (int i = 0; i < 3 && previous[0] > 0.0; ++i)
        EXPECT_GT(std::log2(previous[i] / error[i]), order - 0.5) << "of " << (i == 0 ? "q" : i == 1 ? "v" : "lambda");
      previous = error;
    }
  }
}

TEST(Limits, TheCostOfAnImpactDoesNotGrow) {
  const std::string text =
      on_rail(R"({"value": 0.5, "rate": 10})", R"({"from": 0, "to": 1, "restitution": 1})", "", "0");
  const Ran few = ran(spec_of(text), 10.02, 1e-8), many = ran(spec_of(text), 100.02, 1e-8);
  ASSERT_EQ(few.report.events.size(), 100u);
  ASSERT_EQ(many.report.events.size(), 1000u);
  const auto grown = [&](std::int64_t Counters::*field) {
    return static_cast<double>(many.report.counters.*field) / static_cast<double>(few.report.counters.*field);
  };
  EXPECT_LT(grown(&Counters::steps), 10.5);
  EXPECT_LT(grown(&Counters::residual_evaluations), 10.5);
  EXPECT_LT(grown(&Counters::factorizations), 10.5);
}

TEST(Limits, DoNotDependOnWhereTimeBegins) {
  for (const double t0 : {-3.0, 0.0, 1000.0}) {
    SCOPED_TRACE(t0);
    io::RunSpec spec = spec_of(on_rail(R"({"value": 1})", R"({"from": 0, "restitution": 0.5})"));
    spec.set("t_end", 3.0).set("rtol", 1e-9).set("atol", 1e-9);
    io::PreparedRun prepared = io::prepare(spec);
    prepared.model.start.t0 = t0;
    prepared.options.t_end = t0 + 3.0;
    run::Observer nobody;
    const run::Report report = run::integrate(*prepared.model.system, prepared.model.start, prepared.options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    const double first = std::sqrt(2.0 / 9.81);
    double t = t0 + first;
    ASSERT_GT(report.events.size(), 10u);
    for (int n = 0; n < 10; ++n) {
      EXPECT_NEAR(report.events[static_cast<std::size_t>(n)].t, t, 1e-8) << n;
      t += 2.0 * first * std::pow(0.5, n + 1);
    }
    EXPECT_EQ(report.events.back().action, "close");
    EXPECT_NEAR(report.events.back().t, t0 + 3.0 * first, 1e-6) << "where the impacts accumulate";
  }
}

/// A force along the rail by a law of its coordinate, from 1 J.
std::string with_law(const std::string& law) {
  return on_rail(R"({"value": 0, "rate": 1})", "",
                 R"(, "forces": [{"type": "force", "joint": "rail", "value": )" + law + "}]", "0");
}
const std::string stops = on_rail(R"({"value": 0.5, "rate": 1})", R"({"from": 0, "to": 1, "stiffness": 5e3})", "", "0");
const std::string broken_line =
    with_law(R"({"table": [[-1, 40], [-0.1, 2], [0.2, -1], [1, -50]], "interpolation": "linear", "of": "=x"})");
const std::string branches = with_law(R"("=-40*max(0, x - 0.1) - 25*min(0, x + 0.05) - 3*abs(x - 0.02)*x")");

Ran by(const char* method, const std::string& text, double t_end, double tolerance) {
  io::RunSpec spec = spec_of(text);
  spec.set("method", std::string(method));
  return ran(spec, t_end, tolerance);
}

/// The slope of the force jumps with the coordinate. Steps end there, so that the energy is as good as the tolerance says.
TEST(Law, KinksKeepTheEnergy) {
  for (const std::string& text : {stops, broken_line, branches}) {
    const Ran r = by("radau", text, 5.0, 1e-10);
    EXPECT_EQ(r.report.work.total(), 0.0);
    EXPECT_LT(r.report.energy_error, 1e-9) << text;
  }
}

/// Five times half a period of 2 kg on 5e3 N/m: against stops, and on a spring without kinks.
TEST(Law, AStopCostsWhatASpringCosts) {
  const double halves = 5.0 * M_PI / std::sqrt(5e3 / 2.0);
  const std::string spring = with_law(R"("=-5e3*x")");
  for (const double tolerance : {1e-8, 1e-10}) {
    const Ran kinks = by("bliedf", stops, 5.0, tolerance), smooth = by("bliedf", spring, halves, tolerance);
    EXPECT_LT(kinks.report.energy_error, 4.0 * smooth.report.energy_error) << tolerance;
    EXPECT_GE(kinks.report.corners, 9) << "five times in and out; one may lie between two steps";
    EXPECT_LT(kinks.report.counters.rejected_steps, 40) << tolerance;
  }
  // x = 1 - (5 contacts of half a period) and 4 flights of 1 m.
  const Ran exact = by("radau", stops, 5.0, 1e-10);
  EXPECT_NEAR(exact["height"], 1.0 - (5.0 - 0.5 - 4.0 - halves), 1e-8);
  EXPECT_NEAR(exact["speed"], -1.0, 1e-8);
}

/// A hundred points of a smooth function, each a kink that hardly matters.
TEST(Law, ManyKinksAreLeftToErrorControl) {
  std::string points;
  for (int i = 0; i <= 100; ++i) {
    const double x = -1.2 + 0.024 * i;
    points += fmt::format("{}[{}, {}]", i == 0 ? "" : ", ", x, -30.0 * std::sin(2.0 * x));
  }
  const auto table = [&](const char* interpolation) {
    return with_law(R"({"table": [)" + points + R"(], "interpolation": ")" + interpolation + R"(", "of": "=x"})");
  };
  const Ran linear = by("bliedf", table("linear"), 5.0, 1e-6), spline = by("bliedf", table("spline"), 5.0, 1e-6);
  EXPECT_LT(linear.report.corners, 30);
  EXPECT_LT(linear.report.counters.steps, 5 * spline.report.counters.steps);
  EXPECT_NEAR(linear["height"], spline["height"], 1e-3);
}

TEST(Law, PotentialOfAStopThatIsJustTouched) {
  const io::PreparedRun run =
      io::prepare(spec_of(on_rail(R"({"value": 0.5})", R"({"from": 0, "to": 1, "stiffness": 5e3})", "", "0")));
  system::Motion m(run.model.system->space());
  m.q = run.model.start.q0;
  for (const double depth : {1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 0.1})
    for (const double z : {1.0 + depth, -depth}) {
      m.q[2] = z;
      EXPECT_NEAR(run.model.system->energy_parts(m).elastic, 0.5 * 5e3 * depth * depth, 1e-9 * 5e3 * depth * depth)
          << z;
    }
}

/// Pulses of 1 ms in a run whose steps would be seconds long: m Δv is their impulse.
TEST(Inputs, PulsesOfTablesAndFormulasAreNotSteppedOver) {
  const auto speed_after = [](const std::string& input, const std::string& law) {
    const std::string text =
        on_rail(R"({"value": 0})", "",
                R"(, "inputs": {"u": )" + input + R"(}, "forces": [{"type": "force", "joint": "rail", "value": ")" +
                    law + R"("}])",
                "0");
    const Ran r = ran(spec_of(text), 20.0, 1e-7);
    return r["speed"];
  };
  const double impulse = 1000 * 1e-3 / 2.0;  // over the mass
  EXPECT_NEAR(speed_after(R"({"table": [[0, 0], [7, 0], [7.0005, 1000], [7.001, 0], [20, 0]]})", "=u"), impulse / 2,
              1e-6);
  EXPECT_NEAR(speed_after(R"j("=1000*max(0, 1 - abs(t - 7)/0.0005)")j", "=u"), impulse / 2, 1e-6);
  EXPECT_NEAR(speed_after(R"j("=500*(sign(t - 7) - sign(t - 7.001))")j", "=u"), impulse, 1e-6);
  EXPECT_NEAR(speed_after(R"j("=1000*min(1, max(0, min(t - 7, 7.001 - t)*1e6))")j", "=u"), impulse - 1e-6 * 1000 / 2.0,
              1e-6);
  EXPECT_NEAR(speed_after("1", "=u*1000*max(0, 1 - abs(t - 7)/0.0005)"), impulse / 2, 1e-6) << "of time in a law";
  EXPECT_NEAR(speed_after("1", "=u*500*(sign(t - 7) - sign(t - 7.001)) + 0*x"), impulse, 1e-6);
}

}  // namespace
