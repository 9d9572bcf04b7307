// Curves of a study and their observed orders.
#pragma once

#include <optional>

#include "study/row.hpp"

namespace kreisel::study {

/// One number over the abscissa, for all cases of one label, by decreasing abscissa.
struct ObservedCurve {
  std::string label, number;
  std::vector<std::size_t> cases;
  std::vector<double> x, y;
  std::vector<bool> is_marked;   ///< below the floor, or failed: not used for orders
  std::vector<double> pairwise;  ///< slope from the point before; NaN where one of both is not used
  std::optional<double> order;   ///< least squares over the points in use
};

/// Labels in the order of the cases. Only cases that match `where` count.
std::vector<ObservedCurve> observe(const Spec& spec, const std::vector<Row>& rows, const std::string& number,
                                   const Json& where = Json::object());

/// Least-squares slope of log y over log x among used points within [from, to]; empty with fewer than two.
std::optional<double> slope(const ObservedCurve& curve, double from, double to);

}  // namespace kreisel::study
