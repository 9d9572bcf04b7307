#include "study/optimize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/decompositions.hpp"
#include "base/text.hpp"
#include "case_runner.hpp"
#include "grid.hpp"
#include "io/report/report.hpp"
#include "io/result/prepare.hpp"
#include "io/result/sensitivities.hpp"
#include "io/result/summary.hpp"
#include "kreisel/version.hpp"
#include "study/output.hpp"

namespace kreisel::study {
namespace {

constexpr const char *gradient_name = "gradient", *worker_lost = "worker-lost";

/// Points and values in the unit cube, smaller is better.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::vector<Vector> ask() = 0;
  virtual void tell(const std::vector<Vector>& points, const std::vector<double>& values,
                    const std::vector<Vector>& gradients) = 0;
  bool is_over() const { return is_over_; }
  bool is_found() const { return is_found_; }

 protected:
  bool is_over_ = false, is_found_ = false;
};

/// (μ/μ_w, λ)-CMA-ES with default parameters (Hansen 2016, The CMA Evolution Strategy: A Tutorial). Points outside the
/// cube are evaluated on its boundary and pay for their distance.
class CmaEs final : public Strategy {
 public:
  CmaEs(const Vector& start, std::size_t population, double precision, std::uint64_t seed)
      : n_(start.size()), precision_(precision), mean_(start), random_(seed) {
    const double n = static_cast<double>(n_);
    lambda_ = population > 0 ? population : 4 + static_cast<std::size_t>(3.0 * std::log(n));
    const std::size_t mu = std::max<std::size_t>(1, lambda_ / 2);
    weights_.resize(static_cast<Eigen::Index>(mu));
    for (std::size_t i = 0; i < mu; ++i)
      weights_[static_cast<Eigen::Index>(i)] =
          std::log(0.5 * (static_cast<double>(lambda_) + 1.0)) - std::log(static_cast<double>(i) + 1.0);
    weights_ /= weights_.sum();
    const double mass = 1.0 / weights_.squaredNorm();
    c_sigma_ = (mass + 2.0) / (n + mass + 5.0);
    d_sigma_ = 1.0 + 2.0 * std::max(0.0, std::sqrt((mass - 1.0) / (n + 1.0)) - 1.0) + c_sigma_;
    c_c_ = (4.0 + mass / n) / (n + 4.0 + 2.0 * mass / n);
    c_1_ = 2.0 / ((n + 1.3) * (n + 1.3) + mass);
    c_mu_ = std::min(1.0 - c_1_, 2.0 * (mass - 2.0 + 1.0 / mass) / ((n + 2.0) * (n + 2.0) + mass));
    mass_ = mass;
    expected_ = std::sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));
    p_sigma_ = p_c_ = Vector::Zero(n_);
    basis_ = Matrix::Identity(n_, n_);
    covariance_ = basis_;
    scales_ = Vector::Ones(n_);
  }

  std::vector<Vector> ask() override {
    samples_.clear();
    std::vector<Vector> points;
    for (std::size_t k = 0; k < lambda_; ++k) {
      Vector z(n_);
      for (Eigen::Index i = 0; i < n_; ++i)
        z[i] = normal_quantile((static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53);
      samples_.push_back(mean_ + sigma_ * (basis_ * scales_.cwiseProduct(z)));
      points.push_back(samples_.back().cwiseMax(0.0).cwiseMin(1.0));
    }
    return points;
  }

  void tell(const std::vector<Vector>& points, const std::vector<double>& values, const std::vector<Vector>&) override {
    double spread = 0.0, low = HUGE_VAL, high = -HUGE_VAL;
    for (const double value : values)
      if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    spread = std::isfinite(low) ? std::max(high - low, 1e-12 * std::abs(low)) : 1.0;
    std::vector<std::pair<double, std::size_t>> ranking;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double distance = (samples_[k] - points[k]).squaredNorm() / (sigma_ * sigma_);
      ranking.emplace_back(std::isfinite(values[k]) ? values[k] + spread * distance : HUGE_VAL, k);
    }
    std::stable_sort(ranking.begin(), ranking.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const double n = static_cast<double>(n_);
    Vector step = Vector::Zero(n_);
    Matrix rank_mu = Matrix::Zero(n_, n_);
    for (Eigen::Index i = 0; i < weights_.size(); ++i) {
      const Vector y = (samples_[ranking[static_cast<std::size_t>(i)].second] - mean_) / sigma_;
      step += weights_[i] * y;
      rank_mu += weights_[i] * y * y.transpose();
    }
    mean_ += sigma_ * step;
    const Vector whitened = basis_ * scales_.cwiseInverse().cwiseProduct(basis_.transpose() * step);
    p_sigma_ = (1.0 - c_sigma_) * p_sigma_ + std::sqrt(c_sigma_ * (2.0 - c_sigma_) * mass_) * whitened;
    ++generation_;
    const double decay = std::sqrt(1.0 - std::pow(1.0 - c_sigma_, 2.0 * static_cast<double>(generation_)));
    const bool is_moving = p_sigma_.norm() / decay < (1.4 + 2.0 / (n + 1.0)) * expected_;
    p_c_ *= 1.0 - c_c_;
    if (is_moving) p_c_ += std::sqrt(c_c_ * (2.0 - c_c_) * mass_) * step;
    const double lost = is_moving ? 0.0 : c_1_ * c_c_ * (2.0 - c_c_);
    covariance_ = (1.0 - c_1_ - c_mu_ + lost) * covariance_ + c_1_ * p_c_ * p_c_.transpose() + c_mu_ * rank_mu;
    sigma_ *= std::exp(std::min(1.0, c_sigma_ / d_sigma_ * (p_sigma_.norm() / expected_ - 1.0)));
    const auto eigen = symmetric_eigen<Eigen::Dynamic>(covariance_);
    basis_ = eigen.vectors;
    scales_ = eigen.values.cwiseMax(1e-30).cwiseSqrt();
    is_found_ = is_over_ = sigma_ * scales_.maxCoeff() < precision_;
    if (!(sigma_ * scales_.maxCoeff() < 1e6)) is_over_ = true;
  }

 private:
  Eigen::Index n_;
  double precision_, sigma_ = 0.3;
  std::size_t lambda_ = 0, generation_ = 0;
  Vector mean_, weights_, p_sigma_, p_c_, scales_;
  Matrix basis_, covariance_;
  double c_sigma_ = 0.0, d_sigma_ = 0.0, c_c_ = 0.0, c_1_ = 0.0, c_mu_ = 0.0, mass_ = 0.0, expected_ = 0.0;
  std::vector<Vector> samples_;
  std::mt19937_64 random_;
};

