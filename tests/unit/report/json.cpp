// g++ 12 with -fsanitize warns inside libstdc++'s <regex>, which valijson uses (GCC bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <whywait/base/vector.hpp>
#include <whywait/data/report/communication_section.hpp>
#include <whywait/report/json.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "sample.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

using namespace sample;
using nlohmann::json;
namespace data = whywait::data;

namespace {

json read(const std::string& path) {
  std::ifstream in(path);
  REQUIRE_MESSAGE(in.good(), path);
  return json::parse(in);
}

/// Violations of docs/schema.json in a document; empty if it is valid.
std::string complaints(const json& document) {
  static const json text = read(std::string(WHYWAIT_TEST_SOURCE_DIR) + "/docs/schema.json");
  static const valijson::Schema* const schema = [] {
    auto* made = new valijson::Schema;  // kept until the process ends
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(text), *made);
    return made;
  }();
  valijson::ValidationResults results;
  valijson::Validator validator;
  if (validator.validate(*schema, valijson::adapters::NlohmannJsonAdapter(document), &results)) return {};
  std::string out = "invalid";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    out += "\n  ";
    for (const std::string& part : error.context) out += part;
    out += ": " + error.description;
  }
  return out;
}

/// A data result that uses every field at least once.
data::communication about_data() {
  data::communication_class k;
  k.data = "u";
  k.region = "low side of dimension 0";
  k.from = call("MPI_Send", "main/exchange", "src/halo.cpp", 131);
  k.to = call("MPI_Recv", "main/exchange", "src/halo.cpp", 142);
  k.origin = "mixed";
  k.why = "of several origins";
  k.count = 3;
  k.bytes = 1536;
  k.seconds = 0.5;
  k.senders = {{0, 2}, {-1, 1}};
  k.receivers = {{1, 3}};
  k.shares = {{"produced", "relax", 512}, {"init", "", 1024}};
  for (const char* p : {"relay_chain", "unchanged_data", "large_halo", "tiny_messages", "gather_then_scatter"})
    k.problems.push_back({p, "what", "do", 3, 1536, 2, 1024, 0.25});
  data::loop_use use;
  use.loop = block("relax", "main/relax", "src/halo.cpp", 52);
  use.schedule = "cyclic";
  use.agreement = 1;
  use.access = "contiguous";
  use.remote_share = 0.75;
  use.remote_elements_share = 0.7;
  data::loop_use unclear = use;
  unclear.remote_share.reset();
  for (const char* change : {"schedule", "data", "both"}) {
    data::placement_advice a;
    a.change = change;
    a.text = "loop";
    use.better = a;
  }
  data::sharing_entry s;
  s.data = "u";
  s.pattern = "false sharing";
  s.who = "thread";
  s.standard_error = 0.01;
  s.nodes = {{"", "", {}, {}, {}}, {"relax", "swept", {"relax"}, {0, 1}, {1}}};
  s.transitions = {{0, 1, 7, 1.0}};
  data::communication out;
  out.classes = {k};
  out.arrays = {{"u", {16, 64}, 8, "(block, *)", 0.999, {use, unclear}}};
  out.sharing = {s};
  return out;
}

