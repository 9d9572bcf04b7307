// Random search for commutator corrections of BLieDF (Wieloch 2022, section 6.2.4).
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "coeff/brackets.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "study/analysis.hpp"
#include "study/reference.hpp"

namespace kreisel::study {
namespace {

using coeff::CorrectionSet;
using coeff::LinearForm;

/// The entries of `form` at the places `free` such that the given moments take the given values; false: singular.
bool complete(LinearForm& form, const std::vector<std::pair<bool, int>>& free,
              const std::vector<std::pair<double (*)(bool is_velocity, int i), double>>& conditions, int k) {
  const auto n = static_cast<Eigen::Index>(free.size());
  Eigen::MatrixXd A(n, n);
  Eigen::VectorXd b(n);
  for (const auto& [is_velocity, i] : free) (is_velocity ? form.a : form.b)[i] = 0.0;
  for (Eigen::Index row = 0; row < n; ++row) {
    const auto& [moment, value] = conditions[row];
    b[row] = value;
    for (int i = 0; i <= k; ++i) b[row] -= form.a[i] * moment(true, i);
    for (int i = 1; i <= k; ++i) b[row] -= form.b[i] * moment(false, i);
    for (Eigen::Index column = 0; column < n; ++column)
      A(row, column) = moment(free[column].first, free[column].second);
  }
  const Eigen::FullPivLU<Eigen::MatrixXd> lu(A);
  if (!lu.isInvertible()) return false;
  const Eigen::VectorXd x = lu.solve(b);
  for (Eigen::Index column = 0; column < n; ++column)
    (free[column].first ? form.a : form.b)[free[column].second] = x[column];
  return true;
}

// Moments of (Wieloch 2022, eq. 3.41): of h v_{n+1-i} and of the increment ω^{(n+1-i)}.
double one(bool, int) { return 1.0; }
double offset(bool is_velocity, int i) { return is_velocity ? 1.0 - i : 1.5 - i; }
double half_square(bool is_velocity, int i) {
  return is_velocity ? 0.5 * (i - 1.0) * (i - 1.0) : 7.0 / 6 - 1.5 * i + 0.5 * i * i;
}
double increments(bool is_velocity, int) { return is_velocity ? 0.0 : 1.0; }

/// A set with random entries in (-bound, bound) whose last ones follow from eq. 3.41 if it is to be consistent; entries beyond the
/// bound: refused.
bool draw(int k, bool is_implicit, bool is_consistent, double bound, std::mt19937_64& random, CorrectionSet& set) {
  std::uniform_real_distribution<double> entry(-bound, bound);
  set = CorrectionSet{k, 2, {}, "file"};
  for (int j = 0; j < 2; ++j) {
    for (int i = is_implicit ? 0 : 1; i <= k; ++i) set.lin[j].a[i] = entry(random);
    for (int i = is_implicit ? 1 : 2; i <= k; ++i) set.lin[j].b[i] = entry(random);
  }
  if (!is_consistent) return true;
  const bool is_done = k == 3 ? complete(set.lin[0], {{true, 3}}, {{one, 1.0 / 12}}, k) &&
                                    complete(set.lin[1], {{true, 3}, {false, 3}}, {{one, 0.0}, {offset, 1.0}}, k)
                              : complete(set.lin[0], {{true, 4}, {false, 4}}, {{one, 1.0 / 12}, {offset, 0.0}}, k) &&
                                    complete(set.lin[1], {{true, 3}, {true, 4}, {false, 3}, {false, 4}},
                                             {{one, 0.0}, {offset, 1.0}, {half_square, 1.0}, {increments, 0.0}}, k);
  if (!is_done) return false;
  for (const LinearForm& form : set.lin)
    for (int i = 0; i <= k; ++i)
      if (std::abs(form.a[i]) > bound || std::abs(form.b[i]) > bound) return false;
  return true;
}

class Quiet final : public run::Observer {};

struct Experiment {
  models::Model model;
  run::Options options;
  Vector exact;  ///< q at t_end in the embedding