/// Projected BFGS with Armijo's rule (Nocedal and Wright 2006, ch. 6 and 16.7): variables at a bound that the gradient
/// pushes against stay there.
class ProjectedBfgs final : public Strategy {
 public:
  ProjectedBfgs(const Vector& start, double precision) : precision_(precision), trial_(start) {
    inverse_ = Matrix::Identity(start.size(), start.size());
  }

  std::vector<Vector> ask() override { return {trial_}; }

  void tell(const std::vector<Vector>& points, const std::vector<double>& values,
            const std::vector<Vector>& gradients) override {
    const bool is_usable =
        std::isfinite(values[0]) && gradients[0].size() == points[0].size() && gradients[0].allFinite();
    if (x_.size() == 0) {
      if (!is_usable) {
        is_over_ = true;
        return;
      }
      x_ = points[0], value_ = values[0], gradient_ = gradients[0];
      return begin_line();
    }
    const Vector moved = points[0] - x_;
    if (is_usable && values[0] <= value_ + 1e-4 * gradient_.dot(moved)) {
      const Vector change = gradients[0] - gradient_;
      const double curvature = change.dot(moved);
      if (curvature > 1e-10 * change.norm() * moved.norm()) {
        const Eigen::Index n = x_.size();
        if (!has_curvature_) inverse_ *= curvature / change.squaredNorm();
        has_curvature_ = true;
        const Matrix shift = Matrix::Identity(n, n) - moved * change.transpose() / curvature;
        inverse_ = shift * inverse_ * shift.transpose() + moved * moved.transpose() / curvature;
      }
      x_ = points[0], value_ = values[0], gradient_ = gradients[0];
      // Short steps are no sign of a minimum if longer ones lead to runs that fail.
      was_held_up_ = meets_failures_;
      if (moved.lpNorm<Eigen::Infinity>() < precision_) return end(!was_held_up_);
      return begin_line();
    }
    meets_failures_ = meets_failures_ || !is_usable;
    length_ *= 0.3;
    trial_ = (x_ + length_ * direction_).cwiseMax(0.0).cwiseMin(1.0);
    if ((trial_ - x_).lpNorm<Eigen::Infinity>() < 0.1 * precision_) end(!meets_failures_);
  }

