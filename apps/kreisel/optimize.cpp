// kreisel optimize: the parameters of a run that make a number smallest or largest.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/spelling.hpp"
#include "base/workers.hpp"
#include "command.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "study/optimize.hpp"
#include "study/output.hpp"
#include "study_view.hpp"

namespace kreisel::apps {
namespace {

class Optimize final : public Command {
 public:
  explicit Optimize(CLI::App& parser) : Command(parser) {
    parser.add_option("SPEC", specs_, "the search: a JSON file")->type_name("");
    parser.add_option("--out", folder_, "folder for the result (default results/NAME of the file)")->type_name("DIR");
    parser.add_option("--jobs", jobs_, "runs at the same time (default: one per core)")->type_name("N");
    parser.add_flag("--json", is_json_, "print the optimum as one JSON object");
    parser.add_flag("--quiet", is_quiet_, "print nothing");
    parser.footer(
        "The file describes a study of one run, the variables and the objective:\n"
        "  { \"model\": \"arm.json\", \"t_end\": 2, \"measures\": [\"output.tip end\"],\n"
        "    \"variables\": {\"stiffness\": {\"from\": 1e3, \"to\": 1e5}}, \"minimize\": \"output.tip end\" }\n"
        "Give the same command again to resume an interrupted search.\n"
        "Exit codes: 0 an optimum was found, 2 bad input, 3 none was found, 130 interrupted");
  }

  int execute(const Invocation& invocation) override {
    if (specs_.size() != 1)
      throw InvalidInput(specs_.empty() ? "optimize: SPEC is missing: the JSON file of a search"
                                        : "optimize: one SPEC is expected");
    if (jobs_ < 0) throw InvalidInput(fmt::format("--jobs {}: must be at least 1", jobs_));
    set_spelling(as_key);
    const io::Path file = specs_.front();
    const io::ReadingList read;
    study::OptimizationSpec spec = study::parse_optimization(io::JsonSource::read(file, "search"));
    const std::string folder = folder_.empty() ? (io::Path("results") / file.stem()).string() : folder_;
    study::refuse_to_overwrite(read.files(), folder);
    io::claim_result_folder(folder);
    const io::FolderLock lock(folder);
    Interruption interruption;
    study::Search search(std::move(spec), folder);
    run(search, interruption);
    study::write_optimum(search, invocation.command_line, folder);
    if (interruption.was_asked()) {
      print_error("interrupted; give the same command again to continue");
      return interrupted;
    }
    const study::Optimum& result = search.result();
    if (invocation.wants_json) {
      io::Json json = study::optimum_json(search, invocation.command_line)["summary"];
      json["folder"] = folder;
      fmt::print("{}", io::to_text(json));
    } else if (!is_quiet_) {
      print(search, folder);
    }
    if (result.is_found) return success;
    print_error(result.message);
    return 3;
  }

 private:
  void run(study::Search& search, const Interruption& interruption) const {
    const int jobs = jobs_ > 0 ? jobs_ : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    Workers team(jobs);
    StudyLine line(search.spec().spec.title, !is_quiet_);
    const std::function<bool()> wants_to_stop = [&] { return interruption.was_asked(); };
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    std::size_t done = 0;  // what the journal has is not counted
    for (;;) {
      const std::vector<std::vector<double>> points = search.ask();
      if (points.empty()) return;
      std::vector<std::string> lines(points.size());
      team.share(static_cast<int>(points.size()), [&](int i) {
        const auto at = static_cast<std::size_t>(i);
        if (!wants_to_stop()) lines[at] = search.evaluate(points[at], wants_to_stop);
      });
      lines.erase(std::remove(lines.begin(), lines.end(), std::string()), lines.end());
      search.tell(lines);
      done += lines.size();
      const std::vector<study::Evaluation>& all = search.result().evaluations;
      const auto failed = std::count_if(all.begin(), all.end(), [](const auto& e) { return !e.row.is_success(); });
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      // How many evaluations are left is not known.
      line.show({all.size() + lines.size(), search.spec().evaluations, static_cast<std::size_t>(failed),
                 static_cast<double>(done) / seconds, NAN});
      if (wants_to_stop()) return;
    }
  }

  static void print(const study::Search& search, const std::string& folder) {
    const study::Optimum& result = search.result();
    if (result.best) {
      const study::Evaluation& best = result.evaluations[*result.best];
      fmt::print("{}\n", coloured(fmt::format("{} {} = {:.10g}", search.spec().is_maximum ? "largest" : "smallest",
                                              search.spec().number, best.value),
                                  Colour::bold, stdout));
      for (std::size_t i = 0; i < best.x.size(); ++i) {
        const study::Variable& v = search.spec().variables[i];
        const double reach = 1e-6 * (v.to - v.from);
        fmt::print("  {} = {:.10g}{}\n", v.name, best.x[i],
                   best.x[i] - v.from < reach ? "  (lower bound)"
                   : v.to - best.x[i] < reach ? "  (upper bound)"
                                              : "");
      }
    }
    fmt::print("  {} evaluations; result {}/: study.csv, study.json, report.html\n", result.evaluations.size(), folder);
  }

  std::vector<std::string> specs_;
  std::string folder_;
  int jobs_ = 0;
  bool is_json_ = false, is_quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_optimize(CLI::App& program) {
  return std::make_unique<Optimize>(
      *program.add_subcommand("optimize", "Find the parameters of a run that make a number smallest or largest"));
}

}  // namespace kreisel::apps
