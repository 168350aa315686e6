#include <whywait/clocks/joined_code.hpp>
#include <whywait/clocks/virtual_clocks.hpp>

#include "../explain/histories.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace histories;

namespace {

constexpr std::int64_t joined_ms = 1000000;

/// Call sites are called "function:line"; `copy` tells those of one line apart.
class functions_by_name final : public explain::function_names {
 public:
  std::string site(const std::string& function, int line, const std::string& copy = "") {
    const std::string words = function + ":" + std::to_string(line);
    sources_[core::key_of((words + copy).c_str())] = {core::key_of(function.c_str()), core::key_of(words.c_str())};
    return words + copy;
  }
  explain::source_keys source_of(core::stable_key call_site) override {
    ++asked;
    const auto at = sources_.find(call_site);
    return at == sources_.end() ? explain::source_keys{} : at->second;
  }
  bool contains(core::stable_key call_site) const override { return sources_.count(call_site) != 0; }
  int asked = 0;

 private:
  std::map<core::stable_key, explain::source_keys> sources_;
};

explain::balance_answer described(const clocks::joined_code& joined, core::stable_key block) {
  explain::balance_answer e;
  e.block = block;
  joined.describe(e);
  return e;
}

/// Each rank leaves `sync` and enters `comm` in lines of its own. Between them rank 1 computes for `most`, the others for
/// `others`; all compute for 2 ms in another place. Returns the end.
std::int64_t lines_of_their_own(run& r, functions_by_name& names, int ranks, std::int64_t most, std::int64_t others) {
  std::int64_t now = 1000;
  for (int step = 0; step != 20; ++step) {
    const std::int64_t enters = now + std::max(most, others), after = enters + 1000 + 2 * joined_ms;
    for (int i = 0; i != ranks; ++i) {
      const std::int64_t begins = now + (i == 1 ? most : others);
      r[i].call(mpi_call::Barrier, std::uint64_t(begins), std::uint64_t(enters + 1000), names.site("comm", 10 + i)).flags =
          flag::contributes;
      r[i].call(mpi_call::Barrier, std::uint64_t(after), std::uint64_t(after + 1000), names.site("sync", 50 + i)).flags =
          flag::contributes;
    }
    now = after + 1000;
  }
  for (int i = 0; i != ranks; ++i) r[i].end_ns = now;
  return now;
}

/// Merges what rank `rank`, with one thread, ran itself, as it is merged up the tree of ranks.
void add_rank(clocks::block_balance& all, std::int32_t rank, const base::pod_vector<explain::block_time>& own,
              const clocks::joined_code& joined, const base::pod_vector<core::stable_key>& regions = {}, bool reused = false) {
  clocks::block_balance one;
  one.add({rank, 0}, own, joined, regions, reused);
  base::packet out;
  one.write(out);
  base::packet_reader in(out.data(), out.size());
  if (rank == 0) all = std::move(one);
  else all.join(in);
}
/// The same of unmarked code that is still to be joined.
void add_rank(clocks::block_balance& all, std::int32_t rank, base::pod_vector<clocks::unmarked_piece>& pieces,
              functions_by_name& names, clocks::joined_code::time_by_location& own,
              const base::pod_vector<core::stable_key>& regions, bool reused = false) {
  clocks::joined_code joined;
  joined.join(pieces, &names, own);
  add_rank(all, rank, own[0], joined, regions, reused);
}

/// Unmarked code of one rank in one phase.
struct code_of_phase {
  explicit code_of_phase(core::stable_key key) : phase(key) {}
  base::pod_vector<clocks::unmarked_piece> pieces;
  clocks::joined_code::time_by_location own = clocks::joined_code::time_by_location(1);
  core::stable_key phase;

  void ran(core::stable_key from, core::stable_key to, std::int64_t ns) {
    const core::stable_key block = explain::between_key(from, to);
    pieces.push_back({block, from, to, ns, 10, 0, true, phase});
    own[0].push_back({block, ns, 0});
    std::sort(own[0].begin(), own[0].end(), [](const auto& a, const auto& b) { return a.block < b.block; });
  }
};

}  // namespace

