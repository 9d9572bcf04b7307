// From a result folder to the content of the page: which column belongs to which plot, the shapes of bodies, where
// reaction forces act.
#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "io/report/report.hpp"
#include "io/trajectory/long_trajectory.hpp"
#include "io/trajectory/turns.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

/// Rows of lambda, eta, Phi and B v of one element that share a plot.
constexpr int rows_per_plot = 9;

// ---- columns

/// The columns of a quantity whose component begins with one of these letters; empty: all of them.
struct PanelStyle {
  std::string_view quantity, letters;
  std::string_view group, panel, unit;  ///< no unit: that of the column
  bool is_log = false, is_open = true;
};

// The order of the page. A column belongs to the first entry that fits.
constexpr PanelStyle styles[] = {
    {"q", "xyz", "q", "Position", ""},
    {"q", "q", "q", "Coordinates", ""},
    {"v", "uU", "v", "Velocity, inertial frame", ""},
    {"v", "W", "v", "Angular velocity, body frame", ""},
    {"v", "v", "v", "Velocities", ""},
    {"lambda", "", "lambda", "Multipliers λ", ""},
    {"reaction", "F", "reaction", "Joint force, inertial axes", ""},
    {"reaction", "T", "reaction", "Joint torque at the joint, inertial axes", "", false, false},
    {"reaction_joint", "F", "reaction", "Joint force, axes of the joint", "", false, false},
    {"reaction_joint", "T", "reaction", "Joint torque, axes of the joint", "", false, false},
    {"Phi", "", "residual", "Constraints Φ", "", true},
    {"Bv", "", "residual", "Constraints B v + Φₜ", "", true},
    {"energy change", "", "energy", "Energy change", "J"},
    {"h", "", "step", "Step size", ""},
    {"order", "", "step", "Order", ""},
    {"eta", "", "eta", "Multipliers η", "", true, false},
    {"q", "R", "q", "Rotation matrix", "", false, false},
    {"energy", "", "energy", "Energy", "", false, false},
    {"energy_parts", "", "energy", "Energy", "", false, false},
    {"work", "", "work", "Work and dissipation", "", false, false},
    {"balance", "", "work", "Balance of energy and work", "", false, false},
    {"a", "uU", "a", "Acceleration, inertial frame", "", false, false},
    {"a", "W", "a", "Angular acceleration, body frame", "", false, false},
    {"a", "a", "a", "Accelerations", "", false, false},
    {"", "", "q", "Columns", ""},
};

/// Null for columns that no plot shows.
const PanelStyle* style_of(const TrajectoryColumn& column) {
  for (const PanelStyle& style : styles)
    if (style.quantity == column.quantity &&
        (style.letters.empty() ||
         (!column.component.empty() && style.letters.find(column.component.front()) != std::string_view::npos)))
      return &style;
  return nullptr;
}

const PanelStyle& style_of_energy_change() {
  return *std::find_if(std::begin(styles), std::end(styles),
                       [](const PanelStyle& s) { return s.quantity == "energy change"; });
}

/// As pages write units.
std::string unit_on_page(const std::string& unit) {
  if (unit == "1") return {};
  std::string out = unit;
  for (const auto& [power, sign] : {std::pair{"^2", "²"}, {"^3", "³"}, {"^4", "⁴"}})
    for (std::size_t at = out.find(power); at != std::string::npos; at = out.find(power)) out.replace(at, 2, sign);
  return out;
}

/// vx, vy, vz and wx, wy, wz of bodies; ax … and wx' … of their derivatives. Empty: the column keeps its name.
std::string name_of_rate(const TrajectoryColumn& column) {
  const bool is_velocity = column.quantity == "v";
  if ((!is_velocity && column.quantity != "a") || column.component.size() != 2) return {};
  const char letter = column.component[0], axis = column.component[1];
  if ((letter != 'u' && letter != 'U' && letter != 'W') || axis < '1' || axis > '3') return {};
  const char named = "xyz"[axis - '1'];
  if (letter == 'W') return fmt::format("w{}{}", named, is_velocity ? "" : "'");
  return fmt::format("{}{}", is_velocity ? 'v' : 'a', named);
}

bool is_row_quantity(std::string_view quantity) {
  return quantity == "lambda" || quantity == "eta" || quantity == "Phi" || quantity == "Bv";
}

Column column_of(const Trajectory& trajectory, std::size_t index) {
  return {trajectory.values.data() + static_cast<Eigen::Index>(index) * trajectory.values.rows(),
          static_cast<std::size_t>(trajectory.values.rows())};
}

