// The inner loops of Eigen's products of large matrices are compiled once, in matrix_products.cpp, and not in every unit that has
// such a product.
#pragma once

#include <Eigen/Core>

#define KREISEL_MATRIX_PRODUCTS(how)                                                                      \
  how struct gebp_kernel<double, double, Index, blas_data_mapper<double, Index, ColMajor, Unaligned, 1>,  \
                         gebp_traits<double, double>::mr, gebp_traits<double, double>::nr, false, false>; \
  how struct gemm_pack_lhs<double, Index, const_blas_data_mapper<double, Index, ColMajor>,                \
                           gebp_traits<double, double>::mr, gebp_traits<double, double>::LhsProgress,     \
                           gebp_traits<double, double>::LhsPacket4Packing, ColMajor, false, false>;       \
  how struct gemm_pack_lhs<double, Index, const_blas_data_mapper<double, Index, RowMajor>,                \
                           gebp_traits<double, double>::mr, gebp_traits<double, double>::LhsProgress,     \
                           gebp_traits<double, double>::LhsPacket4Packing, RowMajor, false, false>;       \
  how struct gemm_pack_rhs<double, Index, const_blas_data_mapper<double, Index, ColMajor>,                \
                           gebp_traits<double, double>::nr, ColMajor, false, false>;                      \
  how struct gemm_pack_rhs<double, Index, const_blas_data_mapper<double, Index, RowMajor>,                \
                           gebp_traits<double, double>::nr, RowMajor, false, false>;

namespace Eigen::internal {
KREISEL_MATRIX_PRODUCTS(extern template)
}
