// Points of a sample: random or evenly spread values of parameters. Point i depends on i and the seed only, so that
// every machine makes the same points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kreisel/choices.hpp"

namespace kreisel::study {

enum class SampleKind {
  sobol,            ///< low-discrepancy sequence, Owen-scrambled by the seed (0: as it is)
  latin_hypercube,  ///< one point in each of n equal strips of every dimension
  random,           ///< independent
  saltelli          ///< two Sobol samples A and B, and A with one column of B for every dimension
};

enum class Distribution { uniform, normal, lognormal };

/// The distribution of one parameter.
struct Draw {
  Distribution distribution = Distribution::uniform;
  double a = 0.0, b = 1.0;  ///< bounds; mean and standard deviation; those of the logarithm

  /// The value that a fraction u of all lies below, 0 < u < 1.
  double at(double u) const;
};

/// The inverse of the normal distribution function.
double normal_quantile(double u);

class PointSet {
 public:
  PointSet() = default;
  /// `dimensions` of the points; `points`: of a Saltelli sample those of A.
  PointSet(SampleKind kind, std::size_t points, std::uint64_t seed, std::size_t dimensions);

  /// How many there are; of a Saltelli sample points · (dimensions + 2).
  std::size_t size() const;
  /// A coordinate of a point, in (0, 1).
  double at(std::size_t point, std::size_t dimension) const;
  SampleKind kind() const { return kind_; }
  std::size_t base_points() const { return points_; }
  std::uint64_t seed() const { return seed_; }
  std::size_t dimensions() const { return dimensions_; }
  static std::size_t max_dimensions(SampleKind kind);

 private:
  double sobol(std::size_t point, std::size_t dimension) const;

  SampleKind kind_ = SampleKind::random;
  std::size_t points_ = 0, dimensions_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<std::uint32_t> directions_;  ///< 32 per dimension
};

}  // namespace kreisel::study

namespace kreisel {

template <>
struct Spellings<study::SampleKind> {
  using enum study::SampleKind;
  static constexpr std::string_view noun = "sample";
  static constexpr std::array<Spelled<study::SampleKind>, 4> entries{
      {{sobol, "sobol"}, {latin_hypercube, "latin-hypercube"}, {random, "random"}, {saltelli, "saltelli"}}};
};

template <>
struct Spellings<study::Distribution> {
  using enum study::Distribution;
  static constexpr std::string_view noun = "distribution";
  static constexpr std::array<Spelled<study::Distribution>, 3> entries{
      {{uniform, "uniform"}, {normal, "normal"}, {lognormal, "lognormal"}}};
};

}  // namespace kreisel
