#include "impose.hpp"

#include <fmt/format.h>

#include "base/decompositions.hpp"
#include "kkt.hpp"

namespace kreisel::solve {

std::string impose(const system::System& system, system::Motion& m, const Matrix& S, const Vector& s,
                   Counters& counters, std::string_view linear_solver) {
  constexpr double tolerance = 1e-9;  // relative to the requested and the present velocities
  Kkt kkt(system, counters, linear_solver);
  system::Motion moved = m;
  if (!kkt.factorize(moved) || !kkt.project_velocity(moved)) return "the matrix [M B'; B 0] is singular";
  Matrix jumps(S.cols(), S.rows());
  for (Eigen::Index i = 0; i < S.rows(); ++i) {
    Vector impulse = S.row(i).transpose(), jump(S.cols());
    kkt.jump_by(impulse, jump);
    jumps.col(i) = jump;
  }
  const Vector before = S * moved.v;
  Matrix compliance = S * jumps;
  // Units differ between translations and rotations.
  const Vector scale = compliance.diagonal().unaryExpr([](double d) { return d > 0.0 ? 1.0 / std::sqrt(d) : 0.0; });
  compliance = (scale.asDiagonal() * compliance * scale.asDiagonal()).eval();
  const Vector push = LeastNorm(compliance, 1e-9).solve(scale.asDiagonal() * (s - before));
  moved.v += jumps * (scale.asDiagonal() * push);
  const Vector miss = (S * moved.v - s).cwiseAbs(),
               size = S.cwiseAbs() * (m.v.cwiseAbs() + moved.v.cwiseAbs()) + s.cwiseAbs();
  // Weighted by the inertia that each row moves, translations and rotations compare. A row that nothing moves has its own size alone.
  const double largest = scale.cwiseProduct(size).maxCoeff();
  const Vector allowed = tolerance * scale.binaryExpr(size, [&](double weight, double own) {
    return weight > 0.0 ? largest / weight : own;
  });
  Eigen::Index worst = 0;
  (miss - allowed).maxCoeff(&worst);
  if (!(miss[worst] <= allowed[worst]))
    return fmt::format("the constraints do not allow the given velocities: one of them is {:.6g} instead of {:.6g}",
                       (S.row(worst) * moved.v).value(), s[worst]);
  m = moved;
  return {};
}

}  // namespace kreisel::solve
