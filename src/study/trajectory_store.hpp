// Curves over time of all cases of a study, in HDF5: one file per writer, and an index with links to all of them.
#pragma once

#include "study/journal.hpp"

namespace kreisel::study {

inline constexpr const char* trajectories_name = "trajectories.h5";

/// FOLDER/trajectories.SUFFIX.h5, one per journal: a group per case, named by its key, with t and one dataset per curve.
/// FOLDER/trajectories.h5 has a link to every group, by the number of the case. Throws EnvironmentError.
void write_trajectories(const Spec& spec, const JournalIndex& journals, const io::Path& folder);

}  // namespace kreisel::study
