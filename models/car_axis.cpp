// Car axis: two rods on stiff springs over an uneven road, a constraint that depends on time (IVP Test Set).
#include <limits>

#include "formula_system.hpp"
#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

/// q = (x_l, y_l, x_r, y_r). The test set writes K q̈ = F + Gᵀλ: its multipliers are the negative of ours.
struct CarAxis {
  static constexpr int n = 4, m = 2;
  double epsilon = 1e-2, mass_constant = 10.0;

  static constexpr double length = 1.0, rest = 0.5, height = 0.1, frequency = 10.0, gravity = 1.0;
  double inertia() const { return 0.5 * mass_constant * epsilon * epsilon; }

  static std::vector<system::RowGroup> groups() {
    return {{"left wheel", 1, system::RowLevel::position, {0}, 0}, {"axis", 1, system::RowLevel::position, {0}, 0}};
  }
  template <class T, class Square>
  void mass(const T*, Square& M) const {
    for (int i = 0; i < n; ++i) M[i][i] = T(inertia());
  }
  template <class T>
  void road(const T& t, T& x, T& y) const {
    y = T(height) * sin(T(frequency) * t);
    x = sqrt(T(length * length) - y * y);
  }
  template <class T>
  void force(const T& t, const T* q, const T*, T* g) const {
    T xb, yb;
    road(t, xb, yb);
    const T left = sqrt(q[0] * q[0] + q[1] * q[1]), dx = q[2] - xb, dy = q[3] - yb, right = sqrt(dx * dx + dy * dy);
    const T pull_left = (left - T(rest)) / left, pull_right = (right - T(rest)) / right;
    g[0] = pull_left * q[0];
    g[1] = pull_left * q[1] + T(inertia() * gravity);
    g[2] = pull_right * dx;
    g[3] = pull_right * dy + T(inertia() * gravity);
  }
  template <class T>
  void constraint(const T& t, const T* q, T* phi) const {
    T xb, yb;
    road(t, xb, yb);
    const T dx = q[0] - q[2], dy = q[1] - q[3];
    phi[0] = q[0] * xb + q[1] * yb;
    phi[1] = dx * dx + dy * dy - T(length * length);
  }
  /// The road does work, so the energy is not conserved.
  static double energy(const double*, const double*) { return std::numeric_limits<double>::quiet_NaN(); }
};

Model make_car_axis(std::string_view group, const ParameterValues& p) {
  Model model;
  model.name = "car-axis";
  model.group = group;
  model.system = std::make_shared<FormulaSystem<CarAxis>>(CarAxis{p.number("epsilon")}, "chassis");
  model.start.t_end = 3.0;
  model.start.q0.resize(4);
  model.start.q0 << 0.0, 0.5, 1.0, 0.5;
  model.start.v0.resize(4);
  model.start.v0 << -0.5, 0.0, -0.5, 0.0;
  model.scene = R"({"bodies": [{"name": "left", "position": ["q1", 0, "q2"], "shape": {"sphere": {"radius": 0.06}}},
                              {"name": "right", "position": ["q3", 0, "q4"], "shape": {"sphere": {"radius": 0.06}}}],
                   "marks": [{"kind": "joint", "name": "axis", "type": "distance", "places": [{"body": "left", "at": [0, 0, 0]}, {"body": "right", "at": [0, 0, 0]}]},
                             {"kind": "force", "name": "left spring", "type": "spring-damper", "places": [{"body": null, "at": [0, 0, 0]}, {"body": "left", "at": [0, 0, 0]}]}]})";
  return model;
}

}  // namespace

ModelInfo car_axis() {
  return {"car-axis",
          "car axis on stiff springs over an uneven road (IVP Test Set); lambda has the opposite sign there",
          {"rn"},
          {{.name = "epsilon",
            .meaning = "square root of the mass scale",
            .default_number = 1e-2,
            .minimum = 0.0,
            .minimum_is_excluded = true}},
          make_car_axis};
}

}  // namespace kreisel::models
