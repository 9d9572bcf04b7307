// Constraint rows of the active system, in the numbering of results.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "kreisel/system.hpp"
#include "method/history.hpp"

namespace kreisel::run {

/// Groups are matched by name, level and size; rows that only one side has are left out.
class RowMap {
 public:
  RowMap(const system::Pattern& from, const system::Pattern& to) : target_(from.rows(), -1) {
    for (const system::RowGroup& group : from.groups())
      for (const system::RowGroup& match : to.groups())
        if (match.name == group.name && match.level == group.level && match.rows == group.rows)
          for (int i = 0; i < group.rows; ++i) target_[group.at + i] = match.at + i;
    is_identity_ = from.rows() == to.rows();
    for (int i = 0; i < from.rows(); ++i) is_identity_ = is_identity_ && target_[i] == i;
    loses_rows_ = std::count(target_.begin(), target_.end(), -1) > 0;
  }

  bool is_identity() const { return is_identity_; }
  bool loses_rows() const { return loses_rows_; }
  /// All rows or the position rows, which come first on both sides.
  void spread(ConstVectorRef rows, VectorRef out) const {
    out.setZero();
    for (Eigen::Index i = 0; i < rows.size(); ++i)
      if (target_[i] >= 0) out[target_[i]] = rows[i];
  }
  /// The other way.
  void gather(ConstVectorRef rows, VectorRef out) const {
    for (Eigen::Index i = 0; i < out.size(); ++i) out[i] = target_[i] >= 0 ? rows[target_[i]] : 0.0;
  }

 private:
  std::vector<int> target_;
  bool is_identity_ = true, loses_rows_ = false;
};

/// Points and residuals of the active system with the rows of results.
class ResultRows {
 public:
  ResultRows(const system::System& system, const system::System& layout)
      : map_(system.pattern(), layout.pattern()),
        entry_(method::History::blank(system.space(), {layout.pattern().rows(), layout.pattern().position_rows(), 0})),
        residual_(system.space().nv(), layout.pattern().position_rows(), layout.pattern().rows()) {}

  const RowMap& map() const { return map_; }
  /// Valid until the next call.
  const method::Entry& of(const method::Entry& entry) {
    if (map_.is_identity()) return entry;
    entry_.motion = entry.motion;
    map_.spread(entry.lambda, entry_.lambda);
    map_.spread(entry.eta, entry_.eta);
    entry_.omega = entry.omega;
    entry_.h = entry.h;
    entry_.order = entry.order;
    return entry_;
  }
  const system::Residual& of(const system::Residual& rows) {
    if (map_.is_identity()) return rows;
    residual_.force = rows.force;
    map_.spread(rows.gap, residual_.gap);
    map_.spread(rows.rate, residual_.rate);
    return residual_;
  }

 private:
  RowMap map_;
  method::Entry entry_;
  system::Residual residual_;
};

inline system::Residual residual_of(const system::System& system) {
  return {system.space().nv(), system.pattern().position_rows(), system.pattern().rows()};
}

/// Outputs of points in the rows of results, evaluated by the system in force: a force that is switched off is zero, whatever the
/// model started with.
class OutputsInForce {
 public:
  explicit OutputsInForce(const system::System& layout) : layout_(layout) {}

  void evaluate(const system::System& in_force, const system::Motion& m, ConstVectorRef lambda, VectorRef out,
                bool are_rates = false) {
    if (seen_ != &in_force) {
      seen_ = &in_force;
      map_ = std::make_unique<const RowMap>(in_force.pattern(), layout_.pattern());
      lambda_.resize(in_force.pattern().rows());
    }
    map_->gather(lambda, lambda_);
    if (are_rates)
      in_force.evaluate_output_rates(m, lambda_, out);
    else
      in_force.evaluate_outputs(m, lambda_, out);
  }

 private:
  const system::System& layout_;
  const system::System* seen_ = nullptr;
  std::unique_ptr<const RowMap> map_;
  Vector lambda_;
};

}  // namespace kreisel::run