/// A result that uses every field at least once.
reports::result everything() {
  whywait::base::vector<explain::explanation> waits;
  for (unsigned i = 0; i < static_cast<unsigned>(explain::pattern::count_); ++i) {
    explain::explanation e = late_sender();
    e.why = static_cast<explain::pattern>(i);
    e.trust = static_cast<explain::quality>(i % 4);
    e.wait_ns -= i;
    if (i == 0) e.wrong_order_count = e.wrong_order_ns = 5;
    e.residual.push_back(term(between_key, 4, 0, 4, 0));
    e.residual.push_back(term(call_key, -3, 0, 0, 1));
    e.residual.push_back(term(101, 2, 0));
    e.residual.push_back(term(102, 1, 0));
    e.residual.push_back(term(103, 1, 0));
    e.residual.push_back(term(step, 0, 0, 100, 40));
    e.residual.back().within = compute;
    e.waiters.push_back({-1, 0, 7});
    waits.push_back(e);
  }
  explain::outcome o = outcome(std::move(waits));
  o.meanings = {{between_key, explain::block_kind::between, waitall, send},
                {call_key, explain::block_kind::call, allreduce, 0},
                {101, explain::block_kind::startup, 0, 0},
                {102, explain::block_kind::other, 0, 0},
                {103, explain::block_kind::waiting, sample::pack, 0}};
  with_ledger(o);
  reports::run_facts f = facts();
  f.warnings = {"region \"a\" was ended twice"};
  f.partial = true;
  reports::result r = reported(o, names(), std::move(f));
  r.problems = {
      {"imbalance", "give it less", 3.5, "rank 0 has more work", 4.0, false, {"MPI_Send in exchange (halo.cpp:131)"}}};
  r.communication = std::make_shared<data::communication_section>(about_data());
  whywait::whatif::engine_answer replay;
  replay.engine = "replay";
  replay.seconds = 9.5;
  whywait::whatif::engine_answer chain;
  chain.engine = "chain";
  chain.refusal = "messages";
  whywait::whatif::answer faster;
  faster.question = "block pack x2";
  faster.engine = "replay";
  faster.measured_seconds = 12;
  faster.seconds = 9.5;
  faster.low_seconds = 9;
  faster.high_seconds = 10;
  faster.baseline_error = 0.01;
  faster.engines = {replay, chain};
  faster.notes = {"an assumption"};
  whywait::whatif::answer none;
  none.question = "balance";
  none.refusal = "the run took no time";
  r.prediction.measured_seconds = 12;
  r.prediction.unchanged_error = 0.01;
  r.prediction.answers = {faster, none};
  reports::thread_end end;
  end.rank = 3;
  end.pid = 4711;
  end.end = "killed";
  end.seconds = 12.5;
  end.inside = true;
  end.call.call = "MPI_Recv";
  end.call.module = "app";
  end.whom = "from rank 2 (tag 7)";
  end.since_seconds = 11.25;
  end.regions = "main/exchange";
  end.blocks.resize(1);
  end.blocks[0].where.name = "exchange";
  end.blocks[0].visits = 9;
  r.last_words = {end, reports::thread_end{}};
  r.run.origin = {"./app", {"-n", "3"}, "node7", "2026-11-24T15:04:05+01:00", "0.1.0", "g++ 12.2.0", 2};
  reports::region_entry region;
  region.where = *names().find(compute);
  region.visits = 9000;
  region.ranks = 8;
  region.seconds = 16;
  region.min_seconds = 1;
  region.max_seconds = 3;
  region.min_rank = 2;
  region.max_rank = 5;
  region.own_seconds = 10;
  region.mpi_seconds = 4;
  region.work = 77;
  region.efficiency = {0.5, 0.8, 0.625};
  reports::region_entry recursive = region;
  recursive.recursive = true;
  recursive.efficiency.reset();
  r.profile.regions = {region, recursive};
  reports::traffic_entry sent;
  sent.where = *names().find(sample::send);
  sent.peers = "network";
  sent.ranks = 8;
  sent.count = 3;
  sent.bytes = 100;
  sent.most_bytes = 64;
  sent.seconds = 0.5;
  sent.sizes = {{0, 1, 0}, {32, 1, 36}, {64, 1, 64}};
  reports::traffic_entry received = sent;
  received.operation = "receive";
  r.profile.messages = {sent, received};
  r.profile.ranks = {{0, 12, 3, 1}, {1, 12, 2, 0.5}};
  r.profile.hosts = {"node7", "node8"};
  r.profile.omitted_regions = 2;
  r.profile.omitted_messages = 3;
  r.waits[0].operation.caller = "exchange (halo.c:80)";
  r.waits[0].residual[0].where.caller = "solve (solver.c:7)";
  return r;
}

}  // namespace

