// Events: when they happen, what they do, and that nothing is lost afterwards.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "multibody/assembly.hpp"
#include "run/start_up.hpp"
#include "solve/kkt.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using run::Status;
using system::Direction;
using system::Event;

support::Experiment experiment(const std::string& model,
                               std::vector<std::pair<std::string, std::string>> settings = {}) {
  support::Experiment e;
  e.model = model;
  e.model_settings = std::move(settings);
  return e;
}

run::Options tolerances(double tolerance) {
  run::Options options;
  options.rtol = options.atol = tolerance;
  return options;
}

Event position_event(std::string name, double level, Direction direction) {
  return {std::move(name), [level](double, const Vector& q, const Vector&, const Vector&) { return q[0] - level; },
          direction};
}

run::Options constant_steps(const char* method, int order, double step) {
  run::Options options;
  options.method = method;
  options.order = order;
  options.step = step;
  return options;
}

support::Trajectory oscillate(std::vector<Event> events, run::Options options) {
  options.t_end = 10.0;
  options.events = std::move(events);
  return support::integrate(support::make_model(experiment("oscillator")), options);
}

// ---- when

TEST(EventTimes, AreFoundToTheToleranceWithEveryDirection) {
  run::Options explicit_steps = tolerances(1e-13);
  explicit_steps.method = "rkmk";
  for (const run::Options& options : {explicit_steps, constant_steps("bliedf", 6, 1e-2)}) {
    const auto run =
        oscillate({position_event("down", 0.0, Direction::falling), position_event("up", 0.0, Direction::rising),
                   position_event("both", 0.0, Direction::either)},
                  options);
    ASSERT_EQ(run.report.status, Status::success);
    std::vector<std::string> names;
    for (const run::Occurrence& o : run.report.events) {
      names.push_back(o.event);
      EXPECT_NEAR(std::remainder(o.t - M_PI / 2, M_PI), 0.0, 1e-10) << o.event;
      EXPECT_NEAR(o.before.motion.q[0], 0.0, 1e-14) << "the point shown is the zero";
      EXPECT_EQ(o.action, "record");
    }
    EXPECT_EQ(names, (std::vector<std::string>{"down", "both", "up", "both", "down", "both"}));
  }
}

TEST(EventTimes, ThatABodyTurnsPastManyTimesInAStepAreAllFound) {
  multibody::Mechanism mechanism;
  mechanism.bodies.push_back({.name = "disc",
                              .inertia = Vector3(0.2, 0.2, 0.3).asDiagonal(),
                              .angular_velocity = Vector3(0, 0, 10),
                              .shapes = {}});
  const multibody::Assembly disc(std::move(mechanism));
  run::Options adaptive = tolerances(1e-10);
  adaptive.method = "rkmk";
  run::Options relaxed = adaptive;
  relaxed.rtol = 1e-6;
  for (run::Options options : {adaptive, relaxed, constant_steps("rkmk", 8, 0.8), constant_steps("bliedf", 4, 0.01)}) {
    // R11 = cos 10 t, and a function of time that is faster still.
    options.events = {
        {"turned",
         [](double, const Vector& q, const Vector&, const Vector&) { return 1 - 2 * (q[4] * q[4] + q[5] * q[5]); }},
        {"clock", [](double t, const Vector&, const Vector&, const Vector&) { return std::sin(50 * t + 1); }}};
    run::Observer nothing;
    const run::Report report = run::integrate(disc, disc.start(3.2), options, nothing);
    ASSERT_EQ(report.status, Status::success) << report.message;
    int turned = 0, clock = 0;
    for (const run::Occurrence& o : report.events) {
      const bool is_turn = o.event == "turned";
      (is_turn ? turned : clock) += 1;
      EXPECT_NEAR(std::remainder(is_turn ? 10 * o.t - M_PI_2 : 50 * o.t + 1, M_PI), 0.0, 1e-5) << options.method.name();
    }
    EXPECT_EQ(turned, 10) << options.method.name() << " " << options.step;
    EXPECT_EQ(clock, 51) << options.method.name() << " " << options.step;
  }
}

