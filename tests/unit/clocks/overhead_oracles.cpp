// Every overhead vector: measured in an instrumented simulation, expected from the uninstrumented one. Each is judged
// twice: by the template delay_ledger, and by the virtual clocks that the report of a run uses.
#include <whywait/clocks/delay_ledger.hpp>

#include "../../oracles/vectors.hpp"
#include "vector_books.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace overhead_vectors {
namespace {

using oracles::bad_vector;
using oracles::json;
using namespace books;

constexpr auto overhead_topic = oracles::topic::overhead;

void count(const std::string& way, const std::string& kind) { oracles::tally::of(overhead_topic).count(way, kind); }

template <class Books>
constexpr const char* name_of_books() {
  return std::is_same<Books, ledger_books>::value ? "delay_ledger" : "virtual clocks";
}

template <class Books>
void same(const std::string& what, ns got, const json& expected) {
  const ns truth = expected.get<ns>();
  oracles::expect(overhead_topic, got == truth,
                  std::string(name_of_books<Books>()) + ": " + what + " is " + std::to_string(got) + " ns, expected " +
                      std::to_string(truth) + " ns");
}
void require(bool good, const std::string& what) { oracles::expect(overhead_topic, good, what); }

// ---- Events: one operation with the delays that it found

constexpr ns far = 1'000'000'000;  ///< a time before which any overhead fits
constexpr ns after_wait = 300;     ///< what a call takes once it is not blocked

/// Puts calls of ranks of their own at the times that their waits and slacks ask for.
template <class Books>
class event_books {
 public:
  explicit event_books(std::size_t ranks) : books_(ranks), ranks_(ranks) {}

  /// A call that is blocked for `wait` and can go on at `ready`.
  call_id waiter(ns x, ns wait, ns ready, bool completes = false) {
    return add(x, ready - wait, wait, ready + after_wait, completes);
  }
  /// A call that others need; it begins at `at`.
  call_id input(ns x, ns at) { return add(x, at, 0, at, false); }
  Books& books() { return books_; }
  /// Closes the books and computes.
  void run() {
    if (next_ != ranks_) throw std::logic_error("a rank without a call");
    for (std::size_t r = 0; r != ranks_; ++r) books_.close(r, ends_[r], 0);
    books_.run();
  }
  void check(const std::string& what, call_id c, const json& x, const json& w) {
    if (!x.is_null()) same<Books>(what + " x", books_.delay(c), x);
    if (!w.is_null()) same<Books>(what + " w", books_.wait(c), w);
  }

