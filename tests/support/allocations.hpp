// How often this program has asked for memory, by malloc, operator new or Eigen.
#pragma once

namespace kreisel::support {

/// Calls of malloc, calloc, realloc and the aligned variants since the program began, all threads together.
long allocation_count();

}  // namespace kreisel::support
