// Formulas of many variables: a graph in which names are replaced by what they mean, its derivatives, and a flat
// program.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "formula/formula.hpp"

namespace kreisel::formula {

/// A function given by other means, such as a table, with its derivatives.
class Curve {
 public:
  virtual ~Curve() = default;
  virtual double at(double x, int derivative) const = 0;
  /// Where it or its slope jumps, in increasing order.
  virtual std::span<const double> kinks() const { return {}; }
};

/// A function of several variables given by other means, such as a program of the user.
class Function {
 public:
  static constexpr int value = -1;
  static constexpr int max_arguments = 64;

  virtual ~Function() = default;
  /// The value, or the derivative by an argument.
  virtual double at(std::span<const double> arguments, int by) const = 0;
};

/// Expressions of numbers and leaves; the owner gives each leaf its meaning. Equal expressions share
/// one node.
class Graph {
 public:
  using Node = int;
  static constexpr Node none = -1;

  Node number(double value);
  Node leaf(int number);
  Node apply(Operation operation, Node a, Node b = none);
  /// The derivative of that order of a curve, which must outlive graph and programs; null stays none.
  Node curve(const Curve* curve, int derivative, Node a);
  /// A function, or its derivative by an argument; it must outlive graph and programs.
  Node call(const Function* function, int by, std::span<const Node> arguments);
  /// A formula with the nodes of its names.
  Node build(const Formula& formula, const std::function<Node(const Formula::Name&)>& meaning);

  /// ∂node/∂leaf.
  Node derivative(Node node, int leaf);
  /// Σ ∂node/∂leaf · rate(leaf); rate is called only for leaves on which the node depends.
  Node rate(Node node, const std::function<Node(int leaf)>& rate);
  /// The leaves on which a node depends, in increasing order.
  std::vector<int> leaves_of(Node node) const;
  /// Parts of a node with two or more branches: a curve of `argument`, else a function whose branches meet where it is zero.
  struct Kink {
    Node argument = none;
    const Curve* curve = nullptr;

    auto operator<=>(const Kink&) const = default;
  };
  std::vector<Kink> kinks_of(Node node);
  /// Whether it contains a sign.
  bool jumps(Node node) const;
  /// The curves in a node, with their arguments.
  std::vector<Kink> curves_of(Node node) const;
  bool is_number(Node node) const { return at(node).kind == Kind::number; }
  double value_of(Node node) const { return at(node).number; }
  /// -1: it is no leaf.
  int leaf_of(Node node) const { return at(node).kind == Kind::leaf ? at(node).leaf : -1; }
  /// The terms of every sum, min and max in a node: what one of them is in, the others are in too.
  std::vector<std::vector<Node>> sums_of(Node node) const;
  /// The largest parts of a node that depend on this leaf and on no other.
  std::vector<Node> parts_of(Node node, int leaf) const;
  /// A node as the text of a formula in which its leaves have this name; empty: it calls a curve or a function, or is longer than
  /// formulas may be.
  std::string text_of(Node node, std::string_view leaf_name) const;
  /// The terms of a sum that depend on no other leaf than this one; `rest` are the others.
  Node part_of_leaf(Node node, int leaf, Node& rest);

 private:
  friend class Program;
  /// `call` has the last of its arguments in a; an `argument` has its node in a and the argument before it in b.
  enum class Kind { number, leaf, operation, choice, curve, call, argument };
  struct Entry {
    Kind kind = Kind::number;
    Operation operation = Operation::number;
    double number = 0.0;
    int leaf = -1;  ///< or the order of a derivative of a curve, or the argument by which a function is derived
    Node a = none, b = none, c = none;
    const Curve* curve = nullptr;
    const Function* function = nullptr;
  };
  std::vector<Node> arguments_of(const Entry& call) const;
  const Entry& at(Node node) const { return nodes_[static_cast<std::size_t>(node)]; }
  Node add(const Entry& entry);
  /// a where c > 0, b elsewhere.
  Node choice(Node c, Node a, Node b);
  Node sum(Node a, Node b) { return apply(Operation::add, a, b); }
  Node product(Node a, Node b) { return apply(Operation::multiply, a, b); }
  [[nodiscard]] bool write(Node node, std::string_view leaf_name, int depth, std::string& out) const;
  Node derivative_of(Node node, int leaf, std::map<Node, Node>& known);

  std::vector<Entry> nodes_;
  std::map<std::tuple<int, int, double, int, int, int, int, const void*>, Node> known_;
};

/// Straight-line code for some nodes of a graph; nothing in an evaluation allocates.
class Program {
 public:
  static constexpr int max_registers = 4000;

  Program() = default;
  /// Throws InvalidInput when the formulas are too long.
  Program(const Graph& graph, std::span<const Graph::Node> results);

  /// The leaves that are read, in increasing order of their numbers; `evaluate` gets one value each.
  const std::vector<int>& leaves() const { return leaves_; }
  int results() const { return static_cast<int>(results_.size()); }
  void evaluate(const double* leaves, double* out) const;
  /// The same steps with the same numbers; curves and functions are the same when they are one object.
  bool operator==(const Program&) const = default;

 private:
  enum class Code : unsigned char {
    number,
    leaf,
    add,
    subtract,
    multiply,
    divide,
    power,
    square,
    cube,
    negate,
    sin,
    cos,
    tan,
    exp,
    log,
    sqrt,
    sinh,
    cosh,
    tanh,
    asin,
    acos,
    atan,
    abs,
    sign,
    atan2,
    min,
    max,
    choice,
    curve,
    call
  };
  struct Step {  ///< its result goes to the register of its number
    Code code = Code::number;
    int a = 0, b = 0, c = 0;
    double number = 0.0;
    const Curve* curve = nullptr;
    const Function* function = nullptr;  ///< of the registers a … a + b - 1 of arguments_

    bool operator==(const Step&) const = default;
  };
  static Code code_of(Operation operation);

  std::vector<Step> steps_;
  std::vector<int> leaves_, results_, arguments_;
};

}  // namespace kreisel::formula
