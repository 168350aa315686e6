#include <whywait/base/places.hpp>
#include <whywait/data/analysis/page_book.hpp>
#include <whywait/data/finalize/data_facts_of.hpp>
#include <whywait/data/marks/page_lookup.hpp>
#include <whywait/data/report/communication_json.hpp>
#include <whywait/data/report/communication_text.hpp>

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "ranks.hpp"

namespace {

namespace base = whywait::base;
namespace core = whywait::core;
namespace data = whywait::data;

/// One rank with two threads that use one array of eight pages in one block; each page has the node that `nodes` has.
struct two_threads {
  static constexpr std::uint64_t page = 4096;

  ranks::program program{1};
  std::uint32_t array = program.object("field", {8 * page});
  std::uint32_t block = program.site("relax");
  std::deque<core::data_record> records[2];
  base::pod_vector<const core::data_record*> chunks[2];

  void use(unsigned thread, std::int32_t node, std::uint64_t first_page, std::uint64_t end_page, std::uint64_t stride = 0,
           core::data_op op = core::data_op::read) {
    core::data_record r;
    r.op = op;
    r.object = array;
    r.site = block;
    r.begin = first_page * page;
    r.end = end_page * page;
    r.stride = stride;
    r.piece = 8;
    r.tag = node + 1;
    records[thread].push_back(r);
  }
  base::pod_vector<data::far_use> far(std::initializer_list<std::int16_t> nodes) {
    data::rank_data& rank = program.at(0);
    rank.locations.resize(2);
    for (unsigned t = 0; t != 2; ++t) {
      chunks[t].clear();
      for (const core::data_record& r : records[t]) chunks[t].push_back(&r);
      rank.locations[t].records = {chunks[t].data(), 0, records[t].size()};
    }
    base::pod_vector<data::page_nodes> known;
    known.resize(rank.objects.size(), data::page_nodes());
    for (const std::int16_t n : nodes) known[array].nodes[known[array].count++] = n;
    data::page_book book;
    book.take_all(rank, known);
    return book.far(3);
  }
};

}  // namespace

TEST_CASE("a thread that uses mostly pages of another node is far, one that is on their node is not") {
  two_threads t;
  t.use(0, 0, 0, 4);
  t.use(1, 1, 4, 8);
  const auto all = t.far({0, 0, 0, 0, 0, 0, 0, 0});
  REQUIRE(all.size() == 1);
  CHECK(all[0].thread == 1);
  CHECK(all[0].rank == 3);
  CHECK(all[0].node == 1);
  CHECK(all[0].pages_node == 0);
  CHECK(all[0].bytes == doctest::Approx(4 * two_threads::page));
  CHECK(all[0].far_bytes == doctest::Approx(4 * two_threads::page));
  CHECK(all[0].array == core::key_of("field"));
  CHECK(all[0].block == core::key_of("relax"));
  CHECK(t.far({0, 0, 0, 0, 1, 1, 1, 1}).empty());
}

TEST_CASE("half of the bytes on another node is not most of them, what is not known does not count") {
  two_threads t;
  t.use(1, 1, 0, 8);
  CHECK(t.far({0, 0, 0, 0, 1, 1, 1, 1}).empty());
  const auto more = t.far({0, 0, 0, 0, 0, 1, 1, 1});
  REQUIRE(more.size() == 1);
  CHECK(more[0].far_bytes / more[0].bytes == doctest::Approx(0.625));
  const auto unknown = t.far({0, 0, -1, -1, 1, -1, -1, -1});
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].bytes == doctest::Approx(3 * two_threads::page));
  two_threads nowhere;
  nowhere.use(1, -1, 0, 8);
  CHECK(nowhere.far({0, 0, 0, 0, 0, 0, 0, 0}).empty());
}

TEST_CASE("pages stand for those around them, and of a strided region its pieces count") {
  two_threads t;
  t.use(0, 1, 0, 3, 32);  // 8 of 32 bytes, of the first 3 of 8 pages
  t.use(0, 1, 7, 8, 0, core::data_op::write);
  t.use(0, 1, 0, 8, 0, core::data_op::send);  // a message is no use
  const auto all = t.far({0, 1});             // two pages were looked at: the first half is on node 0
  CHECK(all.empty());
  t.use(0, 1, 0, 1);
  const auto more = t.far({0, 1});
  REQUIRE(more.size() == 1);
  CHECK(more[0].far_bytes == doctest::Approx(1.75 * two_threads::page));
  CHECK(more[0].bytes == doctest::Approx(2.75 * two_threads::page));
}

