// Every case of overhead.json: measured in an instrumented simulation, expected from the uninstrumented one. The
// folder comes from WHYWAIT_ORACLES, by default ../shared/oracles beside the source tree.
#include <whywait/clocks/delay_ledger.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using json = nlohmann::json;
using namespace whywait::clocks;
using namespace whywait::explain;
using ns = std::int64_t;

const json& vectors() {
  static const json all = [] {
    const char* folder = std::getenv("WHYWAIT_ORACLES");
    const std::string file =
        (folder != nullptr ? std::string(folder) : std::string(WHYWAIT_TEST_SOURCE_DIR) + "/../shared/oracles") +
        "/overhead.json";
    std::ifstream in(file);
    REQUIRE_MESSAGE(in.good(), "cannot read " << file << ": set WHYWAIT_ORACLES to the folder of the oracles");
    const json whole = json::parse(in);
    for (const auto& part : whole) {
      if (part.is_array()) return part;
    }
    return json::array();
  }();
  return all;
}

// One call that needs others: own path and inputs.
struct outcome {
  ns x = 0, w = 0;
};
outcome apply(ns x, ns w, const json& remote) {
  delay_rule<> rule(x, w);
  for (const json& k : remote) rule.input(k.at("x"), k.at("slack"));
  return {rule.delay(), rule.wait()};
}
ns least_of(ns a, ns slack_a, ns b, ns slack_b) {
  delay_rule<> rule(a, slack_a);
  rule.input(b, slack_b);
  return rule.delay();
}

void check_message(const json& in, const json& expected) {
  const ns x2 = in["x2"], w = in["w"];
  delay_rule<> rule(x2, w);
  rule.input(in["x1"], in["s"], in.value("d", ns{0}));
  CHECK(rule.wait() == expected["w_prime"]);
  CHECK(rule.delay() == expected["x2_prime"]);
  if (expected.contains("o2_prime")) CHECK(x2 + w - rule.wait() == expected["o2_prime"]);
}

void check_rendezvous(const json& in, const json& expected) {
  delay_ledger<> books(2);
  const auto sender = books.call(0, 0, in["w1"], in["x1"]), receiver = books.call(1, 0, in["w2"], in["x2"]);
  books.meet(sender, receiver);
  books.replay();
  CHECK(books.wait(sender) == expected["w1_prime"]);
  CHECK(books.wait(receiver) == expected["w2_prime"]);
  CHECK(books.delay(sender.end) == expected["x1_prime"]);
  CHECK(books.delay(receiver.end) == expected["x2_prime"]);
}

void check_nonblocking(const json& in, const json& expected) {
  const json& m = in["match"];
  const bool pushed = in.contains("push");
  ns x = least_of(m["x_send"], m["slack_send"], m["x_post"], m["slack_post"]);
  if (pushed) x = least_of(in["push"]["x_wait"], in["push"]["slack_wait"], x, in["push"]["slack_match"]);
  for (const std::string side : {"sender", "receiver"}) {
    const json& wait = in[side + "_wait"];
    delay_rule<> rule(wait["x"], wait["w"]);
    rule.input(x, wait[pushed ? "slack_push" : "slack_match"]);
    CHECK(rule.delay() == expected[side + "_x"]);
    CHECK(rule.wait() == expected[side + "_w_prime"]);
  }
}

void check_synchronised(const json& in, const json& expected) {
  const std::size_t n = in["x"].size();
  delay_ledger<> books(n);
  std::vector<delay_ledger<>::handle> calls;
  for (std::size_t i = 0; i != n; ++i) calls.push_back(books.call(i, 0, in["w"][i], in["x"][i]));
  books.synchronise(calls.data(), n);
  books.replay();
  for (std::size_t i = 0; i != n; ++i) {
    CHECK(books.delay(calls[i].end) == expected["x_out"]);
    CHECK(books.wait(calls[i]) == expected["w_prime"][i]);
  }
}

