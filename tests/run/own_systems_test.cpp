// Built-in models as systems of functions without a single derivative, in units from 1e-6 to 1e6: the same motion.
#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/own_system.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "system/dense.hpp"

namespace {

using namespace kreisel;
using models::Model;

/// q' = length q for translations and ℝⁿ, t' = time t, M' = mass M where nothing else is scaled, Φ' = gap Φ.
struct Units {
  double length = 1.0, time = 1.0, mass = 1.0, gap = 1.0;
};
void PrintTo(const Units& u, std::ostream* out) {
  *out << "length " << u.length << " time " << u.time << " mass " << u.mass << " gap " << u.gap;
}

Model built_in(const std::string& name, const std::string& group = "") {
  const models::ModelInfo& info = models::find_model(name);
  return models::make_model(info, group, ParameterValues(info.parameters));
}

/// A built-in model seen through its functions in other units.
class Scaled {
 public:
  Scaled(const Model& model, const Units& units) : model_(model), units_(units) {
    const lie::Space& space = model.system->space();
    S_ = Vector::Ones(space.nv());
    for (const lie::Block& block : space.blocks()) {
      const int n = block.group == lie::GroupId::rn ? block.nv : block.group == lie::GroupId::so3 ? 0 : 3;
      S_.segment(block.v_at, n).setConstant(units.length);
    }
  }

  system::SystemFunctions functions() const {
    system::SystemFunctions f;
    f.name = model_.name;
    for (const lie::Block& block : model_.system->space().blocks()) f.space.push_back({block.group, block.nv});
    const system::Pattern& pattern = model_.system->pattern();
    f.position_rows = pattern.position_rows();
    const Scaled self = *this;
    f.mass = [self](const Vector& q) -> Matrix {
      const system::System& s = *self.model_.system;
      system::Motion m(s.space());
      m.q = self.shrunk(q);
      system::KktBlocks blocks(s.pattern());
      s.mass_and_jacobian(m, blocks);
      const Vector inverse = self.S_.cwiseInverse();
      return self.units_.mass * (inverse.asDiagonal() * dense_coupling(s, blocks.M) * inverse.asDiagonal());
    };
    f.force = [self](double t, const Vector& q, const Vector& v) -> Vector {
      const double time = self.units_.time;
      return self.units_.mass / (time * time) * self.at(t, q, v).force.cwiseQuotient(self.S_);
    };
    f.constraint = [self](double t, const Vector& q) -> Vector {
      return self.units_.gap * self.at(t, q, Vector::Zero(self.S_.size())).gap;
    };
    return f;
  }

  system::Start start() const {
    system::Start start = model_.start;
    start.t0 *= units_.time;
    start.t_end *= units_.time;
    start.q0 = moved(start.q0, units_.length);
    start.v0 = start.v0.cwiseProduct(S_) / units_.time;
    return start;
  }

  /// Smallest unit of q and v.
  double smallest() const {
    const double position = std::min(1.0, S_.minCoeff());
    return std::min(position, position / units_.time);
  }
  Vector shrunk(const Vector& q) const { return moved(q, 1.0 / units_.length); }
  Vector shrunk_velocity(const Vector& v) const { return v.cwiseQuotient(S_) * units_.time; }
  Vector shrunk_lambda(const Vector& lambda) const {
    return lambda * (units_.time * units_.time * units_.gap / units_.mass);
  }

 private:
  Vector moved(Vector q, double factor) const {
    for (const lie::Block& block : model_.system->space().blocks()) {
      const int n = block.group == lie::GroupId::rn ? block.nv : block.group == lie::GroupId::so3 ? 0 : 3;
      q.segment(block.q_at, n) *= factor;
    }
    return q;
  }
  system::Residual at(double t, const Vector& q, const Vector& v) const {
    const system::System& s = *model_.system;
    system::Motion m(s.space());
    m.t = t / units_.time;
    m.q = shrunk(q);
    m.v = shrunk_velocity(v);
    system::Residual r(s.space().nv(), s.pattern().position_rows(), s.pattern().rows());
    s.residual(m, Vector(Vector::Zero(s.pattern().rows())), r);
    return r;
  }

