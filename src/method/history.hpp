// The accepted past of a run, newest first, in storage that is allocated once.
#pragma once

#include <utility>
#include <vector>

#include "kreisel/motion.hpp"

namespace kreisel::method {

struct EntrySizes {
  int rows = 0, position_rows = 0, memory = 0;
};

/// Changes of a past point.
struct PastChange {
  const Vector &omega, &v, &memory;
};

/// What multiplies changes of a past point in a scalar.
struct PastWeight {
  Vector &omega, &v, &memory;
};

class History {
 public:
  History() = default;
  History(const lie::Space& space, const EntrySizes& sizes, int capacity)
      : ring_(capacity, blank(space, sizes)), capacity_(capacity) {}

  static Entry blank(const lie::Space& space, const EntrySizes& sizes) {
    Entry e;
    e.motion = lie::Motion(space);
    e.lambda = Vector::Zero(sizes.rows);
    e.eta = Vector::Zero(sizes.position_rows);
    e.omega = Vector::Zero(space.nv());
    e.memory = Vector::Zero(sizes.memory);
    return e;
  }

  int size() const { return size_; }
  int capacity() const { return capacity_; }
  const Entry& operator[](int age) const { return ring_[slot(age)]; }
  /// t_{n-age} - t_n from the step sizes, so that equal steps give exactly equal spacing.
  double offset(int age) const {
    double sum = 0.0;
    for (int i = 0; i < age; ++i) sum -= ring_[slot(i)].h;
    return sum;
  }
  /// offset(0 … count-1) into out.
  void offsets(int count, double* out) const {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
      out[i] = sum;
      sum -= (*this)[i].h;
    }
  }
  void clear() {
    newest_ = -1;
    size_ = 0;
  }
  /// For start-up, which corrects velocities of points it has just placed.
  Entry& edit(int age) { return ring_[slot(age)]; }
  /// Takes the contents of `trial` and leaves it with the contents of the dropped entry.
  void push(Entry& trial) {
    newest_ = newest_ + 1 < capacity_ ? newest_ + 1 : 0;
    std::swap(ring_[newest_], trial);
    if (size_ < capacity()) ++size_;
  }

 private:
  int slot(int age) const {
    const int i = newest_ - age;
    return i < 0 ? i + capacity_ : i;
  }

  std::vector<Entry> ring_;
  int capacity_ = 0, newest_ = -1, size_ = 0;
};

}  // namespace kreisel::method
