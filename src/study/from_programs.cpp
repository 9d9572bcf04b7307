// Studies of systems that a program has, through the same campaign as those of files.
#include <fmt/format.h>

#include <memory>

#include "kreisel/error.hpp"
#include "kreisel/study.hpp"
#include "study/output.hpp"
#include "study/study.hpp"
#include "study/table.hpp"

namespace kreisel::study {
namespace {

std::shared_ptr<const models::ModelInfo> model_of(const std::string& name, const run::Problem& problem) {
  if (!problem.system) throw InvalidInput(fmt::format("model '{}' has no system", name));
  if (!problem.events.empty())
    throw InvalidInput(fmt::format("model '{}' has events, which the exact motion of a study cannot follow", name));
  models::ModelInfo info;
  info.name = name;
  info.summary = "system of the program";
  info.groups = {"own"};
  info.make = [name, system = problem.system, start = problem.start](std::string_view, const ParameterValues&) {
    return models::Model{name, "own", system, start};
  };
  return std::make_shared<const models::ModelInfo>(std::move(info));
}

/// Columns q1, q2, … of a table, as rows of a matrix.
Matrix columns_of(const Table& table, std::string_view letter, const std::string& path) {
  const auto is_one = [letter](const std::string& name) {
    return name.size() > letter.size() && name.starts_with(letter) &&
           name.find_first_not_of("0123456789", letter.size()) == std::string::npos;
  };
  const auto rows = static_cast<Eigen::Index>(table.columns[0].size());
  Matrix out(0, rows);
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    if (table.names[i] != letter && !is_one(table.names[i])) continue;
    out.conservativeResize(out.rows() + 1, Eigen::NoChange);
    for (Eigen::Index n = 0; n < rows; ++n) {
      const io::Json& cell = table.columns[i][static_cast<std::size_t>(n)];
      if (!cell.is_number())
        throw InvalidInput(fmt::format("'{}': '{}' has {}, expected a number", path, table.names[i], cell.dump()));
      out(out.rows() - 1, n) = cell.get<double>();
    }
  }
  return out;
}

struct MotionTable {
  Matrix t, q, v, lambda;  ///< a column per time
};

}  // namespace

ExactMotion motion_of_csv(const std::string& path) {
  const Table table = read_table(path);
  const auto motion =
      std::make_shared<const MotionTable>(MotionTable{columns_of(table, "t", path), columns_of(table, "q", path),
                                                      columns_of(table, "v", path), columns_of(table, "lambda", path)});
  if (table.names[0] != "t" || motion->q.rows() == 0)
    throw InvalidInput(fmt::format("'{}' has columns {}, expected t, q1, ..., v1, ..., lambda1, ...", path,
                                   fmt::join(table.names, ", ")));
  return [path, motion](double t, Vector& q, Vector& v, Vector& lambda) {
    Eigen::Index n = 0;
    const double away = (motion->t.row(0).array() - t).abs().minCoeff(&n);
    const double span = motion->t.row(0).maxCoeff() - motion->t.row(0).minCoeff();
    if (away > 1e-9 * span)
      throw InvalidInput(fmt::format("the exact motion '{}' has no row at t = {:.10g}; the nearest is {:.10g}", path, t,
                                     motion->t(0, n)));
    q = motion->q.col(n);
    v = motion->v.col(n);
    lambda = motion->lambda.col(n);
  };
}

const StudyCurve& StudyTable::curve(std::string_view label, std::string_view number) const {
  std::vector<std::string> known;
  for (const StudyCurve& curve : curves) {
    if (curve.label == label && curve.number == number) return curve;
    known.push_back(fmt::format("'{}' of '{}'", curve.number, curve.label));
  }
  throw InvalidInput(fmt::format("no curve '{}' of '{}'; there are {}", number, label, fmt::join(known, ", ")));
}

StudyTable run_study(const StudyRequest& request) {
  OwnModels own_models;
  for (const auto& [name, problem] : request.models) own_models.emplace(name, model_of(name, problem));
  StudyOptions options;
  options.jobs = request.jobs;
  options.cache = cache_folder();
  if (request.exact) {
    options.reference = request.exact;
    options.reference_accuracy = {request.accuracy, request.accuracy, request.accuracy};
  }
  // Rows of earlier runs are not kept: what the functions of a program compute has no key.
  const StudyResult result = run_study(parse_spec(io::JsonSource("study", request.spec), own_models), options);
  const std::string command = "run_study";
  if (!request.folder.empty()) {
    io::claim_result_folder(request.folder);
    const io::FolderLock lock(request.folder);
    write_study(result, command, request.folder);
  }
  StudyTable table;
  for (const ObservedCurve& curve : result.curves)
    table.curves.push_back({curve.label, curve.number, curve.x, curve.y, curve.is_marked, curve.order});
  for (const Row& row : result.rows)
    if (!row.is_success()) table.failures.push_back(fmt::format("{}: {}", row.status, row.message));
  table.is_as_expected = result.is_as_expected();
  table.json = study_json(result, command).dump();
  return table;
}

}  // namespace kreisel::study
