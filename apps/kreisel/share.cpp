// Files installed with the program: share/kreisel of the same prefix.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "command.hpp"
#include "kreisel/error.hpp"

namespace kreisel::apps {
namespace {

/// studies/heavy_top.json is called heavy-top, as models are.
std::string name_of(const io::Path& file) {
  std::string name = file.stem().string();
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::vector<io::Path> shipped_studies() {
  std::vector<io::Path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(share_folder() / "studies", error))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

io::Path share_folder() {
  std::error_code error;
  const io::Path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? io::Path() : program.parent_path().parent_path() / "share" / "kreisel";
}

std::vector<std::string> study_names() {
  std::vector<std::string> names;
  for (const io::Path& file : shipped_studies()) names.push_back(name_of(file));
  return names;
}

io::Path study_file(const std::string& spec) {
  std::error_code error;
  if (std::filesystem::exists(spec, error) || spec.find_first_of("/.") != std::string::npos) return spec;
  for (const io::Path& file : shipped_studies())
    if (name_of(file) == spec) return file;
  throw InvalidInput(fmt::format("there is no file '{0}', and {1}", spec, unknown_name("study", spec, study_names())));
}

}  // namespace kreisel::apps
