// Statistics of a study as tables and plots.
#pragma once

#include "study/study.hpp"

namespace kreisel::study {

Json ensemble_tables(const Ensemble& ensemble);
/// Histograms, a scatter plot of every number over every parameter, response surfaces, bands over time.
Json ensemble_plots(const Ensemble& ensemble);
Json statistics_json(const Ensemble& ensemble);
Json table_of_failures(const Tally& tally);

}  // namespace kreisel::study
