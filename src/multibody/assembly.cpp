#include "kreisel/multibody/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>

#include "kreisel/base/error.hpp"
#include "kreisel/base/workers.hpp"
#include "kreisel/lie/so3.hpp"

namespace kreisel::multibody {

using lie::Motion;
using system::KktBlocks;
using system::Pattern;

namespace {

using Map3 = Eigen::Map<const Vector3>;
using Matrix6Map = Eigen::Map<Matrix6>;

lie::Space make_space(const Mechanism& mechanism) {
  if (mechanism.group != lie::GroupId::se3 && mechanism.group != lie::GroupId::r3xso3)
    throw InvalidInput(fmt::format("mechanism '{}': bodies live on se3 or r3xso3, not on {}", mechanism.name,
                                   lie::name_of(mechanism.group)));
  if (mechanism.bodies.empty()) throw InvalidInput(fmt::format("mechanism '{}' has no bodies", mechanism.name));
  std::vector<lie::Factor> factors(mechanism.bodies.size(), {mechanism.group, 0});
  for (const ForcePtr& force : mechanism.forces)
    if (force->states() > 0) factors.push_back({lie::GroupId::rn, force->states()});
  return lie::Space(factors);
}

void check_bodies(const Mechanism& mechanism, const std::string& element, const std::vector<int>& bodies) {
  std::set<int> seen;
  for (const int b : bodies) {
    if (b < ground || b >= static_cast<int>(mechanism.bodies.size()))
      throw InvalidInput(fmt::format("'{}' refers to body {}, but there are {}", element, b, mechanism.bodies.size()));
    if (b != ground && !seen.insert(b).second)
      throw InvalidInput(fmt::format("'{}' refers to body '{}' twice", element, mechanism.bodies[b].name));
  }
  if (seen.empty()) throw InvalidInput(fmt::format("'{}' touches no body, only the ground", element));
}

void add_pairs(const std::vector<int>& bodies, std::vector<std::pair<int, int>>& pairs) {
  for (const int a : bodies)
    for (const int b : bodies)
      if (a != ground && b != ground && a != b) pairs.push_back({a, b});
}

void set_zero(Slopes& slopes, int slots) {
  for (int i = 0; i < slots; ++i) slopes[i].setZero();
}

/// Bodies or elements that a thread takes at once.
constexpr int piece_size = 256;

/// each(element, states) for all elements of the waves; `states` belongs to the piece.
template <class States, class Waves, class Each>
void sweep(const Waves& waves, const Each& each) {
  for (const auto& wave : waves)
    share(static_cast<int>(wave.size()), [&](int piece) {
      States states;
      for (int e = wave[piece].begin; e < wave[piece].end; ++e) each(e, states);
    });
}

/// each(body) for all bodies.
template <class Each>
void sweep_bodies(int count, const Each& each) {
  share_range(count, piece_size, [&](int begin, int end) {
    for (int b = begin; b < end; ++b) each(b);
  });
}

}  // namespace

Pattern Assembly::make_pattern(const Mechanism& mechanism) {
  std::vector<system::RowGroup> groups;
  std::vector<std::pair<int, int>> couplings;
  std::vector<std::string> names;
  for (const Body& body : mechanism.bodies) names.push_back(body.name);
  std::vector<system::CoordinateKind> kinds(names.size(), system::CoordinateKind::dynamic);
  for (const Joint& joint : mechanism.joints) {
    check_bodies(mechanism, joint.name(), joint.bodies());
    system::RowGroup group{joint.name(), joint.rows(), system::RowLevel::position, {}, 0, joint.is_driver()};
    for (const int b : joint.bodies())
      if (b != ground) group.blocks.push_back(b);
    groups.push_back(std::move(group));
    if (joint.couples_bodies()) add_pairs(joint.bodies(), couplings);
  }
  for (const ForcePtr& force : mechanism.forces) {
    check_bodies(mechanism, force->name(), force->bodies());
    if (force->joint() >= static_cast<int>(mechanism.joints.size()))
      throw InvalidInput(fmt::format("force '{}' refers to joint {}, but there are {}", force->name(), force->joint(),
                                     mechanism.joints.size()));
    add_pairs(force->bodies(), couplings);
    if (force->states() == 0) continue;
    for (const int b : force->bodies())
      if (b != ground) couplings.insert(couplings.end(), {{static_cast<int>(names.size()), b}, {b, static_cast<int>(names.size())}});
    names.push_back(force->name());
    kinds.push_back(system::CoordinateKind::state);
  }
  return Pattern(make_space(mechanism), std::move(groups), couplings, std::move(kinds), std::move(names));
}

Assembly::Assembly(Mechanism mechanism)
    : System(make_space(mechanism), make_pattern(mechanism)),
      mechanism_(std::move(mechanism)),
      is_se3_(mechanism_.group == lie::GroupId::se3) {
  for (int b = 0; b < body_count(); ++b) diagonal_at_.push_back(pattern().couplings()[pattern().coupling(b, b)].at);
  for (int j = 0; j < static_cast<int>(mechanism_.joints.size()); ++j)
    joints_.push_back(place(mechanism_.joints[j].bodies(), j));
  int block = body_count();
  for (const ForcePtr& force : mechanism_.forces) {
    forces_.push_back(place(force->bodies(), force->joint()));
    if (force->joint() >= 0) is_affine_ = false;
    is_conservative_ = false;
    states_.push_back({});
    if (force->states() == 0) continue;
    const auto at = [&](int row, int column) { return pattern().couplings()[pattern().coupling(row, column)].at; };
    OwnStates& own = states_.back();
    own = {force->states(), space().blocks()[block].q_at, space().blocks()[block].v_at, at(block, block), {}, {}};
    own.row_at.fill(-1);
    own.column_at.fill(-1);
    for (int i = 0; i < force->slots(); ++i)
      if (const int b = force->bodies()[i]; b != ground) own.row_at[i] = at(block, b), own.column_at[i] = at(b, block);
    ++block;
  }
  needs_newton_ = !is_affine_ || block > body_count();
  for (const Joint& joint : mechanism_.joints)
    if (joint.depends_on_time()) is_conservative_ = false;
  joint_waves_ = waves_of(joints_, body_count());
  force_waves_ = waves_of(forces_, body_count());
}

/// Every piece joins the first wave that does not touch its bodies yet.
Assembly::Waves Assembly::waves_of(const std::vector<Element>& elements, int bodies) {
  constexpr int most_waves = 64;
  Waves waves;
  std::vector<std::uint64_t> waves_at(bodies, 0);  // one bit per wave
  const int count = static_cast<int>(elements.size());
  for (int begin = 0; begin < count; begin += piece_size) {
    const Piece piece{begin, std::min(begin + piece_size, count)};
    const auto for_each_body = [&](const auto& visit) {
      for (int e = piece.begin; e < piece.end; ++e)
        for (int i = 0; i < elements[e].slot_count; ++i)
          if (elements[e].slots[i].body != ground) visit(elements[e].slots[i].body);
    };
    std::uint64_t taken = 0;
    for_each_body([&](int body) { taken |= waves_at[body]; });
    const auto wave = static_cast<std::size_t>(std::countr_one(taken));
    if (wave >= most_waves) {  // of a body with very many elements: one after the other
      waves.resize(std::max<std::size_t>(waves.size(), most_waves));
      waves.push_back({piece});
      continue;
    }
    for_each_body([&](int body) { waves_at[body] |= std::uint64_t{1} << wave; });
    if (waves.size() <= wave) waves.resize(wave + 1);
    waves[wave].push_back(piece);
  }
  return waves;
}

Assembly::Element Assembly::place(const std::vector<int>& bodies, int group) const {
  Element element;
  element.slot_count = static_cast<int>(bodies.size());
  element.coupling_at.fill(-1);
  if (group >= 0) {
    element.row = pattern().groups()[group].at;
    element.rows = pattern().groups()[group].rows;
  }
  for (int i = 0; i < element.slot_count; ++i) {
    Slot& slot = element.slots[i];
    slot.body = bodies[i];
    if (slot.body == ground) continue;
    slot.v_at = space().blocks()[slot.body].v_at;
    if (group >= 0) slot.touch_at = pattern().touches()[pattern().touch(group, slot.body)].at;
    for (int j = 0; j < element.slot_count; ++j)
      if (bodies[j] != ground)
        if (const int c = pattern().coupling(slot.body, bodies[j]); c >= 0)
          element.coupling_at[i * max_slots + j] = pattern().couplings()[c].at;
  }
  return element;
}

void Assembly::set_state(int body, const Motion& m, BodyState& s) const {
  const lie::Block& block = space().blocks()[body];
  const double* q = m.q.data() + block.q_at;
  const double* v = m.v.data() + block.v_at;
  s.x = Map3(q);
  s.R = lie::rotation_matrix(q + 3);
  s.w = Map3(v + 3);
  if (is_se3_)
    s.u = s.R * Map3(v);
  else
    s.u = Map3(v);
}

const BodyState* Assembly::load(const Element& element, const Motion& m, States& states) const {
  for (int i = 0; i < element.slot_count; ++i) {
    const int body = element.slots[i].body;
    if (states.body[i] == body) continue;
    const auto known = std::find(states.body.begin(), states.body.end(), body);
    if (known != states.body.end())
      states.s[i] = states.s[known - states.body.begin()];
    else if (body == ground)
      states.s[i] = BodyState();
    else
      set_state(body, m, states.s[i]);
    states.body[i] = body;
  }
  return states.s.data();
}

void Assembly::add_wrench(const Element& element, const BodyState* s, const Slopes& wrench, VectorRef force) const {
  for (int i = 0; i < element.slot_count; ++i) {
    if (element.slots[i].body == ground) continue;
    Eigen::Map<Vector6> out(force.data() + element.slots[i].v_at);
    if (is_se3_)
      out.head<3>() += s[i].R.transpose() * wrench[i].head<3>();
    else
      out.head<3>() += wrench[i].head<3>();
    out.tail<3>() += wrench[i].tail<3>();
  }
}

void Assembly::store_inertia_forces(const Motion& m, VectorRef out) const {
  sweep_bodies(body_count(), [&](int b) {
    const Body& body = mechanism_.bodies[b];
    const lie::Block& block = space().blocks()[b];
    const double* q = m.q.data() + block.q_at;
    const Map3 u(m.v.data() + block.v_at), w(m.v.data() + block.v_at + 3);
    const Map3 u_dot(m.a.data() + block.v_at), w_dot(m.a.data() + block.v_at + 3);
    Eigen::Map<Vector6> force(out.data() + block.v_at);
    if (is_se3_)
      force.head<3>() = body.mass * (u_dot + w.cross(u) - lie::rotate_back(q + 3, mechanism_.gravity));
    else
      force.head<3>() = body.mass * (u_dot - mechanism_.gravity);
    force.tail<3>() = body.inertia * w_dot + w.cross(body.inertia * w);
  });
}

void Assembly::residual(const Motion& m, ConstVectorRef lambda, system::Residual& out) const {
  store_inertia_forces(m, out.force);
  sweep<States>(joint_waves_, [&](int j, States& states) {
    const Element& element = joints_[j];
    const BodyState* s = load(element, m, states);
    Slopes wrench;
    set_zero(wrench, element.slot_count);
    mechanism_.joints[j].evaluate(s, m.t, lambda.data() + element.row, out.gap.data() + element.row,
                                  out.rate.data() + element.row, wrench);
    add_wrench(element, s, wrench, out.force);
  });
  add_forces(m, lambda, out.force);
}

void Assembly::add_forces(const Motion& m, ConstVectorRef lambda, VectorRef out) const {
  sweep<States>(force_waves_, [&](int f, States& states) {
    const Element& element = forces_[f];
    const BodyState* s = load(element, m, states);
    Slopes wrench;
    set_zero(wrench, element.slot_count);
    const ForceState at = force_state(f, s, m, lambda.data() + element.row);
    mechanism_.forces[f]->add_wrench(at, wrench);
    add_wrench(element, s, wrench, out);
    const OwnStates& own = states_[f];
    if (own.count == 0) return;
    std::array<double, max_states> rates;
    mechanism_.forces[f]->state_rates(at, rates.data());
    for (int i = 0; i < own.count; ++i) out[own.v_at + i] = m.v[own.v_at + i] - rates[i];
  });
}

ForceState Assembly::force_state(int force, const BodyState* s, const Motion& m, const double* lambda) const {
  return {s, m.t, lambda, states_[force].count == 0 ? nullptr : m.q.data() + states_[force].q_at};
}

/// Rows v - f and the columns ∂g/∂z of the bodies. The diagonal of D is that of store_mass.
void Assembly::store_states(const OwnStates& own, const Element& element, const BodyState* s, const ElementBlocks& blocks,
                            KktBlocks& out) const {
  for (int i = 0; i < own.count; ++i)
    for (int j = 0; j < own.count; ++j) out.K[own.diagonal_at + j * own.count + i] = -blocks.f_z(i, j);
  for (int slot = 0; slot < element.slot_count; ++slot) {
    if (own.row_at[slot] < 0) continue;
    MatrixMap D(out.D.data() + own.row_at[slot], own.count, 6), K(out.K.data() + own.row_at[slot], own.count, 6);
    MatrixMap G(out.K.data() + own.column_at[slot], 6, own.count);
    for (int i = 0; i < own.count; ++i) {
      Vector6 by_q = blocks.f_q[i][slot], by_v = blocks.f_v[i][slot], g = blocks.G[i][slot];
      if (is_se3_) {
        const Matrix3& R = s[slot].R;
        const Vector3 by_u = by_v.head<3>();
        by_q.tail<3>() -= (skew(s[slot].u) * R).transpose() * by_u;  // u = R U moves with R
        by_q.head<3>() = (R.transpose() * by_q.head<3>()).eval();
        by_v.head<3>() = R.transpose() * by_u;
        g.head<3>() = (R.transpose() * g.head<3>()).eval();
      }
      D.row(i) = -by_v;
      K.row(i) = -by_q;
      G.col(i) = g;
    }
  }
}

void Assembly::constraints(const Motion& m, ConstVectorRef, system::Residual& out) const {
  sweep<States>(joint_waves_, [&](int j, States& states) {
    const int row = joints_[j].row;
    mechanism_.joints[j].gap_and_rate(load(joints_[j], m, states), m.t, out.gap.data() + row, out.rate.data() + row);
  });
}

void Assembly::constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const {
  out.setZero();
  sweep<States>(joint_waves_, [&](int j, States& states) {
    const Element& element = joints_[j];
    const BodyState* s = load(element, m, states);
    Slopes wrench;
    set_zero(wrench, element.slot_count);
    mechanism_.joints[j].add_force(s, mu.data() + element.row, wrench);
    add_wrench(element, s, wrench, out);
  });
}

void Assembly::set_accelerations(const Element& element, const BodyState* s, const Motion& m, Slopes& out) const {
  for (int i = 0; i < element.slot_count; ++i) {
    if (element.slots[i].body == ground) {
      out[i].setZero();
      continue;
    }
    const double* v = m.v.data() + element.slots[i].v_at;
    const double* a = m.a.data() + element.slots[i].v_at;
    if (is_se3_)  // u = R U
      out[i].head<3>() = s[i].R * (Map3(a) + s[i].w.cross(Map3(v)));
    else
      out[i].head<3>() = Map3(a);
    out[i].tail<3>() = Map3(a + 3);
  }
}

void Assembly::acceleration_gap(const Motion& m, VectorRef out) const {
  sweep<States>(joint_waves_, [&](int j, States& states) {
    const BodyState* s = load(joints_[j], m, states);
    Slopes accelerations;
    set_accelerations(joints_[j], s, m, accelerations);
    mechanism_.joints[j].acceleration_gap(s, m.t, accelerations, out.data() + joints_[j].row);
  });
}

void Assembly::saddle_point(const Motion& m, ConstVectorRef lambda, KktBlocks& blocks, system::Residual& out,
                            VectorRef z) const {
  store_inertia_forces(m, out.force);
  store_mass(blocks);
  sweep<States>(joint_waves_, [&](int j, States& states) {
    ElementBlocks element_blocks;
    const BodyState* s = load(joints_[j], m, states);
    Slopes accelerations;
    set_accelerations(joints_[j], s, m, accelerations);
    mechanism_.joints[j].acceleration_gap(s, m.t, accelerations, z.data() + joints_[j].row);
    mechanism_.joints[j].jacobian(s, element_blocks);
    store_B(joints_[j], s, element_blocks, blocks);
    if (needs_newton_) store_F(joints_[j], blocks);
  });
  add_forces(m, lambda, out.force);
}

void Assembly::store_mass(KktBlocks& out) const {
  sweep_bodies(body_count(), [&](int b) {  // nothing else of M is ever written
    Matrix6Map M(out.M.data() + diagonal_at_[b]);
    M.diagonal().head<3>().setConstant(mechanism_.bodies[b].mass);
    M.bottomRightCorner<3, 3>() = mechanism_.bodies[b].inertia;
  });
  for (const OwnStates& own : states_)
    for (int i = 0; i < own.count; ++i) out.D[own.diagonal_at + i * (own.count + 1)] = 1.0;
}

void Assembly::store_B(const Element& element, const BodyState* s, const ElementBlocks& blocks, KktBlocks& out) const {
  for (int i = 0; i < element.slot_count; ++i) {
    const Slot& slot = element.slots[i];
    if (slot.body == ground) continue;
    if (element.rows == 3 && !is_se3_) {  // a spherical joint: sizes that the compiler knows
      Eigen::Map<Eigen::Matrix<double, 3, 6>>(out.B.data() + slot.touch_at) = blocks.B[i].topRows<3>();
      continue;
    }
    MatrixMap B(out.B.data() + slot.touch_at, element.rows, 6);
    const auto from = blocks.B[i].topRows(element.rows);
    if (is_se3_)
      B.leftCols<3>().noalias() = from.leftCols<3>().lazyProduct(s[i].R);
    else
      B.leftCols<3>() = from.leftCols<3>();
    B.rightCols<3>() = from.rightCols<3>();
  }
}

void Assembly::store_F(const Element& element, KktBlocks& out) const {
  for (int i = 0; i < element.slot_count; ++i) {
    const Slot& slot = element.slots[i];
    if (slot.body == ground) continue;
    const ConstMatrixMap B(out.B.data() + slot.touch_at, element.rows, 6);
    MatrixMap(out.F.data() + slot.touch_at, 6, element.rows) = B.transpose();
  }
}

void Assembly::store_H(const Element& element, const BodyState* s, const ElementBlocks& blocks, KktBlocks& out) const {
  for (int i = 0; i < element.slot_count; ++i) {
    const Slot& slot = element.slots[i];
    if (slot.body == ground) continue;
    MatrixMap H(out.H.data() + slot.touch_at, element.rows, 6);
    const auto from = blocks.H[i].topRows(element.rows);
    H.rightCols<3>() = from.rightCols<3>();
    if (is_se3_) {
      H.leftCols<3>().noalias() = from.leftCols<3>().lazyProduct(s[i].R);
      const Matrix3 turn = skew(s[i].u) * s[i].R;  // R Ũ = ũ R
      H.rightCols<3>().noalias() -= blocks.B[i].topRows(element.rows).leftCols<3>().lazyProduct(turn);
    } else {
      H.leftCols<3>() = from.leftCols<3>();
    }
  }
}

void Assembly::add_F(const Element& element, const BodyState* s, const ElementBlocks& blocks, KktBlocks& out) const {
  for (int i = 0; i < element.slot_count; ++i) {
    const Slot& slot = element.slots[i];
    if (slot.body == ground) continue;
    MatrixMap F(out.F.data() + slot.touch_at, 6, element.rows);
    const auto from = blocks.F[i].leftCols(element.rows);
    if (is_se3_)
      F.topRows<3>().noalias() += s[i].R.transpose().lazyProduct(from.topRows<3>());
    else
      F.topRows<3>() += from.topRows<3>();
    F.bottomRows<3>() += from.bottomRows<3>();
  }
}

void Assembly::add_couplings(const Element& element, const BodyState* s, const Slopes& wrench, const Curvature& K,
                             const Curvature* D, KktBlocks& out) const {
  const auto rows_to_body = [&](int i, Matrix6& A) {
    const Matrix3 left = s[i].R.transpose() * A.topLeftCorner<3, 3>(),
                  right = s[i].R.transpose() * A.topRightCorner<3, 3>();
    A.topLeftCorner<3, 3>() = left;
    A.topRightCorner<3, 3>() = right;
  };
  const auto columns_to_body = [&](int j, Matrix6& A) {
    const Eigen::Matrix<double, 6, 3> left = A.leftCols<3>() * s[j].R;
    A.leftCols<3>() = left;
  };
  for (int i = 0; i < element.slot_count; ++i)
    for (int j = 0; j < element.slot_count; ++j) {
      const int at = element.coupling_at[i * max_slots + j];
      if (at < 0) continue;
      Matrix6Map K_out(out.K.data() + at), D_out(out.D.data() + at);
      if (!is_se3_) {
        K_out += K(i, j);
        if (D != nullptr) D_out += (*D)(i, j);
        continue;
      }
      Matrix6 K_ij = K(i, j);
      columns_to_body(j, K_ij);
      if (D != nullptr) {
        Matrix6 D_ij = (*D)(i, j);
        K_ij.rightCols<3>() -= D_ij.leftCols<3>() * (skew(s[j].u) * s[j].R);  // u = R U moves with R
        columns_to_body(j, D_ij);
        rows_to_body(i, D_ij);
        D_out += D_ij;
      }
      rows_to_body(i, K_ij);
      if (i == j) K_ij.topRightCorner<3, 3>() += skew(s[i].R.transpose() * wrench[i].head<3>());  // f_U = Rᵀ f_u
      K_out += K_ij;
    }
}

void Assembly::linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const {
  out.D.setZero();
  out.K.setZero();
  store_mass(out);
  sweep_bodies(body_count(), [&](int b) {
    const Body& body = mechanism_.bodies[b];
    const lie::Block& block = space().blocks()[b];
    const Vector3 u = Map3(m.v.data() + block.v_at), w = Map3(m.v.data() + block.v_at + 3);
    Matrix6Map D(out.D.data() + diagonal_at_[b]), K(out.K.data() + diagonal_at_[b]);
    D.bottomRightCorner<3, 3>() = skew(w) * body.inertia - skew(body.inertia * w);
    if (is_se3_) {
      D.topLeftCorner<3, 3>() = body.mass * skew(w);
      D.topRightCorner<3, 3>() = -body.mass * skew(u);
      K.topRightCorner<3, 3>() = -body.mass * skew(lie::rotate_back(m.q.data() + block.q_at + 3, mechanism_.gravity));
    }
  });
  sweep<States>(joint_waves_, [&](int j, States& states) {
    ElementBlocks blocks;
    const Element& element = joints_[j];
    const BodyState* s = load(element, m, states);
    Slopes wrench;
    mechanism_.joints[j].linearize(s, lambda.data() + element.row, blocks);
    store_B(element, s, blocks, out);
    store_F(element, out);
    store_H(element, s, blocks, out);
    if (is_se3_) {
      set_zero(wrench, element.slot_count);
      mechanism_.joints[j].add_force(s, lambda.data() + element.row, wrench);
    }
    add_couplings(element, s, wrench, blocks.K, nullptr, out);
  });
  sweep<States>(force_waves_, [&](int f, States& states) {
    const Element& element = forces_[f];
    const Force& force = *mechanism_.forces[f];
    ElementBlocks blocks;
    const BodyState* s = load(element, m, states);
    Slopes wrench;
    set_zero(wrench, element.slot_count);
    const ForceState state = force_state(f, s, m, lambda.data() + element.row);
    force.add_wrench(state, wrench);
    blocks.K.set_zero(element.slot_count);
    blocks.D.set_zero(element.slot_count);
    for (int i = 0; i < element.slot_count; ++i) blocks.F[i].setZero();
    const OwnStates& own = states_[f];
    for (int i = 0; i < own.count; ++i)
      for (Slopes* slopes : {&blocks.G[i], &blocks.f_q[i], &blocks.f_v[i]}) set_zero(*slopes, element.slot_count);
    if (own.count > 0) blocks.f_z.setZero();
    force.add_blocks(state, blocks);
    add_couplings(element, s, wrench, blocks.K, &blocks.D, out);
    if (own.count > 0) store_states(own, element, s, blocks, out);
    if (force.joint() >= 0) add_F(element, s, blocks, out);
  });
}

void Assembly::mass_and_jacobian(const Motion& m, KktBlocks& out) const {
  store_mass(out);
  sweep<States>(joint_waves_, [&](int j, States& states) {
    ElementBlocks blocks;
    const BodyState* s = load(joints_[j], m, states);
    mechanism_.joints[j].jacobian(s, blocks);
    store_B(joints_[j], s, blocks, out);
    if (needs_newton_) store_F(joints_[j], out);
  });
}

double Assembly::energy(const Motion& m) const {
  const system::EnergyParts parts = energy_parts(m);
  return parts.kinetic + parts.potential + parts.elastic;
}

system::EnergyParts Assembly::energy_parts(const Motion& m) const {
  system::EnergyParts parts;
  for (int b = 0; b < body_count(); ++b) {
    const Body& body = mechanism_.bodies[b];
    const lie::Block& block = space().blocks()[b];
    const Map3 x(m.q.data() + block.q_at), u(m.v.data() + block.v_at), w(m.v.data() + block.v_at + 3);
    parts.kinetic += 0.5 * body.mass * u.squaredNorm() + 0.5 * w.dot(body.inertia * w);
    parts.potential -= body.mass * mechanism_.gravity.dot(x);
  }
  States states;
  for (int f = 0; f < static_cast<int>(forces_.size()); ++f)
    parts.elastic += mechanism_.forces[f]->potential(force_state(f, load(forces_[f], m, states), m, nullptr));
  return parts;
}

system::Power Assembly::power(const Motion& m, ConstVectorRef lambda) const {
  system::Power power;
  States states;
  for (int f = 0; f < static_cast<int>(forces_.size()); ++f)
    mechanism_.forces[f]->add_power(force_state(f, load(forces_[f], m, states), m, lambda.data() + forces_[f].row), power);
  // -(Bᵀλ)·v = λ·Φ_t, zero for joints that do not depend on time.
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    if (!mechanism_.joints[j].depends_on_time()) continue;
    const BodyState* s = load(joints_[j], m, states);
    Slopes wrench;
    set_zero(wrench, joints_[j].slot_count);
    mechanism_.joints[j].add_force(s, lambda.data() + joints_[j].row, wrench);
    for (int i = 0; i < joints_[j].slot_count; ++i) power.drivers -= wrench[i].dot(s[i].twist());
  }
  return power;
}

