// Dense output of the newest step, as a function of time.
#pragma once

#include <type_traits>

#include "method/history.hpp"

namespace kreisel::run {

/// Fills a point within the newest step; refers to a function that must outlive it. False: not possible.
class Interpolant {
 public:
  template <class F>
  requires(!std::is_same_v<F, Interpolant>) Interpolant(const F& f)
      : object_(&f), call_([](const void* object, double t, method::Entry& out) {
          return (*static_cast<const F*>(object))(t, out);
        }) {}
  bool operator()(double t, method::Entry& out) const { return call_(object_, t, out); }

 private:
  const void* object_;
  bool (*call_)(const void*, double, method::Entry&);
};

}  // namespace kreisel::run
