// Local errors of schemes on exact data, against the expansions of the papers, and the recursion of their constrained part.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>

#include "coeff/generalized_alpha.hpp"
#include "method/catalogue.hpp"
#include "support/experiment.hpp"
#include "system/dense.hpp"

namespace {

using namespace kreisel;
using method::Entry;
using method::History;

struct Frame {
  Matrix M, B;
  /// C = M⁻¹Bᵀ(B M⁻¹Bᵀ)⁻¹B.
  Matrix constrained() const {
    const Matrix back = Eigen::PartialPivLU<Matrix>(M).solve(B.transpose());
    return back * Eigen::PartialPivLU<Matrix>(B * back).solve(B);
  }
  /// B M⁻¹Bᵀ.
  Matrix response() const { return B * Eigen::PartialPivLU<Matrix>(M).solve(B.transpose()); }
};

Frame frame_at(const system::System& system, const system::Motion& m) {
  system::KktBlocks blocks(system.pattern());
  system.mass_and_jacobian(m, blocks);
  return {system::dense_coupling(system, blocks.M), system::dense_rows(system, blocks.B)};
}

class DenseConstrainedPart final : public method::ConstrainedPart {
 public:
  explicit DenseConstrainedPart(const system::System& system) : system_(system) {}
  void move_to(const lie::Motion& m) override { C_ = frame_at(system_, m).constrained(); }
  void apply(ConstVectorRef l, VectorRef out) override { out = (C_ * l).eval(); }
  void project(const lie::Motion&, VectorRef) override {}

 private:
  const system::System& system_;
  Matrix C_;
};

/// The exact motion of the heavy top at any times.
class ExactTop {
 public:
  explicit ExactTop(const char* constraint = "inertial") {
    support::Experiment e;
    e.group = "r3xso3";
    e.model_settings = {{"constraint", constraint}};
    model = support::make_model(e);
  }
  void need(double t) { at_.try_emplace(t); }
  void compute() {
    std::vector<Entry> points(1);
    for (const auto& [t, entry] : at_) {
      points.emplace_back();
      points.back().motion.t = t;
    }
    const support::Trajectory exact = support::reference_at(model, points);
    std::size_t i = 1;
    for (auto& [t, entry] : at_) entry = exact.points[i++];
  }
  const Entry& at(double t) const { return at_.at(t); }
  const system::System& system() const { return *model.system; }
  const lie::Space& space() const { return model.system->space(); }
  Vector bracket(const Vector& a, const Vector& b) const {
    Vector out(a.size());
    space().bracket(a, b, out);
    return out;
  }

  models::Model model;

