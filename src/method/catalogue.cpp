#include "method/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "method/bliedf.hpp"
#include "method/commutator_free.hpp"
#include "method/crouch_grossman.hpp"
#include "method/generalized_alpha.hpp"
#include "method/mkam.hpp"
#include "method/mkbdf.hpp"

namespace kreisel::method {
namespace {

std::unique_ptr<Method> make_bliedf(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  return std::make_unique<Bliedf>(
      space, counters,
      make_correction(request.correction, request.max_order, request.own_correction, space, counters,
                      request.has_given_steps),
      parameters_in<choices::Bliedf>(request.parameters).modification == Modification::velocity);
}
/// Its projections leave nothing to modify.
std::unique_ptr<Method> make_projected_bdf(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  return std::make_unique<Bliedf>(space, counters,
                                  make_correction(request.correction, request.max_order, request.own_correction, space,
                                                  counters, request.has_given_steps),
                                  true);
}

/// Of methods that have nothing to choose.
template <class Plain>
std::unique_ptr<Method> make_plain(const lie::Space& space, Counters& counters, const MethodRequest&) {
  return std::make_unique<Plain>(space, counters);
}

std::unique_ptr<Method> make_generalized_alpha(const lie::Space& space, Counters& counters,
                                               const MethodRequest& request) {
  const auto p = parameters_in<choices::GeneralizedAlpha>(request.parameters);
  coeff::GeneralizedAlpha alpha = coeff::GeneralizedAlpha::from_rho_inf(p.rho_inf);
  alpha.alpha_m = p.alpha_m.value_or(alpha.alpha_m);
  alpha.alpha_f = p.alpha_f.value_or(alpha.alpha_f);
  alpha.beta = p.beta.value_or(alpha.beta);
  alpha.gamma = p.gamma.value_or(alpha.gamma);
  const std::vector<std::string> violated = coeff::violated_conditions(alpha, coeff::AlphaStability::unconditional);
  if (!violated.empty())
    throw InvalidInput(fmt::format(
        "generalized-alpha: the parameters violate\n  {}\n  remedy: set rho_inf alone, or change the values",
        fmt::join(violated, "\n  ")));
  const double delta = alpha.delta();
  AlphaModification modification;
  modification.velocity = p.modification == Modification::both || p.modification == Modification::velocity;
  modification.acceleration = p.modification == Modification::both || p.modification == Modification::acceleration;
  if (p.a3 || p.a4) {
    modification.jerk = [=, a3 = p.a3.value_or(0.0), a4 = p.a4.value_or(0.0)](double sigma) {
      return coeff::jerk_weights(delta, sigma, a3, a4);
    };
  } else {
    const int approximation = p.approximation;
    if (approximation == 1 && std::abs(delta) < 1e-12)
      throw InvalidInput(
          "generalized-alpha: approximation 1 divides by alpha_m - alpha_f, which is 0 for rho_inf = 1; use "
          "approximation 2, 3 or 4");
    modification.jerk = [=](double sigma) { return coeff::published_jerk_weights(approximation, delta, sigma); };
  }
  return std::make_unique<GeneralizedAlpha>(space, counters, alpha, std::move(modification));
}

}  // namespace

bool MethodInfo::serves(std::string_view formulation) const {
  return formulation == "ode" || std::find(formulations.begin(), formulations.end(), formulation) != formulations.end();
}

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
  const std::vector<std::string> none{"ode"}, all{"ode", "index3", "stabilized-index2", "index2", "index1"},
      projected{"ode", "projected", "index1"};
  static const std::vector<MethodInfo> list{
      {.name = "bliedf",
       .summary = "BDF in terms of Lie group increments, order 1..6",
       .formulations = all,
       .variable_formulations = all,
       .parameters = fields_of<choices::Bliedf>(),
       .has_corrections = true,
       .make = make_bliedf,
       .takes_step_sequences = true},
      {.name = "commutator-free",
       .summary = "commutator-free Adams-Moulton without constraints, order 1..4",
       .max_order = 4,
       .formulations = none,
       .make = make_plain<CommutatorFree>},
      {.name = "crouch-grossman",
       .summary = "Crouch-Grossman Adams-Moulton without constraints, order 1..4",
       .max_order = 4,
       .formulations = none,
       .make = make_plain<CrouchGrossman>},
      {.name = "generalized-alpha",
       .summary = "generalized-alpha, order 2",
       .min_order = 2,
       .max_order = 2,
       .default_order = 2,
       .has_order_choice = false,
       .formulations = all,
       .variable_formulations = all,
       .parameters = fields_of<choices::GeneralizedAlpha>(),
       .make = make_generalized_alpha,
       .takes_step_sequences = true},
      {.name = "mkam",
       .summary = "Munthe-Kaas Adams-Moulton without constraints, order 1..6",
       .formulations = none,
       .make = make_plain<Mkam>},
      {.name = "mkbdf", .summary = "Munthe-Kaas BDF, order 1..6", .formulations = all, .make = make_plain<Mkbdf>},
      {.name = "projected-bdf",
       .summary = "BDF on the index-1 form with projection onto constraints and invariants, order 1..6",
       .formulations = projected,
       .variable_formulations = projected,
       .parameters = fields_of<choices::ProjectedBdf>(),
       .has_corrections = true,
       .make = make_projected_bdf,
       .takes_step_sequences = true},
      {.name = "radau",
       .summary = "Radau IIA in Munthe-Kaas form, three stages, order 5, for stiff and lightly damped systems",
       .min_order = 5,
       .max_order = 5,
       .default_order = 5,
       .has_order_choice = false,
       .formulations = all,
       .variable_formulations = all,
       .takes_step_sequences = true},
      {.name = "rkmk",
       .summary = "explicit Runge-Kutta-Munthe-Kaas on the index-1 form with projection, order 5 or 8",
       .min_order = 5,
       .max_order = 8,
       .default_order = 8,
       .formulations = projected,
       .variable_formulations = projected,
       .order_step = 3},
  };
  return list;
}

const MethodInfo& find_method(std::string_view name) { return find_named(catalogue(), "method", name); }

const std::string& MethodChoice::name() const { return info_->name; }

MethodChoice::MethodChoice(std::string_view name) : info_(&find_method(name)) {
  parameters = ParameterValues(info_->parameters);
}

void MethodChoice::set(std::string_view parameter, const Value& value) {
  parameters.set(fmt::format("method '{}'", name()), info_->parameters, parameter, value);
}

}  // namespace kreisel::method
