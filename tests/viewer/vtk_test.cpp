// Files for ParaView: what stands in them is decoded again.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "io/report/report.hpp"
#include "kreisel/error.hpp"

namespace {

using namespace kreisel;

std::string bytes_of(const std::string& text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    word = (word << 6) | static_cast<unsigned>(letters.find(c));
    bits += 6;
    if (bits >= 8) out += static_cast<char>((word >> (bits -= 8)) & 255u);
  }
  return out;
}

/// The numbers of an array of a file, by its name; their count stands in front.
template <class T>
std::vector<T> numbers(const std::string& file, const std::string& name) {
  const std::size_t at = file.find("Name=\"" + name + "\""), begin = file.find('>', at) + 1,
                    end = file.find('<', begin);
  if (at == std::string::npos) return {};
  const std::string bytes = bytes_of(file.substr(begin, end - begin));
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data(), 4);
  EXPECT_EQ(bytes.size(), size + 4u) << name;
  std::vector<T> out(size / sizeof(T));
  std::memcpy(out.data(), bytes.data() + 4, size);
  return out;
}

struct Result {
  io::ReportData data;
  std::vector<std::vector<double>> columns;
};

/// A rod along x with three nodes that rises by t, and a box beside it.
Result rising_rod() {
  Result r;
  const std::vector<double> time{0.0, 1.0, 2.0};
  r.columns.reserve(100);
  const auto column = [&](double value, double rate) {
    r.columns.push_back({});
    for (const double t : time) r.columns.back().push_back(value + rate * t);
    return io::Column(r.columns.back());
  };
  r.data.title = "Rising rod";
  r.columns.push_back(time);
  r.data.time = r.columns.back();
  for (int b = 0; b < 4; ++b) {
    io::ReportBody body;
    body.name = b < 3 ? "rod." + std::to_string(b) : "box";
    body.x = {column(b < 3 ? b : 5.0, 0.0), column(0.0, 0.0), column(0.0, b < 3 ? 1.0 : 0.0)};
    for (std::size_t k = 0; k < 9; ++k) body.R[k] = column(k % 4 == 0 ? 1.0 : 0.0, 0.0);
    if (b == 3) body.shape = {{"box", {{"size", {1.0, 2.0, 3.0}}}}};
    r.data.bodies.push_back(body);
  }
  io::ReportRod rod;
  rod.name = "rod";
  rod.bodies = {0, 1, 2};
  rod.at = {0.0, 1.0, 2.0};
  rod.axis = {Vector3::Zero(), Vector3::Zero(), Vector3(0.0, 0.1, 0.0)};
  rod.section = {{"rectangle", {0.2, 0.4}}};
  rod.quantities = {{"N", {{0.0, column(10.0, 0.0)}, {2.0, column(30.0, 5.0)}}}};
  r.data.rods.push_back(rod);
  return r;
}

TEST(Vtk, HoldsSweptSectionsWithTheirForces) {
  const Result result = rising_rod();
  const io::Path folder = std::filesystem::temp_directory_path() / "kreisel-vtk-test";
  std::filesystem::remove_all(folder);
  const std::vector<io::Path> files = io::write_vtk(result.data, folder);
  ASSERT_EQ(files.size(), 1u);
  const std::string list = io::read_text(files[0], "list");
  EXPECT_NE(list.find("timestep=\"2\" part=\"0\" file=\"rising-rod-00002.vtu\""), std::string::npos) << list;
  const std::string last = io::read_text(folder / "rising-rod-00002.vtu", "surfaces");
  const auto points = numbers<double>(last, "Points"), N = numbers<double>(last, "N");
  const auto connectivity = numbers<std::int64_t>(last, "connectivity"),
             offsets = numbers<std::int64_t>(last, "offsets");
  ASSERT_EQ(points.size(), 3u * (8u + 12u));  // a box and three rings of four
  ASSERT_EQ(N.size(), 20u);
  EXPECT_EQ(offsets.size(), 6u + 2u * 4u + 2u);
  EXPECT_EQ(offsets.back(), static_cast<std::int64_t>(connectivity.size()));
  for (const std::int64_t corner : connectivity) EXPECT_TRUE(corner >= 0 && corner < 20);
  EXPECT_TRUE(std::isnan(N[0]));  // of the box
  EXPECT_EQ(N[8], 10.0);
  EXPECT_EQ(N[12], 25.0);  // between 10 and 40
  EXPECT_EQ(N[16], 40.0);
  // The last ring is at x = 2, its axis beside the body, and has risen by 2.
  const std::array<double, 3> corner{points[48], points[49], points[50]};
  EXPECT_EQ(corner[0], 2.0);
  EXPECT_NEAR(corner[1], 0.1 - 0.1, 1e-15);
  EXPECT_NEAR(corner[2], 2.0 - 0.2, 1e-15);
  EXPECT_EQ(numbers<std::uint8_t>(last, "types").size(), offsets.size());
  std::filesystem::remove_all(folder);
}

TEST(Vtk, NeedsBodies) {
  io::ReportData nothing;
  try {
    io::write_vtk(nothing, "nowhere");
    FAIL();
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("no bodies"), std::string::npos);
  }
}

}  // namespace
