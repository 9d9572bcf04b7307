// A small system in ℝⁿ from formulas written once, for any type of number; all derivatives follow from them.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/dual.hpp"
#include "kreisel/system.hpp"
#include "system/precise.hpp"

namespace kreisel::models {

/// Formulas has n, m (coordinates, constraints) and
///
///     std::vector<system::RowGroup> groups()                 rows by name; their blocks are {0}
///     template <class T> void mass(const T* q, Square<T>& M)       M(q), symmetric
///     template <class T> void force(const T& t, const T* q, const T* v, T* g)  g of M v̇ + g + Bᵀλ = 0
///     template <class T> void constraint(const T& t, const T* q, T* phi)
///     double energy(const double* q, const double* v)
///     double dissipation(const double* q, const double* v)    where there are dampers: the power they take
///
/// Derivatives are exact up to round-off: duals, in nested form where second ones are needed.
template <class Formulas>
class FormulaSystem final : public system::System, public system::Precise {
 public:
  static constexpr int n = Formulas::n, m = Formulas::m;
  template <class T>
  using Square = std::array<std::array<T, n>, n>;

  explicit FormulaSystem(Formulas formulas, const std::string& name)
      : System(space_of(), system::Pattern(space_of(), formulas.groups(), {}, {}, {name})),
        formulas_(std::move(formulas)) {}

  void residual(const lie::Motion& x, ConstVectorRef lambda, system::Residual& out) const override {
    Square<double> M{};
    formulas_.mass(x.q.data(), M);
    formulas_.force(x.t, x.q.data(), x.v.data(), out.force.data());
    const std::array<Slopes<double>, m> phi = constraint_slopes(x);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) out.force[i] += M[i][j] * x.a[j];
    for (int r = 0; r < m; ++r) {
      out.gap[r] = phi[r].value;
      out.rate[r] = phi[r].slope[n];
      for (int j = 0; j < n; ++j) {
        out.rate[r] += phi[r].slope[j] * x.v[j];
        out.force[j] += phi[r].slope[j] * lambda[r];
      }
    }
  }

  void linearize(const lie::Motion& x, ConstVectorRef lambda, system::KktBlocks& out) const override {
    mass_and_jacobian(x, out);
    store_F(out);
    store_D(x, out);
    store_K(x, lambda, out);
    store_H(x, out);
  }

