#ifndef WHYWAIT_FINALIZE_TIMELINE_FILE_HPP
#define WHYWAIT_FINALIZE_TIMELINE_FILE_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/finalize/epochs.hpp>
#include <whywait/finalize/naming.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/output_file.hpp>
#include <whywait/report/trace_json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// The timeline of this rank as it is written, and what all ranks agreed on about it.
struct final_timeline {
  base::pod_vector<reports::trace_slice> slices;
  base::pod_vector<reports::trace_wait> waits;  ///< the slices of waits have their numbers
  base::pod_vector<core::stable_key> keys;
  std::uint32_t locations = 0;
  std::int64_t origin_ns = 0;         ///< the first begin of all ranks
  std::int64_t least_ns = 0;          ///< shorter slices are left out on all ranks
  std::uint64_t left_out = 0, lost = 0;  ///< of all ranks: too short; not kept while the program ran
  explain::outcome meanings;          ///< on rank 0: only the meanings of blocks
  base::names names;                  ///< on rank 0

  /// What is missing, in one sentence; empty if nothing is.
  std::string missing() const {
    std::string text;
    if (left_out != 0)
      text = base::counted(static_cast<std::int64_t>(left_out), "interval") + " shorter than " +
             base::duration(base::seconds_of(least_ns), 2) + " are left out of the timeline to keep it readable";
    if (lost != 0)
      text += (text.empty() ? "the timeline lacks " : "; it lacks ") + base::counted(static_cast<std::int64_t>(lost), "event") +
              " for lack of memory: increase the size in WHYWAIT_TIMELINE";
    return text;
  }
};

/// The most lines of a file of all ranks, about 150 bytes each; an interval is one, a wait with its arrow is three.
constexpr std::int64_t most_trace_lines = 1'000'000;

/// Ends the recording of the timeline and names what is in it. If there is more than fits into a file, the shortest intervals of
/// all ranks are left out, below one duration for all. Collective.
inline final_timeline finish_timeline(mpi::state& process, epoch& now) {
  final_timeline out;
  timeline_store& store = *now.so_far().timeline;
  const finalize::team& all = now.team();
  out.slices = store.take(*process.registry, now.records().history);
  out.waits = store.waits();
  out.locations = static_cast<std::uint32_t>(now.records().history.locations.size());
  reports::duration_histogram lines;
  std::int64_t origin = INT64_MIN;  // negated, for MPI_MAX
  for (const reports::trace_slice& s : out.slices) {
    lines.add(s);
    origin = std::max(origin, -s.begin_ns);
  }
  all.all_reduce(lines.lines, reports::duration_histogram::steps, MPI_INT64_T, MPI_SUM);
  all.all_reduce(&origin, 1, MPI_INT64_T, MPI_MAX);
  out.origin_ns = origin == INT64_MIN ? 0 : -origin;
  out.least_ns = lines.least_duration(most_trace_lines);
  const std::size_t before = out.slices.size();
  std::size_t kept = 0;
  for (const reports::trace_slice& s : out.slices)
    if (s.end_ns - s.begin_ns >= out.least_ns) out.slices[kept++] = s;
  out.slices.erase(out.slices.begin() + static_cast<std::ptrdiff_t>(kept), out.slices.end());
  std::uint64_t counts[] = {before - out.slices.size(), store.lost()};
  all.all_reduce(counts, 2, MPI_UINT64_T, MPI_SUM);
  out.left_out = counts[0];
  out.lost = counts[1];

  // names: of the keys of all ranks, and of those that derived blocks consist of
  out.keys = store.keys();
  base::vector<explain::block_meaning> meanings = now.so_far().memory.blocks.meanings();
  const auto join_meanings = [&meanings] {
    base::sort_and_join(
        meanings, [](const explain::block_meaning& a, const explain::block_meaning& b) { return a.key < b.key; },
        [](explain::block_meaning&, const explain::block_meaning&) {});
  };
  base::pod_vector<core::stable_key> keys = out.keys;
  for (const explain::block_meaning& m : meanings)
    for (const core::stable_key part : {m.first, m.second}) keys.push_back(part);
  const auto join_keys = [&keys] { base::sort_and_unique(keys); };
  join_meanings();
  join_keys();
  all.reduce_list(meanings, join_meanings);
  all.reduce_list(keys, join_keys);
  base::vector<core::stable_key> wanted;
  for (const core::stable_key key : keys) wanted.push_back(key);
  out.names = gather_names(std::move(wanted), now.names(), all);
  out.meanings.meanings = std::move(meanings);
  return out;
}