TEST_CASE("facts for rules, text and JSON have the names of what is used from another node") {
  base::names names;
  base::place field;
  field.name = "field", field.file = "field.cpp", field.line = 30;
  names.add(core::key_of("field"), field);
  base::pod_vector<data::far_use> uses;
  uses.push_back({core::key_of("field"), core::key_of("relax"), 3, 2, 1, 0, 100, 97});
  base::place relax;
  relax.name = "relax", relax.file = "field.cpp", relax.line = 40;
  names.add(core::key_of("relax"), relax);
  data::communication all;
  whywait::rules::data_facts& facts = all.facts;
  data::add_far_data(facts, uses, data::data_naming(names));
  REQUIRE(facts.far.size() == 1);
  CHECK(facts.far[0].block == core::key_of("relax"));
  CHECK(facts.far[0].rank == 3);
  CHECK(facts.far[0].data == "field");
  CHECK(facts.far[0].place == "field.cpp:30");
  CHECK(facts.far[0].thread == 2);
  CHECK(facts.far[0].share == doctest::Approx(0.97));
  CHECK(data::communication_text(all, 120) ==
        "\n    where data is, and which ranks need it\n"
        "        `field`: 97 % of what rank 3 thread 2 uses in relax (field.cpp:40) is on NUMA node 0; it runs on node 1\n");
  std::string json;
  auto append = [&json](const char* text, std::size_t size) { json.append(text, size); };
  whywait::reports::json_document out(whywait::reports::json_sink(append), true);
  out.begin_object();
  data::write_communication(out, all);
  out.end_object();
  CHECK(json.find("\"far_pages\":[{\"data\":\"field\",\"block\":\"relax (field.cpp:40)\",\"rank\":3,\"thread\":2,\"node\":1,"
                  "\"pages_node\":0,\"share\":0.97}]") != std::string::npos);
}

TEST_CASE("the kernel tells on which node a touched page is, and that others are not in memory") {
  constexpr std::size_t bytes = 256 * two_threads::page;
  char* const memory = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < bytes / 2; i += two_threads::page) memory[i] = 1;
  std::int16_t nodes[data::page_lookup::most_pages];
  int error = 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uint32_t count = data::page_lookup::nodes_of(begin, begin + bytes, nodes, error);
  if (count == 0) {
    CHECK(error != 0);  // a container may not call move_pages
  } else {
    REQUIRE(count == data::page_lookup::most_pages);
    CHECK(nodes[0] >= 0);
    CHECK(nodes[count / 2 - 1] >= 0);
    CHECK(nodes[count / 2] == -1);
    CHECK(nodes[count - 1] == -1);
    CHECK(data::page_lookup::nodes_of(begin, begin + 100, nodes, error) == 1);
  }
  munmap(memory, bytes);
}

TEST_CASE("falsely shared arrays become facts of the blocks that use or write them, with the threads of each") {
  data::sharing_report report;
  report.nodes.resize(3);
  report.nodes[1].request = 7;
  report.nodes[2].request = 8;
  report.nodes[2].writes.push_back(9);
  data::sharing_group g;
  g.array = core::key_of("counters");
  g.pattern = data::sharing_pattern::false_sharing;
  g.graph.touch(1, 0, 0b0110);
  g.graph.touch(2, 0b1000, 0);
  report.groups.push_back(g);
  g.array = core::key_of("queue");
  g.pattern = data::sharing_pattern::migratory;
  report.groups.push_back(g);
  base::names names;
  base::place counters;
  counters.name = "counters", counters.file = "counters.cpp", counters.line = 12;
  names.add(core::key_of("counters"), counters);
  whywait::rules::data_facts facts;
  data::add_shared_data(facts, report, true, data::data_naming(names));
  REQUIRE(facts.shared.size() == 3);
  CHECK(facts.shared[0].block == 7);
  CHECK(facts.shared[0].data == "counters");
  CHECK(facts.shared[0].place == "counters.cpp:12");
  CHECK(facts.shared[0].sharing == "false sharing");
  CHECK(facts.shared[0].users == "threads 1-3");
  CHECK(facts.shared[0].threads_here == 0b0110);
  CHECK(facts.shared[1].threads_here == 0b1000);
  CHECK(facts.shared[2].block == 9);
  CHECK(facts.shared[2].threads_here == 0b0110);  // its writers: which of them is not known
  CHECK(facts.shared[2].threads == 0b1110);
  facts = {};
  data::add_shared_data(facts, report, false, data::data_naming(names));
  CHECK(facts.shared[0].users == "ranks 1-3");
  CHECK(facts.shared[0].threads_here == 0);
}
