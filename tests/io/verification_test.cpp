// Observed errors against closed forms: they must be about the true ones, and what is wrong must show.
#include "io/result/verification.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "io/result/prepare.hpp"
#include "io/result/result.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace kreisel;

struct Verified {
  io::PreparedRun run;
  run::Report report;
  Matrix rows;
  io::Verification verification;

  const io::ObservedError& error(const std::string& quantity) const {
    for (const io::ObservedError& e : verification.errors)
      if (e.quantity == quantity) return e;
    throw InvalidInput("no quantity " + quantity);
  }
};

Verified verified(const io::RunSpec& spec) {
  Verified out;
  out.run = io::prepare(spec);
  io::RowCollector rows(out.run);
  out.report = run::integrate(*out.run.model.system, out.run.model.start, out.run.options, rows);
  out.rows = rows.rows();
  run::Observer nobody;
  out.verification = io::verify(out.run, out.report, out.rows, nobody);
  return out;
}

Eigen::Index column_of(const Verified& v, const std::string& column) {
  const io::TrajectoryLayout layout(v.run.model.system->result_layout(), true);
  for (const io::Quantity& q : layout.quantities())
    for (int i = 0; i < q.size(); ++i)
      if (q.columns[i].name == column) return q.at + i;
  throw InvalidInput("no column " + column);
}

/// A repetition with error r·e of a run with error e differs from it by (1 ± r) e. Error control keeps r below 1/2 at a
/// tenth of the tolerance with every order from 2 on (10^(-2/3) = 0.22 of generalized-alpha), half the steps at 1/2.
void expect_about(double observed, double truth, const std::string& what) {
  EXPECT_GT(observed, 0.5 * truth) << what;
  EXPECT_LT(observed, 1.5 * truth) << what;
}

class Verification : public testing::Test {
 protected:
  io::RunSpec file(const std::string& text) {
    const io::Path path = folder_.path() / "model.json";
    std::ofstream(path) << text;
    io::RunSpec spec;
    spec.model = path.string();
    return spec;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(Verification, ObservesTheTrueErrorOfAnOscillator) {
  struct Case {
    const char *method, *field;
    double value;
  };
  for (const Case& c :
       {Case{"bliedf", "rtol", 1e-4}, Case{"bliedf", "rtol", 1e-6}, Case{"bliedf", "rtol", 1e-8},
        Case{"radau", "rtol", 1e-5}, Case{"generalized-alpha", "rtol", 1e-4}, Case{"bliedf", "step", 0.05},
        Case{"generalized-alpha", "step", 0.05}, Case{"rkmk", "step", 0.1}}) {
    io::RunSpec spec;
    spec.model = "oscillator";
    spec.settings.push_back({"omega", 3.0});
    spec.set("method", c.method).set(c.field, c.value).set("t_end", 5.0);
    if (std::string(c.field) == "rtol") spec.set("atol", 0.01 * c.value);
    const Verified v = verified(spec);
    double q = 0.0, speed = 0.0;
    for (Eigen::Index i = 0; i < v.rows.rows(); ++i) {
      q = std::max(q, std::abs(v.rows(i, 1) - std::cos(3.0 * v.rows(i, 0))));
      speed = std::max(speed, std::abs(v.rows(i, 2) + 3.0 * std::sin(3.0 * v.rows(i, 0))));
    }
    const std::string what = std::string(c.method) + " " + c.field + " " + std::to_string(c.value);
    expect_about(v.error("coordinates").error, q, what);
    expect_about(v.error("velocity of coordinates").error, speed, what);
    EXPECT_EQ(v.verification.points, v.rows.rows()) << what;
  }
}

/// A mass on a rod that goes round on a horizontal circle: everything is known, the force of the rod as well.
constexpr const char* conical_pendulum = R"({
  "gravity": [0, 0, -9.81],
  "bodies": [{"name": "bob", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0.6, 0, -0.8], "velocity": [0, 2.1010711553871753, 0]}],
  "joints": [{"type": "distance", "name": "rod", "between": ["ground", "bob"], "at": [[0, 0, 0], [0.6, 0, -0.8]]}],
  "simulation": {"t_end": 4}
})";

