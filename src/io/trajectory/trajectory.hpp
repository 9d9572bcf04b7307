// The trajectory of a run on disk: which points, which columns, which file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/files/files.hpp"
#include "kreisel/choices.hpp"
#include "kreisel/error.hpp"
#include "kreisel/observer.hpp"
#include "kreisel/report.hpp"
#include "kreisel/system.hpp"
#include "run/row_map.hpp"

namespace kreisel {
class Archive;
}

namespace kreisel::io {

/// The meaning of a column, as the file describes it: readers need not guess from names.
struct TrajectoryColumn {
  std::string name;      ///< unique in the file, "rod.v3"
  std::string quantity;  ///< as Quantity::name, "output" of outputs; empty in files without this information
  std::string element;   ///< body, joint, or other block of coordinates; empty: the system
  /// Of q: x, y, z; R11 to R33; q1, … of others. Of v and a: u1 to u3 velocity in the inertial frame, U1 to U3 in the body frame, W1 to W3
  /// angular velocity in the body frame; v1, … of others. Of reactions Fx to Tz. Else the name without the element.
  std::string component;
  std::string unit;  ///< empty: depends on the model
};

/// Columns that belong together: one dataset in HDF5.
struct Quantity {
  std::string
      name;  ///< t, q, v, a, lambda, eta, Phi, Bv, reaction, reaction_joint, energy, energy_parts, work, balance, h, order
  std::string unit;
  std::string meaning;  ///< with frames
  std::vector<TrajectoryColumn> columns;
  int at = 0;  ///< first column
  bool is_count = false;

  int size() const { return static_cast<int>(columns.size()); }
};

/// Turns an accepted point into a row: t; q (x, then R row-major per body; coordinates that belong to no body as they
/// are); v; v̇; λ; η where the formulation has it; Φ; B v + Φ_t; reactions of joints; energy with its parts, work,
/// dissipation and balance; step size; order. SI units.
class TrajectoryLayout {
 public:
  /// `chosen`: quantities, columns, or elements ("rod" of "rod.x"); t, h and order stay. Empty:
  /// everything. Throws InvalidInput for unknown names.
  TrajectoryLayout(const system::System& system, bool has_eta, const std::vector<std::string>& chosen = {});

  const std::vector<Quantity>& quantities() const { return quantities_; }
  int columns() const { return picks_.empty() ? columns_ : static_cast<int>(picks_.size()); }
  /// `in_force`: the system at this point, which gives the outputs.
  /// Columns of outputs that were not finite in a row, and when first.
  const std::map<std::string, double>& undefined() const { return undefined_; }
  void fill(const method::Entry& entry, const system::Residual& residual, const run::Energy& energy,
            const run::Work& work, const system::System& in_force, VectorRef row);
  /// The initial energy, which the balance is measured from.
  void exchange(Archive& a);
  /// The inverse of what fill does with q.
  void read_position(ConstVectorRef values, Vector& q) const;
  /// One line per quantity with columns, unit, frame; then which rows of lambda belong to which joint.
  std::vector<std::string> explanation() const;

 private:
  void choose(const std::vector<std::string>& names);
  void fill_all(const method::Entry& entry, const system::Residual& residual, const run::Energy& energy,
                const run::Work& work, const system::System& in_force, VectorRef row);
  using Columns = std::vector<TrajectoryColumn>;
  void add(std::string name, std::string unit, std::string meaning, Columns columns, bool is_count = false);
  Columns pose_columns() const;
  Columns velocity_columns(char letter) const;
  Columns row_columns(const std::string& name, int rows, const std::string& unit) const;
  void note_undefined(double t, ConstVectorRef outputs);
  void add_reactions();
  void add_energy();

