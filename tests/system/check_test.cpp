// The auditor itself: it accepts what is right and names what is wrong.
#include "kreisel/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "kreisel/own_system.hpp"
#include "models/catalogue.hpp"
#include "random_motion.hpp"
#include "system/dense.hpp"
#include "system/differences.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::system;
using lie::GroupId;

/// Another system with one answer falsified.
class Tampered : public System {
 public:
  explicit Tampered(const System& honest) : System(honest.space(), honest.pattern()), honest_(honest) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    honest_.residual(m, lambda, out);
    if (on_residual) on_residual(m, out);
  }
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override {
    const KktBlocks before = out;
    honest_.linearize(m, lambda, out);
    if (on_linearize) on_linearize(before, out);
  }
  void acceleration_gap(const Motion& m, VectorRef out) const override {
    honest_.acceleration_gap(m, out);
    if (on_acceleration_gap) on_acceleration_gap(out);
  }
  void mass_and_jacobian(const Motion& m, KktBlocks& out) const override {
    honest_.mass_and_jacobian(m, out);
    if (on_mass_and_jacobian) on_mass_and_jacobian(m, out);
  }
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override {
    honest_.constraint_force(m, mu, out);
    if (on_constraint_force) on_constraint_force(mu, out);
  }
  bool is_affine_in_multipliers() const override { return honest_.is_affine_in_multipliers(); }

  std::function<void(const Motion&, Residual&)> on_residual;
  std::function<void(const KktBlocks& before, KktBlocks&)> on_linearize;
  std::function<void(VectorRef)> on_acceleration_gap;
  std::function<void(const Motion&, KktBlocks&)> on_mass_and_jacobian;
  std::function<void(ConstVectorRef, VectorRef)> on_constraint_force;

 private:
  const System& honest_;
};

using Laws = std::vector<std::string>;

Laws violated(const std::vector<AuditFinding>& findings) {
  Laws list;
  for (const AuditFinding& finding : findings)
    if (!finding.ok()) list.push_back(finding.what);
  return list;
}

const AuditFinding& finding_named(const std::vector<AuditFinding>& findings, const std::string& what) {
  return *std::find_if(findings.begin(), findings.end(), [&](const AuditFinding& f) { return f.what == what; });
}

std::shared_ptr<const System> heavy_top(const char* group, const char* constraint) {
  const models::ModelInfo& info = models::find_model("heavy-top");
  ParameterValues parameters(info.parameters);
  parameters.set("heavy-top", info.parameters, "constraint", constraint);
  return models::make_model(info, group, parameters).system;
}

/// Two blocks, a driven constraint, a rolling row and a force that depends on λ: everything an audit can look at.
SystemFunctions everything() {
  SystemFunctions f;
  f.space = {{GroupId::rn, 2}, {GroupId::so3}};
  f.position_rows = 1;
  f.velocity_rows = 1;
  f.mass = [](const Vector& q) -> Matrix {
    Matrix M = Matrix::Identity(5, 5) * (2.0 + std::sin(q[0]));
    M(0, 3) = M(3, 0) = 0.3 * q[1];
    return M;
  };
  f.force = [](double t, const Vector& q, const Vector& v) -> Vector {
    Vector g = 0.2 * v * v.squaredNorm();
    g[0] += std::sin(q[1]) * q[3] + t;
    return g;
  };
  f.constraint = [](double t, const Vector& q) -> Vector {
    return Vector::Constant(1, q[0] * q[1] + q[2] * q[3] - std::sin(t));
  };
  f.velocity_constraint = [](double t, const Vector& q, const Vector& v) -> Vector {
    return Vector::Constant(1, std::cos(q[0]) * v[1] + q[5] * v[2] - t * t);
  };
  f.multiplier_force = [](double, const Vector&, const Vector& v, const Vector& lambda) -> Vector {
    return 0.1 * lambda.squaredNorm() * v;
  };
  return f;
}

