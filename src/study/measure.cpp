#include "study/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"

namespace kreisel::study {

namespace {

/// Values below this fraction of the largest one of the run are round-off.
constexpr double vanishing = 1e-12;

constexpr std::string_view of_outputs = "output.";

/// "output.knee'".
bool is_rate(std::string_view quantity) { return quantity.ends_with('\''); }

}  // namespace

std::pair<int, int> output_place(const system::System& system, std::string_view quantity) {
  std::string_view name = quantity.substr(of_outputs.size());
  if (is_rate(quantity)) name.remove_suffix(1);
  std::vector<std::string> known;
  int at = 0;
  for (const system::OutputInfo& info : system.outputs()) {
    if (info.name == name) return {at, info.size()};
    known.push_back(info.name);
    for (int i = 0; i < info.size() && !info.components.empty(); ++i) {
      if (info.column(i) == name) return {at + i, 1};
      known.push_back(info.column(i));
    }
    at += info.size();
  }
  throw InvalidInput(known.empty() ? fmt::format("'{}' is measured, but the model has no outputs", quantity)
                                   : unknown_name("output", name, known));
}

const std::vector<QuantityInfo>& quantities() {
  static const std::vector<QuantityInfo> list{
      {"q", "error of q in the embedding: x and the entries of R", true, true},
      {"q-lie", "error of q in the Lie algebra: log(q_n^-1 q(t_n))", true},
      {"v", "error of the velocity", true, true},
      {"lambda", "error of the multipliers", true, true},
      {"q-value", "q in the embedding"},
      {"v-value", "velocity"},
      {"lambda-value", "multipliers"},
      {"eta", "multipliers of the stabilized index-2 form"},
      {"position-residual", "Phi(q)"},
      {"velocity-residual", "B v + Phi_t"},
      {"energy", "energy minus its initial value"},
      {"step-size", "step that led to the point"},
      {"order", "order of that step"},
  };
  return list;
}

const QuantityInfo& find_quantity(std::string_view name) {
  static const QuantityInfo output{"output.NAME", "an output or a state of the model; with ' appended, its rate"};
  if (name.starts_with(of_outputs) && name.size() > of_outputs.size()) return output;
  return find_named(quantities(), "quantity", name);
}

Tracks::Tracks(const models::Model& model, const std::vector<std::string>& outputs, int points, double t_end)
    : model_(model), outputs_(model.system->result_layout()) {
  const system::System& system = *model.system;
  for (const std::string& name : outputs) {
    const auto [begin, count] = output_place(system, std::string(of_outputs) + name);
    int at = 0;
    for (const system::OutputInfo& info : system.outputs())
      for (int i = 0; i < info.size(); ++i, ++at)
        if (at >= begin && at < begin + count) {
          places_.push_back(at);
          curves_.push_back({});
          curves_.back().name = count == 1 ? name : info.column(i);
        }
  }
  for (int i = 0; i < points; ++i)
    times_.push_back(i + 1 == points ? t_end : model.start.t0 + (t_end - model.start.t0) * i / (points - 1));
}

void Tracks::take(const Sample& s) {
  const system::System& system = *model_.system;
  values_.resize(system.output_size());
  rates_.resize(system.output_size());
  outputs_.evaluate(*s.system, s.motion, s.lambda, values_);
  outputs_.evaluate(*s.system, s.motion, s.lambda, rates_, true);
  const double t = s.motion.t, h = t - t_before_;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const int i = places_[k];
    for (std::size_t n = curves_[k].t.size(); n < times_.size() && times_[n] <= t; ++n) {
      double y = values_[i];
      if (has_before_ && h > 0.0 && times_[n] < t) {
        const double x = (times_[n] - t_before_) / h, a = values_before_[i], b = values_[i];
        y = a + x * (b - a);
        const double da = h * rates_before_[i] - (b - a), db = h * rates_[i] - (b - a);
        if (std::isfinite(da + db)) y += x * (1.0 - x) * ((1.0 - x) * da - x * db);
      }
      curves_[k].t.push_back(times_[n]);
      curves_[k].y.push_back(y);
    }
  }
  std::swap(values_, values_before_);
  std::swap(rates_, rates_before_);
  t_before_ = t;
  has_before_ = true;
}

std::vector<Curve> Tracks::curves() const { return curves_; }

Meter::Meter(const models::Model& model, const std::vector<Measure>& measures, const std::vector<Series>& series,
             int order, ExactSolution* exact)
    : model_(model),
      measures_(measures),
      series_(series),
      order_(order),
      exact_(exact),
      values_(measures.size()),
      curves_(series.size()),
      outputs_(model.system->result_layout()) {
  for (const Measure& measure : measures)
    if (measure.quantity.starts_with(of_outputs)) output_place(*model.system, measure.quantity);
  for (const Series& one : series)
    if (one.quantity.starts_with(of_outputs)) output_place(*model.system, one.quantity);
}

