#include "io/model_file/model_compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/text.hpp"
#include "io/model_file/mesh_file.hpp"
#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_reader.hpp"
#include "io/model_file/model_repeat.hpp"
#include "io/model_file/model_schema.hpp"
#include "kreisel/error.hpp"
#include "multibody/expression.hpp"

namespace kreisel::io {
namespace {

using Origin = Composed::Origin;
using Source = std::shared_ptr<const JsonSource>;

constexpr std::array<const char*, 8> listed_sections{"bodies", "materials", "sections", "rods",
                                                     "joints", "drivers",   "forces",   "events"};
constexpr std::array<const char*, 4> named_sections{"parameters", "inputs", "states", "outputs"};
constexpr std::size_t max_files = 20, max_includes = 10'000, max_entries = 1'000'000, max_texts = 20;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'); }
bool is_number(char c) { return (c >= '0' && c <= '9') || c == '.'; }

const Json* find(const Json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}
std::string text_in(const Json& object, std::string_view key) {
  const Json* value = object.is_object() ? find(object, key) : nullptr;
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}
/// The entries of a section, a list or an object; empty where the section is absent or invalid.
const Json& section_of(const Json& root, const char* key) {
  static const Json none;
  const Json* section = find(root, key);
  return section == nullptr ? none : *section;
}

/// One file with what it includes, in its own names.
struct Part {
  Json root;
  std::map<std::string, Origin, std::less<>> origins;
  formula::Constants values;  ///< of its parameters, those of its own parts included
  formula::Names names;
  std::set<std::string> used;
  std::map<std::pair<std::string, std::string>, std::string> taken;  ///< pointers by kind and name
  std::set<std::string> left_out;                                    ///< bodies that others replace
};

/// Where a part lies in the file that includes it.
struct PartPose {
  Vector3 x = Vector3::Zero();
  Matrix3 R = Matrix3::Identity();
  bool turns = false, moves = false;
  std::string ground = "ground";                ///< the body that is the ground of the part
  std::map<std::string, std::string> bodies{};  ///< of the whole, by the name of the body that they replace
};

Json as_json(const Vector3& x) { return {x[0], x[1], x[2]}; }
Json as_json(const Matrix3& R) {
  Json rows = Json::array();
  for (int i = 0; i < 3; ++i) rows.push_back({R(i, 0), R(i, 1), R(i, 2)});
  return {{"matrix", rows}};
}

/// The description of an entry of a section; nullptr: unknown, which the reader reports.
const ObjectInfo* object_of_entry(std::string_view section, const Json& entry) {
  if (section == "bodies") return &body_object();
  if (section == "materials") return &material_object();
  if (section == "sections") return &section_object();
  if (section == "rods") return &rod_object();
  if (section == "events") return &event_object();
  if (section == "inputs") return &input_object();
  if (section == "states") return &state_object();
  if (section == "outputs") return &output_object();
  const std::string type = text_in(entry, "type");
  if (section == "joints" && type == "coupler") return &coupler_object();
  static std::map<std::pair<std::string, std::string>, ObjectInfo> known = [] {
    std::map<std::pair<std::string, std::string>, ObjectInfo> all;
    for (const JointInfo& info : multibody::joint_catalogue())
      all[{info.is_driver ? "drivers" : "joints", std::string(info.name)}] = object_of(info);
    for (const ForceInfo& info : multibody::force_catalogue())
      all[{"forces", std::string(info.name)}] = object_of(info);
    for (const multibody::LawInfo& info : multibody::law_catalogue())
      all[{"forces", std::string(info.name)}] = object_of(info);
    return all;
  }();
  const auto found = known.find({std::string(section), type});
  return found == known.end() ? nullptr : &found->second;
}

std::optional<Placement> placement_of_entry(std::string_view section, const Json& entry) {
  const std::string type = text_in(entry, "type");
  if (section == "joints" || section == "drivers")
    for (const JointInfo& info : multibody::joint_catalogue())
      if (info.name == type && info.is_driver == (section == "drivers")) return placement_of(info);
  if (section == "forces")
    for (const ForceInfo& info : multibody::force_catalogue())
      if (info.name == type) return placement_of(info);
  return {};
}

/// The names of a part that formulas may use, and their names in the including file.
class Scope {
 public:
  Scope(const Json& root, std::string prefix) : prefix_(std::move(prefix)) {
    for (const char* key : named_sections)
      for (const auto& item : section_of(root, key).items())
        if (section_of(root, key).is_object()) add(item.key(), key, item.value());
    for (const Json& force : section_of(root, "forces"))
      if (const std::string name = text_in(force, "name");
          !name.empty() && formula::problem_with_name(name).empty() && !own_.contains(name))
        add(name, "forces", force);
    for (const char* own : {"x", "v"}) known_.add(own);
  }

  std::string outside(const std::string& name) const { return prefix_ + name; }
  const std::string& prefix() const { return prefix_; }
  bool has(const std::string& name) const { return own_.contains(name); }

