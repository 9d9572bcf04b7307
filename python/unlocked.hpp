// Computations without the interpreter lock, and how they stop when the program ends.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

namespace kreisel::python {

/// While it lives the lock is released and other threads run.
///
/// A thread that requests the lock while the interpreter shuts down never returns; in C++ that aborts the process.
/// So before the shutdown, computations of daemon threads are stopped and waited for.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  /// Whether the program is ending: then a computation must stop without requesting the lock again. Costs nothing.
  static bool shall_end();
  /// For atexit.
  static void end_all();

 private:
  std::optional<pybind11::gil_scoped_release> released_;
};

}  // namespace kreisel::python