 private:
  void end(bool is_found) {
    is_over_ = true;
    is_found_ = is_found;
  }
  void begin_line() {
    const Eigen::Index n = x_.size();
    std::vector<bool> is_held(static_cast<std::size_t>(n));
    Vector free_gradient = gradient_;
    for (Eigen::Index i = 0; i < n; ++i) {
      const bool holds = (x_[i] <= 0.0 && gradient_[i] > 0.0) || (x_[i] >= 1.0 && gradient_[i] < 0.0);
      is_held[static_cast<std::size_t>(i)] = holds;
      if (holds) free_gradient[i] = 0.0;
    }
    if (is_held != is_held_ && !is_held_.empty()) {
      inverse_.setIdentity();
      has_curvature_ = false;
    }
    is_held_ = is_held;
    if (free_gradient.norm() <= 1e-12 * std::max(1.0, std::abs(value_))) return end(true);
    direction_ = -(inverse_ * free_gradient);
    for (Eigen::Index i = 0; i < n; ++i)
      if (is_held[static_cast<std::size_t>(i)]) direction_[i] = 0.0;
    if (!(direction_.dot(free_gradient) < 0.0)) direction_ = -free_gradient;
    // Without curvature the gradient does not determine the length of the step.
    length_ = has_curvature_ ? 1.0 : 0.1 / direction_.lpNorm<Eigen::Infinity>();
    trial_ = (x_ + length_ * direction_).cwiseMax(0.0).cwiseMin(1.0);
    meets_failures_ = false;
    if ((trial_ - x_).lpNorm<Eigen::Infinity>() < 0.1 * precision_) end(!was_held_up_);
  }

  double precision_, value_ = 0.0, length_ = 1.0;
  Vector x_, trial_, gradient_, direction_;
  Matrix inverse_;
  std::vector<bool> is_held_;
  bool has_curvature_ = false;
  bool meets_failures_ = false, was_held_up_ = false;  ///< runs failed on this line, on the last one
};

class Nobody final : public run::Observer {
 public:
  explicit Nobody(const std::function<bool()>& wants_to_stop) : wants_to_stop_(wants_to_stop) {}
  bool goes_on(double, long) override { return !wants_to_stop_ || !wants_to_stop_(); }

 private:
  const std::function<bool()>& wants_to_stop_;
};

/// d(measure)/d(parameters), from derivatives of the motion on frozen steps.
std::vector<double> gradient_of(const OptimizationSpec& o, const Case& c, const Row& row,
                                const std::function<bool()>& wants_to_stop) {
  const auto measure = std::find_if(o.spec.measures.begin(), o.spec.measures.end(),
                                    [&](const Measure& m) { return m.name == o.number; });
  std::vector<std::string> names;
  for (const Variable& v : o.variables) names.push_back(v.name);
  Nobody nobody(wants_to_stop);
  const run::Sensitivities found = io::sensitivities(c.run, names, nobody, {.is_cheap = true});
  std::vector<double> gradient;
  if (!found.problem.empty() || found.points.t.empty()) return gradient;
  const models::Model model = io::prepare_model(c.run);
  const int place = output_place(*model.system, measure->quantity).first + std::max(0, measure->component - 1);
  // Extrema over time: the derivative where they are reached, whose time does not count to first order.
  const Matrix& outputs = found.points.outputs;
  Eigen::Index at = outputs.rows() - 1;
  for (Eigen::Index i = 0; measure->span != Span::end && i < outputs.rows(); ++i) {
    const auto size = [&](Eigen::Index k) {
      return measure->is_signed ? outputs(k, place) : std::abs(outputs(k, place));
    };
    if (measure->span == Span::min ? size(i) < size(at) : size(i) > size(at)) at = i;
  }
  const double sign = measure->is_signed || outputs(at, place) >= 0.0 ? 1.0 : -1.0;
  for (const run::Sensitivity& by : found.by) gradient.push_back(sign * by.outputs(at, place));
  static_cast<void>(row);
  return gradient;
}