void check_event(const json& c) {
  const json &in = c["inputs"], &expected = c["expected"];
  const std::string what = c["case"];
  if (what == "p2p_eager" || what == "p2p_piggyback_cost" || what == "semaphore_condvar_future") {
    check_message(in, expected);
  } else if (what == "rendezvous") {
    check_rendezvous(in, expected);
  } else if (what == "isend_irecv_rendezvous" || what == "isend_irecv_noprogress") {
    check_nonblocking(in, expected);
  } else if (what == "barrier" || what == "nxn" || what == "fence") {
    check_synchronised(in, expected);
  } else if (what == "bcast") {
    for (std::size_t i = 0; i != in["x"].size(); ++i) {
      delay_rule<> rule(in["x"][i], in["w"][i]);
      if (i != in["root"]) rule.input(in["x"][in["root"].get<std::size_t>()], in["s"][i]);
      CHECK(rule.delay() == expected["x_out"][i]);
      CHECK(rule.wait() == expected["w_prime"][i]);
    }
  } else if (what == "reduce") {
    delay_rule<> rule(in["x_root"], in["w_root"]);
    for (std::size_t i = 0; i != in["x_others"].size(); ++i) rule.input(in["x_others"][i], in["slack_others"][i]);
    CHECK(rule.delay() == expected["x_out"]);
    CHECK(rule.wait() == expected["w_prime"]);
  } else if (what == "scan") {
    for (std::size_t i = 0; i != in["x"].size(); ++i) {
      delay_rule<> rule(in["x"][i], in["w"][i]);
      for (std::size_t j = 0; j != in["slack"][i].size(); ++j) rule.input(in["x"][j], in["slack"][i][j]);
      CHECK(rule.delay() == expected["x_out"][i]);
      CHECK(rule.wait() == expected["w_prime"][i]);
    }
  } else if (what == "icollective_wait") {
    delay_rule<> start(never_ns, 0);
    for (std::size_t i = 0; i != in["x_start"].size(); ++i) start.input(in["x_start"][i], in["slack_start"][i]);
    for (std::size_t i = 0; i != in["x_wait"].size(); ++i) {
      delay_rule<> rule(in["x_wait"][i], in["w"][i]);
      rule.input(start.delay(), in["slack_coll"][i]);
      CHECK(rule.delay() == expected["x_out"][i]);
      CHECK(rule.wait() == expected["w_prime"][i]);
    }
  } else if (in.contains("own") && in.contains("remote")) {
    const outcome out = apply(in["own"]["x"], in["own"]["w"], in["remote"]);
    CHECK(out.x == expected["x_out"]);
    CHECK(out.w == expected["w_prime"]);
  } else {
    FAIL_CHECK("no rule for a vector of case " << what);
  }
}

// A recorded program as the wrappers would have left it, and the constants of its network.
class vector_program {
 public:
  explicit vector_program(const json& c)
      : c_(c), k_(c["constants"]), books_(c["ranks"].get<std::size_t>()) {
    for (const json& e : c_["events"]) {
      const std::size_t rank = e["rank"];
      const ns wait = e["e"].get<ns>() - e["b"].get<ns>() - e["c"].get<ns>();
      CHECK(wait == e["expect"]["w_measured"]);
      calls_[{rank, e["i"]}] = books_.call(rank, e["b"], wait, e["ovh"].get<ns>());
      at_[{rank, e["i"]}] = &e;
      if (e.contains("coll")) together_[e["coll"]].push_back(&e);
    }
    for (const json& e : c_["events"]) connect(e);
    for (auto& one : together_) connect_all(one.second);
    for (std::size_t r = 0; r != c_["ranks"]; ++r) books_.close(r, c_["t_end"][r], c_["tail_ovh"][r].get<ns>());
    books_.replay();
  }

  void check() {
    std::map<std::size_t, ns> waits;
    for (const json& e : c_["events"]) {
      CAPTURE(e.dump());
      const auto& call = handle_of(e);
      CHECK(books_.wait(call) == e["expect"]["w_prime"]);
      CHECK(books_.delay(call.end) == e["expect"]["x_end"]);
      CHECK(books_.trust(call) == quality::exact);
      CHECK(books_.delay(call.end) <= books_.bound(call.end));  // C3
      waits[e["rank"]] += books_.wait(call);
    }
    const json& expected = c_["expected"];
    for (std::size_t r = 0; r != c_["ranks"]; ++r) {
      CHECK(books_.final_delay(r) == expected["x_final"][r]);
      CHECK(waits[r] == expected["wait_true"][r]);
    }
    CHECK(books_.total() == expected["total_true"]);
  }

 private:
  using handle = delay_ledger<>::handle;
  using place = std::pair<std::size_t, std::size_t>;

  ns constant(const char* name) const { return k_[name]; }
  static place place_of(const json& pair) { return {pair[0], pair[1]}; }
  const json& record(const json& pair) const { return *at_.at(place_of(pair)); }
  const handle& handle_of(const json& e) const { return calls_.at({e["rank"], e["i"]}); }

  // When a message that left at the end of its send is there; what the tool put on it counts.
  ns arrival(const json& send, ns bytes) const {
    return send["e"].get<ns>() + constant("L") + constant("d_msg") + constant("beta") * bytes;
  }

