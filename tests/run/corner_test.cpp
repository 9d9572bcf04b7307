// Corners that are known in advance: nothing is stepped over, and no order is lost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "multibody/assembly.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;
using multibody::Assembly;
using multibody::Expression;
using multibody::Interpolation;
using multibody::Signal;
using run::Status;
using Table = std::vector<std::pair<double, double>>;

struct Seen final : run::Observer {
  std::vector<method::Entry> points;
  bool accept(const run::Point& point) override {
    points.push_back(point.entry);
    return state.empty();
  }
  bool wants_checkpoint() override { return ++asked == keep_at; }
  void checkpoint(std::string_view bytes) override { state = bytes; }
  long asked = 0, keep_at = -1;
  std::string state;
};

Signal formula(std::string_view text) { return Signal(Expression(text)); }

multibody::ForcePtr push(const Signal& along_x) {
  multibody::ForceSpec spec;
  spec.name = "push";
  spec.bodies = {0};
  spec.frames.resize(1);
  spec.vector_signals["force"] = {along_x, Signal(), Signal()};
  return multibody::find_force("applied").build(spec);
}

/// One kilogram, free, with a force along x.
std::shared_ptr<Assembly> pushed(const Signal& force, lie::GroupId group = lie::GroupId::r3xso3) {
  multibody::Mechanism mechanism;
  mechanism.group = group;
  mechanism.bodies.push_back({.name = "b", .shapes = {}});
  mechanism.forces.push_back(push(force));
  return std::make_shared<Assembly>(std::move(mechanism));
}

run::Options with_method(const std::string& method, double step = 0.0, int order = 0) {
  run::Options options;
  options.method = method;
  options.step = step;
  options.order = order;
  return options;
}

struct Outcome {
  run::Report report;
  Seen seen;
};

Outcome integrate(const system::System& system, system::Start start, const run::Options& options) {
  Outcome out;
  out.report = run::integrate(system, start, options, out.seen);
  EXPECT_EQ(out.report.status, Status::success) << out.report.message;
  return out;
}

/// ∫ f, ∬ f from 0 to t by Gauss' rule of order 6 between the given times.
std::array<double, 2> integrals(const Signal& f, std::vector<double> times) {
  constexpr double node[] = {0.11270166537925831, 0.5, 0.88729833462074169}, weight[] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
  double once = 0.0, moment = 0.0;
  const double end = times.back();
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const double h = times[i + 1] - times[i];
    for (int g = 0; g < 3; ++g) {
      const double t = times[i] + h * node[g];
      once += h * weight[g] * f.at(t).value;
      moment += h * weight[g] * (end - t) * f.at(t).value;
    }
  }
  return {once, moment};
}

const std::vector<std::string> adaptive_methods{"bliedf", "generalized-alpha", "projected-bdf", "rkmk"};
const Table triangle{{0, 0}, {1, 0}, {1.005, 200}, {1.01, 0}, {2, 0}};
const Table rectangle{{0, 0}, {1, 0}, {1, 100}, {1.01, 100}, {1.01, 0}, {2, 0}};

TEST(Corners, APulseInATableIsNotSteppedOver) {
  const std::map<std::string, Signal> pulses{{"triangle", Signal(triangle, Interpolation::linear)},
                                             {"rectangle", Signal(rectangle, Interpolation::linear)},
                                             {"monotone", Signal(triangle, Interpolation::monotone)},
                                             {"spline", Signal(triangle, Interpolation::spline)}};
  for (const auto& [name, pulse] : pulses)
    for (const std::string& method : adaptive_methods)
      for (const double tolerance : {1e-4, 1e-6, 1e-9}) {
        const auto system = pushed(pulse);
        run::Options options = with_method(method);
        options.rtol = tolerance;
        options.atol = 0.01 * tolerance;
        const run::Report report = integrate(*system, system->start(2.0), options).report;
        const auto [v, x] = integrals(pulse, {0, 1, 1.005, 1.01, 2});
        const std::string what = fmt::format("{} {} {}", name, method, tolerance);
        EXPECT_NEAR(report.final.motion.v[0], v, 200 * tolerance * std::abs(v)) << what;
        EXPECT_NEAR(report.final.motion.q[0], x, 200 * tolerance * std::abs(x)) << what;
        EXPECT_LE(report.counters.steps, method == "generalized-alpha" ? 400 / std::sqrt(tolerance) : 400) << what;
      }
}

