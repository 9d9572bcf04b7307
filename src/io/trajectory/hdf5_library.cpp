#include "hdf5_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/spelling.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

/// Of 1.10, 1.12 and 1.14; the functions used here are the same in all of them. Debian gives the serial library another
/// name.
constexpr const char* names[] = {
#ifdef __APPLE__
    "libhdf5.dylib",
    "libhdf5.103.dylib",
    "libhdf5.200.dylib",
    "libhdf5.310.dylib",
#else
    "libhdf5_serial.so.103", "libhdf5.so.103",        "libhdf5_serial.so.200",
    "libhdf5.so.200",        "libhdf5_serial.so.310", "libhdf5.so.310",
#endif
};

struct Library {
  void* handle = nullptr;
  std::string trouble;

  Library() {
    for (const char* name : names)
      if (handle == nullptr) handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
      trouble = fmt::format(
          "the HDF5 library is not installed (looked for {}); install it, on Debian libhdf5-103-1, or write CSV with "
          "{} csv",
          fmt::join(names, ", "), spelled("format"));
  }
};

/// Stays loaded until the program ends: HDF5 closes its files in an exit handler.
const Library& library() {
  static const Library the_library;
  return the_library;
}

}  // namespace

const std::string& trouble_with_hdf5() { return library().trouble; }

void* hdf5_symbol(const char* name) {
  if (library().handle == nullptr) throw EnvironmentError(library().trouble);
  void* const found = ::dlsym(library().handle, name);
  if (found == nullptr)
    throw EnvironmentError(fmt::format("the HDF5 library has no {}; install HDF5 1.10 to 1.14", name));
  return found;
}

}  // namespace kreisel::io
