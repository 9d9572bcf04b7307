// Files of earlier formats keep their meaning. tests/io/old has files in the words of before parameters, outputs, laws, limits and
// events; these files stay as they are. What they mean is checked in two ways: against numbers worked out by hand from the laws as they
// were documented, and bit for bit against the same mechanism in today's words with every default spelled out.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "run/integrator.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;

std::string old_file(const std::string& name) { return support::in_sources("tests/io/old/" + name); }

/// At the start, without accelerations and reactions: minus what acts on a body, torques in its axes with the gyroscopic part.
std::map<std::string, std::pair<Vector3, Vector3>> loads_of(const io::ModelFile& file) {
  const multibody::Assembly& assembly = *file.assembly;
  system::Motion m(assembly.space());
  m.t = file.model.start.t0;
  m.q = file.model.start.q0;
  m.v = file.model.start.v0;
  const system::Pattern& pattern = assembly.pattern();
  system::Residual r(assembly.space().nv(), pattern.position_rows(), pattern.rows());
  const Vector no_lambda = Vector::Zero(pattern.rows());
  assembly.residual(m, no_lambda, r);
  std::map<std::string, std::pair<Vector3, Vector3>> loads;
  for (std::size_t b = 0; b < assembly.mechanism().bodies.size(); ++b) {
    const int at = assembly.space().blocks()[b].v_at;
    loads[assembly.mechanism().bodies[b].name] = {-r.force.segment<3>(at), -r.force.segment<3>(at + 3)};
  }
  return loads;
}

TEST(OldFiles, ForcesDoWhatTheyDid) {
  const auto loads = loads_of(io::read_model_file(old_file("forces.json")));
  const struct {
    const char* body;
    Vector3 force, torque;
  } expected[] = {{"applied", {1, 2, 3 - 20}, {-1.5, 0, 1.5}},  // at 0.5 m along x, seen in axes turned by 90° about z
                  {"pushed", {0, 1, 5 - 20}, {0, 0, 0}},        // (1, 0, 5) in axes turned by 90° about z
                  {"sprung", {-(10 * 0.5 + 2 * 1), 0, -10}, {0, 0, 0}},  // 3 m of 2.5 m, 1 m/s
                  {"hung", {-1.2 * 0.6, -1.2 * 0.8, -10}, {0, 0, 0}},    // the length is the initial distance; 0.6 m/s
                  {"twisted", {0, 0, -10}, {0, 0, 5 * 0.2 - 0.3 * 2}},   //
                  {"held", {-6 * 1, -4 * 2, -5 * 3 - 10}, {0, 0, 0}},    // the axes of a bushing along x are y, z, x
                  {"driven", {0, 0, 3 - 20 * 1 - 4 * (0.5 - 1) - 10}, {0, 0, 0}},
                  {"turned", {0, 0, -10}, {0, 0, 1 - 1 * (0.25 - 0.5)}}};  // its angle counts from the start
  for (const auto& [body, force, torque] : expected) {
    EXPECT_LT((loads.at(body).first - force).norm(), 1e-12) << body << ": " << loads.at(body).first.transpose();
    EXPECT_LT((loads.at(body).second - torque).norm(), 1e-12) << body << ": " << loads.at(body).second.transpose();
  }
}

io::PreparedRun prepared(const std::string& name) {
  io::RunSpec spec;
  spec.model = old_file(name);
  return io::prepare(spec);
}

TEST(OldFiles, JointsAllowWhatTheyDid) {
  io::PreparedRun run = prepared("joints.json");
  const double span = 1e-5;
  run.options.t_end = run.model.start.t_end = span;
  run::Observer nobody;
  const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, nobody);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  const auto& assembly = dynamic_cast<const multibody::Assembly&>(*run.model.system);
  const Vector a = (report.final.motion.v - run.model.start.v0) / span;
  const double g = 9.81;
  const struct {
    const char* body;
    int entry;  ///< 0 to 2: along x, y, z; 3 to 5: about them
    double value;
  } expected[] = {{"body1", 2, -0.5 * 9.81 * 2 * 0.5 / 0.7},
                  {"body1", 3, -9.81 * 2 * 0.5 / 0.7},
                  {"slider", 0, -0.2 * g * std::tanh(0.02 / 0.01) - 0.5 * 0.02 / 3},
                  {"slider", 2, 0},
                  {"sun", 5, 3 / (0.3 + 0.2 / 4)},
                  {"planet", 5, -0.5 * 3 / (0.3 + 0.2 / 4)},
                  {"bob", 2, -g},
                  {"bob", 0, 0},
                  {"ball", 2, 1},
                  {"shaft", 3, 0},
                  {"fork", 2, -0.5 * (0.5 * g / 1.25)},
                  {"fork", 4, 0.5 * g / 1.25},
                  {"sleeve", 2, -g},
                  {"sheet", 2, -g},
                  {"block", 2, -g},
                  {"bead", 1, 0.8 * g * 0.6},
                  {"bead", 2, -0.8 * g * 0.8},
                  {"puck", 0, 4},
                  {"puck", 2, 0},
                  {"lift", 2, 3}};
  std::map<std::string, int> at;
  for (std::size_t b = 0; b < assembly.mechanism().bodies.size(); ++b)
    at[assembly.mechanism().bodies[b].name] = assembly.space().blocks()[b].v_at;
  for (const auto& [body, entry, value] : expected)
    EXPECT_NEAR(a[at.at(body) + entry], value, 2e-3) << body << " " << entry;
  EXPECT_NEAR(report.final.motion.v[at.at("sleeve") + 5], 1.0, 1e-9);
}

