// Bodies with their inertias and shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/model_file/colour.hpp"
#include "io/model_file/mesh_file.hpp"
#include "io/model_file/model_reader.hpp"

namespace kreisel::io {

void ModelReader::read_group(const Json& root) {
  if (find(root, "rods") != nullptr) mechanism_.group = lie::GroupId::se3;  // the cheapest group for nodes of rods
  if (const Json* given = find(root, "group")) group("/group", *given, mechanism_.group);
  if (options_.group.empty()) return;
  const std::string& name = options_.group;
  const std::vector<std::string> known = body_groups();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw InvalidInput(fmt::format("the group of a mechanism is r3xso3 or se3, not '{}'", name));
  mechanism_.group = lie::group_named(name);
}

void ModelReader::read_bodies(const Json& root) {
  const bool has_rods = find(root, "rods") != nullptr || options_.base != nullptr;
  if (!has_rods &&
      require("", root, "bodies", "a list of bodies: [{\"name\": ..., \"mass\": ..., \"inertia\": ...}]") == nullptr)
    return;
  const std::size_t before = problem_count_;
  const Json& bodies = list(root, "bodies");
  if (bodies.empty() && problem_count_ == before && !has_rods)
    complain("/bodies", "is empty, expected at least one body");
  std::size_t i = 0;
  if (options_.base != nullptr)
    for (; i < options_.base->bodies.size(); ++i) {
      mechanism_.bodies.push_back(options_.base->bodies[i]);
      body_numbers_.insert({mechanism_.bodies.back().name, static_cast<int>(i)});
    }
  for (; i < bodies.size(); ++i) read_body(below("/bodies", i), bodies[i]);
}

void ModelReader::read_body(const std::string& at, const Json& value) {
  Body body;
  body.name = fmt::format("body{}", mechanism_.bodies.size() + 1);
  if (is_object(at, value, "a body {\"name\": ..., \"mass\": ..., \"inertia\": ..., \"position\": ...}")) {
    static const std::vector<std::string> known = names_of(body_object().keys);
    check_keys(at, value, known);
    if (const Json* name = find(value, "name")) {
      if (name_text(below(at, "name"), *name, body.name) && body.name == "ground")
        complain(below(at, "name"), "is \"ground\", which always means the fixed world; choose another name");
    }
    lie::GroupId own_group = mechanism_.group;
    if (const Json* given = find(value, "group"); given != nullptr && group(below(at, "group"), *given, own_group))
      body.group = own_group;
    if (const Json* mass = require(at, value, "mass", "the mass [kg]");
        mass != nullptr && number(below(at, "mass"), *mass, body.mass))
      if (body.mass < 0.0)
        complain(below(at, "mass"), fmt::format("is {}, expected a mass that is not negative [kg]", body.mass));
    if (const Json* inertia =
            require(at, value, "inertia", "three, six or 3x3 numbers about the centre of mass [kg m^2]"))
      read_inertia(below(at, "inertia"), *inertia, body.inertia);
    if (const Json* x = require(at, value, "position", "the centre of mass [x, y, z] [m]"))
      vector(below(at, "position"), *x, body.position);
    if (const Json* r = find(value, "rotation")) rotation(below(at, "rotation"), *r, body.rotation);
    if (const Json* u = find(value, "velocity")) vector(below(at, "velocity"), *u, body.velocity);
    if (const Json* w = find(value, "angular_velocity"))
      vector(below(at, "angular_velocity"), *w, body.angular_velocity);
    if (const Json* shape = find(value, "shape")) read_shape(below(at, "shape"), *shape, body);
    if (const Json* shapes = find(value, "shapes");
        shapes != nullptr && is_list(below(at, "shapes"), *shapes, "a list of shapes"))
      for (std::size_t i = 0; i < shapes->size(); ++i) read_shape(below(below(at, "shapes"), i), (*shapes)[i], body);
  }
  if (!body_numbers_.insert({body.name, static_cast<int>(mechanism_.bodies.size())}).second)
    complain(below(at, "name"),
             fmt::format("\"{}\" is the name of an earlier body; every name must be unique", body.name));
  mechanism_.bodies.push_back(std::move(body));
}

void ModelReader::read_inertia(const std::string& at, const Json& value, Matrix3& J) {
  constexpr std::string_view expected =
      "three diagonal entries, six [xx, yy, zz, xy, xz, yz] or a symmetric 3x3 matrix [kg m^2]";
  if (!value.is_array() || (value.size() != 3 && value.size() != 6))
    return complain(at, fmt::format("is {}, expected {}", shown(value), expected));
  if (value.size() == 3 && value[0].is_array()) {
    if (!matrix(at, value, J)) return;
    const double size = J.cwiseAbs().maxCoeff();
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < i; ++j)
        if (!(std::abs(J(i, j) - J(j, i)) <= 1e-9 * size))
          return complain(at, fmt::format("is not symmetric: row {} column {} is {}, row {} column {} is {}", i + 1,
                                          j + 1, J(i, j), j + 1, i + 1, J(j, i)));
    J = (0.5 * (J + J.transpose())).eval();
  } else {
    double e[6] = {0, 0, 0, 0, 0, 0};
    if (!numbers(at, value, value.size(), e, expected)) return;
    J << e[0], e[3], e[4], e[3], e[1], e[5], e[4], e[5], e[2];
  }
  if (const std::string problem = multibody::problem_with_inertia(J); !problem.empty()) complain(at, problem);
}

