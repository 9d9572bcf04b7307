// Inputs that are set while a run goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "io/model_file/model_file.hpp"
#include "kreisel/error.hpp"
#include "kreisel/mechanism.hpp"
#include "kreisel/simulation.hpp"
#include "kreisel/solution.hpp"
#include "solve/kkt.hpp"

namespace {

using namespace kreisel;

constexpr double mass = 2.0, damping = 3.0;

/// A mass on a rail with a force u - c v, and a filter of first order of u.
const char* const rail = R"json({ "name": "rail", "gravity": [0, 0, 0],
  "inputs": { "u": {"value": 0, "unit": "N"}, "other": 1 },
  "bodies": [ {"name": "cart", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 0]} ],
  "joints": [ {"name": "rail", "type": "prismatic", "between": ["ground", "cart"], "at": [0, 0, 0], "axis": [1, 0, 0]} ],
  "outputs": { "way": {"displacement": "rail"}, "power": "=u*way'", "wish": "=u" },
  "states": { "slow": {"rate": "=5*(u - slow)", "initial": 0} },
  "forces": [ {"name": "motor", "type": "force", "joint": "rail", "value": "=u - 3*v + 0*other"} ],
  "events": [ {"name": "strong", "when": "=u - 3.5"} ],
  "simulation": {"t_end": 100} })json";

models::Model model_of(const char* text, const std::string& group = "") {
  return io::read_model(io::JsonSource("model", text), {.group = group}).model;
}

run::Problem problem_of(const char* text, const std::string& group = "", double t0 = 0.0) {
  models::Model model = model_of(text, group);
  run::Problem problem{model.system, model.start};
  problem.start.t0 += t0;
  problem.start.t_end += t0;
  return problem;
}

run::Options options_of(const std::string& method, double rtol = 1e-8) {
  run::Options options;
  if (!method.empty()) options.method = method;
  options.rtol = options.atol = rtol;
  return options;
}

/// m ẍ = u - c ẋ and ż = 5 (u - z) with a constant u.
struct Exact {
  double x = 0.0, v = 0.0, z = 0.0;

  void go(double u, double h) {
    const double e = std::exp(-damping * h / mass), end = u / damping;
    x += end * h + (v - end) * mass / damping * (1.0 - e);
    v = end + (v - end) * e;
    z = u + (z - u) * std::exp(-5.0 * h);
  }
};

double sample(int k) { return 4.0 * std::sin(0.7 * k) - 0.5; }

struct Way {
  const char* name;
  const char* method;
  const char* group;
  double t0;
};

class SetInput : public testing::TestWithParam<Way> {};

