// Limits of joints against closed forms and minimal coordinates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "model_runs.hpp"
#include "run/lcp.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

/// A mass on a vertical rail.
std::string on_rail(const std::string& initial, const std::string& limits, const std::string& more = "",
                    const std::string& gravity = "-9.81") {
  return R"({"gravity": [0, 0, )" + gravity +
         R"(], "bodies": [{"name": "ball", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0]}],
            "joints": [{"name": "rail", "type": "prismatic", "between": ["ground", "ball"], "at": [0, 0, 0],
                        "axis": [0, 0, 1], "initial": )" +
         initial + R"(, "limits": )" + limits +
         R"(}], "outputs": {"height": {"displacement": "rail"}, "speed": "=height'"})" + more + "}";
}

struct Hit {
  std::string limit, action;
  double t = 0.0;
};
std::vector<Hit> hits(const Ran& ran) {
  std::vector<Hit> list;
  for (const run::Occurrence& o : ran.report.events) list.push_back({o.event, o.action, o.t});
  return list;
}

TEST(Limits, BouncingBallComesToRestWhereItsImpactsAccumulate) {
  const double g = 9.81, e = 0.9, first = std::sqrt(2.0 / g), end = first * (1 + e) / (1 - e);
  for (const char* method : {"bliedf", "radau", "rkmk", "projected-bdf"})
    for (const char* group : {"r3xso3", "se3"}) {
      SCOPED_TRACE(std::string(method) + " " + group);
      io::RunSpec spec = spec_of(on_rail(R"({"value": 1})", R"({"from": 0, "restitution": 0.9})"));
      spec.set("method", std::string(method));
      spec.group = group;
      const Ran r = ran(spec, 10.0, 1e-9);
      const std::vector<Hit> list = hits(r);
      ASSERT_GT(list.size(), 100u);
      double t = first;
      for (std::size_t n = 0; n < 60; ++n) {
        EXPECT_EQ(list[n].action, "impact");
        EXPECT_NEAR(list[n].t, t, 1e-7) << n;
        t += 2.0 * first * std::pow(e, static_cast<double>(n + 1));
      }
      EXPECT_NEAR(end, 8.578949179, 1e-9);
      EXPECT_EQ(list.back().action, "close");
      EXPECT_NEAR(list.back().t, end, 3e-6) << "the rest of the sequence is shorter than that";
      EXPECT_NEAR(r["height"], 0.0, 1e-12);
      EXPECT_NEAR(r["speed"], 0.0, 1e-12);
      EXPECT_NEAR(std::abs(r.report.final.lambda.tail<1>()[0]), 2.0 * g, 1e-9) << "the limit carries the weight";
      EXPECT_NEAR(r.report.work.dissipated, 2.0 * g, 1e-6) << "all of m g h";
      EXPECT_LT(r.report.energy_error, 1e-7);
    }
}

TEST(Limits, PlasticImpactClosesAtOnce) {
  const Ran r = ran(spec_of(on_rail(R"({"value": 1})", R"({"from": 0})")), 1.0, 1e-9);
  const std::vector<Hit> list = hits(r);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].action, "close");
  EXPECT_EQ(list[0].limit, "rail lower limit");
  EXPECT_NEAR(list[0].t, std::sqrt(2.0 / 9.81), 1e-9);
  EXPECT_NEAR(r["height"], 0.0, 1e-13);
}

TEST(Limits, RestOnALimitLastsUntilItWouldPull) {
  // Lifted by a force m g t: it leaves the limit at t = 1, z = g (t - 1)³/6 from there on.
  const std::string lift = R"(, "forces": [{"type": "force", "joint": "rail", "value": "=2*9.81*t"}])";
  for (const char* method : {"bliedf", "radau", "rkmk", "generalized-alpha"}) {
    SCOPED_TRACE(method);
    io::RunSpec spec = spec_of(on_rail(R"({"value": 0})", R"({"from": 0, "restitution": 0.5})", lift));
    spec.set("method", std::string(method));
    const Ran r = ran(spec, 2.0, 1e-9);
    const std::vector<Hit> list = hits(r);
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list[0].action, "close");
    EXPECT_EQ(list[0].t, 0.0);
    EXPECT_EQ(list[1].action, "open");
    EXPECT_NEAR(list[1].t, 1.0, 1e-12);
    const double allowed = std::string(method) == "generalized-alpha" ? 1e-6 : 1e-7;  // of order 2
    EXPECT_NEAR(r["height"], 9.81 / 6, allowed);
    EXPECT_NEAR(r["speed"], 9.81 / 2, allowed);
  }
}

/// What the last limit carries at the points of a run.
struct Carried final : run::Observer {
  std::vector<std::pair<double, double>> at;
  bool accept(const run::Point& point) override {
    at.emplace_back(point.entry.motion.t, -point.entry.lambda.tail<1>()[0]);
    return true;
  }
};

TEST(Limits, OpenUnderALoadThatMovedNothingBefore) {
  // 1.3 m g sin²(w t) upwards: nothing moves until sin²(w t) = 1/1.3, and no error of the motion tells how fast the load changes.
  for (const char* method : {"", "bliedf", "radau", "rkmk", "projected-bdf", "generalized-alpha"})
    for (const double w : {1.0, 10.0, 60.0, 300.0})
      for (const double rtol : {1e-4, 1e-8}) {
        SCOPED_TRACE(fmt::format("{} w {} rtol {}", method, w, rtol));
        const double weight = 2.0 * 9.81, first = std::asin(std::sqrt(1.0 / 1.3)) / w;
        io::RunSpec spec = spec_of(
            on_rail(R"({"value": 0})", R"({"from": 0, "restitution": 0.3})",
                    fmt::format(R"(, "forces": [{{"type": "force", "joint": "rail", "value": "={}*sin({}*t)^2"}}],
                                "events": [{{"name": "up", "when": "=speed - {}", "action": "stop"}}])",
                                1.3 * weight, w, 0.01 / w)));
        if (*method != '\0') spec.set("method", std::string(method));
        spec.set("t_end", 20.0).set("rtol", rtol).set("atol", rtol);
        io::PreparedRun prepared = io::prepare(spec);
        for (int i = 1; i < 20; ++i) prepared.options.output_times.push_back(0.049 * i * first);
        Carried carried;
        const run::Report report =
            run::integrate(*prepared.model.system, prepared.model.start, prepared.options, carried);
        ASSERT_EQ(report.status, run::Status::success) << report.message;
        ASSERT_GE(report.events.size(), 2u);
        EXPECT_EQ(report.events[1].action, "open");
        EXPECT_NEAR(report.events[1].t, first, 1e-9 * first);
        ASSERT_GE(carried.at.size(), 19u);
        const double allowed = std::max(1e-2, 1e3 * rtol) * weight;
        if (std::string(method) == "generalized-alpha") continue;  // two points tell little of what lies between them
        for (const auto& [t, force] : carried.at)
          if (t > 0.0 && t < 0.98 * first)
            EXPECT_NEAR(std::abs(force), weight * (1.0 - 1.3 * std::pow(std::sin(w * t), 2)), allowed) << t / first;
      }
}