TEST_F(Verification, ObservesTheTrueErrorOfAConicalPendulumWithItsForce) {
  const double omega = std::sqrt(9.81 / 0.8), tension = 2.0 * 9.81 / 0.8;
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    const Verified v = verified(file(conical_pendulum).set("rtol", rtol).set("atol", 0.01 * rtol));
    double position = 0.0, force = 0.0;
    for (Eigen::Index i = 0; i < v.rows.rows(); ++i) {
      const double angle = omega * v.rows(i, 0);
      position = std::max(position, (v.rows.row(i).segment<3>(1).transpose() -
                                     Vector3(0.6 * std::cos(angle), 0.6 * std::sin(angle), -0.8))
                                        .norm());
      const Eigen::Index at = column_of(v, "rod.Fx");
      const Vector3 exact(-0.6 * tension * std::cos(angle), -0.6 * tension * std::sin(angle), 0.8 * tension);
      force = std::max(force, (v.rows.row(i).segment<3>(at).transpose() - exact).norm());
    }
    expect_about(v.error("joint force").error, force, "force at " + std::to_string(rtol));
    expect_about(v.error("position").error, position, "position at " + std::to_string(rtol));
    EXPECT_NEAR(v.error("joint force").scale, tension, 1e-2 * tension);
    EXPECT_NEAR(v.error("position").scale, 1.0, 1e-3);
    EXPECT_NEAR(v.error("position").tolerances, v.error("position").error / (0.01 * rtol + rtol),
                1e-3 * v.error("position").tolerances);
  }
}

TEST_F(Verification, ShowsWhatIsWrong) {
  const Verified good = verified(file(conical_pendulum));
  EXPECT_TRUE(good.verification.warnings.empty()) << good.verification.warnings.front();
  run::Observer nobody;
  for (const auto& [column, quantity] :
       std::map<std::string, std::string>{{"bob.z", "position"}, {"bob.v2", "velocity"}, {"rod.Fx", "joint force"}}) {
    Matrix rows = good.rows;
    rows(80, column_of(good, column)) += 0.02;
    const io::Verification v = io::verify(good.run, good.report, rows, nobody);
    for (const io::ObservedError& e : v.errors) {
      EXPECT_EQ(e.tolerances > 100.0, e.quantity == quantity) << e.quantity << " with a wrong " << column;
      if (e.quantity != quantity) continue;
      EXPECT_NEAR(e.error, 0.02, 1e-4);
      EXPECT_EQ(e.t, rows(80, 0));
    }
    EXPECT_EQ(v.warnings.size(), quantity == "joint force" ? 0U : 1U) << column;  // 0.02 N of 24.5 N are 800 tolerances
  }
}

TEST_F(Verification, ShowsForcesThatAreWrongAtSingularPositions) {
  io::RunSpec spec;
  spec.model = "four-bar";  // loses the rank of B where all bars are in line
  const Verified v = verified(spec);
  EXPECT_GT(v.error("joint force").relative(), 0.1);
  EXPECT_LT(v.error("position").relative(), 1e-2);
  ASSERT_EQ(v.verification.warnings.size(), 1U);
  EXPECT_NE(v.verification.warnings.front().find("joint force of 'base1'"), std::string::npos)
      << v.verification.warnings.front();
}

TEST_F(Verification, SaysThatTheMotionIsSensitive) {
  // A double pendulum that falls from above is chaotic.
  const io::RunSpec spec = file(R"({
    "gravity": [0, 0, -9.81],
    "bodies": [{"name": "upper", "mass": 1, "inertia": [0.01, 0.01, 0.01], "position": [0.02, 0, 1]},
               {"name": "lower", "mass": 1, "inertia": [0.01, 0.01, 0.01], "position": [0.05, 0, 2]}],
    "joints": [{"type": "revolute", "name": "a", "between": ["ground", "upper"], "at": [0, 0, 0], "axis": [0, 1, 0]},
               {"type": "revolute", "name": "b", "between": ["upper", "lower"], "at": [0.02, 0, 1], "axis": [0, 1, 0]}],
    "simulation": {"t_end": 30}
  })");
  const Verified v = verified(io::RunSpec(spec).set("rtol", 1e-5));
  ASSERT_FALSE(v.verification.warnings.empty());
  EXPECT_NE(v.verification.warnings.back().find("single values after that time mean nothing"), std::string::npos)
      << v.verification.warnings.back();
  const Verified shorter = verified(io::RunSpec(spec).set("rtol", 1e-9).set("atol", 1e-11).set("t_end", 6.0));
  EXPECT_GT(shorter.verification.growth, 30.0);
}

