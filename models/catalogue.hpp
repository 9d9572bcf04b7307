// Built-in models by name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "kreisel/system.hpp"

namespace kreisel::models {

/// A system ready to run.
struct Model {
  std::string name;
  std::string group;  ///< name, see lie::group_names
  std::shared_ptr<const system::System> system;
  system::Start start;
  std::string scene{};                  ///< how a page shows it: "scene" of viewer/data.md; empty: that of the system
  std::vector<std::string> warnings{};  ///< about the content of a model file
  std::map<std::string, double> parameters{};  ///< of a model file: all of them, with the values in use
  std::function<std::string()> definition{};   ///< the model file that gives this very model; empty: it has none
};

/// A field of the run that a model sets unless the user gives it.
struct Suggestion {
  std::string field;
  Value value;
  std::string where;  ///< in which file, for messages
};

struct ModelInfo {
  std::string name, summary;
  std::vector<std::string> groups;  ///< the first is the default
  std::vector<ParameterInfo> parameters;
  std::function<Model(std::string_view group, const ParameterValues&)> make;
  /// Empty: none.
  std::function<std::vector<Suggestion>(const ParameterValues&)> suggestions{};
  /// The parameters of the model for these values; empty: always the same.
  std::function<std::vector<ParameterInfo>(const ParameterValues&)> parameters_with{};
};

const std::vector<ModelInfo>& catalogue();
/// Throws InvalidInput with the nearest match.
const ModelInfo& find_model(std::string_view name);
/// Empty group: the default one. Throws InvalidInput naming the groups the model has.
Model make_model(const ModelInfo& info, std::string_view group, const ParameterValues& parameters);

// One function per model file, listed in catalogue.cpp.
ModelInfo heavy_top();
ModelInfo stiff_top();
ModelInfo pendulum();
ModelInfo cubic();
ModelInfo oscillator();
ModelInfo singular_top();
ModelInfo massless();
ModelInfo friction_pendulum();
ModelInfo actuated_pendulum();
ModelInfo rolling_disk();
ModelInfo chain();
ModelInfo four_bar();
ModelInfo andrews();
ModelInfo car_axis();
ModelInfo slider_crank();
ModelInfo flexible_slider_crank();
ModelInfo wall_pendulum();
ModelInfo rod_release();

}  // namespace kreisel::models
