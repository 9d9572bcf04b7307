#include "io/result/summary.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "io/model_file/model_catalogue.hpp"
#include "io/result/prepare.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;
using io::Json;

/// A report with every number set by hand.
run::Report report_of(const io::PreparedRun& run) {
  run::Observer nobody;
  return run::integrate(*run.model.system, run.model.start, run.options, nobody);
}

io::PreparedRun prepared(const char* model, const char* t_end = "0.01") {
  io::RunSpec spec;
  spec.model = model;
  return io::prepare(spec.set("step", 1e-3).set("t_end", t_end));
}

Json summary_of(const io::PreparedRun& run, const run::Report& report) {
  return io::summarize(run, report, {"folder", "", {"trajectory.csv", 11, 40, 1}}, "kreisel run");
}

const char* const contract_fields[] = {"model",  "group",   "method", "order",      "formulation", "step",  "t_end",
                                       "status", "message", "final",  "statistics", "constraints", "energy"};

TEST(Summary, MarksJointsThatAreSwitchedOff) {
  // The latch holds until t = 0.005; the brake waits until then.
  io::RunSpec spec;
  spec.own_model =
      std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", R"j({
 "bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
 "joints": [{"name": "rail", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [1, 0, 0]},
            {"name": "latch", "type": "distance", "between": ["ground", "m"], "at": [[1, 0, 0], [0, 0, 0]]},
            {"name": "brake", "type": "distance", "between": ["ground", "m"], "at": [[1, 0, 0], [0, 0, 0]], "active": false}],
 "events": [{"name": "e", "when": "=t - 0.005", "action": {"switch": {"off": ["latch"], "on": ["brake"]}}}]})j")));
  for (const auto& [t_end, off] : {std::pair("0.004", "brake"), std::pair("0.01", "latch")}) {
    const io::PreparedRun run = io::prepare(io::RunSpec(spec).set("step", 1e-3).set("t_end", t_end));
    const Json s = summary_of(run, report_of(run));
    ASSERT_EQ(s["final"]["joints"].size(), 3u);
    for (const Json& joint : s["final"]["joints"]) {
      EXPECT_EQ(joint.contains("active"), joint["name"] == off) << t_end << " " << joint;
      EXPECT_EQ(joint.contains("force"), joint["name"] != off) << t_end << " " << joint;
    }
  }
}

TEST(Summary, HasTheFieldsOfTheContractInItsOrder) {
  const io::PreparedRun run = prepared("heavy-top");
  const run::Report report = report_of(run);
  const Json s = summary_of(run, report);
  auto item = s.items().begin();
  for (const char* name : contract_fields) {
    EXPECT_EQ(item.key(), name);
    ++item;
  }
  EXPECT_EQ(s["model"], "heavy-top");
  EXPECT_EQ(s["group"], "r3xso3");
  EXPECT_EQ(s["method"], "bliedf");
  EXPECT_EQ(s["order"], 4);
  EXPECT_EQ(s["formulation"], "stabilized-index2");
  EXPECT_EQ(s["step"], 1e-3);
  EXPECT_EQ(s["t_end"], 0.01);
  EXPECT_EQ(s["status"], "success");
  EXPECT_EQ(s["message"], "");
  EXPECT_EQ(s["statistics"]["steps"], 10);
  for (const char* name : {"rejected_steps", "newton_iterations", "residual_evaluations", "jacobian_evaluations",
                           "factorizations", "exponentials", "brackets", "solve_seconds"})
    EXPECT_TRUE(s["statistics"][name].is_number()) << name;
  EXPECT_EQ(s["constraints"]["position_max"], report.position_max);
  EXPECT_EQ(s["energy"]["final"], report.energy_final);
  EXPECT_EQ(s["starting"], "corrected");
  EXPECT_EQ(s["correction"], "magnus");
  EXPECT_EQ(s["parameters"]["model"]["mass"], 15.0);
  EXPECT_EQ(s["parameters"]["model"]["constraint"], "body");
  EXPECT_EQ(s["output"]["file"], "trajectory.csv");
  EXPECT_TRUE(s["output"]["thinned"].is_null());
  EXPECT_EQ(s["kreisel"]["command"], "kreisel run");
}

