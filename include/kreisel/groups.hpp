// A configuration space: direct product of Lie groups over flat arrays q and v.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kreisel/types.hpp"

namespace kreisel::lie {

enum class GroupId { rn, so3, r3xso3, se3 };

std::string_view name_of(GroupId);
/// The group of that name; throws InvalidInput with the nearest match.
GroupId group_named(std::string_view name);
std::vector<std::string> group_names();

/// One factor of the product. `n` is the dimension, used only for rn.
struct Factor {
  GroupId group = GroupId::rn;
  int n = 0;
};

/// Where a factor is stored in q and v.
struct Block {
  GroupId group = GroupId::rn;
  int q_at = 0, nq = 0;
  int v_at = 0, nv = 0;
  int matrix_at = 0;  ///< offset of its nv x nv matrix in a BlockDiagonal
};

/// Left trivialised: q moves by q∘exp(x), [a,b] = hat(a) b, d/dt exp(x) = exp(x)·T(x)ẋ.
class Space {
 public:
  Space() = default;
  explicit Space(const std::vector<Factor>& factors);

  int nq() const { return nq_; }
  int nv() const { return nv_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  /// Number of doubles of a block-diagonal matrix with one nv x nv block per factor.
  int block_diagonal_size() const { return block_diagonal_size_; }
  /// True when every bracket vanishes (all factors rn).
  bool is_commutative() const { return is_commutative_; }

  void set_identity(VectorRef q) const;
  void move(ConstVectorRef q, ConstVectorRef x, VectorRef out) const;             ///< q∘exp(x); out may be q
  void difference(ConstVectorRef q0, ConstVectorRef q1, VectorRef out) const;     ///< log(q0⁻¹∘q1)
  void bracket(ConstVectorRef a, ConstVectorRef b, VectorRef out) const;          ///< hat(a) b; out is neither
  void tangent(ConstVectorRef x, ConstVectorRef y, VectorRef out) const;          ///< T(x) y; out is neither
  void tangent_inverse(ConstVectorRef x, ConstVectorRef y, VectorRef out) const;  ///< T(x)⁻¹ y; out is neither
  /// Column-major blocks of T(x), laid out by Block::matrix_at.
  void tangent_blocks(ConstVectorRef x, VectorRef out) const;
  void tangent_inverse_blocks(ConstVectorRef x, VectorRef out) const;
  /// Column-major blocks of hat(x).
  void hat_blocks(ConstVectorRef x, VectorRef out) const;

  /// The embedding in which errors are measured: n numbers for rn, R row-major for so3, x then R row-major else.
  int embedding_size() const { return embedding_size_; }
  void embed(ConstVectorRef q, VectorRef out) const;

 private:
  std::vector<Block> blocks_;
  int nq_ = 0, nv_ = 0, block_diagonal_size_ = 0, embedding_size_ = 0;
  bool is_commutative_ = true;
};

}  // namespace kreisel::lie
