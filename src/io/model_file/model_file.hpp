// Mechanisms from a JSON file (share/kreisel/model.schema.json); all errors are reported together, each with its place.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "formula/program.hpp"
#include "io/json/json_source.hpp"
#include "models/catalogue.hpp"
#include "multibody/assembly.hpp"

namespace kreisel::io {

/// A function that formulas read by its name: of t and of what it uses, "knee", "foot.x'".
struct UserFunction {
  std::vector<std::string> uses;
  std::shared_ptr<const formula::Function> function;
};
using UserFunctions = std::map<std::string, UserFunction>;

/// What a program adds to the text of a model.
struct ModelBase {
  std::vector<multibody::Body> bodies;  ///< replace the first entries of "bodies", of which the text has only the names
  std::vector<multibody::Node> nodes;
  std::vector<multibody::ElementPtr> elements;  ///< on the numbers of these bodies and nodes
  std::vector<bool> are_drivers;  ///< order of the first joints and drivers: whether the next one is a driver
  struct Action {
    system::Action action;
    int terminal_after = 0;
  };
  std::map<std::string, Action> actions;  ///< of events, by name
  std::set<std::string> efforts;          ///< torques that are forces where their joint has a displacement
  UserFunctions functions;
};

struct ModelFileOptions {
  std::string group;             ///< empty: the one of the file
  bool accepts_gaps = false;     ///< initial positions and velocities may miss the joints
  ParameterValues parameters{};  ///< take precedence over those of the file
  UserFunctions functions{};     ///< given by programs
  const ModelBase* base = nullptr;
};

struct ModelFile {
  models::Model model;
  std::shared_ptr<const multibody::Assembly> assembly;  ///< the system of the model, with bodies, shapes and joints
  std::map<std::string, double> parameters;             ///< all of them, with the values in use
  std::shared_ptr<const Json> flat{};                   ///< of a file that includes others: the whole in one, as read
};

/// Throws InvalidInput with one line per mistake: FILE:LINE:COLUMN: /json/pointer: what was found; what was expected.
ModelFile read_model_file(const Path& path, const ModelFileOptions& options = {});
ModelFile read_model(const JsonSource& source, const ModelFileOptions& options = {});

/// The section "simulation" as options of a run: every key is the name of one, with underscores. Errors in it are
/// reported by read_model. Formulas use the values of `given` parameters, or those in the file.
std::vector<models::Suggestion> suggestions_in(const JsonSource& source, const ParameterValues& given);

}  // namespace kreisel::io