  /// A formula in the names of the including file. Throws InvalidInput for anything else.
  std::string renamed(std::string_view text) const {
    const formula::Formula check(text, known_);
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at + 1;
      if (is_number(text[at])) {
        double value = 0.0;
        end = static_cast<std::size_t>(std::from_chars(text.data() + at, text.data() + text.size(), value).ptr -
                                       text.data());
        end = std::max(end, at + 1);
      } else if (is_word(text[at])) {
        while (end < text.size() && (is_word(text[end]) || (text[end] == '.' && end + 1 < text.size() &&
                                                            is_word(text[end + 1]) && !is_number(text[end + 1]))))
          ++end;
        const std::string word(text.substr(at, end - at));
        if (own_.contains(word) || own_.contains(word.substr(0, word.rfind('.')))) out += prefix_;
      }
      out += text.substr(at, end - at);
      at = end;
    }
    return out;
  }

 private:
  void add(const std::string& name, std::string_view section, const Json& value) {
    own_.insert(name);
    known_.add(name);
    std::vector<std::string> words{name};
    if (section == "outputs" && value.is_object())
      for (const char* vector : {"position", "velocity", "acceleration", "rotation", "reaction"})
        if (value.contains(vector)) words = {name, name + ".x", name + ".y", name + ".z"};
    for (const auto& [kind, components] : {std::pair{"section_force", section_force_components()},
                                           std::pair{"section_strain", section_strain_components()}})
      if (section == "outputs" && value.is_object() && value.contains(kind))
        for (const std::string& component : components) words.push_back(name + "." + component);
    for (const std::string& word : words)
      for (const char* rate : {"", "'", "''"}) known_.add(word + rate, false);
  }

  std::string prefix_;
  std::set<std::string> own_;
  formula::Names known_{"t"};
};

class Composer {
 public:
  Composer(const JsonSource& source, const ParameterValues& given) : top_(source), given_(given) {}

  Composed all() {
    Composed out;
    const Json& root = top_.root();
    const auto include = root.is_object() ? root.find("include") : root.end();
    out.has_includes = root.is_object() && include != root.end();
    if (!root.is_object() || (!out.has_includes && !has_repeats(root))) return out;
    chain_ = {{key_of(top_), ""}};
    Part part = expand(nullptr, root, "", "", {});
    out.root = std::move(part.root);
    out.origins = std::move(part.origins);
    out.used = std::move(part.used);
    out.fixed = with_what_they_need(out.root, out.used);
    out.problems = std::move(problems_);
    out.warnings = std::move(warnings_);
    return out;
  }

 private:
  struct Bound {
    Json formula;        ///< in the names of the including file
    double value = 0.0;  ///< NaN: none, already reported
    std::string place;
  };
  using Bindings = std::map<std::string, Bound>;

  // ---- messages

  const JsonSource& text_of(const Source& source) const { return source == nullptr ? top_ : *source; }
  std::string place(const Source& source, std::string_view pointer) const { return text_of(source).place(pointer); }
  void complain(const Origin& origin, std::string_view rest, std::string_view message) {
    problems_.push_back(
        text_of(origin.source).located(origin.pointer + std::string(rest), origin.note + std::string(message)));
  }
  void warn(const Origin& origin, std::string_view message) {
    if (warnings_.size() < max_texts)
      warnings_.push_back(text_of(origin.source).located(origin.pointer, origin.note + std::string(message)));
  }

  // ---- a file

  /// `prefix`: of its names in the whole. `note`: the including file, for messages.
  Part expand(const Source& source, const Json& root, const std::string& prefix, const std::string& note,
              const Bindings& bound) {
    Part part;
    Json own = root;
    const auto tell = [&](std::string_view pointer, std::string_view message) {
      complain({source, std::string(pointer), note}, "", message);
    };
    ModelParameters parameters;
    if (source == nullptr) {
      parameters.read(own, given_,
                      [](std::string_view, std::string_view) {});  // the reader reports errors of the whole
    } else {
      Json with_values = own;
      bind(with_values, bound, [&](const std::string& name, const Bound* value) -> Json {
        if (given_.is_set(prefix + name)) return given_.number(prefix + name);
        return value != nullptr && std::isfinite(value->value) ? Json(value->value) : Json();
      });
      parameters.read(with_values, {}, [](std::string_view, std::string_view) {});
    }
    const std::set<std::string> used_before = parameters.used();
    Repeated repeated = written_out(own, parameters, tell);
    for (const std::string& name : parameters.used())
      if (!used_before.contains(name) && parameters.names().has(name)) part.used.insert(name);
    part.root = std::move(repeated.root);
    if (source != nullptr) resolve_mesh_files(part.root, source->folder());
    const auto origin_of = [&](const std::string& pointer) -> Origin {
      const auto found = repeated.origins.find(pointer);
      if (found == repeated.origins.end()) return {source, pointer, note};
      const std::string& index = found->second.index;
      return {source, found->second.pointer, note + (index.empty() ? "" : fmt::format("with {}: ", index))};
    };
    for (const std::string& name : parameters.names().list()) {
      part.names.add(name);
      part.values.set(name, parameters.value(name));
    }
    for (const char* key : listed_sections)
      for (std::size_t i = 0; i < section_of(part.root, key).size(); ++i) {
        const std::string at = below(std::string("/") + key, i);
        part.origins[at] = origin_of(at);
      }
    for (const char* key : named_sections)
      if (section_of(part.root, key).is_object())
        for (const auto& item : section_of(part.root, key).items()) {
          const std::string at = below(std::string("/") + key, item.key());
          part.origins[at] = origin_of(at);
        }
    for (const char* key : listed_sections)
      if (const Json& list = section_of(part.root, key); source != nullptr && !list.is_null() && !list.is_array())
        tell(std::string("/") + key, fmt::format("is {}, expected a list of objects {{...}}", shown(list)));
    for (const char* key : named_sections)
      if (const Json& section = section_of(part.root, key);
          source != nullptr && !section.is_null() && !section.is_object())
        tell(std::string("/") + key, fmt::format("is {}, expected {{\"name\": ..., ...}}", shown(section)));
    note_names(part);
    const Json includes = section_of(part.root, "include");
    part.root.erase("include");
    if (includes.is_null()) return part;
    if (!includes.is_array()) {
      tell("/include", fmt::format("is {}, expected a list of {{\"file\": ..., \"prefix\": ...}}", shown(includes)));
      return part;
    }
    for (std::size_t i = 0; i < includes.size() && !is_full_; ++i)
      include(part, origin_of(below("/include", i)), prefix, includes[i]);
    return part;
  }

