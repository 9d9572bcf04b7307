#include "kreisel/method/differences.hpp"

namespace kreisel::method {

void Differences::divide(double h) {
  std::array<std::array<double, max_points>, max_points> inverse;
  std::array<double, max_points> product;
  product[0] = 1.0;
  for (int j = 1; j < points_; ++j) {
    product[j] = product[j - 1] * (h - time_[j - 1]);
    for (int i = j; i < points_; ++i) inverse[j][i] = 1.0 / (time_[i - j] - time_[i]);
  }
  for (int c = 0; c < n_; ++c) {
    std::array<double, max_points> y;
    for (int i = 0; i < points_; ++i) y[i] = value_[i][c];
    for (int j = 1; j < points_; ++j)
      for (int i = points_ - 1; i >= j; --i) y[i] = (y[i - 1] - y[i]) * inverse[j][i];
    for (int j = 0; j < points_; ++j) terms_[j * n_ + c] = product[j] * y[j];
  }
}

void Differences::extrapolate(int points, VectorRef out) const {
  for (int c = 0; c < n_; ++c) {
    double sum = 0.0;
    for (int j = 0; j < points; ++j) sum += terms_[j * n_ + c];
    out[c] = sum;
  }
}

void Differences::deviation(int points, ConstVectorRef y, double scale, VectorRef out) const {
  for (int c = 0; c < n_; ++c) {
    double sum = y[c];
    for (int j = 0; j < points; ++j) sum -= terms_[j * n_ + c];
    out[c] = scale * sum;
  }
}

}  // namespace kreisel::method
