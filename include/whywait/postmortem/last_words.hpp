#ifndef WHYWAIT_POSTMORTEM_LAST_WORDS_HPP
#define WHYWAIT_POSTMORTEM_LAST_WORDS_HPP

#include <whywait/core/safe_write.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace postmortem {

/// Totals of one call site on one rank.
struct last_call {
  const char* name = "";      ///< such as "MPI_Recv"
  const char* module = "";    ///< executable or library; if empty, `offset` is an absolute address
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

/// Totals of one marked block.
struct last_block {
  const char* name = "";
  const char* file = "";
  std::uint32_t line = 0;
  std::uint64_t visits = 0;
  std::uint64_t ns = 0;  ///< exclusive time
};

/// The local summary of a rank whose program ends without MPI_Finalize. It contains where the time went. The reason of
/// waits is unknown, because that requires the records of other ranks.
struct last_words {
  const char* reason = "";          ///< such as "MPI_Abort", "exit without MPI_Finalize" or "SIGTERM"
  std::int32_t rank = 0, ranks = 1;
  std::uint64_t ns = 0;             ///< since MPI_Init
  std::uint64_t mpi_calls = 0;
  std::uint64_t mpi_ns = 0;         ///< inside MPI, including the open call
  std::uint64_t dropped = 0;
  /// the MPI call that did not return, or null; its `ns` is the time since it began
  const last_call* inside = nullptr;
  const last_call* calls = nullptr;   ///< sorted by time, longest first
  std::size_t call_count = 0;
  const last_block* blocks = nullptr; ///< sorted by time, longest first
  std::size_t block_count = 0;
};

namespace detail {

/// Formats text into its own buffer and writes it with write(2). Signal handlers can use it, because it neither
/// allocates nor locks.
class raw_writer {
 public:
  explicit raw_writer(int file) noexcept : file_(file) {}
  ~raw_writer() { flush(); }
  raw_writer(const raw_writer&) = delete;
  raw_writer& operator=(const raw_writer&) = delete;

  raw_writer& operator<<(const char* text) noexcept {
    while (*text != '\0') put(*text++);
    return *this;
  }
  raw_writer& operator<<(std::uint64_t number) noexcept { return digits(number, 10); }
  raw_writer& hexadecimal(std::uint64_t number) noexcept { return digits(number, 16); }
  /// Prints nanoseconds as seconds, with nine or three decimals.
  raw_writer& seconds(std::uint64_t ns, bool all) noexcept {
    *this << ns / 1000000000u << ".";
    std::uint64_t rest = ns % 1000000000u;
    for (std::uint64_t unit = 100000000u; unit >= (all ? 1u : 1000000u); unit /= 10)
      put(static_cast<char>('0' + rest / unit % 10));
    return *this;
  }
  /// Prints a JSON string. Control and non-ASCII characters are replaced by '?'.
  raw_writer& quoted(const char* text) noexcept {
    put('"');
    for (; *text != '\0'; ++text) {
      if (*text == '"' || *text == '\\') put('\\');
      put(*text >= ' ' && *text < 127 ? *text : '?');
    }
    put('"');
    return *this;
  }
  bool good() const noexcept { return good_; }
  void flush() noexcept {
    const core::write_signals_off guard;
    for (std::size_t done = 0; done < size_ && good_;) {
      const ssize_t wrote = ::write(file_, buffer_ + done, size_ - done);
      if (wrote > 0) done += static_cast<std::size_t>(wrote);
      else if (errno != EINTR) good_ = false;
    }
    size_ = 0;
  }

 private:
  void put(char c) noexcept {
    if (size_ == sizeof buffer_) flush();
    buffer_[size_++] = c;
  }
  raw_writer& digits(std::uint64_t number, unsigned base) noexcept {
    char text[24];
    char* begin = text + sizeof text - 1;
    *begin = '\0';
    do *--begin = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    return *this << begin;
  }

  int file_;
  bool good_ = true;
  std::size_t size_ = 0;
  char buffer_[4096];
};

inline raw_writer& place_of(raw_writer& out, const last_call& c) noexcept {
  out << c.name << " (";
  if (c.module[0] != '\0') out << c.module << "+";
  return (out << "0x").hexadecimal(c.offset) << ")";
}

}  // namespace detail

/// Prints how the rank ended and where its time went, in at most three lines, to `file` (standard error).
/// Async-signal-safe.
inline void print(const last_words& w, int file) noexcept {
  detail::raw_writer out(file);
  out << "whywait: rank " << static_cast<std::uint64_t>(w.rank) << " of " << static_cast<std::uint64_t>(w.ranks) << " ended by "
      << w.reason << " after ";
  out.seconds(w.ns, false) << " s";
  if (w.inside != nullptr) {
    detail::place_of(out << ", in ", *w.inside) << " for ";
    out.seconds(w.inside->ns, false) << " s";
  }
  out << "\n         partial report of this rank, without causes: ";
  out.seconds(w.mpi_ns, false) << " s in " << w.mpi_calls << " MPI calls\n";
  const char* before = "         most time: ";
  for (std::size_t i = 0; i < w.call_count && i < 2; ++i, before = ", ")
    detail::place_of(out << before, w.calls[i]) << " ", out.seconds(w.calls[i].ns, false) << " s";
  for (std::size_t i = 0; i < w.block_count && i < 2; ++i, before = ", ")
    out << before << w.blocks[i].name << " ", out.seconds(w.blocks[i].ns, false) << " s";
  if (w.call_count + w.block_count != 0) out << "\n";
}

/// Writes the summary and all totals as JSON (docs/schema_last_words.json). Returns false and sets errno if the file
/// cannot be written. Async-signal-safe.
inline bool write_json(const last_words& w, const char* path) noexcept {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) return false;
  bool good;
  {
    detail::raw_writer out(file);
    out << "{\"schema\": \"whywait-last-words/1\",\n \"rank\": " << static_cast<std::uint64_t>(w.rank)
        << ", \"ranks\": " << static_cast<std::uint64_t>(w.ranks) << ", \"reason\": ";
    out.quoted(w.reason) << ", \"seconds\": ";
    out.seconds(w.ns, true) << ", \"mpi_calls\": " << w.mpi_calls << ", \"mpi_seconds\": ";
    out.seconds(w.mpi_ns, true) << ", \"dropped_events\": " << w.dropped;
    const auto call = [&out](const last_call& c) {
      out << "{\"call\": ";
      out.quoted(c.name) << ", \"module\": ";
      out.quoted(c.module) << ", \"offset\": " << c.offset << ", \"count\": " << c.count << ", \"seconds\": ";
      out.seconds(c.ns, true) << "}";
    };
    if (w.inside != nullptr) out << ",\n \"inside\": ", call(*w.inside);
    out << ",\n \"calls\": [";
    for (std::size_t i = 0; i < w.call_count; ++i) out << (i == 0 ? "" : ",\n   "), call(w.calls[i]);
    out << "],\n \"blocks\": [";
    for (std::size_t i = 0; i < w.block_count; ++i) {
      const last_block& b = w.blocks[i];
      out << (i == 0 ? "{\"block\": " : ",\n   {\"block\": ");
      out.quoted(b.name) << ", \"file\": ";
      out.quoted(b.file) << ", \"line\": " << std::uint64_t(b.line) << ", \"visits\": " << b.visits << ", \"seconds\": ";
      out.seconds(b.ns, true) << "}";
    }
    out << "]}\n";
    out.flush();
    good = out.good();
  }
  return ::close(file) == 0 && good;
}

}  // namespace postmortem
}  // namespace v0
}  // namespace whywait

#endif
