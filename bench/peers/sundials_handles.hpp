// What our drivers of SUNDIALS share: owners of its objects, and the problem as IDA and IDAS see it.
#pragma once

#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_nonlinearsolver.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "peers/sundials.hpp"

namespace bench {

inline constexpr long max_steps = 100'000'000;

class Context {
 public:
  Context() { SUNContext_Create(nullptr, &context_); }
  ~Context() { SUNContext_Free(&context_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  operator SUNContext() const { return context_; }

 private:
  SUNContext context_ = nullptr;
};

struct Free {
  void operator()(N_Vector v) const { N_VDestroy(v); }
  void operator()(SUNMatrix a) const { SUNMatDestroy(a); }
  void operator()(SUNLinearSolver s) const { SUNLinSolFree(s); }
  void operator()(SUNNonlinearSolver s) const { SUNNonlinSolFree(s); }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Free>;

/// Every call of SUNDIALS returns a negative number when it fails.
inline void check(int answer, const char* what) {
  if (answer < 0)
    throw std::runtime_error(std::string("SUNDIALS refused ") + what + ", answer " + std::to_string(answer));
}

// Errors of the integration itself are part of the outcome and are not printed.
inline void keep_quiet(int, const char*, const char*, char*, void*) {}

/// The user data of IDA: the problem and, for KLU, where the structural non-zeros are.
struct IdaData {
  const DaeProblem* problem;
  std::vector<double> dense;  ///< scratch of the sparse case
  std::vector<int> source;    ///< of each non-zero in `dense`
  std::vector<int> row, column_start;
};

inline IdaData prepare(const DaeProblem& problem) {
  const int n = problem.size();
  const std::vector<bool> pattern = problem.jacobian_pattern();
  IdaData data{&problem, std::vector<double>(static_cast<std::size_t>(n) * n), {}, {}, {0}};
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i)
      if (pattern[j * n + i]) {
        data.source.push_back(j * n + i);
        data.row.push_back(i);
      }
    data.column_start.push_back(static_cast<int>(data.row.size()));
  }
  return data;
}

inline std::vector<double> values_of(N_Vector y) { return {NV_DATA_S(y), NV_DATA_S(y) + NV_LENGTH_S(y)}; }

inline int ida_residual(realtype, N_Vector y, N_Vector y_dot, N_Vector r, void* data) {
  static_cast<IdaData*>(data)->problem->residual(NV_DATA_S(y), NV_DATA_S(y_dot), NV_DATA_S(r));
  return 0;
}

inline int ida_dense_jacobian(realtype, realtype c, N_Vector y, N_Vector, N_Vector, SUNMatrix A, void* data, N_Vector,
                              N_Vector, N_Vector) {
  SUNMatZero(A);
  static_cast<IdaData*>(data)->problem->jacobian(NV_DATA_S(y), c, SM_DATA_D(A));
  return 0;
}

inline int ida_sparse_jacobian(realtype, realtype c, N_Vector y, N_Vector, N_Vector, SUNMatrix A, void* data, N_Vector,
                               N_Vector, N_Vector) {
  IdaData& ida = *static_cast<IdaData*>(data);
  for (const int at : ida.source) ida.dense[at] = 0.0;
  ida.problem->jacobian(NV_DATA_S(y), c, ida.dense.data());
  // SUNDIALS may have cleared the pattern together with the values.
  std::copy(ida.column_start.begin(), ida.column_start.end(), SM_INDEXPTRS_S(A));
  std::copy(ida.row.begin(), ida.row.end(), SM_INDEXVALS_S(A));
  double* values = SM_DATA_S(A);
  for (std::size_t i = 0; i < ida.source.size(); ++i) values[i] = ida.dense[ida.source[i]];
  return 0;
}

}  // namespace bench
