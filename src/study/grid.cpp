#include "grid.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/archive.hpp"
#include "io/result/prepare.hpp"
#include "study/analysis.hpp"
#include "study/spec_schema.hpp"
#include "table.hpp"

namespace kreisel::study {
namespace {

using Axis = Dimension::Column;

constexpr std::size_t max_cases = 20'000'000;
/// Studies up to this size are checked run by run before the first one starts.
constexpr std::size_t max_checked = 2000;
constexpr std::size_t checked_points = 16;  ///< of a table
constexpr std::size_t tried_points = 64;    ///< of a sample, until one can be run

bool is_scalar(const Json& value) { return value.is_string() || value.is_number() || value.is_boolean(); }

/// {"from": a, "to": b, "points": n}: n values in geometric progression.
std::vector<Json> progression(const SpecObject& object) {
  object.only(io::names_of(progression_object().keys));
  const double from = object.number("from", 0.0), to = object.number("to", 0.0), points = object.number("points", 0.0);
  if (!(from > 0.0)) object.refuse("from", "expected a positive number");
  if (!(to > 0.0)) object.refuse("to", "expected a positive number");
  if (!(points >= 2.0) || points != std::floor(points) || points > 1e6)
    object.refuse("points", "expected a whole number from 2 to 1000000");
  std::vector<Json> values;
  for (int i = 0; i < static_cast<int>(points); ++i)
    values.emplace_back(from * std::pow(to / from, i / (points - 1.0)));
  return values;
}

/// {"normal": [mean, deviation]}.
std::optional<Draw> draw_of(const SpecObject& object) {
  for (const Spelled<Distribution>& word : Spellings<Distribution>::entries) {
    if (!object.has(word.name)) continue;
    object.only({std::string(word.name)});
    const std::vector<double> numbers = object.numbers(word.name);
    const bool is_range = word.id == Distribution::uniform;
    if (numbers.size() != 2 || !(is_range ? numbers[0] < numbers[1] : numbers[1] > 0.0))
      object.refuse(word.name, is_range ? "expected two increasing numbers [from, to]"
                                        : "expected two numbers [mean, standard deviation], the second one positive");
    return Draw{word.id, numbers[0], numbers[1]};
  }
  return {};
}

Axis axis_of(const io::JsonSource& source, const std::string& pointer, const std::string& key, bool is_parameter,
             const Json& value) {
  Axis axis{key, is_parameter, {}, {}};
  if (is_scalar(value)) {
    axis.values = {value};
  } else if (value.is_object()) {
    const SpecObject object(source, pointer, value);
    if (const std::optional<Draw> draw = draw_of(object))
      axis.draw = *draw;
    else
      axis.values = progression(object);
  } else if (value.is_array() && !value.empty()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!is_scalar(value[i])) source.refuse(below(pointer, i), "expected a number, a word, true or false");
      axis.values.push_back(value[i]);
    }
  } else {
    source.refuse(pointer,
                  "expected a value, a list of values, {\"from\", \"to\", \"points\"}, or a distribution such as "
                  "{\"uniform\": [from, to]}");
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

/// Columns named as fields of runs set these fields; other columns set parameters.
Dimension table_of(const SpecObject& root, const Spec& spec) {
  const std::vector<std::string> known = spec.analysis.empty() ? run_keys() : analysis_keys(spec.analysis);
  const io::Path path = root.source().folder() / root.required_text("table", "the path of a CSV file");
  Dimension table;
  table.is_table = true;
  Table read;
  try {
    read = read_table(path);
  } catch (const InvalidInput& problem) {
    root.refuse("table", problem.what());
  }
  for (std::size_t k = 0; k < read.names.size(); ++k) {
    const std::string& name = read.names[k];
    const bool is_parameter = spec.analysis.empty() && (name == "set" || name == "label" ||
                                                        std::find(known.begin(), known.end(), name) == known.end());
    table.columns.push_back({name, is_parameter, std::move(read.columns[k]), {}});
  }
  return table;
}

/// The points of the sample, with one coordinate per drawn key.
PointSet sample_of(const SpecObject& root, std::size_t dimensions) {
  if (!root.has("sample"))
    root.source().refuse("",
                         "a distribution needs \"sample\" (sobol, latin-hypercube, random, saltelli) and \"points\"");
  SampleKind kind{};
  try {
    kind = Choice<SampleKind>(root.text("sample")).value_or(SampleKind::sobol);
  } catch (const InvalidInput& problem) {
    root.refuse("sample", problem.what());
  }
  if (!root.has("points")) root.source().refuse("", "\"sample\" needs \"points\": how many points are drawn");
  const long points = root.whole("points", 1, 1, static_cast<long>(max_cases));
  const long seed = root.whole("seed", 1, 0, 1'000'000'000'000'000);
  if (dimensions > PointSet::max_dimensions(kind))
    root.refuse("sample", fmt::format("draws at most {} parameters, but {} have a distribution",
                                      PointSet::max_dimensions(kind), dimensions));
  return {kind, static_cast<std::size_t>(points), static_cast<std::uint64_t>(seed), dimensions};
}

/// Coordinates have one value per name.
void refuse_shared_names(const SpecObject& root, const std::vector<Dimension>& dimensions) {
  std::set<std::string> fields, parameters;
  for (const Dimension& d : dimensions)
    for (const Axis& axis : d.columns) (axis.is_parameter ? parameters : fields).insert(axis.key);
  for (const std::string& name : parameters)
    if (fields.contains(name))
      root.source().refuse("",
                           fmt::format("'{0}' is a field of runs and a parameter; call the parameter 'model.{0}', or "
                                       "'method.{0}' if it is one of the method",
                                       name));
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

void fill_spec(const io::JsonSource& source, Case& c) {
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
    source.refuse("", "the key 'model' is missing; expected a built-in model or the path of a model file");
}

/// A number of steps becomes a step once the interval is known.
void divide_interval(const io::JsonSource& source, Case& c) {
  if (!c.coordinates.contains("step_count")) return;
  const Json& count = c.coordinates["step_count"];
  if (!count.is_number() || !(count.get<double>() >= 1.0))
    source.refuse("/step_count", "expected positive whole numbers");
  const models::Model model = io::prepare_model(c.run);
  const Json t_end_given = c.coordinates.contains("t_end") ? c.coordinates["t_end"] : Json(model.start.t_end);
  if (!t_end_given.is_number()) source.refuse("/t_end", "expected a number [s]");
  const double t_end = t_end_given.get<double>();
  c.run.set("step", (t_end - model.start.t0) / count.get<double>());
}

std::vector<run::SourceFile> prepared_sources(const io::JsonSource& source, const Case& c, std::size_t number) {
  try {
    return io::prepare(c.run).options.sources;
  } catch (const InvalidInput& problem) {
    source.refuse("", fmt::format("run {} ({}) is not possible: {}", number, c.coordinates.dump(), problem.what()));
  }
}

/// A model file is looked for beside the study first, then from the current folder.
std::string located_model(const io::JsonSource& source, const std::string& name) {
  const bool is_file = name.ends_with(".json") || name.find('/') != std::string::npos;
  if (!is_file || source.folder().empty() || io::Path(name).is_absolute()) return name;
  const io::Path beside = (source.folder() / name).lexically_normal();
  std::error_code error;
  return std::filesystem::exists(beside, error) ? beside.string() : name;
}

/// The run of a case, from its coordinates and settings.
io::RunSpec run_of(const io::JsonSource& source, const OwnModels& own_models, const Case& c) {
  // Settings of the model are not options of the run.
  Case stripped = c;
  for (const io::Setting& setting : c.run.settings) stripped.coordinates.erase(setting.name);
  fill_spec(source, stripped);
  if (const auto own = own_models.find(stripped.run.model); own != own_models.end())
    stripped.run.own_model = own->second;
  else
    stripped.run.model = located_model(source, stripped.run.model);
  divide_interval(source, stripped);
  return std::move(stripped.run);
}

}  // namespace

Json Dimension::value(std::size_t column, std::size_t point) const {
  const Column& c = columns[column];
  return sample ? Json(c.draw.at(sample->at(point, column))) : c.values[point];
}

Grid::Grid(const SpecObject& root, const Spec& spec, const OwnModels& own_models)
    : source_(root.source()), own_models_(own_models), is_analysis_(!spec.analysis.empty()), x_(spec.x) {
  const std::string list = is_analysis_ ? "cases" : "runs";
  const std::vector<Axis> common = axes_of(root, spec, io::names_of(study_object().keys), {});
  std::optional<Dimension> table;
  if (root.has("table")) table = table_of(root, spec);
  const auto add = [&](const std::string& label, const std::vector<Axis>& axes) {
    Block block{label, {}, size_, 1};
    Dimension drawn;
    for (const Axis& axis : axes) {
      if (axis.values.empty())
        drawn.columns.push_back(axis);
      else
        block.dimensions.push_back({{axis}, {}});
    }
    if (table) {
      for (const Axis& column : table->columns)
        for (const Axis& axis : axes)
          if (axis.key == column.key && axis.is_parameter == column.is_parameter)
            root.refuse("table", fmt::format("has a column '{}', which the study sets as well", column.key));
      block.dimensions.push_back(*table);
    }
    if (!drawn.columns.empty()) {
      drawn.sample = sample_of(root, drawn.columns.size());
      block.dimensions.push_back(std::move(drawn));
    }
    refuse_shared_names(root, block.dimensions);
    for (const Dimension& d : block.dimensions) {
      if (block.size > max_cases / d.size() || size_ + block.size * d.size() > max_cases)
        root.source().refuse("", fmt::format("the grid has more than {} cases", max_cases));
      block.size *= d.size();
    }
    size_ += block.size;
    blocks_.push_back(std::move(block));
  };
  if (!root.has(list)) add("", common);
  root.each(list, [&](const std::string& pointer, const Json& entry) {
    const SpecObject object(root.source(), pointer, entry);
    add(object.text("label"), axes_of(object, spec, {"label"}, common));
  });
  if (size_ == 0) root.source().refuse("", "the study has no cases");
  if (root.has("sample") && sample() == nullptr)
    root.refuse("sample", "nothing is drawn: give a parameter a distribution, such as {\"uniform\": [from, to]}");
  if (x_.empty()) {
    x_ = "step";
    for (const char* key : {"rtol", "tolerance"})
      if (has(key)) x_ = key;
    for (const char* key : {"step", "step_count", "steps"})
      if (has(key)) x_ = "step";
  }
  name_varied();
}

const Grid::Block& Grid::block_of(std::size_t i) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), i,
                                      [](std::size_t place, const Block& block) { return place < block.first; });
  return *(after - 1);
}

