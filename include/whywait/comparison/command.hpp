#ifndef WHYWAIT_COMPARISON_COMMAND_HPP
#define WHYWAIT_COMPARISON_COMMAND_HPP

#include <whywait/comparison/badge.hpp>
#include <whywait/comparison/baseline.hpp>
#include <whywait/comparison/compare_json.hpp>
#include <whywait/comparison/compare_markdown.hpp>
#include <whywait/comparison/compare_runs.hpp>
#include <whywait/comparison/compare_text.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {
namespace detail {

constexpr const char* compare_help =
    R"(usage: whywait compare [options] BEFORE AFTER
       whywait compare [options] --before FILE... --after FILE...
       whywait compare [options] --baseline FOLDER FILE...

Compares reports that WHYWAIT_OUTPUT=prefix wrote (prefix.json). Each side is a file or a folder of files: several runs of a
program measure the noise, so that smaller changes are seen.

  --baseline FOLDER   compare with the first 10 runs in FOLDER since the last accepted change; an empty folder is no error
  --update            add the runs to FOLDER, unless they are worse; if they are better, earlier runs move to FOLDER/older
  --accept            with --update: add them even if they are worse, as a new beginning
  --history           also print the runs in FOLDER
  --at-least PERCENT  smaller differences do not count (2: of the wall time, or points of an efficiency)
  --chance PERCENT    probability of naming any change between equal programs (2)
  --any               status 1 also if the run takes less time, but something else is worse
  --markdown FILE     summary for a pull request; - is standard output
  --json FILE         everything as JSON (docs/schema_compare.json)
  --badge FILE        an SVG badge with the efficiency
  --quiet             no text on standard output

Status: 0 not worse, 1 worse, 2 the comparison failed.
)";

/// The arguments of `whywait compare`.
struct compare_arguments {
  std::vector<std::string> files, before, after;
  std::optional<std::string> baseline_folder, markdown, json, badge;
  compare_options options;
  bool update = false, accept = false, history = false, any = false, quiet = false, help = false;
};

inline double percent_argument(const std::string& name, const std::string& value) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (end == value.c_str() || (*end != '\0' && std::string(end) != "%") || !(number > 0) || !(number < 100))
    throw unreadable(name + " expects a percentage between 0 and 100, not \"" + value + "\"");
  return number / 100;
}

inline compare_arguments parse_arguments(const std::vector<std::string>& words) {
  compare_arguments a;
  std::vector<std::string>* list = &a.files;
  for (std::size_t i = 0; i != words.size(); ++i) {
    std::string word = words[i], value;
    const std::size_t equals = word.compare(0, 2, "--") == 0 ? word.find('=') : std::string::npos;
    bool has_value = equals != std::string::npos;
    if (has_value) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    const auto argument = [&]() -> std::string {
      if (has_value) return value;
      if (++i == words.size()) throw unreadable(word + " needs a value");
      return words[i];
    };
    if (word == "-h" || word == "--help") a.help = true;
    else if (word == "--before" || word == "--after") {
      list = word == "--before" ? &a.before : &a.after;
      if (has_value) list->push_back(value);
    } else if (word == "--baseline") a.baseline_folder = argument();
    else if (word == "--markdown") a.markdown = argument();
    else if (word == "--json") a.json = argument();
    else if (word == "--badge") a.badge = argument();
    else if (word == "--at-least") a.options.at_least = percent_argument(word, argument());
    else if (word == "--chance") a.options.noise.chance = percent_argument(word, argument());
    else if (word == "--update") a.update = true;
    else if (word == "--accept") a.accept = true;
    else if (word == "--history") a.history = true;
    else if (word == "--any") a.any = true;
    else if (word == "--quiet") a.quiet = true;
    else if (word.size() > 1 && word[0] == '-') throw unreadable("unknown option " + word + " (--help lists the options)");
    else list->push_back(word);
  }
  if (a.help) return a;
  if (a.baseline_folder) {
    if (!a.before.empty() || !a.after.empty()) throw unreadable("--baseline takes the place of --before and --after");
    if (a.files.empty()) throw unreadable("no run to compare with the baseline");
    a.after = a.files;
  } else if (a.update || a.accept || a.history) {
    throw unreadable("--update, --accept and --history need --baseline FOLDER");
  } else if (a.before.empty() && a.after.empty()) {
    if (a.files.size() != 2)
      throw unreadable("expected two files or folders; several files of a side follow --before and --after (--help)");
    a.before = {a.files[0]};
    a.after = {a.files[1]};
  } else if (!a.files.empty() || a.before.empty() || a.after.empty()) {
    throw unreadable("expected --before FILE... --after FILE... and no other file");
  }
  return a;
}

