#include "study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/archive.hpp"
#include "base/workers.hpp"
#include "case_runner.hpp"
#include "grid.hpp"
#include "io/result/prepare.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"

namespace kreisel::study {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// work(0), …, work(count - 1) on `jobs` threads; the first exception is thrown on, after all have ended.
template <class Work>
void spread(int jobs, std::size_t count, const Work& work) {
  std::atomic<bool> goes_on{true};
  std::exception_ptr trouble;
  std::mutex mutex;
  Workers team(std::clamp(static_cast<int>(count), 1, std::max(1, jobs)));
  team.share(static_cast<int>(count), [&](int left) {  // parts are taken from the last to the first
    if (!goes_on) return;
    try {
      work(count - 1 - static_cast<std::size_t>(left));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!trouble) trouble = std::current_exception();
      goes_on = false;
    }
  });
  if (trouble) std::rethrow_exception(trouble);
}

/// The exact solutions of the cases. Cases that differ in their runs alone share one, up to the last of their ends.
class References {
 public:
  References(const Spec& spec, const StudyOptions& options) : spec_(spec) {
    how_ = spec.reference;
    how_.cache = options.cache;
    if (options.reference) {
      how_.external = options.reference;
      how_.external_accuracy = options.reference_accuracy;
    }
    how_.wants_to_stop = options.wants_to_stop;
    if (!needs_reference(spec) || !spec.is_listed()) return;
    for (const Case& c : spec.cases) {
      Group* group = nullptr;
      try {
        group = group_with(c, false);
      } catch (const InvalidInput&) {  // a point of a sample for which no run is possible; its row reports it
      }
      group_of_.push_back(group);
    }
  }

  /// Null and `trouble` when there is none.
  std::shared_ptr<const Reference> of(std::size_t number, const Case& c, std::string& trouble) {
    Group* group = nullptr;
    {
      const std::lock_guard lock(mutex_);
      group = spec_.is_listed() ? group_of_[number] : group_with(c, true);
    }
    if (group == nullptr) {
      io::prepare(c.run);  // throws what is wrong
      return nullptr;
    }
    make(*group);
    trouble = group->trouble;
    return group->reference;
  }

  /// Makes the solutions of these cases, on several threads.
  void make(const std::vector<std::size_t>& cases, int jobs) {
    std::vector<Group*> wanted;
    for (const std::size_t i : cases)
      if (i < group_of_.size() && group_of_[i] != nullptr) wanted.push_back(group_of_[i]);
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    spread(jobs, wanted.size(), [&](std::size_t i) { make(*wanted[i]); });
  }

  /// In the order of the cases; those that were made.
  std::vector<ReferenceUse> uses() const {
    std::vector<ReferenceUse> list;
    if (!spec_.is_listed()) return list;
    for (const auto& group : groups_)
      if (group->reference)
        list.push_back({group->model.name + " on " + group->model.group, group->t_end, group->reference->step(),
                        group->reference->nodes, group->reference->accuracy});
    return list;
  }

 private:
  struct Group {
    models::Model model;
    double t_end = 0.0;
    std::once_flag once;
    std::shared_ptr<const Reference> reference;
    std::string trouble;
  };

  /// In a study too large to be listed every interval has its own solution: the longest one is not known in advance.
  Group* group_with(const Case& c, bool counts_interval) {
    const io::PreparedRun run = io::prepare(c.run);
    const double t_end = std::isnan(run.options.t_end) ? run.model.start.t_end : run.options.t_end;
    const std::string key =
        reference_key(run.model, counts_interval ? t_end : run.model.start.t0 + 1.0, spec_.reference);
    const auto [at, is_new] = known_.emplace(key, groups_.size());
    if (is_new) {
      groups_.push_back(std::make_unique<Group>());
      groups_.back()->model = run.model;
      groups_.back()->t_end = t_end;
    }
    Group& group = *groups_[at->second];
    group.t_end = std::max(group.t_end, t_end);
    return &group;
  }
  void make(Group& group) {
    std::call_once(group.once, [&] {
      try {
        group.reference = make_reference(group.model, group.t_end, how_);
      } catch (const InvalidInput& problem) {
        group.trouble = problem.what();
      }
    });
  }

