#include "elimination.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace kreisel::linear {
namespace {

/// Sorted lists of neighbours, without the block itself.
std::vector<std::vector<int>> neighbours_in(const BlockPattern& matrix) {
  std::vector<std::vector<int>> neighbours(matrix.block_count());
  for (const BlockPattern::Entry& e : matrix.entries())
    if (e.row != e.column) {
      neighbours[e.row].push_back(e.column);
      neighbours[e.column].push_back(e.row);
    }
  for (std::vector<int>& list : neighbours) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return neighbours;
}

}  // namespace

Elimination eliminate(const BlockPattern& matrix, std::size_t work_limit) {
  const int n = matrix.block_count();
  std::vector<std::vector<int>> neighbours = neighbours_in(matrix);
  std::vector<bool> has_pivot(n, false), is_done(n, false);
  for (const BlockPattern::Entry& e : matrix.entries())
    if (e.row == e.column) has_pivot[e.row] = true;
  Elimination out;
  out.remaining.resize(n);
  out.order.reserve(n);
  // Entries (degree, block) go stale when a degree changes; the valid one is among those that follow.
  using Candidate = std::pair<std::size_t, int>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  for (int b = 0; b < n && has_pivot[b]; ++b) queue.push({neighbours[b].size(), b});
  std::vector<int> joined;
  while (!queue.empty()) {
    const auto [degree, b] = queue.top();
    queue.pop();
    if (is_done[b] || degree != neighbours[b].size()) continue;
    std::vector<int>& list = neighbours[b];
    std::size_t width = 0;
    for (const int i : list) width += matrix.block_size(i);
    const std::size_t size = matrix.block_size(b);
    out.work += size * (size * size + size * width + width * width);
    if (out.work > work_limit) return out;
    for (const int i : list) {
      joined.clear();
      std::set_union(neighbours[i].begin(), neighbours[i].end(), list.begin(), list.end(), std::back_inserter(joined));
      std::erase_if(joined, [b = b, i](int j) { return j == b || j == i; });
      neighbours[i].assign(joined.begin(), joined.end());
      queue.push({neighbours[i].size(), i});
    }
    is_done[b] = true;
    out.order.push_back(b);
    out.remaining[b] = std::move(list);
    list.clear();
  }
  out.is_complete = static_cast<int>(out.order.size()) == n;
  return out;
}

}  // namespace kreisel::linear
