// Problems of textbooks and experiments, written as model files, against closed forms and shooting on the continuous equations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "analysis/lowest_modes.hpp"
#include "kreisel/analysis.hpp"
#include "multibody/model_runs.hpp"

namespace {

using namespace kreisel;

io::ModelFile model(const std::string& text) { return io::read_model(io::JsonSource("m.json", text)); }

analysis::Equilibrium rest_of(const io::ModelFile& file) {
  const analysis::Equilibrium rest = analysis::find_equilibrium(*file.assembly, file.model.start);
  EXPECT_TRUE(rest.is_found) << rest.message;
  return rest;
}
Vector3 end_of(const io::ModelFile& file, const analysis::Equilibrium& rest) {
  return file.assembly->body_pose(file.assembly->body_count() - 1, rest.motion.q).x;
}
std::string number(double x) { return fmt::format("{:.17g}", x); }

/// The Princeton beam (Dowell and Traybar 1975): a strip under a dead force at an angle to its axes, with 8 elements. Shooting
/// with the same section: E 71.7 GPa, ν 0.31, 3.2024 × 12.377 mm, 0.508 m.
TEST(RodTextbook, PrincetonBeam) {
  struct Case {
    double force, angle;
    Vector3 moved;
  };
  for (const Case& one : {Case{8.896, 30.0, {-0.0076608075, 0.0794560303, -0.0101471559}},
                          Case{8.896, 60.0, {-0.0204731647, 0.1299234399, -0.0066543129}},
                          Case{13.345, 60.0, {-0.0412063488, 0.1819210939, -0.0117163447}},
                          Case{13.345, 90.0, {-0.050405639053, 0.20069280993, 0.0}}}) {
    const double a = one.angle * M_PI / 180.0;
    const io::ModelFile file = model(
        R"({"materials": [{"name": "m", "young": 71.7e9, "poisson": 0.31, "density": 2700}],
          "sections": [{"name": "s", "material": "m", "rectangle": [3.2024e-3, 12.377e-3]}],
          "rods": [{"name": "rod", "section": "s", "path": {"line": [[0, 0, 0], [0.508, 0, 0]]}, "elements": 8}],
          "joints": [{"type": "fixed", "between": ["ground", "rod@start"]}],
          "forces": [{"type": "applied", "on": "rod@end", "force": [0, )" +
        number(one.force * std::sin(a)) + ", " + number(-one.force * std::cos(a)) + "]}]}");
    const Vector3 moved = end_of(file, rest_of(file)) - Vector3(0.508, 0, 0);
    EXPECT_LT((moved - one.moved).norm(), 5e-6)
        << one.force << " N, " << one.angle << " degrees: " << moved.transpose();
  }
}

/// Euler's elastica of a cantilever under a dead force at its end, by elliptic integrals: neither extension nor shear.
TEST(RodTextbook, Elastica) {
  struct Case {
    double force, x, y;
  };
  for (const Case& one : {Case{1.0, 0.9435667637, 0.3017207738}, Case{5.0, 0.6123716393, 0.7137915236},
                          Case{10.0, 0.4450044022, 0.8106090249}}) {
    const io::ModelFile file = model(
        R"({"sections": [{"name": "s", "stiffness": [0, 0, 0, 1, 1, 1], "mass_per_length": 1, "inertia_per_length": [1e-3, 1e-3, 1e-3]}],
          "rods": [{"name": "rod", "section": "s", "path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": 32, "shear": "rigid",
                    "axial": "rigid"}],
          "joints": [{"type": "fixed", "between": ["ground", "rod@start"]}],
          "forces": [{"type": "applied", "on": "rod@end", "force": [0, )" +
        number(one.force) + ", 0]}]}");
    const Vector3 tip = end_of(file, rest_of(file));
    EXPECT_LT((tip - Vector3(one.x, one.y, 0.0)).norm(), 1e-6) << one.force << ": " << tip.transpose();
  }
}

/// Vibrations of a beam between two pins by Timoshenko's theory: (GA a² - ρA ω²)(EI a² + GA - ρI ω²) = GA² a², a = kπ/L.
TEST(RodTextbook, FrequenciesOfTimoshenko) {
  const double EI = 200.0, GA = 4e4, rA = 2.0, rI = 2e-3, L = 1.0;
  const io::ModelFile file = model(
      R"({"sections": [{"name": "s", "stiffness": [1e6, 4e4, 4e4, 1e4, 200, 2e5], "mass_per_length": 2, "inertia_per_length": [0.004, 0.002, 0.002]}],
        "rods": [{"name": "rod", "section": "s", "path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": 64}],
        "joints": [{"type": "revolute", "between": ["ground", "rod@start"], "axis": [0, 1, 0]},
                   {"type": "revolute", "between": ["ground", "rod@end"], "axis": [0, 1, 0]}]})");
  system::Motion m(file.assembly->space());
  m.q = file.model.start.q0;
  const auto modes = analysis::lowest_modes(*file.assembly, m, Vector::Zero(file.assembly->pattern().rows()), 4);
  for (const int k : {1, 2}) {
    const double a = k * M_PI / L, b = GA * a * a, c = EI * a * a + GA;
    // ρA ρI x² - (ρA c + ρI b) x + b c - GA² a² = 0, x = ω²
    const double p = rA * c + rI * b, q = b * c - GA * GA * a * a;
    const double omega = std::sqrt((p - std::sqrt(p * p - 4.0 * rA * rI * q)) / (2.0 * rA * rI));
    double nearest = 0.0;
    for (const analysis::Mode& mode : modes)
      if (std::abs(mode.eigenvalue.imag() - omega) < std::abs(nearest - omega)) nearest = mode.eigenvalue.imag();
    EXPECT_NEAR(nearest / omega, 1.0, k * k * 2e-5) << k;
  }
}

/// A deep cantilever tips sideways under 4.0126 √(EI GJ)/L² at its end (Timoshenko and Gere 1961, section 6.3).
TEST(RodTextbook, LateralBucklingOfACantilever) {
  for (const double part : {0.995, 1.005}) {
    const io::ModelFile file = model(
        R"({"sections": [{"name": "s", "stiffness": [1e9, 1e9, 1e9, 1, 1e6, 4], "mass_per_length": 1, "inertia_per_length": [1e-2, 1e-2, 1e-2]}],
          "rods": [{"name": "rod", "section": "s", "path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": 16, "shear": "rigid"}],
          "joints": [{"type": "fixed", "between": ["ground", "rod@start"]}],
          "forces": [{"type": "applied", "on": "rod@end", "force": [0, 0, )" +
        number(-part * 4.0126 * 2.0) + "]}]}");
    const analysis::Equilibrium rest = rest_of(file);
    EXPECT_LT(std::abs(end_of(file, rest).y()), 1e-6);
    const auto modes =
        analysis::modes_of(*file.assembly, rest.motion, analysis::linearize(*file.assembly, rest.motion, rest.lambda));
    EXPECT_EQ(analysis::stability_of(modes).is_stable, part < 1.0);
  }
}

/// A free planar beam under a force and a moment that act for 2.5 s (Simo and Vu-Quoc 1986, with EI 500). Against one spectral element
/// of degree 20 with Radau IIA of scipy; extrapolated from 16 and 32 elements, since rotary inertia is unphysically large.
TEST(RodTextbook, PlanarFlight) {
  const auto flight = [](int n) {
    const test::Ran ran = test::ran(
        test::spec_of(
            R"({"sections": [{"name": "s", "stiffness": [1e4, 1e4, 1e4, 500, 500, 500], "mass_per_length": 1, "inertia_per_length": [20, 10, 10]}],
          "rods": [{"name": "rod", "section": "s", "path": {"line": [[6, 0, 0], [0, 8, 0]]}, "elements": )" +
            std::to_string(n) + R"(}],
          "forces": [{"type": "applied", "on": "rod@start", "force": ["-4*sign(t - 2.5) + 4", 0, 0],
                      "torque": [0, 0, "40*sign(t - 2.5) - 40"]}],
          "outputs": {"A": {"position": "rod@start"}, "B": {"position": "rod@end"}}})"),
        5.0, 1e-6);
    Eigen::Vector4d ends(ran["A.x"], ran["A.y"], ran["B.x"], ran["B.y"]);
    return ends;
  };
  const Eigen::Vector4d coarse = flight(16), fine = flight(32), found = fine + (fine - coarse) / 3.0;
  const Eigen::Vector4d exact(5.620694, 4.763597, 15.409386, 4.265263);
  EXPECT_LT((found - exact).lpNorm<Eigen::Infinity>(), 3e-3) << found.transpose();
}

}  // namespace
