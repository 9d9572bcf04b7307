// kreisel check: audit of the derivatives, ranks and initial values of a model.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <random>

#include "analysis/lowest_modes.hpp"
#include "command.hpp"
#include "io/result/prepare.hpp"
#include "io/result/summary.hpp"
#include "io/result/topology.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "kreisel/types.hpp"
#include "model_output.hpp"
#include "multibody/beam.hpp"
#include "run/integrator.hpp"
#include "solve/kkt.hpp"
#include "system/consistency.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

using io::Json;
using system::Motion;
using system::System;

/// Coordinates and constraint rows together. 4000 take some minutes (cubic growth) and 1.5 GB (quadratic growth).
constexpr int most_rows = 4000;

/// Frequencies of a mechanism with rods about its start [rad/s].
struct Vibrations {
  double lowest = 0.0, highest = 0.0;  ///< zero: none
  bool is_bound = false;               ///< the highest is an upper bound, from single elements
  bool is_damped = true;               ///< all of them
  bool has_damped_rods = true;         ///< then only motions that hardly bend a rod are not
};

/// Rods of the same section, with what follows from it.
struct Section {
  std::vector<std::string> rods;
  multibody::SectionFacts facts;
};

/// The measurements, and the problems found.
struct Verdict {
  system::RankReport ranks;
  system::Miss miss;  ///< of the initial values
  double energy = 0.0;
  Vector lambda;
  std::optional<double> multiplier_condition;  ///< where forces depend on lambda
  std::vector<system::AuditFinding> audit;     ///< the worse of two motions per law
  std::optional<io::Freedom> freedom;          ///< of a mechanism
  std::optional<Vibrations> vibrations;        ///< of rods
  std::vector<Section> sections;
  std::vector<std::string> problems, warnings;
  std::vector<std::string> parameters;  ///< of the model, name=value
  std::vector<solve::Change> changes;   ///< by --assemble
  std::optional<system::Passage> passage;
  run::Status ending = run::Status::success;  ///< of the run of --t-end
};

/// The accepted points of a run, at most this many, evenly spread over them.
constexpr std::size_t most_points = 400;

std::vector<Motion> thinned(std::vector<Motion> motions) {
  if (motions.size() <= most_points) return motions;
  std::vector<Motion> kept;
  for (std::size_t i = 0; i < most_points; ++i) kept.push_back(motions[i * (motions.size() - 1) / (most_points - 1)]);
  return kept;
}

class MotionRecorder final : public run::Observer {
 public:
  bool accept(const run::Point& point) override {
    motions.push_back(point.entry.motion);
    return true;
  }
  std::vector<Motion> motions;
};

/// Of a result folder or of its trajectory.
std::vector<Motion> motions_of_result(const System& system, const io::Path& result) {
  for (const char* name : {"trajectory.csv", "trajectory.h5", "trajectory.csv.part", "trajectory.h5.part"})
    if (std::filesystem::exists(result / name)) return io::motions_in(io::read_trajectory(result / name), system);
  if (!std::filesystem::is_regular_file(result))
    throw InvalidInput(fmt::format("--along: '{}' is neither a result folder nor a trajectory", result.string()));
  return io::motions_in(io::read_trajectory(result), system);
}

Json to_json(const system::Passage& p) {
  Json singular = Json::array();
  for (const system::Passage::Singularity& s : p.singularities)
    singular.push_back({{"t", io::number_or_null(s.t)},
                        {"smallest_singular_value", io::number_or_null(s.margin)},
                        {"redundant_rows", s.redundant_names}});
  return {{"points", p.points},
          {"smallest_singular_value", io::number_or_null(p.smallest_margin)},
          {"smallest_singular_value_t", io::number_or_null(p.margin_t)},
          {"typical_singular_value", io::number_or_null(p.typical_margin)},
          {"largest_condition", io::number_or_null(p.largest_condition)},
          {"largest_condition_t", io::number_or_null(p.condition_t)},
          {"smallest_mass_on_ker_B", io::number_or_null(p.smallest_mass)},
          {"smallest_mass_t", io::number_or_null(p.mass_t)},
          {"singular_positions", singular}};
}

Motion start_motion(const models::Model& model) {
  Motion m(model.system->space());
  m.t = model.start.t0;
  m.q = model.start.q0;
  m.v = model.start.v0;
  return m;
}

