// Runs of model files, and independent solutions to compare them with.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"

namespace kreisel::test {

inline io::RunSpec spec_of(const std::string& text) {
  io::RunSpec spec;
  spec.own_model =
      std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", text)));
  return spec;
}
inline std::string refusal(const std::string& text) {
  try {
    io::prepare(spec_of(text));
    return "accepted";
  } catch (const InvalidInput& e) {
    return e.what();
  }
}
struct Ran {
  io::PreparedRun prepared;
  run::Report report;

  double operator[](const std::string& column) const {
    const system::System& system = *prepared.model.system;
    Vector values(system.output_size());
    system.evaluate_outputs(report.final.motion, report.final.lambda, values);
    Eigen::Index i = 0;
    for (const system::OutputInfo& info : system.outputs())
      for (int c = 0; c < info.size(); ++c, ++i)
        if (info.column(c) == column) return values[i];
    throw InvalidInput("no output " + column);
  }
};
inline Ran ran(io::RunSpec spec, double t_end, double tolerance) {
  spec.set("t_end", t_end).set("rtol", tolerance).set("atol", tolerance);
  Ran r{io::prepare(spec), {}};
  run::Observer nobody;
  r.report = run::integrate(*r.prepared.model.system, r.prepared.model.start, r.prepared.options, nobody);
  EXPECT_EQ(r.report.status, run::Status::success) << r.report.message;
  return r;
}
inline io::RunSpec shipped(const std::string& name) {
  io::RunSpec spec;
  spec.model = name;
  return spec;
}

/// y at t_end by the classical Runge-Kutta method.
template <class State, class F>
State minimal(State y, double t_end, int steps, const F& f) {
  const double h = t_end / steps;
  for (int j = 0; j < steps; ++j) {
    const double t = j * h;
    const State k1 = f(t, y), k2 = f(t + h / 2, State(y + h / 2 * k1)), k3 = f(t + h / 2, State(y + h / 2 * k2)),
                k4 = f(t + h, State(y + h * k3));
    y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  return y;
}

}  // namespace kreisel::test
