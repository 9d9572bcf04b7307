// Threads that share the loops of one run.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kreisel {

/// A few threads that wait for loops. The assignment of parts to threads is arbitrary, so parts must not depend on each other;
/// then results are the same with any number of threads.
class Workers {
 public:
  /// `threads` counts the one that calls; the others are started here.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls part(i) for 0 ≤ i < count and returns when all are done. An exception of a part, one of them if several, is rethrown
  /// then. No allocation.
  template <class Part>
  void share(int count, const Part& part) {
    run(
        count, [](const void* context, int i) { (*static_cast<const Part*>(context))(i); }, &part);
  }

 private:
  using Call = void (*)(const void*, int);

  void run(int count, Call call, const void* context);
  void serve();
  bool take_part();  ///< false when there is none to take

  // The current loop: its number in the upper half, how many parts are left in the lower. Both are exchanged together, so that no
  // thread claims a part of a later loop.
  std::atomic<std::uint64_t> state_{0};
  std::atomic<int> unfinished_{0};
  Call call_ = nullptr;
  const void* context_ = nullptr;
  std::mutex mutex_;
  std::exception_ptr thrown_;  ///< by a part of the current loop
  std::vector<std::thread> threads_;
};

/// During its lifetime, the loops of the thread that created it are shared by these workers; null: not shared.
class WorkersInForce {
 public:
  explicit WorkersInForce(Workers* workers);
  ~WorkersInForce();
  WorkersInForce(const WorkersInForce&) = delete;
  WorkersInForce& operator=(const WorkersInForce&) = delete;

  static Workers* current();

 private:
  Workers* before_;
};

/// part(i) for 0 ≤ i < count, shared by the current workers, or else one after the other.
template <class Part>
void share(int count, const Part& part) {
  Workers* workers = count > 1 ? WorkersInForce::current() : nullptr;
  if (workers != nullptr) return workers->share(count, part);
  for (int i = 0; i < count; ++i) part(i);
}

/// part(begin, end) for pieces of [0, size): as share, in pieces of `piece`.
template <class Part>
void share_range(int size, int piece, const Part& part) {
  share((size + piece - 1) / piece,
        [&](int i) { part(i * piece, i + 1 < (size + piece - 1) / piece ? (i + 1) * piece : size); });
}

}  // namespace kreisel