/// Impulses of 1 N s at 0.5 s and 0.3 N s at 1.5 s on 1 kg, a thousandth and a ten-thousandth of a second wide.
TEST(Corners, NarrowPeaksOfSmoothFormulasAreNotSteppedOver) {
  const Signal peaks = formula("(exp(-((t - 0.5)/1e-3)^2) + 3*exp(-((t - 1.5)/1e-4)^2))/(1e-3*sqrt(pi))");
  for (const std::string method : {"bliedf", "generalized-alpha", "projected-bdf", "rkmk", "radau"})
    for (const double tolerance : {1e-4, 1e-6}) {
      const auto system = pushed(peaks);
      run::Options options = with_method(method);
      options.rtol = tolerance;
      options.atol = 0.01 * tolerance;
      const run::Report report = integrate(*system, system->start(2.0), options).report;
      EXPECT_NEAR(report.final.motion.v[0], 1.3, 200 * tolerance) << method << ' ' << tolerance;
      EXPECT_NEAR(report.final.motion.q[0], 1.65, 200 * tolerance) << method << ' ' << tolerance;
    }
}

TEST(Corners, ATrainOfPulsesInAFormulaIsFollowed) {
  const Signal square = formula("sign(sin(50*t))");
  std::vector<double> times{0.0};
  while (times.back() + M_PI / 50 < 2.0) times.push_back(times.back() + M_PI / 50);
  times.push_back(2.0);
  const auto [v, x] = integrals(square, times);
  for (const lie::GroupId group : {lie::GroupId::r3xso3, lie::GroupId::se3})
    for (const std::string& method : adaptive_methods) {
      const auto system = pushed(square, group);
      run::Options options = with_method(method);
      options.rtol = options.atol = 1e-8;
      const run::Report report = integrate(*system, system->start(2.0), options).report;
      EXPECT_EQ(report.corners, 31) << method;
      EXPECT_NEAR(report.final.motion.v[0], v, 1e-7) << method;
      EXPECT_NEAR(report.final.motion.q[0], x, 1e-7) << method;
    }
}

TEST(Corners, ConstantStepsAreEqualBetweenThem) {
  const auto system = pushed(Signal(rectangle, Interpolation::linear));
  for (const auto& [method, order] : std::map<std::string, int>{{"bliedf", 4},
                                                                {"mkbdf", 3},
                                                                {"generalized-alpha", 2},
                                                                {"mkam", 3},
                                                                {"crouch-grossman", 3},
                                                                {"commutator-free", 4},
                                                                {"rkmk", 5}}) {
    const Outcome out = integrate(*system, system->start(2.0), with_method(method, 0.03, order));
    EXPECT_NEAR(out.report.final.motion.v[0], 1.0, 1e-9) << method;
    EXPECT_NEAR(out.report.final.motion.q[0], 0.995, 1e-9) << method;
    EXPECT_EQ(out.report.corners, 2) << method;
    EXPECT_EQ(out.report.counters.steps, 34 + 1 + 33) << method;
    for (std::size_t i = 1; i < out.seen.points.size(); ++i) {
      const double t = out.seen.points[i].motion.t, h = t - out.seen.points[i - 1].motion.t;
      if (h < 1e-14) continue;  // the other side of the jump
      EXPECT_NEAR(h, t < 1.0 + 1e-12 ? 1.0 / 34 : t < 1.01 + 1e-12 ? 0.01 : 0.99 / 33, 1e-12) << method << " at " << t;
    }
  }
}

