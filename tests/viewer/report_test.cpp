#include "io/report/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "io/result/prepare.hpp"
#include "io/result/result.hpp"
#include "io/result/scene.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> noise(std::size_t count, unsigned seed = 1) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(generator);
  return values;
}

std::vector<double> grid(std::size_t count, double h) {
  std::vector<double> times(count);
  for (std::size_t i = 0; i < count; ++i) times[i] = h * static_cast<double>(i);
  return times;
}

std::size_t occurrences(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  Path folder_ = Path("report") / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST(Decimation, KeepsEveryIndexOfAShortSeries) {
  const std::vector<double> values = noise(100);
  const auto indices = indices_with_extrema(values, 100);
  ASSERT_EQ(indices.size(), 100u);
  EXPECT_EQ(indices.front(), 0);
  EXPECT_EQ(indices.back(), 99);
}

TEST(Decimation, KeepsEndsAndTheExtremaOfEveryBucket) {
  std::vector<double> values = noise(100'000);
  values[31'415] = 50.0;  // one sample wide
  values[31'416] = -60.0;
  for (const Eigen::Index limit : {4, 5, 100, 777}) {
    const auto indices = indices_with_extrema(values, limit);
    ASSERT_LE(static_cast<Eigen::Index>(indices.size()), limit);
    EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
    const std::set<Eigen::Index> kept(indices.begin(), indices.end());
    EXPECT_EQ(kept.size(), indices.size()) << "an index came twice";
    for (const Eigen::Index index : {0, 31'415, 31'416, 99'999})
      EXPECT_TRUE(kept.count(index)) << index << " of limit " << limit;
  }
}

TEST(Decimation, PassesOverGapsAndKeepsStretchesOfThem) {
  std::vector<double> values(10'000, 1.0);
  values[5'000] = nan;
  values[5'001] = 7.0;
  for (std::size_t i = 8'000; i < 9'000; ++i) values[i] = nan;
  bool has_gap = false, has_peak = false;
  for (const Eigen::Index index : indices_with_extrema(values, 100)) {
    has_peak = has_peak || index == 5'001;
    has_gap = has_gap || (index >= 8'000 && index < 9'000);
  }
  EXPECT_TRUE(has_peak);
  EXPECT_TRUE(has_gap);
}

TEST(Decimation, TakesFramesEvenlyInTimeWhateverTheSteps) {
  std::vector<double> times;  // half of the points within the first thousandth
  for (int i = 0; i < 5'000; ++i) times.push_back(1e-3 * i / 5'000.0);
  for (int i = 0; i <= 5'000; ++i) times.push_back(1e-3 + (1.0 - 1e-3) * i / 5'000.0);
  const auto frames = indices_evenly_spaced(times, 101);
  ASSERT_LE(frames.size(), 102u);
  EXPECT_EQ(frames.front(), 0);
  EXPECT_EQ(frames.back(), 10'000);
  for (std::size_t k = 1; k < frames.size(); ++k)
    EXPECT_NEAR(times[static_cast<std::size_t>(frames[k])] - times[static_cast<std::size_t>(frames[k - 1])], 0.01,
                5e-4);
}

/// Numbers of single precision in base 64, and what they are counted from.
std::string bytes_in(const Json& text) {
  static const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char c : text.get<std::string>()) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<unsigned>(letters.find(c));
    if ((count += 6U) >= 8U) bytes += static_cast<char>(bits >> (count -= 8U) & 255U);
  }
  return bytes;
}

/// As viewer/data.md says.
std::vector<double> numbers_in(const Json& series) {
  const Json& values = series["values"];
  std::vector<double> out;
  if (values.is_string()) {
    const std::string bytes = bytes_in(values);
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      float value = 0.0F;
      std::memcpy(&value, bytes.data() + i, 4);
      out.push_back(series["base"].get<double>() + value);
    }
    return out;
  }
  std::uint64_t rest = 0;
  unsigned shift = 0;
  for (const char letter : bytes_in(values["bytes"])) {
    const auto byte = static_cast<unsigned char>(letter);
    rest |= static_cast<std::uint64_t>(byte & 127U) << shift;
    shift += 7;
    if (byte > 127) continue;
    out.push_back(rest % 2 == 1 ? -static_cast<double>(rest / 2 + 1) : static_cast<double>(rest / 2));
    rest = shift = 0;
  }
  for (int k = 0; k < values["order"].get<int>(); ++k)
    for (std::size_t i = 1; i < out.size(); ++i) out[i] += out[i - 1];
  for (double& number : out) number = values["low"].get<double>() + values["step"].get<double>() * number;
  return out;
}

/// Smooth and rough curves come back within a millionth of their range; those of logarithmic plots within single precision each.
TEST(ReportJson, ValuesAreOnAFineGrid) {
  const std::vector<double> time = grid(1'000, 1e-3);
  std::vector<double> smooth, rough = noise(1'000, 3), decay;
  for (const double t : time) {
    smooth.push_back(-3e5 * std::cos(9.0 * t));
    decay.push_back(std::exp(-30.0 * t));
  }
  ReportData data;
  data.time = time;
  data.panels = {{"Position", false, true}, {"Constraints", true, true}};
  data.series.push_back({"q", "Position", "", "x", "m", smooth});
  data.series.push_back({"q", "Position", "", "y", "m", rough});
  data.series.push_back({"residual", "Constraints", "", "Phi", "m", decay});
  const Json series = Json::parse(report_json(data))["series"];
  for (const auto& [k, values] : {std::pair{0, smooth}, std::pair{1, rough}}) {
    const std::vector<double> shown = numbers_in(series[static_cast<std::size_t>(k)]);
    const auto [low, high] = std::ranges::minmax(values);
    ASSERT_EQ(shown.size(), values.size());
    for (std::size_t i = 0; i < shown.size(); ++i) ASSERT_NEAR(shown[i], values[i], 5e-7 * (high - low)) << k;
  }
  EXPECT_LT(series[0]["values"]["bytes"].get<std::string>().size(), 3'000u) << "about half of single precision";
  EXPECT_TRUE(series[2]["values"].is_string());
}

TEST(ReportJson, KeepsSmallChangesOfLargeValues) {
  const std::vector<double> time = grid(1'000, 1e-3);
  std::vector<double> energy;
  for (const double t : time) energy.push_back(5273.4375 + 1e-9 * std::sin(20.0 * t));
  ReportData data;
  data.time = time;
  data.series.push_back({"energy", "Energy", "", "energy", "J", energy});
  const Json series = Json::parse(report_json(data))["series"][0];
  const std::vector<double> shown = numbers_in(series);
  ASSERT_EQ(shown.size(), energy.size());
  for (std::size_t i = 0; i < shown.size(); ++i) ASSERT_NEAR(shown[i], energy[i], 2e-12);
}

TEST(ReportJson, WritesAConstantOnce) {
  const std::vector<double> time = grid(1'000, 1e-3), same(1'000, 0.1);
  std::vector<double> almost = same, gap = same;
  almost[500] = std::nextafter(0.1, 1.0);
  gap[500] = std::numeric_limits<double>::quiet_NaN();
  ReportData data;
  data.time = time;
  for (const std::vector<double>& values : {std::cref(same), std::cref(almost), std::cref(gap)})
    data.series.push_back({"q", "Position", "", "x", "m", values});
  const Json series = Json::parse(report_json(data))["series"];
  EXPECT_EQ(series[0]["constant"], 0.1);
  EXPECT_FALSE(series[0].contains("values"));
  for (const int changing : {1, 2})
    EXPECT_TRUE(series[changing].contains("values") && !series[changing].contains("constant"));
}

TEST(ReportPoints, BetweenTwoTimesAreAllOrTheExtremaOfBuckets) {
  const std::vector<double> time = grid(100'000, 1e-3);
  std::vector<double> x(100'000, 0.0);
  x[31'415] = 12.5;
  ReportData data;
  data.time = time;
  data.series.push_back({"q", "Position", "", "x", "m", x});
  data.series.back().column = 3;
  const auto few = points_between(data, 3, 10.0, 10.01, 1000);
  ASSERT_EQ(few.size(), 13u) << "eleven and a neighbour at each end";
  EXPECT_EQ(few.front().first, time[9'999]);
  const auto many = points_between(data, 3, 0.0, 99.0, 500);
  EXPECT_LE(many.size(), 1'002u);
  EXPECT_EQ(std::ranges::count(many, std::pair{time[31'415], 12.5}), 1) << "a spike of one sample";
  EXPECT_TRUE(points_between(data, 4, 0.0, 1.0, 500).empty());
}

TEST(ReportJson, HoldsWhatWasGiven) {
  const std::vector<double> time{0.0, 0.5, 1.0}, x{1.0, nan, -2.5};
  ReportData data;
  data.title = "t";
  data.command = "kreisel run x";
  data.time = time;
  data.series.push_back({"q", "Position", "rod", "x", "m", x});
  data.panels.push_back({"Position", true, false});
  const Json json = Json::parse(report_json(data));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["time"], Json({0, 0.5, 1}));
  EXPECT_EQ(json["points"], 3);
  EXPECT_EQ(json["series"][0]["values"], Json({1, nullptr, -2.5}));
  EXPECT_EQ(json["series"][0]["of"], "rod");
  EXPECT_FALSE(json["series"][0].contains("at"));
  EXPECT_EQ(json["panels"][0], (Json{{"name", "Position"}, {"log", true}, {"open", false}}));
}

TEST(ReportJson, NamesThePointsOfDecimatedSeriesByIncrements) {
  const std::vector<double> time = grid(50'000, 1e-3), x = noise(50'000, 1), y = noise(50'000, 2);
  ReportData data;
  data.time = time;
  data.series.push_back({"q", "Position", "", "x", "m", x});
  data.series.push_back({"q", "Position", "", "y", "m", y});
  ReportLimits limits;
  limits.series_values = 1'000;
  const Json json = Json::parse(report_json(data, limits));
  EXPECT_EQ(json["points"], 50'000);
  EXPECT_LE(json["time"].size(), 1'000u) << "times that no series uses";
  for (const auto& [series, values] : {std::pair{json["series"][0], x}, std::pair{json["series"][1], y}}) {
    const std::vector<double> shown = numbers_in(series);
    ASSERT_EQ(series["at"].size(), shown.size());
    ASSERT_LE(series["at"].size(), 500u);
    std::size_t at = 0;
    for (std::size_t k = 0; k < series["at"].size(); ++k) {
      at += series["at"][k].get<std::size_t>();
      const double t = json["time"][at].get<double>();
      EXPECT_NEAR(shown[k], values[static_cast<std::size_t>(std::lround(t / 1e-3))], 1e-5);
    }
  }
}

TEST(ReportJson, LetsNoTextEndItsScriptElement) {
  ReportData data;
  data.title = "</script><script>alert(1)</script>";
  data.command = "<!--";
  data.summary = {{"model", "<b>"}, {"</x>", "\xff\xfe is no UTF-8"}};
  const std::string text = report_json(data);
  EXPECT_EQ(text.find('<'), std::string::npos);
  const Json json = Json::parse(text);
  EXPECT_EQ(json["title"], data.title);
  EXPECT_EQ(json["summary"]["model"], "<b>");
}

TEST(ReportPage, IsOneFileWithItsDataInside) {
  ReportData data;
  data.title = "</script><script>alert(1)</script>";
  const std::string page = report_page(data);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  if (!has_viewer()) GTEST_SKIP() << "built without node";
  EXPECT_EQ(occurrences(page, "</script>"), 2u);
  EXPECT_NE(page.find("\"title\":\"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>\""), std::string::npos);
}

TEST(ReportPage, ShrinksToItsLimit) {
  const std::vector<double> time = grid(20'000, 1e-3), x = noise(20'000);
  ReportData data;
  data.time = time;
  for (int i = 0; i < 100; ++i) data.series.push_back({"q", "Position", fmt::format("b{}", i), "x", "m", x});
  ReportLimits limits;
  limits.bytes = 3'000'000;
  EXPECT_LE(report_page(data, limits).size(), limits.bytes);
}

/// The head of a trajectory with the meaning of its columns, as the writer makes it.
class Head {
 public:
  Head& add(const std::string& quantity, const std::string& element, const std::vector<std::string>& components,
            const std::string& unit = "") {
    for (const std::string& component : components) {
      const bool is_velocity = quantity == "v" || quantity == "a";
      number_ = is_velocity && quantity == last_ ? number_ + 1 : 1;
      last_ = quantity;
      const std::string name = is_velocity ? fmt::format("{}{}", quantity, number_) : component;
      const bool is_row = quantity == "lambda" || quantity == "Phi";
      for (auto& [line, cell] : {std::pair<std::string&, const std::string&>{quantity_, quantity},
                                 {element_, element},
                                 {component_, component},
                                 {unit_, unit}})
        line += (names_.empty() ? "" : ",") + cell;
      names_ += (names_.empty() ? "" : ",") + (element.empty() || is_row ? name : element + "." + name);
    }
    return *this;
  }
  Head& body(const std::string& name) {
    add("q", name, {"x", "y", "z"}, "m");
    return add("q", name, {"R11", "R12", "R13", "R21", "R22", "R23", "R31", "R32", "R33"}, "1");
  }
  std::string text() const {
    return "# comment\n# quantity: " + quantity_ + "\n# element: " + element_ + "\n# component: " + component_ +
           "\n# unit: " + unit_ + "\n" + names_ + "\n";
  }

 private:
  std::string quantity_, element_, component_, unit_, names_, last_;
  int number_ = 0;
};

/// `velocity`: u on r3xso3, U on se3.
std::string top_csv(const std::string& velocity = "u") {
  return Head()
             .add("t", "", {"t"}, "s")
             .body("top")
             .add("v", "top", {velocity + "1", velocity + "2", velocity + "3"}, "m/s")
             .add("v", "top", {"W1", "W2", "W3"}, "rad/s")
             .add("lambda", "tip", {"lambda1", "lambda2", "lambda3"}, "N or N m")
             .add("Phi", "tip", {"Phi1", "Phi2", "Phi3"}, "m or rad")
             .add("energy", "", {"energy"}, "J")
             .add("h", "", {"h"}, "s")
             .add("order", "", {"order"}, "1")
             .text() +
         "0,0,1,0,1,0,0,0,1,0,0,0,1,1,2,3,4,5,6,10,20,30,0,0,1e-12,5,0.1,1\n"
         "0.1,-1,0,0,0,-1,0,1,0,0,0,0,1,1,2,3,4,5,6,10,20,30,0,0,1e-12,5.5,0.1,2\n";
}

/// A result as `kreisel run` leaves it.
Path result_of(const std::string& model, const std::vector<std::pair<std::string, Value>>& fields, const Path& folder,
               const std::vector<Setting>& settings = {}) {
  RunSpec spec;
  spec.model = model;
  spec.settings = settings;
  for (const auto& [name, value] : fields) spec.set(name, value);
  ResultRequest where;
  where.folder = folder;
  run::Observer nobody;
  run_to_folder(prepare(spec), where, nobody);
  return folder;
}

/// At the second point R turns x to y, y to -x; u = R U and u̇ = R (U̇ + Ω × U).
TEST_F(Folder, OfARunOnSE3ShowsVelocitiesInTheInertialFrame) {
  write("summary.json", R"({"model": "own", "status": "success"})");
  write("trajectory.csv", Head().add("t", "", {"t"})
                                  .body("b")
                                  .add("v", "b", {"U1", "U2", "U3", "W1", "W2", "W3"})
                                  .add("a", "b", {"U1", "U2", "U3", "W1", "W2", "W3"})
                                  .text() +
                              "0,0,1,0,1,0,0,0,1,0,0,0,1,1,2,3,4,5,6,7,8,9,0,0,0\n"
                              "0.1,-1,0,0,0,-1,0,1,0,0,0,0,1,1,2,3,4,5,6,7,8,9,0,0,0\n");
  std::map<std::string, double> last;
  for (const ReportSeries& series : read_report_data(folder_).series)
    last[series.panel + "/" + series.name] = series.values.back();
  EXPECT_EQ(last["Velocity, inertial frame/vx"], -2.0);
  EXPECT_EQ(last["Velocity, inertial frame/vy"], 1.0);
  EXPECT_EQ(last["Velocity, inertial frame/vz"], 3.0);
  EXPECT_EQ(last["Acceleration, inertial frame/ax"], -(8.0 + 6.0 * 1.0 - 4.0 * 3.0));
  EXPECT_EQ(last["Acceleration, inertial frame/ay"], 7.0 + 5.0 * 3.0 - 6.0 * 2.0);
  EXPECT_EQ(last["Acceleration, inertial frame/az"], 9.0 + 4.0 * 2.0 - 5.0 * 1.0);
  EXPECT_EQ(last["Angular velocity, body frame/wx"], 4.0);
}

TEST_F(Folder, OfAHeavyTopGivesPlotsBodyAndReactionForce) {
  const ReportData data = read_report_data(result_of("heavy-top", {{"t_end", 0.05}}, folder_ / "top"));
  EXPECT_EQ(data.title, "heavy-top");
  ASSERT_GT(data.time.size(), 10u);

  std::map<std::string, std::vector<std::string>> panels;
  for (const ReportSeries& series : data.series) panels[series.panel + "/" + series.of].push_back(series.name);
  using Names = std::vector<std::string>;
  EXPECT_EQ(panels["Position/top"], (Names{"x", "y", "z"}));
  EXPECT_EQ(panels["Velocity, inertial frame/top"], (Names{"vx", "vy", "vz"}));
  EXPECT_EQ(panels["Angular velocity, body frame/top"], (Names{"wx", "wy", "wz"}));
  EXPECT_EQ(panels["Multipliers λ/tip"], (Names{"lambda1", "lambda2", "lambda3"}));
  EXPECT_EQ(panels["Constraints Φ/tip"], (Names{"Phi1", "Phi2", "Phi3"}));
  EXPECT_EQ(panels["Step size/"], (Names{"h"}));
  EXPECT_EQ(panels["Rotation matrix/top"].size(), 9u);

  ASSERT_EQ(data.bodies.size(), 1u);
  EXPECT_TRUE(data.bodies[0].shape.contains("top"));
  // λ of constraints in the body frame, turned to the inertial one, is the force at the tip, which stays at the origin: with the
  // weight it accelerates the centre of mass, m u' = F + m g.
  ASSERT_EQ(data.forces.size(), 1u);
  const auto column = [&](const std::string& panel, const std::string& name) {
    for (const ReportSeries& series : data.series)
      if (series.panel == panel && series.name == name) return series.values;
    ADD_FAILURE() << panel << " " << name;
    return Column();
  };
  const std::size_t i = data.time.size() - 1;
  const ReportForce::Value force = data.forces[0].value(static_cast<Eigen::Index>(i));
  EXPECT_LT(force.at.norm(), 1e-6);
  const char* acceleration = "Acceleration, inertial frame";
  const Vector3 a(column(acceleration, "ax")[i], column(acceleration, "ay")[i], column(acceleration, "az")[i]);
  const Vector3 expected = 15.0 * (a + Vector3(0.0, 0.0, 9.81));
  EXPECT_LT((force.vector - expected).norm(), 1e-4 * expected.norm());
}

/// JSON and bytes of a binary glTF.
struct Glb {
  Json json;
  std::string bytes;

  explicit Glb(const std::string& file) {
    const auto word = [&](std::size_t at) {
      std::uint32_t value = 0;
      std::memcpy(&value, file.data() + at, 4);
      return value;
    };
    EXPECT_EQ(word(0), 0x46546c67U);
    EXPECT_EQ(word(4), 2U);
    EXPECT_EQ(word(8), file.size());
    json = Json::parse(file.substr(20, word(12)));
    bytes = file.substr(20 + word(12) + 8);
  }
  std::vector<double> numbers(const Json& accessor) const {
    const Json& a = json["accessors"][accessor.get<std::size_t>()];
    const Json& view = json["bufferViews"][a["bufferView"].get<std::size_t>()];
    const std::size_t width = a["type"] == "SCALAR" ? 1 : a["type"] == "VEC3" ? 3 : 4;
    std::vector<double> out;
    for (std::size_t i = 0; i < width * a["count"].get<std::size_t>(); ++i) {
      float value = 0.0F;
      std::memcpy(&value, bytes.data() + view["byteOffset"].get<std::size_t>() + 4 * i, 4);
      out.push_back(value);
    }
    return out;
  }
  /// The rotation of a node as readers draw it.
  Eigen::Quaterniond turn(const std::string& node, double t) const {
    for (const Json& channel : json["animations"][0]["channels"]) {
      const Json& target = channel["target"];
      if (target["path"] != "rotation" || json["nodes"][target["node"].get<std::size_t>()]["name"] != node) continue;
      const Json& sampler = json["animations"][0]["samplers"][channel["sampler"].get<std::size_t>()];
      const std::vector<double> times = numbers(sampler["input"]), q = numbers(sampler["output"]);
      const auto key = [&](std::size_t k) {
        return Eigen::Quaterniond(q[4 * k + 3], q[4 * k], q[4 * k + 1], q[4 * k + 2]);
      };
      std::size_t k = 0;
      while (k + 2 < times.size() && times[k + 1] <= t) ++k;
      return key(k).slerp(std::clamp((t - times[k]) / (times[k + 1] - times[k]), 0.0, 1.0), key(k + 1));
    }
    ADD_FAILURE() << node;
    return Eigen::Quaterniond::Identity();
  }
};

Eigen::Quaterniond turn_at(const ReportData& data, std::size_t i) {
  Matrix3 R;
  for (std::size_t k = 0; k < 9; ++k)
    R(static_cast<Eigen::Index>(k / 3), static_cast<Eigen::Index>(k % 3)) = data.bodies[0].R[k][i];
  return Eigen::Quaterniond(R);
}

/// Also where the file of the run has few points: a spin of 150 rad/s turns by 1.5 rad between points 0.01 s apart. At 7.5 rad the
/// points do not tell the motion any more, and a note says so.
TEST_F(Folder, AsGltfTurnsAsTheBodiesDo) {
  const auto run = [&](double output_step, const char* name) {
    return read_report_data(
        result_of("heavy-top", {{"t_end", 0.5}, {"step", 1e-3}, {"output_step", output_step}}, folder_ / name));
  };
  const ReportData fine = run(1e-3, "fine"), coarse = run(0.01, "coarse");
  ASSERT_EQ(coarse.time.size(), 51u);
  std::vector<std::string> notes, doubts;
  const Glb exact(report_glb(fine, notes)), rough(report_glb(coarse, notes));
  EXPECT_EQ(notes, std::vector<std::string>());
  report_glb(run(0.05, "sparse"), doubts);
  ASSERT_EQ(doubts.size(), 1u);
  EXPECT_NE(doubts[0].find("the rotation of 'top' between points of the result may be off by"), std::string::npos)
      << doubts[0];
  EXPECT_NE(doubts[0].find("--output-step 0.003"), std::string::npos) << doubts[0];
  double error = 0.0, rough_error = 0.0;
  for (std::size_t i = 0; i < fine.time.size(); ++i) {
    error = std::max(error, exact.turn("top", fine.time[i]).angularDistance(turn_at(fine, i)));
    rough_error = std::max(rough_error, rough.turn("top", fine.time[i]).angularDistance(turn_at(fine, i)));
  }
  EXPECT_LT(error, 1.1e-3) << "[rad]";
  EXPECT_LT(rough_error, 1.1e-3) << "[rad]";
  EXPECT_EQ(exact.json["asset"]["version"], "2.0");
  EXPECT_THROW(report_glb(ReportData(), notes), InvalidInput);
}

TEST_F(Folder, AsTextHasItsCurves) {
  ReportData data = read_report_data(result_of("heavy-top", {{"t_end", 0.2}}, folder_ / "top"));
  const std::string text = report_text(data, {"z", "lambda3"}, 80, 8);
  EXPECT_NE(text.find("top.z [m]"), std::string::npos) << text;
  EXPECT_NE(text.find("tip.lambda3"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 2 * (2 + 8 + 2)) << text;
  EXPECT_THROW(report_text(data, {"zz"}, 80, 8), InvalidInput);
  EXPECT_FALSE(report_text(data, {}, 80, 8).empty());

  // Numbers that hardly differ, and long ones, keep the axis straight.
  std::vector<double> close(data.time.size());
  for (std::size_t i = 0; i < close.size(); ++i) close[i] = -29.43 - 2.751234e-6 * std::sin(static_cast<double>(i));
  data.series[0].values = close;
  const std::string narrow = report_text(data, {data.series[0].name}, 80, 8);
  std::vector<std::string> labels;
  std::size_t axis = std::string::npos;
  std::istringstream lines(narrow);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("┤");
    if (at == std::string::npos) continue;
    if (axis == std::string::npos) axis = at;
    EXPECT_EQ(at, axis) << line;
    if (line.find_first_not_of(' ') < at) labels.push_back(line.substr(0, at));
  }
  ASSERT_EQ(labels.size(), 3U);
  EXPECT_NE(labels[0], labels[1]);
  EXPECT_NE(labels[1], labels[2]);
}

/// The same motion in other coordinates gives the same force.
TEST_F(Folder, OfAHeavyTopTurnsForcesAsItsConstraintsAreWritten) {
  const auto force = [&](const std::string& constraint) {
    const ReportData data = read_report_data(
        result_of("heavy-top", {{"t_end", 0.05}, {"step", 1e-3}}, folder_ / constraint, {{"constraint", constraint}}));
    return data.forces.at(0).value(static_cast<Eigen::Index>(data.time.size()) - 1).vector;
  };
  const Vector3 body = force("body"), inertial = force("inertial");
  EXPECT_LT((body - inertial).norm(), 1e-3 * inertial.norm()) << body.transpose() << ", " << inertial.transpose();
}

TEST_F(Folder, WithASceneShowsItsShapesAndJoints) {
  write("summary.json", R"({"model": "mine", "scene": {
      "bodies": [{"name": "top", "shape": {"box": {"size": [1, 2, 3]}}}],
      "joints": [{"name": "hinge", "body": "top", "at": [0, 0, 0], "first_row": 1, "rows": 3, "sign": -1}]}})");
  write("trajectory.csv", top_csv());
  const ReportData data = read_report_data(folder_);
  EXPECT_EQ(data.bodies.at(0).shape["box"]["size"][2], 3);
  EXPECT_EQ(data.forces.at(0).joint, "hinge");
  EXPECT_TRUE(data.forces.at(0).value(0).vector.isApprox(Vector3(-10.0, -20.0, -30.0)));
}

TEST_F(Folder, OfASystemWithOneBodyTakesItsNameAndShapeFromTheScene) {
  const ReportData data =
      read_report_data(result_of("rolling-disk", {{"t_end", 0.05}, {"step", 1e-2}}, folder_ / "disk"));
  ASSERT_EQ(data.bodies.size(), 1U);
  EXPECT_EQ(data.bodies[0].name, "disk");
  EXPECT_EQ(data.bodies[0].shape["cylinder"]["radius"], 0.5);
}

/// Bodies of a model in angles: the loops of the squeezing mechanism meet in one point, and so do rod and crank.
TEST_F(Folder, OfAModelInAnglesPlacesItsBodiesByThem) {
  const auto end_of = [](const ReportData& data, const std::string& name, std::size_t i) {
    const auto body = std::ranges::find(data.bodies, name, &ReportBody::name);
    Vector3 at;
    Matrix3 R;
    for (int k = 0; k < 3; ++k) at[k] = 2.0 * body->shape["cylinder"]["at"][static_cast<std::size_t>(k)].get<double>();
    for (std::size_t k = 0; k < 9; ++k) R(static_cast<int>(k / 3), static_cast<int>(k % 3)) = body->R[k][i];
    return Vector3(position_of(*body, i) + R * at);
  };
  const ReportData data = read_report_data(result_of("andrews", {{"t_end", 0.01}}, folder_ / "andrews"));
  ASSERT_EQ(data.bodies.size(), 7U);
  const std::size_t last = data.time.size() - 1;
  for (const std::size_t i : {std::size_t{0}, last})
    for (const char* other : {"K3", "K4", "K6"})
      EXPECT_LT((end_of(data, "K2", i) - end_of(data, other, i)).norm(), 1e-6) << other;
  EXPECT_GT((end_of(data, "K2", 0) - end_of(data, "K2", last)).norm(), 1e-3) << "it moves";
  for (const char* model : {"slider-crank", "flexible-slider-crank"}) {
    const ReportData crank = read_report_data(result_of(model, {}, folder_ / model));
    EXPECT_LT((end_of(crank, "the crank", 100) - end_of(crank, "the rod", 100)).norm(), 1e-4) << model;
  }
}

/// The driver of the angle has no point of its own; the world's origin is far from it.
TEST_F(Folder, DrawsADriverOfAnAngleAtTheHingeThatItDrives) {
  write("model.json", R"({"bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [7, 0, 0]}],
    "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "a"], "at": [7, 0.5, 0], "axis": [0, 0, 1]}],
    "drivers": [{"name": "motor", "type": "angle", "between": ["ground", "a"], "axis": [0, 0, 1], "value": "0"}]})");
  RunSpec spec;
  spec.model = (folder_ / "model.json").string();
  spec.set("t_end", 0.1);
  const Json scene = scene_of(prepare(spec).model);
  const Json& marks = scene.at("marks");
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[1].at("name"), "motor");
  EXPECT_EQ(marks[1].at("places"), marks[0].at("places"));
  EXPECT_EQ(marks[0].at("places").at(0).at("at"), Json({0.0, 0.5, 0.0}));
}

/// Both bodies move along x; the one on SE(3) is turned, so that its own velocity is along -y.
TEST_F(Folder, OfAMechanismWithBothGroupsShowsInertialVelocitiesOfEveryBody) {
  write("model.json", R"({"bodies": [
    {"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "velocity": [2, 0, 0]},
    {"name": "b", "group": "se3", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 1], "velocity": [2, 0, 0],
     "rotation": {"axis": [0, 0, 1], "angle_deg": 90}}]})");
  RunSpec spec;
  spec.model = (folder_ / "model.json").string();
  spec.set("t_end", 0.1);
  const PreparedRun run = prepare(spec);
  ResultRequest where;
  where.folder = folder_ / "mixed";
  run::Observer nobody;
  run_to_folder(run, where, nobody);
  const ReportData data = read_report_data(where.folder);
  int seen = 0;
  for (const ReportSeries& series : data.series) {
    if (series.panel != "Velocity, inertial frame") continue;
    ++seen;
    EXPECT_NEAR(series.values[1], series.name == "vx" ? 2.0 : 0.0, 1e-12) << series.of << " " << series.name;
  }
  EXPECT_EQ(seen, 6);
}

TEST_F(Folder, OfAMechanismShowsShapesJointForcesAndWhichWayIsUp) {
  RunSpec spec;
  spec.model = "four-bar";
  spec.set("t_end", 0.05);
  const PreparedRun run = prepare(spec);
  ResultRequest where;
  where.folder = folder_ / "mechanism";
  run::Observer nobody;
  run_to_folder(run, where, nobody);
  const ReportData data = read_report_data(where.folder);
  EXPECT_TRUE(data.up.isApprox(Vector3::UnitY())) << "gravity is along -y";
  ASSERT_EQ(data.bodies.size(), 5u);
  EXPECT_EQ(data.bodies[0].shape.at(0).at("cylinder").at("length"), 1.0);
  ASSERT_EQ(data.forces.size(), 7u);
  EXPECT_EQ(data.forces[0].joint, "base0");
  const auto multiplier =
      std::find_if(data.series.begin(), data.series.end(), [](const ReportSeries& s) { return s.name == "lambda2"; });
  ASSERT_NE(multiplier, data.series.end());
  EXPECT_EQ(multiplier->of, "base0") << "rows stand under the name of their joint";
  // The first three rows of a revolute joint are the force on its second body, at the joint: the ground pivot, which stays.
  const ReportForce::Value value = data.forces[0].value(3);
  EXPECT_LT(value.at.norm(), 1e-6);
  EXPECT_NEAR(value.vector.y(), multiplier->values[3], 1e-9 * std::abs(value.vector.y()));
}

TEST_F(Folder, OfAPendulumSwingsABobOnItsRod) {
  const ReportData data = read_report_data(result_of("pendulum", {{"t_end", 0.5}}, folder_ / "swing", {{"x0", 0.2}}));
  ASSERT_EQ(data.bodies.size(), 1u);
  const ReportBody& bob = data.bodies[0];
  const std::size_t i = data.time.size() - 1;
  const Vector3 x(bob.x[0][i], bob.x[1][i], bob.x[2][i]);
  EXPECT_NEAR(x.norm(), 1.0, 1e-6);
  EXPECT_GT(std::abs(x.x()), 0.01) << "it moves";
  EXPECT_LT((Vector3(bob.R[2][i], bob.R[5][i], bob.R[8][i]) + x).norm(), 1e-6)
      << "the rod points from the bob to the pivot";
  // The rod pulls towards the pivot with m (|v|² + g cos φ) / l.
  const ReportForce::Value force = data.forces.at(0).value(static_cast<Eigen::Index>(i));
  double speed_squared = 0.0;
  for (const ReportSeries& series : data.series)
    if (series.panel == "Velocities") speed_squared += series.values[i] * series.values[i];
  EXPECT_LT((force.vector + (speed_squared - 9.81 * x.z()) * x).norm(), 1e-3) << force.vector.transpose();
}

/// A file that does not say what its columns hold is shown as it is, not guessed at.
TEST_F(Folder, WithoutMeaningsShowsItsColumnsInOnePlot) {
  write("summary.json", R"({"model": "pendulum"})");
  write("trajectory.csv", "t,q1,energy\n0,0.6,nan\n1,0,nan\n");
  const ReportData data = read_report_data(folder_);
  EXPECT_TRUE(data.bodies.empty());
  ASSERT_EQ(data.series.size(), 1u) << "no number in the column of the energy";
  EXPECT_EQ(data.series[0].panel, "Columns");
  EXPECT_EQ(data.series[0].name, "q1");
}

/// Rows by the element they belong to: many of one element are several plots.
TEST_F(Folder, OfManyRowsSharesPlotsByElement) {
  const ReportData data = read_report_data(result_of("four-bar", {{"t_end", 0.02}}, folder_ / "bars"));
  std::map<std::string, int> rows;
  for (const ReportSeries& series : data.series)
    if (series.group == "lambda") ++rows[series.of];
  EXPECT_EQ(rows.size(), 7u) << "joints";
  for (const auto& [joint, count] : rows) EXPECT_LE(count, 9) << joint;
}

TEST_F(Folder, OfAKilledRunShowsWhatIsThere) {
  write("summary.json", R"({"model": "x", "status": "running"})");
  write("trajectory.csv.part", "t,q1,h,order\n0,1,0.1,1\n0.1,2,0.1,1\n0.2,");
  const ReportData data = read_report_data(folder_);
  EXPECT_EQ(data.time.size(), 2u);
  ASSERT_EQ(data.notes.size(), 1u);
  EXPECT_NE(data.notes[0].find("incomplete"), std::string::npos);
}

TEST_F(Folder, WithoutATrajectoryIsShownWithItsSummary) {
  write("summary.json", R"({"model": "x", "status": "no-consistent-start", "message": "why"})");
  const ReportData data = read_report_data(folder_);
  EXPECT_TRUE(data.time.empty());
  EXPECT_EQ(Json::parse(report_json(data))["summary"]["message"], "why");
}

TEST_F(Folder, ListsTheEventsOfARun) {
  write("summary.json", R"({"model": "wall-pendulum", "events": [
      {"name": "wall", "t": 0.5, "action": "impact", "terminal": false}, {"name": "stop", "t": 0.75, "action": "record", "terminal": true}]})");
  const ReportData data = read_report_data(folder_);
  ASSERT_EQ(data.tables.size(), 1u);
  EXPECT_EQ(data.tables[0].title, "Events");
  EXPECT_EQ(data.tables[0].rows, Json::parse(R"([[0.5, "wall", "impact"], [0.75, "stop", "end of the run"]])"));
}

TEST_F(Folder, OfAStudyGivesPlotsAndTable) {
  write("study.json", R"({"title": "orders", "plots": [{"title": "q", "x_label": "h", "y_label": "e",
      "curves": [{"name": "bdf", "x": [0.1, 0.01], "y": [1e-2, null], "order": 2, "marked": [false, true]}],
      "slopes": [2, {"order": 1, "x": 0.1, "y": 0.1}]}],
      "tables": [{"columns": ["a", {"name": "b", "unit": "s"}], "rows": [[1, "x"]]}]})");
  const Json json = Json::parse(report_json(read_report_data(folder_)));
  EXPECT_EQ(json["plots"][0]["curves"][0]["y"], Json({0.01, nullptr}));
  EXPECT_EQ(json["plots"][0]["curves"][0]["marked"], Json({false, true}));
  EXPECT_EQ(json["plots"][0]["slopes"][1]["x"], 0.1);
  EXPECT_EQ(json["tables"][0]["columns"][1]["unit"], "s");
}

// CPU times of repeated runs, as bars between the shortest and the longest; points in round-off are hollow.
TEST_F(Folder, OfAStudyWithRepeatedRunsShowsTheirSpread) {
  write("study.json",
        R"({"title": "work", "plots": [{"title": "q", "x_label": "CPU time [s]", "y_label": "max ‖λₙ − λ(tₙ)‖",
      "curves": [{"name": "bdf", "x": [0.1, 0.2, 0.4], "x_low": [0.05, 0.2, 0.3], "x_high": [0.16, 0.2, 0.5],
                  "y": [1e-2, 1e-3, 1e-4], "marked": [false, false, true]},
                 {"name": "alone", "x": [0.1, 0.2], "y": [1e-2, 1e-3]}]}]})");
  const ReportData data = read_report_data(folder_);
  const Json curve = Json::parse(report_json(data))["plots"][0]["curves"][0];
  EXPECT_EQ(curve["x_low"], Json({0.05, 0.2, 0.3}));
  EXPECT_EQ(curve["x_high"], Json({0.16, 0.2, 0.5}));

  const std::string svg = report_pictures(data).at(0).svg;
  EXPECT_EQ(occurrences(svg, "class=\"spread\""), 2u) << "none where all runs took as long";
  const std::size_t bar = svg.find("class=\"spread\""), mark = svg.find("<circle", bar);
  double low = 0.0, high = 0.0, centre = 0.0;
  ASSERT_EQ(std::sscanf(svg.c_str() + svg.find(" d=\"M", bar), " d=\"M%lf", &low), 1);
  ASSERT_EQ(std::sscanf(svg.c_str() + svg.find("H", bar), "H%lf", &high), 1);
  ASSERT_EQ(std::sscanf(svg.c_str() + mark, "<circle cx=\"%lf", &centre), 1);
  // On a logarithmic axis.
  EXPECT_NEAR((high - centre) / (centre - low), std::log(1.6) / std::log(2.0), 0.01);

  EXPECT_NE(svg.find(">2·10⁻¹</text>"), std::string::npos) << "an axis of one decade has labels within it";

  const std::vector<Path> files = write_tex(data, folder_ / "tex");
  std::ifstream in(files.at(0));
  const std::string tex((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(tex.find("x dir=both, x explicit"), std::string::npos);
  EXPECT_NE(tex.find("(0.1,0.01) +=(0.06,0) -=(0.05,0)"), std::string::npos) << tex;
  EXPECT_EQ(occurrences(tex, "x dir=both"), 1u);
  EXPECT_NE(tex.find("xtick={5e-2,1e-1,2e-1,5e-1}, xticklabels={$5\\cdot 10^{-2}$,$10^{-1}$"), std::string::npos)
      << tex;
  EXPECT_EQ(tex.find("ytick="), std::string::npos) << "two decades have labels of their own";
  EXPECT_NE(tex.find("only marks"), std::string::npos) << "hollow points";
  EXPECT_NE(tex.find("max $\\|$$\\lambda$$_n$ $-$ $\\lambda$(t$_n$)$\\|$"), std::string::npos) << tex;
}

std::string complaint(const Path& folder) {
  try {
    read_report_data(folder);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_F(Folder, ThatHoldsNoResultIsRefusedWithTheReason) {
  EXPECT_NE(complaint("no/such/folder").find("is not a folder"), std::string::npos);
  EXPECT_NE(complaint(folder_).find("neither summary.json nor study.json"), std::string::npos);
  write("summary.json", "{");
  EXPECT_NE(complaint(folder_).find("summary.json:1:"), std::string::npos);
  write("summary.json", R"({"model": "x", "scene": {"joints": [{"rows": "many"}]}})");
  write("trajectory.csv", "t,q1\n0,1\n");
  EXPECT_NE(complaint(folder_).find("bad \"scene\""), std::string::npos);
}

TEST_F(Folder, GetsOnePicturePerPanelAndSubject) {
  const std::vector<double> time = grid(10'000, 1e-3), x = noise(10'000);
  ReportData data;
  data.time = time;
  data.series.push_back({"q", "Position", "a/../<b>", "x", "m", x});
  data.series.push_back({"q", "Position", "c", "x", "m", x});
  data.series.push_back({"residual", "Constraints Φ", "", "Phi1", "m", x});
  data.panels = {{"Position"}, {"Constraints Φ", true, true}};
  data.plots.push_back({"Position: c", "", "h", "e", true, {{"bdf 2", {0.1, 0.01}, {1e-2, 1e-4}, 2.0, {}}}, {{2.0}}});
  std::set<std::string> names;
  for (const Path& file : write_pictures(data, folder_ / "svg")) {
    names.insert(file.filename().string());
    std::ifstream in(file);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(text.find("<b>"), std::string::npos);
    EXPECT_EQ(occurrences(text, "<svg"), occurrences(text, "</svg>"));
    EXPECT_EQ(text.find("nan"), std::string::npos) << file;
    EXPECT_LT(text.size(), 100'000u);
  }
  EXPECT_EQ(names, (std::set<std::string>{"position-a-b.svg", "position-c.svg", "phi.svg", "position-c-2.svg"}));
}

}  // namespace
}  // namespace kreisel::io