/// Near the start, in general position, so that no derivative vanishes by accident.
Motion general_motion(const System& system, const Motion& start) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> within(-1.0, 1.0);
  const auto random = [&](double size) {
    return Vector(Vector::NullaryExpr(system.space().nv(), [&] { return size * within(generator); }));
  };
  Motion m = start;
  // Translations of bodies scale with the size of the mechanism, whatever its unit.
  Vector size = Vector::Ones(system.space().nv());
  const std::vector<lie::Block>& blocks = system.space().blocks();
  const auto is_body = [](const lie::Block& block) {
    return block.group == lie::GroupId::r3xso3 || block.group == lie::GroupId::se3;
  };
  for (const lie::Block& block : blocks)
    if (is_body(block)) size.segment<3>(block.v_at).setConstant(system::length_scale(system, start));
  // Bodies coupled by a force, such as the nodes of a rod, move by a fraction of their distance: larger displacements
  // are not realistic.
  for (const system::Pattern::Coupling& coupling : system.pattern().couplings()) {
    const lie::Block &a = blocks[coupling.row], &b = blocks[coupling.column];
    if (coupling.row == coupling.column || !is_body(a) || !is_body(b)) continue;
    const double distance = (start.q.segment<3>(a.q_at) - start.q.segment<3>(b.q_at)).norm();
    if (distance > 0.0 && distance < size[a.v_at]) size.segment<3>(a.v_at).setConstant(distance);
  }
  const Vector x = random(0.3).cwiseProduct(size);
  system.space().move(start.q, x, m.q);
  m.t += 0.1;
  m.v += random(1.0).cwiseProduct(size);
  m.a += random(1.0).cwiseProduct(size);
  return m;
}

/// Findings at a motion. If one fails, a law may have a corner there, where no derivative exists: findings that hold on
/// both sides nearby then count instead.
std::vector<system::AuditFinding> audited(const System& system, const Motion& m, const Vector& lambda) {
  std::vector<system::AuditFinding> found = system::audit(system, m, lambda);
  const auto holds = [](const std::vector<system::AuditFinding>& list) {
    return std::ranges::all_of(list, [](const system::AuditFinding& f) { return f.ok(); });
  };
  if (holds(found)) return found;
  const Motion general = general_motion(system, m);
  Vector way(system.space().nv());
  system.space().difference(m.q, general.q, way);
  for (const double part : {0.3, 0.03}) {
    std::vector<system::AuditFinding> sides[2];
    for (const int side : {0, 1}) {
      const double sign = side == 0 ? part : -part;
      Motion beside = m;
      const Vector moved = sign * way;
      system.space().move(m.q, moved, beside.q);
      beside.v += sign * (general.v - m.v);
      beside.a += sign * (general.a - m.a);
      sides[side] = system::audit(system, beside, lambda);
    }
    if (holds(sides[0]) && holds(sides[1])) return sides[0];
  }
  return found;
}

void keep_the_worse(const std::vector<system::AuditFinding>& findings, std::vector<system::AuditFinding>& all) {
  const auto badness = [](const system::AuditFinding& f) { return f.ok() ? f.error / f.tolerance : 1e300; };
  for (const system::AuditFinding& finding : findings) {
    bool is_new = true;
    for (system::AuditFinding& known : all)
      if (known.what == finding.what) {
        is_new = false;
        if (!(badness(finding) <= badness(known))) known = finding;
      }
    if (is_new) all.push_back(finding);
  }
}

std::vector<Section> sections_of(const multibody::Assembly& assembly) {
  std::vector<Section> sections;
  for (const multibody::ElementPtr& element : assembly.mechanism().elements) {
    const auto* part = dynamic_cast<const multibody::SectionElement*>(element.get());
    const multibody::SectionFacts* facts = part != nullptr ? part->facts_of_section() : nullptr;
    if (facts == nullptr) continue;
    const auto known = std::ranges::find_if(sections, [&](const Section& section) {
      return section.facts.stiffness == facts->stiffness && section.facts.mass_per_length == facts->mass_per_length;
    });
    if (known == sections.end())
      sections.push_back({{facts->rod}, *facts});
    else if (known->rods.back() != facts->rod)
      known->rods.push_back(facts->rod);
  }
  return sections;
}