TEST_CASE("unmarked code between the same functions is balanced as one, whatever the lines") {
  constexpr int ranks = 4;
  functions_by_name names;
  run r(ranks), changed(ranks);
  lines_of_their_own(r, names, ranks, 30 * joined_ms, 10 * joined_ms);
  const std::int64_t even_ns = lines_of_their_own(changed, names, ranks, 15 * joined_ms, 15 * joined_ms);
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  for (const bool known : {false, true}) {
    CAPTURE(known);
    settings.functions = known ? &names : nullptr;
    const explain::outcome out = r.explain(settings);
    const explain::balance_answer* joined = nullptr;
    const explain::balance_answer* whole = nullptr;
    for (const explain::balance_answer& b : out.balances) {
      CHECK(b.block != b.piece);  // no rank runs a piece of another one
      (b.block == explain::unmarked_key() ? whole : joined) = &b;
    }
    REQUIRE(whole != nullptr);
    CHECK(whole->rank == 1);
    CHECK(whole->pieces == 3);  // the first piece begins with the recording
    CHECK((joined != nullptr) == known);
    if (joined == nullptr) continue;
    CHECK(joined == &out.balances[0]);
    CHECK(joined->rank == 1);
    CHECK(joined->ranks == ranks);
    CHECK(joined->pieces == 1);
    CHECK(joined->piece == explain::between_key(core::key_of("sync:51"), core::key_of("comm:11")));
    // the first of the 20 steps begins with the recording, and so does its piece
    CHECK(joined->most_ns == 19 * 30 * joined_ms);
    CHECK(out.total_ns - joined->saving_ns == doctest::Approx(double(even_ns + 15 * joined_ms)).epsilon(0.001));
  }
}

TEST_CASE("code that the compiler copied for one step of one rank is balanced with the code that it is a copy of") {
  // A ring: in step 8 rank 1 takes 120 ms longer, and calls from a copy of the line. Ranks wait for their left neighbour only.
  constexpr int ranks = 4, steps = 32;
  const auto ring = [](run& r, functions_by_name& names, bool copied, bool even) {
    std::int64_t now[ranks] = {1000, 1000, 1000, 1000}, sends[ranks];
    for (int step = 0; step != steps; ++step) {
      for (int i = 0; i != ranks; ++i) {
        const std::int64_t more = i == 1 && step == 8 ? 120 * joined_ms : 0, mean = 5 * joined_ms + 30 * joined_ms / steps;
        sends[i] = now[i] + (even ? mean : 5 * joined_ms + more);
      }
      for (int i = 0; i != ranks; ++i) {
        const int left = (i + ranks - 1) % ranks;
        const std::string line = names.site("halo", 11, copied && i == 1 && step == 8 ? " copy" : "");
        const auto begins = std::uint64_t(sends[i]);
        now[i] = std::max(sends[i] + 2000, sends[left] + 3000);
        r[i].send(begins, begins + 1000, (i + 1) % ranks, step, line);
        const std::uint32_t posted = r[i].post_receive(begins + 1000, begins + 1000, left, step);
        r[i].call(mpi_call::Wait, begins + 1000, std::uint64_t(now[i]), line);
        r[i].completes(posted);
      }
    }
    std::int64_t end = 0;
    for (const std::int64_t t : now) end = std::max(end, t);
    for (int i = 0; i != ranks; ++i) r[i].end_ns = end;
    return end;
  };
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  for (const bool copied : {false, true}) {
    CAPTURE(copied);
    functions_by_name names;
    run r(ranks), changed(ranks);
    const std::int64_t end_ns = ring(r, names, copied, false), even_ns = ring(changed, names, copied, true);
    settings.functions = &names;
    const explain::outcome out = r.explain(settings);
    const auto joined = std::find_if(out.balances.begin(), out.balances.end(), [](const explain::balance_answer& b) {
      return b.block != explain::unmarked_key() && b.rank == 1 && b.ranks == ranks;
    });
    REQUIRE(joined != out.balances.end());
    CHECK(double(joined->saving_ns) == doctest::Approx(double(end_ns - even_ns)).epsilon(0.05));
  }
}

