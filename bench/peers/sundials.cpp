#include "peers/sundials.hpp"

#include <arkode/arkode_erkstep.h>
#include <cvode/cvode.h>
#include <cvode/cvode_proj.h>
#include <ida/ida.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include "peers/sundials_handles.hpp"

namespace bench {
namespace {

// ---- CVODE and ARKODE

int ode_rate(realtype, N_Vector y, N_Vector f, void* data) {
  static_cast<OdeProblem*>(data)->rate(NV_DATA_S(y), NV_DATA_S(f));
  return 0;
}

int cvode_projection(realtype, N_Vector y, N_Vector correction, realtype, N_Vector error, void* data) {
  const bool is_done = static_cast<OdeProblem*>(data)->project(NV_DATA_S(y), NV_DATA_S(correction),
                                                               error != nullptr ? NV_DATA_S(error) : nullptr);
  return is_done ? 0 : 1;
}

Owned<N_Vector> start_of(const OdeProblem& problem, SUNContext context) {
  Owned<N_Vector> y(N_VNew_Serial(problem.size(), context));
  problem.start(NV_DATA_S(y.get()));
  return y;
}

}  // namespace

Outcome solve_with_ida(const DaeProblem& problem, double t_end, Tolerances tolerances, Factorization kind,
                       std::vector<double>& y) {
  const Context context;
  const int n = problem.size();
  IdaData data = prepare(problem);
  const Owned<N_Vector> state(N_VNew_Serial(n, context)), slope(N_VNew_Serial(n, context)),
      is_differential(N_VNew_Serial(n, context)), absolute(N_VNew_Serial(n, context));
  problem.start(NV_DATA_S(state.get()), NV_DATA_S(slope.get()));
  for (int i = 0; i < n; ++i) {
    NV_Ith_S(is_differential.get(), i) = problem.is_algebraic(i) ? 0.0 : 1.0;
    NV_Ith_S(absolute.get(), i) = (problem.is_algebraic(i) ? problem.looseness() : 1.0) * tolerances.absolute;
  }
  void* ida = IDACreate(context);
  check(IDASetErrHandlerFn(ida, keep_quiet, nullptr), "the error handler");
  check(IDAInit(ida, ida_residual, 0.0, state.get(), slope.get()), "the problem");
  check(IDASVtolerances(ida, tolerances.relative, absolute.get()), "the tolerances");
  check(IDASetUserData(ida, &data), "the user data");
  check(IDASetId(ida, is_differential.get()), "the kinds of variables");
  check(IDASetSuppressAlg(ida, SUNTRUE), "the error test");
  check(IDASetMaxNumSteps(ida, max_steps), "the number of steps");
  check(IDASetStopTime(ida, t_end), "t_end");
  const bool is_dense = kind == Factorization::dense;
  const Owned<SUNMatrix> matrix(
      is_dense ? SUNDenseMatrix(n, n, context)
               : SUNSparseMatrix(n, n, static_cast<sunindextype>(data.row.size()), CSC_MAT, context));
  const Owned<SUNLinearSolver> solver(is_dense ? SUNLinSol_Dense(state.get(), matrix.get(), context)
                                               : SUNLinSol_KLU(state.get(), matrix.get(), context));
  check(IDASetLinearSolver(ida, solver.get(), matrix.get()), "the linear solver");
  check(IDASetJacFn(ida, is_dense ? ida_dense_jacobian : ida_sparse_jacobian), "the Jacobian");

  Outcome outcome;
  double t = 0.0;
  outcome.is_success = IDASolve(ida, t_end, &t, state.get(), slope.get(), IDA_NORMAL) >= 0;
  long convergence_failures = 0;
  IDAGetNumSteps(ida, &outcome.steps);
  IDAGetNumResEvals(ida, &outcome.evaluations);
  IDAGetNumJacEvals(ida, &outcome.jacobians);
  IDAGetNumNonlinSolvIters(ida, &outcome.iterations);
  IDAGetNumErrTestFails(ida, &outcome.rejected);
  IDAGetNumNonlinSolvConvFails(ida, &convergence_failures);
  outcome.rejected += convergence_failures;
  y = values_of(state.get());
  IDAFree(&ida);
  return outcome;
}

Outcome solve_with_cvode(OdeProblem& problem, double t_end, Tolerances tolerances, Corrector corrector, bool projects,
                         std::vector<double>& y) {
  const Context context;
  const Owned<N_Vector> state = start_of(problem, context);
  void* cvode = CVodeCreate(CV_BDF, context);
  check(CVodeSetErrHandlerFn(cvode, keep_quiet, nullptr), "the error handler");
  check(CVodeInit(cvode, ode_rate, 0.0, state.get()), "the problem");
  check(CVodeSStolerances(cvode, tolerances.relative, tolerances.absolute), "the tolerances");
  check(CVodeSetUserData(cvode, &problem), "the user data");
  check(CVodeSetMaxNumSteps(cvode, max_steps), "the number of steps");
  check(CVodeSetStopTime(cvode, t_end), "t_end");
  Owned<SUNMatrix> matrix;
  Owned<SUNLinearSolver> linear_solver;
  Owned<SUNNonlinearSolver> fixed_point;
  const bool has_newton = corrector != Corrector::fixed_point;
  if (corrector == Corrector::newton_stald) check(CVodeSetStabLimDet(cvode, SUNTRUE), "the stability limit detection");
  if (has_newton) {
    matrix.reset(SUNDenseMatrix(problem.size(), problem.size(), context));
    linear_solver.reset(SUNLinSol_Dense(state.get(), matrix.get(), context));
    check(CVodeSetLinearSolver(cvode, linear_solver.get(), matrix.get()), "the linear solver");
  } else {
    fixed_point.reset(SUNNonlinSol_FixedPoint(state.get(), 0, context));
    check(CVodeSetNonlinearSolver(cvode, fixed_point.get()), "the nonlinear solver");
  }
  if (projects) {
    check(CVodeSetProjFn(cvode, cvode_projection), "the projection");
    check(CVodeSetProjErrEst(cvode, SUNTRUE), "the projection of the error");
  }

  Outcome outcome;
  double t = 0.0;
  outcome.is_success = CVode(cvode, t_end, state.get(), &t, CV_NORMAL) >= 0;
  long convergence_failures = 0, difference_evaluations = 0;
  CVodeGetNumSteps(cvode, &outcome.steps);
  CVodeGetNumRhsEvals(cvode, &outcome.evaluations);
  if (has_newton) {
    CVodeGetNumJacEvals(cvode, &outcome.jacobians);
    CVodeGetNumLinRhsEvals(cvode, &difference_evaluations);
  }
  CVodeGetNumNonlinSolvIters(cvode, &outcome.iterations);
  CVodeGetNumErrTestFails(cvode, &outcome.rejected);
  CVodeGetNumNonlinSolvConvFails(cvode, &convergence_failures);
  outcome.evaluations += difference_evaluations;
  outcome.rejected += convergence_failures;
  y = values_of(state.get());
  CVodeFree(&cvode);
  return outcome;
}

Outcome solve_with_arkode(OdeProblem& problem, double t_end, double tolerance, int order, std::vector<double>& y) {
  const Context context;
  const Owned<N_Vector> state = start_of(problem, context);
  void* erk = ERKStepCreate(ode_rate, 0.0, state.get(), context);
  check(ERKStepSetErrHandlerFn(erk, keep_quiet, nullptr), "the error handler");
  check(ERKStepSStolerances(erk, tolerance, tolerance), "the tolerances");
  check(ERKStepSetUserData(erk, &problem), "the user data");
  check(ERKStepSetMaxNumSteps(erk, max_steps), "the number of steps");
  check(ERKStepSetOrder(erk, order), "the order");
  check(ERKStepSetStopTime(erk, t_end), "t_end");

  Outcome outcome;
  double t = 0.0;
  outcome.is_success = ERKStepEvolve(erk, t_end, state.get(), &t, ARK_NORMAL) >= 0;
  ERKStepGetNumSteps(erk, &outcome.steps);
  ERKStepGetNumRhsEvals(erk, &outcome.evaluations);
  ERKStepGetNumErrTestFails(erk, &outcome.rejected);
  y = values_of(state.get());
  ERKStepFree(&erk);
  return outcome;
}

}  // namespace bench
