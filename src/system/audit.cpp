#include "kreisel/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/decompositions.hpp"
#include "system/dense.hpp"
#include "system/differences.hpp"

namespace kreisel::system {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double largest(const Vector& x) { return x.size() == 0 ? 0.0 : x.lpNorm<Eigen::Infinity>(); }

// ---- differences

constexpr std::array<double, 6> audit_steps{0x1p-5, 0x1p-7, 0x1p-9, 0x1p-11, 0x1p-13, 0x1p-15};

/// Changes below this part of the largest entry need no smaller step.
constexpr double fully_settled = 1e-12;
/// Once a change is below this part of the largest entry, growing changes are round-off and end the search: further on
/// two estimates may agree by chance.
constexpr double nearly_settled = 1e-6;

/// A value and by how much it changed with the last step.
struct Settled {
  Vector value, change;
};
/// estimate(h), entry by entry at the h at which it changed least; `steps` fall. Stops where all changes are round-off.
Settled settle(const std::function<Vector(double h)>& estimate, std::span<const double> steps) {
  Vector coarse = estimate(steps.front());
  Settled best{Vector::Constant(coarse.size(), std::numeric_limits<double>::quiet_NaN()),
               Vector::Constant(coarse.size(), infinity)};
  std::vector<bool> is_final(coarse.size(), false);
  for (const double h : steps.subspan(1)) {
    Vector fine = estimate(h);
    const double size = largest(fine);
    for (Eigen::Index i = 0; i < fine.size(); ++i) {
      if (is_final[i]) continue;
      const double change = std::abs(fine[i] - coarse[i]);
      const bool shrinks = change < best.change[i];
      if (shrinks) best.value[i] = fine[i], best.change[i] = change;
      is_final[i] = best.change[i] <= (shrinks ? fully_settled : nearly_settled) * size;
    }
    if (std::find(is_final.begin(), is_final.end(), false) == is_final.end()) break;
    coarse.swap(fine);
  }
  return best;
}

/// A matrix of derivatives, and by how much each entry changed with the last step.
struct Differences {
  Matrix value, change;
};

constexpr double close_step = 0x1p-17, closest_step = 0x1p-19;

/// A force that changes within a narrow range, as friction at rest, looks constant over wide steps: two of them agree on zero.
/// Where two narrow steps agree on another value, that value is right.
void look_closer(const Vector& close, const Vector& closest, Settled& settled) {
  const double noise = closest.size() > 0 ? 1e-6 * closest.lpNorm<Eigen::Infinity>() : 0.0;
  for (Eigen::Index i = 0; i < closest.size(); ++i) {
    const double change = std::abs(closest[i] - close[i]), missed = std::abs(closest[i] - settled.value[i]);
    if (missed > 1e-4 * std::max(std::abs(closest[i]), std::abs(settled.value[i])) && missed > 1e3 * change &&
        missed > noise)
      settled.value[i] = closest[i], settled.change[i] = change;
  }
}

/// Column j is the derivative of s ↦ f(j, s) with the natural length scale[j].
Differences differentiate_columns(const std::function<Vector(int, double)>& f, const Vector& scale, Eigen::Index rows) {
  Differences d{Matrix(rows, scale.size()), Matrix(rows, scale.size())};
  for (int j = 0; j < scale.size(); ++j) {
    const Curve column = [&](double s) { return f(j, s); };
    Settled settled = settle([&](double h) { return slope(column, h * scale[j]).value; }, audit_steps);
    look_closer(slope(column, close_step * scale[j]).value, slope(column, closest_step * scale[j]).value, settled);
    d.value.col(j) = settled.value;
    d.change.col(j) = settled.change;
  }
  return d;
}

Vector at_least_one(const Vector& x) { return x.cwiseAbs().cwiseMax(1.0); }

// ---- the audit

constexpr double relative_tolerance = 1e-9;
constexpr double round_off_of_terms = 1e-11;
constexpr double exact_tolerance = 1e-12;

/// Slower motions are treated like this one: rates that a system differentiates numerically do not vanish at rest.
constexpr double slowest = 0.1;

using Label = std::function<std::string(Eigen::Index)>;

class Auditor {
 public:
  Auditor(const System& system, const Motion& m, ConstVectorRef lambda)
      : system_(system),
        pattern_(system.pattern()),
        nv_(system.space().nv()),
        rows_(pattern_.rows()),
        position_rows_(pattern_.position_rows()),
        m_(m),
        lambda_(lambda),
        at_(nv_, position_rows_, rows_) {
    linearize();
    evaluate();
    size_terms();
  }

