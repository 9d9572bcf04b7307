#include "io/trajectory/trajectory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "base/archive.hpp"
#include "file_size_limit.hpp"
#include "io/model_file/model_file.hpp"
#include "io/trajectory/long_trajectory.hpp"
#include "kreisel/error.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;
using io::TrajectoryFormat;
namespace fs = std::filesystem;

models::Model model_named(const char* name) {
  const models::ModelInfo& info = models::find_model(name);
  return models::make_model(info, "", ParameterValues(info.parameters));
}

run::Options constant_steps(double step, double t_end) {
  run::Options options;
  options.step = step;
  options.t_end = t_end;
  return options;
}

/// Keeps every point beside what the writer writes.
class Recorder final : public run::Observer {
 public:
  explicit Recorder(run::Observer& writer) : writer_(writer) {}
  bool accept(const run::Point& point) override {
    entries.push_back(point.entry);
    residuals.push_back(point.residual);
    return writer_.accept(point);
  }
  std::vector<method::Entry> entries;
  std::vector<system::Residual> residuals;

 private:
  run::Observer& writer_;
};

class TrajectoryFiles : public testing::Test {
 protected:
  TemporaryFolder folder;
  io::TrajectoryOptions options(TrajectoryFormat format) {
    io::TrajectoryOptions out;
    out.folder = folder.path();
    out.format = format;
    out.about = {"about this run"};
    return out;
  }
};

class RoundTrip : public TrajectoryFiles, public testing::WithParamInterface<TrajectoryFormat> {};

TEST_P(RoundTrip, ReturnsEveryNumberOfEveryPointExactly) {
  const models::Model model = model_named("heavy-top");
  io::TrajectoryWriter writer(*model.system, true, options(GetParam()));
  Recorder recorder(writer);
  const run::Report report = run::integrate(*model.system, model.start, constant_steps(1e-3, 0.05), recorder);
  const io::TrajectoryInfo info = writer.finish(report);
  EXPECT_EQ(info.file, GetParam() == TrajectoryFormat::hdf5 ? "trajectory.h5" : "trajectory.csv");
  EXPECT_EQ(info.every_nth, 1);

  const io::Trajectory back = io::read_trajectory(folder.path() / info.file);
  ASSERT_EQ(back.values.rows(), 51);
  ASSERT_EQ(info.rows, 51);
  ASSERT_EQ(back.values.cols(), info.columns);
  ASSERT_EQ(recorder.entries.size(), 51u);
  for (int i = 0; i < 51; ++i) {
    const method::Entry& entry = recorder.entries[i];
    const system::Pose pose = model.system->body_pose(0, entry.motion.q);
    const auto value = [&](const std::string& name) { return back.values(i, back.index(name)); };
    EXPECT_EQ(value("t"), entry.motion.t);
    EXPECT_EQ(value("top.x"), pose.x[0]);
    EXPECT_EQ(value("top.z"), pose.x[2]);
    EXPECT_EQ(value("top.R12"), pose.R(0, 1));
    EXPECT_EQ(value("top.R31"), pose.R(2, 0));
    EXPECT_EQ(value("energy"), model.system->energy(entry.motion));
    EXPECT_EQ(value("h"), entry.h);
    EXPECT_EQ(value("order"), entry.order);
    for (int j = 0; j < 6; ++j) {
      EXPECT_EQ(value("top.v" + std::to_string(j + 1)), entry.motion.v[j]);
      EXPECT_EQ(value("top.a" + std::to_string(j + 1)), entry.motion.a[j]);
    }
    for (int j = 0; j < 3; ++j) {
      const std::string number = std::to_string(j + 1);
      EXPECT_EQ(value("lambda" + number), entry.lambda[j]);
      EXPECT_EQ(value("eta" + number), entry.eta[j]);
      EXPECT_EQ(value("Phi" + number), recorder.residuals[i].gap[j]);
      EXPECT_EQ(value("Bv" + number), recorder.residuals[i].rate[j]);
    }
  }
}

