#ifndef WHYWAIT_TESTS_UNIT_RULES_RECORDED_HPP
#define WHYWAIT_TESTS_UNIT_RULES_RECORDED_HPP

#include "sample.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/explain/history.hpp>

#include <cstdint>

namespace sample {

/// One rank with one thread, written by hand; times in ms.
struct rank {
  explain::rank_history history;
  whywait::base::vector<core::sync_record> records;
  core::sync_record* chunk = nullptr;
  std::int32_t number;

  explicit rank(std::int32_t r) : number(r) {
    history.rank = r;
    history.ranks = 2;
    history.clock.ns_per_tick = 1e6;
    history.communicators.push_back({77, 2, r, false, {}});
    history.locations.emplace_back();
    history.locations[0].call_sites = {send, recv, barrier, waitall};
  }
  std::uint32_t call(core::mpi_call what, unsigned begin, unsigned end, std::uint32_t site, unsigned flags = 0,
                     std::int32_t peer = -1, std::int32_t tag = 0) {
    core::sync_record r{};
    r.begin = begin;
    r.duration = end - begin;
    r.site = site;
    r.call = what;
    r.flags = static_cast<std::uint16_t>(flags);
    r.peer = peer;
    r.tag = tag;
    const auto index = static_cast<std::uint32_t>(records.size());
    if ((flags & (core::sync_flag::posts_send | core::sync_flag::posts_receive)) != 0) {
      r.posting = ++posted;
      r.completion = index;
      r.flags |= core::sync_flag::complete;
    }
    records.push_back(r);
    return index;
  }
  const explain::rank_history& done() {
    chunk = records.data();
    views = {chunk};
    history.locations[0].records = core::chunked_view<const core::sync_record>(views.data(), 63, records.size());
    return history;
  }
  std::uint32_t posted = 0;
  whywait::base::vector<const core::sync_record*> views;
};

}  // namespace sample

#endif
