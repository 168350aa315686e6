#ifndef WHYWAIT_REPORT_OUTPUT_FILE_HPP
#define WHYWAIT_REPORT_OUTPUT_FILE_HPP

#include <whywait/core/safe_write.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// A file that appears complete or not at all: data goes to a temporary file beside it, which `commit` renames
/// (rename(2) is atomic), so a full disk or a crash never destroys an older result. A destination that is not a regular
/// file (a pipe, /dev/stdout) is written directly; a symbolic link stays one. Not thread safe; throws only
/// std::bad_alloc. Write errors are stored and reported by `commit`.
class output_file {
 public:
  explicit output_file(std::string path) : path_(std::move(path)), target_(path_) {
    struct stat facts {};
    const bool exists = ::stat(path_.c_str(), &facts) == 0;
    if (exists && S_ISDIR(facts.st_mode)) {
      error_ = EISDIR;
      return;
    }
    if (exists && !S_ISREG(facts.st_mode)) {
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a reader is an error
      if (descriptor_ < 0 || ::fcntl(descriptor_, F_SETFL, 0) != 0) error_ = errno;
      return;
    }
    if (exists && ::access(path_.c_str(), W_OK) != 0) {  // a write-protected file: rename would replace it all the same
      error_ = errno;
      return;
    }
    if (exists) {
      if (char* real = ::realpath(path_.c_str(), nullptr)) {
        target_ = real;
        std::free(real);
      }
    }
    for (int attempt = 0; attempt < 100 && descriptor_ < 0; ++attempt) {
      temporary_ = target_ + ".part" + std::to_string(::getpid()) + (attempt == 0 ? "" : "-" + std::to_string(attempt));
      descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && errno != EEXIST) break;
    }
    if (descriptor_ < 0) {
      error_ = errno;
      temporary_.clear();
    } else if (exists) {
      // Best effort: keep the mode of the file that is replaced.
      if (::fchmod(descriptor_, facts.st_mode & 07777u) != 0) errno = 0;
    }
  }
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file() { discard(); }

  void write(const char* data, std::size_t size) {
    buffer_.append(data, size);
    if (buffer_.size() >= 65536) flush();
  }

  /// What stands against writing so far: an empty text, or the message of `commit`.
  std::string problem() const { return error_ == 0 ? std::string() : "cannot write " + path_ + ": " + std::strerror(error_); }

  /// Renames the file. Returns an empty text on success, else for example "cannot write out.json: No space left on
  /// device".
  std::string commit() {
    flush();
    if (descriptor_ >= 0 && ::close(descriptor_) != 0 && error_ == 0) error_ = errno;
    descriptor_ = -1;
    if (error_ == 0 && !temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0) error_ = errno;
    if (error_ == 0) temporary_.clear();
    discard();
    return problem();
  }

 private:
  void flush() {
    const core::write_signals_off guard;
    for (std::size_t done = 0; done < buffer_.size() && error_ == 0;) {
      const ssize_t n = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
      if (n > 0) done += static_cast<std::size_t>(n);
      else if (n < 0 && errno != EINTR) error_ = errno;
    }
    buffer_.clear();
  }
  void discard() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }

  std::string path_, target_, temporary_, buffer_;
  int descriptor_ = -1;
  int error_ = 0;
};

/// Whether a file can be written there, without changing it: an empty text, or the message of output_file::commit. What is not
/// a regular file, such as a pipe, is not tried.
inline std::string cannot_write(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) return {};
  return output_file(path).problem();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
