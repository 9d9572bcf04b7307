#include "io/files/npz.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace kreisel::io {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

std::uint32_t checksum(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1u) != 0u ? 0xEDB88320u ^ (c >> 1) : c >> 1;
      all[i] = c;
    }
    return all;
  }();
  std::uint32_t c = ~0u;
  for (const char byte : bytes) c = table[(c ^ static_cast<unsigned char>(byte)) & 0xFFu] ^ (c >> 8);
  return ~c;
}

template <class Number>
void put(std::string& out, Number value) {
  char bytes[sizeof(Number)];
  std::memcpy(bytes, &value, sizeof(Number));
  out.append(bytes, sizeof(Number));
}

/// NEP 1: magic, version, length of the header, header padded to 64 bytes.
std::string npy(const std::string& type, const std::string& shape, bool is_by_columns, std::string_view bytes) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type,
                                   is_by_columns ? "True" : "False", shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, static_cast<std::uint16_t>(header.size()));
  return out.append(header).append(bytes);
}

std::string npy_of(const Matrix& values) {
  return npy("<f8", fmt::format("({}, {})", values.rows(), values.cols()), true,
             {reinterpret_cast<const char*>(values.data()), static_cast<std::size_t>(values.size()) * sizeof(double)});
}

std::u32string points_of(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const int more = byte < 0x80 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    char32_t point = more == 0 ? byte : byte & (0x3F >> more);
    for (int k = 1; k <= more && i + static_cast<std::size_t>(k) < text.size(); ++k)
      point = (point << 6) | (static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0x3F);
    out += point;
    i += static_cast<std::size_t>(more) + 1;
  }
  return out;
}

std::string npy_of(const std::vector<std::string>& texts) {
  std::size_t longest = 1;
  for (const std::string& text : texts) longest = std::max(longest, points_of(text).size());
  std::string bytes;
  for (const std::string& text : texts) {
    std::u32string points = points_of(text);
    points.resize(longest);
    for (const char32_t point : points) put(bytes, static_cast<std::uint32_t>(point));
  }
  return npy(fmt::format("<U{}", longest), fmt::format("({},)", texts.size()), false, bytes);
}

}  // namespace

void write_npz(const Path& path, const std::vector<NamedMatrix>& matrices, const std::vector<NamedTexts>& texts) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const NamedMatrix& matrix : matrices) members.emplace_back(matrix.name + ".npy", npy_of(matrix.values));
  for (const NamedTexts& list : texts) members.emplace_back(list.name + ".npy", npy_of(list.values));
  std::string out, directory;
  for (const auto& [name, bytes] : members) {
    const auto at = static_cast<std::uint32_t>(out.size()), size = static_cast<std::uint32_t>(bytes.size()),
               sum = checksum(bytes);
    // Version 2.0, no flags, stored, 1980-01-01.
    const auto common = [&, &name = name](std::string& to) {
      put<std::uint16_t>(to, 20);
      put<std::uint16_t>(to, 0);
      put<std::uint16_t>(to, 0);
      put<std::uint16_t>(to, 0);
      put<std::uint16_t>(to, 0x21);
      put(to, sum);
      put(to, size);
      put(to, size);
      put(to, static_cast<std::uint16_t>(name.size()));
      put<std::uint16_t>(to, 0);
    };
    put<std::uint32_t>(out, 0x04034b50);
    common(out);
    out.append(name).append(bytes);
    put<std::uint32_t>(directory, 0x02014b50);
    put<std::uint16_t>(directory, 20);
    common(directory);
    put<std::uint16_t>(directory, 0);
    put<std::uint16_t>(directory, 0);
    put<std::uint16_t>(directory, 0);
    put<std::uint32_t>(directory, 0);
    put(directory, at);
    directory.append(name);
  }
  const auto begin = static_cast<std::uint32_t>(out.size());
  out += directory;
  put<std::uint32_t>(out, 0x06054b50);
  put<std::uint32_t>(out, 0);
  for (int i = 0; i < 2; ++i) put(out, static_cast<std::uint16_t>(members.size()));
  put(out, static_cast<std::uint32_t>(directory.size()));
  put(out, begin);
  put<std::uint16_t>(out, 0);
  write_atomically(path, out);
}

}  // namespace kreisel::io
