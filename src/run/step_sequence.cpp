#include "run/step_sequence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/spelling.hpp"

namespace kreisel::run {
namespace {

/// A list with more steps than this is treated as a mistake.
constexpr double most_steps = 1e8;
/// A list that misses the end by less than this was meant to reach it.
constexpr double round_off = 1e-9;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;  // clang 14 deduces no aggregates

/// Uniform in [0, 1), the same on every platform.
double uniform(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

/// Yields the sizes one after another.
class Source {
 public:
  Source(const StepSequence& sequence, double t0) : sequence_(sequence), t0_(t0) {
    if (const auto* random = std::get_if<RandomSteps>(&sequence)) {
      const double scale = std::pow(10.0, -0.1 * random->member);
      low_ = scale * random->h_min;
      high_ = scale * random->h_max;
      size_ = std::sqrt(low_ * high_);
      generator_.seed(random->seed + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(random->member + 1));
    }
  }

  /// The size of step i, which begins at `elapsed` after t0; 0 when a list has ended.
  double next(long i, double elapsed) {
    return std::visit(
        Overloaded{[](const std::monostate&) { return 0.0; },
                   [&](const StepList& list) { return i < static_cast<long>(list.steps.size()) ? list.steps[i] : 0.0; },
                   [&](const OneChange& c) { return t0_ + elapsed < c.at - round_off * c.h ? c.h : c.ratio * c.h; },
                   [&](const Alternation& a) { return i % 2 == 0 ? a.h : a.ratio * a.h; },
                   [&](const RandomSteps& r) {
                     if (i > 0 && i % r.every == 0) {
                       const double sigma = r.ratio_min + (r.ratio_max - r.ratio_min) * uniform(generator_);
                       size_ = std::clamp(sigma * size_, low_, high_);
                     }
                     return size_;
                   }},
        sequence_);
  }

 private:
  const StepSequence& sequence_;
  double t0_, low_ = 0.0, high_ = 0.0, size_ = 0.0;
  std::mt19937_64 generator_;
};

bool is_positive(double x) { return std::isfinite(x) && x > 0.0; }

}  // namespace

std::vector<std::string> problems_in(const StepSequence& sequence, double span) {
  std::vector<std::string> problems;
  const auto require = [&](bool ok, std::string text) {
    if (!ok) problems.push_back(std::move(text));
  };
  const auto positive = [&](const char* name, double value) {
    require(is_positive(value), fmt::format("{} is {}, must be positive", name, value));
  };
  double smallest = 0.0;
  std::visit(
      Overloaded{[](const std::monostate&) {},
                 [&](const StepList& list) {
                   require(!list.steps.empty(), "the list of steps is empty");
                   for (std::size_t i = 0; i < list.steps.size(); ++i)
                     if (!is_positive(list.steps[i]))
                       return require(false, fmt::format("step {} is {}, must be positive", i + 1, list.steps[i]));
                   const double sum = std::accumulate(list.steps.begin(), list.steps.end(), 0.0);
                   require(sum >= span * (1.0 - round_off),
                           fmt::format(
                               "the {} steps last {:.10g} s, but the run {:.10g} s; give more steps or an earlier {}",
                               list.steps.size(), sum, span, spelled("t_end")));
                 },
                 [&](const OneChange& c) {
                   positive("h", c.h);
                   positive("ratio", c.ratio);
                   require(std::isfinite(c.at), fmt::format("at is {}, must be a time", c.at));
                   smallest = std::min(c.h, c.ratio * c.h);
                 },
                 [&](const Alternation& a) {
                   positive("h", a.h);
                   positive("ratio", a.ratio);
                   smallest = std::min(a.h, a.ratio * a.h);
                 },
                 [&](const RandomSteps& r) {
                   positive("h_min", r.h_min);
                   require(std::isfinite(r.h_max) && r.h_max >= r.h_min,
                           fmt::format("h_max is {}, must be at least h_min = {}", r.h_max, r.h_min));
                   positive("ratio_min", r.ratio_min);
                   require(std::isfinite(r.ratio_max) && r.ratio_max >= r.ratio_min,
                           fmt::format("ratio_max is {}, must be at least ratio_min = {}", r.ratio_max, r.ratio_min));
                   require(r.every >= 1, fmt::format("every is {}, must be at least 1", r.every));
                   require(r.member >= 0 && r.member <= 200,
                           fmt::format("member is {}, must lie between 0 and 200", r.member));
                   smallest = r.h_min * std::pow(10.0, -0.1 * r.member);
                 }},
      sequence);
  if (problems.empty() && smallest > 0.0)
    require(span / smallest <= most_steps,
            fmt::format("steps of {} need more than {:g} steps for {:.6g} s", smallest, most_steps, span));
  return problems;
}

Steps steps_of(const StepSequence& sequence, double t0, double span, int equal) {
  Steps out;
  Source source(sequence, t0);
  double elapsed = 0.0;
  const auto take = [&](double h) {
    out.sizes.push_back(h);
    elapsed += h;
  };
  const double first = source.next(0, 0.0);
  std::vector<double> head{first};
  while (static_cast<int>(head.size()) < equal) {
    const double h = source.next(static_cast<long>(head.size()), first * static_cast<double>(head.size()));
    head.push_back(h);
    if (h != first) break;
  }
  const bool repeats_first = std::any_of(head.begin(), head.end(), [&](double h) { return h != first; });
  if (repeats_first)
    for (int i = 1; i < equal; ++i) take(first);
  for (const double h : head)
    if (h > 0.0 && elapsed < span * (1.0 - round_off)) take(h);
  for (long i = static_cast<long>(head.size()); elapsed < span * (1.0 - round_off); ++i) {
    const double h = source.next(i, elapsed);
    if (h <= 0.0) break;
    take(h);
  }
  // The sum of thousands of steps has round-off, which is not reported as shrinking.
  out.factor = std::abs(elapsed / span - 1.0) < round_off ? 1.0 : span / elapsed;
  for (double& h : out.sizes) h *= out.factor;
  return out;
}

}  // namespace kreisel::run