TEST(Corners, TooManyForConstantStepsAreGoneOverWithAWarning) {
  const auto system = pushed(formula("sign(sin(50*t))"));
  const run::Report report = integrate(*system, system->start(2.0), with_method("bliedf", 0.02, 4)).report;
  EXPECT_EQ(report.corners, 0);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("have corners (the first at t = 0.06283185307) that the constant steps cross"),
            std::string::npos);
  run::Options given = with_method("bliedf");
  given.steps = run::Alternation{0.01, 1.5};
  ASSERT_EQ(integrate(*system, system->start(2.0), given).report.warnings.size(), 1u);
}

// ---- a pendulum, and its equation in the angle

constexpr double length = 0.8, mass = 1.3, moment = 0.2, gravity = 9.81, first_angle = 0.4, first_rate = 0.7;

std::shared_ptr<Assembly> pendulum(const Signal& force, lie::GroupId group = lie::GroupId::r3xso3) {
  multibody::Mechanism mechanism;
  mechanism.group = group;
  mechanism.gravity = Vector3(0, -gravity, 0);
  const Vector3 centre(length * std::sin(first_angle), -length * std::cos(first_angle), 0);
  const Vector3 velocity = first_rate * Vector3::UnitZ().cross(centre);
  mechanism.bodies.push_back({.name = "rod",
                              .mass = mass,
                              .inertia = Vector3(moment, 0.1, moment).asDiagonal(),
                              .position = centre,
                              .rotation = Eigen::AngleAxisd(first_angle, Vector3::UnitZ()).toRotationMatrix(),
                              .velocity = velocity,
                              .angular_velocity = Vector3(0, 0, first_rate),
                              .shapes = {}});
  multibody::JointSpec hinge;
  hinge.name = "hinge";
  hinge.bodies = {multibody::ground, 0};
  hinge.frames.resize(2);
  hinge.frames[1].p = Vector3(0, length, 0);
  mechanism.joints.push_back(make_joint(multibody::find_joint("revolute", false), hinge));
  mechanism.forces.push_back(push(force));
  return std::make_shared<Assembly>(std::move(mechanism));
}

struct Swing {
  double angle, rate;
  Vector3 reaction;  ///< on the rod
};

/// (J + m l²) θ̈ = -m g l sin θ + F l cos θ by the classical Runge-Kutta method, in so many steps between the corners.
Swing exact_swing(const Signal& force, const std::vector<double>& times, int steps = 4000) {
  const double I = moment + mass * length * length;
  const auto curve = [&](double f, double angle) {
    return (-mass * gravity * length * std::sin(angle) + f * length * std::cos(angle)) / I;
  };
  double x = first_angle, v = first_rate, last = 0.0;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const double h = (times[i + 1] - times[i]) / steps;
    for (int n = 0; n < steps; ++n) {
      // The force is taken within the interval, where it is smooth.
      const double inside = 1e-13, t = times[i] + n * h;
      const double f0 = force.at(t + inside).value, f1 = force.at(t + 0.5 * h).value,
                   f2 = force.at(t + h - inside).value;
      const double k1 = curve(f0, x), k2 = curve(f1, x + 0.5 * h * v),
                   k3 = curve(f1, x + 0.5 * h * v + 0.25 * h * h * k1), k4 = curve(f2, x + h * v + 0.5 * h * h * k2);
      x += h * v + h * h * (k1 + k2 + k3) / 6.0;
      v += h * (k1 + 2 * k2 + 2 * k3 + k4) / 6.0;
      last = f2;
    }
  }
  const double a = curve(last, x), s = std::sin(x), c = std::cos(x);
  return {x, v,
          Vector3(mass * length * (a * c - v * v * s) - last, mass * length * (a * s + v * v * c) + mass * gravity, 0)};
}

struct Errors {
  double q, v, lambda;
};

Errors errors_at_end(const Assembly& system, const run::Report& report, const Swing& exact) {
  const lie::Motion& m = report.final.motion;
  return {(system.body_pose(0, m.q).x - length * Vector3(std::sin(exact.angle), -std::cos(exact.angle), 0)).norm(),
          std::abs(m.v[5] - exact.rate), (system.reaction(0, m, report.final.lambda).force - exact.reaction).norm()};
}