TEST_CASE(
    "of many pieces the longest 64 are asked for their functions, as those of an unrolled loop, and those of a hundredth") {
  functions_by_name names;
  base::pod_vector<clocks::unmarked_piece> pieces;
  clocks::joined_code::time_by_location own(1);
  for (int line = 1; line != 121; ++line) {  // 0.8 % each
    const core::stable_key from = core::key_of(names.site("f", line).c_str()), to = core::key_of(names.site("g", line).c_str());
    pieces.push_back({explain::between_key(from, to), from, to, 1000 - line, 1});
    own[0].push_back({pieces.back().block, pieces.back().ns, 0});
  }
  small_stable_sort(own[0], [](const explain::block_time& a, const explain::block_time& b) { return a.block < b.block; });
  clocks::joined_code joined;
  joined.join(pieces, &names, own);
  CHECK(names.asked == 128);
}

TEST_CASE("only long pieces are asked for their functions, and what joins one block alone is left out") {
  functions_by_name names;
  const auto key = [&](const char* function, int line) { return core::key_of(names.site(function, line).c_str()); };
  base::pod_vector<clocks::unmarked_piece> pieces;
  const core::stable_key long_one = explain::between_key(key("f", 1), key("g", 1));
  pieces.push_back({explain::between_key(key("f", 2), key("g", 2)), key("f", 2), key("g", 2), 50, 1});
  pieces.push_back({long_one, key("f", 1), key("g", 1), 90000, 1});
  clocks::joined_code::time_by_location own(1);
  own[0].push_back({long_one, 90000, 0});
  own[0].push_back({pieces[0].block, 50, 0});
  own[0].push_back({core::key_of("region"), 9500, 0});
  small_stable_sort(own[0], [](const explain::block_time& a, const explain::block_time& b) { return a.block < b.block; });
  clocks::joined_code joined;
  joined.join(pieces, &names, own);
  CHECK(names.asked == 2);
  const core::stable_key by_function = joined.key_of(long_one);
  CHECK(by_function != 0);
  CHECK(joined.key_of(explain::between_key(key("f", 2), key("g", 2))) == 0);
  CHECK(described(joined, explain::unmarked_key()).piece == long_one);
  CHECK(described(joined, explain::unmarked_key()).pieces == 2);
  CHECK(described(joined, by_function).piece == long_one);
  CHECK(described(joined, by_function).pieces == 1);
  std::int64_t sum_ns = 0;
  for (const explain::block_time& b : own[0]) sum_ns += b.block == explain::unmarked_key() ? b.ns : 0;
  CHECK(sum_ns == 90050);
  // on two ranks with the same lines the joined code is the block itself
  clocks::block_balance all, other;
  all.add({0, 0}, own[0], joined, {});
  for (explain::block_time& b : own[0]) b.ns /= 2;
  other.add({1, 0}, own[0], joined, {});
  base::packet out;
  other.write(out);
  base::packet_reader in(out.data(), out.size());
  all.join(in);
  int found = 0;
  for (const explain::balance_answer& b : all.candidates(8)) {
    CHECK(b.block != by_function);
    found += b.block == long_one ? 1 : 0;
  }
  CHECK(found == 1);
}

TEST_CASE("code between the same functions that one rank runs far more often is not joined with the others'") {
  functions_by_name names;
  const auto key = [&](const char* function, int line) { return core::key_of(names.site(function, line).c_str()); };
  const auto joined_key = [&](int line, std::int64_t visits) {
    base::pod_vector<clocks::unmarked_piece> pieces;
    pieces.push_back({explain::between_key(key("f", line), key("g", line)), key("f", line), key("g", line), 900, visits});
    clocks::joined_code::time_by_location own(1);
    own[0].push_back({pieces[0].block, 900, 0});
    const core::stable_key block = pieces[0].block;
    clocks::joined_code joined;
    joined.join(pieces, &names, own);
    CHECK(described(joined, block).unmarked);
    CHECK(described(joined, explain::unmarked_key()).unmarked);
    CHECK_FALSE(described(joined, core::key_of("region")).unmarked);
    return joined.key_of(block);
  };
  CHECK(joined_key(1, 40) == joined_key(2, 40));
  CHECK(joined_key(1, 40) == joined_key(2, 41));
  CHECK(joined_key(1, 120) != joined_key(2, 40));
}

