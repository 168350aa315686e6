#ifndef WHYWAIT_FINALIZE_PROCESS_NAMES_HPP
#define WHYWAIT_FINALIZE_PROCESS_NAMES_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/code_source.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/script_place.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/coverage/names/code_blocks.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/report/code_place.hpp>
#include <whywait/report/module_list.hpp>
#include <whywait/report/symbolise.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Functions and lines of call sites that were read from debug information: about 80 bytes per site, 16 per caller.
struct call_sources {
  base::key_map callers;  ///< return addresses in functions that call thread primitives; 1: of a library, which begins a thread
  base::key_map places;  ///< index in `sources` by key of the call site
  base::pod_vector<explain::source_keys> sources;
};

/// Replaces the process-local numbers in a process's records by keys that are the same on all ranks, and resolves keys
/// to places. Does not own the records; create it when recording has stopped. Debug information is opened by the first
/// function that needs it, which takes milliseconds, and stays open as long as the object.
class process_names final : public explain::function_names {
 public:
  /// Sets the keys in `all.history`. `sources` is code that the compiler counted or timed, or null; `code` its blocks,
  /// or null; `modules` the modules of the process if it is another one, or null. `known`: what was read for
  /// earlier objects, so that each call site and caller is read once for all; null: for this object alone. All of them and `all` must
  /// outlive this object. Of several threads it reads debug information if callers are not known.
  process_names(process_records& all, const core::site_table& sites, const core::code_source* sources = nullptr,
                const coverage::code_blocks* code = nullptr, const reports::module_list* modules = nullptr,
                call_sources* known = nullptr)
      : sites_(sites), code_(code), modules_(modules), remembered_(known) {
    functions_.resize(sites_.size());
    for (const core::code_source* s = sources; s != nullptr; s = s->next)
      for (std::uint32_t f = 0; s->what == core::code_source::kind::functions && f < s->function_count; ++f)
        if (s->function_sites[f].site != 0 && s->function_sites[f].site < functions_.size())
          functions_[s->function_sites[f].site] = s->function_sites[f].function;
    if (code_ != nullptr) all.history.code = code_->code();
    add_blocks(all.history);
    if (all.threads.size() > 1) find_shared_starts(all);
    for (std::size_t i = 0; i != all.threads.size(); ++i) add_calls(all.history.locations[i], all.threads[i].sites);
    for (std::size_t i = 0; i != all.threads.size(); ++i) join_regions(all.history.locations[i], all.threads[i].sites);
  }

  /// Places of the `keys` that this process recorded. Reads debug information.
  base::names names_of(const base::vector<core::stable_key>& keys) const {
    base::names found;
    for (core::stable_key key : keys) {
      if (const base::place* const lines = code_ != nullptr ? code_->find(key) : nullptr) found.add(key, *lines);
      const std::uint32_t known = known_.find(key);
      if (known == base::key_map::none) continue;
      const meaning& m = meanings_[known];
      found.add(key, m.calls != nullptr ? place_of_call(*m.calls, m.number) : place_of_block(m.number));
    }
    return found;
  }
  /// The regions and steps of this name. Reads debug information if the compiler marked functions as regions.
  base::vector<core::stable_key> blocks_called(const std::string& name) const {
    base::vector<core::stable_key> found;
    for (std::uint32_t number = 1; number < sites_.size(); ++number)
      if (name_of_site(number) == name) found.push_back(sites_[number].key);
    return found;
  }
  /// Reads debug information.
  explain::source_keys source_of(core::stable_key call_site) override {
    const std::uint32_t known = known_.find(call_site);
    if (known == base::key_map::none || meanings_[known].calls == nullptr) return {};
    if (remembered_ == nullptr) return read_source(meanings_[known]);
    const auto fresh = static_cast<std::uint32_t>(remembered_->sources.size());
    const std::uint32_t at = remembered_->places.intern(call_site, fresh);
    if (at == fresh) remembered_->sources.push_back(read_source(meanings_[known]));
    return remembered_->sources[at];
  }
  bool contains(core::stable_key key) const override {
    return known_.find(key) != base::key_map::none || (code_ != nullptr && code_->find(key) != nullptr);
  }