std::string in_words(const multibody::SectionFacts& facts) {
  const auto stiffness = [&](int i) {
    return std::isinf(facts.stiffness[i]) ? "rigid" : fmt::format("{:.5g}", facts.stiffness[i]);
  };
  std::string words =
      fmt::format("EA {}, GA {} and {} N, GJ {}, EI {} and {} N m2, {:.5g} kg/m", stiffness(0), stiffness(1),
                  stiffness(2), stiffness(3), stiffness(4), stiffness(5), facts.mass_per_length);
  if (facts.torsion_constant > 0.0)
    words +=
        fmt::format("; shear factor {:.5g}, torsion constant {:.5g} m4", facts.shear_factor, facts.torsion_constant);
  return words;
}

/// Bound of the frequencies of a rod: √2 times the largest frequency of a single node with the others held fixed.
double bound_of(const System& system, const Motion& m, const Vector& lambda) {
  system::KktBlocks blocks(system.pattern());
  system.linearize(m, lambda, blocks);
  double largest = 0.0;
  const auto& couplings = system.pattern().couplings();
  for (const system::Pattern::Coupling& c : couplings) {
    if (c.row != c.column) continue;
    const int n = system.space().blocks()[static_cast<std::size_t>(c.row)].nv;
    const Eigen::Map<const Matrix> M(blocks.M.data() + c.at, n, n), K(blocks.K.data() + c.at, n, n);
    for (int i = 0; i < n; ++i)
      if (M(i, i) > 0.0) largest = std::max(largest, K(i, i) / M(i, i));
  }
  return std::sqrt(2.0 * largest);
}

/// For models with rods. The lowest and the highest frequency tell how long runs take; damping, how many steps.
std::optional<Vibrations> vibrations_of(const multibody::Assembly& assembly, const Motion& start,
                                        const Vector& lambda) {
  constexpr int most_of_all = 160;  // coordinates of which all modes are found within a second
  bool has_rods = false;
  Vibrations found;
  for (const multibody::ElementPtr& element : assembly.mechanism().elements)
    if (dynamic_cast<const multibody::SectionElement*>(element.get()) != nullptr) {
      has_rods = true;
      found.has_damped_rods = found.has_damped_rods && element->facets().does_work;
    }
  if (!has_rods) return {};
  Motion m = start;
  m.v.setZero();
  m.a.setZero();
  try {
    found.is_bound = assembly.space().nv() > most_of_all;
    const std::vector<analysis::Mode> modes =
        found.is_bound ? analysis::lowest_modes(assembly, m, lambda, 12)
                       : analysis::modes_of(assembly, m, analysis::linearize(assembly, m, lambda));
    for (const analysis::Mode& mode : modes) found.highest = std::max(found.highest, std::abs(mode.eigenvalue.imag()));
    for (const analysis::Mode& mode : modes) {
      // Free motions have frequency zero, up to the square root of round-off.
      const double omega = std::abs(mode.eigenvalue.imag());
      if (!(omega > 1e-6 * found.highest)) continue;
      if (found.lowest == 0.0 || omega < found.lowest) found.lowest = omega;
      found.is_damped = found.is_damped && -mode.eigenvalue.real() > 1e-6 * omega;
    }
    if (found.is_bound) found.highest = bound_of(assembly, m, lambda);
  } catch (const InvalidInput&) {
    return {};  // there are no modes about this point
  }
  return found;
}

