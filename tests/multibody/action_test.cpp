// Actions of events in model files, couplers, and what is reported of forces that are switched off.
#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/check.hpp"
#include "model_runs.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

/// A mass of 2 kg on a spring k along x, and whatever else.
std::string on_spring(const std::string& more, const std::string& law = "=-k*x") {
  return R"({"parameters": {"k": 8}, "inputs": {"u": 0},
    "bodies": [{"name": "cart", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    "joints": [{"name": "rail", "type": "prismatic", "between": ["ground", "cart"], "at": [0, 0, 0], "axis": [1, 0, 0],
                "initial": {"value": 0.3}}],
    "outputs": {"way": {"displacement": "rail"}, "pull": {"force": "spring"}, "power": "=spring*way'"},
    "forces": [{"name": "spring", "type": "force", "joint": "rail", "value": ")" +
         law + R"("}])" + more + "}";
}

TEST(EventActions, SetChangesAParameterOfALaw) {
  // ω = 2 until x = 0 at π/4, then k = 4·8: ω = 4 with the speed 0.6.
  const std::string event = R"(, "events": [{"name": "stiffen", "when": "=way", "direction": "falling",
                                             "action": {"set": {"k": "=4*k"}}}])";
  for (const char* method : {"bliedf", "radau", "rkmk"}) {
    io::RunSpec spec = spec_of(on_spring(event));
    spec.set("method", std::string(method));
    const double t_end = M_PI / 4 + 0.5;
    const Ran r = ran(spec, t_end, 1e-10);
    ASSERT_EQ(r.report.events.size(), 1u);
    EXPECT_NEAR(r.report.events[0].t, M_PI / 4, 1e-8);
    EXPECT_NEAR(r["way"], -0.6 / 4 * std::sin(4 * 0.5), 1e-7) << method;
    EXPECT_NEAR(r["pull"], 32 * 0.6 / 4 * std::sin(4 * 0.5), 1e-5);
  }
}

TEST(EventActions, SetChangesAnInputOfALaw) {
  const std::string event = R"(, "events": [{"name": "push", "when": "=t - 1", "action": {"set": {"u": "=4 + t"}}}])";
  const Ran r = ran(spec_of(on_spring(event, "=0*k + u + 0*x")), 3.0, 1e-10);
  EXPECT_NEAR(r["way"], 0.3 + 0.5 * 5.0 / 2.0 * 4.0, 1e-7);
}

TEST(EventActions, JumpKeepsTheVelocitiesItNames) {
  // A pendulum of l = 0.5 m is kicked to 3 rad/s: its centre of mass follows.
  const std::string text = R"({
    "bodies": [{"name": "rod", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0.5, 0, 0]}],
    "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "outputs": {"angle": {"angle": "pin"}, "rate": "=angle'", "speed": {"velocity": "rod"}},
    "events": [{"name": "kick", "when": "=t - 1", "action": {"jump": {"rod.angular_velocity": [0, 0, "=2 + t"]}}}]})";
  for (const char* group : {"r3xso3", "se3"}) {
    io::RunSpec spec = spec_of(text);
    spec.group = group;
    const Ran r = ran(spec, 2.0, 1e-10);
    EXPECT_NEAR(r["rate"], 3.0, 1e-9);
    EXPECT_NEAR(r["angle"], 3.0, 1e-8);
    EXPECT_NEAR(r["speed.y"], 1.5 * std::cos(3.0), 1e-8);
  }
}

TEST(EventActions, JumpAgainstAJointFails) {
  std::string text = R"({
    "bodies": [{"name": "rod", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0.5, 0, 0]}],
    "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "events": [{"name": "kick", "when": "=t - 1", "action": {"jump": {"rod.angular_velocity": [1, 0, 2]}}}]})";
  io::RunSpec spec = spec_of(text);
  spec.set("t_end", 2.0);
  const io::PreparedRun prepared = io::prepare(spec);
  run::Observer nobody;
  const run::Report report = run::integrate(*prepared.model.system, prepared.model.start, prepared.options, nobody);
  EXPECT_EQ(report.status, run::Status::event_failed);
  EXPECT_NE(report.message.find("at t = 1 event 'kick' (jump) failed: the constraints do not allow"), std::string::npos)
      << report.message;
}

TEST(EventActions, MistakesAreRefused) {
  const auto said = [](const std::string& action) {
    return refusal(on_spring(R"(, "events": [{"name": "e", "when": "=t - 1", "action": )" + action + "}]"));
  };
  EXPECT_NE(said(R"({"set": {"kk": 1}})").find("kk"), std::string::npos);
  EXPECT_NE(said(R"({"set": {}})").find("sets nothing"), std::string::npos);
  EXPECT_NE(said(R"({"jump": {"cart.speed": [0, 0, 0]}})").find("BODY.velocity"), std::string::npos);
  EXPECT_NE(said(R"({"jump": {"card.velocity": [0, 0, 0]}})").find("cart"), std::string::npos);
  EXPECT_NE(said(R"({"jump": {"cart.velocity": [0, 0]}})").find("three"), std::string::npos);
  std::string heavy = on_spring(R"(, "events": [{"name": "e", "when": "=t - 1", "action": {"set": {"k": 1}}}])");
  heavy.replace(heavy.find("\"mass\": 2"), 9, "\"mass\": \"=k\"");
  EXPECT_NE(refusal(heavy).find("which an event sets"), std::string::npos) << refusal(heavy);
}

