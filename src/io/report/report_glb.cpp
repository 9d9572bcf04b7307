// Animated glTF 2.0, which Blender, three.js and the viewers of desktops and phones read. One file: a header, a chunk of JSON, a
// chunk of bytes. A node per body with a translation and a rotation; keys are thinned as long as the straight lines and slerp that
// readers draw between them stay within the tolerances.
#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>

#include "io/report/report.hpp"
#include "io/report/report_shapes.hpp"
#include "kreisel/error.hpp"
#include "kreisel/version.hpp"
#include "lie/so3.hpp"
#include "lie/swing.hpp"

namespace kreisel::io {
namespace {

constexpr double turn_tolerance = 1e-3;  ///< [rad]
constexpr double way_tolerance = 1e-3;   ///< of the size of the scene
/// Readers interpolate along the shorter arc, so the turn between keys must be well below half a turn.
constexpr double widest_turn = 1.5;  ///< [rad]
constexpr int sides = 32;

struct Mesh {
  std::vector<Vector3> points, normals;
  std::vector<std::uint32_t> corners;  ///< three per triangle

  void add(const Vector3& a, const Vector3& b, const Vector3& c, const Vector3& na, const Vector3& nb,
           const Vector3& nc) {
    const Vector3 edge = (b - a).cross(c - a);
    if (!(edge.norm() > 0.0)) return;
    for (const auto& [point, normal] : {std::pair{a, na}, {b, nb}, {c, nc}}) {
      corners.push_back(static_cast<std::uint32_t>(points.size()));
      points.push_back(point);
      normals.push_back(normal.norm() > 0.0 ? Vector3(normal.normalized()) : Vector3(edge.normalized()));
    }
  }
};

using Profile = std::vector<Eigen::Vector2d>;  ///< radius and height

/// A profile turned about z. Points at corners are doubled, which keeps the corners sharp. `part`: which of the quarters,
/// painted in two colours to make spin visible.
Mesh turned(const Profile& profile, int part) {
  Mesh mesh;
  for (int s = 0; s < sides; ++s) {
    if (s / (sides / 4) % 2 != part) continue;
    const double a0 = 2.0 * std::numbers::pi * s / sides, a1 = 2.0 * std::numbers::pi * (s + 1) / sides;
    for (std::size_t i = 0; i + 1 < profile.size(); ++i) {
      const auto at = [&](std::size_t k, double a) {
        return Vector3(profile[k].x() * std::cos(a), profile[k].x() * std::sin(a), profile[k].y());
      };
      const Eigen::Vector2d edge = profile[i + 1] - profile[i];
      const auto normal = [&](double a) { return Vector3(edge.y() * std::cos(a), edge.y() * std::sin(a), -edge.x()); };
      mesh.add(at(i, a0), at(i, a1), at(i + 1, a1), normal(a0), normal(a1), normal(a1));
      mesh.add(at(i, a0), at(i + 1, a1), at(i + 1, a0), normal(a0), normal(a1), normal(a0));
    }
  }
  return mesh;
}

Mesh box(const Vector3& size) {
  Mesh mesh;
  for (int axis = 0; axis < 3; ++axis)
    for (const double sign : {-1.0, 1.0}) {
      const Vector3 n = sign * Vector3::Unit(axis), u = Vector3::Unit((axis + 1) % 3), v = n.cross(u);
      const auto corner = [&](double a, double b) { return Vector3(0.5 * (n + a * u + b * v).cwiseProduct(size)); };
      mesh.add(corner(-1, -1), corner(1, -1), corner(1, 1), n, n, n);
      mesh.add(corner(-1, -1), corner(1, 1), corner(-1, 1), n, n, n);
    }
  return mesh;
}

double number_at(const Json& shape, const char* key, double otherwise) {
  return shape.contains(key) && shape[key].is_number() && shape[key].get<double>() > 0.0 ? shape[key].get<double>()
                                                                                         : otherwise;
}

Profile arc(double radius, double from, double to, double lift) {
  Profile points;
  constexpr int pieces = 10;
  for (int i = 0; i <= pieces; ++i) {
    const double a = from + (to - from) * i / pieces;
    points.push_back({i == 0 && from < -1.5     ? 0.0
                      : i == pieces && to > 1.5 ? 0.0
                                                : radius * std::cos(a),
                      lift + radius * std::sin(a)});
  }
  return points;
}

constexpr double quarter = 0.5 * std::numbers::pi;

/// Profile of a round shape; empty: the shape is not round.
Profile profile_of(const std::string& kind, const Json& shape) {
  const double radius = number_at(shape, "radius", kind == "cone" ? 0.2 : 0.1);
  const double length = number_at(shape, "length", 1.0), half = 0.5 * length;
  if (kind == "cylinder") return {{0, -half}, {radius, -half}, {radius, half}, {0, half}};
  if (kind == "cone") return {{0, -length / 4}, {radius, -length / 4}, {0, 3 * length / 4}};
  if (kind == "sphere") return arc(radius, -quarter, quarter, 0.0);
  if (kind == "capsule") {
    Profile out = arc(radius, -quarter, 0.0, -half);
    const Profile cap = arc(radius, 0.0, quarter, half);
    out.insert(out.end(), cap.begin(), cap.end());
    return out;
  }
  if (kind == "top") {
    const double height = vector_at(shape, "tip", -Vector3::UnitZ()).norm(), h = height > 0.0 ? height : 1.0;
    const double r = number_at(shape, "radius", 0.45 * h), stem = 0.035 * h, d = 0.16 * h;
    return {{0, -h},
            {stem * 0.9, -0.9 * h},
            {stem, -2.2 * d},
            {0.3 * r, -1.5 * d},
            {0.86 * r, -0.55 * d},
            {r, -0.2 * d},
            {r, 0.2 * d},
            {0.86 * r, 0.5 * d},
            {0.3 * r, 0.8 * d},
            {stem, 1.15 * d},
            {stem, 2.6 * d},
            {0, 2.6 * d}};
  }
  return {};
}

Json rotation_list(const Eigen::Quaterniond& q) { return {q.x(), q.y(), q.z(), q.w()}; }

/// The colours of the page, as linear RGB.
Vector3 colour_of(std::size_t body) {
  static constexpr std::array<std::uint32_t, 9> palette{0x1f6fb8, 0xd2691e, 0x2b8a57, 0xa63a8e, 0x8a6d00,
                                                        0x5a54b8, 0xc2334d, 0x12808a, 0x6b6f76};
  const std::uint32_t rgb = palette[body % palette.size()];
  Vector3 out;
  for (int i = 0; i < 3; ++i) out[i] = std::pow(((rgb >> (16 - 8 * i)) & 255U) / 255.0, 2.2);
  return out;
}

/// "#rrggbb"; other spellings of CSS are left to the palette.
std::optional<Vector3> colour_in(const Json& shape) {
  if (!shape.contains("color") || !shape["color"].is_string()) return std::nullopt;
  const std::string text = shape["color"].get<std::string>();
  if (text.size() != 7 || text[0] != '#' ||
      !std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isxdigit(c); }))
    return std::nullopt;
  Vector3 out;
  for (int i = 0; i < 3; ++i)
    out[i] = std::pow(std::stoi(text.substr(static_cast<std::size_t>(1 + 2 * i), 2), nullptr, 16) / 255.0, 2.2);
  return out;
}

