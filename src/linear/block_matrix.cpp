#include "kreisel/linear/block_matrix.hpp"

#include <algorithm>
#include <set>

namespace kreisel::linear {

BlockMatrix::BlockMatrix(std::vector<int> block_sizes, const std::vector<std::pair<int, int>>& entries)
    : sizes_(std::move(block_sizes)) {
  for (int s : sizes_) {
    offsets_.push_back(size_);
    size_ += s;
  }
  const std::set<std::pair<int, int>> sorted(entries.begin(), entries.end());
  int at = 0;
  for (const auto& [row, column] : sorted) {
    entries_.push_back({row, column, at});
    at += sizes_[row] * sizes_[column];
  }
  values_ = Vector::Zero(at);
}

int BlockMatrix::find(int row, int column) const {
  const std::pair<int, int> wanted{row, column};
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), wanted, [](const Entry& e, const auto& p) {
    return std::pair{e.row, e.column} < p;
  });
  if (at == entries_.end() || std::pair{at->row, at->column} != wanted) return -1;
  return static_cast<int>(at - entries_.begin());
}

Matrix BlockMatrix::to_dense() const {
  Matrix dense = Matrix::Zero(size_, size_);
  for (int e = 0; e < static_cast<int>(entries_.size()); ++e)
    dense.block(offsets_[entries_[e].row], offsets_[entries_[e].column], sizes_[entries_[e].row],
                sizes_[entries_[e].column]) = block(e);
  return dense;
}

}  // namespace kreisel::linear