/// v = -sin t is zero at the start and falls. scipy's solve_ivp counts that as an event, as a zero that is crossed.
TEST(EventTimes, ToLeaveAZeroAtTheStartIsNoEventAndToReturnIsOne) {
  const auto event = [](const char* name, Direction direction) {
    return Event{name, [](double, const Vector&, const Vector& v, const Vector&) { return v[0]; }, direction};
  };
  const std::vector<Event> events{event("falling", Direction::falling), event("rising", Direction::rising),
                                  event("either", Direction::either)};
  for (const double scale : {1.0, 1e-3, 1e3}) {
    std::vector<Event> scaled = events;
    for (Event& e : scaled)
      e.function = [scale](double, const Vector&, const Vector& v, const Vector&) { return scale * v[0]; };
    const auto run = oscillate(scaled, tolerances(1e-9));
    std::map<std::string, std::vector<double>> times;
    for (const run::Occurrence& o : run.report.events) times[o.event].push_back(std::round(o.t / M_PI * 1e6) / 1e6);
    EXPECT_EQ(times["falling"], std::vector<double>{2.0});
    EXPECT_EQ(times["rising"], (std::vector<double>{1.0, 3.0}));
    EXPECT_EQ(times["either"], (std::vector<double>{1.0, 2.0, 3.0}));
    EXPECT_TRUE(run.report.warnings.empty());
  }
}

TEST(EventTimes, AnEventThatIsZeroAtTheStartAndDoesNotReturnIsToldOf) {
  run::Options options = tolerances(1e-6);
  options.t_end = 2.0;
  options.events = {
      position_event("leaves", 1.0, Direction::either),
      position_event("crosses", 0.5, Direction::either),
      {"stays", [](double, const Vector&, const Vector&, const Vector&) { return 0.0; }, Direction::either}};
  const auto run = support::integrate(support::make_model(experiment("oscillator")), options);
  ASSERT_EQ(run.report.events.size(), 1u);
  ASSERT_EQ(run.report.warnings.size(), 2u);
  EXPECT_NE(run.report.warnings[0].find("'leaves' did not happen: its function is zero at the start and falls"),
            std::string::npos)
      << run.report.warnings[0];
  EXPECT_NE(run.report.warnings[1].find("'stays' did not happen: its function is zero at the start, and"),
            std::string::npos)
      << run.report.warnings[1];
}

TEST(EventTimes, OfSeveralEventsInOneStepComeInOrder) {
  const run::Options options = constant_steps("rkmk", 8, 0.5);
  const auto run =
      oscillate({position_event("c", -0.05, Direction::either), position_event("a", 0.15, Direction::either),
                 position_event("b", 0.05, Direction::either)},
                options);
  ASSERT_GE(run.report.events.size(), 3u);
  const std::vector<std::pair<std::string, double>> expected{{"a", 0.15}, {"b", 0.05}, {"c", -0.05}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run.report.events[i].event, expected[i].first);
    EXPECT_NEAR(run.report.events[i].t, std::acos(expected[i].second), 1e-8);
  }
}

TEST(EventTimes, TwoCrossingsWithinOneStepAreNotMissed) {
  // The function is above zero for 0.02 s in steps of 0.1 s, less than the distance of its samples.
  for (const run::Options& options : {constant_steps("bliedf", 6, 0.1), constant_steps("rkmk", 8, 0.1)}) {
    const auto run = oscillate({position_event("peak", std::cos(0.01), Direction::either)}, options);
    ASSERT_EQ(run.report.events.size(), 3u)
        << options.method.name() << ": leaves the start, then in and out around 2 pi";
    EXPECT_NEAR(run.report.events[2].t - run.report.events[1].t, 0.02, 1e-3) << options.method.name();
  }
}

TEST(EventTimes, ASuppliedToleranceIsEnough) {
  run::Options options = tolerances(1e-8);
  options.event_tolerance = 1e-5;
  const auto run = oscillate({position_event("zero", 0.0, Direction::either)}, options);
  ASSERT_EQ(run.report.events.size(), 3u);
  for (const run::Occurrence& o : run.report.events) EXPECT_NEAR(std::remainder(o.t - M_PI / 2, M_PI), 0.0, 1e-5);
}