  /// Error of q at the end; infinite when the run fails.
  double error() {
    Quiet observer;
    const run::Report report = run::integrate(*model.system, model.start, options, observer);
    if (report.status != run::Status::success) return HUGE_VAL;
    Vector q(exact.size());
    model.system->space().embed(report.final.motion.q, q);
    const double size = (q - exact).norm();
    return std::isfinite(size) ? size : HUGE_VAL;
  }
};

Numbers evaluate(const ParameterValues& p) {
  const models::ModelInfo& info = models::find_model("heavy-top");
  Experiment e{models::make_model(info, p.word("group"), ParameterValues(info.parameters)), {}, {}};
  const int k = static_cast<int>(p.number("order"));
  const bool is_implicit = p.word("form") == "implicit";
  e.options.order = k;
  e.options.formulation = system::Formulation::index3;
  e.options.step = p.number("step");
  e.options.t_end = p.number("t_end");
  ReferenceOptions reference;
  reference.cache = cache_folder();
  ExactSolution exact(e.model, make_reference(e.model, e.options.t_end, reference));
  e.exact.resize(e.model.system->space().embedding_size());
  e.model.system->space().embed(exact.at(e.options.t_end).q, e.exact);

  e.options.correction = "difference";
  const double known = e.error();
  e.options.correction = is_implicit ? "tuned-implicit" : "tuned";
  const double printed = e.error();
  e.options.correction = "file:search";
  std::mt19937_64 random(static_cast<std::uint64_t>(p.number("seed")));
  const bool is_consistent = p.word("conditions") == "kept";
  double best = HUGE_VAL, best_size = 0.0;
  std::shared_ptr<const CorrectionSet> best_set;
  long better = 0, better_than_printed = 0, failed = 0;
  const long count = static_cast<long>(p.number("sets"));
  for (long found = 0, tried = 0; found < count && tried < 100'000'000; ++tried) {
    CorrectionSet set;
    if (!draw(k, is_implicit, is_consistent, p.number("bound"), random, set)) continue;
    ++found;
    e.options.own_correction = std::make_shared<const CorrectionSet>(set);
    const double error = e.error();
    better += error < known;
    better_than_printed += error < printed;
    failed += !(error < 1.0);
    if (error < best) {
      best = error;
      best_set = e.options.own_correction;
      best_size = 0.0;
      for (int j = 0; j < 2; ++j)
        for (int i = 0; i <= k; ++i)
          best_size = std::max({best_size, std::abs(set.lin[j].a[i]), std::abs(set.lin[j].b[i])});
    }
  }
  double order = std::numeric_limits<double>::quiet_NaN();
  if (best_set != nullptr) {
    e.options.own_correction = best_set;
    e.options.step *= 0.5;
    const double coarse = e.error();
    e.options.step *= 0.5;
    order = std::log2(coarse / e.error());
  }
  return {{"difference_error", known},
          {"printed_error", printed},
          {"best_error", best},
          {"best_order", order},
          {"gain", known / best},
          {"better", static_cast<double>(better)},
          {"better_than_printed", static_cast<double>(better_than_printed)},
          {"failed", static_cast<double>(failed)},
          {"largest_coefficient", best_size}};
}

}  // namespace

AnalysisInfo correction_search() {
  AnalysisInfo info;
  info.name = "correction-search";
  info.summary =
      "random consistent coefficient sets of the commutator correction of bliedf, heavy top in index-3 form: error of "
      "q at the end";
  info.parameters = {
      {.name = "order", .meaning = "of bliedf", .default_number = 3, .minimum = 3, .maximum = 4},
      {.name = "form", .meaning = "whether the set contains the unknown velocity", .words = {"explicit", "implicit"}},
      {.name = "group", .meaning = "of the heavy top", .words = {"r3xso3", "se3", "so3"}},
      {.name = "conditions",
       .meaning = "whether the sets meet the consistency conditions (Wieloch 2022, eq. 3.41)",
       .words = {"kept", "dropped"}},
      {.name = "sets", .meaning = "how many", .default_number = 100, .minimum = 1, .maximum = 1e6},
      {.name = "bound",
       .meaning = "largest coefficient",
       .default_number = 10,
       .minimum = 0,
       .minimum_is_excluded = true},
      {.name = "step", .meaning = "[s]", .default_number = 1e-3, .minimum = 0, .minimum_is_excluded = true},
      {.name = "t_end", .meaning = "[s]", .default_number = 1, .minimum = 0, .minimum_is_excluded = true},
      {.name = "seed", .meaning = "of the random numbers", .default_number = 1, .minimum = 0}};
  info.outputs = {"difference_error", "printed_error",       "best_error", "best_order",         "gain",
                  "better",           "better_than_printed", "failed",     "largest_coefficient"};
  info.evaluate = evaluate;
  return info;
}

}  // namespace kreisel::study
