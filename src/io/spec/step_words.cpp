#include "io/spec/step_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/text.hpp"
#include "io/files/files.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

double to_number(std::string_view text) {
  const std::optional<double> value = number_in(text);
  if (!value) throw InvalidInput(fmt::format("'{}' is not a finite number", clipped(text, 100)));
  return *value;
}

/// key=value pairs of one kind.
class Words {
 public:
  Words(std::string_view kind, std::string_view text, std::vector<std::string> known) : kind_(kind) {
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      const std::string_view word = text.substr(0, comma);
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos)
        throw InvalidInput(
            fmt::format("'{}' is not of the form key=value; {} has the keys {}", word, kind, fmt::join(known, ", ")));
      const std::string key(word.substr(0, equals));
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw InvalidInput(unknown_name(fmt::format("key of '{}'", kind), key, known));
      try {
        values_[key] = to_number(word.substr(equals + 1));
      } catch (const InvalidInput& problem) {
        throw InvalidInput(fmt::format("{}: {}", key, problem.what()));
      }
    }
  }

  double number(const std::string& key) const {
    const auto at = values_.find(key);
    if (at == values_.end()) throw InvalidInput(fmt::format("'{}' needs {}, as in {}:{}=1e-3", kind_, key, kind_, key));
    return at->second;
  }
  double number(const std::string& key, double fallback) const {
    return values_.contains(key) ? number(key) : fallback;
  }
  long whole(const std::string& key, long fallback, double maximum = 1e15) const {
    const double value = number(key, static_cast<double>(fallback));
    if (value != std::floor(value) || value < 0.0 || value > maximum)
      throw InvalidInput(fmt::format("{} is {}, expected a whole number from 0 to {}", key, value, maximum));
    return static_cast<long>(value);
  }

 private:
  std::string kind_;
  std::map<std::string, double> values_;
};

run::StepSequence read_file(const std::string& path) {
  std::istringstream file(read_text(path, "steps"));
  run::StepList list;
  std::string line;
  for (long number = 1; std::getline(file, line); ++number) {
    const std::size_t begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r,;");
    if (begin == std::string::npos || line[begin] == '#') continue;
    try {
      list.steps.push_back(to_number(std::string_view(line).substr(begin, end - begin + 1)));
    } catch (const InvalidInput& problem) {
      throw InvalidInput(fmt::format("{}:{}: {}; expected one step size [s] per line", path, number, problem.what()));
    }
  }
  return list;
}

}  // namespace

std::vector<std::string> step_sequence_kinds() { return {"constant", "change", "alternate", "random", "file"}; }

run::StepSequence read_step_sequence(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string kind(text.substr(0, colon));
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (kind == "file") return read_file(std::string(rest));
  if (kind == "constant") {
    const Words words(kind, rest, {"h"});
    return run::Alternation{words.number("h"), 1.0};
  }
  if (kind == "change") {
    const Words words(kind, rest, {"h", "at", "ratio"});
    return run::OneChange{words.number("h"), words.number("at"), words.number("ratio", 2.0)};
  }
  if (kind == "alternate") {
    const Words words(kind, rest, {"h", "ratio"});
    return run::Alternation{words.number("h"), words.number("ratio", 1.5)};
  }
  if (kind == "random") {
    const Words words(kind, rest, {"h_min", "h_max", "ratio_min", "ratio_max", "every", "seed", "member"});
    run::RandomSteps r;
    r.h_min = words.number("h_min");
    r.h_max = words.number("h_max");
    r.ratio_min = words.number("ratio_min", r.ratio_min);
    r.ratio_max = words.number("ratio_max", r.ratio_max);
    r.every = words.whole("every", r.every);
    r.seed = static_cast<std::uint64_t>(words.whole("seed", 1));
    r.member = static_cast<int>(words.whole("member", 0, 1e6));
    return r;
  }
  throw InvalidInput(unknown_name("step sequence", kind, step_sequence_kinds()));
}

}  // namespace kreisel::io