TEST_CASE(
    "a marked block of one rank is divided among all, who have work of their own; unmarked code without functions is not") {
  base::pod_vector<explain::block_time> none, some;
  const core::stable_key region = core::key_of("output"), between = core::key_of("between");
  const auto table = [&](std::int32_t rank, std::int64_t region_ns, std::int64_t between_ns) {
    clocks::joined_code::time_by_location own(1);
    base::pod_vector<clocks::unmarked_piece> pieces;
    if (region_ns > 0) own[0].push_back({region, region_ns, 0});
    if (between_ns > 0) own[0].push_back({between, between_ns, 0}), pieces.push_back({between, 1, 2, between_ns, 10});
    small_stable_sort(own[0], [](const explain::block_time& a, const explain::block_time& b) { return a.block < b.block; });
    clocks::joined_code joined;
    joined.join(pieces, nullptr, own);
    clocks::block_balance b;
    base::pod_vector<core::stable_key> regions;
    regions.push_back(region);
    b.add({rank, 0}, own[0], joined, regions);
    base::packet out;
    b.write(out);
    return out;
  };
  const auto candidates = [&](std::initializer_list<base::packet> ranks) {
    clocks::block_balance all;  // of the first rank, which has no code
    for (auto p = ranks.begin() + 1; p != ranks.end(); ++p) {
      base::packet_reader in(p->data(), p->size());
      all.join(in);
    }
    return all.candidates(8);
  };
  const auto one = candidates({table(0, 0, 0), table(1, 400, 50), table(2, 0, 120), table(3, 0, 90)});
  REQUIRE(one.size() >= 1);
  CHECK(one[0].block == region);
  CHECK(one[0].ranks == 1);
  CHECK(one[0].among == 4);
  CHECK(clocks::block_balance::mean_ns(one[0]) == 100);
  CHECK(one[0].others_ns == 120);  // rank 2; rank 1 computes longest
  const auto idle = candidates({table(0, 0, 0), table(1, 0, 500), table(2, 300, 0)});
  REQUIRE(idle.size() == 1);
  CHECK(idle[0].others_ns == 500);
  const auto uneven = candidates({table(0, 0, 0), table(1, 100, 0), table(2, 0, 0), table(3, 300, 0)});
  REQUIRE(uneven.size() == 1);
  CHECK(uneven[0].among == 2);
  CHECK(clocks::block_balance::mean_ns(uneven[0]) == 200);
  CHECK(candidates({table(0, 0, 0), table(1, 100, 0), table(2, 0, 0), table(3, 100, 0)}).size() == 0);
  CHECK(candidates({table(0, 0, 0), table(1, 0, 100), table(2, 0, 0)}).size() == 0);
}

TEST_CASE("unmarked code of threads that share one number is known as that, on all ranks, and marked code is not") {
  functions_by_name names;
  const core::stable_key first = core::key_of(names.site("main", 10).c_str()),
                         second = core::key_of(names.site("main", 12).c_str());
  const auto reused = [&](std::int32_t rank_of_it, bool marked) {
    const core::stable_key block = marked ? core::key_of("solve") : explain::between_key(first, second);
    base::pod_vector<core::stable_key> regions;
    if (marked) regions.push_back(block);
    clocks::block_balance all;
    for (std::int32_t rank = 0; rank != 2; ++rank) {
      const std::int64_t ns = rank == 0 ? 400 : 100;
      base::pod_vector<clocks::unmarked_piece> pieces;
      clocks::joined_code::time_by_location own(1);
      if (!marked) pieces.push_back({block, first, second, ns, 4});
      own[0].push_back({block, ns, 0});
      add_rank(all, rank, pieces, names, own, regions, rank == rank_of_it);
    }
    for (const explain::balance_answer& b : all.candidates(8))
      if (b.piece == block) return b.reused;
    return false;
  };
  CHECK(!reused(-1, false));
  CHECK(reused(0, false));
  CHECK(reused(1, false));
  CHECK(!reused(0, true));
}

