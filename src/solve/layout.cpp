#include "solve/layout.hpp"
#include "lie/group_info.hpp"

namespace kreisel::solve {

using system::Pattern;
using system::RowGroup;
using system::RowLevel;

Layout::Layout(const system::System& system, const FormulationInfo& formulation) {
  const Pattern& model = system.pattern();
  const auto& blocks = system.space().blocks();
  const int x_count = static_cast<int>(blocks.size());
  const int group_count = static_cast<int>(model.groups().size());
  std::vector<int> sizes;
  for (const lie::Block& block : blocks) sizes.push_back(block.nv);
  for (const RowGroup& group : model.groups()) sizes.push_back(group.rows);
  const auto lambda_block = [&](int group) { return x_count + group; };
  // Position groups come first, so that the η of a group has the number of the group, after all λ.
  const auto eta_block = [&](int group) { return x_count + group_count + group; };
  const auto has_eta = [&](int group) {
    return formulation.has_eta && model.groups()[group].level == RowLevel::position;
  };
  for (int g = 0; g < group_count; ++g)
    if (has_eta(g)) sizes.push_back(model.groups()[g].rows);

  std::vector<std::pair<int, int>> entries;
  std::vector<std::pair<std::pair<int, int>, std::pair<int, int>>> columns, diagonals;  // (block pair), (left, right)
  for (const Pattern::Coupling& c : model.couplings()) entries.push_back({c.row, c.column});
  for (const Pattern::Touch& t : model.touches()) {
    entries.push_back({t.block, lambda_block(t.group)});
    entries.push_back({lambda_block(t.group), t.block});
  }
  if (formulation.has_eta) {
    std::vector<std::vector<int>> touches_of(x_count), couplings_into(x_count);
    for (int i = 0; i < static_cast<int>(model.touches().size()); ++i)
      if (has_eta(model.touches()[i].group)) touches_of[model.touches()[i].block].push_back(i);
    for (int i = 0; i < static_cast<int>(model.couplings().size()); ++i)
      couplings_into[model.couplings()[i].column].push_back(i);
    for (int b = 0; b < x_count; ++b)
      for (int t : touches_of[b]) {
        const int group = model.touches()[t].group;
        entries.push_back({eta_block(group), b});
        for (int c : couplings_into[b]) columns.push_back({{model.couplings()[c].row, eta_block(group)}, {c, t}});
        for (int s : touches_of[b])
          diagonals.push_back({{eta_block(group), eta_block(model.touches()[s].group)}, {t, s}});
      }
    for (const auto& [pair, source] : columns) entries.push_back(pair);
    for (const auto& [pair, source] : diagonals) entries.push_back(pair);
  }
  pattern = linear::BlockPattern(sizes, entries);

  for (const Pattern::Coupling& c : model.couplings()) coupling_entry.push_back(pattern.find(c.row, c.column));
  for (const Pattern::Touch& t : model.touches()) {
    force_entry.push_back(pattern.find(t.block, lambda_block(t.group)));
    lambda_entry.push_back(pattern.find(lambda_block(t.group), t.block));
    rate_entry.push_back(has_eta(t.group) ? pattern.find(eta_block(t.group), t.block) : -1);
  }
  for (const auto& [pair, source] : columns)
    eta_column.push_back({source.first, source.second, pattern.find(pair.first, pair.second)});
  for (const auto& [pair, source] : diagonals)
    eta_diagonal.push_back({source.first, source.second, pattern.find(pair.first, pair.second)});
}

Vector stabilization_metric(const lie::Space& space, double length) {
  Vector W = Vector::Ones(space.nv());
  for (const lie::Block& block : space.blocks())
    W.segment(block.v_at + lie::translations_of(block), lie::rotations_of(block)).setConstant(1.0 / (length * length));
  return W;
}

void weigh_columns(const system::System& system, const Vector& B, const Vector& W, Vector& out) {
  for (const system::Pattern::Touch& touch : system.pattern().touches()) {
    const lie::Block& block = system.space().blocks()[touch.block];
    const int rows = system.pattern().groups()[touch.group].rows;
    for (int j = 0, i = touch.at; j < block.nv; ++j)
      for (int row = 0; row < rows; ++row, ++i) out[i] = B[i] * W[block.v_at + j];
  }
}

}  // namespace kreisel::solve
