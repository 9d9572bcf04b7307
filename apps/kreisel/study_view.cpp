#include "study_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "study/output.hpp"
#include "study/row.hpp"

namespace kreisel::apps {

namespace {
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
}  // namespace

void StudyLine::show(const study::StudyProgress& p) {
  if (!is_active_) return;
  const double time = now();
  // Thousands of cases may end in a second; drawing a line for each would slow them down.
  if (p.done < p.total && time - drawn_at_ < 0.05) return;
  drawn_at_ = time;
  const std::string failed = p.failed > 0 ? fmt::format(", {} failed", p.failed) : "";
  const std::string rate = p.done > 10 && p.rate > 0.0 ? fmt::format(", {:.3g} per second", p.rate) : "";
  const std::string left =
      std::isfinite(p.seconds_left) ? fmt::format(", about {} left", duration(p.seconds_left)) : "";
  draw_line(name_ + ": ", fmt::format("{} of {} runs{}{}{}", p.done, p.total, failed, rate, left));
  is_drawn_ = true;
}

void StudyLine::clear() {
  if (is_drawn_) fmt::print(stderr, "\r\033[K");
  is_drawn_ = false;
}

study::StudyResult run_in_folder(study::Spec spec, const std::string& folder, const std::string& command,
                                 study::StudyOptions options, bool is_quiet, const Interruption& interruption,
                                 const std::string& name) {
  io::claim_result_folder(folder);
  // A whole study locks the folder; a shard locks only its part.
  if (!options.shard) io::refuse_locked_parts(folder);
  const io::FolderLock lock(folder, options.shard ? options.shard->suffix() : "");
  StudyLine line(!name.empty() ? name : spec.id.empty() ? spec.title : spec.id, !is_quiet);
  options.folder = folder;
  if (options.cache.empty())
    options.cache = study::cache_folder().empty() ? io::Path(folder) / "cache" : study::cache_folder();
  options.on_progress = [&](const study::StudyProgress& progress) { line.show(progress); };
  options.wants_to_stop = [&] { return interruption.was_asked(); };
  study::StudyResult result = study::run_study(std::move(spec), options);
  line.clear();
  for (const std::string& warning : result.warnings) print_warning(warning);
  if (!options.shard) study::write_study(result, command, folder);
  return result;
}

std::vector<study::MutationResult> run_mutations(const study::Spec& spec, const std::string& name, int jobs,
                                                 bool is_quiet, const Interruption& interruption) {
  std::vector<study::MutationResult> out;
  for (const study::Mutation& mutation : spec.mutations) {
    if (interruption.was_asked()) break;
    StudyLine line(fmt::format("{}, {}", name, mutation.name), !is_quiet);
    study::StudyOptions options;
    options.jobs = jobs;
    options.cache = study::cache_folder();
    options.on_progress = [&](const study::StudyProgress& progress) { line.show(progress); };
    options.wants_to_stop = [&] { return interruption.was_asked(); };
    out.push_back(study::run_mutation(spec, mutation, options));
  }
  return out;
}

void print_mutations(const std::vector<study::MutationResult>& mutations) {
  for (const study::MutationResult& m : mutations)
    fmt::print(
        "    {}  with {}\n",
        m.is_noticed ? coloured("noticed    ", Colour::green, stdout) : coloured("NOT noticed", Colour::red, stdout),
        m.name);
}

std::string padded(std::string text, std::size_t width) {
  const auto columns = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  return columns < width ? text + std::string(width - columns, ' ') : text;
}

namespace {

/// More than these fill the screen; the table of the report has them all.
constexpr std::size_t most_failures = 20;

void print_failures(const study::StudyResult& result) {
  if (result.tally.failed > most_failures || result.rows.empty()) {
    for (const auto& [status, count] : result.tally.failures) print_warning(fmt::format("{} cases: {}", count, status));
    return;
  }
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    if (!result.rows[i].is_success())
      print_warning(fmt::format("{} {}: {}: {}", result.spec.cases[i].label, result.spec.cases[i].coordinates.dump(),
                                result.rows[i].status,
                                result.rows[i].message.substr(0, result.rows[i].message.find('\n'))));
}

/// What sets the accuracy of a case.
std::string accuracy_asked(const study::Case& c) {
  for (const char* key : {"tolerance", "rtol", "step", "step_count"})
    if (c.coordinates.contains(key)) return fmt::format("{} {}", key, c.coordinates[key].dump());
  return "";
}

std::string cell(const study::Row& row, const std::string& name) {
  const double value = row.number(name);
  if (!row.is_success()) return "failed";
  if (std::isnan(value)) return "-";
  if (value == std::floor(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  if (name == "seconds" && row.number("seconds_low") < row.number("seconds_high"))
    return fmt::format("{:.2e} ({:.2e} to {:.2e})", value, row.number("seconds_low"), row.number("seconds_high"));
  return fmt::format("{:.2e}{}", value, row.is_marked(name) ? "*" : "");
}

/// A line per run: errors, what they cost, and the largest error of the energy balance.
void print_work(const study::StudyResult& result) {
  std::vector<std::string> columns;
  for (const study::Measure& m : result.spec.measures) columns.push_back(m.name);
  columns.push_back(result.spec.x);
  for (const char* name : {"seconds", "energy_error"})
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.emplace_back(name);
  std::vector<std::vector<std::string>> lines{{"", ""}};
  lines[0].insert(lines[0].end(), columns.begin(), columns.end());
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const study::Row& row = result.rows[i];
    const study::Case& c = result.spec.cases[i];
    std::vector<std::string> line{i > 0 && result.spec.cases[i - 1].label == c.label ? "" : c.label, accuracy_asked(c)};
    for (const std::string& name : columns) line.push_back(cell(row, name));
    lines.push_back(std::move(line));
  }
  std::vector<std::size_t> widths(lines[0].size(), 0);
  for (const auto& line : lines)
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], line[k].size());
  for (const auto& line : lines) {
    std::string text = " ";
    for (std::size_t k = 0; k < line.size(); ++k)
      text += k < 2 ? " " + padded(line[k], widths[k]) : fmt::format("  {:>{}}", line[k], widths[k]);
    fmt::print("{}\n", &line == &lines[0] ? coloured(text, Colour::bold, stdout) : text);
  }
  print_failures(result);
}

}  // namespace