TEST_CASE("unmarked code that only one rank runs is divided among all, unless others may run it between other calls") {
  functions_by_name names;
  struct piece {
    std::string first, second;
    std::int64_t visits;
    std::int64_t ns = 0;  // 0: as below
  };
  const auto at = [&](const char* function, int line) { return names.site(function, line); };
  // Rank 0 runs one piece for 400, ranks 1-3 run others for 100 each. Returns among how many ranks it would be divided.
  const auto among = [&](const base::vector<piece>& of_first, const base::vector<piece>& of_others) {
    clocks::block_balance all;
    core::stable_key asked = 0;
    for (std::int32_t rank = 0; rank != 4; ++rank) {
      base::pod_vector<clocks::unmarked_piece> pieces;
      clocks::joined_code::time_by_location own(1);
      for (const piece& p : rank == 0 ? of_first : of_others) {
        const core::stable_key first = core::key_of(p.first.c_str()), second = core::key_of(p.second.c_str());
        const core::stable_key block = explain::between_key(first, second);
        if (rank == 0 && asked == 0) asked = block;
        const std::int64_t ns = p.ns != 0 ? p.ns : rank == 0 ? 400 : 100;
        pieces.push_back({block, first, second, ns, p.visits});
        own[0].push_back({block, ns, 0});
      }
      small_stable_sort(own[0], [](const explain::block_time& a, const explain::block_time& b) { return a.block < b.block; });
      add_rank(all, rank, pieces, names, own, {});
    }
    for (const explain::balance_answer& b : all.candidates(8))
      if (b.block == asked) return b.among;
    return 0;
  };
  const piece serves{at("master", 10), at("master", 12), 120}, works{at("worker", 30), at("worker", 28), 40};
  CHECK(among({serves}, {works}) == 4);
  // all in one function: the master serves far more often than a worker works
  const piece serves_in_main{at("main", 10), at("main", 12), 120}, works_in_main{at("main", 30), at("main", 28), 40};
  CHECK(among({serves_in_main}, {works_in_main}) == 4);
  CHECK(among({serves_in_main}, {{at("main", 30), at("main", 28), 118}}) == 0);  // about as often: may be the same code
  // The master works as well, and what it has beyond that is just this piece; or more than that.
  const piece works_too{at("main", 12), at("step", 10), 118, 100}, works_longer{at("main", 12), at("step", 10), 118, 200};
  CHECK(among({serves_in_main, works_too}, {{at("main", 30), at("main", 28), 118}}) == 4);
  CHECK(among({serves_in_main, works_longer}, {{at("main", 30), at("main", 28), 118}}) == 0);
  // That is all which it runs more, so that what it has of the other work is that of the workers.
  const piece other_work{at("main", 12), at("tail", 10), 30, 300}, same_work{at("main", 28), at("tail", 30), 118, 300};
  const piece serves_longer{at("main", 10), at("main", 12), 120, 400};
  CHECK(among({serves_longer, other_work}, {same_work}) == 4);
  CHECK(among({other_work, serves_longer}, {same_work}) == 0);
  // the lines of a root and of the others: they begin, or end, at the same call
  const piece root{at("begin", 1), at("root", 2), 40};
  CHECK(among({root}, {{at("begin", 1), at("leaf", 3), 40}}) == 0);
  CHECK(among({{at("f", 1), at("end", 2), 40}}, {{at("g", 3), at("end", 2), 40}}) == 0);
  // all ranks pass the other piece that begins there, so it is not that of the others alone
  const piece common{at("begin", 1), at("end", 2), 400};
  CHECK(among({root, common}, {common}) == 4);
  CHECK(among({{"nowhere:1", "nowhere:2", 120}}, {works}) == 0);  // functions unknown
}

TEST_CASE(
    "threads of a rank run the same code between calls in the same functions; only the main thread has other joined code") {
  functions_by_name names;
  const auto key = [&](const char* function, int line) { return core::key_of(names.site(function, line).c_str()); };
  const core::stable_key of_main = explain::between_key(key("f", 1), key("g", 1)),
                         of_others = explain::between_key(key("f", 2), key("g", 2));
  base::pod_vector<clocks::unmarked_piece> pieces;
  clocks::joined_code::time_by_location own(3);
  const auto add = [&](core::stable_key block, int line, std::int64_t ns, std::uint32_t location) {
    pieces.push_back({block, key("f", line), key("g", line), ns, 40, location, location == 0});
    own[location].push_back({block, ns, 0});
  };
  add(of_main, 1, 400, 0);
  add(of_others, 2, 900, 1);
  add(of_others, 2, 500, 2);
  clocks::joined_code joined;
  joined.join(pieces, &names, own);
  CHECK(names.asked == 4);  // once for each call around two blocks
  const core::stable_key both = joined.key_of(of_main);
  CHECK(both != 0);
  CHECK(joined.key_of(of_others) == both);
  CHECK(described(joined, both).piece == of_others);
  CHECK(described(joined, both).pieces == 2);
  const auto ns_of = [&own](std::size_t location, core::stable_key block) {
    for (const explain::block_time& b : own[location])
      if (b.block == block) return b.ns;
    return std::int64_t{0};
  };
  const std::int64_t expected[] = {400, 900, 500};
  for (std::size_t l = 0; l != 3; ++l) {
    CHECK(ns_of(l, both) == expected[l]);
    CHECK(ns_of(l, explain::unmarked_key()) == (l == 0 ? 400 : 0));
    CHECK(std::is_sorted(own[l].begin(), own[l].end(), [](const auto& a, const auto& b) { return a.block < b.block; }));
  }
  clocks::block_balance all;
  for (std::int32_t t = 0; t != 3; ++t) all.add({5, t}, own[static_cast<std::size_t>(t)], joined, {});
  const auto found = all.candidates(8);
  REQUIRE(found.size() >= 1);
  CHECK(found[0].block == both);
  CHECK(found[0].rank == 5);
  CHECK(found[0].thread == 1);
  CHECK(found[0].ranks == 3);
  CHECK(clocks::block_balance::mean_ns(found[0]) == 600);
}

