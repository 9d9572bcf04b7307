// Limits, initial values, couplers, tables, laws, events and model files in C++, against closed forms.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "kreisel/kreisel.hpp"

namespace {

using namespace kreisel;

constexpr double g = 9.81;

Simulation simulated(const Mechanism& mechanism, double t_end, double tolerance = 1e-10) {
  Options options;
  options.rtol = options.atol = tolerance;
  Simulation simulation(mechanism.problem({.t_end = t_end}), options);
  simulation.advance_to(t_end);
  EXPECT_EQ(simulation.report().status, Status::success) << simulation.report().message;
  return simulation;
}

template <class Act>
std::string message_of(const Act& act) {
  try {
    act();
  } catch (const InvalidInput& e) {
    return e.what();
  }
  return "accepted";
}

/// A mass of 2 kg on a vertical rail, `height` above the place where its coordinate is zero.
struct Lift {
  Mechanism mechanism{"lift"};
  Body mass;
  int rail = 0;

  explicit Lift(Limits limits, InitialValue initial = {}, double gravity = g) {
    mechanism.set_gravity({0, 0, -gravity});
    mass = mechanism.add_body({.name = "mass", .mass = 2.0, .inertia = diagonal(1, 1, 1)});
    JointDescription joint = prismatic({ground, mass}, {0, 0, 0}, {0, 0, 1});
    joint.name = "rail";
    joint.limits = limits;
    joint.initial = initial;
    rail = mechanism.add_joint(joint);
    mechanism.add_output("z", displacement_of(rail));
  }
};

TEST(Mechanism, BouncesFromARigidLimit) {
  Lift lift({.from = 0.0, .restitution = 0.9}, {.value = 1.0});
  const double first = std::sqrt(2.0 / g), speed = 0.9 * g * first;
  EXPECT_NEAR(first, 0.451523641, 1e-9);
  const double t = 1.0 - first;
  Simulation bounced = simulated(lift.mechanism, 1.0);
  EXPECT_NEAR(bounced.output("z"), speed * t - 0.5 * g * t * t, 1e-8);
  EXPECT_NEAR(bounced.output("z'"), speed - g * t, 1e-8);
}

/// m ẍ = -k x - m g below the limit, until it leaves it again with the speed it came with.
TEST(Mechanism, ReboundsFromACompliantLimit) {
  constexpr double k = 5000.0, m = 2.0;
  Lift lift({.from = 0.0, .stiffness = k}, {.value = 0.2, .rate = -1.0});
  const double v0 = std::sqrt(1.0 + 2.0 * g * 0.2), touch = (v0 - 1.0) / g, omega = std::sqrt(k / m);
  const double t = 0.5 * std::numbers::pi / omega;  // in the middle of the contact, roughly
  const double sag = m * g / k;
  Simulation pressed = simulated(lift.mechanism, touch + t, 1e-11);
  EXPECT_NEAR(pressed.output("z"), -v0 / omega * std::sin(omega * t) - sag * (1.0 - std::cos(omega * t)), 1e-8);
  EXPECT_NEAR(pressed.output("z'"), -v0 * std::cos(omega * t) - sag * omega * std::sin(omega * t), 1e-6);
}

/// Two arms of 1 m: the first is turned by 0.3 and turns with 2 rad/s, the second by -0.5 against it, with -1 rad/s.
TEST(Mechanism, StartsWhereItsJointsAreSaidToBe) {
  Mechanism arms;
  const Body upper =
      arms.add_body({.name = "upper", .mass = 1.0, .inertia = diagonal(0.1, 0.1, 0.1), .position = {0.5, 0, 0}});
  const Body lower =
      arms.add_body({.name = "lower", .mass = 1.0, .inertia = diagonal(0.1, 0.1, 0.1), .position = {1.5, 0, 0}});
  arms.add_joint(revolute({ground, upper}, {0, 0, 0}, {0, 0, 1}).starting(0.3, 2.0));
  const int elbow = arms.add_joint(revolute({upper, lower}, {1, 0, 0}, {0, 0, 1}).starting(-0.5, -1.0));
  arms.add_output("elbow", angle_of(elbow)).add_output("tip", position_of(lower, {2, 0, 0}));
  Simulation start(arms.problem({.t_end = 1.0}), {.rtol = 1e-8, .atol = 1e-8});
  const double a = 0.3, b = 0.3 - 0.5;
  EXPECT_NEAR(start.output("elbow"), -0.5, 1e-14);
  EXPECT_NEAR(start.output("elbow'"), -1.0, 1e-14);
  EXPECT_NEAR(start.output("tip.x"), std::cos(a) + std::cos(b), 1e-14);
  EXPECT_NEAR(start.output("tip.y"), std::sin(a) + std::sin(b), 1e-14);
  EXPECT_NEAR(start.output("tip.x'"), -2.0 * std::sin(a) - 1.0 * std::sin(b), 1e-14);
  EXPECT_NEAR(start.output("tip.y'"), 2.0 * std::cos(a) + 1.0 * std::cos(b), 1e-14);
}

/// θ₂ = -2 θ₁: (J₁ + 4 J₂) θ̈₁ = M.
TEST(Mechanism, CouplesTheCoordinatesOfTwoJoints) {
  Mechanism gears;
  gears.set_gravity({0, 0, 0});
  const Body a = gears.add_body({.name = "a", .mass = 1.0, .inertia = diagonal(0.3, 0.3, 0.3)});
  const Body b = gears.add_body({.name = "b", .mass = 1.0, .inertia = diagonal(0.2, 0.2, 0.2), .position = {1, 0, 0}});
  const int first = gears.add_joint(revolute({ground, a}, {0, 0, 0}, {0, 0, 1}));
  const int second = gears.add_joint(revolute({ground, b}, {1, 0, 0}, {0, 0, 1}));
  gears.add_coupler({.first = first, .second = second, .ratio = -2.0});
  gears.add_law("drive", first, 5.0);
  gears.add_output("a1", angle_of(first)).add_output("a2", angle_of(second)).add_output("p", power_of("drive"));
  const double acceleration = 5.0 / (0.3 + 4.0 * 0.2), t = 2.0;
  Simulation turned = simulated(gears, t);
  EXPECT_NEAR(turned.output("a1"), 0.5 * acceleration * t * t, 1e-7);
  EXPECT_NEAR(turned.output("a2"), -acceleration * t * t, 1e-7);
  EXPECT_NEAR(turned.output("p"), 5.0 * acceleration * t, 1e-7);
}

/// A table of a spring, of an input and of a driver, and the torque-speed curve of a motor.
TEST(Mechanism, TakesTablesWhereItTakesLaws) {
  Lift spring({}, {}, 0.0);
  spring.mechanism.add_law("pull", spring.rail,
                           Table{.points = {{-1, 50}, {1, -50}}, .interpolation = "linear", .of = "x"});
  spring.mechanism.add_input("u", Table{.points = {{0, 0}, {1, 4}}, .interpolation = "linear"}, "N");
  spring.mechanism.add_law("push", spring.rail, "u");
  const double omega = 5.0, t = 0.8;  // ẍ = -25 x + 2 t
  Simulation pulled = simulated(spring.mechanism, t);
  EXPECT_NEAR(pulled.output("z"), 2.0 / 25.0 * (t - std::sin(omega * t) / omega), 1e-8);

  Mechanism motor;
  motor.set_gravity({0, 0, 0});
  const Body rotor = motor.add_body({.name = "rotor", .mass = 1.0, .inertia = diagonal(0.5, 0.5, 0.5)});
  const int pin = motor.add_joint(revolute({ground, rotor}, {0, 0, 0}, {0, 0, 1}));
  const int drive =
      motor.add_force({.type = "motor",
                       .bodies = {},
                       .name = "drive",
                       .joint = pin,
                       .table = Table{.points = {{-200, 30}, {0, 10}, {100, 0}}, .interpolation = "linear"}});
  motor.add_output("w", speed_of(drive)).add_output("m", effort_of(drive)).add_output("p", power_of(drive));
  const double w = 100.0 * (1.0 - std::exp(-10.0 / (100.0 * 0.5) * 2.0));  // J ẇ = 10 - w/10
  Simulation started = simulated(motor, 2.0);
  EXPECT_NEAR(started.output("w"), w, 1e-6);
  EXPECT_NEAR(started.output("m"), 10.0 - w / 10.0, 1e-7);
  EXPECT_NEAR(started.output("p"), w * (10.0 - w / 10.0), 1e-5);

  Mechanism driven;
  driven.set_gravity({0, 0, 0});
  const Body wheel = driven.add_body({.name = "wheel", .mass = 1.0, .inertia = diagonal(1, 1, 1)});
  const int axle = driven.add_joint(revolute({ground, wheel}, {0, 0, 0}, {0, 0, 1}).starting(0.0, 1.0));
  driven.add_joint(angle_driver({ground, wheel}, {0, 0, 1}, Table{.points = {{0, 0}, {1, 1}, {2, 2}, {3, 3}}}));
  driven.add_output("turned", angle_of(axle));
  Simulation followed = simulated(driven, 2.5);
  EXPECT_NEAR(followed.output("turned"), 2.5, 1e-8);
}

/// A force between two points that is a formula, a table, and numbers: three ways to say one spring.
TEST(Mechanism, TakesLawsBetweenTwoPoints) {
  const double x0 = 0.3, k = 200.0, omega = std::sqrt(k / 2.0), t = 0.7;
  for (const int way : {0, 1, 2}) {
    Mechanism mechanism;
    mechanism.set_gravity({0, 0, 0});
    const Body mass =
        mechanism.add_body({.name = "mass", .mass = 2.0, .inertia = diagonal(1, 1, 1), .position = {1.0 + x0, 0, 0}});
    mechanism.add_joint(prismatic({ground, mass}, {0, 0, 0}, {1, 0, 0}));
    ForceDescription spring{.type = "spring-damper",
                            .bodies = {ground, mass},
                            .points = {Vector3::Zero(), {1.0 + x0, 0, 0}},
                            .numbers = {{"length", 1.0}},
                            .name = "spring"};
    if (way == 0) spring.laws = {{"force", {"200*x"}}};
    if (way == 1) spring.laws = {{"force", {Table{.points = {{-1, -200}, {1, 200}}, .interpolation = "linear"}}}};
    if (way == 2) spring.numbers.insert(spring.numbers.end(), {{"stiffness", k}, {"damping", 0.0}});
    const int number = mechanism.add_force(spring);
    mechanism.add_output("l", length_of(number)).add_output("f", effort_of(number)).add_output("p", power_of(number));
    Simulation swung = simulated(mechanism, t, 1e-11);
    const double x = x0 * std::cos(omega * t), v = -x0 * omega * std::sin(omega * t);
    EXPECT_NEAR(swung.output("l"), 1.0 + x, 1e-8) << way;
    EXPECT_NEAR(swung.output("f"), k * x, 1e-6) << way;
    EXPECT_NEAR(swung.output("p"), -k * x * v, 1e-5) << way;
  }
}

/// Two vibrations across each other, 5 rad/s.
TEST(Mechanism, TakesLawsAsComponentsOfAppliedForces) {
  const auto pulled = [](std::vector<Law> pull) {
    Mechanism mechanism{"mass"};
    const Body mass = mechanism.add_body(
        {.name = "mass", .mass = 2.0, .inertia = diagonal(1, 1, 1), .position = {1, 0, 0}, .velocity = {0, 2, 0}});
    mechanism.add_output("p", position_of(mass, {1, 0, 0}));
    mechanism.add_force({.type = "applied", .bodies = {mass}, .name = "pull", .laws = {{"force", std::move(pull)}}});
    mechanism.add_output("power", power_of("pull"));
    return mechanism;
  };
  const auto by = [](const char* what) {
    return Law([](double, std::span<const double> uses) { return -50.0 * uses[0]; }, {what});
  };
  for (const Mechanism& mechanism : {pulled({"-50*p.x", "-50*p.y", 0.0}), pulled({by("p.x"), by("p.y"), "0*t"})}) {
    Simulation moved = simulated(mechanism, 1.3);
    const double c = std::cos(6.5), s = std::sin(6.5);
    EXPECT_NEAR(moved.output("p.x"), c, 1e-8);
    EXPECT_NEAR(moved.output("p.y"), 0.4 * s, 1e-8);
    EXPECT_NEAR(moved.output("power"), -50.0 * (c * -5.0 * s + 0.4 * s * 2.0 * c), 1e-6);
  }
}

TEST(Mechanism, HasEventsInTheWordsOfModelFiles) {
  // A rocket: thrust 40 N until 0.5 s, then 10 N; a parachute that is switched on at the top.
  Lift rocket({}, {});
  Mechanism& m = rocket.mechanism;
  m.add_parameter("thrust", 40.0).add_parameter("half", "=thrust/2");
  m.add_law("engine", rocket.rail, "thrust + 0*half");
  m.add_force({.type = "friction",
               .bodies = {},
               .numbers = {{"coulomb", 0.0}, {"viscous", 20.0}},
               .name = "parachute",
               .joint = rocket.rail,
               .is_active = false});
  m.add_event({.name = "cut", .when = "t - 0.5", .set = {{"thrust", 0.0}}});
  m.add_event({.name = "top", .when = "z'", .direction = Direction::falling, .on = {"parachute"}});
  m.add_event({.name = "down", .when = "z + 1", .direction = Direction::falling, .stops = true});
  const std::string refused = message_of([&] { m.problem({}); });
  EXPECT_NE(refused.find("the parameter 'half' depends on it"), std::string::npos) << refused;

  Lift second({}, {});
  Mechanism& n = second.mechanism;
  n.add_parameter("thrust", 40.0).add_law("engine", second.rail, "thrust");
  n.add_force({.type = "friction",
               .bodies = {},
               .numbers = {{"coulomb", 0.0}, {"viscous", 20.0}},
               .name = "parachute",
               .joint = second.rail,
               .is_active = false});
  n.add_event({.name = "cut", .when = "t - 0.5", .set = {{"thrust", 0.0}}});
  n.add_event({.name = "top", .when = "z'", .direction = Direction::falling, .on = {"parachute"}});
  n.add_output("drag", effort_of("parachute"));
  const double up = 40.0 / 2.0 - g, v1 = 0.5 * up, z1 = 0.125 * up, top = 0.5 + v1 / g;
  const double highest = z1 + 0.5 * v1 * v1 / g;
  const double t = 0.4, decay = 10.0, limit = g / decay;  // v̇ = -g - 10 v
  Simulation flown = simulated(n, top + t);
  EXPECT_NEAR(flown.output("z'"), -limit * (1.0 - std::exp(-decay * t)), 1e-8);
  EXPECT_NEAR(flown.output("z"), highest - limit * (t - (1.0 - std::exp(-decay * t)) / decay), 1e-8);
  EXPECT_NEAR(flown.output("drag"), 20.0 * limit * (1.0 - std::exp(-decay * t)), 1e-6);

  Lift jumper({}, {.value = 1.0});
  jumper.mechanism.add_event({.name = "kick", .when = "t - 0.2", .jump = {{"mass.velocity", {0.0, 0.0, 3.0}}}});
  Simulation kicked = simulated(jumper.mechanism, 0.5);
  EXPECT_NEAR(kicked.output("z"), 1.0 - 0.5 * g * 0.04 + 3.0 * 0.3 - 0.5 * g * 0.09, 1e-8);

  Lift ball({}, {.value = 1.0});
  ball.mechanism.add_event({.name = "floor", .when = "z", .direction = Direction::falling, .restitution = 0.5});
  const double first = std::sqrt(2.0 / g), left = 0.7 - first;
  Simulation bounced = simulated(ball.mechanism, 0.7);
  EXPECT_NEAR(bounced.output("z"), 0.5 * g * first * left - 0.5 * g * left * left, 1e-8);

  EXPECT_NE(message_of([&] {
              ball.mechanism.add_event({.name = "two", .when = "z", .stops = true, .restitution = 0.5});
            }).find("more than one action"),
            std::string::npos);
}

struct File {
  std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("kreisel_part_{}.json", ::getpid());
  explicit File(const std::string& text) { std::ofstream(path) << text; }
  ~File() { std::filesystem::remove(path); }
};

const std::string pendulum_text = R"({"name": "arm", "parameters": {"L": 1, "m": 2, "c": 0},
  "bodies": [{"name": "arm", "mass": "=m", "inertia": ["=m*L^2/12", "=m*L^2/12", "=m*L^2/12"], "position": [0, 0, "=-L/2"]}],
  "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "arm"], "at": [0, 0, 0], "axis": [0, 1, 0], "initial": {"value": 0.1}}],
  "outputs": {"swing": {"angle": "pin"}, "p": {"power": "drag"}}, "forces": [{"name": "drag", "type": "torque", "joint": "pin", "value": "=-c*v"}]})";

