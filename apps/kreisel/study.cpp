// kreisel study: a grid of runs, their errors, orders and costs.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/spelling.hpp"
#include "command.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "study/journal.hpp"
#include "study/output.hpp"
#include "study_view.hpp"

namespace kreisel::apps {
namespace {

constexpr const char* study_examples =
    "The file lists what varies; every option of 'kreisel run' may be a value or a list:\n"
    "  { \"model\": \"heavy-top\", \"method\": \"bliedf\", \"order\": [2, 3, 4],\n"
    "    \"step\": [2e-3, 1e-3, 5e-4], \"t_end\": 0.5, \"measures\": [\"q max\", \"lambda max\"] }\n"
    "'kreisel list studies' lists examples, which can be run by name; share/kreisel/study.schema.json is the schema.\n"
    "Give the same command again to resume an interrupted study.\n"
    "Exit codes: 0 success, 1 an expectation of the file was missed, 2 bad input, 130 interrupted;\n"
    "when no run succeeds, that of the first (3: the integration failed)";

class Study final : public Command {
 public:
  explicit Study(CLI::App& parser) : Command(parser) {
    parser.add_option("SPEC", specs_, "the study: a JSON file, or the name of an installed one")->type_name("");
    parser.add_option("--out", folder_, "folder for the result (default results/NAME of the file)")->type_name("DIR");
    parser.add_option("--jobs", jobs_, "runs at the same time (default: one per core)")->type_name("N");
    parser.add_flag("--mutations", has_mutations_,
                    "also with the wrong settings that the file lists, which its expectations must notice");
    parser
        .add_option("--shard", shard_,
                    "run part I of N only (I from 0 to N-1), or auto: given by the array task or MPI rank; the same "
                    "command without --shard then puts all parts together")
        ->type_name("I/N");
    parser.add_flag("--status", is_status_, "report how many cases are done, failed and missing; run nothing");
    parser.add_flag(
        "--watch", is_watching_,
        "with --status: repeat until the last case is done, with rate and time left of all writers together");
    parser.add_flag("--print-cases", is_listing_, "print one line of JSON per case with its key; run nothing");
    parser.add_option("--retry", retry_, "failed: run the failed cases again")->type_name("WHAT");
    parser.add_option("--cache", cache_, "folder of exact solutions, which machines may share")->type_name("DIR");
    parser.add_flag("--json", is_json_, "print orders and verdicts as one JSON object");
    parser.add_flag("--quiet", is_quiet_, "no table, no progress line");
    parser.footer(study_examples);
  }

  int execute(const Invocation& invocation) override {
    if (specs_.size() != 1)
      throw InvalidInput(specs_.empty() ? "study: SPEC is missing: the JSON file of a study"
                                        : "study: one SPEC is expected");
    if (jobs_ < 0) throw InvalidInput(fmt::format("--jobs {}: must be at least 1", jobs_));
    set_spelling(as_key);
    const io::Path file = study_file(specs_.front());
    const io::ReadingList read;
    study::Spec spec = study::parse_spec(io::JsonSource::read(file, "study"));
    if (is_listing_) return print_cases(spec);
    const std::string folder = folder_.empty() ? (io::Path("results") / file.stem()).string() : folder_;
    if (is_watching_ && !is_status_) throw InvalidInput("--watch needs --status");
    if (is_status_) {
      if (is_watching_ && !watch(spec, folder)) return interrupted;
      return print_state(study::state_of(spec, folder), folder, invocation);
    }
    study::refuse_to_overwrite(read.files(), folder);
    study::StudyOptions options;
    options.jobs = jobs_;
    options.shard = shard();
    options.retries_failures = retries_failures();
    options.cache = cache_;
    Interruption interruption;
    const study::StudyResult result =
        run_in_folder(std::move(spec), folder, invocation.command_line, options, is_quiet_, interruption);
    if (options.shard) return report_shard(*options.shard, result, folder, invocation);
    const std::vector<study::MutationResult> mutations =
        has_mutations_ && !result.is_interrupted
            ? run_mutations(result.spec, result.spec.title, jobs_, is_quiet_, interruption)
            : std::vector<study::MutationResult>();
    if (invocation.wants_json)
      print_json(result, mutations, folder, invocation);
    else if (!is_quiet_) {
      print(result, folder);
      print_mutations(mutations);
    }
    if (result.is_interrupted) {
      print_error("interrupted; give the same command again to do the remaining runs");
      return interrupted;
    }
    const bool notices_all =
        std::all_of(mutations.begin(), mutations.end(), [](const auto& m) { return m.is_noticed; });
    if (!result.verdicts.empty()) return result.is_as_expected() && notices_all ? success : expectation_missed;
    if (result.has_success()) return success;
    print_error(message_of(result));
    return exit_code_of_failure(result);
  }

