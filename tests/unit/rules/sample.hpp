#ifndef WHYWAIT_TESTS_UNIT_RULES_SAMPLE_HPP
#define WHYWAIT_TESTS_UNIT_RULES_SAMPLE_HPP

#include <whywait/base/vector.hpp>
#include <whywait/rules/advice.hpp>
#include <whywait/rules/extend.hpp>

#include <cstdint>
#include <string>
#include <utility>

// Hand-written outcomes and shorthands for the tests of the rules.
namespace sample {

namespace base = whywait::base;
namespace rules = whywait::rules;
namespace explain = whywait::explain;
namespace core = whywait::core;

constexpr std::int64_t ms = 1000000;

/// The rule of the Performance Expert paper (figure 6), verbatim.
inline const char* paper_rule() {
  return R"(declare problem for point_to_point
  when
    send_start_time > recv_wait_start_time
  parameters (
    name = "Поздняя посылка сообщения",
    description = "Функция посылки сообщения вызывается
                   позднее функции приема. Из-за этого блокирующая
                   функция приема вынуждена простаивать.",
    advice = "Улучшить синхронизацию приемов и передач
              сообщений, отправляя сообщения по
              возможности раньше, или
              использовать неблокирующие функции приема.",
    duration = send_start_time - recv_wait_start_time);
)";
}

enum key : core::stable_key { recv = 1, send, compute, pack, barrier, allreduce, waitall, update, between };

inline whywait::base::names names() {
  whywait::base::names out;
  const auto call = [&out](key k, const char* name, const char* region, const char* file, int line) {
    whywait::base::place p;
    p.call = name, p.region = region, p.file = file, p.line = line;
    out.add(k, p);
  };
  const auto block = [&out](key k, const char* name) {
    whywait::base::place p;
    p.name = name, p.kind = "region";
    out.add(k, p);
  };
  call(recv, "MPI_Recv", "main/calculate", "src/halo.cpp", 142);
  call(send, "MPI_Send", "main/calculate", "src/halo.cpp", 131);
  call(barrier, "MPI_Barrier", "main", "main.cpp", 30);
  call(allreduce, "MPI_Allreduce", "main/norm", "main.cpp", 44);
  call(waitall, "MPI_Waitall", "main/calculate", "src/halo.cpp", 20);
  block(compute, "compute_interior");
  block(pack, "pack_halo");
  block(update, "update");
  return out;
}

/// One residual term, from what both sides ran.
inline explain::residual_term term(core::stable_key block, std::int64_t more_ms, std::int64_t slower_ms,
                                   std::int64_t late_visits, std::int64_t waiting_visits, std::int64_t late_ms = 0,
                                   std::int64_t waiting_ms = 0) {
  explain::residual_term t;
  t.block = block;
  t.visits_ns = more_ms * ms;
  t.speed_ns = slower_ms * ms;
  t.total_ns = t.visits_ns + t.speed_ns;
  t.causer_visits = late_visits;
  t.waiter_visits = waiting_visits;
  t.causer_ns = late_ms * ms;
  t.waiter_ns = waiting_ms * ms;
  return t;
}

/// Ranks 1 to 3 wait for rank 0; the residual adds up to the wait.
inline explain::explanation wait(explain::pattern why, key operation, key cause,
                                 whywait::base::vector<explain::residual_term> residual, std::int64_t unexplained_ms = 0) {
  explain::explanation e;
  e.why = why;
  e.operation = operation;
  e.cause = cause;
  e.count = 100;
  e.unexplained_ns = unexplained_ms * ms;
  e.wait_ns = e.unexplained_ns;
  for (const auto& t : residual) e.wait_ns += t.total_ns;
  e.longest_ns = e.wait_ns / 50;
  e.residual = std::move(residual);
  e.waiters = {{1, 0, e.wait_ns / 3}, {2, 0, e.wait_ns / 3}, {3, 0, e.wait_ns / 3}};
  e.causers = {{0, 0, e.wait_ns}};
  return e;
}

/// Four ranks, 10 s each.
inline explain::outcome outcome(whywait::base::vector<explain::explanation> waits) {
  explain::outcome o;
  o.locations = 4;
  o.longest_ns = 10000 * ms;
  o.location_ns = 40000 * ms;
  for (const auto& e : waits) o.waiting_ns += e.wait_ns;
  o.waits = std::move(waits);
  return o;
}

/// The built-in knowledge base and `more`.
inline rules::knowledge knowledge(const std::string& more = {}) {
  rules::compiler all;
  rules::add_base(all);
  if (!more.empty()) all.add("more.rules", more);
  return all.finish();
}

inline rules::evaluation evaluate(const explain::outcome& o, const std::string& more = {}) {
  const rules::knowledge k = knowledge(more);
  return rules::evaluate(k, o, 4, names());
}

/// Evaluates with additional facts from `fill(store)`.
template <class Fill>
rules::evaluation evaluate_with(const explain::outcome& o, const Fill& fill, const std::string& more = {}) {
  const rules::knowledge k = knowledge(more);
  return rules::evaluate(k, o, 4, names(), {},
                         [&](rules::event_store& store, rules::trouble&, auto& facts) { fill(store, facts); });
}

inline const rules::finding* find(const whywait::base::vector<rules::finding>& list, const std::string& problem) {
  for (const rules::finding& f : list)
    if (f.problem == problem) return &f;
  return nullptr;
}

/// The diagnostics of a text, one per line.
inline std::string messages(const std::string& text, bool base = true) {
  rules::compiler all;
  if (base) rules::add_base(all);
  all.add("my.rules", text);
  std::string out;
  const rules::knowledge k = all.finish();
  for (const rules::diagnostic& d : k.log.list()) out += d.text() + "\n";
  return out;
}

/// The value of an expression in a problem's advice, or the diagnostics.
inline std::string value(const std::string& expression) {
  rules::compiler all;
  all.add("my.rules", "declare problem for run parameters (name = \"x\", duration = 1 s, advice = \"{" + expression + "}\");");
  const rules::knowledge k = all.finish();
  std::string out;
  for (const rules::diagnostic& d : k.log.list()) out += d.text() + "\n";
  if (!out.empty()) return out;
  rules::event_store store(k);
  rules::row_writer(store, "run").set("ranks", 4).set("duration", 0.0025);
  const rules::findings f = rules::evaluator(store).evaluate();
  if (!f.troubles.empty()) return "R0" + std::to_string(static_cast<int>(f.troubles[0].number));
  return f.list.empty() ? "nothing" : f.list[0].advice;
}

}  // namespace sample

#endif
