#ifndef WHYWAIT_COMPARISON_COMPARE_JSON_HPP
#define WHYWAIT_COMPARISON_COMPARE_JSON_HPP

#include <whywait/comparison/compare_words.hpp>
#include <whywait/report/json_place.hpp>
#include <whywait/report/json_writer.hpp>

#include <cstddef>
#include <string>

namespace whywait {
inline namespace v0 {
namespace comparison {
namespace detail {

template <class Writer>
void write_difference(Writer& out, const difference& d) {
  out.member("before", d.before).member("after", d.after).member("deviation", d.deviation).member("probability", d.probability);
}

template <class Writer>
void write_block_change(Writer& out, const block_change& b, bool of_explanation) {
  reports::detail::write_block(out, b.block);
  write_difference(out, b.seconds);
  if (of_explanation) out.member("visits_seconds", b.by_visits).member("speed_seconds", b.by_speed);
  else out.member("visits_before", b.visits_before).member("visits_after", b.visits_after).member("change", name_of(b.what));
  out.end_object();
}

}  // namespace detail

/// The comparison as docs/schema_compare.json describes it. Times in seconds; of waits, per rank.
inline std::string json_of(const changes& c) {
  using namespace detail;
  std::string text;
  const auto sink = [&text](const char* data, std::size_t size) { text.append(data, size); };
  reports::json_writer out(sink);
  out.begin_object().member("schema", "whywait-compare/1").member("outcome", outcome_word(c)).member("worse", c.worse());
  out.member("runs_before", c.runs_before).member("runs_after", c.runs_after);
  out.member("ranks_before", c.ranks_before).member("ranks_after", c.ranks_after);
  out.member("at_least", c.at_least).member("chance", c.noise.chance).member("least_seen_seconds", c.least_seen);
  out.key("text").begin_array();
  for (const std::string& s : sentences(c)) out.value(s);
  out.end_array().key("figures").begin_array();
  for (const figure& f : c.figures) {
    out.begin_object().member("name", f.name).member("is_time", f.is_time).member("change", name_of(f.what));
    write_difference(out, f.values);
    out.end_object();
  }
  out.end_array().key("waits").begin_array();
  for (const wait_change& w : c.waits) {
    out.begin_object().member("pattern", w.wait.pattern).member("change", name_of(w.what));
    reports::detail::write_place(out, "operation", w.wait.operation);
    reports::detail::write_place(out, "cause", w.wait.cause);
    write_difference(out, w.seconds);
    out.member("count_before", w.count_before).member("count_after", w.count_after);
    if (w.rank >= 0) out.member("rank", w.rank);
    out.key("why").begin_array();
    for (const block_change& b : w.why) write_block_change(out, b, true);
    out.end_array().end_object();
  }
  out.end_array().member("same_waits", c.same_waits);
  for (const auto& [name, list] : {std::pair<const char*, const std::vector<block_change>*>{"critical_path", &c.path},
                                   {"wall_time_causes", &c.path_causes}}) {
    out.key(name).begin_array();
    for (const block_change& b : *list) write_block_change(out, b, false);
    out.end_array();
  }
  out.key("savings").begin_array();
  for (const saving_check& s : c.savings) {
    out.begin_object().member("text", s.predicted.text).member("question", s.question);
    out.member("predicted_seconds", s.predicted.seconds)
        .member("low_seconds", s.predicted.low)
        .member("high_seconds", s.predicted.high);
    out.member("real_seconds", s.real_seconds);
    if (s.question) out.member("within", s.within);
    else out.member("followed", s.followed);
    out.end_object();
  }
  out.end_array().key("notes").begin_array();
  for (const std::string& n : c.notes) out.value(n);
  out.end_array().end_object();
  return text;
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
