// kreisel reproduce: the figures and tables of the papers, each with a verdict.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>

#include "command.hpp"
#include "io/report/report.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "study/figures.hpp"
#include "study/output.hpp"
#include "study_view.hpp"

namespace kreisel::apps {
namespace {

constexpr const char* examples =
    "Examples:\n"
    "  kreisel reproduce --list\n"
    "  kreisel reproduce wieloch2022-fig-6.10\n"
    "      page in results/reproduce/wieloch2022-fig-6.10/report.html\n"
    "  kreisel reproduce arnold2015\n"
    "      everything of one paper\n"
    "  kreisel reproduce --all\n"
    "Exit codes: 0 all as expected, 1 an expectation was missed, 2 bad input, 130 interrupted";

struct Outcome {
  std::string id;
  study::StudyResult result;
};

class Reproduce final : public Command {
 public:
  explicit Reproduce(CLI::App& parser) : Command(parser) {
    parser.add_option("ID", ids_, "figures, or papers for all their figures (default: all)")->type_name("");
    parser.add_flag("--list", is_list_, "name all figures");
    parser.add_flag("--all", is_all_, "all figures");
    parser.add_flag("--quick", is_quick_, "only those that take a second or two");
    parser.add_option("--out", folder_, "folder for the results (default results/reproduce)")->type_name("DIR");
    parser.add_option("--jobs", jobs_, "runs at the same time (default: one per core)")->type_name("N");
    parser.add_flag("--json", is_json_, "print the verdicts as one JSON object");
    parser.add_flag("--quiet", is_quiet_, "no table, no progress line");
    parser.footer(examples);
  }

  int execute(const Invocation& invocation) override {
    if (jobs_ < 0) throw InvalidInput(fmt::format("--jobs {}: must be at least 1", jobs_));
    if (is_all_ && !ids_.empty()) throw InvalidInput("--all and an ID exclude each other");
    const std::vector<const study::Figure*> figures = chosen();
    if (is_list_) return list(figures, invocation.wants_json);
    io::claim_result_folder(folder_);
    const io::FolderLock lock(folder_);
    std::vector<Outcome> outcomes;
    Interruption interruption;
    for (const study::Figure* figure : figures) {
      const std::string folder = (io::Path(folder_) / figure->id).string();
      outcomes.push_back({std::string(figure->id), run_in_folder(study::spec_of(*figure), folder,
                                                                 fmt::format("kreisel reproduce {}", figure->id), jobs_,
                                                                 is_quiet_, interruption)});
      write_overview(outcomes, invocation.command_line);
      if (outcomes.back().result.is_interrupted) {
        print_error("interrupted; give the same command again to do the remaining runs");
        return interrupted;
      }
      if (!is_quiet_ && !invocation.wants_json) print(outcomes.back());
    }
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(json_of(outcomes)));
    else if (!is_quiet_) {
      print_table(outcomes);
      fmt::print("{}: {}, {}/report.html\n",
                 count_of(outcomes, true) == outcomes.size() ? coloured("all as expected", Colour::green, stdout)
                                                             : coloured("missed", Colour::red, stdout),
                 fmt::format("{} of {} figures", count_of(outcomes, true), outcomes.size()), folder_);
    }
    return count_of(outcomes, true) == outcomes.size() ? success : expectation_missed;
  }

 private:
  std::vector<const study::Figure*> chosen() const {
    std::vector<const study::Figure*> list;
    const auto add = [&](const study::Figure& figure) {
      if (std::find(list.begin(), list.end(), &figure) == list.end() &&
          (!is_quick_ || study::summary_of(figure).is_quick))
        list.push_back(&figure);
    };
    if (ids_.empty())
      for (const study::Figure& figure : study::figures()) add(figure);
    for (const std::string& id : ids_) {
      bool is_paper = false;
      for (const study::Figure& figure : study::figures())
        if (figure.id.starts_with(id + "-") && figure.id.substr(id.size() + 1).find_first_of("fste") == 0 &&
            id.find('-') == std::string::npos) {
          is_paper = true;
          add(figure);
        }
      if (!is_paper) add(study::find_figure(id));
    }
    return list;
  }

  static int list(const std::vector<const study::Figure*>& figures, bool wants_json) {
    io::Json json = io::Json::array();
    for (const study::Figure* figure : figures) {
      const study::FigureSummary summary = study::summary_of(*figure);
      if (wants_json)
        json.push_back({{"name", figure->id},
                        {"summary", summary.title},
                        {"source", summary.source},
                        {"quick", summary.is_quick}});
      else
        fmt::print("{:<28} {}\n", figure->id, summary.title);
    }
    if (wants_json) fmt::print("{}", io::to_text(json));
    return success;
  }

