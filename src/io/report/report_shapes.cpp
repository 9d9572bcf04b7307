#include "io/report/report_shapes.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <bit>

#include "io/json/base64.hpp"

namespace kreisel::io {
namespace {

std::vector<std::uint32_t> words_at(const Json& shape, const char* key) {
  std::vector<std::uint32_t> words;
  const auto text = shape.find(key);
  if (text == shape.end() || !text->is_string()) return words;
  const std::string bytes = from_base64(text->get_ref<const std::string&>());
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t word = 0;
    for (unsigned i = 0; i < 4; ++i)
      word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << 8U * i;
    words.push_back(word);
  }
  return words;
}

}  // namespace

Matrix3 rotation_of_shape(const Json& shape) {
  const auto given = shape.find("rotation");
  if (given == shape.end() || !given->is_array() || given->size() != 4) return Matrix3::Identity();
  if (!std::ranges::all_of(*given, [](const Json& value) { return value.is_number(); })) return Matrix3::Identity();
  const Eigen::Quaterniond q((*given)[3].get<double>(), (*given)[0].get<double>(), (*given)[1].get<double>(),
                             (*given)[2].get<double>());
  return q.norm() > 0.0 ? Matrix3(q.normalized().toRotationMatrix()) : Matrix3::Identity();
}

ShapeTriangles triangles_of_shape(const Json& shape) {
  ShapeTriangles out;
  const std::vector<std::uint32_t> numbers = words_at(shape, "points");
  const Matrix3 R = rotation_of_shape(shape);
  for (std::size_t i = 0; i + 3 <= numbers.size(); i += 3)
    out.points.emplace_back(R * Vector3(std::bit_cast<float>(numbers[i]), std::bit_cast<float>(numbers[i + 1]),
                                        std::bit_cast<float>(numbers[i + 2])));
  out.corners = words_at(shape, "corners");
  out.corners.resize(out.corners.size() / 3 * 3);
  if (!std::ranges::all_of(out.corners, [&](std::uint32_t corner) { return corner < out.points.size(); })) return {};
  return out;
}

}  // namespace kreisel::io
