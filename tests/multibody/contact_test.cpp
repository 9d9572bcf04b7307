// Compliant contact and gravity between bodies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "io/model_file/model_file.hpp"
#include "kreisel/check.hpp"
#include "kreisel/mechanism.hpp"
#include "multibody/samples.hpp"
#include "run/integrator.hpp"
#include "system/dense.hpp"

namespace {

using namespace kreisel;

io::ModelFile read(const std::string& text) { return io::read_model(io::JsonSource("test.json", text)); }

run::Report run_file(const io::ModelFile& file, double t_end, double tolerance = 1e-9) {
  run::Options options;
  options.t_end = t_end;
  options.rtol = options.atol = tolerance;
  run::Observer nobody;
  run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  return report;
}

// ---- every pair of shapes where it touches

class EveryContact : public testing::TestWithParam<std::tuple<std::string, lie::GroupId, bool>> {};

TEST_P(EveryContact, HasTheDerivativesAndThePowerItClaims) {
  const auto& [word, group, is_mixed] = GetParam();
  const multibody::ForceInfo& info = multibody::find_force("contact");
  samples::Source source;
  int found = 0, several = 0;
  for (int attempt = 0; attempt < 4000 && found < 6; ++attempt) {
    multibody::Mechanism mechanism;
    mechanism.group = group;
    for (const char* name : {"first", "second"}) mechanism.bodies.push_back(samples::random_body(source, name));
    if (is_mixed) mechanism.bodies[0].group = group == lie::GroupId::se3 ? lie::GroupId::r3xso3 : lie::GroupId::se3;
    multibody::ForceSpec spec = samples::random_force_spec(source, info, {0, 1}, word);
    for (multibody::Frame& frame : spec.frames) frame.p *= 0.3;
    for (auto& [key, value] : spec.numbers)
      if (key.ends_with("length")) value = 1.3;
    spec.numbers["stiffness"] = 30.0;
    spec.numbers["exponent"] = 1.7;
    const auto force = info.build(spec);
    mechanism.forces.push_back(force);
    const multibody::Assembly assembly(std::move(mechanism));
    system::Motion m = samples::random_motion(source, assembly.space());
    for (const std::size_t b : {0, 1}) m.q.segment<3>(assembly.space().blocks()[b].q_at) *= 0.3;
    for (std::size_t b = 2; b < assembly.space().blocks().size(); ++b)  // speeds of touches
      m.q.segment(assembly.space().blocks()[b].q_at, assembly.space().blocks()[b].nq).setConstant(1.4);
    int touching = 0;
    bool is_smooth = true;  // away from corners of the force
    for (int i = 0; i < force->gaps(); ++i) {
      const double gap = assembly.gap_of(0, i, m);
      touching += gap < 0.0 ? 1 : 0;
      is_smooth = is_smooth && std::abs(gap) > 0.05;
    }
    if (touching == 0 || !is_smooth) continue;
    ++found;
    several += touching > 1 ? 1 : 0;
    const Vector nothing(0);
    for (const system::AuditFinding& finding : system::audit(assembly, m, nothing))
      EXPECT_TRUE(finding.ok()) << finding.what << ": error " << finding.error << ", tolerance " << finding.tolerance
                                << " at " << finding.where;
    m.a.setZero();
    system::Residual residual(static_cast<int>(m.v.size()), 0, 0);
    assembly.residual(m, nothing, residual);
    system::KktBlocks blocks(assembly.pattern());
    assembly.mass_and_jacobian(m, blocks);
    const Eigen::Index moving = 12;
    m.a.head(moving) = -system::dense_coupling(assembly, blocks.M)
                            .topLeftCorner(moving, moving)
                            .ldlt()
                            .solve(residual.force.head(moving));
    m.v.tail(m.v.size() - moving).setZero();
    const auto energy_after = [&](double time) {
      system::Motion moved = m;
      const Vector x = time * m.v + (0.5 * time * time) * m.a;
      assembly.space().move(m.q, x, moved.q);
      moved.v += time * m.a;
      return assembly.energy(moved);
    };
    const double h = 1e-6, change = (energy_after(h) - energy_after(-h)) / (2.0 * h);
    const double power = assembly.power(m, nothing).total();
    EXPECT_NEAR(change, power, 1e-6 * (1.0 + std::abs(power)));
    EXPECT_GE(assembly.power(m, nothing).dissipated, 0.0);
  }
  EXPECT_EQ(found, 6);
  if (word == "plane-capsule") {
    EXPECT_GT(several, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryContact,
                         testing::Combine(testing::ValuesIn(samples::words_of(multibody::find_force("contact"))),
                                          testing::Values(lie::GroupId::r3xso3, lie::GroupId::se3), testing::Bool()),
                         [](const auto& given) {
                           std::string name = std::get<0>(given.param) + "_" +
                                              std::string(lie::name_of(std::get<1>(given.param))) +
                                              (std::get<2>(given.param) ? "_mixed" : "");
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// ---- impacts

std::string falling_ball(double height, const std::string& law) {
  return fmt::format(
      R"({{"gravity": [0, 0, -9.81], "bodies": [{{"name": "ball", "mass": 0.7, "inertia": [0.01, 0.01, 0.01], "position": [0, 0, {:.17g}]}}],
    "outputs": {{"gap": {{"gap": "floor"}}, "press": {{"force": "floor"}}}},
    "forces": [{{"name": "floor", "type": "contact", "between": ["ground", "ball"], "at": [[0, 0, 0], [0, 0, {:.17g}]], "second_radius": 0.1, {}}}]}})",
      height + 0.1, height + 0.1, law);
}

/// In the limit of a stiff floor v⁺ = e v⁻, whatever the speed; what gravity does during the contact is of the order g T/v.
TEST(Contact, ReboundsWithItsRestitutionAtEverySpeed) {
  for (const double restitution : {0.9, 0.5, 0.1})
    for (const double height : {1.0, 0.2}) {
      const io::ModelFile file =
          read(falling_ball(height, fmt::format(R"("stiffness": 1e9, "restitution": {})", restitution)));
      const double touch = std::sqrt(2.0 * height / 9.81), speed = 9.81 * touch;
      const double t = touch + restitution * speed / 9.81;  // the highest point
      const run::Report report = run_file(file, t);
      EXPECT_NEAR(report.final.motion.q[2] - 0.1, restitution * restitution * height, 4e-3 * restitution * height)
          << restitution << " from " << height;
      EXPECT_LT(report.energy_error, 1e-6);
    }
}

/// m v dv = -k δⁿ(1 + d v) dδ, without gravity: v - ln(1 + d v)/d is the same before and after.
TEST(Contact, WithADampingLosesWhatTheIntegralSays) {
  const double d = 0.3, v = 2.0;
  const io::ModelFile file = read(
      R"({"bodies": [{"name": "ball", "mass": 0.7, "inertia": [0.01, 0.01, 0.01], "position": [0, 0, 0.101], "velocity": [0, 0, -2]}],
          "forces": [{"name": "floor", "type": "contact", "between": ["ground", "ball"], "at": [[0, 0, 0], [0, 0, 0.101]], "second_radius": 0.1, "stiffness": 1e6, "damping": 0.3, "exponent": 1.5}]})");
  const run::Report report = run_file(file, 0.02, 1e-11);
  const double after = report.final.motion.v[2];
  EXPECT_GT(after, 0.5);
  EXPECT_NEAR(v - std::log(1.0 + d * v) / d, -after - std::log(1.0 - d * after) / d, 1e-8);
}

/// The elastic contact conserves the energy over many bounces.
TEST(Contact, WithoutDampingKeepsTheEnergy) {
  const io::ModelFile file = read(falling_ball(0.3, R"("stiffness": 1e6)"));
  const run::Report coarse = run_file(file, 3.0, 1e-8), report = run_file(file, 3.0, 1e-10);
  const double energy = 0.7 * 9.81 * 0.3;
  EXPECT_LT(coarse.energy_error, 1e-4 * energy);
  EXPECT_LT(report.energy_error, 0.1 * coarse.energy_error);
  EXPECT_LT(report.energy_error, 1e-6 * energy);
  EXPECT_GT(report.events.size(), 10u);
  EXPECT_EQ(report.events.front().event, "floor");
}

/// Steps of constant size over a touch and a release. A linear law has its corner there, and with damping the force jumps in its rate.
TEST(Contact, KeepsTheOrderOfTheMethodOverTouchAndRelease) {
  const std::string text =
      R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "ball", "mass": 0.7, "inertia": [0.01, 0.01, 0.01], "position": [0, 0, 0.2], "angular_velocity": [0, 3, 0]}],
          "forces": [{"name": "floor", "type": "contact", "between": ["ground", "ball"], "at": [[0, 0, 0], [0, 0, 0.2]], "second_radius": 0.1, "stiffness": 2000, "exponent": 1,
                      "restitution": 0.6, "friction": 0.2, "smoothing_speed": 0.5}]})";
  const io::ModelFile file = read(text);
  const run::Report exact = run_file(file, 0.24, 1e-12);
  ASSERT_EQ(exact.events.size(), 2u);
  for (const int order : {2, 3, 4}) {
    double last = 0.0, slope = 0.0;
    for (const double step : {4e-4, 2e-4, 1e-4}) {
      run::Options options;
      options.t_end = 0.24;
      options.step = step;
      options.order = order;
      run::Observer nobody;
      const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
      ASSERT_EQ(report.status, run::Status::success) << report.message;
      const double error = (report.final.motion.q - exact.final.motion.q).head<7>().norm() +
                           (report.final.motion.v - exact.final.motion.v).head<6>().norm();
      slope = std::log2(last / error);
      last = error;
    }
    EXPECT_GT(slope, order - 0.4) << "order " << order << ", error " << last;
  }
}