TEST(EventTimes, FollowTheMethodOnTheGroup) {
  const models::Model model = support::make_model({});
  run::Options fine;
  fine.method = "rkmk";
  fine.rtol = fine.atol = 1e-12;
  fine.t_end = 0.3;
  fine.events = {
      {"attitude", [](double, const Vector& q, const Vector&, const Vector&) { return q[4]; }, Direction::either},
      {"rate", [](double, const Vector&, const Vector& v, const Vector&) { return v[3]; }, Direction::falling},
      {"pull", [](double, const Vector&, const Vector&, const Vector& l) { return l[2]; }, Direction::rising}};
  const auto exact = support::integrate(model, fine);
  ASSERT_GE(exact.report.events.size(), 20u);
  run::Options options = fine;
  options.method = "bliedf";
  options.rtol = options.atol = 1e-9;
  const auto run = support::integrate(model, options);
  ASSERT_EQ(run.report.events.size(), exact.report.events.size());
  for (std::size_t i = 0; i < run.report.events.size(); ++i) {
    EXPECT_EQ(run.report.events[i].event, exact.report.events[i].event);
    EXPECT_NEAR(run.report.events[i].t, exact.report.events[i].t, 1e-6);
  }
}

TEST(TerminalEvent, EndsTheRunAtItsOccurrence) {
  Event event = position_event("zero", 0.0, Direction::either);
  event.terminal_after = 2;
  for (const char* method : {"bliedf", "generalized-alpha", "rkmk"}) {
    run::Options options;
    options.method = method;
    options.step = 1e-3;
    const auto run = oscillate({event}, options);
    EXPECT_EQ(run.report.status, Status::success) << method;
    EXPECT_NEAR(run.report.final.motion.t, 1.5 * M_PI, 1e-5) << method;
    EXPECT_EQ(run.points.back().motion.t, run.report.final.motion.t) << method;
    EXPECT_EQ(run.report.events.size(), 2u);
    EXPECT_TRUE(run.report.events.back().ends_the_run);
    EXPECT_NE(run.report.message.find("event 'zero' ended the run at t = 4.71"), std::string::npos)
        << run.report.message;
  }
}

/// q = cos t until its second zero at 3π/2, where the velocity is doubled: q = 2 sin(t - 3π/2) from there on.
TEST(ActionOfAnEvent, WaitsForTheOccurrenceItNames) {
  Event event = position_event("zero", 0.0, Direction::either);
  event.action = system::Jump{[](double, Vector&, Vector& v) { v *= 2.0; }};
  event.acts_from = 2;
  event.terminal_after = 3;
  for (const char* method : {"bliedf", "radau", "rkmk"}) {
    run::Options options = tolerances(1e-9);
    options.method = method;
    options.output_times = {2.0, 6.0};
    const auto run = oscillate({event}, options);
    ASSERT_EQ(run.report.status, Status::success) << method;
    // Start, 2, the jump with its two sides, 6, the end at the third zero: acted there, too.
    EXPECT_NEAR(run.report.final.motion.t, 2.5 * M_PI, 1e-6) << method;
    ASSERT_EQ(run.report.events.size(), 3u) << method;
    for (const auto& point : run.points) {
      if (point.motion.t == 2.0) EXPECT_NEAR(point.motion.q[0], std::cos(2.0), 1e-6) << method;
      if (point.motion.t == 6.0) EXPECT_NEAR(point.motion.q[0], 2.0 * std::sin(6.0 - 1.5 * M_PI), 1e-6) << method;
    }
  }
  event.acts_from = 0;
  EXPECT_THROW(oscillate({event}, tolerances(1e-6)), InvalidInput);
}

TEST(Events, OutputTimesBeforeAnEventAreShown) {
  Event event = position_event("zero", 0.0, Direction::either);
  event.terminal_after = 1;
  run::Options options = tolerances(1e-9);
  options.output_times = {0.5, 1.5, 1.6};
  const auto run = oscillate({event}, options);
  ASSERT_EQ(run.points.size(), 4u) << "start, 0.5, 1.5, the event";
  EXPECT_EQ(run.points[2].motion.t, 1.5);
  EXPECT_NEAR(run.points[2].motion.q[0], std::cos(1.5), 1e-6);
  EXPECT_NEAR(run.points[3].motion.t, M_PI / 2, 1e-6);
}

// ---- impacts

/// The rod about its hinge: I θ̈ = -m g l/2 sin θ, impacts where l sin θ = wall; by Runge-Kutta of order 4 in steps of
/// 1e-4, whose error is below 1e-13, and Newton's method for the time of impact.
struct Rod {
  double angle = 1.0, speed = 0.0, t = 0.0;
  double wall_angle = std::asin(-0.2), restitution = 0.8;
  std::vector<double> impacts{};