class GlbFile {
 public:
  GlbFile() {
    json_["asset"] = {{"version", "2.0"}, {"generator", fmt::format("kreisel {}", version())}};
    json_["nodes"] = json_["meshes"] = json_["materials"] = json_["accessors"] = json_["bufferViews"] = Json::array();
  }

  std::size_t node(Json node) { return push("nodes", std::move(node)); }
  Json& nodes() { return json_["nodes"]; }

  std::size_t material(const Vector3& shade) {
    Json found{{"pbrMetallicRoughness",
                {{"baseColorFactor", {shade.x(), shade.y(), shade.z(), 1.0}},
                 {"metallicFactor", 0.05},
                 {"roughnessFactor", 0.55}}},
               {"doubleSided", true}};
    const auto same = std::find(json_["materials"].begin(), json_["materials"].end(), found);
    if (same != json_["materials"].end()) return static_cast<std::size_t>(same - json_["materials"].begin());
    return push("materials", std::move(found));
  }

  struct Part {
    Mesh mesh;
    std::size_t material;
  };
  std::size_t mesh(const std::vector<Part>& parts) {
    Json primitives = Json::array();
    for (const Part& part : parts) {
      if (part.mesh.corners.empty()) continue;
      primitives.push_back(
          {{"attributes",
            {{"POSITION", vectors(part.mesh.points, true)}, {"NORMAL", vectors(part.mesh.normals, false)}}},
           {"indices", indices(part.mesh.corners)},
           {"material", part.material}});
    }
    return push("meshes", {{"primitives", primitives}});
  }