 private:
  bool retries_failures() const {
    if (retry_.empty() || retry_ == "failed") return !retry_.empty();
    throw InvalidInput(fmt::format("--retry {}: expected 'failed'", retry_));
  }

  std::optional<study::Shard> shard() const {
    if (shard_.empty()) return {};
    if (shard_ == "auto") return shard_of_environment();
    const std::size_t slash = shard_.find('/');
    const std::optional<long> index = whole_number(shard_.substr(0, slash)),
                              count =
                                  slash == std::string::npos ? std::nullopt : whole_number(shard_.substr(slash + 1));
    if (!index || !count || *count < 1 || *count > 1'000'000 || *index < 0 || *index >= *count)
      throw InvalidInput(fmt::format(
          "--shard {}: expected auto, or I/N with I from 0 to N-1, for example 0/4 for the first of four parts",
          shard_));
    return study::Shard{static_cast<int>(*index), static_cast<int>(*count)};
  }

  static std::optional<long> whole_number(const std::string& text) {
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
  }

  static std::optional<long> environment_number(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : whole_number(text);
  }

  /// Array tasks of SLURM may begin anywhere; ranks of MPI begin at 0.
  static study::Shard shard_of_environment() {
    if (const auto task = environment_number("SLURM_ARRAY_TASK_ID"),
        count = environment_number("SLURM_ARRAY_TASK_COUNT");
        task && count) {
      const long index = *task - environment_number("SLURM_ARRAY_TASK_MIN").value_or(0);
      if (*count >= 1 && index >= 0 && index < *count) return {static_cast<int>(index), static_cast<int>(*count)};
      throw InvalidInput(fmt::format(
          "--shard auto: task {} of an array of {}: expected tasks without gaps, as 'sbatch --array=0-{}' makes them",
          *task, *count, *count - 1));
    }
    for (const auto& [rank_name, size_name] : {std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                               {"PMI_RANK", "PMI_SIZE"},
                                               {"SLURM_PROCID", "SLURM_NTASKS"}})
      if (const auto rank = environment_number(rank_name), size = environment_number(size_name);
          rank && size && *size >= 1 && *rank >= 0 && *rank < *size)
        return {static_cast<int>(*rank), static_cast<int>(*size)};
    throw InvalidInput(
        "--shard auto: there is neither an array task (SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT) nor a rank "
        "(OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID) in the environment; give --shard I/N");
  }

  /// For Snakemake, GNU parallel and the like.
  static int print_cases(const study::Spec& spec) {
    const study::Keys keys(spec);
    for (std::size_t i = 0; i < spec.size(); ++i) {
      const study::Case c = spec.outline(i);
      fmt::print(
          "{}\n",
          io::Json({{"case", i}, {"key", keys.of(c)}, {"label", c.label}, {"coordinates", c.coordinates}}).dump());
    }
    return success;
  }

