// Parameters of methods beside the structs of kreisel/methods.hpp: variants of the papers, including printed ones.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "kreisel/choices.hpp"

namespace kreisel::method {

/// How the coordinates of starting points are put together: by the recursion that the steps use, or as printed.
enum class Recursion { nested_right, nested_left_as_printed, logarithms_as_printed };
/// Truncated series, with all terms that the order needs or with those that are printed.
enum class Series { complete, as_printed };
/// Where the leading error that steps of different size leave in velocities comes from.
enum class DefectSource { corrected, as_printed, raw_as_printed };
/// Of the error that is tested after a projection: the larger one of the estimate and its tangential part, or that part alone.
enum class TestedError { larger, tangential_as_printed };
/// What bounds the ratio of steps under error control: growth by 2 with constant steps in between; the ratio at which differences
/// of past errors decay with constant steps in between; or in any sequence (Wieloch 2022, eq. 5.42).
enum class RatioBound { growth, rested, any };
/// Derivatives in Newton's matrix: those of the leading terms of the velocity relation, or of all.
enum class Linearization { leading, complete };
/// Differences that give v̈ at the start.
enum class JerkBy { central, forward };
/// Whether β and γ follow the ratio of steps.
enum class AlphaCoefficients { constant, of_ratio };
/// How q' of a stage is computed.
enum class Derivatives { plain, projected };

namespace variants {

struct Bliedf {
  static constexpr std::string_view name = "bliedf";
  DefectSource defect = DefectSource::corrected;  ///< of the modification of velocities, index3 on given steps
  RatioBound ratios = RatioBound::growth;         ///< under error control
  Linearization linearization = Linearization::leading;
  std::optional<double> baumgarte{};  ///< of index1 [1/s]
};
struct GeneralizedAlpha {
  static constexpr std::string_view name = "generalized-alpha";
  AlphaCoefficients coefficients = AlphaCoefficients::constant;  ///< of_ratio goes with modification=none
  JerkBy jerk = JerkBy::central;
  std::optional<double> baumgarte{};
};
struct Mkam {
  static constexpr std::string_view name = "mkam";
  Series dexp = Series::complete;
};
struct Mkbdf {
  static constexpr std::string_view name = "mkbdf";
  Recursion recursion = Recursion::nested_right;
  Series bch = Series::complete;  ///< of order 6
  Linearization linearization = Linearization::leading;
  std::optional<double> baumgarte{};
};
/// By default BDF of order 4.
struct MkMultistep {
  static constexpr std::string_view name = "mk-multistep";
  std::optional<double> alpha0{}, alpha1{}, alpha2{}, alpha3{}, alpha4{}, alpha5{}, alpha6{};
  std::optional<double> beta0{}, beta1{}, beta2{}, beta3{}, beta4{}, beta5{}, beta6{};
};
struct ProjectedBdf {
  static constexpr std::string_view name = "projected-bdf";
  TestedError tested_error = TestedError::larger;
};
struct Rkmk {
  static constexpr std::string_view name = "rkmk";
  Derivatives derivatives = Derivatives::plain;  ///< of index1
};

}  // namespace variants
}  // namespace kreisel::method

namespace kreisel {

template <>
struct Spellings<method::Recursion> {
  using enum method::Recursion;
  static constexpr std::string_view noun = "recursion";
  static constexpr std::array<Spelled<method::Recursion>, 3> entries{
      {{nested_right, "nested-right"},
       {nested_left_as_printed, "nested-left-as-printed"},
       {logarithms_as_printed, "logarithms-as-printed"}}};
};
template <>
struct Spellings<method::Series> {
  using enum method::Series;
  static constexpr std::string_view noun = "series";
  static constexpr std::array<Spelled<method::Series>, 2> entries{{{complete, "complete"}, {as_printed, "as-printed"}}};
};
template <>
struct Spellings<method::DefectSource> {
  using enum method::DefectSource;
  static constexpr std::string_view noun = "defect";
  static constexpr std::array<Spelled<method::DefectSource>, 3> entries{
      {{corrected, "corrected"}, {as_printed, "as-printed"}, {raw_as_printed, "raw-as-printed"}}};
};
template <>
struct Spellings<method::TestedError> {
  using enum method::TestedError;
  static constexpr std::string_view noun = "tested error";
  static constexpr std::array<Spelled<method::TestedError>, 2> entries{
      {{larger, "larger"}, {tangential_as_printed, "tangential-as-printed"}}};
};
template <>
struct Spellings<method::RatioBound> {
  using enum method::RatioBound;
  static constexpr std::string_view noun = "bound of ratios";
  static constexpr std::array<Spelled<method::RatioBound>, 3> entries{
      {{growth, "growth"}, {rested, "rested"}, {any, "any"}}};
};
template <>
struct Spellings<method::Linearization> {
  using enum method::Linearization;
  static constexpr std::string_view noun = "linearization";
  static constexpr std::array<Spelled<method::Linearization>, 2> entries{
      {{leading, "leading"}, {complete, "complete"}}};
};
template <>
struct Spellings<method::JerkBy> {
  using enum method::JerkBy;
  static constexpr std::string_view noun = "jerk";
  static constexpr std::array<Spelled<method::JerkBy>, 2> entries{{{central, "central"}, {forward, "forward"}}};
};
template <>
struct Spellings<method::AlphaCoefficients> {
  using enum method::AlphaCoefficients;
  static constexpr std::string_view noun = "coefficients";
  static constexpr std::array<Spelled<method::AlphaCoefficients>, 2> entries{
      {{constant, "constant"}, {of_ratio, "of-ratio"}}};
};
template <>
struct Spellings<method::Derivatives> {
  using enum method::Derivatives;
  static constexpr std::string_view noun = "derivatives";
  static constexpr std::array<Spelled<method::Derivatives>, 2> entries{{{plain, "plain"}, {projected, "projected"}}};
};

}  // namespace kreisel
