#include "multibody/rod.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "kreisel/error.hpp"
#include "lie/se3.hpp"

namespace kreisel::multibody {
namespace {

lie::FlatPose pose_of(const Frame& frame) { return lie::flat_pose(frame.p, lie::quaternion_from(frame.E)); }

constexpr double widest_bend = 0.5 * M_PI;  // of one element, against the next half turn of the logarithm

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
  section.beam.compliance = compliance_of(E * A, shear * G * A, shear * G * A, G * J, E * Iy, E * Iz);
  section.mass_per_length = material.density * A;
  section.inertia_per_length = material.density * Vector3(Iy + Iz, Iy, Iz).asDiagonal();
  return section;
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

std::vector<Frame> line(const Vector3& from, const Vector3& to, int elements, const Vector3& up) {
  const Vector3 x = (to - from).normalized(), across = up - up.dot(x) * x;
  if (!(across.norm() > 1e-6 * up.norm()))
    throw InvalidInput("\"up\" is parallel to the axis of the rod; give another direction");
  Frame frame;
  frame.E.col(0) = x;
  frame.E.col(2) = across.normalized();
  frame.E.col(1) = frame.E.col(2).cross(x);
  std::vector<Frame> nodes(elements + 1, frame);
  for (int i = 0; i <= elements; ++i) nodes[i].p = from + (static_cast<double>(i) / elements) * (to - from);
  return nodes;
}

double arc(const Vector3* p, int elements, const Vector3* up, std::vector<Frame>& nodes) {
  const Vector3 a = p[1] - p[0], b = p[2] - p[0], normal = a.cross(b);
  if (!(normal.norm() > 1e-9 * a.norm() * b.norm()))
    throw InvalidInput("the three points lie on a line; an arc needs a circle");
  const Vector3 axis = normal.normalized();
  const Vector3 centre =
      p[0] + (b.squaredNorm() * normal.cross(a) + a.squaredNorm() * b.cross(normal)) / (2.0 * normal.squaredNorm());
  const Vector3 from = p[0] - centre, to = p[2] - centre;
  double angle = std::atan2(axis.dot(from.cross(to)), from.dot(to));
  if (angle <= 0.0) angle += 2.0 * M_PI;  // a -> b turns about the axis, the short way or the long one
  Frame start{p[0], Matrix3::Identity()};
  start.E.col(0) = axis.cross(from).normalized();
  const Vector3 z = up != nullptr ? *up : axis, across = z - z.dot(start.E.col(0)) * start.E.col(0);
  if (!(across.norm() > 1e-6 * z.norm()))
    throw InvalidInput("\"up\" is parallel to the axis of the rod; give another direction");
  start.E.col(2) = across.normalized();
  start.E.col(1) = start.E.col(2).cross(start.E.col(0));
  Vector6 strain = Vector6::Zero();
  strain[0] = 1.0;
  strain.tail<3>() = start.E.transpose() * axis / from.norm();
  const double length = angle * from.norm();
  nodes = constant_strain(start, strain, length, elements);
  return length;
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
  if (n < 1) throw InvalidInput(fmt::format("rod '{}' has {} nodes, needs two at least", rod.name, rod.nodes.size()));
  if (!(rod.length > 0.0) || !std::isfinite(rod.length))
    throw InvalidInput(fmt::format("rod '{}' has the length {}, must be positive [m]", rod.name, rod.length));
  const double smallest =
      Eigen::SelfAdjointEigenSolver<Matrix6>(rod.section.beam.compliance, Eigen::EigenvaluesOnly).eigenvalues()[0];
  if (!(smallest > 0.0) && !(smallest == 0.0 && rod.section.beam.law == SectionLaw::magnus))
    throw InvalidInput(fmt::format("rod '{}': the stiffness of its section is not positive definite", rod.name));
  const int first = static_cast<int>(mechanism.bodies.size());
  const double h = rod.length / n;
  const std::vector<double> weights = node_weights(n);
  for (int i = 0; i <= n; ++i) {
    const Frame& node = rod.nodes[i];
    Body body;
    body.name = fmt::format("{}.{}", rod.name, i);
    body.group = lie::GroupId::se3;
    body.mass = weights[i] * h * rod.section.mass_per_length;
    body.inertia = weights[i] * h * rod.section.inertia_per_length;
    body.position = node.p;
    body.rotation = node.E;
    body.velocity = rod.velocity + rod.angular_velocity.cross(node.p - rod.nodes[0].p);
    body.angular_velocity = node.E.transpose() * rod.angular_velocity;
    mechanism.bodies.push_back(std::move(body));
  }
  Vector6 straight = Vector6::Zero();
  straight[0] = 1.0;
  for (int i = 1; i <= n; ++i) {
    const Vector6 d =
        lie::SE3::log(lie::SE3::compose(lie::SE3::inverse(pose_of(rod.nodes[i - 1])), pose_of(rod.nodes[i])));
    const std::string name = fmt::format("{}.{}", rod.name, i);
    if (!(d.tail<3>().norm() < widest_bend))
      throw InvalidInput(fmt::format(
          "element {} of rod '{}' turns by {:.4g} degrees between its nodes, more than 90; take more elements", i,
          rod.name, d.tail<3>().norm() * 180.0 / M_PI));
    const Vector6 strain0 =
        (rod.is_straight_unloaded ? straight : Vector6(d / h)) - rod.section.beam.compliance * rod.prestress;
    mechanism.elements.push_back(
        std::make_shared<Beam>(name, first + i - 1, Frame{}, first + i, Frame{}, h, strain0, rod.section.beam));
  }
  return first;
}

}  // namespace kreisel::multibody
