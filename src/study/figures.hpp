// The published figures and tables, each a study with expectations (data/reproduce).
#pragma once

#include <string_view>
#include <vector>

#include "study/spec.hpp"

namespace kreisel::study {

struct Figure {
  std::string_view id;
  std::string_view text;  ///< of its file
};

/// By paper, then in the order of the paper.
const std::vector<Figure>& figures();
/// Throws InvalidInput with the nearest match.
const Figure& find_figure(std::string_view id);

/// Title and source without making the cases.
struct FigureSummary {
  std::string title, source;
  bool is_quick = false;  ///< takes a second or two
};
FigureSummary summary_of(const Figure& figure);
Spec spec_of(const Figure& figure);

}  // namespace kreisel::study
