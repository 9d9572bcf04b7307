// Events as users see them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/temporary_folder.hpp"
#include "io/trajectory/trajectory.hpp"
#include "program.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;
using Json = nlohmann::json;

TEST(EventsOnTheCommandLine, StandInSummaryLogTrajectoryAndText) {
  TemporaryFolder folder;
  const Outcome outcome = Process({"run", "wall-pendulum", "--t-end", "1", "--json", "--out", "r", "--log", "steps.csv",
                                   "--output-step", "0.25"},
                                  folder.path())
                              .wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json events = Json::parse(outcome.out)["events"];
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "wall");
  EXPECT_EQ(events[0]["action"], "impact");
  EXPECT_EQ(events[0]["terminal"], false);
  const double t = events[0]["t"];
  EXPECT_NEAR(t, 0.49187742, 1e-6);
  EXPECT_NE(content_of(folder / "steps.csv").find(",event wall: impact\n"), std::string::npos);
  const Vector times = io::read_trajectory(folder / "r/trajectory.csv").column("t");
  EXPECT_EQ((times.array() == t).count(), 2) << "both sides of the jump";
  EXPECT_EQ(times.size(), 7) << "0, 0.25, twice the impact, 0.5, 0.75, 1";
  const Outcome text = Process({"run", "wall-pendulum", "--t-end", "1", "--out", "r"}, folder.path()).wait();
  EXPECT_NE(text.out.find("wall at t = 0.49187"), std::string::npos) << text.out;
}

TEST(EventsOnTheCommandLine, ContactThatStaysClosedIsExitCode3) {
  TemporaryFolder folder;
  const Outcome outcome =
      Process({"run", "wall-pendulum", "--set", "wall=0.2", "restitution=0", "--out", "r", "--json"}, folder.path())
          .wait();
  EXPECT_EQ(outcome.exit_code, 3);
  const Json summary = Json::parse(outcome.out);
  EXPECT_EQ(summary["status"], "event-failed");
  EXPECT_NE(summary["message"].get<std::string>().find("the contact stays closed"), std::string::npos);
  EXPECT_EQ(summary["events"].size(), 1u);
}

}  // namespace
