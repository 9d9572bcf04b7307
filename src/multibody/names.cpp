#include "multibody/names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kreisel/error.hpp"

namespace kreisel::multibody {

using formula::Formula;
using formula::Graph;

void FormulaNames::declare(const std::string& name, std::string kind, std::vector<std::string> components) {
  if (const auto found = meanings_.find(name); found != meanings_.end())
    throw InvalidInput(fmt::format("'{}' is already the name of {} {}; formulas need one meaning per name", name,
                                   found->second.kind == "input" || found->second.kind == "output" ? "an" : "a",
                                   found->second.kind));
  if (const std::string problem = formula::problem_with_name(name); !problem.empty())
    throw InvalidInput(fmt::format("'{}' {}; choose another name for the {}", name, problem, kind));
  std::vector<std::string> own{name};
  for (const std::string& component : components) own.push_back(name + "." + component);
  for (const std::string& word : own)
    if (known_.has(word))
      throw InvalidInput(fmt::format(
          "'{}' would be ambiguous: {}; choose another name for the {}", word,
          word == name ? "a component of another name, and this" : "its component, and another name", kind));
  known_.add(name, components.empty());
  for (const char* rate : {"'", "''"}) known_.add(name + rate, false);
  for (const std::string& component : components) {
    known_.add(name + "." + component);
    for (const char* rate : {"'", "''"}) known_.add(name + "." + component + rate, false);
  }
  meanings_[name] = {.kind = std::move(kind), .components = std::move(components), .make = {}, .nodes = {}};
}

void FormulaNames::define(const std::string& name, std::vector<Node> nodes) {
  meanings_.at(name).nodes = std::move(nodes);
}

void FormulaNames::define(const std::string& name, Formula formula, Node x, Node v) {
  meanings_.at(name).make = [this, own = std::move(formula), x, v] { return std::vector<Node>{resolve(own, x, v)}; };
}

void FormulaNames::define(const std::string& name, std::function<std::vector<Node>()> make) {
  meanings_.at(name).make = std::move(make);
}

const std::vector<FormulaNames::Node>& FormulaNames::nodes_of(const std::string& name) {
  Meaning& meaning = meanings_.at(name);
  std::vector<Node>& nodes = is_reporting_ && meaning.make ? meaning.reported : meaning.nodes;
  if (!nodes.empty()) return nodes;
  if (meaning.is_in_work) {
    const auto begin = std::find(path_.begin(), path_.end(), name);
    throw InvalidInput(fmt::format("algebraic loop: {} -> {}; a state in between breaks it",
                                   fmt::join(std::vector<std::string>(begin, path_.end()), " -> "), name));
  }
  if (!meaning.make) throw InvalidInput(fmt::format("'{}' has an error itself", name));
  meaning.is_in_work = true;
  path_.push_back(name);
  try {
    nodes = meaning.make();
  } catch (...) {
    meaning.is_in_work = false;
    path_.pop_back();
    throw;
  }
  meaning.is_in_work = false;
  path_.pop_back();
  return nodes;
}

FormulaNames::Node FormulaNames::resolve(const Formula& formula, Node x, Node v) {
  if (used_) used_(formula);
  return formulas_.graph().build(formula, [&](const Formula::Name& name) { return node_of(formula, name, x, v); });
}

FormulaNames::Node FormulaNames::node_of(const Formula& formula, const Formula::Name& name, Node x, Node v) {
  if (name.text == "t") return formulas_.leaf({Quantity::Kind::time});
  if (name.text == "x" || name.text == "v") {
    const Node own = name.text == "x" ? x : v;
    if (own == Graph::none) formula.refuse(name, fmt::format("'{}' is available only in laws of forces", name.text));
    return own;
  }
  // A parameter that events change is a state.
  if (const double* value = constants_.find(name.text); value != nullptr && !is_defined(name.text))
    return formulas_.graph().number(*value);
  const std::size_t rates = name.text.size() - (name.text.find_last_not_of('\'') + 1);
  std::string base = name.text.substr(0, name.text.size() - rates), component;
  if (const std::size_t point = base.rfind('.'); point != std::string::npos && !meanings_.contains(base)) {
    component = base.substr(point + 1);
    base.resize(point);
  }
  Meaning& meaning = meanings_.at(base);
  meaning.is_used = true;
  const std::vector<Node>& nodes = nodes_of(base);
  std::size_t at = 0;
  if (!component.empty())
    at = static_cast<std::size_t>(std::ranges::find(meaning.components, component) - meaning.components.begin());
  else if (nodes.size() > 1)
    formula.refuse(name, fmt::format("'{}' has components; write {}.{}", base, base, meaning.components.front()));
  Node node = nodes.at(at);
  if (rates > 0) {
    try {
      for (std::size_t i = 0; i < rates; ++i) node = formulas_.rate_of(node);
    } catch (const InvalidInput& problem) {
      formula.refuse(name, fmt::format("'{}' {}", base, problem.what()));
    }
  }
  return node;
}

std::vector<std::string> FormulaNames::unused_inputs() const {
  std::vector<std::string> list;
  for (const auto& [name, meaning] : meanings_)
    if (meaning.kind == "input" && !meaning.is_used) list.push_back(name);
  return list;
}

std::shared_ptr<const Outputs> rates_of(Formulas& formulas, const std::vector<Outputs::Entry>& entries) {
  std::vector<Outputs::Entry> rates;
  for (const Outputs::Entry& entry : entries) {
    Outputs::Entry rate{entry.info, {}};
    rate.info.name += "'";
    try {
      for (const Formulas::Node node : entry.nodes) rate.nodes.push_back(formulas.rate_of(node));
      rates.push_back(std::move(rate));
    } catch (const InvalidInput&) {  // it depends on something without a rate
    }
  }
  try {
    return std::make_shared<const Outputs>(formulas, rates);
  } catch (const InvalidInput&) {  // too long
    return nullptr;
  }
}

}  // namespace kreisel::multibody