  const Spec& spec_;
  ReferenceOptions how_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::map<std::string, std::size_t> known_;
  std::vector<Group*> group_of_;  ///< by case, of a listed study
  std::mutex mutex_;
};

/// Counts finished cases and estimates the remaining time from the cost so far.
class Clock {
 public:
  /// `before`: cases that were done before.
  Clock(const std::function<void(const StudyProgress&)>& show, std::size_t before, std::size_t total, double cost)
      : show_(show), before_(before), total_(total), cost_(cost), begin_(now()) {}
  void tick(double cost, std::size_t failed) {
    const std::lock_guard lock(mutex_);
    ++done_;
    spent_ += cost;
    if (!show_) return;
    const double seconds = now() - begin_;
    show_({before_ + done_, total_, failed, static_cast<double>(done_) / seconds,
           spent_ > 0.0 ? seconds * (cost_ - spent_) / spent_ : NAN});
  }

 private:
  const std::function<void(const StudyProgress&)>& show_;
  std::size_t before_, total_, done_ = 0;
  double cost_, spent_ = 0.0, begin_;
  std::mutex mutex_;
};

}  // namespace

void Tally::add(std::string_view status) {
  ++done;
  if (status == Row().status) return;
  ++failed;
  const auto at = failures.find(status);
  if (at != failures.end())
    ++at->second;
  else
    failures.emplace(status, 1);
}

bool Shard::has(const std::string& key) const {
  return fingerprint_of(key) % static_cast<std::uint64_t>(count) == static_cast<std::uint64_t>(index);
}

std::string Shard::suffix() const { return fmt::format(".{}-of-{}", index, count); }

StudyState state_of(const Spec& spec, const io::Path& folder) {
  StudyState state;
  state.cases = spec.size();
  const JournalIndex known(spec, folder);
  state.damaged = known.damaged;
  for (std::size_t i = 0; i < state.cases; ++i)
    if (known.has(i)) state.add(known.status(i));
  std::error_code error;
  if (state.done > 0 || !std::filesystem::exists(folder / study_json_name, error)) return state;
  // A complete study has no journal any more.
  const Json study =
      Json::parse(io::read_text(folder / study_json_name, "result of the study", std::size_t{4} << 30), nullptr, false);
  if (!study.is_object() || study.value("/summary/key"_json_pointer, "") != spec.key) return state;
  const Json& summary = study.at("summary");
  state.done = summary.value("done", std::size_t{0});
  if (summary.contains("failures"))
    for (const auto& [status, count] : summary["failures"].items())
      state.failed += state.failures[status] = count.get<std::size_t>();
  return state;
}

bool StudyResult::is_as_expected() const {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.is_met; });
}

Row StudyResult::row(std::size_t number) const {
  if (!rows.empty()) return rows[number];
  if (journals && journals->has(number)) return journals->row(spec, number);
  Row none;
  none.status = not_run;
  return none;
}

std::string StudyResult::status(std::size_t number) const {
  if (!rows.empty()) return rows[number].status;
  return journals && journals->has(number) ? std::string(journals->status(number)) : not_run;
}

