// Time per step and memory of a chain of N links, constant steps.
//
//   bench_scaling N FORMULATION [THREADS]
//
// One process per N, so that its largest resident size is that of N.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <string>

#include "models/catalogue.hpp"
#include "run/integrator.hpp"

int main(int argc, char** argv) {
  using namespace kreisel;
  if (argc < 3) {
    fmt::print(stderr, "usage: {} N FORMULATION [THREADS]\n", argv[0]);
    return 2;
  }
  const models::ModelInfo& info = models::find_model("chain");
  ParameterValues parameters(info.parameters);
  parameters.set(info.name, info.parameters, "n", argv[1]);
  const models::Model model = models::make_model(info, "", parameters);
  run::Options options;
  options.order = 4;
  options.step = 1e-3;
  options.t_end = 0.05;
  options.formulation = argv[2];
  options.threads = argc > 3 ? std::stoi(argv[3]) : 1;
  run::Observer nobody;
  const auto begin = std::chrono::steady_clock::now();
  const run::Report report = run::integrate(*model.system, model.start, options, nobody);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  fmt::print(
      "{{\"n\": {}, \"formulation\": \"{}\", \"success\": {}, \"steps\": {}, \"iterations\": {}, \"seconds_per_step\": "
      "{:.6e}, "
      "\"wall_seconds\": {:.6e}, \"resident_kb\": {}, \"solver\": \"{}\"}}\n",
      argv[1], argv[2], report.status == run::Status::success, report.counters.steps, report.counters.newton_iterations,
      report.solve_seconds / static_cast<double>(report.counters.steps - 4), wall.count(), used.ru_maxrss,
      report.linear_solver);
  return report.status == run::Status::success ? 0 : 1;
}
