// The cost of rods.
//
//   bench_beams kernel                     one element: residual and tangent of every law
//   bench_beams step fresh|kept|rigid N... one constant step of a swinging rod of N elements; rigid: without extension and shear,
//                                          by rows
//   bench_beams flight METHOD NUMBER...    the flying beam of 32 elements; NUMBER: rtol, or the step of METHOD@step
//   bench_beams rows                       the names of the runs of `choice`
//   bench_beams choice ROW METHOD...       this run, atol = rtol; METHOD: default, a name of the catalogue, or max-order-K for bliedf
//
// Counted are: calls of an element; the work between two accepted points; the whole call of run::integrate. The size of the process
// is printed as well; run one N per process to get that of N.
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "kreisel/error.hpp"
#include "multibody/beam.hpp"
#include "multibody/joint.hpp"
#include "multibody/rod.hpp"
#include "run/integrator.hpp"
#include "support/count.hpp"
#include "support/problem.hpp"

namespace {

using namespace kreisel;
using multibody::Vector6;

// ---- elements

constexpr int calls = 200;

void count_element(const std::string& label, const multibody::BeamSection& section) {
  multibody::Mechanism mechanism;
  multibody::Rod rod;
  rod.section.beam = section;
  Vector6 bent;
  bent << 1.01, 0.02, -0.01, 0.04, 0.06, -0.08;  // 6 degrees
  rod.nodes = multibody::constant_strain({}, bent, 1.0, 1);
  rod.is_straight_unloaded = true;
  multibody::add_rod(mechanism, rod);
  const multibody::ElementPtr beam = mechanism.elements.front();
  const multibody::Assembly assembly(std::move(mechanism));
  const Vector q = assembly.start(1.0).q0, v = Vector::Constant(12, 0.1);
  std::array<multibody::Slot, 2> slots;
  for (int i = 0; i < 2; ++i) slots[i] = {i, lie::GroupId::se3, 6, 7 * i, 6 * i, -1};
  multibody::Instant at;
  at.q = q.data();
  at.v = v.data();
  at.slots = slots.data();
  Vector force = Vector::Zero(12);
  bench::count(label + " residual", [&] {
    for (int i = 0; i < calls; ++i) beam->add_force(at, {force.data(), slots.data()});
  });
  system::KktBlocks blocks(assembly.pattern());
  blocks.K = blocks.D = Vector::Zero(4 * 36);
  const std::array<int, 4> coupling{0, 36, 72, 108};
  bench::count(label + " tangent", [&] {
    for (int i = 0; i < calls; ++i) beam->linearize(at, {blocks, slots.data(), coupling.data(), 2, 0});
  });
  for (const char* what : {"residual", "tangent"})
    fmt::print("{{\"label\": \"{} {}\", \"calls\": {}, \"sum\": {:.3e}}}\n", label, what, calls,
               force.sum() + blocks.K.sum());
}

void count_elements() {
  multibody::BeamSection section;
  section.compliance = multibody::compliance_of(1e4, 4e3, 4e3, 80.0, 100.0, 120.0);
  section.law = multibody::SectionLaw::constant;
  count_element("constant", section);
  section.law = multibody::SectionLaw::magnus;
  count_element("magnus", section);
  section.damping_time = 1e-3;
  count_element("magnus, damped", section);
  section.damping_time = 0.0;
  section.compliance(3, 4) = section.compliance(4, 3) = 2e-3;
  count_element("magnus, coupled", section);
}

// ---- steps

constexpr double step = 1e-3;
constexpr int counted_steps = 20, first_counted = 10;

class CountSteps final : public run::Observer {
 public:
  explicit CountSteps(std::string label) : label_(std::move(label)) {}

  bool accept(const run::Point& point) override {
    if (point.is_start) return true;
    ++points_;
    if (points_ == first_counted) bench::start_counting();
    if (points_ == first_counted + counted_steps) bench::stop_counting(label_);
    return true;
  }

