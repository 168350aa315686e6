#ifndef WHYWAIT_COVERAGE_NAMES_GCOV_NOTES_HPP
#define WHYWAIT_COVERAGE_NAMES_GCOV_NOTES_HPP

#include <whywait/base/vector.hpp>
#include <whywait/coverage/names/flow_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace coverage {

/// A function in a notes file.
struct noted_function {
  std::uint32_t ident = 0;
  std::uint32_t checksum = 0;  ///< of the control flow; for clang, of the lines
  std::string name;            ///< mangled
  std::string file;            ///< as passed to the compiler
  int line = 0;
  flow_graph flow;
};

/// The notes that the compiler writes for an object file under -ftest-coverage (.gcno). Supports g++ 10 to 13 and
/// clang, which writes the format of g++ 4.8.
struct gcov_notes {
  std::uint32_t stamp = 0;
  base::vector<noted_function> functions;
};

namespace detail {

/// Reads the words of a notes file (gcc/gcov-io.h). Reads past the end return 0 and clear `good`.
class gcov_reader {
 public:
  explicit gcov_reader(std::string_view bytes) : bytes_(bytes) {}

  [[gnu::noinline]] std::uint32_t word() {
    std::uint32_t value = 0;
    if (at_ + sizeof value > bytes_.size()) {
      good = false;
      at_ = bytes_.size();
      return 0;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  [[gnu::noinline]] std::string text() {
    const std::size_t length = std::size_t(word()) * unit;
    if (length > bytes_.size() - at_) {
      good = false;
      return {};
    }
    const std::string_view all = bytes_.substr(at_, length);
    at_ += length;
    return std::string(all.substr(0, all.find('\0')));
  }
  std::size_t at() const noexcept { return at_; }
  void go_to(std::size_t at) noexcept { at_ = at < bytes_.size() ? at : bytes_.size(); }
  bool at_end() const noexcept { return at_ + 8 > bytes_.size(); }

  std::size_t unit = 1;  ///< lengths are in bytes since version 12, in words before
  bool good = true;

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Reads a notes file. Returns false and sets `problem` if it is invalid or of an unknown version. O(size).
inline bool read_gcov_notes(std::string_view bytes, gcov_notes& into, std::string& problem) {
  detail::gcov_reader in(bytes);
  if (in.word() != 0x67636e6f) {
    problem = "is no notes file";
    return false;
  }
  const std::uint32_t letters = in.word();
  // "B22*" is 12.2, "408*" is 4.8
  const std::uint32_t first = letters >> 24, second = ((letters >> 16) & 0xff) - '0';
  const std::uint32_t version = first >= 'A' ? (first - 'A') * 10 + second : first - '0';
  const bool clang = letters == 0x3430382a;
  if (!clang && (version < 10 || version > 13)) {
    problem = "was written by another compiler than g++ 10 to 13 or clang";
    return false;
  }
  in.unit = version >= 12 ? 1 : 4;
  into.stamp = in.word();
  if (version >= 12) in.word();  // checksum
  if (!clang) {
    in.text();  // compilation directory
    in.word();  // flag for unexecuted blocks
  }
  while (!in.at_end()) {
    const std::uint32_t tag = in.word();
    const std::size_t length = std::size_t(in.word()) * in.unit;
    const std::size_t end = in.at() + length;
    if (tag == 0x01000000) {
      noted_function f;
      f.ident = in.word();
      const std::uint32_t lines = in.word(), flow = in.word();
      f.checksum = clang ? lines : flow;
      f.name = in.text();
      if (!clang) in.word();  // flag for artificial functions
      f.file = in.text();
      f.line = static_cast<int>(in.word());
      into.functions.push_back(std::move(f));
    } else if (!into.functions.empty()) {
      noted_function& f = into.functions.back();
      if (tag == 0x01410000) {
        const std::size_t blocks = clang ? length / in.unit : in.word();
        if (blocks > bytes.size()) {  // more blocks than the file has bytes
          in.good = false;
          break;
        }
        f.flow.blocks.resize(blocks);
      } else if (tag == 0x01430000) {
        const std::uint32_t from = in.word();
        while (in.good && in.at() + 8 <= end) {
          const std::uint32_t to = in.word(), flags = in.word();
          if (from < f.flow.blocks.size() && to < f.flow.blocks.size())
            f.flow.arcs.push_back({from, to, (flags & 1) == 0, (flags & 2) != 0});
        }
      } else if (tag == 0x01450000) {
        const std::uint32_t block = in.word();
        bool own = false;
        while (in.good && in.at() + 4 <= end) {
          const std::uint32_t line = in.word();
          if (line != 0) {
            if (own && block < f.flow.blocks.size()) f.flow.blocks[block].lines.push_back(static_cast<int>(line));
            continue;
          }
          const std::string file = in.text();
          if (file.empty()) break;
          own = file == f.file;  // skips lines of functions inlined from other files
        }
      }
    }
    if (!in.good) break;
    in.go_to(end);
  }
  if (!in.good) problem = "is not complete";
  return in.good;
}

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

#endif