TEST(EventActions, ForceThatIsSwitchedOffIsReportedAsZero) {
  const std::string event =
      R"(, "events": [{"name": "release", "when": "=t - 0.5", "action": {"switch": {"off": ["spring"]}}}])";
  io::RunSpec spec = spec_of(on_spring(event));
  spec.set("t_end", 1.0).set("rtol", 1e-8).set("atol", 1e-8);
  const io::PreparedRun prepared = io::prepare(spec);
  run::Observer nobody;
  const run::Report report = run::integrate(*prepared.model.system, prepared.model.start, prepared.options, nobody);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  for (const auto& [system, is_on] :
       {std::pair{report.systems.front(), true}, std::pair{report.systems.back(), false}}) {
    Vector values(system->output_size());
    system->evaluate_outputs(report.final.motion, report.final.lambda, values);
    for (int i = 0; i < 3; ++i)
      if (const std::string& name = system->outputs()[static_cast<std::size_t>(i)].name; name != "way") {
        EXPECT_EQ(values[i] != 0.0, is_on) << name;
      }
  }
}

TEST(Assemble, WhatIsFixedStaysAndTheRestFollows) {
  // Crank and rocker of a four-bar are parallel: C moves as fast as B, 2 m/s at 10 rad/s of the crank.
  const auto text = [](const std::string& fixed) {
    return R"({"bodies": [
      {"name": "crank", "mass": 0.5, "inertia": [0.002, 0.0001, 0.002], "position": [0, 0.1, 0], "angular_velocity": [0, 0, -10]},
      {"name": "coupler", "mass": 1.2, "inertia": [0.0001, 0.029, 0.029], "position": [0.25, 0.3, 0],
       "rotation": {"axis": [0, 0, 1], "angle_deg": 21.80140948635181}},
      {"name": "rocker", "mass": 1.0, "inertia": [0.0133, 0.0001, 0.0133], "position": [0.5, 0.2, 0]}],
    "joints": [
      {"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]},
      {"name": "B", "type": "revolute", "between": ["crank", "coupler"], "at": [0, 0.2, 0], "axis": [0, 0, 1]},
      {"name": "C", "type": "point-on-line", "between": ["coupler", "rocker"], "at": [0.5, 0.4, 0], "axis": [0, 0, 1]},
      {"name": "D", "type": "revolute", "between": ["rocker", "ground"], "at": [0.5, 0, 0], "axis": [0, 0, 1]}],
    "simulation": {"t_end": 1, "assemble": true, "fix": )" +
           fixed + "}}";
  };
  for (const char* fixed :
       {R"("crank.angular_velocity")", R"(["crank.angular_velocity"])",
        R"(["crank.position", "crank.angular_velocity"])", R"("crank.position,crank.angular_velocity")"})
    for (const char* group : {"r3xso3", "se3"}) {
      io::RunSpec spec = spec_of(text(fixed));
      spec.group = group;
      const Vector v = io::prepare(spec).model.start.v0;
      EXPECT_NEAR(v[5], -10.0, 1e-12);
      EXPECT_NEAR(v[0], 1.0, 1e-12);
      EXPECT_NEAR(v.segment<3>(6).norm(), 2.0, 1e-11);
      EXPECT_NEAR(v[11], 0.0, 1e-11);
      EXPECT_NEAR(v[17], -5.0, 1e-11);
    }
  EXPECT_NE(refusal(text(R"("crank.spin")")).find("expected BODY.position"), std::string::npos);
  EXPECT_NE(refusal(text(R"(["crack.velocity"])")).find("did you mean 'crank'"), std::string::npos);
  EXPECT_NE(refusal(text(R"([3])")).find("expected one or more texts"), std::string::npos);
  for (const char* both : {R"("crank.angular_velocity,rocker.angular_velocity")",
                           R"(["crank.angular_velocity", "rocker.angular_velocity"])"})
    EXPECT_NE(refusal(text(both)).find("may be too much"), std::string::npos);
}

