#include "kreisel/io/checkpoint.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "kreisel/base/archive.hpp"
#include "kreisel/base/error.hpp"
#include "kreisel/base/version.hpp"

namespace kreisel::io {
namespace {

constexpr std::string_view magic = "kreisel checkpoint\n";
constexpr std::uint32_t format_version = 2;
constexpr std::size_t size_limit = std::size_t{4} << 30;

/// Everything that decides what is computed.
std::uint64_t fingerprint_of_model(const PreparedRun& run) {
  Archive a;
  std::string name = run.model.name, group = run.model.group;
  system::Start start = run.model.start;
  a.all(name, group, start.t0, start.t_end, start.q0, start.v0);
  std::vector<std::string> words = run.model_parameters.listing();
  for (const std::string& word : run.options.method_parameters.listing()) words.push_back(word);
  for (const auto& [option, value] : run.request.options) words.push_back(option + "=" + value);
  if (run.request.model.find('/') != std::string::npos) words.push_back(read_text(run.request.model, "model file"));
  a(words, [](Archive& archive, std::string& word) { archive(word); });
  return fingerprint_of(a.bytes());
}

void exchange(Archive& a, Checkpoint& c) {
  a.all(c.request.model, c.request.group);
  a(c.request.settings, [](Archive& archive, std::string& text) { archive(text); });
  std::vector<std::pair<std::string, std::string>> options(c.request.options.begin(), c.request.options.end());
  a(options, [](Archive& archive, auto& option) { archive.all(option.first, option.second); });
  c.request.options = {options.begin(), options.end()};
  a.all(c.format, c.log, c.log_at, c.command, c.every, c.output, c.run);
}

/// What stands before the checkpoint itself.
struct Head {
  std::uint32_t version = format_version;
  std::uint64_t size = 0, checksum = 0;
};

[[noreturn]] void refuse(const Path& path, std::string_view why) {
  throw InvalidInput(fmt::format("the checkpoint '{}' {}; start the run anew", path.string(), why));
}

/// The content behind a head that fits it.
std::string_view checked(const Path& path, std::string_view text) {
  if (!text.starts_with(magic)) refuse(path, "is none of kreisel, or it is damaged");
  text.remove_prefix(magic.size());
  Head head;
  const std::size_t head_size = sizeof head.version + sizeof head.size + sizeof head.checksum;
  if (text.size() < head_size) refuse(path, "is truncated");
  Archive a(text);
  a.all(head.version, head.size, head.checksum);
  text.remove_prefix(head_size);
  if (head.version != format_version)
    refuse(path, fmt::format("has format {}, this kreisel reads format {}", head.version, format_version));
  if (text.size() < head.size) refuse(path, fmt::format("is truncated: it has {} of {} bytes", text.size(), head.size));
  if (text.size() > head.size || fingerprint_of(text) != head.checksum) refuse(path, "is damaged: its checksum is wrong");
  return text;
}

struct Origin {
  std::string commit;
  std::uint64_t model = 0;
};

Checkpoint read(const Path& folder, Origin& origin) {
  const Path path = folder / checkpoint_name;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    throw InvalidInput(fmt::format("there is no checkpoint in '{}': the run has ended, or it was not started with --checkpoint-every",
                                   folder.string()));
  const std::string text = read_text(path, "checkpoint", size_limit);
  Archive a(checked(path, text));
  Checkpoint checkpoint;
  try {
    a.all(origin.commit, origin.model);
    exchange(a, checkpoint);
  } catch (const InvalidInput&) {
    refuse(path, "is damaged");
  }
  return checkpoint;
}

}  // namespace

void write_checkpoint(const Path& folder, const PreparedRun& run, Checkpoint& checkpoint) {
  Archive content;
  Origin origin{std::string(commit()), fingerprint_of_model(run)};
  content.all(origin.commit, origin.model);
  exchange(content, checkpoint);
  Head head;
  head.size = content.bytes().size();
  head.checksum = fingerprint_of(content.bytes());
  Archive before;
  before.all(head.version, head.size, head.checksum);
  write_atomically(folder / checkpoint_name, std::string(magic) + before.bytes() + content.bytes());
}

Checkpoint read_checkpoint(const Path& folder) {
  Origin origin;
  Checkpoint checkpoint = read(folder, origin);
  if (origin.commit != commit())
    refuse(folder / checkpoint_name,
           fmt::format("was written by another build of kreisel ({}, this is {}), which may compute other bits", origin.commit, commit()));
  return checkpoint;
}

void require_same_model(const Path& folder, const PreparedRun& run) {
  Origin origin;
  read(folder, origin);
  if (origin.model != fingerprint_of_model(run))
    refuse(folder / checkpoint_name, fmt::format("belongs to another model: '{}' has changed since it was written", run.request.model));
}

void remove_checkpoint(const Path& folder) {
  std::error_code ignored;
  std::filesystem::remove(folder / checkpoint_name, ignored);
}

}  // namespace kreisel::io