  std::vector<AuditFinding> findings() && {
    check_mass();
    check_accelerations();
    check_velocities();
    check_configuration();
    check_multipliers();
    check_time();
    check_shortcuts();
    return std::move(findings_);
  }

 private:
  /// Into storage that has been used before, as a solver does.
  void linearize() {
    Motion elsewhere = m_;
    elsewhere.t += 0.3;
    system_.space().move(m_.q, Vector(Vector::Constant(nv_, 0.1)), elsewhere.q);
    elsewhere.v.array() += 0.7;
    elsewhere.a.array() += 0.9;
    KktBlocks blocks(pattern_);
    system_.linearize(elsewhere, Vector(lambda_ + Vector::Ones(rows_)), blocks);
    system_.linearize(m_, lambda_, blocks);
    M_ = dense_coupling(system_, blocks.M);
    D_ = dense_coupling(system_, blocks.D);
    K_ = dense_coupling(system_, blocks.K);
    B_ = dense_rows(system_, blocks.B);
    H_ = dense_rows(system_, blocks.H);
    F_ = dense_forces(system_, blocks.F);
  }

  void evaluate() {
    system_.residual(m_, lambda_, at_);
    acceleration_gap_.setZero(rows_);
    system_.acceleration_gap(m_, acceleration_gap_);
  }

  /// Bounds of the summands of each function, the largest of a block or row group for all of its rows: the rows of a
  /// rotated vector share their round-off.
  void size_terms() {
    force_terms_ = at_.force.cwiseAbs() + M_.cwiseAbs() * m_.a.cwiseAbs() + D_.cwiseAbs() * m_.v.cwiseAbs() +
                   F_.cwiseAbs() * lambda_.cwiseAbs();
    for (const lie::Block& block : system_.space().blocks()) level(force_terms_, block.v_at, block.nv);

    reach_.setZero(rows_);
    for (int i = 0; i < rows_; ++i) reach_[i] = B_.row(i).lpNorm<Eigen::Infinity>() * std::max(1.0, largest(m_.q));
    gap_terms_ = at_.gap.cwiseAbs() + reach_.head(position_rows_);
    rate_terms_ = slowest * reach_ + at_.rate.cwiseAbs() + B_.cwiseAbs() * m_.v.cwiseAbs();
    acceleration_terms_ = slowest * reach_ + acceleration_gap_.cwiseAbs() + B_.cwiseAbs() * m_.a.cwiseAbs() +
                          H_.cwiseAbs() * m_.v.cwiseAbs();
    for (const RowGroup& group : pattern_.groups()) {
      if (group.level == RowLevel::position) level(gap_terms_, group.at, group.rows);
      level(rate_terms_, group.at, group.rows);
      level(acceleration_terms_, group.at, group.rows);
    }
  }
  static void level(Vector& terms, int at, int n) { terms.segment(at, n).setConstant(terms.segment(at, n).maxCoeff()); }

  // -- one function per argument of residual

  void check_mass() {
    compare("M symmetric", M_, {M_.transpose(), {}}, exact_tolerance_of(M_), coordinate(), coordinate());
    const double smallest = symmetric_eigenvalues(Matrix(0.5 * (M_ + M_.transpose())))[0];
    const double deficit = smallest >= 0.0 ? 0.0 : -smallest;
    findings_.push_back(
        {"M positive semidefinite", deficit, nv_ * exact_tolerance * M_.cwiseAbs().maxCoeff(), "smallest eigenvalue"});
  }

  void check_accelerations() {
    const Vector scale = at_least_one(m_.a);
    const Differences d = differentiate_columns(
        [&](int j, double s) {
          Motion moved = m_;
          moved.a[j] += s;
          return residual(moved, lambda_);
        },
        scale, residual_size());
    compare("M = d force/d a", M_, force_part(d), tolerance_of(M_, force_terms_, scale), coordinate(), coordinate());
  }

  void check_velocities() {
    const Vector scale = at_least_one(m_.v);
    const Differences d = differentiate_columns(
        [&](int j, double s) {
          Motion moved = m_;
          moved.v[j] += s;
          return residual(moved, lambda_);
        },
        scale, residual_size());
    compare("D = d force/d v", D_, force_part(d), tolerance_of(D_, force_terms_, scale), coordinate(), coordinate());
    compare("B = d rate/d v", B_, rate_part(d), tolerance_of(B_, rate_terms_, scale), row(), coordinate());
  }