TEST(Coupler, GearsTwoPendulums) {
  // Angles a and b = 2a - 0.2 of two rods: (J₁ + 4 J₂) a'' = -m g l (sin a + 2 sin b).
  const double J = 0.05 + 1.0 * 0.16, w = 9.81 * 0.4;
  const std::string text = R"({"gravity": [0, 0, -9.81],
    "bodies": [{"name": "one", "mass": 1, "inertia": [0.05, 0.05, 0.01], "position": [0, 0, -0.4]},
               {"name": "two", "mass": 1, "inertia": [0.05, 0.05, 0.01], "position": [0, 2, -0.4]}],
    "joints": [{"name": "k", "type": "coupler", "joints": ["a", "b"], "ratio": 2, "offset": -0.2},
               {"name": "a", "type": "revolute", "between": ["ground", "one"], "at": [0, 0, 0], "axis": [1, 0, 0],
                "initial": {"value": 0.5, "rate": 8}},
               {"name": "b", "type": "revolute", "between": ["ground", "two"], "at": [0, 2, 0], "axis": [1, 0, 0],
                "initial": {"value": 0.8, "rate": 16}}],
    "outputs": {"first": {"angle": "a"}, "second": {"angle": "b"}}})";
  const auto f = [&](double, const Eigen::Vector2d& y) {
    return Eigen::Vector2d(y[1], -w * (std::sin(y[0]) + 2 * std::sin(2 * y[0] - 0.2)) / (5 * J));
  };
  const Eigen::Vector2d y = minimal(Eigen::Vector2d(0.5, 8.0), 2.0, 20'000, f);
  EXPECT_GT(std::abs(y[0]), 2 * M_PI) << "several turns";
  for (const char* group : {"r3xso3", "se3"}) {
    io::RunSpec spec = spec_of(text);
    spec.group = group;
    const Ran r = ran(spec, 2.0, 1e-10);
    EXPECT_NEAR(r["first"], y[0], 1e-6);
    EXPECT_NEAR(r["second"], 2 * y[0] - 0.2, 1e-6);
    EXPECT_LT(r.report.energy_error, 1e-7);
  }
}

TEST(Coupler, ManyTurnsLeaveNoRoundOff) {
  // Millimetres and tonnes. A wheel of J turns an eccentric arm half as fast: (J + (J₂ + m r²)/4) a'' = T, nine turns and more.
  const double T = 48000, J = 2.5 + 0.25 * (5 + 0.0015 * 60 * 60), t_end = 0.12;
  io::RunSpec spec = spec_of(R"({
    "bodies": [{"name": "wheel", "mass": 0.002, "inertia": [1.5, 2.5, 1.5], "position": [0, 0, 50]},
               {"name": "arm", "mass": 0.0015, "inertia": [5, 5, 0.1], "position": [0, 0, -80]}],
    "joints": [{"name": "a", "type": "revolute", "between": ["ground", "wheel"], "at": [0, 0, 50], "axis": [0, 1, 0]},
               {"name": "b", "type": "revolute", "between": ["ground", "arm"], "at": [0, 0, -20], "axis": [0, 1, 0]},
               {"name": "k", "type": "coupler", "joints": ["a", "b"], "ratio": 0.5}],
    "outputs": {"first": {"angle": "a"}, "second": {"angle": "b"}},
    "forces": [{"name": "motor", "type": "torque", "joint": "a", "value": 48000}]})");
  spec.set("method", std::string("radau"));
  const Ran r = ran(spec, t_end, 1e-10);
  const double turned = T / J * t_end * t_end / 2;
  EXPECT_GT(turned, 9 * 2 * M_PI);
  EXPECT_NEAR(r["first"], turned, 1e-8);
  EXPECT_NEAR(r["second"], turned / 2, 1e-8);
}

TEST(Coupler, DerivativesAndMistakes) {
  const auto text = [](const std::string& joints, const std::string& initial) {
    return R"({"bodies": [{"name": "one", "mass": 1, "inertia": [0.05, 0.05, 0.01], "position": [0, 0, -0.4]},
                          {"name": "two", "mass": 1, "inertia": [0.05, 0.04, 0.01], "position": [0, 1, -0.4]}],
      "joints": [{"name": "a", "type": "revolute", "between": ["ground", "one"], "at": [0, 0, 0], "axis": [1, 0, 0]},
                 {"name": "b", "type": "prismatic", "between": ["one", "two"], "at": [0, 1, 0], "axis": [0, 1, 1],
                  "initial": {"value": )" +
           initial + R"(}},
                 {"name": "k", "type": "coupler", "joints": )" +
           joints + R"(, "ratio": 0.3}]})";
  };
  EXPECT_NE(refusal(text(R"(["a", "c"])", "0")).find("joint 'c'"), std::string::npos)
      << refusal(text(R"(["a", "c"])", "0"));
  EXPECT_NE(refusal(text(R"(["a", "a"])", "0")).find("twice"), std::string::npos);
  EXPECT_NE(refusal(text(R"(["a", "b"])", "0.1")).find("'k': the initial positions miss the joint by 0.1"),
            std::string::npos)
      << refusal(text(R"(["a", "b"])", "0.1"));
  for (const char* group : {"r3xso3", "se3"}) {
    io::RunSpec spec = spec_of(text(R"(["a", "b"])", "0"));
    spec.group = group;
    const models::Model model = io::prepare_model(spec);
    system::Motion m(model.system->space());
    m.q = model.start.q0;
    Vector step = 0.1 * Vector::Random(model.system->space().nv());
    model.system->space().move(model.start.q0, step, m.q);
    m.v = Vector::Random(m.v.size());
    m.a = Vector::Random(m.a.size());
    const Vector lambda = Vector::Random(model.system->pattern().rows());
    for (const system::AuditFinding& finding : system::audit(*model.system, m, lambda))
      EXPECT_TRUE(finding.ok()) << finding.what << " " << finding.error << " at " << finding.where;
  }
}

}  // namespace
