// kreisel reproduce: the figures and tables of the papers, each with a verdict.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <chrono>

#include "command.hpp"
#include "io/report/report.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "study/figures.hpp"
#include "study/output.hpp"
#include "study_view.hpp"

namespace kreisel::apps {
namespace {

constexpr const char* reproduce_examples =
    "Examples:\n"
    "  kreisel reproduce --list\n"
    "  kreisel reproduce wieloch2022-fig-6.10\n"
    "      figure and verdicts in results/reproduce/wieloch2022-fig-6.10/report.html\n"
    "  kreisel reproduce arnold2015\n"
    "      everything of one paper\n"
    "  kreisel reproduce --all\n"
    "  kreisel reproduce arnold2015-fig-1 --mutations\n"
    "      also with the wrong settings that its file lists: the verdicts must notice each of them\n"
    "A verdict is 'as printed' (as the paper says), 'as computed' (our own number), 'differs, explained' (not what "
    "the\n"
    "paper says, with the reason) or 'missed'.\n"
    "Exit codes: 0 nothing missed, 1 an expectation was missed or a wrong setting not noticed, 2 bad input,\n"
    "130 interrupted";

struct Reproduced {
  std::string id;
  study::StudyResult result;
  std::vector<study::MutationResult> mutations{};

  study::Outcome outcome() const { return study::outcome_of(result.verdicts); }
  bool is_good() const {
    return outcome() != study::Outcome::missed &&
           std::all_of(mutations.begin(), mutations.end(), [](const study::MutationResult& m) { return m.is_noticed; });
  }
};

constexpr std::string_view outcome_names[] = {"as printed or computed", "differs, explained", "missed"};
std::string_view name_of(study::Outcome outcome) { return outcome_names[static_cast<int>(outcome)]; }
Colour colour_of(study::Outcome outcome) {
  return outcome == study::Outcome::met       ? Colour::green
         : outcome == study::Outcome::differs ? Colour::yellow
                                              : Colour::red;
}

class Reproduce final : public Command {
 public:
  explicit Reproduce(CLI::App& parser) : Command(parser) {
    parser.add_option("ID", ids_, "figures, or papers for all their figures (default: all)")->type_name("");
    parser.add_flag("--list", is_list_, "name all figures");
    parser.add_flag("--all", is_all_, "all figures");
    parser.add_flag("--quick", is_quick_, "only those that take a second or two");
    parser.add_flag("--mutations", has_mutations_, "also with wrong settings, which the verdicts must notice");
    parser.add_option("--out", folder_, "folder for the results (default results/reproduce)")->type_name("DIR");
    parser.add_option("--jobs", jobs_, "runs at the same time (default: one per core)")->type_name("N");
    parser.add_flag("--json", is_json_, "print the verdicts as one JSON object");
    parser.add_flag("--quiet", is_quiet_, "no table, no progress line");
    parser.footer(reproduce_examples);
  }

  int execute(const Invocation& invocation) override {
    if (jobs_ < 0) throw InvalidInput(fmt::format("--jobs {}: must be at least 1", jobs_));
    if (is_all_ && !ids_.empty()) throw InvalidInput("--all and an ID exclude each other");
    const std::vector<const study::Figure*> figures = chosen();
    if (is_list_) return list(figures, invocation.wants_json);
    io::claim_result_folder(folder_);
    const io::FolderLock lock(folder_);
    std::vector<Reproduced> all;
    Interruption interruption;
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [](auto since) {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
    };
    for (const study::Figure* figure : figures) {
      const auto figure_begin = std::chrono::steady_clock::now();
      const study::Spec spec = study::spec_of(*figure);
      const std::string name = figures.size() == 1
                                   ? std::string(figure->id)
                                   : fmt::format("{} ({} of {})", figure->id, all.size() + 1, figures.size());
      all.push_back({std::string(figure->id),
                     run_in_folder(spec, folder_of(figure->id), fmt::format("kreisel reproduce {}", figure->id),
                                   {.jobs = jobs_}, is_quiet_, interruption, name)});
      if (has_mutations_ && !all.back().result.is_interrupted)
        all.back().mutations = run_mutations(spec, name, jobs_, is_quiet_, interruption);
      write_overview(all, invocation.command_line);
      if (all.back().result.is_interrupted || interruption.was_asked()) {
        print_error("interrupted; give the same command again to do the remaining runs");
        return interrupted;
      }
      if (!is_quiet_ && !invocation.wants_json) print(all.back(), seconds(figure_begin));
    }
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(json_of(all)));
    else if (!is_quiet_) {
      print_table(all);
      fmt::print("{} in {}: {}\n", count(all.size(), "figure"), duration(seconds(begin)), totals_of(all));
      fmt::print("{}\n", all.size() == 1 ? page_of(all.front().id) : folder_ + "/report.html");
    }
    return std::all_of(all.begin(), all.end(), [](const Reproduced& r) { return r.is_good(); }) ? success
                                                                                                : expectation_missed;
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

  std::string folder_of(std::string_view id) const { return (io::Path(folder_) / id).string(); }
  std::string page_of(std::string_view id) const { return folder_of(id) + "/report.html"; }

  static std::string count(std::size_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
  }

