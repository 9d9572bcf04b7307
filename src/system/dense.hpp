// The blocks of a linearised system as dense matrices, and back.
#pragma once

#include "base/matrix_products.hpp"
#include "kreisel/system.hpp"

namespace kreisel::system {

/// The nv x nv matrix of M, D or K, zero where the pattern has no entry.
Matrix dense_coupling(const System& system, ConstVectorRef values);
/// The rows x nv matrix of B or H.
Matrix dense_rows(const System& system, ConstVectorRef values);
/// The nv x rows matrix of F.
Matrix dense_forces(const System& system, ConstVectorRef values);

/// The inverses.
void store_coupling(const System& system, const Matrix& A, Vector& values);
void store_rows(const System& system, const Matrix& A, Vector& values);
void store_forces(const System& system, const Matrix& A, Vector& values);

}  // namespace kreisel::system
