// kreisel static: equilibria of a model and their stability.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>

#include "analysis.hpp"
#include "analysis/static_stability.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "io/result/summary.hpp"
#include "io/result/tuning.hpp"
#include "kreisel/analysis.hpp"
#include "kreisel/error.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

using io::Json;

class Static final : public Command {
 public:
  explicit Static(CLI::App& parser) : Command(parser), model_(parser) {
    parser.add_flag_callback(
        "--assemble", [this] { spec_.set("assemble", true); }, "first move the bodies so that they satisfy the joints");
    parser
        .add_option(
            "--solve", solved_,
            "find the value of this parameter, or number of a part as in spring1.length, that satisfies --so-that")
        ->type_name("NAME");
    parser.add_option("--so-that", wanted_, "required value of an output at rest")->type_name("OUTPUT=VALUE");
    parser
        .add_option("--along", along_,
                    "follow the equilibrium over a parameter, also where it turns back (buckling, snap-through), with "
                    "about POINTS points, 50 by default")
        ->type_name("NAME=FROM:TO[:POINTS]");
    parser.add_option("--out", out_, "write the path of --along as a table to FILE.csv")->type_name("FILE");
    plots_.add_to(parser);
    parser.add_flag("--json", is_json_, "print one JSON object");
    parser.footer(
        "Finds positions, states and constraint forces at rest under all forces, downhill from the initial positions.\n"
        "Drivers stay where they are at the start. Exit code 0 if an equilibrium was found, 3 if not.\n"
        "Examples:\n  kreisel static double-pendulum\n  kreisel static quarter-car --set m=300 --json\n"
        "  kreisel static car.json --solve spring1.length --so-that ride_height=0.3\n"
        "  kreisel static arch.json --along load=0:1000 --svg plots");
  }