Verdict examine(const models::Model& model) {
  const System& system = *model.system;
  const system::Pattern& pattern = system.pattern();
  if (system.space().nv() + pattern.rows() > most_rows)
    throw InvalidInput(fmt::format(
        "'{}' has {} coordinates and {} constraint rows; check works with full matrices, of at most {} rows. "
        "Check a smaller model of the same kind",
        model.name, system.space().nv(), pattern.rows(), most_rows));
  Verdict verdict;
  Motion start = start_motion(model);
  verdict.lambda = Vector::Zero(pattern.rows());
  verdict.miss = system::miss_of(system, model.start);
  verdict.energy = system.energy(start);
  verdict.ranks = system::rank_report(system, start);

  if (const auto* assembly = dynamic_cast<const multibody::Assembly*>(&system))
    verdict.freedom = io::freedom_of(*assembly, start);

  if (verdict.miss.position_row >= 0)
    verdict.problems.push_back(
        fmt::format("the initial positions miss the constraints by {:.3e}", verdict.miss.position));
  if (verdict.miss.velocity_row >= 0)
    verdict.problems.push_back(
        fmt::format("the initial velocities miss the constraints by {:.3e}", verdict.miss.velocity));
  if (verdict.ranks.rank_of_B < verdict.ranks.rows)
    verdict.problems.push_back(
        fmt::format("B has rank {}, expected {}; redundant: {} (use run --redundant least-squares)\n  {}",
                    verdict.ranks.rank_of_B, verdict.ranks.rows, fmt::join(verdict.ranks.redundant_names, ", "),
                    system::redundancy(system, start).in_words()));
  if (!verdict.ranks.has_mass)
    verdict.problems.push_back(
        fmt::format("M is not positive definite on ker B: smallest eigenvalue {:.3e}, in the motion of '{}'; "
                    "give it mass or inertia there, or constrain it",
                    verdict.ranks.smallest_mass, verdict.ranks.weakest_block));
  if (verdict.ranks.has_mass) {
    Counters unused;
    // Redundant rows leave the accelerations unique; the multipliers shown are then those of a run with least-squares.
    solve::Kkt kkt(system, unused, verdict.ranks.is_regular ? "automatic" : "least-squares");
    if (!kkt.accelerate(start, verdict.lambda)) {
      verdict.problems.emplace_back("the initial values admit no accelerations and multipliers");
      verdict.lambda.setZero();
      start.a.setZero();
    }
    if (verdict.ranks.is_regular && !system.is_affine_in_multipliers())
      verdict.multiplier_condition = system::multiplier_condition(system, start, verdict.lambda);
    if (verdict.multiplier_condition && !std::isfinite(*verdict.multiplier_condition))
      verdict.problems.emplace_back(
          "forces that depend on lambda cancel the constraints: B M^-1 (B' + dg/dlambda) is singular at the start");
  }
  if (const auto* assembly = dynamic_cast<const multibody::Assembly*>(&system))
    verdict.sections = sections_of(*assembly);
  if (const auto* assembly = dynamic_cast<const multibody::Assembly*>(&system);
      assembly != nullptr && verdict.ranks.is_regular)
    verdict.vibrations = vibrations_of(*assembly, start, verdict.lambda);
  if (verdict.vibrations && !verdict.vibrations->is_damped && !verdict.vibrations->has_damped_rods &&
      verdict.vibrations->lowest > 0.0)
    verdict.warnings.push_back(
        fmt::format("vibrations of rods are not damped; a little damping saves many steps: \"damping_ratio\": 0.01 and "
                    "\"at_frequency\": {:.3g} of the material or section damp the slowest by 1 % and faster ones more",
                    verdict.vibrations->lowest / (2.0 * M_PI)));
  const Vector general_lambda = verdict.lambda + Vector::Ones(pattern.rows());
  keep_the_worse(audited(system, start, verdict.lambda), verdict.audit);
  keep_the_worse(system::audit(system, general_motion(system, start), general_lambda), verdict.audit);
  for (const system::AuditFinding& finding : verdict.audit)
    if (!finding.ok())
      verdict.problems.push_back(fmt::format("{} fails by {:.3e} (allowed {:.3e}) at {}", finding.what, finding.error,
                                             finding.tolerance, finding.where));
  return verdict;
}

std::vector<std::string> body_names(const System& system) {
  std::vector<std::string> names;
  for (int i = 0; i < system.body_count(); ++i) names.push_back(system.body_name(i));
  return names;
}

/// Long lists are shortened for display: the first four, and the last.
std::string enumerated(const std::vector<std::string>& names) {
  if (names.size() <= 12) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, ..., {}", fmt::join(names.begin(), names.begin() + 4, ", "), names.back());
}

std::vector<std::string> names_of(const io::Freedom& freedom, io::Freedom::Kind kind) {
  std::vector<std::string> names;
  for (const io::Freedom::Coordinate& c : freedom.coordinates)
    if (c.kind == kind) names.push_back(c.what == "motion" ? c.name : fmt::format("{} ({})", c.name, c.what));
  return names;
}

