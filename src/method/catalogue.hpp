// Every method by name: what it supports and how it is created.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "coeff/brackets.hpp"
#include "kreisel/groups.hpp"
#include "kreisel/types.hpp"
#include "method/method.hpp"
#include "method/parameters.hpp"

namespace kreisel::method {

/// Arguments of a factory.
struct MethodRequest {
  int max_order = 4;
  std::string correction = "magnus";
  const coeff::CorrectionSet* own_correction = nullptr;  ///< for `file:PATH`
  ParameterValues parameters;                            ///< of the method, defaults filled in
  bool has_given_steps = false;                          ///< of different size
};

struct MethodInfo {
  std::string name{}, summary{};
  int min_order = 1, max_order = 6;
  int default_order = 4;
  bool has_order_choice = true;
  std::vector<std::string> formulations{};           ///< supported, by name
  std::vector<std::string> variable_formulations{};  ///< under error control; empty: constant step only
  std::vector<ParameterInfo> parameters{};
  bool has_corrections = false;
  /// Null for Runge-Kutta methods, which are not step maps; src/run implements them.
  std::function<std::unique_ptr<Method>(const lie::Space&, Counters&, const MethodRequest&)> make{};
  bool takes_step_sequences = false;  ///< given steps of different size
  int order_step = 1;                 ///< from one order it has to the next
  bool is_one_step = false;           ///< needs no past but, perhaps, a memory
  /// For rigid bodies alone: M constant in the body frame, no states, no unknowns without mass, no forces that depend on λ, no
  /// nonholonomic rows.
  bool needs_constant_mass = false;

  /// All methods support "ode".
  bool serves(std::string_view formulation) const;
  std::vector<int> orders() const;
  std::string orders_in_words() const;  ///< "orders 1 to 6", "orders 5 and 8", "order 2 only"
};

/// The built-in ones.
const std::vector<MethodInfo>& catalogue();
/// The built-in ones and those registered by the program (kreisel/own_method.hpp).
std::vector<std::string> method_names();
/// Registers a user-defined method. Throws InvalidInput if the name is taken.
void register_method(MethodInfo info);
/// Throws InvalidInput with the nearest match.
const MethodInfo& find_method(std::string_view name);

}  // namespace kreisel::method
