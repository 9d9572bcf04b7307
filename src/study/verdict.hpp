// Whether a study came out as expected.
#pragma once

#include "study/observed.hpp"

namespace kreisel::study {

enum class Outcome {
  met,      ///< as the paper says, or as expected
  differs,  ///< as expected, which contradicts the paper; the verdict explains why
  missed
};

struct Verdict {
  std::string of;        ///< the number that is judged
  std::string quantity;  ///< "order of lambda max, starting=exact"
  std::string says;      ///< the paper
  std::string expected, measured;
  std::string explanation;  ///< why the expectation contradicts the paper; empty: it does not
  std::string note;
  Origin source = Origin::expected;
  bool is_met = false;  ///< the expectation; see outcome()

  Outcome outcome() const;
  /// "as printed", "as computed", "as expected", "differs, explained", "missed".
  std::string word() const;
};

/// The worst of them; met when there are none.
Outcome outcome_of(const std::vector<Verdict>& verdicts);
/// The word for all of them: "as printed" when one of them is and none is worse.
std::string word_of(const std::vector<Verdict>& verdicts);
std::string_view name_of(Origin source);
Json to_json(const Verdict& verdict);

Verdict judge(const Expectation& expectation, const Spec& spec, const std::vector<Row>& rows);

}  // namespace kreisel::study