inline std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    const std::vector<std::string> inside = reports_in(path);
    if (inside.empty()) throw unreadable(path + " has no file that ends in .json");
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

inline std::vector<compared_run> read_runs(const std::vector<std::string>& files) {
  std::vector<compared_run> all;
  for (const std::string& f : files) all.push_back(read_run(f));
  return all;
}

inline void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  reports::output_file file(path);
  file.write(text.data(), text.size());
  const std::string problem = file.commit();
  if (!problem.empty()) throw unreadable(problem);
}

inline std::string history_text(const std::vector<history_row>& rows, bool as_markdown) {
  std::string out = as_markdown ? "\n<details><summary>history</summary>\n\n| run | date | wall time | waiting | efficiency |\n"
                                  "|---|---|---:|---:|---:|\n"
                                : "\n    history      date           wall time   waiting  efficiency\n";
  for (const history_row& r : rows) {
    if (as_markdown) {
      out += "| " + markdown(r.name) + " | " + markdown(r.date) + " | " + r.seconds + " | " + r.waiting + " | " + r.efficiency +
             " |\n";
    } else {
      out += "    " + base::pad_right(r.name, 13) + base::pad_right(r.date, 12) + base::pad_left(r.seconds, 12) +
             base::pad_left(r.waiting, 10) + base::pad_left(r.efficiency, 12) + "\n";
    }
  }
  return out + (as_markdown ? "\n</details>\n" : "");
}

inline int compare_command(const std::vector<std::string>& words) {
  constexpr std::size_t most_reference = 10, most_history = 20;
  const compare_arguments a = parse_arguments(words);
  if (a.help) {
    std::fputs(compare_help, stdout);
    return 0;
  }
  const std::vector<std::string> files = files_of(a.after);
  const std::vector<compared_run> after = read_runs(files);
  std::optional<baseline> kept;
  std::vector<compared_run> before;
  if (a.baseline_folder) {
    kept.emplace(*a.baseline_folder);
    before = read_runs(kept->reference(most_reference));
  } else {
    before = read_runs(files_of(a.before));
  }
  const auto store = [&](bool is_new) {
    if (is_new) kept->begin_again();
    for (const std::string& f : files) kept->add(f);
  };
  if (before.empty()) {  // the first run with this baseline
    const std::string text = "whywait compare: no run in " + *a.baseline_folder + " yet, nothing to compare with\n";
    if (a.update) store(false);
    if (!a.quiet) std::fputs(text.c_str(), stdout);
    if (a.markdown) write_text(*a.markdown, "### whywait: first run\n\nThe baseline is empty, nothing to compare with.\n");
    if (a.badge) write_text(*a.badge, badge_of(after.front()));
    return 0;
  }
  const changes found = compare_runs(before, after, a.options);
  const bool worse = a.any ? found.any_worse() : found.worse();
  if (a.update && (!worse || a.accept)) store(found.any());
  std::string text = text_of(found), summary = markdown_of(found);
  if (kept) {
    const std::vector<history_row> rows = history_of(kept->all(), most_history);
    if (a.history) text += history_text(rows, false);
    summary += history_text(rows, true);
  }
  if (!a.quiet) std::fputs(text.c_str(), stdout);
  if (a.markdown) write_text(*a.markdown, summary);
  if (a.json) write_text(*a.json, json_of(found));
  if (a.badge) write_text(*a.badge, badge_of(found));
  return worse ? 1 : 0;
}

}  // namespace detail

/// `whywait compare`: what the installed program runs. Prints to standard output, errors to standard error. Returns the exit
/// status: 0 not worse, 1 worse, 2 the comparison failed.
inline int run_command(int argc, const char* const* argv) {
  try {
    const int status = detail::compare_command(std::vector<std::string>(argv + 1, argv + argc));
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw unreadable(std::string("cannot write standard output: ") + std::strerror(errno));
    return status;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "whywait: %s\n", problem.what());
    return 2;
  }
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