  /// Times; glTF requires their minimum and maximum.
  std::size_t scalars(const std::vector<double>& values) {
    std::string bytes;
    for (const double value : values) append(value, bytes);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    Json accessor{
        {"bufferView", view(bytes, 0)}, {"componentType", 5126}, {"count", values.size()}, {"type", "SCALAR"}};
    accessor["min"] = {static_cast<float>(*low)};
    accessor["max"] = {static_cast<float>(*high)};
    return push("accessors", std::move(accessor));
  }
  std::size_t vectors(const std::vector<Vector3>& values, bool has_limits, int target = 34962) {
    std::string bytes;
    Eigen::Vector3f low = Eigen::Vector3f::Constant(INFINITY), high = -low;
    for (const Vector3& value : values) {
      for (const double part : value) append(part, bytes);
      low = low.cwiseMin(value.cast<float>());
      high = high.cwiseMax(value.cast<float>());
    }
    Json accessor{
        {"bufferView", view(bytes, target)}, {"componentType", 5126}, {"count", values.size()}, {"type", "VEC3"}};
    if (has_limits) {
      accessor["min"] = list_of(Vector3(low.cast<double>()));
      accessor["max"] = list_of(Vector3(high.cast<double>()));
    }
    return push("accessors", std::move(accessor));
  }
  std::size_t turns(const std::vector<Eigen::Quaterniond>& values) {
    std::string bytes;
    for (const Eigen::Quaterniond& q : values)
      for (const double part : {q.x(), q.y(), q.z(), q.w()}) append(part, bytes);
    return push("accessors",
                {{"bufferView", view(bytes, 0)}, {"componentType", 5126}, {"count", values.size()}, {"type", "VEC4"}});
  }

  void animate(Json channels, Json samplers) {
    if (channels.empty()) return;
    json_["animations"] = Json::array({{{"name", "motion"}, {"channels", channels}, {"samplers", samplers}}});
  }
  void scene(std::size_t root, const std::string& name) {
    json_["scene"] = 0;
    json_["scenes"] = Json::array({{{"name", name}, {"nodes", {root}}}});
  }

  std::string take() {
    for (const char* list : {"meshes", "materials", "accessors", "bufferViews"})
      if (json_[list].empty()) json_.erase(list);
    if (!bytes_.empty()) json_["buffers"] = Json::array({{{"byteLength", bytes_.size()}}});
    std::string text = json_.dump(-1, ' ', false, Json::error_handler_t::replace);
    text.resize((text.size() + 3) / 4 * 4, ' ');
    bytes_.resize((bytes_.size() + 3) / 4 * 4, '\0');
    std::string out;
    const std::size_t whole = 12 + 8 + text.size() + (bytes_.empty() ? 0 : 8 + bytes_.size());
    if (whole > 0xffffffffU) throw InvalidInput("the animation is longer than glTF allows; choose fewer output points");
    for (const std::size_t word :
         {std::size_t{0x46546c67}, std::size_t{2}, whole, text.size(), std::size_t{0x4e4f534a}})
      append_word(static_cast<std::uint32_t>(word), out);
    out += text;
    if (!bytes_.empty()) {
      append_word(static_cast<std::uint32_t>(bytes_.size()), out);
      append_word(0x004e4942, out);
      out += bytes_;
    }
    return out;
  }