  void check_configuration() {
    const Vector scale = Vector::Ones(nv_);
    const Differences d = differentiate_columns(
        [&](int j, double s) {
          Motion moved = m_;
          system_.space().move(m_.q, Vector(s * Vector::Unit(nv_, j)), moved.q);
          return residual(moved, lambda_);
        },
        scale, residual_size());
    compare("K = d force/d q", K_, force_part(d), tolerance_of(K_, force_terms_, scale), coordinate(), coordinate());
    const Matrix B = B_.topRows(position_rows_);
    compare("B = d gap/d q", B, gap_part(d), tolerance_of(B, gap_terms_, scale), row(), coordinate());
    const Matrix at_rest = relative_tolerance * slowest * reach_.replicate(1, nv_);
    compare("H = d rate/d q", H_, rate_part(d), tolerance_of(H_, rate_terms_, scale) + at_rest, row(), coordinate());
  }

  void check_multipliers() {
    const Vector scale = at_least_one(lambda_);
    const Differences d = differentiate_columns(
        [&](int j, double s) { return residual(m_, lambda_ + s * Vector::Unit(rows_, j)); }, scale, residual_size());
    compare("F = d force/d lambda", F_, force_part(d), tolerance_of(F_, force_terms_, scale), coordinate(), row());
    if (system_.is_affine_in_multipliers() && pattern_.is_all_dynamic())
      compare("F = B^T when affine in lambda", F_, {B_.transpose(), {}}, exact_tolerance_of(F_), coordinate(), row());
  }

  void check_time() {
    const double scale = 1.0 / std::max({1.0, largest(m_.v), std::sqrt(largest(m_.a))});
    const Differences d = differentiate_columns(
        [&](int, double s) {
          Motion moved = m_;
          moved.t += s;
          system_.space().move(m_.q, Vector(s * m_.v + (0.5 * s * s) * m_.a), moved.q);
          moved.v += s * m_.a;
          return residual(moved, lambda_);
        },
        Vector::Constant(1, scale), residual_size());
    const Label nothing = [](Eigen::Index) { return std::string(); };
    const double round_off = round_off_of_terms / scale;
    compare("rate = d gap/dt", at_.rate.head(position_rows_), gap_part(d),
            relative_tolerance * rate_terms_.head(position_rows_) + round_off * gap_terms_, row(), nothing);
    compare("acceleration_gap = d rate/dt", acceleration_gap_, rate_part(d),
            relative_tolerance * acceleration_terms_ + round_off * rate_terms_, row(), nothing);
  }

  /// mass_and_jacobian and constraint_force may take short cuts; they must not depend on v, v̇ and λ.
  void check_shortcuts() {
    Motion still = m_;
    still.v.setZero();
    still.a.setZero();
    KktBlocks blocks(pattern_);
    system_.mass_and_jacobian(still, blocks);
    compare("mass_and_jacobian: M", dense_coupling(system_, blocks.M), {M_, {}}, exact_tolerance_of(M_), coordinate(),
            coordinate());
    compare("mass_and_jacobian: B", dense_rows(system_, blocks.B), {B_, {}}, exact_tolerance_of(B_), row(),
            coordinate());

    Matrix forces(nv_, position_rows_);
    for (int i = 0; i < position_rows_; ++i) {
      Vector force = Vector::Zero(nv_), mu = Vector::Unit(rows_, i);
      mu.tail(rows_ - position_rows_).setOnes();  // velocity rows must have no effect
      system_.constraint_force(still, mu, force);
      forces.col(i) = force;
    }
    const Matrix transposed = B_.topRows(position_rows_).transpose();
    compare("constraint_force = B^T mu", forces, {transposed, {}}, exact_tolerance_of(transposed), coordinate(), row());
    check_sweeps();
  }

  /// constraints and saddle_point give the same results as the functions they replace.
  void check_sweeps() {
    const Label nothing = [](Eigen::Index) { return std::string(); };
    const Vector no_lambda = Vector::Zero(rows_);
    Motion m = m_;
    m.a.setZero();
    Residual expected(nv_, position_rows_, rows_), found = expected;
    Vector z(rows_), found_z(rows_);
    KktBlocks blocks(pattern_), found_blocks(pattern_);
    system_.residual(m, no_lambda, expected);
    system_.acceleration_gap(m, z);
    system_.mass_and_jacobian(m, blocks);
    system_.constraints(m, no_lambda, found);
    const auto same = [&](const char* law, const Matrix& value, const Matrix& wanted, const Label& row) {
      compare(law, value, {wanted, {}}, exact_tolerance_of(wanted), row, nothing);
    };
    same("constraints: gap", found.gap, expected.gap, row());
    same("constraints: rate", found.rate, expected.rate, row());
    system_.saddle_point(m, no_lambda, found_blocks, found, found_z);
    same("saddle_point: force", found.force, expected.force, coordinate());
    same("saddle_point: z", found_z, z, row());
    same("saddle_point: M", found_blocks.M, blocks.M, nothing);
    same("saddle_point: B", found_blocks.B, blocks.B, nothing);
  }

