// The vector space ℝᴺ with addition.
#pragma once

#include "lie/concept.hpp"

namespace kreisel::lie {

/// Translations. Point and tangent: N coordinates. Space handles a dimension known only at run time itself.
template <int N>
struct Rn {
  static constexpr int nq = N, nv = N, embedding_size = N;
  static constexpr std::string_view name = "rn";
  using Point = Eigen::Matrix<double, N, 1>;
  using Tangent = Eigen::Matrix<double, N, 1>;
  using Matrix = Eigen::Matrix<double, N, N>;
  using Embedding = Eigen::Matrix<double, N, 1>;

  static Point identity() { return Point::Zero(); }
  static Point compose(const Point& p, const Point& r) { return p + r; }
  static Point inverse(const Point& p) { return -p; }

  static Point exp(const Tangent& x) { return x; }
  static Tangent log(const Point& p) { return p; }

  static Tangent bracket(const Tangent&, const Tangent&) { return Tangent::Zero(); }
  static Matrix hat(const Tangent&) { return Matrix::Zero(); }

  static Matrix tangent(const Tangent&) { return Matrix::Identity(); }
  static Tangent tangent(const Tangent&, const Tangent& y) { return y; }
  static Matrix tangent_inverse(const Tangent&) { return Matrix::Identity(); }
  static Tangent tangent_inverse(const Tangent&, const Tangent& y) { return y; }

  static Embedding embed(const Point& p) { return p; }
};
static_assert(LieGroup<Rn<3>>);

}  // namespace kreisel::lie
