#include "linear/block_matrix.hpp"

#include <algorithm>

namespace kreisel::linear {

BlockPattern::BlockPattern(std::vector<int> block_sizes, std::vector<std::pair<int, int>> entries, Symmetry symmetry)
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
  number_count_ = at;
}

int BlockPattern::find(int row, int column) const {
  const std::pair<int, int> wanted{row, column};
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), wanted, [](const Entry& e, const auto& p) {
    return std::pair{e.row, e.column} < p;
  });
  if (at == entries_.end() || std::pair{at->row, at->column} != wanted) return -1;
  return static_cast<int>(at - entries_.begin());
}

}  // namespace kreisel::linear