std::vector<Variable> variables_of(const SpecObject& root) {
  std::vector<Variable> list;
  if (!root.has("variables") || !root.value("variables").is_object() || root.value("variables").empty())
    root.refuse("variables", "expected an object { } with what varies: {\"length\": {\"from\": 0.5, \"to\": 2}}");
  const std::vector<std::string> fields = [] {
    std::vector<std::string> names{"tolerance"};
    for (const io::RunField& field : io::run_fields()) names.push_back(field.field.name);
    return names;
  }();
  const SpecObject variables(root.source(), root.at("variables"), root.value("variables"));
  for (const auto& [name, value] : variables.json().items()) {
    const SpecObject o(root.source(), variables.at(name), value);
    o.only({"from", "to", "start"});
    Variable v;
    v.name = name;
    v.is_parameter = std::find(fields.begin(), fields.end(), name) == fields.end();
    for (const char* key : {"from", "to"})
      if (!o.has(key)) o.refuse(key, "is missing: every variable has bounds");
    v.from = o.number("from", 0.0);
    v.to = o.number("to", 1.0);
    if (!(v.from < v.to)) o.refuse("to", "must be larger than 'from'");
    v.start = o.number("start", 0.5 * (v.from + v.to));
    if (!(v.start >= v.from && v.start <= v.to)) o.refuse("start", "must lie between 'from' and 'to'");
    list.push_back(v);
  }
  return list;
}

constexpr const char* own_keys[] = {"variables",   "minimize",   "maximize", "search",
                                    "evaluations", "population", "precision"};

}  // namespace

