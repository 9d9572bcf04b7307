#include "method/correction.hpp"

#include <fmt/format.h>

#include <array>

#include "base/spelling.hpp"
#include "coeff/bliedf_defect.hpp"
#include "kreisel/error.hpp"
#include "method/magnus.hpp"

namespace kreisel::method {
namespace {

/// L = 0: order 2 at best on a non-commutative group. For demonstration.
class NoCorrection final : public Correction {
 public:
  using Correction::Correction;
  bool serves_variable_steps() const override { return true; }
  CorrectionNeeds begin(const History&, double, int, double) override { return CorrectionNeeds::nothing; }
  void shift(ConstVectorRef, ConstVectorRef, VectorRef out) override { out.setZero(); }
  bool begin_tangents(ConstVectorRef) override { return true; }
  bool has_transposed() const override { return true; }
  bool has_defect(int k) const override { return k <= 2; }
  double defect_weight(int k, std::span<const double> steps) const override {
    return k == 2 ? coeff::increment_defect(2, 3, steps) / 12.0 : 0.0;
  }
  void defect_bracket(int k, std::span<const Vector> v, VectorRef out) override {
    if (k == 2)
      bracket(v[0], v[1], out);
    else
      out.setZero();
  }
};

/// L = w(steps)[v_n, v_{n-1}], orders 1 to 3 on any grid (Wieloch 2022, eq. 5.36).
class VariableDifference final : public Correction {
 public:
  VariableDifference(const lie::Space& space, Counters& counters)
      : Correction(space, counters), plain_(space, counters), shift_(Vector::Zero(space.nv())) {}

  bool serves_variable_steps() const override { return true; }
  CorrectionNeeds begin(const History& history, double h, int k, double) override {
    shift_.setZero();
    if (k < 3 || space_.is_commutative()) return CorrectionNeeds::nothing;
    const std::array<double, 3> steps{h, history[0].h, history[1].h};
    bracket(history[0].motion.v, history[1].motion.v, shift_);
    shift_ *= coeff::difference_weight(steps);
    return CorrectionNeeds::nothing;
  }
  void shift(ConstVectorRef, ConstVectorRef, VectorRef out) override { out = shift_; }

  bool has_defect(int k) const override { return k <= 3; }
  double defect_weight(int k, std::span<const double> steps) const override {
    return k == 3 ? coeff::difference_defect(steps) : plain_.defect_weight(k, steps);
  }
  void defect_bracket(int k, std::span<const Vector> v, VectorRef out) override {
    if (k == 3)
      bracket(v[0], v[2], out);
    else
      plain_.defect_bracket(k, v, out);
  }

 private:
  NoCorrection plain_;
  Vector shift_;
};

/// Nested brackets of linear forms (Wieloch 2022, eq. 3.34).
class SetCorrection final : public Correction {
 public:
  SetCorrection(std::array<const coeff::CorrectionSet*, 7> sets, const lie::Space& space, Counters& counters)
      : Correction(space, counters),
        sets_(sets),
        past_(8, Vector::Zero(space.nv())),
        lin_(past_),
        sum_(space.nv()),
        other_(space.nv()) {}

  bool serves_variable_steps() const override { return false; }
  bool has_printed_defect(int k) const override {
    return k <= 2 || (sets_[k] != nullptr && (sets_[k]->name == "published" || sets_[k]->name == "difference"));
  }

  CorrectionNeeds begin(const History& history, double h, int k, double) override {
    set_ = space_.is_commutative() ? nullptr : sets_[k];
    h_ = h;
    if (set_ == nullptr) return CorrectionNeeds::nothing;
    for (int j = 0; j < set_->count; ++j) {
      const coeff::LinearForm& form = set_->lin[j];
      past_[j].setZero();
      for (int i = 1; i <= k; ++i)
        if (form.a[i] != 0.0) past_[j] += (h * form.a[i]) * history[i - 1].motion.v;
      for (int i = 2; i <= k; ++i)
        if (form.b[i] != 0.0) past_[j] += form.b[i] * history[i - 2].omega;
    }
    if (set_->is_explicit()) return CorrectionNeeds::nothing;
    bool needs_v = false, needs_x = false;
    for (int j = 0; j < set_->count; ++j) {
      needs_v = needs_v || set_->lin[j].a[0] != 0.0;
      needs_x = needs_x || set_->lin[j].b[1] != 0.0;
    }
    return !needs_v ? CorrectionNeeds::increment : needs_x ? CorrectionNeeds::both : CorrectionNeeds::velocity;
  }

