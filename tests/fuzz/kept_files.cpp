// The reader of what killed programs left behind never fails, whatever is damaged in their files, and its warnings are clear.
// The input says what: a byte (which files to cut, and how), then 6 bytes for each change of one byte (file, place, value).
// The files are those of two ranks of one job and of a process alone, killed before the first input.
//
// corpus: kept_files.corpus
// options: -max_len=400 -len_control=0 -timeout=20
// runs: 100
// compiled with: -O0 -g0
//
// For each input it looks up its own functions and lines; without debug information that takes a quarter of the time.
#ifndef WHYWAIT_TEST_SCENARIOS_ELSEWHERE  // a unit test includes this file; its program has the scenarios in another one
#define DOCTEST_CONFIG_DISABLE
#include "../unit/postmortem/scenarios.hpp"
#endif
#include "../unit/postmortem/kept_program.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define KEPT_TEST_REPORTS_TO(file) __sanitizer_set_report_fd(reinterpret_cast<void*>(std::intptr_t(file)))
#endif
#endif
#ifndef KEPT_TEST_REPORTS_TO
#define KEPT_TEST_REPORTS_TO(file) static_cast<void>(file)
#endif
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

struct whole_files {
  whole_files() {
    temporary_folder there;
    run("rank", there.path, "0");
    run("rank", there.path, "1");
    run("SIGKILL", there.path);
    names = there.files();
    // by their names except for what differs from run to run, so that an input means the same files each time
    std::sort(names.begin(), names.end());
    if (names.size() != 3) std::abort();
    for (const std::string& name : names) {
      contents.push_back(read_all(there.path + "/" + name));
      used.emplace_back();
      for (std::size_t i = 0; i < contents.back().size(); ++i)
        if (contents.back()[i] != 0) used.back().push_back(i);
    }
  }
  std::vector<std::string> names;
  std::vector<std::string> contents;
  std::vector<std::vector<std::size_t>> used;  // bits of empty pages are no damage
};

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// What `work` writes to standard error, without what the sanitizers write there.
template <class Work>
std::string said_by(Work work) {
  const int file = memfd_create("said", MFD_CLOEXEC), before = dup(2);
  if (file < 0 || before < 0 || dup2(file, 2) < 0) std::abort();
  KEPT_TEST_REPORTS_TO(before);
  work();
  KEPT_TEST_REPORTS_TO(2);
  dup2(before, 2);
  close(before);
  std::string said(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t bytes = pread(file, &said[0], said.size(), 0);
  close(file);
  if (bytes != static_cast<ssize_t>(said.size())) std::abort();
  return said;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const whole_files whole;
  if (size == 0) return 0;
  std::vector<std::string> damaged = whole.contents;
  for (std::size_t i = 1; i + 6 <= size; i += 6) {
    const std::uint8_t* b = data + i;
    const std::size_t f = b[0] % damaged.size(), place = std::size_t(b[1]) << 16 | std::size_t(b[2]) << 8 | b[3];
    // one change in two hits the header, of which every byte counts
    const std::size_t at =
        b[4] % 2 == 0 ? whole.used[f][place % whole.used[f].size()] : place % sizeof(whywait::core::kept_header);
    damaged[f][at] = static_cast<char>(static_cast<std::uint8_t>(damaged[f][at]) ^ b[5]);
  }
  for (std::size_t f = 0; f < damaged.size(); ++f)
    if ((data[0] >> f & 1) != 0) damaged[f].resize(damaged[f].size() * (data[0] >> 3) / 32);

  temporary_folder here;
  for (std::size_t f = 0; f < damaged.size(); ++f) write_file(here.path + "/" + whole.names[f], damaged[f]);
  whywait::left_behind_options options;
  options.text = nullptr;
  const std::string said = said_by([&] { whywait::report_left_behind(here.path, options); });
  std::size_t lines = 0;
  for (std::size_t at = 0; at < said.size(); at = said.find('\n', at) + 1, ++lines)
    if (said.compare(at, 9, "whywait: ") != 0 || said.find('\n', at) == std::string::npos) std::abort();
  if (lines > damaged.size()) std::abort();
  return 0;
}