OptimizationSpec parse_optimization(const io::JsonSource& source, const OwnModels& own_models,
                                    const std::string& own_text) {
  const SpecObject root(source, "", source.root());
  OptimizationSpec out;
  out.variables = variables_of(root);
  if (root.has("minimize") == root.has("maximize"))
    source.refuse("", "expected one of \"minimize\" and \"maximize\", with the name of a measure");
  out.is_maximum = root.has("maximize");
  out.number = root.text(out.is_maximum ? "maximize" : "minimize");
  if (root.has("search")) {
    try {
      out.search = Choice<SearchKind>(root.text("search")).value_or(out.search);
    } catch (const InvalidInput& problem) {
      root.refuse("search", problem.what());
    }
  }
  out.evaluations = static_cast<std::size_t>(root.whole("evaluations", 1000, 1, 100'000'000));
  out.population = static_cast<std::size_t>(root.whole("population", 0, 0, 1'000'000));
  if (out.population == 1) root.refuse("population", "expected at least 2");
  out.precision = root.number("precision", out.precision);
  if (!(out.precision > 0.0)) root.refuse("precision", "expected a positive number");
  out.seed = static_cast<std::uint64_t>(root.whole("seed", 1, 0, 1'000'000'000'000'000));
  // What is left is a study of one run, in which the variables have their first values.
  Json rest = source.root();
  for (const char* key : own_keys) rest.erase(key);
  rest.erase("seed");
  if (!rest.contains("measures")) rest["measures"] = Json::array({out.number});
  for (const Variable& v : out.variables) {
    Json& object = v.is_parameter ? rest["set"] : rest;
    if (object.contains(v.name))
      root.refuse("variables", fmt::format("'{}' is a variable and has a fixed value; remove one of them", v.name));
    object[v.name] = v.start;
  }
  // A search with gradients cannot use the lines of one without.
  out.spec = parse_spec(io::JsonSource(source.name(), rest.dump(1), source.folder()), own_models,
                        own_text + root.value("variables").dump() +
                            (out.search == SearchKind::gradient ? " gradient " + out.number : std::string()));
  if (out.spec.size() != 1 || !out.spec.analysis.empty())
    source.refuse("",
                  fmt::format("an optimisation must have a single case besides its variables; this one has {} cases",
                              out.spec.size()));
  if (needs_reference(out.spec))
    source.refuse("",
                  "an optimisation cannot measure errors, because every point would need an exact solution; measure "
                  "outputs or values");
  const std::vector<std::string> known = out.spec.number_names();
  if (std::find(known.begin(), known.end(), out.number) == known.end())
    root.refuse(out.is_maximum ? "maximize" : "minimize", unknown_name("measure", out.number, known));
  if (out.search == SearchKind::gradient) {
    const auto measure = std::find_if(out.spec.measures.begin(), out.spec.measures.end(),
                                      [&](const Measure& m) { return m.name == out.number; });
    const bool is_output = measure != out.spec.measures.end() && measure->quantity.starts_with("output.") &&
                           !measure->quantity.ends_with('\'') &&
                           (measure->span == Span::end || measure->span == Span::max || measure->span == Span::min);
    const bool has_fields =
        std::any_of(out.variables.begin(), out.variables.end(), [](const Variable& v) { return !v.is_parameter; });
    if (!is_output || has_fields)
      root.refuse("search",
                  "gradients are available for outputs (end, max or min) by parameters of the model; use \"cma-es\"");
    const models::Model model = io::prepare_model(out.spec.cases[0].run);
    if (output_place(*model.system, measure->quantity).second != 1 && measure->component == 0)
      root.refuse(
          "search",
          "the output has several components; give the measure a \"component\", or name one, as in output.foot.x");
  }
  return out;
}

struct Search::State {
  OptimizationSpec spec;
  Keys keys;
  std::unique_ptr<Journal> journal;
  std::map<std::string, std::string> known;  ///< lines of the journal, by key
  std::unique_ptr<Strategy> strategy;
  std::vector<Vector> asked;
  bool is_cut = false;  ///< `asked` are the last points; the strategy does not get their values
  Optimum result;

  explicit State(OptimizationSpec given) : spec(std::move(given)), keys(spec.spec) {}

  std::vector<double> point_of(const Vector& u) const {
    std::vector<double> x;
    for (std::size_t i = 0; i < spec.variables.size(); ++i) {
      const Variable& v = spec.variables[i];
      x.push_back(v.from + (v.to - v.from) * u[static_cast<Eigen::Index>(i)]);
    }
    return x;
  }
  Case case_of(const std::vector<double>& x) const {
    Case c = spec.spec.cases[0];
    for (std::size_t i = 0; i < spec.variables.size(); ++i) {
      const Variable& v = spec.variables[i];
      c.coordinates[v.name] = x[i];
      if (!v.is_parameter) {
        c.run.set(v.name == "tolerance" ? "rtol" : v.name, x[i]);
        if (v.name == "tolerance") c.run.set("atol", x[i]);
      }
      for (io::Setting& setting : c.run.settings)
        if (v.is_parameter && setting.name == v.name) setting.value = x[i];
    }
    return c;
  }
  void take(const Vector& u, const std::string& line, std::vector<double>& values, std::vector<Vector>& gradients) {
    Evaluation e;
    e.x = point_of(u);
    const std::optional<JournalLine> read = read_line(std::string_view(line).substr(0, line.find('\n')));
    if (!read) throw InvalidInput("a worker has sent a row that does not belong to this search");
    e.row = row_of(spec.spec, *read);
    for (const Curve& curve : e.row.curves)
      if (curve.name == gradient_name) e.gradient = curve.y;
    e.value = e.row.is_success() ? e.row.number(spec.number) : std::numeric_limits<double>::quiet_NaN();
    const double sign = spec.is_maximum ? -1.0 : 1.0;
    values.push_back(sign * e.value);
    Vector gradient(static_cast<Eigen::Index>(e.gradient.size()));
    for (std::size_t i = 0; i < e.gradient.size(); ++i)
      gradient[static_cast<Eigen::Index>(i)] = sign * e.gradient[i] * (spec.variables[i].to - spec.variables[i].from);
    gradients.push_back(gradient);
    result.evaluations.push_back(std::move(e));
    const Evaluation& last = result.evaluations.back();
    if (std::isfinite(last.value) &&
        (!result.best || sign * last.value < sign * result.evaluations[*result.best].value))
      result.best = result.evaluations.size() - 1;
  }
};

Search::Search(OptimizationSpec spec, const io::Path& folder, bool is_worker)
    : state_(std::make_unique<State>(std::move(spec))) {
  State& s = *state_;
  if (is_worker) return;
  Vector start(static_cast<Eigen::Index>(s.spec.variables.size()));
  for (std::size_t i = 0; i < s.spec.variables.size(); ++i) {
    const Variable& v = s.spec.variables[i];
    start[static_cast<Eigen::Index>(i)] = (v.start - v.from) / (v.to - v.from);
  }
  if (s.spec.search == SearchKind::cma_es)
    s.strategy = std::make_unique<CmaEs>(start, s.spec.population, s.spec.precision, s.spec.seed);
  else
    s.strategy = std::make_unique<ProjectedBfgs>(start, s.spec.precision);
  for (const io::Path& path : journals_in(folder)) {
    const std::string text = io::read_text(path, "journal", std::size_t{4} << 30);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string::npos) break;
      const std::string_view line = std::string_view(text).substr(at, end - at);
      // What the death of a worker has prevented is tried again.
      if (const auto read = read_line(line); read && read->status != worker_lost)
        s.known[std::string(read->key)] = std::string(line) + '\n';
      at = end + 1;
    }
  }
  s.journal = std::make_unique<Journal>(folder);
}