  Model model_;
  Units units_;
  Vector S_;
};

run::Report integrated(const system::System& system, const system::Start& start, double rtol, double atol,
                       const char* method) {
  run::Options options;
  options.method = method;
  options.rtol = rtol;
  options.atol = atol;
  run::Observer nobody;
  return run::integrate(system, start, options, nobody);
}

struct Case {
  const char* model;
  const char* group;
  double t_end;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.model << " " << c.group; }

class OwnSystems : public testing::TestWithParam<std::tuple<Case, Units>> {};

/// rkmk: what a step of Newton's method costs in other units is another matter.
TEST_P(OwnSystems, MoveAsTheBuiltInOnesInAnyUnit) {
  const auto& [which, units] = GetParam();
  Model model = built_in(which.model, which.group);
  model.start.t_end = which.t_end;
  const run::Report exact = integrated(*model.system, model.start, 1e-11, 1e-13, "rkmk");
  ASSERT_EQ(exact.status, run::Status::success) << exact.message;
  const Scaled scaled(model, units);
  const system::FunctionSystem own(scaled.functions());
  const run::Report found = integrated(own, scaled.start(), 1e-9, 1e-12 * scaled.smallest(), "rkmk");
  ASSERT_EQ(found.status, run::Status::success) << found.message;
  const Vector q = scaled.shrunk(found.final.motion.q), v = scaled.shrunk_velocity(found.final.motion.v);
  const auto error = [](const Vector& got, const Vector& wanted) {
    return (got - wanted).lpNorm<Eigen::Infinity>() / wanted.lpNorm<Eigen::Infinity>();
  };
  // 1000 times the tolerance: errors grow along the motion.
  EXPECT_LE(error(q, exact.final.motion.q), 1e-6);
  EXPECT_LE(error(v, exact.final.motion.v), 1e-6);
  // With the same tolerance the same motion. λ is an acceleration, in which stiff springs magnify what differs.
  const run::Report same = integrated(*model.system, model.start, 1e-9, 1e-12, "rkmk");
  EXPECT_LE(error(q, same.final.motion.q), 1e-9);
  EXPECT_LE(error(v, same.final.motion.v), 1e-9);
  if (exact.final.lambda.size() > 0) {
    EXPECT_LE(error(scaled.shrunk_lambda(found.final.lambda), same.final.lambda), 1e-6);
  }
  EXPECT_LE(found.counters.steps, same.counters.steps + same.counters.steps / 10 + 2)
      << "no noise in the error estimate";
}

/// log |q| = 0 has exact values at the start (1, 0) for any step, and round-off everywhere else.
TEST(OwnSystemsStart, RoundValuesAtTheStartHideRoundOff) {
  const auto steps = [](bool has_jacobian, const char* method, double tolerance) {
    system::SystemFunctions f;
    f.space = {{lie::GroupId::rn, 2}};
    f.position_rows = 1;
    f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
    f.force = [](double, const Vector&, const Vector&) -> Vector { return Eigen::Vector2d(0.0, 9.81); };
    f.constraint = [](double, const Vector& q) -> Vector {
      return Vector::Constant(1, std::log(std::hypot(q[0], q[1])));
    };
    if (has_jacobian) f.jacobian = [](double, const Vector& q) -> Matrix { return q.transpose() / q.squaredNorm(); };
    system::Start start;
    start.q0 = Eigen::Vector2d(1.0, 0.0);
    start.v0 = Eigen::Vector2d(0.0, 0.0);
    const run::Report report = integrated(system::FunctionSystem(f), start, tolerance, tolerance, method);
    EXPECT_EQ(report.status, run::Status::success) << report.message;
    // A pendulum of length 1 that is let go from the horizontal, after 1 s (the angle by an explicit method of order 8).
    const double y = report.final.motion.q[1];
    EXPECT_NEAR(report.final.motion.v.squaredNorm(), -2.0 * 9.81 * y, 1e4 * tolerance);
    EXPECT_NEAR(y, -0.16501085312555, 1e3 * tolerance);
    return report.counters.steps;
  };
  for (const auto& [method, tolerance] : {std::pair{"bliedf", 1e-8}, {"bliedf", 1e-10}, {"radau", 1e-8}})
    EXPECT_LE(steps(false, method, tolerance), 1.2 * steps(true, method, tolerance)) << method << " " << tolerance;
}

INSTANTIATE_TEST_SUITE_P(
    Scales, OwnSystems,
    testing::Combine(testing::Values(Case{"pendulum", "", 1.0}, Case{"heavy-top", "r3xso3", 0.1},
                                     Case{"heavy-top", "se3", 0.1}, Case{"slider-crank", "", 0.2},
                                     Case{"flexible-slider-crank", "", 0.005}, Case{"car-axis", "", 0.3}),
                     testing::Values(Units{}, Units{.length = 1e-6}, Units{.length = 1e6}, Units{.time = 1e-6},
                                     Units{.time = 1e6}, Units{.mass = 1e-6}, Units{.mass = 1e6}, Units{.gap = 1e-6},
                                     Units{.gap = 1e6}, Units{1e-3, 1e3, 1e2, 1e-3})),
    [](const auto& info) {
      std::string name = std::string(std::get<0>(info.param).model) + std::get<0>(info.param).group;
      std::erase(name, '-');
      return name + std::to_string(info.index);
    });

}  // namespace
