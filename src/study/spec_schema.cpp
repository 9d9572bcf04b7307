#include "study/spec_schema.hpp"

#include <fmt/format.h>

#include "io/spec/run_spec.hpp"
#include "names.hpp"
#include "study/analysis.hpp"
#include "study/measure.hpp"
#include "study/sampling.hpp"

namespace kreisel::study {
namespace {

using io::Json;
using io::key;
using io::Key;
using io::list_of;
using io::names_of;
using io::ObjectInfo;
using io::remark;
using io::required;

Key text(std::string name, std::string meaning) { return key(std::move(name), "text", "", std::move(meaning)); }
Key number(std::string name, std::string meaning, std::string fallback = {}) {
  return {.field = {.name = std::move(name),
                    .meaning = std::move(meaning),
                    .is_optional = true,
                    .fallback = std::move(fallback)}};
}
Key whole(std::string name, double minimum, double maximum, std::string meaning) {
  return {.field = {.name = std::move(name),
                    .meaning = std::move(meaning),
                    .minimum = minimum,
                    .maximum = maximum,
                    .kind = FieldKind::whole}};
}
Key truth(std::string name, std::string meaning, std::string fallback) {
  return {.field = {.name = std::move(name),
                    .meaning = std::move(meaning),
                    .kind = FieldKind::truth,
                    .fallback = std::move(fallback)}};
}
Key component() { return whole("component", 0, 1e9, "which entry, from 1; 0: the norm of all"); }
Key window() { return key("window", "range", "s", "only between these times"); }
Key quantity() { return required(key("quantity", "quantity", "", "whose error or value is measured")); }

/// The schema of one value of a field in a grid. Any field accepts a text: "1e-3".
Json scalar_of(const Field& field) {
  Json schema = io::schema_of(field);
  schema.erase("description");
  const FieldKind kind = kind_of(field);
  if (kind == FieldKind::word || kind == FieldKind::text) return schema;
  if (kind == FieldKind::words) return {{"type", "string"}};
  if (kind == FieldKind::numbers) schema = {{"type", "number"}};
  return {{"anyOf", {schema, Json{{"type", "string"}}}}};
}

Json axis_of(const Json& scalar, std::string_view meaning) {
  return {{"description", meaning},
          {"anyOf",
           {scalar, Json{{"type", "array"}, {"items", scalar}, {"minItems", 1}}, io::reference_to("progression"),
            io::reference_to("distribution")}}};
}

/// Every field of runs may have one value or several.
Json with_fields(Json schema) {
  for (const io::RunField& f : io::run_fields())
    schema["properties"][f.field.name] =
        axis_of(scalar_of(f.field), io::schema_of(f.field)["description"].get<std::string>());
  return schema;
}

std::vector<std::string> joined(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const std::vector<std::string>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace

const ObjectInfo& grid_object() {
  static const ObjectInfo object{
      "run",
      "Fields of runs, each with one value or several; every combination is a case.",
      {key("model", "axis", "", "name of a model, or path of a model file"),
       key("group", "axis", "", "of the formulation"),
       key("set", "settings", "", "parameters of the model, then of the method"), text("label", "name of the curve"),
       key("step_count", "axis", "", "steps over the whole interval, instead of step"),
       key("tolerance", "axis", "", "rtol and atol together")}};
  return object;
}

const ObjectInfo& study_object() {
  static const ObjectInfo object{
      "study",
      "A grid of runs or of analyses, what is measured of each, what is expected.",
      {remark("$schema", "this schema, for editors"),
       text("id", "of a published figure"),
       text("title", "of the report"),
       text("source", "of the figure"),
       text("says", "what the paper says"),
       key("notes", "names", "", "for the report"),
       {.field = {.name = "kind", .meaning = "of the cases", .words = {"runs", "analysis"}, .kind = FieldKind::word}},
       text("analysis", "name of the analysis"),
       text("x", "abscissa: a measure, a count or a coordinate; default: the step or the tolerance"),
       truth("quick", "takes a second or two", "false"),
       whole("repeat", 1, 1000,
             "runs of each case: seconds is the median of their CPU times, seconds_low and _high the smallest and "
             "largest"),
       list_of(key("measures", "measure", "", "of each run")),
       list_of(key("series", "series", "", "curves over time")),
       list_of(key("plots", "plot", "", "of the report")),
       list_of(key("expect", "expectation", "", "what a correct program gives")),
       list_of(key("mutations", "mutation", "", "wrong settings that the expectations must notice")),
       list_of(key("runs", "run", "", "one grid each")),
       {.field = {.name = "sample",
                  .meaning = "how keys with a distribution are drawn together",
                  .words = kreisel::names_of<SampleKind>(),
                  .kind = FieldKind::word}},
       whole("points", 1, 2e7, "of the sample; saltelli: times the number of drawn keys and two"),
       whole("seed", 0, 1e15, "of the sample; 0: the plain Sobol sequence"),
       text("table", "a CSV file with one case per line; its columns are fields of runs or parameters"),
       key("trajectories", "names", "", "outputs whose curves over time are kept of every run"),
       whole("trajectory_points", 2, 1e5, "times of each, evenly spaced"),
       list_of(key("cases", "case", "", "of an analysis, one grid each over its parameters")),
       key("reference", "reference", "", "of the exact solution")}};
  return object;
}

const ObjectInfo& measure_object() {
  static const ObjectInfo object{
      "measure",
      "A number of each run. Short form as a text: \"lambda max\", \"q end relative\", \"q local largest\".",
      {text("name", "default: the quantity"),
       quantity(),
       {.field =
            {.name = "over", .meaning = "which points", .words = kreisel::names_of<Span>(), .kind = FieldKind::word}},
       window(),
       key("relative", "relative", "", "divided by the norm of the exact value, or of the computed one"),
       component(),
       truth("signed", "keep the sign of a single entry", "false"),
       {.field = {.name = "entries",
                  .meaning = "norm of several entries",
                  .words = {"euclidean", "largest"},
                  .kind = FieldKind::word}}}};
  return object;
}

const ObjectInfo& series_object() {
  static const ObjectInfo object{"series",
                                 "A curve over time.",
                                 {text("name", "default: the quantity"), quantity(), component(), window(),
                                  key("where", "where", "", "only these cases")}};
  return object;
}

const ObjectInfo& plot_object() {
  static const ObjectInfo object{
      "plot",
      "A figure of the report.",
      {text("title", "above it"), text("note", "below it"),
       text("x", "a measure, a count or a coordinate; default: the abscissa of the study"),
       required(key("y", "names", "", "measures")), key("where", "where", "", "only these cases"),
       truth("log", "logarithmic axes", "true"),
       list_of(number("slopes", "that are drawn; default: whole numbers near the observed orders"))}};
  return object;
}

const ObjectInfo& expectation_object() {
  static const ObjectInfo object = [] {
    ObjectInfo e{"expectation", "Exactly one of the kinds, and what it is about.", {}};
    for (const ExpectationName& kind : expectation_names) {
      Key k = number(std::string(kind.name), std::string(kind.meaning));
      if (kind.kind == ExpectationKind::value)
        k = key(std::string(kind.name), "numbers", "", std::string(kind.meaning));
      if (kind.kind == ExpectationKind::ranking)
        k = list_of(key(std::string(kind.name), "names", "", std::string(kind.meaning)));
      e.keys.push_back(k);
    }
    for (const Key& k :
         {text("of", "a measure or a count; default: the first measure"),
          key("where", "where", "", "coordinates that must agree"),
          key("over", "where", "", "of a ratio: the cases to divide by"),
          number("tolerance", "absolute for orders, relative otherwise", "by kind"),
          number("factor", "instead of a tolerance: largest factor between the value and the expected one"),
          number("on_average", "of a list of values: largest factor of the geometric mean of value / expected"),
          number("per", "the number is divided by this first", "1"),
          text("x", "of a ranking: compare at equal values of this measure or count; default: the abscissa"),
          whole("at_step", -1, 1e15, "where the maximum must lie; -1: anywhere"),
          key("range", "range", "", "abscissae that count"), text("says", "the paper's words or numbers"),
          text("differs", "why the expectation contradicts them: the verdict is then 'differs, explained'"),
          Key{.field = {.name = "source",
                       .meaning = "where the numbers come from: the paper, or our own computation",
                       .words = {"expected", "printed", "computed"},
                       .kind = FieldKind::word}},
          text("note", "for the report")})
      e.keys.push_back(k);
    return e;
  }();
  return object;
}

const ObjectInfo& mutation_object() {
  static const ObjectInfo object{
      "mutation",
      "Wrong settings: at least one expectation must be missed with them ('kreisel reproduce --mutations').",
      {required(text("name", "what is wrong")),
       required(key("change", "where", "", "fields of runs, and parameters under 'set', with one value each")),
       key("where", "where", "", "only these cases"),
       key("misses", "names", "", "an expectation about one of these numbers must be missed; default: any")}};
  return object;
}

const ObjectInfo& reference_object() {
  static const ObjectInfo object{
      "reference",
      "The exact solution: how it is computed, or where it stands.",
      {number("tolerance", "of the exact solution"), whole("max_steps", 1, 1e15, "largest number of steps"),
       text("file", "a CSV with columns t, q1, ..., v1, ..., lambda1, ... and rows at the times of the runs, instead"),
       number("accuracy", "of the numbers in the file; smaller errors are marked", "0")}};
  return object;
}

const ObjectInfo& progression_object() {
  static const ObjectInfo object = [] {
    const auto positive = [](std::string name, std::string meaning) {
      return required(
          {.field = {
               .name = std::move(name), .meaning = std::move(meaning), .minimum = 0.0, .minimum_is_excluded = true}});
    };
    return ObjectInfo{
        "progression",
        "Values in geometric progression.",
        {positive("from", "first value"), positive("to", "last value"), required(whole("points", 2, 1e6, "how many"))}};
  }();
  return object;
}

const ObjectInfo& distribution_object() {
  static const ObjectInfo object{
      "distribution",
      "What a sample draws a value from; exactly one of these.",
      {key("uniform", "range", "", "from, to"), key("normal", "range", "", "mean, standard deviation"),
       key("lognormal", "range", "", "mean and standard deviation of the logarithm")}};
  return object;
}

Json spec_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "kreisel study"}};
  schema.update(io::schema_of(study_object()));
  schema.erase("additionalProperties");
  // The cases of an analysis have its parameters instead of fields of runs.
  std::vector<std::string> of_runs = names_of(grid_object().keys), of_analyses{"label"};
  for (const io::RunField& f : io::run_fields()) of_runs.push_back(f.field.name);
  for (const AnalysisInfo& info : analyses())
    for (const Field& field : info.parameters) of_analyses.push_back(field.name);
  const std::vector<std::string> own = names_of(study_object().keys);
  const auto only = [](const std::vector<std::string>& names) { return Json{{"propertyNames", {{"enum", names}}}}; };
  schema["if"] = {{"properties", {{"kind", {{"const", "analysis"}}}}}, {"required", {"kind"}}};
  schema["then"] = only(joined({own, of_analyses}));
  schema["then"]["required"] = {"analysis"};
  for (const std::string& name : of_analyses)
    if (name != "label") schema["then"]["properties"][name] = io::reference_to("axis");
  schema["else"] = only(joined({own, of_runs}));
  schema["else"]["properties"] = with_fields(io::schema_of(grid_object()))["properties"];
  Json& defs = schema["$defs"];
  const Json any_number{{"type", "number"}};
  defs["text"] = {{"type", "string"}};
  defs["scalar"] = {{"type", {"string", "number", "boolean"}}};
  defs["axis"] = {
      {"description", "a value, a list of values, values in geometric progression, or a distribution"},
      {"anyOf",
       {io::reference_to("scalar"), Json{{"type", "array"}, {"items", io::reference_to("scalar")}, {"minItems", 1}},
        io::reference_to("progression"), io::reference_to("distribution")}}};
  defs["progression"] = io::schema_of(progression_object());
  defs["distribution"] = io::schema_of(distribution_object());
  defs["distribution"]["minProperties"] = defs["distribution"]["maxProperties"] = 1;
  defs["settings"] = {{"type", "object"}, {"additionalProperties", io::reference_to("axis")}};
  defs["quantity"] = {
      {"anyOf", {Json{{"enum", names_in(quantities())}}, Json{{"type", "string"}, {"pattern", "^output\\..+"}}}}};
  defs["range"] = {{"type", "array"}, {"items", any_number}, {"minItems", 2}, {"maxItems", 2}};
  defs["names"] = {{"anyOf", {io::reference_to("text"), Json{{"type", "array"}, {"items", io::reference_to("text")}}}}};
  defs["numbers"] = {{"anyOf", {any_number, Json{{"type", "array"}, {"items", any_number}}}}};
  defs["where"] = {{"type", "object"}};
  defs["mutation"] = io::schema_of(mutation_object());
  defs["relative"] = {{"enum", {true, false, "computed"}}};
  defs["run"] = with_fields(io::schema_of(grid_object()));
  defs["case"] = {{"type", "object"}, {"properties", schema["then"]["properties"]}, {"additionalProperties", false}};
  defs["case"]["properties"]["label"] = io::reference_to("text");
  defs["measure"] = {{"anyOf", {Json{{"type", "string"}}, io::schema_of(measure_object())}}};
  defs["series"] = io::schema_of(series_object());
  defs["plot"] = io::schema_of(plot_object());
  defs["expectation"] = io::schema_of(expectation_object());
  Json one = Json::array();
  for (const ExpectationName& kind : expectation_names) one.push_back({{"required", {kind.name}}});
  defs["expectation"]["oneOf"] = one;
  defs["reference"] = io::schema_of(reference_object());
  return schema;
}

std::string spec_reference() {
  std::string out = "## Study file\n\n";
  for (const ObjectInfo* object :
       {&study_object(), &grid_object(), &progression_object(), &distribution_object(), &measure_object(),
        &series_object(), &plot_object(), &expectation_object(), &mutation_object(), &reference_object()})
    out += fmt::format("### Object `{}`\n\n{}\n\n{}\n", object->name, object->meaning, io::table_of(object->keys));
  return out;
}

}  // namespace kreisel::study
