#include "io/result/scene.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text.hpp"
#include "io/json/base64.hpp"
#include "lie/so3.hpp"
#include "multibody/assembly.hpp"
#include "multibody/beam.hpp"
#include "multibody/joint.hpp"

namespace kreisel::io {
namespace {

using multibody::Shape;

void append_little_endian(std::uint32_t word, std::string& out) {
  for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(word >> 8U * i & 255U);
}

Json json_of(const Shape& shape) {
  Json data{{"at", list_of(shape.at)}};
  if (!shape.color.empty()) data["color"] = shape.color;
  if (!shape.rotation.isIdentity(0.0)) {
    const Eigen::Vector4d q = lie::quaternion_from(shape.rotation);
    data["rotation"] = {q[0], q[1], q[2], q[3]};
  }
  if (shape.kind == Shape::Kind::mesh) {
    if (shape.triangles == nullptr) return Json::object();
    std::string points, corners;
    for (const Eigen::Vector3f& p : shape.triangles->points)
      for (const float value : p) append_little_endian(std::bit_cast<std::uint32_t>(value), points);
    for (const std::uint32_t corner : shape.triangles->corners) append_little_endian(corner, corners);
    data["points"] = base64(points);
    data["corners"] = base64(corners);
    return {{"mesh", data}};
  }
  if (shape.kind == Shape::Kind::box) {
    data["size"] = list_of(shape.size);
    return {{"box", data}};
  }
  data["radius"] = shape.radius;
  if (shape.kind == Shape::Kind::sphere) return {{"sphere", data}};
  data["length"] = shape.length;
  data["axis"] = list_of(shape.axis);
  return {{shape.kind == Shape::Kind::cylinder  ? "cylinder"
           : shape.kind == Shape::Kind::capsule ? "capsule"
                                                : "cone",
           data}};
}

/// The place of a column ROD@PLACE.N, from the start of the rod [m].
std::optional<double> place_in(std::string_view text, double length) {
  if (text == "start") return 0.0;
  if (text == "end") return length;
  const std::optional<double> part = number_in(std::string(text));
  return part ? std::optional(*part * length) : std::nullopt;
}

/// Rods are elements NAME.1, NAME.2, … in a row between nodes that follow each other.
Json rods_of(const multibody::Assembly& assembly) {
  const multibody::Mechanism& mechanism = assembly.mechanism();
  Json rods = Json::array();
  std::string name;
  for (const multibody::ElementPtr& element : mechanism.elements) {
    const auto* part = dynamic_cast<const multibody::SectionElement*>(element.get());
    if (part == nullptr) continue;
    const std::size_t dot = part->name().rfind('.');
    if (dot == std::string::npos) continue;
    const auto body = [&](int end) -> const multibody::Body& {
      return mechanism.bodies[static_cast<std::size_t>(part->nodes()[static_cast<std::size_t>(end)])];
    };
    if (part->name().substr(dot) == ".1") {
      name = part->name().substr(0, dot);
      rods.push_back({{"name", name},
                      {"bodies", {body(0).name}},
                      {"at", {0.0}},
                      {"axis", {list_of(part->end(0).p)}},
                      {"turned", Json::array()},
                      {"reports", Json::array()}});
      for (const Shape& shape : body(0).shapes)
        if (shape.kind == Shape::Kind::box)
          rods.back()["section"] = {{"rectangle", {shape.size.y(), shape.size.z()}}};
        else
          rods.back()["section"] = {{"circle", {{"radius", shape.radius}}}};
    } else if (rods.empty() || part->name().substr(0, dot) != name) {
      continue;
    } else if (const Matrix3 E = part->end(0).E; !E.isIdentity(0.0)) {
      Json entries = Json::array();
      for (int i = 0; i < 9; ++i) entries.push_back(E(i / 3, i % 3));
      rods.back()["turned"].push_back({{"node", rods.back()["at"].size() - 1}, {"R", entries}});
    }
    Json& rod = rods.back();
    rod["bodies"].push_back(body(1).name);
    rod["at"].push_back(rod["at"].back().get<double>() + part->length());
    rod["axis"].push_back(list_of(part->end(1).p));
  }
  for (Json& rod : rods) {
    const std::string prefix = rod["name"].get<std::string>() + "@";
    const auto at = rod["at"].get<std::vector<double>>();
    for (const system::OutputInfo& info : assembly.outputs()) {
      if (!info.name.starts_with(prefix)) continue;
      std::string_view text = std::string_view(info.name).substr(prefix.size());
      if (text.ends_with(".strain")) text.remove_suffix(7);
      const std::optional<double> s = place_in(text, at.back());
      if (!s) continue;
      const auto node = std::ranges::min_element(at, {}, [&](double x) { return std::abs(x - *s); }) - at.begin();
      Json columns = Json::array();
      for (int c = 0; c < info.size(); ++c) columns.push_back(info.column(c));
      rod["reports"].push_back({{"node", node}, {"columns", std::move(columns)}});
    }
  }
  return rods;
}

/// Bodies by name, null: the ground.
Json places_of(const multibody::Mechanism& mechanism, const std::vector<int>& bodies,
               const std::vector<Vector3>& points) {
  Json places = Json::array();
  for (std::size_t i = 0; i < std::min(bodies.size(), points.size()); ++i) {
    const bool is_body = bodies[i] >= 0 && bodies[i] < static_cast<int>(mechanism.bodies.size());
    if (!is_body && bodies[i] != multibody::ground) return Json::array();  // a node that is not a body
    places.push_back({{"body", is_body ? Json(mechanism.bodies[static_cast<std::size_t>(bodies[i])].name) : Json()},
                      {"at", list_of(points[i])}});
  }
  return places;
}

Json mark_of(const multibody::Mechanism& mechanism, const multibody::Mark& mark) {
  Json out{{"kind", mark.kind},
           {"name", mark.name},
           {"type", mark.type},
           {"places", places_of(mechanism, mark.bodies, mark.points)}};
  if (!mark.axis.isZero()) out["axis"] = list_of(mark.axis);
  if (mark.stiffness != 0.0 || mark.damping != 0.0)
    out["spring"] = {{"stiffness", mark.stiffness}, {"damping", mark.damping}, {"length", mark.length}};
  if (!mark.force.isZero()) {
    out["force"] = list_of(mark.force);
    out["frame"] = mark.in_body_frame ? "body" : "inertial";
  }
  return out;
}

bool has_place(const multibody::Joint& joint) {
  return std::ranges::none_of(multibody::joint_catalogue(), [&](const multibody::JointInfo& info) {
    return info.name == joint.type() && info.place == multibody::JointInfo::Place::none;
  });
}

/// Where a joint that holds no point, such as a driver of an angle, is drawn on its second body: at a joint that does, of the same two
/// bodies if there is one, or at the reference point.
Vector3 borrowed_place(const multibody::Mechanism& mechanism, const multibody::Joint& joint) {
  const multibody::Joint* best = nullptr;
  const auto place_on = [&](const multibody::Joint& other, int body) {
    return other.bodies().at(1) == body ? other.frames()[1].p : other.frames()[0].p;
  };
  const int first = joint.bodies().at(0), second = joint.bodies().at(1);
  for (const multibody::JointPtr& other : mechanism.joints) {
    const bool has_second = other->bodies().at(0) == second || other->bodies().at(1) == second;
    if (!has_second || !has_place(*other)) continue;
    const bool has_first = other->bodies().at(0) == first || other->bodies().at(1) == first;
    if (has_first) return place_on(*other, second);
    if (best == nullptr && second != multibody::ground) best = other.get();
  }
  return best != nullptr ? place_on(*best, second) : Vector3(Vector3::Zero());
}

Json marks_of(const multibody::Assembly& assembly) {
  const multibody::Mechanism& mechanism = assembly.mechanism();
  Json marks = Json::array();
  for (const multibody::JointPtr& joint : mechanism.joints) {
    const auto& frames = joint->frames();
    const bool is_line = joint->type() == "distance";
    std::vector<int> bodies(joint->bodies().begin(), joint->bodies().begin() + 2);
    std::vector<Vector3> points{frames[0].p, has_place(*joint) ? frames[1].p : borrowed_place(mechanism, *joint)};
    if (!is_line) bodies.erase(bodies.begin()), points.erase(points.begin());
    marks.push_back({{"kind", "joint"},
                     {"name", joint->name()},
                     {"type", joint->type()},
                     {"places", places_of(mechanism, bodies, points)},
                     {"axis", list_of(frames[1].E.col(2))}});
  }
  for (const multibody::Mark& mark : mechanism.marks) marks.push_back(mark_of(mechanism, mark));
  return marks;
}

}  // namespace

Json scene_of(const models::Model& model) {
  if (!model.scene.empty()) return Json::parse(model.scene);
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(&model.system->result_layout());
  if (assembly == nullptr) return nullptr;
  const multibody::Mechanism& mechanism = assembly->mechanism();
  Json scene{{"bodies", Json::array()}, {"joints", Json::array()}};
  if (!mechanism.gravity.isZero()) {
    scene["up"] = list_of(-mechanism.gravity.normalized());
    scene["gravity"] = mechanism.gravity.norm();
  }
  if (Json marks = marks_of(*assembly); !marks.empty()) scene["marks"] = std::move(marks);
  const bool is_mixed = !assembly->common_group();
  for (const multibody::Body& body : mechanism.bodies) {
    Json shapes = Json::array();
    for (const Shape& shape : body.shapes) shapes.push_back(json_of(shape));
    scene["bodies"].push_back({{"name", body.name}, {"shape", shapes}});
    if (is_mixed) scene["bodies"].back()["group"] = lie::name_of(body.group.value_or(mechanism.group));
  }
  if (Json rods = rods_of(*assembly); !rods.empty()) scene["rods"] = std::move(rods);
  int row = 0;
  for (const multibody::JointPtr& joint : assembly->joints()) {
    const int second = joint->bodies().at(1);
    scene["joints"].push_back(
        {{"name", joint->name()},
         {"body", second == multibody::ground ? Json(nullptr) : Json(mechanism.bodies[second].name)},
         {"at", list_of(joint->frame().p)},
         {"first_row", row + 1},
         {"rows", joint->rows()}});
    row += joint->rows();
  }
  return scene;
}

}  // namespace kreisel::io
