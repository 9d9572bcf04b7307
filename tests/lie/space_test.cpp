// The runtime product: every operation acts factor by factor.
#include "kreisel/groups.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kreisel/error.hpp"
#include "lie/all_groups.hpp"
#include "samples.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::lie;

class MixedSpace : public ::testing::Test {
 protected:
  Vector random_tangent() {
    Vector x(space_.nv());
    for (double& e : x) e = source_.number();
    return x;
  }
  Vector random_point() {
    Vector q(space_.nq());
    space_.set_identity(q);
    for (int i = 0; i < 2; ++i) space_.move(q, random_tangent(), q);
    return q;
  }
  Vector sized(int n) const { return Vector::Constant(n, -99.0); }

  /// Calls check(G{}, block) for each factor; the factor rn of the space has dimension 4.
  template <class Check>
  void for_each_block(Check check) const {
    for (const Block& block : space_.blocks())
      with_group(
          block.group, [&] { check(Rn<4>{}, block); }, [&]<class G>(G) { check(G{}, block); });
  }
  template <class G>
  static typename G::Point point(const Vector& q, const Block& block) {
    return q.segment<G::nq>(block.q_at);
  }
  template <class G>
  static typename G::Tangent tangent(const Vector& v, const Block& block) {
    return v.segment<G::nv>(block.v_at);
  }
  template <class G>
  static typename G::Matrix matrix(const Vector& blocks, const Block& block) {
    return Eigen::Map<const typename G::Matrix>(blocks.data() + block.matrix_at);
  }

  samples::Source source_;
  const Space space_{{{GroupId::so3}, {GroupId::rn, 4}, {GroupId::se3}, {GroupId::r3xso3}, {GroupId::so3}}};
};

TEST_F(MixedSpace, LaysFactorsOutInOrder) {
  EXPECT_EQ(space_.nq(), 4 + 4 + 7 + 7 + 4);
  EXPECT_EQ(space_.nv(), 3 + 4 + 6 + 6 + 3);
  EXPECT_EQ(space_.block_diagonal_size(), 9 + 16 + 36 + 36 + 9);
  EXPECT_EQ(space_.embedding_size(), 9 + 4 + 12 + 12 + 9);
  EXPECT_FALSE(space_.is_commutative());

  int q_at = 0, v_at = 0, matrix_at = 0;
  for (const Block& block : space_.blocks()) {
    EXPECT_EQ(block.q_at, q_at);
    EXPECT_EQ(block.v_at, v_at);
    EXPECT_EQ(block.matrix_at, matrix_at);
    q_at += block.nq;
    v_at += block.nv;
    matrix_at += block.nv * block.nv;
  }
}

TEST_F(MixedSpace, IdentityIsTheIdentityOfEachFactor) {
  Vector q = sized(space_.nq());
  space_.set_identity(q);
  for_each_block([&]<class G>(G, const Block& b) { EXPECT_EQ(point<G>(q, b), G::identity()); });
}

TEST_F(MixedSpace, MoveComposesWithExpInEachFactor) {
  const Vector q = random_point(), x = random_tangent();
  Vector out = sized(space_.nq());
  space_.move(q, x, out);
  for_each_block([&]<class G>(G, const Block& b) {
    EXPECT_LT((point<G>(out, b) - G::compose(point<G>(q, b), G::exp(tangent<G>(x, b)))).norm(), 1e-15);
  });
}

TEST_F(MixedSpace, MoveMayOverwriteItsPoint) {
  const Vector q = random_point(), x = random_tangent();
  Vector expected = sized(space_.nq()), out = q;
  space_.move(q, x, expected);
  space_.move(out, x, out);
  EXPECT_EQ(out, expected);
}

TEST_F(MixedSpace, DifferenceUndoesMove) {
  const Vector q = random_point(), x = 0.5 * random_tangent();
  Vector moved = sized(space_.nq()), back = sized(space_.nv());
  space_.move(q, x, moved);
  space_.difference(q, moved, back);
  EXPECT_LT((back - x).norm(), 1e-13);
}

TEST_F(MixedSpace, DifferenceIsTheLogarithmInEachFactor) {
  const Vector q0 = random_point(), q1 = random_point();
  Vector out = sized(space_.nv());
  space_.difference(q0, q1, out);
  for_each_block([&]<class G>(G, const Block& b) {
    const auto step = G::compose(G::inverse(point<G>(q0, b)), point<G>(q1, b));
    EXPECT_LT((tangent<G>(out, b) - G::log(step)).norm(), 1e-14);
  });
}

TEST_F(MixedSpace, BracketActsInEachFactor) {
  const Vector a = random_tangent(), b = random_tangent();
  Vector out = sized(space_.nv());
  space_.bracket(a, b, out);
  for_each_block([&]<class G>(G, const Block& block) {
    EXPECT_LT((tangent<G>(out, block) - G::bracket(tangent<G>(a, block), tangent<G>(b, block))).norm(), 1e-14);
  });
}

TEST_F(MixedSpace, BlocksAreTheMatricesOfEachFactor) {
  const Vector x = random_tangent();
  Vector T = sized(space_.block_diagonal_size()), T_inverse = T, hat = T;
  space_.tangent_blocks(x, T);
  space_.tangent_inverse_blocks(x, T_inverse);
  space_.hat_blocks(x, hat);
  for_each_block([&]<class G>(G, const Block& b) {
    EXPECT_LT((matrix<G>(T, b) - G::tangent(tangent<G>(x, b))).norm(), 1e-14);
    EXPECT_LT((matrix<G>(T_inverse, b) - G::tangent_inverse(tangent<G>(x, b))).norm(), 1e-14);
    EXPECT_EQ(matrix<G>(hat, b), G::hat(tangent<G>(x, b)));
  });
}