  // Where a rendezvous of two postings is over: match, then the transfer.
  struct transfer {
    std::uint32_t event = 0;
    ns at = 0;
  };
  transfer match(const json& send, ns posted, const json& post) {
    const auto key = std::make_pair(send["rank"].get<std::size_t>(), send["i"].get<std::size_t>());
    const auto known = matches_.find(key);
    if (known != matches_.end()) return known->second;
    const ns sent = send["b"].get<ns>() + constant("o_s") + constant("L") + constant("d_msg");
    const std::uint32_t m = books_.junction();
    books_.needs(m, handle_of(send).begin, sent, constant("d_msg"));
    books_.needs(m, handle_of(post).begin, posted);
    transfer t{m, std::max(sent, posted)};
    // Without progress the payload leaves when the sender is inside MPI again.
    if (!k_["async_progress"].get<bool>() && send["kind"] == "issend") {
      const json& wait = waiting_for(send);
      const std::uint32_t p = books_.junction();
      books_.needs(p, m, t.at + constant("L"));
      books_.needs(p, handle_of(wait).begin, wait["b"]);
      t = {p, std::max(t.at + constant("L"), wait["b"].get<ns>()) - constant("L")};
    }
    return matches_[key] = t;
  }
  const json& waiting_for(const json& send) const {
    for (const json& e : c_["events"]) {
      if (e["rank"] != send["rank"] || !e.contains("reqs")) continue;
      for (const json& q : e["reqs"]) {
        if (q["op"] == "send" && q["match"][1] == send["i"]) return e;
      }
    }
    throw std::out_of_range("a send that nobody waited for");
  }

  void connect(const json& e) {
    const std::string kind = e["kind"];
    const handle& call = handle_of(e);
    const ns L = constant("L");
    if (kind == "recv") {
      const json& send = record(e["match"]);
      books_.needs(call.end, handle_of(send).begin, arrival(send, e.value("size", ns{0})), constant("d_msg"));
    } else if (kind == "recv_rdv") {
      const json& send = record(e["match"]);
      const transfer t = match(send, e["b"], e);
      books_.needs(call.end, t.event, t.at);
      if (send["kind"] == "ssend") books_.needs(handle_of(send).end, t.event, t.at);
    } else if (kind == "wait" || kind == "waitall") {
      for (const json& q : e["reqs"]) {
        const json& send = record(q["match"]);
        const bool receives = q["op"] == "recv";
        if (!q["sync"].get<bool>()) {
          if (receives) {
            books_.needs(call.end, handle_of(send).begin, arrival(send, q["size"]), constant("d_msg"));
          }
          continue;
        }
        const json& post = record(q["post"]);
        const transfer t = match(send, post["b"], post);
        books_.needs(call.end, t.event, t.at + (receives ? 2 : 1) * L + constant("beta") * q["size"].get<ns>());
      }
    } else if (kind == "win_start" || kind == "win_complete") {
      for (const json& p : e["posts"]) {
        books_.needs(call.end, handle_of(record(p)).begin, record(p)["b"].get<ns>() + L);
      }
    } else if (kind == "win_wait") {
      for (const json& p : e["cmpls"]) {
        books_.needs(call.end, handle_of(record(p)).end, record(p)["e"].get<ns>() + L);
      }
    } else if (kind == "sem_wait") {
      books_.needs(call.end, handle_of(record(e["match"])).begin, record(e["match"])["b"]);
    }
  }

  void connect_all(const std::vector<const json*>& all) {
    const std::string kind = (*all[0])["kind"];
    std::vector<handle> calls;
    for (const json* e : all) calls.push_back(handle_of(*e));
    if (kind == "barrier" || kind == "nxn" || kind == "fence") return books_.synchronise(calls.data(), calls.size());
    const ns L = constant("L");
    for (const json* waiter : all) {
      for (const json* other : all) {
        const std::string w = (*waiter)["kind"], o = (*other)["kind"];
        const bool needs = (w == "bcast" && o == "bcast_root") || (w == "reduce_root" && o == "reduce") ||
                           (w == "scan" && (*other)["rank"] < (*waiter)["rank"]);
        if (needs) books_.needs(handle_of(*waiter).end, handle_of(*other).begin, (*other)["b"].get<ns>() + L);
      }
    }
  }

  const json& c_;
  const json& k_;
  delay_ledger<> books_;
  std::map<place, handle> calls_;
  std::map<place, const json*> at_;
  std::map<std::string, std::vector<const json*>> together_;
  std::map<place, transfer> matches_;
};

}  // namespace

TEST_CASE("every vector of overhead.json comes out to the nanosecond") {
  int events = 0, programs = 0;
  for (const json& c : vectors()) {
    CAPTURE(c["id"].get<std::string>());
    if (c["level"] == "event") {
      check_event(c);
      ++events;
    } else {
      vector_program(c).check();
      ++programs;
    }
  }
  MESSAGE(events << " event vectors and " << programs << " program vectors of overhead.json checked");
  CHECK(events >= 47);
  CHECK(programs >= 11);
}
