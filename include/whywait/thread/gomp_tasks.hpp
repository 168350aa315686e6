#ifndef WHYWAIT_THREAD_GOMP_TASKS_HPP
#define WHYWAIT_THREAD_GOMP_TASKS_HPP

#include <whywait/thread/slow_calls.hpp>
#include <whywait/thread/team_tasks.hpp>
#include <whywait/thread/teams.hpp>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace gomp {

using body = void (*)(void*);
using copier = void (*)(void*, void*);

/// What precedes the arguments of a task in the runtime's copy of them.
struct task_start {
  uint64_t words[3];  ///< the first ones of the arguments: the runtime writes bounds or an event there, and reads the third
  uint32_t written;  ///< how many of them it writes
  uint32_t offset;  ///< of the arguments
  body function;
  copier copy;  ///< used where this is not followed by arguments
  void* data;
  team_task task;
};
constexpr long most_task_bytes = 1 << 14;  ///< larger arguments are not copied to the stack
constexpr long most_task_alignment = 1 << 10;
enum : unsigned {
  depends = 1 << 3,
  up = 1 << 8,
  no_group = 1 << 11,
  reduces = 1 << 12,
  detaches = 1 << 13
};  ///< the runtime's flags

__attribute__((noinline, section("whywait_gomp_text"))) inline void run_task(void* at) {
  const task_start& in = *static_cast<const task_start*>(at);
  const task_start start = in;  // the arguments are those of the program's function, which may end their life
  unsigned char* const data = static_cast<unsigned char*>(at) + start.offset;
  if (start.written != 0) memcpy(data, start.words, start.written * sizeof(uint64_t));
  const before_task before = begin_task(start.task);
  start.function(data);
  end_task(start.task, before, start.task.loop != nullptr ? start.words[1] - start.words[0] : 0);
}
inline void copy_task(void* to, void* from) {
  const task_start& start = *static_cast<const task_start*>(from);
  memcpy(to, from, sizeof(task_start));
  start.copy(static_cast<unsigned char*>(to) + start.offset, start.data);
}

/// Whether a task with such arguments is observed.
inline bool observes_task(long size, long alignment) noexcept {
  const team* const t = this_thread_in_team().current;
  return t != nullptr && t->counts() && size <= most_task_bytes && alignment <= most_task_alignment && recorder() != nullptr;
}

/// Calls the runtime with the arguments of a task behind a task_start: `call(function, data, copy, size, alignment)`. `data` has `size`
/// bytes, but with `copy` the runtime reads only its first `read` words.
template <class Call>
void with_task(const team_task& task, uint32_t written, uint32_t read, body function, void* data, copier copy, long size,
               long alignment, Call call) {
  const size_t align = alignment > long{alignof(task_start)} ? static_cast<size_t>(alignment) : alignof(task_start);
  const size_t offset = (sizeof(task_start) + align - 1) & ~(align - 1), bytes = static_cast<size_t>(size > 0 ? size : 0);
  const uintptr_t room = reinterpret_cast<uintptr_t>(__builtin_alloca(offset + bytes + align));
  unsigned char* const block = reinterpret_cast<unsigned char*>((room + align - 1) & ~(align - 1));
  task_start start{{}, written, static_cast<uint32_t>(offset), function, copy, data, task};
  const size_t known = copy != nullptr ? read * sizeof(uint64_t) : bytes < sizeof start.words ? bytes : sizeof start.words;
  if (known != 0) memcpy(start.words, data, known);
  memcpy(block, &start, sizeof start);
  if (copy == nullptr && bytes != 0) memcpy(block + offset, data, bytes);
  call(&run_task, static_cast<void*>(block), copy != nullptr ? &copy_task : nullptr, static_cast<long>(offset + bytes),
       static_cast<long>(align));
}

/// Runs a loop whose iterations are divided among tasks.
template <class Call>
void run_task_loop(const sync_site& site, unsigned flags, body function, void* data, copier copy, long size, long alignment,
                   uint64_t begin, uint64_t end, uint64_t step, bool upwards, bool is_empty, Call call) {
  const uint64_t distance = upwards ? end - begin : begin - end, each = upwards ? step : 0 - step;
  if (is_empty || each == 0 || !observes_task(size, alignment)) return call(function, data, copy, size, alignment);
  const bool groups = (flags & no_group) == 0;
  if (groups) begin_group();
  team_task task{};
  if (task_set* const loop = detail::take_task_set()) {
    loop->iterations = (distance / each + (distance % each != 0 ? 1 : 0)) * step;
    task = create_task(site.address, false, false);
    task.loop = loop;
  } else {
    task.of = this_thread_in_team().current;
    task.uncounted = true;
  }
  const team_thread& here = this_thread_in_team();
  task_set* const group = groups && here.lost_groups == 0 ? here.group : nullptr;
  const bool waits = want_tasks(site, group);
  with_task(task, 2, (flags & reduces) != 0 ? 3 : 0, function, data, copy, size, alignment, call);
  if (waits) have_tasks(group);
  if (groups) end_group();
}

}  // namespace gomp
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
