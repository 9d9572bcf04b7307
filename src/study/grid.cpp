#include "grid.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "io/result/prepare.hpp"
#include "study/analysis.hpp"
#include "study/spec_schema.hpp"

namespace kreisel::study {
namespace {

/// One key of the grid with the values it takes; `parameter` keys stand under "set".
struct Axis {
  std::string key;
  bool is_parameter = false;
  std::vector<Json> values;
  std::string pointer;
};

bool is_scalar(const Json& value) { return value.is_string() || value.is_number() || value.is_boolean(); }

/// {"from": a, "to": b, "points": n}: n values in geometric progression.
std::vector<Json> progression(const SpecObject& object) {
  object.only(io::names_of(progression_object().keys));
  const double from = object.number("from", 0.0), to = object.number("to", 0.0), points = object.number("points", 0.0);
  if (!(from > 0.0)) object.refuse("from", "expected a positive number");
  if (!(to > 0.0)) object.refuse("to", "expected a positive number");
  if (!(points >= 2.0) || points != std::floor(points) || points > 1000.0)
    object.refuse("points", "expected a whole number from 2 to 1000");
  std::vector<Json> values;
  for (int i = 0; i < static_cast<int>(points); ++i)
    values.emplace_back(from * std::pow(to / from, i / (points - 1.0)));
  return values;
}

Axis axis_of(const io::JsonSource& source, const std::string& pointer, const std::string& key, bool is_parameter,
             const Json& value) {
  Axis axis{key, is_parameter, {}, pointer};
  if (is_scalar(value)) {
    axis.values = {value};
  } else if (value.is_object()) {
    axis.values = progression(SpecObject(source, pointer, value));
  } else if (value.is_array() && !value.empty()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!is_scalar(value[i])) source.refuse(below(pointer, i), "expected a number, a word, true or false");
      axis.values.push_back(value[i]);
    }
  } else {
    source.refuse(pointer, "expected a value, a list of values, or {\"from\", \"to\", \"points\"}");
  }
  return axis;
}

std::vector<std::string> run_keys() {
  std::vector<std::string> keys = io::names_of(grid_object().keys);
  for (const io::RunField& field : io::run_fields()) keys.push_back(field.field.name);
  return keys;
}

/// Axes of one object; those of `base` that it does not name come first.
std::vector<Axis> axes_of(const SpecObject& object, const Spec& spec, const std::vector<std::string>& skipped,
                          std::vector<Axis> axes) {
  std::vector<std::string> known = spec.analysis.empty() ? run_keys() : analysis_keys(spec.analysis);
  std::vector<std::string> allowed = known;
  allowed.insert(allowed.end(), skipped.begin(), skipped.end());
  object.only(allowed);
  const auto put = [&](Axis axis) {
    const auto at = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) {
      return a.key == axis.key && a.is_parameter == axis.is_parameter;
    });
    if (at != axes.end())
      *at = std::move(axis);
    else
      axes.push_back(std::move(axis));
  };
  for (const auto& [key, value] : object.json().items()) {
    if (key == "label" || std::find(known.begin(), known.end(), key) == known.end()) continue;
    if (key != "set") {
      put(axis_of(object.source(), object.at(key), key, false, value));
      continue;
    }
    const SpecObject settings(object.source(), object.at(key), value);
    for (const auto& [name, number] : value.items())
      put(axis_of(object.source(), settings.at(name), name, true, number));
  }
  return axes;
}

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// "rho_inf=0.9", "k=3", "bliedf".
std::string words_for(const std::string& key, const Json& value) {
  if (key == "order") return "k=" + plain(value);
  return value.is_string() ? plain(value) : fmt::format("{}={}", key, plain(value));
}

bool is_abscissa(const std::string& key) {
  return key == "step" || key == "step_count" || key == "steps" || key == "rtol" || key == "atol" || key == "tolerance";
}

