// Where formulas in t have corners.
#include <algorithm>
#include <array>
#include <cmath>

#include "interval.hpp"
#include "multibody/expression.hpp"

namespace kreisel::multibody {
namespace {

/// Values and rates of a function over an interval of time.
struct Bounds {
  Interval value, rate;
};

Bounds operator+(const Bounds& a, const Bounds& b) { return {a.value + b.value, a.rate + b.rate}; }
Bounds operator-(const Bounds& a) { return {-a.value, -a.rate}; }
Bounds operator-(const Bounds& a, const Bounds& b) { return a + -b; }
Bounds operator*(const Bounds& a, const Bounds& b) { return {a.value * b.value, a.rate * b.value + a.value * b.rate}; }
Bounds chain(const Interval& f, const Interval& f1, const Bounds& a) { return {f, f1 * a.rate}; }
Bounds operator/(const Bounds& a, const Bounds& b) {
  const Interval r = inverse(b.value);
  return a * chain(r, -squared(r), b);
}
Bounds either(const Bounds& a, const Bounds& b) { return {hull(a.value, b.value), hull(a.rate, b.rate)}; }

Interval number(double x) { return {x, x}; }

Interval whole_power(const Interval& a, int n) {
  if (n < 0) return inverse(whole_power(a, -n));
  if (n == 0) return number(1.0);
  const double x = std::pow(a.low, n), y = std::pow(a.high, n);
  if (n % 2 == 1) return bounded(x, y);
  return bounded(a.has(0.0) ? 0.0 : std::min(x, y), std::max(x, y));
}

Bounds power(const Bounds& a, const Bounds& b) {
  constexpr double largest = 1e6;
  const double n = b.value.low;
  if (b.value.is(n) && b.rate.is(0.0) && n == std::round(n) && std::abs(n) < largest) {
    const int exponent = static_cast<int>(n);
    if (exponent == 0) return {number(1.0), {}};
    return chain(whole_power(a.value, exponent), number(n) * whole_power(a.value, exponent - 1), a);
  }
  if (!(a.value.low > 0.0)) return {Interval::everything(), Interval::everything()};
  const Bounds exponent = b * chain(rising([](double x) { return std::log(x); }, a.value), inverse(a.value), a);
  const Interval f = rising([](double x) { return std::exp(x); }, exponent.value);
  return chain(f, f, exponent);
}

}  // namespace

/// Looks for changes of branches, the earliest first.
class Expression::Search {
 public:
  Search(const Expression& expression, double after, double until)
      : of_(expression), smallest_(8e-16 * std::max(std::abs(after), std::abs(until))) {}

  /// The first time in (a, b] with other branches than those at a; false: there is none.
  bool find(double a, const Branches& at_a, double b, const Branches& at_b, double& found) {
    const bool differ = !are_equal(at_a, at_b);
    const Kind kind = inspect(a, b);
    if (!differ && kind != Kind::unknown) return false;
    const double middle = a + 0.5 * (b - a);
    if (b - a <= smallest_ || !(middle > a && middle < b) || kind != Kind::unknown || ++divisions_ > most_divisions) {
      if (differ) found = bisect(a, at_a, b);
      return differ;
    }
    Branches at_middle{};
    of_.evaluate(middle, &at_middle);
    return find(a, at_a, middle, at_middle, found) || find(middle, at_middle, b, at_b, found);
  }
  /// A time in (a, b) at which the function is far larger than at both ends, near its largest value: a step from a to b would
  /// miss it. False: there is none.
  bool find_peak(double a, double b, double& found) const {
    const double size = far_larger * std::max(std::abs(of_.at(a).value), std::abs(of_.at(b).value));
    struct Part {
      double a, b, bound;
    };
    const auto part = [&](double from, double to) {
      Interval range;
      inspect(from, to, &range);
      return Part{from, to, std::max(-range.low, range.high)};
    };
    // The interval that may have the largest value comes first.
    const auto is_smaller = [](const Part& x, const Part& y) { return x.bound < y.bound; };
    std::array<Part, most_parts> heap{part(a, b)};
    int count = 1;
    double largest = size;
    bool has_found = false;
    while (count > 0 && count < most_parts && heap[0].bound > largest) {
      std::pop_heap(heap.begin(), heap.begin() + count, is_smaller);
      const Part top = heap[--count];
      const double middle = top.a + 0.5 * (top.b - top.a);
      if (top.b - top.a <= smallest_ || !(middle > a && middle < b)) continue;
      const double value = std::abs(of_.at(middle).value);
      if (value > largest) {
        largest = value;
        found = middle;
        has_found = true;
      }
      if (has_found && largest >= near_peak * top.bound) return true;
      for (const Part& half : {part(top.a, middle), part(middle, top.b)}) {
        heap[count++] = half;
        std::push_heap(heap.begin(), heap.begin() + count, is_smaller);
      }
    }
    return has_found;
  }
  bool are_equal(const Branches& a, const Branches& b) const {
    return std::equal(a.begin(), a.begin() + of_.corners_, b.begin());
  }