TEST_P(RoundTrip, ReturnsTheMeaningOfEveryColumn) {
  const models::Model model = model_named("heavy-top");
  const io::TrajectoryLayout layout(*model.system, true);
  {
    io::TrajectoryWriter writer(*model.system, true, options(GetParam()));
    run::integrate(*model.system, model.start, constant_steps(1e-3, 0.005), writer);
  }
  const io::Trajectory back =
      io::read_trajectory(folder / (GetParam() == TrajectoryFormat::hdf5 ? "trajectory.h5" : "trajectory.csv"));
  std::size_t i = 0;
  for (const io::Quantity& quantity : layout.quantities())
    for (const io::TrajectoryColumn& column : quantity.columns) {
      const io::TrajectoryColumn& read = back.columns.at(i++);
      EXPECT_EQ(read.name, column.name);
      EXPECT_EQ(read.quantity, quantity.name);
      EXPECT_EQ(read.element, column.element) << column.name;
      EXPECT_EQ(read.component, column.component) << column.name;
      EXPECT_EQ(read.unit, column.unit) << column.name;
    }
  EXPECT_EQ(i, back.columns.size());
  // One of each kind, by hand.
  const auto meaning = [&](std::string_view name) {
    const io::TrajectoryColumn& c = back.columns[static_cast<std::size_t>(back.index(name))];
    return c.quantity + "|" + c.element + "|" + c.component + "|" + c.unit;
  };
  EXPECT_EQ(meaning("t"), "t||t|s");
  EXPECT_EQ(meaning("top.x"), "q|top|x|m");
  EXPECT_EQ(meaning("top.v2"), "v|top|u2|m/s");
  EXPECT_EQ(meaning("top.v4"), "v|top|W1|rad/s");
  EXPECT_EQ(meaning("top.a6"), "a|top|W3|rad/s^2");
  EXPECT_EQ(meaning("lambda2"), "lambda|" + model.system->pattern().groups().at(0).name + "|lambda2|N or N m");
  EXPECT_EQ(back.find("v", "top", "W1"), back.index("top.v4"));
  EXPECT_FALSE(back.find("v", "top", "U1").has_value()) << "velocities of r3xso3 are inertial";
}

TEST_P(RoundTrip, IsReadableBeforeItIsFinished) {
  const models::Model model = model_named("pendulum");
  io::TrajectoryWriter writer(*model.system, false, options(GetParam()));
  run::integrate(*model.system, model.start, constant_steps(1e-3, 10.0), writer);
  const char* part = GetParam() == TrajectoryFormat::hdf5 ? "trajectory.h5.part" : "trajectory.csv.part";
  // As a killed run leaves it: the writer goes on to live, only what it has flushed counts.
  fs::copy_file(folder / part, folder / (std::string("killed-") + part).c_str());
  const io::Trajectory back = io::read_trajectory(folder / (std::string("killed-") + part).c_str());
  EXPECT_GT(back.values.rows(), 1000);
  EXPECT_NEAR(back.values(1000, 0), 1.0, 1e-12);
}

TEST_P(RoundTrip, SurvivesTheDestructionOfTheWriter) {
  const models::Model model = model_named("pendulum");
  {
    io::TrajectoryWriter writer(*model.system, false, options(GetParam()));
    run::integrate(*model.system, model.start, constant_steps(1e-2, 0.1), writer);
  }
  const io::Trajectory back =
      io::read_trajectory(folder / (GetParam() == TrajectoryFormat::hdf5 ? "trajectory.h5" : "trajectory.csv"));
  EXPECT_EQ(back.values.rows(), 11);
}

TEST_P(RoundTrip, AFullDiskThrowsAndKeepsAReadableBeginning) {
  const models::Model model = model_named("heavy-top");
  const auto write_too_much = [&] {
    const FileSizeLimit full(1'500'000);
    io::TrajectoryWriter writer(*model.system, true, options(GetParam()));
    const run::Report report = run::integrate(*model.system, model.start, constant_steps(1e-3, 8.0), writer);
    writer.finish(report);
  };
  const std::string text = text_of<EnvironmentError>(write_too_much);
  EXPECT_NE(text.find("cannot write"), std::string::npos) << text;
  EXPECT_NE(text.find("File too large"), std::string::npos) << text;
  for (const auto& item : fs::directory_iterator(folder.path()))
    EXPECT_GT(io::read_trajectory(item.path()).values.rows(), 500) << item.path();
}

INSTANTIATE_TEST_SUITE_P(BothFormats, RoundTrip, testing::Values(TrajectoryFormat::csv, TrajectoryFormat::hdf5),
                         [](const auto& format) { return format.param == TrajectoryFormat::csv ? "csv" : "hdf5"; });

