#ifndef WHYWAIT_EXPLAIN_RANK_CLASSES_HPP
#define WHYWAIT_EXPLAIN_RANK_CLASSES_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/prefetch.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/class_sums.hpp>
#include <whywait/explain/merge_scratch.hpp>
#include <whywait/explain/wait_class.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The classes of one rank when all its waits are in them: lists of exact length, to be read once and in order.
class rank_classes {
 public:
  using share = merge_scratch::share;
  struct one {
    class_sums sums;
    core::stable_key key;
    std::uint32_t location;
    std::uint32_t first_shape, first_term, terms, first_causer, causers;
  };
  /// What all waits of a class have in one block, by its number.
  struct term {
    std::uint32_t block;
    term_sums sums;
  };
  template <class T>
  struct range {
    const T *first, *last;
    const T* begin() const noexcept { return first; }
    const T* end() const noexcept { return last; }
  };

  rank_classes() = default;
  /// A copy of those in `book`; `pool` is borrowed.
  rank_classes(const class_book& book, base::memory_pool& pool)
      : all_(pool), shapes_(pool), terms_(pool), causers_(pool) {
    shapes_.append(book.shapes().data(), book.shapes().size());
    all_.reserve(book.size());
    terms_.reserve(book.terms());
    causers_.reserve(book.causers());
    for (std::size_t c = 0; c != book.size(); ++c) {
      one& made = all_.emplace_back();
      made.sums = book.sums(c);
      made.key = book.key(c);
      made.location = book.location(c);
      made.first_shape = static_cast<std::uint32_t>(book.shape(c) - book.shapes().data());
      made.first_term = static_cast<std::uint32_t>(terms_.size());
      made.first_causer = static_cast<std::uint32_t>(causers_.size());
      book.each_term(c, [this](std::uint32_t block, const term_sums& sums) { terms_.push_back({block, sums}); });
      book.each_causer(c, [this](const location_share& from) { causers_.push_back(from); });
      made.terms = static_cast<std::uint32_t>(terms_.size()) - made.first_term;
      made.causers = static_cast<std::uint32_t>(causers_.size()) - made.first_causer;
    }
  }

  std::size_t size() const noexcept { return all_.size(); }
  std::size_t terms() const noexcept { return terms_.size(); }      ///< of all classes
  std::size_t causers() const noexcept { return causers_.size(); }  ///< of all classes
  const one& operator[](std::size_t number) const noexcept { return all_[number]; }
  range<term> terms_of(const one& c) const noexcept {
    return {terms_.data() + c.first_term, terms_.data() + c.first_term + c.terms};
  }
  range<location_share> causers_of(const one& c) const noexcept {
    return {causers_.data() + c.first_causer, causers_.data() + c.first_causer + c.causers};
  }

  const share* shape_of(const one& c) const noexcept { return shapes_.data() + c.first_shape; }

  /// Before all but the shapes is read: asks for it.
  void prefetch() const noexcept {
    base::prefetch(all_.data(), all_.size() * sizeof(one));
    base::prefetch(terms_.data(), terms_.size() * sizeof(term));
    base::prefetch(causers_.data(), causers_.size() * sizeof(location_share));
  }

 private:
  base::pod_vector<one> all_;
  base::pod_vector<share> shapes_;
  base::pod_vector<term> terms_;
  base::pod_vector<location_share> causers_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