TEST_CASE("the loop of a further thread is the same on a rank where it waits for something more often") {
  functions_by_name names;
  const auto key = [&](int line) { return core::key_of(names.site("writer", line).c_str()); };
  clocks::block_balance all;
  base::packet other;
  for (std::int32_t rank = 0; rank != 2; ++rank) {
    // Rank 0 waits for something to write, rank 1, which writes longer, has room made for those that wait for it.
    const int line = rank == 0 ? 7 : 9;
    const std::int64_t ns = rank == 0 ? 400 : 1400, visits = rank == 0 ? 80 : 50;
    const core::stable_key block = explain::between_key(key(line), key(line));
    base::pod_vector<clocks::unmarked_piece> pieces;
    pieces.push_back({block, key(line), key(line), ns, visits, 1, false});
    clocks::joined_code::time_by_location own(2);
    own[1].push_back({block, ns, 0});
    clocks::joined_code joined;
    joined.join(pieces, &names, own);
    clocks::block_balance here;
    here.add({rank, 0}, own[0], joined, {});
    here.add({rank, 1}, own[1], joined, {});
    if (rank == 0) {
      all = here;
      continue;
    }
    here.write(other);
  }
  base::packet_reader from(other.data(), other.size());
  all.join(from);
  const auto found = all.candidates(8);
  REQUIRE(found.size() == 1);  // and not what only rank 1 runs
  CHECK(found[0].rank == 1);
  CHECK(found[0].thread == 1);
  CHECK(found[0].ranks == 2);
  CHECK(found[0].among == 2);
  CHECK(found[0].sum_ns == 1800);
}

TEST_CASE("code after a call from which ranks go on to other calls is one block") {
  clocks::block_balance all;
  for (std::int32_t rank = 0; rank != 4; ++rank) {
    const bool leads = rank % 2 == 0;
    const core::stable_key reduce = 11, next = leads ? 12 : 13, block = explain::between_key(reduce, next);
    base::pod_vector<clocks::unmarked_piece> pieces;
    clocks::joined_code::time_by_location own(1);
    pieces.push_back({block, reduce, next, leads ? 600 : 1, 10});
    own[0].push_back({block, leads ? 600 : 1, 0});
    clocks::joined_code joined;
    joined.join(pieces, nullptr, own);
    CHECK(described(joined, explain::joined_key(reduce, explain::joined_by::after)).after);
    CHECK_FALSE(described(joined, explain::unmarked_key()).after);
    add_rank(all, rank, own[0], joined);
  }
  const auto found = all.candidates(8);
  REQUIRE(found.size() >= 1);
  const auto after = std::find_if(found.begin(), found.end(), [](const explain::balance_answer& b) { return b.after; });
  REQUIRE(after != found.end());
  CHECK(after->block == explain::joined_key(11, explain::joined_by::after));
  CHECK(after->ranks == 4);
  CHECK(after->among == 4);
  CHECK(after->sum_ns == 1202);
  CHECK(after->piece == explain::between_key(11, 12));
}