TEST_CASE("a report with everything in it satisfies the schema") {
  const json document = json::parse(reports::json_of(everything()));
  CHECK(complaints(document) == "");
  CHECK(document["waits"].size() == static_cast<std::size_t>(explain::pattern::count_));
  REQUIRE(document["last_words"].size() == 2);
  CHECK(document["last_words"][0]["inside"]["call"] == "MPI_Recv");
  CHECK(document["last_words"][0]["blocks"][0]["visits"] == 9);
  CHECK(!document["last_words"][1].contains("inside"));
  CHECK(document["waits"][0]["operation"]["caller"] == "exchange (halo.c:80)");
  CHECK(document["waits"][0]["residual"][0]["caller"] == "solve (solver.c:7)");
  CHECK(!document["waits"][0]["cause"].contains("caller"));
}

TEST_CASE("the run, its regions, messages and ranks can be parsed again") {
  const json document = json::parse(reports::json_of(everything()));
  CHECK(document["run"]["program"] == "./app");
  CHECK(document["run"]["arguments"] == json({"-n", "3"}));
  CHECK(document["run"]["date"] == "2026-11-24T15:04:05+01:00");
  CHECK(document["run"]["nodes"] == 2);
  const json& region = document["regions"].at(0);
  CHECK(region["region"] == "compute_interior");
  CHECK(region["mean_seconds"] == 2.0);
  CHECK(region["max_rank"] == 5);
  CHECK(region["efficiency"]["load_balance"] == 0.8);
  CHECK(!region.contains("recursive"));
  CHECK(document["regions"][1]["recursive"] == true);
  CHECK(!document["regions"][1].contains("efficiency"));
  const json& sent = document["messages"].at(0);
  CHECK(sent["call"] == "MPI_Send");
  CHECK(sent["sizes"][1] == json({{"least_bytes", 32}, {"count", 1}, {"bytes", 36}}));
  CHECK(!document["messages"][1].contains("bytes"));
  CHECK(document["ranks"]["hosts"] == json({"node7", "node8"}));
  CHECK(document["ranks"]["host"] == json({0, 1}));
  CHECK(document["ranks"]["mpi_seconds"] == json({3.0, 2.0}));
  CHECK(document["omitted_regions"] == 2);
  CHECK(document["omitted_messages"] == 3);
}

TEST_CASE("last words contain the open call of a rank, its peers and its begin") {
  const std::string text = reports::text_of(everything().last_words);
  CHECK(text.find("rank 3: killed, last seen after ") != std::string::npos);
  CHECK(text.find(" in MPI_Recv") != std::string::npos);
  CHECK(text.find("from rank 2 (tag 7)") != std::string::npos);
  CHECK(text.find("exchange 0 s (9 visits)") != std::string::npos);
}

TEST_CASE("the results about data can be parsed again") {
  const json document = json::parse(reports::json_of(everything()));
  const json& k = document["communication_classes"].at(0);
  CHECK(k["data"] == "u");
  CHECK(k["to"]["line"] == 142);
  CHECK(k["shares"][0] == json({{"origin", "produced"}, {"name", "relax"}, {"bytes", 512}}));
  CHECK(k["problems"].size() == 5);
  CHECK(k["problems"][1]["needless_bytes"] == 1024);
  const json& uses = document["distributions"].at(0)["uses"];
  CHECK(document["distributions"][0]["extent"] == json({16, 64}));
  CHECK(uses[0]["remote_share"] == 0.75);
  CHECK(uses[0]["better"]["change"] == "both");
  CHECK_FALSE(uses[1].contains("remote_share"));
  const json& shared = document["sharing"].at(0);
  CHECK(shared["nodes"][1]["readers"] == json({0, 1}));
  CHECK(shared["transitions"][0]["share"] == 1.0);
  json wrong = document;
  wrong["sharing"][0]["pattern"] = "shared";
  CHECK(complaints(wrong) != "");
  wrong = document;
  wrong["communication_classes"][0].erase("why");
  CHECK(complaints(wrong) != "");
}

