// A half-explicit Runge–Kutta method with explicit first stage for systems of index 2.
#pragma once

#include <array>

namespace kreisel::coeff {

/// Of Y_i = y_n + h Σ_{j<i} a_ij f(Y_j, Z_j), i = 1 … stages, with Z_1 = z_n, and Z_i, i ≥ 2, such that the constraint holds at
/// Y_{i+1}; Y_{stages} is y_{n+1}. The last row belongs to a point at which the constraint gives Z_{stages} = z_{n+1}.
struct HalfExplicitTableau {
  static constexpr int stages = 7;
  int order;
  std::array<std::array<double, stages>, stages + 1> a;
  std::array<double, stages + 1> c;
  std::array<double, stages> error;  ///< h Σ error_i f_i = O(h^order)
};

/// HEDOP5, order 5, on the coefficients of Dormand and Prince (Arnold 1998, BIT 38, table 3).
inline constexpr HalfExplicitTableau hedop5{
    5,
    {{{},
      {1.0 / 5},
      {3.0 / 40, 9.0 / 40},
      {44.0 / 45, -56.0 / 15, 32.0 / 9},
      {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
      {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
      {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
      {-18611506045861.0 / 19738176307200.0, 59332529.0 / 14479296.0, -2509441598627.0 / 893904224850.0,
       2763523204159.0 / 3289696051200.0, -41262869588913.0 / 116235927142400.0, 46310205821.0 / 287848404480.0,
       -3280.0 / 75413.0}}},
    {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0, 19.0 / 20},
    {35.0 / 384 - 5179.0 / 57600, 0.0, 500.0 / 1113 - 7571.0 / 16695, 125.0 / 192 - 393.0 / 640,
     -2187.0 / 6784 + 92097.0 / 339200, 11.0 / 84 - 187.0 / 2100, -1.0 / 40}};

}  // namespace kreisel::coeff
