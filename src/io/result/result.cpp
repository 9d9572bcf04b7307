#include "io/result/result.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/archive.hpp"
#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/result/prepare.hpp"
#include "io/result/scene.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "solve/formulation.hpp"

namespace kreisel::io {
namespace {

const char* const result_files[] = {"trajectory.csv", "trajectory.h5", "trajectory.h5.part.next",
                                    journal_name,     checkpoint_name, "summary.json"};

/// Locks the folder at once, but leaves its content alone until there is a point to replace it with.
class ResultFolder final : public run::Observer {
 public:
  ResultFolder(const PreparedRun& run, const ResultRequest& request)
      : run_(run),
        request_(request),
        is_new_(claim_result_folder(request.folder)),
        lock_(std::in_place, request.folder) {
    for (const char* name : result_files)
      for (const Path& path : {request.folder / name, part_of(request.folder / name)})
        refuse_to_overwrite(run.options.sources, path, "out");
    const solve::FormulationInfo& formulation = solve::info_of(run::formulation_in_use(run.options, *run.model.system));
    TrajectoryOptions options;
    options.folder = request.folder;
    options.format = request.format;
    options.columns = request.columns;
    options.points_are_chosen = run.options.output_step > 0.0 || !run.options.output_times.empty();
    options.about = {fmt::format("model {} on {}, method {}, formulation {}", run.model.name, run.model.group,
                                 run.options.method.name(), formulation.name)};
    if (!request.command.empty()) options.about.push_back("command: " + request.command);
    options.has_checkpoints = request.checkpoint_every.has_value();
    writer_.emplace(*run.model.system, formulation.has_eta, options);
  }

  bool accept(const run::Point& point) override {
    if (!has_begun_) begin();
    return writer_->accept(point);
  }

  void exchange(Archive& a) {
    writer_->exchange(a);
    has_begun_ = true;
  }
  /// A finished run cannot be resumed.
  void drop_checkpoint() {
    std::error_code ignored;
    std::filesystem::remove(part_of(request_.folder / journal_name), ignored);
    remove_checkpoint(request_.folder);
  }

  TrajectoryInfo finish(const run::Report& report) { return writer_->finish(report); }

  void write_summary(Json summary) {
    if (!has_begun_) clear();  // no point was accepted, but the old result is not this run's
    if (run_.model.definition) summary["model_file"] = Json::parse(run_.model.definition());
    for (const system::OutputInfo& info : run_.model.system->result_layout().outputs())
      summary["outputs"].push_back(
          {{"name", info.name}, {"unit", info.unit}, {"meaning", info.meaning}, {"components", info.components}});
    if (Json scene = scene_of(run_.model); !scene.is_null()) summary["scene"] = std::move(scene);
    write_atomically(request_.folder / "summary.json", to_text(summary));
  }

  /// Removes a folder that was made and not used.
  void withdraw() {
    std::error_code ignored;
    if (!is_new_ || has_begun_) return;
    lock_.reset();
    std::filesystem::remove(request_.folder, ignored);
  }
  bool has_begun() const { return has_begun_; }

 private:
  void begin() {
    has_begun_ = true;
    clear();
    write_summary(summarize(label_of(run_), running, "the run has not ended, or it was killed", request_.command));
  }

  void clear() {
    for (const char* name : result_files)
      for (const Path& path : {request_.folder / name, part_of(request_.folder / name)}) {
        std::error_code error;
        std::filesystem::remove(path, error);
        if (error) throw_file_error("cannot replace", path, error.value());
      }
  }

  const PreparedRun& run_;
  const ResultRequest& request_;
  bool is_new_, has_begun_ = false;
  std::optional<FolderLock> lock_;
  std::optional<TrajectoryWriter> writer_;
};

/// Writes the state of the run and of its files beside the result at intervals.
class CheckpointKeeper final : public run::Observer {
 public:
  CheckpointKeeper(const PreparedRun& run, const ResultRequest& request, ResultFolder& folder, StepLog* log)
      : run_(run), request_(request), folder_(folder), log_(log) {}

