// Computations without the lock of the interpreter, and their end when the program ends.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

namespace kreisel::python {

/// While it lives the lock is released and other threads run.
///
/// A thread that asks for the lock while the interpreter shuts down never returns; in C++ that ends the process with an
/// abort. So before it goes down computations of daemon threads are told to end, and waited for.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  /// Whether the program ends: then a computation does so too, without asking for the lock again. Costs nothing.
  static bool shall_end();
  /// For atexit.
  static void end_all();

 private:
  std::optional<pybind11::gil_scoped_release> released_;
};

}  // namespace kreisel::python
