// Results too long to be held in memory, read in pieces.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "io/trajectory/trajectory.hpp"

namespace kreisel::io {

/// A trajectory in HDF5 of which only pieces are in memory. Angles of joints have their turns.
class LongTrajectory {
 public:
  explicit LongTrajectory(const Path& path);
  ~LongTrajectory();
  LongTrajectory(const LongTrajectory&) = delete;
  LongTrajectory& operator=(const LongTrajectory&) = delete;

  Eigen::Index rows() const;
  Eigen::Index columns() const;
  /// At most `limit` rows, equally many apart, and the last one; columns as read_trajectory has them. Files with samples give these.
  Trajectory sample(Eigen::Index limit) const;
  /// Long files have the smallest and largest values of stretches of rows beside the values; of older files every row is read, once
  /// per quantity.
  bool has_extremes() const;
  /// Pairs (t, value) in the stretch of time and one beyond each end: all of them, or of each of `buckets` buckets the smallest and
  /// the largest at their own times.
  std::vector<std::pair<double, double>> extrema(Eigen::Index column, double from, double to,
                                                 Eigen::Index buckets) const;
  /// Smallest and largest value of a column; NaN where it has no number.
  std::pair<double, double> range(Eigen::Index column) const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace kreisel::io