/// Capobianco, Harsch, Eugster, Leine 2021, 10.1: a ball with ω₀ = 50 and μ = 0.2 falls on a plane. The normal impulse is m g t in the mean,
/// whatever the floor does, so that it slides until t = 0.728119994 s and rolls then with v = 10/7.
TEST(Contact, LetsASpinningBallSlideAndThenRoll) {
  const std::string text =
      R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "ball", "mass": 1, "inertia": [0.004, 0.004, 0.004], "position": [0, 0, 1], "angular_velocity": [0, 50, 0]}],
          "outputs": {"speed": {"velocity": "ball"}, "press": {"force": "floor"}},
          "forces": [{"name": "floor", "type": "contact", "between": ["ground", "ball"], "at": [[0, 0, 0], [0, 0, 1]], "second_radius": 0.1, "stiffness": 1e7, "restitution": 0.05,
                      "friction": 0.2, "smoothing_speed": 1e-4}]})";
  for (const char* group : {"r3xso3", "se3"}) {
    const io::ModelFile file = read(R"({"group": ")" + std::string(group) + R"(", )" + text.substr(1));
    const auto velocity = [&](const run::Report& report) {
      system::Motion m = report.final.motion;
      Vector out(file.assembly->output_size());
      file.assembly->evaluate_outputs(m, report.final.lambda, out);
      return out[0];
    };
    const double before = velocity(run_file(file, 0.72, 1e-8)), after = velocity(run_file(file, 0.74, 1e-8));
    // v = μ g t while it slides, from the mean of the normal force: m g (t - 0) since it started to fall.
    EXPECT_NEAR(before, 0.2 * 9.81 * 0.72, 2e-3);
    EXPECT_NEAR(0.728119994, 10.0 / 7.0 / (0.2 * 9.81), 1e-9);
    EXPECT_NEAR(after, 10.0 / 7.0, 1e-3);
  }
}

