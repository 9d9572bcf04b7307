// kreisel modes: frequencies, damping and shapes of small motions.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <cmath>

#include "analysis.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "io/result/prepare.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "solve/kkt.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

using io::Json;

class Modes final : public Command {
 public:
  explicit Modes(CLI::App& parser) : Command(parser), model_(parser) {
    parser
        .add_option("--at", at_,
                    "about the equilibrium (static), the initial values (start), or the point of a run at time T")
        ->type_name("static|start|T")
        ->default_str("static");
    parser.add_option("--count", count_, "at most so many modes, those of the lowest frequencies; 0: all")
        ->type_name("N")
        ->default_str("20");
    parser.add_flag("--matrices", wants_matrices_, "with --json: also A, X, V of y' = A y, x = X p, dv = V y");
    parser.add_flag_callback(
        "--assemble", [this] { spec_.set("assemble", true); }, "first move the bodies so that they satisfy the joints");
    parser.add_flag("--json", is_json_, "print one JSON object, with shapes");
    parser.footer(
        "Linearises the equations on the constraints. Where the coefficients of a moving system change, it warns.\n"
        "Examples:\n  kreisel modes double-pendulum\n  kreisel modes heavy-top --at start --json");
  }

  int execute(const Invocation& invocation) override {
    model_.fill(spec_);
    const bool is_static = at_ == "static", is_start = at_ == "start";
    if (!is_static && !is_start && !std::isfinite(number_in(at_).value_or(NAN)))
      throw InvalidInput(fmt::format("--at is '{}', expected static, start or a time in seconds", at_));
    if (count_ < 0) throw InvalidInput(fmt::format("--count is {}, expected 0 or more", count_));
    if (!is_static && !is_start) spec_.set("t_end", at_);
    const io::PreparedRun run = io::prepare(spec_);
    const models::Model& model = run.model;
    std::shared_ptr<const system::System> system = model.system;
    system::Motion motion(system->space());
    Vector lambda = Vector::Zero(model.system->pattern().rows());
    if (is_static) {
      analysis::Equilibrium e = analysis::find_equilibrium(*model.system, model.start);
      if (!e.is_found) {
        print_error(fmt::format("no equilibrium: {}\n  try: --at start", e.message));
        return analysis_failed;
      }
      motion = e.motion;
      lambda = e.lambda;
      if (e.leaning != nullptr) system = e.leaning;
    } else if (is_start) {
      motion.t = model.start.t0;
      motion.q = model.start.q0;
      motion.v = model.start.v0;
      Counters unused;
      solve::Kkt kkt(*model.system, unused);
      if (!kkt.accelerate(motion, lambda))
        throw InvalidInput("the initial values admit no accelerations and multipliers; 'kreisel check' says why");
    } else {
      run::Observer nobody;
      const run::Report report = run::integrate(*model.system, model.start, run.options, nobody);
      if (report.status != run::Status::success) {
        print_error(fmt::format("{}: {}", io::ending_of(report.status).id, report.message));
        return io::ending_of(report.status).exit_code;
      }
      motion = report.final.motion;
      lambda = report.final.lambda;
    }
    const analysis::Linearization linear = analysis::linearize(*system, motion, lambda);
    std::vector<analysis::Mode> modes = analysis::modes_of(*system, motion, linear);
    const std::string stability = linear.is_steady ? in_words(modes) : "not told by frozen coefficients";
    if (!linear.is_steady)
      print_warning(
          "the coefficients change along this motion: eigenvalues of frozen ones are its frequencies only as far as "
          "it is slow beside them");
    const std::size_t found = modes.size();
    if (count_ > 0 && modes.size() > static_cast<std::size_t>(count_)) modes.resize(static_cast<std::size_t>(count_));
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(to_json(model, motion, linear, modes, stability)));
    else
      print(model, motion, linear, modes, stability, found);
    return success;
  }

 private:
  Json to_json(const models::Model& model, const system::Motion& motion, const analysis::Linearization& linear,
               const std::vector<analysis::Mode>& modes, const std::string& stability) const {
    Json list = Json::array();
    for (const analysis::Mode& mode : modes)
      list.push_back({{"eigenvalue", {mode.eigenvalue.real(), mode.eigenvalue.imag()}},
                      {"frequency", mode.frequency()},
                      {"damping_ratio", number(mode.damping_ratio())},
                      {"largest", mode.largest},
                      {"shape_real", list_of(Vector(mode.shape.real()))},
                      {"shape_imag", list_of(Vector(mode.shape.imag()))}});
    Json out{{"model", model.name},    {"group", model.group},
             {"status", "success"},    {"message", ""},
             {"t", motion.t},          {"q", list_of(motion.q)},
             {"v", list_of(motion.v)}, {"degrees_of_freedom", linear.velocities()},
             {"stability", stability}, {"modes", list}};
    if (wants_matrices_)
      for (const auto& [name, A] : {std::pair("A", &linear.A), std::pair("X", &linear.X), std::pair("V", &linear.V)}) {
        Json rows = Json::array();
        for (Eigen::Index i = 0; i < A->rows(); ++i) rows.push_back(list_of(Vector(A->row(i))));
        out[name] = std::move(rows);
      }
    return out;
  }

  void print(const models::Model& model, const system::Motion& motion, const analysis::Linearization& linear,
             const std::vector<analysis::Mode>& modes, const std::string& stability, std::size_t found) const {
    fmt::print("{}\n", coloured(fmt::format("{} on {}", model.name, model.group), Colour::bold, stdout));
    fmt::print("  about        {}\n", at_ == "static"  ? std::string("the equilibrium")
                                      : at_ == "start" ? std::string("the initial values")
                                                       : fmt::format("the motion at t = {:.9g}", motion.t));
    fmt::print("  freedom      {} degrees\n", linear.velocities());
    fmt::print("  stability    {}\n", stability);
    if (modes.empty()) return;
    fmt::print("  {:>3}  {:>14}  {:>12}  {:>14}  {:>14}  {}\n", "", "frequency [Hz]", "damping", "real [1/s]",
               "imag [rad/s]", "moves most");
    for (std::size_t i = 0; i < modes.size(); ++i) {
      const analysis::Mode& mode = modes[i];
      const double ratio = mode.damping_ratio();
      fmt::print("  {:>3}  {:>14.7g}  {:>12}  {:>14.6g}  {:>14.7g}  {}\n", i + 1, mode.frequency(),
                 std::isfinite(ratio) ? fmt::format("{:.3g} %", 100.0 * ratio) : "-", mode.eigenvalue.real(),
                 mode.eigenvalue.imag(), mode.largest);
    }
    if (found > modes.size()) fmt::print("  {} more, see --count\n", found - modes.size());
  }

  ModelArguments model_;
  io::RunSpec spec_;
  std::string at_ = "static";
  int count_ = 20;
  bool wants_matrices_ = false, is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_modes(CLI::App& program) {
  return std::make_unique<Modes>(
      *program.add_subcommand("modes", "Frequencies, damping and shapes of small motions of a model"));
}

}  // namespace kreisel::apps