  static double acceleration(double angle) {
    constexpr double about_hinge = 1.0 / 12.0 + 0.25 * 0.02 * 0.02 + 0.25;
    return -0.5 * 9.81 / about_hinge * std::sin(angle);
  }
  void step(double h) {
    const double k1 = speed, l1 = acceleration(angle);
    const double k2 = speed + 0.5 * h * l1, l2 = acceleration(angle + 0.5 * h * k1);
    const double k3 = speed + 0.5 * h * l2, l3 = acceleration(angle + 0.5 * h * k2);
    const double k4 = speed + h * l3, l4 = acceleration(angle + h * k3);
    angle += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    speed += h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4);
    t += h;
  }
  void advance(double t_end) {
    while (t < t_end) {
      step(std::min(1e-4, t_end - t));
      if (angle >= wall_angle || speed >= 0.0) continue;
      for (int i = 0; i < 5; ++i) step((wall_angle - angle) / speed);
      impacts.push_back(t);
      speed *= -restitution;
    }
  }
};

std::vector<run::Options> accurate_runs() {
  std::vector<run::Options> list;
  for (const char* method : {"bliedf", "rkmk"}) {
    run::Options adaptive = tolerances(1e-12);
    adaptive.method = method;
    list.push_back(adaptive);
    run::Options constant;
    constant.method = method;
    constant.order = std::string(method) == "bliedf" ? 6 : 8;
    constant.step = std::string(method) == "bliedf" ? 1e-3 : 1e-2;
    list.push_back(constant);
  }
  run::Options index3 = list[1];
  index3.formulation = "index3";
  list.push_back(index3);
  return list;
}

TEST(WallPendulum, HitsTheWallWhenAnIndependentIntegrationDoes) {
  Rod rod;
  rod.advance(3.0);
  ASSERT_GE(rod.impacts.size(), 3u);
  for (const char* group : {"r3xso3", "se3"})
    for (run::Options options : accurate_runs()) {
      support::Experiment e = experiment("wall-pendulum");
      e.group = group;
      options.t_end = 3.0;
      e.options = options;
      const auto run = support::integrate(e);
      const std::string what = options.method.name() + " " + group + " " + std::string(options.formulation.name()) +
                               (options.step > 0.0 ? " constant" : "");
      ASSERT_EQ(run.report.status, Status::success) << what << run.report.message;
      ASSERT_EQ(run.report.events.size(), rod.impacts.size()) << what;
      // Under error control the error of the motion itself is 1000 times the tolerance.
      const double allowed = options.method == "bliedf" && options.step == 0.0 ? 1e-9 : 1e-10;
      for (std::size_t i = 0; i < rod.impacts.size(); ++i)
        EXPECT_NEAR(run.report.events[i].t, rod.impacts[i], allowed) << what << " " << i;
      EXPECT_EQ(run.report.final.motion.t, 3.0) << what;
    }
}

TEST(WallPendulum, GeneralizedAlphaFindsTheImpactsWithOrderTwo) {
  Rod rod;
  rod.advance(1.5);
  const auto error = [&](double h, const char* formulation) {
    support::Experiment e = experiment("wall-pendulum");
    e.options.method = "generalized-alpha";
    e.options.formulation = formulation;
    e.options.step = h;
    e.options.t_end = 1.5;
    const auto run = support::integrate(e);
    EXPECT_EQ(run.report.events.size(), rod.impacts.size());
    return std::abs(run.report.events.back().t - rod.impacts.back());
  };
  for (const char* formulation : {"index3", "stabilized-index2"}) {
    const double coarse = error(2e-3, formulation), fine = error(1e-3, formulation);
    EXPECT_NEAR(std::log2(coarse / fine), 2.0, 0.3) << formulation << " " << coarse << " " << fine;
  }
}

TEST(WallPendulum, LosesTheEnergyOfTheRestitution) {
  const models::Model model = support::make_model(experiment("wall-pendulum"));
  for (const run::Options& options : accurate_runs()) {
    const auto run = support::integrate(model, options);
    ASSERT_FALSE(run.report.events.empty());
    for (const run::Occurrence& o : run.report.events) {
      EXPECT_EQ(o.action, "impact");
      EXPECT_EQ(o.before.motion.t, o.after.motion.t);
      EXPECT_LT((o.before.motion.q - o.after.motion.q).norm(), 1e-14);
      // One degree of freedom: all of v turns round.
      EXPECT_LT((o.after.motion.v + 0.8 * o.before.motion.v).norm(), 1e-12);
      lie::Motion rest = o.before.motion;
      rest.v.setZero();
      const double potential = model.system->energy(rest);
      EXPECT_NEAR(
          (model.system->energy(o.after.motion) - potential) / (model.system->energy(o.before.motion) - potential),
          0.64, 1e-12);
    }
    EXPECT_LT(run.report.velocity_max, options.step > 0.0 && options.formulation == "index3" ? 1e-6 : 1e-9);
  }
}

