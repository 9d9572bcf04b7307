#include "method/canonical.hpp"

#include "coeff/bch.hpp"

namespace kreisel::method {

Canonical::Canonical(const lie::Space& space, Counters& counters, Series bch)
    : space_(space),
      bch_(bch),
      counters_(counters),
      power_(Vector::Zero(space.nv())),
      bracket_(Vector::Zero(space.nv())),
      change_(Vector::Zero(space.nv())),
      term_(Vector::Zero(space.nv())),
      node_(2 + coeff::bch_brackets.size(), Vector::Zero(space.nv())) {}

void Canonical::combine(int k, ConstVectorRef a, ConstVectorRef b, VectorRef out) {
  node_[0] = a;
  node_[1] = b;
  out = node_[0] + node_[1];
  for (int i = 0; i < coeff::bch_bracket_count(k); ++i) {
    if (i == coeff::bch_unprinted && bch_ == Series::as_printed) break;
    const coeff::BchBracket& term = coeff::bch_brackets[i];
    bracket(node_[term.left], node_[term.right], node_[i + 2]);
    if (term.numerator != 0) out += term.weight() * node_[i + 2];
  }
}

void Canonical::dexp_inverse(int k, ConstVectorRef omega, ConstVectorRef v, VectorRef out) {
  out = v;
  power_ = v;
  double sign = 1.0;
  for (int j = 1; j <= coeff::dexp_inverse_degree(k); ++j) {
    bracket(omega, power_, bracket_);
    power_ = bracket_;
    sign = -sign;  // ad_{-ω}^j = (-1)^j ad_ω^j
    if (coeff::dexp_inverse_coefficients[j] != 0.0) out += (sign * coeff::dexp_inverse_coefficients[j]) * power_;
  }
}

void Canonical::dexp_inverse_derivative(int k, ConstVectorRef omega, ConstVectorRef v, ConstVectorRef domega,
                                        VectorRef out) {
  out.setZero();
  power_ = v;
  change_.setZero();
  double sign = 1.0;
  for (int j = 1; j <= coeff::dexp_inverse_degree(k); ++j) {
    bracket(omega, change_, bracket_);
    bracket(domega, power_, term_);
    change_ = bracket_ + term_;
    bracket(omega, power_, bracket_);
    power_ = bracket_;
    sign = -sign;
    if (coeff::dexp_inverse_coefficients[j] != 0.0) out += (sign * coeff::dexp_inverse_coefficients[j]) * change_;
  }
}

}  // namespace kreisel::method