struct Campaign::State {
  State(Spec given, const StudyOptions& how)
      : options(how),
        jobs(how.jobs > 0 ? how.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
        spec(std::move(given)),
        keys(spec),
        journal(how.folder, how.shard ? how.shard->suffix() : "") {}

  const StudyOptions options;
  const int jobs;
  Spec spec;
  Keys keys;
  Journal journal;
  std::unique_ptr<References> references;
  std::vector<std::size_t> open;
  std::vector<double> cost;  ///< by case, of a listed study
  std::vector<Row> rows;     ///< empty: the journals have them
  std::vector<std::string> warnings;
  Tally tally;
  std::size_t resumed = 0;
  std::mutex mutex;
};

Campaign::Campaign(Spec spec, const StudyOptions& options) : state_(std::make_unique<State>(std::move(spec), options)) {
  State& s = *state_;
  s.references = std::make_unique<References>(s.spec, options);
  if (options.is_worker) return;
  const std::size_t count = s.spec.size();
  const JournalIndex known(s.spec, options.folder);
  if (known.damaged > 0)
    s.warnings.push_back(
        fmt::format("{} lines of '{}' are damaged or were written by an earlier version; their runs are repeated",
                    known.damaged, (options.folder / journal_name).string()));
  if (known.contradicting > 0)
    s.warnings.push_back(fmt::format(
        "{} cases in '{}' were run twice and gave different numbers, on different processors or by different builds of "
        "the program; the last ones count",
        known.contradicting, options.folder.string()));
  // Without a folder the rows are kept only here.
  if (s.spec.is_listed() || options.folder.empty()) {
    s.rows.resize(count);
    for (Row& row : s.rows) row.status = not_run;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (known.has(i) && !(options.retries_failures && known.status(i) != Row().status)) {
      s.tally.add(known.status(i));
      ++s.resumed;
      if (!s.rows.empty()) s.rows[i] = known.row(s.spec, i);
    } else if (!options.shard || options.shard->has(s.keys.of(s.spec.outline(i)))) {
      s.open.push_back(i);
    }
  }
  if (!s.spec.is_listed()) return;
  s.cost.resize(count);
  for (const std::size_t i : s.open) s.cost[i] = cost_of(s.spec, s.spec.cases[i]);
  // The long ones first, so that no core is left with a long one at the end.
  std::stable_sort(s.open.begin(), s.open.end(), [&](std::size_t a, std::size_t b) { return s.cost[a] > s.cost[b]; });
}

Campaign::~Campaign() = default;

const Spec& Campaign::spec() const { return state_->spec; }
const std::vector<std::size_t>& Campaign::open() const { return state_->open; }

Tally Campaign::tally() const {
  const std::lock_guard lock(state_->mutex);
  return state_->tally;
}

std::size_t Campaign::failed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->tally.failed;
}

void Campaign::make_references() {
  State& s = *state_;
  if (s.options.shard) return s.references->make(s.open, s.jobs);
  // The report lists all of them.
  std::vector<std::size_t> all(s.spec.is_listed() ? s.spec.size() : 0);
  std::iota(all.begin(), all.end(), std::size_t{0});
  s.references->make(all, s.jobs);
}

std::string Campaign::run(std::size_t number) {
  State& s = *state_;
  const auto& wants_to_stop = s.options.wants_to_stop;
  if (wants_to_stop && wants_to_stop()) return {};
  Row row;
  std::string key;
  try {
    const Case c = s.spec.case_at(number);
    key = s.keys.of(c);
    std::shared_ptr<const Reference> reference;
    if (needs_reference(s.spec)) {
      reference = s.references->of(number, c, row.message);
      if (reference == nullptr) {
        row.status = no_reference;
        return line_of(s.spec, number, key, row);
      }
    }
    row = run_case(s.spec, c, reference, wants_to_stop);
  } catch (const InvalidInput& problem) {  // a point of a sample for which no run is possible
    row.status = io::invalid_input;
    row.message = problem.what();
    key = s.keys.of(s.spec.outline(number));
  }
  return row.status == not_run ? std::string() : line_of(s.spec, number, key, row);
}

std::string Campaign::lost(std::size_t number, const std::string& status, const std::string& message) const {
  Row row;
  row.status = status;
  row.message = message;
  return line_of(state_->spec, number, state_->keys.of(state_->spec.outline(number)), row);
}

void Campaign::take(std::string_view line) {
  State& s = *state_;
  const std::optional<JournalLine> read = read_line(line.substr(0, line.find('\n')));
  if (!read || read->study != s.spec.key || read->number >= s.spec.size())
    throw InvalidInput(
        "a worker has sent a row that does not belong to this study: it runs another version of kreisel, or its files "
        "differ");
  s.journal.add(line);
  Row row;
  if (!s.rows.empty()) row = row_of(s.spec, *read);
  const std::lock_guard lock(s.mutex);
  s.tally.add(read->status);
  if (!s.rows.empty()) s.rows[read->number] = std::move(row);
}

