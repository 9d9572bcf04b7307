#include "study/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "precise_nodes.hpp"
#include "reference_cache.hpp"
#include "run/start_up.hpp"

namespace kreisel::study {
namespace {

/// A multiple of it and of powers of two: steps of 1/1000, 1/1600, 1/2000, ... of the interval meet stored points.
constexpr long first_steps = 500;
constexpr long stop_interval = 256;  ///< steps between two calls of wants_to_stop
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

/// Where the motion starts, consistent; false when there is no such motion.
bool place(const models::Model& model, method::Entry& out) {
  const system::System& system = *model.system;
  Counters counters;
  run::StartUp start_up(system, counters, "automatic");
  out = method::History::blank(system.space(), {system.pattern().rows(), system.pattern().position_rows(), 0});
  return start_up.place(model.start.t0, model.start.q0, model.start.v0, out);
}

void keep(const lie::Motion& motion, const Vector& lambda, std::vector<double>& points) {
  for (const Vector* part : {&motion.q, &motion.v, &motion.a, &lambda})
    points.insert(points.end(), part->data(), part->data() + part->size());
}

void take(const double* data, lie::Motion& motion, Vector& lambda) {
  for (Vector* part : {&motion.q, &motion.v, &motion.a, &lambda}) {
    *part = Eigen::Map<const Vector>(data, part->size());
    data += part->size();
  }
}

/// Differences of points, and how large they are; q in the embedding.
class Comparison {
 public:
  explicit Comparison(const system::System& system)
      : system_(system), a_(system.space().embedding_size()), b_(a_.size()) {}

  void see(const double* points, const double* better) {
    const int nq = system_.space().nq(), nv = system_.space().nv(), rows = system_.pattern().rows(),
              stride = stride_of(system_);
    const Eigen::Map<const Vector> x(points, stride), y(better, stride);
    system_.space().embed(x.head(nq), a_);
    system_.space().embed(y.head(nq), b_);
    largest.q = std::max(largest.q, (a_ - b_).norm());
    largest.v = std::max(largest.v, (x - y).segment(nq, nv).norm());
    largest.lambda = std::max(largest.lambda, (x - y).tail(rows).norm());
    sizes.q = std::max(sizes.q, b_.norm());
    sizes.v = std::max(sizes.v, y.segment(nq, nv).norm());
    sizes.lambda = std::max(sizes.lambda, y.tail(rows).norm());
    is_finite_ = is_finite_ && std::isfinite(a_.sum() + b_.sum());
  }
  /// Relative difference of q and v.
  double relative() const { return is_finite_ ? largest.q / (1.0 + sizes.q) + largest.v / (1.0 + sizes.v) : HUGE_VAL; }
  /// Differences below the rounding of the stored numbers mean nothing.
  void fill(Reference& out, double factor) const {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    const auto stated = [&](double difference, double size) { return std::max(factor * difference, epsilon * size); };
    out.accuracy = {stated(largest.q, sizes.q), stated(largest.v, sizes.v), stated(largest.lambda, sizes.lambda)};
    out.q_size = sizes.q;
    out.v_size = sizes.v;
    out.lambda_size = sizes.lambda;
  }
  Accuracy largest, sizes;

