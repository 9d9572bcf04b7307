// kreisel import: robots in URDF become model files.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.hpp"
#include "command.hpp"
#include "io/model_file/mesh_file.hpp"
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
        "Links connected by fixed joints become one body. Meshes (STL, OBJ) are kept in a folder beside the model. "
        "Elements without a\n"
        "counterpart are listed.\n"
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
    options_.mesh_file = [this](const std::string& name) {
      const io::Path found = io::find_mesh(io::Path(file_).parent_path(), name);
      io::read_mesh(found);  // says why a file cannot be shown
      return found.string();
    };
    io::ImportedModel imported = io::import_urdf(file_, io::read_text(file_, "URDF file"), options_);
    io::read_model(io::JsonSource(file_ + " as a model", io::to_text(imported.model)));  // rejects what cannot be run
    for (const std::string& note : imported.notes) print_warning(note);
    const io::Path target = out_.empty() ? io::Path(file_).replace_extension(".json") : io::Path(out_);
    if (target == "-") {
      fmt::print("{}", io::to_text(imported.model));
    } else {
      io::refuse_to_overwrite(read.files(), target, "out");
      const std::size_t meshes = keep_meshes(imported.model, target);
      io::write_atomically(target, io::to_text(imported.model));
      fmt::print("{}: {} bodies, {} joints{}\n", target.string(), imported.model["bodies"].size(),
                 imported.model["joints"].size(), meshes == 0 ? "" : fmt::format(", {} meshes", meshes));
    }
    return success;
  }

 private:
  /// Copies the meshes into a folder beside the model, which then names them there. Returns how many files there are.
  static std::size_t keep_meshes(io::Json& model, const io::Path& target) {
    const io::Path folder = target.stem().string() + "-meshes";
    std::map<std::string, std::string> kept;  // by their original paths
    std::set<std::string> names;
    io::for_each_mesh_file(model, [&](io::Json& file) {
      const io::Path original = file.get<std::string>();
      const auto [entry, is_new] = kept.try_emplace(original.string());
      if (is_new) {
        std::string name = original.filename().string();
        for (int i = 2; !names.insert(name).second; ++i)
          name = fmt::format("{}-{}{}", original.stem().string(), i, original.extension().string());
        std::filesystem::create_directories(target.parent_path() / folder);
        io::write_atomically(target.parent_path() / folder / name,
                             io::read_text(original, "mesh", std::size_t{1} << 30));
        entry->second = (folder / name).generic_string();
      }
      file = entry->second;
    });
    return kept.size();
  }

  std::string file_, out_;
  std::vector<std::string> positions_;
  io::UrdfOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_import(CLI::App& program) {
  return std::make_unique<Import>(*program.add_subcommand("import", "Turn a URDF robot into a model file"));
}

}  // namespace kreisel::apps
