#ifndef WHYWAIT_BASE_PLACES_HPP
#define WHYWAIT_BASE_PLACES_HPP

#include <whywait/base/cpp_name.hpp>
#include <whywait/base/key_map.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace base {

/// A place in the program. A call site has `call`, the enclosing regions and the code address. A region or step has
/// `name`, its kind and the enclosing regions. Unknown members are empty or 0.
struct place {
  std::string call;    ///< "MPI_Recv"; empty for regions and steps
  std::string name;    ///< name of a region or step
  std::string kind;    ///< kind of a region or step: "region", "step", "waiting"
  std::string region;  ///< path of the enclosing regions, "main/exchange"
  std::string file;    ///< path as it was given to the compiler
  int line = 0;
  int last_line = 0;         ///< last line of a block that spans several lines, else 0
  std::string function;      ///< complete demangled name
  std::string module;        ///< base name of the executable or library
  std::uint64_t offset = 0;  ///< address in the module's own numbering (what `addr2line -e module` takes)
  std::string caller;        ///< of a call site: where its function was called, "step (halo.cpp:80)"; empty if not needed
  bool helps = false;        ///< its function only makes this call, for another file: its caller is always needed
  int own_callers = 0;       ///< characters of `caller` about callers in its own file, ahead of those in others

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  place() = default;
  [[gnu::noinline]] place(const place&) = default;
  [[gnu::noinline]] place(place&&) = default;
  [[gnu::noinline]] place& operator=(const place&) = default;
  [[gnu::noinline]] place& operator=(place&&) = default;
  [[gnu::noinline]] ~place() = default;

  [[gnu::noinline]] bool operator==(const place& o) const noexcept {
    return line == o.line && last_line == o.last_line && offset == o.offset && call == o.call && name == o.name &&
           kind == o.kind && region == o.region && file == o.file && function == o.function && module == o.module &&
           caller == o.caller && helps == o.helps && own_callers == o.own_callers;
  }
};

/// The last part of a path, "exchange" of "main/exchange".
inline std::string_view last_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Maps keys to places, gathered from all ranks. If several ranks name a key, the more complete place wins, then the
/// one that sorts first; the result does not depend on the order of `add`.
class names {
 public:
  struct entry {
    core::stable_key key;
    place where;
    bool operator==(const entry& o) const noexcept { return key == o.key && where == o.where; }
  };

  /// Adds a place in O(1) on average. The key 0 is ignored.
  void add(core::stable_key key, place where) {
    if (key == 0) return;
    const auto fresh = static_cast<std::uint32_t>(table_.size());
    const std::uint32_t found = numbers_.intern(key, fresh);
    if (found == fresh) table_.push_back({key, std::move(where)});
    else if (better(where, table_[found].where)) table_[found].where = std::move(where);
  }
  void add(const names& others) {
    for (const entry& e : others.table_) add(e.key, e.where);
  }

  /// The place of a key, or null. The pointer is valid until the next `add`.
  const place* find(core::stable_key key) const noexcept {
    const std::uint32_t found = numbers_.find(key);
    return found == base::key_map::none ? nullptr : &table_[found].where;
  }
  std::size_t size() const noexcept { return table_.size(); }

  /// Keeps the callers of call sites that would read the same without them or are in functions that help others, no more than are needed,
  /// and clears all others. O(n log n), and square in those that read the same.
  void clear_needless_callers() {
    base::vector<place*> calls;
    for (entry& e : table_)
      if (!e.where.call.empty()) calls.push_back(&e.where);
    base::small_stable_sort(calls, [](const place* a, const place* b) { return compare_text(*a, *b) < 0; });
    for (std::size_t i = 0; i != calls.size();) {
      std::size_t end = i;
      while (end != calls.size() && compare_text(*calls[i], *calls[end]) == 0) ++end;
      leave_out_own(calls, i, end);
      bool differ = false;
      for (std::size_t k = i; k != end; ++k) differ = differ || calls[k]->caller != calls[i]->caller;
      std::size_t needed = 1;
      for (std::size_t k = i; k != end && differ; ++k)
        for (std::size_t m = i; m != k; ++m)
          while (calls[m]->caller != calls[k]->caller && first_of(*calls[m], needed) == first_of(*calls[k], needed)) ++needed;
      for (; i != end; ++i) calls[i]->caller.resize(differ || calls[i]->helps ? first_of(*calls[i], needed).size() : 0);
    }
  }

  /// All entries, sorted by key.
  base::vector<entry> entries() const {
    base::vector<entry> all = table_;
    base::small_stable_sort(all, [](const entry& a, const entry& b) { return a.key < b.key; });
    return all;
  }

 private:
  // Callers in the file of a call help as well as it does, unless those in other files do not tell calls apart.
  [[gnu::noinline]] static void leave_out_own(base::vector<place*>& calls, std::size_t begin, std::size_t end) {
    const auto others = [](const place& p) {
      return std::string_view(p.caller).substr(static_cast<std::size_t>(p.own_callers != 0 ? p.own_callers + 2 : 0));
    };
    bool needed = false;
    for (std::size_t k = begin; k != end; ++k)
      for (std::size_t m = begin; m != k; ++m)
        needed = needed || (calls[m]->caller != calls[k]->caller && others(*calls[m]) == others(*calls[k]));
    for (std::size_t k = begin; k != end; ++k) {
      if (!needed) calls[k]->caller = std::string(others(*calls[k]));
      calls[k]->own_callers = 0;
    }
  }
  // Of several callers, as "dot (cg.cpp:40), main (cg.cpp:80)", the first ones.
  [[gnu::noinline]] static std::string_view first_of(const place& p, std::size_t count) noexcept {
    const std::string_view all = p.caller;
    std::size_t end = 0;
    for (; count != 0 && end < all.size(); --count) end = std::min(p.caller.find("), ", end), all.size() - 1) + 1;
    return all.substr(0, end);
  }

