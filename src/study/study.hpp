// Runs the cases of a study over the cores and puts the results together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/ensemble.hpp"
#include "study/journal.hpp"
#include "study/observed.hpp"
#include "study/row.hpp"
#include "study/verdict.hpp"

namespace kreisel::study {

/// Progress of a study.
struct StudyProgress {
  std::size_t done = 0, total = 0;  ///< including those done before
  std::size_t failed = 0;           ///< of those done
  double rate = 0.0;                ///< cases per second; NaN: not known yet
  double seconds_left = 0.0;        ///< estimate; NaN: not known yet
};

/// A part of the cases: those whose keys fall to `index` of `count`. Every case belongs to exactly one part, the same
/// on every machine.
struct Shard {
  int index = 0, count = 1;
  bool has(const std::string& key) const;
  /// Of its journal: ".3-of-64".
  std::string suffix() const;
};

struct StudyOptions {
  int jobs = 0;                   ///< threads; 0: one per core
  std::optional<Shard> shard{};   ///< only these cases
  bool retries_failures = false;  ///< runs cases again whose rows say that they failed
  io::Path folder{};              ///< where finished rows are kept until the study is complete; empty: nowhere
  io::Path cache{};               ///< of reference solutions
  ExternalMotion reference{};     ///< instead of one that is computed
  Accuracy reference_accuracy{};
  bool is_worker = false;  ///< runs cases for another process, which keeps the rows
  std::function<void(const StudyProgress&)> on_progress{};
  std::function<bool()> wants_to_stop{};
};

/// The reference solutions that were used.
struct ReferenceUse {
  std::string model;
  double t_end = 0.0, step = 0.0;
  long nodes = 0;  ///< of quadruple precision
  Accuracy accuracy;
};

/// Numbers of cases by status.
struct Tally {
  std::size_t done = 0, failed = 0;                          ///< failed ones are done
  std::map<std::string, std::size_t, std::less<>> failures;  ///< by status
  std::string first_status, first_message;                   ///< of the first case

  void add(std::string_view status);
};

struct StudyResult {
  Spec spec;
  std::vector<Row>
      rows;  ///< one per case; those not reached have the status "not-run". Empty: too many, see `journals`
  std::shared_ptr<const JournalIndex> journals;  ///< of rows that are too many
  Tally tally;
  std::optional<Ensemble> ensemble;
  std::vector<Surface> surfaces;  ///< of a grid over parameters
  std::vector<ReferenceUse> references;
  std::vector<ObservedCurve> curves;
  std::vector<Verdict> verdicts;
  std::size_t resumed = 0;  ///< rows that existed before: of an interrupted study, or of other shards
  bool is_interrupted = false;
  std::vector<std::string> warnings;

  bool is_as_expected() const;
  /// Of at least one run.
  bool has_success() const { return tally.done > tally.failed; }
  Row row(std::size_t number) const;
  std::string status(std::size_t number) const;
};

/// Whether the expectations notice wrong settings.
struct MutationResult {
  std::string name;
  std::vector<Verdict> verdicts;
  bool is_noticed = false;  ///< a run succeeded, and an expectation was missed
};
MutationResult run_mutation(const Spec& spec, const Mutation& mutation, StudyOptions options);

/// Progress of the study in a folder, without running anything.
struct StudyState : Tally {
  std::size_t cases = 0;
  std::size_t damaged = 0;  ///< lines of journals
  bool is_complete() const { return done == cases; }
};
StudyState state_of(const Spec& spec, const io::Path& folder);

/// A study while it runs. A case is run by a thread, another process or another machine and gives a line; the owner of
/// the folder collects the lines.
class Campaign {
 public:
  /// Reads what the journals of the folder hold.
  Campaign(Spec spec, const StudyOptions& options);
  ~Campaign();

  const Spec& spec() const;
  /// Cases that are to be run, the long ones first.
  const std::vector<std::size_t>& open() const;
  /// Exact solutions of the cases to be run, into the cache: workers find them there.
  void make_references();
  /// Runs a case, in any thread; empty when it was stopped.
  std::string run(std::size_t number);
  /// The line for a case that could not be run at all.
  std::string lost(std::size_t number, const std::string& status, const std::string& message) const;
  /// Keeps a line, in the journal if there is a folder. Throws InvalidInput when it is not of this study,
  /// EnvironmentError when the journal cannot be written.
  void take(std::string_view line);
  Tally tally() const;
  std::size_t failed() const;
  /// Combines the rows available.
  StudyResult finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The open cases of a campaign on threads.
void run_all(Campaign& campaign, const StudyOptions& options,
             const std::function<void(const StudyProgress&)>& on_progress);

/// A failed run is a marked row. Throws EnvironmentError when the journal cannot be written.
StudyResult run_study(Spec spec, const StudyOptions& options);

}  // namespace kreisel::study
