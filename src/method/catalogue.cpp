#include "kreisel/method/catalogue.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kreisel/base/error.hpp"
#include "kreisel/method/bliedf.hpp"
#include "kreisel/method/commutator_free.hpp"
#include "kreisel/method/crouch_grossman.hpp"
#include "kreisel/method/generalized_alpha.hpp"
#include "kreisel/method/mkam.hpp"
#include "kreisel/method/mkbdf.hpp"

namespace kreisel::method {
namespace {

std::unique_ptr<Method> make_bliedf(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  return std::make_unique<Bliedf>(
      space, counters,
      make_correction(request.correction, request.max_order, request.own_correction, space, counters, request.has_given_steps),
      !request.parameters.has("modification") || request.parameters.word("modification") == "velocity");
}

std::vector<ParameterInfo> bliedf_parameters() {
  return {{.name = "modification", .meaning = "of v in index3 where given steps change", .words = {"velocity", "none"}}};
}

std::vector<ParameterInfo> projection_parameters() {
  return {{.name = "metric", .meaning = "in which a projection moves least", .words = {"mass", "euclidean"}},
          {.name = "projection", .meaning = "of q, then of v at the new q, or of both at once", .words = {"position-then-velocity", "joint"}}};
}

/// Of methods that have nothing to choose.
template <class Plain>
std::unique_ptr<Method> make_plain(const lie::Space& space, Counters& counters, const MethodRequest&) {
  return std::make_unique<Plain>(space, counters);
}

std::vector<ParameterInfo> alpha_parameters() {
  return {{.name = "rho_inf", .meaning = "spectral radius at infinite frequency", .default_number = 0.9, .minimum = 0.0, .maximum = 1.0},
          {.name = "alpha_m", .meaning = "given one by one instead of rho_inf", .is_optional = true},
          {.name = "alpha_f", .meaning = "given one by one instead of rho_inf", .is_optional = true},
          {.name = "beta", .meaning = "given one by one instead of rho_inf", .minimum = 0.0, .minimum_is_excluded = true, .is_optional = true},
          {.name = "gamma", .meaning = "given one by one instead of rho_inf", .minimum = 0.0, .minimum_is_excluded = true, .is_optional = true},
          {.name = "approximation", .meaning = "of the jerk where the step size changes", .words = {"3", "1", "2", "4"}},
          {.name = "a3", .meaning = "weight of a_n in the jerk, with a4 instead of approximation", .is_optional = true},
          {.name = "a4", .meaning = "weight of a_{n+1} in the jerk, with a3 instead of approximation", .is_optional = true},
          {.name = "modification", .meaning = "of v and a where the step size changes", .words = {"both", "velocity", "acceleration", "none"}}};
}

std::unique_ptr<Method> make_generalized_alpha(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  const ParameterValues& p = request.parameters;
  coeff::GeneralizedAlpha alpha = coeff::GeneralizedAlpha::from_rho_inf(p.number("rho_inf"));
  if (p.is_set("alpha_m")) alpha.alpha_m = p.number("alpha_m");
  if (p.is_set("alpha_f")) alpha.alpha_f = p.number("alpha_f");
  if (p.is_set("beta")) alpha.beta = p.number("beta");
  if (p.is_set("gamma")) alpha.gamma = p.number("gamma");
  const std::vector<std::string> violated = coeff::violated_conditions(alpha, coeff::AlphaStability::unconditional);
  if (!violated.empty())
    throw InvalidInput(fmt::format("generalized-alpha: the parameters violate\n  {}\n  remedy: set rho_inf alone, or change the values",
                                   fmt::join(violated, "\n  ")));
  const double delta = alpha.delta();
  AlphaModification modification;
  const std::string& modifies = p.word("modification");
  modification.velocity = modifies == "both" || modifies == "velocity";
  modification.acceleration = modifies == "both" || modifies == "acceleration";
  if (p.is_set("a3") || p.is_set("a4")) {
    const double a3 = p.is_set("a3") ? p.number("a3") : 0.0, a4 = p.is_set("a4") ? p.number("a4") : 0.0;
    modification.jerk = [=](double sigma) { return coeff::jerk_weights(delta, sigma, a3, a4); };
  } else {
    const int approximation = p.word("approximation").front() - '0';
    if (approximation == 1 && std::abs(delta) < 1e-12)
      throw InvalidInput("generalized-alpha: approximation 1 divides by alpha_m - alpha_f, which is 0 for rho_inf = 1; use approximation 2, 3 or 4");
    modification.jerk = [=](double sigma) { return coeff::published_jerk_weights(approximation, delta, sigma); };
  }
  return std::make_unique<GeneralizedAlpha>(space, counters, alpha, std::move(modification));
}

}  // namespace

std::vector<int> MethodInfo::orders() const {
  std::vector<int> list;
  for (int k = min_order; k <= max_order; k += order_step) list.push_back(k);
  return list;
}

std::string MethodInfo::orders_in_words() const {
  const std::vector<int> list = orders();
  if (list.size() == 1) return fmt::format("order {} only", list.front());
  return fmt::format("orders {} {} {}", min_order, list.size() == 2 ? "and" : "to", max_order);
}

const std::vector<MethodInfo>& catalogue() {
  static const std::vector<MethodInfo> list{
      {"bliedf", "BDF in terms of Lie group increments, order 1..6", 1, 6, 4, true,
       {"ode", "index3", "stabilized-index2", "index2", "index1"}, {"ode", "index3", "stabilized-index2", "index2", "index1"}, bliedf_parameters(), true, make_bliedf, true},
      {"commutator-free", "commutator-free Adams-Moulton without constraints, order 1..4", 1, 4, 4, true,
       {"ode"}, {}, {}, false, make_plain<CommutatorFree>},
      {"crouch-grossman", "Crouch-Grossman Adams-Moulton without constraints, order 1..4", 1, 4, 4, true,
       {"ode"}, {}, {}, false, make_plain<CrouchGrossman>},
      {"generalized-alpha", "generalized-alpha, order 2", 2, 2, 2, false,
       {"ode", "index3", "stabilized-index2", "index2", "index1"}, {"ode", "index3", "stabilized-index2", "index2", "index1"}, alpha_parameters(), false, make_generalized_alpha, true},
      {"mkam", "Munthe-Kaas Adams-Moulton without constraints, order 1..6", 1, 6, 4, true,
       {"ode"}, {}, {}, false, make_plain<Mkam>},
      {"mkbdf", "Munthe-Kaas BDF, order 1..6", 1, 6, 4, true,
       {"ode", "index3", "stabilized-index2", "index2", "index1"}, {}, {}, false, make_plain<Mkbdf>},
      {"projected-bdf", "BDF on the index-1 form with projection onto constraints and invariants, order 1..6", 1, 6, 4, true,
       {"ode", "projected", "index1"}, {"ode", "projected", "index1"}, projection_parameters(), true, make_bliedf, true},
      {"radau", "Radau IIA in Munthe-Kaas form, three stages, order 5, for stiff and lightly damped systems", 5, 5, 5, false,
       {"ode", "index3", "stabilized-index2", "index2", "index1"}, {"ode", "index3", "stabilized-index2", "index2", "index1"}, {}, false, nullptr, true},
      {"rkmk", "explicit Runge-Kutta-Munthe-Kaas on the index-1 form with projection, order 5 or 8", 5, 8, 8, true,
       {"ode", "projected", "index1"}, {"ode", "projected", "index1"}, {}, false, nullptr, false, 3},
  };
  return list;
}

const MethodInfo& find_method(std::string_view name) {
  std::vector<std::string> names;
  for (const MethodInfo& info : catalogue()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  throw InvalidInput(unknown_name("method", name, names));
}

}  // namespace kreisel::method