  void mass_and_jacobian(const lie::Motion& x, system::KktBlocks& out) const override {
    Square<double> M{};
    formulas_.mass(x.q.data(), M);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) out.M[j * n + i] = M[i][j];
    const std::array<Slopes<double>, m> phi = constraint_slopes(x);
    for_rows(
        [&](int row, double* B, int rows, int r) {
          for (int j = 0; j < n; ++j) B[j * rows + r] = phi[row].slope[j];
        },
        out.B);
  }

  void constraint_force(const lie::Motion& x, ConstVectorRef mu, VectorRef out) const override {
    const std::array<Slopes<double>, m> phi = constraint_slopes(x);
    out.setZero();
    for (int r = 0; r < m; ++r)
      for (int j = 0; j < n; ++j) out[j] += phi[r].slope[j] * mu[r];
  }

  void acceleration_gap(const lie::Motion& x, VectorRef out) const override {
    const std::array<double, m> curve = curves<double>(x.t, x.q.data(), x.v.data(), x.a.data());
    for (int r = 0; r < m; ++r) out[r] = curve[r];
  }

  bool rates(const Quad& t, const Quad* q, const Quad* v, Quad* q_rate, Quad* v_rate, Quad* lambda) const override {
    constexpr int size = n + m;
    Square<Quad> M{};
    std::array<Quad, n> g, zero{};
    formulas_.mass(q, M);
    formulas_.force(t, q, v, g.data());
    const std::array<Slopes<Quad>, m> phi = constraint_slopes<Quad>(t, q);
    const std::array<Quad, m> curve = curves<Quad>(t, q, v, zero.data());
    std::array<Quad, size * size> A{};
    std::array<Quad, size> b;
    for (int i = 0; i < n; ++i) {
      b[i] = -g[i];
      for (int j = 0; j < n; ++j) A[i * size + j] = M[i][j];
    }
    for (int r = 0; r < m; ++r) {
      b[n + r] = -curve[r];
      for (int j = 0; j < n; ++j) A[(n + r) * size + j] = A[j * size + n + r] = phi[r].slope[j];
    }
    if (!system::eliminate(size, A.data(), b.data())) return false;
    std::copy(v, v + n, q_rate);
    std::copy(b.begin(), b.begin() + n, v_rate);
    std::copy(b.begin() + n, b.end(), lambda);
    return true;
  }

  double energy(const lie::Motion& x) const override { return formulas_.energy(x.q.data(), x.v.data()); }
  bool is_conservative() const override { return !dissipates; }
  system::Power power(const lie::Motion& x, ConstVectorRef) const override {
    if constexpr (dissipates) return {.dissipated = formulas_.dissipation(x.q.data(), x.v.data())};
    return {};
  }

 private:
  template <class T>
  using Slopes = Dual<T, n + 1>;  ///< by q and, last, t

  static constexpr bool dissipates = requires(const Formulas& f, const double* x) { f.dissipation(x, x); };

  static lie::Space space_of() { return lie::Space({lie::Factor{lie::GroupId::rn, n}}); }

  template <class T>
  std::array<Slopes<T>, m> constraint_slopes(const T& t, const T* at) const {
    std::array<Slopes<T>, n> q;
    for (int i = 0; i < n; ++i) q[i] = Slopes<T>(at[i], i);
    std::array<Slopes<T>, m> phi;
    formulas_.constraint(Slopes<T>(t, n), q.data(), phi.data());
    return phi;
  }
  std::array<Slopes<double>, m> constraint_slopes(const lie::Motion& x) const {
    return constraint_slopes<double>(x.t, x.q.data());
  }

  /// d²/ds² of Φ(t + s, q + s v + s²/2 a).
  template <class T>
  std::array<T, m> curves(const T& t, const T* at, const T* v, const T* a) const {
    using First = Dual<T, 1>;
    using Second = Dual<First, 1>;
    const auto along = [](const T& value, const T& slope, const T& curve) {
      Second s;
      s.value.value = value;
      s.value.slope[0] = slope;
      s.slope[0].value = slope;
      s.slope[0].slope[0] = curve;
      return s;
    };
    std::array<Second, n> q;
    for (int i = 0; i < n; ++i) q[i] = along(at[i], v[i], a[i]);
    std::array<Second, m> phi;
    formulas_.constraint(along(t, T(1.0), T(0.0)), q.data(), phi.data());
    std::array<T, m> out;
    for (int r = 0; r < m; ++r) out[r] = phi[r].slope[0].slope[0];
    return out;
  }

  /// work(row, values of its group, rows of its group, number in the group).
  template <class Work>
  void for_rows(Work work, Vector& values) const {
    for (const system::Pattern::Touch& touch : pattern().touches()) {
      const system::RowGroup& group = pattern().groups()[touch.group];
      for (int r = 0; r < group.rows; ++r) work(group.at + r, values.data() + touch.at, group.rows, r);
    }
  }

  void store_F(system::KktBlocks& out) const {
    for (const system::Pattern::Touch& touch : pattern().touches()) {
      const int rows = pattern().groups()[touch.group].rows;
      for (int r = 0; r < rows; ++r)
        for (int j = 0; j < n; ++j) out.F[touch.at + r * n + j] = out.B[touch.at + j * rows + r];
    }
  }

  void store_D(const lie::Motion& x, system::KktBlocks& out) const {
    using T = Dual<double, n>;
    std::array<T, n> q, v, g;
    for (int i = 0; i < n; ++i) {
      q[i] = T(x.q[i]);
      v[i] = T(x.v[i], i);
    }
    formulas_.force(T(x.t), q.data(), v.data(), g.data());
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) out.D[j * n + i] = g[i].slope[j];
  }

  /// ∂(M v̇ + g)/∂q, and the Hessian of λ·Φ.
  void store_K(const lie::Motion& x, ConstVectorRef lambda, system::KktBlocks& out) const {
    using T = Dual<double, n>;
    std::array<T, n> q, v, g;
    Square<T> M{};
    for (int i = 0; i < n; ++i) {
      q[i] = T(x.q[i], i);
      v[i] = T(x.v[i]);
    }
    formulas_.mass(q.data(), M);
    formulas_.force(T(x.t), q.data(), v.data(), g.data());
    using Second = Dual<T, n>;
    std::array<Second, n> twice;
    for (int i = 0; i < n; ++i) twice[i] = Second(q[i], i);
    std::array<Second, m> phi;
    formulas_.constraint(Second(x.t), twice.data(), phi.data());
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double sum = g[i].slope[j];
        for (int k = 0; k < n; ++k) sum += M[i][k].slope[j] * x.a[k];
        for (int r = 0; r < m; ++r) sum += lambda[r] * phi[r].slope[i].slope[j];
        out.K[j * n + i] = sum;
      }
  }

  /// By q of the derivative along (v, 1).
  void store_H(const lie::Motion& x, system::KktBlocks& out) const {
    using First = Dual<double, 1>;
    using Second = Dual<First, n>;
    std::array<Second, n> q;
    for (int i = 0; i < n; ++i) {
      First inner(x.q[i]);
      inner.slope[0] = x.v[i];
      q[i] = Second(inner, i);
    }
    Second t;
    t.value = First(x.t, 0);
    std::array<Second, m> phi;
    formulas_.constraint(t, q.data(), phi.data());
    for_rows(
        [&](int row, double* H, int rows, int r) {
          for (int j = 0; j < n; ++j) H[j * rows + r] = phi[row].slope[j].slope[0];
        },
        out.H);
  }

  Formulas formulas_;
};

}  // namespace kreisel::models
