// Studies that tests share.
#pragma once

#include <string>

#include "study/study.hpp"

namespace kreisel::test {

inline study::Spec spec_from(const std::string& text) { return study::parse_spec(io::JsonSource("spec.json", text)); }

/// Two orders of BLieDF on two steps, in a tenth of a second.
inline std::string small_study() {
  return R"({"title": "small", "model": "heavy-top", "formulation": "index3", "order": [2, 3], "step": [1e-3, 5e-4, 2.5e-4],
             "t_end": 0.1, "measures": ["q max", "lambda max", "q local"]})";
}

}  // namespace kreisel::test
