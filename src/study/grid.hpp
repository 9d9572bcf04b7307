// The grid of a study: every combination of the values it lists.
#pragma once

#include "spec_reader.hpp"
#include "study/spec.hpp"

namespace kreisel::study {

/// All cases of the file, with labels and specs.
std::vector<Case> expand_grid(const SpecObject& root, const Spec& spec, const OwnModels& own_models);

/// The cases of the study; those that match run with what `mutation` has under "change".
std::vector<Case> mutated_cases(const SpecObject& mutation, const Spec& spec, const Json& where);

/// The abscissa that the cases suggest.
std::string natural_abscissa(const std::vector<Case>& cases);

}  // namespace kreisel::study
