#include "method/differences.hpp"

#include "base/combine.hpp"

namespace kreisel::method {

static_assert(Differences::max_points + 1 <= coeff::KeptNodes::capacity);

const double* Differences::weights(int points) {
  auto& weight = weight_[points];
  if (!is_known_[points]) {
    const auto nodes = grid_.nodes();
    coeff::extrapolation_weights(nodes.first(points), nodes[points_], weight);
    is_known_[points] = true;
  }
  return weight.data();
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
