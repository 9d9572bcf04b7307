// kreisel run --conserve with invariants that a model file defines.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/temporary_folder.hpp"
#include "program.hpp"

namespace {

using namespace kreisel::test;
using Json = nlohmann::json;

class ConserveCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder.path() / "pendulum.json") << R"json({ "gravity": [0, -9.81, 0],
  "bodies": [{"name": "rod", "mass": 1, "inertia": [0.001, "=1/12", "=1/12"], "position": [0.5, 0, 0]}],
  "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
  "outputs": {"swing": {"angle": "hinge"}, "total": "=swing'^2/6 + 9.81/2*sin(swing)", "held": {"reaction": "hinge"}, "push": "=held.x"} })json";
  }
  Outcome run(const Process::Words& more) {
    Process::Words words{"run",  "pendulum.json", "--method", "projected-bdf", "--t-end", "5",     "--rtol",
                         "1e-5", "--atol",        "1e-5",     "--out",         "r",       "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return Process(words, folder.path()).wait();
  }
  /// Energy of the rod, which `total` is, too.
  double drift(const Process::Words& more) {
    const Outcome outcome = run(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json energy = Json::parse(outcome.out)["energy"];
    return std::abs(energy["final"].get<double>() - energy["initial"].get<double>());
  }

  TemporaryFolder folder;
};

TEST_F(ConserveCommand, ProjectsOntoAFormulaOfOutputs) {
  EXPECT_GT(drift({}), 1e-6);
  EXPECT_LT(drift({"--conserve", "output.total"}), 1e-12);
}

TEST_F(ConserveCommand, RefusesWhatCannotBeProjectedOnto) {
  const Outcome force = run({"--conserve", "output.push"});
  EXPECT_EQ(force.exit_code, 2);
  EXPECT_NE(force.err.find("depends on accelerations or reactions"), std::string::npos) << force.err;
  const Outcome unknown = run({"--conserve", "output.totl"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'output.total'?"), std::string::npos) << unknown.err;
}

}  // namespace