  // Negative, 0 or positive; 0 if `call_text` cannot tell two places without callers apart.
  static int compare_text(const place& a, const place& b) {
    if (const int c = a.call.compare(b.call)) return c;
    if (const int c = a.region.compare(b.region)) return c;
    if (const int c = a.file.compare(b.file)) return c;
    if (a.line != b.line) return a.line < b.line ? -1 : 1;
    if (const int c = a.region.empty() && a.function != b.function ? short_name(a.function).compare(short_name(b.function)) : 0)
      return c;
    if (!a.file.empty()) return 0;
    if (const int c = a.module.compare(b.module)) return c;
    return a.offset != b.offset ? (a.offset < b.offset ? -1 : 1) : 0;
  }

  static bool better(const place& a, const place& b) noexcept {
    const auto known = [](const place& p) {
      return (p.call.empty() ? 0 : 1) + (p.name.empty() ? 0 : 1) + (p.kind.empty() ? 0 : 1) + (p.region.empty() ? 0 : 1) +
             (p.line > 0 ? 2 : 0) + (p.function.empty() ? 0 : 1) + (p.module.empty() ? 0 : 1) + (p.caller.empty() ? 0 : 1);
    };
    if (known(a) != known(b)) return known(a) > known(b);
    if (const int c = a.call.compare(b.call)) return c < 0;
    if (const int c = a.name.compare(b.name)) return c < 0;
    if (const int c = a.kind.compare(b.kind)) return c < 0;
    if (const int c = a.region.compare(b.region)) return c < 0;
    if (const int c = a.file.compare(b.file)) return c < 0;
    if (a.line != b.line) return a.line < b.line;
    if (const int c = a.function.compare(b.function)) return c < 0;
    if (const int c = a.module.compare(b.module)) return c < 0;
    if (a.offset != b.offset) return a.offset < b.offset;
    return a.caller < b.caller;
  }

  base::key_map numbers_;  // indices in table_
  base::vector<entry> table_;
};

/// Code location of a place: "halo.cpp:142", "halo.cpp:142-150", "app+0x1234" without debug information, else "".
inline std::string code_text(const place& p) {
  if (!p.file.empty()) {
    std::string text = printable(last_of(p.file));
    if (p.line > 0) text += ":" + std::to_string(p.line);
    if (p.line > 0 && p.last_line > p.line) text += "-" + std::to_string(p.last_line);
    return text;
  }
  if (p.module.empty()) return {};
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, p.offset, 16);
  return printable(p.module) + "+0x" + std::string(digits, end.ptr);
}

/// The innermost region around a place, else its function by its short name, else "".
inline std::string within_text(const place& p) {
  return printable(!p.region.empty() ? std::string(last_of(p.region)) : short_name(p.function));
}

/// The function of a place with its code location: "step (halo.cpp:80)".
inline std::string function_text(const place& p) {
  constexpr std::string_view unnamed = "(anonymous)::";
  const std::string code = code_text(p);
  std::string function = printable(short_name(p.function));
  if (function.compare(0, unnamed.size(), unnamed) == 0) function.erase(0, unnamed.size());
  if (function.empty() || code.empty()) return function + code;
  return function + " (" + code + ")";
}

/// Where the function of a call site was called: " from step (halo.cpp:80)"; empty if that is not needed.
inline std::string caller_text(const place& p) { return p.caller.empty() ? std::string() : " from " + p.caller; }

/// A call site by its code location: "MPI_Recv (halo.cpp:142)".
inline std::string brief_call_text(const place& p) {
  const std::string code = code_text(p);
  return printable(p.call) + (code.empty() ? "" : " (" + code + ")") + caller_text(p);
}

/// A call site with its region: "MPI_Recv in exchange (halo.cpp:142)", and with its caller if another one reads the same.
/// `joint` is "in", or "at" between two of them. The region is shortened to fit `width` columns; the rest is never cut.
inline std::string call_text(const place& p, std::string_view joint = "in", std::size_t width = std::size_t(-1)) {
  std::string out = p.call.empty() ? "a call" : printable(p.call);
  std::string within = within_text(p);
  std::string code = code_text(p);
  if (!code.empty()) code = " (" + code + ")";
  if (within.empty() && code.empty()) return out + " at an unknown place";
  code += caller_text(p);
  if (within.empty()) return out + code;
  const std::size_t rest = display_width(out) + joint.size() + 2 + display_width(code);
  if (width != std::size_t(-1)) within = shorten_middle(within, std::max<std::size_t>(width > rest ? width - rest : 0, 12));
  return out + " " + std::string(joint) + " " + within + code;
}

/// The same after `before`, in lines of `width` columns: the caller has one of its own if both do not fit.
inline base::vector<std::string> call_lines(const place& p, std::size_t width, const std::string& before = {}) {
  const std::size_t room = width - before.size();
  const std::string all = call_text(p, "in");
  if (p.caller.empty() || display_width(all) <= room) return {before + call_text(p, "in", room)};
  place alone = p;
  alone.caller.clear();
  return {before + call_text(alone, "in", room), std::string(before.size() + 3, ' ') + caller_text(p)};
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
