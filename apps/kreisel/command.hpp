// A subcommand of the program: it adds its options to the parser, and executes after parsing.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/files.hpp"
#include "io/json/json_source.hpp"
#include "io/spec/run_spec.hpp"

namespace kreisel::apps {

/// Known before any subcommand executes.
struct Invocation {
  std::string command_line;  ///< as typed, quoted for a shell
  bool wants_json = false;
};

class Command {
 public:
  explicit Command(CLI::App& parser) : parser_(parser) {}
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  CLI::App& parser() const { return parser_; }
  /// Returns the exit code. Errors are thrown.
  virtual int execute(const Invocation& invocation) = 0;
  /// Written to standard output with --json when execute threw.
  virtual io::Json failure(std::string_view status, std::string_view message, const Invocation& invocation) const;

 private:
  CLI::App& parser_;
};

// One function per subcommand, listed in main.cpp.
std::unique_ptr<Command> make_run(CLI::App& program);
std::unique_ptr<Command> make_check(CLI::App& program);
std::unique_ptr<Command> make_static(CLI::App& program);
std::unique_ptr<Command> make_modes(CLI::App& program);
std::unique_ptr<Command> make_fit(CLI::App& program);
std::unique_ptr<Command> make_import(CLI::App& program);
std::unique_ptr<Command> make_list(CLI::App& program);
std::unique_ptr<Command> make_optimize(CLI::App& program);
std::unique_ptr<Command> make_study(CLI::App& program);
std::unique_ptr<Command> make_reproduce(CLI::App& program);
std::unique_ptr<Command> make_view(CLI::App& program);
std::unique_ptr<Command> make_schema(CLI::App& program);
std::unique_ptr<Command> make_completion(CLI::App& program);
std::unique_ptr<Command> make_man(CLI::App& program);

/// MODEL, --group and --set, as in run and check.
class ModelArguments {
 public:
  explicit ModelArguments(CLI::App& parser);
  /// Copies the parsed arguments into the spec; throws InvalidInput when there is no model.
  void fill(io::RunSpec& spec) const;
  bool is_given() const { return !model_.empty() || !settings_.empty(); }

 private:
  std::string model_, group_;
  std::vector<std::string> settings_;
};

/// "--t-end" for the field t_end: how fields are spelled on the command line.
std::string as_flag(std::string_view field);
/// "t_end" in quotes for a field of a run, which studies have as a key; flags otherwise.
std::string as_key(std::string_view field);
/// Adds the option of a run, whose value goes to the spec.
void add_run_option(CLI::App& parser, const io::RunField& field, io::RunSpec& spec);

/// The values that an option of a subcommand accepts, for shell completion; empty: any.
std::vector<std::string> words_of(std::string_view option);
/// What `kreisel list` can list, and what `kreisel schema` can print.
std::vector<std::string> list_topics();
std::vector<std::string> schema_topics();

/// Files that come with the program: share/kreisel beside the bin/ it runs from, so that an installation can be moved.
io::Path share_folder();
/// Names of the studies in share_folder(), in order.
std::vector<std::string> study_names();
/// A file, or the name of a study that comes with the program.
io::Path study_file(const std::string& spec);

/// Several lines: kreisel, commit, compiler, libraries.
std::string version_text();

/// Exit codes of the contract.
enum ExitCode : int { success = 0, expectation_missed = 1, bad_input = 2, environment_failed = 4, interrupted = 130 };

}  // namespace kreisel::apps
