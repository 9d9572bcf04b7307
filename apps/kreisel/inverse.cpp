// kreisel inverse: the inputs and reactions that a given motion needs.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>

#include "analysis.hpp"
#include "analysis/inverse.hpp"
#include "base/text.hpp"
#include "inverse.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "multibody/expression.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

using io::Json;

class Inverse final : public Command {
 public:
  explicit Inverse(CLI::App& parser) : Command(parser), model_(parser) {
    parser
        .add_option("--follow", follows_,
                    "an output that follows a formula of t, as in 'knee=0.3*sin(t)'; may be repeated")
        ->type_name("OUTPUT=FORMULA");
    parser.add_option("--inputs", inputs_, "inputs to compute (default: with --follow, all of the model)")
        ->type_name("NAME,...")
        ->delimiter(',');
    parser.add_option("--t-end", t_end_, "end of the motion (default: that of the model)")->type_name("T");
    parser.add_option("--points", points_, "number of equally spaced times")->type_name("N")->default_str("101");
    parser.add_option("--out", out_, "write outputs, inputs, q, v, lambda over time to FILE.csv")->type_name("FILE");
    plots_.add_to(parser);
    parser.add_flag_callback(
        "--assemble", [this] { spec_.set("assemble", true); }, "first move the bodies so that they satisfy the joints");
    parser.add_flag("--json", is_json_, "print one JSON object");
    parser.footer(
        "Constraints, drivers and outputs that follow a formula must determine the motion: nothing is integrated. "
        "Without\n"
        "--follow this is the kinematic analysis of a mechanism whose drivers leave no freedom.\n"
        "Exit code 3 if the motion ends at a singular position, or the inputs cannot produce it.\n"
        "Examples:\n  kreisel inverse driven.json --t-end 1 --svg plots\n"
        "  kreisel inverse arm.json --follow 'elbow=0.5*sin(2*t)' --follow 'shoulder=t' --inputs u1,u2 --out arm.csv");
  }