TEST(Limits, PendulumAgainstAStopFollowsItsClosedForm) {
  // A stop below the pivot: amplitudes A with sin(A/2) shrinking by e, flights of half a period, 2 K(sin A/2)/Ω.
  const double m = 1.5, l = 0.7, J = 0.02, Omega = std::sqrt(m * 9.81 * l / (J + m * l * l)), e = 0.5;
  const std::string text = R"({"gravity": [0, 0, -9.81],
    "bodies": [{"name": "rod", "mass": 1.5, "inertia": [0.02, 0.02, 0.01], "position": [0, 0, -0.7]}],
    "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [1, 0, 0],
                "initial": {"value": 1.2}, "limits": {"from": 0, "to_deg": 180, "restitution": 0.5}}],
    "outputs": {"angle": {"angle": "pin"}, "rate": "=angle'"}})";
  for (const char* group : {"r3xso3", "se3"}) {
    io::RunSpec spec = spec_of(text);
    spec.group = group;
    const Ran r = ran(spec, 6.0, 1e-10);
    const std::vector<Hit> list = hits(r);
    double k = std::sin(0.6), t = std::comp_ellint_1(k) / Omega;
    ASSERT_GE(list.size(), 5u);
    for (const Hit& hit : list) {
      EXPECT_EQ(hit.limit, "pin lower limit");
      EXPECT_EQ(hit.action, "impact");
      EXPECT_NEAR(hit.t, t, 1e-7);
      k *= e;
      t += 2.0 * std::comp_ellint_1(k) / Omega;
    }
    for (const run::Occurrence& o : r.report.events)
      EXPECT_NEAR(o.after.motion.v[3], -e * o.before.motion.v[3], 1e-9) << o.t;
    const double energy = m * 9.81 * l * (1 - std::cos(1.2));
    EXPECT_NEAR(r.report.work.dissipated, energy * (1 - std::pow(e, 2.0 * static_cast<double>(list.size()))), 1e-6);
  }
}

TEST(Limits, LoopJointStopsAParallelogram) {
  // Crank and rocker of 0.4 m, the coupler moves without turning: one pendulum, J a'' = -(weights) sin a.
  const double l = 0.4, m = 0.5, J0 = 0.01, mc = 1.2, g = 9.81;
  const double J = 2 * (J0 + m * l * l / 4) + mc * l * l, W = (2 * m * l / 2 + mc * l) * g;
  const std::string text = R"({"gravity": [0, 0, -9.81],
    "bodies": [{"name": "crank", "mass": 0.5, "inertia": [0.01, 0.01, 0.001], "position": [0, 0, -0.2]},
               {"name": "rocker", "mass": 0.5, "inertia": [0.01, 0.01, 0.001], "position": [0, 1, -0.2]},
               {"name": "coupler", "mass": 1.2, "inertia": [0.1, 0.001, 0.1], "position": [0, 0.5, -0.4]}],
    "joints": [
      {"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [1, 0, 0]},
      {"name": "B", "type": "revolute", "between": ["crank", "coupler"], "at": [0, 0, -0.4], "axis": [1, 0, 0]},
      {"name": "C", "type": "point-on-line", "between": ["coupler", "rocker"], "at": [0, 1, -0.4], "axis": [1, 0, 0]},
      {"name": "D", "type": "revolute", "between": ["ground", "rocker"], "at": [0, 1, 0], "axis": [1, 0, 0],
       "limits": {"from": -0.3, "to": 0.5, "restitution": 0.7}}],
    "outputs": {"input": {"angle": "A"}, "swing": {"angle": "D"}, "rate": "=input'"}})";
  const double w0 = 5.0;
  const auto with_speed = [&](std::string s) {
    const auto give = [&](const std::string& body, const std::string& v, bool turns) {
      const std::size_t at = s.find("\"name\": \"" + body + "\"");
      s.insert(at, "\"velocity\": " + v + (turns ? ", \"angular_velocity\": [5, 0, 0], " : ", "));
    };
    give("crank", "[0, 1, 0]", true);
    give("rocker", "[0, 1, 0]", true);
    give("coupler", "[0, 2, 0]", false);
    return s;
  };
  const io::RunSpec spec = spec_of(with_speed(text));
  // Minimal coordinate with the same stops, impacts located by halving the last step.
  Eigen::Vector2d y(0.0, w0);
  const auto f = [&](double, const Eigen::Vector2d& x) { return Eigen::Vector2d(x[1], -W / J * std::sin(x[0])); };
  std::vector<double> times;
  double t = 0.0;
  const double t_end = 1.0;
  while (t < t_end) {
    double h = std::min(1e-3, t_end - t);
    Eigen::Vector2d next = minimal(y, h, 1, f);
    const auto violation = [](const Eigen::Vector2d& x) { return std::max(x[0] - 0.5, -0.3 - x[0]); };
    if (violation(next) > 0.0) {
      double low = 0.0, high = h;
      for (int i = 0; i < 60; ++i)
        (violation(minimal(y, (low + high) / 2, 1, f)) > 0.0 ? high : low) = (low + high) / 2;
      h = low;
      next = minimal(y, h, 1, f);
      next[1] *= -0.7;
      times.push_back(t + h);
    }
    y = next;
    t += h;
    if (h == 0.0) break;
  }
  const Ran r = ran(spec, t_end, 1e-10);
  const std::vector<Hit> list = hits(r);
  ASSERT_GE(times.size(), 2u);
  ASSERT_EQ(list.size(), times.size());
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_NEAR(list[i].t, times[i], 1e-8);
  EXPECT_NEAR(r["input"], y[0], 1e-7);
  EXPECT_NEAR(r["rate"], y[1], 1e-6);
  EXPECT_NEAR(r["swing"], r["input"], 1e-9);
}

