// A square block-sparse matrix over one partition of rows and columns.
#pragma once

#include <complex>
#include <utility>
#include <vector>

#include "kreisel/types.hpp"

namespace kreisel::linear {

/// A symmetric matrix keeps its blocks on and below the diagonal only.
enum class Symmetry { none, symmetric };

/// The blocks and the offsets of their values.
class BlockPattern {
 public:
  struct Entry {
    int row = 0, column = 0;  ///< block numbers
    int at = 0;               ///< offset of its column-major values
  };

  BlockPattern() = default;
  /// `entries` may come in any order and repeat; of a symmetric matrix those above the diagonal are dropped.
  BlockPattern(std::vector<int> block_sizes, std::vector<std::pair<int, int>> entries,
               Symmetry symmetry = Symmetry::none);

  int size() const { return size_; }
  bool is_symmetric() const { return symmetry_ == Symmetry::symmetric; }
  int block_count() const { return static_cast<int>(sizes_.size()); }
  int block_size(int b) const { return sizes_[b]; }
  int block_at(int b) const { return offsets_[b]; }
  const std::vector<Entry>& entries() const { return entries_; }
  int find(int row, int column) const;                ///< entry number, -1 when absent; for set-up, not for loops
  int number_count() const { return number_count_; }  ///< of stored numbers

  /// visit(row, column, index into values()) for every number of the matrix, mirrored ones included.
  template <class Visit>
  void for_each_number(const Visit& visit) const {
    for (const Entry& e : entries_)
      for (int j = 0; j < sizes_[e.column]; ++j)
        for (int i = 0; i < sizes_[e.row]; ++i) {
          const int row = offsets_[e.row] + i, column = offsets_[e.column] + j, index = e.at + j * sizes_[e.row] + i;
          visit(row, column, index);
          if (is_symmetric() && e.row != e.column) visit(column, row, index);
        }
  }

 private:
  std::vector<int> sizes_, offsets_;
  std::vector<Entry> entries_;
  int size_ = 0, number_count_ = 0;
  Symmetry symmetry_ = Symmetry::none;
};

/// Scalar is double or std::complex<double>.
template <class Scalar>
class BlockMatrixOf : public BlockPattern {
 public:
  using Values = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

  BlockMatrixOf() = default;
  explicit BlockMatrixOf(BlockPattern pattern)
      : BlockPattern(std::move(pattern)), values_(Values::Zero(number_count())) {}
  BlockMatrixOf(std::vector<int> block_sizes, std::vector<std::pair<int, int>> entries,
                Symmetry symmetry = Symmetry::none)
      : BlockMatrixOf(BlockPattern(std::move(block_sizes), std::move(entries), symmetry)) {}

  Eigen::Map<Dense> block(int entry) {
    const Entry& e = entries()[entry];
    return Eigen::Map<Dense>(values_.data() + e.at, block_size(e.row), block_size(e.column));
  }
  Eigen::Map<const Dense> block(int entry) const {
    const Entry& e = entries()[entry];
    return Eigen::Map<const Dense>(values_.data() + e.at, block_size(e.row), block_size(e.column));
  }
  /// The pattern of the transposed matrix, and its values from those of this one.
  BlockPattern transposed_pattern() const {
    std::vector<int> sizes;
    std::vector<std::pair<int, int>> places;
    for (int b = 0; b < block_count(); ++b) sizes.push_back(block_size(b));
    for (const Entry& e : entries()) places.push_back({e.column, e.row});
    return {std::move(sizes), std::move(places)};
  }
  const Values& values() const { return values_; }
  Values& values() { return values_; }

  Dense to_dense() const {
    Dense dense = Dense::Zero(size(), size());
    for_each_number([&](int row, int column, int index) { dense(row, column) = values_[index]; });
    return dense;
  }

 private:
  Values values_;
};

using BlockMatrix = BlockMatrixOf<double>;
using ComplexBlockMatrix = BlockMatrixOf<std::complex<double>>;

}  // namespace kreisel::linear