/// A text in the file may be a number as well: "1e-3".
kreisel::Value value_in(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>();
  return plain(value);
}

void fill_spec(const SpecObject& root, Case& c) {
  for (const auto& [key, value] : c.coordinates.items()) {
    if (key == "model")
      c.run.model = plain(value);
    else if (key == "group")
      c.run.group = plain(value);
    else if (key == "tolerance")
      c.run.set("rtol", value_in(value)).set("atol", value_in(value));
    else if (key != "step_count" && key.find('.') == std::string::npos)
      c.run.set(key, value_in(value));
  }
  if (c.run.model.empty())
    root.source().refuse("", "the key 'model' is missing; expected a built-in model or the path of a model file");
}

/// A number of steps becomes a step once the interval is known.
void divide_interval(const SpecObject& root, Case& c) {
  if (!c.coordinates.contains("step_count")) return;
  const Json& count = c.coordinates["step_count"];
  if (!count.is_number() || !(count.get<double>() >= 1.0)) root.refuse("step_count", "expected positive whole numbers");
  const models::Model model = io::prepare_model(c.run);
  const Json t_end_given = c.coordinates.contains("t_end") ? c.coordinates["t_end"] : Json(model.start.t_end);
  if (!t_end_given.is_number()) root.refuse("t_end", "expected a number [s]");
  const double t_end = t_end_given.get<double>();
  c.run.set("step", (t_end - model.start.t0) / count.get<double>());
}

void check(const SpecObject& root, Case& c, std::size_t number) {
  try {
    c.sources = io::prepare(c.run).options.sources;
  } catch (const InvalidInput& problem) {
    root.source().refuse("",
                         fmt::format("run {} ({}) cannot be made: {}", number, c.coordinates.dump(), problem.what()));
  }
}

/// The run of a case, from its coordinates and settings.
void make_run(const SpecObject& root, const OwnModels& own_models, Case& c, std::size_t number) {
  // Settings of the model are not options of the run.
  Case stripped = c;
  for (const io::Setting& setting : c.run.settings) stripped.coordinates.erase(setting.name);
  fill_spec(root, stripped);
  if (const auto own = own_models.find(stripped.run.model); own != own_models.end())
    stripped.run.own_model = own->second;
  divide_interval(root, stripped);
  c.run = stripped.run;
  check(root, c, number);
}

constexpr std::size_t max_cases = 100'000;

/// Curves are told apart by everything that varies: a label stands before the words in which its curves differ.
std::string curve_of(const std::string& label, const std::vector<Axis>& axes, const Json& coordinates,
                     const std::string& x) {
  if (label.empty()) return label;
  std::string out = label;
  for (const Axis& axis : axes)
    if (axis.values.size() > 1 && axis.key != x && !is_abscissa(axis.key))
      out += ", " + words_for(axis.key, coordinates[axis.key]);
  return out;
}

void multiply(const SpecObject& root, const std::vector<Axis>& axes, const std::string& label, const std::string& x,
              std::vector<Case>& cases) {
  Case current;
  current.family = label;
  current.coordinates = Json::object();
  const std::function<void(std::size_t)> descend = [&](std::size_t depth) {
    if (cases.size() > max_cases) root.source().refuse("", fmt::format("the grid has more than {} cases", max_cases));
    if (depth == axes.size()) {
      current.label = curve_of(label, axes, current.coordinates, x);
      return cases.push_back(current);
    }
    const Axis& axis = axes[depth];
    for (const Json& value : axis.values) {
      current.coordinates[axis.key] = value;
      const std::size_t settings = current.run.settings.size();
      if (axis.is_parameter) current.run.settings.push_back({axis.key, value_in(value)});
      descend(depth + 1);
      current.run.settings.resize(settings);
    }
    current.coordinates.erase(axis.key);
  };
  descend(0);
}

