// Andrews' squeezing mechanism: seven bodies, three closed loops, milliseconds (IVP Test Set; IFToMM A03).
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "formula_system.hpp"
#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

constexpr double m1 = .04325, m2 = .00365, m3 = .02373, m4 = .00706, m5 = .07050, m6 = .00706, m7 = .05498;
constexpr double I1 = 2.194e-6, I2 = 4.410e-7, I3 = 5.255e-6, I4 = 5.667e-7, I5 = 1.169e-5, I6 = 5.667e-7,
                 I7 = 1.912e-5;
constexpr double xa = -.06934, ya = -.00227, xb = -.03635, yb = .03273, xc = .014, yc = .072;
constexpr double c0 = 4530.0, l0 = .07785, torque = .033;
constexpr double d = .028, da = .0115, e = .02, ea = .01421, rr = .007, ra = .00092, ss = .035, sa = .01874,
                 sb = .01043, sc = .018, sd = .02, ta = .02308, tb = .00916, u = .04, ua = .01228, ub = .00449,
                 zf = .02, zt = .04, fa = .01421;

/// q = (β, Θ, γ, Φ, δ, Ω, ε).
struct Andrews {
  static constexpr int n = 7, m = 6;

  static std::vector<system::RowGroup> groups() {
    const auto group = [](const char* name) { return system::RowGroup{name, 2, system::RowLevel::position, {0}, 0}; };
    return {group("K2-K3 at E"), group("K2-K4 at E"), group("K2-K6 at E")};
  }

  template <class T, class Square>
  void mass(const T* q, Square& M) const {
    const T c = cos(q[1]), s4 = sin(q[3]), s6 = sin(q[5]);
    constexpr double le = e - ea, lf = zf - fa;
    M[0][0] = T(m1 * ra * ra + m2 * (rr * rr + da * da) + I1 + I2) - T(2.0 * m2 * da * rr) * c;
    M[0][1] = M[1][0] = T(m2 * da * da + I2) - T(m2 * da * rr) * c;
    M[1][1] = T(m2 * da * da + I2);
    M[2][2] = T(m3 * (sa * sa + sb * sb) + I3);
    M[3][3] = T(m4 * le * le + I4);
    M[3][4] = M[4][3] = T(m4 * le * le + I4) + T(m4 * zt * le) * s4;
    M[4][4] = T(m4 * (zt * zt + le * le) + m5 * (ta * ta + tb * tb) + I4 + I5) + T(2.0 * m4 * zt * le) * s4;
    M[5][5] = T(m6 * lf * lf + I6);
    M[5][6] = M[6][5] = T(m6 * lf * lf + I6) - T(m6 * u * lf) * s6;
    M[6][6] = T(m6 * (lf * lf + u * u) + m7 * (ua * ua + ub * ub) + I6 + I7) - T(2.0 * m6 * u * lf) * s6;
  }

  /// From the spring's end on body 3 to its end on the ground, and its length.
  template <class T>
  static void spring(const T& gamma, T& x, T& y, T& length) {
    x = T(sd) * cos(gamma) + T(sc) * sin(gamma) + T(xb - xc);
    y = T(sd) * sin(gamma) - T(sc) * cos(gamma) + T(yb - yc);
    length = sqrt(x * x + y * y);
  }

  template <class T>
  void force(const T&, const T* q, const T* v, T* g) const {
    T x, y, length;
    spring(q[2], x, y, length);
    const T pull = T(-c0) * (length - T(l0)) / length, fx = pull * x, fy = pull * y;
    const T c3 = cos(q[2]), s3 = sin(q[2]);
    constexpr double k4 = m4 * zt * (e - ea), k6 = m6 * u * (zf - fa);
    g[0] = T(-torque) + T(m2 * da * rr) * v[1] * (v[1] + T(2.0) * v[0]) * sin(q[1]);
    g[1] = T(-m2 * da * rr) * v[0] * v[0] * sin(q[1]);
    g[2] = -(fx * (T(sc) * c3 - T(sd) * s3) + fy * (T(sd) * c3 + T(sc) * s3));
    g[3] = T(-k4) * v[4] * v[4] * cos(q[3]);
    g[4] = T(k4) * v[3] * (v[3] + T(2.0) * v[4]) * cos(q[3]);
    g[5] = T(k6) * v[6] * v[6] * cos(q[5]);
    g[6] = T(-k6) * v[5] * (v[5] + T(2.0) * v[6]) * cos(q[5]);
  }

