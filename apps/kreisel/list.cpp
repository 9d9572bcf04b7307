// kreisel list: everything that has a name.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>

#include "command.hpp"
#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_schema.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "kreisel/groups.hpp"
#include "lie/group_info.hpp"
#include "method/catalogue.hpp"
#include "method/correction.hpp"
#include "model_output.hpp"
#include "solve/formulation.hpp"
#include "study/figures.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

using io::Json;

Json parameters_of(const std::vector<ParameterInfo>& infos) {
  const auto bound = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json list = Json::array();
  for (const ParameterInfo& info : infos) {
    Json entry{{"name", info.name}, {"meaning", info.meaning}};
    if (!info.words.empty()) {
      entry["default"] = info.words.front();
      entry["words"] = info.words;
    } else {
      entry["default"] = info.is_optional ? Json(nullptr) : Json(info.default_number);
      entry["minimum"] = bound(info.minimum);
      entry["maximum"] = bound(info.maximum);
    }
    list.push_back(entry);
  }
  return list;
}

Json models() {
  Json list = Json::array();
  for (const models::ModelInfo& info : io::model_catalogue())
    list.push_back({{"name", info.name},
                    {"summary", info.summary},
                    {"groups", info.groups},
                    {"parameters", parameters_of(info.parameters)}});
  return list;
}

Json methods() {
  Json list = Json::array();
  for (const method::MethodInfo& info : method::catalogue())
    list.push_back({{"name", info.name},
                    {"summary", info.summary},
                    {"min_order", info.min_order},
                    {"max_order", info.max_order},
                    {"orders", info.orders()},
                    {"default_order", info.default_order},
                    {"formulations", info.formulations},
                    {"adaptive_formulations", info.variable_formulations},
                    {"has_corrections", info.has_corrections},
                    {"parameters", parameters_of(info.parameters)}});
  return list;
}

Json groups() {
  Json list = Json::array();
  for (const std::string& name : lie::group_names())
    list.push_back({{"name", name}, {"summary", lie::info_of(lie::group_named(name)).summary}});
  return list;
}

Json formulations() {
  Json list = Json::array();
  for (const solve::FormulationInfo& info : solve::formulations())
    list.push_back({{"name", info.name}, {"summary", info.summary}});
  return list;
}

Json corrections() {
  Json list = Json::array();
  for (const std::string& name : method::correction_names()) list.push_back({{"name", name}, {"summary", ""}});
  return list;
}

Json options() {
  Json list = Json::array();
  for (const io::RunField& f : io::run_fields()) {
    Json entry{{"name", f.field.name},
               {"summary", run::described(f.field)},
               {"unit", f.field.unit},
               {"schema", io::schema_of(f.field)}};
    list.push_back(entry);
  }
  return list;
}

Json element(const io::ObjectInfo& object) {
  Json keys = Json::array();
  for (const io::Key& key : object.keys)
    keys.push_back({{"name", key.field.name},
                    {"meaning", key.field.meaning},
                    {"unit", key.field.unit},
                    {"required", key.is_required}});
  return {{"name", object.name}, {"summary", object.meaning}, {"keys", keys}};
}

template <bool are_drivers>
Json joints() {
  Json list = Json::array();
  for (const multibody::JointInfo& info : multibody::joint_catalogue())
    if (info.is_driver == are_drivers) list.push_back(element(io::object_of(info)));
  if (!are_drivers) list.push_back(element(io::coupler_object()));
  return list;
}

Json forces() {
  Json list = Json::array();
  for (const multibody::ForceInfo& info : multibody::force_catalogue()) list.push_back(element(io::object_of(info)));
  for (const multibody::LawInfo& info : multibody::law_catalogue()) list.push_back(element(io::object_of(info)));
  return list;
}

Json figures() {
  Json list = Json::array();
  for (const study::Figure& figure : study::figures())
    list.push_back({{"name", figure.id}, {"summary", study::summary_of(figure).title}});
  return list;
}

Json studies() {
  Json list = Json::array();
  for (const std::string& name : study_names()) {
    const io::Path file = study_file(name);
    list.push_back({{"name", name},
                    {"summary", io::JsonSource::read(file, "study").root().value("title", "")},
                    {"file", file.string()}});
  }
  return list;
}

Json statuses() {
  Json list = Json::array();
  for (const io::Ending& ending : io::endings())
    list.push_back({{"name", ending.id}, {"summary", ending.meaning}, {"exit_code", ending.exit_code}});
  return list;
}

struct Topic {
  const char* name;
  Json (*entries)();
};
constexpr Topic topics[] = {
    {"models", models},           {"methods", methods}, {"groups", groups},        {"formulations", formulations},
    {"corrections", corrections}, {"options", options}, {"joints", joints<false>}, {"drivers", joints<true>},
    {"forces", forces},           {"figures", figures}, {"studies", studies},      {"statuses", statuses}};

std::string joined(const Json& words) {
  return fmt::format("{}", fmt::join(words.get<std::vector<std::string>>(), ", "));
}

