// Meshes for pictures: STL and OBJ files, in models, URDF, scenes, glTF and VTK.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "io/model_file/mesh_file.hpp"
#include "io/model_file/model_file.hpp"
#include "io/model_file/urdf.hpp"
#include "io/report/report_shapes.hpp"
#include "io/result/scene.hpp"
#include "kreisel/error.hpp"
#include "multibody/assembly.hpp"
#include "temporary_folder.hpp"

namespace kreisel {
namespace {

using multibody::Triangles;
using test::TemporaryFolder;

constexpr auto write = test::write_file;

std::string word(std::uint32_t value) {
  std::string out;
  for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(value >> 8U * i & 255U);
  return out;
}

/// A box of 1 x 2 x 3 about the origin, outward.
const std::vector<std::array<std::array<float, 3>, 3>>& box_faces() {
  static const auto faces = [] {
    std::vector<std::array<std::array<float, 3>, 3>> out;
    for (int axis = 0; axis < 3; ++axis)
      for (const float side : {-1.0F, 1.0F}) {
        const auto corner = [&](float a, float b) {
          const std::array<float, 3> half{0.5F, 1.0F, 1.5F};
          std::array<float, 3> p{};
          p[axis] = side * half[axis];
          p[(axis + 1) % 3] = a * side * half[(axis + 1) % 3];
          p[(axis + 2) % 3] = b * half[(axis + 2) % 3];
          return p;
        };
        out.push_back({corner(-1, -1), corner(1, -1), corner(1, 1)});
        out.push_back({corner(-1, -1), corner(1, 1), corner(-1, 1)});
      }
    return out;
  }();
  return faces;
}

std::string binary_stl() {
  std::string out("solid that is binary all the same");
  out.resize(80, ' ');
  out += word(static_cast<std::uint32_t>(box_faces().size()));
  for (const auto& face : box_faces()) {
    for (int i = 0; i < 3; ++i) out += word(0);
    for (const auto& p : face)
      for (const float value : p) out += word(std::bit_cast<std::uint32_t>(value));
    out += std::string(2, '\0');
  }
  return out;
}

std::string text_stl() {
  std::string out = "solid box\n";
  for (const auto& face : box_faces()) {
    out += "facet normal 0 0 0\n outer loop\n";
    for (const auto& p : face) out += fmt::format("  vertex {} {} {}\r\n", p[0], p[1], p[2]);
    out += " endloop\nendfacet\n";
  }
  return out + "endsolid box\n";
}

std::string box_obj() {
  return "# a box of quadrilaterals\nv -.5 -1 -1.5\nv .5 -1 -1.5\nv .5 1 -1.5\nv -.5 1 -1.5\nv -.5 -1 1.5\nv .5 -1 "
         "1.5\nv .5 1 1.5\nv -.5 1 1.5\n"
         "vn 0 0 1\nf 4//1 3//1 2//1 1//1\nf 5 6 7 8\nf 1 2 6 5\nf 2/1/1 3/1/1 7/1/1 6/1/1\nf 3 4 8 7\nf -8 -4 -1 -5\n";
}

/// Enclosed volume by the divergence theorem: positive where the corners run counterclockwise from outside.
double volume(const Triangles& mesh) {
  double sum = 0.0;
  for (std::size_t i = 0; i < mesh.corners.size(); i += 3) {
    const auto p = [&](std::size_t k) { return Vector3(mesh.points[mesh.corners[i + k]].cast<double>()); };
    sum += p(0).dot(p(1).cross(p(2))) / 6.0;
  }
  return sum;
}

struct Format {
  const char* name;
  std::string (*content)();
};
class Meshes : public testing::TestWithParam<Format> {};

TEST_P(Meshes, HaveEveryCornerOnceAndTheVolumeOfTheirBody) {
  const TemporaryFolder folder;
  write(folder.path() / GetParam().name, GetParam().content());
  const Triangles mesh = io::read_mesh(folder.path() / GetParam().name);
  EXPECT_EQ(mesh.points.size(), 8U);
  EXPECT_EQ(mesh.corners.size(), 36U);
  EXPECT_NEAR(volume(mesh), 6.0, 1e-6);
}
INSTANTIATE_TEST_SUITE_P(All, Meshes,
                         testing::Values(Format{"box.stl", binary_stl}, Format{"text.STL", text_stl},
                                         Format{"box.obj", box_obj}),
                         [](const auto& info) { return "Number" + std::to_string(info.index); });

TEST(Mesh, SaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  const auto problem = [&](const std::string& name, const std::string& content) -> std::string {
    write(folder.path() / name, content);
    try {
      io::read_mesh(folder.path() / name);
    } catch (const InvalidInput& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_NE(problem("cut.stl", binary_stl().substr(0, 300)).find("has no triangles, or it is cut off"),
            std::string::npos);
  EXPECT_NE(problem("a.stl", "solid\nvertex 1 2\n").find("line 2: expected three coordinates"), std::string::npos);
  EXPECT_NE(problem("b.stl", "solid\nvertex 1 2 3\nendloop\n").find("line 3: expected three vertices"),
            std::string::npos);
  EXPECT_NE(problem("c.obj", "v 0 0 0\nf 1 2 3\n").find("line 2: expected numbers of points, of which there are 1"),
            std::string::npos);
  EXPECT_NE(problem("d.obj", "v 0 0 nan\n").find("three coordinates"), std::string::npos);
  EXPECT_NE(problem("e.dae", "").find("expected .stl or .obj"), std::string::npos);
  EXPECT_NE(problem("f.obj", "").find("has no triangles"), std::string::npos);
}

TEST(Mesh, IsMadeCoarserForPicturesAndKeepsItsSize) {
  const TemporaryFolder folder;
  std::string sphere;
  constexpr int n = 200;
  for (int i = 0; i <= n; ++i)
    for (int j = 0; j < n; ++j) {
      const double a = M_PI * i / n, b = 2.0 * M_PI * j / n;
      sphere += fmt::format("v {} {} {}\n", std::sin(a) * std::cos(b), std::sin(a) * std::sin(b), std::cos(a));
    }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      sphere += fmt::format("f {} {} {} {}\n", i * n + j + 1, (i + 1) * n + j + 1, (i + 1) * n + (j + 1) % n + 1,
                            i * n + (j + 1) % n + 1);
  write(folder / "sphere.obj", sphere);
  const Triangles mesh = io::read_mesh(folder / "sphere.obj");
  EXPECT_LE(mesh.corners.size(), 60'000U);
  EXPECT_GT(mesh.corners.size(), 6'000U);
  EXPECT_NEAR(volume(mesh), 4.0 / 3.0 * M_PI, 0.05);
}

std::string model_with(const std::string& shape) {
  return R"({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "shape": )" + shape +
         "}]}";
}

TEST(Mesh, OfAModelFileIsScaledTurnedAndFoundBesideIt) {
  const TemporaryFolder folder;
  write(folder / "box.stl", binary_stl());
  write(
      folder / "model.json",
      model_with(
          R"({"mesh": {"file": "box.stl", "scale": 0.001, "rotation": {"axis": [0, 0, 1], "angle_deg": 90}, "at": [0, 0, 7]}})"));
  const io::ModelFile file = io::read_model_file(folder / "model.json");
  const io::Json scene = io::scene_of(file.model);
  const io::Json& shape = scene.at("bodies").at(0).at("shape").at(0).at("mesh");
  EXPECT_EQ(shape.at("at"), io::Json({0.0, 0.0, 7.0}));
  const io::ShapeTriangles shown = io::triangles_of_shape(shape);
  ASSERT_EQ(shown.points.size(), 8U);
  Vector3 largest = Vector3::Zero();
  for (const Vector3& p : shown.points) largest = largest.cwiseMax(p.cwiseAbs());
  EXPECT_LT((largest - Vector3(1e-3, 0.5e-3, 1.5e-3)).norm(), 1e-9) << "x and y have changed places";
}

TEST(Mesh, MirroredIsStillSeenFromOutside) {
  const TemporaryFolder folder;
  write(folder / "box.stl", binary_stl());
  write(folder / "model.json", model_with(R"({"mesh": {"file": "box.stl", "scale": [1, 1, -1]}})"));
  const io::ModelFile file = io::read_model_file(folder / "model.json");
  EXPECT_NEAR(volume(*file.assembly->mechanism().bodies.at(0).shapes.at(0).triangles), 6.0, 1e-6);
}

TEST(Mesh, ThatIsMissingIsNamedWithItsPlace) {
  const TemporaryFolder folder;
  write(folder / "model.json", model_with(R"({"mesh": {"file": "none.stl"}})"));
  try {
    io::read_model_file(folder / "model.json");
    ADD_FAILURE();
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("/bodies/0/shape/mesh/file: cannot read the mesh"), std::string::npos)
        << e.what();
  }
}

TEST(Mesh, OfAnIncludedFileIsFoundBesideThatFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "parts");
  write(folder / "parts" / "box.stl", binary_stl());
  write(folder / "parts" / "part.json", model_with(R"({"mesh": {"file": "box.stl"}})"));
  write(folder / "whole.json", R"({"include": [{"file": "parts/part.json", "prefix": "left."}]})");
  const io::ModelFile file = io::read_model_file(folder / "whole.json");
  EXPECT_EQ(file.assembly->mechanism().bodies.at(0).shapes.at(0).triangles->corners.size(), 36U);
}

TEST(Mesh, OfAPackageIsLookedForInTheFoldersAbove) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "robot" / "urdf");
  std::filesystem::create_directories(folder / "robot" / "meshes");
  write(folder / "robot" / "meshes" / "arm.stl", binary_stl());
  const io::Path urdf = folder / "robot" / "urdf", mesh = folder / "robot" / "meshes" / "arm.stl";
  for (const char* name : {"package://robot/meshes/arm.stl", "package://other/meshes/arm.stl", "../meshes/arm.stl"})
    EXPECT_EQ(io::find_mesh(urdf, name), std::filesystem::absolute(mesh).lexically_normal()) << name;
  EXPECT_THROW(io::find_mesh(urdf, "package://robot/meshes/leg.stl"), InvalidInput);
  EXPECT_THROW(io::find_mesh(urdf, "package://"), InvalidInput);
}

TEST(Mesh, OfALinkKeepsItsPlaceAndScale) {
  const std::string robot = R"(<robot name="r"><link name="base"/><link name="arm">
    <inertial><origin xyz="0 0 0.5"/><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 2" rpy="0 0 1.5707963267948966"/><geometry><mesh filename="arm.stl" scale="0.001 0.001 0.001"/></geometry></visual>
    <visual><origin rpy="0.3 0 0"/><geometry><box size="1 2 3"/></geometry></visual></link>
    <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>)";
  const io::ImportedModel imported =
      io::import_urdf("r.urdf", robot, {.mesh_file = [](const std::string& name) { return "kept/" + name; }});
  const io::Json& shapes = imported.model.at("bodies").at(0).at("shapes");
  EXPECT_EQ(shapes.at(0).at("mesh").at("file"), "kept/arm.stl");
  EXPECT_EQ(shapes.at(0).at("mesh").at("scale"), io::Json({0.001, 0.001, 0.001}));
  EXPECT_EQ(shapes.at(0).at("mesh").at("at"), io::Json({0.0, 0.0, 1.5}));
  EXPECT_NEAR(shapes.at(0).at("mesh").at("rotation").at("quaternion").at(3).get<double>(), std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(shapes.at(1).at("box").at("rotation").at("quaternion").at(1).get<double>(), std::sin(0.15), 1e-12);
}

}  // namespace
}  // namespace kreisel