TEST(Limits, PressRestsOnItsStopWhateverRoundOffDoes) {
  // A slider-crank whose slider bounces on a stop and rests on it, where every velocity is round-off. At rest the stop carries
  // Q/x', Q the torque at the crank.
  const double r = 0.1, l = 0.3, phi = 1.2, g = 9.81, stop_at = 0.3;
  const auto psi = [&](double p) { return std::asin(r * std::sin(p) / l); };
  const auto x = [&](double p) { return r * std::cos(p) + l * std::cos(psi(p)); };
  const auto slope = [&](double p) {
    return -r * std::sin(p) - l * std::sin(psi(p)) * r * std::cos(p) / (l * std::cos(psi(p)));
  };
  const double bx = r * std::cos(phi), by = r * std::sin(phi), s = x(phi);
  const std::string text = fmt::format(
      R"text({{"gravity": [0, -9.81, 0], "bodies": [
          {{"name": "crank", "mass": 0.5, "inertia": [1e-4, 2e-3, 2e-3], "position": [{0}, {1}, 0], "rotation": {{"axis": [0, 0, 1], "angle": {2}}}}},
          {{"name": "rod", "mass": 0.4, "inertia": [1e-4, 4e-3, 4e-3], "position": [{3}, {1}, 0], "rotation": {{"axis": [0, 0, 1], "angle": {4}}}}},
          {{"name": "slider", "mass": 0.8, "inertia": [1e-3, 1e-3, 1e-3], "position": [{5}, 0, 0]}}],
        "joints": [
          {{"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]}},
          {{"name": "B", "type": "revolute", "between": ["crank", "rod"], "at": [{6}, {7}, 0], "axis": [0, 0, 1]}},
          {{"name": "P", "type": "point-on-line", "between": ["slider", "rod"], "at": [{5}, 0, 0], "axis": [0, 0, 1]}},
          {{"name": "rail", "type": "prismatic", "between": ["ground", "slider"], "at": [{5}, 0, 0], "axis": [1, 0, 0],
            "limits": {{"to": {8}, "restitution": 0.35}}}}],
        "forces": [{{"name": "motor", "type": "torque", "joint": "A", "value": "=3*sin(9*(t - 1)) - 0.05*v + 2*exp(-(t - 1))"}}]}})text",
      bx / 2, by / 2, phi, (bx + s) / 2, -psi(phi), s, bx, by, x(stop_at) - s);
  for (const auto& [rtol, step] :
       {std::pair{1e-8, 0.0}, std::pair{1e-9, 0.0}, std::pair{0.0, 1e-3}, std::pair{0.0, 2e-4}}) {
    SCOPED_TRACE(fmt::format("rtol {}, step {}", rtol, step));
    io::RunSpec spec = spec_of(text);
    spec.set("method", std::string("radau")).set("t_end", 1.5);
    if (step > 0.0)
      spec.set("step", step);
    else
      spec.set("rtol", rtol).set("atol", 0.01 * rtol);
    io::PreparedRun prepared = io::prepare(spec);
    prepared.model.start.t0 = 1.0;
    prepared.options.output_times = {1.34, 1.36, 1.38};
    Carried carried;
    const run::Report report = run::integrate(*prepared.model.system, prepared.model.start, prepared.options, carried);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    ASSERT_EQ(report.events.back().action, "open");
    EXPECT_NEAR(report.events.back().t, 1.3844726322958, 2e-8) << "3 sin 9(t - 1) + 2 exp(1 - t) = 0.45 g r cos(0.3)";
    int seen = 0;
    for (const auto& [t, force] : carried.at)
      for (const double wanted : {1.34, 1.36, 1.38})
        if (std::abs(t - wanted) < 1e-12) {
          const double torque = 3 * std::sin(9 * (t - 1)) + 2 * std::exp(1 - t) - 0.45 * g * r * std::cos(stop_at);
          EXPECT_NEAR(std::abs(force), std::abs(torque / slope(stop_at)), 0.01) << t;
          ++seen;
        }
    EXPECT_GE(seen, 3);
  }
}

TEST(Limits, AnglesCountTheirTurns) {
  const std::string text =
      R"({"bodies": [{"name": "disk", "mass": 1, "inertia": [0.1, 0.1, 0.2], "position": [0, 0, 0]}],
    "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "disk"], "at": [0, 0, 0], "axis": [0, 0, 1],
                "initial": {"rate": 3}, "limits": {"from": -7, "to": 20, "restitution": 0.5}}],
    "outputs": {"angle": {"angle": "pin"}}})";
  const Ran r = ran(spec_of(text), 60.0, 1e-9);
  const std::vector<Hit> list = hits(r);
  const double first = 20.0 / 3, second = first + 27.0 / 1.5;
  ASSERT_EQ(list.size(), 2u);
  EXPECT_NEAR(list[0].t, first, 1e-9);
  EXPECT_NEAR(list[1].t, second, 1e-8);
  EXPECT_EQ(list[1].limit, "pin lower limit");
  EXPECT_NEAR(r["angle"], -7 + 0.75 * (60 - second), 1e-7);
}

