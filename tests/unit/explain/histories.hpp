#ifndef WHYWAIT_TESTS_UNIT_EXPLAIN_HISTORIES_HPP
#define WHYWAIT_TESTS_UNIT_EXPLAIN_HISTORIES_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/explain.hpp>
#include <whywait/explain/simulated_transport.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Histories written by hand or by the reference simulation, with one location per rank by default.
namespace histories {

using namespace whywait;
using core::mpi_call;
using core::sync_record;
namespace flag = core::sync_flag;

struct location_data {
  whywait::base::vector<sync_record> records;
  whywait::base::vector<core::path_step> steps;
  whywait::base::vector<std::int32_t> needs;
  std::vector<core::stable_key> sites;
  std::uint64_t dropped = 0;
  std::vector<core::call_overhead> call_overheads;
  core::mark_overhead mark_overheads{};
  bool whole = true;
  const sync_record* records_chunk = nullptr;
  const core::path_step* steps_chunk = nullptr;
  const std::int32_t* needs_chunk = nullptr;
};

/// The records of one rank. Times are in ticks, which the clock converts to nanoseconds.
class rank_data {
 public:
  explicit rank_data(int rank, int ranks) : rank_(rank) {
    explain::communicator world;
    world.id = core::key_of("world");
    world.size = ranks;
    world.rank = rank;
    communicators.push_back(world);
    blocks.push_back(0);
    locations.resize(1);
  }

  /// `words` identifies the call site. Returns the record for modification; valid until the next call.
  sync_record& call(mpi_call what, std::uint64_t begin, std::uint64_t leave, const std::string& words = "",
                    std::size_t location = 0) {
    location_data& l = locations[location];
    sync_record r{};
    r.begin = begin;
    r.duration = leave - begin;
    r.steps = static_cast<std::uint32_t>(l.steps.size());
    r.posting = ++postings_;
    r.peer = -1;
    r.call = what;
    r.site = site(words.empty() ? core::name_of(what) : words, location);
    l.records.push_back(r);
    return l.records.back();
  }
  std::uint32_t last(std::size_t location = 0) const {
    return static_cast<std::uint32_t>(locations[location].records.size() - 1);
  }

  sync_record& send(std::uint64_t begin, std::uint64_t leave, int to, int tag = 0, const std::string& words = "") {
    return message(call(mpi_call::Send, begin, leave, words), to, tag, flag::posts_send | flag::complete);
  }
  sync_record& receive(std::uint64_t begin, std::uint64_t leave, int from, int tag = 0, const std::string& words = "") {
    return message(call(mpi_call::Recv, begin, leave, words), from, tag, flag::posts_receive | flag::complete);
  }
  /// A nonblocking operation; returns the index for `completes`.
  std::uint32_t post_send(std::uint64_t begin, std::uint64_t leave, int to, int tag = 0) {
    message(call(mpi_call::Isend, begin, leave), to, tag, flag::posts_send);
    return last();
  }
  std::uint32_t post_receive(std::uint64_t begin, std::uint64_t leave, int from, int tag = 0) {
    message(call(mpi_call::Irecv, begin, leave), from, tag, flag::posts_receive);
    return last();
  }
  /// Marks the posting `index` as completed by the last record.
  void completes(std::uint32_t index, std::size_t poster = 0, std::size_t completer = 0) {
    sync_record& r = locations[poster].records[index];
    r.flags |= flag::complete;
    r.completion = last(completer);
    r.completed_by = static_cast<std::uint32_t>(completer);
  }
  sync_record& collective(mpi_call what, std::uint64_t begin, std::uint64_t leave, int root = -1,
                          unsigned data = flag::contributes | flag::consumes) {
    sync_record& r = call(what, begin, leave);
    r.peer = root;
    r.flags = static_cast<std::uint16_t>(data);
    return r;
  }
  /// Three records, in the form of the recorder.
  sync_record& exchange(std::uint64_t begin, std::uint64_t leave, int to, int from, int tag = 0) {
    message(call(mpi_call::Sendrecv, begin, begin), to, tag, flag::posts_send);
    message(call(mpi_call::Sendrecv, begin, begin), from, tag, flag::posts_receive);
    sync_record& r = call(mpi_call::Sendrecv, begin, leave);
    r.posting = 0;
    completes(last() - 1);
    completes(last() - 2);
    return locations[0].records.back();
  }

  /// A timed block before the next record.
  void step(const std::string& block, std::uint64_t ticks, std::uint64_t visits = 1, std::uint64_t work = 0,
            const std::string& within = "", std::size_t location = 0) {
    core::path_step s{};
    s.block = number(block);
    s.within = within.empty() ? 0 : number(within);
    s.visits = visits;
    s.ticks = ticks;
    s.work = work;
    locations[location].steps.push_back(s);
  }