TEST_CASE("an empty report satisfies the schema and has all sections") {
  const json document = json::parse(reports::json_of(reports::result{}));
  CHECK(complaints(document) == "");
  for (const char* key : {"schema", "run", "waits", "problems", "critical_path", "efficiency", "overhead", "delay_costs",
                          "delay_sums", "communication_classes", "distributions", "sharing", "prediction"}) {
    CAPTURE(key);
    CHECK(document.contains(key));
  }
}

TEST_CASE("the schema rejects broken documents") {
  const json good = json::parse(reports::json_of(everything()));
  REQUIRE(complaints(good) == "");
  const whywait::base::vector<std::pair<const char*, std::function<void(json&)>>> damages = {
      {"another schema", [](json& d) { d["schema"] = "whywait/2"; }},
      {"no run", [](json& d) { d.erase("run"); }},
      {"no waits", [](json& d) { d.erase("waits"); }},
      {"an unknown section", [](json& d) { d["extra"] = 1; }},
      {"an unknown pattern", [](json& d) { d["waits"][0]["pattern"] = "late_lunch"; }},
      {"an unknown quality", [](json& d) { d["waits"][0]["quality"] = "good"; }},
      {"text for seconds", [](json& d) { d["waits"][0]["seconds"] = "18.9"; }},
      {"no number for seconds", [](json& d) { d["waits"][0]["seconds"] = nullptr; }},
      {"a negative wait", [](json& d) { d["waits"][0]["seconds"] = -1; }},
      {"no waits merged", [](json& d) { d["waits"][0]["count"] = 0; }},
      {"half a wait", [](json& d) { d["waits"][0]["count"] = 0.5; }},
      {"a late sender without its flag", [](json& d) { d["waits"][0].erase("wrong_order"); }},
      {"the flag on a barrier", [](json& d) { d["waits"][0]["pattern"] = "wait_at_barrier"; }},
      {"no operation", [](json& d) { d["waits"][0].erase("operation"); }},
      {"an operation without its call", [](json& d) { d["waits"][0]["operation"].erase("call"); }},
      {"a misspelt key", [](json& d) { d["waits"][0]["operation"]["fille"] = "a.cpp"; }},
      {"a module without offset", [](json& d) { d["waits"][0]["operation"].erase("offset"); }},
      {"a block without a name", [](json& d) { d["waits"][0]["residual"][0]["block"] = ""; }},
      {"an unknown kind", [](json& d) { d["waits"][0]["residual"][0]["kind"] = "loop"; }},
      {"half a visit", [](json& d) { d["waits"][0]["residual"][0]["causer_visits"] = 1.5; }},
      {"a rank below -1", [](json& d) { d["waits"][0]["waiters"][0]["rank"] = -2; }},
      {"advice without a bound", [](json& d) { d["waits"][0]["advice"][0].erase("saving_seconds"); }},
      {"no ranks", [](json& d) { d["run"]["ranks"] = 0; }},
      {"a setting that is not ours", [](json& d) { d["run"]["settings"]["HOME"] = "x"; }},
      {"a warning that is no text", [](json& d) { d["run"]["warnings"][0] = 3; }},
      {"an answer without its interval", [](json& d) { d["prediction"]["answers"][0].erase("low_seconds"); }},
      {"an answer and a refusal", [](json& d) { d["prediction"]["answers"][0]["refusal"] = "x"; }},
      {"no answer and no refusal", [](json& d) { d["prediction"]["answers"][1].erase("refusal"); }},
      {"an engine that says nothing", [](json& d) { d["prediction"]["answers"][0]["engines"][1].erase("refusal"); }},
      {"answers without the measured time", [](json& d) { d["prediction"].erase("measured_seconds"); }},
      {"an efficiency without the others", [](json& d) { d["efficiency"].erase("transfer"); }},
      {"more than everything", [](json& d) { d["efficiency"]["load_balance"] = 1.5; }},
      {"a block of the path without time", [](json& d) { d["critical_path"][0].erase("seconds"); }},
      {"a delay without a block", [](json& d) { d["delay_costs"][0].erase("block"); }},
      {"overhead without its bound", [](json& d) { d["overhead"].erase("bound_seconds"); }},
      {"half of the sums of delays", [](json& d) { d["delay_sums"].erase("terminal_seconds"); }},
      {"an unknown compensated quality", [](json& d) { d["waits"][0]["compensated_quality"] = "good"; }},
      {"a nested row",
       [](json& d) {
         d["sharing"] = {{{"x", json::array()}}};
       }},
  };
  for (const auto& each : damages) {
    const auto& what = each.first;
    const auto& damage = each.second;
    json broken = good;
    damage(broken);
    CAPTURE(what);
    CHECK(complaints(broken) != "");
  }
}

