#include "io/result/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/decompositions.hpp"
#include "multibody/joint.hpp"
#include "system/consistency.hpp"
#include "system/dense.hpp"

namespace kreisel::io {
namespace {

using multibody::Assembly;

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

/// The motions that the constraints allow, as columns: every v of the bodies and of other dynamic coordinates.
Matrix allowed_motions(const Assembly& assembly, const lie::Motion& m) {
  system::KktBlocks blocks(assembly.pattern());
  assembly.mass_and_jacobian(m, blocks);
  std::vector<int> dynamic;
  for (int b = 0; b < static_cast<int>(assembly.space().blocks().size()); ++b) {
    const lie::Block& block = assembly.space().blocks()[b];
    if (b < assembly.body_count())
      for (int i = 0; i < block.nv; ++i) dynamic.push_back(block.v_at + i);
  }
  const Eigen::Index n = assembly.space().nv(), free = static_cast<Eigen::Index>(dynamic.size());
  Matrix B = system::dense_rows(assembly, blocks.B)(Eigen::all, dynamic);
  Matrix kernel = Matrix::Identity(free, free);
  if (B.rows() > 0) {
    for (Eigen::Index i = 0; i < B.rows(); ++i)
      if (const double size = B.row(i).norm(); size > 0.0) B.row(i) /= size;
    const Svd parts = svd(B, SingularVectors::full_v);
    kernel = parts.V.rightCols(free - parts.rank(1e-10));
  }
  Matrix motions = Matrix::Zero(n, kernel.cols());
  if (kernel.cols() == 0) return motions;
  for (Eigen::Index i = 0; i < free; ++i) motions.row(dynamic[static_cast<std::size_t>(i)]) = kernel.row(i);
  return motions;
}

multibody::BodyState state_of(const Assembly& assembly, int body, const lie::Motion& m, ConstVectorRef v) {
  multibody::BodyState s;
  if (body == multibody::ground) return s;
  const lie::Block& block = assembly.space().blocks()[static_cast<std::size_t>(body)];
  const system::Pose pose = assembly.body_pose(body, m.q);
  s.x = pose.x;
  s.R = pose.R;
  const Vector3 u = v.segment<3>(block.v_at);
  s.u = block.group == lie::GroupId::se3 ? Vector3(s.R * u) : u;
  s.w = v.segment<3>(block.v_at + 3);
  return s;
}

/// Rows that are independent of those before, by Gram and Schmidt.
class Independent {
 public:
  explicit Independent(Eigen::Index columns) : basis_(0, columns) {}
  Freedom::Kind take(Vector row, double smallest) {
    const double size = row.norm();
    if (size <= smallest) return Freedom::Kind::locked;
    row /= size;
    for (int pass = 0; pass < 2; ++pass)
      for (Eigen::Index i = 0; i < basis_.rows(); ++i) row -= basis_.row(i).dot(row) * basis_.row(i).transpose();
    if (row.norm() < 1e-6) return Freedom::Kind::follows;
    basis_.conservativeResize(basis_.rows() + 1, Eigen::NoChange);
    basis_.row(basis_.rows() - 1) = row.normalized();
    return Freedom::Kind::independent;
  }
  bool is_complete() const { return basis_.rows() == basis_.cols(); }

 private:
  Matrix basis_;
};

}  // namespace

std::string graph_of(const Assembly& assembly) {
  const multibody::Mechanism& mechanism = assembly.mechanism();
  const int bodies = assembly.body_count();
  std::string out = fmt::format("graph {} {{\n  node [shape=ellipse];\n  ground [shape=box, style=filled];\n",
                                in_quotes(mechanism.name));
  for (int b = 0; b < bodies; ++b)
    out += fmt::format("  b{} [label={}];\n", b,
                       in_quotes(fmt::format("{}\n{:.4g} kg", mechanism.bodies[b].name, mechanism.bodies[b].mass)));
  const auto node = [](int body) {
    return body == multibody::ground ? std::string("ground") : fmt::format("b{}", body);
  };
  for (std::size_t e = static_cast<std::size_t>(bodies); e < assembly.elements().size(); ++e) {
    const multibody::Element& element = *assembly.elements()[e];
    const multibody::Facets facets = element.facets();
    std::vector<int> on;
    for (const int n : element.nodes())
      if (n < bodies && std::ranges::count(on, n) == 0) on.push_back(n);
    if (on.empty() || (facets.rows == 0 && !facets.has_force)) continue;
    if (std::ranges::all_of(on, [](int n) { return n == multibody::ground; })) continue;
    if (element.type() == "state") continue;
    std::string look = facets.rows == 0   ? "style=dashed, color=gray40, fontcolor=gray40"
                       : facets.is_driver ? "color=red, fontcolor=red"
                                          : "style=bold";
    if (!assembly.active()[e]) look += ", style=dotted";
    const std::string label = in_quotes(fmt::format("{}\n{}", element.name(), element.type()));
    if (on.size() == 1 && facets.rows == 0) on.push_back(multibody::ground);
    if (on.size() == 2) {
      out += fmt::format("  {} -- {} [label={}, {}];\n", node(on[0]), node(on[1]), label, look);
      continue;
    }
    out += fmt::format("  e{} [shape=plaintext, label={}];\n", e, label);
    for (const int n : on) out += fmt::format("  e{} -- {} [{}];\n", e, node(n), look);
  }
  return out + "}\n";
}

Freedom freedom_of(const Assembly& assembly, const lie::Motion& m) {
  const Matrix motions = allowed_motions(assembly, m);
  Freedom out;
  out.degrees = static_cast<int>(motions.cols());
  const double length = system::length_scale(assembly, m);
  Independent chosen(motions.cols());
  for (const multibody::JointPtr& joint : assembly.joints()) {
    if (joint->is_driver()) continue;
    for (const multibody::Joint::Sliding& sliding : joint->slidings()) {
      Vector row(motions.cols());
      for (Eigen::Index j = 0; j < motions.cols(); ++j) {
        multibody::BodyState s[2];
        for (const int i : {0, 1})
          s[i] = state_of(assembly, joint->bodies()[static_cast<std::size_t>(i)], m, motions.col(j));
        row[j] = sliding.measure->rate(s);
      }
      out.coordinates.push_back({joint->name(), sliding.is_rotation ? "angle" : "displacement",
                                 chosen.take(row, 1e-8 * (sliding.is_rotation ? std::min(1.0, 1.0 / length) : 1.0))});
    }
  }
  constexpr std::array<const char*, 6> names{"x", "y", "z", "rotation.x", "rotation.y", "rotation.z"};
  for (int b = 0; b < assembly.body_count() && !chosen.is_complete(); ++b)
    for (int i = 0; i < 6 && !chosen.is_complete(); ++i) {
      const Freedom::Kind kind =
          chosen.take(motions.row(assembly.space().blocks()[static_cast<std::size_t>(b)].v_at + i), 1e-8);
      if (kind == Freedom::Kind::independent)
        out.coordinates.push_back(
            {fmt::format("{}.{}", assembly.body_name(b), names[static_cast<std::size_t>(i)]), "motion", kind});
    }
  return out;
}

}  // namespace kreisel::io