Search::~Search() = default;

const OptimizationSpec& Search::spec() const { return state_->spec; }
const Optimum& Search::result() const { return state_->result; }

std::vector<std::vector<double>> Search::ask() {
  State& s = *state_;
  // Points that are in the journal are not evaluated again.
  while (!s.strategy->is_over() && s.result.evaluations.size() < s.spec.evaluations) {
    const std::size_t room = s.spec.evaluations - s.result.evaluations.size();
    if (s.asked.empty()) {
      s.asked = s.strategy->ask();
      s.is_cut = s.asked.size() > room;
      if (s.is_cut) s.asked.resize(room);
    }
    std::vector<std::vector<double>> open;
    std::vector<std::string> lines;
    for (const Vector& u : s.asked) {
      const std::vector<double> x = s.point_of(u);
      const auto known = s.known.find(s.keys.of(s.case_of(x)));
      if (known == s.known.end())
        open.push_back(x);
      else
        lines.push_back(known->second);
    }
    if (!open.empty()) return open;
    std::vector<double> values;
    std::vector<Vector> gradients;
    for (std::size_t i = 0; i < s.asked.size(); ++i) s.take(s.asked[i], lines[i], values, gradients);
    if (!s.is_cut) s.strategy->tell(s.asked, values, gradients);
    s.asked.clear();
  }
  s.result.is_found = s.strategy->is_found() && s.result.best;
  s.result.message =
      s.result.is_found ? ""
      : !s.result.best  ? "no run succeeded"
      : s.strategy->is_over()
          ? "the search is stuck: runs near the best one fail or have no derivatives, or it diverges"
          : fmt::format("the precision was not reached after {} evaluations", s.result.evaluations.size());
  return {};
}

std::string Search::evaluate(const std::vector<double>& x, const std::function<bool()>& wants_to_stop) const {
  const State& s = *state_;
  const Case c = s.case_of(x);
  Row row = run_case(s.spec.spec, c, nullptr, wants_to_stop);
  if (row.status == not_run) return {};
  if (s.spec.search == SearchKind::gradient && row.is_success()) {
    try {
      Curve curve;
      curve.name = gradient_name;
      curve.y = gradient_of(s.spec, c, row, wants_to_stop);
      if (wants_to_stop && wants_to_stop()) return {};
      row.curves.push_back(std::move(curve));
    } catch (const InvalidInput& problem) {
      row.status = io::invalid_input;
      row.message = problem.what();
    }
  }
  return line_of(s.spec.spec, 0, s.keys.of(c), row);
}

