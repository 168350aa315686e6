#ifndef WHYWAIT_CORE_SETTING_TABLE_HPP
#define WHYWAIT_CORE_SETTING_TABLE_HPP

namespace whywait {
inline namespace v0 {
namespace core {

/// One environment variable. The parser, WHYWAIT_HELP and the test of docs/reference/settings.md read this table.
struct setting {
  const char* name;
  const char* values;    ///< what the parser expects
  const char* fallback;  ///< the default as a value, empty: not set
  const char* text;      ///< one line
};

namespace detail {

// A function, because a static array of an inline function is unique in the process and keeps libraries from being unloaded.
[[gnu::cold]] inline void each_setting(void (*use_setting)(const void* use, const setting& each), const void* context) {
  const auto use = [&](const setting& each) { use_setting(context, each); };
  use(setting{"WHYWAIT_HELP", "0 or 1", "0", "1: print this table at MPI_Init"});
  use(setting{"WHYWAIT_ENABLE", "0 or 1", "1", "0: the program runs as if whywait were absent"});
  use(setting{"WHYWAIT_REPORT", "short, full or none", "short", "length of the text report on standard error"});
  use(setting{"WHYWAIT_OUTPUT", "prefix of a path, with %p, %j, %t and %h", "",
              "write the report to prefix.json, prefix.txt and prefix.html"});
  use(setting{"WHYWAIT_FAIL", "conditions, for example efficiency<0.8; waiting>10%", "",
              "end with status 3 if one of them holds"});
  use(setting{"WHYWAIT_MEMORY", "bytes from 64K on, for example 64M", "64M", "maximum memory for the records of a rank"});
  use(setting{"WHYWAIT_PAUSES", "a percentage of the program's time, for example 20% or 20% after 60 s, or unlimited",
              "50% after 600 s", "maximum time of all pauses between epochs; parts of the run are then only counted"});
  use(setting{"WHYWAIT_WHATIF", "questions, for example block compute x2; balance", "", "predict the changed run"});
  use(setting{"WHYWAIT_RULES", "files separated by ':', or list", "", "add rules; list: print the active problems"});
  use(setting{"WHYWAIT_CRASH", "folder", "", "keep records there if the process is killed"});
  use(setting{"WHYWAIT_PATH", "counts or order", "counts", "order: show the longest waits side by side"});
  use(setting{"WHYWAIT_COVERAGE", "patterns separated by ','", "", "report only matching code of compiler coverage"});
  use(setting{"WHYWAIT_TIMELINE", "none, or drop_newest or overwrite_oldest, then :16M for a size, :blocks to keep blocks",
              "none", "write prefix.trace.json for Perfetto"});
  use(setting{"WHYWAIT_CLOCK", "auto, fenced or monotonic", "auto", "fenced, monotonic: slower but stricter clocks"});
}

}  // namespace detail

/// Calls use(setting) for each variable, in the order of the help text.
template <class Use>
void each_setting(const Use& use) {
  detail::each_setting([](const void* u, const setting& each) { (*static_cast<const Use*>(u))(each); }, &use);
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