system::Corner Assembly::next_corner(double t, double until, double resolution) const {
  system::Corner first;
  for (const Joint& joint : mechanism_.joints) first = earlier(first, joint.next_corner(t, until, resolution));
  for (const ForcePtr& force : mechanism_.forces) first = earlier(first, force->next_corner(t, until, resolution));
  return first;
}

system::Pose Assembly::body_pose(int body, ConstVectorRef q) const {
  const double* at = q.data() + space().blocks()[body].q_at;
  return {Map3(at), lie::rotation_matrix(at + 3)};
}

system::Start Assembly::start(double t_end) const {
  system::Start start;
  start.t_end = t_end;
  start.q0.resize(space().nq());
  start.v0.resize(space().nv());
  for (int b = 0; b < body_count(); ++b) {
    const Body& body = mechanism_.bodies[b];
    const lie::Block& block = space().blocks()[b];
    start.q0.segment<3>(block.q_at) = body.position;
    start.q0.segment<4>(block.q_at + 3) = lie::quaternion_from(body.rotation);
    start.v0.segment<3>(block.v_at) = is_se3_ ? Vector3(body.rotation.transpose() * body.velocity) : body.velocity;
    start.v0.segment<3>(block.v_at + 3) = body.angular_velocity;
  }
  set_states(start.t0, start.q0, start.v0);
  return start;
}