std::string three_balls(double gap, const std::array<double, 3>& masses = {1, 1, 1}, double restitution = 1) {
  const auto ball = [&](int i) {
    return fmt::format(R"({{"name": "b{}", "mass": {}, "inertia": [1, 1, 1], "position": [0, 0, 0]}})", i,
                       masses[static_cast<std::size_t>(i - 1)]);
  };
  const auto rail = [&](int i, double value, double rate, bool has_limit) {
    return fmt::format(R"({{"name": "r{}", "type": "prismatic", "between": ["{}", "b{}"], "at": [0, 0, 0],
      "axis": [1, 0, 0], "initial": {{"value": {}, "rate": {}}}{}}})",
                       i, i == 1 ? "ground" : fmt::format("b{}", i - 1), i, value, rate,
                       has_limit ? fmt::format(R"(, "limits": {{"from": 0, "restitution": {}}})", restitution) : "");
  };
  return fmt::format(R"({{"bodies": [{}, {}, {}], "joints": [{}, {}, {}],
    "outputs": {{"v1": {{"velocity": "b1"}}, "v2": {{"velocity": "b2"}}, "v3": {{"velocity": "b3"}}}}}})",
                     ball(1), ball(2), ball(3), rail(1, 0, 1, false), rail(2, 0.1, -1, true), rail(3, gap, 0, true));
}

TEST(Limits, ChainOfBallsWithGapsPassesTheVelocityOn) {
  const Ran r = ran(spec_of(three_balls(0.05)), 1.0, 1e-9);
  ASSERT_EQ(r.report.events.size(), 2u);
  EXPECT_NEAR(r.report.events[0].t, 0.1, 1e-10);
  EXPECT_NEAR(r.report.events[1].t, 0.15, 1e-10);
  EXPECT_NEAR(r["v1.x"], 0.0, 1e-9);
  EXPECT_NEAR(r["v2.x"], 0.0, 1e-9);
  EXPECT_NEAR(r["v3.x"], 1.0, 1e-9);
}

/// A light ball between heavy ones is struck several times, by one of them after the other.
TEST(Limits, ChainOfBallsWithGapsFollowsSequentialImpacts) {
  const std::array<double, 3> m{2, 0.3, 5};
  const double e = 0.8, t_end = 1.0;
  std::array<double, 3> x{0, 0.1, 0.15}, v{1, 0, 0};
  std::vector<double> times;
  for (double t = 0.0;;) {
    int pair = -1;
    double wait = t_end - t;
    for (const int i : {0, 1}) {
      const double closing = v[i] - v[i + 1];
      if (closing > 0.0 && (x[i + 1] - x[i]) / closing < wait) wait = (x[i + 1] - x[i]) / closing, pair = i;
    }
    for (int i = 0; i < 3; ++i) x[i] += wait * v[i];
    t += wait;
    if (pair < 0) break;
    times.push_back(t);
    const double a = m[pair], b = m[pair + 1], impulse = (1 + e) * (v[pair] - v[pair + 1]) * a * b / (a + b);
    v[pair] -= impulse / a;
    v[pair + 1] += impulse / b;
    x[pair + 1] = x[pair] = (a * x[pair] + b * x[pair + 1]) / (a + b);
  }
  ASSERT_GE(times.size(), 4u);
  const Ran r = ran(spec_of(three_balls(0.05, m, e)), t_end, 1e-9);
  ASSERT_EQ(r.report.events.size(), times.size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(r.report.events[i].t, times[i], 1e-9) << i;
  for (const int i : {0, 1, 2}) EXPECT_NEAR(r[fmt::format("v{}.x", i + 1)], v[i], 1e-8) << i;
}

TEST(Limits, TouchingBallsAreStruckTogether) {
  // Moreau's law: the second pair stays together, s = (4/3, 2/3).
  const Ran r = ran(spec_of(three_balls(0.0)), 1.0, 1e-9);
  EXPECT_NEAR(r["v1.x"], -1.0 / 3, 1e-9);
  EXPECT_NEAR(r["v2.x"], 2.0 / 3, 1e-9);
  EXPECT_NEAR(r["v3.x"], 2.0 / 3, 1e-9);
  EXPECT_NEAR(r.report.work.dissipated, 0.5 - 0.5 * (1.0 / 9 + 4.0 / 9 + 4.0 / 9), 1e-9);
}

TEST(Limits, TwoJointsOfAnArmStopAtOnce) {
  // An arm that is straight and turns about z at its stops: joint a strikes its own while joint b rests on another. In
  // the coordinates of the joints M (w⁺ - w⁻) = s; b is pressed on, so that a alone rebounds.
  const std::string text = R"({
    "bodies": [{"name": "upper", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0.5, 0, 0],
                "velocity": [0, 0.5, 0], "angular_velocity": [0, 0, 1]},
               {"name": "lower", "mass": 1, "inertia": [0.05, 0.05, 0.05], "position": [1.4, 0, 0],
                "velocity": [0, 1.4, 0], "angular_velocity": [0, 0, 1]}],
    "joints": [
      {"name": "a", "type": "revolute", "between": ["ground", "upper"], "at": [0, 0, 0], "axis": [0, 0, 1],
       "limits": {"to": 0.3, "restitution": 0.5}},
      {"name": "b", "type": "revolute", "between": ["upper", "lower"], "at": [1, 0, 0], "axis": [0, 0, 1],
       "limits": {"%s": 0, "restitution": 0.5}}],
    "outputs": {"qa": {"angle": "a"}, "qb": {"angle": "b"}, "wa": "=qa'", "wb": "=qb'"}})";
  // When a stops, b wants to go on forwards: dw_b > 0. Its upper limit holds it, its lower one lets it go.
  Eigen::Matrix2d M;
  const double c = 0.4, inner = 1.0 * (c * c) + 0.05;  // of the lower about joint b
  M(1, 1) = inner;
  M(0, 1) = M(1, 0) = inner + 1.0 * c * 1.0;
  M(0, 0) = 0.1 + 2 * 0.25 + 0.05 + 1.0 * 1.4 * 1.4;
  for (const char* side : {"to", "from"}) {
    SCOPED_TRACE(side);
    std::string model = text;
    model.replace(model.find("%s"), 2, side);
    const Ran r = ran(spec_of(model), 0.3 + 1e-9, 1e-11);
    ASSERT_GE(r.report.events.size(), 1u);
    const run::Occurrence& hit = r.report.events.back();
    EXPECT_NEAR(hit.t, 0.3, 1e-9);
    const double wa = -0.5;  // by the restitution
    const double wb = std::string(side) == "to" ? 0.0 : -M(1, 0) * (wa - 1.0) / M(1, 1);
    EXPECT_NEAR(hit.after.motion.v[5], wa, 1e-8);
    EXPECT_NEAR(hit.after.motion.v[11] - hit.after.motion.v[5], wb, 1e-7);
  }
}

