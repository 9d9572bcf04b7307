// Terminal output of `kreisel study` and `kreisel reproduce`.
#pragma once

#include <string>

#include "study/study.hpp"
#include "terminal.hpp"

namespace kreisel::apps {

/// "12 of 48, about 40 s left" on standard error when that is a terminal.
class StudyLine {
 public:
  StudyLine(std::string name, bool is_wanted) : name_(std::move(name)), is_active_(is_wanted && is_terminal(stderr)) {}
  ~StudyLine() { clear(); }
  void show(const study::StudyProgress& progress);
  void clear();

 private:
  std::string name_;
  bool is_active_, is_drawn_ = false;
  double drawn_at_ = -1.0;
};

/// Runs a study in its folder and writes its files; for a shard, only its journal. `options`: choices of the user;
/// `name` is shown on the progress line; empty: the name of the study.
study::StudyResult run_in_folder(study::Spec spec, const std::string& folder, const std::string& command,
                                 study::StudyOptions options, bool is_quiet, const Interruption& interruption,
                                 const std::string& name = {});

/// The study with each of the wrong settings that its file lists.
std::vector<study::MutationResult> run_mutations(const study::Spec& spec, const std::string& name, int jobs,
                                                 bool is_quiet, const Interruption& interruption);
void print_mutations(const std::vector<study::MutationResult>& mutations);

/// Observed orders, or errors beside costs when the abscissa is a cost; failed runs.
void print_table(const study::StudyResult& result);
void print_verdicts(const study::StudyResult& result);
/// The word of the verdict in its colour.
std::string word_of(const study::Verdict& verdict, std::size_t width);
/// Why it contradicts the paper, and its note, on separate lines; empty: neither.
std::string remarks_on(const study::Verdict& verdict, const std::string& indent);

/// The number of columns that text takes, for tables with mathematics in them.
std::string padded(std::string text, std::size_t width);

}  // namespace kreisel::apps