  int execute(const Invocation& invocation) override {
    model_.fill(spec_);
    const models::Model model = io::prepare_model(spec_);
    const system::System& system = *model.system;
    if (points_ < 2 || points_ > 1'000'000)
      throw InvalidInput(fmt::format("--points is {}, expected a number from 2 to a million", points_));
    double t_end = model.start.t_end;
    if (!t_end_.empty()) {
      const std::optional<double> given = number_in(t_end_);
      if (!given || !(*given > model.start.t0))
        throw InvalidInput(fmt::format("--t-end is '{}', expected a time after {}", t_end_, model.start.t0));
      t_end = *given;
    }
    analysis::InverseOptions options;
    for (const std::string& text : follows_) options.servos.push_back(servo_in(text, system));
    for (const analysis::Servo& servo : options.servos)
      if (std::ranges::count(options.servos, servo.output, &analysis::Servo::output) > 1)
        throw InvalidInput(fmt::format("--follow names '{}' more than once", servo.name));
    std::vector<std::string> known;
    for (const system::InputInfo& info : system.inputs()) known.push_back(info.name);
    const std::vector<std::string> wanted = inputs_.empty() && !follows_.empty() ? known : inputs_;
    for (const std::string& name : wanted) {
      const auto found = std::ranges::find(known, name);
      if (found == known.end())
        throw InvalidInput(known.empty() ? fmt::format("--inputs: there is no input '{}': the model has none", name)
                                         : "--inputs: " + unknown_name("input", name, known));
      options.inputs.push_back(static_cast<int>(found - known.begin()));
    }
    for (int i = 0; i < points_; ++i)
      options.times.push_back(model.start.t0 + (t_end - model.start.t0) * i / (points_ - 1));
    const analysis::InverseMotion motion = analysis::invert(system, model.start, options);
    for (const std::string& warning : motion.warnings) print_warning(warning);
    const Table table = table_of(system, motion, wanted);
    if (!out_.empty()) write(table);
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(to_json(model, motion, table)));
    else
      print(model, motion, table, wanted);
    if (plots_.are_wanted())
      plots_.write(page_of(model, system, motion, table, wanted, invocation), invocation.wants_json);
    if (!motion.is_complete) {
      print_error(motion.message);
      return analysis_failed;
    }
    return success;
  }

 private:
  struct Table {
    std::vector<std::string> columns;
    std::size_t outputs = 0;  ///< of the columns after t
    Matrix values;
  };

  static analysis::Servo servo_in(const std::string& text, const system::System& system) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw InvalidInput(fmt::format("--follow is '{}', expected OUTPUT=FORMULA, as in 'knee=0.3*sin(t)'", text));
    analysis::Servo servo;
    servo.name = text.substr(0, equals);
    servo.output = io::output_number(system, servo.name);
    const multibody::Expression formula(text.substr(equals + 1));
    servo.target = [formula](double t) {
      const multibody::Jet jet = formula.at(t);
      return Vector3(jet.value, jet.rate, jet.curve);
    };
    return servo;
  }

  static Table table_of(const system::System& system, const analysis::InverseMotion& motion,
                        const std::vector<std::string>& inputs) {
    Table table;
    table.columns.emplace_back("t");
    for (const system::OutputInfo& info : system.outputs())
      for (int i = 0; i < info.size(); ++i) table.columns.push_back(info.column(i));
    table.outputs = table.columns.size() - 1;
    for (const std::string& name : inputs) table.columns.push_back(name);
    const auto number = [&](const char* letter, Eigen::Index count) {
      for (Eigen::Index i = 0; i < count; ++i) table.columns.push_back(fmt::format("{}{}", letter, i + 1));
    };
    number("q", system.space().nq());
    number("v", system.space().nv());
    number("a", system.space().nv());
    number("lambda", system.pattern().rows());
    table.values.resize(static_cast<Eigen::Index>(motion.points.size()),
                        static_cast<Eigen::Index>(table.columns.size()));
    Vector outputs = Vector::Zero(system.output_size());
    for (std::size_t i = 0; i < motion.points.size(); ++i) {
      const analysis::InversePoint& p = motion.points[i];
      system.evaluate_outputs(p.motion, p.lambda, outputs);
      Vector row(static_cast<Eigen::Index>(table.columns.size()));
      row << p.motion.t, outputs, p.inputs, p.motion.q, p.motion.v, p.motion.a, p.lambda;
      table.values.row(static_cast<Eigen::Index>(i)) = row;
    }
    return table;
  }

  void write(const Table& table) const {
    std::string text;
    for (std::size_t k = 0; k < table.columns.size(); ++k) text += (k > 0 ? "," : "") + csv_cell(table.columns[k]);
    text += "\n";
    for (Eigen::Index i = 0; i < table.values.rows(); ++i)
      for (Eigen::Index k = 0; k < table.values.cols(); ++k)
        text += fmt::format("{:.17g}{}", table.values(i, k), k + 1 < table.values.cols() ? "," : "\n");
    io::refuse_to_overwrite(io::ReadingList::of_all(), out_, "out");
    io::write_atomically(out_, text);
  }

  static Json to_json(const models::Model& model, const analysis::InverseMotion& motion, const Table& table) {
    Json columns = Json::object();
    for (std::size_t k = 0; k < table.columns.size(); ++k)
      columns[table.columns[k]] = io::json_of(table.values.col(static_cast<Eigen::Index>(k)));
    return {{"model", model.name},
            {"group", model.group},
            {"status", motion.is_complete ? "success" : "no-motion"},
            {"message", motion.message},
            {"warnings", motion.warnings},
            {"columns", std::move(columns)}};
  }

  static void print(const models::Model& model, const analysis::InverseMotion& motion, const Table& table,
                    const std::vector<std::string>& inputs) {
    fmt::print("{}\n", coloured(fmt::format("{} on {}", model.name, model.group), Colour::bold, stdout));
    if (motion.points.empty()) return;
    fmt::print("  points       {} from t = {:.6g} to {:.6g}\n", motion.points.size(), motion.points.front().motion.t,
               motion.points.back().motion.t);
    double condition = 1.0, at = 0.0;
    for (const analysis::InversePoint& p : motion.points)
      if (p.condition < condition) condition = p.condition, at = p.motion.t;
    fmt::print("  singularity  nearest at t = {:.6g}: smallest singular value {:.2g} of the largest\n", at, condition);
    constexpr std::size_t most = 12;
    for (std::size_t k = 1; k < std::min(most, 1 + table.outputs + inputs.size()); ++k) {
      const auto column = table.values.col(static_cast<Eigen::Index>(k));
      fmt::print("  {:<12} {} from {:.6g} to {:.6g}\n", k <= table.outputs ? "output" : "input", table.columns[k],
                 column.minCoeff(), column.maxCoeff());
    }
  }

  static io::ReportData page_of(const models::Model& model, const system::System& system,
                                const analysis::InverseMotion& motion, const Table& table,
                                const std::vector<std::string>& inputs, const Invocation& invocation) {
    io::ReportData page;
    page.title = fmt::format("inverse of {}", model.name);
    page.command = invocation.command_line;
    std::vector<double> t;
    for (const analysis::InversePoint& p : motion.points) t.push_back(p.motion.t);
    const auto curve = [&](std::size_t k) {
      io::ReportCurve out{table.columns[k], t, {}, {}, {}};
      for (const double y : table.values.col(static_cast<Eigen::Index>(k))) out.y.push_back(y);
      return out;
    };
    std::size_t at = 1;
    for (const system::OutputInfo& info : system.outputs()) {
      io::ReportPlot plot{info.name, info.meaning,
                          "t [s]",   info.unit.empty() ? info.name : fmt::format("{} [{}]", info.name, info.unit),
                          false,     {},
                          {}};
      for (int i = 0; i < info.size(); ++i) plot.curves.push_back(curve(at++));
      page.plots.push_back(std::move(plot));
    }
    for (const std::string& name : inputs)
      page.plots.push_back({"input " + name, "", "t [s]", name, false, {curve(at++)}, {}});
    return page;
  }

  ModelArguments model_;
  io::RunSpec spec_;
  std::vector<std::string> follows_, inputs_;
  std::string t_end_, out_;
  PlotFiles plots_;
  int points_ = 101;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inverse(CLI::App& program) {
  return std::make_unique<Inverse>(
      *program.add_subcommand("inverse", "Inputs and reactions that a given motion needs"));
}

}  // namespace kreisel::apps
