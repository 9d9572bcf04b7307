// Constraint rows of the system in force, as results number them.
#pragma once

#include <algorithm>
#include <vector>

#include "kreisel/system/pattern.hpp"

namespace kreisel::run {

/// Groups are matched by name, level and size; rows that only one side knows are left out.
class RowMap {
 public:
  RowMap(const system::Pattern& from, const system::Pattern& to) : target_(from.rows(), -1) {
    for (const system::RowGroup& group : from.groups())
      for (const system::RowGroup& match : to.groups())
        if (match.name == group.name && match.level == group.level && match.rows == group.rows)
          for (int i = 0; i < group.rows; ++i) target_[group.at + i] = match.at + i;
    is_identity_ = from.rows() == to.rows();
    for (int i = 0; i < from.rows(); ++i) is_identity_ = is_identity_ && target_[i] == i;
    loses_rows_ = std::count(target_.begin(), target_.end(), -1) > 0;
  }

  bool is_identity() const { return is_identity_; }
  bool loses_rows() const { return loses_rows_; }
  /// All rows or the position rows, which come first on both sides.
  void spread(ConstVectorRef rows, VectorRef out) const {
    out.setZero();
    for (Eigen::Index i = 0; i < rows.size(); ++i)
      if (target_[i] >= 0) out[target_[i]] = rows[i];
  }

 private:
  std::vector<int> target_;
  bool is_identity_ = true, loses_rows_ = false;
};

}  // namespace kreisel::run
