#include "method/method.hpp"

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

}  // namespace kreisel::method
