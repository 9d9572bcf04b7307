// The program as a function, for inputs that libFuzzer makes.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

/// main of apps/kreisel/main.cpp under another name.
int kreisel_main(int count, char** words);

namespace kreisel::fuzz {

/// A file in memory that other code can open by its path.
class MemoryFile {
 public:
  MemoryFile(const void* data, std::size_t size) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ::write(descriptor_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Exit code 0 or 2; any other is a mistake of the program, as an uncaught exception would be.
inline int run_program(std::initializer_list<std::string> given) {
  std::vector<std::string> words{"kreisel"};
  words.insert(words.end(), given);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int code = kreisel_main(static_cast<int>(words.size()), pointers.data());
  if (code != 0 && code != 2) {
    std::fprintf(stderr, "kreisel ended with exit code %d\n", code);
    std::abort();
  }
  return code;
}

}  // namespace kreisel::fuzz
