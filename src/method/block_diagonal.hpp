// Matrices that couple no two blocks of coordinates, laid out by Block::matrix_at.
#pragma once

#include <algorithm>

#include "kreisel/groups.hpp"
#include "kreisel/types.hpp"

namespace kreisel::method {

/// Blocks with brackets; on ℝⁿ nothing turns.
inline bool has_brackets(const lie::Block& block) { return block.group != lie::GroupId::rn; }

/// factor·I.
void set_multiple_of_identity(const lie::Space& space, double factor, VectorRef blocks);

/// right = left⁻¹ right in the blocks with brackets; left is overwritten.
void divide_blocks(const lie::Space& space, VectorRef left, VectorRef right);

/// Adds factor times the linear map `map(direction, image)` to the blocks with brackets, one column of all of them at a time.
template <class Map>
void add_columns(const lie::Space& space, double factor, const Map& map, Vector& direction, Vector& image,
                 VectorRef blocks) {
  int columns = 0;
  for (const lie::Block& block : space.blocks())
    if (has_brackets(block)) columns = std::max(columns, block.nv);
  for (int column = 0; column < columns; ++column) {
    direction.setZero();
    for (const lie::Block& block : space.blocks())
      if (has_brackets(block) && column < block.nv) direction[block.v_at + column] = 1.0;
    map(direction, image);
    for (const lie::Block& block : space.blocks())
      if (has_brackets(block) && column < block.nv)
        blocks.segment(block.matrix_at + column * block.nv, block.nv) += factor * image.segment(block.v_at, block.nv);
  }
}

}  // namespace kreisel::method
