// What programs do with the installed library: own equations, events, stepping, dense output, checkpoints.
#include <cmath>
#include <iostream>
#include <kreisel/kreisel.hpp>

using namespace kreisel;

namespace {

int failures = 0;

void expect_near(const char* what, double is, double should, double tolerance) {
  if (std::abs(is - should) <= tolerance) return;
  std::cerr << what << ": " << is << ", expected " << should << " within " << tolerance << "\n";
  ++failures;
}

/// q'' = -q from q = 1: q = cos t.
Problem oscillator(double t_end) {
  SystemFunctions f;
  f.space = {{GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector { return q; };
  Problem problem;
  problem.start.t_end = t_end;
  problem.start.q0 = Vector::Ones(1);
  problem.start.v0 = Vector::Zero(1);
  problem.system = std::make_shared<FunctionSystem>(f);
  return problem;
}

void own_system_dense_output_and_events() {
  Problem problem = oscillator(10.0);
  Event zero;
  zero.name = "zero";
  zero.function = [](double, const Vector& q, const Vector&, const Vector&) { return q[0]; };
  problem.events.push_back(zero);
  const Solution motion = solve(problem, {.rtol = 1e-9, .atol = 1e-9});
  for (const double t : {0.01, 1.234, 5.0, 9.99}) expect_near("q between steps", motion.at(t).q[0], std::cos(t), 1e-6);
  expect_near("number of events", static_cast<double>(motion.report().events.size()), 3, 0);
  expect_near("time of the first event", motion.report().events[0].t, std::acos(0.0), 1e-7);
}

void stepping_and_checkpoint() {
  const Problem problem = oscillator(10.0);
  Options options;
  options.rtol = options.atol = 1e-9;
  Simulation simulation(problem, options);
  for (int i = 1; i <= 30; ++i) {
    simulation.advance_to(0.1 * i);
    expect_near("q while stepping", simulation.state().q[0], std::cos(0.1 * i), 1e-6);
  }
  Simulation resumed(problem, options, simulation.checkpoint());
  simulation.advance_to(10.0);
  resumed.advance_to(10.0);
  expect_near("q after the checkpoint", resumed.state().q[0], simulation.state().q[0], 0.0);
}

/// A ball on a spring with a formula, above a floor; a wheel that rolls down a slope: s'' = g sin a/(1 + J/(m r²)).
void wheels_and_contacts() {
  Mechanism slope;
  slope.set_gravity({1.0, 0.0, -9.0});
  const Body disk =
      slope.add_body({.name = "disk", .mass = 2.0, .inertia = diagonal(1.0, 0.5, 1.0), .position = {0, 0, 0.5}});
  slope.add_joint(wheel({ground, disk}, {0, 0, 0}, {0, 0, 1}, {0, 0, 0.5}, {0, 1, 0}, 0.5));
  const Solution rolled = solve(slope.problem({.t_end = 2.0}), {.rtol = 1e-8, .atol = 1e-8});
  expect_near("way of the wheel", rolled.at(2.0).q[0], 0.5 * 1.0 / 2.0 * 4.0, 1e-6);

  Mechanism hopper;
  const Body ball = hopper.add_body({.name = "ball", .position = {0, 0, 0.5}});
  const int floor =
      hopper.add_force({.type = "contact",
                        .bodies = {ground, ball},
                        .points = {{0, 0, 0}, {0, 0, 0.5}},
                        .axes = {{0, 0, 1}},
                        .numbers = {{"second_radius", 0.1}, {"stiffness", 1e4}, {"exponent", 1.0}, {"damping", 1.0}},
                        .name = "floor"});
  const int drag = hopper.add_force({.type = "spring-damper",
                                     .bodies = {ground, ball},
                                     .points = {{0, 0, 2}, {0, 0, 0.5}},
                                     .name = "drag",
                                     .laws = {{"force", {"2*v"}}}});
  hopper.add_output("press", effort_of(floor)).add_output("gap", gap_of(floor)).add_output("pull", effort_of(drag));
  Simulation simulation(hopper.problem({.t_end = 20.0}), {.rtol = 1e-8, .atol = 1e-8});
  simulation.advance_to(20.0);
  expect_near("force on the floor", simulation.output("press"), 9.81, 1e-5);
  expect_near("gap of the floor", simulation.output("gap"), -9.81e-4, 1e-8);
}

/// A cart of 2 kg with a motor that a program sets: m x'' = u - 3 x'.
void laws_and_inputs() {
  Mechanism cart;
  cart.set_gravity({0, 0, 0});
  const Body body = cart.add_body({.name = "cart", .mass = 2.0});
  const int rail = cart.add_joint(prismatic({ground, body}, {0, 0, 0}, {1, 0, 0}));
  cart.add_parameter("c", 3.0).add_input("u", 0.0, "N").add_output("way", displacement_of(rail));
  cart.add_state("work", "u*way'").add_event("far", "way - 1", Direction::rising);
  cart.add_law("friction", rail, "-c*way'");
  cart.add_law("motor", rail, Law([](double, std::span<const double> y) { return y[0]; }, {"u"}));
  Simulation simulation(cart.problem({.t_end = 10.0}), {.rtol = 1e-8, .atol = 1e-8});
  double x = 0.0, v = 0.0;
  for (int k = 0; k < 20; ++k) {
    const double u = k % 2 == 0 ? 6.0 : 3.0, h = 0.1, e = std::exp(-1.5 * h);
    simulation.set("u", u);
    simulation.advance_to(h * (k + 1));
    x += u / 3.0 * h + (v - u / 3.0) * (1.0 - e) / 1.5;
    v = u / 3.0 + (v - u / 3.0) * e;
    expect_near("way of the cart", simulation.output("way"), x, 1e-6);
    expect_near("speed of the cart", simulation.output("way'"), v, 1e-6);
  }
  expect_near("number of events", static_cast<double>(simulation.report().events.size()), 1, 0);
}

/// What model files say, in C++: limits, initial values, couplers, tables, events, power, and a file as a part.
void words_of_model_files() {
  Mechanism lift;
  const Body cab = lift.add_body({.name = "cab", .mass = 2.0});
  const int rail = lift.add_joint(prismatic({ground, cab}, {0, 0, 0}, {0, 0, 1})
                                      .named("rail")
                                      .starting(1.0)
                                      .limited({.from = 0.0, .restitution = 0.5}));
  const Body drum = lift.add_body({.name = "drum", .mass = 1.0, .inertia = diagonal(1, 1, 1), .position = {1, 0, 0}});
  const int pin = lift.add_joint(revolute({ground, drum}, {1, 0, 0}, {0, 1, 0}).starting(-2.0));
  lift.add_coupler({.first = rail, .second = pin, .ratio = -2.0});
  lift.add_force(
      {.type = "motor", .bodies = {}, .name = "brake", .joint = pin, .table = Table{.points = {{-1, 0}, {1, 0}}}});
  lift.add_event({.name = "late", .when = "t - 10", .stops = true});
  lift.add_output("height", displacement_of(rail))
      .add_output("power", power_of("brake"))
      .add_output("speed", speed_of("brake"));
  Simulation simulation(lift.problem({.t_end = 1.0}), {.rtol = 1e-9, .atol = 1e-9});
  simulation.advance_to(0.3);
  const double fall = 2.0 * 9.81 / (2.0 + 4.0 * 1.0);
  expect_near("height of the cab", simulation.output("height"), 1.0 - 0.5 * fall * 0.09, 1e-7);
  expect_near("speed of the drum", simulation.output("speed"), 2.0 * fall * 0.3, 1e-7);

  Mechanism pair;
  const Body torso = pair.add_body({.name = "torso", .mass = 5.0});
  pair.add_joint(fixed({ground, torso}, {0, 0, 0}));
  pair.add_model({.file = "leg", .prefix = "left.", .at = {0, 0.1, 0}, .connect = {{"ground", torso}}});
  expect_near("number of a body of a file", pair.body("left.shank").number > 0 ? 1.0 : 0.0, 1.0, 0.0);
  Simulation(pair.problem({.t_end = 0.1}), {.rtol = 1e-6, .atol = 1e-6}).advance_to(0.1);
}

/// A crank that a driver turns: the angle is the prescribed one.
void driven_mechanism() {
  Mechanism crank("crank", GroupId::se3);
  const Body arm =
      crank.add_body({.name = "arm", .mass = 2.0, .inertia = diagonal(0.01, 0.2, 0.2), .position = {0.5, 0, 0}});
  crank.add_joint(revolute({ground, arm}, {0, 0, 0}, {0, 0, 1}));
  crank.add_joint(angle_driver({ground, arm}, {0, 0, 1}, "0.5*t^2"));
  const Solution motion = solve(crank.problem({.t_end = 1.0}), {.rtol = 1e-8, .atol = 1e-8});
  expect_near("x of the driven arm", motion.at(0.8).pose(arm).x.x(), 0.5 * std::cos(0.32), 1e-6);
  try {
    crank.add_joint(cylindrical({ground, arm}, {0, 0, 0}, {0, 0, 0}));
    ++failures;
  } catch (const InvalidInput& e) {
    std::cout << "refused: " << e.what() << "\n";
  }
}

/// Methods are types with their parameters, everything that is one of a few things an enum.
void methods_and_their_parameters() {
  const Problem problem = oscillator(2.0);
  Options options{.step = 1e-3};
  options.method = GeneralizedAlpha{.rho_inf = 0.8};
  options.starting = Starting::corrected;
  const Solution damped = solve(problem, options);
  expect_near("q by generalized-alpha", damped.at(2.0).q[0], std::cos(2.0), 1e-5);
  if (damped.report().method != "generalized-alpha") ++failures;
  const Solution stiff = solve(problem, {.method = Radau{}, .rtol = 1e-9, .atol = 1e-9});
  expect_near("q by radau", stiff.at(2.0).q[0], std::cos(2.0), 1e-7);
  try {
    options.method = GeneralizedAlpha{.rho_inf = 1.5};
    ++failures;
  } catch (const InvalidInput& e) {
    std::cout << "refused: " << e.what() << "\n";
  }

  Mechanism pendulum;
  const Body rod = pendulum.add_body(
      {.name = "rod", .mass = 1.0, .inertia = diagonal(0.0833, 0.0833, 1e-4), .position = {0.5, 0, 0}});
  pendulum.add_joint(spherical({ground, rod}, {0, 0, 0}));
  const Solution swing = solve(pendulum.problem({.t_end = 1.0}), {.method = ProjectedBdf{.metric = Metric::euclidean},
                                                                  .formulation = Formulation::projected,
                                                                  .rtol = 1e-8,
                                                                  .atol = 1e-8,
                                                                  .newton_matrix = NewtonMatrix::every_step,
                                                                  .linear_solver = SolverKind::dense});
  expect_near("length of the pendulum", swing.at(1.0).pose(rod).x.norm(), 0.5, 1e-10);
}

/// A rod that hangs down and swings with √(m g l/I).
void rest_and_small_motions() {
  Mechanism pendulum;
  const Body rod = pendulum.add_body(
      {.name = "rod", .mass = 1.0, .inertia = diagonal(1e-4, 1.0 / 12.0, 1.0 / 12.0), .position = {0.5, 0, 0}});
  pendulum.add_joint(revolute({ground, rod}, {0, 0, 0}, {0, 1, 0}));
  const Problem problem = pendulum.problem({.t_end = 1.0});
  const analysis::Equilibrium rest = analysis::find_equilibrium(*problem.system, problem.start);
  if (!rest.is_found) ++failures;
  expect_near("height at rest", problem.system->body_pose(0, rest.motion.q).x.z(), -0.5, 1e-9);
  const analysis::Linearization linear = analysis::linearize(*problem.system, rest.motion, rest.lambda);
  const std::vector<analysis::Mode> modes = analysis::modes_of(*problem.system, rest.motion, linear);
  expect_near("swing", modes.at(0).eigenvalue.imag(), std::sqrt(9.81 * 0.5 * 3.0), 1e-9);
}

/// A thin rod under its weight sags by w L⁴/(8 E I).
void rods() {
  Mechanism shelf;
  RodDescription board;
  board.name = "board";
  board.section = rectangular_cross_section({.young = 70e9, .poisson = 0.33, .density = 2700.0}, 0.02, 0.005);
  board.points = {{0, 0, 0}, {0.5, 0, 0}};
  board.places = {0.3};
  const RodNodes nodes = shelf.add_rod(board);
  shelf.add_joint(fixed({ground, nodes.start()}, {0, 0, 0}));
  shelf.add_output("tip", position_of(nodes.end(), {0.5, 0, 0}));
  const Problem problem = shelf.problem({.t_end = 1.0});
  const analysis::Equilibrium rest = analysis::find_equilibrium(*problem.system, problem.start);
  if (!rest.is_found) ++failures;
  const double w = 2700.0 * 0.02 * 0.005 * 9.81, EI = 70e9 * 0.02 * std::pow(0.005, 3) / 12.0;
  expect_near("sag", problem.system->body_pose(nodes.end(), rest.motion.q).x.z(), -w * std::pow(0.5, 4) / (8.0 * EI),
              2e-6);
  expect_near("place of a node", problem.start.q0[7 * nodes.at(0.3)], 0.15, 1e-12);
}

}  // namespace

int main() {
  own_system_dense_output_and_events();
  laws_and_inputs();
  words_of_model_files();
  wheels_and_contacts();
  stepping_and_checkpoint();
  driven_mechanism();
  methods_and_their_parameters();
  rest_and_small_motions();
  rods();
  std::cout << "kreisel " << version() << "\n";
  return failures == 0 && version() == WANTED_VERSION ? 0 : 1;
}
