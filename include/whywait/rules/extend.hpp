#ifndef WHYWAIT_RULES_EXTEND_HPP
#define WHYWAIT_RULES_EXTEND_HPP

#include <whywait/base/vector.hpp>
#include <whywait/rules/add.hpp>
#include <whywait/rules/knowledge_base.hpp>
#include <whywait/rules/own_packet.hpp>
#include <whywait/rules/own_state.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// A rule text and its name in messages.
using rule_text = named_text;

/// The value of WHYWAIT_RULES: files separated by ':', or the word "list", which prints the active rules.
struct rules_setting {
  base::vector<std::string> files;
  bool list = false;

  static rules_setting parse(const char* text) {
    rules_setting out;
    std::string_view rest = text != nullptr ? text : "";
    while (!rest.empty()) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      const std::string_view one = rest.substr(0, colon);
      if (one == "list") out.list = true;
      else if (!one.empty()) out.files.push_back(std::string(one));
      rest.remove_prefix(colon < rest.size() ? colon + 1 : colon);
    }
    return out;
  }
};

namespace detail {

inline bool read_file(const std::string& path, std::string& out, std::string& why) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    why = std::strerror(errno);
    return false;
  }
  char buffer[4096];
  std::size_t got = 0;
  errno = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, file)) > 0 && out.size() <= limits::source_bytes) out.append(buffer, got);
  const bool good = std::ferror(file) == 0;
  if (!good) why = std::strerror(errno != 0 ? errno : EIO);
  std::fclose(file);
  return good;
}

}  // namespace detail

/// The texts that this process gave to `add`, in order.
inline base::vector<rule_text> added_texts() {
  base::vector<rule_text> out;
#ifndef WHYWAIT_DISABLE
  if (own_state* const state = the_own_state()) {
    const own_state_lock held(*state);
    base::pod_vector<const added_text*> last_first;
    for (const added_text* t = state->texts; t != nullptr; t = t->next) last_first.push_back(t);
    for (std::size_t i = last_first.size(); i-- > 0;) out.push_back({last_first[i]->name, last_first[i]->text});
  }
#endif
  return out;
}

/// All rules of a run: the built-in ones, own event types found in `packets`, texts given to `add`, files of
/// WHYWAIT_RULES (`setting`). Mistakes are in `knowledge::log`. About 1 ms.
inline knowledge active_rules(const rules_setting& setting, const base::vector<own_packet>& packets = {},
                              base::vector<rule_text> texts = added_texts()) {
  compiler all;
  add_base(all);
  base::vector<own_declaration> own;
  for (const own_packet& packet : packets)
    for (own_declaration& d : own_declarations(packet)) {
      bool known = false;
      for (const own_declaration& other : own) known = known || other.text == d.text;
      if (known) continue;
      all.add("whywait::event " + d.name, d.text);
      own.push_back(std::move(d));
    }
  for (rule_text& t : texts) all.add(std::move(t.name), std::move(t.text));
  for (const std::string& path : setting.files) {
    std::string text, why;
    if (detail::read_file(path, text, why)) all.add(path, std::move(text));
    else all.log().report_whole(code::unreadable, path, "cannot be read: " + why);
  }
  return all.finish();
}

/// The output of WHYWAIT_RULES=list: a line per problem, with the source that declares it.
inline std::string list_text(const knowledge& known) {
  std::string out = "whywait rules: " + std::to_string(known.problems.size()) + " problems, silent below " +
                    base::percent(known.threshold) + " of rank time\n";
  for (const problem_rule& p : known.problems) {
    std::string line = "  " + base::printable(p.name);
    if (line.size() < 28) line.append(28 - line.size(), ' ');
    out += line + " for " + base::printable(known.types[p.type].name) + " (" +
           base::printable(known.log.source(p.source).name) + ")\n";
  }
  return out;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
