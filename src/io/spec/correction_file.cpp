#include "io/spec/correction_file.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/json/json_source.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

int read_order(const JsonSource& source) {
  const Json& k = source.require("", "k", "the order of the method, 3 to 6");
  if (!k.is_number_integer() || k < 3 || k > coeff::bdf_max_order)
    source.refuse("/k", fmt::format("is {}, expected the order of the method: 3, 4, 5 or 6", k.dump()));
  return k;
}

/// The `count` numbers at `pointer` go to weights[first], ...
void read_weights(const JsonSource& source, const std::string& pointer, const Json& list, int first, int count,
                  std::array<double, coeff::bdf_max_order + 1>& weights) {
  if (!list.is_array() || static_cast<int>(list.size()) != count)
    source.refuse(
        pointer, fmt::format("is {}, expected an array of {} numbers",
                             list.is_array() ? fmt::format("an array of {} values", list.size()) : list.dump(), count));
  for (int i = 0; i < count; ++i) {
    if (!list[i].is_number() || !std::isfinite(list[i].get<double>()))
      source.refuse(fmt::format("{}/{}", pointer, i), fmt::format("is {}, expected a number", list[i].dump()));
    weights[first + i] = list[i];
  }
}

coeff::LinearForm read_form(const JsonSource& source, const std::string& pointer, const Json& object, int k) {
  if (!object.is_object()) source.refuse(pointer, "expected an object with the keys 'a' and 'b'");
  source.refuse_unknown_keys(pointer, {"a", "b"});
  coeff::LinearForm form;
  read_weights(source, pointer + "/a",
               source.require(pointer, "a", fmt::format("{} numbers, the weights of h v", k + 1)), 0, k + 1, form.a);
  if (!object.contains("b")) return form;
  const Json& b = object["b"];
  const bool has_b0 = b.is_array() && static_cast<int>(b.size()) == k + 1 && b[0] == 0;
  read_weights(source, pointer + "/b", b, has_b0 ? 0 : 1, has_b0 ? k + 1 : k, form.b);
  return form;
}

}  // namespace

coeff::CorrectionSet read_correction_set(const Path& path) {
  const JsonSource source = JsonSource::read(path, "correction");
  if (!source.root().is_object()) source.refuse("", "expected an object with the keys 'k' and 'lin'");
  source.refuse_unknown_keys("", {"k", "lin", "name", "source"});

  coeff::CorrectionSet set{};
  set.name = "file";
  set.k = read_order(source);
  set.count = coeff::linear_form_count(set.k);
  const Json& forms = source.require("", "lin", fmt::format("an array of {} linear forms", set.count));
  // Order 5 has a second form, a sum of two chains.
  if (set.k == 5 && forms.is_array() && forms.size() == 8) set.count = 8;
  if (!forms.is_array() || static_cast<int>(forms.size()) != set.count)
    source.refuse("/lin", fmt::format("expected an array of {} linear forms, as order {} needs", set.count, set.k));
  for (int j = 0; j < set.count; ++j) set.lin[j] = read_form(source, fmt::format("/lin/{}", j), forms[j], set.k);

  const std::vector<std::string> violated = coeff::violated_conditions(set, correction_tolerance);
  if (!violated.empty())
    throw InvalidInput(fmt::format(
        "{}: the set does not keep order {}; it violates {} condition{} by more than {}:\n  {}", path.string(), set.k,
        violated.size(), violated.size() == 1 ? "" : "s", correction_tolerance, fmt::join(violated, "\n  ")));
  return set;
}

}  // namespace kreisel::io