TEST_P(SetInput, IsAConstantUntilItIsSetAgain) {
  const Way& way = GetParam();
  const double rtol = way.method == std::string("generalized-alpha") ? 1e-6 : 1e-8;
  run::Simulation sim(problem_of(rail, way.group, way.t0), options_of(way.method, rtol));
  Exact exact;
  double t = way.t0;
  for (int k = 0; k < 20; ++k) {
    const double h = k % 3 == 0 ? 0.05 : 0.013;
    sim.set("u", sample(k));
    EXPECT_EQ(sim.input("u"), sample(k));
    EXPECT_NEAR(sim.output("way'"), exact.v, 30.0 * rtol);
    t += h;
    ASSERT_EQ(sim.advance_to(t), run::Status::success) << sim.report().message;
    exact.go(sample(k), h);
    EXPECT_EQ(sim.time(), t);
    EXPECT_NEAR(sim.output("way"), exact.x, 30.0 * rtol) << way.name << " at sample " << k;
    EXPECT_NEAR(sim.output("way'"), exact.v, 30.0 * rtol) << way.name << " at sample " << k;
    EXPECT_NEAR(sim.output("slow"), exact.z, 30.0 * rtol) << way.name << " at sample " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, SetInput,
                         testing::Values(Way{"usual", "", "r3xso3", 0.0}, Way{"later", "", "se3", 1000.0},
                                         Way{"bliedf", "bliedf", "se3", 0.0}, Way{"radau", "radau", "r3xso3", 0.0},
                                         Way{"before", "radau", "se3", -0.3}, Way{"rkmk", "rkmk", "r3xso3", 0.0},
                                         Way{"alpha", "generalized-alpha", "r3xso3", 0.0}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Inputs, AControllerCostsOneStepPerSample) {
  constexpr int samples = 1000, first = 20;
  run::Simulation sim(problem_of(rail), options_of("", 1e-6)), free(problem_of(rail), options_of("", 1e-6));
  for (int k = 0; k < first; ++k) {
    sim.set("u", sample(k));
    sim.advance_to(0.001 * (k + 1));
  }
  Counters before;
  Exact exact{sim.output("way"), sim.output("way'"), sim.output("slow")};
  free.set("u", 1.0);
  for (int k = first; k < first + samples; ++k) {
    if (k == first + samples / 10) before = sim.report().counters;  // large jumps at first
    const double u = -20.0 * (sim.output("way") - 0.3) - 4.0 * sim.output("way'");
    sim.set("u", u);
    sim.advance_to(0.001 * (k + 1));
    exact.go(u, 0.001);
    free.advance_to(0.001 * (k + 1));
  }
  const Counters& after = sim.report().counters;
  EXPECT_EQ(sim.report().method, "bliedf");
  EXPECT_LT(after.steps - before.steps, samples - samples / 20) << "some samples take two";
  EXPECT_EQ(after.rejected_steps, before.rejected_steps);
  EXPECT_LT(after.residual_evaluations - before.residual_evaluations, 3 * free.report().counters.residual_evaluations);
  EXPECT_NEAR(sim.output("way"), exact.x, 1e-6);
  EXPECT_NEAR(sim.output("way'"), exact.v, 1e-5);
}

/// Times that a loop of samples adds up, or multiplies, differ by round-off from the ends of constant steps.
TEST(Inputs, AreSetAtTheEndsOfConstantStepsHoweverTimesAreComputed) {
  for (const char* method : {"bliedf", "generalized-alpha", "radau", "rkmk"})
    for (const double h : {5e-4, 1e-3, 1e-2})
      for (const bool adds_up : {false, true}) {
        SCOPED_TRACE(std::string(method) + (adds_up ? " adds up " : " ") + std::to_string(h));
        run::Options options;
        options.method = method;
        options.step = h;
        options.t_end = 5.0;
        run::Simulation sim(problem_of(rail), options);
        Exact exact;
        double t = 0.0;
        const int samples = std::min(1500, static_cast<int>(4.9 / h));
        for (int k = 0; k < samples; ++k) {
          const double u = -20.0 * (sim.output("way") - 0.3) - 4.0 * sim.output("way'");
          sim.set("u", u);
          t = adds_up ? sim.time() + h : h * (k + 1);
          ASSERT_EQ(sim.advance_to(t), run::Status::success) << k << ": " << sim.report().message;
          exact.go(u, h);
        }
        EXPECT_NEAR(sim.time(), samples * h, 1e-9);
        EXPECT_EQ(sim.report().counters.steps, samples) << "one step per sample";
        EXPECT_NEAR(sim.output("way"), exact.x, 10.0 * h * h);
      }
}

TEST(Inputs, AreKnownToTheSimulationAloneThatSetThem) {
  const run::Problem problem = problem_of(rail);
  run::Simulation one(problem, options_of("")), two(problem, options_of(""));
  one.set("u", 6.0);
  one.advance_to(0.5);
  two.advance_to(0.5);
  EXPECT_GT(one.output("way"), 0.1);
  EXPECT_EQ(two.output("way"), 0.0);
  EXPECT_EQ(two.input("u"), 0.0);
  EXPECT_EQ(run::solve(problem,
                       [] {
                         run::Options o = options_of("");
                         o.t_end = 0.5;
                         return o;
                       }())
                .at(0.5)
                .v.norm(),
            0.0);
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InvalidInput& e) {
    return e.what();
  }
  return "";
}

TEST(Inputs, RefuseWhatCannotBeSet) {
  run::Simulation sim(problem_of(rail), options_of(""));
  EXPECT_NE(message_of([&] { sim.set("v", 1.0); }).find("unknown input 'v'"), std::string::npos);
  EXPECT_NE(message_of([&] { sim.set("v", 1.0); }).find("known: u, other"), std::string::npos);
  EXPECT_NE(message_of([&] { sim.set("u", std::nan("")); }).find("finite"), std::string::npos);
  EXPECT_NE(message_of([&] { sim.output("y"); }).find("unknown output 'y'"), std::string::npos);
  EXPECT_NE(message_of([&] { sim.output("wish''"); }).find("wish'"), std::string::npos);
  sim.advance_to(100.0);
  EXPECT_NE(message_of([&] { sim.set("u", 1.0); }).find("has ended"), std::string::npos);
}

TEST(Inputs, OfConstantStepsAreSetWhereOneEnds) {
  run::Options options = options_of("");
  options.step = 0.01;
  run::Simulation sim(problem_of(rail), options);
  Exact exact;
  for (int k = 0; k < 10; ++k) {
    sim.set("u", sample(k));
    sim.advance_to(0.1 * (k + 1));
    exact.go(sample(k), 0.1);
    EXPECT_NEAR(sim.output("way'"), exact.v, 1e-3);
  }
  sim.advance_to(1.005);
  EXPECT_NE(message_of([&] { sim.set("u", 1.0); }).find("within a step"), std::string::npos);
}

TEST(Inputs, AreInTheCheckpointAndGiveTheSameBits) {
  for (const char* method : {"", "bliedf", "radau", "rkmk"}) {
    const run::Problem problem = problem_of(rail);
    run::Simulation whole(problem, options_of(method));
    for (int k = 0; k < 8; ++k) {
      whole.set("u", sample(k));
      whole.advance_to(0.002 * (k + 1));
    }
    whole.set("u", 3.25);
    const std::string bytes = whole.checkpoint();
    run::Simulation rest(problem, options_of(method), bytes);
    EXPECT_EQ(rest.input("u"), 3.25);
    EXPECT_EQ(rest.time(), whole.time());
    for (int k = 8; k < 16; ++k) {
      for (run::Simulation* sim : {&whole, &rest}) {
        if (k > 8) sim->set("u", sample(k));
        sim->advance_to(0.002 * (k + 1));
      }
      EXPECT_EQ(whole.state().q, rest.state().q) << method << " " << k;
      EXPECT_EQ(whole.state().v, rest.state().v) << method << " " << k;
      EXPECT_EQ(whole.state().lambda, rest.state().lambda) << method << " " << k;
    }
    EXPECT_EQ(whole.report().counters.steps, rest.report().counters.steps);
  }
}

TEST(Inputs, AreSeenByEventsAndByAccelerations) {
  run::Simulation sim(problem_of(rail), options_of(""));
  sim.advance_to(0.1);
  EXPECT_NEAR(sim.state().a[0], 0.0, 1e-9);
  sim.set("u", 6.0);
  EXPECT_EQ(sim.input("u"), 6.0);
  EXPECT_NEAR(sim.state().a[0], 0.0, 1e-9);  // as it has arrived
  EXPECT_EQ(sim.output("wish"), 0.0);
  sim.advance_to(0.1 + 1e-6);
  EXPECT_NEAR(sim.state().a[0], 3.0, 1e-4);
  EXPECT_EQ(sim.output("wish"), 6.0);
  sim.advance_to(0.2);
  ASSERT_EQ(sim.report().events.size(), 1u);
  EXPECT_NEAR(sim.report().events[0].t, 0.1, 1e-12);
  run::Simulation at_start(problem_of(rail), options_of(""));
  at_start.set("u", 6.0);
  EXPECT_NEAR(at_start.state().a[0], 3.0, 1e-9);
  EXPECT_EQ(at_start.output("wish"), 6.0);
}

/// An arm of two joints whose angles count their turns, which takes states, and a filter that reads the inputs too.
const char* const arm = R"json({ "name": "arm", "gravity": [0, 0, -9.81],
  "inputs": { "u": 0, "w": 0 },
  "bodies": [ {"name": "upper", "mass": 2, "inertia": [0.2, 0.05, 0.2], "position": [0, 0.5, 0]},
              {"name": "lower", "mass": 1, "inertia": [0.1, 0.02, 0.1], "position": [0, 1.4, 0]} ],
  "joints": [ {"name": "shoulder", "type": "revolute", "between": ["ground", "upper"], "at": [0, 0, 0], "axis": [1, 0, 0]},
              {"name": "elbow", "type": "revolute", "between": ["upper", "lower"], "at": [0, 1, 0], "axis": [1, 0, 0]} ],
  "outputs": { "alpha": {"angle": "shoulder"}, "beta": {"angle": "elbow"} },
  "states": { "slow": {"rate": "=3*(u*w - slow)", "initial": 0} },
  "forces": [ {"name": "m1", "type": "torque", "joint": "shoulder", "value": "=u*cos(alpha) - 2*alpha'"},
              {"name": "m2", "type": "torque", "joint": "elbow", "value": "=w - slow - beta'"},
              {"name": "push", "type": "applied", "on": "lower", "at": [0, 1.8, 0], "force": [0, "=0.3*u", 0]} ],
  "simulation": {"t_end": 100} })json";