TEST_F(TrajectoryFiles, ModelsWithoutBodiesHavePlainCoordinates) {
  const models::Model model = model_named("pendulum");
  const io::TrajectoryLayout layout(*model.system, false);
  std::vector<std::string> columns;
  for (const io::Quantity& quantity : layout.quantities())
    for (const io::TrajectoryColumn& column : quantity.columns) columns.push_back(column.name);
  EXPECT_EQ(columns, (std::vector<std::string>{"t", "q1", "q2", "v1", "v2", "a1", "a2", "lambda1", "Phi1", "Bv1",
                                               "energy", "h", "order"}));
  EXPECT_EQ(layout.columns(), 13);
}

TEST_F(TrajectoryFiles, EtaIsThereOnlyWhereTheFormulationHasIt) {
  const models::Model model = model_named("heavy-top");
  const auto has_eta = [&](bool wanted) {
    const io::TrajectoryLayout layout(*model.system, wanted);
    for (const io::Quantity& quantity : layout.quantities())
      if (quantity.name == "eta") return true;
    return false;
  };
  EXPECT_TRUE(has_eta(true));
  EXPECT_FALSE(has_eta(false));
}

TEST_F(TrajectoryFiles, TheHeaderGivesUnitsAndFrames) {
  const models::Model model = model_named("heavy-top");
  io::TrajectoryWriter writer(*model.system, true, options(TrajectoryFormat::csv));
  const run::Report report = run::integrate(*model.system, model.start, constant_steps(1e-3, 0.01), writer);
  writer.finish(report);
  const std::string text = content_of(folder / "trajectory.csv");
  for (const char* word : {"# about this run\n", "SI units", "[m/s and rad/s]", "inertial frame", "body frame", "[J]",
                           "body to inertial", "row by row", "1 to 3: tip", "\nt,top.x,top.y,top.z,top.R11,"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST_F(TrajectoryFiles, LongRunsMoveToThinnedHdf5WithFirstAndLastPoint) {
  const models::Model model = model_named("pendulum");
  io::TrajectoryOptions small = options(TrajectoryFormat::automatic);
  small.value_limit = 13 * 100;
  small.least_rows = 10;
  io::TrajectoryWriter writer(*model.system, false, small);
  const run::Report report = run::integrate(*model.system, model.start, constant_steps(1e-3, 1.003), writer);
  const io::TrajectoryInfo info = writer.finish(report);
  EXPECT_EQ(info.file, "trajectory.h5");
  EXPECT_EQ(info.every_nth, 16);
  EXPECT_FALSE(fs::exists(folder / "trajectory.csv"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);

  const io::Trajectory back = io::read_trajectory(folder / "trajectory.h5");
  EXPECT_EQ(back.values.rows(), info.rows);
  EXPECT_LE(back.values.rows(), 102);
  EXPECT_GE(back.values.rows(), 50);
  const Vector t = back.column("t");
  EXPECT_EQ(t[0], 0.0);
  EXPECT_EQ(t[t.size() - 1], report.final.motion.t);
  for (int i = 0; i + 1 < t.size(); ++i) EXPECT_NEAR(t[i], 0.016 * i, 1e-12);
}

TEST_F(TrajectoryFiles, AFullDiskDuringThinningKeepsWhatWasThere) {
  const models::Model model = model_named("heavy-top");
  const io::TrajectoryLayout layout(*model.system, true);
  const auto file = io::make_hdf5_file(folder / "trajectory.h5", layout, {});
  for (int i = 0; i < 4000; ++i) file->append(Vector(Vector::Constant(layout.columns(), i)));
  {
    const FileSizeLimit full(500'000);
    EXPECT_THROW(file->thin(), EnvironmentError);
  }
  file->commit();
  const Matrix values = io::read_trajectory(folder / "trajectory.h5").values;
  ASSERT_EQ(values.rows(), 4000);
  for (int i = 0; i < 4000; ++i) EXPECT_EQ(values(i, 7), i);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

/// Bytes that this process has asked the system for.
double bytes_read() {
  std::ifstream counters("/proc/self/io");
  std::string word;
  double bytes = 0.0;
  return counters >> word >> bytes ? bytes : 0.0;
}

/// A sample of a long file is made of its rows, and comes from what was set aside instead of from all over the file.
TEST_F(TrajectoryFiles, SamplesOfLongHdf5AreItsRowsAndNeedFewReads) {
  const models::Model model = model_named("pendulum");
  const io::TrajectoryLayout layout(*model.system, true);
  constexpr int rows = 70'001;
  const auto row = [&](int i) { return Vector(Vector::LinSpaced(layout.columns(), i, i + 0.5)); };
  const auto file = io::make_hdf5_file(folder / "trajectory.h5", layout, {});
  for (int i = 0; i < rows; ++i) file->append(row(i));
  fs::copy(folder / "trajectory.h5.part", folder / "killed.h5");  // its last rows are not set aside
  file->commit();
  for (const char* name : {"trajectory.h5", "killed.h5"}) {
    const io::LongTrajectory pieces(folder / name);
    EXPECT_GT(pieces.rows(), rows - 2000);
    const double before = bytes_read();
    const io::Trajectory some = pieces.sample(500);
    const double taken = bytes_read() - before;
    ASSERT_EQ(some.values.cols(), layout.columns());
    EXPECT_GT(some.values.rows(), 300);
    EXPECT_LE(some.values.rows(), 501);
    EXPECT_LT(taken, 0.2 * static_cast<double>(fs::file_size(folder / name))) << name;
    double last = -1.0;
    for (int i = 0; i < some.values.rows(); ++i) {
      const auto at = static_cast<int>(some.values(i, 0));
      EXPECT_GT(at, last);
      const Vector difference = some.values.row(i).transpose() - row(at);
      EXPECT_LT(difference.head(layout.columns() - 1).lpNorm<Eigen::Infinity>(), 1e-9) << "the order is a whole number";
      last = at;
    }
    EXPECT_EQ(last, static_cast<double>(pieces.rows() - 1));
  }
}

/// The angle of a hinge that turns many times is between -π and π in the file; what is read in pieces is the integral of the speed.
TEST_F(TrajectoryFiles, AnglesOfLongHdf5HaveTheirTurns) {
  const io::JsonSource source("m.json",
                              R"({"bodies": [{"name": "wheel", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
          "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "wheel"], "at": [0, 0, 0],
                      "axis": [0, 0, 1]}]})");
  const models::Model model = io::read_model(source).model;
  const io::TrajectoryLayout layout(*model.system, false);
  std::vector<std::string> names;
  for (const io::Quantity& quantity : layout.quantities())
    for (const io::TrajectoryColumn& column : quantity.columns) names.push_back(column.name);
  const auto place = [&](const char* name) { return std::ranges::find(names, name) - names.begin(); };
  const Eigen::Index angle = place("pin.angle"), speed = place("pin.speed");
  ASSERT_LT(std::max(angle, speed), std::ssize(names));

  constexpr int rows = 70'001;
  const auto phi = [](double t) { return 30.0 * std::sin(0.2 * t) + 0.5 * t; };
  const auto file = io::make_hdf5_file(folder / "trajectory.h5", layout, {});
  for (int i = 0; i < rows; ++i) {
    Vector row = Vector::Zero(layout.columns());
    const double t = row[0] = 1e-3 * i;
    row[angle] = std::remainder(phi(t), 2.0 * M_PI);
    row[speed] = 6.0 * std::cos(0.2 * t) + 0.5;
    file->append(row);
  }
  fs::copy(folder / "trajectory.h5.part", folder / "killed.h5");
  file->commit();
  for (const char* name : {"trajectory.h5", "killed.h5"}) {
    SCOPED_TRACE(name);
    const io::LongTrajectory pieces(folder / name);
    const double end = 1e-3 * static_cast<double>(pieces.rows() - 1);
    const io::Trajectory some = pieces.sample(500);
    for (int i = 0; i < some.values.rows(); ++i) EXPECT_NEAR(some.values(i, angle), phi(some.values(i, 0)), 1e-9);

    double lowest = 0.0, highest = 0.0;
    for (int i = 0; i < pieces.rows(); ++i) {
      lowest = std::min(lowest, phi(1e-3 * i));
      highest = std::max(highest, phi(1e-3 * i));
    }
    const double way = 6.5 * 0.064;  // between rows that are known
    const auto [low, high] = pieces.range(angle);
    EXPECT_NEAR(low, lowest, way);
    EXPECT_NEAR(high, highest, way);

    for (const auto& [from, to, buckets] : {std::tuple{0.0, end, 300}, {20.0, 40.0, 300}, {20.0, 20.2, 300}}) {
      const auto points = pieces.extrema(angle, from, to, buckets);
      EXPECT_GT(points.size(), 190U);
      for (const auto& [t, y] : points) EXPECT_NEAR(y, phi(t), 1e-9);
    }
    // A stretch in which the file jumps from π to -π has its ends, too, not only the two points at the jump.
    std::map<int, std::pair<double, double>> reached;
    for (const auto& [t, y] : pieces.extrema(angle, 0.0, end, 300)) {
      auto& [least, most] = reached.try_emplace(static_cast<int>(std::lround(1e3 * t)) / 256, y, y).first->second;
      least = std::min(least, y);
      most = std::max(most, y);
    }
    for (const auto& [stretch, ends] : reached) {
      if (256 * (stretch + 1) > pieces.rows()) continue;
      const double swing = std::abs(phi(0.256 * stretch + 0.255) - phi(0.256 * stretch));
      EXPECT_GT(ends.second - ends.first, swing - 2.0 * way) << "at " << 0.256 * stretch << " s";
    }
    EXPECT_NEAR(pieces.extrema(speed, 20.0, 20.2, 300)[5].second, 6.0 * std::cos(0.2 * 20.004) + 0.5, 1e-12);
  }
}

TEST_F(TrajectoryFiles, Hdf5HoldsMoreColumnsThanAnAttributeCanName) {
  const std::vector<lie::Factor> factors(500, {lie::GroupId::rn, 3});
  class Wide final : public system::System {
   public:
    explicit Wide(const std::vector<lie::Factor>& f) : System(lie::Space(f), system::Pattern(lie::Space(f), {})) {}
    void residual(const system::Motion&, ConstVectorRef, system::Residual&) const override {}
    void linearize(const system::Motion&, ConstVectorRef, system::KktBlocks&) const override {}
    void acceleration_gap(const system::Motion&, VectorRef) const override {}
  };
  const Wide wide(factors);
  const io::TrajectoryLayout layout(wide, false);
  const auto file = io::make_hdf5_file(folder / "trajectory.h5", layout, {});
  for (int i = 0; i < 100; ++i) file->append(Vector(Vector::LinSpaced(layout.columns(), i, i + 1.0)));
  file->commit();
  const io::Trajectory back = io::read_trajectory(folder / "trajectory.h5");
  ASSERT_EQ(back.values.rows(), 100);
  ASSERT_EQ(back.values.cols(), layout.columns());
  EXPECT_EQ(back.columns[1].name, "block 0.q1");
  EXPECT_EQ(back.columns.back().name, "order");
}

TEST_F(TrajectoryFiles, WideModelsKeepEnoughPoints) {
  const models::Model model = model_named("pendulum");
  io::TrajectoryOptions small = options(TrajectoryFormat::automatic);
  small.value_limit = 13;
  small.least_rows = 40;
  io::TrajectoryWriter writer(*model.system, false, small);
  const run::Report report = run::integrate(*model.system, model.start, constant_steps(1e-2, 1.0), writer);
  EXPECT_GE(writer.finish(report).rows, 20);
}

TEST_F(TrajectoryFiles, AnExplicitFormatKeepsEveryPoint) {
  const models::Model model = model_named("pendulum");
  io::TrajectoryOptions small = options(TrajectoryFormat::csv);
  small.value_limit = 13 * 10;
  small.least_rows = 1;
  io::TrajectoryWriter writer(*model.system, false, small);
  const run::Report report = run::integrate(*model.system, model.start, constant_steps(1e-2, 1.0), writer);
  const io::TrajectoryInfo info = writer.finish(report);
  EXPECT_EQ(info.rows, 101);
  EXPECT_EQ(info.every_nth, 1);
}

TEST_F(TrajectoryFiles, AnOutputStepIsNeverThinned) {
  const models::Model model = model_named("pendulum");
  io::TrajectoryOptions small = options(TrajectoryFormat::automatic);
  small.value_limit = 13 * 10;
  small.least_rows = 1;
  small.points_are_chosen = true;
  io::TrajectoryWriter writer(*model.system, false, small);
  run::Options steps = constant_steps(1e-2, 1.01);
  steps.output_step = 0.02;
  const run::Report report = run::integrate(*model.system, model.start, steps, writer);
  const io::TrajectoryInfo info = writer.finish(report);
  EXPECT_EQ(info.file, "trajectory.h5");
  EXPECT_EQ(info.every_nth, 1);
  const Vector t = io::read_trajectory(folder / "trajectory.h5").column("t");
  ASSERT_EQ(t.size(), 52) << "0, 0.02, ..., 1 and the end";
  EXPECT_NEAR(t[50], 1.0, 1e-12);
  EXPECT_EQ(t[51], report.final.motion.t);
}

/// Rows of a run with checkpoints wait in a journal; the summary must not speak of rows that the file does not have.
TEST_F(TrajectoryFiles, AJournalThatLosesItsNameLosesNoRow) {
  const models::Model model = model_named("pendulum");
  io::TrajectoryOptions how = options(TrajectoryFormat::hdf5);
  how.has_checkpoints = true;
  io::TrajectoryWriter writer(*model.system, true, how);
  const run::Report report = run::integrate(*model.system, model.start, constant_steps(1e-3, 0.2), writer);
  ASSERT_TRUE(fs::remove(folder / "trajectory.rows.part"));
  const io::TrajectoryInfo info = writer.finish(report);
  EXPECT_EQ(info.rows, 201);
  EXPECT_EQ(io::read_trajectory(folder / "trajectory.h5").values.rows(), 201);
}

TEST_F(TrajectoryFiles, AJournalThatLosesRowsIsAnError) {
  const models::Model model = model_named("pendulum");
  io::TrajectoryOptions how = options(TrajectoryFormat::hdf5);
  how.has_checkpoints = true;
  {
    io::TrajectoryWriter writer(*model.system, true, how);
    const run::Report report = run::integrate(*model.system, model.start, constant_steps(1e-3, 0.2), writer);
    Archive state;
    writer.exchange(state);  // everything is on the disk
    fs::resize_file(folder / "trajectory.rows.part", fs::file_size(folder / "trajectory.rows.part") / 2);
    const std::string text = text_of<EnvironmentError>([&] { writer.finish(report); });
    EXPECT_NE(text.find("has lost rows: 100 of 201 are left"), std::string::npos) << text;
  }
  EXPECT_FALSE(fs::exists(folder / "trajectory.h5"));
}

TEST_F(TrajectoryFiles, ARunWithoutPointsLeavesNoFile) {
  const models::Model model = model_named("pendulum");
  io::TrajectoryWriter writer(*model.system, false, options(TrajectoryFormat::automatic));
  EXPECT_EQ(writer.finish({}).file, "");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

class Csv : public TrajectoryFiles {};

TEST_F(Csv, ReaderDropsHalfALineAtTheEnd) {
  write_file(folder / "x.csv", "# c\nt,\"a,\"\"b\"\n0,1\n1,nan\n2,");
  const io::Trajectory back = io::read_trajectory(folder / "x.csv");
  EXPECT_EQ(back.names(), (std::vector<std::string>{"t", "a,\"b"}));
  ASSERT_EQ(back.values.rows(), 2);
  EXPECT_TRUE(std::isnan(back.values(1, 1)));
}

TEST_F(Csv, ReaderSaysWhereARowIsWrong) {
  write_file(folder / "x.csv", "t,a\n0,1\n1,x\n");
  EXPECT_NE(text_of<InvalidInput>([&] { io::read_trajectory(folder / "x.csv"); }).find("x.csv:3:3: expected 2 numbers"),
            std::string::npos);
}

TEST_F(Csv, ReaderNamesTheNearestColumn) {
  write_file(folder / "x.csv", "t,energy\n0,1\n");
  EXPECT_NE(text_of<InvalidInput>([&] {
              io::read_trajectory(folder / "x.csv").column("enrgy");
            }).find("did you mean 'energy'"),
            std::string::npos);
}

TEST_F(TrajectoryFiles, ReaderRefusesAFileThatIsNoHdf5) {
  write_file(folder / "x.h5", "hello");
  EXPECT_NE(text_of<InvalidInput>([&] { io::read_trajectory(folder / "x.h5"); }).find("not a kreisel trajectory"),
            std::string::npos);
}

}  // namespace
