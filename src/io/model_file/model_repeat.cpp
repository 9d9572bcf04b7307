#include "io/model_file/model_repeat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "io/json/field_json.hpp"
#include "kreisel/error.hpp"
#include "multibody/expression.hpp"

namespace kreisel::io {
namespace {

constexpr std::array<const char*, 6> repeated_lists{"bodies", "joints", "drivers", "forces", "events", "include"};
constexpr std::array<const char*, 3> repeated_names{"inputs", "states", "outputs"};
constexpr double most = 1e6;  ///< entries in all

bool is_repeated(const Json& entry) { return entry.is_object() && entry.contains("repeat"); }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// One value of the index.
class RepeatIndex {
 public:
  RepeatIndex(std::string name, long value, ModelParameters& parameters)
      : name_(std::move(name)), value_(value), parameters_(parameters) {}

  void fill_in(Json& json) const {
    if (json.is_string()) json = filled(json.get<std::string>());
    if (json.is_structured())
      for (Json& part : json) fill_in(part);
  }
  std::string filled(const std::string& text) const {
    std::string out = with_braces(text);
    return out.starts_with('=') ? with_words(out) : out;
  }

 private:
  /// {i + 1} as a whole number.
  std::string with_braces(const std::string& text) const {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
      if (end == std::string::npos) {
        out += text[at++];
        continue;
      }
      const std::string inside = text.substr(at + 1, end - at - 1);
      const double value = evaluated(inside);
      if (value != std::round(value) || !(std::abs(value) <= 1e15))
        throw InvalidInput(fmt::format("'{{{}}}' in \"{}\" is {}, expected a whole number", inside, text, value));
      out += fmt::format("{}", static_cast<long>(value));
      at = end + 1;
    }
    return out;
  }
  /// The index as a word of a formula.
  std::string with_words(const std::string& text) const {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const bool begins = is_letter(text[at]) &&
                          (at == 0 || !(is_letter(text[at - 1]) || is_digit(text[at - 1]) || text[at - 1] == '.'));
      std::size_t end = at + 1;
      if (begins)
        while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
      const std::string word = text.substr(at, end - at);
      out += begins && word == name_ ? fmt::format("({})", value_) : word;
      at = end;
    }
    return out;
  }
  double evaluated(const std::string& text) const {
    formula::Names known{name_};
    for (const std::string& parameter : parameters_.names().list()) known.add(parameter);
    const formula::Formula formula(text, known);
    parameters_.note_use(formula);
    formula::Constants values = parameters_.values();
    values.set(name_, static_cast<double>(value_));
    return multibody::Expression(formula, values).at(0.0).value;
  }

  std::string name_;
  long value_;
  ModelParameters& parameters_;
};

class Writer {
 public:
  Writer(const Json& root, ModelParameters& parameters, const ModelParameters::Complain& complain)
      : parameters_(parameters), complain_(complain) {
    out_.root = root;
  }

  Repeated written() {
    for (const char* key : repeated_lists)
      if (out_.root.contains(key) && out_.root[key].is_array()) write_list(key);
    for (const char* key : repeated_names)
      if (out_.root.contains(key) && out_.root[key].is_object()) write_named(key);
    return std::move(out_);
  }

 private:
  struct Range {
    std::string index;
    long first = 1, count = 0;
  };

