// kreisel import: robots in URDF become model files.
#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "base/text.hpp"
#include "command.hpp"
#include "io/model_file/model_file.hpp"
#include "io/model_file/urdf.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

class Import final : public Command {
 public:
  explicit Import(CLI::App& parser) : Command(parser) {
    parser.add_option("FILE", file_, "robot in URDF")->type_name("")->required();
    parser
        .add_option("--out", out_, "model file to write (default: FILE with the ending .json; - for standard output)")
        ->type_name("FILE");
    parser.add_flag("--free-base", options_.has_free_base,
                    "the root link moves freely instead of being fixed to the ground");
    parser.add_flag("--repair-inertia", options_.repairs_inertia,
                    "replace physically impossible inertias by the nearest possible ones, and list them");
    parser.add_flag("--motors", options_.has_motors,
                    "give every joint with an effort limit an input force or torque, bounded by the limit");
    parser.add_option("--joint", positions_, "initial position of a joint [rad or m], may be repeated")
        ->type_name("NAME=VALUE");
    parser.footer(
        "Links connected by fixed joints become one body. Elements without a counterpart are listed.\n"
        "Examples:\n  kreisel import robot.urdf\n  kreisel run robot.json");
  }

  int execute(const Invocation&) override {
    const io::ReadingList read;
    for (const std::string& given : positions_) {
      const std::size_t equals = given.rfind('=');
      const std::optional<double> value =
          equals == std::string::npos ? std::nullopt : number_in(std::string_view(given).substr(equals + 1));
      if (!value) throw InvalidInput(fmt::format("--joint {}: expected NAME=VALUE with a number", given));
      options_.positions[given.substr(0, equals)] = *value;
    }
    const io::ImportedModel imported = io::import_urdf(file_, io::read_text(file_, "URDF file"), options_);
    const std::string text = io::to_text(imported.model);
    io::read_model(io::JsonSource(file_ + " as a model", text));  // rejects a model that cannot be run
    for (const std::string& note : imported.notes) print_warning(note);
    const io::Path target = out_.empty() ? io::Path(file_).replace_extension(".json") : io::Path(out_);
    if (target == "-") {
      fmt::print("{}", text);
    } else {
      io::refuse_to_overwrite(read.files(), target, "out");
      io::write_atomically(target, text);
      fmt::print("{}: {} bodies, {} joints\n", target.string(), imported.model["bodies"].size(),
                 imported.model["joints"].size());
    }
    return success;
  }

 private:
  std::string file_, out_;
  std::vector<std::string> positions_;
  io::UrdfOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_import(CLI::App& program) {
  return std::make_unique<Import>(*program.add_subcommand("import", "Turn a URDF robot into a model file"));
}

}  // namespace kreisel::apps
