// Which blocks of the linearised equations can be non-zero: coordinates come in the blocks of the Space, constraint
// rows in groups (a joint, a driver), and storage is one dense block per pair that touches.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kreisel/base/types.hpp"
#include "kreisel/lie/space.hpp"

namespace kreisel::system {

/// What the force row of a coordinate block means. `dynamic`: M v̇ + g + Bᵀλ. `state`: a first-order state z = q,
/// row v - f(t, q, v, λ), zero mass. `algebraic`: an index-1 unknown w = q, row s(t, q, v, λ), zero mass.
/// One mechanism carries all three: the BDF relation between q and v is the derivative of z, and determines w.
enum class CoordinateKind { dynamic, state, algebraic };

/// Φ(q,t) = 0, or A(q,t) v + a(q,t) = 0 (nonholonomic).
enum class RowLevel { position, velocity };

/// Rows that belong together, with the name that error messages use. Position groups come before velocity groups.
struct RowGroup {
  std::string name;
  int rows = 0;
  RowLevel level = RowLevel::position;
  std::vector<int> blocks;  ///< coordinate blocks it touches
  int at = 0;               ///< first row, set by Pattern
  bool is_driver = false;   ///< prescribes a motion instead of connecting bodies
};

class Pattern {
 public:
  /// A pair of coordinate blocks with entries in M, D or K.
  struct Coupling {
    int row = 0, column = 0;  ///< block numbers
    int at = 0;               ///< offset of its nv(row) x nv(column) values
  };
  /// A row group touching a coordinate block.
  struct Touch {
    int group = 0, block = 0;
    int at = 0;  ///< offset of its rows x nv(block) values
  };

  Pattern() = default;
  /// `couplings` lists off-diagonal pairs; the diagonal is always there.
  Pattern(const lie::Space& space, std::vector<RowGroup> groups, const std::vector<std::pair<int, int>>& couplings = {},
          std::vector<CoordinateKind> kinds = {}, std::vector<std::string> block_names = {});

  const std::vector<RowGroup>& groups() const { return groups_; }
  const std::vector<Coupling>& couplings() const { return couplings_; }
  const std::vector<Touch>& touches() const { return touches_; }
  int position_rows() const { return position_rows_; }
  int rows() const { return rows_; }
  int coupling_size() const { return coupling_size_; }
  int touch_size() const { return touch_size_; }
  CoordinateKind kind(int block) const { return kinds_[block]; }
  bool is_all_dynamic() const { return is_all_dynamic_; }
  const std::string& block_name(int block) const { return block_names_[block]; }
  /// "joint 'x' row 2", for messages.
  std::string row_name(int row) const;
  int coupling(int row_block, int column_block) const;  ///< index, -1 when absent
  int touch(int group, int block) const;                ///< index, -1 when absent

 private:
  std::vector<RowGroup> groups_;
  std::vector<Coupling> couplings_;
  std::vector<Touch> touches_;
  std::vector<CoordinateKind> kinds_;
  std::vector<std::string> block_names_;
  int position_rows_ = 0, rows_ = 0, coupling_size_ = 0, touch_size_ = 0;
  bool is_all_dynamic_ = true;
};

/// Values on a Pattern. M, D, K live on couplings; B, H, F on touches.
///   M = ∂force/∂v̇, D = ∂force/∂v, K = ∂force/∂q (trivialised), F = ∂force/∂λ (= Bᵀ unless forces depend on λ),
///   B = ∂Φ/∂q and A, H = ∂(B v + Φ_t)/∂q.
/// F is stored as nv(block) x rows.
struct KktBlocks {
  Vector M, D, K, B, H, F;

  KktBlocks() = default;
  explicit KktBlocks(const Pattern& pattern)
      : M(Vector::Zero(pattern.coupling_size())),
        D(Vector::Zero(pattern.coupling_size())),
        K(Vector::Zero(pattern.coupling_size())),
        B(Vector::Zero(pattern.touch_size())),
        H(Vector::Zero(pattern.touch_size())),
        F(Vector::Zero(pattern.touch_size())) {}

  void set_zero() {
    M.setZero();
    D.setZero();
    K.setZero();
    B.setZero();
    H.setZero();
    F.setZero();
  }
};

}  // namespace kreisel::system
