#ifndef WHYWAIT_POSTMORTEM_ABNORMAL_END_HPP
#define WHYWAIT_POSTMORTEM_ABNORMAL_END_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/safe_write.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/postmortem/last_words.hpp>
#include <whywait/postmortem/report_left_behind.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/totals.hpp>
#include <whywait/report/code_place.hpp>
#include <whywait/report/settings_help.hpp>
#include <whywait/report/thread_end.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace postmortem {
namespace detail {

/// Keeps the entries with the most time in a fixed array, which is usable in a signal handler.
template <class Entry, std::size_t Room>
struct longest {
  Entry entries[Room];
  std::size_t count = 0;

  void offer(const Entry& e) noexcept {
    std::size_t place = count < Room ? count++ : Room;
    for (; place > 0 && entries[place - 1].ns < e.ns; --place)
      if (place < Room) entries[place] = entries[place - 1];
    if (place < Room) entries[place] = e;
  }
};

// The address range of the executable. It classifies code addresses without the loader's lock, which a signal handler
// must not take.
struct executable {
  reports::module_offset origin;
  std::uintptr_t begin = 0, end = 0;

  postmortem::last_call call(core::mpi_call what, const void* address) const noexcept {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(address);
    postmortem::last_call c;
    c.name = core::name_of(what);
    c.offset = at;
    if (at < begin || at >= end) return c;
    c.module = origin.module;
    c.offset = at - begin + origin.offset;
    return c;
  }
};

inline executable& this_executable() noexcept {
  static executable known;
  return known;
}

inline int find_executable(dl_phdr_info* module, std::size_t, void*) noexcept {
  executable& e = this_executable();
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    e.begin = module->dlpi_addr + header.p_vaddr;
    e.end = e.begin + header.p_memsz;
    e.origin = reports::module_offset_of(reinterpret_cast<const void*>(e.begin));
    break;
  }
  return 1;  // the executable is the first module
}

inline const char* name_of_end(mpi::end_reason reason, int signal) noexcept {
  if (reason == mpi::end_reason::abort) return "MPI_Abort";
  if (reason == mpi::end_reason::exit) return "exit without MPI_Finalize";
  if (reason == mpi::end_reason::unexplained) return "MPI_Finalize";
  return reports::name_of_signal(signal);
}

/// Digits of a number, without allocation.
struct decimal {
  explicit decimal(std::uint32_t number) noexcept : begin(digits + sizeof digits - 1) {
    *begin = '\0';
    do *--begin = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
  }
  char digits[12];
  char* begin;
};

// Formats "<prefix>.rank<n>.json" without allocation. Returns false if it does not fit. Processes that MPI_Comm_spawn started
// have the ranks and the environment of those that started them: their files contain the process number as well.
inline bool file_of_rank(const char* prefix, const mpi::state& process, char* text, std::size_t room) noexcept {
  const decimal rank(static_cast<std::uint32_t>(process.rank)), pid(static_cast<std::uint32_t>(process.registry->pid));
  std::size_t length = 0;
  for (const char* part : {prefix, process.spawned ? ".spawned-" : "", process.spawned ? pid.begin : "", ".rank",
                           static_cast<const char*>(rank.begin), ".json"})
    for (; *part != '\0'; ++part)
      if (length + 1 < room) text[length++] = *part;
      else return false;
  text[length] = '\0';
  return true;
}

}  // namespace detail

/// Hook of MPI_Init. Collects in advance what a signal handler needs, and reports the files of killed earlier runs.
inline void at_start(mpi::state& process) {
  dl_iterate_phdr(&detail::find_executable, nullptr);
  const core::settings& wanted = process.registry->config;
  if (process.rank == 0 && wanted.help) reports::print_settings(stderr);
  if (process.rank != 0 || wanted.crash == nullptr || (!wanted.report && process.output[0] == '\0')) return;
  try {
    left_behind_options options;
    if (!wanted.report) options.text = nullptr;
    options.full = wanted.full_report;
    if (process.output[0] != '\0') options.output = std::string(process.output) + ".crash";
    // The directory of our own kept file is correct even if the program has changed its working directory.
    const std::string own = process.registry->kept.name();
    const std::size_t slash = own.rfind('/');
    report_left_behind(slash != std::string::npos ? own.substr(0, slash) : wanted.crash, options);
  } catch (const std::exception& problem) {
    core::warn("cannot report the files that earlier runs left in ", wanted.crash, ": ", problem.what());
  }
}