  /// Values of parameters from the including file; null: keep its own.
  template <class ValueOf>
  static void bind(Json& root, const Bindings& bound, const ValueOf& value_of) {
    const auto section = root.find("parameters");
    if (section == root.end() || !section->is_object()) return;
    for (const auto& item : section->items()) {
      const auto found = bound.find(item.key());
      const Json value = value_of(item.key(), found == bound.end() ? nullptr : &found->second);
      if (value.is_null()) continue;
      if (item.value().is_object() && item.value().contains("value"))
        item.value()["value"] = value;
      else if (!item.value().is_object())
        item.value() = value;
    }
  }

  // ---- an include

  bool is_known_object(const Origin& origin, const Json& entry) {
    if (!entry.is_object()) {
      complain(origin, "", fmt::format("is {}, expected {{\"file\": ..., \"prefix\": ...}}", shown(entry)));
      return false;
    }
    const std::vector<std::string> known = names_of(include_object().keys);
    bool ok = true;
    for (const auto& item : entry.items())
      if (std::ranges::count(known, item.key()) == 0) {
        complain(origin, below("", item.key()), unknown_name("key", item.key(), known));
        ok = false;
      }
    return ok;
  }

  void include(Part& whole, const Origin& origin, const std::string& outer_prefix, const Json& entry) {
    if (!is_known_object(origin, entry)) return;
    if (++includes_ > max_includes) {
      is_full_ = true;
      return complain(origin, "", fmt::format("there are more than {} included files", max_includes));
    }
    std::string prefix;
    if (const Json* given = find(entry, "prefix")) {
      prefix = given->is_string() ? given->get<std::string>() : "";
      if (prefix.empty())
        return complain(origin, "/prefix", fmt::format("is {}, expected a text such as \"left.\"", shown(*given)));
      if (const std::string problem = formula::problem_with_name(prefix + "a"); !problem.empty())
        return complain(origin, "/prefix",
                        fmt::format("\"{}\" cannot begin a name in formulas; expected a word and a dot or _, such as "
                                    "\"left.\"",
                                    prefix));
    }
    PartPose pose;
    bool ok = read_pose(whole, origin, entry, pose);
    ok = read_connect(whole, origin, entry, pose) && ok;
    Source source;
    if (!open(origin, entry, source)) return;
    Bindings bound;
    ok = read_bindings(whole, origin, entry, source->root(), bound) && ok;
    if (!ok) return;
    const std::string note = fmt::format("{}included by {}: ", origin.note, place(origin.source, origin.pointer));
    if (!source->root().is_object())
      return complain({source, "", note}, "", fmt::format("is {}, expected a model {{...}}", shown(source->root())));
    const std::vector<std::string> known = names_of(model_object().keys);
    for (const auto& item : source->root().items())
      if (std::ranges::count(known, item.key()) == 0)
        complain({source, below("", item.key()), note}, "", unknown_name("key", item.key(), known));
    if (source->root().contains("gravity") && !top_.root().contains("gravity") && warned_.insert("gravity").second)
      warn({source, "/gravity", note},
           fmt::format("is ignored: gravity is taken from '{}', which does not give it", top_.name()));
    Part part = expand(source, source->root(), outer_prefix + prefix, note, bound);
    chain_.pop_back();
    name_all(part.root);
    if (!connects_bodies(origin, pose, part)) return;
    place_part(part, pose, whole);
    rename(part, prefix, pose);
    bind(part.root, bound, [&](const std::string& name, const Bound* value) -> Json {
      if (value == nullptr) return {};
      part.origins[below("/parameters", name)].note += fmt::format("with the value of {}: ", value->place);
      return value->formula;
    });
    for (const auto& [own, stands] : pose.bodies) part.left_out.insert(prefix + own);
    merge(whole, part, prefix, place(origin.source, origin.pointer));
  }

  /// The file of an include, which is added to the chain; false after a complaint.
  bool open(const Origin& origin, const Json& entry, Source& out) {
    const Json* given = find(entry, "file");
    if (given == nullptr || !given->is_string() || given->get<std::string>().empty()) {
      complain(origin, given == nullptr ? "" : "/file",
               given == nullptr ? "the key \"file\" is missing; expected a model file"
                                : fmt::format("is {}, expected the path of a model file", shown(*given)));
      return false;
    }
    const std::string file = *given;
    const bool is_path = file.find('/') != std::string::npos || file.ends_with(".json");
    std::string key = file;
    Path path;
    if (file.find('\0') != std::string::npos) {
      complain(origin, "/file", "contains a null character, expected the path of a model file");
      return false;
    }
    if (is_path) {
      path = (Path(text_of(origin.source).folder()) / file).lexically_normal();
      std::error_code error;
      if (!std::filesystem::exists(path, error)) {
        complain(
            origin, "/file",
            fmt::format("there is no file '{}'{}", clipped(path.string(), 300),
                        Path(file).is_absolute() ? "" : "; paths are relative to the folder of the including file"));
        return false;
      }
      key = std::filesystem::weakly_canonical(path, error).string();
    }
    const auto before = std::ranges::find(chain_, key, &Link::key);
    if (before != chain_.end()) {
      std::vector<std::string> places;
      for (auto link = before + 1; link != chain_.end(); ++link) places.push_back(link->place);
      places.push_back(place(origin.source, origin.pointer));
      complain(origin, "/file",
               fmt::format("'{}' would include itself: {}; remove one of these", file, fmt::join(places, " -> ")));
      return false;
    }
    if (chain_.size() > max_files) {
      complain(origin, "/file", fmt::format("is included through more than {} files", max_files));
      return false;
    }
    Source& source = sources_[key];
    try {
      if (source == nullptr && is_path)
        source = std::make_shared<const JsonSource>(JsonSource::read(path, "model file"));
      if (source == nullptr) source = shipped(file);
    } catch (const InvalidInput& problem) {
      complain(origin, "/file", problem.what());
      return false;
    }
    chain_.push_back({key, place(origin.source, origin.pointer)});
    out = source;
    return true;
  }