 private:
  static void append_word(std::uint32_t word, std::string& out) {
    for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(word >> (8U * i) & 255U);
  }
  static void append(double value, std::string& out) {
    const auto single = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    append_word(bits, out);
  }
  std::size_t push(const char* list, Json entry) {
    json_[list].push_back(std::move(entry));
    return json_[list].size() - 1;
  }
  std::size_t indices(const std::vector<std::uint32_t>& values) {
    std::string bytes;
    for (const std::uint32_t value : values) append_word(value, bytes);
    return push(
        "accessors",
        {{"bufferView", view(bytes, 34963)}, {"componentType", 5125}, {"count", values.size()}, {"type", "SCALAR"}});
  }
  std::size_t view(const std::string& bytes, int target) {
    Json entry{{"buffer", 0}, {"byteOffset", bytes_.size()}, {"byteLength", bytes.size()}};
    if (target != 0) entry["target"] = target;
    bytes_ += bytes;
    return push("bufferViews", std::move(entry));
  }

  Json json_;
  std::string bytes_;
};

/// A mesh node below the node of its body.
std::size_t add_shape(GlbFile& file, const std::string& kind, const Json& shape, const Vector3& tint) {
  const Vector3 base = colour_in(shape).value_or(tint), mark = base + 0.62 * (Vector3::Ones() - base);
  Json node{{"name", kind}};
  const Vector3 at = vector_at(shape, "at", Vector3::Zero());
  if (!at.isZero()) node["translation"] = list_of(at);
  if (const Profile profile = profile_of(kind, shape); !profile.empty()) {
    const Vector3 axis = kind == "top"      ? Vector3(-vector_at(shape, "tip", -Vector3::UnitZ()))
                         : kind == "sphere" ? Vector3(Vector3::UnitZ())
                                            : vector_at(shape, "axis", Vector3::UnitZ());
    if (axis.norm() > 0.0) node["rotation"] = rotation_list(lie::swing(Vector3::UnitZ(), axis));
    node["mesh"] = file.mesh({{turned(profile, 0), file.material(base)}, {turned(profile, 1), file.material(mark)}});
  } else if (kind == "mesh") {
    const ShapeTriangles given = triangles_of_shape(shape);
    Mesh faces;
    for (std::size_t i = 0; i < given.corners.size(); i += 3) {
      const Vector3 flat = Vector3::Zero();  // the normal of the face
      faces.add(given.points[given.corners[i]], given.points[given.corners[i + 1]], given.points[given.corners[i + 2]],
                flat, flat, flat);
    }
    if (!faces.corners.empty()) node["mesh"] = file.mesh({{std::move(faces), file.material(base)}});
  } else {
    if (const Matrix3 R = rotation_of_shape(shape); !R.isIdentity(0.0))
      node["rotation"] = rotation_list(Eigen::Quaterniond(R).normalized());
    node["mesh"] = file.mesh({{box(vector_at(shape, "size", Vector3::Ones())), file.material(base)}});
  }
  const std::size_t made = file.node(std::move(node));
  if (kind == "sphere" && shape.contains("rod")) {
    const Vector3 to = vector_at(shape, "rod", Vector3::UnitZ());
    const double radius = 0.12 * number_at(shape, "radius", 0.1), half = 0.5 * to.norm();
    if (half > 0.0) {
      const Profile profile{{0, -half}, {radius, -half}, {radius, half}, {0, half}};
      const std::size_t rod = file.node({{"name", "rod"},
                                         {"translation", list_of(Vector3(0.5 * to))},
                                         {"rotation", rotation_list(lie::swing(Vector3::UnitZ(), to))},
                                         {"mesh", file.mesh({{turned(profile, 0), file.material(mark)},
                                                             {turned(profile, 1), file.material(mark)}})}});
      file.nodes()[made]["children"] = {rod};
    }
  }
  return made;
}

