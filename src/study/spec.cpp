#include "study/spec.hpp"

#include <algorithm>
#include <sstream>

#include "base/archive.hpp"
#include "grid.hpp"
#include "kreisel/study.hpp"
#include "kreisel/version.hpp"
#include "names.hpp"
#include "study/analysis.hpp"
#include "study/journal.hpp"
#include "study/row.hpp"
#include "study/spec_schema.hpp"

namespace kreisel::study {
namespace {

using io::names_of;

constexpr long max_whole = 1'000'000'000'000'000;  // all of them are numbers of type double

/// Throws InvalidInput for errors whose exact value has no size to divide by.
void check_scale(const Measure& m) {
  if (m.scale != Scale::absolute && !find_quantity(m.quantity).has_size)
    throw InvalidInput(fmt::format(
        "'relative' divides errors of q, v and lambda by their size; '{}' has none, leave it out", m.quantity));
}

/// "lambda max", "q end relative", "q local".
Measure measure_from_words(const std::string& text) {
  Measure m;
  m.name = text;
  std::istringstream words(text);
  std::string word;
  words >> m.quantity;
  find_quantity(m.quantity);
  while (words >> word) {
    if (word == "relative")
      m.scale = Scale::by_exact;
    else if (word == "largest")
      m.is_largest = true;
    else if (word == "signed")
      m.is_signed = true;
    else
      m.span = Choice<Span>(word).value_or(m.span);
  }
  check_scale(m);
  if (m.span == Span::window)
    throw InvalidInput("a window needs an object: {\"quantity\": ..., \"window\": [from, to]}");
  return m;
}

Measure measure_from_object(const SpecObject& o) {
  o.only(names_of(measure_object().keys));
  Measure m;
  m.quantity = o.required_text("quantity", "one of the quantities");
  find_quantity(m.quantity);
  if (o.has("over")) m.span = Choice<Span>(o.text("over")).value_or(m.span);
  if (o.range("window", m.from, m.to)) m.span = Span::window;
  if (o.has("relative")) {
    const Json& relative = o.value("relative");
    if (relative.is_boolean())
      m.scale = relative.get<bool>() ? Scale::by_exact : Scale::absolute;
    else if (relative == "computed")
      m.scale = Scale::by_computed;
    else
      o.refuse("relative", "expected true, false or \"computed\"");
    check_scale(m);
  }
  m.component = static_cast<int>(o.whole("component", 0, 0, 1'000'000'000));
  const std::string entries = o.text("entries", "euclidean");
  if (entries != "euclidean" && entries != "largest") o.refuse("entries", "expected \"euclidean\" or \"largest\"");
  m.is_largest = entries == "largest";
  m.is_signed = o.truth("signed", false);
  m.name = o.text("name", m.quantity);
  return m;
}

/// Adds the place to messages without one.
template <class Work>
auto located(const io::JsonSource& source, const std::string& pointer, const Work& work) {
  try {
    return work();
  } catch (const InvalidInput& problem) {
    if (std::string_view(problem.what()).find(": /") != std::string_view::npos) throw;
    source.refuse(pointer, problem.what());
  }
}

std::vector<Measure> measures_of(const SpecObject& root) {
  std::vector<Measure> list;
  root.each("measures", [&](const std::string& pointer, const Json& entry) {
    list.push_back(located(root.source(), pointer, [&] {
      return entry.is_string() ? measure_from_words(entry.get<std::string>())
                               : measure_from_object(SpecObject(root.source(), pointer, entry));
    }));
    for (std::size_t i = 0; i + 1 < list.size(); ++i)
      if (list[i].name == list.back().name)
        root.source().refuse(pointer, fmt::format("the measure '{}' is defined twice", list[i].name));
  });
  if (root.has("measures")) return list;
  // Every point of a sample would need its own exact solution.
  const bool is_ensemble = root.has("sample") || root.has("table");
  for (const char* text : {"q max", "v max", "lambda max"})
    if (!is_ensemble) list.push_back(measure_from_words(text));
  if (is_ensemble) list.push_back(measure_from_words("energy max"));
  return list;
}

std::vector<Series> series_of(const SpecObject& root) {
  std::vector<Series> list;
  root.each("series", [&](const std::string& pointer, const Json& entry) {
    const SpecObject o(root.source(), pointer, entry);
    o.only(names_of(series_object().keys));
    Series s;
    s.quantity = o.required_text("quantity", "one of the quantities");
    located(root.source(), o.at("quantity"), [&] { find_quantity(s.quantity); });
    s.component = static_cast<int>(o.whole("component", 0, 0, 1'000'000'000));
    o.range("window", s.from, s.to);
    s.name = o.text("name", s.component > 0 ? fmt::format("{} {}", s.quantity, s.component) : s.quantity);
    list.push_back(s);
  });
  return list;
}

std::string number_named(const SpecObject& o, std::string_view key, const std::string& name, const Spec& spec) {
  const std::vector<std::string> known = spec.number_names();
  if (std::find(known.begin(), known.end(), name) == known.end()) o.refuse(key, unknown_name("measure", name, known));
  return name;
}

/// A "where" must match at least one case.
Json where_of(const SpecObject& o, std::string_view key, const Spec& spec) {
  if (!o.has(key)) return Json::object();
  const Json& where = o.value(key);
  if (!where.is_object()) o.refuse(key, "expected an object { }");
  const bool is_met =
      std::any_of(spec.cases.begin(), spec.cases.end(), [&](const Case& c) { return matches(where, c); });
  if (!is_met) o.refuse(key, "no case of the grid has these values");
  return where;
}

std::vector<PlotSpec> plots_of(const SpecObject& root, const Spec& spec) {
  std::vector<PlotSpec> list;
  root.each("plots", [&](const std::string& pointer, const Json& entry) {
    const SpecObject o(root.source(), pointer, entry);
    o.only(names_of(plot_object().keys));
    PlotSpec plot;
    plot.title = o.text("title");
    plot.note = o.text("note");
    plot.x = o.text("x");
    plot.y = o.texts("y");
    for (const std::string& name : plot.y) number_named(o, "y", name, spec);
    plot.where = where_of(o, "where", spec);
    plot.is_log = o.truth("log", true);
    plot.slopes = o.numbers("slopes");
    if (plot.y.empty()) o.refuse("y", "expected the name of a measure");
    list.push_back(plot);
  });
  return list;
}

Expectation expectation_of(const SpecObject& o, const Spec& spec) {
  o.only(names_of(expectation_object().keys));
  Expectation e;
  int found = 0;
  for (const ExpectationName& kind : expectation_names) {
    if (!o.has(kind.name)) continue;
    ++found;
    e.kind = kind.kind;
    e.tolerance = o.number("tolerance", kind.tolerance);
    if (e.kind == ExpectationKind::value && o.value("value").is_array()) {
      e.values = o.numbers("value");
      continue;
    }
    if (e.kind != ExpectationKind::ranking) {
      e.value = o.number(kind.name, 0.0);
      continue;
    }
    o.each("ranking", [&](const std::string& pointer, const Json& entry) {
      std::vector<std::string> group;
      for (const Json& label : entry.is_array() ? entry : Json::array({entry})) {
        if (!label.is_string()) o.source().refuse(pointer, "expected a label or a list of labels");
        group.push_back(label.get<std::string>());
        const bool is_known =
            std::any_of(spec.cases.begin(), spec.cases.end(), [&](const Case& c) { return c.label == group.back(); });
        if (!is_known) o.source().refuse(pointer, fmt::format("no case has the label '{}'", group.back()));
      }
      e.ranking.push_back(group);
    });
  }
  if (found != 1)
    o.source().refuse(o.pointer(),
                      "expected exactly one of " + fmt::format("{}", fmt::join(names_in(expectation_names), ", ")));
  e.of = number_named(o, "of", o.text("of", spec.measures.empty() ? "" : spec.measures.front().name), spec);
  e.where = where_of(o, "where", spec);
  e.over = where_of(o, "over", spec);
  const auto count =
      std::count_if(spec.cases.begin(), spec.cases.end(), [&](const Case& c) { return matches(e.where, c); });
  if (!e.values.empty() && static_cast<long>(e.values.size()) != count)
    o.refuse("value", fmt::format("has {} numbers, but {} cases match", e.values.size(), count));
  e.per = o.number("per", 1.0);
  e.factor = o.number("factor", 0.0);
  if (o.has("factor") && !(e.kind == ExpectationKind::value && e.factor >= 1.0))
    o.refuse("factor", "expected a number of at least 1, beside 'value'");
  if (o.has("factor") && o.has("tolerance")) o.refuse("factor", "and 'tolerance' exclude each other");
  e.on_average = o.number("on_average", 0.0);
  if (o.has("on_average") && !(!e.values.empty() && e.on_average >= 1.0))
    o.refuse("on_average", "expected a number of at least 1, beside a list of values");
  if (o.has("on_average") && (o.has("factor") || o.has("tolerance")))
    o.refuse("on_average", "excludes 'factor' and 'tolerance': it judges all numbers together");
  if (o.has("x")) e.x = number_named(o, "x", o.text("x"), spec);
  if (o.has("x") && e.kind != ExpectationKind::ranking)
    o.refuse("x", "is for rankings only, which compare at equal values of this number");
  e.at_step = o.whole("at_step", -1, -1, max_whole);
  o.range("range", e.from, e.to);
  e.says = o.text("says");
  e.note = o.text("note");
  e.differs = o.text("differs");
  if (!e.differs.empty() && e.says.empty() && spec.says.empty())
    o.refuse("differs", "explains why the paper is contradicted; 'says' must give its statement");
  const std::string source = o.text("source", "expected");
  if (source != "printed" && source != "computed" && source != "expected")
    o.refuse("source", "expected \"printed\", \"computed\" or \"expected\"");
  e.source = source == "printed" ? Origin::printed : source == "computed" ? Origin::computed : Origin::expected;
  return e;
}

TrajectorySpec trajectories_of(const SpecObject& root, const Spec& spec) {
  if (!spec.analysis.empty()) root.refuse("trajectories", "are for runs only, not for analyses");
  TrajectorySpec out;
  out.outputs = root.texts("trajectories");
  if (out.outputs.empty()) root.refuse("trajectories", "expected names of outputs of the model");
  out.points = static_cast<int>(root.whole("trajectory_points", out.points, 2, 100'000));
  return out;
}

ReferenceOptions reference_of(const SpecObject& root) {
  ReferenceOptions out;
  if (!root.has("reference")) return out;
  const SpecObject o(root.source(), "/reference", root.value("reference"));
  o.only(names_of(reference_object().keys));
  out.tolerance = o.number("tolerance", out.tolerance);
  out.max_steps = o.whole("max_steps", out.max_steps, 1, max_whole);
  if (o.has("file")) {
    for (const char* word : {"tolerance", "max_steps"})
      if (o.has(word)) o.refuse(word, "is for exact solutions that are computed, not for those of a file");
    const io::Path path = root.source().folder() / o.required_text("file", "the path of a CSV file");
    located(root.source(), "/reference/file", [&] { out.external = motion_of_csv(path.string()); });
    const double accuracy = o.number("accuracy", 0.0);
    if (!(accuracy >= 0.0)) o.refuse("accuracy", "must not be negative");
    out.external_accuracy = {accuracy, accuracy, accuracy};
  } else if (o.has("accuracy")) {
    o.refuse("accuracy", "is for exact solutions of a file; one that is computed states its own");
  }
  return out;
}

/// The cases, and what their rows depend on.
void make_cases(const SpecObject& root, const OwnModels& own_models, const std::string& own_text, Spec& spec) {
  const io::ReadingList read;
  spec.reference = reference_of(root);
  spec.own_text = own_text;
  spec.own_text += words_of(read.files());
  auto grid = std::make_shared<Grid>(root, spec, own_models);
  if (spec.x.empty())
    spec.x = spec.analysis.empty() ? grid->abscissa() : find_analysis(spec.analysis).parameters.front().name;
  grid->check_runs();
  if (grid->size() <= Spec::max_listed)
    for (std::size_t i = 0; i < grid->size(); ++i) spec.cases.push_back(grid->at(i));
  spec.grid = std::move(grid);
  Json said = root.json();
  for (const char* word :
       {"$schema", "id", "title", "source", "says", "notes", "x", "quick", "plots", "expect", "mutations"})
    said.erase(word);
  std::string text = fmt::format("{} {} {} {}", version(), commit(), said.dump(), own_text);
  text += words_of(read.files());
  spec.key = fmt::format("{:016x}", fingerprint_of(text));
}

Mutation mutation_of(const SpecObject& o, const Spec& spec) {
  o.only(names_of(mutation_object().keys));
  Mutation m;
  m.name = o.required_text("name", "what is wrong with the settings");
  m.misses = o.texts("misses");
  for (const std::string& name : m.misses) {
    number_named(o, "misses", name, spec);
    const bool is_judged = std::any_of(spec.expectations.begin(), spec.expectations.end(),
                                       [&](const Expectation& e) { return e.of == name; });
    if (!is_judged) o.refuse("misses", fmt::format("no expectation is about '{}'", name));
  }
  m.cases = mutated_cases(o, spec, where_of(o, "where", spec));
  return m;
}

}  // namespace

Expectation::Expectation()
    : from(-std::numeric_limits<double>::infinity()), to(std::numeric_limits<double>::infinity()) {}

std::size_t Spec::size() const { return is_listed() || grid == nullptr ? cases.size() : grid->size(); }

Case Spec::case_at(std::size_t i) const { return is_listed() ? cases[i] : grid->at(i); }

Case Spec::outline(std::size_t i) const { return is_listed() ? cases[i] : grid->outline(i); }

bool Spec::is_ensemble() const { return grid != nullptr && (!is_listed() || grid->is_ensemble()); }

std::vector<std::string> Spec::coordinate_names() const {
  return grid == nullptr ? std::vector<std::string>() : grid->keys();
}

std::vector<std::string> Spec::number_names() const {
  std::vector<std::string> names;
  for (const Measure& m : measures) names.push_back(m.name);
  const std::vector<std::string>& others = analysis.empty() ? statistics_names() : find_analysis(analysis).outputs;
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

bool matches(const Json& where, const Case& c) {
  for (const auto& [key, wanted] : where.items()) {
    const Json value = key == "label" ? Json(c.label) : c.coordinates.contains(key) ? c.coordinates[key] : Json();
    const auto equals = [&, is_label = key == "label"](const Json& a) {
      if (is_label && a == c.family) return true;
      return a.is_number() && value.is_number() ? a.get<double>() == value.get<double>() : a == value;
    };
    if (wanted.is_array() ? std::none_of(wanted.begin(), wanted.end(), equals) : !equals(wanted)) return false;
  }
  return true;
}

Spec parse_spec(const io::JsonSource& source, const OwnModels& own_models, const std::string& own_text) {
  const SpecObject root(source, "", source.root());
  Spec spec;
  spec.id = root.text("id");
  spec.title = root.text("title", spec.id.empty() ? io::Path(root.source().name()).stem().string() : spec.id);
  spec.source = root.text("source");
  spec.says = root.text("says");
  spec.notes = root.texts("notes");
  spec.x = root.text("x");
  root.truth("quick", false);
  spec.repeat = static_cast<int>(root.whole("repeat", 1, 1, 1000));
  const std::string kind = root.text("kind", "runs");
  if (kind != "runs" && kind != "analysis") root.refuse("kind", "expected \"runs\" or \"analysis\"");
  if (kind == "analysis") {
    spec.analysis = root.required_text("analysis", "the name of an analysis");
    if (root.has("repeat")) root.refuse("repeat", "is for runs only, whose CPU times vary");
    located(source, "/analysis", [&] { find_analysis(spec.analysis); });
  } else {
    spec.measures = measures_of(root);
    spec.series = series_of(root);
  }
  if (root.has("trajectories")) spec.trajectories = trajectories_of(root, spec);
  make_cases(root, own_models, own_text, spec);
  if (!spec.is_listed())
    for (const char* word : {"plots", "expect", "mutations"})
      if (root.has(word))
        root.refuse(word,
                    fmt::format("is for studies of up to {} cases; this one has {}", Spec::max_listed, spec.size()));
  spec.plots = plots_of(root, spec);
  if (spec.analysis.empty())
    root.each("series", [&](const std::string& pointer, const Json& entry) {
      spec.series_where.push_back(where_of(SpecObject(source, pointer, entry), "where", spec));
    });
  root.each("expect", [&](const std::string& pointer, const Json& entry) {
    spec.expectations.push_back(expectation_of(SpecObject(source, pointer, entry), spec));
  });
  root.each("mutations", [&](const std::string& pointer, const Json& entry) {
    spec.mutations.push_back(mutation_of(SpecObject(source, pointer, entry), spec));
  });
  return spec;
}

}  // namespace kreisel::study
