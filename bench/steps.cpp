// The cost of one constant step: heavy top, h = 1e-3, Newton tolerance 1e-10, every method, order, group and formulation.
//
//   bench_steps                                     the whole catalogue
//   bench_steps METHOD ORDER GROUP FORMULATION      one of them
//
// Counted is everything between two accepted points: method, Newton iteration, linear algebra, report and observer; not
// the start-up. One JSON object per line on standard output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "method/catalogue.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "support/count.hpp"

namespace {

using namespace kreisel;

constexpr double step = 1e-3;
constexpr double t_end = 0.5;

struct Variant {
  std::string method;
  int order;
  std::string group, formulation;

  std::string label() const { return fmt::format("{} {} {} {}", method, order, group, formulation); }
};

/// Counts from the first accepted point of the method to the last.
class CountSteps final : public run::Observer {
 public:
  explicit CountSteps(std::string label) : label_(std::move(label)) {}

  bool accept(const run::Point& point) override {
    if (point.is_start) return true;
    if (first_ < 0) {
      first_ = point.number;
      bench::start_counting();
    } else if (point.entry.motion.t > t_end - 0.5 * step) {
      bench::stop_counting(label_);
      steps_ = point.number - first_;
    }
    return true;
  }

  long steps() const { return steps_; }

 private:
  std::string label_;
  long first_ = -1, steps_ = 0;
};

run::Options options_for(const Variant& variant, double end) {
  run::Options options;
  options.method = variant.method;
  options.order = variant.order;
  options.formulation = variant.formulation;
  options.step = step;
  options.newton_tolerance = 1e-10;
  options.t_end = end;
  return options;
}

void measure(const Variant& variant) {
  const models::ModelInfo& info = models::find_model("heavy-top");
  const models::Model model = models::make_model(info, variant.group, ParameterValues(info.parameters));
  CountSteps counter(variant.label());
  const run::Report all = run::integrate(*model.system, model.start, options_for(variant, t_end), counter);

  // Half the run, not counted: the difference of the counters is free of start-up.
  run::Observer nobody;
  const run::Report half = run::integrate(*model.system, model.start, options_for(variant, 0.5 * t_end), nobody);
  const auto per_step = [&](std::int64_t Counters::*field) {
    return static_cast<double>(all.counters.*field - half.counters.*field) /
           static_cast<double>(all.counters.steps - half.counters.steps);
  };
  fmt::print(
      "{{\"label\": \"{}\", \"method\": \"{}\", \"order\": {}, \"group\": \"{}\", \"formulation\": \"{}\", \"status\": "
      "\"{}\", "
      "\"steps\": {}, \"iterations\": {:.3f}, \"residuals\": {:.3f}, \"factorizations\": {:.3f}, \"exponentials\": "
      "{:.3f}, "
      "\"brackets\": {:.3f}}}\n",
      variant.label(), variant.method, variant.order, variant.group, variant.formulation, run::info_of(all.status).name,
      counter.steps(), per_step(&Counters::newton_iterations), per_step(&Counters::residual_evaluations),
      per_step(&Counters::factorizations), per_step(&Counters::exponentials), per_step(&Counters::brackets));
  std::fflush(stdout);
}

std::vector<Variant> all_variants() {
  std::vector<Variant> list;
  for (const method::MethodInfo& info : method::catalogue())
    for (const std::string& group : models::find_model("heavy-top").groups)
      for (const std::string& formulation : info.formulations) {
        const bool is_free = group == "so3";
        if (is_free != (formulation == "ode")) continue;
        for (const int order : info.orders()) list.push_back({info.name, order, group, formulation});
      }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5) {
    measure({argv[1], std::stoi(argv[2]), argv[3], argv[4]});
  } else if (argc == 1) {
    for (const Variant& variant : all_variants()) measure(variant);
  } else {
    fmt::print(stderr, "usage: {} [METHOD ORDER GROUP FORMULATION]\n", argv[0]);
    return 2;
  }
}
