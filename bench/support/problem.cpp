#include "support/problem.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "lie/so3.hpp"

namespace bench {
namespace {

/// x, quaternion (w, x, y, z), v, Ω: 13 numbers per body with more digits than a double has.
std::vector<TopState> read_references(const std::string& name, int bodies) {
  const std::string path = std::string(BENCH_REFERENCE_FOLDER) + "/" + name + ".txt";
  std::ifstream file(path);
  std::vector<TopState> states;
  for (int b = 0; b < bodies; ++b) {
    std::array<double, 13> y{};
    for (double& value : y) file >> value;
    if (!file) throw std::runtime_error("cannot read 13 numbers per body from " + path);
    const std::array<double, 4> q{y[4], y[5], y[6], y[3]};
    states.push_back({Vector3(y[0], y[1], y[2]), kreisel::lie::rotation_matrix(q.data())});
  }
  return states;
}
TopState read_reference(const std::string& name) { return read_references(name, 1).front(); }

double difference(const TopState& a, const TopState& b) {
  return std::max((a.x - b.x).cwiseAbs().maxCoeff(), (a.R - b.R).cwiseAbs().maxCoeff());
}

}  // namespace

Top top_named(const std::string& name) {
  Top top;
  if (name == "heavy-top") return top;
  if (name != "stiff-top") throw std::runtime_error("problem '" + name + "' is neither heavy-top nor stiff-top");
  top.spin = Vector3(0.0, 5.0, 0.0);
  top.stiffness = 4.7e9;
  top.damping = 4.7e5;
  return top;
}

double error_of(const std::string& name, const TopState& at_end) { return difference(at_end, read_reference(name)); }

double error_of(const Chain& chain, const std::vector<TopState>& at_end) {
  const std::vector<TopState> reference = read_references("chain", chain.links);
  double error = 0.0;
  for (int b = 0; b < chain.links; ++b) error = std::max(error, difference(at_end.at(b), reference[b]));
  return error;
}

double error_of(const Pendulum&, const std::array<double, 4>& at_end) {
  return std::max({std::abs(at_end[0] - 1.0), std::abs(at_end[1]), std::abs(at_end[2]), std::abs(at_end[3])});
}

void print(const Run& run) {
  fmt::print(
      "{{\"label\": \"{}\", \"method\": \"{}\", \"tolerance\": {:.17g}, \"error\": {}, \"success\": {}, \"steps\": {}, "
      "\"evaluations\": {}, \"jacobians\": {}, \"iterations\": {}, \"rejected\": {}}}\n",
      run.label, run.method, run.tolerance, std::isfinite(run.error) ? fmt::format("{:.6e}", run.error) : "null",
      run.is_success, run.steps, run.evaluations, run.jacobians, run.iterations, run.rejected);
  std::fflush(stdout);
}

std::string label_of(const std::string& method, double tolerance) {
  return fmt::format("{} {:.6g}", method, tolerance);
}

std::vector<double> numbers_from(int argc, char** argv, int first) {
  std::vector<double> numbers;
  for (int i = first; i < argc; ++i) numbers.push_back(std::stod(argv[i]));
  return numbers;
}

}  // namespace bench
