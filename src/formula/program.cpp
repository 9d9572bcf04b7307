#include "formula/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kreisel/error.hpp"

namespace kreisel::formula {

Program::Code Program::code_of(Operation operation) {
  switch (operation) {
    case Operation::number:
    case Operation::name:
      break;
    case Operation::add:
      return Code::add;
    case Operation::subtract:
      return Code::subtract;
    case Operation::multiply:
      return Code::multiply;
    case Operation::divide:
      return Code::divide;
    case Operation::power:
      return Code::power;
    case Operation::negate:
      return Code::negate;
    case Operation::sin:
      return Code::sin;
    case Operation::cos:
      return Code::cos;
    case Operation::tan:
      return Code::tan;
    case Operation::exp:
      return Code::exp;
    case Operation::log:
      return Code::log;
    case Operation::sqrt:
      return Code::sqrt;
    case Operation::sinh:
      return Code::sinh;
    case Operation::cosh:
      return Code::cosh;
    case Operation::tanh:
      return Code::tanh;
    case Operation::asin:
      return Code::asin;
    case Operation::acos:
      return Code::acos;
    case Operation::atan:
      return Code::atan;
    case Operation::abs:
      return Code::abs;
    case Operation::sign:
      return Code::sign;
    case Operation::atan2:
      return Code::atan2;
    case Operation::min:
      return Code::min;
    case Operation::max:
      return Code::max;
  }
  return Code::number;
}

Program::Program(const Graph& graph, std::span<const Graph::Node> results) {
  std::map<Graph::Node, int> registers;
  for (const Graph::Node result : results)
    for (const int leaf : graph.leaves_of(result)) leaves_.push_back(leaf);
  std::ranges::sort(leaves_);
  leaves_.erase(std::unique(leaves_.begin(), leaves_.end()), leaves_.end());
  // Operands first, without recursion: sums of many terms are deep.
  for (const Graph::Node result : results) {
    std::vector<Graph::Node> open{result};
    while (!open.empty()) {
      const Graph::Node node = open.back();
      if (registers.contains(node)) {
        open.pop_back();
        continue;
      }
      const Graph::Entry& e = graph.at(node);
      const bool takes_b = !(e.operation == Operation::power && e.b != Graph::none && graph.is_number(e.b) &&
                             (graph.value_of(e.b) == 2.0 || graph.value_of(e.b) == 3.0));
      bool is_ready = true;
      for (const Graph::Node needed : {e.a, takes_b ? e.b : Graph::none, e.c})
        if (needed != Graph::none && !registers.contains(needed)) open.push_back(needed), is_ready = false;
      if (!is_ready) continue;
      open.pop_back();
      Step step;
      const auto at = [&](Graph::Node n) { return n == Graph::none ? 0 : registers.at(n); };
      step.a = at(e.a);
      if (takes_b) step.b = at(e.b);
      step.c = at(e.c);
      switch (e.kind) {
        case Graph::Kind::number:
          step.code = Code::number;
          step.number = e.number;
          break;
        case Graph::Kind::leaf:
          step.code = Code::leaf;
          step.a = static_cast<int>(std::ranges::lower_bound(leaves_, e.leaf) - leaves_.begin());
          break;
        case Graph::Kind::choice:
          step.code = Code::choice;
          break;
        case Graph::Kind::curve:
          step.code = Code::curve;
          step.b = e.leaf;
          step.curve = e.curve;
          break;
        case Graph::Kind::argument:  // calls read its operand
          break;
        case Graph::Kind::call:
          step.code = Code::call;
          step.function = e.function;
          step.c = e.leaf;
          step.a = static_cast<int>(arguments_.size());
          for (const Graph::Node argument : graph.arguments_of(e)) arguments_.push_back(registers.at(argument));
          step.b = static_cast<int>(arguments_.size()) - step.a;
          break;
        case Graph::Kind::operation:
          step.code = takes_b ? code_of(e.operation) : graph.value_of(e.b) == 2.0 ? Code::square : Code::cube;
          break;
      }
      registers[node] = static_cast<int>(steps_.size());
      steps_.push_back(step);
    }
    results_.push_back(registers.at(result));
  }
  if (steps_.size() > max_registers)
    throw InvalidInput(
        fmt::format("the formulas need {} operations in total, at most {} are possible; use fewer names of outputs "
                    "that are themselves formulas",
                    steps_.size(), max_registers));
}

void Program::evaluate(const double* leaves, double* out) const {
  std::array<double, max_registers> r;
  r[0] = 0.0;  // the others are written before they are read
  double* to = r.data();
  for (const Step& s : steps_) {
    const double a = r[s.code == Code::leaf || s.code == Code::call ? 0 : s.a];
    switch (s.code) {
      case Code::number:
        *to = s.number;
        break;
      case Code::leaf:
        *to = leaves[s.a];
        break;
      case Code::add:
        *to = a + r[s.b];
        break;
      case Code::subtract:
        *to = a - r[s.b];
        break;
      case Code::multiply:
        *to = a * r[s.b];
        break;
      case Code::divide:
        *to = a / r[s.b];
        break;
      case Code::power:
        *to = std::pow(a, r[s.b]);
        break;
      case Code::square:
        *to = a * a;
        break;
      case Code::cube:
        *to = a * a * a;
        break;
      case Code::negate:
        *to = -a;
        break;
      case Code::sin:
        *to = std::sin(a);
        break;
      case Code::cos:
        *to = std::cos(a);
        break;
      case Code::tan:
        *to = std::tan(a);
        break;
      case Code::exp:
        *to = std::exp(a);
        break;
      case Code::log:
        *to = std::log(a);
        break;
      case Code::sqrt:
        *to = std::sqrt(a);
        break;
      case Code::sinh:
        *to = std::sinh(a);
        break;
      case Code::cosh:
        *to = std::cosh(a);
        break;
      case Code::tanh:
        *to = std::tanh(a);
        break;
      case Code::asin:
        *to = std::asin(a);
        break;
      case Code::acos:
        *to = std::acos(a);
        break;
      case Code::atan:
        *to = std::atan(a);
        break;
      case Code::abs:
        *to = std::abs(a);
        break;
      case Code::sign:
        *to = a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : 0.0;
        break;
      case Code::atan2:
        *to = std::atan2(a, r[s.b]);
        break;
      case Code::min:
        *to = std::min(a, r[s.b]);
        break;
      case Code::max:
        *to = std::max(a, r[s.b]);
        break;
      case Code::choice:
        *to = r[s.c] > 0.0 ? a : r[s.b];
        break;
      case Code::curve:
        *to = s.curve->at(a, s.b);
        break;
      case Code::call: {
        std::array<double, Function::max_arguments> arguments;
        for (int i = 0; i < s.b; ++i) arguments[static_cast<std::size_t>(i)] = r[arguments_[s.a + i]];
        *to = s.function->at(std::span<const double>(arguments.data(), static_cast<std::size_t>(s.b)), s.c);
        break;
      }
    }
    ++to;
  }
  for (const int result : results_) *out++ = r[result];
}

}  // namespace kreisel::formula
