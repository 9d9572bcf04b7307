#include "io/result/scene.hpp"

#include <algorithm>

#include "multibody/assembly.hpp"
#include "multibody/beam.hpp"

namespace kreisel::io {
namespace {

using multibody::Shape;

Json list_of(const Vector3& a) { return {a.x(), a.y(), a.z()}; }

Json json_of(const Shape& shape) {
  Json data{{"at", list_of(shape.at)}};
  if (!shape.color.empty()) data["color"] = shape.color;
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

/// Bodies by name, null: the ground.
Json places_of(const multibody::Mechanism& mechanism, const std::vector<int>& bodies,
               const std::vector<Vector3>& points) {
  Json places = Json::array();
  for (std::size_t i = 0; i < std::min(bodies.size(), points.size()); ++i) {
    const bool is_body = bodies[i] >= 0 && bodies[i] < static_cast<int>(mechanism.bodies.size());
    if (!is_body && bodies[i] != multibody::ground) return Json::array();  // a node that is no body
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

Json marks_of(const multibody::Assembly& assembly) {
  const multibody::Mechanism& mechanism = assembly.mechanism();
  Json marks = Json::array();
  for (const multibody::JointPtr& joint : mechanism.joints) {
    const auto& frames = joint->frames();
    const bool is_line = joint->type() == "distance";
    std::vector<int> bodies(joint->bodies().begin(), joint->bodies().begin() + 2);
    std::vector<Vector3> points{frames[0].p, frames[1].p};
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

/// Bodies of rods, in the order of the beams between them.
Json rods_of(const multibody::Mechanism& mechanism) {
  Json beams = Json::array();
  for (const multibody::ElementPtr& element : mechanism.elements)
    if (const auto* beam = dynamic_cast<const multibody::Beam*>(element.get())) {
      const int a = beam->nodes().at(0), b = beam->nodes().at(1), count = static_cast<int>(mechanism.bodies.size());
      if (a >= 0 && b >= 0 && a < count && b < count)
        beams.push_back({mechanism.bodies[static_cast<std::size_t>(a)].name,
                         mechanism.bodies[static_cast<std::size_t>(b)].name, beam->length()});
    }
  return beams;
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
  if (Json beams = rods_of(mechanism); !beams.empty()) scene["beams"] = std::move(beams);
  const bool is_mixed = !assembly->common_group();
  for (const multibody::Body& body : mechanism.bodies) {
    Json shapes = Json::array();
    for (const Shape& shape : body.shapes) shapes.push_back(json_of(shape));
    scene["bodies"].push_back({{"name", body.name}, {"shape", shapes}});
    if (is_mixed) scene["bodies"].back()["group"] = lie::name_of(body.group.value_or(mechanism.group));
  }
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
