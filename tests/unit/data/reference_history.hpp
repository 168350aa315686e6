#ifndef WHYWAIT_TESTS_UNIT_DATA_REFERENCE_HISTORY_HPP
#define WHYWAIT_TESTS_UNIT_DATA_REFERENCE_HISTORY_HPP

#include <whywait/base/vector.hpp>

#include "ranks.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>

// Random programs with the complete history of every byte of every rank, recorded in one global order. It uses no
// intervals, stamps, class numbers, tokens or transport.
namespace reference {

using namespace ranks;

/// A class as text, with the bases of the transfer and of its ancestors and the end of the chain.
struct text_chain {
  whywait::base::vector<std::string> base;
  std::string end;

  bool relay() const { return base.size() > 1 || end == "deep"; }
  std::string text() const {
    std::string out;
    for (const std::string& b : base) out += b + " <- ";
    return out + end;
  }
};

/// docs/method.md 2.1, literally. An ancestor that is a relay of the same base replaces the new class; four levels.
inline text_chain next(const std::string& base, const text_chain& previous) {
  for (std::size_t i = 0; i != previous.base.size(); ++i) {
    const text_chain ancestor{{previous.base.begin() + static_cast<std::ptrdiff_t>(i), previous.base.end()}, previous.end};
    if (ancestor.base[0] == base && ancestor.relay()) return ancestor;
  }
  text_chain out = previous;
  out.base.insert(out.base.begin(), base);
  if (out.base.size() > 4) {
    out.base.resize(4);
    out.end = "deep";
  }
  return out;
}

struct byte {
  text_chain from{{}, "init"};
  int version = 0;
  int hops = 0;
  std::string unread;      ///< class that brought it, until it is read
  std::string data;        ///< data in a buffer
};

struct sums {
  std::int64_t count = 0, bytes = 0, unchanged = 0, held = 0, arrived = 0, read = 0, most_hops = 0, fan_out = 0;
  std::set<std::pair<int, int>> pairs;
  bool operator==(const sums& o) const {
    return count == o.count && bytes == o.bytes && unchanged == o.unchanged && held == o.held && arrived == o.arrived &&
           read == o.read && most_hops == o.most_hops && fan_out == o.fan_out && pairs == o.pairs;
  }
};

class world {
 public:
  world(std::uint64_t seed, int ranks, int steps)
      : made(ranks), random_(seed), ranks_(ranks), memory_(static_cast<std::size_t>(ranks)) {
    for (int o = 0; o != 3; ++o) made.object(object_name(o), {bytes}, 1, o == 2);
    for (auto& m : memory_) m.assign(3, whywait::base::vector<byte>(bytes));
    for (int i = 0; i != steps; ++i) step();
    while (!under_way_.empty()) complete(pick(under_way_.size()));
  }

  program made;
  std::map<std::string, sums> classes;
  std::map<core::stable_key, std::string> names;  ///< names of sites and data
  std::set<int> objects_read;                     ///< rank * 3 + object

  static constexpr std::uint64_t bytes = 24;

  /// Bytes count as watched on a rank that recorded reads of the object.
  std::map<std::string, sums> expected() {
    std::map<std::string, sums> out = classes;
    for (auto& c : out) c.second.arrived = c.second.read = 0;
    for (const auto& a : arrived_) {
      if (objects_read.count(a.first.first) == 0) continue;
      out[a.first.second].arrived += a.second.first;
      out[a.first.second].read += a.second.second;
    }
    return out;
  }

 private:
  using part = whywait::base::vector<std::uint64_t>;  ///< positions
  struct message {
    int from, to, tag;
    std::uint32_t order;
    std::string data, site;
    text_chain previous;
    int hops;
    bool unchanged;
    std::int64_t fan_out;
    std::uint64_t length;
    whywait::base::vector<int> versions;
    std::pair<int, part> place;  ///< at the sender
  };

  static std::string object_name(int o) { return o == 2 ? "buffer" : o == 1 ? "v" : "u"; }
  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  int any_rank() { return static_cast<int>(pick(static_cast<std::size_t>(ranks_))); }
  std::string name(const std::string& n) {
    names[key(n)] = n;
    return n;
  }
  byte& at(int rank, int object, std::uint64_t i) {
    return memory_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(object)][static_cast<std::size_t>(i)];
  }

