#include "method/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <variant>

#include "method/variants.hpp"

namespace kreisel::method {
namespace {

using namespace choices;

/// One member with its description. The default word comes first.
template <class Parameters>
struct Member {
  Field field;
  Value (*get)(const Parameters&);  ///< an empty text: not given
  void (*set)(Parameters&, const ParameterValues&, const std::string& name);
};

template <auto member, class Parameters>
Member<Parameters> bound(Field field) {
  using Type = std::remove_cvref_t<decltype(Parameters{}.*member)>;
  Member<Parameters> out;
  if constexpr (std::is_same_v<Type, double>) {
    field.default_number = Parameters{}.*member;
    out.get = [](const Parameters& p) { return Value(p.*member); };
    out.set = [](Parameters& p, const ParameterValues& v, const std::string& name) { p.*member = v.number(name); };
  } else if constexpr (std::is_same_v<Type, std::optional<double>>) {
    field.is_optional = true;
    out.get = [](const Parameters& p) { return (p.*member) ? Value(*(p.*member)) : Value(std::string()); };
    out.set = [](Parameters& p, const ParameterValues& v, const std::string& name) { p.*member = v.number(name); };
  } else if constexpr (std::is_same_v<Type, int>) {
    const auto usual = std::find(field.words.begin(), field.words.end(), fmt::format("{}", Parameters{}.*member));
    std::rotate(field.words.begin(), usual, usual + 1);
    out.get = [](const Parameters& p) { return Value(fmt::format("{}", p.*member)); };
    out.set = [](Parameters& p, const ParameterValues& v, const std::string& name) {
      p.*member = v.word(name).front() - '0';
    };
  } else {
    if (field.words.empty()) field.words = names_of<Type>();
    const auto usual = std::find(field.words.begin(), field.words.end(), Choice<Type>(Parameters{}.*member).name());
    std::rotate(field.words.begin(), usual, usual + 1);
    out.get = [](const Parameters& p) { return Value(std::string(Choice<Type>(p.*member).name())); };
    out.set = [](Parameters& p, const ParameterValues& v, const std::string& name) {
      p.*member = Choice<Type>(v.word(name)).value_or(Parameters{}.*member);
    };
  }
  out.field = std::move(field);
  return out;
}

/// Methods without parameters have none.
template <class Parameters>
std::vector<Member<Parameters>> members() {
  return {};
}

template <>
std::vector<Member<Bliedf>> members() {
  return {bound<&Bliedf::modification, Bliedf>({.name = "modification",
                                                .meaning = "what is modified where given steps change (index3)",
                                                .words = {"velocity", "none"}})};
}

template <>
std::vector<Member<GeneralizedAlpha>> members() {
  using A = GeneralizedAlpha;
  const std::string instead = "set directly instead of by rho_inf";
  return {
      bound<&A::rho_inf, A>(
          {.name = "rho_inf", .meaning = "spectral radius at infinite frequency", .minimum = 0.0, .maximum = 1.0}),
      bound<&A::alpha_m, A>({.name = "alpha_m", .meaning = instead}),
      bound<&A::alpha_f, A>({.name = "alpha_f", .meaning = instead}),
      bound<&A::beta, A>({.name = "beta", .meaning = instead, .minimum = 0.0, .minimum_is_excluded = true}),
      bound<&A::gamma, A>({.name = "gamma", .meaning = instead, .minimum = 0.0, .minimum_is_excluded = true}),
      bound<&A::approximation, A>({.name = "approximation",
                                   .meaning = "approximation of the jerk where the step size changes",
                                   .words = {"1", "2", "3", "4"}}),
      bound<&A::a3, A>({.name = "a3", .meaning = "weight of a_n in the jerk, with a4 instead of approximation"}),
      bound<&A::a4, A>({.name = "a4", .meaning = "weight of a_{n+1} in the jerk, with a3 instead of approximation"}),
      bound<&A::modification, A>({.name = "modification", .meaning = "what is modified where the step size changes"})};
}

Field linearization_field() {
  return {.name = "linearization",
          .meaning = "derivatives of brackets in Newton's matrix: of the leading ones, or of all (ode, index3)"};
}

Field baumgarte_field() {
  return {.name = "baumgarte",
          .meaning = "rate at which errors of constraints decay (index1)",
          .minimum = 0.0,
          .minimum_is_excluded = true,
          .unit = "1/s"};
}

template <>
std::vector<Member<variants::Bliedf>> members() {
  using B = variants::Bliedf;
  return {bound<&B::defect, B>(
              {.name = "defect", .meaning = "leading error by which velocities are modified (index3, given steps)"}),
          bound<&B::ratios, B>({.name = "ratios", .meaning = "what bounds the ratio of steps under error control"}),
          bound<&B::linearization, B>(linearization_field()), bound<&B::baumgarte, B>(baumgarte_field())};
}

template <>
std::vector<Member<variants::GeneralizedAlpha>> members() {
  using A = variants::GeneralizedAlpha;
  return {bound<&A::coefficients, A>(
              {.name = "coefficients", .meaning = "whether beta and gamma follow the ratio of steps"}),
          bound<&A::jerk, A>({.name = "jerk", .meaning = "differences that give the jerk at the start"}),
          bound<&A::baumgarte, A>(baumgarte_field())};
}

template <>
std::vector<Member<variants::Mkam>> members() {
  return {bound<&variants::Mkam::dexp, variants::Mkam>(
      {.name = "dexp", .meaning = "terms of the inverse tangent operator"})};
}

template <>
std::vector<Member<variants::Mkbdf>> members() {
  using M = variants::Mkbdf;
  return {bound<&M::recursion, M>({.name = "recursion", .meaning = "coordinates of the starting points"}),
          bound<&M::bch, M>(
              {.name = "bch", .meaning = "terms of degree 5 of the Baker-Campbell-Hausdorff series (order 6)"}),
          bound<&M::linearization, M>(linearization_field()), bound<&M::baumgarte, M>(baumgarte_field())};
}

template <>
std::vector<Member<variants::MkMultistep>> members() {
  using M = variants::MkMultistep;
  const auto alpha = [](const char* name) { return Field{.name = name, .meaning = "weight of coordinates"}; };
  const auto beta = [](const char* name) { return Field{.name = name, .meaning = "weight of velocities"}; };
  return {bound<&M::alpha0, M>(alpha("alpha0")), bound<&M::alpha1, M>(alpha("alpha1")),
          bound<&M::alpha2, M>(alpha("alpha2")), bound<&M::alpha3, M>(alpha("alpha3")),
          bound<&M::alpha4, M>(alpha("alpha4")), bound<&M::alpha5, M>(alpha("alpha5")),
          bound<&M::alpha6, M>(alpha("alpha6")), bound<&M::beta0, M>(beta("beta0")),
          bound<&M::beta1, M>(beta("beta1")),    bound<&M::beta2, M>(beta("beta2")),
          bound<&M::beta3, M>(beta("beta3")),    bound<&M::beta4, M>(beta("beta4")),
          bound<&M::beta5, M>(beta("beta5")),    bound<&M::beta6, M>(beta("beta6"))};
}

template <>
std::vector<Member<variants::ProjectedBdf>> members() {
  using P = variants::ProjectedBdf;
  return {bound<&P::tested_error, P>({.name = "tested_error", .meaning = "part of the error estimate that is tested"})};
}

template <>
std::vector<Member<variants::Rkmk>> members() {
  using K = variants::Rkmk;
  return {bound<&K::derivatives, K>(
      {.name = "derivatives", .meaning = "q' of a stage, plain or projected onto B v = 0 (index1)"})};
}

template <>
std::vector<Member<ProjectedBdf>> members() {
  return {bound<&ProjectedBdf::metric, ProjectedBdf>({.name = "metric", .meaning = "metric of the projections"}),
          bound<&ProjectedBdf::projection, ProjectedBdf>(
              {.name = "projection", .meaning = "project q, then v at the new q, or both together"})};
}

}  // namespace

template <class Parameters>
std::vector<Field> fields_of() {
  std::vector<Field> fields;
  for (const Member<Parameters>& member : members<Parameters>()) fields.push_back(member.field);
  return fields;
}

namespace {

/// Parameters of the method beside its public struct.
std::vector<Field> variant_fields(std::string_view name) {
  if (name == variants::Bliedf::name) return fields_of<variants::Bliedf>();
  if (name == variants::GeneralizedAlpha::name) return fields_of<variants::GeneralizedAlpha>();
  if (name == variants::Mkam::name) return fields_of<variants::Mkam>();
  if (name == variants::Mkbdf::name) return fields_of<variants::Mkbdf>();
  if (name == variants::ProjectedBdf::name) return fields_of<variants::ProjectedBdf>();
  if (name == variants::Rkmk::name) return fields_of<variants::Rkmk>();
  return {};
}

}  // namespace

template <class Parameters>
ParameterValues values_of(const Parameters& parameters) {
  std::vector<Field> fields = fields_of<Parameters>();
  for (Field& field : variant_fields(Parameters::name))
    if (find_field(fields, field.name) == nullptr) fields.push_back(std::move(field));
  ParameterValues values(fields);
  for (const Member<Parameters>& member : members<Parameters>()) {
    const Value value = member.get(parameters);
    if (value != Value(std::string()))
      values.set(fmt::format("method '{}'", Parameters::name), fields, member.field.name, value);
  }
  return values;
}

template <class Parameters>
Parameters parameters_in(const ParameterValues& values) {
  Parameters out;
  for (const Member<Parameters>& member : members<Parameters>())
    if (values.has(member.field.name)) member.set(out, values, member.field.name);
  return out;
}

#define KREISEL_PARAMETERS(Type)                         \
  template std::vector<Field> fields_of<Type>();         \
  template ParameterValues values_of<Type>(const Type&); \
  template Type parameters_in<Type>(const ParameterValues&);
KREISEL_PARAMETERS(Bliedf)
KREISEL_PARAMETERS(CommutatorFree)
KREISEL_PARAMETERS(CrouchGrossman)
KREISEL_PARAMETERS(GeneralizedAlpha)
KREISEL_PARAMETERS(Mkam)
KREISEL_PARAMETERS(Mkbdf)
KREISEL_PARAMETERS(ProjectedBdf)
KREISEL_PARAMETERS(Radau)
KREISEL_PARAMETERS(Rkmk)
KREISEL_PARAMETERS(variants::Bliedf)
KREISEL_PARAMETERS(variants::GeneralizedAlpha)
KREISEL_PARAMETERS(variants::Mkam)
KREISEL_PARAMETERS(variants::Mkbdf)
KREISEL_PARAMETERS(variants::MkMultistep)
KREISEL_PARAMETERS(variants::ProjectedBdf)
KREISEL_PARAMETERS(variants::Rkmk)
#undef KREISEL_PARAMETERS

}  // namespace kreisel::method