 private:
  std::string label_;
  long points_ = 0;
};

/// A rubber cable, pinned at one end, falls. Longer rods have more of the same elements.
void count_steps(const std::string& kind, int n) {
  const std::string label = fmt::format("{} {}", kind, n);
  multibody::Mechanism mechanism;
  mechanism.gravity = {0.0, 0.0, -9.81};
  multibody::Rod rod;
  rod.length = n / 16.0;
  rod.nodes = multibody::line({0, 0, 0}, {rod.length, 0, 0}, n);
  rod.section = multibody::circular_section({.young = 5e6, .poisson = 0.5, .density = 1100.0}, 5e-3);
  if (kind == "rigid") {
    for (int i = 0; i < 3; ++i) {
      rod.section.beam.is_rigid[i] = i == 0;  // zero compliance is enough in shear
      rod.section.beam.compliance(i, i) = 0.0;
    }
  }
  multibody::add_rod(mechanism, rod);
  multibody::JointSpec pin;
  pin.name = "pin";
  pin.bodies = {multibody::ground, 0};
  pin.frames.resize(2);
  mechanism.joints.push_back(multibody::make_joint(multibody::find_joint("spherical", false), pin));
  const multibody::Assembly assembly(std::move(mechanism));
  run::Options options;
  options.order = 2;
  options.step = step;
  options.t_end = (first_counted + counted_steps + 5) * step;
  options.newton_tolerance = 1e-7;
  options.newton_matrix = kind == "kept" ? run::NewtonMatrix::kept : run::NewtonMatrix::every_step;
  CountSteps counter(label);
  const run::Report report = run::integrate(assembly, assembly.start(options.t_end), options, counter);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const Counters& c = report.counters;
  fmt::print(
      "{{\"label\": \"{}\", \"n\": {}, \"counted\": {}, \"success\": {}, \"steps\": {}, \"iterations\": {}, "
      "\"residuals\": {}, \"matrices\": {}, \"resident_kb\": {}, \"seconds_per_step\": {:.6e}, \"solver\": \"{}\"}}\n",
      label, n, counted_steps, report.status == run::Status::success, c.steps, c.newton_iterations,
      c.residual_evaluations, c.jacobian_evaluations, used.ru_maxrss,
      report.solve_seconds / static_cast<double>(c.steps), report.linear_solver);
  if (!report.message.empty()) fmt::print(stderr, "{}: {}\n", label, report.message);
}

// ---- flight

constexpr const char* flight_file = R"({
  "sections": [{"name": "s", "stiffness": [1e4, 1e4, 1e4, 500, 500, 500], "mass_per_length": 1, "inertia_per_length": [20, 10, 10]}],
  "rods": [{"name": "rod", "section": "s", "path": {"line": [[6, 0, 0], [0, 8, 0]]}, "elements": 32}],
  "forces": [{"type": "applied", "on": "rod@start",
              "force": [{"table": [[0, 0], [2.5, 20], [5, 0]], "interpolation": "linear"}, 0, 0],
              "torque": [0, {"table": [[0, 0], [2.5, 100], [5, 0]], "interpolation": "linear"},
                         {"table": [[0, 0], [2.5, -200], [5, 0]], "interpolation": "linear"}]}]})";

void fly(int argc, char** argv) {
  const std::string method = argv[2];
  const io::ModelFile file = io::read_model(io::JsonSource("flight.json", flight_file));
  system::Start start = file.model.start;
  start.t_end = 10.0;
  const auto ends_of = [](const Vector& q) {
    Vector ends(6);
    ends << q.head<3>(), q.segment<3>(q.size() - 7);
    return ends;
  };
  run::Options exact;
  exact.method = "radau";
  exact.rtol = exact.atol = 1e-9;
  run::Observer nobody;
  const Vector reference = ends_of(run::integrate(*file.assembly, start, exact, nobody).final.motion.q);
  for (const double given : bench::numbers_from(argc, argv, 3)) {
    run::Options options;
    const std::size_t at = method.find("@step");
    if (method != "default") options.method = method.substr(0, at);
    if (at != std::string::npos)
      options.step = given;
    else
      options.rtol = options.atol = given;
    run::Report report;
    const std::string label = bench::label_of(method, given);
    bench::count(label, [&] { report = run::integrate(*file.assembly, start, options, nobody); });
    if (!report.message.empty()) fmt::print(stderr, "{}: {}\n", label, report.message);
    const Counters& c = report.counters;
    const bool is_success = report.status == run::Status::success;
    bench::print({label, method, given,
                  is_success ? (ends_of(report.final.motion.q) - reference).lpNorm<Eigen::Infinity>() : 0.0, is_success,
                  c.steps, c.residual_evaluations, c.jacobian_evaluations, c.newton_iterations, c.rejected_steps});
  }
}