bool has_numbers(Column values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// A new column, owned by the data.
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

class ColumnReader {
 public:
  ColumnReader(const Trajectory& trajectory, ReportData& data) : trajectory_(trajectory), data_(data) {
    for (const TrajectoryColumn& column : trajectory.columns)
      if (is_row_quantity(column.quantity)) ++rows_[{column.quantity, column.element}];
  }

  void add_series() {
    for (std::size_t i = 0; i < trajectory_.columns.size(); ++i)
      if (trajectory_.columns[i].quantity == "output" && has_numbers(column_of(trajectory_, i))) add_output(i);
    std::map<const PanelStyle*, std::vector<ReportSeries>> by_style;
    std::map<std::pair<std::string, std::string>, int> seen;
    for (std::size_t i = 0; i < trajectory_.columns.size(); ++i) {
      const TrajectoryColumn& column = trajectory_.columns[i];
      const PanelStyle* style = style_of(column);
      const int row = is_row_quantity(column.quantity) ? seen[{column.quantity, column.element}]++ : 0;
      if (style == nullptr || column.name == "t" || !has_numbers(column_of(trajectory_, i))) continue;
      by_style[style].push_back(series(i, *style, row));
      if (column.component.starts_with('U')) {
        by_style[style].back().values = own(data_, in_inertial_frame(column));
        by_style[style].back().column = -1;
      }
      if (column.quantity != "energy") continue;
      ReportSeries change = series(i, style_of_energy_change(), 0);
      change.name = "energy - energy(0)";
      change.values = change_of(data_, change.values);
      change.column = -1;
      by_style[&style_of_energy_change()].push_back(std::move(change));
    }
    for (const PanelStyle& style : styles) {
      auto& list = by_style[&style];
      if (list.empty()) continue;
      const auto is_same = [&](const ReportPanel& panel) { return panel.name == style.panel; };
      if (std::none_of(data_.panels.begin(), data_.panels.end(), is_same))
        data_.panels.push_back({std::string(style.panel), style.is_log, style.is_open});
      std::move(list.begin(), list.end(), std::back_inserter(data_.series));
    }
  }

  /// Everything with a position and a rotation matrix.
  void add_bodies() {
    for (const TrajectoryColumn& column : trajectory_.columns) {
      if (column.quantity != "q" || column.component != "x" || !trajectory_.find("q", column.element, "R11")) continue;
      ReportBody body;
      body.name = column.element;
      for (std::size_t i = 0; i < 3; ++i) body.x[i] = meant("q", column.element, std::string(1, "xyz"[i]));
      for (std::size_t i = 0; i < 9; ++i)
        body.R[i] = meant("q", column.element, fmt::format("R{}{}", i / 3 + 1, i % 3 + 1));
      body.is_left = has("v", column.element, "U1");
      const auto rates = [&](const char* quantity, char letter, std::array<Column, 3>& out) {
        if (has(quantity, column.element, fmt::format("{}1", letter)))
          for (std::size_t i = 0; i < 3; ++i)
            out[i] = meant(quantity, column.element, fmt::format("{}{}", letter, i + 1));
      };
      rates("v", 'W', body.W);
      rates("a", 'W', body.W_dot);
      rates("v", body.is_left ? 'U' : 'u', body.V);
      rates("a", body.is_left ? 'U' : 'u', body.V_dot);
      data_.bodies.push_back(std::move(body));
    }
  }

  Column named(const std::string& column) const {
    return column_of(trajectory_, static_cast<std::size_t>(trajectory_.index(column)));
  }
  bool has(const std::string& column) const {
    return std::ranges::any_of(trajectory_.columns, [&](const TrajectoryColumn& c) { return c.name == column; });
  }
  bool has(std::string_view quantity, std::string_view element, std::string_view component) const {
    return trajectory_.find(quantity, element, component).has_value();
  }
  /// By its meaning; throws InvalidInput for a file that lacks it.
  Column meant(std::string_view quantity, std::string_view element, std::string_view component) const {
    const std::optional<Eigen::Index> found = trajectory_.find(quantity, element, component);
    if (!found) throw InvalidInput(fmt::format("the trajectory has no {} {} of '{}'", quantity, component, element));
    return column_of(trajectory_, static_cast<std::size_t>(*found));
  }
  /// A column by its name, or a constant.
  Column column_or_constant(const Json& entry) const {
    if (entry.is_string()) return named(entry.get<std::string>());
    return own(data_, std::vector<double>(static_cast<std::size_t>(trajectory_.values.rows()), entry.get<double>()));
  }
  /// Three of them.
  std::array<Column, 3> triple(const Json& entries) const {
    return {column_or_constant(entries.at(0)), column_or_constant(entries.at(1)), column_or_constant(entries.at(2))};
  }

 private:
  /// One plot per output.
  void add_output(std::size_t i) {
    const TrajectoryColumn& column = trajectory_.columns[i];
    if (data_.panels.empty() || data_.panels.back().name != column.element)
      data_.panels.push_back({column.element, false, true});
    ReportSeries out;
    out.group = "output";
    out.panel = column.element;
    out.unit = unit_on_page(column.unit);
    out.name = column.name;
    out.values = column_of(trajectory_, i);
    out.source = column.name;
    out.column = static_cast<int>(i);
    data_.series.push_back(std::move(out));
  }
  /// `row`: number of a multiplier or residual within its element.
  ReportSeries series(std::size_t i, const PanelStyle& style, int row) const {
    const TrajectoryColumn& column = trajectory_.columns[i];
    ReportSeries out;
    out.group = style.group;
    out.panel = style.panel;
    out.unit = style.unit.empty() ? unit_on_page(column.unit) : std::string(style.unit);
    out.of = column.element;
    if (is_row_quantity(column.quantity))
      if (const int rows = rows_.at({column.quantity, column.element}); rows > rows_per_plot) {
        const int begin = row / rows_per_plot * rows_per_plot;
        out.of +=
            fmt::format("{}rows {} to {}", out.of.empty() ? "" : " ", begin + 1, std::min(rows, begin + rows_per_plot));
      }
    const bool has_prefix = column.name.size() > column.element.size() && column.name.starts_with(column.element + ".");
    out.name = has_prefix ? column.name.substr(column.element.size() + 1) : column.name;
    if (const std::string name = name_of_rate(column); !name.empty()) out.name = name;
    out.values = column_of(trajectory_, i);
    out.source = column.name;
    out.column = static_cast<int>(i);
    return out;
  }

  /// u = R U and u̇ = R (U̇ + Ω × U), the component that the column names.
  std::vector<double> in_inertial_frame(const TrajectoryColumn& column) const {
    const auto triple_of = [&](const char* quantity, char letter) {
      std::array<Column, 3> out;
      for (std::size_t i = 0; i < 3; ++i) out[i] = meant(quantity, column.element, fmt::format("{}{}", letter, i + 1));
      return out;
    };
    const bool is_velocity = column.quantity == "v";
    const std::array<Column, 3> U = triple_of("v", 'U'), W = triple_of("v", 'W'),
                                U_dot = is_velocity ? U : triple_of("a", 'U');
    std::array<Column, 3> row;
    for (std::size_t j = 0; j < 3; ++j)
      row[j] = meant("q", column.element, fmt::format("R{}{}", column.component[1], j + 1));
    const auto at = [](const std::array<Column, 3>& columns, std::size_t i) {
      return Vector3(columns[0][i], columns[1][i], columns[2][i]);
    };
    std::vector<double> out(static_cast<std::size_t>(trajectory_.values.rows()));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = at(row, i).dot(is_velocity ? at(U, i) : Vector3(at(U_dot, i) + at(W, i).cross(at(U, i))));
    return out;
  }

  const Trajectory& trajectory_;
  ReportData& data_;
  std::map<std::pair<std::string, std::string>, int> rows_;  ///< by quantity and element
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
  return is_vector(json) ? Vector3(json[0].get<double>(), json[1].get<double>(), json[2].get<double>())
                         : Vector3::Zero();
}

Matrix3 rotation(const ReportBody& body, std::size_t i) {
  Matrix3 R;
  for (std::size_t k = 0; k < 9; ++k)
    R(static_cast<Eigen::Index>(k / 3), static_cast<Eigen::Index>(k % 3)) = body.R[k][i];
  return R;
}

/// The force on the body of a joint, or on the ground, from the reactions that results of mechanisms have.
bool add_reaction(const Json& joint, const ColumnReader& columns, ReportData& data) {
  const std::string name = joint.value("name", "");
  if (!columns.has("reaction", name, "Fx")) return false;
  const std::array<Column, 3> force{columns.meant("reaction", name, "Fx"), columns.meant("reaction", name, "Fy"),
                                    columns.meant("reaction", name, "Fz")};
  const Vector3 at = vector_of(joint.value("at", Json()));
  const std::string owner = word_at(joint, "/body");
  const auto body =
      std::find_if(data.bodies.begin(), data.bodies.end(), [&](const auto& b) { return b.name == owner; });
  if (!owner.empty() && body == data.bodies.end()) return false;
  std::optional<ReportBody> moving;
  if (!owner.empty()) moving = *body;
  data.forces.push_back({name, [moving, force, at](Eigen::Index point) {
                           const auto i = static_cast<std::size_t>(point);
                           return ReportForce::Value{
                               moving ? Vector3(position_of(*moving, i) + rotation(*moving, i) * at) : at,
                               Vector3(force[0][i], force[1][i], force[2][i])};
                         }});
  return true;
}

/// The force that rows of λ exert on a body: "sign" times three of them, turned into the inertial frame, or "sign" times one of
/// them along a direction.
void add_force(const Json& joint, const ColumnReader& columns, ReportData& data) {
  if (add_reaction(joint, columns, data)) return;
  const int first = joint.value("first_row", 1);
  const bool has_direction = joint.contains("direction");
  const int needed = has_direction ? 1 : 3;
  if (joint.value("rows", 0) < needed || !columns.has(fmt::format("lambda{}", first + needed - 1))) return;
  const std::string owner = word_at(joint, "/body");
  const auto body =
      std::find_if(data.bodies.begin(), data.bodies.end(), [&](const auto& b) { return b.name == owner; });
  if (body == data.bodies.end()) return;
  const Vector3 at = vector_of(joint.value("at", Json()));
  const double sign = joint.value("sign", 1.0);
  const std::string name = joint.value("name", "");
  if (has_direction) {
    data.forces.push_back({name, [body = *body, lambda = columns.named(fmt::format("lambda{}", first)),
                                  along = columns.triple(joint["direction"]), at, sign](Eigen::Index point) {
                             const auto i = static_cast<std::size_t>(point);
                             return ReportForce::Value{
                                 position_of(body, i) + rotation(body, i) * at,
                                 sign * lambda[i] * Vector3(along[0][i], along[1][i], along[2][i])};
                           }});
    return;
  }
  const std::array<Column, 3> rows{columns.named(fmt::format("lambda{}", first)),
                                   columns.named(fmt::format("lambda{}", first + 1)),
                                   columns.named(fmt::format("lambda{}", first + 2))};
  const bool is_inertial = joint.value("frame", "inertial") == "inertial";
  data.forces.push_back(
      {name, [body = *body, lambda = rows, at, sign, is_inertial](Eigen::Index point) {
         const auto i = static_cast<std::size_t>(point);
         const Matrix3 R = rotation(body, i);
         const Vector3 force = sign * Vector3(lambda[0][i], lambda[1][i], lambda[2][i]);
         return ReportForce::Value{position_of(body, i) + R * at, is_inertial ? force : Vector3(R * force)};
       }});
}

// ---- marks

int number_of(const ReportData& data, const std::string& body) {
  const auto found = std::ranges::find(data.bodies, body, &ReportBody::name);
  return found == data.bodies.end() ? -1 : static_cast<int>(found - data.bodies.begin());
}

/// A point of a body, or of the ground, with its velocity where the columns tell it.
struct MovingPoint {
  std::optional<ReportBody> body;
  Vector3 p;
  std::array<Column, 3> v, w;
  bool has_rates = false, is_left = false;  ///< v in the body frame

  Vector3 at(std::size_t i) const { return body ? Vector3(position_of(*body, i) + rotation(*body, i) * p) : p; }
  Vector3 velocity(std::size_t i) const {
    if (!body || !has_rates) return Vector3::Zero();
    const Matrix3 R = rotation(*body, i);
    const Vector3 u(v[0][i], v[1][i], v[2][i]), omega(w[0][i], w[1][i], w[2][i]);
    return (is_left ? Vector3(R * u) : u) + R * omega.cross(p);
  }
};

MovingPoint moving(const ReportMark::Place& place, const ColumnReader& columns, const ReportData& data) {
  MovingPoint out{.body = {}, .p = place.at, .v = {}, .w = {}};
  if (place.body < 0) return out;
  out.body = data.bodies[static_cast<std::size_t>(place.body)];
  const std::string& name = out.body->name;
  out.is_left = columns.has("v", name, "U1");
  if (!columns.has("v", name, "W1") || (!out.is_left && !columns.has("v", name, "u1"))) return out;
  for (std::size_t k = 0; k < 3; ++k) {
    out.v[k] = columns.meant("v", name, fmt::format("{}{}", out.is_left ? 'U' : 'u', k + 1));
    out.w[k] = columns.meant("v", name, fmt::format("W{}", k + 1));
  }
  out.has_rates = true;
  return out;
}

/// τ = k (d - length) + c ḋ pulls the points together; drawn on the second one, or on the first where that is the ground.
void add_spring_force(const ReportMark& mark, const Json& spring, const ColumnReader& columns, ReportData& data) {
  if (mark.places.size() != 2) return;
  const MovingPoint a = moving(mark.places[0], columns, data), b = moving(mark.places[1], columns, data);
  const double k = spring.value("stiffness", 0.0), c = spring.value("damping", 0.0),
               length = spring.value("length", 0.0);
  const auto value = [a, b, k, c, length](Eigen::Index point) {
    const auto i = static_cast<std::size_t>(point);
    const Vector3 way = b.at(i) - a.at(i);
    const double d = way.norm();
    if (!(d > 0.0)) return ReportForce::Value{b.at(i), Vector3::Zero()};
    const double rate = (b.velocity(i) - a.velocity(i)).dot(way) / d;
    const Vector3 on_b = -(k * (d - length) + c * rate) / d * way;
    return b.body ? ReportForce::Value{b.at(i), on_b} : ReportForce::Value{a.at(i), Vector3(-on_b)};
  };
  data.forces.push_back({mark.name, value, "spring"});
}

void add_applied_force(const ReportMark& mark, const Json& entry, const ColumnReader& columns, ReportData& data) {
  if (mark.places.size() != 1 || mark.places[0].body < 0) return;
  const MovingPoint at = moving(mark.places[0], columns, data);
  const bool turns = entry.value("frame", "inertial") == "body";
  data.forces.push_back({mark.name,
                         [at, turns, force = vector_of(entry["force"])](Eigen::Index point) {
                           const auto i = static_cast<std::size_t>(point);
                           return ReportForce::Value{at.at(i), turns ? Vector3(rotation(*at.body, i) * force) : force};
                         },
                         "applied"});
}

/// The effort of an actuator or of a law along a line is known where an output reports it.
void add_reported_force(const ReportMark& mark, const ColumnReader& columns, ReportData& data) {
  if (mark.places.size() != 2 || mark.type != "linear-actuator" || !columns.has("output", mark.name, "")) return;
  const MovingPoint a = moving(mark.places[0], columns, data), b = moving(mark.places[1], columns, data);
  data.forces.push_back({mark.name,
                         [a, b, effort = columns.meant("output", mark.name, "")](Eigen::Index point) {
                           const auto i = static_cast<std::size_t>(point);
                           const Vector3 way = (b.at(i) - a.at(i)).normalized();
                           return b.body ? ReportForce::Value{b.at(i), Vector3(effort[i] * way)}
                                         : ReportForce::Value{a.at(i), Vector3(-effort[i] * way)};
                         },
                         "applied"});
}

void add_marks(const Json& scene, const ColumnReader& columns, ReportData& data) {
  for (const Json& entry : scene.value("marks", Json::array())) {
    if (!entry.is_object()) continue;
    ReportMark mark;
    mark.kind = word_at(entry, "/kind");
    mark.name = word_at(entry, "/name");
    mark.type = word_at(entry, "/type");
    mark.axis = vector_of(entry.value("axis", Json()));
    bool is_known = true;
    for (const Json& place : entry.value("places", Json::array())) {
      const std::string body = word_at(place, "/body");
      mark.places.push_back({number_of(data, body), vector_of(place.value("at", Json()))});
      is_known = is_known && (body.empty() || mark.places.back().body >= 0);
    }
    if (!is_known || mark.places.empty()) continue;
    if (entry.contains("spring")) add_spring_force(mark, entry["spring"], columns, data);
    if (entry.contains("force")) add_applied_force(mark, entry, columns, data);
    if (mark.kind == "force") add_reported_force(mark, columns, data);
    data.marks.push_back(std::move(mark));
  }
}

Matrix3 rotation_of(const std::vector<std::pair<Vector3, Column>>& turns, std::size_t i) {
  Matrix3 R = Matrix3::Identity();
  for (const auto& [axis, angle] : turns) R = R * Eigen::AngleAxisd(angle[i], axis).toRotationMatrix();
  return R;
}

/// A body whose place is in other columns, seen from the body that it stands "on": it is turned by columns, one axis after the other, or
/// its third axis points to a place, as the rod of a mass point does.
void add_body_at(const Json& entry, const ColumnReader& columns, ReportData& data) {
  ReportBody body;
  body.name = entry.value("name", "");
  body.x = columns.triple(entry["position"]);
  const Vector3 target = vector_of(entry.value("points_to", Json()));
  const bool has_target = is_vector(entry.value("points_to", Json()));
  std::vector<std::pair<Vector3, Column>> turns;
  for (const Json& turn : entry.value("turns", Json::array()))
    turns.emplace_back(vector_of(turn.at("axis")).normalized(), columns.column_or_constant(turn.at("by")));
  std::optional<ReportBody> carrier;
  if (const std::string name = word_at(entry, "/on"); !name.empty()) {
    const auto found = std::ranges::find(data.bodies, name, &ReportBody::name);
    if (found == data.bodies.end())
      throw InvalidInput(fmt::format("scene: body '{}' is on '{}', which is not a body before it", body.name, name));
    carrier = *found;
  }
  std::array<std::vector<double>, 9> R;
  std::array<std::vector<double>, 3> x;
  for (std::size_t i = 0; i < body.x[0].size(); ++i) {
    Matrix3 axes = rotation_of(turns, i);
    if (carrier) {
      const Matrix3 below = rotation(*carrier, i);
      const Vector3 place = position_of(*carrier, i) + below * Vector3(body.x[0][i], body.x[1][i], body.x[2][i]);
      for (std::size_t k = 0; k < 3; ++k) x[k].push_back(place[static_cast<Eigen::Index>(k)]);
      axes = below * axes;
    }
    const Vector3 way = target - Vector3(body.x[0][i], body.x[1][i], body.x[2][i]);
    if (has_target && way.norm() > 0.0) {
      axes.col(2) = way.normalized();
      axes.col(0) = (std::abs(axes(1, 2)) < 0.9 ? Vector3::UnitY() : Vector3::UnitX()).cross(axes.col(2)).normalized();
      axes.col(1) = axes.col(2).cross(axes.col(0));
    }
    for (std::size_t k = 0; k < 9; ++k)
      R[k].push_back(axes(static_cast<Eigen::Index>(k / 3), static_cast<Eigen::Index>(k % 3)));
  }
  for (std::size_t k = 0; k < 9; ++k) body.R[k] = own(data, std::move(R[k]));
  if (carrier)
    for (std::size_t k = 0; k < 3; ++k) body.x[k] = own(data, std::move(x[k]));
  data.bodies.push_back(std::move(body));
}

/// Section forces and strains are in columns ROD@PLACE.COMPONENT.
void add_rod(const Json& entry, const ColumnReader& columns, ReportData& data) {
  ReportRod rod;
  rod.name = entry.at("name").get<std::string>();
  for (const Json& name : entry.at("bodies")) {
    const auto body = std::ranges::find(data.bodies, name.get<std::string>(), &ReportBody::name);
    if (body == data.bodies.end()) return;  // its columns were not requested
    rod.bodies.push_back(static_cast<std::size_t>(body - data.bodies.begin()));
  }
  rod.at = entry.at("at").get<std::vector<double>>();
  for (const Json& point : entry.at("axis")) rod.axis.push_back(vector_of(point));
  if (rod.at.size() != rod.bodies.size() || rod.axis.size() != rod.bodies.size()) return;
  rod.section = entry.value("section", Json());
  for (const Json& corner : entry.value("turned", Json::array())) {
    Matrix3 R;
    for (std::size_t k = 0; k < 9; ++k)
      R(static_cast<Eigen::Index>(k / 3), static_cast<Eigen::Index>(k % 3)) = corner.at("R").at(k).get<double>();
    rod.turned.emplace_back(corner.at("node").get<std::size_t>(), R);
  }
  for (const Json& place : entry.value("reports", Json::array())) {
    const auto node = place.at("node").get<std::size_t>();
    if (node >= rod.at.size()) continue;
    for (const Json& column : place.at("columns")) {
      const auto name = column.get<std::string>();
      if (!columns.has(name)) continue;
      const std::string component = name.substr(name.rfind('.') + 1);
      auto quantity = std::ranges::find(rod.quantities, component, &ReportRod::Quantity::name);
      if (quantity == rod.quantities.end()) quantity = rod.quantities.insert(rod.quantities.end(), {component, {}});
      quantity->columns.emplace_back(rod.at[node], columns.named(name));
    }
  }
  for (ReportRod::Quantity& quantity : rod.quantities)
    std::ranges::sort(quantity.columns, {}, [](const auto& known) { return known.first; });
  data.rods.push_back(std::move(rod));
}

void apply_scene(const Json& scene, const ColumnReader& columns, ReportData& data) {
  data.up = vector_of(scene.value("up", Json()));
  const Json& named = scene.contains("bodies") ? scene["bodies"] : Json::array();
  // The columns of a system with one body do not name it.
  if (data.bodies.size() == 1 && data.bodies[0].name.empty() && named.size() == 1)
    data.bodies[0].name = word_at(named[0], "/name");
  for (const Json& entry : scene.value("bodies", Json::array())) {
    if (!entry.is_object()) continue;
    if (entry.contains("position")) add_body_at(entry, columns, data);
    for (ReportBody& body : data.bodies)
      if (body.name == entry.value("name", "")) body.shape = entry.value("shape", Json());
  }
  for (const Json& rod : scene.value("rods", Json::array()))
    if (rod.is_object()) add_rod(rod, columns, data);
  for (const Json& joint : scene.value("joints", Json::array()))
    if (joint.is_object()) add_force(joint, columns, data);
  if (scene.contains("gravity") && scene["gravity"].is_number()) data.gravity = scene["gravity"].get<double>();
  add_marks(scene, columns, data);
}

// ---- folders

/// The first of these that exists; an empty path when none does.
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
    table.rows.push_back({event.value("t", Json()), event.value("name", ""),
                          event.value("terminal", false) ? "end of the run" : event.value("action", "")});
  data.tables.push_back(table);
}

