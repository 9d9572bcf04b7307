// The program kreisel: reads the command line, hands over to a subcommand, turns errors into exit codes.
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/spelling.hpp"
#include "command.hpp"
#include "inverse.hpp"
#include "io/files/files.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "terminal.hpp"

namespace kreisel::apps {

io::Json Command::failure(std::string_view status, std::string_view message, const Invocation&) const {
  return {{"status", status}, {"message", message}};
}

namespace {

constexpr const char* description =
    "kreisel integrates the equations of motion of constrained mechanical systems on Lie groups.";
constexpr const char* main_examples =
    "Examples:\n"
    "  kreisel run heavy-top                            simulate, result in results/heavy-top-bliedf\n"
    "  kreisel run heavy-top --step 1e-3 --json         constant steps, summary as JSON\n"
    "  kreisel study studies/heavy_top.json             errors, orders and costs over a grid of runs\n"
    "  kreisel reproduce wieloch2022-fig-6.10           a published figure, with a verdict\n"
    "  kreisel check heavy-top --group se3              audit a model\n"
    "  kreisel static quarter-car                       equilibrium of a model\n"
    "  kreisel modes double-pendulum                    frequencies and damping\n"
    "  kreisel fit car.json data.csv --free k=1e3:1e5   parameters from measured outputs\n"
    "  kreisel list models                              available models\n"
    "  kreisel run --help                               all options of a command";

std::string quoted(std::string_view word) {
  constexpr std::string_view harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
  if (!word.empty() && word.find_first_not_of(harmless) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) out.append(c == '\'' ? "'\\''" : std::string(1, c));
  return out + "'";
}

Invocation read_invocation(int count, char** words) {
  Invocation invocation{"kreisel", false};
  for (int i = 1; i < count; ++i) {
    invocation.command_line.append(" ").append(quoted(words[i]));
    invocation.wants_json = invocation.wants_json || std::string_view(words[i]) == "--json";
  }
  return invocation;
}

std::string full_name(const CLI::App& parser) {
  return parser.get_parent() == nullptr ? parser.get_name() : parser.get_parent()->get_name() + " " + parser.get_name();
}

/// Arguments that the parser did not recognise.
void refuse_leftovers(const CLI::App& parser) {
  std::vector<std::string> leftovers = parser.remaining();
  if (leftovers.empty()) return;
  std::string first = leftovers.front();
  for (const std::string& word : leftovers)
    if (word.starts_with('-')) {
      first = word.substr(0, word.find('='));
      break;
    }
  if (!first.starts_with('-')) throw InvalidInput(fmt::format("unexpected argument '{}'", first));
  std::vector<std::string> known;
  for (const CLI::Option* option : parser.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::string near = nearest(first, known);
  throw InvalidInput(fmt::format("unknown option '{}'; {}", first,
                                 near.empty() ? fmt::format("'{} --help' lists the options", full_name(parser))
                                              : fmt::format("did you mean '{}'?", near)));
}

/// Errors found by the parser itself: a missing value, or one too many.
std::string explained(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  return option + (text.find("received") != std::string::npos ? " is given more than once" : " needs a value");
}

class Program {
 public:
  Program(int count, char** words) : count_(count), words_(words), invocation_(read_invocation(count, words)) {
    parser_.allow_extras();
    parser_.require_subcommand(0, 1);  // words after it belong to it, even the names of others: schema study
    parser_.set_version_flag("--version", version_text(), "show the versions of kreisel and its libraries");
    parser_.footer(main_examples);
    parser_.get_formatter()->column_width(34);
    if (count == 2 && std::string_view(words[1]) == "--version") return;  // called often, and needs no subcommand
    for (const auto make :
         {make_run, make_study, make_optimize, make_reproduce, make_check, make_static, make_modes, make_inverse,
          make_fit, make_import, make_list, make_view, make_schema, make_completion, make_man})
      commands_.push_back(make(parser_));
  }

  int run() {
    try {
      const int code = dispatch();
      if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw EnvironmentError("cannot write to standard output");
      return code;
    } catch (const InvalidInput& error) {
      return fail(io::invalid_input, error.what());
    } catch (const EnvironmentError& error) {
      return fail(io::environment_error, error.what());
    } catch (const std::filesystem::filesystem_error& error) {
      return fail(io::environment_error, error.what());
    } catch (const std::system_error& error) {  // from fmt::print to standard output
      return fail(io::environment_error, fmt::format("cannot write to standard output: {}", error.code().message()));
    } catch (const std::bad_alloc&) {
      return fail(io::environment_error, "out of memory");
    } catch (const std::exception& error) {
      return fail(io::internal_error, fmt::format("{}. This is a bug in kreisel; please report it", error.what()));
    }
  }

 private:
  int dispatch() {
    try {
      parser_.parse(count_, words_);
    } catch (const CLI::Success& request) {  // --help, --version
      return parser_.exit(request);
    } catch (const CLI::ParseError& error) {
      throw InvalidInput(explained(error));
    }
    for (const auto& command : commands_)
      if (command->parser().parsed()) active_ = command.get();
    refuse_unknown_command();
    refuse_leftovers(active_->parser());
    const io::ReadingList read;  // what may not be overwritten
    return active_->execute(invocation_);
  }

  void refuse_unknown_command() const {
    const std::vector<std::string> leftovers = parser_.remaining();
    std::vector<std::string> names;
    for (const auto& command : commands_) names.push_back(command->parser().get_name());
    if (leftovers.empty()) {
      if (active_ == nullptr)
        throw InvalidInput(fmt::format("no command given; known: {}. Try kreisel --help", fmt::join(names, ", ")));
      return;
    }
    if (leftovers.front().starts_with('-')) refuse_leftovers(parser_);
    throw InvalidInput(unknown_name("command", leftovers.front(), names));
  }

  int fail(std::string_view status, const std::string& message) const {
    print_error(message);
    if (invocation_.wants_json) {
      const bool is_run = count_ > 1 && std::string_view(words_[1]) == "run";
      const Command* speaker = active_ != nullptr ? active_ : is_run ? commands_.front().get() : nullptr;
      const io::Json json = speaker != nullptr ? speaker->failure(status, message, invocation_)
                                               : io::Json{{"status", status}, {"message", message}};
      fmt::print("{}", io::to_text(json));
      std::fflush(stdout);
    }
    return status == io::invalid_input ? bad_input : environment_failed;
  }

  int count_;
  char** words_;
  Invocation invocation_;
  CLI::App parser_{description, "kreisel"};
  std::vector<std::unique_ptr<Command>> commands_;
  Command* active_ = nullptr;
};

}  // namespace
}  // namespace kreisel::apps

int main(int count, char** words) {
  kreisel::set_spelling(kreisel::apps::as_flag);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write, not a crash
  try {
    return kreisel::apps::Program(count, words).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kreisel: error: %s\n", error.what());
    return kreisel::apps::environment_failed;
  }
}