  bool wants_checkpoint() override {
    return request_.checkpoint_every &&
           Clock::now() - last_ >= std::chrono::duration<double>(*request_.checkpoint_every);
  }
  void checkpoint(std::string_view state) override {
    Archive output;
    folder_.exchange(output);
    if (log_ != nullptr) log_->keep(output);
    Checkpoint c{run_.spec,
                 std::string(Choice<TrajectoryFormat>(request_.format).name()),
                 request_.log.string(),
                 "",
                 request_.command,
                 *request_.checkpoint_every,
                 output.bytes(),
                 std::string(state),
                 request_.verifies,
                 request_.columns};
    if (!request_.log.empty()) c.log_at = std::filesystem::absolute(request_.log).string();
    write_checkpoint(request_.folder, c);
    last_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const PreparedRun& run_;
  const ResultRequest& request_;
  ResultFolder& folder_;
  StepLog* log_;
  Clock::time_point last_ = Clock::now();
};

/// Notes in the summary that the machine failed in the middle of a run.
void leave_note(ResultFolder& folder, const PreparedRun& run, const ResultRequest& request, std::string_view message) {
  if (!folder.has_begun()) return folder.withdraw();
  try {
    folder.write_summary(summarize(label_of(run), environment_error, message, request.command));
  } catch (const std::exception&) {  // the disk may be full
  }
}

/// The log must not overwrite an input file or another output file.
void refuse_log_in_the_way(const PreparedRun& run, const ResultRequest& request) {
  if (request.log.empty()) return;
  refuse_to_overwrite(run.options.sources, request.log, "log");
  std::error_code error;
  const Path log = std::filesystem::weakly_canonical(request.log, error),
             folder = std::filesystem::weakly_canonical(request.folder, error);
  for (const char* name : result_files)
    if (log == folder / name || log == part_of(folder / name))
      throw InvalidInput(
          fmt::format("the log '{}' is a file of the result; choose another {}", request.log.string(), spelled("log")));
}

/// Completes the files of a finished run.
RunResult conclude(ResultFolder& folder, const PreparedRun& run, const ResultRequest& request, run::Report report) {
  RunResult result;
  result.report = std::move(report);
  result.output = {request.folder.string(), request.log.string(), folder.finish(result.report)};
  for (const auto& [column, t] : result.output.trajectory.undefined)
    result.report.warnings.push_back(
        fmt::format("output '{}' is not a finite number at t = {:.10g}, and perhaps later", column, t));
  result.summary = summarize(run, result.report, result.output, request.command);
  folder.write_summary(result.summary);
  return result;
}

}  // namespace

bool ObserverList::accept(const run::Point& point) {
  bool goes_on = true;
  for (run::Observer* observer : observers_) goes_on = observer->accept(point) && goes_on;
  return goes_on;
}

bool ObserverList::goes_on(double t, long steps) {
  bool goes_on = true;
  for (run::Observer* observer : observers_) goes_on = observer->goes_on(t, steps) && goes_on;
  return goes_on;
}

void ObserverList::attempted(const run::Attempt& attempt) {
  for (run::Observer* observer : observers_) observer->attempted(attempt);
}

void ObserverList::happened(const run::Occurrence& occurrence) {
  for (run::Observer* observer : observers_) observer->happened(occurrence);
}

bool ObserverList::wants_checkpoint() {
  bool wants = false;
  for (run::Observer* observer : observers_) wants = observer->wants_checkpoint() || wants;
  return wants;
}

void ObserverList::checkpoint(std::string_view state) {
  for (run::Observer* observer : observers_) observer->checkpoint(state);
}

StepLog::StepLog(const Path& path, Archive& state) : path_(path) {
  std::int64_t size = 0;
  state(size);
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw_file_error("cannot continue the log", path, errno);
  // A pipe has no size; writing continues.
  if (size > 0 && (::ftruncate(descriptor_, size) != 0 || ::lseek(descriptor_, size, SEEK_SET) != size)) {
    const int error_number = errno;
    ::close(descriptor_);
    throw_file_error("cannot continue the log", path, error_number);
  }
}

void StepLog::keep(Archive& a) {
  flush();
  std::int64_t size = ::lseek(descriptor_, 0, SEEK_CUR);
  a(size);
}

StepLog::StepLog(const Path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw_file_error("cannot write the log", path, errno);
  buffer_ = "t,h,order,iterations,update_norm,error,outcome\n";
}

StepLog::~StepLog() {
  try {
    finish();
  } catch (const EnvironmentError&) {  // reported by the call that finished, if there was one
  }
}

void StepLog::attempted(const run::Attempt& a) {
  buffer_ += fmt::format("{:.17g},{:.17g},{},{},{:.6g},{:.6g},{}\n", a.t, a.h, a.order, a.iterations, a.update_norm,
                         a.error, name_of(a.outcome));
  if (buffer_.size() > 32'000 || std::time(nullptr) != flushed_at_) flush();
}

void StepLog::happened(const run::Occurrence& o) {
  buffer_ += fmt::format("{:.17g},0,{},0,0,0,event {}\n", o.t, o.before.order,
                         csv_cell(fmt::format("{}: {}", o.event, o.action)));
}

void StepLog::flush() {
  flushed_at_ = std::time(nullptr);
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error_number = errno;
      buffer_.clear();
      throw EnvironmentError(fmt::format("cannot write the log '{}': {}", path_.string(), std::strerror(error_number)));
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void StepLog::finish() {
  if (descriptor_ < 0) return;
  flush();
  ::close(descriptor_);
  descriptor_ = -1;
}

Resumption prepare_resumption(const Path& folder) {
  Resumption r;
  r.checkpoint = read_checkpoint(folder);
  r.run = prepare(r.checkpoint.spec);
  run::check_checkpoint(r.checkpoint.run, *r.run.model.system, r.run.model.start, r.run.options);
  r.request.folder = folder;
  r.request.format = Choice<TrajectoryFormat>(r.checkpoint.format).value_or(TrajectoryFormat::automatic);
  r.request.columns = r.checkpoint.columns;
  // As typed, for the summary, unless that is another file from here.
  if (!r.checkpoint.log.empty())
    r.request.log =
        std::filesystem::absolute(r.checkpoint.log) == r.checkpoint.log_at ? r.checkpoint.log : r.checkpoint.log_at;
  r.request.command = r.checkpoint.command;
  r.request.checkpoint_every = r.checkpoint.every;
  r.request.verifies = r.checkpoint.verifies;
  return r;
}

namespace {

/// Columns of rates that do not follow from the motion would be empty.
void refuse_missing_rates(const models::Model& model, const std::vector<std::string>& columns) {
  const system::System& system = *model.system;
  system::Motion m(system.space());
  m.t = model.start.t0;
  m.q = model.start.q0;
  m.v = model.start.v0;
  Vector rates(system.output_size());
  const Vector lambda = Vector::Zero(system.pattern().rows());
  system.evaluate_output_rates(m, lambda, rates);
  Eigen::Index at = 0;
  for (const system::OutputInfo& info : system.outputs())
    for (int i = 0; i < info.size(); ++i, ++at)
      for (const std::string& column : columns)
        if (std::isnan(rates[at]) && (column == info.name + "'" || column == info.column(i) + "'"))
          throw InvalidInput(fmt::format("output '{}' has no rate that follows from the motion", info.name));
}

}  // namespace

RunResult run_to_folder(const PreparedRun& run, const ResultRequest& request, run::Observer& spectator) {
  if (!request.columns.empty()) {  // refused before the folder is made
    const bool has_eta = solve::info_of(run::formulation_in_use(run.options, *run.model.system)).has_eta;
    try {
      TrajectoryLayout(run.model.system->result_layout(), has_eta, request.columns);
      refuse_missing_rates(run.model, request.columns);
    } catch (const InvalidInput& problem) {
      throw InvalidInput(fmt::format("{}: {}", spelled("output"), problem.what()));
    }
  }
  std::optional<StepLog> log;
  refuse_log_in_the_way(run, request);
  if (!request.log.empty() && request.resume == nullptr) log.emplace(request.log);  // refused before the folder is made
  ResultFolder folder(run, request);
  const std::string_view kept =
      request.resume != nullptr ? std::string_view(request.resume->output) : std::string_view();
  Archive output(kept);
  if (request.resume != nullptr) folder.exchange(output);
  if (!request.log.empty() && request.resume != nullptr) log.emplace(request.log, output);
  CheckpointKeeper keeper(run, request, folder, log ? &*log : nullptr);
  std::vector<run::Observer*> observers{&folder, &spectator, &keeper};
  if (log) observers.push_back(&*log);
  ObserverList list(observers);
  try {
    std::optional<std::string_view> state;
    if (request.resume != nullptr) state = request.resume->run;
    run::Report report = run::integrate(*run.model.system, run.model.start, run.options, list, state);
    if (log) log->finish();
    RunResult result = conclude(folder, run, request, std::move(report));
    if (result.report.status != run::Status::interrupted) folder.drop_checkpoint();
    return result;
  } catch (const InvalidInput&) {
    folder.withdraw();
    throw;
  } catch (const std::exception& error) {
    leave_note(folder, run, request, error.what());
    throw;
  }
}

void write_verification(const Path& folder, const Verification& verification) {
  const FolderLock lock(folder);
  const Path file = folder / "summary.json";
  Json summary = JsonSource::read(file, "summary").root();
  summary["verification"] = to_json(verification);
  write_atomically(file, to_text(summary));
}

void verify_result(const PreparedRun& run, RunResult& result, run::Observer& spectator) {
  const Path folder = result.output.folder;
  result.verification =
      verify(run, result.report, read_trajectory(folder / result.output.trajectory.file).values, spectator);
  result.summary["verification"] = to_json(*result.verification);
  write_verification(folder, *result.verification);
}

RunResult write_to_folder(const PreparedRun& run, const ResultRequest& request, run::Report report,
                          const std::function<void(run::Observer&)>& show) {
  ResultFolder folder(run, request);
  show(folder);
  return conclude(folder, run, request, std::move(report));
}

}  // namespace kreisel::io
