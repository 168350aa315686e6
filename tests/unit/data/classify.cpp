#include "reference_history.hpp"

#include <doctest/doctest.h>

using namespace ranks;

namespace {

constexpr data::region all{0, 64, 0, 0};

std::string name_of(const std::map<core::stable_key, std::string>& names, core::stable_key k) {
  const auto known = names.find(k);
  return known != names.end() ? known->second : "?";
}

std::string text_of(const data::class_chain& c, const std::map<core::stable_key, std::string>& names) {
  std::string out;
  for (unsigned i = 0; i != c.depth; ++i) {
    static const char* const kinds[] = {"whole", "low", "high", "slab", "part"};
    const data::transfer_base& b = c.base[i];
    out += name_of(names, b.data) + ":" + kinds[b.kind & 0xff] + "," + name_of(names, b.from) + "," + name_of(names, b.to) +
           " <- ";
  }
  switch (c.end) {
    case data::origin_kind::init: return out + "init";
    case data::origin_kind::produced: return out + "by " + name_of(names, c.producer);
    case data::origin_kind::mixed: return out + "mixed";
    case data::origin_kind::deep: return out + "deep";
    case data::origin_kind::unknown: return out + "unknown";
    case data::origin_kind::relay: break;
  }
  return out + "?";
}

data::class_sums sums_of(const data::classified& out) {
  data::class_sums sums;
  for (const data::transfer_class& c : out.classes) sums.add(c.sums);
  return sums;
}

}  // namespace

TEST_CASE("a ring of six hops has two classes: the first hop, and all others that hand on") {
  program p(7);
  const auto u = p.object("u", {64});
  for (int r = 0; r != 6; ++r) p.transfer(r, r + 1, "ring", u, all);
  const auto out = p.classify();
  REQUIRE(out.classes.size() == 2);
  const auto& first = out.classes[out.classes[0].chain.depth == 1 ? 0 : 1];
  const auto& relay = out.classes[out.classes[0].chain.depth == 1 ? 1 : 0];
  CHECK(first.sums.count == 1);
  CHECK(first.chain.end == data::origin_kind::init);
  CHECK_FALSE(first.chain.loop);
  CHECK(relay.sums.count == 5);
  CHECK(relay.chain.depth == 2);
  CHECK(relay.chain.loop);
  CHECK(relay.sums.most_hops == 6);
  CHECK(relay.sums.pairs == 5);
}

TEST_CASE("an alternating relay of eight hops has three classes") {
  program p(9);
  const auto u = p.object("u", {64});
  for (int r = 0; r != 8; ++r) p.transfer(r, r + 1, r % 2 == 0 ? "up" : "down", u, all);
  const auto out = p.classify();
  CHECK(out.classes.size() == 3);
  std::int64_t count = 0;
  for (const auto& c : out.classes) count += c.sums.count;
  CHECK(count == 8);
}

TEST_CASE("a chain through more than four different places keeps the last four") {
  program p(8);
  const auto u = p.object("u", {64});
  p.write(0, "make", u, all);
  for (int r = 0; r != 7; ++r) p.transfer(r, r + 1, "stage" + std::to_string(r), u, all);
  const auto out = p.classify();
  REQUIRE(out.classes.size() == 7);
  const auto* last = sent_at(out, "stage6.send");
  REQUIRE(last != nullptr);
  CHECK(last->chain.depth == 4);
  CHECK(last->chain.end == data::origin_kind::deep);
  CHECK(last->sums.most_hops == 7);
  const auto* fourth = sent_at(out, "stage3.send");
  REQUIRE(fourth != nullptr);
  CHECK(fourth->chain.end == data::origin_kind::produced);
  CHECK(fourth->chain.producer == key("make"));
}

TEST_CASE("rewritten data is produced, for any earlier origin") {
  program p(3);
  const auto u = p.object("u", {64});
  p.transfer(0, 1, "a", u, all);
  p.write(1, "scale", u, all);
  p.transfer(1, 2, "b", u, all);
  const auto* b = sent_at(p.classify(), "b.send");
  const auto out = p.classify();
  b = sent_at(out, "b.send");
  REQUIRE(b != nullptr);
  CHECK(b->chain.depth == 1);
  CHECK(b->chain.producer == key("scale"));
  CHECK(b->sums.most_hops == 1);
}

TEST_CASE("data of several origins is mixed, and the report lists the origins") {
  program p(3);
  const auto u = p.object("u", {64});
  p.transfer(0, 1, "a", u, all);
  p.write(1, "patch", u, {16, 32, 0, 0});
  p.transfer(1, 2, "b", u, all);
  const auto out = p.classify();
  const auto* b = sent_at(out, "b.send");
  REQUIRE(b != nullptr);
  CHECK(b->chain.end == data::origin_kind::mixed);
  REQUIRE(out.mixed.size() == 2);
  const auto& patch = out.mixed[out.mixed[0].kind == data::origin_kind::produced ? 0 : 1];
  const auto& relay = out.mixed[out.mixed[0].kind == data::origin_kind::produced ? 1 : 0];
  CHECK(patch.bytes == 16);
  CHECK(patch.producer == key("patch"));
  CHECK(relay.bytes == 48);
  CHECK(relay.producer == sent_at(out, "a.send")->key());
}