  void shift(ConstVectorRef x, ConstVectorRef v, VectorRef out) override {
    if (set_ == nullptr) {
      out.setZero();
      return;
    }
    for (int j = 0; j < set_->count; ++j)
      lin_[j] = past_[j] + (h_ * set_->lin[j].a[0]) * v + (h_ * set_->lin[j].b[1]) * x;
    add_chain(0, set_->has_two_chains() ? set_->count / 2 : set_->count, out);
    if (set_->has_two_chains()) {
      add_chain(set_->count / 2, set_->count, other_);
      out += other_;
    }
    out /= h_;
  }

  void shift_derivative(ConstVectorRef x, ConstVectorRef v, ConstVectorRef dx, ConstVectorRef dv,
                        VectorRef out) override {
    out.setZero();
    if (set_ == nullptr) return;
    for (int j = 0; j < set_->count; ++j)
      lin_[j] = past_[j] + (h_ * set_->lin[j].a[0]) * v + (h_ * set_->lin[j].b[1]) * x;
    const int first_chain = set_->has_two_chains() ? set_->count / 2 : set_->count;
    add_chain_derivative(0, first_chain, dx, dv, out);
    if (set_->has_two_chains()) add_chain_derivative(first_chain, set_->count, dx, dv, out);
    out /= h_;
  }

 private:
  Vector change_of(int j, ConstVectorRef dx, ConstVectorRef dv) const {
    return (h_ * set_->lin[j].a[0]) * dv + (h_ * set_->lin[j].b[1]) * dx;
  }
  /// By the product rule, from the inner bracket outwards.
  void add_chain_derivative(int first, int last, ConstVectorRef dx, ConstVectorRef dv, VectorRef out) {
    Vector value = Vector::Zero(out.size()), change = value, left = value, right = value;
    for (int j = last - 2; j >= first; j -= 2) {
      sum_ = lin_[j + 1] + value;
      change += change_of(j + 1, dx, dv);
      bracket(change_of(j, dx, dv), sum_, left);
      bracket(lin_[j], change, right);
      bracket(lin_[j], sum_, value);
      change = left + right;
    }
    out += change;
  }
  /// out = [lin_first, lin_{first+1} + [lin_{first+2}, …]]
  void add_chain(int first, int last, VectorRef out) {
    int j = last - 2;
    bracket(lin_[j], lin_[j + 1], out);
    for (j -= 2; j >= first; j -= 2) {
      sum_ = lin_[j + 1] + out;
      bracket(lin_[j], sum_, out);
    }
  }

  std::array<const coeff::CorrectionSet*, 7> sets_;
  const coeff::CorrectionSet* set_ = nullptr;
  double h_ = 0.0;
  std::vector<Vector> past_, lin_;
  Vector sum_, other_;
};

/// Brackets of backward differences at t_{n+1}:
/// hL = C/12 + [V, -D₃/720 + [V, D₂-C]/720] + [D₁, -D₂/180 - C/240], C = [V, D₁]; k = 3, 4 keep C/12 only.
class DifferenceCorrection final : public Correction {
 public:
  DifferenceCorrection(const lie::Space& space, Counters& counters) : Correction(space, counters) {
    for (Vector* v : {&V_, &D1_, &D2_, &D3_, &past_V_, &past1_, &past2_, &past3_, &C_, &inner_, &term_})
      v->setZero(space.nv());
  }

  bool serves_variable_steps() const override { return false; }

  CorrectionNeeds begin(const History& history, double h, int k, double) override {
    set_ = space_.is_commutative() ? nullptr : coeff::find_difference_set("implicit", k);
    h_ = h;
    if (set_ == nullptr) return CorrectionNeeds::nothing;
    const auto gather = [&](const std::array<double, 7>& weights, Vector& out) {
      out.setZero();
      for (int i = 1; i <= k; ++i)
        if (weights[i] != 0.0) out += (h * weights[i]) * history[i - 1].motion.v;
    };
    gather(set_->V, past_V_);
    gather(set_->D1, past1_);
    gather(set_->D2, past2_);
    gather(set_->D3, past3_);
    return set_->is_explicit() ? CorrectionNeeds::nothing : CorrectionNeeds::velocity;
  }

  void shift(ConstVectorRef, ConstVectorRef v, VectorRef out) override {
    if (set_ == nullptr) {
      out.setZero();
      return;
    }
    V_ = past_V_ + (h_ * set_->V[0]) * v;
    D1_ = past1_ + (h_ * set_->D1[0]) * v;
    bracket(V_, D1_, C_);
    out = C_ / 12.0;
    if (set_->k > 4) {
      D2_ = past2_ + (h_ * set_->D2[0]) * v;
      D3_ = past3_ + (h_ * set_->D3[0]) * v;
      term_ = D2_ - C_;
      bracket(V_, term_, inner_);
      term_ = (inner_ - D3_) / 720.0;
      bracket(V_, term_, inner_);
      out += inner_;
      term_ = -D2_ / 180.0 - C_ / 240.0;
      bracket(D1_, term_, inner_);
      out += inner_;
    }
    out /= h_;
  }