  static Source shipped(const std::string& name) {
    std::vector<std::string> known;
    for (const ShippedFile& file : shipped_files()) {
      if (file.name == name) return std::make_shared<const JsonSource>(name, std::string(file.text));
      known.emplace_back(file.name);
    }
    throw InvalidInput(unknown_name("shipped model file", name, known) +
                       "; a path contains a slash or ends with .json");
  }

  bool read_bindings(Part& whole, const Origin& origin, const Json& entry, const Json& file, Bindings& out) {
    const Json* given = find(entry, "parameters");
    if (given == nullptr) return true;
    if (!given->is_object()) {
      complain(origin, "/parameters", fmt::format("is {}, expected {{\"name\": value, ...}}", shown(*given)));
      return false;
    }
    std::vector<std::string> known;
    if (file.is_object() && section_of(file, "parameters").is_object())
      for (const auto& item : section_of(file, "parameters").items()) known.push_back(item.key());
    bool ok = true;
    for (const auto& item : given->items()) {
      const std::string rest = "/parameters" + below("", item.key());
      // Parameters of its own parts are found when they are merged.
      if (std::ranges::count(known, item.key()) == 0) {
        complain(origin, rest, unknown_name("parameter", item.key(), known));
        ok = false;
        continue;
      }
      Bound bound{item.value(), std::nan(""), place(origin.source, origin.pointer + rest)};
      if (!item.value().is_number() && !is_formula(item.value())) {
        complain(origin, rest,
                 fmt::format("is {}, expected a number or a formula of this file such as \"=L\"", shown(item.value())));
        ok = false;
        continue;
      }
      try {
        bound.value = number(whole, item.value(), false);
      } catch (const InvalidInput& problem) {
        complain(origin, rest, problem.what());
        ok = false;
      }
      out[item.key()] = std::move(bound);
    }
    return ok;
  }

  bool read_connect(const Part& whole, const Origin& origin, const Json& entry, PartPose& pose) {
    const Json* given = find(entry, "connect");
    if (given == nullptr) return true;
    if (!given->is_object()) {
      complain(origin, "/connect", fmt::format("is {}, expected {{\"ground\": BODY}}", shown(*given)));
      return false;
    }
    for (const auto& item : given->items()) {
      const std::string rest = "/connect" + below("", item.key());
      if (!item.value().is_string() || item.value().get<std::string>().empty()) {
        complain(origin, rest, fmt::format("is {}, expected the name of a body", shown(item.value())));
        return false;
      }
      const std::string stands = item.value();
      (item.key() == "ground" ? pose.ground : pose.bodies[item.key()]) = stands;
      if (stands.find('@') != std::string::npos || stands == "ground") continue;
      std::vector<std::string> known{"ground"};
      for (std::size_t i = 0; i < section_of(whole.root, "bodies").size(); ++i) {
        const std::string name = text_in(whole.root["bodies"][i], "name");
        known.push_back(name.empty() ? fmt::format("body{}", i + 1) : name);
      }
      if (std::ranges::count(known, stands) > 0) continue;
      if (known.size() > 30) known.resize(30);
      complain(origin, rest, unknown_name("body", stands, known));
      return false;
    }
    return true;
  }

  /// A body of the whole replaces one of the part, which is left out with its mass.
  bool connects_bodies(const Origin& origin, const PartPose& pose, const Part& part) {
    std::vector<std::string> known{"ground"};
    for (const Json& body : section_of(part.root, "bodies")) known.push_back(text_in(body, "name"));
    for (const auto& [own, stands] : pose.bodies) {
      const std::string rest = "/connect" + below("", own);
      if (std::ranges::count(known, own) == 0) {
        if (known.size() > 30) known.resize(30);
        complain(origin, rest, unknown_name("body to connect", own, known));
        return false;
      }
      for (const char* key : {"joints", "drivers", "forces"})
        for (std::size_t i = 0; i < section_of(part.root, key).size(); ++i) {
          const Json& entry = section_of(part.root, key)[i];
          const Json& between = section_of(entry, "between");
          const bool has_frames = entry.contains("frames") && between.is_array() &&
                                  std::count(between.begin(), between.end(), Json(own)) > 0;
          if (!has_frames) continue;
          complain(part.origins.at(below(std::string("/") + key, i)), "/frames",
                   fmt::format("has a frame of '{}', which '{}' replaces; give \"at\" and \"axis\" in world "
                               "coordinates instead",
                               own, stands));
          return false;
        }
    }
    return true;
  }

  bool read_pose(Part& whole, const Origin& origin, const Json& entry, PartPose& pose) {
    bool ok = true;
    if (const Json* at = find(entry, "at")) {
      if (at->is_array() && at->size() == 3) {
        for (std::size_t i = 0; i < 3; ++i) try {
            pose.x[static_cast<Eigen::Index>(i)] = number(whole, (*at)[i], true);
          } catch (const InvalidInput& problem) {
            complain(origin, below("/at", i), problem.what());
            ok = false;
          }
      } else {
        complain(origin, "/at", fmt::format("is {}, expected three numbers [x, y, z]", shown(*at)));
        ok = false;
      }
      pose.moves = !pose.x.isZero(0.0);
    }
    if (const Json* rotation = find(entry, "rotation")) {
      Json value = *rotation;
      try {
        evaluate_all(whole, value);
      } catch (const InvalidInput& problem) {
        complain(origin, "/rotation", problem.what());
        return false;
      }
      const std::vector<std::string> problems =
          ModelReader::rotation_in(text_of(origin.source), origin.pointer + "/rotation", value, pose.R);
      problems_.insert(problems_.end(), problems.begin(), problems.end());
      if (!problems.empty()) return false;
      pose.turns = !pose.R.isIdentity(0.0);
      pose.moves = pose.moves || pose.turns;
    }
    return ok;
  }