TEST(Corners, KeepTheOrderOfPositionVelocityAndMultipliers) {
  const double corner = 0.371234;
  const std::map<std::string, Signal> forces{{"slope", formula("40*abs(t - 0.371234)")},
                                             {"value", formula("10*sign(t - 0.371234)")},
                                             {"ramp", formula("60*max(0, t - 0.371234)*cos(3*t)")}};
  struct Case {
    const char* method;
    int order;
    double step;
  };
  for (const auto& [name, force] : forces) {
    const std::map<double, Swing> exact{{0.6, exact_swing(force, {0, corner, 0.6})},
                                        {0.8, exact_swing(force, {0, corner, 0.8})},
                                        {1.0, exact_swing(force, {0, corner, 1.0})}};
    for (const auto& [method, order, step] :
         {Case{"bliedf", 2, 0.01}, Case{"bliedf", 4, 0.01}, Case{"bliedf", 6, 0.008}, Case{"mkbdf", 3, 0.01},
          Case{"generalized-alpha", 2, 0.01}, Case{"rkmk", 5, 0.025}})
      for (const lie::GroupId group : {lie::GroupId::r3xso3, lie::GroupId::se3}) {
        const auto system = pendulum(force, group);
        std::vector<Errors> errors;
        std::vector<double> counts;
        for (const double h : {step, step / 2, step / 4}) {
          Errors largest{};
          counts.push_back(0.0);
          for (const auto& [t_end, swing] : exact) {
            run::Options options = with_method(method, h, order);
            options.newton_tolerance = 1e-13;
            const run::Report report = integrate(*system, system->start(t_end), options).report;
            const Errors e = errors_at_end(*system, report, swing);
            counts.back() = static_cast<double>(report.counters.steps);
            largest = {std::max(largest.q, e.q), std::max(largest.v, e.v), std::max(largest.lambda, e.lambda)};
          }
          errors.push_back(largest);
        }
        const std::string what = fmt::format("{} {} {}", name, method, order);
        for (const auto part : {&Errors::q, &Errors::v, &Errors::lambda}) {
          if (errors[2].*part < 5e-10) continue;  // round-off of λ
          EXPECT_GT(std::log(errors[0].*part / errors[2].*part) / std::log(counts[2] / counts[0]), order - 0.35)
              << what << " " << errors[0].*part << " " << errors[1].*part << " " << errors[2].*part;
        }
      }
  }
}

TEST(Corners, UnderErrorControlLeaveTheToleranceInPositionAndVelocity) {
  const std::map<std::string, std::pair<Signal, std::vector<double>>> forces{
      {"slope", {formula("40*abs(t - 0.371234)"), {0, 0.371234, 1}}},
      {"jump", {formula("10*sign(t - 0.371234)"), {0, 0.371234, 1}}},
      {"curvature", {formula("300*max(0, t - 0.371234)^2"), {0, 0.371234, 1}}},
      {"pulse",
       {Signal(Table{{0, 0}, {0.5, 0}, {0.502, 300}, {0.504, 0}, {1, 0}}, Interpolation::linear),
        {0, 0.5, 0.502, 0.504, 1}}}};
  for (const auto& [name, force] : forces) {
    const Swing exact = exact_swing(force.first, force.second);
    for (const std::string& method : adaptive_methods) {
      const auto system = pendulum(force.first);
      run::Options options = with_method(method);
      options.rtol = options.atol = 1e-7;
      const Errors errors = errors_at_end(*system, integrate(*system, system->start(1.0), options).report, exact);
      // Global errors of one step after the other.
      EXPECT_LT(errors.q, 2e-5) << name << " " << method;
      EXPECT_LT(errors.v, 2e-5) << name << " " << method;
    }
  }
}

