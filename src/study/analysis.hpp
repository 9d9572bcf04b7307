// Studies of coefficients instead of motions: matrix powers, step-ratio bounds, searches.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/field.hpp"

namespace kreisel::study {

/// Named results, in the order in which a table shows them.
using Numbers = std::vector<std::pair<std::string, double>>;

struct AnalysisInfo {
  std::string name, summary;
  std::vector<ParameterInfo> parameters;
  std::vector<std::string> outputs;
  std::function<Numbers(const ParameterValues&)> evaluate;
};

const std::vector<AnalysisInfo>& analyses();
/// Throws InvalidInput with the nearest match.
const AnalysisInfo& find_analysis(std::string_view name);
std::vector<std::string> analysis_keys(std::string_view name);

// One function per file of src/study/analysis, listed in analysis.cpp.
AnalysisInfo amplification();
AnalysisInfo spectral_radius();
AnalysisInfo step_ratio_bounds();
AnalysisInfo correction_search();
AnalysisInfo bdf_stability();

}  // namespace kreisel::study