/// Observed errors, if the run was repeated.
void add_verification(const Json& summary, ReportData& data) {
  const Json verification = summary.value("verification", Json());
  if (!verification.is_object()) return;
  ReportTable table;
  table.title = "Observed errors";
  table.columns = {{"quantity", ""},   {"error", ""}, {"unit", ""}, {"relative", ""},
                   {"tolerances", ""}, {"where", ""}, {"t", "s"}};
  table.rows = Json::array();
  for (const Json& q : verification.value("quantities", Json::array()))
    table.rows.push_back({q.value("name", ""), q.value("error", Json()), q.value("unit", ""),
                          q.value("relative", Json()), q.value("tolerances", Json()), q.value("where", ""),
                          q.value("t", Json())});
  for (const Json& event : verification.value("events", Json::array()))
    table.rows.push_back({"event time", event.value("shift", Json()), "s", Json(), Json(), event.value("name", ""),
                          event.value("t", Json())});
  data.tables.push_back(table);
}

/// Files above this are read in pieces [bytes].
constexpr std::uintmax_t long_file = 64'000'000;
/// Points of such a file that the page begins with.
constexpr Eigen::Index first_look = 2000;

std::shared_ptr<const Trajectory> trajectory_with_turns(std::shared_ptr<const Trajectory> given) {
  std::shared_ptr<Trajectory> changed;
  const auto column = [&](Eigen::Index k) { return column_of(*given, static_cast<std::size_t>(k)); };
  for (Eigen::Index k = 0; k < std::ssize(given->columns); ++k) {
    const Eigen::Index speed = speed_beside(given->columns, k);
    if (speed < 0) continue;
    const std::vector<double> angle = with_turns(column(given->index("t")), column(k), column(speed));
    if (angle.empty()) continue;
    if (changed == nullptr) changed = std::make_shared<Trajectory>(*given);
    changed->values.col(k) = Eigen::Map<const Vector>(angle.data(), std::ssize(angle));
  }
  return changed != nullptr ? std::move(changed) : std::move(given);
}

