// kreisel modes: frequencies, damping and shapes of small motions, and how inputs act on outputs.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis.hpp"
#include "analysis/lowest_modes.hpp"
#include "command.hpp"
#include "io/files/npz.hpp"
#include "io/result/scene.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"
#include "terminal.hpp"

namespace kreisel::apps {
namespace {

using io::Json;

const std::vector<std::pair<std::string, analysis::Axes>>& axes_words() {
  static const std::vector<std::pair<std::string, analysis::Axes>> list{
      {"automatic", analysis::Axes::automatic}, {"inertial", analysis::Axes::inertial}, {"body", analysis::Axes::body}};
  return list;
}

analysis::Axes axes_named(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [word, axes] : axes_words()) {
    if (word == name) return axes;
    known.push_back(word);
  }
  throw InvalidInput("--axes: " + unknown_name("axes", name, known));
}

/// Eigenvalues over a parameter, each assigned to the branch that it continues.
class Branches {
 public:
  void add(const std::vector<analysis::Mode>& modes) {
    std::vector<std::complex<double>> left;
    for (const analysis::Mode& mode : modes) left.push_back(mode.eigenvalue);
    const std::size_t point = count_++;
    for (std::vector<std::complex<double>>& branch : list_) branch.push_back({NAN, NAN});
    // The nearest pairs first, measured from the extrapolation of the last two points.
    std::vector<std::pair<double, std::pair<std::size_t, std::size_t>>> pairs;
    for (std::size_t b = 0; b < list_.size(); ++b)
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (point == 0) continue;
        const std::complex<double> last = list_[b][point - 1];
        const std::complex<double> ahead =
            point > 1 && std::isfinite(list_[b][point - 2].real()) ? 2.0 * last - list_[b][point - 2] : last;
        if (std::isfinite(last.real())) pairs.push_back({std::abs(left[i] - ahead), {b, i}});
      }
    std::ranges::sort(pairs);
    std::vector<bool> is_taken(left.size(), false), is_continued(list_.size(), false);
    for (const auto& [distance, pair] : pairs) {
      if (is_continued[pair.first] || is_taken[pair.second]) continue;
      list_[pair.first][point] = left[pair.second];
      is_continued[pair.first] = is_taken[pair.second] = true;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (is_taken[i]) continue;
      list_.emplace_back(count_, std::complex<double>(NAN, NAN));
      list_.back()[point] = left[i];
    }
  }
  const std::vector<std::vector<std::complex<double>>>& list() const { return list_; }

 private:
  std::vector<std::vector<std::complex<double>>> list_;
  std::size_t count_ = 0;
};

class Modes final : public Command {
 public:
  explicit Modes(CLI::App& parser) : Command(parser), model_(parser) {
    parser
        .add_option("--at", at_,
                    "about the equilibrium (static), the initial values (start), or the point of a run at time T")
        ->type_name("static|start|T")
        ->default_str("static");
    parser
        .add_option(
            "--axes", axes_,
            "axes for perturbations of spinning bodies: inertial, or fixed to the body; automatic: those with constant "
            "coefficients, inertial ones first")
        ->type_name("automatic|inertial|body")
        ->default_str("automatic");
    parser.add_option("--count", count_, "largest number of modes, lowest frequencies first; 0: all")
        ->type_name("N")
        ->default_str("20");
    parser
        .add_option("--along", along_,
                    "eigenvalues over a parameter of the model (Campbell diagram), at POINTS values, 41 by default")
        ->type_name("NAME=FROM:TO[:POINTS]");
    parser.add_flag(
        "--matrices", wants_matrices_,
        "with --json: also A, B, C, D of y' = A y + B u, outputs = C y + D u, and X, V with x = X p, dv = V y");
    parser.add_option("--out", out_, "write these matrices to FILE.npz or FILE.json")->type_name("FILE");
    plots_.add_to(parser);
    parser.add_option("--mode", animated_, "the mode animated in the page of --html")->type_name("N")->default_str("1");
    parser.add_flag_callback(
        "--assemble", [this] { spec_.set("assemble", true); }, "first move the bodies so that they satisfy the joints");
    parser.add_flag("--json", is_json_, "print one JSON object, with shapes");
    parser.footer(
        "Linearises the equations on the constraints. Warns if the coefficients change along the motion.\n"
        "Examples:\n  kreisel modes double-pendulum\n  kreisel modes heavy-top --at start --json\n"
        "  kreisel modes quarter-car --out quarter-car.npz --svg plots\n"
        "  kreisel modes rotor.json --at start --along omega=0:200 --svg campbell");
  }

