// User-defined commutator corrections for `--correction file:PATH`.
#pragma once

#include "coeff/brackets.hpp"
#include "io/files/files.hpp"

namespace kreisel::io {

/// Tolerance of the consistency conditions of a coefficient set; decimal fractions of 11 digits pass.
inline constexpr double correction_tolerance = 1e-10;

/// Reads {"k": 4, "lin": [{"a": [a0, ..., ak], "b": [b1, ..., bk]}, ...]} with 2, 2, 4, 6 linear forms for k = 3, 4, 5, 6
/// (the letters of coeff::LinearForm). "b" may begin with an unused zero b0 or be left out; "name" and "source" are free
/// text. Throws InvalidInput with line and column, or with every consistency condition that the set violates.
coeff::CorrectionSet read_correction_set(const Path& path);

}  // namespace kreisel::io