StudyResult Campaign::finish() {
  State& s = *state_;
  StudyResult out;
  out.warnings = s.warnings;
  out.resumed = s.resumed;
  out.references = s.references->uses();
  out.rows = std::move(s.rows);
  out.spec = std::move(s.spec);
  if (out.rows.empty()) {
    out.journals = std::make_shared<const JournalIndex>(out.spec, s.options.folder);
    for (std::size_t i = 0; i < out.spec.size(); ++i)
      if (out.journals->has(i)) out.tally.add(out.journals->status(i));
    const auto is_there = [&](std::size_t i) { return out.journals->has(i); };
    out.is_interrupted = !std::all_of(s.open.begin(), s.open.end(), is_there);
  } else {
    for (const Row& row : out.rows)
      if (row.status != not_run) out.tally.add(row.status);
    out.is_interrupted =
        std::any_of(s.open.begin(), s.open.end(), [&](std::size_t i) { return out.rows[i].status == not_run; });
  }
  if (out.spec.size() > 0) {
    const Row first = out.row(0);
    out.tally.first_status = first.status;
    out.tally.first_message = first.message;
  }
  if (s.options.shard) return out;  // results of the whole study need all parts

  if (out.spec.is_ensemble()) {
    out.ensemble = ensemble_of(out.spec, [&](std::size_t i) { return out.row(i); });
    if (!out.spec.is_listed()) return out;
  } else {
    for (const Measure& m : out.spec.measures)
      for (ObservedCurve& curve : observe(out.spec, out.rows, m.name)) out.curves.push_back(std::move(curve));
    if (out.spec.grid != nullptr && out.spec.grid->has_surface())
      out.surfaces = ensemble_of(out.spec, [&](std::size_t i) { return out.row(i); }).surfaces;
  }
  for (const Expectation& expectation : out.spec.expectations)
    out.verdicts.push_back(judge(expectation, out.spec, out.rows));
  return out;
}

void run_all(Campaign& campaign, const StudyOptions& options,
             const std::function<void(const StudyProgress&)>& on_progress) {
  campaign.make_references();
  const std::vector<std::size_t>& open = campaign.open();
  const auto cost = [&](std::size_t i) {
    return campaign.spec().is_listed() ? cost_of(campaign.spec(), campaign.spec().cases[i]) : 1.0;
  };
  double total = 0.0;
  for (const std::size_t i : open) total += cost(i);
  // A shard shows its own part.
  const Tally known = options.shard ? Tally() : campaign.tally();
  const std::size_t others_failed = options.shard ? campaign.failed() : 0;
  Clock clock(on_progress, known.done, known.done + open.size(), total);
  const int jobs = options.jobs > 0 ? options.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  spread(jobs, open.size(), [&](std::size_t k) {
    const std::string line = campaign.run(open[k]);
    if (line.empty()) return;
    campaign.take(line);
    clock.tick(cost(open[k]), campaign.failed() - others_failed);
  });
}

StudyResult run_study(Spec spec, const StudyOptions& options) {
  Campaign campaign(std::move(spec), options);
  run_all(campaign, options, options.on_progress);
  return campaign.finish();
}

MutationResult run_mutation(const Spec& spec, const Mutation& mutation, StudyOptions options) {
  Spec wrong = spec;
  wrong.cases = mutation.cases;
  wrong.series.clear();
  options.folder.clear();
  const StudyResult result = run_study(std::move(wrong), options);
  const auto is_noticed = [&](const Verdict& v) {
    return !v.is_met && (mutation.misses.empty() ||
                         std::find(mutation.misses.begin(), mutation.misses.end(), v.of) != mutation.misses.end());
  };
  return {mutation.name, result.verdicts,
          result.has_success() && std::any_of(result.verdicts.begin(), result.verdicts.end(), is_noticed)};
}

}  // namespace kreisel::study
