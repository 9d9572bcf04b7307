#include "multibody/frames.hpp"

#include <algorithm>

#include "lie/so3.hpp"
#include "multibody/signal.hpp"

namespace kreisel::multibody {

using Map3 = Eigen::Map<const Vector3>;
using Matrix6Map = Eigen::Map<Matrix6>;

std::vector<NamedSignal> Element::signals() const { return {}; }

const BodyState* BodyStates::load(const Slot* slots, int count, const double* q, const double* v) {
  for (int i = 0; i < count; ++i) {
    const Slot& slot = slots[i];
    if (node_[i] == slot.node) continue;
    BodyState& s = state_[i];
    const auto last = node_.begin() + remembered;
    if (const auto known = std::find(node_.begin(), last, slot.node); known != last) {
      s = state_[known - node_.begin()];
    } else if (slot.is_ground()) {
      s = BodyState();
    } else {
      s.x = Map3(q + slot.q_at);
      s.R = lie::rotation_matrix(q + slot.q_at + 3);
      s.w = Map3(v + slot.v_at + 3);
      if (slot.group == lie::GroupId::se3)
        s.u = s.R * Map3(v + slot.v_at);
      else
        s.u = Map3(v + slot.v_at);
    }
    node_[i] = slot.node;
  }
  return state_.data();
}

void Frames::set_accelerations(Slopes& out) const {
  for (int i = 0; i < count_; ++i) {
    if (at_.slots[i].is_ground()) {
      out[i].setZero();
      continue;
    }
    const double* a = at_.a_of(i);
    if (is_se3(i))  // u = R U
      out[i].head<3>() = s_[i].R * (Map3(a) + s_[i].w.cross(Map3(at_.v_of(i))));
    else
      out[i].head<3>() = Map3(a);
    out[i].tail<3>() = Map3(a + 3);
  }
}

void Frames::add_wrench(const Slopes& wrench, const Forces& out) const {
  for (int i = 0; i < count_; ++i) {
    if (at_.slots[i].is_ground()) continue;
    Eigen::Map<Vector6> force(out.of(i));
    if (is_se3(i))
      force.head<3>() += s_[i].R.transpose() * wrench[i].head<3>();
    else
      force.head<3>() += wrench[i].head<3>();
    force.tail<3>() += wrench[i].tail<3>();
  }
}

void Frames::store_B(const ElementBlocks& from, const Blocks& out) const {
  for (int i = 0; i < count_; ++i) {
    if (at_.slots[i].is_ground()) continue;
    double* const target = out.all.B.data() + at_.slots[i].touch_at;
    if (out.rows == 3 && !is_se3(i)) {  // a spherical joint: sizes known at compile time
      Eigen::Map<Eigen::Matrix<double, 3, 6>>{target} = from.B[i].topRows<3>();
      continue;
    }
    MatrixMap B(target, out.rows, 6);
    const auto rows = from.B[i].topRows(out.rows);
    if (is_se3(i))
      B.leftCols<3>().noalias() = rows.leftCols<3>().lazyProduct(s_[i].R);
    else
      B.leftCols<3>() = rows.leftCols<3>();
    B.rightCols<3>() = rows.rightCols<3>();
  }
}

void Frames::store_H(const ElementBlocks& from, const Blocks& out) const {
  for (int i = 0; i < count_; ++i) {
    if (at_.slots[i].is_ground()) continue;
    MatrixMap H = out.H(i);
    const auto rows = from.H[i].topRows(out.rows);
    H.rightCols<3>() = rows.rightCols<3>();
    if (is_se3(i)) {
      H.leftCols<3>().noalias() = rows.leftCols<3>().lazyProduct(s_[i].R);
      const Matrix3 turn = skew(s_[i].u) * s_[i].R;  // R Ũ = ũ R
      H.rightCols<3>().noalias() -= from.B[i].topRows(out.rows).leftCols<3>().lazyProduct(turn);
    } else {
      H.leftCols<3>() = rows.leftCols<3>();
    }
  }
}

void Frames::add_F(const ElementBlocks& from, const Blocks& out) const {
  for (int i = 0; i < count_; ++i) {
    if (at_.slots[i].is_ground()) continue;
    MatrixMap F = out.F(i);
    const auto columns = from.F[i].leftCols(out.rows);
    if (is_se3(i))
      F.topRows<3>().noalias() += s_[i].R.transpose().lazyProduct(columns.topRows<3>());
    else
      F.topRows<3>() += columns.topRows<3>();
    F.bottomRows<3>() += columns.bottomRows<3>();
  }
}

bool Frames::needs_wrench() const {
  for (int i = 0; i < count_; ++i)
    if (is_se3(i)) return true;
  return false;
}

void Frames::add_couplings(const Slopes& wrench, const Curvature& K, const Curvature* D, const Blocks& out) const {
  const auto rows_to_body = [&](int i, Matrix6& A) {
    const Matrix3 left = s_[i].R.transpose() * A.topLeftCorner<3, 3>(),
                  right = s_[i].R.transpose() * A.topRightCorner<3, 3>();
    A.topLeftCorner<3, 3>() = left;
    A.topRightCorner<3, 3>() = right;
  };
  const auto columns_to_body = [&](int j, Matrix6& A) {
    const Eigen::Matrix<double, 6, 3> left = A.leftCols<3>() * s_[j].R;
    A.leftCols<3>() = left;
  };
  for (int i = 0; i < count_; ++i)
    for (int j = 0; j < count_; ++j) {
      if (!out.couples(i, j)) continue;
      Matrix6Map K_out(out.coupling(out.all.K, i, j)), D_out(out.coupling(out.all.D, i, j));
      if (!is_se3(i) && !is_se3(j)) {
        K_out += K(i, j);
        if (D != nullptr) D_out += (*D)(i, j);
        continue;
      }
      Matrix6 K_ij = K(i, j);
      if (is_se3(j)) columns_to_body(j, K_ij);
      if (D != nullptr) {
        Matrix6 D_ij = (*D)(i, j);
        if (is_se3(j)) {
          K_ij.rightCols<3>() -= D_ij.leftCols<3>() * (skew(s_[j].u) * s_[j].R);  // u = R U moves with R
          columns_to_body(j, D_ij);
        }
        if (is_se3(i)) rows_to_body(i, D_ij);
        D_out += D_ij;
      }
      if (is_se3(i)) {
        rows_to_body(i, K_ij);
        if (i == j) K_ij.topRightCorner<3, 3>() += skew(s_[i].R.transpose() * wrench[i].head<3>());  // f_U = Rᵀ f_u
      }
      K_out += K_ij;
    }
}

void Frames::store_states(int states, const ElementBlocks& from, const Blocks& out) const {
  const int own = count_;
  for (int i = 0; i < states; ++i)
    for (int j = 0; j < states; ++j) out.K(own, own)(i, j) = -from.f_z(i, j);
  for (int slot = 0; slot < count_; ++slot) {
    if (at_.slots[slot].is_ground()) continue;
    MatrixMap D = out.D(own, slot), K = out.K(own, slot), G = out.K(slot, own);
    for (int i = 0; i < states; ++i) {
      Vector6 by_q = from.f_q[i][slot], by_v = from.f_v[i][slot], g = from.G[i][slot];
      if (is_se3(slot)) {
        const Matrix3& R = s_[slot].R;
        const Vector3 by_u = by_v.head<3>();
        by_q.tail<3>() -= (skew(s_[slot].u) * R).transpose() * by_u;  // u = R U moves with R
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

}  // namespace kreisel::multibody
