#include "io/trajectory/trajectory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/archive.hpp"
#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "lie/so3.hpp"

namespace kreisel::io {
namespace {

using lie::Block;
using lie::GroupId;

bool turns_in_space(const Block& block) { return lie::rotations_of(block) == 3; }

/// Numbers of the embedding of Space::embed: nine of a rotation in space, others as in q.
int embedding_size(const Block& block) { return turns_in_space(block) ? lie::translations_of(block) + 9 : block.nq; }

std::string velocity_meanings(const lie::Space& space) {
  std::set<GroupId> groups;
  for (const Block& block : space.blocks()) groups.insert(block.group);
  std::string text = "left-trivialised velocity; ";
  for (const GroupId group : groups)
    text += fmt::format("{}{}: {}", group == *groups.begin() ? "" : "; ", lie::name_of(group),
                        lie::info_of(group).velocity_meaning);
  return text;
}

using Columns = std::vector<TrajectoryColumn>;

std::string prefixed(const std::string& label, const std::string& name) {
  return label.empty() ? name : label + "." + name;
}

TrajectoryColumn of_element(const std::string& element, const std::string& component, std::string unit) {
  return {prefixed(element, component), {}, element, component, std::move(unit)};
}

void add_rotation_columns(const std::string& label, Columns& columns) {
  for (int i = 1; i <= 3; ++i)
    for (int j = 1; j <= 3; ++j) columns.push_back(of_element(label, fmt::format("R{}{}", i, j), "1"));
}

/// Of the time derivative.
std::string rate_unit(const std::string& unit) {
  return unit.empty() ? "1/s" : unit.ends_with("/s") ? unit + "^2" : unit + "/s";
}

/// Of the system as a whole, all in one unit.
Columns plain(std::initializer_list<const char*> names, const char* unit) {
  Columns columns;
  for (const char* name : names) columns.push_back({name, {}, {}, name, unit});
  return columns;
}

/// The name of entry i (from 1) of the velocity of a block.
std::string velocity_component(const Block& block, char letter, int i) {
  const int n = lie::translations_of(block);
  const char velocity = lie::info_of(block.group).velocity;
  return i > n ? fmt::format("W{}", i - n) : fmt::format("{}{}", velocity != 0 ? velocity : letter, i);
}

}  // namespace

TrajectoryLayout::TrajectoryLayout(const system::System& system, bool has_eta, const std::vector<std::string>& chosen)
    : system_(system), has_eta_(has_eta), embedded_(system.space().embedding_size()) {
  const std::vector<Block>& blocks = system.space().blocks();
  const system::Pattern& pattern = system.pattern();
  std::vector<bool> is_free(blocks.size(), true);
  for (std::size_t b = 0, at = 0; b < blocks.size(); at += embedding_size(blocks[b]), ++b) {
    embedding_at_.push_back(static_cast<int>(at));
    labels_.push_back(blocks.size() > 1 ? pattern.block_name(static_cast<int>(b)) : "");
  }
  for (int body = 0; body < system.body_count(); ++body) {
    is_free[system.body_block(body)] = false;
    labels_[system.body_block(body)] = system.body_name(body);
  }
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (is_free[b]) free_blocks_.push_back(static_cast<int>(b));

  add("t", "s", "time", plain({"t"}, "s"));
  std::string coordinates = "coordinates";
  if (system.body_count() > 0) {
    coordinates =
        "per body x, y, z: centre of mass in the inertial frame; R11 to R33: rotation matrix, body to inertial, row by "
        "row";
    if (!free_blocks_.empty())
      coordinates += "; q1, ...: other coordinates, such as the angle of a torsional spring including full turns [rad]";
  }
  add("q", system.body_count() > 0 ? "m and 1" : "SI", std::move(coordinates), pose_columns());
  add("v", "m/s and rad/s", velocity_meanings(system.space()), velocity_columns('v'));
  add("a", "m/s^2 and rad/s^2", "time derivative of v", velocity_columns('a'));
  add("lambda", "N or N m", "constraint forces: M v' + g + B^T lambda = 0, one for each row of B",
      row_columns("lambda", pattern.rows(), "N or N m"));
  if (has_eta)
    add("eta", "SI", "multipliers of the stabilised kinematic relation, vanish up to discretisation errors",
        row_columns("eta", pattern.position_rows(), ""));
  add("Phi", "m or rad", "constraint residuals on position level",
      row_columns("Phi", pattern.position_rows(), "m or rad"));
  add("Bv", "m/s or rad/s", "constraint residuals on velocity level, B v + Phi_t",
      row_columns("Bv", pattern.rows(), "m/s or rad/s"));
  add_reactions();
  add_energy();
  add("h", "s", "size of the step that ended here", plain({"h"}, "s"));
  add("order", "1", "order of the step that ended here; 0 for points computed by another method", plain({"order"}, "1"),
      true);
  for (const system::OutputInfo& info : system.outputs()) {
    Columns columns;
    for (int i = 0; i < info.size(); ++i)
      columns.push_back({info.column(i), "output", info.name,
                         info.components.empty() ? "" : info.components[static_cast<std::size_t>(i)], info.unit});
    add(info.name, info.unit.empty() ? "1" : info.unit, info.meaning, std::move(columns));
  }
  has_rates_ = std::ranges::any_of(chosen, [](const std::string& name) { return name.ends_with('\''); });
  for (const system::OutputInfo& info : system.outputs()) {
    if (!has_rates_) break;
    const std::string unit = rate_unit(info.unit);
    Columns columns;
    for (int i = 0; i < info.size(); ++i)
      columns.push_back({info.column(i) + "'", "output", info.name + "'",
                         info.components.empty() ? "" : info.components[static_cast<std::size_t>(i)], unit});
    add(info.name + "'", unit, "rate of " + info.name, std::move(columns));
  }
  if (!chosen.empty()) choose(chosen);
}

void TrajectoryLayout::choose(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  std::vector<bool> is_found(names.size(), false);
  std::vector<Quantity> kept;
  for (const Quantity& quantity : quantities_) {
    Quantity part = quantity;
    part.columns.clear();
    part.at = static_cast<int>(picks_.size());
    const bool stays = quantity.name == "t" || quantity.name == "h" || quantity.name == "order";
    known.push_back(quantity.name);
    for (int i = 0; i < quantity.size(); ++i) {
      const TrajectoryColumn& of = quantity.columns[static_cast<std::size_t>(i)];
      const std::string& column = of.name;
      // "foot.x" belongs to "foot", "foot.x'" to "foot'".
      const std::size_t dot = column.rfind('.');
      const bool is_rate = column.ends_with('\'') && dot != std::string::npos;
      const std::string owner = column.substr(0, std::max<std::size_t>(dot, 0)) + (is_rate ? "'" : "");
      if (owner != column && std::find(known.begin(), known.end(), owner) == known.end()) known.push_back(owner);
      bool is_wanted = stays;
      for (std::size_t n = 0; n < names.size(); ++n)
        if (names[n] == quantity.name || names[n] == column || names[n] == owner) is_wanted = is_found[n] = true;
      if (!is_wanted) continue;
      part.columns.push_back(of);
      picks_.push_back(quantity.at + i);
    }
    if (!part.columns.empty()) kept.push_back(std::move(part));
  }
  for (std::size_t n = 0; n < names.size(); ++n)
    if (!is_found[n]) throw InvalidInput(unknown_name("column", names[n], known));
  quantities_ = std::move(kept);
  everything_.resize(columns_);
}

void TrajectoryLayout::add(std::string name, std::string unit, std::string meaning, Columns columns, bool is_count) {
  if (columns.empty()) return;
  for (TrajectoryColumn& column : columns)
    if (column.quantity.empty()) column.quantity = name;
  quantities_.push_back({std::move(name), std::move(unit), std::move(meaning), std::move(columns), columns_, is_count});
  columns_ += quantities_.back().size();
}

void TrajectoryLayout::add_reactions() {
  Columns world, local;
  for (int joint = 0; joint < system_.joint_count(); ++joint)
    for (const char* name : {"Fx", "Fy", "Fz", "Tx", "Ty", "Tz"}) {
      world.push_back(of_element(system_.joint_name(joint), name, *name == 'F' ? "N" : "N m"));
      local.push_back(world.back());
      local.back().name += "_joint";
    }
  add("reaction", "N and N m", "per joint force and torque on its second body, at the joint, in the inertial frame",
      world);
  add("reaction_joint", "N and N m", "the same in the axes of the joint frame on that body", local);
}

void TrajectoryLayout::add_energy() {
  add("energy", "J", "kinetic plus potential energy; nan where the model defines none", plain({"energy"}, "J"));
  if (!system_.has_energy_parts()) return;
  add("energy_parts", "J", "kinetic energy, energy in the field of gravity, energy in springs",
      plain({"kinetic", "potential", "elastic"}, "J"));
  add("work", "J", "since the start: work of forces and actuators, work of drivers, loss in dampers and friction",
      plain({"work_forces", "work_drivers", "dissipated"}, "J"));
  add("balance", "J", "energy minus initial energy minus work plus loss: zero up to errors of the integration",
      plain({"balance"}, "J"));
}

Columns TrajectoryLayout::pose_columns() const {
  Columns columns;
  const auto add_pose = [&](const std::string& label, bool has_position) {
    if (has_position)
      for (const char* name : {"x", "y", "z"}) columns.push_back(of_element(label, name, "m"));
    add_rotation_columns(label, columns);
  };
  for (int body = 0; body < system_.body_count(); ++body) add_pose(system_.body_name(body), true);
  for (const int b : free_blocks_) {
    const Block& block = system_.space().blocks()[b];
    if (turns_in_space(block))
      add_pose(labels_[b], lie::translations_of(block) > 0);
    else
      for (int i = 1; i <= block.nq; ++i) columns.push_back(of_element(labels_[b], fmt::format("q{}", i), ""));
  }
  return columns;
}

Columns TrajectoryLayout::velocity_columns(char letter) const {
  Columns columns;
  const bool is_velocity = letter == 'v';
  for (std::size_t b = 0; b < labels_.size(); ++b) {
    const Block& block = system_.space().blocks()[b];
    for (int i = 1; i <= block.nv; ++i) {
      TrajectoryColumn column = of_element(labels_[b], fmt::format("{}{}", letter, i), "");
      column.component = velocity_component(block, letter, i);
      if (column.component.front() == 'W')
        column.unit = is_velocity ? "rad/s" : "rad/s^2";
      else if (block.group != GroupId::rn)
        column.unit = is_velocity ? "m/s" : "m/s^2";
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

/// Rows of constraints belong to their joint, driver or group of rows.
Columns TrajectoryLayout::row_columns(const std::string& name, int rows, const std::string& unit) const {
  Columns columns;
  for (int row = 0; row < rows; ++row) columns.push_back({fmt::format("{}{}", name, row + 1), {}, {}, {}, unit});
  for (const system::RowGroup& group : system_.pattern().groups())
    for (int row = group.at; row < std::min(rows, group.at + group.rows); ++row) columns[row].element = group.name;
  for (TrajectoryColumn& column : columns) column.component = column.name;
  return columns;
}

void TrajectoryLayout::fill(const method::Entry& entry, const system::Residual& residual, const run::Energy& energy,
                            const run::Work& work, const system::System& in_force, VectorRef row) {
  if (picks_.empty()) return fill_all(entry, residual, energy, work, in_force, row);
  fill_all(entry, residual, energy, work, in_force, everything_);
  for (std::size_t i = 0; i < picks_.size(); ++i) row[static_cast<Eigen::Index>(i)] = everything_[picks_[i]];
}

void TrajectoryLayout::fill_all(const method::Entry& entry, const system::Residual& residual, const run::Energy& energy,
                                const run::Work& work, const system::System& in_force, VectorRef row) {
  Eigen::Index at = 0;
  const auto put = [&](const auto& values) {
    row.segment(at, values.size()) = values;
    at += values.size();
  };
  row[at++] = entry.motion.t;
  for (int body = 0; body < system_.body_count(); ++body) {
    const system::Pose pose = system_.body_pose(body, entry.motion.q);
    put(pose.x);
    put(pose.R.transpose().reshaped());  // column by column of the transpose is row by row
  }
  if (!free_blocks_.empty()) system_.space().embed(entry.motion.q, embedded_);
  for (const int b : free_blocks_)
    put(embedded_.segment(embedding_at_[b], embedding_size(system_.space().blocks()[b])));
  put(entry.motion.v);
  put(entry.motion.a);
  put(entry.lambda);
  if (has_eta_) put(entry.eta);
  put(residual.gap);
  put(residual.rate);
  if (system_.joint_count() > 0) {
    Eigen::Index local = at + 6 * system_.joint_count();
    for (int joint = 0; joint < system_.joint_count(); ++joint, local += 6) {
      const system::Reaction reaction = system_.reaction(joint, entry.motion, entry.lambda);
      put(reaction.force);
      put(reaction.torque);
      row.segment<3>(local) = reaction.force_in_joint;
      row.segment<3>(local + 3) = reaction.torque_in_joint;
    }
    at = local;
  }
  row[at++] = energy.total;
  if (system_.has_energy_parts()) {
    if (!first_energy_) first_energy_ = energy.total;
    const system::EnergyParts& parts = energy.parts;
    for (const double value : {parts.kinetic, parts.potential, parts.elastic, work.forces, work.drivers,
                               work.dissipated, energy.total - *first_energy_ - work.total()})
      row[at++] = value;
  }
  row[at++] = entry.h;
  row[at++] = entry.order;
  if (const int count = system_.output_size(); count > 0) {
    outputs_.evaluate(in_force, entry.motion, entry.lambda, row.segment(at, count));
    if (!row.segment(at, count).allFinite()) note_undefined(entry.motion.t, row.segment(at, count));
  }
  if (const int count = system_.output_size(); count > 0 && has_rates_)
    outputs_.evaluate(in_force, entry.motion, entry.lambda, row.segment(at + count, count), true);
}

void TrajectoryLayout::note_undefined(double t, ConstVectorRef outputs) {
  Eigen::Index i = 0;
  for (const system::OutputInfo& info : system_.outputs())
    for (int c = 0; c < info.size(); ++c, ++i)
      if (!std::isfinite(outputs[i])) undefined_.insert({info.column(c), t});
}

void TrajectoryLayout::read_position(ConstVectorRef values, Vector& q) const {
  Eigen::Index at = 0;
  const auto read_rotation = [&](double* to) {
    const Matrix3 R = Eigen::Map<const Matrix3>(values.data() + at).transpose();
    Eigen::Map<Eigen::Vector4d>{to} = lie::quaternion_from(R);
    at += 9;
  };
  const auto read_block = [&](const Block& block, bool is_body) {
    double* to = q.data() + block.q_at;
    const int n = turns_in_space(block) ? lie::translations_of(block) : block.nq;
    if (n == 0 && is_body) at += 3;  // its centre of mass follows from the rotation
    std::copy_n(values.data() + at, n, to);
    at += n;
    if (turns_in_space(block)) read_rotation(to + n);
  };
  for (int body = 0; body < system_.body_count(); ++body)
    read_block(system_.space().blocks()[system_.body_block(body)], true);
  for (const int b : free_blocks_) read_block(system_.space().blocks()[b], false);
}

std::vector<std::string> TrajectoryLayout::explanation() const {
  std::vector<std::string> lines;
  for (const Quantity& quantity : quantities_)
    lines.push_back(fmt::format(
        "{} [{}]: {}",
        quantity.size() == 1 ? quantity.columns.front().name
                             : fmt::format("{} to {}", quantity.columns.front().name, quantity.columns.back().name),
        quantity.unit, quantity.meaning));
  std::string rows;
  for (const system::RowGroup& group : system_.pattern().groups())
    rows += fmt::format("{}{} to {}: {}", rows.empty() ? "" : "; ", group.at + 1, group.at + group.rows, group.name);
  if (!rows.empty()) lines.push_back("rows of B and lambda: " + rows);
  return lines;
}

TrajectoryWriter::TrajectoryWriter(const system::System& system, bool has_eta, TrajectoryOptions options)
    : system_(system.result_layout()),
      options_(std::move(options)),
      layout_(system_, has_eta, options_.columns),
      row_(layout_.columns()) {
  info_.columns = layout_.columns();
  if (options_.format == TrajectoryFormat::hdf5) require_hdf5();  // before the run
}

TrajectoryWriter::~TrajectoryWriter() {
  if (file_ == nullptr) return;
  try {
    file_->commit();
  } catch (const std::exception&) {  // the .part file stays
  }
}

bool TrajectoryWriter::accept(const run::Point& point) {
  if (wanted_++ % info_.every_nth == 0) write(point);
  return true;
}

void TrajectoryWriter::write(const run::Point& point) {
  if (file_ == nullptr) {
    is_hdf5_ = options_.format == TrajectoryFormat::hdf5;
    file_ = is_hdf5_ ? make_hdf5() : make_csv_file(options_.folder / "trajectory.csv", layout_, options_.about);
  }
  const system::System& in_force = point.system != nullptr ? *point.system : system_;
  const system::Motion& motion = point.entry.motion;
  layout_.fill(point.entry, point.residual, point.energy != nullptr ? *point.energy : run::energy_of(in_force, motion),
               point.work, in_force, row_);
  last_t_ = point.entry.motion.t;
  file_->append(row_);
  ++info_.rows;
  if (options_.format != TrajectoryFormat::automatic) return;

  if (stays_csv_) return;
  if (!is_hdf5_) kept_.insert(kept_.end(), row_.data(), row_.data() + row_.size());
  const std::int64_t values = info_.rows * info_.columns;
  if (!is_hdf5_ && values > options_.value_limit) {
    stays_csv_ = !has_hdf5();
    if (stays_csv_) {
      kept_ = {};
      return;
    }
    move_to_hdf5();
  }
  if (thins() && values > options_.value_limit && info_.rows > options_.least_rows) {
    file_->thin();
    info_.rows = (info_.rows + 1) / 2;
    info_.every_nth *= 2;
  }
}

std::unique_ptr<TrajectoryFile> TrajectoryWriter::make_hdf5() const {
  const Path path = options_.folder / "trajectory.h5";
  return options_.has_checkpoints ? make_journal_file(path, layout_, options_.about)
                                  : make_hdf5_file(path, layout_, options_.about);
}

void TrajectoryLayout::exchange(Archive& a) {
  bool has_energy = first_energy_.has_value();
  double energy = first_energy_.value_or(0.0);
  a.all(has_energy, energy);
  if (a.is_loading() && has_energy) first_energy_ = energy;
}

void TrajectoryWriter::exchange(Archive& a) {
  bool has_file = file_ != nullptr;
  a.all(has_file, is_hdf5_, info_.rows, info_.every_nth, wanted_, last_t_);
  layout_.exchange(a);
  if (!has_file) return;
  if (!a.is_loading()) return file_->keep(a);
  if (is_hdf5_) {
    file_ = continue_journal_file(options_.folder / "trajectory.h5", layout_, options_.about, a);
    return;
  }
  const Path path = options_.folder / "trajectory.csv";
  file_ = continue_csv_file(path, a);
  if (options_.format != TrajectoryFormat::automatic) return;
  const Matrix rows = read_trajectory(part_of(path)).values.transpose();  // the same numbers, bit by bit
  kept_.assign(rows.data(), rows.data() + rows.size());
}

void TrajectoryWriter::move_to_hdf5() {
  auto hdf5 = make_hdf5();
  for (std::int64_t i = 0; i < info_.rows; ++i)
    hdf5->append(Eigen::Map<const Vector>(kept_.data() + i * info_.columns, info_.columns));
  file_->discard();
  file_ = std::move(hdf5);
  is_hdf5_ = true;
  kept_ = {};
}

TrajectoryInfo TrajectoryWriter::finish(const run::Report& report) {
  if (file_ == nullptr) return info_;
  const method::Entry& last = report.final;
  if (last.motion.q.size() == system_.space().nq() && last.motion.t != last_t_) {
    layout_.fill(last, report.final_residual, {report.energy_final, system_.energy_parts(last.motion)}, report.work,
                 report.systems.empty() ? system_ : *report.systems.back(), row_);
    file_->append(row_);
    ++info_.rows;
  }
  info_.file = file_->path().filename().string();
  info_.undefined = layout_.undefined();
  file_->commit();
  file_.reset();
  return info_;
}

}  // namespace kreisel::io
