// The laws of concept.hpp, for every group.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lie/all_groups.hpp"
#include "samples.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::lie;

// A handful of roundings of numbers of order 1 to 10.
constexpr double round_off = 1e-13;

template <class G>
class GroupLaws : public ::testing::Test {
 protected:
  using Point = typename G::Point;
  using Tangent = typename G::Tangent;
  using Matrix = typename G::Matrix;

  Tangent tangent(double angle) { return source_.tangent<G>(angle); }
  Tangent tangent() { return source_.vector<Tangent>(); }
  Point point() { return G::compose(G::exp(tangent()), G::exp(tangent())); }

  /// Quaternions of either sign are the same rotation, so distances are taken in the embedding.
  static double distance(const Point& p, const Point& r) { return (G::embed(p) - G::embed(r)).norm(); }

  /// e^A y by its power series; |A| is a few units here.
  static Tangent matrix_exp_times(const Matrix& A, const Tangent& y) {
    Tangent sum = y, term = y;
    for (int i = 1; i < 80; ++i) {
      term = A * term / i;
      sum += term;
    }
    return sum;
  }

  samples::Source source_;
};

using Groups = ::testing::Types<Rn<3>, Rn<5>, SO3, R3xSO3, SE3>;
TYPED_TEST_SUITE(GroupLaws, Groups);

TYPED_TEST(GroupLaws, ModelsTheConcept) { static_assert(LieGroup<TypeParam>); }

TYPED_TEST(GroupLaws, CompositionIsAssociative) {
  using G = TypeParam;
  for (int i = 0; i < 50; ++i) {
    const auto p = this->point(), r = this->point(), t = this->point();
    EXPECT_LT((G::compose(G::compose(p, r), t) - G::compose(p, G::compose(r, t))).norm(), round_off);
  }
}

TYPED_TEST(GroupLaws, IdentityIsNeutral) {
  using G = TypeParam;
  const auto p = this->point();
  EXPECT_LT((G::compose(p, G::identity()) - p).norm(), round_off);
  EXPECT_LT((G::compose(G::identity(), p) - p).norm(), round_off);
  EXPECT_EQ(G::exp(G::Tangent::Zero()), G::identity());
  EXPECT_EQ(G::log(G::identity()), G::Tangent::Zero());
}

TYPED_TEST(GroupLaws, InverseUndoesFromBothSides) {
  using G = TypeParam;
  for (int i = 0; i < 50; ++i) {
    const auto p = this->point();
    EXPECT_LT((G::compose(p, G::inverse(p)) - G::identity()).norm(), round_off);
    EXPECT_LT((G::compose(G::inverse(p), p) - G::identity()).norm(), round_off);
  }
}

TYPED_TEST(GroupLaws, ExpOfTheNegativeIsTheInverse) {
  using G = TypeParam;
  for (const double angle : samples::angles()) {
    const auto x = this->tangent(angle);
    EXPECT_LT((G::exp(-x) - G::inverse(G::exp(x))).norm(), round_off) << "angle " << angle;
  }
}

TYPED_TEST(GroupLaws, ExpIsAHomomorphismAlongALine) {
  using G = TypeParam;
  for (const double angle : samples::angles()) {
    const auto x = this->tangent(angle);
    EXPECT_LT((G::compose(G::exp(0.3 * x), G::exp(0.7 * x)) - G::exp(x)).norm(), round_off) << "angle " << angle;
  }
}

TYPED_TEST(GroupLaws, LogUndoesExpBelowHalfATurn) {
  using G = TypeParam;
  for (const double angle : samples::angles()) {
    const auto x = this->tangent(angle), back = G::log(G::exp(x));
    EXPECT_LT((back - x).norm(), round_off * x.norm()) << "angle " << angle;
    // The rotation by itself, not hidden by the translation.
    EXPECT_LT((back - x).template tail<3>().norm(), round_off * angle) << "angle " << angle;
  }
}

TYPED_TEST(GroupLaws, ExpUndoesLog) {
  using G = TypeParam;
  for (int i = 0; i < 200; ++i) {
    const auto p = this->point();
    EXPECT_LT(this->distance(G::exp(G::log(p)), p), round_off);
  }
}

TYPED_TEST(GroupLaws, BracketIsAntisymmetric) {
  using G = TypeParam;
  const auto x = this->tangent(), y = this->tangent();
  EXPECT_LT((G::bracket(x, y) + G::bracket(y, x)).norm(), round_off);
  EXPECT_LT(G::bracket(x, x).norm(), round_off);
}

