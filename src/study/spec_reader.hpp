// Values of a study file, with errors that give the location.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/json_source.hpp"
#include "kreisel/error.hpp"

namespace kreisel::study {

using io::Json;

using io::below;

/// One object of the file.
class SpecObject {
 public:
  SpecObject(const io::JsonSource& source, std::string pointer, const Json& json)
      : source_(source), pointer_(std::move(pointer)), json_(json) {
    if (!json.is_object()) source.refuse(pointer_, "expected an object { }");
  }

  const Json& json() const { return json_; }
  const std::string& pointer() const { return pointer_; }
  bool has(std::string_view key) const { return json_.contains(std::string(key)); }
  std::string at(std::string_view key) const { return below(pointer_, key); }
  [[noreturn]] void refuse(std::string_view key, std::string_view message) const { source_.refuse(at(key), message); }
  void only(const std::vector<std::string>& known) const { source_.refuse_unknown_keys(pointer_, known); }
  const io::JsonSource& source() const { return source_; }
  const Json& value(std::string_view key) const { return json_[std::string(key)]; }

  std::string text(std::string_view key, std::string fallback = {}) const {
    if (!has(key)) return fallback;
    if (!value(key).is_string()) refuse(key, "expected a text");
    return value(key).get<std::string>();
  }
  double number(std::string_view key, double fallback) const {
    if (!has(key)) return fallback;
    if (!value(key).is_number()) refuse(key, "expected a number");
    return value(key).get<double>();
  }
  /// A text that must be there.
  std::string required_text(std::string_view key, std::string_view expected) const {
    source_.require(pointer_, key, expected);
    return text(key);
  }
  long whole(std::string_view key, long fallback, long minimum, long maximum) const {
    const double given = number(key, static_cast<double>(fallback));
    if (!(given >= static_cast<double>(minimum) && given <= static_cast<double>(maximum)) || given != std::floor(given))
      refuse(key, fmt::format("is {}, expected a whole number from {} to {}", given, minimum, maximum));
    return static_cast<long>(given);
  }
  bool truth(std::string_view key, bool fallback) const {
    if (!has(key)) return fallback;
    if (!value(key).is_boolean()) refuse(key, "expected true or false");
    return value(key).get<bool>();
  }
  /// A text, or an array of texts.
  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> out;
    if (!has(key)) return out;
    if (value(key).is_string()) return {text(key)};
    if (!value(key).is_array()) refuse(key, "expected a text or an array of texts");
    for (const Json& entry : value(key)) {
      if (!entry.is_string()) refuse(key, "expected a text or an array of texts");
      out.push_back(entry.get<std::string>());
    }
    return out;
  }
  std::vector<double> numbers(std::string_view key) const {
    std::vector<double> out;
    if (!has(key)) return out;
    if (!value(key).is_array()) refuse(key, "expected an array of numbers");
    for (const Json& entry : value(key)) {
      if (!entry.is_number()) refuse(key, "expected an array of numbers");
      out.push_back(entry.get<double>());
    }
    return out;
  }
  /// Two increasing numbers.
  bool range(std::string_view key, double& from, double& to) const {
    if (!has(key)) return false;
    const std::vector<double> ends = numbers(key);
    if (ends.size() != 2 || !(ends[0] <= ends[1])) refuse(key, "expected two increasing numbers [from, to]");
    from = ends[0];
    to = ends[1];
    return true;
  }
  /// Runs `work` on every object of an array, or on nothing.
  template <class Work>
  void each(std::string_view key, const Work& work) const {
    if (!has(key)) return;
    if (!value(key).is_array()) refuse(key, "expected an array [ ]");
    std::size_t i = 0;
    for (const Json& entry : value(key)) work(below(at(key), i++), entry);
  }

 private:
  const io::JsonSource& source_;
  std::string pointer_;
  const Json& json_;
};

}  // namespace kreisel::study
