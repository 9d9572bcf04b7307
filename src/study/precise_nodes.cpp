#include "precise_nodes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "system/precise.hpp"

namespace kreisel::study {
namespace {

/// Steps of the finest midpoint rule are a sixteenth of a step: with these numbers it resolves what DOP853 does.
constexpr long first_count = 125, last_count = 8000;
/// Relative difference of two resolutions; a double has 1.1e-16.
constexpr double agreement = 1e-18;

using Numbers = std::vector<Quad>;

/// y = (q, v) as one vector.
class Extrapolation {
 public:
  Extrapolation(const system::System& system, const system::Precise& equations)
      : equations_(equations), nq_(system.space().nq()), nv_(system.space().nv()), lambda_(system.pattern().rows()) {
    for (Numbers* part : {&rate_, &before_, &now_, &next_}) part->resize(nq_ + nv_);
    for (Numbers& row : table_) row.resize(nq_ + nv_);
  }

  bool rate(const Quad& t, const Numbers& y, Numbers& out) {
    return equations_.rates(t, y.data(), y.data() + nq_, out.data(), out.data() + nq_, lambda_.data());
  }
  const Numbers& lambda() const { return lambda_; }

  bool step(const Quad& t, const Quad& h, Numbers& y) {
    for (int j = 0; j < columns; ++j) {
      if (!midpoint(t, h, 2 * (j + 1), y, next_)) return false;
      // Aitken and Neville in h²; the row below is overwritten from its start.
      for (int k = 0; k < j; ++k) {
        const Quad weight = weight_of(j + 1, j - k);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const Quad finer = next_[i] + weight * (next_[i] - table_[k][i]);
          table_[k][i] = next_[i];
          next_[i] = finer;
        }
      }
      table_[j] = next_;
    }
    y = next_;
    return true;
  }

 private:
  static constexpr int columns = 8;

  /// 1/((a/b)² - 1).
  static Quad weight_of(int a, int b) {
    return Quad(static_cast<double>(b * b)) / Quad(static_cast<double>(a * a - b * b));
  }

  /// Gragg's smoothed midpoint rule with n steps of h/n.
  bool midpoint(const Quad& t, const Quad& h, int n, const Numbers& y, Numbers& out) {
    const Quad small = h / Quad(static_cast<double>(n)), twice = small + small;
    if (!rate(t, y, rate_)) return false;
    before_ = y;
    for (std::size_t i = 0; i < y.size(); ++i) now_[i] = y[i] + small * rate_[i];
    for (int m = 1; m < n; ++m) {
      if (!rate(t + Quad(static_cast<double>(m)) * small, now_, rate_)) return false;
      for (std::size_t i = 0; i < y.size(); ++i) before_[i] += twice * rate_[i];
      std::swap(before_, now_);
    }
    if (!rate(t + h, now_, rate_)) return false;
    for (std::size_t i = 0; i < y.size(); ++i) out[i] = 0.5 * (now_[i] + before_[i] + small * rate_[i]);
    return true;
  }

  const system::Precise& equations_;
  std::size_t nq_, nv_;
  Numbers lambda_, rate_, before_, now_, next_;
  std::array<Numbers, columns> table_;
};

/// One resolution: y at the nodes.
bool integrate(Extrapolation& method, const Numbers& start, double t0, double t_end, long count,
               const ReferenceOptions& options, std::vector<Numbers>& out) {
  out.assign(1, start);
  Numbers y = start;
  const Quad h = (Quad(t_end) - Quad(t0)) / Quad(static_cast<double>(count));
  for (long n = 0; n < count; ++n) {
    if (options.is_stopped()) return false;
    if (!method.step(Quad(t0) + Quad(static_cast<double>(n)) * h, h, y)) return false;
    if (!std::all_of(y.begin(), y.end(), [](const Quad& x) { return std::isfinite(static_cast<double>(x)); }))
      return false;
    out.push_back(y);
  }
  return true;
}

/// Largest difference of q and of v at common nodes, relative to the largest q and v.
double difference(const std::vector<Numbers>& coarse, const std::vector<Numbers>& fine, std::size_t nq) {
  double q = 0.0, v = 0.0, q_size = 1.0, v_size = 1.0;
  for (std::size_t n = 0; n < coarse.size(); ++n)
    for (std::size_t i = 0; i < coarse[n].size(); ++i) {
      const double apart = std::abs(static_cast<double>(coarse[n][i] - fine[2 * n][i])),
                   size = std::abs(static_cast<double>(fine[2 * n][i]));
      (i < nq ? q : v) = std::max(i < nq ? q : v, apart);
      (i < nq ? q_size : v_size) = std::max(i < nq ? q_size : v_size, size);
    }
  return std::max(q / q_size, v / v_size);
}

}  // namespace

std::optional<PreciseNodes> precise_nodes(const system::System& system, const lie::Motion& start, double t_end,
                                          const ReferenceOptions& options) {
  const auto* equations = dynamic_cast<const system::Precise*>(&system);
  if (equations == nullptr) return std::nullopt;
  Extrapolation method(system, *equations);
  Numbers y;
  for (const double x : start.q) y.emplace_back(x);
  for (const double x : start.v) y.emplace_back(x);
  const auto nq = static_cast<std::size_t>(system.space().nq());
  std::vector<Numbers> coarse, fine;
  bool has_coarse = false;
  for (long count = first_count; count <= last_count; count *= 2) {
    const bool has_fine = integrate(method, y, start.t, t_end, count, options, fine);
    if (!has_fine && options.is_stopped()) return std::nullopt;
    if (has_coarse && has_fine && difference(coarse, fine, nq) <= agreement) {
      PreciseNodes out;
      out.count = count;
      Numbers rate(y.size());
      for (long n = 0; n <= count; ++n) {
        const Quad t = Quad(start.t) +
                       (Quad(t_end) - Quad(start.t)) * Quad(static_cast<double>(n)) / Quad(static_cast<double>(count));
        if (!method.rate(t, fine[n], rate)) return std::nullopt;
        const auto put = [&](const Quad& x) { out.points.push_back(static_cast<double>(x)); };
        std::for_each(fine[n].begin(), fine[n].end(), put);
        std::for_each(rate.begin() + static_cast<long>(nq), rate.end(), put);
        std::for_each(method.lambda().begin(), method.lambda().end(), put);
      }
      return out;
    }
    std::swap(coarse, fine);
    has_coarse = has_fine;
  }
  return std::nullopt;
}

}  // namespace kreisel::study
