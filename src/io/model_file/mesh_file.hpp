// Meshes for pictures, from STL and OBJ files.
#pragma once

#include <functional>

#include "io/json/json_source.hpp"
#include "kreisel/element.hpp"

namespace kreisel::io {

/// Reads STL, as text or binary, or the faces of OBJ; equal points become one. Meshes of more than 20,000 triangles are made coarser, since
/// pictures need no more. Throws InvalidInput that says what is wrong with the file.
multibody::Triangles read_mesh(const Path& path);

/// The same for the content of a file.
multibody::Triangles mesh_in(std::string_view bytes, bool is_obj);

/// The file that a URDF file in `folder` calls `name`: "package://robot/meshes/arm.stl" is looked for in the folders above. Throws InvalidInput.
Path find_mesh(const Path& folder, const std::string& name);

/// Calls `each` with the "file" of every mesh of the bodies of a model.
void for_each_mesh_file(Json& model, const std::function<void(Json& file)>& each);
/// Makes the mesh files of bodies absolute, from paths that are relative to `folder`.
void resolve_mesh_files(Json& model, const Path& folder);

}  // namespace kreisel::io
