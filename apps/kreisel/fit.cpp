// kreisel fit: parameters of a model from measured outputs.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "io/result/result.hpp"
#include "io/result/sensitivities.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

using io::Json;

class Fit final : public Command {
 public:
  explicit Fit(CLI::App& parser) : Command(parser), model_(parser) {
    parser.add_option("DATA", data_, "measured outputs: a CSV file whose first line names t and outputs")
        ->type_name("");
    parser
        .add_option("--free", free_,
                    "parameters to find, or numbers of parts as in spring1.stiffness, with bounds: k=1e3:1e5,L")
        ->type_name("NAME[=LOW:HIGH],...")
        ->delimiter(',');
    parser
        .add_option(
            "--starts", starts_,
            "number of searches: from the values of the model, then from points spread between the bounds; reports "
            "other minima")
        ->type_name("N")
        ->default_str("1");
    for (const io::RunField& field : io::run_fields()) add_run_option(parser, field, spec_);
    plots_.add_to(parser);
    parser.add_flag("--json", is_json_, "print one JSON object");
    parser.footer(
        "Least squares on the outputs named in the data, by the Levenberg-Marquardt method, from the values of the "
        "model.\n"
        "Exit code 0 when a minimum was found that determines every parameter, 3 when not.\n"
        "Example:\n  kreisel fit car.json measured.csv --free spring1.stiffness=1e4:1e5,damping --html fit.html");
  }

