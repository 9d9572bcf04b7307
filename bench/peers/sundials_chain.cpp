// IDA with KLU on the chain, in absolute coordinates with quaternions.
//
//   bench_sundials_chain ida-klu TOLERANCE...
#include <fmt/format.h>

#include "peers/chain_equations.hpp"
#include "support/count.hpp"
#include "support/problem.hpp"

namespace bench {
namespace {

std::vector<TopState> states_of(const std::vector<double>& y, int links) {
  std::vector<TopState> states;
  for (int k = 0; k < links; ++k) {
    const Eigen::Vector4d p = Map4(y.data() + link_size * k + at_p).normalized();
    states.push_back({Map3(y.data() + link_size * k + at_x), rotation(p)});
  }
  return states;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  if (argc < 3 || std::string(argv[1]) != "ida-klu") {
    fmt::print(stderr, "usage: {} ida-klu TOLERANCE...\n", argv[0]);
    return 2;
  }
  const Chain chain;
  const ChainDae dae(chain);
  for (const double tolerance : numbers_from(argc, argv, 2)) {
    Outcome o;
    std::vector<double> y;
    const std::string label = label_of("ida-klu", tolerance);
    count(label, [&] { o = solve_with_ida(dae, chain.t_end, tolerance, Factorization::klu, y); });
    print({label, "ida-klu", tolerance, error_of(chain, states_of(y, chain.links)), o.is_success, o.steps,
           o.evaluations, o.jacobians, o.iterations, o.rejected});
  }
}
