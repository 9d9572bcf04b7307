#include "system/deviation.hpp"

namespace kreisel::system {
namespace {

class Whole final : public Deviation {
 public:
  Whole(const System& a, const System& b) : a_(a), b_(b) {
    const int nv = a.space().nv(), position_rows = a.pattern().position_rows(), rows = a.pattern().rows();
    for (Residual& r : of_) r = Residual(nv, position_rows, rows);
    for (const auto& [size, to] : {std::pair(nv, &force_), std::pair(position_rows, &gap_), std::pair(rows, &rate_)})
      if (size > 0) to->push_back({0, size});
  }

  void residual(const Motion& m, ConstVectorRef lambda, double scale, Residual& out) override {
    a_.residual(m, lambda, of_[0]);
    b_.residual(m, lambda, of_[1]);
    out.force = scale * (of_[0].force - of_[1].force);
    out.gap = scale * (of_[0].gap - of_[1].gap);
    out.rate = scale * (of_[0].rate - of_[1].rate);
  }
  void constraint_force(const Motion& m, ConstVectorRef mu, double scale, VectorRef out) override {
    a_.constraint_force(m, mu, of_[0].force);
    b_.constraint_force(m, mu, of_[1].force);
    out = scale * (of_[0].force - of_[1].force);
  }

 private:
  const System &a_, &b_;
  Residual of_[2];
};

}  // namespace

std::unique_ptr<Deviation> make_deviation(const System& a, const System& b) {
  if (const auto* parted = dynamic_cast<const PartedSystem*>(&a))
    if (auto found = parted->deviation_from(b)) return found;
  return std::make_unique<Whole>(a, b);
}

}  // namespace kreisel::system
