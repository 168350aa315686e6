#ifndef WHYWAIT_DATA_ANALYSIS_HOLDINGS_HPP
#define WHYWAIT_DATA_ANALYSIS_HOLDINGS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/class_table.hpp>
#include <whywait/data/analysis/rank_data.hpp>
#include <whywait/data/analysis/recent.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// The data of one rank: where every byte of its arrays came from, and what became of what arrived. Not thread safe.
class holdings {
 public:
  /// Data that classes are about: an array and the part of it that a transfer takes.
  struct data_name {
    core::stable_key key;
    std::uint32_t kind;
  };
  /// Bytes of a class that arrived in an object, and how many of them were looked at before they were overwritten.
  struct use {
    std::int64_t arrived = 0;
    std::int64_t read = 0;
  };

  holdings(const rank_data& rank, class_table& classes) : rank_(&rank), classes_(&classes), data_(1) { grow(); }

  /// Adds the arrays and sites that the rank has registered since the last call.
  void grow() {
    for (std::size_t o = owned_.size(); o < rank_->objects.size(); ++o) {
      owned_.emplace_back(rank_->objects[o].key != 0 ? rank_->objects[o].bytes() : 0);
    }
    reads_recorded_.resize(rank_->objects.size(), 0);
    uses_.resize(rank_->objects.size());
    for (std::size_t s = produced_.size(); s < rank_->sites.size(); ++s)
      produced_.push_back(classes_->produced(rank_->sites[s]));
  }

  /// Whether another part of the run may begin with these stamps: they are numbers of 32 bits.
  bool stamps_last() const noexcept { return stamp_ < std::uint32_t{3} << 30; }
  /// Restarts the stamps; whether earlier data has changed is unknown afterwards.
  void forget_stamps() {
    for (ownership& o : owned_) o.forget_stamps();
    copies_ = {};
    stamp_ = 0;
  }

  const ownership& of(std::uint32_t object) const noexcept { return owned_[object]; }
  std::size_t objects() const noexcept { return owned_.size(); }

  /// A block read the region of this record.
  void read(const core::data_record& r) {
    reads_recorded_[r.object] = 1;
    use_up(r.object, region_of(r, owned_[r.object].bytes()));
  }

  /// A block wrote it.
  void write(const core::data_record& r) {
    const region part = region_of(r, owned_[r.object].bytes());
    if (r.has(core::data_flag::update)) use_up(r.object, part);
    owned_[r.object].assign(part, {produced_[r.site], 0, ++stamp_, 0, false});
  }

  /// The destination's bytes are in the state of the source's: packing and unpacking move data, they do not make it. A copy that is made
  /// again, where neither side has changed, changes nothing. False if the regions make no pair.
  bool copy(const core::data_record& from, const core::data_record& to) {
    if (from.op != core::data_op::copy_from || from.object == 0) return false;
    const region source = region_of(from, owned_[from.object].bytes()), target = region_of(to, owned_[to.object].bytes());
    paired_stamp& before = copies_[core::combine(region_key(from.object, source), region_key(to.object, target))];
    const std::uint32_t stamp = owned_[from.object].look(source).state.stamp;
    if (stamp != 0 && before.other == stamp && before.own == owned_[to.object].look(target).state.stamp) {
      owned_[from.object].read(source, [](std::uint64_t, const byte_state&) {});
      return true;
    }
    const bool carries = rank_->objects[to.object].buffer, carried = rank_->objects[from.object].buffer;
    const std::uint32_t name = carries && !carried ? name_of(from.object, source) : 0;
    runs_.clear();
    before = {++stamp_, stamp};
    owned_[from.object].visit(source, [&](std::uint64_t begin, std::uint64_t end, const byte_state& s) {
      byte_state moved = s;
      moved.data = !carries ? 0 : carried ? s.data : name;
      moved.stamp = stamp_;
      if (moved.unread && moved.from.kind() == origin_kind::relay) {
        use_of(from.object, moved.from.number()).arrived -= static_cast<std::int64_t>(end - begin);
        use_of(to.object, moved.from.number()).arrived += static_cast<std::int64_t>(end - begin);
      }
      if (!runs_.empty() && runs_.back().state.alike(moved)) runs_.back().bytes += end - begin;
      else runs_.push_back({end - begin, moved});
    });
    owned_[from.object].read(source, [](std::uint64_t, const byte_state&) {});
    if (runs_.size() == 1 && runs_[0].bytes >= target.bytes()) {
      owned_[to.object].assign(target, runs_[0].state);
      return true;
    }
    std::size_t run = 0;
    for_each_piece(target, [&](std::uint64_t begin, std::uint64_t end) {
      while (begin < end && run != runs_.size()) {
        const std::uint64_t take = std::min(end - begin, runs_[run].bytes);
        owned_[to.object].assign({begin, begin + take, 0, 0}, runs_[run].state);
        begin += take;
        runs_[run].bytes -= take;
        if (runs_[run].bytes == 0) ++run;
      }
    });
    return true;
  }

