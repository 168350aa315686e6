#ifndef WHYWAIT_DATA_REPORT_COMMUNICATION_JSON_HPP
#define WHYWAIT_DATA_REPORT_COMMUNICATION_JSON_HPP

#include <whywait/base/vector.hpp>
#include <whywait/data/report/communication_result.hpp>
#include <whywait/report/json.hpp>

#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace data {
namespace detail {

inline void write_rank_transfers(reports::json_document& out, const char* name, const base::vector<rank_transfers>& all) {
  out.key(name).begin_array();
  for (const rank_transfers& r : all) out.begin_object().member("rank", r.rank).member("count", r.count).end_object();
  out.end_array();
}

template <class Value>
void write_values(reports::json_document& out, const char* name, const base::vector<Value>& all) {
  out.key(name).begin_array();
  for (const Value& v : all) out.value(v);
  out.end_array();
}

inline void write_class(reports::json_document& out, const communication_class& c) {
  out.begin_object().member("data", c.data).member("region", c.region);
  reports::detail::write_place(out, "from", c.from);
  reports::detail::write_place(out, "to", c.to);
  out.member("origin", c.origin).member("why", c.why).member("loop", c.loop);
  out.member("count", c.count).member("bytes", c.bytes).member("seconds", c.seconds).member("wait_seconds", c.wait_seconds);
  out.member("unchanged_count", c.unchanged_count)
      .member("unchanged_bytes", c.unchanged_bytes)
      .member("held_count", c.held_count);
  out.member("read_bytes", c.read_bytes).member("watched_bytes", c.watched_bytes);
  out.member("most_hops", c.most_hops).member("fan_out", c.fan_out).member("pairs", c.pairs);
  write_rank_transfers(out, "senders", c.senders);
  write_rank_transfers(out, "receivers", c.receivers);
  out.key("shares").begin_array();
  for (const origin_share& s : c.shares)
    out.begin_object().member("origin", s.origin).member("name", s.name).member("bytes", s.bytes).end_object();
  out.end_array().key("problems").begin_array();
  for (const communication_problem_entry& p : c.problems) {
    out.begin_object().member("problem", p.problem).member("text", p.text).member("advice", p.advice);
    out.member("count", p.count).member("bytes", p.bytes).member("needless_count", p.needless_count);
    out.member("needless_bytes", p.needless_bytes).member("saving_seconds", p.saving_seconds).end_object();
  }
  out.end_array().end_object();
}

inline void write_placement(reports::json_document& out, const array_placement& a) {
  out.begin_object().member("data", a.data);
  write_values(out, "extent", a.extent);
  out.member("element_bytes", a.element_bytes).member("distribution", a.distribution).member("agreement", a.agreement);
  out.key("uses").begin_array();
  for (const loop_use& u : a.uses) {
    out.begin_object().member("loop", u.loop.name).member("file", u.loop.file).member("line", u.loop.line);
    out.member("schedule", u.schedule).member("agreement", u.agreement).member("access", u.access);
    if (u.remote_share) out.member("remote_share", *u.remote_share);
    out.member("remote_elements_share", u.remote_elements_share);
    if (u.better) {
      out.key("better").begin_object().member("change", u.better->change).member("schedule", u.better->schedule);
      out.member("distribution", u.better->distribution).member("remote_share", u.better->remote_share);
      out.member("moved_bytes", u.better->moved_bytes).member("saving_seconds", u.better->saving_seconds);
      out.member("text", u.better->text).end_object();
    }
    out.end_object();
  }
  out.end_array().end_object();
}

inline void write_sharing(reports::json_document& out, const sharing_entry& s) {
  out.begin_object().member("data", s.data).member("pattern", s.pattern).member("advice", s.advice).member("who", s.who);
  out.member("granules", s.granules).member("first_granule", s.first_granule).member("granule_bytes", s.granule_bytes);
  out.member("granules_watched", s.granules_watched).member("granules_of_array", s.granules_of_array);
  out.member("standard_error", s.standard_error).member("misses", s.misses).key("nodes").begin_array();
  for (const sharing_miss& n : s.nodes) {
    out.begin_object().member("request", n.request).member("invalidation", n.invalidation);
    write_values(out, "writes", n.writes);
    write_values(out, "readers", n.readers);
    write_values(out, "writers", n.writers);
    out.end_object();
  }
  out.end_array().key("transitions").begin_array();
  for (const sharing_transition& t : s.transitions) {
    out.begin_object().member("from", t.from).member("to", t.to).member("count", t.count).member("share", t.share).end_object();
  }
  out.end_array().end_object();
}

}  // namespace detail

/// The members `communication_classes`, `distributions`, `far_pages` and `sharing` of the document.
inline void write_communication(reports::json_document& out, const communication& all) {
  out.key("communication_classes").begin_array();
  for (const communication_class& c : all.classes) detail::write_class(out, c);
  out.end_array().key("distributions").begin_array();
  for (const array_placement& a : all.arrays) detail::write_placement(out, a);
  out.end_array();
  if (!all.facts.far.empty()) {
    out.key("far_pages").begin_array();
    for (const rules::far_data& f : all.facts.far) {
      out.begin_object().member("data", f.data).member("block", f.code).member("rank", f.rank).member("thread", f.thread);
      out.member("node", f.node).member("pages_node", f.pages_node).member("share", f.share).end_object();
    }
    out.end_array();
  }
  out.key("sharing").begin_array();
  for (const sharing_entry& s : all.sharing) detail::write_sharing(out, s);
  out.end_array();
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