  static std::size_t count_of(const std::vector<Outcome>& outcomes, bool is_met) {
    return static_cast<std::size_t>(std::count_if(
        outcomes.begin(), outcomes.end(), [&](const Outcome& o) { return o.result.is_as_expected() == is_met; }));
  }

  /// As soon as a figure is there.
  static void print(const Outcome& outcome) {
    const bool is_met = outcome.result.is_as_expected();
    fmt::print("{}  {:<26}  {}\n",
               is_met ? coloured("met   ", Colour::green, stdout) : coloured("missed", Colour::red, stdout), outcome.id,
               outcome.result.spec.title);
    std::fflush(stdout);
  }

  static std::string cut(const std::string& text, std::size_t width) {
    std::size_t columns = 0, at = 0;
    for (; at < text.size() && columns < width; ++at)
      if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && ++columns == width) break;
    return at < text.size() ? text.substr(0, at) + "…" : text;
  }

  /// Id, what the paper says, what came out, verdict; whole sentences stand on the page.
  static void print_table(const std::vector<Outcome>& outcomes) {
    constexpr std::size_t quantity = 34, paper = 30, measured = 34, expected = 26;
    const auto line = [&](const std::string& id, const std::string& of, const std::string& says, const std::string& is,
                          const std::string& wanted) {
      return fmt::format("{:<26}  {}  {}  {}  {}", id, padded(cut(of, quantity), quantity),
                         padded(cut(says, paper), paper), padded(cut(is, measured), measured),
                         padded(cut(wanted, expected), expected));
    };
    fmt::print("\n{}\n", coloured(line("figure", "quantity", "paper", "measured", "expected") + "  verdict",
                                  Colour::bold, stdout));
    for (const Outcome& o : outcomes)
      for (const study::Verdict& v : o.result.verdicts)
        fmt::print("{}  {}\n",
                   line(o.id, v.quantity, v.says.empty() ? o.result.spec.says : v.says, v.measured, v.expected),
                   v.is_met ? coloured("met", Colour::green, stdout) : coloured("missed", Colour::red, stdout));
  }

  static io::Json json_of(const std::vector<Outcome>& outcomes) {
    io::Json figures = io::Json::array();
    for (const Outcome& o : outcomes) {
      io::Json verdicts = io::Json::array();
      for (const study::Verdict& v : o.result.verdicts)
        verdicts.push_back({{"quantity", v.quantity},
                            {"paper", v.says},
                            {"expected", v.expected},
                            {"measured", v.measured},
                            {"met", v.is_met}});
      figures.push_back(
          {{"id", o.id}, {"title", o.result.spec.title}, {"met", o.result.is_as_expected()}, {"verdicts", verdicts}});
    }
    const bool is_met = count_of(outcomes, false) == 0;
    return {{"status", is_met ? "success" : "missed"}, {"message", ""}, {"figures", figures}};
  }

  /// One page for all: id, what the paper says, what came out, verdict.
  void write_overview(const std::vector<Outcome>& outcomes, const std::string& command) const {
    io::Json rows = io::Json::array();
    for (const Outcome& o : outcomes)
      for (const study::Verdict& v : o.result.verdicts)
        rows.push_back({o.id, v.quantity, v.says.empty() ? o.result.spec.says : v.says, v.expected, v.measured,
                        v.is_met ? "met" : "missed", v.note});
    const io::Json table{{"title", "Figures and tables"},
                         {"columns", {"id", "quantity", "paper", "expected", "measured", "verdict", "note"}},
                         {"rows", rows}};
    const io::Json overview{
        {"format", 1},
        {"title", "Reproduction of the papers"},
        {"command", command},
        {"summary", {{"status", count_of(outcomes, false) == 0 ? "passed" : "missed"}, {"figures", outcomes.size()}}},
        {"tables", io::Json::array({table})}};
    const io::Path folder = folder_;
    io::write_atomically(folder / "study.json", io::to_text(overview));
    io::write_report(io::read_report_data(folder), folder / "report.html");
  }

  std::vector<std::string> ids_;
  std::string folder_ = "results/reproduce";
  int jobs_ = 0;
  bool is_list_ = false, is_all_ = false, is_quick_ = false, is_json_ = false, is_quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_reproduce(CLI::App& program) {
  return std::make_unique<Reproduce>(
      *program.add_subcommand("reproduce", "Run the figures and tables of the papers, with verdicts"));
}

}  // namespace kreisel::apps
