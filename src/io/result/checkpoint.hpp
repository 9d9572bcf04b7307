// The state of a run on disk, from which it can be resumed after a kill: FOLDER/checkpoint.
#pragma once

#include <string>

#include "io/files/files.hpp"
#include "io/spec/run_spec.hpp"

namespace kreisel::io {

inline constexpr const char* checkpoint_name = "checkpoint";

/// Everything needed to prepare the same run again and to continue it bitwise.
struct Checkpoint {
  RunSpec spec;             ///< paths are absolute
  std::string format, log;  ///< as in ResultRequest
  std::string log_at;       ///< absolute
  std::string command;
  double every = 0.0;                  ///< [s] between checkpoints
  std::string output, run;             ///< states of the files and of the integration
  bool verifies = false;               ///< as in ResultRequest
  std::vector<std::string> columns{};  ///< as in ResultRequest
};

/// Written under another name, synced and renamed: an earlier checkpoint stays until the new one is complete. Sealed,
/// as the state of the run in it is (kreisel/base/seal.hpp).
void write_checkpoint(const Path& folder, Checkpoint& checkpoint);

/// Throws InvalidInput for a folder without a checkpoint, and for a checkpoint that is truncated, damaged or written
/// by another version of kreisel. run::check_checkpoint checks whether it belongs to a run.
Checkpoint read_checkpoint(const Path& folder);

void remove_checkpoint(const Path& folder);

}  // namespace kreisel::io
