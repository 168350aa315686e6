#ifndef WHYWAIT_DATA_ANALYSIS_EXAMINE_HPP
#define WHYWAIT_DATA_ANALYSIS_EXAMINE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/class_names.hpp>
#include <whywait/data/analysis/footprint.hpp>
#include <whywait/data/analysis/placement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// A distribution (of an array) or schedule (of a block's loop) that the program states; nothing is inferred then.
struct declared_distribution {
  core::stable_key of = 0;
  distribution as;
};

/// Where data is, where it is used, and what would be better.
struct placement_report {
  base::vector<placed_array> arrays;
  base::vector<placed_loop> loops;
  base::vector<array_use> uses;           ///< by remote accesses, falling
  base::vector<better_placement> better;
};

namespace detail {

// Footprints of all ranks for one block and one array (or the iterations of the block).
struct joint_footprint {
  core::stable_key array = 0, block = 0;
  footprint_kind kind = footprint_kind::read;
  bool bounds = false;
  std::uint32_t element_bytes = 1;
  index_space space;
  base::pod_vector<rank_set> sets;
  double elements = 0;
};

inline base::vector<joint_footprint> join_footprints(base::vector<footprint>& all) {
  base::small_stable_sort(all, [](const footprint& a, const footprint& b) {
    if (a.block != b.block) return a.block < b.block;
    if (a.array != b.array) return a.array < b.array;
    return a.kind != b.kind ? a.kind < b.kind : a.rank < b.rank;
  });
  base::vector<joint_footprint> out;
  for (const footprint& f : all) {
    if (out.empty() || out.back().block != f.block || out.back().array != f.array || out.back().kind != f.kind) {
      out.push_back({f.array, f.block, f.kind, false, f.element_bytes, f.space, {}, 0});
    }
    joint_footprint& j = out.back();
    j.bounds = j.bounds || f.bounds;
    for (std::size_t d = 0; d < j.space.extent.size() && d < f.space.extent.size(); ++d) {
      j.space.extent[d] = std::max(j.space.extent[d], f.space.extent[d]);
    }
    j.sets.push_back({f.rank, &f.set});
    j.elements += static_cast<double>(f.set.size());
  }
  return out;
}

inline const distribution* find_declared(const base::vector<declared_distribution>& list, core::stable_key of) {
  for (const declared_distribution& d : list) {
    if (d.of == of) return &d.as;
  }
  return nullptr;
}

}  // namespace detail