  // -- the stacked residual

  Eigen::Index residual_size() const { return nv_ + position_rows_ + rows_; }
  Vector residual(const Motion& m, const Vector& lambda) const {
    Residual r(nv_, position_rows_, rows_);
    system_.residual(m, lambda, r);
    Vector all(residual_size());
    all.head(nv_) = r.force;
    all.segment(nv_, position_rows_) = r.gap;
    all.tail(rows_) = r.rate;
    return all;
  }
  Differences force_part(const Differences& d) const { return {d.value.topRows(nv_), d.change.topRows(nv_)}; }
  Differences gap_part(const Differences& d) const {
    return {d.value.middleRows(nv_, position_rows_), d.change.middleRows(nv_, position_rows_)};
  }
  Differences rate_part(const Differences& d) const { return {d.value.bottomRows(rows_), d.change.bottomRows(rows_)}; }

  // -- tolerances and comparison

  /// For a derivative A with the natural lengths `scale` of a function with the given terms.
  static Matrix tolerance_of(const Matrix& A, const Vector& terms, const Vector& scale) {
    Matrix tolerance = round_off_of_terms * terms * scale.cwiseInverse().transpose();
    for (Eigen::Index i = 0; i < A.rows() && A.cols() > 0; ++i)
      tolerance.row(i).array() += relative_tolerance * A.row(i).lpNorm<Eigen::Infinity>();
    // Stiff parts that cancel leave round-off, but no large term in the sum.
    if (A.size() > 0) tolerance.array() += exact_tolerance * A.cwiseAbs().maxCoeff();
    return tolerance;
  }
  static Matrix exact_tolerance_of(const Matrix& A) {
    return Matrix::Constant(A.rows(), A.cols(), A.size() == 0 ? 0.0 : exact_tolerance * A.cwiseAbs().maxCoeff());
  }

  Label coordinate() const {
    return [this](Eigen::Index i) {
      const auto& blocks = system_.space().blocks();
      std::size_t b = 0;
      while (i >= blocks[b].v_at + blocks[b].nv) ++b;
      return fmt::format("'{}' coordinate {}", pattern_.block_name(static_cast<int>(b)), i - blocks[b].v_at + 1);
    };
  }
  Label row() const {
    return [this](Eigen::Index i) { return pattern_.row_name(static_cast<int>(i)); };
  }

  /// Adds the finding for the entry that is worst relative to its tolerance; nothing for an empty matrix.
  void compare(std::string what, const Matrix& claimed, const Differences& expected, const Matrix& tolerance,
               const Label& row_label, const Label& column_label) {
    if (claimed.size() == 0) return;
    Eigen::Index row = 0, column = 0;
    double worst = -1.0;
    for (Eigen::Index j = 0; j < claimed.cols(); ++j)
      for (Eigen::Index i = 0; i < claimed.rows(); ++i) {
        const double error = std::abs(claimed(i, j) - expected.value(i, j));
        const double excess = std::isnan(error) ? infinity : error == 0.0 ? 0.0 : error / tolerance(i, j);
        if (excess > worst) worst = excess, row = i, column = j;
      }
    AuditFinding finding{std::move(what), std::abs(claimed(row, column) - expected.value(row, column)),
                         tolerance(row, column), row_label(row)};
    if (const std::string label = column_label(column); !label.empty()) finding.where += ", " + label;
    if (!finding.ok()) {
      finding.where +=
          fmt::format(": claimed {:.10g}, expected {:.10g}", claimed(row, column), expected.value(row, column));
      if (expected.change.size() > 0 && !(expected.change(row, column) <= finding.tolerance))
        finding.where += fmt::format("; differences converge only to {:.1e}, is the system smooth here?",
                                     expected.change(row, column));
    }
    findings_.push_back(std::move(finding));
  }

  const System& system_;
  const Pattern& pattern_;
  int nv_, rows_, position_rows_;
  Motion m_;
  Vector lambda_;
  Residual at_;
  Vector acceleration_gap_;
  Matrix M_, D_, K_, B_, H_, F_;
  Vector reach_;  ///< how much a row can change
  Vector force_terms_, gap_terms_, rate_terms_, acceleration_terms_;
  std::vector<AuditFinding> findings_;
};

}  // namespace

std::vector<AuditFinding> audit(const System& system, const Motion& m, ConstVectorRef lambda) {
  return Auditor(system, m, lambda).findings();
}

}  // namespace kreisel::system