  int execute(const Invocation& invocation) override {
    model_.fill(spec_);
    if (count_ < 0) throw InvalidInput(fmt::format("--count is {}, expected 0 or more", count_));
    if (!out_.empty() && !out_.ends_with(".npz") && !out_.ends_with(".json"))
      throw InvalidInput(fmt::format("--out is '{}', expected a file that ends in .npz or .json", out_));
    axis_ = axes_named(axes_);
    spec_ = io::with_operating_point(std::move(spec_), at_);
    return along_.empty() ? execute_once(invocation) : execute_along(invocation);
  }

 private:
  /// Everything known about one point.
  struct Found {
    io::OperatingPoint point;
    analysis::Linearization linear;
    std::vector<analysis::Mode> modes;
    std::string stability;
  };

  int fail(const io::OperatingPoint& point) const {
    print_error(point.message + (at_ == "static" ? "\n  try: --at start" : ""));
    return at_ == "static" ? analysis_failed : io::ending_of(point.status).exit_code;
  }

  Found find(io::OperatingPoint point) const {
    Found out{std::move(point), {}, {}, {}};
    const system::System& system = *out.point.system;
    if (system.space().nv() + system.pattern().rows() > analysis::most_of_full_matrices) {
      if (wants_matrices_ || !out_.empty())
        throw InvalidInput("the matrices of so large a system are not written; take a coarser model");
      constexpr int usual = 20;
      out.modes = analysis::lowest_modes(system, out.point.motion, out.point.lambda, count_ > 0 ? count_ : usual);
      const bool is_stable = analysis::stability_of(out.modes).is_stable;
      out.stability = is_stable ? "none of these modes grows; others were not computed" : in_words(out.modes);
      return out;
    }
    out.linear = analysis::linearize(*out.point.system, out.point.motion, out.point.lambda, axis_);
    out.modes = analysis::modes_of(*out.point.system, out.point.motion, out.linear);
    out.stability = out.linear.is_steady ? in_words(out.modes) : "not determined by frozen coefficients";
    return out;
  }

  static void warn_of(const Found& found) {
    if (!found.linear.is_steady)
      print_warning(
          "the coefficients change along this motion: the eigenvalues are frequencies only if the motion is "
          "much slower than they are");
  }

  int execute_once(const Invocation& invocation) {
    const io::PreparedRun run = io::prepare(spec_);
    io::OperatingPoint point = io::operating_point(run, at_);
    if (!point.is_found) return fail(point);
    Found found = find(std::move(point));
    warn_of(found);
    const bool needs_outputs = found.linear.A.size() > 0 && (wants_matrices_ || !out_.empty() || plots_.are_wanted());
    const analysis::OutputMatrices outputs =
        needs_outputs
            ? analysis::output_matrices(*found.point.system, found.point.motion, found.point.lambda, found.linear)
            : analysis::OutputMatrices{};
    if (!out_.empty()) write_matrices(found, outputs);
    io::ReportData page;
    if (plots_.are_wanted()) page = page_of(run.model, found, outputs, invocation);
    const std::size_t all = found.modes.size();
    if (count_ > 0 && all > static_cast<std::size_t>(count_)) found.modes.resize(static_cast<std::size_t>(count_));
    if (invocation.wants_json)
      fmt::print("{}", io::to_text(to_json(run.model, found, outputs)));
    else
      print(run.model, found, all);
    if (plots_.are_wanted()) plots_.write(page, invocation.wants_json);
    return success;
  }

  // ---- over a parameter