std::string Search::lost(const std::vector<double>& x, const std::string& message) const {
  Row row;
  row.status = worker_lost;
  row.message = message;
  return line_of(state_->spec.spec, 0, state_->keys.of(state_->case_of(x)), row);
}

void Search::tell(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const std::optional<JournalLine> read = read_line(std::string_view(line).substr(0, line.find('\n')));
    if (!read) throw InvalidInput("a worker has sent a row that does not belong to this search");
    state_->journal->add(line);
    state_->known[std::string(read->key)] = line;
  }
}

Json optimum_json(const Search& search, const std::string& command) {
  const OptimizationSpec& spec = search.spec();
  const Optimum& result = search.result();
  Json evaluations = Json::array(), variables = Json::object(), best_x = Json::array(), best_y = Json::array(),
       columns = Json::array(), rows = Json::array();
  for (const Variable& v : spec.variables) columns.push_back(v.name);
  columns.push_back(spec.number);
  columns.push_back("status");
  double best = spec.is_maximum ? -HUGE_VAL : HUGE_VAL;
  for (std::size_t i = 0; i < result.evaluations.size(); ++i) {
    const Evaluation& e = result.evaluations[i];
    Json cells = Json::array();
    for (const double x : e.x) cells.push_back(x);
    cells.push_back(io::number_or_null(e.value));
    cells.push_back(e.row.status);
    rows.push_back(cells);
    if (std::isfinite(e.value)) best = spec.is_maximum ? std::max(best, e.value) : std::min(best, e.value);
    best_x.push_back(i + 1);
    best_y.push_back(io::number_or_null(best));
  }
  Json optimum;
  if (result.best) {
    const Evaluation& e = result.evaluations[*result.best];
    for (std::size_t i = 0; i < spec.variables.size(); ++i) variables[spec.variables[i].name] = e.x[i];
    optimum = {{"variables", variables}, {"value", e.value}, {"evaluation", *result.best + 1}};
  }
  return {{"format", 1},
          {"title", spec.spec.title},
          {"command", command},
          {"program", fmt::format("kreisel {}", version())},
          {"commit", commit()},
          {"summary",
           {{"status", result.is_found ? "success" : "failed"},
            {"message", result.message},
            {"key", spec.spec.key},
            {"cases", result.evaluations.size()},
            {"optimum", optimum}}},
          {"notes", Json::array()},
          {"plots", Json::array({{{"title", fmt::format("Best {} so far", spec.number)},
                                  {"kind", "line"},
                                  {"note", ""},
                                  {"x_label", "evaluations"},
                                  {"y_label", spec.number},
                                  {"log", false},
                                  {"curves", Json::array({{{"name", spec.number},
                                                           {"x", best_x},
                                                           {"y", best_y},
                                                           {"order", Json()},
                                                           {"marked", Json::array()}}})},
                                  {"slopes", Json::array()}}})},
          {"tables", Json::array({{{"title", "Evaluations"}, {"columns", columns}, {"rows", rows}}})}};
}

void write_optimum(const Search& search, const std::string& command, const io::Path& folder) {
  const OptimizationSpec& spec = search.spec();
  std::string csv;
  for (const Variable& v : spec.variables) csv += csv_cell(v.name) + ",";
  csv += "status";
  const std::vector<std::string> numbers = spec.spec.number_names();
  for (const std::string& name : numbers) csv += "," + csv_cell(name);
  csv += ",message\n";
  for (const Evaluation& e : search.result().evaluations) {
    for (const double x : e.x) csv += fmt::format("{:.17g},", x);
    csv += e.row.status;
    for (const std::string& name : numbers) {
      const double value = e.row.number(name);
      csv += std::isfinite(value) ? fmt::format(",{:.17g}", value) : ",";
    }
    csv += "," + csv_cell(e.row.message) + "\n";
  }
  io::write_atomically(folder / "study.csv", csv);
  io::write_atomically(folder / study_json_name, io::to_text(optimum_json(search, command)));
  io::write_report(io::read_report_data(folder), folder / "report.html");
}

}  // namespace kreisel::study