 private:
  call_id add(ns x, ns begin, ns wait, ns leave, bool completes) {
    if (x < 0 || wait < 0) throw bad_vector("malformed: a delay or wait below 0");
    ends_.push_back(leave);
    return books_.add({next_++, begin, wait, leave, x, 0, completes});
  }
  Books books_;
  std::size_t ranks_, next_ = 0;
  std::vector<ns> ends_;
};

const json none = nullptr;

template <class Books>
void check_needs(ns x, ns w, const std::vector<std::array<ns, 3>>& inputs, const json& x_out, const json& w_prime,
                 const json& x_input = none, bool completes = false) {
  event_books<Books> at(1 + inputs.size());
  const call_id own = at.waiter(x, w, far + w, completes);
  std::vector<call_id> from;
  for (const auto& k : inputs) {
    const ns there = far + w - k[1];
    from.push_back(at.input(k[0], there - k[2]));
    at.books().needs(end_of(own), begin_of(from.back()), there, k[2]);
  }
  at.run();
  at.check("own", own, x_out, w_prime);
  if (!from.empty()) at.check("input", from.front(), x_input, none);
}

template <class Books>
void check_message(const json& in, const json& expected) {
  const ns x2 = in.at("x2"), w = in.at("w");
  check_needs<Books>(x2, w, {{in.at("x1"), in.at("s"), in.value("d", ns{0})}}, expected.at("x2_prime"), expected.at("w_prime"),
                     expected.value("x1_prime", json()));
  if (expected.contains("o2_prime")) same<Books>("o2'", x2 + w - expected["w_prime"].get<ns>(), expected["o2_prime"]);
}

template <class Books>
void check_remote(const json& in, const json& expected, bool completes) {
  std::vector<std::array<ns, 3>> inputs;
  for (const json& k : in.at("remote")) inputs.push_back({k.at("x"), k.at("slack"), k.value("d", ns{0})});
  check_needs<Books>(in.at("own").at("x"), in["own"].at("w"), inputs, expected.at("x_out"), expected.at("w_prime"), none,
                     completes);
}

template <class Books>
void check_rendezvous(const json& in, const json& expected) {
  event_books<Books> at(2);
  const call_id sender = at.waiter(in.at("x1"), in.at("w1"), far), receiver = at.waiter(in.at("x2"), in.at("w2"), far);
  at.books().meet(sender, receiver);
  at.run();
  at.check("sender", sender, expected.at("x1_prime"), expected.at("w1_prime"));
  at.check("receiver", receiver, expected.at("x2_prime"), expected.at("w2_prime"));
}

template <class Books>
void check_nonblocking(const json& in, const json& expected) {
  const json& m = in.at("match");
  const bool pushed = in.contains("push");
  event_books<Books> at(pushed ? 5 : 4);
  const call_id send = at.input(m.at("x_send"), far - m.at("slack_send").get<ns>());
  const call_id post = at.input(m.at("x_post"), far - m.at("slack_post").get<ns>());
  point x = at.books().junction();
  at.books().needs(x, begin_of(send), far - m["slack_send"].get<ns>());
  at.books().needs(x, begin_of(post), far - m["slack_post"].get<ns>());
  ns there = far;
  if (pushed) {
    const json& p = in["push"];
    there += p.at("slack_match").get<ns>();
    const call_id entry = at.input(p.at("x_wait"), there - p.at("slack_wait").get<ns>());
    const point transfer = at.books().junction();
    at.books().needs(transfer, x, far);
    at.books().needs(transfer, begin_of(entry), there - p["slack_wait"].get<ns>());
    x = transfer;
  }
  // The junction happens when its last input is there; a pushed one with slack on both sides has no such instant.
  std::vector<call_id> waits;
  for (const std::string side : {"sender", "receiver"}) {
    const json& wait = in.at(side + "_wait");
    const ns slack = wait.at(pushed ? "slack_push" : "slack_match");
    waits.push_back(at.waiter(wait.at("x"), wait.at("w"), there + slack));
    at.books().needs(end_of(waits.back()), x, there);
  }
  at.run();
  at.check("sender", waits[0], expected.at("sender_x"), expected.at("sender_w_prime"));
  at.check("receiver", waits[1], expected.at("receiver_x"), expected.at("receiver_w_prime"));
}

template <class Books>
void check_synchronised(together how, const json& in, const json& expected) {
  event_books<Books> at(in.at("x").size());
  std::vector<call_id> calls;
  for (std::size_t i = 0; i != in["x"].size(); ++i) calls.push_back(at.waiter(in["x"][i], in.at("w").at(i), far));
  at.books().synchronise(how, calls);
  at.run();
  for (std::size_t i = 0; i != calls.size(); ++i)
    at.check("member " + std::to_string(i), calls[i], expected.at("x_out"), expected.at("w_prime").at(i));
}

template <class Books>
void check_broadcast(const json& in, const json& expected) {
  const std::size_t n = in.at("x").size(), root = in.at("root");
  event_books<Books> at(n);
  std::vector<call_id> calls, receivers;
  for (std::size_t i = 0; i != n; ++i) {
    const ns ready = far + (i == root ? 0 : in.at("s").at(i).get<ns>());
    calls.push_back(i == root ? at.input(in["x"][i], far) : at.waiter(in["x"][i], in.at("w").at(i), ready));
    if (i != root) receivers.push_back(calls.back());
  }
  at.books().one_to_all({calls.at(root), far}, receivers);
  at.run();
  for (std::size_t i = 0; i != n; ++i)
    at.check("member " + std::to_string(i), calls[i], expected.at("x_out").at(i), expected.at("w_prime").at(i));
}

template <class Books>
void check_reduction(const json& in, const json& expected) {
  const std::size_t others = in.at("x_others").size();
  event_books<Books> at(1 + others);
  const call_id root = at.waiter(in.at("x_root"), in.at("w_root"), far);
  std::vector<contribution> from;
  for (std::size_t i = 0; i != others; ++i) {
    const ns there = far - in.at("slack_others").at(i).get<ns>();
    from.push_back({at.input(in["x_others"][i], there), there});
  }
  at.books().all_to_one(root, from);
  at.run();
  at.check("root", root, expected.at("x_out"), expected.at("w_prime"));
}

template <class Books>
void check_scan(const json& in, const json& expected) {
  const std::size_t n = in.at("x").size();
  event_books<Books> at(n);
  std::vector<contribution> all;
  std::vector<ns> ready(n, far);
  for (std::size_t i = 1; i < n; ++i) ready[i] = far + in.at("slack").at(i).at(0).get<ns>();
  for (std::size_t i = 0; i != n; ++i) {
    const ns w = in.at("w").at(i), begin = ready[i] - w;
    ns there = i == 0 ? far : begin;
    for (std::size_t k = i + 1; k < n; ++k) {
      const ns seen = ready[k] - in.at("slack").at(k).at(i).get<ns>();
      if (k != i + 1 && seen != there) throw bad_vector("malformed: slacks of a scan that contradict each other");
      there = seen;
    }
    all.push_back({i == 0 ? at.input(in["x"][i], far) : at.waiter(in["x"][i], w, ready[i]), there});
  }
  at.books().prefix(all);
  at.run();
  for (std::size_t i = 0; i != n; ++i)
    at.check("member " + std::to_string(i), all[i].from, expected.at("x_out").at(i), expected.at("w_prime").at(i));
}

template <class Books>
void check_nonblocking_collective(const json& in, const json& expected) {
  const std::size_t starts = in.at("x_start").size(), waits = in.at("x_wait").size();
  event_books<Books> at(starts + waits);
  const point all = at.books().junction();
  for (std::size_t i = 0; i != starts; ++i) {
    const ns there = far - in.at("slack_start").at(i).get<ns>();
    at.books().needs(all, begin_of(at.input(in["x_start"][i], there)), there);
  }
  std::vector<call_id> calls;
  for (std::size_t i = 0; i != waits; ++i) {
    calls.push_back(at.waiter(in["x_wait"][i], in.at("w").at(i), far + in.at("slack_coll").at(i).get<ns>()));
    at.books().needs(end_of(calls.back()), all, far);
  }
  at.run();
  for (std::size_t i = 0; i != waits; ++i)
    at.check("member " + std::to_string(i), calls[i], expected.at("x_out").at(i), expected.at("w_prime").at(i));
}

// What MPI operation the histories of the virtual clocks use for a kind of event.
const std::set<std::string> as_recorded = {"p2p_eager", "rendezvous", "irecv_wait_eager", "waitall", "barrier",
                                           "nxn",       "bcast",      "reduce",           "scan"};

template <class Books>
void check_event(const std::string& kind, const json& in, const json& expected) {
  static const std::set<std::string> message = {"p2p_eager", "p2p_piggyback_cost", "semaphore_condvar_future"},
                                     one = {"irecv_wait_eager", "waitall", "rma_start_complete",
                                            "rma_wait",         "mutex",   "rma_lock"};
  if (message.count(kind) != 0) check_message<Books>(in, expected);
  else if (one.count(kind) != 0) check_remote<Books>(in, expected, kind == "irecv_wait_eager" || kind == "waitall");
  else if (kind == "rendezvous") check_rendezvous<Books>(in, expected);
  else if (kind == "isend_irecv_rendezvous" || kind == "isend_irecv_noprogress") check_nonblocking<Books>(in, expected);
  else if (kind == "barrier" || kind == "fence") check_synchronised<Books>(together::barrier, in, expected);
  else if (kind == "nxn") check_synchronised<Books>(together::all_to_all, in, expected);
  else if (kind == "bcast") check_broadcast<Books>(in, expected);
  else if (kind == "reduce") check_reduction<Books>(in, expected);
  else if (kind == "scan") check_scan<Books>(in, expected);
  else if (kind == "icollective_wait") check_nonblocking_collective<Books>(in, expected);
  else throw bad_vector("unknown kind \"" + kind + "\"");
}

// ---- Programs: what the wrappers would have left, and the constants of the network

template <class Books>
class vector_program {
 public:
  explicit vector_program(const json& c)
      : c_(c), k_(c.at("constants")), ranks_(c.at("ranks").get<std::size_t>()), books_(ranks_) {
    static const std::set<std::string> known = {"send",       "isend",    "issend",       "ssend",    "irecv",    "recv",
                                                "recv_rdv",   "wait",     "waitall",      "barrier",  "nxn",      "fence",
                                                "bcast_root", "bcast",    "reduce_root",  "reduce",   "scan",     "win_post",
                                                "win_start",  "win_wait", "win_complete", "sem_post", "sem_wait", "icoll"};
    for (const json& e : c_.at("events")) {
      const std::string kind = e.at("kind");
      if (known.count(kind) == 0) throw bad_vector("unknown kind \"" + kind + "\"");
      const place here{e.at("rank"), e.at("i")};
      if (here.first >= ranks_)
        throw bad_vector("malformed: rank " + std::to_string(here.first) + " of " + std::to_string(ranks_));
      if (!at_.emplace(here, &e).second) throw bad_vector("malformed: two records for " + name(e));
      if (e.contains("coll")) together_[e["coll"]].push_back(&e);
    }
    for (const json& e : c_["events"]) {
      const place here{e["rank"], e["i"]};
      const ns wait = e.at("e").get<ns>() - e.at("b").get<ns>() - e.at("c").get<ns>();
      same<Books>("w of " + name(e), wait, e.at("expect").at("w_measured"));
      calls_[here] = books_.add({here.first, e["b"], wait, e["e"], e.at("ovh"), entry(e), e.contains("reqs")});
      ready_[here] = e["b"].get<ns>() + entry(e);
    }
    for (const json& e : c_["events"]) connect(e);
    for (auto& one : together_) connect_all(one.second);
    for (const json& e : c_["events"])
      require(ready_[{e["rank"], e["i"]}] == call_ready(e), "what " + name(e) + " needed does not explain its measured wait");
    for (std::size_t r = 0; r != ranks_; ++r) books_.close(r, c_.at("t_end").at(r), c_.at("tail_ovh").at(r));
    books_.run();
  }

