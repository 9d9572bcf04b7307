// Smallest and largest values of short stretches of rows, and some whole rows, kept beside the values of long trajectories: a plot
// of a whole run reads the former and its picture the latter, instead of pieces all over the file.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace kreisel::io {

/// Names of the datasets beside those of a quantity.
inline constexpr const char* extremes_suffix = "_extremes";
inline constexpr const char* extreme_rows_suffix = "_extreme_rows";
inline constexpr const char* samples_suffix = "_samples";

/// Of one quantity, while rows come in.
class Extremes {
 public:
  static constexpr std::size_t stretch = 256;       ///< rows; a row number within it fits a byte
  static constexpr std::size_t long_rows = 65'536;  ///< shorter files have no extremes
  static constexpr std::size_t spacing = 64;        ///< rows from one sample to the next; divides the stretch

  explicit Extremes(std::size_t width) : columns_(width) { begin(); }

  /// `values` are rows of `stride` numbers that begin with the columns of the quantity.
  void add(const double* values, std::size_t count, std::size_t stride) {
    for (std::size_t i = 0; i < count; ++i, values += stride) {
      if (filled_ % spacing == 0) samples_.insert(samples_.end(), values, values + columns_.size());
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        Extreme& e = columns_[c];
        const double y = values[c];
        if (y < e.low) e.low = y, e.low_at = static_cast<std::uint8_t>(filled_);
        if (y > e.high) e.high = y, e.high_at = static_cast<std::uint8_t>(filled_);
      }
      if (++filled_ == stretch) end();
    }
  }

  /// The last stretch may be short.
  void end_early() {
    if (filled_ > 0) end();
  }

  std::size_t waiting() const {
    return values_.size() / (2 * columns_.size());
  }  ///< stretches that are not written yet
  std::size_t written() const { return written_; }
  std::size_t bytes() const { return columns_.size() * 2 * (sizeof(double) + 1); }  ///< of one stretch
  /// Two numbers per column, stretch by stretch: smallest and largest, NaN where a stretch has no number.
  const std::vector<double>& values() const { return values_; }
  const std::vector<std::uint8_t>& rows() const { return rows_; }
  void forget() {
    written_ += waiting();
    values_.clear();
    rows_.clear();
  }

  /// Rows 0, `spacing`, 2 `spacing`, … that are not written yet.
  const std::vector<double>& samples() const { return samples_; }
  std::size_t waiting_samples() const { return samples_.size() / columns_.size(); }
  std::size_t written_samples() const { return written_samples_; }
  void forget_samples() {
    written_samples_ += waiting_samples();
    samples_.clear();
  }

 private:
  struct Extreme {
    double low, high;
    std::uint8_t low_at, high_at;
  };
  void begin() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (Extreme& e : columns_) e = {infinity, -infinity, 0, 0};
    filled_ = 0;
  }
  void end() {
    for (const Extreme& e : columns_) {
      const bool has_numbers = e.low <= e.high;
      values_.push_back(has_numbers ? e.low : std::nan(""));
      values_.push_back(has_numbers ? e.high : std::nan(""));
      rows_.push_back(e.low_at);
      rows_.push_back(e.high_at);
    }
    begin();
  }

  std::vector<Extreme> columns_;
  std::size_t filled_ = 0, written_ = 0, written_samples_ = 0;
  std::vector<double> values_, samples_;
  std::vector<std::uint8_t> rows_;
};

}  // namespace kreisel::io
