// From a result folder to what the page shows: which column belongs to which plot, what a body looks like, where a
// reaction force acts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "io/report/report.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

/// Rows of lambda, eta, Phi and B v that share a plot when the result names no joints.
constexpr int rows_per_plot = 9;

// ---- columns

/// "rod.v3" = {of "rod", letter "v", number 3}; "energy" = {"", "energy", 0}.
struct ColumnName {
  std::string of, word;
  int number = 0;
};

ColumnName parse(const std::string& column) {
  ColumnName name;
  const std::size_t dot = column.rfind('.');
  if (dot != std::string::npos) name.of = column.substr(0, dot);
  name.word = dot == std::string::npos ? column : column.substr(dot + 1);
  const std::size_t digits = name.word.find_last_not_of("0123456789") + 1;
  if (digits > 0 && digits < name.word.size() && name.word.size() - digits < 9) {
    name.number = std::stoi(name.word.substr(digits));
    name.word.resize(digits);
  }
  return name;
}

struct PanelStyle {
  std::string_view word;  ///< of the column name
  std::string_view group, panel, unit;
  bool is_log = false, is_open = true;
};

// The order of the page.
constexpr PanelStyle styles[] = {
    {"x", "q", "Position", "m"},
    {"q", "q", "Coordinates", ""},
    {"v", "v", "Velocity, inertial frame", "m/s"},
    {"w", "v", "Angular velocity, body frame", "rad/s"},
    {"u", "v", "Velocities", ""},
    {"lambda", "lambda", "Multipliers λ", "N or N m"},
    {"F", "reaction", "Joint force, inertial axes", "N"},
    {"T", "reaction", "Joint torque at the joint, inertial axes", "N m", false, false},
    {"Phi", "residual", "Constraints Φ", "m or rad", true},
    {"Bv", "residual", "Constraints B v + Φₜ", "m/s or rad/s", true},
    {"change", "energy", "Energy change", "J"},
    {"h", "step", "Step size", "s"},
    {"order", "step", "Order", ""},
    {"eta", "eta", "Multipliers η", "", true, false},
    {"R", "q", "Rotation matrix", "", false, false},
    {"energy", "energy", "Energy", "J", false, false},
    {"a", "a", "Acceleration, inertial frame", "m/s²", false, false},
    {"dw", "a", "Angular acceleration, body frame", "rad/s²", false, false},
    {"du", "a", "Accelerations", "", false, false},
};

const PanelStyle* style_of(std::string_view word) {
  for (const PanelStyle& style : styles)
    if (style.word == word) return &style;
  return nullptr;
}

/// How many of v1, v2, … a body has, and whether it turns.
struct Extent {
  int velocities = 0;
  bool has_rotation = false, has_position = false;
};

/// The word under which styles[] lists a column; empty for columns that no plot shows.
std::string_view style_word(const ColumnName& name, const Extent& extent) {
  const bool is_position = name.number == 0 && (name.word == "x" || name.word == "y" || name.word == "z");
  if (is_position) return "x";
  if (name.word == "v" || name.word == "a") {
    const bool is_velocity = name.word == "v";
    if (!extent.has_rotation) return is_velocity ? "u" : "du";
    const bool is_linear = extent.velocities == 6 && name.number <= 3;
    if (is_linear) return is_velocity ? "v" : "a";
    return is_velocity ? "w" : "dw";
  }
  if (name.word == "Fx" || name.word == "Fy" || name.word == "Fz") return "F";
  if (name.word == "Tx" || name.word == "Ty" || name.word == "Tz") return "T";
  if (name.word == "kinetic" || name.word == "potential" || name.word == "elastic") return "energy";
  const PanelStyle* style = style_of(name.word);
  return style != nullptr ? style->word : std::string_view();
}

/// Joints by row, for the plots of multipliers and residuals.
struct JointRows {
  std::string name;
  int begin = 0, count = 0;
};

std::string joint_of_row(int row, int rows, const std::vector<JointRows>& joints) {
  for (const JointRows& joint : joints)
    if (row >= joint.begin && row < joint.begin + joint.count) return joint.name;
  if (rows <= rows_per_plot) return {};
  const int begin = row / rows_per_plot * rows_per_plot;
  return fmt::format("rows {} to {}", begin + 1, std::min(rows, begin + rows_per_plot));
}