/// Hook for an end without MPI_Finalize or without an explanation. Prints and writes the totals of this rank.
/// Async-signal-safe: no allocation, no lock, at most one mmap.
inline void at_end(mpi::state& process, mpi::end_reason reason, int signal) {
  const core::settings& wanted = process.registry->config;
  if (!wanted.report && process.output[0] == '\0') return;
  const std::uint64_t now = process.end_ticks;
  const double rate = core::clock_anchor::rate(process.start_anchor, core::clock_anchor::take());
  const auto ns_of = [rate](std::uint64_t ticks) { return static_cast<std::uint64_t>(static_cast<double>(ticks) * rate); };
  const detail::executable& program = detail::this_executable();

  postmortem::last_words words;
  words.reason = detail::name_of_end(reason, signal);
  words.rank = process.rank;
  words.ranks = process.size;
  words.ns = ns_of(now - process.begin_ticks);
  detail::longest<postmortem::last_call, 16> calls;
  detail::longest<postmortem::last_block, 32> blocks;
  postmortem::last_call inside;
  std::uint64_t mpi_ticks = 0;
  record::totals totals;
  const bool counted = totals.open();
  for (const core::location_base* l = __atomic_load_n(&process.registry->locations, __ATOMIC_ACQUIRE); l != nullptr;
       l = l->next) {
    const record::location& location = static_cast<const record::location&>(*l);
    const record::thread_facts* const thread = location.calls;
    std::uint64_t until = now;
    if (thread != nullptr) {
      for (std::uint32_t number = 0; number < thread->sites.size(); ++number) {
        const record::call_site& site = thread->sites[number];
        if (site.count == 0) continue;
        postmortem::last_call c = program.call(site.call, site.address);
        c.count = site.count;
        c.ns = ns_of(site.ticks);
        mpi_ticks += site.ticks;
        calls.offer(c);
      }
      for (std::uint64_t n : thread->calls) words.mpi_calls += n;
      words.dropped += thread->lost_records + thread->lost_steps;
      const record::open_call open = thread->open;
      if (open.frame != nullptr && open.call != core::mpi_call::Abort && open.begin != 0 && open.begin < now) {
        until = open.begin;
        mpi_ticks += now - open.begin;
        if (ns_of(now - open.begin) >= inside.ns) {
          inside = program.call(open.call, open.address);
          inside.count = 1;
          inside.ns = ns_of(now - open.begin);
          words.inside = &inside;
        }
      }
    }
    if (counted) totals.add(location, until);
    if (!counted || thread == nullptr) continue;
    totals.add(thread->folded);
    totals.add(thread->earlier);
  }
  if (counted) totals.add_ended(*process.registry);
  words.mpi_ns = ns_of(mpi_ticks);
  const core::site_table& sites = process.registry->sites;
  for (std::uint32_t site = 1; counted && site < sites.size(); ++site) {
    if (totals[site].visits == 0 && totals[site].ticks == 0) continue;
    postmortem::last_block b;
    b.name = sites[site].name;
    b.file = sites[site].file;
    b.line = sites[site].line;
    b.visits = totals[site].visits;
    b.ns = ns_of(totals[site].ticks);
    blocks.offer(b);
  }
  words.calls = calls.entries;
  words.call_count = calls.count;
  words.blocks = blocks.entries;
  words.block_count = blocks.count;

  if (wanted.report && !core::stderr_closed) postmortem::print(words, 2);
  if (process.output[0] == '\0') return;
  char path[4096];
  if (!detail::file_of_rank(process.output, process, path, sizeof path) || !write_json(words, path))
    core::warn("cannot write ", process.output, ".rank*.json: ",
               errno == ENOENT   ? "no such folder"
               : errno == EACCES ? "permission denied"
               : errno == ENOSPC ? "no space left"
                                 : "the file system refused it");
}

}  // namespace postmortem
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