/// Cases without a label of their own get the words in which they differ.
void name_curves(std::vector<Case>& cases, const std::string& x) {
  std::vector<std::string> keys;
  for (const Case& c : cases)
    for (const auto& [key, value] : c.coordinates.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  std::vector<std::string> varied;
  for (const std::string& key : keys) {
    if (key == x || is_abscissa(key)) continue;
    std::set<std::string> values;
    for (const Case& c : cases) values.insert(c.coordinates.contains(key) ? c.coordinates[key].dump() : "");
    if (values.size() > 1) varied.push_back(key);
  }
  for (Case& c : cases) {
    if (!c.label.empty()) continue;
    std::vector<std::string> words;
    for (const std::string& key : varied)
      if (c.coordinates.contains(key)) words.push_back(words_for(key, c.coordinates[key]));
    if (words.empty() && c.coordinates.contains("method")) words.push_back(plain(c.coordinates["method"]));
    if (words.empty()) words.push_back(c.run.model.empty() ? "all" : c.run.model);
    c.label = fmt::format("{}", fmt::join(words, ", "));
  }
}

}  // namespace

std::string natural_abscissa(const std::vector<Case>& cases) {
  for (const char* key : {"step", "step_count", "steps"})
    for (const Case& c : cases)
      if (c.coordinates.contains(key)) return "step";
  for (const char* key : {"tolerance", "rtol"})
    for (const Case& c : cases)
      if (c.coordinates.contains(key)) return key;
  return "step";
}

std::vector<Case> expand_grid(const SpecObject& root, const Spec& spec, const OwnModels& own_models) {
  const std::string list = spec.analysis.empty() ? "runs" : "cases";
  const std::vector<Axis> common = axes_of(root, spec, io::names_of(study_object().keys), {});
  std::vector<Case> cases;
  if (!root.has(list)) multiply(root, common, "", spec.x, cases);
  root.each(list, [&](const std::string& pointer, const Json& entry) {
    const SpecObject object(root.source(), pointer, entry);
    multiply(root, axes_of(object, spec, {"label"}, common), object.text("label"), spec.x, cases);
  });
  if (cases.empty()) root.source().refuse("", "the study has no case");
  std::size_t number = 0;
  if (spec.analysis.empty())
    for (Case& c : cases) make_run(root, own_models, c, ++number);
  name_curves(cases, spec.x.empty() ? natural_abscissa(cases) : spec.x);
  return cases;
}

std::vector<Case> mutated_cases(const SpecObject& mutation, const Spec& spec, const Json& where) {
  if (!mutation.has("change") || !mutation.value("change").is_object() || mutation.value("change").empty())
    mutation.refuse("change", "expected an object { } with the wrong settings");
  const SpecObject change(mutation.source(), mutation.at("change"), mutation.value("change"));
  const std::vector<Axis> axes = axes_of(change, spec, {}, {});
  std::vector<Case> cases = spec.cases;
  std::size_t number = 0;
  for (Case& c : cases) {
    ++number;
    if (!matches(where, c)) continue;
    Case changed = c;
    changed.run = io::RunSpec();
    changed.run.settings = c.run.settings;
    changed.run.own_model = c.run.own_model;
    for (const Axis& axis : axes) {
      if (axis.values.size() != 1) change.refuse(axis.key, "expected one value");
      c.changes[axis.key] = axis.values.front();
      changed.coordinates[axis.key] = axis.values.front();
      if (!axis.is_parameter) continue;
      const auto at = std::find_if(changed.run.settings.begin(), changed.run.settings.end(),
                                   [&](const io::Setting& s) { return s.name == axis.key; });
      if (at == changed.run.settings.end())
        changed.run.settings.push_back({axis.key, value_in(axis.values.front())});
      else
        at->value = value_in(axis.values.front());
    }
    if (!spec.analysis.empty()) continue;
    make_run(mutation, {}, changed, number);
    c.run = changed.run;
    c.sources = changed.sources;
  }
  return cases;
}

}  // namespace kreisel::study
