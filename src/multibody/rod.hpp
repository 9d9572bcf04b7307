// Rods: a path, a section and a mesh become nodes with mass and beam elements between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "multibody/assembly.hpp"
#include "multibody/beam.hpp"
#include "multibody/rod_path.hpp"

namespace kreisel::multibody {

/// A cross-section with its mass, in its own axes: x along the rod.
struct RodSection {
  BeamSection beam;
  double mass_per_length = 1.0;                       ///< [kg/m]
  Matrix3 inertia_per_length = Matrix3::Identity();   ///< about the centre of mass [kg m]
  Vector3 centre_of_mass = Vector3::Zero();           ///< in the section: (0, y, z) [m]
  double shear_factor = 0.0, torsion_constant = 0.0;  ///< of a shape [-, m⁴]; zero: the stiffness was given
};

/// Sections from their shape, by Timoshenko's theory: K = diag(EA, kG A, kG A, G J, E I_y, E I_z).
struct Material {
  double young = 210e9, poisson = 0.3;  ///< [Pa], [-]
  double density = 7800.0;              ///< [kg/m³]
};
/// Stiffness of a section given by its six diagonal entries.
Matrix6 compliance_of(double EA, double GAy, double GAz, double GJ, double EIy, double EIz);
/// A circle or a tube; shear factors of Cowper (1966).
RodSection circular_section(const Material& material, double radius, double inner_radius = 0.0);
/// `y` and `z` are the edges; torsion constant of Saint-Venant.
RodSection rectangular_section(const Material& material, double y, double z);

/// Poses of the cross-sections at the nodes, before loads, x along the rod. The rod is free of stress there unless `prestress`
/// says otherwise.
struct Rod {
  std::string name = "rod";
  std::vector<Frame> nodes;  ///< inertial, at least two
  double length = 1.0;       ///< of the whole rod, along it [m]
  RodSection section;
  Vector6 prestress = Vector6::Zero();  ///< at the nodes as given [N, N m]
  Vector3 velocity = Vector3::Zero(),
          angular_velocity = Vector3::Zero();             ///< of a rigid motion about the first node, inertial
  std::optional<lie::GroupId> group = lie::GroupId::se3;  ///< of the nodes; none: that of the mechanism
  bool is_straight_unloaded = false;                      ///< the poses are loaded ones, the rod itself is straight
  bool is_cable = false;                                  ///< pulls only: only EA of the section is used
  // Of meshes that are not even; empty: equal elements without corners.
  std::vector<Frame> leaving{};  ///< RodMesh::leaving
  std::vector<double> at{};      ///< RodMesh::at
  std::vector<int> breaks{};     ///< RodMesh::breaks

  void set_mesh(RodMesh mesh);
};

/// Gregory's weights of the nodes of a rod with this many elements, in lengths of an element: they integrate what varies along the
/// rod with order 4 where the trapezoidal rule has 2. For one element they are that rule.
std::vector<double> node_weights(int elements);
/// The same in lengths, of a mesh with stretches of equal elements, from one break to the next [m].
std::vector<double> node_weights(const std::vector<double>& at, const std::vector<int>& breaks);
/// Which part of the weight of each node belongs to the rod before it: what lies before the node is then integrated exactly where it is
/// constant [m].
std::vector<double> weights_before(const std::vector<double>& at, const std::vector<double>& weights);

/// Adds bodies NAME.0 … NAME.n and beams NAME.1 … NAME.n. Returns the number of the first body. Throws InvalidInput for an
/// impossible rod.
int add_rod(Mechanism& mechanism, const Rod& rod);

/// Poses along a line; z of the sections is as close to `up` as it can be.
std::vector<Frame> line(const Vector3& from, const Vector3& to, int elements, const Vector3& up = Vector3::UnitZ());
/// The pose at the first node carried on with constant strain: an arc, a helix, a twisted line.
std::vector<Frame> constant_strain(const Frame& from, const Vector6& strain, double length, int elements);

}  // namespace kreisel::multibody
