// Simbody on the tool in a stiff bushing: a pin joint, a free body, a linear bushing.
//
//   bench_simbody_bushing merson|cpodes ACCURACY...
//
// merson is explicit, cpodes the BDF of SUNDIALS with Simbody's projection.
#include <Simbody.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "support/count.hpp"
#include "support/problem.hpp"
#include "support/stiff.hpp"

namespace {

using SimTK::Inertia;
using SimTK::MassProperties;
using SimTK::Rotation;
using SimTK::Transform;
using SimTK::Vec3;
using SimTK::Vec6;
using Problem = bench::stiff::Bushing<double>;

/// The rod lies along x at the start; a pin turns about z, which represents y here.
class SimbodyBushing {
 public:
  SimbodyBushing()
      : matter_(system_),
        forces_(system_),
        gravity_(forces_, matter_, Vec3(0, 0, -Problem::g)),
        rod_(matter_.Ground(), Transform(to_y()), body(Problem::rod_mass, Problem::rod_inertia),
             Transform(to_y(), Vec3(-Problem::rod_half, 0, 0))),
        tool_(matter_.Ground(), Transform(), body(Problem::tool_mass, Problem::tool_inertia), Transform()),
        bushing_(forces_, rod_, Transform(Vec3(Problem::rod_half, 0, 0)), tool_, Transform(Vec3(-Problem::arm, 0, 0)),
                 Vec6(Problem::rotational_k, Problem::rotational_k, Problem::rotational_k, Problem::k, Problem::k,
                      Problem::k),
                 Vec6(Problem::rotational_c, Problem::rotational_c, Problem::rotational_c, Problem::c, Problem::c,
                      Problem::c)) {
    start_ = system_.realizeTopology();
    system_.realizeModel(start_);
    tool_.setQToFitTranslation(start_, Vec3(2 * Problem::rod_half + Problem::arm, 0, 0));
    system_.realize(start_, SimTK::Stage::Velocity);
  }

  std::vector<double> integrate(const std::string& method, double accuracy, bench::Run& run) {
    std::unique_ptr<SimTK::Integrator> integrator;
    if (method == "cpodes")
      integrator = std::make_unique<SimTK::CPodesIntegrator>(system_, SimTK::CPodes::BDF, SimTK::CPodes::Newton);
    else
      integrator = std::make_unique<SimTK::RungeKuttaMersonIntegrator>(system_);
    integrator->setAccuracy(accuracy);
    integrator->setFinalTime(Problem::t_end);
    integrator->setInternalStepLimit(-1);
    SimTK::TimeStepper stepper(system_, *integrator);
    stepper.initialize(start_);
    stepper.stepTo(Problem::t_end);
    const SimTK::State& state = integrator->getState();
    system_.realize(state, SimTK::Stage::Velocity);
    run.is_success = std::abs(state.getTime() - Problem::t_end) < 1e-12;
    run.steps = integrator->getNumStepsTaken();
    run.evaluations = integrator->getNumRealizations();
    run.rejected = integrator->getNumErrorTestFailures();
    const Vec3 x = tool_.getBodyOriginLocation(state), v = tool_.getBodyOriginVelocity(state);
    return {x[0], x[2], v[0], v[2]};
  }

 private:
  /// Takes z to y.
  static Rotation to_y() { return Rotation(-SimTK::Pi / 2, SimTK::XAxis); }
  static SimTK::Body::Rigid body(double mass, double inertia) {
    return SimTK::Body::Rigid(MassProperties(mass, Vec3(0), Inertia(inertia)));
  }

  SimTK::MultibodySystem system_;
  SimTK::SimbodyMatterSubsystem matter_;
  SimTK::GeneralForceSubsystem forces_;
  SimTK::Force::Gravity gravity_;
  SimTK::MobilizedBody::Pin rod_;
  SimTK::MobilizedBody::Free tool_;
  SimTK::Force::LinearBushing bushing_;
  SimTK::State start_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} merson|cpodes ACCURACY...\n", argv[0]);
    return 2;
  }
  const std::string method = argv[1];
  SimbodyBushing problem;
  for (const double accuracy : bench::numbers_from(argc, argv, 2)) {
    bench::Run run;
    run.method = method;
    run.tolerance = accuracy;
    run.label = bench::label_of(method, accuracy);
    std::vector<double> end;
    bench::count(run.label, [&] { end = problem.integrate(method, accuracy, run); });
    run.error = bench::stiff::error_of("bushing", end);
    bench::print(run);
  }
}
