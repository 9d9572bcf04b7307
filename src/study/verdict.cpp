#include "study/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace kreisel::study {
namespace {

std::string brief(double value) { return std::isfinite(value) ? fmt::format("{:.5g}", value) : "none"; }

std::string words_of(const Json& where) {
  std::vector<std::string> words;
  for (const auto& [key, value] : where.items())
    words.push_back(key == "label" && value.is_string()
                        ? value.get<std::string>()
                        : fmt::format("{}={}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// "1.98", or "1.97 to 2.02 (6 curves)".
class Spread {
 public:
  void see(double value) {
    ++count_;
    has_gap_ = has_gap_ || !std::isfinite(value);
    if (!std::isfinite(value)) return;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  std::string text(const char* what, const char* format) const {
    if (count_ == 0) return "nothing to measure";
    if (low_ > high_) return "failed";
    std::string out = fmt::format(fmt::runtime(format), low_);
    if (fmt::format(fmt::runtime(format), high_) != out) out += " to " + fmt::format(fmt::runtime(format), high_);
    if (count_ > 1) out += fmt::format(" ({} {})", count_, what);
    return has_gap_ ? out + ", some failed" : out;
  }
  int count() const { return count_; }

 private:
  int count_ = 0;
  bool has_gap_ = false;
  double low_ = HUGE_VAL, high_ = -HUGE_VAL;
};

class Judge {
 public:
  Judge(const Expectation& e, const Spec& spec, const std::vector<Row>& rows) : e_(e), spec_(spec), rows_(rows) {}

  Verdict verdict() {
    out_.quantity = e_.of;
    if (const std::string words = words_of(e_.where); !words.empty()) out_.quantity += ", " + words;
    out_.of = e_.of;
    out_.says = e_.says.empty() ? spec_.says : e_.says;
    out_.explanation = e_.differs;
    out_.note = e_.note;
    out_.source = e_.source;
    switch (e_.kind) {
      case ExpectationKind::order:
        order();
        break;
      case ExpectationKind::value:
        if (!e_.values.empty()) return list(), out_;
        values([&](double y) { return is_near(y, e_.value); });
        out_.expected = fmt::format("{} {}", brief(e_.value), nearness()) +
                        (e_.at_step >= 0 ? fmt::format(", at step {}", e_.at_step) : "");
        break;
      case ExpectationKind::at_most:
        values([&](double y) { return y <= e_.value; });
        out_.expected = "at most " + brief(e_.value);
        break;
      case ExpectationKind::at_least:
        values([&](double y) { return y >= e_.value; });
        out_.expected = "at least " + brief(e_.value);
        break;
      case ExpectationKind::ranking:
        ranking();
        break;
      case ExpectationKind::same:
        same();
        break;
      case ExpectationKind::ratio:
        ratio();
        break;
      case ExpectationKind::unstable:
        unstable();
        break;
    }
    return out_;
  }

 private:
  /// Within the tolerance or the factor.
  bool is_near(double y, double wanted) const {
    if (e_.factor > 0.0) return y / wanted >= 1.0 / e_.factor && y / wanted <= e_.factor;
    return std::abs(y - wanted) <= e_.tolerance * std::abs(wanted);
  }
  std::string nearness() const {
    return e_.factor > 0.0 ? fmt::format("within a factor of {:g}", e_.factor)
                           : fmt::format("within {:g} %", 100.0 * e_.tolerance);
  }

  bool counts(std::size_t i, const Json& where) const {
    constexpr double slack = 1e-6;
    if (!matches(where, spec_.cases[i])) return false;
    if (std::isinf(e_.from) && std::isinf(e_.to)) return true;
    const double x = abscissa(spec_.x, spec_.cases[i], rows_[i]);
    return x >= e_.from * (1.0 - slack) && x <= e_.to * (1.0 + slack);
  }
  double number(std::size_t i) const {
    return rows_[i].is_success() ? rows_[i].number(e_.of) / e_.per : std::numeric_limits<double>::quiet_NaN();
  }

  void order() {
    out_.quantity = "order of " + out_.quantity;
    out_.expected = fmt::format("{:g} ± {:g}", e_.value, e_.tolerance);
    Spread spread;
    bool is_met = true;
    for (const ObservedCurve& curve : observe(spec_, rows_, e_.of, e_.where)) {
      const auto observed = slope(curve, e_.from, e_.to);
      spread.see(observed.value_or(HUGE_VAL));
      is_met = is_met && observed && std::abs(*observed - e_.value) <= e_.tolerance;
    }
    out_.measured = spread.text("curves", "{:.2f}");
    out_.is_met = is_met && spread.count() > 0;
  }

  template <class Test>
  void values(const Test& test) {
    Spread spread;
    bool is_met = true;
    std::string places;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!counts(i, e_.where)) continue;
      spread.see(number(i));
      is_met = is_met && test(number(i));
      if (e_.at_step < 0) continue;
      const auto at = rows_[i].numbers.find(e_.of);
      const long step = at == rows_[i].numbers.end() ? -1 : at->second.at_step;
      is_met = is_met && step == e_.at_step;
      places = fmt::format(" at step {}", step);
    }
    if (e_.per != 1.0) out_.quantity += fmt::format(" / {:.6g}", e_.per);
    out_.measured = spread.text("runs", "{:.5g}") + places;
    out_.is_met = is_met && spread.count() > 0;
  }

  void list() {
    double worst = 0.0, logarithms = 0.0;
    std::size_t k = 0;
    bool is_met = true;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!matches(e_.where, spec_.cases[i])) continue;
      const double wanted = e_.values[k++], ratio = number(i) / wanted;
      logarithms += std::log(ratio);
      const double deviation = e_.factor > 0.0 ? std::max(ratio, 1.0 / ratio) : std::abs(ratio - 1.0);
      is_met = is_met && is_near(number(i), wanted);
      worst = std::max(worst, std::isfinite(deviation) ? deviation : HUGE_VAL);
    }
    if (e_.per != 1.0) out_.quantity += fmt::format(" / {:.6g}", e_.per);
    if (e_.on_average > 0.0 && k > 0) {
      const double mean = std::exp(logarithms / static_cast<double>(k));
      out_.expected = fmt::format("{} numbers, on average within a factor of {:g}", k, e_.on_average);
      out_.measured = fmt::format("{:.3g} times the expected ones on average", mean);
      out_.is_met = mean >= 1.0 / e_.on_average && mean <= e_.on_average;
      return;
    }
    out_.expected = fmt::format("{} numbers {}", k, nearness());
    out_.measured = e_.factor > 0.0 ? fmt::format("largest factor {:.3g}", worst)
                                    : fmt::format("largest deviation {:.2g} %", 100.0 * worst);
    out_.is_met = is_met && k > 0;
  }

  /// The rows of a label by abscissa.
  std::vector<std::pair<double, double>> points_of(const std::string& label) const {
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (spec_.cases[i].label == label && counts(i, e_.where))
        points.emplace_back(abscissa(e_.x.empty() ? spec_.x : e_.x, spec_.cases[i], rows_[i]), number(i));
    return points;
  }

  /// The curve at x, on straight lines in the logarithms; nothing outside of it.
  static std::optional<double> between(std::vector<std::pair<double, double>> points, double x) {
    std::sort(points.begin(), points.end());
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const auto [x0, y0] = points[i];
      const auto [x1, y1] = points[i + 1];
      if (!(x >= x0 && x <= x1 && x0 > 0.0 && x1 > x0 && y0 > 0.0 && y1 > 0.0)) continue;
      return y0 * std::pow(y1 / y0, std::log(x / x0) / std::log(x1 / x0));
    }
    return std::nullopt;
  }