TEST_CASE("data sent again unchanged is counted, and whether the receiver still had it") {
  program p(2);
  const auto u = p.object("u", {64});
  for (int i = 0; i != 5; ++i) p.transfer(0, 1, "table", u, all);
  p.write(1, "scratch", u, {0, 8, 0, 0});
  p.transfer(0, 1, "table", u, all);
  p.write(0, "update", u, {0, 8, 0, 0});
  p.transfer(0, 1, "table", u, all);
  const auto out = p.classify();
  const data::class_sums sums = sums_of(out);
  CHECK(sums.count == 7);
  CHECK(sums.unchanged == 5);
  CHECK(sums.unchanged_bytes == 5 * 64);
  CHECK(sums.held == 4);
}

TEST_CASE("what came from another place of the same sender since is no longer at the receiver") {
  program p(2);
  const auto panels = p.object("panels", {128}), work = p.object("work", {64});
  p.write(0, "setup", panels, {0, 128, 0, 0});
  for (int i = 0; i != 6; ++i) {
    const std::uint64_t begin = i % 2 == 0 ? 0 : 64;
    p.receive(1, 0, "receive", work, all, p.send(0, 1, "send", panels, {begin, begin + 64, 0, 0}));
  }
  const auto out = p.classify();
  const data::class_sums sums = sums_of(out);
  CHECK(sums.unchanged == 4);
  CHECK(sums.unwritten == 0);
  CHECK(sums.held == 0);
}

TEST_CASE("what is packed again without a change is sent again unchanged") {
  program p(2);
  const auto u = p.object("u", {8, 8}, 8), buffer = p.object("buffer", {8}, 8, true);
  const data::region column{56, 512, 64, 8}, whole{0, 64, 0, 0};
  p.write(0, "setup", u, {0, 512, 0, 0});
  for (int i = 0; i != 6; ++i) {
    if (i == 3) p.write(0, "update", u, {56, 64, 0, 0});
    p.copy(0, "pack", u, column, buffer, whole);
    p.transfer(0, 1, "halo", buffer, whole);
  }
  const auto out = p.classify();
  const data::class_sums sums = sums_of(out);
  CHECK(sums.count == 6);
  CHECK(sums.unchanged == 4);
}

TEST_CASE("data packed into a buffer keeps its name and its origin") {
  program p(2);
  const auto u = p.object("u", {8, 8}, 8);
  const auto buffer = p.object("buffer", {8}, 8, true);
  const data::region column{56, 512, 64, 8}, whole{0, 64, 0, 0}, halo{0, 512 - 56, 64, 8};
  p.write(0, "update", u, {0, 512, 0, 0});
  p.copy(0, "pack", u, column, buffer, whole);
  p.transfer(0, 1, "exchange", buffer, whole);
  p.copy(1, "unpack", buffer, whole, u, halo);
  p.read(1, "update", u, {0, 128, 0, 0});
  const auto out = p.classify();
  REQUIRE(out.classes.size() == 1);
  const auto& c = out.classes[0];
  CHECK(c.chain.base[0].data == key("u"));
  CHECK(data::kind_of_region::from(c.chain.base[0].kind).kind == data::region_kind::high_side);
  CHECK(data::kind_of_region::from(c.chain.base[0].kind).dimension == 1);
  CHECK(c.chain.producer == key("update"));
  CHECK(c.sums.watched_bytes == 64);
  CHECK(c.sums.read_bytes == 16);
}

TEST_CASE("collectives are one transfer for each pair that exchanges data") {
  program p(4);
  const auto u = p.object("u", {64});
  const auto collective = [&](int rank, core::data_op op, const std::string& where, unsigned flags, int peer,
                              const data::region& g, std::uint32_t order) {
    auto& r = p.add(rank, op, where, u, g);
    r.flags = static_cast<std::uint8_t>(flags | flag::collective);
    r.peer = peer;
    r.order = order;
  };
  p.write(0, "make", u, all);
  collective(0, core::data_op::send, "bcast", flag::everyone, -1, all, 1);
  for (int r = 1; r != 4; ++r) collective(r, core::data_op::receive, "bcast", 0, 0, all, 1);
  for (int r = 1; r != 4; ++r)
    collective(r, core::data_op::send, "gather", 0, 0,
               {16u * static_cast<unsigned>(r), 16u * static_cast<unsigned>(r) + 16, 0, 0}, 2);
  collective(0, core::data_op::receive, "gather", flag::everyone | flag::parted, -1, all, 2);
  const auto out = p.classify();
  const auto* bcast = sent_at(out, "bcast");
  const auto* gather = sent_at(out, "gather");
  REQUIRE(bcast != nullptr);
  CHECK(bcast->sums.count == 3);
  CHECK(bcast->sums.fan_out == 3);
  CHECK(bcast->sums.bytes == 192);
  CHECK(bcast->sums.receivers == 3);
  CHECK(bcast->senders.list().size() == 1);
  REQUIRE(gather != nullptr);
  CHECK(gather->sums.bytes == 48);
  CHECK(gather->sums.receivers == 1);
  CHECK(gather->sums.pairs == 3);
  CHECK(gather->chain.depth == 2);
  CHECK(out.unmatched == 0);
}