  // ---- numbers

  /// Throws InvalidInput when it has no finite value. `fixes`: the value replaces the formula in the file.
  double number(Part& part, const Json& value, bool fixes) {
    if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
    if (!is_formula(value)) throw InvalidInput(fmt::format("is {}, expected a number", shown(value)));
    const formula::Formula formula(formula_in(value), part.names);
    for (const formula::Formula::Name& name : formula.names())
      if (fixes) part.used.insert(name.text);
    const double number = multibody::Expression(formula, part.values).at(0.0).value;
    if (!std::isfinite(number)) throw InvalidInput(not_finite(value, number));
    return number;
  }
  void evaluate_all(Part& part, Json& value) {
    if (is_formula(value)) value = number(part, value, true);
    if (value.is_structured())
      for (Json& entry : value) evaluate_all(part, entry);
  }
  /// Three numbers; false: invalid, which the reader reports.
  bool vector(Part& part, const Json& value, Vector3& out) {
    if (!value.is_array() || value.size() != 3) return false;
    try {
      for (std::size_t i = 0; i < 3; ++i) out[static_cast<Eigen::Index>(i)] = number(part, value[i], true);
      return true;
    } catch (const InvalidInput&) {
      return false;
    }
  }
  bool rotation(Part& part, const Json& value, Matrix3& out) {
    Json numbers = value;
    try {
      evaluate_all(part, numbers);
    } catch (const InvalidInput&) {
      return false;
    }
    return ModelReader::rotation_in(top_, "", numbers, out).empty();
  }

  // ---- generated names

  /// As the reader would name them in the file alone.
  static void name_all(Json& root) {
    std::set<std::string> joints, forces;
    for (std::size_t i = 0; i < section_of(root, "bodies").size(); ++i)
      if (Json& body = root["bodies"][i]; body.is_object() && !body.contains("name"))
        body["name"] = fmt::format("body{}", i + 1);
    const auto body_in = [](const Json& list, std::size_t i) {
      return list.is_array() && i < list.size() && list[i].is_string() ? list[i].get<std::string>() : std::string();
    };
    for (const char* key : {"joints", "drivers", "forces"}) {
      std::set<std::string>& taken = std::string_view(key) == "forces" ? forces : joints;
      if (!section_of(root, key).is_array()) continue;
      for (Json& entry : root[key]) {
        if (!entry.is_object() || !entry.contains("type")) continue;
        if (entry.contains("name")) {
          taken.insert(text_in(entry, "name"));
          continue;
        }
        const Json& bodies = section_of(entry, "between");
        std::string where = fmt::format("{}-{}", body_in(bodies, 0), body_in(bodies, 1));
        if (entry.contains("on")) where = text_in(entry, "on");
        if (entry.contains("joint")) where = text_in(entry, "joint");
        if (entry.contains("joints"))
          where =
              fmt::format("{}-{}", body_in(section_of(entry, "joints"), 0), body_in(section_of(entry, "joints"), 1));
        const std::string fallback = fmt::format("{} {}", text_in(entry, "type"), where);
        std::string name = fallback;
        for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{} {}", fallback, i);
        entry["name"] = name;
      }
    }
  }

  // ---- places

  /// From the world of the part to that of the whole, at t = 0.
  void place_part(Part& part, const PartPose& pose, Part& whole) {
    Json& root = part.root;
    for (const char* key : {"joints", "drivers", "forces"})
      if (section_of(root, key).is_array())
        for (std::size_t i = 0; i < root[key].size(); ++i)
          if (root[key][i].is_object()) {
            const Origin& origin = part.origins[below(std::string("/") + key, i)];
            const std::optional<Placement> layout = placement_of_entry(key, root[key][i]);
            if (layout && layout->place_is_optional && layout->place == JointInfo::Place::two_points)
              write_points(part, pose, origin, "between", root[key][i]);
            place_element(part, pose, key, origin, root[key][i]);
            place_frames(part, pose, whole, origin, root[key][i]);
          }
    if (section_of(root, "outputs").is_object())
      for (const auto& item : root["outputs"].items())
        if (item.value().is_object())
          write_points(part, pose, part.origins[below("/outputs", item.key())], "distance", item.value());
    if (!pose.moves) return;
    if (section_of(root, "bodies").is_array())
      for (Json& body : root["bodies"])
        if (body.is_object()) {
          move(part, pose, body, "position");
          turn(part, pose, body, "velocity");
          Matrix3 R = Matrix3::Identity();
          if (pose.turns && (!body.contains("rotation") || rotation(part, body["rotation"], R)))
            body["rotation"] = as_json(Matrix3(pose.R * R));
        }
    if (section_of(root, "rods").is_array())
      for (Json& rod : root["rods"])
        if (rod.is_object()) place_rod(part, pose, rod);
    if (section_of(root, "outputs").is_object())
      for (const auto& item : root["outputs"].items())
        if (item.value().is_object()) move(part, pose, item.value(), "at");
    if (pose.turns && section_of(root, "events").is_array())
      for (Json& event : root["events"])
        if (event.is_object() && event.contains("action") && event["action"].is_object() &&
            event["action"].contains("jump") && event["action"]["jump"].is_object())
          for (const auto& item : event["action"]["jump"].items())
            if (item.key().ends_with(".velocity")) turn_laws(pose, item.value());
  }

