// Runs the cases of a study over the cores and puts the results together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/observed.hpp"
#include "study/row.hpp"
#include "study/verdict.hpp"

namespace kreisel::study {

/// How far a study is.
struct StudyProgress {
  std::size_t done = 0, total = 0;
  double seconds_left = 0.0;  ///< estimate; NaN: not known yet
};

/// A part of the cases: those whose keys fall to `index` of `count`. Every case belongs to exactly one part, whatever
/// machine asks.
struct Shard {
  int index = 0, count = 1;
  bool has(const std::string& key) const;
  /// Of its journal: ".3-of-64".
  std::string suffix() const;
};

struct StudyOptions {
  int jobs = 0;                   ///< threads; 0: one per core
  std::optional<Shard> shard;     ///< only these cases
  bool retries_failures = false;  ///< runs cases again whose rows say that they failed
  io::Path folder;                ///< where finished rows are kept until the study is complete; empty: nowhere
  io::Path cache;                 ///< of reference solutions
  ExternalMotion reference{};     ///< instead of one that is computed
  Accuracy reference_accuracy{};
  std::function<void(const StudyProgress&)> on_progress;
  std::function<bool()> wants_to_stop;
};

/// The reference solutions that were used.
struct ReferenceUse {
  std::string model;
  double t_end = 0.0, step = 0.0;
  long nodes = 0;  ///< of quadruple precision
  Accuracy accuracy;
};

struct StudyResult {
  Spec spec;
  std::vector<Row> rows;  ///< one per case; those not reached have the status "not-run"
  std::vector<ReferenceUse> references;
  std::vector<ObservedCurve> curves;
  std::vector<Verdict> verdicts;
  std::size_t resumed = 0;  ///< rows that were there before: of an interrupted study, or of other shards
  bool is_interrupted = false;
  std::vector<std::string> warnings;

  bool is_as_expected() const;
  /// Of at least one run.
  bool has_success() const;
};

/// Whether the expectations notice wrong settings.
struct MutationResult {
  std::string name;
  std::vector<Verdict> verdicts;
  bool is_noticed = false;  ///< a run succeeded, and an expectation was missed
};
MutationResult run_mutation(const Spec& spec, const Mutation& mutation, StudyOptions options);

/// How far a study in a folder is, without running anything.
struct StudyState {
  std::size_t cases = 0, done = 0, failed = 0;               ///< failed ones are done
  std::size_t damaged = 0;                                   ///< lines of journals
  std::map<std::string, std::size_t, std::less<>> failures;  ///< by status
  bool is_complete() const { return done == cases; }
};
StudyState state_of(const Spec& spec, const io::Path& folder);

/// A failed run is a marked row. Throws EnvironmentError when the journal cannot be written.
StudyResult run_study(Spec spec, const StudyOptions& options);

}  // namespace kreisel::study
