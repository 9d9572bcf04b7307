#include "study/row.hpp"

#include <cmath>

namespace kreisel::study {
namespace {

double number_of(const Json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double Row::number(std::string_view name) const {
  const auto at = numbers.find(name);
  return at == numbers.end() ? std::numeric_limits<double>::quiet_NaN() : at->second.value;
}

bool Row::is_marked(std::string_view name) const {
  const auto at = floors.find(name);
  return at != floors.end() && !(number(name) > at->second);
}

const std::vector<std::string>& statistics_names() {
  static const std::vector<std::string> names{"step",
                                              "steps",
                                              "rejected_steps",
                                              "newton_iterations",
                                              "residual_evaluations",
                                              "jacobian_evaluations",
                                              "factorizations",
                                              "exponentials",
                                              "brackets",
                                              "seconds",
                                              "seconds_low",
                                              "seconds_high",
                                              "seconds_per_step",
                                              "position_residual",
                                              "velocity_residual",
                                              "energy_drift",
                                              "energy_error"};
  return names;
}

std::string unit_of(std::string_view name) {
  if (name == "step" || is_of_the_clock(name)) return "s";
  if (name == "energy_drift" || name == "energy_error") return "J";
  return "";
}

double abscissa(const std::string& x, const Case& c, const Row& row) {
  if (c.coordinates.contains(x) && x != "step") return number_of(c.coordinates[x]);
  const double used = row.number(x);  // the step in use, which may be smaller than the requested one
  if (std::isfinite(used)) return used;
  return c.coordinates.contains(x) ? number_of(c.coordinates[x]) : used;
}

bool is_of_the_clock(std::string_view name) {
  return name == "seconds" || name == "seconds_low" || name == "seconds_high" || name == "seconds_per_step";
}

Json to_json(const Row& row) {
  Json numbers = Json::object(), floors = Json::object();
  for (const auto& [name, value] : row.numbers)
    numbers[name] = Json::array({io::number_or_null(value.value), value.at_step});
  for (const auto& [name, floor] : row.floors) floors[name] = io::number_or_null(floor);
  return {{"status", row.status}, {"message", row.message}, {"numbers", numbers}, {"floors", floors}};
}

}  // namespace kreisel::study
