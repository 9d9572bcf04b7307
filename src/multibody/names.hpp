// The names of a mechanism that formulas may use: parameters, inputs, states, outputs and forces, and their meanings.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formula/formula.hpp"
#include "multibody/law.hpp"

namespace kreisel::multibody {

class FormulaNames {
 public:
  using Node = Formulas::Node;

  /// `constants`: the values of parameters, which live longer. `used`: called with every formula that is resolved.
  explicit FormulaNames(const formula::Constants& constants, std::function<void(const formula::Formula&)> used = {})
      : constants_(constants), used_(std::move(used)) {}

  /// What may be used as a name in formulas. Throws InvalidInput when it cannot be one, or is one already.
  void declare(const std::string& name, std::string kind, std::vector<std::string> components = {});
  bool has(const std::string& name) const { return meanings_.contains(name); }
  bool is_defined(const std::string& name) const {
    const auto found = meanings_.find(name);
    return found != meanings_.end() && !found->second.nodes.empty();
  }
  /// For the parser; t, and parameters once they are declared.
  const formula::Names& known() const { return known_; }

  /// The meaning of a declared name: a node per component.
  void define(const std::string& name, std::vector<Node> nodes);
  /// The same by a formula, which is resolved when it is needed; x and v are own nodes of a law, or none.
  void define(const std::string& name, formula::Formula formula, Node x, Node v);
  /// The same by a function that makes the nodes.
  void define(const std::string& name, std::function<std::vector<Node>()> make);

  /// The nodes of a name. Throws InvalidInput for algebraic loops, naming them.
  const std::vector<Node>& nodes_of(const std::string& name);
  /// A formula. Throws InvalidInput that gives the wrong name.
  Node resolve(const formula::Formula& formula, Node x, Node v);
  Formulas& formulas() { return formulas_; }
  const Formulas& formulas() const { return formulas_; }
  /// From now on names mean what is reported: a force that is switched off is zero.
  void begin_reports() { is_reporting_ = true; }
  bool is_reporting() const { return is_reporting_; }
  /// Of the kind "input", that no formula uses.
  std::vector<std::string> unused_inputs() const;

 private:
  struct Meaning {
    std::string kind;
    std::vector<std::string> components{};
    std::function<std::vector<Node>()> make{};
    std::vector<Node> nodes{}, reported{};
    bool is_in_work = false, is_used = false;
  };
  Node node_of(const formula::Formula& formula, const formula::Formula::Name& name, Node x, Node v);

  const formula::Constants& constants_;
  std::function<void(const formula::Formula&)> used_;
  formula::Names known_{"t"};
  std::map<std::string, Meaning> meanings_;
  std::vector<std::string> path_;  ///< of names in work, each needs the next
  Formulas formulas_;
  bool is_reporting_ = false;
};

/// The rates of the outputs that have one, each as "name'".
std::shared_ptr<const Outputs> rates_of(Formulas& formulas, const std::vector<Outputs::Entry>& entries);

}  // namespace kreisel::multibody