  void shift_derivative(ConstVectorRef, ConstVectorRef v, ConstVectorRef, ConstVectorRef dv, VectorRef out) override {
    out.setZero();
    if (set_ == nullptr) return;
    Vector dC = out, other = out, inner = out;
    const auto of = [&](const std::array<double, 7>& weights) -> Vector { return (h_ * weights[0]) * dv; };
    const auto derive = [&](const Vector& a, const Vector& da, const Vector& b, const Vector& db, Vector& result) {
      bracket(da, b, result);
      bracket(a, db, other);
      result += other;
    };
    V_ = past_V_ + (h_ * set_->V[0]) * v;
    D1_ = past1_ + (h_ * set_->D1[0]) * v;
    bracket(V_, D1_, C_);
    derive(V_, of(set_->V), D1_, of(set_->D1), dC);
    out = dC / 12.0;
    if (set_->k > 4) {
      D2_ = past2_ + (h_ * set_->D2[0]) * v;
      D3_ = past3_ + (h_ * set_->D3[0]) * v;
      term_ = D2_ - C_;
      bracket(V_, term_, inner_);
      derive(V_, of(set_->V), term_, of(set_->D2) - dC, inner);
      term_ = (inner_ - D3_) / 720.0;
      inner = (inner - of(set_->D3)) / 720.0;
      Vector change = out;
      derive(V_, of(set_->V), term_, inner, change);
      out += change;
      term_ = -D2_ / 180.0 - C_ / 240.0;
      derive(D1_, of(set_->D1), term_, -of(set_->D2) / 180.0 - dC / 240.0, change);
      out += change;
    }
    out /= h_;
  }

 private:
  const coeff::DifferenceSet* set_ = nullptr;
  double h_ = 0.0;
  Vector V_, D1_, D2_, D3_, past_V_, past1_, past2_, past3_, C_, inner_, term_;
};

}  // namespace

void Correction::commutator_part(ConstVectorRef, ConstVectorRef, VectorRef out) { out.setZero(); }

std::vector<std::string> correction_names() {
  return {"magnus",     "magnus-explicit", "magnus-taylor",  "implicit", "difference", "published",
          "two-chains", "tuned",           "tuned-implicit", "none",     "file:PATH"};
}

std::unique_ptr<Correction> make_correction(std::string_view name, int max_order, const coeff::CorrectionSet* own,
                                            const lie::Space& space, Counters& counters, bool has_given_steps) {
  if (name == "difference" && has_given_steps) {
    if (max_order > 3)
      throw InvalidInput(
          fmt::format("correction 'difference' exists for orders 1 to 3 on given steps, but the order is {}; use {} 3, "
                      "or {} magnus, which supports every order",
                      max_order, spelled("order"), spelled("correction")));
    return std::make_unique<VariableDifference>(space, counters);
  }
  if (name == "magnus") return std::make_unique<MagnusCorrection>(MagnusVariant::full, space, counters);
  if (name == "magnus-explicit") return std::make_unique<MagnusCorrection>(MagnusVariant::past, space, counters);
  if (name == "magnus-taylor") return std::make_unique<MagnusCorrection>(MagnusVariant::taylor, space, counters);
  if (name == "none") return std::make_unique<NoCorrection>(space, counters);
  if (name == "implicit") return std::make_unique<DifferenceCorrection>(space, counters);

  std::array<const coeff::CorrectionSet*, 7> sets{};
  if (own != nullptr) {
    if (own->k != max_order)
      throw InvalidInput(
          fmt::format("correction '{}' is a coefficient set for order {}, but the order is {}; use {} {}", name, own->k,
                      max_order, spelled("order"), own->k));
    sets[own->k] = own;
    return std::make_unique<SetCorrection>(sets, space, counters);
  }
  bool is_known = false;
  for (const coeff::CorrectionSet& set : coeff::correction_sets()) is_known = is_known || set.name == name;
  if (!is_known) throw InvalidInput(unknown_name("correction", name, correction_names()));
  if (max_order >= 3) {
    sets[max_order] = coeff::find_correction_set(name, max_order);
    if (sets[max_order] == nullptr) {
      std::string orders;
      for (int k = 3; k <= 6; ++k)
        if (coeff::find_correction_set(name, k) != nullptr) orders += (orders.empty() ? "" : ", ") + std::to_string(k);
      throw InvalidInput(
          fmt::format("correction '{}' has no coefficients for order {}; it exists for orders {}. "
                      "Use {} magnus, which supports every order",
                      name, max_order, orders, spelled("correction")));
    }
  }
  return std::make_unique<SetCorrection>(sets, space, counters);
}

}  // namespace kreisel::method