Eigen::Quaterniond turn(const ReportBody& body, std::size_t i) {
  Matrix3 R;
  for (std::size_t k = 0; k < 9; ++k)
    R(static_cast<Eigen::Index>(k / 3), static_cast<Eigen::Index>(k % 3)) = body.R[k][i];
  return Eigen::Quaterniond(R).normalized();
}

/// One pose of a body in time.
struct Keyframe {
  double t;
  Vector3 x;
  Eigen::Quaterniond q;
};

Vector3 triple(const std::array<Column, 3>& columns, std::size_t i) {
  return columns[0].empty() ? Vector3::Constant(std::nan("")) : Vector3(columns[0][i], columns[1][i], columns[2][i]);
}

Eigen::Quaterniond exp_of(const Vector3& x) {
  const lie::SO3::Point p = lie::SO3::exp(x);
  return {p[3], p[0], p[1], p[2]};
}
Vector3 log_of(const Eigen::Quaterniond& q) { return lie::SO3::log(lie::SO3::Point(q.x(), q.y(), q.z(), q.w())); }

/// A curve on [0, 1] through two ends with their first derivatives and, where these are known, second ones.
struct Hermite {
  Vector3 y0, y1, d0, d1, dd0, dd1;

  Vector3 operator()(double s) const {
    const double r = 1.0 - s;
    if (!dd0.allFinite() || !dd1.allFinite())
      return r * r * (1.0 + 2.0 * s) * y0 + s * s * (1.0 + 2.0 * r) * y1 + s * r * r * d0 - s * s * r * d1;
    const auto from = [](double u, const Vector3& y, const Vector3& d, const Vector3& dd) {
      const double v = 1.0 - u, v3 = v * v * v;
      return Vector3(v3 * ((1.0 + 3.0 * u + 6.0 * u * u) * y + u * (1.0 + 3.0 * u) * d + 0.5 * u * u * dd));
    };
    return from(s, y0, d0, dd0) + from(r, y1, Vector3(-d1), dd1);
  }
};

/// The motion of a body between two points of the result. The rotation is R0 exp(s m) exp(rho(s)): m is the mean angular velocity times h,
/// known without counting turns, and rho a polynomial that fits angular velocities and accelerations at both ends.
class Between {
 public:
  /// Rows behind `a` and before `b`: at an event these differ from those on the other side.
  Between(const ReportBody& body, std::size_t a, std::size_t b, double h) : q0_(turn(body, a)), q1_(turn(body, b)) {
    const auto velocity = [&](std::size_t i, const Eigen::Quaterniond& q) {
      return Vector3(body.is_left ? q * triple(body.V, i) : triple(body.V, i));
    };
    const auto acceleration = [&](std::size_t i, const Eigen::Quaterniond& q) {
      const Vector3 a_own = triple(body.V_dot, i);
      return Vector3(body.is_left ? q * (a_own + triple(body.W, i).cross(triple(body.V, i))) : a_own);
    };
    x_ = {position_of(body, a), position_of(body, b),         h * velocity(a, q0_),
          h * velocity(b, q1_), h * h * acceleration(a, q0_), h * h * acceleration(b, q1_)};
    moves_smoothly_ = x_.d0.allFinite() && x_.d1.allFinite();
    const Vector3 w0 = h * triple(body.W, a), w1 = h * triple(body.W, b), e0 = h * h * triple(body.W_dot, a),
                  e1 = h * h * triple(body.W_dot, b);
    rate_ = std::max(w0.norm(), w1.norm());
    if (!w0.allFinite() || !w1.allFinite()) return;
    mean_ = 0.5 * (w0 + w1);
    if (e0.allFinite() && e1.allFinite()) mean_ += (e0 - e1) / 12.0;
    const Vector3 end = log_of(exp_of(mean_).conjugate() * q0_.conjugate() * q1_);
    // Where the rates do not fit the turn, the polynomial is not usable and the chord is taken.
    if (end.norm() > 0.5 * std::max(1.0, mean_.norm())) return;
    turns_smoothly_ = true;
    const Vector3 m1 = exp_of(end).conjugate() * mean_, own = w1 - m1;
    const auto inverse = [&](const Vector3& y) { return lie::SO3::tangent_inverse(end, y); };
    const Vector3 d0 = w0 - mean_, d1 = inverse(own);
    // T(rho) = I - rho~ / 2 + rho~^2 / 6 - ... and its derivative along rho' times rho'.
    const Vector3 bend = d1.cross(end.cross(d1)) / 6.0;
    rho_ = {Vector3::Zero(), end, d0, d1, e0 + d0.cross(mean_), inverse(e1 + own.cross(m1) - bend)};
  }