  void write_list(const std::string& key) {
    const Json before = out_.root[key];
    Json& after = out_.root[key] = Json::array();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::string at = below("/" + key, i);
      const auto add = [&](Json entry, std::string index) {
        out_.origins[below("/" + key, after.size())] = {at, std::move(index)};
        after.push_back(std::move(entry));
      };
      if (!is_repeated(before[i]))
        add(before[i], "");
      else
        repeat(at, before[i], [&](const RepeatIndex& index, Json entry, std::string text) {
          index.fill_in(entry);
          add(std::move(entry), std::move(text));
        });
    }
  }

  void write_named(const std::string& key) {
    const Json before = out_.root[key];
    Json& after = out_.root[key] = Json::object();
    for (const auto& item : before.items()) {
      const std::string at = below("/" + key, item.key());
      const auto add = [&](const std::string& name, Json entry, std::string index) {
        if (after.contains(name)) return complain_(at, fmt::format("defines '{}' twice", name));
        out_.origins[below("/" + key, name)] = {at, std::move(index)};
        after[name] = std::move(entry);
      };
      if (!is_repeated(item.value()))
        add(item.key(), item.value(), "");
      else
        repeat(at, item.value(), [&](const RepeatIndex& index, Json entry, std::string text) {
          index.fill_in(entry);
          add(index.filled(item.key()), std::move(entry), std::move(text));
        });
    }
  }

  template <class Each>
  void repeat(const std::string& at, const Json& entry, const Each& each) {
    Range range;
    if (!read_range(at + "/repeat", entry["repeat"], range)) return;
    Json once = entry;
    once.erase("repeat");
    try {
      for (long i = range.first; i < range.first + range.count; ++i)
        each(RepeatIndex(range.index, i, parameters_), once, fmt::format("{} = {}", range.index, i));
    } catch (const InvalidInput& problem) {
      complain_(at, problem.what());
    }
  }

  bool read_range(const std::string& at, const Json& value, Range& out) {
    if (!value.is_object()) {
      complain_(at, fmt::format("is {}, expected {{\"index\": \"i\", \"count\": n}}", shown(value)));
      return false;
    }
    const std::vector<std::string> known{"index", "count", "from"};
    for (const auto& item : value.items())
      if (std::ranges::count(known, item.key()) == 0)
        return complain_(below(at, item.key()), unknown_name("key", item.key(), known)), false;
    out.index = value.value("index", Json("i")).is_string() ? value.value("index", Json("i")).get<std::string>() : "";
    if (const std::string problem = formula::problem_with_name(out.index); !problem.empty())
      return complain_(at + "/index", fmt::format("'{}' {}; choose another name for the index", out.index, problem)),
             false;
    if (parameters_.names().has(out.index))
      return complain_(at + "/index",
                       fmt::format("'{}' is the name of a parameter; choose another name for the index", out.index)),
             false;
    if (!value.contains("count"))
      return complain_(at, "the key \"count\" is missing; expected the number of entries"), false;
    return whole(at + "/count", value["count"], 0, out.count) &&
           (!value.contains("from") || whole(at + "/from", value["from"], -most, out.first)) && has_room(at, out.count);
  }
  bool has_room(const std::string& at, long count) {
    total_ += static_cast<double>(count);
    if (total_ <= most) return true;
    complain_(at, fmt::format("brings the number of entries to {:.0f}, at most {:.0f} are possible", total_, most));
    return false;
  }
  bool whole(const std::string& at, const Json& value, double least, long& out) {
    double number = std::nan("");
    try {
      if (value.is_number()) number = value.get<double>();
      if (is_formula(value)) {
        const formula::Formula formula(formula_in(value), parameters_.names());
        parameters_.note_use(formula);
        number = multibody::Expression(formula, parameters_.values()).at(0.0).value;
      }
    } catch (const InvalidInput& problem) {
      return complain_(at, problem.what()), false;
    }
    if (number == std::round(number) && number >= least && number <= most) return out = static_cast<long>(number), true;
    complain_(at, fmt::format("is {}, expected a whole number from {:.0f} to {:.0f}",
                              std::isnan(number) ? shown(value) : fmt::format("{}", number), least, most));
    return false;
  }

  ModelParameters& parameters_;
  const ModelParameters::Complain& complain_;
  Repeated out_;
  double total_ = 0.0;
};

}  // namespace

bool has_repeats(const Json& root) {
  if (!root.is_object()) return false;
  const auto section_has = [&](const char* key) {
    const auto found = root.find(key);
    return found != root.end() && found->is_structured() && std::any_of(found->begin(), found->end(), is_repeated);
  };
  return std::ranges::any_of(repeated_lists, section_has) || std::ranges::any_of(repeated_names, section_has);
}

Repeated written_out(const Json& root, ModelParameters& parameters, const ModelParameters::Complain& complain) {
  return Writer(root, parameters, complain).written();
}

}  // namespace kreisel::io