/// Everything but name and summary, a line per field.
void print_details(const Json& entry) {
  if (entry.contains("groups")) fmt::print("  {:<20} groups: {}\n", "", joined(entry["groups"]));
  if (entry.contains("formulations")) {
    fmt::print("  {:<20} {}, default {}; {}\n", "",
               method::find_method(entry["name"].get<std::string>()).orders_in_words(),
               entry["default_order"].get<int>(), joined(entry["formulations"]));
    fmt::print(
        "  {:<20} error control: {}\n", "",
        entry["adaptive_formulations"].empty() ? "none, constant steps only" : joined(entry["adaptive_formulations"]));
  }
  if (entry.contains("keys")) {
    std::vector<std::string> keys;
    for (const Json& key : entry["keys"]) {
      const std::string unit =
          key["unit"].get<std::string>().empty() ? "" : fmt::format(" [{}]", key["unit"].get<std::string>());
      keys.push_back(key["name"].get<std::string>() + unit + (key["required"].get<bool>() ? "" : "?"));
    }
    fmt::print("  {:<20} {}\n", "", fmt::join(keys, ", "));
  }
  if (entry.contains("exit_code")) fmt::print("  {:<20} exit code {}\n", "", entry["exit_code"].get<int>());
  for (const Json& parameter : entry.value("parameters", Json::array())) {
    const std::string value = parameter["default"].is_null() ? "unset"
                              : parameter["default"].is_string()
                                  ? parameter["default"].get<std::string>()
                                  : fmt::format("{}", parameter["default"].get<double>());
    const std::string choice = parameter.contains("words") ? fmt::format(" ({})", joined(parameter["words"])) : "";
    fmt::print("  {:<20} {}={}: {}{}\n", "", parameter["name"].get<std::string>(), value,
               parameter["meaning"].get<std::string>(), choice);
  }
}

void print(const Topic& topic) {
  const Json entries = topic.entries();
  fmt::print("{}\n", coloured(topic.name, Colour::bold, stdout));
  if (entries.empty()) fmt::print("  none in this version\n");
  for (const Json& entry : entries) {
    fmt::print("  {:<20} {}\n", entry["name"].get<std::string>(), entry["summary"].get<std::string>());
    print_details(entry);
  }
}

void print_model(const Json& names) {
  for (const auto& item : names.items()) {
    if (!item.value().is_array() || item.value().empty()) continue;
    fmt::print("{}\n", coloured(item.key(), Colour::bold, stdout));
    for (const Json& entry : item.value()) {
      std::string line;
      if (entry.contains("type")) line += entry["type"].get<std::string>();
      if (entry.contains("bodies"))
        line += fmt::format(" {}", fmt::join(entry["bodies"].get<std::vector<std::string>>(), ", "));
      if (entry.contains("mass")) line += fmt::format("{} kg", entry["mass"].get<double>());
      if (entry.contains("value"))
        line += entry["value"].is_string() ? entry["value"].get<std::string>()
                : entry["value"].is_null() ? "-"
                                           : fmt::format("{}", entry["value"].get<double>());
      const std::string unit = entry.value("unit", ""), meaning = entry.value("meaning", "");
      if (entry.contains("components"))
        line += fmt::format("({})", fmt::join(entry["components"].get<std::vector<std::string>>(), ", "));
      if (!unit.empty()) line += fmt::format("{}[{}]", line.empty() ? "" : " ", unit);
      if (!meaning.empty()) line += fmt::format("{}{}", line.empty() ? "" : "  ", meaning);
      if (!entry.value("active", true)) line += "  (inactive at the start)";
      fmt::print("  {:<20} {}\n", entry["name"].get<std::string>(), line);
    }
  }
}

class List final : public Command {
 public:
  explicit List(CLI::App& parser) : Command(parser) {
    parser
        .add_option("WHAT", topic_,
                    fmt::format("{} (default: everything); or a model or model file, for its own names",
                                fmt::join(list_topics(), ", ")))
        ->type_name("");
    parser.add_flag("--json", is_json_, "print an array of objects, or one object with everything");
    parser.footer("Examples:\n  kreisel list models\n  kreisel list methods --json\n  kreisel list mechanism.json");
  }

  int execute(const Invocation& invocation) override {
    Json everything = Json::object();
    bool is_found = false;
    for (const Topic& topic : topics) {
      if (!topic_.empty() && topic_ != topic.name) continue;
      is_found = true;
      if (invocation.wants_json)
        everything[topic.name] = topic.entries();
      else
        print(topic);
    }
    if (!is_found && is_model(topic_)) return show_model(invocation);
    if (!is_found) throw InvalidInput(unknown_name("list", topic_, list_topics()));
    if (invocation.wants_json) fmt::print("{}", io::to_text(topic_.empty() ? everything : everything[topic_]));
    return success;
  }

 private:
  static bool is_model(const std::string& name) {
    return name.find('/') != std::string::npos || name.ends_with(".json") ||
           std::ranges::count(io::model_names(), name) > 0;
  }
  int show_model(const Invocation& invocation) const {
    io::RunSpec spec;
    spec.model = topic_;
    const Json names = names_of_model(spec);
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(names));
    else
      print_model(names);
    return success;
  }

  std::string topic_;
  bool is_json_ = false;
};

}  // namespace

std::vector<std::string> list_topics() {
  std::vector<std::string> names;
  for (const Topic& topic : topics) names.emplace_back(topic.name);
  return names;
}

std::unique_ptr<Command> make_list(CLI::App& program) {
  return std::make_unique<List>(*program.add_subcommand("list", "Show models, methods, groups and other names"));
}

}  // namespace kreisel::apps