/// Both sides of every jump: two points at one time.
class Jumps final : public run::Observer {
 public:
  bool accept(const run::Point& point) override {
    if (!points.empty() && point.entry.motion.t - points.back().motion.t < 1e-12)
      sides.push_back({points.back(), point.entry});
    points.push_back(point.entry);
    return true;
  }
  std::vector<method::Entry> points;
  std::vector<std::array<method::Entry, 2>> sides;
};

TEST(Inputs, AccelerationsAndMultipliersJumpByWhatTheEquationsSay) {
  for (const char* method : {"bliedf", "radau"}) {
    Jumps seen;
    run::Simulation sim(problem_of(arm), options_of(method, 1e-7), &seen);
    std::vector<std::array<double, 2>> values{{0.0, 0.0}};
    for (int k = 0; k < 40; ++k) {
      sim.advance_to(0.01 * (k + 1));
      values.push_back({5.0 + 0.5 * std::sin(0.3 * k), 1.0 + 0.2 * std::cos(0.5 * k)});
      sim.set("u", values.back()[0]);
      sim.set("w", values.back()[1]);
    }
    ASSERT_GT(seen.sides.size(), 30u) << method;
    // The same forces by constants.
    const auto solved = [&](const method::Entry& at, const std::array<double, 2>& inputs, Vector& lambda) {
      std::string text = arm;
      text.replace(text.find("\"u\": 0"), 6, "\"u\": " + fmt::format("{:.17g}", inputs[0]));
      text.replace(text.find("\"w\": 0"), 6, "\"w\": " + fmt::format("{:.17g}", inputs[1]));
      const models::Model model = model_of(text.c_str());
      Counters counters;
      solve::Kkt kkt(*model.system, counters);
      system::Motion m = at.motion;
      lambda = at.lambda;
      EXPECT_TRUE(kkt.accelerate(m, lambda));
      return m;
    };
    int compared = 0;
    for (const auto& [before, behind] : seen.sides) {
      if (before.motion.v.head(12) != behind.motion.v.head(12)) continue;  // it started anew
      const auto k = static_cast<std::size_t>(std::lround(before.motion.t / 0.01));
      Vector lambda_before, lambda_behind;
      const system::Motion was = solved(before, values[k - 1], lambda_before),
                           is = solved(behind, values[k], lambda_behind);
      const Vector jump = (behind.motion.a - before.motion.a).head(12), expected = (is.a - was.a).head(12);
      EXPECT_LT((jump - expected).norm(), 1e-5 * expected.norm() + 1e-9) << method << " at " << before.motion.t;
      const Vector pushes = behind.lambda - before.lambda, wanted = lambda_behind - lambda_before;
      EXPECT_LT((pushes - wanted).norm(), 1e-5 * wanted.norm() + 1e-9) << method << " at " << before.motion.t;
      // The states' own rates.
      EXPECT_NEAR((behind.motion.v - before.motion.v).tail(3).norm(), (is.v - was.v).tail(3).norm(), 1e-5) << method;
      ++compared;
    }
    EXPECT_GT(compared, 20) << method;
  }
}

