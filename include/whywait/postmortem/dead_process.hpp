#ifndef WHYWAIT_POSTMORTEM_DEAD_PROCESS_HPP
#define WHYWAIT_POSTMORTEM_DEAD_PROCESS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/clock.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/kept_modules.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/explain/collective_book.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/mpi/kept_facts.hpp>
#include <whywait/postmortem/dead_memory.hpp>
#include <whywait/record/location.hpp>
#include <whywait/report/module_list.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace postmortem {

/// What one thread of a process that is gone recorded.
struct dead_thread {
  /// `head`: the location up to what its recorder keeps by block.
  dead_thread(const char* head, std::size_t bytes)
      : pages(core::map_pages(sizeof(record::location), false)),
        where(*(pages != nullptr ? new(pages) record::location : throw std::bad_alloc())) {
    std::memcpy(static_cast<void*>(&where), head, bytes);
  }
  dead_thread(const dead_thread&) = delete;
  dead_thread& operator=(const dead_thread&) = delete;
  ~dead_thread() { core::unmap_pages(pages, sizeof(record::location)); }

  void* pages;
  record::location& where;  ///< a copy; what its pointers lead to is in the file
  bool path_is_there = false;
  bool calls_mpi = false;
  record::thread_facts calls{};  ///< valid if `calls_mpi`
  std::uint64_t last_ticks = 0;     ///< last sign of life
  std::uint64_t torn = 0, cut = 0;  ///< events that had only begun; events that were not kept or are damaged
  base::pod_vector<core::sync_record*> sync_chunks;
  base::pod_vector<core::path_step*> step_chunks;
  base::pod_vector<std::int32_t*> need_chunks;
};

/// A process that is gone, read from its file: copies of its tables, its records where the file is mapped. All that is
/// there is checked; what is damaged is cut off and counted, never followed.
class dead_process {
 public:
  /// `file` must be readable. Cost: one pass over the records.
  explicit dead_process(std::unique_ptr<dead_memory> file) : file_(std::move(file)) { read(); }
  dead_process(const dead_process&) = delete;
  dead_process& operator=(const dead_process&) = delete;
  [[gnu::noinline]] ~dead_process() = default;

  /// Empty: everything could be read.
  const std::string& problem() const noexcept { return problem_; }
  /// The file belongs to another version of whywait, which could read it, so it must not be removed.
  bool of_another_version() const noexcept { return other_version_; }
  const dead_memory& file() const noexcept { return *file_; }
  const core::kept_header& header() const noexcept { return file_->header(); }
  const core::site_table& sites() const noexcept { return sites_; }
  const reports::module_list& modules() const noexcept { return modules_; }
  const base::vector<std::unique_ptr<dead_thread>>& threads() const noexcept { return threads_; }
  bool has_mpi() const noexcept { return has_mpi_; }
  const mpi::process_facts& facts() const noexcept { return facts_; }
  /// The records; the clock is that of this process alone. Valid as long as this object.
  finalize::process_records& records() noexcept { return records_; }
  const finalize::process_records& records() const noexcept { return records_; }
  /// Number of a communicator by its handle; `none` if it is not known.
  std::uint32_t communicator_of(std::uint64_t handle) const {
    for (const known_handle& h : handles_)
      if (h.handle == handle) return h.number;
    return mpi::communicator_table::none;
  }
  /// How many collective operations of the communicator `id` it has left.
  std::uint64_t collectives_left(core::stable_key id) const {
    for (std::size_t i = 0; i < collectives_.size(); ++i)
      if (records_.history.communicators[i].id == id) return collectives_[i];
    return 0;
  }
  std::uint64_t torn() const noexcept { return torn_; }
  std::uint64_t cut() const noexcept { return cut_; }

 private:
  struct known_handle {
    std::uint64_t handle;
    std::uint32_t number;  // of the communicator
  };

  // No run is so long: what lies beyond is damage.
  static constexpr std::uint64_t most_ticks = std::uint64_t(1) << 54;

  void fail(const char* why, bool other_version = false) {
    problem_ = why;
    other_version_ = other_version;
  }

  void read() {
    const core::kept_header& h = header();
    const core::registry* const remote = file_->find_at<core::registry>(h.registry);
    if (remote == nullptr) return fail("holds no records: the process ended before its first event, or the file is damaged");
    if (h.layout[0] != core::layout_of<core::registry>() ||
        (h.layout[1] != 0 && h.layout[1] != core::layout_of<record::location>()) ||
        (h.layout[2] != 0 && h.layout[2] != mpi::layout_of_facts()))
      return fail("was written by another version of whywait; read it with that version", true);
    std::memcpy(static_cast<void*>(&sites_), &remote->sites, sizeof sites_);
    sites_.adopt(*file_, infos_);
    read_modules();
    read_facts();
    read_threads(*remote);
  }

  bool is_sane(std::uint64_t ticks) const noexcept { return ticks - header().first.ticks < most_ticks; }