void fill(std::shared_ptr<const Trajectory> trajectory, const Json& summary, const std::string& where,
          ReportData& data) {
  if (trajectory->values.rows() == 0) {
    data.notes.push_back("The trajectory has no points.");
    return;
  }
  if (data.pieces == nullptr) trajectory = trajectory_with_turns(std::move(trajectory));  // pieces have theirs
  data.storage.push_back(trajectory);
  data.time = column_of(*trajectory, static_cast<std::size_t>(trajectory->index("t")));
  try {
    ColumnReader columns(*trajectory, data);
    columns.add_series();
    columns.add_bodies();
    const Json scene = summary.value("scene", Json::object());
    if (scene.is_object()) apply_scene(scene, columns, data);
  } catch (const Json::exception& error) {
    throw InvalidInput(fmt::format("'{}': bad \"scene\": {}", where, error.what()));
  }
}

ReportData read_run(const Path& folder, bool reads_pieces) {
  const Json summary = JsonSource::read(folder / "summary.json", "summary").root();
  ReportData data;
  data.summary = summary;
  data.title = word_at(summary, "/model");
  if (data.title.empty()) data.title = folder.filename().string();
  data.command = word_at(summary, "/kreisel/command");
  add_events(summary, data);
  add_verification(summary, data);
  const Path file = first_in(folder, {"trajectory.csv", "trajectory.h5", "trajectory.h5.part", "trajectory.csv.part"});
  if (file.empty()) {
    data.notes.push_back("The result has no trajectory.");
    return data;
  }
  if (file.extension() == part_suffix)
    data.notes.push_back("The trajectory is incomplete: the run has not ended, or it was killed.");
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  const bool is_hdf5 = file.extension() == ".h5" || file.stem().extension() == ".h5";
  std::shared_ptr<const Trajectory> trajectory;
  if (reads_pieces && is_hdf5 && !error && bytes > long_file) {
    data.pieces = std::make_shared<const LongTrajectory>(file);
    data.points = data.pieces->rows();
    trajectory = std::make_shared<const Trajectory>(data.pieces->sample(first_look));
  } else {
    trajectory = std::make_shared<const Trajectory>(read_trajectory(file));
  }
  fill(std::move(trajectory), summary, (folder / "summary.json").string(), data);
  return data;
}