TYPED_TEST(GroupLaws, BracketSatisfiesTheJacobiIdentity) {
  using G = TypeParam;
  for (int i = 0; i < 20; ++i) {
    const auto x = this->tangent(), y = this->tangent(), z = this->tangent();
    const typename G::Tangent sum =
        G::bracket(x, G::bracket(y, z)) + G::bracket(y, G::bracket(z, x)) + G::bracket(z, G::bracket(x, y));
    EXPECT_LT(sum.norm(), round_off);
  }
}

TYPED_TEST(GroupLaws, HatIsTheMatrixOfTheBracket) {
  using G = TypeParam;
  const auto x = this->tangent(), y = this->tangent();
  EXPECT_LT((G::hat(x) * y - G::bracket(x, y)).norm(), round_off);
}

// log(exp(εa)∘exp(εb)∘exp(-εa)∘exp(-εb)) = ε²[a,b] + O(ε³): ties the sign of the bracket to the composition.
TYPED_TEST(GroupLaws, BracketIsTheGroupCommutator) {
  using G = TypeParam;
  constexpr double eps = 1e-4;
  const auto a = this->tangent(), b = this->tangent();
  const auto forward = G::compose(G::exp(eps * a), G::exp(eps * b));
  const auto backward = G::compose(G::exp(-eps * a), G::exp(-eps * b));
  const typename G::Tangent commutator = G::log(G::compose(forward, backward)) / (eps * eps);
  EXPECT_LT((commutator - G::bracket(a, b)).norm(), 100.0 * eps);
}

// exp(x)∘exp(y)∘exp(x)⁻¹ = exp(e^{hat(x)} y).
TYPED_TEST(GroupLaws, ConjugationIsTheExponentialOfHat) {
  using G = TypeParam;
  for (const double angle : {1e-8, 0.1, 1.0, 3.0}) {
    const auto x = this->tangent(angle), y = this->tangent();
    const auto conjugate = G::compose(G::compose(G::exp(x), G::exp(y)), G::exp(-x));
    EXPECT_LT(this->distance(conjugate, G::exp(this->matrix_exp_times(G::hat(x), y))), 10.0 * round_off);
  }
}

// log(exp(x)⁻¹∘exp(x+εy)) = ε T(x)y + O(ε²); the fourth-order difference leaves O(ε⁴) ≈ 1e-12.
TYPED_TEST(GroupLaws, TangentIsTheDerivativeOfExp) {
  using G = TypeParam;
  constexpr double eps = 1e-3, tolerance = 1e-10;
  for (const double angle : samples::angles()) {
    const auto x = this->tangent(angle), y = this->tangent().normalized().eval();
    const auto moved = [&](double by) ->
        typename G::Tangent { return G::log(G::compose(G::inverse(G::exp(x)), G::exp(x + by * y))); };
    const typename G::Tangent slope =
        (8.0 * (moved(eps) - moved(-eps)) - (moved(2.0 * eps) - moved(-2.0 * eps))) / (12.0 * eps);
    EXPECT_LT((G::tangent(x) * y - slope).norm(), tolerance) << "angle " << angle;
  }
}

TYPED_TEST(GroupLaws, TangentInverseIsTheInverse) {
  using G = TypeParam;
  for (const double angle : samples::angles()) {
    const auto x = this->tangent(angle);
    const typename G::Matrix product = G::tangent_inverse(x) * G::tangent(x);
    EXPECT_LT((product - G::Matrix::Identity()).norm(), round_off) << "angle " << angle;
  }
}

TYPED_TEST(GroupLaws, ProductsWithoutMatricesAgreeWithTheMatrices) {
  using G = TypeParam;
  for (const double angle : samples::angles()) {
    const auto x = this->tangent(angle), y = this->tangent();
    EXPECT_LT((G::tangent(x, y) - G::tangent(x) * y).norm(), round_off) << "angle " << angle;
    EXPECT_LT((G::tangent_inverse(x, y) - G::tangent_inverse(x) * y).norm(), round_off) << "angle " << angle;
  }
}

// e^{hat(x)} T(x) = T(-x): right and left Jacobian differ by the adjoint of exp(x).
TYPED_TEST(GroupLaws, TangentOfTheNegativeIsTheLeftJacobian) {
  using G = TypeParam;
  for (const double angle : {1e-8, 0.1, 1.0, 3.0}) {
    const auto x = this->tangent(angle), y = this->tangent();
    EXPECT_LT((this->matrix_exp_times(G::hat(x), G::tangent(x, y)) - G::tangent(-x, y)).norm(), 10.0 * round_off);
  }
}

TYPED_TEST(GroupLaws, TangentLeavesItsOwnArgumentAlone) {
  using G = TypeParam;
  for (const double angle : samples::angles()) {
    const auto x = this->tangent(angle);
    EXPECT_LT((G::tangent(x, x) - x).norm(), round_off * x.norm());
    EXPECT_LT((G::tangent_inverse(x, x) - x).norm(), round_off * x.norm());
  }
}

}  // namespace
