// SUNDIALS as a peer: its three integrators behind one call each, with the settings that work best on our problems.
#pragma once

#include <vector>

namespace bench {

/// F(y, ẏ) = 0 for IDA.
class DaeProblem {
 public:
  virtual ~DaeProblem() = default;
  virtual int size() const = 0;
  virtual void start(double* y, double* y_dot) const = 0;
  virtual bool is_algebraic(int i) const = 0;
  /// How many times the absolute tolerance of algebraic variables exceeds that of the others.
  virtual double looseness() const = 0;
  virtual void residual(const double* y, const double* y_dot, double* r) const = 0;
  /// ∂F/∂y + c ∂F/∂ẏ, dense by columns, zero on entry.
  virtual void jacobian(const double* y, double c, double* columns) const = 0;
  /// Entries that can be non-zero, by columns.
  virtual std::vector<bool> jacobian_pattern() const = 0;
};

/// ẏ = f(y) for CVODE and ARKODE.
class OdeProblem {
 public:
  virtual ~OdeProblem() = default;
  virtual int size() const = 0;
  virtual void start(double* y) const = 0;
  virtual void rate(const double* y, double* f) = 0;

  /// y + correction lies on the constraints; `error`, unless null, loses its part across them. False: it cannot.
  virtual bool project(const double* /*y*/, double* /*correction*/, double* /*error*/) { return false; }
};

struct Outcome {
  bool is_success = false;
  long steps = 0, evaluations = 0, jacobians = 0, iterations = 0, rejected = 0;
};

enum class Factorization { dense, klu };
/// newton_stald: with CVODE's detection of the stability limit of BDF (Hindmarsh 1992).
enum class Corrector { fixed_point, newton, newton_stald };

struct Tolerances {
  double relative, absolute;
  Tolerances(double both) : relative(both), absolute(both) {}
  Tolerances(double rtol, double atol) : relative(rtol), absolute(atol) {}
};

// Each fills `y` with the state at t_end.

/// Algebraic variables are left out of the error test (with them: 323,000 steps on the top at 1e-6); their absolute
/// tolerance then only serves Newton's method.
Outcome solve_with_ida(const DaeProblem& problem, double t_end, Tolerances tolerances, Factorization kind,
                       std::vector<double>& y);
/// BDF. With a projection the error estimate is projected too.
Outcome solve_with_cvode(OdeProblem& problem, double t_end, Tolerances tolerances, Corrector corrector, bool projects,
                         std::vector<double>& y);
/// Explicit Runge-Kutta.
Outcome solve_with_arkode(OdeProblem& problem, double t_end, double tolerance, int order, std::vector<double>& y);

}  // namespace bench
