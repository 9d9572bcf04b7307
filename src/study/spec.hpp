// A study as a file describes it: a grid of cases, what is measured of each, what is expected of all.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/json/json_source.hpp"
#include "io/spec/run_spec.hpp"
#include "study/measure.hpp"

namespace kreisel::study {

using io::Json;

/// One point of the grid.
struct Case {
  std::string label;                     ///< of the curve it belongs to
  std::string family;                    ///< the label that the file gives to this and perhaps other curves
  Json coordinates;                      ///< object: the values of this case in the grid, one per key
  io::RunSpec run;                       ///< of a run
  std::vector<run::SourceFile> sources;  ///< the files that the run is read from
  Json changes = Json::object();         ///< what a mutation runs instead of some coordinates
};

struct PlotSpec {
  std::string title{}, note{};
  std::string x{};               ///< name of a number of the rows; empty: the abscissa of the study
  std::vector<std::string> y{};  ///< measures; more than one: curves of each
  Json where = Json::object();   ///< only these cases
  bool is_log = true;
  std::vector<double> slopes{};  ///< empty: whole numbers near the observed orders
};

enum class ExpectationKind {
  order,  ///< the observed order of every matching curve
  value,  ///< the number in every matching row
  at_most,
  at_least,
  ranking,  ///< labels by increasing number, at every abscissa they share
  same,     ///< matching rows of the same abscissa agree
  ratio,    ///< the number in `where` over the one in `over`
  unstable  ///< every matching run fails or exceeds the number
};

/// The origin of an expected value.
enum class Origin {
  expected,  ///< not stated
  printed,   ///< in the paper
  computed   ///< by us, in another way than by the program
};

/// What a correct program gives.
struct Expectation {
  ExpectationKind kind = ExpectationKind::order;
  std::string of;                                      ///< name of a measure or count
  Json where = Json::object(), over = Json::object();  ///< coordinates that must agree
  double value = 0.0;
  std::vector<double> values;  ///< one per matching case instead
  double tolerance = 0.0;      ///< absolute for orders, relative for numbers
  double factor = 0.0;         ///< largest factor between value and expectation; 0: the tolerance
  double on_average = 0.0;     ///< the same for the geometric mean over a list; 0: every number counts
  double per = 1.0;            ///< the number is divided by this first
  std::string x;               ///< abscissa of a ranking; empty: that of the study
  long at_step = -1;           ///< where the maximum must lie; -1: anywhere
  double from, to;             ///< abscissae that count
  std::vector<std::vector<std::string>> ranking;  ///< groups of labels
  std::string says;                               ///< the paper's words or numbers
  std::string differs;                            ///< why the expectation contradicts them; empty: it does not
  std::string note;
  Origin source = Origin::expected;

  Expectation();
};

/// Deliberately wrong settings, with which expectations must be missed: a test of the verdicts.
struct Mutation {
  std::string name;
  std::vector<std::string> misses;  ///< of one of these numbers an expectation must be missed; empty: of any
  std::vector<Case> cases;          ///< of the study, some of them run with the wrong settings
};

class Grid;

/// Curves over time that are kept of every run, at evenly spaced times.
struct TrajectorySpec {
  std::vector<std::string> outputs;  ///< or parts of them: "knee", "foot.x"
  int points = 101;                  ///< from the start to the end
};

struct Spec {
  std::string id;  ///< of a published figure; empty: none
  std::string title, source, says;
  std::vector<std::string> notes;
  std::string analysis;  ///< name; empty: the cases are runs
  std::string x;         ///< abscissa: "step", "rtol" or any coordinate
  std::vector<Measure> measures;
  std::vector<Series> series;
  std::vector<Json> series_where;  ///< for each of them: cases that are drawn
  std::vector<PlotSpec> plots;
  std::vector<Expectation> expectations;
  std::vector<Mutation> mutations;
  std::vector<Case> cases;  ///< empty when there are more than max_listed
  int repeat = 1;           ///< runs of each case, for the spread of CPU times
  ReferenceOptions reference;
  TrajectorySpec trajectories;
  std::shared_ptr<const Grid> grid;
  std::string key;       ///< of everything that rows depend on
  std::string own_text;  ///< what they depend on besides the file, such as own models

  /// Studies with more cases than this list them in study.csv alone, and make them when they are needed.
  static constexpr std::size_t max_listed = 10'000;
  bool is_listed() const { return !cases.empty(); }
  std::size_t size() const;
  Case case_at(std::size_t i) const;
  /// Without its run.
  Case outline(std::size_t i) const;
  /// Whether statistics are computed instead of orders: points are drawn, come from a table, or are too many to list.
  bool is_ensemble() const;
  /// Keys of the cases, in the order of the file.
  std::vector<std::string> coordinate_names() const;
  /// Measures, then what every run or analysis gives besides.
  std::vector<std::string> number_names() const;
};

/// Models that are not files, by their names in the study.
using OwnModels = std::map<std::string, std::shared_ptr<const models::ModelInfo>, std::less<>>;

/// Throws InvalidInput with line, column and JSON pointer, or with the case whose run cannot be served. `own_text`: what
/// the rows depend on besides the file, such as the text of own models.
Spec parse_spec(const io::JsonSource& source, const OwnModels& own_models = {}, const std::string& own_text = {});

/// How parse_spec reads a "where": true when every key has the value, or one of the listed ones, in the case.
bool matches(const Json& where, const Case& a_case);

}  // namespace kreisel::study