// ---- the choice of the method

struct Row {
  std::string name, text;  ///< of the row, of the model file
  double t_end, rtol;
};

std::string with(std::string text, std::string_view what, std::string_view replacement) {
  std::size_t at = text.find(what);
  if (at == std::string::npos) throw InvalidInput(fmt::format("the model has no '{}'", what));
  for (; at != std::string::npos; at = text.find(what, at + replacement.size()))
    text.replace(at, what.size(), replacement);
  return text;
}

std::string shipped(std::string_view name) {
  for (const io::ShippedFile& file : io::shipped_files())
    if (file.name == name) return std::string(file.text);
  throw InvalidInput(fmt::format("there is no model '{}'", name));
}

/// The runs of which the default must cost no more than 1.5 times the best method by name.
std::vector<Row> rows() {
  std::vector<Row> out;
  const auto add = [&](const std::string& what, std::string text, double t_end, double rtol) {
    out.push_back({fmt::format("{}, {:g} s, rtol {:g}", what, t_end, rtol), std::move(text), t_end, rtol});
  };
  add("rotor-spin-up", shipped("rotor-spin-up"), 15.0, 1e-5);
  const std::string bars = shipped("flexible-four-bar");
  for (const char* time : {"0", "1e-5", "1e-4", "1e-3"})
    add(fmt::format("flexible-four-bar, damping_time {} s", time),
        with(bars, R"("damping_time": 1e-3)", fmt::format(R"("damping_time": {})", time)), 4.0, 1e-5);
  add("flexible-four-bar, damping_time 1e-3 s", bars, 4.0, 1e-6);
  add("lateral-buckling", shipped("lateral-buckling"), 0.2, 1e-4);
  for (const double rtol : {1e-2, 1e-3, 1e-4, 1e-6})
    add("flying beam of 16 elements", with(flight_file, R"("elements": 32)", R"("elements": 16)"), 10.0, rtol);
  add("flying beam of 32 elements", flight_file, 10.0, 1e-2);
  add("rubber-pendulum", shipped("rubber-pendulum"), 1.0, 1e-5);
  return out;
}

void choose(const Row& row, const std::string& method) {
  const io::ModelFile file = io::read_model(io::JsonSource("row.json", row.text));
  run::Options options;
  if (method.starts_with("max-order-"))
    options.max_order = std::stoi(method.substr(10));
  else if (method != "default")
    options.method = method;
  options.rtol = options.atol = row.rtol;
  options.t_end = row.t_end;
  run::Report report;
  run::Observer nobody;
  bench::count(method, [&] { report = run::integrate(*file.assembly, file.model.start, options, nobody); });
  if (report.status != run::Status::success) fmt::print(stderr, "{}, {}: {}\n", row.name, method, report.message);
  const Counters& c = report.counters;
  bench::print({method, method, row.rtol, 0.0, report.status == run::Status::success, c.steps, c.residual_evaluations,
                c.jacobian_evaluations, c.newton_iterations, c.rejected_steps});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "kernel") {
    count_elements();
  } else if (what == "step" && argc > 3) {
    for (int i = 3; i < argc; ++i) count_steps(argv[2], std::stoi(argv[i]));
  } else if (what == "flight" && argc > 3) {
    fly(argc, argv);
  } else if (what == "rows") {
    for (const Row& row : rows()) fmt::print("{}\n", row.name);
  } else if (what == "choice" && argc > 3) {
    for (const Row& row : rows())
      if (row.name == argv[2])
        for (int i = 3; i < argc; ++i) choose(row, argv[i]);
  } else {
    fmt::print(
        stderr,
        "usage: {} kernel | step fresh|kept|rigid N... | flight METHOD NUMBER... | rows | choice ROW METHOD...\n",
        argv[0]);
    return 2;
  }
}