  data::region any_region(std::uint64_t length = 0) {
    if (length != 0) {
      const std::uint64_t begin = pick(bytes - length + 1);
      return {begin, begin + length, 0, 0};
    }
    switch (pick(5)) {
      case 0: return {0, bytes, 0, 0};
      case 2: {
        const std::uint64_t begin = pick(2) == 0 ? pick(4) : bytes - 2 - pick(3);
        return {begin, begin + 1 + pick(2), 0, 0};
      }
      case 1: return {pick(4), bytes, 6, 1 + pick(3)};
      default: {
        const std::uint64_t begin = 4 * pick(6), end = begin + 4 * (1 + pick(6));
        return {begin, std::min(end, bytes), 0, 0};
      }
    }
  }
  static part positions(const data::region& g) {
    part out;
    for (std::uint64_t i = g.begin; i < g.end; ++i) {
      if (g.stride == 0 || (i - g.begin) % g.stride < g.piece) out.push_back(i);
    }
    return out;
  }
  static std::string kind(int object, const data::region& g) {
    // In one dimension there are three kinds: whole; side, with at most two elements next to one border only; part.
    const part p = positions(g);
    const std::uint64_t low = g.begin, high = p.back() + 1, width = high - low;
    const std::string base = object_name(object);
    if (p.size() == bytes) return base + ":whole";
    if (width > 2) return base + ":part";
    const bool left = low <= width, right = bytes - high <= width;
    if (left && !right) return base + ":low";
    if (right && !left) return base + ":high";
    return base + ":part";
  }
  void look(int rank, int object, const part& p) {
    for (const std::uint64_t i : p) {
      byte& b = at(rank, object, i);
      if (!b.unread.empty()) ++arrived_[{rank * 3 + object, b.unread}].second;
      b.unread.clear();
    }
  }

  void step() {
    const int rank = any_rank(), object = static_cast<int>(pick(2));
    const auto number = static_cast<std::uint32_t>(object + 1);
    const std::size_t what = pick(12);
    if (what < 2) {
      const std::string where = name("write" + std::to_string(pick(2)));
      const data::region g = any_region();
      made.write(rank, where, number, g);
      for (const std::uint64_t i : positions(g)) at(rank, object, i) = {{{}, "by " + where}, ++version_, 0, {}, {}};
    } else if (what == 2) {
      const data::region g = any_region();
      made.read(rank, name("read"), number, g);
      objects_read.insert(rank * 3 + object);
      look(rank, object, positions(g));
    } else if (what == 3) {
      copy(rank, object);
    } else if (what < 8) {
      send(rank, pick(4) == 0 ? 2 : object);
    } else if (!under_way_.empty()) {
      complete(pick(under_way_.size()));
    }
  }

  void copy(int rank, int object) {
    const bool packs = pick(2) == 0;
    const int from = packs ? object : 2, to = packs ? 2 : object;
    const data::region a = any_region(), b = any_region(positions(a).size());
    made.copy(rank, name("copy"), static_cast<std::uint32_t>(from + 1), a, static_cast<std::uint32_t>(to + 1), b);
    const part p = positions(a), q = positions(b);
    const auto versions_of = [&](int which, const part& where) {
      whywait::base::vector<int> all;
      for (const std::uint64_t i : where) all.push_back(at(rank, which, i).version);
      return all;
    };
    const auto made_from = versions_of(from, p);
    auto& before = copied_[std::make_tuple(rank, from, p, to, q)];
    const bool written = std::any_of(made_from.begin(), made_from.end(), [](int v) { return v != 0; });
    if (written && before.first == made_from && before.second == versions_of(to, q)) {
      for (const std::uint64_t i : p) at(rank, from, i).unread.clear();
      return;
    }
    const std::string carried = kind(from, a);
    for (std::size_t i = 0; i != p.size(); ++i) {
      byte moved = at(rank, from, p[i]);
      if (!moved.unread.empty()) {
        --arrived_[{rank * 3 + from, moved.unread}].first;
        ++arrived_[{rank * 3 + to, moved.unread}].first;
      }
      at(rank, from, p[i]).unread.clear();
      moved.data = packs ? carried : "";
      moved.version = ++version_;
      at(rank, to, q[i]) = moved;
    }
    before = {made_from, versions_of(to, q)};
  }

