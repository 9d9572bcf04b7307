#include "base/workers.hpp"

#include <utility>

namespace kreisel {
namespace {

constexpr std::uint64_t parts_mask = 0xffffffff;
/// A number of parts that no loop has: tells the threads to end.
constexpr std::uint64_t end_of_work = parts_mask;

thread_local Workers* in_force = nullptr;

}  // namespace

Workers::Workers(int threads) {
  threads_.reserve(threads > 1 ? threads - 1 : 0);
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

Workers::~Workers() {
  state_.store(end_of_work, std::memory_order_release);
  state_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::take_part() {
  std::uint64_t state = state_.load(std::memory_order_acquire);
  do {
    const std::uint64_t left = state & parts_mask;
    if (left == 0 || left == end_of_work) return false;
  } while (!state_.compare_exchange_weak(state, state - 1, std::memory_order_acq_rel, std::memory_order_acquire));
  try {
    call_(context_, static_cast<int>(state & parts_mask) - 1);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (thrown_ == nullptr) thrown_ = std::current_exception();
  }
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  return true;
}

void Workers::serve() {
  while (true) {
    while (take_part()) {
    }
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    if ((state & parts_mask) == end_of_work) return;
    if ((state & parts_mask) == 0) state_.wait(state, std::memory_order_acquire);
  }
}

void Workers::run(int count, Call call, const void* context) {
  if (count <= 0) return;
  // All parts of the loop before are finished, so no thread reads these now.
  call_ = call;
  context_ = context;
  unfinished_.store(count, std::memory_order_relaxed);
  const std::uint64_t number = (state_.load(std::memory_order_relaxed) >> 32) + 1;
  state_.store(number << 32 | static_cast<std::uint64_t>(count), std::memory_order_release);
  state_.notify_all();
  while (take_part()) {
  }
  for (int left = unfinished_.load(std::memory_order_acquire); left != 0;
       left = unfinished_.load(std::memory_order_acquire))
    unfinished_.wait(left, std::memory_order_acquire);
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

WorkersInForce::WorkersInForce(Workers* workers) : before_(in_force) { in_force = workers; }
WorkersInForce::~WorkersInForce() { in_force = before_; }
Workers* WorkersInForce::current() { return in_force; }

}  // namespace kreisel
