#include <whywait/record/caller.hpp>

#include "../../sanitizers.hpp"

#include <alloca.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

using whywait::core::mpi_call;
using whywait::record::call_site;
using whywait::record::call_site_table;
using whywait::record::caller;

// Functions that call something like a wrapper, with frames of all kinds. Each notes its own return address, which is the truth.
namespace {

struct no_regions {
  std::uint64_t path() const { return 1; }
  bool knows_path() const { return true; }
  std::uint32_t depth() const { return 0; }
  std::uint32_t open_region(std::uint32_t) const { return 0; }
};

struct wrapped_calls {
  call_site_table table;
  const void* truth = nullptr;
  int known = 0, wrong = 0, made = 0;
};
wrapped_calls* checked = nullptr;
volatile unsigned char sink;

__attribute__((noinline)) int wrapper(void* buffer) {
  std::memset(buffer, 1, 8);
  const caller from{__builtin_return_address(0), __builtin_frame_address(0)};
  const call_site& site = checked->table[checked->table.count(from, mpi_call::Wait, no_regions{}, 1)];
  ++checked->made;
  if (site.caller != nullptr) ++(site.caller == checked->truth ? checked->known : checked->wrong);
  return static_cast<int>(checked->table.size());
}

__attribute__((noinline)) int fixed_frame(int bytes) {
  unsigned char buffer[64];
  checked->truth = __builtin_return_address(0);
  const int result = wrapper(buffer);
  sink = buffer[bytes % 64];
  return result;
}
__attribute__((noinline)) int varying_frame(int bytes) {
  auto* const buffer = static_cast<unsigned char*>(alloca(static_cast<std::size_t>(bytes)));
  checked->truth = __builtin_return_address(0);
  const int result = wrapper(buffer);
  sink = buffer[7];
  return result;
}
__attribute__((noinline)) int aligned_frame(int bytes) {
  alignas(256) unsigned char buffer[256];
  checked->truth = __builtin_return_address(0);
  const int result = wrapper(buffer);
  sink = buffer[bytes % 256];
  return result;
}
__attribute__((noinline)) int varying_aligned_frame(int bytes) {
  alignas(256) unsigned char first[256];
  auto* const buffer = static_cast<unsigned char*>(alloca(static_cast<std::size_t>(bytes)));
  checked->truth = __builtin_return_address(0);
  std::memset(first, bytes, sizeof first);
  const int result = wrapper(buffer);
  sink = first[bytes % 256];
  return result;
}

using function = int (*)(int);
__attribute__((noinline)) int caller_a(function f, int bytes) { return f(bytes) + 1; }
__attribute__((noinline)) int caller_b(function f, int bytes) { return f(bytes) + 2; }
// Return addresses that lie where the frame of a later call has its locals.
__attribute__((noinline)) int deep(function f, int bytes, int depth) {
  auto* const room = static_cast<unsigned char*>(alloca(static_cast<std::size_t>(8 * (depth % 5) + 8)));
  room[0] = static_cast<unsigned char>(depth);
  const int result = depth == 0 ? f(bytes) : deep(f, bytes, depth - 1);
  sink = room[0];
  return result + 1;
}
int run(function f) {
  int sum = 0;
  for (int turn = 0; turn < 200; ++turn) {
    const int bytes = 8 + 8 * (turn * 7 % 50);
    sum += caller_a(f, bytes);
    sum += caller_b(f, bytes + 32);
    sum += deep(f, bytes, turn % 9);
    sum += f(bytes);
  }
  return sum;
}

wrapped_calls& calls_by(function f) {
  static wrapped_calls calls;
  calls = {};
  REQUIRE(calls.table.open());
  checked = &calls;
  sink = static_cast<unsigned char>(run(f));
  calls.table.release();
  return calls;
}

void check_known(const wrapped_calls& calls) {
  CHECK(calls.made == 800);
  CHECK(calls.wrong == 0);
#if defined(__x86_64__)
  CHECK(calls.known == 800);
  CHECK(calls.table.size() == 5);  // four callers and number 0
#endif
}

}  // namespace

