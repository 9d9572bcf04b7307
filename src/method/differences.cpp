#include "kreisel/method/differences.hpp"

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
  for (Eigen::Index c = 0; c < out.size(); ++c) {
    double sum = 0.0;
    for (int j = 0; j < points; ++j) sum += w[j] * value_[j][c];
    out[c] = sum;
  }
}

void Differences::deviation(int points, ConstVectorRef y, double scale, VectorRef out) {
  const double* w = weights(points);
  for (Eigen::Index c = 0; c < out.size(); ++c) {
    double sum = y[c];
    for (int j = 0; j < points; ++j) sum -= w[j] * value_[j][c];
    out[c] = scale * sum;
  }
}

}  // namespace kreisel::method
