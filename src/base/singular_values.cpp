#include <Eigen/SVD>
#include <algorithm>
#include <limits>

#include "base/decompositions.hpp"

namespace kreisel {
namespace {

template <class Decomposition>
Svd decomposed(const Matrix& A, SingularVectors wanted) {
  unsigned flags = 0;
  switch (wanted) {
    case SingularVectors::none:
      break;
    case SingularVectors::thin_u:
      flags = Eigen::ComputeThinU;
      break;
    case SingularVectors::thin_v:
      flags = Eigen::ComputeThinV;
      break;
    case SingularVectors::full_u:
      flags = Eigen::ComputeFullU;
      break;
    case SingularVectors::full_v:
      flags = Eigen::ComputeFullV;
      break;
  }
  const Decomposition found(A, flags);
  Svd out{found.singularValues(), {}, {}};
  if (found.computeU()) out.U = found.matrixU();
  if (found.computeV()) out.V = found.matrixV();
  return out;
}

}  // namespace

int Svd::rank(double threshold) const {
  if (values.size() == 0) return 0;
  const double smallest = std::max(values[0] * threshold, std::numeric_limits<double>::min());
  return static_cast<int>((values.array() >= smallest).count());
}

Svd svd(const Matrix& A, SingularVectors wanted) { return decomposed<Eigen::BDCSVD<Matrix>>(A, wanted); }
Svd jacobi_svd(const Matrix& A, SingularVectors wanted) { return decomposed<Eigen::JacobiSVD<Matrix>>(A, wanted); }

}  // namespace kreisel
