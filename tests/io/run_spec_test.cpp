
#include <gtest/gtest.h>

#include <cmath>

#include "base/spelling.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;
using io::prepare;
using io::RunSpec;

using Options = std::map<std::string, std::string, std::less<>>;

RunSpec request(const std::string& model, const Options& options = {{"step", "0.01"}},
                const std::vector<std::string>& settings = {}) {
  RunSpec out;
  out.model = model;
  for (const auto& [name, text] : options) out.set(name, text);
  for (const std::string& text : settings) out.read_setting(text);
  return out;
}

std::string complaint(const RunSpec& r) {
  return text_of<InvalidInput>([&] { prepare(r); });
}

TEST(Prepare, WhatAModelSuggestsYieldsToAMethodThatLacksIt) {
  EXPECT_EQ(prepare(request("four-bar", {})).options.formulation, "index3");
  EXPECT_EQ(prepare(request("four-bar", {{"method", "mkbdf"}, {"step", "1e-3"}})).options.formulation, "index3");
  for (const char* method : {"rkmk", "projected-bdf"})
    EXPECT_EQ(prepare(request("four-bar", {{"method", method}})).options.formulation, "") << method;
}

TEST(RunSpec, WordsBecomeOptions) {
  const io::PreparedRun run = prepare(request("heavy-top", {{"method", "generalized-alpha"},
                                                            {"order", "2"},
                                                            {"formulation", "index3"},
                                                            {"starting", "exact"},
                                                            {"step", "1e-3"},
                                                            {"t-end", "+0.5"},
                                                            {"max-steps", "1e6"},
                                                            {"newton-tolerance", "1e-9"},
                                                            {"newton_iterations", "7"},
                                                            {"linear-solver", "sparse"},
                                                            {"output-step", "0.01"}}));
  EXPECT_EQ(run.options.method, "generalized-alpha");
  EXPECT_EQ(run.options.order, 2);
  EXPECT_EQ(run.options.formulation, "index3");
  EXPECT_EQ(run.options.starting, "exact");
  EXPECT_EQ(run.options.step, 1e-3);
  EXPECT_EQ(run.options.t_end, 0.5);
  EXPECT_EQ(run.options.max_steps, 1'000'000);
  EXPECT_EQ(run.options.newton_tolerance, 1e-9);
  EXPECT_EQ(run.options.newton_iterations, 7) << "underscores count as hyphens";
  EXPECT_EQ(run.options.linear_solver, "sparse");
  EXPECT_EQ(run.options.output_step, 0.01);
  EXPECT_TRUE(run.warnings.empty());
}

TEST(RunSpec, DefaultsAreThoseOfTheOptions) {
  const io::PreparedRun run = prepare(request("heavy-top", {}));
  EXPECT_EQ(run.model.group, "r3xso3");
  EXPECT_EQ(run.options.method, "bliedf");
  EXPECT_EQ(run.options.step, 0.0);
  EXPECT_EQ(run.options.rtol, 1e-6);
  EXPECT_EQ(run.options.atol, 1e-8);
  EXPECT_TRUE(std::isnan(run.options.t_end));
  EXPECT_EQ(run::formulation_in_use(run.options, *run.model.system), system::Formulation::stabilized_index2);
}

TEST(RunSpec, FormulationInUseIsTheOneThatRunReports) {
  for (const char* model : {"heavy-top", "oscillator"})
    for (const char* method : {"bliedf", "generalized-alpha", "mkbdf", "rkmk"}) {
      const io::PreparedRun run = prepare(request(model, {{"method", method}, {"step", "1e-3"}, {"t-end", "0.01"}}));
      run::Observer nobody;
      const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, nobody);
      EXPECT_EQ(system::info_of(run::formulation_in_use(run.options, *run.model.system)).name, report.formulation)
          << model << ' ' << method;
    }
}

TEST(RunSpec, EveryFieldIsDescribedAndRefusesWhatItIsNot) {
  for (const io::RunField& f : io::run_fields()) {
    const Field& field = f.field;
    EXPECT_FALSE(field.meaning.empty()) << field.name;
    EXPECT_EQ(field.name.find('-'), std::string::npos) << field.name;
    EXPECT_TRUE((f.apply != nullptr) != (f.option != nullptr)) << field.name;
    if (field.kind == FieldKind::text || (field.kind == FieldKind::words && field.words.empty())) continue;
    for (const char* text : {"x", "1x", "nan", "inf", ""}) {
      RunSpec spec;
      spec.set(field.name, text);
      ASSERT_EQ(spec.problems().size(), 1u) << field.name << " '" << text << "'";
      EXPECT_EQ(spec.problems()[0].field, field.name);
    }
  }
}

