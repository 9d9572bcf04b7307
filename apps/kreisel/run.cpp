// kreisel run: one simulation, its result on disk.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>

#include "analysis.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "io/result/prepare.hpp"
#include "io/result/result.hpp"
#include "io/result/sensitivities.hpp"
#include "kreisel/error.hpp"
#include "model_output.hpp"
#include "terminal.hpp"
#include "watch.hpp"

namespace kreisel::apps {
namespace {

constexpr const char* run_examples =
    "Examples:\n"
    "  kreisel run heavy-top\n"
    "      the heavy top with error control, result in results/heavy-top-bliedf\n"
    "  kreisel run heavy-top --group se3 --order 3 --step 1e-3 --t-end 1 --json\n"
    "      constant steps on SE(3), the summary as JSON on standard output\n"
    "  kreisel run pendulum --set x0=0.2 --method generalized-alpha --set rho_inf=0.8 --step 1e-2\n"
    "      parameters of the model, then of the method\n"
    "  kreisel run mechanism.json --assemble\n"
    "      a model file; bodies that miss their joints are moved onto them\n"
    "  kreisel run heavy-top --formulation index3 --starting exact --step 1e-3 --log steps.csv\n"
    "      one line per step attempt in steps.csv\n"
    "  kreisel run heavy-top --t-end 1000 --out long --checkpoint-every 60, then kreisel run --resume long\n"
    "      a run that can be resumed after it was killed, with identical results\n"
    "  kreisel run excavator --watch\n"
    "      the page of the run while it is running, with sliders for parameters and inputs\n"
    "  kreisel run mechanism.json --verify\n"
    "      repeats the run more accurately, to estimate the error of every output\n"
    "Exit codes: 0 success, 2 bad input, 3 the integration failed, 4 the machine or kreisel failed, 130 interrupted";

/// A number for display.
std::string brief(double value) { return fmt::format("{:.6g}", value); }

class Run final : public Command {
 public:
  explicit Run(CLI::App& parser) : Command(parser), model_(parser) {
    for (const io::RunField& field : io::run_fields()) add_run_option(parser, field, spec_);
    parser.add_option("--out", folder_, "folder for the result (default results/MODEL-METHOD)")
        ->type_name("DIR")
        ->group(output);
    parser
        .add_option("--format", format_,
                    "format of the trajectory: csv or hdf5 with every point; automatic (default): csv, but "
                    "thinned hdf5 above a million values")
        ->type_name("F")
        ->group(output);
    parser
        .add_option("--output", columns_,
                    "columns of the trajectory beside t, h and order: outputs, bodies, q, v, lambda, ... (default all)")
        ->type_name("NAME,...")
        ->delimiter(',')
        ->group(output);
    parser.add_option("--write-model", model_file_, "write the assembled model without includes, as one file")
        ->type_name("FILE")
        ->group(output);
    parser.add_option("--log", log_, "write one line per step attempt")->type_name("FILE")->group(output);
    parser.add_flag("--json", is_json_, "print the summary as one JSON object")->group(output);
    parser.add_flag("--quiet", is_quiet_, "no summary, no progress bar")->group(output);
    parser
        .add_flag("--verify", verifies_,
                  "repeat the run with a tenth of the tolerances, or half the steps, and report the observed error of "
                  "every output")
        ->group(output);
    parser
        .add_option("--sensitivities", sensitivities_,
                    "write derivatives of outputs, q, v and lambda with respect to parameters, numbers of parts as in "
                    "spring1.length, or initial values (v0.2, q0.2) to sensitivities.csv")
        ->type_name("NAME,...")
        ->delimiter(',')
        ->group(output);
    parser
        .add_option("--adjoint", scalars_,
                    "write derivatives of these numbers alone, with respect to what --sensitivities names, to "
                    "gradients.csv: knee (at the end), knee@0.4 (at t = 0.4), integral(knee); for many parameters")
        ->type_name("OUTPUT,...")
        ->delimiter(',')
        ->group(output);
    parser.add_option("--checkpoint-every", checkpoint_every_, "write a checkpoint this often, for --resume")
        ->type_name("SECONDS")
        ->group(output);
    parser
        .add_flag("--watch", watches_,
                  "show the run in the browser while it is running; sliders change parameters and inputs of the model")
        ->group(output);
    parser.add_option("--port", port_, "port of --watch")->type_name("P")->group(output);
    parser.add_flag("--no-browser", opens_nothing_, "with --watch: do not open a browser")->group(output);
    parser.add_option("--resume", resume_, "resume a run that was killed or interrupted, from its last checkpoint")
        ->type_name("DIR")
        ->group(output);
    parser.footer(run_examples);
  }