  int execute_along(const Invocation& invocation) {
    const Along along = read_along(along_);
    if (wants_matrices_ || !out_.empty())
      throw InvalidInput("--along gives eigenvalues only; --out and --matrices need a single point");
    constexpr int usual_points = 41;
    const int points = along.points.value_or(usual_points);
    Branches branches;
    std::vector<double> values;
    Vector from;
    std::string label, title;
    bool is_steady = true;
    Json list = Json::array();
    for (int i = 0; i < points; ++i) {
      const double value = along.from + (along.to - along.from) * i / (points - 1);
      const io::PreparedRun run = io::prepare(io::with_parameter(spec_, along.parameter, value));
      if (label.empty()) label = label_of(run, along.parameter), title = run.model.name;
      io::OperatingPoint point = io::operating_point(run, at_, from);
      if (!point.is_found) {
        print_error(fmt::format("at {} = {:.9g}: {}", along.parameter, value, point.message));
        return at_ == "static" ? analysis_failed : io::ending_of(point.status).exit_code;
      }
      const Found found = find(std::move(point));
      if (at_ == "static") from = found.point.motion.q;
      is_steady = is_steady && found.linear.is_steady;
      branches.add(found.modes);
      values.push_back(value);
      Json eigenvalues = Json::array();
      for (const analysis::Mode& mode : found.modes)
        eigenvalues.push_back({mode.eigenvalue.real(), mode.eigenvalue.imag()});
      list.push_back({{"value", value}, {"stability", found.stability}, {"eigenvalues", std::move(eigenvalues)}});
    }
    if (!is_steady)
      print_warning(
          "the coefficients change along some of these motions: the eigenvalues are those of frozen coefficients");
    const std::vector<double> critical = critical_speeds(values, branches, label);
    if (invocation.wants_json) {
      fmt::print("{}", io::to_text({{"model", title},
                                    {"status", "success"},
                                    {"message", ""},
                                    {"parameter", along.parameter},
                                    {"critical_speeds", critical},
                                    {"points", std::move(list)}}));
    } else {
      fmt::print("{}\n", coloured(fmt::format("{} over {}", title, label), Colour::bold, stdout));
      fmt::print("  points       {} from {:.6g} to {:.6g}\n", points, along.from, along.to);
      fmt::print("  branches     {}\n", branches.list().size());
      for (const double speed : critical) fmt::print("  critical     {} = {:.9g}\n", along.parameter, speed);
      print_stability_changes(list, along.parameter);
    }
    io::ReportData page;
    page.title = fmt::format("{} over {}", title, along.parameter);
    page.command = invocation.command_line;
    page.plots.push_back(
        branch_plot("Frequencies", "frequency [Hz]", label, values, branches,
                    [](std::complex<double> e) { return std::abs(e.imag()) / (2.0 * std::numbers::pi); }));
    if (label.ends_with("[rad/s]") && along.from >= 0.0) {
      io::ReportCurve once{"once per revolution", values, {}, {}, {}};
      for (const double value : values) once.y.push_back(value / (2.0 * std::numbers::pi));
      page.plots.back().curves.push_back(std::move(once));
    }
    page.plots.push_back(branch_plot("Growth", "real part [1/s]", label, values, branches,
                                     [](std::complex<double> e) { return e.real(); }));
    if (plots_.are_wanted()) plots_.write(page, invocation.wants_json);
    return success;
  }

  template <class Part>
  static io::ReportPlot branch_plot(const std::string& title, const std::string& y, const std::string& x,
                                    const std::vector<double>& values, const Branches& branches, Part part) {
    io::ReportPlot plot{title, "", x, y, false, {}, {}};
    constexpr std::size_t most = 40;
    for (std::size_t b = 0; b < std::min(most, branches.list().size()); ++b) {
      io::ReportCurve curve{fmt::format("{}", b + 1), values, {}, {}, {}};
      for (const std::complex<double>& e : branches.list()[b]) curve.y.push_back(part(e));
      plot.curves.push_back(std::move(curve));
    }
    return plot;
  }

