#include "multibody/rod.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/decompositions.hpp"
#include "kreisel/error.hpp"
#include "lie/se3.hpp"
#include "multibody/cable.hpp"

namespace kreisel::multibody {
namespace {

/// Three elements per turn: with fewer, loads bring the logarithm to the half turn beyond which it takes the opposite direction.
constexpr double widest_bend = 2.0 * M_PI / 3.0 + 1e-9;

}  // namespace

Matrix6 compliance_of(double EA, double GAy, double GAz, double GJ, double EIy, double EIz) {
  Vector6 diagonal;
  diagonal << EA, GAy, GAz, GJ, EIy, EIz;
  return diagonal.cwiseInverse().asDiagonal();
}

RodSection circular_section(const Material& material, double radius, double inner_radius) {
  const double E = material.young, nu = material.poisson, G = E / (2.0 * (1.0 + nu));
  const double r2 = radius * radius, i2 = inner_radius * inner_radius;
  const double A = M_PI * (r2 - i2), I = 0.25 * M_PI * (r2 * r2 - i2 * i2);
  const double m = inner_radius / radius, m2 = m * m, one = (1.0 + m2) * (1.0 + m2);
  const double shear = 6.0 * (1.0 + nu) * one / ((7.0 + 6.0 * nu) * one + (20.0 + 12.0 * nu) * m2);
  RodSection section;
  section.shear_factor = shear;
  section.torsion_constant = 2.0 * I;
  section.beam.compliance = compliance_of(E * A, shear * G * A, shear * G * A, 2.0 * G * I, E * I, E * I);
  section.mass_per_length = material.density * A;
  section.inertia_per_length = material.density * Vector3(2.0 * I, I, I).asDiagonal();
  return section;
}

RodSection rectangular_section(const Material& material, double y, double z) {
  const double E = material.young, nu = material.poisson, G = E / (2.0 * (1.0 + nu));
  const double A = y * z, Iy = y * z * z * z / 12.0, Iz = z * y * y * y / 12.0;
  const double shear = 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu);
  // a b³ (1/3 - 64/π⁵ (b/a) Σ tanh(nπa/2b)/n⁵), n odd, a ≥ b (Timoshenko and Goodier 1970, section 109)
  const double a = std::max(y, z), b = std::min(y, z);
  double sum = 0.0;
  for (int n = 21; n >= 1; n -= 2) sum += std::tanh(0.5 * n * M_PI * a / b) / std::pow(n, 5);
  const double J = a * b * b * b * (1.0 / 3.0 - 64.0 / std::pow(M_PI, 5) * (b / a) * sum);
  RodSection section;
  section.shear_factor = shear;
  section.torsion_constant = J;
  section.beam.compliance = compliance_of(E * A, shear * G * A, shear * G * A, G * J, E * Iy, E * Iz);
  section.mass_per_length = material.density * A;
  section.inertia_per_length = material.density * Vector3(Iy + Iz, Iy, Iz).asDiagonal();
  return section;
}

/// The compliance has zero rows where the rod is rigid.
static std::shared_ptr<const SectionFacts> facts_of(const Rod& rod) {
  auto facts = std::make_shared<SectionFacts>();
  facts->rod = rod.name;
  facts->mass_per_length = rod.section.mass_per_length;
  facts->shear_factor = rod.section.shear_factor;
  facts->torsion_constant = rod.section.torsion_constant;
  Matrix6 C = rod.section.beam.compliance;
  const auto is_rigid = [&](int i) { return !(rod.section.beam.compliance(i, i) > 0.0); };
  for (int i = 0; i < 6; ++i)
    if (is_rigid(i)) C(i, i) = 1.0;
  facts->stiffness = C.inverse().diagonal();
  for (int i = 0; i < 6; ++i)
    if (is_rigid(i)) facts->stiffness[i] = std::numeric_limits<double>::infinity();
  if (rod.is_cable) facts->stiffness.tail<5>().setZero();
  return facts;
}

