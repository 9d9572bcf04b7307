// A run as requested by the user: RunSpec and its fields. io/result/prepare.hpp turns it into a run that can start.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/archive.hpp"
#include "base/field.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "run/option_fields.hpp"
#include "solve/assemble.hpp"

namespace kreisel::io {

struct PreparedRun;

/// Prefix of a path where other words are possible as well.
inline constexpr std::string_view file_prefix = "file:";
/// file:PATH, the same from any folder; other words as they are.
std::string with_absolute_path(const std::string& word);

/// A field of a run: one of run::Options, or one that is resolved on the way there.
struct RunField {
  Field field;
  std::string_view symbol, heading;           ///< as in run::OptionField
  void (*apply)(const Value&, PreparedRun&);  ///< nullptr: run::OptionField::set of `option`
  const run::OptionField* option = nullptr;
  bool belongs_to_error_control() const { return option != nullptr && option->belongs_to_error_control; }
};

/// The list that feeds the command line, help, man page, completion, study files, model files, schemas and Python.
const std::vector<RunField>& run_fields();
/// nullptr: none. Hyphens count as underscores.
const RunField* find_run_field(std::string_view name);

/// A parameter of the model or of the method; model.NAME and method.NAME decide which.
struct Setting {
  std::string name;
  Value value;  ///< a number, or a text that is a number or a word
};

/// What the user requested. No file is read yet, and no names are looked up except those of fields and their words.
class RunSpec {
 public:
  std::string model;                                   ///< name or path
  std::shared_ptr<const models::ModelInfo> own_model;  ///< instead of `model`: one without name and path
  std::string group;                                   ///< empty: the model's first
  std::vector<Setting> settings;
  std::optional<double> t0;  ///< start time instead of the model's

  /// Checks and stores the value. An invalid one is stored as a problem: `prepare` reports all of them together, with the
  /// place `where` in a file if there is one.
  RunSpec& set(std::string_view field, const Value& value, std::string where = {});
  /// "mass=3".
  void read_setting(std::string_view text);

  /// nullptr: not given. NaN where a number was expected but none was given.
  const Value* find(std::string_view field) const;
  bool has(std::string_view field) const { return find(field) != nullptr; }
  /// Empty when it is not given.
  std::string word(std::string_view field) const;
  std::vector<std::string> words(std::string_view field) const;
  bool is_true(std::string_view field) const;

  struct Given {
    std::string name;
    Value value;
    std::string where;  ///< in which file; empty: none
  };
  const std::vector<Given>& given() const { return given_; }
  const std::vector<run::OptionProblem>& problems() const { return problems_; }
  /// The same run from any folder.
  RunSpec with_absolute_paths() const;
  void exchange(Archive& archive);

 private:
  std::vector<Given> given_;
  std::vector<run::OptionProblem> problems_;
};

/// A run that can start.
struct PreparedRun {
  models::Model model;
  std::shared_ptr<const models::ModelInfo> model_info;  ///< of a built-in model or of a file
  ParameterValues model_parameters;
  run::Options options;
  std::string step_sequence;           ///< the words of `steps`
  bool assembles = false;              ///< project the initial values onto the constraints
  std::vector<std::string> fixed;      ///< what is kept then: "crank.angular_velocity", ...
  bool starts_at_rest = false;         ///< move to the equilibrium first
  std::vector<solve::Change> changes;  ///< made by that
  std::vector<std::string> warnings;
  RunSpec spec;  ///< as requested, with absolute paths
};

}  // namespace kreisel::io