  int execute(const Invocation& invocation) override {
    if (!resume_.empty()) return resume(invocation);
    model_.fill(spec_);
    io::ResultRequest result;
    result.format = Choice<io::TrajectoryFormat>(format_).value_or(io::TrajectoryFormat::automatic);
    result.columns = columns_;
    if (!sensitivities_.empty()) io::refuse_unknown_names(spec_, sensitivities_);
    if (!scalars_.empty() && sensitivities_.empty())
      throw InvalidInput("--adjoint needs --sensitivities, which names the parameters");
    if (!scalars_.empty()) io::refuse_unknown_scalars(spec_, scalars_);
    const io::PreparedRun run = io::prepare(spec_);
    for (const std::string& warning : run.warnings) print_warning(warning);
    result.folder = folder_.empty()
                        ? io::Path("results") / (io::as_file_name(run.model.name) + "-" + run.options.method.name())
                        : io::Path(folder_);
    write_model(run, model_file_);
    result.log = log_;
    result.command = invocation.command_line;
    if (!checkpoint_every_.empty()) result.checkpoint_every = seconds_of(checkpoint_every_);
    result.verifies = verifies_;
    if (!watches_ && (port_ != 0 || opens_nothing_)) throw InvalidInput("--port and --no-browser need --watch");
    if (!watches_) return finish(run, result, invocation);
    if (verifies_ || !sensitivities_.empty() || result.checkpoint_every)
      throw InvalidInput("--watch cannot be combined with --verify, --sensitivities or --checkpoint-every");
    const std::optional<io::RunResult> done = watch(run, {spec_, result, port_, !opens_nothing_});
    if (!done) return io::ending_of(run::Status::interrupted).exit_code;
    return conclude(run, *done, invocation);
  }

  io::Json failure(std::string_view status, std::string_view message, const Invocation& invocation) const override {
    return io::summarize(io::label_of(spec_), status, message, invocation.command_line);
  }

 private:
  static constexpr const char* output = "Output";

  static double seconds_of(const std::string& text) {
    const std::optional<double> value = number_in(text);
    if (!value || *value < 0.0)
      throw InvalidInput(fmt::format("--checkpoint-every: is '{}', expected a number of seconds", text));
    return *value;
  }

  int resume(const Invocation& invocation) {
    for (const CLI::Option* option : parser().get_options())
      for (const std::string& name : option->get_lnames())
        if (option->count() > 0 && name != "resume" && name != "json" && name != "quiet")
          throw InvalidInput(fmt::format("--resume takes everything from the checkpoint: leave --{} out", name));
    if (model_.is_given()) throw InvalidInput("--resume takes the model from the checkpoint: leave MODEL out");
    io::Resumption resumption = io::prepare_resumption(resume_);
    spec_ = resumption.run.spec;
    for (const std::string& warning : resumption.run.warnings) print_warning(warning);
    resumption.request.resume = &resumption.checkpoint;
    return finish(resumption.run, resumption.request, invocation);
  }

  int finish(const io::PreparedRun& run, const io::ResultRequest& result, const Invocation& invocation) {
    io::RunResult done = integrate(run, result);
    for (const std::string& warning : done.report.warnings) print_warning(warning);
    if (result.verifies && done.report.status == run::Status::success) verify(run, done);
    if (!sensitivities_.empty() && done.report.status == run::Status::success && !differentiate(run, done))
      return analysis_failed;
    return conclude(run, done, invocation);
  }