  /// "50 as printed, 9 differ (explained), 0 missed".
  static std::string totals_of(const std::vector<Reproduced>& all) {
    std::size_t counts[3] = {}, wrong = 0, noticed = 0;
    for (const Reproduced& r : all) {
      ++counts[static_cast<int>(r.outcome())];
      for (const study::MutationResult& m : r.mutations) ++wrong, noticed += m.is_noticed;
    }
    std::string text;
    for (const study::Outcome outcome : {study::Outcome::met, study::Outcome::differs, study::Outcome::missed})
      text += (text.empty() ? "" : "; ") +
              coloured(fmt::format("{} {}", counts[static_cast<int>(outcome)], name_of(outcome)),
                       counts[static_cast<int>(outcome)] > 0 ? colour_of(outcome) : Colour::bold, stdout);
    if (wrong > 0) text += fmt::format("; {} of {} wrong settings noticed", noticed, wrong);
    return text;
  }

  /// As soon as a figure is finished.
  void print(const Reproduced& r, double seconds) const {
    fmt::print("{}  {:<26}  {:>6}  {}\n",
               coloured(fmt::format("{:<18}", study::word_of(r.result.verdicts)), colour_of(r.outcome()), stdout), r.id,
               duration(seconds), r.result.spec.title);
    print_mutations(r.mutations);
    std::fflush(stdout);
  }

  static std::string cut(const std::string& text, std::size_t width) {
    std::size_t columns = 0, at = 0;
    for (; at < text.size() && columns < width; ++at)
      if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && ++columns == width) break;
    return at < text.size() ? text.substr(0, at) + "…" : text;
  }

  /// Id, statement of the paper, measured value, verdict; contradictions with the paper are explained below their line.
  static void print_table(const std::vector<Reproduced>& all) {
    constexpr std::size_t quantity = 34, paper = 30, measured = 34, expected = 26;
    const auto line = [&](const std::string& id, const std::string& of, const std::string& says, const std::string& is,
                          const std::string& wanted) {
      return fmt::format("{:<26}  {}  {}  {}  {}", id, padded(cut(of, quantity), quantity),
                         padded(cut(says, paper), paper), padded(cut(is, measured), measured),
                         padded(cut(wanted, expected), expected));
    };
    fmt::print("\n{}\n", coloured(line("figure", "quantity", "paper", "measured", "expected") + "  verdict",
                                  Colour::bold, stdout));
    for (const Reproduced& r : all)
      for (const study::Verdict& v : r.result.verdicts)
        fmt::print("{}  {}{}\n", line(r.id, v.quantity, v.says, v.measured, v.expected), word_of(v, 0),
                   remarks_on(v, std::string(28, ' ')));
  }

  io::Json json_of(const std::vector<Reproduced>& all) const {
    io::Json figures = io::Json::array();
    for (const Reproduced& r : all) {
      io::Json verdicts = io::Json::array(), mutations = io::Json::array();
      for (const study::Verdict& v : r.result.verdicts) verdicts.push_back(study::to_json(v));
      for (const study::MutationResult& m : r.mutations)
        mutations.push_back({{"name", m.name}, {"noticed", m.is_noticed}});
      figures.push_back({{"id", r.id},
                         {"title", r.result.spec.title},
                         {"outcome", study::word_of(r.result.verdicts)},
                         {"page", page_of(r.id)},
                         {"verdicts", verdicts}});
      if (has_mutations_) figures.back()["mutations"] = mutations;
    }
    const bool is_good = std::all_of(all.begin(), all.end(), [](const Reproduced& r) { return r.is_good(); });
    return {{"status", is_good ? "success" : "missed"}, {"message", ""}, {"figures", figures}};
  }

  /// One page for all: id, statement of the paper, measured value, verdict.
  void write_overview(const std::vector<Reproduced>& all, const std::string& command) const {
    io::Json rows = io::Json::array(), pages = io::Json::array();
    std::size_t counts[3] = {};
    for (const Reproduced& r : all) {
      ++counts[static_cast<int>(r.outcome())];
      pages.push_back(fmt::format("{}: {}", r.id, page_of(r.id)));
      for (const study::Verdict& v : r.result.verdicts)
        rows.push_back({r.id, v.quantity, v.says, v.expected, v.measured, v.word(), v.explanation, v.note});
    }
    const io::Json table{
        {"title", "Figures and tables"},
        {"columns", {"id", "quantity", "paper", "expected", "measured", "verdict", "explanation", "note"}},
        {"rows", rows}};
    const io::Json overview{{"format", 1},
                            {"title", "Reproduction of the papers"},
                            {"command", command},
                            {"summary",
                             {{"status", counts[2] == 0 ? "passed" : "missed"},
                              {"figures", all.size()},
                              {outcome_names[0], counts[0]},
                              {outcome_names[1], counts[1]},
                              {outcome_names[2], counts[2]}}},
                            {"notes", pages},
                            {"tables", io::Json::array({table})}};
    const io::Path folder = folder_;
    io::write_atomically(folder / "study.json", io::to_text(overview));
    io::write_report(io::read_report_data(folder), folder / "report.html");
  }

  std::vector<std::string> ids_;
  std::string folder_ = "results/reproduce";
  int jobs_ = 0;
  bool is_list_ = false, is_all_ = false, is_quick_ = false, has_mutations_ = false, is_json_ = false,
       is_quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_reproduce(CLI::App& program) {
  return std::make_unique<Reproduce>(
      *program.add_subcommand("reproduce", "Run the figures and tables of the papers, with verdicts"));
}

}  // namespace kreisel::apps
