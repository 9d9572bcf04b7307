// kreisel man: the options of the parser as a manual page.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>

#include "command.hpp"
#include "io/result/summary.hpp"
#include "kreisel/version.hpp"

namespace kreisel::apps {
namespace {

/// Text that roff prints verbatim: hyphens stay hyphens, and no line becomes a request.
std::string roff(std::string_view text) {
  std::string out;
  bool is_line_start = true;
  for (const char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    is_line_start = c == '\n';
  }
  return out;
}

std::string preformatted(std::string_view text) { return fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text)); }

std::string synopsis(const CLI::App& parser) {
  std::string out = fmt::format("\\fBkreisel {}\\fR", roff(parser.get_name()));
  for (const CLI::Option* option : parser.get_options())
    if (option->get_positional()) out += fmt::format(" [\\fI{}\\fR]", roff(option->get_name(true)));
  return out + " [options]";
}

std::string paragraph_of(const CLI::Option& option) {
  const std::string name = option.get_positional() ? fmt::format("\\fI{}\\fR", roff(option.get_name(true)))
                                                   : fmt::format("\\fB{}\\fR", roff(option.get_name()));
  const std::string value = option.get_positional() || option.get_items_expected_max() == 0
                                ? ""
                                : fmt::format(" \\fI{}\\fR", roff(option.get_type_name()));
  return fmt::format(".TP\n{}{}\n{}\n", name, value, roff(option.get_description()));
}

std::string section(const CLI::App& parser) {
  std::string out = fmt::format(".SS {}\n{}\n.PP\n{}.\n", roff("kreisel " + parser.get_name()), synopsis(parser),
                                roff(parser.get_description()));
  for (const CLI::Option* option : parser.get_options())
    if (option->get_name() != "--help") out += paragraph_of(*option);
  if (!parser.get_footer().empty()) out += preformatted(parser.get_footer());
  return out;
}

std::string endings() {
  std::string out;
  for (const io::Ending& ending : io::endings())
    out += fmt::format(".TP\n\\fB{}\\fR (exit {})\n{}\n", roff(ending.id), ending.exit_code, roff(ending.meaning));
  return out;
}

constexpr std::string_view surroundings =
    ".SH FILES\n"
    ".TP\n\\fIresults/MODEL\\-METHOD/\\fR\n"
    "What a run writes: summary.json, and trajectory.csv or trajectory.h5. \\fB\\-\\-out\\fR chooses another folder.\n"
    ".TP\n\\fIshare/kreisel/\\fR\n"
    "Beside the bin/ of the program: models, studies, figures and JSON schemas.\n"
    ".TP\n\\fI$XDG_CACHE_HOME/kreisel/\\fR, \\fI~/.cache/kreisel/\\fR\n"
    "Exact solutions that studies have computed. They may be removed at any time.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBNO_COLOR\\fR\nNo colours, also on a terminal.\n"
    ".TP\n\\fBCHROMIUM\\fR\nPath of chromium, which \\fBview\\fR needs for \\-\\-video and \\-\\-png.\n"
    ".TP\n\\fBXDG_CACHE_HOME\\fR, \\fBHOME\\fR\nWhere exact solutions are kept.\n";

class Man final : public Command {
 public:
  Man(CLI::App& parser, const CLI::App& program) : Command(parser), program_(program) {
    parser.footer("Example:\n  kreisel man | man -l -");
  }

  int execute(const Invocation&) override {
    const std::vector<const CLI::App*> commands = program_.get_subcommands([](const CLI::App*) { return true; });
    fmt::print(".TH KREISEL 1 \"\" \"kreisel {}\" \"User commands\"\n", version());
    fmt::print(
        ".SH NAME\nkreisel \\- time integration of constrained mechanical systems on Lie groups\n.SH SYNOPSIS\n");
    for (const CLI::App* command : commands) fmt::print("{}\n.br\n", synopsis(*command));
    fmt::print("\\fBkreisel\\fR \\-\\-version | \\-\\-help\n.SH DESCRIPTION\n{}\n", roff(program_.get_description()));
    fmt::print("{}.SH COMMANDS\n", preformatted(program_.get_footer()));
    for (const CLI::App* command : commands) fmt::print("{}", section(*command));
    fmt::print(
        ".SH EXIT STATUS\nEvery outcome has a name, the \\fIstatus\\fR of the summary. A study that misses an "
        "expectation exits with 1.\n{}{}",
        endings(), surroundings);
    return success;
  }

 private:
  const CLI::App& program_;
};

}  // namespace

std::unique_ptr<Command> make_man(CLI::App& program) {
  return std::make_unique<Man>(*program.add_subcommand("man", "Print the manual page"), program);
}

}  // namespace kreisel::apps
