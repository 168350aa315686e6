#ifndef WHYWAIT_COVERAGE_COUNTERS_CALLBACKS_HPP
#define WHYWAIT_COVERAGE_COUNTERS_CALLBACKS_HPP

#include <whywait/coverage/counters/block_counts.hpp>
#include <whywait/coverage/counters/source.hpp>
#include <whywait/record/append.hpp>
#include <whywait/record/location.hpp>

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace coverage {
namespace detail {

/// State of the callbacks for each thread and module.
struct thread_blocks {
  block_counts counts;
  uintptr_t base;
  // Disables counting, either while the slow path runs, because its callees may be instrumented, or because nothing is
  // recorded.
  bool silent;
  // Each visit is also appended to the path order, so that all visits take the slow path.
  bool ordered;
};

/// State that the callbacks of one module share.
struct module_blocks {
  core::code_source* source;  // null if nothing is recorded
  uintptr_t* addresses;  // guards only
  pthread_once_t once;
};

// Hidden, so that each module has its own, like all functions that use them. With initial-exec an access is one load in
// an executable and in a library.
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local thread_blocks address_blocks = {};
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local thread_blocks guard_blocks = {};
__attribute__((visibility("hidden"))) inline module_blocks address_module = {nullptr, nullptr, PTHREAD_ONCE_INIT};
__attribute__((visibility("hidden"))) inline module_blocks guard_module = {nullptr, nullptr, PTHREAD_ONCE_INIT};
__attribute__((visibility("hidden"))) inline uint32_t guard_count = 0;

WHYWAIT_NO_COVERAGE inline void report_counts(thread_blocks& here, const core::code_source& self,
                                              const core::step_sink& sink) noexcept {
  here.counts.collect([&](uint32_t block, uint64_t count) noexcept {
    sink.take(sink.self, core::path_step{self.first + block, 0, count, 0, 0});
  });
}
WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"))) inline void collect_addresses(core::code_source& self,
                                                                                        const core::step_sink& sink) noexcept {
  report_counts(address_blocks, self, sink);
}
WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"))) inline void collect_guards(core::code_source& self,
                                                                                     const core::step_sink& sink) noexcept {
  report_counts(guard_blocks, self, sink);
}

/// The address range of this module's code.
struct __attribute__((visibility("hidden"))) code_span {
  uintptr_t begin = ~uintptr_t(0);
  uintptr_t end = 0;

  WHYWAIT_NO_COVERAGE static int visit(dl_phdr_info* module, size_t, void* self) noexcept {
    const uintptr_t inside = reinterpret_cast<uintptr_t>(&collect_addresses);
    code_span span;
    bool found = false;
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = module->dlpi_phdr[i];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      const uintptr_t from = module->dlpi_addr + header.p_vaddr, to = from + header.p_memsz;
      if (from < span.begin) span.begin = from & ~uintptr_t(3);
      if (to > span.end) span.end = to;
      found = found || (inside >= from && inside < to);
    }
    if (found) *static_cast<code_span*>(self) = span;
    return found ? 1 : 0;
  }
};

WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"), cold)) inline void open_address_module() noexcept {
  code_span span;
  dl_iterate_phdr(&code_span::visit, &span);
  if (span.end <= span.begin) return;
  core::code_source* const made =
      make_source(core::code_source::kind::addresses, static_cast<uint32_t>((span.end - span.begin) / 4 + 1));
  if (made == nullptr) return;
  made->base = span.begin;
  made->collect = &collect_addresses;
  pin_module_of(reinterpret_cast<const void*>(&collect_addresses));
  publish(made);
  address_module.source = made;
}

WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"), cold)) inline void open_guard_module() noexcept {
  const uint32_t size = guard_count + 1;  // guard numbers begin at 1
  void* const addresses = core::map_pages(sizeof(uintptr_t) * size, false);
  core::code_source* const made = addresses != nullptr ? make_source(core::code_source::kind::guards, size) : nullptr;
  if (made == nullptr) return;
  guard_module.addresses = static_cast<uintptr_t*>(addresses);
  made->addresses = guard_module.addresses;
  made->base = reinterpret_cast<uintptr_t>(&collect_guards);
  made->collect = &collect_guards;
  pin_module_of(reinterpret_cast<const void*>(&collect_guards));
  publish(made);
  guard_module.source = made;
}