struct Elsewhere {
  const char *name, *limits, *force, *events;
};

/// A body that rests on a limit, and another one, on a rail of its own, to which something happens.
class RestBeside : public testing::TestWithParam<std::tuple<Elsewhere, const char*>> {};

TEST_P(RestBeside, StaysClosed) {
  const auto& [other, method] = GetParam();
  for (const char* mass : {"0.5", "1", "2", "3", "7"}) {
    SCOPED_TRACE(mass);
    io::RunSpec spec = spec_of(fmt::format(R"({{"gravity": [0, 0, -9.81], "parameters": {{"k": 1}}, "bodies": [
            {{"name": "a", "mass": {}, "inertia": [1, 1, 1], "position": [0, 0, 0]}},
            {{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0]}}], "joints": [
            {{"name": "p", "type": "prismatic", "between": ["ground", "a"], "at": [0, 0, 0], "axis": [0, 0, 1],
              "limits": {{"from": 0, "restitution": 0.2}}}},
            {{"name": "q", "type": "prismatic", "between": ["ground", "b"], "at": [1, 0, 0], "axis": [0, 0, 1],
              "initial": {{"value": 1}} {}}}],
            "forces": [{{"name": "f", "type": "force", "joint": "q", "value": "{}"}}],
            "outputs": {{"P": {{"displacement": "p"}}, "Q": {{"displacement": "q"}}}} {}}})",
                                           mass, other.limits, other.force, other.events));
    spec.set("method", std::string(method));
    const Ran r = ran(spec, 2.0, 1e-7);
    EXPECT_NEAR(r["P"], 0.0, 1e-12);
    int happened = 0;
    for (const Hit& hit : hits(r)) {
      if (hit.t == 0.0) continue;  // it closes at the start
      EXPECT_NE(hit.limit, "p lower limit") << hit.action << " at " << hit.t;
      ++happened;
    }
    EXPECT_GT(happened, 0) << "to the other body";
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, RestBeside,
    testing::Combine(
        testing::Values(Elsewhere{"impact", R"(, "limits": {"from": 0, "restitution": 0.8})", "=0*k", ""},
                        Elsewhere{"compliant", R"(, "limits": {"from": 0, "stiffness": 1e4, "damping": 10})", "=0*k",
                                  ""},
                        Elsewhere{"set", "", "=k*0.1-30*x",
                                  R"(, "events": [{"name": "e", "when": "=Q", "action": {"set": {"k": "=k+1"}}}])"},
                        Elsewhere{"jump", "", "=k*0.1-30*x",
                                  R"(, "events": [{"name": "e", "when": "=Q", "direction": "falling",
                                                   "action": {"jump": {"b.velocity": [0, 0, "=Q'*0.9"]}}}])"}),
        testing::Values("bliedf", "radau", "rkmk", "generalized-alpha")),
    [](const auto& info) {
      std::string name = std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
      std::ranges::replace(name, '-', '_');
      return name;
    });

/// What rests on the ground does not move when something bounces on it: the ground takes every impulse.
TEST(Limits, BallBouncesOnABodyAtRest) {
  const double g = 9.81;
  for (const double e : {0.3, 0.8})
    for (const char* masses : {"1 2", "2 1", "1 1", "7 0.5", "0.5 7"})
      for (const char* method : {"bliedf", "radau", "rkmk"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", e, masses, method));
        const std::string both(masses);
        io::RunSpec spec = spec_of(fmt::format(R"({{"gravity": [0, 0, -9.81], "bodies": [
                {{"name": "low", "mass": {}, "inertia": [1, 1, 1], "position": [0, 0, 0]}},
                {{"name": "high", "mass": {}, "inertia": [1, 1, 1], "position": [0, 0, 0]}}], "joints": [
                {{"name": "floor", "type": "prismatic", "between": ["ground", "low"], "at": [0, 0, 0], "axis": [0, 0, 1],
                  "limits": {{"from": 0, "restitution": 0.2}}}},
                {{"name": "top", "type": "prismatic", "between": ["low", "high"], "at": [0, 0, 0], "axis": [0, 0, 1],
                  "initial": {{"value": 1}}, "limits": {{"from": 0, "restitution": {}}}}}],
                "outputs": {{"z": {{"displacement": "floor"}}}}}})",
                                               both.substr(0, both.find(' ')), both.substr(both.find(' ') + 1), e));
        spec.set("method", std::string(method));
        const Ran r = ran(spec, 2.0, 1e-8);
        EXPECT_NEAR(r["z"], 0.0, 1e-12);
        std::vector<Hit> list = hits(r);
        ASSERT_FALSE(list.empty());
        EXPECT_EQ(list[0].limit + " " + list[0].action, "floor lower limit close");
        list.erase(list.begin());
        double t = std::sqrt(2.0 / g);
        ASSERT_GE(list.size(), 3u);
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_EQ(list[i].limit, "top lower limit");
          EXPECT_NEAR(list[i].t, t, 1e-6);
          t += 2.0 * std::sqrt(2.0 / g) * std::pow(e, static_cast<double>(i + 1));
        }
        for (const Hit& hit : list) EXPECT_EQ(hit.limit, "top lower limit") << hit.action << " at " << hit.t;
      }
}

TEST(Limits, ComplementarityProblemsAreSolved) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  for (int round = 0; round < 500; ++round) {
    const int n = 1 + round % 6, rank = round % 3 == 0 ? std::max(1, n - 2) : n;
    Matrix G(n, rank);
    for (double& x : G.reshaped()) x = number(random);
    const Matrix W = G * G.transpose();
    Vector q(n);
    for (double& x : q) x = number(random);
    if (rank < n) q = G * Vector::Random(rank);  // then it has a solution
    Vector z;
    ASSERT_TRUE(run::solve_lcp(W, q, z)) << round;
    const Vector w = W * z + q;
    EXPECT_GE(z.minCoeff(), 0.0);
    EXPECT_GE(w.minCoeff(), -1e-8 * (1.0 + z.norm())) << round;
    EXPECT_NEAR(z.dot(w), 0.0, 1e-8 * (1.0 + z.squaredNorm())) << round;
  }
  Vector z;
  EXPECT_FALSE(run::solve_lcp(Matrix::Zero(1, 1), Vector::Constant(1, -1.0), z));
}