 private:
  std::map<double, Entry> at_;
};

std::unique_ptr<method::Method> make(const char* name, const lie::Space& space, Counters& counters,
                                     std::vector<std::pair<std::string, std::string>> settings, int max_order,
                                     const char* correction = "magnus") {
  const method::MethodInfo& info = method::find_method(name);
  method::MethodRequest request{.max_order = max_order,
                                .correction = correction,
                                .parameters = ParameterValues(info.parameters),
                                .has_given_steps = false};
  for (const auto& [key, value] : settings) request.parameters.set(name, info.parameters, key, value);
  return info.make(space, counters, request);
}

// ---- BLieDF on equal steps

/// What the velocity relation of order k misses on exact points, at the steps from t and from t + h.
std::pair<Vector, Vector> consecutive_defects(const char* correction, int k, double t, double h) {
  ExactTop top;
  const auto time = [&](int j) { return t + j * h; };
  for (int j = -k; j <= 2; ++j) top.need(time(j));
  top.compute();
  Counters counters;
  const auto method = make("bliedf", top.space(), counters, {}, k, correction);
  Vector found[2];
  for (const int step : {0, 1}) {
    History history(top.space(), {3, 3, method->memory_size()}, 12);
    const auto entry_at = [&](int j) {
      Entry entry = top.at(time(j));
      top.space().difference(top.at(time(j - 1)).motion.q, entry.motion.q, entry.omega);
      entry.memory = Vector::Zero(method->memory_size());
      entry.h = h;
      entry.order = k;
      return entry;
    };
    for (int j = step - k + 1; j <= step; ++j) {
      Entry entry = entry_at(j);
      history.push(entry);
    }
    method->adopt(history);
    method->begin_step(history, h, k);
    const Entry next = entry_at(step + 1);
    system::Motion image = next.motion;
    const Vector none = Vector::Zero(image.v.size());
    method->velocity(Vector(next.omega / h), none, image);
    found[step] = image.v - next.motion.v;
  }
  return {found[0], found[1]};
}

// (Wieloch & Arnold 2019, theorem 1): l has a smooth leading term, so that its differences are one order smaller than l itself.
TEST(LocalErrorOfBliedf, ChangesByOneOrderLessFromStepToStep) {
  for (const auto& [correction, k] : {std::pair{"difference", 2},
                                      {"difference", 3},
                                      {"difference", 4},
                                      {"published", 5},
                                      {"magnus", 4},
                                      {"magnus", 5}}) {
    const double h = k < 5 ? 2e-4 : 4e-4;
    const auto coarse = consecutive_defects(correction, k, 0.05, h);
    const auto fine = consecutive_defects(correction, k, 0.05, h / 2);
    EXPECT_NEAR(std::log2(coarse.first.norm() / fine.first.norm()), k, 0.15) << correction << ' ' << k;
    const double change = (coarse.second - coarse.first).norm(), finer = (fine.second - fine.first).norm();
    EXPECT_NEAR(std::log2(change / finer), k + 1, 0.15) << correction << ' ' << k;
    EXPECT_LT(change, 0.5 * coarse.first.norm()) << correction << ' ' << k;
  }
}

// ---- generalized-α on steps of different size

struct AlphaErrors {
  Vector q, v;  ///< divided by h³ and h²
  Vector expected_q, expected_v;
  double sum;  ///< |B(l^q_{n+1}/h_{n+1} - l^q_n/h_n + l^v_n)|
};

AlphaErrors alpha_errors(double rho, int approximation, double sigma, double next_sigma, double h,
                         const char* modification = "both") {
  constexpr double t = 0.05;
  const auto p = coeff::GeneralizedAlpha::from_rho_inf(rho);
  ExactTop top;
  const double before = h / sigma, after = next_sigma * h, s = 2e-5;
  const double t1 = t + h, t2 = t1 + after, memory0 = t + p.delta() * before, memory1 = t1 + p.delta() * h;
  for (const double time : {t, t1, t2, memory0, memory1, t - 2 * s, t - s, t + s, t + 2 * s}) top.need(time);
  top.compute();
  Counters counters;
  const auto method = make("generalized-alpha", top.space(), counters,
                           {{"rho_inf", std::to_string(rho)},
                            {"approximation", std::to_string(approximation)},
                            {"modification", modification}},
                           2);
  DenseConstrainedPart constrained(top.system());
  method->set_constrained_part(&constrained);
  const auto errors = [&](double from, double to, double memory, double h_before, double step) {
    History history(top.space(), {3, 3, method->memory_size()}, 2);
    Entry now = top.at(from);
    now.memory = top.at(memory).motion.a;
    now.h = h_before;
    history.push(now);
    method->begin_step(history, step, 2);
    // v̇(x) is affine in x: the x of the exact v̇.
    const system::Motion exact = top.at(to).motion;
    system::Motion trial = exact;
    const Vector zero = Vector::Zero(6);
    method->velocity(zero, zero, trial);
    const Vector offset = trial.a;
    Matrix slope(6, 6);
    for (int i = 0; i < 6; ++i) {
      method->velocity(Vector(Vector::Unit(6, i)), zero, trial);
      slope.col(i) = trial.a - offset;
    }
    const Vector x = Eigen::PartialPivLU<Matrix>(slope).solve(exact.a - offset);
    method->velocity(x, zero, trial);
    Vector reached(exact.q.size()), l(6);
    top.space().move(top.at(from).motion.q, Vector(step * x), reached);
    top.space().difference(reached, exact.q, l);
    return std::pair<Vector, Vector>(l, exact.v - trial.v);
  };
  const auto [lq, lv] = errors(t, t1, memory0, before, h);
  const auto [next_lq, next_lv] = errors(t1, t2, memory1, h, after);
  const Entry& at = top.at(t);
  const Vector jerk = (8.0 * (top.at(t + s).motion.a - top.at(t - s).motion.a) -
                       (top.at(t + 2 * s).motion.a - top.at(t - 2 * s).motion.a)) /
                      (12.0 * s);
  const Vector r = (1.0 / 6.0 - 0.5 * p.delta() - p.beta) * jerk + top.bracket(at.motion.v, at.motion.a) / 12.0;
  const Frame frame = frame_at(top.system(), at.motion);
  const Vector jump = (1.0 - 1.0 / (sigma * sigma)) * (frame.constrained() * r);
  return {lq / (h * h * h), lv / (h * h), r - jump, -jump, (frame.B * (next_lq / after - lq / h + lv)).norm()};
}

TEST(LocalErrorOfGeneralizedAlpha, IsThatOfTheoremOneOnAnySteps) {
  // (h|Ω|)² = 2e-4 is what is left of the expansion after one extrapolation.
  constexpr double h = 1e-4, tolerance = 3e-3;
  for (const double rho : {0.2, 0.6, 0.9})
    for (int approximation = 1; approximation <= 4; ++approximation)
      for (const double sigma : {0.6, 1.0, 1.7}) {
        const AlphaErrors a = alpha_errors(rho, approximation, sigma, 1.25, h);
        const AlphaErrors b = alpha_errors(rho, approximation, sigma, 1.25, h / 2);
        const std::string which =
            "rho " + std::to_string(rho) + " N" + std::to_string(approximation) + " sigma " + std::to_string(sigma);
        EXPECT_LT((2.0 * b.q - a.q - a.expected_q).norm(), tolerance * a.expected_q.norm()) << which << ", eq. 4.17";
        EXPECT_LT((2.0 * b.v - a.v - a.expected_v).norm(), tolerance * a.expected_q.norm()) << which << ", eq. 4.18";
        EXPECT_NEAR(std::log2(a.sum / b.sum), 3.0, 0.15) << which << ", eq. 4.14";
      }
  // Without the modification of velocities the sum is of order 2, which costs λ an order.
  const double slope =
      std::log2(alpha_errors(0.6, 3, 1.7, 1.25, h, "none").sum / alpha_errors(0.6, 3, 1.7, 1.25, h / 2, "none").sum);
  EXPECT_NEAR(slope, 2.0, 0.1);
}

// ---- the recursion of the constrained part

struct AlphaRun {
  ExactTop top;
  support::Trajectory run, exact;
};

AlphaRun alpha_run(double rho, const char* starting, double h, long steps, const char* constraint = "inertial") {
  AlphaRun out{.top = ExactTop(constraint), .run = {}, .exact = {}};
  run::Options options;
  options.method = "generalized-alpha";
  options.method.set("rho_inf", rho);
  options.formulation = "index3";
  options.starting = starting;
  options.step = h;
  options.t_end = static_cast<double>(steps) * h;
  out.run = support::integrate(out.top.model, options);
  EXPECT_EQ(out.run.report.status, run::Status::success) << out.run.report.message;
  out.exact = support::reference_at(out.top.model, out.run.points);
  return out;
}

/// r of l^q = h³ r, and v̈, by differences of the exact accelerations around point n.
std::pair<Vector, Vector> leading_error(const AlphaRun& a, double rho, std::size_t n) {
  const auto p = coeff::GeneralizedAlpha::from_rho_inf(rho);
  const auto& points = a.exact.points;
  const double h = points[1].motion.t - points[0].motion.t;
  const auto acceleration = [&](std::size_t i) -> const Vector& { return points[i].motion.a; };
  const Vector jerk =
      n == 0
          ? Vector((-25.0 * acceleration(0) + 48.0 * acceleration(1) - 36.0 * acceleration(2) + 16.0 * acceleration(3) -
                    3.0 * acceleration(4)) /
                   (12.0 * h))
          : Vector((8.0 * (acceleration(n + 1) - acceleration(n - 1)) - (acceleration(n + 2) - acceleration(n - 2))) /
                   (12.0 * h));
  const system::Motion& m = points[n].motion;
  return {(1.0 / 6.0 - 0.5 * p.delta() - p.beta) * jerk + a.top.bracket(m.v, m.a) / 12.0, jerk};
}

// (Arnold, Cardona, Brüls 2015, eq. 8) with the sign that its text needs: B v_n tends to + h² B r.
TEST(ConstrainedVelocity, TendsToTheLeadingErrorOfPositions) {
  for (const double rho : {0.6, 0.9}) {
    Vector found[2];
    Vector expected;
    for (const int i : {0, 1}) {
      const double h = i == 0 ? 4e-4 : 2e-4;
      const long n = i == 0 ? 250 : 500;  // t = 0.1
      const AlphaRun a = alpha_run(rho, "corrected", h, n + 2);
      const system::Motion& m = a.run.points[n].motion;
      found[i] = frame_at(a.top.system(), m).B * m.v / (h * h);
      const system::Motion& exact = a.exact.points[n].motion;
      expected = frame_at(a.top.system(), exact).B * leading_error(a, rho, n).first;
    }
    // What is left falls with h at least, for rho 0.9 with h².
    EXPECT_LT(((4.0 * found[1] - found[0]) / 3.0 - expected).norm(), 2e-3 * expected.norm()) << rho;
    EXPECT_GT((found[0] - expected).norm() / (found[1] - expected).norm(), 1.9) << rho;
  }
}

/// e^λ_n = S⁻¹(Tⁿ E_0)₂ of that recursion after a plain start, E_0 = (h B r, 0, Δα h B v̈), and (1/h) B v_n = h B r - (Tⁿ E_0)₁, in
/// body coordinates, where S = B M⁻¹Bᵀ of the top does not change; B r of the second formula is that of t_n.
struct Transient {
  Vector first, third;  ///< of E_0
  Matrix response;
  coeff::SmallMatrix<3> T;