/// A cart on a rail that carries two pendulums of a file: (M + 2m) ẍ + m L θ̈₁.../2 in minimal coordinates, integrated here.
TEST(Mechanism, ConsistsOfModelFiles) {
  const File file(pendulum_text);
  Mechanism crane("crane");
  crane.add_parameter("length", 0.6);
  const Body cart = crane.add_body({.name = "cart", .mass = 3.0, .inertia = diagonal(1, 1, 1)});
  const int rail = crane.add_joint(prismatic({ground, cart}, {0, 0, 0}, {1, 0, 0}));
  crane.add_model({.file = file.path.string(),
                   .prefix = "left.",
                   .at = {-0.5, 0, 0},
                   .parameters = {{"L", "=length"}, {"m", 1.0}},
                   .connect = {{"ground", cart}}});
  crane.add_model({.file = file.path.string(), .prefix = "right.", .at = {0.5, 0, 0}, .connect = {{"ground", cart}}});
  EXPECT_EQ(crane.body("left.arm").number, 1);
  EXPECT_EQ(crane.body("right.arm").number, 2);
  crane.add_output("way", displacement_of(rail)).add_output("gap", "right.swing - left.swing");
  crane.add_output("tip", position_of(crane.body("right.arm"), {0.5, 0, -1}));
  crane.add_output("turned", angle_of("left.pin"));
  Simulation swung = simulated(crane, 1.5, 1e-10);

  // q = (x, θ₁, θ₂); a rod of length L, angle about +y: its end is at x - L sin θ.
  const double M = 3.0, m[2] = {1.0, 2.0}, L[2] = {0.6, 1.0};
  using State6 = Eigen::Matrix<double, 6, 1>;
  const auto f = [&](const State6& y) {
    Eigen::Matrix3d A = Eigen::Matrix3d::Zero();
    Eigen::Vector3d b = Eigen::Vector3d::Zero();
    A(0, 0) = M + m[0] + m[1];
    for (int i = 0; i < 2; ++i) {
      const double a = y[1 + i], w = y[4 + i], h = 0.5 * m[i] * L[i];
      A(0, 1 + i) = A(1 + i, 0) = -h * std::cos(a);
      A(1 + i, 1 + i) = m[i] * L[i] * L[i] / 3.0;
      b[0] -= h * std::sin(a) * w * w;
      b[1 + i] = -h * g * std::sin(a);
    }
    State6 rate;
    rate << y.tail<3>(), Eigen::Vector3d(A.partialPivLu().solve(b));
    return rate;
  };
  State6 y;
  y << 0, 0.1, 0.1, 0, 0, 0;
  const int steps = 3000;
  const double h = 1.5 / steps;
  for (int i = 0; i < steps; ++i) {
    const State6 k1 = f(y), k2 = f(y + 0.5 * h * k1), k3 = f(y + 0.5 * h * k2), k4 = f(y + h * k3);
    y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  }
  EXPECT_NEAR(swung.output("way"), y[0], 1e-7);
  EXPECT_NEAR(swung.output("left.swing"), y[1], 1e-7);
  EXPECT_NEAR(swung.output("right.swing"), y[2], 1e-7);
  EXPECT_NEAR(swung.output("gap"), y[2] - y[1], 1e-7);
  EXPECT_NEAR(swung.output("turned"), y[1], 1e-7);
  EXPECT_NEAR(swung.output("tip.x"), y[0] + 0.5 - std::sin(y[2]), 1e-7);
  EXPECT_NEAR(swung.state().pose(crane.body("right.arm")).x[0], y[0] + 0.5 - 0.5 * std::sin(y[2]), 1e-7);
}