TEST(Limits, JumpLiftsOffAClosedLimitOrStrikesIt) {
  const auto kicked = [](const std::string& speed) {
    return on_rail(R"({"value": 0})", R"({"from": 0, "restitution": 0.5})",
                   R"(, "events": [{"name": "kick", "when": "=t - 1", "action": {"jump": {"ball.velocity": [0, 0, )" +
                       speed + "]}}}]");
  };
  const Ran up = ran(spec_of(kicked("3")), 1.2, 1e-9);
  EXPECT_NEAR(up["height"], 3 * 0.2 - 9.81 / 2 * 0.04, 1e-8);
  const Ran down = ran(spec_of(kicked("-3")), 1.2, 1e-9);
  EXPECT_NEAR(down["height"], 1.5 * 0.2 - 9.81 / 2 * 0.04, 1e-8) << "it rebounds at once";
}

class Keeper final : public run::Observer {
 public:
  explicit Keeper(int keep_at) : keep_at_(keep_at) {}
  bool wants_checkpoint() override { return ++asked_ == keep_at_; }
  void checkpoint(std::string_view bytes) override { state = bytes; }
  std::string state;

 private:
  int keep_at_, asked_ = 0;
};

TEST(Limits, ResumedRunsHaveTheSameBits) {
  // Bounces, rests, is lifted off and comes back.
  const std::string lift =
      R"(, "forces": [{"type": "force", "joint": "rail", "value": "=25*sin(min(max(t - 4, 0), 3.1))^3"}])";
  io::RunSpec spec = spec_of(on_rail(R"({"value": 0.2})", R"({"from": 0, "restitution": 0.6})", lift));
  spec.set("t_end", 12.0).set("rtol", 1e-8).set("atol", 1e-8);
  const io::PreparedRun prepared = io::prepare(spec);
  const auto integrated = [&](run::Observer& observer, std::optional<std::string_view> from = {}) {
    return run::integrate(*prepared.model.system, prepared.model.start, prepared.options, observer, from);
  };
  run::Observer nobody;
  const run::Report whole = integrated(nobody);
  ASSERT_EQ(whole.status, run::Status::success) << whole.message;
  const auto count = [&](const char* action) {
    return std::ranges::count(whole.events, action, &run::Occurrence::action);
  };
  EXPECT_GE(count("impact"), 20);
  EXPECT_GE(count("close"), 2);
  EXPECT_GE(count("open"), 1);
  int resumed_runs = 0;
  for (const int at : {20, 150, 400, 700, 1000}) {
    Keeper keeper(at);
    integrated(keeper);
    if (keeper.state.empty()) continue;
    const run::Report resumed = integrated(nobody, keeper.state);
    ++resumed_runs;
    EXPECT_EQ(resumed.final.motion.q, whole.final.motion.q) << at;
    EXPECT_EQ(resumed.final.motion.v, whole.final.motion.v) << at;
    EXPECT_EQ(resumed.final.lambda, whole.final.lambda) << at;
    EXPECT_EQ(resumed.events.size(), whole.events.size()) << at;
    EXPECT_EQ(resumed.work.dissipated, whole.work.dissipated) << at;
  }
  EXPECT_GE(resumed_runs, 3);
}

/// The work over a kink, too, wherever the run is resumed.
TEST(Limits, ResumedRunsHaveTheSameWorkOverKinks) {
  const Ran whole = ran(spec_of(on_rail(R"({"value": 0.5, "rate": -1})",
                                        R"({"from": 0, "to": 1, "stiffness": 5e3, "damping": 40})", "", "0")),
                        4.0, 1e-8);
  const io::PreparedRun& run = whole.prepared;
  for (long at = 5; at < whole.report.counters.steps; at += 7) {
    Keeper keeper(static_cast<int>(at));
    run::Observer nobody;
    run::integrate(*run.model.system, run.model.start, run.options, keeper);
    ASSERT_FALSE(keeper.state.empty()) << at;
    const run::Report resumed = run::integrate(*run.model.system, run.model.start, run.options, nobody, keeper.state);
    EXPECT_EQ(resumed.work.dissipated, whole.report.work.dissipated) << at;
    EXPECT_EQ(resumed.energy_error, whole.report.energy_error) << at;
    EXPECT_EQ(resumed.final.motion.q, whole.report.final.motion.q) << at;
  }
}