TEST(WallPendulum, TheTrajectoryHasBothSidesOfTheJump) {
  for (const double output_step : {0.0, 0.1}) {
    support::Experiment e = experiment("wall-pendulum");
    e.options.output_step = output_step;
    e.options.t_end = 1.0;
    const auto run = support::integrate(e);
    ASSERT_EQ(run.report.events.size(), 1u);
    int found = 0;
    for (std::size_t i = 1; i < run.points.size(); ++i) {
      EXPECT_GE(run.points[i].motion.t, run.points[i - 1].motion.t);
      if (run.points[i].motion.t != run.points[i - 1].motion.t) continue;
      ++found;
      EXPECT_EQ(run.points[i].motion.t, run.report.events[0].t);
      EXPECT_LT((run.points[i].motion.v + 0.8 * run.points[i - 1].motion.v).norm(), 1e-12);
      EXPECT_GT((run.points[i].lambda - run.points[i - 1].lambda).norm(), 0.1)
          << "the hinge carries less after the loss";
    }
    EXPECT_EQ(found, 1);
  }
}

/// λ of the exact motion at the times of the first steps after the first impact.
double largest_lambda_error_after_the_impact(const models::Model& model, const run::Options& options) {
  const auto run = support::integrate(model, options);
  EXPECT_EQ(run.report.status, Status::success) << run.report.message;
  std::size_t at = 1;
  while (run.points[at].motion.t != run.points[at - 1].motion.t) ++at;
  Rod rod;
  Counters counters;
  solve::Kkt kkt(*model.system, counters);
  double error = 0.0;
  for (std::size_t i = at + 1; i <= at + 3 * static_cast<std::size_t>(options.order) + 3; ++i) {
    rod.advance(run.points[i].motion.t);
    const auto rotation = Eigen::Quaterniond(Eigen::AngleAxisd(0.5 * M_PI - rod.angle, Vector3::UnitY()));
    lie::Motion m = run.points[i].motion;
    const Vector3 speed(0.0, -rod.speed, 0.0), arm(0.5, 0.0, 0.0);
    m.q << rotation * arm, rotation.coeffs();
    m.v << rotation * speed.cross(arm), speed;
    Vector lambda = run.points[i].lambda;
    EXPECT_TRUE(kkt.accelerate(m, lambda));
    error = std::max(error, (lambda - run.points[i].lambda).norm());
  }
  return error;
}

TEST(RestartAfterAnEvent, KeepsTheOrderOfLambdaOnlyWithCorrectedStartingValues) {
  support::Experiment e = experiment("wall-pendulum");
  const models::Model model = support::make_model(e);
  for (const int order : {2, 3, 4}) {
    const auto slope = [&](const char* starting) {
      run::Options options;
      options.order = order;
      options.formulation = "index3";
      options.starting = starting;
      options.t_end = 0.8;
      options.step = 4e-3;
      const double coarse = largest_lambda_error_after_the_impact(model, options);
      options.step = 2e-3;
      const double fine = largest_lambda_error_after_the_impact(model, options);
      EXPECT_GT(fine, 1e-9) << "round-off";
      return std::log2(coarse / fine);
    };
    EXPECT_GT(slope("corrected"), order - 0.3) << order;
    EXPECT_NEAR(slope("exact"), order - 1, 0.3) << order;
  }
}

// ---- without end

