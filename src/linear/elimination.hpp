// The order of a block elimination: when each block is eliminated, and which blocks it is connected to then.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "linear/block_matrix.hpp"

namespace kreisel::linear {

/// A pivot this small beside the largest entry of its block, or a multiplier this large, is not trusted: then the general
/// sparse solver, which may pivot across blocks, takes over for this matrix.
inline constexpr double smallest_pivot = 1e-11;
inline constexpr double largest_multiplier = 1e9;

/// The order in which blocks are eliminated and the blocks that remain connected to each.
struct Elimination {
  std::vector<int> order;
  std::vector<std::vector<int>> remaining;  ///< by block, sorted
  std::size_t work = 0;                     ///< multiplications of one factorisation
  bool is_complete = false;
};

/// Smallest degree first. Coordinates come before multipliers, of which the first has no diagonal entry; a multiplier waits
/// until a neighbour has been eliminated, also when it has a diagonal (η of the stabilised form): eliminated first, that pivot
/// would leave the neighbour nearly singular in the directions that the joint holds. Stops beyond the work limit.
Elimination eliminate(const BlockPattern& matrix, std::size_t work_limit = std::numeric_limits<std::size_t>::max());

}  // namespace kreisel::linear
