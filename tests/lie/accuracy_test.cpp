// Every kernel against quadruple precision, for rotation angles from 1e-12 to π - 1e-8 and beyond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "lie/r3_so3.hpp"
#include "lie/se3.hpp"
#include "lie/so3.hpp"
#include "lie/trig_series.hpp"
#include "quad.hpp"
#include "samples.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::lie;
namespace ref = kreisel::quad_reference;
using ref::quad;

constexpr double tolerance = 1e-14;

/// Keeps the largest error of each quantity and the angle where it occurred.
class Worst {
 public:
  void add(const std::string& quantity, double error, double angle) {
    auto& [worst, where] = entries_[quantity];
    if (!(error <= worst)) worst = error, where = angle;  // also when error is NaN
  }
  void expect_below(double bound) const {
    for (const auto& [quantity, entry] : entries_) {
      EXPECT_LT(entry.first, bound) << quantity << " at angle " << entry.second;
      char text[64];
      std::snprintf(text, sizeof text, "%.1e at %.4g", entry.first, entry.second);
      ::testing::Test::RecordProperty(quantity, text);
    }
  }

 private:
  std::map<std::string, std::pair<double, double>> entries_;
};

ref::Vec exact_exp(SO3, const SO3::Tangent& x) { return ref::quaternion_exp(ref::Vec(x)); }
ref::Vec exact_exp(R3xSO3, const R3xSO3::Tangent& x) {
  ref::Vec p(Vector3(x.head<3>()));
  for (const quad e : ref::quaternion_exp(ref::Vec(x.tail<3>()))) p.push_back(e);
  return p;
}
ref::Vec exact_exp(SE3, const SE3::Tangent& x) {
  const ref::Vec omega(x.tail<3>());
  ref::Vec p = ref::tangent_series(ref::skew(omega), 1) * ref::Vec(x.head<3>());
  for (const quad e : ref::quaternion_exp(omega)) p.push_back(e);
  return p;
}

ref::Vec exact_log(SO3, const SO3::Point& p) { return ref::quaternion_log(ref::Vec(p)); }
ref::Vec exact_log(R3xSO3, const R3xSO3::Point& p) {
  ref::Vec x(p.head<3>());
  for (const quad e : ref::quaternion_log(ref::Vec(p.tail<4>()))) x.push_back(e);
  return x;
}
ref::Vec exact_log(SE3, const SE3::Point& p) {
  const ref::Vec omega = ref::quaternion_log(ref::Vec(p.tail<4>()));
  ref::Vec x = ref::inverse(ref::tangent_series(ref::skew(omega), 1)) * ref::Vec(p.head<3>());
  for (const quad e : omega) x.push_back(e);
  return x;
}

template <class G>
void add_exp_errors(const typename G::Tangent& x, double angle, Worst& worst) {
  const typename G::Point p = G::exp(x);
  const ref::Vec exact = exact_exp(G{}, x);
  if (G::nq == 7) worst.add("exp, position", ref::relative_error(p, exact, 0, 3), angle);
  worst.add("exp, vector part", ref::relative_error(p, exact, G::nq - 4, 3), angle);
  worst.add("exp, quaternion", ref::relative_error(p, exact, G::nq - 4, 4), angle);
}

template <class G>
void add_log_errors(const typename G::Point& p, double angle, Worst& worst) {
  const typename G::Tangent x = G::log(p);
  const ref::Vec exact = exact_log(G{}, p);
  for (int first = 0; first < G::nv; first += 3)
    worst.add(first + 3 == G::nv ? "log, rotation" : "log, translation", ref::relative_error(x, exact, first, 3),
              angle);
}

/// Block by block, so that a large translation hides nothing.
template <class Matrix>
void add_block_errors(const std::string& name, const Matrix& A, const ref::Mat& exact, double angle, Worst& worst) {
  for (int row = 0; row < A.rows(); row += 3)
    for (int column = 0; column < A.cols(); column += 3)
      worst.add(name + (row == column ? "" : ", coupling"), ref::relative_block_error(A, exact, row, column, 3), angle);
}

template <class G>
class Accuracy : public ::testing::Test {};
using Groups = ::testing::Types<SO3, R3xSO3, SE3>;
TYPED_TEST_SUITE(Accuracy, Groups);