TEST(Limits, ThousandImpactsBetweenTwoStops) {
  const std::string text =
      on_rail(R"({"value": 0.5, "rate": 10})", R"({"from": 0, "to": 1, "restitution": 1})", "", "0");
  const Ran r = ran(spec_of(text), 100.02, 1e-8);
  ASSERT_EQ(r.report.events.size(), 1000u);
  EXPECT_NEAR(r.report.events.back().t, 99.95, 1e-7);
  EXPECT_NEAR(std::abs(r["speed"]), 10.0, 1e-9);
  EXPECT_LT(r.report.counters.steps, 30'000);
}

TEST(Limits, CompliantLimitIsASpringAndADamperThatPush) {
  // m x'' = -k x - c x' from the contact until the force vanishes: ω_d t = π - atan2(c ω_d, k - c β).
  const double m = 2, k = 5e3, c = 40, v0 = 1, beta = c / (2 * m), omega = std::sqrt(k / m - beta * beta);
  const double contact = (M_PI - std::atan2(c * omega, k - c * beta)) / omega;
  const double leaves =
      -v0 * std::exp(-beta * contact) * (std::cos(omega * contact) - beta / omega * std::sin(omega * contact));
  const double x = v0 / omega * std::exp(-beta * contact) * std::sin(omega * contact);  // beyond the limit
  const std::string text =
      on_rail(R"({"value": 0.5, "rate": -1})", R"({"from": 0, "to": 2, "stiffness": 5e3, "damping": 40})", "", "0");
  const Ran r = ran(spec_of(text), 1.5, 1e-9);
  EXPECT_NEAR(r["speed"], leaves, 1e-5);
  EXPECT_NEAR(r["height"], -x + leaves * (1.5 - 0.5 - contact), 1e-5);
  EXPECT_NEAR(r.report.work.dissipated, 0.5 * m * (v0 * v0 - leaves * leaves), 1e-4);
  const Ran elastic =
      ran(spec_of(on_rail(R"({"value": 0.5, "rate": -1})", R"({"from": 0, "stiffness": 5e3})", "", "0")), 1.5, 1e-10);
  EXPECT_NEAR(elastic["speed"], 1.0, 1e-7);
  EXPECT_NEAR(elastic["height"], 1.0 - M_PI / std::sqrt(k / m), 1e-7);
  // The slope of the force jumps at the touch, inside a step: what that costs falls with the tolerance.
  for (const double tolerance : {1e-8, 1e-9, 1e-10, 1e-11}) {
    const Ran at_tolerance = ran(
        spec_of(on_rail(R"({"value": 0.5, "rate": -1})", R"({"from": 0, "stiffness": 5e3})", "", "0")), 1.5, tolerance);
    EXPECT_LT(at_tolerance.report.energy_error, 3e3 * tolerance) << tolerance;
  }
}

/// Nothing moves until the force changes its sign at π/4, so that steps are long and no error is seen: v = 1.5 - 1.5 sin 2t behind it.
TEST(Limits, OpenWhereASmoothForceChangesItsSign) {
  const double opens = M_PI / 4.0, end = 6.0, way = 1.5 * (end - opens) + 0.75 * std::cos(2.0 * end);
  for (const char* method : {"bliedf", "radau", "rkmk", "projected-bdf", "generalized-alpha", "half-explicit"})
    for (const char* group : {"r3xso3", "se3"}) {
      for (const double tolerance : {1e-5, 1e-7}) {
        SCOPED_TRACE(fmt::format("{} {} {}", method, group, tolerance));
        io::RunSpec spec = spec_of(on_rail(
            "{}", R"({"from": 0, "restitution": 0.3})",
            R"json(, "forces": [{"name": "u", "type": "force", "joint": "rail", "value": "=-6*cos(2*t)"}])json", "0"));
        spec.set("method", std::string(method));
        spec.group = group;
        const Ran r = ran(spec, end, tolerance);
        const std::vector<Hit> list = hits(r);
        ASSERT_EQ(list.size(), 2u);
        EXPECT_EQ(list[1].action, "open");
        EXPECT_NEAR(list[1].t, opens, 1e-9);
        EXPECT_NEAR(r["height"], way, std::string(method) == "generalized-alpha" ? 1e3 * tolerance : 100.0 * tolerance);
      }
    }
}

/// The force vanishes at t₀ and pulls then like t - t₀: the gap opens like (t - t₀)³, less at first than what the points between the
/// ends of a step are wrong by. x = ∫∫ 3/2 sin 2(t - t₀).
TEST(Limits, OpenAsSmoothlyAsTheForceThatGrows) {
  for (const char* method : {"bliedf", "radau", "rkmk"})
    for (const double opens : {0.45, 0.5, 0.55, 0.6, 0.75})
      for (const double tolerance : {1e-2, 1e-3, 3e-4, 1e-4, 1e-5}) {
        SCOPED_TRACE(fmt::format("{} {} {}", method, opens, tolerance));
        io::RunSpec spec = spec_of(on_rail(
            "{}", R"({"from": 0, "restitution": 0.5})",
            fmt::format(
                R"json(, "forces": [{{"name": "u", "type": "force", "joint": "rail", "value": "=3*sin(2*(t - {}))"}}])json",
                opens),
            "0"));
        spec.set("method", std::string(method));
        const double end = opens + 1.2;
        const Ran r = ran(spec, end, tolerance);
        const double w = 2.0 * (end - opens);
        EXPECT_NEAR(r["height"], 0.375 * (w - std::sin(w)), 100.0 * tolerance);
        const std::vector<Hit> list = hits(r);
        ASSERT_FALSE(list.empty());
        EXPECT_NEAR(list[1].t, opens, 1e-6);
        for (const Hit& hit : list) EXPECT_LT(hit.t, opens + 1e-6) << hit.action;
      }
}

/// The power of a damped limit has kinks where it lets go and where the rail leaves it, and nothing else changes there: the books
/// balance all the same. Numbers by scipy (DOP853, 1e-12, cut at the contacts and at the releases).
TEST(Limits, DampedLimitsBalanceTheirEnergy) {
  const std::string text = R"json({"gravity": [0, 0, 0],
    "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    "joints": [{"name": "r", "type": "prismatic", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [1, 0, 0],
                "limits": {"from": -0.5, "to": 1.2, "stiffness": 2000, "damping": 20}}],
    "forces": [{"name": "u", "type": "force", "joint": "r", "value": "=3*sin(2*t)"}],
    "outputs": {"way": {"displacement": "r"}}})json";
  for (const char* method : {"bliedf", "radau", "rkmk", "generalized-alpha"}) {
    SCOPED_TRACE(method);
    io::RunSpec spec = spec_of(text);
    spec.set("method", std::string(method));
    const bool is_second_order = std::string(method) == "generalized-alpha";
    const Ran r = ran(spec, 5.0, is_second_order ? 1e-7 : 1e-9);
    const double near = is_second_order ? 1e-4 : 2e-5;
    EXPECT_NEAR(r["way"], 0.48486386, near);
    EXPECT_NEAR(r.report.work.dissipated, 7.283479, near);
    EXPECT_NEAR(r.report.work.forces, 7.967500, near);
    EXPECT_LT(r.report.energy_error, near);
  }
}

TEST(Limits, SwitchedOffWithTheirJoint) {
  // The rail lets go at t = 0.2: its limit does not stop the fall.
  const std::string text = on_rail(R"({"value": 1})", R"({"from": 0, "restitution": 0.9})",
                                   R"(, "events": [{"name": "drop", "when": "=t - 0.2",
                                        "action": {"switch": {"off": ["rail"]}}}])");
  const Ran r = ran(spec_of(text), 1.0, 1e-9);
  ASSERT_EQ(r.report.events.size(), 1u);
  EXPECT_NEAR(r["height"], 1 - 9.81 / 2, 1e-6);
}