TEST_CASE("the caller of a function with a frame of fixed size is found") { check_known(calls_by(&fixed_frame)); }
TEST_CASE("the caller of a function with a frame of varying size is found") { check_known(calls_by(&varying_frame)); }
TEST_CASE("the caller of a function with an aligned frame is found") { check_known(calls_by(&aligned_frame)); }
TEST_CASE("the caller of a function with an aligned frame of varying size is never wrong") {
  const wrapped_calls& calls = calls_by(&varying_aligned_frame);
  CHECK(calls.made == 800);
  CHECK(calls.wrong == 0);
}

// Calls through two functions of a library: their callers differ, and so do the frames of the second one.
namespace {
struct caller_in_library : caller {
  static bool goes_on(const call_site& site) { return site.level < 1; }
};
const void* outer_truth = nullptr;

__attribute__((noinline)) int library_wrapper() {
  const caller_in_library from{{__builtin_return_address(0), __builtin_frame_address(0)}};
  call_site_table& table = checked->table;
  const std::uint32_t number = table.find_outer(table.find_or_add(from, mpi_call::Wait, no_regions{}), from, no_regions{});
  const void* all[call_site_table::most_levels + 2];
  const std::uint32_t count = table.frames(number, all);
  ++checked->made;
  if (all[count - 1] != nullptr)
    ++(count == 3 && all[1] == checked->truth && all[2] == outer_truth ? checked->known : checked->wrong);
  return static_cast<int>(count);
}
__attribute__((noinline)) int inner_function(int bytes) {
  unsigned char buffer[48];
  std::memset(buffer, bytes, sizeof buffer);
  checked->truth = __builtin_return_address(0);
  const int result = library_wrapper();
  sink = buffer[bytes % 48];
  return result;
}
__attribute__((noinline)) int small_function(int bytes) {
  outer_truth = __builtin_return_address(0);
  return inner_function(bytes) + 1;
}
__attribute__((noinline)) int large_function(int bytes) {
  unsigned char buffer[400];
  std::memset(buffer, bytes, sizeof buffer);
  outer_truth = __builtin_return_address(0);
  const int result = inner_function(bytes);
  sink = buffer[bytes % 400];
  return result;
}
__attribute__((noinline)) int small_or_large(int bytes) {
  return bytes % 16 == 0 ? small_function(bytes) + 1 : large_function(bytes) + 2;
}
}  // namespace

TEST_CASE("callers further out are found, or not known, and never wrong") {
  const wrapped_calls& calls = calls_by(&small_or_large);
  CHECK(calls.made == 800);
  CHECK(calls.wrong == 0);
#if defined(__x86_64__) && WHYWAIT_TEST_ADDRESS_SANITIZER
  CHECK(calls.known >= 400);  // the sanitizer aligns the frame of one of the two functions
#elif defined(__x86_64__)
  CHECK(calls.known == 800);
#endif
}

TEST_CASE("a frame pointer far from the frame of the wrapper is not followed") {
  std::uintptr_t stack[4] = {0, 1, 2, 3};
  const caller from{nullptr, stack};
  const call_site::return_slot slot{sizeof(void*), call_site::return_slot::saved_frame};
  CHECK(from.read({}) == nullptr);
  for (const std::uintptr_t saved : {std::uintptr_t(0), std::uintptr_t(16), reinterpret_cast<std::uintptr_t>(stack) - 8,
                                     reinterpret_cast<std::uintptr_t>(stack) + call_site::return_slot::farthest}) {
    stack[0] = saved;
    CHECK(from.read(slot) == nullptr);
  }
  stack[0] = reinterpret_cast<std::uintptr_t>(&stack[1]);
  CHECK(from.read(slot) == reinterpret_cast<const void*>(std::uintptr_t(2)));
}
