#ifndef WHYWAIT_TESTS_UNIT_DATA_RANKS_HPP
#define WHYWAIT_TESTS_UNIT_DATA_RANKS_HPP

#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/classify.hpp>
#include <whywait/explain/simulated_transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>

// Builds the records of a small message-passing program by hand, call by call.
namespace ranks {

namespace base = whywait::base;
namespace core = whywait::core;
namespace data = whywait::data;
namespace explain = whywait::explain;
namespace flag = whywait::core::data_flag;

inline core::stable_key key(const std::string& name) { return core::key_of(name.c_str()); }

class program {
 public:
  explicit program(std::int32_t ranks) : data_(static_cast<std::size_t>(ranks)), records_(data_.size()) {
    for (std::int32_t r = 0; r != ranks; ++r) {
      data::rank_data& d = at(r);
      d.rank = r;
      d.ranks = ranks;
      d.objects.emplace_back();
      d.sites.push_back(0);
      d.groups.push_back({key("world"), ranks, r, false, {}});
      d.locations.resize(1);
    }
  }
  std::int32_t ranks() const { return static_cast<std::int32_t>(data_.size()); }

  /// Registers an array on all ranks and returns its number.
  std::uint32_t object(const std::string& name, whywait::base::vector<std::uint64_t> extent, std::uint32_t element = 1,
                       bool buffer = false) {
    core::data_object o;
    o.key = key(name);
    o.element_bytes = element;
    o.buffer = buffer;
    o.dimensions = static_cast<std::uint16_t>(extent.size());
    for (std::size_t d = 0; d != extent.size(); ++d) o.extent[d] = o.whole[d] = extent[d];
    for (data::rank_data& d : data_) d.objects.push_back(o);
    return static_cast<std::uint32_t>(data_[0].objects.size() - 1);
  }
  std::uint32_t site(const std::string& name) {
    const auto known = sites_.find(name);
    if (known != sites_.end()) return known->second;
    for (data::rank_data& d : data_) d.sites.push_back(key(name));
    return sites_[name] = static_cast<std::uint32_t>(data_[0].sites.size() - 1);
  }
  data::rank_data& at(std::int32_t r) { return data_[static_cast<std::size_t>(r)]; }

  core::data_record& add(std::int32_t rank, core::data_op op, const std::string& where, std::uint32_t object,
                         const data::region& g) {
    core::data_record r;
    r.time = ++time_;
    r.op = op;
    r.begin = g.begin;
    r.end = g.end;
    r.stride = g.stride;
    r.piece = static_cast<std::uint32_t>(g.piece);
    r.object = object;
    r.site = site(where);
    auto& list = records_[static_cast<std::size_t>(rank)];
    list.push_back(r);
    return list.back();
  }
  void write(std::int32_t rank, const std::string& where, std::uint32_t object, const data::region& g) {
    add(rank, core::data_op::write, where, object, g);
  }
  void read(std::int32_t rank, const std::string& where, std::uint32_t object, const data::region& g) {
    add(rank, core::data_op::read, where, object, g);
  }
  void copy(std::int32_t rank, const std::string& where, std::uint32_t from, const data::region& a, std::uint32_t to,
            const data::region& b) {
    add(rank, core::data_op::copy_from, where, from, a);
    add(rank, core::data_op::copy_to, where, to, b);
  }
  /// Returns the order of the message.
  std::uint32_t send(std::int32_t from, std::int32_t to, const std::string& where, std::uint32_t object, const data::region& g,
                     std::int32_t tag = 0) {
    core::data_record& r = add(from, core::data_op::send, where, object, g);
    r.peer = to;
    r.tag = tag;
    return r.order = ++orders_[std::make_tuple(from, to, tag)];
  }
  core::data_record& receive(std::int32_t at, std::int32_t from, const std::string& where, std::uint32_t object,
                             const data::region& g, std::uint32_t order, std::int32_t tag = 0) {
    core::data_record& r = add(at, core::data_op::receive, where, object, g);
    r.peer = from;
    r.tag = tag;
    r.order = order;
    return r;
  }
  void transfer(std::int32_t from, std::int32_t to, const std::string& where, std::uint32_t object, const data::region& g) {
    receive(to, from, where + ".receive", object, g, send(from, to, where + ".send", object, g));
  }

  whywait::base::vector<data::rank_data>& finished() {
    chunks_.clear();
    for (std::size_t r = 0; r != data_.size(); ++r) {
      chunks_.push_back(records_[r].data());
      data_[r].locations[0].records = {&chunks_.back(), 63, records_[r].size()};
    }
    return data_;
  }
  data::classified classify(std::size_t room = std::size_t{16} << 10) {
    explain::simulated_transport transport(ranks(), room);
    return data::classify(transport, finished());
  }

 private:
  whywait::base::vector<data::rank_data> data_;
  whywait::base::vector<whywait::base::vector<core::data_record>> records_;
  std::deque<const core::data_record*> chunks_;
  std::map<std::string, std::uint32_t> sites_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::uint32_t> orders_;
  std::uint64_t time_ = 0;
};

/// The class whose last transfer was sent at `from`; null if there is none or more than one.
inline const data::transfer_class* sent_at(const data::classified& all, const std::string& from) {
  const data::transfer_class* found = nullptr;
  for (const data::transfer_class& c : all.classes) {
    if (c.chain.base[0].from != key(from)) continue;
    if (found != nullptr) return nullptr;
    found = &c;
  }
  return found;
}

}  // namespace ranks

#endif