  /// Prints the result and returns the exit code.
  int conclude(const io::PreparedRun& run, const io::RunResult& done, const Invocation& invocation) {
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(done.summary));
    else if (!is_quiet_)
      print(run, done);
    if (done.report.status != run::Status::success)
      print_error(fmt::format("{}: {}", run::info_of(done.report.status).name, done.report.message));
    const bool was_interrupted =
        done.verification && done.verification->status == run::info_of(run::Status::interrupted).name;
    return io::ending_of(was_interrupted ? run::Status::interrupted : done.report.status).exit_code;
  }

  /// The names were checked before the run.
  bool differentiate(const io::PreparedRun& run, io::RunResult& done) const {
    Interruption interruption;
    if (!scalars_.empty()) {
      const run::Gradients found = io::gradients(spec_, sensitivities_, scalars_, interruption);
      if (found.report.status != run::Status::success || !found.problem.empty()) {
        print_error(found.problem.empty() ? found.report.message : found.problem);
        return false;
      }
      if (!found.obstacle.empty())
        print_warning(
            fmt::format("--adjoint does not serve this run: {}; the derivatives were carried along from the start, "
                        "which costs as much as --sensitivities alone",
                        found.obstacle));
      io::write_gradients(io::Path(done.output.folder) / "gradients.csv", sensitivities_, scalars_, found);
      for (std::size_t f = 0; f < scalars_.size(); ++f)
        for (std::size_t j = 0; j < sensitivities_.size(); ++j)
          done.summary["gradients"][scalars_[f]][sensitivities_[j]] =
              found.by(static_cast<Eigen::Index>(f), static_cast<Eigen::Index>(j));
      return true;
    }
    const run::Sensitivities found = io::sensitivities(spec_, sensitivities_, interruption);
    if (found.report.status != run::Status::success || !found.problem.empty()) {
      print_error(found.problem.empty() ? found.report.message : found.problem);
      return false;
    }
    const io::Path file = io::Path(done.output.folder) / "sensitivities.csv";
    io::write_sensitivities(file, run.model.system->result_layout(), sensitivities_, found);
    for (std::size_t j = 0; j < found.by.size(); ++j)
      done.summary["sensitivities"][sensitivities_[j]] = {
          {"uncertainty", std::isfinite(found.by[j].uncertainty) ? io::Json(found.by[j].uncertainty) : io::Json()}};
    return true;
  }

  void verify(const io::PreparedRun& run, io::RunResult& done) const {
    Progress progress(run.model.start.t0, done.report.t_end, !is_quiet_, "verification ");
    Interruption interruption;
    io::ObserverList spectators({&progress, &interruption});
    io::verify_result(run, done, spectators);
    for (const std::string& warning : done.verification->warnings) print_warning("verification: " + warning);
  }

  io::RunResult integrate(const io::PreparedRun& run, const io::ResultRequest& result) const {
    const system::Start& start = run.model.start;
    Progress progress(start.t0, std::isnan(run.options.t_end) ? start.t_end : run.options.t_end, !is_quiet_);
    Interruption interruption;
    io::ObserverList spectators({&progress, &interruption});
    return io::run_to_folder(run, result, spectators);
  }