TEST(Summary, TheFinalPointOfABodyIsPoseAndVelocity) {
  const io::PreparedRun run = prepared("heavy-top");
  const run::Report report = report_of(run);
  const Json final = summary_of(run, report)["final"];
  EXPECT_EQ(final["t"], 0.01);
  ASSERT_EQ(final["bodies"].size(), 1u);
  const Json& body = final["bodies"][0];
  const system::Pose pose = run.model.system->body_pose(0, report.final.motion.q);
  EXPECT_EQ(body["name"], "top");
  ASSERT_EQ(body["R"].size(), 9u);
  ASSERT_EQ(body["v"].size(), 6u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(body["x"][i], pose.x[i]);
    for (int j = 0; j < 3; ++j) EXPECT_EQ(body["R"][3 * i + j], pose.R(i, j));
  }
  EXPECT_EQ(final["lambda"].size(), 3u);
  EXPECT_FALSE(final.contains("q"));
}

TEST(Summary, ModelsInRnHaveQ) {
  const io::PreparedRun run = prepared("pendulum");
  const run::Report report = report_of(run);
  const Json final = summary_of(run, report)["final"];
  ASSERT_EQ(final["q"].size(), 2u);
  EXPECT_EQ(final["q"][1], report.final.motion.q[1]);
  EXPECT_TRUE(final["bodies"].empty());
}

TEST(Summary, NumbersThatAreNotFiniteBecomeNull) {
  const io::PreparedRun run = prepared("cubic");  // defines no energy
  run::Report report = report_of(run);
  report.position_max = std::numeric_limits<double>::infinity();
  report.final.lambda[0] = std::numeric_limits<double>::quiet_NaN();
  const Json s = Json::parse(io::to_text(summary_of(run, report)));
  EXPECT_TRUE(s["energy"]["initial"].is_null());
  EXPECT_TRUE(s["constraints"]["position_max"].is_null());
  EXPECT_TRUE(s["final"]["lambda"][0].is_null());
}

TEST(Summary, NumbersSurviveTheText) {
  const io::PreparedRun run = prepared("heavy-top");
  const run::Report report = report_of(run);
  const Json s = Json::parse(io::to_text(summary_of(run, report)));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(s["final"]["bodies"][0]["v"][i].get<double>(), report.final.motion.v[i]);
}

TEST(Summary, AReportWithoutAnyPointIsNoReasonToFail) {
  const io::PreparedRun run = prepared("heavy-top");
  run::Report report;
  report.status = run::Status::no_consistent_start;
  report.message = "why";
  const Json s = summary_of(run, report);
  EXPECT_EQ(s["status"], "no-consistent-start");
  EXPECT_EQ(s["message"], "why");
  EXPECT_TRUE(s["final"]["t"].is_null());
  EXPECT_TRUE(s["final"]["bodies"].empty());
}

TEST(Summary, StepIsNullUnderErrorControl) {
  io::RunSpec spec;
  spec.model = "oscillator";
  const io::PreparedRun run = io::prepare(spec.set("t_end", 0.1));
  const Json s = summary_of(run, report_of(run));
  EXPECT_TRUE(s["step"].is_null());
  EXPECT_EQ(s["tolerances"]["rtol"], 1e-6);
}

TEST(Summary, AShrunkStepIsSaid) {
  const io::PreparedRun run = prepared("heavy-top", "0.0105");
  const Json s = summary_of(run, report_of(run));
  EXPECT_EQ(s["step_adjusted"], true);
  EXPECT_DOUBLE_EQ(s["step"].get<double>(), 0.0105 / 11);
}

TEST(Summary, ARequestThatWasRefusedHasTheSameFields) {
  io::RunSpec spec;
  spec.model = "heavy-topp";
  spec.set("method", "bliedf");
  const Json s = io::summarize(io::label_of(spec), io::invalid_input, "unknown model", "kreisel run heavy-topp");
  for (const char* name : contract_fields) EXPECT_TRUE(s.contains(name)) << name;
  EXPECT_EQ(s["model"], "heavy-topp");
  EXPECT_EQ(s["method"], "bliedf");
  EXPECT_EQ(s["status"], "invalid-input");
  EXPECT_EQ(s["message"], "unknown model");
  EXPECT_TRUE(s["final"]["t"].is_null());
}

TEST(Summary, TextThatIsNotUtf8IsReplacedNotThrown) {
  io::RunLabel label;
  label.model = "\xff\xfe";
  const std::string text = io::to_text(io::summarize(label, io::invalid_input, "\xc3", "x"));
  EXPECT_TRUE(Json::accept(text));
}

TEST(Endings, CoverEveryStatusWithItsExitCode) {
  for (const run::StatusInfo& info : run::statuses()) EXPECT_EQ(io::ending_of(info.id).id, info.name);
  EXPECT_EQ(io::ending_of(run::Status::success).exit_code, 0);
  EXPECT_EQ(io::ending_of(run::Status::newton_failed).exit_code, 3);
  EXPECT_EQ(io::ending_of(run::Status::interrupted).exit_code, 130);
}

}  // namespace