TEST_CASE("a message that only one side recorded is harmless and blocks no rank") {
  program p(2);
  const auto u = p.object("u", {64});
  p.send(0, 1, "known", u, all);
  p.receive(1, 0, "here", u, all, 7);
  p.receive(1, 0, "later", u, all, 1);
  p.send(0, 1, "lost", u, all);
  p.send(1, 0, "back", u, all);
  p.receive(0, 1, "home", u, all, 1);
  p.receive(0, 1, "nowhere", 9, all, 2);
  const auto out = p.classify();
  CHECK(out.classes.size() == 3);
  CHECK(out.unmatched == 2);
  CHECK(out.dropped == 1);
  std::int64_t unknown = 0;
  for (const auto& c : out.classes) unknown += c.chain.end == data::origin_kind::unknown ? c.sums.count : 0;
  CHECK(unknown == 1);
}

TEST_CASE("the time of a call that completed several transfers is shared out among them") {
  program p(3);
  const auto u = p.object("u", {64});
  const auto a = p.send(1, 0, "s", u, {0, 8, 0, 0}), b = p.send(2, 0, "s", u, {8, 16, 0, 0});
  p.receive(0, 1, "waitall", u, {0, 8, 0, 0}, a).record = 4;
  p.receive(0, 2, "waitall", u, {8, 16, 0, 0}, b).record = 4;
  p.at(0).locations[0].calls = {{}, {}, {}, {100, 60}};
  const auto out = p.classify();
  const data::class_sums sums = sums_of(out);
  CHECK(sums.count == 2);
  CHECK(sums.duration_ns == 100);
  CHECK(sums.wait_ns == 60);
}

TEST_CASE("records of several threads are taken in the order of their time") {
  program p(2);
  const auto u = p.object("u", {64});
  p.write(0, "thread 0", u, all);
  p.transfer(0, 1, "t", u, all);
  auto& ranks = p.finished();
  core::data_record late = ranks[0].locations[0].records[0];
  late.site = p.site("thread 1");
  late.time = 2;
  const core::data_record* chunk = &late;
  ranks[0].locations.push_back({{&chunk, 63, 1}, {}});
  explain::simulated_transport transport(2);
  // At equal times the first location comes first, so its send precedes the other thread's write.
  CHECK(data::classify(transport, ranks).classes[0].chain.producer == key("thread 0"));
  late.time = 1;
  const auto out = data::classify(transport, ranks);
  REQUIRE(out.classes.size() == 1);
  CHECK(out.classes[0].chain.producer == key("thread 1"));
}

TEST_CASE("in random programs the classes are those of the history of every byte") {
  for (std::uint64_t seed = 1; seed != 120; ++seed) {
    CAPTURE(seed);
    reference::world w(seed, 2 + static_cast<int>(seed % 4), 40 + static_cast<int>(seed % 7) * 30);
    const data::classified out = w.made.classify(seed % 2 == 0 ? 16384 : 64);
    for (const char* name : {"u", "v", "buffer"}) w.names[key(name)] = name;
    const auto expected = w.expected();
    CHECK(out.unmatched == 0);
    CHECK(out.dropped == 0);
    REQUIRE(out.classes.size() == expected.size());
    for (const data::transfer_class& c : out.classes) {
      const std::string text = text_of(c.chain, w.names);
      CAPTURE(text);
      const auto known = expected.find(text);
      REQUIRE(known != expected.end());
      const reference::sums& e = known->second;
      CHECK(c.sums.count == e.count);
      CHECK(c.sums.bytes == e.bytes);
      CHECK(c.sums.unchanged == e.unchanged);
      CHECK(c.sums.held == e.held);
      CHECK(c.sums.watched_bytes == e.arrived);
      CHECK(c.sums.read_bytes == e.read);
      CHECK(c.sums.most_hops == e.most_hops);
      CHECK(c.sums.fan_out == e.fan_out);
      CHECK(c.sums.pairs == static_cast<std::int64_t>(e.pairs.size()));
      std::set<int> receivers;
      for (const auto& pair : e.pairs) receivers.insert(pair.second);
      CHECK(c.sums.receivers == static_cast<std::int64_t>(receivers.size()));
    }
  }
}