  /// Where a frequency equals the parameter, if that is a speed in rad/s.
  static std::vector<double> critical_speeds(const std::vector<double>& values, const Branches& branches,
                                             const std::string& label) {
    std::vector<double> list;
    if (!label.ends_with("[rad/s]")) return list;
    for (const auto& branch : branches.list())
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        const double a = branch[i].imag() - values[i], b = branch[i + 1].imag() - values[i + 1];
        if (!(branch[i].imag() > 0.0 && branch[i + 1].imag() > 0.0) || !(a * b <= 0.0) || a == b) continue;
        // Through up to four points, by inverse interpolation: eigenvalues are smooth along a branch.
        const std::size_t first = i > 0 ? i - 1 : 0, last = std::min(i + 2, values.size() - 1);
        double speed = 0.0;
        for (std::size_t j = first; j <= last; ++j) {
          double weight = 1.0;
          for (std::size_t k = first; k <= last; ++k)
            if (k != j)
              weight *=
                  (branch[k].imag() - values[k]) / ((branch[k].imag() - values[k]) - (branch[j].imag() - values[j]));
          speed += weight * values[j];
        }
        const bool is_new =
            std::ranges::none_of(list, [&](double s) { return std::abs(s - speed) < 1e-9 * std::abs(speed); });
        if (std::isfinite(speed) && is_new) list.push_back(speed);
      }
    std::ranges::sort(list);
    return list;
  }

  static void print_stability_changes(const Json& points, const std::string& parameter) {
    std::string before;
    for (const Json& point : points) {
      const std::string word = point["stability"].get<std::string>().substr(0, 8);
      if (word != before)
        fmt::print("  stability    {} from {} = {:.6g} on\n", point["stability"].get<std::string>(), parameter,
                   point["value"].get<double>());
      before = word;
    }
  }

  // ---- files

  static std::vector<std::string> input_names(const system::System& system) {
    std::vector<std::string> names;
    for (const system::InputInfo& info : system.inputs()) names.push_back(info.name);
    return names;
  }

  static std::vector<io::NamedMatrix> matrices_of(const Found& found, const analysis::OutputMatrices& outputs) {
    return {{"A", found.linear.A}, {"B", found.linear.B}, {"C", outputs.C},
            {"D", outputs.D},      {"X", found.linear.X}, {"V", found.linear.V}};
  }

  void write_matrices(const Found& found, const analysis::OutputMatrices& outputs) const {
    const std::vector<io::NamedMatrix> matrices = matrices_of(found, outputs);
    const std::vector<std::string> inputs = input_names(*found.point.system);
    io::refuse_to_overwrite(io::ReadingList::of_all(), out_, "out");
    if (out_.ends_with(".npz")) {
      io::write_npz(out_, matrices, {{"inputs", inputs}, {"outputs", outputs.columns}});
      return;
    }
    Json json;
    for (const io::NamedMatrix& matrix : matrices) json[matrix.name] = io::json_rows(matrix.values);
    json["inputs"] = inputs;
    json["outputs"] = outputs.columns;
    io::write_atomically(out_, io::to_text(json));
  }

  io::ReportData page_of(const models::Model& model, const Found& found, const analysis::OutputMatrices& outputs,
                         const Invocation& invocation) const {
    io::ReportData page;
    page.title = fmt::format("modes of {}", model.name);
    page.command = invocation.command_line;
    page.summary = {{"model", model.name}, {"stability", found.stability}};
    io::ReportTable table{"Modes",
                          {{"mode", ""},
                           {"frequency", "Hz"},
                           {"damping ratio", ""},
                           {"real part", "1/s"},
                           {"imaginary part", "rad/s"},
                           {"moves most", ""}},
                          Json::array()};
    for (std::size_t i = 0; i < found.modes.size(); ++i) {
      const analysis::Mode& mode = found.modes[i];
      table.rows.push_back({i + 1, mode.frequency(), io::number_or_null(mode.damping_ratio()), mode.eigenvalue.real(),
                            mode.eigenvalue.imag(), mode.largest});
    }
    page.tables.push_back(std::move(table));
    add_responses(found, outputs, page);
    if (!plots_.page.empty()) animate(model, found, page);
    return page;
  }

  /// |G| and its phase from every input to every output.
  static void add_responses(const Found& found, const analysis::OutputMatrices& outputs, io::ReportData& page) {
    const std::vector<std::string> inputs = input_names(*found.point.system);
    if (inputs.empty() || outputs.columns.empty()) return;
    const std::vector<double> frequencies = analysis::telling_frequencies(found.linear);
    const std::vector<Eigen::MatrixXcd> G = analysis::frequency_response(found.linear, outputs, frequencies);
    std::vector<double> hertz;
    for (const double w : frequencies) hertz.push_back(w / (2.0 * std::numbers::pi));
    for (std::size_t u = 0; u < inputs.size(); ++u) {
      io::ReportPlot size{fmt::format("{} to outputs", inputs[u]), "", "frequency [Hz]", "|G|", true, {}, {}};
      io::ReportPlot phase{
          fmt::format("{} to outputs, phase", inputs[u]), "", "lg(frequency [Hz])", "phase [deg]", false, {}, {}};
      for (std::size_t y = 0; y < outputs.columns.size(); ++y) {
        io::ReportCurve sizes{outputs.columns[y], hertz, {}, {}, {}}, phases = sizes;
        double before = 0.0;
        for (std::size_t i = 0; i < G.size(); ++i) {
          const std::complex<double> g = G[i](static_cast<Eigen::Index>(y), static_cast<Eigen::Index>(u));
          sizes.y.push_back(std::abs(g));
          const double angle = std::arg(g) * 180.0 / std::numbers::pi;
          before = i == 0 ? angle : angle + 360.0 * std::round((before - angle) / 360.0);
          phases.y.push_back(before);
          phases.x[i] = std::log10(hertz[i]);
        }
        if (std::ranges::all_of(sizes.y, [](double s) { return s == 0.0; })) continue;
        size.curves.push_back(std::move(sizes));
        phase.curves.push_back(std::move(phases));
      }
      if (size.curves.empty()) continue;
      page.plots.push_back(std::move(size));
      page.plots.push_back(std::move(phase));
    }
  }

  /// One period of a mode, large enough to be seen.
  void animate(const models::Model& model, const Found& found, io::ReportData& page) const {
    const system::System& system = *found.point.system;
    if (system.body_count() == 0 || found.modes.empty()) return;
    if (animated_ < 1 || static_cast<std::size_t>(animated_) > found.modes.size())
      throw InvalidInput(fmt::format("--mode is {}, expected a number from 1 to {}", animated_, found.modes.size()));
    constexpr int frames = 61;
    constexpr double amplitude = 0.3;  // radians, or sizes of the mechanism
    const analysis::Mode& mode = found.modes[static_cast<std::size_t>(animated_ - 1)];
    const double period = mode.frequency() > 0.0 ? 1.0 / mode.frequency() : 1.0;
    const int bodies = system.body_count(), numbers = 12;
    auto values = std::make_shared<std::vector<double>>(static_cast<std::size_t>(frames * (1 + bodies * numbers)));
    Vector q = found.point.motion.q;
    for (int i = 0; i < frames; ++i) {
      const double phase = 2.0 * std::numbers::pi * i / (frames - 1);
      const Vector x = amplitude * (mode.shape * std::polar(1.0, phase)).real();
      system.space().move(found.point.motion.q, x, q);
      (*values)[static_cast<std::size_t>(i)] = period * i / (frames - 1);
      for (int b = 0; b < bodies; ++b) {
        const system::Pose pose = system.body_pose(b, q);
        for (int k = 0; k < numbers; ++k)
          (*values)[static_cast<std::size_t>(frames * (1 + b * numbers + k) + i)] =
              k < 3 ? pose.x[k] : pose.R((k - 3) / 3, (k - 3) % 3);
      }
    }
    const auto column = [&](int k) {
      return io::Column(values->data() + static_cast<std::size_t>(frames * k), frames);
    };
    page.time = column(0);
    const Json scene = io::scene_of(model);
    for (int b = 0; b < bodies; ++b) {
      io::ReportBody body{system.body_name(b), nullptr, {}, {}};
      for (int k = 0; k < 3; ++k) body.x[static_cast<std::size_t>(k)] = column(1 + b * numbers + k);
      for (int k = 0; k < 9; ++k) body.R[static_cast<std::size_t>(k)] = column(1 + b * numbers + 3 + k);
      if (scene.is_object())
        for (const Json& entry : scene.value("bodies", Json::array()))
          if (entry.value("name", "") == body.name && entry.contains("shape")) body.shape = entry["shape"];
      page.bodies.push_back(std::move(body));
    }
    if (scene.is_object() && scene.contains("up"))
      for (int k = 0; k < 3; ++k) page.up[k] = scene["up"][static_cast<std::size_t>(k)].get<double>();
    page.notes.push_back(
        fmt::format("The animation shows mode {}: {:.6g} Hz, amplitude not to scale.", animated_, mode.frequency()));
    page.storage.push_back(std::move(values));
  }

  // ---- output

  Json to_json(const models::Model& model, const Found& found, const analysis::OutputMatrices& outputs) const {
    Json list = Json::array();
    for (const analysis::Mode& mode : found.modes)
      list.push_back({{"eigenvalue", {mode.eigenvalue.real(), mode.eigenvalue.imag()}},
                      {"frequency", mode.frequency()},
                      {"damping_ratio", io::number_or_null(mode.damping_ratio())},
                      {"largest", mode.largest},
                      {"shape_real", io::json_of(Vector(mode.shape.real()))},
                      {"shape_imag", io::json_of(Vector(mode.shape.imag()))}});
    Json out{{"model", model.name},
             {"group", model.group},
             {"status", "success"},
             {"message", ""},
             {"t", found.point.motion.t},
             {"q", io::json_of(found.point.motion.q)},
             {"v", io::json_of(found.point.motion.v)},
             {"degrees_of_freedom", found.linear.A.size() > 0 ? Json(found.linear.velocities()) : Json(nullptr)},
             {"axes", found.linear.axes == analysis::Axes::inertial ? "inertial" : "body"},
             {"stability", found.stability},
             {"modes", list}};
    if (wants_matrices_) {
      for (const io::NamedMatrix& matrix : matrices_of(found, outputs)) out[matrix.name] = io::json_rows(matrix.values);
      out["inputs"] = input_names(*found.point.system);
      out["outputs"] = outputs.columns;
    }
    return out;
  }

  void print(const models::Model& model, const Found& found, std::size_t all) const {
    const system::Motion& motion = found.point.motion;
    fmt::print("{}\n", coloured(fmt::format("{} on {}", model.name, model.group), Colour::bold, stdout));
    fmt::print("  about        {}\n", at_ == "static"  ? std::string("the equilibrium")
                                      : at_ == "start" ? std::string("the initial values")
                                                       : fmt::format("the motion at t = {:.9g}", motion.t));
    if (found.linear.A.size() > 0) fmt::print("  freedom      {} degrees\n", found.linear.velocities());
    if (!motion.v.isZero(0.0))
      fmt::print("  axes         {}\n", found.linear.axes == analysis::Axes::inertial ? "inertial" : "of the bodies");
    fmt::print("  stability    {}\n", found.stability);
    if (!out_.empty()) fmt::print("  matrices     {}\n", out_);
    if (found.modes.empty()) return;
    fmt::print("  {:>3}  {:>14}  {:>12}  {:>14}  {:>14}  {}\n", "", "frequency [Hz]", "damping", "real [1/s]",
               "imag [rad/s]", "moves most");
    for (std::size_t i = 0; i < found.modes.size(); ++i) {
      const analysis::Mode& mode = found.modes[i];
      const double ratio = mode.damping_ratio();
      fmt::print("  {:>3}  {:>14.7g}  {:>12}  {:>14.6g}  {:>14.7g}  {}\n", i + 1, mode.frequency(),
                 std::isfinite(ratio) ? fmt::format("{:.3g} %", 100.0 * ratio) : "-", mode.eigenvalue.real(),
                 mode.eigenvalue.imag(), mode.largest);
    }
    if (all > found.modes.size()) fmt::print("  {} more, see --count\n", all - found.modes.size());
  }

  ModelArguments model_;
  io::RunSpec spec_;
  std::string at_ = "static", axes_ = "automatic", along_, out_;
  analysis::Axes axis_ = analysis::Axes::automatic;
  PlotFiles plots_;
  int count_ = 20, animated_ = 1;
  bool wants_matrices_ = false, is_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_modes(CLI::App& program) {
  return std::make_unique<Modes>(
      *program.add_subcommand("modes", "Frequencies, damping and shapes of small motions of a model"));
}

}  // namespace kreisel::apps