bool is_row_quantity(std::string_view word) { return word == "lambda" || word == "eta" || word == "Phi" || word == "Bv"; }

Column column_of(const Trajectory& trajectory, std::size_t index) {
  return {trajectory.values.data() + static_cast<Eigen::Index>(index) * trajectory.values.rows(),
          static_cast<std::size_t>(trajectory.values.rows())};
}

bool has_numbers(Column values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// A column of its own, kept by the data.
Column own(ReportData& data, std::vector<double> values) {
  auto kept = std::make_shared<const std::vector<double>>(std::move(values));
  data.storage.push_back(kept);
  return {kept->data(), kept->size()};
}

Column change_of(ReportData& data, Column values) {
  const double first = values.empty() ? 0.0 : values.front();
  std::vector<double> out(values.begin(), values.end());
  for (double& value : out) value -= first;
  return own(data, std::move(out));
}

/// A column that an output of the model has.
struct OutputColumn {
  std::string column, name, unit;
};

std::vector<OutputColumn> output_columns(const Json& summary) {
  std::vector<OutputColumn> columns;
  if (!summary.contains("outputs") || !summary["outputs"].is_array()) return columns;
  for (const Json& output : summary["outputs"]) {
    if (!output.is_object()) continue;
    const std::string name = output.value("name", ""), unit = output.value("unit", "");
    const Json components = output.value("components", Json::array());
    if (components.empty()) columns.push_back({name, name, unit});
    for (const Json& component : components)
      if (component.is_string()) columns.push_back({name + "." + component.get<std::string>(), name, unit});
  }
  return columns;
}

class ColumnReader {
 public:
  /// `is_se3`: the trajectory has velocities of the centre of mass in the body frame; by body where these differ.
  ColumnReader(const Trajectory& trajectory, std::vector<JointRows> joints, bool is_se3,
               std::map<std::string, bool> is_body_se3, std::vector<OutputColumn> outputs, ReportData& data)
      : trajectory_(trajectory),
        joints_(std::move(joints)),
        is_se3_(is_se3),
        is_body_se3_(std::move(is_body_se3)),
        outputs_(std::move(outputs)),
        data_(data) {
    for (const std::string& column : trajectory.columns) {
      const bool is_output = std::ranges::count(outputs_, column, &OutputColumn::column) > 0;
      names_.push_back(is_output ? ColumnName{} : parse(column));
      if (is_output) continue;
      const ColumnName& name = names_.back();
      Extent& extent = extents_[name.of];
      if (name.word == "v") extent.velocities = std::max(extent.velocities, name.number);
      if (name.word == "R") extent.has_rotation = true;
      if (name.word == "x") extent.has_position = true;
      if (is_row_quantity(name.word)) rows_[name.word] = std::max(rows_[name.word], name.number);
    }
  }

  void add_series() {
    for (const OutputColumn& output : outputs_) {
      if (!has(output.column) || !has_numbers(named(output.column))) continue;
      if (data_.panels.empty() || data_.panels.back().name != output.name)
        data_.panels.push_back({output.name, false, true});
      ReportSeries out;
      out.group = "output";
      out.panel = output.name;
      out.unit = output.unit;
      out.name = output.column;
      out.values = named(output.column);
      data_.series.push_back(std::move(out));
    }
    std::map<std::string_view, std::vector<ReportSeries>> by_word;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string_view word = style_word(names_[i], extents_[names_[i].of]);
      if (word.empty() || !has_numbers(column_of(trajectory_, i))) continue;
      by_word[word].push_back(series(i, *style_of(word)));
      const auto of_body = is_body_se3_.find(names_[i].of);
      const bool is_se3 = of_body != is_body_se3_.end() ? of_body->second : is_se3_;
      if (is_se3 && (word == "v" || word == "a")) by_word[word].back().values = own(data_, in_inertial_frame(names_[i]));
      if (names_[i].word != "energy") continue;
      ReportSeries change = series(i, *style_of("change"));
      change.name = "energy - energy(0)";
      change.values = change_of(data_, change.values);
      by_word["change"].push_back(std::move(change));
    }
    for (const PanelStyle& style : styles) {
      auto& list = by_word[style.word];
      if (list.empty()) continue;
      data_.panels.push_back({std::string(style.panel), style.is_log, style.is_open});
      std::move(list.begin(), list.end(), std::back_inserter(data_.series));
    }
  }

  /// Everything with a position and a rotation matrix.
  void add_bodies() {
    for (const std::string& column : trajectory_.columns) {
      const ColumnName name = parse(column);
      const Extent& extent = extents_[name.of];
      if (std::ranges::count(outputs_, column, &OutputColumn::column) > 0) continue;
      if (name.word != "x" || name.number != 0 || !extent.has_rotation) continue;
      const std::string prefix = name.of.empty() ? "" : name.of + ".";
      ReportBody body;
      body.name = name.of;
      for (std::size_t i = 0; i < 3; ++i) body.x[i] = named(prefix + "xyz"[i]);
      for (std::size_t i = 0; i < 9; ++i) body.R[i] = named(fmt::format("{}R{}{}", prefix, i / 3 + 1, i % 3 + 1));
      data_.bodies.push_back(std::move(body));
    }
  }

  Column named(const std::string& column) const {
    return column_of(trajectory_, static_cast<std::size_t>(trajectory_.index(column)));
  }
  bool has(const std::string& column) const {
    return std::find(trajectory_.columns.begin(), trajectory_.columns.end(), column) != trajectory_.columns.end();
  }

 private:
  ReportSeries series(std::size_t i, const PanelStyle& style) const {
    const ColumnName& name = names_[i];
    ReportSeries out;
    out.group = style.group;
    out.panel = style.panel;
    out.unit = style.unit;
    out.of = is_row_quantity(name.word) ? joint_of_row(name.number - 1, rows_.at(name.word), joints_) : name.of;
    out.name = name.number > 0 ? fmt::format("{}{}", name.word, name.number) : name.word;
    out.values = column_of(trajectory_, i);
    return out;
  }

  /// u = R U and u̇ = R (U̇ + Ω × U), the component that the column names.
  std::vector<double> in_inertial_frame(const ColumnName& name) const {
    const std::string prefix = name.of.empty() ? "" : name.of + ".";
    const auto column = [&](char letter, int number) { return named(fmt::format("{}{}{}", prefix, letter, number)); };
    const auto triple_at = [&](char letter, int first) { return std::array{column(letter, first), column(letter, first + 1), column(letter, first + 2)}; };
    const bool is_velocity = name.word == "v";
    const std::array<Column, 3> U = triple_at('v', 1), W = triple_at('v', 4), U_dot = is_velocity ? U : triple_at('a', 1);
    std::array<Column, 3> row;
    for (int j = 0; j < 3; ++j) row[static_cast<std::size_t>(j)] = named(fmt::format("{}R{}{}", prefix, name.number, j + 1));
    const auto at = [](const std::array<Column, 3>& columns, std::size_t i) { return Vector3(columns[0][i], columns[1][i], columns[2][i]); };
    std::vector<double> out(static_cast<std::size_t>(trajectory_.values.rows()));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = at(row, i).dot(is_velocity ? at(U, i) : Vector3(at(U_dot, i) + at(W, i).cross(at(U, i))));
    return out;
  }

  const Trajectory& trajectory_;
  std::vector<JointRows> joints_;
  bool is_se3_;
  std::map<std::string, bool> is_body_se3_;
  std::vector<OutputColumn> outputs_;
  ReportData& data_;
  std::vector<ColumnName> names_;
  std::map<std::string, Extent> extents_;
  std::map<std::string, int> rows_;
};

