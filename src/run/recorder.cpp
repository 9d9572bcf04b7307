#include "recorder.hpp"

#include <algorithm>
#include <cmath>

namespace kreisel::run {
namespace {

double largest(ConstVectorRef x) { return x.size() > 0 ? x.lpNorm<Eigen::Infinity>() : 0.0; }

}  // namespace

Energy energy_of(const system::System& system, const lie::Motion& m) {
  if (!system.has_energy_parts()) return {system.energy(m), {}};
  const system::EnergyParts parts = system.energy_parts(m);
  return {parts.kinetic + parts.potential + parts.elastic, parts};
}

void Recorder::warn(const std::string& text) {
  std::vector<std::string>& list = report_.warnings;
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

void Recorder::attempted(const Attempt& attempt) {
  switch (attempt.outcome) {
    case Outcome::accepted:
      ++report_.steps_at_order[attempt.order];
      report_.order = std::max(report_.order, attempt.order);
      break;
    case Outcome::error_too_large:
      ++counters().rejected_steps;
      ++report_.rejected_by_error;
      break;
    default:
      ++counters().rejected_steps;
      ++report_.rejected_by_newton;
  }
  observer_.attempted(attempt);
}

void Recorder::size_for(const system::System& system) {
  if (residual_.force.size() != system.space().nv() || residual_.gap.size() != system.pattern().position_rows() ||
      residual_.rate.size() != system.pattern().rows())
    residual_ = residual_of(system);
}

const system::Residual& Recorder::evaluate(const system::System& system, const method::Entry& entry) {
  size_for(system);
  system.residual(entry.motion, entry.lambda, residual_);
  ++counters().residual_evaluations;
  return residual_;
}

void Recorder::open(const system::System& system, const method::Entry& first) {
  first_energy_ = system.energy(first.motion);
  measure(system, first, [](double, method::Entry&) { return false; });
}

void Recorder::reopen(const system::System& system, const method::Entry& first) {
  work_.begin_anew(system, first, energy_.total);
}

void Recorder::measure(const system::System& system, const method::Entry& entry, Interpolant interpolate) {
  size_for(system);
  doubt_ = system.examine(entry.motion, entry.lambda, tolerances_, residual_);
  ++counters().residual_evaluations;
  report_.position_max = std::max(report_.position_max, largest(residual_.gap));
  report_.velocity_max = std::max(report_.velocity_max, largest(residual_.rate));
  work_.push(system, entry, interpolate);
  energy_ = energy_of(system, entry.motion);
  report_.work = work_.at(entry);
  const double error = std::abs(energy_.total - first_energy_ - report_.work.total());
  if (!(error <= report_.energy_error)) report_.energy_error = error;
}

void Recorder::exchange(Archive& a, const method::Entry& blank) {
  run::exchange(a, report_, blank);
  a.all(first_energy_, energy_.total);
  work_.exchange(a);
}

}  // namespace kreisel::run
