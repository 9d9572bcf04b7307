// Marks the code that callgrind counts. Outside valgrind these calls are a handful of no-ops.
#pragma once

#include <valgrind/callgrind.h>

#include <string>

namespace bench {

/// Instructions count from here on. The program runs with --collect-atstart=no (bench/run), and what comes before with a tenth of the
/// time under --instr-atstart=no.
inline void start_counting() {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_TOGGLE_COLLECT;
}

/// Ends the count and writes it under `label`, which must be unique in the program's output.
inline void stop_counting(const std::string& label) {
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_DUMP_STATS_AT(label.c_str());
}

/// The whole of `work` under one label.
template <class Work>
void count(const std::string& label, Work&& work) {
  start_counting();
  work();
  stop_counting(label);
}

}  // namespace bench