  Vector3 x(double s) const { return moves_smoothly_ ? x_(s) : Vector3(x_.y0 + s * (x_.y1 - x_.y0)); }
  Eigen::Quaterniond q(double s) const {
    return turns_smoothly_ ? (q0_ * exp_of(s * mean_) * exp_of(rho_(s))).normalized() : q0_.slerp(s, q1_);
  }
  /// Number of keys that show the motion, before thinning.
  int pieces(double way) const {
    const double bow = moves_smoothly_ ? (x_.d0 - x_.d1).norm() + (x_.y1 - x_.y0 - 0.5 * (x_.d0 + x_.d1)).norm() : 0.0;
    const double turning = turns_smoothly_ ? std::max(rate_, mean_.norm()) / 0.1 : 1.0;
    return static_cast<int>(std::ceil(std::clamp(std::max(turning, std::sqrt(bow / (4.0 * way))), 1.0, 2000.0)));
  }
  /// The order of the error of the polynomial, and whether there is a polynomial.
  int order() const { return !turns_smoothly_ ? 2 : rho_.dd0.allFinite() && rho_.dd1.allFinite() ? 6 : 4; }
  double rate() const { return rate_; }

 private:
  Eigen::Quaterniond q0_, q1_;
  Hermite x_, rho_;
  Vector3 mean_ = Vector3::Zero();
  double rate_ = 0.0;  ///< largest angular velocity times h [rad]
  bool moves_smoothly_ = false, turns_smoothly_ = false;
};

/// Points of a result with the rows that belong to them: the last one before an event, and the first one behind it.
struct Point {
  double t;
  std::size_t before, behind;
};

/// How far the turn between points may be off [rad]: every point is compared with the interpolation of its neighbours.
struct Doubt {
  double angle = 0.0, rate = 0.0, h = 0.0;
};
Doubt doubt_of(const ReportBody& body, const std::vector<Point>& points) {
  Doubt worst;
  for (std::size_t k = 1; k + 1 < points.size(); ++k) {
    const Point &a = points[k - 1], &b = points[k], &c = points[k + 1];
    if (b.before != b.behind || !(c.t > a.t)) continue;  // an event: its neighbours do not predict it
    const Between both(body, a.behind, c.before, c.t - a.t);
    const double s = (b.t - a.t) / (c.t - a.t), longer = std::max(s, 1.0 - s);
    // Errors shrink with the order of the polynomial where turns between points are small, and not at all where they are large.
    const double part = longer * both.rate() < 2.0 ? std::pow(longer, both.order()) : 1.0;
    const double off = part * both.q(s).angularDistance(turn(body, b.before));
    if (off > worst.angle) worst = {off, both.rate() / (c.t - a.t), longer * (c.t - a.t)};
  }
  return worst;
}