// ---- the scene: shapes and reaction forces

/// Text of a field, or empty.
std::string word_at(const Json& json, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  return json.contains(at) && json.at(at).is_string() ? json.at(at).get<std::string>() : std::string();
}

bool is_vector(const Json& json) {
  return json.is_array() && json.size() == 3 &&
         std::all_of(json.begin(), json.end(), [](const Json& entry) { return entry.is_number(); });
}

Vector3 vector_of(const Json& json) {
  return is_vector(json) ? Vector3(json[0].get<double>(), json[1].get<double>(), json[2].get<double>()) : Vector3::Zero();
}

/// What summary.json says, or what the built-in models look like.
Json scene_of(const Json& summary) {
  if (summary.contains("scene") && summary["scene"].is_object()) return summary["scene"];
  const std::string model = word_at(summary, "/model");
  if (model != "heavy-top" && model != "stiff-top") return Json::object();
  const bool is_inertial = word_at(summary, "/parameters/model/constraint") == "inertial";
  const Json tip = {0.0, -1.0, 0.0};
  return {{"bodies", Json::array({{{"name", "top"}, {"shape", {{"top", {{"tip", tip}, {"radius", 0.4}}}}}}})},
          {"joints", Json::array({{{"name", "tip"},
                                   {"body", "top"},
                                   {"at", tip},
                                   {"first_row", 1},
                                   {"rows", 3},
                                   {"frame", is_inertial ? "inertial" : "body"}}})}};
}