  /// Writes the default points as they are in the file alone: its ground is no longer that of the whole, but is at its place
  /// or belongs to a body.
  void write_points(Part& part, const PartPose& pose, const Origin& origin, const char* key, Json& entry) {
    const Json& bodies = section_of(entry, key);
    if ((!pose.moves && pose.ground == "ground") || entry.contains("at") || entry.contains("frames")) return;
    if (!bodies.is_array() || bodies.size() != 2 || std::count(bodies.begin(), bodies.end(), Json("ground")) == 0)
      return;
    Json points = Json::array();
    for (const Json& name : bodies) {
      if (name == "ground") points.push_back(Json::array({0.0, 0.0, 0.0}));
      for (const Json& body : section_of(part.root, "bodies"))
        if (body.is_object() && body.contains("name") && body["name"] == name && body.contains("position"))
          points.push_back(body["position"]);
    }
    if (points.size() == 2)
      entry["at"] = std::move(points);
    else if (std::any_of(bodies.begin(), bodies.end(), [](const Json& name) {
               return name.is_string() && name.get<std::string>().find('@') != std::string::npos;
             }))
      complain(origin, "", "has no \"at\", and its file is moved or connected; give both points");
  }

  void place_rod(Part& part, const PartPose& pose, Json& rod) {
    const Json path = section_of(rod, "path");  // a copy: new keys move the others
    if (pose.turns && !rod.contains("up") && path.is_object() && path.contains("line") && path["line"].is_array() &&
        path["line"].size() == 2) {
      Vector3 a, b;
      if (vector(part, path["line"][0], a) && vector(part, path["line"][1], b))
        rod["up"] = as_json(Vector3((b - a).cross(Vector3::UnitZ()).norm() < 1e-6 * (b - a).norm() ? Vector3::UnitY()
                                                                                                   : Vector3::UnitZ()));
    }
    if (path.is_object())
      for (const char* kind : {"line", "arc"}) move(part, pose, rod["path"], kind);
    for (const char* key : {"up", "velocity", "angular_velocity"}) turn(part, pose, rod, key);
  }

  void place_element(Part& part, const PartPose& pose, std::string_view section, const Origin& origin, Json& entry) {
    if (!pose.moves) return;
    const std::optional<Placement> layout = placement_of_entry(section, entry);
    if (pose.turns && text_in(entry, "frame") != "body" && section == "forces")
      for (const ForceInfo& info : multibody::force_catalogue())
        if (info.name == text_in(entry, "type") && info.has_frame)
          for (const Field& field : info.vector_signals)
            if (entry.contains(field.name) && !turn_laws(pose, entry[field.name]))
              complain(
                  origin, below("", field.name),
                  "has a table in world axes, which cannot be turned with its file; write a formula, or give it in "
                  "the frame of the body");
    if (!layout || entry.contains("frames")) return;
    move(part, pose, entry, "at");
    if (!pose.turns) return;
    if (layout->axes == 1) {
      Vector3 axis = Vector3::UnitZ();
      const bool has_axis = !entry.contains("axis") ? layout->axis_is_optional : vector(part, entry["axis"], axis);
      if (has_axis && axis.norm() > 0.0) {
        if (!entry.contains("x_axis"))
          entry["x_axis"] = as_json(Vector3(multibody::axes_along(axis.normalized()).col(0)));
        if (!entry.contains("axis")) entry["axis"] = as_json(axis);
      }
    }
    if (layout->axes == 2 && layout->axis_is_optional && !entry.contains("axes"))
      entry["axes"] = Json::array({as_json(Vector3(Vector3::UnitZ())), as_json(Vector3(Vector3::UnitZ()))});
    for (const char* key : {"axis", "x_axis", "axes"}) turn(part, pose, entry, key);
  }

  /// Frames of the ground are in the coordinates of the world, or of the body that replaces it.
  void place_frames(Part& part, const PartPose& pose, Part& whole, const Origin& origin, Json& entry) {
    if (entry.contains("type") && pose.ground != "ground" && !entry.contains("carrier"))
      for (const JointInfo& info : multibody::joint_catalogue())
        if (info.name == text_in(entry, "type") && info.has_carrier) entry["carrier"] = "ground";
    const Json& between = section_of(entry, "between");
    const auto frames = entry.find("frames");
    if (frames == entry.end() || !frames->is_array() || !between.is_array()) return;
    if (!pose.moves && pose.ground == "ground") return;
    for (std::size_t i = 0; i < frames->size() && i < between.size(); ++i) {
      Json& frame = (*frames)[i];
      if (between[i] != "ground" || !frame.is_object()) continue;
      PartPose to = pose;
      if (pose.ground != "ground" && !seen_from(whole, pose, to)) {
        complain(origin, below("/frames", i),
                 fmt::format("is a frame of the ground, which '{}' replaces; give \"at\" and \"axis\" in world "
                             "coordinates instead",
                             pose.ground));
        continue;
      }
      if (!frame.contains("at")) frame["at"] = as_json(Vector3(Vector3::Zero()));
      if (frame.contains("x_axis") && !frame.contains("axis")) frame["axis"] = as_json(Vector3(Vector3::UnitZ()));
      if (!frame.contains("axis") && !frame.contains("rotation"))
        frame["rotation"] = as_json(Matrix3(Matrix3::Identity()));
      if (Vector3 z;
          frame.contains("axis") && !frame.contains("x_axis") && vector(part, frame["axis"], z) && z.norm() > 0.0)
        frame["x_axis"] = as_json(Vector3(multibody::axes_along(z.normalized()).col(0)));
      move(part, to, frame, "at");
      for (const char* key : {"axis", "x_axis"}) turn(part, to, frame, key);
      if (Matrix3 R; frame.contains("rotation") && rotation(part, frame["rotation"], R))
        frame["rotation"] = as_json(Matrix3(to.R * R));
    }
  }
  /// The pose relative to the body of the whole that replaces the ground; false: no such body has a position.
  bool seen_from(Part& whole, const PartPose& pose, PartPose& out) {
    for (const Json& body : section_of(whole.root, "bodies")) {
      if (text_in(body, "name") != pose.ground) continue;
      Vector3 x;
      Matrix3 R = Matrix3::Identity();
      if (!body.contains("position") || !vector(whole, body["position"], x)) return false;
      if (body.contains("rotation") && !rotation(whole, body["rotation"], R)) return false;
      out.x = R.transpose() * (pose.x - x);
      out.R = R.transpose() * pose.R;
      return true;
    }
    return false;
  }

