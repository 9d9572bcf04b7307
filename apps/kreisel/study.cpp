// kreisel study: a grid of runs, their errors, orders and costs.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>

#include "base/spelling.hpp"
#include "command.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "study/output.hpp"
#include "study_view.hpp"

namespace kreisel::apps {
namespace {

constexpr const char* examples =
    "The file lists what varies; every option of 'kreisel run' may be a value or a list:\n"
    "  { \"model\": \"heavy-top\", \"method\": \"bliedf\", \"order\": [2, 3, 4],\n"
    "    \"step\": [2e-3, 1e-3, 5e-4], \"t_end\": 0.5, \"measures\": [\"q max\", \"lambda max\"] }\n"
    "'kreisel list studies' names examples, which run by name; share/kreisel/study.schema.json is the schema.\n"
    "Give the same command again to resume an interrupted study.\n"
    "Exit codes: 0 success, 1 an expectation of the file was missed, 2 bad input, 130 interrupted;\n"
    "when no run succeeds, that of the first (3: the integration failed)";

class Study final : public Command {
 public:
  explicit Study(CLI::App& parser) : Command(parser) {
    parser.add_option("SPEC", specs_, "the study: a JSON file, or the name of one that ships")->type_name("");
    parser.add_option("--out", folder_, "folder for the result (default results/NAME of the file)")->type_name("DIR");
    parser.add_option("--jobs", jobs_, "runs at the same time (default: one per core)")->type_name("N");
    parser.add_flag("--mutations", has_mutations_,
                    "also with the wrong settings that the file lists, which its expectations must notice");
    parser.add_flag("--json", is_json_, "print orders and verdicts as one JSON object");
    parser.add_flag("--quiet", is_quiet_, "no table, no progress line");
    parser.footer(examples);
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
    const std::string folder = folder_.empty() ? (io::Path("results") / file.stem()).string() : folder_;
    study::refuse_to_overwrite(read.files(), folder);
    Interruption interruption;
    const study::StudyResult result =
        run_in_folder(std::move(spec), folder, invocation.command_line, jobs_, is_quiet_, interruption);
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
    const study::Row& first = result.rows.front();
    return fmt::format("none of {} runs succeeded; the first: {}: {}", result.rows.size(), first.status, first.message);
  }

  /// That of the first run. An error that cannot be measured is not an outcome of a run but a mistake in the study.
  static int exit_code_of_failure(const study::StudyResult& result) {
    for (const io::Ending& ending : io::endings())
      if (ending.id == result.rows.front().status) return ending.exit_code;
    return bad_input;
  }

  static void print(const study::StudyResult& result, const std::string& folder) {
    fmt::print("{}\n", coloured(fmt::format("{}: {} cases{}", result.spec.title, result.rows.size(),
                                            result.resumed > 0
                                                ? fmt::format(" ({} from before the interruption)", result.resumed)
                                                : ""),
                                Colour::bold, stdout));
    print_table(result);
    print_verdicts(result);
    fmt::print("  result {}/: study.csv, study.json, report.html\n", folder);
  }

  std::vector<std::string> specs_;
  std::string folder_;
  int jobs_ = 0;
  bool has_mutations_ = false, is_json_ = false, is_quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_study(CLI::App& program) {
  return std::make_unique<Study>(
      *program.add_subcommand("study", "Measure errors, orders and costs over a grid of runs"));
}

}  // namespace kreisel::apps
