// What programs add to the installed library: elements, observers, actions of events, checks of their equations.
#include <cmath>
#include <iostream>
#include <kreisel/kreisel.hpp>
#include <memory>
#include <string>
#include <vector>

using namespace kreisel;

namespace {

int failures = 0;

void expect_near(const char* what, double is, double should, double tolerance) {
  if (std::abs(is - should) <= tolerance) return;
  std::cerr << what << ": " << is << ", expected " << should << " within " << tolerance << "\n";
  ++failures;
}

/// A point that falls from rest at height 1 with g = 1.
SystemFunctions falling_point() {
  SystemFunctions f;
  f.space = {{GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return Vector::Ones(1); };
  return f;
}

Problem fall(double t_end) {
  return {.system = std::make_shared<FunctionSystem>(falling_point()),
          .start = {.t0 = 0.0, .t_end = t_end, .q0 = Vector::Ones(1), .v0 = Vector::Zero(1)},
          .events = {}};
}

double height(double, const Vector& q, const Vector&, const Vector&) { return q[0]; }

/// It hits the floor at t = √2 and leaves it with half its speed; the next hit is at 2√2.
void impacts() {
  Problem problem = fall(4.0);
  problem.events = {{.name = "floor",
                     .function = height,
                     .direction = Direction::falling,
                     .action = Impact{.restitution = 0.5},
                     .terminal_after = 2}};
  const Solution motion = solve(problem, {.rtol = 1e-9, .atol = 1e-9});
  expect_near("number of impacts", static_cast<double>(motion.report().events.size()), 2, 0);
  const Occurrence& first = motion.report().events.at(0);
  expect_near("first impact", first.t, std::sqrt(2.0), 1e-7);
  expect_near("speed after it", first.after.motion.v[0], 0.5 * std::sqrt(2.0), 1e-7);
  expect_near("second impact ends the run", motion.report().final.motion.t, 2.0 * std::sqrt(2.0), 1e-6);
}

/// At the floor it is put back to height 1, at rest: it falls anew.
void jumps() {
  Problem problem = fall(2.0 * std::sqrt(2.0) - 0.5);
  const auto lift = [](double, Vector& q, Vector& v) {
    q[0] = 1.0;
    v[0] = 0.0;
  };
  problem.events = {{.name = "floor", .function = height, .direction = Direction::falling, .action = Jump{lift}}};
  const Solution motion = solve(problem, {.rtol = 1e-9, .atol = 1e-9});
  const double since = std::sqrt(2.0) - 0.5;
  expect_near("height after the jump", motion.report().final.motion.q[0], 1.0 - 0.5 * since * since, 1e-6);
}

/// Keeps nothing but a maximum, and ends the run.
struct Watch final : Observer {
  long points = 0;
  double fastest = 0.0;
  bool accept(const Point& point) override {
    ++points;
    fastest = std::max(fastest, std::abs(point.entry.motion.v[0]));
    return point.entry.motion.t < 1.0;
  }
};

void observers() {
  const Problem problem = fall(4.0);
  Watch watch;
  const Report report = integrate(*problem.system, problem.start, {.step = 0.125}, watch);
  if (report.status != Status::interrupted) ++failures;
  expect_near("points until the run was ended", static_cast<double>(watch.points), 9, 0);
  expect_near("largest speed", watch.fastest, 1.0, 1e-12);
}

/// BDF of order 2 in increments: exact for a fall.
struct OwnBdf2 final : OwnMethod {
  int points_needed() const override { return 2; }
  void velocity(const Vector& x, Vector& v, Vector& a) override {
    v = (3.0 * x - past(0).omega / h()) / 2.0;
    a = (3.0 * v - 4.0 * past(0).motion.v + past(1).motion.v) / (2.0 * h());
  }
};

void own_methods() {
  register_method({.name = "own-bdf2", .order = 2, .make = [] { return std::make_unique<OwnBdf2>(); }});
  const Problem problem = fall(1.0);
  Watch watch;
  const Report report = integrate(*problem.system, problem.start, {.method = "own-bdf2", .step = 0.125}, watch);
  expect_near("height by a method of one's own", report.final.motion.q[0], 0.5, 1e-9);
  expect_near("its speed", report.final.motion.v[0], -1.0, 1e-9);
}

/// The same point and method in a study: the parabola is exact up to round-off, the first steps included.
void studies() {
  StudyRequest request;
  request.spec =
      R"({"model": "point", "method": ["own-bdf2", "generalized-alpha"], "step": [0.125, 0.0625], "measures": ["q max"]})";
  request.models = {{"point", fall(1.0)}};
  request.exact = [](double t, Vector& q, Vector& v, Vector& lambda) {
    q = Vector::Constant(1, 1.0 - 0.5 * t * t);
    v = Vector::Constant(1, -t);
    lambda = Vector();
  };
  const StudyTable table = run_study(request);
  expect_near("failed runs", static_cast<double>(table.failures.size()), 0, 0);
  for (const double error : table.curve("own-bdf2", "q max").y) expect_near("error of a parabola", error, 0.0, 1e-9);
}

/// Two bodies on a line, a spring V = k/2 (x2 - x1 - 1)² between them.
class LineSpring final : public multibody::Element {
 public:
  LineSpring(std::vector<int> nodes, double k) : Element("line-spring", "spring", std::move(nodes)), k_(k) {}
  multibody::Facets facets() const override { return {.has_force = true, .stores_energy = true}; }
  void add_force(const multibody::Instant& at, const multibody::Forces& out) const override {
    out.of(0)[0] -= k_ * stretch(at);
    out.of(1)[0] += k_ * stretch(at);
  }
  void linearize(const multibody::Instant&, const multibody::Blocks& out) const override {
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) out.K(i, j)(0, 0) += (i == j ? k_ : -k_);
  }
  void add_energy(const multibody::Instant& at, system::EnergyParts& parts) const override {
    parts.elastic += 0.5 * k_ * stretch(at) * stretch(at);
  }

 private:
  static double stretch(const multibody::Instant& at) { return at.q_of(1)[0] - at.q_of(0)[0] - 1.0; }
  double k_;
};

/// Switched off at t = 0.5: s'' = -2k s before, s'' = 0 after.
void elements_and_switches() {
  Mechanism mechanism;
  mechanism.set_gravity({0, 0, 0});
  mechanism.add_body({.name = "left", .mass = 1.0, .position = {0, 0, 0}});
  mechanism.add_body({.name = "right", .mass = 1.0, .position = {1.2, 0, 0}});
  mechanism.add_element(std::make_shared<LineSpring>(std::vector<int>{0, 1}, 8.0));
  Problem problem = mechanism.problem({.t_end = 1.0});

  Motion m(problem.system->space());
  m.q = problem.start.q0;
  for (const auto& finding : audit(*problem.system, m, Vector())) {
    if (finding.ok()) continue;
    std::cerr << finding.what << " is wrong at " << finding.where << "\n";
    ++failures;
  }

  const std::shared_ptr<const System> free = without(problem, {"spring"});
  problem.events = {{.name = "cut",
                     .function = [](double t, const Vector&, const Vector&, const Vector&) { return t - 0.5; },
                     .action = Switch{[free](auto&&...) { return free; }}}};
  const Solution motion = solve(problem, {.rtol = 1e-9, .atol = 1e-9});
  const auto stretch = [&](double t) { return motion.at(t).pose(1).x.x() - motion.at(t).pose(0).x.x() - 1.0; };
  expect_near("stretch before the cut", stretch(0.3), 0.2 * std::cos(4.0 * 0.3), 1e-7);
  expect_near("stretch after it", stretch(1.0), 0.2 * std::cos(2.0) - 0.5 * 0.8 * std::sin(2.0), 1e-6);
  try {
    without(problem, {"sprong"});
    ++failures;
  } catch (const InvalidInput& e) {
    if (std::string(e.what()).find("'spring'") == std::string::npos) ++failures;
  }
  try {
    without(fall(1.0), {"spring"});
    ++failures;
  } catch (const InvalidInput& e) {
    std::cout << "refused: " << e.what() << "\n";
  }
}

}  // namespace

int main() {
  impacts();
  jumps();
  observers();
  own_methods();
  studies();
  elements_and_switches();
  return failures == 0 ? 0 : 1;
}
