// A run with everything it leaves on disk: trajectory, summary.json, log.
#pragma once

#include <string>
#include <vector>

#include "kreisel/io/summary.hpp"
#include "kreisel/run/observer.hpp"

namespace kreisel::io {

struct ResultRequest {
  Path folder;
  TrajectoryFormat format = TrajectoryFormat::automatic;
  Path log;             ///< one line per attempt; empty: none
  std::string command;  ///< as typed, for the summary
};

struct RunResult {
  run::Report report;
  OutputInfo output;
  Json summary;
};

/// Several observers in one; a run goes on while all agree, and all see every point.
class ObserverList final : public run::Observer {
 public:
  explicit ObserverList(std::vector<run::Observer*> observers) : observers_(std::move(observers)) {}
  bool accept(const run::Point& point) override;
  void attempted(const run::Attempt& attempt) override;
  void happened(const run::Occurrence& occurrence) override;

 private:
  std::vector<run::Observer*> observers_;
};

/// One CSV line per attempt: t, h, order, iterations, update_norm, error, outcome; and one per event, with h = 0. Throws InvalidInput for a path that
/// cannot be written; lines are on disk within a second, and the file has its name from the start so that it can be
/// followed.
class StepLog final : public run::Observer {
 public:
  explicit StepLog(const Path& path);
  ~StepLog() override;
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;
  void attempted(const run::Attempt& attempt) override;
  void happened(const run::Occurrence& occurrence) override;
  void finish();

 private:
  void flush();

  Path path_;
  int descriptor_ = -1;
  std::string buffer_;
  long flushed_at_ = 0;
};

/// Integrates and writes to the folder. Earlier results there go when the first point is accepted, not before; from then
/// on summary.json exists, with the status "running" until the end. `spectator` sees the run and may stop it. A failed or
/// interrupted integration is a result like any other; InvalidInput and EnvironmentError are thrown.
RunResult run_to_folder(const PreparedRun& run, const ResultRequest& request, run::Observer& spectator);

}  // namespace kreisel::io