  void send(int rank, int object) {
    int to = any_rank();
    if (to == rank && pick(3) != 0) to = (rank + 1) % ranks_;
    const data::region g = any_region();
    const part p = positions(g);
    message m;
    m.from = rank;
    m.to = to;
    m.tag = static_cast<int>(pick(2));
    m.site = name("send" + std::to_string(pick(2)));
    m.data = kind(object, g);
    const byte& first = at(rank, object, p[0]);
    m.previous = first.from;
    m.hops = 0;
    bool one_data = true;
    for (const std::uint64_t i : p) {
      const byte& b = at(rank, object, i);
      if (b.from.text() != first.from.text()) m.previous = {{}, "mixed"};
      one_data = one_data && b.data == first.data;
      m.hops = std::max(m.hops, b.hops);
      m.versions.push_back(b.version);
    }
    ++m.hops;
    if (object == 2 && one_data && !first.data.empty()) m.data = first.data;
    m.length = p.size();
    m.place = {object, p};
    look(rank, object, p);

    const auto before = std::make_tuple(rank, object, p, to);
    m.unchanged = sent_.count(before) != 0 && sent_[before] == m.versions;
    sent_[before] = m.versions;
    auto& receivers = receivers_[std::make_tuple(rank, object, p)];
    if (receivers.first != m.versions) receivers = {m.versions, {}};
    receivers.second.insert(to);
    m.fan_out = static_cast<std::int64_t>(receivers.second.size());
    m.order = made.send(rank, to, m.site, static_cast<std::uint32_t>(object + 1), g, m.tag);
    under_way_.push_back(m);
  }

  void complete(std::size_t which) {
    const message m = under_way_[which];
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
    const int object = static_cast<int>(pick(3));
    const std::string where = name("receive" + std::to_string(pick(2)));
    data::region g = any_region(m.length);
    made.receive(m.to, m.from, where, static_cast<std::uint32_t>(object + 1), g, m.order, m.tag);
    const text_chain c = next(m.data + "," + m.site + "," + where, m.previous);
    sums& s = classes[c.text()];
    ++s.count;
    s.bytes += static_cast<std::int64_t>(m.length);
    s.most_hops = std::max<std::int64_t>(s.most_hops, m.hops);
    s.fan_out = std::max(s.fan_out, m.fan_out);
    s.pairs.insert({m.from, m.to});
    const part p = positions(g);
    const auto place = std::make_tuple(m.to, object, p, m.from);
    if (m.unchanged) {
      ++s.unchanged;
      const auto known = received_.find(place);
      bool same = known != received_.end() && known->second.second == m.place;
      for (const std::uint64_t i : p) same = same && at(m.to, object, i).version == known->second.first;
      s.held += same ? 1 : 0;
    }
    ++version_;
    for (const std::uint64_t i : p) at(m.to, object, i) = {c, version_, m.hops, c.text(), object == 2 ? m.data : ""};
    received_[place] = {version_, m.place};
    arrived_[{m.to * 3 + object, c.text()}].first += static_cast<std::int64_t>(m.length);
  }

  std::mt19937_64 random_;
  int ranks_;
  whywait::base::vector<whywait::base::vector<whywait::base::vector<byte>>> memory_;
  whywait::base::vector<message> under_way_;
  std::map<std::tuple<int, int, part, int>, whywait::base::vector<int>> sent_;
  std::map<std::tuple<int, int, part, int, part>, std::pair<whywait::base::vector<int>, whywait::base::vector<int>>> copied_;
  std::map<std::tuple<int, int, part>, std::pair<whywait::base::vector<int>, std::set<int>>> receivers_;
  std::map<std::tuple<int, int, part, int>, std::pair<int, std::pair<int, part>>> received_;  ///< version, place at the sender
  std::map<std::pair<int, std::string>, std::pair<std::int64_t, std::int64_t>> arrived_;
  int version_ = 0;
};

}  // namespace reference

#endif