TEST_CASE("one piece of code comes before all code around its call that saves hardly more") {
  explain::balance_answer piece, around;
  piece.saving_ns = 298;
  for (bool explain::balance_answer::*kind : {&explain::balance_answer::after, &explain::balance_answer::before}) {
    around = {};
    around.*kind = true;
    around.saving_ns = 300;
    CHECK(explain::balance_answer::saves_more(piece, around));
    CHECK_FALSE(explain::balance_answer::saves_more(around, piece));
    around.saving_ns = 330;
    CHECK(explain::balance_answer::saves_more(around, piece));
  }
  explain::balance_answer other;
  other.saving_ns = 300;
  CHECK(explain::balance_answer::saves_more(other, piece));
}

TEST_CASE("code before a call to which ranks come from other calls is one block") {
  clocks::block_balance all;
  for (std::int32_t rank = 0; rank != 3; ++rank) {
    const core::stable_key reduce = 11, output = 12, first = explain::between_key(reduce, reduce),
                           second = explain::between_key(output, reduce);
    base::pod_vector<clocks::unmarked_piece> pieces;
    clocks::joined_code::time_by_location own(1);
    const std::int64_t times = rank == 2 ? 2 : 1;
    pieces.push_back({first, reduce, reduce, 900 * times, 9});
    pieces.push_back({second, output, reduce, 300 * times, 3});
    own[0].push_back({first, 900 * times, 0});
    own[0].push_back({second, 300 * times, 0});
    clocks::joined_code joined;
    joined.join(pieces, nullptr, own);
    CHECK(described(joined, explain::joined_key(reduce, explain::joined_by::before)).before);
    add_rank(all, rank, own[0], joined);
  }
  const auto found = all.candidates(8);
  const auto before = std::find_if(found.begin(), found.end(), [](const explain::balance_answer& b) { return b.before; });
  REQUIRE(before != found.end());
  CHECK(before->rank == 2);
  CHECK(before->pieces == 2);
  CHECK(before->sum_ns == 4800);
  CHECK(before->piece == explain::between_key(11, 11));
}

TEST_CASE("code that a rank runs elsewhere in the same phase is not its excess") {
  for (const std::int64_t elsewhere : {600, 0}) {
    clocks::block_balance all;
    for (std::int32_t rank = 0; rank != 4; ++rank) {
      // Even ranks compute and send, odd ones receive and compute, from one operation of all ranks to the next.
      const core::stable_key reduce = 11, send = 12, receive = 13,
                             phase = explain::joined_key(reduce, explain::joined_by::phase);
      const bool first = rank % 2 == 0;
      code_of_phase here(phase);
      here.ran(reduce, first ? send : receive, first ? 600 : 1);
      here.ran(first ? send : receive, reduce, first ? 1 : elsewhere);
      clocks::joined_code joined;
      joined.join(here.pieces, nullptr, here.own);
      add_rank(all, rank, here.own[0], joined);
    }
    const auto found = all.candidates(8);
    const bool any = std::any_of(found.begin(), found.end(), [](const explain::balance_answer& b) {
      return b.after && b.block == explain::joined_key(11, explain::joined_by::after);
    });
    CHECK(any == (elsewhere == 0));
    for (const explain::balance_answer& b : found) CHECK(b.block != explain::joined_key(11, explain::joined_by::phase));
    // Then the ranks that compute second begin late, and those that compute first end early.
    const auto even = all.even_in_phase({});
    if (!even.empty()) CHECK(all.even_in_phase(even).empty());  // balanced in a question of its own
    for (const core::stable_key block : {explain::between_key(11, 12), explain::between_key(13, 11)}) {
      const bool listed = std::any_of(even.begin(), even.end(), [&](const auto& b) { return b.even && b.piece == block; });
      CHECK(listed == (elsewhere != 0));
    }
  }
}

TEST_CASE("code that explains most of the waiting is asked about, also if all ranks take equally long in it") {
  clocks::block_balance all;
  const core::stable_key even = explain::between_key(11, 12);
  for (std::int32_t rank = 0; rank != 4; ++rank) {
    code_of_phase here(explain::joined_key(11, explain::joined_by::phase));
    here.ran(11, 12, 600);
    here.ran(12, 11, 100 + 100 * rank);
    clocks::joined_code joined;
    joined.join(here.pieces, nullptr, here.own);
    add_rank(all, rank, here.own[0], joined);
  }
  const auto asked = [&](const auto& found) {
    return std::any_of(found.begin(), found.end(), [&](const auto& b) { return b.block == even; });
  };
  CHECK_FALSE(asked(all.candidates(8)));
  CHECK(asked(all.candidates(8, even)));
  CHECK(all.candidates(1, even)[0].block == even);
}

