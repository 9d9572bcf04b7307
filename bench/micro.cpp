// Kernels one by one: the groups, and LU against Eigen's PartialPivLU.
//
//   bench_micro [options of Google Benchmark]      nanoseconds
//   bench_micro count                              instructions, under callgrind: calls per count in each line
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <Eigen/LU>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "lie/all_groups.hpp"
#include "linear/solver.hpp"
#include "support/count.hpp"

namespace {

using namespace kreisel;

struct Kernel {
  std::string name;
  std::function<void()> call;
};

/// Rotation by about half a radian, typical of steps and increments.
template <class G>
typename G::Tangent sample_tangent(double phase) {
  typename G::Tangent x;
  for (int i = 0; i < G::nv; ++i) x[i] = 0.3 * std::sin(phase + 1.7 * i);
  return x;
}

template <class G>
void add_group(std::vector<Kernel>& list) {
  const std::string group(G::name);
  const typename G::Tangent x = sample_tangent<G>(0.4), y = sample_tangent<G>(2.0);
  const typename G::Point p = G::exp(x), r = G::exp(y);
  const auto add = [&](const char* name, auto function) {
    // The arguments are read again and the result is used, so the compiler can neither hoist nor drop the call.
    list.push_back({group + " " + name, [=]() mutable {
                      benchmark::ClobberMemory();
                      auto result = function();
                      benchmark::DoNotOptimize(result);
                    }});
  };
  add("exp", [x] { return G::exp(x); });
  add("log", [p] { return G::log(p); });
  add("compose", [p, r] { return G::compose(p, r); });
  add("bracket", [x, y] { return G::bracket(x, y); });
  add("T", [x] { return G::tangent(x); });
  add("T y", [x, y] { return G::tangent(x, y); });
  add("T inverse", [x] { return G::tangent_inverse(x); });
  add("T inverse y", [x, y] { return G::tangent_inverse(x, y); });
}

/// Calls through the run-time product, as the methods make them.
void add_space(std::vector<Kernel>& list, lie::GroupId group) {
  struct Workspace {
    lie::Space space;
    Vector q, x, y, out_q, out_v, blocks;
  };
  const auto w = std::make_shared<Workspace>();
  w->space = lie::Space({lie::Factor{group, 3}});
  w->q.resize(w->space.nq());
  w->space.set_identity(w->q);
  w->x = Vector::LinSpaced(w->space.nv(), -0.2, 0.3);
  w->y = Vector::LinSpaced(w->space.nv(), 0.1, 0.4);
  w->out_q = w->q;
  w->out_v = w->x;
  w->blocks.resize(w->space.block_diagonal_size());
  const std::string name = "space of " + std::string(lie::name_of(group));
  list.push_back({name + " move", [w] { w->space.move(w->q, w->x, w->out_q); }});
  list.push_back({name + " bracket", [w] { w->space.bracket(w->x, w->y, w->out_v); }});
  list.push_back({name + " tangent_blocks", [w] { w->space.tangent_blocks(w->x, w->blocks); }});
}

/// A saddle point matrix like those of Newton's method: bodies of six, joints of three.
void add_lu(std::vector<Kernel>& list, int bodies, int joints) {
  std::vector<int> sizes(bodies, 6);
  sizes.insert(sizes.end(), joints, 3);
  std::vector<std::pair<int, int>> entries;
  for (int b = 0; b < bodies; ++b) entries.push_back({b, b});
  for (int j = 0; j < joints; ++j)
    for (const int b : {j % bodies, (j + 1) % bodies}) {
      entries.push_back({b, bodies + j});
      entries.push_back({bodies + j, b});
    }
  struct Workspace {
    linear::BlockMatrix matrix;
    std::unique_ptr<linear::Solver> solver;
    Matrix dense;
    Eigen::PartialPivLU<Matrix> eigen;
    Vector b, x;
  };
  const auto w = std::make_shared<Workspace>();
  w->matrix = linear::BlockMatrix(sizes, entries);
  for (Eigen::Index i = 0; i < w->matrix.values().size(); ++i)
    w->matrix.values()[i] = std::sin(1.0 + 3.1 * static_cast<double>(i));
  w->solver = linear::make_solver("dense", w->matrix);
  w->dense = w->matrix.to_dense();
  const int n = w->matrix.size();
  w->b = Vector::LinSpaced(n, -1.0, 1.0);
  w->x = w->b;
  w->eigen.compute(w->dense);
  if (!w->solver->factorize(w->matrix)) fmt::print(stderr, "the sample matrix of size {} is singular\n", n);
  const std::string size = fmt::format("LU {}", n);
  list.push_back({size + " factorize", [w] { benchmark::DoNotOptimize(w->solver->factorize(w->matrix)); }});
  list.push_back({size + " solve", [w] {
                    w->x = w->b;
                    w->solver->solve(w->x);
                  }});
  list.push_back({size + " factorize, Eigen", [w] { w->eigen.compute(w->dense); }});
  list.push_back({size + " solve, Eigen", [w] { w->x = w->eigen.solve(w->b); }});
}

std::vector<Kernel> all_kernels() {
  std::vector<Kernel> list;
  add_group<lie::Rn<3>>(list);
  add_group<lie::SO3>(list);
  add_group<lie::R3xSO3>(list);
  add_group<lie::SE3>(list);
  for (const lie::GroupId group : lie::all_groups) add_space(list, group);
  add_lu(list, 1, 1);  // 9
  add_lu(list, 1, 2);  // 12
  add_lu(list, 2, 2);  // 18
  add_lu(list, 2, 4);  // 24
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Kernel> kernels = all_kernels();
  if (argc == 2 && std::strcmp(argv[1], "count") == 0) {
    constexpr int calls = 100;
    for (const Kernel& kernel : kernels) {
      kernel.call();
      bench::count(kernel.name, [&] {
        for (int i = 0; i < calls; ++i) kernel.call();
      });
      fmt::print("{{\"label\": \"{}\", \"calls\": {}}}\n", kernel.name, calls);
    }
    return 0;
  }
  for (const Kernel& kernel : kernels)
    benchmark::RegisterBenchmark(kernel.name.c_str(), [call = kernel.call](benchmark::State& state) {
      for (auto _ : state) {
        call();
        benchmark::ClobberMemory();
      }
    });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