  // A bool of a damaged file may be neither.
  static bool is_true(const bool& flag) noexcept {
    unsigned char byte;
    std::memcpy(&byte, &flag, 1);
    return byte != 0;
  }

  void read_modules() {
    const std::uint64_t count = std::min<std::uint64_t>(header().module_count, core::kept_modules::capacity);
    for (std::uint64_t i = 0; i < count; ++i) {
      const core::kept_module* const m = file_->find_at<core::kept_module>(header().modules + i * sizeof(core::kept_module));
      if (m == nullptr) return;
      reports::loaded_module one;
      one.path.assign(m->path, strnlen(m->path, sizeof m->path));
      one.base = m->base;
      one.begin = m->begin;
      one.end = m->end;
      struct stat now {};
      one.file_is_same =
          !one.path.empty() && m->file_bytes != 0 && ::stat(one.path.c_str(), &now) == 0 &&
          static_cast<std::uint64_t>(now.st_size) == m->file_bytes &&
          static_cast<std::uint64_t>(now.st_mtim.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.st_mtim.tv_nsec) ==
              m->file_time_ns;
      modules_.add(std::move(one));
    }
  }

  void read_facts() {
    const mpi::process_facts* const remote = file_->find_at<mpi::process_facts>(header().room[0]);
    if (header().job == 0 || remote == nullptr) return;
    std::memcpy(static_cast<void*>(&facts_), remote, sizeof facts_);
    records_.history.rank = header().rank;
    records_.history.ranks = header().ranks;
    if (records_.history.ranks < 1 || records_.history.ranks > most_ranks || records_.history.rank < 0 ||
        records_.history.rank >= records_.history.ranks)
      return;
    facts_.communicators.visit_kept(*file_, [&](const mpi::known_communicator& c, const std::int32_t* world) {
      core::communicator to;
      bool good = c.size <= records_.history.ranks && c.rank >= 0 && (c.inter || c.rank < c.size);
      for (std::int32_t i = 0; good && world != nullptr && i < c.size; ++i)
        good = world[i] >= -1 && world[i] < records_.history.ranks;
      if (good) {  // else it matches nothing
        to = {c.id, c.size, c.rank, c.inter, {}, c.own_size, c.first, c.outside};
        if (world != nullptr) to.world.assign(world, world + c.size);
      }
      records_.history.communicators.push_back(std::move(to));
    });
    facts_.communicators.visit_kept_handles(*file_, [&](std::uint64_t handle, std::uint32_t number) {
      if (number < records_.history.communicators.size()) handles_.push_back({handle, number});
    });
    collectives_.resize(records_.history.communicators.size());
    // Not yet running: it ended in MPI_Init, and nothing was recorded.
    has_mpi_ = facts_.begin_ticks != 0 && is_sane(facts_.begin_ticks);
    records_.begin_ticks = records_.end_ticks = has_mpi_ ? facts_.begin_ticks : 0;
    records_.closed = is_true(facts_.closed);
  }

