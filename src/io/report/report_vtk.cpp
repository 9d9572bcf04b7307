// The motion for ParaView: one file of surfaces per point of time, and a list of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>

#include "io/json/base64.hpp"
#include "io/report/report.hpp"
#include "io/report/report_shapes.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr int ring_points = 16;  ///< of a circle
constexpr int sphere_rings = 8;
// Cells of VTK.
constexpr std::uint8_t polygon = 7, quad = 9;

/// Numbers as VTK reads them: the number of bytes, then the bytes.
template <class T>
std::string data_of(const std::vector<T>& values) {
  const auto size = static_cast<std::uint32_t>(values.size() * sizeof(T));
  std::string bytes(sizeof(size) + size, '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  if (size > 0) std::memcpy(bytes.data() + sizeof(size), values.data(), size);
  return base64(bytes);
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

template <class T>
std::string array(std::string_view type, std::string_view name, int components, const std::vector<T>& values) {
  return fmt::format("<DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" format=\"binary\">{}</DataArray>\n",
                     type, xml(name), components, data_of(values));
}

/// Surfaces, with numbers at their points.
class Surfaces {
 public:
  explicit Surfaces(std::vector<std::string> names) : names_(std::move(names)), values_(names_.size()) {}

  /// Of the points that follow; NaN where a quantity is not known.
  void set_values(std::vector<double> values) { current_ = std::move(values); }
  void set_owner(int owner) { owner_ = owner; }

  std::int64_t add_point(const Vector3& x) {
    points_.insert(points_.end(), {x.x(), x.y(), x.z()});
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i].push_back(i < current_.size() ? current_[i] : std::numeric_limits<double>::quiet_NaN());
    return static_cast<std::int64_t>(points_.size() / 3) - 1;
  }
  void add_cell(const std::vector<std::int64_t>& corners) {
    connectivity_.insert(connectivity_.end(), corners.begin(), corners.end());
    offsets_.push_back(static_cast<std::int64_t>(connectivity_.size()));
    types_.push_back(corners.size() == 4 ? quad : polygon);
    owners_.push_back(owner_);
  }
  /// A closed ring of points; returns the first.
  std::int64_t add_ring(const std::vector<Vector3>& points) {
    std::int64_t first = -1;
    for (const Vector3& x : points) {
      const std::int64_t at = add_point(x);
      if (first < 0) first = at;
    }
    return first;
  }
  void join(std::int64_t a, std::int64_t b, int n) {
    for (int i = 0; i < n; ++i) add_cell({a + i, a + (i + 1) % n, b + (i + 1) % n, b + i});
  }
  void close(std::int64_t ring, int n) {
    std::vector<std::int64_t> corners(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) corners[static_cast<std::size_t>(i)] = ring + i;
    add_cell(corners);
  }

  std::string text() const {
    std::string out =
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" byte_order=\"LittleEndian\" "
        "header_type=\"UInt32\">\n<UnstructuredGrid>\n";
    out += fmt::format("<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n<Points>\n", points_.size() / 3,
                       offsets_.size());
    out += array("Float64", "Points", 3, points_) + "</Points>\n<Cells>\n";
    out += array("Int64", "connectivity", 1, connectivity_) + array("Int64", "offsets", 1, offsets_) +
           array("UInt8", "types", 1, types_) + "</Cells>\n<PointData>\n";
    for (std::size_t i = 0; i < names_.size(); ++i) out += array("Float64", names_[i], 1, values_[i]);
    return out + "</PointData>\n<CellData>\n" + array("Int32", "body", 1, owners_) +
           "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n";
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<double>> values_;
  std::vector<double> current_, points_;
  std::vector<std::int64_t> connectivity_, offsets_;
  std::vector<std::uint8_t> types_;
  std::vector<std::int32_t> owners_;
  std::int32_t owner_ = 0;
};

struct BodyPose {
  Vector3 x;
  Matrix3 R;
};

BodyPose pose_of(const ReportBody& body, std::size_t point) {
  BodyPose pose;
  for (int i = 0; i < 3; ++i) pose.x[i] = body.x[static_cast<std::size_t>(i)][point];
  for (int k = 0; k < 9; ++k) pose.R(k / 3, k % 3) = body.R[static_cast<std::size_t>(k)][point];
  return pose;
}

/// Rings of radius r(s) along an axis, closed where the first and last have points.
void add_turned(Surfaces& out, const BodyPose& pose, const Vector3& centre, const Vector3& axis,
                const std::vector<std::pair<double, double>>& profile) {
  const Vector3 z = axis.normalized();
  const Vector3 x = (std::abs(z.x()) < 0.9 ? Vector3::UnitX() : Vector3::UnitY()).cross(z).normalized(), y = z.cross(x);
  std::int64_t before = -1;
  for (std::size_t k = 0; k < profile.size(); ++k) {
    const auto& [s, r] = profile[k];
    std::vector<Vector3> ring;
    for (int i = 0; i < ring_points; ++i) {
      const double angle = 2.0 * M_PI * i / ring_points;
      ring.emplace_back(pose.x + pose.R * (centre + s * z + r * (std::cos(angle) * x + std::sin(angle) * y)));
    }
    const std::int64_t first = out.add_ring(ring);
    if (before >= 0) out.join(before, first, ring_points);
    if (k == 0 || k + 1 == profile.size()) out.close(first, ring_points);
    before = first;
  }
}

void add_box(Surfaces& out, const BodyPose& pose, const Vector3& centre, const Vector3& size) {
  std::int64_t first = -1;
  for (int i = 0; i < 8; ++i) {
    const Vector3 corner(i & 1 ? 0.5 : -0.5, i & 2 ? 0.5 : -0.5, i & 4 ? 0.5 : -0.5);
    const std::int64_t at = out.add_point(pose.x + pose.R * (centre + corner.cwiseProduct(size)));
    if (first < 0) first = at;
  }
  for (const auto& face : {std::array{0, 2, 3, 1}, std::array{4, 5, 7, 6}, std::array{0, 1, 5, 4},
                           std::array{2, 6, 7, 3}, std::array{0, 4, 6, 2}, std::array{1, 3, 7, 5}})
    out.add_cell({first + face[0], first + face[1], first + face[2], first + face[3]});
}

void add_shape(Surfaces& out, const BodyPose& pose, const Json& shape, double scale) {
  if (shape.is_array()) {
    for (const Json& one : shape) add_shape(out, pose, one, scale);
    return;
  }
  if (!shape.is_object() || shape.empty()) {
    add_box(out, pose, Vector3::Zero(), Vector3::Constant(scale));
    return;
  }
  const std::string kind = shape.begin().key();
  const Json& data = shape.begin().value();
  if (kind == "mesh") {
    const ShapeTriangles mesh = triangles_of_shape(data);
    const Vector3 at = vector_at(data, "at", Vector3::Zero());
    std::int64_t first = 0;
    for (std::size_t i = 0; i < mesh.points.size(); ++i) {
      const std::int64_t number = out.add_point(pose.x + pose.R * (at + mesh.points[i]));
      if (i == 0) first = number;
    }
    for (std::size_t i = 0; i < mesh.corners.size(); i += 3)
      out.add_cell({first + mesh.corners[i], first + mesh.corners[i + 1], first + mesh.corners[i + 2]});
    return;
  }
  const Vector3 centre = vector_at(data, "at", Vector3::Zero()), axis = vector_at(data, "axis", Vector3::UnitZ());
  const double r = data.value("radius", 0.5 * scale), half = 0.5 * data.value("length", 0.0);
  std::vector<std::pair<double, double>> profile;
  const auto add_cap = [&](double at, bool is_front) {
    for (int i = 0; i <= sphere_rings; ++i) {
      const double angle = 0.5 * M_PI * (is_front ? i : i - sphere_rings) / sphere_rings;
      profile.emplace_back(at + r * std::sin(angle), std::max(r * std::cos(angle), 0.0));
    }
  };
  if (kind == "box") {
    const BodyPose turned{pose.x + pose.R * centre, pose.R * rotation_of_shape(data)};
    add_box(out, turned, Vector3::Zero(), vector_at(data, "size", Vector3::Constant(scale)));
    return;
  }
  if (kind == "cylinder") {
    profile = {{-half, r}, {half, r}};
  } else if (kind == "cone") {
    profile = {{-half, r}, {half, 0.0}};
  } else {
    add_cap(-half, false);
    add_cap(half, true);
  }
  add_turned(out, pose, centre, axis, profile);
}

/// The outline of a section in its axes y and z.
std::vector<Vector3> outline_of(const Json& section) {
  std::vector<Vector3> out;
  if (section.is_object() && section.contains("rectangle")) {
    const double y = 0.5 * section["rectangle"].at(0).get<double>(), z = 0.5 * section["rectangle"].at(1).get<double>();
    for (const auto& [a, b] : {std::pair{-1, -1}, std::pair{1, -1}, std::pair{1, 1}, std::pair{-1, 1}})
      out.emplace_back(0.0, a * y, b * z);
    return out;
  }
  const double r = section.is_object() ? section.value("/circle/radius"_json_pointer, 0.01) : 0.01;
  for (int i = 0; i < ring_points; ++i) {
    const double angle = 2.0 * M_PI * i / ring_points;
    out.emplace_back(0.0, r * std::cos(angle), r * std::sin(angle));
  }
  return out;
}

/// Interpolated between the places where it is known, the nearest value beyond them.
double value_at(const ReportRod::Quantity& quantity, double s, std::size_t point) {
  const auto& known = quantity.columns;
  if (known.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto above = std::ranges::lower_bound(known, s, {}, [](const auto& entry) { return entry.first; });
  if (above == known.begin()) return known.front().second[point];
  if (above == known.end()) return known.back().second[point];
  const auto below = above - 1;
  const double part = (s - below->first) / (above->first - below->first);
  return (1.0 - part) * below->second[point] + part * above->second[point];
}

void add_rod(Surfaces& out, const ReportData& data, const ReportRod& rod, const std::vector<std::string>& names,
             std::size_t point) {
  const std::vector<Vector3> outline = outline_of(rod.section);
  const int n = static_cast<int>(outline.size());
  std::int64_t before = -1;
  for (std::size_t k = 0; k < rod.bodies.size(); ++k) {
    const BodyPose pose = pose_of(data.bodies[rod.bodies[k]], point);
    std::vector<double> values(names.size(), std::numeric_limits<double>::quiet_NaN());
    for (const ReportRod::Quantity& quantity : rod.quantities)
      values[static_cast<std::size_t>(std::ranges::find(names, quantity.name) - names.begin())] =
          value_at(quantity, rod.at[k], point);
    out.set_values(std::move(values));
    const auto ring_of = [&](const Matrix3& turned) {
      std::vector<Vector3> ring;
      for (const Vector3& x : outline) ring.emplace_back(pose.x + pose.R * (rod.axis[k] + turned * x));
      return out.add_ring(ring);
    };
    std::int64_t ring = ring_of(Matrix3::Identity());
    if (before >= 0) out.join(before, ring, n);
    if (k == 0 || k + 1 == rod.bodies.size()) out.close(ring, n);
    for (const auto& [corner, turned] : rod.turned)
      if (corner == k && k > 0 && k + 1 < rod.bodies.size()) {
        out.close(ring, n);
        ring = ring_of(turned);
        out.close(ring, n);
      }
    before = ring;
  }
  out.set_values({});
}

}  // namespace

std::vector<Path> write_vtk(const ReportData& data, const Path& folder, Eigen::Index most_points) {
  if (data.bodies.empty() || data.time.empty())
    throw InvalidInput(
        "this result has no bodies that move in space; VTK needs a run of a mechanism whose trajectory has the "
        "positions and rotation matrices of bodies");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw_file_error("cannot make the folder", folder, error.value());
  std::vector<bool> is_node(data.bodies.size(), false);
  std::vector<std::string> names;
  for (const ReportRod& rod : data.rods) {
    for (const std::size_t body : rod.bodies) is_node[body] = true;
    for (const ReportRod::Quantity& quantity : rod.quantities)
      if (std::ranges::count(names, quantity.name) == 0) names.push_back(quantity.name);
  }
  Vector3 least = Vector3::Constant(HUGE_VAL), most = -least;
  for (const ReportBody& body : data.bodies) {
    const Vector3 x = pose_of(body, 0).x;
    least = least.cwiseMin(x);
    most = most.cwiseMax(x);
  }
  const double scale = std::max(0.02 * (most - least).norm(), 1e-3);  // of bodies without a shape
  const std::string base = file_name_of(data.title);
  std::vector<Path> files;
  std::string list = "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n<Collection>\n";
  int number = 0;
  for (const Eigen::Index i : indices_evenly_spaced(data.time, most_points)) {
    const auto point = static_cast<std::size_t>(i);
    Surfaces surfaces(names);
    int owner = 0;
    for (std::size_t b = 0; b < data.bodies.size(); ++b) {
      if (is_node[b]) continue;
      surfaces.set_owner(owner++);
      add_shape(surfaces, pose_of(data.bodies[b], point), data.bodies[b].shape, scale);
    }
    for (const ReportRod& rod : data.rods) {
      surfaces.set_owner(owner++);
      add_rod(surfaces, data, rod, names, point);
    }
    const std::string name = fmt::format("{}-{:05}.vtu", base, number++);
    write_atomically(folder / name, surfaces.text());
    list += fmt::format("<DataSet timestep=\"{:.12g}\" part=\"0\" file=\"{}\"/>\n", data.time[point], name);
  }
  files.push_back(folder / (base + ".pvd"));
  write_atomically(files.back(), list + "</Collection>\n</VTKFile>\n");
  return files;
}

}  // namespace kreisel::io