  /// Until all cases are done. False: interrupted.
  static bool watch(const study::Spec& spec, const std::string& folder) {
    using Clock = std::chrono::steady_clock;
    constexpr auto pause = std::chrono::seconds(1);
    const Interruption interruption;
    StudyLine line(folder, true);
    const Clock::time_point begin = Clock::now();
    std::optional<std::size_t> before;
    for (;;) {
      const study::StudyState state = study::state_of(spec, folder);
      if (!before) before = state.done;
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      const double rate = static_cast<double>(state.done - std::min(state.done, *before)) / seconds;
      const auto missing = static_cast<double>(state.cases - state.done);
      line.show({state.done, state.cases, state.failed, rate, rate > 0.0 ? missing / rate : NAN});
      if (state.is_complete()) return true;
      for (const Clock::time_point next = Clock::now() + pause; Clock::now() < next;) {
        if (interruption.was_asked()) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
  }

  static int print_state(const study::StudyState& state, const std::string& folder, const Invocation& invocation) {
    const std::size_t missing = state.cases - state.done;
    if (invocation.wants_json) {
      fmt::print("{}", io::to_text({{"status", state.is_complete() ? "complete" : "incomplete"},
                                    {"folder", folder},
                                    {"cases", state.cases},
                                    {"done", state.done},
                                    {"failed", state.failed},
                                    {"missing", missing},
                                    {"failures", state.failures},
                                    {"damaged_lines", state.damaged}}));
    } else {
      fmt::print("{}: {} cases: {} done, {} of them failed, {} missing\n", folder, state.cases, state.done,
                 state.failed, missing);
      for (const auto& [status, count] : state.failures) fmt::print("  {} {}\n", count, status);
      if (state.damaged > 0) fmt::print("  {} damaged lines of journals; their cases are missing\n", state.damaged);
    }
    return state.is_complete() ? success : expectation_missed;
  }

  int report_shard(const study::Shard& shard, const study::StudyResult& result, const std::string& folder,
                   const Invocation& invocation) const {
    std::size_t mine = 0, failed = 0, done = 0;
    const study::Keys keys(result.spec);
    for (std::size_t i = 0; i < result.spec.size(); ++i) {
      if (!shard.has(keys.of(result.spec.outline(i)))) continue;
      ++mine;
      const std::string status = result.status(i);
      if (status == "not-run") continue;
      ++done;
      if (status != "success") ++failed;
    }
    if (invocation.wants_json)
      fmt::print("{}", io::to_text({{"status", result.is_interrupted ? "interrupted" : "success"},
                                    {"folder", folder},
                                    {"shard", fmt::format("{}/{}", shard.index, shard.count)},
                                    {"cases", mine},
                                    {"done", done},
                                    {"failed", failed}}));
    else if (!is_quiet_)
      fmt::print(
          "shard {}/{}: {} of {} cases done, {} of them failed; the same command without --shard puts all parts "
          "together\n",
          shard.index, shard.count, done, mine, failed);
    return result.is_interrupted ? interrupted : success;
  }

  void print_json(const study::StudyResult& result, const std::vector<study::MutationResult>& mutations,
                  const std::string& folder, const Invocation& invocation) const {
    io::Json json = study::study_json(result, invocation.command_line);
    for (const char* bulk : {"plots", "tables", "rows"}) json.erase(bulk);
    json["status"] = json["summary"]["status"];
    json["message"] = result.has_success() ? "" : message_of(result);
    json["folder"] = folder;
    for (const study::MutationResult& m : mutations)
      json["mutations"].push_back({{"name", m.name}, {"noticed", m.is_noticed}});
    fmt::print("{}", io::to_text(json));
  }

  static std::string message_of(const study::StudyResult& result) {
    return fmt::format("none of {} runs succeeded; the first: {}: {}", result.spec.size(), result.tally.first_status,
                       result.tally.first_message);
  }

  /// That of the first run. An error that cannot be measured is not an outcome of a run but a mistake in the study.
  static int exit_code_of_failure(const study::StudyResult& result) {
    for (const io::Ending& ending : io::endings())
      if (ending.id == result.tally.first_status) return ending.exit_code;
    return bad_input;
  }

  static void print(const study::StudyResult& result, const std::string& folder) {
    fmt::print(
        "{}\n",
        coloured(fmt::format("{}: {} cases{}", result.spec.title, result.spec.size(),
                             result.resumed > 0 ? fmt::format(" ({} were already in the folder)", result.resumed) : ""),
                 Colour::bold, stdout));
    print_table(result);
    print_verdicts(result);
    fmt::print("  result {}/: study.csv, study.json, report.html\n", folder);
  }

  std::vector<std::string> specs_;
  std::string folder_, shard_, retry_, cache_;
  int jobs_ = 0;
  bool has_mutations_ = false, is_json_ = false, is_quiet_ = false, is_status_ = false, is_watching_ = false,
       is_listing_ = false;
};

}  // namespace

std::unique_ptr<Command> make_study(CLI::App& program) {
  return std::make_unique<Study>(
      *program.add_subcommand("study", "Measure errors, orders and costs over a grid of runs"));
}

}  // namespace kreisel::apps
