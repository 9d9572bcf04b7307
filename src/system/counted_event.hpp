// Events whose action waits for a later occurrence.
#pragma once

#include <functional>
#include <utility>

#include "kreisel/event.hpp"

namespace kreisel::system {

/// The function of an event with the number of the first occurrence that acts; those before are only recorded.
struct CountedFunction {
  decltype(Event::function) function;
  int acts_from = 1;

  double operator()(double t, const Vector& q, const Vector& v, const Vector& lambda) const {
    return function(t, q, v, lambda);
  }
};

/// 1 unless the function of the event says otherwise.
inline int acts_from(const Event& event) {
  const auto* counted = event.function.target<CountedFunction>();
  return counted == nullptr ? 1 : counted->acts_from;
}

}  // namespace kreisel::system