 private:
  using return_addresses = const void * [record::call_site_table::most_levels + 2];
  struct start_call {
    core::stable_key caller;  // the last one that was seen
    std::uint32_t thread;  // its thread
    bool begins;  // a caller begins a thread
    bool serves;  // several callers of one thread
  };
  struct parallel_region {
    const void* address;
    core::stable_key key;
  };
  struct meaning {
    const record::call_site_table* calls;  // null: a block
    std::uint32_t number;  // of the call site or the block
  };

  void add_meaning(core::stable_key key, const meaning& m) {  // the first meaning of a key wins
    const auto fresh = static_cast<std::uint32_t>(meanings_.size());
    if (known_.intern(key, fresh) == fresh) meanings_.push_back(m);
  }

  void add_blocks(core::rank_history& history) {
    history.blocks.resize(sites_.size());
    for (std::uint32_t number = 1; number < sites_.size(); ++number) {
      history.blocks[number] = sites_[number].key;
      add_meaning(sites_[number].key, {nullptr, number});
    }
  }

  void add_calls(core::location_history& location, const record::call_site_table* sites) {
    if (sites == nullptr) {  // a thread that never called MPI has no waits
      core::location_history none;
      none.thread = location.thread;
      none.whole = false;
      location = std::move(none);
      return;
    }
    location.call_sites.clear();
    for (std::uint32_t number = 0; number < sites->size(); ++number) {
      location.call_sites.push_back(key_of_call(*sites, number));
      add_meaning(location.call_sites.back(), {sites, number});
      const record::call_site& site = (*sites)[number];
      if (site.call == core::mpi_call::omp_parallel) regions_.push_back({site.address, location.call_sites.back()});
    }
  }

  // Finds the calls from functions with which threads begin, and which others call, as where the main thread is one of the workers. Such
  // calls are named without the caller, which only tells the threads apart. A thread that has two callers of a call is in a function
  // that serves others, and that ends the function with which the thread begins (a tail call leaves no caller).
  void find_shared_starts(const process_records& all) {
    call_sources own;
    base::key_map& callers = remembered_ != nullptr ? remembered_->callers : own.callers;
    for (std::uint32_t t = 0; t != all.threads.size(); ++t) {
      const record::call_site_table* const sites = all.threads[t].sites;
      for (std::uint32_t number = 1; sites != nullptr && number < sites->size(); ++number) {
        const record::call_site& site = (*sites)[number];
        if (!core::is_of_threads(site.call) || site.level != 0 || site.caller == nullptr) continue;
        const auto caller = static_cast<core::stable_key>(reinterpret_cast<std::uintptr_t>(site.caller));
        std::uint32_t begins = callers.find(caller);
        if (begins == base::key_map::none)
          begins = callers.intern(caller, is_of_library(symbols().of_call_outside(site.caller)) ? 1 : 0);
        const std::uint32_t at = starts_.intern(call_without_caller(site), static_cast<std::uint32_t>(start_calls_.size()));
        if (at == start_calls_.size()) start_calls_.push_back({caller, t, false, false});
        start_call& call = start_calls_[at];
        call.serves = call.serves || (call.thread == t && call.caller != caller);
        call.begins = call.begins || begins == 1;
        call.caller = caller;
        call.thread = t;
      }
    }
  }
  bool is_shared_start(const record::call_site& site, std::uint32_t frames) const noexcept {
    const std::uint32_t at = frames == 2 ? starts_.find(call_without_caller(site)) : base::key_map::none;
    return at != base::key_map::none && start_calls_[at].begins && !start_calls_[at].serves;
  }
  static core::stable_key call_without_caller(const record::call_site& site) noexcept {
    return core::combine(reinterpret_cast<std::uintptr_t>(site.address), static_cast<std::uint64_t>(site.call));
  }

  // The threads of a team run the same code from the begin of a region on: where one begins it, and where the others come to it or
  // begin themselves.
  void join_regions(core::location_history& location, const record::call_site_table* sites) const {
    if (sites == nullptr || regions_.empty()) return;
    std::vector<core::stable_key> keys(location.call_sites);
    for (std::uint32_t number = 0; number < sites->size(); ++number) {
      const record::call_site& site = (*sites)[number];
      if (site.call != core::mpi_call::omp_idle && site.call != core::mpi_call::thread_begin) continue;
      for (const parallel_region& r : regions_)
        if (r.address == site.address) keys[number] = r.key;
    }
    keys.swap(location.code_sites);
  }

  reports::symboliser& symbols() const {
    if (symbols_ == nullptr) symbols_.reset(new reports::symboliser("libdw.so.1", modules_));
    return *symbols_;
  }