TEST(RunSpec, ValuesComeBackFromTheOptionsTheyWereSetIn) {
  for (const run::OptionField& f : run::option_fields()) {
    const Field& field = f.field;
    Value value;
    switch (kind_of(field)) {
      case FieldKind::number:
        value = 0.5;
        break;
      case FieldKind::whole:
        value = 3L;
        break;
      case FieldKind::truth:
        value = true;
        break;
      case FieldKind::word:
        value = field.words.back() == "file:PATH" ? std::string("none") : field.words.back();
        break;
      case FieldKind::words:
        value = std::vector<std::string>{field.words.back()};
        break;
      case FieldKind::numbers:
        value = std::vector<double>{0.25, 0.5};
        break;
      case FieldKind::text:
        value = "a";
        break;
    }
    run::Options options;
    f.set(options, checked(field, value));
    EXPECT_EQ(f.get(options), value) << field.name;
    EXPECT_NE(f.get(run::Options()), value) << field.name;
  }
}

TEST(RunSpec, NumbersTextsAndListsMeanTheSame) {
  RunSpec a, b;
  a.set("corners", "0.25, 0.5")
      .set("rtol", "1e-7")
      .set("max_steps", "1e6")
      .set("conserve", "energy,momentum-x")
      .set("assemble", "true");
  b.set("corners", std::vector<double>{0.25, 0.5}).set("rtol", 1e-7).set("max_steps", 1e6).set("assemble", true);
  b.set("conserve", std::vector<std::string>{"energy", "momentum-x"});
  EXPECT_TRUE(a.problems().empty() && b.problems().empty());
  for (const RunSpec::Given& given : a.given()) EXPECT_EQ(given.value, *b.find(given.name)) << given.name;
}

TEST(RunSpec, MessagesHaveTheWordsOfTheFrontEnd) {
  const RunSpec spec = request("heavy-top", {{"step", "-1"}, {"method", "mkbdf"}, {"correction", "none"}});
  EXPECT_EQ(complaint(spec),
            "2 problems:\n  step: is -1, must be positive\n  correction: mkbdf has no correction term; correction is "
            "for bliedf only");
  set_spelling([](std::string_view field) { return "--" + std::string(field); });
  const std::string text = complaint(spec);
  set_spelling([](std::string_view field) { return std::string(field); });
  EXPECT_EQ(text,
            "2 problems:\n  --step: is -1, must be positive\n  --correction: mkbdf has no correction term; "
            "--correction is for bliedf only");
}

TEST(RunSpec, StepSequencesAreReadFromWords) {
  const auto read = [](const std::string& words) {
    return prepare(request("heavy-top", {{"steps", words}, {"t-end", "0.1"}}));
  };
  const io::PreparedRun change = read("change:h=1e-3,at=0.05,ratio=2");
  EXPECT_EQ(std::get<run::OneChange>(change.options.steps).at, 0.05);
  const io::PreparedRun random =
      read("random:h_min=1e-4,h_max=1e-3,ratio_min=0.2,ratio_max=5,every=50,seed=3,member=2");
  const auto& r = std::get<run::RandomSteps>(random.options.steps);
  EXPECT_EQ(r.h_max, 1e-3);
  EXPECT_EQ(r.ratio_max, 5.0);
  EXPECT_EQ(r.every, 50);
  EXPECT_EQ(r.seed, 3u);
  EXPECT_EQ(r.member, 2);
  EXPECT_FALSE(random.options.has_error_control());
}

