#include "io/model_file/model_file.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "io/json/field_json.hpp"
#include "io/model_file/model_reader.hpp"
#include "io/spec/run_spec.hpp"

namespace kreisel::io {

ModelFile ModelReader::read() {
  const Json& file_root = source_.root();
  if (!is_object("", file_root, "a model: {\"bodies\": [...], ...}")) finish();
  check_keys("", file_root, names_of(model_object().keys));
  composed_ = composed(source_, options_.parameters);
  const Json& root = composed_.root.is_null() ? file_root : composed_.root;
  read_parameters(root);
  parameters_.note_use(composed_.used);
  for (const std::string& problem : composed_.problems) {
    ++problem_count_;
    if (problems_.size() < max_problems) problems_.push_back(problem);
  }
  if (!composed_.problems.empty()) finish();  // names of parts are missing, and every use of them would be reported
  warnings_.insert(warnings_.end(), composed_.warnings.begin(), composed_.warnings.end());
  declare_names(root);
  declare_settable(root);
  if (const Json* name = find(root, "name")) name_text("/name", *name, mechanism_.name);
  if (const Json* gravity = find(root, "gravity")) vector("/gravity", *gravity, mechanism_.gravity);
  read_group(root);
  if (options_.base != nullptr) {
    mechanism_.nodes = options_.base->nodes;
    mechanism_.elements = options_.base->elements;
  }
  read_bodies(root);
  read_materials(root);
  read_sections(root);
  read_rods(root);
  make_settable(root);
  read_joints(root);
  read_inputs(root);
  define_functions();
  read_states(root);
  read_outputs(root);
  read_forces(root);
  read_events(root);
  place_joints();
  start_bodies(root);
  make_laws();
  start_states(root);
  if (problem_count_ == 0) warn_about_limits();
  make_outputs();
  make_events();
  if (problem_count_ == 0) suspect_degrees_in_names();
  double t_end = 1.0;
  read_simulation(root, t_end);
  finish();
  warn_about_rods(t_end);

  ModelFile file;
  auto assembly = std::make_shared<multibody::Assembly>(std::move(mechanism_));
  assembly = with_events(std::move(assembly));
  finish();
  file.model.name = assembly->mechanism().name;
  file.model.group = lie::name_of(assembly->common_group().value_or(assembly->mechanism().group));
  file.model.start = assembly->start(t_end);
  file.assembly = assembly;
  file.model.system = assembly;
  if (composed_.has_includes) file.flat = std::make_shared<const Json>(flat_model());
  for (const std::string& name : parameters_.names().list()) file.parameters[name] = parameters_.value(name);
  std::set<std::string> fixed;  // with a single possible value, as flat_model writes them
  for (const ParameterInfo& info : parameters_in(root))
    if (info.minimum == info.maximum) fixed.insert(info.name);
  for (const std::string& name : parameters_.unused())
    if (!fixed.contains(name)) warn(below("/parameters", name), fmt::format("parameter '{}' is not used", name));
  for (const std::string& name : names_.unused_inputs())
    warn(below("/inputs", name), fmt::format("input '{}' is not used", name));
  file.model.warnings = warnings_;
  check_consistency(*assembly, file.model.start);
  finish();
  return file;
}

Json ModelReader::flat_model() const {
  Json root = composed_.root;
  for (const std::string& name : composed_.fixed) {
    if (!root.contains("parameters") || !root["parameters"].contains(name)) continue;
    Json& entry = root["parameters"][name];
    const double value = parameters_.value(name);
    if (!entry.is_object()) entry = {{"value", value}};
    entry["value"] = entry["min"] = entry["max"] = value;
    entry["comment"] = "the positions in this file were computed with this value, which cannot be changed alone";
  }
  return root;
}

void ModelReader::read_parameters(const Json& root) {
  parameters_.read(root, options_.parameters,
                   [&](std::string_view pointer, std::string_view message) { complain(pointer, message); });
  for (const ParameterInfo& info : parameters_in(root))
    if (const std::string doubt = suspicion_of_degrees(parameters_.value(info.name), info.unit,
                                                       info.fallback.empty() ? Json{} : Json(info.fallback));
        !doubt.empty()) {
      warn(below("/parameters", info.name), doubt);
      doubted_.insert(info.name);
      doubted_values_.push_back(std::abs(parameters_.value(info.name)));
    }
  const Json* parameters = find(root, "parameters");
  if (parameters == nullptr || !parameters->is_object()) return;
  for (const auto& item : parameters->items()) {
    const Json* value = item.value().is_object() ? find(item.value(), "value") : &item.value();
    if (value == nullptr || !is_formula(*value) || options_.parameters.is_set(item.key())) continue;
    try {
      suspect_degrees_in(below("/parameters", item.key()), formula::Formula(formula_in(*value), parameters_.names()));
    } catch (const InvalidInput&) {  // already reported
    }
  }
}

void ModelReader::read_simulation(const Json& root, double& t_end) {
  const Json* given = find(root, "simulation");
  if (given == nullptr || !is_object("/simulation", *given, "an object {\"t_end\": ...}")) return;
  std::vector<std::string> known{"comment"};
  for (const RunField& field : run_fields()) known.push_back(field.field.name);
  check_keys("/simulation", *given, known);
  for (const RunField& field : run_fields()) {
    const Json* value = find(*given, field.field.name);
    if (value == nullptr) continue;
    guarded(below("/simulation", field.field.name), [&] {
      Json given_value;
      if (!resolved(below("/simulation", field.field.name), field.field, *value, given_value)) return;
      const Value read = value_in(field.field, given_value);
      if (field.field.name == "t_end") t_end = std::get<double>(read);
    });
  }
  if (find(*given, "step") != nullptr && (find(*given, "rtol") != nullptr || find(*given, "atol") != nullptr))
    complain("/simulation/step",
             "cannot be combined with rtol or atol; a run has either constant steps or error control");
  if (!(t_end > 0.0)) complain("/simulation/t_end", fmt::format("is {}, expected a positive time [s]", t_end));
}

std::vector<models::Suggestion> suggestions_in(const JsonSource& source, const ParameterValues& given) {
  std::vector<models::Suggestion> list;
  const Json& root = source.root();
  if (!root.is_object()) return list;
  if (root.contains("rods") && root["rods"].is_array())
    for (std::size_t i = 0; i < root["rods"].size(); ++i)
      if (const Json& rod = root["rods"][i]; rod.is_object() && rod.value("static_start", Json(false)) == Json(true)) {
        list.push_back({"start", std::string("static"), source.place(below(below("/rods", i), "static_start"))});
        break;
      }
  if (!root.contains("simulation") || !root["simulation"].is_object()) return list;
  ModelParameters parameters;
  const Composed whole = root.contains("include") ? composed(source, given) : Composed{};
  parameters.read(whole.root.is_null() ? root : whole.root, given, [](std::string_view, std::string_view) {});
  const auto resolved = [&](const Json& value) -> Json {
    if (!is_formula(value)) return value;
    return multibody::Expression(formula::Formula(formula_in(value), parameters.names()), parameters.values())
        .at(0.0)
        .value;
  };
  for (const RunField& field : run_fields()) {
    const auto found = root["simulation"].find(field.field.name);
    if (found == root["simulation"].end()) continue;
    try {
      Json value = kind_of(field.field) == FieldKind::text ? *found : resolved(*found);
      if (value.is_array())
        for (Json& entry : value) entry = resolved(entry);
      list.push_back(
          {field.field.name, value_in(field.field, value), source.place(below("/simulation", field.field.name))});
    } catch (const InvalidInput&) {  // the reader reports it
    }
  }
  return list;
}

ModelFile read_model(const JsonSource& source, const ModelFileOptions& options) {
  return ModelReader(source, options).read();
}

ModelFile read_model_file(const Path& path, const ModelFileOptions& options) {
  return read_model(JsonSource::read(path, "model file"), options);
}

}  // namespace kreisel::io
