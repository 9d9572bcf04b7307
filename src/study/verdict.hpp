// Whether a study came out as expected.
#pragma once

#include "study/observed.hpp"

namespace kreisel::study {

struct Verdict {
  std::string quantity;  ///< "order of lambda max, starting=exact"
  std::string says;      ///< the paper
  std::string expected, measured;
  std::string note;
  bool is_met = false;
};

Verdict judge(const Expectation& expectation, const Spec& spec, const std::vector<Row>& rows);

}  // namespace kreisel::study