TEST_F(Verification, ComparesMotionsWhoseEventsAreShifted) {
  io::RunSpec spec;
  spec.model = "pendulum";
  io::PreparedRun run = io::prepare(spec.set("rtol", 1e-4).set("t_end", 4.0));
  // The bob is thrown back by a wall: the velocity jumps at a time that depends on the tolerance.
  system::Event event;
  event.name = "wall";
  event.function = [](double, const Vector& q, const Vector&, const Vector&) { return q[0] - 0.03; };
  event.action = system::Impact{.restitution = 0.9};
  run.options.events.push_back(event);
  io::RowCollector rows(run);
  const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, rows);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  ASSERT_GT(report.events.size(), 0U);
  run::Observer nobody;
  const io::Verification v = io::verify(run, report, rows.rows(), nobody);
  EXPECT_EQ(v.events.size(), report.events.size());
  EXPECT_GE(v.left_out, 2 * static_cast<long>(report.events.size()));  // both sides
  EXPECT_NE(v.events.front().shift, 0.0);
  for (const io::ObservedError& e : v.errors)
    if (e.quantity == "velocity of coordinates") {
      EXPECT_LT(e.relative(), 1e-2);  // the jump is 1.9
    }
  EXPECT_TRUE(v.warnings.empty()) << v.warnings.front();
}

TEST_F(Verification, SaysWhereARepetitionFailed) {
  class Stop final : public run::Observer {
   public:
    bool goes_on(double t, long) override { return t < 1.0; }
  };
  io::RunSpec spec;
  spec.model = "pendulum";
  const io::PreparedRun run = io::prepare(spec);
  io::RowCollector rows(run);
  const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, rows);
  Stop stop;
  const io::Verification v = io::verify(run, report, rows.rows(), stop);
  EXPECT_EQ(v.status, "interrupted");
  EXPECT_LT(v.t_compared, 1.2);
  EXPECT_GT(v.points, 10);
  ASSERT_FALSE(v.warnings.empty());
  EXPECT_NE(v.warnings.front().find("did not reach its end (interrupted)"), std::string::npos);
}

TEST_F(Verification, DoesNotBelieveStepsThatABoundHolds) {
  // Both runs would take the same steps of a bound; half of it is what makes the error visible.
  io::RunSpec spec;
  spec.model = "oscillator";
  const Verified v = verified(spec.set("method", "generalized-alpha")
                                  .set("rtol", 0.1)
                                  .set("atol", 0.1)
                                  .set("max_step", 0.05)
                                  .set("t_end", 5.0));
  double truth = 0.0;
  for (Eigen::Index i = 0; i < v.rows.rows(); ++i)
    truth = std::max(truth, std::abs(v.rows(i, 1) - std::cos(v.rows(i, 0))));
  expect_about(v.error("coordinates").error, truth, "bounded steps");
}

TEST_F(Verification, WritesToTheSummaryOfAResult) {
  test::TemporaryFolder folder;
  const io::PreparedRun run = io::prepare(file(conical_pendulum));
  io::ResultRequest request;
  request.folder = folder.path() / "out";
  run::Observer nobody;
  io::RunResult result = io::run_to_folder(run, request, nobody);
  EXPECT_TRUE(result.summary["verification"].is_null());
  io::verify_result(run, result, nobody);
  const io::Json summary = io::JsonSource::read(request.folder / "summary.json", "summary").root();
  EXPECT_EQ(summary["verification"], result.summary["verification"]);
  EXPECT_TRUE(summary.contains("scene"));
  EXPECT_EQ(summary["verification"]["status"], "success");
  EXPECT_EQ(summary["verification"]["quantities"][0]["name"], "position");
  EXPECT_EQ(summary["verification"]["quantities"][0]["unit"], "m");
}

}  // namespace