Json to_json(const io::Freedom& freedom) {
  Json list = Json::array();
  for (const io::Freedom::Coordinate& c : freedom.coordinates)
    list.push_back({{"name", c.name},
                    {"what", c.what},
                    {"kind", c.kind == io::Freedom::Kind::independent ? "independent"
                             : c.kind == io::Freedom::Kind::follows   ? "follows"
                                                                      : "locked"}});
  return list;
}

Json to_json(const models::Model& model, const Verdict& v) {
  const system::Pattern& pattern = model.system->pattern();
  Json constraints = Json::array();
  for (const system::RowGroup& group : pattern.groups())
    constraints.push_back({{"name", group.name},
                           {"rows", group.rows},
                           {"level", group.level == system::RowLevel::position ? "position" : "velocity"}});
  Json laws = Json::array();
  for (const system::AuditFinding& f : v.audit)
    laws.push_back({{"law", f.what},
                    {"error", io::number_or_null(f.error)},
                    {"tolerance", io::number_or_null(f.tolerance)},
                    {"where", f.where},
                    {"holds", f.ok()}});
  Json sections = Json::array();
  for (const Section& section : v.sections) {
    Json stiffness = Json::array();
    for (const double k : section.facts.stiffness) stiffness.push_back(io::number_or_null(k));
    const bool has_shape = section.facts.torsion_constant > 0.0;
    sections.push_back({{"rods", section.rods},
                        {"stiffness", stiffness},
                        {"mass_per_length", section.facts.mass_per_length},
                        {"shear_factor", has_shape ? Json(section.facts.shear_factor) : Json(nullptr)},
                        {"torsion_constant", has_shape ? Json(section.facts.torsion_constant) : Json(nullptr)}});
  }
  Json lambda = Json::array();
  for (const double entry : v.lambda) lambda.push_back(io::number_or_null(entry));
  return {
      {"model", model.name},
      {"group", model.group},
      {"status", v.ending != run::Status::success ? io::ending_of(v.ending).id
                 : v.problems.empty()             ? "success"
                                                  : io::invalid_input},
      {"message", fmt::format("{}", fmt::join(v.problems, "\n"))},
      {"parameters", v.parameters},
      {"warnings", v.warnings},
      {"bodies", body_names(*model.system)},
      {"coordinates", model.system->space().nv()},
      {"degrees_of_freedom", v.ranks.coordinates - v.ranks.rank_of_B},
      {"freedom", v.freedom ? to_json(*v.freedom) : Json(nullptr)},
      {"vibrations", v.vibrations ? Json{{"lowest", io::number_or_null(v.vibrations->lowest)},
                                         {"highest", io::number_or_null(v.vibrations->highest)},
                                         {"highest_is_bound", v.vibrations->is_bound},
                                         {"are_damped", v.vibrations->is_damped}}
                                  : Json(nullptr)},
      {"sections", sections},
      {"constraints", constraints},
      {"constraint_count", pattern.rows()},
      {"rank_of_B", v.ranks.rank_of_B},
      {"rank_of_M", v.ranks.rank_of_M},
      {"redundant_rows", v.ranks.redundant_names},
      {"smallest_mass_on_ker_B", io::number_or_null(v.ranks.smallest_mass)},
      {"condition", io::number_or_null(v.ranks.condition)},
      {"multiplier_condition", v.multiplier_condition ? io::number_or_null(*v.multiplier_condition) : Json(nullptr)},
      {"initial",
       {{"position_max", io::number_or_null(v.miss.position)},
        {"velocity_max", io::number_or_null(v.miss.velocity)},
        {"energy", io::number_or_null(v.energy)},
        {"lambda", lambda}}},
      {"assembled", io::to_json(v.changes)},
      {"along", v.passage ? to_json(*v.passage) : Json(nullptr)},
      {"laws", laws}};
}

void print_line(bool is_good, std::string_view what, const std::string& value) {
  fmt::print("  {} {:<33} {}\n",
             is_good ? coloured("ok  ", Colour::green, stdout) : coloured("FAIL", Colour::red, stdout), what, value);
}