  void ranking() {
    std::vector<std::string> groups;
    for (const auto& group : e_.ranking) groups.push_back(fmt::format("{}", fmt::join(group, ", ")));
    out_.quantity = "ranking by " + out_.quantity;
    out_.expected = fmt::format("{}", fmt::join(groups, " < "));
    if (!e_.x.empty()) out_.quantity += " at equal " + e_.x;
    if (e_.tolerance > 0.0) out_.expected += fmt::format(" up to {:g} %", 100.0 * e_.tolerance);
    int compared = 0;
    std::vector<std::string> against;
    double closest = HUGE_VAL;
    const auto compare = [&](const std::string& small, double a, const std::string& large, double b, double x) {
      ++compared;
      closest = std::min(closest, b / a);
      if (!(a < b * (1.0 + e_.tolerance)))
        against.push_back(fmt::format("{} {} against {} {} at {:.4g}", small, brief(a), large, brief(b), x));
    };
    for (std::size_t g = 0; g + 1 < e_.ranking.size(); ++g)
      for (const std::string& small : e_.ranking[g])
        for (const std::string& large : e_.ranking[g + 1]) {
          const auto first = points_of(small), second = points_of(large);
          const int before = compared;
          for (const auto& [x, a] : first)
            for (const auto& [z, b] : second)
              if (std::abs(x - z) <= 1e-9 * std::abs(x)) compare(small, a, large, b, x);
          if (compared > before) continue;
          for (const auto& [x, a] : first)
            if (const auto b = between(second, x)) compare(small, a, large, *b, x);
        }
    out_.measured = !against.empty()
                        ? fmt::format("{} of {} comparisons fail, first {}", against.size(), compared, against.front())
                        : fmt::format("holds at all {} points, factors from {:.3g}", compared, closest);
    out_.is_met = compared > 0 && against.empty();
  }

