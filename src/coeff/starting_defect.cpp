#include "coeff/starting_defect.hpp"

#include <array>

namespace kreisel::coeff {
namespace {

constexpr std::array<NestedBracket, 1> bliedf_2{{
    {2, {0, 1}, 1.0 / 12.0},
}};
constexpr std::array<NestedBracket, 1> bliedf_3{{
    {2, {0, 2}, 1.0 / 12.0},
}};
constexpr std::array<NestedBracket, 5> bliedf_4{{
    {2, {0, 3}, 77.0 / 360.0},
    {2, {1, 2}, 13.0 / 360.0},
    {3, {0, 0, 2}, 1.0 / 720.0},
    {3, {1, 0, 1}, -1.0 / 240.0},
    {4, {0, 0, 0, 1}, -1.0 / 720.0},
}};
constexpr std::array<NestedBracket, 8> bliedf_5{{
    {2, {0, 4}, 401.0 / 5400.0},
    {2, {1, 3}, 107.0 / 8100.0},
    {3, {0, 0, 3}, -2.0 / 675.0},
    {3, {0, 1, 2}, 77.0 / 10800.0},
    {3, {1, 0, 2}, -18517.0 / 3531600.0},
    {4, {0, 0, 0, 2}, 2.0 / 675.0},
    {4, {0, 1, 0, 1}, 2473.0 / 353160.0},
    {5, {0, 0, 0, 0, 1}, -109.0 / 21600.0},
}};
constexpr std::array<NestedBracket, 17> bliedf_6{{
    {2, {0, 5}, 132308227.0 / 1161972000.0},
    {2, {1, 4}, -11080757.0 / 8845200.0},
    {2, {2, 3}, 1.0 / 2800.0},
    {3, {0, 0, 4}, 236729.0 / 290493000.0},
    {3, {0, 1, 3}, 12569341891.0 / 90067354650.0},
    {3, {1, 0, 3}, -71.0 / 9450.0},
    {3, {1, 1, 2}, -571.0 / 75600.0},
    {3, {2, 0, 2}, 1.0 / 4200.0},
    {4, {0, 0, 0, 3}, -3959309.0 / 1742958000.0},
    {4, {0, 0, 1, 2}, -3856101859.0 / 832715614080.0},
    {4, {0, 1, 0, 2}, -5739657990564193.0 / 43030579357584000.0},
    {4, {1, 0, 0, 2}, 1.0 / 75600.0},
    {4, {1, 1, 0, 1}, 169.0 / 3628800.0},
    {5, {0, 0, 0, 0, 2}, -1423259.0 / 6971832000.0},
    {5, {0, 0, 1, 0, 1}, 3133558708669.0 / 14410776744000.0},
    {5, {1, 0, 0, 0, 1}, -1.0 / 151200.0},
    {6, {0, 0, 0, 0, 0, 1}, 344963.0 / 1742958000.0},
}};
constexpr std::array<NestedBracket, 2> mkbdf_3{{
    {2, {0, 2}, -1.0 / 4.0},
    {3, {0, 0, 1}, 1.0 / 24.0},
}};
constexpr std::array<NestedBracket, 5> mkbdf_4{{
    {2, {0, 3}, -3.0 / 10.0},
    {2, {1, 2}, -1.0 / 5.0},
    {3, {0, 0, 2}, -1.0 / 30.0},
    {3, {1, 0, 1}, 1.0 / 10.0},
    {4, {0, 0, 0, 1}, 23.0 / 1440.0},
}};
constexpr std::array<NestedBracket, 8> mkbdf_5{{
    {2, {0, 4}, -1.0 / 3.0},
    {2, {1, 3}, -5.0 / 12.0},
    {3, {0, 0, 3}, -1.0 / 12.0},
    {3, {0, 1, 2}, -1.0 / 3.0},
    {3, {1, 0, 2}, 5.0 / 12.0},
    {4, {0, 0, 0, 2}, 1.0 / 12.0},
    {4, {0, 1, 0, 1}, 1.0 / 6.0},
    {5, {0, 0, 0, 0, 1}, 49.0 / 2880.0},
}};
constexpr std::array<NestedBracket, 17> mkbdf_6{{
    {2, {0, 5}, -5.0 / 14.0},
    {2, {1, 4}, -9.0 / 14.0},
    {2, {2, 3}, -5.0 / 14.0},
    {3, {0, 0, 4}, -1.0 / 7.0},
    {3, {0, 1, 3}, -5.0 / 7.0},
    {3, {1, 0, 3}, 9.0 / 14.0},
    {3, {1, 1, 2}, 1.0 / 14.0},
    {3, {2, 0, 2}, 25.0 / 42.0},
    {4, {0, 0, 0, 3}, 1.0 / 7.0},
    {4, {0, 0, 1, 2}, -11.0 / 42.0},
    {4, {0, 1, 0, 2}, 5.0 / 7.0},
    {4, {1, 0, 0, 2}, 4.0 / 21.0},
    {4, {1, 1, 0, 1}, 1.0 / 7.0},
    {5, {0, 0, 0, 0, 2}, 1.0 / 42.0},
    {5, {0, 0, 1, 0, 1}, 1.0 / 42.0},
    {5, {1, 0, 0, 0, 1}, -2.0 / 21.0},
    {6, {0, 0, 0, 0, 0, 1}, -247.0 / 10080.0},
}};

/// The printed version differs in one weight.
template <std::size_t n>
constexpr std::array<NestedBracket, n> with_last_weight(std::array<NestedBracket, n> terms, double weight) {
  terms.back().weight = weight;
  return terms;
}
constexpr auto mkbdf_4_as_printed = with_last_weight(mkbdf_4, 1.0 / 30.0);
constexpr auto mkbdf_5_as_printed = with_last_weight(mkbdf_5, -1.0 / 1440.0);
constexpr auto mkbdf_6_as_printed = with_last_weight(mkbdf_6, -1.0 / 42.0);

constexpr std::array<double, 2> derivative_2{-2.0, 2.0};
constexpr std::array<double, 3> derivative_3{-9.0 / 2, 6.0, -3.0 / 2};
constexpr std::array<double, 4> derivative_4{-22.0 / 3, 12.0, -6.0, 4.0 / 3};
constexpr std::array<double, 5> derivative_5{-125.0 / 12, 20.0, -15.0, 20.0 / 3, -5.0 / 4};
constexpr std::array<double, 6> derivative_6{-137.0 / 10, 30.0, -30.0, 20.0, -15.0 / 2, 6.0 / 5};

}  // namespace

std::span<const NestedBracket> bliedf_starting_defect(int k) {
  switch (k) {
    case 2:
      return bliedf_2;
    case 3:
      return bliedf_3;
    case 4:
      return bliedf_4;
    case 5:
      return bliedf_5;
    case 6:
      return bliedf_6;
    default:
      return {};
  }
}

std::span<const NestedBracket> mkbdf_starting_defect(int k, bool as_printed) {
  using Terms = std::span<const NestedBracket>;
  switch (k) {
    case 2:
      return bliedf_2;
    case 3:
      return mkbdf_3;
    case 4:
      return as_printed ? Terms(mkbdf_4_as_printed) : Terms(mkbdf_4);
    case 5:
      return as_printed ? Terms(mkbdf_5_as_printed) : Terms(mkbdf_5);
    case 6:
      return as_printed ? Terms(mkbdf_6_as_printed) : Terms(mkbdf_6);
    default:
      return {};
  }
}

std::span<const double> starting_derivative(int j) {
  switch (j) {
    case 2:
      return derivative_2;
    case 3:
      return derivative_3;
    case 4:
      return derivative_4;
    case 5:
      return derivative_5;
    case 6:
      return derivative_6;
    default:
      return {};
  }
}

}  // namespace kreisel::coeff