 private:
  const system::System& system_;
  Vector a_, b_;
  bool is_finite_ = true;
};

/// Equal steps of rkmk; adjust(n, point) may move a point before it is kept.
template <class Adjust>
bool march(const models::Model& model, double t_end, long steps, const ReferenceOptions& options, Resolution& out,
           const Adjust& adjust) {
  const system::System& system = *model.system;
  Counters counters;
  run::Rkmk rkmk(system, coeff::dop853(), counters);
  method::Entry now, next;
  if (!place(model, now)) return false;
  next = now;
  out.steps = steps;
  out.points.clear();
  out.points.reserve(static_cast<std::size_t>(steps + 1) * stride_of(system));
  const double h = (t_end - model.start.t0) / static_cast<double>(steps);
  for (long n = 0;; ++n) {
    adjust(n, now);
    keep(now.motion, now.lambda, out.points);
    if (n == steps) return true;
    if (n % stop_interval == 0 && options.is_stopped()) return false;
    next.lambda = now.lambda;
    if (!rkmk.step(now.motion, h, next.motion, next.lambda, next.omega)) return false;
    std::swap(now, next);
    now.motion.t = model.start.t0 + static_cast<double>(n + 1) * h;
  }
}

bool integrate(const models::Model& model, double t_end, long steps, const ReferenceOptions& options, Resolution& out) {
  return march(model, t_end, steps, options, out, [](long, const method::Entry&) {});
}

/// Points between nodes, in double precision from each node on; `seen` records the difference at the next node.
bool fill_between(const models::Model& model, double t_end, const PreciseNodes& nodes, long steps,
                  const ReferenceOptions& options, Resolution& out, Comparison& seen) {
  const int stride = stride_of(*model.system);
  const long each = steps / nodes.count;
  std::vector<double> arrived;
  return march(model, t_end, steps, options, out, [&](long n, method::Entry& now) {
    if (n % each != 0) return;
    const double* node = nodes.points.data() + n / each * stride;
    arrived.clear();
    keep(now.motion, now.lambda, arrived);
    seen.see(arrived.data(), node);
    take(node, now.motion, now.lambda);
  });
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

/// Keeps the best pair of resolutions while the number of steps doubles; more steps also mean more round-off.
class Search {
 public:
  Search(const models::Model& model, double t_end, const ReferenceOptions& options)
      : model_(model), t_end_(t_end), options_(options) {}

  /// False when more steps do not help.
  bool offer(const Resolution& fine, const Comparison& seen, long nodes) {
    const double difference = seen.relative(), before = smallest_;
    if (difference < smallest_) {
      smallest_ = difference;
      best_ = std::make_shared<Reference>();
      best_->t0 = model_.start.t0;
      best_->t_end = t_end_;
      best_->nodes = nodes;
      // Against quadruple precision the difference of two resolutions in double precision can be a little too small: both round.
      seen.fill(*best_, nodes > 0 ? 1.0 : 2.0);
      store(fine, stride_of(*model_.system), *best_);
    }
    return difference > options_.tolerance * (nodes > 0 ? 1e-2 : 1.0) &&
           !(difference < noise_level && difference > 0.25 * before);
  }
  std::shared_ptr<const Reference> best() const { return best_; }

 private:
  const models::Model& model_;
  double t_end_;
  const ReferenceOptions& options_;
  std::shared_ptr<Reference> best_;
  double smallest_ = HUGE_VAL;
};

/// Nodes in quadruple precision, double precision in between; null for systems without such formulas.
std::shared_ptr<const Reference> compute_from_nodes(const models::Model& model, double t_end,
                                                    const ReferenceOptions& options) {
  method::Entry start;
  if (options.tolerance > ReferenceOptions{}.tolerance || !place(model, start)) return nullptr;
  const std::optional<PreciseNodes> nodes = precise_nodes(*model.system, start.motion, t_end, options);
  if (!nodes) return nullptr;
  Search search(model, t_end, options);
  Resolution fine;
  for (long steps = std::max(first_steps, nodes->count); steps <= options.max_steps; steps *= 2) {
    Comparison seen(*model.system);
    if (fill_between(model, t_end, *nodes, steps, options, fine, seen) && !search.offer(fine, seen, nodes->count))
      break;
    if (options.is_stopped()) return nullptr;
  }
  return search.best();
}

std::shared_ptr<const Reference> compute(const models::Model& model, double t_end, const ReferenceOptions& options) {
  if (auto precise = compute_from_nodes(model, t_end, options)) return precise;
  Search search(model, t_end, options);
  const int stride = stride_of(*model.system);
  Resolution coarse, fine;
  bool has_coarse = false;
  for (long steps = first_steps; steps <= options.max_steps; steps *= 2) {
    const bool has_fine = integrate(model, t_end, steps, options, fine);
    if (!has_fine && options.is_stopped()) return nullptr;
    if (has_fine && has_coarse) {
      Comparison seen(*model.system);
      for (long n = 0; n <= coarse.steps; ++n)
        seen.see(coarse.points.data() + n * stride, fine.points.data() + 2 * n * stride);
      if (!search.offer(fine, seen, 0)) break;
    }
    std::swap(coarse, fine);
    has_coarse = has_fine;
  }
  if (!search.best())
    throw InvalidInput(fmt::format(
        "the reference solution of '{}' up to t = {:g} breaks down: DOP853 with up to {} steps does not reach "
        "the end. Shorten t_end, or measure only what needs no reference (residuals, energy, counts)",
        model.name, t_end, options.max_steps));
  return search.best();
}

/// Sizes from both ends only: a table need not have rows in between.
std::shared_ptr<const Reference> external_reference(const models::Model& model, double t_end,
                                                    const ReferenceOptions& options) {
  constexpr int samples = 1;
  auto out = std::make_shared<Reference>();
  out->t0 = model.start.t0;
  out->t_end = t_end;
  out->steps = 1;
  out->external = options.external;
  out->accuracy = options.external_accuracy;
  const lie::Space& space = model.system->space();
  Vector q(space.nq()), v(space.nv()), lambda(model.system->pattern().rows()), embedded(space.embedding_size());
  for (int i = 0; i <= samples; ++i) {
    out->external(out->t0 + (t_end - out->t0) * i / samples, q, v, lambda);
    if (q.size() != space.nq() || v.size() != space.nv() || lambda.size() != model.system->pattern().rows())
      throw InvalidInput(
          fmt::format("the reference has {}, {} and {} numbers for q, v and lambda, but the model has {}, {} and {}",
                      q.size(), v.size(), lambda.size(), space.nq(), space.nv(), model.system->pattern().rows()));
    space.embed(q, embedded);
    out->q_size = std::max(out->q_size, embedded.norm());
    out->v_size = std::max(out->v_size, v.norm());
    out->lambda_size = std::max(out->lambda_size, lambda.norm());
  }
  return out;
}

}  // namespace

std::shared_ptr<const Reference> make_reference(const models::Model& model, double t_end,
                                                const ReferenceOptions& options) {
  if (!model.system->events().empty())
    throw InvalidInput(fmt::format(
        "'{}' has events, which the reference solution does not follow; measure only what needs no reference "
        "(residuals, energy, counts)",
        model.name));
  if (options.external) return external_reference(model, t_end, options);
  const std::string key = reference_key(model, t_end, options);
  if (auto cached = read_cached(options.cache, key)) return cached;
  auto computed = compute(model, t_end, options);
  if (computed != nullptr) write_cached(options.cache, key, *computed);
  return computed;
}

std::string reference_key(const models::Model& model, double t_end, const ReferenceOptions& options) {
  const system::System& system = *model.system;
  std::string text =
      fmt::format("reference 3; {:a} {:a} {:a} {}", model.start.t0, t_end, options.tolerance, options.max_steps);
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
  take(reference_->points.data() + stored * reference_->stride, now_, lambda_);
  now_.t = reference_->t0 + static_cast<double>(stored * reference_->every) * reference_->step();
}

const lie::Motion& ExactSolution::at(double t) {
  if (t == asked_) return now_;
  const Reference& r = *reference_;
  if (r.external) {
    r.external(t, now_.q, now_.v, lambda_);
    now_.t = asked_ = t;
    return now_;
  }
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
