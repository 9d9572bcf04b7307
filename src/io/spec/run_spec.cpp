#include "io/spec/run_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <list>
#include <mutex>

#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/spec/step_words.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

// ---- fields that run::Options does not have, or not in these words

void apply_steps(const Value& value, PreparedRun& run) {
  run.step_sequence = std::get<std::string>(value);
  run.options.steps = read_step_sequence(run.step_sequence);
}

void apply_redundant(const Value& value, PreparedRun& run) {
  using linear::SolverKind;
  if (std::get<std::string>(value) == "refuse") return;
  if (run.options.linear_solver != SolverKind::automatic && run.options.linear_solver != SolverKind::least_squares)
    throw InvalidInput(fmt::format("least-squares is itself a linear solver; remove {} {}", spelled("linear_solver"),
                                   run.options.linear_solver.name()));
  run.options.linear_solver = SolverKind::least_squares;
}

std::vector<RunField> list_of_fields() {
  std::vector<RunField> list;
  for (const run::OptionField& option : run::option_fields()) {
    if (option.field.name == "rtol")
      list.push_back({{.name = "steps",
                       .meaning = "given steps: constant:h=, change:h=,at=,ratio=, alternate:h=,ratio=, file:PATH or "
                                  "random:h_min=,h_max=,ratio_min=,ratio_max=,every=,seed=,member=",
                       .kind = FieldKind::text},
                      "S",
                      run::headings::time,
                      apply_steps});
    if (option.field.name == "linear_solver") {
      list.push_back({option.field, option.symbol, option.heading, nullptr, &option});
      list.push_back({{.name = "redundant",
                       .meaning = "dependent constraints; least-squares: multipliers of least norm",
                       .words = {"refuse", "least-squares"},
                       .kind = FieldKind::word,
                       .fallback = "refuse",
                       .noun = "treatment"},
                      "W",
                      option.heading,
                      apply_redundant});
      continue;
    }
    list.push_back({option.field, option.symbol, option.heading, nullptr, &option});
  }
  list.push_back({{.name = "assemble",
                   .meaning = "first correct positions and velocities that violate the joints",
                   .kind = FieldKind::truth},
                  "",
                  run::headings::model,
                  [](const Value& value, PreparedRun& run) { run.assembles = std::get<bool>(value); }});
  list.push_back({{.name = "fix",
                   .meaning = "what is kept while bodies are assembled: BODY.position, BODY.rotation, BODY.velocity, "
                              "BODY.angular_velocity",
                   .kind = FieldKind::words},
                  "B.x,...",
                  run::headings::model,
                  [](const Value& value, PreparedRun& run) { run.fixed = std::get<std::vector<std::string>>(value); }});
  list.push_back(
      {{.name = "start",
        .meaning = "begin with the given initial values, or at rest where all forces balance",
        .words = {"given", "static"},
        .kind = FieldKind::word,
        .fallback = "given",
        .noun = "start"},
       "W",
       run::headings::model,
       [](const Value& value, PreparedRun& run) { run.starts_at_rest = std::get<std::string>(value) == "static"; }});
  return list;
}

std::string with_underscores(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

// ---- paths

bool looks_like_a_file(std::string_view model) {
  return model.find('/') != std::string_view::npos || model.ends_with(".json");
}

std::string absolute(std::string_view path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).lexically_normal().string();
}

}  // namespace

std::string with_absolute_path(const std::string& word) {
  return word.starts_with(file_prefix) ? std::string(file_prefix) + absolute(word.substr(file_prefix.size())) : word;
}

const std::vector<RunField>& run_fields() {
  // Methods that a program registers add fields; lists returned by earlier calls stay valid.
  static std::mutex access;
  static std::list<std::pair<const void*, std::vector<RunField>>> versions;
  const std::scoped_lock lock(access);
  const void* options = &run::option_fields();
  if (versions.empty() || versions.back().first != options) versions.emplace_back(options, list_of_fields());
  return versions.back().second;
}

const RunField* find_run_field(std::string_view name) {
  const std::string wanted = with_underscores(name);
  const std::vector<RunField>& fields = run_fields();
  const auto found = std::ranges::find_if(fields, [&](const RunField& f) { return f.field.name == wanted; });
  return found == fields.end() ? nullptr : &*found;
}

RunSpec& RunSpec::set(std::string_view name, const Value& value, std::string where) {
  const RunField* field = find_run_field(name);
  if (field == nullptr) {
    std::vector<std::string> known;
    for (const RunField& f : run_fields()) known.push_back(f.field.name);
    problems_.push_back({"", unknown_name("option", name, known)});
    return *this;
  }
  const std::string& key = field->field.name;
  std::erase_if(given_, [&](const Given& given) { return given.name == key; });
  std::erase_if(problems_, [&](const run::OptionProblem& problem) { return problem.field == key; });
  try {
    given_.push_back({key, checked(field->field, value), std::move(where)});
  } catch (const InvalidInput& problem) {
    problems_.push_back({key, problem.what()});
    given_.push_back({key, std::numeric_limits<double>::quiet_NaN(), std::move(where)});
  }
  return *this;
}

void RunSpec::read_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    problems_.push_back({"set", fmt::format("'{}' is not of the form key=value", clipped(text, 100))});
  else
    settings.push_back({std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))});
}

const Value* RunSpec::find(std::string_view field) const {
  const auto found = std::ranges::find_if(given_, [&](const Given& given) { return given.name == field; });
  return found == given_.end() ? nullptr : &found->value;
}

std::string RunSpec::word(std::string_view field) const {
  const Value* value = find(field);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

std::vector<std::string> RunSpec::words(std::string_view field) const {
  const Value* value = find(field);
  const auto* words = value == nullptr ? nullptr : std::get_if<std::vector<std::string>>(value);
  return words == nullptr ? std::vector<std::string>() : *words;
}

bool RunSpec::is_true(std::string_view field) const {
  const Value* value = find(field);
  return value != nullptr && *value == Value(true);
}

RunSpec RunSpec::with_absolute_paths() const {
  RunSpec spec = *this;
  if (looks_like_a_file(model)) spec.model = absolute(model);
  for (Given& given : spec.given_)
    if (auto* text = std::get_if<std::string>(&given.value)) *text = with_absolute_path(*text);
  return spec;
}

namespace {

template <std::size_t... i>
void fill_with_kind(Value& value, std::size_t kind, std::index_sequence<i...>) {
  ((i == kind ? static_cast<void>(value.emplace<i>()) : static_cast<void>(0)), ...);
}

void exchange_value(Archive& archive, Value& value) {
  std::uint64_t kind = value.index();
  archive(kind);
  archive.require(kind < std::variant_size_v<Value>);
  if (kind != value.index()) fill_with_kind(value, kind, std::make_index_sequence<std::variant_size_v<Value>>());
  std::visit(
      [&](auto& x) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, std::vector<std::string>>)
          archive(x, [](Archive& a, std::string& text) { a(text); });
        else
          archive(x);
      },
      value);
}

}  // namespace

void RunSpec::exchange(Archive& archive) {
  archive.all(model, group);
  archive(settings, [](Archive& a, Setting& setting) {
    a(setting.name);
    exchange_value(a, setting.value);
  });
  archive(given_, [](Archive& a, Given& given) {
    a.all(given.name, given.where);
    exchange_value(a, given.value);
  });
}

}  // namespace kreisel::io