void Assembly::set_states(double t, Vector& q, Vector& v) const {
  Motion m(space());
  m.t = t;
  m.q = q;
  m.v = v;
  States states;
  for (std::size_t f = 0; f < forces_.size(); ++f) {
    const OwnStates& own = states_[f];
    if (own.count == 0) continue;
    const BodyState* s = load(forces_[f], m, states);
    mechanism_.forces[f]->start_states(s, q.data() + own.q_at);
    mechanism_.forces[f]->state_rates({s, t, nullptr, q.data() + own.q_at}, v.data() + own.v_at);
  }
}

std::string Assembly::undefined_between(double t, double t_next) const {
  const auto is_finite = [](const Jet& jet) { return std::isfinite(jet.value) && std::isfinite(jet.rate); };
  // The first time at which it is not finite, to round-off, or nothing.
  const auto complaint_about = [&](const std::string& owner, const NamedSignal& named) -> std::string {
    double good = t, bad = t_next;
    const Jet at_t = named.signal->at(t), ahead = named.signal->at(t_next);
    const std::string what = fmt::format("{}: {} = {}", owner, named.name, named.signal->text());
    if (!is_finite(at_t)) return fmt::format("{} is not finite at t = {:.10g}", what, t);
    if (!is_finite(ahead)) {
      for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (good + bad);
        (is_finite(named.signal->at(middle)) ? good : bad) = middle;
      }
      return fmt::format("{} is not finite at t = {:.10g}", what, bad);
    }
    // Close to a pole or a jump the slope says nothing about the value a little later.
    const double change = std::abs(ahead.value - at_t.value), size = std::max(std::abs(at_t.value), std::abs(ahead.value));
    if (change > 0.5 * size && size > 0.0)
      return fmt::format("{} goes from {:.4g} to {:.4g} between t = {:.10g} and {:.10g}", what, at_t.value, ahead.value, t, t_next);
    return {};
  };
  for (const Joint& joint : mechanism_.joints)
    for (const NamedSignal& named : joint.signals())
      if (const std::string found = complaint_about(fmt::format("driver '{}'", joint.name()), named); !found.empty()) return found;
  for (const ForcePtr& force : mechanism_.forces)
    for (const NamedSignal& named : force->signals())
      if (const std::string found = complaint_about(fmt::format("force '{}'", force->name()), named); !found.empty()) return found;
  return {};
}

