// Which elements two neighbouring mechanisms differ in: against differences of whole residuals.
#include "system/deviation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>

#include "io/model_file/model_catalogue.hpp"
#include "io/result/prepare.hpp"
#include "io/result/tuning.hpp"

namespace {

using namespace kreisel;

struct Case {
  const char *model, *name;
  int most_entries;  ///< of the force; -1: all of them
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.model << " by " << c.name; }

int entries(const std::vector<system::Deviation::Range>& ranges) {
  int count = 0;
  for (const auto& range : ranges) count += range.size;
  return count;
}

lie::Motion some_motion(const lie::Space& space, std::mt19937& random) {
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  lie::Motion m(space);
  Vector step(space.nv());
  m.t = 0.3;
  for (double& x : step) x = number(random);
  space.move(m.q, step, m.q);
  for (Vector* v : {&m.v, &m.a})
    for (double& x : *v) x = number(random);
  return m;
}

/// The ranges hold all that differs, and the difference is that of the systems.
void expect_whole(const system::System& a, const system::System& b, int most_entries) {
  const auto deviation = system::make_deviation(a, b);
  if (most_entries >= 0) {
    EXPECT_LE(entries(deviation->force()), most_entries);
  }
  const int nv = a.space().nv(), rows = a.pattern().rows(), position_rows = a.pattern().position_rows();
  std::mt19937 random(7);
  for (int i = 0; i < 4; ++i) {
    const lie::Motion m = some_motion(a.space(), random);
    Vector lambda(rows), mu(position_rows);
    for (Vector* v : {&lambda, &mu})
      for (double& x : *v) x = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
    system::Residual of_a(nv, position_rows, rows), of_b = of_a, found = of_a;
    a.residual(m, lambda, of_a);
    b.residual(m, lambda, of_b);
    deviation->residual(m, lambda, 2.0, found);
    const auto expect_near = [](const Vector& x, const Vector& plus, const Vector& minus) {
      for (Eigen::Index k = 0; k < x.size(); ++k)
        EXPECT_NEAR(x[k], 2.0 * (plus[k] - minus[k]), 1e-14 * (std::abs(plus[k]) + std::abs(minus[k]) + 100.0)) << k;
    };
    expect_near(found.force, of_a.force, of_b.force);
    expect_near(found.gap, of_a.gap, of_b.gap);
    expect_near(found.rate, of_a.rate, of_b.rate);
    Vector force_a = Vector::Zero(nv), force_b = force_a, change = force_a;
    a.constraint_force(m, mu, force_a);
    b.constraint_force(m, mu, force_b);
    deviation->constraint_force(m, mu, 2.0, change);
    expect_near(change, force_a, force_b);
  }
}

class Deviation : public testing::TestWithParam<Case> {};

TEST_P(Deviation, IsThatOfTheWhole) {
  const Case& c = GetParam();
  for (const std::string group : {"r3xso3", "se3"}) {
    SCOPED_TRACE(group);
    io::RunSpec spec;
    spec.model = c.model;
    spec.group = group;
    const double p = io::parameter_value(spec, c.name), s = 1e-3 * (p != 0.0 ? p : 1.0);
    const io::PreparedRun a = io::prepare(io::with_parameter(spec, c.name, p + s)),
                          b = io::prepare(io::with_parameter(spec, c.name, p - s));
    expect_whole(*a.model.system, *b.model.system, c.most_entries);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Deviation,
                         testing::Values(Case{"chain", "gravity", -1}, Case{"leg", "L", -1}, Case{"leg", "m", -1},
                                         Case{"leg", "k", -1}, Case{"leg", "phase", -1}, Case{"two-legs", "left.L", -1},
                                         Case{"hanging-chain", "L", -1}, Case{"robot-arm", "m", -1}),
                         [](const auto& info) { return "case" + std::to_string(info.index); });

constexpr const char* springs = R"json({"parameters": {"k": 10, "m": 1, "c": 2, "F": 3},
  "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}, {"name": "b", "mass": "=m", "inertia": [1, 1, 1], "position": [1, 0, 0]}],
  "joints": [{"name": "j", "type": "revolute", "between": ["a", "b"], "at": [0.5, 0, 0], "axis": [0, 0, 1]}],
  "forces": [{"type": "spring-damper", "between": ["ground", "a"], "at": [[0, 3, 0], [0, 0, 0]], "stiffness": "=k", "length": 2.5},
             {"type": "torque", "joint": "j", "value": "=-c*j - F*max(0, j - 100)"}],
  "outputs": {"j": {"angle": "j"}}})json";

const system::System& with(const std::string& name, double value, std::vector<io::PreparedRun>& keep) {
  io::RunSpec spec;
  spec.own_model =
      std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", springs)));
  keep.push_back(io::prepare(io::with_parameter(spec, name, value)));
  return *keep.back().model.system;
}

TEST(Deviation, KnowsTheElementsThatDiffer) {
  std::vector<io::PreparedRun> keep;
  keep.reserve(16);
  EXPECT_TRUE(system::make_deviation(with("k", 10, keep), with("k", 10, keep))->is_zero());
  for (const auto& [name, low, high, count] :
       {std::tuple("k", 10.0, 10.001, 6), std::tuple("m", 1.0, 1.001, 6), std::tuple("c", 2.0, 2.001, 13)}) {
    SCOPED_TRACE(name);
    const system::System &a = with(name, high, keep), &b = with(name, low, keep);
    const auto deviation = system::make_deviation(a, b);
    EXPECT_EQ(entries(deviation->force()), count);
    EXPECT_FALSE(deviation->has_rows());
    expect_whole(a, b, count);
  }
}

/// A branch that the tested motions do not take still counts: 100 rad away. The law acts on two bodies and counts its turns.
TEST(Deviation, SeesWhatActsElsewhere) {
  std::vector<io::PreparedRun> keep;
  keep.reserve(4);
  EXPECT_EQ(entries(system::make_deviation(with("F", 3.001, keep), with("F", 3, keep))->force()), 13);
}

/// A rope is slack at the motions that are tested, and the parameter moves the point that it hangs on: its formula is the same.
TEST(Deviation, SeesWhereARopeHangs) {
  constexpr const char* rope = R"json({"parameters": {"h": 100},
    "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    "forces": [{"type": "spring-damper", "between": ["ground", "b"], "at": [[0, 0, "=h"], [0, 0, 0]], "length": 110, "force": "=20*max(0, x)"}]})json";
  std::vector<io::PreparedRun> keep;
  for (const double h : {100.001, 100.0}) {
    io::RunSpec spec;
    spec.own_model =
        std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", rope)));
    keep.push_back(io::prepare(io::with_parameter(spec, "h", h)));
  }
  const auto deviation = system::make_deviation(*keep[0].model.system, *keep[1].model.system);
  EXPECT_EQ(entries(deviation->force()), 6);
}

}  // namespace
