// The step map of every method against its linearisation: exact, or with the gap it declares.
#include <gtest/gtest.h>

#include <random>

#include "method/catalogue.hpp"
#include "run/start_up.hpp"
#include "support/experiment.hpp"
#include "system/differences.hpp"

namespace {

using namespace kreisel;
using method::Entry;
using method::History;
using method::MethodInfo;

struct Choice {
  std::string correction = "magnus";
  bool is_complete = false;
};

/// A method between begin_step and record, on a history of the heavy top.
struct Frozen {
  models::Model model;
  Counters counters;
  std::unique_ptr<method::Method> method;
  History history;
  Vector x;

  Frozen(const MethodInfo& info, int order, const std::string& group, double h, const Choice& choice = {})
      : model(make_model(group)) {
    const lie::Space& space = model.system->space();
    ParameterValues parameters(info.parameters);
    if (choice.is_complete) parameters.set(info.name, info.parameters, "linearization", Value(std::string("complete")));
    method = info.make(space, counters, {order, choice.correction, nullptr, parameters});
    const method::EntrySizes sizes{model.system->pattern().rows(), model.system->pattern().position_rows(),
                                   method->memory_size()};
    history = History(space, sizes, 10);
    Entry first = History::blank(space, sizes);
    run::StartUp start_up(*model.system, counters, "automatic");
    EXPECT_TRUE(start_up.place(0.0, model.start.q0, model.start.v0, first));
    history.push(first);
    EXPECT_TRUE(start_up.fill(*method, h, order, system::Formulation::stabilized_index2, {}, history));
    method->begin_step(history, h, order);
    x.resize(space.nv());
    method->guess(x);
    // After a guess a velocity is solved for as far as the iteration needs it; anew it is solved for to round-off.
    if (choice.is_complete) method->begin_step(history, h, order);
  }
  static models::Model make_model(const std::string& group) {
    support::Experiment e;
    e.group = group;
    return support::make_model(e);
  }
};

Matrix block_diagonal(const lie::Space& space, const Vector& values) {
  Matrix out = Matrix::Zero(space.nv(), space.nv());
  for (const lie::Block& b : space.blocks())
    out.block(b.v_at, b.v_at, b.nv, b.nv) = ConstMatrixMap(values.data() + b.matrix_at, b.nv, b.nv);
  return out;
}

/// Errors of ∂q/∂x, ∂v/∂x, ∂v̇/∂x, ∂v/∂(dv), ∂v̇/∂(dv), each relative to the size of the derivative.
struct Gaps {
  double q = 0.0, v = 0.0, a = 0.0, v_dv = 0.0, a_dv = 0.0;
};

Gaps measure_gaps(const MethodInfo& info, int order, const std::string& group, double h, const Choice& choice = {}) {
  Frozen frozen(info, order, group, h, choice);
  const lie::Space& space = frozen.model.system->space();
  const int n = space.nv();
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  for (double& entry : frozen.x) entry += number(engine);  // not a solution of anything
  Vector dv(n);
  for (double& entry : dv) entry = choice.is_complete ? 0.0 : 0.1 * number(engine);

  lie::MotionTangent tangent(space);
  frozen.method->linearize(frozen.x, tangent);
  const Matrix identity = Matrix::Identity(n, n);
  const Matrix q_x = block_diagonal(space, tangent.q_x);
  const Matrix v_x = tangent.has_blocks ? block_diagonal(space, tangent.v_x_blocks) : Matrix(tangent.v_x * identity);
  const Matrix a_x = tangent.has_blocks ? block_diagonal(space, tangent.a_x_blocks) : Matrix(tangent.a_x * identity);

  lie::Motion centre(space);
  frozen.method->position(frozen.x, centre.q);
  const auto image = [&](const Vector& x, const Vector& shift) {
    lie::Motion m(space);
    frozen.method->position(x, m.q);
    frozen.method->velocity(x, shift, m);
    Vector out(3 * n);
    space.difference(centre.q, m.q, out.head(n));
    out.segment(n, n) = m.v;
    out.tail(n) = m.a;
    return out;
  };
  Matrix by_x(3 * n, n), by_dv(3 * n, n);
  for (int i = 0; i < n; ++i) {
    const auto unit = Vector::Unit(n, i);
    by_x.col(i) = system::slope([&](double s) { return image(frozen.x + s * unit, dv); }, 0.05).value;
    by_dv.col(i) = system::slope([&](double s) { return image(frozen.x, dv + s * unit); }, 0.05).value;
  }
  const auto gap = [&](const Matrix& exact, const Matrix& claimed) { return (claimed - exact).norm() / exact.norm(); };
  return {gap(by_x.topRows(n), q_x), gap(by_x.middleRows(n, n), v_x), gap(by_x.bottomRows(n), a_x),
          gap(by_dv.middleRows(n, n), tangent.v_dv * identity), gap(by_dv.bottomRows(n), tangent.a_dv * identity)};
}

/// Differences of v/h-size numbers with eight points.
constexpr double difference_tolerance = 1e-9;

/// What a method may leave out of its linearisation, relative: terms of size h|v| = 0.15 at h = 1e-3, |v| = 150.
bool is_exact(const MethodInfo& info, int order) {
  return info.name == "generalized-alpha" || ((info.name == "bliedf" || info.name == "mkbdf") && order <= 2);
}

struct Case {
  std::string method;
  int order;
  std::string group;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.method << " " << c.order << " " << c.group; }

std::vector<Case> every_case() {
  std::vector<Case> list;
  for (const MethodInfo& info : method::catalogue())
    if (info.make != nullptr)
      for (const int order : info.orders())
        for (const char* group : {"so3", "r3xso3", "se3"}) list.push_back({info.name, order, group});
  return list;
}

class EveryMethod : public testing::TestWithParam<Case> {};

TEST_P(EveryMethod, HasTheTangentItClaims) {
  const auto& [name, order, group] = GetParam();
  const MethodInfo& info = method::find_method(name);
  const double h = 1e-3;
  const Gaps gaps = measure_gaps(info, order, group, h);
  if (info.name != "mkam") {  // whose increment solves an equation
    EXPECT_LT(gaps.q, difference_tolerance) << "the position is linearised exactly";
  }
  if (is_exact(info, order)) {
    for (const double gap : {gaps.v, gaps.a, gaps.v_dv, gaps.a_dv}) EXPECT_LT(gap, difference_tolerance);
    return;
  }
  const Gaps finer = measure_gaps(info, order, group, h / 2);
  const double rotation = h * 150.0;
  if (info.name == "mkbdf") {
    EXPECT_LT(finer.v, 0.3 * gaps.v) << "what is left out is O(h²)";
  }
  for (const auto& [coarse, fine] : {std::pair{gaps.q, finer.q}, std::pair{gaps.v, finer.v}, std::pair{gaps.a, finer.a},
                                     std::pair{gaps.v_dv, finer.v_dv}, std::pair{gaps.a_dv, finer.a_dv}}) {
    EXPECT_LT(coarse, rotation);
    if (coarse > 100 * difference_tolerance) {
      EXPECT_LT(fine, 0.6 * coarse) << "the gap is not O(h): " << coarse << ", " << fine;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryMethod, testing::ValuesIn(every_case()), [](const auto& tested) {
  std::string name = tested.param.method + "_" + std::to_string(tested.param.order) + "_" + tested.param.group;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

// (Wieloch 2022, D_ω and D_v after eq. 3.57, and of L), with the corrections of docs/corrections.md.
TEST(CompleteLinearization, IsExact) {
  struct Scheme {
    const char* method;
    int order;
    const char* correction;
  };
  std::vector<Scheme> schemes;
  for (int k = 3; k <= 6; ++k)
    for (const auto& [method, correction] :
         {std::pair{"mkbdf", "magnus"}, {"bliedf", "magnus"}, {"bliedf", "magnus-taylor"}, {"bliedf", "implicit"}})
      schemes.push_back({method, k, correction});
  for (int k = 3; k <= 4; ++k) schemes.push_back({"bliedf", k, "tuned-implicit"});
  for (const Scheme& scheme : schemes)
    for (const char* group : {"so3", "r3xso3", "se3"}) {
      const MethodInfo& info = method::find_method(scheme.method);
      const std::string which =
          std::string(scheme.method) + ' ' + std::to_string(scheme.order) + ' ' + scheme.correction + ' ' + group;
      const Gaps gaps = measure_gaps(info, scheme.order, group, 1e-3, {scheme.correction, true});
      EXPECT_LT(gaps.q, difference_tolerance) << which;
      EXPECT_LT(gaps.v, difference_tolerance) << which;
      EXPECT_LT(gaps.a, difference_tolerance) << which;
      EXPECT_GT(measure_gaps(info, scheme.order, group, 1e-3, {scheme.correction, false}).v, 100 * difference_tolerance)
          << which << " by leading terms";
    }
}

}  // namespace
