#include "run/points.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace kreisel::run {
namespace {

constexpr std::size_t first_bytes = std::size_t{1} << 20;
constexpr std::size_t huge_from = std::size_t{1} << 21;  ///< short runs do not use huge pages
constexpr std::size_t most_reserved = std::size_t{1} << 34;
constexpr std::size_t numbers_per_cache_line = 8, numbers_ahead = 64;

/// Addresses without pages; less than `most` where addresses are scarce.
void* reserve(std::size_t least, std::size_t most, std::size_t& reserved) {
  for (reserved = most; reserved >= least; reserved /= 2) {
    void* at = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) return at;
  }
  throw std::bad_alloc();
}

}  // namespace

void Points::lay_out(const Point& first) {
  const method::Entry& e = first.entry;
  Eigen::Index at = 0;
  const auto place = [&](Part& part, Eigen::Index size) {
    part = {at, size};
    at += size;
  };
  for (Part* number : {&t, &h, &order}) place(*number, 1);
  place(q, e.motion.q.size());
  place(v, e.motion.v.size());
  place(a, e.motion.a.size());
  place(lambda, e.lambda.size());
  place(work, 3);
  place(eta, extent_.has_increments ? e.eta.size() : 0);
  place(omega, extent_.has_increments ? e.omega.size() : 0);
  place(gap, extent_.has_residuals ? first.residual.gap.size() : 0);
  place(rate, extent_.has_residuals ? first.residual.rate.size() : 0);
  width_ = static_cast<std::size_t>(at);
}

Memory::~Memory() {
  if (at_ != nullptr) ::munmap(at_, reserved_);
}

void Memory::grow() {
  const std::size_t bytes = at_ == nullptr ? first_bytes : 2 * bytes_;
  void* at = at_;
  if (at_ == nullptr) {
    at = reserve(bytes, most_reserved, reserved_);
  } else if (bytes > reserved_) {
    at = ::mremap(at_, reserved_, bytes, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) throw std::bad_alloc();
    reserved_ = bytes;
  }
  at_ = static_cast<double*>(at);
  if (bytes > huge_from) ::madvise(static_cast<char*>(at) + bytes_, bytes - bytes_, MADV_HUGEPAGE);  // a hint
  bytes_ = bytes;
}

void Memory::trim(std::size_t count) {
  if (at_ == nullptr) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t used = std::max((count * sizeof(double) + page - 1) / page, std::size_t{1}) * page;
  ::munmap(reinterpret_cast<char*>(at_) + used, reserved_ - used);
  reserved_ = bytes_ = used;
}

void Points::finish() { memory_->trim(count_ * width_); }

void Points::push(const Point& point, double time) {
  if (width_ == 0) lay_out(point);
  while ((count_ + 1) * width_ > memory_->size()) memory_->grow();
  double* row = memory_->data() + count_ * width_;
  const method::Entry& e = point.entry;
  row[t.at] = time;
  row[h.at] = e.h;
  row[order.at] = e.order;
  const auto put = [&](const Part& part, const Vector& values) {
    std::copy_n(values.data(), part.size, row + part.at);
  };
  put(q, e.motion.q);
  put(v, e.motion.v);
  put(a, e.motion.a);
  put(lambda, e.lambda);
  put(eta, e.eta);
  put(omega, e.omega);
  put(gap, point.residual.gap);
  put(rate, point.residual.rate);
  row[work.at] = point.work.forces;
  row[work.at + 1] = point.work.drivers;
  row[work.at + 2] = point.work.dissipated;
  if (spells_.empty() || spells_.back().system != point.system || spells_.back().segment != point.segment)
    spells_.push_back({count_, point.segment, point.system, point.method});
  ++count_;
  // The next row has not been touched yet: prefetch it during the next step.
  for (std::size_t ahead = 0; ahead < std::min(width_, numbers_ahead); ahead += numbers_per_cache_line)
    __builtin_prefetch(row + width_ + ahead, 1);
}

void Points::pop() {
  --count_;
  if (spells_.back().first == count_) spells_.pop_back();
}

const Points::Spell& Points::spell_of(std::size_t i) const {
  return *std::prev(
      std::upper_bound(spells_.begin(), spells_.end(), i, [](std::size_t k, const Spell& s) { return k < s.first; }));
}

std::size_t Points::oldest_of(std::size_t i, std::size_t most) const {
  const std::size_t first = spell_of(i).first;
  // A method that restarts without an event begins at the last point of the segment before.
  const bool begins_before = first > 0 && number(t, first - 1) < number(t, first);
  const std::size_t oldest = begins_before ? first - 1 : first;
  return std::max(oldest, i + 1 > most ? i + 1 - most : 0);
}

void Points::read(std::size_t i, method::Entry& out) const {
  out.motion.t = number(t, i);
  out.motion.q = get(q, i);
  out.motion.v = get(v, i);
  out.motion.a = get(a, i);
  out.lambda = get(lambda, i);
  if (extent_.has_increments) {
    out.eta = get(eta, i);
    out.omega = get(omega, i);
  }
  out.h = number(h, i);
  out.order = static_cast<int>(number(order, i));
}

void Points::read_residual(std::size_t i, const method::Entry& entry, system::Residual& out) const {
  if (!extent_.has_residuals) return in_force(i).residual(entry.motion, entry.lambda, out);
  out.gap = get(gap, i);
  out.rate = get(rate, i);
}

Work Points::work_at(std::size_t i) const {
  const double* from = row(i) + work.at;
  return {from[0], from[1], from[2]};
}

}  // namespace kreisel::run
