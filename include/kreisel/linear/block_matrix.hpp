// A square block-sparse matrix over one partition of rows and columns.
#pragma once

#include <utility>
#include <vector>

#include "kreisel/base/types.hpp"

namespace kreisel::linear {

/// A symmetric matrix keeps its blocks on and below the diagonal only.
enum class Symmetry { none, symmetric };

class BlockMatrix {
 public:
  struct Entry {
    int row = 0, column = 0;  ///< block numbers
    int at = 0;               ///< offset of its column-major values
  };

  BlockMatrix() = default;
  /// `entries` may come in any order and repeat; of a symmetric matrix those above the diagonal are dropped.
  BlockMatrix(std::vector<int> block_sizes, std::vector<std::pair<int, int>> entries, Symmetry symmetry = Symmetry::none);

  int size() const { return size_; }
  bool is_symmetric() const { return symmetry_ == Symmetry::symmetric; }
  int block_count() const { return static_cast<int>(sizes_.size()); }
  int block_size(int b) const { return sizes_[b]; }
  int block_at(int b) const { return offsets_[b]; }
  const std::vector<Entry>& entries() const { return entries_; }
  int find(int row, int column) const;  ///< entry number, -1 when absent; for set-up, not for loops

  MatrixMap block(int entry) {
    const Entry& e = entries_[entry];
    return MatrixMap(values_.data() + e.at, sizes_[e.row], sizes_[e.column]);
  }
  ConstMatrixMap block(int entry) const {
    const Entry& e = entries_[entry];
    return ConstMatrixMap(values_.data() + e.at, sizes_[e.row], sizes_[e.column]);
  }
  const Vector& values() const { return values_; }
  Vector& values() { return values_; }

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

  Matrix to_dense() const;

 private:
  std::vector<int> sizes_, offsets_;
  std::vector<Entry> entries_;
  Vector values_;
  int size_ = 0;
  Symmetry symmetry_ = Symmetry::none;
};

}  // namespace kreisel::linear
