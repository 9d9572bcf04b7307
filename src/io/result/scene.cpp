#include "io/result/scene.hpp"

#include "multibody/assembly.hpp"

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

}  // namespace

Json scene_of(const models::Model& model) {
  if (!model.scene.empty()) return Json::parse(model.scene);
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(&model.system->result_layout());
  if (assembly == nullptr) return nullptr;
  const multibody::Mechanism& mechanism = assembly->mechanism();
  Json scene{{"bodies", Json::array()}, {"joints", Json::array()}};
  if (!mechanism.gravity.isZero()) scene["up"] = list_of(-mechanism.gravity.normalized());
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