std::vector<double> node_weights(int elements) {
  std::vector<double> w(elements + 1, 1.0);
  if (elements == 1) return {0.5, 0.5};
  if (elements == 2) return {1.0 / 3.0, 4.0 / 3.0, 1.0 / 3.0};
  if (elements == 3) return {3.0 / 8.0, 9.0 / 8.0, 9.0 / 8.0, 3.0 / 8.0};
  constexpr std::array<double, 3> correction{3.0 / 8.0 - 1.0, 7.0 / 6.0 - 1.0, 23.0 / 24.0 - 1.0};
  for (std::size_t i = 0; i < correction.size(); ++i) {
    w[i] += correction[i];
    w[elements - i] += correction[i];
  }
  return w;
}

std::vector<double> node_weights(const std::vector<double>& at, const std::vector<int>& breaks) {
  std::vector<double> weights(at.size(), 0.0);
  for (std::size_t b = 1; b < breaks.size(); ++b) {
    const int from = breaks[b - 1], count = breaks[b] - from;
    const double h = (at[breaks[b]] - at[from]) / count;
    const std::vector<double> of_stretch = node_weights(count);
    for (int i = 0; i <= count; ++i) weights[from + i] += h * of_stretch[i];
  }
  return weights;
}

std::vector<double> weights_before(const std::vector<double>& at, const std::vector<double>& weights) {
  std::vector<double> before;
  double sum = at.empty() ? 0.0 : at[0];
  for (std::size_t i = 0; i < at.size(); ++i) {
    before.push_back(at[i] - sum);
    sum += weights[i];
  }
  return before;
}

void Rod::set_mesh(RodMesh mesh) {
  nodes = std::move(mesh.nodes);
  leaving = std::move(mesh.leaving);
  at = std::move(mesh.at);
  breaks = std::move(mesh.breaks);
  length = at.back();
}

std::vector<Frame> line(const Vector3& from, const Vector3& to, int elements, const Vector3& up) {
  Frame frame;
  frame.E = section_axes(to - from, up);
  std::vector<Frame> nodes(elements + 1, frame);
  for (int i = 0; i <= elements; ++i) nodes[i].p = from + (static_cast<double>(i) / elements) * (to - from);
  return nodes;
}

std::vector<Frame> constant_strain(const Frame& from, const Vector6& strain, double length, int elements) {
  std::vector<Frame> nodes;
  for (int i = 0; i <= elements; ++i) {
    const lie::FlatPose pose = lie::SE3::compose(pose_of(from), lie::SE3::exp(strain * (length * i / elements)));
    nodes.push_back({pose.head<3>(), lie::rotation_matrix(pose.data() + 3)});
  }
  return nodes;
}