TEST_F(MixedSpace, ProductsAgreeWithTheBlocks) {
  const Vector x = random_tangent(), y = random_tangent();
  Vector T = sized(space_.block_diagonal_size()), T_inverse = T, hat = T;
  space_.tangent_blocks(x, T);
  space_.tangent_inverse_blocks(x, T_inverse);
  space_.hat_blocks(x, hat);
  Vector Ty = sized(space_.nv()), T_inverse_y = Ty, bracket = Ty;
  space_.tangent(x, y, Ty);
  space_.tangent_inverse(x, y, T_inverse_y);
  space_.bracket(x, y, bracket);
  for_each_block([&]<class G>(G, const Block& b) {
    EXPECT_LT((matrix<G>(T, b) * tangent<G>(y, b) - tangent<G>(Ty, b)).norm(), 1e-13);
    EXPECT_LT((matrix<G>(T_inverse, b) * tangent<G>(y, b) - tangent<G>(T_inverse_y, b)).norm(), 1e-13);
    EXPECT_LT((matrix<G>(hat, b) * tangent<G>(y, b) - tangent<G>(bracket, b)).norm(), 1e-13);
  });
}

TEST_F(MixedSpace, EmbeddingIsRotationMatricesRowByRow) {
  const Vector q = random_point();
  Vector out = sized(space_.embedding_size());
  space_.embed(q, out);
  int at = 0;
  const auto expect_rotation = [&](const double* quaternion) {
    const Matrix3 R = rotation_matrix(quaternion);
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 3; ++column) EXPECT_EQ(out[at++], R(row, column));
  };
  for (const Block& block : space_.blocks()) {
    const int translation = block.group == GroupId::so3 ? 0 : block.group == GroupId::rn ? block.nq : 3;
    for (int i = 0; i < translation; ++i) EXPECT_EQ(out[at++], q[block.q_at + i]);
    if (block.group != GroupId::rn) expect_rotation(q.data() + block.q_at + translation);
  }
  EXPECT_EQ(at, space_.embedding_size());
}

TEST_F(MixedSpace, EmbeddingIgnoresTheSignOfQuaternions) {
  Vector q = random_point();
  Vector before = sized(space_.embedding_size()), after = before;
  space_.embed(q, before);
  q.head<4>() *= -1.0;
  space_.embed(q, after);
  EXPECT_EQ(before, after);
}

TEST_F(MixedSpace, WorksOnSegmentsOfLongerVectors) {
  const Vector q = random_point(), x = random_tangent();
  Vector expected = sized(space_.nq());
  space_.move(q, x, expected);
  Vector storage = sized(space_.nq() + 2);  // odd offset: no alignment may be assumed
  storage.segment(1, space_.nq()) = q;
  space_.move(storage.segment(1, space_.nq()), x, storage.segment(1, space_.nq()));
  EXPECT_EQ(storage.segment(1, space_.nq()), expected);
  EXPECT_EQ(storage[0], -99.0);
  EXPECT_EQ(storage[space_.nq() + 1], -99.0);
}

TEST(Space, OfVectorSpacesIsCommutative) {
  EXPECT_TRUE(Space({{GroupId::rn, 2}, {GroupId::rn, 7}}).is_commutative());
  EXPECT_TRUE(Space().is_commutative());
  EXPECT_FALSE(Space({{GroupId::rn, 2}, {GroupId::so3}}).is_commutative());
}

TEST(Space, WithoutFactorsHasNoDimension) {
  const Space space;
  EXPECT_EQ(space.nq(), 0);
  EXPECT_EQ(space.nv(), 0);
  Vector nothing;
  space.move(nothing, nothing, nothing);
}

TEST(Space, RefusesAnEmptyVectorSpaceAndNamesTheFactor) {
  try {
    Space({{GroupId::so3}, {GroupId::rn, 0}});
    FAIL() << "accepted rn without dimension";
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "space, factor 2 (rn): dimension is 0, expected at least 1");
  }
}

TEST(GroupNames, AreUniqueAndRoundTrip) {
  EXPECT_EQ(group_names(), (std::vector<std::string>{"rn", "so3", "r3xso3", "se3"}));
  for (const GroupId id : all_groups) EXPECT_EQ(group_named(name_of(id)), id);
}

TEST(GroupNames, UnknownOnesAreAnsweredWithTheNearest) {
  try {
    group_named("r3so3");
    FAIL() << "accepted an unknown group";
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "unknown group 'r3so3'; did you mean 'r3xso3'? known: rn, so3, r3xso3, se3");
  }
}

/// Neighbours on SE(3) move two at a time.
TEST(Space, MovesPairsOfRigidMotionsByTheBitsOfSingleOnes) {
  samples::Source source;
  const Space space({{GroupId::se3, 0}, {GroupId::se3, 0}, {GroupId::se3, 0}});
  Vector q(space.nq()), x(space.nv()), out(space.nq());
  for (const double angle : samples::angles())
    for (const double other : {1e-3, 0.3, 1.0}) {
      for (int b = 0; b < 3; ++b) {
        q.segment<7>(7 * b) = SE3::exp(source.vector<SE3::Tangent>());
        x.segment<6>(6 * b) = source.tangent<SE3>(b == 1 ? angle : other);
      }
      space.move(q, x, out);
      for (int b = 0; b < 3; ++b) {
        const SE3::Point start = q.segment<7>(7 * b), expected = SE3::compose(start, SE3::exp(x.segment<6>(6 * b)));
        EXPECT_EQ(SE3::Point(out.segment<7>(7 * b)), expected) << angle << ", block " << b;
      }
      space.move(q, x, q);
      EXPECT_EQ(q, out);
    }
}

}  // namespace
