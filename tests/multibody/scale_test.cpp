// The unit of length must not matter: the same mechanism from metres to millimetres.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/json/json_source.hpp"
#include "io/model_file/model_file.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

/// A four-bar linkage of size L: masses by L³, inertias by L⁵, gravity by L, so that all angles are the same functions of time.
std::string four_bar(double L) {
  const double m = L * L * L, J = m * L * L;
  const auto bodies = fmt::format(
      R"({{"name": "crank", "mass": {}, "inertia": [{}, {}, {}], "position": [0, {}, 0], "velocity": [{}, 0, 0], "angular_velocity": [0, 0, -10]}},
         {{"name": "coupler", "mass": {}, "inertia": [{}, {}, {}], "position": [{}, {}, 0], "velocity": [{}, 0, 0],
           "rotation": {{"axis": [0, 0, 1], "angle_deg": 21.80140948635181}}}},
         {{"name": "rocker", "mass": {}, "inertia": [{}, {}, {}], "position": [{}, {}, 0], "velocity": [{}, 0, 0], "angular_velocity": [0, 0, -5]}})",
      0.5 * m, 0.002 * J, 1e-4 * J, 0.002 * J, 0.1 * L, L, 1.2 * m, 1e-4 * J, 0.029 * J, 0.029 * J, 0.25 * L, 0.3 * L,
      2.0 * L, m, 0.0133 * J, 1e-4 * J, 0.0133 * J, 0.5 * L, 0.2 * L, L);
  const auto joint = [](const char* name, const char* type, const char* first, const char* second, double x, double y) {
    return fmt::format(
        R"({{"name": "{}", "type": "{}", "between": ["{}", "{}"], "at": [{}, {}, 0], "axis": [0, 0, 1]}})", name, type,
        first, second, x, y);
  };
  return fmt::format(R"({{"gravity": [0, {}, 0], "bodies": [{}], "joints": [{}, {}, {}, {}]}})", -9.81 * L, bodies,
                     joint("A", "revolute", "ground", "crank", 0, 0),
                     joint("B", "revolute", "crank", "coupler", 0, 0.2 * L),
                     joint("C", "point-on-line", "coupler", "rocker", 0.5 * L, 0.4 * L),
                     joint("D", "revolute", "rocker", "ground", 0.5 * L, 0));
}

TEST(Scale, ASmallMechanismTakesAsManyStepsAsALargeOne) {
  for (const char* method : {"bliedf", "generalized-alpha", "projected-bdf"}) {
    long steps_of_large = 0;
    for (const double L : {1.0, 0.1, 0.01}) {
      const io::ModelFile file = io::read_model(io::JsonSource("m.json", four_bar(L)));
      run::Options options;
      options.method = method;
      options.rtol = std::string_view(method) == "generalized-alpha" ? 1e-4 : 1e-6;
      options.atol = 1e-2 * options.rtol * L;
      options.t_end = 1.0;
      run::Observer nobody;
      const run::Report report = run::integrate(*file.model.system, file.model.start, options, nobody);
      ASSERT_EQ(report.status, run::Status::success) << method << ", L = " << L << ": " << report.message;
      if (L == 1.0) steps_of_large = report.counters.steps;
      EXPECT_LT(report.counters.steps, 1.5 * static_cast<double>(steps_of_large)) << method << ", L = " << L;
      EXPECT_LT(report.counters.rejected_steps, 0.05 * static_cast<double>(report.counters.steps))
          << method << ", L = " << L;
    }
  }
}

}  // namespace
