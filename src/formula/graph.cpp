#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "formula/program.hpp"
#include "kreisel/error.hpp"

namespace kreisel::formula {
namespace {

/// As formulas write it; empty: not a function.
const std::string& function_name(Operation operation) {
  static const std::map<Operation, std::string> names = [] {
    std::map<Operation, std::string> list{{Operation::number, ""}};
    for (const std::string& name : function_names())
      for (const char* arguments : {"(1)", "(1, 1)"}) try {
          list.emplace(Formula(name + arguments, {}).program().back().operation, name);
        } catch (const InvalidInput&) {  // it takes another number of them
        }
    return list;
  }();
  const auto found = names.find(operation);
  return found == names.end() ? names.at(Operation::number) : found->second;
}

double sign_of(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }

double computed(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::add:
      return a + b;
    case Operation::subtract:
      return a - b;
    case Operation::multiply:
      return a * b;
    case Operation::divide:
      return a / b;
    case Operation::power:
      return std::pow(a, b);
    case Operation::negate:
      return -a;
    case Operation::sin:
      return std::sin(a);
    case Operation::cos:
      return std::cos(a);
    case Operation::tan:
      return std::tan(a);
    case Operation::exp:
      return std::exp(a);
    case Operation::log:
      return std::log(a);
    case Operation::sqrt:
      return std::sqrt(a);
    case Operation::sinh:
      return std::sinh(a);
    case Operation::cosh:
      return std::cosh(a);
    case Operation::tanh:
      return std::tanh(a);
    case Operation::asin:
      return std::asin(a);
    case Operation::acos:
      return std::acos(a);
    case Operation::atan:
      return std::atan(a);
    case Operation::abs:
      return std::abs(a);
    case Operation::sign:
      return sign_of(a);
    case Operation::atan2:
      return std::atan2(a, b);
    case Operation::min:
      return std::min(a, b);
    case Operation::max:
      return std::max(a, b);
    case Operation::number:
    case Operation::name:
      break;
  }
  return 0.0;
}

std::array<Graph::Node, 3> operands(const auto& entry) { return {entry.a, entry.b, entry.c}; }

/// `first` and all that it is made of, each once.
std::vector<Graph::Node> nodes_below(Graph::Node first, const auto& operands_at) {
  std::set<Graph::Node> seen;
  std::vector<Graph::Node> found, open{first};
  while (!open.empty()) {
    const Graph::Node n = open.back();
    open.pop_back();
    if (n == Graph::none || !seen.insert(n).second) continue;
    found.push_back(n);
    for (const Graph::Node operand : operands_at(n)) open.push_back(operand);
  }
  return found;
}

}  // namespace

Graph::Node Graph::add(const Entry& e) {
  const auto key = std::make_tuple(static_cast<int>(e.kind), static_cast<int>(e.operation), e.number, e.leaf, e.a, e.b,
                                   e.c, e.function != nullptr ? static_cast<const void*>(e.function) : e.curve);
  const bool is_ordered = !std::isnan(e.number);
  if (is_ordered)
    if (const auto found = known_.find(key);
        found != known_.end() && std::signbit(at(found->second).number) == std::signbit(e.number))
      return found->second;
  nodes_.push_back(e);
  const Node node = static_cast<Node>(nodes_.size()) - 1;
  if (is_ordered) known_.insert({key, node});
  return node;
}

Graph::Node Graph::number(double value) { return add({.kind = Kind::number, .number = value}); }
Graph::Node Graph::leaf(int number) { return add({.kind = Kind::leaf, .leaf = number}); }

Graph::Node Graph::curve(const Curve* curve, int derivative, Node a) {
  return add({.kind = Kind::curve, .leaf = derivative, .a = a, .curve = curve});
}

Graph::Node Graph::call(const Function* function, int by, std::span<const Node> arguments) {
  if (arguments.size() > Function::max_arguments)
    throw InvalidInput("has more than 64 arguments; expected a function of fewer");
  Node last = none;
  for (const Node argument : arguments) last = add({.kind = Kind::argument, .a = argument, .b = last});
  return add({.kind = Kind::call, .leaf = by, .a = last, .function = function});
}

std::vector<Graph::Node> Graph::arguments_of(const Entry& call) const {
  std::vector<Node> list;
  for (Node n = call.a; n != none; n = at(n).b) list.push_back(at(n).a);
  std::ranges::reverse(list);
  return list;
}