void print(const models::Model& model, const Verdict& v) {
  const system::RankReport& r = v.ranks;
  const int nv = model.system->space().nv();
  std::vector<std::string> groups;
  for (const system::RowGroup& group : model.system->pattern().groups())
    groups.push_back(fmt::format("{} ({})", group.name, group.rows));

  fmt::print("{}\n", coloured(fmt::format("{} on {}", model.name, model.group), Colour::bold, stdout));
  if (const std::vector<std::string> bodies = body_names(*model.system); !bodies.empty())
    print_line(true, "bodies", fmt::format("{}: {}", bodies.size(), enumerated(bodies)));
  if (!v.parameters.empty()) print_line(true, "parameters", fmt::format("{}", fmt::join(v.parameters, ", ")));
  print_line(true, "coordinates", fmt::format("{}, degrees of freedom {}", nv, r.coordinates - r.rank_of_B));
  if (v.freedom) {
    using Kind = io::Freedom::Kind;
    for (const auto& [kind, what] :
         {std::pair{Kind::independent, "independent coordinates"}, std::pair{Kind::follows, "dependent coordinates"},
          std::pair{Kind::locked, "locked coordinates"}})
      if (const std::vector<std::string> names = names_of(*v.freedom, kind); !names.empty())
        print_line(true, what, enumerated(names));
  }
  print_line(true, "constraint rows", groups.empty() ? "none" : fmt::format("{}: {}", r.rows, enumerated(groups)));
  if (r.rows > 0) print_line(r.rank_of_B == r.rows, "rank of B", fmt::format("{} of {}", r.rank_of_B, r.rows));
  print_line(true, "rank of M", fmt::format("{} of {}", r.rank_of_M, r.coordinates));
  print_line(
      r.has_mass, "M on ker B",
      std::isinf(r.smallest_mass) ? "ker B is trivial" : fmt::format("smallest eigenvalue {:.3g}", r.smallest_mass));
  print_line(std::isfinite(r.condition), "condition of [M B'; B 0]", fmt::format("{:.3g}", r.condition));
  if (v.multiplier_condition)
    print_line(std::isfinite(*v.multiplier_condition), "condition of [M B'+dg/dl; B 0]",
               fmt::format("{:.3g}", *v.multiplier_condition));
  if (r.rows > 0) {
    print_line(v.miss.position_row < 0, "|Phi| at the start", fmt::format("{:.3g}", v.miss.position));
    print_line(v.miss.velocity_row < 0, "|B v| at the start", fmt::format("{:.3g}", v.miss.velocity));
    print_line(true, "lambda at the start",
               v.lambda.size() <= 30 ? fmt::format("{:.6g}", fmt::join(v.lambda, ", "))
                                     : fmt::format("largest entry {:.6g}", v.lambda.lpNorm<Eigen::Infinity>()));
  }
  for (const Section& section : v.sections)
    print_line(true, fmt::format("section of {}", enumerated(section.rods)), in_words(section.facts));
  if (v.vibrations)
    print_line(true, "vibrations about the start",
               v.vibrations->lowest > 0.0
                   ? fmt::format("{:.4g} to {}{:.4g} rad/s ({:.4g} to {:.4g} Hz){}", v.vibrations->lowest,
                                 v.vibrations->is_bound ? "at most " : "", v.vibrations->highest,
                                 v.vibrations->lowest / (2.0 * M_PI), v.vibrations->highest / (2.0 * M_PI),
                                 v.vibrations->is_damped         ? ""
                                 : v.vibrations->has_damped_rods ? ", not all damped"
                                                                 : ", not damped")
                   : "none");
  print_line(true, "energy", std::isfinite(v.energy) ? fmt::format("{:.6g} J", v.energy) : "not defined");
  for (const solve::Change& change : v.changes) print_line(true, "assembled", io::described(change));
  for (const system::AuditFinding& f : v.audit)
    print_line(f.ok(), f.what,
               fmt::format("deviation {:.1e}, allowed {:.1e}{}", f.error, f.tolerance, f.ok() ? "" : " at " + f.where));
}

