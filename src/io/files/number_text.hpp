// Fast conversion of numbers to text, which is most of the work of writing a trajectory.
#pragma once

#include <cstddef>

namespace kreisel::io {

/// "-2.2250738585072014e-308"
inline constexpr std::size_t longest_number = 24;
/// Bytes that write_number may touch.
inline constexpr std::size_t number_space = 64;

/// Writes the shortest decimal number that reads back as the same bits, as std::to_chars does but at less than half its
/// cost, and returns its end. There are `number_space` bytes at `at`; those after the end are undefined.
char* write_number(char* at, double value);

}  // namespace kreisel::io
