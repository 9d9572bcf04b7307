// Predictor and error estimates on grids that repeat, change and grow.
#include "method/differences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace {

using namespace kreisel;
using method::Differences;
using method::Entry;
using method::History;

/// Asked for in any order, on grids that are kept and replaced, the polynomials are those of the points.
TEST(Differences, ExtrapolateThePolynomialThroughTheNewestPoints) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1.0, 1.0), step(0.5, 2.0);
  const lie::Space space{{{lie::GroupId::rn, 5}}};
  History history(space, {0, 0, 0}, Differences::max_points);
  Differences differences;
  Entry entry = History::blank(space, {0, 0, 0});
  double h = 0.1;
  for (int n = 0; n < 40; ++n) {
    if (n % 7 == 3) h *= step(random);  // some grids repeat
    entry.motion.v = Vector::NullaryExpr(5, [&] { return number(random); });
    entry.h = h;
    history.push(entry);
    entry = History::blank(space, {0, 0, 0});
    const double ahead = n % 5 == 1 ? 1.3 * h : h;
    differences.build(history, Differences::max_points, ahead,
                      [](const Entry& e) -> const Vector& { return e.motion.v; });
    const int most = differences.points();
    EXPECT_EQ(most, std::min(n + 1, Differences::max_points));
    std::vector<int> order(most);
    for (int i = 0; i < most; ++i) order[i] = i + 1;
    std::shuffle(order.begin(), order.end(), random);
    for (const int points : order) {
      std::vector<double> nodes(points), weight(points);
      history.offsets(points, nodes.data());
      coeff::extrapolation_weights(nodes, ahead, weight);
      Vector expected = Vector::Zero(5), found(5), missed(5);
      double size = 1.0;
      for (int i = 0; i < points; ++i) {
        expected += weight[i] * history[i].motion.v;
        size += std::abs(weight[i]);
        EXPECT_EQ(differences.offset(i), nodes[i]);
      }
      differences.extrapolate(points, found);
      EXPECT_LT((found - expected).norm(), 1e-12 * size) << n << " " << points;
      differences.deviation(points, history[0].motion.v, 2.0, missed);
      EXPECT_LT((missed - 2.0 * (history[0].motion.v - expected)).norm(), 1e-12 * size) << n << " " << points;
    }
  }
}

}  // namespace