void Meter::evaluate(const std::string& quantity, const Sample& s, Vector& out, double& exact_size,
                     double& computed_size) {
  const system::System& system = *model_.system;
  const lie::Space& space = system.space();
  exact_size = computed_size = std::numeric_limits<double>::quiet_NaN();
  const auto embedded = [&](const Vector& q, Vector& to) {
    to.resize(space.embedding_size());
    space.embed(q, to);
  };
  const auto exact = [&]() -> const lie::Motion& { return exact_->at(s.motion.t); };
  if (quantity.starts_with(of_outputs)) {
    const auto [at, count] = output_place(system, quantity);
    a_.resize(system.output_size());
    outputs_.evaluate(*s.system, s.motion, s.lambda, a_, is_rate(quantity));
    out = a_.segment(at, count);
  } else if (quantity == "q") {
    embedded(s.motion.q, a_);
    embedded(exact().q, b_);
    out = a_ - b_;
    exact_size = b_.norm();
    computed_size = a_.norm();
  } else if (quantity == "q-lie") {
    out.resize(space.nv());
    space.difference(s.motion.q, exact().q, out);
  } else if (quantity == "v") {
    const Vector& v = exact().v;
    out = s.motion.v - v;
    exact_size = v.norm();
    computed_size = s.motion.v.norm();
  } else if (quantity == "lambda") {
    exact();
    out = s.lambda - exact_->lambda();
    exact_size = exact_->lambda().norm();
    computed_size = s.lambda.norm();
  } else if (quantity == "q-value") {
    embedded(s.motion.q, out);
  } else if (quantity == "v-value") {
    out = s.motion.v;
  } else if (quantity == "lambda-value") {
    out = s.lambda;
  } else if (quantity == "eta") {
    out = s.eta;
  } else if (quantity == "position-residual") {
    out = s.gap;
  } else if (quantity == "velocity-residual") {
    out = s.rate;
  } else if (quantity == "energy") {
    out.setConstant(1, s.system->energy(s.motion) - energy_initial_);
  } else if (quantity == "step-size") {
    out.setConstant(1, s.h);
  } else {
    out.setConstant(1, s.order);
  }
}

double Meter::largest_size(std::string_view quantity) const {
  const Reference& r = exact_->reference();
  return quantity == "q" ? r.q_size : quantity == "v" ? r.v_size : r.lambda_size;
}

bool Meter::counts(const Measure& m, const Sample& s) const {
  switch (m.span) {
    case Span::end:
    case Span::max:
    case Span::min:
      return true;
    case Span::first:
      return s.number <= 3 * order_ + 3;
    case Span::window:
      return s.motion.t >= m.from && s.motion.t <= m.to;
    case Span::local:
      return !s.is_start && !has_local_;
  }
  return false;
}

bool Meter::has_later_points(const Measure& m, const Sample& s) const {
  switch (m.span) {
    case Span::end:
    case Span::max:
    case Span::min:
      return true;
    case Span::first:
      return s.number < 3 * order_ + 3;
    case Span::window:
      return s.motion.t <= m.to;
    case Span::local:
      return !has_local_;
  }
  return true;
}

void Meter::take(const Sample& s) {
  if (is_done_) return;
  if (s.number == 0) energy_initial_ = s.system->energy(s.motion);
  double exact_size = 0.0, computed_size = 0.0;
  const auto reduced = [&](int component, bool is_largest) {
    if (component > 0) return component <= out_.size() ? out_[component - 1] : std::numeric_limits<double>::quiet_NaN();
    if (out_.size() == 1) return out_[0];
    return is_largest && out_.size() > 0 ? out_.lpNorm<Eigen::Infinity>() : out_.norm();
  };
  for (std::size_t i = 0; i < measures_.size(); ++i) {
    const Measure& m = measures_[i];
    if (!counts(m, s)) continue;
    evaluate(m.quantity, s, out_, exact_size, computed_size);
    double value = reduced(m.component, m.is_largest);
    if (!m.is_signed) value = std::abs(value);
    if (m.scale != Scale::absolute) {
      const double size = m.scale == Scale::by_exact ? exact_size : computed_size;
      // Where the value passes through zero, as multipliers do, there is no relative error.
      const bool vanishes = size <= vanishing * largest_size(m.quantity);
      if (vanishes && m.span != Span::end && m.span != Span::local) continue;
      value = vanishes ? std::numeric_limits<double>::quiet_NaN() : value / size;
    }
    // A NaN must not be hidden by smaller values.
    const bool is_beyond = m.span == Span::min ? !(value >= values_[i].value) : !(value <= values_[i].value);
    const bool is_larger = is_beyond && !std::isnan(values_[i].value);
    if (m.span == Span::end || m.span == Span::local || values_[i].at_step < 0 || is_larger)
      values_[i] = {value, s.number};
  }
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const Series& wanted = series_[i];
    if (s.motion.t < wanted.from || s.motion.t > wanted.to) continue;
    evaluate(wanted.quantity, s, out_, exact_size, computed_size);
    curves_[i].t.push_back(s.motion.t);
    curves_[i].y.push_back(reduced(wanted.component, false));
  }
  has_local_ = has_local_ || !s.is_start;
  is_done_ = series_.empty() && !measures_.empty() &&
             std::none_of(measures_.begin(), measures_.end(), [&](const Measure& m) { return has_later_points(m, s); });
}

}  // namespace kreisel::study
