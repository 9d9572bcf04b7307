// Statistics of a study as tables and plots.
#pragma once

#include "study/study.hpp"

namespace kreisel::study {

Json ensemble_tables(const Ensemble& ensemble);
/// Histograms, bands over time, response surfaces, a scatter matrix.
Json ensemble_plots(const Ensemble& ensemble);
Json surface_plot(const Surface& surface);
Json statistics_json(const Ensemble& ensemble);
Json table_of_failures(const std::vector<Cause>& causes, std::size_t cases);

}  // namespace kreisel::study
