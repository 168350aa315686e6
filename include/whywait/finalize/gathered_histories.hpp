#ifndef WHYWAIT_FINALIZE_GATHERED_HISTORIES_HPP
#define WHYWAIT_FINALIZE_GATHERED_HISTORIES_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/rank_history.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace finalize {
namespace detail {

template <class T>
void put_view(base::packet& out, const core::chunked_view<const T>& values) {
  base::put(out, static_cast<std::uint64_t>(values.size()));
  out.reserve(out.size() + values.size() * sizeof(T));
  for (std::uint64_t i = 0; i != values.size(); ++i) base::put(out, values[i]);
}

// A list that a chunked_view reads; it must stay where it is.
template <class T>
struct kept_list {
  base::pod_vector<T> values;
  const T* chunk = nullptr;

  core::chunked_view<const T> read(base::packet_reader& in) {
    base::get_all(in, values);
    chunk = values.data();
    return {&chunk, 63, values.size()};
  }
};

}  // namespace detail

/// Writes what the explanation reads of a history: no path order, no code that the compiler counted, no epochs.
inline void put_history(base::packet& out, const core::rank_history& from) {
  base::put(out, from.rank);
  base::put(out, from.ranks);
  base::put(out, from.node);
  base::put(out, from.clock);
  base::put(out, from.begin_ns);
  base::put(out, from.end_ns);
  base::put_all(out, from.blocks);
  base::put(out, static_cast<std::uint32_t>(from.communicators.size()));
  for (const core::communicator& c : from.communicators) {
    base::put(out, c.id);
    base::put(out, c.size);
    base::put(out, c.rank);
    base::put(out, c.inter);
    base::put(out, c.own_size);
    base::put(out, c.first);
    base::put(out, c.outside);
    base::put_all(out, c.world);
  }
  base::put(out, static_cast<std::uint32_t>(from.locations.size()));
  for (const core::location_history& l : from.locations) {
    base::put(out, l.thread);
    detail::put_view(out, l.records);
    detail::put_view(out, l.steps);
    detail::put_view(out, l.needs);
    base::put_all(out, l.call_sites);
    base::put_all(out, l.code_sites);
    base::put_all(out, l.call_overheads);
    base::put(out, l.mark_overheads);
    base::put(out, l.dropped);
    base::put(out, l.whole);
  }
}

/// The histories that put_history wrote, with their memory.
class gathered_histories {
 public:
  /// Appends one. Throws std::out_of_range on a truncated packet.
  void add(base::packet_reader in) {
    core::rank_history to;
    to.rank = in.get<std::int32_t>();
    to.ranks = in.get<std::int32_t>();
    to.node = in.get<std::int32_t>();
    to.clock = in.get<core::shared_clock>();
    to.begin_ns = in.get<std::int64_t>();
    to.end_ns = in.get<std::int64_t>();
    base::get_all(in, to.blocks);
    to.communicators = std::vector<core::communicator>(in.get<std::uint32_t>());
    for (core::communicator& c : to.communicators) {
      c.id = in.get<core::stable_key>();
      c.size = in.get<std::int32_t>();
      c.rank = in.get<std::int32_t>();
      c.inter = in.get<bool>();
      c.own_size = in.get<std::int32_t>();
      c.first = in.get<bool>();
      c.outside = in.get<bool>();
      base::get_all(in, c.world);
    }
    to.locations = std::vector<core::location_history>(in.get<std::uint32_t>());
    for (core::location_history& l : to.locations) {
      lists_.push_back(std::make_unique<lists>());
      lists& kept = *lists_.back();
      l.thread = in.get<std::int32_t>();
      l.records = kept.records.read(in);
      l.steps = kept.steps.read(in);
      l.needs = kept.needs.read(in);
      base::get_all(in, l.call_sites);
      base::get_all(in, l.code_sites);
      base::get_all(in, l.call_overheads);
      l.mark_overheads = in.get<core::mark_overhead>();
      l.dropped = in.get<std::uint64_t>();
      l.whole = in.get<bool>();
    }
    all_.push_back(std::move(to));
  }
  /// Appends one that stays where it is.
  void add(const core::rank_history& own) { all_.push_back(own); }

  const base::vector<core::rank_history>& all() const noexcept { return all_; }

 private:
  struct lists {
    detail::kept_list<core::sync_record> records;
    detail::kept_list<core::path_step> steps;
    detail::kept_list<std::int32_t> needs;
  };

  base::vector<core::rank_history> all_;
  base::vector<std::unique_ptr<lists>> lists_;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
