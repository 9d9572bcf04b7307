#include "kreisel/system.hpp"

#include <algorithm>
#include <set>

#include "kreisel/error.hpp"

namespace kreisel::system {

Pattern::Pattern(const lie::Space& space, std::vector<RowGroup> groups,
                 const std::vector<std::pair<int, int>>& couplings, std::vector<CoordinateKind> kinds,
                 std::vector<std::string> block_names)
    : groups_(std::move(groups)), kinds_(std::move(kinds)), block_names_(std::move(block_names)) {
  const int blocks = static_cast<int>(space.blocks().size());
  kinds_.resize(blocks, CoordinateKind::dynamic);
  for (int b = static_cast<int>(block_names_.size()); b < blocks; ++b)
    block_names_.push_back("block " + std::to_string(b));
  is_all_dynamic_ =
      std::all_of(kinds_.begin(), kinds_.end(), [](CoordinateKind k) { return k == CoordinateKind::dynamic; });

  std::set<std::pair<int, int>> pairs(couplings.begin(), couplings.end());
  for (int b = 0; b < blocks; ++b) pairs.insert({b, b});
  for (const auto& [row, column] : pairs) {
    couplings_.push_back({row, column, coupling_size_});
    coupling_size_ += space.blocks()[row].nv * space.blocks()[column].nv;
  }

  bool in_velocity_part = false;
  for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
    RowGroup& group = groups_[g];
    if (group.level == RowLevel::velocity) in_velocity_part = true;
    if (in_velocity_part && group.level == RowLevel::position)
      throw InvalidInput("constraint '" + group.name + "': position rows must come before velocity rows");
    group.at = rows_;
    rows_ += group.rows;
    if (group.level == RowLevel::position) position_rows_ += group.rows;
    std::sort(group.blocks.begin(), group.blocks.end());
    for (int b : group.blocks) {
      touches_.push_back({g, b, touch_size_});
      touch_size_ += group.rows * space.blocks()[b].nv;
    }
  }
}

std::string Pattern::row_name(int row) const {
  for (const RowGroup& group : groups_)
    if (row >= group.at && row < group.at + group.rows)
      return "'" + group.name + "' row " + std::to_string(row - group.at + 1);
  return "row " + std::to_string(row);
}

int Pattern::coupling(int row_block, int column_block) const {
  const auto before = [](const Coupling& c, const std::pair<int, int>& p) { return std::pair{c.row, c.column} < p; };
  const std::pair<int, int> wanted{row_block, column_block};
  const auto at = std::lower_bound(couplings_.begin(), couplings_.end(), wanted, before);
  if (at == couplings_.end() || std::pair{at->row, at->column} != wanted) return -1;
  return static_cast<int>(at - couplings_.begin());
}

int Pattern::touch(int group, int block) const {
  const auto before = [](const Touch& t, const std::pair<int, int>& p) { return std::pair{t.group, t.block} < p; };
  const std::pair<int, int> wanted{group, block};
  const auto at = std::lower_bound(touches_.begin(), touches_.end(), wanted, before);
  if (at == touches_.end() || std::pair{at->group, at->block} != wanted) return -1;
  return static_cast<int>(at - touches_.begin());
}

}  // namespace kreisel::system
