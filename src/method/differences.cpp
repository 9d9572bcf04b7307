#include "method/differences.hpp"

#include "base/combine.hpp"

namespace kreisel::method {

static_assert(Differences::max_points + 1 <= coeff::KeptNodes::capacity);

const double* Differences::weights(int points) {
  auto& weight = weight_[points];
  if (!is_known_[points]) {
    multiply_to(points);
    for (int i = 0; i < points; ++i) weight[i] = above_[points][i] / below_[points][i];
    is_known_[points] = true;
  }
  return weight.data();
}

void Differences::multiply_to(int points) {
  const double* const nodes = grid_.nodes().data();
  const double at = nodes[points_];
  for (; multiplied_ < points; ++multiplied_) {
    const int n = multiplied_;  // the new point
    const double node = nodes[n], factor = at - node;
    double above = 1.0, below = 1.0;
    for (int i = 0; i < n; ++i) {
      above_[n + 1][i] = above_[n][i] * factor;
      below_[n + 1][i] = below_[n][i] * (nodes[i] - node);
      above *= at - nodes[i];
      below *= node - nodes[i];
    }
    above_[n + 1][n] = above;
    below_[n + 1][n] = below;
  }
}

void Differences::extrapolate(int points, VectorRef out) {
  const double* w = weights(points);
  double* to = out.data();
  in_groups(out.size(), [&]<int W>(Eigen::Index c) {
    Group<W> sum = Group<W>::Zero();
    for (int j = 0; j < points; ++j) sum += w[j] * group<W>(value_[j] + c);
    Eigen::Map<Group<W>>(to + c) = sum;
  });
}

void Differences::deviation(int points, ConstVectorRef y, double scale, VectorRef out) {
  const double* w = weights(points);
  const double* from = y.data();
  double* to = out.data();
  in_groups(out.size(), [&]<int W>(Eigen::Index c) {
    Group<W> sum = group<W>(from + c);
    for (int j = 0; j < points; ++j) sum -= w[j] * group<W>(value_[j] + c);
    Eigen::Map<Group<W>>(to + c) = scale * sum;
  });
}

}  // namespace kreisel::method