  static void print(const io::PreparedRun& run, const io::RunResult& done) {
    const run::Report& report = done.report;
    const bool is_adaptive = run.options.has_error_control();
    const std::string accuracy =
        is_adaptive ? fmt::format("rtol {:g}, atol {:g}", run.options.rtol, run.options.atol)
        : !run.step_sequence.empty()
            ? fmt::format("steps {} of mean {}{}", run.step_sequence, brief(report.step),
                          report.step_was_adjusted ? " (shrunk to end at t_end)" : "")
            : fmt::format("h = {}{}", brief(report.step),
                          report.step_was_adjusted
                              ? fmt::format(" (shrunk from {} to end at t_end)", brief(run.options.step))
                              : "");
    fmt::print("{}\n", coloured(fmt::format("{} on {}: {}, order {}, {}, {}", run.model.name, run.model.group,
                                            report.method, report.order, report.formulation, accuracy),
                                Colour::bold, stdout));
    const bool is_success = report.status == run::Status::success;
    const std::string rejected =
        report.counters.rejected_steps > 0 ? fmt::format(" ({} rejected)", report.counters.rejected_steps) : "";
    fmt::print("  {} t = {} after {} steps{}, {} Newton iterations, {:.2g} s\n",
               coloured(fmt::format("{:<12}", run::info_of(report.status).name),
                        is_success ? Colour::green : Colour::red, stdout),
               brief(report.final.motion.t), report.counters.steps, rejected, report.counters.newton_iterations,
               report.solve_seconds);
    if (run.model.system->pattern().rows() > 0)
      fmt::print("  {:<12} |Phi| <= {:.2e}, |B v| <= {:.2e}\n", "constraints", report.position_max,
                 report.velocity_max);
    if (std::isfinite(report.energy_initial) && std::isfinite(report.energy_final))
      fmt::print("  {:<12} {} J at the start, {} J at the end, change {:.2e} J\n", "energy",
                 brief(report.energy_initial), brief(report.energy_final), report.energy_final - report.energy_initial);
    print_events(report.events);
    if (run.model.system->has_energy_parts() && !run.model.system->is_conservative())
      fmt::print("  {:<12} forces {} J, drivers {} J, dissipated {} J, balance within {:.2e} J\n", "work",
                 brief(report.work.forces), brief(report.work.drivers), brief(report.work.dissipated),
                 report.energy_error);
    if (done.verification) {
      const std::vector<std::string> lines = io::lines_of(*done.verification);
      for (std::size_t i = 0; i < lines.size(); ++i) fmt::print("  {:<12} {}\n", i == 0 ? "verified" : "", lines[i]);
    }
    constexpr std::size_t most = 10;
    for (std::size_t i = 0; i < std::min(most, run.changes.size()); ++i)
      fmt::print("  {:<12} {}\n", i == 0 ? "assembled" : "", io::described(run.changes[i]));
    if (run.changes.size() > most) fmt::print("  {:<12} and {} more, in summary.json\n", "", run.changes.size() - most);
    const io::TrajectoryInfo& trajectory = done.output.trajectory;
    const std::string thinned =
        trajectory.every_nth > 1
            ? fmt::format(" (one point in {}; --format csv or hdf5 keeps all)", trajectory.every_nth)
            : "";
    fmt::print("  {:<12} {}/: summary.json{}{}{}{}\n", "result", done.output.folder,
               trajectory.file.empty() ? "" : ", ", trajectory.file, thinned,
               done.summary.contains("sensitivities") ? ", sensitivities.csv"
               : done.summary.contains("gradients")   ? ", gradients.csv"
                                                      : "");
  }

  static void print_events(const std::vector<run::Occurrence>& events) {
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < std::min(most, events.size()); ++i)
      fmt::print("  {:<12} {} at t = {:.10g}: {}\n", i == 0 ? "events" : "", events[i].event, events[i].t,
                 events[i].ends_the_run ? "end of the run" : events[i].action);
    if (events.size() > most) fmt::print("  {:<12} and {} more, all in summary.json\n", "", events.size() - most);
  }

  ModelArguments model_;
  io::RunSpec spec_;
  std::vector<std::string> columns_, sensitivities_, scalars_;
  std::string folder_, format_ = "automatic", log_, model_file_, checkpoint_every_, resume_;
  int port_ = 0;
  bool is_quiet_ = false, is_json_ = false, verifies_ = false, watches_ = false, opens_nothing_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run(CLI::App& program) {
  return std::make_unique<Run>(*program.add_subcommand("run", "Simulate a model and write trajectory and summary"));
}

}  // namespace kreisel::apps