struct Case {
  Motion m;
  Vector lambda;
};
Case random_case(const System& system) {
  samples::Source source;
  return {samples::random_motion(source, system.space()), samples::random_vector(source, system.pattern().rows())};
}
Laws violated(const System& system) {
  const auto [m, lambda] = random_case(system);
  return violated(audit(system, m, lambda));
}

// ---- differences

Vector monomial(int degree, double x) { return Vector::Constant(1, std::pow(x, degree)); }

TEST(Slope, IsExactForPolynomialsUpToDegreeEight) {
  for (int degree = 0; degree <= 8; ++degree) {
    const double at = 0.7, exact = degree * std::pow(at, degree - 1);
    EXPECT_NEAR(slope([&](double s) { return monomial(degree, at + s); }, 0.1).value[0], exact, 1e-13) << degree;
  }
}

TEST(SecondSlope, IsExactForPolynomialsUpToDegreeNine) {
  for (int degree = 0; degree <= 9; ++degree) {
    const double at = 0.7, exact = degree * (degree - 1) * std::pow(at, degree - 2);
    EXPECT_NEAR(second_slope([&](double s) { return monomial(degree, at + s); }, 0.1).value[0], exact, 1e-11) << degree;
  }
}

TEST(Slope, HasTheTruncationErrorOfTheHeader) {
  const double h = 0.4, x = 0.3;
  const Curve sine = [&](double s) { return Vector::Constant(1, std::sin(x + s)); };
  EXPECT_NEAR((slope(sine, h).value[0] - std::cos(x)) / (-std::pow(h, 8) * std::cos(x) / 630.0), 1.0, 0.1);
  EXPECT_NEAR((second_slope(sine, h).value[0] + std::sin(x)) / (std::pow(h, 8) * std::sin(x) / 3150.0), 1.0, 0.1);
}

// ---- what is right passes

TEST(Audit, AcceptsASystemWithEveryFeature) {
  const FunctionSystem system(everything());
  samples::Source source;
  for (const double speed : {0.0, 1.0, 20.0}) {
    const Motion m = samples::random_motion(source, system.space(), speed);
    const auto findings = audit(system, m, samples::random_vector(source, 2));
    EXPECT_EQ(violated(findings), Laws{}) << "speed " << speed;
    EXPECT_EQ(findings.size(), 20u);
  }
}

TEST(Audit, LeavesOutConstraintsWhereThereAreNone) {
  const auto system = heavy_top("so3", "body");
  const auto [m, lambda] = random_case(*system);
  const auto findings = audit(*system, m, lambda);
  EXPECT_EQ(violated(findings), Laws{});
  EXPECT_EQ(findings.size(), 8u);
}

TEST(Audit, FindsTheRightStepForFastAndForSlowFunctions) {
  for (const double length : {1e-3, 1e-2, 1.0, 1e2}) {
    SystemFunctions f;
    f.space = {{GroupId::rn, 1}};
    f.scale = Vector::Constant(1, length);
    f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
    f.force = [=](double, const Vector& q, const Vector& v) -> Vector {
      return Vector::Constant(1, length * std::tanh(q[0] / length) + length * std::tanh(v[0] / length));
    };
    const FunctionSystem system(f);
    Motion m(system.space());
    m.q[0] = 0.4 * length;
    m.v[0] = -0.3 * length;
    EXPECT_EQ(violated(audit(system, m, Vector())), Laws{}) << length;
  }
}

// ---- what is wrong is found

struct Falsification {
  const char* name;
  Vector KktBlocks::*field;
  Laws laws;
};
void PrintTo(const Falsification& f, std::ostream* out) { *out << f.name; }

class WrongDerivative : public testing::TestWithParam<Falsification> {};

