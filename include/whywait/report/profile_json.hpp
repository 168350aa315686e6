#ifndef WHYWAIT_REPORT_PROFILE_JSON_HPP
#define WHYWAIT_REPORT_PROFILE_JSON_HPP

#include <whywait/base/vector.hpp>
#include <whywait/report/json_place.hpp>
#include <whywait/report/profile.hpp>
#include <whywait/report/run_origin.hpp>
#include <whywait/report/section.hpp>

#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Writes the members of "run" about the program.
inline void write_origin(json_document& out, const run_origin& o) {
  out.member("program", o.program).key("arguments").begin_array();
  for (const std::string& word : o.arguments) out.value(word);
  out.end_array();
  out.member("host", o.host).member("nodes", o.nodes).member("date", o.date);
  out.member("whywait", o.version).member("compiler", o.compiler);
}

inline void write_region(json_document& out, const region_entry& r) {
  out.begin_object().member("region", r.where.name).member("kind", r.where.kind);
  out.member("file", r.where.file).member("line", r.where.line);
  if (!r.where.function.empty()) out.member("function", r.where.function);
  out.member("visits", r.visits).member("ranks", r.ranks).member("threads", r.threads);
  const auto ranks = static_cast<double>(r.ranks);
  out.member("min_seconds", r.min_seconds).member("mean_seconds", r.ranks > 0 ? r.seconds / ranks : 0);
  out.member("max_seconds", r.max_seconds).member("min_rank", r.min_rank).member("max_rank", r.max_rank);
  out.member("own_seconds", r.own_seconds).member("mpi_seconds", r.mpi_seconds).member("work", r.work);
  if (r.recursive) out.member("recursive", true);
  if (r.efficiency)
    out.key("efficiency")
        .begin_object()
        .member("parallel", r.efficiency->parallel)
        .member("load_balance", r.efficiency->load_balance)
        .member("communication", r.efficiency->communication)
        .end_object();
  out.end_object();
}

inline void write_traffic(json_document& out, const traffic_entry& t) {
  out.begin_object();
  write_place_members(out, t.where, true);
  out.member("operation", t.operation).member("peers", t.peers).member("ranks", t.ranks).member("count", t.count);
  out.member("seconds", t.seconds);
  const std::string operation = t.operation;
  if (operation != "receive") {  // how much was received is not known
    out.member("bytes", t.bytes).member("least_bytes", t.least_bytes).member("most_bytes", t.most_bytes);
    out.key("sizes").begin_array();
    for (const size_class& s : t.sizes)
      out.begin_object().member("least_bytes", s.least_bytes).member("count", s.count).member("bytes", s.bytes).end_object();
    out.end_array();
  }
  out.end_object();
}

/// Writes the members "regions", "messages" and "ranks" of the document; the last one without numbers unless `by_rank`.
inline void write_profile(json_document& out, const profile& p, bool by_rank) {
  out.key("regions").begin_array();
  for (const region_entry& r : p.regions) write_region(out, r);
  out.end_array().key("messages").begin_array();
  for (const traffic_entry& t : p.messages) write_traffic(out, t);
  out.end_array();
  // By columns: with 65,536 ranks a third of the size.
  out.key("ranks").begin_object().key("hosts").begin_array();
  if (by_rank)
    for (const std::string& host : p.hosts) out.value(host);
  out.end_array();
  const auto column = [&out, &p, by_rank](const char* name, auto rank_entry::*member) {
    out.key(name).begin_array();
    if (by_rank)
      for (const rank_entry& r : p.ranks) out.value(r.*member);
    out.end_array();
  };
  column("host", &rank_entry::node);
  column("seconds", &rank_entry::seconds);
  column("mpi_seconds", &rank_entry::mpi_seconds);
  column("waiting_seconds", &rank_entry::waiting_seconds);
  out.end_object();
  if (p.omitted_regions > 0) out.member("omitted_regions", p.omitted_regions);
  if (p.omitted_messages > 0) out.member("omitted_messages", p.omitted_messages);
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