  explain::source_keys read_source(const meaning& m) const {
    const void* from = nullptr;
    reports::code_place code = code_of_site(*m.calls, m.number, from);
    explain::source_keys found = keys_of(code);
    if (found.function == 0) return {};
    if (found.line != 0)
      for (const reports::code_place& c : callers_of_inlined((*m.calls)[m.number], code))
        found.line = core::combine(found.line, key_of_line(c));
    if (from != nullptr) {
      const reports::code_place outer = symbols().of_call(from);
      if (outer.function != "_start" && !is_of_library(outer)) {
        const explain::source_keys caller = keys_of(outer);
        found.function = core::combine(found.function, caller.function);
        found.line = found.line != 0 && caller.line != 0 ? core::combine(found.line, caller.line) : 0;
      }
    }
    core::mpi_call call = (*m.calls)[m.number].call;
    // A barrier wakes the others if it is the last to come. Beside MPI, only a primitive at which a thread waited has a record, so that
    // the same code lies between other ones on each rank.
    if (call == core::mpi_call::futex_wake || (core::is_of_threads(call) && !base::ranks_are_threads()))
      call = core::mpi_call::futex_wait;
    found.function = core::combine(found.function, static_cast<std::uint64_t>(call));
    if (found.line != 0) found.line = core::combine(found.line, found.function);
    return found;
  }

  static explain::source_keys keys_of(const reports::code_place& place) {
    explain::source_keys keys;
    if (place.function.empty()) return keys;
    keys.function = core::combine(core::key_of(place.module.c_str()), core::key_of(place.function.c_str()));
    if (place.line > 0) keys.line = key_of_line(place);
    return keys;
  }
  static core::stable_key key_of_line(const reports::code_place& place) {
    return core::combine(core::key_of(place.file.c_str()), static_cast<std::uint64_t>(place.line));
  }

  // The same on every rank, although each loads modules at other addresses.
  core::stable_key key_of_code(const void* address) const {
    if (const std::uint32_t script = core::script_site_of(address); script != 0 && script < sites_.size())
      return sites_[script].key;
    const reports::module_offset code = modules_ != nullptr ? modules_->offset_of(address) : reports::module_offset_of(address);
    return core::combine(core::key_of(code.module), code.offset);
  }

  // Combines the code addresses, the call and the enclosing regions.
  core::stable_key key_of_call(const record::call_site_table& calls, std::uint32_t number) const {
    const record::call_site& site = calls[number];
    return_addresses frames;
    const std::uint32_t count = calls.frames(number, frames);
    core::stable_key key = core::combine(key_of_code(site.address), static_cast<std::uint64_t>(site.call));
    const bool shared = is_shared_start(site, count);
    for (std::uint32_t i = 1; i != count && !shared; ++i)
      if (frames[i] != nullptr) key = core::combine(key, key_of_code(frames[i]));
    for (std::uint32_t level = 0; level < site.depth; ++level) key = core::combine(key, sites_[calls.region(site, level)].key);
    return key;
  }

  reports::code_place code_of_call(const void* address) const {
    const std::uint32_t script = core::script_site_of(address);
    if (script == 0 || script >= sites_.size()) return symbols().of_call(address);
    reports::code_place code;
    code.module = code.file = sites_[script].file;
    code.function = sites_[script].name;
    code.line = static_cast<int>(sites_[script].line);
    return code;
  }

  // The call in the program's own code: thread primitives are called through the C++ library (std::lock_guard), inlined or not.
  // `from`: what called the function of that place; null: not known.
  reports::code_place code_of_site(const record::call_site_table& calls, std::uint32_t number, const void*& from) const {
    return_addresses frames;
    const std::uint32_t count = calls.frames(number, frames);
    from = frames[1];
    if (is_shared_start(calls[number], count)) from = nullptr;
    if (!core::is_of_threads(calls[number].call)) return code_of_call(frames[0]);
    reports::code_place code = symbols().of_call_outside(frames[0]);
    for (std::uint32_t i = 1; i != count && frames[i] != nullptr && is_of_library(code); ++i) {
      reports::code_place outer = symbols().of_call_outside(frames[i]);
      if (is_of_library(outer)) continue;
      code = std::move(outer);
      from = i + 1 != count ? frames[i + 1] : nullptr;
    }
    if (is_of_library(code)) from = nullptr;
    // What a thread runs is inlined into a function of the library, whose name does not help.
    if (code.function.compare(0, 5, "std::") == 0 && !is_of_library(code)) code.function.clear();
    return code;
  }
  static bool is_of_library(const reports::code_place& code) {
    for (const char* const known : {"libstdc++", "libc++", "libc.so", "libwhywait"})
      if (code.module.compare(0, std::strlen(known), known) == 0) return true;
    return code.file.empty() ? code.function.compare(0, 5, "std::") == 0 : reports::is_of_library(code.file);
  }