TEST(RunSpec, StepSequencesThatCannotBeAreExplained) {
  const auto complain = [](const std::string& words) {
    return complaint(request("heavy-top", {{"steps", words}, {"t-end", "0.1"}}));
  };
  EXPECT_NE(complain("alternating:h=1e-3").find("alternate"), std::string::npos) << "the nearest match";
  EXPECT_NE(complain("alternate:ratio=2").find("needs h"), std::string::npos);
  EXPECT_NE(complain("alternate:h=1e-3,ratoi=2").find("ratio"), std::string::npos);
  EXPECT_NE(complain("alternate:h=x").find("not a finite number"), std::string::npos);
  EXPECT_NE(complain("random:h_min=1e-3,h_max=1e-4").find("at least h_min"), std::string::npos);
  EXPECT_NE(complain("file:nowhere.txt").find("nowhere.txt"), std::string::npos);
  EXPECT_NE(complain("file:/dev/zero").find("more than 67108864 bytes"), std::string::npos) << "no end of reading";
  EXPECT_NE(complain("random:h_min=1e-4,h_max=1e-3,member=1e10")
                .find("member is 10000000000, expected a whole number from 0 to 1000000"),
            std::string::npos);
  EXPECT_NE(
      complaint(request("heavy-top", {{"steps", "constant:h=1e-3"}, {"rtol", "1e-6"}})).find("exclude each other"),
      std::string::npos);
}

TEST(RunSpec, SettingsReachTheModelThenTheMethod) {
  const io::PreparedRun run =
      prepare(request("heavy-top", {{"step", "1e-3"}, {"method", "generalized-alpha"}}, {"mass=3", "rho_inf=0.5"}));
  EXPECT_EQ(run.model_parameters.number("mass"), 3.0);
  EXPECT_EQ(run.options.method.parameters.number("rho_inf"), 0.5);
}

TEST(RunSpec, APrefixDecidesWhoGetsASetting) {
  const io::PreparedRun run = prepare(request("heavy-top", {{"step", "1e-3"}, {"method", "generalized-alpha"}},
                                              {"model.mass=3", "method.rho_inf=0.5"}));
  EXPECT_EQ(run.model_parameters.number("mass"), 3.0);
  EXPECT_EQ(run.options.method.parameters.number("rho_inf"), 0.5);
  EXPECT_NE(complaint(request("heavy-top", {{"step", "1"}}, {"method.mass=3"}))
                .find("method 'bliedf': unknown parameter 'mass'"),
            std::string::npos);
}

TEST(RunSpec, AnUnknownSettingNamesTheNearestOfBoth) {
  EXPECT_NE(
      complaint(request("heavy-top", {{"step", "1"}}, {"mas=3"})).find("unknown parameter 'mas'; did you mean 'mass'?"),
      std::string::npos);
  EXPECT_NE(
      complaint(request("heavy-top", {{"step", "1e-3"}, {"method", "generalized-alpha"}}, {"rho=0.5", "rho_in=1"}))
          .find("did you mean 'rho_inf'?"),
      std::string::npos);
  EXPECT_EQ(complaint(request("heavy-top", {{"step", "1e-3"}}, {"mass"})), "set: 'mass' is not of the form key=value");
  EXPECT_EQ(complaint(request("heavy-top", {{"step", "1e-3"}}, {"=3"})), "set: '=3' is not of the form key=value");
  EXPECT_NE(complaint(request("heavy-top", {{"step", "1e-3"}}, {"mass=-3"})).find("must be positive"),
            std::string::npos);
}

