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
#include "io/result/prepare.hpp"
#include "journal.hpp"
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

/// Which cases share a reference, and what it is.
struct References {
  struct Group {
    models::Model model;
    double t_end = 0.0;
    std::shared_ptr<const Reference> reference;
    std::string trouble;
  };
  std::vector<Group> groups;
  std::vector<std::size_t> group_of;  ///< by case
};

References group_cases(const Spec& spec, const std::vector<std::size_t>& wanted) {
  References out;
  out.group_of.resize(spec.cases.size());
  std::map<std::string, std::size_t> known;
  for (const std::size_t i : wanted) {
    const io::PreparedRun run = io::prepare(spec.cases[i].run);
    const double t_end = std::isnan(run.options.t_end) ? run.model.start.t_end : run.options.t_end;
    const auto [at, is_new] =
        known.emplace(reference_key(run.model, run.model.start.t0 + 1.0, spec.reference), out.groups.size());
    if (is_new) out.groups.push_back({run.model, t_end, nullptr, ""});
    out.group_of[i] = at->second;
    References::Group& group = out.groups[at->second];
    group.t_end = std::max(group.t_end, t_end);
  }
  return out;
}

References make_references(const Spec& spec, const std::vector<std::size_t>& wanted, const StudyOptions& options,
                           int jobs) {
  References out = group_cases(spec, wanted);
  ReferenceOptions how = spec.reference;
  how.cache = options.cache;
  how.wants_to_stop = options.wants_to_stop;
  spread(jobs, out.groups.size(), [&](std::size_t i) {
    try {
      out.groups[i].reference = make_reference(out.groups[i].model, out.groups[i].t_end, how);
    } catch (const InvalidInput& problem) {
      out.groups[i].trouble = problem.what();
    }
  });
  return out;
}

/// Counts what is done and guesses the rest from what it cost so far.
class Clock {
 public:
  Clock(const StudyOptions& options, std::size_t total, double cost)
      : options_(options), total_(total), cost_(cost), begin_(now()) {}
  void tick(double cost) {
    const std::lock_guard lock(mutex_);
    ++done_;
    spent_ += cost;
    if (!options_.on_progress) return;
    options_.on_progress({done_, total_, spent_ > 0.0 ? (now() - begin_) * (cost_ - spent_) / spent_ : NAN});
  }

 private:
  const StudyOptions& options_;
  std::size_t total_, done_ = 0;
  double cost_, spent_ = 0.0, begin_;
  std::mutex mutex_;
};

}  // namespace

bool Shard::has(const std::string& key) const {
  return fingerprint_of(key) % static_cast<std::uint64_t>(count) == static_cast<std::uint64_t>(index);
}

std::string Shard::suffix() const { return fmt::format(".{}-of-{}", index, count); }

StudyState state_of(const Spec& spec, const io::Path& folder) {
  StudyState state;
  state.cases = spec.cases.size();
  const JournalRows known = read_journals(folder);
  state.damaged = known.damaged;
  const auto count = [&](const std::string& status) {
    ++state.done;
    if (status == Row().status) return;
    ++state.failed;
    ++state.failures[status];
  };
  for (const Case& c : spec.cases)
    if (const Row* row = known.find(key_of(spec, c))) count(row->status);
  std::error_code error;
  if (state.done > 0 || !std::filesystem::exists(folder / study_json_name, error)) return state;
  // A complete study has no journal any more.
  const Json study =
      Json::parse(io::read_text(folder / study_json_name, "result of the study", std::size_t{4} << 30), nullptr, false);
  if (!study.is_object() || study.value("/summary/key"_json_pointer, "") != key_of(spec)) return state;
  for (const Json& row : study.at("rows"))
    if (row.at("status") != not_run) count(row.at("status").get<std::string>());
  return state;
}

bool StudyResult::is_as_expected() const {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.is_met; });
}

bool StudyResult::has_success() const {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.is_success(); });
}

StudyResult run_study(Spec spec, const StudyOptions& options) {
  const int jobs = options.jobs > 0 ? options.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  StudyResult out;
  out.spec = std::move(spec);
  out.rows.resize(out.spec.cases.size());
  const JournalRows known = read_journals(options.folder);
  Journal journal(options.folder, options.shard ? options.shard->suffix() : "");
  if (known.damaged > 0)
    out.warnings.push_back(
        fmt::format("{} lines of '{}' are damaged, or an earlier version wrote them: their runs are made again",
                    known.damaged, (options.folder / journal_name).string()));
  if (known.contradicting > 0)
    out.warnings.push_back(fmt::format(
        "{} cases in '{}' were run twice and gave different numbers, on different processors or by different builds of "
        "the program; the last ones count",
        known.contradicting, options.folder.string()));
  std::vector<std::string> keys;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    keys.push_back(key_of(out.spec, out.spec.cases[i]));
    out.rows[i].status = not_run;
    const Row* row = known.find(keys[i]);
    if (row != nullptr && !(options.retries_failures && !row->is_success())) {
      out.rows[i] = *row;
      ++out.resumed;
    } else if (!options.shard || options.shard->has(keys[i])) {
      open.push_back(i);
    }
  }

  References references;
  if (needs_reference(out.spec)) {
    // The report names all references, a shard needs its own.
    std::vector<std::size_t> wanted(out.rows.size());
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    references = make_references(out.spec, options.shard ? open : wanted, options, jobs);
    for (const References::Group& group : references.groups)
      if (group.reference)
        out.references.push_back({group.model.name + " on " + group.model.group, group.t_end, group.reference->step(),
                                  group.reference->nodes, group.reference->accuracy});
  }

  // The long ones first, so that no core is left alone with one at the end.
  std::vector<double> cost(out.rows.size());
  double total = 0.0;
  for (const std::size_t i : open) total += cost[i] = cost_of(out.spec, out.spec.cases[i]);
  std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return cost[a] > cost[b]; });
  Clock clock(options, open.size(), total);
  spread(jobs, open.size(), [&](std::size_t k) {
    if (options.wants_to_stop && options.wants_to_stop()) return;
    const std::size_t i = open[k];
    std::shared_ptr<const Reference> reference;
    if (!references.groups.empty()) {
      const References::Group& group = references.groups[references.group_of[i]];
      if (group.reference == nullptr) {
        out.rows[i].status = no_reference;
        out.rows[i].message = group.trouble;
        return clock.tick(cost[i]);
      }
      reference = group.reference;
    }
    out.rows[i] = run_case(out.spec, out.spec.cases[i], reference, options.wants_to_stop);
    if (out.rows[i].status != not_run) journal.add(keys[i], out.rows[i]);
    clock.tick(cost[i]);
  });
  out.is_interrupted =
      std::any_of(open.begin(), open.end(), [&](std::size_t i) { return out.rows[i].status == not_run; });
  if (options.shard) return out;  // results of the whole study wait for all parts

  for (const Measure& m : out.spec.measures)
    for (ObservedCurve& curve : observe(out.spec, out.rows, m.name)) out.curves.push_back(std::move(curve));
  for (const Expectation& expectation : out.spec.expectations)
    out.verdicts.push_back(judge(expectation, out.spec, out.rows));
  return out;
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