/// A ball above the floor, restitution given.
system::SystemFunctions ball() {
  system::SystemFunctions f;
  f.name = "ball";
  f.space = {{lie::GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return Vector::Constant(1, 10.0); };
  return f;
}

run::Report drop(double restitution, run::Options options) {
  system::FunctionSystem system(ball());
  Event floor = position_event("floor", 0.0, Direction::falling);
  floor.action = system::Impact{restitution};
  system.set_events({floor});
  system::Start start{0.0, 3.0, Vector::Constant(1, 0.2), Vector::Zero(1)};
  run::Observer nobody;
  return run::integrate(system, start, options, nobody);
}

TEST(ImpactsThatAccumulate, EndWithAMessage) {
  // The first fall takes 0.2 s; every flight after it e times as long as the one before, the first 0.4 e.
  const double last = 0.2 + 0.4 * 0.5 / (1.0 - 0.5);
  run::Options constant;
  constant.step = 1e-2;
  for (const run::Options& options : {tolerances(1e-8), constant}) {
    const run::Report report = drop(0.5, options);
    EXPECT_EQ(report.status, Status::event_failed);
    EXPECT_NE(report.message.find("event 'floor' triggers repeatedly (Zeno behaviour) at t = "), std::string::npos)
        << report.message;
    EXPECT_NEAR(report.final.motion.t, last, 1e-5);
    EXPECT_GE(report.final.motion.q[0], -1e-8) << "never below the floor";
  }
}

TEST(ImpactWithoutRestitution, SaysThatTheContactStaysClosed) {
  const run::Report report = drop(0.0, tolerances(1e-8));
  EXPECT_EQ(report.status, Status::event_failed);
  EXPECT_NE(report.message.find("the contact stays closed"), std::string::npos) << report.message;
  EXPECT_NEAR(report.final.motion.t, 0.2, 1e-7);
}

TEST(Events, AreInspectedBeforeTheRun) {
  EXPECT_THROW(drop(1.5, tolerances(1e-6)), InvalidInput);
  run::Options options = tolerances(1e-6);
  options.events = {Event{}};
  EXPECT_THROW(drop(0.5, options), InvalidInput);
}

// ---- switches

TEST(RodRelease, ChangesTheReactionsAtItsTime) {
  for (const char* group : {"r3xso3", "se3"})
    for (run::Options options : accurate_runs()) {
      support::Experiment e = experiment("rod-release");
      e.group = group;
      options.t_end = 1.0;
      e.options = options;
      const auto run = support::integrate(e);
      const std::string what = options.method.name() + " " + group;
      ASSERT_EQ(run.report.status, Status::success) << what << run.report.message;
      ASSERT_EQ(run.report.events.size(), 1u) << what;
      const run::Occurrence& release = run.report.events[0];
      EXPECT_NEAR(release.t, 0.5, 1e-14) << what;
      // λ of the point rows is the force on the rod; the support pushes with -λ.
      EXPECT_NEAR(release.before.lambda[2], 0.5 * 9.81, 1e-9) << what;
      EXPECT_NEAR(release.before.lambda[5], -0.5 * 9.81, 1e-9) << what;
      const double about_hinge = 1.0 / 12.0 + 0.25 * 0.02 * 0.02 + 0.25;
      EXPECT_NEAR(release.after.lambda[2], 9.81 * (1.0 - 0.25 / about_hinge), 1e-9) << what;
      ASSERT_EQ(release.after.lambda.size(), 6) << "results keep their rows";
      EXPECT_EQ(release.after.lambda[5], 0.0) << what;
      Rod rod;
      rod.angle = 0.5 * M_PI;
      rod.wall_angle = -4.0;
      rod.advance(0.5);
      EXPECT_EQ(run.report.final.lambda.size(), 6);
      EXPECT_NEAR(run.report.final.motion.q[0], 0.5 * std::sin(rod.angle), 1e-8) << what;
      EXPECT_NEAR(run.report.final.motion.q[2], -0.5 * std::cos(rod.angle), 1e-8) << what;
      EXPECT_NEAR(run.report.energy_final, run.report.energy_initial, 1e-8) << what;
    }
}

TEST(RodRelease, HappensWhenTheReactionExceedsItsLimit) {
  for (const char* method : {"bliedf", "generalized-alpha", "rkmk"}) {
    support::Experiment e = experiment("rod-release", {{"release", "reaction"}});
    e.options.method = method;
    e.options.step = 1e-3;
    e.options.t_end = 0.5;
    const auto run = support::integrate(e);
    ASSERT_EQ(run.report.events.size(), 1u) << method << run.report.message;
    EXPECT_NEAR(run.report.events[0].t, (10.0 - 0.5 * 9.81) / 20.0, 1e-10) << method;
  }
}

/// A mass point that flies freely until a string of length 1 is taut.
TEST(Switch, CanAddAConstraint) {
  system::SystemFunctions free;
  free.name = "point";
  free.space = {{lie::GroupId::rn, 2}};
  free.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  free.force = [](double, const Vector&, const Vector&) -> Vector { return Eigen::Vector2d(0.0, 9.81); };
  system::SystemFunctions bound = free;
  bound.position_rows = 1;
  bound.row_names = {"string"};
  bound.constraint = [](double, const Vector& q) -> Vector {
    return Vector::Constant(1, 0.5 * (q.squaredNorm() - 1.0));
  };
  const auto taut = std::make_shared<const system::FunctionSystem>(bound);
  system::FunctionSystem loose(free);
  Event event{"taut", [](double, const Vector& q, const Vector&, const Vector&) { return q.squaredNorm() - 1.0; },
              Direction::rising, system::Switch{[&](double, const Vector&, const Vector&) { return taut; }}};
  loose.set_events({event});
  loose.set_result_layout(taut);
  const system::Start start{0.0, 1.0, Eigen::Vector2d(0.6, 0.0), Eigen::Vector2d(0.0, 0.0)};
  for (const char* method : {"bliedf", "generalized-alpha", "rkmk"})
    for (const double step : {0.0, 1e-3}) {
      if (step == 0.0 && std::string(method) == "generalized-alpha") continue;
      run::Options options = tolerances(1e-9);
      options.method = method;
      options.step = step;
      run::Observer nobody;
      const run::Report report = run::integrate(loose, start, options, nobody);
      ASSERT_EQ(report.status, Status::success) << method << report.message;
      ASSERT_EQ(report.events.size(), 1u);
      const run::Occurrence& o = report.events[0];
      EXPECT_NEAR(o.t, std::sqrt(2.0 * 0.8 / 9.81), 1e-8) << "falls from 0 to -0.8";
      const double fall = -9.81 * o.t;
      // The radial part of the velocity is lost at q = (0.6, -0.8).
      const Eigen::Vector2d expected = fall * -0.6 * Eigen::Vector2d(-0.8, -0.6);
      EXPECT_LT((o.after.motion.v - expected).norm(), 1e-7) << method;
      ASSERT_EQ(o.before.lambda.size(), 1);
      EXPECT_EQ(o.before.lambda[0], 0.0);
      EXPECT_NEAR(report.final.motion.q.norm(), 1.0, 1e-6);
      EXPECT_TRUE(report.warnings.empty());
    }
}

TEST(Switch, ToAConstraintThatDoesNotHoldIsRefused) {
  system::SystemFunctions f = ball();
  f.position_rows = 1;
  f.constraint = [](double, const Vector& q) -> Vector { return Vector::Constant(1, q[0] - 5.0); };
  const auto far = std::make_shared<const system::FunctionSystem>(f);
  system::FunctionSystem system(ball());
  Event event = position_event("catch", 0.1, Direction::falling);
  event.action = system::Switch{[&](double, const Vector&, const Vector&) { return far; }};
  system.set_events({event});
  run::Observer nobody;
  const run::Report report =
      run::integrate(system, {0.0, 1.0, Vector::Constant(1, 0.2), Vector::Zero(1)}, tolerances(1e-6), nobody);
  EXPECT_EQ(report.status, Status::event_failed);
  EXPECT_NE(report.message.find("a constraint can only be switched on where it holds"), std::string::npos)
      << report.message;
}

TEST(Jump, IsProjectedOntoTheConstraints) {
  const models::Model model = support::make_model(experiment("pendulum", {{"x0", "0.1"}}));
  run::Options options = tolerances(1e-9);
  options.events = {{"kick", [](double t, const Vector&, const Vector&, const Vector&) { return t - 0.3; },
                     Direction::rising,
                     system::Jump{[](double, Vector&, Vector& v) { v += Eigen::Vector2d(1.0, 1.0); }}}};
  const auto run = support::integrate(model, options);
  ASSERT_EQ(run.report.status, Status::success) << run.report.message;
  ASSERT_EQ(run.report.events.size(), 1u);
  const run::Occurrence& o = run.report.events[0];
  EXPECT_NEAR(o.t, 0.3, 1e-14);
  const Eigen::Vector2d r = o.after.motion.q;
  EXPECT_NEAR(r.dot(o.after.motion.v), 0.0, 1e-13);
  const Eigen::Vector2d along(-r.y(), r.x());
  EXPECT_NEAR(along.dot(o.after.motion.v - o.before.motion.v), along.dot(Eigen::Vector2d(1.0, 1.0)), 1e-12);
}

}  // namespace
