// Simbody on the chain: ball joints along a tree, Runge-Kutta-Merson.
//
//   bench_simbody_chain ACCURACY...
#include <Simbody.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "support/count.hpp"
#include "support/problem.hpp"

namespace {

using SimTK::Vec3;

class SimbodyChain {
 public:
  explicit SimbodyChain(const bench::Chain& chain)
      : t_end_(chain.t_end),
        matter_(system_),
        forces_(system_),
        gravity_(forces_, matter_, Vec3(0, 0, -chain.gravity)) {
    const SimTK::Body::Rigid rod(
        SimTK::MassProperties(chain.mass, Vec3(0), SimTK::Inertia(chain.J[0], chain.J[1], chain.J[2])));
    const Vec3 begin(-0.5 * chain.length, 0, 0), end(0.5 * chain.length, 0, 0);
    for (int i = 0; i < chain.links; ++i) {
      SimTK::MobilizedBody parent = i == 0 ? SimTK::MobilizedBody(matter_.Ground()) : rods_.back();
      rods_.push_back(
          SimTK::MobilizedBody::Ball(parent, SimTK::Transform(i == 0 ? Vec3(0) : end), rod, SimTK::Transform(begin)));
    }
    start_ = system_.realizeTopology();
    system_.realizeModel(start_);
    system_.realize(start_, SimTK::Stage::Velocity);
  }

  std::vector<bench::TopState> integrate(double accuracy, bench::Run& run) {
    SimTK::RungeKuttaMersonIntegrator integrator(system_);
    integrator.setAccuracy(accuracy);
    integrator.setFinalTime(t_end_);
    integrator.setInternalStepLimit(-1);
    SimTK::TimeStepper stepper(system_, integrator);
    stepper.initialize(start_);
    stepper.stepTo(t_end_);
    const SimTK::State& state = integrator.getState();
    system_.realize(state, SimTK::Stage::Velocity);
    run.is_success = std::abs(state.getTime() - t_end_) < 1e-12;
    run.steps = integrator.getNumStepsTaken();
    run.evaluations = integrator.getNumRealizations();
    run.rejected = integrator.getNumErrorTestFailures();
    std::vector<bench::TopState> at_end(rods_.size());
    for (std::size_t b = 0; b < rods_.size(); ++b) {
      const SimTK::Transform& pose = rods_[b].getBodyTransform(state);
      for (int i = 0; i < 3; ++i) {
        at_end[b].x[i] = pose.p()[i];
        for (int j = 0; j < 3; ++j) at_end[b].R(i, j) = pose.R()[i][j];
      }
    }
    return at_end;
  }

 private:
  double t_end_;
  SimTK::MultibodySystem system_;
  SimTK::SimbodyMatterSubsystem matter_;
  SimTK::GeneralForceSubsystem forces_;
  SimTK::Force::Gravity gravity_;
  std::vector<SimTK::MobilizedBody> rods_;
  SimTK::State start_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} ACCURACY...\n", argv[0]);
    return 2;
  }
  SimbodyChain chain(bench::Chain{});
  for (const double accuracy : bench::numbers_from(argc, argv, 1)) {
    bench::Run run;
    run.method = "simbody-merson";
    run.tolerance = accuracy;
    run.label = bench::label_of(run.method, accuracy);
    std::vector<bench::TopState> at_end;
    bench::count(run.label, [&] { at_end = chain.integrate(accuracy, run); });
    run.error = bench::error_of(bench::Chain{}, at_end);
    bench::print(run);
  }
}
