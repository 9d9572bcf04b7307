#include "run/dense_output.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/combine.hpp"
#include "coeff/bdf_variable.hpp"

namespace kreisel::run {

using method::Entry;
using method::History;

namespace {

constexpr int max_points = DenseOutput::max_points;

/// Gauss-Legendre on [0, 1], exact to degree 7.
constexpr std::array<double, 4> four_nodes{0.069431844202973712, 0.33000947820757187, 0.66999052179242813,
                                           0.93056815579702629};
constexpr std::array<double, 4> four_weights{0.17392742256872693, 0.32607257743127307, 0.32607257743127307,
                                             0.17392742256872693};

/// Times of the newest points relative to t_n, the start of the newest step.
std::array<double, max_points> nodes_of(const History& history, int points) {
  std::array<double, max_points> nodes{};
  for (int i = 0; i < points; ++i) nodes[i] = history.offset(i) + history[0].h;
  return nodes;
}

}  // namespace

DenseOutput::DenseOutput(const lie::Space& space) : space_(space), commutator_(space) {
  for (Vector* v : {&A1_, &A2_, &A3_, &c_, &omega_, &end_, &value_}) v->setZero(space.nv());
}

void DenseOutput::velocity_at(const History& history, int points, double s, Vector& v, Vector* a) {
  const std::array<double, max_points> nodes = nodes_of(history, points);
  std::array<double, 2 * max_points> weight{};
  coeff::derivative_weights(std::span<const double>(nodes.data(), points), s, 1, weight);
  Combination value, slope;
  for (int i = 0; i < points; ++i) {
    value.add(weight[i], history[i].motion.v);
    slope.add(weight[points + i], history[i].motion.v);
  }
  value.assign_to(v);
  if (a != nullptr) slope.assign_to(*a);
}

void DenseOutput::increment(const History& history, int points, double s, Vector& out) {
  out.setZero();
  for (std::size_t g = 0; g < four_nodes.size(); ++g) {
    velocity_at(history, points, four_nodes[g] * s, value_, nullptr);
    out += (four_weights[g] * s) * value_;
  }
  const int k = std::min(points, 6);
  if (k < 3 || s == 0.0 || space_.is_commutative()) return;
  const std::array<double, max_points> nodes = nodes_of(history, k);
  const coeff::MagnusWeights w = coeff::magnus_weights(k, std::span<const double>(nodes.data(), k), 0.5 * s, s);
  Combination sum1, sum2, sum3;
  for (int i = 0; i < k; ++i) {
    const Vector& v = history[i].motion.v;
    sum1.add(w.a1[i] * s, v);
    sum2.add((k > 4 ? w.a2_gauss[i] : w.a2[i]) * s, v);
    sum3.add(w.a3[i] * s, v);
  }
  sum1.assign_to(A1_);
  sum2.assign_to(A2_);
  sum3.assign_to(A3_);
  commutator_(k, A1_, A2_, A3_, c_);
  out += c_;
}

void DenseOutput::evaluate(const History& history, int points, double t, Entry& out) {
  points = std::clamp(points, 2, std::min(max_points, history.size()));
  const double h = history[0].h;
  const double s = std::clamp(t - history[1].motion.t, 0.0, h);
  increment(history, points, s, omega_);
  increment(history, points, h, end_);
  omega_ += (s / h) * (history[0].omega - end_);
  space_.move(history[1].motion.q, omega_, out.motion.q);
  velocity_at(history, points, s, out.motion.v, &out.motion.a);

  const std::array<double, max_points> nodes = nodes_of(history, points);
  std::array<double, max_points> weight{};
  coeff::derivative_weights(std::span<const double>(nodes.data(), points), s, 0, weight);
  Combination lambda, eta;
  for (int i = 0; i < points; ++i) {
    lambda.add(weight[i], history[i].lambda);
    eta.add(weight[i], history[i].eta);
  }
  lambda.assign_to(out.lambda);
  eta.assign_to(out.eta);
  out.motion.t = t;
  out.omega = omega_;
  out.h = h;
  out.order = history[0].order;
}

}  // namespace kreisel::run
