#include "io/files/files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "file_size_limit.hpp"
#include "kreisel/error.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;
using testing::Test;
namespace fs = std::filesystem;

class Files : public Test {
 protected:
  TemporaryFolder folder;
};

TEST_F(Files, ReadTextReturnsEveryByte) {
  const std::string text("a\0b\n\xff", 5);
  write_file(folder / "x", text);
  EXPECT_EQ(io::read_text(folder / "x", "model"), text);
}

TEST_F(Files, ReadTextSaysWhatIsMissing) {
  const std::string text = text_of<InvalidInput>([&] { io::read_text(folder / "nothing.json", "correction"); });
  EXPECT_NE(text.find("cannot read the correction"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing.json"), std::string::npos) << text;
  EXPECT_NE(text.find("No such file"), std::string::npos) << text;
}

TEST_F(Files, ReadTextRefusesFoldersAndHugeFiles) {
  EXPECT_THROW(io::read_text(folder.path(), "model"), InvalidInput);
  write_file(folder / "x", std::string(101, 'x'));
  EXPECT_THROW(io::read_text(folder / "x", "model", 100), InvalidInput);
  EXPECT_THROW(io::read_text("/dev/zero", "model", 1000), InvalidInput);
}

TEST_F(Files, WriteAtomicallyReplacesTheContentAndLeavesNothingElse) {
  io::write_atomically(folder / "x", "old");
  io::write_atomically(folder / "x", "new");
  EXPECT_EQ(content_of(folder / "x"), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST_F(Files, WriteAtomicallyKeepsTheOldContentWhenTheDiskIsFull) {
  io::write_atomically(folder / "x", "old");
  {
    const FileSizeLimit full(1000);
    const std::string text =
        text_of<EnvironmentError>([&] { io::write_atomically(folder / "x", std::string(5000, 'n')); });
    EXPECT_NE(text.find("cannot write"), std::string::npos) << text;
  }
  EXPECT_EQ(content_of(folder / "x"), "old");
  EXPECT_FALSE(fs::exists(io::part_of(folder / "x")));
}

TEST_F(Files, WriteAtomicallyKeepsLinksAndPermissions) {
  fs::create_directory(folder / "far");
  io::write_atomically(folder / "far/x", "old");
  fs::permissions(folder / "far/x", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("y", folder / "x");
  fs::create_symlink("far/x", folder / "y");
  io::write_atomically(folder / "x", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "x") && fs::is_symlink(folder / "y"));
  EXPECT_EQ(content_of(folder / "far/x"), "new");
  EXPECT_EQ(fs::status(folder / "far/x").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("far/nothing", folder / "z");
  io::write_atomically(folder / "z", "made");
  EXPECT_EQ(content_of(folder / "far/nothing"), "made");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "far"), {}), 2);
  fs::create_symlink("loop", folder / "loop");
  EXPECT_THROW(io::write_atomically(folder / "loop", "x"), InvalidInput);
}

TEST_F(Files, AReadingListKnowsWhatWasReadAndWhatItSaid) {
  write_file(folder / "a", "one");
  write_file(folder / "b", "two");
  const io::ReadingList outer;
  io::read_text(folder / "a", "model");
  {
    const io::ReadingList inner;
    io::read_text(folder / "b", "model");
    io::read_text(folder / "b", "model");
    ASSERT_EQ(inner.files().size(), 1u);
    EXPECT_EQ(inner.files()[0].path, (folder / "b").string());
  }
  ASSERT_EQ(outer.files().size(), 2u);
  EXPECT_NE(outer.files()[0].fingerprint, outer.files()[1].fingerprint);
  EXPECT_THROW(io::refuse_to_overwrite(outer.files(), folder / "b", "log"), InvalidInput);
  io::refuse_to_overwrite(outer.files(), folder / "c", "log");
}

TEST_F(Files, AFolderHasOneLock) {
  {
    const io::FolderLock lock(folder.path());
    const std::string text = text_of<InvalidInput>([&] { io::FolderLock second(folder.path()); });
    EXPECT_NE(text.find("is in use by process " + std::to_string(::getpid())), std::string::npos) << text;
    EXPECT_TRUE(fs::exists(folder / "lock"));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  const io::FolderLock again(folder.path());
}

TEST_F(Files, APartFileIsReadBackAlsoWithoutItsName) {
  io::PartFile file(folder / "x");
  file.append("one\ntwo\n");
  fs::remove(folder / "x.part");
  std::string text(20, ' ');
  text.resize(file.read_back(4, text.data(), text.size()));
  EXPECT_EQ(text, "two\n");
}

TEST_F(Files, APartFileHasItsNameOnlyAfterCommit) {
  io::PartFile file(folder / "x");
  file.append("one\n");
  file.flush();
  EXPECT_FALSE(fs::exists(folder / "x"));
  EXPECT_EQ(content_of(folder / "x.part"), "one\n");
  file.append("two\n");
  file.commit();
  EXPECT_EQ(content_of(folder / "x"), "one\ntwo\n");
  EXPECT_FALSE(fs::exists(folder / "x.part"));
}

TEST_F(Files, APartFileThatIsNotCommittedStaysWithAllItsLines) {
  { io::PartFile(folder / "x").append("one\n"); }
  EXPECT_EQ(content_of(folder / "x.part"), "one\n");
}

TEST_F(Files, ADiscardedPartFileLeavesNothing) {
  io::PartFile file(folder / "x");
  file.append("one\n");
  file.discard();
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST_F(Files, AFullDiskLeavesWholeLinesOnly) {
  const std::string line(99, 'x');
  io::PartFile file(folder / "x");
  file.append(line + "\n");
  file.flush();
  {
    const FileSizeLimit full(150);
    EXPECT_THROW(
        {
          file.append(line + "\n");
          file.flush();
        },
        EnvironmentError);
  }
  EXPECT_EQ(content_of(folder / "x.part"), line + "\n");
}

TEST_F(Files, ClaimResultFolderMakesParents) {
  EXPECT_TRUE(io::claim_result_folder(folder / "a/b/c"));
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  EXPECT_FALSE(io::claim_result_folder(folder / "a/b/c"));
}

TEST_F(Files, ClaimResultFolderTakesOldResultsButNothingElse) {
  fs::create_directory(folder / "result");
  write_file(folder / "result/summary.json", "{}");
  EXPECT_FALSE(io::claim_result_folder(folder / "result"));

  fs::create_directory(folder / "thesis");
  write_file(folder / "thesis/chapter1.tex", "important");
  const std::string text = text_of<InvalidInput>([&] { io::claim_result_folder(folder / "thesis"); });
  EXPECT_NE(text.find("no summary.json"), std::string::npos) << text;
  EXPECT_EQ(content_of(folder / "thesis/chapter1.tex"), "important");
}

TEST_F(Files, ClaimResultFolderRefusesWhatIsNoFolder) {
  write_file(folder / "file", "");
  EXPECT_THROW(io::claim_result_folder(folder / "file"), InvalidInput);
  EXPECT_THROW(io::claim_result_folder(folder / "file/below"), InvalidInput);
  EXPECT_THROW(io::claim_result_folder(""), InvalidInput);
}

TEST(FileErrors, AreTheUsersWhereAnotherPathHelps) {
  EXPECT_THROW(io::throw_file_error("cannot write", "x", EACCES), InvalidInput);
  EXPECT_THROW(io::throw_file_error("cannot write", "x", ENOENT), InvalidInput);
  EXPECT_THROW(io::throw_file_error("cannot write", "x", ENOSPC), EnvironmentError);
  EXPECT_THROW(io::throw_file_error("cannot write", "x", EIO), EnvironmentError);
}

}  // namespace
