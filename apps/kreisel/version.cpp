#include <fmt/format.h>

#include <CLI/Version.hpp>
#include <Eigen/Core>

#include "command.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/version.hpp"

#if __has_include(<suitesparse/klu.h>)
#include <suitesparse/klu.h>
#elif __has_include(<klu.h>)
#include <klu.h>
#endif

namespace kreisel::apps {
namespace {

std::string klu_version() {
#ifdef KLU_MAIN_VERSION
  return fmt::format("{}.{}.{}", KLU_MAIN_VERSION, KLU_SUB_VERSION, KLU_SUBSUB_VERSION);
#else
  return "of unknown version";
#endif
}

}  // namespace

std::string version_text() {
  return fmt::format("kreisel {}\ncommit {}\ncompiler {}\nEigen {}.{}.{}\nKLU {}\nHDF5 {}\nCLI11 {}", version(),
                     commit(), compiler(), EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, klu_version(),
                     io::hdf5_version(), CLI11_VERSION);
}

}  // namespace kreisel::apps