 private:
  /// What intervals of t tell about the arguments of abs, sign, min and max: none can be zero, each has one zero at most, or neither.
  enum class Kind { clear, monotone, unknown };
  /// Beyond this the values at the ends of the intervals decide: an argument such as t - t is zero without being known to be.
  static constexpr long most_divisions = 5'000;
  /// A peak: its size relative to the ends of the interval, and to the largest value that is possible there.
  static constexpr double far_larger = 10.0, near_peak = 0.5;
  static constexpr int most_parts = 64;

  double bisect(double a, const Branches& at_a, double b) const {
    Branches at_middle{};
    while (true) {
      const double middle = a + 0.5 * (b - a);
      if (!(middle > a && middle < b)) return b;
      of_.evaluate(middle, &at_middle);
      (are_equal(at_a, at_middle) ? a : b) = middle;
    }
  }

  /// `range`: what values the function may have.
  Kind inspect(double a, double b, Interval* range = nullptr) const {
    std::array<Bounds, max_depth + 1> stack;
    int top = -1;
    Kind kind = Kind::clear;
    // The side of an argument, 0 when it may have both.
    const auto branch = [&](const Bounds& g) {
      if (g.value.low > 0.0) return 1;
      if (g.value.high < 0.0) return -1;
      const bool is_zero = g.value.is(0.0) && g.rate.is(0.0);
      if (!is_zero) kind = std::max(kind, g.rate.has(0.0) ? Kind::unknown : Kind::monotone);
      return 0;
    };
    for (const Instruction& instruction : of_.program_) {
      Bounds& x = stack[std::max(top, 0)];
      const Interval& v = x.value;
      switch (instruction.operation) {
        case Operation::number:
          stack[++top] = {number(instruction.number), {}};
          break;
        case Operation::name:
          stack[++top] = {{a, b}, number(1.0)};
          break;
        case Operation::add:
          --top, stack[top] = stack[top] + stack[top + 1];
          break;
        case Operation::subtract:
          --top, stack[top] = stack[top] - stack[top + 1];
          break;
        case Operation::multiply:
          --top, stack[top] = stack[top] * stack[top + 1];
          break;
        case Operation::divide:
          --top, stack[top] = stack[top] / stack[top + 1];
          break;
        case Operation::power:
          --top, stack[top] = power(stack[top], stack[top + 1]);
          break;
        case Operation::negate:
          x = -x;
          break;
        case Operation::sin:
          x = chain(sine(v), cosine(v), x);
          break;
        case Operation::cos:
          x = chain(cosine(v), -sine(v), x);
          break;
        case Operation::tan: {
          // Between two poles it rises.
          const bool has_pole = std::floor(v.low / M_PI - 0.5) != std::floor(v.high / M_PI - 0.5);
          const Interval y = has_pole ? Interval::everything() : rising([](double z) { return std::tan(z); }, v);
          x = chain(y, has_pole ? Interval::everything() : number(1.0) + squared(y), x);
          break;
        }
        case Operation::exp: {
          const Interval y = rising([](double z) { return std::exp(z); }, v);
          x = chain(y, y, x);
          break;
        }
        case Operation::log:
          x = chain(v.low > 0.0 ? rising([](double z) { return std::log(z); }, v) : Interval::everything(), inverse(v),
                    x);
          break;
        case Operation::sqrt: {
          const Interval y = v.low >= 0.0 ? rising([](double z) { return std::sqrt(z); }, v) : Interval::everything();
          x = chain(y, number(0.5) * inverse(y), x);
          break;
        }
        case Operation::sinh:
        case Operation::cosh: {
          const Interval s = rising([](double z) { return std::sinh(z); }, v);
          const double low = std::cosh(v.low), high = std::cosh(v.high);
          const Interval c = bounded(v.has(0.0) ? 1.0 : std::min(low, high), std::max(low, high));
          x = instruction.operation == Operation::sinh ? chain(s, c, x) : chain(c, s, x);
          break;
        }
        case Operation::tanh: {
          const Interval y = rising([](double z) { return std::tanh(z); }, v);
          x = chain(y, number(1.0) - squared(y), x);
          break;
        }
        case Operation::asin:
        case Operation::acos: {
          const bool is_defined = v.low > -1.0 && v.high < 1.0;
          const Interval y = is_defined ? rising([](double z) { return std::asin(z); }, v) : Interval::everything();
          const Interval root = rising([](double z) { return std::sqrt(z); }, number(1.0) - squared(v));
          const Interval slope = is_defined ? inverse(root) : Interval::everything();
          x = instruction.operation == Operation::asin ? chain(y, slope, x) : chain(number(M_PI_2) - y, -slope, x);
          break;
        }
        case Operation::atan:
          x = chain(rising([](double z) { return std::atan(z); }, v), inverse(number(1.0) + squared(v)), x);
          break;
        case Operation::atan2: {
          // Known where it does not jump from π to -π and has a rate.
          --top;
          const Bounds &y = stack[top], &c = stack[top + 1];
          const Interval square = squared(c.value) + squared(y.value);
          Bounds angle{{-M_PI, M_PI}, (c.value * y.rate - y.value * c.rate) * inverse(square)};
          const bool may_jump = c.value.low <= 0.0 && y.value.has(0.0);
          if (c.value.low > 0.0) {
            angle.value = rising([](double z) { return std::atan(z); }, y.value * inverse(c.value));
          } else if (may_jump) {
            angle.rate = Interval::everything();
          }
          stack[top] = angle;
          break;
        }
        case Operation::abs: {
          const int side = branch(x);
          if (side < 0) x = -x;
          if (side == 0) {
            const Interval rate = hull(x.rate, -x.rate);
            x = {bounded(0.0, std::max(-x.value.low, x.value.high)), rate};
          }
          break;
        }
        case Operation::sign: {
          const bool is_zero = v.is(0.0) && x.rate.is(0.0);
          const int side = branch(x);
          if (side != 0 || is_zero)
            x = {number(side), {}};
          else
            x = {{-1.0, 1.0}, Interval::everything()};
          break;
        }
        case Operation::min:
        case Operation::max: {
          --top;
          const Bounds first = stack[top], second = stack[top + 1];
          const int side = branch(first - second);
          const bool takes_first = instruction.operation == Operation::min ? side < 0 : side > 0;
          if (side != 0) {
            stack[top] = takes_first ? first : second;
            break;
          }
          stack[top] = either(first, second);
          Interval& value = stack[top].value;
          if (instruction.operation == Operation::min)
            value.high = std::min(first.value.high, second.value.high);
          else
            value.low = std::max(first.value.low, second.value.low);
          break;
        }
      }
    }
    if (range != nullptr) *range = stack[0].value;
    return kind;
  }

  const Expression& of_;
  double smallest_;
  long divisions_ = 0;
};

std::optional<Expression::Corner> Expression::next_corner(double after, double until) const {
  if (is_constant_ || !(until > after)) return {};
  Search search(*this, after, until);
  double corner = until, peak = 0.0;
  if (corners_ > 0) {
    Branches at_after{}, at_until{};
    evaluate(after, &at_after);
    evaluate(until, &at_until);
    if (!search.find(after, at_after, until, at_until, corner) || corner > until) corner = until;
  }
  const double before = corner < until ? std::nextafter(corner, after) : until;
  if (before > after && search.find_peak(after, before, peak)) {
    // The highest one has been found; a lower one may come first.
    constexpr std::array<double, 4> parts{0.97, 0.75, 0.5, 0.25};
    for (std::size_t i = 0, found = 0; i < parts.size() && found < parts.size();)
      if (double first = 0.0; search.find_peak(after, after + parts[i] * (peak - after), first)) {
        peak = first;
        i = 0;
        ++found;
      } else {
        ++i;
      }
    const Jet there = at(peak);
    return Corner{peak, there, there};
  }
  if (corner == until) return {};
  return Corner{corner, at(before), at(corner)};
}

}  // namespace kreisel::multibody