TEST(Mechanism, IsAModelFileAlone) {
  const File file(pendulum_text);
  Mechanism alone;
  alone.add_model({.file = file.path.string()});
  Simulation swung = simulated(alone, 1.0);
  Mechanism own;
  const Body arm =
      own.add_body({.name = "arm", .mass = 2.0, .inertia = diagonal(1 / 6., 1 / 6., 1 / 6.), .position = {0, 0, -0.5}});
  const int pin = own.add_joint(revolute({ground, arm}, {0, 0, 0}, {0, 1, 0}).starting(0.1));
  own.add_output("swing", angle_of(pin));
  EXPECT_NEAR(swung.output("swing"), simulated(own, 1.0).output("swing"), 1e-9);
}

TEST(Mechanism, SaysWhatIsWrong) {
  const auto has = [](const std::string& said, const std::string& words) {
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  const File file(pendulum_text);
  Mechanism m("box");
  const Body body = m.add_body({.name = "body", .mass = 1.0, .inertia = diagonal(1, 1, 1)});
  const int pin = m.add_joint(revolute({ground, body}, {0, 0, 0}, {0, 0, 1}));
  has(message_of([&] { Mechanism(m).add_model({.file = "nowhere.json"}); }), "nowhere.json");
  has(message_of([&] {
        Mechanism(m).add_model({.file = file.path.string(), .parameters = {{"l", 1.0}}});
      }),
      "did you mean 'L'");
  has(message_of([&] { Mechanism(m).add_model({.file = file.path.string()}).add_body({.name = "late"}); }),
      "before the first file");
  has(message_of([&] { Mechanism(m).add_model({.file = file.path.string()}).body("arn"); }), "did you mean 'arm'");
  has(message_of([&] { Mechanism(m).add_coupler({.first = 0, .second = 4}); }), "no joint number 4");
  has(message_of([&] {
        Mechanism(m).add_joint(spherical({ground, body}, {0, 0, 0}).starting(1.0));
      }),
      "has no coordinate");
  has(message_of([&] {
        Mechanism n(m);
        n.add_joint(revolute({ground, body}, {0, 0, 0}, {0, 0, 1}).limited({.from = 2, .to = 1}).named("second"));
        n.problem({});
      }),
      "goes from 2 to 1");
  has(message_of([&] {
        Mechanism n;
        const Body b = n.add_body({.name = "b", .mass = 1.0, .inertia = diagonal(1, 1, 1)});
        n.add_joint(revolute({ground, b}, {0, 0, 0}, {0, 0, 1}).limited({.from = 1, .to = 2}).named("hinge"));
        n.problem({});
      }),
      "joint 'hinge', limits: 'hinge' starts at 0, beyond its lower limit 1");
  has(message_of([&] { Mechanism(m).add_output("p", power_of("pusher")).add_law("push", pin, 1.0).problem({}); }),
      "output 'p', power: ");
  has(message_of([&] { Mechanism(m).add_output("p", power_of("pusher")).add_law("push", pin, 1.0).problem({}); }),
      "did you mean 'push'");
  has(message_of([&] {
        Mechanism(m).add_law("push", pin, Table{.points = {{1, 0}, {0, 1}}, .of = "x"}).problem({});
      }),
      "force 'push'");
  has(message_of([&] { Mechanism(m).add_force({.type = "friktion", .bodies = {}, .joint = pin}); }), "did you mean");
}

}  // namespace
