// kreisel schema: the format of model and study files, as JSON Schema and as Markdown.
#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "command.hpp"
#include "io/model_file/model_schema.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "method/catalogue.hpp"
#include "study/spec_schema.hpp"

namespace kreisel::apps {
namespace {

std::string section(std::string_view title, std::string_view meaning, const std::vector<Field>& fields) {
  std::vector<io::Key> keys;
  for (const Field& field : fields) keys.push_back({.field = field});
  return fmt::format("### {}\n\n{}\n\n{}\n", title, meaning,
                     keys.empty() ? "It has no parameters.\n" : io::table_of(keys));
}

/// Fields of runs, of methods, of model files and of studies in Markdown.
std::string reference() {
  std::string out =
      "# Reference\n\nMade by `kreisel schema reference` from the descriptions that the readers use.\n\n## Fields of a "
      "run\n\n"
      "`t_end` is `--t-end` on the command line, a keyword of `kreisel.solve`, a key of studies and of \"simulation\" "
      "in model\n"
      "files, and in C++ a member of `kreisel::Options`.\n\n";
  std::vector<io::Key> run;
  for (const io::RunField& field : io::run_fields()) run.push_back({.field = field.field});
  out += io::table_of(run) +
         "\n## Methods\n\nParameters are set by `--set`, `parameters=` or \"set\", and in C++ by a struct.\n\n";
  for (const method::MethodInfo& info : method::catalogue())
    out += section(fmt::format("`{}`", info.name), info.summary, info.parameters);
  return out + io::model_reference() + study::spec_reference();
}

constexpr const char* schemas[] = {"model", "study", "reference"};

class Schema final : public Command {
 public:
  explicit Schema(CLI::App& parser) : Command(parser) {
    parser
        .add_option("WHAT", topic_,
                    "model or study: the JSON Schema of such files; reference: every field, in Markdown")
        ->type_name("");
    parser.footer("Examples:\n  kreisel schema model > model.schema.json\n  kreisel schema reference | less");
  }

  int execute(const Invocation&) override {
    if (topic_ == "model")
      fmt::print("{}", io::to_text(io::model_schema()));
    else if (topic_ == "study")
      fmt::print("{}", io::to_text(study::spec_schema()));
    else if (topic_ == "reference")
      fmt::print("{}", reference());
    else
      throw InvalidInput(unknown_name("schema", topic_, schema_topics()));
    return success;
  }

 private:
  std::string topic_;
};

}  // namespace

std::vector<std::string> schema_topics() { return {std::begin(schemas), std::end(schemas)}; }

std::unique_ptr<Command> make_schema(CLI::App& program) {
  return std::make_unique<Schema>(
      *program.add_subcommand("schema", "Print the JSON Schema of model or study files, or the reference"));
}

}  // namespace kreisel::apps