/// Controllers of several joints read and set in turns.
TEST(Inputs, TheOrderOfReadingAndSettingDoesNotMatter) {
  run::Simulation one(problem_of(rail), options_of("radau")), other(problem_of(rail), options_of("radau"));
  for (int k = 0; k < 30; ++k) {
    const double way = one.output("way"), speed = one.output("way'");
    one.set("u", 1.0 - way);
    one.set("other", speed);
    other.set("u", 1.0 - other.output("way"));
    other.set("other", other.output("way'"));
    for (run::Simulation* sim : {&one, &other}) sim->advance_to(0.01 * (k + 1));
    ASSERT_EQ(one.state().q, other.state().q);
    ASSERT_EQ(one.report().corners, other.report().corners);
  }
}

TEST(Inputs, TwoAtOneTimeMakeOneCorner) {
  run::Simulation sim(problem_of(rail), options_of("radau"));
  sim.advance_to(0.1);
  const int corners = sim.report().corners;
  sim.set("u", 1.0);
  sim.set("other", 2.0);
  sim.set("u", 2.0);
  sim.advance_to(0.2);
  EXPECT_EQ(sim.report().corners, corners + 1);
  EXPECT_EQ(sim.input("u"), 2.0);
  sim.set("u", 2.0);
  sim.advance_to(0.3);
  EXPECT_EQ(sim.report().corners, corners + 1);
}

