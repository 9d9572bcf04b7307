#include "io/result/checkpoint.hpp"

#include <fmt/format.h>

#include "base/archive.hpp"
#include "base/seal.hpp"
#include "base/spelling.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr std::size_t size_limit = std::size_t{4} << 30;

void exchange(Archive& a, Checkpoint& c) {
  c.spec.exchange(a);
  a.all(c.format, c.log, c.log_at, c.command, c.every, c.output, c.run, c.verifies);
  a(c.columns, [](Archive& archive, std::string& name) { archive(name); });
}

}  // namespace

void write_checkpoint(const Path& folder, Checkpoint& checkpoint) {
  Archive content;
  exchange(content, checkpoint);
  write_atomically(folder / checkpoint_name, sealed(content.bytes()));
}

Checkpoint read_checkpoint(const Path& folder) {
  const Path path = folder / checkpoint_name;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw InvalidInput(fmt::format("there is no checkpoint in '{}': the run has ended, or it was not started with {}",
                                   folder.string(), spelled("checkpoint_every")));
  const std::string text = read_text(path, "checkpoint", size_limit);
  Archive a(unsealed(text, fmt::format("the checkpoint '{}'", path.string())));
  Checkpoint checkpoint;
  exchange(a, checkpoint);
  return checkpoint;
}

void remove_checkpoint(const Path& folder) {
  std::error_code ignored;
  std::filesystem::remove(folder / checkpoint_name, ignored);
  std::filesystem::remove(part_of(folder / checkpoint_name), ignored);  // of a run that was killed while it wrote one
}

}  // namespace kreisel::io
