// What enters and leaves the energy of a system.
#pragma once

namespace kreisel {

/// As power [W] or as work [J].
struct EnergyFlow {
  double forces = 0.0;      ///< of applied forces and actuators
  double drivers = 0.0;     ///< of joints that depend on time
  double dissipated = 0.0;  ///< by dampers and friction, positive
  double total() const { return forces + drivers - dissipated; }

  EnergyFlow& add(double factor, const EnergyFlow& more) {
    forces += factor * more.forces;
    drivers += factor * more.drivers;
    dissipated += factor * more.dissipated;
    return *this;
  }
};

}  // namespace kreisel