Graph::Node Graph::choice(Node c, Node a, Node b) {
  if (a == b) return a;
  return add({.kind = Kind::choice, .a = a, .b = b, .c = c});
}

/// Terms and factors without effect are left out to keep derivatives short.
Graph::Node Graph::apply(Operation operation, Node a, Node b) {
  const auto is = [&](Node node, double value) { return node != none && is_number(node) && value_of(node) == value; };
  if (is_number(a) && (b == none || is_number(b)))
    return number(computed(operation, value_of(a), b == none ? 0.0 : value_of(b)));
  switch (operation) {
    case Operation::add:
      if (is(a, 0.0)) return b;
      if (is(b, 0.0)) return a;
      break;
    case Operation::subtract:
      if (is(b, 0.0)) return a;
      if (is(a, 0.0)) return apply(Operation::negate, b);
      if (a == b) return number(0.0);
      break;
    case Operation::multiply:
      if (is(a, 0.0) || is(b, 0.0)) return number(0.0);
      if (is(a, 1.0)) return b;
      if (is(b, 1.0)) return a;
      if (is(a, -1.0)) return apply(Operation::negate, b);
      if (is(b, -1.0)) return apply(Operation::negate, a);
      break;
    case Operation::divide:
      if (is(a, 0.0)) return number(0.0);
      if (is(b, 1.0)) return a;
      break;
    case Operation::power:
      if (is(b, 0.0)) return number(1.0);
      if (is(b, 1.0)) return a;
      break;
    default:
      break;
  }
  return add({.kind = Kind::operation, .operation = operation, .a = a, .b = b});
}

Graph::Node Graph::build(const Formula& formula, const std::function<Node(const Formula::Name&)>& meaning) {
  std::vector<Node> named;
  for (const Formula::Name& name : formula.names()) named.push_back(meaning(name));
  std::vector<Node> stack;
  for (const Instruction& instruction : formula.program()) {
    if (instruction.operation == Operation::number) {
      stack.push_back(number(instruction.number));
    } else if (instruction.operation == Operation::name) {
      stack.push_back(named[static_cast<std::size_t>(instruction.name)]);
    } else {
      const Node b = operands_of(instruction.operation) == 2 ? stack.back() : none;
      if (b != none) stack.pop_back();
      stack.back() = apply(instruction.operation, stack.back(), b);
    }
  }
  return stack.back();
}

Graph::Node Graph::derivative(Node node, int leaf) {
  std::map<Node, Node> known;
  return derivative_of(node, leaf, known);
}

