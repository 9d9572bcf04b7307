// Writes pages that no run of a test could make in time: kreisel_viewer_samples large FILE.html
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string_view>

#include "io/report/report.hpp"

namespace {

using namespace kreisel;
using io::Column;

constexpr std::size_t steps = 100'000;
constexpr int bodies = 50;
/// One sample wide; must survive the thinning.
constexpr std::size_t spike_at = 31'415;
constexpr double spike = 12.5;

Column keep(io::ReportData& data, std::vector<double> values) {
  auto kept = std::make_shared<const std::vector<double>>(std::move(values));
  data.storage.push_back(kept);
  return {kept->data(), kept->size()};
}

template <class Function>
Column column(io::ReportData& data, Function f) {
  std::vector<double> values(data.time.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(data.time[i]);
  return keep(data, std::move(values));
}

/// A swinging chain of 50 links with all the columns that a trajectory of it has.
io::ReportData chain() {
  io::ReportData data;
  data.title = "chain of 50";
  data.command = "kreisel run chain.json";
  data.summary = {{"model", "chain"}, {"status", "success"}, {"statistics", {{"steps", steps}}}};
  std::vector<double> time(steps + 1);
  for (std::size_t i = 0; i < time.size(); ++i) time[i] = 1e-4 * static_cast<double>(i);
  data.time = keep(data, std::move(time));
  const Column zeros = column(data, [](double) { return 0.0; }), ones = column(data, [](double) { return 1.0; });
  const auto add = [&](const char* group, const char* panel, const std::string& of, std::string name, const char* unit,
                       Column values) {
    data.series.push_back({group, panel, of, std::move(name), unit, values});
  };
  for (int b = 0; b < bodies; ++b) {
    const std::string of = fmt::format("link{}", b + 1);
    const double s = 0.2 * (b + 1);
    const auto angle = [b](double t) { return 0.6 * std::sin(2.0 * t + 0.02 * b) + 0.03 * std::sin(37.0 * t + b); };
    const Column c = column(data, [&](double t) { return std::cos(angle(t)); });
    const Column w = column(data, [&](double t) { return std::sin(angle(t)); });
    const Column m = column(data, [&](double t) { return -std::sin(angle(t)); });
    std::vector<double> x(data.time.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = s * std::sin(angle(data.time[i]));
    if (b == bodies - 1) x[spike_at] = spike;
    io::ReportBody body;
    body.name = of;
    body.shape = {{"cylinder", {{"radius", 0.03}, {"length", 0.2}, {"axis", {0, 0, 1}}}}};
    body.x = {keep(data, std::move(x)), zeros, column(data, [&](double t) { return -s * std::cos(angle(t)); })};
    body.R = {c, zeros, m, zeros, ones, zeros, w, zeros, c};
    for (std::size_t i = 0; i < 3; ++i) add("q", "Position", of, std::string(1, "xyz"[i]), "m", body.x[i]);
    for (std::size_t i = 0; i < 9; ++i)
      add("q", "Rotation matrix", of, fmt::format("R{}{}", i / 3 + 1, i % 3 + 1), "", body.R[i]);
    for (int i = 1; i <= 6; ++i)
      add("v", i <= 3 ? "Velocity" : "Angular velocity", of, fmt::format("v{}", i), "", i % 2 ? c : w);
    for (int i = 1; i <= 6; ++i)
      add("a", i <= 3 ? "Acceleration" : "Angular acceleration", of, fmt::format("a{}", i), "", i % 2 ? w : m);
    const std::string joint = fmt::format("joint{}", b + 1);
    for (int i = 1; i <= 5; ++i) {
      add("lambda", "Multipliers λ", joint, fmt::format("lambda{}", 5 * b + i), "N", i % 2 ? c : w);
      add("residual", "Constraints Φ", joint, fmt::format("Phi{}", 5 * b + i), "m", m);
    }
    data.forces.push_back({joint, [body](Eigen::Index point) {
                             const auto i = static_cast<std::size_t>(point);
                             return io::ReportForce::Value{Vector3(body.x[0][i], 0.0, body.x[2][i]),
                                                           Vector3(0.0, 0.0, 1.0 + body.R[2][i])};
                           }});
    data.bodies.push_back(std::move(body));
  }
  data.panels = {{"Position"},
                 {"Velocity"},
                 {"Angular velocity"},
                 {"Multipliers λ"},
                 {"Constraints Φ", true, true},
                 {"Rotation matrix", false, false},
                 {"Acceleration", false, false},
                 {"Angular acceleration", false, false}};
  return data;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3 || std::string_view(words[1]) != "large") {
    fmt::print(stderr, "usage: kreisel_viewer_samples large FILE.html\n");
    return 2;
  }
  kreisel::io::write_report(chain(), words[2]);
}
