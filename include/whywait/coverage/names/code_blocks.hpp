#ifndef WHYWAIT_COVERAGE_NAMES_CODE_BLOCKS_HPP
#define WHYWAIT_COVERAGE_NAMES_CODE_BLOCKS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/code_source.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/coverage/names/code_filter.hpp>
#include <whywait/coverage/names/gcov_notes.hpp>
#include <whywait/report/symbolise.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace coverage {

/// The code that the compiler counted in this process, as blocks whose names (lines of source files) are the same on
/// every rank. Covers only code that ran. Reads notes files (.gcno) and debug information, which takes milliseconds.
class code_blocks {
 public:
  /// `sources` are those of the process; `ran` lists the numbers of the blocks that ran, in any order.
  code_blocks(const core::code_source* sources, base::pod_vector<std::uint32_t> ran, const code_filter& filter)
      : filter_(filter) {
    for (const core::code_source* s = sources; s != nullptr; s = s->next) sources_.push_back(s);
    if (sources_.empty()) return;
    base::small_stable_sort(sources_, [](const auto* a, const auto* b) { return a->first < b->first; });
    base::sort_and_unique(ran);
    for (auto from = ran.begin(); from != ran.end();) {
      const core::code_source& source = source_of(*from);
      auto to = from;
      while (to != ran.end() && *to - source.first < source.count) ++to;
      if (source.what == core::code_source::kind::arcs) add_arcs(source, &*from, &*from + (to - from));
      else
        for (; from != to; ++from) add_address(source, *from);
      from = to;
    }
  }

  const core::counted_code& code() const noexcept { return code_; }
  /// The place of a key, or null.
  const base::place* find(core::stable_key key) const noexcept { return places_.find(key); }
  /// The reason why some code could not be named; empty on success. After a failure no rank may use its counts, because
  /// blocks that are missing here would look like additional work of other ranks.
  const std::string& problem() const noexcept { return problem_; }

 private:
  using terms = base::pod_vector<core::counted_code::term>;

  const core::code_source& source_of(std::uint32_t number) const {
    return **(std::upper_bound(sources_.begin(), sources_.end(), number,
                               [](std::uint32_t n, const auto* s) { return n < s->first; }) -
              1);
  }

  // Removes anonymous namespaces, because the file identifies them.
  static std::string name_of(const std::string& function) {
    std::string name = base::short_name(function);
    constexpr std::string_view unnamed = "(anonymous)::";
    for (std::size_t at; (at = name.find(unnamed)) != std::string::npos;) name.erase(at, unnamed.size());
    return name;
  }

  static std::string bytes_of(const std::string& path) {
    std::string bytes;
    if (std::FILE* const file = std::fopen(path.c_str(), "rb")) {
      char buffer[4096];
      while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file)) bytes.append(buffer, n);
      std::fclose(file);
    }
    return bytes;
  }

  static bool read_notes(const core::code_source& source, gcov_notes& notes, std::string& problem) {
    std::string path = source.notes;
    path.resize(std::min(path.rfind(".gcda"), path.size()));
    path += ".gcno";
    const std::string bytes = bytes_of(path);
    std::string why;
    if (bytes.empty()) {
      why = "cannot be read (also compile with -ftest-coverage)";
    } else if (read_gcov_notes(bytes, notes, why) && notes.stamp != source.stamp) {
      why = "is of another compilation than the program";
    }
    if (!why.empty() && problem.empty()) problem = "blocks that the compiler counts are left out: " + path + " " + why;
    return why.empty();
  }

  void add_arcs(const core::code_source& source, const std::uint32_t* from, const std::uint32_t* to) {
    gcov_notes notes;
    if (!read_notes(source, notes, problem_)) return;
    base::key_map noted;
    for (std::uint32_t f = 0; f != notes.functions.size(); ++f) noted.intern(notes.functions[f].ident + std::uint64_t(1), f);
    base::pod_vector<const core::counted_function*> functions;
    for (std::uint32_t f = 0; f != source.function_count; ++f) functions.push_back(source.functions + f);
    base::small_stable_sort(functions, [](const auto* a, const auto* b) { return a->first < b->first; });
    for (std::size_t f = 0; f != functions.size() && from != to; ++f) {
      const core::counted_function& function = *functions[f];
      const std::uint32_t first = source.first + function.first;
      if (*from - first >= function.count) continue;
      const std::uint32_t known = noted.find(function.ident + std::uint64_t(1));
      const bool wanted = known != base::key_map::none && notes.functions[known].checksum == function.checksum;
      const base::vector<terms> forms = wanted ? forms_of(source, function, notes.functions[known]) : base::vector<terms>();
      for (; from != to && *from - first < function.count; ++from) {
        if (forms.empty() || forms[*from - first].empty()) continue;
        code_.add(*from, forms[*from - first].data(), forms[*from - first].size());
      }
    }
  }

  // The blocks of each counter of a function.
  base::vector<terms> forms_of(const core::code_source& source, const core::counted_function& function,
                               const noted_function& noted) {
    base::vector<terms> forms(function.count);
    base::place p;
    p.kind = "step";
    p.function = base::demangle(noted.name.c_str());
    p.file = noted.file;
    if (!filter_.keeps(p.function, p.file)) return {};
    const std::string name = name_of(p.function);
    const core::stable_key key = core::combine(core::combine(core::key_of(source.notes), function.ident), 0x6c696e6573u);
    for (const line_group& g : lines_of(noted.flow)) {
      p.name = g.loop ? "loop in " + name : name;
      p.line = g.first_line;
      p.last_line = g.last_line;
      const core::stable_key block = core::combine(key, static_cast<std::uint64_t>(g.first_line));
      places_.add(block, p);
      for (const auto& [counter, factor] : g.visits)
        if (counter < forms.size()) forms[counter].push_back({block, factor});
    }
    return forms;
  }

  void add_address(const core::code_source& source, std::uint32_t number) {
    const std::uint32_t index = number - source.first;
    const bool dense = source.what == core::code_source::kind::guards;
    const std::uintptr_t address = dense ? source.addresses[index] : source.base + 4 * std::uintptr_t(index);
    if (address == 0) return;
    // the address was divided by 4, but the call instruction is longer than that
    reports::code_place code = symbols_.of_call(reinterpret_cast<const void*>(address));
    if (!filter_.keeps(code.function, code.file)) return;
    const core::stable_key key =
        core::combine(core::combine(core::key_of(code.module.c_str()), dense ? index : code.offset), dense ? 1 : 2);
    base::place p;
    p.kind = "step";
    p.function = std::move(code.function);
    p.name = name_of(p.function);
    p.file = std::move(code.file);
    p.line = p.last_line = code.line;
    p.module = std::move(code.module);
    p.offset = code.offset;
    const core::stable_key line = core::combine(core::combine(core::key_of(p.file.c_str()), core::key_of(p.function.c_str())),
                                                static_cast<std::uint64_t>(p.line));
    places_.add(key, std::move(p));
    code_.add(number, {{key, 1}}, lines_.intern(line, number));
  }

  code_filter filter_;
  base::pod_vector<const core::code_source*> sources_;
  core::counted_code code_;
  base::key_map lines_;  // line to its first number
  base::names places_;
  std::string problem_;
  reports::symboliser symbols_;
};

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

#endif