std::string Assembly::force_that_changes(const Motion& before, const Motion& after, ConstVectorRef lambda) const {
  std::string name;
  double largest = 0.0;
  for (int f = 0; f < static_cast<int>(forces_.size()); ++f) {
    Slopes wrench[2];
    for (int i = 0; i < 2; ++i) {
      const Motion& m = i == 0 ? before : after;
      States states;
      set_zero(wrench[i], forces_[f].slot_count);
      mechanism_.forces[f]->add_wrench(force_state(f, load(forces_[f], m, states), m, lambda.data() + forces_[f].row), wrench[i]);
    }
    double change = 0.0;
    for (int i = 0; i < forces_[f].slot_count; ++i) change = std::max(change, (wrench[1][i] - wrench[0][i]).lpNorm<Eigen::Infinity>());
    if (change > largest) largest = change, name = mechanism_.forces[f]->name();
  }
  return name;
}

std::vector<double> Assembly::joint_gaps(const Motion& m) const {
  std::vector<double> gaps;
  States states;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    Vector6 gap = Vector6::Zero();
    mechanism_.joints[j].gap(load(joints_[j], m, states), m.t, gap.data());
    gaps.push_back(gap.lpNorm<Eigen::Infinity>());
  }
  return gaps;
}

system::Reaction Assembly::reaction(int joint, const Motion& m, ConstVectorRef lambda) const {
  const Element& element = joints_.at(joint);
  const Frame& frame = mechanism_.joints[joint].frame();
  States states;
  const BodyState* s = load(element, m, states);
  Slopes wrench;
  set_zero(wrench, element.slot_count);
  mechanism_.joints[joint].add_force(s, lambda.data() + element.row, wrench);
  system::Reaction out;
  out.force = -wrench[1].head<3>();
  out.torque =
      -(s[1].R * wrench[1].tail<3>()) - (s[1].R * frame.p).cross(out.force);  // from the centre of mass to the joint
  const Matrix3 axes = s[1].R * frame.E;
  out.force_in_joint = axes.transpose() * out.force;
  out.torque_in_joint = axes.transpose() * out.torque;
  return out;
}

}  // namespace kreisel::multibody