/// From the footprints of all ranks to distributions, schedules, access patterns and better placements. An array is
/// distributed as the block writes it that writes most of it on most ranks (owner computes); a loop is scheduled as in its
/// `iterations` records, else as it writes the array of which it writes most. About 1 ms a loop and array. Throws
/// std::bad_alloc.
inline placement_report examine_footprints(base::vector<footprint> all, std::int32_t ranks,
                                           const base::vector<declared_distribution>& declared = {}) {
  placement_report out;
  const base::vector<detail::joint_footprint> joint = detail::join_footprints(all);
  const auto array_of = [&out](core::stable_key key) {
    return static_cast<std::size_t>(
        std::find_if(out.arrays.begin(), out.arrays.end(), [key](const placed_array& a) { return a.array == key; }) -
        out.arrays.begin());
  };
  base::pod_vector<const detail::joint_footprint*> writer;
  for (const detail::joint_footprint& j : joint) {
    if (j.array == 0 || j.kind == footprint_kind::iterations) continue;
    const std::size_t a = array_of(j.array);
    if (a == out.arrays.size()) {
      out.arrays.push_back({j.array, j.space, j.element_bytes, {}, 0});
      writer.push_back(nullptr);
    }
    for (std::size_t d = 0; d < j.space.extent.size() && d < out.arrays[a].space.extent.size(); ++d) {
      out.arrays[a].space.extent[d] = std::max(out.arrays[a].space.extent[d], j.space.extent[d]);
    }
    if (j.kind != footprint_kind::write) continue;
    const auto weight = [](const detail::joint_footprint& f) { return std::make_pair(f.sets.size(), f.elements); };
    if (writer[a] == nullptr || weight(*writer[a]) < weight(j)) writer[a] = &j;
  }
  for (std::size_t a = 0; a != out.arrays.size(); ++a) {
    if (const distribution* const d = detail::find_declared(declared, out.arrays[a].array)) {
      out.arrays[a].placed = *d;
      out.arrays[a].agreement = 1;
    } else if (writer[a] != nullptr) {
      inferred_distribution i = infer_distribution(out.arrays[a].space, writer[a]->sets);
      out.arrays[a].placed = std::move(i.found);
      out.arrays[a].agreement = i.agreement;
    }
  }

  for (std::size_t begin = 0, end = 0; begin != joint.size(); begin = end) {
    while (end != joint.size() && joint[end].block == joint[begin].block) ++end;
    const detail::joint_footprint* runs = nullptr;
    for (std::size_t i = begin; i != end; ++i) {
      const detail::joint_footprint& j = joint[i];
      const bool better = runs == nullptr || (runs->kind != footprint_kind::iterations && runs->elements < j.elements);
      if (j.kind == footprint_kind::iterations || (j.kind == footprint_kind::write && better)) runs = &j;
      if (j.kind == footprint_kind::iterations) break;  // said so: nothing to guess
    }
    if (runs == nullptr) continue;
    placed_loop loop;
    loop.block = joint[begin].block;
    loop.space = runs->space;
    if (runs->array != 0)
      loop.space = out.arrays.size() != array_of(runs->array) ? out.arrays[array_of(runs->array)].space : runs->space;
    if (const distribution* const d = detail::find_declared(declared, loop.block)) {
      loop.schedule = *d;
      loop.agreement = 1;
    } else {
      inferred_distribution i = infer_distribution(loop.space, runs->sets);
      loop.schedule = std::move(i.found);
      loop.agreement = i.agreement;
    }
    for (std::size_t i = begin; i != end; ++i) {
      const detail::joint_footprint& j = joint[i];
      if (j.array == 0 || (j.kind != footprint_kind::read && j.kind != footprint_kind::update)) continue;
      array_use use;
      use.loop = out.loops.size();
      use.array = array_of(j.array);
      const placed_array& a = out.arrays[use.array];
      const bool all_same = j.sets.size() > 1 && std::all_of(j.sets.begin(), j.sets.end(),
                                                             [&](const rank_set& s) { return *s.set == *j.sets[0].set; });
      if (j.kind == footprint_kind::update && all_same) {
        use.access.kind = access_kind::reduction;
      } else if (!j.bounds) {
        base::pod_vector<rank_access> accesses;
        for (const rank_set& touched : j.sets) {
          for (const rank_set& ran : runs->sets) {
            if (ran.rank == touched.rank) accesses.push_back({ran.rank, ran.set, touched.set});
          }
        }
        use.access = infer_access(loop.space, a.space, std::move(accesses));
      }
      if (use.access.has_function() && a.placed.known() && loop.schedule.known()) {
        use.remote = count_remote(a.placed, loop.schedule, use.access, loop.space, a.space);
      }
      double there = 0, elements = 0;
      for (const rank_set& s : j.sets) {
        double hits = 0, tries = 0;
        s.set->sample(detail::most_samples, [&](std::uint64_t e) {
          const std::int32_t owner = a.placed.known() ? a.placed.owner(e) : distribution::nobody;
          hits += owner != distribution::nobody && owner != s.rank ? 1 : 0;
          ++tries;
        });
        there += tries != 0 ? hits / tries * static_cast<double>(s.set->size()) : 0;
        elements += static_cast<double>(s.set->size());
      }
      use.measured_remote = elements != 0 ? there / elements : 0;
      out.uses.push_back(std::move(use));
    }
    out.loops.push_back(std::move(loop));
  }
  base::small_stable_sort(out.uses, [](const array_use& a, const array_use& b) {
    return a.remote.remote != b.remote.remote ? a.remote.remote > b.remote.remote : a.measured_remote > b.measured_remote;
  });
  base::vector<std::int32_t> numbers;
  for (std::int32_t r = 0; r != ranks; ++r) numbers.push_back(r);
  out.better = improve_placement(out.arrays, out.loops, out.uses, numbers);
  return out;
}