std::vector<JointRows> joint_rows(const Json& scene) {
  std::vector<JointRows> out;
  for (const Json& joint : scene.value("joints", Json::array())) {
    if (!joint.is_object()) continue;
    out.push_back({joint.value("name", ""), joint.value("first_row", 1) - 1, joint.value("rows", 0)});
  }
  return out;
}

Vector3 position(const ReportBody& body, std::size_t i) { return {body.x[0][i], body.x[1][i], body.x[2][i]}; }

Matrix3 rotation(const ReportBody& body, std::size_t i) {
  Matrix3 R;
  for (std::size_t k = 0; k < 9; ++k) R(static_cast<Eigen::Index>(k / 3), static_cast<Eigen::Index>(k % 3)) = body.R[k][i];
  return R;
}

/// Three columns, or nothing when one is not there.
std::optional<std::array<Column, 3>> triple(const ColumnReader& columns, const std::array<std::string, 3>& names) {
  std::array<Column, 3> out;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!columns.has(names[i])) return std::nullopt;
    out[i] = columns.named(names[i]);
  }
  return out;
}

/// The force on the body of a joint, or on the ground, from the columns NAME.Fx, … that results of mechanisms have.
bool add_reaction(const Json& joint, const ColumnReader& columns, ReportData& data) {
  const std::string name = joint.value("name", "");
  const auto force = triple(columns, {name + ".Fx", name + ".Fy", name + ".Fz"});
  if (!force) return false;
  const Vector3 at = vector_of(joint.value("at", Json()));
  const std::string owner = word_at(joint, "/body");
  const auto body = std::find_if(data.bodies.begin(), data.bodies.end(), [&](const auto& b) { return b.name == owner; });
  if (!owner.empty() && body == data.bodies.end()) return false;
  std::optional<ReportBody> moving;
  if (!owner.empty()) moving = *body;
  data.forces.push_back({name, [moving, force = *force, at](Eigen::Index point) {
                           const auto i = static_cast<std::size_t>(point);
                           return ReportForce::Value{moving ? Vector3(position(*moving, i) + rotation(*moving, i) * at) : at,
                                                     Vector3(force[0][i], force[1][i], force[2][i])};
                         }});
  return true;
}

/// The force that three rows of λ exert on a body: "sign" times λ, turned into the inertial frame.
void add_force(const Json& joint, const ColumnReader& columns, ReportData& data) {
  if (add_reaction(joint, columns, data)) return;
  const int first = joint.value("first_row", 1);
  if (joint.value("rows", 0) < 3) return;
  const auto rows = triple(columns, {fmt::format("lambda{}", first), fmt::format("lambda{}", first + 1), fmt::format("lambda{}", first + 2)});
  if (!rows) return;
  const std::string owner = word_at(joint, "/body");
  const auto body = std::find_if(data.bodies.begin(), data.bodies.end(), [&](const auto& b) { return b.name == owner; });
  if (body == data.bodies.end()) return;
  const Vector3 at = vector_of(joint.value("at", Json()));
  const double sign = joint.value("sign", 1.0);
  const bool is_inertial = joint.value("frame", "inertial") == "inertial";
  data.forces.push_back({joint.value("name", ""), [body = *body, lambda = *rows, at, sign, is_inertial](Eigen::Index point) {
                           const auto i = static_cast<std::size_t>(point);
                           const Matrix3 R = rotation(body, i);
                           const Vector3 force = sign * Vector3(lambda[0][i], lambda[1][i], lambda[2][i]);
                           return ReportForce::Value{position(body, i) + R * at, is_inertial ? force : Vector3(R * force)};
                         }});
}