  void check() {
    std::map<std::size_t, ns> waits;
    ns all = 0;
    for (const json& e : c_["events"]) {
      const call_id call = call_of(e);
      same<Books>("w' of " + name(e), books_.wait(call), e["expect"].at("w_prime"));
      same<Books>("x after " + name(e), books_.delay(call), e["expect"].at("x_end"));
      require(books_.exact(call), std::string(name_of_books<Books>()) + ": " + name(e) + " is not exact");
      require(books_.bounded(call),
              std::string(name_of_books<Books>()) + ": the delay after " + name(e) + " is above its bound");
      waits[e["rank"]] += books_.wait(call);
      all += e["expect"]["w_prime"].get<ns>();
    }
    const json& expected = c_.at("expected");
    for (std::size_t r = 0; r != ranks_; ++r) {
      same<Books>("final x of rank " + std::to_string(r), books_.final_delay(r), expected.at("x_final").at(r));
      same<Books>("wait of rank " + std::to_string(r), waits[r], expected.at("wait_true").at(r));
    }
    same<Books>("total", books_.total(), expected.at("total_true"));
    check_sum(books_, all);
  }

 private:
  using place = std::pair<std::size_t, std::size_t>;

  static void check_sum(const ledger_books&, ns) {}
  // The waits that the report adds up include those of calls that were not blocked when they were measured.
  static void check_sum(const clock_books& b, ns all) { same<Books>("sum of all waits", b.all_waits(), all); }

