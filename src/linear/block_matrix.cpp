#include "kreisel/linear/block_matrix.hpp"

#include <algorithm>

namespace kreisel::linear {

BlockMatrix::BlockMatrix(std::vector<int> block_sizes, std::vector<std::pair<int, int>> entries, Symmetry symmetry)
    : sizes_(std::move(block_sizes)), symmetry_(symmetry) {
  offsets_.reserve(sizes_.size());
  for (int s : sizes_) {
    offsets_.push_back(size_);
    size_ += s;
  }
  if (is_symmetric()) std::erase_if(entries, [](const auto& e) { return e.first < e.second; });
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  entries_.reserve(entries.size());
  int at = 0;
  for (const auto& [row, column] : entries) {
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
  for_each_number([&](int row, int column, int index) { dense(row, column) = values_[index]; });
  return dense;
}

}  // namespace kreisel::linear
