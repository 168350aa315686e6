#ifndef WHYWAIT_REPORT_MAPS_JSON_HPP
#define WHYWAIT_REPORT_MAPS_JSON_HPP

#include <whywait/base/units.hpp>
#include <whywait/explain/rank_rows.hpp>
#include <whywait/report/json_place.hpp>
#include <whywait/report/maps.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Writes the bins of one series: a list for each row of ranks.
template <class Writer>
void write_series(Writer& out, const char* name, const explain::run_maps& maps, std::size_t series, std::size_t bins) {
  out.key(name).begin_array();
  for (std::size_t row = 0; row != maps.rows(); ++row) {
    const explain::time_bins& ns = maps.at(static_cast<std::int32_t>(row), series);
    out.begin_row();
    for (std::size_t i = 0; i != bins; ++i) out.value(base::seconds_of(ns[i]));
    out.end_array();
  }
  out.end_array();
}

template <class Writer>
void write_pairs(Writer& out, const char* name, const base::pod_vector<explain::row_pair>& all, bool seconds) {
  out.key(name).begin_array();
  for (const explain::row_pair& p : all) {
    out.begin_row().value(p.from).value(p.to).value(p.count);
    if (seconds) out.value(base::seconds_of(p.amount));
    else out.value(p.amount);
    out.end_array();
  }
  out.end_array();
}

/// The number of bins that a map shows.
inline std::size_t bins_of(const explain::run_maps& maps) noexcept {
  std::size_t bins = 0;
  for (const explain::time_bins& b : maps.bins) bins = b.size() > bins ? b.size() : bins;
  return bins;
}

/// Writes the members time_map, rank_matrix, propagation, speeds and balances; empty if nothing was collected.
template <class Writer>
void write_maps(Writer& out, const maps_section& m) {
  const explain::rank_rows rows(m.run.ranks);
  out.key("time_map").begin_object();
  if (m.run.ranks != 0) {
    const std::size_t bins = bins_of(m.run);
    out.member("ranks_per_row", rows.each()).member("rows", rows.count());
    out.member("bin_seconds", base::seconds_of(m.run.width_ns)).member("bins", bins);
    write_series(out, "waiting", m.run, explain::run_maps::waiting, bins);
    write_series(out, "calls", m.run, explain::run_maps::calls, bins);
    write_series(out, "other", m.run, explain::run_maps::other, bins);
    out.key("blocks").begin_array();
    for (std::size_t b = 0; b != m.blocks.size(); ++b) {
      write_block(out, m.blocks[b]);
      write_series(out, "seconds", m.run, explain::run_maps::first_block + b, bins);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object().key("rank_matrix").begin_object();
  if (m.run.ranks != 0) {
    out.member("ranks_per_row", rows.each()).member("rows", rows.count());
    write_pairs(out, "messages", m.run.messages, false);
    write_pairs(out, "waits", m.run.waits, true);
  }
  out.end_object().key("propagation").begin_array();
  for (const wait_link& l : m.links) {
    out.begin_object().member("wait", l.wait).member("through", l.through);
    out.member("count", l.count).member("seconds", l.seconds).end_object();
  }
  out.end_array().key("speeds").begin_array();
  for (const speed_entry& s : m.speeds) {
    if (s.network) out.begin_object().member("network", true);
    else write_block(out, s);
    out.key("answers").begin_array();
    for (const speed_answer& a : s.answers)
      out.begin_object()
          .member("factor", a.factor)
          .member("seconds", a.seconds)
          .member("saving_seconds", a.saving_seconds)
          .end_object();
    out.end_array().end_object();
  }
  out.end_array().key("balances").begin_array();
  for (const balance_entry& b : m.balances) {
    write_block(out, b);
    if (b.unmarked) out.member("unmarked", true);
    out.member("rank", b.rank).member("among", b.among);
    if (b.thread != 0) out.member("thread", b.thread);
    out.member("seconds", b.seconds).member("saving_seconds", b.saving_seconds).end_object();
  }
  out.end_array();
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