/// The same for a run: brings the footprints of all ranks to rank 0 and examines them there; elsewhere the report is
/// empty. `found`: of the ranks that the transport hosts (see explain::explain), footprint_book::result. `first`:
/// number of the first of them; `ranks`: of the run. Memory on rank 0: 32 bytes a run of each rank, block and array.
/// Throws std::bad_alloc and what the transport throws.
template <class Transport>
placement_report examine_together(Transport& transport, base::vector<base::vector<footprint>> found, std::int32_t first,
                                  std::int32_t ranks, const base::vector<declared_distribution>& declared = {}) {
  transport.reduce(
      [&](std::int32_t i) {
        base::packet out;
        pack_footprints(found[static_cast<std::size_t>(i)], out);
        return out;
      },
      [&](std::int32_t i, const unsigned char* data, std::size_t size) {
        unpack_footprints(data, size, found[static_cast<std::size_t>(i)]);
      });
  if (found.empty() || first != 0) return {};
  return examine_footprints(std::move(found[0]), ranks, declared);
}

/// Examines the records of a whole run. Throws std::invalid_argument for a wrong number of ranks.
template <class Transport>
placement_report examine(Transport& transport, const rank_data* ranks, std::size_t count,
                         const base::vector<declared_distribution>& declared = {}) {
  if (count != static_cast<std::size_t>(transport.hosted())) {
    throw std::invalid_argument("whywait-X002: the transport hosts another number of ranks");
  }
  base::vector<base::vector<footprint>> found;
  for (std::size_t i = 0; i != count; ++i) {
    footprint_book book(ranks[i]);
    book.take_all();
    found.push_back(book.result());
  }
  return examine_together(transport, std::move(found), count != 0 ? ranks[0].rank : -1, count != 0 ? ranks[0].ranks : 0,
                          declared);
}
template <class Transport>
placement_report examine(Transport& transport, const base::vector<rank_data>& ranks,
                         const base::vector<declared_distribution>& declared = {}) {
  return examine(transport, ranks.data(), ranks.size(), declared);
}

/// "loop `update` runs cyclic over `u`, which is block-distributed: 75 % of accesses are remote; a block schedule makes
/// it 13 %".
inline std::string placement_text(const placement_report& report, const better_placement& b, const naming& names) {
  const array_use& u = report.uses[b.use];
  const auto distributed = [](const distribution& d) {
    const std::string t = d.text();
    return t[0] == '('                                                             ? "distributed " + t
           : d.kind() == distribution_kind::regular && d.dimensions()[0].parts > 1 ? t + "-distributed"
                                                                                   : t;
  };
  const std::string array = "`" + names.data(report.arrays[u.array].array) + "`", then = base::percent(b.remote);
  std::string out = "loop `" + names.place(report.loops[u.loop].block) + "` runs " + report.loops[u.loop].schedule.text() +
                    " over " + array + ", which is " + distributed(report.arrays[u.array].placed) + ": " +
                    base::percent(u.remote.share()) + " of accesses are remote; ";
  if (b.change == placement_change::schedule) return out + "a " + b.schedule.text() + " schedule makes it " + then;
  const std::string moves = ", moving " + base::memory(static_cast<std::int64_t>(b.moved_bytes)) + " once";
  if (b.change == placement_change::data) return out + array + " " + distributed(b.placed) + " makes it " + then + moves;
  return out + "a " + b.schedule.text() + " schedule over " + array + ", " + distributed(b.placed) + ", makes it " + then +
         moves;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
