#include "method/method.hpp"

#include <cmath>

namespace kreisel::method {

void Method::position(ConstVectorRef x, VectorRef q) {
  ++counters_.exponentials;
  scratch_.resize(space_.nv());
  scratch_ = h_ * x;
  space_.move((*history_)[0].motion.q, scratch_, q);
}

void Method::record(ConstVectorRef x, Entry& entry) { entry.omega = h_ * x; }

void Method::one_step_start(ConstVectorRef, double, bool, Entry&, VectorRef defect) { defect.setZero(); }

bool Method::local_errors(int, const Motion&, VectorRef, VectorRef) { return false; }

void Method::sum_defect(int k, double h, std::span<const coeff::NestedBracket> terms,
                        std::span<const Vector> derivatives, VectorRef out) {
  out = derivatives[k] / -(k + 1.0);
  Vector nested(out.size()), next(out.size());
  for (const coeff::NestedBracket& term : terms) {
    nested = derivatives[term.order[term.count - 1]];
    for (int i = term.count - 2; i >= 0; --i) {
      bracket(derivatives[term.order[i]], nested, next);
      nested.swap(next);
    }
    out += term.weight * nested;
  }
  out *= std::pow(h, k);
}

}  // namespace kreisel::method
