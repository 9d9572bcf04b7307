// Products of small column-major blocks.
#pragma once

#include <Eigen/Core>

namespace kreisel::solve {

/// out += scale · A·B, or A·Bᵀ, column-major, A fixed x inner. The sum of a column stays in registers.
template <int fixed, bool is_transposed>
void add_product_of_fixed(double* out, const double* A, const double* B, int inner, int columns, double scale) {
  using Column = Eigen::Matrix<double, fixed, 1>;
  for (int j = 0; j < columns; ++j) {
    Eigen::Map<Column> column(out + j * fixed);
    Column sum = column;
    for (int l = 0; l < inner; ++l) {
      const double b = B[is_transposed ? l * columns + j : j * inner + l];
      if (b != 0.0) sum += (scale * b) * Eigen::Map<const Column>(A + l * fixed);
    }
    column = sum;
  }
}

/// The same for any number of rows. Bodies and spherical joints have six and three.
template <bool is_transposed>
void add_product_of(double* out, const double* A, const double* B, int rows, int inner, int columns, double scale) {
  if (rows == 6) return add_product_of_fixed<6, is_transposed>(out, A, B, inner, columns, scale);
  if (rows == 3) return add_product_of_fixed<3, is_transposed>(out, A, B, inner, columns, scale);
  for (int j = 0; j < columns; ++j)
    for (int l = 0; l < inner; ++l) {
      const double b = scale * B[is_transposed ? l * columns + j : j * inner + l];
      if (b == 0.0) continue;
      for (int i = 0; i < rows; ++i) out[j * rows + i] += A[l * rows + i] * b;
    }
}

/// out += scale · A·B, column-major, A rows x inner, B inner x columns.
inline void add_product(double* out, const double* A, const double* B, int rows, int inner, int columns, double scale) {
  add_product_of<false>(out, A, B, rows, inner, columns, scale);
}

/// out += scale · A·Bᵀ, A rows x inner, B columns x inner.
inline void add_product_transposed(double* out, const double* A, const double* B, int rows, int inner, int columns,
                                   double scale) {
  add_product_of<true>(out, A, B, rows, inner, columns, scale);
}

/// out += A x, A rows x columns, column-major.
inline void add_vector_product(double* out, const double* A, const double* x, int rows, int columns) {
  const auto add = [&]<int r, int c>() {
    Eigen::Map<Eigen::Matrix<double, r, 1>>(out).noalias() +=
        Eigen::Map<const Eigen::Matrix<double, r, c>>(A).lazyProduct(Eigen::Map<const Eigen::Matrix<double, c, 1>>(x));
  };
  if (rows == 6 && columns == 6) return add.operator()<6, 6>();
  if (rows == 3 && columns == 6) return add.operator()<3, 6>();
  if (rows == 6 && columns == 3) return add.operator()<6, 3>();
  for (int j = 0; j < columns; ++j, A += rows)
    for (int i = 0; i < rows; ++i) out[i] += A[i] * x[j];
}

/// out += Aᵀ x, A rows x columns, column-major.
inline void add_transposed_vector_product(double* out, const double* A, const double* x, int rows, int columns) {
  const auto add = [&]<int r, int c>() {
    Eigen::Map<Eigen::Matrix<double, c, 1>>(out).noalias() +=
        Eigen::Map<const Eigen::Matrix<double, r, c>>(A).transpose().lazyProduct(
            Eigen::Map<const Eigen::Matrix<double, r, 1>>(x));
  };
  if (rows == 3 && columns == 6) return add.operator()<3, 6>();
  if (rows == 6 && columns == 6) return add.operator()<6, 6>();
  for (int j = 0; j < columns; ++j, A += rows)
    for (int i = 0; i < rows; ++i) out[j] += A[i] * x[i];
}

/// out = (a A + b B) diag(W), A and B rows x columns.
template <int fixed>
void weigh_columns_of_fixed(double* out, const double* A, double a, const double* B, double b, const double* W,
                            int columns) {
  using Column = Eigen::Matrix<double, fixed, 1>;
  for (int j = 0; j < columns; ++j, out += fixed, A += fixed, B += fixed)
    Eigen::Map<Column>(out).noalias() = (a * Eigen::Map<const Column>(A) + b * Eigen::Map<const Column>(B)) * W[j];
}

inline void weigh_columns_of(double* out, const double* A, double a, const double* B, double b, const double* W,
                             int rows, int columns) {
  if (rows == 6) return weigh_columns_of_fixed<6>(out, A, a, B, b, W, columns);
  if (rows == 3) return weigh_columns_of_fixed<3>(out, A, a, B, b, W, columns);
  for (int j = 0, i = 0; j < columns; ++j)
    for (int row = 0; row < rows; ++row, ++i) out[i] = (a * A[i] + b * B[i]) * W[j];
}

}  // namespace kreisel::solve