TEST_CASE("a reader can add up the residual and the remainder of each wait") {
  const json document = json::parse(reports::json_of(everything()));
  for (const json& w : document["waits"]) {
    double sum = w["unexplained_seconds"].get<double>();
    for (const json& r : w["residual"]) sum += r["seconds"].get<double>();
    CHECK(std::fabs(sum - w["seconds"].get<double>()) < 1e-12);
  }
}

TEST_CASE("values arrive as they were") {
  const json document = json::parse(reports::json_of(reported(outcome({late_sender()}), names(), facts())));
  const json& w = document["waits"][0];
  CHECK(document["run"]["clock_error_seconds"].get<double>() == 1e-6);
  CHECK(w["seconds"].get<double>() == 18.9);
  CHECK(w["operation"]["file"] == "src/halo.cpp");
  CHECK(w["operation"]["offset"] == 0x1234);
  CHECK(w["residual"][0]["speed_seconds"].get<double>() == 17.2);
  CHECK_FALSE(w.contains("compensated_seconds"));
}

TEST_CASE("an unknown clock error is null and still valid") {
  reports::run_facts f = facts();
  f.clock_error_seconds = std::numeric_limits<double>::quiet_NaN();
  const json document = json::parse(reports::json_of(reported(outcome({}), names(), f)));
  CHECK(document["run"]["clock_error_seconds"].is_null());
  CHECK(complaints(document) == "");
}

TEST_CASE("names with quotes, line feeds and foreign bytes leave a valid document") {
  base::names known;
  known.add(compute, block("a\"b\\\n\x01\xff", "main", "dir/\xc3\xa4.cpp", 1));
  const json document = json::parse(reports::json_of(reported(outcome({late_sender()}), known, facts())));
  CHECK(complaints(document) == "");
  CHECK(document["waits"][0]["residual"][0]["block"] == "a\"b\\\n\x01\xef\xbf\xbd");
}

TEST_CASE("a file that cannot be written gives one line with the reason") {
  const std::string missing = (std::filesystem::temp_directory_path() / "whywait-no-such-folder" / "x.json").string();
  CHECK(reports::write_json_file(reports::result{}, missing) == "cannot write " + missing + ": No such file or directory");
}

TEST_CASE("the file holds the document") {
  std::string path = (std::filesystem::temp_directory_path() / "whywait-json-XXXXXX").string();
  const int descriptor = ::mkstemp(path.data());
  REQUIRE(descriptor >= 0);
  ::close(descriptor);
  CHECK(reports::write_json_file(everything(), path) == "");
  CHECK(read(path) == json::parse(reports::json_of(everything())));
  std::filesystem::remove(path);
}

TEST_CASE("answers to what-if questions are written with their saving, refusals with their reason") {
  const json p = json::parse(reports::json_of(everything()))["prediction"];
  CHECK(p["measured_seconds"] == 12.0);
  CHECK(p["unchanged_error"] == 0.01);
  CHECK(p["answers"][0]["saving_seconds"] == 2.5);
  CHECK(p["answers"][0]["engines"][1]["refusal"] == "messages");
  CHECK(p["answers"][1]["refusal"] == "the run took no time");
  CHECK_FALSE(p["answers"][1].contains("seconds"));
  CHECK(json::parse(reports::json_of(reports::result{}))["prediction"].empty());
}