  int execute(const Invocation& invocation) override {
    model_.fill(spec_);
    if (solved_.empty() != wanted_.empty())
      throw InvalidInput("--solve and --so-that belong together: --solve NAME --so-that OUTPUT=VALUE");
    if (!along_.empty() && !solved_.empty())
      throw InvalidInput("--along follows a parameter, --solve finds one value of it; give one of the two");
    if (along_.empty() && (plots_.are_wanted() || !out_.empty()))
      throw InvalidInput("--html, --svg and --out show the path of --along; give --along, or use --json");
    if (!along_.empty()) return follow(invocation);
    double found = 0.0;
    if (!solved_.empty()) {
      const io::Tuned tuned = io::tune(spec_, solved_, wanted());
      if (!tuned.is_found) {
        print_error(tuned.message);
        return analysis_failed;
      }
      found = tuned.value;
      spec_ = io::with_parameter(std::move(spec_), solved_, found);
    }
    const io::PreparedRun run = io::prepare(spec_);
    const io::OperatingPoint point = io::operating_point(run, "static");
    const SmallMotions motions = point.is_found ? small_motions(point) : SmallMotions{};
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(to_json(run.model, point, motions, found)));
    else if (point.is_found)
      print(run.model, point, motions, found);
    if (!point.is_found) {
      print_error(point.message);
      return analysis_failed;
    }
    return success;
  }

 private:
  io::Wanted wanted() const {
    const std::size_t equals = wanted_.find('=');
    const std::optional<double> value =
        equals == std::string::npos ? std::nullopt : number_in(std::string_view(wanted_).substr(equals + 1));
    if (!value || equals == 0)
      throw InvalidInput(fmt::format("--so-that is '{}', expected OUTPUT=VALUE, as in ride_height=0.3", wanted_));
    return {wanted_.substr(0, equals), *value};
  }

  // ---- a path

  int follow(const Invocation& invocation) {
    const Along along = read_along(along_);
    const io::PreparedRun first = io::prepare(io::with_parameter(spec_, along.parameter, along.from));
    const analysis::Equilibrium start = analysis::find_equilibrium(*first.model.system, first.model.start);
    if (!start.is_found) {
      print_error(fmt::format("at {} = {:.9g}: no equilibrium: {}", along.parameter, along.from, start.message));
      return analysis_failed;
    }
    if (start.leaning != nullptr)
      throw InvalidInput("the equilibrium rests on a limit; along a path of equilibria limits cannot close or open");
    analysis::PathOptions options{.from = along.from, .to = along.to};
    if (along.points) options.points = *along.points;
    const analysis::Family make = [&](double value) {
      return io::prepare_model(io::with_parameter(spec_, along.parameter, value)).system;
    };
    const analysis::StaticPath path = analysis::follow(make, start, options);
    const std::string label = label_of(first, along.parameter);
    std::vector<std::string> columns;
    for (const system::OutputInfo& info : first.model.system->outputs())
      for (int i = 0; i < info.size(); ++i) columns.push_back(info.column(i));
    std::vector<Vector> values;
    std::vector<std::string> stability;
    for (const analysis::PathPoint& point : path.points) {
      values.emplace_back(Vector::Zero(point.system->output_size()));
      point.system->evaluate_outputs(point.motion, point.lambda, values.back());
      const auto least = analysis::least_stiffness(*point.system, point.motion, point.lambda);
      stability.emplace_back(!least                ? ""
                             : point.is_critical   ? "critical"
                             : least->is_minimum() ? "stable"
                                                   : "unstable");
    }
    write_table(along.parameter, columns, path, values, stability);
    if (invocation.wants_json) {
      Json points = Json::array();
      for (std::size_t i = 0; i < path.points.size(); ++i) {
        Json outputs = Json::object();
        for (std::size_t k = 0; k < columns.size(); ++k)
          outputs[columns[k]] = io::number_or_null(values[i][static_cast<Eigen::Index>(k)]);
        points.push_back({{"value", path.points[i].parameter},
                          {"is_limit", path.points[i].is_limit},
                          {"is_critical", path.points[i].is_critical},
                          {"stability", stability[i].empty() ? Json(nullptr) : Json(stability[i])},
                          {"outputs", std::move(outputs)}});
      }
      fmt::print("{}", io::to_text({{"model", first.model.name},
                                    {"group", first.model.group},
                                    {"status", path.is_complete ? "success" : "no-equilibrium"},
                                    {"message", path.message},
                                    {"parameter", along.parameter},
                                    {"points", std::move(points)}}));
    } else {
      fmt::print("{}\n", coloured(fmt::format("{} over {}", first.model.name, label), Colour::bold, stdout));
      fmt::print("  path         {} points\n", path.points.size());
      for (std::size_t i = 0; i < path.points.size(); ++i) {
        const bool follows_special = i > 0 && (path.points[i - 1].is_limit || path.points[i - 1].is_critical);
        const bool changes = i > 0 && stability[i] != stability[i - 1] && !stability[i].empty();
        const bool is_told = path.points[i].is_limit || path.points[i].is_critical || (changes && !follows_special);
        if (!is_told && i != 0 && i + 1 != path.points.size()) continue;
        fmt::print("  {:<12} {} = {:.9g}, {}",
                   path.points[i].is_limit       ? "turns back"
                   : path.points[i].is_critical  ? "branches"
                   : i == 0                      ? "begins"
                   : i + 1 == path.points.size() ? "ends"
                                                 : "changes",
                   along.parameter, path.points[i].parameter, stability[i]);
        for (std::size_t k = 0; k < std::min<std::size_t>(columns.size(), 4); ++k)
          fmt::print(", {} = {:.7g}", columns[k], values[i][static_cast<Eigen::Index>(k)]);
        fmt::print("\n");
      }
    }
    if (plots_.are_wanted())
      plots_.write(page_of(first, label, columns, path, values, invocation), invocation.wants_json);
    if (!path.is_complete) {
      print_error(fmt::format("the path ends early, {} {}", along.parameter, path.message));
      return analysis_failed;
    }
    return success;
  }

  void write_table(const std::string& parameter, const std::vector<std::string>& columns,
                   const analysis::StaticPath& path, const std::vector<Vector>& values,
                   const std::vector<std::string>& stability) const {
    if (out_.empty()) return;
    std::string text = csv_cell(parameter);
    for (const std::string& column : columns) text += "," + csv_cell(column);
    text += ",is_limit,stability\n";
    for (std::size_t i = 0; i < path.points.size(); ++i) {
      text += fmt::format("{:.17g}", path.points[i].parameter);
      for (const double value : values[i]) text += fmt::format(",{:.17g}", value);
      text += fmt::format(",{},{}\n", path.points[i].is_limit ? 1 : 0, stability[i]);
    }
    io::refuse_to_overwrite(io::ReadingList::of_all(), out_, "out");
    io::write_atomically(out_, text);
  }

  static io::ReportData page_of(const io::PreparedRun& run, const std::string& label,
                                const std::vector<std::string>& columns, const analysis::StaticPath& path,
                                const std::vector<Vector>& values, const Invocation& invocation) {
    io::ReportData page;
    page.title = fmt::format("{} over {}", run.model.name, label);
    page.command = invocation.command_line;
    int at = 0;
    for (const system::OutputInfo& info : run.model.system->outputs()) {
      io::ReportPlot plot{
          info.name, info.meaning, info.unit.empty() ? info.name : fmt::format("{} [{}]", info.name, info.unit),
          label,     false,        {},
          {}};
      for (int i = 0; i < info.size(); ++i, ++at) {
        io::ReportCurve curve{columns[static_cast<std::size_t>(at)], {}, {}, {}, {}};
        for (std::size_t k = 0; k < path.points.size(); ++k) {
          curve.x.push_back(values[k][at]);
          curve.y.push_back(path.points[k].parameter);
          curve.is_marked.push_back(path.points[k].is_limit || path.points[k].is_critical);
        }
        plot.curves.push_back(std::move(curve));
      }
      page.plots.push_back(std::move(plot));
    }
    if (page.plots.empty())
      page.notes.emplace_back("The model has no outputs, so there is nothing to plot. Add outputs to the model.");
    return page;
  }

  // ---- one equilibrium

  Json to_json(const models::Model& model, const io::OperatingPoint& e, const SmallMotions& motions,
               double found) const {
    Json out{{"model", model.name},
             {"group", model.group},
             {"status", e.is_found ? "success" : "no-equilibrium"},
             {"message", e.message},
             {"iterations", e.iterations}};
    if (!solved_.empty()) out["solved"] = {{solved_, found}};
    if (!e.is_found) return out;
    out["q"] = io::json_of(e.motion.q);
    out["lambda"] = io::json_of(e.lambda);
    out["limits"] = io::closed_limits(*e.system);
    out["bodies"] = io::poses_json(*e.system, e.motion);
    out["outputs"] = io::outputs_json(*e.system, e.motion, e.lambda);
    out["energy"] = io::number_or_null(e.system->energy(e.motion));
    out["stability"] = motions.modes ? Json(word_of(*motions.modes)) : Json(nullptr);
    out["growth"] = motions.modes ? io::number_or_null(analysis::stability_of(*motions.modes).growth) : Json(nullptr);
    return out;
  }

  void print(const models::Model& model, const io::OperatingPoint& e, const SmallMotions& motions, double found) const {
    const system::System& system = *e.system;
    fmt::print("{}\n", coloured(fmt::format("{} on {}", model.name, model.group), Colour::bold, stdout));
    if (!solved_.empty()) fmt::print("  solved       {} = {:.12g}\n", solved_, found);
    fmt::print("  equilibrium  {}\n", e.iterations == 0 ? std::string("the initial positions")
                                                        : fmt::format("found after {} iteration{}", e.iterations,
                                                                      e.iterations == 1 ? "" : "s"));
    if (const std::vector<std::string> limits = io::closed_limits(system); !limits.empty())
      fmt::print("  rests on     {}\n", fmt::join(limits, ", "));
    fmt::print("  stability    {}\n", motions.modes ? in_words(*motions.modes) : motions.why_none);
    if (const double energy = system.energy(e.motion); std::isfinite(energy))
      fmt::print("  energy       {:.9g} J\n", energy);
    print_outputs(system, e.motion, e.lambda);
    print_poses(system, e.motion);
    print_reactions(system, e.motion, e.lambda);
  }

  ModelArguments model_;
  io::RunSpec spec_;
  std::string solved_, wanted_, along_, out_;
  PlotFiles plots_;
  bool is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_static(CLI::App& program) {
  return std::make_unique<Static>(
      *program.add_subcommand("static", "Find where a model is at rest, and if it is stable"));
}

}  // namespace kreisel::apps
