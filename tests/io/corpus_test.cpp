// The seeds of the fuzzers (tests/fuzz), and what they or users have found: each is read or refused, nothing else.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/files/files.hpp"
#include "io/model_file/mesh_file.hpp"
#include "io/model_file/model_file.hpp"
#include "io/model_file/urdf.hpp"
#include "io/spec/step_words.hpp"
#include "io/temporary_folder.hpp"
#include "kreisel/error.hpp"
#include "multibody/expression.hpp"
#include "study/spec.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;

template <class Read>
void read_all(const char* folder, const Read& read) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(support::in_sources("tests/fuzz/corpus/") + folder)) {
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

TEST(Corpus, MeshesAreReadOrRefused) {
  for (const bool is_obj : {false, true})
    read_all("mesh", [&](const std::string& bytes) { io::mesh_in(bytes, is_obj); });
}

TEST(Corpus, StudiesAreReadOrRefused) {
  read_all("study_spec", [](const std::string& text) { study::parse_spec(io::JsonSource("corpus.json", text)); });
}

TEST(Corpus, FormulasAreReadOrRefused) {
  read_all("expression", [](const std::string& text) { multibody::Expression(text).at(0.5); });
}

TEST(Corpus, StepWordsAreReadOrRefused) {
  read_all("step_words", [](const std::string& text) { io::read_step_sequence(text); });
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

TEST(ModelFile, ManyElementsWithoutNamesAreReadInLinearTime) {
  std::string forces;
  for (int i = 0; i < 20'000; ++i)
    forces += std::string(i == 0 ? "" : ", ") + R"({"type": "applied", "on": "a", "force": [0, 0, 1]})";
  const std::string text =
      R"({"gravity": 0, "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}], "forces": [)" +
      forces + "]}";
  try {
    io::read_model(io::JsonSource("many.json", text));
    ADD_FAILURE() << "gravity is no vector";
  } catch (const InvalidInput& e) {
    EXPECT_EQ(std::string(e.what()), "many.json:1:13: /gravity: is 0, expected three numbers [x, y, z]");
  }
}

TEST(Urdf, ManyMistakesMakeAShortMessage) {
  std::string robot = "<robot name='r'>";
  for (int i = 0; i < 2000; ++i) robot += "<link name='link" + std::to_string(i) + "'/>";
  for (int i = 0; i < 2000; ++i)
    robot += "<joint name='j" + std::to_string(i) + "' type='fixed'><parent link='lonk'/><child link='link" +
             std::to_string(i) + "'/></joint>";
  try {
    io::import_urdf("r.urdf", robot + "</robot>");
    ADD_FAILURE() << "there is no link 'lonk'";
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("\n... and 1980 more"), std::string::npos);
    EXPECT_LT(std::string(e.what()).size(), 50'000u);
  }
}

TEST(ModelFile, FilesBeyondTheLimitAreRefused) {
  const kreisel::test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "kreisel_large.json";
  io::write_atomically(path, "{}");
  std::filesystem::resize_file(path, 100'000'000);
  EXPECT_THROW(io::read_model_file(path), InvalidInput);
}

}  // namespace
