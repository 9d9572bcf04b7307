// Random mechanisms of rods: chains, loops, joints at interior places, sections over decades of size and stiffness.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "io/json/json_source.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"
#include "multibody/model_runs.hpp"

namespace kreisel::test {

class RandomRods {
 public:
  explicit RandomRods(unsigned seed) : generator_(seed) {}

  io::Json model() {
    using io::Json;
    Json m{{"gravity", {0, 0, -9.81}},
           {"materials",
            {{{"name", "m"},
              {"young", decades(6, 11)},
              {"poisson", between(0.0, 0.49)},
              {"density", decades(2.5, 4)},
              {"damping_time", chance(0.7) ? decades(-5, -2) : 0.0}}}}};
    const int rods = 1 + pick(3);
    Json end;
    for (int i = 0; i < rods; ++i) {
      const std::string name = "r" + std::to_string(i), section = "s" + std::to_string(i);
      Json shape{{"name", section}, {"material", "m"}};
      if (chance(0.6))
        shape["circle"] = {{"radius", decades(-3, -1.7)}};
      else
        shape["rectangle"] = {decades(-3, -1.7), decades(-3, -1.7)};
      m["sections"].push_back(shape);
      const bool goes_on = i > 0 && chance(0.7);
      const Json from = goes_on ? end : point(), middle = point(), to = point();
      Json rod{{"name", name}, {"section", section}, {"path", path(from, middle, to)}, {"elements", 2 + pick(11)}};
      if (chance(0.3)) rod["shear"] = "rigid";
      if (chance(0.2)) rod["axial"] = "rigid";
      if (chance(0.2)) rod["law"] = "constant";
      m["rods"].push_back(rod);
      const std::vector<std::string> places{"start", "0.3", "0.5", "0.37", "end"};
      m["joints"].push_back(goes_on ? joint("r" + std::to_string(i - 1) + "@end", name + "@start", pick(3))
                                    : joint("ground", name + "@" + places[pick(5)], i == 0 ? pick(3) : 2));
      end = to;
    }
    if (chance(0.3)) m["joints"].push_back(joint("ground", "r" + std::to_string(rods - 1) + "@end", 2));
    if (chance(0.5)) {
      m["bodies"] = {
          {{"name", "b"}, {"mass", between(0.1, 2)}, {"inertia", {0.01, 0.01, 0.01}}, {"position", {0, 0, 0}}}};
      m["joints"].push_back(joint("r0@end", "b", 0));
    }
    if (chance(0.4))
      m["forces"] = {{{"type", "line-load"}, {"on", "r0"}, {"from", 0.2}, {"to", 0.8}, {"force", {0, "sin(5*t)", 0}}}};
    if (chance(0.3)) m["group"] = "r3xso3";
    return m;
  }

 private:
  double between(double a, double b) { return std::uniform_real_distribution<double>(a, b)(generator_); }
  double decades(double a, double b) { return std::pow(10.0, between(a, b)); }
  bool chance(double p) { return between(0.0, 1.0) < p; }
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(generator_); }
  io::Json point() { return {between(-1, 1), between(-1, 1), between(-1, 1)}; }
  io::Json joint(const std::string& a, const std::string& b, int kind) {
    io::Json out{{"type", kind == 0 ? "fixed" : kind == 1 ? "revolute" : "spherical"}, {"between", {a, b}}};
    if (kind == 1) out["axis"] = {0, 1, 0};
    return out;
  }
  io::Json path(const io::Json& from, const io::Json& middle, const io::Json& to) {
    const auto distance = [](const io::Json& a, const io::Json& b) {
      double sum = 0.0;
      for (std::size_t i = 0; i < 3; ++i) sum += std::pow(a[i].get<double>() - b[i].get<double>(), 2);
      return std::sqrt(sum);
    };
    switch (pick(7)) {
      case 0:
        return {{"polyline", {from, middle, to}}};
      case 1:
        return {{"polyline", {from, middle, to}}, {"corners", "round"}, {"radius", 0.05}};
      case 2:
        return {{"arc", {from, middle, to}}};
      case 3:
        return {{"spline", {from, middle, to}}};
      case 4:
        return {{"catenary", {{"from", from}, {"to", to}, {"length", 1.2 * distance(from, to)}}}};
      case 5:
        return {{"line", {from, to}}, {"twist_deg", between(-180, 180)}};
      default:
        return {{"line", {from, to}}};
    }
  }

  std::mt19937 generator_;
};

/// Every one runs, or says why it cannot: before it starts, or naming an element that is bent too far.
inline void expect_runs_or_reasons(unsigned first, unsigned count) {
  int ran = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const std::string text = RandomRods(seed).model().dump();
    SCOPED_TRACE(text);
    io::RunSpec spec = spec_of(text);
    spec.set("t_end", 0.1).set("rtol", 1e-3).set("atol", 1e-5);
    try {
      const io::PreparedRun run = io::prepare(spec);
      run::Observer nobody;
      const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, nobody);
      if (report.status == run::Status::success) {
        ++ran;
        EXPECT_TRUE(report.final.motion.q.allFinite());
      } else {
        EXPECT_NE(report.message.find("is not defined beyond these positions"), std::string::npos) << report.message;
      }
    } catch (const InvalidInput& e) {
      // Too few elements per turn, or a straight rod that does not stretch between two fixed points.
      const std::string message = e.what();
      EXPECT_TRUE(message.find("more elements") != std::string::npos ||
                  message.find("depend on each other") != std::string::npos)
          << message;
    }
  }
  EXPECT_GT(ran, static_cast<int>(count / 2));
}

}  // namespace kreisel::test