  base::place place_of_call(const record::call_site_table& calls, std::uint32_t number) const {
    const record::call_site& site = calls[number];
    std::string region;
    for (std::uint32_t level = 0; level < site.depth; ++level) {
      if (level != 0) region += '/';
      region += name_of_site(calls.region(site, level));
    }
    const void* from = nullptr;
    reports::code_place code = code_of_site(calls, number, from);
    base::vector<reports::code_place> callers = callers_of_inlined(site, code);
    const bool helps =
        (!callers.empty() || is_only_call(calls, number, code)) && code.function.find("{lambda") == std::string::npos;
    if (from != nullptr) {
      reports::code_place outer = symbols().of_call(from);
      base::vector<reports::code_place> more = symbols().callers_of_inlined(from, outer);
      callers.push_back(std::move(outer));
      for (reports::code_place& c : more) callers.push_back(std::move(c));
    }
    base::place p = reports::call_place(std::move(code), core::name_of(site.call), std::move(region));
    bool same_file = true;
    for (reports::code_place& c : callers) {
      if (c.function == "_start" || is_of_library(c)) break;
      if (same_file && base::last_of(c.file) != base::last_of(p.file)) {
        same_file = false;
        p.helps = helps;
        p.own_callers = static_cast<int>(p.caller.size());
      }
      p.caller += (p.caller.empty() ? "" : ", ") + base::function_text(reports::call_place(std::move(c), {}, {}));
    }
    return p;
  }
  // Whether a function is short, and calls MPI at this place only.
  static bool is_only_call(const record::call_site_table& calls, std::uint32_t number, const reports::code_place& code) {
    for (std::uint32_t i = 1; i < calls.size(); ++i) {
      const void* const other = calls[i].address;
      if (other != calls[number].address && reinterpret_cast<std::uintptr_t>(other) - code.begin < code.bytes) return false;
    }
    return code.bytes <= 256;
  }
  // Calls of MPI in functions that were inlined; what wraps thread primitives is known otherwise.
  base::vector<reports::code_place> callers_of_inlined(const record::call_site& site, reports::code_place& code) const {
    if (core::is_of_threads(site.call) || core::script_site_of(site.address) != 0) return {};
    return symbols().callers_of_inlined(site.address, code);
  }

  // The name of a function that the compiler marked as a region is resolved from its address on demand.
  std::string name_of_site(std::uint32_t number) const {
    if (number >= functions_.size() || functions_[number] == 0) return sites_[number].name;
    const reports::code_place code = symbols().of_code(reinterpret_cast<const void*>(functions_[number]));
    return code.function.empty() ? std::string(sites_[number].name) : base::short_name(code.function);
  }

  base::place place_of_block(std::uint32_t number) const {
    const core::site_info& site = sites_[number];
    base::place p;
    p.name = site.name;
    p.kind = site.kind == core::site_kind::step ? "step" : site.kind == core::site_kind::waiting ? "waiting" : "region";
    p.file = site.file;
    p.line = static_cast<int>(site.line);
    if (number < functions_.size() && functions_[number] != 0) {
      p.name = name_of_site(number);
      reports::put_code(p, symbols().of_code(reinterpret_cast<const void*>(functions_[number])));
    }
    return p;
  }

  const core::site_table& sites_;
  const coverage::code_blocks* code_;
  const reports::module_list* modules_;
  base::pod_vector<std::uintptr_t> functions_;  // by site number: address of a function that the compiler marked, or 0
  base::key_map known_;  // index in meanings_
  base::pod_vector<meaning> meanings_;
  base::pod_vector<parallel_region> regions_;  // of OpenMP, by call site
  base::key_map starts_;  // indices in start_calls_ by call_without_caller; see find_shared_starts
  base::pod_vector<start_call> start_calls_;
  call_sources* remembered_;
  mutable std::unique_ptr<reports::symboliser> symbols_;
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
