#include "run/one_step.hpp"

#include "method/variants.hpp"
#include "plan.hpp"
#include "run/energy_momentum.hpp"
#include "run/half_explicit.hpp"
#include "run/rkmk.hpp"
#include "run/variational.hpp"

namespace kreisel::run {

std::unique_ptr<OneStep> make_one_step(const system::System& system, const Plan& plan, Counters& counters) {
  const std::string_view solver = plan.options.linear_solver.name(), name = plan.method->name;
  const bool projects = plan.formulation == solve::Formulation::projected;
  const double tolerance = plan.closeness.newton.tolerance;
  if (name == "half-explicit") return std::make_unique<HalfExplicit>(system, coeff::hedop5, counters, projects, solver);
  if (name == "rattlie") return std::make_unique<Variational>(system, counters, tolerance, solver);
  if (name == "energy-momentum") return std::make_unique<EnergyMomentum>(system, counters, tolerance, solver);
  auto rkmk = std::make_unique<Rkmk>(system, plan.order == 5 ? coeff::dormand_prince_5() : coeff::dop853(), counters,
                                     projects, solver);
  rkmk->integrate_work();
  const auto chosen = method::parameters_in<method::variants::Rkmk>(plan.options.method.parameters).derivatives;
  if (plan.formulation == solve::Formulation::index1 && chosen == method::Derivatives::projected)
    rkmk->project_derivatives();
  return rkmk;
}

}  // namespace kreisel::run
