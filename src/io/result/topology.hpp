// The structure of a mechanism: a graph of it, and which of its coordinates move.
#pragma once

#include <string>
#include <vector>

#include "multibody/assembly.hpp"

namespace kreisel::io {

/// Bodies as nodes, joints and forces as edges, in the language of Graphviz.
std::string graph_of(const multibody::Assembly& assembly);

/// The motions that the constraints allow at one position.
struct Freedom {
  enum class Kind { independent, follows, locked };
  struct Coordinate {
    std::string name;  ///< of the joint, or BODY.x, BODY.rotation.x
    std::string what;  ///< "angle", "displacement", "motion"
    Kind kind = Kind::locked;
  };
  int degrees = 0;
  /// Coordinates of joints; then those of bodies that, with the independent ones of joints, give the whole motion.
  std::vector<Coordinate> coordinates;
};
Freedom freedom_of(const multibody::Assembly& assembly, const lie::Motion& m);

}  // namespace kreisel::io
