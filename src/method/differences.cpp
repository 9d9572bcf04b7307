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
    const double *const above = above_[n].data(), *const below = below_[n].data();
    double *const next_above = above_[n + 1].data(), *const next_below = below_[n + 1].data();
    double below_new = 1.0;
    // By pairs; the last one may have an entry too many, which is that of the new point and written after it.
    for (int i = 0; i < n; i += 2) {
      const Group<2> differences = group<2>(nodes + i) - node;
      Eigen::Map<Group<2>>{next_above + i} = group<2>(above + i) * factor;
      Eigen::Map<Group<2>>{next_below + i} = group<2>(below + i) * differences;
      below_new *= -differences[0];
      if (i + 1 < n) below_new *= -differences[1];
    }
    next_above[n] = n > 0 ? above[n - 1] * (at - nodes[n - 1]) : 1.0;
    next_below[n] = below_new;
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