/// A capsule that lies flat stands on both ends, one that leans only on one.
TEST(Contact, CarriesACapsuleOnBothEnds) {
  const io::ModelFile file = read(
      R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "rod", "mass": 2, "inertia": [0.001, 0.1, 0.1], "position": [0, 0, 0.05]}],
          "outputs": {"press": {"force": "floor"}, "gap": {"gap": "floor"}},
          "forces": [{"name": "floor", "type": "contact", "shapes": "plane-capsule", "between": ["ground", "rod"], "at": [[0, 0, 0], [0, 0, 0.05]], "axes": [[0, 0, 1], [1, 0, 0]],
                      "second_radius": 0.05, "second_length": 0.6, "stiffness": 1e5, "exponent": 1, "damping": 20, "friction": 0.5}]})");
  const run::Report report = run_file(file, 3.0);
  Vector out(file.assembly->output_size());
  file.assembly->evaluate_outputs(report.final.motion, report.final.lambda, out);
  EXPECT_NEAR(out[0], 2.0 * 9.81, 1e-3);
  EXPECT_NEAR(out[1], -9.81 / 1e5, 1e-7);
}

TEST(Contact, IsRefusedWithoutWhatItsShapesNeed) {
  const auto complaint = [](const std::string& law) -> std::string {
    try {
      read(R"({"bodies": [{"name": "ball", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 1]}],
        "outputs": {"d": {"gap": "floor"}}, "forces": [{"name": "floor", "type": "contact", "between": ["ground", "ball"], )" +
           law + "}]}");
    } catch (const InvalidInput& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(R"("second_radius": 0.1, "stiffness": 1)"), "");
  EXPECT_NE(complaint(R"("stiffness": 1)").find("second_radius"), std::string::npos);
  EXPECT_NE(complaint(R"("second_radius": 0.1)").find("stiffness"), std::string::npos);
  EXPECT_NE(complaint(R"("second_radius": 0.1, "stiffness": 1, "first_radius": 2)").find("first_radius"),
            std::string::npos);
  EXPECT_NE(complaint(R"("shapes": "plane-plane", "stiffness": 1)").find("plane-sphere"), std::string::npos);
  EXPECT_NE(
      complaint(R"("second_radius": 0.1, "stiffness": 1, "restitution": 0.5, "damping": 1)").find("leave one out"),
      std::string::npos);
  EXPECT_NE(complaint(R"("second_radius": 0.1, "stiffness": 1, "restitution": 0)").find("0.01"), std::string::npos);
}

TEST(Contact, IsTheSameInCpp) {
  const io::ModelFile file = read(falling_ball(0.3, R"("stiffness": 1e6, "restitution": 0.6)"));
  Mechanism mechanism;
  const Body ball = mechanism.add_body(
      {.name = "ball", .mass = 0.7, .inertia = diagonal(0.01, 0.01, 0.01), .position = {0.0, 0.0, 0.4}});
  const int floor = mechanism.add_force({.type = "contact",
                                         .bodies = {ground, ball},
                                         .points = {Vector3::Zero(), {0.0, 0.0, 0.4}},
                                         .axes = {Vector3::UnitZ()},
                                         .numbers = {{"second_radius", 0.1}, {"stiffness", 1e6}, {"restitution", 0.6}},
                                         .name = "floor"});
  mechanism.add_output("gap", gap_of(floor)).add_output("press", effort_of(floor));
  const run::Problem problem = mechanism.problem({.t_end = 1.0});
  run::Options options;
  options.t_end = 1.0;
  options.rtol = options.atol = 1e-9;
  run::Observer nobody;
  const run::Report report = run::integrate(*problem.system, problem.start, options, nobody);
  const run::Report from_file = run_file(file, 1.0);
  ASSERT_EQ(report.status, run::Status::success);
  EXPECT_EQ(report.final.motion.q, from_file.final.motion.q);
  EXPECT_EQ(report.events.size(), from_file.events.size());
}

// ---- gravity between bodies

/// Two bodies on an ellipse about their centre of mass: after a period they are where they were.
TEST(GravityField, ClosesAKeplerOrbit) {
  const double m1 = 3.0, m2 = 2.0, S = 10.0, a = 1.5, eccentricity = 0.6;
  const double mu = S * (m1 + m2) / (m1 * m2);  // of the relative motion
  const double period = 2.0 * M_PI * std::sqrt(a * a * a / mu);
  const double r = a * (1.0 - eccentricity), v = std::sqrt(mu * (1.0 + eccentricity) / (a * (1.0 - eccentricity)));
  for (const char* group : {"r3xso3", "se3"}) {
    const io::ModelFile file = read(fmt::format(
        R"({{"group": "{}", "outputs": {{"pull": {{"force": "field"}}, "V": {{"energy": "potential"}}}},
        "bodies": [{{"name": "a", "mass": 3, "inertia": [1, 1, 1], "position": [{:.17g}, 0, 0], "velocity": [0, {:.17g}, 0]}},
                   {{"name": "b", "mass": 2, "inertia": [1, 1, 1], "position": [{:.17g}, 0, 0], "velocity": [0, {:.17g}, 0], "angular_velocity": [1, 2, 3]}}],
        "forces": [{{"name": "field", "type": "gravity-field", "between": ["a", "b"], "strength": 10}}]}})",
        group, -r * m2 / (m1 + m2), -v * m2 / (m1 + m2), r * m1 / (m1 + m2), v * m1 / (m1 + m2)));
    const run::Report report = run_file(file, period, 1e-11);
    EXPECT_NEAR(report.final.motion.q[7], r * m1 / (m1 + m2), 1e-8);
    EXPECT_NEAR(report.final.motion.q[8], 0.0, 1e-7);
    EXPECT_LT(report.energy_error, 1e-9 * S / r);
    Vector out(file.assembly->output_size());
    file.assembly->evaluate_outputs(report.final.motion, report.final.lambda, out);
    EXPECT_NEAR(out[0], S / (r * r), 1e-6);
    EXPECT_NEAR(out[1], -S / r, 1e-6);
  }
}

TEST(GravityField, TakesTheMassesOfItsBodies) {
  const io::ModelFile file = read(
      R"({"outputs": {"pull": {"force": "field"}}, "bodies": [{"name": "earth", "mass": 5.9722e24, "inertia": [1, 1, 1], "position": [0, 0, 0]},
        {"name": "apple", "mass": 0.1, "inertia": [1, 1, 1], "position": [6.371e6, 0, 0]}], "forces": [{"name": "field", "type": "gravity-field", "between": ["earth", "apple"]}]})");
  Vector out(file.assembly->output_size());
  system::Motion m(file.assembly->space());
  m.q = file.model.start.q0;
  file.assembly->evaluate_outputs(m, Vector(0), out);
  EXPECT_NEAR(out[0], 0.982, 1e-3);
  EXPECT_THROW(
      read(
          R"({"bodies": [{"name": "apple", "mass": 0.1, "inertia": [1, 1, 1], "position": [1, 0, 0]}], "forces": [{"type": "gravity-field", "between": ["ground", "apple"]}]})"),
      InvalidInput);
}

}  // namespace
