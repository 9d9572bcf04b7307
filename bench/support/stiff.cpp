#include "support/stiff.hpp"

#include <algorithm>
#include <fstream>

namespace bench::stiff {

std::vector<double> reference_of(const std::string& name) {
  if (name.rfind("follower-", 0) == 0) return Follower<double>(std::stod(name.substr(9))).exact();
  const std::string path = std::string(BENCH_REFERENCE_FOLDER) + "/" + name + ".txt";
  std::ifstream file(path);
  std::vector<double> values;
  for (double value = 0.0; file >> value;) values.push_back(value);
  if (values.empty()) throw std::runtime_error("cannot read " + path);
  return values;
}

double error_of(const std::string& name, const std::vector<double>& end) {
  const std::vector<double> exact = reference_of(name);
  double error = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double difference = std::abs(end.at(i) - exact[i]);
    error = std::isfinite(difference) ? std::max(error, difference) : difference;
    if (!std::isfinite(difference)) break;
  }
  return error;
}

}  // namespace bench::stiff
