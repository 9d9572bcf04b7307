// Files of a study: study.csv, study.json, report.html.
#pragma once

#include "io/report/report.hpp"
#include "study/study.hpp"

namespace kreisel::study {

/// Whether errors are shown over a cost, where slopes are no orders.
bool is_over_work(const Spec& spec);

/// One line per case: coordinates, status, numbers, slopes from the case before on the same curve, message.
std::string study_csv(const StudyResult& result);

/// Plots and tables in the format of viewer/data.md, and every number besides.
Json study_json(const StudyResult& result, const std::string& command);

/// Writes the three files and removes the journal.
void write_study(const StudyResult& result, const std::string& command, const io::Path& folder);

/// Throws InvalidInput when one of the files of a study in `folder` is among those that were read.
void refuse_to_overwrite(const std::vector<run::SourceFile>& inputs, const io::Path& folder);

}  // namespace kreisel::study
