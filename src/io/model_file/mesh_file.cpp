#include "io/model_file/mesh_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

using multibody::Triangles;
using Point = Eigen::Vector3f;

constexpr std::size_t most_triangles = 20'000;
constexpr std::size_t most_bytes = std::size_t{1} << 30;

struct PointHash {
  std::size_t operator()(const Point& p) const {
    std::size_t hash = 0;
    for (const float value : p) hash = hash * 1'000'003U + std::bit_cast<std::uint32_t>(value);
    return hash;
  }
};

/// Collects triangles, each given by its corners; equal corners become one point.
class Welder {
 public:
  std::uint32_t point(const Point& p) {
    // -0 and 0 are equal and have different bits.
    const Point plain = p + Point::Zero();
    const auto [found, is_new] = numbers_.try_emplace(plain, static_cast<std::uint32_t>(out_.points.size()));
    if (is_new) out_.points.push_back(plain);
    return found->second;
  }
  void triangle(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    if (a != b && b != c && a != c) out_.corners.insert(out_.corners.end(), {a, b, c});
  }
  Triangles take() { return std::move(out_); }

 private:
  Triangles out_;
  std::unordered_map<Point, std::uint32_t, PointHash> numbers_;
};

float single_at(std::string_view bytes, std::size_t at) {
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < 4; ++i)
    bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << 8U * i;
  return std::bit_cast<float>(bits);
}

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  return std::bit_cast<std::uint32_t>(single_at(bytes, at));
}

constexpr std::size_t stl_header = 84, stl_triangle = 50;

/// The size decides: binary files may begin with "solid", too.
bool is_binary_stl(std::string_view bytes) {
  return bytes.size() >= stl_header && bytes.size() == stl_header + stl_triangle * std::size_t{word_at(bytes, 80)};
}

Triangles binary_stl(std::string_view bytes) {
  Welder out;
  for (std::size_t at = stl_header; at < bytes.size(); at += stl_triangle) {
    std::array<std::uint32_t, 3> corners{};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t from = at + 12 + 12 * i;  // after the normal
      corners[i] = out.point({single_at(bytes, from), single_at(bytes, from + 4), single_at(bytes, from + 8)});
    }
    out.triangle(corners[0], corners[1], corners[2]);
  }
  return out.take();
}

/// The words of a line.
std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t from = line.find_first_not_of(" \t\r");
    if (from == std::string_view::npos) return words;
    const std::size_t to = std::min(line.find_first_of(" \t\r", from), line.size());
    words.push_back(line.substr(from, to - from));
    line.remove_prefix(to);
  }
}

