// What the program is linked with: every library costs at every start.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "io/temporary_folder.hpp"
#include "io/trajectory/trajectory.hpp"
#include "program.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

TEST(Libraries, NoNetworkLibraryIsLoadedAtTheStart) {
  std::FILE* const pipe = ::popen(("ldd " + support::program_path()).c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string list;
  std::array<char, 4096> piece{};
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), pipe)) list.append(piece.data(), count);
  if (::pclose(pipe) != 0) GTEST_SKIP() << "there is no ldd";
  for (const char* name : {"hdf5", "curl", "ssl", "crypto", "ldap", "krb5"})
    EXPECT_EQ(list.find(name), std::string::npos) << list;
}

TEST(Libraries, Hdf5IsLoadedWhenAFileNeedsIt) {
  TemporaryFolder folder;
  const Outcome outcome =
      Process({"run", "pendulum", "--t-end", "0.1", "--step", "1e-3", "--format", "hdf5", "--out", "r", "--quiet"},
              folder.path())
          .wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.h5").values.rows(), 101);
}

}  // namespace