/// Every single entry, off by 1e-7 of the largest one.
TEST_P(WrongDerivative, IsFoundAndNothingElse) {
  for (const char* group : {"r3xso3", "se3"})
    for (const char* constraint : {"body", "inertial"}) {
      const auto honest = heavy_top(group, constraint);
      const auto [m, lambda] = random_case(*honest);
      KktBlocks blocks(honest->pattern());
      honest->linearize(m, lambda, blocks);
      const Vector& values = blocks.*GetParam().field;
      for (int entry = 0; entry < values.size(); ++entry) {
        Tampered system(*honest);
        system.on_linearize = [&](const KktBlocks&, KktBlocks& out) {
          (out.*GetParam().field)[entry] += 1e-7 * values.lpNorm<Eigen::Infinity>();
        };
        const auto findings = audit(system, m, lambda);
        const Laws found = violated(findings);
        // A diagonal entry of M keeps it symmetric; the constraint force needs position rows.
        EXPECT_NE(std::find(found.begin(), found.end(), GetParam().laws.front()), found.end()) << group << " " << entry;
        for (const std::string& law : found)
          EXPECT_NE(std::find(GetParam().laws.begin(), GetParam().laws.end(), law), GetParam().laws.end())
              << law << " is not to blame, " << group << " " << entry;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Blocks, WrongDerivative,
    testing::Values(Falsification{"M", &KktBlocks::M, {"M = d force/d a", "M symmetric", "mass_and_jacobian: M"}},
                    Falsification{"D", &KktBlocks::D, {"D = d force/d v"}},
                    Falsification{"K", &KktBlocks::K, {"K = d force/d q"}},
                    Falsification{"B",
                                  &KktBlocks::B,
                                  {"B = d gap/d q", "B = d rate/d v", "F = B^T when affine in lambda",
                                   "mass_and_jacobian: B", "constraint_force = B^T mu"}},
                    Falsification{"H", &KktBlocks::H, {"H = d rate/d q"}},
                    Falsification{"F", &KktBlocks::F, {"F = d force/d lambda", "F = B^T when affine in lambda"}}),
    [](const auto& falsification) { return std::string(falsification.param.name); });

TEST(Audit, FindsAWrongAccelerationGap) {
  const auto honest = heavy_top("r3xso3", "body");
  for (int row = 0; row < 3; ++row) {
    Tampered system(*honest);
    system.on_acceleration_gap = [&](VectorRef out) { out[row] *= 1.0 + 1e-6; };
    EXPECT_EQ(violated(system), Laws{"acceleration_gap = d rate/dt"});
  }
}

TEST(Audit, FindsARateThatIsNotTheDerivativeOfTheGap) {
  const auto honest = heavy_top("se3", "inertial");
  Tampered system(*honest);
  system.on_residual = [](const Motion&, Residual& out) { out.rate[1] += 1e-6; };
  EXPECT_EQ(violated(system), Laws{"rate = d gap/dt"});
}

TEST(Audit, FindsAWrongJacobianOfAVelocityRow) {
  const FunctionSystem honest(everything());
  Tampered system(honest);
  system.on_linearize = [](const KktBlocks&, KktBlocks& out) { out.B.tail(1).array() += 1e-6; };
  EXPECT_EQ(violated(system), (Laws{"B = d rate/d v", "mass_and_jacobian: B"}));
}

TEST(Audit, FindsAShortcutThatDisagrees) {
  const auto honest = heavy_top("r3xso3", "inertial");
  Tampered mass(*honest), jacobian(*honest), force(*honest);
  mass.on_mass_and_jacobian = [](const Motion&, KktBlocks& out) { out.M[0] *= 1.0 + 1e-9; };
  jacobian.on_mass_and_jacobian = [](const Motion& m, KktBlocks& out) { out.B[0] += 1.0 - std::cos(m.v[0]) + 1e-9; };
  force.on_constraint_force = [](ConstVectorRef mu, VectorRef out) { out[4] += 1e-9 * mu[2]; };
  EXPECT_EQ(violated(mass), Laws{"mass_and_jacobian: M"});
  EXPECT_EQ(violated(jacobian), Laws{"mass_and_jacobian: B"});
  EXPECT_EQ(violated(force), Laws{"constraint_force = B^T mu"});
}

TEST(Audit, FindsALinearizationThatAddsToWhatWasThere) {
  const auto honest = heavy_top("se3", "body");
  Tampered system(*honest);
  system.on_linearize = [](const KktBlocks& before, KktBlocks& out) { out.K += before.K; };
  EXPECT_EQ(violated(system), Laws{"K = d force/d q"});
}

TEST(Audit, FindsValuesThatAreNotNumbers) {
  const auto honest = heavy_top("r3xso3", "body");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Tampered system(*honest);
  system.on_linearize = [](const KktBlocks&, KktBlocks& out) { out.D[7] = nan; };
  const Laws found = violated(system);
  EXPECT_NE(std::find(found.begin(), found.end(), "D = d force/d v"), found.end());
  Tampered broken(*honest);
  broken.on_residual = [](const Motion&, Residual& out) { out.gap[2] = nan; };
  EXPECT_FALSE(violated(broken).empty());
}

TEST(Audit, FindsAFalseClaimToBeAffineInTheMultipliers) {
  /// Friction in proportion to λ, declared as if F were Bᵀ.
  class Liar final : public System {
   public:
    explicit Liar(const System& honest) : System(honest.space(), honest.pattern()), honest_(honest) {}
    void residual(const Motion& m, ConstVectorRef l, Residual& out) const override { honest_.residual(m, l, out); }
    void linearize(const Motion& m, ConstVectorRef l, KktBlocks& out) const override { honest_.linearize(m, l, out); }
    void acceleration_gap(const Motion& m, VectorRef out) const override { honest_.acceleration_gap(m, out); }

   private:
    const System& honest_;
  };
  const FunctionSystem honest(everything());
  EXPECT_EQ(violated(Liar(honest)), Laws{"F = B^T when affine in lambda"});
}

/// Two masses, a spring between them, and a pattern that leaves the spring out or not.
class TwoMasses final : public System {
 public:
  TwoMasses(const std::vector<std::pair<int, int>>& couplings, const std::vector<int>& touched,
            double second_mass = 1.0)
      : System(space_of(),
               Pattern(space_of(), {{"rod", 1, RowLevel::position, touched}}, couplings, {}, {"left", "right"})),
        second_mass_(second_mass) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    const double pull = 4.0 * (m.q[1] - m.q[0]);
    out.force << m.a[0] - pull - lambda[0], second_mass_ * m.a[1] + pull + lambda[0];
    out.gap[0] = m.q[1] - m.q[0] - 1.0;
    out.rate[0] = m.v[1] - m.v[0];
  }
  void linearize(const Motion&, ConstVectorRef, KktBlocks& out) const override {
    out.set_zero();
    set(out.M, 0, 0, 1.0);
    set(out.M, 1, 1, second_mass_);
    set(out.K, 0, 0, 4.0);
    set(out.K, 0, 1, -4.0);
    set(out.K, 1, 0, -4.0);
    set(out.K, 1, 1, 4.0);
    for (const Pattern::Touch& t : pattern().touches()) out.B[t.at] = out.F[t.at] = t.block == 0 ? -1.0 : 1.0;
  }
  void acceleration_gap(const Motion& m, VectorRef out) const override { out[0] = m.a[1] - m.a[0]; }

 private:
  static lie::Space space_of() { return lie::Space({{GroupId::rn, 1}, {GroupId::rn, 1}}); }
  void set(Vector& values, int row, int column, double value) const {
    if (const int c = pattern().coupling(row, column); c >= 0) values[pattern().couplings()[c].at] = value;
  }
  double second_mass_;
};

TEST(Audit, FindsEntriesOutsideThePattern) {
  EXPECT_EQ(violated(TwoMasses({{0, 1}, {1, 0}}, {0, 1})), Laws{});

  const TwoMasses without_spring({{0, 1}}, {0, 1});
  const auto [m, lambda] = random_case(without_spring);
  const auto findings = audit(without_spring, m, lambda);
  EXPECT_EQ(violated(findings), Laws{"K = d force/d q"});
  EXPECT_EQ(finding_named(findings, "K = d force/d q").where,
            "'right' coordinate 1, 'left' coordinate 1: claimed 0, expected -4");

  const Laws found = violated(TwoMasses({{0, 1}, {1, 0}}, {1}));
  for (const char* law : {"B = d gap/d q", "B = d rate/d v", "F = d force/d lambda"})
    EXPECT_NE(std::find(found.begin(), found.end(), law), found.end()) << law;
}

TEST(Audit, FindsAnIndefiniteMass) {
  const TwoMasses system({{0, 1}, {1, 0}}, {0, 1}, -0.5);
  const auto [m, lambda] = random_case(system);
  const auto findings = audit(system, m, lambda);
  EXPECT_EQ(violated(findings), Laws{"M positive semidefinite"});
  EXPECT_DOUBLE_EQ(finding_named(findings, "M positive semidefinite").error, 0.5);
}

TEST(Audit, SaysSoWhenDifferencesDoNotSettle) {
  SystemFunctions f;
  f.space = {{GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector {
    return Vector::Constant(1, q[0] == 0.0 ? 0.0 : std::cbrt(q[0]));
  };
  const FunctionSystem system(f);
  const Motion at_the_kink(system.space());
  const auto findings = audit(system, at_the_kink, Vector());
  EXPECT_EQ(violated(findings), Laws{"K = d force/d q"});
  EXPECT_NE(finding_named(findings, "K = d force/d q").where.find("is the system smooth here?"), std::string::npos);
}

// ---- dense matrices

TEST(Dense, PutsBlocksWhereTheyBelong) {
  const TwoMasses system({{0, 1}}, {1});
  KktBlocks blocks(system.pattern());
  system.linearize(Motion(system.space()), Vector(Vector::Zero(1)), blocks);
  EXPECT_EQ(dense_coupling(system, blocks.K), (Matrix(2, 2) << 4.0, -4.0, 0.0, 4.0).finished());
  EXPECT_EQ(dense_rows(system, blocks.B), (Matrix(1, 2) << 0.0, 1.0).finished());
  EXPECT_EQ(dense_forces(system, blocks.F), (Matrix(2, 1) << 0.0, 1.0).finished());
}

// ---- ranks

/// ℝⁿ with constant M and B.
FunctionSystem linear_system(const Matrix& M, const Matrix& B, std::vector<std::string> row_names = {}) {
  SystemFunctions f;
  const int n = static_cast<int>(M.rows());
  f.space = {{GroupId::rn, n}};
  f.position_rows = static_cast<int>(B.rows());
  f.row_names = std::move(row_names);
  f.mass = [M](const Vector&) -> Matrix { return M; };
  f.force = [n](double, const Vector&, const Vector&) -> Vector { return Vector::Zero(n); };
  if (B.rows() > 0) {
    f.constraint = [B](double, const Vector& q) -> Vector { return B * q; };
    f.jacobian = [B](double, const Vector&) -> Matrix { return B; };
  }
  return FunctionSystem(f);
}
RankReport ranks(const System& system) { return rank_report(system, Motion(system.space())); }

Matrix matrix(int rows, int columns, const std::vector<double>& values) {
  Matrix A(rows, columns);
  for (int i = 0; i < rows * columns; ++i) A(i / columns, i % columns) = values[i];
  return A;
}

TEST(RankReport, DescribesARegularSystem) {
  const RankReport r = ranks(linear_system(Matrix::Identity(2, 2), matrix(1, 2, {0.0, -1.0})));
  EXPECT_TRUE(r.is_regular);
  EXPECT_EQ(r.rows, 1);
  EXPECT_EQ(r.rank_of_B, 1);
  EXPECT_EQ(r.coordinates, 2);
  EXPECT_EQ(r.rank_of_M, 2);
  EXPECT_NEAR(r.smallest_mass, 1.0, 1e-14);
  const double golden = 0.5 * (1.0 + std::sqrt(5.0));  // eigenvalues of [1 -1; -1 0]: golden, -1/golden
  EXPECT_NEAR(r.condition, golden * golden, 1e-13);
  EXPECT_TRUE(r.redundant_rows.empty());
}

TEST(RankReport, NamesRedundantRows) {
  const Matrix B = matrix(4, 3, {1, 1, 0, 2, 2, 0, 1, 0, 0, 0, 0, 0});
  const RankReport r = ranks(linear_system(Matrix::Identity(3, 3), B, {"pin", "copy", "slider", "nothing"}));
  EXPECT_FALSE(r.is_regular);
  EXPECT_EQ(r.rank_of_B, 2);
  EXPECT_EQ(r.redundant_names, (std::vector<std::string>{"'copy' row 1", "'nothing' row 1"}));
  EXPECT_EQ(r.redundant_rows, (std::vector<int>{1, 3}));
  EXPECT_EQ(r.condition, std::numeric_limits<double>::infinity());
}

TEST(RankReport, RedundantRowsCanBeRemovedTogether) {
  samples::Source source;
  const Matrix B = Matrix::NullaryExpr(9, 6, [&] { return source.number(); }) *
                   Matrix::NullaryExpr(6, 8, [&] { return source.number(); });  // rank 6
  const RankReport r = ranks(linear_system(Matrix::Identity(8, 8), B));
  EXPECT_EQ(r.rank_of_B, 6);
  ASSERT_EQ(r.redundant_rows.size(), 3u);
  std::vector<int> kept;
  for (int i = 0; i < 9; ++i)
    if (std::find(r.redundant_rows.begin(), r.redundant_rows.end(), i) == r.redundant_rows.end()) kept.push_back(i);
  const RankReport after = ranks(linear_system(Matrix::Identity(8, 8), B(kept, Eigen::all)));
  EXPECT_EQ(after.rank_of_B, 6);
  EXPECT_TRUE(after.is_regular);
}

TEST(RankReport, AllowsASingularMassThatTheConstraintsMakeUpFor) {
  const Matrix M = matrix(2, 2, {3.0, 0.0, 0.0, 0.0});
  const RankReport free = ranks(linear_system(M, Matrix(0, 2)));
  EXPECT_EQ(free.rank_of_M, 1);
  EXPECT_FALSE(free.is_regular);
  EXPECT_NEAR(free.smallest_mass, 0.0, 1e-15);

  const RankReport held = ranks(linear_system(M, matrix(1, 2, {0.0, 1.0})));
  EXPECT_EQ(held.rank_of_M, 1);
  EXPECT_TRUE(held.is_regular);
  EXPECT_NEAR(held.smallest_mass, 3.0, 1e-14);
}

TEST(RankReport, DoesNotDependOnUnits) {
  const Matrix M = matrix(2, 2, {1e9, 0.0, 0.0, 1e-6});
  const RankReport r = ranks(linear_system(M, matrix(2, 2, {1e6, 0.0, 0.0, 1e-5})));
  EXPECT_EQ(r.rank_of_M, 2);
  EXPECT_EQ(r.rank_of_B, 2);
  EXPECT_EQ(r.smallest_mass, std::numeric_limits<double>::infinity()) << "nothing left to move";
  EXPECT_TRUE(r.is_regular);
}

TEST(RankReport, LooksAtDynamicCoordinatesOnly) {
  SystemFunctions f;
  f.space = {{GroupId::rn, 1}, {GroupId::rn, 2}};
  f.kinds = {CoordinateKind::dynamic, CoordinateKind::state};
  f.mass = [](const Vector&) -> Matrix { return Vector::Unit(3, 0).asDiagonal(); };
  f.force = [](double, const Vector&, const Vector& v) -> Vector { return v; };
  const RankReport r = ranks(FunctionSystem(f));
  EXPECT_EQ(r.coordinates, 1);
  EXPECT_EQ(r.rank_of_M, 1);
  EXPECT_TRUE(r.is_regular);
}

TEST(RankReport, FindsTheHeavyTopRegularOnEveryGroup) {
  for (const char* group : {"so3", "r3xso3", "se3"}) {
    const auto system = heavy_top(group, "body");
    const auto [m, lambda] = random_case(*system);
    const RankReport r = rank_report(*system, m);
    EXPECT_TRUE(r.is_regular) << group;
    EXPECT_EQ(r.rank_of_B, system->pattern().rows());
    EXPECT_GE(r.smallest_mass, 0.234375 * (1.0 - 1e-12)) << "the smallest eigenvalue of M bounds it from below";
  }
}

}  // namespace
