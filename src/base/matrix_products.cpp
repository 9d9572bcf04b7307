#include "base/matrix_products.hpp"

namespace Eigen::internal {
KREISEL_MATRIX_PRODUCTS(template)
}