  int execute(const Invocation& invocation) override {
    model_.fill(spec_);
    if (data_.empty()) throw InvalidInput("no data given; expected kreisel fit MODEL DATA.csv --free NAME,...");
    if (free_.empty()) throw InvalidInput("no parameter is free; give --free NAME,...");
    const io::FitData data = io::read_fit_data(data_);
    std::vector<io::FreeParameter> free;
    for (const std::string& text : free_) free.push_back(read_free(text));
    Interruption interruption;
    const io::Fit fit = io::fit(spec_, data, free, interruption, {.starts = starts_});
    for (const std::string& warning : fit.warnings) print_warning(warning);
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(to_json(fit, data)));
    else if (fit.is_found)
      print(fit, data);
    if (!fit.is_found) {
      print_error(fit.message);
      return analysis_failed;
    }
    if (plots_.are_wanted()) plots_.write(page_of(fit, data, invocation), invocation.wants_json);
    return success;
  }

 private:
  static io::FreeParameter read_free(const std::string& text) {
    const std::size_t equals = text.find('=');
    io::FreeParameter out{.name = text.substr(0, equals)};
    if (equals == std::string::npos && !out.name.empty()) return out;
    const std::string range = equals == std::string::npos ? "" : text.substr(equals + 1);
    const std::size_t colon = range.find(':');
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    const auto bound = [&](const std::string& word, double otherwise) {
      return colon == std::string::npos ? missing : word.empty() ? otherwise : number_in(word).value_or(missing);
    };
    out.low = bound(range.substr(0, colon), -HUGE_VAL);
    out.high = bound(colon == std::string::npos ? "" : range.substr(colon + 1), HUGE_VAL);
    if (out.name.empty() || !(out.low < out.high))
      throw InvalidInput(
          fmt::format("--free has '{}', expected NAME or NAME=LOW:HIGH with LOW below HIGH, as in k=1e3:1e5", text));
    return out;
  }

  static Matrix correlations(const io::Fit& fit) {
    const Vector inverse = fit.standard_errors.cwiseInverse();
    return inverse.asDiagonal() * fit.covariance * inverse.asDiagonal();
  }

  static Json to_json(const io::Fit& fit, const io::FitData& data) {
    Json out{{"status", fit.is_found ? "success" : "no-fit"},
             {"message", fit.message},
             {"iterations", fit.iterations},
             {"runs", fit.runs},
             {"parameters", Json::object()}};
    for (std::size_t i = 0; i < fit.free.size(); ++i) {
      const auto k = static_cast<Eigen::Index>(i);
      out["parameters"][fit.free[i].name] = {
          {"value", io::number_or_null(fit.values[k])},
          {"standard_error", fit.is_found ? io::number_or_null(fit.standard_errors[k]) : Json(nullptr)},
          {"is_at_bound", i < fit.is_at_bound.size() && fit.is_at_bound[i]}};
    }
    if (!fit.is_found) return out;
    out["other_minima"] = Json::array();
    for (const io::Fit::Other& other : fit.others) {
      Json values = Json::object();
      for (std::size_t i = 0; i < fit.free.size(); ++i)
        values[fit.free[i].name] = io::number_or_null(other.values[static_cast<Eigen::Index>(i)]);
      out["other_minima"].push_back({{"parameters", std::move(values)}, {"ratio", io::number_or_null(other.ratio)}});
    }
    out["covariance"] = io::json_rows(fit.covariance);
    out["correlation"] = io::json_rows(correlations(fit));
    for (std::size_t k = 0; k < data.columns.size(); ++k)
      out["noise"][data.columns[k]] = io::number_or_null(fit.noise[static_cast<Eigen::Index>(k)]);
    return out;
  }

  static void print(const io::Fit& fit, const io::FitData& data) {
    fmt::print("{}\n",
               coloured(fmt::format("fit of {} parameter{} to {} values of {}", fit.free.size(),
                                    fit.free.size() == 1 ? "" : "s", data.values.size(), fmt::join(data.columns, ", ")),
                        Colour::bold, stdout));
    fmt::print("  search       {} iterations, {} runs\n", fit.iterations, fit.runs);
    for (std::size_t i = 0; i < fit.free.size(); ++i)
      fmt::print("  parameter    {} = {:.9g} +- {:.2g}{}\n", fit.free[i].name, fit.values[static_cast<Eigen::Index>(i)],
                 fit.standard_errors[static_cast<Eigen::Index>(i)], fit.is_at_bound[i] ? ", at its bound" : "");
    for (const io::Fit::Other& other : fit.others) {
      std::vector<std::string> values;
      for (std::size_t i = 0; i < fit.free.size(); ++i)
        values.push_back(fmt::format("{} = {:.6g}", fit.free[i].name, other.values[static_cast<Eigen::Index>(i)]));
      fmt::print("  other        minimum at {}: {:.3g} times the sum of squares\n", fmt::join(values, ", "),
                 other.ratio);
    }
    const Matrix correlation = correlations(fit);
    for (Eigen::Index i = 0; i < correlation.rows(); ++i)
      for (Eigen::Index j = 0; j < i; ++j)
        if (std::abs(correlation(i, j)) > 0.95)
          fmt::print("  correlation  {} and {}: {:.4f}\n", fit.free[static_cast<std::size_t>(j)].name,
                     fit.free[static_cast<std::size_t>(i)].name, correlation(i, j));
    for (std::size_t k = 0; k < data.columns.size(); ++k)
      fmt::print("  residual     {}: standard deviation {:.3g}\n", data.columns[k],
                 fit.noise[static_cast<Eigen::Index>(k)]);
  }

  static io::ReportData page_of(const io::Fit& fit, const io::FitData& data, const Invocation& invocation) {
    io::ReportData page;
    page.title = fmt::format("fit to {}", fmt::join(data.columns, ", "));
    page.command = invocation.command_line;
    io::ReportTable table{"Parameters", {{"name", ""}, {"value", ""}, {"standard error", ""}}, Json::array()};
    for (std::size_t i = 0; i < fit.free.size(); ++i)
      table.rows.push_back({fit.free[i].name, fit.values[static_cast<Eigen::Index>(i)],
                            io::number_or_null(fit.standard_errors[static_cast<Eigen::Index>(i)])});
    page.tables.push_back(std::move(table));
    io::ReportTable correlation{"Correlations", {{"", ""}}, Json::array()};
    const Matrix R = correlations(fit);
    for (std::size_t i = 0; i < fit.free.size(); ++i) {
      correlation.columns.push_back({fit.free[i].name, ""});
      Json row{fit.free[i].name};
      for (std::size_t j = 0; j < fit.free.size(); ++j)
        row.push_back(R(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)));
      correlation.rows.push_back(std::move(row));
    }
    page.tables.push_back(std::move(correlation));
    for (std::size_t k = 0; k < data.columns.size(); ++k) {
      const auto column = static_cast<Eigen::Index>(k);
      io::ReportCurve measured{"data", data.t, {}, {}, {}}, fitted{"fit", data.t, {}, {}, {}},
          left{"data - fit", data.t, {}, {}, {}};
      for (Eigen::Index i = 0; i < data.values.rows(); ++i) {
        measured.y.push_back(data.values(i, column));
        fitted.y.push_back(fit.fitted(i, column));
        left.y.push_back(data.values(i, column) - fit.fitted(i, column));
      }
      page.plots.push_back({data.columns[k], "", "t [s]", data.columns[k], false, {measured, fitted}, {}});
      page.plots.push_back({data.columns[k] + ", residual", "", "t [s]", "data - fit", false, {left}, {}});
    }
    return page;
  }

  ModelArguments model_;
  io::RunSpec spec_;
  std::string data_;
  std::vector<std::string> free_;
  PlotFiles plots_;
  int starts_ = 1;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_fit(CLI::App& program) {
  return std::make_unique<Fit>(*program.add_subcommand("fit", "Find parameters of a model from measured outputs"));
}

}  // namespace kreisel::apps