void apply_scene(const Json& scene, const ColumnReader& columns, ReportData& data) {
  data.up = vector_of(scene.value("up", Json()));
  for (const Json& entry : scene.value("bodies", Json::array())) {
    if (!entry.is_object()) continue;
    for (ReportBody& body : data.bodies)
      if (body.name == entry.value("name", "")) body.shape = entry.value("shape", Json());
  }
  for (const Json& joint : scene.value("joints", Json::array()))
    if (joint.is_object()) add_force(joint, columns, data);
}

/// The mass point of the built-in pendulum swings in the x-z plane; its rod gives it a rotation.
void add_pendulum(const ColumnReader& columns, ReportData& data) {
  if (!columns.has("q1") || !columns.has("q2")) return;
  const Column x = columns.named("q1"), z = columns.named("q2");
  const std::size_t count = x.size();
  const Column zeros = own(data, std::vector<double>(count, 0.0)), ones = own(data, std::vector<double>(count, 1.0));
  std::vector<double> cosine(count), sine(count), minus_sine(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double length = std::hypot(x[i], z[i]);
    cosine[i] = length > 0.0 ? -z[i] / length : 1.0;
    sine[i] = length > 0.0 ? -x[i] / length : 0.0;
    minus_sine[i] = -sine[i];
  }
  const double length = count > 0 ? std::hypot(x[0], z[0]) : 1.0;
  const Column c = own(data, std::move(cosine)), s = own(data, std::move(sine)), ms = own(data, std::move(minus_sine));
  ReportBody bob;
  bob.name = "bob";
  bob.shape = {{"sphere", {{"radius", 0.09 * length}, {"rod", {0.0, 0.0, length}}}}};
  bob.x = {x, zeros, z};
  bob.R = {c, zeros, s, zeros, ones, zeros, ms, zeros, c};
  data.bodies.push_back(bob);
  if (!columns.has("lambda1")) return;
  const Column lambda = columns.named("lambda1");
  data.forces.push_back({"rod", [x, z, lambda](Eigen::Index point) {
                           const auto i = static_cast<std::size_t>(point);
                           const Vector3 at(x[i], 0.0, z[i]);
                           return ReportForce::Value{at, -lambda[i] * at};  // B = (x, y)
                         }});
}

// ---- folders

/// The first of these that is there; an empty path when none is.
Path first_in(const Path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(folder / name, ignored)) return folder / name;
  }
  return {};
}

void add_events(const Json& summary, ReportData& data) {
  const Json events = summary.value("events", Json::array());
  if (!events.is_array() || events.empty()) return;
  ReportTable table;
  table.title = "Events";
  table.columns = {{"t", "s"}, {"event", ""}, {"action", ""}};
  table.rows = Json::array();
  for (const Json& event : events)
    table.rows.push_back({event.value("t", Json()), event.value("name", ""), event.value("terminal", false) ? "end of the run" : event.value("action", "")});
  data.tables.push_back(table);
}

ReportData read_run(const Path& folder) {
  const Json summary = JsonSource::read(folder / "summary.json", "summary").root();
  ReportData data;
  data.summary = summary;
  data.title = word_at(summary, "/model");
  if (data.title.empty()) data.title = folder.filename().string();
  data.command = word_at(summary, "/kreisel/command");
  add_events(summary, data);
  const Path file = first_in(folder, {"trajectory.csv", "trajectory.h5", "trajectory.h5.part", "trajectory.csv.part"});
  if (file.empty()) {
    data.notes.push_back("The result has no trajectory.");
    return data;
  }
  if (file.extension() == part_suffix) data.notes.push_back("The trajectory is incomplete: the run goes on, or it was killed.");
  const auto trajectory = std::make_shared<const Trajectory>(read_trajectory(file));
  if (trajectory->values.rows() == 0) {
    data.notes.push_back("The trajectory has no points.");
    return data;
  }
  data.storage.push_back(trajectory);
  data.time = column_of(*trajectory, static_cast<std::size_t>(trajectory->index("t")));
  try {
    const Json scene = scene_of(summary);
    std::map<std::string, bool> is_body_se3;
    if (scene.is_object())
      for (const Json& body : scene.value("bodies", Json::array()))
        if (body.contains("group")) is_body_se3[body.value("name", "")] = body.value("group", "") == "se3";
    ColumnReader columns(*trajectory, joint_rows(scene), word_at(summary, "/group") == "se3", std::move(is_body_se3),
                         output_columns(summary), data);
    columns.add_series();
    columns.add_bodies();
    if (word_at(summary, "/model") == "pendulum") add_pendulum(columns, data);
    apply_scene(scene, columns, data);
  } catch (const Json::exception& error) {
    throw InvalidInput(fmt::format("'{}': bad \"scene\": {}", (folder / "summary.json").string(), error.what()));
  }
  return data;
}