Graph::Node Graph::derivative_of(Node node, int leaf, std::map<Node, Node>& known) {
  if (const auto found = known.find(node); found != known.end()) return found->second;
  const Entry e = at(node);
  Node out = none;
  const auto of = [&](Node n) { return derivative_of(n, leaf, known); };
  switch (e.kind) {
    case Kind::number:
      out = number(0.0);
      break;
    case Kind::leaf:
      out = number(e.leaf == leaf ? 1.0 : 0.0);
      break;
    case Kind::choice:
      out = choice(e.c, of(e.a), of(e.b));
      break;
    case Kind::curve:
      out = product(curve(e.curve, e.leaf + 1, e.a), of(e.a));
      break;
    case Kind::argument:
      break;
    case Kind::call: {
      if (e.leaf != Function::value)
        throw InvalidInput(
            "depends on a function whose second derivative is not known; write it as a formula, or use no rate of it");
      const std::vector<Node> arguments = arguments_of(e);
      out = number(0.0);
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        const Node slope = of(arguments[i]);
        if (is_number(slope) && value_of(slope) == 0.0) continue;
        out = sum(out, product(call(e.function, static_cast<int>(i), arguments), slope));
      }
      break;
    }
    case Kind::operation: {
      const Node da = of(e.a), db = e.b == none ? none : of(e.b);
      const auto chained = [&](Node slope) { return product(slope, da); };
      const auto square = [&](Node n) { return apply(Operation::power, n, number(2.0)); };
      const auto f = [&](Operation operation, Node n) { return apply(operation, n); };
      const auto minus = [&](Node x, Node y) { return apply(Operation::subtract, x, y); };
      const auto over = [&](Node x, Node y) { return apply(Operation::divide, x, y); };
      const bool moves =
          !(is_number(da) && value_of(da) == 0.0) || (db != none && !(is_number(db) && value_of(db) == 0.0));
      if (!moves) {
        out = number(0.0);
        break;
      }
      switch (e.operation) {
        case Operation::add:
          out = sum(da, db);
          break;
        case Operation::subtract:
          out = minus(da, db);
          break;
        case Operation::multiply:
          out = sum(product(da, e.b), product(e.a, db));
          break;
        case Operation::divide:
          out = over(minus(da, product(node, db)), e.b);
          break;
        case Operation::power:
          if (is_number(db) && value_of(db) == 0.0) {
            out = chained(product(e.b, apply(Operation::power, e.a, minus(e.b, number(1.0)))));
          } else {
            out = product(node, sum(product(db, f(Operation::log, e.a)), over(product(e.b, da), e.a)));
          }
          break;
        case Operation::negate:
          out = f(Operation::negate, da);
          break;
        case Operation::sin:
          out = chained(f(Operation::cos, e.a));
          break;
        case Operation::cos:
          out = f(Operation::negate, chained(f(Operation::sin, e.a)));
          break;
        case Operation::tan:
          out = chained(sum(number(1.0), square(node)));
          break;
        case Operation::exp:
          out = chained(node);
          break;
        case Operation::log:
          out = over(da, e.a);
          break;
        case Operation::sqrt:
          out = over(da, product(number(2.0), node));
          break;
        case Operation::sinh:
          out = chained(f(Operation::cosh, e.a));
          break;
        case Operation::cosh:
          out = chained(f(Operation::sinh, e.a));
          break;
        case Operation::tanh:
          out = chained(minus(number(1.0), square(node)));
          break;
        case Operation::asin:
        case Operation::acos: {
          const Node root = f(Operation::sqrt, minus(number(1.0), square(e.a)));
          out = over(e.operation == Operation::asin ? da : f(Operation::negate, da), root);
          break;
        }
        case Operation::atan:
          out = over(da, sum(number(1.0), square(e.a)));
          break;
        case Operation::abs:
          out = chained(f(Operation::sign, e.a));
          break;
        case Operation::sign:
          out = number(0.0);
          break;
        case Operation::atan2:
          out = over(minus(product(e.b, da), product(e.a, db)), sum(square(e.a), square(e.b)));
          break;
        case Operation::min:
          out = choice(minus(e.b, e.a), da, db);
          break;
        case Operation::max:
          out = choice(minus(e.a, e.b), da, db);
          break;
        case Operation::number:
        case Operation::name:
          break;
      }
      break;
    }
  }
  known[node] = out;
  return out;
}

Graph::Node Graph::rate(Node node, const std::function<Node(int)>& rate) {
  Node total = number(0.0);
  for (const int leaf : leaves_of(node)) {
    const Node slope = derivative(node, leaf);
    if (is_number(slope) && value_of(slope) == 0.0) continue;
    total = sum(total, product(slope, rate(leaf)));
  }
  return total;
}

std::vector<int> Graph::leaves_of(Node node) const {
  std::set<int> leaves;
  for (const Node n : nodes_below(node, [&](Node of) { return operands(at(of)); }))
    if (at(n).kind == Kind::leaf) leaves.insert(at(n).leaf);
  return {leaves.begin(), leaves.end()};
}

std::vector<Graph::Kink> Graph::kinks_of(Node node) {
  std::set<Kink> kinks;
  for (const Node n : nodes_below(node, [&](Node of) { return operands(at(of)); })) {
    const Entry e = at(n);
    if (e.kind == Kind::curve) {
      if (!e.curve->kinks().empty()) kinks.insert({e.a, e.curve});
    } else if (e.kind == Kind::choice) {
      kinks.insert({e.c, nullptr});
    } else if (e.kind == Kind::operation && has_branches(e.operation)) {
      kinks.insert({operands_of(e.operation) == 1 ? e.a : apply(Operation::subtract, e.a, e.b), nullptr});
    }
  }
  return {kinks.begin(), kinks.end()};
}

bool Graph::jumps(Node node) const {
  const std::vector<Node> below = nodes_below(node, [&](Node of) { return operands(at(of)); });
  return std::ranges::any_of(
      below, [&](Node n) { return at(n).kind == Kind::operation && at(n).operation == Operation::sign; });
}

std::vector<Graph::Kink> Graph::curves_of(Node node) const {
  std::set<Kink> curves;
  for (const Node n : nodes_below(node, [&](Node of) { return operands(at(of)); }))
    if (at(n).kind == Kind::curve) curves.insert({at(n).a, at(n).curve});
  return {curves.begin(), curves.end()};
}