  template <class T>
  void constraint(const T&, const T* q, T* phi) const {
    const T x = T(rr) * cos(q[0]) - T(d) * cos(q[0] + q[1]), y = T(rr) * sin(q[0]) - T(d) * sin(q[0] + q[1]);
    phi[0] = x - T(ss) * sin(q[2]) - T(xb);
    phi[1] = y + T(ss) * cos(q[2]) - T(yb);
    phi[2] = x - T(e) * sin(q[3] + q[4]) - T(zt) * cos(q[4]) - T(xa);
    phi[3] = y + T(e) * cos(q[3] + q[4]) - T(zt) * sin(q[4]) - T(ya);
    phi[4] = x - T(zf) * cos(q[5] + q[6]) - T(u) * sin(q[6]) - T(xa);
    phi[5] = y - T(zf) * sin(q[5] + q[6]) + T(u) * cos(q[6]) - T(ya);
  }

  /// With the potential -torque β of the drive, so that it is constant.
  double energy(const double* q, const double* v) const {
    std::array<std::array<double, n>, n> M{};
    mass(q, M);
    double sum = 0.0, x, y, length;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) sum += 0.5 * v[i] * M[i][j] * v[j];
    spring(q[2], x, y, length);
    return sum + 0.5 * c0 * (length - l0) * (length - l0) - torque * q[0];
  }
};

/// A bar between the ends of a body, in its own frame, turned by an angle.
std::string bar(const char* name, const std::string& place, const char* angle, double x, double y) {
  return fmt::format(
      R"({{"name": "{}", {}, "turns": [{{"axis": [0, 0, 1], "by": "{}"}}],
           "shape": {{"cylinder": {{"radius": 0.001, "length": {}, "axis": [{}, {}, 0], "at": [{}, {}, 0]}}}}}})",
      name, place, angle, std::hypot(x, y), x, y, 0.5 * x, 0.5 * y);
}

std::string at(double x, double y) { return fmt::format(R"("position": [{}, {}, 0])", x, y); }

std::string on(const char* body, double x, double y) { return fmt::format(R"("on": "{}", {})", body, at(x, y)); }

/// As the constraints go along the bodies.
std::string scene() {
  return fmt::format(R"({{"up": [0, 1, 0], "bodies": [{}, {}, {}, {}, {}, {}, {}]}})",
                     bar("K1", at(0.0, 0.0), "q1", rr, 0.0), bar("K2", on("K1", rr, 0.0), "q2", -d, 0.0),
                     bar("K3", at(xb, yb), "q3", 0.0, -ss), bar("K5", at(xa, ya), "q5", zt, 0.0),
                     bar("K4", on("K5", zt, 0.0), "q4", 0.0, -e), bar("K7", at(xa, ya), "q7", 0.0, -u),
                     bar("K6", on("K7", 0.0, -u), "q6", zf, 0.0));
}

Model make_andrews(std::string_view group, const ParameterValues&) {
  Model model;
  model.name = "andrews";
  model.group = group;
  model.system = std::make_shared<FormulaSystem<Andrews>>(Andrews{}, "angles");
  model.start.t_end = 0.03;
  model.start.q0.resize(7);
  model.start.q0 << -0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885, 0.487364979543842550,
      -0.222668390165885885, 1.230547444549821192;
  model.start.v0.setZero(7);
  model.scene = scene();
  return model;
}

}  // namespace

ModelInfo andrews() {
  return {"andrews", "Andrews' squeezing mechanism in seven angles (IVP Test Set)", {"rn"}, {}, make_andrews};
}

}  // namespace kreisel::models
