// The page that shows a result: its content, decimated for display, and the one HTML file that holds everything.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/files.hpp"
#include "io/json/json_source.hpp"
#include "kreisel/types.hpp"

namespace kreisel::io {

class LongTrajectory;
struct Trajectory;

using Column = std::span<const double>;

/// One curve over time. Values belong to ReportData::storage; NaN is a gap.
struct ReportSeries {
  std::string group;  ///< q, v, a, lambda, eta, residual, energy, step
  std::string panel;  ///< curves with the same panel and the same `of` share a plot
  std::string of;     ///< body or joint; empty: the whole system
  std::string name, unit;
  Column values;
  std::string source{};  ///< name of the column in the file
  int column = -1;       ///< in the file, for servers that can give all of its points; -1: computed here
};

/// How a plot begins; the order of the list is that of the page.
struct ReportPanel {
  std::string name;
  bool is_log = false, is_open = true;
};

struct ReportBody {
  std::string name;
  Json shape{};               ///< {"box": {...}} as in viewer/data.md, or a list of such; null: a plain box
  std::array<Column, 3> x{};  ///< centre of mass, inertial [m]
  std::array<Column, 9> R{};  ///< body to inertial, row by row
  /// Velocity, angular velocity in the body frame, and their derivatives; empty: not known.
  std::array<Column, 3> V{}, W{}, V_dot{}, W_dot{};
  bool is_left = false;  ///< V is seen in the body frame
};

inline Vector3 position_of(const ReportBody& body, std::size_t i) { return {body.x[0][i], body.x[1][i], body.x[2][i]}; }

/// A rod: sections along the nodes that are its bodies.
struct ReportRod {
  std::string name;
  std::vector<std::size_t> bodies;  ///< by number
  std::vector<double> at;           ///< along the rod [m]
  std::vector<Vector3> axis;        ///< where its axis goes through the body [m]
  Json section;                     ///< {"circle": {"radius": r}} or {"rectangle": [y, z]}; null: not known
  std::vector<std::pair<std::size_t, Matrix3>> turned;  ///< at a corner: the section behind it, seen from the body
  /// Quantities reported along the rod.
  struct Quantity {
    std::string name;
    std::vector<std::pair<double, Column>> columns;  ///< by place [m]
  };
  std::vector<Quantity> quantities;
};

/// A reaction force on a body.
struct ReportForce {
  struct Value {
    Vector3 at, vector;  ///< inertial [m], [N]
  };
  std::string joint;
  std::function<Value(Eigen::Index point)> value;
  std::string kind = "reaction";  ///< or "spring", "applied"
};

/// A mark drawn beside the bodies: a joint, force or output, at points of bodies.
struct ReportMark {
  struct Place {
    int body = -1;  ///< in ReportData::bodies; -1: the ground
    Vector3 at = Vector3::Zero();
  };
  std::string kind, name, type;
  std::vector<Place> places;
  Vector3 axis = Vector3::Zero();  ///< in the frame of the last body
};

struct ReportCurve {
  std::string name;
  std::vector<double> x, y;               ///< NaN: the run failed
  std::optional<double> order;            ///< observed
  std::vector<bool> is_marked;            ///< below the floor of the reference, not used for the order; empty: none
  std::vector<double> x_low{}, x_high{};  ///< ends of x over repeated runs, drawn as bars; empty: none

  bool has_bar(std::size_t i) const {
    return i < x_low.size() && i < x_high.size() && x_low[i] > 0.0 && x_low[i] < x_high[i];
  }
};

/// y = c xᵖ through a point, or from a corner of the data.
struct ReportSlope {
  double order = 1.0;
  std::optional<Eigen::Vector2d> through = std::nullopt;
};

struct ReportPlot {
  std::string title, note, x_label, y_label;
  bool is_log = true;  ///< both axes
  std::vector<ReportCurve> curves;
  std::vector<ReportSlope> slopes;
  /// "points": dots alone; "line": no dots; "band": the space between curves is filled; "histogram": the space below;
  /// "heat": `cells`; "matrix": every pair of curves, whose y are the columns of one table; else lines with dots
  std::string kind{};
  std::string z_label{};                              ///< of the colours of "heat"
  std::vector<double> x_edges{}, y_edges{}, cells{};  ///< cells row by row, of increasing y; NaN: empty
  std::vector<double> correlations{};                 ///< of "matrix", row by row
};

struct ReportTable {
  struct Head {
    std::string name, unit;
  };
  std::string title;
  std::vector<Head> columns;
  Json rows = Json::array();  ///< arrays of numbers, words, booleans and nulls
};

/// What a page shows: a run (time, series, bodies), a study (plots, tables), or both.
struct ReportData {
  std::string title, command;
  Json summary = Json::object();
  std::vector<std::string> notes;
  Column time;
  std::vector<ReportSeries> series;
  std::vector<ReportPanel> panels;
  std::vector<ReportBody> bodies;
  std::vector<ReportRod> rods;
  std::vector<ReportForce> forces;
  std::vector<ReportMark> marks;
  Vector3 up = Vector3::Zero();                  ///< against gravity; zero: not known
  double gravity = 0.0;                          ///< [m/s²]
  Json live = nullptr;                           ///< what can be changed from a page that a running program serves
  bool is_served = false;                        ///< by a server that has all points of every column
  std::shared_ptr<const LongTrajectory> pieces;  ///< of a file that is too long for the page
  Eigen::Index points = 0;                       ///< of the file then; 0: those of `time`
  std::vector<ReportPlot> plots;
  std::vector<ReportTable> tables;
  std::vector<ReportData> overlay;  ///< results laid over this one; the page shows the first