/// A pulse of one millisecond in a run of ten seconds.
TEST(Inputs, APulseInATableIsNotSteppedOver) {
  std::string text = rail;
  const std::string before = R"("u": {"value": 0, "unit": "N"})";
  text.replace(text.find(before), before.size(),
               R"("u": {"value": {"table": [[0, 0], [5, 0], [5.0005, 1000], [5.001, 0]], "interpolation": "linear"}})");
  run::Problem problem = problem_of(text.c_str());
  run::Options options = options_of("", 1e-6);
  options.t_end = 10.0;
  const run::Solution motion = run::solve(problem, options);
  // The impulse is 0.5 N s: v = 0.25 m/s at once, and x goes to m v/c.
  EXPECT_NEAR(motion.at(10.0).q[0], mass * 0.25 / damping * (1.0 - std::exp(-damping / mass * 4.9995)), 1e-5);
}

// ---- mechanisms in C++

/// The same cart: laws as formulas, or as functions.
Mechanism cart(bool has_functions) {
  Mechanism mechanism("cart");
  mechanism.set_gravity({0, 0, 0});
  const Body body = mechanism.add_body({.name = "cart", .mass = mass, .shapes = {}});
  const int guide = mechanism.add_joint(prismatic({ground, body}, {0, 0, 0}, {1, 0, 0}));
  mechanism.add_parameter("c", damping).add_input("u", 0.0, "N").add_output("way", displacement_of(guide));
  mechanism.add_output("tip", position_of(body, {0.5, 0, 0})).add_output("twice", "2*way + tip.x'", "m");
  if (has_functions) {
    mechanism.add_law("motor", guide,
                      Law([](double, std::span<const double> y) { return y[0] - damping * y[1]; }, {"u", "way'"}));
    mechanism.add_state("slow",
                        Law([](double, std::span<const double> y) { return 5.0 * (y[0] - y[1]); }, {"u", "slow"},
                            [](double, std::span<const double>, int i) { return i == 0 ? 5.0 : -5.0; }));
    mechanism.add_event("far", Law([](double, std::span<const double> y) { return y[0] - 0.2; }, {"way"}),
                        system::Direction::rising);
  } else {
    mechanism.add_law("motor", guide, "u - c*way'").add_state("slow", "5*(u - slow)");
    mechanism.add_event("far", "way - 0.2", system::Direction::rising);
  }
  return mechanism;
}

