// Formulas: what is read has values, and reading its own text again gives the same ones.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kreisel/error.hpp"
#include "multibody/expression.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const kreisel::multibody::Expression formula(std::string_view(reinterpret_cast<const char*>(data), size));
    const kreisel::multibody::Expression again(formula.text());
    for (const double t : {0.0, 0.1, -3.0, 1e300}) {
      const kreisel::multibody::Jet a = formula.at(t), b = again.at(t);
      const bool is_same = a.value == b.value || (a.value != a.value && b.value != b.value);
      if (!is_same || (formula.is_constant() && (a.rate != 0.0 && a.rate == a.rate))) std::abort();
    }
  } catch (const kreisel::InvalidInput&) {
  }
  return 0;
}