void Grid::name_varied() {
  for (const std::string& key : keys()) {
    if (key == x_ || is_abscissa(key)) continue;
    std::set<std::string> values;
    for (const Block& block : blocks_) {
      bool is_there = false;
      for (const Dimension& d : block.dimensions)
        for (const Dimension::Column& column : d.columns) {
          if (column.key != key) continue;
          is_there = true;
          if (d.sample || d.is_table) continue;  // every case has another value
          for (const Json& value : column.values) values.insert(value.dump());
        }
      if (!is_there) values.insert("");
    }
    if (values.size() > 1) varied_.push_back(key);
  }
}

/// Curves are distinguished by everything that varies: a label precedes the words in which its curves differ.
std::string Grid::label_of(const Block& block, const Json& coordinates) const {
  if (!block.label.empty()) {
    std::string out = block.label;
    for (const Dimension& d : block.dimensions)
      if (!d.sample && !d.is_table && d.size() > 1 && d.columns[0].key != x_ && !is_abscissa(d.columns[0].key))
        out += ", " + words_for(d.columns[0].key, coordinates[d.columns[0].key]);
    return out;
  }
  std::string out;
  for (const std::string& key : varied_)
    if (coordinates.contains(key)) out += (out.empty() ? "" : ", ") + words_for(key, coordinates[key]);
  if (out.empty() && coordinates.contains("method")) out = plain(coordinates["method"]);
  if (out.empty()) out = coordinates.contains("model") ? plain(coordinates["model"]) : "all";
  return out;
}

