#include <whywait/postmortem/last_words.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "../../temporary_folder.hpp"

#include <fstream>
#include <string>

using namespace whywait;
using nlohmann::json;

namespace {

json read(const std::string& path) {
  std::ifstream in(path);
  REQUIRE_MESSAGE(in.good(), path);
  return json::parse(in);
}

/// All required members of `schema`, and no others.
void check_members(const json& object, const json& schema) {
  for (const json& name : schema["required"]) CHECK_MESSAGE(object.contains(name.get<std::string>()), name);
  for (const auto& member : object.items()) CHECK_MESSAGE(schema["properties"].contains(member.key()), member.key());
}

}  // namespace

TEST_CASE("the file of a rank that ended early has the members of its schema") {
  const json schema = read(std::string(WHYWAIT_TEST_SOURCE_DIR) + "/docs/schema_last_words.json");
  const temporary_folder folder;
  const postmortem::last_call calls[] = {{"MPI_Recv", "lib \"a\".so", 64, 3, 2500000000u}};
  const postmortem::last_block blocks[] = {{"solve", "solve.cpp", 12, 7, 1500000000u}};
  postmortem::last_words words;
  words.reason = "MPI_Abort";
  words.rank = 1, words.ranks = 4;
  words.ns = 4000000001u, words.mpi_ns = 2500000000u;
  words.mpi_calls = 3, words.dropped = 5;
  words.calls = calls, words.call_count = 1;
  words.blocks = blocks, words.block_count = 1;
  for (const bool inside : {false, true}) {
    words.inside = inside ? calls : nullptr;
    const std::string path = folder.path + "/run.rank1.json";
    REQUIRE(postmortem::write_json(words, path.c_str()));
    const json all = read(path);
    check_members(all, schema);
    CHECK(all["schema"] == schema["properties"]["schema"]["const"]);
    CHECK(all["rank"] == 1);
    CHECK(all["ranks"] == 4);
    CHECK(all["reason"] == "MPI_Abort");
    CHECK(all["seconds"] == 4.000000001);
    CHECK(all["mpi_seconds"] == 2.5);
    CHECK(all["dropped_events"] == 5);
    CHECK(all.contains("inside") == inside);
    check_members(all["calls"].at(0), schema["definitions"]["call"]);
    CHECK(all["calls"][0]["module"] == "lib \"a\".so");
    check_members(all["blocks"].at(0), schema["properties"]["blocks"]["items"]);
    CHECK(all["blocks"][0]["visits"] == 7);
  }
}
