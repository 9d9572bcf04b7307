// The benchmark problems as numbers, shared by our drivers and the peers', so that all solve the same problem.
#pragma once

#include <Eigen/Core>

#include <array>
#include <string>
#include <vector>

namespace bench {

using Vector3 = Eigen::Vector3d;
using Matrix3 = Eigen::Matrix3d;

/// The heavy top of Brüls and Cardona; with a bushing the built-in model `stiff-top` (models/stiff_top.cpp).
struct Top {
  double mass = 15.0;
  Vector3 J{0.234375, 0.46875, 0.234375};  ///< about the centre of mass, body frame
  Vector3 X{0.0, 1.0, 0.0};                ///< tip to centre of mass, body frame
  Vector3 gravity{0.0, 0.0, -9.81};
  Vector3 spin{0.0, 150.0, -4.61538};     ///< initial Ω, body frame; R = 1 at the start
  double stiffness = 0.0, damping = 0.0;  ///< of the bushing, along s = body_axis·Rᵀground_axis
  Vector3 body_axis{1.0, 0.0, 0.0}, ground_axis{0.0, 1.0, 0.0};
  double t_end = 2.0;
};

/// "heavy-top" or "stiff-top".
Top top_named(const std::string& name);

/// Eich's pendulum with period 2: after 100 s the bob is back at (1, 0), at rest.
struct Pendulum {
  double gravity = 13.750371636040745655;
  double t_end = 100.0;
};

/// The built-in model `chain`: rods with ball joints, released horizontally along x.
struct Chain {
  int links = 100;
  double mass = 1.0, length = 1.0, gravity = 9.81;
  Vector3 J{0.00125, 1.0075 / 12.0, 1.0075 / 12.0};
  double t_end = 2.0;
};

/// Position of the centre of mass and orientation of the body at t_end.
struct TopState {
  Vector3 x;
  Matrix3 R;
};

/// Largest entry of x - x_ref and R - R_ref; the reference is bench/reference/<name>.txt.
double error_of(const std::string& name, const TopState& at_end);
/// The same over all links; the reference is bench/reference/chain.txt.
double error_of(const Chain&, const std::vector<TopState>& at_end);
/// Largest entry over position and velocity.
double error_of(const Pendulum&, const std::array<double, 4>& at_end);

/// One run of one program, as a JSON line that bench/run reads. `tolerance` is the step size for constant steps.
struct Run {
  std::string label;  ///< the label of the count
  std::string method;
  double tolerance = 0.0;
  double error = 0.0;
  bool is_success = false;
  long steps = 0, evaluations = 0, jacobians = 0, iterations = 0, rejected = 0;
};
void print(const Run& run);

/// "method tolerance", unique within a program's output.
std::string label_of(const std::string& method, double tolerance);

/// The tolerances of a command line, from argv[first] on.
std::vector<double> numbers_from(int argc, char** argv, int first);

}  // namespace bench
