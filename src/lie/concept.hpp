// What a Lie group must offer. Convention: left trivialisation, q⁺ = q∘exp(x).
#pragma once

#include <concepts>
#include <string_view>

#include "kreisel/types.hpp"

namespace kreisel::lie {

/// Laws, checked for every group by tests/lie/law_test.cpp:
///   exp(log p) = p,  p∘p⁻¹ = e,  bracket(x, y) = hat(x) y,
///   d/dt exp(x) = exp(x)·T(x)ẋ  with  T(x) = Σ (-1)ⁱ/(i+1)! hat(x)ⁱ,
///   tangent(x, y) = T(x) y,  tangent_inverse(x) T(x) = 1.
template <class G>
concept LieGroup = requires(const typename G::Point& p, const typename G::Tangent& x) {
  requires G::Point::SizeAtCompileTime == G::nq&& G::Tangent::SizeAtCompileTime == G::nv;
  requires G::Embedding::SizeAtCompileTime == G::embedding_size;
  { G::name } -> std::convertible_to<std::string_view>;
  { G::identity() } -> std::same_as<typename G::Point>;
  { G::compose(p, p) } -> std::same_as<typename G::Point>;
  { G::inverse(p) } -> std::same_as<typename G::Point>;
  { G::exp(x) } -> std::same_as<typename G::Point>;
  { G::log(p) } -> std::same_as<typename G::Tangent>;
  { G::bracket(x, x) } -> std::same_as<typename G::Tangent>;
  { G::hat(x) } -> std::same_as<typename G::Matrix>;
  { G::tangent(x) } -> std::same_as<typename G::Matrix>;
  { G::tangent(x, x) } -> std::same_as<typename G::Tangent>;
  { G::tangent_inverse(x) } -> std::same_as<typename G::Matrix>;
  { G::tangent_inverse(x, x) } -> std::same_as<typename G::Tangent>;
  { G::embed(p) } -> std::same_as<typename G::Embedding>;
};

}  // namespace kreisel::lie
