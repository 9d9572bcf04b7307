#include "base/seal.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "base/archive.hpp"
#include "kreisel/error.hpp"
#include "kreisel/version.hpp"

namespace kreisel {
namespace {

constexpr std::string_view magic = "kreisel checkpoint\n";
constexpr std::uint32_t format_version = 4;

struct Head {
  std::uint32_t version = format_version;
  std::uint64_t size = 0, checksum = 0;

  void exchange(Archive& a) { a.all(version, size, checksum); }
  static constexpr std::size_t bytes = sizeof version + sizeof size + sizeof checksum;
};

}  // namespace

std::string sealed(std::string_view content) {
  Archive origin;
  std::string made_by(commit());
  origin(made_by);
  const std::string body = origin.bytes() + std::string(content);
  Head head{.size = body.size(), .checksum = fingerprint_of(body)};
  Archive before;
  head.exchange(before);
  return std::string(magic) + before.bytes() + body;
}

std::string_view unsealed(std::string_view bytes, std::string_view what) {
  const auto refuse = [&](std::string_view why) {
    throw InvalidInput(fmt::format("{} {}; start the run from the beginning", what, why));
  };
  if (!bytes.starts_with(magic) && magic.starts_with(bytes)) refuse("is truncated");
  if (!bytes.starts_with(magic)) refuse("was not written by kreisel, or it is damaged");
  bytes.remove_prefix(magic.size());
  if (bytes.size() < Head::bytes) refuse("is truncated");
  Head head;
  Archive before(bytes);
  head.exchange(before);
  bytes.remove_prefix(Head::bytes);
  if (head.version != format_version)
    refuse(fmt::format("has format {}, this kreisel reads format {}", head.version, format_version));
  if (bytes.size() < head.size) refuse(fmt::format("is truncated: it has {} of {} bytes", bytes.size(), head.size));
  if (bytes.size() > head.size || fingerprint_of(bytes) != head.checksum) refuse("is damaged: its checksum is wrong");
  Archive origin(bytes);
  std::string made_by;
  origin(made_by);
  if (made_by != commit())
    refuse(fmt::format("was written by another build of kreisel ({}, this is {}), which may compute other bits",
                       made_by, commit()));
  return origin.rest();
}

}  // namespace kreisel
