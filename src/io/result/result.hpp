// A run with everything it writes: trajectory, summary.json, log.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/result/checkpoint.hpp"
#include "io/result/summary.hpp"
#include "io/result/verification.hpp"
#include "kreisel/observer.hpp"

namespace kreisel::io {

struct ResultRequest {
  Path folder;
  TrajectoryFormat format = TrajectoryFormat::automatic;
  std::vector<std::string> columns{};      ///< of the trajectory, see TrajectoryLayout; empty: all
  Path log;                                ///< one line per attempt; empty: none
  std::string command;                     ///< as typed, for the summary
  std::optional<double> checkpoint_every;  ///< [s]; 0: after every step
  const Checkpoint* resume = nullptr;      ///< continue from it
  bool verifies = false;                   ///< verify_result follows; a checkpoint keeps it
};

/// The request of --resume FOLDER: the run of the checkpoint and where its result goes.
struct Resumption {
  Checkpoint checkpoint;
  PreparedRun run;
  ResultRequest request;  ///< its `resume` must be set to the checkpoint where that stays
};
/// Throws InvalidInput when there is no checkpoint, or it is not valid.
Resumption prepare_resumption(const Path& folder);

struct RunResult {
  run::Report report;
  OutputInfo output;
  Json summary;
  std::optional<Verification> verification;
};

/// Several observers in one; a run continues while all agree, and all see every point.
class ObserverList final : public run::Observer {
 public:
  explicit ObserverList(std::vector<run::Observer*> observers) : observers_(std::move(observers)) {}
  bool accept(const run::Point& point) override;
  bool goes_on(double t, long steps) override;
  void attempted(const run::Attempt& attempt) override;
  void happened(const run::Occurrence& occurrence) override;
  bool wants_checkpoint() override;
  void checkpoint(std::string_view state) override;

 private:
  std::vector<run::Observer*> observers_;
};

/// One CSV line per attempt: t, h, order, iterations, update_norm, error, outcome; and one per event, with h = 0. Throws InvalidInput for a path that
/// cannot be written; lines are on disk within a second, and the file has its name from the start so that it can be
/// followed.
class StepLog final : public run::Observer {
 public:
  explicit StepLog(const Path& path);
  StepLog(const Path& path, Archive& state);  ///< continues after a checkpoint
  ~StepLog() override;
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;
  void attempted(const run::Attempt& attempt) override;
  void happened(const run::Occurrence& occurrence) override;
  void finish();
  void keep(Archive& a);  ///< for a checkpoint

 private:
  void flush();

  Path path_;
  int descriptor_ = -1;
  std::string buffer_;
  long flushed_at_ = 0;
};

/// Integrates and writes to the folder. Earlier results there are removed when the first point is accepted, not before; from then
/// on summary.json exists, with the status "running" until the end. `spectator` sees the run and may stop it. A failed or
/// interrupted integration is a result like any other; InvalidInput and EnvironmentError are thrown.
RunResult run_to_folder(const PreparedRun& run, const ResultRequest& request, run::Observer& spectator);

/// Repeats a run that has succeeded, more accurately, and adds the observed errors to its summary, here and on disk.
void verify_result(const PreparedRun& run, RunResult& result, run::Observer& spectator);
/// Adds them to FOLDER/summary.json.
void write_verification(const Path& folder, const Verification& verification);

/// Writes a run that is over: `show` hands its points to an observer, as the run would have.
RunResult write_to_folder(const PreparedRun& run, const ResultRequest& request, run::Report report,
                          const std::function<void(run::Observer&)>& show);

}  // namespace kreisel::io
