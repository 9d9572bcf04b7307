// What a model file may contain: the objects in it as data, the JSON Schema and the reference made from them.
#pragma once

#include <string>
#include <vector>

#include "io/json/keys.hpp"
#include "multibody/force.hpp"
#include "multibody/joint.hpp"
#include "multibody/law.hpp"

namespace kreisel::io {

/// Where a joint or a force acts: the points and axes that the reader expects.
struct Placement {
  multibody::JointInfo::Place place = multibody::JointInfo::Place::none;
  bool place_is_optional = false;
  int axes = 0;
  bool axis_is_optional = false;
  int bodies = 2;          ///< that it names
  bool has_frames = true;  ///< may be given in body coordinates
};
Placement placement_of(const multibody::JointInfo& info);
Placement placement_of(const multibody::ForceInfo& info);

/// "at", "axis", ... in world coordinates.
std::vector<Key> place_keys(const Placement& placement);

// Every kind of object.
const ObjectInfo& model_object();
const ObjectInfo& include_object();
const ObjectInfo& start_object();
const ObjectInfo& start_of_body_object();
const ObjectInfo& parameter_object();
const ObjectInfo& body_object();
const ObjectInfo& material_object();
const ObjectInfo& section_object();
const ObjectInfo& circle_object();  ///< of a section
const ObjectInfo& path_object();    ///< of a rod
const ObjectInfo& section_shape_object();
const ObjectInfo& arc_object();
const ObjectInfo& helix_object();
const ObjectInfo& catenary_object();
const ObjectInfo& line_load_object();
const ObjectInfo& rod_object();
const ObjectInfo& frame_object();
const ObjectInfo& table_object();                   ///< of a function of time
const std::vector<ObjectInfo>& shape_objects();     ///< by name
const std::vector<ObjectInfo>& rotation_objects();  ///< the ways to give one
ObjectInfo object_of(const multibody::JointInfo& info);
ObjectInfo object_of(const multibody::ForceInfo& info);
ObjectInfo object_of(const multibody::LawInfo& info);
const ObjectInfo& input_object();
const ObjectInfo& state_object();
const ObjectInfo& output_object();
std::vector<std::string> section_force_components();
std::vector<std::string> section_strain_components();
std::vector<std::string> output_kinds();  ///< keys of which an output has exactly one
const ObjectInfo& limits_object();
const ObjectInfo& coupler_object();
/// Of the catalogue, and couplers.
std::vector<std::string> joint_types(bool are_drivers);
const ObjectInfo& event_object();
const ObjectInfo& law_table_object();  ///< of a function of something other than time
ObjectInfo simulation_object();

/// Accepts what the reader of model files accepts, as far as the form of a file goes.
Json model_schema();
/// The same in Markdown, for readers.
std::string model_reference();

}  // namespace kreisel::io
