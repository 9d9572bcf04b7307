// IDAS, which carries sensitivities along with IDA, on the top and on a chain of ten links.
//
//   bench_idas_sensitivities heavy-top|chain P...     a run, then with P parameters each, as bench_sensitivities
//
// Staggered corrector, residuals of the sensitivities by IDAS itself (central differences), all in the error test: without, its corrector
// fails on the top.
#include <fmt/format.h>
#include <idas/idas.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_klu.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "peers/chain_equations.hpp"
#include "peers/sundials_handles.hpp"
#include "peers/top_equations.hpp"
#include "support/count.hpp"

namespace bench {
namespace {

constexpr double tolerance = 1e-6;

/// A problem whose residual reads the numbers in `p`, which IDAS changes.
struct Parametric {
  DaeProblem& problem;
  std::vector<double> p;
  std::function<void(const std::vector<double>&)> set;
  double t_end = 2.0;
  Factorization factorization = Factorization::dense;
  int shown = 0;  ///< number of y that is printed
};

struct UserData : IdaData {
  Parametric* parametric = nullptr;
};

int residual(realtype, N_Vector y, N_Vector y_dot, N_Vector r, void* data) {
  const Parametric& parametric = *static_cast<UserData*>(data)->parametric;
  parametric.set(parametric.p);
  parametric.problem.residual(NV_DATA_S(y), NV_DATA_S(y_dot), NV_DATA_S(r));
  return 0;
}

struct Result {
  bool is_success = false;
  long steps = 0;
  double value = 0.0;
};

Result solve(Parametric& q, int count) {
  const Context context;
  const int n = q.problem.size();
  q.set(q.p);
  UserData data{prepare(q.problem), &q};
  std::vector<Owned<N_Vector>> owned;
  const auto vector = [&] { return owned.emplace_back(N_VNew_Serial(n, context)).get(); };
  N_Vector state = vector(), slope = vector(), is_differential = vector(), absolute = vector();
  q.problem.start(NV_DATA_S(state), NV_DATA_S(slope));
  for (int i = 0; i < n; ++i) {
    NV_Ith_S(is_differential, i) = q.problem.is_algebraic(i) ? 0.0 : 1.0;
    NV_Ith_S(absolute, i) = (q.problem.is_algebraic(i) ? q.problem.looseness() : 1.0) * tolerance;
  }
  void* ida = IDACreate(context);
  check(IDAInit(ida, residual, 0.0, state, slope), "the problem");
  check(IDASVtolerances(ida, tolerance, absolute), "the tolerances");
  check(IDASetUserData(ida, static_cast<IdaData*>(&data)), "the user data");
  check(IDASetId(ida, is_differential), "the kinds of variables");
  check(IDASetSuppressAlg(ida, SUNTRUE), "the error test");
  check(IDASetMaxNumSteps(ida, max_steps), "the number of steps");
  check(IDASetStopTime(ida, q.t_end), "t_end");
  const bool is_dense = q.factorization == Factorization::dense;
  const Owned<SUNMatrix> matrix(
      is_dense ? SUNDenseMatrix(n, n, context)
               : SUNSparseMatrix(n, n, static_cast<sunindextype>(data.row.size()), CSC_MAT, context));
  const Owned<SUNLinearSolver> solver(is_dense ? SUNLinSol_Dense(state, matrix.get(), context)
                                               : SUNLinSol_KLU(state, matrix.get(), context));
  check(IDASetLinearSolver(ida, solver.get(), matrix.get()), "the linear solver");
  check(IDASetJacFn(ida, is_dense ? ida_dense_jacobian : ida_sparse_jacobian), "the Jacobian");

  std::vector<N_Vector> by, by_dot;
  std::vector<double> sizes;
  for (int j = 0; j < count; ++j) {
    const double p = q.p[static_cast<std::size_t>(j)], s = 1e-5 * (p != 0.0 ? std::abs(p) : 1.0);
    sizes.push_back(p != 0.0 ? std::abs(p) : 1.0);
    std::vector<double> y[2], y_dot[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<double> moved = q.p;
      moved[static_cast<std::size_t>(j)] += side == 0 ? s : -s;
      q.set(moved);
      y[side].resize(n);
      y_dot[side].resize(n);
      q.problem.start(y[side].data(), y_dot[side].data());
    }
    by.push_back(vector());
    by_dot.push_back(vector());
    for (int i = 0; i < n; ++i) {
      NV_Ith_S(by.back(), i) = (y[0][i] - y[1][i]) / (2.0 * s);
      NV_Ith_S(by_dot.back(), i) = (y_dot[0][i] - y_dot[1][i]) / (2.0 * s);
    }
  }
  q.set(q.p);
  if (count > 0) {
    check(IDASensInit(ida, count, IDA_STAGGERED, nullptr, by.data(), by_dot.data()), "the sensitivities");
    check(IDASetSensParams(ida, q.p.data(), sizes.data(), nullptr), "the parameters");
    check(IDASensEEtolerances(ida), "the tolerances of sensitivities");
    check(IDASetSensErrCon(ida, SUNTRUE), "the error test of sensitivities");
  }
  double t = 0.0;
  Result result;
  result.is_success = IDASolve(ida, q.t_end, &t, state, slope, IDA_NORMAL) >= 0;
  IDAGetNumSteps(ida, &result.steps);
  result.value = NV_Ith_S(state, q.shown);
  if (count > 0) {
    check(IDAGetSens(ida, &t, by.data()), "the result");
    result.value = NV_Ith_S(by[0], q.shown);
  }
  IDAFree(&ida);
  return result;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  const std::string name = argc > 1 ? argv[1] : "";
  if (argc < 3 || (name != "heavy-top" && name != "chain")) {
    fmt::print(stderr, "usage: {} heavy-top|chain P...\n", argv[0]);
    return 2;
  }
  TopDae top{Top()};
  ChainDae chain{Chain{.links = 10}};
  const kreisel::Vector numbers = numbers_of_top();
  Parametric of_top{top,
                    {numbers.begin(), numbers.end()},
                    [&](const std::vector<double>& p) {
                      Top changed;
                      changed.mass = p[0];
                      changed.gravity = Vector3(p[8], p[9], p[1]);
                      changed.J = Vector3(p[2], p[3], p[4]);
                      changed.X = Vector3(p[5], p[6], p[7]);
                      top.set(changed);
                    },
                    2.0,
                    Factorization::dense,
                    8};
  Parametric of_chain{
      chain, std::vector<double>(10, 1.0), [&](const std::vector<double>& p) { chain.set_masses(p.data(), 10); },
      2.0,   Factorization::klu,           8};
  Parametric& problem = name == "chain" ? of_chain : of_top;
  std::vector<double> counts = numbers_from(argc, argv, 2);
  counts.insert(counts.begin(), 0.0);
  for (const double number : counts) {
    const int count = static_cast<int>(number);
    const std::string label = count == 0 ? "run" : fmt::format("{} parameters", count);
    Result result;
    bench::count(label, [&] { result = solve(problem, count); });
    fmt::print("{{\"label\": \"{}\", \"parameters\": {}, \"success\": {}, \"steps\": {}, \"check\": {:.9e}}}\n", label,
               count, result.is_success, result.steps, result.value);
    std::fflush(stdout);
  }
}
