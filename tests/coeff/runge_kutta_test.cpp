#include "coeff/runge_kutta.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace kreisel::coeff {
namespace {

using Stages = std::array<double, runge_kutta_max_stages>;

/// A rooted tree with its derivative weights: Σ bᵢ phi[i] = 1/density is its order condition.
struct Tree {
  int order;
  double density;
  Stages phi;
};

/// Every rooted tree up to `last`: a root with a multiset of earlier trees as children.
class Forest {
 public:
  Forest(const Tableau& tableau, int last) : tableau_(tableau) {
    for (int order = 1; order <= last; ++order) {
      Stages one{};
      std::fill_n(one.begin(), tableau.stages, 1.0);
      add_trees(order - 1, trees_.size(), {order, static_cast<double>(order), one});
    }
  }
  const std::vector<Tree>& trees() const { return trees_; }

 private:
  /// Distributes `rest` nodes over children taken from the trees with index below `limit`, largest first.
  void add_trees(int rest, std::size_t limit, const Tree& root) {
    if (rest == 0) {
      trees_.push_back(root);
      return;
    }
    for (std::size_t child = 0; child < limit; ++child) {
      const Tree branch = trees_[child];
      if (branch.order > rest) break;
      Tree grown = root;
      grown.density *= branch.density;
      for (int i = 0; i < tableau_.stages; ++i) {
        double sum = 0.0;
        for (int j = 0; j < i; ++j) sum += tableau_.a[i][j] * branch.phi[j];
        grown.phi[i] *= sum;
      }
      add_trees(rest - branch.order, child + 1, grown);
    }
  }

  const Tableau& tableau_;
  std::vector<Tree> trees_;
};

double weigh(const Stages& weight, const Tree& tree) {
  double sum = 0.0;
  for (int i = 0; i < runge_kutta_max_stages; ++i) sum += weight[i] * tree.phi[i];
  return sum;
}

TEST(Tableau, RowsSumToTheNodesAndAreExplicit) {
  for (const Tableau& t : runge_kutta_tableaux())
    for (int i = 0; i < runge_kutta_max_stages; ++i) {
      double sum = 0.0;
      for (int j = 0; j < i; ++j) sum += t.a[i][j];
      EXPECT_NEAR(sum, t.c[i], 2e-14) << t.name << ", stage " << i;
      for (int j = i; j < runge_kutta_max_stages; ++j) EXPECT_EQ(t.a[i][j], 0.0);
    }
}

TEST(Tableau, MeetsAllOrderConditionsOfItsOrderAndNotAllOfTheNext) {
  for (const Tableau& t : runge_kutta_tableaux()) {
    const Forest forest(t, t.order + 1);
    const std::array<int, 10> up_to{0, 1, 2, 4, 8, 17, 37, 85, 200, 486};  // numbers of rooted trees, summed
    ASSERT_EQ(forest.trees().size(), static_cast<std::size_t>(up_to[t.order + 1]));
    double next = 0.0;
    for (const Tree& tree : forest.trees()) {
      const double error = weigh(t.b, tree) - 1.0 / tree.density;
      if (tree.order <= t.order)
        EXPECT_NEAR(error, 0.0, 1e-14) << t.name << ", order " << tree.order;
      else
        next = std::max(next, std::abs(error));
    }
    EXPECT_GT(next, 1e-7) << t.name;
  }
}

TEST(Tableau, ErrorWeightsVanishUpToTheirOrderAndNotBeyond) {
  for (const Tableau& t : runge_kutta_tableaux())
    for (int e = 0; e < t.error_count; ++e) {
      const Forest forest(t, t.error[e].order + 1);
      double next = 0.0;
      for (const Tree& tree : forest.trees()) {
        const double value = weigh(t.error[e].weight, tree);
        if (tree.order <= t.error[e].order)
          EXPECT_NEAR(value, 0.0, 1e-14) << t.name << ", order " << tree.order;
        else
          next = std::max(next, std::abs(value));
      }
      EXPECT_GT(next, 1e-5) << t.name;
    }
}

TEST(Tableau, LastStageOfDormandPrinceIsTheNewValue) {
  const Tableau& t = dormand_prince_5();
  EXPECT_TRUE(t.reuses_last_stage);
  EXPECT_EQ(t.a[6], t.b);
}

TEST(Tableau, IsFoundByName) {
  EXPECT_EQ(find_tableau("dop853"), &dop853());
  EXPECT_EQ(find_tableau("dormand-prince-5"), &dormand_prince_5());
  EXPECT_EQ(find_tableau("dop854"), nullptr);
}

using Pair = std::array<double, 2>;

/// ẏ = (-2t y₁², y₁ y₂ cos t): y₁ = 1/(1+t²), so ln y₂ is the integral of cos t/(1+t²).
Pair right_hand_side(double t, const Pair& y) { return {-2.0 * t * y[0] * y[0], y[0] * y[1] * std::cos(t)}; }

struct Integrated {
  Pair y;
  double largest_error_estimate;  // first error row, per step
};

Integrated integrate(const Tableau& tableau, int steps) {
  const double h = 2.0 / steps;
  Integrated result{{1.0, 1.0}, 0.0};
  for (int n = 0; n < steps; ++n) {
    std::array<Pair, runge_kutta_max_stages> k{};
    for (int i = 0; i < tableau.stages; ++i) {
      Pair at = result.y;
      for (int j = 0; j < i; ++j)
        for (int l = 0; l < 2; ++l) at[l] += h * tableau.a[i][j] * k[j][l];
      k[i] = right_hand_side((n + tableau.c[i]) * h, at);
    }
    double estimate = 0.0;
    for (int i = 0; i < tableau.stages; ++i) {
      for (int l = 0; l < 2; ++l) result.y[l] += h * tableau.b[i] * k[i][l];
      estimate += h * tableau.error[0].weight[i] * k[i][0];
    }
    result.largest_error_estimate = std::max(result.largest_error_estimate, std::abs(estimate));
  }
  return result;
}

TEST(Tableau, ConvergesWithItsOrderOnANonautonomousSystem) {
  const Pair reference = integrate(dop853(), 400).y;
  EXPECT_NEAR(reference[0], 0.2, 1e-14);
  for (const Tableau& t : runge_kutta_tableaux()) {
    const int coarsest = t.order == 8 ? 5 : 40;
    std::array<double, 3> error, estimate;
    for (int i = 0; i < 3; ++i) {
      const Integrated run = integrate(t, coarsest << i);
      error[i] = std::hypot(run.y[0] - reference[0], run.y[1] - reference[1]);
      estimate[i] = run.largest_error_estimate;
    }
    ASSERT_GT(error[2], 1e-13) << "round-off floor: choose fewer steps for " << t.name;
    EXPECT_NEAR(std::log2(error[1] / error[2]), t.order, 0.5) << t.name;
    EXPECT_NEAR(std::log2(estimate[1] / estimate[2]), t.error[0].order + 1, 0.5) << t.name;
  }
}

}  // namespace
}  // namespace kreisel::coeff