// ---- studies

std::vector<double> numbers_of(const Json& json) {
  std::vector<double> out;
  for (const Json& entry : json) out.push_back(entry.is_number() ? entry.get<double>() : std::numeric_limits<double>::quiet_NaN());
  return out;
}

ReportCurve curve_of(const Json& json) {
  ReportCurve curve;
  curve.name = json.value("name", "");
  curve.x = numbers_of(json.value("x", Json::array()));
  curve.y = numbers_of(json.value("y", Json::array()));
  if (json.contains("order") && json["order"].is_number()) curve.order = json["order"].get<double>();
  for (const Json& entry : json.value("marked", Json::array())) curve.is_marked.push_back(entry.is_boolean() && entry.get<bool>());
  return curve;
}

ReportSlope slope_of(const Json& json) {
  if (json.is_number()) return {json.get<double>()};
  return {json.at("order").get<double>(), Eigen::Vector2d(json.at("x").get<double>(), json.at("y").get<double>())};
}

ReportPlot plot_of(const Json& json) {
  ReportPlot plot;
  plot.title = json.value("title", "");
  plot.note = json.value("note", "");
  plot.x_label = json.value("x_label", "");
  plot.y_label = json.value("y_label", "");
  plot.is_log = json.value("log", true);
  for (const Json& curve : json.value("curves", Json::array())) plot.curves.push_back(curve_of(curve));
  for (const Json& slope : json.value("slopes", Json::array())) plot.slopes.push_back(slope_of(slope));
  return plot;
}

ReportTable table_of(const Json& json) {
  ReportTable table;
  table.title = json.value("title", "Table");
  for (const Json& head : json.value("columns", Json::array())) {
    if (head.is_string())
      table.columns.push_back({head.get<std::string>(), ""});
    else
      table.columns.push_back({head.value("name", ""), head.value("unit", "")});
  }
  table.rows = json.value("rows", Json::array());
  return table;
}

ReportData read_study(const Path& folder) {
  const Path file = folder / "study.json";
  const Json study = JsonSource::read(file, "study").root();
  ReportData data;
  try {
    data.title = study.value("title", folder.filename().string());
    data.command = study.value("command", "");
    data.summary = study.value("summary", Json::object());
    for (const Json& plot : study.value("plots", Json::array())) data.plots.push_back(plot_of(plot));
    for (const Json& table : study.value("tables", Json::array())) data.tables.push_back(table_of(table));
    data.notes = study.value("notes", std::vector<std::string>());
  } catch (const Json::exception& error) {
    throw InvalidInput(fmt::format("'{}' is no study of kreisel: {}", file.string(), error.what()));
  }
  return data;
}

}  // namespace

ReportData read_report_data(const Path& result) {
  const Path folder = result.has_filename() ? result : result.parent_path();
  if (!first_in(folder, {"summary.json"}).empty()) return read_run(folder);
  if (!first_in(folder, {"study.json"}).empty()) return read_study(folder);
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw InvalidInput(fmt::format("'{}' is no folder; expected the result folder of a run, as 'kreisel run MODEL --out DIR' "
                                   "makes it",
                                   folder.string()));
  throw InvalidInput(fmt::format("'{}' holds no result: neither summary.json nor study.json is there", folder.string()));
}

}  // namespace kreisel::io
