// Compiled with the full table of powers of ten; the library computes them from a smaller table at every call.
#define FMT_HEADER_ONLY
#define FMT_USE_FULL_CACHE_DRAGONBOX 1
#include "number_text.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace kreisel::io {
namespace {

namespace dragonbox = fmt::detail::dragonbox;

constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 52;
constexpr std::uint64_t zeros = 0x3030303030303030;

/// Digits of a number: significand · 10^exponent.
struct Decimal {
  std::uint64_t significand;  ///< 16 or 17 digits, zeros at the end included
  int exponent;
};

/// Of any number, at twice the cost of `shortest_decimal`.
Decimal rare_decimal(double size) {
  const auto shortest = dragonbox::to_decimal(size);
  Decimal decimal{shortest.significand, shortest.exponent};
  for (; decimal.significand < 1'000'000'000'000'000; --decimal.exponent) decimal.significand *= 10;
  return decimal;
}

/// The shortest decimal that is closer to f·2^e than to other doubles, 2^52 < f < 2^53, as Schubfach finds it (Giulietti
/// 2020): with 10^k ≤ 2^e < 10^(k+1) the multiple of 10^(k+1) within 2^e/2, or else the nearest multiple of 10^k. Products have 64
/// bits after the point; if these do not decide, dragonbox does.
Decimal shortest_decimal(std::uint64_t f, int e) {
  using Product = unsigned __int128;
  const int k = dragonbox::floor_log10_pow2(e), shift = e + dragonbox::floor_log2_pow10(-k);
  const auto power = dragonbox::cache_accessor<double>::get_cached_power(-k);  // its first 128 bits
  const std::uint64_t factor = f << (shift + 1);
  const Product product = static_cast<Product>(factor) * power.high() +
                          static_cast<std::uint64_t>((static_cast<Product>(factor) * power.low()) >> 64);
  const auto whole = static_cast<std::uint64_t>(product >> 64), part = static_cast<std::uint64_t>(product);
  const std::uint64_t tens = whole / 10 * 10;
  // From here on four bits before the point.
  constexpr std::uint64_t ten = std::uint64_t{10} << 60, half = std::uint64_t{1} << 63, error = 4;
  const std::uint64_t above = (whole - tens) << 60 | part >> 4, reach = power.high() >> (4 - shift);
  if (above + error < reach) return {tens, k};
  if (above > ten - reach + error) return {tens + 10, k};
  if (above <= reach + error || above + error >= ten - reach || part - half + error <= 2 * error) [[unlikely]]
    return rare_decimal(std::ldexp(static_cast<double>(f), e));
  return {whole + (part >> 63), k};
}

/// The eight digits of a number below 10^8 as bytes of one word, the first lowest: halves, then pairs, then digits of
/// all at once, by multiplications instead of divisions (10486/2^20 is 1/100 up to 9999, 103/2^10 is 1/10 up to 99).
/// Each line is a | (x - b a) << n of its lanes, a = ⌊x/b⌋, in one subtraction.
std::uint64_t eight_digits(std::uint32_t value) {
  const std::uint64_t halves = (std::uint64_t{value} << 32) - value / 10'000 * ((std::uint64_t{10'000} << 32) - 1);
  const std::uint64_t hundreds = ((halves * 10'486) >> 20) & 0x0000007f0000007f;
  const std::uint64_t pairs = (halves << 16) - hundreds * ((100 << 16) - 1);
  const std::uint64_t tens = ((pairs * 103) >> 10) & 0x000f000f000f000f;
  return (pairs << 8) - tens * ((10 << 8) - 1);
}

/// As text, whatever the order of bytes of the machine.
void store(char* at, std::uint64_t word) {
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  std::memcpy(at, &word, sizeof word);
}

char* write_exponent(char* at, int exponent) {
  *at++ = 'e';
  *at++ = "+-"[exponent < 0];
  auto size = static_cast<std::uint32_t>(std::abs(exponent));
  if (size >= 100) {
    *at++ = static_cast<char>('0' + size / 100);
    size %= 100;
  }
  const std::uint32_t tens = (size * 103) >> 10;
  *at++ = static_cast<char>('0' + tens);
  *at++ = static_cast<char>('0' + size - 10 * tens);
  return at;
}

/// Inlined: a call would cost a tenth of the time.
[[gnu::always_inline]] inline char* write_decimal(char* at, Decimal decimal) {
  constexpr std::uint64_t eight = 100'000'000;
  if (decimal.significand < eight * eight) decimal = {10 * decimal.significand, decimal.exponent - 1};
  const std::uint64_t high = decimal.significand / eight, top = high / eight;
  const std::uint64_t front = eight_digits(static_cast<std::uint32_t>(high - top * eight));
  const std::uint64_t back = eight_digits(static_cast<std::uint32_t>(decimal.significand - high * eight));
  const auto write_digits = [&](char* to) {
    *to = static_cast<char>('0' + top);
    store(to + 1, front | zeros);
    store(to + 9, back | zeros);
  };
  constexpr int digits = 17, most_zeros = 3;
  const int count = digits - (back != 0 ? std::countl_zero(back) / 8 : 8 + std::countl_zero(front) / 8);
  const int point = digits + decimal.exponent;
  if (point > 0 && point <= digits) {
    write_digits(at);
    if (point >= count) return at + point;
    char behind_point[16];
    std::memcpy(behind_point, at + point, sizeof behind_point);
    at[point] = '.';
    std::memcpy(at + point + 1, behind_point, sizeof behind_point);
    return at + count + 1;
  }
  if (point <= 0 && point > -most_zeros) {
    std::memcpy(at, "0.00", 4);
    write_digits(at + 2 - point);
    return at + 2 - point + count;
  }
  write_digits(at + 1);
  at[0] = at[1];
  at[1] = '.';
  return write_exponent(at + (count > 1 ? count + 1 : 1), point - 1);
}

}  // namespace

char* write_number(char* at, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & (hidden_bit - 1);
  const auto exponent = static_cast<unsigned>(bits >> 52 & 0x7ff);
  *at = '-';
  at += bits >> 63;
  if (fraction != 0 && exponent - 1 < 0x7fe) [[likely]]
    return write_decimal(at, shortest_decimal(fraction | hidden_bit, static_cast<int>(exponent) - 1075));
  // Zero, infinity, NaN; powers of two and the smallest numbers, whose neighbours are at different distances.
  if (value == 0.0) {
    *at++ = '0';
    return at;
  }
  if (std::isnan(value)) at -= bits >> 63;  // without a sign
  if (!std::isfinite(value)) return std::to_chars(at, at + 3, std::abs(value)).ptr;
  return write_decimal(at, rare_decimal(std::abs(value)));
}

}  // namespace kreisel::io