TEST(Corners, OfMeasuredDataCostLittleMoreThanTheSmoothFunction) {
  Table table;
  for (int i = 0; i <= 20'000; ++i) table.push_back({5e-4 * i, 5 * std::sin(1.5e-3 * i) + 2 * std::cos(3.5e-3 * i)});
  for (const std::string& method : {"bliedf", "generalized-alpha", "rkmk"}) {
    const auto smooth = pendulum(formula("5*sin(3*t) + 2*cos(7*t)"));
    run::Options options = with_method(method);
    const Outcome expected = integrate(*smooth, smooth->start(10.0), options);
    for (const Interpolation interpolation : {Interpolation::linear, Interpolation::monotone, Interpolation::spline}) {
      const auto system = pendulum(Signal(table, interpolation));
      const Outcome out = integrate(*system, system->start(10.0), options);
      EXPECT_LE(out.report.counters.steps, 1.3 * expected.report.counters.steps)
          << method << " " << static_cast<int>(interpolation);
      EXPECT_LE(out.report.corners, 2);
      EXPECT_NEAR(out.report.final.motion.v[5], expected.report.final.motion.v[5], 1e-3);
    }
  }
}

TEST(Corners, OfATableOfRoughDataCostAFewStepsEach) {
  Table table;
  unsigned random = 1;
  for (int i = 0; i <= 1000; ++i)
    table.push_back({1e-3 * i, 20.0 * ((random = random * 1664525u + 1013904223u) / 4294967296.0 - 0.5)});
  const Signal force(table, Interpolation::linear);
  std::vector<double> times;
  for (const auto& [t, value] : table) times.push_back(t);
  const Swing exact = exact_swing(force, times, 10);
  for (const std::string& method : {"bliedf", "generalized-alpha", "rkmk"}) {
    const auto system = pendulum(force);
    const run::Report report = integrate(*system, system->start(1.0), with_method(method)).report;
    const Errors errors = errors_at_end(*system, report, exact);
    EXPECT_LT(errors.q, 1e-4) << method;
    EXPECT_LT(errors.v, 1e-4) << method;
    EXPECT_LT(report.counters.steps + report.counters.rejected_steps, method == "rkmk" ? 2'000 : 18'000) << method;
  }
}

TEST(Corners, WithEqualTimesUpToRoundOffAreOne) {
  multibody::Mechanism mechanism;
  mechanism.bodies.push_back({.name = "b", .shapes = {}});
  mechanism.forces.push_back(push(formula("sign(sin(10*pi*t))")));
  mechanism.forces.push_back(push(formula("abs(t - 0.3)")));
  mechanism.forces.push_back(push(formula("sign(t*t - 0.09)")));
  const Assembly system(std::move(mechanism));
  for (const std::string& method : adaptive_methods) {
    const run::Report report = integrate(system, system.start(0.35), with_method(method)).report;
    EXPECT_EQ(report.corners, 3) << method;
    EXPECT_NEAR(report.final.motion.v[0], 0.05 + (0.09 + 0.0025) / 2 - 0.25, 1e-5) << method;
  }
}

TEST(Corners, AreFoundWhereverTimeBegins) {
  for (const double t0 : {-3.0, 1e3, 1e6}) {
    const Signal pulse(Table{{t0, 0}, {t0 + 1, 0}, {t0 + 1, 100}, {t0 + 1.01, 100}, {t0 + 1.01, 0}, {t0 + 2, 0}},
                       Interpolation::linear);
    const auto system = pushed(pulse);
    system::Start start = system->start(t0 + 2);
    start.t0 = t0;
    const double width = (t0 + 1.01) - (t0 + 1);
    for (const std::string& method : adaptive_methods)
      EXPECT_NEAR(integrate(*system, start, with_method(method)).report.final.motion.v[0], 100 * width, 1e-5)
          << method << " " << t0;
  }
}

TEST(Corners, OfADriverWhoseAccelerationJumpsLeaveItsForceRight) {
  const Table table{{0, 0}, {0.4, 0.1}, {0.9, 0.7}, {1.0, 0.75}, {2.0, 1.5}};
  const Signal path(table, Interpolation::monotone, multibody::Outside::straight);
  multibody::Mechanism mechanism;
  mechanism.bodies.push_back(
      {.name = "slide", .mass = 2.0, .velocity = Vector3(path.at(0.0).rate, 0, 0), .shapes = {}});
  multibody::JointSpec guide;
  guide.name = "guide";
  guide.bodies = {multibody::ground, 0};
  guide.frames.resize(2);
  for (multibody::Frame& frame : guide.frames) frame.E = multibody::axes_along(Vector3::UnitX());
  mechanism.joints.push_back(make_joint(multibody::find_joint("prismatic", false), guide));
  guide.name = "drive";
  guide.value = path;
  mechanism.joints.push_back(make_joint(multibody::find_joint("position", true), guide));
  const Assembly system(std::move(mechanism));
  for (const std::string& method : {"bliedf", "generalized-alpha", "rkmk"})
    for (const double step : {0.0, 0.005}) {
      const Outcome out = integrate(system, system.start(1.5), with_method(method, step));
      EXPECT_EQ(out.report.corners, 3) << method;
      int looked_at = 0;
      for (const method::Entry& e : out.seen.points) {
        const double t = e.motion.t;
        EXPECT_NEAR(e.motion.q[0], path.at(t).value, 1e-6) << method << " at " << t;
        EXPECT_NEAR(e.motion.v[0], path.at(t).rate, 1e-5) << method << " at " << t;
        // Starts of order 1 know λ to the root of the tolerance.
        EXPECT_NEAR(system.reaction(1, e.motion, e.lambda).force[0], 2.0 * path.at(t).curve, 0.02 * 12.0)
            << method << " " << step << " at " << t;
        ++looked_at;
      }
      EXPECT_GT(looked_at, 20);
    }
}

// ---- with events, checkpoints, output

TEST(Corners, EventsAtACornerHappenOnce) {
  const auto system = pushed(formula("100*(sign(t - 1) - sign(t - 1.01))/2"));
  for (const auto action : {system::Action{system::Record{}},
                            system::Action{system::Jump{[](double, Vector&, Vector& v) { v[1] += 1.0; }}}})
    for (const double step : {0.0, 0.02})
      for (const std::string& method : {"bliedf", "rkmk"}) {
        run::Options options = with_method(method, step);
        options.events = {
            {"at the jump", [](double t, const Vector&, const Vector&, const Vector&) { return t - 1.0; },
             system::Direction::either, action},
            {"after it", [](double t, const Vector&, const Vector&, const Vector&) { return t - 1.005; }}};
        const run::Report report = integrate(*system, system->start(2.0), options).report;
        ASSERT_EQ(report.events.size(), 2u) << method << " " << step;
        EXPECT_NEAR(report.events[0].t, 1.0, 1e-14);
        EXPECT_NEAR(report.events[1].t, 1.005, 1e-12);
        EXPECT_NEAR(report.final.motion.v[0], 1.0, 1e-5) << method << " " << step;
        EXPECT_NEAR(report.final.motion.v[1], action.index() == 0 ? 0.0 : 1.0, 1e-14) << method << " " << step;
      }
}

TEST(Corners, AReactionThatJumpsWithTheForceIsAnEvent) {
  const auto system = pendulum(formula("50*sign(t - 0.5)"));
  for (const std::string& method : {"bliedf", "rkmk"}) {
    run::Options options = with_method(method);
    // Without the jump it would stay away from the limit.
    options.events = {{"load", [&](double, const Vector& q, const Vector& v, const Vector& lambda) {
                         lie::Motion m(system->space());
                         m.q = q, m.v = v;
                         return system->reaction(0, m, lambda).force[0];
                       }}};
    const run::Report report = integrate(*system, system->start(0.6), options).report;
    ASSERT_EQ(report.events.size(), 1u) << method;
    EXPECT_NEAR(report.events[0].t, 0.5, 1e-14);
  }
}

TEST(Corners, ResumedRunsHaveTheSameBits) {
  for (const double step : {0.0, 0.01})
    for (const std::string& method : {"bliedf", "generalized-alpha", "rkmk"}) {
      const auto system =
          pendulum(Signal(Table{{0, 0}, {0.5, 0}, {0.5, 9}, {0.6, 20}, {0.7, 0}, {1, 0}}, Interpolation::linear));
      const run::Options options = with_method(method, step);
      Seen whole;
      const run::Report expected = run::integrate(*system, system->start(1.0), options, whole);
      ASSERT_EQ(expected.status, Status::success) << expected.message;
      EXPECT_EQ(expected.corners, method == "rkmk" && step == 0.0 ? 1 : 3);
      for (long keep_at = 1; keep_at < expected.counters.steps - 20; keep_at += step == 0.0 ? 7 : 1) {
        Seen first, second;
        first.keep_at = keep_at;
        static_cast<void>(run::integrate(*system, system->start(1.0), options, first));
        if (first.state.empty()) break;
        const run::Report resumed = run::integrate(*system, system->start(1.0), options, second, first.state);
        ASSERT_EQ(resumed.corners, expected.corners);
        ASSERT_EQ(resumed.counters.steps, expected.counters.steps);
        ASSERT_EQ(resumed.final.motion.q, expected.final.motion.q) << method << " " << keep_at;
        ASSERT_EQ(resumed.final.lambda, expected.final.lambda);
      }
    }
}

TEST(Corners, InterpolatedPointsDoNotMixTheSides) {
  const Signal ramp = formula("30*max(0, t - 0.5)");
  const auto system = pushed(ramp);
  for (const std::string& method : adaptive_methods) {
    run::Options options = with_method(method);
    options.rtol = options.atol = 1e-8;
    for (int i = 1; i < 100; ++i) options.output_times.push_back(0.01 * i);
    for (const method::Entry& e : integrate(*system, system->start(1.0), options).seen.points) {
      const double s = std::max(0.0, e.motion.t - 0.5);
      EXPECT_NEAR(e.motion.v[0], 15 * s * s, 1e-6) << method << " at " << e.motion.t;
      EXPECT_NEAR(e.motion.q[0], 5 * s * s * s, 1e-6) << method << " at " << e.motion.t;
    }
  }
}

// ---- told by own systems and by options

system::SystemFunctions own_push() {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double t, const Vector&, const Vector&) -> Vector {
    return Vector::Constant(1, t >= 1.0 && t < 1.01 ? -100.0 : 0.0);
  };
  return f;
}