namespace detail {

inline base::packet packed(const final_timeline& of, bool slices) {
  base::packet out;
  base::put(out, of.locations);
  base::put_all(out, of.waits);
  if (!slices) return out;
  base::put_all(out, of.slices);
  base::put_all(out, of.keys);
  return out;
}

}  // namespace detail

/// Writes the timelines of all ranks to one file in the Trace Event Format, on rank 0, which holds the part of one other rank
/// at a time. Returns what went wrong, or an empty text. Collective.
inline std::string write_trace(const final_timeline& own, const std::string& path, const std::string& program,
                               const finalize::team& all) {
  const reports::detail::name_resolver names(own.meanings, own.names);
  reports::output_file file(path);
  const auto sink = [&file](const std::string& text) { file.write(text.data(), text.size()); };
  reports::trace_json_writer out(sink, names, own.origin_ns, program, own.missing());
  const auto part = [&](std::int32_t rank, const final_timeline& t, bool slices) {
    if (!slices) return out.arrows(rank, t.waits);
    out.rank(rank, t.locations);
    out.slices(t.slices, t.waits, t.keys);
  };
  for (const bool slices : {true, false}) {  // arrows come last
    const base::packet mine = all.rank() != 0 ? detail::packed(own, slices) : base::packet();
    if (all.rank() == 0) part(0, own, slices);
    std::int32_t rank = 0;
    all.gather(mine.data(), mine.size(), [&](const unsigned char* data, std::size_t size) {
      final_timeline t;
      base::packet_reader in(data, size);
      t.locations = in.get<std::uint32_t>();
      base::get_all(in, t.waits);
      if (slices) {
        base::get_all(in, t.slices);
        base::get_all(in, t.keys);
      }
      part(++rank, t, slices);
    });
  }
  if (all.rank() != 0) return {};
  out.end();
  return file.commit();
}

/// Writes the timeline in another format, beside the trace; returns a problem on rank 0. Collective.
using timeline_writer = std::string (*)(mpi::state& process, const final_timeline& own, const std::string& prefix,
                                        const finalize::team& all);
namespace detail {
/// Set before main by <whywait/otf2.hpp> if any file includes it.
__attribute__((visibility("default"))) inline timeline_writer writer_of_timeline = nullptr;
}  // namespace detail

/// Writes `prefix`.trace.json, and an archive if <whywait/otf2.hpp> is linked in. What is missing becomes a warning of the report.
/// Collective; `prefix` is read on rank 0.
inline void write_timelines(mpi::state& process, epoch& now, std::string prefix, reports::run_facts& run) {
  const finalize::team& all = now.team();
  all.share(prefix);
  const final_timeline own = finish_timeline(process, now);
  std::string problem = write_trace(own, prefix + ".trace.json", run.origin.program, all);
  if (!problem.empty()) core::warn(problem.c_str());
  const bool other = all.agree(detail::writer_of_timeline == nullptr ? 1 : 0) == 0;  // all ranks have it
  if (other) problem = detail::writer_of_timeline(process, own, prefix, all);
  if (other && !problem.empty()) core::warn(problem.c_str());
  if (all.rank() == 0 && !own.missing().empty()) run.warnings.push_back(own.missing());
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
