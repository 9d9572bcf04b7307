#include "method/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <variant>

namespace kreisel::method {
namespace {

using namespace choices;

/// One member with its description. A word stands first among its words when it is the default.
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
  const std::string instead = "given one by one instead of rho_inf";
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

template <>
std::vector<Member<ProjectedBdf>> members() {
  return {bound<&ProjectedBdf::metric, ProjectedBdf>({.name = "metric", .meaning = "metric of the projections"}),
          bound<&ProjectedBdf::projection, ProjectedBdf>(
              {.name = "projection", .meaning = "of q and then of v at the new q, or of both together"})};
}

}  // namespace

template <class Parameters>
std::vector<Field> fields_of() {
  std::vector<Field> fields;
  for (const Member<Parameters>& member : members<Parameters>()) fields.push_back(member.field);
  return fields;
}

template <class Parameters>
ParameterValues values_of(const Parameters& parameters) {
  const std::vector<Field> fields = fields_of<Parameters>();
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
#undef KREISEL_PARAMETERS

}  // namespace kreisel::method