  /// A transfer of class `c` brought the region. `data`: what it is, kept where the object only carries it.
  /// Returns the stamp that the bytes have from now on.
  std::uint32_t arrive(const core::data_record& r, const region& part, std::uint32_t c, std::uint32_t data,
                       std::uint16_t hops) {
    use& u = use_of(r.object, c);
    const auto bytes = static_cast<std::int64_t>(part.bytes());
    u.arrived += bytes;
    ++stamp_;
    if (r.has(core::data_flag::combines)) {  // used up at once: a reduction makes something new
      u.read += bytes;
      owned_[r.object].assign(part, {produced_[r.site], 0, stamp_, 0, false});
    } else {
      owned_[r.object].assign(part,
                              {origin(origin_kind::relay, c), rank_->objects[r.object].buffer ? data : 0, stamp_, hops, true});
    }
    return stamp_;
  }

  /// Marks the region as read, by a block or by a send that passes it on.
  void use_up(std::uint32_t object, const region& part) {
    owned_[object].read(part, [&](std::uint64_t bytes, const byte_state& s) {
      if (s.from.kind() == origin_kind::relay) use_of(object, s.from.number()).read += static_cast<std::int64_t>(bytes);
    });
  }

  /// Calls `each(class, use)` for all that arrived where reads were recorded at all.
  template <class Each>
  void for_each_use(Each&& each) const {
    for (std::size_t object = 0; object != uses_.size(); ++object) {
      if (reads_recorded_[object] == 0) continue;
      for (std::size_t c = 0; c != uses_[object].size(); ++c) each(static_cast<std::uint32_t>(c), uses_[object][c]);
    }
  }

  /// Number of the data that this region is.
  std::uint32_t name_of(std::uint32_t object, const region& part) {
    return data_number(rank_->objects[object].key, kind_of(rank_->objects[object], part).code());
  }
  std::uint32_t data_number(core::stable_key key, std::uint32_t kind) {
    const auto fresh = static_cast<std::uint32_t>(data_.size());
    const std::uint32_t number = data_numbers_.intern(core::combine(key, kind), fresh);
    if (number == fresh) data_.push_back({key, kind});
    return number;
  }
  const data_name& data(std::uint32_t number) const noexcept { return data_[number]; }

 private:
  struct byte_run {
    std::uint64_t bytes;
    byte_state state;
  };

  use& use_of(std::uint32_t object, std::uint32_t c) {
    base::pod_vector<use>& list = uses_[object];
    if (list.size() <= c) list.resize(c + 1);
    return list[c];
  }

  const rank_data* rank_;
  class_table* classes_;
  base::vector<ownership> owned_;  ///< by object
  base::pod_vector<std::uint8_t> reads_recorded_;  ///< by object
  base::vector<base::pod_vector<use>> uses_;  ///< by object and class
  base::pod_vector<origin> produced_;  ///< by site
  base::pod_vector<data_name> data_;  ///< [0] is unused
  base::key_map data_numbers_;
  base::pod_vector<byte_run> runs_;
  recent<paired_stamp, 4096> copies_;  ///< the newest stamps after a copy, by regions of both sides
  std::uint32_t stamp_ = 0;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
