// Slider crank with a spring-damper between crank and rod (SUNDIALS, idaSlCrank).
#include <fmt/format.h>

#include "formula_system.hpp"
#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

/// q = (crank angle q, slider x, rod angle p).
struct SliderCrank {
  static constexpr int n = 3, m = 2;
  static constexpr double a = 0.5, J1 = 1.0, m2 = 1.0, J2 = 2.0, stiffness = 1.0, damping = 1.0, rest = 1.0, push = 1.0;

  static std::vector<system::RowGroup> groups() { return {{"slider", 2, system::RowLevel::position, {0}, 0}}; }

  template <class T, class Square>
  void mass(const T*, Square& M) const {
    M[0][0] = T(J1);
    M[1][1] = T(m2);
    M[2][2] = T(J2);
  }
  template <class T>
  static T spring_length(const T* q) {
    return sqrt(q[1] * q[1] - q[1] * (cos(q[2]) + T(a) * cos(q[0])) + T(0.25 * (1.0 + a * a)) +
                T(0.5 * a) * cos(q[2] - q[0]));
  }
  template <class T>
  static T spring_rate(const T* q, const T* v) {
    return (T(2.0) * q[1] * v[1] - v[1] * (cos(q[2]) + T(a) * cos(q[0])) +
            q[1] * (sin(q[2]) * v[2] + T(a) * sin(q[0]) * v[0]) - T(0.5 * a) * sin(q[2] - q[0]) * (v[2] - v[0])) /
           (T(2.0) * spring_length(q));
  }
  template <class T>
  void force(const T&, const T* q, const T* v, T* g) const {
    const T sq = sin(q[0]), cq = cos(q[0]), sp = sin(q[2]), cp = cos(q[2]), S = sin(q[2] - q[0]), x = q[1];
    const T length = spring_length(q);
    const T pull = (T(stiffness) * (length - T(rest)) + T(damping) * spring_rate(q, v)) / length;
    g[0] = pull * T(0.5 * a) * (T(0.5) * S + x * sq);
    g[1] = -(pull * (T(0.5) * cp - x + T(0.5 * a) * cq)) - T(push);
    g[2] = pull * T(0.5) * (x * sp - T(0.5 * a) * S) + T(push) * sp;
  }
  template <class T>
  void constraint(const T&, const T* q, T* phi) const {
    phi[0] = q[1] - cos(q[2]) - T(a) * cos(q[0]);
    phi[1] = -sin(q[2]) - T(a) * sin(q[0]);
  }
  /// With the potential of the push; the damper takes the rest.
  static double energy(const double* q, const double* v) {
    const double stretch = spring_length(q) - rest;
    return 0.5 * (J1 * v[0] * v[0] + m2 * v[1] * v[1] + J2 * v[2] * v[2]) + 0.5 * stiffness * stretch * stretch -
           push * (q[1] + std::cos(q[2]));
  }
  static double dissipation(const double* q, const double* v) {
    const double rate = spring_rate(q, v);
    return damping * rate * rate;
  }
};

Model make_slider_crank(std::string_view group, const ParameterValues&) {
  Model model;
  model.name = "slider-crank";
  model.group = group;
  model.system = std::make_shared<FormulaSystem<SliderCrank>>(SliderCrank{}, "crank, slider, rod");
  model.start.t_end = 10.0;
  const double p = std::asin(-SliderCrank::a);
  model.start.q0.resize(3);
  model.start.q0 << 0.5 * M_PI, std::cos(p), p;
  model.start.v0.setZero(3);
  model.scene = fmt::format(
      R"({{"up": [0, 1, 0],
           "bodies": [{{"name": "the crank", "position": [0, 0, 0], "turns": [{{"axis": [0, 0, 1], "by": "q1"}}],
                        "shape": {{"cylinder": {{"radius": {0}, "length": {1}, "axis": [1, 0, 0], "at": [{2}, 0, 0]}}}}}},
                      {{"name": "the rod", "position": ["q2", 0, 0], "turns": [{{"axis": [0, 0, 1], "by": "q3"}}],
                        "shape": {{"cylinder": {{"radius": {0}, "length": {3}, "axis": [1, 0, 0], "at": [{4}, 0, 0]}}}}}},
                      {{"name": "the slider", "position": ["q2", 0, 0], "shape": {{"box": {{"size": [{5}, {6}, {6}]}}}}}}]}})",
      0.03 * 1.0, SliderCrank::a, 0.5 * SliderCrank::a, 1.0, -0.5 * 1.0, 0.2 * 1.0, 0.12 * 1.0);
  return model;
}

}  // namespace

ModelInfo slider_crank() {
  return {"slider-crank",
          "slider crank with a spring-damper between crank and rod (SUNDIALS)",
          {"rn"},
          {},
          make_slider_crank};
}

}  // namespace kreisel::models
