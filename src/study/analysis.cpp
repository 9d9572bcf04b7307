#include "study/analysis.hpp"

#include "kreisel/error.hpp"

namespace kreisel::study {

const std::vector<AnalysisInfo>& analyses() {
  static const std::vector<AnalysisInfo> list{amplification(), spectral_radius(), step_ratio_bounds(),
                                              correction_search(), bdf_stability()};
  return list;
}

const AnalysisInfo& find_analysis(std::string_view name) { return find_named(analyses(), "analysis", name); }

std::vector<std::string> analysis_keys(std::string_view name) {
  std::vector<std::string> keys{"label"};
  for (const ParameterInfo& parameter : find_analysis(name).parameters) keys.push_back(parameter.name);
  return keys;
}

}  // namespace kreisel::study