  void read_threads(const core::registry& remote) {
    const std::uint64_t most = std::min<std::uint64_t>(remote.location_count, most_threads);
    const core::location_base* next = remote.locations;
    base::vector<std::unique_ptr<dead_thread>> found;
    base::pod_vector<const record::location*> addresses;
    while (next != nullptr && found.size() < most) {
      if (reinterpret_cast<std::uintptr_t>(next) % alignof(record::location) != 0) break;  // damaged
      const record::location* const l = static_cast<const record::location*>(next);
      const char* const begin = reinterpret_cast<const char*>(l);
      const std::size_t bytes = static_cast<std::size_t>(const_cast<record::location*>(l)->path.arrays() - begin);
      const char* const head = file_->find(begin, bytes);
      if (head == nullptr) break;
      found.push_back(std::make_unique<dead_thread>(head, bytes));
      addresses.push_back(l);
      next = found.back()->where.next;
    }
    threads_.resize(found.size());
    addresses_.resize(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::uint32_t index = found[i]->where.index;
      if (index >= threads_.size() || threads_[index] != nullptr) continue;
      threads_[index] = std::move(found[i]);
      addresses_[index] = addresses[i];
    }
    for (std::unique_ptr<dead_thread>& t : threads_)  // a hole where the list was damaged
      if (t == nullptr) return threads_.clear(), fail("is damaged: its list of threads is inconsistent");
    records_.history.locations = std::vector<core::location_history>(threads_.size());
    records_.threads.resize(threads_.size());
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      records_.history.locations[i].thread = static_cast<std::int32_t>(i);
      read_thread(*threads_[i], *addresses_[i], records_.history.locations[i], records_.threads[i]);
    }
  }

  void read_thread(dead_thread& t, const record::location& remote, core::location_history& to,
                   finalize::thread_records& beside) {
    record::location& own = t.where;
    t.path_is_there = own.path.adopt(&remote.path, *file_);
    if (is_sane(header().last.ticks)) t.last_ticks = header().last.ticks;
    if (own.finished != 0 && is_sane(own.end_ticks)) t.last_ticks = own.end_ticks;
    bool torn = false;
    for (std::uint64_t lost : {own.syncs.adopt(*file_, t.sync_chunks, torn)}) t.cut += lost, t.torn += torn ? 1 : 0;
    for (std::uint64_t lost : {own.steps.adopt(*file_, t.step_chunks, torn)}) t.cut += lost, t.torn += torn ? 1 : 0;
    for (std::uint64_t lost : {own.needs.adopt(*file_, t.need_chunks, torn)}) t.cut += lost, t.torn += torn ? 1 : 0;
    const record::thread_facts* const calls = file_->find(const_cast<const record::thread_facts*>(own.calls), 1);
    if (calls != nullptr && header().layout[2] != 0) {
      t.calls_mpi = true;
      std::memcpy(static_cast<void*>(&t.calls), calls, sizeof t.calls);
      t.calls.sites.adopt(*file_, sites_.size());
      t.calls.folded = t.calls.earlier = nullptr;
      beside.sites = &t.calls.sites;
      beside.mismatched_ends = own.mismatched_ends;
      for (std::uint64_t n : t.calls.calls) records_.calls += n;
      records_.failed_polls += t.calls.failed_polls;
      if (t.calls.open.frame != nullptr && is_sane(t.calls.open.begin))
        t.last_ticks = std::max(t.last_ticks, t.calls.open.begin);
      if (!core::is_known(t.calls.open.call)) t.calls.open.frame = nullptr;
    }
    cut_bad(t, to);
    if (t.calls_mpi) {
      beside.lost_records = t.calls.lost_records + t.cut;
      beside.lost_steps = t.calls.lost_steps;
    }
    to.dropped = beside.lost_records + beside.lost_steps;
    records_.lost_records += beside.lost_records;
    records_.lost_steps += beside.lost_steps;
    records_.end_ticks = std::max(records_.end_ticks, t.last_ticks);
    torn_ += t.torn;
    cut_ += t.cut;
  }

  // What the explanation takes for granted is checked here; from the first record or step that breaks it on, the
  // location's history is cut off.
  void cut_bad(dead_thread& t, core::location_history& to) {
    const auto steps = t.where.steps.view();
    std::uint64_t good_steps = 0;
    const auto is_good = [&](const core::path_step& s) {
      const bool code = s.block < sites_.size() && s.within < sites_.size() && s.ticks < most_ticks;
      return (code || core::counted_step::is(s)) && s.visits < most_ticks && s.work < most_ticks;
    };
    while (good_steps < steps.size() && is_good(steps[good_steps])) ++good_steps;
    const auto records = t.where.syncs.view();
    const auto needs = t.where.needs.view();
    std::uint64_t good = 0, last = facts_.begin_ticks, cursor = 0;
    for (; t.calls_mpi && good < records.size(); ++good) {
      const core::sync_record& r = records[good];
      if (!core::is_known(r.call) || r.site >= t.calls.sites.size() || r.steps < cursor || r.steps > good_steps) break;
      if (!is_sane(r.begin) || r.begin < last || r.duration >= most_ticks) break;
      const bool known = r.comm < records_.history.communicators.size();
      if (!known && r.comm != mpi::communicator_table::none) break;
      if (r.has(core::sync_flag::sparse)) {
        if (r.peer < 0 || r.tag < 0 || static_cast<std::uint64_t>(r.tag) + static_cast<std::uint64_t>(r.peer) > needs.size())
          break;
      } else if (r.peer < -1 || (known && r.peer >= records_.history.communicators[r.comm].size)) {
        break;
      }
      if (records_.closed && r.posting > facts_.closed_posting) break;  // the ordinals after a gap are wrong
      if (known && explain::is_ordered_collective(r)) ++collectives_[r.comm];
      last = r.begin;
      cursor = r.steps;
      t.last_ticks = std::max(t.last_ticks, r.begin + r.duration);
    }
    t.cut += (t.calls_mpi ? records.size() - good : 0) + (steps.size() - good_steps);
    to.records = {t.sync_chunks.data(), t.where.syncs.shift, good};
    to.steps = {t.step_chunks.data(), t.where.steps.shift, good_steps};
    to.needs = needs;
  }

  static constexpr std::int32_t most_ranks = 1 << 24;
  static constexpr std::uint64_t most_threads = 1u << 16;
  std::unique_ptr<dead_memory> file_;
  std::string problem_;
  bool other_version_ = false;
  core::site_table sites_;
  base::pod_vector<core::site_info> infos_;
  reports::module_list modules_;
  mpi::process_facts facts_{};
  bool has_mpi_ = false;
  base::pod_vector<known_handle> handles_;
  base::pod_vector<std::uint64_t> collectives_;  // by number of the communicator
  base::vector<std::unique_ptr<dead_thread>> threads_;
  base::pod_vector<const record::location*> addresses_;  // in that process
  finalize::process_records records_;
  std::uint64_t torn_ = 0, cut_ = 0;
};

}  // namespace postmortem
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
