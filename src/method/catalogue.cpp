#include "method/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <mutex>

#include "base/spelling.hpp"
#include "coeff/bdf.hpp"
#include "coeff/multistep.hpp"
#include "kreisel/error.hpp"
#include "method/bliedf.hpp"
#include "method/commutator_free.hpp"
#include "method/crouch_grossman.hpp"
#include "method/generalized_alpha.hpp"
#include "method/mkam.hpp"
#include "method/mkbdf.hpp"
#include "method/variants.hpp"

namespace kreisel::method {
namespace {

std::unique_ptr<Method> make_bliedf(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  const auto [defect, ratios, linearization, baumgarte] = parameters_in<variants::Bliedf>(request.parameters);
  if (defect == DefectSource::as_printed && request.correction != "difference")
    throw InvalidInput(
        fmt::format("bliedf: defect=as-printed requires the correction difference, but the correction is {}; use {} "
                    "difference, or defect=corrected",
                    request.correction, spelled("correction")));
  return std::make_unique<Bliedf>(
      space, counters,
      make_correction(request.correction, request.max_order, request.own_correction, space, counters,
                      request.has_given_steps),
      parameters_in<choices::Bliedf>(request.parameters).modification == Modification::velocity, defect, linearization);
}
/// No modification is needed because of its projections.
std::unique_ptr<Method> make_projected_bdf(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  return std::make_unique<Bliedf>(space, counters,
                                  make_correction(request.correction, request.max_order, request.own_correction, space,
                                                  counters, request.has_given_steps),
                                  true);
}

/// Of both structs.
template <class First, class Second>
std::vector<Field> fields_of() {
  std::vector<Field> fields = method::fields_of<First>();
  for (Field& field : method::fields_of<Second>()) fields.push_back(std::move(field));
  return fields;
}

/// For methods without parameters.
template <class Plain>
std::unique_ptr<Method> make_plain(const lie::Space& space, Counters& counters, const MethodRequest&) {
  return std::make_unique<Plain>(space, counters);
}

std::unique_ptr<Method> make_mkam(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  return std::make_unique<Mkam>(space, counters, parameters_in<variants::Mkam>(request.parameters).dexp);
}

std::unique_ptr<Method> make_mkbdf(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  const auto p = parameters_in<variants::Mkbdf>(request.parameters);
  return std::make_unique<Mkbdf>(space, counters, Mkbdf::Variant{p.recursion, p.bch, p.linearization});
}

std::unique_ptr<Method> make_mk_multistep(const lie::Space& space, Counters& counters, const MethodRequest& request) {
  const auto p = parameters_in<variants::MkMultistep>(request.parameters);
  const std::array alpha{p.alpha0, p.alpha1, p.alpha2, p.alpha3, p.alpha4, p.alpha5, p.alpha6};
  const std::array beta{p.beta0, p.beta1, p.beta2, p.beta3, p.beta4, p.beta5, p.beta6};
  coeff::Multistep own;
  own.k = 0;
  for (int i = 0; i < 7; ++i) {
    own.alpha[i] = alpha[i].value_or(0.0);
    own.beta[i] = beta[i].value_or(0.0);
    if (alpha[i] || beta[i]) own.k = i;
  }
  const bool has_alpha = std::ranges::any_of(alpha, [](const auto& x) { return x.has_value(); });
  const bool has_beta = std::ranges::any_of(beta, [](const auto& x) { return x.has_value(); });
  if (!has_alpha && !has_beta) {
    own.k = 4;
    for (int i = 0; i <= own.k; ++i) own.alpha[i] = coeff::bdf_alpha(own.k, i);
  }
  if (!has_beta) own.beta[0] = 1.0;
  if (const std::vector<std::string> problems = coeff::problems_in(own); !problems.empty())
    throw InvalidInput(
        fmt::format("mk-multistep: {}\n  expected alpha0 ... alphak and beta0 ... betak of an implicit, "
                    "consistent, zero-stable method; alpha = 3/2, -2, 1/2 and beta = 1 is BDF of order 2",
                    fmt::join(problems, "\n  ")));
  return std::make_unique<Mkbdf>(space, counters, own);
}

std::unique_ptr<Method> make_generalized_alpha(const lie::Space& space, Counters& counters,
                                               const MethodRequest& request) {
  const auto p = parameters_in<choices::GeneralizedAlpha>(request.parameters);
  const coeff::GeneralizedAlpha alpha = coefficients_of(p);
  const std::vector<std::string> violated = coeff::violated_conditions(alpha, coeff::AlphaStability::unconditional);
  if (!violated.empty())
    throw InvalidInput(fmt::format(
        "generalized-alpha: the parameters violate\n  {}\n  remedy: set rho_inf alone, or change the values",
        fmt::join(violated, "\n  ")));
  const double delta = alpha.delta();
  AlphaModification modification;
  modification.velocity = p.modification == Modification::both || p.modification == Modification::velocity;
  modification.acceleration = p.modification == Modification::both || p.modification == Modification::acceleration;
  modification.parameters =
      parameters_in<variants::GeneralizedAlpha>(request.parameters).coefficients == AlphaCoefficients::of_ratio;
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
       .parameters = fields_of<choices::Bliedf, variants::Bliedf>(),
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
      {.name = "energy-momentum",
       .summary = "energy-momentum method for rigid bodies, order 2",
       .min_order = 2,
       .max_order = 2,
       .default_order = 2,
       .has_order_choice = false,
       .formulations = {"ode", "index3"},
       .takes_step_sequences = true,
       .is_one_step = true,
       .needs_constant_mass = true},
      {.name = "generalized-alpha",
       .summary = "generalized-alpha, order 2",
       .min_order = 2,
       .max_order = 2,
       .default_order = 2,
       .has_order_choice = false,
       .formulations = all,
       .variable_formulations = all,
       .parameters = fields_of<choices::GeneralizedAlpha, variants::GeneralizedAlpha>(),
       .make = make_generalized_alpha,
       .takes_step_sequences = true,
       .is_one_step = true},
      {.name = "half-explicit",
       .summary = "half-explicit Runge-Kutta (HEDOP5) on the index-2 form, order 5",
       .min_order = 5,
       .max_order = 5,
       .default_order = 5,
       .has_order_choice = false,
       .formulations = {"ode", "projected", "index2"},
       .variable_formulations = {"ode", "projected", "index2"},
       .takes_step_sequences = true,
       .is_one_step = true},
      {.name = "mk-multistep",
       .summary = "Munthe-Kaas multistep method with user-defined alpha and beta, BDF of order 4 by default",
       .min_order = 4,
       .max_order = 4,
       .default_order = 4,
       .has_order_choice = false,
       .formulations = all,
       .parameters = method::fields_of<variants::MkMultistep>(),
       .make = make_mk_multistep},
      {.name = "mkam",
       .summary = "Munthe-Kaas Adams-Moulton without constraints, order 1..6",
       .formulations = none,
       .parameters = method::fields_of<variants::Mkam>(),
       .make = make_mkam},
      {.name = "mkbdf",
       .summary = "Munthe-Kaas BDF, order 1..6",
       .formulations = all,
       .parameters = method::fields_of<variants::Mkbdf>(),
       .make = make_mkbdf},
      {.name = "projected-bdf",
       .summary = "BDF on the index-1 form with projection onto constraints and invariants, order 1..6",
       .formulations = projected,
       .variable_formulations = projected,
       .parameters = fields_of<choices::ProjectedBdf, variants::ProjectedBdf>(),
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
       .takes_step_sequences = true,
       .is_one_step = true},
      {.name = "rattlie",
       .summary = "variational integrator for rigid bodies (RATTLie), order 2",
       .min_order = 2,
       .max_order = 2,
       .default_order = 2,
       .has_order_choice = false,
       .formulations = {"ode", "stabilized-index2"},
       .takes_step_sequences = true,
       .is_one_step = true,
       .needs_constant_mass = true},
      {.name = "rkmk",
       .summary = "explicit Runge-Kutta-Munthe-Kaas on the index-1 form with projection, order 5 or 8",
       .min_order = 5,
       .max_order = 8,
       .default_order = 8,
       .formulations = projected,
       .variable_formulations = projected,
       .parameters = method::fields_of<variants::Rkmk>(),
       .order_step = 3,
       .is_one_step = true},
  };
  return list;
}

namespace {

/// A list keeps the addresses of its elements, which choices point to.
std::list<MethodInfo>& registered() {
  static std::list<MethodInfo> list;
  return list;
}
std::mutex& registration() {
  static std::mutex access;
  return access;
}

}  // namespace

std::vector<std::string> method_names() {
  std::vector<std::string> names = names_in(catalogue());
  const std::scoped_lock lock(registration());
  for (const MethodInfo& info : registered()) names.push_back(info.name);
  return names;
}

void register_method(MethodInfo info) {
  if (info.name.empty()) throw InvalidInput("a method needs a name");
  for (const std::string& name : method_names())
    if (name == info.name) throw InvalidInput(fmt::format("a method '{}' already exists; choose another name", name));
  const std::scoped_lock lock(registration());
  registered().push_back(std::move(info));
}

const MethodInfo& find_method(std::string_view name) {
  {
    const std::scoped_lock lock(registration());
    for (const MethodInfo& info : registered())
      if (info.name == name) return info;
  }
  for (const MethodInfo& info : catalogue())
    if (info.name == name) return info;
  throw InvalidInput(unknown_name("method", name, method_names()));
}

const std::string& MethodChoice::name() const { return info_->name; }

MethodChoice::MethodChoice(std::string_view name) : info_(&find_method(name)) {
  parameters = ParameterValues(info_->parameters);
}

void MethodChoice::set(std::string_view parameter, const Value& value) {
  parameters.set(fmt::format("method '{}'", name()), info_->parameters, parameter, value);
}

}  // namespace kreisel::method