Case Grid::outline(std::size_t i) const {
  const Block& block = block_of(i);
  Case c;
  c.family = block.label;
  c.coordinates = Json::object();
  std::size_t place = i - block.first, weight = block.size;
  for (const Dimension& d : block.dimensions) {
    weight /= d.size();
    const std::size_t point = place / weight;
    place %= weight;
    for (std::size_t k = 0; k < d.columns.size(); ++k) {
      Json value = d.value(k, point);
      if (d.columns[k].is_parameter) c.run.settings.push_back({d.columns[k].key, value_in(value)});
      c.coordinates[d.columns[k].key] = std::move(value);
    }
  }
  c.label = label_of(block, c.coordinates);
  if (!is_analysis_) c.sources = sources_of(c, i);
  return c;
}

/// The files that a case reads depend on its texts only: numbers do not name files.
std::vector<run::SourceFile> Grid::sources_of(const Case& c, std::size_t i) const {
  std::string words;
  for (const auto& [key, value] : c.coordinates.items())
    if (value.is_string()) words += key + '=' + value.get<std::string>() + '\n';
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = sources_.find(words); known != sources_.end()) return known->second;
  }
  Case made = c;
  std::vector<run::SourceFile> sources;
  made.run = run_of(source_, own_models_, c);
  sources = prepared_sources(source_, made, i + 1);
  const std::lock_guard lock(mutex_);
  return sources_.emplace(words, std::move(sources)).first->second;
}