TEST(Gripper, ClosesOnThePartAndOpensAgain) {
  // 2 m s'' = -F - c s' from 0.05 m to the part at 0.01 m; at t = 0.5 the force is reversed, and the way goes on to 0.06 m.
  const double F = 2, c = 5, mass = 0.2, rate = c / mass;
  const auto way = [&](double t) { return F / c * (t - (1 - std::exp(-rate * t)) / rate); };
  const auto time_of = [&](double distance) {
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 100; ++i) (way((low + high) / 2) < distance ? low : high) = (low + high) / 2;
    return low;
  };
  const Ran r = ran(shipped("gripper"), 1.0, 1e-9);
  const std::vector<Hit> list = hits(r);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].action, "close");
  EXPECT_NEAR(list[0].t, time_of(0.04), 1e-7);
  EXPECT_EQ(list[1].limit, "let go");
  EXPECT_NEAR(list[1].t, 0.5, 1e-12);
  EXPECT_EQ(list[2].action, "open");
  EXPECT_NEAR(list[2].t, 0.5, 1e-9) << "a force that pulls opens at once";
  EXPECT_EQ(list[3].limit, "left rail upper limit");
  EXPECT_NEAR(list[3].t, 0.5 + time_of(0.05), 1e-7);
  EXPECT_NEAR(r["opening"], 0.06, 1e-12);
  EXPECT_NEAR(r["other"], 0.06, 1e-9) << "the other finger follows";
}

TEST(Latch, LetsGoWhereItsLoadIsReachedAndHitsTheStop) {
  // Held until pull t = hold at t = 0.4; then m x'' = pull t: x = pull (t³/6 - t₀² t/2 + t₀³/3)/m.
  const double m = 2, pull = 30, t0 = 0.4;
  const auto x = [&](double t) { return pull / m * (t * t * t / 6 - t0 * t0 * t / 2 + t0 * t0 * t0 / 3); };
  double low = t0, high = 3.0;
  for (int i = 0; i < 100; ++i) (x((low + high) / 2) < 0.5 ? low : high) = (low + high) / 2;
  const double before = pull / m * (low * low - t0 * t0) / 2;
  const Ran r = ran(shipped("latch"), 1.0, 1e-9);
  const std::vector<Hit> list = hits(r);
  ASSERT_GE(list.size(), 2u);
  EXPECT_NEAR(list[0].t, t0, 1e-9);
  EXPECT_EQ(list[1].action, "impact");
  EXPECT_NEAR(list[1].t, low, 1e-7);
  EXPECT_NEAR(r.report.events[1].after.motion.v[0], -0.4 * before, 1e-6);
}

TEST(Latch, LetsGoUnderALoadThatMovedNothingBefore) {
  // 2 + 18 sin²(w t) N on a body that a joint holds until it carries 15 N.
  for (const char* method : {"", "bliedf", "radau", "rkmk", "projected-bdf"})
    for (const double w : {1.0, 10.0, 60.0, 300.0})
      for (const double rtol : {1e-5, 1e-7}) {
        SCOPED_TRACE(fmt::format("{} w {} rtol {}", method, w, rtol));
        io::RunSpec spec = spec_of(fmt::format(
            R"({{"bodies": [{{"name": "slide", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 0]}}],
                "joints": [{{"name": "rail", "type": "prismatic", "between": ["ground", "slide"], "at": [0, 0, 0], "axis": [1, 0, 0]}},
                           {{"name": "catch", "type": "point-on-plane", "between": ["ground", "slide"], "at": [0, 0, 0], "axis": [1, 0, 0]}}],
                "outputs": {{"held": {{"reaction": "catch"}}}},
                "forces": [{{"name": "load", "type": "force", "joint": "rail", "value": "=2 + 18*sin({}*t)^2"}}],
                "events": [{{"name": "release", "when": "=abs(held.x) - 15", "direction": "rising",
                            "action": {{"switch": {{"off": ["catch"]}}}}}}]}})",
            w));
        if (*method != '\0') spec.set("method", std::string(method));
        const double release = std::asin(std::sqrt(13.0 / 18.0)) / w;
        spec.set("t_end", 20.0).set("rtol", rtol).set("atol", rtol);
        io::PreparedRun prepared = io::prepare(spec);
        prepared.options.t_end = w < 5.0 ? 20.0 : 4.0;
        run::Observer nobody;
        const run::Report report =
            run::integrate(*prepared.model.system, prepared.model.start, prepared.options, nobody);
        ASSERT_EQ(report.status, run::Status::success) << report.message;
        ASSERT_EQ(report.events.size(), 1u);
        EXPECT_NEAR(report.events[0].t, release, std::max(1e-4, 1e3 * rtol) * release);
      }
}

TEST(Limits, MistakesAreRefused) {
  const auto said = [](const std::string& initial, const std::string& limits) {
    return refusal(on_rail(initial, limits));
  };
  EXPECT_NE(said("{}", "{}").find("neither \"from\" nor \"to\""), std::string::npos);
  EXPECT_NE(said("{}", R"({"from": 1, "to": -1})").find("goes from 1 to -1"), std::string::npos);
  EXPECT_NE(said("{}", R"({"from": -1, "stiffness": 10, "restitution": 0.5})").find("rigid"), std::string::npos);
  EXPECT_NE(said("{}", R"({"from": -1, "damping": 10})").find("no \"stiffness\""), std::string::npos);
  EXPECT_NE(said("{}", R"({"from_deg": -1})").find("not an angle"), std::string::npos);
  EXPECT_NE(said("{}", R"({"from": -1, "restitution": 1.5})").find("restitution"), std::string::npos);
  const std::string beyond = said(R"({"value": -0.25})", R"({"from": 0})");
  EXPECT_NE(beyond.find("'rail' starts at -0.25, beyond its lower limit 0"), std::string::npos) << beyond;
}

}  // namespace