/// Prepares the first callback of a thread in this module. Returns false if nothing is recorded, or recording has not
/// begun.
WHYWAIT_NO_COVERAGE __attribute__((noinline, cold, visibility("hidden"))) inline bool is_open(thread_blocks& here,
                                                                                              module_blocks& module,
                                                                                              void (*open_module)()) noexcept {
  if (here.silent) return false;
  if (here.counts.capacity() != 0) return true;
  here.silent = true;
  if (record::this_location() != nullptr) {
    pthread_once(&module.once, open_module);
    const core::code_source* const source = module.source;
    here.ordered = record::keeps_order();
    if (source == nullptr || !here.counts.open(source->count, here.ordered)) return false;  // permanently silent
    here.base = source->base;
  } else if (record::is_off()) {
    return false;
  }
  here.silent = false;
  return here.counts.capacity() != 0;
}

/// Whether a block on the slow path is counted. With WHYWAIT_PATH=order it is also appended to the path order.
WHYWAIT_NO_COVERAGE __attribute__((noinline, cold, visibility("hidden"))) inline bool take(thread_blocks& here,
                                                                                           const module_blocks& module,
                                                                                           uintptr_t block) noexcept {
  if (block >= here.counts.capacity()) return false;
  const uint64_t number = module.source->first + block;
  if (!here.ordered || number > record::most_appended) return true;
  here.silent = true;
  record::append(static_cast<uint32_t>(number));
  here.silent = false;
  return true;
}

}  // namespace detail

/// Counts the block whose callback returns to `address`. Counts are per thread. About 1 ns, plus 8 ns with
/// WHYWAIT_PATH=order. Code of other modules is not counted.
WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"), always_inline)) inline void visit_address(uintptr_t address) noexcept {
  detail::thread_blocks& here = detail::address_blocks;
  uintptr_t block = (address - here.base) >> 2;  // unique, because a call instruction is longer than 3 bytes
  if (__builtin_expect(block >= here.counts.size(), 0)) {
    if (!detail::is_open(here, detail::address_module, &detail::open_address_module)) return;
    block = (address - here.base) >> 2;
    if (!detail::take(here, detail::address_module, block)) return;
  }
  here.counts.visit(static_cast<uint32_t>(block));
}

/// Counts the block to which the compiler gave the number `guard`, from 1 on; 0 is none. Counts are per thread. About 1
/// ns.
WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"), always_inline)) inline void visit_guard(uint32_t guard,
                                                                                                 uintptr_t address) noexcept {
  detail::thread_blocks& here = detail::guard_blocks;
  if (__builtin_expect(guard >= here.counts.size(), 0)) {
    if (!detail::is_open(here, detail::guard_module, &detail::open_guard_module)) return;
    if (!detail::take(here, detail::guard_module, guard)) return;
  }
  if (__builtin_expect(here.counts.visit(guard), 0))
    __atomic_store_n(detail::guard_module.addresses + guard, address, __ATOMIC_RELAXED);
}

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

// Compiler hooks, hidden so that each module counts its own code.
extern "C" {
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used)) void __sanitizer_cov_trace_pc() {
  whywait::coverage::visit_address(reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void __sanitizer_cov_trace_pc_guard_init(
    uint32_t* guard, uint32_t* end) {
  if (guard == end || *guard != 0) return;  // called once per object file, always with the same range
  for (; guard != end; ++guard) *guard = ++whywait::coverage::detail::guard_count;
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used)) void __sanitizer_cov_trace_pc_guard(
    const uint32_t* guard) {
  whywait::coverage::visit_guard(*guard, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
}

#endif  // WHYWAIT_DISABLE

#endif
