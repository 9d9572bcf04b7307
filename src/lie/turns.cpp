#include "lie/turns.hpp"

#include <algorithm>

#include "lie/all_groups.hpp"
#include "lie/group_info.hpp"

namespace kreisel::lie {
namespace {

/// Convergence is quadratic: a correction of 1e-9 leaves less than round-off. That of translations is relative to
/// positions far from the origin: their round-off may be more.
constexpr int max_iterations = 20;
constexpr double negligible = 1e-9;

}  // namespace

bool follow(const Space& space, ConstVectorRef q0, ConstVectorRef q1, VectorRef x) {
  bool is_found = true;
  for (const Block& block : space.blocks()) {
    const double* const from = q0.data() + block.q_at;
    const double* const to = q1.data() + block.q_at;
    double* const at = x.data() + block.v_at;
    with_group(
        block.group,
        [&] {
          for (int i = 0; i < block.nv; ++i) at[i] = to[i] - from[i];
        },
        [&]<class G>(G) {
          const typename G::Point start = Eigen::Map<const typename G::Point>(from),
                                  end = Eigen::Map<const typename G::Point>(to);
          typename G::Tangent y = Eigen::Map<const typename G::Tangent>(at);
          const int n = translations_of(block);
          const double reach = std::max({1.0, start.head(n).norm(), end.head(n).norm()});
          // exp(y)∘exp(d) = exp(y + T(y)⁻¹d + O(d²)).
          bool is_there = false;
          for (int iteration = 0; iteration < max_iterations && !is_there; ++iteration) {
            const typename G::Tangent d = G::log(G::compose(G::inverse(G::compose(start, G::exp(y))), end));
            y += G::tangent_inverse(y, d);
            is_there = d.tail(block.nv - n).norm() <= negligible && d.head(n).norm() <= negligible * reach;
          }
          is_found = is_found && is_there;
          Eigen::Map<typename G::Tangent>{at} = y;
        });
  }
  return is_found;
}

}  // namespace kreisel::lie
