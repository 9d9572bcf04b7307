#include "run/option_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <list>
#include <mutex>
#include <type_traits>

#include "method/catalogue.hpp"
#include "method/correction.hpp"
#include "solve/manifold.hpp"

namespace kreisel::run {
namespace {

using method::MethodChoice;

template <auto member>
Value get(const Options& options) {
  const auto& x = options.*member;
  using Type = std::remove_cvref_t<decltype(x)>;
  if constexpr (std::is_same_v<Type, int>)
    return static_cast<long>(x);
  else if constexpr (requires { x.name(); })
    return std::string(x.name());
  else
    return x;
}

template <auto member>
void set(Options& options, const Value& value) {
  auto& x = options.*member;
  using Type = std::remove_cvref_t<decltype(x)>;
  if constexpr (std::is_same_v<Type, int>)
    x = static_cast<int>(
        std::clamp<long>(std::get<long>(value), std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  else if constexpr (requires { x.name(); })
    x = Type(std::get<std::string>(value));
  else
    x = std::get<Type>(value);
}

template <auto member>
OptionField bound(std::string_view heading, std::string_view symbol, Field field) {
  return {std::move(field), symbol, heading, get<member>, set<member>};
}
template <auto member>
OptionField of_error_control(std::string_view symbol, Field field) {
  return {std::move(field), symbol, headings::time, get<member>, set<member>, true};
}

Field number(std::string name, std::string unit, std::string meaning, std::string fallback = {}) {
  return {.name = std::move(name),
          .meaning = std::move(meaning),
          .is_optional = true,
          .unit = std::move(unit),
          .fallback = std::move(fallback)};
}
Field positive(std::string name, std::string unit, std::string meaning, std::string fallback = {}) {
  Field field = number(std::move(name), std::move(unit), std::move(meaning), std::move(fallback));
  field.minimum = 0.0;
  field.minimum_is_excluded = true;
  return field;
}
Field count(std::string name, double maximum, std::string meaning, std::string fallback = {}) {
  return {.name = std::move(name),
          .meaning = std::move(meaning),
          .minimum = 1.0,
          .maximum = maximum,
          .kind = FieldKind::whole,
          .fallback = std::move(fallback)};
}
Field word(std::string name, std::vector<std::string> words, std::string meaning, std::string fallback,
           std::string noun = {}) {
  return {.name = std::move(name),
          .meaning = std::move(meaning),
          .words = std::move(words),
          .kind = FieldKind::word,
          .fallback = std::move(fallback),
          .noun = std::move(noun)};
}
Field times(std::string name, std::string meaning) {
  return {.name = std::move(name),
          .meaning = std::move(meaning),
          .words = {"file:PATH"},
          .kind = FieldKind::numbers,
          .unit = "s"};
}

std::vector<OptionField> list() {
  using namespace headings;
  using O = Options;
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  return {
      bound<&O::method>(method, "M",
                        word("method", method::method_names(), "integration method",
                             "bliedf, replaced by radau where stiff vibrations limit its steps")),
      bound<&O::order>(method, "K",
                       count("order", unbounded, "order of the method; with tolerances it fixes the order")),
      bound<&O::formulation>(method, "F",
                             word("formulation", names_of<system::Formulation>(), "formulation of the constraints",
                                  "stabilized-index2, or ode")),
      bound<&O::correction>(method, "C",
                            word("correction", method::correction_names(), "commutator term of bliedf",
                                 "magnus; magnus-explicit with tolerances")),
      bound<&O::starting>(method, "S",
                          word("starting", names_of<Starting>(), "starting values", "corrected", "starting procedure")),
      bound<&O::project_position_at>(
          method, "T,...", times("project_position_at", "project q onto Phi = 0 at these times, in the mass metric")),
      bound<&O::project_velocity_at>(
          method, "T,...", times("project_velocity_at", "project v onto B v = 0 at these times, in the mass metric")),
      bound<&O::restart>(
          method, "R",
          word("restart", names_of<Restart>(),
               "how to continue after such a projection; corrected starting values keep the order", "none")),
      bound<&O::conserved>(method, "I,...",
                           {.name = "conserve",
                            .meaning = "invariants that projected-bdf projects onto as well",
                            .words = solve::invariant_names(),
                            .kind = FieldKind::words,
                            .noun = "invariant"}),

      bound<&O::step>(time, "H", positive("step", "s", "constant steps of this size; shrunk when they miss t_end")),
      {{.name = "rtol",
        .meaning = "relative error tolerance",
        .minimum = 0.0,
        .maximum = 1.0,
        .minimum_is_excluded = true,
        .maximum_is_excluded = true,
        .fallback = "1e-6"},
       "R",
       time,
       get<&O::rtol>,
       set<&O::rtol>,
       true},
      of_error_control<&O::atol>(
          "A", {.name = "atol", .meaning = "absolute error tolerance", .minimum = 0.0, .fallback = "1e-8"}),
      bound<&O::t_end>(time, "T", number("t_end", "s", "final time", "the model's")),
      of_error_control<&O::control_lambda>(
          "", {.name = "control_lambda", .meaning = "include lambda in the error test", .kind = FieldKind::truth}),
      of_error_control<&O::max_order>("K", count("max_order", 6.0, "highest order under error control", "6")),
      of_error_control<&O::initial_step>("H",
                                         positive("initial_step", "s", "first step under error control", "chosen")),
      of_error_control<&O::min_step>("H", positive("min_step", "s", "smallest step under error control")),
      of_error_control<&O::max_step>("H", positive("max_step", "s", "largest step under error control")),
      bound<&O::corners>(
          time, "T,...",
          times("corners", "times at which forces jump, in addition to those of the model; steps end there")),
      bound<&O::output_step>(
          time, "D", positive("output_step", "s", "write the trajectory at multiples of this time", "every step")),
      bound<&O::output_times>(time, "T,...", times("output_times", "write the trajectory at these times")),

      bound<&O::max_steps>(solver, "N", count("max_steps", unbounded, "largest number of steps", "10000000")),
      bound<&O::newton_tolerance>(solver, "E",
                                  positive("newton_tolerance", "", "weighted update at which Newton's method stops",
                                           "1e-10, or by tolerances")),
      bound<&O::newton_iterations>(solver, "N",
                                   count("newton_iterations", unbounded, "iterations per matrix before giving up",
                                         "25; at most 8 with tolerances")),
      bound<&O::newton_matrix>(solver, "W",
                               word("newton_matrix", names_of<NewtonMatrix>(), "when Newton's matrix is evaluated",
                                    "every-step; kept while it converges with tolerances", "choice")),
      bound<&O::linear_solver>(
          solver, "L",
          word("linear_solver", names_of<linear::SolverKind>(), "linear solver of the Newton equations", "automatic")),
      bound<&O::threads>(
          solver, "N",
          count("threads", 256.0, "threads for the assembly of large mechanisms; results are bitwise the same", "1")),
  };
}

}  // namespace

const std::vector<OptionField>& option_fields() {
  // Registered methods are added to the words; results of earlier calls stay valid.
  static std::mutex access;
  static std::list<std::vector<OptionField>> versions;
  static std::size_t known = 0;
  const std::scoped_lock lock(access);
  if (const std::size_t now = method::method_names().size(); versions.empty() || now != known) {
    known = now;
    versions.push_back(list());
  }
  return versions.back();
}

std::string described(const Field& field) {
  std::string text = field.meaning;
  if (!field.unit.empty()) text += fmt::format(" [{}]", field.unit);
  if (!field.fallback.empty()) text += fmt::format(" (default {})", field.fallback);
  if (field.words.empty()) return text;
  if (field.kind == FieldKind::numbers) return text + ", or " + field.words.front();
  return text + fmt::format(" {{{}}}", fmt::join(field.words, ", "));
}

}  // namespace kreisel::run