/// Keys such that the points between them deviate by `tolerance` at most: Ramer, Douglas and Peucker over time. `deviation(a, b, i)`
/// is that of point i from the way between a and b; infinite where a and b must not be neighbours.
template <class Deviation>
std::vector<std::size_t> keys_of(std::size_t count, double tolerance, const Deviation& deviation) {
  std::vector<std::size_t> keys{0};
  std::vector<std::pair<std::size_t, std::size_t>> open;
  // Pieces of bounded length: otherwise a long straight stretch would cost quadratic time.
  constexpr std::size_t piece = 512;
  for (std::size_t begin = 0; begin + 1 < count; begin += piece) {
    open.push_back({begin, std::min(begin + piece, count - 1)});
    std::vector<std::size_t> found;
    while (!open.empty()) {
      const auto [a, b] = open.back();
      open.pop_back();
      double worst = 0.0;
      std::size_t at = a;
      for (std::size_t i = a + 1; i < b; ++i)
        if (const double d = deviation(a, b, i); d > worst) worst = d, at = i;
      if (worst > tolerance) {
        open.push_back({a, at});
        open.push_back({at, b});
      } else {
        found.push_back(b);
      }
    }
    std::ranges::sort(found);
    keys.insert(keys.end(), found.begin(), found.end());
  }
  return keys;
}

}  // namespace

