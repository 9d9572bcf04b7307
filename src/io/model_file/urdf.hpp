// Robots in URDF as model files.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/json_source.hpp"

namespace kreisel::io {

struct UrdfOptions {
  bool has_free_base = false;    ///< else the root link is fixed to the ground
  bool repairs_inertia = false;  ///< impossible inertias become the nearest possible ones; else they are refused
  bool has_motors = false;       ///< every joint with an effort limit gets a force given by an input, within the limit
  std::map<std::string, double> positions{};  ///< initial values of joints, by name
  /// The path of a mesh, as the model file has to name it, from its name in the URDF file; throws InvalidInput that says why it is left
  /// out. Empty: meshes are left out.
  std::function<std::string(const std::string& name)> mesh_file{};
};

struct ImportedModel {
  Json model;                      ///< as share/kreisel/model.schema.json describes it
  std::vector<std::string> notes;  ///< what has no counterpart and was left out
};

/// Links that fixed joints hold together become one body, in the pose in which all joints are zero; revolute, continuous,
/// prismatic, planar and floating joints, their limits, damping and friction, inertias, primitives and meshes of visuals are
/// kept; a joint that mimics another one becomes a coupler. Macros of xacro are
/// refused: they are not part of URDF, and what they expand to would be missing. Throws
/// InvalidInput "NAME:LINE:COLUMN: ...", several mistakes together.
ImportedModel import_urdf(std::string_view name, std::string_view text, const UrdfOptions& options = {});

}  // namespace kreisel::io