void print_statistics(const study::StudyResult& result) {
  std::size_t width = 0;
  for (const study::NumberStatistics& s : result.ensemble->statistics) width = std::max(width, s.name.size());
  const std::size_t succeeded = result.tally.done - result.tally.failed;
  for (const study::NumberStatistics& s : result.ensemble->statistics)
    fmt::print("  {}  mean {:.5g}  deviation {:.3g}  5 % {:.5g}  median {:.5g}  95 % {:.5g}  ({} cases)\n",
               padded(s.name, width), s.mean, s.deviation, s.quantiles.front(), s.quantiles[2], s.quantiles.back(),
               s.count < succeeded ? fmt::format("{} of {}", s.count, succeeded) : fmt::format("{}", s.count));
  std::string last;
  for (const study::SobolIndex& i : result.ensemble->indices) {
    if (i.number != last) fmt::print("  {}\n", coloured("Sobol indices of " + i.number, Colour::bold, stdout));
    last = i.number;
    const auto number = [](double value, double error) {
      return fmt::format("{:.3f}{}", value, std::isfinite(error) ? fmt::format(" ± {:.3f}", error) : "");
    };
    fmt::print("    {}  first {}  total {}\n", padded(i.parameter, 12), number(i.first, i.first_error),
               number(i.total, i.total_error));
  }
  print_failures(result);
}

void print_table(const study::StudyResult& result) {
  if (result.ensemble) return print_statistics(result);
  if (study::is_over_work(result.spec)) return print_work(result);
  std::size_t width = 0;
  for (const study::ObservedCurve& curve : result.curves) width = std::max(width, curve.label.size());
  std::string last;
  for (const study::ObservedCurve& curve : result.curves) {
    if (curve.number != last) fmt::print("  {}\n", coloured(curve.number, Colour::bold, stdout));
    last = curve.number;
    const std::string order = curve.order ? fmt::format("order {:.2f}", *curve.order) : "no order";
    std::vector<std::string> values;
    for (std::size_t k = 0; k < curve.x.size() && k < 6; ++k)
      values.push_back(std::isfinite(curve.y[k]) ? fmt::format("{:.2e}{}", curve.y[k], curve.is_marked[k] ? "*" : "")
                       : result.rows[curve.cases[k]].is_success() ? "-"
                                                                  : "failed");
    fmt::print("    {}  {}  {}{}\n", padded(curve.label, width), padded(order, 11), fmt::join(values, " "),
               curve.x.size() > 6 ? " ..." : "");
  }
  const bool has_marks = std::any_of(result.curves.begin(), result.curves.end(), [](const study::ObservedCurve& c) {
    for (std::size_t k = 0; k < c.y.size(); ++k)
      if (c.is_marked[k] && std::isfinite(c.y[k])) return true;
    return false;
  });
  if (has_marks)
    fmt::print("  * of a failed run, below the error of the reference or in round-off: not used for orders\n");
  print_failures(result);
}

std::string word_of(const study::Verdict& v, std::size_t width) {
  const Colour colours[] = {Colour::green, Colour::yellow, Colour::red};
  return coloured(padded(v.word(), width), colours[static_cast<int>(v.outcome())], stdout);
}

std::string remarks_on(const study::Verdict& v, const std::string& indent) {
  std::string out;
  if (!v.explanation.empty()) out += fmt::format("\n{}the paper: {}; {}", indent, v.says, v.explanation);
  if (!v.note.empty()) out += fmt::format("\n{}{}", indent, v.note);
  return out;
}

void print_verdicts(const study::StudyResult& result) {
  for (const study::Verdict& v : result.verdicts)
    fmt::print("  {}  {}: {} (expected {}){}\n", word_of(v, 18), v.quantity, v.measured, v.expected,
               remarks_on(v, "      "));
}

}  // namespace kreisel::apps
