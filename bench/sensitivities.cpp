// What derivatives of a run cost, in runs.
//
//   bench_sensitivities forward PROBLEM P...    a run, then with derivatives by P parameters each, carried along
//   bench_sensitivities adjoint                 a run, then the gradient of one number by 100 parameters
//   bench_sensitivities fit FIRST LAST          a run, then a fit of three parameters for each of these seeds
//
// PROBLEM: heavy-top (the built-in model: mass, gravity, initial velocities; at most 5), top (the same as a mechanism: at most ten numbers
// of its equations), chain (ten rods: their masses). Counted is everything, neighbours of parameters, starts and, in the last two, the
// model file included.
// One JSON object per line on standard output.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/model_file/model_catalogue.hpp"
#include "io/result/prepare.hpp"
#include "io/result/sensitivities.hpp"
#include "io/result/tuning.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "run/sensitivity.hpp"
#include "support/count.hpp"
#include "support/mechanisms.hpp"
#include "support/problem.hpp"

namespace {

using namespace kreisel;

// ---- forward

constexpr int links = 10;

run::Problem problem_of(multibody::Mechanism mechanism, double t_end) {
  auto assembly = std::make_shared<multibody::Assembly>(std::move(mechanism));
  const system::Start start = assembly->start(t_end);
  return {assembly, start};
}

struct Parametrized {
  run::ProblemOf make;
  Vector values;
};

Parametrized heavy_top(int count) {
  const std::vector<std::string> names{"mass", "gravity", "omega_x", "omega_y", "omega_z"};
  const models::ModelInfo& info = models::find_model("heavy-top");
  Vector values(count);
  const ParameterValues defaults(info.parameters);
  for (int j = 0; j < count; ++j) values[j] = defaults.number(names[static_cast<std::size_t>(j)]);
  return {[names, &info](const Vector& p) -> run::Problem {
            ParameterValues parameters(info.parameters);
            for (Eigen::Index j = 0; j < p.size(); ++j)
              parameters.set(info.name, info.parameters, names[static_cast<std::size_t>(j)], p[j]);
            const models::Model model = models::make_model(info, "r3xso3", parameters);
            return {model.system, model.start};
          },
          values};
}

Parametrized top(int count) {
  const Vector values = bench::numbers_of_top();
  return {[values](const Vector& given) {
            Vector p = values;
            p.head(given.size()) = given;
            return problem_of(bench::top_with(p), bench::Top().t_end);
          },
          values.head(count)};
}

Parametrized chain(int count) {
  return {[](const Vector& given) {
            Vector masses = Vector::Ones(links);
            masses.head(given.size()) = given;
            return problem_of(bench::chain_with(masses), bench::Chain().t_end);
          },
          Vector::Ones(count)};
}

Parametrized problem_named(const std::string& name, int count) {
  if (name == "heavy-top") return heavy_top(count);
  if (name == "top") return top(count);
  if (name == "chain") return chain(count);
  throw std::runtime_error("problem '" + name + "' is none of heavy-top, top, chain");
}

run::Options options_of(double tolerance) {
  run::Options options;
  options.rtol = options.atol = tolerance;
  return options;
}

void print(const std::string& label, int count, const run::Report& report, double check) {
  fmt::print("{{\"label\": \"{}\", \"parameters\": {}, \"success\": {}, \"steps\": {}, \"check\": {:.9e}}}\n", label,
             count, report.status == run::Status::success, report.counters.steps, check);
  std::fflush(stdout);
}

void measure_forward(const std::string& name, const std::vector<double>& counts) {
  const run::Options options = options_of(1e-6);
  run::Observer nobody;
  run::Report report;
  {
    const Parametrized p = problem_named(name, 1);
    bench::count("run", [&] {
      const run::Problem problem = p.make(p.values);
      report = run::integrate(*problem.system, problem.start, options, nobody);
    });
    print("run", 0, report, report.final.motion.v[1]);
  }
  for (const double number : counts) {
    const int count = static_cast<int>(number);
    const Parametrized p = problem_named(name, count);
    const std::string label = fmt::format("{} parameters", count);
    run::Sensitivities found;
    bench::count(label, [&] { found = run::differentiate(p.make, p.values, options, {}, nobody); });
    if (!found.problem.empty() || !found.differences.empty())
      throw std::runtime_error("not carried along: " + found.problem + found.differences);
    print(label, count, found.report, found.by[0].v(found.by[0].v.rows() - 1, 1));
  }
}

// ---- models from files

io::RunSpec spec_of(const std::string& text, double t_end) {
  io::RunSpec spec;
  spec.own_model =
      std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("model.json", text)));
  spec.set("t_end", t_end);
  spec.set("rtol", 1e-6);
  spec.set("atol", 1e-6);
  return spec;
}

/// What a plain run of it costs, the model file included.
run::Report measure_run(const io::RunSpec& spec, const std::string& label) {
  run::Observer nobody;
  run::Report report;
  bench::count(label, [&] {
    const io::PreparedRun run = io::prepare(spec);
    report = run::integrate(*run.model.system, run.model.start, run.options, nobody);
  });
  return report;
}

// ---- adjoint

/// Rods in a row, held by springs: the mass of every rod and the stiffness of every spring are parameters.
constexpr int rods = 50;