TEST(Corners, OfOwnSystemsAreTold) {
  const system::Start start{0.0, 2.0, Vector::Zero(1), Vector::Zero(1)};
  system::SystemFunctions listed = own_push(), computed = own_push();
  listed.corners = {{1.01, -1}, {1.0, -1}};
  computed.next_corner = [](double t) -> system::Corner {
    if (t < 1.0) return {1.0, -1};
    if (t < 1.01) return {1.01, -1};
    return {};
  };
  run::Options asked;
  asked.corners = {1.0, 1.01};
  for (const std::string& method : adaptive_methods) {
    asked.method = method;
    EXPECT_NEAR(integrate(system::FunctionSystem(listed), start, with_method(method)).report.final.motion.v[0], 1.0,
                1e-5)
        << method;
    EXPECT_NEAR(integrate(system::FunctionSystem(computed), start, with_method(method)).report.final.motion.v[0], 1.0,
                1e-5)
        << method;
    EXPECT_NEAR(integrate(system::FunctionSystem(own_push()), start, asked).report.final.motion.v[0], 1.0, 1e-5)
        << method;
  }
}

TEST(Corners, ThatAreNoTimesAreRefused) {
  const system::Start start{0.0, 2.0, Vector::Zero(1), Vector::Zero(1)};
  run::Options options;
  options.corners = {1.0, std::numeric_limits<double>::quiet_NaN()};
  Seen seen;
  EXPECT_THROW(static_cast<void>(run::integrate(system::FunctionSystem(own_push()), start, options, seen)),
               InvalidInput);
  system::SystemFunctions f = own_push();
  f.corners = {{std::numeric_limits<double>::infinity(), 0}};
  EXPECT_THROW(system::FunctionSystem{f}, InvalidInput);
}

}  // namespace
