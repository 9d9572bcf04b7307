#include "models/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kreisel/error.hpp"
#include "models/wheelset.hpp"

namespace kreisel::models {

const std::vector<ModelInfo>& catalogue() {
  static const std::vector<ModelInfo> list{
      heavy_top(),         stiff_top(),    pendulum(),     cubic(),
      oscillator(),        singular_top(), massless(),     friction_pendulum(),
      actuated_pendulum(), rolling_disk(), chain(),        four_bar(),
      andrews(),           car_axis(),     slider_crank(), flexible_slider_crank(),
      wall_pendulum(),     rod_release(),  wheelset(),
  };
  return list;
}

const ModelInfo& find_model(std::string_view name) { return find_named(catalogue(), "model", name); }

Model make_model(const ModelInfo& info, std::string_view group, const ParameterValues& parameters) {
  if (group.empty()) group = info.groups.front();
  if (std::find(info.groups.begin(), info.groups.end(), group) == info.groups.end()) {
    lie::group_named(group);  // a misspelt group gets its own message
    throw InvalidInput(fmt::format("model '{}' has no formulation on '{}'; it has {}", info.name, group,
                                   fmt::join(info.groups, ", ")));
  }
  return info.make(group, parameters);
}

}  // namespace kreisel::models