  Transient(const AlphaRun& body, double rho, double h) {
    const auto p = coeff::GeneralizedAlpha::from_rho_inf(rho);
    const auto [r, jerk] = leading_error(body, rho, 0);
    const Frame frame = frame_at(body.top.system(), body.exact.points[0].motion);
    first = h * (frame.B * r);
    third = p.delta() * h * (frame.B * jerk);
    response = frame.response();
    T = coeff::error_amplification(p);
  }
  Vector lambda(int n) const {
    const auto power = coeff::power(T, n);
    return Eigen::PartialPivLU<Matrix>(response).solve(power[1][0] * first + power[1][2] * third);
  }
  Vector start_of_velocity(int n) const {
    const auto power = coeff::power(T, n);
    return power[0][0] * first + power[0][2] * third;
  }
};

TEST(ConstrainedVelocity, FollowsThePowersOfTheAmplificationAfterAPlainStart) {
  for (const double rho : {0.6, 0.9}) {
    double off[2], off_v[2];
    for (const int i : {0, 1}) {
      const double h = i == 0 ? 2e-4 : 1e-4;
      const AlphaRun a = alpha_run(rho, "exact", h, 32, "body");
      const Transient expected(a, rho, h);
      double largest = 0.0, largest_v = 0.0, miss = 0.0, miss_v = 0.0;
      for (int n = 2; n <= 30; ++n) {
        const Vector error = a.exact.points[n].lambda - a.run.points[n].lambda, predicted = expected.lambda(n);
        largest = std::max(largest, predicted.norm());
        miss = std::max(miss, (error - predicted).norm());
        const system::Motion& m = a.run.points[n].motion;
        const Vector velocity = frame_at(a.top.system(), m).B * m.v / h;
        const Vector smooth =
            h * (frame_at(a.top.system(), a.exact.points[n].motion).B * leading_error(a, rho, n).first);
        const Vector predicted_v = smooth - expected.start_of_velocity(n);
        largest_v = std::max(largest_v, predicted_v.norm());
        miss_v = std::max(miss_v, (velocity - predicted_v).norm());
      }
      off[i] = miss / largest;
      off_v[i] = miss_v / largest_v;
    }
    // What is left is one order smaller.
    EXPECT_LT(off[1], 0.03) << rho;
    EXPECT_NEAR(off[0] / off[1], 2.0, 0.5) << rho;
    EXPECT_LT(off_v[1], 0.06) << rho;
    EXPECT_NEAR(off_v[0] / off_v[1], 2.0, 0.5) << rho;
  }
}

// (Arnold, Brüls, Cardona 2015, Fig. 4) says that λ₃ has its largest error at t₁₅ for ρ∞ = 0.9. In inertial coordinates the
// sequence above turns with the top, h|Ω| = 0.15 rad per step: its third component is largest at t₁₂, its norm at t₁₅.
TEST(ConstrainedVelocity, TurnsTheTransientOfLambdaWithTheTop) {
  constexpr double rho = 0.9, h = 1e-3;
  const AlphaRun plain = alpha_run(rho, "exact", h, 40), corrected = alpha_run(rho, "corrected", h, 40);
  const Transient expected(alpha_run(rho, "exact", h, 40, "body"), rho, h);
  double largest = 0.0, miss = 0.0;
  std::vector<double> third, predicted_third, predicted_norm;
  for (int n = 1; n <= 40; ++n) {
    // What both runs have in common is no transient.
    const Vector transient = corrected.run.points[n].lambda - plain.run.points[n].lambda;
    const Matrix3 R = plain.top.system().body_pose(0, plain.exact.points[n].motion.q).R;
    const Vector predicted = R * expected.lambda(n);
    largest = std::max(largest, predicted.norm());
    miss = std::max(miss, (transient - predicted).norm());
    third.push_back(std::abs(transient[2]));
    predicted_third.push_back(std::abs(predicted[2]));
    predicted_norm.push_back(predicted.norm());
  }
  const auto step_of = [](const std::vector<double>& list) {
    return 1 + (std::ranges::max_element(list) - list.begin());
  };
  EXPECT_LT(miss, 0.15 * largest) << "O(h|Ω|)";
  EXPECT_EQ(step_of(predicted_third), 12);
  EXPECT_EQ(step_of(third), 12);
  EXPECT_EQ(step_of(predicted_norm), 15);
  EXPECT_NEAR(std::ranges::max(third), std::ranges::max(predicted_third), 0.05 * largest);
}

}  // namespace