TEST(Mechanisms, LawsAreFormulasOrFunctionsOfNames) {
  long steps[2] = {0, 0};
  for (const bool has_functions : {false, true}) {
    run::Simulation sim(cart(has_functions).problem({.t_end = 5.0}), options_of("", 1e-8));
    Exact exact;
    for (int k = 0; k < 20; ++k) {
      sim.set("u", 3.0 + sample(k));
      sim.advance_to(0.05 * (k + 1));
      exact.go(3.0 + sample(k), 0.05);
      EXPECT_NEAR(sim.output("way"), exact.x, 3e-7);
      EXPECT_NEAR(sim.output("way'"), exact.v, 3e-7);
      EXPECT_NEAR(sim.output("slow"), exact.z, 3e-7);
      EXPECT_NEAR(sim.output("tip.x"), 0.5 + exact.x, 3e-7);
      EXPECT_NEAR(sim.output("twice"), 2.0 * exact.x + exact.v, 1e-6);
    }
    ASSERT_EQ(sim.report().events.size(), 1u);
    EXPECT_EQ(sim.report().events[0].event, "far");
    EXPECT_NEAR(sim.report().events[0].before.motion.q[0], 0.2, 1e-7);
    steps[has_functions] = sim.report().counters.steps;
  }
  EXPECT_NEAR(static_cast<double>(steps[1]) / static_cast<double>(steps[0]), 1.0, 0.1);
}

TEST(Mechanisms, SayWhatIsWrongWithLaws) {
  Mechanism mechanism = cart(false);
  EXPECT_NE(message_of([&] { mechanism.add_parameter("u", 1.0); }).find("the name 'u' is already in use"),
            std::string::npos);
  EXPECT_NE(message_of([&] { mechanism.add_output("sin", "u"); }).find("'sin'"), std::string::npos);
  EXPECT_NE(message_of([&] { mechanism.add_output("turn", angle_of(3)); }).find("no joint number 3"),
            std::string::npos);
  EXPECT_NE(message_of([&] { cart(false).add_output("turn", angle_of(0)).problem({}); }).find("has no angle"),
            std::string::npos);
  EXPECT_NE(message_of([&] { cart(false).add_law("more", 0, "wey").problem({}); }).find("did you mean 'way'"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { cart(false).add_output("a", "b").add_output("b", "a").problem({}); }).find("algebraic loop"),
      std::string::npos);
}

/// A cart of 2 kg is pushed against a stop, leans on it, and is pulled away by u = -4 N: x = 1 - τ² from then on.
TEST(Inputs, AreSetWhileABodyLeansOnALimit) {
  const char* const stopped = R"json({ "name": "stop", "gravity": [0, 0, 0], "inputs": { "u": 4 },
    "bodies": [ {"name": "cart", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 0]} ],
    "joints": [ {"name": "rail", "type": "prismatic", "between": ["ground", "cart"], "at": [0, 0, 0], "axis": [1, 0, 0],
                 "limits": {"to": 1, "restitution": 0.3}} ],
    "outputs": { "way": {"displacement": "rail"} }, "forces": [ {"type": "force", "joint": "rail", "value": "=u"} ],
    "simulation": {"t_end": 100} })json";
  for (const bool controls_lambda : {false, true}) {
    run::Options options = options_of("", 1e-8);
    options.control_lambda = controls_lambda;
    run::Simulation simulation(problem_of(stopped), options);
    for (int k = 1; k <= 300; ++k) ASSERT_EQ(simulation.advance_to(0.01 * k), run::Status::success);
    EXPECT_NEAR(simulation.output("way"), 1.0, 1e-9);
    simulation.set("u", -4.0);
    for (int k = 1; k <= 50; ++k) ASSERT_EQ(simulation.advance_to(3.0 + 0.01 * k), run::Status::success);
    EXPECT_NEAR(simulation.output("way"), 1.0 - 0.25, 1e-6);
  }
}

}  // namespace
