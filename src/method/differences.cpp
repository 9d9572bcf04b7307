#include "kreisel/method/differences.hpp"

namespace kreisel::method {

void Differences::divide(double h) {
  for (int level = 1; level < points_; ++level)
    for (int i = points_ - 1; i >= level; --i) {
      const double inverse = 1.0 / (time_[i - level] - time_[i]);
      terms_[i] = (terms_[i - 1] - terms_[i]) * inverse;
    }
  double product = 1.0;
  for (int j = 1; j < points_; ++j) {
    product *= h - time_[j - 1];
    terms_[j] *= product;
  }
}

}  // namespace kreisel::method
