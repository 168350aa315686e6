#ifndef WHYWAIT_REPORT_SECTION_HPP
#define WHYWAIT_REPORT_SECTION_HPP

#include <whywait/report/json_writer.hpp>

#include <cstddef>
#include <string>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace reports {

/// A type-erased sink, so that code that writes parts of a document is compiled once. `Target` is called with
/// (const char*, size_t) and must outlive the sink.
class json_sink {
 public:
  template <class Target, std::enable_if_t<!std::is_same_v<std::remove_const_t<Target>, json_sink>, int> = 0>  // no copy
  explicit json_sink(Target& to)
      : to_(&to), write_([](void* t, const char* data, std::size_t size) { (*static_cast<Target*>(t))(data, size); }) {}

  void operator()(const char* data, std::size_t size) const { write_(to_, data, size); }

 private:
  void* to_;
  void (*write_)(void*, const char*, std::size_t);
};

using json_document = json_writer<json_sink>;

struct page_context;

/// An optional part of a report. The report uses this interface only, so that only files that create such a part
/// compile it.
class section {
 public:
  virtual ~section() = default;

  virtual std::string text(std::size_t columns) const = 0;  ///< empty, or begins with an empty line
  virtual std::string brief(std::size_t columns) const = 0;  ///< the same in few lines; empty, or lines
  virtual void write(json_document& out) const = 0;         ///< writes its members of the document
  virtual void page(const page_context&) const {}           ///< writes its sections of the page
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
