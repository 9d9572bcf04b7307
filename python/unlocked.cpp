#include "unlocked.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace kreisel::python {
namespace {

/// A function of the user that never returns must not keep the program from ending.
constexpr auto patience_at_exit = std::chrono::seconds(10);

std::atomic<bool> is_ending = false;
std::mutex mutex;
std::condition_variable has_changed;
int running = 0;

}  // namespace

Unlocked::Unlocked() {
  if (is_ending) return;
  {
    const std::lock_guard lock(mutex);
    ++running;
  }
  released_.emplace();
}

Unlocked::~Unlocked() {
  if (!released_) return;
  released_.reset();
  const std::lock_guard lock(mutex);
  --running;
  has_changed.notify_all();
}

bool Unlocked::shall_end() { return is_ending.load(std::memory_order_relaxed); }

void Unlocked::end_all() {
  is_ending = true;
  const pybind11::gil_scoped_release released;
  std::unique_lock lock(mutex);
  has_changed.wait_for(lock, patience_at_exit, [] { return running == 0; });
}

}  // namespace kreisel::python
