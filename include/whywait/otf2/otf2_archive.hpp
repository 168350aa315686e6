#ifndef WHYWAIT_OTF2_OTF2_ARCHIVE_HPP
#define WHYWAIT_OTF2_OTF2_ARCHIVE_HPP

#if !__has_include(<otf2/otf2.h>)
#error "<whywait/otf2.hpp> needs the Open Trace Format 2 (Debian: libotf2-trace-dev); link with -lotf2"
#endif

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/finalize/timeline_file.hpp>
#include <whywait/mpi/mpi_header.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/report/words.hpp>

#include <otf2/otf2.h>

#define OTF2_MPI_USE_PMPI
#define OTF2_MPI_UINT64_T MPI_UINT64_T
#define OTF2_MPI_INT64_T MPI_INT64_T
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wcast-function-type"
#include <otf2/OTF2_MPI_Collectives.h>
#pragma GCC diagnostic pop

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace otf2 {

/// Writes the timelines of all ranks as an OTF2 archive: each rank its own events, rank 0 the definitions. Regions, MPI calls
/// and waits are regions; a wait has attributes for the rank, the call and the code that it waited for. Nothing is gathered but
/// the keys of names. Collective; local to one call.
class archive_writer {
 public:
  archive_writer(const finalize::final_timeline& own, const finalize::team& all) : own_(own), all_(all) {}

  /// Returns a problem on rank 0, or an empty text. `path`: a folder that does not exist.
  std::string write(const std::string& path) {
    share_keys();
    offsets_.assign(static_cast<std::size_t>(all_.size()) + 1, 0);
    offsets_[static_cast<std::size_t>(all_.rank()) + 1] = static_cast<std::int64_t>(own_.locations);
    all_.all_reduce(offsets_.data(), all_.size() + 1, MPI_INT64_T, MPI_SUM);
    for (std::size_t i = 1; i != offsets_.size(); ++i) offsets_[i] += offsets_[i - 1];
    events_.assign(static_cast<std::size_t>(offsets_.back()), 0);

    OTF2_Archive* const archive = OTF2_Archive_Open(path.c_str(), "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20,
                                                    OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (all_.agree(archive == nullptr ? 1 : 0) != 0) {
      if (archive != nullptr) OTF2_Archive_Close(archive);
      return "cannot write the archive " + path;
    }
    static const OTF2_FlushCallbacks flush = {&always_flush, nullptr};
    note(OTF2_Archive_SetFlushCallbacks(archive, &flush, nullptr));
    note(OTF2_MPI_Archive_SetCollectiveCallbacks(archive, all_.comm(), MPI_COMM_NULL));
    note(OTF2_Archive_OpenEvtFiles(archive));
    write_events(archive);
    note(OTF2_Archive_CloseEvtFiles(archive));
    note(OTF2_Archive_OpenDefFiles(archive));
    for (std::uint32_t l = 0; l != own_.locations; ++l)
      note(OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, location(l))));
    note(OTF2_Archive_CloseDefFiles(archive));
    std::int64_t last = last_;
    all_.all_reduce(&last, 1, MPI_INT64_T, MPI_MAX);
    all_.all_reduce(events_.data(), static_cast<int>(events_.size()), MPI_INT64_T, MPI_SUM);
    if (all_.rank() == 0) define(OTF2_Archive_GetGlobalDefWriter(archive), static_cast<std::uint64_t>(last) + 1);
    note(OTF2_Archive_Close(archive));
    return all_.agree(static_cast<std::int64_t>(failed_)) == 0 ? std::string()
                                                               : "cannot write the archive " + path + " completely";
  }

 private:
  enum attribute : OTF2_AttributeRef { for_rank, late_call, late_code };
  static constexpr auto patterns = static_cast<std::uint32_t>(explain::pattern::count_);

  static OTF2_FlushType always_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
  void note(OTF2_ErrorCode code) noexcept { failed_ |= code != OTF2_SUCCESS; }
  OTF2_LocationRef location(std::uint32_t l) const noexcept {
    return static_cast<OTF2_LocationRef>(offsets_[static_cast<std::size_t>(all_.rank())]) + l;
  }
  /// The region of a key; those of waits come first, by pattern.
  OTF2_RegionRef region(std::uint32_t number) const noexcept {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), own_.keys[number]);
    return patterns + static_cast<OTF2_RegionRef>(at - keys_.begin());
  }

  void share_keys() {
    keys_ = own_.keys;
    const auto join = [this] { base::sort_and_unique(keys_); };
    join();
    all_.reduce_list(keys_, join);
    all_.share(keys_);
  }

  void write_events(OTF2_Archive* archive) {
    OTF2_AttributeList* const attributes = OTF2_AttributeList_New();
    struct open_region {
      std::int64_t end_ns;
      OTF2_RegionRef region;
    };
    base::pod_vector<open_region> open;
    std::size_t at = 0;
    for (std::uint32_t l = 0; l != own_.locations; ++l) {
      OTF2_EvtWriter* const out = OTF2_Archive_GetEvtWriter(archive, location(l));
      std::int64_t& count = events_[static_cast<std::size_t>(location(l))];
      const auto time = [this](std::int64_t ns) { return static_cast<OTF2_TimeStamp>(ns - own_.origin_ns); };
      const auto close_until = [&](std::int64_t ns) {
        for (; !open.empty() && open.back().end_ns <= ns; ++count) {
          note(OTF2_EvtWriter_Leave(out, nullptr, time(open.back().end_ns), open.back().region));
          open.pop_back();
        }
      };
      for (; at != own_.slices.size() && own_.slices[at].location == l; ++at) {
        const reports::trace_slice& s = own_.slices[at];
        if (s.kind == reports::slice_kind::step) continue;
        close_until(s.begin_ns);
        OTF2_RegionRef of = 0;
        OTF2_AttributeList* with = nullptr;
        if (s.kind == reports::slice_kind::wait) {
          const reports::trace_wait& w = own_.waits[s.name];
          of = w.why;
          with = attributes;
          note(OTF2_AttributeList_AddInt32(attributes, for_rank, w.causer_rank));
          note(OTF2_AttributeList_AddRegionRef(attributes, late_call, region(w.cause)));
          if (w.terms != 0) note(OTF2_AttributeList_AddRegionRef(attributes, late_code, region(w.term[0])));
        } else {
          of = region(s.name);
        }
        note(OTF2_EvtWriter_Enter(out, with, time(s.begin_ns), of));  // empties the attributes
        ++count;
        open.push_back({s.end_ns, of});
        last_ = std::max(last_, s.end_ns - own_.origin_ns);
      }
      close_until(INT64_MAX);
      note(OTF2_Archive_CloseEvtWriter(archive, out));
    }
    OTF2_AttributeList_Delete(attributes);
  }

  void define(OTF2_GlobalDefWriter* out, std::uint64_t length) {
    note(OTF2_GlobalDefWriter_WriteClockProperties(out, 1000000000, 0, length, OTF2_UNDEFINED_TIMESTAMP));
    OTF2_StringRef strings = 0;
    const auto text = [&](const std::string& s) {
      note(OTF2_GlobalDefWriter_WriteString(out, strings, s.c_str()));
      return strings++;
    };
    const OTF2_StringRef nothing = text("");
    const std::pair<const char*, OTF2_Type> kinds[] = {{"waited for rank", OTF2_TYPE_INT32},
                                                       {"late call", OTF2_TYPE_REGION},
                                                       {"what the late side ran most", OTF2_TYPE_REGION}};
    for (OTF2_AttributeRef a = 0; a != 3; ++a)
      note(OTF2_GlobalDefWriter_WriteAttribute(out, a, text(kinds[a].first), nothing, kinds[a].second));
    const auto define_region = [&](OTF2_RegionRef ref, const std::string& name, const std::string& description,
                                   OTF2_RegionRole role, OTF2_Paradigm paradigm, const base::place& where) {
      const OTF2_StringRef called = text(name);
      note(OTF2_GlobalDefWriter_WriteRegion(out, ref, called, called, text(description), role, paradigm, OTF2_REGION_FLAG_NONE,
                                            where.file.empty() ? nothing : text(where.file),
                                            static_cast<std::uint32_t>(std::max(where.line, 0)),
                                            static_cast<std::uint32_t>(std::max(where.last_line, 0))));
    };
    for (std::uint32_t p = 0; p != patterns; ++p)
      define_region(p, "wait: " + reports::pattern_words(explain::name_of(static_cast<explain::pattern>(p))), "a wait",
                    OTF2_REGION_ROLE_ARTIFICIAL, OTF2_PARADIGM_MEASUREMENT_SYSTEM, {});
    const reports::detail::name_resolver names(own_.meanings, own_.names);
    for (std::size_t i = 0; i != keys_.size(); ++i) {
      const base::place site = names.site(keys_[i]);
      const auto ref = patterns + static_cast<OTF2_RegionRef>(i);
      if (!site.call.empty()) {
        define_region(ref, site.call, base::call_text(site), OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI, site);
        continue;
      }
      reports::named_block b;
      names.describe(keys_[i], 0, b);
      define_region(ref, b.block.empty() ? "unnamed" : b.block, base::code_text(b.where), OTF2_REGION_ROLE_CODE,
                    OTF2_PARADIGM_USER, b.where);
    }
    note(OTF2_GlobalDefWriter_WriteSystemTreeNode(out, 0, text("run"), text("run"), OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (std::int32_t r = 0; r != all_.size(); ++r) {
      const auto group = static_cast<OTF2_LocationGroupRef>(r);
      note(OTF2_GlobalDefWriter_WriteLocationGroup(out, group, text("rank " + std::to_string(r)),
                                                   OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP));
      const std::int64_t first = offsets_[static_cast<std::size_t>(r)];
      for (std::int64_t l = first; l != offsets_[static_cast<std::size_t>(r) + 1]; ++l)
        note(OTF2_GlobalDefWriter_WriteLocation(
            out, static_cast<OTF2_LocationRef>(l), text(l == first ? "main thread" : "thread " + std::to_string(l - first)),
            OTF2_LOCATION_TYPE_CPU_THREAD, static_cast<std::uint64_t>(events_[static_cast<std::size_t>(l)]), group));
    }
  }

  const finalize::final_timeline& own_;
  const finalize::team& all_;
  base::pod_vector<core::stable_key> keys_;  ///< of all ranks, sorted
  base::pod_vector<std::int64_t> offsets_;  ///< first location of each rank
  base::pod_vector<std::int64_t> events_;  ///< of each location
  std::int64_t last_ = 0;
  bool failed_ = false;
};

/// Writes `prefix`.otf2, or prefix-2.otf2 and so on if that exists: OTF2 does not replace archives.
inline std::string write_archive(mpi::state&, const finalize::final_timeline& own, const std::string& prefix,
                                 const finalize::team& all) {
  std::string path = prefix + ".otf2";
  for (int i = 2; all.rank() == 0 && ::access(path.c_str(), F_OK) == 0; ++i) path = prefix + "-" + std::to_string(i) + ".otf2";
  all.share(path);
  return archive_writer(own, all).write(path);
}

}  // namespace otf2
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