  std::uint32_t number(const std::string& block) {
    const auto known = numbers_.find(block);
    if (known != numbers_.end()) return known->second;
    const auto fresh = static_cast<std::uint32_t>(blocks.size());
    blocks.push_back(core::key_of(block.c_str()));
    numbers_[block] = fresh;
    return fresh;
  }

  /// A compiler count before the next record, by a number in `code`.
  void counted(std::uint32_t number, std::uint64_t visits) {
    core::path_step s{};
    s.block = number;
    s.visits = visits;
    locations[0].steps.push_back(s);
  }

  /// The view that the explanation reads; *this must keep its address.
  explain::rank_history view(int ranks) {
    explain::rank_history h;
    h.rank = rank_;
    h.ranks = ranks;
    h.clock = clock;
    h.begin_ns = begin_ns;
    h.end_ns = end_ns;
    h.communicators = communicators;
    h.blocks = blocks;
    h.code = code;
    for (location_data& l : locations) {
      explain::location_history v;
      v.thread = static_cast<std::int32_t>(h.locations.size());
      l.records_chunk = l.records.data();
      l.steps_chunk = l.steps.data();
      l.needs_chunk = l.needs.data();
      v.records = {&l.records_chunk, 63, l.records.size()};
      v.steps = {&l.steps_chunk, 63, l.steps.size()};
      v.needs = {&l.needs_chunk, 63, l.needs.size()};
      v.call_sites = l.sites;
      v.dropped = l.dropped;
      v.call_overheads = l.call_overheads;
      v.mark_overheads = l.mark_overheads;
      v.whole = l.whole;
      h.locations.push_back(v);
    }
    return h;
  }

  core::shared_clock clock;
  std::int64_t begin_ns = 0, end_ns = 0;
  whywait::base::vector<location_data> locations;
  std::vector<explain::communicator> communicators;
  std::vector<core::stable_key> blocks;
  explain::counted_code code;

 private:
  static sync_record& message(sync_record& r, int peer, int tag, unsigned flags) {
    r.peer = peer;
    r.tag = tag;
    r.flags = static_cast<std::uint16_t>(flags);
    return r;
  }
  std::uint32_t site(const std::string& words, std::size_t location) {
    location_data& l = locations[location];
    const core::stable_key key = core::key_of(words.c_str());
    for (std::uint32_t i = 0; i != l.sites.size(); ++i) {
      if (l.sites[i] == key) return i;
    }
    l.sites.push_back(key);
    return static_cast<std::uint32_t>(l.sites.size() - 1);
  }

  int rank_;
  std::uint32_t postings_ = 0;
  std::map<std::string, std::uint32_t> numbers_;
};

/// Stores every wait and every final path.
class notebook : public explain::observer {
 public:
  void wait(const explain::wait_instance& w) override { waits.push_back(w); }
  void path(const explain::path_instance& p) override { paths.push_back(p); }

  std::int64_t wait_of(int rank, std::uint32_t record) const {
    std::int64_t sum = 0;
    for (const auto& w : waits) {
      if (w.rank == rank && w.record == record) sum += w.wait_ns;
    }
    return sum;
  }

  whywait::base::vector<explain::wait_instance> waits;
  whywait::base::vector<explain::path_instance> paths;
};

/// All ranks of a small run.
class run {
 public:
  explicit run(int ranks) {
    for (int i = 0; i != ranks; ++i) data_.emplace_back(i, ranks);
  }
  rank_data& operator[](int rank) { return data_[static_cast<std::size_t>(rank)]; }
  int ranks() const { return static_cast<int>(data_.size()); }

  whywait::base::vector<explain::rank_history> views() {
    whywait::base::vector<explain::rank_history> result;
    for (rank_data& d : data_) result.push_back(d.view(ranks()));
    return result;
  }

  explain::outcome explain(explain::options settings = exact()) {
    settings.watch = &notes;
    const whywait::base::vector<explain::rank_history> all = views();
    explain::simulated_transport transport(ranks());
    return whywait::explain::explain(transport, all, settings);
  }

  static explain::options exact() {
    explain::options settings;
    settings.threshold_ns = 0;
    return settings;
  }

  notebook notes;

 private:
  std::deque<rank_data> data_;
};

inline const explain::residual_term* term(const whywait::base::vector<explain::residual_term>& terms, core::stable_key block) {
  for (const auto& t : terms) {
    if (t.block == block) return &t;
  }
  return nullptr;
}
inline std::int64_t total(const whywait::base::vector<explain::residual_term>& terms, const std::string& block) {
  const auto* t = term(terms, core::key_of(block.c_str()));
  return t == nullptr ? 0 : t->total_ns;
}
inline std::int64_t sum(const whywait::base::vector<explain::residual_term>& terms) {
  std::int64_t result = 0;
  for (const auto& t : terms) result += t.total_ns;
  return result;
}

}  // namespace histories

#endif