void ModelReader::read_shape(const std::string& at, const Json& value, Body& body) {
  constexpr Shape::Kind kinds[] = {Shape::Kind::box,     Shape::Kind::sphere, Shape::Kind::cylinder,
                                   Shape::Kind::capsule, Shape::Kind::cone,   Shape::Kind::mesh};
  if (!is_object(at, value, "a shape such as {\"cylinder\": {\"radius\": 0.05, \"length\": 1, \"axis\": [0, 1, 0]}}"))
    return;
  check_keys(at, value, names_in(shape_objects()));
  for (std::size_t i = 0; i < shape_objects().size(); ++i) {
    const ObjectInfo& form = shape_objects()[i];
    const Json* data = find(value, form.name);
    const std::string here = below(at, form.name);
    if (data == nullptr || !is_object(here, *data, "the data of the shape {...}")) continue;
    Shape shape;
    shape.kind = kinds[i];
    check_keys(here, *data, names_of(form.keys));
    for (const Key& key : form.keys) {
      if (!key.is_required || shape.kind == Shape::Kind::mesh) continue;
      const std::string& name = key.field.name;
      const Json* given = require(here, *data, name, name == "size" ? "the three edges [m]" : "a length [m]");
      if (given == nullptr) continue;
      if (name == "size") {
        if (vector(below(here, name), *given, shape.size) && !(shape.size.minCoeff() > 0.0))
          complain(below(here, name), "has an edge that is not positive");
      } else {
        double& target = name == "radius" ? shape.radius : shape.length;
        if (number(below(here, name), *given, target) && !(target > 0.0))
          complain(below(here, name), fmt::format("is {}, expected a positive length [m]", target));
      }
    }
    if (const Json* turn = find(*data, "rotation")) rotation(below(here, "rotation"), *turn, shape.rotation);
    if (shape.kind == Shape::Kind::mesh && !read_mesh_shape(here, *data, shape)) continue;
    if (const Json* axis = find(*data, "axis")) direction(below(here, "axis"), *axis, shape.axis);
    if (const Json* centre = find(*data, "at")) vector(below(here, "at"), *centre, shape.at);
    if (const Json* color = find(*data, "color");
        color != nullptr && text(below(here, "color"), *color, shape.color) && !is_css_colour(shape.color))
      complain(below(here, "color"), fmt::format("is {}, expected a colour as in CSS: \"#1f77b4\", \"rgb(31, 119, "
                                                 "180)\" or a name such as \"steelblue\"",
                                                 shown(*color)));
    body.shapes.push_back(std::move(shape));
  }
}

bool ModelReader::read_mesh_shape(const std::string& at, const Json& data, Shape& shape) {
  std::string file;
  const Json* given = require(at, data, "file", "the path of an STL or OBJ file");
  if (given == nullptr || !text(below(at, "file"), *given, file)) return false;
  Vector3 scale = Vector3::Ones();
  if (const Json* factor = find(data, "scale")) {
    const std::string here = below(at, "scale");
    double one = 1.0;
    if (factor->is_array() ? !vector(here, *factor, scale) : !number(here, *factor, one, "a number or three of them"))
      return false;
    scale *= one;
    if (!scale.allFinite() || (scale.array() == 0.0).any()) {
      complain(here, fmt::format("is {}, expected numbers other than zero", shown(*factor)));
      return false;
    }
  }
  return guarded(below(at, "file"), [&] {
    auto mesh = std::make_shared<multibody::Triangles>(read_mesh(source_.folder() / file));
    for (Eigen::Vector3f& p : mesh->points) {
      p = p.cast<double>().cwiseProduct(scale).cast<float>();
      if (!p.allFinite()) throw InvalidInput("the scaled mesh is too large");
    }
    // A mirrored mesh is seen from the other side.
    if (scale.prod() < 0.0)
      for (std::size_t i = 0; i + 2 < mesh->corners.size(); i += 3) std::swap(mesh->corners[i], mesh->corners[i + 1]);
    shape.triangles = std::move(mesh);
  });
}

}  // namespace kreisel::io
