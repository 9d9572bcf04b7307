// The section "parameters" of a model file: numbers with names, which every formula of the file may use.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "formula/formula.hpp"
#include "io/json/json_source.hpp"

namespace kreisel::io {

/// A formula in place of a number: "=2*L".
bool is_formula(const Json& value);
/// Without the equals sign.
std::string_view formula_in(const Json& value);
/// What to say of a formula whose value is infinite or not a number.
std::string not_finite(const Json& formula, double value);

/// What the section declares, as far as it can be read; a parameter that is a formula of others has no default number.
std::vector<ParameterInfo> parameters_in(const Json& root);

/// The values of all parameters, those that are formulas of others included.
class ModelParameters {
 public:
  using Complain = std::function<void(std::string_view pointer, std::string_view message)>;

  /// `given` takes precedence over the file. Errors go to `complain`, with the place.
  void read(const Json& root, const ParameterValues& given, const Complain& complain);

  const formula::Names& names() const { return names_; }
  const formula::Constants& values() const { return values_; }
  double value(const std::string& name) const { return *values_.find(name); }
  /// To be called for every formula that is evaluated.
  void note_use(const formula::Formula& formula);
  /// Noted, or used by another parameter.
  const std::set<std::string>& used() const { return used_; }
  void note_use(const std::set<std::string>& names) { used_.insert(names.begin(), names.end()); }
  /// Whether it needs a parameter without a value, which is already reported.
  bool needs_unknown(const formula::Formula& formula) const;
  /// Neither noted nor used by another parameter.
  std::vector<std::string> unused() const;

 private:
  struct Entry {
    Json value;  ///< a number or a formula
    enum class State { unknown, in_work, known } state = State::unknown;
  };
  bool evaluate(const std::string& name, const Complain& complain);
  void refuse_cycle(const std::string& name, const Complain& complain) const;

  std::map<std::string, Entry> entries_;
  std::vector<std::string> path_;  ///< of parameters in work, each needs the next
  formula::Names names_;
  formula::Constants values_;
  std::set<std::string> used_, unknown_;
};

/// The model file that gives the same model without other settings: it contains the `values` of parameters and the group.
std::string definition_of(const Json& root, std::string_view group, const ParameterValues& values);

/// Why a number of this unit looks like degrees where radians are meant; empty: it does not. `given`: how it is written.
std::string suspicion_of_degrees(double value, std::string_view unit, const Json& given = {});

}  // namespace kreisel::io