TYPED_TEST(Accuracy, ExpLogAndTangentsAreCorrectTo14DigitsUpToHalfATurn) {
  using G = TypeParam;
  samples::Source source;
  Worst worst;
  for (const double angle : samples::angles())
    for (int repeat = 0; repeat < 4; ++repeat) {
      const auto x = source.tangent<G>(angle), y = source.template vector<typename G::Tangent>();
      add_exp_errors<G>(x, angle, worst);

      typename G::Point p = G::exp(x);
      add_log_errors<G>(p, angle, worst);
      p.template tail<4>() *= -1.0;  // the same rotation
      add_log_errors<G>(p, angle, worst);

      const ref::Mat T = ref::tangent_series(ref::Mat(G::hat(x)), -1), T_inverse = ref::inverse(T);
      add_block_errors("T", G::tangent(x), T, angle, worst);
      add_block_errors("T inverse", G::tangent_inverse(x), T_inverse, angle, worst);
      worst.add("T y", ref::relative_error(G::tangent(x, y), T * ref::Vec(y), 0, G::nv), angle);
      worst.add("T inverse y", ref::relative_error(G::tangent_inverse(x, y), T_inverse * ref::Vec(y), 0, G::nv), angle);
    }
  worst.expect_below(tolerance);
}

TYPED_TEST(Accuracy, ExpAndTangentStayAccurateBeyondHalfATurn) {
  using G = TypeParam;
  samples::Source source;
  Worst worst;
  for (const double angle : samples::large_angles()) {
    const auto x = source.tangent<G>(angle);
    const typename G::Point p = G::exp(x);
    worst.add("exp, quaternion", ref::relative_error(p, exact_exp(G{}, x), G::nq - 4, 4), angle);
    add_block_errors("T", G::tangent(x), ref::tangent_series(ref::Mat(G::hat(x)), -1), angle, worst);
  }
  worst.expect_below(tolerance);
}

double relative(double value, quad exact) { return static_cast<double>(ref::magnitude((value - exact) / exact)); }

TEST(TrigSeries, AgreesWithQuadruplePrecision) {
  Worst worst;
  for (const double angle : samples::angles()) {
    const double s = angle * angle;
    const quad S = s, c1 = ref::stumpff(1, S), c2 = ref::stumpff(2, S), c3 = ref::stumpff(3, S),
               c4 = ref::stumpff(4, S), c5 = ref::stumpff(5, S), c6 = ref::stumpff(6, S);
    // sinθ/θ vanishes at π: relative to its value 1 at zero.
    worst.add("sin_over_angle", static_cast<double>(ref::magnitude(sin_over_angle(s) - c1)), angle);
    worst.add("one_minus_cos_over_angle2", relative(one_minus_cos_over_angle2(s), c2), angle);
    worst.add("angle_minus_sin_over_angle3", relative(angle_minus_sin_over_angle3(s), c3), angle);

    const TangentCoefficients c = tangent_coefficients(s);
    worst.add("c1", static_cast<double>(ref::magnitude(c.c1 - c1)), angle);
    worst.add("c2", relative(c.c2, c2), angle);
    worst.add("c3", relative(c.c3, c3), angle);
    worst.add("slope2", relative(c.slope2, 2 * c4 - c3), angle);
    worst.add("slope3", relative(c.slope3, 3 * c5 - c4), angle);

    // 1 - (θ/2)cot(θ/2) = θ² (c₃ - 2c₄)/(2c₂), free of cancellation
    const quad d = (c3 - 2 * c4) / (2 * c2), d_slope = (5 * c5 - c4 - 8 * c6) / (2 * c2) + 2 * d * d;
    const auto [value, slope] = inverse_tangent_coefficients(s);
    worst.add("d", relative(value, d), angle);
    worst.add("d alone", relative(one_minus_half_angle_cot_over_angle2(s), d), angle);
    worst.add("d slope", relative(slope, d_slope), angle);

    const HalfAngle half = half_angle(s);
    worst.add("half angle, sine", relative(half.sin_over_angle, ref::stumpff(1, S / 4) / 2), angle);
    worst.add("half angle, cosine", static_cast<double>(ref::magnitude(half.cos - ref::stumpff(0, S / 4))), angle);
    worst.add("half angle, c2", relative(one_minus_cos_over_angle2(half), c2), angle);
    worst.add("half angle, c3", relative(angle_minus_sin_over_angle3(s, half), c3), angle);
  }
  worst.expect_below(tolerance);
}

TEST(TrigSeries, TakesItsLimitsAtZero) {
  EXPECT_EQ(sin_over_angle(0.0), 1.0);
  EXPECT_EQ(one_minus_cos_over_angle2(0.0), 1.0 / 2.0);
  EXPECT_EQ(angle_minus_sin_over_angle3(0.0), 1.0 / 6.0);
  EXPECT_EQ(one_minus_half_angle_cot_over_angle2(0.0), 1.0 / 12.0);
  EXPECT_EQ(inverse_tangent_coefficients(0.0).slope, 1.0 / 360.0);
  EXPECT_EQ(half_angle(0.0).sin_over_angle, 0.5);
  EXPECT_EQ(half_angle(0.0).cos, 1.0);
}

}  // namespace