// ---- studies

std::vector<double> numbers_of(const Json& json) {
  std::vector<double> out;
  for (const Json& entry : json)
    out.push_back(entry.is_number() ? entry.get<double>() : std::numeric_limits<double>::quiet_NaN());
  return out;
}

ReportCurve curve_of(const Json& json) {
  ReportCurve curve;
  curve.name = json.value("name", "");
  curve.x = numbers_of(json.value("x", Json::array()));
  curve.y = numbers_of(json.value("y", Json::array()));
  if (json.contains("order") && json["order"].is_number()) curve.order = json["order"].get<double>();
  for (const Json& entry : json.value("marked", Json::array()))
    curve.is_marked.push_back(entry.is_boolean() && entry.get<bool>());
  curve.x_low = numbers_of(json.value("x_low", Json::array()));
  curve.x_high = numbers_of(json.value("x_high", Json::array()));
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
  plot.kind = json.value("kind", "");
  plot.z_label = json.value("z_label", "");
  plot.correlations = numbers_of(json.value("correlations", Json::array()));
  const Json cells = json.value("cells", Json::object());
  plot.x_edges = numbers_of(cells.value("x", Json::array()));
  plot.y_edges = numbers_of(cells.value("y", Json::array()));
  plot.cells = numbers_of(cells.value("values", Json::array()));
  const bool fits = plot.x_edges.size() > 1 && plot.y_edges.size() > 1 &&
                    plot.cells.size() == (plot.x_edges.size() - 1) * (plot.y_edges.size() - 1);
  if (plot.kind == "heat" && !fits)
    throw InvalidInput(fmt::format("the plot '{}' has {} cells, expected one for each pair of its {} and {} edges",
                                   plot.title, plot.cells.size(), plot.x_edges.size(), plot.y_edges.size()));
  if (plot.kind == "matrix" && plot.correlations.size() != plot.curves.size() * plot.curves.size())
    throw InvalidInput(fmt::format("the plot '{}' has {} correlations, expected one for each pair of its {} columns",
                                   plot.title, plot.correlations.size(), plot.curves.size()));
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
    throw InvalidInput(fmt::format("'{}' is not a kreisel study: {}", file.string(), error.what()));
  }
  return data;
}

}  // namespace

ReportData report_data_of(std::shared_ptr<const Trajectory> trajectory, const Json& summary) {
  ReportData data;
  data.summary = summary;
  data.title = word_at(summary, "/model");
  data.command = word_at(summary, "/kreisel/command");
  add_events(summary, data);
  fill(std::move(trajectory), summary, "summary", data);
  return data;
}

ReportData read_report_data(const Path& result, bool reads_pieces) {
  const Path folder = result.has_filename() ? result : result.parent_path();
  if (!first_in(folder, {"summary.json"}).empty()) return read_run(folder, reads_pieces);
  if (!first_in(folder, {"study.json"}).empty()) return read_study(folder);
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw InvalidInput(
        fmt::format("'{}' is not a folder; expected the result folder of a run, as 'kreisel run MODEL --out DIR' "
                    "makes it",
                    folder.string()));
  throw InvalidInput(
      fmt::format("'{}' contains no result: there is neither summary.json nor study.json", folder.string()));
}

}  // namespace kreisel::io
