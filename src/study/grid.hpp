// The grid of a study: every combination of the values it lists, and the points it draws.
#pragma once

#include <mutex>

#include "spec_reader.hpp"
#include "study/sampling.hpp"
#include "study/spec.hpp"

namespace kreisel::study {

/// Keys that vary together: one key with a list of values, the columns of a table, the coordinates of a sample.
struct Dimension {
  struct Column {
    std::string key;
    bool is_parameter = false;  ///< is under "set"
    std::vector<Json> values;   ///< empty: drawn
    Draw draw;
  };
  std::vector<Column> columns;
  std::optional<PointSet> sample;
  bool is_table = false;

  std::size_t size() const { return sample ? sample->size() : columns.front().values.size(); }
  Json value(std::size_t column, std::size_t point) const;
};

/// The cases of a study, made on demand: a million of them need no memory.
class Grid {
 public:
  Grid(const SpecObject& root, const Spec& spec, const OwnModels& own_models);

  std::size_t size() const { return size_; }
  /// Coordinates, label, settings and sources, without the run.
  Case outline(std::size_t i) const;
  Case at(std::size_t i) const;
  /// Keys of the cases, in the order of the file.
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const;
  /// The abscissa that the keys suggest.
  const std::string& abscissa() const { return x_; }
  /// Keys that are drawn from distributions.
  std::vector<std::string> drawn() const;
  /// Keys with numbers of which there are several.
  std::vector<std::string> varied_numbers() const;
  /// Whether two parameters have three values or more each: the measures are surfaces over them.
  bool has_surface() const;
  /// Of the first object; nullptr: nothing is drawn.
  const PointSet* sample() const;
  /// True when points are drawn or come from a table: cases make no curves then.
  bool is_ensemble() const;
  /// Makes some runs: all when there are few, else every value of every key once. Throws InvalidInput for one that
  /// cannot be made.
  void check_runs() const;

 private:
  struct Block {
    std::string label;
    std::vector<Dimension> dimensions;
    std::size_t first = 0, size = 1;
  };
  const Block& block_of(std::size_t i) const;
  std::string label_of(const Block& block, const Json& coordinates) const;
  void name_varied();
  void make_run(Case& c) const;
  std::vector<run::SourceFile> sources_of(const Case& c, std::size_t i) const;
  void check(std::size_t i) const;
  void check_some(const Block& block, std::size_t i) const;

  io::JsonSource source_;
  OwnModels own_models_;
  bool is_analysis_ = false;
  std::string x_;
  std::vector<Block> blocks_;
  std::vector<std::string> varied_;  ///< keys in which unlabelled cases differ
  std::size_t size_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::vector<run::SourceFile>> sources_;  ///< by the words of the case
};

/// The cases of the study; those that match run with what `mutation` has under "change".
std::vector<Case> mutated_cases(const SpecObject& mutation, const Spec& spec, const Json& where);

}  // namespace kreisel::study
