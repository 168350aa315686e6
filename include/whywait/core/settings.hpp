#ifndef WHYWAIT_CORE_SETTINGS_HPP
#define WHYWAIT_CORE_SETTINGS_HPP

#include <whywait/core/setting_table.hpp>
#include <whywait/core/warning.hpp>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// A setting that could not be used: the variable, its value and what it should have been.
struct bad_setting {
  const char* name;
  const char* value;
  const char* expected;  ///< null: there is no such variable

  /// One line on standard error. Any thread.
  [[gnu::cold]] void warn() const noexcept {
    if (expected != nullptr) core::warn("invalid setting ", name, "=", value, "; the default is used; expected ", expected);
    else core::warn("unknown setting ", name, " is ignored; WHYWAIT_HELP=1 lists all settings");
  }
};

/// The settings in the environment, read once when the first location appears. setting_table.hpp and
/// docs/reference/settings.md have the meaning of each; a value that cannot be read keeps the default.
struct settings {
  enum class clock_choice : uint8_t { automatic, fenced, monotonic };
  enum class timeline_choice : uint8_t { none, drop_newest, overwrite_oldest };

  bool help = false;                           ///< WHYWAIT_HELP: 1 prints the table of settings at MPI_Init
  bool enable = true;                          ///< WHYWAIT_ENABLE: 0 leaves the program as if whywait were not there
  bool report = true;                          ///< WHYWAIT_REPORT: not none
  bool full_report = false;                    ///< WHYWAIT_REPORT: full or text, not short (default)
  clock_choice clock = clock_choice::automatic;  ///< WHYWAIT_CLOCK: auto (default), fenced or monotonic
  static constexpr uint64_t least_memory = uint64_t(64) << 10;
  uint64_t memory_bytes = uint64_t(64) << 20;  ///< WHYWAIT_MEMORY: bytes a process may record; suffix K, M, G
  uint64_t pauses_percent = 50;                ///< WHYWAIT_PAUSES: of the program's own time; 0: unlimited
  uint64_t pauses_free_seconds = 600;          ///< WHYWAIT_PAUSES: what they may take in any case
  bool path_order = false;                     ///< WHYWAIT_PATH: counts (default) or order
  timeline_choice timeline = timeline_choice::none;    ///< WHYWAIT_TIMELINE: policy[:size][:blocks]
  bool timeline_blocks = false;                        ///< whether steps are also kept
  uint64_t timeline_bytes = uint64_t(16) << 20;        ///< bytes of a process, beside memory_bytes
  const char* output = nullptr;                ///< WHYWAIT_OUTPUT: prefix of the files to write; none without it
  const char* fail = nullptr;                  ///< WHYWAIT_FAIL: conditions under which the run fails
  const char* rules = nullptr;                 ///< WHYWAIT_RULES: files of rules, separated by ':', or the word list
  const char* coverage = nullptr;              ///< WHYWAIT_COVERAGE: patterns of code to keep; none without it
  const char* crash = nullptr;                 ///< WHYWAIT_CRASH: folder where records outlive the process
  const char* whatif = nullptr;                ///< WHYWAIT_WHATIF: questions to the run (whatif::parse_questions)
  const char* bad = nullptr;                   ///< name of the first variable that could not be used

  /// Calls use(name, member) for each setting that is a text: null if the variable is not set or empty.
  template <class Use>
  [[gnu::cold]] void each_text(Use&& use) noexcept {
    use("WHYWAIT_OUTPUT", output);
    use("WHYWAIT_FAIL", fail);
    use("WHYWAIT_RULES", rules);
    use("WHYWAIT_COVERAGE", coverage);
    use("WHYWAIT_CRASH", crash);
    use("WHYWAIT_WHATIF", whatif);
  }

  /// Reads the environment and calls report(const bad_setting&) for each variable that cannot be used; no
  /// allocation. The texts point into the environment. Call while no other thread changes the environment.
  template <class Report>
  [[gnu::cold]] static settings from_environment(Report&& report) noexcept {
    settings s;
    const auto refuse = [&](const char* name, const char* value) {
      if (s.bad == nullptr) s.bad = name;
      bad_setting refused{name, value, ""};
      each_setting([&](const setting& each) {
        if (strcmp(each.name, name) == 0) refused.expected = each.values;
      });
      report(refused);
    };
    const auto choose = [&](const char* name, const char* normal, const char* other) {
      const char* const value = getenv(name);
      if (value == nullptr || *value == '\0' || strcmp(value, normal) == 0) return false;
      if (strcmp(value, other) == 0) return true;
      refuse(name, value);
      return false;
    };
    s.help = choose("WHYWAIT_HELP", "0", "1");
    s.enable = !choose("WHYWAIT_ENABLE", "1", "0");
    const char* const wanted = getenv("WHYWAIT_REPORT");
    s.full_report = wanted != nullptr && (strcmp(wanted, "full") == 0 || strcmp(wanted, "text") == 0);
    s.report = s.full_report || !choose("WHYWAIT_REPORT", "short", "none");
    const char* const clock = getenv("WHYWAIT_CLOCK");
    if (clock != nullptr && strcmp(clock, "fenced") == 0) s.clock = clock_choice::fenced;
    else if (choose("WHYWAIT_CLOCK", "auto", "monotonic")) s.clock = clock_choice::monotonic;
    if (const char* text = getenv("WHYWAIT_MEMORY")) {
      uint64_t bytes = 0;
      if (*text != '\0' && parse_bytes(text, bytes) && bytes >= least_memory) s.memory_bytes = bytes;
      else if (*text != '\0') refuse("WHYWAIT_MEMORY", text);
    }
    if (const char* text = getenv("WHYWAIT_PAUSES"))
      if (*text != '\0' && !s.parse_pauses(text)) refuse("WHYWAIT_PAUSES", text);
    s.path_order = choose("WHYWAIT_PATH", "counts", "order");
    if (const char* text = getenv("WHYWAIT_TIMELINE"))
      if (*text != '\0' && !s.parse_timeline(text)) refuse("WHYWAIT_TIMELINE", text);
    s.each_text([](const char* name, const char*& text) {
      text = getenv(name);
      if (text != nullptr && *text == '\0') text = nullptr;
    });
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
      if (strncmp(*variable, "WHYWAIT_", 8) == 0 && !known(*variable)) {
        char name[80];  // without its value
        size_t length = 0;
        for (; length < sizeof name - 1 && (*variable)[length] != '=' && (*variable)[length] != '\0'; ++length)
          name[length] = (*variable)[length];
        name[length] = '\0';
        report(bad_setting{name, "", nullptr});
      }
    return s;
  }