  std::vector<std::shared_ptr<const void>> storage;  ///< owns the values that the columns point to
};

/// Reads a folder: summary.json with trajectory.csv or .h5 (also as .part, from a run that is still running or was killed), or
/// study.json with "plots" and "tables" in the format of viewer/data.md. Throws InvalidInput when it holds neither.
/// `reads_pieces`: of a long file in HDF5 the data hold some points, and `pieces` has them all.
ReportData read_report_data(const Path& result, bool reads_pieces = false);
/// The same for a run in memory.
ReportData report_data_of(std::shared_ptr<const Trajectory> trajectory, const Json& summary);

/// Increasing indices of at most `limit` (≥ 4) values: the first, the last, and the smallest and largest of every
/// bucket of equally many values. All indices when there are no more.
std::vector<Eigen::Index> indices_with_extrema(Column values, Eigen::Index limit);

/// Pairs (t, value) of a column of the file in a stretch of time: all of them, or the extrema of buckets. For servers.
std::vector<std::pair<double, double>> points_between(const ReportData& data, int column, double from, double to,
                                                      Eigen::Index buckets);

/// Indices of at most `limit` times, nearest to equidistant ones; first and last included.
std::vector<Eigen::Index> indices_evenly_spaced(Column times, Eigen::Index limit);

struct ReportLimits {
  Eigen::Index series_values = 1'200'000;  ///< over all series
  Eigen::Index values_per_series = 4'000;  ///< more than twice the columns of a screen
  Eigen::Index pose_numbers = 1'600'000;   ///< over all bodies and forces
  Eigen::Index frames = 2'000;
  std::size_t bytes = 28'000'000;  ///< of the page; the numbers above shrink until it fits
};

/// The data block in the format of viewer/data.md. Holds no '<': nothing in it can end a script element.
std::string report_json(const ReportData& data, const ReportLimits& limits = {});

/// One HTML file without references to others. A program built without the viewer makes a page with still plots.
std::string report_page(const ReportData& data, const ReportLimits& limits = {});
void write_report(const ReportData& data, const Path& path);
bool has_viewer();

/// The bodies and their motion as glTF 2.0, one binary file: own shapes, nodes with keys that are linear between each other
/// within 1e-3 rad and 1e-3 of the size of the scene. Between the points of the result, poses follow from velocities and accelerations;
/// `notes` gets a sentence where points are too far apart for that. Throws InvalidInput when the result has no bodies.
std::string report_glb(const ReportData& data, std::vector<std::string>& notes);

/// Columns as text, drawn with dots of Braille letters or Unicode blocks, `width` by `height` letters each. Names are those of
/// columns, panels or bodies; none: the open panels, `most` at most. Throws InvalidInput for unknown names.
std::string report_text(const ReportData& data, const std::vector<std::string>& names, int width, int height);

/// One picture per panel and body or joint, or per plot of a study.
struct Picture {
  std::string name;  ///< "position-top", fit for a file name
  std::string svg;
};
std::vector<Picture> report_pictures(const ReportData& data);
/// Makes the folder; returns the files. Throws InvalidInput when the result has no plot.
std::vector<Path> write_pictures(const ReportData& data, const Path& folder);
/// Plots of a study as pgfplots, its tables as tabular, one file each.
std::vector<Path> write_tex(const ReportData& data, const Path& folder);
/// The motion for ParaView: NAME.pvd and a file of surfaces for at most so many points of time, evenly spaced. Rods are swept sections with
/// the quantities along them at their points. Returns the list. Throws InvalidInput when nothing moves in space.
std::vector<Path> write_vtk(const ReportData& data, const Path& folder, Eigen::Index most_points = 500);
/// Lower-case words with hyphens, from any text.
std::string file_name_of(const std::string& name);

}  // namespace kreisel::io