template <class Read>
void for_each_line(std::string_view text, const Read& read) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    read(number, words_in(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

[[noreturn]] void refuse_line(std::size_t line, std::string_view expected) {
  throw InvalidInput(fmt::format("line {}: expected {}", line, expected));
}

Point point_in(std::size_t line, const std::vector<std::string_view>& words) {
  Point p = Point::Zero();
  if (words.size() < 4) refuse_line(line, "three coordinates");
  for (std::size_t i = 0; i < 3; ++i) {
    const std::optional<double> value = number_in(words[i + 1]);
    if (!value || !std::isfinite(*value)) refuse_line(line, "three coordinates");
    p[static_cast<Eigen::Index>(i)] = static_cast<float>(*value);
  }
  return p;
}

Triangles text_stl(std::string_view text) {
  Welder out;
  std::vector<std::uint32_t> corners;
  for_each_line(text, [&](std::size_t line, const std::vector<std::string_view>& words) {
    if (words.empty()) return;
    if (words[0] == "vertex") {
      corners.push_back(out.point(point_in(line, words)));
    } else if (words[0] == "endloop") {
      if (corners.size() != 3) refuse_line(line, "three vertices in a loop");
      out.triangle(corners[0], corners[1], corners[2]);
      corners.clear();
    }
  });
  return out.take();
}

/// Faces of OBJ are polygons; they become fans.
Triangles obj(std::string_view text) {
  Welder out;
  std::vector<std::uint32_t> points;
  for_each_line(text, [&](std::size_t line, const std::vector<std::string_view>& words) {
    if (words.empty()) return;
    if (words[0] == "v") points.push_back(out.point(point_in(line, words)));
    if (words[0] != "f") return;
    std::vector<std::uint32_t> corners;
    for (std::size_t i = 1; i < words.size(); ++i) {
      // "12/3/4": point, texture, normal; negative numbers count from the end.
      const std::optional<double> number = number_in(words[i].substr(0, words[i].find('/')));
      const auto count = static_cast<double>(points.size());
      const double index = !number ? 0.0 : *number < 0.0 ? count + *number + 1.0 : *number;
      if (!(index >= 1.0 && index <= count) || index != std::floor(index))
        refuse_line(line, fmt::format("numbers of points, of which there are {} so far", points.size()));
      corners.push_back(points[static_cast<std::size_t>(index) - 1]);
    }
    if (corners.size() < 3) refuse_line(line, "a face of three points or more");
    for (std::size_t i = 2; i < corners.size(); ++i) out.triangle(corners[0], corners[i - 1], corners[i]);
  });
  return out.take();
}

/// Points of a cell of a grid become one, their mean.
Triangles clustered(const Triangles& mesh, int cells) {
  Point low = mesh.points.front(), high = low;
  for (const Point& p : mesh.points) low = low.cwiseMin(p), high = high.cwiseMax(p);
  // In double precision: differences of large coordinates overflow otherwise.
  const Vector3 origin = low.cast<double>();
  const double cell = std::max((high.cast<double>() - origin).maxCoeff() / cells, std::numeric_limits<double>::min());
  std::map<std::array<int, 3>, std::uint32_t> numbers;
  std::vector<std::uint32_t> cluster;
  std::vector<Vector3> sums;
  std::vector<int> counts;
  for (const Point& p : mesh.points) {
    std::array<int, 3> place{};
    for (int i = 0; i < 3; ++i) place[static_cast<std::size_t>(i)] = static_cast<int>((p[i] - origin[i]) / cell);
    const auto [found, is_new] = numbers.try_emplace(place, static_cast<std::uint32_t>(sums.size()));
    if (is_new) sums.emplace_back(Vector3::Zero()), counts.push_back(0);
    sums[found->second] += p.cast<double>();
    ++counts[found->second];
    cluster.push_back(found->second);
  }
  Triangles out;
  for (std::size_t i = 0; i < sums.size(); ++i) out.points.push_back((sums[i] / counts[i]).cast<float>());
  std::set<std::array<std::uint32_t, 3>> seen;
  for (std::size_t i = 0; i + 2 < mesh.corners.size(); i += 3) {
    std::array<std::uint32_t, 3> t{cluster[mesh.corners[i]], cluster[mesh.corners[i + 1]],
                                   cluster[mesh.corners[i + 2]]};
    if (t[0] == t[1] || t[1] == t[2] || t[0] == t[2]) continue;
    std::rotate(t.begin(), std::min_element(t.begin(), t.end()), t.end());
    if (seen.insert(t).second) out.corners.insert(out.corners.end(), t.begin(), t.end());
  }
  return out;
}

Triangles coarse_enough(Triangles mesh) {
  if (mesh.corners.size() <= 3 * most_triangles) return mesh;
  for (const int cells : {256, 192, 128, 96, 64, 48, 32, 16}) {
    Triangles coarser = clustered(mesh, cells);
    if (coarser.corners.size() <= 3 * most_triangles) return coarser;
  }
  return clustered(mesh, 8);
}

std::string lower_ending(const Path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

}  // namespace

multibody::Triangles mesh_in(std::string_view bytes, bool is_obj) {
  Triangles mesh = is_obj ? obj(bytes) : is_binary_stl(bytes) ? binary_stl(bytes) : text_stl(bytes);
  if (mesh.corners.empty()) throw InvalidInput("it has no triangles, or it is cut off");
  if (!std::ranges::all_of(mesh.points, [](const Point& p) { return p.allFinite(); }))
    throw InvalidInput("it has coordinates that are not finite");
  return coarse_enough(std::move(mesh));
}

multibody::Triangles read_mesh(const Path& path) {
  const std::string ending = lower_ending(path);
  if (ending != ".stl" && ending != ".obj")
    throw InvalidInput(fmt::format("'{}' is not a mesh that kreisel reads; expected .stl or .obj", path.string()));
  const std::string bytes = read_text(path, "mesh", most_bytes);
  try {
    return mesh_in(bytes, ending == ".obj");
  } catch (const InvalidInput& problem) {
    throw InvalidInput(fmt::format("'{}': {}", path.string(), problem.what()));
  }
}

Path find_mesh(const Path& folder, const std::string& name) {
  const std::size_t scheme = name.find("://");
  const Path within = scheme == std::string::npos ? name : name.substr(scheme + 3);
  if (within.empty() || name.find('\0') != std::string::npos) throw InvalidInput("it has no file name");
  std::error_code error;
  std::vector<Path> candidates;
  if (scheme == std::string::npos || name.starts_with("file://")) {
    candidates.push_back(folder / within);
  } else {
    // The name of the package, which may be that of a folder above, or the folder above itself.
    const Path in_package = within.lexically_relative(*within.begin());
    Path above = std::filesystem::absolute(folder, error).lexically_normal();
    for (int level = 0; level < 6; ++level, above = above.parent_path()) {
      candidates.push_back(above / within);
      candidates.push_back(above / in_package);
    }
  }
  for (const Path& candidate : candidates)
    if (std::filesystem::is_regular_file(candidate, error))
      return std::filesystem::absolute(candidate, error).lexically_normal();
  throw InvalidInput(fmt::format("there is no such file at '{}'{}", candidates.front().string(),
                                 scheme == std::string::npos ? "" : " or in the folders above it"));
}

void for_each_mesh_file(Json& model, const std::function<void(Json& file)>& each) {
  const auto visit = [&](Json& shape) {
    const auto mesh = shape.is_object() ? shape.find("mesh") : shape.end();
    if (mesh == shape.end() || !mesh->is_object()) return;
    if (const auto file = mesh->find("file"); file != mesh->end() && file->is_string()) each(*file);
  };
  const auto bodies = model.is_object() ? model.find("bodies") : model.end();
  if (bodies == model.end() || !bodies->is_array()) return;
  for (Json& body : *bodies) {
    if (!body.is_object()) continue;
    if (body.contains("shape")) visit(body["shape"]);
    if (body.contains("shapes") && body["shapes"].is_array())
      for (Json& shape : body["shapes"]) visit(shape);
  }
}

void resolve_mesh_files(Json& model, const Path& folder) {
  for_each_mesh_file(model, [&](Json& file) {
    std::error_code error;
    const Path whole = std::filesystem::absolute(folder / file.get<std::string>(), error);
    if (!error) file = whole.lexically_normal().string();
  });
}

}  // namespace kreisel::io