  static std::string name(const json& e) {
    return e.at("kind").get<std::string>() + " " + e.at("rank").dump() + "." + e.at("i").dump();
  }
  ns constant(const char* name) const { return k_.at(name); }
  static place place_of(const json& pair) { return {pair.at(0), pair.at(1)}; }
  const json& record(const json& pair) const {
    const auto found = at_.find(place_of(pair));
    if (found == at_.end()) throw bad_vector("malformed: no record " + pair.dump());
    return *found->second;
  }
  static ns begin_ns(const json& e) { return e.at("b"); }
  static ns end_ns(const json& e) { return e.at("e"); }
  call_id call_of(const json& e) const { return calls_.at({e.at("rank"), e.at("i")}); }
  ns call_ready(const json& e) const { return e.at("e").get<ns>() - e.at("c").get<ns>() + entry(e); }
  // What a call takes on its own before it can be blocked: a synchronous send its request, a receive that is pushed by
  // its sender's Wait the handshake.
  ns entry(const json& e) const {
    if (e.at("kind") == "ssend") return constant("o_s") + constant("L");
    return e["kind"] == "recv_rdv" && pushed(record(e.at("match"))) ? constant("L") : 0;
  }
  bool pushed(const json& send) const { return !k_.at("async_progress").get<bool>() && send.at("kind") == "issend"; }