Case Grid::at(std::size_t i) const {
  Case c = outline(i);
  if (!is_analysis_) c.run = run_of(source_, own_models_, c);
  return c;
}

void Grid::check(std::size_t i) const { prepared_sources(source_, at(i), i + 1); }

void Grid::check_runs() const {
  if (is_analysis_) return;
  if (size_ <= max_checked && !is_ensemble()) {
    for (std::size_t i = 0; i < size_; ++i) check(i);
    return;
  }
  for (const Block& block : blocks_) {
    check_some(block, block.first);
    std::size_t weight = block.size;
    for (const Dimension& d : block.dimensions) {
      weight /= d.size();
      // A point of a sample that cannot be run gives a failed row; errors in the file show at the first points.
      const std::size_t count = d.sample ? 1 : d.is_table ? std::min(checked_points, d.size()) : d.size();
      for (std::size_t point = 1; point < count; ++point) check_some(block, block.first + point * weight);
    }
  }
}

/// Throws unless a run is possible for one of the first points of the sample, if there is one.
void Grid::check_some(const Block& block, std::size_t i) const {
  std::size_t weight = block.size, points = 1, stride = 0;
  for (const Dimension& d : block.dimensions) {
    weight /= d.size();
    if (d.sample) points = std::min(tried_points, d.size()), stride = weight;
  }
  std::exception_ptr first;
  for (std::size_t point = 0; point < points; ++point) {
    try {
      return check(i + point * stride);
    } catch (const InvalidInput&) {
      if (!first) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

std::vector<std::string> Grid::keys() const {
  std::vector<std::string> names;
  for (const Block& block : blocks_)
    for (const Dimension& d : block.dimensions)
      for (const Dimension::Column& column : d.columns)
        if (std::find(names.begin(), names.end(), column.key) == names.end()) names.push_back(column.key);
  return names;
}

bool Grid::has(std::string_view key) const {
  const std::vector<std::string> all = keys();
  return std::find(all.begin(), all.end(), key) != all.end();
}

std::vector<std::string> Grid::drawn() const {
  std::vector<std::string> names;
  for (const Block& block : blocks_)
    for (const Dimension& d : block.dimensions)
      for (const Dimension::Column& column : d.columns)
        if (d.sample && std::find(names.begin(), names.end(), column.key) == names.end()) names.push_back(column.key);
  return names;
}

std::vector<std::string> Grid::varied_numbers() const {
  std::vector<std::string> names;
  for (const std::string& key : keys()) {
    std::set<std::string> values;
    bool is_drawn = false, is_number = true;
    for (const Block& block : blocks_)
      for (const Dimension& d : block.dimensions)
        for (const Dimension::Column& column : d.columns) {
          if (column.key != key) continue;
          is_drawn = is_drawn || d.sample;
          for (const Json& value : column.values) {
            is_number = is_number && value.is_number();
            if (values.size() < 2) values.insert(value.dump());
          }
        }
    if (is_number && (is_drawn || values.size() > 1)) names.push_back(key);
  }
  return names;
}

bool Grid::has_surface() const {
  std::set<std::string> names;
  for (const Block& block : blocks_)
    for (const Dimension& d : block.dimensions)
      for (const Dimension::Column& column : d.columns)
        if (column.is_parameter && column.values.size() > 2 &&
            std::all_of(column.values.begin(), column.values.end(), [](const Json& v) { return v.is_number(); }))
          names.insert(column.key);
  return names.size() > 1;
}

const PointSet* Grid::sample() const {
  for (const Block& block : blocks_)
    for (const Dimension& d : block.dimensions)
      if (d.sample) return &*d.sample;
  return nullptr;
}

bool Grid::is_ensemble() const {
  for (const Block& block : blocks_)
    for (const Dimension& d : block.dimensions)
      if (d.sample || d.is_table) return true;
  return false;
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
    c.run = run_of(mutation.source(), {}, changed);
    changed.run = c.run;
    c.sources = prepared_sources(mutation.source(), changed, number);
  }
  return cases;
}

}  // namespace kreisel::study
