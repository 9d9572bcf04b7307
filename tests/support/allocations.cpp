// Linked only into programs that call allocation_count: it replaces malloc there.
#include "support/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<long> count{0};

}  // namespace

namespace kreisel::support {

long allocation_count() { return count.load(std::memory_order_relaxed); }

}  // namespace kreisel::support

// gcc says it with a macro, clang with a feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KREISEL_HAS_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define KREISEL_HAS_ADDRESS_SANITIZER
#endif

#if defined(KREISEL_HAS_ADDRESS_SANITIZER)

// The sanitizer has its own malloc, with a hook for us. Debian's gcc comes without sanitizer/allocator_interface.h.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

namespace {

void on_malloc(const volatile void*, std::size_t) { count.fetch_add(1, std::memory_order_relaxed); }
void on_free(const volatile void*) {}
const int installed = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);

}  // namespace

#else

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(number, size);
}
void* realloc(void* old, std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

}  // extern "C"

#endif