void print(const system::Passage& p) {
  print_line(true, "points along the motion", fmt::format("{}", p.points));
  print_line(true, "largest condition", fmt::format("{:.3g} at t = {:.6g}", p.largest_condition, p.condition_t));
  print_line(p.smallest_mass > 0.0, "smallest mass on ker B",
             fmt::format("{:.3g} at t = {:.6g}", p.smallest_mass, p.mass_t));
  print_line(p.singularities.empty(), "smallest singular value of B",
             fmt::format("{:.3g} at t = {:.6g}, typically {:.3g}", p.smallest_margin, p.margin_t, p.typical_margin));
}

class Check final : public Command {
 public:
  explicit Check(CLI::App& parser) : Command(parser), model_(parser) {
    parser.add_flag_callback(
        "--assemble", [this] { spec_.set("assemble", true); },
        "first move the bodies so that they satisfy the joints, and report by how much");
    parser
        .add_option_function<std::string>(
            "--fix", [this](const std::string& text) { spec_.set("fix", text); },
            "what --assemble keeps: BODY.position, BODY.rotation, BODY.velocity, BODY.angular_velocity")
        ->type_name("B.x,...");
    parser.add_option("--along", along_, "also check the points of this result, to find singular positions")
        ->type_name("RESULT");
    parser
        .add_option_function<std::string>(
            "--t-end", [this](const std::string& text) { t_end_ = text; }, "also check along a run up to T [s]")
        ->type_name("T");
    parser.add_option("--write-model", model_file_, "write the assembled model without includes, as one file")
        ->type_name("FILE");
    parser
        .add_option("--graph", graph_,
                    "draw bodies, joints and forces: FILE.dot, or FILE.svg where Graphviz is installed")
        ->type_name("FILE");
    parser.add_flag("--json", is_json_, "print one JSON object");
    parser.footer(
        "Compares every derivative with differences, and looks at ranks, conditioning and initial values.\n"
        "Exit code 0 if nothing is wrong, 2 if the model has errors, 3 if the run of --t-end failed.\n"
        "Examples:\n  kreisel check heavy-top\n  kreisel check heavy-top --group se3 --set constraint=inertial\n  "
        "kreisel check four-bar --t-end 2");
  }

  int execute(const Invocation& invocation) override {
    model_.fill(spec_);
    if (!t_end_.empty()) spec_.set("t_end", t_end_);
    const io::PreparedRun run = io::prepare(spec_);  // rejects what a run would reject
    const models::Model& model = run.model;
    write_model(run, model_file_);
    write_graph(run, graph_);
    Verdict verdict = examine(model);
    verdict.changes = run.changes;
    verdict.parameters = run.model_parameters.listing();
    verdict.warnings.insert(verdict.warnings.begin(), run.warnings.begin(), run.warnings.end());
    if (!along_.empty() || !t_end_.empty()) {
      verdict.passage = system::examine_passage(
          *model.system, thinned(along_.empty() ? motions_of(run, verdict) : motions_of_result(*model.system, along_)));
      for (const system::Passage::Singularity& s : verdict.passage->singularities)
        verdict.problems.push_back(
            fmt::format("singular position near t = {:.6g}: B loses rank (smallest singular value {:.2e}, "
                        "typically {:.2e}), mostly in {}",
                        s.t, s.margin, verdict.passage->typical_margin, fmt::join(s.redundant_names, ", ")));
    }
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(to_json(model, verdict)));
    else
      print(model, verdict);
    if (!invocation.wants_json && verdict.passage) print(*verdict.passage);
    for (const std::string& warning : verdict.warnings) print_warning(warning);
    for (const std::string& problem : verdict.problems) print_error(problem);
    if (verdict.ending != run::Status::success) return io::ending_of(verdict.ending).exit_code;
    return verdict.problems.empty() ? success : bad_input;
  }

 private:
  static std::vector<Motion> motions_of(const io::PreparedRun& run, Verdict& verdict) {
    MotionRecorder recorder;
    const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, recorder);
    verdict.ending = report.status;
    if (report.status != run::Status::success)
      verdict.problems.push_back(fmt::format("{}: {}", io::ending_of(report.status).id, report.message));
    return std::move(recorder.motions);
  }

  ModelArguments model_;
  io::RunSpec spec_;
  std::string along_, t_end_, model_file_, graph_;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check(CLI::App& program) {
  return std::make_unique<Check>(
      *program.add_subcommand("check", "Audit derivatives, ranks and initial values of a model"));
}

}  // namespace kreisel::apps
