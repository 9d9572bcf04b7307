#include "support/expectation.hpp"

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "kreisel/coeff/generalized_alpha.hpp"
#include "support/command.hpp"

namespace kreisel::support {
namespace {

using nlohmann::json;

/// One number per point of a trajectory; `exact` is the reference at the same time.
using Quantity = std::function<Vector(const Trajectory& run, std::size_t n, const method::Entry& exact)>;

Vector embedded_difference(const lie::Space& space, const Vector& a, const Vector& b) {
  Vector x(space.embedding_size()), y(space.embedding_size());
  space.embed(a, x);
  space.embed(b, y);
  return x - y;
}

Quantity quantity_named(const std::string& name, const models::Model& model, const Experiment& e) {
  if (name == "q-error")
    return [&model](const Trajectory& run, std::size_t n, const method::Entry& exact) {
      return embedded_difference(model.system->space(), run.points[n].motion.q, exact.motion.q);
    };
  if (name == "v-error")
    return [](const Trajectory& run, std::size_t n, const method::Entry& exact) -> Vector {
      return run.points[n].motion.v - exact.motion.v;
    };
  const auto lambda_error = [](const Trajectory& run, std::size_t n, const method::Entry& exact) -> Vector {
    return run.points[n].lambda - exact.lambda;
  };
  if (name == "lambda-error") return lambda_error;
  if (name == "relative-lambda-error")
    return [=](const Trajectory& run, std::size_t n, const method::Entry& exact) -> Vector {
      return lambda_error(run, n, exact) / run.points[n].lambda.norm();
    };
  if (name == "lambda-error-over-Cq-h") {
    const auto alpha = coeff::GeneralizedAlpha::from_rho_inf(e.options.method_parameters.number("rho_inf"));
    return [=](const Trajectory& run, std::size_t n, const method::Entry& exact) -> Vector {
      return lambda_error(run, n, exact) / (std::abs(alpha.position_error()) * run.report.step);
    };
  }
  if (name == "eta") return [](const Trajectory& run, std::size_t n, const method::Entry&) { return run.points[n].eta; };
  if (name == "velocity-residual-1")
    return [](const Trajectory& run, std::size_t n, const method::Entry&) -> Vector { return run.residuals[n].rate.head(1); };
  throw std::invalid_argument("unknown quantity " + name);
}

Measured measure_run(const Expectation& x) {
  const Experiment e = parse_command(x.command);
  const models::Model model = make_model(e);
  const Trajectory run = integrate(model, e.options);
  if (run.report.status != run::Status::success) throw std::runtime_error(run.report.message);
  const Trajectory& exact = reference(e, static_cast<long>(run.points.size()) - 1);
  const Quantity quantity = quantity_named(x.quantity, model, e);
  const bool at_end = x.norm == "end-euclidean", is_largest = x.norm == "max-largest";
  if (!at_end && !is_largest && x.norm != "max-euclidean") throw std::invalid_argument("unknown norm " + x.norm);
  Measured out;
  for (std::size_t n = at_end ? run.points.size() - 1 : 0; n < run.points.size(); ++n) {
    const Vector error = quantity(run, n, exact.points[n]);
    const double size = is_largest ? error.lpNorm<Eigen::Infinity>() : error.norm();
    if (size > out.value) out = {size, static_cast<int>(n)};
  }
  return out;
}

/// Properties of T₊⁻¹T₀ alone.
Measured measure_coefficients(const Expectation& x) {
  if (x.quantity == "transient-growth") return {coeff::transient_growth(x.rho_inf), -1};
  if (x.quantity != "amplification") throw std::invalid_argument("unknown quantity " + x.quantity);
  const auto T = coeff::error_amplification(coeff::GeneralizedAlpha::from_rho_inf(x.rho_inf));
  Measured out;
  for (int n = 1; n <= 1000; ++n)
    if (const double size = coeff::norm2(coeff::power(T, n)); size > out.value) out = {size, n};
  return out;
}

}  // namespace

void PrintTo(const Expectation& x, std::ostream* out) { *out << x.id << ": " << x.command; }

std::vector<Expectation> load_expectations(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::set<std::string> known{"id", "quantity", "norm", "value", "relative_tolerance", "command", "rho_inf", "at_step", "source"};
  std::set<std::string> ids;
  std::vector<Expectation> list;
  const json root = json::parse(file);
  for (const json& entry : root.at("expectations")) {
    for (const auto& [key, value] : entry.items())
      if (known.count(key) == 0) throw std::runtime_error("unknown field " + key + " in " + entry.dump());
    Expectation x;
    x.id = entry.at("id");
    x.quantity = entry.at("quantity");
    x.norm = entry.at("norm");
    x.value = entry.at("value");
    x.relative_tolerance = entry.at("relative_tolerance");
    x.source = entry.at("source");
    x.command = entry.value("command", "");
    x.rho_inf = entry.value("rho_inf", 0.0);
    x.at_step = entry.value("at_step", -1);
    if (x.command.empty() == !entry.contains("rho_inf")) throw std::runtime_error(x.id + " needs either command or rho_inf");
    if (!ids.insert(x.id).second) throw std::runtime_error("the id " + x.id + " repeats");
    list.push_back(x);
  }
  return list;
}

Measured measure(const Expectation& x) { return x.command.empty() ? measure_coefficients(x) : measure_run(x); }

}  // namespace kreisel::support