  void needs(const json& e, point from, ns at, ns cost = 0) {
    books_.needs(end_of(call_of(e)), from, at, cost);
    note(e, at);
  }
  void note(const json& e, ns at) {
    ns& ready = ready_[{e.at("rank"), e.at("i")}];
    ready = std::max(ready, at);
  }

  // When an eager message that left at the end of its send is there; what the tool put on it counts.
  ns arrival(const json& send) const { return end_ns(send) + constant("L") + constant("d_msg"); }

  // End of the rendezvous of two postings, which is the match and then the transfer.
  struct transfer {
    point event;
    ns at = 0;
  };
  transfer match(const json& send, ns posted, const json& post) {
    const place key{send["rank"], send["i"]};
    const auto known = matches_.find(key);
    if (known != matches_.end()) return known->second;
    const ns sent = send["b"].get<ns>() + constant("o_s") + constant("L") + constant("d_msg");
    const point m = books_.junction();
    books_.needs(m, begin_of(call_of(send)), sent, constant("d_msg"));
    books_.needs(m, begin_of(call_of(post)), posted);
    transfer t{m, std::max(sent, posted)};
    // Without asynchronous progress the payload leaves when the sender is inside MPI again.
    if (pushed(send)) {
      const json& wait = waiting_for(send);
      const point p = books_.junction();
      books_.needs(p, m, t.at + constant("L"));
      books_.needs(p, begin_of(call_of(wait)), wait["b"]);
      t = {p, std::max(t.at + constant("L"), wait["b"].get<ns>())};
    }
    return matches_[key] = t;
  }
  // How long after the transfer's event the payload could leave.
  ns handshake(const json& send) const { return pushed(send) ? 0 : constant("L"); }
  const json& waiting_for(const json& send) const {
    for (const json& e : c_["events"]) {
      if (e["rank"] != send["rank"] || !e.contains("reqs")) continue;
      for (const json& q : e["reqs"])
        if (q.at("op") == "send" && q.at("match").at(1) == send["i"]) return e;
    }
    throw bad_vector("malformed: no call waited for " + name(send));
  }