  /// The same; what cannot be used is only named in `bad`.
  static settings from_environment() noexcept {
    return from_environment([](const bad_setting&) {});
  }

  /// "64M" -> 67108864. False, and `bytes` unchanged, for anything else than digits and one suffix K, M or G,
  /// and for more than 2^64 - 1.
  static bool parse_bytes(const char* text, uint64_t& bytes) noexcept { return parse_bytes(text, strlen(text), bytes); }
  /// The same for the first `length` characters.
  [[gnu::cold]] static bool parse_bytes(const char* text, size_t length, uint64_t& bytes) noexcept {
    const char* const end = text + length;
    if (text == end || *text < '0' || *text > '9') return false;
    uint64_t number = 0;
    for (; text != end && *text >= '0' && *text <= '9'; ++text)
      if (__builtin_mul_overflow(number, uint64_t(10), &number) ||
          __builtin_add_overflow(number, static_cast<uint64_t>(*text - '0'), &number))
        return false;
    unsigned shift = 0;
    const char unit = text != end ? *text : '\0';
    if (unit == 'K' || unit == 'k') shift = 10;
    else if (unit == 'M' || unit == 'm') shift = 20;
    else if (unit == 'G' || unit == 'g') shift = 30;
    if (shift != 0) ++text;
    if (text != end || number > (~uint64_t(0) >> shift)) return false;
    bytes = number << shift;
    return true;
  }
  /// "50%", which holds from the beginning, "50% after 600 s", or "unlimited". False, and nothing changed, for anything else: a
  /// percentage is from 1 to 1,000,000, seconds from 1 to 1,000,000,000.
  [[gnu::cold]] bool parse_pauses(const char* text) noexcept {
    uint64_t percent = 0, seconds = 0;
    if (strcmp(text, "unlimited") != 0) {
      if (!parse_number(text, 1000000, percent) || *text++ != '%') return false;
      if (strncmp(text, " after ", 7) == 0) {
        text += 7;
        if (!parse_number(text, 1000000000, seconds) || strcmp(text, " s") != 0) return false;
      } else if (*text != '\0') {
        return false;
      }
    }
    pauses_percent = percent;
    pauses_free_seconds = seconds;
    return true;
  }

 private:
  // Digits, to the end of which `text` moves. False unless they are from 1 to `most`.
  [[gnu::cold]] static bool parse_number(const char*& text, uint64_t most, uint64_t& number) noexcept {
    for (number = 0; *text >= '0' && *text <= '9' && number <= most; ++text)
      number = 10 * number + static_cast<uint64_t>(*text - '0');
    return number >= 1 && number <= most;
  }
  // "overwrite_oldest:16M:blocks"; nothing is changed if it is not understood.
  [[gnu::cold]] bool parse_timeline(const char* text) noexcept {
    timeline_choice policy = timeline_choice::none;
    bool blocks = false;
    uint64_t bytes = timeline_bytes;
    for (bool first = true;; first = false) {
      const size_t length = strcspn(text, ":");
      const auto is = [&](const char* word) { return strlen(word) == length && strncmp(text, word, length) == 0; };
      if (first) {
        if (is("drop_newest")) policy = timeline_choice::drop_newest;
        else if (is("overwrite_oldest")) policy = timeline_choice::overwrite_oldest;
        else return is("none") && text[length] == '\0';
      } else if (is("blocks")) {
        blocks = true;
      } else if (!parse_bytes(text, length, bytes)) {
        return false;
      }
      text += length;
      if (*text == '\0') break;
      ++text;
    }
    timeline = policy;
    timeline_blocks = blocks;
    timeline_bytes = bytes;
    return true;
  }

  [[gnu::cold]] static bool known(const char* variable) noexcept {
    bool found = false;
    each_setting([&](const setting& each) {
      const size_t length = strlen(each.name);
      found |= strncmp(variable, each.name, length) == 0 && variable[length] == '=';
    });
    return found;
  }
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
