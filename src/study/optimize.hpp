// Searches for the parameters of a run that make a number smallest or largest.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/study.hpp"

namespace kreisel::study {

enum class SearchKind {
  cma_es,   ///< derivative-free, a generation of points at a time (Hansen 2016)
  gradient  ///< projected BFGS with derivatives of the run
};

struct Variable {
  std::string name;
  bool is_parameter = false;  ///< of the model or the method, under "set"
  double from = 0.0, to = 1.0, start = 0.5;
};

/// A run, its variables, and the objective.
struct OptimizationSpec {
  Spec spec;  ///< one case, without the variables
  std::vector<Variable> variables;
  std::string number;  ///< a measure, or what every run gives
  bool is_maximum = false;
  SearchKind search = SearchKind::cma_es;
  std::size_t evaluations = 1000;  ///< at most
  std::size_t population = 0;      ///< 0: 4 + 3 ln n
  double precision = 1e-6;         ///< of the variables, relative to their ranges
  std::uint64_t seed = 1;
};
/// Throws InvalidInput with line, column and JSON pointer.
OptimizationSpec parse_optimization(const io::JsonSource& source, const OwnModels& own_models = {},
                                    const std::string& own_text = {});

struct Evaluation {
  std::vector<double> x;
  Row row;
  double value = 0.0;  ///< of the number; not finite: failed
  std::vector<double> gradient;
};

struct Optimum {
  std::vector<Evaluation> evaluations;  ///< in their order
  std::optional<std::size_t> best;
  bool is_found = false;  ///< precise enough
  std::string message;
};

/// A search that requests points and takes their values. The evaluation of a point gives a line, as in a Campaign;
/// points whose lines are in the journal of the folder are not requested again, so that the search continues after
/// a crash.
class Search {
 public:
  Search(OptimizationSpec spec, const io::Path& folder, bool is_worker = false);
  ~Search();

  const OptimizationSpec& spec() const;
  /// Points to be evaluated now, in parallel; empty: the search is over.
  std::vector<std::vector<double>> ask();
  /// The line of a point, in any thread.
  std::string evaluate(const std::vector<double>& x, const std::function<bool()>& wants_to_stop) const;
  /// The line of a point that could not be evaluated.
  std::string lost(const std::vector<double>& x, const std::string& message) const;
  /// The lines of the requested points, in their order.
  void tell(const std::vector<std::string>& lines);
  const Optimum& result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// study.csv with all evaluations, study.json, report.html. The journal stays: more evaluations go on from it.
void write_optimum(const Search& search, const std::string& command, const io::Path& folder);
Json optimum_json(const Search& search, const std::string& command);

}  // namespace kreisel::study

namespace kreisel {

template <>
struct Spellings<study::SearchKind> {
  using enum study::SearchKind;
  static constexpr std::string_view noun = "search";
  static constexpr std::array<Spelled<study::SearchKind>, 2> entries{{{cma_es, "cma-es"}, {gradient, "gradient"}}};
};

}  // namespace kreisel