  // A nonblocking collective is over a fixed time after the last start. How long that takes is what the first blocked
  // member that waited for nothing else measured; if there is none, the constant of the network.
  transfer collective(const std::string& id) {
    const auto known = started_.find(id);
    if (known != started_.end()) return known->second;
    const auto starts = together_.find(id);
    if (starts == together_.end()) throw bad_vector("malformed: no start of the collective " + id);
    const point all = books_.junction();
    ns last_begin = 0, over = 0;
    for (const json* s : starts->second) {
      books_.needs(all, begin_of(call_of(*s)), (*s)["b"]);
      last_begin = std::max(last_begin, (*s)["b"].get<ns>());
      over = std::max(over, (*s)["e"].get<ns>() + constant("C"));
    }
    for (const json& e : c_["events"]) {
      if (!e.contains("reqs") || e["reqs"].size() != 1 || call_ready(e) <= e["b"].get<ns>()) continue;
      if (is_collective(e["reqs"][0]) && collective_of(e["reqs"][0]) == id) over = call_ready(e);
    }
    if (over < last_begin) throw bad_vector("malformed: the collective " + id + " is over before its last start");
    return started_[id] = {all, over};
  }
  static bool is_collective(const json& request) { return request.at("op") == "icoll" || request["op"] == "coll"; }
  std::string collective_of(const json& request) const {
    const json& id =
        request.contains("coll") ? request["coll"] : record(request.at(request.contains("post") ? "post" : "match")).at("coll");
    return id.get<std::string>();
  }

  void connect(const json& e) {
    const std::string kind = e["kind"];
    const ns L = constant("L");
    if (kind == "recv") {
      const json& send = record(e.at("match"));
      needs(e, begin_of(call_of(send)), arrival(send), constant("d_msg"));
    } else if (kind == "recv_rdv") {
      const json& send = record(e.at("match"));
      const transfer t = match(send, e["b"], e);
      needs(e, t.event, t.at);
      if (send["kind"] == "ssend") needs(send, t.event, t.at);
    } else if (kind == "wait" || kind == "waitall") {
      for (const json& q : e.at("reqs")) request(e, q);
    } else if (kind == "win_start" || kind == "win_complete") {
      for (const json& p : e.at("posts")) needs(e, begin_of(call_of(record(p))), begin_ns(record(p)) + L);
    } else if (kind == "win_wait") {
      for (const json& p : e.at("cmpls")) needs(e, end_of(call_of(record(p))), end_ns(record(p)) + L);
    } else if (kind == "sem_wait") {
      needs(e, begin_of(call_of(record(e.at("match")))), record(e["match"])["b"]);
    }
  }

  void request(const json& e, const json& q) {
    const std::string op = q.at("op");
    if (is_collective(q)) {
      const transfer t = collective(collective_of(q));
      return needs(e, t.event, t.at);
    }
    if (op != "recv" && op != "send") throw bad_vector("unknown kind of request \"" + op + "\"");
    const json& send = record(q.at("match"));
    const bool receives = op == "recv";
    if (!q.at("sync").get<bool>()) {
      if (receives) needs(e, begin_of(call_of(send)), arrival(send), constant("d_msg"));
      return;
    }
    const json& post = record(q.at("post"));
    const transfer t = match(send, post["b"], post);
    const ns payload = t.at + handshake(send);
    needs(e, t.event, payload + (receives ? constant("L") : 0) + constant("beta") * q.at("size").get<ns>());
  }

