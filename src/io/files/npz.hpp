// Matrices for numpy: one .npz file, a ZIP archive of .npy arrays that are stored as they are.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/files/files.hpp"
#include "kreisel/types.hpp"

namespace kreisel::io {

struct NamedMatrix {
  std::string name;
  Matrix values;
};
struct NamedTexts {
  std::string name;
  std::vector<std::string> values;
};

/// numpy.load(path)[name]: float64 of two dimensions, and texts as one-dimensional arrays.
void write_npz(const Path& path, const std::vector<NamedMatrix>& matrices, const std::vector<NamedTexts>& texts);

}  // namespace kreisel::io
