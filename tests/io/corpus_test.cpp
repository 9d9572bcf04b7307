// Inputs with every key there is, and those that once broke a reader: each is read or refused, nothing else.
#include <gtest/gtest.h>

#include <filesystem>

#include "kreisel/base/error.hpp"
#include "kreisel/io/files.hpp"
#include "kreisel/io/model_file.hpp"
#include "kreisel/io/urdf.hpp"

namespace {

using namespace kreisel;

template <class Read>
void read_all(const char* folder, const Read& read) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(KREISEL_SOURCE_DIR "/tests/fuzz/corpus/") + folder)) {
    ++count;
    try {
      read(io::read_text(entry.path(), "input"));
    } catch (const InvalidInput& e) {
      EXPECT_NE(std::string(e.what()), "") << entry.path();
    }
  }
  EXPECT_GT(count, 0);
}

TEST(Corpus, ModelFilesAreReadOrRefused) {
  read_all("model_file", [](const std::string& text) { io::read_model(io::JsonSource("corpus.json", text)); });
}

TEST(Corpus, RobotsAreReadOrRefused) {
  read_all("urdf", [](const std::string& text) { io::import_urdf("corpus.urdf", text); });
}

TEST(ModelFile, DeepNestingIsRefusedInBoundedMemory) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 500'000; ++i) deep += open;
    EXPECT_THROW(io::read_model(io::JsonSource("deep.json", deep)), InvalidInput);
  }
  std::string closed = "{\"bodies\": " + std::string(500'000, '[') + std::string(500'000, ']') + "}";
  EXPECT_THROW(io::read_model(io::JsonSource("deep.json", closed)), InvalidInput);
}

TEST(ModelFile, FilesBeyondTheLimitAreRefused) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "kreisel_large.json";
  io::write_atomically(path, "{}");
  std::filesystem::resize_file(path, 100'000'000);
  EXPECT_THROW(io::read_model_file(path), InvalidInput);
  std::filesystem::remove(path);
}

}  // namespace
