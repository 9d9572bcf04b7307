// Our side of the work-precision curves: instructions against the error at t_end.
//
//   bench_work_precision heavy-top|stiff-top|pendulum|chain METHOD TOLERANCE...
//
// METHOD is a name of the catalogue, under error control with rtol = atol = TOLERANCE; with an order behind it (rkmk8) the
// order is fixed; with @step (bliedf6@step) the numbers are constant step sizes. Counted is the whole call of
// run::integrate: checks, start-up, steps and report.
#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "kreisel/error.hpp"
#include "method/catalogue.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "support/count.hpp"
#include "support/problem.hpp"

namespace {

using namespace kreisel;

models::Model model_of(const std::string& problem) {
  const models::ModelInfo& info = models::find_model(problem);
  ParameterValues parameters(info.parameters);
  if (problem == "pendulum") parameters.set(info.name, info.parameters, "variant", "eich");
  if (problem == "chain") parameters.set(info.name, info.parameters, "n", fmt::format("{}", bench::Chain{}.links));
  return models::make_model(info, "", parameters);
}

double error_at_end(const std::string& problem, const models::Model& model, const run::Report& report) {
  const system::Motion& end = report.final.motion;
  if (problem == "pendulum") return bench::error_of(bench::Pendulum{}, {end.q[0], end.q[1], end.v[0], end.v[1]});
  if (problem == "chain") {
    std::vector<bench::TopState> states;
    for (int b = 0; b < model.system->body_count(); ++b) {
      const system::Pose pose = model.system->body_pose(b, end.q);
      states.push_back({pose.x, pose.R});
    }
    return bench::error_of(bench::Chain{}, states);
  }
  const system::Pose pose = model.system->body_pose(0, end.q);
  return bench::error_of(problem, {pose.x, pose.R});
}

struct MethodChoice {
  std::string name;
  int order = 0;  ///< 0: the method chooses
  bool has_constant_step = false;
};

MethodChoice parse(std::string text) {
  MethodChoice choice;
  if (text.ends_with("@step")) {
    choice.has_constant_step = true;
    text.resize(text.size() - 5);
  }
  if (std::isdigit(static_cast<unsigned char>(text.back())) != 0) {
    choice.order = text.back() - '0';
    text.pop_back();
  }
  choice.name = text;
  return choice;
}

/// A run that the library refuses, such as a method without error control, is a failed run with a reason.
run::Report integrate(const models::Model& model, const run::Options& options) {
  run::Observer nobody;
  try {
    return run::integrate(*model.system, model.start, options, nobody);
  } catch (const InvalidInput& e) {
    fmt::print(stderr, "{}\n", e.what());
    run::Report refused;
    refused.status = run::Status::no_consistent_start;
    refused.final.motion = system::Motion(model.system->space());
    return refused;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: {} heavy-top|stiff-top|pendulum|chain METHOD[ORDER][@step] TOLERANCE...\n", argv[0]);
    return 2;
  }
  const std::string problem = argv[1], method = argv[2];
  const models::Model model = model_of(problem);
  const MethodChoice choice = parse(method);
  run::Options options;
  options.method = choice.name;
  options.order = choice.order;
  for (const double tolerance : bench::numbers_from(argc, argv, 3)) {
    if (choice.has_constant_step)
      options.step = tolerance;
    else
      options.rtol = options.atol = tolerance;
    run::Report report;
    const std::string label = bench::label_of(method, tolerance);
    bench::count(label, [&] { report = integrate(model, options); });
    const bool is_success = report.status == run::Status::success &&
                            std::abs(report.final.motion.t - model.start.t_end) < 1e-9 * model.start.t_end;
    if (!report.message.empty()) fmt::print(stderr, "{}: {}\n", label, report.message);
    const Counters& c = report.counters;
    bench::print({label, method, tolerance, error_at_end(problem, model, report), is_success, c.steps,
                  c.residual_evaluations, c.jacobian_evaluations, c.newton_iterations, c.rejected_steps});
  }
}
