// Shared loops do every part once, on several threads, and allocate nothing.
#include "base/workers.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

using namespace kreisel;

TEST(Workers, DoEveryPartOnce) {
  Workers workers(3);
  for (int round = 0; round < 2000; ++round) {
    const int count = round % 7;
    std::vector<int> calls(count, 0);  // written by one thread each
    workers.share(count, [&](int i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1)) << round;
  }
}

TEST(Workers, ShareTheWork) {
  Workers workers(2);
  std::atomic<int> waiting = 0;
  std::vector<std::thread::id> threads(2);
  // Both parts wait for each other: one thread alone would never end.
  workers.share(2, [&](int i) {
    threads[i] = std::this_thread::get_id();
    ++waiting;
    while (waiting < 2) std::this_thread::yield();
  });
  EXPECT_NE(threads[0], threads[1]);
}

TEST(Workers, AreInForceForOneThreadAndScope) {
  EXPECT_EQ(WorkersInForce::current(), nullptr);
  Workers workers(2);
  {
    const WorkersInForce in_force(&workers);
    EXPECT_EQ(WorkersInForce::current(), &workers);
    std::thread([] { EXPECT_EQ(WorkersInForce::current(), nullptr); }).join();
    int sum = 0;
    share(1, [&](int) { ++sum; });  // one part needs nobody else
    EXPECT_EQ(sum, 1);
  }
  EXPECT_EQ(WorkersInForce::current(), nullptr);
}

TEST(Workers, CutRangesIntoPieces) {
  for (const int size : {0, 1, 4, 9, 10, 11}) {
    std::vector<int> calls(size, 0);
    share_range(size, 5, [&](int begin, int end) {
      EXPECT_LE(end - begin, 5);
      for (int i = begin; i < end; ++i) ++calls[i];
    });
    EXPECT_EQ(calls, std::vector<int>(size, 1));
  }
}

}  // namespace