std::string report_glb(const ReportData& data, std::vector<std::string>& notes) {
  if (data.bodies.empty()) throw InvalidInput("--glb: the result has no bodies to show");
  // Points whose poses are all finite, at times that single precision tells apart.
  std::vector<Point> points;
  double begin = 0.0;
  for (std::size_t i = 0; i < data.time.size(); ++i) {
    bool is_finite = std::isfinite(data.time[i]);
    for (const ReportBody& body : data.bodies) {
      for (const Column& column : body.x) is_finite = is_finite && std::isfinite(column[i]);
      for (const Column& column : body.R) is_finite = is_finite && std::isfinite(column[i]);
    }
    if (!is_finite) continue;
    if (points.empty()) begin = data.time[i];
    const double t = data.time[i] - begin;
    if (points.empty() || static_cast<float>(t) > static_cast<float>(points.back().t))
      points.push_back({t, i, i});
    else
      points.back().behind = i;
  }
  if (points.empty()) throw InvalidInput("--glb: the result has no points");
  double size = 0.0;
  for (const ReportBody& body : data.bodies)
    for (const Point& point : points)
      size = std::max(size, (position_of(body, point.before) - position_of(body, points.front().before)).norm());
  Eigen::AlignedBox3d box_of_centres;
  for (const ReportBody& body : data.bodies) box_of_centres.extend(position_of(body, points.front().before));
  size = std::max({size, box_of_centres.diagonal().norm(), 1e-9});

  GlbFile file;
  // glTF has y up.
  const Vector3 up = data.up.isZero() ? Vector3(Vector3::UnitZ()) : data.up;
  Json root{{"name", data.title.empty() ? "kreisel" : data.title},
            {"rotation", rotation_list(lie::swing(up, Vector3::UnitY()))}};
  Json bodies = Json::array(), channels = Json::array(), samplers = Json::array();
  Doubt worst;
  std::string worst_body;
  for (std::size_t b = 0; b < data.bodies.size(); ++b) {
    const ReportBody& body = data.bodies[b];
    Json children = Json::array();
    const Json shapes = body.shape.is_array() ? body.shape : Json::array({body.shape});
    for (const Json& shape : shapes)
      if (shape.is_object())
        for (const auto& [kind, parameters] : shape.items())
          if (parameters.is_object() && (kind == "box" || kind == "mesh" || !profile_of(kind, parameters).empty()))
            children.push_back(add_shape(file, kind, parameters, colour_of(b)));
    if (children.empty()) {
      const double edge = 0.06 * size;
      children.push_back(add_shape(file, "box", {{"size", {edge, edge, edge}}}, colour_of(b)));
    }
    std::vector<Keyframe> poses;
    for (std::size_t k = 0; k < points.size(); ++k) {
      const Point& to = points[k];
      if (k > 0) {
        const Point& from = points[k - 1];
        const Between between(body, from.behind, to.before, to.t - from.t);
        const int pieces = between.pieces(way_tolerance * size);
        for (int i = 1; i < pieces; ++i) {
          const double s = static_cast<double>(i) / pieces;
          poses.push_back({from.t + s * (to.t - from.t), between.x(s), between.q(s)});
        }
      }
      poses.push_back({to.t, position_of(body, to.before), turn(body, to.before)});
    }
    if (const Doubt doubt = doubt_of(body, points); doubt.angle > worst.angle) worst = doubt, worst_body = body.name;
    std::vector<Vector3> x;
    std::vector<Eigen::Quaterniond> q;
    std::vector<double> t;
    for (const Keyframe& pose : poses) {
      if (!t.empty() && !(static_cast<float>(pose.t) > static_cast<float>(t.back()))) continue;
      x.push_back(pose.x);
      q.push_back(pose.q);
      if (q.size() > 1 && q[q.size() - 2].dot(q.back()) < 0.0) q.back().coeffs() *= -1.0;
      t.push_back(pose.t);
    }
    const std::size_t node = file.node({{"name", body.name},
                                        {"translation", list_of(x.front())},
                                        {"rotation", rotation_list(q.front())},
                                        {"children", children}});
    bodies.push_back(node);
    if (t.size() < 2) continue;
    const auto part = [&](std::size_t a, std::size_t c, std::size_t i) { return (t[i] - t[a]) / (t[c] - t[a]); };
    const auto channel = [&](const char* path, const std::vector<std::size_t>& keys, std::size_t output) {
      std::vector<double> times;
      for (const std::size_t k : keys) times.push_back(t[k]);
      samplers.push_back({{"input", file.scalars(times)}, {"interpolation", "LINEAR"}, {"output", output}});
      channels.push_back({{"sampler", samplers.size() - 1}, {"target", {{"node", node}, {"path", path}}}});
    };
    const std::vector<std::size_t> way =
        keys_of(t.size(), way_tolerance * size, [&](std::size_t a, std::size_t c, std::size_t i) {
          return (x[a] + part(a, c, i) * (x[c] - x[a]) - x[i]).norm();
        });
    std::vector<Vector3> places;
    for (const std::size_t k : way) places.push_back(x[k]);
    if (way.size() > 2 || (places.back() - places.front()).norm() > 0.0)
      channel("translation", way, file.vectors(places, false, 0));
    const std::vector<std::size_t> turning =
        keys_of(t.size(), turn_tolerance, [&](std::size_t a, std::size_t c, std::size_t i) {
          if (q[a].angularDistance(q[c]) > widest_turn) return std::numeric_limits<double>::infinity();
          return q[a].slerp(part(a, c, i), q[c]).angularDistance(q[i]);
        });
    std::vector<Eigen::Quaterniond> keyed;
    for (const std::size_t k : turning) {
      keyed.push_back(q[k]);
      if (keyed.size() > 1 && keyed[keyed.size() - 2].dot(keyed.back()) < 0.0) keyed.back().coeffs() *= -1.0;
    }
    if (turning.size() > 2 || keyed.front().angularDistance(keyed.back()) > 0.0)
      channel("rotation", turning, file.turns(keyed));
  }
  if (worst.angle > turn_tolerance)
    notes.push_back(fmt::format(
        "--glb: the rotation of '{}' between points of the result may be off by {:.1g} rad ({:.2g} rad from "
        "point to point); 'kreisel run' with --output-step {:.1g} or less gives 0.001 rad",
        worst_body, worst.angle, worst.rate * worst.h, 0.5 / std::max(worst.rate, 1e-9)));
  root["children"] = bodies;
  file.scene(file.node(std::move(root)), data.title.empty() ? "kreisel" : data.title);
  file.animate(std::move(channels), std::move(samplers));
  return file.take();
}

}  // namespace kreisel::io