  void same() {
    double worst = 0.0;
    int compared = 0;
    bool is_met = true;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::size_t j = i + 1; j < rows_.size(); ++j) {
        if (!counts(i, e_.where) || !counts(j, e_.where)) continue;
        const double x = abscissa(spec_.x, spec_.cases[i], rows_[i]), z = abscissa(spec_.x, spec_.cases[j], rows_[j]);
        if (std::abs(x - z) > 1e-9 * std::abs(x)) continue;
        ++compared;
        const double difference = std::abs(number(i) - number(j)) / std::max(std::abs(number(i)), std::abs(number(j)));
        worst = std::max(worst, difference);
        is_met = is_met && difference <= e_.value;
      }
    out_.expected = fmt::format("equal within {:g}", e_.value);
    out_.measured = fmt::format("largest relative difference {:.2g} ({} pairs)", worst, compared);
    out_.is_met = is_met && compared > 0;
  }

  void ratio() {
    out_.quantity = fmt::format("{}: {} over {}", e_.of, words_of(e_.where), words_of(e_.over));
    out_.expected = fmt::format("{:g} within {:g} %", e_.value, 100.0 * e_.tolerance);
    Spread spread;
    bool is_met = true;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::size_t j = 0; j < rows_.size(); ++j) {
        if (!counts(i, e_.where) || !counts(j, e_.over)) continue;
        const double x = abscissa(spec_.x, spec_.cases[i], rows_[i]), z = abscissa(spec_.x, spec_.cases[j], rows_[j]);
        if (std::abs(x - z) > 1e-9 * std::abs(x)) continue;
        const double value = number(i) / number(j);
        spread.see(value);
        is_met = is_met && std::abs(value - e_.value) <= e_.tolerance * std::abs(e_.value);
      }
    out_.measured = spread.text("pairs", "{:.3g}");
    out_.is_met = is_met && spread.count() > 0;
  }

  void unstable() {
    out_.expected = "fails or exceeds " + brief(e_.value);
    int count = 0, failed = 0;
    double largest = 0.0;
    bool is_met = true;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!counts(i, e_.where)) continue;
      ++count;
      if (!rows_[i].is_success()) {
        ++failed;
        continue;
      }
      largest = std::max(largest, number(i));
      is_met = is_met && !(number(i) <= e_.value);
    }
    out_.measured = fmt::format("{} of {} runs fail{}", failed, count,
                                failed < count ? ", the others reach " + brief(largest) : "");
    out_.is_met = is_met && count > 0;
  }

  const Expectation& e_;
  const Spec& spec_;
  const std::vector<Row>& rows_;
  Verdict out_;
};

}  // namespace

Outcome Verdict::outcome() const {
  return !is_met ? Outcome::missed : explanation.empty() ? Outcome::met : Outcome::differs;
}

std::string Verdict::word() const {
  switch (outcome()) {
    case Outcome::missed:
      return "missed";
    case Outcome::differs:
      return "differs, explained";
    case Outcome::met:
      break;
  }
  return fmt::format("as {}", name_of(source));
}

Outcome outcome_of(const std::vector<Verdict>& verdicts) {
  Outcome worst = Outcome::met;
  for (const Verdict& v : verdicts) worst = std::max(worst, v.outcome());
  return worst;
}

std::string word_of(const std::vector<Verdict>& verdicts) {
  Verdict all;
  all.is_met = true;
  for (const Verdict& v : verdicts) {
    if (!v.is_met) all.is_met = false;
    if (!v.explanation.empty()) all.explanation = v.explanation;
    if (all.source != Origin::printed && v.source != Origin::expected) all.source = v.source;
  }
  return all.word();
}

std::string_view name_of(Origin source) {
  return source == Origin::printed ? "printed" : source == Origin::computed ? "computed" : "expected";
}

Json to_json(const Verdict& v) {
  return {
      {"quantity", v.quantity},      {"paper", v.says},     {"expected", v.expected},       {"measured", v.measured},
      {"source", name_of(v.source)}, {"outcome", v.word()}, {"explanation", v.explanation}, {"note", v.note}};
}

Verdict judge(const Expectation& expectation, const Spec& spec, const std::vector<Row>& rows) {
  return Judge(expectation, spec, rows).verdict();
}

}  // namespace kreisel::study