  void connect_all(const std::vector<const json*>& all) {
    const std::string kind = (*all[0])["kind"];
    if (kind == "icoll") return;  // connected by the calls that complete it
    if (kind == "barrier" || kind == "nxn" || kind == "fence") {
      std::vector<call_id> calls;
      ns latest = 0;
      for (const json* e : all) {
        calls.push_back(call_of(*e));
        latest = std::max(latest, (*e)["b"].get<ns>());
      }
      for (const json* e : all) note(*e, latest);
      return books_.synchronise(kind == "nxn" ? together::all_to_all : together::barrier, calls);
    }
    const ns L = constant("L");
    const auto there = [L](const json* e) { return (*e)["b"].get<ns>() + L; };
    const json* root = nullptr;
    std::vector<const json*> in_order = all;
    std::sort(in_order.begin(), in_order.end(),
              [](const json* a, const json* b) { return (*a)["rank"].get<int>() < (*b)["rank"].get<int>(); });
    std::vector<call_id> calls;
    std::vector<contribution> from;
    for (const json* e : in_order) {
      const std::string k = (*e)["kind"];
      if (k == "bcast_root" || k == "reduce_root") {
        root = e;
        continue;
      }
      calls.push_back(call_of(*e));
      from.push_back({call_of(*e), there(e)});
    }
    if (kind == "scan") {
      for (std::size_t i = 0; i != in_order.size(); ++i)
        for (std::size_t j = 0; j != i; ++j) note(*in_order[i], there(in_order[j]));
      return books_.prefix(from);
    }
    if (root == nullptr) throw bad_vector("malformed: a collective without its root");
    if (kind == "bcast" || kind == "bcast_root") {
      for (const json* e : in_order)
        if (e != root) note(*e, there(root));
      return books_.one_to_all({call_of(*root), there(root)}, calls);
    }
    for (const json* e : in_order)
      if (e != root) note(*root, there(e));
    books_.all_to_one(call_of(*root), from);
  }

  const json& c_;
  const json& k_;
  std::size_t ranks_;
  Books books_;
  std::map<place, call_id> calls_;
  std::map<place, const json*> at_;
  std::map<place, ns> ready_;  ///< when the last of what a call needed was there
  std::map<std::string, std::vector<const json*>> together_;
  std::map<place, transfer> matches_;
  std::map<std::string, transfer> started_;
};

// Through what a vector went. Latencies are always written as messages over ranks of their own.
void count_event(const std::string& kind) {
  count("events through delay_ledger", kind);
  count(as_recorded.count(kind) != 0 ? "events through the virtual clocks, as MPI records them"
                                     : "events through the virtual clocks, written as messages",
        kind);
}
void count_program(const json& v) {
  static const std::set<std::string> recorded = {"send",  "isend",      "irecv",  "recv",        "barrier", "nxn",
                                                 "bcast", "bcast_root", "reduce", "reduce_root", "scan"};
  count("programs through delay_ledger and the virtual clocks", "program");
  for (const json& e : v.at("events")) {
    const std::string kind = e.at("kind");
    bool eager = kind == "wait" || kind == "waitall";
    if (eager)
      for (const json& q : e.at("reqs")) eager = eager && q.contains("sync") && !q["sync"].get<bool>();
    count(eager || recorded.count(kind) != 0 ? "calls in them, as MPI records them" : "calls in them, written as messages",
          kind);
  }
}

}  // namespace

TEST_CASE("every overhead vector comes out to the nanosecond, in delay_ledger and in the virtual clocks of a run") {
  oracles::each(overhead_topic, [](const json& v) {
    const std::string level = v.at("level");
    if (level == "event") {
      const std::string kind = v.at("case");
      const json &in = v.at("inputs"), &expected = v.at("expected");
      check_event<ledger_books>(kind, in, expected);
      check_event<clock_books>(kind, in, expected);
      count_event(kind);
    } else if (level == "program") {
      vector_program<ledger_books>(v).check();
      vector_program<clock_books>(v).check();
      count_program(v);
    } else {
      throw bad_vector("unknown level \"" + level + "\"");
    }
  });
}

}  // namespace overhead_vectors
