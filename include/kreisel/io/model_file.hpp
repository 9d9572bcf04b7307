// Mechanisms from a JSON file (share/kreisel/model.schema.json); every mistake with its place, all of them together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kreisel/io/json_source.hpp"
#include "kreisel/models/catalogue.hpp"
#include "kreisel/multibody/assembly.hpp"

namespace kreisel::io {

/// The section "simulation": what the file suggests for a run. Options of the command line go before it.
struct SimulationSettings {
  std::optional<double> t_end, step, rtol, atol, output_step;
  std::optional<int> order;
  std::optional<std::string> method, formulation;
};

struct ModelFileOptions {
  std::string group;  ///< empty: the one of the file
  bool assembles =
      false;  ///< move bodies onto the constraints instead of refusing positions and velocities that miss them
};

/// How far `assembles` moved a body.
struct BodyChange {
  std::string body;
  double distance = 0.0;          ///< of the centre of mass [m]
  double angle = 0.0;             ///< [rad]
  double velocity = 0.0;          ///< [m/s]
  double angular_velocity = 0.0;  ///< [rad/s]
};

struct ModelFile {
  models::Model model;
  std::shared_ptr<const multibody::Assembly> assembly;  ///< the system of the model, with bodies, shapes and joints
  SimulationSettings simulation;
  std::vector<BodyChange> changes;  ///< bodies that were moved, the largest change first
};

/// Throws InvalidInput with one line per mistake: FILE:LINE:COLUMN: /json/pointer: what was found; what would be right.
ModelFile read_model_file(const Path& path, const ModelFileOptions& options = {});
ModelFile read_model(const JsonSource& source, const ModelFileOptions& options = {});

}  // namespace kreisel::io