  /// A point, or a list of them.
  void move(Part& part, const PartPose& pose, Json& object, const char* key) {
    change(part, object, key, [&](const Vector3& x) -> Vector3 { return pose.x + pose.R * x; });
  }
  /// A direction, or a list of them.
  void turn(Part& part, const PartPose& pose, Json& object, const char* key) {
    if (pose.turns || !pose.R.isIdentity(0.0))
      change(part, object, key, [&](const Vector3& x) -> Vector3 { return pose.R * x; });
  }
  template <class Map>
  void change(Part& part, Json& object, const char* key, const Map& map) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array()) return;
    Vector3 x;
    if (vector(part, *found, x)) {
      *found = as_json(Vector3(map(x)));
    } else {
      for (Json& entry : *found)
        if (vector(part, entry, x)) entry = as_json(Vector3(map(x)));
    }
  }
  /// Three numbers or formulas.
  /// False: there are tables, which cannot be added.
  static bool turn_laws(const PartPose& pose, Json& laws) {
    if (!laws.is_array() || laws.size() != 3) return true;
    const Json before = laws;
    for (int i = 0; i < 3; ++i) {
      bool is_number = true;
      double sum = 0.0;
      std::string text;
      for (int j = 0; j < 3; ++j) {
        const Json& law = before[static_cast<std::size_t>(j)];
        if (!law.is_number() && !law.is_string()) {
          if (pose.R(i, j) == 1.0) {
            laws[static_cast<std::size_t>(i)] = law;
            text.clear();
            break;
          }
          if (pose.R(i, j) == 0.0) continue;
          return false;
        }
        if (pose.R(i, j) == 0.0) continue;
        if (law.is_number()) {
          sum += pose.R(i, j) * law.get<double>();
        } else {
          is_number = false;
          const std::string_view own =
              is_formula(law) ? formula_in(law) : std::string_view(law.get_ref<const std::string&>());
          text += fmt::format("{}{}*({})", text.empty() ? "" : " + ", number_text(pose.R(i, j)), own);
        }
      }
      if (is_number)
        laws[static_cast<std::size_t>(i)] = sum;
      else if (!text.empty())
        laws[static_cast<std::size_t>(i)] = sum == 0.0 ? "=" + text : fmt::format("={} + {}", text, number_text(sum));
    }
    return true;
  }
  static std::string number_text(double value) {
    return value < 0.0 ? fmt::format("({})", value) : fmt::format("{}", value);
  }

  // ---- names

  void rename(Part& part, const std::string& prefix, const PartPose& pose) {
    const Scope scope(part.root, prefix);
    for (const char* key : listed_sections)
      if (section_of(part.root, key).is_array())
        for (std::size_t i = 0; i < part.root[key].size(); ++i)
          rename_entry(scope, pose, key, part.origins[below(std::string("/") + key, i)], part.root[key][i]);
    for (const char* key : named_sections)
      if (section_of(part.root, key).is_object())
        for (const auto& item : part.root[key].items())
          rename_entry(scope, pose, key, part.origins[below(std::string("/") + key, item.key())], item.value());
  }

  void rename_entry(const Scope& scope, const PartPose& pose, std::string_view section, const Origin& origin,
                    Json& entry) {
    const auto formulas = [&](const std::string& rest, Json& value, bool is_bare) {
      rename_formulas(scope, origin, rest, value, is_bare);
    };
    if (section == "parameters" || !entry.is_object()) return formulas("", entry, section != "parameters");
    const ObjectInfo* info = object_of_entry(section, entry);
    if (section == "inputs" && entry.contains("table")) info = &table_object();
    if (info == nullptr) return;
    for (const Key& key : info->keys) {
      const auto found = entry.find(key.field.name);
      if (found == entry.end() || key.form == "text" || key.form == "any value") continue;
      const std::string rest = below("", key.field.name);
      if (key.form == "name" || key.form == "joint name" || key.form == "force name" || key.form == "material name" ||
          key.form == "section name")
        each_text(*found, [&](const std::string& name) { return scope.prefix() + name; });
      else if (key.form == "body name")
        each_text(*found, [&](const std::string& name) {
          const auto stands = pose.bodies.find(name);
          return name == "ground" ? pose.ground : stands != pose.bodies.end() ? stands->second : scope.prefix() + name;
        });
      else if (key.form == "action")
        rename_action(scope, origin, *found);
      else
        formulas(rest, *found, key.form == "law" || key.form == "signal" || key.form == "motion");
    }
  }
  template <class Map>
  static void each_text(Json& value, const Map& map) {
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) value = map(value.get<std::string>());
    if (value.is_array())
      for (Json& entry : value)
        if (entry.is_string()) each_text(entry, map);
  }
  /// `is_bare`: texts are formulas even without an equals sign.
  void rename_formulas(const Scope& scope, const Origin& origin, const std::string& rest, Json& value, bool is_bare) {
    if (value.is_object())
      for (const auto& item : value.items())
        rename_formulas(scope, origin, rest + below("", item.key()), item.value(), is_bare && item.key() == "of");
    if (value.is_array())
      for (std::size_t i = 0; i < value.size(); ++i) rename_formulas(scope, origin, below(rest, i), value[i], is_bare);
    if (!value.is_string() || !(is_formula(value) || is_bare)) return;
    try {
      value = is_formula(value) ? "=" + scope.renamed(formula_in(value)) : scope.renamed(value.get<std::string>());
    } catch (const InvalidInput& problem) {
      complain(origin, rest, problem.what());
      value = 0.0;
    }
  }
  void rename_action(const Scope& scope, const Origin& origin, Json& action) {
    if (!action.is_object()) return;
    for (const auto& item : action.items()) {
      const std::string rest = "/action" + below("", item.key());
      if (item.key() == "switch" && item.value().is_object()) {
        for (const auto& list : item.value().items())
          each_text(list.value(), [&](const std::string& name) { return scope.prefix() + name; });
      } else if ((item.key() == "set" || item.key() == "jump") && item.value().is_object()) {
        Json renamed = Json::object();
        for (const auto& change : item.value().items()) {
          rename_formulas(scope, origin, rest + below("", change.key()), change.value(), true);
          renamed[scope.prefix() + change.key()] = change.value();
        }
        item.value() = std::move(renamed);
      } else {
        rename_formulas(scope, origin, rest, item.value(), false);
      }
    }
  }

  // ---- merging

  /// Names of the same kind must differ.
  static std::string kind_of(std::string_view section) {
    if (section == "drivers") return "joints";
    for (const char* key : named_sections)
      if (section == key) return "names of formulas";
    return std::string(section);
  }

  static void note_names(Part& part) {
    for (const char* key : listed_sections)
      if (const Json& list = section_of(part.root, key); list.is_array())
        for (std::size_t i = 0; i < list.size(); ++i)
          if (const std::string name = text_in(list[i], "name"); !name.empty())
            part.taken.insert({{kind_of(key), name}, below(std::string("/") + key, i)});
    for (const char* key : named_sections)
      if (const Json& section = section_of(part.root, key); section.is_object())
        for (const auto& item : section.items())
          part.taken.insert({{kind_of(key), item.key()}, below(std::string("/") + key, item.key())});
  }

  void merge(Part& whole, Part& part, const std::string& prefix, const std::string& where) {
    const auto is_free = [&](const char* key, const std::string& name, const Origin& origin) {
      const auto found = whole.taken.find({kind_of(key), name});
      if (found == whole.taken.end() || name.empty()) return true;
      const Origin& other = whole.origins[found->second];
      complain(origin, "",
               fmt::format("'{}' is already the name of {}; include the file with another prefix ({})", name,
                           place(other.source, other.pointer), where));
      return false;
    };
    for (const char* key : listed_sections) {
      if (!section_of(part.root, key).is_array()) continue;
      for (std::size_t i = 0; i < part.root[key].size(); ++i) {
        const Origin& origin = part.origins[below(std::string("/") + key, i)];
        if (key == listed_sections.front() && part.left_out.contains(text_in(part.root[key][i], "name"))) continue;
        if (!is_free(key, text_in(part.root[key][i], "name"), origin) || !has_room(origin)) continue;
        Json& list = whole.root[key];
        if (list.is_null()) list = Json::array();
        if (!list.is_array()) continue;
        const std::string at = below(std::string("/") + key, list.size());
        whole.origins[at] = origin;
        whole.taken.insert({{kind_of(key), text_in(part.root[key][i], "name")}, at});
        list.push_back(std::move(part.root[key][i]));
      }
    }
    for (const char* key : named_sections) {
      if (!section_of(part.root, key).is_object()) continue;
      for (const auto& item : part.root[key].items()) {
        const Origin& origin = part.origins[below(std::string("/") + key, item.key())];
        const std::string name = prefix + item.key();
        if (!is_free(key, name, origin) || !has_room(origin)) continue;
        Json& section = whole.root[key];
        if (section.is_null()) section = Json::object();
        if (!section.is_object()) continue;
        const std::string at = below(std::string("/") + key, name);
        whole.origins[at] = origin;
        whole.taken.insert({{kind_of(key), name}, at});
        section[name] = std::move(item.value());
      }
    }
    for (const std::string& name : part.names.list()) {
      whole.names.add(prefix + name);
      whole.values.set(prefix + name, *part.values.find(name));
    }
    for (const std::string& name : part.used) whole.used.insert(prefix + name);
  }
  bool has_room(const Origin& origin) {
    if (++entries_ <= max_entries) return true;
    if (!is_full_) complain(origin, "", fmt::format("there are more than {} included entries", max_entries));
    is_full_ = true;
    return false;
  }

  /// Adds the parameters that these depend on.
  static std::set<std::string> with_what_they_need(const Json& root, std::set<std::string> names) {
    const Json& section = section_of(root, "parameters");
    if (!section.is_object()) return names;
    formula::Names known;
    for (const auto& item : section.items()) known.add(item.key());
    std::vector<std::string> open(names.begin(), names.end());
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      const Json* entry = find(section, name);
      const Json* value = entry != nullptr && entry->is_object() ? find(*entry, "value") : entry;
      if (value == nullptr || !is_formula(*value)) continue;
      try {
        const formula::Formula formula(formula_in(*value), known);
        for (const formula::Formula::Name& needed : formula.names())
          if (names.insert(needed.text).second) open.push_back(needed.text);
      } catch (const InvalidInput&) {  // the reader reports it
      }
    }
    return names;
  }

  static std::string key_of(const JsonSource& source) {
    const bool is_path = source.name().find('/') != std::string::npos || source.name().ends_with(".json");
    std::error_code error;
    const Path path = std::filesystem::weakly_canonical(source.name(), error);
    return error || !is_path ? source.name() : path.string();
  }

  struct Link {
    std::string key, place;  ///< where it is included
  };
  const JsonSource& top_;
  const ParameterValues& given_;
  std::map<std::string, Source> sources_;
  std::vector<Link> chain_;
  std::set<std::string> warned_;
  std::vector<std::string> problems_, warnings_;
  std::size_t includes_ = 0, entries_ = 0;
  bool is_full_ = false;
};

}  // namespace

Composed composed(const JsonSource& source, const ParameterValues& given) { return Composer(source, given).all(); }

}  // namespace kreisel::io
