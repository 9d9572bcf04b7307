#include "kreisel/study/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/base/error.hpp"
#include "kreisel/run/start_up.hpp"
#include "reference_cache.hpp"

namespace kreisel::study {
namespace {

/// A multiple of it and of powers of two: steps of 1/1000, 1/1600, 1/2000, ... of the interval meet stored points.
constexpr long first_steps = 500;
constexpr long stop_interval = 256;  ///< steps between two looks at wants_to_stop
constexpr long max_stored_points = 65'536;
/// Below this a difference that doubling the steps does not reduce fourfold (order 8 promises 256) is round-off.
constexpr double noise_level = 1e-8;

struct Resolution {
  long steps = 0;
  std::vector<double> points;  ///< every step
};

int stride_of(const system::System& system) {
  return system.space().nq() + 2 * system.space().nv() + system.pattern().rows();
}

bool integrate(const models::Model& model, double t_end, long steps, const ReferenceOptions& options, Resolution& out) {
  const system::System& system = *model.system;
  Counters counters;
  run::Rkmk rkmk(system, coeff::dop853(), counters);
  run::StartUp start_up(system, counters, "automatic");
  method::Entry now = method::History::blank(system.space(), {system.pattern().rows(), system.pattern().position_rows(), 0});
  method::Entry next = now;
  if (!start_up.place(model.start.t0, model.start.q0, model.start.v0, now)) return false;
  out.steps = steps;
  out.points.clear();
  out.points.reserve(static_cast<std::size_t>(steps + 1) * stride_of(system));
  const auto keep = [&](const Vector& part) { out.points.insert(out.points.end(), part.data(), part.data() + part.size()); };
  const double h = (t_end - model.start.t0) / static_cast<double>(steps);
  for (long n = 0;; ++n) {
    keep(now.motion.q);
    keep(now.motion.v);
    keep(now.motion.a);
    keep(now.lambda);
    if (n == steps) return true;
    if (n % stop_interval == 0 && options.wants_to_stop && options.wants_to_stop()) return false;
    next.lambda = now.lambda;
    if (!rkmk.step(now.motion, h, next.motion, next.lambda, next.omega)) return false;
    std::swap(now, next);
    now.motion.t = model.start.t0 + static_cast<double>(n + 1) * h;
  }
}

/// Fills accuracy and sizes from a resolution and one with twice the steps; returns the relative difference.
double compare(const system::System& system, const Resolution& coarse, const Resolution& fine, Reference& out) {
  const int stride = stride_of(system), nq = system.space().nq(), nv = system.space().nv(), rows = system.pattern().rows();
  Vector a(system.space().embedding_size()), b(system.space().embedding_size());
  out.accuracy = {};
  out.q_size = out.v_size = out.lambda_size = 0.0;
  for (long n = 0; n <= coarse.steps; ++n) {
    const Eigen::Map<const Vector> x(coarse.points.data() + n * stride, stride), y(fine.points.data() + 2 * n * stride, stride);
    system.space().embed(x.head(nq), a);
    system.space().embed(y.head(nq), b);
    out.q_size = std::max(out.q_size, b.norm());
    out.v_size = std::max(out.v_size, y.segment(nq, nv).norm());
    out.lambda_size = std::max(out.lambda_size, y.tail(rows).norm());
    out.accuracy.q = std::max(out.accuracy.q, (a - b).norm());
    out.accuracy.v = std::max(out.accuracy.v, (x - y).segment(nq, nv).norm());
    out.accuracy.lambda = std::max(out.accuracy.lambda, (x - y).tail(rows).norm());
    if (!std::isfinite(a.sum() + b.sum())) return HUGE_VAL;
  }
  return out.accuracy.q / (1.0 + out.q_size) + out.accuracy.v / (1.0 + out.v_size);
}

void store(const Resolution& fine, int stride, Reference& out) {
  out.stride = stride;
  out.steps = fine.steps;
  out.every = 1;
  while (fine.steps / out.every > max_stored_points && fine.steps % (2 * out.every) == 0) out.every *= 2;
  out.points.clear();
  for (long n = 0; n <= fine.steps; n += out.every)
    out.points.insert(out.points.end(), fine.points.begin() + n * stride, fine.points.begin() + (n + 1) * stride);
}

std::shared_ptr<const Reference> compute(const models::Model& model, double t_end, const ReferenceOptions& options) {
  auto best = std::make_shared<Reference>();
  Resolution coarse, fine;
  bool has_coarse = false;
  double smallest = HUGE_VAL;
  for (long steps = first_steps; steps <= options.max_steps; steps *= 2) {
    const bool has_fine = integrate(model, t_end, steps, options, fine);
    if (!has_fine && options.wants_to_stop && options.wants_to_stop()) return nullptr;
    if (has_fine && has_coarse) {
      Reference pair;
      pair.t0 = model.start.t0;
      pair.t_end = t_end;
      const double difference = compare(*model.system, coarse, fine, pair), before = smallest;
      if (difference < smallest) {  // more steps also mean more round-off
        smallest = difference;
        store(fine, stride_of(*model.system), pair);
        *best = std::move(pair);
      }
      if (difference <= options.tolerance || (difference < noise_level && difference > 0.25 * before)) break;
    }
    std::swap(coarse, fine);
    has_coarse = has_fine;
  }
  if (!std::isfinite(smallest))
    throw InvalidInput(fmt::format("the reference solution of '{}' up to t = {:g} breaks down: DOP853 with up to {} steps does not reach "
                                   "the end. Shorten t_end, or measure only what needs no reference (residuals, energy, counts)",
                                   model.name, t_end, options.max_steps));
  return best;
}

}  // namespace

std::shared_ptr<const Reference> make_reference(const models::Model& model, double t_end, const ReferenceOptions& options) {
  if (!model.system->events().empty())
    throw InvalidInput(fmt::format("'{}' has events, which the reference solution does not follow; measure only what needs no reference "
                                   "(residuals, energy, counts)",
                                   model.name));
  const std::string key = reference_key(model, t_end, options);
  if (auto cached = read_cached(options.cache, key)) return cached;
  auto computed = compute(model, t_end, options);
  if (computed != nullptr) write_cached(options.cache, key, *computed);
  return computed;
}

std::string reference_key(const models::Model& model, double t_end, const ReferenceOptions& options) {
  const system::System& system = *model.system;
  std::string text = fmt::format("reference 2; {:a} {:a} {:a} {}", model.start.t0, t_end, options.tolerance, options.max_steps);
  const auto add = [&](const Vector& part) {
    text += ";";
    for (const double x : part) text += fmt::format(" {:a}", x);
  };
  add(model.start.q0);
  add(model.start.v0);
  lie::Motion probe(system.space());
  Vector x(system.space().nv()), lambda(system.pattern().rows()), curvature(system.pattern().rows());
  system::Residual residual(system.space().nv(), system.pattern().position_rows(), system.pattern().rows());
  for (int i = 1; i <= 3; ++i) {
    for (Eigen::Index j = 0; j < x.size(); ++j) x[j] = 0.1 * std::sin(i + 1.7 * static_cast<double>(j));
    for (Eigen::Index j = 0; j < lambda.size(); ++j) lambda[j] = std::cos(i + 2.3 * static_cast<double>(j));
    system.space().move(model.start.q0, x, probe.q);
    probe.t = model.start.t0 + (t_end - model.start.t0) * i / 4.0;
    probe.v = model.start.v0 + x;
    probe.a = 10.0 * x;
    system.residual(probe, lambda, residual);
    system.acceleration_gap(probe, curvature);
    add(residual.force);
    add(residual.gap);
    add(residual.rate);
    add(curvature);
  }
  return text;
}

ExactSolution::ExactSolution(const models::Model& model, std::shared_ptr<const Reference> reference)
    : reference_(std::move(reference)),
      rkmk_(*model.system, coeff::dop853(), counters_),
      now_(model.system->space()),
      next_(model.system->space()),
      lambda_(Vector::Zero(model.system->pattern().rows())),
      omega_(Vector::Zero(model.system->space().nv())) {}

void ExactSolution::load(long stored) {
  const double* data = reference_->points.data() + stored * reference_->stride;
  const auto take = [&](Vector& part) {
    part = Eigen::Map<const Vector>(data, part.size());
    data += part.size();
  };
  take(now_.q);
  take(now_.v);
  take(now_.a);
  take(lambda_);
  now_.t = reference_->t0 + static_cast<double>(stored * reference_->every) * reference_->step();
}

const lie::Motion& ExactSolution::at(double t) {
  if (t == asked_) return now_;
  const Reference& r = *reference_;
  const double h = r.step(), spacing = h * static_cast<double>(r.every);
  const double round_off = 1e-13 * std::max({std::abs(t), std::abs(r.t0), std::abs(r.t_end)});
  load(std::clamp(static_cast<long>((t - r.t0) / spacing + 1e-6), 0L, r.steps / r.every));
  asked_ = t;
  const double rest = t - now_.t;
  if (std::abs(rest) <= round_off) return now_;
  const int count = std::max(1, static_cast<int>(std::ceil(std::abs(rest) / h * (1.0 - 1e-9))));
  for (int i = 0; i < count; ++i) {
    if (!rkmk_.step(now_, rest / count, next_, lambda_, omega_))
      throw InvalidInput(fmt::format("the reference solution breaks down near t = {:g}", t));
    std::swap(now_, next_);
  }
  now_.t = t;
  return now_;
}

}  // namespace kreisel::study
