// What all assemblies of a mechanism share: its nodes and elements.
#pragma once

#include "multibody/assembly.hpp"

namespace kreisel::multibody {

struct Assembly::Parts {
  explicit Parts(Mechanism given);

  Mechanism mechanism;
  std::vector<Node> nodes;
  lie::Space space;
  std::vector<ElementPtr> elements;  ///< bodies, joints, forces, what rolls, others, rows of limits
  std::vector<int> rolling;          ///< joints that roll, in the order of their elements
  std::size_t first_rolling = 0;     ///< element
  std::vector<Facets> facets;        ///< by element
  std::vector<std::vector<int>> on;  ///< nodes by element, that of its states last
  std::vector<system::InputInfo> inputs;
  std::vector<int> depends_on;  ///< by element: the one whose multipliers it needs, -1: none
};

}  // namespace kreisel::multibody