TEST(OldFiles, LawsStatesLimitsAndEventsMeanWhatTheyDid) {
  const io::PreparedRun run = prepared("laws.json");
  run::Observer nobody;
  const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, nobody);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  const system::System& system = report.systems.empty() ? *run.model.system : *report.systems.back();
  Vector values(system.output_size());
  system.evaluate_outputs(report.final.motion, report.final.lambda, values);
  std::map<std::string, double> found;
  Eigen::Index next = 0;
  for (const system::OutputInfo& info : system.outputs())
    for (int i = 0; i < info.size(); ++i) found[info.column(i)] = values[next++];
  const double t = 0.6, g = 9.81;
  // 2 ẍ + 2 ẋ + 80 x = 0, x(0) = 0.2
  const double decay = 0.5, omega = std::sqrt(40.0 - 0.25), e = 0.2 * std::exp(-decay * t);
  const double x = e * (std::cos(omega * t) + decay / omega * std::sin(omega * t)),
               v = -e * 40.0 / omega * std::sin(omega * t);
  const double touch = std::sqrt(2.0 / g), since = t - touch;
  const double up = 20.0 - g, coast = t - 0.2;
  const double turn = 3.0 / (0.5 + 4.0 * 0.25);
  // v̇ = t/2 - 2 v: v = t/4 - 1/8 + e^(-2t)/8
  const std::map<std::string, double> expected{{"stretch", 0.7 + x},
                                               {"pull", 80.0 * x + 2.0 * v},
                                               {"height", 0.9 * g * touch * since - 0.5 * g * since * since},
                                               {"rise", 0.5 * up * 0.04 + 0.2 * up * coast - 0.5 * g * coast * coast},
                                               {"turn", 0.5 * M_PI + t + 0.5 * turn * t * t},
                                               {"back", -170.0 * M_PI / 180.0 - 2.0 * t - turn * t * t},
                                               {"drop_at.x", 3.0},
                                               {"drop_at.z", 3.0 * t - 0.5 * g * t * t},
                                               {"way", t * t / 8.0 - t / 8.0 + (1.0 - std::exp(-2.0 * t)) / 16.0},
                                               {"sum", 0.5 * M_PI + t + 0.5 * turn * t * t - 2.0 - 2.0 * turn * t},
                                               {"lag", 1.0 - std::exp(-t)},
                                               {"thrust", 0.0}};
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_NEAR(found.at(name), value, 1e-7) << name;
  }
  std::map<std::string, double> times;
  for (const run::Occurrence& event : report.events) times.insert({event.event, event.t});
  EXPECT_NEAR(times.at("cut"), 0.2, 1e-12);
  EXPECT_NEAR(times.at("mark"), std::sqrt(1.0 / g), 1e-9);
}

/// Of all bits of all numbers that a run shows.
class Hash final : public run::Observer {
 public:
  bool accept(const run::Point& point) override {
    add(point.entry.motion.t);
    for (const Vector* x : {&point.entry.motion.q, &point.entry.motion.v, &point.entry.lambda})
      for (const double entry : *x) add(entry);
    return true;
  }
  std::uint64_t value = 14695981039346656037ull;
  long numbers = 0;

 private:
  void add(double x) {
    value = (value ^ std::bit_cast<std::uint64_t>(x)) * 1099511628211ull;
    value ^= value >> 29;  // else two signs that change undo each other
    ++numbers;
  }
};

std::pair<std::uint64_t, long> hash_of(const std::string& name) {
  const io::PreparedRun run = prepared(name);
  Hash hash;
  const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, hash);
  EXPECT_EQ(report.status, run::Status::success) << name << ": " << report.message;
  return {hash.value, hash.numbers};
}

/// A default that changes, or a word that takes another meaning when formulas, names or switches stand beside it, changes bits.
TEST(OldFiles, AreTheSameBitForBitInTodaysWords) {
  for (const std::string name : {"forces", "joints"}) {
    const auto [old_hash, old_numbers] = hash_of(name + ".json");
    const auto [new_hash, new_numbers] = hash_of(name + ".spelled.json");
    EXPECT_GT(old_numbers, 500) << name;
    EXPECT_EQ(old_numbers, new_numbers) << name;
    EXPECT_EQ(old_hash, new_hash) << name;
  }
}

/// The names that results of old files have.
TEST(OldFiles, KeepTheNamesOfTheirParts) {
  const io::ModelFile forces = io::read_model_file(old_file("forces.json")),
                      joints = io::read_model_file(old_file("joints.json"));
  std::vector<std::string> names;
  for (const multibody::ForcePtr& force : forces.assembly->mechanism().forces) names.push_back(force->name());
  EXPECT_EQ(names, (std::vector<std::string>{"applied applied", "applied pushed", "spring-damper ground-sprung",
                                             "spring-damper ground-hung", "torsional-spring-damper ground-twisted",
                                             "bushing ground-held", "linear-actuator ground-driven",
                                             "rotary-actuator ground-turned"}));
  EXPECT_EQ(joints.assembly->mechanism().joints[0]->name(), "revolute ground-body1");
  EXPECT_EQ(joints.assembly->mechanism().joints[6]->name(), "spherical ground-ball");
  EXPECT_EQ(joints.assembly->mechanism().bodies[0].name, "body1");
  EXPECT_EQ(lie::name_of(joints.assembly->mechanism().group), "r3xso3");
  EXPECT_TRUE(forces.model.warnings.empty()) << forces.model.warnings.front();
  EXPECT_TRUE(joints.model.warnings.empty()) << joints.model.warnings.front();
}

}  // namespace