TEST(RunSpec, ListsAllProblemsAtOnce) {
  const std::string text =
      complaint(request("heavy-top", {{"step", "-1"}, {"order", "7"}, {"starting", "x"}, {"t-end", "y"}}, {"mas=1"}));
  EXPECT_EQ(text.find("5 problems:\n"), 0u) << text;
  for (const char* part : {"step: is -1, must be positive", "order: is 7, but bliedf has orders 1 to 6",
                           "starting: unknown starting procedure 'x'", "t_end: is 'y', expected a finite number",
                           "set: model 'heavy-top', method 'bliedf': unknown parameter 'mas'"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(RunSpec, RefusesUnknownNamesWithTheNearest) {
  EXPECT_EQ(complaint(request("heavy-topp")).find("unknown model 'heavy-topp'; did you mean 'heavy-top'?"), 0u);
  EXPECT_EQ(complaint(request("heavy-top", {{"step", "1"}, {"method", "blidf"}}))
                .find("method: unknown method 'blidf'; did you mean 'bliedf'?"),
            0u);
  EXPECT_EQ(complaint(request("heavy-top", {{"stepp", "1"}})).find("unknown option 'stepp'; did you mean 'step'?"), 0u);
  EXPECT_EQ(complaint(request("heavy-top", {{"step", "1"}, {"linear-solver", "dens"}}))
                .find("linear_solver: unknown linear solver 'dens'; did you mean 'dense'?"),
            0u);
  EXPECT_EQ(complaint(request("heavy-top", {{"step", "1"}, {"formulation", "index4"}}))
                .find("formulation: unknown formulation 'index4'"),
            0u);
  EXPECT_EQ(complaint(request("heavy-top", {{"step", "1"}, {"correction", "tunde"}}))
                .find("correction: unknown correction 'tunde'"),
            0u);
  EXPECT_EQ(complaint(request("")).find("no model given"), 0u);
  EXPECT_EQ(complaint(request("nowhere/m.json")), "there is no model file 'nowhere/m.json'");
  RunSpec r = request("heavy-top");
  r.group = "so4";
  EXPECT_EQ(complaint(r).find("unknown group 'so4'; did you mean 'so3'?"), 0u);
  r.group = "rn";
  EXPECT_EQ(complaint(r).find("model 'heavy-top' has no formulation on 'rn'"), 0u);
}

TEST(RunSpec, AModelAndAMethodThatAreBothUnknownAreBothReported) {
  const std::string text = complaint(request("top", {{"method", "euler"}, {"step", "1"}}));
  EXPECT_NE(text.find("unknown model 'top'"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown method 'euler'"), std::string::npos) << text;
}

TEST(RunSpec, RefusesStepAndTolerancesTogether) {
  for (const char* tolerance : {"rtol", "atol"})
    EXPECT_EQ(complaint(request("heavy-top", {{"step", "1e-3"}, {tolerance, "1e-6"}}))
                  .find("step and rtol/atol exclude each other"),
              0u);
}

TEST(RunSpec, WarnsAboutOptionsWithoutEffect) {
  const io::PreparedRun run =
      prepare(request("heavy-top", {{"step", "1e-3"}, {"max-step", "1"}, {"control-lambda", "true"}}));
  ASSERT_EQ(run.warnings.size(), 2u);
  EXPECT_EQ(run.warnings[1], "max_step has no effect with constant steps");
}

TEST(RunSpec, OutputStepsNeedNotMeetTheSteps) {
  const io::PreparedRun run =
      prepare(request("heavy-top", {{"step", "1e-3"}, {"t-end", "1"}, {"output-step", "0.0015"}}));
  EXPECT_EQ(run.options.output_step, 0.0015);
  EXPECT_EQ(complaint(request("heavy-top", {{"step", "1e-3"}, {"output-step", "0"}})),
            "output_step: is 0, must be positive");
}

class OwnCorrection : public testing::Test {
 protected:
  TemporaryFolder folder;
  std::string file(const char* text) {
    write_file(folder / "own.json", text);
    return "file:" + (folder / "own.json").string();
  }
  // hL = [h v_n/12, h v_{n+1} - h v_n].
  static constexpr const char* third_order =
      R"({"k": 3, "lin": [{"a": [0, 0.08333333333333333, 0, 0]}, {"a": [1, -1, 0, 0]}]})";
};

TEST_F(OwnCorrection, TheFileSetsTheOrder) {
  const std::string name = file(third_order);
  const io::PreparedRun run = prepare(request("heavy-top", {{"step", "1e-3"}, {"correction", name}}));
  EXPECT_EQ(run.options.order, 3);
  ASSERT_NE(run.options.own_correction, nullptr);
  EXPECT_EQ(complaint(request("heavy-top", {{"step", "1e-3"}, {"order", "4"}, {"correction", name}})),
            "correction: the set is for order 3, but order is 4");
  EXPECT_EQ(complaint(request("heavy-top", {{"correction", name}})),
            "correction: a coefficient set from a file requires constant steps; give step");
}

TEST_F(OwnCorrection, IsRefusedWithWhatIsWrong) {
  EXPECT_NE(complaint(request("heavy-top", {{"step", "1e-3"}, {"correction", file("{")}}))
                .find("own.json:1:2: /: not valid JSON"),
            std::string::npos);
  EXPECT_NE(complaint(request("heavy-top", {{"step", "1e-3"}, {"correction", "file:/no/such"}}))
                .find("correction: cannot read the correction '/no/such'"),
            std::string::npos);
}

TEST(PrepareModel, KnowsTheSameSettings) {
  EXPECT_EQ(io::prepare_model(request("heavy-top", {}, {"model.mass=3"})).name, "heavy-top");
  EXPECT_NE(text_of<InvalidInput>([] {
              io::prepare_model(request("heavy-top", {}, {"mas=3"}));
            }).find("did you mean 'mass'?"),
            std::string::npos);
}

}  // namespace