std::string held_chain() {
  std::string parameters, bodies, joints, forces;
  for (int i = 1; i <= rods; ++i) {
    const std::string comma = i > 1 ? "," : "", before = i == 1 ? "ground" : fmt::format("rod{}", i - 1);
    parameters += fmt::format(R"({}"m{}": 1, "k{}": 2)", comma, i, i);
    bodies += fmt::format(
        R"({}{{"name": "rod{}", "mass": "=m{}", "inertia": [0.00125, 0.084, 0.084], "position": [{}, 0, 0]}})", comma,
        i, i, i - 0.5);
    joints +=
        fmt::format(R"({}{{"name": "joint{}", "type": "spherical", "between": ["{}", "rod{}"], "at": [{}, 0, 0]}})",
                    comma, i, before, i, i - 1);
    forces += fmt::format(
        R"({}{{"type": "spring-damper", "between": ["ground", "rod{}"], "at": [[{}, 0, 2], [{}, 0, 0]], "stiffness": "=k{}", "length": 1.5}})",
        comma, i, i - 0.5, i - 0.5, i);
  }
  return fmt::format(
      R"({{"gravity": [0, 0, -9.81], "parameters": {{{}}}, "bodies": [{}], "joints": [{}], "forces": [{}], "outputs": {{"end": {{"position": "rod{}"}}}}}})",
      parameters, bodies, joints, forces, rods);
}

void measure_adjoint() {
  const io::RunSpec spec = spec_of(held_chain(), 5.0);
  print("run", 0, measure_run(spec, "run"), 0.0);
  std::vector<std::string> parameters, velocities;
  for (int i = 1; i <= rods; ++i) {
    parameters.push_back(fmt::format("m{}", i));
    parameters.push_back(fmt::format("k{}", i));
  }
  for (int i = 1; i <= 2 * rods; ++i) velocities.push_back(fmt::format("v0.{}", i));
  run::Observer nobody;
  for (const auto& [label, names] :
       {std::pair("100 parameters of equations", &parameters), std::pair("100 initial velocities", &velocities)}) {
    run::Gradients found;
    bench::count(label, [&] { found = io::gradients(spec, *names, {"end.z"}, nobody); });
    if (!found.problem.empty()) throw std::runtime_error(found.problem);
    print(label, static_cast<int>(names->size()), found.report, found.by(0, 0));
  }
}

// ---- fit

/// A damped four-bar, of which a spring, a damper and a mass are not known.
constexpr const char* four_bar = R"({"gravity": [0, -9.81, 0], "parameters": {"k": 40.0, "c": 0.6, "m": 1.5},
  "bodies": [
    {"name": "crank", "mass": 0.5, "inertia": [0.001, 0.002, 0.002], "position": [0, 0.1, 0]},
    {"name": "coupler", "mass": "=m", "inertia": [0.001, 0.03, 0.03], "position": [0.25, 0.2, 0]},
    {"name": "rocker", "mass": 0.6, "inertia": [0.003, 0.004, 0.003], "position": [0.5, 0.1, 0]}],
  "joints": [
    {"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]},
    {"name": "B", "type": "spherical", "between": ["crank", "coupler"], "at": [0, 0.2, 0]},
    {"name": "C", "type": "universal", "between": ["coupler", "rocker"], "at": [0.5, 0.2, 0], "axes": [[0, 0, 1], [0, 1, 0]]},
    {"name": "D", "type": "revolute", "between": ["ground", "rocker"], "at": [0.5, 0, 0], "axis": [0, 0, 1]}],
  "forces": [{"type": "torque", "joint": "A", "value": "=-k*(z - 0.4) - c*z'"}],
  "outputs": {"z": {"angle": "A"}}})";
constexpr std::array<double, 3> truth{40.0, 0.6, 1.5}, begin{30.0, 0.4, 1.2};

void measure_fit(int first, int last) {
  const io::RunSpec right = spec_of(four_bar, 1.0);
  io::RunSpec spec = right;
  const std::array<const char*, 3> names{"k", "c", "m"};
  for (std::size_t j = 0; j < 3; ++j) spec = io::with_parameter(spec, names[j], begin[j]);
  print("run", 0, measure_run(right, "run"), 0.0);
  run::Observer nobody;
  io::FitData data;
  for (int i = 1; i <= 50; ++i) data.t.push_back(0.02 * i);
  data.columns = {"z"};
  const run::Sensitivities exact = io::sensitivities(right, {}, nobody, {.times = data.t});
  for (int seed = first; seed <= last; ++seed) {
    data.values = exact.sampled;
    std::mt19937_64 generator(static_cast<unsigned>(seed));
    std::normal_distribution<double> normal(0.0, 1.0);
    for (double& y : data.values.reshaped()) y += 2e-3 * normal(generator);
    io::Fit fit;
    const std::string label = fmt::format("seed {}", seed);
    bench::count(label, [&] { fit = io::fit(spec, data, {{.name = "k"}, {.name = "c"}, {.name = "m"}}, nobody); });
    if (!fit.is_found) throw std::runtime_error(fit.message);
    Vector off(3);
    for (int j = 0; j < 3; ++j) off[j] = fit.values[j] - truth[static_cast<std::size_t>(j)];
    // By themselves, and together: the distance in the metric of the covariance, whose square is distributed as χ² of 3.
    const int outside = static_cast<int>((off.cwiseAbs().array() > 2.0 * fit.standard_errors.array()).count());
    const double joint = off.dot(fit.covariance.ldlt().solve(off));
    fmt::print(
        "{{\"label\": \"{}\", \"outside\": {}, \"joint\": {:.6e}, \"runs_with_derivatives\": {}, \"iterations\": "
        "{}}}\n",
        label, outside, joint, fit.runs, fit.iterations);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "forward" && argc > 3) {
    measure_forward(argv[2], bench::numbers_from(argc, argv, 3));
  } else if (what == "adjoint") {
    measure_adjoint();
  } else if (what == "fit" && argc == 4) {
    measure_fit(std::stoi(argv[2]), std::stoi(argv[3]));
  } else {
    fmt::print(stderr, "usage: {} forward PROBLEM P... | adjoint | fit FIRST LAST\n", argv[0]);
    return 2;
  }
}
