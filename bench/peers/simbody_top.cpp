// Simbody on the heavy top: a ball joint at the tip, Runge-Kutta-Merson.
//
//   bench_simbody_top ACCURACY...
#include <Simbody.h>
#include <fmt/format.h>

#include <cmath>

#include "support/count.hpp"
#include "support/problem.hpp"

namespace {

SimTK::Vec3 to_simbody(const bench::Vector3& a) { return {a[0], a[1], a[2]}; }

class SimbodyTop {
 public:
  explicit SimbodyTop(const bench::Top& top)
      : top_(top),
        matter_(system_),
        forces_(system_),
        gravity_(forces_, matter_, to_simbody(top.gravity)),
        body_(matter_.Ground(), SimTK::Transform(), body_of(top), SimTK::Transform(to_simbody(-top.X))) {
    start_ = system_.realizeTopology();
    system_.realizeModel(start_);
    system_.realize(start_, SimTK::Stage::Position);
    body_.setUToFitAngularVelocity(start_, to_simbody(top.spin));
    system_.realize(start_, SimTK::Stage::Velocity);
  }

  /// The state at t_end, and how it was reached.
  bench::TopState integrate(double accuracy, bench::Run& run) {
    SimTK::RungeKuttaMersonIntegrator integrator(system_);
    integrator.setAccuracy(accuracy);
    integrator.setFinalTime(top_.t_end);
    integrator.setInternalStepLimit(-1);
    SimTK::TimeStepper stepper(system_, integrator);
    stepper.initialize(start_);
    stepper.stepTo(top_.t_end);
    const SimTK::State& state = integrator.getState();
    system_.realize(state, SimTK::Stage::Velocity);
    run.is_success = std::abs(state.getTime() - top_.t_end) < 1e-12;
    run.steps = integrator.getNumStepsTaken();
    run.evaluations = integrator.getNumRealizations();
    run.rejected = integrator.getNumErrorTestFailures();

    const SimTK::Transform& pose = body_.getBodyTransform(state);
    bench::TopState at_end;
    for (int i = 0; i < 3; ++i) {
      at_end.x[i] = pose.p()[i];
      for (int j = 0; j < 3; ++j) at_end.R(i, j) = pose.R()[i][j];
    }
    return at_end;
  }

 private:
  static SimTK::Body::Rigid body_of(const bench::Top& top) {
    return SimTK::Body::Rigid(
        SimTK::MassProperties(top.mass, SimTK::Vec3(0), SimTK::Inertia(top.J[0], top.J[1], top.J[2])));
  }

  bench::Top top_;
  SimTK::MultibodySystem system_;
  SimTK::SimbodyMatterSubsystem matter_;
  SimTK::GeneralForceSubsystem forces_;
  SimTK::Force::Gravity gravity_;
  SimTK::MobilizedBody::Ball body_;
  SimTK::State start_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: {} ACCURACY...\n", argv[0]);
    return 2;
  }
  const std::string method = "simbody-merson";
  SimbodyTop top(bench::top_named("heavy-top"));
  for (const double accuracy : bench::numbers_from(argc, argv, 1)) {
    bench::Run run;
    run.method = method;
    run.tolerance = accuracy;
    run.label = bench::label_of(method, accuracy);
    bench::TopState at_end;
    bench::count(run.label, [&] { at_end = top.integrate(accuracy, run); });
    run.error = bench::error_of("heavy-top", at_end);
    bench::print(run);
  }
}
