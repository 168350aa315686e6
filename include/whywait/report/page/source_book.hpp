#ifndef WHYWAIT_REPORT_PAGE_SOURCE_BOOK_HPP
#define WHYWAIT_REPORT_PAGE_SOURCE_BOOK_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/page/html_writer.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// The lines of the program around the places that a page names, as far as the files can be read when the page is written.
/// Each excerpt is kept once. At most 400 excerpts of 13 lines; files up to 4 MB. A relative path is looked for in the working
/// directory, then in the folders above the program, from its own on.
class source_book {
 public:
  /// `program`: file of the executable. Sources that are newer than it are marked.
  explicit source_book(const char* program) {
    struct stat facts {};
    if (::stat(program, &facts) == 0) built_ = facts.st_mtime;
    char path[4096];
    const ssize_t size = ::readlink(program, path, sizeof path);
    folder_.assign(size > 0 ? std::string(path, static_cast<std::size_t>(size)) : program);
  }

  /// The number of the excerpt of a place; -1 if there is none.
  int of(const base::place& p) {
    if (p.file.empty() || p.line <= 0) return -1;
    const int last = std::max(p.line, p.last_line);
    const int file = number_of(p.file);
    if (file < 0 || static_cast<std::size_t>(last) > files_[static_cast<std::size_t>(file)].begins.size()) return -1;
    for (std::size_t i = 0; i != excerpts_.size(); ++i)
      if (excerpts_[i].file == file && excerpts_[i].line == p.line && excerpts_[i].last == last) return static_cast<int>(i);
    if (excerpts_.size() == most_excerpts) return -1;
    excerpts_.push_back({file, p.line, last});
    return static_cast<int>(excerpts_.size() - 1);
  }

  /// A section with all excerpts; nothing without any.
  void write(html_writer& out) const {
    if (excerpts_.empty()) return;
    out.put(
        "<section id=\"source\" aria-labelledby=\"h-source\"><h2 id=\"h-source\">Source</h2><p class=\"how\">The lines that "
        "this report names, as the files were when the run ended.</p>");
    for (std::size_t i = 0; i != excerpts_.size(); ++i) {
      const excerpt& e = excerpts_[i];
      const source_file& f = files_[static_cast<std::size_t>(e.file)];
      out.put("<figure id=\"s$\"><figcaption><code>$:$</code>", static_cast<std::int64_t>(i), f.name, e.line);
      if (f.newer) out.put(" <em>changed after the program was built</em>");
      out.put("</figcaption><pre tabindex=\"0\">");
      const int first = std::max(1, e.line - around),
                end = std::min(static_cast<int>(f.begins.size()), std::min(e.last, e.line + 6) + around);
      for (int line = first; line <= end; ++line) {
        const bool marked = line >= e.line && line <= e.last;
        out.put("$$</b>$$", as_markup(marked ? "<mark><b>" : "<span><b>"), line, base::shorten_middle(f.line(line), 160),
                as_markup(marked ? "</mark>" : "</span>"));
      }
      out.put("</pre></figure>");
    }
    out.put("</section>");
  }
  bool empty() const noexcept { return excerpts_.empty(); }

 private:
  static constexpr std::size_t most_excerpts = 400, most_bytes = std::size_t{4} << 20;
  static constexpr int around = 3;

  struct source_file {
    std::string name;  ///< as the compiler was given it
    std::string text;
    base::pod_vector<std::uint32_t> begins;  ///< of the lines of `text`; empty: it cannot be read
    bool newer = false;

    std::string_view line(int number) const {
      const auto i = static_cast<std::size_t>(number - 1);
      const std::size_t begin = begins[i], end = i + 1 < begins.size() ? begins[i + 1] : text.size();
      const std::string_view all = std::string_view(text).substr(begin, end - begin);
      return all.substr(0, std::min(all.find_first_of("\r\n"), all.size()));
    }
  };
  struct excerpt {
    int file, line, last;
  };

  int number_of(const std::string& name) {
    for (std::size_t i = 0; i != files_.size(); ++i)
      if (files_[i].name == name) return files_[i].begins.empty() ? -1 : static_cast<int>(i);
    files_.emplace_back();
    source_file& fresh = files_.back();
    fresh.name = name;
    std::string path = name;
    bool found = read(path, fresh);
    for (std::string folder = folder_; !found && name[0] != '/' && !folder.empty();) {
      const std::size_t slash = folder.rfind('/');
      folder.resize(slash == std::string::npos ? 0 : slash);
      path = folder + "/" + name;
      found = !folder.empty() && read(path, fresh);
    }
    for (std::size_t at = 0; found && at < fresh.text.size(); at = std::min(fresh.text.find('\n', at), fresh.text.size()) + 1)
      fresh.begins.push_back(static_cast<std::uint32_t>(at));
    return fresh.begins.empty() ? -1 : static_cast<int>(files_.size() - 1);
  }

  bool read(const std::string& path, source_file& into) const {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return false;
    struct stat facts {};
    const bool regular = ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
                         static_cast<std::uint64_t>(facts.st_size) <= most_bytes;
    if (regular) into.text.resize(static_cast<std::size_t>(facts.st_size));
    std::size_t done = 0;
    for (ssize_t n = 1; regular && n > 0 && done<into.text.size(); done += n> 0 ? static_cast<std::size_t>(n) : 0)
      n = ::read(descriptor, &into.text[done], into.text.size() - done);
    ::close(descriptor);
    into.text.resize(done);
    into.newer = built_ != 0 && facts.st_mtime > built_;
    return done != 0;
  }

  std::string folder_;  ///< the program, then the folders above it
  std::int64_t built_ = 0;
  base::vector<source_file> files_;
  base::pod_vector<excerpt> excerpts_;
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