TEST_CASE("code that each rank runs is asked about, also if they compute equally long in the phase") {
  for (const std::int64_t least : {400, 4}) {  // hardly run by one of them, it is the same code elsewhere
    clocks::block_balance all;
    const core::stable_key reduce = 11, wait = 12;
    for (std::int32_t rank = 0; rank != 2; ++rank) {
      code_of_phase here(explain::joined_key(reduce, explain::joined_by::phase));
      here.ran(reduce, wait, rank == 1 ? 800 : least);
      here.ran(wait, reduce, rank == 1 ? least : 600);
      clocks::joined_code joined;
      joined.join(here.pieces, nullptr, here.own);
      add_rank(all, rank, here.own[0], joined);
    }
    const auto found = all.candidates(8);
    const auto asked = [&found](core::stable_key block, std::int32_t rank) {
      return std::any_of(found.begin(), found.end(), [&](const auto& b) { return b.block == block && b.rank == rank; });
    };
    CHECK(asked(explain::between_key(reduce, wait), 1) == (least == 400));
    CHECK(asked(explain::between_key(wait, reduce), 0) == (least == 400));
  }
}

TEST_CASE("code that each of two ranks runs for most of its time, between other calls, may be the same code") {
  functions_by_name names;
  const auto key = [&](const char* function) { return core::key_of(names.site(function, 1).c_str()); };
  for (const std::int64_t other : {500, 200}) {  // or a rank that has far less to do
    clocks::block_balance all;
    for (std::int32_t rank = 0; rank != 2; ++rank) {
      code_of_phase here(0);
      if (rank == 0) here.ran(key("receive"), key("send"), other);
      else here.ran(key("reply"), key("take"), 1100);
      add_rank(all, rank, here.pieces, names, here.own, {});
    }
    const auto found = all.candidates(8);
    const bool divided = std::any_of(found.begin(), found.end(), [](const auto& b) { return b.among > b.ranks; });
    CHECK(divided == (other == 200));
  }
}

TEST_CASE("of joined code the piece is named that one rank alone runs and that is what it has more") {
  const core::stable_key gather = 11, write = 12;
  for (const std::int64_t alone : {600, 500}) {
    clocks::block_balance all;
    for (std::int32_t rank = 0; rank != 2; ++rank) {
      code_of_phase here(0);
      if (rank == 1) {
        here.ran(gather, gather, 900);
      } else {
        here.ran(gather, write, alone);
        here.ran(write, gather, alone == 600 ? 900 : 700);
      }
      clocks::joined_code joined;
      joined.join(here.pieces, nullptr, here.own);
      add_rank(all, rank, here.own[0], joined);
    }
    const auto found = all.candidates(8);
    const auto whole =
        std::find_if(found.begin(), found.end(), [](const auto& b) { return b.block == explain::unmarked_key(); });
    REQUIRE(whole != found.end());
    CHECK((whole->piece == explain::between_key(gather, write)) == (alone == 600));
  }
}

TEST_CASE("code that one rank runs is not to be divided if the other one runs as much in the same phase") {
  functions_by_name names;
  const auto key = [&](const char* function, int line) { return core::key_of(names.site(function, line).c_str()); };
  const core::stable_key reduce = key("main", 1), phase = explain::joined_key(reduce, explain::joined_by::phase);
  for (const std::int64_t elsewhere : {600, 0}) {
    clocks::block_balance all;
    for (std::int32_t rank = 0; rank != 2; ++rank) {
      code_of_phase here(phase);
      if (rank == 0) {
        here.ran(reduce, key("up", 2), elsewhere != 0 ? elsewhere : 200);  // far less is not the same code
        here.ran(key("down", 3), reduce, elsewhere);
      } else {
        here.ran(key("turn", 4), key("back", 5), 1200);
      }
      add_rank(all, rank, here.pieces, names, here.own, {});
    }
    const auto found = all.candidates(8);
    const bool divided =
        std::any_of(found.begin(), found.end(), [](const auto& b) { return b.rank == 1 && b.among > b.ranks; });
    CHECK(divided == (elsewhere == 0));
  }
}