  const system::System& system_;
  run::OutputsInForce outputs_{system_};
  bool has_eta_;
  std::vector<int> embedding_at_;    ///< per block
  std::vector<int> free_blocks_;     ///< that belong to no body
  std::vector<std::string> labels_;  ///< per block; empty: the only one
  std::vector<Quantity> quantities_;
  Vector embedded_;
  int columns_ = 0;         ///< of everything
  std::vector<int> picks_;  ///< of these, the columns that are kept; empty: all
  Vector everything_;
  bool has_rates_ = false;  ///< of outputs, which are chosen only
  std::optional<double> first_energy_;
  std::map<std::string, double> undefined_;
};

/// A file that takes rows and gets its name when it is complete.
class TrajectoryFile {
 public:
  virtual ~TrajectoryFile() = default;
  virtual const Path& path() const = 0;
  virtual void append(ConstVectorRef row) = 0;
  /// Syncs, and writes the state needed to continue from here.
  virtual void keep(Archive& a) = 0;
  /// Drops every second row, the first stays.
  virtual void thin() = 0;
  virtual void commit() = 0;
  virtual void discard() = 0;
};

/// `about` describes the run: comment lines in CSV, an attribute in HDF5.
std::unique_ptr<TrajectoryFile> make_csv_file(const Path& path, const TrajectoryLayout& layout,
                                              const std::vector<std::string>& about);
std::unique_ptr<TrajectoryFile> make_hdf5_file(const Path& path, const TrajectoryLayout& layout,
                                               const std::vector<std::string>& about);
/// Becomes HDF5 when it is committed, and can be continued; trajectory.rows.part holds its rows until they are removed.
std::unique_ptr<TrajectoryFile> make_journal_file(const Path& path, const TrajectoryLayout& layout,
                                                  const std::vector<std::string>& about);
inline constexpr const char* journal_name = "trajectory.rows";
/// Continue from the state that `keep` wrote.
std::unique_ptr<TrajectoryFile> continue_csv_file(const Path& path, Archive& state);
std::unique_ptr<TrajectoryFile> continue_journal_file(const Path& path, const TrajectoryLayout& layout,
                                                      const std::vector<std::string>& about, Archive& state);
/// The version of HDF5 that this was compiled for, "1.10.8"; the library itself is loaded when a file needs it.
std::string hdf5_version();
/// Whether the library can be loaded.
bool has_hdf5();
/// Throws EnvironmentError, with what to do, when it cannot.
void require_hdf5();

enum class TrajectoryFormat { automatic, csv, hdf5 };

struct TrajectoryOptions {
  Path folder;  ///< gets trajectory.csv or trajectory.h5
  /// Automatic: CSV up to value_limit values, then HDF5, thinned unless the points were chosen; all in CSV without
  /// HDF5.
  TrajectoryFormat format = TrajectoryFormat::automatic;
  bool points_are_chosen = false;  ///< by output step or output times; every one of them is kept
  std::int64_t value_limit = 1'000'000;
  std::int64_t least_rows = 1000;  ///< thinning leaves at least half of these, however many columns there are
  std::vector<std::string> about;
  std::vector<std::string> columns{};  ///< of TrajectoryLayout; empty: all
  bool has_checkpoints = false;        ///< rows that become HDF5 wait in a journal
};

struct TrajectoryInfo {
  std::string file;  ///< name in the folder; empty when there was no point
  std::int64_t rows = 0, columns = 0;
  std::int64_t every_nth = 1;                 ///< > 1: thinned
  std::map<std::string, double> undefined{};  ///< columns of outputs that were not finite, and when first
};

/// Opens its file at the first point. Accepted points survive: finish() and the destructor give the file its name,
/// and after SIGKILL trajectory.*.part is readable.
class TrajectoryWriter final : public run::Observer {
 public:
  TrajectoryWriter(const system::System& system, bool has_eta, TrajectoryOptions options);
  ~TrajectoryWriter() override;

  bool accept(const run::Point& point) override;
  /// Adds the last accepted point unless it is there, completes the file.
  TrajectoryInfo finish(const run::Report& report);
  /// The state for a checkpoint, everything before it on disk; read back by a writer with the same options.
  void exchange(Archive& a);

 private:
  std::unique_ptr<TrajectoryFile> make_hdf5() const;
  void write(const run::Point& point);
  void move_to_hdf5();
  bool thins() const { return options_.format == TrajectoryFormat::automatic && !options_.points_are_chosen; }

  const system::System& system_;
  TrajectoryOptions options_;
  TrajectoryLayout layout_;
  std::unique_ptr<TrajectoryFile> file_;
  bool is_hdf5_ = false, stays_csv_ = false;
  Vector row_;
  std::vector<double> kept_;  ///< rows of a CSV file that may have to become HDF5
  std::int64_t wanted_ = 0;   ///< points seen
  TrajectoryInfo info_;
  double last_t_ = 0.0;
};

/// A trajectory read back.
struct Trajectory {
  std::vector<TrajectoryColumn> columns;
  Matrix values;  ///< one row per point

  std::vector<std::string> names() const { return names_in(columns); }
  /// InvalidInput with the nearest name when there is no such column.
  Eigen::Index index(std::string_view column) const;
  /// By its meaning; nullopt: no such column.
  std::optional<Eigen::Index> find(std::string_view quantity, std::string_view element,
                                   std::string_view component) const;
  Vector column(std::string_view name) const { return values.col(index(name)); }
};

/// The points as motions of the system that made them, without v̇. Throws InvalidInput when there are other columns.
std::vector<lie::Motion> motions_in(const Trajectory& trajectory, const system::System& system);

/// Either format, by the end of the name; a .part file works too.
Trajectory read_trajectory(const Path& path);

}  // namespace kreisel::io

namespace kreisel {

template <>
struct Spellings<io::TrajectoryFormat> {
  using enum io::TrajectoryFormat;
  static constexpr std::string_view noun = "format";
  static constexpr std::array<Spelled<io::TrajectoryFormat>, 3> entries{
      {{automatic, "automatic"}, {csv, "csv"}, {hdf5, "hdf5"}}};
};

}  // namespace kreisel