int add_rod(Mechanism& mechanism, const Rod& rod) {
  const int n = static_cast<int>(rod.nodes.size()) - 1;
  if (n < 1) throw InvalidInput(fmt::format("rod '{}' has {} nodes, needs at least two", rod.name, rod.nodes.size()));
  if (!(rod.length > 0.0) || !std::isfinite(rod.length))
    throw InvalidInput(fmt::format("rod '{}' has the length {}, must be positive [m]", rod.name, rod.length));
  const double smallest = symmetric_eigenvalues(rod.section.beam.compliance)[0];
  if (rod.is_cable && !(rod.section.beam.compliance(0, 0) > 0.0))
    throw InvalidInput(fmt::format("cable '{}' needs a finite stiffness EA", rod.name));
  const std::array<bool, 3>& rigid = rod.section.beam.is_rigid;
  const bool may_vanish = rod.section.beam.law == SectionLaw::magnus || rigid[0] || rigid[1] || rigid[2];
  if (!rod.is_cable && !(smallest > 0.0) && !(smallest == 0.0 && may_vanish))
    throw InvalidInput(fmt::format("rod '{}': the stiffness of its section is not positive definite", rod.name));
  const int first = static_cast<int>(mechanism.bodies.size());
  std::vector<double> at = rod.at;
  std::vector<int> breaks = rod.breaks;
  const std::vector<Frame>& leaving = rod.leaving.empty() ? rod.nodes : rod.leaving;
  if (at.empty())
    for (int i = 0; i <= n; ++i) at.push_back(rod.length * i / n);
  if (breaks.empty()) breaks = {0, n};
  // At a corner the weights of the stretches before and behind it belong to sections that are turned against each other.
  std::vector<double> before(at.size(), 0.0), behind(at.size(), 0.0);
  for (std::size_t b = 1; b < breaks.size(); ++b) {
    const std::vector<double> of_stretch = node_weights(at, {breaks[b - 1], breaks[b]});
    for (int i = breaks[b - 1]; i <= breaks[b]; ++i) (i == breaks[b - 1] ? behind : before)[i] += of_stretch[i];
  }
  std::vector<Frame> on_body[2];  // sections as elements reach and leave them
  for (int i = 0; i <= n; ++i) {
    const Frame& node = rod.nodes[i];
    const Matrix3 turned = node.E.transpose() * leaving[i].E;
    const double mass_before = before[i] * rod.section.mass_per_length,
                 mass_behind = behind[i] * rod.section.mass_per_length;
    const Vector3 c_before = rod.section.centre_of_mass, c_behind = turned * rod.section.centre_of_mass;
    const double mass = mass_before + mass_behind;
    const Vector3 centre = mass > 0.0 ? Vector3((mass_before * c_before + mass_behind * c_behind) / mass) : c_before;
    const auto about_centre = [&](double m, const Vector3& c) -> Matrix3 {
      const Matrix3 arm = skew(c - centre);
      return m * arm * arm.transpose();
    };
    Body body;
    body.name = fmt::format("{}.{}", rod.name, i);
    body.group = rod.group;
    body.mass = mass;
    body.inertia = before[i] * rod.section.inertia_per_length +
                   behind[i] * turned * rod.section.inertia_per_length * turned.transpose() +
                   about_centre(mass_before, c_before) + about_centre(mass_behind, c_behind);
    body.position = node.p + node.E * centre;
    body.rotation = node.E;
    body.velocity = rod.velocity + rod.angular_velocity.cross(body.position - rod.nodes[0].p);
    body.angular_velocity = node.E.transpose() * rod.angular_velocity;
    mechanism.bodies.push_back(std::move(body));
    on_body[0].push_back({-centre, Matrix3::Identity()});
    on_body[1].push_back({-centre, turned.isIdentity(1e-14) ? Matrix3(Matrix3::Identity()) : turned});
  }
  const std::vector<double> weights = node_weights(at, breaks), lies_before = weights_before(at, weights);
  Vector6 straight = Vector6::Zero();
  straight[0] = 1.0;
  const std::shared_ptr<const SectionFacts> facts = facts_of(rod);
  const auto add = [&](std::shared_ptr<SectionElement> element, int i) {
    element->take_facts(facts);
    element->take_part_of_nodes(1.0 - lies_before[i - 1] / weights[i - 1], lies_before[i] / weights[i]);
    mechanism.elements.push_back(std::move(element));
  };
  for (int i = 1; i <= n; ++i) {
    const double h = at[i] - at[i - 1];
    const Vector6 d =
        lie::SE3::log(lie::SE3::compose(lie::SE3::inverse(pose_of(leaving[i - 1])), pose_of(rod.nodes[i])));
    const std::string name = fmt::format("{}.{}", rod.name, i);
    if (rod.is_cable) {
      // Between the nodes it is straight, so that the distance of the nodes as drawn is its length there.
      const double EA = 1.0 / rod.section.beam.compliance(0, 0);
      const double chord = (rod.nodes[i].p - leaving[i - 1].p).norm();
      add(std::make_shared<Cable>(name, first + i - 1, on_body[1][i - 1].p, first + i, on_body[0][i].p,
                                  (rod.is_straight_unloaded ? h : chord) / (1.0 + rod.prestress[0] / EA), EA,
                                  rod.section.beam.damping_time),
          i);
      continue;
    }
    if (!(d.tail<3>().norm() < widest_bend))
      throw InvalidInput(fmt::format(
          "element {} of rod '{}' turns by {:.4g} degrees between its nodes, more than {:.4g}; use more elements", i,
          rod.name, d.tail<3>().norm() * 180.0 / M_PI, widest_bend * 180.0 / M_PI));
    const Vector6 drawn = d / h;
    const Vector6 strain0 =
        (rod.is_straight_unloaded ? straight : drawn) - element_compliance(rod.section.beam, h, drawn) * rod.prestress;
    add(std::make_shared<Beam>(name, first + i - 1, on_body[1][i - 1], first + i, on_body[0][i], h, strain0,
                               rod.section.beam),
        i);
  }
  return first;
}

}  // namespace kreisel::multibody