std::vector<std::vector<Graph::Node>> Graph::sums_of(Node node) const {
  const auto is_sum = [&](Node n) {
    const Operation operation = at(n).operation;
    return at(n).kind == Kind::operation &&
           (operation == Operation::add || operation == Operation::subtract || operation == Operation::min ||
            operation == Operation::max || operation == Operation::negate);
  };
  std::vector<std::vector<Node>> sums;
  for (const Node n : nodes_below(node, [&](Node of) { return operands(at(of)); })) {
    if (!is_sum(n)) continue;
    std::vector<Node> terms;
    for (const Node term : nodes_below(n, [&](Node of) {
           return is_sum(of) ? operands(at(of)) : std::array<Node, 3>{none, none, none};
         }))
      if (!is_sum(term)) terms.push_back(term);
    if (terms.size() > 1) sums.push_back(std::move(terms));
  }
  return sums;
}

std::vector<Graph::Node> Graph::parts_of(Node node, int leaf) const {
  std::vector<Node> parts, open{node};
  std::set<Node> seen;
  while (!open.empty()) {
    const Node n = open.back();
    open.pop_back();
    if (n == none || !seen.insert(n).second) continue;
    const std::vector<int> leaves = leaves_of(n);
    if (std::ranges::find(leaves, leaf) == leaves.end()) continue;
    const Entry& e = at(n);
    if (leaves.size() == 1 && e.kind != Kind::argument)
      parts.push_back(n);
    else
      open.insert(open.end(), {e.a, e.b, e.c});
  }
  return parts;
}

std::string Graph::text_of(Node node, std::string_view leaf_name) const {
  std::string text;
  return write(node, leaf_name, Formula::max_depth, text) ? text : std::string();
}

bool Graph::write(Node node, std::string_view leaf_name, int depth, std::string& out) const {
  if (depth == 0 || out.size() > static_cast<std::size_t>(Formula::max_length)) return false;
  const Entry& e = at(node);
  const auto operand = [&](Node of) { return write(of, leaf_name, depth - 1, out); };
  const auto between = [&](const char* sign) {
    out += '(';
    if (!operand(e.a)) return false;
    out += sign;
    if (!operand(e.b)) return false;
    out += ')';
    return true;
  };
  switch (e.kind) {
    case Kind::number:
      out += e.number < 0.0 ? fmt::format("({:.17g})", e.number) : fmt::format("{:.17g}", e.number);
      return std::isfinite(e.number);
    case Kind::leaf:
      out += leaf_name;
      return true;
    case Kind::operation:
      break;
    case Kind::choice:
    case Kind::curve:
    case Kind::call:
    case Kind::argument:
      return false;
  }
  switch (e.operation) {
    case Operation::add:
      return between(" + ");
    case Operation::subtract:
      return between(" - ");
    case Operation::multiply:
      return between("*");
    case Operation::divide:
      return between("/");
    case Operation::power:
      return between("^");
    case Operation::negate:
      out += "(-";
      if (!operand(e.a)) return false;
      out += ')';
      return true;
    default:
      break;
  }
  const std::string& name = function_name(e.operation);
  if (name.empty()) return false;
  out += name + '(';
  if (!operand(e.a)) return false;
  if (e.b != none) {
    out += ", ";
    if (!operand(e.b)) return false;
  }
  out += ')';
  return true;
}

Graph::Node Graph::part_of_leaf(Node node, int leaf, Node& rest) {
  const std::vector<int> leaves = leaves_of(node);
  if (leaves.empty() || (leaves.size() == 1 && leaves[0] == leaf)) {
    rest = number(0.0);
    return node;
  }
  const Entry e = at(node);
  if (e.kind == Kind::operation && (e.operation == Operation::add || e.operation == Operation::subtract)) {
    Node rest_a = none, rest_b = none;
    const Node a = part_of_leaf(e.a, leaf, rest_a), b = part_of_leaf(e.b, leaf, rest_b);
    rest = apply(e.operation, rest_a, rest_b);
    return apply(e.operation, a, b);
  }
  if (e.kind == Kind::operation && e.operation == Operation::negate) {
    const Node a = part_of_leaf(e.a, leaf, rest);
    rest = apply(Operation::negate, rest);
    return apply(Operation::negate, a);
  }
  rest = node;
  return number(0.0);
}

}  // namespace kreisel::formula
