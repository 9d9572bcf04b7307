#include "system/dense.hpp"

namespace kreisel::system {

Matrix dense_coupling(const System& system, ConstVectorRef values) {
  Matrix A = Matrix::Zero(system.space().nv(), system.space().nv());
  const auto& blocks = system.space().blocks();
  for (const Pattern::Coupling& c : system.pattern().couplings()) {
    const lie::Block &row = blocks[c.row], &column = blocks[c.column];
    A.block(row.v_at, column.v_at, row.nv, column.nv) = ConstMatrixMap(values.data() + c.at, row.nv, column.nv);
  }
  return A;
}

Matrix dense_rows(const System& system, ConstVectorRef values) {
  Matrix A = Matrix::Zero(system.pattern().rows(), system.space().nv());
  for (const Pattern::Touch& t : system.pattern().touches()) {
    const RowGroup& group = system.pattern().groups()[t.group];
    const lie::Block& block = system.space().blocks()[t.block];
    A.block(group.at, block.v_at, group.rows, block.nv) = ConstMatrixMap(values.data() + t.at, group.rows, block.nv);
  }
  return A;
}

Matrix dense_forces(const System& system, ConstVectorRef values) {
  Matrix A = Matrix::Zero(system.space().nv(), system.pattern().rows());
  for (const Pattern::Touch& t : system.pattern().touches()) {
    const RowGroup& group = system.pattern().groups()[t.group];
    const lie::Block& block = system.space().blocks()[t.block];
    A.block(block.v_at, group.at, block.nv, group.rows) = ConstMatrixMap(values.data() + t.at, block.nv, group.rows);
  }
  return A;
}

void store_coupling(const System& system, const Matrix& A, Vector& values) {
  const auto& blocks = system.space().blocks();
  for (const Pattern::Coupling& c : system.pattern().couplings()) {
    const lie::Block &row = blocks[c.row], &column = blocks[c.column];
    MatrixMap(values.data() + c.at, row.nv, column.nv) = A.block(row.v_at, column.v_at, row.nv, column.nv);
  }
}

void store_rows(const System& system, const Matrix& A, Vector& values) {
  for (const Pattern::Touch& t : system.pattern().touches()) {
    const RowGroup& group = system.pattern().groups()[t.group];
    const lie::Block& block = system.space().blocks()[t.block];
    MatrixMap(values.data() + t.at, group.rows, block.nv) = A.block(group.at, block.v_at, group.rows, block.nv);
  }
}

void store_forces(const System& system, const Matrix& A, Vector& values) {
  for (const Pattern::Touch& t : system.pattern().touches()) {
    const RowGroup& group = system.pattern().groups()[t.group];
    const lie::Block& block = system.space().blocks()[t.block];
    MatrixMap(values.data() + t.at, block.nv, group.rows) = A.block(block.v_at, group.at, block.nv, group.rows);
  }
}

}  // namespace kreisel::system
