// The projection onto the constraints, and what it leaves of small errors.
#include "solve/manifold.hpp"

#include <gtest/gtest.h>

#include "support/experiment.hpp"

namespace {

using namespace kreisel;

// (Eich 1993, eq. 4.1): the error of the projected point is P times the error before. P is compared with the projection itself.
TEST(Manifold, KeepsOfErrorsWhatAProjectionLeavesOfThem) {
  for (const char* name : {"heavy-top", "pendulum"})
    for (const bool is_joint : {false, true})
      for (const solve::Metric metric : {solve::Metric::mass, solve::Metric::euclidean}) {
        support::Experiment e;
        e.model = name;
        e.options.t_end = 0.1;
        e.options.step = 1e-3;
        e.options.method = "projected-bdf";
        const models::Model model = support::make_model(e);
        const system::System& system = *model.system;
        const lie::Space& space = system.space();
        const system::Motion exact = support::integrate(model, e.options).points.back().motion;
        Counters counters;
        solve::Manifold manifold(system, counters, {metric, is_joint, "automatic"}, {});
        system::Motion start = exact;
        ASSERT_TRUE(manifold.project(start));

        // What is left of the difference is of second order.
        double miss[2];
        Vector q_error(space.nv()), v_error(space.nv());
        for (const int i : {0, 1}) {
          const double size = i == 0 ? 1e-4 : 5e-5;
          for (int j = 0; j < space.nv(); ++j) {
            q_error[j] = size * std::sin(1.0 + 2.0 * j);
            v_error[j] = size * std::cos(3.0 * j);
          }
          system::Motion moved = start;
          space.move(start.q, q_error, moved.q);
          moved.v += v_error;
          system::Motion projected = moved;
          ASSERT_TRUE(manifold.project(projected));
          manifold.keep_tangential(q_error, v_error);
          Vector left(space.nv());
          space.difference(start.q, projected.q, left);
          miss[i] = ((left - q_error).norm() + (projected.v - start.v - v_error).norm()) / size;
        }
        EXPECT_LT(miss[0], 0.1) << name << (is_joint ? " joint" : "") << " metric " << static_cast<int>(metric);
        EXPECT_NEAR(miss[0] / miss[1], 2.0, 0.2)
            << name << (is_joint ? " joint" : "") << " metric " << static_cast<int>(metric);
      }
}

}  // namespace
