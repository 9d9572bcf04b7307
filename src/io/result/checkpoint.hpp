// A run on disk, so that it can go on after a kill: FOLDER/checkpoint.
#pragma once

#include <string>

#include "io/files/files.hpp"
#include "io/spec/run_spec.hpp"

namespace kreisel::io {

inline constexpr const char* checkpoint_name = "checkpoint";

/// What is needed to prepare the same run again and to continue it bitwise.
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

/// Throws InvalidInput, with a sentence, for a folder without checkpoint and for one that is truncated, damaged or made
/// by another kreisel. Whether it belongs to a run, run::check_checkpoint knows.
Checkpoint read_checkpoint(const Path& folder);

void remove_checkpoint(const Path& folder);

}  // namespace kreisel::io
