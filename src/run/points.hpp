// The accepted points of a run, kept.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "kreisel/observer.hpp"

namespace kreisel::run {

/// Numbers that grow in place: addresses are reserved in advance, pages are allocated at first use.
class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void grow();
  /// Releases the memory after the first `count` numbers; it cannot grow any more.
  void trim(std::size_t count);
  double* data() { return at_; }
  std::size_t size() const { return bytes_ / sizeof(double); }

 private:
  double* at_ = nullptr;
  std::size_t bytes_ = 0, reserved_ = 0;
};

/// One row of numbers per point, in memory that arrays can share: beyond its steps, the cost of a run is memory access.
class Points {
 public:
  /// Data that only some results need.
  struct Extent {
    bool has_increments = false;  ///< for interpolation
    bool has_residuals = false;   ///< they cannot be computed again when constraints are switched
  };
  explicit Points(Extent extent) : extent_(extent) {}

  void push(const Point& point) { push(point, point.entry.motion.t); }
  /// Appends a point with this time.
  void push(const Point& point, double time);
  /// Forgets the last point.
  void pop();
  /// After the last point.
  void finish();
  /// Sets the offsets of quantities in rows of the sizes of `first`; called by the first `push`.
  void lay_out(const Point& first);
  std::size_t size() const { return count_; }

  /// Offset of a quantity in a row.
  struct Part {
    Eigen::Index at = 0, size = 0;
  };
  Part t, h, order, q, v, a, lambda, eta, omega, gap, rate, work;

  const double* row(std::size_t i) const { return memory_->data() + i * width_; }
  std::size_t width() const { return width_; }
  std::shared_ptr<const Memory> memory() const { return memory_; }
  double number(const Part& part, std::size_t i) const { return row(i)[part.at]; }
  Eigen::Map<const Vector> get(const Part& part, std::size_t i) const { return {row(i) + part.at, part.size}; }
  /// The point as methods see it, without data private to a method; with increments only if they are kept.
  void read(std::size_t i, method::Entry& out) const;
  /// Φ and B v + Φ_t, kept or computed again.
  void read_residual(std::size_t i, const method::Entry& entry, system::Residual& out) const;
  Work work_at(std::size_t i) const;
  const system::System& in_force(std::size_t i) const { return *spell_of(i).system; }
  std::string_view method_of(std::size_t i) const { return spell_of(i).method; }
  /// The points that a method at point i can use, oldest first and i last, at most `most` of them: those of its
  /// segment, and the one it began at.
  std::size_t oldest_of(std::size_t i, std::size_t most) const;

 private:
  /// Points of one segment, under one system.
  struct Spell {
    std::size_t first = 0;
    int segment = 0;
    const system::System* system = nullptr;
    std::string_view method;  ///< of the catalogue
  };
  const Spell& spell_of(std::size_t i) const;

  Extent extent_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  std::size_t width_ = 0, count_ = 0;
  std::vector<Spell> spells_;
};

}  // namespace kreisel::run
